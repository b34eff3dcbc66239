/* The reflector: namespaces, label selectors, sources of endpoints, and histories that are gone or
 * go backwards. */
#include "tests/support/unit_test.h"
#include "tests/unit/kube2sky/api/reflector_bed.h"

#define WATCH_OF(path, v) \
    "GET " path "?watch=true&allowWatchBookmarks=true&timeoutSeconds=0&resourceVersion=" v " "
#define SLICES      "/apis/discovery.k8s.io/v1/endpointslices"
#define BETA_SLICES "/apis/discovery.k8s.io/v1beta1/endpointslices"
#define ENDPOINTS   "/api/v1/endpoints"

static void run_as(const struct reflector_config *config, const struct http_step *steps,
                   size_t count, const char *want)
{
    struct fixture f = {.want = want, .config = *config};
    run_with(&f, steps, count, &quick);
}

/* ---- Namespaces and selectors ---- */

static const char *const two_namespaces[] = {"a", "b"};
static const struct reflector_config of_two = {
    .kind = KUBE_SERVICE, .namespaces = two_namespaces, .namespace_count = 2};

#define LIST_A     "GET /api/v1/namespaces/a/services?limit=500 "
#define LIST_B     "GET /api/v1/namespaces/b/services?limit=500"
#define WATCH_A(v) WATCH_OF("/api/v1/namespaces/a/services", v)
#define WATCH_B(v) WATCH_OF("/api/v1/namespaces/b/services", v)

/* A list in two parts, then two watches, each from its part's version. */
UNIT_TEST(test_namespaces)
{
    const struct http_step steps[] = {
        list_step(LIST_A, "10", "", OBJECT("x", "1")),
        list_step(LIST_B " ", "11", "t", OBJECT("y", "2")),
        list_step(LIST_B "&continue=t ", "11", "", OBJECT("z", "3")),
        watch_step(WATCH_A("10"), HTTP_STREAM_GOES_ON, LINES(EVENT("ADDED", OBJECT("u", "12")))),
        watch_step(WATCH_B("11"), HTTP_STREAM_GOES_ON, (const char *const[]){NULL}),
    };
    struct fixture f = {.want = "begin services\nupsert d/x\nupsert d/y\nupsert d/z\nend services\n"
                                "upsert d/u\nstate ok\n",
                        .config = of_two};
    start(&f, steps, ARRAY_LEN(steps), &quick);
    while (f.log.len < strlen(f.want) && !http_script_problem(f.script)) {
        ev_run(f.loop, EVRUN_ONCE);
    }
    /* The kernel decides which of the two watches is accepted first. */
    assert_non_null(strstr(buf_cstr(&f.log), "upsert d/u\n"));
    assert_non_null(strstr(buf_cstr(&f.log), "state ok\n"));
    assert_int_equal(f.log.len, strlen(f.want));
    finish(&f);
}

/* A watch that merely ends is resumed alone; a lost one restarts the others, too. */
UNIT_TEST(test_lost_namespace)
{
    const struct http_step steps[] = {
        list_step(LIST_A, "10", "", ""),
        list_step(LIST_B " ", "10", "", ""),
        held_watch(WATCH_A("10")),
        watch_step(WATCH_B("10"), HTTP_STREAM_ENDS, LINES(EVENT("ADDED", OBJECT("y", "20")))),
        error_step(WATCH_B("20"), "410 Gone", STATUS("410", "gone")),
        list_step(LIST_A, "30", "", ""),
        list_step(LIST_B " ", "31", "", OBJECT("y", "20")),
        held_watch(WATCH_A("30")),
        held_watch(WATCH_B("31")),
    };
    struct fixture f = {.want = "", .config = of_two};
    start(&f, steps, ARRAY_LEN(steps), &quick);
    while (http_script_taken(f.script) < ARRAY_LEN(steps) && !http_script_problem(f.script)) {
        ev_run(f.loop, EVRUN_ONCE);
    }
    assert_that(!http_script_problem(f.script), "%s", http_script_problem(f.script));
    assert_non_null(strstr(buf_cstr(&f.log), "begin services\nend services\n"));
    assert_non_null(strstr(buf_cstr(&f.log), "begin services\nupsert d/y\nend services\n"));
    assert_int_equal(counter_get(&f.counts.lists), 2);
    assert_in_range(counter_get(&f.counts.watches), 2, 4); /* the last two may still be opening */
    finish(&f);
}

