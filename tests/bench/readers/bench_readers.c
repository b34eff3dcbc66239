/* Many readers in one process, for tests/bench/readers.py: each is an etcd client of its own with a
 * mirror of the records, as skydns has. What a reader does with a change costs nothing here, so
 * that many fit one processor.
 *
 *     bench_readers URL follow READERS EVENTS    print `ready` when all follow, then wait for
 * EVENTS changes at each; print the latencies' percentiles bench_readers URL write EVENTS PER_S
 * make them, one put after another at that rate
 *
 * A value begins with the time of its put, by this machine's clock. */
#include <ev.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/err.h"
#include "common/base/xalloc.h"
#include "common/etcd/etcd.h"
#include "common/etcd/etcd_mirror.h"
#include "common/etcd/etcd_txn.h"
#include "tests/bench/bench_etcd.h"
#include "tests/bench/histogram.h"

enum { CALL_TIMEOUT_MS = 60000, VALUE_SIZE = 71, KEYS = 100 };

struct readers {
    struct ev_loop *loop;
    size_t count;
    size_t following;
    size_t wanted; /* changes at all of them */
    size_t seen;
    struct fine_histogram latencies; /* of those seen */
};

struct bench_reader {
    struct readers *all;
    struct etcd *etcd;
    struct etcd_mirror *mirror;
};

/* ---- Readers ---- */

static void bench_readers_on_full_begin(void *data, const struct etcd_mirror_read *read)
{
    (void)data;
    (void)read;
}

/* The first read's values are of earlier runs. */
static void bench_readers_on_put(void *data, const struct etcd_kv *kv)
{
    struct bench_reader *reader = data;
    struct readers *all = reader->all;
    char text[VALUE_SIZE] = "";
    if (all->following < all->count || all->seen == all->wanted) {
        return;
    }
    memcpy(text, kv->value.ptr, kv->value.len < VALUE_SIZE ? kv->value.len : VALUE_SIZE - 1);
    int64_t late_us = clock_monotonic_us() - strtoll(text, NULL, 10);
    all->seen++;
    histogram_add(&all->latencies, (uint64_t)late_us * 1000);
    if (all->seen == all->wanted) {
        ev_break(all->loop, EVBREAK_ALL);
    }
}

static void bench_readers_on_del(void *data, struct slice key, int64_t revision)
{
    (void)data;
    (void)key;
    (void)revision;
}

static void bench_readers_on_commit(void *data, int64_t revision, bool full)
{
    (void)data;
    (void)revision;
    (void)full;
}

static void bench_readers_on_state(void *data, const struct err *err)
{
    (void)data;
    if (err) {
        bench_fail("a reader", err->msg);
    }
}

static void bench_readers_on_caught_up(void *data)
{
    struct readers *all = ((struct bench_reader *)data)->all;
    all->following++;
    if (all->following == all->count) {
        printf("ready\n");
        (void)fflush(stdout);
    }
}

static void bench_readers_start(struct bench_reader *reader, struct readers *all, const char *url)
{
    reader->all = all;
    reader->etcd = bench_etcd_at(all->loop, url, CALL_TIMEOUT_MS);
    reader->mirror =
        etcd_mirror_start(reader->etcd, &(struct etcd_mirror_config){
                                            .prefix = slice_str("/skydns/"),
                                            .store_key = slice_str("/kube2sky/bench/store"),
                                            .full_begin = bench_readers_on_full_begin,
                                            .put = bench_readers_on_put,
                                            .del = bench_readers_on_del,
                                            .commit = bench_readers_on_commit,
                                            .state = bench_readers_on_state,
                                            .caught_up = bench_readers_on_caught_up,
                                            .data = reader,
                                        });
}

static void bench_readers_follow(struct ev_loop *loop, const char *url, size_t count, size_t events)
{
    struct readers all = {.loop = loop, .count = count, .wanted = count * events};
    struct bench_reader *readers = xcalloc(count, sizeof(*readers));
    for (size_t i = 0; i < count; i++) {
        bench_readers_start(&readers[i], &all, url);
    }
    ev_run(loop, 0);
    printf("p50_ms %.3f\np99_ms %.3f\n", (double)histogram_percentile(&all.latencies, 0.5) / 1e6,
           (double)histogram_percentile(&all.latencies, 0.99) / 1e6);
    for (size_t i = 0; i < count; i++) {
        etcd_mirror_stop(readers[i].mirror);
        etcd_free(readers[i].etcd);
    }
    free(readers);
}

/* ---- The writer ---- */

struct bench_writer {
    ev_timer timer;
    struct etcd *etcd;
    size_t left;
    size_t pending;
};

static void bench_readers_on_written(void *data, const struct etcd_txn_reply *reply,
                                     const struct err *err)
{
    struct bench_writer *writer = data;
    (void)reply;
    if (err) {
        bench_fail("put", err->msg);
    }
    writer->pending--;
    if (writer->left == 0 && writer->pending == 0) {
        ev_break(EV_DEFAULT_ EVBREAK_ALL);
    }
}

static void bench_readers_on_tick(struct ev_loop *loop, ev_timer *timer, int events)
{
    struct bench_writer *writer = timer->data;
    char key[64], value[VALUE_SIZE];
    (void)events;
    int key_len = snprintf(key, sizeof(key), "/skydns/bench/svc-%zu", writer->left % KEYS);
    int value_len =
        snprintf(value, sizeof(value), "%-*lld", VALUE_SIZE - 1, (long long)clock_monotonic_us());
    const struct etcd_op put = {.kind = ETCD_OP_PUT,
                                .key = slice_of(key, (size_t)key_len),
                                .value = slice_of(value, (size_t)value_len)};
    writer->pending++;
    (void)etcd_txn(writer->etcd, &(struct etcd_txn){.ops = &put, .op_count = 1},
                   bench_readers_on_written, writer);
    if (--writer->left == 0) {
        ev_timer_stop(loop, timer);
    }
}

static void bench_readers_write_all(struct ev_loop *loop, const char *url, size_t events,
                                    double per_s)
{
    struct bench_writer writer = {.etcd = bench_etcd_at(loop, url, CALL_TIMEOUT_MS),
                                  .left = events};
    ev_timer_init(&writer.timer, bench_readers_on_tick, 0.0, 1.0 / per_s);
    writer.timer.data = &writer;
    ev_timer_start(loop, &writer.timer);
    ev_run(loop, 0);
    etcd_free(writer.etcd);
}

/* A number from 1 to the limit. */
static size_t bench_readers_number(const char *text, unsigned long limit)
{
    char *end;
    unsigned long value = strtoul(text, &end, 10);
    if (*end || value < 1 || value > limit) {
        bench_fail(text, "not a number that makes sense");
    }
    return value;
}

int main(int argc, char **argv)
{
    struct ev_loop *loop = ev_default_loop(0);
    if (argc != 5) {
        bench_fail("usage", "bench_readers URL follow READERS EVENTS | URL write EVENTS PER_S");
    }
    size_t first = bench_readers_number(argv[3], 1000000),
           second = bench_readers_number(argv[4], 1000000);
    if (strcmp(argv[2], "follow") == 0) {
        bench_readers_follow(loop, argv[1], first, second);
    } else if (strcmp(argv[2], "write") == 0) {
        bench_readers_write_all(loop, argv[1], first, (double)second);
    } else {
        bench_fail(argv[2], "no such mode");
    }
    return 0;
}
