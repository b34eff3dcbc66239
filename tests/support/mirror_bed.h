/* A mirror (common/etcd/etcd_mirror.h) of a real etcd, and an owner that keeps the keys it is told
 * of and checks the order of what it is told. For cmocka tests; each program has one of each. */
#ifndef TESTS_SUPPORT_MIRROR_BED_H
#define TESTS_SUPPORT_MIRROR_BED_H

#include <ev.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/err.h"
#include "common/etcd/etcd.h"
#include "common/etcd/etcd_mirror.h"
#include "tests/support/etcd_proc.h"

/* As simple an owner as there can be: keys in an array, in the order they came. */
enum { KEYS_MAX = 2000 };

struct mirror_owner {
    char keys[KEYS_MAX][32];
    size_t count;                 /* committed and not */
    size_t full_from;             /* where the puts of the full read under way begin */
    bool is_full_read;            /* full_begin came, its commit did not */
    bool keeps_old;               /* that read */
    enum etcd_mirror_cause cause; /* of the last read begun */
    unsigned full_begins;
    unsigned fulls;   /* commits of full reads */
    unsigned commits; /* of changes */
    int64_t revision;
    unsigned ups;
    unsigned downs;
    struct err down;
    size_t value_bytes;
    int64_t newest_put;          /* the largest mod_revision of the full read under way */
    void (*between_pages)(void); /* called once, at the first put */

    bool want_old; /* for the mirror's configuration */
    int64_t stale_max_ms;

    int64_t want_revision; /* for the waits below */
    unsigned want_fulls;
    unsigned want_ups;
};

enum { MIRROR_BED_TIMEOUT_MS = 60000 }; /* of its clients' calls */

struct mirror_bed {
    struct ev_loop *loop;
    struct etcd_proc *proc;
    struct etcd *etcd;   /* of the mirror */
    struct etcd *writer; /* of the test */
};

extern struct mirror_bed bed;
extern struct mirror_owner owner;

/* Of the group, and of each test. The second one gives it an etcd without data. */
int mirror_bed_start(void **state);
int mirror_bed_stop(void **state);
int mirror_bed_each(void **state);
int mirror_bed_each_in_new_store(void **state);
int mirror_bed_each_end(void **state);

/* Its store key is /key/of/store. */
struct etcd_mirror *bed_mirror(const char *prefix, int64_t page_size);

/* ---- Waits: until the owner has seen as much ---- */

void bed_wait_revision(int64_t revision);
void bed_wait_fulls(unsigned fulls);
void bed_wait_ups(unsigned ups);
bool bed_is_down(const void *data); /* for loop_until; data is of no use */

/* ---- Changes; the mirror's loop runs meanwhile ---- */

int64_t bed_put(const char *key); /* the revision */
void bed_put_store_key(const char *id);

/* etcd is killed, and the mirror has noticed. */
void bed_lose_etcd(void);

/* ---- Changes while the mirror stands still ---- */

struct aside { /* another client, on a loop of its own */
    struct ev_loop *loop;
    struct etcd *etcd;
};

struct aside aside_open(void);
void aside_close(struct aside *aside);

/* Puts the key until the store's revision is the one given. */
void aside_write_up_to(const struct aside *aside, const char *key, int64_t revision);

/* ---- What the owner has ---- */

bool owner_has(const char *key);

/* The index of the first such key, or `to`. */
size_t owner_find(size_t from, size_t to, struct slice key);

/* The same keys as etcd at the owner's revision. */
void bed_expect_same(const char *prefix);

#endif
