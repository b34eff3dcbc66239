/* The store's side of kube2sky's benchmark (tests/bench/kube2sky_scale.py runs it): etcd's own
 * cost, and when each change arrived.
 *
 *     bench_store URL dump PREFIX            every key and value below it, as `key<TAB>value` lines
 *     bench_store URL loop IN_FLIGHT         writes such lines from stdin in transactions of 128,
 *                                            IN_FLIGHT at once; prints the seconds it took
 *     bench_store URL pace RATE COUNT OPS    COUNT transactions of OPS puts, RATE a second;
 *                                            prints each one's microseconds until acknowledged
 *     bench_store URL follow PREFIX          prints `ready`, then `put|delete NANOSECONDS KEY` for
 *                                            each change as it arrives (CLOCK_MONOTONIC), until
 *                                            stdin ends */
#include <ev.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/base/xalloc.h"
#include "common/etcd/etcd.h"
#include "common/etcd/etcd_watch.h"
#include "tests/bench/bench_etcd.h"

enum {
    CALL_TIMEOUT_MS = 30000,
    DUMP_PAGE = 50000,
    KEY_MAX = 160,
    PACED_MAX = 512, /* in flight when etcd stalls: half of the client's limit */
};

struct line {
    struct slice key;
    struct slice value;
};

struct bench {
    struct ev_loop *loop;
    struct etcd *etcd;
    struct slice prefix;
    char *prefix_end;
    size_t pending; /* calls */

    char *text; /* of loop: stdin, split into lines */
    struct line *lines;
    size_t count, next;
    size_t in_flight_max;
    int64_t start_us;

    size_t ops; /* of pace */
    double rate;
    int64_t *sent_us; /* per transaction: when it was sent, then how long it took */
    ev_timer timer;

    struct etcd_watch *watch; /* of follow */
    ev_io input;
};

static struct slice range_end(struct bench *b)
{
    b->prefix_end = xmalloc(b->prefix.len + 1);
    return etcd_prefix_end(b->prefix, b->prefix_end);
}

/* ---- dump ---- */

struct dump {
    struct bench *bench;
    struct slice end;
    char *from; /* the next page's first key */
    int64_t revision;
};

static void ask_page(struct dump *dump, struct slice from);

static void bench_store_on_page(void *data, const struct etcd_range_reply *reply,
                                const struct err *err)
{
    struct dump *dump = data;
    if (err) {
        bench_fail("range", err->msg);
    }
    dump->revision = dump->revision ? dump->revision : reply->revision;
    for (size_t i = 0; i < reply->count; i++) {
        const struct etcd_kv *kv = &reply->kvs[i];
        printf("%.*s\t%.*s\n", (int)kv->key.len, (const char *)kv->key.ptr, (int)kv->value.len,
               (const char *)kv->value.ptr);
    }
    if (!reply->more) {
        ev_break(dump->bench->loop, EVBREAK_ALL);
        return;
    }
    /* Just after the last one: its text and a NUL. */
    struct slice last = reply->kvs[reply->count - 1].key;
    free(dump->from);
    dump->from = xmalloc(last.len + 1);
    memcpy(dump->from, last.ptr, last.len);
    dump->from[last.len] = '\0';
    ask_page(dump, slice_of(dump->from, last.len + 1));
}

static void ask_page(struct dump *dump, struct slice from)
{
    (void)etcd_range(
        dump->bench->etcd,
        &(struct etcd_range){
            .key = from, .range_end = dump->end, .limit = DUMP_PAGE, .revision = dump->revision},
        bench_store_on_page, dump);
}

static void run_dump(struct bench *b)
{
    struct dump dump = {.bench = b, .end = range_end(b)};
    ask_page(&dump, b->prefix);
    ev_run(b->loop, 0);
    free(dump.from);
}

/* ---- loop ---- */

