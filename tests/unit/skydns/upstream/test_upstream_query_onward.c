/* Questions that wait for the target of a CNAME out of their stub zone: shared, dropped, forgotten,
 * without a socket, and in a circle; with scripted nameservers on loopback. */
#include "common/base/cursor.h"
#include "common/dns/dns.h"
#include "skydns/external/cache.h"
#include "skydns/external/cache_counts.h"
#include "skydns/external/zone_table.h"
#include "skydns/publish/engine_config.h"
#include "skydns/upstream/fetcher.h"
#include "skydns/upstream/forwarder_counts.h"
#include "skydns/wire/response_parse.h"
#include "tests/support/from_text.h"
#include "tests/support/scripted_nameserver.h"
#include "tests/support/unit_test.h"

enum { ZONES = 3, ASKED_MAX = 8, TIMEOUT_MS = 20000 };

/* First: its script finds the rest. */
struct server {
    struct scripted_nameserver ns;
    struct dname target; /* of a CNAME that every name has; len 0: an address */
    bool is_silent;
};

struct bed {
    struct ev_loop *loop;
    struct server servers[ZONES]; /* of the root, one.test and two.test */
    struct engine_config config;
    struct cache_tally *tally;
    struct fetcher *fetcher;
    struct asked {
        struct forwarder_wait wait;
        unsigned calls, answers; /* records */
        enum forwarder_outcome outcome;
    } asked[ASKED_MAX];
    size_t count;
};

static void answer_onward(struct scripted_nameserver *ns)
{
    static const uint8_t address[] = {192, 0, 2, 1};
    const struct server *server = (struct server *)ns;
    const bool is_cname = server->target.len > 0;
    struct reader r = reader_of(ns->message, ns->len);
    struct dname name;
    reader_seek(&r, DNS_HEADER_SIZE);
    assert_true(dname_read(&r, &name));
    if (server->is_silent && name.len > 1) {
        return;
    }
    struct writer w = writer_of(ns->message, sizeof(ns->message));
    w.pos = r.pos + DNS_QUESTION_TAIL;
    ns->message[2] |= 0x80;
    ns->message[3] = 0x80;
    ns->message[7] = 1;
    ns->message[11] = 0;
    writer_u16(&w, 0xc00c);
    writer_u16(&w, is_cname ? DNS_TYPE_CNAME : DNS_TYPE_A);
    writer_u16(&w, DNS_CLASS_IN);
    writer_u32(&w, 60);
    writer_u16(&w, is_cname ? server->target.len : sizeof(address));
    writer_bytes(&w, is_cname ? server->target.wire : address,
                 is_cname ? server->target.len : sizeof(address));
    ns->len = w.pos;
    scripted_nameserver_send(ns);
}

static void start_onward(struct bed *bed, size_t sockets_max)
{
    static const char *const names[ZONES] = {".", "one.test.", "two.test."};
    struct forward_zone zones[ZONES];
    const struct fetcher_config config = {
        .loop = bed->loop, .sockets_max = sockets_max, .tally = bed->tally};
    for (size_t i = 0; i < ZONES; i++) {
        scripted_nameserver_start(&bed->servers[i].ns, bed->loop, answer_onward);
        zones[i] = (struct forward_zone){.name = dname_from(names[i]),
                                         .server_count = 1,
                                         .servers = {nameserver_at(bed->servers[i].ns.address)}};
    }
    bed->config.zones_of_others = zone_table_new(zones, ZONES, NULL);
    bed->config.serial = 1;
    bed->fetcher = fetcher_new(&config);
    assert_true(fetcher_configure(bed->fetcher, &bed->config));
    forwarder_set_rules(fetcher_forwarder(bed->fetcher),
                        &(struct forwarder_rules){.timeout_ms = TIMEOUT_MS});
}

static void upstream_query_onward_set_up(struct bed *bed)
{
    bed->loop = ev_loop_new(EVFLAG_AUTO);
    bed->tally = cache_tally_new();
    bed->config.cache = cache_new(100);
    bed->config.cache_limits = (struct cache_limits){.ttl_max_s = 3600};
}

static void upstream_query_onward_tear_down(struct bed *bed)
{
    fetcher_free(bed->fetcher);
    for (size_t i = 0; i < ZONES; i++) {
        scripted_nameserver_stop(&bed->servers[i].ns);
    }
    cache_unref(bed->config.cache);
    zone_table_unref(bed->config.zones_of_others);
    cache_tally_free(bed->tally);
    ev_loop_destroy(bed->loop);
}

UNIT_FIXTURE(struct bed, upstream_query_onward_set_up, upstream_query_onward_tear_down)

static void on_onward_reply(void *data, const struct forwarder_reply *reply)
{
    struct asked *asked = data;
    asked->calls++;
    asked->outcome = reply->outcome;
    asked->answers = reply->response ? reply->response->head.counts[RESPONSE_ANSWER] : 0;
}

static struct asked *ask_onward(struct bed *bed, const char *name)
{
    const struct upstream_question question = {
        .name = dname_from(name), .type = DNS_TYPE_A, .qclass = DNS_CLASS_IN, .flags = DNS_FLAG_RD};
    struct asked *asked = &bed->asked[bed->count++];
    assert_true(bed->count <= ASKED_MAX);
    *asked = (struct asked){.wait = {.cb = on_onward_reply, .data = asked}};
    assert_int_equal(fetcher_ask(bed->fetcher, &question, 0, &asked->wait), FORWARDER_ASKED);
    return asked;
}

