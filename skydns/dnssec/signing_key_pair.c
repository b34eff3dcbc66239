/* Makes libcrypto's key of both files of a key, and tries whether they match. */
#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/params.h>
#include <stdio.h>

#include "skydns/dnssec/signing_key_internal.h"
#include "skydns/dnssec/signing_key_pkey_internal.h"

const char *signing_key_reason(void)
{
    const char *reason = ERR_reason_error_string(ERR_peek_error());
    ERR_clear_error();
    return reason ? reason : "libcrypto failed";
}

EVP_PKEY *signing_pkey_new(const char *type, int selection, OSSL_PARAM *params)
{
    EVP_PKEY *pkey = NULL;
    EVP_PKEY_CTX *context = EVP_PKEY_CTX_new_from_name(NULL, type, NULL);
    if (context && EVP_PKEY_fromdata_init(context) == 1) {
        (void)EVP_PKEY_fromdata(context, &pkey, selection, params); /* pkey stays NULL */
    }
    EVP_PKEY_CTX_free(context);
    return pkey;
}

void signing_param_set(OSSL_PARAM *param, const char *name, uint8_t *bytes, size_t len)
{
    for (size_t i = 0; i < len / 2 && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__; i++) {
        uint8_t byte = bytes[i];
        bytes[i] = bytes[len - 1 - i];
        bytes[len - 1 - i] = byte;
    }
    *param = OSSL_PARAM_construct_BN(name, bytes, len);
}

/* ---- ECDSA and EdDSA ---- */

static void make_ecdsa(const struct signing_key *key, const struct signing_algorithm *algorithm,
                       struct signing_numbers *numbers, EVP_PKEY **ret_private,
                       EVP_PKEY **ret_public)
{
    char curve[16];
    uint8_t point[1 + 2 * 48] = {POINT_CONVERSION_UNCOMPRESSED};
    (void)snprintf(curve, sizeof(curve), "%s", algorithm->curve); /* shorter: our table */
    memcpy(point + 1, key->rdata + 4, algorithm->public_len);
    OSSL_PARAM params[] = {
        OSSL_PARAM_construct_utf8_string(OSSL_PKEY_PARAM_GROUP_NAME, curve, 0),
        OSSL_PARAM_construct_octet_string(OSSL_PKEY_PARAM_PUB_KEY, point,
                                          1 + (size_t)algorithm->public_len),
        OSSL_PARAM_construct_end(),
        OSSL_PARAM_construct_end(),
    };
    *ret_public = signing_pkey_new("EC", EVP_PKEY_PUBLIC_KEY, params);
    signing_param_set(&params[2], OSSL_PKEY_PARAM_PRIV_KEY, numbers->bytes[SIGNING_PRIVATE_KEY],
                      numbers->len[SIGNING_PRIVATE_KEY]);
    *ret_private = signing_pkey_new("EC", EVP_PKEY_KEYPAIR, params);
}

static void make_eddsa(const struct signing_key *key, const struct signing_algorithm *algorithm,
                       const struct signing_numbers *numbers, EVP_PKEY **ret_private,
                       EVP_PKEY **ret_public)
{
    *ret_private = EVP_PKEY_new_raw_private_key_ex(NULL, algorithm->curve, NULL,
                                                   numbers->bytes[SIGNING_PRIVATE_KEY],
                                                   numbers->len[SIGNING_PRIVATE_KEY]);
    *ret_public = EVP_PKEY_new_raw_public_key_ex(NULL, algorithm->curve, NULL, key->rdata + 4,
                                                 algorithm->public_len);
}

/* Checks the length: older tools leave out leading zero bytes of ECDSA's. */
static int check_private_len(const struct signing_algorithm *algorithm,
                             const struct signing_numbers *numbers, struct err *err)
{
    size_t len = numbers->len[SIGNING_PRIVATE_KEY];
    bool fits = algorithm->kind == SIGNING_ECDSA ? len <= algorithm->private_len
                                                 : len == algorithm->private_len;
    return fits ? 0
                : err_set(err, ERR_SYNTAX,
                          ".private: PrivateKey: %zu bytes; expected %u for algorithm %u (%s)", len,
                          algorithm->private_len, algorithm->number, algorithm->name);
}

/* ---- Joined ---- */

static int signing_key_pair_mismatch(struct err *err)
{
    return err_set(err, ERR_SYNTAX,
                   "the private key does not match the record; expected the files of one pair");
}