/* A refusal in one namespace keeps the list incomplete. */
UNIT_TEST(test_forbidden_namespace)
{
    const struct http_step steps[] = {
        list_step(LIST_A, "10", "", OBJECT("x", "1")),
        error_step(LIST_B " ", "403 Forbidden", STATUS("403", "no")),
        list_step(LIST_A, "11", "", OBJECT("x", "1")),
    };
    run_as(&of_two, steps, ARRAY_LEN(steps),
           "begin services\nupsert d/x\n"
           "state GET /api/v1/namespaces/b/services: 403 Forbidden: no\n"
           "begin services\nupsert d/x\n");
}

UNIT_TEST(test_label_selector)
{
    const struct http_step steps[] = {
        list_step("GET /api/v1/services?limit=500&labelSelector=dns%3Dyes%2Ctier%20in%20%28a%29 ",
                  "10", "t", ""),
        list_step("GET /api/v1/services?limit=500&labelSelector=dns%3Dyes%2Ctier%20in%20%28a%29"
                  "&continue=t ",
                  "10", "", ""),
        held_watch("GET /api/v1/services?watch=true&allowWatchBookmarks=true&timeoutSeconds=0"
                   "&resourceVersion=10&labelSelector=dns%3Dyes%2Ctier%20in%20%28a%29 "),
    };
    run_as(&(struct reflector_config){.label_selector = "dns=yes,tier in (a)"}, steps,
           ARRAY_LEN(steps), "begin services\nend services\nstate ok\n");
}

/* ---- Sources of endpoints ---- */

static const struct reflector_config of_auto = {.kind = KUBE_ENDPOINTS,
                                                .endpoints_mode = ENDPOINTS_AUTO};
static const struct reflector_config of_slices = {.kind = KUBE_ENDPOINTS,
                                                  .endpoints_mode = ENDPOINTS_SLICES};

UNIT_TEST(test_slices_where_served)
{
    const struct http_step steps[] = {
        list_step("GET " SLICES "?limit=500 ", "10", "",
                  "{\"metadata\":{\"namespace\":\"d\",\"name\":\"a\"},\"endpoints\":[]}"),
        held_watch(WATCH_OF(SLICES, "10")),
    };
    run_as(&of_auto, steps, ARRAY_LEN(steps),
           "begin endpointslices\nupsert d/a\nend endpointslices\nstate ok\n");
}

#define LIST_SLICES    "GET " SLICES "?limit=500 "
#define LIST_ENDPOINTS "GET " ENDPOINTS "?limit=500 "
#define TRY_SLICES     "GET " SLICES "?limit=1 "
#define TRY_WATCH(v) \
    "GET " SLICES "?watch=true&allowWatchBookmarks=true&timeoutSeconds=1&resourceVersion=" v " "

static struct http_step reflector_sources_forbidden(const char *request)
{
    return error_step(request, "403 Forbidden", STATUS("403", "no"));
}

static struct http_step reflector_sources_absent(const char *request)
{
    return error_step(request, "404 Not Found", "404 page not found\n");
}

static void run_timed(const struct http_step *steps, size_t count,
                      const struct reflector_timing *timing, const char *want)
{
    struct fixture f = {.want = want, .config = of_auto};
    run_with(&f, steps, count, timing);
}

/* Slices are not served from the start: that is no error, and settled at once. Slices are probed
 * before the next list; a 403 then unsettles nothing. */
