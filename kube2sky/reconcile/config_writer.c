#include "kube2sky/reconcile/config_writer_internal.h"

#include <inttypes.h>
#include <stdlib.h>

#include "common/base/attributes.h"
#include "common/base/backoff.h"
#include "common/base/cleanup.h"
#include "common/base/clock.h"
#include "common/base/err.h"
#include "common/base/log.h"
#include "common/base/xalloc.h"
#include "common/etcd/etcd.h"
#include "common/etcd/etcd_mirror.h"
#include "common/etcd/etcd_store_id.h"
#include "kube2sky/naming/config_document.h"
#include "kube2sky/reconcile/actual.h"
#include "kube2sky/reconcile/config_keys_internal.h"
#include "kube2sky/reconcile/config_step_internal.h"
#include "kube2sky/reconcile/contest_internal.h"
#include "kube2sky/reconcile/ownership_internal.h"
#include "kube2sky/reconcile/preview.h"

struct config_writer {
    struct config_writer_config config;
    struct config_keys keys;
    struct config_plan plan; /* scratch */
    char *document_key;
    struct etcd_mirror *mirror; /* of the document; NULL: it is left to another writer */

    bool is_due; /* a plan may have something to do */
    bool is_settled;
    bool is_given_up;
    bool is_mirrored;          /* the keys have been read */
    bool is_document_mirrored; /* the document has */
    bool is_mid_document;      /* in one of its publications */
    bool is_document_seen;     /* in its current read */
    bool is_other_store;
    int64_t revision; /* of the mirrors */
    int64_t document_revision;
    int64_t wants_revision; /* both must reach these before the next plan */
    int64_t wants_document_revision;

    struct etcd_call *call; /* NULL: no transaction is in flight */
    struct config_step sent;
    struct etcd_compare *compares;
    struct etcd_op *ops;

    struct config_rest rest;
    struct backoff backoff;
    ev_timer wait;               /* a rest, or the time to the next attempt */
    bool is_waiting;             /* it runs */
    struct err failure;          /* of the last transaction; msg "": none */
    struct err document_failure; /* of the document's mirror */
    size_t foreign;
};

static void want_turn(struct config_writer *w)
{
    w->is_due = true;
}

static bool may_write(const struct config_writer *w)
{
    return !w->config.planned && w->config.may_write(w->config.data);
}

/* ---- Waiting ---- */

static void on_wait_over(struct ev_loop *loop UNUSED, ev_timer *timer, int revents UNUSED)
{
    struct config_writer *w = timer->data;
    w->is_waiting = false;
    want_turn(w);
}

static void wait_ms(struct config_writer *w, uint32_t ms)
{
    ev_now_update(w->config.loop);
    ev_timer_stop(w->config.loop, &w->wait);
    ev_timer_set(&w->wait, ms / 1000.0, 0.0);
    ev_timer_start(w->config.loop, &w->wait);
    w->is_waiting = true;
}

/* Whether the plan restores what somebody else changed, and must wait. */
static bool must_rest(struct config_writer *w)
{
    size_t keys = w->keys.wanted.keys.count + w->keys.listed;
    uint32_t ms = config_rest_before(&w->rest, w->is_settled, keys, clock_monotonic_ms());
    if (ms && w->rest.restorations == CONTEST_FREE) {
        log_warn("another writer keeps changing keys of the ConfigMap, restoring them less often",
                 w->plan.keys.op_count ? LOG_SLICE("key", plan_get(&w->plan.keys, 0).key)
                                       : LOG_STR("key", w->document_key));
    }
    if (ms) {
        wait_ms(w, ms);
    }
    return ms != 0;
}

/* ---- Transactions ---- */

static void log_sent(const struct config_writer *w, int64_t revision)
{
    for (size_t i = 0; i < w->sent.ops.op_count && log_is_on(LOG_LEVEL_DEBUG); i++) {
        struct etcd_op op = plan_get(&w->sent.ops, i);
        log_debug(op.kind == ETCD_OP_PUT ? "key written" : "key deleted", LOG_SLICE("key", op.key),
                  LOG_STR("owner", "ConfigMap"), LOG_INT("revision", revision));
    }
}

static void tell_restored(const struct config_writer *w)
{
    static struct log_limit limit = {.burst = 10};
    if (w->rest.is_restoring && log_limit_pass(&limit)) {
        log_info("somebody else changed keys of the ConfigMap, put right",
                 LOG_SLICE("key", plan_get(&w->sent.ops, 0).key),
                 LOG_INT("keys", (int64_t)w->sent.ops.op_count));
    }
}

