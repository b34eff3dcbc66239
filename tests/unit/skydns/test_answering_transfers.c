/* Zone transfers as assembled by main(), over TCP and UDP: from the query on a client's connection
 * to the transfers' thread and back. */
#include "tests/unit/skydns/answering_bed.h"

#include <stdatomic.h>
#include <unistd.h>

#include "common/base/cursor.h"
#include "skydns/transfer/transfers.h"
#include "skydns/transfer_config.h"
#include "tests/unit/skydns/transfer/transfer_decode.h"

/* More than one message has room for. */
enum { MANY = 4000, SERIAL = 2000000007 };

static _Atomic unsigned wakes;

static void assembled_on_wake(void *data)
{
    (void)atomic_fetch_add((_Atomic unsigned *)data, 1);
}

static int assembled_begin(void **state)
{
    static const struct answering_wake wake = {assembled_on_wake, &wakes};
    (void)answering_setup(state);
    struct fixture *f = *state;
    const struct ip loopback = {.family_bytes = 4, .bytes = {127, 0, 0, 1}};
    f->wake = &wake;
    f->options.engine.schema = ENGINE_SCHEMA_KUBERNETES;
    f->options.engine.transfer_count = 1;
    f->options.engine.transfers[0] =
        (struct transfer_who){.has_network = true, .network = network_of(&loopback, 32)};
    publisher_configure(f->publisher, options_engine_config(&f->options));
    return 0;
}

UNIT_TESTS_EACH(assembled_begin, answering_teardown)
UNIT_TESTS_ONCE(start_first_thread, NULL)
UNIT_TESTS_HAVE_THREADS

/* Fills the zone with so many Services, and gives the thread that version. */
static void assembled_start(struct fixture *f, struct zone_serials *serials, unsigned count)
{
    services_fini(&f->services);
    services_init(&f->services, count);
    answering_fill(f);
    answering_open_at(f, 1);
    skydns_answering_start(f);
    struct transfers *transfers = answering_transfers(f->answering);
    const struct dname *apex = &f->options.domains[0];
    struct transfer_step *step = calloc(1, sizeof(*step));
    step->store = publisher_pin(f->publisher);
    step->config = transfer_config(publisher_newest_config(f->publisher));
    step->settings = transfer_config_hash(step->config);
    step->zone_count = 1;
    step->zones[0] = (struct transfer_step_zone){
        .apex = *apex, .serial = zone_serials_of(serials, apex), .target = SERIAL};
    const unsigned before = atomic_load(&wakes);
    assert_true(transfers_is_idle(transfers));
    transfers_give(transfers, step);
    while (!transfers_is_idle(transfers)) {
        (void)sched_yield();
    }
    while (atomic_load(&wakes) == before) {
        (void)sched_yield(); /* the main thread is told */
    }
}

static void assembled_stop_all(struct fixture *f, struct zone_serials *serials)
{
    skydns_answering_stop(f);
    zone_serials_free(serials);
}

