#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/duration.h"
#include "common/base/err.h"
#include "common/base/json_text.h"
#include "common/base/timer.h"
#include "common/base/utc_time.h"
#include "common/base/xalloc.h"
#include "common/http/http_head.h"
#include "skydns/pages/explain_page.h"
#include "skydns/past/past_horizon_internal.h"
#include "skydns/past/past_job_internal.h"
#include "skydns/sync/revision_marks.h"
#include "skydns/sync/store_sync.h"

/* ---- Moments ---- */

enum {
    WHEN_MAX = 64, /* the longest time with its fraction is shorter */
    US_PER_MS = 1000,
    DIGITS_MAX = 18, /* of a number below 2^63 */
};

static bool parse_revision(const char *text, int64_t *ret_revision)
{
    const size_t len = strlen(text);
    int64_t revision = 0;
    if (len == 0 || len > DIGITS_MAX || strspn(text, "0123456789") != len) {
        return false;
    }
    for (size_t i = 0; i < len; i++) {
        revision = 10 * revision + (text[i] - '0');
    }
    *ret_revision = revision;
    return revision > 0;
}

int moment_parse(const char *text, int64_t now_ms, struct moment *ret, struct err *err)
{
    int64_t age_ms;
    *ret = (struct moment){.revision = 0};
    const bool is_short = strlen(text) <= WHEN_MAX;
    if (is_short && parse_revision(text, &ret->revision)) {
        return 0;
    }
    ret->time_ms = is_short ? utc_time_parse_us(slice_str(text)) / US_PER_MS : 0;
    if (is_short && ret->time_ms == 0 && strcmp(text, "0") != 0 &&
        duration_parse_ms(text, &age_ms) && age_ms >= 0 && age_ms < now_ms) {
        ret->time_ms = now_ms - age_ms;
    }
    if (ret->time_ms > now_ms) {
        return err_set(err, ERR_USAGE, "`%s` is still to come: expected a time before now", text);
    }
    if (ret->time_ms == 0) {
        return err_set(err, ERR_USAGE,
                       "`%.*s`: expected a revision like 1234, a time like 2026-05-01T03:12:00Z or "
                       "an age like 10m",
                       WHEN_MAX, text);
    }
    return 0;
}

bool moment_find(const struct moment *moment, const struct revision_marks *marks,
                 struct moment_found *ret)
{
    const struct revision_mark *mark = moment->revision > 0
                                           ? revision_marks_at_revision(marks, moment->revision)
                                           : revision_marks_at_time(marks, moment->time_ms);
    *ret = (struct moment_found){.revision = moment->revision, .has_mark = mark != NULL};
    if (mark) {
        ret->mark_ms = mark->time_ms;
        ret->mark_revision = mark->revision;
        ret->revision = moment->revision > 0 ? moment->revision : mark->revision;
    }
    return ret->revision > 0;
}

/* ---- Jobs ---- */

static void end_past_job(struct past_job *job)
{
    ev_timer_stop(job->desk->loop, &job->deadline);
    past_horizon_free(job->horizon);
    job->horizon = NULL;
    free(job->asked);
    job->asked = NULL;
    job->is_busy = false;
    job->drop(job->data);
}

void past_job_on_gone(void *job)
{
    end_past_job(job);
}

static void past_job_on_deadline(struct ev_loop *loop UNUSED, ev_timer *timer, int events UNUSED)
{
    struct err err;
    err_set(&err, ERR_TIMEOUT, "etcd took longer than %d s to tell its history",
            PAST_JOB_MS / 1000);
    past_job_fail(timer->data, &err);
}

void past_job_init(struct past_job *job, struct past_desk *desk, enum past_page page,
                   void (*drop)(void *data), void *data)
{
    *job = (struct past_job){.desk = desk, .page = page, .drop = drop, .data = data};
    timer_init(&job->deadline, past_job_on_deadline, job);
}

void past_job_fini(struct past_job *job)
{
    assert(!job->is_busy);
    ev_timer_stop(job->desk->loop, &job->deadline);
}

/* ---- Errors ---- */

static void count_past(const struct past_job *job, enum past_result result)
{
    job->desk->counts.results[job->page][result]++;
}

static enum past_result past_result_of(int status)
{
    return status == HTTP_OK            ? PAST_ANSWERED
           : status == HTTP_GONE        ? PAST_GONE
           : status == HTTP_BAD_REQUEST ? PAST_BAD
           : status == HTTP_NO_ROOM     ? PAST_TOO_LARGE
                                        : PAST_FAILED;
}

static void fill_busy(struct http_reply *reply, const char *why)
{
    reply->status = HTTP_UNAVAILABLE;
    reply->fields = "Retry-After: 1\r\n";
    buf_printf(&reply->body, "%s; try again\n", why);
}

void past_job_reject(const struct past_job *job, struct http_reply *reply, const struct err *err)
{
    count_past(job, PAST_BAD);
    explain_page_refuse(err, reply);
}

/* Says what can be had instead: the oldest revision, and when this server reached it or the next
 * one that it noticed. */
