#include "kube2sky/reconcile/leader_internal.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/attributes.h"
#include "common/base/backoff.h"
#include "common/base/buf.h"
#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/base/timer.h"
#include "common/base/xalloc.h"
#include "common/etcd/etcd_lease.h"
#include "common/etcd/etcd_store_id.h"
#include "common/etcd/etcd_watch.h"

/* Keepalives per lease time: two may be lost. */
enum { KEEPS_PER_LEASE = 3 };

/* Host names have up to 253 bytes in DNS, 64 in Linux; longer texts of other writers are
 * truncated. */
enum { HOLDER_MAX = 300 };

struct leader {
    struct leader_config config;
    char *key;
    char *own_name;
    char *holder;

    bool is_leading;
    bool is_resigned;
    int64_t lease; /* ours; 0 = none */
    int64_t lease_s;
    int64_t sent_ms;     /* monotonic; when the lease or its last keepalive was requested */
    int64_t deadline_ms; /* monotonic; the lease certainly lives until then */

    /* A key without a lease */
    int64_t stray_revision; /* its mod_revision; 0: none */
    int64_t stray_until_ms; /* monotonic; the key is overwritten then */
    ev_timer stray;

    struct etcd_call *call; /* read, grant or claim */
    struct etcd_call *keep;
    struct etcd_call *revoke;
    struct etcd_watch *watch;
    struct backoff backoff;
    ev_timer retry;
    ev_timer keep_timer;
    ev_timer deadline;

    ev_timer resigned; /* active: `done` is to be called */
    void (*done)(void *data);
    void *done_data;
};

static void leader_read_key(struct leader *l);

static void leader_cancel(struct etcd_call **call)
{
    if (*call) {
        etcd_call_cancel(*call);
        *call = NULL;
    }
}

static void leader_start_timer(struct leader *l, ev_timer *timer, int64_t ms)
{
    ev_now_update(l->config.loop);
    timer_arm_ms(l->config.loop, timer, ms);
}

static void look_later(struct leader *l)
{
    uint32_t delay_ms = backoff_next_ms(&l->backoff, backoff_random());
    log_debug("checking the leader again later", LOG_INT("retry_ms", delay_ms));
    leader_start_timer(l, &l->retry, delay_ms);
}

static void set_holder(struct leader *l, struct slice holder)
{
    char *before = l->holder;
    l->holder = xstrndup(holder.ptr, holder.len < HOLDER_MAX ? holder.len : HOLDER_MAX);
    bool is_other = *l->holder && strcmp(l->holder, l->own_name) != 0;
    if (is_other && strcmp(l->holder, before) != 0) {
        log_info("another leads", LOG_STR("leader", l->holder));
    }
    free(before);
}

/* ---- Losing the lead ---- */

static void on_revoked(void *data, const struct etcd_revoke_reply *reply UNUSED,
                       const struct err *err UNUSED)
{
    struct leader *l = data;
    l->revoke = NULL; /* a lease that cannot be revoked expires by itself */
    if (l->done) {
        l->done(l->done_data);
    }
}

static void leader_release_lease(struct leader *l)
{
    leader_cancel(&l->revoke);
    if (l->lease) {
        log_debug("revoking the lease", LOG_INT("lease", l->lease));
        l->revoke = etcd_lease_revoke(l->config.etcd, l->lease, on_revoked, l);
        l->lease = 0;
    }
}

static void stop_keeping(struct leader *l)
{
    leader_cancel(&l->keep);
    ev_timer_stop(l->config.loop, &l->keep_timer);
    ev_timer_stop(l->config.loop, &l->deadline);
}

static void reconcile_leader_resign(struct leader *l, const char *why)
{
    stop_keeping(l);
    leader_release_lease(l);
    if (l->is_leading) {
        l->is_leading = false;
        log_warn("no longer leading", LOG_STR("reason", why));
        if (l->config.changed) {
            l->config.changed(l->config.data, false);
        }
    }
}

/* ---- Keeping the lead ---- */

static void live_until(struct leader *l, int64_t ttl_s)
{
    l->deadline_ms = l->sent_ms + ttl_s * 1000;
    leader_start_timer(l, &l->deadline, l->deadline_ms - clock_monotonic_ms());
}

static void leader_on_deadline(struct ev_loop *loop UNUSED, ev_timer *timer, int revents UNUSED)
{
    struct leader *l = timer->data;
    reconcile_leader_resign(l, "lease keepalive failed");
    leader_read_key(l);
}

