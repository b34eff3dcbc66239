#include "skydns/wire/query_parse.h"

#include <assert.h>
#include <string.h>

#include "common/dns/dns.h"

void query_parse_other(const uint8_t *wire, size_t len, struct query *query)
{
    query->verdict = question_parse(wire, len, &query->question);
    query->has_question = true;
}

void query_parse(const uint8_t *wire, size_t len, struct query *ret_query)
{
    query_parse_ordinary(wire, len, ret_query);
    if (!ret_query->is_ordinary) {
        query_parse_other(wire, len, ret_query);
    }
}

static void fill_cookie(const struct fast_query *fast, struct cookie *cookie)
{
    cookie->len = fast->cookie_len;
    if (fast->cookie_len > 0) {
        memcpy(cookie->bytes, fast->cookie, fast->cookie_len);
    }
}

const struct question *query_question(struct query *query)
{
    const struct fast_query *fast = &query->fast;
    struct question *q = &query->question;
    if (query->has_question) {
        return q;
    }
    assert(query->is_ordinary && fast->name_len <= DNAME_MAX);
    const uint8_t *wire = fast->wire;
    *q = (struct question){
        .id = (uint16_t)(wire[0] << 8 | wire[1]),
        .opcode = DNS_OPCODE_QUERY,
        .recursion_desired = (wire[2] & DNS_FLAG_RD >> 8) != 0,
        .wants_authentic = (wire[3] & DNS_FLAG_AD) != 0,
        .checking_disabled = (wire[3] & DNS_FLAG_CD) != 0,
        .name.len = fast->name_len,
        .type = fast->type,
        .qclass = DNS_CLASS_IN,
        .has_edns = fast->has_edns,
        .dnssec_ok = fast->dnssec_ok,
        .udp_size = fast->udp_size,
        .asks = fast->asks,
    };
    memcpy(q->name.wire, wire + DNS_HEADER_SIZE, fast->name_len);
    fill_cookie(fast, &q->cookie);
    query->has_question = true;
    return q;
}

struct cookie query_cookie(const struct query *query)
{
    struct cookie cookie = query->question.cookie;
    assert(query_has_cookie(query));
    if (query->is_ordinary) {
        fill_cookie(&query->fast, &cookie);
    }
    return cookie;
}
