#include "common/base/addr.h"

#include "skydns/engine/admission_internal.h"

bool admission_contains(struct admission *admission, const struct engine_config *config,
                        const struct addr *client)
{
    const struct ip ip = addr_ip(client);
    if (admission->last < config->settings.admitted_count &&
        network_contains(&config->settings.admitted[admission->last], &ip)) {
        return true;
    }
    for (size_t i = 0; i < config->settings.admitted_count; i++) {
        if (network_contains(&config->settings.admitted[i], &ip)) {
            admission->last = i;
            return true;
        }
    }
    return false;
}
