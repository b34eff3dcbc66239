/* Holds an object during decoding, from any encoding: strings are borrowed from the input, arrays
 * are in an arena. kube_draft_pack makes the compact object. Sits between the object decoders
 * (kube_codec_internal.h) and kube_object.h. Main thread.
 *
 *     kube_draft_init(&draft);
 *     for each object: kube_draft_begin(&draft, kind); fill in draft.object; kube_draft_pack(...)
 *     kube_draft_fini(&draft); */
#ifndef KUBE2SKY_API_KUBE_DRAFT_INTERNAL_H
#define KUBE2SKY_API_KUBE_DRAFT_INTERNAL_H

#include "common/base/arena.h"
#include "common/base/buf.h"
#include "kube2sky/api/kube_object.h"

#define KUBE_TOLERATE_UNREADY_ANNOTATION "service.alpha.kubernetes.io/tolerate-unready-endpoints"
#define KUBE_SERVICE_NAME_LABEL          "kubernetes.io/service-name"
#define KUBE_IMPORT_CLUSTER_LABEL        "multicluster.kubernetes.io/source-cluster"
#define KUBE_VISIBLE_TO_ANNOTATION       "dns.kube2sky/visible-to"
#define KUBE_ALIASES_ANNOTATION          "dns.kube2sky/aliases"
#define KUBE_INGRESS_CLASS_ANNOTATION    "kubernetes.io/ingress.class"
#define KUBE_ZONE_LABEL                  "topology.kubernetes.io/zone"
#define KUBE_TRIGGER_TIME_ANNOTATION     "endpoints.kubernetes.io/last-change-trigger-time"

/* The type of those addresses of a Node that are used. */
#define KUBE_NODE_ADDRESS_TYPE "InternalIP"

enum kube_object_part { KUBE_WHOLE, KUBE_METADATA_ONLY };

struct kube_draft {
    struct kube_object object; /* faults: see below */
    struct arena arena;
    struct buf faults;
};

void kube_draft_init(struct kube_draft *draft);
void kube_draft_fini(struct kube_draft *draft);

/* Starts an empty object of this kind, every string ""; releases the arena. */
void kube_draft_begin(struct kube_draft *draft, enum kube_kind kind);

/* Returns which optional members to decode, as kube_object_keep has set them. */
const struct kube_kept *kube_draft_kept(void);

/* Sets the uid of a Service, an Ingress or a route, borrowed. One that is too long is none. */
void kube_draft_uid(struct kube_draft *draft, const char *uid);

/* The group of Gateways and their routes. */
#define KUBE_GATEWAY_GROUP "gateway.networking.k8s.io"

/* The kind of targetRef that names a pod. */
#define KUBE_POD_REFERENCE "Pod"

/* Returns count zeroed elements of that size, borrowed until the next begin; not NULL for count 0.
 * Fails with NULL and ERR_TOO_LARGE if the object exceeds the limit. */
void *kube_draft_array(struct kube_draft *draft, size_t count, size_t size,
                       struct err *err) MUST_CHECK;

/* Notes the zone of a slice's endpoint, borrowed, and whether a Service's trafficDistribution
 * prefers near endpoints, if kube_kept.topology is on. */
int kube_draft_zone(struct kube_draft *draft, const char *zone,
                    struct kube_slice_endpoint *endpoint, struct err *err) MUST_CHECK;
void kube_draft_distribution(struct kube_draft *draft, const char *distribution);

/* Copies the slice, NUL-terminated; borrowed until the next begin. Fails with ERR_TOO_LARGE, or
 * with ERR_SYNTAX if it contains a NUL. */
int kube_draft_text(struct kube_draft *draft, struct slice text, const char **ret_text,
                    struct err *err) MUST_CHECK;

/* Leaves out a part that could not be decoded: notes it among the object's faults and returns 0.
 * Fails with ERR_TOO_LARGE if the object exceeds the limit. Returns 0 for rc 0. */
int kube_draft_leave_out(struct kube_draft *draft, int rc, const struct err *err) MUST_CHECK;

/* Do the same for a port, and for an annotation. */
int kube_draft_leave_out_port(struct kube_draft *draft, int rc, const struct err *err) MUST_CHECK;
int kube_draft_leave_out_annotation(struct kube_draft *draft, int rc,
                                    const struct err *err) MUST_CHECK;

/* Checks that the object's name, and its namespace unless its kind has none, are known. Fails with
 * ERR_SYNTAX. */
int kube_draft_check_name(const struct kube_object *object, struct err *err) MUST_CHECK;

/* Marks the object as garbled, for this reason: empties its content, except a slice's Service. */
void kube_draft_garble(struct kube_draft *draft, const struct err *err);

/* Sets the Namespace's list, borrowed. Fails with ERR_SYNTAX if it is too long. */
int kube_draft_visible_to(struct kube_draft *draft, const char *text, struct err *err) MUST_CHECK;

/* Sets the Service's aliases, borrowed. Fails with ERR_SYNTAX if they are too long. */
int kube_draft_aliases(struct kube_draft *draft, const char *text, struct err *err) MUST_CHECK;

/* One of the points at which a load balancer takes connections; borrowed texts, "" = absent. */
struct kube_ingress_point {
    const char *ip;
    const char *hostname;
};

/* Set fields that all encodings must treat alike. clusterIPs (1.20) and podIPs (1.16) came with
 * dual stack: older servers have only the single field. Strings are borrowed. */
int kube_draft_cluster_ips(struct kube_draft *draft, const char *const *cluster_ips, size_t count,
                           const char *cluster_ip, struct err *err) MUST_CHECK;
/* Sets the Service's external addresses and host names. */
int kube_draft_external(struct kube_draft *draft, const char *const *ips, size_t ip_count,
                        const struct kube_ingress_point *points, size_t point_count,
                        struct err *err) MUST_CHECK;
int kube_draft_pod_ips(struct kube_draft *draft, const char *const *pod_ips, size_t count,
                       const char *pod_ip, struct err *err) MUST_CHECK;
/* Checks a slice's address type. A type without addresses is a fault: the endpoints have no
 * records. */
int kube_draft_address_type(struct kube_draft *draft, const char *type) MUST_CHECK;

/* Copies the draft into one block, owned by the caller; for KUBE_METADATA_ONLY just namespace, name
 * and version. */
struct kube_object *kube_draft_pack(struct kube_draft *draft, enum kube_object_part part);

#endif