static void wait_called(struct bed *bed, const struct asked *asked)
{
    while (asked->calls == 0) {
        ev_run(bed->loop, EVRUN_ONCE);
    }
}

static void wait_asked(struct bed *bed, size_t server, unsigned seen)
{
    while (bed->servers[server].ns.seen < seen) {
        ev_run(bed->loop, EVRUN_ONCE);
    }
}

static uint64_t in_flight(const struct bed *bed)
{
    return counter_get(&forwarder_counts(fetcher_forwarder(bed->fetcher))->questions);
}

/* Two names and a client of the target itself wait for one question, and all have its answer. */
UNIT_TEST_ON(test_many_wait_for_one_target, struct bed *bed)
{
    bed->servers[1].target = dname_from("www.example.");
    bed->servers[0].is_silent = true;
    start_onward(bed, 100);
    const struct asked *a = ask_onward(bed, "a.one.test."), *b = ask_onward(bed, "b.one.test."),
                       *own = ask_onward(bed, "www.example.");
    wait_asked(bed, 1, 2);
    wait_asked(bed, 0, 1);
    bed->servers[0].is_silent = false;
    answer_onward(&bed->servers[0].ns); /* to the last query, which it has kept */
    wait_called(bed, a);
    wait_called(bed, b);
    wait_called(bed, own);
    assert_true(a->answers == 2 && b->answers == 2 && own->answers == 1);
    assert_int_equal(bed->servers[0].ns.tries, 1);
    assert_int_equal(in_flight(bed), 0);
}

/* Dropped with all others, while it waits; and freed. */
UNIT_TEST_ON(test_dropped_while_it_waits, struct bed *bed)
{
    bed->servers[1].target = dname_from("www.example.");
    bed->servers[0].is_silent = true;
    start_onward(bed, 100);
    const struct asked *a = ask_onward(bed, "a.one.test.");
    wait_asked(bed, 0, 1);
    assert_int_equal(in_flight(bed), 2);
    forwarder_drop_all(fetcher_forwarder(bed->fetcher));
    assert_int_equal(in_flight(bed), 0);
    assert_int_equal(a->calls, 0);
    (void)ask_onward(bed, "b.one.test.");
    wait_asked(bed, 0, 2); /* freed with the bed, while it waits */
}

/* Nobody waits for it any more: it goes on, and is kept. */
UNIT_TEST_ON(test_forgotten_while_it_waits, struct bed *bed)
{
    bed->servers[1].target = dname_from("www.example.");
    bed->servers[0].is_silent = true;
    start_onward(bed, 100);
    struct asked *a = ask_onward(bed, "a.one.test.");
    wait_asked(bed, 0, 1);
    forwarder_forget(&a->wait);
    bed->servers[0].is_silent = false;
    answer_onward(&bed->servers[0].ns);
    while (in_flight(bed) > 0) {
        ev_run(bed->loop, EVRUN_ONCE);
    }
    const struct upstream_question question = {
        .name = dname_from("a.one.test."), .type = DNS_TYPE_A, .qclass = DNS_CLASS_IN};
    struct slice message;
    assert_int_equal(fetcher_find(bed->fetcher, &question, false, &message), FETCHER_REPLY);
    assert_int_equal(a->calls, 0);
}

/* It has the place of a socket, and the target finds none: no failure of a nameserver. */
UNIT_TEST_ON(test_no_socket_for_the_target, struct bed *bed)
{
    bed->servers[1].target = dname_from("www.example.");
    start_onward(bed, 2);
    const struct asked *a = ask_onward(bed, "a.one.test.");
    wait_called(bed, a);
    assert_int_equal(a->outcome, FORWARDER_REPLIED);
    bed->servers[0].is_silent = true;
    bed->servers[1].target = dname_from("other.example.");
    const struct asked *first = ask_onward(bed, "www.example2."),
                       *b = ask_onward(bed, "b.one.test.");
    wait_called(bed, b);
    assert_int_equal(b->outcome, FORWARDER_DROPPED);
    assert_int_equal(first->calls, 0);
}

/* Ends without a timeout, whoever is asked first. */
UNIT_TEST_ON(test_a_circle, struct bed *bed)
{
    bed->servers[1].target = dname_from("b.two.test.");
    bed->servers[2].target = dname_from("a.one.test.");
    start_onward(bed, 100);
    const struct asked *a = ask_onward(bed, "a.one.test."), *b = ask_onward(bed, "b.two.test."),
                       *other = ask_onward(bed, "c.one.test.");
    wait_called(bed, a);
    wait_called(bed, b);
    wait_called(bed, other);
    assert_true(a->outcome == FORWARDER_FAILED && b->outcome == FORWARDER_FAILED &&
                other->outcome == FORWARDER_FAILED);
    assert_int_equal(in_flight(bed), 0);
    assert_true(bed->servers[1].ns.tries <= 2 && bed->servers[2].ns.tries <= 1);
}
