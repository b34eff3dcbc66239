/* Prepares the configuration's part about clients for the threads that answer: who clients are,
 * what they may see, and the secrets of the cookies they get. Passes the index and lists on from
 * one publication to the next, since those of a large cluster take a while to index. Main thread.
 *
 *     store_sync --index, lists--> client_settings_fill --> engine_config --> answering threads
 *
 * With -visibility=own nothing is shown by accident. Before the lists are known, what they would
 * show is hidden; before the index is known, no client has a namespace, and none sees all. */
#ifndef SKYDNS_CONFIG_CLIENT_SETTINGS_INTERNAL_H
#define SKYDNS_CONFIG_CLIENT_SETTINGS_INTERNAL_H

#include <stddef.h>

#include "skydns/clients/client_index.h"
#include "skydns/clients/visibility.h"
#include "skydns/publish/cookie_secrets.h"
#include "skydns/publish/engine_config.h"
#include "skydns/settings/options.h"

struct client_settings;

struct client_settings *client_settings_new(void);
void client_settings_free(struct client_settings *settings); /* NULL is fine */

/* Sets the index that tells whose client an address is; borrowed for good. Counts from the next
 * fill on. */
void client_settings_set_index(struct client_settings *settings, const struct client_index *index);

/* Sets the namespaces that list who sees them; copied. Counts from the next fill on. */
void client_settings_set_listed(struct client_settings *settings,
                                const struct visible_namespace *listed, size_t count);

/* Sets the secrets of cookies; at first, one of this process alone. Counts from the next fill
 * on. */
void client_settings_set_cookies(struct client_settings *settings,
                                 const struct cookie_secrets *secrets);

/* Adds what these options say to a configuration that is to be published: references of its own.
 * knows_clients: a client without a namespace has none. Otherwise it may have one, and sees what is
 * public, whatever -visibility-unknown says. */
void client_settings_fill(struct client_settings *settings, const struct options *options,
                          bool knows_clients, struct engine_config *config);

#endif
