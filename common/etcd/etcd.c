#include "common/etcd/etcd.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/xalloc.h"
#include "common/etcd/etcd_auth_internal.h"
#include "common/etcd/etcd_codec_internal.h"
#include "common/etcd/etcd_counts_internal.h"
#include "common/etcd/etcd_endpoint_internal.h"
#include "common/etcd/etcd_link_internal.h"
#include "common/etcd/etcd_unary_internal.h"

struct etcd {
    struct ev_loop *loop;
    uint32_t call_timeout_ms;
    struct etcd_endpoints endpoints;
    struct tls_client *tls;
    struct etcd_auth *auth; /* or NULL */
    struct etcd_link *calls;
    struct etcd_link *watches;
    struct etcd_counts counts;
};

void etcd_auth_settled(const struct etcd *etcd, const struct err *err)
{
    etcd_link_auth_settled(etcd->calls, err);
    etcd_link_auth_settled(etcd->watches, err);
}

static struct etcd_auth *auth_of(struct etcd *etcd, const struct etcd_config *config)
{
    if (!config->username || !config->username[0]) {
        return NULL;
    }
    return etcd_auth_new(&(struct etcd_auth_config){
        .etcd = etcd,
        .username = config->username,
        .password = config->password,
        .password_file = config->password_file,
        .counts = &etcd->counts,
    });
}

/* Returns false without https and TLS files, so that the system's root certificates are not
 * read. */
static bool needs_tls(const struct etcd_endpoints *endpoints, const struct tls_files *files)
{
    bool is_https = false;
    for (size_t i = 0; i < endpoints->count; i++) {
        is_https |= endpoints->items[i].is_tls;
    }
    return is_https || tls_files_any(files);
}

int etcd_new(const struct etcd_config *config, struct etcd **ret_etcd, struct err *err)
{
    struct etcd *etcd = xcalloc(1, sizeof(*etcd));
    int rc = etcd_endpoints_parse(config->endpoints, &etcd->endpoints, err);
    if (rc == 0 && needs_tls(&etcd->endpoints, &config->tls)) {
        rc = tls_client_new(&config->tls, &etcd->tls, err);
    }
    if (rc != 0) {
        etcd_endpoints_fini(&etcd->endpoints);
        free(etcd);
        return rc;
    }
    etcd->loop = config->loop;
    etcd->call_timeout_ms = config->call_timeout_ms;
    etcd->auth = auth_of(etcd, config);
    struct etcd_link_config link = {
        .name = "calls",
        .loop = config->loop,
        .endpoints = &etcd->endpoints,
        .look_up = config->look_up,
        .auth = etcd->auth,
        .tls = etcd->tls,
        .counts = &etcd->counts,
    };
    etcd->calls = etcd_link_new(&link);
    link.name = "watches";
    etcd->watches = etcd_link_new(&link);
    *ret_etcd = etcd;
    return 0;
}

void etcd_free(struct etcd *etcd)
{
    if (!etcd) {
        return;
    }
    etcd_link_free(etcd->calls);
    etcd_link_free(etcd->watches);
    etcd_auth_free(etcd->auth);
    etcd_endpoints_fini(&etcd->endpoints);
    tls_client_free(etcd->tls);
    free(etcd);
}

const char *etcd_endpoint(const struct etcd *etcd)
{
    return etcd_link_endpoint(etcd->watches);
}

int64_t etcd_silence_ms(const struct etcd *etcd)
{
    int64_t calls_ms = etcd_link_heard_ms(etcd->calls);
    int64_t watches_ms = etcd_link_heard_ms(etcd->watches);
    return clock_monotonic_ms() - (calls_ms > watches_ms ? calls_ms : watches_ms);
}

const struct etcd_counts *etcd_counts(const struct etcd *etcd)
{
    return &etcd->counts;
}

struct etcd_link *etcd_watch_link(struct etcd *etcd)
{
    return etcd->watches;
}

struct ev_loop *etcd_loop(const struct etcd *etcd)
{
    return etcd->loop;
}

void etcd_calls_elsewhere(struct etcd *etcd)
{
    etcd_link_leave(etcd->calls, "dropped, it may lead to another data set");
}

uint32_t etcd_call_timeout_ms(const struct etcd *etcd)
{
    return etcd->call_timeout_ms;
}

struct etcd_link *etcd_call_link(struct etcd *etcd)
{
    return etcd->calls;
}

/* ---- Range ---- */

static struct etcd_unary *range_unary(struct etcd *etcd, const struct etcd_range *range,
                                      etcd_range_cb cb, void *data)
{
    struct etcd_unary *u = etcd_unary_new(etcd, ETCD_UNARY_RANGE, (void (*)(void))cb, data);
    etcd_unary_touches(u, "read", range->key, range->range_end);
    etcd_encode_range(range, &u->request);
    return u;
}

struct etcd_call *etcd_range(struct etcd *etcd, const struct etcd_range *range, etcd_range_cb cb,
                             void *data)
{
    return etcd_unary_start(range_unary(etcd, range, cb, data));
}

