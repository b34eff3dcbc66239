/* Random objects, as lists and as events: JSON and protobuf give the same result. */
#include "tests/support/random_numbers.h"
#include "tests/support/unit_test.h"
#include "tests/unit/kube2sky/api/both_encodings.h"
#include "tests/unit/kube2sky/api/print_object.h"
#include "tests/unit/kube2sky/api/whole_list.h"

enum { OBJECTS = 4000 };

/* ---- Random parts ---- */

static const char *one_of(const char *const *texts, size_t count)
{
    return texts[random_below((unsigned)count)];
}

static const char *random_text(void)
{
    static const char *const texts[] = {
        "",
        "a",
        "web",
        "Web-0",
        "x y",
        "\"quoted\\\"",
        "m\xc3\xbc\x6cler",
        "line\nbreak",
        "10.0.0.1",
        "None",
        "a-name-that-is-rather-longer-than-most-of-the-others-are-here",
    };
    return one_of(texts, ARRAY_LEN(texts));
}

static const char *random_ip(void)
{
    static const char *const texts[] = {"10.0.0.1", "10.0.0.2", "fd00::1", "", "None", "nonsense"};
    return one_of(texts, ARRAY_LEN(texts));
}

/* An empty string is left out or encoded, at random. */
static void maybe_string(struct both *both, const char *name, unsigned number, const char *text)
{
    if (*text || random_below(2)) {
        both_string(both, name, number, text);
    }
}

static void maybe_bool(struct both *both, const char *name, unsigned number)
{
    if (random_below(3)) {
        both_bool(both, name, number, random_below(2));
    }
}

/* Unknown fields of every wire type. */
static void add_unknown(struct both *both)
{
    (void)json_object_set_new(both->json, "somethingElse", json_integer(7));
    switch (random_below(5)) {
    case 0:
        wire_int(&both->proto, 99, UINT64_MAX);
        break;
    case 1:
        wire_varint(&both->proto, 98 << 3 | 1);
        buf_append(&both->proto, "12345678", 8);
        break;
    case 2:
        wire_varint(&both->proto, 97 << 3 | 5);
        buf_append(&both->proto, "1234", 4);
        break;
    case 3:
        wire_bytes(&both->proto, 1000, slice_str("whatever\x80\xff"));
        break;
    default:
        break;
    }
}

/* ---- Random objects ---- */

/* JSON has a text, protobuf a message of seconds. */
static void add_creation(struct both *metadata)
{
    CLEANUP_BUF struct buf time = buf_of(100);
    wire_int(&time, 1, 1714564800);
    wire_int(&time, 2, 0);
    wire_bytes(&metadata->proto, 8, buf_slice(&time));
    (void)json_object_set_new(metadata->json, "creationTimestamp",
                              json_string("2024-05-01T12:00:00Z"));
}

static void add_metadata(enum kube_kind kind, struct both *object)
{
    static const char *const maps[] = {
        "{\"10.0.0.1\":{\"HostName\":\"mapped\"},\"fd00::1\":{\"hostname\":\"six\"}}", "{}", "[]",
        "{", ""};
    struct both metadata;
    both_init(&metadata);
    both_string(&metadata, "name", 1, random_below(20) ? "web" : "");
    if (kube_kind_is_namespaced(kind) == (random_below(40) > 0)) {
        both_string(&metadata, "namespace", 3, "default");
    }
    maybe_string(&metadata, "resourceVersion", 6, random_below(3) ? "4711" : "");
    if (random_below(2)) {
        both_map_entry(&metadata, "labels", 11, "app", "x");
        both_map_entry(&metadata, "labels", 11, "kubernetes.io/service-name", random_text());
        both_map_entry(&metadata, "labels", 11, "topology.kubernetes.io/zone", random_text());
    }
    if (random_below(3) == 0) {
        both_map_entry(&metadata, "annotations", 12, "endpoints.beta.kubernetes.io/hostnames-map",
                       one_of(maps, ARRAY_LEN(maps)));
    }
    if (random_below(3) == 0) {
        both_map_entry(&metadata, "annotations", 12,
                       "service.alpha.kubernetes.io/tolerate-unready-endpoints",
                       random_below(2) ? "true" : "false");
    }
    if (random_below(2)) {
        both_map_entry(&metadata, "annotations", 12, "dns.kube2sky/visible-to", random_text());
    }
    if (random_below(2)) {
        both_map_entry(&metadata, "annotations", 12,
                       "endpoints.kubernetes.io/last-change-trigger-time",
                       random_below(2) ? "2024-05-01T12:00:00.123456789Z" : random_text());
    }
    if (random_below(2)) {
        both_map_entry(&metadata, "annotations", 12, "dns.kube2sky/aliases", random_text());
    }
    if (random_below(2)) {
        add_creation(&metadata);
    }
    if (random_below(2)) {
        both_string(&metadata, "uid", 5, random_text());
    }
    add_unknown(&metadata);
    both_message(object, "metadata", 1, &metadata);
}

