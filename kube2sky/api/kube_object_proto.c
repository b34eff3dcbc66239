#include "kube2sky/api/kube_object_proto_internal.h"

#include "common/base/attributes.h"
#include "common/base/proto_scan.h"
#include "common/base/utc_time.h"
#include "kube2sky/api/fields_json_internal.h"
#include "kube_objects.pb-c.h"

/* Numbers of fields of the objects themselves. */
enum {
    OBJECT_METADATA = 1,
    SERVICE_SPEC = 2,
    SERVICE_STATUS = 3,
    POD_SPEC = 2,
    POD_STATUS = 3,
    NODE_STATUS = 3
};

/* Reads the creation time, which protobuf-c leaves out of the metadata: only Services need it. */
enum { METADATA_CREATION = 8, TIME_SECONDS = 1 };

/* Reads the uid likewise: only events need it. */
enum { METADATA_UID = 5 };

/* The last second that JSON can write, 9999-12-31T23:59:59Z. */
static const uint64_t CREATED_MAX_S = 253402300799;

/* Number of a field of a pod's spec, which has many more. */
enum { POD_SPEC_NODE_NAME = 10, POD_SPEC_HOST_NETWORK = 11 };

/* Holds the state of decoding one object. protobuf-c allocates from the draft's arena, too. */
struct decoder {
    struct kube_draft *draft;
    struct kube_hostnames hostnames;
    const Kube__ObjectMeta *metadata;
    struct slice object; /* all of it */
    ProtobufCAllocator allocator;
    struct err *err;
};

/* ---- Fields ---- */

static void *kube_object_proto_allocate(void *data, size_t size)
{
    struct kube_draft *draft = data;
    return arena_alloc(&draft->arena, size);
}

/* Does nothing: memory is freed with the arena. */
static void kube_object_proto_deallocate(void *data UNUSED, void *pointer UNUSED)
{
}

static void *kube_object_proto_unpack(struct decoder *d, const ProtobufCMessageDescriptor *type,
                                      struct slice message, const char *what)
{
    void *unpacked = protobuf_c_message_unpack(type, &d->allocator, message.len,
                                               (const uint8_t *)(message.ptr ? message.ptr : ""));
    if (!unpacked) {
        err_set(d->err, ERR_SYNTAX, "%s: not a protobuf message, or beyond the limits", what);
    }
    return unpacked;
}

/* Unpacks one field of the object, without copying the others. */
static void *unpack_field(struct decoder *d, const ProtobufCMessageDescriptor *type,
                          struct slice object, uint32_t number, const char *what)
{
    struct slice message;
    if (!proto_scan_find(object, number, &message)) {
        err_set(d->err, ERR_SYNTAX, "%s: not a protobuf message", what);
        return NULL;
    }
    return kube_object_proto_unpack(d, type, message, what);
}

/* Takes a text; "" when absent. */
static int kube_object_proto_take_text(struct decoder *d, ProtobufCBinaryData value,
                                       const char *key, const char **ret_text)
{
    int rc = kube_draft_text(d->draft, slice_of(value.data, value.len), ret_text, d->err);
    return rc < 0 ? err_wrap(d->err, rc, "%s", key) : 0;
}

static int kube_object_proto_leave_out(struct decoder *d, int rc)
{
    return kube_draft_leave_out(d->draft, rc, d->err);
}

/* Takes texts; those with a NUL are left out. */
static int take_texts(struct decoder *d, const ProtobufCBinaryData *values, size_t count,
                      const char *key, const char *const **ret_texts, size_t *ret_count)
{
    const char **texts = kube_draft_array(d->draft, count, sizeof(*texts), d->err);
    size_t taken = 0;
    int rc = texts ? 0 : ERR_TOO_LARGE;
    for (size_t i = 0; rc == 0 && i < count; i++) {
        int r = kube_object_proto_take_text(d, values[i], key, &texts[taken]);
        taken += r == 0;
        rc = kube_object_proto_leave_out(d, r);
    }
    *ret_texts = texts;
    *ret_count = taken;
    return rc;
}

/* Returns the last entry with this key, as map decoders do; NULL if absent. */
static const Kube__StringEntry *find_entry(Kube__StringEntry *const *entries, size_t count,
                                           const char *key)
{
    const Kube__StringEntry *entry = NULL;
    for (size_t i = 0; i < count; i++) {
        if (slice_equal(slice_of(entries[i]->key.data, entries[i]->key.len), slice_str(key))) {
            entry = entries[i];
        }
    }
    return entry;
}

