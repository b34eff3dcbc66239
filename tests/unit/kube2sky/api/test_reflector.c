/* The reflector: lists, watches, and what can go wrong with them. */
#include "kube2sky/api/kube_frames_internal.h"
#include "tests/unit/kube2sky/api/reflector_bed.h"

#include "common/base/backoff.h"
#include "kube2sky/api/watcher_internal.h"
#include "tests/support/unit_test.h"

/* The watch begins at the first page's version. */
UNIT_TEST(test_two_pages_then_events)
{
    const struct http_step steps[] = {
        list_step(LIST, "10", "t/1+", OBJECT("a", "1") "," OBJECT("b", "2")),
        list_step(PAGE("t%2F1%2B"), "11", "", OBJECT("c", "3")),
        watch_step(WATCH("10"), HTTP_STREAM_GOES_ON,
                   LINES(EVENT("ADDED", OBJECT("d", "12")), EVENT("MODIFIED", OBJECT("a", "13")),
                         EVENT("DELETED", OBJECT("b", "14")),
                         EVENT("DELETED", OBJECT("never-seen", "15")),
                         EVENT("MODIFIED", OBJECT("a", "16")))),
    };
    run(steps, ARRAY_LEN(steps),
        "begin services\nupsert d/a\nupsert d/b\nupsert d/c\nend services\nstate ok\n"
        "upsert d/d\nupsert d/a\nremove d/b\nremove d/never-seen\nupsert d/a\n");
}

/* A watch that ended is resumed at the last event's or bookmark's version, over a new connection:
 * it may reach another server. */
UNIT_TEST(test_resume)
{
    struct fixture f = {
        .want = "begin services\nend services\nstate ok\nupsert d/a\nupsert d/b\nupsert d/c\n"};
    const struct http_step steps[] = {
        list_step(LIST, "10", "", ""),
        watch_step(WATCH("10"), HTTP_STREAM_ENDS, LINES(EVENT("ADDED", OBJECT("a", "12")))),
        watch_step(WATCH("12"), HTTP_STREAM_ENDS,
                   LINES(EVENT("ADDED", OBJECT("b", "13")), BOOKMARK("20"))),
        watch_step(WATCH("20"), HTTP_STREAM_GOES_ON, LINES(EVENT("ADDED", OBJECT("c", "21")))),
    };
    run_with(&f, steps, ARRAY_LEN(steps), &quick);
    assert_int_equal(f.connections, ARRAY_LEN(steps));
}

UNIT_TEST(test_continue_expired)
{
    const struct http_step steps[] = {
        list_step(LIST, "10", "t1", OBJECT("a", "1")),
        error_step(PAGE("t1"), "410 Gone",
                   "{\"kind\":\"Status\",\"code\":410,\"metadata\":{\"continue\":\"t2\"}}"),
        list_step(LIST, "15", "", OBJECT("a", "1")),
        held_watch(WATCH("15")),
    };
    run(steps, ARRAY_LEN(steps),
        "begin services\nupsert d/a\nbegin services\nupsert d/a\nend services\nstate ok\n");
}

/* History gone: as an event, and as a status. Neither is reported. */
UNIT_TEST(test_watch_gone)
{
    const struct http_step steps[] = {
        list_step(LIST, "10", "", ""),
        watch_step(WATCH("10"), HTTP_STREAM_GOES_ON,
                   LINES(EVENT("ERROR", STATUS("410", "too old resource version")),
                         EVENT("ADDED", OBJECT("not-to-be-seen", "11")))),
        list_step(LIST, "20", "", OBJECT("a", "19")),
        error_step(WATCH("20"), "410 Gone", STATUS("410", "gone")),
        list_step(LIST, "30", "", ""),
        held_watch(WATCH("30")),
    };
    run(steps, ARRAY_LEN(steps),
        "begin services\nend services\nstate ok\n"
        "begin services\nupsert d/a\nend services\n"
        "begin services\nend services\n");
}

/* A server whose history is always gone is not asked as fast as it answers: the first relist is
 * immediate, the second waits. */
