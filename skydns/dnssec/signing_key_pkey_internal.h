/* Makes libcrypto's keys, for signing_key_pair.c. Main thread. */
#ifndef SKYDNS_DNSSEC_SIGNING_KEY_PKEY_INTERNAL_H
#define SKYDNS_DNSSEC_SIGNING_KEY_PKEY_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/attributes.h"
#include "skydns/dnssec/signing_key_internal.h"

/* Types of libcrypto, which only the files that include it know whole. */
struct evp_pkey_st;
struct ossl_param_st;

/* Makes a key of this type from these parameters; selection: EVP_PKEY_KEYPAIR or
 * EVP_PKEY_PUBLIC_KEY. NULL: libcrypto refuses. */
struct evp_pkey_st *signing_pkey_new(const char *type, int selection,
                                     struct ossl_param_st *params) MUST_CHECK;

/* Sets a number as a parameter, in the machine's byte order: reverses it in place, so that there is
 * no copy to wipe. Borrows the bytes. */
void signing_param_set(struct ossl_param_st *param, const char *name, uint8_t *bytes, size_t len);

/* Returns whether the private file's numbers are of the record's key, and of one another (RFC 8017
 * 3.2). A wrong prime would not show: libcrypto checks what it signs and does without primes. */
bool signing_rsa_matches(const struct signing_key *key,
                         const struct signing_numbers *numbers) MUST_CHECK;

/* Makes both halves; NULL: libcrypto refuses. Reverses the numbers. */
void signing_rsa_new(struct signing_numbers *numbers, struct evp_pkey_st **ret_private,
                     struct evp_pkey_st **ret_public);

#endif
