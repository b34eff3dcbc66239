/* Holds the configuration that answers depend on, besides the records: the domains, defaults and
 * rules of one server. The main thread builds it from the flags and the document in etcd
 * (live_config.h), and publishes it to the answering threads like a store version (publisher.h). It
 * never changes afterwards. */
#ifndef SKYDNS_PUBLISH_ENGINE_CONFIG_H
#define SKYDNS_PUBLISH_ENGINE_CONFIG_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/addr.h"
#include "common/base/attributes.h"
#include "common/dns/dname.h"
#include "common/dns/dns.h"
#include "skydns/external/cache.h"
#include "skydns/publish/cookie_secrets.h"

struct cache_tally;
struct client_index;
struct dnssec;
struct forward_zone;
struct hosts_table;
struct tsig_keys;
struct topology;
struct visibility;
struct zone_serial;
struct zone_table;

/* ---- Clients that may transfer our zones: -transfer-to, or the document's transfer_to ---- */

enum { TRANSFER_ACCESS_MAX = 64 }; /* a zone has a dozen secondaries; each is compared in turn */

/* A client that may transfer. Both must match, if it has both. */
struct transfer_who {
    bool has_network, has_key;
    struct network network;
    struct dname key;   /* TSIG; lower case */
    struct addr notify; /* gets NOTIFY: a single address, with its port; AF_UNSPEC: none. The client
                         * must have its scope, too, if it has one */
};

/* Returns whether the client matches one of them. `key` is that of the query's good TSIG record, in
 * lower case; NULL: none. */
bool transfer_access_allows(const struct transfer_who *who, size_t count, const struct addr *client,
                            const struct dname *key);

/* ---- Aliases: -alias, or the document's aliases ---- */

enum { ENGINE_ALIASES_MAX = 64 }; /* each external name is compared with each of them */

/* An external name that answers as another one. */
struct engine_alias {
    struct dname from; /* lower case; without `*.` */
    struct dname to;
    bool is_below;     /* all names below, not itself */
    bool keeps_labels; /* what is before `from` comes before `to` */
};

/* ---- The configuration ---- */

enum {
    ENGINE_EXTERNAL_ZONES_MAX = 4, /* a cluster has one for its load balancers */
    ENGINE_ZONES_MAX = 16,         /* domains: a cluster has one, or two during a rename */
    ENGINE_REVERSE_ZONES_MAX = 32, /* networks: services, pods and nodes, IPv4 and IPv6 */
    ENGINE_ALLOWED_MAX = 256,      /* networks: as recursion.h */
    ENGINE_ADMITTED_MAX = 256,     /* networks of -allow: likewise */
    ENGINE_SEARCH_MAX = 16,        /* names of -search: glibc's limit was 6 for long */
    ENGINE_NO_AAAA_MAX = 64,       /* zones of -no-aaaa: each is looked at in turn */
    ENGINE_EXCLUDED_MAX = 16,      /* networks of -dns64-exclude: likewise, for each address */
    ENGINE_NSID_MAX = 128,         /* bytes of -nsid: any response of 512 has room for them */
    ENGINE_RATE_MAX = 1000000,     /* of -rate and -rate-namespace, all figures: more than a
                                    * socket takes */
};

/* Chooses how a name's records are found; same names and order as the flag's choices. */
enum engine_schema {
    ENGINE_SCHEMA_SKYDNS,     /* records at and below the name; `*` and `any` match any label */
    ENGINE_SCHEMA_KUBERNETES, /* Kubernetes DNS-Based Service Discovery 1.1.0 (answer_kube.c) */
};

#define ENGINE_SCHEMA_CHOICES "skydns|kubernetes"

/* Decides whether a-b-c-d.<namespace>.pod.<domain> exists. */
enum engine_pods {
    ENGINE_PODS_VERIFIED, /* etcd */
    ENGINE_PODS_INSECURE, /* the name itself: any address it spells exists */
    ENGINE_PODS_DISABLED, /* nothing: always NXDOMAIN */
};

