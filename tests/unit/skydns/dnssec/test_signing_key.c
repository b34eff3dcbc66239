/* Key files of the real tools: tags, DS records and signatures, those judged by a public key that
 * is rebuilt here from the record alone. */
#include "skydns/dnssec/signing_key.h"

#include <openssl/core_names.h>
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/param_build.h>
#include <pthread.h>

#include "tests/support/from_text.h"
#include "tests/support/skydns/sample_keys.h"
#include "tests/support/thread_cpu.h"
#include "tests/support/unit_test.h"

CLEANUP_POINTER(signing_key_free, struct signing_key)

UNIT_TESTS_HAVE_THREADS

/* ---- A verifier of its own ---- */

static EVP_PKEY *signing_key_from_params(const char *type, OSSL_PARAM_BLD *build)
{
    EVP_PKEY *pkey = NULL;
    OSSL_PARAM *params = OSSL_PARAM_BLD_to_param(build);
    EVP_PKEY_CTX *context = EVP_PKEY_CTX_new_from_name(NULL, type, NULL);
    assert_non_null(params);
    assert_int_equal(EVP_PKEY_fromdata_init(context), 1);
    assert_int_equal(EVP_PKEY_fromdata(context, &pkey, EVP_PKEY_PUBLIC_KEY, params), 1);
    EVP_PKEY_CTX_free(context);
    OSSL_PARAM_free(params);
    OSSL_PARAM_BLD_free(build);
    return pkey;
}

static EVP_PKEY *rsa_public(const uint8_t *data, size_t len)
{
    size_t exponent_at = data[0] ? 1 : 3;
    size_t exponent_len = data[0] ? data[0] : (size_t)data[1] << 8 | data[2];
    size_t modulus_at = exponent_at + exponent_len;
    OSSL_PARAM_BLD *build = OSSL_PARAM_BLD_new();
    BIGNUM *e = BN_bin2bn(data + exponent_at, (int)exponent_len, NULL);
    BIGNUM *n = BN_bin2bn(data + modulus_at, (int)(len - modulus_at), NULL);
    assert_true(OSSL_PARAM_BLD_push_BN(build, OSSL_PKEY_PARAM_RSA_E, e));
    assert_true(OSSL_PARAM_BLD_push_BN(build, OSSL_PKEY_PARAM_RSA_N, n));
    EVP_PKEY *pkey = signing_key_from_params("RSA", build);
    BN_free(e);
    BN_free(n);
    return pkey;
}

static EVP_PKEY *ec_public(const char *curve, const uint8_t *data, size_t len)
{
    uint8_t point[97] = {4};
    OSSL_PARAM_BLD *build = OSSL_PARAM_BLD_new();
    memcpy(point + 1, data, len);
    assert_true(OSSL_PARAM_BLD_push_utf8_string(build, OSSL_PKEY_PARAM_GROUP_NAME, curve, 0));
    assert_true(OSSL_PARAM_BLD_push_octet_string(build, OSSL_PKEY_PARAM_PUB_KEY, point, 1 + len));
    return signing_key_from_params("EC", build);
}

static EVP_PKEY *public_of(const struct signing_key *key)
{
    const uint8_t *data = key->rdata + 4;
    size_t len = key->rdata_len - 4u;
    switch (key->algorithm) {
    case 13:
        return ec_public("prime256v1", data, len);
    case 14:
        return ec_public("secp384r1", data, len);
    case 15:
        return EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, NULL, data, len);
    default:
        return rsa_public(data, len);
    }
}

static const EVP_MD *digest_of(unsigned algorithm)
{
    return algorithm == 5 || algorithm == 7    ? EVP_sha1()
           : algorithm == 8 || algorithm == 13 ? EVP_sha256()
           : algorithm == 10                   ? EVP_sha512()
           : algorithm == 14                   ? EVP_sha384()
                                               : NULL;
}

