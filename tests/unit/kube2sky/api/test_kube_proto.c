/* Protobuf of the Kubernetes API that is broken, truncated, or large. */
#include "common/base/proto_scan.h"
#include "tests/support/unit_test.h"
#include "tests/unit/kube2sky/api/both_encodings.h"
#include "tests/unit/kube2sky/api/print_object.h"
#include "tests/unit/kube2sky/api/whole_list.h"

#define BYTES(literal)                \
    {                                 \
        literal, sizeof(literal) - 1, \
    }
#define SLICE(literal) slice_of(literal, sizeof(literal) - 1)

/* ---- Building ---- */

static void put_metadata(struct buf *out, struct slice name)
{
    CLEANUP_BUF struct buf metadata = buf_of(1 << 20);
    wire_bytes(&metadata, 1, name);
    wire_bytes(&metadata, 3, slice_str("d"));
    wire_bytes(&metadata, 6, slice_str("5"));
    wire_bytes(out, 1, buf_slice(&metadata));
}

/* An item of a list: metadata, and the raw content of the spec (or status). */
static void put_item(struct buf *list, struct slice name, struct slice spec)
{
    CLEANUP_BUF struct buf object = buf_of(1 << 24);
    put_metadata(&object, name);
    wire_bytes(&object, 2, spec);
    wire_bytes(list, 2, buf_slice(&object));
}

static void put_list_metadata(struct buf *list)
{
    wire_bytes(list, 1,
               SLICE("\x12\x03"
                     "100"));
}

/* ---- Decoding ---- */

static void kube_proto_on_object(void *data, struct kube_object *object)
{
    struct buf *out = data;
    print_object(out, object);
    buf_append_char(out, '\n');
    kube_object_free(object);
}

static void kube_proto_on_bad(void *data, const struct err *err)
{
    struct buf *out = data;
    buf_printf(out, "bad: %s\n", err->msg);
}

/* The objects, then the outcome. */
static void kube_proto_decode(enum kube_kind kind, struct slice body, size_t piece, struct buf *out)
{
    CLEANUP(kube_list_meta_fini) struct kube_list_meta meta = {0};
    struct err err = {0};
    buf_init(out, 1 << 20);
    if (decode_pieces(KUBE_PROTOBUF, kind, body, piece, kube_proto_on_object, kube_proto_on_bad,
                      out, &meta, &err) < 0) {
        buf_append_str(out, err.msg);
    } else {
        buf_printf(out, "rv=%s continue=%s", meta.resource_version, meta.continue_token);
    }
}

static void check_list(enum kube_kind kind, const struct buf *list, const char *want)
{
    struct buf got;
    CLEANUP_BUF struct buf body = buf_of(1 << 25);
    wire_envelope(&body, "List", buf_slice(list));
    for (size_t piece = body.len > 100000 ? 16384 : 1; piece <= 2 * body.len;
         piece = piece * 3 + 1) {
        kube_proto_decode(kind, buf_slice(&body), piece, &got);
        assert_that(strcmp(buf_cstr(&got), want) == 0, "in pieces of %zu:\n%s\nwant:\n%s", piece,
                    buf_cstr(&got), want);
        buf_fini(&got);
    }
}

/* ---- Tests ---- */

