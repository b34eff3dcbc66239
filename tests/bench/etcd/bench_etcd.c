/* Measures the cost of the etcd client, one or two figures per run: tests/bench/etcd_client.py
 * starts an etcd, runs this repeatedly, and prints the table. CPU is this process's own, in
 * microseconds.
 *
 *     bench_etcd URL puts         single puts, 64 outstanding
 *     bench_etcd URL txns         every key once, in transactions of 128 operations, 8 in flight
 *     bench_etcd URL mirror       read all those keys
 *     bench_etcd URL events       the same, print `ready`, then follow until each was changed once
 *     bench_etcd URL idle         the same, then idle for ten seconds
 *     bench_etcd URL restarts     the same, then READS mirrors that read everything, and RESUMES
 *                                 that resume; prints `ready`, `read` and `resumed` around them
 *                                 and waits for a line of input after each
 *     bench_etcd URL reconciler   write as many keys into an empty etcd the way kube2sky does
 *
 * A third argument is the CA file for an https URL. */
#include <ev.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/base/buf.h"
#include "common/base/clock.h"
#include "common/base/outage.h"
#include "common/base/xalloc.h"
#include "common/etcd/etcd.h"
#include "common/etcd/etcd_mirror.h"
#include "kube2sky/naming/inventory.h"
#include "kube2sky/reconcile/reconciler.h"
#include "tests/bench/bench_etcd.h"

enum {
    KEYS = 100000,
    PUTS = 20000,
    PUTS_OUTSTANDING = 64,
    TXNS_IN_FLIGHT = 8,
    CALL_TIMEOUT_MS = 30000,
    IDLE_S = 10,
    READS = 5,
    RESUMES = 500, /* as much CPU as etcd's clock shows */
    SAVED_MAX = 1 << 20,
};

/* The longest key or value made here, and its NUL. */
enum { TEXT_MAX = 96 };

/* Made before the clock starts: only the client is measured. */
struct pair {
    char key[TEXT_MAX];
    char value[TEXT_MAX];
    size_t key_len;
    size_t value_len;
};

static const char key_prefix[] = "/skydns/bench/";

struct bench {
    struct ev_loop *loop;
    struct etcd *etcd;
    struct pair *pairs;
    int next;    /* of them */
    int pending; /* calls */
    int64_t start_us;
    int64_t start_cpu_us;

    struct etcd_mirror *mirror;
    bool is_following;
    int keys;     /* of the first read */
    size_t bytes; /* in them */
    int events;   /* since then */
    int events_wanted;
    bool is_restarted; /* commits alone end no wait */

    struct inventory *inventory;
    struct reconciler *reconciler;
    ev_timer timer;
};

static void bench_etcd_start_clock(struct bench *b)
{
    b->start_us = clock_monotonic_us();
    b->start_cpu_us = (int64_t)clock_ns(CLOCK_PROCESS_CPUTIME_ID) / 1000;
}

static double elapsed_s(const struct bench *b)
{
    return (double)(clock_monotonic_us() - b->start_us) / 1e6;
}

static double used_cpu_us(const struct bench *b)
{
    return (double)((int64_t)clock_ns(CLOCK_PROCESS_CPUTIME_ID) / 1000 - b->start_cpu_us);
}

static void bench_etcd_make_pairs(struct bench *b, int count)
{
    b->pairs = xcalloc((size_t)count, sizeof(*b->pairs));
    for (int i = 0; i < count; i++) {
        struct pair *pair = &b->pairs[i];
        pair->key_len = (size_t)snprintf(pair->key, TEXT_MAX, "%ssvc-%06d/c88f1059", key_prefix, i);
        pair->value_len = (size_t)snprintf(
            pair->value, TEXT_MAX,
            "{\"host\":\"10.%d.%d.%d\",\"priority\":10,\"weight\":10,\"ttl\":30,\"targetstrip\":0}",
            i >> 16 & 255, i >> 8 & 255, i & 255);
    }
}

static struct slice bench_etcd_key_of(const struct bench *b, int number)
{
    return slice_of(b->pairs[number].key, b->pairs[number].key_len);
}

static struct slice bench_etcd_value_of(const struct bench *b, int number)
{
    return slice_of(b->pairs[number].value, b->pairs[number].value_len);
}

/* ---- Writing, bare ---- */

static void send_puts(struct bench *b);

