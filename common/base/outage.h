/* Something this program lives on, etcd or the Kubernetes API: is it there, if not since when and
 * why. Several sources tell, each one side of it (etcd can be followed, etcd takes transactions,
 * ...). It is away while any of them says so, and overdue once that has lasted longer than the
 * patience. What is told here shows in the log, in the metrics and in /readiness?strict:
 *
 *     source away    a warning with the reason; again when the reason becomes another one
 *     overdue        an error, once an outage, when there is a reason
 *     source back    a line with how long it took, and where it was found
 *
 * Nothing is said twice within a minute, and of each source at most ten times. It decides nothing:
 * whoever tells it goes on trying. On the main loop. */
#ifndef COMMON_BASE_OUTAGE_H
#define COMMON_BASE_OUTAGE_H

#include <ev.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/buf.h"
#include "common/base/err.h"
#include "common/base/log.h"

struct outage;

/* The classes that reasons are counted by. */
enum outage_reason {
    OUTAGE_UNAVAILABLE, /* no connection, or it was lost */
    OUTAGE_TIMEOUT,     /* connected, and silent */
    OUTAGE_REFUSED,     /* the answer was no: credentials, permissions, certificates */
    OUTAGE_PROTOCOL,    /* no sense in what was said */
    OUTAGE_OTHER,
    OUTAGE_REASON_COUNT,
};

enum outage_reason outage_reason_of(int code);
const char *outage_reason_name(enum outage_reason reason); /* "unavailable", ...; constant */

/* A line about an outage: what it said, as a hash, and when. */
struct outage_told {
    uint64_t hash;
    int64_t at_ms;
};

/* As many different reasons as go round: each of three endpoints being unreachable in two ways. */
enum { OUTAGE_TOLD_MAX = 8 };

/* In its owner's hands, who sets the fields before `outage` for outage_join, and may replace them.
 */
struct outage_source {
    const char *away_line; /* constants; reason=... follows */
    const char *back_line; /* after_ms=... follows */
    const char *kind;      /* the value of a field kind=...; NULL: none */
    /* Who it is now, for a field endpoint=... of the back line; called with data. NULL: none. */
    const char *(*endpoint)(const void *data);
    const void *data;

    struct outage *outage;
    struct outage_source *next;
    bool is_away;
    bool was_there;   /* it has been back once */
    bool is_told;     /* this outage has had its line */
    int64_t since_ms; /* monotonic, when is_away became what it is */
    struct err err;   /* while away: the newest reason; msg "" before the first news */
    enum outage_reason began_with;
    /* Outages that are over, by the reason they began with; the wait at the start is none. */
    uint64_t returns[OUTAGE_REASON_COUNT];
    struct outage_told told[OUTAGE_TOLD_MAX];
    size_t told_next;
    struct log_limit limit;
};

struct outage {
    struct ev_loop *loop;
    const char *name;  /* "etcd", "the Kubernetes API" */
    ev_timer patience; /* active while away and not yet overdue */
    int64_t patience_ms;
    const char *overdue_line; /* timeout_ms=... reason=... follow */
    bool is_overdue;
    bool is_overdue_told;
    void (*overdue)(void *data); /* NULL: nobody wants to know */
    void *data;
    struct outage_source *sources;
};

/* Name and line are constants. No source yet: not away. */
void outage_init(struct outage *outage, struct ev_loop *loop, const char *name, int64_t patience_ms,
                 const char *overdue_line);
void outage_fini(struct outage *outage); /* its sources have left, or are told nothing any more */

/* Calls overdue(data), from the loop or a source's news, behind each line that it is overdue. */
void outage_when_overdue(struct outage *outage, void (*overdue)(void *data), void *data);

/* Adds a source, of which everything but the owner's fields is initialised here. starts_away: it
 * counts as away from now on, silently, until it is told back. */
void outage_join(struct outage *outage, struct outage_source *source, bool starts_away);

/* The source is forgotten, silently. */
void outage_leave(struct outage_source *source);

/* The source's news; saying the same again is fine. */
void outage_away(struct outage_source *source, const struct err *err);
void outage_back(struct outage_source *source);

bool outage_is_away(const struct outage *outage);

/* Why, when away: the source's that has been away longest; "" when it is not known or not away.
 * Borrowed until the next news. */
const char *outage_why(const struct outage *outage);

/* For /readiness?strict: appends the reason, one line without its end. False when it is not
 * overdue: nothing was appended. */
bool outage_explain_overdue(const struct outage *outage, struct buf *out);

#endif
