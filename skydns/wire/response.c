#include "skydns/wire/response.h"

#include <assert.h>
#include <string.h>

#include "common/base/cursor.h"
#include "skydns/wire/rr_step.h"

/* Returns the TTL of a denial with this SOA. Its minimum is its last field. */
static uint32_t negative_ttl_s(const struct reader *message, const struct rr_step *soa)
{
    enum { MINIMUM_SIZE = 4 };
    struct reader r = *message;
    if (soa->data_len < MINIMUM_SIZE) {
        return 0;
    }
    reader_seek(&r, soa->data_at + soa->data_len - MINIMUM_SIZE);
    uint32_t minimum_s = reader_u32(&r);
    return minimum_s < soa->ttl_s ? minimum_s : soa->ttl_s;
}

/* Finds the smallest TTL of `counts[0]` answers and `counts[1]` records of the authority section. A
 * SOA there makes the response negative, also after aliases. */
static uint32_t smallest_written_ttl(struct reader *r, const uint16_t counts[2], bool is_no_name)
{
    uint32_t smallest = UINT32_MAX;
    bool is_negative = is_no_name || counts[0] == 0, has_soa = false;
    struct rr_step record;
    for (unsigned i = 0; i < counts[0]; i++) {
        if (!rr_step_next(r, &record)) {
            return 0;
        }
        smallest = record.ttl_s < smallest ? record.ttl_s : smallest;
    }
    for (unsigned i = 0; i < counts[1]; i++) {
        if (!rr_step_next(r, &record)) {
            return 0;
        }
        if (record.type == DNS_TYPE_SOA) {
            uint32_t ttl_s = negative_ttl_s(r, &record);
            smallest = ttl_s < smallest ? ttl_s : smallest;
            has_soa = true;
        }
    }
    return is_negative && !has_soa ? 0 : smallest;
}

uint32_t response_max_age_s(const struct response *response)
{
    enum { COUNTS_AT = 6 };
    struct reader r = reader_of(response->bytes, response->len);
    reader_seek(&r, COUNTS_AT);
    const uint16_t answers = reader_u16(&r), authorities = reader_u16(&r);
    const uint16_t counts[] = {answers, authorities};
    reader_seek(&r,
                DNS_HEADER_SIZE +
                    (response->name_len > 0 ? (size_t)response->name_len + DNS_QUESTION_TAIL : 0));
    if (r.failed) {
        return 0;
    }
    const unsigned rcode = response_low_rcode(response);
    return response_is_truncated(response) ||
                   (rcode != DNS_RCODE_NOERROR && rcode != DNS_RCODE_NXDOMAIN)
               ? 0
               : smallest_written_ttl(&r, counts, rcode == DNS_RCODE_NXDOMAIN);
}

void search_alias_write(uint8_t *message, struct slice asked, struct slice name, uint16_t type,
                        uint16_t qclass)
{
    const struct response_start start = response_start_of(asked, name.len);
    struct writer w = writer_of(message, start.records_at);
    (void)writer_take(&w, DNS_HEADER_SIZE);
    writer_bytes(&w, asked.ptr, asked.len);
    writer_u16(&w, type);
    writer_u16(&w, qclass);
    writer_u16(&w, 0xc000 | DNS_HEADER_SIZE);
    writer_u16(&w, DNS_TYPE_CNAME);
    writer_u16(&w, DNS_CLASS_IN);
    writer_u32(&w, 0);
    writer_u16(&w, (uint16_t)name.len);
    assert(w.pos == start.name_at);
    writer_bytes(&w, name.ptr, name.len);
    assert(!w.failed && w.pos == start.records_at);
}

void search_alias_set_ttl(uint8_t *message, struct slice asked, uint32_t ttl_s)
{
    enum { TTL_BACK = 6 }; /* before the data: TTL and length */
    struct writer w = writer_of(message + response_start_of(asked, 0).name_at - TTL_BACK, 4);
    writer_u32(&w, ttl_s);
}
