/* bench_flood PORT NAME RATE SECONDS: one client at 127.0.0.66 sends RATE queries a second for NAME
 * to 127.0.0.1 and reads no reply, RATE 0: none; beside it, 100 clients, each at an address of its
 * own, ask 20 times a second and wait for their answers. Prints what was sent, answered and lost,
 * and the latency of those 100. */
#include <arpa/inet.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#include "common/base/clock.h"
#include "tests/bench/bench.h"
#include "tests/bench/histogram.h"

enum { CLIENTS = 100, PERIOD_US = 50000, LOST_AFTER_US = 2000000, BATCH = 32 };

static uint8_t query[BENCH_QUERY_MAX];
static size_t query_len;
static const char *server_port;
static atomic_bool is_over;
static uint64_t flooded;
static int64_t flood_rate;

/* In bursts, as many as are due. */
static void *flood_bench_flood(void *data)
{
    struct iovec part = {query, query_len};
    struct mmsghdr out[BATCH];
    int fd = bench_connect(inet_addr("127.0.0.66"), server_port, SOCK_NONBLOCK);
    int64_t begun_us = clock_monotonic_us();
    for (size_t i = 0; i < BATCH; i++) {
        out[i] = (struct mmsghdr){.msg_hdr = {.msg_iov = &part, .msg_iovlen = 1}};
    }
    while (!atomic_load(&is_over)) {
        int64_t due = (clock_monotonic_us() - begun_us) * flood_rate / 1000000;
        int sent = due >= (int64_t)flooded + BATCH ? sendmmsg(fd, out, BATCH, 0) : 0;
        if (sent > 0) {
            flooded += (uint64_t)sent;
        } else {
            nanosleep(&(struct timespec){.tv_nsec = 20000}, NULL);
        }
    }
    return data;
}

struct client {
    int64_t due_us, sent_us; /* sent_us 0: waits for nothing */
};

static struct client clients[CLIENTS];
static struct pollfd sockets[CLIENTS];
static uint64_t sent, answered, lost;
static struct fine_histogram latencies;

static void bench_flood_tick(struct client *client, struct pollfd *socket, int64_t now_us)
{
    uint8_t reply[1500];
    while (socket->revents && recv(socket->fd, reply, sizeof(reply), 0) > 0) {
        if (client->sent_us > 0) {
            answered++;
            histogram_add(&latencies, (uint64_t)(now_us - client->sent_us) * 1000);
            client->sent_us = 0;
        }
    }
    if (client->sent_us > 0 && now_us - client->sent_us > LOST_AFTER_US) {
        lost++;
        client->sent_us = 0;
    }
    if (client->sent_us == 0 && now_us >= client->due_us && !atomic_load(&is_over)) {
        client->due_us += PERIOD_US;
        client->sent_us = now_us;
        sent++;
        (void)!send(socket->fd, query, query_len, 0); /* what is not sent is lost */
    }
}

static void bench_flood_ask(int64_t seconds)
{
    int64_t begun_us = clock_monotonic_us(), now_us = begun_us;
    for (unsigned i = 0; i < CLIENTS; i++) {
        in_addr_t from = htonl(ntohl(inet_addr("127.0.1.1")) + i);
        int fd = bench_connect(from, server_port, SOCK_NONBLOCK);
        sockets[i] = (struct pollfd){.fd = fd, .events = POLLIN};
        clients[i].due_us = begun_us + PERIOD_US * i / CLIENTS;
    }
    while (now_us - begun_us < seconds * 1000000 + LOST_AFTER_US && answered + lost <= sent) {
        (void)poll(sockets, CLIENTS, 1);
        now_us = clock_monotonic_us();
        for (unsigned i = 0; i < CLIENTS; i++) {
            bench_flood_tick(&clients[i], &sockets[i], now_us);
        }
        if (now_us - begun_us >= seconds * 1000000) {
            atomic_store(&is_over, true);
            if (answered + lost == sent) {
                break;
            }
        }
    }
}

int main(int argc, char **argv)
{
    pthread_t thread;
    if (argc != 5) {
        (void)fprintf(stderr, "usage: bench_flood PORT NAME RATE SECONDS\n");
        return 2;
    }
    int64_t seconds = strtol(argv[4], NULL, 10);
    server_port = argv[1];
    query_len = bench_query(query, argv[2], 1);
    flood_rate = strtol(argv[3], NULL, 10);
    if (pthread_create(&thread, NULL, flood_bench_flood, NULL) != 0) {
        return 2;
    }
    bench_flood_ask(seconds);
    atomic_store(&is_over, true);
    (void)pthread_join(thread, NULL);
    printf("flood_qps %.0f\nsent %llu\nanswered %llu\nlost %llu\n",
           (double)flooded / (double)seconds, (unsigned long long)sent,
           (unsigned long long)answered, (unsigned long long)(sent - answered));
    if (answered > 0) {
        printf("p50_us %.0f\np99_us %.0f\nmax_us %.0f\n",
               (double)histogram_percentile(&latencies, 0.5) / 1e3,
               (double)histogram_percentile(&latencies, 0.99) / 1e3,
               (double)latencies.max_ns / 1e3);
    }
    return 0;
}
