#include "skydns/upstream/tcp_places_internal.h"

#include "skydns/clients/client_loads.h"
#include "skydns/upstream/forwarder_counts.h"

void tcp_places_init(struct tcp_places *places, struct forwarder_counts *counts)
{
    *places = (struct tcp_places){.counts = counts, .loads = client_loads_new()};
}

void tcp_places_fini(struct tcp_places *places)
{
    client_loads_free(places->loads);
}

size_t tcp_places_taken(const struct tcp_places *places)
{
    return counter_get(&places->counts->tcp);
}

bool tcp_places_take(struct tcp_places *places, size_t *zone_taken, const struct addr *client)
{
    struct forwarder_counts *counts = places->counts;
    const size_t left = TCP_PLACES_MAX - tcp_places_taken(places);
    const bool may_zone = !places->are_zones_many || *zone_taken < left;
    if (!may_zone || !client_loads_take(places->loads, client, left)) {
        counter_add(&counts->tcp_refused, 1);
        return false;
    }
    ++*zone_taken;
    counter_add(&counts->tcp, 1);
    counter_add(&counts->tcp_retries, 1);
    return true;
}

void tcp_places_return(struct tcp_places *places, size_t *zone_taken, const struct addr *client)
{
    --*zone_taken;
    client_loads_drop(places->loads, client);
    counter_sub(&places->counts->tcp, 1);
}
