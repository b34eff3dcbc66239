#include "kube2sky/api/kube_draft_internal.h"

#include <stdalign.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/xalloc.h"

/* An object has at most 8 MiB. Large ones consist mostly of Endpoints addresses, each 25 bytes of
 * protobuf, which take 200 bytes while decoded. */
enum { DRAFT_BYTES_MAX = 8 * KUBE_FRAME_MAX };

/* Room for an object's faults: enough to find the first ones, and at least one whole message. */
enum { FAULTS_BYTES_MAX = sizeof((struct err){0}.msg) };

/* Strings that nearly every object has: they are not copied into each. */
static const char *const constants[] = {
    "", "TCP", "UDP", "ClusterIP", "Running", "Pending", "Succeeded", "Failed", "NodePort", "SCTP",
};

static struct kube_kept kept_members;

void kube_object_keep(struct kube_kept kept)
{
    kept_members = kept;
}

const struct kube_kept *kube_draft_kept(void)
{
    return &kept_members;
}

void kube_draft_init(struct kube_draft *draft)
{
    *draft = (struct kube_draft){.object = {.ns = ""}};
    arena_init(&draft->arena, DRAFT_BYTES_MAX);
    buf_init(&draft->faults, FAULTS_BYTES_MAX);
}

void kube_draft_fini(struct kube_draft *draft)
{
    buf_fini(&draft->faults);
    arena_fini(&draft->arena);
}

static void clear_content(struct kube_draft *draft)
{
    switch (draft->object.kind) {
    case KUBE_SERVICE:
    case KUBE_IMPORT:
        draft->object.service =
            (struct kube_service){.uid = "",
                                  .aliases = "",
                                  .type = "",
                                  .external_name = "",
                                  .is_import = draft->object.kind == KUBE_IMPORT};
        break;
    case KUBE_ENDPOINTS:
        draft->object.endpoints = (struct kube_endpoints){.subsets = NULL};
        break;
    case KUBE_SLICE:
        draft->object.slice =
            (struct kube_slice){.service = "", .address_type = KUBE_OTHER_ADDRESS};
        break;
    case KUBE_IMPORT_SLICE:
        draft->object.import_slice = (struct kube_import_slice){
            .slice = {.service = "", .address_type = KUBE_OTHER_ADDRESS, .is_import = true},
            .cluster = ""};
        break;
    case KUBE_POD:
        draft->object.pod = (struct kube_pod){.phase = "", .node = ""};
        break;
    case KUBE_CONFIG_MAP:
        draft->object.config_map = (struct kube_config_map){.settings = NULL};
        break;
    case KUBE_NODE:
        draft->object.node = (struct kube_node){.zone = ""};
        break;
    case KUBE_NAMESPACE:
        draft->object.ns_object = (struct kube_namespace){.visible_to = NULL};
        break;
    case KUBE_INGRESS:
        draft->object.ingress = (struct kube_ingress){.uid = "", .class = ""};
        break;
    case KUBE_GATEWAY:
        draft->object.gateway = (struct kube_gateway){.listeners = NULL};
        break;
    case KUBE_ROUTE:
        draft->object.route = (struct kube_route){.uid = ""};
        break;
    }
}

void kube_draft_begin(struct kube_draft *draft, enum kube_kind kind)
{
    arena_clear(&draft->arena);
    buf_clear(&draft->faults);
    draft->object =
        (struct kube_object){.kind = kind, .ns = "", .name = "", .resource_version = ""};
    clear_content(draft);
}

static void add_fault(struct kube_draft *draft, const char *text)
{
    struct buf *faults = &draft->faults;
    const char *separator = faults->len ? "; " : "";
    if (faults->len + strlen(separator) + strlen(text) <= FAULTS_BYTES_MAX) {
        buf_printf(faults, "%s%s", separator, text);
    }
}

int kube_draft_leave_out(struct kube_draft *draft, int rc, const struct err *err)
{
    if (rc == 0 || rc == ERR_TOO_LARGE) {
        return rc;
    }
    add_fault(draft, err->msg);
    draft->object.fault_count += draft->object.fault_count < UINT16_MAX;
    return 0;
}

