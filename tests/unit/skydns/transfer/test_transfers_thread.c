/* The transfers' thread: versions in, messages out, as connections and secondaries see them. */
#include <pthread.h>

#include "common/base/cursor.h"
#include "common/dns/dns.h"
#include "skydns/publish/engine_config.h"
#include "skydns/transfer/serial.h"
#include "skydns/transfer/transfers.h"
#include "skydns/transfer_config.h"
#include "tests/support/from_text.h"
#include "tests/support/skydns/fixture.h"
#include "tests/support/unit_test.h"

struct bed {
    struct fixture *fixture;
    struct zone_serials *serials;
    struct transfers *transfers;
    struct store_writer *writer;
    struct store_garbage *garbage[16];
    size_t versions;
    bool has_config;
    uint64_t settings; /* of the next configuration */
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct transfer_parts parts;
    struct addr client; /* who asks */
};

static void transfers_thread_on_part(void *data, struct transfer_part *part)
{
    struct bed *bed = data;
    (void)pthread_mutex_lock(&bed->lock);
    TAILQ_INSERT_TAIL(&bed->parts, part, entry);
    (void)pthread_cond_signal(&bed->changed);
    (void)pthread_mutex_unlock(&bed->lock);
}

static void transfers_thread_on_wake(void *data)
{
    struct bed *bed = data;
    (void)pthread_mutex_lock(&bed->lock);
    (void)pthread_cond_signal(&bed->changed);
    (void)pthread_mutex_unlock(&bed->lock);
}

static struct transfer_part *transfers_thread_next_part(struct bed *bed)
{
    struct transfer_part *part;
    (void)pthread_mutex_lock(&bed->lock);
    while (!(part = TAILQ_FIRST(&bed->parts))) {
        (void)pthread_cond_wait(&bed->changed, &bed->lock);
    }
    TAILQ_REMOVE(&bed->parts, part, entry);
    (void)pthread_mutex_unlock(&bed->lock);
    return part;
}

static void wait_idle(struct bed *bed)
{
    (void)pthread_mutex_lock(&bed->lock);
    while (!transfers_is_idle(bed->transfers)) {
        (void)pthread_cond_wait(&bed->changed, &bed->lock);
    }
    (void)pthread_mutex_unlock(&bed->lock);
}

/* The next version, with one more name, and the serial that it is to have. */
static void transfers_thread_step(struct bed *bed, uint32_t target, bool is_incomplete)
{
    struct transfer_step *step = calloc(1, sizeof(*step));
    char text[64];
    (void)snprintf(text, sizeof(text), "w%zu.default.svc.cluster.local.", bed->versions);
    const struct dname name = dname_from(text), apex = dname_from("cluster.local.");
    const struct record view = {.host = slice_str("10.0.0.1")};
    wait_idle(bed);
    (void)store_writer_put_view(bed->writer, &name, &view, (int64_t)bed->versions + 1);
    step->store =
        store_writer_commit(bed->writer, (int64_t)bed->versions + 1, &bed->garbage[bed->versions]);
    bed->versions++;
    step->config = bed->has_config ? NULL : transfer_config(&bed->fixture->config);
    bed->has_config = true;
    step->settings = bed->settings;
    step->zone_count = 1;
    step->zones[0] = (struct transfer_step_zone){.apex = apex,
                                                 .serial = zone_serials_of(bed->serials, &apex),
                                                 .target = target,
                                                 .is_incomplete = is_incomplete};
    transfers_give(bed->transfers, step);
    wait_idle(bed);
    while (transfers_take_released(bed->transfers)) {
    }
}

static uint32_t transfers_thread_serial(struct bed *bed)
{
    const struct dname apex = dname_from("cluster.local.");
    return zone_serial_get(zone_serials_of(bed->serials, &apex));
}

