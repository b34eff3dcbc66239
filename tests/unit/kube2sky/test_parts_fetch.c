/* parts_fetch against a scripted API server: which lists are asked, when, and what comes of them.
 */
#include "kube2sky/parts_fetch.h"

#include "common/base/clock.h"
#include "tests/support/unit_test.h"
#include "tests/unit/kube2sky/api/reflector_bed.h"

#define SLICES   "GET /apis/discovery.k8s.io/v1/namespaces/d/endpointslices?limit=0"
#define NAMED(s) SLICES "&labelSelector=kubernetes.io%2Fservice-name%20in%20%28" s "%29 "

#define SLICE(name, service)                                                                 \
    "{\"metadata\":{\"namespace\":\"d\",\"name\":\"" name "\",\"resourceVersion\":\"1\","    \
    "\"labels\":{\"kubernetes.io/service-name\":\"" service "\"}},\"addressType\":\"IPv4\"," \
    "\"endpoints\":[]}"

struct bed {
    struct fixture f;
    struct parts_fetch *fetch;
    enum kube_kind kind;
};

static const struct kube_resource *resource_of_bed(void *data, const char *ns)
{
    struct bed *bed = data;
    assert_non_null(ns);
    note(&bed->f, "ask %s", ns);
    return kube_resource_of(bed->kind);
}

static void parts_fetch_on_part(void *data, struct kube_object *object)
{
    struct bed *bed = data;
    note(&bed->f, "part %s/%s", object->ns, object->name);
    kube_object_free(object);
}

static void parts_fetch_begin(struct bed *bed, const struct http_step *steps, size_t count)
{
    struct fixture *f = &bed->f;
    struct err err = {0};
    f->loop = ev_loop_new(0);
    f->script = http_script_new(f->loop, steps, count);
    ev_timer_init(&f->guard, on_guard, GUARD_S, 0);
    f->guard.data = f;
    ev_timer_start(f->loop, &f->guard);
    buf_init(&f->log, 1 << 20);
    const struct kube_client_config config = {.loop = f->loop,
                                              .kube_master_url = http_script_url(f->script)};
    assert_int_equal(kube_client_new(&config, &f->client, &err), 0);
    bed->kind = KUBE_SLICE;
    bed->fetch = parts_fetch_new(&(struct parts_fetch_config){.loop = f->loop,
                                                              .client = f->client,
                                                              .resource = resource_of_bed,
                                                              .part = parts_fetch_on_part,
                                                              .data = bed});
}

/* Runs until the log is as wanted. */
static void run_to(struct bed *bed, const char *want)
{
    struct fixture *f = &bed->f;
    f->want = want;
    while (!http_script_problem(f->script) && f->log.len < strlen(want)) {
        ev_run(f->loop, EVRUN_ONCE);
    }
    assert_null(http_script_problem(f->script));
    assert_string_equal(buf_cstr(&f->log), want);
    buf_clear(&f->log);
}

static void parts_fetch_end(struct bed *bed)
{
    struct fixture *f = &bed->f;
    parts_fetch_free(bed->fetch);
    kube_client_free(f->client);
    http_script_free(f->script);
    ev_timer_stop(f->loop, &f->guard);
    ev_loop_destroy(f->loop);
    buf_fini(&f->log);
}

/* Those that come together are asked together, by name, and only their parts are taken. The next
 * list of the namespace begins a second later. */
UNIT_TEST(test_one_list_a_second)
{
    const struct http_step steps[] = {
        list_step(NAMED("a"), "10", "", SLICE("a-1", "a") "," SLICE("b-1", "b")),
        list_step(SLICES "&labelSelector=kubernetes.io%2Fservice-name%20in%20%28", "11", "",
                  SLICE("b-1", "b") "," SLICE("c-1", "c")),
    };
    CLEANUP(parts_fetch_end) struct bed bed = {.kind = KUBE_SLICE};
    parts_fetch_begin(&bed, steps, ARRAY_LEN(steps));
    int64_t start_ms = clock_monotonic_ms();
    parts_fetch_want(bed.fetch, "d", "a");
    parts_fetch_want(bed.fetch, "d", "a");
    run_to(&bed, "ask d\npart d/a-1\n");
    parts_fetch_want(bed.fetch, "d", "b");
    parts_fetch_want(bed.fetch, "d", "c");
    run_to(&bed, "ask d\npart d/b-1\npart d/c-1\n");
    assert_true(clock_monotonic_ms() - start_ms >= PARTS_FETCH_PAUSE_MS);
}

