#include "skydns/dnssec/ds_text.h"

static void append_record(const char *owner, uint32_t ttl_s, struct slice rdata, struct buf *out)
{
    struct reader reader = reader_of(rdata.ptr, rdata.len);
    unsigned tag = reader_u16(&reader);
    unsigned algorithm = reader_u8(&reader);
    unsigned digest_type = reader_u8(&reader);
    buf_printf(out, "%s %u IN DS %u %u %u ", owner, ttl_s, tag, algorithm, digest_type);
    while (reader_left(&reader) > 0) {
        buf_printf(out, "%02X", reader_u8(&reader));
    }
    buf_append_char(out, '\n');
}

void ds_text(const struct dnssec *dnssec, uint32_t default_ttl_s, struct buf *out)
{
    for (size_t i = 0; i < dnssec_zone_count(dnssec); i++) {
        const struct dnssec_zone *zone = dnssec_zone_at(dnssec, i);
        char owner[DNAME_TEXT_MAX];
        uint32_t ttl_s = zone->ds.ttl_s ? zone->ds.ttl_s : default_ttl_s;
        (void)dname_to_text(&zone->name, owner); /* returns owner */
        for (size_t k = 0; k < zone->ds.count; k++) {
            append_record(owner, ttl_s, zone->ds.rdata[k], out);
        }
    }
}
