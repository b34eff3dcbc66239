/* burst_udp: sends very many queries over UDP as fast as the kernel takes them, and counts the
 * answers (burst_udp -help). Its own sockets have room for all of them, so that what is missing was
 * lost at the server. Prints `sent`, `answers`, and the milliseconds until the last query was sent
 * and until the last answer came. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "common/base/attributes.h"
#include "common/base/xalloc.h"
#include "tests/bench/answers/load.h"
#include "tests/bench/answers/meter.h"
#include "tests/bench/answers/udp_socket.h"
#include "tests/bench/bench.h"

enum {
    SOCKETS = 64, /* at 4 MB of buffer, room for 5,000 answers on each even without privileges */
    BATCH = 64,
    ANSWER_MAX = 1500,
    QUIET_MS = 500, /* without an answer, nothing more comes: thousands of times an answer's time */
};

struct burst {
    struct load load;
    int64_t size;
    int fds[SOCKETS];
    uint64_t sent, answers;
    uint64_t sent_ns, answered_ns;
    struct mmsghdr out[BATCH], in[BATCH];
    struct iovec out_parts[BATCH], in_parts[BATCH];
    uint8_t received[BATCH][ANSWER_MAX];
};

static void burst_udp_prepare(struct burst *b)
{
    struct err err;
    for (size_t i = 0; i < SOCKETS; i++) {
        b->fds[i] = udp_socket(&b->load.server, 0, &err);
        if (b->fds[i] < 0) {
            bench_fail("load", err.msg);
        }
        if (connect(b->fds[i], &b->load.server.sa, b->load.server.len) < 0) {
            bench_fail("connect", err_code_text(-errno));
        }
    }
    for (size_t i = 0; i < BATCH; i++) {
        b->in_parts[i] = (struct iovec){b->received[i], ANSWER_MAX};
        b->in[i].msg_hdr = (struct msghdr){.msg_iov = &b->in_parts[i], .msg_iovlen = 1};
        b->out[i].msg_hdr = (struct msghdr){.msg_iov = &b->out_parts[i], .msg_iovlen = 1};
    }
}

/* A few from each socket in turn, as from many clients. */
static void burst_udp_send_all(struct burst *b)
{
    uint16_t id = 0;
    for (size_t turn = 0; b->sent < (uint64_t)b->size; turn++) {
        size_t left = (size_t)b->size - b->sent, count = left < BATCH ? left : BATCH;
        for (size_t i = 0; i < count; i++) {
            const struct query *query = queries_take(&b->load.queries, id++);
            b->out_parts[i] = (struct iovec){query->frame + QUERY_FRAME, query->len};
        }
        int n = sendmmsg(b->fds[turn % SOCKETS], b->out, (unsigned)count, 0);
        if (n <= 0) {
            bench_fail("sendmmsg", err_code_text(-errno));
        }
        b->sent += (uint64_t)n;
    }
    b->sent_ns = meter_now_ns();
}

/* Spins, as the other generators do: it has a core. */
static void burst_udp_receive_all(struct burst *b)
{
    b->answered_ns = meter_now_ns();
    while (b->answers < b->sent && meter_now_ns() - b->answered_ns < QUIET_MS * UINT64_C(1000000)) {
        for (size_t i = 0; i < SOCKETS; i++) {
            int n = recvmmsg(b->fds[i], b->in, BATCH, MSG_DONTWAIT, NULL);
            if (n > 0) {
                b->answers += (uint64_t)n;
                b->answered_ns = meter_now_ns();
            }
        }
    }
}

int main(int argc, char **argv)
{
    struct burst *b = xcalloc(1, sizeof(*b));
    b->size = 50000;
    const struct flag table[] = {
        {"size", FLAG_INT, &b->size, .min = 1, .max = 200000, .help = "queries at once"},
    };
    const struct flags flags = {.program = "burst_udp",
                                .summary = "Sends a burst of queries over UDP, and counts answers",
                                .table = table,
                                .count = ARRAY_LEN(table)};
    load_parse(argc, argv, &flags, &b->load);
    burst_udp_prepare(b);
    uint64_t begun_ns = meter_now_ns();
    burst_udp_send_all(b);
    burst_udp_receive_all(b);
    printf("sent %llu\nanswers %llu\nsent_ms %.3f\nanswered_ms %.3f\n", (unsigned long long)b->sent,
           (unsigned long long)b->answers, (double)(b->sent_ns - begun_ns) / 1e6,
           (double)(b->answered_ns - begun_ns) / 1e6);
    queries_fini(&b->load.queries);
    free(b);
    return 0;
}
