#include "skydns/wire/fast_reply.h"

#include <string.h>

#include "skydns/wire/edns.h"
#include "skydns/wire/reply_limit.h"

/* Owner's pointer, type, class, TTL, length. */
enum { RECORD_HEAD = 12 };

void fast_reply_begin(struct fast_reply *reply, const struct fast_query *question,
                      const struct engine_query *query, uint16_t max_udp_size, uint8_t *bytes)
{
    size_t limit = reply_limit_of(query, question->has_edns, question->udp_size, max_udp_size);
    *reply = (struct fast_reply){
        .bytes = bytes,
        .len = DNS_HEADER_SIZE + (size_t)question->name_len + DNS_QUESTION_TAIL,
        .max = limit,
        .limit = limit - (question->has_edns ? EDNS_OPT_SIZE : 0),
    };
    memcpy(bytes + DNS_HEADER_SIZE, query->wire + DNS_HEADER_SIZE, reply->len - DNS_HEADER_SIZE);
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

size_t fast_reply_end(struct fast_reply *reply, const struct fast_query *question,
                      uint16_t max_udp_size, enum dns_rcode rcode)
{
    uint8_t *h = reply->bytes;
    memcpy(h, question->wire, 2);
    unsigned flags = DNS_FLAG_QR | DNS_FLAG_AA | (reply->is_cut ? DNS_FLAG_TC : 0);
    h[2] = (uint8_t)(flags >> 8 | (question->wire[2] & DNS_FLAG_RD >> 8));
    h[3] = (uint8_t)(DNS_FLAG_RA | rcode);
    fast_put16(h + 4, 1);
    fast_put16(h + 6, reply->answers);
    fast_put16(h + 8, reply->authorities);
    fast_put16(h + 10, (unsigned)reply->additionals + question->has_edns);
    reply->opt_at = question->has_edns ? reply->len : 0;
    if (question->has_edns) {
        edns_write_opt(h + reply->len, max_udp_size, 0, question->dnssec_ok);
        reply->len += EDNS_OPT_SIZE;
    }
    return reply->len;
}
