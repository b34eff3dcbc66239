/* Reads the records of transfer messages back into the packed form (skydns/answer/zone_rr.h), names
 * uncompressed. Any deviation from a reply without errors fails the test. */
#ifndef TESTS_UNIT_SKYDNS_TRANSFER_TRANSFER_DECODE_H
#define TESTS_UNIT_SKYDNS_TRANSFER_TRANSFER_DECODE_H

#include <stdlib.h>
#include <string.h>

#include "common/base/cursor.h"
#include "common/dns/dns.h"
#include "skydns/answer/zone_rr.h"
#include "skydns/wire/edns.h"

struct decoded {
    struct zone_rrs all;    /* in the order of the messages: not to be sorted */
    struct buf soa_serials; /* u32 each, in that order */
    size_t messages;
    unsigned questions, opts;
};

static inline void decoded_init(struct decoded *d)
{
    *d = (struct decoded){.messages = 0};
    zone_rrs_init(&d->all);
    buf_init(&d->soa_serials, 1 << 20);
}

static inline void decoded_fini(struct decoded *d)
{
    zone_rrs_fini(&d->all);
    buf_fini(&d->soa_serials);
}

static inline void decode_name(struct reader *r, struct buf *out, bool is_lowered)
{
    struct dname name;
    assert_true(dname_read(r, &name));
    if (is_lowered) {
        dname_lower(&name);
    }
    buf_append(out, name.wire, name.len);
}

static inline void decode_data(struct reader *r, unsigned type, size_t end, struct buf *out)
{
    if (type == DNS_TYPE_MX) {
        buf_append_u16(out, reader_u16(r));
    }
    if (type == DNS_TYPE_MX || type == DNS_TYPE_NS || type == DNS_TYPE_CNAME ||
        type == DNS_TYPE_PTR || type == DNS_TYPE_SOA) {
        decode_name(r, out, false);
    }
    if (type == DNS_TYPE_SOA) {
        decode_name(r, out, false);
    }
    assert_true(r->pos <= end);
    size_t left = end - r->pos;
    buf_append(out, reader_take(r, left), left);
}

static inline void decode_rr(struct decoded *d, struct reader *r)
{
    CLEANUP_BUF struct buf owner = buf_of(DNAME_MAX);
    CLEANUP_BUF struct buf data = buf_of(65535);
    decode_name(r, &owner, true);
    unsigned type = reader_u16(r);
    assert_int_equal(reader_u16(r), DNS_CLASS_IN);
    uint32_t ttl_s = reader_u32(r);
    size_t len = reader_u16(r);
    decode_data(r, type, r->pos + len, &data);
    assert_false(r->failed || owner.failed || data.failed);
    if (type == DNS_TYPE_SOA) {
        struct reader serial = reader_of(data.data, data.len);
        reader_seek(&serial, data.len - 20);
        buf_append_u32(&d->soa_serials, reader_u32(&serial));
    }
    zone_rrs_add(&d->all, &(struct zone_rr){.owner = buf_slice(&owner),
                                            .type = (uint16_t)type,
                                            .ttl_s = ttl_s,
                                            .data = buf_slice(&data)});
}

static inline void decode_message(struct decoded *d, const uint8_t *wire, size_t len)
{
    struct reader r = reader_of(wire, len);
    struct dname name;
    (void)reader_u16(&r);
    assert_int_equal(reader_u16(&r) & ~(unsigned)DNS_FLAG_RD, DNS_FLAG_QR | DNS_FLAG_AA);
    unsigned questions = reader_u16(&r), answers = reader_u16(&r);
    assert_int_equal(reader_u16(&r), 0);
    unsigned additionals = reader_u16(&r);
    for (unsigned i = 0; i < questions; i++) {
        assert_true(dname_read(&r, &name));
        assert_non_null(reader_take(&r, 4));
    }
    for (unsigned i = 0; i < answers; i++) {
        decode_rr(d, &r);
    }
    assert_non_null(reader_take(&r, additionals * EDNS_OPT_SIZE));
    assert_int_equal(reader_left(&r), 0);
    d->messages++;
    d->questions += questions;
    d->opts += additionals;
}

static inline uint32_t decoded_serial(const struct decoded *d, size_t i)
{
    struct reader r = reader_of(d->soa_serials.data, d->soa_serials.len);
    reader_seek(&r, 4 * i);
    uint32_t serial = reader_u32(&r);
    assert_false(r.failed);
    return serial;
}

#endif
