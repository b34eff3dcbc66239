/* A mirror (common/etcd/etcd_mirror.h) of a real etcd, and an owner that keeps the reported keys
 * and checks the order of the callbacks. For cmocka tests; one of each per program. */
#ifndef TESTS_SUPPORT_MIRROR_BED_H
#define TESTS_SUPPORT_MIRROR_BED_H

#include <ev.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/buf.h"
#include "common/base/err.h"
#include "common/etcd/etcd.h"
#include "common/etcd/etcd_mirror.h"
#include "tests/support/etcd_proc.h"
#include "tests/support/unit_test.h"

CLEANUP_POINTER(etcd_mirror_stop, struct etcd_mirror)

/* The simplest owner: keys in an array, in order of arrival. */
enum { KEYS_MAX = 2000 };

struct mirror_owner {
    char keys[KEYS_MAX][32];
    size_t count;                 /* committed or not */
    size_t full_from;             /* index of the first put of the current full read */
    bool is_full_read;            /* between full_begin and its commit */
    bool keeps_old;               /* the current full read does */
    enum etcd_mirror_cause cause; /* of the last full read */
    unsigned full_begins;
    unsigned fulls;   /* commits of full reads */
    unsigned commits; /* of changes */
    int64_t revision;
    unsigned ups;
    unsigned downs;
    unsigned caught_ups;
    int64_t caught_up_at; /* `revision` then */
    struct err down;
    size_t value_bytes;
    char store_key[40]; /* as last told */
    bool has_read_key;  /* then */
    unsigned fulls_at_key;
    int64_t newest_put;          /* the largest mod_revision of the current full read */
    void (*between_pages)(void); /* called once, at the first put */

    bool want_old; /* configuration of the mirror */
    int64_t stale_max_ms;
    int64_t check_ms;
    struct slice saved;

    int64_t want_revision; /* for the waits below */
    unsigned want_fulls;
    unsigned want_ups;
};

enum { MIRROR_BED_TIMEOUT_MS = 60000 }; /* for its clients' calls */

struct mirror_bed {
    struct ev_loop *loop;
    struct etcd_proc *proc;
    struct etcd *etcd;                /* the mirror's */
    struct etcd *writer;              /* the test's */
    const struct etcd_mirror *mirror; /* the last one started */
};

extern struct mirror_bed bed;
extern struct mirror_owner owner;

/* Setup and teardown of the group and of each test; _in_new_store starts with an empty etcd. */
int mirror_bed_start(void **state);
int mirror_bed_stop(void **state);
int mirror_bed_each(void **state);
int mirror_bed_each_in_new_store(void **state);
int mirror_bed_each_end(void **state);

/* Its store key is /key/of/store. */
struct etcd_mirror *bed_mirror(const char *prefix, int64_t page_size);

/* ---- Waits until the owner has seen this much ---- */

void bed_wait_revision(int64_t revision);
void bed_wait_fulls(unsigned fulls);
void bed_wait_store_key(const char *id); /* its watch is not that of the range */
void bed_wait_ups(unsigned ups);
bool bed_is_down(const void *data); /* for loop_until; data is ignored */
void bed_wait_caught_up(void);      /* the last mirror started, in its current session */

/* ---- A new process ---- */

/* Ends the mirror and its client. What it would have saved, owned by the caller; it must save. */
struct buf bed_end(struct etcd_mirror *mirror);

/* Starts another one for the same owner, whose counters begin anew. */
struct etcd_mirror *bed_start_saved(const char *prefix, const struct buf *saved);

/* Both at once. */
struct etcd_mirror *bed_restart(struct etcd_mirror *mirror, const char *prefix);

/* ---- Changes; the mirror's loop runs meanwhile ---- */

int64_t bed_put(const char *key); /* returns the revision */
void bed_put_store_key(const char *id);

/* Kills etcd and waits until the mirror has noticed. */
void bed_lose_etcd(void);

/* The same, and starts it again: with its data, with none, or with what etcd_proc_save took. */
void bed_restart_etcd(void);
void bed_wipe_etcd(void);
void bed_restore_etcd(void);

/* ---- Changes while the mirror's loop does not run ---- */

struct aside { /* another client, on its own loop */
    struct ev_loop *loop;
    struct etcd *etcd;
};

struct aside aside_open(void);
void aside_close(struct aside *aside);

/* Puts the key until the store reaches the revision. */
void aside_write_up_to(const struct aside *aside, const char *key, int64_t revision);

/* ---- The owner's keys ---- */

bool owner_has(const char *key);

/* The index of the first match, or `to`. */
size_t owner_find(size_t from, size_t to, struct slice key);

/* The owner must have the same keys as etcd at the owner's revision. */
void bed_expect_same(const char *prefix);

#endif
