#include "tests/bench/updates/hooks.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "skydns/records/store_pool_internal.h"

/* Versions with a remembered time of publication: six seconds' worth at 10,000 a second, while a
 * batch takes milliseconds at worst. */
enum { PUBLISHED_CACHED = 1 << 16 };

static _Atomic int phase;
static _Atomic unsigned worker_count;
static struct batch_times times[HOOKS_WORKERS_MAX][PHASES];

static _Atomic uint64_t newest_serial;
static _Atomic uint64_t published_ns[PUBLISHED_CACHED];

/* The main thread's own. Garbage is freed in the order in which it was published. */
static uint64_t retired_ns[PUBLISHED_CACHED];
static uint64_t retired, freed;
static struct fine_histogram cached;

static _Thread_local uint64_t allocated_bytes, allocations;

/* A worker's thread. */
static _Thread_local struct batch_times *mine;                   /* [PHASES] */
static _Thread_local uint64_t received_wall_ns, received_cpu_ns; /* wall 0: already sent */
static _Thread_local uint64_t seen_serial;
static _Thread_local unsigned received;

int __real_recvmmsg(int fd, struct mmsghdr *messages, unsigned count, int flags,
                    struct timespec *timeout);
int __real_sendmmsg(int fd, struct mmsghdr *messages, unsigned count, int flags);
const struct store *__real_publisher_enter(struct publisher_reader *reader);
void __real_store_garbage_free(struct store_garbage *garbage);
void *__real_malloc(size_t size);
void *__real_store_pool_alloc(struct store_pool *pool, size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *block, size_t size);

int __wrap_recvmmsg(int fd, struct mmsghdr *messages, unsigned count, int flags,
                    struct timespec *timeout);
int __wrap_sendmmsg(int fd, struct mmsghdr *messages, unsigned count, int flags);
const struct store *__wrap_publisher_enter(struct publisher_reader *reader);
void __wrap_store_garbage_free(struct store_garbage *garbage);
void *__wrap_malloc(size_t size);
void *__wrap_store_pool_alloc(struct store_pool *pool, size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *block, size_t size);

void hooks_init(void)
{
    for (size_t i = 0; i < PUBLISHED_CACHED; i++) {
        atomic_store_explicit(&published_ns[i], 1, memory_order_relaxed);
        retired_ns[i] = 1;
    }
}

/* ---- A worker's batch ---- */

static struct batch_times *hooks_take_place(void)
{
    unsigned number = atomic_fetch_add(&worker_count, 1);
    if (number >= HOOKS_WORKERS_MAX) {
        (void)fprintf(stderr, "bench_updates: too many workers\n");
        abort();
    }
    return times[number];
}

int __wrap_recvmmsg(int fd, struct mmsghdr *messages, unsigned count, int flags,
                    struct timespec *timeout)
{
    if (!mine) {
        mine = hooks_take_place();
    }
    int n = __real_recvmmsg(fd, messages, count, flags, timeout);
    received = n > 0 ? (unsigned)n : 0;
    /* The slow clock outermost, so that the fast one does not include it. */
    received_cpu_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
    received_wall_ns = clock_ns(CLOCK_MONOTONIC);
    return n;
}

const struct store *__wrap_publisher_enter(struct publisher_reader *reader)
{
    const struct store *store = __real_publisher_enter(reader);
    seen_serial = store ? store_serial(store) : 0;
    return store;
}

static void note_batch(void)
{
    uint64_t wall_ns = clock_ns(CLOCK_MONOTONIC);
    uint64_t cpu_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
    struct batch_times *t = &mine[atomic_load_explicit(&phase, memory_order_relaxed)];
    uint64_t newest = atomic_load_explicit(&newest_serial, memory_order_acquire);
    histogram_add(&t->wall, wall_ns - received_wall_ns);
    histogram_add(&t->cpu, cpu_ns - received_cpu_ns);
    t->packets += received;
    if (newest > seen_serial) {
        uint64_t since_ns = atomic_load_explicit(
            &published_ns[(seen_serial + 1) % PUBLISHED_CACHED], memory_order_relaxed);
        histogram_add(&t->old, wall_ns > since_ns ? wall_ns - since_ns : 0);
    }
    received_wall_ns = 0;
}

int __wrap_sendmmsg(int fd, struct mmsghdr *messages, unsigned count, int flags)
{
    if (mine && received_wall_ns) {
        note_batch();
    }
    return __real_sendmmsg(fd, messages, count, flags);
}

int hooks_recvmmsg(int fd, struct mmsghdr *messages, unsigned count, int flags)
{
    return __real_recvmmsg(fd, messages, count, flags, NULL);
}

int hooks_sendmmsg(int fd, struct mmsghdr *messages, unsigned count, int flags)
{
    return __real_sendmmsg(fd, messages, count, flags);
}

void hooks_set_phase(enum hooks_phase now)
{
    atomic_store_explicit(&phase, now, memory_order_relaxed);
}

static void histogram_merge(struct fine_histogram *into, const struct fine_histogram *h)
{
    into->count += h->count;
    into->sum_ns += h->sum_ns;
    into->max_ns = h->max_ns > into->max_ns ? h->max_ns : into->max_ns;
    for (size_t i = 0; i < ARRAY_LEN(h->buckets); i++) {
        into->buckets[i] += h->buckets[i];
    }
}

void hooks_sum(enum hooks_phase which, struct batch_times *ret_times)
{
    *ret_times = (struct batch_times){.packets = 0};
    for (unsigned i = 0; i < atomic_load(&worker_count); i++) {
        const struct batch_times *t = &times[i][which];
        histogram_merge(&ret_times->wall, &t->wall);
        histogram_merge(&ret_times->cpu, &t->cpu);
        histogram_merge(&ret_times->old, &t->old);
        ret_times->packets += t->packets;
    }
}

/* ---- Versions ---- */

void hooks_publishing(const struct store *store, const struct store_garbage *garbage)
{
    uint64_t now_ns = clock_ns(CLOCK_MONOTONIC);
    uint64_t serial = store_serial(store);
    atomic_store_explicit(&published_ns[serial % PUBLISHED_CACHED], now_ns, memory_order_relaxed);
    atomic_store_explicit(&newest_serial, serial, memory_order_release);
    if (garbage) {
        retired_ns[retired++ % PUBLISHED_CACHED] = now_ns;
    }
}

void __wrap_store_garbage_free(struct store_garbage *garbage)
{
    if (garbage) {
        histogram_add(&cached, clock_ns(CLOCK_MONOTONIC) - retired_ns[freed++ % PUBLISHED_CACHED]);
    }
    __real_store_garbage_free(garbage);
}

uint64_t hooks_versions_waiting(void)
{
    return retired - freed;
}

const struct fine_histogram *hooks_versions_cached(void)
{
    return &cached;
}

/* ---- Memory ---- */

static void note_allocation(size_t size)
{
    allocated_bytes += size;
    allocations++;
}

void *__wrap_malloc(size_t size)
{
    note_allocation(size);
    return __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size)
{
    note_allocation(count * size);
    return __real_calloc(count, size);
}

void *__wrap_realloc(void *block, size_t size)
{
    note_allocation(size);
    return __real_realloc(block, size);
}

void *__wrap_store_pool_alloc(struct store_pool *pool, size_t size)
{
    note_allocation(size);
    return __real_store_pool_alloc(pool, size);
}

uint64_t hooks_allocated_bytes(void)
{
    return allocated_bytes;
}

uint64_t hooks_allocations(void)
{
    return allocations;
}
