#include "common/etcd/etcd_unary_internal.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/attributes.h"
#include "common/base/err.h"
#include "common/base/xalloc.h"
#include "common/etcd/etcd_codec_internal.h"
#include "common/etcd/etcd_link_internal.h"
#include "common/grpc/grpc.h"

/* Bounds what a message shows of each key. */
enum { KEY_SHOWN_MAX = 80 };

static const char *const paths[] = {
    [ETCD_UNARY_RANGE] = "/etcdserverpb.KV/Range",
    [ETCD_UNARY_TXN] = "/etcdserverpb.KV/Txn",
    [ETCD_UNARY_STATUS] = "/etcdserverpb.Maintenance/Status",
    [ETCD_UNARY_LEASE_GRANT] = "/etcdserverpb.Lease/LeaseGrant",
    [ETCD_UNARY_LEASE_KEEP_ALIVE] = "/etcdserverpb.Lease/LeaseKeepAlive",
    [ETCD_UNARY_LEASE_TIME_TO_LIVE] = "/etcdserverpb.Lease/LeaseTimeToLive",
    [ETCD_UNARY_LEASE_REVOKE] = "/etcdserverpb.Lease/LeaseRevoke",
};

struct etcd_unary *etcd_unary_new(struct etcd *etcd, enum etcd_unary_kind kind, void (*cb)(void),
                                  void *data)
{
    struct etcd_unary *u = xcalloc(1, sizeof(*u));
    u->etcd = etcd;
    u->kind = kind;
    u->cb = cb;
    u->data = data;
    arena_init(&u->arena, ETCD_DECODED_MAX);
    buf_init(&u->request, GRPC_SEND_MAX);
    return u;
}

static void unary_release(void *data)
{
    struct etcd_unary *u = data;
    arena_fini(&u->arena);
    free(u);
}

static struct slice etcd_unary_printable(struct arena *arena, struct slice s)
{
    size_t len = s.len < KEY_SHOWN_MAX ? s.len : KEY_SHOWN_MAX;
    char *copy = arena_alloc(arena, len);
    if (!copy || len == 0) {
        return slice_of(NULL, 0);
    }
    memcpy(copy, s.ptr, len);
    return slice_of(copy, len);
}

void etcd_unary_touches(struct etcd_unary *u, const char *verb, struct slice key,
                        struct slice range_end)
{
    u->verb = verb;
    u->key = etcd_unary_printable(&u->arena, key);
    u->range_end = etcd_unary_printable(&u->arena, range_end);
}

static void add_range(const struct etcd_unary *u, struct err *err)
{
    char text[2 * KEY_SHOWN_MAX + 64];
    CLEANUP_BUF struct buf b = buf_of(sizeof(text) - 1);
    if (u->key_count > 1) {
        buf_printf(&b, "%zu keys from ", u->key_count);
    }
    buf_append_slice(&b, u->key);
    if (u->range_end.len == 1 && u->range_end.ptr[0] == '\0') {
        buf_append_str(&b, " and all keys after it");
    } else if (u->range_end.len > 0) {
        buf_append_str(&b, u->key_count > 1 ? " to " : " up to ");
        buf_append_slice(&b, u->range_end);
    }
    memcpy(text, buf_cstr(&b), b.len);
    text[b.len] = '\0';
    char reason[sizeof(err->msg)];
    memcpy(reason, err->msg, sizeof(reason));
    err_set(err, err->code, "%s, to %s %s", reason, u->verb, text);
}

/* Refines err->code, and the message of a missing permission. */
static void etcd_unary_explain(const struct etcd_unary *u, int status, struct err *err)
{
    if (status == STATUS_OUT_OF_RANGE && strstr(err->msg, "compacted")) {
        err->code = ERR_COMPACTED;
    } else if (status == STATUS_OUT_OF_RANGE && strstr(err->msg, "future revision")) {
        err->code = ERR_FUTURE;
    } else if (status == STATUS_PERMISSION_DENIED && u->verb) {
        add_range(u, err);
    }
}

static int unary_decode(struct etcd_unary *u, struct slice message, struct err *err)
{
    struct arena *arena = u->into ? u->into : &u->arena;
    switch (u->kind) {
    case ETCD_UNARY_RANGE:
        return etcd_decode_range(message, arena, &u->reply.range, err);
    case ETCD_UNARY_TXN:
        return etcd_decode_txn(message, arena, &u->reply.txn, err);
    case ETCD_UNARY_STATUS:
        return etcd_decode_status(message, arena, &u->reply.status, err);
    case ETCD_UNARY_LEASE_GRANT:
        return etcd_decode_lease_grant(message, arena, &u->reply.lease, err);
    case ETCD_UNARY_LEASE_KEEP_ALIVE:
        return etcd_decode_lease_keep_alive(message, arena, &u->reply.lease, err);
    case ETCD_UNARY_LEASE_TIME_TO_LIVE:
        return etcd_decode_lease_time_to_live(message, arena, &u->reply.lease, err);
    case ETCD_UNARY_LEASE_REVOKE:
        break;
    }
    return etcd_decode_lease_revoke(message, arena, &u->reply.revoke, err);
}

