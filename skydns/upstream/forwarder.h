/* Asks the upstreams of a zone one after another until one answers. Identical questions share one
 * upstream query: a later one waits for the same response.
 *
 *     forwarder_ask -- new question --> try 1 --(silence)--> try 2 --> ... first server again
 *                  \ same question --> waits with it          |  the first good response, to
 *                                                             v  whichever try, ends it
 *
 * It makes one try more than there are servers, spread over twice the timeout. A try keeps
 * listening when the next one starts, so that a slow server's response still counts, unless half of
 * all sockets are open. It moves on at once from an unreachable server. It avoids one that failed
 * for two names in a row while another lives (upstreams.h), until it answers a probe. If all
 * servers are dead, it tries them anyway. SERVFAIL, REFUSED and malformed responses are failures:
 * another server may know better.
 *
 * Each zone's servers are judged for themselves (upstream_zones_internal.h). With stub zones, a
 * zone gets no socket for another question when it has as many as are free. So it may have half of
 * them alone, two dead zones have a third each, and there is always one for another. Clients share
 * TCP, as zones do (exchange_channel_internal.h).
 *
 * CNAMEs that leave a stub zone are followed (onward_internal.h): the question waits for that of
 * their target, as a client would, and then has both. Meanwhile it holds one place among the
 * sockets, so that shares stay right. A question that would wait for itself fails, as does one
 * whose CNAMEs lead on and on. A question that a stub zone with a fallback denies waits in the same
 * way for the same question to the general upstreams, whose response is its own.
 *
 * The first waiting query has the response at once. For others, clients take turns, in portions
 * between which the loop goes on (reply_portions_internal.h). A question goes on when no query
 * waits for it any more, or none ever did: its response is still worth caching. Such questions end
 * when one that clients wait for needs their sockets.
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
    /* Ten thousand questions a second to a server that takes a second each; 2 KB and a socket for
     * each question. */
    FORWARDER_SOCKETS_MAX = 10000,
    /* Bounds the questions that no query waits for: an eighth of the sockets, and no more than
     * this. When all names of a full cache are refreshed every few seconds, some hundred are
     * outstanding. */
    FORWARDER_BACKGROUND_MAX = 256,
    /* Bounds a portion, beside one piece, of what the loop has to do for many at once: queries to
     * begin, waiting ones to answer, timeouts. Sockets are served between two portions, so that
     * another client waits for one: about as long as its answer takes on an idle loop. A turn of
     * the loop costs some 5 us. */
    FORWARDER_PORTION_US = 100,
    /* Bounds how often one question is followed from one stub zone's upstreams to others. */
    FORWARDER_LEGS_MAX = 4,
};

enum forwarder_outcome {
    FORWARDER_REPLIED, /* a response: maybe truncated, if TCP brought no better one */
    FORWARDER_FAILED,  /* servers sent SERVFAIL, REFUSED, or malformed responses */
    FORWARDER_SILENT,  /* no server was reachable, or responded in time */
    /* Says nothing about the servers. The question ended for others, which only `ended` is told, or
     * found no socket or connection. Or, for a waiting query: too many bytes are shared; a response
     * that can be cached is in the cache. */
    FORWARDER_DROPPED,
};

struct forwarder_reply {
    enum forwarder_outcome outcome;
    /* Borrowed during the call: */
    struct reply_forms *forms; /* the forms that its sharers made: external.h */
    /* REPLIED only. Parsed once for all that share it. Its table has 20 bytes for each of 5,957
     * records at most. */
    const struct parsed_response *response; /* with the server's id */
    const struct nameserver *server;
};

/* A question's end. */
struct forwarder_end {
    const struct upstream_question *question;
    const struct forwarder_reply *reply;
    bool is_current;    /* its zone still has the upstreams that were asked */
    bool is_background; /* no query ever waited for it */
};

/* Says whether a response ends its question. */
enum forwarder_way {
    FORWARDER_ENDS,
    FORWARDER_GOES_ON,
    FORWARDER_LEADS_NOWHERE, /* the question fails: FAILED */
};

/* The question that follows the CNAMEs of a response, or is asked instead; all borrowed. */
struct forwarder_on {
    bool is_instead;    /* its response alone counts */
    struct slice known; /* a response to that question; empty: it must be asked */
    struct upstream_question question;
    const struct forward_zone *zone; /* the zone whose upstreams are asked */
};