static bool transfers_thread_ask(struct bed *bed, const char *zone, uint16_t type, uint32_t known,
                                 enum engine_transport transport, uint64_t connection)
{
    uint8_t wire[DNS_UDP_SIZE];
    const struct dname apex = dname_from(zone);
    struct writer w = writer_of(wire, sizeof(wire));
    const struct addr local = {0};
    const struct transfer_origin origin = {.transport = transport, .connection = connection};
    writer_u16(&w, 7);
    writer_u16(&w, 0);
    writer_u16(&w, 1);
    writer_u16(&w, 0);
    writer_u16(&w, type == DNS_TYPE_IXFR);
    writer_u16(&w, 0);
    writer_bytes(&w, apex.wire, apex.len);
    writer_u16(&w, type);
    writer_u16(&w, DNS_CLASS_IN);
    if (type == DNS_TYPE_IXFR) {
        writer_u16(&w, 0xc00c);
        writer_u16(&w, DNS_TYPE_SOA);
        writer_u16(&w, DNS_CLASS_IN);
        writer_u32(&w, 0);
        writer_u16(&w, 22);
        writer_u16(&w, 0); /* two roots */
        writer_u32(&w, known);
        for (unsigned i = 0; i < 4; i++) {
            writer_u32(&w, 0);
        }
    }
    const struct engine_query query = {.wire = wire,
                                       .len = w.pos,
                                       .client = &bed->client,
                                       .local = &local,
                                       .transport = transport};
    return transfers_ask(bed->transfers, &origin, &query, NULL);
}

static unsigned transfers_thread_rcode_of(const struct transfer_part *part)
{
    return part->bytes[3] & 0xf;
}

static unsigned transfers_thread_answers_of(const struct transfer_part *part)
{
    return (unsigned)(part->bytes[6] << 8 | part->bytes[7]);
}

static void transfers_thread_expect(struct bed *bed, unsigned rcode, unsigned answers)
{
    CLEANUP_FREE struct transfer_part *part = transfers_thread_next_part(bed);
    assert_true(part->is_last);
    assert_int_equal(transfers_thread_rcode_of(part), rcode);
    assert_int_equal(transfers_thread_answers_of(part), answers);
}

static void transfers_thread_setup(struct bed *bed)
{
    struct err err;
    bed->fixture = fixture_new(NULL, 0);
    bed->fixture->config.settings.schema = ENGINE_SCHEMA_KUBERNETES;
    bed->client = (struct addr){.v4 = {.sin_family = AF_INET}, .len = sizeof(bed->client.v4)};
    bed->serials = zone_serials_new();
    bed->writer = store_writer_new();
    TAILQ_INIT(&bed->parts);
    (void)pthread_mutex_init(&bed->lock, NULL);
    (void)pthread_cond_init(&bed->changed, NULL);
    const struct transfers_config config = {.send = transfers_thread_on_part,
                                            .wake = transfers_thread_on_wake,
                                            .data = bed,
                                            .udp_max = 512};
    assert_int_equal(transfers_new(&config, &bed->transfers, &err), 0);
    assert_int_equal(transfers_start(bed->transfers, &err), 0);
}

static void transfers_thread_teardown(struct bed *bed)
{
    transfers_stop(bed->transfers);
    transfers_free(bed->transfers);
    for (size_t i = 0; i < bed->versions; i++) {
        store_garbage_free(bed->garbage[i]);
    }
    store_writer_free(bed->writer);
    zone_serials_free(bed->serials);
    fixture_free(bed->fixture);
    (void)pthread_cond_destroy(&bed->changed);
    (void)pthread_mutex_destroy(&bed->lock);
}

UNIT_FIXTURE(struct bed, transfers_thread_setup, transfers_thread_teardown)
UNIT_TESTS_HAVE_THREADS

static const char zone[] = "cluster.local.";