#define ENGINE_PODS_CHOICES "verified|insecure|disabled"

/* `ttl_s` if nobody sets it; overrides, which come from elsewhere, have theirs then. */
enum { ENGINE_TTL_DEFAULT_S = 3600, ENGINE_OVERRIDE_TTL_S = 30 };

/* A domain, or an external zone, and the special names below it. A name that would be too long is
 * empty (len 0). Too long ns and hostmaster are the domain itself. */
struct engine_zone {
    struct dname domain; /* lower case, like all names here */
    unsigned labels;     /* of the domain */
    struct dname hostmaster;
    struct dname ns;      /* ns.dns.<domain>: above the name servers' keys; the SOA's MNAME */
    struct dname local;   /* local.dns.<domain> */
    struct dname version; /* dns-version.<domain> */
    struct dname pods;    /* pod.<domain> */
    struct dname apex;    /* apex.dns.<domain>: with -schema=kubernetes, what is at and below is
                           * the domain's own; empty for the first domain */
    struct dname shown;   /* public.dns.<zone>: a record there shows all of an external zone; empty
                           * for domains */
    bool is_external;     /* of -external-zones: names are <service>.<namespace>, as below svc */
    bool is_incomplete;   /* etcd is known to lack records: SERVFAIL instead of a denial */
    struct zone_serial *serial; /* of its SOA; borrowed; NULL: the start of the hour */
};

/* DNS64, RFC 6147 (external_synthesis.h). */
struct dns64_settings {
    bool is_on;
    struct network prefix; /* of a length of RFC 6052 2.2 */
    size_t excluded_count; /* networks whose IPv6 addresses count as absent */
    struct network excluded[ENGINE_EXCLUDED_MAX]; /* IPv6, also those of mapped IPv4 addresses */
};

/* The settings that answers depend on, as one block of plain data. struct options (options.h) has
 * it as parsed, and each configuration a copy. */
struct engine_settings {
    size_t reverse_zone_count;
    struct network reverse_zones[ENGINE_REVERSE_ZONES_MAX]; /* ours alone: never forwarded */

    struct dname local;    /* lower case; the target of local.dns.<domain>; len 0: none */
    uint32_t ttl_s;        /* of records without one, and of the SOA: 3600 */
    uint32_t min_ttl_s;    /* SOA minimum and TTL of negative answers: 60, or 5 */
    uint16_t priority;     /* of records without one: 10 */
    uint16_t max_udp_size; /* limit of a response, whatever the client offers: 1232 */
    enum engine_schema schema;
    enum engine_pods pods;
    bool round_robin;  /* shuffle addresses */
    bool no_rec;       /* clients' external names: SERVFAIL instead of forwarding */
    bool chaos;        /* class CHAOS is answered, else refused */
    bool overrides;    /* records with external names answer for them */
    bool any_is_hinfo; /* ANY: HINFO (RFC 8482) instead of REFUSED */
    unsigned ndots;    /* names with fewer labels are not forwarded: 2 */

    /* AAAA of external names: zones without any, lower case, the root for all; and DNS64. */
    size_t no_aaaa_count;
    struct dname no_aaaa[ENGINE_NO_AAAA_MAX];
    struct dns64_settings dns64;

    /* The clients that may send queries at all. */
    bool is_restricted; /* only the admitted; the others are refused */
    size_t admitted_count;
    struct network admitted[ENGINE_ADMITTED_MAX];

    /* UDP queries a second of one client, and how many at once (rate_limit.h); 0: no limit. */
    uint32_t rate, rate_burst;

    /* The same of all clients of a namespace together, over all transports (namespace_rate.h). */
    uint32_t rate_namespace, rate_namespace_burst;

    /* The clients that may transfer domains and reverse zones: none without -transfer-to. */
    size_t transfer_count;
    struct transfer_who transfers[TRANSFER_ACCESS_MAX];