/* One that is wanted again while its list runs has changed since: it waits for the next one. */
UNIT_TEST(test_wanted_again)
{
    const struct http_step steps[] = {
        list_step(NAMED("a"), "10", "", SLICE("a-1", "a")),
        list_step(NAMED("a"), "11", "", SLICE("a-2", "a")),
    };
    CLEANUP(parts_fetch_end) struct bed bed = {.kind = KUBE_SLICE};
    parts_fetch_begin(&bed, steps, ARRAY_LEN(steps));
    parts_fetch_want(bed.fetch, "d", "a");
    run_to(&bed, "ask d\n");
    parts_fetch_want(bed.fetch, "d", "a");
    run_to(&bed, "ask d\npart d/a-2\n");
}

/* A failed list is retried, however it failed. */
UNIT_TEST(test_failures)
{
    const struct http_step steps[] = {
        error_step(NAMED("a"), "503 Service Unavailable", "later"),
        {.request = NAMED("a"), .reply = http_reply_body("200 OK", "{\"items\":7}")},
        list_step(NAMED("a"), "12", "", SLICE("a-1", "a")),
    };
    CLEANUP(parts_fetch_end) struct bed bed = {.kind = KUBE_SLICE};
    parts_fetch_begin(&bed, steps, ARRAY_LEN(steps));
    parts_fetch_want(bed.fetch, "d", "a");
    run_to(&bed, "ask d\nask d\nask d\npart d/a-1\n");
}

/* More than a selector holds, a name that is none, or Endpoints of several: the whole namespace. */
UNIT_TEST(test_whole_namespaces)
{
    const struct http_step many[] = {list_step(SLICES " ", "10", "", SLICE("s-1", "s100"))};
    const struct http_step odd[] = {list_step(SLICES " ", "10", "", SLICE("s-1", "a)b"))};
    const struct http_step endpoints[] = {
        list_step("GET /api/v1/namespaces/d/endpoints?limit=0&fieldSelector=metadata.name%3Da ",
                  "10", "", OBJECT("a", "1")),
        list_step("GET /api/v1/namespaces/d/endpoints?limit=0 ", "10", "",
                  OBJECT("b", "1") "," OBJECT("x", "1") "," OBJECT("c", "1")),
    };
    struct bed bed = {.kind = KUBE_SLICE};
    parts_fetch_begin(&bed, many, ARRAY_LEN(many));
    for (int i = 0; i <= PARTS_FETCH_NAMED_MAX; i++) {
        CLEANUP_FREE char *name = xasprintf("s%d", i);
        parts_fetch_want(bed.fetch, "d", name);
    }
    run_to(&bed, "ask d\npart d/s-1\n");
    parts_fetch_end(&bed);
    parts_fetch_begin(&bed, odd, ARRAY_LEN(odd));
    parts_fetch_want(bed.fetch, "d", "a)b");
    run_to(&bed, "ask d\npart d/s-1\n");
    parts_fetch_end(&bed);
    parts_fetch_begin(&bed, endpoints, ARRAY_LEN(endpoints));
    bed.kind = KUBE_ENDPOINTS;
    parts_fetch_want(bed.fetch, "d", "a");
    run_to(&bed, "ask d\npart d/a\n");
    parts_fetch_want(bed.fetch, "d", "b");
    parts_fetch_want(bed.fetch, "d", "c");
    run_to(&bed, "ask d\npart d/b\npart d/c\n");
    parts_fetch_end(&bed);
}

/* Namespaces have turns: one that demands much holds up no other, nor do all of them together ask
 * more at once than PARTS_FETCHES_MAX. */
UNIT_TEST(test_turns)
{
    struct http_step steps[PARTS_FETCHES_MAX + 1];
    for (size_t i = 0; i <= PARTS_FETCHES_MAX; i++) { /* the first ones hang */
        steps[i] = i < PARTS_FETCHES_MAX
                       ? (struct http_step){.request = "GET /apis/discovery.k8s.io/v1/namespaces/n"}
                       : error_step("GET /apis/", "500 Internal Server Error", "no");
    }
    CLEANUP(parts_fetch_end) struct bed bed = {.f = {.want = "~"}, .kind = KUBE_SLICE};
    parts_fetch_begin(&bed, steps, ARRAY_LEN(steps));
    for (int i = 0; i < PARTS_FETCHES_MAX + 3; i++) {
        CLEANUP_FREE char *ns = xasprintf("n%d", i);
        parts_fetch_want(bed.fetch, ns, "a");
    }
    while (http_script_taken(bed.f.script) < PARTS_FETCHES_MAX) {
        ev_run(bed.f.loop, EVRUN_ONCE);
    }
    ev_run(bed.f.loop, EVRUN_NOWAIT);
    assert_int_equal(http_script_taken(bed.f.script), PARTS_FETCHES_MAX);
    size_t asked = 0;
    for (const char *at = buf_cstr(&bed.f.log); (at = strstr(at, "ask n")); at++) {
        asked++;
    }
    assert_int_equal(asked, PARTS_FETCHES_MAX);
}