UNIT_TEST(test_endpoints_instead)
{
    const struct http_step steps[] = {
        reflector_sources_absent(LIST_SLICES),
        list_step(LIST_ENDPOINTS, "10", "", OBJECT("a", "1")),
        watch_step(WATCH_OF(ENDPOINTS, "10"), HTTP_STREAM_GOES_ON,
                   LINES(EVENT("ERROR", STATUS("410", "gone")))),
        reflector_sources_forbidden(TRY_SLICES),
        list_step(LIST_ENDPOINTS, "20", "", OBJECT("a", "1")),
        watch_step(WATCH_OF(ENDPOINTS, "20"), HTTP_STREAM_ENDS, LINES(BOOKMARK("25"))),
        error_step(WATCH_OF(ENDPOINTS, "25"), "410 Gone", STATUS("410", "gone")),
        list_step(TRY_SLICES, "30", "", ""),
        held_watch(TRY_WATCH("30")),
        list_step(LIST_SLICES, "31", "", ""),
        held_watch(WATCH_OF(SLICES, "31")),
    };
    run_as(&of_auto, steps, ARRAY_LEN(steps),
           "begin endpoints\nupsert d/a\nsettled\nend endpoints\nstate ok\n"
           "begin endpoints\nupsert d/a\nend endpoints\n"
           "begin endpointslices\nunsettled\nend endpointslices\n");
}

/* Slices are forbidden at first, as by a server whose RBAC is cold: they are probed as soon as the
 * Endpoints are watched. Permitted then, they are as good as at first. */
UNIT_TEST(test_slices_forbidden_for_a_moment)
{
    const struct http_step without[] = {
        reflector_sources_forbidden(LIST_SLICES),
        list_step(LIST_ENDPOINTS, "10", "", ""),
        held_watch(WATCH_OF(ENDPOINTS, "10")),
        reflector_sources_absent(TRY_SLICES),
    };
    run_as(&of_auto, without, ARRAY_LEN(without),
           "begin endpoints\nunsettled\nend endpoints\nstate ok\nsettled\n");
    const struct http_step with[] = {
        reflector_sources_forbidden(LIST_SLICES),
        list_step(LIST_ENDPOINTS, "10", "", ""),
        held_watch(WATCH_OF(ENDPOINTS, "10")),
        list_step(TRY_SLICES, "11", "", ""),
        held_watch(TRY_WATCH("11")),
        list_step(LIST_SLICES, "12", "", ""),
        held_watch(WATCH_OF(SLICES, "12")),
    };
    run_as(&of_auto, with, ARRAY_LEN(with),
           "begin endpoints\nunsettled\nend endpoints\nstate ok\n"
           "begin endpointslices\nsettled\nend endpointslices\n");
}

/* A probe before a list that finds no slices settles it, too. A server that lists them has them,
 * whatever happens to the watch. */
UNIT_TEST(test_slices_turn_out_absent)
{
    const struct http_step steps[] = {
        reflector_sources_forbidden(LIST_SLICES),
        list_step(LIST_ENDPOINTS, "10", "", ""),
        watch_step(WATCH_OF(ENDPOINTS, "10"), HTTP_STREAM_GOES_ON,
                   LINES(EVENT("ERROR", STATUS("410", "gone")))),
        list_step(TRY_SLICES, "11", "", ""),
        reflector_sources_absent(TRY_WATCH("11")),
        list_step(LIST_ENDPOINTS, "20", "", ""),
        watch_step(WATCH_OF(ENDPOINTS, "20"), HTTP_STREAM_ENDS, LINES(BOOKMARK("25"))),
        error_step(WATCH_OF(ENDPOINTS, "25"), "410 Gone", STATUS("410", "gone")),
        reflector_sources_absent(TRY_SLICES),
        list_step(LIST_ENDPOINTS, "30", "", ""),
        held_watch(WATCH_OF(ENDPOINTS, "30")),
    };
    run_as(&of_auto, steps, ARRAY_LEN(steps),
           "begin endpoints\nunsettled\nend endpoints\nstate ok\n"
           "begin endpoints\nend endpoints\n"
           "settled\n"
           "begin endpoints\nend endpoints\n");
}

