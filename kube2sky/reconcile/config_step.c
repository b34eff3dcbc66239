#include "kube2sky/reconcile/config_step_internal.h"

#include "kube2sky/naming/config_document.h"

/* Of a request's 1.5 MiB: one half of what a plan's batch may take for the keys, with their
 * conditions, and as much for a document beside them. */
enum { PART_BYTES_MAX = PLAN_BATCH_BYTES_MAX / 2 };

void config_step_init(struct config_step *step)
{
    *step = (struct config_step){.has_document = false};
    plan_init(&step->ops);
    buf_init(&step->document, CONFIG_DOCUMENT_MAX);
}

void config_step_fini(struct config_step *step)
{
    plan_fini(&step->ops);
    buf_fini(&step->document);
}

void config_step_add_document(const struct config_keys *keys, struct slice document_key,
                              const struct buf *text, struct plan *plan)
{
    const struct etcd_op op = {
        .kind = text->len ? ETCD_OP_PUT : ETCD_OP_DELETE,
        .key = document_key,
        .value = buf_slice(text),
    };
    plan_add(plan, &op, keys->document_revision);
}

/* As many of the plan's operations as fit, from one on. Returns how many. */
static size_t add_keys(const struct plan *plan, size_t from, size_t max, struct config_step *step)
{
    size_t count = 0, bytes = 0;
    for (size_t i = from; i < plan->op_count && count < max; i++) {
        struct etcd_op op = plan_get(plan, i);
        bytes += 2 * op.key.len + op.value.len;
        if (count > 0 && bytes > PART_BYTES_MAX) {
            break;
        }
        plan_add(&step->ops, &op, plan->ops[i].revision);
        count++;
    }
    return count;
}

/* Of a plan too large for one transaction. */
static void choose_part(const struct config_keys *keys, const struct config_plan *plan,
                        size_t key_max, struct config_step *step)
{
    plan_build_nothing(&step->ops);
    if (!plan->has_unlisted) {
        (void)add_keys(&plan->keys, 0, key_max, step);
        return;
    }
    config_keys_announce(keys, plan, &step->document);
    step->has_document = !step->document.failed;
    if (!step->has_document) { /* an earlier list is not worked off: its deletes first */
        buf_clear(&step->document);
        (void)add_keys(&plan->keys, plan->keys.put_count, key_max, step);
    }
}

void config_step_choose(const struct config_keys *keys, const struct config_plan *plan,
                        struct slice document_key, size_t ops_max, struct config_step *step)
{
    size_t key_max = ops_max > 1 ? ops_max - 1 : 1; /* one for the document or its condition */
    bool is_small = plan->document.len <= PART_BYTES_MAX || !plan->keys.op_count;
    plan_build_nothing(&step->ops);
    buf_clear(&step->document);
    step->has_document = false;
    bool fits = is_small && plan->keys.op_count + plan->is_document_due <= ops_max &&
                plan->keys.op_count <= key_max &&
                add_keys(&plan->keys, 0, key_max, step) == plan->keys.op_count;
    if (!fits) {
        choose_part(keys, plan, key_max, step);
    } else if (plan->is_document_due) {
        buf_append_slice(&step->document, buf_slice(&plan->document));
        step->has_document = true;
    }
    if (step->has_document) {
        config_step_add_document(keys, document_key, &step->document, &step->ops);
    }
}
