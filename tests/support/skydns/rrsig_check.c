#include "tests/support/skydns/rrsig_check.h"

#include <openssl/core_names.h>
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/param_build.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/xalloc.h"

/* ---- Keys ---- */

static EVP_PKEY *rrsig_check_from_params(const char *type, OSSL_PARAM_BLD *build)
{
    EVP_PKEY *pkey = NULL;
    OSSL_PARAM *params = OSSL_PARAM_BLD_to_param(build);
    EVP_PKEY_CTX *context = EVP_PKEY_CTX_new_from_name(NULL, type, NULL);
    if (EVP_PKEY_fromdata_init(context) != 1 ||
        EVP_PKEY_fromdata(context, &pkey, EVP_PKEY_PUBLIC_KEY, params) != 1) {
        pkey = NULL;
    }
    EVP_PKEY_CTX_free(context);
    OSSL_PARAM_free(params);
    OSSL_PARAM_BLD_free(build);
    return pkey;
}

/* RFC 3110 2 */
static EVP_PKEY *rsa_key(const uint8_t *data, size_t len)
{
    size_t exponent_at = data[0] ? 1 : 3;
    size_t modulus_at = exponent_at + (data[0] ? data[0] : (size_t)data[1] << 8 | data[2]);
    BIGNUM *e = BN_bin2bn(data + exponent_at, (int)(modulus_at - exponent_at), NULL);
    BIGNUM *n = BN_bin2bn(data + modulus_at, (int)(len - modulus_at), NULL);
    OSSL_PARAM_BLD *build = OSSL_PARAM_BLD_new();
    OSSL_PARAM_BLD_push_BN(build, OSSL_PKEY_PARAM_RSA_E, e);
    OSSL_PARAM_BLD_push_BN(build, OSSL_PKEY_PARAM_RSA_N, n);
    EVP_PKEY *pkey = rrsig_check_from_params("RSA", build);
    BN_free(e);
    BN_free(n);
    return pkey;
}

/* RFC 6605 4: the uncompressed point without its first byte. */
static EVP_PKEY *ec_key(const char *curve, const uint8_t *data, size_t len)
{
    uint8_t point[1 + 96] = {4};
    if (len >= sizeof(point)) {
        return NULL;
    }
    memcpy(point + 1, data, len);
    OSSL_PARAM_BLD *build = OSSL_PARAM_BLD_new();
    OSSL_PARAM_BLD_push_utf8_string(build, OSSL_PKEY_PARAM_GROUP_NAME, curve, 0);
    OSSL_PARAM_BLD_push_octet_string(build, OSSL_PKEY_PARAM_PUB_KEY, point, 1 + len);
    return rrsig_check_from_params("EC", build);
}

struct algorithm {
    const EVP_MD *digest;
    size_t signature_len; /* of ECDSA; 0: any */
    EVP_PKEY *key;
};

static struct algorithm algorithm_of(struct slice dnskey)
{
    const uint8_t *data = (const uint8_t *)dnskey.ptr + 4;
    size_t len = dnskey.len - 4;
    switch ((uint8_t)dnskey.ptr[3]) {
    case 5:
    case 7:
        return (struct algorithm){EVP_sha1(), 0, rsa_key(data, len)};
    case 8:
        return (struct algorithm){EVP_sha256(), 0, rsa_key(data, len)};
    case 10:
        return (struct algorithm){EVP_sha512(), 0, rsa_key(data, len)};
    case 13:
        return (struct algorithm){EVP_sha256(), 64, ec_key("prime256v1", data, len)};
    case 14:
        return (struct algorithm){EVP_sha384(), 96, ec_key("secp384r1", data, len)};
    case 15:
        return (struct algorithm){NULL, 0,
                                  EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, NULL, data, len)};
    default:
        return (struct algorithm){0};
    }
}

/* Two numbers side by side → DER; 0: cannot be. */
static size_t to_der(struct slice signature, uint8_t *out)
{
    const uint8_t *bytes = (const uint8_t *)signature.ptr;
    size_t half = signature.len / 2;
    ECDSA_SIG *pair = ECDSA_SIG_new();
    ECDSA_SIG_set0(pair, BN_bin2bn(bytes, (int)half, NULL),
                   BN_bin2bn(bytes + half, (int)half, NULL));
    int len = i2d_ECDSA_SIG(pair, &out);
    ECDSA_SIG_free(pair);
    return len > 0 ? (size_t)len : 0;
}

bool rrsig_key_verifies(struct slice dnskey, struct slice data, struct slice signature)
{
    uint8_t der[128];
    struct algorithm algorithm = algorithm_of(dnskey);
    if (!algorithm.key ||
        (algorithm.signature_len != 0 && signature.len != algorithm.signature_len)) {
        EVP_PKEY_free(algorithm.key);
        return false;
    }
    if (algorithm.signature_len != 0) {
        signature = slice_of(der, to_der(signature, der));
    }
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    bool holds = EVP_DigestVerifyInit(context, NULL, algorithm.digest, NULL, algorithm.key) == 1 &&
                 EVP_DigestVerify(context, (const uint8_t *)signature.ptr, signature.len,
                                  (const uint8_t *)data.ptr, data.len) == 1;
    EVP_MD_CTX_free(context);
    EVP_PKEY_free(algorithm.key);
    return holds;
}

uint16_t rrsig_key_tag(struct slice dnskey)
{
    uint32_t sum = 0;
    for (size_t i = 0; i < dnskey.len; i++) {
        sum += (uint32_t)(uint8_t)dnskey.ptr[i] << (i % 2 ? 0 : 8);
    }
    return (uint16_t)(sum + (sum >> 16 & 0xffff));
}

/* ---- What was signed: RFC 4034 3.1.8.1 ---- */