static void bench_etcd_on_put(void *data, const struct etcd_txn_reply *reply, const struct err *err)
{
    struct bench *b = data;
    (void)reply;
    if (err) {
        bench_fail("put", err->msg);
    }
    b->pending--;
    send_puts(b);
}

static void send_puts(struct bench *b)
{
    while (b->next < PUTS && b->pending < PUTS_OUTSTANDING) {
        const struct etcd_op put = {.kind = ETCD_OP_PUT,
                                    .key = bench_etcd_key_of(b, b->next),
                                    .value = bench_etcd_value_of(b, b->next)};
        const struct etcd_txn txn = {.ops = &put, .op_count = 1};
        b->next++;
        b->pending++;
        (void)etcd_txn(b->etcd, &txn, bench_etcd_on_put, b);
    }
    if (b->pending == 0) {
        ev_break(b->loop, EVBREAK_ALL);
    }
}

static void bench_puts(struct bench *b)
{
    bench_etcd_make_pairs(b, PUTS);
    bench_etcd_start_clock(b);
    send_puts(b);
    ev_run(b->loop, 0);
    printf("cpu_us_per_put %.3f\nputs_per_s %.0f\n", used_cpu_us(b) / PUTS, PUTS / elapsed_s(b));
}

static void send_txns(struct bench *b);

static void bench_etcd_on_txn(void *data, const struct etcd_txn_reply *reply, const struct err *err)
{
    struct bench *b = data;
    (void)reply;
    if (err) {
        bench_fail("transaction", err->msg);
    }
    b->pending--;
    send_txns(b);
}

static void send_txns(struct bench *b)
{
    struct etcd_op ops[ETCD_TXN_OPS_MAX];
    while (b->next < KEYS && b->pending < TXNS_IN_FLIGHT) {
        size_t count = 0;
        for (; count < ETCD_TXN_OPS_MAX && b->next < KEYS; count++, b->next++) {
            ops[count] = (struct etcd_op){.kind = ETCD_OP_PUT,
                                          .key = bench_etcd_key_of(b, b->next),
                                          .value = bench_etcd_value_of(b, b->next)};
        }
        b->pending++;
        (void)etcd_txn(b->etcd, &(struct etcd_txn){.ops = ops, .op_count = count},
                       bench_etcd_on_txn, b);
    }
    if (b->pending == 0) {
        ev_break(b->loop, EVBREAK_ALL);
    }
}

static void bench_txns(struct bench *b)
{
    bench_etcd_make_pairs(b, KEYS);
    bench_etcd_start_clock(b);
    send_txns(b);
    ev_run(b->loop, 0);
    printf("cpu_us_per_key %.3f\nkeys_per_s %.0f\n", used_cpu_us(b) / KEYS, KEYS / elapsed_s(b));
}

/* ---- Reading ---- */

static void bench_etcd_on_full_begin(void *data, const struct etcd_mirror_read *read)
{
    (void)read;
    ((struct bench *)data)->keys = 0;
}

static void on_mirror_put(void *data, const struct etcd_kv *kv)
{
    struct bench *b = data;
    if (b->is_following) {
        b->events++;
    } else {
        b->keys++;
        b->bytes += kv->key.len + kv->value.len;
    }
}

static void on_mirror_del(void *data, struct slice key, int64_t revision)
{
    (void)data;
    (void)key;
    (void)revision;
}

static void bench_etcd_on_commit(void *data, int64_t revision, bool full)
{
    struct bench *b = data;
    (void)revision;
    if (full && b->is_following) {
        bench_fail("mirror", "read everything again");
    }
    if (b->is_restarted) {
        return;
    }
    if (full ? b->events_wanted == 0 : b->events >= b->events_wanted) {
        ev_break(b->loop, EVBREAK_ALL);
    }
}

/* Once the watch is up, the read is complete and what follows are events. */
static void bench_etcd_on_state(void *data, const struct err *err)
{
    struct bench *b = data;
    if (err) {
        bench_fail("mirror", err->msg);
    }
    if (b->events_wanted > 0) {
        b->is_following = true;
        bench_etcd_start_clock(b);
        printf("ready\n");
        (void)fflush(stdout);
    }
}

static void bench_etcd_on_caught_up(void *data)
{
    struct bench *b = data;
    if (b->is_restarted) {
        ev_break(b->loop, EVBREAK_ALL);
    }
}

