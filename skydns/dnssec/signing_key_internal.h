/* Shares the parts of signing_key.c: the two files, and libcrypto's key made of them. Main
 * thread. */
#ifndef SKYDNS_DNSSEC_SIGNING_KEY_INTERNAL_H
#define SKYDNS_DNSSEC_SIGNING_KEY_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/attributes.h"
#include "common/base/cursor.h"
#include "common/base/err.h"
#include "common/base/slice.h"
#include "skydns/dnssec/signing_key.h"

enum signing_kind { SIGNING_RSA, SIGNING_ECDSA, SIGNING_EDDSA };

struct signing_algorithm {
    uint8_t number;
    enum signing_kind kind;
    bool is_old;          /* RFC 8624 3.1: not recommended for signing */
    const char *name;     /* IANA's */
    const char *digest;   /* libcrypto's name; NULL: EdDSA has its own */
    const char *curve;    /* libcrypto's name; NULL: RSA */
    uint16_t public_len;  /* bytes; ECDSA: x and y. 0: RSA, of many sizes */
    uint16_t private_len; /* bytes; ECDSA: also of r and of s */
};

/* Returns the algorithm; NULL: not supported. */
const struct signing_algorithm *signing_algorithm_find(unsigned number);
/* Returns the algorithm of a key whose record was parsed: never NULL. */
const struct signing_algorithm *signing_algorithm_of(const struct signing_key *key);

/* Names the supported algorithms, for errors. */
#define SIGNING_ALGORITHMS_TEXT \
    "8 (RSASHA256), 10 (RSASHA512), 13 (ECDSAP256SHA256), 14 (ECDSAP384SHA384) or 15 (ED25519)"

/* ---- Text of either file: signing_key_record.c ---- */

/* Parses decimal digits only, at most `max`. */
bool signing_text_number(struct slice text, uint32_t max, uint32_t *ret_number) MUST_CHECK;

/* Decodes base64 (RFC 4648 4) in pieces: where they are cut does not matter. */
struct signing_base64 {
    struct writer *out; /* `failed` if there is more than fits */
    uint32_t bits;      /* of the open group of four characters */
    unsigned digits;    /* in the open group */
    unsigned pads;      /* `=` seen */
};

bool signing_base64_add(struct signing_base64 *base64, struct slice text) MUST_CHECK;
/* Returns whether the last group is complete. */
bool signing_base64_ends(const struct signing_base64 *base64) MUST_CHECK;

/* ---- BASE.key: signing_key_record.c ---- */

/* Fills in all but the private key and is_old. */
int signing_key_parse_record(struct slice text, struct signing_key *key,
                             struct err *err) MUST_CHECK;

/* Returns the parts of the public key of an RSA record (RFC 3110 2), borrowed. */
bool signing_key_rsa_parts(const struct signing_key *key, struct slice *ret_exponent,
                           struct slice *ret_modulus) MUST_CHECK;

/* ---- BASE.private: signing_key_private.c ---- */

/* Numbers in the order of the file. */
enum signing_number {
    SIGNING_MODULUS,
    SIGNING_PUBLIC_EXPONENT,
    SIGNING_PRIVATE_EXPONENT,
    SIGNING_PRIME_1,
    SIGNING_PRIME_2,
    SIGNING_EXPONENT_1,
    SIGNING_EXPONENT_2,
    SIGNING_COEFFICIENT,
    SIGNING_PRIVATE_KEY, /* ECDSA, EdDSA: the only one */
    SIGNING_NUMBERS,
};

/* Numbers of the private file, big-endian. The owner wipes them. */
struct signing_numbers {
    size_t len[SIGNING_NUMBERS]; /* 0: not there */
    uint8_t bytes[SIGNING_NUMBERS][512];
};

/* Parses all the numbers that this algorithm's key consists of. */
int signing_key_parse_private(struct slice text, const struct signing_algorithm *algorithm,
                              struct signing_numbers *ret_numbers, struct err *err) MUST_CHECK;

/* ---- Both: signing_key_pair.c ---- */

/* Sets the key's `signer` if its signatures verify with the record's public key. Changes
 * numbers. */
int signing_key_join(struct signing_key *key, const struct signing_algorithm *algorithm,
                     struct signing_numbers *numbers, struct err *err) MUST_CHECK;

/* Signs as signing_key_sign does, but leaves ECDSA signatures as libcrypto encodes them: DER. */
int signing_key_sign_encoded(const struct signing_key *key, struct slice data,
                             uint8_t out[SIGNING_KEY_SIGNATURE_MAX], size_t *ret_len,
                             struct err *err) MUST_CHECK;

/* Returns libcrypto's reason for its last failure and empties its queue; never NULL. */
const char *signing_key_reason(void);

#endif
