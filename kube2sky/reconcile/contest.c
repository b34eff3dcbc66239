#include "kube2sky/reconcile/contest_internal.h"

#include <stdlib.h>

#include "common/base/attributes.h"
#include "common/base/backoff.h"
#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/base/xalloc.h"
#include "common/etcd/etcd_kv.h"
#include "kube2sky/naming/contract.h"
#include "kube2sky/reconcile/flights_internal.h"
#include "kube2sky/reconcile/ownership_internal.h"

/* Others' keys and values can have megabytes; a record and its key are shorter than this. */
enum { TEXT_MAX = 512 };

const struct contest_limits contest_limits = {
    .rest_first_ms = 1000,
    .rest_max_ms = 8000,
    .rest_each_ms = 10,
    .calm_ms = 10000,
};

struct text {
    char *bytes;
    size_t len;
};

struct contest {
    struct contests *contests;
    struct owner *owner;
    struct contest *prev, *next;
    ev_timer timer; /* always active: the end of the rest, or of the contest */
    bool is_resting;
    bool is_told;
    bool has_own;      /* keys other than reverse ones were restored */
    uint32_t restored; /* times in a row */
    int64_t rest_until_ms;
    int64_t calm_at_ms;
    struct backoff backoff;
    struct text key, ours;         /* a key that was restored; ours: empty if it was deleted */
    struct text their_key, theirs; /* the last key that they wrote */
};

struct contests {
    struct contests_config config;
    struct contest *first;
    size_t begun; /* all */
    size_t count; /* contested ones */
};

