#include "skydns/upstream/tcp_places_internal.h"

#include "common/base/fair_queue.h"
#include "skydns/upstream/forwarder_counts.h"

void tcp_places_init(struct tcp_places *places, struct forwarder_counts *counts)
{
    *places = (struct tcp_places){
        .counts = counts, .loads = client_loads_new(), .listening_loads = client_loads_new()};
}

void tcp_places_fini(struct tcp_places *places)
{
    client_loads_free(places->loads);
    client_loads_free(places->listening_loads);
}

bool tcp_places_take(struct tcp_places *places, struct tcp_zone *zone, const struct addr *client)
{
    struct forwarder_counts *counts = places->counts;
    const size_t left = TCP_PLACES_MAX - counter_get(&counts->tcp);
    const bool may_zone = !places->are_zones_many || zone->taken < left;
    if (!may_zone || !client_loads_take(places->loads, client, left)) {
        counter_add(&counts->tcp_refused, 1);
        return false;
    }
    zone->taken++;
    counter_add(&counts->tcp, 1);
    return true;
}

void tcp_places_return(struct tcp_places *places, struct tcp_zone *zone, const struct addr *client)
{
    zone->taken--;
    client_loads_drop(places->loads, client);
    counter_sub(&places->counts->tcp, 1);
}

bool tcp_places_listen(struct tcp_places *places, struct tcp_zone *zone, const struct addr *client)
{
    const size_t left = TCP_LISTENERS_MAX - places->listening;
    const bool may_zone = !places->are_zones_many || zone->listening < left;
    if (!may_zone || !client_loads_take(places->listening_loads, client, left)) {
        return false;
    }
    zone->listening++;
    places->listening++;
    return true;
}

void tcp_places_unlisten(struct tcp_places *places, struct tcp_zone *zone,
                         const struct addr *client)
{
    zone->listening--;
    places->listening--;
    client_loads_drop(places->listening_loads, client);
}
