/* Checks what questions to upstreams share: places over TCP go to clients and zones; when a
 * question finds none, that is no failure of the upstream. */
#include "common/dns/dns.h"
#include "skydns/external/zone_table.h"
#include "skydns/upstream/exchange_channel_internal.h"
#include "skydns/upstream/forwarder.h"
#include "skydns/upstream/forwarder_counts.h"
#include "skydns/upstream/upstreams.h"
#include "tests/support/few_descriptors.h"
#include "tests/support/scripted_nameserver.h"
#include "tests/support/unit_test.h"

enum { TIMEOUT_MS = 20000, SOCKETS_MAX = 1000, ZONES_MAX = 2 };

/* One question, and how it ended. */
struct asking {
    struct forwarder_wait wait;
    unsigned calls;
    enum forwarder_outcome outcome;
};

struct bed {
    struct ev_loop *loop;
    struct scripted_nameserver ns[ZONES_MAX];
    struct forward_zone items[ZONES_MAX];
    size_t zone_count;
    struct zone_table *zones;
    struct forwarder *forwarder;
};

static void upstream_shares_on_reply(void *data, const struct forwarder_reply *reply)
{
    struct asking *asking = data;
    asking->calls++;
    asking->outcome = reply->outcome;
}

static struct scripted_nameserver *upstream_shares_add_zone(
    struct bed *bed, const char *name, void (*script)(struct scripted_nameserver *))
{
    struct scripted_nameserver *ns = &bed->ns[bed->zone_count];
    struct forward_zone *zone = &bed->items[bed->zone_count++];
    scripted_nameserver_start(ns, bed->loop, script);
    *zone = (struct forward_zone){.server_count = 1, .servers = {nameserver_at(ns->address)}};
    assert_true(dname_from_text(slice_str(name), &zone->name));
    return ns;
}

static void upstream_shares_use_zones(struct bed *bed)
{
    bed->zones = zone_table_new(bed->items, bed->zone_count, NULL);
    bed->forwarder =
        forwarder_new(&(struct forwarder_config){.loop = bed->loop, .sockets_max = SOCKETS_MAX});
    forwarder_set_zones(bed->forwarder, bed->zones);
    forwarder_set_rules(bed->forwarder, &(struct forwarder_rules){.timeout_ms = TIMEOUT_MS});
}

static void upstream_shares_set_up(struct bed *bed)
{
    bed->loop = ev_loop_new(EVFLAG_AUTO);
}

static void upstream_shares_tear_down(struct bed *bed)
{
    forwarder_free(bed->forwarder);
    zone_table_unref(bed->zones);
    for (size_t i = 0; i < bed->zone_count; i++) {
        scripted_nameserver_stop(&bed->ns[i]);
    }
    ev_loop_destroy(bed->loop);
}

UNIT_FIXTURE(struct bed, upstream_shares_set_up, upstream_shares_tear_down)

/* 192.0.2.`number` */
static struct addr client_number(unsigned number)
{
    struct addr client;
    char text[] = "192.0.2.0";
    assert_true(number < 10);
    text[8] = (char)('0' + number);
    assert_true(addr_parse_ip(slice_str(text), 1, &client));
    return client;
}

/* A question about `name` that no other is equal to; client NULL: nobody's. */
static enum forwarder_start upstream_shares_begin(struct bed *bed, struct asking *asking,
                                                  const char *name, unsigned number,
                                                  const struct addr *client)
{
    struct upstream_question question = {
        .type = (uint16_t)(256 + number), .qclass = DNS_CLASS_IN, .flags = DNS_FLAG_RD};
    assert_true(dname_from_text(slice_str(name), &question.name));
    *asking =
        (struct asking){.wait = {.client = client, .cb = upstream_shares_on_reply, .data = asking}};
    return forwarder_ask(bed->forwarder, zone_table_find(bed->zones, &question.name), &question, 0,
                         &asking->wait);
}

/* Different names fail, and the server is alive, and counts as never asked. */
UNIT_TEST_ON(test_no_descriptor_is_no_failure, struct bed *bed)
{
    static const char *const names[] = {"a.test.", "b.test.", "c.test."};
    struct asking asking;
    struct upstream_states states;
    (void)upstream_shares_add_zone(bed, ".", NULL);
    upstream_shares_use_zones(bed);
    few_descriptors_begin();
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        assert_int_equal(upstream_shares_begin(bed, &asking, names[i], 0, NULL), FORWARDER_ASKED);
        while (asking.calls == 0) {
            ev_run(bed->loop, EVRUN_ONCE);
        }
        assert_int_equal(asking.outcome, FORWARDER_DROPPED);
    }
    few_descriptors_end();
    const uint32_t serial = zone_table_find(bed->zones, &bed->items[0].name)->serial;
    assert_int_equal(counter_get(&forwarder_counts(bed->forwarder)->dead), 0);
    assert_true(forwarder_zone_state(bed->forwarder, serial, &states));
    assert_int_equal(states.failed_s[0], 0);
    const struct upstream_figures *figures = forwarder_figures(bed->forwarder);
    assert_int_equal(upstream_figures_count(figures), 1);
    assert_int_equal(counter_get(&figures->items[0].queries), 0);
    assert_int_equal(counter_get(&figures->items[0].failures), 0);
}

/* ---- TCP ---- */

