/* Says where kube2sky's keys are and what its records contain: the contract with every reader,
 * whether skydns, an old cluster's SkyDNS or a person with etcdctl. naming/ builds keys and values
 * from these constants; reconcile/ uses them to recognize its own keys. naming.h maps objects to
 * keys, ownership_internal.h maps keys to owners.
 *
 * None of this may change: running clusters hold keys that kube2sky 1.15 wrote, and old readers
 * look for exactly these keys. A value that differs in one byte has another hash in its key
 * (record.h maps names to keys, record_json.h formats values). */
#ifndef KUBE2SKY_NAMING_CONTRACT_H
#define KUBE2SKY_NAMING_CONTRACT_H

/* ---- Keys ---- */

/* SkyDNS's default -path-prefix; kube2sky 1.15 had no flag to change it, either. */
#define SKYDNS_TREE "/skydns/"

/* Labels below the domain, in keys and names: <service>.<namespace>.svc.<domain>, as in the
 * Kubernetes DNS specification. */
#define SERVICE_LABEL "svc"
#define POD_LABEL     "pod"

/* With --nodes, <node>.node.<domain>, which people ask of CoreDNS. */
#define NODE_LABEL "node"

/* Prefixes of owner ids: the path of the owner's keys below the domain (owner_objects.h). */
#define SERVICE_PREFIX SERVICE_LABEL "/"
#define POD_PREFIX     POD_LABEL "/"
#define NODE_PREFIX    NODE_LABEL "/"

/* Length of the first two. */
enum { OWNER_PREFIX_LEN = sizeof(SERVICE_PREFIX) - 1 };
_Static_assert(sizeof(POD_PREFIX) == sizeof(SERVICE_PREFIX), "OWNER_PREFIX_LEN is for both");

/* Likewise of imports, whose keys are below the multicluster domain, where their path begins with
 * SERVICE_PREFIX: "mcs/default/web". */
#define IMPORT_PREFIX "mcs/"
_Static_assert(sizeof(IMPORT_PREFIX) == sizeof(SERVICE_PREFIX),
               "OWNER_PREFIX_LEN is for all three");

/* The version of the MCS API's DNS specification, at dns-version.<multicluster domain>. */
#define IMPORT_DNS_VERSION "1.0.0"

/* Prefixes of the keys about clients, and of their owners' ids, below /kube2sky/<domain>/
 * (client_keys.h). */
#define NODE_ADDRESS_PREFIX "node-address/"
#define VISIBLE_PREFIX      "visible/"
#define CLIENT_PREFIX       "client/"

/* Owner ids of the copies of visibility keys below the multicluster domain: "mcs-visible/default".
 */
#define IMPORT_VISIBLE_PREFIX "mcs-visible/"

/* Likewise of the zones of headless Services' addresses: "topology/<namespace>/<service>"
 * (topology_value.h). */
#define TOPOLOGY_PREFIX "topology/"

/* Owner ids of the external names that lead to a Service: "alias/<namespace>/<service>". Their keys
 * are anywhere below EXTERNAL_BASE, outside the domain: external_aliases.h. */
#define ALIAS_PREFIX  "alias/"
#define EXTERNAL_BASE "/skydns"

/* Owner ids of a Service's names in the zone of --external-zone: "ext/<namespace>/<service>". Their
 * keys are below the zone. */
#define EXTERNAL_PREFIX "ext/"
_Static_assert(sizeof(EXTERNAL_PREFIX) == sizeof(SERVICE_PREFIX),
               "OWNER_PREFIX_LEN is for it, too");

/* Owner id, and value, of the key that shows the zone's names to every namespace with skydns
 * -visibility=own: dns/public below the zone. */
#define EXTERNAL_PUBLIC_SUFFIX "dns/public"
#define EXTERNAL_PUBLIC_OWNER  EXTERNAL_PREFIX EXTERNAL_PUBLIC_SUFFIX
#define EXTERNAL_PUBLIC_VALUE  "{\"text\":\"public\"}"

/* Reverse names are not below the domain: 1.0.0.10.in-addr.arpa. and, in nibbles, ...ip6.arpa. (RFC
 * 1035, RFC 3596). An unclaimed reverse key's owner id is the key without SKYDNS_TREE, so it begins
 * with ARPA_PREFIX. */
#define ARPA_PREFIX     "arpa/"
#define REVERSE_TREE    SKYDNS_TREE ARPA_PREFIX
#define REVERSE_V4_TREE REVERSE_TREE "in-addr"
#define REVERSE_V6_TREE REVERSE_TREE "ip6"

/* ---- Values ---- */

/* Values of every record since kube2sky 1.9. SkyDNS distributes queries by weight among records of
 * one priority, and strips no label off a target. */
enum { RECORD_PRIORITY = 10, RECORD_WEIGHT = 10, RECORD_TARGETSTRIP = 0 };

/* An external name's record stands below it: its last label is none of the name. */
enum { ALIAS_TARGETSTRIP = 1 };

/* Default of --ttl, kube2sky 1.15's: short enough for a Service that moves. */
enum { RECORD_TTL_S = 30 };

#endif
