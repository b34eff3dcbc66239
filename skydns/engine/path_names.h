/* The names that a question's search path has, for whoever explains answers (path_internal.h).
 * Pure; any thread. */
#ifndef SKYDNS_ENGINE_PATH_NAMES_H
#define SKYDNS_ENGINE_PATH_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/dns/dname.h"
#include "skydns/clients/client_index.h"
#include "skydns/publish/engine_config.h"

/* The cluster's, those of -search, the bare name. */
enum { PATH_NAMES_MAX = 3 + ENGINE_SEARCH_MAX + 1 };

struct path_names {
    size_t count;                       /* 0: the question has no search path */
    struct dname names[PATH_NAMES_MAX]; /* the first is the question's; len 0: one that is too long,
                                         * which is passed over */
};

/* `space` NULL: the client has no namespace. */
void path_names_find(const struct engine_config *config, const struct client_space *space,
                     const struct dname *name, uint16_t type, struct path_names *ret);

#endif
