#include "skydns/dnssec/signing_key.h"

#include <openssl/crypto.h>
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/sha.h>
#include <stdlib.h>

#include "common/base/xalloc.h"
#include "skydns/dnssec/signing_key_internal.h"

static const struct signing_algorithm algorithms[] = {
    {5, SIGNING_RSA, true, "RSASHA1", "SHA1", NULL, 0, 0},
    {7, SIGNING_RSA, true, "RSASHA1-NSEC3-SHA1", "SHA1", NULL, 0, 0},
    {8, SIGNING_RSA, false, "RSASHA256", "SHA256", NULL, 0, 0},
    {10, SIGNING_RSA, false, "RSASHA512", "SHA512", NULL, 0, 0},
    {13, SIGNING_ECDSA, false, "ECDSAP256SHA256", "SHA256", "P-256", 64, 32},
    {14, SIGNING_ECDSA, false, "ECDSAP384SHA384", "SHA384", "P-384", 96, 48},
    {15, SIGNING_EDDSA, false, "ED25519", NULL, "ED25519", 32, 32},
};

const struct signing_algorithm *signing_algorithm_find(unsigned number)
{
    for (size_t i = 0; i < ARRAY_LEN(algorithms); i++) {
        if (algorithms[i].number == number) {
            return &algorithms[i];
        }
    }
    return NULL;
}

const struct signing_algorithm *signing_algorithm_of(const struct signing_key *key)
{
    const struct signing_algorithm *algorithm = signing_algorithm_find(key->algorithm);
    if (!algorithm) {
        abort(); /* signing_key_parse_record takes no others */
    }
    return algorithm;
}

/* ---- From files, and back ---- */

/* Computes the key tag: RFC 4034 appendix B. */
static uint16_t tag_of(const uint8_t *rdata, size_t len)
{
    uint32_t sum = 0;
    for (size_t i = 0; i < len; i++) {
        sum += i % 2 ? rdata[i] : (uint32_t)rdata[i] << 8;
    }
    return (uint16_t)(sum + (sum >> 16));
}

static int parse_private_half(struct slice text, struct signing_key *key, struct err *err)
{
    const struct signing_algorithm *algorithm = signing_algorithm_of(key);
    struct signing_numbers numbers;
    int rc = signing_key_parse_private(text, algorithm, &numbers, err);
    if (rc) {
        (void)err_wrap(err, rc, ".private");
    } else {
        rc = signing_key_join(key, algorithm, &numbers, err);
    }
    OPENSSL_cleanse(&numbers, sizeof(numbers));
    key->is_old = algorithm->is_old;
    return rc;
}

static int check_sizes(struct slice public_text, struct slice private_text, struct err *err)
{
    bool is_public = public_text.len > SIGNING_KEY_FILE_MAX;
    return is_public || private_text.len > SIGNING_KEY_FILE_MAX
               ? err_set(err, ERR_TOO_LARGE, "%s: more than %d bytes",
                         is_public ? ".key" : ".private", SIGNING_KEY_FILE_MAX)
               : 0;
}

int signing_key_parse(struct slice public_text, struct slice private_text,
                      struct signing_key **ret_key, struct err *err)
{
    int rc = check_sizes(public_text, private_text, err);
    if (rc) {
        return rc;
    }
    struct signing_key *key = xcalloc(1, sizeof(*key));
    rc = signing_key_parse_record(public_text, key, err);
    if (rc) {
        (void)err_wrap(err, rc, ".key");
    } else {
        key->tag = tag_of(key->rdata, key->rdata_len);
        rc = parse_private_half(private_text, key, err);
    }
    if (rc) {
        signing_key_free(key);
        return rc;
    }
    *ret_key = key;
    return 0;
}

void signing_key_free(struct signing_key *key)
{
    if (key) {
        EVP_MD_CTX_free(key->signer); /* wipes the private key */
        free(key);
    }
}

/* ---- Signatures ---- */

int signing_key_sign_encoded(const struct signing_key *key, struct slice data,
                             uint8_t out[SIGNING_KEY_SIGNATURE_MAX], size_t *ret_len,
                             struct err *err)
{
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    bool has_copy = context && EVP_MD_CTX_copy_ex(context, key->signer) == 1;
    *ret_len = SIGNING_KEY_SIGNATURE_MAX;
    if (has_copy) {
        /* Ends the context with this signature: libcrypto need not copy it once more. */
        EVP_MD_CTX_set_flags(context, EVP_MD_CTX_FLAG_FINALISE);
    }
    bool is_signed =
        has_copy && EVP_DigestSign(context, out, ret_len, (const uint8_t *)data.ptr, data.len) == 1;
    EVP_MD_CTX_free(context);
    return is_signed ? 0 : err_set(err, ERR_UNAVAILABLE, "%s", signing_key_reason());
}

/* Converts DER to r and s (RFC 6605 4). */
static bool unpack_ecdsa(const uint8_t *der, size_t len, size_t half, uint8_t *out)
{
    ECDSA_SIG *pair = d2i_ECDSA_SIG(NULL, &der, (long)len);
    bool fits = pair && BN_bn2binpad(ECDSA_SIG_get0_r(pair), out, (int)half) == (int)half &&
                BN_bn2binpad(ECDSA_SIG_get0_s(pair), out + half, (int)half) == (int)half;
    ECDSA_SIG_free(pair);
    return fits;
}

int signing_key_sign(const struct signing_key *key, struct slice data,
                     uint8_t out[SIGNING_KEY_SIGNATURE_MAX], size_t *ret_len, struct err *err)
{
    const struct signing_algorithm *algorithm = signing_algorithm_of(key);
    if (algorithm->kind != SIGNING_ECDSA) {
        return signing_key_sign_encoded(key, data, out, ret_len, err);
    }
    uint8_t der[SIGNING_KEY_SIGNATURE_MAX];
    size_t len;
    int rc = signing_key_sign_encoded(key, data, der, &len, err);
    if (rc) {
        return rc;
    }
    if (!unpack_ecdsa(der, len, algorithm->private_len, out)) {
        return err_set(err, ERR_UNAVAILABLE, "%s", signing_key_reason());
    }
    *ret_len = 2 * (size_t)algorithm->private_len;
    return 0;
}

void signing_key_ds(const struct signing_key *key, uint8_t out[SIGNING_KEY_DS_SIZE])
{
    uint8_t text[DNAME_MAX + SIGNING_KEY_RDATA_MAX];
    struct writer w = writer_of(text, sizeof(text));
    writer_bytes(&w, key->owner.wire, key->owner.len);
    writer_bytes(&w, key->rdata, key->rdata_len);
    out[0] = (uint8_t)(key->tag >> 8);
    out[1] = (uint8_t)key->tag;
    out[2] = key->algorithm;
    out[3] = 2; /* SHA-256 */
    if (!SHA256(text, w.pos, out + 4)) {
        xalloc_out_of_memory(); /* the only failure */
    }
}