/* A broken object is dropped alone. */
UNIT_TEST(test_broken_between_good_ones)
{
    CLEANUP_BUF struct buf list = buf_of(1 << 20);
    put_list_metadata(&list);
    put_item(&list, slice_str("a"), SLICE(""));
    put_item(&list, slice_str("cut"), SLICE("\x0a\x7f"));  /* a port longer than the rest */
    put_item(&list, slice_str("type"), SLICE("\x08\x01")); /* ports as a number */
    put_item(&list, slice_str("group"), SLICE("\x0b"));    /* a wire type not in use */
    put_item(&list, slice_str("port"), SLICE("\x0a\x04\x18\xf0\xa2\x04")); /* 70000 */
    put_item(&list, slice_str("nul"),
             SLICE("\x1a\x03"
                   "a\0b"));
    put_item(&list, SLICE("x\0y"), SLICE(""));
    wire_bytes(&list, 2, SLICE(""));
    wire_bytes(&list, 2,
               SLICE("\x0a\x06\x0a\x01n\x1a\x01"
                     "d\x10\x11")); /* the spec: 17 */
    wire_bytes(&list, 2, SLICE("\x0a\x7f"));
    wire_bytes(&list, 2, SLICE("\x0a\x05\x0a\x01x\x1a\x7f")); /* a namespace longer than the rest */
    put_item(&list, slice_str("z"), SLICE("\x1a\x04None"));
    check_list(
        KUBE_SERVICE, &list,
        "d/a type=\n"
        "d/cut garbled: spec: not a protobuf message\n"
        "d/type type= without 1: spec: ports: not a protobuf message\n"
        "d/group garbled: spec: not a protobuf message\n"
        "d/port type= without 1: ports[0]: port: expected a number from 0 to 65535, found 70000\n"
        "d/nul garbled: spec: clusterIP: contains a NUL\n"
        "bad: metadata: name: contains a NUL\n"
        "bad: metadata: expected a name and a namespace\n"
        "d/n garbled: spec: not a protobuf message\n"
        "bad: not a protobuf message\n"
        "bad: metadata: not a protobuf message\n"
        "d/z type= headless\n"
        "rv=100 continue=");
}

/* Objects before the cut are delivered, but the list fails. */
UNIT_TEST(test_cut_anywhere)
{
    CLEANUP_BUF struct buf list = buf_of(1 << 20);
    CLEANUP_BUF struct buf body = buf_of(1 << 20);
    put_list_metadata(&list);
    put_item(&list, slice_str("a"),
             SLICE("\x1a\x08"
                   "10.0.0.1"));
    put_item(&list, slice_str("b"), SLICE(""));
    wire_envelope(&body, "ServiceList", buf_slice(&list));
    for (size_t len = 0; len < body.len; len++) {
        CLEANUP_FREE char *copy = xmalloc(len + 1);
        struct buf got;
        memcpy(copy, body.data, len);
        kube_proto_decode(KUBE_SERVICE, slice_of(copy, len), len + 1, &got);
        const char *text = buf_cstr(&got);
        /* Only an empty contentEncoding follows the raw message: two bytes. */
        bool is_whole = len == body.len - 2;
        assert_that((strstr(text, "list: ") != NULL) != is_whole, "%zu of %zu bytes: %s", len,
                    body.len, text);
        buf_fini(&got);
    }
}

static const struct {
    const char *name;
    struct slice body;
    const char *want;
} odd_bodies[] = {
    {"JSON", BYTES("{}"), "list: not Kubernetes protobuf: does not begin with `k8s`"},
    {"nothing", BYTES(""), "list: not Kubernetes protobuf: does not begin with `k8s`"},
    {"an empty envelope", BYTES("k8s\0"), "list: metadata.resourceVersion: missing"},
    {"compressed", BYTES("k8s\0\x1a\x04gzip"), "list: content encoding `gzip`: expected none"},
    {"no version", BYTES("k8s\0\x12\x02\x0a\x00"), "list: metadata.resourceVersion: missing"},
    {"a varint without end", BYTES("k8s\0\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"),
     "list: not a protobuf message, or cut short"},
    {"field 0", BYTES("k8s\0\x02\x00"), "list: not a protobuf message, or cut short"},
};

UNIT_TEST(test_odd_bodies)
{
    for (size_t i = 0; i < ARRAY_LEN(odd_bodies); i++) {
        struct buf got;
        kube_proto_decode(KUBE_SERVICE, odd_bodies[i].body, 1, &got);
        assert_that(strcmp(buf_cstr(&got), odd_bodies[i].want) == 0, "%s: got %s",
                    odd_bodies[i].name, buf_cstr(&got));
        buf_fini(&got);
    }
}