static struct message assembled_question(const struct fixture *f, uint16_t id, uint16_t type,
                                         uint32_t known)
{
    struct message m;
    const struct dname *apex = &f->options.domains[0];
    struct writer w = writer_of(m.wire, sizeof(m.wire));
    writer_u16(&w, id);
    writer_u16(&w, 0);
    writer_u32(&w, 1U << 16);
    writer_u32(&w, type == DNS_TYPE_IXFR ? 1U << 16 : 0);
    writer_bytes(&w, apex->wire, apex->len);
    writer_u16(&w, type);
    writer_u16(&w, DNS_CLASS_IN);
    if (type == DNS_TYPE_IXFR) {
        writer_u16(&w, 0xc000 | DNS_HEADER_SIZE);
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
    m.len = w.pos;
    return m;
}

/* Reads a message of any length from the connection. */
static void assembled_receive(int tcp, struct decoded *decoded)
{
    static uint8_t wire[65535];
    uint8_t prefix[2];
    assert_int_equal(recv(tcp, prefix, sizeof(prefix), MSG_WAITALL), sizeof(prefix));
    const size_t len = (size_t)(prefix[0] << 8 | prefix[1]);
    assert_int_equal(recv(tcp, wire, len, MSG_WAITALL), len);
    decode_message(decoded, wire, len);
}

static uint64_t assembled_counted(const struct fixture *f, enum transfers_kind kind,
                                  enum transfers_result result)
{
    const struct transfers *transfers = answering_transfers(f->answering);
    return counter_get(&transfers_counts(transfers)->transfers[kind][result]);
}

/* The whole zone in several messages: each when the one before has left. */
UNIT_TEST_ON(test_a_zone_over_tcp, struct fixture *f)
{
    struct zone_serials *serials = zone_serials_new();
    struct decoded decoded;
    assembled_start(f, serials, MANY);
    const struct message axfr = assembled_question(f, 7, DNS_TYPE_AXFR, 0);
    int tcp = answering_client_at(&f->options.addresses[0], SOCK_STREAM);
    answering_send_tcp(tcp, axfr.wire, axfr.len);
    decoded_init(&decoded);
    do {
        assembled_receive(tcp, &decoded);
    } while (decoded.soa_serials.len < 2 * sizeof(uint32_t));
    assert_in_range(decoded.messages, 2, MANY);
    assert_int_equal(decoded_serial(&decoded, 0), SERIAL);
    assert_int_equal(decoded_serial(&decoded, 1), SERIAL);
    assert_in_range(decoded.all.count, MANY, MANY * 10);
    decoded_fini(&decoded);
    struct asked_question question; /* and the connection goes on */
    question_make(&question, QUESTION_ADDRESS, MANY - 1, 8);
    answering_send_tcp(tcp, question.wire, question.len);
    const struct message reply = answering_receive_tcp(tcp);
    expect_answer(&question, &reply);
    close(tcp);
    assembled_stop_all(f, serials);
}

/* A client that is gone ends its transfer. */
UNIT_TEST_ON(test_a_client_that_leaves, struct fixture *f)
{
    struct zone_serials *serials = zone_serials_new();
    const int window = 4096;
    assembled_start(f, serials, 4 * MANY); /* 4.3 MB, more than sockets hold */
    const struct message axfr = assembled_question(f, 7, DNS_TYPE_AXFR, 0);
    int tcp = answering_client_at(&f->options.addresses[0], SOCK_STREAM);
    assert_int_equal(setsockopt(tcp, SOL_SOCKET, SO_RCVBUF, &window, sizeof(window)), 0);
    answering_send_tcp(tcp, axfr.wire, axfr.len);
    uint8_t byte;
    assert_int_equal(recv(tcp, &byte, 1, 0), 1);
    close(tcp);
    while (assembled_counted(f, TRANSFERS_AXFR, TRANSFERS_LOST) == 0) {
        (void)sched_yield();
    }
    assert_int_equal(assembled_counted(f, TRANSFERS_AXFR, TRANSFERS_SENT), 0);
    assembled_stop_all(f, serials);
}

/* Over UDP, a message says that nothing has changed. */
UNIT_TEST_ON(test_what_has_not_changed_over_udp, struct fixture *f)
{
    struct zone_serials *serials = zone_serials_new();
    struct decoded decoded;
    assembled_start(f, serials, SERVICES);
    const struct message ixfr = assembled_question(f, 7, DNS_TYPE_IXFR, SERIAL);
    int udp = answering_client_at(&f->options.addresses[0], SOCK_DGRAM);
    send_udp(udp, ixfr.wire, ixfr.len);
    const struct message reply = answering_receive_udp(udp);
    assert_int_equal(question_id(reply.wire), 7);
    decoded_init(&decoded);
    decode_message(&decoded, reply.wire, reply.len);
    assert_int_equal(decoded.all.count, 1);
    assert_int_equal(decoded_serial(&decoded, 0), SERIAL);
    decoded_fini(&decoded);
    close(udp);
    assembled_stop_all(f, serials);
}

/* Others are refused, and never reach the transfers' thread. */
UNIT_TEST_ON(test_who_may_not_transfer, struct fixture *f)
{
    struct zone_serials *serials = zone_serials_new();
    const struct ip other = {.family_bytes = 4, .bytes = {127, 0, 0, 2}};
    const struct addr from = addr_of_ip(&other, 0);
    assembled_start(f, serials, SERVICES);
    const struct message axfr = assembled_question(f, 7, DNS_TYPE_AXFR, 0);
    int tcp = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const struct addr *to = &f->options.addresses[0];
    assert_int_equal(bind(tcp, &from.sa, from.len), 0);
    assert_int_equal(connect(tcp, &to->sa, to->len), 0);
    answering_send_tcp(tcp, axfr.wire, axfr.len);
    const struct message reply = answering_receive_tcp(tcp);
    assert_int_equal(reply.wire[3] & DNS_MASK_RCODE, DNS_RCODE_REFUSED);
    close(tcp);
    for (int i = 0; i < TRANSFERS_RESULTS; i++) {
        assert_int_equal(assembled_counted(f, TRANSFERS_AXFR, (enum transfers_result)i), 0);
    }
    assembled_stop_all(f, serials);
}

/* Other schemas have names that cannot be listed. */
UNIT_TEST_ON(test_no_transfers_with_another_schema, struct fixture *f)
{
    f->options.engine.schema = ENGINE_SCHEMA_SKYDNS;
    answering_open_at(f, 1);
    assert_null(answering_transfers(f->answering));
}
