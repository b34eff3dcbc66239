#include "skydns/wire/rr_data.h"

#include "common/dns/dns.h"

void rr_data_write_numbers(const struct rr *rr, struct writer *w)
{
    enum rr_shape shape = rr_shape_of(rr->type);
    if (shape == RR_SHAPE_SERVICE_NAMED || shape == RR_SHAPE_PREFERENCE_NAMED) {
        writer_u16(w, rr->priority);
    }
    if (shape == RR_SHAPE_SERVICE_NAMED) {
        writer_u16(w, rr->weight);
        writer_u16(w, rr->port);
    }
}

void rr_data_write_text(struct slice text, struct writer *w)
{
    do {
        size_t len = text.len < DNS_CHARACTER_STRING ? text.len : DNS_CHARACTER_STRING;
        writer_u8(w, (uint8_t)len);
        writer_bytes(w, text.ptr, len);
        text = slice_of(text.ptr + len, text.len - len);
    } while (text.len > 0);
}

void rr_data_write_soa_numbers(const struct answer_soa *soa, struct writer *w)
{
    writer_u32(w, soa->serial);
    writer_u32(w, ANSWER_SOA_REFRESH_S);
    writer_u32(w, ANSWER_SOA_RETRY_S);
    writer_u32(w, ANSWER_SOA_EXPIRE_S);
    writer_u32(w, soa->minimum_s);
}

void rr_data_write(const struct rr *rr, const struct answer_soa *soa, struct writer *w)
{
    switch (rr_shape_of(rr->type)) {
    case RR_SHAPE_TEXT:
        rr_data_write_text(rr->data, w);
        break;
    case RR_SHAPE_ZONE:
        writer_bytes(w, soa->mname.ptr, soa->mname.len);
        writer_bytes(w, soa->rname.ptr, soa->rname.len);
        rr_data_write_soa_numbers(soa, w);
        break;
    case RR_SHAPE_BYTES:
    case RR_SHAPE_NAMED:
    case RR_SHAPE_PREFERENCE_NAMED:
    case RR_SHAPE_SERVICE_NAMED:
        rr_data_write_numbers(rr, w);
        writer_bytes(w, rr->data.ptr, rr->data.len);
        break;
    }
}
