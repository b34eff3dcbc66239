/* Reads the events of GET /live of one of our programs, over a socket that never blocks.
 *
 * It connects again every second while the program is gone. Its owner polls. One thread. */
#ifndef COMMON_LIVE_LIVE_CLIENT_INTERNAL_H
#define COMMON_LIVE_LIVE_CLIENT_INTERNAL_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/addr.h"
#include "common/base/attributes.h"
#include "common/base/buf.h"
#include "common/live/live_event.h"

struct live_client;

/* Creates a client, which connects in the first live_client_step. A wildcard stands for this
 * machine. */
struct live_client *live_client_new(const struct addr *server, int64_t now_ms);
void live_client_free(struct live_client *client); /* NULL is fine */

/* Returns the address of the program. */
const struct addr *live_client_server(const struct live_client *client);

/* Returns the descriptor to poll, -1 while there is none. Also returns the time to call
 * live_client_step at the latest. */
int live_client_fd(const struct live_client *client, short *ret_events);
int64_t live_client_due_ms(const struct live_client *client);

/* Does what can be done without waiting. Returns the next event, which the caller owns and calls
 * again, or NULL. */
struct live_node *live_client_step(struct live_client *client, int64_t now_ms);

/* Returns since when nothing comes, and why; 0: something does. */
int64_t live_client_away_since_ms(const struct live_client *client);
const char *live_client_why(const struct live_client *client);

/* For live_page_client.c, too: begins to connect, and fills in a GET of the target. Returns the
 * socket, or -errno. */
int live_client_dial(const struct addr *server, const char *target, struct buf *request) MUST_CHECK;

/* Returns whether an errno of send or recv says to try again later. */
bool live_client_is_later(int number);

#endif