static int random_port(void)
{
    return random_below(10) ? (int)random_below(65536) : (int)random_below(200000) - 70000;
}

static void add_port(struct both *parent, unsigned number, bool is_of_endpoints)
{
    struct both port;
    both_init(&port);
    maybe_string(&port, "name", 1, random_text());
    maybe_string(&port, "protocol", is_of_endpoints ? 3 : 2,
                 random_below(2) ? "TCP" : random_text());
    if (random_below(4)) {
        both_int(&port, "port", is_of_endpoints ? 2 : 3, random_port());
    }
    add_unknown(&port);
    both_add_message(parent, "ports", number, &port);
}

static void add_balancer(struct both *object)
{
    struct both status, balancer;
    if (random_below(3) == 0) {
        return;
    }
    both_init(&status);
    both_init(&balancer);
    for (unsigned i = random_below(3); i > 0; i--) {
        struct both point;
        both_init(&point);
        maybe_string(&point, "ip", 1, random_ip());
        maybe_string(&point, "hostname", 2, random_text());
        add_unknown(&point);
        both_add_message(&balancer, "ingress", 1, &point);
    }
    add_unknown(&balancer);
    both_message(&status, "loadBalancer", 1, &balancer);
    add_unknown(&status);
    both_message(object, "status", 3, &status);
}

static void kube_encodings_add_service(struct both *object)
{
    struct both spec;
    both_init(&spec);
    for (unsigned i = random_below(4); i > 0; i--) {
        add_port(&spec, 1, false);
    }
    maybe_string(&spec, "clusterIP", 3, random_ip());
    maybe_string(&spec, "type", 4, random_below(2) ? "ClusterIP" : random_text());
    maybe_string(&spec, "externalName", 10, random_text());
    maybe_bool(&spec, "publishNotReadyAddresses", 13);
    for (unsigned i = random_below(3); i > 0; i--) {
        both_add_string(&spec, "clusterIPs", 18, random_ip());
    }
    for (unsigned i = random_below(3); i > 0; i--) {
        both_add_string(&spec, "externalIPs", 5, random_ip());
    }
    add_unknown(&spec);
    both_message(object, "spec", 2, &spec);
    add_balancer(object);
}

static void maybe_target(struct both *endpoint, unsigned number)
{
    static const char *const kinds[] = {"Pod", "Pod", "Pod", "Node", ""};
    struct both target;
    if (random_below(2)) {
        both_init(&target);
        maybe_string(&target, "kind", 1, one_of(kinds, ARRAY_LEN(kinds)));
        maybe_string(&target, "name", 3, random_text());
        add_unknown(&target);
        both_message(endpoint, "targetRef", number, &target);
    }
}

static void kube_encodings_add_addresses(struct both *subset, const char *name, unsigned number)
{
    for (unsigned i = random_below(4); i > 0; i--) {
        struct both address;
        both_init(&address);
        maybe_string(&address, "ip", 1, random_ip());
        maybe_string(&address, "hostname", 3, random_text());
        maybe_target(&address, 2);
        add_unknown(&address);
        both_add_message(subset, name, number, &address);
    }
}

