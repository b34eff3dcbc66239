#include "skydns/answer/rr_text.h"

#include <string.h>

#include "common/dns/dns_names.h"

static void append_name(struct buf *out, struct slice wire)
{
    struct dname name = {.len = (uint8_t)wire.len};
    char text[DNAME_TEXT_MAX];
    memcpy(name.wire, wire.ptr, wire.len);
    buf_append_str(out, dname_to_text(&name, text));
}

static void append_address(struct buf *out, struct slice bytes)
{
    struct ip ip = {.family_bytes = (uint8_t)bytes.len};
    char text[INET6_ADDRSTRLEN];
    memcpy(ip.bytes, bytes.ptr, bytes.len);
    buf_append_str(out, ip_format(&ip, text));
}

static void append_quoted(struct buf *out, struct slice text)
{
    buf_append_char(out, '"');
    for (size_t i = 0; i < text.len; i++) {
        uint8_t c = (uint8_t)text.ptr[i];
        if (c < ' ' || c > '~' || c == '"' || c == '\\') {
            buf_printf(out, "\\%03u", c);
        } else {
            buf_append_char(out, (char)c);
        }
    }
    buf_append_char(out, '"');
}

static void append_soa(struct buf *out, const struct answer_soa *soa)
{
    append_name(out, soa->mname);
    buf_append_char(out, ' ');
    append_name(out, soa->rname);
    buf_printf(out, " %u %u %u %u %u", soa->serial, ANSWER_SOA_REFRESH_S, ANSWER_SOA_RETRY_S,
               ANSWER_SOA_EXPIRE_S, soa->minimum_s);
}

static void append_bytes(struct buf *out, const struct rr *rr)
{
    if (rr->type == RR_A || rr->type == RR_AAAA) {
        append_address(out, rr->data);
    } else if (rr->type == RR_HINFO) {
        buf_append_str(out, "\"RFC8482\" \"\"");
    } else { /* RFC 3597 5 */
        buf_printf(out, "\\# %zu ", rr->data.len);
        for (size_t i = 0; i < rr->data.len; i++) {
            buf_printf(out, "%02X", (uint8_t)rr->data.ptr[i]);
        }
    }
}

void rr_text(const struct rr *rr, const struct answer_soa *soa, struct buf *out)
{
    char type[DNS_TYPE_TEXT_MAX];
    append_name(out, rr->owner);
    buf_printf(out, " %u %s ", rr->ttl_s, dns_type_text(rr->type, type));
    switch (rr_shape_of(rr->type)) {
    case RR_SHAPE_BYTES:
        append_bytes(out, rr);
        break;
    case RR_SHAPE_TEXT:
        append_quoted(out, rr->data);
        break;
    case RR_SHAPE_ZONE:
        append_soa(out, soa);
        break;
    case RR_SHAPE_SERVICE_NAMED:
        buf_printf(out, "%u %u %u ", rr->priority, rr->weight, rr->port);
        append_name(out, rr->data);
        break;
    case RR_SHAPE_PREFERENCE_NAMED:
        buf_printf(out, "%u ", rr->priority);
        append_name(out, rr->data);
        break;
    case RR_SHAPE_NAMED:
        append_name(out, rr->data);
        break;
    }
}
