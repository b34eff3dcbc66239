#include "kube2sky/reconcile/client_key_parts_internal.h"

#include <stdlib.h>

#include "common/base/attributes.h"
#include "common/base/cleanup.h"
#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/base/xalloc.h"
#include "common/etcd/etcd.h"
#include "common/etcd/etcd_mirror.h"
#include "common/etcd/etcd_store_id.h"
#include "kube2sky/reconcile/actual.h"
#include "kube2sky/reconcile/contest_internal.h"

bool client_key_may_write(const struct client_key_writer *w)
{
    return !w->config.planned && w->config.may_write(w->config.data);
}

/* ---- Whose keys ---- */

static struct slice name_of(const struct client_key_writer *w, struct slice key)
{
    return slice_of(key.ptr + w->tree.len, key.len - w->tree.len);
}

struct slice client_key_named(struct client_key_writer *w, struct slice name)
{
    buf_clear(&w->key);
    buf_append_slice(&w->key, w->tree);
    buf_append_slice(&w->key, name);
    return buf_slice(&w->key);
}

/* Several writers put node addresses there. */
static bool is_shared(const struct client_key_writer *w)
{
    return w->config.part == CLIENT_KEYS_NODE_ADDRESS && w->config.namespace_count > 0;
}

static bool is_ours(const struct client_key_writer *w, struct slice key)
{
    if (!slice_has_prefix(key, w->tree) || key.len > CLIENT_KEY_MAX ||
        !client_keys_is_name(w->config.part, name_of(w, key))) {
        return false;
    }
    bool is_here = w->config.part != CLIENT_KEYS_VISIBLE || w->config.namespace_count == 0;
    for (size_t i = 0; i < w->config.namespace_count && !is_here; i++) {
        is_here = slice_equal(slice_str(w->config.namespaces[i]), name_of(w, key));
    }
    return is_here;
}

/* ---- One key ---- */

static bool may_delete(const struct client_key_writer *w, const struct client_key_there *key)
{
    return client_keys_may_delete(w->config.keys, w->config.part) &&
           w->config.is_free(w->config.data, name_of(w, client_key_text(key)));
}

/* What there is to do about it. */
enum client_key_look client_key_look_at(const struct client_key_writer *w,
                                        const struct client_key_there *key, struct etcd_op *ret_op)
{
    struct slice text = client_key_text(key);
    struct slice value = client_keys_value(w->config.keys, text);
    *ret_op = (struct etcd_op){
        .kind = value.ptr ? ETCD_OP_PUT : ETCD_OP_DELETE,
        .key = text,
        .value = value,
    };
    if (value.ptr) {
        bool is_right = key->revision && key->hash == actual_value_hash(value);
        return is_right ? LOOK_SETTLED : LOOK_OP;
    }
    if (!key->revision || is_shared(w)) {
        return LOOK_SETTLED;
    }
    return may_delete(w, key) ? LOOK_OP : LOOK_KEPT;
}

static void settle(struct client_key_writer *w, struct client_key_there *key)
{
    struct slice name = name_of(w, client_key_text(key));
    key->has_changed = false;
    w->config.settled(w->config.data, name);
    client_key_move(&w->set, key, CLIENT_KEY_SETTLED);
}

/* Its state in etcd changed, not by a transaction of ours that is in flight. */
static void disturb(struct client_key_writer *w, struct client_key_there *key)
{
    bool is_others = client_key_may_write(w) && w->is_mirrored && !w->is_mid_read;
    if (key->state == CLIENT_KEY_SETTLED) {
        client_key_move(&w->set, key, is_others ? CLIENT_KEY_DISTURBED : CLIENT_KEY_CHANGED);
    } else if (key->state == CLIENT_KEY_KEPT) {
        client_key_move(&w->set, key, CLIENT_KEY_CHANGED);
    }
}

/* ---- Planning ---- */

/* Wakes the loop for the turn in which it is time. */
static void set_alarm(struct client_key_writer *w, int64_t at_ms, int64_t now_ms)
{
    ev_now_update(w->config.loop);
    ev_timer_stop(w->config.loop, &w->wake);
    ev_timer_set(&w->wake, (double)(at_ms - now_ms + 1) / 1000, 0.0);
    ev_timer_start(w->config.loop, &w->wake);
}

static void on_wake(struct ev_loop *loop UNUSED, ev_timer *timer UNUSED, int revents UNUSED)
{
    /* the turn that follows looks at the clock */
}

static bool board(struct client_key_writer *w, struct client_key_there *key,
                  const struct etcd_op *op, bool is_restoring)
{
    size_t from = 0;
    plan_build_nothing(&w->single);
    plan_add(&w->single, op, key->revision);
    if (plan_batch_add(&w->batch, &w->single, &from) == PLAN_FITS_NOT) {
        return false;
    }
    key->is_deleting = op->kind == ETCD_OP_DELETE;
    key->is_restoring = is_restoring;
    key->has_changed = false;
    client_key_move(&w->set, key, CLIENT_KEY_SENT);
    return true;
}

