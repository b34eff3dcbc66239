/* wait_pages.h: /flush and -flush: over a real socket, of the cache of a resolver on its own
 * thread. */
#include "tests/unit/skydns/resolver/resolver_bed.h"

#include <ev.h>
#include <pthread.h>

#include "skydns/watch/wait_pages.h"
#include "tests/support/http_ask.h"
#include "tests/support/skydns/foreign_reply.h"
#include "tests/support/skydns/response_bytes.h"
#include "tests/support/stdout_capture.h"

UNIT_TESTS_HAVE_THREADS

/* More than one step of CACHE_FLUSH_STEP looks at. */
enum { ENTRIES = 20000, NAMES = 50 };

struct flush_bed {
    struct fixture *f;
    struct cache *cache;
    struct metrics_sources sources;
    struct ev_loop *loop; /* as the main thread's */
    ev_async stop;
    struct flush_page *page;
    struct http_route route;
    struct http_server *server;
    struct addr address;
    pthread_t thread;
};

static void flush_configure(struct fixture *f, struct engine_config *config)
{
    config->cache = cache_new(ENTRIES);
}

static void flush_on_stop(struct ev_loop *loop, ev_async *stop, int events)
{
    ev_break(loop, EVBREAK_ONE);
}

static void *flush_serve(void *data)
{
    struct flush_bed *b = data;
    (void)ev_run(b->loop, 0);
    return NULL;
}

/* A response to the question "www.test. A". */
static void flush_put(const struct flush_bed *b, const char *question)
{
    static struct external_reply reply;
    const struct cache_key key = others_key(question);
    const struct cache_limits limits = {.ttl_max_s = 3600};
    const struct addr nameserver = external_nameserver();
    const int name_len = (int)strcspn(question, " ");
    const char *type = question + name_len + 1;
    char text[256];
    (void)snprintf(text, sizeof(text), "NOERROR qr rd ra\n? %.*s IN %s\n= %.*s 60 %s %s\n",
                   name_len, question, type, name_len, question, type,
                   key.type == A ? "10.0.0.1" : "fd00::1"); /* fits */
    external_reply_make(&reply, text);
    assert_int_equal(
        cache_put_bytes(b->cache, &key, reply.wire, reply.len, &nameserver, &limits, 0), CACHE_HIT);
}

static bool flush_has(const struct flush_bed *b, const char *question)
{
    const struct cache_key key = others_key(question);
    const struct cache_limits limits = {.ttl_max_s = 3600};
    struct cache_hit hit;
    uint8_t records[512];
    cache_read(b->cache, &key, &limits, 0, CACHE_PEEK, 0, records, sizeof(records), &hit);
    return hit.state == CACHE_FRESH;
}

static void flush_begin(struct flush_bed *b)
{
    *b = (struct flush_bed){
        .f = setup_still_with(TIMEOUT_S * 1000, RESOLVER_STALE_WAIT_MS, flush_configure),
        .loop = ev_loop_new(0)};
    publish(b->f);
    b->cache = publisher_newest_config(b->f->publisher)->cache;
    b->sources = (struct metrics_sources){.resolver = b->f->resolver};
    b->page = flush_page_new(b->loop, &b->sources);
    b->route = flush_page_route(b->page);
    b->server = http_ask_serve(b->loop, &b->route, 1, &b->address);
    ev_async_init(&b->stop, flush_on_stop);
    ev_async_start(b->loop, &b->stop);
    assert_int_equal(pthread_create(&b->thread, NULL, flush_serve, b), 0);
    flush_put(b, "www.example.com. A");
    flush_put(b, "www.example.com. AAAA");
    flush_put(b, "example.com. A");
    flush_put(b, "a.www.example.com. A");
    flush_put(b, "www.example.org. A");
}

static void flush_end(struct flush_bed *b)
{
    ev_async_send(b->loop, &b->stop);
    assert_int_equal(pthread_join(b->thread, NULL), 0);
    http_server_free(b->server);
    flush_page_free(b->page);
    ev_loop_destroy(b->loop);
    if (!b->f->workers[0]) { /* of a test that failed before */
        start_threads(b->f);
    }
    stop(b->f);
    teardown(b->f);
}

UNIT_FIXTURE(struct flush_bed, flush_begin, flush_end)

/* `field` NULL: GET. */
static void flush_expect(const struct flush_bed *b, const char *target, const char *field,
                         unsigned status, const char *body)
{
    CLEANUP(http_response_fini) struct http_response response;
    struct err err;
    const struct http_fetch fetch = {.server = b->address,
                                     .target = target,
                                     .post = field,
                                     .timeout_ms = INT64_C(1000) * TIMEOUT_S};
    http_response_init(&response, 4096);
    assert_that(http_fetch(&fetch, &response, &err) == 0, "%s: %s", target, err.msg);
    assert_string_equal(buf_cstr(&response.body), body);
    assert_int_equal(response.status, status);
}

static const char flush_field[] = "Skydns-Flush: 1";

