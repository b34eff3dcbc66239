/* A mirror's state, shared by its four parts:
 *
 *     etcd_mirror.c         sessions, reading everything, writing the store key
 *     etcd_mirror_store.c   what is known of the data set: whether to read or to follow, whether
 *                           keys of an earlier one are held, and what of it outlives the process
 *     etcd_mirror_follow.c  the two watches
 *     etcd_mirror_check.c   whether the data set is still there, and the watch alive
 *
 * Nothing else includes it. Each field stands with the part that writes it; other writers are
 * noted. */
#ifndef COMMON_ETCD_ETCD_MIRROR_INTERNAL_H
#define COMMON_ETCD_ETCD_MIRROR_INTERNAL_H

#include <ev.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/backoff.h"
#include "common/base/buf.h"
#include "common/base/slice.h"
#include "common/etcd/etcd_catch_up_internal.h"
#include "common/etcd/etcd_mirror.h"
#include "common/etcd/etcd_pages_internal.h"
#include "common/etcd/etcd_saved_internal.h"
#include "common/etcd/etcd_store_id.h"
#include "common/etcd/etcd_store_mark_internal.h"
#include "common/etcd/etcd_watch.h"

/* Bounds what is followed: etcd replays old history in batches of 1,000 revisions, five a second,
 * and reading 100,000 keys takes as long as two or three. etcd's grpc-proxy takes the header of the
 * first batch for what has been delivered: it merges the watch with others that are further, and
 * the rest never comes. So what does not fit one batch is read; the margin is for changes until the
 * watch is there. */
enum { ETCD_MIRROR_LAG_MAX = 800 };

/* Bounds a key, which may be as long as a request: 1.5 MiB. */
enum { ETCD_MIRROR_KEY_MAX = 2 << 20 };

enum phase { PHASE_WAITING, PHASE_ASKING, PHASE_READING, PHASE_FOLLOWING };

struct etcd_mirror {
    struct etcd *etcd;
    struct etcd_mirror_config config;
    struct buf first_key; /* where the range starts */
    struct buf store_key;
    struct buf serial_key; /* empty: the serial is not followed */
    char *range_end;
    size_t range_end_len;
    struct buf shifted_end; /* another end of the same range, so that a proxy sees another watch */
    struct etcd_mirror_counts counts; /* counted by each part */

    /* ---- etcd_mirror.c ---- */

    /* Belongs to the session. Its end also stops and resets what the other parts started in it. */
    enum phase phase; /* each part also sets it, to the phase that it begins */
    ev_timer retry;   /* WAITING */
    struct backoff backoff;

    /* Describes the read that is wanted or running. */
    struct etcd_pages *pages; /* READING */
    size_t page_count;        /* READING: pages received */
    size_t key_count;         /* READING: keys in them */
    bool must_read; /* a read is wanted; etcd_mirror_store.c sets it, too, and its cause */
    bool is_begun;  /* the owner has had full_begin, but not the commit */
    struct etcd_mirror_read read;
    int64_t store_revision;  /* at which the store key was read; 0: not readable */
    int64_t last_read_ms;    /* when the last one was committed */
    int64_t behind_since_ms; /* see counts.behind_ms; 0: not */

    struct etcd_store_mark *mark;
    bool was_mark_refused;
    bool is_marked; /* we wrote the store key; reset by etcd_mirror_follow.c when the watch shows it
                     */
    char
        own_id[ETCD_STORE_ID_SIZE]; /* the id that etcd_mirror_txn last tried to write; "" = none */
    bool is_key_told;               /* reported: the store key cannot be read or written */

    /* ---- etcd_mirror_store.c ---- */

    /* Evidence of what the owner has, and of what it will have once the current read is committed.
     * Following and reading add what they see. */
    struct etcd_evidence known;
    struct etcd_evidence fresh;

    struct etcd_store_question *question; /* ASKING */
    int64_t noted;          /* ASKING: the newest write acknowledged since; 0 = none */
    bool is_seen_compacted; /* the last change seen has left the history: it cannot be watched
                               again */
    bool is_other;          /* another data set than `known`; etcd_mirror_follow.c resets it */
    char reason[160];       /* why it is another */
    bool is_complete;       /* its writer has found it complete, by the answer to `question` */
    bool can_read_serial;   /* by that answer */
    struct etcd_serial asked_serial; /* by that answer; only of a store that seems the same */
    bool is_id_old;                  /* its store key came with a copy of an earlier store */