/* The list in etcd is what was sent, whatever the mirror shows later. */
static void on_applied(struct config_writer *w, int64_t revision)
{
    size_t keys = w->sent.ops.op_count - w->sent.has_document;
    if (w->failure.msg[0]) {
        log_info("keys of the ConfigMap can be written again");
        w->failure.msg[0] = '\0';
    }
    backoff_reset(&w->backoff);
    log_sent(w, revision);
    tell_restored(w);
    if (w->sent.has_document && w->sent.document.len) {
        config_keys_list(&w->keys, buf_slice(&w->sent.document), false);
    } else if (w->sent.has_document) {
        config_keys_unlist(&w->keys);
    }
    w->wants_revision = keys ? revision : 0;
    w->wants_document_revision = w->sent.has_document ? revision : 0;
    w->rest.written += w->sent.ops.op_count;
    etcd_mirror_note_write(w->mirror, revision);
    w->config.wrote(w->config.data, revision, w->sent.ops.put_count,
                    w->sent.ops.op_count - w->sent.ops.put_count, w->rest.is_restoring);
}

static void on_failed(struct config_writer *w, const struct err *err)
{
    if (!w->failure.msg[0]) {
        log_warn("keys of the ConfigMap cannot be written, retrying", LOG_STR("reason", err->msg));
    }
    w->failure = *err;
}

static void on_txn(void *data, const struct etcd_txn_reply *reply, const struct err *err)
{
    struct config_writer *w = data;
    w->call = NULL;
    want_turn(w);
    if (!err && reply->succeeded) {
        on_applied(w, reply->revision);
        return;
    }
    if (err) {
        on_failed(w, err);
    } else {
        log_debug("transaction for the ConfigMap not applied: a key or the leader changed",
                  LOG_INT("revision", reply->revision));
        w->config.refuted(w->config.data);
    }
    wait_ms(w, backoff_next_ms(&w->backoff, backoff_random()));
}

/* Each key and the leader are as planned, and so is the document that lists the keys: an emptied
 * etcd lacks it although its mirror does not know yet. */
static size_t collect_compares(struct config_writer *w)
{
    size_t count = 0;
    for (size_t i = 0; i < w->sent.ops.op_count; i++) {
        w->compares[count++] = (struct etcd_compare){
            .target = ETCD_COMPARE_MOD_REVISION,
            .key = plan_get(&w->sent.ops, i).key,
            .revision = w->sent.ops.ops[i].revision,
        };
    }
    if (!w->sent.has_document) {
        w->compares[count++] = (struct etcd_compare){
            .target = ETCD_COMPARE_MOD_REVISION,
            .key = slice_str(w->document_key),
            .revision = w->keys.document_revision,
        };
    }
    if (w->config.condition) {
        w->compares[count++] = w->config.condition(w->config.data);
    }
    return count;
}

static void send_step(struct config_writer *w)
{
    for (size_t i = 0; i < w->sent.ops.op_count; i++) {
        w->ops[i] = plan_get(&w->sent.ops, i);
    }
    const struct etcd_txn txn = {
        .compares = w->compares,
        .compare_count = collect_compares(w),
        .ops = w->ops,
        .op_count = w->sent.ops.op_count,
    };
    w->call = etcd_txn(w->config.etcd, &txn, on_txn, w);
}

/* ---- Steps ---- */

/* To the plan, for people. */
static void add_document(struct config_writer *w)
{
    config_step_add_document(&w->keys, slice_str(w->document_key), &w->plan.document,
                             &w->plan.keys);
}

/* etcd counts conditions like operations: one for each, and the leader's. */
static size_t room(const struct config_writer *w)
{
    size_t max = w->config.txn_ops_max;
    return w->config.condition ? max - 1 : max;
}

/* Logged once, until there is none again. */
static void count_foreign(struct config_writer *w)
{
    if (!w->foreign && w->plan.left.op_count) {
        log_warn("somebody else wrote a key that the ConfigMap wants, left alone",
                 LOG_SLICE("key", plan_get(&w->plan.left, 0).key));
    }
    w->foreign = w->plan.left.op_count;
}

static bool can_plan(const struct config_writer *w)
{
    return w->is_due && w->keys.is_known && w->is_mirrored && w->is_document_mirrored &&
           !w->is_mid_document && !w->call && !w->is_waiting && w->revision >= w->wants_revision &&
           w->document_revision >= w->wants_document_revision;
}

