/* The etcd v3 client: typed calls over gRPC (common/grpc/grpc.h), one endpoint after another,
 * reconnecting by itself. One libev loop, one thread; every callback runs on it, never from inside
 * the call that started it. Nothing blocks and no failure ends the process: a call ends in its
 * callback, once, with a reply or an error.
 *
 * What is asked and answered is plain data: etcd_messages.h, etcd_txn.h and etcd_kv.h, which those
 * include who call nothing here.
 *
 * Every call asks for a leader (metadata `hasleader`): a member that has none refuses it
 * within some three seconds, and the next attempt goes to another endpoint.
 *
 * Two connections are kept apart: one for watches, one for everything else, opened on demand
 * and closed after 30 s idle (big reads would starve watches on a shared one). */
#ifndef COMMON_ETCD_ETCD_H
#define COMMON_ETCD_ETCD_H

#include <ev.h>
#include <stdbool.h>
#include <stddef.h>
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
    name_lookup_fn look_up;   /* of the endpoints' names, in a helper thread; NULL: the C library */

    /* For an etcd with authentication; NULL or empty: none. Copied. A password file (its first line
     * counts, not `password`) is read whenever etcd is asked for a token, so that a new password is
     * taken up by itself; one that cannot be read fails the calls until it can. */
    const char *username;
    const char *password;
    const char *password_file;

    struct tls_files tls; /* for https endpoints, read at once in any case; copied */
    /* Files of `tls` changed on disk: NULL when they are in use from the next connection on, else
     * why the old ones stay in use; once for each change. Must not free the client. May be NULL. */
    void (*on_credentials)(void *data, const struct err *err);
    void *data; /* of on_credentials */
};

/* A bad URL is ERR_USAGE with a message that names it; a TLS file that cannot be used is another
 * code, with a message that names the file. No connection is made and no name looked up
 * yet. */
int etcd_new(const struct etcd_config *config, struct etcd **ret_etcd, struct err *err) MUST_CHECK;

/* Calls in flight end without their callbacks; watches must be stopped before. NULL is fine. */
void etcd_free(struct etcd *etcd);

/* The endpoint that watches use, or whose turn it is; its URL, for log lines. Borrowed until the
 * loop turns. */
const char *etcd_endpoint(const struct etcd *etcd);

/* Since the last byte from any endpoint; since etcd_new when there was none. A connected and idle
 * etcd is heard every 6 s, when it answers the watch's ping. */
int64_t etcd_silence_ms(const struct etcd *etcd);

/* ---- Range ---- */

/* reply is NULL when err is set, and the other way round. Both are borrowed during the call.
 * ERR_COMPACTED: the revision asked for is gone; ERR_FUTURE: it is to come. ERR_UNAVAILABLE,
 * ERR_TIMEOUT: try again. Of any call: ERR_REFUSED is etcd's answer to what was asked (a permission
 * is missing, too many operations), ERR_SHUT_OUT says that certificates or passwords let no call
 * through. */
typedef void (*etcd_range_cb)(void *data, const struct etcd_range_reply *reply,
                              const struct err *err);

struct etcd_call *etcd_range(struct etcd *etcd, const struct etcd_range *range, etcd_range_cb cb,
                             void *data);

/* ---- Txn ---- */

typedef void (*etcd_txn_cb)(void *data, const struct etcd_txn_reply *reply, const struct err *err);

/* ERR_UNAVAILABLE and ERR_TIMEOUT leave open whether the transaction happened. Everything passed
 * in is copied before the function returns. */
struct etcd_call *etcd_txn(struct etcd *etcd, const struct etcd_txn *txn, etcd_txn_cb cb,
                           void *data);

/* ---- All calls ---- */

/* Calls that were sent end with ERR_UNAVAILABLE (their callbacks run inside) and new ones go over a
 * new connection: for who has found that the present one leads to a store that is not the one
 * watched. Not from inside the callback of a call. */
void etcd_calls_elsewhere(struct etcd *etcd);

/* Ends the call without its callback. */
void etcd_call_cancel(struct etcd_call *call);

/* ---- Helpers ---- */

/* The key just behind all keys with this prefix ("/skydns/" -> "/skydns0"), written to out, which
 * must have room for prefix.len bytes. Returns its slice; empty only for a prefix of 0xff bytes. */
struct slice etcd_prefix_end(struct slice prefix, char *out);

#endif
