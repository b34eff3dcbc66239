#include "kube2sky/reconcile/conflict_internal.h"

#include <stdlib.h>
#include <sys/queue.h>

#include "common/base/attributes.h"
#include "common/base/backoff.h"
#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/base/timer.h"
#include "common/base/xalloc.h"
#include "common/etcd/etcd_kv.h"
#include "kube2sky/naming/contract.h"
#include "kube2sky/reconcile/ownership_internal.h"
#include "kube2sky/reconcile/transactions_internal.h"

/* Other writers' keys and values can have megabytes; a record and its key are shorter than this. */
enum { TEXT_MAX = 512 };

const struct conflict_limits conflict_limits = {
    .rest_first_ms = 1000,
    .rest_max_ms = 8000,
    .rest_each_ms = 10,
    .calm_ms = 10000,
};

struct text {
    char *bytes;
    size_t len;
};

struct conflict {
    struct conflicts *conflicts;
    struct owner *owner;
    LIST_ENTRY(conflict) entry;
    ev_timer timer; /* always active: fires at the end of the backoff or of the conflict */
    bool is_resting;
    bool is_told;
    bool has_own;      /* has restored keys other than reverse keys */
    uint32_t restored; /* restorations in a row */
    int64_t rest_until_ms;
    int64_t calm_at_ms;
    struct backoff backoff;
    struct text key, ours;         /* a restored key; `ours` is empty if it was deleted */
    struct text their_key, theirs; /* the last key that the other writer wrote */
};

struct conflicts {
    struct conflicts_config config;
    LIST_HEAD(, conflict) all;
    size_t begun; /* all that are counted, in conflict or not yet */
    size_t count; /* owners in conflict */
};

struct conflicts *conflicts_new(const struct conflicts_config *config)
{
    struct conflicts *conflicts = xcalloc(1, sizeof(*conflicts));
    conflicts->config = *config;
    return conflicts;
}

static void text_set(struct text *text, struct slice from)
{
    free(text->bytes);
    text->len = from.len < TEXT_MAX ? from.len : TEXT_MAX;
    text->bytes = xstrndup(from.ptr, text->len);
}

static struct slice text_get(const struct text *text)
{
    return slice_of(text->bytes, text->len);
}

static bool is_contested(const struct conflict *conflict)
{
    return conflict->restored >= CONFLICT_FREE;
}

static bool is_of_config(const struct conflict *conflict)
{
    return conflict->owner->class == OWNER_CONFIG;
}

/* ---- Begin and end ---- */

static void conflict_end(struct conflict *conflict)
{
    struct conflicts *conflicts = conflict->conflicts;
    conflicts->begun--;
    conflicts->count -= is_contested(conflict);
    ev_timer_stop(conflicts->config.loop, &conflict->timer);
    LIST_REMOVE(conflict, entry);
    conflict->owner->conflict = NULL;
    free(conflict->key.bytes);
    free(conflict->ours.bytes);
    free(conflict->their_key.bytes);
    free(conflict->theirs.bytes);
    free(conflict);
}

void conflicts_free(struct conflicts *conflicts)
{
    if (!conflicts) {
        return;
    }
    while (!LIST_EMPTY(&conflicts->all)) {
        conflict_end(LIST_FIRST(&conflicts->all));
    }
    free(conflicts);
}

static void conflict_start_timer(struct conflict *conflict)
{
    struct ev_loop *loop = conflict->conflicts->config.loop;
    int64_t until_ms = conflict->is_resting ? conflict->rest_until_ms : conflict->calm_at_ms;
    int64_t wait_ms = until_ms - clock_monotonic_ms();
    ev_now_update(loop);
    timer_arm_ms(loop, &conflict->timer, wait_ms);
}