static void kube_encodings_add_endpoints(struct both *object)
{
    for (unsigned i = random_below(4); i > 0; i--) {
        struct both subset;
        both_init(&subset);
        kube_encodings_add_addresses(&subset, "addresses", 1);
        kube_encodings_add_addresses(&subset, "notReadyAddresses", 2);
        for (unsigned j = random_below(3); j > 0; j--) {
            add_port(&subset, 3, true);
        }
        add_unknown(&subset);
        both_add_message(object, "subsets", 2, &subset);
    }
}

static void add_slice(struct both *object)
{
    static const char *const types[] = {"IPv4", "IPv6", "FQDN", "IP", ""};
    for (unsigned i = random_below(5); i > 0; i--) {
        struct both endpoint, conditions;
        both_init(&endpoint);
        for (unsigned j = random_below(3); j > 0; j--) {
            both_add_string(&endpoint, "addresses", 1, random_ip());
        }
        if (random_below(4)) {
            both_init(&conditions);
            maybe_bool(&conditions, "ready", 1);
            maybe_bool(&conditions, "serving", 2);
            maybe_bool(&conditions, "terminating", 3);
            both_message(&endpoint, "conditions", 2, &conditions);
        }
        maybe_string(&endpoint, "hostname", 3, random_text());
        maybe_target(&endpoint, 4);
        add_unknown(&endpoint);
        both_add_message(object, "endpoints", 2, &endpoint);
    }
    for (unsigned i = random_below(3); i > 0; i--) {
        add_port(object, 3, false);
    }
    maybe_string(object, "addressType", 4, one_of(types, ARRAY_LEN(types)));
}

static void kube_encodings_add_pod(struct both *object)
{
    struct both spec, status;
    both_init(&spec);
    both_init(&status);
    maybe_string(&spec, "nodeName", 10, random_text());
    maybe_bool(&spec, "hostNetwork", 11);
    maybe_bool(&spec, "hostPID", 12);
    add_unknown(&spec);
    both_message(object, "spec", 2, &spec);
    maybe_string(&status, "phase", 1, random_below(2) ? "Running" : random_text());
    maybe_string(&status, "podIP", 6, random_ip());
    for (unsigned i = random_below(3); i > 0; i--) {
        struct both ip;
        both_init(&ip);
        maybe_string(&ip, "ip", 1, random_ip());
        both_add_message(&status, "podIPs", 12, &ip);
    }
    add_unknown(&status);
    both_message(object, "status", 3, &status);
}

static void add_config_map(struct both *object)
{
    static const char *const keys[] = {"stubDomains", "records", "a.b_c-d", "federations"};
    for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
        if (random_below(2)) {
            both_map_entry(object, "data", 2, keys[i], random_text());
        }
    }
    if (random_below(3) == 0) {
        both_map_entry(object, "binaryData", 3, "more", "AAAA");
    }
}

static void add_node(struct both *object)
{
    static const char *const types[] = {"InternalIP", "InternalIP", "ExternalIP", "Hostname", ""};
    struct both status;
    both_init(&status);
    wire_bytes(&object->proto, 2, slice_str("a spec nobody looks at"));
    for (unsigned i = random_below(4); i > 0; i--) {
        struct both address;
        both_init(&address);
        maybe_string(&address, "type", 1, one_of(types, ARRAY_LEN(types)));
        maybe_string(&address, "address", 2, random_ip());
        add_unknown(&address);
        both_add_message(&status, "addresses", 5, &address);
    }
    add_unknown(&status);
    both_message(object, "status", 3, &status);
}

static void kube_encodings_add_namespace(struct both *object)
{
    struct both status;
    both_init(&status);
    both_string(&status, "phase", 1, "Active");
    both_message(object, "status", 3, &status);
}

