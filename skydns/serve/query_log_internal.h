/* The line that -verbose writes for each answered query: name, type, client, transport, rcode. Any
 * thread. */
#ifndef SKYDNS_SERVE_QUERY_LOG_INTERNAL_H
#define SKYDNS_SERVE_QUERY_LOG_INTERNAL_H

#include <stddef.h>
#include <stdint.h>

#include "skydns/answer/query.h"

/* Logs a query with an unreadable question without name and type. */
void query_log(const struct engine_query *query, const uint8_t *reply, size_t reply_len);

#endif
