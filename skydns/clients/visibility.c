#include "skydns/clients/visibility.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "common/base/xalloc.h"

struct visibility {
    _Atomic unsigned references;
    enum visibility_unknown unknown;
};

struct visibility *visibility_new(enum visibility_unknown unknown, const struct slice *public_names,
                                  size_t public_count, const struct visible_namespace *listed,
                                  size_t listed_count)
{
    struct visibility *v = xcalloc(1, sizeof(*v));
    (void)public_names;
    (void)public_count;
    (void)listed;
    (void)listed_count;
    v->references = 1;
    v->unknown = unknown;
    return v;
}

struct visibility *visibility_ref(struct visibility *visibility)
{
    if (visibility) {
        atomic_fetch_add_explicit(&visibility->references, 1, memory_order_relaxed);
    }
    return visibility;
}

void visibility_unref(struct visibility *visibility)
{
    if (visibility &&
        atomic_fetch_sub_explicit(&visibility->references, 1, memory_order_acq_rel) == 1) {
        free(visibility);
    }
}

bool visibility_shows(const struct visibility *visibility, struct slice ns,
                      const struct client_space *client)
{
    return slice_equal(client_space_label(client), ns) ||
           (!client && visibility->unknown == VISIBILITY_UNKNOWN_ALL);
}
