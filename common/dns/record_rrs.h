/* Resource records of any type in a record: the field `rr` as text, and packed as a record, the
 * store and a snapshot hold it. Packed is, one behind the other: type (u16), length (u16) and the
 * data as on the wire, without compression, big-endian. Names in them are in lower case, but for
 * types that rr_types.h knows by a shape with a name. libldns, which reads the text, stays inside.
 * Pure; any thread. */
#ifndef COMMON_DNS_RECORD_RRS_H
#define COMMON_DNS_RECORD_RRS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/attributes.h"
#include "common/base/buf.h"
#include "common/base/cursor.h"
#include "common/base/err.h"
#include "common/base/slice.h"

/* All of one key, packed: a message holds no more. */
enum { RECORD_RRS_MAX = UINT16_MAX };

/* Texts of one key: reading one takes some ten microseconds, and nobody has as many. */
enum { RECORD_RRS_COUNT_MAX = 512 };

struct record_rr {
    uint16_t type;
    struct slice data;
};

/* Appends what one text says, type and data in presentation form: `CAA 0 issue "ca.example.net"`,
 * `TYPE731 \# 1 00`. ERR_SYNTAX, quoting it, for one that libldns cannot read, or whose type is not
 * allowed: what a zone's owner, a signer or this server itself makes (SOA, NS, CNAME, DNAME, OPT,
 * TSIG and those of DNSSEC), meta types, and type 0. ERR_TOO_LARGE: together they are too long.
 * Then nothing of it is appended. */
int record_rrs_add(struct slice text, struct buf *packed, struct err *err) MUST_CHECK;

/* The next of packed ones, which it borrows from; false: the end, or they are no such. */
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

/* Whether these bytes are what record_rrs_add appends, as far as answers depend on it. */
bool record_rrs_are_packed(struct slice bytes) MUST_CHECK;

#endif