struct contests *contests_new(const struct contests_config *config)
{
    struct contests *contests = xcalloc(1, sizeof(*contests));
    contests->config = *config;
    return contests;
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

static bool is_contested(const struct contest *contest)
{
    return contest->restored >= CONTEST_FREE;
}

static bool is_of_config(const struct contest *contest)
{
    return contest->owner->class == OWNER_CONFIG;
}

/* ---- Begin and end ---- */

static void end(struct contest *contest)
{
    struct contests *contests = contest->contests;
    contests->begun--;
    contests->count -= is_contested(contest);
    ev_timer_stop(contests->config.loop, &contest->timer);
    *(contest->prev ? &contest->prev->next : &contests->first) = contest->next;
    if (contest->next) {
        contest->next->prev = contest->prev;
    }
    contest->owner->contest = NULL;
    free(contest->key.bytes);
    free(contest->ours.bytes);
    free(contest->their_key.bytes);
    free(contest->theirs.bytes);
    free(contest);
}

void contests_free(struct contests *contests)
{
    if (!contests) {
        return;
    }
    while (contests->first) {
        end(contests->first);
    }
    free(contests);
}

static void start_timer(struct contest *contest)
{
    struct ev_loop *loop = contest->contests->config.loop;
    int64_t until_ms = contest->is_resting ? contest->rest_until_ms : contest->calm_at_ms;
    int64_t wait_ms = until_ms - clock_monotonic_ms();
    ev_now_update(loop);
    ev_timer_stop(loop, &contest->timer);
    ev_timer_set(&contest->timer, wait_ms > 0 ? (double)wait_ms / 1000.0 : 0.0, 0.0);
    ev_timer_start(loop, &contest->timer);
}

static void on_timer(struct ev_loop *loop UNUSED, ev_timer *timer, int revents UNUSED)
{
    struct contest *contest = timer->data;
    const struct contests_config *config = &contest->contests->config;
    struct owner *owner = contest->owner;
    if (contest->is_resting) {
        contest->is_resting = false;
        start_timer(contest);
    } else {
        if (contest->is_told) {
            log_info(is_of_config(contest) ? "keys of the ConfigMap are no longer contested"
                                           : "keys of the service are no longer contested",
                     LOG_SLICE("owner", owner->id));
        }
        end(contest);
    }
    config->due(config->data, owner);
}

static struct contest *begin(struct contests *contests, struct owner *owner)
{
    struct contest *contest = xcalloc(1, sizeof(*contest));
    const struct contest_limits *limits = &contests->config.limits;
    contest->contests = contests;
    contest->owner = owner;
    contest->next = contests->first;
    if (contest->next) {
        contest->next->prev = contest;
    }
    contests->first = contest;
    contests->begun++;
    backoff_init(&contest->backoff, limits->rest_first_ms, limits->rest_max_ms);
    ev_timer_init(&contest->timer, on_timer, 0.0, 0.0);
    contest->timer.data = contest;
    owner->contest = contest;
    return contest;
}

/* ---- Rounds ---- */

/* A key that both want is told rather than one that only we want, and that rather than one that
 * only the other wants. */
static void remember(struct contest *contest, const struct plan *plan, size_t from, size_t end)
{
    size_t best = from;
    for (size_t i = from; i < end && plan->ops[i].kind == ETCD_OP_PUT; i++) {
        if (plan->ops[i].revision) {
            best = i;
            break;
        }
    }
    struct etcd_op op = plan_get(plan, best);
    text_set(&contest->key, op.key);
    text_set(&contest->ours, op.value);
}

void contest_restored(struct contests *contests, const struct flight *flight,
                      const struct passenger *passenger, size_t from, size_t end)
{
    const struct contest_limits *limits = &contests->config.limits;
    struct contest *contest = passenger->owner->contest;
    int64_t now_ms = clock_monotonic_ms();
    int64_t rest_ms = 0;
    if (!contest && contests->begun == CONTESTS_MAX) {
        return;
    }
    contest = contest ? contest : begin(contests, passenger->owner);
    contest->restored++;
    for (size_t i = from; i < end; i++) {
        contest->has_own |=
            !slice_has_prefix(plan_get(&flight->batch.plan, i).key, slice_str(REVERSE_TREE));
    }
    contests->count += contest->restored == CONTEST_FREE;
    if (from < end && contest->restored + 1 >= CONTEST_FREE) {
        remember(contest, &flight->batch.plan, from, end);
    }
    if (is_contested(contest)) {
        int64_t share_ms = (int64_t)limits->rest_each_ms * (int64_t)contests->count;
        rest_ms = backoff_next_ms(&contest->backoff, backoff_random());
        rest_ms = rest_ms > share_ms ? rest_ms : share_ms;
    }
    contest->is_resting = false;
    contest->rest_until_ms = now_ms + rest_ms;
    contest->calm_at_ms = now_ms + limits->calm_ms + 3 * rest_ms;
    start_timer(contest);
}

void contest_saw(struct owner *owner, const struct etcd_kv *kv)
{
    struct contest *contest = owner->contest;
    bool is_wanted = contest && !contest->is_told && contest->restored + 1 >= CONTEST_FREE;
    bool has_better = is_wanted && contest->key.len &&
                      slice_equal(text_get(&contest->key), text_get(&contest->their_key));
    if (is_wanted && !has_better) {
        text_set(&contest->their_key, kv->key);
        text_set(&contest->theirs, kv->value);
    }
}

/* Only by its form: another kube2sky's value, or anything. */
static const char *writer_of(const struct contests *contests, const struct contest *contest)
{
    struct slice key = text_get(&contest->their_key), value = text_get(&contest->theirs);
    return key.len == 0                                                   ? "unknown"
           : ownership_is_written(contests->config.ownership, key, value) ? "another kube2sky"
                                                                          : "not kube2sky";
}

/* What they write is seen only between our own transactions, so not always in the first rounds; who
 * only deletes writes nothing. */
static void tell(const struct contests *contests, struct contest *contest)
{
    static struct log_limit limit = {.burst = 10};
    if (contest->their_key.len == 0 && contest->restored < 2 * CONTEST_FREE &&
        !is_of_config(contest)) {
        return;
    }
    contest->is_told = true;
    if (log_limit_pass(&limit)) {
        log_warn(
            is_of_config(contest)
                ? "another writer keeps changing keys of the ConfigMap, restoring them less often"
                : "another writer keeps changing keys of the service, restoring them less often",
            LOG_SLICE("owner", contest->owner->id), LOG_STR("writer", writer_of(contests, contest)),
            LOG_SLICE("key", text_get(&contest->key)), LOG_SLICE("ours", text_get(&contest->ours)),
            LOG_SLICE("their_key", text_get(&contest->their_key)),
            LOG_SLICE("theirs", text_get(&contest->theirs)),
            LOG_INT("contested", (int64_t)contests->count),
            LOG_INT("suppressed", (int64_t)limit.suppressed));
    }
}

bool contest_must_rest(struct contests *contests, struct owner *owner)
{
    struct contest *contest = owner->contest;
    if (!contest || !is_contested(contest) || clock_monotonic_ms() >= contest->rest_until_ms) {
        return false;
    }
    if (!contest->is_told) {
        tell(contests, contest);
    }
    log_debug("keys are restored later", LOG_SLICE("owner", owner->id),
              LOG_INT("rest_ms", contest->rest_until_ms - clock_monotonic_ms()));
    contest->is_resting = true;
    start_timer(contest);
    return true;
}

/* ---- What is told ---- */

bool contest_of(const struct owner *owner, unsigned *ret_restored, int64_t *ret_rest_ms)
{
    const struct contest *contest = owner->contest;
    bool is = contest && is_contested(contest);
    int64_t rest_ms = is ? contest->rest_until_ms - clock_monotonic_ms() : 0;
    *ret_restored = contest ? contest->restored : 0;
    *ret_rest_ms = rest_ms > 0 ? rest_ms : 0;
    return is;
}

bool contest_is_of_reverse(const struct owner *owner)
{
    return owner->contest && !owner->contest->has_own;
}

struct slice contest_key(const struct owner *owner)
{
    return owner->contest ? text_get(&owner->contest->key) : slice_of(NULL, 0);
}

size_t contests_count(const struct contests *contests)
{
    return contests->count;
}

bool contests_explain(const struct contests *contests, enum owner_class class, struct buf *out)
{
    const struct contest *one = NULL;
    size_t count = 0;
    for (const struct contest *contest = contests->count ? contests->first : NULL; contest;
         contest = contest->next) {
        if (is_contested(contest) && is_of_config(contest) == (class == OWNER_CONFIG)) {
            one = one ? one : contest;
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