/* While Endpoints are followed, slices are probed again and again, which disturbs nothing. A
 * refusal settles that Endpoints stay, an outage does not. A role that permits only lists of slices
 * is a refusal. */
UNIT_TEST(test_slices_are_tried_meanwhile)
{
    struct reflector_timing often = quick;
    often.probe_ms = 1;
    const struct http_step steps[] = {
        reflector_sources_forbidden(LIST_SLICES),
        list_step(LIST_ENDPOINTS, "10", "", ""),
        watch_step(WATCH_OF(ENDPOINTS, "10"), HTTP_STREAM_GOES_ON,
                   LINES(EVENT("ADDED", OBJECT("a", "11")))),
        error_step(TRY_SLICES, "500 Internal Server Error", "oops"),
        list_step(TRY_SLICES, "12", "", ""),
        reflector_sources_forbidden(TRY_WATCH("12")),
        reflector_sources_forbidden(TRY_SLICES),
        list_step(TRY_SLICES, "13", "", ""),
        held_watch(TRY_WATCH("13")),
        list_step(LIST_SLICES, "14", "", ""),
        held_watch(WATCH_OF(SLICES, "14")),
    };
    run_timed(steps, ARRAY_LEN(steps), &often,
              "begin endpoints\nunsettled\nend endpoints\nstate ok\nupsert d/a\n"
              "settled\nsettled\n"
              "begin endpointslices\nunsettled\nend endpointslices\nsettled\n");
}

/* Both are forbidden: what lacks is the permission for slices. Where the server has none, it is
 * that for Endpoints. */
UNIT_TEST(test_both_are_forbidden)
{
    const struct http_step slices[] = {
        reflector_sources_forbidden(LIST_SLICES), reflector_sources_forbidden(LIST_ENDPOINTS),
        reflector_sources_forbidden(LIST_SLICES), list_step(LIST_ENDPOINTS, "10", "", ""),
        held_watch(WATCH_OF(ENDPOINTS, "10")),    reflector_sources_forbidden(TRY_SLICES),
    };
    run_as(&of_auto, slices, ARRAY_LEN(slices),
           "state GET " SLICES ": 403 Forbidden: no\n"
           "begin endpoints\nunsettled\nend endpoints\nstate ok\n");
    const struct http_step none[] = {
        reflector_sources_absent(LIST_SLICES), reflector_sources_forbidden(LIST_ENDPOINTS),
        reflector_sources_absent(LIST_SLICES), list_step(LIST_ENDPOINTS, "10", "", ""),
        held_watch(WATCH_OF(ENDPOINTS, "10")),
    };
    run_as(&of_auto, none, ARRAY_LEN(none),
           "state GET " ENDPOINTS ": 403 Forbidden: no\n"
           "begin endpoints\nsettled\nend endpoints\nstate ok\n");
}

/* Once slices were listed, a refusal of the watch, of the list, or of both in turn is an outage. It
 * does not matter that the list alone is permitted in between. */
UNIT_TEST(test_refused_slices_are_an_outage)
{
    const struct http_step steps[] = {
        list_step(LIST_SLICES, "10", "", ""),
        watch_step(WATCH_OF(SLICES, "10"), HTTP_STREAM_ENDS, LINES(BOOKMARK("12"))),
        reflector_sources_forbidden(WATCH_OF(SLICES, "12")),
        reflector_sources_forbidden(LIST_SLICES),
        reflector_sources_absent(LIST_SLICES),
        list_step(LIST_SLICES, "20", "", ""),
        reflector_sources_forbidden(WATCH_OF(SLICES, "20")),
        reflector_sources_forbidden(LIST_SLICES),
        list_step(LIST_SLICES, "30", "", ""),
        held_watch(WATCH_OF(SLICES, "30")),
    };
    run_as(&of_auto, steps, ARRAY_LEN(steps),
           "begin endpointslices\nend endpointslices\nstate ok\n"
           "state GET " SLICES ": 403 Forbidden: no\n"
           "state GET " SLICES ": 403 Forbidden: no\n"
           "state GET " SLICES ": 404 Not Found: 404 page not found\n"
           "begin endpointslices\nend endpointslices\n"
           "state GET " SLICES ": 403 Forbidden: no\n"
           "state GET " SLICES ": 403 Forbidden: no\n"
           "begin endpointslices\nend endpointslices\nstate ok\n");
}