struct etcd_call *etcd_watch_range(struct etcd *etcd, const struct etcd_range *range, bool only_now,
                                   etcd_range_cb cb, void *data)
{
    struct etcd_unary *u = range_unary(etcd, range, cb, data);
    u->is_watched = true;
    u->only_now = only_now;
    return etcd_unary_start(u);
}

struct etcd_call *etcd_watch_range_into(struct etcd *etcd, const struct etcd_range *range,
                                        uint32_t timeout_ms, struct arena *arena, etcd_range_cb cb,
                                        void *data)
{
    struct etcd_unary *u = range_unary(etcd, range, cb, data);
    u->is_watched = true;
    u->only_now = true;
    u->timeout_ms = timeout_ms;
    u->into = arena;
    return etcd_unary_start(u);
}

/* ---- Txn ---- */

static void txn_touches(struct etcd_unary *u, const struct etcd_txn *txn)
{
    struct slice first = slice_of(NULL, 0);
    struct slice last = first;
    for (size_t i = 0; i < txn->op_count; i++) {
        struct slice key = txn->ops[i].key;
        first = i == 0 || slice_compare(key, first) < 0 ? key : first;
        last = i == 0 || slice_compare(key, last) > 0 ? key : last;
    }
    u->key_count = txn->op_count;
    etcd_unary_touches(u, "write", first, txn->op_count > 1 ? last : slice_of(NULL, 0));
}

static struct etcd_unary *txn_unary(struct etcd *etcd, const struct etcd_txn *txn, etcd_txn_cb cb,
                                    void *data)
{
    struct etcd_unary *u = etcd_unary_new(etcd, ETCD_UNARY_TXN, (void (*)(void))cb, data);
    txn_touches(u, txn);
    etcd_encode_txn(txn, &u->request);
    return u;
}

struct etcd_call *etcd_txn(struct etcd *etcd, const struct etcd_txn *txn, etcd_txn_cb cb,
                           void *data)
{
    return etcd_unary_start(txn_unary(etcd, txn, cb, data));
}

struct etcd_call *etcd_watch_txn(struct etcd *etcd, const struct etcd_txn *txn, etcd_txn_cb cb,
                                 void *data)
{
    struct etcd_unary *u = txn_unary(etcd, txn, cb, data);
    u->is_watched = true;
    u->only_now = true;
    return etcd_unary_start(u);
}

/* ---- Status ---- */

/* Sends an empty message as the request. */
struct etcd_call *etcd_status(struct etcd *etcd, etcd_status_cb cb, void *data)
{
    return etcd_unary_start(etcd_unary_new(etcd, ETCD_UNARY_STATUS, (void (*)(void))cb, data));
}

/* ---- Leases (etcd_lease.h) ---- */

struct etcd_call *etcd_lease_grant(struct etcd *etcd, int64_t id, int64_t ttl_s, etcd_lease_cb cb,
                                   void *data)
{
    struct etcd_unary *u = etcd_unary_new(etcd, ETCD_UNARY_LEASE_GRANT, (void (*)(void))cb, data);
    etcd_encode_lease_grant(id, ttl_s, &u->request);
    return etcd_unary_start(u);
}

/* Sends one request and half-closes the stream, which makes it a call. */
struct etcd_call *etcd_lease_keep_alive(struct etcd *etcd, int64_t id, etcd_lease_cb cb, void *data)
{
    struct etcd_unary *u =
        etcd_unary_new(etcd, ETCD_UNARY_LEASE_KEEP_ALIVE, (void (*)(void))cb, data);
    etcd_encode_lease_id(id, &u->request);
    return etcd_unary_start(u);
}

struct etcd_call *etcd_lease_time_to_live(struct etcd *etcd, int64_t id, etcd_lease_cb cb,
                                          void *data)
{
    struct etcd_unary *u =
        etcd_unary_new(etcd, ETCD_UNARY_LEASE_TIME_TO_LIVE, (void (*)(void))cb, data);
    etcd_encode_lease_id(id, &u->request);
    return etcd_unary_start(u);
}

struct etcd_call *etcd_lease_revoke(struct etcd *etcd, int64_t id, etcd_revoke_cb cb, void *data)
{
    struct etcd_unary *u = etcd_unary_new(etcd, ETCD_UNARY_LEASE_REVOKE, (void (*)(void))cb, data);
    etcd_encode_lease_id(id, &u->request);
    return etcd_unary_start(u);
}

/* ---- Helpers ---- */

struct slice etcd_prefix_end(struct slice prefix, char *out)
{
    size_t len = prefix.len;
    while (len > 0 && (unsigned char)prefix.ptr[len - 1] == 0xff) {
        len--;
    }
    if (len > 0) {
        memcpy(out, prefix.ptr, len);
        out[len - 1] = (char)((unsigned char)out[len - 1] + 1);
    }
    return slice_of(out, len);
}
