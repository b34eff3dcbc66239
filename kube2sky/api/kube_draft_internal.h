/* An object while it is being decoded, from whatever encoding: its strings are borrowed from what
 * is decoded, its arrays lie in an arena. kube_draft_pack makes the compact object of it. Between
 * the decoders of objects (kube_codec_internal.h) and kube_object.h; nobody else sees it. Main
 * thread.
 *
 *     kube_draft_init(&draft);
 *     for each object { kube_draft_begin(&draft, kind); fill in draft.object; kube_draft_pack(...)
 * } kube_draft_fini(&draft);
 */
#ifndef KUBE2SKY_API_KUBE_DRAFT_INTERNAL_H
#define KUBE2SKY_API_KUBE_DRAFT_INTERNAL_H

#include "common/base/arena.h"
#include "kube2sky/api/kube_object.h"

#define KUBE_TOLERATE_UNREADY_ANNOTATION "service.alpha.kubernetes.io/tolerate-unready-endpoints"
#define KUBE_SERVICE_NAME_LABEL          "kubernetes.io/service-name"

enum kube_object_part { KUBE_WHOLE, KUBE_METADATA_ONLY };

struct kube_draft {
    struct kube_object object;
    struct arena arena;
};

void kube_draft_init(struct kube_draft *draft);
void kube_draft_fini(struct kube_draft *draft);

/* An empty object of the kind, every string ""; what was in the arena is gone. */
void kube_draft_begin(struct kube_draft *draft, enum kube_kind kind);

/* count elements of that size, zeroed; borrowed until the next begin. NULL: the object is beyond
 * every limit, and err says so (ERR_TOO_LARGE). count 0 gives something, too. */
void *kube_draft_array(struct kube_draft *draft, size_t count, size_t size,
                       struct err *err) MUST_CHECK;

/* The slice with a NUL behind it; borrowed as above. ERR_TOO_LARGE; ERR_SYNTAX when it holds a NUL
 * itself. */
int kube_draft_text(struct kube_draft *draft, struct slice text, const char **ret_text,
                    struct err *err) MUST_CHECK;

/* What several encodings have to understand in the same way. clusterIPs came with dual stack (1.20)
 * as podIPs did (1.16): an older server has only the single field. Strings are borrowed. */
int kube_draft_cluster_ips(struct kube_draft *draft, const char *const *cluster_ips, size_t count,
                           const char *cluster_ip, struct err *err) MUST_CHECK;
int kube_draft_pod_ips(struct kube_draft *draft, const char *const *pod_ips, size_t count,
                       const char *pod_ip, struct err *err) MUST_CHECK;
enum kube_address_type kube_draft_address_type(const char *type);

/* A copy of the draft in one block; of its namespace, name and version alone for
 * KUBE_METADATA_ONLY. The caller owns it. */
struct kube_object *kube_draft_pack(const struct kube_draft *draft, enum kube_object_part part);

#endif