struct text {
    uint8_t *bytes;
    size_t len;
};

static void rrsig_check_add(struct text *text, const void *bytes, size_t len)
{
    text->bytes = xrealloc(text->bytes, text->len + len + 1);
    if (len > 0) {
        memcpy(text->bytes + text->len, bytes, len);
    }
    text->len += len;
}

static void add_number(struct text *text, uint32_t value, unsigned size)
{
    for (unsigned i = size; i-- > 0;) {
        uint8_t byte = (uint8_t)(value >> 8 * i);
        rrsig_check_add(text, &byte, 1);
    }
}

/* 6.3: as left-justified strings of unsigned bytes. */
static int rrsig_check_compare(const void *left, const void *right)
{
    const struct slice *a = left, *b = right;
    for (size_t i = 0; i < a->len && i < b->len; i++) {
        uint8_t x = (uint8_t)a->ptr[i], y = (uint8_t)b->ptr[i];
        if (x != y) {
            return x < y ? -1 : 1;
        }
    }
    return a->len < b->len ? -1 : a->len > b->len;
}

static void add_owner(struct text *text, struct slice owner)
{
    for (size_t i = 0; i < owner.len; i++) { /* a length is at most 63, which is no letter */
        uint8_t c = (uint8_t)owner.ptr[i];
        c = c >= 'A' && c <= 'Z' ? (uint8_t)(c - 'A' + 'a') : c;
        rrsig_check_add(text, &c, 1);
    }
}

static void rrsig_check_add_records(struct text *text, const struct rrsig_records *records,
                                    uint32_t ttl_s)
{
    struct slice *sorted = xcalloc(records->count + 1, sizeof(*sorted));
    memcpy(sorted, records->rdata, records->count * sizeof(*sorted));
    qsort(sorted, records->count, sizeof(*sorted), rrsig_check_compare);
    for (size_t i = 0; i < records->count; i++) {
        if (i > 0 && rrsig_check_compare(&sorted[i], &sorted[i - 1]) == 0) {
            continue;
        }
        add_owner(text, records->owner);
        add_number(text, records->type, 2);
        add_number(text, 1, 2);
        add_number(text, ttl_s, 4);
        add_number(text, (uint32_t)sorted[i].len, 2);
        rrsig_check_add(text, sorted[i].ptr, sorted[i].len);
    }
    free(sorted);
}

/* ---- RFC 4035 5.3.1 ---- */

static uint32_t rrsig_check_number(const uint8_t *p, unsigned size)
{
    uint32_t value = 0;
    for (unsigned i = 0; i < size; i++) {
        value = value << 8 | p[i];
    }
    return value;
}

static unsigned count_labels(struct slice owner)
{
    const uint8_t *p = (const uint8_t *)owner.ptr;
    unsigned count = 0;
    bool has_asterisk = p[0] == 1 && p[1] == '*';
    for (; *p != 0; p += 1 + *p) {
        count++;
    }
    return has_asterisk ? count - 1 : count;
}

static bool rrsig_check_is_below(struct slice name, struct slice zone)
{
    struct text lower = {0};
    add_owner(&lower, name);
    size_t at = 0;
    while (at < lower.len && (lower.len - at > zone.len)) {
        at += 1u + lower.bytes[at];
    }
    bool is = lower.len >= at + zone.len && memcmp(lower.bytes + at, zone.ptr, zone.len) == 0;
    free(lower.bytes);
    return is;
}

/* RFC 1982 with 32 bits: whether a <= b. */
static bool is_not_after(uint32_t a, uint32_t b)
{
    return b - a < UINT32_C(1) << 31;
}

static const char *fields_fault(const uint8_t *p, struct slice dnskey,
                                const struct rrsig_records *records, int64_t now_s)
{
    const uint8_t *key = (const uint8_t *)dnskey.ptr;
    return rrsig_check_number(p, 2) != records->type       ? "another type"
           : p[2] != key[3]                                ? "another algorithm"
           : p[3] != count_labels(records->owner)          ? "another number of labels"
           : rrsig_check_number(p + 4, 4) < records->ttl_s ? "the TTL is too long"
           : !is_not_after(rrsig_check_number(p + 12, 4), (uint32_t)now_s) ? "not valid yet"
           : !is_not_after((uint32_t)now_s, rrsig_check_number(p + 8, 4))  ? "expired"
           : rrsig_check_number(p + 16, 2) != rrsig_key_tag(dnskey)        ? "another key tag"
           : !(rrsig_check_number(key, 2) & 0x0100) || (rrsig_check_number(key, 2) & 0x0080)
               ? "not a key of a zone"
           : key[2] != 3 ? "another protocol"
                         : NULL;
}

const char *rrsig_fault(struct slice rrsig, struct slice dnskey, struct slice zone,
                        const struct rrsig_records *records, int64_t now_s)
{
    const uint8_t *p = (const uint8_t *)rrsig.ptr;
    if (rrsig.len <= 18 + zone.len || memcmp(p + 18, zone.ptr, zone.len) != 0) {
        return "another signer";
    }
    if (!rrsig_check_is_below(records->owner, zone)) {
        return "not of the zone";
    }
    const char *fault = fields_fault(p, dnskey, records, now_s);
    if (fault) {
        return fault;
    }
    struct text text = {0};
    struct slice signature = slice_of(rrsig.ptr + 18 + zone.len, rrsig.len - 18 - zone.len);
    rrsig_check_add(&text, p, 18 + zone.len);
    rrsig_check_add_records(&text, records, rrsig_check_number(p + 4, 4));
    bool holds = rrsig_key_verifies(dnskey, slice_of(text.bytes, text.len), signature);
    free(text.bytes);
    return holds ? NULL : "the signature does not match";
}
