/* The records of synthetic Services, as kube2sky writes them for one named port each: an address, a
 * port (SRV) and a reverse name, all in one namespace; and a store of them. A change gives a
 * Service another address: one transaction that deletes three keys and puts three. For tests and
 * benchmarks; one thread. Aborts on errors. */
#ifndef TESTS_SUPPORT_SKYDNS_SERVICES_H
#define TESTS_SUPPORT_SKYDNS_SERVICES_H

#include <stdint.h>

#include "common/dns/dname.h"
#include "skydns/records/store.h"

enum { SERVICES_MAX = 1000000, KEYS_PER_SERVICE = 3, OPS_PER_CHANGE = 2 * KEYS_PER_SERVICE };

/* Addresses that a Service alternates between. */
enum { SERVICE_STATES = 2 };

struct services {
    unsigned count;
    uint8_t *states;
    int64_t revision;
    struct store_writer *writer;
};

void services_init(struct services *services, unsigned count);
void services_fini(struct services *services); /* no readers left */

/* "svc-00001.default.svc.cluster.local." */
struct dname services_name(unsigned number);

/* In network byte order. */
uint32_t services_address(unsigned number, unsigned state);

/* All of them in one version, which the caller publishes. */
const struct store *services_fill(struct services *services, struct store_garbage **ret_garbage);

/* Parses the keys and values of one change into the version to publish, as store_sync does. */
const struct store *services_change(struct services *services, unsigned number,
                                    struct store_garbage **ret_garbage);

/* Only makes, parses and discards the keys and values of one change: that part of the above. */
void services_parse_only(const struct services *services, unsigned number);

#endif
