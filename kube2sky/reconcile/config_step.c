#include "kube2sky/reconcile/config_step_internal.h"

#include "kube2sky/naming/config_document.h"
#include "kube2sky/reconcile/contest_internal.h"

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

/* A few keys may be written twice because of failed conditions. */
enum { SLACK = 16 };

void config_rest_end(struct config_rest *rest, int64_t now_ms)
{
    if (rest->is_restoring) {
        rest->is_restoring = false;
        rest->restorations++;
        rest->calm_at_ms = now_ms + contest_limits.calm_ms + 3 * (int64_t)rest->last_ms;
    }
    rest->written = 0;
}

void config_rest_interrupt(struct config_rest *rest)
{
    rest->is_restoring = false;
    rest->written = 0;
}

static uint32_t length_ms(const struct config_rest *rest)
{
    uint64_t ms = contest_limits.rest_first_ms;
    for (unsigned i = CONTEST_FREE; i < rest->restorations && ms < contest_limits.rest_max_ms;
         i++) {
        ms *= 2;
    }
    return ms < contest_limits.rest_max_ms ? (uint32_t)ms : contest_limits.rest_max_ms;
}

uint32_t config_rest_before(struct config_rest *rest, bool is_settled, size_t keys, int64_t now_ms)
{
    if (rest->written > 2 * keys + SLACK) {
        rest->is_restoring = true;
        config_rest_end(rest, now_ms);
        is_settled = true;
    }
    if (!is_settled || rest->is_restoring) {
        return 0;
    }
    if (now_ms >= rest->calm_at_ms) {
        rest->restorations = 0;
        rest->last_ms = 0;
    }
    rest->is_restoring = true;
    if (rest->restorations < CONTEST_FREE) {
        return 0;
    }
    rest->last_ms = length_ms(rest);
    return rest->last_ms;
}

bool config_rest_is_contested(const struct config_rest *rest, int64_t now_ms)
{
    return rest->restorations >= CONTEST_FREE && now_ms < rest->calm_at_ms;
}
