/* Tracks whether something this program depends on is away, since when and why.
 *
 * Such things are etcd and the Kubernetes API. Several sources report, each one aspect (etcd can be
 * followed, etcd accepts transactions, ...). The thing is away while any source says so, and
 * overdue once that has lasted longer than the timeout. It shows in the log, the metrics and
 * /readiness?strict:
 *
 *     source away    a warning with the reason; again, with the time since, when the reason changes
 *     overdue        an error, once per outage, if there is a reason
 *     source back    a line with the duration and the endpoint
 *
 * The reason is always that of the last attempt: sources report every one. No line repeats within a
 * minute or within an outage, of which the last eight lines are remembered. Each source gets at
 * most ten lines per minute. An outage decides nothing: its callers keep retrying. On the main
 * loop. */
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

/* Classify reasons, for counting. */
enum outage_reason {
    OUTAGE_UNAVAILABLE, /* no connection, or it was lost */
    OUTAGE_TIMEOUT,     /* connected, and silent */
    OUTAGE_REFUSED,     /* credentials, permissions, certificates */
    OUTAGE_PROTOCOL,    /* the peer broke the protocol */
    OUTAGE_OTHER,
    OUTAGE_REASON_COUNT,
};

/* Returns the class of an error code (err.h); an errno from a socket is OUTAGE_UNAVAILABLE. */
enum outage_reason outage_reason_of(int code);
const char *outage_reason_name(enum outage_reason reason); /* Returns "unavailable", ...;
                                                              constant. */

/* Remembers a logged line: a hash of its text, and when. */
struct outage_told {
    uint64_t hash;
    int64_t at_ms;
};

/* Bounds the reasons that may alternate: three endpoints, each unreachable in two ways. */
enum { OUTAGE_TOLD_MAX = 8 };

/* Belongs to the caller, which sets the fields before `outage` for outage_join and may change
 * them. */
struct outage_source {
    const char *away_line; /* constants; reason=... follows */
    const char *back_line; /* after_ms=... follows */
    const char *kind;      /* the value of a field kind=...; NULL: none */
    const char *ns;        /* the value of a field namespace=...; NULL: none */
    /* Returns the current endpoint, for the field endpoint=... of the back line; called with data.
     * NULL: none. */
    const char *(*endpoint)(const void *data);
    const void *data;

    struct outage *outage;
    struct outage_source *next;
    bool is_away;
    bool was_there;          /* it has been back at least once */
    bool is_told;            /* this outage has been logged */
    int64_t since_ms;        /* monotonic, when is_away last changed */
    struct err err;          /* while away: the latest reason; msg "" before the first report */
    uint64_t report;         /* the number of the last one in outage->reports */
    int64_t reason_since_ms; /* since when the reason is this one */
    enum outage_reason began_with;
    /* Counts past outages by their first reason; the wait at the start does not count. */
    uint64_t returns[OUTAGE_REASON_COUNT];
    struct outage_told told[OUTAGE_TOLD_MAX];
    size_t told_next;
    struct log_limit limit;
};

struct outage {
    struct ev_loop *loop;
    const char *name; /* "etcd", "the Kubernetes API" */
    ev_timer timeout; /* active while away and not yet overdue */
    int64_t timeout_ms;
    const char *overdue_line; /* timeout_ms=... reason=... follow */
    bool is_overdue;
    bool is_overdue_told;
    void (*overdue)(void *data); /* may be NULL */
    void *data;
    struct outage_source *sources;
    uint64_t reports; /* number of reports by sources that are away */
};

/* Starts without sources, not away. Name and line are constants. */
void outage_init(struct outage *outage, struct ev_loop *loop, const char *name, int64_t timeout_ms,
                 const char *overdue_line);
void outage_fini(struct outage *outage); /* call it when its sources have left, or report no more */

/* Calls overdue(data) after each overdue line, from the loop or a source's report. */
void outage_when_overdue(struct outage *outage, void (*overdue)(void *data), void *data);

/* Adds a source and initialises all but the owner's fields. starts_away: it counts as away from now
 * on, silently, until reported back. */
void outage_join(struct outage *outage, struct outage_source *source, bool starts_away);

/* Forgets the source, silently. */
void outage_leave(struct outage_source *source);

/* Report the source away, or back; repeating one is fine. */
void outage_away(struct outage_source *source, const struct err *err);
void outage_back(struct outage_source *source);

bool outage_is_away(const struct outage *outage);

/* Returns for how long it has been away; 0 if it is not. */
int64_t outage_away_ms(const struct outage *outage);

/* Returns the latest reason of a source that is away; "" if unknown or not away. Borrowed until the
 * next report. */
const char *outage_why(const struct outage *outage);

/* Appends for pages ": the reason (for 8 s, 12 s in all)", or nothing if it is unknown. The first
 * is the reason's own duration, the second, if longer, that of the outage. */
void outage_explain(const struct outage *outage, struct buf *out);

/* Appends for /readiness?strict the reason as one line without newline. Returns false, and appends
 * nothing, if not overdue. */
bool outage_explain_overdue(const struct outage *outage, struct buf *out);

#endif