static void bench_etcd_start_saved(struct bench *b, struct slice saved)
{
    b->mirror = etcd_mirror_start(b->etcd, &(struct etcd_mirror_config){
                                               .prefix = slice_str(key_prefix),
                                               .saved = saved,
                                               .store_key = slice_str("/bench/store"),
                                               .full_begin = bench_etcd_on_full_begin,
                                               .put = on_mirror_put,
                                               .del = on_mirror_del,
                                               .commit = bench_etcd_on_commit,
                                               .state = bench_etcd_on_state,
                                               .caught_up = bench_etcd_on_caught_up,
                                               .data = b,
                                           });
}

static void bench_etcd_start_mirror(struct bench *b)
{
    bench_etcd_start_saved(b, slice_of(NULL, 0));
}

static void bench_etcd_check_keys(const struct bench *b)
{
    if (b->keys != KEYS) {
        bench_fail("mirror", "not as many keys as were written");
    }
}

static void bench_mirror(struct bench *b)
{
    bench_etcd_start_clock(b);
    bench_etcd_start_mirror(b);
    ev_run(b->loop, 0);
    printf("mirrored_s %.3f\ncpu_us_per_key_mirrored %.3f\nmirrored_mb_per_s %.1f\n", elapsed_s(b),
           used_cpu_us(b) / KEYS, (double)b->bytes / 1e6 / elapsed_s(b));
    bench_etcd_check_keys(b);
}

static void bench_events(struct bench *b)
{
    b->events_wanted = KEYS;
    bench_etcd_start_mirror(b);
    ev_run(b->loop, 0);
    printf("cpu_us_per_event %.3f\nevents_per_s %.0f\n", used_cpu_us(b) / b->events,
           b->events / elapsed_s(b));
    bench_etcd_check_keys(b);
}

/* The driver measures etcd meanwhile. */
static void bench_etcd_report(const char *what)
{
    char line[8];
    printf("%s\n", what);
    (void)fflush(stdout);
    if (!fgets(line, sizeof(line), stdin)) {
        bench_fail("driver", "is gone");
    }
}

/* New connections, as a new process has. */
static void bench_etcd_restart(struct bench *b, const char *url, struct slice saved)
{
    etcd_mirror_stop(b->mirror);
    etcd_free(b->etcd);
    b->etcd = bench_etcd_at(b->loop, url, CALL_TIMEOUT_MS);
    bench_etcd_start_saved(b, saved);
    ev_run(b->loop, 0);
    const struct etcd_mirror_counts counts = etcd_mirror_counts(b->mirror);
    if (!counts.is_caught_up || (counts.resumed == 1) != (saved.len > 0)) {
        bench_fail("restart", "not as wanted");
    }
}

static void bench_restarts(struct bench *b)
{
    char url[TEXT_MAX];
    CLEANUP_BUF struct buf saved = buf_of(SAVED_MAX);
    (void)snprintf(url, sizeof(url), "%s", etcd_endpoint(b->etcd));
    b->is_restarted = true;
    bench_etcd_start_mirror(b);
    ev_run(b->loop, 0);
    bench_etcd_report("ready");
    for (int i = 0; i < READS; i++) {
        bench_etcd_restart(b, url, slice_of(NULL, 0));
    }
    bench_etcd_report("read");
    if (!etcd_mirror_save(b->mirror, &saved)) {
        bench_fail("mirror", "saves nothing");
    }
    for (int i = 0; i < RESUMES; i++) {
        bench_etcd_restart(b, url, buf_slice(&saved));
    }
    bench_etcd_report("resumed");
}

static void bench_etcd_on_timer(struct ev_loop *loop, ev_timer *w, int events)
{
    (void)w;
    (void)events;
    ev_break(loop, EVBREAK_ALL);
}

static void bench_idle(struct bench *b)
{
    bench_etcd_start_mirror(b);
    ev_run(b->loop, 0);
    bench_etcd_check_keys(b);
    ev_timer_init(&b->timer, bench_etcd_on_timer, IDLE_S, 0.0);
    ev_timer_start(b->loop, &b->timer);
    bench_etcd_start_clock(b);
    ev_run(b->loop, 0);
    printf("idle_percent %.4f\n", used_cpu_us(b) / 1e4 / elapsed_s(b));
}

/* ---- Writing, as kube2sky does ---- */