static void conflict_on_timer(struct ev_loop *loop UNUSED, ev_timer *timer, int revents UNUSED)
{
    struct conflict *conflict = timer->data;
    const struct conflicts_config *config = &conflict->conflicts->config;
    struct owner *owner = conflict->owner;
    if (conflict->is_resting) {
        conflict->is_resting = false;
        conflict_start_timer(conflict);
    } else {
        if (conflict->is_told) {
            log_info(is_of_config(conflict) ? "keys of the ConfigMap are no longer in conflict"
                                            : "keys of the service are no longer in conflict",
                     LOG_SLICE("owner", owner->id));
        }
        conflict_end(conflict);
    }
    config->due(config->data, owner);
}

static struct conflict *conflict_begin(struct conflicts *conflicts, struct owner *owner)
{
    struct conflict *conflict = xcalloc(1, sizeof(*conflict));
    const struct conflict_limits *limits = &conflicts->config.limits;
    conflict->conflicts = conflicts;
    conflict->owner = owner;
    LIST_INSERT_HEAD(&conflicts->all, conflict, entry);
    conflicts->begun++;
    backoff_init(&conflict->backoff, limits->rest_first_ms, limits->rest_max_ms);
    timer_init(&conflict->timer, conflict_on_timer, conflict);
    owner->conflict = conflict;
    return conflict;
}

/* ---- Rounds ---- */

/* Chooses the key to report: best one that both writers want, then one that only we want, then one
 * that only the other wants. */
static void conflict_remember(struct conflict *conflict, const struct plan *plan, size_t from,
                              size_t end)
{
    size_t best = from;
    for (size_t i = from; i < end && plan->ops[i].kind == ETCD_OP_PUT; i++) {
        if (plan->ops[i].revision) {
            best = i;
            break;
        }
    }
    struct etcd_op op = plan_get(plan, best);
    text_set(&conflict->key, op.key);
    text_set(&conflict->ours, op.value);
}

void conflict_restored(struct conflicts *conflicts, const struct transaction *transaction,
                       const struct passenger *passenger, size_t from, size_t end)
{
    const struct conflict_limits *limits = &conflicts->config.limits;
    struct conflict *conflict = passenger->owner->conflict;
    int64_t now_ms = clock_monotonic_ms();
    int64_t rest_ms = 0;
    if (!conflict && conflicts->begun == CONFLICTS_MAX) {
        return;
    }
    conflict = conflict ? conflict : conflict_begin(conflicts, passenger->owner);
    conflict->restored++;
    for (size_t i = from; i < end; i++) {
        conflict->has_own |=
            !slice_has_prefix(plan_get(&transaction->batch.plan, i).key, slice_str(REVERSE_TREE));
    }
    conflicts->count += conflict->restored == CONFLICT_FREE;
    if (from < end && conflict->restored + 1 >= CONFLICT_FREE) {
        conflict_remember(conflict, &transaction->batch.plan, from, end);
    }
    if (is_contested(conflict)) {
        int64_t share_ms = (int64_t)limits->rest_each_ms * (int64_t)conflicts->count;
        rest_ms = backoff_next_ms(&conflict->backoff, backoff_random());
        rest_ms = rest_ms > share_ms ? rest_ms : share_ms;
    }
    conflict->is_resting = false;
    conflict->rest_until_ms = now_ms + rest_ms;
    conflict->calm_at_ms = now_ms + limits->calm_ms + 3 * rest_ms;
    conflict_start_timer(conflict);
}

void conflict_saw(struct owner *owner, const struct etcd_kv *kv)
{
    struct conflict *conflict = owner->conflict;
    bool is_wanted = conflict && !conflict->is_told && conflict->restored + 1 >= CONFLICT_FREE;
    bool has_better = is_wanted && conflict->key.len &&
                      slice_equal(text_get(&conflict->key), text_get(&conflict->their_key));
    if (is_wanted && !has_better) {
        text_set(&conflict->their_key, kv->key);
        text_set(&conflict->theirs, kv->value);
    }
}

