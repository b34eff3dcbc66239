/* We decode replies to Range ourselves: whatever protobuf-c reads in a message, we read as well,
 * and bad replies are rejected. */
#include "common/etcd/etcd_codec_internal.h"
#include "rpc.pb-c.h"
#include "tests/support/unit_test.h"

enum { KVS = 5, ARENA_MAX = 1 << 20 };

static ProtobufCBinaryData etcd_codec_range_bytes_of(char *text)
{
    return (ProtobufCBinaryData){.len = strlen(text), .data = (uint8_t *)text};
}

/* A reply as etcd sends it; for free(). */
static uint8_t *pack_reply(size_t *ret_len)
{
    static char key[] = "/skydns/local/cluster/svc/default/web",
                value[] = "{\"host\":\"10.0.0.1\"}";
    static const int64_t numbers[KVS] = {1, 127, 128, INT64_MAX, 0};
    Etcdserverpb__ResponseHeader header = ETCDSERVERPB__RESPONSE_HEADER__INIT;
    Etcdserverpb__RangeResponse reply = ETCDSERVERPB__RANGE_RESPONSE__INIT;
    Mvccpb__KeyValue kvs[KVS], *pointers[KVS];
    header.cluster_id = UINT64_MAX;
    header.revision = 70000;
    for (size_t i = 0; i < KVS; i++) {
        mvccpb__key_value__init(&kvs[i]);
        kvs[i].key = etcd_codec_range_bytes_of(key + i);
        kvs[i].value = etcd_codec_range_bytes_of(value + 4 * i); /* the last one is empty */
        kvs[i].create_revision = numbers[i];
        kvs[i].mod_revision = numbers[(i + 1) % KVS];
        kvs[i].version = numbers[(i + 2) % KVS];
        kvs[i].lease = numbers[(i + 3) % KVS];
        pointers[i] = &kvs[i];
    }
    reply.header = &header;
    reply.more = true;
    reply.count = 123456;
    reply.n_kvs = KVS;
    reply.kvs = pointers;
    *ret_len = etcdserverpb__range_response__get_packed_size(&reply);
    uint8_t *message = xmalloc(*ret_len);
    etcdserverpb__range_response__pack(&reply, message);
    return message;
}

static bool same_bytes(struct slice got, ProtobufCBinaryData want)
{
    return slice_equal(got, slice_of(want.data, want.len));
}

static void etcd_codec_range_assert_same(const struct etcd_range_reply *got,
                                         const Etcdserverpb__RangeResponse *want)
{
    assert_int_equal(got->revision, want->header->revision);
    assert_int_equal(got->more, want->more);
    assert_int_equal(got->total, want->count);
    assert_int_equal(got->count, want->n_kvs);
    for (size_t i = 0; i < got->count; i++) {
        const struct etcd_kv *a = &got->kvs[i];
        const Mvccpb__KeyValue *b = want->kvs[i];
        assert_true(same_bytes(a->key, b->key) && same_bytes(a->value, b->value));
        assert_int_equal(a->create_revision, b->create_revision);
        assert_int_equal(a->mod_revision, b->mod_revision);
        assert_int_equal(a->version, b->version);
        assert_int_equal(a->lease, b->lease);
    }
}

static bool etcd_codec_range_is_usable(const Etcdserverpb__RangeResponse *reply)
{
    bool has_keys = true;
    for (size_t i = 0; i < reply->n_kvs; i++) {
        has_keys = has_keys && reply->kvs[i]->key.len > 0;
    }
    return has_keys && reply->header && reply->header->revision > 0;
}

enum taken { TAKEN_BY_NONE, TAKEN_BY_ONE, TAKEN_BY_BOTH, TAKEN_COUNT };

/* Decodes the message with both: what both accept they read alike. It is on the heap at its exact
 * size. */