/* Returns the value of the last entry with this key; empty if absent. */
static struct slice entry_of(Kube__StringEntry *const *entries, size_t count, const char *key)
{
    const Kube__StringEntry *entry = find_entry(entries, count, key);
    return entry ? slice_of(entry->value.data, entry->value.len) : slice_of("", 0);
}

static struct slice annotation_of(const struct decoder *d, const char *key)
{
    return entry_of(d->metadata->annotations, d->metadata->n_annotations, key);
}

/* ---- Parts of objects ---- */

static int kube_object_proto_decode_metadata(struct decoder *d, struct slice object)
{
    struct kube_object *draft = &d->draft->object;
    const Kube__ObjectMeta *metadata =
        unpack_field(d, &kube__object_meta__descriptor, object, OBJECT_METADATA, "metadata");
    int rc = 0;
    if (!metadata) {
        return ERR_SYNTAX;
    }
    d->metadata = metadata;
    if ((rc = kube_object_proto_take_text(d, metadata->namespace_, "namespace", &draft->ns)) < 0 ||
        (rc = kube_object_proto_take_text(d, metadata->name, "name", &draft->name)) < 0) {
        return err_wrap(d->err, rc, "metadata");
    }
    if (metadata->resourceversion.len > KUBE_VERSION_MAX) {
        return err_set(d->err, ERR_TOO_LARGE, "metadata: resourceVersion: longer than %d bytes",
                       KUBE_VERSION_MAX);
    }
    rc = kube_object_proto_take_text(d, metadata->resourceversion, "resourceVersion",
                                     &draft->resource_version);
    if (rc < 0) {
        return err_wrap(d->err, rc, "metadata");
    }
    return kube_draft_check_name(draft, d->err);
}

/* Takes a port: two messages of the API describe ports, with their fields in different order. */
static int kube_object_proto_take_port(struct decoder *d, size_t i, const Kube__Port *from,
                                       struct kube_port *to)
{
    int rc = 0;
    if ((rc = kube_object_proto_take_text(d, from->name, "name", &to->name)) < 0 ||
        (rc = kube_object_proto_take_text(d, from->protocol, "protocol", &to->protocol)) < 0) {
        return err_wrap(d->err, rc, "ports[%zu]", i);
    }
    if (from->port < 0 || from->port > 65535) {
        return err_set(d->err, ERR_SYNTAX,
                       "ports[%zu]: port: expected a number from 0 to 65535, found %d", i,
                       (int)from->port);
    }
    to->port = from->port;
    return 0;
}

static int kube_object_proto_decode_ports(struct decoder *d, Kube__Port *const *from, size_t count,
                                          const struct kube_port **ret_ports, size_t *ret_count)
{
    struct kube_port *ports = kube_draft_array(d->draft, count, sizeof(*ports), d->err);
    size_t taken = 0;
    int rc = ports ? 0 : ERR_TOO_LARGE;
    for (size_t i = 0; rc == 0 && i < count; i++) {
        int r = kube_object_proto_take_port(d, i, from[i], &ports[taken]);
        taken += r == 0;
        rc = kube_draft_leave_out_port(d->draft, r, d->err);
    }
    *ret_ports = ports;
    *ret_count = taken;
    return rc;
}

static int decode_endpoint_ports(struct decoder *d, Kube__EndpointPort *const *from, size_t count,
                                 const struct kube_port **ret_ports, size_t *ret_count)
{
    struct kube_port *ports = kube_draft_array(d->draft, count, sizeof(*ports), d->err);
    size_t taken = 0;
    int rc = ports ? 0 : ERR_TOO_LARGE;
    for (size_t i = 0; rc == 0 && i < count; i++) {
        const Kube__Port port = {
            .name = from[i]->name, .protocol = from[i]->protocol, .port = from[i]->port};
        int r = kube_object_proto_take_port(d, i, &port, &ports[taken]);
        taken += r == 0;
        rc = kube_draft_leave_out_port(d->draft, r, d->err);
    }
    *ret_ports = ports;
    *ret_count = taken;
    return rc;
}

static int kube_object_proto_decode_hostnames(struct decoder *d)
{
    return kube_draft_leave_out_annotation(
        d->draft,
        kube_hostnames_parse(annotation_of(d, KUBE_HOSTNAMES_ANNOTATION), &d->hostnames, d->err),
        d->err);
}

