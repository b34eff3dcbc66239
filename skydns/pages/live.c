#include "skydns/pages/live.h"

#include <stdlib.h>

#include "common/base/xalloc.h"
#include "skydns/pages/live_figures_internal.h"
#include "skydns/pages/top_names_internal.h"
#include "skydns/tap/name_samples.h"
#include "skydns/tap/query_tap.h"

/* Built from skydns/page. */
extern const struct page skydns_page;

struct live {
    const struct metrics_sources *sources;
    struct live_page *page;
    struct top_names top; /* since somebody looks */
};

static void take_samples(struct live *live)
{
    struct name_sample sample;
    while (live->sources->tap && name_samples_take(live->sources->tap->samples, &sample)) {
        top_names_add(&live->top, &sample.name, sample.type);
    }
}

static void build(void *data, struct buf *line)
{
    struct live *live = data;
    take_samples(live);
    live_figures_write(live->sources, &live->top, line);
}

static void on_watched(void *data, bool is_watched)
{
    struct live *live = data;
    take_samples(live); /* old ones */
    live->top = (struct top_names){0};
    if (live->sources->tap) {
        query_tap_set_sampling(live->sources->tap, is_watched);
    }
}

struct live *live_new(struct ev_loop *loop, const struct metrics_sources *sources)
{
    struct live *live = xcalloc(1, sizeof(*live));
    live->sources = sources;
    live->page = live_page_new(
        &skydns_page, &(struct http_events_config){
                          .loop = loop, .build = build, .watched = on_watched, .data = live});
    return live;
}

void live_free(struct live *live)
{
    if (live) {
        live_page_free(live->page);
        free(live);
    }
}

void live_routes(struct live *live, struct http_route routes[LIVE_PAGE_ROUTES])
{
    live_page_routes(live->page, routes);
}
