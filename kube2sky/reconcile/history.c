#include "kube2sky/reconcile/history_internal.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/key_table.h"
#include "common/base/xalloc.h"
#include "common/etcd/etcd_txn.h"

/* Bytes beside key and value: etcd's and the database's own fields of a revision. A deleted key
 * leaves a usual value, and a tombstone, which repeats the key. */
enum { REVISION_BYTES = 64, DELETED_VALUE_BYTES = 128 };

struct spender {
    struct slice name;
    uint64_t marked_bytes; /* written by revisions up to the mark */
    uint64_t later_bytes;
};

struct history {
    uint64_t share_bytes;
    struct key_table table;
    size_t over_count;
    uint64_t most_bytes;   /* of the largest spender since the last compaction that was noticed */
    int64_t mark;          /* 0: none */
    int64_t last_revision; /* the last one that was charged */
};

struct history *history_new(uint64_t share_bytes)
{
    struct history *history = xcalloc(1, sizeof(*history));
    history->share_bytes = share_bytes;
    key_table_init_keyed(&history->table);
    return history;
}

void history_forget(struct history *history)
{
    key_table_fini_things(&history->table);
    history->over_count = 0;
    history->most_bytes = 0;
    history->mark = 0;
}

void history_free(struct history *history)
{
    if (history) {
        history_forget(history);
        key_table_fini(&history->table);
        free(history);
    }
}

uint64_t history_op_bytes(const struct etcd_op *op)
{
    uint64_t revision_bytes = op->key.len + REVISION_BYTES;
    return op->kind == ETCD_OP_PUT ? revision_bytes + op->value.len
                                   : 2 * revision_bytes + DELETED_VALUE_BYTES;
}

static bool reconcile_history_is_over(const struct history *history, const struct spender *spender)
{
    return spender->marked_bytes + spender->later_bytes >= history->share_bytes;
}

bool history_charge(struct history *history, struct slice ns, uint64_t bytes, int64_t revision)
{
    struct spender *spender = key_table_get(&history->table, ns, sizeof(*spender));
    bool was_over = reconcile_history_is_over(history, spender);
    spender->later_bytes += bytes;
    uint64_t all_bytes = spender->marked_bytes + spender->later_bytes;
    bool is_new = reconcile_history_is_over(history, spender) && !was_over;
    history->most_bytes = all_bytes > history->most_bytes ? all_bytes : history->most_bytes;
    history->last_revision = revision;
    history->over_count += is_new;
    return is_new;
}

bool history_is_over(const struct history *history, struct slice ns)
{
    const struct spender *spender = key_table_find(&history->table, ns);
    return spender && reconcile_history_is_over(history, spender);
}

size_t history_over_count(const struct history *history)
{
    return history->over_count;
}

/* Moves the mark to the last charged revision: all charges so far are now before it. Frees spenders
 * that have nothing left. */
static void set_mark(struct history *history)
{
    size_t at = 0;
    history->most_bytes = 0;
    history->over_count = 0;
    struct spender *spender = key_table_next(&history->table, &at);
    while (spender) {
        spender->marked_bytes = spender->later_bytes;
        spender->later_bytes = 0;
        if (spender->marked_bytes == 0) {
            (void)key_table_take(&history->table, spender->name);
            free(spender);
        } else {
            history->most_bytes = spender->marked_bytes > history->most_bytes
                                      ? spender->marked_bytes
                                      : history->most_bytes;
            history->over_count += reconcile_history_is_over(history, spender);
            at++;
        }
        spender = key_table_next(&history->table, &at);
    }
    history->mark = history->table.count ? history->last_revision : 0;
}

int64_t history_mark(struct history *history)
{
    if (history->most_bytes < history->share_bytes / 2) {
        return 0;
    }
    if (!history->mark) {
        set_mark(history);
    }
    return history->mark;
}

bool history_compacted(struct history *history)
{
    size_t before = history->over_count;
    set_mark(history);
    return history->over_count < before;
}
