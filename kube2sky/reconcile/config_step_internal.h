/* The next transaction for the ConfigMap's keys: all of a plan if it fits, else the list of what is
 * to come, then keys, and in the end the list of what is there. Each is chosen from a plan made
 * after the last one landed, so that nothing has to be remembered in between. PURE. */
#ifndef KUBE2SKY_RECONCILE_CONFIG_STEP_INTERNAL_H
#define KUBE2SKY_RECONCILE_CONFIG_STEP_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>

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

#endif
