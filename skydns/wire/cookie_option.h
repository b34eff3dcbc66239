/* Defines the EDNS option COOKIE (RFC 7873): a query's cookie, and its sizes. cookie.h checks it.
 * Plain data. */
#ifndef SKYDNS_WIRE_COOKIE_OPTION_H
#define SKYDNS_WIRE_COOKIE_OPTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "skydns/wire/edns.h"

enum {
    COOKIE_CLIENT_SIZE = 8,
    COOKIE_SERVER_SIZE = 16, /* ours */
    COOKIE_SIZE = COOKIE_CLIENT_SIZE + COOKIE_SERVER_SIZE,
    COOKIE_SERVER_MIN = 8, /* other servers' */
    /* A response's option. */
    COOKIE_OPTION_SIZE = EDNS_OPTION_HEAD + COOKIE_SIZE,
};

/* A client's cookies: its own, perhaps with the server's. */
struct cookie {
    uint8_t len; /* 0: none */
    uint8_t bytes[EDNS_COOKIE_MAX];
};

/* Returns whether the length is 8 bytes, or 16 to 40 (RFC 7873 5.2.2). */
static inline bool cookie_has_sound_length(size_t len)
{
    return len == COOKIE_CLIENT_SIZE ||
           (len >= COOKIE_CLIENT_SIZE + COOKIE_SERVER_MIN && len <= EDNS_COOKIE_MAX);
}

#endif
