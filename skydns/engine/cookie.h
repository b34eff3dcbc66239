/* Makes and checks DNS cookies (RFC 7873) with the server cookies of RFC 9018: version 1, a
 * timestamp, and a SipHash-2-4 over both, the client's cookie and its address. A client that
 * returns our cookie has received a response at that address: it is not forged. Pure; any thread.
 */
#ifndef SKYDNS_ENGINE_COOKIE_H
#define SKYDNS_ENGINE_COOKIE_H

#include <stdint.h>

#include "common/base/addr.h"
#include "skydns/publish/cookie_secrets.h"
#include "skydns/wire/cookie_option.h"

enum {
    /* RFC 9018 4.3: how old, and how far ahead of our clock, a cookie may be; and the age from
     * which the client gets a new one. */
    COOKIE_AGE_MAX_S = 3600,
    COOKIE_AHEAD_MAX_S = 300,
    COOKIE_RENEW_S = 1800,
};

enum cookie_verdict {
    COOKIE_ALONE, /* no server cookie, or no cookie at all */
    COOKIE_VALID,
    COOKIE_WRONG, /* the server cookie is not ours, not this client's, or out of date */
};

/* Checks a query's cookie. now_s is Unix time, of which the lower 32 bits count (RFC 1982). */
enum cookie_verdict cookie_check(const struct cookie_secrets *secrets, const struct cookie *cookie,
                                 const struct ip *client, uint32_t now_s);

/* Writes the option for the response to a client that sent `cookie`, whose length is not 0. It
 * repeats the client's server cookie if the first secret made it not long ago, else it has a new
 * one. Returns the verdict on the client's. */
enum cookie_verdict cookie_answer(const struct cookie_secrets *secrets, const struct cookie *cookie,
                                  const struct ip *client, uint32_t now_s,
                                  uint8_t option[COOKIE_OPTION_SIZE]);

#endif