static enum taken etcd_codec_range_compare(const uint8_t *bytes, size_t len)
{
    struct etcd_range_reply reply;
    struct arena arena;
    struct err err = {0};
    CLEANUP_FREE uint8_t *message = xmalloc(len);
    memcpy(message, bytes, len);
    arena_init(&arena, ARENA_MAX);
    Etcdserverpb__RangeResponse *want = etcdserverpb__range_response__unpack(NULL, len, message);
    int rc = etcd_decode_range(slice_of(message, len), &arena, &reply, &err);
    memset(message, 0, len); /* both must have copied */
    bool is_usual = want && etcd_codec_range_is_usable(want);
    if (is_usual && rc == 0) {
        etcd_codec_range_assert_same(&reply, want);
    }
    assert_true(rc == 0 || err.code == ERR_PROTOCOL);
    if (want) {
        etcdserverpb__range_response__free_unpacked(want, NULL);
    }
    arena_fini(&arena);
    return (is_usual ? 1 : 0) + (rc == 0 ? 1 : 0);
}

UNIT_TEST(test_reads_what_etcd_sends)
{
    size_t len;
    CLEANUP_FREE uint8_t *message = pack_reply(&len);
    assert_int_equal(etcd_codec_range_compare(message, len), TAKEN_BY_BOTH);
}

/* Flips each bit of the message in turn, and truncates the message at each byte. The two differ in
 * a few cases: protobuf-c accepts a field 0, and bytes as a bool; we accept, and ignore, a number
 * encoded in eight bytes. */
UNIT_TEST(test_reads_broken_messages_like_protobuf)
{
    size_t len, counts[TAKEN_COUNT] = {0};
    CLEANUP_FREE uint8_t *message = pack_reply(&len);
    for (size_t at = 0; at < len; at++) {
        for (unsigned bit = 0; bit < 8; bit++) {
            message[at] ^= (uint8_t)(1u << bit);
            counts[etcd_codec_range_compare(message, len)]++;
            message[at] ^= (uint8_t)(1u << bit);
        }
        counts[etcd_codec_range_compare(message, at)]++;
    }
    assert_true(counts[TAKEN_BY_NONE] > 100 && counts[TAKEN_BY_BOTH] > 1000);
    assert_true(counts[TAKEN_BY_ONE] < 30);
}

UNIT_TEST(test_refused)
{
    static const struct {
        const char *name;
        struct slice message;
        const char *want;
    } cases[] = {
        {"nothing", {"", 0}, "without a revision"},
        {"no header", {"\x18\x01", 2}, "without a revision"},
        {"revision 0", {"\x0a\x02\x18\x00", 4}, "without a revision"},
        {"no key", {"\x0a\x02\x18\x01\x12\x00", 6}, "empty key"},
        {"key is a number", {"\x0a\x02\x18\x01\x12\x02\x08\x01", 8}, "malformed"},
        {"revision is bytes", {"\x0a\x02\x1a\x00", 4}, "malformed"},
        {"header is a number", {"\x08\x01", 2}, "malformed"},
        {"more is bytes", {"\x0a\x02\x18\x01\x1a\x00", 6}, "malformed"},
        {"ends inside a key", {"\x0a\x02\x18\x01\x12\x05\x0a\x03", 8}, "malformed"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct etcd_range_reply reply = {.revision = 77};
        CLEANUP(arena_fini) struct arena arena;
        struct err err = {0};
        arena_init(&arena, ARENA_MAX);
        assert_int_equal(etcd_decode_range(cases[i].message, &arena, &reply, &err), ERR_PROTOCOL);
        assert_that(strstr(err.msg, cases[i].want), "%s: `%s`", cases[i].name, err.msg);
        assert_int_equal(reply.revision, 77); /* untouched */
    }
}

UNIT_TEST(test_bounded_by_the_arena)
{
    struct etcd_range_reply reply;
    CLEANUP(arena_fini) struct arena arena;
    struct err err = {0};
    size_t len;
    CLEANUP_FREE uint8_t *message = pack_reply(&len);
    arena_init(&arena, KVS * sizeof(struct etcd_kv) + len / 2);
    assert_int_equal(etcd_decode_range(slice_of(message, len), &arena, &reply, &err),
                     ERR_TOO_LARGE);
}
