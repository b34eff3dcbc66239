/* Finds the fields of a protobuf message as slices of it, without decoding what is inside: for
 * the messages around objects, and for the parts of an object that are looked at. Pure; allocates
 * nothing, recurses never.
 *
 *     struct proto_scan scan = proto_scan_of(message);
 *     while (proto_scan_next(&scan, &field)) { ... }
 *     if (scan.failed) { ... }
 */
#ifndef COMMON_BASE_PROTO_SCAN_H
#define COMMON_BASE_PROTO_SCAN_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/cursor.h"
#include "common/base/slice.h"

struct proto_scan {
    struct reader reader;
    bool failed; /* no message, or it ends too early; sticky */
};

struct proto_field {
    uint32_t number;
    bool is_bytes;
    struct slice bytes; /* of strings, bytes and messages; empty for numbers */
    uint64_t varint;    /* of integers and booleans; 0 for others */
};

struct proto_scan proto_scan_of(struct slice message);

/* The next field in the order of the wire. False: no more, or failed. */
bool proto_scan_next(struct proto_scan *scan, struct proto_field *ret_field);

/* The last field of this number, which is to have bytes; empty when there is none. False: it is a
 * number, or the message is none (*ret_bytes has what was found before). */
bool proto_scan_find(struct slice message, uint32_t number, struct slice *ret_bytes);

#endif
