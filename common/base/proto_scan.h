/* Finds the fields of a protobuf message as slices, without decoding them: for the messages around
 * objects, and the parts of an object that we read. Pure; never allocates or recurses.
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
    bool failed; /* malformed or truncated; sticky */
};

struct proto_field {
    uint32_t number;
    bool is_bytes;
    struct slice bytes; /* for strings, bytes and messages; empty for numbers */
    uint64_t varint;    /* for integers and booleans; 0 for others */
};

struct proto_scan proto_scan_of(struct slice message);

/* Reads the next field in wire order. Returns false at the end, or once scan->failed is set. */
bool proto_scan_next(struct proto_scan *scan, struct proto_field *ret_field);

/* Finds the last field with this number, which must hold bytes; empty if absent. Returns false if
 * it holds a number, or the message is malformed (*ret_bytes has what was found before). */
bool proto_scan_find(struct slice message, uint32_t number, struct slice *ret_bytes);

/* Finds an integer or boolean so; 0 if absent. Returns false if it holds bytes, or the message is
 * malformed. */
bool proto_scan_find_number(struct slice message, uint32_t number, uint64_t *ret_value);

#endif
