#include "skydns/past/past_history_internal.h"

#include <inttypes.h>
#include <stdlib.h>

#include "common/base/err.h"
#include "common/base/json_text.h"
#include "common/base/xalloc.h"
#include "common/dns/record.h"
#include "skydns/pages/explain_page.h"
#include "skydns/pages/metrics_table.h"
#include "skydns/past/name_history_internal.h"
#include "skydns/past/past_horizon_internal.h"
#include "skydns/past/past_job_internal.h"
#include "skydns/sync/revision_marks.h"
#include "skydns/sync/store_sync.h"

struct past_history {
    struct past_job job;
    struct dname name;
    struct name_history *history;
    struct past_horizon *horizon; /* etcd's history is shorter than what was asked */
    bool is_compacted;
    uint64_t data_set; /* at the begin */
    int64_t from;
};

static void drop_history(void *data)
{
    struct past_history *p = data;
    name_history_free(p->history);
    past_horizon_free(p->horizon);
    p->history = NULL;
    p->horizon = NULL;
}

struct past_history *past_history_new(struct past_desk *desk)
{
    struct past_history *p = xcalloc(1, sizeof(*p));
    past_job_init(&p->job, desk, PAST_HISTORY, drop_history, p);
    return p;
}

void past_history_free(struct past_history *history)
{
    past_job_fini(&history->job);
    free(history);
}

/* ---- The page ---- */

/* Appends when this server reached a revision, if that is known: the first mark may be much later
 * than a revision before it. */
static void put_time_of(const struct past_history *p, int64_t revision, struct buf *out)
{
    const struct revision_marks *marks = store_sync_marks(p->job.desk->sources->sync);
    const struct revision_mark *mark = revision_marks_at_revision(marks, revision);
    const bool is_known =
        mark && (mark != revision_marks_at_revision(marks, 1) || mark->revision == revision);
    if (is_known) {
        json_text_time_fields(out, mark->time_ms);
    }
}

static void put_name_change(const struct past_history *p, const struct name_change *change,
                            struct buf *out)
{
    buf_append_char(out, '{');
    put_time_of(p, change->revision, out);
    json_text_number_field(out, "revision", (uint64_t)change->revision);
    json_text_slice_field(out, "key", change->key);
    if (change->before.ptr) {
        json_text_slice_field(out, "before", change->before);
    }
    if (change->after.ptr) {
        json_text_slice_field(out, "after", change->after);
    }
    buf_append_char(out, '}');
}

static void past_history_write(const struct past_history *p, struct buf *out)
{
    buf_append_char(out, '{');
    dname_json_field(out, "name", &p->name);
    json_text_string_field(out, "since", p->job.asked);
    json_text_open(out, "from", '{');
    json_text_number_field(out, "revision", (uint64_t)p->from);
    put_time_of(p, p->from, out);
    buf_append_char(out, '}');
    if (p->is_compacted || p->job.is_late) {
        json_text_string_field(out, "cut", p->is_compacted ? "compacted" : "unmarked");
    }
    json_text_number_field(out, "to", (uint64_t)name_history_to(p->history));
    json_text_open(out, "changes", '[');
    const struct name_change *newest = name_history_newest(p->history);
    for (const struct name_change *change = newest; change; change = change->older) {
        buf_append_str(out, change == newest ? "\n " : ",\n ");
        put_name_change(p, change, out);
    }
    buf_append_char(out, ']');
    if (name_history_left_out(p->history) > 0) {
        json_text_number_field(out, "more", name_history_left_out(p->history));
    }
    buf_append_str(out, "}\n");
}

/* ---- Reading ---- */

static void read_history(struct past_history *p);

static void past_history_on_horizon(void *data, int64_t oldest)
{
    struct past_history *p = data;
    struct err err;
    if (oldest <= p->from) { /* compacted again, or not known */
        err_set(&err, ERR_UNAVAILABLE, "etcd's history is being compacted");
        past_job_fail(&p->job, &err);
        return;
    }
    p->from = oldest;
    p->is_compacted = true;
    read_history(p);
}

static void past_history_on_read(void *data, const struct err *err)
{
    struct past_history *p = data;
    const struct past_desk *desk = p->job.desk;
    struct http_reply reply;
    if (err && err->code == ERR_COMPACTED) {
        name_history_free(p->history);
        p->history = NULL;
        past_horizon_free(p->horizon);
        p->horizon = past_job_find_horizon(&p->job, past_history_on_horizon, p);
        return;
    }
    struct err changed;
    if (!err && (p->data_set != store_sync_data_set(desk->sources->sync) ||
                 !store_sync_is_caught_up(desk->sources->sync))) {
        err_set(&changed, ERR_UNAVAILABLE, "etcd changed while its history was read");
        err = &changed;
    }
    if (err) {
        past_job_fail(&p->job, err);
        return;
    }
    http_reply_init(&reply);
    reply.content_type = "application/json";
    past_history_write(p, &reply.body);
    past_job_answer(&p->job, &reply);
}

static void read_history(struct past_history *p)
{
    const struct slice prefix = store_sync_prefix(p->job.desk->sources->sync);
    struct dname name = p->name;
    struct buf key;
    dname_lower(&name);
    buf_init(&key, prefix.len + DNAME_MAX);
    record_key_of(prefix, &name, &key);
    name_history_free(p->history);
    p->history = name_history_read(&(struct name_history_config){
        .loop = p->job.desk->loop,
        .etcd = p->job.desk->etcd,
        .prefix = prefix,
        .key = buf_slice(&key),
        .from = p->from,
        .done = past_history_on_read,
        .data = p,
    });
    buf_fini(&key);
}

void past_history_reply(struct past_history *p, const struct http_request *request,
                        struct http_reply *reply)
{
    struct dname asked;
    struct err err;
    const char *name = http_request_arg(request, "name");
    const char *since = http_request_arg(request, "since");
    const struct past_question question = {.when = since ? since : "1h", .begins_late = true};
    if (!http_request_reads(request, reply)) {
        return;
    }
    if (!name || !dname_from_text(slice_str(name), &asked) || asked.len <= 1) {
        err_set(&err, ERR_USAGE, "name `%s`: expected one like web.default.svc.cluster.local",
                name ? name : "");
        past_job_reject(&p->job, reply, &err);
        return;
    }
    if (past_job_begin(&p->job, &question, request, reply)) {
        p->name = asked;
        p->from = p->job.at.revision;
        p->is_compacted = false;
        p->data_set = store_sync_data_set(p->job.desk->sources->sync);
        read_history(p);
    }
}
