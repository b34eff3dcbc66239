/* Serves zone transfers and sends NOTIFY, on a thread of its own: AXFR (RFC 5936), IXFR (RFC 1995)
 * and NOTIFY (RFC 1996). Its low priority keeps transfers from delaying answers.
 *
 *     main thread --transfers_give (a version, pinned)--> differences --> journals
 *                 <--transfers_take_released-- (to unpin) `--> zone_serials, NOTIFY
 *     TCP, TLS, UDP --transfers_ask--> a session --send: one message--> the connection's thread
 *                   --transfers_left (it has left)--> the next one ...
 *
 * A zone's serial moves only once its journal has the step that leads there: no SOA is ahead of
 * what IXFR gives. A whole zone is read from the version with which it began. While
 * TRANSFER_VERSIONS_MAX older ones are being read, further transfers join the newest of these.
 *
 * A client that may transfer costs the others nothing. At most TRANSFER_SESSIONS_MAX run at once,
 * and a client (client_net.h) gets no further one when it has as many as are free. Each has one
 * message in memory, one transfer of a connection runs at a time, and all of it takes at most
 * TRANSFER_MS_MAX. Changes are held within JOURNAL_KEPT_MAX bytes, and within JOURNAL_HELD_MAX with
 * what readers hold: beyond that, the oldest transfers end. */
#ifndef SKYDNS_TRANSFER_TRANSFERS_H
#define SKYDNS_TRANSFER_TRANSFERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "common/base/addr.h"
#include "common/base/attributes.h"
#include "common/base/err.h"
#include "common/base/metrics.h"
#include "skydns/publish/engine_config.h"
#include "skydns/records/store.h"
#include "skydns/wire/query.h"

struct transfers;
struct tsig_keys;
struct zone_serial;

enum {
    TRANSFER_ZONES_MAX = ENGINE_ZONES_MAX + ENGINE_REVERSE_ZONES_MAX,
    TRANSFER_VERSIONS_MAX = 4,   /* besides the newest; each at worst as large as the store */
    TRANSFER_SESSIONS_MAX = 256, /* 90 KB each while a message waits; 64 secondaries, 4 zones */
    TRANSFER_MS_MAX = 10 * 60 * 1000, /* a version is not held for a client that drips */
    TRANSFER_NICE = 10,               /* as signers */
};
#define JOURNAL_KEPT_MAX ((size_t)64 << 20)
#define JOURNAL_HELD_MAX ((size_t)128 << 20)

/* ---- Requests ---- */

/* Destination of the messages. */
struct transfer_origin {
    enum engine_transport transport;
    uint64_t connection; /* of TCP and TLS: what the owner knows it by */
    const void *udp;     /* of UDP: the socket's */
};

/* Message on its way to the client. */
struct transfer_part {
    TAILQ_ENTRY(transfer_part) entry; /* whoever has it */
    struct transfer_origin origin;
    struct addr client, local;
    uint64_t transfer; /* not 0 */
    bool is_last;      /* transfers_left is not expected for it */
    size_t len;        /* 0, and is_last: the transfer failed, end the connection */
    uint8_t bytes[];
};
TAILQ_HEAD(transfer_parts, transfer_part);

struct transfers_config {
    /* Takes a part over on the transfers' thread; frees it with free() in the end. Never waits. */
    void (*send)(void *data, struct transfer_part *part);
    /* Called on that thread when there is something for transfers_take_released, or
     * transfers_is_idle is true. */
    void (*wake)(void *data);
    void *data;
    uint16_t udp_max; /* as engine_config.max_udp_size */
    /* Addresses that NOTIFY comes from, one for each family, port 0; AF_UNSPEC: the kernel's
     * choice. */
    struct addr notify_from[2];
};

/* Asks for a transfer (ENGINE_DEFER_TRANSFER), with the keys that the query's TSIG was checked by.
 * Any thread; copies. Returns false if there is no room: SERVFAIL. */
bool transfers_ask(struct transfers *transfers, const struct transfer_origin *origin,
                   const struct engine_query *query, struct tsig_keys *keys) MUST_CHECK;

/* Tells that the part before has left, or that its connection is gone. Any thread. */
void transfers_left(struct transfers *transfers, uint64_t transfer, bool is_gone);

/* ---- Versions ---- */

struct transfer_step_zone {
    struct dname apex;
    struct zone_serial *serial; /* to be set; borrowed for the transfers' life */
    uint32_t target;            /* what it is at this version, without turns */
    bool is_incomplete;         /* etcd is known to lack records of it: nothing is transferred */
};

struct transfer_step {
    const struct store *store;    /* pinned */
    struct engine_config *config; /* taken over: for transfers alone (zone_answers.h); NULL: as in
                                   * the step before. Another one makes everything new */
    uint64_t settings;            /* of it, as a hash (transfer_config_hash) */
    size_t zone_count;
    struct transfer_step_zone zones[TRANSFER_ZONES_MAX];
    size_t target_count; /* get NOTIFY */
    struct addr targets[TRANSFER_ACCESS_MAX];
};

/* Returns whether the main thread may give another step: the last one is done. */
bool transfers_is_idle(const struct transfers *transfers);

/* Takes the step over, from malloc. Main thread, while idle. store NULL: transfers end, and so does
 * NOTIFY, until another step comes. */
void transfers_give(struct transfers *transfers, struct transfer_step *step);

/* Returns a version to unpin, or NULL. Main thread. */
const struct store *transfers_take_released(struct transfers *transfers);

/* ---- Counts ---- */

enum transfers_kind { TRANSFERS_AXFR, TRANSFERS_IXFR, TRANSFERS_SOA, TRANSFERS_KINDS };
enum transfers_result {
    TRANSFERS_SENT,
    TRANSFERS_LOST,   /* the connection was closed */
    TRANSFERS_FAILED, /* records not known, too many at once, too slow */
    TRANSFERS_RESULTS
};

struct transfers_counts {
    struct counter transfers[TRANSFERS_KINDS][TRANSFERS_RESULTS];
    struct counter notify_sent, notify_answered, notify_failed; /* failed: given up */
    /* Now */
    struct counter running, journal_bytes;
};

const char *transfers_kind_text(enum transfers_kind kind);
const char *transfers_result_text(enum transfers_result result);

/* Returns the counts; any thread; borrowed. */
const struct transfers_counts *transfers_counts(const struct transfers *transfers);

/* ---- Life: main thread ---- */

int transfers_new(const struct transfers_config *config, struct transfers **ret_transfers,
                  struct err *err) MUST_CHECK;
int transfers_start(struct transfers *transfers, struct err *err) MUST_CHECK;

/* Ends the thread. Call when nobody asks any more, but parts can still be sent. Does nothing if it
 * never started. */
void transfers_stop(struct transfers *transfers);

/* Frees it once stopped; does not unpin its versions. NULL is fine. */
void transfers_free(struct transfers *transfers);

#endif
