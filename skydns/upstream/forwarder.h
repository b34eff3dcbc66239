/* Asks the nameservers of a zone one after another until one answers. Identical questions share one
 * in flight: a later asker waits for the same reply.
 *
 *     forwarder_ask -- new question --> try 1 --(silence)--> try 2 --> ... first server again
 *                  \ same question --> waits with it          |  the first good reply, from
 *                                                             v  whichever try, ends it
 *
 * Makes one try more than there are servers, spread over twice the timeout; a try keeps listening
 * when the next one starts, so that a slow server's reply still counts, unless half of all sockets
 * are open. Moves on at once from an unreachable server, and avoids one that failed for two
 * names in a row as long as another lives (upstreams.h), until it answers a probe. If all servers
 * are dead, tries them anyway. SERVFAIL, REFUSED and what is malformed are failures: another server
 * may know better.
 *
 * Each zone's servers are judged for themselves (upstream_zones_internal.h). With stub zones, a
 * zone gets no socket for another question when it has as many as are free: alone it may have half
 * of them, two dead zones have a third each, and there is always one for another. Clients share
 * TCP, as zones do (tcp_places_internal.h).
 *
 * CNAMEs that leave a stub zone lead on (onward_internal.h): the question waits for that of their
 * target, as a client would, and then has both. Meanwhile it keeps one place among the sockets, so
 * that shares hold. One that would wait for itself fails, as does one that leads on and on.
 *
 * The first who waits has the reply at once. If there are others, clients take turns, in portions
 * of a millisecond, between which the loop goes on (reply_portions_internal.h).
 *
 * A question goes on when nobody waits for it any more, or was never waited for: its reply is still
 * worth keeping. Such questions give way to those that clients wait for.
 *
 * On the resolver's loop and thread, but for forwarder_zone_state. */
#ifndef SKYDNS_UPSTREAM_FORWARDER_H
#define SKYDNS_UPSTREAM_FORWARDER_H

#include <ev.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "common/base/attributes.h"
#include "common/base/fair_queue.h"
#include "common/base/slice.h"
#include "skydns/external/nameserver.h"
#include "skydns/upstream/upstream_message.h"
#include "skydns/upstream/upstreams.h"

struct dnstap;
struct forwarder;
struct forwarder_counts;
struct tls_pool;
struct forward_zone;
struct parsed_response;
struct reply_forms;
struct zone_table;

enum {
    /* Ten thousand questions a second to a server that takes a second each; 2 KB and a socket per
     * question. */
    FORWARDER_SOCKETS_MAX = 10000,
    /* Questions begun that nobody waits for: an eighth of the sockets, and no more than this: when
     * all names of a full cache are refreshed every few seconds, some hundred are in flight. */
    FORWARDER_BACKGROUND_MAX = 256,
    /* From one stub zone's nameservers to other ones, for one question. */
    FORWARDER_LEGS_MAX = 4,
};

enum forwarder_outcome {
    FORWARDER_REPLIED, /* a reply: maybe truncated, if TCP brought no better one */
    FORWARDER_FAILED,  /* servers replied, but with SERVFAIL or REFUSED, or what is malformed */
    FORWARDER_SILENT,  /* no server was reachable, or replied in time */
    /* Says nothing about the servers. It gave way to others, which only `ended` is told, or found
     * no socket or connection; or, to who waits, too many bytes are shared: what can be cached has
     * been. */
    FORWARDER_DROPPED,
};

struct forwarder_reply {
    enum forwarder_outcome outcome;
    /* Borrowed during the call. */
    struct reply_forms *forms; /* what those who share it have made of the response: external.h */
    /* REPLIED only. Parsed once for all who share it; its table has 20 bytes for each of 5,957
     * records at most. */
    const struct parsed_response *response; /* with the server's id */
    const struct nameserver *server;
};

/* How a question ended. */
struct forwarder_end {
    const struct upstream_question *question;
    const struct forwarder_reply *reply;
    bool is_current;    /* its zone still has the nameservers that were asked */
    bool is_background; /* nobody ever waited for it */
};

/* Whether a response ends its question. */
enum forwarder_way {
    FORWARDER_ENDS,
    FORWARDER_GOES_ON,
    FORWARDER_LEADS_NOWHERE, /* the question fails: FAILED */
};

/* What follows the CNAMEs of a response; all borrowed. */
struct forwarder_on {
    struct slice known; /* a response to that question; empty: it is to be asked */
    struct upstream_question question;
    const struct forward_zone *zone; /* whose nameservers are asked */
};

