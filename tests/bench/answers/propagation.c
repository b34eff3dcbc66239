/* propagation ETCD_URL SERVER:PORT COUNT: how long a change takes from etcd into the answers.
 *
 * Puts COUNT records in sequence, each a new Service's, and asks the server for its name, again
 * as soon as the last answer is in, until the answer is right. Prints a line for each: the
 * microseconds from sending the put until etcd's acknowledgement, and until the first right
 * answer. */
#include <errno.h>
#include <ev.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "common/base/addr.h"
#include "common/base/clock.h"
#include "common/dns/dns.h"
#include "common/etcd/etcd.h"
#include "tests/bench/answers/udp_socket.h"
#include "tests/bench/bench_etcd.h"

enum {
    CALL_TIMEOUT_MS = 10000,
    ASK_AGAIN_MS = 100, /* a lost query or answer */
    COUNT_MAX = 100000,
    ANSWER_MAX = 1500,
};

struct bench {
    struct ev_loop *loop;
    struct etcd *etcd;
    int fd;
    ev_io readable;
    ev_timer again;
    unsigned long number, count;
    int64_t sent_us, acknowledged_us, right_us; /* of the current record; 0: not yet */
    uint8_t query[BENCH_QUERY_MAX];
    size_t query_len;
};

static void propagation_next_record(struct bench *b);

static void finish_record(struct bench *b)
{
    if (b->acknowledged_us == 0 || b->right_us == 0) {
        return;
    }
    printf("%" PRId64 " %" PRId64 "\n", b->acknowledged_us - b->sent_us, b->right_us - b->sent_us);
    if (++b->number == b->count) {
        ev_break(b->loop, EVBREAK_ALL);
        return;
    }
    propagation_next_record(b);
}

/* ---- etcd ---- */

static void propagation_on_put(void *data, const struct etcd_txn_reply *reply,
                               const struct err *err)
{
    struct bench *b = data;
    (void)reply;
    if (err) {
        bench_fail("put", err->msg);
    }
    b->acknowledged_us = clock_monotonic_us();
    finish_record(b);
}

static void propagation_put(struct bench *b)
{
    char key[80], value[96];
    int key_len = snprintf(key, sizeof(key), "/skydns/local/cluster/svc/new/svc-%lu/a", b->number);
    int value_len = snprintf(value, sizeof(value),
                             "{\"host\":\"10.255.%lu.%lu\",\"priority\":10,\"weight\":10,"
                             "\"ttl\":30,\"targetstrip\":0}",
                             b->number >> 8 & 255, b->number & 255);
    const struct etcd_op op = {.kind = ETCD_OP_PUT,
                               .key = slice_of(key, (size_t)key_len),
                               .value = slice_of(value, (size_t)value_len)};
    const struct etcd_txn txn = {.ops = &op, .op_count = 1};
    b->sent_us = clock_monotonic_us();
    (void)etcd_txn(b->etcd, &txn, propagation_on_put, b);
}

/* ---- The server ---- */

static void propagation_make_query(struct bench *b)
{
    char text[80];
    (void)snprintf(text, sizeof(text), "svc-%lu.new.svc.cluster.local", b->number);
    b->query_len = bench_query(b->query, text, (uint16_t)b->number);
}

static void propagation_ask(struct bench *b)
{
    if (send(b->fd, b->query, b->query_len, 0) < 0) {
        bench_fail("send", err_code_text(-errno));
    }
    ev_timer_again(b->loop, &b->again);
}

/* Whether it has one record, with the address as its last bytes. */
static bool propagation_is_right(const struct bench *b, const uint8_t *answer, size_t len)
{
    const uint8_t address[4] = {10, 255, b->number >> 8 & 255, b->number & 255};
    struct reader r = reader_of(answer, len);
    uint16_t id = reader_u16(&r), flags = reader_u16(&r);
    (void)reader_u16(&r);
    uint16_t answers = reader_u16(&r);
    return !r.failed && id == (uint16_t)b->number && (flags & DNS_MASK_RCODE) == 0 &&
           answers == 1 && memcmp(answer + len - sizeof(address), address, sizeof(address)) == 0;
}

static void propagation_on_readable(struct ev_loop *loop, ev_io *w, int events)
{
    struct bench *b = w->data;
    uint8_t answer[ANSWER_MAX];
    ssize_t n = recv(b->fd, answer, sizeof(answer), MSG_DONTWAIT);
    (void)events;
    if (n < 0) {
        return; /* the timer asks again */
    }
    if (b->right_us == 0 && propagation_is_right(b, answer, (size_t)n)) {
        b->right_us = clock_monotonic_us();
        ev_timer_stop(loop, &b->again);
        finish_record(b);
    } else if (b->right_us == 0) {
        propagation_ask(b);
    }
}

static void on_again(struct ev_loop *loop, ev_timer *w, int events)
{
    (void)loop;
    (void)events;
    propagation_ask(w->data);
}

static void propagation_next_record(struct bench *b)
{
    b->acknowledged_us = b->right_us = 0;
    propagation_make_query(b);
    propagation_put(b);
    propagation_ask(b);
}

static void propagation_connect_to(struct bench *b, const char *text)
{
    struct addr server;
    struct err err;
    if (addr_parse(text, &server, &err) < 0 || (b->fd = udp_socket(&server, 0, &err)) < 0) {
        bench_fail(text, err.msg);
    }
    if (connect(b->fd, &server.sa, server.len) < 0) {
        bench_fail(text, err_code_text(-errno));
    }
    ev_io_init(&b->readable, propagation_on_readable, b->fd, EV_READ);
    ev_timer_init(&b->again, on_again, 0.0, ASK_AGAIN_MS / 1e3);
    b->readable.data = b->again.data = b;
    ev_io_start(b->loop, &b->readable);
}

int main(int argc, char **argv)
{
    struct bench b = {.loop = ev_default_loop(0)};
    if (argc != 4 || (b.count = strtoul(argv[3], NULL, 10)) == 0 || b.count > COUNT_MAX) {
        bench_fail("usage", "propagation ETCD_URL SERVER:PORT COUNT");
    }
    b.etcd = bench_etcd_at(b.loop, argv[1], CALL_TIMEOUT_MS);
    propagation_connect_to(&b, argv[2]);
    propagation_next_record(&b);
    ev_run(b.loop, 0);
    ev_io_stop(b.loop, &b.readable);
    etcd_free(b.etcd);
    return 0;
}
