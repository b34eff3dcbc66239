#include "kube2sky/api/kube_shape_internal.h"

#include <stdalign.h>
#include <string.h>

#include "common/base/xalloc.h"

/* ---- Members ---- */

enum member_type {
    MEMBER_TEXT,
    MEMBER_TEXT_OR_NULL,
    MEMBER_NUMBER, /* or a flag */
    MEMBER_ITEMS,  /* an array of structs, or of texts */
};

struct member {
    enum member_type type;
    uint16_t at;
    uint16_t count_at;         /* of items: where their number is; */
    uint16_t size;             /* and its size, or a number's */
    const struct shape *items; /* of items */
};

struct shape {
    size_t size;
    size_t count;
    const struct member *members;
};

#define SIZE_OF(type, name) sizeof(((const struct type *)NULL)->name)
#define TEXT(type, name)                                     \
    {                                                        \
        MEMBER_TEXT, offsetof(struct type, name), 0, 0, NULL \
    }
#define TEXT_OR_NULL(type, name)                                     \
    {                                                                \
        MEMBER_TEXT_OR_NULL, offsetof(struct type, name), 0, 0, NULL \
    }
#define NUMBER(type, name)                                                       \
    {                                                                            \
        MEMBER_NUMBER, offsetof(struct type, name), 0, SIZE_OF(type, name), NULL \
    }
#define ITEMS(type, name, number, shape)                                          \
    {                                                                             \
        MEMBER_ITEMS, offsetof(struct type, name), offsetof(struct type, number), \
            SIZE_OF(type, number), shape                                          \
    }
#define SHAPE(type, members)                             \
    {                                                    \
        sizeof(struct type), ARRAY_LEN(members), members \
    }

/* An item of an array of texts. */
struct text {
    const char *text;
};
static const struct member text_members[] = {TEXT(text, text)};
static const struct shape text_shape = SHAPE(text, text_members);

static const struct member port_members[] = {
    TEXT(kube_port, name),
    TEXT(kube_port, protocol),
    NUMBER(kube_port, port),
};
static const struct shape port_shape = SHAPE(kube_port, port_members);

static const struct member service_members[] = {
    TEXT(kube_service, uid),
    TEXT(kube_service, aliases),
    NUMBER(kube_service, created_s),
    TEXT(kube_service, type),
    TEXT(kube_service, external_name),
    ITEMS(kube_service, cluster_ips, cluster_ip_count, &text_shape),
    ITEMS(kube_service, external, external_count, &text_shape),
    ITEMS(kube_service, ports, port_count, &port_shape),
    NUMBER(kube_service, is_headless),
    NUMBER(kube_service, publish_not_ready),
    NUMBER(kube_service, is_import),
    NUMBER(kube_service, prefers_near),
};

static const struct member address_members[] = {
    TEXT(kube_address, ip),
    TEXT(kube_address, hostname),
    TEXT(kube_address, pod),
    NUMBER(kube_address, is_ready),
};
static const struct shape address_shape = SHAPE(kube_address, address_members);

static const struct member subset_members[] = {
    ITEMS(kube_subset, addresses, address_count, &address_shape),
    ITEMS(kube_subset, ports, port_count, &port_shape),
};
static const struct shape subset_shape = SHAPE(kube_subset, subset_members);

/* Without the trigger's time, here and in a slice. */
static const struct member endpoints_members[] = {
    ITEMS(kube_endpoints, subsets, subset_count, &subset_shape),
};

/* Zones have numbers in the order of the endpoints: where those are equal, the numbers are. */
static const struct member slice_endpoint_members[] = {
    ITEMS(kube_slice_endpoint, addresses, address_count, &text_shape),
    TEXT(kube_slice_endpoint, hostname),
    TEXT(kube_slice_endpoint, pod),
    NUMBER(kube_slice_endpoint, is_ready),
    NUMBER(kube_slice_endpoint, is_serving),
    NUMBER(kube_slice_endpoint, is_terminating),
    NUMBER(kube_slice_endpoint, zone),
};
static const struct shape slice_endpoint_shape = SHAPE(kube_slice_endpoint, slice_endpoint_members);

/* The last one is an import's only. */
static const struct member slice_members[] = {
    NUMBER(kube_import_slice, slice.is_import),
    TEXT(kube_import_slice, slice.service),
    ITEMS(kube_import_slice, slice.endpoints, slice.endpoint_count, &slice_endpoint_shape),
    ITEMS(kube_import_slice, slice.ports, slice.port_count, &port_shape),
    ITEMS(kube_import_slice, slice.zones, slice.zone_count, &text_shape),
    NUMBER(kube_import_slice, slice.address_type),
    TEXT(kube_import_slice, cluster),
};

