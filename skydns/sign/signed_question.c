#include "skydns/sign/signed_question.h"

#include <string.h>

#include "common/dns/dns.h"
#include "skydns/wire/query_parse.h"

static bool is_key_type(unsigned type)
{
    return type == DNS_TYPE_DNSKEY || type == DNS_TYPE_CDS || type == DNS_TYPE_CDNSKEY;
}

bool signed_question_concerns(const struct query *query)
{
    return !query->is_ordinary || query->fast.dnssec_ok || is_key_type(query->fast.type);
}

static void take_ordinary(const struct fast_query *fast, struct signed_question *ret_question)
{
    *ret_question = (struct signed_question){.type = fast->type,
                                             .udp_size = fast->udp_size,
                                             .has_edns = fast->has_edns,
                                             .dnssec_ok = fast->dnssec_ok};
    ret_question->name.len = fast->name_len;
    memcpy(ret_question->name.wire, fast->name, fast->name_len);
}

bool signed_question_read(struct query *query, struct signed_question *ret_question)
{
    if (query->is_ordinary) {
        take_ordinary(&query->fast, ret_question);
        return true;
    }
    const struct question *q = query_question(query);
    if (query->verdict != QUESTION_OK || q->qclass != DNS_CLASS_IN) {
        return false;
    }
    *ret_question = (struct signed_question){.name = q->name,
                                             .type = q->type,
                                             .udp_size = q->udp_size,
                                             .has_edns = q->has_edns,
                                             .dnssec_ok = q->dnssec_ok};
    dname_lower(&ret_question->name);
    return true;
}