/* r and s to DER. */
static size_t pack_ecdsa(const uint8_t *signature, size_t len, uint8_t *out)
{
    ECDSA_SIG *pair = ECDSA_SIG_new();
    BIGNUM *r = BN_bin2bn(signature, (int)len / 2, NULL);
    BIGNUM *s = BN_bin2bn(signature + len / 2, (int)len / 2, NULL);
    assert_true(ECDSA_SIG_set0(pair, r, s));
    int n = i2d_ECDSA_SIG(pair, &out);
    ECDSA_SIG_free(pair);
    assert_true(n > 0);
    return (size_t)n;
}

static bool signing_key_verify(const struct signing_key *key, struct slice data,
                               const uint8_t *signature, size_t len)
{
    uint8_t der[SIGNING_KEY_SIGNATURE_MAX];
    EVP_PKEY *pkey = public_of(key);
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    if (key->algorithm == 13 || key->algorithm == 14) {
        len = pack_ecdsa(signature, len, der);
        signature = der;
    }
    assert_non_null(pkey);
    assert_int_equal(EVP_DigestVerifyInit(context, NULL, digest_of(key->algorithm), NULL, pkey), 1);
    bool is_good =
        EVP_DigestVerify(context, signature, len, (const uint8_t *)data.ptr, data.len) == 1;
    EVP_MD_CTX_free(context);
    EVP_PKEY_free(pkey);
    return is_good;
}

/* ---- Each sample ---- */

struct ds {
    char owner[DNAME_TEXT_MAX];
    unsigned tag, algorithm, digest;
    char hex[65];
};

static void parse_ds(const char *text, struct ds *ret_ds)
{
    assert_int_equal(sscanf(text, "%1008s IN DS %u %u %u %64s", ret_ds->owner, &ret_ds->tag,
                            &ret_ds->algorithm, &ret_ds->digest, ret_ds->hex),
                     5);
}

static void check_ds(const struct signing_key *key, const char *text)
{
    struct ds want;
    uint8_t ds[SIGNING_KEY_DS_SIZE];
    char hex[65];
    parse_ds(text, &want);
    signing_key_ds(key, ds);
    for (unsigned i = 0; i < 32; i++) {
        (void)snprintf(hex + 2 * i, 3, "%02X", ds[4 + i]);
    }
    struct dname owner = dname_from(want.owner);
    dname_lower(&owner);
    assert_memory_equal(owner.wire, key->owner.wire, owner.len);
    assert_int_equal(key->tag, want.tag);
    assert_int_equal(ds[0] << 8 | ds[1], want.tag);
    assert_int_equal(ds[2], want.algorithm);
    assert_int_equal(key->algorithm, want.algorithm);
    assert_int_equal(ds[3], want.digest);
    assert_string_equal(hex, want.hex);
}

UNIT_TEST(test_tags_and_ds)
{
    for (unsigned i = 0; i < SAMPLE_KEYS; i++) {
        CLEANUP(signing_key_free_of) struct signing_key *key = sample_key_new(i);
        check_ds(key, sample_keys[i].ds);
        assert_int_equal(key->is_old, key->algorithm == 5 || key->algorithm == 7);
        assert_int_equal(key->is_sep, strstr(sample_keys[i].public_text, " 257 3") ||
                                          strstr(sample_keys[i].public_text, "\t257 3"));
    }
}

UNIT_TEST(test_ttl)
{
    static const struct {
        enum sample_key_name name;
        uint32_t ttl_s;
    } cases[] = {{SAMPLE_ECDSAP256_KSK, 0},
                 {SAMPLE_ECDSAP256_ZSK, 300},
                 {SAMPLE_ED25519, 3600},
                 {SAMPLE_LDNS_ED25519, 0}};
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        CLEANUP(signing_key_free_of) struct signing_key *key = sample_key_new(cases[i].name);
        assert_int_equal(key->ttl_s, cases[i].ttl_s);
    }
}

static size_t signature_len(const struct signing_key *key)
{
    switch (key->algorithm) {
    case 13:
    case 15:
        return 64;
    case 14:
        return 96;
    default:
        return key->rdata_len - 4u - 4u; /* the modulus: exponents of 3 bytes, and their length */
    }
}