UNIT_TEST(test_status_body)
{
    struct kube_status status = {0};
    CLEANUP_BUF struct buf body = buf_of(1024);
    wire_envelope(&body, "Status", SLICE("\x1a\x03nay\x30\x93\x03"));
    assert_true(kube_decode_status(buf_slice(&body), &status));
    assert_int_equal(status.code, 403);
    assert_string_equal(status.message, "nay");
    kube_status_fini(&status);
    buf_clear(&body);
    wire_envelope(&body, "Service", SLICE("\x1a\x03nay\x30\x93\x03"));
    assert_false(kube_decode_status(buf_slice(&body), &status));
}

/* An object that grows to 40 times its encoded size is rejected at the limit, alone. */
UNIT_TEST(test_amplification)
{
    CLEANUP_BUF struct buf spec = buf_of(1 << 23);
    CLEANUP_BUF struct buf list = buf_of(1 << 24);
    for (size_t i = 0; i < (1 << 23) / 2 - 100; i++) {
        buf_append(&spec, "\x0a\x00", 2); /* a port */
    }
    put_list_metadata(&list);
    put_item(&list, slice_str("huge"), buf_slice(&spec));
    put_item(&list, slice_str("b"), SLICE(""));
    check_list(KUBE_SERVICE, &list,
               "d/huge garbled: spec: decodes to more than 67108864 bytes\n"
               "d/b type=\nrv=100 continue=");
}

/* 5 MB of ignored content, in an annotation, do no harm. */
UNIT_TEST(test_large_object)
{
    struct both object, metadata;
    CLEANUP_FREE char *text = xmalloc(5000001);
    memset(text, 'x', 5000000);
    text[5000000] = '\0';
    both_init(&object);
    both_init(&metadata);
    both_string(&metadata, "name", 1, "large");
    both_string(&metadata, "namespace", 3, "d");
    CLEANUP_BUF struct buf entry = buf_of(1 << 23);
    wire_bytes(&entry, 1, slice_str("note"));
    wire_bytes(&entry, 2, slice_str(text));
    wire_bytes(&metadata.proto, 12, buf_slice(&entry));
    both_message(&object, "metadata", 1, &metadata);
    CLEANUP_BUF struct buf list = buf_of(1 << 24);
    put_list_metadata(&list);
    wire_bytes(&list, 2, buf_slice(&object.proto));
    check_list(KUBE_POD, &list, "d/large \nrv=100 continue=");
    both_fini(&object);
}

/* An item longer than any object, of which only the beginning arrives. */
UNIT_TEST(test_endless_item)
{
    struct kube_list *list =
        kube_list_new(KUBE_PROTOBUF, KUBE_POD, kube_proto_on_object, kube_proto_on_bad, NULL);
    CLEANUP_FREE char *zeros = xcalloc(1, 1 << 20);
    struct err err = {0};
    int rc = kube_list_push(list, SLICE("k8s\0\x12\xff\xff\xff\x7f\x12\xf0\xff\xff\x7f"), &err);
    for (unsigned i = 0; rc == 0 && i < 16; i++) {
        rc = kube_list_push(list, slice_of(zeros, 1 << 20), &err);
    }
    assert_int_equal(rc, ERR_TOO_LARGE);
    assert_string_equal(err.msg, "list: an item is longer than 8388608 bytes");
    kube_list_free(list);
}

/* ---- proto_scan ---- */

