/* Changes upstreams' answers about IPv6 by settings: zones without AAAA (-no-aaaa), and DNS64
 * (RFC 6147), whose addresses lead to a NAT64 (RFC 6052). Says what an answer is worth and maps
 * addresses; follow.c and answer_external.c ask, and the resolver, which asks upstreams for the
 * IPv4 addresses. The cache keeps what upstreams said. Names are external and lower-cased. Pure;
 * any thread. */
#ifndef SKYDNS_ANSWER_EXTERNAL_SYNTHESIS_H
#define SKYDNS_ANSWER_EXTERNAL_SYNTHESIS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/dns/dns.h"
#include "skydns/external/zone_table.h"
#include "skydns/publish/engine_config.h"
#include "skydns/wire/external_answer.h"
#include "skydns/wire/question.h"

/* Seconds that denials of -no-aaaa may be kept; and the most for a made address, if upstream does
 * not say how long its denial holds (RFC 6147 5.1.7). */
enum { SYNTHESIS_DENIAL_TTL_S = 300, SYNTHESIS_TTL_MAX_S = 600 };

bool synthesis_is_in_zones(const struct dname *zones, size_t count, const struct dname *name);

/* Whether -no-aaaa answers for the name's AAAA. */
static inline bool synthesis_denies_aaaa(const struct engine_config *config,
                                         const struct dname *name)
{
    const struct engine_settings *settings = &config->settings;
    return settings->no_aaaa_count > 0 &&
           synthesis_is_in_zones(settings->no_aaaa, settings->no_aaaa_count, name);
}

/* Whether DNS64 may change answers to the question. Not if its client validates by itself: with DO
 * and CD (RFC 6147 5.5). */
static inline bool synthesis_may_map(const struct engine_config *config,
                                     const struct question *question)
{
    return config->settings.dns64.is_on && !(question->dnssec_ok && question->checking_disabled);
}

/* Says how much of an answer about AAAA can be used. */
enum synthesis_worth {
    SYNTHESIS_WHOLE, /* all of it, or it says that nobody has to look for IPv4 addresses */
    SYNTHESIS_PART,  /* but for some addresses, which are excluded */
    SYNTHESIS_NONE,  /* it has none, or is a failure: made addresses take its place */
};
enum synthesis_worth synthesis_worth_of(const struct engine_config *config,
                                        const struct external_answer *aaaa);

bool synthesis_excludes(const struct dns64_settings *dns64, struct slice ipv6);

/* The IPv6 address of an IPv4 one. False: there is none, of a non-global one in 64:ff9b::/96 (RFC
 * 6052 3.1), but for those by which clients find the prefix (RFC 7050). */
bool synthesis_map(const struct dns64_settings *dns64, struct slice ipv4,
                   uint8_t ret_ipv6[16]) MUST_CHECK;

/* Whether one of the answer's addresses can be mapped. */
bool synthesis_maps_any(const struct dns64_settings *dns64, const struct external_answer *a);

/* The reverse name of the IPv4 address that a reverse name's IPv6 address was made of. `zone`:
 * whose nameservers would be asked about the name, or NULL: a stub zone in the prefix has its own
 * names. False: it was not made here. */
bool synthesis_reverse(const struct engine_config *config, const struct dname *name,
                       const struct forward_zone *zone, struct dname *ret_name) MUST_CHECK;

#endif
