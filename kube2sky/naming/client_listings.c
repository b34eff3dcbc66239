#include "kube2sky/naming/client_listings_internal.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/xalloc.h"

void client_listings_init(struct client_listings *listings, const char *const *namespaces,
                          size_t count)
{
    listings->count = count ? count : 1;
    listings->items = xcalloc(listings->count, sizeof(*listings->items));
    for (size_t i = 0; i < listings->count; i++) {
        listings->items[i].ns = count ? namespaces[i] : "";
    }
}

void client_listings_fini(struct client_listings *listings)
{
    free(listings->items);
    listings->items = NULL;
    listings->count = 0;
}

struct client_listing *client_listings_find(const struct client_listings *listings, const char *ns)
{
    struct client_listing *found = NULL;
    for (size_t i = 0; i < listings->count && !found; i++) {
        struct client_listing *listing = &listings->items[i];
        found = !*listing->ns || strcmp(listing->ns, ns) == 0 ? listing : NULL;
    }
    return found;
}

bool client_listings_is_any_open(const struct client_listings *listings)
{
    bool is_open = false;
    for (size_t i = 0; i < listings->count && !is_open; i++) {
        is_open = listings->items[i].is_listing;
    }
    return is_open;
}

bool client_listings_are_read(const struct client_listings *listings)
{
    bool are_read = true;
    for (size_t i = 0; i < listings->count && are_read; i++) {
        const struct client_listing *listing = &listings->items[i];
        are_read = listing->is_listed || listing->wants_first || listing->is_lacking;
    }
    return are_read;
}

bool client_listings_are_known(const struct client_listings *listings)
{
    bool are_known = true;
    for (size_t i = 0; i < listings->count && are_known; i++) {
        are_known = listings->items[i].is_listed && !listings->items[i].wants_first;
    }
    return are_known;
}

void client_listing_begin(struct client_listing *listing)
{
    listing->generation++;
    listing->is_listing = true;
    listing->has_any = false;
}

static void client_listing_believe(struct client_listing *listing)
{
    listing->is_listed = true;
    listing->wants_first = false;
}

bool client_listing_end(struct client_listing *listing, bool believes_empty)
{
    bool is_believed = listing->has_any || believes_empty;
    listing->is_listing = false;
    if (is_believed) {
        client_listing_believe(listing);
    } else {
        listing->wants_first = true;
    }
    return is_believed;
}

bool client_listing_came(struct client_listing *listing)
{
    bool is_first = listing->wants_first && !listing->is_listing;
    listing->has_any = true;
    if (is_first) {
        client_listing_believe(listing);
    }
    return is_first;
}
