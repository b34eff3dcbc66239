/* Carries gRPC calls on one HTTP/2 connection (RFC 9113), over libnghttp2 on a libev loop.
 *
 * The connection uses TLS, or cleartext with prior knowledge. The etcd client (etcd_link.c) decides
 * when and where to connect and how long a call may take. This file never reconnects, and times
 * only the connection's own liveness. One loop, one thread.
 *
 *     grpc_new -> opening --(peer's SETTINGS)--> open --(GOAWAY)--> draining -> on_close
 *                    `-- refused, timeout -> on_close    `-- lost, PING unanswered -> on_close
 *
 * Callbacks run on the loop, never from inside the call that started them. Callbacks may call every
 * function here, grpc_free included.
 *
 * Output is batched and written once per loop turn. Liveness: while a long stream is open, a PING
 * every ping_interval_ms must be answered within 3 s; etcd treats pings at other times as abuse. */
#ifndef COMMON_GRPC_GRPC_H
#define COMMON_GRPC_GRPC_H

#include <ev.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/base/addr.h"
#include "common/base/err.h"
#include "common/base/slice.h"

struct grpc;
struct grpc_stream;
struct tls_client;

/* Bounds a message that is accepted: a Range page of 5,000 keys with 6.7 KB each, far more than a
 * DNS record needs; or the events of a watch, at most 1,000 revisions in one message (a deleted key
 * is about 90 bytes). */
enum { GRPC_RECEIVE_MAX = 32 << 20 };

/* Bounds a message that is sent: etcd accepts requests of 1.5 MiB and closes the connection at 2
 * MiB. */
enum { GRPC_SEND_MAX = 2 << 20 };

/* Stands for the status of a stream that ended without one. */
enum { GRPC_STATUS_NONE = -1 };

struct grpc_config {
    struct ev_loop *loop;
    struct addr address;
    const char *authority;        /* "127.0.0.1:2379"; copied */
    const struct tls_client *tls; /* NULL: cleartext; must outlive the connection */
    const char *server_name;      /* with TLS: must be in the certificate; copied */
    uint32_t open_timeout_ms;     /* until the peer's SETTINGS */
    uint32_t ping_interval_ms;    /* 0 = never */

    void (*on_open)(void *data);
    /* Reports the end, once, after every stream has ended. The connection is dead: grpc_free it.
     * ERR_REFUSED: the peer is the wrong kind of server (TLS, HTTP/2), or rejects us. */
    void (*on_close)(void *data, const struct err *err);
    void *data;
};

/* Begins to connect; on_open or on_close follows, from the loop. */
struct grpc *grpc_new(const struct grpc_config *config);

/* Ends streams without a callback. NULL is fine. */
void grpc_free(struct grpc *grpc);

/* Returns whether streams can be opened: from on_open to GOAWAY or the end. */
bool grpc_is_open(const struct grpc *grpc);

/* Returns when the peer was last heard (clock_monotonic_ms); 0 = never. */
int64_t grpc_last_heard_ms(const struct grpc *grpc);

/* Handles what the peer has already sent. Call it before giving up a call at its deadline: after a
 * pause of this process, the response may be waiting in the socket. Callbacks run inside. */
void grpc_read_pending(struct grpc *grpc);

/* Returns whether the peer closed the connection for too many pings; the next one should ping half
 * as often. */
bool grpc_was_closed_for_pings(const struct grpc *grpc);

/* Holds a field sent with a call; name in lower case, constant. The value must be a valid header
 * value (RFC 9110 5.5: visible bytes), or nghttp2 fails the call. */
struct grpc_metadata {
    const char *name;
    const char *value;
};

enum { GRPC_METADATA_MAX = 4 }; /* the etcd client sends two: a token and hasleader */

struct grpc_stream_config {
    const char *path;                     /* "/etcdserverpb.KV/Range"; constant */
    bool is_long;                         /* endless, like a watch: pinged, and ended by GOAWAY */
    const struct grpc_metadata *metadata; /* read before grpc_stream_open returns */
    size_t metadata_count;

    /* Delivers a message, borrowed during the call. */
    void (*on_message)(void *data, struct slice message);
    /* Reports the end, once; the stream is gone. status is the grpc-status or GRPC_STATUS_NONE; err
     * is NULL if and only if it is 0 and the response was well formed. */
    void (*on_end)(void *data, int status, const struct err *err);
    void *data;
};

/* Opens a stream; only while grpc_is_open. */
struct grpc_stream *grpc_stream_open(struct grpc *grpc, const struct grpc_stream_config *config);

/* Queues a copy of a message of at most GRPC_SEND_MAX bytes. Send nothing after the last one. */
void grpc_stream_send(struct grpc_stream *stream, struct slice message, bool is_last);

/* Ends the stream without its callback (RST_STREAM CANCEL). */
void grpc_stream_cancel(struct grpc_stream *stream);

#endif
