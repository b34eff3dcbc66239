/* Lists a zone's upstreams and the state of each, and counts what each does. Plain data, no I/O;
 * the resolver's thread, but for what reads the counts.
 *
 * One that failed for two different names in a row is dead, and comes after the others until it
 * answers. One that failed twice for the same name is suspected: it may be silent for this name
 * only, perhaps by its owner's will, so a probe decides. One that leads back to this program is not
 * used, until a later check finds that it does not. Servers are identified by their description
 * (nameserver_equal), since the list may be replaced while questions are outstanding. */
#ifndef SKYDNS_UPSTREAM_UPSTREAMS_H
#define SKYDNS_UPSTREAM_UPSTREAMS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/clock.h"
#include "common/base/metrics.h"
#include "common/dns/dname.h"
#include "skydns/external/zone_table.h"

enum {
    UPSTREAMS_MAX = ZONE_SERVERS_MAX,
    UPSTREAM_FAILURES_MAX = 2,  /* of different names */
    UPSTREAM_PLAIN_S = 15 * 60, /* how long a server that needs it is queried without EDNS */
};

struct upstream {
    struct nameserver server;
    unsigned failures;    /* in a row; one for a name that fails again and again */
    uint32_t failed_name; /* hash of the last one counted */
    bool is_suspected;    /* a probe runs: without a response to it, the server is dead */
    int64_t answered_us;  /* its last response: clock_monotonic_us; 0: none */
    bool is_looping;
    bool has_answered; /* at least once */
    bool was_away;   /* since it became dead, a probe had no answer: it is not silent for some names
                      * only */
    bool knows_edns; /* it has responded to a query with EDNS, and did not come back since */
    uint32_t plain_until_s; /* queried without EDNS until then: monotonic; 0: with it */
    uint32_t turned_s; /* when it became dead or looping, or ceased to be: monotonic; 0: never */
    uint32_t failed_s; /* its last failure, likewise */
};

struct upstreams {
    size_t count;
    struct upstream items[UPSTREAMS_MAX];
};

/* The states of a zone's servers, in the order of the table: bit i is that of server number i. */
struct upstream_states {
    uint16_t dead;    /* not answering */
    uint16_t looping; /* leading back here */
    uint16_t asked;   /* answered or failed at least once */

    /* By server, clock_monotonic_ms in seconds; 0: never: */
    uint32_t turned_s[UPSTREAMS_MAX];      /* when `dead` or `looping` last changed */
    uint32_t failed_s[UPSTREAMS_MAX];      /* the last failure */
    uint32_t plain_until_s[UPSTREAMS_MAX]; /* queried without EDNS until then */
};

/* Returns the clock of these times; never 0. */
static inline uint32_t upstreams_now_s(void)
{
    return (uint32_t)(clock_monotonic_ms() / 1000) + 1;
}

/* A loop check's result. */
enum upstream_verdict {
    UPSTREAM_LOOPS,   /* the question came back */
    UPSTREAM_REPLIES, /* it did not, and the server responded */
    UPSTREAM_SILENT,  /* neither */
};

/* Replaces the list, at most UPSTREAMS_MAX. Servers that stay keep their state. */
void upstreams_set(struct upstreams *upstreams, const struct nameserver *servers, size_t count);

/* Returns the server's entry. NULL: it is not in the list (any more). */
struct upstream *upstreams_find(struct upstreams *upstreams, const struct nameserver *server);

/* Returns whether the server has failed for UPSTREAM_FAILURES_MAX names in a row. */
bool upstream_is_dead(const struct upstream *upstream);

/* Writes the servers in the order to try them: from number `first` on (modulo the count) the live
 * ones, then the dead ones. Returns how many. */
size_t upstreams_order(const struct upstreams *upstreams, size_t first,
                       struct nameserver ret_order[UPSTREAMS_MAX]);

/* A failure: the question's name, and when it was asked (clock_monotonic_us). */
struct upstream_failure {
    uint32_t name_hash;
    int64_t asked_us;
};

/* Note a failure or an answer. Return true if this made the server dead (alive). now_s:
 * clock_monotonic_ms in seconds, from 1 on. A server that has responded to another question since
 * the failed one was asked is not blamed: a client that asks about names it is silent for would
 * make it dead for all. */
bool upstream_note_failure(struct upstream *upstream, const struct upstream_failure *failure,
                           uint32_t now_s);
bool upstream_note_answer(struct upstream *upstream, int64_t now_us, uint32_t now_s);

/* Notes a probe without a response. Returns true if this made the server dead. */
bool upstream_note_probe_silence(struct upstream *upstream, uint32_t now_s);

/* Notes a response to a query with EDNS (`took_edns`: with OPT, or there was no other query), or to
 * one without (`was_plain`). Returns true if this changed how the server is queried.
 *
 * Silence never makes us omit EDNS for a server that takes it: its responses would lack signatures,
 * and a slow server would be queried three times. */
bool upstream_note_edns(struct upstream *upstream, bool took_edns, bool was_plain, uint32_t now_s);

/* Notes a loop check's verdict. Returns true if this changed whether the server is used. A looping
 * one that is silent is used again, but as a dead one: after the others, and probed. */
bool upstream_note_verdict(struct upstream *upstream, enum upstream_verdict verdict,
                           uint32_t now_s);

size_t upstreams_dead(const struct upstreams *upstreams); /* including looping ones */
size_t upstreams_looping(const struct upstreams *upstreams);

/* ---- Figures ----
 *
 * Each zone's tries, failures and response times by upstream (relaxed counters,
 * common/base/metrics.h). A slot is taken once and never given back, so that totals only grow: a
 * removed upstream has its slot until the program ends. */

/* Each is 30 lines of the metrics' page, so that 64 are 200 KB; a cluster has a handful. */
enum { UPSTREAM_FIGURES_MAX = 64 };

struct upstream_figure {
    struct dname zone; /* the root: the general upstreams */
    struct nameserver server;
    struct counter queries;  /* tries: one question may be several, at several upstreams */
    struct counter failures; /* of them: no response in time, unreachable, SERVFAIL or REFUSED */
    struct counter timeouts; /* of these: no response in time */
    struct histogram took;   /* us, of histogram_durations: until the response, whatever it says */
};

struct upstream_figures {
    _Atomic size_t count;
    struct upstream_figure items[UPSTREAM_FIGURES_MAX];
    struct upstream_figure others; /* all that found no slot; without zone and server */
};

/* Returns the upstream's slot, or `others` if all are taken. The resolver's thread. */
struct upstream_figure *upstream_figures_of(struct upstream_figures *figures,
                                            const struct dname *zone,
                                            const struct nameserver *server);

/* Returns how many items there are. Any thread. */
size_t upstream_figures_count(const struct upstream_figures *figures);

#endif
