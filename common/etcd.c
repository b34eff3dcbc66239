#include "common/etcd.h"

#include <stdlib.h>
#include <string.h>

#include "common/arena.h"
#include "common/etcd_codec.h"
#include "common/etcd_endpoint.h"
#include "common/etcd_link.h"
#include "common/grpc.h"
#include "common/xalloc.h"

/* The grpc-status of revisions that are compacted or in the future. */
enum { STATUS_OUT_OF_RANGE = 11 };

struct etcd {
    struct ev_loop *loop;
    uint32_t call_timeout_ms;
    struct etcd_endpoints endpoints;
    struct etcd_link *calls;
    struct etcd_link *watches;
};

int etcd_new(const struct etcd_config *config, struct etcd **ret_etcd, struct err *err)
{
    struct etcd *etcd = xcalloc(1, sizeof(*etcd));
    int rc = etcd_endpoints_parse(config->endpoints, &etcd->endpoints, err);
    if (rc != 0) {
        free(etcd);
        return rc;
    }
    etcd->loop = config->loop;
    etcd->call_timeout_ms = config->call_timeout_ms;
    const struct etcd_link_config link = {
        .loop = config->loop,
        .endpoints = &etcd->endpoints,
        .look_up = config->look_up,
    };
    etcd->calls = etcd_link_new(&link);
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
    etcd_endpoints_fini(&etcd->endpoints);
    free(etcd);
}

struct etcd_link *etcd_watch_link(struct etcd *etcd)
{
    return etcd->watches;
}

struct ev_loop *etcd_loop(const struct etcd *etcd)
{
    return etcd->loop;
}

/* ---- Calls with one reply ---- */

struct unary {
    struct arena arena;
    unsigned messages;
    struct err err; /* of decoding */
    void *data;
    union {
        struct {
            etcd_range_cb cb;
            struct etcd_range_reply reply;
        } range;
        struct {
            etcd_txn_cb cb;
            struct etcd_txn_reply reply;
        } txn;
    };
};

static struct unary *unary_new(void *data)
{
    struct unary *u = xcalloc(1, sizeof(*u));
    arena_init(&u->arena, ETCD_DECODED_MAX);
    u->data = data;
    return u;
}

static void unary_release(void *data)
{
    struct unary *u = data;
    arena_fini(&u->arena);
    free(u);
}

/* NULL when the reply can be handed out. *scratch is for a message of our own. */
static const struct err *unary_failure(const struct unary *u, int status, const struct err *err,
                                       struct err *scratch)
{
    if (status == STATUS_OUT_OF_RANGE && strstr(err->msg, "compacted")) {
        *scratch = *err;
        scratch->code = ERR_COMPACTED;
        return scratch;
    }
    if (err) {
        return err;
    }
    if (u->err.code) {
        return &u->err;
    }
    if (u->messages != 1) {
        err_set(scratch, ERR_PROTOCOL, "etcd: %u replies to one call", u->messages);
        return scratch;
    }
    return NULL;
}

static void range_message(void *data, struct slice message)
{
    struct unary *u = data;
    if (u->messages++ == 0 &&
        etcd_decode_range(message, &u->arena, &u->range.reply, &u->err) != 0) {
        err_wrap(&u->err, u->err.code, "etcd");
    }
}

static void range_end(void *data, int status, const struct err *err)
{
    struct unary *u = data;
    struct err scratch;
    const struct err *failure = unary_failure(u, status, err, &scratch);
    u->range.cb(u->data, failure ? NULL : &u->range.reply, failure);
}

struct etcd_call *etcd_range(struct etcd *etcd, const struct etcd_range *range, etcd_range_cb cb,
                             void *data)
{
    struct unary *u = unary_new(data);
    const struct etcd_call_config config = {
        .path = "/etcdserverpb.KV/Range",
        .timeout_ms = etcd->call_timeout_ms,
        .on_message = range_message,
        .on_end = range_end,
        .release = unary_release,
        .data = u,
    };
    struct buf request;
    buf_init(&request, GRPC_SEND_MAX);
    u->range.cb = cb;
    etcd_encode_range(range, &request);
    return etcd_link_call(etcd->calls, &config, &request);
}

static void txn_message(void *data, struct slice message)
{
    struct unary *u = data;
    if (u->messages++ == 0 && etcd_decode_txn(message, &u->arena, &u->txn.reply, &u->err) != 0) {
        err_wrap(&u->err, u->err.code, "etcd");
    }
}

static void txn_end(void *data, int status, const struct err *err)
{
    struct unary *u = data;
    struct err scratch;
    const struct err *failure = unary_failure(u, status, err, &scratch);
    u->txn.cb(u->data, failure ? NULL : &u->txn.reply, failure);
}

struct etcd_call *etcd_txn(struct etcd *etcd, const struct etcd_txn *txn, etcd_txn_cb cb,
                           void *data)
{
    struct unary *u = unary_new(data);
    const struct etcd_call_config config = {
        .path = "/etcdserverpb.KV/Txn",
        .timeout_ms = etcd->call_timeout_ms,
        .on_message = txn_message,
        .on_end = txn_end,
        .release = unary_release,
        .data = u,
    };
    struct buf request;
    buf_init(&request, GRPC_SEND_MAX);
    u->txn.cb = cb;
    etcd_encode_txn(txn, &request);
    return etcd_link_call(etcd->calls, &config, &request);
}

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