/* Whether keys of the list wait for a transaction; looks at those that do not. */
static bool has_work(struct client_key_writer *w, enum client_key_state list)
{
    struct etcd_op op;
    for (struct client_key_there *key; (key = w->set.lists[list].first);) {
        switch (client_key_look_at(w, key, &op)) {
        case LOOK_SETTLED:
            settle(w, key);
            break;
        case LOOK_KEPT:
            client_key_move(&w->set, key, CLIENT_KEY_KEPT);
            break;
        case LOOK_OP:
            return true;
        }
    }
    return false;
}

/* A transaction of as many keys of the list as fit, at most max. */
static void send_some(struct client_key_writer *w, enum client_key_state list, size_t max)
{
    bool has_room = true;
    plan_batch_clear(&w->batch);
    while (has_room && w->batch.plan.op_count < max && has_work(w, list)) {
        struct client_key_there *key = w->set.lists[list].first;
        struct etcd_op op;
        (void)client_key_look_at(w, key, &op);
        has_room = board(w, key, &op, list == CLIENT_KEY_DISTURBED);
    }
    client_key_send(w);
}

/* Keys that others changed rest first if they do that again and again. */
static bool must_rest(struct client_key_writer *w, int64_t now_ms)
{
    struct slice key = client_key_text(w->set.lists[CLIENT_KEY_DISTURBED].first);
    uint32_t ms = config_rest_before(&w->rest, true, w->set.table.count, now_ms);
    if (ms && w->rest.restorations == CONTEST_FREE) {
        log_warn("another writer keeps changing keys about clients, restoring them less often",
                 LOG_SLICE("key", key));
    }
    if (ms) {
        w->restore_at_ms = now_ms + ms;
    }
    return now_ms < w->restore_at_ms;
}

/* What changed comes first: neither another writer nor what etcd refuses holds it up. */
static void send_next(struct client_key_writer *w)
{
    int64_t now_ms = clock_monotonic_ms();
    if (now_ms < w->send_at_ms) {
        set_alarm(w, w->send_at_ms, now_ms);
        return;
    }
    if (has_work(w, CLIENT_KEY_CHANGED)) {
        send_some(w, CLIENT_KEY_CHANGED, w->ops_now);
        return;
    }
    if (!has_work(w, CLIENT_KEY_DISTURBED)) {
        config_rest_end(&w->rest, now_ms);
    } else if (!must_rest(w, now_ms)) {
        send_some(w, CLIENT_KEY_DISTURBED, w->ops_now);
        return;
    } else {
        set_alarm(w, w->restore_at_ms, now_ms);
    }
    if (has_work(w, CLIENT_KEY_REFUSED)) {
        if (now_ms >= w->refused_at_ms) {
            send_some(w, CLIENT_KEY_REFUSED, 1);
        } else if (!ev_is_active(&w->wake)) {
            set_alarm(w, w->refused_at_ms, now_ms);
        }
    }
}

/* Not the leader, or a dry run: what it would write is kept. */
static void look_over(struct client_key_writer *w)
{
    plan_build_nothing(&w->shown);
    while (has_work(w, CLIENT_KEY_CHANGED)) {
        struct client_key_there *key = w->set.lists[CLIENT_KEY_CHANGED].first;
        struct etcd_op op;
        (void)client_key_look_at(w, key, &op);
        if (!key->is_told) {
            plan_add(&w->shown, &op, key->revision);
        }
        key->is_told = true;
        client_key_move(&w->set, key, CLIENT_KEY_KEPT);
    }
    if (w->config.planned && w->shown.op_count) {
        w->config.planned(w->config.data, &w->shown);
    }
}

static void take_changes(struct client_key_writer *w)
{
    struct slice text;
    while ((text = client_keys_next_change(w->config.keys, w->config.part)).ptr) {
        if (is_ours(w, text)) {
            struct client_key_there *key = client_key_get(&w->set, text);
            key->has_changed = true;
            if (key->state != CLIENT_KEY_SENT) {
                client_key_move(&w->set, key, CLIENT_KEY_CHANGED);
            }
        }
    }
    bool can_delete = client_keys_may_delete(w->config.keys, w->config.part);
    if (can_delete && !w->could_delete) {
        client_key_writer_recheck(w, slice_of(NULL, 0));
    }
    w->could_delete = can_delete;
}

bool client_key_can_plan(const struct client_key_writer *w)
{
    return w->is_mirrored && !w->is_mid_publication && !w->call && !w->is_landing;
}

void client_key_writer_turn(struct client_key_writer *w)
{
    take_changes(w);
    if (w->is_news && !w->is_mid_publication) {
        w->is_news = false;
        w->config.settled(w->config.data, slice_of(NULL, 0));
    }
    if (client_key_can_plan(w) && client_key_may_write(w)) {
        send_next(w);
    } else if (client_key_can_plan(w)) {
        look_over(w);
    }
}

