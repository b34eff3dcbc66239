/* The two files of a key, with a NUL between them: a key that signs, or a message of plain text. A
 * key is what its record says, whatever stood around it: the record written anew is the same. */
#include "common/base/xalloc.h"
#include "skydns/dnssec/signing_key_internal.h"
#include "tests/fuzz/fuzz_target.h"

static void check_message(const char *msg)
{
    size_t len = strlen(msg);
    fuzz_check(len > 0 && len < 300);
    for (size_t i = 0; i < len; i++) {
        fuzz_check(msg[i] >= ' ' && msg[i] < 0x7f);
    }
}

static void append_base64(char *out, const uint8_t *bytes, size_t len)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    size_t at = 0;
    for (size_t i = 0; i < len; i += 3) {
        uint32_t bits = (uint32_t)bytes[i] << 16 | (i + 1 < len ? (uint32_t)bytes[i + 1] << 8 : 0) |
                        (i + 2 < len ? bytes[i + 2] : 0);
        out[at++] = digits[bits >> 18];
        out[at++] = digits[bits >> 12 & 63];
        out[at++] = i + 1 < len ? digits[bits >> 6 & 63] : '=';
        out[at++] = i + 2 < len ? digits[bits & 63] : '=';
    }
    out[at] = '\0';
}

static void signing_key_check_record(const struct signing_key *key)
{
    char owner[DNAME_TEXT_MAX], base64[SIGNING_KEY_RDATA_MAX * 4 / 3 + 5];
    append_base64(base64, key->rdata + 4, key->rdata_len - 4u);
    char *text =
        xasprintf("%s %u IN DNSKEY %u %u %u %s\n", dname_to_text(&key->owner, owner), key->ttl_s,
                  key->rdata[0] << 8 | key->rdata[1], key->rdata[2], key->rdata[3], base64);
    struct signing_key again = {.ttl_s = 0};
    fuzz_check(signing_key_parse_record(slice_str(text), &again, NULL) == 0);
    fuzz_check(dname_equal(&again.owner, &key->owner) && again.ttl_s == key->ttl_s);
    fuzz_check(again.rdata_len == key->rdata_len);
    fuzz_check(memcmp(again.rdata, key->rdata, key->rdata_len) == 0);
    fuzz_check(again.is_sep == key->is_sep && again.algorithm == key->algorithm);
    free(text);
}

static void signing_key_check_key(const struct signing_key *key)
{
    uint8_t signature[SIGNING_KEY_SIGNATURE_MAX], ds[SIGNING_KEY_DS_SIZE];
    size_t len = 0;
    const struct signing_algorithm *algorithm = signing_algorithm_find(key->algorithm);
    fuzz_check(algorithm && key->is_old == algorithm->is_old);
    fuzz_check(signing_key_sign(key, slice_str("text"), signature, &len, NULL) == 0);
    fuzz_check(len >= 64 && len <= sizeof(signature));
    fuzz_check(algorithm->kind == SIGNING_RSA || len == 2 * (size_t)algorithm->private_len);
    signing_key_ds(key, ds);
    fuzz_check((ds[0] << 8 | ds[1]) == key->tag && ds[2] == key->algorithm);
}

/* Any record by itself: most private halves do not fit. */
static void check_public(struct slice text)
{
    struct signing_key key = {.ttl_s = 0};
    struct err err = {.code = 0};
    if (signing_key_parse_record(text, &key, &err)) {
        check_message(err.msg);
    } else {
        signing_key_check_record(&key);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const uint8_t *end = size ? memchr(data, 0, size) : NULL;
    size_t public_len = end ? (size_t)(end - data) : size;
    size_t private_at = end ? public_len + 1 : size;
    struct slice public_text = slice_of(data, public_len);
    struct slice private_text = slice_of(data + private_at, size - private_at);
    struct signing_key *key = NULL;
    struct err err = {.code = 0};
    check_public(public_text);
    if (signing_key_parse(public_text, private_text, &key, &err)) {
        fuzz_check(!key);
        check_message(err.msg);
    } else {
        signing_key_check_key(key);
        signing_key_free(key);
    }
    return 0;
}