static void fill_gone(const struct past_job *job, int64_t oldest, struct http_reply *reply)
{
    const struct revision_marks *marks = store_sync_marks(job->desk->sources->sync);
    const struct revision_mark *mark = marks ? revision_marks_at_revision(marks, oldest) : NULL;
    reply->status = HTTP_GONE;
    if (job->is_text) {
        buf_printf(&reply->body, "`%s` is gone: the oldest that can be had is ", job->asked);
        buf_printf(&reply->body, oldest > 0 ? "revision %" PRId64 : "not known", oldest);
        if (mark) {
            buf_append_str(&reply->body, ", the oldest time ");
            utc_time_append_ms(mark->time_ms, &reply->body);
        }
        buf_append_char(&reply->body, '\n');
        return;
    }
    reply->content_type = "application/json";
    buf_append_char(&reply->body, '{');
    json_text_string_field(&reply->body, "asked", job->asked);
    json_text_string_field(&reply->body, "error", "gone");
    json_text_open(&reply->body, "oldest", '{');
    if (oldest > 0) {
        json_text_number_field(&reply->body, "revision", (uint64_t)oldest);
    }
    if (mark) {
        json_text_time_fields(&reply->body, mark->time_ms);
    }
    buf_append_str(&reply->body, "}}\n");
}

static void past_job_on_horizon(void *data, int64_t oldest)
{
    struct past_job *job = data;
    struct http_reply reply;
    http_reply_init(&reply);
    fill_gone(job, oldest, &reply);
    past_job_answer(job, &reply);
}

struct past_horizon *past_job_find_horizon(const struct past_job *job,
                                           void (*done)(void *data, int64_t oldest), void *data)
{
    return past_horizon_find(&(struct past_horizon_config){
        .loop = job->desk->loop,
        .etcd = job->desk->etcd,
        .prefix = store_sync_prefix(job->desk->sources->sync),
        .done = done,
        .data = data,
    });
}

void past_job_fail(struct past_job *job, const struct err *err)
{
    struct http_reply reply;
    if (err->code == ERR_COMPACTED && !job->horizon) {
        job->horizon = past_job_find_horizon(job, past_job_on_horizon, job);
        return;
    }
    http_reply_init(&reply);
    if (err->code == ERR_FUTURE) {
        reply.status = HTTP_BAD_REQUEST;
        buf_printf(&reply.body, "revision %" PRId64 " is still to come: etcd is at %" PRId64 "\n",
                   job->at.revision, store_sync_counts(job->desk->sources->sync).revision);
    } else if (err->code == ERR_TOO_LARGE) {
        reply.status = HTTP_NO_ROOM;
        buf_printf(&reply.body, "too much of etcd's history to read at once: %s\n", err->msg);
    } else {
        fill_busy(&reply, err->msg);
    }
    past_job_answer(job, &reply);
}

/* ---- Life ---- */

void past_job_answer(struct past_job *job, struct http_reply *reply)
{
    if (reply->body.failed) {
        reply->status = HTTP_INTERNAL_ERROR;
        buf_clear(&reply->body);
        buf_append_str(&reply->body, "response too large\n");
    }
    count_past(job, past_result_of(reply->status));
    http_held_answer(job->held, reply->status, reply->content_type, reply->fields,
                     buf_slice(&reply->body));
    buf_fini(&reply->body);
    end_past_job(job);
}

/* Takes the first mark, or the present without one. */
static void begin_late(struct past_job *job, const struct revision_marks *marks)
{
    const struct revision_mark *first = revision_marks_at_revision(marks, 1);
    job->is_late = true;
    job->at = (struct moment_found){
        .revision = first ? first->revision : store_sync_counts(job->desk->sources->sync).revision,
        .has_mark = first != NULL,
        .mark_ms = first ? first->time_ms : 0,
        .mark_revision = first ? first->revision : 0,
    };
}

bool past_job_begin(struct past_job *job, const struct past_question *question,
                    const struct http_request *request, struct http_reply *reply)
{
    const struct store_sync *sync = job->desk->sources->sync;
    const struct revision_marks *marks = store_sync_marks(sync);
    struct moment moment;
    struct err err;
    int64_t unused;
    int r = moment_parse(question->when, clock_wall_ms(), &moment, &err);
    if (r < 0) {
        (void)err_wrap(&err, r, question->begins_late ? "since" : "at");
        past_job_reject(job, reply, &err);
        return false;
    }
    if (job->is_busy || !marks || !store_sync_is_caught_up(sync) ||
        store_sync_is_from_snapshot(sync, &unused)) {
        fill_busy(reply, job->is_busy ? "another question about the past is being answered"
                                      : "etcd is away, and has the past");
        count_past(job, PAST_BUSY);
        return false;
    }
    job->held = http_holder_reply(job->desk->holder, request, reply, job);
    if (!job->held) {
        count_past(job, PAST_BUSY);
        return false;
    }
    job->is_busy = true;
    job->is_text = question->is_text;
    job->is_late = false;
    job->asked = xstrdup(question->when);
    timer_arm_ms(job->desk->loop, &job->deadline, PAST_JOB_MS);
    if (moment_find(&moment, marks, &job->at)) {
        return true;
    }
    if (question->begins_late) {
        begin_late(job, marks);
    } else {
        job->horizon = past_job_find_horizon(job, past_job_on_horizon, job);
    }
    return question->begins_late;
}