static void read_lines(struct bench *b)
{
    size_t cap = 1 << 20, len = 0, lines_cap = 0, n;
    b->text = xmalloc(cap);
    while ((n = fread(b->text + len, 1, cap - len, stdin)) > 0) {
        len += n;
        if (len == cap) {
            cap *= 2;
            b->text = xrealloc(b->text, cap);
        }
    }
    for (char *p = b->text, *end = b->text + len; p < end;) {
        char *newline = memchr(p, '\n', (size_t)(end - p));
        char *tab = newline ? memchr(p, '\t', (size_t)(newline - p)) : NULL;
        if (!tab) {
            bench_fail("stdin", "expected lines of key, tab, value");
        }
        if (b->count == lines_cap) {
            lines_cap = lines_cap ? 2 * lines_cap : 1024;
            b->lines = xrealloc(b->lines, lines_cap * sizeof(*b->lines));
        }
        b->lines[b->count++] =
            (struct line){.key = slice_of(p, (size_t)(tab - p)),
                          .value = slice_of(tab + 1, (size_t)(newline - tab - 1))};
        p = newline + 1;
    }
}

static void send_lines(struct bench *b);

static void on_lines_written(void *data, const struct etcd_txn_reply *reply, const struct err *err)
{
    struct bench *b = data;
    (void)reply;
    if (err) {
        bench_fail("transaction", err->msg);
    }
    b->pending--;
    send_lines(b);
}

static void send_lines(struct bench *b)
{
    struct etcd_op ops[ETCD_TXN_OPS_MAX];
    while (b->next < b->count && b->pending < b->in_flight_max) {
        size_t n = 0;
        for (; n < ETCD_TXN_OPS_MAX && b->next < b->count; n++, b->next++) {
            ops[n] = (struct etcd_op){.kind = ETCD_OP_PUT,
                                      .key = b->lines[b->next].key,
                                      .value = b->lines[b->next].value};
        }
        b->pending++;
        (void)etcd_txn(b->etcd, &(struct etcd_txn){.ops = ops, .op_count = n}, on_lines_written, b);
    }
    if (b->pending == 0) {
        ev_break(b->loop, EVBREAK_ALL);
    }
}

static void run_loop(struct bench *b)
{
    read_lines(b);
    if (b->count == 0) {
        bench_fail("stdin", "no lines");
    }
    b->start_us = clock_monotonic_us();
    send_lines(b);
    ev_run(b->loop, 0);
    printf("%.6f\n", (double)(clock_monotonic_us() - b->start_us) / 1e6);
}

/* ---- pace ---- */

struct paced {
    struct bench *bench;
    size_t number;
};

static void on_paced(void *data, const struct etcd_txn_reply *reply, const struct err *err)
{
    struct paced *paced = data;
    struct bench *b = paced->bench;
    (void)reply;
    if (err) {
        bench_fail("transaction", err->msg);
    }
    b->sent_us[paced->number] = clock_monotonic_us() - b->sent_us[paced->number];
    free(paced);
    if (--b->pending == 0 && b->next == b->count) {
        ev_break(b->loop, EVBREAK_ALL);
    }
}

static void send_paced(struct bench *b)
{
    struct slice value = slice_str(
        "{\"host\":\"10.0.0.1\",\"priority\":10,\"weight\":10,\"ttl\":30,\"targetstrip\":0}");
    char keys[ETCD_TXN_OPS_MAX][KEY_MAX];
    struct etcd_op ops[ETCD_TXN_OPS_MAX];
    for (size_t i = 0; i < b->ops; i++) {
        int len = snprintf(keys[i], KEY_MAX, "/bench/pace/%zu/%zu", b->next, i);
        ops[i] = (struct etcd_op){
            .kind = ETCD_OP_PUT, .key = slice_of(keys[i], (size_t)len), .value = value};
    }
    struct paced *paced = xmalloc(sizeof(*paced));
    *paced = (struct paced){.bench = b, .number = b->next};
    b->sent_us[b->next++] = clock_monotonic_us();
    b->pending++;
    (void)etcd_txn(b->etcd, &(struct etcd_txn){.ops = ops, .op_count = b->ops}, on_paced, paced);
}

static void on_pace_timer(struct ev_loop *loop, ev_timer *w, int events)
{
    struct bench *b = w->data;
    (void)events;
    double due = (double)(clock_monotonic_us() - b->start_us) / 1e6 * b->rate;
    while (b->next < b->count && (double)b->next <= due && b->pending < PACED_MAX) {
        send_paced(b);
    }
    if (b->next == b->count) {
        ev_timer_stop(loop, w);
    }
}

