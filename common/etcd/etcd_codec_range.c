/* Decodes Range responses: a start reads hundreds of thousands of keys, so we parse these
 * ourselves.
 *
 * The message is copied once; keys and values are slices of the copy. */
#include <string.h>

#include "common/base/proto_scan.h"
#include "common/etcd/etcd_codec_internal.h"

/* Names the fields by their numbers in proto/rpc.proto and proto/kv.proto. */
enum { HEADER_REVISION = 3 };
enum { RANGE_HEADER = 1, RANGE_KVS = 2, RANGE_MORE = 3, RANGE_COUNT = 4 };
enum { KV_KEY = 1, KV_CREATE_REVISION, KV_MOD_REVISION, KV_VERSION, KV_VALUE, KV_LEASE };

static int etcd_codec_range_malformed(struct err *err)
{
    return err_set(err, ERR_PROTOCOL, "malformed RangeResponse");
}

static bool etcd_codec_range_read_header(struct slice message, int64_t *revision)
{
    struct proto_scan scan = proto_scan_of(message);
    struct proto_field field;
    while (proto_scan_next(&scan, &field)) {
        if (field.number == HEADER_REVISION) {
            *revision = (int64_t)field.varint;
            scan.failed = scan.failed || field.is_bytes;
        }
    }
    return !scan.failed;
}

static bool read_kv(struct slice message, struct etcd_kv *kv)
{
    struct proto_scan scan = proto_scan_of(message);
    struct proto_field field;
    *kv = (struct etcd_kv){.key = slice_of("", 0), .value = slice_of("", 0)};
    while (proto_scan_next(&scan, &field)) {
        bool want_bytes = field.number == KV_KEY || field.number == KV_VALUE;
        switch (field.number) {
        case KV_KEY:
            kv->key = field.bytes;
            break;
        case KV_VALUE:
            kv->value = field.bytes;
            break;
        case KV_CREATE_REVISION:
            kv->create_revision = (int64_t)field.varint;
            break;
        case KV_MOD_REVISION:
            kv->mod_revision = (int64_t)field.varint;
            break;
        case KV_VERSION:
            kv->version = (int64_t)field.varint;
            break;
        case KV_LEASE:
            kv->lease = (int64_t)field.varint;
            break;
        default:
            continue;
        }
        scan.failed = scan.failed || field.is_bytes != want_bytes;
    }
    return !scan.failed;
}

/* Counts the keys and checks the types of the fields around them. */
static bool count_kvs(struct slice message, size_t *ret_count)
{
    struct proto_scan scan = proto_scan_of(message);
    struct proto_field field;
    *ret_count = 0;
    while (proto_scan_next(&scan, &field)) {
        if (field.number >= RANGE_HEADER && field.number <= RANGE_COUNT) {
            scan.failed = field.is_bytes != (field.number < RANGE_MORE);
        }
        *ret_count += field.number == RANGE_KVS;
    }
    return !scan.failed;
}

static int etcd_codec_range_read_fields(struct slice message, struct etcd_kv *kvs,
                                        struct etcd_range_reply *reply, struct err *err)
{
    struct proto_scan scan = proto_scan_of(message);
    struct proto_field field;
    while (proto_scan_next(&scan, &field)) {
        if (field.number == RANGE_HEADER &&
            !etcd_codec_range_read_header(field.bytes, &reply->revision)) {
            return etcd_codec_range_malformed(err);
        }
        if (field.number == RANGE_MORE) {
            reply->more = field.varint != 0;
        }
        if (field.number == RANGE_COUNT) {
            reply->total = (int64_t)field.varint;
        }
        if (field.number == RANGE_KVS) {
            if (!read_kv(field.bytes, &kvs[reply->count])) {
                return etcd_codec_range_malformed(err);
            }
            if (kvs[reply->count++].key.len == 0) {
                return err_set(err, ERR_PROTOCOL, "RangeResponse with an empty key");
            }
        }
    }
    return 0;
}

int etcd_decode_range(struct slice message, struct arena *arena, struct etcd_range_reply *ret_reply,
                      struct err *err)
{
    size_t count;
    if (!count_kvs(message, &count)) {
        return etcd_codec_range_malformed(err);
    }
    /* This cannot overflow: each key takes at least two bytes of the message. */
    struct etcd_kv *kvs = arena_alloc(arena, count * sizeof(*kvs));
    char *copy = arena_alloc(arena, message.len);
    if (!kvs || !copy) {
        return err_set(err, ERR_TOO_LARGE, "RangeResponse of %zu bytes decodes to more than %zu",
                       message.len, arena->limit);
    }
    if (message.len > 0) {
        memcpy(copy, message.ptr, message.len);
    }
    struct etcd_range_reply reply = {.kvs = kvs};
    int rc = etcd_codec_range_read_fields(slice_of(copy, message.len), kvs, &reply, err);
    if (rc != 0) {
        return rc;
    }
    if (reply.revision <= 0) {
        return err_set(err, ERR_PROTOCOL, "RangeResponse without a revision");
    }
    *ret_reply = reply;
    return 0;
}