/* Calls `cb` with the response if err is NULL. */
static void unary_deliver(const struct etcd_unary *u, const struct err *err)
{
    switch (u->kind) {
    case ETCD_UNARY_RANGE:
        ((etcd_range_cb)u->cb)(u->data, err ? NULL : &u->reply.range, err);
        break;
    case ETCD_UNARY_TXN:
        ((etcd_txn_cb)u->cb)(u->data, err ? NULL : &u->reply.txn, err);
        break;
    case ETCD_UNARY_STATUS:
        ((etcd_status_cb)u->cb)(u->data, err ? NULL : &u->reply.status, err);
        break;
    case ETCD_UNARY_LEASE_GRANT:
    case ETCD_UNARY_LEASE_KEEP_ALIVE:
    case ETCD_UNARY_LEASE_TIME_TO_LIVE:
        ((etcd_lease_cb)u->cb)(u->data, err ? NULL : &u->reply.lease, err);
        break;
    case ETCD_UNARY_LEASE_REVOKE:
        ((etcd_revoke_cb)u->cb)(u->data, err ? NULL : &u->reply.revoke, err);
        break;
    }
}

static int etcd_unary_on_message(void *data, struct slice message, struct err *err)
{
    struct etcd_unary *u = data;
    if (u->has_reply) {
        return err_set(err, ERR_PROTOCOL, "more than one response to a call");
    }
    u->has_reply = true;
    return unary_decode(u, message, err);
}

static void etcd_unary_on_end(void *data, int status, const struct err *err)
{
    const struct etcd_unary *u = data;
    struct err explained;
    if (err) {
        explained = *err;
        etcd_unary_explain(u, status, &explained);
    }
    unary_deliver(u, err ? &explained : NULL);
}

struct etcd_call *etcd_unary_start(struct etcd_unary *u)
{
    const struct etcd_call_config config = {
        .path = paths[u->kind],
        .timeout_ms = u->timeout_ms ? u->timeout_ms : etcd_call_timeout_ms(u->etcd),
        .only_now = u->only_now,
        .on_message = etcd_unary_on_message,
        .on_end = etcd_unary_on_end,
        .release = unary_release,
        .data = u,
    };
    struct etcd_link *link = u->is_watched ? etcd_watch_link(u->etcd) : etcd_call_link(u->etcd);
    return etcd_link_call(link, &config, &u->request);
}

/* Maps the texts of etcd's api/v3rpc/rpctypes/error.go, for the calls that we make. */
static const struct {
    const char *text; /* how it begins, behind "etcdserver: " */
    int status;
    int code;
} errors[] = {
    {"mvcc: required revision has been compacted", STATUS_OUT_OF_RANGE, ERR_REFUSED},
    {"mvcc: required revision is a future revision", STATUS_OUT_OF_RANGE, ERR_REFUSED},
    {"permission denied", STATUS_PERMISSION_DENIED, ERR_REFUSED},
    {"invalid auth token", STATUS_UNAUTHENTICATED, ERR_REFUSED},
    {"user name is empty", STATUS_INVALID_ARGUMENT, ERR_REFUSED},
    {"revision of auth store is old", STATUS_INVALID_ARGUMENT, ERR_REFUSED},
    {"duplicate key given in txn request", STATUS_INVALID_ARGUMENT, ERR_REFUSED},
    {"too many operations in txn request", STATUS_INVALID_ARGUMENT, ERR_REFUSED},
    {"request is too large", STATUS_INVALID_ARGUMENT, ERR_REFUSED},
    {"key is not provided", STATUS_INVALID_ARGUMENT, ERR_REFUSED},
    {"authentication is not enabled", STATUS_FAILED_PRECONDITION, ERR_REFUSED},
    {"requested lease not found", STATUS_NOT_FOUND, ERR_NOT_FOUND},
    {"lease already exists", STATUS_FAILED_PRECONDITION, ERR_REFUSED},
    {"mvcc: database space exceeded", STATUS_RESOURCE_EXHAUSTED, ERR_UNAVAILABLE},
    {"too many requests", STATUS_RESOURCE_EXHAUSTED, ERR_UNAVAILABLE},
    {"no leader", STATUS_UNAVAILABLE, ERR_UNAVAILABLE},
    {"leader changed", STATUS_UNAVAILABLE, ERR_UNAVAILABLE},
    {"request timed out", STATUS_UNAVAILABLE, ERR_UNAVAILABLE},
    {"server stopped", STATUS_UNAVAILABLE, ERR_UNAVAILABLE},
    {"unhealthy cluster", STATUS_UNAVAILABLE, ERR_UNAVAILABLE},
};

int etcd_status_of(int status, struct err *err)
{
    static const char source[] = "etcdserver: ";
    if (status != STATUS_UNKNOWN || strncmp(err->msg, source, sizeof(source) - 1) != 0) {
        return status;
    }
    const char *text = err->msg + sizeof(source) - 1;
    for (size_t i = 0; i < ARRAY_LEN(errors); i++) {
        if (strncmp(text, errors[i].text, strlen(errors[i].text)) == 0) {
            err->code = errors[i].code;
            return errors[i].status;
        }
    }
    return status;
}