void client_key_writer_recheck(struct client_key_writer *w, struct slice name)
{
    if (!client_key_count(&w->set, CLIENT_KEY_KEPT)) {
        return;
    }
    if (!name.len) {
        client_key_move_all(&w->set, CLIENT_KEY_KEPT, CLIENT_KEY_CHANGED);
        return;
    }
    struct client_key_there *key = client_key_find(&w->set, client_key_named(w, name));
    if (key && key->state == CLIENT_KEY_KEPT) {
        client_key_move(&w->set, key, CLIENT_KEY_CHANGED);
    }
}

void client_key_writer_lead_changed(struct client_key_writer *w)
{
    w->rest = (struct config_rest){.restorations = 0};
    w->restore_at_ms = 0;
    client_key_move_all(&w->set, CLIENT_KEY_DISTURBED, CLIENT_KEY_CHANGED);
    client_key_writer_recheck(w, slice_of(NULL, 0));
}

/* ---- The mirror ---- */

static void on_full_begin(void *data, const struct etcd_mirror_read *read UNUSED)
{
    struct client_key_writer *w = data;
    w->is_mid_publication = true;
    w->is_mid_read = true;
    w->generation++;
}

static void on_put(void *data, const struct etcd_kv *kv)
{
    struct client_key_writer *w = data;
    w->is_mid_publication = true;
    if (!is_ours(w, kv->key)) {
        return;
    }
    struct client_key_there *key = client_key_get(&w->set, kv->key);
    uint64_t hash = actual_value_hash(kv->value);
    bool has_changed = !key->revision || key->hash != hash;
    client_key_set_revision(&w->set, key, kv->mod_revision);
    key->hash = hash;
    key->generation = w->generation;
    if (has_changed) {
        disturb(w, key);
    }
}

static void on_del(void *data, struct slice text, int64_t revision UNUSED)
{
    struct client_key_writer *w = data;
    struct client_key_there *key = client_key_find(&w->set, text);
    w->is_mid_publication = true;
    if (key) {
        client_key_set_revision(&w->set, key, 0);
        disturb(w, key);
    }
}

static void on_commit(void *data, int64_t revision, bool full)
{
    struct client_key_writer *w = data;
    w->is_mid_publication = false;
    w->revision = revision;
    if (full) {
        client_key_set_sweep(&w->set, w->generation);
        w->is_mirrored = true;
        w->is_mid_read = false;
        w->is_news = true;
    }
    if (w->is_landing && (full || revision >= w->landing_at)) {
        client_key_land(w, full);
    }
}

/* etcd's outages are told by the reconciler's mirror: here only what concerns these keys. */
static void on_state(void *data, const struct err *err)
{
    struct client_key_writer *w = data;
    if (err && client_key_is_trouble(err) && !w->read_failure.msg[0]) {
        log_warn("keys about clients cannot be read, retrying", LOG_SLICE("below", w->tree),
                 LOG_STR("reason", err->msg));
    }
    w->is_news |= !err && !w->is_following;
    w->is_following = !err;
    w->read_failure = err ? *err : (struct err){.code = 0};
}

/* ---- Lifetime ---- */

static void follow(struct client_key_writer *w)
{
    CLEANUP_FREE char *store_key = etcd_store_key(slice_str(w->config.domain));
    w->mirror = etcd_mirror_start(w->config.etcd, &(struct etcd_mirror_config){
                                                      .prefix = w->tree,
                                                      .store_key = slice_str(store_key),
                                                      .full_begin = on_full_begin,
                                                      .put = on_put,
                                                      .del = on_del,
                                                      .commit = on_commit,
                                                      .state = on_state,
                                                      .data = w,
                                                  });
}

struct client_key_writer *client_key_writer_start(const struct client_key_writer_config *config)
{
    struct client_key_writer *w = xcalloc(1, sizeof(*w));
    w->config = *config;
    w->tree = client_keys_tree(config->keys, config->part);
    client_key_set_init(&w->set);
    buf_init(&w->key, CLIENT_KEY_MAX);
    plan_init(&w->single);
    plan_init(&w->shown);
    /* Each operation has a condition, and etcd counts both. */
    plan_batch_init(&w->batch, config->txn_ops_max - (config->condition != NULL));
    w->ops_now = w->batch.ops_max;
    w->ops = xcalloc(config->txn_ops_max, sizeof(*w->ops));
    w->compares = xcalloc(config->txn_ops_max, sizeof(*w->compares));
    backoff_init(&w->backoff, BACKOFF_REMOTE_FIRST_MS, BACKOFF_REFUSED_MAX_MS);
    ev_timer_init(&w->wake, on_wake, 0.0, 0.0);
    follow(w);
    return w;
}

void client_key_writer_stop(struct client_key_writer *w)
{
    if (!w) {
        return;
    }
    etcd_mirror_stop(w->mirror);
    if (w->call) {
        etcd_call_cancel(w->call);
    }
    ev_timer_stop(w->config.loop, &w->wake);
    client_key_set_fini(&w->set);
    buf_fini(&w->key);
    plan_fini(&w->single);
    plan_fini(&w->shown);
    plan_batch_fini(&w->batch);
    free(w->ops);
    free(w->compares);
    free(w);
}
