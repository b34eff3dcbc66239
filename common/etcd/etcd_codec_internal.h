/* Converts etcd's protobuf messages to and from the structs of etcd_messages.h, etcd_txn.h and
 * etcd_kv.h.
 *
 * Hides protobuf-c. A decoded response lives in the caller's arena, whose limit bounds how far a
 * message can expand. Used by etcd.c, etcd_watch.c and fuzzing. Pure; any thread. */
#ifndef COMMON_ETCD_ETCD_CODEC_INTERNAL_H
#define COMMON_ETCD_ETCD_CODEC_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/arena.h"
#include "common/base/attributes.h"
#include "common/base/buf.h"
#include "common/base/err.h"
#include "common/base/slice.h"
#include "common/etcd/etcd_kv.h"
#include "common/etcd/etcd_messages.h"
#include "common/etcd/etcd_txn.h"

/* Holds the largest message (GRPC_RECEIVE_MAX) of ordinary records. A message of those (140 bytes
 * each) expands to 2.7 times its size, a Range response to 1.5 times; one of the tiniest keys to 30
 * times. */
enum { ETCD_DECODED_MAX = 128 << 20 };

/* Append the message to out; a message over out's limit sets out->failed. */
void etcd_encode_range(const struct etcd_range *range, struct buf *out);
void etcd_encode_txn(const struct etcd_txn *txn, struct buf *out);
void etcd_encode_lease_grant(int64_t id, int64_t ttl_s, struct buf *out);
/* Encodes a LeaseKeepAliveRequest, LeaseTimeToLiveRequest or LeaseRevokeRequest: each has the id as
 * its first field, and here no other. */
void etcd_encode_lease_id(int64_t id, struct buf *out);
void etcd_encode_authenticate(const char *name, const char *password, struct buf *out);

/* Asks for a watch without `fragment`: for each event of a long message etcd 3.7 would measure the
 * whole message again, a minute of its CPU for 65,000 deletes in one revision. So a message may be
 * as long as GRPC_RECEIVE_MAX, about 350,000 deletes; at a longer one the watch ends with
 * ERR_TOO_LARGE. Fragments are still understood, since a proxy may ask for them. */
struct etcd_watch_request {
    struct slice key;
    struct slice range_end;
    int64_t start_revision; /* etcd also reports its revision to an idle watch now and then */
};
void etcd_encode_watch(const struct etcd_watch_request *request, struct buf *out);

/* Return ERR_PROTOCOL for a malformed message, ERR_TOO_LARGE for one over the arena's limit. A
 * response lives until the arena is cleared. */
int etcd_decode_range(struct slice message, struct arena *arena, struct etcd_range_reply *ret_reply,
                      struct err *err) MUST_CHECK;
int etcd_decode_txn(struct slice message, struct arena *arena, struct etcd_txn_reply *ret_reply,
                    struct err *err) MUST_CHECK;

int etcd_decode_lease_grant(struct slice message, struct arena *arena,
                            struct etcd_lease_reply *ret_reply, struct err *err) MUST_CHECK;
int etcd_decode_lease_keep_alive(struct slice message, struct arena *arena,
                                 struct etcd_lease_reply *ret_reply, struct err *err) MUST_CHECK;
int etcd_decode_lease_time_to_live(struct slice message, struct arena *arena,
                                   struct etcd_lease_reply *ret_reply, struct err *err) MUST_CHECK;
int etcd_decode_lease_revoke(struct slice message, struct arena *arena,
                             struct etcd_revoke_reply *ret_reply, struct err *err) MUST_CHECK;
int etcd_decode_status(struct slice message, struct arena *arena,
                       struct etcd_status_reply *ret_reply, struct err *err) MUST_CHECK;
/* Returns a token that is never empty. */
int etcd_decode_authenticate(struct slice message, struct arena *arena, const char **ret_token,
                             struct err *err) MUST_CHECK;

struct etcd_watch_response {
    bool created;
    bool canceled;
    bool fragment;             /* more of this response follows */
    int64_t store_revision;    /* when sent; 0 in refusals */
    int64_t compact_revision;  /* not 0: canceled because the start revision is gone */
    const char *cancel_reason; /* never NULL */
    struct etcd_event *events; /* each with a key and a revision, revisions ascending */
    size_t count;
};
int etcd_decode_watch(struct slice message, struct arena *arena,
                      struct etcd_watch_response *ret_response, struct err *err) MUST_CHECK;

#endif
