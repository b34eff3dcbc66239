/* The configuration that zones are listed by (zone_answers.h): a copy of the published one without
 * what makes answers differ from client to client, or depend on other nameservers, or on time.
 * Pure.
 */
#ifndef SKYDNS_TRANSFER_CONFIG_H
#define SKYDNS_TRANSFER_CONFIG_H

#include <stdbool.h>

#include "skydns/publish/engine_config.h"

/* Owned by the caller: engine_config_free. */
struct engine_config *transfer_config(const struct engine_config *published);

/* Whether both, made by transfer_config, list the same zones alike. */
bool transfer_config_same(const struct engine_config *a, const struct engine_config *b);

#endif
