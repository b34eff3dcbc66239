#include "skydns/publish/transfer_access.h"

static bool is_right(const struct transfer_who *who, const struct ip *client,
                     const struct dname *key)
{
    return (!who->has_network || network_contains(&who->network, client)) &&
           (!who->has_key || (key && dname_equal(&who->key, key)));
}

bool transfer_access_allows(const struct transfer_who *who, size_t count, const struct ip *client,
                            const struct dname *key)
{
    for (size_t i = 0; i < count; i++) {
        if (is_right(&who[i], client, key)) {
            return true;
        }
    }
    return false;
}
