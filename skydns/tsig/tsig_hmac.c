/* Finds algorithms, decodes secrets and makes HMACs. */
#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/params.h>
#include <stdio.h>

#include "skydns/tsig/tsig_internal.h"

static const struct tsig_algorithm algorithms[] = {
    {"hmac-sha1", "SHA1", 20},     {"hmac-sha224", "SHA224", 28}, {"hmac-sha256", "SHA256", 32},
    {"hmac-sha384", "SHA384", 48}, {"hmac-sha512", "SHA512", 64},
};

const struct tsig_algorithm *tsig_algorithm_find(struct slice text)
{
    for (size_t i = 0; i < ARRAY_LEN(algorithms); i++) {
        if (slice_equal_nocase(text, slice_str(algorithms[i].text))) {
            return &algorithms[i];
        }
    }
    return NULL;
}

/* Counts the padding: only at the end, and no more than two. */
static size_t padding_of(struct slice text)
{
    size_t padding = 0;
    while (padding < 2 && padding < text.len && text.ptr[text.len - 1 - padding] == '=') {
        padding++;
    }
    return padding;
}

/* Checks the text, since libcrypto takes `=` for a digit, and blanks for nothing. */
static bool is_base64(struct slice text, size_t padding)
{
    for (size_t i = 0; i < text.len - padding; i++) {
        char c = text.ptr[i];
        if (!(c >= 'A' && c <= 'Z') && !(c >= 'a' && c <= 'z') && !(c >= '0' && c <= '9') &&
            c != '+' && c != '/') {
            return false;
        }
    }
    return true;
}

bool tsig_secret_decode(struct slice text, uint8_t out[TSIG_SECRET_MAX], size_t *ret_len)
{
    uint8_t bytes[TSIG_SECRET_MAX + 3];
    size_t padding = padding_of(text);
    if (text.len == 0 || text.len % 4 != 0 || text.len / 4 * 3 > sizeof(bytes) ||
        !is_base64(text, padding)) {
        return false;
    }
    int n = EVP_DecodeBlock(bytes, (const unsigned char *)text.ptr, (int)text.len);
    bool is_whole = n > 0 && (size_t)n - padding <= TSIG_SECRET_MAX;
    if (is_whole) {
        *ret_len = (size_t)n - padding;
        memcpy(out, bytes, *ret_len);
    }
    OPENSSL_cleanse(bytes, sizeof(bytes));
    return is_whole;
}

static bool add_pieces(EVP_MAC_CTX *context, const struct slice *pieces, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (EVP_MAC_update(context, (const unsigned char *)pieces[i].ptr, pieces[i].len) != 1) {
            return false;
        }
    }
    return true;
}

bool tsig_hmac(const struct tsig_key *key, const struct slice *pieces, size_t count,
               uint8_t out[TSIG_MAC_MAX])
{
    char digest[16];
    size_t len = 0;
    (void)snprintf(digest, sizeof(digest), "%s", key->algorithm->digest); /* always fits */
    const OSSL_PARAM params[] = {
        OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, digest, 0),
        OSSL_PARAM_construct_end(),
    };
    EVP_MAC *mac = EVP_MAC_fetch(NULL, "HMAC", NULL);
    EVP_MAC_CTX *context = mac ? EVP_MAC_CTX_new(mac) : NULL;
    bool is_made = context && EVP_MAC_init(context, key->secret, key->secret_len, params) == 1 &&
                   add_pieces(context, pieces, count) &&
                   EVP_MAC_final(context, out, &len, TSIG_MAC_MAX) == 1 &&
                   len == key->algorithm->mac_len;
    EVP_MAC_CTX_free(context);
    EVP_MAC_free(mac);
    return is_made;
}

bool tsig_same_mac(const uint8_t *a, const uint8_t *b, size_t len)
{
    return CRYPTO_memcmp(a, b, len) == 0;
}
