/* Reads a JSON page of one of our programs again and again, over a socket that never blocks.
 *
 * For what /live does not have: pages that not every client may read. Its owner polls. One
 * thread. */
#ifndef COMMON_LIVE_LIVE_PAGE_CLIENT_INTERNAL_H
#define COMMON_LIVE_LIVE_PAGE_CLIENT_INTERNAL_H

#include <stdint.h>

#include "common/base/addr.h"
#include "common/live/live_event.h"
#include "common/live/live_screen.h"

struct live_page_client;

/* Creates a client, which asks in the first live_page_client_step. The page is borrowed. */
struct live_page_client *live_page_client_new(const struct addr *server,
                                              const struct live_source *source);
void live_page_client_free(struct live_page_client *client); /* NULL is fine */

/* Returns the descriptor to poll, -1 while there is none. */
int live_page_client_fd(const struct live_page_client *client, short *ret_events);

/* Does what can be done without waiting. Asks again some seconds after the last answer or failure;
 * a failure drops the page. */
void live_page_client_step(struct live_page_client *client, int64_t now_ms);

/* Puts the page into an event, under the source's name, if there is one. */
void live_page_client_put(const struct live_page_client *client, struct live_node *event);

#endif
