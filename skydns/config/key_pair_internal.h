/* Reads the two files of one key of -dnssec, BASE.key and BASE.private, again when either changes.
 * While they cannot be used, the last key stays: they are written one after the other. Main thread.
 */
#ifndef SKYDNS_CONFIG_KEY_PAIR_INTERNAL_H
#define SKYDNS_CONFIG_KEY_PAIR_INTERNAL_H

#include <stdbool.h>

#include "common/base/attributes.h"
#include "common/base/err.h"
#include "skydns/dnssec/signing_key.h"

struct key_pair;
struct watched_file_config;

/* Starts watching; reads nothing yet. `files` says on which loop, and what is called when one of
 * the files has changed: read them. */
struct key_pair *key_pair_new(const char *base, const struct watched_file_config *files);
void key_pair_free(struct key_pair *pair); /* NULL is fine; no byte of the key stays in memory */

enum key_pair_outcome {
    KEY_PAIR_SAME,   /* the same key as last time */
    KEY_PAIR_NEW,    /* another key */
    KEY_PAIR_GONE,   /* neither file is there */
    KEY_PAIR_BROKEN, /* they cannot be used */
};

/* Reads both files. BROKEN and GONE set err, which names the file, or both. */
enum key_pair_outcome key_pair_read(struct key_pair *pair, struct err *err) MUST_CHECK;

/* Forgets the key. */
void key_pair_forget(struct key_pair *pair);

/* Returns the key that the files held when last read, borrowed; NULL: none. */
const struct signing_key *key_pair_key(const struct key_pair *pair);

/* Copies the key for the caller. Fails only if libcrypto does. */
int key_pair_copy(const struct key_pair *pair, struct signing_key **ret_key,
                  struct err *err) MUST_CHECK;

const char *key_pair_base(const struct key_pair *pair);

/* Returns whether the private file is open to users beyond its owner and group. By its group
 * (fsGroup), a pod that is not root reads a Secret. */
bool key_pair_is_exposed(const struct key_pair *pair);

#endif
