/* The cookie in the OPT record of a reply, whatever the reply is. Pure. */
#ifndef SKYDNS_ENGINE_COOKIE_REPLY_INTERNAL_H
#define SKYDNS_ENGINE_COOKIE_REPLY_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "skydns/engine/cookie.h"

/* Appends the cookie of the reply to a query that had this one. `reply` has COOKIE_OPTION_SIZE
 * bytes more than `len`; its OPT record is the last, and may repeat a client's network if the query
 * had one. Returns the new length; a reply without OPT stays as it is. */
size_t cookie_append(const struct cookie_secrets *secrets, const struct cookie *cookie,
                     const struct ip *client, uint32_t now_s, bool has_subnet, uint8_t *reply,
                     size_t len);

#endif
