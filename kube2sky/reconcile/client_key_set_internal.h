/* The keys of one folder beside the records (client_keys.h): what etcd holds of them, and which of
 * them there may be something to do about, in lists. A key is in one list or in none, so that what
 * happens to one costs nothing for the others. PURE; single-threaded. */
#ifndef KUBE2SKY_RECONCILE_CLIENT_KEY_SET_INTERNAL_H
#define KUBE2SKY_RECONCILE_CLIENT_KEY_SET_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/key_table.h"
#include "common/base/slice.h"
#include "common/etcd/etcd_kv.h"

enum client_key_state {
    CLIENT_KEY_SETTLED,   /* as wanted, when last looked at; in no list */
    CLIENT_KEY_CHANGED,   /* to be looked at */
    CLIENT_KEY_DISTURBED, /* likewise: somebody else changed it */
    CLIENT_KEY_REFUSED,   /* etcd refuses it, even alone */
    CLIENT_KEY_KEPT,      /* not as wanted, and may not be written now */
    CLIENT_KEY_SENT,      /* in the transaction in flight */
    CLIENT_KEY_STATES,
};

struct client_key_there {
    struct client_key_there *previous, *next; /* in its list */
    int64_t revision;                         /* that last wrote it; 0: not in etcd */
    uint64_t hash;                            /* of its value */
    uint32_t generation;                      /* of the full read that last saw it */
    uint16_t key_len;
    uint8_t state;
    bool has_changed;  /* what is wanted changed since it was last sent */
    bool is_deleting;  /* sent, or last sent, as a delete */
    bool is_restoring; /* likewise, because somebody else had changed it */
    bool is_told;      /* its plan was passed on, in a dry run */
    char key[];
};

static inline struct slice client_key_text(const struct client_key_there *key)
{
    return slice_of(key->key, key->key_len);
}

struct client_key_list {
    struct client_key_there *first, *last;
    size_t count;
};

struct client_key_set {
    struct key_table table;
    struct client_key_list lists[CLIENT_KEY_STATES];
    size_t there; /* in etcd */
};

/* Longer ones are not kube2sky's: a domain, a folder and a label. */
enum { CLIENT_KEY_MAX = 1024 };

void client_key_set_init(struct client_key_set *set);
void client_key_set_fini(struct client_key_set *set);

/* NULL: neither in etcd nor in a list. */
struct client_key_there *client_key_find(const struct client_key_set *set, struct slice text);

/* Created as settled if unknown; at most CLIENT_KEY_MAX bytes. */
struct client_key_there *client_key_get(struct client_key_set *set, struct slice text);

/* It was written in etcd, or, with 0, deleted. */
static inline void client_key_set_revision(struct client_key_set *set, struct client_key_there *key,
                                           int64_t revision)
{
    set->there += (revision != 0) - (size_t)(key->revision != 0);
    key->revision = revision;
}

/* To the end of the state's list. A settled key that is not in etcd is forgotten: the pointer is
 * void. */
void client_key_move(struct client_key_set *set, struct client_key_there *key,
                     enum client_key_state state);

/* All keys of one list. */
void client_key_move_all(struct client_key_set *set, enum client_key_state from,
                         enum client_key_state to);

static inline size_t client_key_count(const struct client_key_set *set, enum client_key_state state)
{
    return set->lists[state].count;
}

/* After a full read: those of other generations are not in etcd, and changed. */
void client_key_set_sweep(struct client_key_set *set, uint32_t generation);

#endif
