/* Splits lists, watch events and Statuses in protobuf into objects, by field lengths, and unpacks
 * each by itself. So an error stays within its object, and an unpacked message holds only one. */
#include <string.h>

#include "common/base/proto_scan.h"
#include "common/base/xalloc.h"
#include "kube2sky/api/kube_codec_internal.h"
#include "kube2sky/api/kube_object_decode_internal.h"

/* Begins every body and every object of a watch. */
static const struct slice magic = {"k8s\0", 4};

/* Fields of the messages around objects, from runtime/generated.proto and
 * meta/v1/generated.proto of k8s.io/apimachinery. */
enum { UNKNOWN_TYPE_META = 1, UNKNOWN_RAW = 2, UNKNOWN_CONTENT_ENCODING = 3 };
enum { TYPE_META_KIND = 2 };
enum { RAW_EXTENSION_RAW = 1 };
enum { WATCH_EVENT_TYPE = 1, WATCH_EVENT_OBJECT = 2 };
enum { LIST_METADATA = 1, LIST_ITEMS = 2 };
enum { OBJECT_METADATA = 1 };
enum { OBJECT_META_NAME = 1, OBJECT_META_NAMESPACE = 3 };
enum { STATUS_MESSAGE = 3, STATUS_CODE = 6 };

struct envelope {
    struct slice kind; /* "ServiceList", "Status" */
    struct slice raw;
};

static int no_kubernetes(struct err *err)
{
    return err_set(err, ERR_SYNTAX, "not Kubernetes protobuf: does not begin with `k8s`");
}

static int wrong_encoding(struct slice encoding, struct err *err)
{
    return err_set(err, ERR_PROTOCOL, "content encoding `%.*s`: expected none",
                   (int)(encoding.len > 40 ? 40 : encoding.len), encoding.ptr);
}

static int open_envelope(struct slice body, struct envelope *ret_envelope, struct err *err)
{
    if (!slice_has_prefix(body, magic)) {
        return no_kubernetes(err);
    }
    struct proto_scan scan = proto_scan_of(slice_of(body.ptr + magic.len, body.len - magic.len));
    struct envelope envelope = {{"", 0}, {"", 0}};
    struct proto_field field;
    while (proto_scan_next(&scan, &field)) {
        if (field.number == UNKNOWN_TYPE_META) {
            (void)proto_scan_find(field.bytes, TYPE_META_KIND, &envelope.kind); /* "" if absent */
        } else if (field.number == UNKNOWN_RAW) {
            envelope.raw = field.bytes;
        } else if (field.number == UNKNOWN_CONTENT_ENCODING && field.bytes.len > 0) {
            return wrong_encoding(field.bytes, err);
        }
    }
    if (scan.failed) {
        return err_set(err, ERR_SYNTAX, "not a protobuf message, or cut short");
    }
    *ret_envelope = envelope;
    return 0;
}

/* Finds the name of an object. The metadata comes first, so errors after it do not matter. */
static struct kube_full_name kube_list_proto_find_name(struct slice object)
{
    struct kube_full_name full;
    struct slice metadata;
    (void)proto_scan_find(object, OBJECT_METADATA, &metadata);
    (void)proto_scan_find(metadata, OBJECT_META_NAMESPACE, &full.ns);
    (void)proto_scan_find(metadata, OBJECT_META_NAME, &full.name);
    return full;
}

/* ---- Lists ---- */

/* Says what must come next. */
enum { AT_MAGIC, IN_ENVELOPE, IN_LIST };

static int no_message(struct err *err)
{
    return err_set(err, ERR_SYNTAX, "not a protobuf message, or cut short");
}

/* Reads a varint at pos and moves past it. Returns 0 if it is incomplete, a negative code if it is
 * invalid. */
static int kube_list_proto_take_varint(struct slice bytes, size_t *pos, uint64_t *ret_value)
{
    enum { VARINT_BYTES_MAX = 10 };
    struct reader reader = reader_of(bytes.ptr + *pos, bytes.len - *pos);
    uint64_t value = 0;
    for (unsigned i = 0; i < VARINT_BYTES_MAX; i++) {
        uint8_t byte = reader_u8(&reader);
        if (reader.failed) {
            return 0;
        }
        value |=
            i < 9 ? (uint64_t)(byte & 0x7f) << (7 * i) : 0; /* lengths have fewer than 64 bits */
        if (!(byte & 0x80)) {
            *pos += reader.pos;
            *ret_value = value;
            return 1;
        }
    }
    return -1;
}

/* Measures the first field, which must hold bytes: its length including its key and, in *ret_head,
 * that of key and length only. Returns 0 if even those are incomplete. */
static int measure_field(struct slice bytes, uint32_t *ret_number, size_t *ret_head,
                         uint64_t *ret_size, struct err *err)
{
    enum { VARINT = 0, FIXED64 = 1, LENGTH_DELIMITED = 2, FIXED32 = 5 };
    uint64_t key, value = 0;
    size_t pos = 0;
    int rc = kube_list_proto_take_varint(bytes, &pos, &key);
    if (rc <= 0) {
        return rc == 0 ? 0 : no_message(err);
    }
    unsigned type = key & 7;
    if (type == VARINT || type == LENGTH_DELIMITED) {
        rc = kube_list_proto_take_varint(bytes, &pos, &value);
    }
    if (rc <= 0) {
        return rc == 0 ? 0 : no_message(err);
    }
    if (key >> 3 == 0 || key >> 3 > UINT32_MAX || value > SIZE_MAX / 2) {
        return no_message(err);
    }
    if (type != VARINT && type != LENGTH_DELIMITED && type != FIXED32 && type != FIXED64) {
        return no_message(err);
    }
    *ret_number = (uint32_t)(key >> 3);
    *ret_head = pos;
    *ret_size = pos + (type == LENGTH_DELIMITED ? value
                       : type == FIXED64        ? 8
                       : type == FIXED32        ? 4
                                                : 0);
    return 1;
}