/* ---- Services ---- */

static int decode_spec(struct decoder *d, const Kube__ServiceSpec *spec)
{
    struct kube_service *service = &d->draft->object.service;
    size_t port_count = 0;
    const char *const *ips = NULL;
    const char *ip = NULL, *distribution = "";
    size_t count = 0;
    int rc = 0;
    service->publish_not_ready = spec->publishnotreadyaddresses;
    if ((rc = kube_object_proto_take_text(d, spec->type, "type", &service->type)) < 0 ||
        (rc = take_texts(d, spec->clusterips, spec->n_clusterips, "clusterIPs", &ips, &count)) <
            0 ||
        (rc = kube_object_proto_take_text(d, spec->clusterip, "clusterIP", &ip)) < 0 ||
        (rc = kube_draft_cluster_ips(d->draft, ips, count, ip, d->err)) < 0 ||
        (rc = kube_object_proto_take_text(d, spec->externalname, "externalName",
                                          &service->external_name)) < 0 ||
        (rc = kube_object_proto_take_text(d, spec->trafficdistribution, "trafficDistribution",
                                          &distribution)) < 0) {
        return rc;
    }
    kube_draft_distribution(d->draft, distribution);
    rc =
        kube_object_proto_decode_ports(d, spec->ports, spec->n_ports, &service->ports, &port_count);
    service->port_count = (uint32_t)port_count;
    return rc;
}

static int take_ingress_points(struct decoder *d, const Kube__LoadBalancerStatus *balancer,
                               struct kube_ingress_point **ret_points, size_t *ret_count)
{
    size_t count = balancer ? balancer->n_ingress : 0;
    struct kube_ingress_point *points = kube_draft_array(d->draft, count, sizeof(*points), d->err);
    int rc = points ? 0 : ERR_TOO_LARGE;
    for (size_t i = 0; rc == 0 && i < count; i++) {
        struct kube_ingress_point *point = &points[*ret_count];
        int r = kube_object_proto_take_text(d, balancer->ingress[i]->ip, "ip", &point->ip);
        r = r < 0 ? r
                  : kube_object_proto_take_text(d, balancer->ingress[i]->hostname, "hostname",
                                                &point->hostname);
        *ret_count += r == 0;
        rc = kube_object_proto_leave_out(d, r);
    }
    *ret_points = points;
    return rc;
}

/* Takes the external addresses, if they are wanted; a malformed part is left out. */
static int take_external(struct decoder *d, struct slice object, const Kube__ServiceSpec *spec)
{
    const char *const *ips = NULL;
    struct kube_ingress_point *points = NULL;
    size_t ip_count = 0, point_count = 0;
    if (!kube_draft_kept()->external) {
        return 0;
    }
    const Kube__ServiceStatus *status =
        unpack_field(d, &kube__service_status__descriptor, object, SERVICE_STATUS, "status");
    int rc = kube_object_proto_leave_out(d, status ? 0 : ERR_SYNTAX);
    if (rc == 0) {
        rc = take_texts(d, spec->externalips, spec->n_externalips, "externalIPs", &ips, &ip_count);
    }
    if (rc == 0) {
        rc = take_ingress_points(d, status ? status->loadbalancer : NULL, &points, &point_count);
    }
    return rc < 0 ? rc : kube_draft_external(d->draft, ips, ip_count, points, point_count, d->err);
}

/* Takes the uid; a malformed one is none. */
static void take_uid(struct decoder *d)
{
    struct slice metadata, uid;
    struct err ignored;
    const char *text = "";
    if (kube_draft_kept()->uids && proto_scan_find(d->object, OBJECT_METADATA, &metadata) &&
        proto_scan_find(metadata, METADATA_UID, &uid) &&
        kube_draft_text(d->draft, uid, &text, &ignored) == 0) {
        kube_draft_uid(d->draft, text);
    }
}

/* Returns the object's time of creation in seconds since 1970; 0: absent or malformed. */
static int64_t creation_time(const struct decoder *d)
{
    struct slice metadata, created;
    uint64_t s = 0;
    bool is_found = proto_scan_find(d->object, OBJECT_METADATA, &metadata) &&
                    proto_scan_find(metadata, METADATA_CREATION, &created) &&
                    proto_scan_find_number(created, TIME_SECONDS, &s);
    return is_found && s <= CREATED_MAX_S ? (int64_t)s : 0;
}

