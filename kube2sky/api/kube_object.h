/* Represents the Kubernetes objects that yield records, reduced to the used fields. Compact plain
 * data; single-threaded like all of kube2sky. Decodes JSON and protobuf, which stay inside. Field
 * meanings: Kubernetes API reference, core/v1 Service, Endpoints, Pod, Node and Namespace;
 * discovery.k8s.io/v1 EndpointSlice, whose v1beta1 has the same used fields; core/v1 ConfigMap;
 * networking.k8s.io/v1 Ingress; gateway.networking.k8s.io/v1 Gateway and HTTPRoute;
 * multicluster.x-k8s.io/v1alpha1 ServiceImport. */
#ifndef KUBE2SKY_API_KUBE_OBJECT_H
#define KUBE2SKY_API_KUBE_OBJECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/attributes.h"
#include "common/base/err.h"
#include "common/base/slice.h"

/* Limit texts that come from the server and go back to it in a URL. A version is opaque, in
 * practice a 64-bit decimal number. A continue token has some 200 bytes, and Go's HTTP server
 * accepts 1 MiB with all headers. Longer ones are rejected. */
enum { KUBE_VERSION_MAX = 256, KUBE_CONTINUE_MAX = 64 * 1024 };

/* ---- Resource versions ----
 *
 * From Kubernetes 1.35 on they are decimal numbers that grow, of any length; before, in practice so
 * (KEP-5504). Those that are no such numbers are not compared. (kube_object.c) */

/* Returns whether it is a decimal number without leading zeros, above 0. */
bool kube_version_is_number(const char *version);

/* Returns whether both are numbers and the first is smaller. */
bool kube_version_is_before(const char *version, const char *other);

/* Returns whether both are numbers and the first is not smaller. NULL is no number. */
bool kube_version_has_reached(const char *version, const char *wanted);

/* ---- Objects ---- */

/* etcd accepts requests of 1.5 MiB, which bounds objects there. JSON can be longer: HTML-safe
 * escapes turn <, > and & into 6 bytes. Five times the size is more than real objects reach.
 */
enum { KUBE_FRAME_MAX = 8 * 1024 * 1024 };

/* Says how the response is encoded; application/vnd.kubernetes.protobuf is preferred. */
enum kube_encoding { KUBE_JSON, KUBE_PROTOBUF };

enum kube_kind {
    KUBE_SERVICE,
    KUBE_ENDPOINTS,
    KUBE_SLICE,
    KUBE_POD,
    KUBE_CONFIG_MAP,
    KUBE_NODE,
    KUBE_NAMESPACE,
    KUBE_INGRESS,
    KUBE_GATEWAY,
    KUBE_ROUTE,
    KUBE_IMPORT,       /* has a `service` */
    KUBE_IMPORT_SLICE, /* a slice of an import's endpoints: has an `import_slice` */
};
enum { KUBE_KIND_COUNT = 12 };

/* The first ones are decoded from protobuf, too. The others are few and small, and custom resources
 * have no protobuf: they are asked for in JSON. */
enum { KUBE_PROTOBUF_KIND_COUNT = KUBE_NAMESPACE + 1 };

/* The label that an import's slices have, with the import's name. */
#define KUBE_IMPORT_NAME_LABEL "multicluster.kubernetes.io/service-name"

/* Returns whether objects of the kind have a namespace; that of Nodes and Namespaces is "".
 * (kube_object.c) */
bool kube_kind_is_namespaced(enum kube_kind kind);

struct kube_port {
    const char *name;     /* "" = unnamed */
    const char *protocol; /* as in the API, "TCP"; "" = none */
    int32_t port;         /* 0-65535; 0 = absent, in a slice: any */
};

/* Limits the bytes of the annotation dns.kube2sky/aliases: 64 of the longest names, with blanks. A
 * longer one is left out. */
enum { KUBE_ALIASES_MAX = 64 * 260 };