void config_writer_turn(struct config_writer *w)
{
    bool is_onlooker = !may_write(w);
    if (!can_plan(w) || (is_onlooker && !w->config.planned)) {
        return;
    }
    w->is_due = false;
    config_keys_plan(&w->keys, &w->plan);
    count_foreign(w);
    if (config_plan_is_empty(&w->plan)) {
        config_rest_end(&w->rest, clock_monotonic_ms());
        w->is_settled = true;
    } else if (is_onlooker) {
        if (w->plan.is_document_due) {
            add_document(w);
        }
        w->config.planned(w->config.data, &w->plan.keys);
    } else if (!must_rest(w)) {
        w->is_settled = false;
        config_step_choose(&w->keys, &w->plan, slice_str(w->document_key), room(w), &w->sent);
        send_step(w);
    }
}

/* ---- What is wanted ---- */

void config_writer_want(struct config_writer *w, struct config_map *map)
{
    w->is_given_up = false;
    if (config_keys_want(&w->keys, map)) {
        w->is_settled = false;
        config_rest_interrupt(&w->rest);
        if (!w->call && w->rest.last_ms) { /* a change does not wait for the contest */
            ev_timer_stop(w->config.loop, &w->wait);
            w->is_waiting = false;
        }
        want_turn(w);
    }
}

void config_writer_give_up(struct config_writer *w)
{
    w->is_given_up = true;
}

void config_writer_lead_changed(struct config_writer *w)
{
    w->is_settled = false;
    w->rest = (struct config_rest){.restorations = 0};
    want_turn(w);
}

/* ---- The keys ---- */

void config_writer_put(struct config_writer *w, const struct etcd_kv *kv, uint32_t generation)
{
    if (w->mirror && config_keys_put(&w->keys, kv, generation)) {
        want_turn(w);
    }
}

void config_writer_delete(struct config_writer *w, struct slice key)
{
    if (config_keys_delete(&w->keys, key)) {
        want_turn(w);
    }
}

void config_writer_commit(struct config_writer *w, int64_t revision, bool full, uint32_t generation)
{
    w->revision = revision;
    if (full) {
        (void)config_keys_sweep(&w->keys, generation);
        w->is_mirrored = true;
        w->wants_revision = 0;
        want_turn(w);
    }
}

/* ---- The document's mirror ---- */

static void on_full_begin(void *data, const struct etcd_mirror_read *read)
{
    struct config_writer *w = data;
    w->is_mid_document = true;
    w->is_document_seen = false;
    w->is_other_store = read->cause == ETCD_MIRROR_OTHER_STORE;
}

/* Nobody but us takes keys off the list while we lead: what we have listed stays ours. */
static void on_put(void *data, const struct etcd_kv *kv)
{
    struct config_writer *w = data;
    w->is_mid_document = true;
    if (slice_equal(kv->key, slice_str(w->document_key))) {
        w->is_document_seen = true;
        w->keys.document_revision = kv->mod_revision;
        w->keys.document_hash = actual_value_hash(kv->value);
        config_keys_list(&w->keys, kv->value, may_write(w) && !w->is_other_store);
        want_turn(w);
    }
}

static void forget_document(struct config_writer *w)
{
    w->keys.document_revision = 0;
    if (!may_write(w) || w->is_other_store) {
        config_keys_unlist(&w->keys);
    }
    want_turn(w);
}

static void on_del(void *data, struct slice key, int64_t revision UNUSED)
{
    struct config_writer *w = data;
    w->is_mid_document = true;
    if (slice_equal(key, slice_str(w->document_key))) {
        forget_document(w);
    }
}

static void on_commit(void *data, int64_t revision, bool full)
{
    struct config_writer *w = data;
    if (full && !w->is_document_seen) {
        forget_document(w);
    }
    if (full) {
        w->is_document_mirrored = true;
        w->wants_document_revision = 0;
        want_turn(w);
    }
    w->is_other_store = false;
    w->is_mid_document = false;
    w->document_revision = revision;
}

/* etcd's outages are told by the reconciler's mirror: here only what concerns the document. */
static void on_state(void *data, const struct err *err)
{
    struct config_writer *w = data;
    bool is_refused = err && (err->code == ERR_REFUSED || err->code == ERR_SHUT_OUT);
    if (is_refused && !w->document_failure.msg[0] && w->config.has_map) {
        log_warn("document of the ConfigMap cannot be read, retrying",
                 LOG_STR("key", w->document_key), LOG_STR("reason", err->msg));
    }
    w->document_failure = err ? *err : (struct err){.code = 0};
}