static void make_object(enum kube_kind kind, struct both *object)
{
    static void (*const contents[KUBE_PROTOBUF_KIND_COUNT])(struct both *) = {
        kube_encodings_add_service,
        kube_encodings_add_endpoints,
        add_slice,
        kube_encodings_add_pod,
        add_config_map,
        add_node,
        kube_encodings_add_namespace};
    both_init(object);
    add_metadata(kind, object);
    if (random_below(20)) {
        contents[kind](object);
    }
    add_unknown(object);
}

/* ---- Decoding ---- */

static void kube_encodings_on_object(void *data, struct kube_object *object)
{
    struct buf *out = data;
    print_object(out, object);
    buf_printf(out, " rv=%s\n", object->resource_version);
    kube_object_free(object);
}

static void kube_encodings_on_bad(void *data, const struct err *err)
{
    struct buf *out = data;
    buf_printf(out, "bad: %s\n", err->msg);
}

static void decode_list(enum kube_encoding encoding, enum kube_kind kind, struct slice body,
                        struct buf *out)
{
    CLEANUP(kube_list_meta_fini) struct kube_list_meta meta = {0};
    struct err err = {0};
    size_t piece = 1 + random_below((unsigned)body.len + 1);
    assert_that(decode_pieces(encoding, kind, body, piece, kube_encodings_on_object,
                              kube_encodings_on_bad, out, &meta, &err) >= 0,
                "%s", err.msg);
    buf_printf(out, "list rv=%s continue=%s\n", meta.resource_version, meta.continue_token);
}

static void decode_event(enum kube_encoding encoding, enum kube_kind kind, struct slice frame,
                         struct buf *out)
{
    CLEANUP(kube_event_fini) struct kube_event event = {0};
    struct err err = {0};
    assert_that(kube_decode_event(encoding, kind, frame, &event, &err) >= 0, "%s", err.msg);
    bool has_failed = event.kind == KUBE_EVENT_BAD || event.kind == KUBE_EVENT_ERROR;
    buf_printf(out, "event %d version %s end %d code %d error %s\n", (int)event.kind,
               event.resource_version ? event.resource_version : "-", event.is_initial_end,
               event.status_code, has_failed ? err.msg : "");
    if (event.object) {
        kube_encodings_on_object(out, event.object);
        event.object = NULL;
    }
}

static void kube_encodings_compare(const struct buf *json, struct buf *proto, const char *text)
{
    if (!slice_equal(buf_slice(json), buf_slice(proto))) {
        struct buf copy = *json;
        fail_msg("%s\nJSON:     %sprotobuf: %s", text, buf_cstr(&copy), buf_cstr(proto));
    }
}

static void check_event(enum kube_kind kind, const char *type, struct both *object)
{
    CLEANUP_FREE char *text = json_dumps(object->json, JSON_COMPACT);
    struct buf line, message, inner, from_json, from_proto;
    struct buf *all[] = {&line, &message, &inner, &from_json, &from_proto};
    for (size_t i = 0; i < ARRAY_LEN(all); i++) {
        buf_init(all[i], 1 << 20);
    }
    buf_printf(&line, "{\"type\":\"%s\",\"object\":", type);
    buf_append_str(&line, text);
    buf_append_char(&line, '}');

    CLEANUP_BUF struct buf envelope = buf_of(1 << 20);
    wire_envelope(&envelope, "Whatever", buf_slice(&object->proto));
    wire_bytes(&inner, 1, buf_slice(&envelope));
    wire_bytes(&message, 1, slice_str(type));
    wire_bytes(&message, 2, buf_slice(&inner));

    decode_event(KUBE_JSON, kind, buf_slice(&line), &from_json);
    decode_event(KUBE_PROTOBUF, kind, buf_slice(&message), &from_proto);
    kube_encodings_compare(&from_json, &from_proto, text);
    for (size_t i = 0; i < ARRAY_LEN(all); i++) {
        buf_fini(all[i]);
    }
}

