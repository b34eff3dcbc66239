#include "kube2sky/live.h"

#include <stdlib.h>

#include "common/base/attributes.h"
#include "common/base/xalloc.h"
#include "common/http/http_events.h"
#include "common/page/page.h"

/* Built from kube2sky/page. */
extern const struct page kube2sky_page;

struct live {
    const struct metrics_sources *sources;
    struct http_events *events;
};

static void build(void *data, struct buf *line)
{
    const struct live *live = data;
    live_figures_write(live->sources, line);
}

static void on_page(void *data UNUSED, const struct http_request *request, struct http_reply *reply)
{
    page_reply(&kube2sky_page, request, reply);
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
    live->events =
        http_events_new(&(struct http_events_config){.loop = loop, .build = build, .data = live});
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