static int kube_object_proto_decode_aliases(struct decoder *d)
{
    const char *text = "";
    d->draft->object.service.created_s = creation_time(d);
    if (!kube_draft_kept()->aliases) {
        return 0;
    }
    const Kube__StringEntry *entry =
        find_entry(d->metadata->annotations, d->metadata->n_annotations, KUBE_ALIASES_ANNOTATION);
    int rc =
        entry ? kube_object_proto_take_text(d, entry->value, KUBE_ALIASES_ANNOTATION, &text) : 0;
    rc = rc < 0 ? rc : kube_draft_aliases(d->draft, text, d->err);
    return kube_draft_leave_out_annotation(d->draft, rc, d->err);
}

static int kube_object_proto_decode_service(struct decoder *d, struct slice object)
{
    const Kube__ServiceSpec *spec =
        unpack_field(d, &kube__service_spec__descriptor, object, SERVICE_SPEC, "spec");
    int rc = spec ? decode_spec(d, spec) : ERR_SYNTAX;
    take_uid(d);
    if (spec && rc < 0) {
        return err_wrap(d->err, rc, "spec");
    }
    if (slice_equal(annotation_of(d, KUBE_TOLERATE_UNREADY_ANNOTATION), slice_str("true"))) {
        d->draft->object.service.publish_not_ready = true;
    }
    rc = rc < 0 ? rc : take_external(d, object, spec);
    return rc < 0 ? rc : kube_object_proto_decode_aliases(d);
}

/* ---- Endpoints ---- */

/* Takes a pod's name, like decode_pod_name in kube_object_json.c. */
static int take_pod_name(struct decoder *d, const Kube__ObjectReference *reference,
                         const char **ret_pod)
{
    *ret_pod = "";
    if (!kube_draft_kept()->pods || !reference ||
        !slice_equal(slice_of(reference->kind.data, reference->kind.len),
                     slice_str(KUBE_POD_REFERENCE))) {
        return 0;
    }
    return kube_object_proto_leave_out(
        d, kube_object_proto_take_text(d, reference->name, "targetRef", ret_pod));
}

static int kube_object_proto_decode_addresses(struct decoder *d, Kube__EndpointAddress *const *from,
                                              size_t count, const char *key, bool is_ready,
                                              struct kube_subset *subset,
                                              struct kube_address *addresses)
{
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < count; i++) {
        struct kube_address *address = &addresses[subset->address_count];
        int r = 0;
        if ((r = kube_object_proto_take_text(d, from[i]->ip, "ip", &address->ip)) < 0 ||
            (r = kube_object_proto_take_text(d, from[i]->hostname, "hostname",
                                             &address->hostname)) < 0 ||
            (r = take_pod_name(d, from[i]->targetref, &address->pod)) < 0) {
            err_wrap(d->err, r, "%s[%zu]", key, i);
        } else {
            address->is_ready = is_ready;
            address->hostname = kube_hostnames_of(&d->hostnames, address->ip, address->hostname);
            subset->address_count++;
        }
        rc = kube_object_proto_leave_out(d, r);
    }
    return rc;
}

static int kube_object_proto_decode_subset(struct decoder *d, const Kube__EndpointSubset *from,
                                           struct kube_subset *subset)
{
    size_t count = from->n_addresses + from->n_notreadyaddresses;
    struct kube_address *addresses = kube_draft_array(d->draft, count, sizeof(*addresses), d->err);
    int rc = 0;
    if (!addresses) {
        return ERR_TOO_LARGE;
    }
    subset->addresses = addresses;
    if ((rc = kube_object_proto_decode_addresses(d, from->addresses, from->n_addresses, "addresses",
                                                 true, subset, addresses)) < 0 ||
        (rc = kube_object_proto_decode_addresses(d, from->notreadyaddresses,
                                                 from->n_notreadyaddresses, "notReadyAddresses",
                                                 false, subset, addresses)) < 0) {
        return rc;
    }
    return decode_endpoint_ports(d, from->ports, from->n_ports, &subset->ports,
                                 &subset->port_count);
}