UNIT_TEST(test_watch_gone_again_and_again)
{
    static const struct reflector_timing slow = {.silent_ms = 60000,
                                                 .renew_ms = 60000,
                                                 .open_ms = 60000,
                                                 .retry_first_ms = 300,
                                                 .retry_max_ms = 300,
                                                 .calm_ms = 60000};
    struct fixture f = {.want = "begin services\nend services\n"
                                "begin services\nend services\n"
                                "begin services\nend services\nstate ok\n"};
    const struct http_step steps[] = {
        list_step(LIST, "10", "", ""), error_step(WATCH("10"), "410 Gone", STATUS("410", "gone")),
        list_step(LIST, "20", "", ""), error_step(WATCH("20"), "410 Gone", STATUS("410", "gone")),
        list_step(LIST, "30", "", ""), held_watch(WATCH("30")),
    };
    int64_t start_ms = clock_monotonic_ms();
    run_with(&f, steps, ARRAY_LEN(steps), &slow);
    assert_true(clock_monotonic_ms() - start_ms >= 140); /* half of it, less rounding */
}

/* Delays of 50, 100 and 200 ms, at least half of each, less rounding. */
static const struct reflector_timing growing = {.silent_ms = 60000,
                                                .renew_ms = 60000,
                                                .open_ms = 60000,
                                                .retry_first_ms = 50,
                                                .retry_max_ms = 5000,
                                                .calm_ms = 60000};
enum { GROWN_MS = 170 };

static void run_growing(const struct http_step *steps, size_t count, const char *want)
{
    struct fixture f = {.want = want};
    int64_t start_ms = clock_monotonic_ms();
    run_with(&f, steps, count, &growing);
    assert_true(clock_monotonic_ms() - start_ms >= GROWN_MS);
}

/* One event before each failure is no reason to list again at once. */
UNIT_TEST(test_relists_slow_down)
{
#define ONE_EVENT_THEN_GONE(at, next)                                                \
    list_step(LIST, at, "", ""), watch_step(WATCH(at), HTTP_STREAM_GOES_ON,          \
                                            LINES(EVENT("ADDED", OBJECT("a", next)), \
                                                  EVENT("ERROR", STATUS("410", "gone"))))
    const struct http_step steps[] = {
        ONE_EVENT_THEN_GONE("10", "11"), ONE_EVENT_THEN_GONE("20", "21"),
        ONE_EVENT_THEN_GONE("30", "31"), ONE_EVENT_THEN_GONE("40", "41"),
        list_step(LIST, "50", "", ""),   held_watch(WATCH("50")),
    };
    run_growing(steps, ARRAY_LEN(steps),
                "begin services\nend services\nstate ok\nupsert d/a\n"
                "begin services\nend services\nupsert d/a\n"
                "begin services\nend services\nupsert d/a\n"
                "begin services\nend services\nupsert d/a\n"
                "begin services\nend services\n");
}

/* The same for a watch that is resumed, whether it is cut or ends properly. */
UNIT_TEST(test_resumed_watches_slow_down)
{
    for (int is_cut = 0; is_cut < 2; is_cut++) {
        enum http_script_stream end = is_cut ? HTTP_STREAM_GOES_ON : HTTP_STREAM_ENDS;
        struct http_step steps[] = {
            list_step(LIST, "10", "", ""),
            watch_step(WATCH("10"), end, LINES(EVENT("ADDED", OBJECT("a", "11")))),
            watch_step(WATCH("11"), end, LINES(EVENT("ADDED", OBJECT("a", "12")))),
            watch_step(WATCH("12"), end, LINES(EVENT("ADDED", OBJECT("a", "13")))),
            watch_step(WATCH("13"), HTTP_STREAM_GOES_ON, LINES(EVENT("ADDED", OBJECT("b", "14")))),
        };
        for (int i = 1; i < 4; i++) {
            steps[i].is_closed = is_cut;
        }
#define CUT \
    "state GET /api/v1/services: connection closed in the middle of the response\nstate ok\n"
        run_growing(steps, ARRAY_LEN(steps),
                    is_cut ? "begin services\nend services\nstate ok\nupsert d/a\n" CUT
                             "upsert d/a\n" CUT "upsert d/a\n" CUT "upsert d/b\n"
                           : "begin services\nend services\nstate ok\n"
                             "upsert d/a\nupsert d/a\nupsert d/a\nupsert d/b\n");
    }
}

/* ---- Retry-After ---- */

static void on_unused(void *data)
{
    fail_msg("the list was opened");
}

