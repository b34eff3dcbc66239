/* The nameservers and the state of each: one that failed for two different names in a row is dead,
 * and comes after the others until it answers. One that failed twice for the same name is
 * suspected: it may be silent for this name only, whose owner may want that, so that a probe
 * decides. One that leads back to this program is not used, until a later check finds that it does
 * not. Plain data, no I/O; the resolver's thread. Servers are identified by what they are
 * (nameserver_equal), since the list may be replaced while questions are in flight. */
#ifndef SKYDNS_UPSTREAM_UPSTREAMS_H
#define SKYDNS_UPSTREAM_UPSTREAMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/clock.h"
#include "skydns/external/zone_table.h"

enum {
    UPSTREAMS_MAX = ZONE_SERVERS_MAX,
    UPSTREAM_FAILURES_MAX = 2,  /* of different names */
    UPSTREAM_PLAIN_S = 15 * 60, /* so long is a server asked without EDNS that needs it */
};

struct upstream {
    struct nameserver server;
    unsigned failures;    /* in a row; one for a name that fails again and again */
    uint32_t failed_name; /* hash: of the last one counted */
    bool is_suspected;    /* it is probed: without a reply to that, it is dead */
    int64_t answered_us;  /* its last reply: clock_monotonic_us; 0: none */
    bool is_looping;
    bool has_answered; /* at least once */
    bool was_away;     /* since it became dead, a probe had no answer: it is not silent for some
                        * names only */
    bool knows_edns;   /* it has replied to a query with EDNS, and did not come back since */
    uint32_t plain_until_s; /* asked without EDNS until then: monotonic; 0: with it */
    uint32_t turned_s; /* when it became dead or looping, or ceased to be: monotonic; 0: never */
    uint32_t failed_s; /* its last failure, likewise */
};

struct upstreams {
    size_t count;
    struct upstream items[UPSTREAMS_MAX];
};

/* Of a zone's servers, in the order of the table: bit i is that of the server number i. */
struct upstream_states {
    uint16_t dead;    /* not answering */
    uint16_t looping; /* leading back here */
    uint16_t asked;   /* answered or failed at least once */

    /* By server, clock_monotonic in seconds; 0: never. */
    uint32_t turned_s[UPSTREAMS_MAX];      /* when `dead` or `looping` last changed */
    uint32_t failed_s[UPSTREAMS_MAX];      /* the last failure */
    uint32_t plain_until_s[UPSTREAMS_MAX]; /* asked without EDNS until then */
};

/* The clock of these times; never 0. */
static inline uint32_t upstreams_now_s(void)
{
    return (uint32_t)(clock_monotonic_ms() / 1000) + 1;
}

/* What a loop check found out. */
enum upstream_verdict {
    UPSTREAM_LOOPS,   /* the question came back */
    UPSTREAM_REPLIES, /* it did not, and the server replied */
    UPSTREAM_SILENT,  /* neither */
};

/* Replaces the list, at most UPSTREAMS_MAX. Servers that stay keep their state. */
void upstreams_set(struct upstreams *upstreams, const struct nameserver *servers, size_t count);

/* NULL: not in the list (any more). */
struct upstream *upstreams_find(struct upstreams *upstreams, const struct nameserver *server);

bool upstream_is_dead(const struct upstream *upstream);

/* The servers in the order to try them: from number `first` on (modulo the count) the live ones,
 * then the dead ones. Returns how many. */
size_t upstreams_order(const struct upstreams *upstreams, size_t first,
                       struct nameserver ret_order[UPSTREAMS_MAX]);

/* What failed: the question's name, and when it was asked (clock_monotonic_us). */
struct upstream_failure {
    uint32_t name_hash;
    int64_t asked_us;
};

/* True if this made the server dead (alive). now_s: clock_monotonic, from 1 on. A server that has
 * replied to another question since the failed one was asked is not blamed: whoever asks for names
 * that it is silent about would make it dead for all. */
bool upstream_note_failure(struct upstream *upstream, const struct upstream_failure *failure,
                           uint32_t now_s);
bool upstream_note_answer(struct upstream *upstream, int64_t now_us, uint32_t now_s);

/* A probe had no reply. True if this made the server dead. */
bool upstream_note_probe_silence(struct upstream *upstream, uint32_t now_s);

/* It replied, to a query with EDNS for all that is known (`took_edns`: with OPT, or the question
 * was asked in no other way), or to one without (`was_plain`). One that takes EDNS is never asked
 * without because of silence: its replies would lack signatures, and a slow server would be asked
 * three times. True if this changed how it is asked. */
bool upstream_note_edns(struct upstream *upstream, bool took_edns, bool was_plain, uint32_t now_s);

/* True if this changed whether the server is used. A looping one that is silent is used again, but
 * as a dead one: after the others, and probed. */
bool upstream_note_verdict(struct upstream *upstream, enum upstream_verdict verdict,
                           uint32_t now_s);

size_t upstreams_dead(const struct upstreams *upstreams); /* including looping ones */
size_t upstreams_looping(const struct upstreams *upstreams);

#endif
