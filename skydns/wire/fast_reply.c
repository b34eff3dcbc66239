#include "skydns/wire/fast_reply.h"

#include <string.h>

#include "common/base/attributes.h"
#include "skydns/wire/edns.h"
#include "skydns/wire/reply_limit.h"

/* The record before its rdata: owner pointer, type, class, TTL, length. */
enum { RECORD_HEAD = 12 };

static NOINLINE void begin_behind_alias(struct fast_reply *reply, const struct fast_query *question,
                                        struct slice asked)
{
    const struct response_start start = response_start_of(asked, question->name_len);
    const uint8_t *name = question->wire + DNS_HEADER_SIZE;
    search_alias_write(reply->bytes, asked, slice_of(name, question->name_len), question->type,
                       DNS_CLASS_IN);
    reply->name_at = (unsigned)start.name_at;
    reply->len = start.records_at;
}

void fast_reply_begin(struct fast_reply *reply, const struct fast_query *question,
                      const struct engine_query *query, uint16_t max_udp_size,
                      const struct response *response)
{
    size_t limit = reply_limit_of(query, question->has_edns, question->udp_size, max_udp_size);
    *reply = (struct fast_reply){
        .bytes = response->bytes,
        .len = DNS_HEADER_SIZE + (size_t)question->name_len + DNS_QUESTION_TAIL,
        .max = limit,
        .limit = limit - (question->has_edns ? EDNS_OPT_SIZE : 0),
        .name_at = DNS_HEADER_SIZE,
    };
    if (response->asked.len > 0) {
        begin_behind_alias(reply, question, response->asked);
        return;
    }
    memcpy(reply->bytes + DNS_HEADER_SIZE, query->wire + DNS_HEADER_SIZE,
           reply->len - DNS_HEADER_SIZE);
}

uint8_t *fast_reply_record(struct fast_reply *reply, unsigned owner_at, unsigned type,
                           uint32_t ttl_s, size_t data_len)
{
    uint8_t *at = reply->bytes + reply->len;
    if (reply->len + RECORD_HEAD + data_len > reply->limit) {
        return NULL;
    }
    fast_put16(at, 0xc000 | owner_at);
    fast_put16(at + 2, type);
    fast_put16(at + 4, DNS_CLASS_IN);
    fast_put16(at + 6, ttl_s >> 16);
    fast_put16(at + 8, ttl_s & 0xffff);
    fast_put16(at + 10, (unsigned)data_len);
    reply->len += RECORD_HEAD + data_len;
    return at + RECORD_HEAD;
}

static NOINLINE void end_behind_alias(const struct fast_reply *reply, uint32_t ttl_s,
                                      struct response *response)
{
    search_alias_set_ttl(reply->bytes, response->asked, ttl_s);
    fast_put16(reply->bytes + 6, reply->answers + 1u);
    response->name_len = (uint8_t)response->asked.len;
}

void fast_reply_end(struct fast_reply *reply, const struct fast_query *question,
                    uint16_t max_udp_size, enum dns_rcode rcode, uint32_t ttl_s,
                    struct response *response)
{
    uint8_t *h = reply->bytes;
    memcpy(h, question->wire, 2);
    unsigned flags = DNS_FLAG_QR | DNS_FLAG_AA | (reply->is_cut ? DNS_FLAG_TC : 0);
    h[2] = (uint8_t)(flags >> 8 | (question->wire[2] & DNS_FLAG_RD >> 8));
    h[3] = (uint8_t)(DNS_FLAG_RA | rcode);
    response->name_len = question->name_len;
    fast_put16(h + 4, 1);
    fast_put16(h + 6, reply->answers);
    fast_put16(h + 8, reply->authorities);
    fast_put16(h + 10, (unsigned)reply->additionals + question->has_edns);
    response->opt_at = question->has_edns ? reply->len : 0;
    if (question->has_edns) {
        edns_write_opt(h + reply->len, max_udp_size, 0, question->dnssec_ok);
        reply->len += EDNS_OPT_SIZE;
    }
    response->len = reply->len;
    if (response->asked.len > 0) {
        end_behind_alias(reply, ttl_s, response);
    }
}