/* A server that has just started refuses for a moment what it has listed: the watch goes on from
 * its version, and nothing is listed again. */
UNIT_TEST(test_watch_refused_for_a_moment)
{
    struct reflector_timing patient = quick;
    patient.cold_ms = 60000;
    const struct http_step steps[] = {
        list_step(LIST_SLICES, "10", "", ""),
        watch_step(WATCH_OF(SLICES, "10"), HTTP_STREAM_ENDS, LINES(BOOKMARK("12"))),
        reflector_sources_forbidden(WATCH_OF(SLICES, "12")),
        reflector_sources_absent(WATCH_OF(SLICES, "12")),
        held_watch(WATCH_OF(SLICES, "12")),
    };
    run_timed(steps, ARRAY_LEN(steps), &patient,
              "begin endpointslices\nend endpointslices\nstate ok\n"
              "state GET " SLICES ": 403 Forbidden: no\n"
              "state GET " SLICES ": 404 Not Found: 404 page not found\n"
              "state ok\n");
}

/* An outage that has lasted too long; time without a reply does not count. Slices that are absent
 * in the end, as after a downgrade, are no more waited for. */
static void refuse_for_long(struct http_step last, const char *want_end)
{
    struct reflector_timing hasty = quick;
    hasty.refused_ms = 1;
    hasty.refused_max_ms = 4;
    const struct http_step steps[] = {
        list_step(LIST_SLICES, "10", "", ""),
        reflector_sources_forbidden(WATCH_OF(SLICES, "10")),
        error_step(LIST_SLICES, "503 Service Unavailable", "later"),
        reflector_sources_forbidden(LIST_SLICES), /* the first in a row */
        last,
        list_step(LIST_ENDPOINTS, "20", "", ""),
        held_watch(WATCH_OF(ENDPOINTS, "20")),
    };
    CLEANUP_FREE char *want = xasprintf("begin endpointslices\nend endpointslices\n"
                                        "state GET " SLICES ": 403 Forbidden: no\n"
                                        "state GET " SLICES ": 503 Service Unavailable: later\n"
                                        "state GET " SLICES ": 403 Forbidden: no\n"
                                        "begin endpoints\n%s\nend endpoints\nstate ok\n",
                                        want_end);
    hasty.retry_first_ms = hasty.retry_max_ms = 10;
    run_timed(steps, ARRAY_LEN(steps), &hasty, want);
}

UNIT_TEST(test_slices_refused_for_long)
{
    refuse_for_long(reflector_sources_forbidden(LIST_SLICES), "unsettled");
    refuse_for_long(reflector_sources_absent(LIST_SLICES), "settled");
}

