/* Maps Kubernetes objects to records: keys and values of a Service with its endpoints, of a pod's
 * address, or of a Node, and the reverse names that they claim. PURE: no clock, no I/O, no state
 * but the configuration; equal objects always give equal keys. Single-threaded.
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
 * and with Z for the zone of --external-zone and X for <ns>/<svc>, below the zone's key:
 *
 *   an external address        X/<hash>                    the IP
 *   a balancer's host name     X/<hash>                    the name, unless there are addresses
 *   each named port            X/_<proto>/_<port>/<hash>   <svc>.<ns>.Z, or the host name, port
 *   headless: as below S, if there is nothing external and --external-zone-headless is set
 *
 * A ServiceImport has the same keys below the multicluster domain's; but <label> is
 * <cluster>/<label> in those of a headless one, and its hosts are
 * <label>.<cluster>.<svc>.<ns>.svc.<multicluster domain>. (multicluster API, KEP-1645).
 *
 * <hash> is the hash of the address's value. Two cluster IPs are two addresses; each port then
 * appears once, with the first one's hash. <label> is the endpoint's hostname or, without one, as
 * --endpoint-names says: its hash, its address in a pod's form, or its pod's name. The address
 * replaces a pod's name that is absent or no label.
 *
 * Addresses that share a label get <label>/<hash> each. Of ports that would share a key, the
 * smallest number gets it, the others <label>-<number>. If that is too long or taken, the record's
 * hash is the label. Names are lower-cased, IPv6 is in RFC 5952 form.
 *
 * A Node's name keeps its dots: node/internal/ec2/ip-10-0-0-1 has the labels of
 * ip-10-0-0-1.ec2.internal in reverse. A name has all records below it, so the response for a node
 * `b` would have the addresses of a node `a.b`. Therefore `a.b` has no records while there is a
 * node `b`. (Dashes in place of dots would not help: `a-b` may be a node, too.)
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

/* Describes a part that cannot be in a key: only that key is left out. */
struct naming_drop {
    const char *kind;  /* "services", "serviceimports", "pods" or "nodes" */
    const char *ns;    /* "" for a node */
    const char *name;  /* for a pod its address, as in the key */
    const char *what;  /* "service name", "port name", "address", ... */
    const char *value; /* as in the API */
};

/* Selects the label of an endpoint without a hostname. kube2sky 1.15 used the hash; CoreDNS uses
 * the address, or the pod with its `endpoint_pod_names`. */
enum endpoint_names { ENDPOINT_NAMES_HASH, ENDPOINT_NAMES_ADDRESS, ENDPOINT_NAMES_POD };
#define ENDPOINT_NAMES_CHOICES "hash|address|pod"

/* The zone of --external-zone. */
struct external_zone {
    const char *zone;  /* "lb.example.com.", as the domain; NULL: none; borrowed */
    bool has_headless; /* --external-zone-headless */
    bool is_public;    /* --external-zone-public */
};

struct naming_config {
    const char *domain; /* "cluster.local.", lower case, with the dot; borrowed for its lifetime */
    const char *import_domain; /* of imports, likewise; NULL: there are none */
    uint32_t ttl_s;
    uint32_t records_max; /* limit for one owner; 0: DESIRED_MAX */
    uint32_t bytes_max;   /* limit of keys and values of one owner; 0: DESIRED_BYTES_MAX */
    enum endpoint_names endpoint_names;
    struct external_zone external;
    void (*dropped)(void *data, const struct naming_drop *drop); /* NULL: not wanted */
    void *data;
};

/* Return the limits, with the defaults in place of 0. */
size_t naming_records_max(const struct naming_config *config);
size_t naming_bytes_max(const struct naming_config *config);

/* Sets `out` to the JSON of a record of kube2sky, {"host":...}; port 0: none. Uses only ttl_s of
 * the configuration. */
void naming_value(const struct naming_config *config, struct slice host, uint16_t port,
                  struct buf *out);

/* Appends an address as a label, a pod's or an endpoint's: "10-1-0-1", "fd00--1". A hyphen at
 * either end gets a 0, since fd00:: is fd00::0 and ::1 is 0::1. */
void naming_pod_label(const struct ip *ip, struct buf *out);

/* Return whether the text is such a label; naming_parse_pod_label also sets its address. */
bool naming_is_address_label(struct slice text);
bool naming_parse_pod_label(struct slice text, struct ip *ret_ip);

/* Returns whether the Service, NULL: none, may have names in the external zone. */
bool naming_is_external(const struct naming_config *config, const struct kube_object *service);

/* Returns whether Services of the namespace can have names there. The labels dns, pod and svc mean
 * something else to readers of a zone: name servers, stub zones, whose address is a pod's. */
bool naming_may_be_external(struct slice ns);

/* Sets `ret_desired` to the key of EXTERNAL_PUBLIC_OWNER; without is_wanted to none. */
void naming_build_public(const struct naming_config *config, bool is_wanted,
                         struct desired *ret_desired);

/* Names one owner in portions, since addresses times ports may be many records. naming_begin takes
 * what it needs of the objects, which may change afterwards, and clears both results, which outlive
 * the job. naming_go_on adds at most *budget records, each of which takes one from it, and returns
 * whether that was all. naming_end seals the results and frees the job; it fails with ERR_TOO_LARGE
 * on more than records_max records or bytes_max bytes, and both are then invalid. naming_free gives
 * up; NULL is fine. Without service, pod and node no key is desired. */
struct naming_job;
struct naming_job *naming_begin(const struct naming_config *config,
                                const struct owner_objects *objects, struct desired *ret_desired,
                                struct claims *ret_claims);
bool naming_go_on(struct naming_job *job, size_t *budget);
int naming_end(struct naming_job *job, struct err *err) MUST_CHECK;
void naming_free(struct naming_job *job);

/* Does all of this at once. */
int naming_build(const struct naming_config *config, const struct owner_objects *objects,
                 struct desired *ret_desired, struct claims *ret_claims,
                 struct err *err) MUST_CHECK;

#endif