/* Judges the writer only by the value's form: another kube2sky, or anything else. */
static const char *writer_of(const struct conflicts *conflicts, const struct conflict *conflict)
{
    struct slice key = text_get(&conflict->their_key), value = text_get(&conflict->theirs);
    return key.len == 0                                                    ? "unknown"
           : ownership_is_written(conflicts->config.ownership, key, value) ? "another kube2sky"
                                                                           : "not kube2sky";
}

/* Logs the conflict once. Another writer's values are visible only between our own transactions, so
 * not always in the first rounds. A writer that only deletes shows none. */
static void conflict_report(const struct conflicts *conflicts, struct conflict *conflict)
{
    static struct log_limit limit = {.burst = 10};
    if (conflict->their_key.len == 0 && conflict->restored < 2 * CONFLICT_FREE &&
        !is_of_config(conflict)) {
        return;
    }
    conflict->is_told = true;
    if (log_limit_pass(&limit)) {
        log_warn(
            is_of_config(conflict)
                ? "another writer keeps changing keys of the ConfigMap, restoring them less often"
                : "another writer keeps changing keys of the service, restoring them less often",
            LOG_SLICE("owner", conflict->owner->id),
            LOG_STR("writer", writer_of(conflicts, conflict)),
            LOG_SLICE("key", text_get(&conflict->key)),
            LOG_SLICE("ours", text_get(&conflict->ours)),
            LOG_SLICE("their_key", text_get(&conflict->their_key)),
            LOG_SLICE("theirs", text_get(&conflict->theirs)),
            LOG_INT("contested", (int64_t)conflicts->count),
            LOG_INT("suppressed", (int64_t)limit.suppressed));
    }
}

bool conflict_must_rest(struct conflicts *conflicts, struct owner *owner)
{
    struct conflict *conflict = owner->conflict;
    if (!conflict || !is_contested(conflict) || clock_monotonic_ms() >= conflict->rest_until_ms) {
        return false;
    }
    if (!conflict->is_told) {
        conflict_report(conflicts, conflict);
    }
    log_debug("restoring keys later", LOG_SLICE("owner", owner->id),
              LOG_INT("rest_ms", conflict->rest_until_ms - clock_monotonic_ms()));
    conflict->is_resting = true;
    conflict_start_timer(conflict);
    return true;
}

/* ---- Reports ---- */

bool conflict_of(const struct owner *owner, unsigned *ret_restored, int64_t *ret_rest_ms)
{
    const struct conflict *conflict = owner->conflict;
    bool is = conflict && is_contested(conflict);
    int64_t rest_ms = is ? conflict->rest_until_ms - clock_monotonic_ms() : 0;
    *ret_restored = conflict ? conflict->restored : 0;
    *ret_rest_ms = rest_ms > 0 ? rest_ms : 0;
    return is;
}

bool conflict_is_of_reverse(const struct owner *owner)
{
    return owner->conflict && !owner->conflict->has_own;
}

struct slice conflict_key(const struct owner *owner)
{
    return owner->conflict ? text_get(&owner->conflict->key) : slice_of(NULL, 0);
}

size_t conflicts_count(const struct conflicts *conflicts)
{
    return conflicts->count;
}

bool conflicts_explain(const struct conflicts *conflicts, enum owner_class class, struct buf *out)
{
    const struct conflict *one = NULL, *conflict;
    size_t count = 0;
    if (!conflicts->count) {
        return false;
    }
    LIST_FOREACH(conflict, &conflicts->all, entry)
    {
        if (is_contested(conflict) && is_of_config(conflict) == (class == OWNER_CONFIG)) {
            one = one ? one : conflict;
            count++;
        }
    }
    if (one && is_of_config(one)) {
        buf_append_str(out, "another writer keeps changing keys of the ConfigMap");
    } else if (one) {
        buf_printf(out, "another writer keeps changing keys of %zu services, such as ", count);
        buf_append_slice(out, one->owner->id);
        buf_append_str(out, "; a second kube2sky without --leader-elect?");
    }
    return one != NULL;
}