    uint8_t nsid_len; /* of -nsid; 0: nobody gets one */
    char nsid[ENGINE_NSID_MAX];

    size_t alias_count;
    struct engine_alias aliases[ENGINE_ALIASES_MAX];

    bool autopath;       /* search lists are tried for clients with a namespace */
    size_t search_count; /* after the domain's own, before the bare name */
    struct dname search[ENGINE_SEARCH_MAX]; /* lower case, each once */
};

struct engine_config {
    uint64_t serial;           /* unique to each published one; set by publisher.c */
    struct dname first_domain; /* of -domain: its writer fills reverse and external zones, too */
    size_t zone_count;
    struct engine_zone zones[ENGINE_ZONES_MAX]; /* a domain before those that contain it; external
                                                 * zones last, which contain none */
    struct engine_settings settings;
    struct zone_serial *reverse_serials[ENGINE_REVERSE_ZONES_MAX]; /* as engine_zone.serial */

    bool is_for_transfers; /* answers make a zone: TTLs do not count down with leases */
    bool has_nameservers;  /* there is an upstream; only without zones_of_others */

    /* External names. References of this configuration's own, except the tally. */
    struct zone_table *zones_of_others; /* NULL: has_nameservers tells of an upstream */
    struct hosts_table *hosts;          /* NULL: none */
    struct cache *cache;                /* NULL: no response is cached */
    struct cache_limits cache_limits;
    struct cache_tally *cache_tally; /* borrowed; NULL: nothing sums the counts */
    /* Clients whose questions about external names may be answered from the response cache, or
     * forwarded, as known at publication. The resolver decides about the others (recursion.h). */
    bool allows_all;
    size_t allowed_count;
    struct network allowed[ENGINE_ALLOWED_MAX];

    struct cookie_secrets cookies; /* of server cookies; none: clients' cookies are ignored */

    struct dnssec *dnssec;  /* a reference; NULL: no answer is signed */
    struct tsig_keys *tsig; /* a reference; NULL: queries' TSIG records are ignored */

    /* Clients known by their pods. */
    const struct client_index *clients; /* borrowed; NULL: no client's namespace is looked up */
    struct visibility *visibility;      /* a reference; NULL: every client sees everything */
    const struct topology *topology;    /* borrowed; NULL: answers have all addresses */
};

/* Frees a configuration, with its references; NULL is fine. */
void engine_config_free(struct engine_config *config);

/* Adds a domain, given in lower case. `hostmaster` NULL: hostmaster.<domain>. Adding a domain again
 * changes nothing. Returns false when there is no room. */
bool engine_config_add_domain(struct engine_config *config, const struct dname *domain,
                              const struct dname *hostmaster) MUST_CHECK;

/* Does the same for an external zone, which is in no domain and contains none; after all domains.
 */
bool engine_config_add_external(struct engine_config *config, const struct dname *zone,
                                const struct dname *hostmaster) MUST_CHECK;

/* Returns the longest domain that contains a lower-cased name, or NULL. Any thread. */
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

/* Returns the alias of a lower-cased external name, the one with the longest `from`. NULL: none.
 * Any thread. */
const struct engine_alias *engine_config_alias(const struct engine_config *config,
                                               const struct dname *name);

/* Writes the name that an alias stands for. Returns false if it would be too long. */
bool engine_config_alias_target(const struct engine_alias *alias, const struct dname *name,
                                struct dname *ret_target) MUST_CHECK;

/* Returns whether some domain's names are not all known. Then reverse names are not, either: they
 * come with those of any domain. */
static inline bool engine_config_lacks_names(const struct engine_config *config)
{
    bool is_lacking = false;
    for (size_t i = 0; i < config->zone_count; i++) {
        is_lacking = is_lacking || config->zones[i].is_incomplete;
    }
    return is_lacking;
}