int kube_draft_check_name(const struct kube_object *object, struct err *err)
{
    bool is_namespaced = kube_kind_is_namespaced(object->kind);
    if (*object->name && !*object->ns == !is_namespaced) {
        return 0;
    }
    return err_set(err, ERR_SYNTAX, "metadata: expected a name and %s namespace",
                   is_namespaced ? "a" : "no");
}

static bool is_slice(const struct kube_object *object)
{
    return kube_kind_localized(object->kind) == KUBE_SLICE;
}

void kube_draft_garble(struct kube_draft *draft, const struct err *err)
{
    const char *service = is_slice(&draft->object) ? draft->object.slice.service : "";
    buf_clear(&draft->faults);
    add_fault(draft, err->msg);
    draft->object.fault_count = 1;
    draft->object.is_garbled = true;
    clear_content(draft);
    if (is_slice(&draft->object)) {
        draft->object.slice.service = service;
    }
}

static int kube_draft_too_large(struct err *err)
{
    return err_set(err, ERR_TOO_LARGE, "decodes to more than %d bytes", DRAFT_BYTES_MAX);
}

void *kube_draft_array(struct kube_draft *draft, size_t count, size_t size, struct err *err)
{
    void *array = NULL;
    if (count <= DRAFT_BYTES_MAX / size) {
        array = arena_alloc(&draft->arena, count * size);
    }
    if (!array) {
        kube_draft_too_large(err);
        return NULL;
    }
    return memset(array, 0, count * size);
}

int kube_draft_text(struct kube_draft *draft, struct slice text, const char **ret_text,
                    struct err *err)
{
    if (text.len == 0) {
        *ret_text = "";
        return 0;
    }
    if (memchr(text.ptr, '\0', text.len)) {
        return err_set(err, ERR_SYNTAX, "contains a NUL");
    }
    char *copy = arena_alloc(&draft->arena, text.len + 1);
    if (!copy) {
        return kube_draft_too_large(err);
    }
    memcpy(copy, text.ptr, text.len);
    copy[text.len] = '\0';
    *ret_text = copy;
    return 0;
}

/* ---- Packing: two passes, to measure and to copy ---- */

/* Packs aligned arrays first, then strings. */
struct packing {
    char *block; /* NULL: only measures */
    size_t array_bytes;
    size_t string_start;
    size_t string_bytes;
};

static void *pack_array(struct packing *p, const void *from, size_t count, size_t size)
{
    const size_t align = alignof(struct kube_object);
    size_t start = p->array_bytes;
    p->array_bytes += (count * size + align - 1) / align * align;
    if (!p->block || count == 0) {
        return NULL;
    }
    return memcpy(p->block + start, from, count * size);
}

static const char *pack_string(struct packing *p, const char *from)
{
    for (size_t i = 0; i < ARRAY_LEN(constants); i++) {
        if (strcmp(from, constants[i]) == 0) {
            return constants[i];
        }
    }
    size_t start = p->string_start + p->string_bytes;
    size_t size = strlen(from) + 1;
    p->string_bytes += size;
    return p->block ? memcpy(p->block + start, from, size) : NULL;
}

/* Packs an array whose items have strings at these offsets. Returns NULL while it measures. */
static void *pack_items(struct packing *p, const void *from, size_t count, size_t size,
                        const size_t *offsets, size_t offset_count)
{
    char *to = pack_array(p, from, count, size);
    for (size_t i = 0; i < count; i++) {
        for (size_t k = 0; k < offset_count; k++) {
            const size_t at = i * size + offsets[k];
            const char *string;
            memcpy(&string, (const char *)from + at, sizeof(string));
            string = pack_string(p, string);
            if (to) {
                memcpy(to + at, &string, sizeof(string));
            }
        }
    }
    return to;
}

#define PACK_ITEMS(p, items, count, ...)                                         \
    pack_items(p, items, count, sizeof(*(items)), (const size_t[]){__VA_ARGS__}, \
               ARRAY_LEN(((const size_t[]){__VA_ARGS__})))
#define STRING_OF(type, member) offsetof(struct type, member)

static const char *const *pack_strings(struct packing *p, const char *const *from, size_t count)
{
    return PACK_ITEMS(p, from, count, 0);
}