static int make_keys(const struct signing_key *key, const struct signing_algorithm *algorithm,
                     struct signing_numbers *numbers, EVP_PKEY **ret_private, EVP_PKEY **ret_public,
                     struct err *err)
{
    int rc = 0;
    if (algorithm->kind == SIGNING_RSA) {
        if (!signing_rsa_matches(key, numbers)) {
            return signing_key_pair_mismatch(err);
        }
        signing_rsa_new(numbers, ret_private, ret_public);
    } else if ((rc = check_private_len(algorithm, numbers, err))) {
        return rc;
    } else if (algorithm->kind == SIGNING_ECDSA) {
        make_ecdsa(key, algorithm, numbers, ret_private, ret_public);
    } else {
        make_eddsa(key, algorithm, numbers, ret_private, ret_public);
    }
    if (!*ret_public) {
        return err_set(err, ERR_SYNTAX, ".key: not a public key of algorithm %u (%s): %s",
                       algorithm->number, algorithm->name, signing_key_reason());
    }
    if (!*ret_private) {
        return err_set(err, ERR_SYNTAX, ".private: not a private key of algorithm %u (%s): %s",
                       algorithm->number, algorithm->name, signing_key_reason());
    }
    return 0;
}

static bool begin_signer(struct signing_key *key, const struct signing_algorithm *algorithm,
                         EVP_PKEY *private_key)
{
    key->signer = EVP_MD_CTX_new();
    return key->signer && EVP_DigestSignInit_ex(key->signer, NULL, algorithm->digest, NULL, NULL,
                                                private_key, NULL) == 1;
}

static const uint8_t sample[] = "signed with the one half, verified with the other";

static bool is_good(const struct signing_algorithm *algorithm, EVP_PKEY *public_key,
                    const uint8_t *signature, size_t len)
{
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    bool is_good = context &&
                   EVP_DigestVerifyInit_ex(context, NULL, algorithm->digest, NULL, NULL, public_key,
                                           NULL) == 1 &&
                   EVP_DigestVerify(context, signature, len, sample, sizeof(sample)) == 1;
    EVP_MD_CTX_free(context);
    return is_good;
}

/* Tries a signature: libcrypto takes any numbers for a key, and only a signature shows that they
 * belong together. */
static int try_out(const struct signing_key *key, const struct signing_algorithm *algorithm,
                   EVP_PKEY *public_key, struct err *err)
{
    uint8_t signature[SIGNING_KEY_SIGNATURE_MAX];
    size_t len;
    int rc = signing_key_sign_encoded(key, slice_of(sample, sizeof(sample)), signature, &len, err);
    if (rc) {
        return err_wrap(err, ERR_SYNTAX, ".private: cannot sign");
    }
    bool matches = is_good(algorithm, public_key, signature, len);
    ERR_clear_error();
    return matches ? 0 : signing_key_pair_mismatch(err);
}

int signing_key_join(struct signing_key *key, const struct signing_algorithm *algorithm,
                     struct signing_numbers *numbers, struct err *err)
{
    EVP_PKEY *private_key = NULL, *public_key = NULL;
    int rc = make_keys(key, algorithm, numbers, &private_key, &public_key, err);
    if (rc == 0 && !begin_signer(key, algorithm, private_key)) {
        rc = err_set(err, ERR_SYNTAX, "libcrypto does not sign with algorithm %u (%s): %s",
                     algorithm->number, algorithm->name, signing_key_reason());
    }
    if (rc == 0) {
        rc = try_out(key, algorithm, public_key, err);
    }
    EVP_PKEY_free(private_key); /* the signer has its own reference */
    EVP_PKEY_free(public_key);
    ERR_clear_error(); /* also what make_keys left of the half that failed second */
    return rc;
}

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

static struct slice signing_key_pair_number(const struct signing_numbers *numbers,
                                            enum signing_number which)
{
    return slice_of(numbers->bytes[which], numbers->len[which]);
}

/* Checks n = p q, dP = d mod (p - 1), dQ = d mod (q - 1), q qInv = 1 mod p. BN's functions fail
 * where p or q is too small. */
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
           slice_equal(modulus, signing_key_pair_number(numbers, SIGNING_MODULUS)) &&
           slice_equal(exponent, signing_key_pair_number(numbers, SIGNING_PUBLIC_EXPONENT)) &&
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
