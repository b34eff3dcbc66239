/* How long to rest before the ConfigMap's keys are restored, because somebody else keeps changing
 * them: the rules of contest_internal.h for an owner without objects. A restoration begins with the
 * first plan that is not empty after an empty one although nothing else was wanted, and ends with
 * the next empty one. PURE. */
#ifndef KUBE2SKY_RECONCILE_CONFIG_REST_INTERNAL_H
#define KUBE2SKY_RECONCILE_CONFIG_REST_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct config_rest {
    unsigned restorations; /* in a row */
    uint32_t last_ms;      /* how long the last rest was */
    int64_t calm_at_ms;    /* monotonic; then they are forgotten */
    bool is_restoring;     /* one has begun */
    size_t written;        /* operations since the last empty plan */
};

/* A plan with something to do: 0, or how long to rest first. is_settled: the one before was empty;
 * keys: how many there are at most. What takes many more operations than that is being changed
 * meanwhile, and counts as restored. */
uint32_t config_rest_before(struct config_rest *rest, bool is_settled, size_t keys, int64_t now_ms);

/* An empty plan. */
void config_rest_end(struct config_rest *rest, int64_t now_ms);

/* Something else is wanted: it is written at once. */
void config_rest_interrupt(struct config_rest *rest);

bool config_rest_is_contested(const struct config_rest *rest, int64_t now_ms);

#endif