UNIT_TEST_ON(test_steps, struct bed *bed)
{
    assert_true(transfers_thread_ask(bed, zone, DNS_TYPE_AXFR, 0, ENGINE_TCP, 1));
    transfers_thread_expect(bed, DNS_RCODE_SERVFAIL, 0); /* there is no version */
    transfers_thread_step(bed, 100, false);
    assert_int_equal(transfers_thread_serial(bed), 100);
    assert_true(transfers_thread_ask(bed, zone, DNS_TYPE_AXFR, 0, ENGINE_TCP, 1));
    CLEANUP_FREE struct transfer_part *part = transfers_thread_next_part(bed);
    assert_true(part->is_last && transfers_thread_answers_of(part) >= 5);
    transfers_thread_step(bed, 105, false);
    transfers_thread_step(
        bed, 105,
        false); /* it has changed, though nobody said so: to no serial of other readers' */
    assert_int_equal(transfers_thread_serial(bed), 105 + SERIAL_TURN);
    assert_true(transfers_thread_ask(bed, zone, DNS_TYPE_IXFR, 105, ENGINE_TCP, 2));
    transfers_thread_expect(bed, DNS_RCODE_NOERROR, 5);
    assert_true(transfers_thread_ask(bed, zone, DNS_TYPE_IXFR, 100, ENGINE_UDP, 0));
    transfers_thread_expect(bed, DNS_RCODE_NOERROR, 8);
    assert_true(transfers_thread_ask(bed, zone, DNS_TYPE_IXFR, 99, ENGINE_UDP, 0));
    transfers_thread_expect(bed, DNS_RCODE_NOERROR, 1);
    assert_true(transfers_thread_ask(bed, zone, DNS_TYPE_IXFR, 105 + SERIAL_TURN, ENGINE_TCP, 3));
    transfers_thread_expect(bed, DNS_RCODE_NOERROR, 1);
    assert_true(transfers_thread_ask(bed, "elsewhere.", DNS_TYPE_AXFR, 0, ENGINE_TCP, 4));
    transfers_thread_expect(bed, DNS_RCODE_NOTAUTH, 0);
    assert_true(transfers_thread_ask(bed, zone, DNS_TYPE_A, 0, ENGINE_TCP, 5));
    transfers_thread_expect(bed, DNS_RCODE_FORMERR, 0);
    const struct transfers_counts *counts = transfers_counts(bed->transfers);
    assert_int_equal(counter_get(&counts->transfers[TRANSFERS_IXFR][TRANSFERS_SENT]), 2);
    assert_int_equal(counter_get(&counts->transfers[TRANSFERS_SOA][TRANSFERS_SENT]), 2);
}

UNIT_TEST_ON(test_incomplete, struct bed *bed)
{
    transfers_thread_step(bed, 100, false);
    transfers_thread_step(bed, 110, true);
    assert_int_equal(transfers_thread_serial(bed), 100);
    assert_true(transfers_thread_ask(bed, zone, DNS_TYPE_IXFR, 100, ENGINE_TCP, 1));
    transfers_thread_expect(bed, DNS_RCODE_SERVFAIL, 0);
    transfers_thread_step(bed, 111, false);
    assert_int_equal(transfers_thread_serial(bed), 111);
    bed->has_config = false; /* other settings: a later serial in any case */
    bed->settings++;
    transfers_thread_step(bed, 50, false);
    assert_int_equal(transfers_thread_serial(bed), 50 + SERIAL_TURN);
    bed->has_config = false; /* the same settings, and what etcd says: the same contents */
    transfers_thread_step(bed, 50, false);
    assert_int_equal(transfers_thread_serial(bed), 50 + SERIAL_TURN);
    bed->has_config = false; /* other settings, and a later serial */
    bed->settings++;
    transfers_thread_step(bed, 60 + SERIAL_TURN, false);
    assert_int_equal(transfers_thread_serial(bed), 60 + SERIAL_TURN);
    wait_idle(bed);
    transfers_give(bed->transfers,
                   calloc(1, sizeof(struct transfer_step))); /* nobody may any more */
    wait_idle(bed);
    assert_true(transfers_thread_ask(bed, zone, DNS_TYPE_AXFR, 0, ENGINE_TCP, 1));
    transfers_thread_expect(bed, DNS_RCODE_SERVFAIL, 0);
}