static void reflector_on_refused(void *data, struct kube_list_meta *meta,
                                 const struct kube_failure *failure)
{
    assert_null(meta);
    *(struct kube_failure *)data = *failure;
}

UNIT_TEST(test_retry_after)
{
    static const struct kube_list_callbacks callbacks = {.on_open = on_unused,
                                                         .on_end = reflector_on_refused};
    static const struct {
        const char *status;
        uint32_t want_ms;
    } cases[] = {
        {"429 Too Many Requests\r\nRetry-After: 7", 7000},
        {"503 Service Unavailable\r\nretry-after: 7", 7000},
        {"429 Too Many Requests\r\nRetry-After: 61", KUBE_RETRY_AFTER_MAX_MS},
        {"429 Too Many Requests\r\nRetry-After: 86400", KUBE_RETRY_AFTER_MAX_MS},
        {"429 Too Many Requests\r\nRetry-After: 99999999999999999999", 0},
        {"429 Too Many Requests\r\nRetry-After: -1", 0},
        {"429 Too Many Requests\r\nRetry-After: soon", 0},
        {"429 Too Many Requests", 0},
        {"500 Internal Server Error\r\nRetry-After: 7", 0},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        const struct http_step step = error_step(LIST, cases[i].status, "");
        struct ev_loop *loop = ev_loop_new(0);
        struct http_script *script = http_script_new(loop, &step, 1);
        struct kube_client *client = NULL;
        struct kube_failure failure = {0};
        const struct kube_scope all = {.ns = "", .label_selector = ""};
        assert_int_equal(kube_client_new(&(struct kube_client_config){.loop = loop,
                                                                      .kube_master_url =
                                                                          http_script_url(script)},
                                         &client, &failure.err),
                         0);
        kube_client_list(client, kube_resource_of(KUBE_SERVICE), &all, 500, "", &callbacks,
                         &failure);
        while (failure.err.code == 0) {
            ev_run(loop, EVRUN_ONCE);
        }
        assert_that(failure.retry_after_ms == cases[i].want_ms, "%s: got %u ms", cases[i].status,
                    failure.retry_after_ms);
        kube_client_free(client);
        http_script_free(script);
        ev_loop_destroy(loop);
    }
}

/* A list and a watch wait as long as they are told. */
UNIT_TEST(test_retry_after_is_waited_for)
{
    const struct http_step steps[] = {
        error_step(LIST, "503 Service Unavailable\r\nRetry-After: 1", "later"),
        list_step(LIST, "10", "", ""),
        error_step(WATCH("10"), "429 Too Many Requests\r\nRetry-After: 1", "later"),
        held_watch(WATCH("10")),
    };
    int64_t start_ms = clock_monotonic_ms();
    run(steps, ARRAY_LEN(steps),
        "state GET /api/v1/services: 503 Service Unavailable: later\n"
        "begin services\nend services\n"
        "state GET /api/v1/services: 429 Too Many Requests: later\nstate ok\n");
    assert_true(clock_monotonic_ms() - start_ms >= 1990);
}

UNIT_TEST(test_other_error_event)
{
    const struct http_step steps[] = {
        list_step(LIST, "10", "", ""),
        watch_step(WATCH("10"), HTTP_STREAM_GOES_ON,
                   LINES(EVENT("ERROR", STATUS("500", "etcd is away")))),
        list_step(LIST, "20", "", ""),
        held_watch(WATCH("20")),
    };
    run(steps, ARRAY_LEN(steps),
        "begin services\nend services\nstate ok\n"
        "state watch of services: 500 etcd is away\n"
        "begin services\nend services\nstate ok\n");
}

/* The partial line is dropped, and the event arrives again. */
UNIT_TEST(test_cut_in_a_line)
{
    static const char line[] = EVENT("ADDED", OBJECT("b", "12"));
    for (size_t cut = 0; cut < strlen(line); cut += 7) {
        CLEANUP_FREE char *half = xstrndup(line, cut);
        struct http_step steps[] = {
            list_step(LIST, "10", "", ""),
            watch_step(WATCH("10"), HTTP_STREAM_GOES_ON,
                       cut ? LINES(EVENT("ADDED", OBJECT("a", "11")), half)
                           : LINES(EVENT("ADDED", OBJECT("a", "11")))),
            watch_step(WATCH("11"), HTTP_STREAM_GOES_ON, LINES(line)),
        };
        steps[1].is_closed = true;
        run(steps, ARRAY_LEN(steps),
            "begin services\nend services\nstate ok\nupsert d/a\n"
            "state GET /api/v1/services: connection closed in the middle of the response\n"
            "state ok\nupsert d/b\n");
    }
}

