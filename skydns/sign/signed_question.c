#include "skydns/sign/signed_question.h"

#include <string.h>

#include "common/dns/dns.h"
#include "skydns/wire/edns.h"
#include "skydns/wire/fast_query.h"
#include "skydns/wire/question.h"

static bool is_key_type(unsigned type)
{
    return type == DNS_TYPE_DNSKEY || type == DNS_TYPE_CDS || type == DNS_TYPE_CDNSKEY;
}

/* An ordinary query ends with its type and class, or with an OPT record without options. */
bool signed_question_concerns(const struct engine_query *query)
{
    enum { QUESTION_LEAST = DNS_HEADER_SIZE + 1 + 4, ANSWERS_AT = 6, TYPE_BACK = 4 };
    static const uint8_t one_opt[6] = {[5] = 1}, none[6];
    const uint8_t *wire = query->wire, *end = wire + query->len;
    if (query->len < QUESTION_LEAST + EDNS_OPT_SIZE) {
        return true; /* short: it costs little to read it */
    }
    if (memcmp(wire + ANSWERS_AT, none, sizeof(none)) == 0) {
        return is_key_type((unsigned)end[-TYPE_BACK] << 8 | end[1 - TYPE_BACK]);
    }
    const uint8_t *opt = end - EDNS_OPT_SIZE;
    if (memcmp(wire + ANSWERS_AT, one_opt, sizeof(one_opt)) != 0 || opt[0] != 0 || opt[1] != 0 ||
        opt[2] != DNS_TYPE_OPT || opt[9] != 0 || opt[10] != 0) {
        return true;
    }
    return (opt[7] & DNS_EDNS_DO >> 8) != 0 ||
           is_key_type((unsigned)opt[-TYPE_BACK] << 8 | opt[1 - TYPE_BACK]);
}

bool signed_question_read(const struct engine_query *query, struct signed_question *ret_question)
{
    struct fast_query fast;
    struct question q;
    if (fast_query_read(query->wire, query->len, &fast)) {
        *ret_question = (struct signed_question){.type = fast.type,
                                                 .udp_size = fast.udp_size,
                                                 .has_edns = fast.has_edns,
                                                 .dnssec_ok = fast.dnssec_ok};
        ret_question->name.len = fast.name_len;
        memcpy(ret_question->name.wire, fast.name, fast.name_len);
        return true;
    }
    if (question_parse(query->wire, query->len, &q) != QUESTION_OK || q.qclass != DNS_CLASS_IN) {
        return false;
    }
    *ret_question = (struct signed_question){.name = q.name,
                                             .type = q.type,
                                             .udp_size = q.udp_size,
                                             .has_edns = q.has_edns,
                                             .dnssec_ok = q.dnssec_ok};
    dname_lower(&ret_question->name);
    return true;
}