/* More than fit into one message. */
static void transfers_thread_put_many(struct bed *bed)
{
    for (unsigned i = 0; i < 6000; i++) {
        char text[64];
        (void)snprintf(text, sizeof(text), "x%u.many.default.svc.cluster.local.", i);
        const struct dname name = dname_from(text);
        const struct record view = {.host = slice_str("10.0.0.2")};
        (void)store_writer_put_view(bed->writer, &name, &view, 1);
    }
}

/* More than one message: the next when the one before has left; others of the connection wait. */
UNIT_TEST_ON(test_messages, struct bed *bed)
{
    transfers_thread_put_many(bed);
    transfers_thread_step(bed, 100, false);
    assert_true(transfers_thread_ask(bed, zone, DNS_TYPE_AXFR, 0, ENGINE_TCP, 9));
    assert_true(transfers_thread_ask(bed, zone, DNS_TYPE_IXFR, 100, ENGINE_TCP, 9));
    struct transfer_part *part = transfers_thread_next_part(bed);
    unsigned messages = 1;
    while (!part->is_last) {
        uint64_t transfer = part->transfer;
        transfers_thread_step(bed, 100 + messages, false); /* the old version is held meanwhile */
        free(part);
        transfers_left(bed->transfers, transfer, false);
        part = transfers_thread_next_part(bed);
        messages++;
    }
    free(part);
    assert_true(messages >= 2);
    part = transfers_thread_next_part(bed); /* its turn has come */
    assert_true(part->is_last || transfers_thread_answers_of(part) > 1);
    free(part);
    assert_true(transfers_thread_ask(bed, zone, DNS_TYPE_AXFR, 0, ENGINE_TCP, 10));
    assert_true(transfers_thread_ask(bed, zone, DNS_TYPE_AXFR, 0, ENGINE_TCP, 10));
    part = transfers_thread_next_part(bed);
    transfers_left(bed->transfers, part->transfer, true); /* the connection is gone, with both */
    free(part);
    assert_true(transfers_thread_ask(bed, "elsewhere.", DNS_TYPE_AXFR, 0, ENGINE_TCP, 11));
    transfers_thread_expect(bed, DNS_RCODE_NOTAUTH, 0);
    const struct transfers_counts *counts = transfers_counts(bed->transfers);
    assert_int_equal(counter_get(&counts->transfers[TRANSFERS_AXFR][TRANSFERS_LOST]), 1);
    assert_int_equal(counter_get(&counts->running), 0);
}

/* A client that asks again and again and reads nothing leaves the others their places. */
UNIT_TEST_ON(test_one_client, struct bed *bed)
{
    transfers_thread_put_many(bed);
    transfers_thread_step(bed, 100, false);
    for (unsigned i = 0; i < TRANSFER_SESSIONS_MAX / 2; i++) {
        assert_true(transfers_thread_ask(bed, zone, DNS_TYPE_AXFR, 0, ENGINE_TCP, 1));
    }
    CLEANUP_FREE struct transfer_part *first = transfers_thread_next_part(bed);
    assert_false(first->is_last);
    assert_true(transfers_thread_ask(bed, zone, DNS_TYPE_AXFR, 0, ENGINE_TCP,
                                     1)); /* it need not wait its turn */
    transfers_thread_expect(bed, DNS_RCODE_SERVFAIL, 0);
    assert_true(transfers_thread_ask(bed, zone, DNS_TYPE_AXFR, 0, ENGINE_TCP, 2));
    transfers_thread_expect(bed, DNS_RCODE_SERVFAIL, 0);
    bed->client.v4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    assert_true(transfers_thread_ask(bed, zone, DNS_TYPE_IXFR, 100, ENGINE_TCP, 3));
    transfers_thread_expect(bed, DNS_RCODE_NOERROR, 1);
    transfers_left(bed->transfers, first->transfer, true);
    bed->client.v4.sin_addr.s_addr = 0;
    assert_true(transfers_thread_ask(bed, zone, DNS_TYPE_IXFR, 100, ENGINE_TCP, 4));
    transfers_thread_expect(bed, DNS_RCODE_NOERROR, 1);
}