struct kube_service {
    const char *uid;     /* "" = unknown, or not decoded; so of Ingresses and routes */
    const char *aliases; /* the annotation dns.kube2sky/aliases; "" = none, or not decoded */
    int64_t created_s;   /* since 1970; 0 = unknown */
    const char *type;    /* "ClusterIP", "ExternalName", ...; "" = absent */
    const char *external_name;
    const char *const *cluster_ips; /* clusterIPs, or else clusterIP; without "None" and "" */
    /* externalIPs, and the load balancer's addresses and host names, which end with a dot; none if
     * kube_kept.external is off */
    const char *const *external;
    const struct kube_port *ports;
    uint32_t cluster_ip_count;
    uint32_t port_count;
    uint32_t external_count;
    bool is_headless;       /* clusterIP is None; an empty one is not decided yet */
    bool publish_not_ready; /* the field, or the tolerate-unready-endpoints annotation */
    bool is_import;         /* a ServiceImport: its names are in the multicluster domain */
    bool prefers_near;      /* trafficDistribution names a preference that begins with the zone;
                             * false if kube_kept.topology is off */
};

/* Limits the zones that one slice knows; further ones are as none. */
enum { KUBE_ZONES_MAX = 64 };

struct kube_address {
    const char *ip;
    const char *hostname; /* of the address, else from the hostnames-map annotation; "" = none */
    const char *pod;      /* targetRef's name; "" = no pod, or kube_kept.pods is off */
    bool is_ready;
};

struct kube_subset {
    const struct kube_address *addresses; /* ready and not ready addresses */
    size_t address_count;
    const struct kube_port *ports;
    size_t port_count;
};

struct kube_endpoints {
    const struct kube_subset *subsets;
    size_t subset_count;
    int64_t triggered_us; /* of kube_slice */
};

enum kube_address_type { KUBE_IPV4, KUBE_IPV6, KUBE_FQDN, KUBE_OTHER_ADDRESS };

/* Holds an endpoint. Missing conditions have the API's defaults: ready, serving same as ready, not
 * terminating. */
struct kube_slice_endpoint {
    const char *const *addresses;
    const char *hostname; /* the field, else from the hostnames-map annotation; "" = none */
    const char *pod;      /* see kube_address */
    uint32_t address_count;
    bool is_ready;
    bool is_serving;
    bool is_terminating;
    uint8_t zone; /* its zone is zones[zone - 1] of the slice; 0 = none, or kube_kept.topology is
                   * off */
};

/* Holds an EndpointSlice: part of the endpoints of one Service. A Service may have several, in any
 * order; an endpoint may be in two of them while it moves. */
struct kube_slice {
    const char *service; /* the label kubernetes.io/service-name, of an import's slice
                          * multicluster.kubernetes.io/service-name; "" = none */
    const struct kube_slice_endpoint *endpoints;
    const struct kube_port *ports;
    size_t endpoint_count;
    size_t port_count;
    /* When the change happened that the controller has answered, in microseconds since 1970: the
     * annotation endpoints.kubernetes.io/last-change-trigger-time. 0 = unknown. It is no content:
     * objects that differ only in it are equal. */
    int64_t triggered_us;
    const char *const *zones; /* of its endpoints, each once */
    enum kube_address_type address_type;
    uint8_t zone_count;
    bool is_import; /* it is the first member of a kube_import_slice */
};

/* Holds a slice of an import's endpoints, all in one cluster. */
struct kube_import_slice {
    struct kube_slice slice;
    const char *cluster; /* the label source-cluster; "" = none */
};

/* Returns the cluster of a slice of an import; "" = none, or another slice. */
static inline const char *kube_slice_cluster(const struct kube_slice *slice)
{
    return slice->is_import ? ((const struct kube_import_slice *)slice)->cluster : "";
}

/* Returns the endpoint's zone; "" = none. */
static inline const char *kube_slice_zone(const struct kube_slice *slice,
                                          const struct kube_slice_endpoint *endpoint)
{
    return endpoint->zone ? slice->zones[endpoint->zone - 1] : "";
}

