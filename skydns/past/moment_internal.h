/* Reads WHEN of -at, ?at= and ?since=, and finds the revision that it stands for:
 *
 *     1234                          a revision of etcd
 *     2026-05-01T03:12:00Z          a time of RFC 3339, with any offset from UTC
 *     10m, 1h30m                    an age: so long ago
 *
 * Pure; any thread. */
#ifndef SKYDNS_PAST_MOMENT_INTERNAL_H
#define SKYDNS_PAST_MOMENT_INTERNAL_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/attributes.h"
#include "common/base/err.h"

struct revision_marks;

struct moment {
    int64_t revision; /* 0: a time */
    int64_t time_ms;  /* Unix time; 0: a revision */
};

/* Parses WHEN; ages count back from now_ms. ERR_USAGE: it is nothing of these, or a time to come.
 * The message repeats a short text alone. */
int moment_parse(const char *text, int64_t now_ms, struct moment *ret, struct err *err) MUST_CHECK;

/* Revision of a moment, and the mark that it was found by. */
struct moment_found {
    int64_t revision;
    bool has_mark;
    int64_t mark_ms, mark_revision;
};

/* Finds the revision that the server had reached; of a revision, when it had reached that. Returns
 * false if the time is before the first mark. */
bool moment_find(const struct moment *moment, const struct revision_marks *marks,
                 struct moment_found *ret) MUST_CHECK;

#endif
