/* Describes the rdata of each type in one table: the position of its names, and the other fields it
 * must have. These are names that senders may have compressed (RFC 3597 4), and some that no sender
 * should compress. All code that reads, checks, moves or writes rdata byte by byte uses it.
 * Constant; any thread.
 *
 *     | head bytes | character strings | names | rest | */
#ifndef SKYDNS_WIRE_RDATA_LAYOUT_H
#define SKYDNS_WIRE_RDATA_LAYOUT_H

#include <stdbool.h>
#include <stdint.h>

enum {
    RDATA_LAYOUT_TYPES = 258, /* from here on nothing is known */
    RDATA_REST_ANY = 255,
};

/* The form of a rest whose length is not fixed. */
enum rdata_form {
    RDATA_BYTES,
    RDATA_STRINGS, /* further <character-string>s, or none */
    RDATA_BITMAP,  /* types: RFC 4034 4.1.2 */
    RDATA_OPTIONS, /* code, length, data: RFC 6891 6.1.2 */
    RDATA_SERVICE, /* a name that is not compressed, and parameters in order: RFC 9460 2.2 */
};

struct rdata_layout {
    uint8_t head;         /* bytes before the first string or name */
    uint8_t strings;      /* <character-string>s (RFC 1035 3.3) before the first name */
    uint8_t names;        /* 0: moved as bytes */
    uint8_t rest;         /* bytes after the last name; RDATA_REST_ANY: any number */
    uint8_t form;         /* of that any number: enum rdata_form */
    bool is_compressible; /* when we write it: RFC 1035's types only (RFC 3597 4) */
};

/* The table, by type; rdata_layout_of gives entry 0 for unknown types. All fields are 0 when the
 * rdata may be anything. */
extern const struct rdata_layout rdata_layouts[RDATA_LAYOUT_TYPES];

/* Returns the type's layout; never NULL. It is a comparison, no call, since each moved record needs
 * it. */
static inline const struct rdata_layout *rdata_layout_of(unsigned type)
{
    return &rdata_layouts[type < RDATA_LAYOUT_TYPES ? type : 0];
}

#endif
