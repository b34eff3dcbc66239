/* NOTIFY to real sockets on loopback: its bytes, its pace, and which replies end it. Time passes
 * only where a test lets it pass: a reply comes in time however slow the machine. */
#include <poll.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/dns/dns.h"
#include "skydns/transfer/notifier_internal.h"
#include "tests/support/loopback.h"
#include "tests/support/test_clock.h"
#include "tests/support/unit_test.h"

enum { PAUSE_MS = 20, TIMEOUT_S = 20, QUESTION_AT = 12 };

static const struct dname apex = {.len = 7, .wire = "\5zone1"};
static const struct dname other = {.len = 7, .wire = "\5zone2"};

struct bed {
    struct ev_loop *loop;
    ev_timer guard;
    struct transfers_counts counts;
    struct addr from[2];
    struct notifier *notifier;
    int fd; /* a secondary's */
    struct addr secondary;
};

static void notifier_on_guard(struct ev_loop *loop, ev_timer *timer, int revents)
{
    fail_msg("timed out after %d s", TIMEOUT_S);
}

static void notifier_setup(struct bed *bed)
{
    test_clock_stop();
    bed->loop = ev_loop_new(EVFLAG_AUTO);
    ev_timer_init(&bed->guard, notifier_on_guard, TIMEOUT_S, 0.);
    ev_timer_start(bed->loop, &bed->guard);
    bed->notifier = notifier_new(&(struct notifier_config){
        .loop = bed->loop, .from = bed->from, .counts = &bed->counts, .pause_ms = PAUSE_MS});
    bed->secondary = loopback_addr(0);
    bed->fd = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK, 0);
    assert_int_equal(bind(bed->fd, &bed->secondary.sa, bed->secondary.len), 0);
    assert_int_equal(getsockname(bed->fd, &bed->secondary.sa, &bed->secondary.len), 0);
    notifier_set_targets(bed->notifier, &bed->secondary, 1);
}

static void notifier_teardown(struct bed *bed)
{
    notifier_free(bed->notifier);
    ev_timer_stop(bed->loop, &bed->guard);
    ev_loop_destroy(bed->loop);
    (void)close(bed->fd);
    test_clock_run();
}

UNIT_FIXTURE(struct bed, notifier_setup, notifier_teardown)

static void run_ms(struct bed *bed, int64_t ms)
{
    for (int64_t i = 0; i < ms; i++) {
        test_clock_advance_ms(1);
        ev_run(bed->loop, EVRUN_NOWAIT);
    }
}

/* The next message; time passes until it is sent. */
static size_t notifier_receive(struct bed *bed, uint8_t out[DNS_UDP_SIZE], struct addr *from)
{
    struct pollfd there = {.fd = bed->fd, .events = POLLIN};
    from->len = sizeof(from->v6);
    while (poll(&there, 1, 1) == 0) {
        run_ms(bed, 1);
    }
    ssize_t n = recvfrom(bed->fd, out, DNS_UDP_SIZE, 0, &from->sa, &from->len);
    assert_true(n > 0);
    return (size_t)n;
}

static void notifier_reply(const struct bed *bed, uint8_t *wire, size_t len, const struct addr *to)
{
    wire[2] |= DNS_FLAG_QR >> 8;
    assert_int_equal(sendto(bed->fd, wire, len, 0, &to->sa, to->len), len);
}

UNIT_TEST_ON(test_bytes_and_reply, struct bed *bed)
{
    uint8_t wire[DNS_UDP_SIZE];
    struct addr from;
    notifier_tell(bed->notifier, &apex, 5);
    size_t len = notifier_receive(bed, wire, &from);
    static const uint8_t want[] = "\x24\0\0\1\0\0\0\0\0\0\5zone1\0\0\6\0\1";
    assert_int_equal(len, 2 + sizeof(want) - 1);
    assert_memory_equal(wire + 2, want, sizeof(want) - 1);
    notifier_reply(bed, wire, len, &from);
    while (counter_get(&bed->counts.notify_answered) == 0) {
        ev_run(bed->loop, EVRUN_ONCE);
    }
    notifier_tell(bed->notifier, &apex, 5); /* it knows */
    run_ms(bed, 3 * (int64_t)PAUSE_MS);
    assert_int_equal(counter_get(&bed->counts.notify_sent), 1);
}

