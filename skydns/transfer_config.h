/* Makes the configuration that zones are listed by (zone_answers.h): a copy of the published one
 * without what makes answers differ from client to client, or depend on upstreams, or on time.
 * Pure. */
#ifndef SKYDNS_TRANSFER_CONFIG_H
#define SKYDNS_TRANSFER_CONFIG_H

#include <stdint.h>

#include "skydns/publish/engine_config.h"

/* Returns the configuration, which the caller frees: engine_config_free. */
struct engine_config *transfer_config(const struct engine_config *published);

/* Hashes all settings that the zones depend on beside the records. Equal for all readers with the
 * same settings, wherever those come from. */
uint64_t transfer_config_hash(const struct engine_config *config);

#endif
