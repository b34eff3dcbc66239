/* A key range of etcd followed for ever: Range in pages pinned to one revision, then a watch from
 * the next; whatever happens to etcd, the owner ends up with what it holds. skydns keeps its
 * records by it, kube2sky its own keys. Same loop and thread as its etcd.
 *
 * It works in sessions. All of a session is on one connection of the watch line, so that all of it
 * is of one store:
 *
 *               ┌────────────── back-off ◀── connection lost, refused, no reply ◀─┐
 *               ▼                                                                 │
 *     start ▶ ASKING ─── same store, little behind ──────────▶ FOLLOWING ─────────┤
 *               ▲ └─ nothing known, another store, far behind,    ▲   │           │
 *               │    history compacted, to be read anyway         │   │           │
 *               │                    └───────▶ READING ───────────┘   │           │
 *               │                                 └───────────────────┼───────────┘
 *               └── compacted, far behind, the old keys are to go ◀───┘
 *
 * ASKING (etcd_store_id.h): the store key, and whether what was seen last is still so. FOLLOWING:
 * two watches, of the range and of the store key.
 *
 * Another store, that is an etcd that came back empty or older, may still lack keys that its writer
 * is about to write again. With keeps_old set, the owner keeps what it had and only takes what the
 * new store has on top, until the store is complete (its own store key appears) or stale_max_ms
 * have passed: then everything is read again, and what is not there goes in that publication.
 *
 * What the owner sees is a sequence of publications, each a whole revision or several:
 *
 *     full_begin put* commit(revision, full=true)       the range as it was at that revision: what
 *                                                       was held before and is not among the puts
 *                                                       is gone, unless the read keeps old keys
 *     (put | del)* commit(revision, full=false)         changes since the last commit
 *
 * A full read that fails in the middle is begun again, whatever is found then: full_begin may
 * follow puts without a commit; what came since the earlier full_begin is void (a read that keeps
 * old keys may keep these, too). Nothing else may be taken from an uncommitted sequence. Until the
 * first commit the owner knows nothing. Revisions of another store may be smaller than those
 * before. */
#ifndef COMMON_ETCD_ETCD_MIRROR_H
#define COMMON_ETCD_ETCD_MIRROR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/slice.h"
#include "common/etcd/etcd_kv.h"

struct err;
struct etcd;
struct etcd_compare;
struct etcd_mirror;

/* Why everything is read. */
enum etcd_mirror_cause {
    ETCD_MIRROR_FIRST,
    ETCD_MIRROR_COMPACTED,   /* the history to go on from is gone */
    ETCD_MIRROR_LAG,         /* so far behind that reading is quicker than following */
    ETCD_MIRROR_UNCERTAIN,   /* nothing tells whether the store is the same */
    ETCD_MIRROR_OTHER_STORE, /* it is not */
    ETCD_MIRROR_COMPLETE,    /* the other store has its key: old keys go */
    ETCD_MIRROR_STALE,       /* stale_max_ms have passed: old keys go */
    ETCD_MIRROR_CAUSE_COUNT,
};

/* As the log and a metric's label say it: "lag". */
const char *etcd_mirror_cause_text(enum etcd_mirror_cause cause);

struct etcd_mirror_read {
    enum etcd_mirror_cause cause;
    bool keeps_old;     /* what was held and is not read stays */
    const char *reason; /* by what another store was known, else ""; borrowed */
};

struct etcd_mirror_config {
    struct slice prefix;    /* copied; empty = every key */
    struct slice store_key; /* copied; see etcd_store_key */
    bool keeps_old;
    int64_t stale_max_ms; /* 0 = no limit */
    int64_t page_size; /* keys a Range page; 0 = what suits etcd (etcd_pages_internal.h). Halved by
                          itself when a page is too large. */
    void (*full_begin)(void *data, const struct etcd_mirror_read *read);
    void (*put)(void *data, const struct etcd_kv *kv);
    void (*del)(void *data, struct slice key, int64_t revision);
    void (*commit)(void *data, int64_t revision, bool full);
    /* The connection's state changed: err NULL = the watch is up and confirmed. Else why there are
     * no news from etcd; again when the kind of reason (err->code) changes. */
    void (*state)(void *data, const struct err *err);
    /* etcd refuses to let the store key be read, or written by etcd_mirror_mark_store: the mirror
     * goes on without, told by single keys what store it is. NULL: that is over. May be NULL. */
    void (*store_key_state)(void *data, const struct err *err);
    void *data;
};

struct etcd_mirror *etcd_mirror_start(struct etcd *etcd, const struct etcd_mirror_config *config);

/* No callback after it. Inside a callback: only from commit or state, as the last act. NULL is
 * fine. */
void etcd_mirror_stop(struct etcd_mirror *mirror);

/* Gives the store its key when it is followed and has none: for the writer, once everything is in
 * it. In a transaction of its own, on the connection that is watched, so that the key cannot get
 * into another store than the one that was found complete; with a condition (NULL: none) only while
 * that holds, so that a writer which lost the lead marks nothing. May be called again and again; a
 * failure is tried again by a later call, the loop being woken for it. */
void etcd_mirror_mark_store(struct etcd_mirror *mirror, const struct etcd_compare *condition);

/* A transaction of the owner's was acknowledged with this revision, which the watch may not have
 * brought yet: a store that is met later and has not come so far is another one. */
void etcd_mirror_note_write(struct etcd_mirror *mirror, int64_t revision);

struct etcd_mirror_counts {
    uint64_t reads[ETCD_MIRROR_CAUSE_COUNT]; /* committed, by cause */
    uint64_t resumed;                        /* watches resumed without a read */
    uint64_t events;                         /* puts and deletes followed */
    uint64_t marked;                         /* store keys written */
    int64_t revision;    /* up to which the owner has everything; 0 = nothing yet */
    bool is_following;   /* the watch is confirmed */
    bool is_marking;     /* a store key is on its way to etcd */
    bool has_store_key;  /* the store has one */
    bool is_holding_old; /* keys of an earlier store are kept, the new one being incomplete */
    int64_t holding_ms;  /* since when, while they are */
};

struct etcd_mirror_counts etcd_mirror_counts(const struct etcd_mirror *mirror);

#endif
