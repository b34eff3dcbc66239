#include "kube2sky/reconcile/plan.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/xalloc.h"

/* protobuf's overhead per operation and per condition: tags and lengths of nested messages, and a
 * condition's revision. */
enum { OP_OVERHEAD = 32, CONDITION_OVERHEAD = 40 };

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
    if (plan->bytes.cap > PLAN_KEPT_BYTES) {
        plan_fini(plan);
        plan_init(plan);
    }
    buf_clear(&plan->bytes);
    plan->op_count = 0;
    plan->put_count = 0;
}

/* Adds the operation, or nothing past the limit: the buffer's failure is sticky. */
void plan_add(struct plan *plan, const struct etcd_op *op, int64_t revision)
{
    size_t at = plan->bytes.len;
    buf_append_slice(&plan->bytes, op->key);
    buf_append_slice(&plan->bytes, op->value);
    if (plan->bytes.failed) {
        plan->bytes.len = at;
        return;
    }
    plan->ops = xgrow_array(plan->ops, plan->op_count, &plan->cap, sizeof(*plan->ops));
    plan->ops[plan->op_count++] = (struct plan_op){
        .revision = revision,
        .kind = op->kind,
        .key_at = (uint32_t)at,
        .key_len = (uint32_t)op->key.len,
        .value_len = (uint32_t)op->value.len,
    };
    plan->put_count += op->kind == ETCD_OP_PUT;
}

void plan_move(struct plan *plan, struct slice prefix, struct plan *to)
{
    size_t kept = 0, kept_puts = 0;
    for (size_t i = 0; i < plan->op_count; i++) {
        struct etcd_op op = plan_get(plan, i);
        if (slice_has_prefix(op.key, prefix)) {
            plan_add(to, &op, plan->ops[i].revision);
        } else {
            kept_puts += op.kind == ETCD_OP_PUT;
            plan->ops[kept++] = plan->ops[i];
        }
    }
    plan->op_count = kept;
    plan->put_count = kept_puts;
}

/* Moves *at to the first key that does not sort before the suffix. Returns that key if it has the
 * suffix, else NULL. */
static const struct actual_key *plan_advance(const struct actual_keys *actual, size_t *at,
                                             struct slice suffix)
{
    const struct actual_key *key = actual_next(actual, at);
    int d = 1;
    for (; key; (*at)++, key = actual_next(actual, at)) {
        d = slice_compare(actual_suffix(key), suffix);
        if (d >= 0) {
            break;
        }
    }
    return d == 0 ? key : NULL;
}

static struct slice suffix_of(const struct desired_record *record, struct slice base)
{
    return slice_skip(record->key, base.len);
}

void plan_place_fini(struct plan_place *place)
{
    free(place->hashes);
    *place = (struct plan_place){0};
}

/* Takes the keys that the place has moved by from the budget. */
static void plan_spend(size_t *budget, size_t keys)
{
    *budget -= keys < *budget ? keys : *budget;
}

bool plan_add_puts(const struct desired *desired, struct slice base,
                   const struct actual_keys *actual, struct plan_place *place, size_t *budget,
                   struct plan *plan)
{
    for (; place->desired < desired->count && *budget; place->desired++) {
        struct desired_record record = desired_get(desired, place->desired);
        size_t from = place->actual;
        const struct actual_key *key =
            plan_advance(actual, &place->actual, suffix_of(&record, base));
        if (!key || key->value.hash != actual_value_hash(record.value)) {
            const struct etcd_op put = {
                .kind = ETCD_OP_PUT,
                .key = record.key,
                .value = record.value,
            };
            plan_add(plan, &put, key ? key->value.revision : 0);
        }
        plan_spend(budget, 1 + place->actual - from);
    }
    return place->desired == desired->count;
}

/* ---- Copies ---- */

