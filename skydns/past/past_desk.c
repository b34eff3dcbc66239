#include "skydns/past/past_desk.h"

#include <stdlib.h>

#include "common/base/xalloc.h"
#include "skydns/pages/explain.h"
#include "skydns/pages/explain_page.h"
#include "skydns/pages/metrics_table.h"
#include "skydns/pages/status.h"
#include "skydns/past/past_history_internal.h"
#include "skydns/past/past_job_internal.h"
#include "skydns/past/past_version_internal.h"
#include "skydns/publish/publisher.h"

/* ---- /explain?at= ---- */

struct past_explain {
    struct past_job job;
    struct past_version *version;
    char *name, *type, *client; /* of the question */
};

static void drop_explain(void *data)
{
    struct past_explain *p = data;
    past_version_free(p->version);
    p->version = NULL;
    free(p->name);
    free(p->type);
    free(p->client);
    p->name = p->type = p->client = NULL;
}

static struct past_explain *past_explain_new(struct past_desk *desk)
{
    struct past_explain *p = xcalloc(1, sizeof(*p));
    past_job_init(&p->job, desk, PAST_EXPLAIN, drop_explain, p);
    return p;
}

static void past_explain_free(struct past_explain *explain)
{
    past_job_fini(&explain->job);
    free(explain);
}

/* Writes with an explainer of its own: what one remembers of nodes is of one store's versions. */
static void past_explain_write(struct past_explain *p, struct http_reply *reply)
{
    const struct past_desk *desk = p->job.desk;
    struct explainer *explainer = explainer_new(&(struct explainer_sources){
        .sync = desk->sources->sync, .publisher = desk->sources->publisher});
    const struct explanation *explanation;
    struct err err;
    const struct explain_past past = {
        .store = past_version_store(p->version),
        .broken = past_version_broken(p->version),
        .asked = slice_str(p->job.asked),
        .at = p->job.at,
    };
    const struct explain_query query = {
        .name = p->name, .type = p->type, .client = p->client, .past = &past};
    if (explainer_explain(explainer, &query, &explanation, &err) < 0) {
        explain_page_refuse(&err, reply);
    } else {
        explain_page_reply(explanation, p->job.is_text, reply);
    }
    explainer_free(explainer);
}

void past_explain_take_version(struct past_explain *p, const struct err *err)
{
    struct http_reply reply;
    if (err) {
        past_job_fail(&p->job, err);
        return;
    }
    http_reply_init(&reply);
    past_explain_write(p, &reply);
    past_job_answer(&p->job, &reply);
}

static char *past_explain_copy(const char *text)
{
    return xstrdup(text ? text : "");
}

static void past_explain_reply(struct past_explain *p, const struct http_request *request,
                               struct http_reply *reply)
{
    const struct past_desk *desk = p->job.desk;
    struct dname names[SEARCH_LIST_NAMES_MAX];
    struct past_version_config config = {
        .etcd = desk->etcd,
        .sync = desk->sources->sync,
        .publisher = desk->sources->publisher,
        .names = names,
        .owner = p,
    };
    struct err err;
    const struct explain_query query = explain_page_query(request);
    if (explain_names_of(publisher_newest_config(desk->sources->publisher), &query, names,
                         &config.count, &config.type, &err) < 0) {
        past_job_reject(&p->job, reply, &err);
        return;
    }
    const struct past_question asked = {.when = http_request_arg(request, "at"),
                                        .is_text = http_request_arg(request, "text") != NULL};
    if (past_job_begin(&p->job, &asked, request, reply)) {
        p->name = past_explain_copy(query.name);
        p->type = past_explain_copy(query.type);
        p->client = past_explain_copy(query.client);
        config.revision = p->job.at.revision;
        p->version = past_version_read(&config);
    }
}

/* ---- The desk ---- */

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