/* Long replies, over TCP alone; connections are never accepted. */
static void upstream_shares_answer_truncated(struct scripted_nameserver *ns)
{
    ns->message[2] |= 0x82;
    scripted_nameserver_send(ns);
}

static size_t over_tcp(const struct bed *bed)
{
    return counter_get(&forwarder_counts(bed->forwarder)->tcp);
}

/* Begins `count` questions, and waits until each has a place over TCP, or the truncated reply.
 * Returns how many have a place. */
static size_t ask_for_long_replies(struct bed *bed, const char *name, const struct addr *client,
                                   size_t count)
{
    static unsigned number;
    static struct asking asked[TCP_PLACES_MAX + 1][10];
    static size_t calls;
    struct asking *askings = asked[calls++];
    const size_t before = over_tcp(bed);
    size_t ended = 0;
    assert_true(count <= 10);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(upstream_shares_begin(bed, &askings[i], name, number++, client),
                         FORWARDER_ASKED);
    }
    while (ended + over_tcp(bed) - before < count) {
        ev_run(bed->loop, EVRUN_ONCE);
        ended = 0;
        for (size_t i = 0; i < count; i++) {
            ended += askings[i].calls;
            assert_true(askings[i].calls == 0 || askings[i].outcome == FORWARDER_REPLIED);
        }
    }
    return over_tcp(bed) - before;
}

/* Takes as many places as the client gets. */
static size_t fill_tcp(struct bed *bed, const char *name, const struct addr *client)
{
    size_t taken = 0, more;
    do {
        more = ask_for_long_replies(bed, name, client, 10);
        taken += more;
    } while (more == 10);
    return taken;
}

/* One has half of the places, the next ones still find some. */
UNIT_TEST_ON(test_tcp_is_shared_among_clients, struct bed *bed)
{
    struct scripted_nameserver *ns =
        upstream_shares_add_zone(bed, ".", upstream_shares_answer_truncated);
    size_t taken = 0;
    ev_io_stop(bed->loop, &ns->listener);
    upstream_shares_use_zones(bed);
    for (unsigned i = 1; i < 4; i++) {
        const struct addr client = client_number(i);
        const size_t left = TCP_PLACES_MAX - taken, got = fill_tcp(bed, "a.test.", &client);
        assert_in_range(got, left / 2, left / 2 + 1);
        taken += got;
        assert_int_equal(over_tcp(bed), taken);
    }
    const struct forwarder_counts *counts = forwarder_counts(bed->forwarder);
    assert_int_equal(counter_get(&counts->tcp_retries), taken);
    assert_true(counter_get(&counts->tcp_refused) > 0);
    forwarder_drop_all(bed->forwarder);
    assert_int_equal(over_tcp(bed), 0);
    const struct addr again = client_number(1);
    assert_int_equal(ask_for_long_replies(bed, "a.test.", &again, 1), 1);
}

/* Whatever clients ask for long replies of a slow zone. */
UNIT_TEST_ON(test_tcp_is_shared_among_zones, struct bed *bed)
{
    struct scripted_nameserver *general =
        upstream_shares_add_zone(bed, ".", upstream_shares_answer_truncated);
    struct scripted_nameserver *slow =
        upstream_shares_add_zone(bed, "slow.test.", upstream_shares_answer_truncated);
    size_t taken = 0;
    ev_io_stop(bed->loop, &general->listener);
    ev_io_stop(bed->loop, &slow->listener);
    upstream_shares_use_zones(bed);
    for (unsigned i = 1; i < 9; i++) {
        const struct addr client = client_number(i);
        taken += fill_tcp(bed, "www.slow.test.", &client);
    }
    assert_int_equal(taken, TCP_PLACES_MAX / 2);
    const struct addr other = client_number(9);
    assert_int_equal(ask_for_long_replies(bed, "www.test.", &other, 10), 10);
}

/* Malformed: it lacks the record that it counts. Then a right one, about names that begin with r.
 */
static void upstream_shares_answer_twice(struct scripted_nameserver *ns)
{
    ns->message[2] |= 0x80;
    ns->message[3] |= 0x80;
    ns->message[7] = 1;
    scripted_nameserver_send(ns);
    ns->message[7] = 0;
    if (ns->message[13] == 'r') {
        scripted_nameserver_send(ns);
    }
}

/* Somebody's malformed replies, which end nothing, keep no other client from the right one. */
UNIT_TEST_ON(test_listening_is_shared_among_clients, struct bed *bed)
{
    static struct asking others[2 * TCP_LISTENERS_MAX], asking; /* until the bed ends */
    const struct addr client = client_number(1), another = client_number(2);
    struct scripted_nameserver *ns =
        upstream_shares_add_zone(bed, ".", upstream_shares_answer_twice);
    ev_io_stop(bed->loop, &ns->listener);
    upstream_shares_use_zones(bed);
    for (unsigned i = 0; i < ARRAY_LEN(others); i++) {
        assert_int_equal(upstream_shares_begin(bed, &others[i], "a.test.", i, &client),
                         FORWARDER_ASKED);
    }
    while (over_tcp(bed) < ARRAY_LEN(others)) {
        ev_run(bed->loop, EVRUN_ONCE);
    }
    assert_int_equal(upstream_shares_begin(bed, &asking, "right.test.", 0, &another),
                     FORWARDER_ASKED);
    while (asking.calls == 0) {
        ev_run(bed->loop, EVRUN_ONCE);
    }
    assert_int_equal(asking.outcome, FORWARDER_REPLIED);
}
