#include "common/dns/dns.h"
#include "skydns/engine/cookie.h"
#include "skydns/engine/tsig_envelope_internal.h"
#include "skydns/wire/edns.h"

/* What a reply of 512 bytes always has room for. */
enum { REPLY_LEAST = DNS_HEADER_SIZE + DNAME_MAX + 4 + EDNS_OPT_SIZE + COOKIE_OPTION_SIZE };
_Static_assert((int)REPLY_LEAST + (int)TSIG_KNOWN_MAX <= (int)DNS_UDP_SIZE,
               "any reply can be signed with a known key");

static bool has_additional(const struct engine_query *query)
{
    enum { ADDITIONAL_AT = 10 };
    return query->len >= DNS_HEADER_SIZE &&
           (query->wire[ADDITIONAL_AT] | query->wire[ADDITIONAL_AT + 1]) != 0;
}

const struct tsig_envelope *tsig_envelope_open(struct tsig_envelope *envelope,
                                               const struct tsig_keys *keys,
                                               const struct engine_query *query)
{
    if (!keys || !has_additional(query)) {
        return NULL;
    }
    enum tsig_verdict verdict =
        tsig_open(keys, query->wire, query->len, query->now_s, &envelope->tsig, envelope->plain);
    return verdict == TSIG_NONE ? NULL : envelope;
}

struct engine_query tsig_envelope_query(const struct tsig_envelope *envelope,
                                        const struct engine_query *query)
{
    struct engine_query plain = *query;
    plain.wire = envelope->plain;
    plain.len = envelope->tsig.plain_len;
    plain.ends_in_tsig = true;
    plain.ahead = 0; /* it was looked ahead at with its record */
    plain.signed_by =
        envelope->tsig.verdict == TSIG_GOOD ? tsig_key_name(envelope->tsig.key) : NULL;
    plain.reserved_by_tsig = envelope->tsig.key ? tsig_reply_size(&envelope->tsig) : 0;
    return plain;
}

void tsig_envelope_close(const struct tsig_envelope *envelope, const struct engine_query *query,
                         struct response *response)
{
    size_t size = tsig_reply_size(&envelope->tsig);
    bool fits = envelope->tsig.key || query->transport != ENGINE_UDP ||
                response->len + size <= DNS_UDP_SIZE;
    if (response->len > 0 && fits) {
        response->len = tsig_sign(&envelope->tsig, NULL, 0, query->now_s, response->bytes,
                                  response->len, NULL, NULL);
    }
}