static const struct kube_port *pack_ports(struct packing *p, const struct kube_port *from,
                                          size_t count)
{
    return PACK_ITEMS(p, from, count, STRING_OF(kube_port, name), STRING_OF(kube_port, protocol));
}

static void pack_service(struct packing *p, struct kube_service *service)
{
    service->uid = pack_string(p, service->uid);
    service->aliases = pack_string(p, service->aliases);
    service->type = pack_string(p, service->type);
    service->external_name = pack_string(p, service->external_name);
    service->cluster_ips = pack_strings(p, service->cluster_ips, service->cluster_ip_count);
    service->external = pack_strings(p, service->external, service->external_count);
    service->ports = pack_ports(p, service->ports, service->port_count);
}

static void pack_endpoints(struct packing *p, struct kube_endpoints *endpoints)
{
    const struct kube_subset *from = endpoints->subsets;
    struct kube_subset *to = pack_array(p, from, endpoints->subset_count, sizeof(*to));
    for (size_t i = 0; i < endpoints->subset_count; i++) {
        struct kube_subset subset = from[i];
        subset.addresses =
            PACK_ITEMS(p, subset.addresses, subset.address_count, STRING_OF(kube_address, ip),
                       STRING_OF(kube_address, hostname), STRING_OF(kube_address, pod));
        subset.ports = pack_ports(p, subset.ports, subset.port_count);
        if (to) {
            to[i] = subset;
        }
    }
    endpoints->subsets = to;
}

static void pack_slice(struct packing *p, struct kube_slice *slice)
{
    const struct kube_slice_endpoint *from = slice->endpoints;
    struct kube_slice_endpoint *to =
        PACK_ITEMS(p, from, slice->endpoint_count, STRING_OF(kube_slice_endpoint, hostname),
                   STRING_OF(kube_slice_endpoint, pod));
    for (size_t i = 0; i < slice->endpoint_count; i++) {
        const char *const *addresses = pack_strings(p, from[i].addresses, from[i].address_count);
        if (to) {
            to[i].addresses = addresses;
        }
    }
    slice->service = pack_string(p, slice->service);
    slice->endpoints = to;
    slice->ports = pack_ports(p, slice->ports, slice->port_count);
    slice->zones = pack_strings(p, slice->zones, slice->zone_count);
}

static void pack_content(struct packing *p, struct kube_object *object)
{
    switch (object->kind) {
    case KUBE_SERVICE:
    case KUBE_IMPORT:
        pack_service(p, &object->service);
        break;
    case KUBE_ENDPOINTS:
        pack_endpoints(p, &object->endpoints);
        break;
    case KUBE_SLICE:
        pack_slice(p, &object->slice);
        break;
    case KUBE_IMPORT_SLICE:
        pack_slice(p, &object->slice);
        object->import_slice.cluster = pack_string(p, object->import_slice.cluster);
        break;
    case KUBE_POD:
        object->pod.phase = pack_string(p, object->pod.phase);
        object->pod.node = pack_string(p, object->pod.node);
        object->pod.ips = pack_strings(p, object->pod.ips, object->pod.ip_count);
        break;
    case KUBE_CONFIG_MAP:
        object->config_map.settings =
            PACK_ITEMS(p, object->config_map.settings, object->config_map.setting_count,
                       STRING_OF(kube_setting, key), STRING_OF(kube_setting, value));
        break;
    case KUBE_NODE:
        object->node.zone = pack_string(p, object->node.zone);
        object->node.ips = pack_strings(p, object->node.ips, object->node.ip_count);
        break;
    case KUBE_NAMESPACE:
        if (object->ns_object.visible_to) {
            object->ns_object.visible_to = pack_string(p, object->ns_object.visible_to);
        }
        break;
    case KUBE_INGRESS:
        object->ingress.uid = pack_string(p, object->ingress.uid);
        object->ingress.class = pack_string(p, object->ingress.class);
        object->ingress.hosts = pack_strings(p, object->ingress.hosts, object->ingress.host_count);
        break;
    case KUBE_GATEWAY:
        object->gateway.listeners =
            PACK_ITEMS(p, object->gateway.listeners, object->gateway.listener_count,
                       STRING_OF(kube_listener, name), STRING_OF(kube_listener, hostname));
        break;
    case KUBE_ROUTE:
        object->route.parents = PACK_ITEMS(p, object->route.parents, object->route.parent_count,
                                           STRING_OF(kube_parent, ns), STRING_OF(kube_parent, name),
                                           STRING_OF(kube_parent, section));
        object->route.uid = pack_string(p, object->route.uid);
        object->route.hostnames =
            pack_strings(p, object->route.hostnames, object->route.hostname_count);
        break;
    }
}

