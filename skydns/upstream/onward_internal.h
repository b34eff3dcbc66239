/* Decides which records of an upstream's response are believed, and follows its CNAMEs out of a
 * stub zone.
 *
 *     response --onward_drop_...--> records its server can know --onward_find--> no further, or
 *         onward_chain_write --> the CNAMEs --(the target's own upstreams)--> onward_join
 *
 * Upstreams are never believed about names of ours. A stub zone's upstreams are asked about their
 * zone alone, and believed about that alone. A CNAME that leaves the zone is followed at the
 * upstreams of its target, as a CNAME of ours is. The general upstreams are believed about all
 * other names, those in stub zones too: they resolve whole chains. Their records are cached under
 * the question's name, never under another one.
 *
 * Pure; on the resolver's thread for the fetcher and the forwarder. */
#ifndef SKYDNS_UPSTREAM_ONWARD_INTERNAL_H
#define SKYDNS_UPSTREAM_ONWARD_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/slice.h"
#include "common/dns/dname.h"
#include "common/dns/dns.h"
#include "skydns/external/zone_table.h"
#include "skydns/upstream/upstream_message.h"
#include "skydns/wire/response_parse.h"

struct engine_config;

/* Bounds the CNAMEs that lead on, with signatures and proofs: 16 of the longest names without any,
 * or five with signatures. */
enum { ONWARD_CHAIN_MAX = 8 * 1024 };

/* Returns whether the question asks for the CNAME itself, which is then not followed. */
static inline bool onward_is_cname_asked(uint16_t type)
{
    return type == DNS_TYPE_CNAME || type == DNS_TYPE_ANY;
}

/* `name` is in lower case. */
bool onward_is_ours(const struct engine_config *config, const struct dname *name);

/* Drops records of names of ours from a sound response. */
void onward_drop_ours(const struct engine_config *config, struct parsed_response *response);

/* Drops records of names outside from a stub zone's response: its upstreams cannot know them. An
 * SOA of a zone around it stays, as its upstreams may have that one. Proofs stay, too; they prove
 * nothing without their signatures. */
void onward_drop_outside(const struct dname *zone, struct parsed_response *response);

enum onward_way {
    ONWARD_ENDS,  /* the response is complete */
    ONWARD_ALONE, /* no upstream is asked about the target: the CNAMEs are all, without an rcode */
    ONWARD_NOWHERE,  /* the target's stub zone has no usable upstreams */
    ONWARD_HOSTS,    /* a hosts file has the target's addresses */
    ONWARD_UPSTREAM, /* the target's zone has upstreams */
    ONWARD_INSTEAD,  /* the zone denies: the general upstreams are asked the same */
};

/* The question that goes on. */
struct onward {
    struct upstream_question question;
    const struct forward_zone *zone; /* borrowed from the configuration; hosts: NULL */
};

/* Finds the way of a response to the question from the upstreams of a stub zone, after both drops.
 * *ret is set with HOSTS, UPSTREAM and INSTEAD. */
enum onward_way onward_find(const struct engine_config *config, const struct dname *zone,
                            const struct upstream_question *question,
                            const struct parsed_response *response, struct onward *ret);

/* Writes the response of a hosts file that has the question's name. Returns its length. */
size_t onward_hosts_write(const struct engine_config *config,
                          const struct upstream_question *question, uint8_t out[DNS_MESSAGE_MAX]);

/* Writes a response with the question and the CNAMEs of this one. Returns its length; 0: it takes
 * too much. */
size_t onward_chain_write(const struct upstream_question *question,
                          const struct parsed_response *response, uint8_t out[ONWARD_CHAIN_MAX]);

/* Writes the response to the first question: those CNAMEs, and the response about their target.
 * Returns its length; 0: it takes too much. */
size_t onward_join(struct slice chain, const struct parsed_response *target,
                   uint8_t out[DNS_MESSAGE_MAX]);

#endif