static void on_kept(void *data, const struct etcd_lease_reply *reply, const struct err *err)
{
    struct leader *l = data;
    l->keep = NULL;
    if (err) {
        log_debug("lease not renewed, retrying", LOG_INT("lease", l->lease),
                  LOG_STR("reason", err->msg));
        leader_start_timer(l, &l->keep_timer, backoff_next_ms(&l->backoff, backoff_random()));
    } else if (reply->ttl_s <= 0) {
        reconcile_leader_resign(l, "the lease is gone");
        leader_read_key(l);
    } else {
        log_debug("lease renewed", LOG_INT("lease", l->lease), LOG_INT("ttl_s", reply->ttl_s));
        live_until(l, reply->ttl_s);
        leader_start_timer(l, &l->keep_timer, l->lease_s * 1000 / KEEPS_PER_LEASE);
    }
}

static void on_keep_timer(struct ev_loop *loop UNUSED, ev_timer *timer, int revents UNUSED)
{
    struct leader *l = timer->data;
    l->sent_ms = clock_monotonic_ms();
    l->keep = etcd_lease_keep_alive(l->config.etcd, l->lease, on_kept, l);
}

static void leader_become_leader(struct leader *l)
{
    l->stray_revision = 0;
    l->is_leading = true;
    live_until(l, l->lease_s);
    leader_start_timer(l, &l->keep_timer, l->lease_s * 1000 / KEEPS_PER_LEASE);
    set_holder(l, slice_str(l->own_name));
    log_info("leading", LOG_STR("as", l->own_name), LOG_INT("lease_s", l->lease_s));
    if (l->config.changed) {
        l->config.changed(l->config.data, true);
    }
}

/* ---- Following ---- */

static void leader_on_events(void *data, const struct etcd_event *events UNUSED,
                             size_t count UNUSED, int64_t revision UNUSED)
{
    leader_read_key(data);
}

static void on_watch_up(void *data UNUSED)
{
    /* does nothing: only events matter */
}

static void leader_on_watch_end(void *data, const struct err *err UNUSED)
{
    struct leader *l = data;
    etcd_watch_stop(l->watch);
    l->watch = NULL;
    look_later(l);
}

/* Watches the key also while leading, since another writer may delete it. */
static void leader_watch(struct leader *l, int64_t from)
{
    l->watch = etcd_watch_start(l->config.etcd, &(struct etcd_watch_config){
                                                    .key = slice_str(l->key),
                                                    .start_revision = from,
                                                    .on_events = leader_on_events,
                                                    .on_up = on_watch_up,
                                                    .on_end = leader_on_watch_end,
                                                    .data = l,
                                                });
}

/* ---- Claiming the lead ---- */

static void on_claimed(void *data, const struct etcd_txn_reply *reply, const struct err *err)
{
    struct leader *l = data;
    l->call = NULL;
    if (err) {
        look_later(l); /* reads the key, which tells who holds it */
    } else if (reply->succeeded) {
        leader_become_leader(l);
        leader_watch(l, reply->revision + 1);
    } else {
        leader_read_key(l);
    }
}

static void on_granted(void *data, const struct etcd_lease_reply *reply, const struct err *err)
{
    struct leader *l = data;
    l->call = NULL;
    if (err) {
        look_later(l);
        return;
    }
    l->lease = reply->id;
    l->lease_s = reply->granted_s;
    log_debug("lease granted, claiming the lead", LOG_INT("lease", l->lease),
              LOG_INT("lease_s", l->lease_s));
    const struct etcd_compare is_nobodys = {
        .target = ETCD_COMPARE_MOD_REVISION,
        .key = slice_str(l->key),
        .revision = l->stray_revision,
    };
    const struct etcd_op put = {
        .kind = ETCD_OP_PUT,
        .key = slice_str(l->key),
        .value = slice_str(l->own_name),
        .lease = l->lease,
    };
    const struct etcd_txn txn = {
        .compares = &is_nobodys,
        .compare_count = 1,
        .ops = &put,
        .op_count = 1,
    };
    l->call = etcd_txn(l->config.etcd, &txn, on_claimed, l);
}

static char *make_own_name(void)
{
    char host[256];
    if (gethostname(host, sizeof(host)) < 0) {
        host[0] = '\0';
    }
    host[sizeof(host) - 1] = '\0';
    return xasprintf("%s-%08x", host, backoff_random());
}

static void leader_claim(struct leader *l)
{
    reconcile_leader_resign(l, l->stray_revision ? "the key has no lease" : "the key is gone");
    set_holder(l, slice_of(NULL, 0));
    free(l->own_name);
    l->own_name = make_own_name();
    l->sent_ms = clock_monotonic_ms();
    l->call = etcd_lease_grant(l->config.etcd, 0, l->config.lease_s, on_granted, l);
}

/* ---- A key without a lease ---- */

static void leader_on_look(struct ev_loop *loop UNUSED, ev_timer *timer, int revents UNUSED)
{
    leader_read_key(timer->data);
}

static void forget_stray(struct leader *l)
{
    l->stray_revision = 0;
    ev_timer_stop(l->config.loop, &l->stray);
}

