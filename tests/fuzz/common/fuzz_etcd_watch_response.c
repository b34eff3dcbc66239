/* Decoders of etcd's replies: the same bytes decoded as every type of reply. A decoded message
 * keeps what etcd_codec_internal.h promises, and stays below its limit. */
#include "common/etcd/etcd_codec_internal.h"
#include "tests/fuzz/fuzz_target.h"

enum { DECODED_MAX = 1 << 20 };

static volatile unsigned char sink; /* so that every byte is read */

static void etcd_watch_response_read_all(struct slice s)
{
    for (size_t i = 0; i < s.len; i++) {
        sink ^= (unsigned char)s.ptr[i];
    }
}

static void etcd_watch_response_read_kv(const struct etcd_kv *kv)
{
    fuzz_check(kv->key.len != 0);
    etcd_watch_response_read_all(kv->key);
    etcd_watch_response_read_all(kv->value);
}

static void etcd_watch_response_watch(struct slice message, struct arena *arena)
{
    struct etcd_watch_response response;
    struct err err;
    int64_t revision = 1;
    if (etcd_decode_watch(message, arena, &response, &err) != 0) {
        return;
    }
    etcd_watch_response_read_all(slice_str(response.cancel_reason));
    for (size_t i = 0; i < response.count; i++) {
        fuzz_check(response.events[i].kv.mod_revision >= revision);
        revision = response.events[i].kv.mod_revision;
        etcd_watch_response_read_kv(&response.events[i].kv);
    }
}

static void etcd_watch_response_range(struct slice message, struct arena *arena)
{
    struct etcd_range_reply reply;
    struct err err;
    if (etcd_decode_range(message, arena, &reply, &err) != 0) {
        return;
    }
    fuzz_check(reply.revision > 0);
    for (size_t i = 0; i < reply.count; i++) {
        etcd_watch_response_read_kv(&reply.kvs[i]);
    }
}

static void small_replies(struct slice message, struct arena *arena)
{
    struct etcd_revoke_reply revoke;
    struct etcd_status_reply status;
    struct etcd_lease_reply lease;
    const char *token;
    struct err err;
    /* Numbers only; either outcome is fine. */
    (void)!etcd_decode_lease_revoke(message, arena, &revoke, &err);
    (void)!etcd_decode_status(message, arena, &status, &err);
    (void)!etcd_decode_lease_grant(message, arena, &lease, &err);
    (void)!etcd_decode_lease_keep_alive(message, arena, &lease, &err);
    (void)!etcd_decode_lease_time_to_live(message, arena, &lease, &err);
    if (etcd_decode_authenticate(message, arena, &token, &err) == 0) {
        fuzz_check(token[0] != '\0');
        etcd_watch_response_read_all(slice_str(token));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct slice message = slice_of(data, size);
    struct etcd_txn_reply txn;
    struct err err;
    struct arena arena;
    arena_init(&arena, DECODED_MAX);
    etcd_watch_response_watch(message, &arena);
    arena_clear(&arena);
    etcd_watch_response_range(message, &arena);
    arena_clear(&arena);
    fuzz_check(etcd_decode_txn(message, &arena, &txn, &err) != 0 || txn.revision > 0);
    arena_clear(&arena);
    small_replies(message, &arena);
    fuzz_check(arena.reserved <= DECODED_MAX);
    arena_fini(&arena);
    return 0;
}