UNIT_TEST(test_signatures)
{
    uint8_t data[3000];
    for (size_t i = 0; i < sizeof(data); i++) {
        data[i] = (uint8_t)(i * 7);
    }
    for (unsigned i = 0; i < SAMPLE_KEYS; i++) {
        CLEANUP(signing_key_free_of) struct signing_key *key = sample_key_new(i);
        for (size_t len = 0; len <= sizeof(data); len += 1000) {
            uint8_t signature[SIGNING_KEY_SIGNATURE_MAX];
            size_t n = 0;
            struct slice slice = slice_of(data, len);
            assert_int_equal(signing_key_sign(key, slice, signature, &n, NULL), 0);
            assert_int_equal(n, signature_len(key));
            assert_true(signing_key_verify(key, slice, signature, n));
            signature[n - 1] ^= 1;
            assert_false(signing_key_verify(key, slice, signature, n));
        }
    }
}

/* One r or s in 256 begins with a zero byte, and keeps it. */
UNIT_TEST(test_short_numbers_are_padded)
{
    bool has_zero = false;
    CLEANUP(signing_key_free_of) struct signing_key *key = sample_key_new(SAMPLE_ECDSAP256_KSK);
    for (uint32_t i = 0; i < 100000 && !has_zero; i++) {
        uint8_t signature[SIGNING_KEY_SIGNATURE_MAX];
        size_t n = 0;
        struct slice data = slice_of(&i, sizeof(i));
        assert_int_equal(signing_key_sign(key, data, signature, &n, NULL), 0);
        assert_int_equal(n, 64);
        has_zero = signature[0] == 0 || signature[32] == 0;
        if (has_zero) {
            assert_true(signing_key_verify(key, data, signature, n));
        }
    }
    assert_true(has_zero);
}

/* ---- Threads ---- */

enum { THREADS = 4, SIGNATURES = 50 };

static void *sign_many(void *data)
{
    const struct signing_key *key = data;
    uintptr_t bad = 0;
    for (unsigned i = 0; i < SIGNATURES; i++) {
        uint8_t signature[SIGNING_KEY_SIGNATURE_MAX];
        size_t n = 0;
        struct slice text = slice_of(&i, sizeof(i));
        bad += signing_key_sign(key, text, signature, &n, NULL) != 0 ||
               !signing_key_verify(key, text, signature, n);
    }
    return (void *)bad;
}

UNIT_TEST(test_many_threads)
{
    static const enum sample_key_name names[] = {SAMPLE_ECDSAP256_KSK, SAMPLE_ECDSAP384,
                                                 SAMPLE_ED25519, SAMPLE_RSASHA512};
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        CLEANUP(signing_key_free_of) struct signing_key *key = sample_key_new(names[i]);
        pthread_t threads[THREADS];
        for (unsigned t = 0; t < THREADS; t++) {
            assert_int_equal(pthread_create(&threads[t], NULL, sign_many, key), 0);
        }
        for (unsigned t = 0; t < THREADS; t++) {
            void *bad;
            assert_int_equal(pthread_join(threads[t], &bad), 0);
            assert_null(bad);
        }
    }
}

/* Shown, not judged: machines differ. */
UNIT_TEST(test_cost)
{
    enum { ROUNDS = 200 };
    const uint8_t data[300] = {0};
    for (unsigned i = 0; i <= SAMPLE_RSASHA512; i++) {
        CLEANUP(signing_key_free_of) struct signing_key *key = sample_key_new(i);
        double start = thread_cpu_us();
        for (unsigned n = 0; n < (key->algorithm < 13 ? 10 : ROUNDS); n++) {
            uint8_t signature[SIGNING_KEY_SIGNATURE_MAX];
            size_t len;
            assert_int_equal(
                signing_key_sign(key, slice_of(data, sizeof(data)), signature, &len, NULL), 0);
        }
        print_message("algorithm %u, %u bytes: %.1f us\n", key->algorithm, key->rdata_len,
                      (thread_cpu_us() - start) / (key->algorithm < 13 ? 10 : ROUNDS));
    }
}