static const struct member pod_members[] = {
    TEXT(kube_pod, phase),
    ITEMS(kube_pod, ips, ip_count, &text_shape),
    TEXT(kube_pod, node),
    NUMBER(kube_pod, is_on_host_network),
};

static const struct member setting_members[] = {
    TEXT(kube_setting, key),
    TEXT(kube_setting, value),
};
static const struct shape setting_shape = SHAPE(kube_setting, setting_members);

static const struct member config_map_members[] = {
    ITEMS(kube_config_map, settings, setting_count, &setting_shape),
};

static const struct member node_members[] = {
    ITEMS(kube_node, ips, ip_count, &text_shape),
    TEXT(kube_node, zone),
};

static const struct member namespace_members[] = {
    TEXT_OR_NULL(kube_namespace, visible_to),
};

static const struct member ingress_members[] = {
    TEXT(kube_ingress, uid),
    TEXT(kube_ingress, class),
    ITEMS(kube_ingress, hosts, host_count, &text_shape),
    NUMBER(kube_ingress, created_s),
};

static const struct member listener_members[] = {
    TEXT(kube_listener, name),
    TEXT(kube_listener, hostname),
    NUMBER(kube_listener, port),
};
static const struct shape listener_shape = SHAPE(kube_listener, listener_members);

static const struct member gateway_members[] = {
    ITEMS(kube_gateway, listeners, listener_count, &listener_shape),
};

static const struct member parent_members[] = {
    TEXT(kube_parent, ns),
    TEXT(kube_parent, name),
    TEXT(kube_parent, section),
    NUMBER(kube_parent, port),
};
static const struct shape parent_shape = SHAPE(kube_parent, parent_members);

static const struct member route_members[] = {
    TEXT(kube_route, uid),
    ITEMS(kube_route, hostnames, hostname_count, &text_shape),
    ITEMS(kube_route, parents, parent_count, &parent_shape),
    NUMBER(kube_route, created_s),
};

/* Members of all kinds; a packed object has only its kind's part of the union behind them. */
static const struct member object_members[] = {
    TEXT(kube_object, faults),
    TEXT(kube_object, ns),
    TEXT(kube_object, name),
    TEXT(kube_object, resource_version),
};
static const struct shape object_shape = {offsetof(struct kube_object, service),
                                          ARRAY_LEN(object_members), object_members};

static const struct shape kind_shapes[KUBE_KIND_COUNT] = {
    [KUBE_SERVICE] = SHAPE(kube_service, service_members),
    [KUBE_ENDPOINTS] = SHAPE(kube_endpoints, endpoints_members),
    [KUBE_SLICE] = {sizeof(struct kube_slice), ARRAY_LEN(slice_members) - 1, slice_members},
    [KUBE_POD] = SHAPE(kube_pod, pod_members),
    [KUBE_CONFIG_MAP] = SHAPE(kube_config_map, config_map_members),
    [KUBE_NODE] = SHAPE(kube_node, node_members),
    [KUBE_NAMESPACE] = SHAPE(kube_namespace, namespace_members),
    [KUBE_INGRESS] = SHAPE(kube_ingress, ingress_members),
    [KUBE_GATEWAY] = SHAPE(kube_gateway, gateway_members),
    [KUBE_ROUTE] = SHAPE(kube_route, route_members),
    [KUBE_IMPORT] = SHAPE(kube_service, service_members),
    [KUBE_IMPORT_SLICE] = SHAPE(kube_import_slice, slice_members),
};

/* Returns the object's shape. A slice of an import remains one when it has been localized. */
static const struct shape *shape_of(const struct kube_object *object)
{
    const bool is_import = object->kind == KUBE_SLICE && object->slice.is_import;
    return &kind_shapes[is_import ? KUBE_IMPORT_SLICE : object->kind];
}

/* Returns the part of an object that its kind has. */
static const char *kube_shape_content(const struct kube_object *object)
{
    return (const char *)object + object_shape.size;
}

static const char *member_text(const void *thing, const struct member *member)
{
    const char *text;
    memcpy(&text, (const char *)thing + member->at, sizeof(text));
    return text;
}

static size_t count_at(const void *thing, const struct member *member)
{
    const char *at = (const char *)thing + member->count_at;
    return member->size == sizeof(uint8_t)    ? *(const uint8_t *)at
           : member->size == sizeof(uint32_t) ? *(const uint32_t *)(const void *)at
                                              : *(const size_t *)(const void *)at;
}

/* ---- Emptying ---- */

