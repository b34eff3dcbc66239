#include "skydns/pages/live.h"

#include <stdlib.h>

#include "common/base/xalloc.h"
#include "common/http/http_events.h"
#include "common/page/page.h"
#include "skydns/pages/live_figures_internal.h"
#include "skydns/pages/top_names_internal.h"
#include "skydns/serve/name_samples.h"
#include "skydns/serve/query_tap.h"

/* Built from skydns/page. */
extern const struct page skydns_page;

struct live {
    const struct metrics_sources *sources;
    struct http_events *events;
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

static void on_page(void *data UNUSED, const struct http_request *request, struct http_reply *reply)
{
    page_reply(&skydns_page, request, reply);
}

static void on_live(void *data, const struct http_request *request, struct http_reply *reply)
{
    const struct live *live = data;
    http_events_reply(live->events, request, reply);
}

struct live *live_new(struct ev_loop *loop, const struct metrics_sources *sources)
{
    struct live *live = xcalloc(1, sizeof(*live));
    live->sources = sources;
    live->events = http_events_new(&(struct http_events_config){
        .loop = loop, .build = build, .watched = on_watched, .data = live});
    return live;
}

void live_free(struct live *live)
{
    if (live) {
        http_events_free(live->events);
        free(live);
    }
}

void live_routes(struct live *live, struct http_route routes[LIVE_ROUTES])
{
    routes[0] = (struct http_route){"/", on_page, live};
    routes[1] = (struct http_route){"/live", on_live, live};
}
