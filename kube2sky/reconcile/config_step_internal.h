/* The next transaction for the ConfigMap's keys: all of a plan if it fits, else the list of what is
 * to come, then keys, and in the end the list of what is there. Each is chosen from a plan made
 * after the last one landed, so that nothing has to be remembered in between. PURE. */
#ifndef KUBE2SKY_RECONCILE_CONFIG_STEP_INTERNAL_H
#define KUBE2SKY_RECONCILE_CONFIG_STEP_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/buf.h"
#include "common/base/slice.h"
#include "kube2sky/reconcile/config_keys_internal.h"
#include "kube2sky/reconcile/plan.h"

struct config_step {
    struct plan ops;     /* the document's, if any, is the last one */
    struct buf document; /* as the step writes it; empty: deletes it */
    bool has_document;
};

void config_step_init(struct config_step *step);
void config_step_fini(struct config_step *step);

/* The plan is not empty; ops_max, at least 1, is for keys and document. */
void config_step_choose(const struct config_keys *keys, const struct config_plan *plan,
                        struct slice document_key, size_t ops_max, struct config_step *step);

/* Adds the operation that makes this text the document, or deletes it if empty. */
void config_step_add_document(const struct config_keys *keys, struct slice document_key,
                              const struct buf *text, struct plan *plan);

/* How long to rest before the ConfigMap's keys are restored, because somebody else keeps changing
 * them: the rules of contest_internal.h for an owner without objects. A restoration begins with the
 * first plan that is not empty after an empty one although nothing else was wanted, and ends with
 * the next empty one. PURE. */

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