/* A watch that is accepted ends a row of refusals, a list alone does not. */
UNIT_TEST(test_what_ends_a_row_of_refusals)
{
    struct reflector_timing hasty = quick;
    hasty.refused_ms = 1;
    hasty.refused_max_ms = 4;
    hasty.retry_first_ms = hasty.retry_max_ms = 10;
    const struct http_step steps[] = {
        list_step(LIST_SLICES, "10", "", ""),
        reflector_sources_forbidden(WATCH_OF(SLICES, "10")),
        list_step(LIST_SLICES, "20", "", ""),
        watch_step(WATCH_OF(SLICES, "20"), HTTP_STREAM_ENDS, LINES(BOOKMARK("25"))),
        reflector_sources_forbidden(WATCH_OF(SLICES, "25")),
        list_step(LIST_SLICES, "30", "", ""),
        reflector_sources_forbidden(WATCH_OF(SLICES, "30")),
        list_step(LIST_ENDPOINTS, "40", "", ""),
        held_watch(WATCH_OF(ENDPOINTS, "40")),
    };
    run_timed(steps, ARRAY_LEN(steps), &hasty,
              "begin endpointslices\nend endpointslices\n"
              "state GET " SLICES ": 403 Forbidden: no\n"
              "begin endpointslices\nend endpointslices\nstate ok\n"
              "state GET " SLICES ": 403 Forbidden: no\n"
              "begin endpointslices\nend endpointslices\n"
              "begin endpoints\nunsettled\nend endpoints\nstate ok\n");
}

/* Unavailability is no reason to fall back to another resource. */
UNIT_TEST(test_auto_waits_for_slices)
{
    const struct http_step steps[] = {
        error_step("GET " SLICES "?limit=500 ", "503 Service Unavailable", "later"),
        list_step("GET " SLICES "?limit=500 ", "10", "", ""),
        held_watch(WATCH_OF(SLICES, "10")),
    };
    run_as(&of_auto, steps, ARRAY_LEN(steps),
           "state GET " SLICES ": 503 Service Unavailable: later\n"
           "begin endpointslices\nend endpointslices\nstate ok\n");
}

UNIT_TEST(test_slices_of_v1beta1)
{
    const struct http_step steps[] = {
        reflector_sources_absent(LIST_SLICES),
        list_step("GET " BETA_SLICES "?limit=500 ", "10", "", ""),
        held_watch(WATCH_OF(BETA_SLICES, "10")),
    };
    run_as(&of_slices, steps, ARRAY_LEN(steps),
           "begin endpointslices\nend endpointslices\nstate ok\n");
}

/* An upgraded server has the same slices in v1. */
UNIT_TEST(test_another_version_of_slices)
{
    const struct http_step steps[] = {
        reflector_sources_absent(LIST_SLICES),
        list_step("GET " BETA_SLICES "?limit=500 ", "10", "", ""),
        watch_step(WATCH_OF(BETA_SLICES, "10"), HTTP_STREAM_GOES_ON,
                   LINES(EVENT("ERROR", STATUS("410", "gone")))),
        list_step(LIST_SLICES, "20", "", ""),
        held_watch(WATCH_OF(SLICES, "20")),
    };
    run_as(&of_slices, steps, ARRAY_LEN(steps),
           "begin endpointslices\nend endpointslices\nstate ok\n"
           "begin endpointslices\nsettled\nend endpointslices\n");
}

/* With =slices, it is an error if slices are forbidden or not served in any version. */
UNIT_TEST(test_only_slices)
{
    const struct http_step steps[] = {
        reflector_sources_forbidden(LIST_SLICES),
        reflector_sources_absent(LIST_SLICES),
        reflector_sources_absent("GET " BETA_SLICES "?limit=500 "),
        list_step("GET " SLICES "?limit=500 ", "10", "", ""),
        held_watch(WATCH_OF(SLICES, "10")),
    };
    run_as(&of_slices, steps, ARRAY_LEN(steps),
           "state GET " SLICES ": 403 Forbidden: no\n"
           "state GET " BETA_SLICES ": 404 Not Found: 404 page not found\n"
           "begin endpointslices\nend endpointslices\nstate ok\n");
}

/* ---- Histories ---- */

