/* Explains what this server knows about an external name: which upstreams answer for it, and what
 * is cached, since when, from whom and until when. For /explain: reads the tables and the response
 * cache that the answering threads read, and changes and counts nothing. Main thread. */
#ifndef SKYDNS_PAGES_EXPLAIN_EXTERNAL_H
#define SKYDNS_PAGES_EXPLAIN_EXTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "skydns/external/cache.h"
#include "skydns/external/zone_table.h"
#include "skydns/publish/engine_config.h"
#include "skydns/upstream/fetcher.h"
#include "skydns/upstream/upstreams.h"
#include "skydns/wire/external_answer.h"

struct resolver;

/* Source of the answer to a query that came now. */
enum explain_source {
    EXPLAIN_FROM_HERE, /* our own records, or a refusal */
    EXPLAIN_FROM_HOSTS,
    EXPLAIN_FROM_CACHE,
    EXPLAIN_FROM_STUB,       /* an upstream of a stub zone */
    EXPLAIN_FROM_NAMESERVER, /* one of the general upstreams */
};

struct explain_external {
    struct external_question question; /* in lower case */
    enum explain_source source;
    const struct forward_zone *zone; /* whose upstreams are responsible; NULL: not known, hosts */
    struct cache_hit cached;         /* for a client without DO and CD */
    uint32_t ttl_s;                  /* the answer's, from hosts files or the response cache */
    struct upstream_states states;   /* of the zone's upstreams */
    bool is_listed;                  /* a hosts file has the name, for A and AAAA */
    bool has_override;               /* -alias or -overrides has the name, for other types */
    bool has_uncached;               /* nothing is cached: the last response could not be */
    struct fetcher_uncached uncached;
};

/* Finds the upstream that gave the answer, or would be asked first, if they do not take turns.
 * False: none. */
bool explain_external_nameserver(const struct explain_external *x, struct nameserver *ret);

/* Returns the zone's upstream with this address, which is all that is known of a response's sender.
 * Returns one in the clear if the zone has none. */
struct nameserver explain_external_sender(const struct explain_external *x,
                                          const struct addr *address);

/* Explains a name that the upstreams of `zone` know; NULL: the configuration has no table of zones.
 * `message` gets header, question and any cached records: they begin at the returned position.
 * NULL: nothing is looked up of what is known now. */
size_t explain_external(const struct engine_config *config,
                        const struct external_question *question, const struct forward_zone *zone,
                        int64_t now_ms, uint8_t *message, struct explain_external *ret);

/* Adds what the resolver's thread knows: `states` and `has_uncached`. NULL: nothing. */
void explain_external_servers(const struct resolver *resolver, struct explain_external *x);

#endif
