/* From Kubernetes objects to records: the keys and values of a Service with its endpoints, of a
 * pod's address, or of a Node, and the reverse names they claim. PURE: no clock, no I/O, no state
 * but the configuration; the same objects always give the same keys. Single-threaded.
 *
 * With D for the domain, hash(v) for record_label and S for svc/<ns>/<svc>, below the domain's key:
 *
 *   a cluster IP               S/<hash>                    the IP
 *   each named port of it      S/_<proto>/_<port>/<hash>   <svc>.<ns>.svc.D., port
 *   headless: a ready address  S/<label>                   the IP
 *   each named port of that    S/_<proto>/_<port>/<label>  <label>.<svc>.<ns>.svc.D., port
 *   ExternalName               S                           the external name
 *   a live pod's address       pod/<ns>/<IP>/<hash>        the IP; in the key with dashes
 *   a Node's InternalIP        node/<labels>/<hash>        the IP
 *
 * where <hash> is the hash of the address's value (with two cluster IPs, two addresses, and each
 * port once with the first one's hash), and <label> the endpoint's hostname, or else what
 * --endpoint-names says: its hash, its address as of a pod, or its pod's name, for which the
 * address stands in if there is none or it is no label.
 * Addresses that share a label get <label>/<hash> each. Of ports that would share a key, the
 * smallest number gets it, the others <label>-<number>, or their record's hash if that is too long
 * or another's. Names are lower-cased, IPv6 is in RFC 5952
 * form.
 *
 * A Node keeps its name, with its dots, as it is: the labels of ip-10-0-0-1.ec2.internal in
 * reverse, node/internal/ec2/ip-10-0-0-1. A name has all records below it, so the answer for a node
 * `b` would have the addresses of a node `a.b`: the longer name gives way, and `a.b` has no records
 * while there is a node `b`. (Dashes for dots would be no way out: `a-b` may be a node, too.)
 *
 * Each cluster IP and endpoint address is claimed for <svc>.<ns>.svc.D. or
 * <label>.<svc>.<ns>.svc.D.; reverse.h picks the winner. */
#ifndef KUBE2SKY_NAMING_NAMING_H
#define KUBE2SKY_NAMING_NAMING_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/attributes.h"
#include "common/base/buf.h"
#include "common/base/err.h"
#include "common/base/slice.h"
#include "kube2sky/naming/claims.h"
#include "kube2sky/naming/desired.h"
#include "kube2sky/naming/owner_objects.h"

/* A part that cannot be in a key: only that key is left out. */
struct naming_drop {
    const char *kind;  /* "services", "pods" or "nodes" */
    const char *ns;    /* of a node "" */
    const char *name;  /* for a pod its address, as in the key */
    const char *what;  /* "service name", "port name", "address", ... */
    const char *value; /* as in the API */
};

/* The label of an endpoint without a hostname. kube2sky 1.15's is the hash; CoreDNS's is the
 * address, or the pod with its `endpoint_pod_names`. */
enum endpoint_names { ENDPOINT_NAMES_HASH, ENDPOINT_NAMES_ADDRESS, ENDPOINT_NAMES_POD };
#define ENDPOINT_NAMES_CHOICES "hash|address|pod"

struct naming_config {
    const char *domain; /* "cluster.local.", lower case, with the dot; borrowed for good */
    uint32_t ttl_s;
    uint32_t records_max; /* of one owner; 0: DESIRED_MAX */
    uint32_t bytes_max;   /* likewise, its keys and values; 0: DESIRED_BYTES_MAX */
    enum endpoint_names endpoint_names;
    void (*dropped)(void *data, const struct naming_drop *drop);
    void *data;
};

/* The limits, with what 0 stands for. */
size_t naming_records_max(const struct naming_config *config);
size_t naming_bytes_max(const struct naming_config *config);

/* Replaces out by the JSON of a record of kube2sky, {"host":...}; port 0: none. Uses only ttl_s of
 * the configuration. */
void naming_value(const struct naming_config *config, struct slice host, uint16_t port,
                  struct buf *out);

/* Appends an address as a label, a pod's or an endpoint's: "10-1-0-1", "fd00--1"; a hyphen at
 * either end gets a 0, since fd00:: is fd00::0 and ::1 is 0::1. */
void naming_pod_label(const struct ip *ip, struct buf *out);

/* Whether the text is such a label, of any address; naming_parse_pod_label: of which. */
bool naming_is_address_label(struct slice text);
bool naming_parse_pod_label(struct slice text, struct ip *ret_ip);

/* Fills both (cleared first, sealed after). Without service, pod and node nothing is desired.
 * ERR_TOO_LARGE: more than records_max records or bytes_max bytes; both are then invalid. */
int naming_build(const struct naming_config *config, const struct owner_objects *objects,
                 struct desired *ret_desired, struct claims *ret_claims,
                 struct err *err) MUST_CHECK;

#endif
