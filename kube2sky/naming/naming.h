/* From Kubernetes objects to records: which keys a Service with its endpoints has, or a pod's
 * address, what they say, and which reverse names are claimed for it. PURE: no clock, no I/O, no
 * state but the configuration; the same objects always give the same keys. Single-threaded.
 *
 * With D for the domain, hash(v) for record_label and S for svc/<ns>/<svc>, below the domain's key:
 *
 *   a cluster IP               S/<hash>                    the IP
 *   each named port of it      S/_<proto>/_<port>/<hash>   <svc>.<ns>.svc.D., port
 *   headless: a ready address  S/<label>                   the IP
 *   each named port of that    S/_<proto>/_<port>/<label>  <label>.<svc>.<ns>.svc.D., port
 *   ExternalName               S                           the external name
 *   a live pod's address       pod/<ns>/<IP>/<hash>        the IP; in the key with dashes
 *
 * where <hash> is that of the address's value (two cluster IPs: two addresses, ports once with the
 * first one's), and <label> the endpoint's hostname or else its hash. Addresses that share a label
 * get <label>/<hash> each. Ports that would share a key: the smallest number has it, each other one
 * <label>-<number>. Names are lower-cased, IPv6 is in RFC 5952 form.
 *
 * Each cluster IP and endpoint address is claimed for <svc>.<ns>.svc.D. or
 * <label>.<svc>.<ns>.svc.D.; who gets it is reverse.h's. */
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

/* Something that would have gone into a key and cannot be there: that key alone is left out. */
struct naming_drop {
    const char *kind; /* "service" or "pod" */
    const char *ns;
    const char *name;  /* of a pod its address, as in the key */
    const char *what;  /* "service name", "port name", "address", ... */
    const char *value; /* as the API has it */
};

struct naming_config {
    const char *domain; /* "cluster.local.", lower case, with the dot; borrowed for good */
    uint32_t ttl_s;
    void (*dropped)(void *data, const struct naming_drop *drop);
    void *data;
};

/* Replaces out by what a record of kube2sky says, {"host":...}; port 0: none. */
void naming_value(const struct naming_config *config, const char *host, uint16_t port,
                  struct buf *out);

/* Appends a pod's label: "10-1-0-1", "fd00--1"; one that would end in a hyphen gets a 0, since
 * fd00:: is fd00::0. */
void naming_pod_label(const struct ip *ip, struct buf *out);

/* Fills both (cleared first, sealed after). No service and no pod: nothing is desired.
 * ERR_TOO_LARGE: more than DESIRED_MAX records; both are then void. */
int naming_build(const struct naming_config *config, const struct owner_objects *objects,
                 struct desired *ret_desired, struct claims *ret_claims,
                 struct err *err) MUST_CHECK;

#endif