/* ---- Lifetime ---- */

static void follow_document(struct config_writer *w)
{
    CLEANUP_FREE char *store_key = etcd_store_key(slice_str(w->config.domain));
    w->mirror = etcd_mirror_start(w->config.etcd, &(struct etcd_mirror_config){
                                                      .prefix = slice_str(w->document_key),
                                                      .store_key = slice_str(store_key),
                                                      .full_begin = on_full_begin,
                                                      .put = on_put,
                                                      .del = on_del,
                                                      .commit = on_commit,
                                                      .state = on_state,
                                                      .data = w,
                                                  });
}

struct config_writer *config_writer_start(const struct config_writer_config *config)
{
    struct config_writer *w = xcalloc(1, sizeof(*w));
    w->config = *config;
    config_keys_init(&w->keys, config->ownership);
    w->keys.is_known = !config->has_map;
    config_plan_init(&w->plan);
    config_step_init(&w->sent);
    w->ops = xcalloc(config->txn_ops_max, sizeof(*w->ops));
    w->compares = xcalloc(config->txn_ops_max + 1, sizeof(*w->compares));
    backoff_init(&w->backoff, BACKOFF_REMOTE_FIRST_MS, BACKOFF_REFUSED_MAX_MS);
    ev_timer_init(&w->wait, on_wait_over, 0.0, 0.0);
    w->wait.data = w;
    w->document_key = etcd_writer_key(slice_str(config->domain), CONFIG_DOCUMENT_NAME);
    if (!config->leaves) {
        follow_document(w);
    }
    return w;
}

void config_writer_stop(struct config_writer *w)
{
    if (!w) {
        return;
    }
    etcd_mirror_stop(w->mirror);
    if (w->call) {
        etcd_call_cancel(w->call);
    }
    ev_timer_stop(w->config.loop, &w->wait);
    config_keys_fini(&w->keys);
    config_plan_fini(&w->plan);
    config_step_fini(&w->sent);
    free(w->ops);
    free(w->compares);
    free(w->document_key);
    free(w);
}

/* ---- Getters ---- */

bool config_writer_is_pending(const struct config_writer *w)
{
    bool has_failed = w->failure.msg[0] || w->document_failure.msg[0];
    bool is_onlooker = !may_write(w) && !w->config.planned;
    if (!w->mirror || has_failed || is_onlooker) {
        return false;
    }
    if (!w->keys.is_known) {
        return !w->is_given_up;
    }
    return w->call || (w->is_due && !w->is_waiting) || !w->is_document_mirrored;
}

bool config_writer_is_busy(const struct config_writer *w)
{
    return w->call != NULL;
}

bool config_writer_explain(const struct config_writer *w, struct buf *out)
{
    bool is_unread = w->config.has_map && (w->document_failure.code == ERR_REFUSED ||
                                           w->document_failure.code == ERR_SHUT_OUT);
    if (w->failure.msg[0] && w->failure.code != ERR_UNAVAILABLE && w->failure.code != ERR_TIMEOUT) {
        buf_printf(out, "keys of the ConfigMap cannot be written: %s", w->failure.msg);
    } else if (is_unread) {
        buf_printf(out, "document of the ConfigMap cannot be read: %s", w->document_failure.msg);
    } else if (config_rest_is_contested(&w->rest, clock_monotonic_ms())) {
        buf_append_str(out, "another writer keeps changing keys of the ConfigMap");
    } else {
        return false;
    }
    return true;
}

static bool make_preview(struct config_writer *w)
{
    if (!w->keys.is_known || !w->is_mirrored || !w->is_document_mirrored || w->is_mid_document) {
        return false;
    }
    config_keys_plan(&w->keys, &w->plan);
    if (w->plan.is_document_due) {
        add_document(w);
    }
    return w->plan.keys.op_count || w->plan.left.op_count;
}

bool config_writer_is_unsettled(struct config_writer *w)
{
    return make_preview(w);
}

void config_writer_preview(struct config_writer *w, struct buf *out)
{
    if (make_preview(w)) {
        preview_append(&w->plan.keys, out);
        preview_append_left(&w->plan.left, out);
    }
}

struct config_writer_counts config_writer_counts(const struct config_writer *w)
{
    return (struct config_writer_counts){.listed = w->keys.listed, .foreign = w->foreign};
}
