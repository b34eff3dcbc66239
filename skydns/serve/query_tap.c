#include "skydns/serve/query_tap.h"

#include "skydns/serve/query_counts.h"

void query_tap_init(struct query_tap *tap)
{
    atomic_init(&tap->is_on, false);
    atomic_init(&tap->rule, 0);
}

void query_tap_set_log(struct query_tap *tap, struct query_log_rule rule)
{
    uint64_t word = (uint64_t)rule.mode << 32 | rule.every;
    atomic_store_explicit(&tap->rule, word, memory_order_relaxed);
    atomic_store_explicit(&tap->is_on, rule.mode != QUERY_LOG_OFF, memory_order_relaxed);
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
    if (query_log_wants(log_rule(tap), seen) && !query_log_write(seen)) {
        counter_add(&counts->log_dropped, 1);
    }
}
