#include "common/etcd/etcd_codec_internal.h"

#include <stdlib.h>

#include "common/base/attributes.h"
#include "common/base/cleanup.h"
#include "common/base/xalloc.h"
#include "rpc.pb-c.h"

/* ---- Requests ---- */

static ProtobufCBinaryData etcd_codec_bytes_of(struct slice s)
{
    /* protobuf-c only reads it when packing; its struct is not const. */
    return (ProtobufCBinaryData){.len = s.len, .data = (uint8_t *)(uintptr_t)s.ptr};
}

static void etcd_codec_pack(const ProtobufCMessage *message, struct buf *out)
{
    size_t size = protobuf_c_message_get_packed_size(message);
    uint8_t *room = buf_reserve(out, size);
    if (room) {
        out->len += protobuf_c_message_pack(message, room);
    }
}

void etcd_encode_range(const struct etcd_range *range, struct buf *out)
{
    Etcdserverpb__RangeRequest m = ETCDSERVERPB__RANGE_REQUEST__INIT;
    m.key = etcd_codec_bytes_of(range->key);
    m.range_end = etcd_codec_bytes_of(range->range_end);
    m.limit = range->limit;
    m.revision = range->revision;
    m.keys_only = range->keys_only;
    etcd_codec_pack(&m.base, out);
}

static void fill_compare(const struct etcd_compare *compare, Etcdserverpb__Compare *m)
{
    etcdserverpb__compare__init(m);
    m->result = ETCDSERVERPB__COMPARE__COMPARE_RESULT__EQUAL;
    m->key = etcd_codec_bytes_of(compare->key);
    switch (compare->target) {
    case ETCD_COMPARE_CREATE_REVISION:
        m->target = ETCDSERVERPB__COMPARE__COMPARE_TARGET__CREATE;
        m->target_union_case = ETCDSERVERPB__COMPARE__TARGET_UNION_CREATE_REVISION;
        m->create_revision = compare->revision;
        break;
    case ETCD_COMPARE_MOD_REVISION:
        m->target = ETCDSERVERPB__COMPARE__COMPARE_TARGET__MOD;
        m->target_union_case = ETCDSERVERPB__COMPARE__TARGET_UNION_MOD_REVISION;
        m->mod_revision = compare->revision;
        break;
    case ETCD_COMPARE_VALUE:
        m->target = ETCDSERVERPB__COMPARE__COMPARE_TARGET__VALUE;
        m->target_union_case = ETCDSERVERPB__COMPARE__TARGET_UNION_VALUE;
        m->value = etcd_codec_bytes_of(compare->value);
        break;
    }
}

/* Holds one operation and its wrapper message. */
struct op_message {
    Etcdserverpb__RequestOp op;
    union {
        Etcdserverpb__PutRequest put;
        Etcdserverpb__DeleteRangeRequest del;
    };
};

static void fill_op(const struct etcd_op *op, struct op_message *m)
{
    etcdserverpb__request_op__init(&m->op);
    switch (op->kind) {
    case ETCD_OP_PUT:
        etcdserverpb__put_request__init(&m->put);
        m->put.key = etcd_codec_bytes_of(op->key);
        m->put.value = etcd_codec_bytes_of(op->value);
        m->put.lease = op->lease;
        m->op.request_case = ETCDSERVERPB__REQUEST_OP__REQUEST_REQUEST_PUT;
        m->op.request_put = &m->put;
        break;
    case ETCD_OP_DELETE:
        etcdserverpb__delete_range_request__init(&m->del);
        m->del.key = etcd_codec_bytes_of(op->key);
        m->op.request_case = ETCDSERVERPB__REQUEST_OP__REQUEST_REQUEST_DELETE_RANGE;
        m->op.request_delete_range = &m->del;
        break;
    }
}

void etcd_encode_txn(const struct etcd_txn *txn, struct buf *out)
{
    Etcdserverpb__TxnRequest m = ETCDSERVERPB__TXN_REQUEST__INIT;
    CLEANUP_FREE struct op_message *ops = xcalloc(txn->op_count, sizeof(*ops));
    CLEANUP_FREE Etcdserverpb__RequestOp **op_ptrs = xcalloc(txn->op_count, sizeof(*op_ptrs));
    CLEANUP_FREE Etcdserverpb__Compare *compares = xcalloc(txn->compare_count, sizeof(*compares));
    CLEANUP_FREE Etcdserverpb__Compare **compare_ptrs =
        xcalloc(txn->compare_count, sizeof(*compare_ptrs));
    for (size_t i = 0; i < txn->op_count; i++) {
        fill_op(&txn->ops[i], &ops[i]);
        op_ptrs[i] = &ops[i].op;
    }
    for (size_t i = 0; i < txn->compare_count; i++) {
        fill_compare(&txn->compares[i], &compares[i]);
        compare_ptrs[i] = &compares[i];
    }
    m.n_compare = txn->compare_count;
    m.compare = compare_ptrs;
    m.n_success = txn->op_count;
    m.success = op_ptrs;
    etcd_codec_pack(&m.base, out);
}

