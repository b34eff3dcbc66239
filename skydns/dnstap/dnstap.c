#include "skydns/dnstap/dnstap.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "common/base/backoff.h"
#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/base/metrics.h"
#include "common/base/threads.h"
#include "common/base/version.h"
#include "common/base/xalloc.h"
#include "skydns/dnstap/dnstap_frame_internal.h"
#include "skydns/dnstap/dnstap_link_internal.h"
#include "skydns/dnstap/dnstap_queue_internal.h"

enum {
    /* Pause between two rounds while messages come. Waking the sender costs a producer a system
     * call, no more than 500 times a second; at 20 MB/s a queue is 4 % full by then. */
    NAP_MS = 2,
    AWAY_FIRST_MS = 100,
    SENDER_NICE = 5, /* threads that answer go first */
};

struct dnstap {
    uint64_t number; /* no other one in this process has it */
    struct dnstap_head head;
    struct dnstap_link link;
    pthread_t thread;
    bool is_started;

    _Atomic unsigned claimed; /* of the queues */
    _Atomic(struct dnstap_queue *) queues[DNSTAP_THREADS_MAX];
    _Atomic bool is_asleep;    /* the sender: wake it */
    _Atomic uint64_t homeless; /* messages of threads without a queue */

    /* Fields of the sender. */
    struct backoff backoff;
    bool is_away_told;
    _Atomic bool is_connected;
    struct counter written;
    struct counter lost; /* with a connection, or at the end */
};

/* Remembers this thread's queue, and the number of the dnstap that it belongs to. */
static _Thread_local struct {
    uint64_t number;
    struct dnstap_queue *queue; /* NULL: there were no more */
} own;

/* ---- Threads that answer ---- */

NOINLINE static void claim_queue(struct dnstap *d)
{
    unsigned i = atomic_fetch_add_explicit(&d->claimed, 1, memory_order_relaxed);
    own.number = d->number;
    own.queue = NULL;
    if (i < DNSTAP_THREADS_MAX) {
        own.queue = dnstap_queue_new();
        atomic_store_explicit(&d->queues[i], own.queue, memory_order_release);
    }
}

void dnstap_show(struct dnstap *d, const struct dnstap_event *event)
{
    if (own.number != d->number) {
        claim_queue(d);
    }
    if (!own.queue) {
        atomic_fetch_add_explicit(&d->homeless, 1, memory_order_relaxed);
        return;
    }
    uint8_t *frame = dnstap_queue_begin(own.queue, dnstap_frame_max(&d->head, event));
    if (!frame) {
        return;
    }
    dnstap_queue_commit(own.queue, frame, dnstap_frame_write(&d->head, event, frame));
    if (atomic_load_explicit(&d->is_asleep, memory_order_seq_cst) &&
        atomic_exchange_explicit(&d->is_asleep, false, memory_order_seq_cst)) {
        dnstap_link_wake(&d->link);
    }
}

int64_t dnstap_now_ns(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_REALTIME, &now); /* cannot fail */
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* ---- The sender ---- */

static struct dnstap_queue *queue_of(const struct dnstap *d, unsigned i)
{
    return atomic_load_explicit(&d->queues[i], memory_order_acquire);
}

static void dnstap_report_outage(struct dnstap *d, const struct err *err)
{
    static struct log_limit limit = {.burst = 10};
    char text[DNSTAP_TARGET_TEXT_MAX];
    if (!d->is_away_told && log_limit_pass(&limit)) {
        log_warn("dnstap's sink is away, trying again",
                 LOG_STR("sink", dnstap_target_format(&d->link.target, text)),
                 LOG_STR("reason", err->msg));
        d->is_away_told = true;
    }
    atomic_store_explicit(&d->is_connected, false, memory_order_relaxed);
}

static void tell_there(struct dnstap *d)
{
    static struct log_limit limit = {.burst = 10};
    char text[DNSTAP_TARGET_TEXT_MAX];
    if (log_limit_pass(&limit)) {
        log_info("dnstap's sink is there",
                 LOG_STR("sink", dnstap_target_format(&d->link.target, text)));
        d->is_away_told = false;
    }
    atomic_store_explicit(&d->is_connected, true, memory_order_relaxed);
}

static bool connect_once(struct dnstap *d)
{
    struct err err;
    if (dnstap_link_open(&d->link, &err) < 0) {
        dnstap_report_outage(d, &err);
        return false;
    }
    tell_there(d);
    return true;
}

