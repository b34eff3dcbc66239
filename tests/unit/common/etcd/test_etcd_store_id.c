/* common/etcd/etcd_store_id.h against a scripted peer, for revisions that no etcd reaches in a
 * test: a backup that was restored with higher ones (etcdutl --bump-revision --mark-compacted). */
#include "common/base/buf.h"
#include "common/etcd/etcd.h"
#include "common/etcd/etcd_store_id.h"
#include "rpc.pb-c.h"
#include "tests/support/etcd_sync.h"
#include "tests/support/grpc_peer.h"
#include "tests/support/h2_bytes.h"
#include "tests/support/unit_test.h"

enum { CALL_TIMEOUT_MS = 60000, EVIDENCE_REVISION = 9 };

static struct {
    struct ev_loop *loop;
    struct grpc_peer *peer;
    struct etcd *etcd;
    struct etcd_evidence evidence;
    int64_t revision; /* etcd's, which has compacted all before */
    unsigned asked;   /* Ranges so far: the store key's, then the witness's at its revision */
    bool is_answered;
    enum etcd_store_verdict verdict;
} f;

/* Appends a RangeResponse without keys, or with the store key. */
static void say_range(struct buf *out, uint32_t stream, bool has_key)
{
    static char key[] = "/key/of/store", id[] = "first";
    Etcdserverpb__ResponseHeader header = ETCDSERVERPB__RESPONSE_HEADER__INIT;
    Etcdserverpb__RangeResponse reply = ETCDSERVERPB__RANGE_RESPONSE__INIT;
    Mvccpb__KeyValue kv = MVCCPB__KEY_VALUE__INIT, *kvs = &kv;
    header.revision = f.revision;
    reply.header = &header;
    kv.key = (ProtobufCBinaryData){.len = sizeof(key) - 1, .data = (uint8_t *)key};
    kv.value = (ProtobufCBinaryData){.len = sizeof(id) - 1, .data = (uint8_t *)id};
    kv.create_revision = kv.mod_revision = kv.version = 1;
    reply.kvs = &kvs;
    reply.n_kvs = has_key;
    size_t len = etcdserverpb__range_response__get_packed_size(&reply);
    assert_in_range(len, 1, 255);
    uint8_t *framed = xcalloc(1, 5 + len); /* not compressed, and the length in big endian */
    framed[4] = (uint8_t)len;
    etcdserverpb__range_response__pack(&reply, framed + 5);
    h2_headers(out, 0, stream, ":status: 200\ncontent-type: application/grpc");
    h2_frame(out, H2_DATA, 0, stream, slice_of(framed, 5 + len));
    h2_headers(out, H2_END_STREAM, stream, "grpc-status: 0");
    free(framed);
}

static void answer_call(struct buf *out, uint32_t stream, bool is_long)
{
    assert_false(is_long);
    if (++f.asked == 2) {
        h2_headers(out, H2_END_STREAM, stream,
                   ":status: 200\ncontent-type: application/grpc\ngrpc-status: 11\n"
                   "grpc-message: etcdserver: mvcc: required revision has been compacted");
    } else {
        say_range(out, stream, f.asked == 1);
    }
}

static int etcd_store_id_setup(void **state)
{
    struct err err;
    f.loop = ev_loop_new(EVFLAG_AUTO);
    f.peer = grpc_peer_new(f.loop, answer_call);
    const struct etcd_config config = {
        .loop = f.loop, .endpoints = grpc_peer_url(f.peer), .call_timeout_ms = CALL_TIMEOUT_MS};
    assert_that(etcd_new(&config, &f.etcd, &err) == 0, "%s", err.msg);
    const struct etcd_kv put = {.key = slice_str("/s/late"),
                                .value = slice_str("v"),
                                .create_revision = EVIDENCE_REVISION,
                                .mod_revision = EVIDENCE_REVISION,
                                .version = 1};
    etcd_evidence_init(&f.evidence);
    f.evidence.revision = EVIDENCE_REVISION;
    etcd_evidence_set_id(&f.evidence, slice_str("first"));
    etcd_evidence_put(&f.evidence, &put);
    f.asked = 0;
    f.is_answered = false;
    return 0;
}

static int etcd_store_id_teardown(void **state)
{
    etcd_evidence_fini(&f.evidence);
    etcd_free(f.etcd);
    grpc_peer_free(f.peer);
    ev_loop_destroy(f.loop);
    return 0;
}

UNIT_TESTS_EACH(etcd_store_id_setup, etcd_store_id_teardown)

static void on_answer(void *data, const struct etcd_store_answer *answer, const struct err *err)
{
    assert_null(err);
    f.is_answered = true;
    f.verdict = answer->verdict;
}

static bool etcd_store_id_is_answered(const void *data)
{
    return f.is_answered;
}

static enum etcd_store_verdict ask_at(int64_t revision)
{
    f.revision = revision;
    (void)etcd_store_ask(f.etcd, &(struct etcd_store_ask){
                                     .store_key = slice_str("/key/of/store"),
                                     .range = slice_str("/s/"),
                                     .range_end = slice_str("/s0"),
                                     .evidence = &f.evidence,
                                     .cb = on_answer,
                                 });
    loop_until(f.loop, etcd_store_id_is_answered, NULL);
    assert_int_equal(f.asked, 3); /* the witness once more, as it is now */
    return f.verdict;
}

/* Away for long: only a full read tells. */
UNIT_TEST(test_compacted_and_grown)
{
    assert_int_equal(ask_at(EVIDENCE_REVISION + 100000000), ETCD_STORE_COMPACTED);
}

UNIT_TEST(test_compacted_and_bumped)
{
    assert_int_equal(ask_at(EVIDENCE_REVISION + 100000001), ETCD_STORE_OTHER);
}

/* A write that was acknowledged counts as much as what the watch has shown. */
UNIT_TEST(test_written_shortly_before_the_compaction)
{
    f.evidence.written = EVIDENCE_REVISION + 1;
    assert_int_equal(ask_at(EVIDENCE_REVISION + 100000001), ETCD_STORE_COMPACTED);
}