void etcd_encode_watch(const struct etcd_watch_request *request, struct buf *out)
{
    Etcdserverpb__WatchCreateRequest create = ETCDSERVERPB__WATCH_CREATE_REQUEST__INIT;
    Etcdserverpb__WatchRequest m = ETCDSERVERPB__WATCH_REQUEST__INIT;
    create.key = etcd_codec_bytes_of(request->key);
    create.range_end = etcd_codec_bytes_of(request->range_end);
    create.start_revision = request->start_revision;
    create.progress_notify = true;
    m.request_union_case = ETCDSERVERPB__WATCH_REQUEST__REQUEST_UNION_CREATE_REQUEST;
    m.create_request = &create;
    etcd_codec_pack(&m.base, out);
}

void etcd_encode_lease_grant(int64_t id, int64_t ttl_s, struct buf *out)
{
    Etcdserverpb__LeaseGrantRequest m = ETCDSERVERPB__LEASE_GRANT_REQUEST__INIT;
    m.id = id;
    m.ttl = ttl_s;
    etcd_codec_pack(&m.base, out);
}

void etcd_encode_lease_id(int64_t id, struct buf *out)
{
    Etcdserverpb__LeaseKeepAliveRequest m = ETCDSERVERPB__LEASE_KEEP_ALIVE_REQUEST__INIT;
    m.id = id;
    etcd_codec_pack(&m.base, out);
}

void etcd_encode_authenticate(const char *name, const char *password, struct buf *out)
{
    Etcdserverpb__AuthenticateRequest m;
    etcdserverpb__authenticate_request__init(&m);
    /* protobuf-c only reads them when packing; its struct is not const. */
    m.name = (char *)(uintptr_t)name;
    m.password = (char *)(uintptr_t)password;
    etcd_codec_pack(&m.base, out);
}

/* ---- Responses ---- */

static void *etcd_codec_allocate(void *arena, size_t size)
{
    return arena_alloc(arena, size);
}

static void etcd_codec_release(void *arena, void *ptr UNUSED)
{
    (void)arena; /* arena_clear frees everything at once */
}

static void *etcd_codec_unpack(const ProtobufCMessageDescriptor *type, struct slice message,
                               struct arena *arena)
{
    ProtobufCAllocator allocator = {etcd_codec_allocate, etcd_codec_release, arena};
    return protobuf_c_message_unpack(type, &allocator, message.len, (const uint8_t *)message.ptr);
}

static int unpack_error(const char *type, struct slice message, const struct arena *arena,
                        struct err *err)
{
    if (arena->failed) {
        return err_set(err, ERR_TOO_LARGE, "%s of %zu bytes decodes to more than %zu", type,
                       message.len, arena->limit);
    }
    return err_set(err, ERR_PROTOCOL, "malformed %s", type);
}

static void *allocate_array(struct arena *arena, size_t count, size_t size, struct err *err)
{
    /* This cannot overflow: the arena already holds count structs of more than size / 10 bytes
     * each. */
    void *p = arena_alloc(arena, count * size);
    if (!p) {
        err_set(err, ERR_TOO_LARGE, "response of %zu entries decodes to more than %zu bytes", count,
                arena->limit);
    }
    return p;
}

static struct etcd_kv kv_of(const Mvccpb__KeyValue *m)
{
    return (struct etcd_kv){
        .key = slice_of(m->key.data, m->key.len),
        .value = slice_of(m->value.data, m->value.len),
        .create_revision = m->create_revision,
        .mod_revision = m->mod_revision,
        .version = m->version,
        .lease = m->lease,
    };
}

int etcd_decode_txn(struct slice message, struct arena *arena, struct etcd_txn_reply *ret_reply,
                    struct err *err)
{
    const Etcdserverpb__TxnResponse *m =
        etcd_codec_unpack(&etcdserverpb__txn_response__descriptor, message, arena);
    if (!m) {
        return unpack_error("TxnResponse", message, arena, err);
    }
    if (!m->header || m->header->revision <= 0) {
        return err_set(err, ERR_PROTOCOL, "TxnResponse without a revision");
    }
    *ret_reply =
        (struct etcd_txn_reply){.revision = m->header->revision, .succeeded = m->succeeded};
    return 0;
}

static int fill_events(const Etcdserverpb__WatchResponse *m, struct etcd_event *events,
                       struct err *err)
{
    int64_t revision = 1;
    for (size_t i = 0; i < m->n_events; i++) {
        const Mvccpb__Event *event = m->events[i];
        if (!event->kv || event->kv->key.len == 0) {
            return err_set(err, ERR_PROTOCOL, "watch event without a key");
        }
        if (event->kv->mod_revision < revision) {
            return err_set(err, ERR_PROTOCOL, "watch event of revision %lld behind %lld",
                           (long long)event->kv->mod_revision, (long long)revision);
        }
        revision = event->kv->mod_revision;
        bool is_delete = event->type == MVCCPB__EVENT__EVENT_TYPE__DELETE;
        events[i] = (struct etcd_event){.kind = is_delete ? ETCD_EVENT_DELETE : ETCD_EVENT_PUT,
                                        .kv = kv_of(event->kv)};
    }
    return 0;
}