struct kube_pod {
    const char *phase;      /* "Running", "Succeeded", ...; "" = absent */
    const char *const *ips; /* podIPs, or else podIP; without "" */
    size_t ip_count;
    const char *node;        /* its Node's name; "" = none, or kube_kept.placement is off */
    bool is_on_host_network; /* spec.hostNetwork: its addresses belong to its node */
};

/* Holds the addresses of status.addresses with the type InternalIP, in their order; without "". */
struct kube_node {
    const char *const *ips;
    size_t ip_count;
    const char *zone; /* the label; "" = none, or kube_kept.placement is off */
};

/* Limits the annotation's bytes, like skydns. A longer one is left out. */
enum { KUBE_VISIBLE_TO_MAX = 64 * 1024 };

struct kube_namespace {
    const char *visible_to; /* the annotation dns.kube2sky/visible-to; NULL: absent */
};

/* Holds an Ingress. */
struct kube_ingress {
    const char *uid;
    const char *class;        /* ingressClassName, else the annotation; "" = none */
    const char *const *hosts; /* of its rules; without "" */
    size_t host_count;
    int64_t created_s; /* as of a Service */
};

/* Holds a listener of a Gateway. */
struct kube_listener {
    const char *name;
    const char *hostname; /* "" = all */
    int32_t port;
};

struct kube_gateway {
    const struct kube_listener *listeners;
    size_t listener_count;
};

/* Holds a Gateway that has accepted the route as it is now: the condition Accepted is True, and its
 * observedGeneration is the route's generation. */
struct kube_parent {
    const char *ns; /* "" = the route's own */
    const char *name;
    const char *section; /* a listener's name; "" = all */
    int32_t port;        /* a listener's; 0 = all */
};

/* Holds an HTTPRoute. */
struct kube_route {
    const char *uid;
    const char *const *hostnames; /* none: those of the listeners */
    const struct kube_parent *parents;
    size_t hostname_count;
    size_t parent_count;
    int64_t created_s; /* as of a Service */
};

/* Holds one entry of a ConfigMap; the API server limits all keys and values together to 1 MiB. Data
 * that is no text (binaryData) is dropped. */
struct kube_setting {
    const char *key;
    const char *value;
};

struct kube_config_map {
    const struct kube_setting *settings; /* data, in any order */
    size_t setting_count;
};

/* Holds one object in one allocation, with all its strings and arrays and only its kind's part of
 * the union: never copied by value, and immutable.
 *
 * A user who may edit a namespace can write nonsense into annotations, and into a slice's ports and
 * addresses, which the API server does not check. So a part that cannot be understood is left out
 * alone: an annotation, a port, an address, an endpoint, a subset. */
struct kube_object {
    enum kube_kind kind;
    uint16_t fault_count; /* parts left out because they cannot be understood; at most 65535 */
    /* The object cannot be understood: its owner is in doubt. Only the members up to here are
     * known, and perhaps a slice's Service. */
    bool is_garbled;
    bool is_bare : 1; /* its content was dropped (kube_object_bare); the same members are known */
    bool has_port_fault : 1; /* ports are among the faults; annotations are */
    bool has_annotation_fault : 1;
    const char *faults; /* the first faults, or why it is garbled; for the log, "" = none */
    const char *ns;
    const char *name;
    const char *resource_version; /* "" = absent; equal versions mean equal state; not ordered */
    union {
        struct kube_service service;
        struct kube_endpoints endpoints;
        struct kube_slice slice;
        struct kube_import_slice import_slice;
        struct kube_pod pod;
        struct kube_config_map config_map;
        struct kube_node node;
        struct kube_namespace ns_object;
        struct kube_ingress ingress;
        struct kube_gateway gateway;
        struct kube_route route;
    };
};

/* ---- kube_object.c ---- */

void kube_object_free(struct kube_object *object); /* NULL is fine */

/* Returns a copy without content: its identity, and a slice's Service. (kube_draft.c) */
struct kube_object *kube_object_bare(const struct kube_object *object);

/* Returns whether only version and faults differ in the used fields: the change was to labels, or a
 * controller's annotation. */
bool kube_object_equal(const struct kube_object *a, const struct kube_object *b);

