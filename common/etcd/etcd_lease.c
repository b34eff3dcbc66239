#include "common/etcd/etcd_lease.h"

#include "common/etcd/etcd_codec_internal.h"
#include "common/etcd/etcd_unary_internal.h"

static void deliver_lease(const struct etcd_unary *u, const struct err *err)
{
    ((etcd_lease_cb)u->cb)(u->data, err ? NULL : &u->reply.lease, err);
}

static struct etcd_call *etcd_lease_start(struct etcd_unary *u, etcd_lease_cb cb, void *data)
{
    u->deliver = deliver_lease;
    u->cb = (void (*)(void))cb;
    u->data = data;
    return etcd_unary_start(u);
}

static int decode_grant(struct slice message, struct arena *arena, union etcd_reply *ret_reply,
                        struct err *err)
{
    return etcd_decode_lease_grant(message, arena, &ret_reply->lease, err);
}

struct etcd_call *etcd_lease_grant(struct etcd *etcd, int64_t id, int64_t ttl_s, etcd_lease_cb cb,
                                   void *data)
{
    struct etcd_unary *u = etcd_unary_new(etcd, "/etcdserverpb.Lease/LeaseGrant");
    u->decode = decode_grant;
    etcd_encode_lease_grant(id, ttl_s, &u->request);
    return etcd_lease_start(u, cb, data);
}

static int decode_keep_alive(struct slice message, struct arena *arena, union etcd_reply *ret_reply,
                             struct err *err)
{
    return etcd_decode_lease_keep_alive(message, arena, &ret_reply->lease, err);
}

/* Sends one request and half-closes the stream, which makes it a call. */
struct etcd_call *etcd_lease_keep_alive(struct etcd *etcd, int64_t id, etcd_lease_cb cb, void *data)
{
    struct etcd_unary *u = etcd_unary_new(etcd, "/etcdserverpb.Lease/LeaseKeepAlive");
    u->decode = decode_keep_alive;
    etcd_encode_lease_keep_alive(id, &u->request);
    return etcd_lease_start(u, cb, data);
}

static int decode_time_to_live(struct slice message, struct arena *arena,
                               union etcd_reply *ret_reply, struct err *err)
{
    return etcd_decode_lease_time_to_live(message, arena, &ret_reply->lease, err);
}

struct etcd_call *etcd_lease_time_to_live(struct etcd *etcd, int64_t id, etcd_lease_cb cb,
                                          void *data)
{
    struct etcd_unary *u = etcd_unary_new(etcd, "/etcdserverpb.Lease/LeaseTimeToLive");
    u->decode = decode_time_to_live;
    etcd_encode_lease_time_to_live(id, &u->request);
    return etcd_lease_start(u, cb, data);
}

static int decode_revoke(struct slice message, struct arena *arena, union etcd_reply *ret_reply,
                         struct err *err)
{
    return etcd_decode_lease_revoke(message, arena, &ret_reply->revoke, err);
}

static void deliver_revoke(const struct etcd_unary *u, const struct err *err)
{
    ((etcd_revoke_cb)u->cb)(u->data, err ? NULL : &u->reply.revoke, err);
}

struct etcd_call *etcd_lease_revoke(struct etcd *etcd, int64_t id, etcd_revoke_cb cb, void *data)
{
    struct etcd_unary *u = etcd_unary_new(etcd, "/etcdserverpb.Lease/LeaseRevoke");
    u->decode = decode_revoke;
    u->deliver = deliver_revoke;
    u->cb = (void (*)(void))cb;
    u->data = data;
    etcd_encode_lease_revoke(id, &u->request);
    return etcd_unary_start(u);
}
