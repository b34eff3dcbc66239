/* Reduces an upstream's response about an external target to its outcome and the records that
 * matter. The name is the target of a CNAME, SRV or MX record.
 *
 * The resolver calls it on its thread as each response arrives, once for all queries that wait for
 * it. Pure. Its cost is bounded by the table's records: each is looked at twice, whatever the
 * response says. */
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
    /* Without a response cache: an hour, the default TTL of our own records, so that an upstream's
     * mistake lasts no longer. With one it is -rcache-ttl. */
    EXTERNAL_TTL_MAX_S = 3600,
    /* Bounds the records of one response, and those of all questions of one query. The largest
     * response, 2,340 IPv6 addresses of 22 bytes behind 16 CNAMEs, takes 56 KB. More from several
     * responses would not fit the answer, which is one message. */
    EXTERNAL_PACKED_MAX = 64 * 1024,
    /* Bounds the latter for a UDP client: thrice the largest datagram, 4,096 bytes, since CNAMEs
     * are not compressed. */
    EXTERNAL_PACKED_UDP_MAX = 12 * 1024,
};

/* Follows the response's CNAMEs from the question's name, and appends them and the addresses at the
 * end to `packed`. Records after the answer section may be malformed. No TTL is longer than
 * `ttl_max_s`.
 *
 * NXDOMAIN is a denial, like a response without addresses. It fails, and appends nothing, on
 * another rcode, a malformed response, one to another question, or a chain that loops or exceeds
 * EXTERNAL_CNAMES_MAX. TRUNCATED: the response says so, or `packed` is full. */
enum external_outcome external_read(const struct external_question *question,
                                    const struct parsed_response *response, uint32_t ttl_max_s,
                                    struct buf *packed);

/* Finds the name at the end of the CNAMEs that begin at the question's, in lower case. Returns
 * false when there is none, or no sane chain. */
bool external_chain_end(const struct parsed_response *response, struct dname *ret_end) MUST_CHECK;

/* The forms of one response to one question that the queries waiting for it share. Each is made
 * when the first needs it. All zero: none yet. */
struct reply_forms {
    bool has_end, leads_home; /* fetcher_leads_home's result */
    bool has_external;        /* external_read's result, with this ttl_max_s */
    uint32_t ttl_max_s;
    enum external_outcome outcome;
    bool is_nxdomain; /* external_answer's, like the next */
    uint32_t denial_ttl_s;
    struct buf packed;
    struct cache_image image; /* its cached form */
};

void reply_forms_fini(struct reply_forms *forms); /* zeroes them */

/* Returns how much memory the forms take. */
size_t reply_forms_bytes(const struct reply_forms *forms);

/* Calls external_read: sets all from `outcome` to `packed`, which hold until the next call. */
void reply_forms_external(struct reply_forms *forms, const struct external_question *question,
                          const struct parsed_response *response, uint32_t ttl_max_s);

#endif
