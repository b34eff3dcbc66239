/* Decodes lists of Kubernetes objects in protobuf, as kube2sky reads them when it starts, for
 * callgrind to count the instructions (tests/bench/instructions.py). The objects have the fields
 * that an API server sends, most of which kube2sky does not read. Prints `KIND OBJECTS` for each
 * dump of callgrind's. Exit status 1: not all objects were decoded. */
#include <stdio.h>
#include <valgrind/callgrind.h>

#include "common/base/attributes.h"
#include "tests/unit/kube2sky/api/both_encodings.h"
#include "tests/unit/kube2sky/api/whole_list.h"

enum { OBJECTS = 256, ENDPOINTS = 10, MESSAGE_BYTES_MAX = 1 << 22 };

/* ---- Messages ---- */

static void bench_put_text(struct buf *out, unsigned number, const char *text)
{
    wire_bytes(out, number, slice_str(text));
}

static void bench_put_message(struct buf *out, unsigned number, struct buf *message)
{
    wire_bytes(out, number, buf_slice(message));
    buf_clear(message);
}

static void put_entry(struct buf *out, unsigned number, const char *key, const char *value)
{
    struct buf entry;
    buf_init(&entry, MESSAGE_BYTES_MAX);
    bench_put_text(&entry, 1, key);
    bench_put_text(&entry, 2, value);
    bench_put_message(out, number, &entry);
    buf_fini(&entry);
}

static void put_numbered(struct buf *out, unsigned number, const char *prefix, unsigned i)
{
    struct buf text;
    buf_init(&text, MESSAGE_BYTES_MAX);
    buf_printf(&text, "%s%u", prefix, i);
    bench_put_message(out, number, &text);
    buf_fini(&text);
}

static void bench_put_metadata(struct buf *object, unsigned i)
{
    struct buf metadata, inner;
    buf_init(&metadata, MESSAGE_BYTES_MAX);
    buf_init(&inner, MESSAGE_BYTES_MAX);
    put_numbered(&metadata, 1, "web-", i);
    put_numbered(&metadata, 2, "web-", i / 10);
    bench_put_text(&metadata, 3, "shop");
    bench_put_text(&metadata, 4, "");
    bench_put_text(&metadata, 5, "0b7c44a6-52e1-4c8f-9d1e-5f0f3a1c2b7d");
    put_numbered(&metadata, 6, "48", 1000 + i);
    wire_int(&metadata, 7, 1);
    wire_int(&inner, 1, 1714564800);
    wire_int(&inner, 2, 0);
    bench_put_message(&metadata, 8, &inner);
    put_entry(&metadata, 11, "app.kubernetes.io/name", "web");
    put_entry(&metadata, 11, "app.kubernetes.io/instance", "web-shop");
    put_entry(&metadata, 11, "kubernetes.io/service-name", "web");
    put_entry(&metadata, 12, "endpoints.kubernetes.io/last-change-trigger-time",
              "2024-05-01T12:00:00Z");
    bench_put_text(&inner, 1, "kube-controller-manager"); /* managedFields */
    bench_put_text(&inner, 2, "Update");
    bench_put_text(&inner, 3, "v1");
    bench_put_text(&inner, 6, "FieldsV1");
    bench_put_text(&inner, 7, "{\"f:metadata\":{\"f:labels\":{\"f:app.kubernetes.io/name\":{}}}}");
    bench_put_message(&metadata, 17, &inner);
    bench_put_message(object, 1, &metadata);
    buf_fini(&inner);
    buf_fini(&metadata);
}

static void put_ports(struct buf *out, unsigned number, unsigned count)
{
    static const char *const names[] = {"http", "https", "metrics"};
    struct buf port;
    buf_init(&port, MESSAGE_BYTES_MAX);
    for (unsigned i = 0; i < count; i++) {
        bench_put_text(&port, 1, names[i % ARRAY_LEN(names)]);
        bench_put_text(&port, 2, "TCP");
        wire_int(&port, 3, 8080 + i);
        bench_put_message(out, number, &port);
    }
    buf_fini(&port);
}

static void put_service(struct buf *object, unsigned i)
{
    struct buf spec, status;
    buf_init(&spec, MESSAGE_BYTES_MAX);
    buf_init(&status, MESSAGE_BYTES_MAX);
    put_ports(&spec, 1, 2);
    put_entry(&spec, 2, "app.kubernetes.io/name", "web");
    put_numbered(&spec, 3, "10.96.7.", i % 256);
    bench_put_text(&spec, 4, "ClusterIP");
    bench_put_text(&spec, 7, "None");
    bench_put_text(&spec, 8, "");
    bench_put_text(&spec, 10, "");
    bench_put_text(&spec, 11, "");
    wire_int(&spec, 12, 0);
    wire_int(&spec, 13, 0);
    bench_put_text(&spec, 17, "SingleStack");
    put_numbered(&spec, 18, "10.96.7.", i % 256);
    bench_put_text(&spec, 19, "IPv4");
    bench_put_text(&spec, 22, "Cluster");
    bench_put_text(&status, 1, "");
    bench_put_message(object, 2, &spec);
    bench_put_message(object, 3, &status);
    buf_fini(&status);
    buf_fini(&spec);
}