UNIT_TEST(test_random_events)
{
    static const char *const types[] = {"ADDED", "MODIFIED", "DELETED"};
    random_state = 0x9e3779b97f4a7c15;
    for (unsigned i = 0; i < OBJECTS; i++) {
        enum kube_kind kind = (enum kube_kind)(i % KUBE_PROTOBUF_KIND_COUNT);
        CLEANUP(both_fini) struct both object;
        const bool has_pods = random_below(2), has_aliases = random_below(2);
        const bool has_placement = random_below(2), has_uids = random_below(2);
        const bool has_external = random_below(2), has_topology = random_below(2);
        kube_object_keep((struct kube_kept){.pods = has_pods,
                                            .aliases = has_aliases,
                                            .placement = has_placement,
                                            .uids = has_uids,
                                            .external = has_external,
                                            .topology = has_topology});
        make_object(kind, &object);
        check_event(kind, one_of(types, ARRAY_LEN(types)), &object);
    }
}

/* The object's text in either encoding. */
static void kube_encodings_expect_text(enum kube_kind kind, struct both *object, const char *want)
{
    CLEANUP_FREE char *text = json_dumps(object->json, JSON_COMPACT);
    CLEANUP(kube_event_fini) struct kube_event event;
    struct err err;
    CLEANUP_BUF struct buf line = buf_of(1 << 20);
    buf_printf(&line, "{\"type\":\"ADDED\",\"object\":%s}", text);
    assert_int_equal(kube_decode_event(KUBE_JSON, kind, buf_slice(&line), &event, &err), 0);
    buf_clear(&line);
    print_object(&line, event.object);
    assert_string_equal(buf_cstr(&line), want);
}

/* Only where they are wanted; host names end with a dot. */
UNIT_TEST(test_external_addresses)
{
    for (unsigned are_kept = 0; are_kept < 2; are_kept++) {
        struct both object, metadata, spec, status, balancer;
        both_init(&object);
        both_init(&metadata);
        both_init(&spec);
        both_init(&status);
        both_init(&balancer);
        both_string(&metadata, "name", 1, "web");
        both_string(&metadata, "namespace", 3, "default");
        both_message(&object, "metadata", 1, &metadata);
        both_add_string(&spec, "externalIPs", 5, "203.0.113.1");
        both_message(&object, "spec", 2, &spec);
        static const char *const points[][2] = {
            {"203.0.113.2", ""}, {"", "lb.example.net"}, {"fd00::1", "lb."}, {"", ""}};
        for (size_t i = 0; i < ARRAY_LEN(points); i++) {
            struct both point;
            both_init(&point);
            both_string(&point, "ip", 1, points[i][0]);
            both_string(&point, "hostname", 2, points[i][1]);
            both_add_message(&balancer, "ingress", 1, &point);
        }
        both_message(&status, "loadBalancer", 1, &balancer);
        both_message(&object, "status", 3, &status);
        kube_object_keep((struct kube_kept){.external = are_kept});
        kube_encodings_expect_text(KUBE_SERVICE, &object,
                                   are_kept ? "default/web type= outside=203.0.113.1 "
                                              "outside=203.0.113.2 outside=lb.example.net. "
                                              "outside=fd00::1 outside=lb."
                                            : "default/web type=");
        check_event(KUBE_SERVICE, "ADDED", &object);
        both_fini(&object);
    }
    kube_object_keep((struct kube_kept){0});
}

