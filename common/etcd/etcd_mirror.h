/* Mirrors a key range of etcd: reads it in pages at one revision, then watches from the next.
 * Whatever happens to etcd, the owner converges to its content. skydns mirrors its records,
 * kube2sky its own keys. Same loop and thread as its etcd.
 *
 * It works in sessions. A session uses one connection of the watch link, so it sees only one data
 * set:
 *
 *               ┌─────────────── backoff ◀── connection lost, refused, no reply ◀─┐
 *               ▼                                                                 │
 *     start ▶ ASKING ─── same data set, little behind ───────▶ FOLLOWING ─────────┤
 *               ▲ └─ nothing known, another data set, far behind, ▲   │           │
 *               │    history compacted, read already wanted       │   │           │
 *               │                    └───────▶ READING ───────────┘   │           │
 *               │                                 └───────────────────┼───────────┘
 *               └── compacted, behind, silent, old keys to be dropped ┘
 *
 * ASKING (etcd_store_id.h): reads the store key and checks whether the last changes seen are still
 * in etcd's history. FOLLOWING: two watches, one on the range, one on the store key.
 *
 * A proxy may hide that etcd is unreachable, was replaced, or no longer feeds our watch. So
 * FOLLOWING checks etcd every few seconds: the store key, and whether the watch has delivered up to
 * etcd's revision (etcd_catch_up_internal.h). If it has not, the check counts the keys of the
 * range. If the count is as the watch has delivered, only keys elsewhere may have changed, or
 * values: a new session finds out. Its watch names the range a bit differently, so that a proxy
 * which merges equal watches does not merge it with a dead one. If the count differs, or the new
 * watch is silent, too, everything is read: another watch from the same revision would cost etcd
 * the same again.
 *
 * Another data set (an etcd that came back empty or older) may lack keys that its writer is about
 * to rewrite. With keeps_old set, the owner keeps its old keys and adds the new ones. That ends
 * when the data set is complete (its own store key appears) or stale_max_ms have passed: then
 * everything is read again, and that publication drops the keys not in etcd.
 *
 * The owner sees a sequence of publications, each of one or more whole revisions:
 *
 *     full_begin put* commit(revision, full=true)       the range as it was at that revision: what
 *                                                       was held before and is not among the puts
 *                                                       is gone, unless the read keeps old keys
 *     (put | del)* commit(revision, full=false)         changes since the last commit
 *
 * A full read that fails midway starts over: full_begin may follow puts without a commit, which
 * voids everything since the earlier full_begin (a read that keeps old keys may keep those, too).
 * An owner must not use an uncommitted sequence in any other way, and knows nothing until the first
 * commit. Another data set's revisions may be smaller than earlier ones. */
#ifndef COMMON_ETCD_ETCD_MIRROR_H
#define COMMON_ETCD_ETCD_MIRROR_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/attributes.h"
#include "common/base/slice.h"
#include "common/etcd/etcd.h"
#include "common/etcd/etcd_kv.h"

struct buf;
struct err;
struct etcd_compare;
struct etcd_mirror;

/* Says why a full read happens. */
enum etcd_mirror_cause {
    ETCD_MIRROR_FIRST,
    ETCD_MIRROR_COMPACTED,   /* the history to resume from is gone */
    ETCD_MIRROR_LAG,         /* so far behind that reading is quicker than following */
    ETCD_MIRROR_UNCERTAIN,   /* no evidence whether the data set is the same */
    ETCD_MIRROR_OTHER_STORE, /* it is another data set */
    ETCD_MIRROR_COMPLETE,    /* the data set has got its store key: drop old keys; or the owner
                                wants it */
    ETCD_MIRROR_STALE,       /* stale_max_ms have passed: drop old keys */
    ETCD_MIRROR_CAUSE_COUNT,
};

/* Returns the cause for the log and a metric's label: "lag". */
const char *etcd_mirror_cause_text(enum etcd_mirror_cause cause);

struct etcd_mirror_read {
    enum etcd_mirror_cause cause;
    bool keeps_old;     /* keys held but not read stay */
    const char *reason; /* how another data set was recognized, else ""; borrowed */
};

/* Serves as config.check_ms of a few keys that hardly ever change, in a process that also mirrors
 * others. */
enum { ETCD_MIRROR_CHECK_RARELY_MS = 60000 };