int etcd_decode_watch(struct slice message, struct arena *arena,
                      struct etcd_watch_response *ret_response, struct err *err)
{
    const Etcdserverpb__WatchResponse *m =
        etcd_codec_unpack(&etcdserverpb__watch_response__descriptor, message, arena);
    if (!m) {
        return unpack_error("WatchResponse", message, arena, err);
    }
    struct etcd_event *events = allocate_array(arena, m->n_events, sizeof(*events), err);
    if (!events) {
        return ERR_TOO_LARGE;
    }
    int rc = fill_events(m, events, err);
    if (rc != 0) {
        return rc;
    }
    *ret_response = (struct etcd_watch_response){
        .created = m->created,
        .canceled = m->canceled,
        .fragment = m->fragment,
        .store_revision = m->header ? m->header->revision : 0,
        .compact_revision = m->compact_revision,
        .cancel_reason = m->cancel_reason,
        .events = events,
        .count = m->n_events,
    };
    return 0;
}

/* ---- Responses of one value ---- */

int etcd_decode_lease_grant(struct slice message, struct arena *arena,
                            struct etcd_lease_reply *ret_reply, struct err *err)
{
    const Etcdserverpb__LeaseGrantResponse *m =
        etcd_codec_unpack(&etcdserverpb__lease_grant_response__descriptor, message, arena);
    if (!m) {
        return unpack_error("LeaseGrantResponse", message, arena, err);
    }
    if (m->error[0]) {
        return err_set(err, ERR_REFUSED, "lease refused: %s", m->error);
    }
    *ret_reply = (struct etcd_lease_reply){.id = m->id, .ttl_s = m->ttl, .granted_s = m->ttl};
    return 0;
}

int etcd_decode_lease_keep_alive(struct slice message, struct arena *arena,
                                 struct etcd_lease_reply *ret_reply, struct err *err)
{
    const Etcdserverpb__LeaseKeepAliveResponse *m =
        etcd_codec_unpack(&etcdserverpb__lease_keep_alive_response__descriptor, message, arena);
    if (!m) {
        return unpack_error("LeaseKeepAliveResponse", message, arena, err);
    }
    *ret_reply = (struct etcd_lease_reply){.id = m->id, .ttl_s = m->ttl};
    return 0;
}

int etcd_decode_lease_time_to_live(struct slice message, struct arena *arena,
                                   struct etcd_lease_reply *ret_reply, struct err *err)
{
    const Etcdserverpb__LeaseTimeToLiveResponse *m =
        etcd_codec_unpack(&etcdserverpb__lease_time_to_live_response__descriptor, message, arena);
    if (!m) {
        return unpack_error("LeaseTimeToLiveResponse", message, arena, err);
    }
    *ret_reply =
        (struct etcd_lease_reply){.id = m->id, .ttl_s = m->ttl, .granted_s = m->grantedttl};
    return 0;
}

int etcd_decode_lease_revoke(struct slice message, struct arena *arena,
                             struct etcd_revoke_reply *ret_reply, struct err *err)
{
    const Etcdserverpb__LeaseRevokeResponse *m =
        etcd_codec_unpack(&etcdserverpb__lease_revoke_response__descriptor, message, arena);
    if (!m) {
        return unpack_error("LeaseRevokeResponse", message, arena, err);
    }
    *ret_reply = (struct etcd_revoke_reply){.revision = m->header ? m->header->revision : 0};
    return 0;
}

int etcd_decode_status(struct slice message, struct arena *arena,
                       struct etcd_status_reply *ret_reply, struct err *err)
{
    const Etcdserverpb__StatusResponse *m =
        etcd_codec_unpack(&etcdserverpb__status_response__descriptor, message, arena);
    if (!m) {
        return unpack_error("StatusResponse", message, arena, err);
    }
    if (m->dbsize < 0 || m->dbsizeinuse < 0) {
        return err_set(err, ERR_PROTOCOL, "StatusResponse with a negative size");
    }
    *ret_reply =
        (struct etcd_status_reply){.file_bytes = m->dbsize, .in_use_bytes = m->dbsizeinuse};
    return 0;
}

int etcd_decode_authenticate(struct slice message, struct arena *arena, const char **ret_token,
                             struct err *err)
{
    const Etcdserverpb__AuthenticateResponse *m =
        etcd_codec_unpack(&etcdserverpb__authenticate_response__descriptor, message, arena);
    if (!m) {
        return unpack_error("AuthenticateResponse", message, arena, err);
    }
    if (!m->token[0]) {
        return err_set(err, ERR_PROTOCOL, "AuthenticateResponse without a token");
    }
    *ret_token = m->token;
    return 0;
}