/* Returns the stub zone that has the records of this type of a lower-cased name
 * (zone_table_find_for), or NULL: they are ours, or the general upstreams'. The longest zone
 * counts, so that a stub zone may lie below a domain, and a domain below a stub zone. DNS_TYPE_SOA
 * finds the zone that the name is in. `domain` is engine_config_zone's, or NULL. Any thread;
 * borrowed. */
const struct forward_zone *engine_config_stub(const struct engine_config *config,
                                              const struct dname *name, uint16_t type,
                                              const struct engine_zone *domain);

/* Returns the domain of ours that has a lower-cased name's records, unless a stub zone below it has
 * them. NULL: upstreams have them. Any thread. */
static inline const struct engine_zone *engine_config_own_zone(const struct engine_config *config,
                                                               const struct dname *name)
{
    const struct engine_zone *zone = engine_config_zone(config, name);
    return zone && !engine_config_stub(config, name, DNS_TYPE_A, zone) ? zone : NULL;
}

/* Returns whether -ndots keeps a question about a name with so many labels from being forwarded. It
 * never keeps one about a stub zone's name, nor one that resolvers and validators ask about the
 * root and top-level domains. Any thread. */
static inline bool engine_config_is_too_short(const struct engine_config *config, size_t labels,
                                              uint16_t type, bool is_stub)
{
    const bool is_of_zone = type == DNS_TYPE_DS || type == DNS_TYPE_DNSKEY || type == DNS_TYPE_NS ||
                            type == DNS_TYPE_SOA;
    return labels < config->settings.ndots && !is_stub && !(is_of_zone && labels <= 1);
}

/* Returns the same for any lower-cased name; false for names of ours and of stub zones. Any thread.
 */
bool engine_config_keeps_short_name(const struct engine_config *config, const struct dname *name,
                                    uint16_t type);

/* Returns whether a stub zone lies below the lower-cased name, which exists therefore. */
bool engine_config_is_above_stub(const struct engine_config *config, const struct dname *name);

/* ---- The serials of zones, which outlive configurations ---- */

/* Holds the serials that SOA records show while zones can be transferred. The transfers' thread
 * sets one once a transfer gives the content it stands for; any thread reads it.
 *
 * Until then, a question for the SOA is SERVFAIL, and negative answers show the hour at which the
 * entry was made: no secondary takes a serial from those. The table belongs to the main thread. An
 * entry stays at its address until the table is freed, after the threads. */
struct zone_serials;

/* Serials count from here without a base of kube2sky's (keys.md): after the hours that SOA records
 * have had so far, and before any base. */
#define ZONE_SERIAL_LOWEST UINT32_C(2000000000)

/* Bounds the zones of one life of the process; domains change by hand. Further ones show the hour.
 */
enum { ZONE_SERIALS_MAX = 512 };

struct zone_serial {
    struct dname apex;
    _Atomic uint32_t value;
    _Atomic bool is_known; /* it was set */
    uint32_t plain;        /* the serial without turns (serial.h); the transfers' thread's */
};

/* Makes an empty table. */
struct zone_serials *zone_serials_new(void);
void zone_serials_free(struct zone_serials *serials); /* NULL is fine */

/* Returns the zone's serial, not known when new; NULL: there are too many. Main thread. */
struct zone_serial *zone_serials_of(struct zone_serials *serials, const struct dname *apex);

static inline uint32_t zone_serial_get(const struct zone_serial *serial)
{
    return atomic_load_explicit(&serial->value, memory_order_relaxed);
}

static inline void zone_serial_set(struct zone_serial *serial, uint32_t value)
{
    atomic_store_explicit(&serial->value, value, memory_order_relaxed);
    atomic_store_explicit(&serial->is_known, true, memory_order_release);
}

static inline bool zone_serial_is_known(const struct zone_serial *serial)
{
    return atomic_load_explicit(&serial->is_known, memory_order_acquire);
}

#endif