/* A list that takes longer than the server keeps its revision, twice: retried without pages. */
UNIT_TEST(test_continue_expires_again)
{
    const struct http_step steps[] = {
        list_step(LIST, "10", "t1", OBJECT("a", "1")),
        error_step(PAGE("t1"), "410 Gone", STATUS("410", "expired")),
        list_step(LIST, "20", "t2", OBJECT("a", "1")),
        error_step(PAGE("t2"), "410 Gone", STATUS("410", "expired")),
        list_step("GET /api/v1/services?limit=0 ", "30", "", OBJECT("a", "1")),
        watch_step(WATCH("30"), HTTP_STREAM_GOES_ON, LINES(EVENT("ERROR", STATUS("410", "gone")))),
        list_step(LIST, "40", "", ""),
        held_watch(WATCH("40")),
    };
    run(steps, ARRAY_LEN(steps),
        "begin services\nupsert d/a\nbegin services\nupsert d/a\n"
        "begin services\nupsert d/a\nend services\nstate ok\n"
        "begin services\nend services\n");
}

/* A repeated event is passed on again; an older one is dropped and triggers a new list. */
UNIT_TEST(test_versions_go_back)
{
    const struct http_step steps[] = {
        list_step(LIST, "8", "", OBJECT("a", "1")),
        watch_step(WATCH("8"), HTTP_STREAM_GOES_ON,
                   LINES(EVENT("MODIFIED", OBJECT("a", "9")), EVENT("MODIFIED", OBJECT("a", "9")),
                         EVENT("MODIFIED", OBJECT("a", "10")), EVENT("MODIFIED", OBJECT("b", "9")),
                         EVENT("MODIFIED", OBJECT("c", "12")))),
        list_step(LIST, "12", "", OBJECT("a", "10")),
        held_watch(WATCH("12")),
    };
    run(steps, ARRAY_LEN(steps),
        "begin services\nupsert d/a\nend services\nstate ok\nupsert d/a\nupsert d/a\nupsert d/a\n"
        "begin services\nupsert d/a\nend services\n");
}

/* Versions that are not numbers can only be compared for equality. */
UNIT_TEST(test_opaque_versions)
{
    const struct http_step steps[] = {
        list_step(LIST, "z", "", ""),
        watch_step(WATCH("z"), HTTP_STREAM_GOES_ON,
                   LINES(EVENT("ADDED", OBJECT("a", "b")), EVENT("MODIFIED", OBJECT("a", "a")))),
    };
    run(steps, ARRAY_LEN(steps),
        "begin services\nend services\nstate ok\nupsert d/a\nupsert d/a\n");
}

/* ---- Lists as events ---- */

#define EVENTS_OF(path)                                                                \
    "GET " path "?watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan" \
    "&allowWatchBookmarks=true&timeoutSeconds=600 "
#define EVENTS EVENTS_OF("/api/v1/services")
#define INITIAL_END(version)                                          \
    EVENT("BOOKMARK", "{\"metadata\":{\"resourceVersion\":\"" version \
                      "\",\"annotations\":{\"k8s.io/initial-events-end\":\"true\"}}}")

static void run_events(const struct reflector_config *config, const struct http_step *steps,
                       size_t count, const char *want)
{
    struct fixture f = {.want = want, .config = *config, .has_event_lists = true};
    run_with(&f, steps, count, &quick);
}

/* Each object once, what changes meanwhile, and the watch from the bookmark's version. */
UNIT_TEST(test_list_as_events)
{
    const struct http_step steps[] = {
        watch_step(EVENTS, HTTP_STREAM_GOES_ON,
                   LINES(EVENT("ADDED", OBJECT("a", "3")), EVENT("ADDED", OBJECT("b", "2")),
                         EVENT("DELETED", OBJECT("b", "11")), INITIAL_END("11"))),
        watch_step(WATCH("11"), HTTP_STREAM_GOES_ON, LINES(EVENT("ADDED", OBJECT("c", "12")))),
    };
    run_events(&(struct reflector_config){.kind = KUBE_SERVICE}, steps, ARRAY_LEN(steps),
               "begin services\nupsert d/a\nupsert d/b\nremove d/b\nend services\n"
               "state ok\nupsert d/c\n");
}

