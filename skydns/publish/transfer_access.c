#include "skydns/publish/transfer_access.h"

/* A link-local address is another machine's on each interface. */
static bool has_scope_of(const struct addr *client, const struct addr *scoped)
{
    return scoped->sa.sa_family != AF_INET6 || scoped->v6.sin6_scope_id == 0 ||
           (client->sa.sa_family == AF_INET6 &&
            client->v6.sin6_scope_id == scoped->v6.sin6_scope_id);
}

static bool is_right(const struct transfer_who *who, const struct addr *client,
                     const struct dname *key)
{
    const struct ip ip = addr_ip(client);
    return (!who->has_network ||
            (network_contains(&who->network, &ip) && has_scope_of(client, &who->notify))) &&
           (!who->has_key || (key && dname_equal(&who->key, key)));
}

bool transfer_access_allows(const struct transfer_who *who, size_t count, const struct addr *client,
                            const struct dname *key)
{
    for (size_t i = 0; i < count; i++) {
        if (is_right(&who[i], client, key)) {
            return true;
        }
    }
    return false;
}