/* Sends the frames of one sendmsg of one queue. Returns how many; negative: the sink is away. */
static int dnstap_send_some(struct dnstap *d, struct dnstap_queue *queue)
{
    struct slice frames[DNSTAP_LINK_FRAMES_MAX];
    struct err err;
    uint64_t end;
    size_t count = dnstap_queue_peek(queue, frames, DNSTAP_LINK_FRAMES_MAX, &end);
    if (count == 0) {
        return 0;
    }
    int r = dnstap_link_send(&d->link, frames, count, &err);
    dnstap_queue_drop(queue, end);
    counter_add(r == 0 ? &d->written : &d->lost, count);
    if (r < 0) {
        dnstap_report_outage(d, &err);
        return r;
    }
    backoff_reset(&d->backoff);
    return (int)count;
}

/* Sends from each queue in turn, until all are empty or the sink is away. Returns true if there was
 * something. */
static bool dnstap_drain(struct dnstap *d)
{
    bool had_any = false, has_more = true;
    while (has_more) {
        has_more = false;
        for (unsigned i = 0; i < DNSTAP_THREADS_MAX && dnstap_link_is_open(&d->link); i++) {
            struct dnstap_queue *queue = queue_of(d, i);
            has_more |= queue && dnstap_send_some(d, queue) > 0;
        }
        had_any |= has_more;
    }
    return had_any;
}

static bool is_empty(const struct dnstap *d)
{
    bool result = true;
    for (unsigned i = 0; i < DNSTAP_THREADS_MAX && result; i++) {
        const struct dnstap_queue *queue = queue_of(d, i);
        result = !queue || dnstap_queue_is_empty(queue);
    }
    return result;
}

static void dnstap_wait_for_messages(struct dnstap *d, int timeout_ms)
{
    struct err err;
    if (dnstap_link_rest(&d->link, timeout_ms, &err) < 0) {
        dnstap_report_outage(d, &err);
    }
}

/* Sleeps until woken: either it sees the last message, or the thread that queued that sees it
 * asleep. */
static void sleep_until_woken(struct dnstap *d)
{
    atomic_store_explicit(&d->is_asleep, true, memory_order_seq_cst);
    if (is_empty(d)) {
        dnstap_wait_for_messages(d, -1);
    }
    atomic_store_explicit(&d->is_asleep, false, memory_order_seq_cst);
}

static void *dnstap_run(void *arg)
{
    struct dnstap *d = arg;
    (void)pthread_setname_np(pthread_self(), "dnstap"); /* for top and gdb only */
    low_priority_thread(SENDER_NICE);
    while (!dnstap_link_is_stopping(&d->link)) {
        if (!dnstap_link_is_open(&d->link) && !connect_once(d)) {
            dnstap_wait_for_messages(d, (int)backoff_next_ms(&d->backoff, backoff_random()));
        } else if (dnstap_drain(d)) {
            dnstap_wait_for_messages(d, NAP_MS);
        } else if (dnstap_link_is_open(&d->link)) {
            sleep_until_woken(d);
        }
    }
    if (dnstap_link_is_open(&d->link) || (!is_empty(d) && connect_once(d))) {
        (void)dnstap_drain(d); /* what is left is counted */
    }
    dnstap_link_close(&d->link);
    atomic_store_explicit(&d->is_connected, false, memory_order_relaxed);
    return NULL;
}

/* ---- Lifecycle ---- */

int dnstap_new(const struct dnstap_target *target, struct dnstap **ret_dnstap, struct err *err)
{
    static _Atomic uint64_t numbers;
    char host[DNSTAP_HEAD_TEXT_MAX + 1] = "";
    struct dnstap *d = xcalloc(1, sizeof(*d));
    int r = dnstap_link_init(&d->link, target, err);
    if (r < 0) {
        free(d);
        return r;
    }
    if (gethostname(host, sizeof(host) - 1) < 0) {
        host[0] = '\0'; /* without an identity */
    }
    dnstap_head_init(&d->head, slice_str(host), slice_str(version_string));
    d->number = 1 + atomic_fetch_add_explicit(&numbers, 1, memory_order_relaxed);
    backoff_init(&d->backoff, AWAY_FIRST_MS, DNSTAP_AWAY_MAX_MS);
    *ret_dnstap = d;
    return 0;
}

void dnstap_free(struct dnstap *d)
{
    if (d) {
        for (unsigned i = 0; i < DNSTAP_THREADS_MAX; i++) {
            dnstap_queue_free(queue_of(d, i));
        }
        dnstap_link_fini(&d->link);
        free(d);
    }
}

int dnstap_start(struct dnstap *d, struct err *err)
{
    int r = -pthread_create(&d->thread, NULL, dnstap_run, d);
    if (r < 0) {
        return err_set(err, r, "start dnstap: %s", err_code_text(r));
    }
    d->is_started = true;
    return 0;
}

