#include "common/base/proto_scan.h"

/* Names protobuf's wire types; groups (3, 4) are unused. */
enum { VARINT = 0, FIXED64 = 1, LENGTH_DELIMITED = 2, FIXED32 = 5 };

struct proto_scan proto_scan_of(struct slice message)
{
    return (struct proto_scan){.reader = reader_of(message.ptr, message.len)};
}

/* Takes at most ten bytes of seven bits; drops bits above 64, as every decoder does. */
static uint64_t proto_scan_take_varint(struct reader *reader)
{
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 70; shift += 7) {
        uint8_t byte = reader_u8(reader);
        value |= shift < 64 ? (uint64_t)(byte & 0x7f) << shift : 0;
        if (!(byte & 0x80)) {
            return value;
        }
    }
    reader->failed = true;
    return 0;
}

/* Does the same; nearly all keys and lengths have one byte. */
static inline uint64_t take_short_varint(struct reader *reader)
{
    const bool is_short = reader_left(reader) > 0 && reader->data[reader->pos] < 0x80;
    return is_short ? reader->data[reader->pos++] : proto_scan_take_varint(reader);
}

static inline struct slice take_bytes(struct reader *reader, uint64_t len)
{
    if (len > reader_left(reader)) {
        reader->failed = true;
        return slice_of(NULL, 0);
    }
    return slice_of(reader_take(reader, (size_t)len), (size_t)len);
}

bool proto_scan_next(struct proto_scan *scan, struct proto_field *ret_field)
{
    struct reader *reader = &scan->reader;
    if (scan->failed || reader_left(reader) == 0) {
        return false;
    }
    uint64_t key = take_short_varint(reader);
    *ret_field = (struct proto_field){.number = (uint32_t)(key >> 3)};
    switch (key & 7) {
    case VARINT:
        ret_field->varint = take_short_varint(reader);
        break;
    case FIXED64:
        (void)take_bytes(reader, 8);
        break;
    case LENGTH_DELIMITED:
        ret_field->is_bytes = true;
        ret_field->bytes = take_bytes(reader, take_short_varint(reader));
        break;
    case FIXED32:
        (void)take_bytes(reader, 4);
        break;
    default:
        reader->failed = true;
        break;
    }
    scan->failed = reader->failed || key >> 3 == 0 || key >> 3 > UINT32_MAX;
    return !scan->failed;
}

/* Finds the last field with this number, as every decoder does. Returns whether all of them are
 * right. */
static bool proto_scan_find_last(struct slice message, uint32_t number, bool is_bytes,
                                 struct proto_field *ret_field)
{
    struct proto_scan scan = proto_scan_of(message);
    struct proto_field field;
    bool is_right = true;
    *ret_field = (struct proto_field){.bytes = slice_of("", 0)};
    while (proto_scan_next(&scan, &field)) {
        if (field.number == number) {
            *ret_field = field;
            is_right = is_right && field.is_bytes == is_bytes;
        }
    }
    return is_right && !scan.failed;
}

bool proto_scan_find(struct slice message, uint32_t number, struct slice *ret_bytes)
{
    struct proto_field field;
    bool is_right = proto_scan_find_last(message, number, true, &field);
    *ret_bytes = field.bytes;
    return is_right;
}

bool proto_scan_find_number(struct slice message, uint32_t number, uint64_t *ret_value)
{
    struct proto_field field;
    bool is_right = proto_scan_find_last(message, number, false, &field);
    *ret_value = field.varint;
    return is_right;
}
