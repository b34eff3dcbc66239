#include "skydns/clients/client_loads.h"

#include <stdlib.h>

#include "common/base/client_net.h"
#include "common/base/key_table.h"
#include "common/base/xalloc.h"

struct load {
    struct client_net net;
    size_t count;
};

struct client_loads {
    struct key_table table;
};

static struct slice key_of(const void *thing)
{
    return client_net_key(&((const struct load *)thing)->net);
}

struct client_loads *client_loads_new(void)
{
    struct client_loads *loads = xcalloc(1, sizeof(*loads));
    key_table_init(&loads->table, key_of);
    return loads;
}

void client_loads_free(struct client_loads *loads)
{
    if (!loads) {
        return;
    }
    for (size_t at = 0; key_table_next(&loads->table, &at); at++) {
        free(loads->table.slots[at]);
    }
    key_table_fini(&loads->table);
    free(loads);
}

static struct load *find_or_add(struct client_loads *loads, const struct addr *client)
{
    const struct client_net net = client_net_of(client);
    struct load *load = key_table_find(&loads->table, client_net_key(&net));
    if (!load) {
        load = xcalloc(1, sizeof(*load));
        load->net = net;
        (void)key_table_put(&loads->table, load); /* it was not there */
    }
    return load;
}

size_t client_loads_add(struct client_loads *loads, const struct addr *client)
{
    return ++find_or_add(loads, client)->count;
}

bool client_loads_take(struct client_loads *loads, const struct addr *client, size_t free_places)
{
    struct load *load = free_places > 0 ? find_or_add(loads, client) : NULL;
    if (!load || load->count >= free_places) {
        return false; /* a load that is new has none, and there is room for it */
    }
    load->count++;
    return true;
}

void client_loads_drop(struct client_loads *loads, const struct addr *client)
{
    const struct client_net net = client_net_of(client);
    struct load *load = key_table_find(&loads->table, client_net_key(&net));
    if (--load->count == 0) {
        (void)key_table_take(&loads->table, client_net_key(&net)); /* this one */
        free(load);
    }
}