struct etcd_mirror_config {
    struct slice prefix;    /* copied; empty = every key */
    bool is_one_key;        /* prefix is a key, and longer ones are not read: a user of etcd may be
                               permitted just that one */
    struct slice store_key; /* copied; see etcd_store_key */
    bool keeps_old;
    int64_t stale_max_ms; /* for how long old keys are kept; 0 = no limit */
    struct slice saved;   /* bytes that etcd_mirror_save appended in an earlier life; borrowed for
                             the call. The owner has those keys. If the data set is the same, the
                             watch resumes behind them; if not, it is another one. Empty or other
                             bytes: nothing is known */
    int64_t check_ms;     /* between checks of etcd while following; 0 = about 10 s */
    int64_t page_size; /* keys per Range page; 0 = adaptive (etcd_pages_internal.h). Halves itself
                          when a page is too large. */
    void (*full_begin)(void *data, const struct etcd_mirror_read *read);
    void (*put)(void *data, const struct etcd_kv *kv);
    void (*del)(void *data, struct slice key, int64_t revision);
    void (*commit)(void *data, int64_t revision, bool full);
    /* Reports err NULL: the watch is up and confirmed; else why no updates arrive. Called after
     * every attempt, so that the reason is the current one. */
    void (*state)(void *data, const struct err *err);
    /* Reports that all that etcd held when this session began has been committed: at once if there
     * was nothing new or everything was read, else when the watch has caught up
     * (etcd_catch_up_internal.h). Once a session, after state(NULL), from the loop. May be NULL. */
    void (*caught_up)(void *data);
    /* Reports err: etcd denies reading the store key, or writing it (etcd_mirror_mark_store). The
     * mirror works without it and recognizes the data set by single keys. err NULL: access is back.
     * May be NULL. */
    void (*store_key_state)(void *data, const struct err *err);
    /* Reports the store key: id empty = there is none, or it may not be read. has_read: a full
     * commit of this data set at that revision follows at once. Without it, the owner may lack
     * records that the store key's writer wrote before it (etcd_mirror_reread). May be NULL. */
    void (*store_key_seen)(void *data, struct slice id, bool has_read);
    void *data;
};

/* Begins the first session. Callbacks run until etcd_mirror_stop. */
struct etcd_mirror *etcd_mirror_start(struct etcd *etcd, const struct etcd_mirror_config *config);

/* Stops the mirror; no callback runs afterwards. From a callback: only commit or state, as the last
 * act. NULL is fine. */
void etcd_mirror_stop(struct etcd_mirror *mirror);

/* Appends what a process that starts with the same keys needs to resume. That is the evidence which
 * data set it is, the revision of the last commit, and since when keys of an earlier data set are
 * held, if any (Unix time: stale_max_ms counts on). Returns false, and appends nothing, if nothing
 * has been committed or a full read has begun, even while it waits for etcd: what the owner holds
 * is then no whole revision. Not from put, del and store_key_seen. */
bool etcd_mirror_save(const struct etcd_mirror *mirror, struct buf *out);

/* Returns whether etcd_mirror_save may have appended these bytes. */
bool etcd_mirror_is_saved(struct slice saved);

/* Appends such bytes with this value of the store key, for a process that follows another one;
 * empty: the last changes alone identify the data set. Returns false, and appends nothing, for
 * other bytes, or if an earlier data set's keys are held, which only their key ends. */
bool etcd_mirror_saved_with_key(struct slice saved, struct slice id, struct buf *out) MUST_CHECK;

/* Asks again which data set etcd has, as somebody else has found another one: a proxy may hide that
 * from this mirror until its next check. state(NULL) comes when that is settled. */
void etcd_mirror_ask_again(struct etcd_mirror *mirror);

/* Reads everything again, now or when the connection is back. From store_key_seen: only without
 * has_read, as the last act. */
void etcd_mirror_reread(struct etcd_mirror *mirror);

/* Writes the store key if the mirror is following and the store has none, or has one that came with
 * a backup restored while the mirror ran: for the writer, once it has written everything. Uses its
 * own transaction on the watched connection, so that the key cannot land in another store than the
 * one found complete; and only if the condition (NULL: none) holds, so that a writer that lost the
 * lead marks nothing. Call it as often as you like; after a failure the loop wakes up when a
 * further call may retry. */
void etcd_mirror_mark_store(struct etcd_mirror *mirror, const struct etcd_compare *condition);

/* Sends a transaction (etcd_txn) on the watched connection, so that it cannot happen in another
 * data set than the one followed. It replaces a store key that came with a backup, too. At most
 * ETCD_MIRROR_TXN_MAX compares, and as many operations. NULL: not following, and the callback does
 * not come. */
enum { ETCD_MIRROR_TXN_MAX = 4 };
struct etcd_call *etcd_mirror_txn(struct etcd_mirror *mirror, const struct etcd_txn *txn,
                                  etcd_txn_cb cb, void *data) MUST_CHECK;

/* Notes that etcd acknowledged a transaction of the owner with this revision, possibly before the
 * watch delivers it. A data set met later with a lower revision is another one. */
void etcd_mirror_note_write(struct etcd_mirror *mirror, int64_t revision);

struct etcd_mirror_counts {
    uint64_t reads[ETCD_MIRROR_CAUSE_COUNT]; /* committed, by cause */
    uint64_t resumed;                        /* watches resumed without a read */
    uint64_t events;                         /* puts and deletes followed */
    uint64_t marked;                         /* store keys written */
    uint64_t checks;                         /* checks of etcd while following */
    uint64_t silences;   /* watches restarted because they delivered none of etcd's changes */
    int64_t revision;    /* the owner has everything up to it; 0 = nothing yet */
    bool is_following;   /* the watch is confirmed */
    bool is_caught_up;   /* see caught_up; false again when the session ends */
    bool is_marking;     /* a write of the store key is in flight */
    bool has_store_key;  /* etcd has one */
    bool is_holding_old; /* holds an earlier data set's keys: the new one is incomplete */
    int64_t holding_ms;  /* for how long; 0 if not holding */
    int64_t behind_ms;   /* for how long etcd has been known to have changes that the owner lacks,
                            or that a read must show; 0: not known to have any */
};

struct etcd_mirror_counts etcd_mirror_counts(const struct etcd_mirror *mirror);

#endif
