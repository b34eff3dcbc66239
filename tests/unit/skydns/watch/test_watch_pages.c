/* wait_pages.h and watch_page.h: over real sockets, of a record store without etcd, time passing on
 * the test's clock. */
#include "tests/support/from_text.h"
#include "tests/unit/skydns/pages/pages_bed.h"

#include "skydns/pages/metrics_table.h"
#include "skydns/watch/wait_pages.h"
#include "skydns/watch/watch_page.h"
#include "tests/support/held_client.h"
#include "tests/support/http_ask.h"
#include "tests/support/test_clock.h"

struct watch_bed {
    struct pages_bed pages;
    struct metrics_sources sources;
    struct http_waiters *waiters;
    struct watch_page *watch;
    struct http_route routes[2];
    struct http_server *server;
    struct addr address;
};

static void watch_setup(struct watch_bed *b)
{
    *b = (struct watch_bed){.address = {.len = 0}};
    bed_start(&b->pages, "-no-rec -allow=10.0.0.0/8");
    b->sources = (struct metrics_sources){
        .explainer = b->pages.explainer, .sync = b->pages.sync, .publisher = b->pages.publisher};
    b->waiters = wait_page_new(b->pages.loop, &b->sources);
    b->watch = watch_page_new(b->pages.loop, &b->sources);
    b->routes[0] = wait_page_route(b->waiters);
    b->routes[1] = watch_page_route(b->watch);
    b->server = http_ask_serve(b->pages.loop, b->routes, ARRAY_LEN(b->routes), &b->address);
    test_clock_stop();
}

static void watch_teardown(struct watch_bed *b)
{
    test_clock_run();
    http_server_free(b->server);
    watch_page_free(b->watch);
    http_waiters_free(b->waiters);
    bed_stop(&b->pages);
}

UNIT_FIXTURE(struct watch_bed, watch_setup, watch_teardown)

static const struct bed_key first[] = {{"local/cluster/a", "{'host':'10.0.0.1'}"}};

static struct held_client watch_ask(struct watch_bed *b, const char *request)
{
    return held_client_ask(b->pages.loop, &b->address, 1, request);
}

static void watch_pass_ms(struct watch_bed *b, int64_t ms)
{
    held_client_settle(b->pages.loop); /* sets timers for what has changed */
    test_clock_advance_ms(ms + 1);     /* libev: later than, not at */
    held_client_settle(b->pages.loop);
}

/* Returns the events so far, without the response's head. */
static const char *watch_events(struct held_client *c)
{
    const char *text = held_client_read(c), *end = strstr(text, "\r\n\r\n");
    assert_non_null(strstr(text, "200 OK\r\n"));
    assert_non_null(strstr(text, "\r\nContent-Type: text/event-stream\r\n"));
    assert_non_null(end);
    return end + 4;
}

static size_t watch_count(const char *text, const char *part)
{
    size_t count = 0;
    for (const char *at = strstr(text, part); at; at = strstr(at + 1, part)) {
        count++;
    }
    return count;
}

/* ---- /wait ---- */

UNIT_TEST_ON(test_a_revision, struct watch_bed *b)
{
    bed_fill(&b->pages, first, ARRAY_LEN(first));
    bed_mirror_counts.is_caught_up = true;
    CLEANUP(held_client_close) struct held_client here = watch_ask(b, "GET /wait?revision=1");
    held_client_expect(&here, "200", "{\"revision\":1}\n");
    CLEANUP(held_client_close) struct held_client later = watch_ask(b, "GET /wait?revision=2");
    assert_string_equal(held_client_read(&later), "");
    bed_add(&b->pages, "local/cluster/b", "{'host':'10.0.0.2'}");
    held_client_expect(&later, "200", "{\"revision\":2}\n");
}

/* A thread in an older version holds it up; one that sleeps does not. */
UNIT_TEST_ON(test_a_thread_that_is_at_work, struct watch_bed *b)
{
    struct publisher_reader *reader = publisher_reader_new(b->pages.publisher);
    bed_fill(&b->pages, first, ARRAY_LEN(first));
    bed_mirror_counts.is_caught_up = true;
    (void)publisher_enter(reader);
    bed_add(&b->pages, "local/cluster/b", "{'host':'10.0.0.2'}");
    CLEANUP(held_client_close) struct held_client c = watch_ask(b, "GET /wait?revision=2");
    watch_pass_ms(b, 1);
    assert_string_equal(held_client_read(&c), "");
    CLEANUP(held_client_close)
    struct held_client now = watch_ask(b, "GET /wait?revision=2&timeout=0");
    held_client_expect(&now, "504", "revision 2: not all threads serve it yet\n");
    publisher_leave(reader);
    watch_pass_ms(b, 1);
    held_client_expect(&c, "200", "{\"revision\":2}\n");
}