static int plan_compare_hashes(const void *a, const void *b)
{
    const uint64_t *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

/* Returns whether a desired value has the hash. */
static bool is_value_desired(struct plan_place *place, const struct desired *desired, uint64_t hash)
{
    if (desired->count == 0) {
        return false;
    }
    if (!place->hashes) {
        place->hashes = xcalloc(desired->count, sizeof(*place->hashes));
        for (size_t i = 0; i < desired->count; i++) {
            place->hashes[i] = actual_value_hash(desired_get(desired, i).value);
        }
        qsort(place->hashes, desired->count, sizeof(*place->hashes), plan_compare_hashes);
    }
    return bsearch(&hash, place->hashes, desired->count, sizeof(hash), plan_compare_hashes) != NULL;
}

/* ---- Deletes ---- */

/* Moves to the first desired key that does not sort before the suffix. Returns whether it is that
 * key. */
static bool is_key_desired(const struct desired *desired, struct slice base, struct slice suffix,
                           struct plan_place *place)
{
    int d = 1;
    for (; place->desired < desired->count; place->desired++) {
        struct desired_record record = desired_get(desired, place->desired);
        d = slice_compare(suffix_of(&record, base), suffix);
        if (d >= 0) {
            break;
        }
    }
    return d == 0;
}

bool plan_add_deletes(const struct desired *desired, struct slice base,
                      const struct actual_keys *actual, struct plan_place *place, size_t *budget,
                      struct plan *plan)
{
    struct buf key;
    buf_init(&key, PLAN_BYTES_MAX);
    const struct actual_key *there = actual_next(actual, &place->actual);
    for (; there && *budget; place->actual++, there = actual_next(actual, &place->actual)) {
        struct slice suffix = actual_suffix(there);
        size_t from = place->desired;
        bool is_extra = !is_key_desired(desired, base, suffix, place) && there->value.is_ours;
        bool is_copy = is_extra && there->value.may_be_copy &&
                       is_value_desired(place, desired, there->value.hash);
        place->has_copies |= is_copy;
        if (is_extra && !is_copy) {
            buf_clear(&key);
            buf_append_slice(&key, base);
            buf_append_slice(&key, suffix);
            const struct etcd_op del = {.kind = ETCD_OP_DELETE, .key = buf_slice(&key)};
            plan_add(plan, &del, there->value.revision);
        }
        plan_spend(budget, 1 + place->desired - from);
    }
    buf_fini(&key);
    return !there;
}

void plan_drop_puts(struct plan *plan)
{
    plan->op_count -= plan->put_count;
    memmove(plan->ops, plan->ops + plan->put_count, plan->op_count * sizeof(*plan->ops));
    plan->put_count = 0;
}

void plan_truncate(struct plan *plan, size_t op_count)
{
    while (plan->op_count > op_count) {
        plan->put_count -= plan->ops[--plan->op_count].kind == ETCD_OP_PUT;
    }
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

void plan_batch_init(struct plan_batch *batch, size_t ops_max)
{
    plan_init(&batch->plan);
    batch->ops_max = ops_max;
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

/* Returns the operation's size with a condition on its key, which most have
 * (transactions_internal.h). */
static size_t op_size(const struct plan_op *op)
{
    return 2 * (size_t)op->key_len + op->value_len + OP_OVERHEAD + CONDITION_OVERHEAD;
}

/* Returns the end of the operations from `from` on that fit into the batch. */
static size_t fitting_end(const struct plan_batch *batch, const struct plan *plan, size_t from)
{
    size_t size = batch->size, at = from;
    while (at < plan->op_count && batch->plan.op_count + at - from < batch->ops_max) {
        size += op_size(&plan->ops[at]);
        if (size > PLAN_BATCH_BYTES_MAX) {
            break;
        }
        at++;
    }
    return at;
}

size_t plan_count_fitting(const struct plan *plan, size_t ops_max)
{
    const struct plan_batch empty = {.ops_max = ops_max};
    size_t end = fitting_end(&empty, plan, 0);
    return end || !plan->op_count ? end : 1;
}

static void copy_ops(struct plan_batch *batch, const struct plan *plan, size_t from, size_t end)
{
    for (size_t i = from; i < end; i++) {
        struct etcd_op op = plan_get(plan, i);
        plan_add(&batch->plan, &op, plan->ops[i].revision);
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
        end++; /* etcd judges a single oversized operation */
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

/* ---- Lines ---- */

static void append_text(struct buf *out, struct slice text)
{
    for (size_t i = 0; i < text.len; i++) {
        unsigned char c = (unsigned char)text.ptr[i];
        if (c < ' ' || c >= 0x7f || c == '\\') {
            buf_printf(out, "\\x%02x", c);
        } else {
            buf_append_char(out, (char)c);
        }
    }
}

static void append_line(struct buf *out, char sign, const struct etcd_op *op)
{
    buf_printf(out, "%c ", sign);
    append_text(out, op->key);
    if (op->kind == ETCD_OP_PUT) {
        buf_append_char(out, ' ');
        append_text(out, op->value);
    }
    buf_append_char(out, '\n');
}

void preview_append(const struct plan *plan, enum preview preview, struct buf *out)
{
    for (size_t i = 0; i < plan->op_count; i++) {
        const struct etcd_op op = plan_get(plan, i);
        append_line(out,
                    preview != PREVIEW_DUE       ? (char)preview
                    : op.kind == ETCD_OP_DELETE  ? '-'
                    : plan->ops[i].revision != 0 ? '~'
                                                 : '+',
                    &op);
    }
}