struct forwarder_config {
    struct ev_loop *loop;
    bool random_case;      /* of the names sent: 0x20 */
    size_t sockets_max;    /* open at once; one per try, also over TLS, where several share one */
    struct tls_pool *tls;  /* borrowed; NULL: nameservers with TLS cannot be asked */
    struct dnstap *dnstap; /* borrowed; is shown what nameservers are asked; NULL: none */
    /* After the first who waited for a question has its reply, and before the others have; once for
     * each question. May be NULL. */
    void (*ended)(void *data, const struct forwarder_end *end);
    /* Before anybody has a response: what no nameserver can know may be taken out of it
     * (response_drop). May be NULL. */
    void (*arrived)(void *data, struct parsed_response *response);
    /* After that, of a response of a stub zone's nameservers: what these cannot know is taken out
     * of it, and its CNAMEs may lead out of the zone (onward_internal.h). *ret_on is set with
     * GOES_ON. May be NULL. */
    enum forwarder_way (*leads_on)(void *data, const struct dname *zone,
                                   const struct upstream_question *question,
                                   struct parsed_response *response, struct forwarder_on *ret_on);
    /* A dead nameserver of the zone with this serial answers a question or a probe. was_away: a
     * probe had not reached it; else it may have been silent for some names only. May be NULL. */
    void (*revived)(void *data, uint32_t zone_serial, bool was_away);
    void *ended_data; /* of these four */
    /* Something looks like a loop: a question that waits for a general nameserver is asked again,
     * or a dead one answers, maybe not as before. Often called, and for nothing as a rule. May be
     * NULL. */
    void (*suspect_loop)(void *data);
    void *data;
};

struct forwarder *forwarder_new(const struct forwarder_config *config);

/* Applies to later questions. */
struct forwarder_rules {
    bool rotate;         /* the asker chooses the first server; else always the zone's first */
    uint32_t timeout_ms; /* per try; after twice that, the question fails */
};
void forwarder_set_rules(struct forwarder *forwarder, const struct forwarder_rules *rules);

/* The zones and nameservers from now on; borrowed during the call. Questions in flight go on, also
 * of zones that went, but are not current any more. */
void forwarder_set_zones(struct forwarder *forwarder, const struct zone_table *table);

/* What a loop check says of a general nameserver: whether it is used from now on. */
void forwarder_judge_server(struct forwarder *forwarder, const struct nameserver *server,
                            enum upstream_verdict verdict);

/* Ends the questions in flight without their callbacks, including those whose end is already
 * pending in the loop. Not from inside a callback. */
void forwarder_drop_all(struct forwarder *forwarder);

/* The same; NULL is fine. */
void forwarder_free(struct forwarder *forwarder);

/* Never from inside forwarder_ask. May ask further questions, and forget others that wait. */
typedef void (*forwarder_cb)(void *data, const struct forwarder_reply *reply);

/* One who waits for a reply; the asker's memory, until the callback or forwarder_forget. Zeroed
 * before the first use. */
struct forwarder_wait {
    struct fair_item turn; /* its net: the client's, set by forwarder_ask */
    TAILQ_ENTRY(forwarder_wait) entry;
    struct upstream_query *upstream_query; /* in flight: this question; NULL: none */
    struct shared_reply *shared; /* ended: with this, of which it has not had its part; NULL */
    const struct addr *client;   /* borrowed during forwarder_ask: whose question it is, and whose
                                  * shares it uses if it begins one; NULL: nobody's */
    forwarder_cb cb;
    void *data;
};

enum forwarder_start {
    FORWARDER_ASKED,
    FORWARDER_NO_SERVER, /* the zone has none, or all lead back here */
    FORWARDER_FULL, /* too many sockets are open, or too many questions that nobody waits for */
};

/* Asks the servers of `zone`, which the question's zone_serial and is_stub come from. `rotation`
 * chooses the first server. `wait`, its client, cb and data set, gets one callback if the result is
 * ASKED; NULL: nobody waits. */
enum forwarder_start forwarder_ask(struct forwarder *forwarder, const struct forward_zone *zone,
                                   const struct upstream_question *question, unsigned rotation,
                                   struct forwarder_wait *wait) MUST_CHECK;

/* Waits no longer; the question goes on. */
void forwarder_forget(struct forwarder_wait *wait);

/* Any thread; borrowed. */
const struct upstream_figures *forwarder_figures(const struct forwarder *forwarder);
const struct forwarder_counts *forwarder_counts(const struct forwarder *forwarder);

/* Any thread: what is known of the nameservers with this serial. False: they were never asked, or
 * are gone. */
bool forwarder_zone_state(const struct forwarder *forwarder, uint32_t serial,
                          struct upstream_states *ret);

#endif