/* Only where they are wanted, of pods, and whatever else is wrong with the reference. */
UNIT_TEST(test_names_of_pods)
{
    static const struct {
        const char *kind, *name;
        bool are_kept;
        const char *want;
    } cases[] = {
        {"Pod", "web-x7k2p", false, "default/web of= IPv4 10.1.0.1"},
        {"Pod", "web-x7k2p", true, "default/web of= IPv4 10.1.0.1@web-x7k2p"},
        {"Node", "worker", true, "default/web of= IPv4 10.1.0.1"},
        {"Pod", "", true, "default/web of= IPv4 10.1.0.1"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct both object, metadata, endpoint, target;
        both_init(&object);
        both_init(&metadata);
        both_init(&endpoint);
        both_init(&target);
        both_string(&metadata, "name", 1, "web");
        both_string(&metadata, "namespace", 3, "default");
        both_message(&object, "metadata", 1, &metadata);
        both_string(&target, "kind", 1, cases[i].kind);
        both_string(&target, "name", 3, cases[i].name);
        both_add_string(&endpoint, "addresses", 1, "10.1.0.1");
        both_message(&endpoint, "targetRef", 4, &target);
        both_add_message(&object, "endpoints", 2, &endpoint);
        both_string(&object, "addressType", 4, "IPv4");
        kube_object_keep((struct kube_kept){.pods = cases[i].are_kept});
        kube_encodings_expect_text(KUBE_SLICE, &object, cases[i].want);
        check_event(KUBE_SLICE, "ADDED", &object);
        both_fini(&object);
    }
    kube_object_keep((struct kube_kept){0});
}

/* Only where they are wanted. */
UNIT_TEST(test_nodes_of_pods_and_zones_of_nodes)
{
    for (unsigned are_kept = 0; are_kept < 2; are_kept++) {
        struct both pod, node, metadata, spec;
        both_init(&pod);
        both_init(&metadata);
        both_init(&spec);
        both_string(&metadata, "name", 1, "web");
        both_string(&metadata, "namespace", 3, "default");
        both_message(&pod, "metadata", 1, &metadata);
        both_string(&spec, "nodeName", 10, "n1");
        both_message(&pod, "spec", 2, &spec);
        kube_object_keep((struct kube_kept){.placement = are_kept});
        kube_encodings_expect_text(KUBE_POD, &pod,
                                   are_kept ? "default/web  at n1" : "default/web ");
        check_event(KUBE_POD, "ADDED", &pod);
        both_fini(&pod);

        both_init(&node);
        both_init(&metadata);
        both_string(&metadata, "name", 1, "n1");
        both_map_entry(&metadata, "labels", 11, "topology.kubernetes.io/zone", "eu-1a");
        both_message(&node, "metadata", 1, &metadata);
        kube_encodings_expect_text(KUBE_NODE, &node, are_kept ? "/n1 in eu-1a" : "/n1");
        check_event(KUBE_NODE, "ADDED", &node);
        both_fini(&node);
    }
    kube_object_keep((struct kube_kept){0});
}

/* A malformed one is no fault. */
UNIT_TEST(test_trigger_time)
{
    static const struct {
        const char *time, *wants[2];
    } cases[] = {
        {"2024-05-01T12:00:00.123456789Z",
         {"default/web triggered=1714564800123456",
          "default/web of= IPv4 triggered=1714564800123456"}},
        {"yesterday", {"default/web", "default/web of= IPv4"}},
        {"", {"default/web", "default/web of= IPv4"}},
    };
    for (size_t i = 0; i < 2 * ARRAY_LEN(cases); i++) {
        enum kube_kind kind = i % 2 ? KUBE_SLICE : KUBE_ENDPOINTS;
        struct both object, metadata;
        both_init(&object);
        both_init(&metadata);
        both_string(&metadata, "name", 1, "web");
        both_string(&metadata, "namespace", 3, "default");
        both_map_entry(&metadata, "annotations", 12,
                       "endpoints.kubernetes.io/last-change-trigger-time", cases[i / 2].time);
        both_message(&object, "metadata", 1, &metadata);
        if (kind == KUBE_SLICE) {
            both_string(&object, "addressType", 4, "IPv4");
        }
        kube_encodings_expect_text(kind, &object, cases[i / 2].wants[i % 2]);
        check_event(kind, "ADDED", &object);
        both_fini(&object);
    }
}

UNIT_TEST(test_uids)
{
    static const struct {
        const char *uid;
        bool are_kept;
        const char *want;
    } cases[] = {
        {"1f0c0b1c-8a3b-4c55-9d0e-0a3f5a1b2c3d", true,
         "default/web type= uid=1f0c0b1c-8a3b-4c55-9d0e-0a3f5a1b2c3d"},
        {"1f0c0b1c-8a3b-4c55-9d0e-0a3f5a1b2c3d", false, "default/web type="},
        {"0123456789012345678901234567890123456789012345678901234567890123x", true,
         "default/web type="},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct both object, metadata;
        both_init(&object);
        both_init(&metadata);
        both_string(&metadata, "name", 1, "web");
        both_string(&metadata, "namespace", 3, "default");
        both_string(&metadata, "uid", 5, cases[i].uid);
        both_message(&object, "metadata", 1, &metadata);
        kube_object_keep((struct kube_kept){.uids = cases[i].are_kept});
        kube_encodings_expect_text(KUBE_SERVICE, &object, cases[i].want);
        check_event(KUBE_SERVICE, "ADDED", &object);
        both_fini(&object);
    }
    kube_object_keep((struct kube_kept){0});
}

/* The object from a JSON event, with this version; NULL if bad. */
static struct kube_object *decode_upsert(enum kube_kind kind, struct both *message,
                                         const char *version)
{
    struct kube_event event = {0};
    struct err err;
    json_t *metadata = json_object_get(message->json, "metadata");
    (void)json_object_set_new(metadata, "resourceVersion", json_string(version));
    json_t *line = json_pack("{s:s,s:O}", "type", "ADDED", "object", message->json);
    CLEANUP_FREE char *json = json_dumps(line, 0);
    assert_int_equal(kube_decode_event(KUBE_JSON, kind, slice_str(json), &event, &err), 0);
    struct kube_object *object = event.object;
    event.object = NULL;
    kube_event_fini(&event);
    json_decref(line);
    return object;
}

/* Two objects are equal if they print the same, versions and faults aside. */
UNIT_TEST(test_random_equality)
{
    unsigned equal = 0, different = 0;
    random_state = 0xda942042e4dd58b5;
    for (unsigned i = 0; i < OBJECTS; i++) {
        enum kube_kind kind = (enum kube_kind)(i % KUBE_PROTOBUF_KIND_COUNT);
        struct buf texts[2];
        struct kube_object *objects[2];
        uint64_t seed = random_state;
        for (size_t j = 0; j < 2; j++) {
            CLEANUP(both_fini) struct both message;
            random_state =
                j && random_below(2) ? seed : random_state; /* the same object again, or another */
            make_object(kind, &message);
            buf_init(&texts[j], 1 << 16);
            objects[j] = decode_upsert(kind, &message, j ? "22" : "1");
            if (objects[j]) {
                print_content(&texts[j], objects[j]);
            }
        }
        if (objects[0] && objects[1]) {
            bool is_same = slice_equal(buf_slice(&texts[0]), buf_slice(&texts[1]));
            assert_that(kube_object_equal(objects[0], objects[1]) == is_same, "%s\n%s",
                        buf_cstr(&texts[0]), buf_cstr(&texts[1]));
            equal += is_same;
            different += !is_same;
        }
        for (size_t j = 0; j < 2; j++) {
            kube_object_free(objects[j]);
            buf_fini(&texts[j]);
        }
    }
    assert_true(equal > OBJECTS / 20 && different > OBJECTS / 20);
}

UNIT_TEST(test_random_lists)
{
    random_state = 0x2545f4914f6cdd1d;
    for (unsigned round = 0; round < 40; round++) {
        enum kube_kind kind = (enum kube_kind)(round % KUBE_PROTOBUF_KIND_COUNT);
        struct both list, metadata;
        both_init(&list);
        both_init(&metadata);
        (void)array_called(&list, "items");
        both_string(&metadata, "resourceVersion", 2, "100");
        maybe_string(&metadata, "continue", 3, random_below(2) ? "to/ken==" : "");
        both_message(&list, "metadata", 1, &metadata);
        for (unsigned i = random_below(60); i > 0; i--) {
            struct both object;
            make_object(kind, &object);
            both_add_message(&list, "items", 2, &object);
        }
        CLEANUP_FREE char *text = json_dumps(list.json, 0);
        CLEANUP_BUF struct buf envelope = buf_of(1 << 24);
        CLEANUP_BUF struct buf from_json = buf_of(1 << 24);
        CLEANUP_BUF struct buf from_proto = buf_of(1 << 24);
        wire_envelope(&envelope, "ServiceList", buf_slice(&list.proto));
        decode_list(KUBE_JSON, kind, slice_str(text), &from_json);
        decode_list(KUBE_PROTOBUF, kind, buf_slice(&envelope), &from_proto);
        kube_encodings_compare(&from_json, &from_proto, text);
        both_fini(&list);
    }
}

UNIT_TEST(test_bookmarks_and_errors)
{
    struct both object, metadata;
    both_init(&object);
    both_init(&metadata);
    both_string(&metadata, "resourceVersion", 6, "900");
    both_map_entry(&metadata, "annotations", 12, "a", "true");
    both_map_entry(&metadata, "annotations", 12, "k8s.io/initial-events-end", "true");
    both_message(&object, "metadata", 1, &metadata);
    check_event(KUBE_POD, "BOOKMARK", &object);
    both_fini(&object);

    both_init(&object);
    (void)json_object_set_new(object.json, "kind", json_string("Status"));
    both_string(&object, "status", 2, "Failure");
    both_string(&object, "message", 3, "too old resource version: 1 (2)");
    both_int(&object, "code", 6, 410);
    check_event(KUBE_POD, "ERROR", &object);
    both_fini(&object);
}

/* ---- A server's replies ---- */

/* Appends a file of the folder; false if missing. */
static bool kube_encodings_read_answer(const char *folder, const char *kind, const char *suffix,
                                       struct buf *out)
{
    CLEANUP_FREE char *path = xasprintf("%s/%s.%s", folder, kind, suffix);
    FILE *f = fopen(path, "rb");
    if (!f) {
        return false;
    }
    for (size_t n = 1; n > 0; out->len += n) {
        uint8_t *room = buf_reserve(out, 65536);
        assert_non_null(room);
        n = fread(room, 1, 65536, f);
    }
    assert_int_equal(ferror(f), 0);
    (void)fclose(f); /* read only */
    return true;
}

/* tests/integration/test_encodings.py fetches them, names the folder, and runs only this test. */
static void test_answers_of_a_server(void **state)
{
    static const char *const kinds[KUBE_PROTOBUF_KIND_COUNT] = {
        "services", "endpoints", "endpointslices", "pods", "configmaps", "nodes", "namespaces"};
    const char *folder = getenv("KUBE_ANSWERS");
    for (size_t i = 0; i < KUBE_PROTOBUF_KIND_COUNT; i++) {
        CLEANUP_BUF struct buf json = buf_of(1 << 24);
        CLEANUP_BUF struct buf proto = buf_of(1 << 24);
        CLEANUP_BUF struct buf from_json = buf_of(1 << 24);
        CLEANUP_BUF struct buf from_proto = buf_of(1 << 24);
        assert_true(kube_encodings_read_answer(folder, kinds[i], "json", &json));
        assert_true(kube_encodings_read_answer(folder, kinds[i], "protobuf", &proto));
        decode_list(KUBE_JSON, (enum kube_kind)i, buf_slice(&json), &from_json);
        decode_list(KUBE_PROTOBUF, (enum kube_kind)i, buf_slice(&proto), &from_proto);
        kube_encodings_compare(&from_json, &from_proto, kinds[i]);
        printf("%s", buf_cstr(&from_proto));
    }
}

int main(void)
{
    const struct CMUnitTest of_a_server[] = {cmocka_unit_test(test_answers_of_a_server)};
    return getenv("KUBE_ANSWERS") ? cmocka_run_group_tests(of_a_server, NULL, NULL)
                                  : unit_tests_run("kube_encodings");
}
