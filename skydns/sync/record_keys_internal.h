/* Holds a domain's client records, which kube2sky writes with --client-records, as a mirror tells
 * them:
 *
 *     /kube2sky/<domain>/client/10-1-0-5  {"namespace":"prod","pod":"web-0","node":"n1",
 *                                          "zone":"eu-1a"}
 *
 * Does for them what mark_keys does for the other keys about clients, but keeps of each only the
 * record that the index shows (client_record.h), by address: a hundred thousand must stay small.
 * Owned by client_marks.c; main thread. */
#ifndef SKYDNS_SYNC_RECORD_KEYS_INTERNAL_H
#define SKYDNS_SYNC_RECORD_KEYS_INTERNAL_H

#include <stdbool.h>

#include "common/base/attributes.h"
#include "common/base/key_table.h"
#include "common/base/slice.h"

struct buf;
struct client_index;
struct client_record;
struct reader;

struct record_keys {
    struct client_index *index; /* borrowed; makes and drops records */
    struct key_table records;   /* as of the last commit */
    struct key_table changes;   /* since then */
    bool keeps_old;
};

void record_keys_init(struct record_keys *keys, struct client_index *index);
void record_keys_fini(struct record_keys *keys); /* the index shows none of them any more, or is
                                                  * cleared before its next commit */

/* Take the events of etcd_mirror.h; keys without their prefix. Put returns NULL, or why the key or
 * value is unusable: then it counts as absent. */
void record_keys_begin(struct record_keys *keys, bool keeps_old);
const char *record_keys_put(struct record_keys *keys, struct slice label, struct slice value);
void record_keys_del(struct record_keys *keys, struct slice label);

/* Commits; returns whether anything differs. is_shown: the index has the records, and gets what has
 * changed. */
bool record_keys_commit(struct record_keys *keys, bool full, bool is_shown);

/* Sets all records in the index, which has none of them. */
void record_keys_show(const struct record_keys *keys);

/* Append the records as of the last commit; put saved ones, for the caller to commit. Loading
 * returns false if the bytes are malformed; keys NULL: only looks. */
void record_keys_save(const struct record_keys *keys, struct buf *out);
bool record_keys_load(struct record_keys *keys, struct reader *reader) MUST_CHECK;

#endif
