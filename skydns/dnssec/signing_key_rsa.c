#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/evp.h>
#include <openssl/params.h>

#include "skydns/dnssec/signing_key_internal.h"
#include "skydns/dnssec/signing_key_pkey_internal.h"

static const char *const param_names[] = {
    [SIGNING_MODULUS] = OSSL_PKEY_PARAM_RSA_N,
    [SIGNING_PUBLIC_EXPONENT] = OSSL_PKEY_PARAM_RSA_E,
    [SIGNING_PRIVATE_EXPONENT] = OSSL_PKEY_PARAM_RSA_D,
    [SIGNING_PRIME_1] = OSSL_PKEY_PARAM_RSA_FACTOR1,
    [SIGNING_PRIME_2] = OSSL_PKEY_PARAM_RSA_FACTOR2,
    [SIGNING_EXPONENT_1] = OSSL_PKEY_PARAM_RSA_EXPONENT1,
    [SIGNING_EXPONENT_2] = OSSL_PKEY_PARAM_RSA_EXPONENT2,
    [SIGNING_COEFFICIENT] = OSSL_PKEY_PARAM_RSA_COEFFICIENT1,
};

enum { RSA_NUMBERS = SIGNING_COEFFICIENT + 1 };

static struct slice number(const struct signing_numbers *numbers, enum signing_number which)
{
    return slice_of(numbers->bytes[which], numbers->len[which]);
}

/* n = p q, dP = d mod (p - 1), dQ = d mod (q - 1), q qInv = 1 mod p. BN's functions fail where p or
 * q is too small. */
static bool fit_together(BIGNUM *const n[RSA_NUMBERS], BN_CTX *context)
{
    BIGNUM *a = BN_CTX_get(context), *b = BN_CTX_get(context);
    BIGNUM *p = n[SIGNING_PRIME_1], *q = n[SIGNING_PRIME_2], *d = n[SIGNING_PRIVATE_EXPONENT];
    return b && BN_mul(a, p, q, context) && BN_cmp(a, n[SIGNING_MODULUS]) == 0 &&
           BN_sub(b, p, BN_value_one()) && BN_mod(a, d, b, context) &&
           BN_cmp(a, n[SIGNING_EXPONENT_1]) == 0 && BN_sub(b, q, BN_value_one()) &&
           BN_mod(a, d, b, context) && BN_cmp(a, n[SIGNING_EXPONENT_2]) == 0 &&
           BN_mod_mul(a, q, n[SIGNING_COEFFICIENT], p, context) && BN_is_one(a);
}

static bool are_consistent(const struct signing_numbers *numbers)
{
    BN_CTX *context = BN_CTX_secure_new(); /* wipes its numbers in the end */
    BIGNUM *n[RSA_NUMBERS] = {NULL};
    bool ok = context != NULL;
    if (ok) {
        BN_CTX_start(context);
    }
    for (unsigned i = 0; i < RSA_NUMBERS && ok; i++) {
        n[i] = BN_CTX_get(context);
        ok = n[i] && BN_bin2bn(numbers->bytes[i], (int)numbers->len[i], n[i]);
    }
    ok = ok && fit_together(n, context);
    if (context) {
        BN_CTX_end(context);
    }
    BN_CTX_free(context);
    return ok;
}

bool signing_rsa_matches(const struct signing_key *key, const struct signing_numbers *numbers)
{
    struct slice exponent, modulus;
    return signing_key_rsa_parts(key, &exponent, &modulus) &&
           slice_equal(modulus, number(numbers, SIGNING_MODULUS)) &&
           slice_equal(exponent, number(numbers, SIGNING_PUBLIC_EXPONENT)) &&
           are_consistent(numbers);
}

void signing_rsa_new(struct signing_numbers *numbers, EVP_PKEY **ret_private, EVP_PKEY **ret_public)
{
    OSSL_PARAM params[RSA_NUMBERS + 1];
    for (unsigned i = 0; i < RSA_NUMBERS; i++) {
        signing_param_set(&params[i], param_names[i], numbers->bytes[i], numbers->len[i]);
    }
    params[RSA_NUMBERS] = OSSL_PARAM_construct_end();
    *ret_private = signing_pkey_new("RSA", EVP_PKEY_KEYPAIR, params);
    params[SIGNING_PRIVATE_EXPONENT] = OSSL_PARAM_construct_end();
    *ret_public = signing_pkey_new("RSA", EVP_PKEY_PUBLIC_KEY, params);
}