struct forwarder_config {
    struct ev_loop *loop;
    bool random_case;   /* of the names sent: 0x20 */
    size_t sockets_max; /* open at once; one for each try, also over TLS, where several share one */
    struct tls_pool *tls;  /* borrowed; NULL: upstreams with TLS cannot be asked */
    struct dnstap *dnstap; /* borrowed; gets all messages to and from upstreams; NULL: none */
    /* Called once for each question, after the first waiting query has its response, and before the
     * others have. May be NULL. */
    void (*ended)(void *data, const struct forwarder_end *end);
    /* Called before any query has a response. It may drop records that no upstream can know
     * (response_drop). May be NULL. */
    void (*arrived)(void *data, struct parsed_response *response);
    /* Called after that, for a response of a stub zone's upstreams. It drops records that these
     * cannot know, and follows its CNAMEs out of the zone (onward_internal.h). *ret_on is set with
     * FORWARDER_GOES_ON. May be NULL. */
    enum forwarder_way (*leads_on)(void *data, const struct dname *zone,
                                   const struct upstream_question *question,
                                   struct parsed_response *response, struct forwarder_on *ret_on);
    /* A dead upstream of the zone with this serial answers a question or a probe. was_away: a probe
     * had not reached it; else it may have been silent for some names only. May be NULL. */
    void (*revived)(void *data, uint32_t zone_serial, bool was_away);
    void *ended_data; /* for these four */
    /* Something looks like a loop: a question that waits for a general upstream is asked again, or
     * a dead one answers, maybe not as before. It is called often, mostly for nothing. May be NULL.
     */
    void (*suspect_loop)(void *data);
    void *data;
};

struct forwarder *forwarder_new(const struct forwarder_config *config);

/* The rules for later questions. */
struct forwarder_rules {
    bool rotate; /* the caller chooses the first server; else it is always the zone's first */
    uint32_t timeout_ms; /* for each try; after twice that, the question fails */
};
void forwarder_set_rules(struct forwarder *forwarder, const struct forwarder_rules *rules);

/* Sets the zones and upstreams from now on; borrowed during the call. Outstanding questions go on,
 * also those of removed zones, but are not current any more. */
void forwarder_set_zones(struct forwarder *forwarder, const struct zone_table *table);

/* Applies a loop check's verdict on a general upstream, which decides whether it is used from now
 * on. */
void forwarder_judge_server(struct forwarder *forwarder, const struct nameserver *server,
                            enum upstream_verdict verdict);

/* Ends the outstanding questions without their callbacks, including those whose end is already
 * pending in the loop. Not from inside a callback. */
void forwarder_drop_all(struct forwarder *forwarder);

/* Does the same, and frees; NULL is fine. */
void forwarder_free(struct forwarder *forwarder);

/* Never called from inside forwarder_ask. May ask further questions, and forget others that wait.
 */
typedef void (*forwarder_cb)(void *data, const struct forwarder_reply *reply);

/* A query that waits for a response, in the caller's memory until the callback or forwarder_forget.
 * Zeroed before the first use. */
struct forwarder_wait {
    struct fair_item turn; /* its net is the client's; set by forwarder_ask */
    TAILQ_ENTRY(forwarder_wait) entry;
    struct upstream_query *upstream_query; /* the outstanding question; NULL: none */
    struct shared_reply *shared; /* ended: with this, of which it has not had its part; NULL */
    const struct addr *client;   /* borrowed during forwarder_ask: the client, whose shares the
                                  * question uses if this begins it; NULL: none */
    forwarder_cb cb;
    void *data;
};

enum forwarder_start {
    FORWARDER_ASKED,
    FORWARDER_NO_SERVER, /* the zone has no upstream, or all lead back here */
    FORWARDER_FULL, /* too many sockets are open, or too many questions that no query waits for */
};

/* Asks the servers of `zone`, which the question's zone_serial and is_stub come from. `rotation`
 * chooses the first server. `wait`, with client, cb and data set, gets one callback if the result
 * is ASKED; NULL: nothing waits. */
enum forwarder_start forwarder_ask(struct forwarder *forwarder, const struct forward_zone *zone,
                                   const struct upstream_question *question, unsigned rotation,
                                   struct forwarder_wait *wait) MUST_CHECK;

/* Stops waiting; the question goes on. */
void forwarder_forget(struct forwarder_wait *wait);

/* Return the figures and counts. Any thread; borrowed. */
const struct upstream_figures *forwarder_figures(const struct forwarder *forwarder);
const struct forwarder_counts *forwarder_counts(const struct forwarder *forwarder);

/* Reads the state of the upstreams with this serial. Returns false when they were never asked, or
 * are gone. Any thread. */
bool forwarder_zone_state(const struct forwarder *forwarder, uint32_t serial,
                          struct upstream_states *ret);

#endif
