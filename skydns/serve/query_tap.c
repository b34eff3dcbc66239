#include "skydns/serve/query_tap.h"

#include "skydns/serve/name_samples.h"

void query_tap_init(struct query_tap *tap, struct name_samples *samples)
{
    atomic_init(&tap->watched, 0);
    atomic_init(&tap->rule, 0);
    tap->samples = samples;
}

static void set_watched(struct query_tap *tap, unsigned bit, bool is_set)
{
    if (is_set) {
        (void)atomic_fetch_or_explicit(&tap->watched, bit, memory_order_relaxed);
    } else {
        (void)atomic_fetch_and_explicit(&tap->watched, ~bit, memory_order_relaxed);
    }
}

void query_tap_set_log(struct query_tap *tap, struct query_log_rule rule)
{
    uint64_t word = (uint64_t)rule.mode << 32 | rule.every;
    atomic_store_explicit(&tap->rule, word, memory_order_relaxed);
    set_watched(tap, QUERY_TAP_ALL, rule.mode != QUERY_LOG_OFF);
}

void query_tap_set_sampling(struct query_tap *tap, bool is_sampling)
{
    set_watched(tap, QUERY_TAP_SAMPLES, is_sampling);
}

/* Of one in QUERY_TAP_SAMPLE_OF, whatever else is watched. */
static void sample(const struct query_tap *tap, struct query_counts *counts,
                   const struct query_seen *seen)
{
    unsigned watched = atomic_load_explicit(&tap->watched, memory_order_relaxed);
    if (watched == QUERY_TAP_SAMPLES ||
        (watched & QUERY_TAP_SAMPLES && ++counts->sampled % QUERY_TAP_SAMPLE_OF == 0)) {
        name_samples_put(tap->samples, seen->reply, seen->reply_len);
    }
}

static struct query_log_rule log_rule(const struct query_tap *tap)
{
    uint64_t word = atomic_load_explicit(&tap->rule, memory_order_relaxed);
    return (struct query_log_rule){.mode = (enum query_log_mode)(word >> 32),
                                   .every = (uint32_t)word};
}

void query_tap_show(const struct query_tap *tap, struct query_counts *counts,
                    const struct query_seen *seen)
{
    sample(tap, counts, seen);
    if (query_log_wants(log_rule(tap), seen) && !query_log_write(seen)) {
        counter_add(&counts->log_dropped, 1);
    }
}