UNIT_TEST_ON(test_what_is_not_served, struct watch_bed *b)
{
    bed_fill(&b->pages, first, ARRAY_LEN(first));
    struct held_client c = watch_ask(b, "GET /wait?revision=1&timeout=1s");
    watch_pass_ms(b, 1000);
    held_client_expect(&c, "504", "revision 1: etcd is not followed, or not caught up with\n");
    held_client_close(&c);
    bed_mirror_counts.is_caught_up = true;
    c = watch_ask(b, "GET /wait?revision=7&timeout=0s");
    held_client_expect(&c, "504", "revision 7: etcd's latest change of our keys is 1\n");
    held_client_close(&c);
    c = watch_ask(b, "GET /wait?revision=x");
    held_client_expect(&c, "400", "revision `x`: expected a revision of etcd, such as 1234\n");
    held_client_close(&c);
    c = watch_ask(b, "POST /wait?revision=1");
    held_client_expect(&c, "405", "expected: GET or HEAD\n");
    held_client_close(&c);
}

/* ---- /watch ---- */

UNIT_TEST_ON(test_events, struct watch_bed *b)
{
    bed_fill(&b->pages, first, ARRAY_LEN(first));
    struct held_client c = watch_ask(b, "GET /watch?name=a.cluster.local");
    assert_string_equal(watch_events(&c),
                        "data: {\"revision\":1,\"status\":\"NOERROR\", \"answer\":"
                        "[\"a.cluster.local. 3600 A 10.0.0.1\"]}\n\n");
    bed_add(&b->pages, "local/cluster/other", "{'host':'10.0.0.9'}");
    watch_pass_ms(b, WATCH_GAP_MS);
    assert_int_equal(watch_count(watch_events(&c), "data:"), 1); /* the same answer */
    bed_add(&b->pages, "local/cluster/a", "{'host':'10.0.0.2'}");
    bed_add(&b->pages, "local/cluster/a", "{'host':'10.0.0.3'}");
    watch_pass_ms(b, WATCH_GAP_MS);
    assert_int_equal(watch_count(watch_events(&c), "data:"), 2); /* merged */
    assert_non_null(strstr(watch_events(&c), "A 10.0.0.3\"]}\n\n"));
    bed_del(&b->pages, "local/cluster/a");
    watch_pass_ms(b, WATCH_GAP_MS);
    assert_non_null(strstr(watch_events(&c), "\"status\":\"NXDOMAIN\"}\n\n"));
    assert_int_equal(watch_page_count(b->watch).events, 3);
    held_client_close(&c);
    assert_int_equal(watch_page_count(b->watch).streams, 0);
}

/* WATCH_GAP_MS lie between two looks. */
UNIT_TEST_ON(test_gaps, struct watch_bed *b)
{
    bed_fill(&b->pages, first, ARRAY_LEN(first));
    CLEANUP(held_client_close)
    struct held_client c = watch_ask(b, "GET /watch?name=a.cluster.local&type=A");
    bed_add(&b->pages, "local/cluster/a", "{'host':'10.0.0.2'}");
    watch_pass_ms(b, 0);
    assert_int_equal(watch_count(watch_events(&c), "data:"), 2); /* at once */
    bed_add(&b->pages, "local/cluster/a", "{'host':'10.0.0.3'}");
    watch_pass_ms(b, WATCH_GAP_MS - 10);
    assert_int_equal(watch_count(watch_events(&c), "data:"), 2);
    watch_pass_ms(b, 10);
    assert_int_equal(watch_count(watch_events(&c), "data:"), 3);
}

UNIT_TEST_ON(test_a_comment_shows_that_it_lives, struct watch_bed *b)
{
    bed_fill(&b->pages, first, ARRAY_LEN(first));
    CLEANUP(held_client_close)
    struct held_client c = watch_ask(b, "GET /watch?name=a.cluster.local");
    for (int s = 0; s < 32; s++) {
        watch_pass_ms(b, 1000);
    }
    assert_int_equal(watch_count(watch_events(&c), "\n:\n"), 2);
}

