/* Feeds the transfers' thread: gives it each version of the record store, a configuration made for
 * transfers alone, and the serials that zones have at it; and unpins the versions that it has done
 * with. Main thread, on its loop; nothing happens while no client may transfer.
 *
 * A serial is a base, the revision of the zone's last change and the settings' part (serial.h),
 * modulo 2^32. The base is kube2sky's key `/kube2sky/<domain>/serial`, which grows from one etcd
 * data set to the next; ZONE_SERIAL_LOWEST without one. Writing it counts as a change. Reverse
 * zones have that of the first domain. Zones are given only while records and bases are known to be
 * of one data set: neither before etcd has said what the base is, nor while it is away. */
#ifndef SKYDNS_TRANSFER_SOURCE_H
#define SKYDNS_TRANSFER_SOURCE_H

#include <ev.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/dns/dname.h"
#include "skydns/transfer/serial.h"

struct buf;
struct etcd;
struct publisher;
struct store_sync;
struct transfer_source;
struct transfers;

/* Time within which changes make one step. */
enum { TRANSFER_SOURCE_PAUSE_MS = 100 };

/* Limits how long the first step waits for etcd's history, since etcd may be slow, or have none. */
enum { TRANSFER_HISTORY_MS = 2000 };

/* Parts of the program, all borrowed. */
struct transfer_source_config {
    struct ev_loop *loop;
    struct etcd *etcd;
    struct publisher *publisher;
    struct store_sync *sync;
    struct transfers *transfers;
    int64_t stale_max_ms; /* as of the records */

    /* Called once, when the records are ready and all zones show a serial, are known to lack
     * records, or cannot be transferred. */
    void (*known)(void *data);
    void *data;
};

struct transfer_source *transfer_source_new(const struct transfer_source_config *config);
void transfer_source_free(
    struct transfer_source *source); /* before the store's end; NULL is fine */

/* Returns the origin of a zone's serial. */
struct serial_origin transfer_source_origin(const struct transfer_source *source,
                                            const struct dname *apex);

/* Returns writer_documents_explain_denied of the bases. NULL: there are none. */
bool transfer_source_explain_denied(const struct transfer_source *source, struct buf *out);

#endif
