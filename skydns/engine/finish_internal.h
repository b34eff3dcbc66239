/* What ends a response, behind all that its answer is: the options of its OPT record that belong to
 * the client and its transport rather than to the answer. They are appended in the order of what
 * they may cost: a cookie (cookie.h), for which the answer has left room; as room is left, how long
 * an idle connection stays open (RFC 7828), and padding (RFC 7830, RFC 8467). A TSIG record comes
 * last (tsig_envelope_internal.h), and excludes the latter two: the room for it is known, not its
 * length. engine.c calls this. Pure; any thread. */
#ifndef SKYDNS_ENGINE_FINISH_INTERNAL_H
#define SKYDNS_ENGINE_FINISH_INTERNAL_H

#include <stdint.h>

#include "skydns/publish/engine_config.h"
#include "skydns/wire/query.h"
#include "skydns/wire/response.h"

/* RFC 8467 4.1: padded responses have a multiple of this length. */
enum { FINISH_PADDING_BLOCK = 468 };

/* Which of the options that the parsed query asks for its response gets, as EDNS_ASKS_...: padding
 * over TLS, HTTPS, and HTTP, which a proxy may encrypt; keepalive over TLS. */
uint8_t finish_gets(const struct engine_config *config, const struct engine_query *query);

/* Appends what the query `gets` to a response whose OPT record ends it. */
void finish_options(const struct cookie_secrets *secrets, const struct engine_query *query,
                    struct response *response);

#endif
