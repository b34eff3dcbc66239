/* DNS cookies (RFC 7873) with the server cookies of RFC 9018: version 1, a timestamp, and a
 * SipHash-2-4 over both, the client's cookie and its address. A client that returns ours has
 * received a reply at that address: it is not forged. Makes and checks cookies; messages are
 * cookie_envelope_internal.h's. Pure; any thread. */
#ifndef SKYDNS_ENGINE_COOKIE_H
#define SKYDNS_ENGINE_COOKIE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/addr.h"
#include "skydns/publish/cookie_secrets.h"
#include "skydns/wire/edns.h"

enum {
    COOKIE_CLIENT_SIZE = 8,
    COOKIE_SERVER_SIZE = 16, /* of ours */
    COOKIE_SIZE = COOKIE_CLIENT_SIZE + COOKIE_SERVER_SIZE,
    COOKIE_SERVER_MIN = 8, /* of others' */
    /* A reply's option. */
    COOKIE_OPTION_SIZE = EDNS_OPTION_HEAD + COOKIE_SIZE,
    /* RFC 9018 4.3: how old, and how far ahead of our clock, a cookie may be; and from which age on
     * the client gets a new one. */
    COOKIE_AGE_MAX_S = 3600,
    COOKIE_AHEAD_MAX_S = 300,
    COOKIE_RENEW_S = 1800,
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

enum cookie_verdict {
    COOKIE_ALONE, /* no server cookie, or no cookie at all */
    COOKIE_VALID,
    COOKIE_WRONG, /* the server cookie is not ours, not this client's, or out of date */
};

/* now_s: Unix time, of which the lower 32 bits count (RFC 1982). */
enum cookie_verdict cookie_check(const struct cookie_secrets *secrets, const struct cookie *cookie,
                                 const struct ip *client, uint32_t now_s);

/* The option of the reply to a client that sent `cookie`, whose length is not 0: with its server
 * cookie, if the first secret made it not long ago, or a new one. Returns what the client's was. */
enum cookie_verdict cookie_answer(const struct cookie_secrets *secrets, const struct cookie *cookie,
                                  const struct ip *client, uint32_t now_s,
                                  uint8_t option[COOKIE_OPTION_SIZE]);

#endif