/* Returns whether the key has been unchanged for a lease time, so that no process can hold it. */
static bool is_abandoned(struct leader *l, const struct etcd_kv *kv)
{
    static struct log_limit limit = {.burst = 10};
    int64_t now_ms = clock_monotonic_ms();
    if (l->stray_revision != kv->mod_revision) {
        l->stray_revision = kv->mod_revision;
        l->stray_until_ms = now_ms + l->config.lease_s * 1000;
        if (log_limit_pass(&limit)) {
            log_warn("the leader's key has no lease, overwriting it after the time of one",
                     LOG_STR("key", l->key), LOG_SLICE("leader", kv->value),
                     LOG_INT("lease_s", l->config.lease_s));
        }
    }
    if (now_ms >= l->stray_until_ms) {
        return true;
    }
    leader_start_timer(l, &l->stray, l->stray_until_ms - now_ms);
    return false;
}

bool leader_explain(const struct leader *l, struct buf *out)
{
    if (!l->stray_revision || l->is_leading) {
        return false;
    }
    buf_printf(out, "nobody may write: the leader's key %s has no lease", l->key);
    return true;
}

/* ---- Reading the key ---- */

static void leader_on_key_read(void *data, const struct etcd_range_reply *reply,
                               const struct err *err)
{
    struct leader *l = data;
    l->call = NULL;
    if (err) {
        look_later(l);
        return;
    }
    backoff_reset(&l->backoff);
    if (reply->count == 0) {
        forget_stray(l);
        leader_claim(l);
        return;
    }
    const struct etcd_kv *kv = &reply->kvs[0];
    bool is_ours =
        l->lease && kv->lease == l->lease && slice_equal(kv->value, slice_str(l->own_name));
    log_debug("leader key read", LOG_SLICE("leader", kv->value), LOG_INT("is_ours", is_ours));
    if (kv->lease) {
        forget_stray(l);
    } else if (is_abandoned(l, kv)) {
        leader_claim(l);
        return;
    }
    if (!is_ours) {
        reconcile_leader_resign(l, "another one holds the key");
        set_holder(l, kv->value);
    } else if (!l->is_leading) {
        leader_become_leader(l); /* the response to the claim was lost */
    }
    leader_watch(l, reply->revision + 1);
}

static void leader_read_key(struct leader *l)
{
    ev_timer_stop(l->config.loop, &l->retry);
    leader_cancel(&l->call);
    etcd_watch_stop(l->watch);
    l->watch = NULL;
    if (!l->is_resigned) {
        const struct etcd_range range = {.key = slice_str(l->key)};
        l->call = etcd_range(l->config.etcd, &range, leader_on_key_read, l);
    }
}

/* ---- Lifetime ---- */

static void on_resigned(struct ev_loop *loop UNUSED, ev_timer *timer, int revents UNUSED)
{
    struct leader *l = timer->data;
    l->done(l->done_data);
}

struct leader *leader_start(const struct leader_config *config)
{
    struct leader *l = xcalloc(1, sizeof(*l));
    l->config = *config;
    l->key = etcd_writer_key(slice_str(config->domain), "leader");
    l->own_name = xstrdup("");
    l->holder = xstrdup("");
    backoff_init(&l->backoff, BACKOFF_REMOTE_FIRST_MS, BACKOFF_REMOTE_MAX_MS);
    timer_init(&l->retry, leader_on_look, l);
    timer_init(&l->keep_timer, on_keep_timer, l);
    timer_init(&l->deadline, leader_on_deadline, l);
    timer_init(&l->stray, leader_on_look, l);
    timer_init(&l->resigned, on_resigned, l);
    leader_read_key(l);
    return l;
}

static void leader_stop_all(struct leader *l)
{
    l->is_resigned = true;
    leader_read_key(l); /* only stops pending calls */
    stop_keeping(l);
    forget_stray(l);
}

void leader_stop(struct leader *l)
{
    if (!l) {
        return;
    }
    leader_stop_all(l);
    leader_cancel(&l->revoke);
    ev_timer_stop(l->config.loop, &l->resigned);
    free(l->holder);
    free(l->own_name);
    free(l->key);
    free(l);
}

bool leader_is_leading(const struct leader *l)
{
    return l->is_leading && clock_monotonic_ms() < l->deadline_ms;
}

struct etcd_compare leader_condition(const struct leader *l)
{
    return (struct etcd_compare){
        .target = ETCD_COMPARE_VALUE,
        .key = slice_str(l->key),
        .value = slice_str(l->own_name),
    };
}

void leader_doubt(struct leader *l)
{
    if (l->is_leading && !l->call) {
        leader_read_key(l);
    }
}

void leader_resign(struct leader *l, void (*done)(void *data), void *data)
{
    l->done = done;
    l->done_data = data;
    leader_stop_all(l);
    l->is_leading = false;
    leader_release_lease(l);
    if (!l->revoke) {
        leader_start_timer(l, &l->resigned, 0);
    }
}

const char *leader_holder(const struct leader *l)
{
    return l->holder;
}