/* Two keys each: address and port. */
static void bench_etcd_add_service(struct bench *b, const char *name, int number)
{
    struct kube_event event;
    struct err err;
    char line[512];
    int len =
        snprintf(line, sizeof(line),
                 "{\"type\":\"ADDED\",\"object\":{\"metadata\":{\"namespace\":\"default\","
                 "\"name\":\"%s\",\"resourceVersion\":\"1\"},\"spec\":{\"clusterIP\":"
                 "\"10.%d.%d.%d\",\"ports\":[{\"name\":\"http\",\"port\":80,\"protocol\":\"TCP\"}]}"
                 "}}",
                 name, number >> 16 & 255, number >> 8 & 255, number & 255);
    if (kube_decode_event(KUBE_JSON, KUBE_SERVICE, slice_of(line, (size_t)len), &event, &err) < 0) {
        bench_fail("service", err.msg);
    }
    inventory_upsert(b->inventory, event.object);
    event.object = NULL;
    kube_event_fini(&event);
}

static void bench_etcd_on_owner_changed(void *data, struct slice owner)
{
    reconciler_owner_changed(((struct bench *)data)->reconciler, owner);
}

static void bench_etcd_on_check(struct ev_loop *loop, ev_timer *w, int events)
{
    const struct bench *b = w->data;
    (void)events;
    if (reconciler_has_synced(b->reconciler)) {
        ev_break(loop, EVBREAK_ALL);
    }
}

static void bench_reconciler(struct bench *b)
{
    struct outage outage;
    outage_init(&outage, b->loop, "etcd", CALL_TIMEOUT_MS, "etcd is overdue");
    b->inventory = inventory_new(
        &(struct inventory_config){.changed = bench_etcd_on_owner_changed, .data = b});
    b->reconciler = reconciler_start(&(struct reconciler_config){
        .loop = b->loop,
        .etcd = b->etcd,
        .inventory = b->inventory,
        .outage = &outage,
        .domain = "cluster.local.",
        .ttl_s = 30,
        .txn_ops_max = ETCD_TXN_OPS_MAX,
        .no_reverse = true, /* as many keys as the plain loop */
    });
    inventory_want(b->inventory, KUBE_POD, false);
    inventory_list_begin(b->inventory, KUBE_ENDPOINTS);
    inventory_list_end(b->inventory, KUBE_ENDPOINTS);
    inventory_list_begin(b->inventory, KUBE_SERVICE);
    bench_etcd_add_service(b, "kubernetes", 1);
    for (int number = 1; number < KEYS / 2; number++) {
        char name[32];
        (void)snprintf(name, sizeof(name), "svc-%06d", number);
        bench_etcd_add_service(b, name, number + 1);
    }
    inventory_list_end(b->inventory, KUBE_SERVICE);

    ev_timer_init(&b->timer, bench_etcd_on_check, 0.001, 0.001);
    b->timer.data = b;
    ev_timer_start(b->loop, &b->timer);
    bench_etcd_start_clock(b);
    ev_run(b->loop, 0);
    double seconds = elapsed_s(b);
    if (reconciler_get_stats(b->reconciler).keys_written != KEYS) {
        bench_fail("reconciler", "not as many keys written as wanted");
    }
    printf("reconciler_cpu_us_per_key %.3f\nreconciler_keys_per_s %.0f\n", used_cpu_us(b) / KEYS,
           KEYS / seconds);
    reconciler_stop(b->reconciler);
    inventory_free(b->inventory);
    outage_fini(&outage);
}

static void bench_etcd_run(struct bench *b, const char *mode)
{
    static const struct {
        const char *name;
        void (*run)(struct bench *b);
    } modes[] = {{"puts", bench_puts},
                 {"txns", bench_txns},
                 {"mirror", bench_mirror},
                 {"events", bench_events},
                 {"idle", bench_idle},
                 {"restarts", bench_restarts},
                 {"reconciler", bench_reconciler}};
    for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
        if (strcmp(mode, modes[i].name) == 0) {
            modes[i].run(b);
            return;
        }
    }
    bench_fail(mode, "no such mode");
}

int main(int argc, char **argv)
{
    struct bench b = {.loop = ev_default_loop(0)};
    if (argc != 3 && argc != 4) {
        bench_fail("usage", "bench_etcd URL puts|txns|mirror|events|idle|restarts|reconciler [CA]");
    }
    const struct etcd_config config = {.loop = b.loop,
                                       .endpoints = argv[1],
                                       .call_timeout_ms = CALL_TIMEOUT_MS,
                                       .tls.ca = argv[3]}; /* NULL if there is none */
    b.etcd = bench_etcd_new(&config);
    bench_etcd_run(&b, argv[2]);
    etcd_mirror_stop(b.mirror);
    etcd_free(b.etcd);
    free(b.pairs);
    return 0;
}