/* Sizes of the object itself, which comes first, with only its kind's part of the union. */
#define HEAD_SIZE(part) \
    (offsetof(struct kube_object, part) + sizeof(((struct kube_object *)NULL)->part))
static const size_t head_sizes[KUBE_KIND_COUNT] = {
    [KUBE_SERVICE] = HEAD_SIZE(service),           [KUBE_IMPORT] = HEAD_SIZE(service),
    [KUBE_ENDPOINTS] = HEAD_SIZE(endpoints),       [KUBE_SLICE] = HEAD_SIZE(slice),
    [KUBE_IMPORT_SLICE] = HEAD_SIZE(import_slice), [KUBE_POD] = HEAD_SIZE(pod),
    [KUBE_CONFIG_MAP] = HEAD_SIZE(config_map),     [KUBE_NODE] = HEAD_SIZE(node),
    [KUBE_NAMESPACE] = HEAD_SIZE(ns_object),       [KUBE_INGRESS] = HEAD_SIZE(ingress),
    [KUBE_GATEWAY] = HEAD_SIZE(gateway),           [KUBE_ROUTE] = HEAD_SIZE(route),
};

/* Packs the object: a draft on entry, the packed one on return (unusable after measuring). */
static void api_kube_draft_pack(struct packing *p, struct kube_object *object)
{
    p->array_bytes = head_sizes[object->kind];
    object->ns = pack_string(p, object->ns);
    object->name = pack_string(p, object->name);
    object->resource_version = pack_string(p, object->resource_version);
    object->faults = pack_string(p, object->faults);
    pack_content(p, object);
}

/* Returns a copy with namespace, name and version alone. */
static struct kube_object kube_draft_identity_only(const struct kube_object *object)
{
    struct kube_draft draft;
    kube_draft_init(&draft);
    kube_draft_begin(&draft, object->kind);
    draft.object.ns = object->ns;
    draft.object.name = object->name;
    draft.object.resource_version = object->resource_version;
    struct kube_object result = draft.object;
    kube_draft_fini(&draft);
    return result;
}

struct kube_object *kube_draft_pack(struct kube_draft *draft, enum kube_object_part part)
{
    struct kube_object from =
        part == KUBE_METADATA_ONLY ? kube_draft_identity_only(&draft->object) : draft->object;
    from.faults = part == KUBE_METADATA_ONLY ? "" : buf_cstr(&draft->faults);
    struct packing p = {.block = NULL};
    struct kube_object object = from;
    api_kube_draft_pack(&p, &object);

    p = (struct packing){
        .block = xmalloc(p.array_bytes + p.string_bytes),
        .string_start = p.array_bytes,
    };
    object = from;
    api_kube_draft_pack(&p, &object);
    memcpy(p.block, &object, head_sizes[object.kind]);
    return (struct kube_object *)p.block;
}

struct kube_object *kube_object_bare(const struct kube_object *object)
{
    struct kube_draft draft;
    kube_draft_init(&draft);
    kube_draft_begin(&draft, object->kind);
    draft.object.ns = object->ns;
    draft.object.name = object->name;
    draft.object.is_bare = true;
    draft.object.is_garbled = object->is_garbled;
    draft.object.fault_count = object->fault_count;
    draft.object.has_port_fault = object->has_port_fault;
    draft.object.has_annotation_fault = object->has_annotation_fault;
    buf_append_str(&draft.faults, object->faults);
    if (is_slice(object)) {
        draft.object.slice.service = object->slice.service;
    }
    struct kube_object *copy = kube_draft_pack(&draft, KUBE_WHOLE);
    kube_draft_fini(&draft);
    return copy;
}