UNIT_TEST_ON(test_silent, struct bed *bed)
{
    uint8_t wire[DNS_UDP_SIZE];
    struct addr from;
    int64_t begun_ms = clock_monotonic_ms();
    notifier_tell(bed->notifier, &apex, 5);
    while (counter_get(&bed->counts.notify_failed) == 0) {
        run_ms(bed, 1);
    }
    assert_int_equal(counter_get(&bed->counts.notify_sent), NOTIFY_TRIES);
    assert_true(clock_monotonic_ms() - begun_ms >= (1 + 2 + 4 + 8 + 16) * (int64_t)PAUSE_MS - 8);
    notifier_tell(bed->notifier, &apex, 6); /* another try */
    for (unsigned i = 0; i <= NOTIFY_TRIES; i++) {
        (void)notifier_receive(bed, wire, &from);
    }
}

/* However often a zone changes, a secondary is told once in a pause; and of each zone. */
UNIT_TEST_ON(test_pace, struct bed *bed)
{
    uint8_t wire[DNS_UDP_SIZE];
    struct addr from;
    int64_t begun_ms = clock_monotonic_ms();
    for (uint32_t serial = 1; clock_monotonic_ms() - begun_ms < 5 * (int64_t)PAUSE_MS; serial++) {
        notifier_tell(bed->notifier, &apex, serial);
        run_ms(bed, 1);
    }
    uint64_t sent = counter_get(&bed->counts.notify_sent);
    int64_t took_ms = clock_monotonic_ms() - begun_ms;
    assert_true(sent >= 1 && sent <= 2 + (uint64_t)(took_ms / PAUSE_MS));
    notifier_tell(bed->notifier, &other, 1);
    do {
        (void)notifier_receive(bed, wire, &from);
    } while (memcmp(wire + QUESTION_AT, other.wire, other.len) != 0);
}

/* From elsewhere, with another ID, about another zone, or no reply at all. */
UNIT_TEST_ON(test_wrong_replies, struct bed *bed)
{
    uint8_t wire[DNS_UDP_SIZE];
    struct addr from;
    notifier_tell(bed->notifier, &apex, 5);
    size_t len = notifier_receive(bed, wire, &from);
    int stranger = socket(AF_INET, SOCK_DGRAM, 0);
    wire[2] |= DNS_FLAG_QR >> 8;
    assert_int_equal(sendto(stranger, wire, len, 0, &from.sa, from.len), len);
    (void)close(stranger);
    wire[0] ^= 1;
    notifier_reply(bed, wire, len, &from);
    wire[0] ^= 1;
    wire[QUESTION_AT + 5] = '2';
    notifier_reply(bed, wire, len, &from);
    notifier_reply(bed, wire, 11, &from);
    while (counter_get(&bed->counts.notify_failed) == 0) {
        run_ms(bed, 1);
    }
    assert_int_equal(counter_get(&bed->counts.notify_answered), 0);
}

UNIT_TEST_ON(test_targets_go, struct bed *bed)
{
    notifier_tell(bed->notifier, &apex, 5);
    notifier_set_targets(bed->notifier, NULL, 0);
    notifier_tell(bed->notifier, &apex, 6);
    run_ms(bed, 2 * (int64_t)PAUSE_MS);
    assert_true(counter_get(&bed->counts.notify_sent) <= 1);
}

struct heard {
    unsigned count;
    uint32_t serial;
    bool is_first;
};

static void note_serial(void *data, const struct dname *zone, uint32_t serial, bool is_first)
{
    struct heard *heard = data;
    assert_true(dname_equal(zone, &apex));
    *heard = (struct heard){heard->count + 1, serial, is_first};
}

