/* Where kube2sky's keys are and what its records say: the contract with whoever reads them, be it
 * skydns, a SkyDNS of the old cluster or somebody with etcdctl. The files of naming build keys and
 * values of these; reconcile knows by them which keys are its own. Which key an object has:
 * naming.h; whose key it is: ownership_internal.h.
 *
 * None of it can change: what kube2sky 1.15 wrote is in running clusters, a reader of that time
 * looks for these keys and no others, and a value that differs in one byte has another hash in its
 * key (record_key.h has the way from a name to its key, record_json.h the form of a value). */
#ifndef KUBE2SKY_NAMING_CONTRACT_H
#define KUBE2SKY_NAMING_CONTRACT_H

/* ---- Keys ---- */

/* SkyDNS's default -path-prefix. The old kube2sky had no flag for another one either. */
#define SKYDNS_TREE "/skydns/"

/* Below the domain, in keys as in names: <service>.<namespace>.svc.<domain>. The DNS specification
 * for Kubernetes has the same labels. */
#define SERVICE_LABEL "svc"
#define POD_LABEL     "pod"

/* What an owner's id begins with: its keys' path below the domain (owner_objects.h). */
#define SERVICE_PREFIX SERVICE_LABEL "/"
#define POD_PREFIX     POD_LABEL "/"

/* Of either of the two. */
enum { OWNER_PREFIX_LEN = sizeof(SERVICE_PREFIX) - 1 };
_Static_assert(sizeof(POD_PREFIX) == sizeof(SERVICE_PREFIX), "OWNER_PREFIX_LEN is for both");

/* Reverse names are not below the domain: 1.0.0.10.in-addr.arpa. and, in nibbles, ...ip6.arpa.
 * (RFC 1035, RFC 3596). The owner of a reverse key that nobody claims is called by the key behind
 * SKYDNS_TREE, so its id begins with ARPA_PREFIX. */
#define ARPA_PREFIX     "arpa/"
#define REVERSE_TREE    SKYDNS_TREE ARPA_PREFIX
#define REVERSE_V4_TREE REVERSE_TREE "in-addr"
#define REVERSE_V6_TREE REVERSE_TREE "ip6"

/* ---- Values ---- */

/* As kube2sky has written them since 1.9, for each record alike: SkyDNS shares queries out by
 * weight among records of one priority, and takes no label off a target. */
enum { RECORD_PRIORITY = 10, RECORD_WEIGHT = 10, RECORD_TARGETSTRIP = 0 };

/* Unless --ttl says otherwise: the old kube2sky's, short enough for a Service that moves. */
enum { RECORD_TTL_S = 30 };

#endif
