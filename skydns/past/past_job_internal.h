/* Runs a question about the past: what /explain?at= and /history have in common.
 *
 *     begin -> the owner reads etcd's history -> reply
 *                 `-- it is compacted -> how far back it goes (past_horizon_internal.h) -> 410
 *
 * One of each kind is under way at a time; another gets 503 with Retry-After, and so does everyone
 * while etcd is not followed. It ends within PAST_JOB_MS. Main loop.
 *
 * Its moment is WHEN of -at, ?at= and ?since=; it stands for a revision:
 *
 *     1234                          a revision of etcd
 *     2026-05-01T03:12:00Z          a time of RFC 3339, with any offset from UTC
 *     10m, 1h30m                    an age: so long ago */
#ifndef SKYDNS_PAST_PAST_JOB_INTERNAL_H
#define SKYDNS_PAST_PAST_JOB_INTERNAL_H

#include <ev.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/base/attributes.h"
#include "common/base/err.h"
#include "common/http/http_held.h"
#include "common/http/http_server.h"
#include "skydns/pages/explain.h"
#include "skydns/pages/metrics_table.h"

struct etcd;
struct past_horizon;
struct revision_marks;

/* ---- Moments; pure, any thread ---- */

struct moment {
    int64_t revision; /* 0: a time */
    int64_t time_ms;  /* Unix time; 0: a revision */
};

/* Parses WHEN; ages count back from now_ms. ERR_USAGE: it is nothing of these, or a time to come.
 * The message repeats a short text alone. */
int moment_parse(const char *text, int64_t now_ms, struct moment *ret, struct err *err) MUST_CHECK;

/* Finds the revision that the server had reached; of a revision, when it had reached that. Returns
 * false if the time is before the first mark. */
bool moment_find(const struct moment *moment, const struct revision_marks *marks,
                 struct moment_found *ret) MUST_CHECK;

/* ---- Jobs ---- */

/* Less than commands wait for a response (http_fetch_print). */
enum { PAST_JOB_MS = 4000 };

/* Bounds the responses that are made or not read yet, of all and of one client. */
enum { PAST_HELD_MAX = 8, PAST_HELD_CLIENT_MAX = 4 };

struct past_desk {
    struct http_holder *holder;
    struct ev_loop *loop;
    struct metrics_sources *sources;
    struct etcd *etcd;
    struct past_explain *explain;
    struct past_history *history;
    struct past_counts counts;
};

struct past_job {
    struct past_desk *desk; /* set once, as are the next three */
    enum past_page page;
    void (*drop)(void *data); /* frees what the owner reads with; the job is over */
    void *data;
    bool is_busy;
    struct http_held *held; /* while it is busy */
    ev_timer deadline;
    struct past_horizon *horizon;
    bool is_text;
    char *asked;  /* WHEN, as written */
    bool is_late; /* it was before the first mark, which was taken instead */
    struct moment_found at;
};

struct past_question {
    const char *when;
    bool is_text;
    bool begins_late;
};

void past_job_init(struct past_job *job, struct past_desk *desk, enum past_page page,
                   void (*drop)(void *data), void *data);
void past_job_fini(struct past_job *job); /* its holder is freed before */

/* Begins with WHEN, and lets the response come later. Returns false if the reply is an error, or
 * will be one: there is nothing to read. A time before the first mark is an error, or takes that
 * mark if begins_late. */
bool past_job_begin(struct past_job *job, const struct past_question *question,
                    const struct http_request *request, struct http_reply *reply) MUST_CHECK;

/* The holder's callback: the job's client has gone. */
void past_job_on_gone(void *job);

/* Makes the reply one of 400 to a question for which no job begins. */
void past_job_reject(const struct past_job *job, struct http_reply *reply, const struct err *err);

/* Finds how far back etcd's history goes (past_horizon_internal.h). */
struct past_horizon *past_job_find_horizon(const struct past_job *job,
                                           void (*done)(void *data, int64_t oldest), void *data);

/* End the job: with a response, whose content they take, or with that for an error. */
void past_job_answer(struct past_job *job, struct http_reply *reply);
void past_job_fail(struct past_job *job, const struct err *err);

#endif