/* However the network splits the bytes. */
UNIT_TEST(test_in_pieces)
{
    for (size_t piece = 1; piece < 40; piece += 13) {
        struct http_step steps[] = {
            list_step(LIST, "10", "", OBJECT("a", "1")),
            watch_step(WATCH("10"), HTTP_STREAM_GOES_ON,
                       LINES(EVENT("ADDED", OBJECT("b", "11")), EVENT("ADDED", OBJECT("c", "12")))),
        };
        steps[0].piece_bytes = piece;
        steps[1].piece_bytes = piece;
        run(steps, ARRAY_LEN(steps),
            "begin services\nupsert d/a\nend services\nstate ok\nupsert d/b\nupsert d/c\n");
    }
}

/* A broken object affects no other, and the watch continues after it. */
UNIT_TEST(test_broken_objects)
{
    const struct http_step steps[] = {
        list_step(LIST, "10", "", OBJECT("a", "1") "," BROKEN("b", "2") "," OBJECT("c", "3")),
        watch_step(WATCH("10"), HTTP_STREAM_ENDS,
                   LINES(EVENT("ADDED", OBJECT("d", "11")), EVENT("MODIFIED", BROKEN("d", "12")))),
        watch_step(WATCH("12"), HTTP_STREAM_GOES_ON, LINES(EVENT("DELETED", BROKEN("d", "13")))),
    };
    run(steps, ARRAY_LEN(steps),
        "begin services\nupsert d/a\nupsert d/b garbled: spec: expected an object, found a number\n"
        "upsert d/c\nend services\nstate ok\nupsert d/d\n"
        "upsert d/d garbled: spec: expected an object, found a number\nremove d/d\n");
}

/* A line that is not an event: what was missed is unknown. */
UNIT_TEST(test_unreadable_line)
{
    const struct http_step steps[] = {
        list_step(LIST, "10", "", ""),
        watch_step(WATCH("10"), HTTP_STREAM_GOES_ON, LINES("oops\n")),
        list_step(LIST, "20", "", ""),
        held_watch(WATCH("20")),
    };
    run(steps, ARRAY_LEN(steps),
        "begin services\nend services\nstate ok\n"
        "state watch of services: watch event: not a JSON object with type and object\n"
        "begin services\nend services\nstate ok\n");
}

UNIT_TEST(test_line_too_long)
{
    CLEANUP_FREE char *line = xmalloc(KUBE_FRAME_MAX + 2);
    memset(line, 'x', KUBE_FRAME_MAX + 1);
    line[KUBE_FRAME_MAX + 1] = '\0';
    const struct http_step steps[] = {
        list_step(LIST, "10", "", ""),
        watch_step(WATCH("10"), HTTP_STREAM_GOES_ON, LINES(line)),
        list_step(LIST, "20", "", ""),
        held_watch(WATCH("20")),
    };
    run(steps, ARRAY_LEN(steps),
        "begin services\nend services\nstate ok\n"
        "state GET /api/v1/services: an event is longer than 8388608 bytes\n"
        "begin services\nend services\nstate ok\n");
}

/* Reports contain the server's message; the same one is not reported twice, unless the server
 * refuses.
 */
UNIT_TEST(test_refusals)
{
    const struct http_step steps[] = {
        error_step(LIST, "403 Forbidden", STATUS("403", "services is forbidden")),
        error_step(LIST, "403 Forbidden", STATUS("403", "services is forbidden")),
        error_step(LIST, "503 Service Unavailable", "not yet\nmore"),
        error_step(LIST, "503 Service Unavailable", "not yet\nmore"),
        error_step(LIST, "200 OK", "<html>"),
        list_step(LIST, "10", "", ""),
        error_step(WATCH("10"), "429 Too Many Requests", STATUS("429", "slow down")),
        error_step(WATCH("10"), "400 Bad Request", STATUS("400", "invalid version")),
        list_step(LIST, "20", "", ""),
        held_watch(WATCH("20")),
    };
    run(steps, ARRAY_LEN(steps),
        "state GET /api/v1/services: 403 Forbidden: services is forbidden\n"
        "state GET /api/v1/services: 403 Forbidden: services is forbidden\n"
        "state GET /api/v1/services: 503 Service Unavailable: not yet\n"
        "begin services\n"
        "state services: list: not a JSON object, or cut short\n"
        "begin services\nend services\n"
        "state GET /api/v1/services: 429 Too Many Requests: slow down\n"
        "state GET /api/v1/services: 400 Bad Request: invalid version\n"
        "begin services\nend services\nstate ok\n");
}