    /* Describes the keys of an earlier data set, while they are held */
    bool is_holding;
    int64_t held_since_ms;
    bool is_overdue;       /* held for stale_max_ms */
    struct buf doubted_id; /* a store key that proves nothing: the one that the new store had when
                              met, or else that of the earlier store, which a copy of it has, too */
    struct etcd_serial
        doubted_serial; /* the serial that the new store had when this process met it */
    ev_timer stale;

    /* ---- etcd_mirror_follow.c ---- */

    struct etcd_watch *watch; /* FOLLOWING */
    struct etcd_watch *store_watch;
    struct etcd_watch *serial_watch;
    struct etcd_digest last;       /* of the newest change followed; etcd_mirror_store.c resets it
                                    * after a full read, saves and loads it */
    bool is_replaying;             /* `watch` begins with the revision of `last` */
    bool is_refuted;               /* the data set has other changes in the revision of `last` */
    bool is_up;                    /* `watch` is confirmed */
    bool is_behind;                /* it came in more than one batch: some may be missing */
    int64_t held_keys;             /* in etcd, as read and followed; -1: not read in this life */
    struct etcd_catch_up catch_up; /* FOLLOWING */

    /* ---- etcd_mirror_check.c ---- */

    ev_timer check;               /* FOLLOWING */
    struct etcd_call *check_call; /* or NULL: the check, or the count after it */
    int64_t checked_at;           /* the revision known when it was sent */
    struct etcd_silence silence;
    bool is_range_shifted; /* the watch ends at shifted_end */
};

/* ---- etcd_mirror.c ---- */

/* Ends the session and begins the next one. */
void etcd_mirror_begin_session(struct etcd_mirror *mirror);

/* Ends the session; the next one, perhaps with another member, starts after the backoff. */
void etcd_mirror_lose(struct etcd_mirror *mirror, const struct err *err);

/* Makes the next session read everything. A read already wanted keeps its cause. */
void etcd_mirror_want_read(struct etcd_mirror *mirror, enum etcd_mirror_cause cause);

/* Notes that the owner lacks changes of etcd, since then at the latest. The next full read ends
 * that. */
void etcd_mirror_note_behind(struct etcd_mirror *mirror, int64_t since_ms);

/* Reads, at the revision where the store key was read, into `fresh`; then follows. */
void etcd_mirror_read_all(struct etcd_mirror *mirror);

/* Tells the owner when the store key becomes unreadable or unwritable, and when access is back. */
void etcd_mirror_tell_key(struct etcd_mirror *mirror, const struct err *err);

/* Tells the owner that the store key was read. */
void etcd_mirror_tell_seen(const struct etcd_mirror *mirror, bool has_read);

/* ---- etcd_mirror_store.c ---- */

/* Loads config.saved, what an earlier process noted. */
void etcd_mirror_store_init(struct etcd_mirror *mirror);
void etcd_mirror_store_fini(struct etcd_mirror *mirror);

/* Reads which data set it is as a session begins, then reads everything or follows. */
void etcd_mirror_ask(struct etcd_mirror *mirror);

/* Returns whether a store key with this value ends the holding of an earlier data set's keys. */
bool etcd_mirror_ends_holding(const struct etcd_mirror *mirror, struct slice id);

/* Takes the serial that the answer told, since the store has turned out to be the same. */
void etcd_mirror_accept_serial(struct etcd_mirror *mirror);

/* Returns whether a writer has written this serial since the store was met. */
bool etcd_mirror_is_serial_new(const struct etcd_mirror *mirror, struct etcd_serial serial);

/* Returns whether the read about to begin is to keep keys that etcd lacks. */
bool etcd_mirror_keeps_old(const struct etcd_mirror *mirror);

/* Replaces `known` by `fresh`, as the read is complete. */
void etcd_mirror_was_read(struct etcd_mirror *mirror);

/* ---- etcd_mirror_follow.c ---- */

void etcd_mirror_follow_init(struct etcd_mirror *mirror);

/* Starts both watches. store_revision: where the store key was read, 0: not readable; newest: what
 * etcd has reached. */
void etcd_mirror_follow(struct etcd_mirror *mirror, int64_t store_revision, int64_t newest);

/* ---- etcd_mirror_check.c ---- */

void etcd_mirror_check_init(struct etcd_mirror *mirror);

/* Schedules checks from the time that the watches have begun until the session ends. */
void etcd_mirror_check_begin(struct etcd_mirror *mirror);
void etcd_mirror_check_end(struct etcd_mirror *mirror);

#endif
