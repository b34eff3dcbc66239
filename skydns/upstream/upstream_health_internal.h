/* Tracks the health of a zone's upstreams, from responses, silence, probes and loop checks. It
 * maintains struct upstreams, reports changes to its owner and the log, and probes the dead and the
 * suspected until they answer. For upstream_zones and the forwarder, on the resolver's loop and
 * thread. It ignores servers that are no longer in the list.
 *
 * A probe is the question `. NS`, first after half a second, then once a second for a minute, since
 * most outages are short, then every five seconds. Any response counts. RD is not set: even a
 * healthy resolver that cannot reach the root, as in many clusters, answers that at once. */
#ifndef SKYDNS_UPSTREAM_UPSTREAM_HEALTH_INTERNAL_H
#define SKYDNS_UPSTREAM_UPSTREAM_HEALTH_INTERNAL_H

#include <ev.h>
#include <stdbool.h>
#include <stddef.h>

#include "skydns/external/nameserver.h"
#include "skydns/upstream/upstreams.h"

struct dnstap;
struct forwarder_counts;
struct tls_pool;
struct upstream_health;

/* Bounds the probes under way at once, in all zones; process_limits.c reserves their descriptors.
 * Stub zones have half of them, so that the general upstreams are probed however many zones are
 * dead. A probe without room waits for its next turn. One that was unanswered then leaves the room
 * to others. */
enum { UPSTREAM_PROBES_MAX = 32, UPSTREAM_STUB_PROBES_MAX = UPSTREAM_PROBES_MAX / 2 };

struct upstream_health_config {
    struct ev_loop *loop;
    struct tls_pool *tls;            /* as forwarder.h */
    struct dnstap *dnstap;           /* likewise */
    struct forwarder_counts *counts; /* borrowed: for probes */
    bool is_stub;                    /* a stub zone's upstreams: fewer probes */
    void (*changed)(void *data);     /* a server's state or times, or the list */
    /* A dead server answers; it may have been replaced. was_away: probes had not reached it. */
    void (*revived)(void *data, bool was_away);
    void *data;
};

struct upstream_health *upstream_health_new(const struct upstream_health_config *config);
void upstream_health_free(struct upstream_health *health); /* NULL is fine */

/* Calls upstreams_set. */
void upstream_health_set(struct upstream_health *health, const struct nameserver *servers,
                         size_t count);

/* Returns the upstreams and their states. */
const struct upstreams *upstream_health_servers(const struct upstream_health *health);

/* Calls upstreams_order. */
size_t upstream_health_order(const struct upstream_health *health, size_t first,
                             struct nameserver ret_order[UPSTREAMS_MAX]);

/* Call upstream_note_failure and upstream_note_answer, and probe the dead and the suspected. */
void upstream_health_failed(struct upstream_health *health, const struct nameserver *server,
                            const struct upstream_failure *failure);
void upstream_health_answered(struct upstream_health *health, const struct nameserver *server);

/* Calls upstream_note_edns. The next two return whether the server is queried without EDNS now, and
 * whether it may need that. */
void upstream_health_edns(struct upstream_health *health, const struct nameserver *server,
                          bool took_edns, bool was_plain);
bool upstream_health_is_plain(struct upstream_health *health, const struct nameserver *server);
bool upstream_health_may_be_plain(struct upstream_health *health, const struct nameserver *server);

/* Applies a loop check's verdict: upstream_note_verdict. Logs a change, and probes a silent server.
 */
void upstream_health_judge(struct upstream_health *health, const struct nameserver *server,
                           enum upstream_verdict verdict);

#endif
