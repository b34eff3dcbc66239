/* Notes what replies, silence, probes and loop checks say of each nameserver of a zone: keeps
 * struct upstreams, tells its owner and the log when it changes, and probes the dead. For
 * upstream_zones and the forwarder, on the resolver's loop and thread. Servers that are no longer
 * in the list are ignored. */
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

struct upstream_health_config {
    struct ev_loop *loop;
    struct tls_pool *tls;            /* as forwarder.h */
    struct dnstap *dnstap;           /* the same */
    struct forwarder_counts *counts; /* borrowed: of probes */
    bool is_stub;                    /* of a stub zone: fewer probes */
    void (*changed)(void *data);     /* a server's state or times, or the list */
    /* A dead server answers: maybe it is not the one it was. was_away: probes had not reached it.
     */
    void (*revived)(void *data, bool was_away);
    void *data;
};

struct upstream_health *upstream_health_new(const struct upstream_health_config *config);
void upstream_health_free(struct upstream_health *health); /* NULL is fine */

/* upstreams_set. */
void upstream_health_set(struct upstream_health *health, const struct nameserver *servers,
                         size_t count);

const struct upstreams *upstream_health_servers(const struct upstream_health *health);

/* upstreams_order. */
size_t upstream_health_order(const struct upstream_health *health, size_t first,
                             struct nameserver ret_order[UPSTREAMS_MAX]);

/* upstream_note_failure, upstream_note_answer: probes the dead and the suspected. */
void upstream_health_failed(struct upstream_health *health, const struct nameserver *server,
                            const struct upstream_failure *failure);
void upstream_health_answered(struct upstream_health *health, const struct nameserver *server);

/* upstream_note_edns; whether it is asked without EDNS now; whether it may need that. */
void upstream_health_edns(struct upstream_health *health, const struct nameserver *server,
                          bool took_edns, bool was_plain);
bool upstream_health_is_plain(struct upstream_health *health, const struct nameserver *server);
bool upstream_health_may_be_plain(struct upstream_health *health, const struct nameserver *server);

void upstream_health_judge(struct upstream_health *health, const struct nameserver *server,
                           enum upstream_verdict verdict);

#endif