/* Members that only some flags need, mostly each a string an object. */
struct kube_kept {
    bool pods;      /* the names of endpoints' pods */
    bool aliases;   /* Services' aliases, and the time of Ingresses' and routes' creation */
    bool placement; /* the names of pods' Nodes, and Nodes' zones */
    bool uids;      /* of Services, Ingresses and routes */
    bool external;  /* Services' external addresses and host names */
    bool topology;  /* zones of slices' endpoints, and which Services prefer near ones */
};

/* Sets which of them objects have that are decoded from now on; none at first. Call it once, before
 * anything is decoded. (kube_draft.c) */
void kube_object_keep(struct kube_kept kept);

/* Returns whether the pod has ended: it keeps its IPs in the API, which another pod may have by
 * now. (kube_object.c) */
bool kube_object_has_ended(const struct kube_object *pod);

/* Makes a Service of an import, and a slice of an import's: their names are derived likewise. Other
 * kinds stay. (kube_object.c) */
void kube_object_localize(struct kube_object *object);
enum kube_kind kube_kind_localized(enum kube_kind kind);

/* Returns the uid of a Service, an Ingress or a route; "": unknown, or another kind. Borrowed.
 * (kube_object.c) */
const char *kube_object_uid(const struct kube_object *object);

/* ---- Decoding: kube_decode.c ---- */

/* Reads a page of a list as it arrives, holding only one object of it at a time. fn takes ownership
 * of each object; bad() gets the reason why an item has no known name, and the rest continues. push
 * calls both.
 *
 *     list = kube_list_new(...);
 *     for each piece { rc = kube_list_push(list, piece, err); }
 *     rc = kube_list_end(list, &meta, err);
 *     kube_list_free(list);
 *
 * Fails if the input is no list or is truncated; earlier objects were passed on. */
struct kube_list;
struct kube_list_meta {
    char *resource_version; /* owned, not empty */
    char *continue_token;   /* owned, "" = last page */
};
typedef void (*kube_object_fn)(void *data, struct kube_object *object);
typedef void (*kube_bad_object_fn)(void *data, const struct err *err);
struct kube_list *kube_list_new(enum kube_encoding encoding, enum kube_kind kind, kube_object_fn fn,
                                kube_bad_object_fn bad, void *data);
int kube_list_push(struct kube_list *list, struct slice bytes, struct err *err) MUST_CHECK;
int kube_list_end(struct kube_list *list, struct kube_list_meta *ret_meta,
                  struct err *err) MUST_CHECK;
void kube_list_free(struct kube_list *list); /* NULL is fine */
void kube_list_meta_fini(struct kube_list_meta *meta);

/* Decodes one event of a watch, as kube_frames_internal.h cuts it. */
enum kube_event_kind {
    KUBE_EVENT_UPSERT,   /* ADDED, MODIFIED: object set */
    KUBE_EVENT_DELETE,   /* object set, with metadata only */
    KUBE_EVENT_BOOKMARK, /* resource_version set */
    KUBE_EVENT_ERROR,    /* status_code set, 410 = list again; err has the server's message */
    KUBE_EVENT_BAD,      /* an object without a known name; see err */
};
struct kube_event {
    enum kube_event_kind kind;
    struct kube_object *object; /* owned by the event until taken */
    char *resource_version;     /* owned; the object's or bookmark's; NULL if unknown */
    int status_code;
    bool is_initial_end; /* a bookmark: all objects that existed when the watch began have been
                          * sent */
};
/* Decodes a frame; fails if it is no watch event. */
int kube_decode_event(enum kube_encoding encoding, enum kube_kind kind, struct slice frame,
                      struct kube_event *ret_event, struct err *err) MUST_CHECK;
void kube_event_fini(struct kube_event *event);

/* Decodes a Status, which the API sends with every error, in either encoding (detected). Returns
 * false if it is none, perhaps from a proxy. */
struct kube_status {
    int code;      /* 0 = absent */
    char *message; /* owned, "" = absent */
};
bool kube_decode_status(struct slice body, struct kube_status *ret_status) MUST_CHECK;
void kube_status_fini(struct kube_status *status);

#endif
