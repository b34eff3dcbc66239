/* Cookies in messages: taken out of a query before anything else looks at it, so that a client with
 * a cookie gets the fast path's answers and the same bytes as one without; and put into the OPT
 * record of the reply, whatever the reply is. Pure. */
#ifndef SKYDNS_ENGINE_COOKIE_ENVELOPE_INTERNAL_H
#define SKYDNS_ENGINE_COOKIE_ENVELOPE_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/slice.h"
#include "common/dns/dns.h"
#include "skydns/engine/cookie.h"
#include "skydns/wire/edns.h"
#include "skydns/wire/question.h"

/* Of a query without its cookie: as it came, or, if it was longer, what question_write leaves. */
enum { COOKIE_QUERY_MAX = 512 };
_Static_assert((int)COOKIE_QUERY_MAX >= (int)QUESTION_WIRE_MAX, "any question fits");

struct cookie_envelope {
    struct slice query;   /* without the cookie: in `bytes`, or as it came */
    bool has_question;    /* false: it asks for a cookie alone, RFC 7873 5.4 */
    bool has_subnet;      /* the reply's OPT may have that option, too */
    struct cookie cookie; /* len 0: none */
    uint8_t bytes[COOKIE_QUERY_MAX];
};

/* False, at the cost of one look: the query has no additional record, or ends with an OPT record
 * without options, as most do. (A client may make its cookie look like one: it gets none back.) */
static inline bool cookie_may_be_in(const uint8_t *wire, size_t len)
{
    if (len < DNS_HEADER_SIZE + EDNS_OPT_SIZE || (wire[10] | wire[11]) == 0) {
        return false;
    }
    const uint8_t *opt = wire + len - EDNS_OPT_SIZE;
    return opt[0] != 0 || opt[1] != 0 || opt[2] != DNS_TYPE_OPT || opt[9] != 0 || opt[10] != 0;
}

/* Takes a query apart; it is borrowed as long as the envelope. A query that makes no sense stays as
 * it is. */
void cookie_open(struct cookie_envelope *envelope, const uint8_t *wire, size_t len);

/* Appends the cookie of the reply to a query that had one. `reply` has COOKIE_OPTION_SIZE bytes
 * more than `len`, and was made for the envelope's query: its OPT record is the last. Returns the
 * new length; a reply without OPT stays as it is. */
size_t cookie_close(const struct cookie_envelope *envelope, const struct cookie_secrets *secrets,
                    const struct ip *client, uint32_t now_s, uint8_t *reply, size_t len);

#endif
