/* Changes upstreams' answers about IPv6 by settings: zones without AAAA (-no-aaaa), and DNS64
 * (RFC 6147), whose addresses lead to a NAT64 (RFC 6052). Says which part of an AAAA answer counts,
 * and maps IPv4 addresses. Called by follow.c, answer_external.c and the resolver, which queries
 * upstreams for the IPv4 addresses. The response cache holds upstreams' answers unchanged. Names
 * are external and lower-cased. Pure; any thread. */
#ifndef SKYDNS_ANSWER_EXTERNAL_SYNTHESIS_H
#define SKYDNS_ANSWER_EXTERNAL_SYNTHESIS_H

#include <stdbool.h>
#include <stdint.h>

#include "skydns/external/zone_table.h"
#include "skydns/publish/engine_config.h"
#include "skydns/wire/external_answer.h"
#include "skydns/wire/question.h"

/* Seconds that clients may cache a denial of -no-aaaa; and, at most, a synthesized address, if the
 * upstream's denial of AAAA has no TTL (RFC 6147 5.1.7). */
enum { SYNTHESIS_DENIAL_TTL_S = 300, SYNTHESIS_TTL_MAX_S = 600 };

/* Returns whether -no-aaaa answers for the name's AAAA. */
static inline bool synthesis_denies_aaaa(const struct engine_config *config,
                                         const struct dname *name)
{
    const struct engine_settings *settings = &config->settings;
    return settings->no_aaaa_count > 0 &&
           dname_is_within_any(name, settings->no_aaaa, settings->no_aaaa_count);
}

/* Returns whether DNS64 may change answers to the question. It may not if the client validates by
 * itself, which DO and CD say (RFC 6147 5.5). */
static inline bool synthesis_may_map(const struct engine_config *config,
                                     const struct question *question)
{
    return config->settings.dns64.is_on && !(question->dnssec_ok && question->checking_disabled);
}

/* Says how much of an answer about AAAA can be used. */
enum synthesis_worth {
    SYNTHESIS_WHOLE, /* all of it; also NXDOMAIN, truncated, not asked, or leads to a name of ours
                      */
    SYNTHESIS_PART,  /* all but the addresses that are excluded */
    SYNTHESIS_NONE,  /* no address of it, or it is a failure: synthesize from IPv4 */
};
enum synthesis_worth synthesis_worth_of(const struct engine_config *config,
                                        const struct external_answer *aaaa);

bool synthesis_excludes(const struct dns64_settings *dns64, struct slice ipv6);

/* Maps an IPv4 address to an IPv6 one. Returns false for a non-global address under 64:ff9b::/96:
 * RFC 6052 3.1 forbids that. Clients find the prefix by ipv4only.arpa (RFC 7050), whose addresses
 * are mapped. */
bool synthesis_map(const struct dns64_settings *dns64, struct slice ipv4,
                   uint8_t ret_ipv6[16]) MUST_CHECK;

/* Returns whether one of the answer's addresses can be mapped. */
bool synthesis_maps_any(const struct dns64_settings *dns64, const struct external_answer *a);

/* Turns the reverse name of a synthesized IPv6 address into that of its IPv4 address. `zone`: its
 * upstreams are responsible for the name, or NULL. Returns false for an address not synthesized
 * here, and in a stub zone inside the prefix, which has its own names. */
bool synthesis_reverse(const struct engine_config *config, const struct dname *name,
                       const struct forward_zone *zone, struct dname *ret_name) MUST_CHECK;

#endif