static int kube_object_proto_decode_endpoints(struct decoder *d, struct slice object)
{
    struct kube_endpoints *endpoints = &d->draft->object.endpoints;
    int rc = kube_object_proto_decode_hostnames(d);
    if (rc < 0) {
        return rc;
    }
    endpoints->triggered_us = utc_time_parse_us(annotation_of(d, KUBE_TRIGGER_TIME_ANNOTATION));
    const Kube__Endpoints *from =
        kube_object_proto_unpack(d, &kube__endpoints__descriptor, object, "subsets");
    if (!from) {
        return ERR_SYNTAX;
    }
    struct kube_subset *subsets =
        kube_draft_array(d->draft, from->n_subsets, sizeof(*subsets), d->err);
    if (!subsets) {
        return ERR_TOO_LARGE;
    }
    endpoints->subsets = subsets;
    endpoints->subset_count = from->n_subsets;
    for (size_t i = 0; rc == 0 && i < from->n_subsets; i++) {
        rc = kube_object_proto_decode_subset(d, from->subsets[i], &subsets[i]);
    }
    return rc;
}

/* ---- EndpointSlices ---- */

static int kube_object_proto_decode_slice_endpoint(struct decoder *d,
                                                   const Kube__SliceEndpoint *from,
                                                   struct kube_slice_endpoint *endpoint)
{
    const Kube__EndpointConditions none = KUBE__ENDPOINT_CONDITIONS__INIT;
    const Kube__EndpointConditions *conditions = from->conditions ? from->conditions : &none;
    const char *zone = "";
    size_t count = 0;
    int rc = 0;
    *endpoint = (struct kube_slice_endpoint){.addresses = NULL};
    if ((rc = take_texts(d, from->addresses, from->n_addresses, "addresses", &endpoint->addresses,
                         &count)) < 0 ||
        (rc = kube_object_proto_take_text(d, from->hostname, "hostname", &endpoint->hostname)) <
            0 ||
        (rc = take_pod_name(d, from->targetref, &endpoint->pod)) < 0 ||
        (rc = kube_object_proto_take_text(d, from->zone, "zone", &zone)) < 0 ||
        (rc = kube_draft_zone(d->draft, zone, endpoint, d->err)) < 0) {
        return rc;
    }
    endpoint->address_count = (uint32_t)count;
    endpoint->is_ready = !conditions->has_ready || conditions->ready;
    endpoint->is_serving = conditions->has_serving ? conditions->serving : endpoint->is_ready;
    endpoint->is_terminating = conditions->terminating;
    if (endpoint->address_count > 0) {
        endpoint->hostname =
            kube_hostnames_of(&d->hostnames, endpoint->addresses[0], endpoint->hostname);
    }
    return 0;
}

static int kube_object_proto_decode_slice_endpoints(struct decoder *d,
                                                    const Kube__EndpointSlice *from,
                                                    struct kube_slice *slice)
{
    struct kube_slice_endpoint *endpoints =
        kube_draft_array(d->draft, from->n_endpoints, sizeof(*endpoints), d->err);
    if (!endpoints) {
        return ERR_TOO_LARGE;
    }
    slice->endpoints = endpoints;
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < from->n_endpoints; i++) {
        int r = kube_object_proto_decode_slice_endpoint(d, from->endpoints[i],
                                                        &endpoints[slice->endpoint_count]);
        if (r < 0) {
            err_wrap(d->err, r, "endpoints[%zu]", i);
        }
        slice->endpoint_count += r == 0;
        rc = kube_object_proto_leave_out(d, r);
    }
    return rc;
}

static int kube_object_proto_decode_slice(struct decoder *d, struct slice object)
{
    struct kube_slice *slice = &d->draft->object.slice;
    struct slice service =
        entry_of(d->metadata->labels, d->metadata->n_labels, KUBE_SERVICE_NAME_LABEL);
    const char *type = NULL;
    int rc = 0;
    slice->triggered_us = utc_time_parse_us(annotation_of(d, KUBE_TRIGGER_TIME_ANNOTATION));
    if ((rc = kube_draft_text(d->draft, service, &slice->service, d->err)) < 0) {
        return err_wrap(d->err, rc, "label %s", KUBE_SERVICE_NAME_LABEL);
    }
    const Kube__EndpointSlice *from =
        kube_object_proto_unpack(d, &kube__endpoint_slice__descriptor, object, "endpoints");
    if (!from) {
        return ERR_SYNTAX;
    }
    if ((rc = kube_object_proto_take_text(d, from->addresstype, "addressType", &type)) < 0 ||
        (rc = kube_object_proto_decode_hostnames(d)) < 0 ||
        (rc = kube_object_proto_decode_slice_endpoints(d, from, slice)) < 0 ||
        (rc = kube_object_proto_decode_ports(d, from->ports, from->n_ports, &slice->ports,
                                             &slice->port_count)) < 0) {
        return rc;
    }
    return kube_draft_address_type(d->draft, type);
}