/* Enters the envelope's list field without waiting for its end. */
static int take_envelope_field(struct kube_list_cut *cut, struct slice bytes, size_t *ret_used,
                               struct err *err)
{
    uint32_t number = 0;
    size_t head = 0;
    uint64_t size = 0;
    int rc = measure_field(bytes, &number, &head, &size, err);
    if (rc <= 0) {
        return rc;
    }
    if (number == UNKNOWN_RAW && size >= head) {
        cut->list_left = size - head;
        cut->step = IN_LIST;
        *ret_used = head;
        return 0;
    }
    if (size > bytes.len) {
        return 0;
    }
    *ret_used = (size_t)size;
    return number == UNKNOWN_CONTENT_ENCODING && size > head
               ? wrong_encoding(slice_of(bytes.ptr + head, (size_t)size - head), err)
               : 0;
}

static int take_list_field(struct kube_list_cut *cut, struct slice bytes, size_t *ret_used,
                           struct err *err)
{
    uint32_t number = 0;
    size_t head = 0;
    uint64_t size = 0;
    int rc = measure_field(bytes, &number, &head, &size, err);
    if (rc <= 0) {
        return rc;
    }
    if (size > cut->list_left) {
        return no_message(err);
    }
    if (size > bytes.len) {
        return 0;
    }
    struct slice content = slice_of(bytes.ptr + head, (size_t)size - head);
    if (number == LIST_METADATA) {
        rc = kube_list_meta_decode(KUBE_PROTOBUF, content, &cut->meta, err);
    } else if (number == LIST_ITEMS) {
        cut->on_item(cut->data, content);
    }
    cut->list_left -= size;
    *ret_used = (size_t)size;
    return rc < 0 ? rc : 0;
}

static int take_magic(struct kube_list_cut *cut, struct slice bytes, size_t *ret_used,
                      struct err *err)
{
    if (!slice_has_prefix(bytes.len < magic.len ? magic : bytes,
                          bytes.len < magic.len ? bytes : magic)) {
        return no_kubernetes(err);
    }
    if (bytes.len >= magic.len) {
        cut->step = IN_ENVELOPE;
        *ret_used = magic.len;
    }
    return 0;
}

static int kube_list_proto_cut_list(struct kube_list_cut *cut, struct slice bytes, size_t *ret_used,
                                    struct err *err)
{
    *ret_used = 0;
    if (cut->step == AT_MAGIC) {
        return take_magic(cut, bytes, ret_used, err);
    }
    if (cut->step == IN_LIST && cut->list_left == 0) {
        cut->step = IN_ENVELOPE;
    }
    return cut->step == IN_ENVELOPE ? take_envelope_field(cut, bytes, ret_used, err)
                                    : take_list_field(cut, bytes, ret_used, err);
}

static int kube_list_proto_cut_list_end(const struct kube_list_cut *cut, struct err *err)
{
    if (cut->step == AT_MAGIC) {
        return no_kubernetes(err);
    }
    return cut->list_left > 0 || cut->left > 0 ? no_message(err) : 0;
}

/* ---- Watch events ---- */

static bool kube_list_proto_decode_status(struct slice object, struct kube_status *ret_status)
{
    struct proto_scan scan = proto_scan_of(object);
    struct proto_field field;
    struct slice message = {"", 0};
    uint64_t code = 0;
    while (proto_scan_next(&scan, &field)) {
        if (field.number == STATUS_MESSAGE) {
            message = field.bytes;
        } else if (field.number == STATUS_CODE) {
            code = field.varint;
        }
    }
    if (scan.failed) {
        return false;
    }
    ret_status->code = code < 1000 ? (int)code : 0;
    ret_status->message = xstrndup(message.ptr, message.len);
    return true;
}

static bool decode_status_body(struct slice body, struct kube_status *ret_status)
{
    struct envelope envelope = {0};
    return open_envelope(body, &envelope, NULL) == 0 &&
           slice_equal(envelope.kind, slice_str("Status")) &&
           kube_list_proto_decode_status(envelope.raw, ret_status);
}

static int kube_list_proto_cut_event(struct slice message, struct slice *ret_type,
                                     struct slice *ret_object, struct err *err)
{
    struct proto_scan scan = proto_scan_of(message);
    struct proto_field field;
    struct envelope envelope = {.raw = {"", 0}};
    struct slice object = {"", 0};
    while (proto_scan_next(&scan, &field)) {
        if (field.number == WATCH_EVENT_TYPE) {
            *ret_type = field.bytes;
        } else if (field.number == WATCH_EVENT_OBJECT) {
            (void)proto_scan_find(field.bytes, RAW_EXTENSION_RAW, &object); /* empty if absent */
        }
    }
    if (scan.failed || object.len == 0) {
        return err_set(err, ERR_SYNTAX, "not a protobuf message with type and object");
    }
    int rc = open_envelope(object, &envelope, err);
    *ret_object = envelope.raw;
    return rc;
}

const struct kube_codec kube_codec_proto = {
    .cut = kube_list_proto_cut_list,
    .cut_end = kube_list_proto_cut_list_end,
    .event = kube_list_proto_cut_event,
    .full_name = kube_list_proto_find_name,
    .status = kube_list_proto_decode_status,
    .status_body = decode_status_body,
};
