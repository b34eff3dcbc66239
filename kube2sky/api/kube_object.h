/* The Kubernetes objects that give records, reduced to the fields used. Plain data, compact;
 * single-threaded like all of kube2sky. Decoded from JSON or protobuf, which stay inside.
 * Field meanings: Kubernetes API reference, core/v1 Service, Endpoints and Pod, discovery.k8s.io/v1
 * EndpointSlice, of which v1beta1 differs in nothing that is used. */
#ifndef KUBE2SKY_API_KUBE_OBJECT_H
#define KUBE2SKY_API_KUBE_OBJECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/attributes.h"
#include "common/base/err.h"
#include "common/base/slice.h"

/* Both come from the server and go back to it in a URL. A version is opaque, in practice a decimal
 * number of 64 bits; a continue token is some 200 bytes, and Go's HTTP server takes 1 MiB with all
 * headers. Longer ones are refused. */
enum { KUBE_VERSION_MAX = 256, KUBE_CONTINUE_MAX = 64 * 1024 };

/* etcd takes 1.5 MiB a request, so no object is longer there. As JSON it can be: HTML-safe escapes
 * make 6 bytes of one, but only of <, > and &. Five times the object is beyond what real ones do.
 */
enum { KUBE_FRAME_MAX = 8 * 1024 * 1024 };

/* What the server speaks: application/vnd.kubernetes.protobuf is preferred. */
enum kube_encoding { KUBE_JSON, KUBE_PROTOBUF };

enum kube_kind { KUBE_SERVICE, KUBE_ENDPOINTS, KUBE_SLICE, KUBE_POD };
enum { KUBE_KIND_COUNT = 4 };

struct kube_port {
    const char *name;     /* "" = unnamed */
    const char *protocol; /* as the API has it, "TCP"; "" = none */
    int32_t port;         /* 0-65535; 0 = not said, in a slice: any */
};

struct kube_service {
    const char *type; /* "ClusterIP", "ExternalName", ...; "" = not said */
    const char *external_name;
    const char *const *cluster_ips; /* clusterIPs, else the one clusterIP; no "None", no "" */
    const struct kube_port *ports;
    size_t cluster_ip_count;
    size_t port_count;
    bool is_headless; /* clusterIP None; an empty one is neither headless nor an address yet */
    bool publish_not_ready; /* the field, or the tolerate-unready-endpoints annotation */
};

struct kube_address {
    const char *ip;
    const char *hostname; /* of the address, else from the hostnames-map annotation; "" = none */
    bool is_ready;
};

struct kube_subset {
    const struct kube_address *addresses; /* ready and not ready ones */
    size_t address_count;
    const struct kube_port *ports;
    size_t port_count;
};

struct kube_endpoints {
    const struct kube_subset *subsets;
    size_t subset_count;
};

enum kube_address_type { KUBE_IPV4, KUBE_IPV6, KUBE_FQDN, KUBE_OTHER_ADDRESS };

/* What a condition leaves out is filled in as the API says it is to be read: ready unless said
 * otherwise, serving as ready is, not terminating. */
struct kube_slice_endpoint {
    const char *const *addresses;
    const char *hostname; /* its own, else from the hostnames-map annotation; "" = none */
    uint32_t address_count;
    bool is_ready;
    bool is_serving;
    bool is_terminating;
};

/* An EndpointSlice: part of the endpoints of one Service. Several make up the whole, in any order;
 * an endpoint may be in two of them while it moves. */
struct kube_slice {
    const char *service; /* the label kubernetes.io/service-name; "" = of no Service */
    const struct kube_slice_endpoint *endpoints;
    const struct kube_port *ports;
    size_t endpoint_count;
    size_t port_count;
    enum kube_address_type address_type;
};

struct kube_pod {
    const char *phase;      /* "Running", "Succeeded", ...; "" = not said */
    const char *const *ips; /* podIPs, else the one podIP; no "" */
    size_t ip_count;
};

/* One allocation with all its strings and arrays, and of the union only what its kind needs: never
 * copied by value, never changed once it is made. */
struct kube_object {
    enum kube_kind kind;
    const char *ns;
    const char *name;
    const char
        *resource_version; /* "" = not said; equal means the same state, order means nothing */
    union {
        struct kube_service service;
        struct kube_endpoints endpoints;
        struct kube_slice slice;
        struct kube_pod pod;
    };
};

/* ---- kube_object.c ---- */

void kube_object_free(struct kube_object *object); /* NULL is fine */

/* Nothing that is kept differs but the version: labels, say, or what a controller counts in an
 * annotation. */
bool kube_object_equal(const struct kube_object *a, const struct kube_object *b);

/* ---- Decoding: kube_decode.c ---- */

/* A page of a list, read as it comes: however long it is, no more of it is held than one object.
 * fn takes ownership of each object; an item that cannot be understood goes to bad(), which gets
 * its name as far as it is known ("default/web", "" at worst), and the others go on. Both are
 * called from inside push.
 *
 *     list = kube_list_new(...);
 *     for each piece { rc = kube_list_push(list, piece, err); }
 *     rc = kube_list_end(list, &meta, err);
 *     kube_list_free(list);
 *
 * Failure: it is no list, or ends too early; what came before was handed over. */
struct kube_list;
struct kube_list_meta {
    char *resource_version; /* owned, not empty */
    char *continue_token;   /* owned, "" = last page */
};
typedef void (*kube_object_fn)(void *data, struct kube_object *object);
typedef void (*kube_bad_object_fn)(void *data, const char *name, const struct err *err);
struct kube_list *kube_list_new(enum kube_encoding encoding, enum kube_kind kind, kube_object_fn fn,
                                kube_bad_object_fn bad, void *data);
int kube_list_push(struct kube_list *list, struct slice bytes, struct err *err) MUST_CHECK;
int kube_list_end(struct kube_list *list, struct kube_list_meta *ret_meta,
                  struct err *err) MUST_CHECK;
void kube_list_free(struct kube_list *list); /* NULL is fine */
void kube_list_meta_fini(struct kube_list_meta *meta);

/* One event of a watch, as kube_frames_internal.h cuts it. */
enum kube_event_kind {
    KUBE_EVENT_UPSERT,   /* ADDED, MODIFIED: object set */
    KUBE_EVENT_DELETE,   /* object set, its metadata only: what it said last no longer matters */
    KUBE_EVENT_BOOKMARK, /* resource_version set */
    KUBE_EVENT_ERROR,    /* status_code set, 410 = list again; err has the server's message */
    KUBE_EVENT_BAD, /* an object that cannot be understood; bad_name and err say which and why */
};
struct kube_event {
    enum kube_event_kind kind;
    struct kube_object *object; /* owned by the event until taken */
    char *resource_version;     /* owned; of the object or bookmark; NULL when not known */
    char *bad_name;             /* owned; "default/web", "" at worst */
    int status_code;
};
/* Failure: the frame is no watch event at all. */
int kube_decode_event(enum kube_encoding encoding, enum kube_kind kind, struct slice frame,
                      struct kube_event *ret_event, struct err *err) MUST_CHECK;
void kube_event_fini(struct kube_event *event);

/* A Status, what the API sends with every error, in either encoding: its own bytes say which.
 * False: it is none, from a proxy perhaps. */
struct kube_status {
    int code;      /* 0 = not said */
    char *message; /* owned, "" = not said */
};
bool kube_decode_status(struct slice body, struct kube_status *ret_status) MUST_CHECK;
void kube_status_fini(struct kube_status *status);

#endif
