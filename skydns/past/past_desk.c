#include "skydns/past/past_desk.h"

#include <stdlib.h>

#include "common/base/xalloc.h"
#include "skydns/pages/metrics_table.h"
#include "skydns/pages/status.h"
#include "skydns/past/past_explain_internal.h"
#include "skydns/past/past_history_internal.h"
#include "skydns/past/past_job_internal.h"

/* Room for the longest reply (http_server.h): they are made one at a time. */
enum { PAST_UNSENT_MAX = 16 * 1024 * 1024 };

struct past_desk *past_desk_new(struct ev_loop *loop, struct metrics_sources *sources,
                                struct etcd *etcd)
{
    struct past_desk *desk = xcalloc(1, sizeof(*desk));
    *desk = (struct past_desk){.loop = loop, .sources = sources, .etcd = etcd};
    desk->holder = http_holder_new(&(struct http_holder_config){
        .loop = loop,
        .max = PAST_HELD_MAX,
        .client_max = PAST_HELD_CLIENT_MAX,
        .unsent_max = PAST_UNSENT_MAX,
        .full = "answers about the past are not read; try again\n",
        .client_full = "this client does not read its answers about the past; try again\n",
        .gone = past_job_on_gone,
    });
    desk->explain = past_explain_new(desk);
    desk->history = past_history_new(desk);
    return desk;
}

void past_desk_free(struct past_desk *desk)
{
    if (desk) {
        http_holder_free(desk->holder); /* ends the jobs */
        past_explain_free(desk->explain);
        past_history_free(desk->history);
        free(desk);
    }
}

const struct past_counts *past_desk_counts(const struct past_desk *desk)
{
    return &desk->counts;
}

static void past_desk_on_explain(void *data, const struct http_request *request,
                                 struct http_reply *reply)
{
    const struct past_desk *desk = data;
    if (http_request_arg(request, "at")) {
        past_explain_reply(desk->explain, request, reply);
    } else {
        status_explain(desk->sources, request, reply);
    }
}

static void past_desk_on_history(void *data, const struct http_request *request,
                                 struct http_reply *reply)
{
    const struct past_desk *desk = data;
    past_history_reply(desk->history, request, reply);
}

void past_desk_routes(struct past_desk *desk, struct http_route routes[PAST_DESK_ROUTES])
{
    routes[0] = (struct http_route){"/explain", past_desk_on_explain, desk};
    routes[1] = (struct http_route){"/history", past_desk_on_history, desk};
}