/* ---- Pods ---- */

static int kube_object_proto_decode_status(struct decoder *d, const Kube__PodStatus *status)
{
    const char **ips = kube_draft_array(d->draft, status->n_podips, sizeof(*ips), d->err);
    const char *ip = NULL;
    size_t count = 0;
    int rc =
        ips ? kube_object_proto_take_text(d, status->phase, "phase", &d->draft->object.pod.phase)
            : ERR_TOO_LARGE;
    for (size_t i = 0; rc == 0 && i < status->n_podips; i++) {
        int r = kube_object_proto_take_text(d, status->podips[i]->ip, "podIPs", &ips[count]);
        count += r == 0;
        rc = kube_object_proto_leave_out(d, r);
    }
    if (rc == 0) {
        rc = kube_object_proto_take_text(d, status->podip, "podIP", &ip);
    }
    return rc < 0 ? rc : kube_draft_pod_ips(d->draft, ips, count, ip, d->err);
}

static int kube_object_proto_decode_node_name(struct decoder *d, struct slice spec)
{
    struct slice name = {"", 0};
    if (!kube_draft_kept()->placement) {
        return 0;
    }
    int rc = proto_scan_find(spec, POD_SPEC_NODE_NAME, &name)
                 ? kube_draft_text(d->draft, name, &d->draft->object.pod.node, d->err)
                 : err_set(d->err, ERR_SYNTAX, "nodeName: not a string");
    return kube_object_proto_leave_out(d, rc);
}

/* Skims the spec for two fields, since a spec is most of a pod, and there are many pods. */
static int kube_object_proto_decode_pod_spec(struct decoder *d, struct slice object)
{
    struct slice spec;
    uint64_t value = 0;
    if (!proto_scan_find(object, POD_SPEC, &spec) ||
        !proto_scan_find_number(spec, POD_SPEC_HOST_NETWORK, &value)) {
        return err_set(d->err, ERR_SYNTAX, "spec: not a protobuf message");
    }
    d->draft->object.pod.is_on_host_network = value != 0;
    return kube_object_proto_decode_node_name(d, spec);
}

static int kube_object_proto_decode_pod(struct decoder *d, struct slice object)
{
    int rc = kube_object_proto_decode_pod_spec(d, object);
    if (rc < 0) {
        return rc;
    }
    const Kube__PodStatus *status =
        unpack_field(d, &kube__pod_status__descriptor, object, POD_STATUS, "status");
    rc = status ? kube_object_proto_decode_status(d, status) : ERR_SYNTAX;
    return status && rc < 0 ? err_wrap(d->err, rc, "status") : rc;
}

/* ---- ConfigMaps ---- */

/* Decodes a ConfigMap; like the JSON decoder, not half of one. */
static int kube_object_proto_decode_config_map(struct decoder *d, struct slice object)
{
    struct kube_config_map *map = &d->draft->object.config_map;
    const Kube__ConfigMap *from =
        kube_object_proto_unpack(d, &kube__config_map__descriptor, object, "configmap");
    if (!from) {
        return ERR_SYNTAX;
    }
    struct kube_setting *settings =
        kube_draft_array(d->draft, from->n_data, sizeof(*settings), d->err);
    int rc = settings ? 0 : ERR_TOO_LARGE;
    for (size_t i = 0; rc == 0 && i < from->n_data; i++) {
        struct kube_setting *setting = &settings[map->setting_count++];
        rc = kube_object_proto_take_text(d, from->data[i]->key, "key", &setting->key);
        rc = rc < 0 ? rc
                    : kube_object_proto_take_text(d, from->data[i]->value, setting->key,
                                                  &setting->value);
    }
    map->settings = settings;
    return rc < 0 ? err_wrap(d->err, rc, "data") : 0;
}

/* ---- Nodes ---- */

static bool is_used(const Kube__NodeAddress *address)
{
    return address->address.len > 0 && slice_equal(slice_of(address->type.data, address->type.len),
                                                   slice_str(KUBE_NODE_ADDRESS_TYPE));
}