UNIT_TEST_ON(test_who_is_refused, struct watch_bed *b)
{
    bed_fill(&b->pages, first, ARRAY_LEN(first));
    struct held_client c = watch_ask(b, "GET /watch?name=a.cluster.local&client=192.0.2.1");
    assert_string_equal(watch_events(&c), "data: {\"revision\":1,\"status\":\"REFUSED\"}\n\n");
    held_client_close(&c);
    c = watch_ask(b, "GET /watch?name=a.cluster.local&client=x");
    held_client_expect(&c, "400", "client `x`: expected an address like 10.1.0.7\n");
    held_client_close(&c);
    c = watch_ask(b, "GET /watch");
    held_client_expect(&c, "400", "name ``: expected one like web.default.svc.cluster.local\n");
    held_client_close(&c);
    c = watch_ask(b, "POST /watch?name=a.cluster.local");
    held_client_expect(&c, "405", "expected: GET or HEAD\n");
    held_client_close(&c);
    c = watch_ask(b, "HEAD /watch?name=a.cluster.local");
    assert_string_equal(watch_events(&c), "");
    held_client_close(&c);
}

/* It is told by the last event, and others go on. */
UNIT_TEST_ON(test_a_reader_that_does_not_read, struct watch_bed *b)
{
    char key[64], value[64];
    bed_mirror.full_begin(bed_mirror.data, &(struct etcd_mirror_read){.reason = ""});
    for (unsigned i = 0; i < 400; i++) {
        (void)snprintf(key, sizeof(key), "local/cluster/many/k%u", i);                  /* fits */
        (void)snprintf(value, sizeof(value), "{'host':'10.1.%u.%u'}", i >> 8, i & 255); /* fits */
        bed_put(&b->pages, &(struct bed_key){key, value});
    }
    bed_mirror.commit(bed_mirror.data, b->pages.revision, true);
    CLEANUP(held_client_close)
    struct held_client slow = watch_ask(b, "GET /watch?name=many.cluster.local");
    CLEANUP(held_client_close)
    struct held_client quick = watch_ask(b, "GET /watch?name=k1.many.cluster.local");
    for (unsigned i = 0; i < 40; i++) {
        (void)snprintf(value, sizeof(value), "{'host':'10.2.0.%u'}", i); /* fits */
        bed_add(&b->pages, "local/cluster/many/k1", value);
        watch_pass_ms(b, WATCH_GAP_MS);
    }
    for (int s = 0; s < 11; s++) {
        watch_pass_ms(b, 1000);
    }
    assert_int_equal(watch_page_count(b->watch).cut_off, 1);
    assert_int_equal(watch_page_count(b->watch).streams, 1);
    assert_int_equal(watch_count(watch_events(&quick), "data:"), 41);
    const char *text = watch_events(&slow);
    assert_non_null(
        strstr(text, "}\n\nevent: end\ndata: {\"reason\":\"the reader is too slow\"}\n\n"));
    assert_true(slow.is_closed);
}

/* One that reads late gets the newest answer then, and nothing in between. */
UNIT_TEST_ON(test_a_reader_that_reads_late, struct watch_bed *b)
{
    char key[64], value[64];
    bed_mirror.full_begin(bed_mirror.data, &(struct etcd_mirror_read){.reason = ""});
    for (unsigned i = 0; i < 4000; i++) {
        (void)snprintf(key, sizeof(key), "local/cluster/many/k%u", i);                  /* fits */
        (void)snprintf(value, sizeof(value), "{'host':'10.1.%u.%u'}", i >> 8, i & 255); /* fits */
        bed_put(&b->pages, &(struct bed_key){key, value});
    }
    bed_mirror.commit(bed_mirror.data, b->pages.revision, true);
    CLEANUP(held_client_close)
    struct held_client c = watch_ask(b, "GET /watch?name=many.cluster.local");
    bed_del(&b->pages, "local/cluster/many/k7");
    watch_pass_ms(b, WATCH_GAP_MS);
    bed_add(&b->pages, "local/cluster/many/k7", "{'host':'10.9.9.9'}");
    watch_pass_ms(b, WATCH_GAP_MS);
    assert_int_equal(watch_page_count(b->watch).events, 1);
    assert_non_null(strstr(watch_events(&c), "A 10.9.9.9\""));
    assert_int_equal(watch_page_count(b->watch).events, 2);
}

/* The domain goes: nothing more can be told of its names. */
UNIT_TEST_ON(test_a_name_that_is_ours_no_more, struct watch_bed *b)
{
    bed_fill(&b->pages, first, ARRAY_LEN(first));
    CLEANUP(held_client_close)
    struct held_client c = watch_ask(b, "GET /watch?name=a.cluster.local");
    assert_int_equal(watch_count(watch_events(&c), "data:"), 1);
    struct options options = b->pages.options;
    struct dname other = dname_from("other.test");
    options.domains[0] = other;
    publisher_configure(b->pages.publisher, options_engine_config(&options));
    watch_pass_ms(b, WATCH_GAP_MS);
    assert_non_null(
        strstr(watch_events(&c), "event: end\ndata: {\"reason\":\"name `a.cluster.local`"));
    assert_true(c.is_closed);
}
