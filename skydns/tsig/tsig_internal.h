/* Shares a key, and HMAC with it, among tsig*.c alone. */
#ifndef SKYDNS_TSIG_TSIG_INTERNAL_H
#define SKYDNS_TSIG_TSIG_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/attributes.h"
#include "common/base/slice.h"
#include "common/dns/dname.h"
#include "skydns/tsig/tsig.h"

struct tsig_algorithm {
    const char *text;   /* "hmac-sha256" */
    const char *digest; /* libcrypto's name */
    size_t mac_len;
};

struct tsig_key {
    struct dname name; /* lower case */
    struct dname algorithm_name;
    const struct tsig_algorithm *algorithm;
    size_t secret_len;
    uint8_t secret[TSIG_SECRET_MAX];
};

/* Returns the algorithm by its name, in whatever case; NULL: it is not known. */
const struct tsig_algorithm *tsig_algorithm_find(struct slice text);

/* Decodes base64 (RFC 4648 4); false: it is none, empty, or more than TSIG_SECRET_MAX bytes. */
bool tsig_secret_decode(struct slice text, uint8_t out[TSIG_SECRET_MAX],
                        size_t *ret_len) MUST_CHECK;

/* Computes the HMAC of the pieces one behind the other. Returns false if libcrypto fails. */
bool tsig_hmac(const struct tsig_key *key, const struct slice *pieces, size_t count,
               uint8_t out[TSIG_MAC_MAX]) MUST_CHECK;

/* Compares in constant time. */
bool tsig_same_mac(const uint8_t *a, const uint8_t *b, size_t len);

/* ---- The parts of what is signed, RFC 8945 4.3 ---- */

enum {
    TSIG_TIMERS_SIZE = 6 + 2, /* time signed, fudge */
    TSIG_OTHER_SIZE = 6,      /* BADTIME: the server's time */
    /* Room for the name, class, TTL, algorithm, timers, error, and other data with its length. */
    TSIG_VARIABLES_MAX = DNAME_MAX + 2 + 4 + DNAME_MAX + TSIG_TIMERS_SIZE + 2 + 2 + TSIG_OTHER_SIZE,
    TSIG_OTHER_MAX = 64, /* of a query: more than any program sends */
};

struct tsig_variables {
    const struct dname *name, *algorithm;
    uint64_t time_s;
    uint16_t fudge_s;
    uint16_t error;
    struct slice other;
};

/* Writes the variables as the MAC covers them, names in lower case; `only_timers`: for a transfer's
 * further messages. Returns the length. */
enum { TSIG_SIGNED_MAX = TSIG_VARIABLES_MAX - TSIG_OTHER_SIZE + TSIG_OTHER_MAX };
size_t tsig_variables_write(const struct tsig_variables *variables, bool only_timers,
                            uint8_t out[TSIG_SIGNED_MAX]);

#endif