static int kube_object_proto_decode_node_addresses(struct decoder *d,
                                                   const Kube__NodeStatus *status)
{
    struct kube_node *node = &d->draft->object.node;
    const char **ips = kube_draft_array(d->draft, status->n_addresses, sizeof(*ips), d->err);
    int rc = ips ? 0 : ERR_TOO_LARGE;
    for (size_t i = 0; rc == 0 && i < status->n_addresses; i++) {
        if (is_used(status->addresses[i])) {
            int r = kube_object_proto_take_text(d, status->addresses[i]->address, "address",
                                                &ips[node->ip_count]);
            node->ip_count += r == 0;
            rc = kube_object_proto_leave_out(d, r);
        }
    }
    node->ips = ips;
    return rc;
}

static int kube_object_proto_decode_zone(struct decoder *d)
{
    const Kube__StringEntry *entry =
        kube_draft_kept()->placement
            ? find_entry(d->metadata->labels, d->metadata->n_labels, KUBE_ZONE_LABEL)
            : NULL;
    int rc = entry ? kube_object_proto_take_text(d, entry->value, KUBE_ZONE_LABEL,
                                                 &d->draft->object.node.zone)
                   : 0;
    return kube_object_proto_leave_out(d, rc);
}

static int kube_object_proto_decode_node(struct decoder *d, struct slice object)
{
    int zone_rc = kube_object_proto_decode_zone(d);
    if (zone_rc < 0) {
        return zone_rc;
    }
    const Kube__NodeStatus *status =
        unpack_field(d, &kube__node_status__descriptor, object, NODE_STATUS, "status");
    int rc = status ? kube_object_proto_decode_node_addresses(d, status) : ERR_SYNTAX;
    return status && rc < 0 ? err_wrap(d->err, rc, "status") : rc;
}

/* ---- Namespaces ---- */

static int kube_object_proto_decode_namespace(struct decoder *d)
{
    const Kube__StringEntry *entry = find_entry(
        d->metadata->annotations, d->metadata->n_annotations, KUBE_VISIBLE_TO_ANNOTATION);
    const char *text = NULL;
    int rc =
        entry ? kube_object_proto_take_text(d, entry->value, KUBE_VISIBLE_TO_ANNOTATION, &text) : 0;
    if (rc == 0 && entry) {
        rc = kube_draft_visible_to(d->draft, text, d->err);
    }
    return kube_object_proto_leave_out(d, rc);
}

/* ---- Objects ---- */

static int decode_content(struct decoder *d, struct slice object)
{
    switch (d->draft->object.kind) {
    case KUBE_SERVICE:
        return kube_object_proto_decode_service(d, object);
    case KUBE_ENDPOINTS:
        return kube_object_proto_decode_endpoints(d, object);
    case KUBE_SLICE:
        return kube_object_proto_decode_slice(d, object);
    case KUBE_POD:
        return kube_object_proto_decode_pod(d, object);
    case KUBE_CONFIG_MAP:
        return kube_object_proto_decode_config_map(d, object);
    case KUBE_NODE:
        return kube_object_proto_decode_node(d, object);
    case KUBE_NAMESPACE:
        return kube_object_proto_decode_namespace(d);
    case KUBE_INGRESS:
    case KUBE_GATEWAY:
    case KUBE_ROUTE:
    case KUBE_IMPORT:
    case KUBE_IMPORT_SLICE:
        break;
    }
    return err_set(d->err, ERR_SYNTAX, "expected JSON, found protobuf");
}

int kube_object_from_proto(enum kube_kind kind, struct slice message, enum kube_object_part part,
                           struct kube_draft *draft, struct kube_object **ret_object,
                           struct err *err)
{
    struct decoder d = {
        .draft = draft,
        .allocator = {.alloc = kube_object_proto_allocate,
                      .free = kube_object_proto_deallocate,
                      .allocator_data = draft},
        .err = err,
    };
    kube_draft_begin(draft, kind);
    d.object = message;
    int rc = kube_object_proto_decode_metadata(&d, message);
    if (rc == 0 && part == KUBE_WHOLE) {
        rc = decode_content(&d, message);
    }
    if (rc < 0) {
        kube_draft_garble(draft, err);
    }
    *ret_object = kube_draft_pack(draft, part);
    kube_hostnames_fini(&d.hostnames);
    return rc;
}
