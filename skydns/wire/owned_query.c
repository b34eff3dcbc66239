#include "skydns/wire/owned_query.h"

#include <assert.h>
#include <string.h>

static size_t message_len(const struct owned_query *owned)
{
    return DNS_HEADER_SIZE + (size_t)owned->name_len + DNS_QUESTION_TAIL;
}

static size_t tsig_at(const struct owned_query *owned)
{
    return message_len(owned) + owned->subnet_len + owned->cookie_len;
}

size_t owned_query_size(const struct owned_query *owned)
{
    return offsetof(struct owned_query, bytes) + tsig_at(owned) +
           (owned->is_signed ? sizeof(struct tsig_state) : 0);
}

size_t owned_query_take(struct owned_query *owned, const struct engine_query *query)
{
    assert(query->parsed && query->parsed->verdict == QUESTION_OK);
    const struct question *question = query_question(query->parsed);
    const uint8_t cookie_len = question->cookie.len;
    *owned = (struct owned_query){
        .client = *query->client,
        .local = *query->local,
        .received_ns = query->received_ns,
        .search_list_serial = query->search_list_serial,
        .idle_ms = query->idle_ms,
        .udp_size = question->udp_size,
        .transport = (uint8_t)query->transport,
        .search_list_at = query->search_list_at,
        .search_list_seen = query->search_list_seen,
        .asks = question->asks,
        .name_len = question->name.len,
        .subnet_len = question->subnet_len,
        .cookie_len = cookie_len > COOKIE_SIZE ? (uint8_t)COOKIE_CLIENT_SIZE : cookie_len,
        .is_allowed = query->is_allowed,
        .keeps_name = query->keeps_name,
        .is_ordinary = query->parsed->is_ordinary,
        .has_edns = question->has_edns,
        .dnssec_ok = question->dnssec_ok,
        .is_from_stub = question->is_from_stub,
        .is_signed = query->tsig != NULL,
    };
    uint8_t *at = owned->bytes + question_write(question, owned->bytes);
    memcpy(at, question->subnet, owned->subnet_len);
    memcpy(at + owned->subnet_len, question->cookie.bytes, owned->cookie_len);
    if (query->tsig) {
        struct tsig_state state;
        tsig_keep(query->tsig, &state);
        memcpy(owned->bytes + tsig_at(owned), &state, sizeof(state));
    }
    return owned_query_size(owned);
}

const struct tsig_state *owned_query_tsig(const struct owned_query *owned)
{
    return owned->is_signed ? (const void *)(owned->bytes + tsig_at(owned)) : NULL;
}

struct engine_query owned_query_open(const struct owned_query *owned, int64_t now_s, int64_t now_ms,
                                     uint32_t random)
{
    return (struct engine_query){
        .owned = owned,
        .wire = owned->bytes,
        .len = message_len(owned),
        .client = &owned->client,
        .local = &owned->local,
        .transport = owned->transport,
        .idle_ms = owned->idle_ms,
        .received_ns = owned->received_ns,
        .now_s = now_s,
        .now_ms = now_ms,
        .random = random,
        .is_allowed = owned->is_allowed,
        .keeps_name = owned->keeps_name,
        .search_list_at = owned->search_list_at,
        .search_list_serial = owned->search_list_serial,
        .search_list_seen = owned->search_list_seen,
    };
}

void owned_query_read(const struct owned_query *owned, struct query *ret_query)
{
    struct question *q = &ret_query->question;
    const uint8_t *name = owned->bytes + DNS_HEADER_SIZE, *tail = name + owned->name_len;
    const uint8_t *subnet = owned->bytes + message_len(owned);
    *q = question_of_header(owned->bytes);
    q->name.len = owned->name_len;
    q->type = (uint16_t)(tail[0] << 8 | tail[1]);
    q->qclass = (uint16_t)(tail[2] << 8 | tail[3]);
    q->has_edns = owned->has_edns;
    q->dnssec_ok = owned->dnssec_ok;
    q->udp_size = owned->udp_size;
    q->asks = owned->asks;
    q->is_from_stub = owned->is_from_stub;
    q->subnet_len = owned->subnet_len;
    q->cookie.len = owned->cookie_len;
    memcpy(q->name.wire, name, owned->name_len);
    memcpy(q->subnet, subnet, owned->subnet_len);
    memcpy(q->cookie.bytes, subnet + owned->subnet_len, owned->cookie_len);
    ret_query->verdict = QUESTION_OK;
    ret_query->has_question = true;
    ret_query->is_ordinary =
        owned->is_ordinary && query_make_fast(q, owned->bytes, &ret_query->fast);
}
