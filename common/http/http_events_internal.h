/* Sends a response that is a stream of events on its connection (http_events.h). */
#ifndef COMMON_HTTP_HTTP_EVENTS_INTERNAL_H
#define COMMON_HTTP_HTTP_EVENTS_INTERNAL_H

#include "common/base/addr.h"
#include "common/base/slice.h"
#include "common/http/http_events.h"

/* Returns NULL if this client may have another stream; else a line that says why not. */
const char *http_events_refusal(const struct http_events *events, const struct ip *client);

/* Takes ownership of the descriptor, on which the head is sent first. Only when not refused. */
void http_events_add(struct http_events *events, int fd, const struct ip *client,
                     struct slice head);

#endif
