/* Holds the keys that clients and this server share, of -tsig-keys: names, algorithms and secrets
 * (RFC 8945). The file is what BIND's tsig-keygen prints, any number of times:
 *
 *     key "transfer." {
 *         algorithm hmac-sha256;
 *         secret "bWFsZSBzdXJlIGl0IGlzIGxvbmc=";
 *     };
 *
 * with comments as in BIND's files: `//`, `#` and C's. Read on the main thread, published with the
 * configuration (engine_config.h), used by any thread; never changed afterwards. */
#ifndef SKYDNS_TSIG_TSIG_KEYS_H
#define SKYDNS_TSIG_TSIG_KEYS_H

#include <stddef.h>

#include "common/base/attributes.h"
#include "common/base/err.h"
#include "common/base/slice.h"
#include "common/dns/dname.h"

enum {
    TSIG_KEYS_MAX = 64,             /* one for each secondary, twice during a change of keys */
    TSIG_KEYS_FILE_MAX = 64 * 1024, /* 64 keys of 1 KiB */
    /* Limits a key's name, in bytes on the wire: a response of 512 bytes with a TSIG has room for
     * any question. */
    TSIG_NAME_MAX = 80,
    TSIG_SECRET_MAX = 512, /* bytes; tsig-keygen's have 20 to 64 */
};

struct tsig_key;
struct tsig_keys;

/* Parses the text of a file, at most TSIG_KEYS_FILE_MAX bytes. Starts with one reference. Errors
 * name the line and what was expected there. Fails for an unknown algorithm (hmac-sha1, -sha224,
 * -sha256, -sha384, -sha512 are known; hmac-md5 is named as too weak), a secret that is not base64
 * or is empty, a name twice, and no key at all. */
int tsig_keys_parse(struct slice text, struct tsig_keys **ret_keys, struct err *err) MUST_CHECK;

/* Add and drop a reference; any thread. The last unref frees, and wipes the secrets. NULL is
 * fine. */
struct tsig_keys *tsig_keys_ref(struct tsig_keys *keys);
void tsig_keys_unref(struct tsig_keys *keys);

size_t tsig_keys_count(const struct tsig_keys *keys);
const struct tsig_key *tsig_keys_at(const struct tsig_keys *keys, size_t i);

/* Returns the key by its lower-cased name, or NULL. */
const struct tsig_key *tsig_keys_find(const struct tsig_keys *keys, const struct dname *name);

const struct dname *tsig_key_name(const struct tsig_key *key); /* lower case */

/* Returns its text, "hmac-sha256". */
const char *tsig_key_algorithm(const struct tsig_key *key);

#endif
