/* The EDNS option COOKIE (RFC 7873): what a query had of it, and its sizes. What a cookie is worth
 * is cookie.h's. Plain data. */
#ifndef SKYDNS_WIRE_COOKIE_OPTION_H
#define SKYDNS_WIRE_COOKIE_OPTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "skydns/wire/edns.h"

enum {
    COOKIE_CLIENT_SIZE = 8,
    COOKIE_SERVER_SIZE = 16, /* of ours */
    COOKIE_SIZE = COOKIE_CLIENT_SIZE + COOKIE_SERVER_SIZE,
    COOKIE_SERVER_MIN = 8, /* of others' */
    /* A reply's option. */
    COOKIE_OPTION_SIZE = EDNS_OPTION_HEAD + COOKIE_SIZE,
};

/* What a client sent: its own cookie, perhaps with the server's. */
struct cookie {
    uint8_t len; /* 0: none */
    uint8_t bytes[EDNS_COOKIE_MAX];
};

/* RFC 7873 5.2.2: 8 bytes, or 16 to 40. */
static inline bool cookie_has_sound_length(size_t len)
{
    return len == COOKIE_CLIENT_SIZE ||
           (len >= COOKIE_CLIENT_SIZE + COOKIE_SERVER_MIN && len <= EDNS_COOKIE_MAX);
}

#endif
