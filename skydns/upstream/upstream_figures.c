#include "skydns/upstream/upstream_figures.h"

size_t upstream_figures_count(const struct upstream_figures *figures)
{
    return atomic_load_explicit(&figures->count, memory_order_acquire);
}

struct upstream_figure *upstream_figures_of(struct upstream_figures *figures,
                                            const struct dname *zone,
                                            const struct nameserver *server)
{
    size_t count = upstream_figures_count(figures);
    for (size_t i = 0; i < count; i++) {
        struct upstream_figure *figure = &figures->items[i];
        if (nameserver_equal(&figure->server, server) && dname_equal(&figure->zone, zone)) {
            return figure;
        }
    }
    if (count == UPSTREAM_FIGURES_MAX) {
        return &figures->others;
    }
    figures->items[count].zone = *zone;
    figures->items[count].server = *server;
    atomic_store_explicit(&figures->count, count + 1, memory_order_release);
    return &figures->items[count];
}