void kube_shape_clear(struct kube_object *object)
{
    static const char *const empty = "";
    const struct shape *shape = &kind_shapes[object->kind];
    char *content = (char *)object + object_shape.size;
    memset(content, 0, shape->size);
    for (size_t i = 0; i < shape->count; i++) {
        if (shape->members[i].type == MEMBER_TEXT) {
            memcpy(content + shape->members[i].at, &empty, sizeof(empty));
        }
    }
    if (kube_kind_localized(object->kind) == KUBE_SLICE) {
        object->slice.address_type = KUBE_OTHER_ADDRESS;
        object->slice.is_import = object->kind == KUBE_IMPORT_SLICE;
    } else if (object->kind == KUBE_IMPORT) {
        object->service.is_import = true;
    }
}

/* ---- Comparing ---- */

static bool equal_members(const struct shape *shape, const char *a, const char *b);

static bool equal_items(const struct member *member, const char *a, const char *b)
{
    const char *x = member_text(a, member), *y = member_text(b, member);
    const size_t count = count_at(a, member), size = member->items->size;
    bool is_equal = count == count_at(b, member);
    for (size_t i = 0; is_equal && i < count; i++) {
        is_equal = equal_members(member->items, x + i * size, y + i * size);
    }
    return is_equal;
}

static bool equal_texts(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) == 0 : a == b;
}

static bool equal_members(const struct shape *shape, const char *a, const char *b)
{
    bool is_equal = true;
    for (size_t i = 0; is_equal && i < shape->count; i++) {
        const struct member *member = &shape->members[i];
        is_equal = member->type == MEMBER_NUMBER
                       ? memcmp(a + member->at, b + member->at, member->size) == 0
                   : member->type == MEMBER_ITEMS
                       ? equal_items(member, a, b)
                       : equal_texts(member_text(a, member), member_text(b, member));
    }
    return is_equal;
}

bool kube_shape_equal(const struct kube_object *a, const struct kube_object *b)
{
    return equal_members(shape_of(a), kube_shape_content(a), kube_shape_content(b));
}

/* ---- Packing: two passes, to measure and to copy ---- */

/* Strings that nearly every object has, by their first byte: they are not copied into each. */
static const char *const constants[] = {
    [0] = "",          ['C'] = "ClusterIP", ['F'] = "Failed", ['N'] = "NodePort", ['P'] = "Pending",
    ['R'] = "Running", ['S'] = "Succeeded", ['T'] = "TCP",    ['U'] = "UDP",
};

/* Packs aligned arrays first, then strings. */
struct packing {
    char *block; /* NULL: only measures */
    size_t array_bytes;
    size_t string_start;
    size_t string_bytes;
};

static char *pack_array(struct packing *p, const void *from, size_t bytes)
{
    const size_t align = alignof(struct kube_object);
    size_t start = p->array_bytes;
    p->array_bytes += (bytes + align - 1) / align * align;
    return p->block && bytes ? memcpy(p->block + start, from, bytes) : NULL;
}

static const char *pack_string(struct packing *p, const char *from)
{
    const unsigned char first = (unsigned char)*from;
    const char *constant = first < ARRAY_LEN(constants) ? constants[first] : NULL;
    if (constant && strcmp(from, constant) == 0) {
        return constant;
    }
    size_t start = p->string_start + p->string_bytes;
    size_t size = strlen(from) + 1;
    p->string_bytes += size;
    return p->block ? memcpy(p->block + start, from, size) : NULL;
}

/* Packs what the members lead to; `to` is a copy of the thing, or NULL while it measures. */
static void pack_members(struct packing *p, const struct shape *shape, const char *from, char *to)
{
    for (size_t i = 0; i < shape->count; i++) {
        const struct member *member = &shape->members[i];
        if (member->type == MEMBER_NUMBER) {
            continue;
        }
        const char *old = member_text(from, member), *new = NULL;
        if (member->type == MEMBER_ITEMS) {
            const size_t count = count_at(from, member), size = member->items->size;
            char *items = pack_array(p, old, count * size);
            for (size_t k = 0; k < count; k++) {
                pack_members(p, member->items, old + k * size, items ? items + k * size : NULL);
            }
            new = items;
        } else if (old) {
            new = pack_string(p, old);
        }
        if (to) {
            memcpy(to + member->at, &new, sizeof(new));
        }
    }
}

static void pack_object(struct packing *p, const struct kube_object *object)
{
    const struct shape *shape = shape_of(object);
    char *to = pack_array(p, object, object_shape.size + shape->size);
    pack_members(p, &object_shape, (const char *)object, to);
    pack_members(p, shape, kube_shape_content(object), to ? to + object_shape.size : NULL);
}

struct kube_object *kube_shape_pack(const struct kube_object *object)
{
    struct packing p = {.block = NULL};
    pack_object(&p, object);
    p = (struct packing){
        .block = xmalloc(p.array_bytes + p.string_bytes),
        .string_start = p.array_bytes,
    };
    pack_object(&p, object);
    return (struct kube_object *)(void *)p.block;
}
