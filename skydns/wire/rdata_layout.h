/* The one table of where the rdata of a type has names: those that senders may have compressed
 * (RFC 3597 4), and some that no sender should compress. Used by whatever reads, moves or writes
 * rdata byte by byte. Constant; any thread.
 *
 *     | head bytes | character strings | names | rest |
 */
#ifndef SKYDNS_WIRE_RDATA_LAYOUT_H
#define SKYDNS_WIRE_RDATA_LAYOUT_H

#include <stdbool.h>
#include <stdint.h>

enum {
    RDATA_LAYOUT_TYPES = 48, /* no type from here on has names that may be compressed */
    RDATA_REST_ANY = 255,
};

struct rdata_layout {
    uint8_t head;         /* bytes before the first string or name */
    uint8_t strings;      /* <character-string>s (RFC 1035 3.3) before the first name */
    uint8_t names;        /* 0: the rdata is bytes, and the other fields are 0 */
    uint8_t rest;         /* bytes behind the last name; RDATA_REST_ANY: any number */
    bool is_compressible; /* when we write it: RFC 1035's types only (RFC 3597 4) */
};

/* Indexed by type, 0 for those beyond; rdata_layout_of is the way in. */
extern const struct rdata_layout rdata_layouts[RDATA_LAYOUT_TYPES];

/* Never NULL. A comparison, no call: of each record that is moved. */
static inline const struct rdata_layout *rdata_layout_of(unsigned type)
{
    return &rdata_layouts[type < RDATA_LAYOUT_TYPES ? type : 0];
}

#endif
