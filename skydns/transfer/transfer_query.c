#include "skydns/transfer/transfer_query_internal.h"

#include "common/base/cursor.h"
#include "common/dns/dns.h"
#include "skydns/wire/question.h"

enum { COUNTS_AT = 6 }; /* of answers, authorities, additionals: behind that of the questions */

/* The SOA in the authority section of an IXFR, of which only the serial matters. */
static bool read_serial(const uint8_t *wire, size_t len, const struct dname *zone,
                        uint32_t *ret_serial)
{
    struct reader r = reader_of(wire, len);
    struct dname name, part;
    reader_seek(&r, COUNTS_AT);
    unsigned answers = reader_u16(&r), authorities = reader_u16(&r);
    reader_seek(&r, DNS_HEADER_SIZE);
    if (answers > 0 || authorities != 1 || !dname_read(&r, &name) || !reader_take(&r, 4) ||
        !dname_read(&r, &name)) {
        return false;
    }
    struct dname lower = *zone;
    dname_lower(&lower);
    dname_lower(&name);
    unsigned type = reader_u16(&r), rr_class = reader_u16(&r);
    (void)reader_u32(&r); /* TTL */
    (void)reader_u16(&r); /* length: the fields have their own */
    bool is_soa = type == DNS_TYPE_SOA && rr_class == DNS_CLASS_IN && dname_equal(&name, &lower);
    if (!is_soa || !dname_read(&r, &part) || !dname_read(&r, &part)) {
        return false;
    }
    *ret_serial = reader_u32(&r);
    return !r.failed;
}

bool transfer_query_parse(const uint8_t *wire, size_t len, struct transfer_query *ret)
{
    struct question question;
    if (question_parse(wire, len, &question) != QUESTION_OK || question.qclass != DNS_CLASS_IN ||
        (question.type != DNS_TYPE_AXFR && question.type != DNS_TYPE_IXFR)) {
        return false;
    }
    *ret = (struct transfer_query){
        .id = question.id,
        .recursion_desired = question.recursion_desired,
        .has_edns = question.has_edns,
        .udp_size = question.has_edns ? question.udp_size : 0,
        .is_incremental = question.type == DNS_TYPE_IXFR,
        .zone = question.name,
        .tsig = question.tsig,
    };
    return !ret->is_incremental || read_serial(wire, len, &ret->zone, &ret->serial);
}
