/* From Kubernetes objects to records: which keys a Service and its Endpoints have and what they
 * say. PURE: no clock, no I/O, no state but the configuration; the same objects always give the
 * same keys. Single-threaded.
 *
 * With D for the domain, hash(v) for record_label, below /skydns/<D reversed>/svc/<ns>/<svc>/ :
 *
 *   cluster IP                        <hash>                         the IP
 *   each named port of it             _<proto>/_<port>/<hash>        <svc>.<ns>.svc.D., port
 *   headless: each ready address      <label>                        the IP
 *   each of them x named port         _<proto>/_<port>/<label>       <label>.<svc>.<ns>.svc.D.,
 * port
 *
 * where <hash> is that of the address's value (two cluster IPs: two addresses, ports once with the
 * first one's), and <label> the endpoint's hostname or else its hash. Addresses that share a label
 * get <label>/<hash> each. Ports that would share a key: the smallest number has it, each other one
 * <label>-<number>. Names are lower-cased, IPv6 is in RFC 5952 form. */
#ifndef KUBE2SKY_NAMING_H
#define KUBE2SKY_NAMING_H

#include <stdbool.h>
#include <stdint.h>

#include "common/attributes.h"
#include "common/err.h"
#include "common/slice.h"
#include "kube2sky/desired.h"
#include "kube2sky/kube_object.h"

/* Something that would have gone into a key and cannot be there: that key alone is left out. */
struct naming_drop {
    const char *ns;
    const char *name;
    const char *what;  /* "service name", "port name", "address", ... */
    const char *value; /* as the API has it */
};

struct naming_config {
    const char *domain; /* "cluster.local.", lower case, with the dot; borrowed for good */
    uint32_t ttl_s;
    void (*dropped)(void *data, const struct naming_drop *drop);
    void *data;
};

/* A DNS label as Kubernetes means it (RFC 1123): letters, digits and inner hyphens, 1-63. */
bool naming_is_label(struct slice text);

/* Fills `ret_desired` (cleared first, sealed after). service NULL: nothing is desired; endpoints
 * NULL: there are none. ERR_TOO_LARGE: more than DESIRED_MAX records; ret_desired is then void. */
int naming_build(const struct naming_config *config, const struct kube_object *service,
                 const struct kube_object *endpoints, struct desired *ret_desired,
                 struct err *err) MUST_CHECK;

#endif
