/* What answers depend on besides the records: the domains, defaults and rules of one server. Made
 * on the main thread from flags and the document in etcd (live_config.h), published to the threads
 * that answer like a version of the store (snapshot.h), and never changed afterwards. */
#ifndef SKYDNS_STORE_ENGINE_CONFIG_H
#define SKYDNS_STORE_ENGINE_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/addr.h"
#include "common/base/attributes.h"
#include "common/base/network.h"
#include "common/dns/dname.h"

enum {
    ENGINE_ZONES_MAX = 16,         /* domains: a cluster has one, one that is being renamed two */
    ENGINE_REVERSE_ZONES_MAX = 32, /* networks: services, pods and nodes, IPv4 and IPv6 */
};

/* How a name's records are found; the words are those of the flags, in the same order. */
enum engine_schema {
    ENGINE_SCHEMA_SKYDNS,     /* what is at and below the name; `*` and `any` match any label */
    ENGINE_SCHEMA_KUBERNETES, /* Kubernetes DNS-Based Service Discovery 1.1.0 (answer_kube.c) */
};

#define ENGINE_SCHEMA_CHOICES "skydns|kubernetes"

/* Who says that a-b-c-d.<namespace>.pod.<domain> exists. */
enum engine_pods {
    ENGINE_PODS_VERIFIED, /* etcd */
    ENGINE_PODS_INSECURE, /* the name itself, whatever address it says */
    ENGINE_PODS_DISABLED, /* nobody: NXDOMAIN */
};

#define ENGINE_PODS_CHOICES "verified|insecure|disabled"

/* A domain, and the names below it that mean something. They are empty (len
 * 0) where a domain leaves no room for them; ns is the domain itself then. */
struct engine_zone {
    struct dname domain; /* lower case, as all here */
    unsigned labels;     /* of it */
    struct dname hostmaster;
    struct dname ns;      /* ns.dns.<domain>: above the name servers' keys, and the SOA's MNAME */
    struct dname local;   /* local.dns.<domain> */
    struct dname version; /* dns-version.<domain> */
    struct dname pods;    /* pod.<domain> */
};

struct engine_config {
    uint64_t serial; /* another one for each that is published; snapshot.c gives it */
    size_t zone_count;
    struct engine_zone zones[ENGINE_ZONES_MAX]; /* a domain before those that it is within */
    size_t reverse_zone_count;
    struct network reverse_zones[ENGINE_REVERSE_ZONES_MAX]; /* ours alone: never forwarded */

    struct dname local;    /* what local.dns.<domain> stands for; len 0: nothing */
    uint32_t ttl_s;        /* of records that say none, and of the SOA: 3600 */
    uint32_t min_ttl_s;    /* SOA minimum and TTL of negative answers: 60 */
    uint16_t priority;     /* of records that say none: 10 */
    uint16_t max_udp_size; /* reply cap whatever the client offers: 1232 */
    enum engine_schema schema;
    enum engine_pods pods;
    bool round_robin;     /* shuffle addresses */
    bool no_rec;          /* clients' foreign names: SERVFAIL instead of forwarding */
    bool no_chaos;        /* class CHAOS is refused */
    bool any_is_hinfo;    /* ANY: HINFO (RFC 8482) instead of REFUSED */
    bool has_nameservers; /* there is somewhere to forward to */
    unsigned ndots;       /* fewer labels than this are not forwarded: 2 */
};

/* Adds a domain in lower case. `hostmaster` NULL: hostmaster.<domain>. One that is there already
 * changes nothing; false when there is no room. */
bool engine_config_add_domain(struct engine_config *config, const struct dname *domain,
                              const struct dname *hostmaster) MUST_CHECK;

/* The domain that a lower-cased name is in, the longest one of several; or NULL. Any thread. */
static inline const struct engine_zone *engine_config_zone(const struct engine_config *config,
                                                           const struct dname *name)
{
    for (size_t i = 0; i < config->zone_count; i++) {
        if (dname_is_within(name, &config->zones[i].domain)) {
            return &config->zones[i];
        }
    }
    return NULL;
}

#endif
