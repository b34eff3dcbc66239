/* Lists the candidate names of a question's search list, for explanations (search_list_internal.h).
 * Pure; any thread. */
#ifndef SKYDNS_ENGINE_SEARCH_LIST_H
#define SKYDNS_ENGINE_SEARCH_LIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/dns/dname.h"
#include "skydns/clients/client_index.h"
#include "skydns/publish/engine_config.h"

/* The candidate names: three of the cluster, those of -search, the bare name. */
enum {
    PATH_NAMES_FIRST_SEARCH = 3,
    SEARCH_LIST_NAMES_MAX = PATH_NAMES_FIRST_SEARCH + ENGINE_SEARCH_MAX + 1
};

/* Returns whether the search goes on after a candidate name that exists without such data. In a
 * domain of -search it does, as a resolver's does: an external name may have the data. In the
 * cluster's own domains, the name that exists is the one meant: its other addresses are the answer.
 */
static inline bool search_list_names_pass_no_data(size_t place, size_t places)
{
    return place >= PATH_NAMES_FIRST_SEARCH && place + 1 < places;
}

struct search_list_names {
    size_t count;                              /* 0: the question has no search list */
    struct dname names[SEARCH_LIST_NAMES_MAX]; /* the first is the question's; len 0: one that is
                                                * too long, which is skipped */
};

/* Lists the candidate names. `space` NULL: the client has no namespace. */
void search_list_names_find(const struct engine_config *config, const struct client_space *space,
                            const struct dname *name, uint16_t type, struct search_list_names *ret);

#endif