/* Namespaces in turn, as parts of one list. */
UNIT_TEST(test_namespaces_as_events)
{
    const struct http_step steps[] = {
        watch_step(EVENTS_OF("/api/v1/namespaces/a/services"), HTTP_STREAM_GOES_ON,
                   LINES(EVENT("ADDED", OBJECT("x", "3")), INITIAL_END("11"))),
        watch_step(EVENTS_OF("/api/v1/namespaces/b/services"), HTTP_STREAM_GOES_ON,
                   LINES(INITIAL_END("11"))),
        held_watch("GET /api/v1/namespaces/"),
        held_watch("GET /api/v1/namespaces/"),
    };
    run_events(&of_two, steps, ARRAY_LEN(steps),
               "begin services\nupsert d/x\nend services\nstate ok\n");
}

/* A server that does not know it is asked for pages, also the next time. */
UNIT_TEST(test_no_list_as_events)
{
    const struct http_step steps[] = {
        error_step(EVENTS, "422 Unprocessable Entity", STATUS("422", "sendInitialEvents")),
        list_step(LIST, "10", "t", OBJECT("a", "1")),
        list_step(PAGE("t"), "10", "", ""),
        watch_step(WATCH("10"), HTTP_STREAM_GOES_ON, LINES(EVENT("ERROR", STATUS("410", "gone")))),
        list_step(LIST, "20", "", ""),
        held_watch(WATCH("20")),
    };
    run_events(&(struct reflector_config){.kind = KUBE_SERVICE}, steps, ARRAY_LEN(steps),
               "begin services\nupsert d/a\nend services\nstate ok\n"
               "begin services\nend services\n");
}

/* So is one that ignores the wish, from the beginning. */
UNIT_TEST(test_events_without_an_end)
{
    const struct http_step steps[] = {
        watch_step(EVENTS, HTTP_STREAM_GOES_ON,
                   LINES(EVENT("ADDED", OBJECT("a", "3")), BOOKMARK("9"))),
        list_step(LIST, "10", "", OBJECT("b", "10")),
        held_watch(WATCH("10")),
    };
    run_events(&(struct reflector_config){.kind = KUBE_SERVICE}, steps, ARRAY_LEN(steps),
               "begin services\nupsert d/a\nbegin services\nupsert d/b\nend services\nstate ok\n");
}

/* Or that sends everything and the end, without a bookmark. */
UNIT_TEST(test_events_that_end)
{
    const struct http_step steps[] = {
        watch_step(EVENTS, HTTP_STREAM_ENDS, LINES(EVENT("ADDED", OBJECT("a", "3")))),
        list_step(LIST, "10", "", OBJECT("b", "10")),
        held_watch(WATCH("10")),
    };
    run_events(&(struct reflector_config){.kind = KUBE_SERVICE}, steps, ARRAY_LEN(steps),
               "begin services\nupsert d/a\nbegin services\nupsert d/b\nend services\nstate ok\n");
}

/* An account that may list and not watch gets pages; failed requests are retried. */
UNIT_TEST(test_list_as_events_fails)
{
    const struct http_step steps[] = {
        error_step(EVENTS, "403 Forbidden", STATUS("403", "no watch")),
        error_step(LIST, "403 Forbidden", STATUS("403", "no list")),
        error_step(EVENTS, "503 Service Unavailable", "later"),
        watch_step(EVENTS, HTTP_STREAM_GOES_ON, LINES(EVENT("ERROR", STATUS("410", "gone")))),
        watch_step(EVENTS, HTTP_STREAM_GOES_ON, LINES(INITIAL_END("11"))),
        held_watch(WATCH("11")),
    };
    run_events(&(struct reflector_config){.kind = KUBE_SERVICE}, steps, ARRAY_LEN(steps),
               "state GET /api/v1/services: 403 Forbidden: no list\n"
               "state GET /api/v1/services: 503 Service Unavailable: later\n"
               "begin services\nbegin services\nend services\nstate ok\n");
}
