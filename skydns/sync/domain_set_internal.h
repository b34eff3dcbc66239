/* Holds what client_marks and writer_documents keep for each domain in force: items that begin with
 * the domain's name, owned by the caller. When the domains change, those that stay move into the
 * next set and lose nothing. Pure. */
#ifndef SKYDNS_SYNC_DOMAIN_SET_INTERNAL_H
#define SKYDNS_SYNC_DOMAIN_SET_INTERNAL_H

#include <stddef.h>

#include "common/dns/dname.h"
#include "skydns/publish/engine_config.h"

struct domain_set {
    size_t count;
    void *items[ENGINE_ZONES_MAX]; /* each begins with a struct dname */
};

/* Returns where the domain's item is; count: it has none. */
static inline size_t domain_set_index(const struct domain_set *set, const struct dname *domain)
{
    size_t i = 0;
    while (i < set->count && !dname_equal(set->items[i], domain)) {
        i++;
    }
    return i;
}

/* Takes the domain's item out of the set; NULL: it has none. */
static inline void *domain_set_take(struct domain_set *set, const struct dname *domain)
{
    const size_t i = domain_set_index(set, domain);
    if (i == set->count) {
        return NULL;
    }
    void *item = set->items[i];
    set->items[i] = set->items[--set->count];
    return item;
}

#endif
