/* Who may ask at all (-allow). Remembers the network of the last client, so that one network of
 * many costs what one costs. One per engine; that engine's thread only. */
#ifndef SKYDNS_ENGINE_ADMISSION_INTERNAL_H
#define SKYDNS_ENGINE_ADMISSION_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>

#include "common/base/addr.h"
#include "skydns/publish/engine_config.h"

struct admission {
    size_t last; /* the network of the last client admitted */
};

/* Whether one of the networks that may ask has it. */
bool admission_contains(struct admission *admission, const struct engine_config *config,
                        const struct addr *client);

static inline bool admission_admits(struct admission *admission, const struct engine_config *config,
                                    const struct addr *client)
{
    return !config->settings.is_restricted || admission_contains(admission, config, client);
}

#endif
