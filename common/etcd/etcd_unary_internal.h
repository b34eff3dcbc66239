/* Calls of one request and one response, for etcd.c.
 *
 * Create a call with etcd_unary_new, fill it in, encode its request, start it; it then frees
 * itself. Loop and thread as common/etcd/etcd.h. */
#ifndef COMMON_ETCD_ETCD_UNARY_INTERNAL_H
#define COMMON_ETCD_ETCD_UNARY_INTERNAL_H

#include "common/base/arena.h"
#include "common/base/buf.h"
#include "common/etcd/etcd.h"
#include "common/etcd/etcd_lease.h"

union etcd_reply {
    struct etcd_range_reply range;
    struct etcd_txn_reply txn;
    struct etcd_lease_reply lease;
    struct etcd_revoke_reply revoke;
    struct etcd_status_reply status;
};

/* Calls: each has a path, a decoder of etcd_codec_internal.h, and its callback's type. */
enum etcd_unary_kind {
    ETCD_UNARY_RANGE,
    ETCD_UNARY_TXN,
    ETCD_UNARY_STATUS,
    ETCD_UNARY_LEASE_GRANT,
    ETCD_UNARY_LEASE_KEEP_ALIVE,
    ETCD_UNARY_LEASE_TIME_TO_LIVE,
    ETCD_UNARY_LEASE_REVOKE,
};

struct etcd_unary {
    struct etcd *etcd;
    enum etcd_unary_kind kind;
    bool is_watched;     /* on the watch link, not on the call link */
    bool only_now;       /* see struct etcd_call_config */
    uint32_t timeout_ms; /* the client's, unless set */

    void (*cb)(void); /* cast back to its type for the call */
    void *data;

    /* Name the keys that the call touches, for the message when permission is missing; see
     * etcd_unary_touches. */
    const char *verb; /* "read"; NULL = no keys to report */
    struct slice key;
    struct slice range_end;
    size_t key_count; /* more than one: `key` to `range_end`, both included */

    struct buf request; /* the encoded request */
    struct arena *into; /* the caller's, for the response; NULL: the response dies with the call */
    struct arena arena;
    bool has_reply;
    union etcd_reply reply;
};

/* `cb` is the kind's callback, cast. */
struct etcd_unary *etcd_unary_new(struct etcd *etcd, enum etcd_unary_kind kind, void (*cb)(void),
                                  void *data);

/* Copies key and range end, for the message when permission is missing. */
void etcd_unary_touches(struct etcd_unary *unary, const char *verb, struct slice key,
                        struct slice range_end);

/* Sends the request; the call frees itself at its end or when it is canceled. */
struct etcd_call *etcd_unary_start(struct etcd_unary *unary);

/* Finds the status that etcd gave a call, if a proxy has lost it: etcd's grpc-proxy hands errors of
 * most calls on as status 2, unknown, with etcd's text. Pure. */

struct err;

/* grpc-status */
enum {
    STATUS_UNKNOWN = 2,
    STATUS_INVALID_ARGUMENT = 3,
    STATUS_NOT_FOUND = 5,
    STATUS_PERMISSION_DENIED = 7,
    STATUS_RESOURCE_EXHAUSTED = 8,
    STATUS_FAILED_PRECONDITION = 9,
    STATUS_OUT_OF_RANGE = 11,
    STATUS_UNAVAILABLE = 14,
    STATUS_UNAUTHENTICATED = 16,
};

/* Returns the status that the error's text tells, and sets err's code by it. Returns any other
 * status unchanged. */
int etcd_status_of(int status, struct err *err);

#endif
