/* Reduces a nameserver's reply about a name outside the domain to its outcome and the records that
 * matter. The name is the target of a CNAME, SRV or MX record. Called by the resolver on its thread
 * as each reply arrives, once however many wait for it. Pure.
 *
 * Its cost is bounded by the table's records: each is looked at twice, whatever it says. */
#ifndef SKYDNS_UPSTREAM_EXTERNAL_H
#define SKYDNS_UPSTREAM_EXTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/attributes.h"
#include "common/base/buf.h"
#include "skydns/external/cache_image.h"
#include "skydns/wire/external_answer.h"
#include "skydns/wire/response_parse.h"

enum {
    /* Resolvers give up after 11 (unbound) to 17 (BIND). */
    EXTERNAL_CNAMES_MAX = 16,
    /* Without a cache: an hour, the TTL of our own records by default: a mistake of a nameserver
     * lasts no longer. With one, -rcache-ttl. */
    EXTERNAL_TTL_MAX_S = 3600,
    /* For the records of one reply, and for those of all questions of one query. The largest reply,
     * 2,340 IPv6 addresses of 22 bytes behind 16 CNAMEs, takes 56 KB; what several replies have
     * beyond this would not fit the answer, which is one message. */
    EXTERNAL_PACKED_MAX = 64 * 1024,
    /* The latter for a UDP client: thrice the largest datagram, 4,096 bytes, since CNAMEs are not
     * compressed. */
    EXTERNAL_PACKED_UDP_MAX = 12 * 1024,
};

/* Follows the reply's CNAMEs from the question's name and appends them and the addresses at the end
 * to `packed`. NXDOMAIN is a denial, like a reply without addresses. An rcode other than these two,
 * a malformed reply, one to another question, or a chain that is a loop or longer than
 * EXTERNAL_CNAMES_MAX is a failure and appends nothing; sections behind the answer may be
 * malformed. TRUNCATED: the reply says so, or `packed` is full. No TTL is longer than
 * `ttl_max_s`. */
enum external_outcome external_read(const struct external_question *question,
                                    const struct parsed_response *response, uint32_t ttl_max_s,
                                    struct buf *packed);

/* The name at the end of the CNAMEs that lead on from the question's, in lower case. False: there
 * is none, or no sane chain. */
bool external_chain_end(const struct parsed_response *response, struct dname *ret_end) MUST_CHECK;

/* What those who wait for one response make of it, made when the first needs it. All zero: nothing
 * yet. Of one response to one question. */
struct reply_forms {
    bool has_end, leads_home; /* fetcher_leads_home's result */
    bool has_external;        /* external_read's result, with this ttl_max_s */
    uint32_t ttl_max_s;
    enum external_outcome outcome;
    bool is_nxdomain; /* external_answer's, like the next */
    uint32_t denial_ttl_s;
    struct buf packed;
    struct cache_image image; /* what is kept of it */
};

void reply_forms_fini(struct reply_forms *forms); /* they are all zero again */

size_t reply_forms_bytes(const struct reply_forms *forms);

/* As external_read: sets all from `outcome` to `packed`, which hold until the next call. */
void reply_forms_external(struct reply_forms *forms, const struct external_question *question,
                          const struct parsed_response *response, uint32_t ttl_max_s);

#endif
