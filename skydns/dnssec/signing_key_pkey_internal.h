/* The helpers with which signing_key_pair.c and signing_key_rsa.c make libcrypto's keys. Main
 * thread. */
#ifndef SKYDNS_DNSSEC_SIGNING_KEY_PKEY_INTERNAL_H
#define SKYDNS_DNSSEC_SIGNING_KEY_PKEY_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/attributes.h"
#include "skydns/dnssec/signing_key_internal.h"

/* libcrypto's, which only the files that include it know whole. */
struct evp_pkey_st;
struct ossl_param_st;

/* Makes a key of this type from these parameters; selection: EVP_PKEY_KEYPAIR or
 * EVP_PKEY_PUBLIC_KEY. NULL: libcrypto refuses. */
struct evp_pkey_st *signing_pkey_new(const char *type, int selection,
                                     struct ossl_param_st *params) MUST_CHECK;

/* A number as a parameter, in the machine's byte order: reversed in place, so that there is no copy
 * to wipe. Borrows the bytes. */
void signing_param_set(struct ossl_param_st *param, const char *name, uint8_t *bytes, size_t len);

/* Whether the private file's numbers are of the record's key, and of one another (RFC 8017 3.2): a
 * wrong prime would not show, as libcrypto checks what it signs and does without primes. */
bool signing_rsa_matches(const struct signing_key *key,
                         const struct signing_numbers *numbers) MUST_CHECK;

/* Both halves; NULL: libcrypto refuses. Reverses the numbers. */
void signing_rsa_new(struct signing_numbers *numbers, struct evp_pkey_st **ret_private,
                     struct evp_pkey_st **ret_public);

#endif
