#include "kube2sky/reconcile/client_key_parts_internal.h"

#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/etcd/etcd.h"
#include "common/etcd/etcd_mirror.h"

/* Refusals without a success, before all wait: enough to find one bad key among a transaction's. An
 * etcd without space refuses everything. */
enum { REFUSALS_IN_ROW = 16 };

/* Of this transaction; it did not happen. */
static bool is_refusal(const struct err *err)
{
    return err->code == ERR_REFUSED || err->code == ERR_TOO_LARGE || err->code == ERR_NOT_FOUND;
}

/* It takes a person to end it. */
bool client_key_is_trouble(const struct err *err)
{
    return err->msg[0] && (is_refusal(err) || err->code == ERR_SHUT_OUT);
}

static int64_t next_attempt_ms(struct client_key_writer *w)
{
    return clock_monotonic_ms() + backoff_next_ms(&w->backoff, backoff_random());
}

static void log_sent(const struct client_key_writer *w, int64_t revision)
{
    for (size_t i = 0; i < w->batch.plan.op_count && log_is_on(LOG_LEVEL_DEBUG); i++) {
        struct etcd_op op = plan_get(&w->batch.plan, i);
        log_debug(op.kind == ETCD_OP_PUT ? "key written" : "key deleted", LOG_SLICE("key", op.key),
                  LOG_SLICE("owner", w->tree), LOG_INT("revision", revision));
    }
}

static void tell_restored(const struct client_key_writer *w)
{
    static struct log_limit limit = {.burst = 10};
    if (log_limit_pass(&limit)) {
        log_info("somebody else changed keys about clients, put right",
                 LOG_SLICE("key", plan_get(&w->batch.plan, 0).key),
                 LOG_INT("keys", (int64_t)w->batch.plan.op_count));
    }
}

/* The mirror has what was sent: whatever else it has is somebody else's. */
void client_key_land(struct client_key_writer *w, bool is_full)
{
    w->is_landing = false;
    for (struct client_key_there *key; (key = w->set.lists[CLIENT_KEY_SENT].first);) {
        bool is_ours = key->is_deleting ? !key->revision : key->revision == w->landing_at;
        bool is_others = !is_ours && !is_full && !key->has_changed && client_key_may_write(w);
        client_key_move(&w->set, key, is_others ? CLIENT_KEY_DISTURBED : CLIENT_KEY_CHANGED);
    }
}

static void on_applied(struct client_key_writer *w, int64_t revision)
{
    const struct plan *plan = &w->batch.plan;
    bool is_restoring = w->set.lists[CLIENT_KEY_SENT].first->is_restoring;
    if (w->failure.msg[0] && !client_key_count(&w->set, CLIENT_KEY_REFUSED)) {
        log_info("keys about clients can be written again", LOG_SLICE("below", w->tree));
        w->failure.msg[0] = '\0';
    }
    backoff_reset(&w->backoff);
    w->refusals = 0;
    w->ops_now = 2 * w->ops_now < w->batch.ops_max ? 2 * w->ops_now : w->batch.ops_max;
    log_sent(w, revision);
    if (is_restoring) {
        w->rest.written += plan->op_count;
        tell_restored(w);
    }
    etcd_mirror_note_write(w->mirror, revision);
    w->config.wrote(w->config.data, revision, plan->put_count, plan->op_count - plan->put_count,
                    is_restoring);
    w->landing_at = revision;
    w->is_landing = true;
    if (w->revision >= revision) {
        client_key_land(w, false);
    }
}

/* It did not happen, or it shows in the mirror. */
static void take_back(struct client_key_writer *w)
{
    for (struct client_key_there *key; (key = w->set.lists[CLIENT_KEY_SENT].first);) {
        bool is_restoring = key->is_restoring && !key->has_changed;
        client_key_move(&w->set, key, is_restoring ? CLIENT_KEY_DISTURBED : CLIENT_KEY_CHANGED);
    }
}

/* Halves until the key is alone that etcd refuses. */
static void on_refused(struct client_key_writer *w)
{
    size_t sent = client_key_count(&w->set, CLIENT_KEY_SENT);
    w->refusals++;
    if (sent > 1) {
        w->ops_now = sent / 2;
        take_back(w);
    } else {
        client_key_move_all(&w->set, CLIENT_KEY_SENT, CLIENT_KEY_REFUSED);
        w->refused_at_ms = next_attempt_ms(w);
    }
    if (w->refusals >= REFUSALS_IN_ROW) {
        w->send_at_ms = next_attempt_ms(w);
    }
}

static void on_failed(struct client_key_writer *w, const struct err *err)
{
    struct slice key = plan_get(&w->batch.plan, 0).key;
    bool is_telling = !is_refusal(err) || w->batch.plan.op_count == 1;
    if (is_telling && !w->failure.msg[0]) {
        log_warn("keys about clients cannot be written, retrying", LOG_SLICE("key", key),
                 LOG_STR("reason", err->msg));
    }
    if (is_telling) {
        w->failure = *err;
    }
    if (is_refusal(err)) {
        on_refused(w);
    } else {
        take_back(w);
        w->send_at_ms = next_attempt_ms(w);
    }
}

static void on_txn(void *data, const struct etcd_txn_reply *reply, const struct err *err)
{
    struct client_key_writer *w = data;
    w->call = NULL;
    if (err) {
        on_failed(w, err);
    } else if (reply->succeeded) {
        on_applied(w, reply->revision);
    } else {
        log_debug("transaction about clients not applied: a key or the leader changed",
                  LOG_INT("revision", reply->revision));
        take_back(w);
        w->config.refuted(w->config.data);
        w->send_at_ms = next_attempt_ms(w);
    }
}

void client_key_send(struct client_key_writer *w)
{
    const struct plan *plan = &w->batch.plan;
    struct etcd_txn txn = {
        .compares = w->compares,
        .ops = w->ops,
        .op_count = plan_batch_ops(&w->batch, w->ops),
    };
    for (size_t i = 0; i < plan->op_count; i++) {
        w->compares[txn.compare_count++] = (struct etcd_compare){
            .target = ETCD_COMPARE_MOD_REVISION,
            .key = plan_get(plan, i).key,
            .revision = plan->ops[i].revision,
        };
    }
    if (w->config.condition) {
        w->compares[txn.compare_count++] = w->config.condition(w->config.data);
    }
    w->call = etcd_txn(w->config.etcd, &txn, on_txn, w);
}