static void run_pace(struct bench *b)
{
    b->sent_us = xcalloc(b->count, sizeof(*b->sent_us));
    b->start_us = clock_monotonic_us();
    ev_timer_init(&b->timer, on_pace_timer, 0.0, 0.5 / b->rate);
    b->timer.data = b;
    ev_timer_start(b->loop, &b->timer);
    ev_run(b->loop, 0);
    for (size_t i = 0; i < b->count; i++) {
        printf("%" PRId64 "\n", b->sent_us[i]);
    }
}

/* ---- follow ---- */

static void bench_store_on_events(void *data, const struct etcd_event *events, size_t count,
                                  int64_t revision)
{
    (void)data;
    (void)revision;
    uint64_t now_ns = clock_ns(CLOCK_MONOTONIC);
    for (size_t i = 0; i < count; i++) {
        printf("%s %" PRIu64 " %.*s\n", events[i].kind == ETCD_EVENT_PUT ? "put" : "delete", now_ns,
               (int)events[i].kv.key.len, (const char *)events[i].kv.key.ptr);
    }
    (void)fflush(stdout);
}

static void bench_store_on_up(void *data)
{
    (void)data;
    printf("ready\n");
    (void)fflush(stdout);
}

static void bench_store_on_watch_end(void *data, const struct err *err)
{
    (void)data;
    bench_fail("watch", err->msg);
}

static void bench_store_on_input(struct ev_loop *loop, ev_io *w, int events)
{
    char byte;
    (void)events;
    if (read(w->fd, &byte, 1) <= 0) {
        ev_break(loop, EVBREAK_ALL);
    }
}

static void on_revision(void *data, const struct etcd_range_reply *reply, const struct err *err)
{
    struct bench *b = data;
    if (err) {
        bench_fail("range", err->msg);
    }
    b->watch =
        etcd_watch_start(b->etcd, &(struct etcd_watch_config){.key = b->prefix,
                                                              .range_end = range_end(b),
                                                              .start_revision = reply->revision + 1,
                                                              .on_events = bench_store_on_events,
                                                              .on_up = bench_store_on_up,
                                                              .on_end = bench_store_on_watch_end,
                                                              .data = b});
}

static void run_follow(struct bench *b)
{
    (void)etcd_range(b->etcd, &(struct etcd_range){.key = b->prefix, .keys_only = true},
                     on_revision, b);
    ev_io_init(&b->input, bench_store_on_input, STDIN_FILENO, EV_READ);
    ev_io_start(b->loop, &b->input);
    ev_run(b->loop, 0);
    etcd_watch_stop(b->watch);
}

/* ---- The command line ---- */

static size_t bench_store_number_of(const char *text)
{
    char *end;
    unsigned long value = strtoul(text, &end, 10);
    if (*end || value == 0 || value > 10000000) {
        bench_fail(text, "expected a number from 1 to 10000000");
    }
    return value;
}

static void bench_store_run(struct bench *b, int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[0], "dump") == 0) {
        b->prefix = slice_str(argv[1]);
        run_dump(b);
    } else if (argc == 2 && strcmp(argv[0], "loop") == 0) {
        b->in_flight_max = bench_store_number_of(argv[1]);
        run_loop(b);
    } else if (argc == 4 && strcmp(argv[0], "pace") == 0) {
        b->rate = (double)bench_store_number_of(argv[1]);
        b->count = bench_store_number_of(argv[2]);
        b->ops = bench_store_number_of(argv[3]);
        if (b->ops > ETCD_TXN_OPS_MAX) {
            bench_fail(argv[3], "more operations than a transaction allows");
        }
        run_pace(b);
    } else if (argc == 2 && strcmp(argv[0], "follow") == 0) {
        b->prefix = slice_str(argv[1]);
        run_follow(b);
    } else {
        bench_fail("usage", "bench_store URL dump PREFIX | loop IN_FLIGHT | pace RATE COUNT OPS | "
                            "follow PREFIX");
    }
}

int main(int argc, char **argv)
{
    struct bench b = {.loop = ev_default_loop(0)};
    b.etcd = bench_etcd_at(b.loop, argc > 1 ? argv[1] : "http://127.0.0.1:2379", CALL_TIMEOUT_MS);
    bench_store_run(&b, argc - 2, argv + 2);
    etcd_free(b.etcd);
    free(b.prefix_end);
    free(b.text);
    free(b.lines);
    free(b.sent_us);
    return 0;
}