UNIT_TEST(test_scan)
{
    struct proto_scan scan = proto_scan_of(SLICE("\x08\x96\x01\x12\x03two\x19"
                                                 "12345678\x25"
                                                 "1234\x12\x00"));
    static const struct {
        uint32_t number;
        uint64_t varint;
        const char *bytes;
    } want[] = {{1, 150, ""}, {2, 0, "two"}, {3, 0, ""}, {4, 0, ""}, {2, 0, ""}};
    struct proto_field field;
    for (size_t i = 0; i < ARRAY_LEN(want); i++) {
        assert_true(proto_scan_next(&scan, &field));
        assert_int_equal(field.number, want[i].number);
        assert_int_equal(field.varint, want[i].varint);
        assert_true(slice_equal(field.bytes, slice_str(want[i].bytes)));
    }
    assert_false(proto_scan_next(&scan, &field));
    assert_false(scan.failed);
    struct slice found;
    assert_true(proto_scan_find(SLICE("\x0a\x01"
                                      "a\x0a\x01"
                                      "b"),
                                1, &found));
    assert_true(slice_equal(found, slice_str("b")));
    assert_true(proto_scan_find(SLICE("\x08\x01"), 2, &found));
    assert_int_equal(found.len, 0);
    assert_false(proto_scan_find(SLICE("\x08\x01"), 1, &found));
    assert_false(proto_scan_find(SLICE("\x0a\x01"
                                       "a\x0a"),
                                 1, &found));
    assert_true(slice_equal(found, slice_str("a")));
}

UNIT_TEST(test_scan_for_numbers)
{
    static const struct {
        struct slice message;
        bool is_understood;
        uint64_t want;
    } cases[] = {
        {BYTES("\x58\x01"), true, 1},
        {BYTES("\x0a\x01x\x58\x01\x58\x00\x60\x01"), true, 0}, /* the last one counts */
        {BYTES("\x58\x80\x01"), true, 128},
        {BYTES("\x60\x01"), true, 0},
        {BYTES("\x5a\x01x"), false, 0},         /* bytes */
        {BYTES("\x58\x01\x0a\x02x"), false, 1}, /* cut short */
        {BYTES("\x58"), false, 0},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        uint64_t value = 7;
        assert_int_equal(proto_scan_find_number(cases[i].message, 11, &value),
                         cases[i].is_understood);
        assert_int_equal(value, cases[i].want);
    }
}

/* One field of a pod's spec counts; a spec that cannot be understood is no answer. */
UNIT_TEST(test_specs_of_pods)
{
    static const struct {
        struct slice spec;
        const char *want;
    } cases[] = {
        {BYTES(""), "default/p "},
        {BYTES("\x12\x02hi\x58\x01\x60\x00"), "default/p  host"},
        {BYTES("\x12\x02hi\x58\x00"), "default/p "},
        {BYTES("\x5a\x04true"), "default/p garbled: spec: not a protobuf message"},
        {BYTES("\x58\x01\x12\x7f"), "default/p garbled: spec: not a protobuf message"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct both object, metadata, event;
        struct kube_event got;
        struct err err = {0};
        both_init(&object);
        both_init(&metadata);
        both_init(&event);
        CLEANUP_BUF struct buf envelope = buf_of(1024);
        CLEANUP_BUF struct buf text = buf_of(1024);
        both_string(&metadata, "name", 1, "p");
        both_string(&metadata, "namespace", 3, "default");
        both_message(&object, "metadata", 1, &metadata);
        wire_bytes(&object.proto, 2, cases[i].spec);
        wire_envelope(&envelope, "Pod", buf_slice(&object.proto));
        wire_bytes(&event.proto, 1, slice_str("ADDED"));
        wire_bytes(&text, 1, buf_slice(&envelope));
        wire_bytes(&event.proto, 2, buf_slice(&text));
        assert_int_equal(
            kube_decode_event(KUBE_PROTOBUF, KUBE_POD, buf_slice(&event.proto), &got, &err), 0);
        buf_clear(&text);
        print_object(&text, got.object);
        assert_string_equal(buf_cstr(&text), cases[i].want);
        kube_event_fini(&got);
        both_fini(&event);
        both_fini(&object);
    }
}