/* A watch that goes on asks for the server's version; one in the past is told, and everything
 * listed.
 */
UNIT_TEST(test_store_goes_back)
{
    struct fixture f = {.want = "begin services\nupsert d/a\nend services\nstate ok\n"
                                "went back: watch of services: the server's version 899 is before "
                                "900, which was seen\n"
                                "begin services\nend services\n",
                        .config.went_back = on_went_back};
    const struct http_step steps[] = {
        list_step(LIST, "10", "", OBJECT("a", "9")),
        watch_step(WATCH("10"), HTTP_STREAM_ENDS, LINES(BOOKMARK("900"))),
        held_watch(WATCH("900")),
        list_step("GET /api/v1/namespaces/default/services?limit=1&"
                  "fieldSelector=metadata.name%3Dkubernetes ",
                  "899", "", ""),
        list_step(LIST, "901", "", ""),
        held_watch(WATCH("901")),
    };
    run_with(&f, steps, ARRAY_LEN(steps), &quick);
}

/* A version that is as new is not. What fails is asked again, what is refused is not. */
UNIT_TEST(test_store_goes_on)
{
    const char *const ask =
        "GET /api/v1/namespaces/default/services?limit=1&fieldSelector=metadata.name%3Dkubernetes ";
    struct fixture f = {.want = "begin services\nend services\nstate ok\n",
                        .config.went_back = on_went_back};
    const struct http_step steps[] = {
        list_step(LIST, "10", "", ""),
        watch_step(WATCH("10"), HTTP_STREAM_ENDS, LINES(BOOKMARK("900"))),
        held_watch(WATCH("900")),
        error_step(ask, "503 Service Unavailable", "later"),
        list_step(ask, "900", "", OBJECT("kubernetes", "3")),
    };
    run_with(&f, steps, ARRAY_LEN(steps), &quick);
}

/* Everything is listed again, however well it goes. */
UNIT_TEST(test_listed_again_in_time)
{
    struct reflector_timing timing = quick;
    struct fixture f = {.want = "begin services\nend services\nstate ok\n"
                                "begin services\nupsert d/missed\nend services\n"};
    timing.relist_ms = 1000;
    const struct http_step steps[] = {
        list_step(LIST, "10", "", ""),
        held_watch(WATCH("10")),
        list_step(LIST, "20", "", OBJECT("missed", "11")),
        held_watch(WATCH("20")),
    };
    run_with(&f, steps, ARRAY_LEN(steps), &timing);
}

/* Over HTTP/1.1 nobody can be asked whether the server is still there: a silent watch is asked
 * again from the same version, which is no failure. */
UNIT_TEST(test_silence_renews_a_watch)
{
    const struct reflector_timing timing = {
        .silent_ms = 1, .renew_ms = 1000, .open_ms = 60000, .retry_first_ms = 1, .retry_max_ms = 4};
    struct fixture f = {.want = "begin services\nend services\nstate ok\n"};
    const struct http_step steps[] = {
        list_step(LIST, "10", "", ""),
        held_watch(WATCH("10")),
        watch_step(WATCH("10"), HTTP_STREAM_GOES_ON, LINES(BOOKMARK("11"))),
        held_watch(WATCH("11")),
    };
    run_with(&f, steps, ARRAY_LEN(steps), &timing);
}

/* A server that hangs accepts connections: its kernel does. */
UNIT_TEST(test_no_reply_to_a_watch)
{
    const struct reflector_timing timing = {.silent_ms = 60000,
                                            .renew_ms = 60000,
                                            .open_ms = 1000,
                                            .retry_first_ms = 1,
                                            .retry_max_ms = 4};
    struct fixture f = {.want = "begin services\nend services\n"
                                "state watch of services: no response from the server\n"
                                "state ok\n"};
    const struct http_step steps[] = {
        list_step(LIST, "10", "", ""),
        {.request = WATCH("10")},
        held_watch(WATCH("10")),
    };
    run_with(&f, steps, ARRAY_LEN(steps), &timing);
}

