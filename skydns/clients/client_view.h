/* Describes the client as far as answers depend on it: found once for each query, from the client's
 * address. Plain data, borrowed until publisher_leave. */
#ifndef SKYDNS_CLIENTS_CLIENT_VIEW_H
#define SKYDNS_CLIENTS_CLIENT_VIEW_H

#include "skydns/clients/client_index.h"
#include "skydns/clients/visibility.h"

struct client_view {
    const struct client_space *space;    /* its namespace; NULL: not known, or not needed */
    const struct visibility *visibility; /* what hides names from it; NULL: nothing does */
    const struct client_name *zone;      /* its zone; NULL: not known, or not needed */
};

#endif