/* The next question for the SOA; NOTIFY, which comes with it, is answered. */
static size_t receive_question(struct bed *bed, uint8_t wire[DNS_UDP_SIZE], struct addr *from)
{
    size_t len;
    while ((len = notifier_receive(bed, wire, from), wire[2]) != 0) {
        assert_int_equal(wire[2], 0x24);
        notifier_reply(bed, wire, len, from);
    }
    return len;
}

/* The secondary says that it has this serial: it is heard once more. */
static void say_serial(struct bed *bed, uint8_t *wire, size_t len, const struct addr *to,
                       uint8_t serial, const struct heard *heard)
{
    static const uint8_t soa[] = "\xc0\x0c\0\6\0\1\0\0\0\0\0\x18\xc0\x0c\xc0\x0c\0\0\0";
    const unsigned before = heard->count;
    wire[7] = 1; /* one record */
    memcpy(wire + len, soa, sizeof(soa) - 1);
    len += sizeof(soa) - 1;
    wire[len++] = serial;
    notifier_reply(bed, wire, len, to);
    while (heard->count == before) {
        ev_run(bed->loop, EVRUN_ONCE);
    }
    assert_int_equal(heard->serial, serial);
}

static void hear_serials(struct bed *bed, struct heard *heard)
{
    notifier_free(bed->notifier);
    bed->notifier = notifier_new(&(struct notifier_config){.loop = bed->loop,
                                                           .from = bed->from,
                                                           .counts = &bed->counts,
                                                           .pause_ms = PAUSE_MS,
                                                           .heard = note_serial,
                                                           .data = heard});
    notifier_set_targets(bed->notifier, &bed->secondary, 1);
}

/* A secondary is asked until it has the serial that it was told. */
UNIT_TEST_ON(test_serials, struct bed *bed)
{
    uint8_t wire[DNS_UDP_SIZE];
    struct addr from;
    struct heard heard = {0};
    hear_serials(bed, &heard);
    notifier_tell(bed->notifier, &apex, 7);
    (void)receive_question(bed, wire, &from); /* which is lost */
    size_t len = receive_question(bed, wire, &from);
    say_serial(bed, wire, len, &from, 3, &heard);
    assert_true(heard.is_first);
    len = receive_question(bed, wire, &from); /* it has another one */
    say_serial(bed, wire, len, &from, 7, &heard);
    assert_false(heard.is_first);
    notifier_tell(bed->notifier, &apex, 8);
    len = receive_question(bed, wire, &from);
    wire[3] = DNS_RCODE_REFUSED;
    notifier_reply(bed, wire, len, &from);
    ev_run(bed->loop, EVRUN_ONCE);
    run_ms(bed, 3 * (int64_t)PAUSE_MS);
    assert_int_equal(heard.count, 2);
    assert_int_equal(recv(bed->fd, wire, sizeof(wire), 0), -1); /* nothing else is sent */
    notifier_ask_serials(bed->notifier);
    notifier_tell(bed->notifier, &apex, 8);
    len = notifier_receive(bed, wire, &from); /* at once, and without NOTIFY: it knows */
    assert_int_equal(wire[2], 0);
    say_serial(bed, wire, len, &from, 8, &heard);
    assert_true(heard.is_first);
}

/* The answer to the first question counts, though the zone went on meanwhile: it alone tells what
 * the secondary had then. */
UNIT_TEST_ON(test_late_answer, struct bed *bed)
{
    uint8_t wire[DNS_UDP_SIZE], later[DNS_UDP_SIZE];
    struct addr from;
    struct heard heard = {0};
    hear_serials(bed, &heard);
    notifier_tell(bed->notifier, &apex, 7);
    const size_t len = receive_question(bed, wire, &from);
    notifier_tell(bed->notifier, &apex, 8);
    (void)receive_question(bed, later, &from);
    say_serial(bed, wire, len, &from, 3, &heard);
    assert_true(heard.is_first);
    const size_t later_len = receive_question(bed, later, &from);
    say_serial(bed, later, later_len, &from, 9, &heard);
    assert_false(heard.is_first);
}
