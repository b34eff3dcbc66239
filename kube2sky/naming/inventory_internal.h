/* Defines the state of an inventory, which inventory.c changes and inventory_view.c reads. */
#ifndef KUBE2SKY_NAMING_INVENTORY_INTERNAL_H
#define KUBE2SKY_NAMING_INVENTORY_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kube2sky/naming/inventory.h"
#include "kube2sky/naming/inventory_index_internal.h"

struct kind_state {
    uint32_t generation; /* number of the current or last list */
    bool is_wanted;
    bool is_listing;
    bool is_listed;
    bool is_lacking;  /* the kind could not be listed: nothing waits for it */
    bool wants_first; /* the list lacked default/kubernetes, or any pod or Node */
    bool has_any;     /* the current list has named an object */
    bool has_news;    /* Namespaces: the current list has brought or lost one */
};

struct inventory {
    struct inventory_config config;
    struct index index;
    struct kind_state kinds[KUBE_KIND_COUNT];
    enum kube_kind source;      /* the source of headless Services' endpoints */
    enum kube_kind next_source; /* the next source, once it is listed; may be the same */
    bool is_settled;            /* no key of another source is to be preserved */
    uint64_t completions;       /* lists that were believed */
    struct inventory **parts;   /* one per namespace; without namespaces, only itself */
    size_t part_count;
};

/* Returns the namespace's part; NULL: the namespace is not listed. */
struct inventory *inventory_find_part(const struct inventory *inventory, struct slice ns);

#endif
