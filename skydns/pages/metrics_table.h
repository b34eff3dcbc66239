/* Writes skydns's metrics: metrics_table.c lists their names, meanings and sources; the man page
 * lists the same. Main thread; reads other threads' counters. */
#ifndef SKYDNS_PAGES_METRICS_TABLE_H
#define SKYDNS_PAGES_METRICS_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/buf.h"
#include "skydns/config/live_config.h"

struct client_figures;
struct etcd;
struct explainer;
struct handover_offer;
struct http_waiters;
struct outage;
struct outage_source;
struct resolver;
struct publisher;
struct query_tap;
struct store_sync;
struct transfers;
struct streams_counts;
struct worker;

/* Listeners for TLS, HTTPS, HTTP and gRPC. `counts` NULL: there are none. */
struct metrics_streams {
    const struct streams_counts *counts;
    const bool *is_heard; /* by enum engine_transport: has a listener */
};

/* Source for -dnstap. */
struct dnstap;

/* State of -snapshot's file. All 0: there is none. */
struct metrics_snapshot {
    int64_t heard_ms; /* Unix time as of which it knows etcd; 0: there is none */
    size_t bytes;
    uint64_t writes, failures; /* of this process */
};

/* Figures of /watch. */
struct watch_counts {
    size_t streams;    /* now */
    uint64_t events;   /* sent since the start */
    uint64_t cut_off;  /* streams that did not read */
    uint64_t refusals; /* streams without room */
};

/* Questions about the past, by page and how they ended. */
enum past_page { PAST_EXPLAIN, PAST_HISTORY, PAST_PAGES };
enum past_result {
    PAST_ANSWERED,
    PAST_GONE,      /* etcd or the marks do not reach back so far */
    PAST_BUSY,      /* another one is being answered, or etcd is away */
    PAST_BAD,       /* not a question */
    PAST_TOO_LARGE, /* over a limit */
    PAST_FAILED,    /* etcd did not tell it in time, or changed meanwhile */
    PAST_RESULTS,
};
struct past_counts {
    uint64_t results[PAST_PAGES][PAST_RESULTS];
};

/* Whether this skydns reads the sockets of its addresses. */
enum serving {
    SERVING_HERE,
    SERVING_WAITS, /* until there are answers, to take them over from another skydns */
    SERVING_LEFT,  /* to another skydns */
};

/* Sources of all metrics; borrowed. */
struct metrics_sources {
    int64_t start_s; /* Unix time of the process's start */
    const struct etcd *etcd;
    const struct outage *outage; /* etcd's */
    const struct outage_source *followed;
    const struct store_sync *sync;
    struct resolver *resolver;
    struct worker *const *workers;
    size_t worker_count;
    const char *skydns_prefix; /* of SkyDNS's own metrics; NULL: off */
    struct metrics_streams streams;
    const struct transfers *transfers;                    /* NULL: there are none */
    int64_t (*certificate_ends)(const void *certificate); /* Unix time; NULL: there is none */
    const void *certificate;
    const struct publisher *publisher;
    struct query_tap *tap;          /* samples names for /live; NULL: none */
    struct client_figures *clients; /* NULL without pages */
    struct explainer *explainer;    /* NULL without HTTP, as the next three */
    const struct http_waiters *waiters;
    struct watch_counts (*watched)(const void *watch);
    const void *watch;
    const struct past_counts *past; /* NULL without HTTP */
    bool is_lame_duck;              /* stopping, but still answering */
    enum serving serving;
    uint64_t (*handovers_refused)(const struct handover_offer *offer); /* NULL: no -reuse-port */
    const struct handover_offer *offer;
    bool awaits_serials; /* of zones that can be transferred; not ready before */
    /* Appends which of kube2sky's documents etcd denies reading, and why; NULL: there are none. */
    bool (*explain_denied)(const void *documents, struct buf *out);
    const void *documents;
    struct config_refusals (*refusals)(const void *settings); /* NULL: none */
    const void *settings;
    const struct dnstap *dnstap;                             /* NULL: none */
    struct metrics_snapshot (*snapshot)(const void *keeper); /* NULL: none */
    const void *keeper;
};

/* Appends the page. */
void skydns_metrics_table_write(const struct metrics_sources *sources, struct buf *out);

#endif
