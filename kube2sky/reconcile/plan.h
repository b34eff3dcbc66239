/* Plans the difference between an owner's desired and actual keys: puts of missing or changed keys,
 * deletes of unwanted ones. Packs such plans into transactions, and lists them for people. PURE.
 *
 * Puts come first, deletes last, each in key order, so that a plan too large for one transaction
 * adds first. */
#ifndef KUBE2SKY_RECONCILE_PLAN_H
#define KUBE2SKY_RECONCILE_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/buf.h"
#include "common/base/slice.h"
#include "common/etcd/etcd_txn.h"
#include "kube2sky/naming/desired.h"
#include "kube2sky/reconcile/actual.h"

struct plan_op {
    int64_t revision; /* the key's known revision; 0 = absent */
    enum etcd_op_kind kind;
    uint32_t key_at; /* offset into the bytes; a put's value follows its key */
    uint32_t key_len;
    uint32_t value_len;
};

struct plan {
    struct buf bytes;
    struct plan_op *ops;
    size_t op_count;
    size_t put_count; /* puts come first */
    size_t cap;
};

void plan_init(struct plan *plan);
void plan_fini(struct plan *plan);

/* Empties the plan. Memory of ordinary size is reused: a full transaction takes less. */
enum { PLAN_KEPT_BYTES = 128 * 1024 };

void plan_build_nothing(struct plan *ret_plan);

/* Holds where the comparison of an owner's keys goes on; zero at first. */
struct plan_place {
    size_t desired;   /* index of the next desired key, */
    size_t actual;    /* and of etcd's */
    uint64_t *hashes; /* of all desired values, sorted; NULL until needed, which is rare */
    bool has_copies;  /* plan_add_deletes has left copies */
};

void plan_place_fini(struct plan_place *place); /* as at first */

/* Add the puts, or the deletes, in portions: each compares keys while the budget lasts, takes their
 * number from it and returns whether that was all. Between two portions neither keys may change;
 * base and plan are given again. Keys that are not ours (actual.h), and copies of a desired value,
 * are not deleted. `base` is the owner's part of the keys; all desired keys begin with it. Add all
 * puts before any delete. A plan is truncated at 256 MiB, if other writers left that much to
 * delete; the next plan has the rest. */
bool plan_add_puts(const struct desired *desired, struct slice base,
                   const struct actual_keys *actual, struct plan_place *place, size_t *budget,
                   struct plan *plan);
bool plan_add_deletes(const struct desired *desired, struct slice base,
                      const struct actual_keys *actual, struct plan_place *place, size_t *budget,
                      struct plan *plan);

/* Adds any other operation; revision: as in struct plan_op. */
void plan_add(struct plan *plan, const struct etcd_op *op, int64_t revision);

/* Moves the operations on keys with the prefix to the end of the other plan. */
void plan_move(struct plan *plan, struct slice prefix, struct plan *to);

/* Removes the puts. */
void plan_drop_puts(struct plan *plan);

/* Removes all operations but the first op_count. */
void plan_truncate(struct plan *plan, size_t op_count);

/* Returns an operation, borrowed until the plan changes. */
struct etcd_op plan_get(const struct plan *plan, size_t index);

/* ---- Transactions ---- */

/* etcd refuses requests over 1.5 MiB; this leaves room for the encoding. */
enum { PLAN_BATCH_BYTES_MAX = 1024 * 1024 };

/* Returns how many operations, from the first on, fit into a transaction of ops_max. An oversized
 * first operation counts as fitting alone: etcd judges it. */
size_t plan_count_fitting(const struct plan *plan, size_t ops_max);

/* Fills one transaction; holds copies of the operations. */
struct plan_batch {
    struct plan plan;
    size_t ops_max;
    size_t size; /* roughly as etcd counts it, with a condition for each operation */
};

void plan_batch_init(struct plan_batch *batch, size_t ops_max);
void plan_batch_fini(struct plan_batch *batch);
void plan_batch_clear(struct plan_batch *batch);

enum plan_fit {
    PLAN_FITS_WHOLE,
    PLAN_FITS_PARTLY, /* the plan is larger than a transaction and the batch was empty: added as
                       * much as fits */
    PLAN_FITS_NOT,    /* nothing added; use the next batch */
};

/* Adds the plan's operations from *from on, and moves *from past them. Requires at least one
 * operation, and no key shared with other plans in the batch. */
enum plan_fit plan_batch_add(struct plan_batch *batch, const struct plan *plan, size_t *from);

/* Fills ret_ops, which has room for ops_max, and returns their number. They are borrowed until the
 * batch changes. */
size_t plan_batch_ops(const struct plan_batch *batch, struct etcd_op *ret_ops);

/* ---- Lines ----
 *
 * Plans as readable text, for GET /plan and --dry-run:
 *
 *     + KEY VALUE     does not exist
 *     ~ KEY VALUE     has another value
 *     - KEY           should not exist
 *     ? KEY [VALUE]   waits: the key exists and may turn out to be right, so it is deleted, or gets
 *                     this value, only once everything that may want it is known; or it waits for
 *                     another key
 *     = KEY VALUE     should have this value, but belongs to another writer: left alone
 *
 * Bytes that are not printable ASCII become \xNN: anyone may have written a key to delete. */

enum preview {
    PREVIEW_DUE,
    PREVIEW_WITHHELD = '?',
    PREVIEW_LEFT = '=', /* puts of keys that belong to another writer */
};

/* Appends a line for each operation. */
void preview_append(const struct plan *plan, enum preview preview, struct buf *out);

#endif