static void put_slice(struct buf *object, unsigned i)
{
    struct buf endpoint, inner;
    buf_init(&endpoint, MESSAGE_BYTES_MAX);
    buf_init(&inner, MESSAGE_BYTES_MAX);
    for (unsigned k = 0; k < ENDPOINTS; k++) {
        put_numbered(&endpoint, 1, "10.244.3.", (i + k) % 256);
        wire_int(&inner, 1, 1);
        wire_int(&inner, 2, 1);
        wire_int(&inner, 3, 0);
        bench_put_message(&endpoint, 2, &inner);
        bench_put_text(&inner, 1, "Pod");
        bench_put_text(&inner, 2, "shop");
        put_numbered(&inner, 3, "web-7d9c5b8f6d-", k);
        bench_put_text(&inner, 4, "5f0f3a1c-52e1-4c8f-9d1e-0b7c44a62b7d");
        bench_put_message(&endpoint, 4, &inner);
        bench_put_text(&endpoint, 6, "node-3");
        bench_put_text(&endpoint, 7, "zone-a");
        bench_put_message(object, 2, &endpoint);
    }
    put_ports(object, 3, 2);
    bench_put_text(object, 4, "IPv4");
    buf_fini(&inner);
    buf_fini(&endpoint);
}

static void put_pod(struct buf *object, unsigned i)
{
    struct buf part, inner;
    buf_init(&part, MESSAGE_BYTES_MAX);
    buf_init(&inner, MESSAGE_BYTES_MAX);
    put_ports(&inner, 6, 3);
    bench_put_message(&part, 2, &inner); /* a container */
    bench_put_text(&part, 3, "Always");
    wire_int(&part, 4, 30);
    bench_put_text(&part, 6, "ClusterFirst");
    bench_put_text(&part, 8, "default");
    bench_put_text(&part, 10, "node-3");
    wire_int(&part, 11, 0);
    wire_int(&part, 12, 0);
    bench_put_message(object, 2, &part);
    bench_put_text(&part, 1, "Running");
    for (unsigned k = 0; k < 4; k++) {
        bench_put_text(&inner, 1, "Ready");
        bench_put_text(&inner, 2, "True");
        bench_put_message(&part, 2, &inner);
    }
    bench_put_text(&part, 5, "192.168.0.3");
    put_numbered(&part, 6, "10.244.3.", i % 256);
    put_numbered(&inner, 1, "10.244.3.", i % 256);
    bench_put_message(&part, 12, &inner);
    bench_put_message(object, 3, &part);
    buf_fini(&inner);
    buf_fini(&part);
}

static void put_list(struct buf *body, const char *name,
                     void (*put_content)(struct buf *object, unsigned i))
{
    struct buf list, object;
    buf_init(&list, MESSAGE_BYTES_MAX);
    buf_init(&object, MESSAGE_BYTES_MAX);
    wire_bytes(&list, 1, slice_of("\x12\x03\x31\x30\x30", 5)); /* the version 100 */
    for (unsigned i = 0; i < OBJECTS; i++) {
        bench_put_metadata(&object, i);
        put_content(&object, i);
        bench_put_message(&list, 2, &object);
    }
    wire_envelope(body, name, buf_slice(&list));
    buf_fini(&object);
    buf_fini(&list);
}

/* ---- Decoding ---- */

static void take_object(void *data, struct kube_object *object)
{
    unsigned *count = data;
    *count += object->fault_count == 0;
    kube_object_free(object);
}

static void take_bad(void *data, const struct err *err)
{
    (void)data;
    (void)fprintf(stderr, "bench_decode: %s\n", err->msg);
}

/* Returns the number of objects decoded without a fault. */
static unsigned decode_bench_list(enum kube_kind kind, struct slice body)
{
    struct kube_list_meta meta = {0};
    struct err err;
    unsigned count = 0;
    if (decode_whole(KUBE_PROTOBUF, kind, body, take_object, take_bad, &count, &meta, &err) < 0) {
        take_bad(NULL, &err);
        return 0;
    }
    kube_list_meta_fini(&meta);
    return count;
}

int main(void)
{
    static const struct {
        const char *name;
        enum kube_kind kind;
        const char *list;
        void (*put_content)(struct buf *object, unsigned i);
    } kinds[] = {
        {"decode-service", KUBE_SERVICE, "ServiceList", put_service},
        {"decode-slice", KUBE_SLICE, "EndpointSliceList", put_slice},
        {"decode-pod", KUBE_POD, "PodList", put_pod},
    };
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
        struct buf body;
        buf_init(&body, MESSAGE_BYTES_MAX);
        put_list(&body, kinds[i].list, kinds[i].put_content);
        CALLGRIND_START_INSTRUMENTATION;
        CALLGRIND_TOGGLE_COLLECT;
        const unsigned count = decode_bench_list(kinds[i].kind, buf_slice(&body));
        CALLGRIND_TOGGLE_COLLECT;
        CALLGRIND_DUMP_STATS_AT(kinds[i].name);
        CALLGRIND_STOP_INSTRUMENTATION;
        buf_fini(&body);
        if (count != OBJECTS) {
            (void)fprintf(stderr, "bench_decode: %u of %d objects\n", count, OBJECTS);
            return 1;
        }
        (void)printf("%s %u\n", kinds[i].name, count);
    }
    return 0;
}
