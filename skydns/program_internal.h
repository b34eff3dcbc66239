/* Holds a skydns from its start to its end, for main.c and the files program_*.c: what it has open,
 * who is told, and how it ends. Main thread. */
#ifndef SKYDNS_PROGRAM_INTERNAL_H
#define SKYDNS_PROGRAM_INTERNAL_H

#include <ev.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/base/attributes.h"
#include "common/base/err.h"
#include "common/base/outage.h"
#include "common/base/service_manager.h"
#include "skydns/handover/handover.h"
#include "skydns/pages/metrics_table.h"
#include "skydns/settings/options.h"
#include "skydns/snapshot/snapshot.h"

extern const char program_resolv_conf[];

struct program {
    int64_t start_s; /* Unix time */
    struct options flags;
    struct live_config *live;
    struct options options; /* the settings that everything is opened with */
    struct ev_loop *loop;
    ev_signal on_term;
    ev_signal on_int;
    ev_signal on_hup;
    bool is_settled; /* the configuration is published */
    bool is_stopping;
    ev_timer lameduck_end;
    struct handover_place place;
    struct handover *handover; /* NULL: no -reuse-port */
    struct passed_sockets offered;
    ev_timer leaving;
    int64_t leaving_since_ms;
    struct service_manager manager;
    struct cache_tally *tally;
    struct publisher *publisher;
    struct certificate *certificate; /* NULL: no -cert */
    struct etcd *etcd;
    struct outage outage; /* etcd's */
    struct outage_source followed;
    struct store_sync *sync;
    struct writer_documents *documents;
    bool has_snapshot;     /* to start from; not one that was refused */
    bool refuses_snapshot; /* what it says cannot be opened */
    struct snapshot_content snapshot;
    struct snapshot_keeper *keeper; /* NULL: no -snapshot */
    struct http_pages *http;
    struct metrics_sources status;
    struct answering *answering;
    struct zone_serials *serials;
    struct transfer_source *transfer_source; /* NULL: no zone can be transferred */
    bool awaits_serials;      /* of zones; not ready before, unless a snapshot made it so */
    ev_async transfers_ready; /* the transfers have something for the source */
};

/* Settles the settings needed for opening, and from then on follows them (program_sync.c): from
 * the flags, and from etcd or a snapshot. Fails as live_config_begin does. */
int program_settle(struct program *p, struct err *err) MUST_CHECK;

/* Starts the mirror. The records of a snapshot are published at once. */
void program_start_sync(struct program *p);

/* Are told of what makes it ready (program_status.c); `data` is the program. */
void program_on_ready(void *data);
void program_on_serials_known(void *data);
void program_on_caught_up(void *data); /* nothing is answered from the snapshot any more */

/* Logs for each domain that it is answered. */
void program_log_ready(const struct program *p);

/* Fills what the pages show once the mirror runs, and adds what there is once the threads answer.
 */
void program_set_status(struct program *p);
void program_complete_status(struct program *p);

/* Ends it at SIGTERM and SIGINT, and reloads at SIGHUP (program_end.c). */
void program_watch_signals(struct program *p);

/* Leaves the clients to the process that took the sockets over; `data` is the program. */
void program_on_taken(void *data, pid_t process);

#endif