/* A 401 makes it reread the token file. */
UNIT_TEST(test_token_renewed)
{
    char path[] = "/tmp/test_reflector.XXXXXX";
    int fd = mkstemp(path);
    char *want = xasprintf("state GET /api/v1/services: 401 Unauthorized: Unauthorized; sent: the "
                           "token in %s\nbegin services\nend services\nstate ok\n",
                           path);
    struct fixture f = {.want = want, .token_path = path};
    assert_true(fd >= 0);
    assert_int_equal(close(fd), 0);
    file_from(path, "old");
    struct http_step steps[] = {
        error_step(LIST, "401 Unauthorized", STATUS("401", "Unauthorized")),
        list_step(LIST, "10", "", ""),
        held_watch(WATCH("10")),
    };
    steps[0].header = "Authorization: Bearer old";
    steps[1].header = "Authorization: Bearer new";
    steps[2].header = "Authorization: Bearer new";
    run_with(&f, steps, ARRAY_LEN(steps), &quick);
    assert_int_equal(unlink(path), 0);
    free(want);
}

/* Refused requests wait longer than others that fail, and the delay grows through the same steps: a
 * server that has started may refuse for a moment. */
UNIT_TEST(test_waits_of_the_refused)
{
    static const uint32_t upto_ms[] = {100,  200,   400,   800,   1600,  3200,
                                       6400, 12800, 25600, 51200, 60000, 60000};
    const struct reflector_timing timing = {
        .retry_first_ms = 100, .retry_max_ms = 5000, .refused_max_ms = 60000};
    struct backoff backoff;
    backoff_init(&backoff, timing.retry_first_ms, timing.retry_max_ms);
    for (size_t i = 0; i < ARRAY_LEN(upto_ms); i++) {
        uint32_t wait_ms = watcher_retry_ms(&timing, &backoff, ERR_REFUSED);
        assert_in_range(wait_ms, upto_ms[i] / 2, upto_ms[i]);
    }
    assert_in_range(watcher_retry_ms(&timing, &backoff, ERR_UNAVAILABLE), 2500, 5000);
}

static void reflector_ask_again(struct ev_loop *loop, ev_timer *w, int revents)
{
    struct fixture *f = w->data;
    if (strstr(buf_cstr(&f->log), "403")) {
        ev_timer_stop(loop, w);
        reflector_retry(f->reflector);
    }
}

/* A list, or a watch, that is refused would wait for longer than the test runs. */
UNIT_TEST(test_what_is_refused_is_asked_at_once)
{
    static const struct reflector_timing timing = {.silent_ms = 60000,
                                                   .renew_ms = 60000,
                                                   .open_ms = 60000,
                                                   .retry_first_ms = 600 * 1000,
                                                   .retry_max_ms = 600 * 1000,
                                                   .refused_max_ms = 600 * 1000,
                                                   .calm_ms = 60000};
    const struct http_step list[] = {
        error_step(LIST, "403 Forbidden", STATUS("403", "no")),
        list_step(LIST, "10", "", ""),
        held_watch(WATCH("10")),
    };
    const struct http_step watch[] = {
        list_step(LIST, "10", "", ""),
        error_step(WATCH("10"), "403 Forbidden", STATUS("403", "no")),
        held_watch(WATCH("10")),
    };
    static const char *const wanted[] = {
        "state GET /api/v1/services: 403 Forbidden: no\n"
        "begin services\nend services\nstate ok\n",
        "begin services\nend services\n"
        "state GET /api/v1/services: 403 Forbidden: no\nstate ok\n",
    };
    for (int i = 0; i < 2; i++) {
        struct fixture f = {.want = wanted[i]};
        ev_timer again;
        start(&f, i ? watch : list, 3, &timing);
        ev_timer_init(&again, reflector_ask_again, 0.01, 0.01);
        again.data = &f;
        ev_timer_start(f.loop, &again);
        while (f.log.len < strlen(f.want)) {
            ev_run(f.loop, EVRUN_ONCE);
        }
        assert_string_equal(buf_cstr(&f.log), f.want);
        finish(&f);
    }
}
