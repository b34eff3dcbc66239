/* Reads resource records of any type from the field `rr` of a key's value, and packs them. A
 * record, the store and a snapshot hold the packed form. It has for each, one behind the other:
 * type (u16), length (u16) and rdata as on the wire, without compression, big-endian. Names in
 * rdata are in lower case, except those of MX, SRV and PTR. Only record_rrs.c uses libldns, which
 * reads the text. Pure; any thread. */
#ifndef COMMON_DNS_RECORD_RRS_H
#define COMMON_DNS_RECORD_RRS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/attributes.h"
#include "common/base/buf.h"
#include "common/base/cursor.h"
#include "common/base/err.h"
#include "common/base/slice.h"

/* Bounds the packed records of one key: a message holds no more. */
enum { RECORD_RRS_MAX = UINT16_MAX };

/* Bounds the texts of one key: each takes about ten microseconds to read. */
enum { RECORD_RRS_COUNT_MAX = 512 };

struct record_rr {
    uint16_t type;
    struct slice data;
};

/* Appends the record of one text, which is type and rdata in presentation form:
 * `CAA 0 issue "ca.example.net"`, `TYPE731 \# 1 00`. Fails with ERR_SYNTAX, quoting the text, if
 * libldns cannot read it or its type is not allowed. Not allowed are types that make up a zone's
 * structure (SOA, NS, CNAME, DNAME), OPT, TSIG, those of DNSSEC, meta types and type 0. Fails with
 * ERR_TOO_LARGE if all together are too long. After a failure, nothing of the text is appended. */
int record_rrs_add(struct slice text, struct buf *packed, struct err *err) MUST_CHECK;

/* Reads the next packed record, and borrows its data. Returns false at the end, or at malformed
 * bytes (packed->failed). */
static inline bool record_rrs_next(struct reader *packed, struct record_rr *ret_rr)
{
    if (reader_left(packed) == 0) {
        return false;
    }
    ret_rr->type = reader_u16(packed);
    const size_t len = reader_u16(packed);
    ret_rr->data = slice_of(reader_take(packed, len), len);
    return !packed->failed;
}

/* Returns whether these bytes could be what record_rrs_add appends, as far as answers depend on it.
 */
bool record_rrs_are_packed(struct slice bytes) MUST_CHECK;

#endif
