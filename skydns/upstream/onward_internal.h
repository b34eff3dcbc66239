/* Finds what of a nameserver's response may be believed, and where its CNAMEs lead from there.
 *
 *     response --onward_drop_...--> what its server can know --onward_find--> no further, or
 *         onward_chain_write --> the CNAMEs --(the target's own nameservers)--> onward_join
 *
 * What nameservers say of names of ours is never believed. A stub zone's nameservers are asked for
 * their zone alone, and believed about that alone: a CNAME that leaves the zone is followed at the
 * nameservers of its target, as a CNAME of ours is. The general nameservers are believed about all
 * other names, those in stub zones too: they resolve chains for everybody, and what they say is
 * kept under the name that was asked, never under another one.
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

/* The CNAMEs that lead on, with signatures and proofs: 16 of the longest names without any, or five
 * that are signed. */
enum { ONWARD_CHAIN_MAX = 8 * 1024 };

/* Whether the CNAME is what is asked for, and is not followed. */
static inline bool onward_is_cname_asked(uint16_t type)
{
    return type == DNS_TYPE_CNAME || type == DNS_TYPE_ANY;
}

/* `name` in lower case. */
bool onward_is_ours(const struct engine_config *config, const struct dname *name);

/* Takes records of names of ours out of a sound response. */
void onward_drop_ours(const struct engine_config *config, struct parsed_response *response);

/* Takes out of a stub zone's response what its nameservers cannot know: records of names outside.
 * An SOA of a zone around it stays, as its nameservers may have that one, and so do proofs, which
 * are good for nothing without their signatures. */
void onward_drop_outside(const struct dname *zone, struct parsed_response *response);

enum onward_way {
    ONWARD_ENDS,     /* it says all there is to say */
    ONWARD_ALONE,    /* nobody is asked for the target: the CNAMEs are all, without an rcode */
    ONWARD_NOWHERE,  /* the target's stub zone has no usable nameservers */
    ONWARD_HOSTS,    /* a hosts file has the target's addresses */
    ONWARD_UPSTREAM, /* the target's zone has nameservers */
};

/* Where a question goes on. */
struct onward {
    struct upstream_question question;
    const struct forward_zone *zone; /* borrowed from the configuration; hosts: NULL */
};

/* Of a response to the question, from the nameservers of a stub zone, after both. *ret is set with
 * HOSTS and UPSTREAM. */
enum onward_way onward_find(const struct engine_config *config, const struct dname *zone,
                            const struct upstream_question *question,
                            const struct parsed_response *response, struct onward *ret);

/* The response of a hosts file that has the question's name. Returns its length. */
size_t onward_hosts_write(const struct engine_config *config,
                          const struct upstream_question *question, uint8_t out[DNS_MESSAGE_MAX]);

/* A response with the question and the CNAMEs of this one. 0: they take too much. */
size_t onward_chain_write(const struct upstream_question *question,
                          const struct parsed_response *response, uint8_t out[ONWARD_CHAIN_MAX]);

/* The response to the first question: those CNAMEs, and what was said of their target. 0: it takes
 * too much. */
size_t onward_join(struct slice chain, const struct parsed_response *target,
                   uint8_t out[DNS_MESSAGE_MAX]);

#endif
