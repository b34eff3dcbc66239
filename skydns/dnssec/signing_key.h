/* Parses a key of -dnssec and signs with it: the pair of files that dnssec-keygen and ldns-keygen
 * write, BASE.key with a DNSKEY record (RFC 4034 2) and BASE.private with BIND's private-key format
 * v1.2 or v1.3. Parsed on the main thread; unchanged afterwards, and then any thread may sign with
 * it.
 *
 * Supports algorithms 8 (RSASHA256), 10 (RSASHA512), 13 (ECDSAP256SHA256), 14 (ECDSAP384SHA384) and
 * 15 (ED25519); 5 and 7 (RSASHA1) are not recommended any more: RFC 8624 3.1. RSA has 1024 to 4096
 * bits: a response can bear a signature of 512 bytes at most. */
#ifndef SKYDNS_DNSSEC_SIGNING_KEY_H
#define SKYDNS_DNSSEC_SIGNING_KEY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/attributes.h"
#include "common/base/err.h"
#include "common/base/slice.h"
#include "common/dns/dname.h"

enum {
    SIGNING_KEY_FILE_MAX = 16 * 1024, /* bytes of either file: RSA of 4096 bits has 3,300 */
    SIGNING_KEY_RDATA_MAX = 4 + 3 + 8 + 512,
    SIGNING_KEY_SIGNATURE_MAX = 512,
    SIGNING_KEY_DS_SIZE = 4 + 32, /* tag, algorithm, digest type 2, SHA-256 */
};

struct signing_key {
    struct dname owner; /* lower case */
    uint32_t ttl_s;     /* of the record; 0: it has none */
    bool is_sep;        /* flag bit 15: a key-signing key */
    bool is_old;        /* its algorithm is not recommended */
    uint8_t algorithm;
    uint16_t tag; /* RFC 4034 appendix B */
    uint16_t rdata_len;
    uint8_t rdata[SIGNING_KEY_RDATA_MAX]; /* of the DNSKEY */
    /* Context of libcrypto for a signature that has just begun, with the private key. Each
     * signature begins with a copy, which saves looking the algorithm up. */
    struct evp_md_ctx_st *signer;
};

/* Parses the contents of the two files. Errors say what is wrong and what was expected, after
 * `.key: ` or `.private: ` if it is one of the files, and without any part of the private key.
 * Fails for no DNSKEY of a zone (flag bit 7, protocol 3), a revoked one, an algorithm that is not
 * supported, and halves that do not match. */
int signing_key_parse(struct slice public_text, struct slice private_text,
                      struct signing_key **ret_key, struct err *err) MUST_CHECK;
void signing_key_free(struct signing_key *key); /* NULL is fine */

/* Signs these bytes as an RRSIG has it (ECDSA: r and s, RFC 6605 4). Any thread; takes about 20 us
 * with algorithm 13, 30 us with 15, 250 us with RSA of 2048 bits, 550 us with 14, and 3 ms with RSA
 * of 4096 bits. Fails only if libcrypto does. */
int signing_key_sign(const struct signing_key *key, struct slice data,
                     uint8_t out[SIGNING_KEY_SIGNATURE_MAX], size_t *ret_len,
                     struct err *err) MUST_CHECK;

/* Writes the data of its DS record, and of its CDS: SHA-256 (RFC 4509). */
void signing_key_ds(const struct signing_key *key, uint8_t out[SIGNING_KEY_DS_SIZE]);

#endif
