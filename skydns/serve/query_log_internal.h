/* Lines about queries: the one that -verbose writes for each answered query, with name, type,
 * client, transport and rcode; and an hourly one about clients that may not ask. Any thread. */
#ifndef SKYDNS_SERVE_QUERY_LOG_INTERNAL_H
#define SKYDNS_SERVE_QUERY_LOG_INTERNAL_H

#include <stddef.h>
#include <stdint.h>

#include "skydns/answer/query.h"

/* Logs a query with an unreadable question without name and type. */
void query_log(const struct engine_query *query, const uint8_t *reply, size_t reply_len);

/* Tells the operator, once an hour, that a client outside -allow was refused. */
void query_log_not_allowed(const struct addr *client);

#endif
