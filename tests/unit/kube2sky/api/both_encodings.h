/* Writes a message of the Kubernetes API as JSON and as protobuf at once, so that a test can decode
 * both and compare. The protobuf writer shares no code with the decoder. */
#ifndef TESTS_UNIT_KUBE2SKY_API_BOTH_ENCODINGS_H
#define TESTS_UNIT_KUBE2SKY_API_BOTH_ENCODINGS_H

#include <jansson.h>
#include <stdlib.h>

#include "common/base/buf.h"

struct both {
    json_t *json;
    struct buf proto;
};

static inline void both_init(struct both *both)
{
    both->json = json_object();
    buf_init(&both->proto, 64 * 1024 * 1024);
}

static inline void both_fini(struct both *both)
{
    json_decref(both->json);
    buf_fini(&both->proto);
}

/* ---- The wire ---- */

static inline void wire_varint(struct buf *out, uint64_t value)
{
    for (; value >= 0x80; value >>= 7) {
        buf_append_char(out, (char)(value | 0x80));
    }
    buf_append_char(out, (char)value);
}

static inline void wire_bytes(struct buf *out, unsigned number, struct slice bytes)
{
    wire_varint(out, (uint64_t)number << 3 | 2);
    wire_varint(out, bytes.len);
    buf_append_slice(out, bytes);
}

static inline void wire_int(struct buf *out, unsigned number, uint64_t value)
{
    wire_varint(out, (uint64_t)number << 3);
    wire_varint(out, value);
}

/* "k8s\0" and an Unknown. */
static inline void wire_envelope(struct buf *out, const char *kind, struct slice raw)
{
    CLEANUP_BUF struct buf type = buf_of(1024);
    wire_bytes(&type, 1, slice_str("v1"));
    wire_bytes(&type, 2, slice_str(kind));
    buf_append(out, "k8s", 4);
    wire_bytes(out, 1, buf_slice(&type));
    wire_bytes(out, 2, raw);
    wire_bytes(out, 3, slice_str(""));
}

/* ---- Both encodings: name in JSON, number in protobuf ---- */

static inline void both_string(struct both *both, const char *name, unsigned number,
                               const char *text)
{
    (void)json_object_set_new(both->json, name, json_string(text)); /* the text is UTF-8 */
    wire_bytes(&both->proto, number, slice_str(text));
}

static inline void both_int(struct both *both, const char *name, unsigned number, int value)
{
    (void)json_object_set_new(both->json, name, json_integer(value));
    wire_int(&both->proto, number, (uint64_t)(int64_t)value);
}

static inline void both_bool(struct both *both, const char *name, unsigned number, bool value)
{
    (void)json_object_set_new(both->json, name, json_boolean(value));
    wire_int(&both->proto, number, value);
}

static inline json_t *array_called(struct both *both, const char *name)
{
    json_t *array = json_object_get(both->json, name);
    if (!array) {
        array = json_array();
        (void)json_object_set_new(both->json, name, array);
    }
    return array;
}

static inline void both_add_string(struct both *both, const char *name, unsigned number,
                                   const char *text)
{
    (void)json_array_append_new(array_called(both, name), json_string(text));
    wire_bytes(&both->proto, number, slice_str(text));
}

static inline void both_map_entry(struct both *both, const char *name, unsigned number,
                                  const char *key, const char *value)
{
    json_t *map = json_object_get(both->json, name);
    if (!map) {
        map = json_object();
        (void)json_object_set_new(both->json, name, map);
    }
    (void)json_object_set_new(map, key, json_string(value));
    CLEANUP_BUF struct buf entry = buf_of(1 << 20);
    wire_bytes(&entry, 1, slice_str(key));
    wire_bytes(&entry, 2, slice_str(value));
    wire_bytes(&both->proto, number, buf_slice(&entry));
}

/* These take ownership of the inner message. */
static inline void both_message(struct both *both, const char *name, unsigned number,
                                struct both *inner)
{
    (void)json_object_set(both->json, name, inner->json);
    wire_bytes(&both->proto, number, buf_slice(&inner->proto));
    both_fini(inner);
}

static inline void both_add_message(struct both *both, const char *name, unsigned number,
                                    struct both *inner)
{
    (void)json_array_append(array_called(both, name), inner->json);
    wire_bytes(&both->proto, number, buf_slice(&inner->proto));
    both_fini(inner);
}

#endif