/* All types of one name, in any case. */
UNIT_TEST_ON(test_a_name, struct flush_bed *b)
{
    start_threads(b->f);
    flush_expect(b, "/flush?name=WWW.example.com", flush_field, 200, "{\"dropped\":2}\n");
    assert_false(flush_has(b, "www.example.com. A"));
    assert_false(flush_has(b, "www.example.com. AAAA"));
    assert_true(flush_has(b, "a.www.example.com. A"));
    assert_true(flush_has(b, "example.com. A"));
    flush_expect(b, "/flush?name=www.example.com", flush_field, 200, "{\"dropped\":0}\n");
}

/* All names below it, wherever in the cache they are. */
UNIT_TEST_ON(test_a_zone, struct flush_bed *b)
{
    char text[64];
    for (unsigned i = 0; i < NAMES; i++) {
        (void)snprintf(text, sizeof(text), "n%u.example.com. A", i); /* fits */
        flush_put(b, text);
    }
    start_threads(b->f);
    flush_expect(b, "/flush?name=example.com.", flush_field, 200, "{\"dropped\":54}\n");
    for (unsigned i = 0; i < NAMES; i++) {
        (void)snprintf(text, sizeof(text), "n%u.example.com. A", i); /* fits */
        assert_false(flush_has(b, text));
    }
    assert_true(flush_has(b, "www.example.org. A"));
}

UNIT_TEST_ON(test_what_does_not_flush, struct flush_bed *b)
{
    start_threads(b->f);
    flush_expect(b, "/flush?name=www.example.com", NULL, 405, "expected: POST\n");
    flush_expect(b, "/flush?name=www.example.com", "Skydns-Flush: 0", 403,
                 "expected the field Skydns-Flush: 1\n");
    flush_expect(b, "/flush", flush_field, 400,
                 "name ``: expected a name like www.example.com, or a zone like example.com.\n");
    flush_expect(b, "/flush?name=", flush_field, 400,
                 "name ``: expected a name like www.example.com, or a zone like example.com.\n");
    flush_expect(b, "/flush?name=www..example.com", flush_field, 400,
                 "name `www..example.com`: expected a name like www.example.com, or a zone like "
                 "example.com.\n");
    assert_true(flush_has(b, "www.example.com. A"));
}

/* The resolver's thread has not started: the first flush waits for it, and a second has no
 * place. */
UNIT_TEST_ON(test_one_at_a_time, struct flush_bed *b)
{
    const struct cache_flush flush = {.name = dname_from("www.example.org.")};
    uint64_t dropped = 0;
    flush_expect(b, "/flush?name=www.example.com&timeout=0", flush_field, 504,
                 "the cache is still being flushed\n");
    flush_expect(b, "/flush?name=www.example.org", flush_field, 503,
                 "the cache is being flushed; try again\n");
    assert_false(resolver_flush_is_over(b->f->resolver, 1, &dropped));
    start_threads(b->f);
    while (!resolver_flush_is_over(b->f->resolver, 1, &dropped)) {
        (void)sched_yield();
    }
    assert_int_equal(dropped, 2);
    assert_true(flush_has(b, "www.example.org. A"));
    assert_int_equal(resolver_flush(b->f->resolver, &flush), 2);
    while (!resolver_flush_is_over(b->f->resolver, 2, &dropped)) {
        (void)sched_yield();
    }
    assert_int_equal(dropped, 1);
    assert_true(resolver_flush_is_over(b->f->resolver, 1, &dropped));
    assert_int_equal(dropped, 0); /* of an earlier flush it is not known any more */
}

/* ---- skydns -flush ---- */

static int flush_run_client(const struct addr *server, const char *name, char output[OUTPUT_MAX],
                            struct err *err)
{
    struct stdout_capture capture = capture_stdout();
    int r = flush_page_client(server, name, err);
    end_capture(&capture, output);
    return r;
}

UNIT_TEST_ON(test_the_command, struct flush_bed *b)
{
    struct addr other = loopback_addr(loopback_free_port());
    struct err err;
    char output[OUTPUT_MAX];
    start_threads(b->f);
    assert_int_equal(flush_run_client(&b->address, "example.com.", output, &err), 0);
    assert_string_equal(output, "{\"dropped\":4}\n");
    assert_int_equal(flush_run_client(&b->address, "a&b..", output, &err), ERR_USAGE);
    assert_string_equal(output, "");
    assert_string_equal(err.msg, "name `a&b..`: expected a name like www.example.com, or a zone "
                                 "like example.com.");
    assert_true(flush_run_client(&other, "example.com.", output, &err) < 0);
    assert_non_null(strstr(err.msg, "; -http-addr must be that of a running skydns"));
}

/* Busy is no fault of the command line. */
UNIT_TEST_ON(test_the_command_meets_another_flush, struct flush_bed *b)
{
    const struct cache_flush flush = {.name = dname_from("www.example.org.")};
    struct err err;
    char output[OUTPUT_MAX];
    assert_int_equal(resolver_flush(b->f->resolver, &flush), 1);
    assert_int_equal(flush_run_client(&b->address, "example.com.", output, &err), ERR_NOT_FOUND);
    assert_string_equal(err.msg, "the cache is being flushed; try again");
    start_threads(b->f);
}