/* Drops and counts messages that will not be sent any more. */
static void dnstap_drop_rest(struct dnstap *d)
{
    struct slice frames[DNSTAP_LINK_FRAMES_MAX];
    uint64_t end;
    size_t count;
    for (unsigned i = 0; i < DNSTAP_THREADS_MAX; i++) {
        struct dnstap_queue *queue = queue_of(d, i);
        while (queue && (count = dnstap_queue_peek(queue, frames, DNSTAP_LINK_FRAMES_MAX, &end))) {
            dnstap_queue_drop(queue, end);
            counter_add(&d->lost, count);
        }
    }
}

void dnstap_stop(struct dnstap *d, int64_t timeout_ms)
{
    if (!d->is_started) {
        return;
    }
    dnstap_link_stop(&d->link, clock_monotonic_ms() + timeout_ms);
    (void)pthread_join(d->thread, NULL); /* cannot fail for a thread of ours */
    d->is_started = false;
    dnstap_drop_rest(d);
    const struct dnstap_counts counts = dnstap_counts(d);
    log_info("dnstap stopped", LOG_INT("written", (int64_t)counts.written),
             LOG_INT("dropped", (int64_t)counts.dropped));
}

struct dnstap_counts dnstap_counts(const struct dnstap *d)
{
    struct dnstap_counts sums = {.is_connected = false};
    if (!d) {
        return sums;
    }
    sums.is_connected = atomic_load_explicit(&d->is_connected, memory_order_relaxed);
    sums.written = counter_get(&d->written);
    sums.dropped = counter_get(&d->lost) + atomic_load_explicit(&d->homeless, memory_order_relaxed);
    for (unsigned i = 0; i < DNSTAP_THREADS_MAX; i++) {
        const struct dnstap_queue *queue = queue_of(d, i);
        sums.dropped += queue ? counter_get(&queue->dropped) : 0;
    }
    return sums;
}

/* ---- The flag ---- */

static const char unix_prefix[] = "unix:", tcp_prefix[] = "tcp://";

static bool dnstap_has_prefix(const char *text, const char *prefix)
{
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

static int parse_unix(const char *text, struct dnstap_target *target, struct err *err)
{
    const char *path = text + strlen(unix_prefix);
    size_t len = strlen(path);
    if (*path != '/' || path[len - 1] == '/') {
        return err_set(err, ERR_USAGE,
                       "`%s`: expected the absolute path of a socket, like unix:/run/dnstap.sock",
                       text);
    }
    if (len >= sizeof(target->unix_path.sun_path)) {
        return err_set(err, ERR_USAGE, "`%s`: expected a path of at most %zu bytes", text,
                       sizeof(target->unix_path.sun_path) - 1);
    }
    target->is_unix = true;
    target->unix_path.sun_family = AF_UNIX;
    memcpy(target->unix_path.sun_path, path, len + 1);
    return 0;
}

static int parse_tcp(const char *text, struct dnstap_target *target, struct err *err)
{
    struct err reason;
    if (addr_parse(text + strlen(tcp_prefix), &target->address, &reason) < 0) {
        return err_set(err, ERR_USAGE,
                       "`%s`: expected tcp://IP:port, like tcp://127.0.0.1:6000, port 1-65535",
                       text);
    }
    return 0;
}

int dnstap_target_parse(const char *text, struct dnstap_target *ret_target, struct err *err)
{
    struct dnstap_target target = {.is_set = *text != '\0'};
    int r = 0;
    if (dnstap_has_prefix(text, unix_prefix)) {
        r = parse_unix(text, &target, err);
    } else if (dnstap_has_prefix(text, tcp_prefix)) {
        r = parse_tcp(text, &target, err);
    } else if (target.is_set) {
        r = err_set(err, ERR_USAGE, "`%s`: expected unix:PATH or tcp://IP:port", text);
    }
    if (r == 0) {
        *ret_target = target;
    }
    return r;
}

const char *dnstap_target_format(const struct dnstap_target *target,
                                 char out[DNSTAP_TARGET_TEXT_MAX])
{
    char address[ADDR_TEXT_MAX];
    *out = '\0';
    if (target->is_set) {
        (void)snprintf(out, DNSTAP_TARGET_TEXT_MAX, "%s%s",
                       target->is_unix ? unix_prefix : tcp_prefix,
                       target->is_unix ? target->unix_path.sun_path
                                       : addr_format(&target->address, address)); /* fits */
    }
    return out;
}
