/* The state of an inventory, which inventory.c changes and inventory_view.c reads. */
#ifndef KUBE2SKY_NAMING_INVENTORY_INTERNAL_H
#define KUBE2SKY_NAMING_INVENTORY_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kube2sky/naming/inventory.h"
#include "kube2sky/naming/inventory_index_internal.h"

struct kind_state {
    uint32_t generation; /* of the current or last list */
    bool is_wanted;
    bool is_listing;
    bool is_listed;
    bool is_lacking;  /* it could not be listed: not waited for */
    bool wants_first; /* the list lacked default/kubernetes, or any pod or Node */
    bool has_any;     /* since the list began, an object came */
};

struct inventory {
    struct inventory_config config;
    struct index index;
    struct kind_state kinds[KUBE_KIND_COUNT];
    enum kube_kind source;      /* the source of headless Services' endpoints */
    enum kube_kind next_source; /* the next source, once it is listed; may be the same */
    bool is_settled;            /* nothing of another source is worth keeping */
    uint64_t completions;       /* lists that were believed */
    struct inventory **parts;   /* of the namespaces; without any, itself alone */
    size_t part_count;
};

/* The namespace's part; NULL: it is none of them. */
struct inventory *inventory_find_part(const struct inventory *inventory, struct slice ns);

#endif
