/* The Kubernetes objects that give records, reduced to the fields used. Plain data, owned strings;
 * single-threaded like all of kube2sky. Decoded from JSON here (jansson stays inside).
 * Field meanings: Kubernetes API reference, core/v1 Service and Endpoints. */
#ifndef KUBE2SKY_KUBE_OBJECT_H
#define KUBE2SKY_KUBE_OBJECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/attributes.h"
#include "common/err.h"
#include "common/slice.h"

/* Both come from the server and go back to it in a URL. A version is opaque, in practice a decimal
 * number of 64 bits; a continue token is some 200 bytes, and Go's HTTP server takes 1 MiB with all
 * headers. Longer ones are refused. */
enum { KUBE_VERSION_MAX = 256, KUBE_CONTINUE_MAX = 64 * 1024 };

enum kube_kind { KUBE_SERVICE, KUBE_ENDPOINTS };
enum { KUBE_KIND_COUNT = 2 };

struct kube_port {
    char *name;     /* "" = unnamed */
    char *protocol; /* as the API has it, "TCP"; "" = none */
    int32_t port;   /* 0-65535 */
};

struct kube_service {
    char *type;         /* "ClusterIP", "ExternalName", ...; "" = not said */
    char **cluster_ips; /* clusterIPs, else the one clusterIP; "None" and "" are not in it */
    size_t cluster_ip_count;
    bool is_headless; /* clusterIP None; an empty one is neither headless nor an address yet */
    bool publish_not_ready; /* the field, or the tolerate-unready-endpoints annotation */
    char *external_name;
    struct kube_port *ports;
    size_t port_count;
};

struct kube_address {
    char *ip;
    char *hostname; /* of the address, else from the hostnames-map annotation; "" = none */
    bool is_ready;
};

struct kube_subset {
    struct kube_address *addresses; /* ready and not ready ones */
    size_t address_count;
    struct kube_port *ports;
    size_t port_count;
};

struct kube_endpoints {
    struct kube_subset *subsets;
    size_t subset_count;
};

struct kube_object {
    enum kube_kind kind;
    char *ns;
    char *name;
    char *uid;
    char *resource_version;
    union {
        struct kube_service service;
        struct kube_endpoints endpoints;
    };
};

/* ---- kube_object.c ---- */

void kube_object_free(struct kube_object *object); /* NULL is fine */

/* ---- Decoding: kube_object_json.c. Another encoding brings the same functions over its own bytes,
 * chosen by the answer's Content-Type. ---- */

/* A page of a list: {"metadata":{"resourceVersion","continue"},"items":[...]}. fn takes ownership
 * of each object; an item that cannot be understood goes to bad(), which gets its name as far as it
 * is known ("default/web", "" at worst), and the others go on. Failure: the body is no list or ends
 * too early; objects before that point were handed over. */
struct kube_list_meta {
    char *resource_version; /* owned, not empty */
    char *continue_token;   /* owned, "" = last page */
};
typedef void (*kube_object_fn)(void *data, struct kube_object *object);
typedef void (*kube_bad_object_fn)(void *data, const char *name, const struct err *err);
int kube_decode_list(enum kube_kind kind, struct slice body, kube_object_fn fn,
                     kube_bad_object_fn bad, void *data, struct kube_list_meta *ret_meta,
                     struct err *err) MUST_CHECK;
void kube_list_meta_fini(struct kube_list_meta *meta);

/* One line of a watch: {"type":"ADDED","object":{...}}. */
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
/* Failure: the line is no watch event at all. */
int kube_decode_event(enum kube_kind kind, struct slice line, struct kube_event *ret_event,
                      struct err *err) MUST_CHECK;
void kube_event_fini(struct kube_event *event);

/* A Status, what the API sends with every error: {"kind":"Status","message":"...","code":403}.
 * False: it is none. */
struct kube_status {
    int code;      /* 0 = not said */
    char *message; /* owned, "" = not said */
};
bool kube_decode_status(struct slice body, struct kube_status *ret_status) MUST_CHECK;
void kube_status_fini(struct kube_status *status);

#endif
