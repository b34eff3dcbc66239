#include "kube2sky/plan.h"

#include <stdlib.h>

#include "common/xalloc.h"

/* What protobuf adds to an operation's key and value: tags and lengths of four nested messages. */
enum { OP_OVERHEAD = 32 };

/* More than the largest desired set; offsets fit 32 bits. */
enum { PLAN_BYTES_MAX = 256 * 1024 * 1024 };

void plan_init(struct plan *plan)
{
    *plan = (struct plan){.ops = NULL};
    buf_init(&plan->bytes, PLAN_BYTES_MAX);
}

void plan_fini(struct plan *plan)
{
    buf_fini(&plan->bytes);
    free(plan->ops);
    *plan = (struct plan){.ops = NULL};
}

void plan_build_nothing(struct plan *plan)
{
    buf_clear(&plan->bytes);
    plan->op_count = 0;
    plan->put_count = 0;
}

/* Past the limit nothing is added: the buffer's failure is sticky. */
static void add_op(struct plan *plan, const struct etcd_op *op)
{
    size_t at = plan->bytes.len;
    buf_append_slice(&plan->bytes, op->key);
    buf_append_slice(&plan->bytes, op->value);
    if (plan->bytes.failed) {
        plan->bytes.len = at;
        return;
    }
    if (plan->op_count == plan->cap) {
        plan->cap = plan->cap ? plan->cap * 2 : 16;
        plan->ops = xrealloc_array(plan->ops, plan->cap, sizeof(*plan->ops));
    }
    plan->ops[plan->op_count++] = (struct plan_op){
        .kind = op->kind,
        .key_at = (uint32_t)at,
        .key_len = (uint32_t)op->key.len,
        .value_len = (uint32_t)op->value.len,
    };
    plan->put_count += op->kind == ETCD_OP_PUT;
}

/* Moves *at to the first key that does not sort before the suffix. */
static const struct actual_key *advance(const struct actual_keys *actual, size_t *at,
                                        struct slice suffix)
{
    while (*at < actual->count && slice_compare(actual_suffix(&actual->keys[*at]), suffix) < 0) {
        (*at)++;
    }
    bool is_there = *at < actual->count && slice_equal(actual_suffix(&actual->keys[*at]), suffix);
    return is_there ? &actual->keys[*at] : NULL;
}

static struct slice suffix_of(const struct desired_record *record, struct slice base)
{
    return slice_of(record->key.ptr + base.len, record->key.len - base.len);
}

static void plan_puts(const struct desired *desired, struct slice base,
                      const struct actual_keys *actual, struct plan *plan)
{
    size_t at = 0;
    for (size_t i = 0; i < desired->count; i++) {
        struct desired_record record = desired_get(desired, i);
        const struct actual_key *key = advance(actual, &at, suffix_of(&record, base));
        if (!key || key->value_hash != actual_value_hash(record.value)) {
            add_op(plan, &(struct etcd_op){
                             .kind = ETCD_OP_PUT,
                             .key = record.key,
                             .value = record.value,
                         });
        }
    }
}

static void plan_deletes(const struct desired *desired, struct slice base,
                         const struct actual_keys *actual, struct plan *plan)
{
    struct buf key;
    size_t next = 0;
    buf_init(&key, PLAN_BYTES_MAX);
    buf_append_slice(&key, base);
    for (size_t at = 0; at < actual->count; at++) {
        struct slice suffix = actual_suffix(&actual->keys[at]);
        int d = 1; /* 0: the first desired key not before this one is this one */
        for (; next < desired->count; next++) {
            struct desired_record record = desired_get(desired, next);
            d = slice_compare(suffix_of(&record, base), suffix);
            if (d >= 0) {
                break;
            }
        }
        if (d != 0) {
            key.len = base.len;
            buf_append_slice(&key, suffix);
            add_op(plan, &(struct etcd_op){.kind = ETCD_OP_DELETE, .key = buf_slice(&key)});
        }
    }
    buf_fini(&key);
}

void plan_build(const struct desired *desired, struct slice base, const struct actual_keys *actual,
                struct plan *ret_plan)
{
    plan_build_nothing(ret_plan);
    plan_puts(desired, base, actual, ret_plan);
    plan_deletes(desired, base, actual, ret_plan);
}

struct etcd_op plan_get(const struct plan *plan, size_t index)
{
    const struct plan_op *op = &plan->ops[index];
    const uint8_t *key = plan->bytes.data + op->key_at;
    return (struct etcd_op){
        .kind = op->kind,
        .key = slice_of(key, op->key_len),
        .value = slice_of(key + op->key_len, op->value_len),
    };
}

/* ---- Transactions ---- */

void plan_batch_init(struct plan_batch *batch)
{
    plan_init(&batch->plan);
    batch->size = 0;
}

void plan_batch_fini(struct plan_batch *batch)
{
    plan_fini(&batch->plan);
}

void plan_batch_clear(struct plan_batch *batch)
{
    plan_build_nothing(&batch->plan);
    batch->size = 0;
}

static size_t op_size(const struct plan_op *op)
{
    return (size_t)op->key_len + op->value_len + OP_OVERHEAD;
}

/* The end of the operations, counted from `from`, that fit into what is left of the batch. */
static size_t fitting_end(const struct plan_batch *batch, const struct plan *plan, size_t from)
{
    size_t size = batch->size, at = from;
    while (at < plan->op_count && batch->plan.op_count + at - from < ETCD_TXN_OPS_MAX) {
        size += op_size(&plan->ops[at]);
        if (size > PLAN_BATCH_BYTES_MAX) {
            break;
        }
        at++;
    }
    return at;
}

static void copy_ops(struct plan_batch *batch, const struct plan *plan, size_t from, size_t end)
{
    for (size_t i = from; i < end; i++) {
        struct etcd_op op = plan_get(plan, i);
        add_op(&batch->plan, &op);
        batch->size += op_size(&plan->ops[i]);
    }
}

enum plan_fit plan_batch_add(struct plan_batch *batch, const struct plan *plan, size_t *from)
{
    size_t end = fitting_end(batch, plan, *from);
    if (end < plan->op_count && batch->plan.op_count) {
        return PLAN_FITS_NOT;
    }
    if (end == *from) {
        end++; /* one operation over the limit is etcd's to judge */
    }
    copy_ops(batch, plan, *from, end);
    *from = end;
    return end == plan->op_count ? PLAN_FITS_WHOLE : PLAN_FITS_PARTLY;
}

size_t plan_batch_ops(const struct plan_batch *batch, struct etcd_op *ret_ops)
{
    for (size_t i = 0; i < batch->plan.op_count; i++) {
        ret_ops[i] = plan_get(&batch->plan, i);
    }
    return batch->plan.op_count;
}
