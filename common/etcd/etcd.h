/* The etcd v3 client: typed calls over gRPC, which tries its endpoints in turn and reconnects by
 * itself.
 *
 * It has one libev loop and one thread. Every callback runs on it, never from inside the call that
 * started it. Nothing blocks and no failure ends the process: a call ends in its callback, exactly
 * once, with a response or an error.
 *
 * Requests and responses are plain data: etcd_messages.h, etcd_txn.h and etcd_kv.h. Code that makes
 * no calls includes only those.
 *
 * Every call requires a leader (metadata `hasleader`): a member without one refuses within about
 * three seconds, and the next attempt goes to another endpoint.
 *
 * The client has two connections, one for watches and one for everything else, because big reads
 * would starve watches on a shared one. Each opens on demand and closes after 30 s idle. */
#ifndef COMMON_ETCD_ETCD_H
#define COMMON_ETCD_ETCD_H

#include <ev.h>
#include <stdint.h>

#include "common/base/attributes.h"
#include "common/base/err.h"
#include "common/base/slice.h"
#include "common/etcd/etcd_messages.h"
#include "common/etcd/etcd_txn.h"
#include "common/etcd/name_lookup.h"
#include "common/tls/tls_client.h"

struct etcd;
struct etcd_call;

struct etcd_config {
    struct ev_loop *loop;
    const char *endpoints;    /* comma-separated URLs, "https://10.0.0.1:2379,..."; copied */
    uint32_t call_timeout_ms; /* deadline of each unary call, from start to last byte */
    name_lookup_fn look_up;   /* resolves endpoint names, in a helper thread; NULL: the C library */

    /* Identify us to an etcd with authentication; NULL or empty: none. Copied. The first line of a
     * password file overrides `password`. The file is read for every token request, so a new
     * password takes effect by itself; while the file is unreadable, calls fail. */
    const char *username;
    const char *password;
    const char *password_file;

    /* For https endpoints, but always read at once; copied. Files that change on disk are used from
     * the next connection on, or the old ones stay in use: either is logged. */
    struct tls_files tls;
};

/* Returns ERR_USAGE for a bad URL, with a message that names it; another code for an unusable TLS
 * file, with a message that names the file. Makes no connection and looks up no name yet. */
int etcd_new(const struct etcd_config *config, struct etcd **ret_etcd, struct err *err) MUST_CHECK;

/* Ends calls in flight without their callbacks. Stop all watches first. NULL is fine. */
void etcd_free(struct etcd *etcd);

/* Returns the URL of the endpoint that watches use or try next, for log lines. Borrowed until the
 * next loop iteration. */
const char *etcd_endpoint(const struct etcd *etcd);

/* Returns the time since the last byte from any endpoint, or since etcd_new if none came. A
 * connected, idle etcd is heard every 6 s, when it answers the watch's ping. */
int64_t etcd_silence_ms(const struct etcd *etcd);

/* ---- Range ---- */

/* Gets exactly one of reply and err, the other is NULL; it is borrowed during the call.
 * ERR_COMPACTED: the requested revision is gone; ERR_FUTURE: it does not exist yet.
 * ERR_UNAVAILABLE, ERR_TIMEOUT: try again. For every kind of call, ERR_REFUSED means that etcd
 * rejects this request (permission missing, too many operations). ERR_SHUT_OUT means that
 * certificates or passwords let no call through. */
typedef void (*etcd_range_cb)(void *data, const struct etcd_range_reply *reply,
                              const struct err *err);

/* Reads the keys of a range. The arguments are copied before the function returns. */
struct etcd_call *etcd_range(struct etcd *etcd, const struct etcd_range *range, etcd_range_cb cb,
                             void *data);

/* ---- Txn ---- */

typedef void (*etcd_txn_cb)(void *data, const struct etcd_txn_reply *reply, const struct err *err);

/* Copies all arguments before it returns. After ERR_UNAVAILABLE and ERR_TIMEOUT the transaction may
 * or may not have happened. */
struct etcd_call *etcd_txn(struct etcd *etcd, const struct etcd_txn *txn, etcd_txn_cb cb,
                           void *data);

/* ---- Status ---- */

typedef void (*etcd_status_cb)(void *data, const struct etcd_status_reply *reply,
                               const struct err *err);

/* Requests the status of the member that calls reach. */
struct etcd_call *etcd_status(struct etcd *etcd, etcd_status_cb cb, void *data);

/* ---- All calls ---- */

/* Ends the calls already sent with ERR_UNAVAILABLE (their callbacks run inside) and uses a new
 * connection for later ones. A caller needs it that finds the current connection leads to another
 * data set than the one watched. Not from inside a call's callback. */
void etcd_calls_elsewhere(struct etcd *etcd);

/* Ends the call without its callback. */
void etcd_call_cancel(struct etcd_call *call);

/* ---- Helpers ---- */

/* Writes the first key after all keys with this prefix ("/skydns/" -> "/skydns0") to out, which
 * needs room for prefix.len bytes. Returns its slice; empty only for a prefix of 0xff bytes. */
struct slice etcd_prefix_end(struct slice prefix, char *out);

#endif
