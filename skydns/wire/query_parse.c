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
    *q = question_of_header(wire);
    q->name.len = fast->name_len;
    q->type = fast->type;
    q->qclass = DNS_CLASS_IN;
    q->has_edns = fast->has_edns;
    q->dnssec_ok = fast->dnssec_ok;
    q->udp_size = fast->udp_size;
    q->asks = fast->asks;
    memcpy(q->name.wire, wire + DNS_HEADER_SIZE, fast->name_len);
    fill_cookie(fast, &q->cookie);
    query->has_question = true;
    return q;
}

bool query_make_fast(const struct question *question, const uint8_t *wire, struct fast_query *ret)
{
    ret->type = question->type;
    ret->udp_size = question->udp_size;
    ret->has_edns = question->has_edns;
    ret->dnssec_ok = question->dnssec_ok;
    ret->asks = question->asks;
    ret->cookie_len = question->cookie.len;
    ret->cookie = question->cookie.bytes;
    return fast_query_set_name(ret, wire, question->name.len);
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
