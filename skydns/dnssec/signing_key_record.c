/* Reads the public half of a key, a DNSKEY record. */
#include "skydns/dnssec/signing_key_internal.h"

#include <strings.h>

/* ---- Text ---- */

bool signing_text_number(struct slice text, uint32_t max, uint32_t *ret_number)
{
    uint64_t number = 0;
    for (size_t i = 0; i < text.len; i++) {
        if (text.ptr[i] < '0' || text.ptr[i] > '9') {
            return false;
        }
        number = number * 10 + (uint64_t)(text.ptr[i] - '0');
        if (number > max) {
            return false;
        }
    }
    *ret_number = (uint32_t)number;
    return text.len > 0;
}

/* Returns the digit's value; -1: none. */
static int base64_digit(char c)
{
    return c >= 'A' && c <= 'Z'   ? c - 'A'
           : c >= 'a' && c <= 'z' ? c - 'a' + 26
           : c >= '0' && c <= '9' ? c - '0' + 52
           : c == '+'             ? 62
           : c == '/'             ? 63
                                  : -1;
}

/* Ends the last group: 2 digits and 2 pads are a byte, 3 and 1 are two; the bits left over are
 * 0. */
static bool end_group(struct signing_base64 *base64)
{
    unsigned spare = base64->digits == 2 ? 4 : 2;
    if (base64->digits < 2 || base64->digits + ++base64->pads > 4 ||
        (base64->bits & ((1u << spare) - 1)) != 0) {
        return false;
    }
    if (base64->digits + base64->pads == 4) {
        uint32_t bits = base64->bits >> spare;
        if (base64->digits == 3) {
            writer_u8(base64->out, (uint8_t)(bits >> 8));
        }
        writer_u8(base64->out, (uint8_t)bits);
    }
    return true;
}

bool signing_base64_add(struct signing_base64 *base64, struct slice text)
{
    for (size_t i = 0; i < text.len; i++) {
        int digit = base64_digit(text.ptr[i]);
        if (text.ptr[i] == '=') {
            if (!end_group(base64)) {
                return false;
            }
        } else if (digit < 0 || base64->pads) {
            return false;
        } else {
            base64->bits = base64->bits << 6 | (uint32_t)digit;
            if (++base64->digits == 4) {
                writer_u16(base64->out, (uint16_t)(base64->bits >> 8));
                writer_u8(base64->out, (uint8_t)base64->bits);
                base64->bits = base64->digits = 0;
            }
        }
    }
    return true;
}

bool signing_base64_ends(const struct signing_base64 *base64)
{
    return base64->digits == 0 || base64->digits + base64->pads == 4;
}

/* Flags of RFC 4034 2.1.1 and RFC 5011 7. */
enum { FLAG_ZONE = 0x0100, FLAG_REVOKED = 0x0080, FLAG_SEP = 0x0001, PROTOCOL = 3 };

enum { TTL_MAX_S = 0x7fffffff }; /* RFC 2181 8 */

/* Limits RSA's numbers: the exponents of common keys have 3 bytes, those of dnssec-keygen 5 at
 * most. */
enum { EXPONENT_MAX = 8, MODULUS_MIN = 1024 / 8, MODULUS_MAX = 4096 / 8 };

#define RECORD_TEXT "OWNER [TTL] [IN] DNSKEY FLAGS 3 ALGORITHM KEY"

/* ---- Words of a master file (RFC 1035 5.1) ---- */

struct words {
    struct slice text;
    size_t at;
    unsigned line;
    unsigned open; /* parentheses: a line's end within them ends nothing */
};

enum word { WORD, WORD_LINE_END, WORD_FILE_END, WORD_BAD };

static bool signing_key_record_is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

static bool ends_word(char c)
{
    return signing_key_record_is_blank(c) || c == '\n' || c == ';' || c == '(' || c == ')';
}

static struct slice signing_key_record_take_word(struct words *words)
{
    size_t start = words->at;
    while (words->at < words->text.len && !ends_word(words->text.ptr[words->at])) {
        /* A character behind a backslash belongs to the word, but no word continues behind the
         * line's end. */
        bool is_escape = words->text.ptr[words->at] == '\\' && words->at + 1 < words->text.len &&
                         words->text.ptr[words->at + 1] != '\n';
        words->at += is_escape ? 2 : 1;
    }
    return slice_of(words->text.ptr + start, words->at - start);
}

static void skip_comment(struct words *words)
{
    while (words->at < words->text.len && words->text.ptr[words->at] != '\n') {
        words->at++;
    }
}

static enum word signing_key_record_next_word(struct words *words, struct slice *ret_word)
{
    while (words->at < words->text.len) {
        char c = words->text.ptr[words->at];
        if (!ends_word(c)) {
            *ret_word = signing_key_record_take_word(words);
            return WORD;
        }
        if (c == ';') {
            skip_comment(words);
            continue;
        }
        words->at++;
        if (c == '\n') {
            words->line++;
            if (!words->open) {
                return WORD_LINE_END;
            }
        } else if (c == '(') {
            words->open++;
        } else if (c == ')' && words->open-- == 0) {
            return WORD_BAD;
        }
    }
    return words->open ? WORD_BAD : WORD_FILE_END;
}

/* ---- The record ---- */

static int signing_key_record_malformed(const struct words *words, const char *expected,
                                        struct err *err)
{
    return err_set(err, ERR_SYNTAX, "line %u: expected %s", words->line, expected);
}

/* Takes a word. Errors never show its content: somebody may have given the private key as the
 * record. */
static int expect_word(struct words *words, const char *expected, struct slice *ret_word,
                       struct err *err)
{
    unsigned line = words->line;
    return signing_key_record_next_word(words, ret_word) == WORD
               ? 0
               : err_set(err, ERR_SYNTAX, "line %u: expected %s", line, expected);
}

static int expect_number(struct words *words, uint32_t max, const char *expected,
                         uint32_t *ret_number, struct err *err)
{
    struct slice word;
    int rc = expect_word(words, expected, &word, err);
    return rc ? rc
           : signing_text_number(word, max, ret_number)
               ? 0
               : signing_key_record_malformed(words, expected, err);
}

static int parse_owner(struct words *words, struct signing_key *key, struct err *err)
{
    struct slice word;
    enum word kind;
    size_t line_start;
    do {
        line_start = words->at;
        kind = signing_key_record_next_word(words, &word);
    } while (kind == WORD_LINE_END);
    if (kind != WORD) {
        return err_set(err, ERR_SYNTAX, "no record; expected `%s`", RECORD_TEXT);
    }
    if (word.ptr != words->text.ptr + line_start || word.ptr[0] == '$' ||
        !dname_from_text(word, &key->owner)) {
        return signing_key_record_malformed(words,
                                            "`" RECORD_TEXT "`, beginning with a domain name", err);
    }
    dname_lower(&key->owner);
    return 0;
}

static bool word_is(struct slice word, const char *want)
{
    return word.len == strlen(want) && strncasecmp(word.ptr, want, word.len) == 0;
}

/* Parses TTL and class in either order, then the type. */
static int parse_type(struct words *words, struct signing_key *key, struct err *err)
{
    static const char expected[] = "`" RECORD_TEXT "`";
    bool has_ttl = false, has_class = false;
    struct slice word;
    for (;;) {
        int rc = expect_word(words, expected, &word, err);
        if (rc) {
            return rc;
        }
        if (word_is(word, "DNSKEY")) {
            return 0;
        }
        if (!has_class && word_is(word, "IN")) {
            has_class = true;
        } else if (!has_ttl && signing_text_number(word, TTL_MAX_S, &key->ttl_s)) {
            has_ttl = true;
        } else {
            return signing_key_record_malformed(words, expected, err);
        }
    }
}

static int check_flags(const struct words *words, uint32_t flags, struct err *err)
{
    if (!(flags & FLAG_ZONE)) {
        return err_set(err, ERR_SYNTAX,
                       "line %u: flags %u; expected the key of a zone: flags 256 or 257",
                       words->line, flags);
    }
    if (flags & FLAG_REVOKED) {
        return err_set(err, ERR_SYNTAX,
                       "line %u: flags %u: revoked (RFC 5011); expected flags 256 or 257",
                       words->line, flags);
    }
    return 0;
}

static int parse_fields(struct words *words, struct signing_key *key, struct writer *rdata,
                        struct err *err)
{
    uint32_t flags, protocol, algorithm;
    int rc = expect_number(words, UINT16_MAX, "flags: 256 or 257", &flags, err);
    if (rc || (rc = check_flags(words, flags, err)) ||
        (rc = expect_number(words, UINT8_MAX, "protocol 3", &protocol, err))) {
        return rc;
    }
    if (protocol != PROTOCOL) {
        return err_set(err, ERR_SYNTAX, "line %u: protocol %u; expected 3", words->line, protocol);
    }
    rc = expect_number(words, UINT8_MAX, "an algorithm: " SIGNING_ALGORITHMS_TEXT, &algorithm, err);
    if (rc) {
        return rc;
    }
    if (!signing_algorithm_find(algorithm)) {
        return err_set(err, ERR_SYNTAX, "line %u: algorithm %u is not supported; expected %s",
                       words->line, algorithm, SIGNING_ALGORITHMS_TEXT);
    }
    writer_u16(rdata, (uint16_t)flags);
    writer_u8(rdata, (uint8_t)protocol);
    writer_u8(rdata, (uint8_t)algorithm);
    key->is_sep = flags & FLAG_SEP;
    key->algorithm = (uint8_t)algorithm;
    return 0;
}

/* Parses base64, perhaps in several words. */
static int parse_public_key(struct words *words, struct writer *rdata, struct err *err)
{
    struct signing_base64 base64 = {.out = rdata};
    struct slice word;
    enum word kind;
    unsigned line = words->line;
    while ((kind = signing_key_record_next_word(words, &word)) == WORD) {
        line = words->line;
        if (!signing_base64_add(&base64, word)) {
            return err_set(err, ERR_SYNTAX, "line %u: the key is not base64", line);
        }
    }
    if (kind == WORD_BAD) {
        return err_set(err, ERR_SYNTAX, "line %u: a parenthesis without the other", line);
    }
    if (!signing_base64_ends(&base64)) {
        return err_set(err, ERR_SYNTAX, "line %u: the key's base64 is not complete", line);
    }
    return 0;
}

static int expect_end(struct words *words, struct err *err)
{
    struct slice word;
    enum word kind;
    do {
        kind = signing_key_record_next_word(words, &word);
    } while (kind == WORD_LINE_END);
    return kind == WORD_FILE_END
               ? 0
               : signing_key_record_malformed(words, "one record, and nothing behind it", err);
}

/* ---- The public key ---- */

bool signing_key_rsa_parts(const struct signing_key *key, struct slice *ret_exponent,
                           struct slice *ret_modulus)
{
    struct reader reader = reader_of(key->rdata, key->rdata_len);
    (void)reader_take(&reader, 4); /* flags, protocol, algorithm */
    size_t exponent_len = reader_u8(&reader);
    if (exponent_len == 0) {
        exponent_len = reader_u16(&reader);
    }
    const uint8_t *exponent = reader_take(&reader, exponent_len);
    size_t modulus_len = reader_left(&reader);
    const uint8_t *modulus = reader_take(&reader, modulus_len);
    if (reader.failed || exponent_len == 0 || modulus_len == 0) {
        return false;
    }
    *ret_exponent = slice_of(exponent, exponent_len);
    *ret_modulus = slice_of(modulus, modulus_len);
    return exponent[0] != 0 && modulus[0] != 0;
}

static int check_rsa(const struct signing_key *key, struct err *err)
{
    struct slice exponent, modulus;
    if (!signing_key_rsa_parts(key, &exponent, &modulus) || exponent.len > EXPONENT_MAX) {
        return err_set(err, ERR_SYNTAX,
                       "expected an RSA key: an exponent of 1 to %d bytes and a modulus, neither "
                       "beginning with a zero byte (RFC 3110)",
                       EXPONENT_MAX);
    }
    size_t bits = modulus.len * 8 - (size_t)(__builtin_clz((uint8_t)modulus.ptr[0]) - 24);
    if (bits < MODULUS_MIN * 8 || bits > MODULUS_MAX * 8) {
        return err_set(err, ERR_SYNTAX, "RSA of %zu bits; expected %d to %d", bits, MODULUS_MIN * 8,
                       MODULUS_MAX * 8);
    }
    return 0;
}

static int check_public_key(const struct signing_key *key, struct err *err)
{
    const struct signing_algorithm *algorithm = signing_algorithm_of(key);
    size_t len = key->rdata_len - 4u;
    if (algorithm->kind == SIGNING_RSA) {
        return check_rsa(key, err);
    }
    return len == algorithm->public_len
               ? 0
               : err_set(err, ERR_SYNTAX, "a key of %zu bytes; expected %u for algorithm %u (%s)",
                         len, algorithm->public_len, algorithm->number, algorithm->name);
}

int signing_key_parse_record(struct slice text, struct signing_key *key, struct err *err)
{
    struct words words = {.text = text, .line = 1};
    struct writer rdata = writer_of(key->rdata, sizeof(key->rdata));
    int rc;
    if ((rc = parse_owner(&words, key, err)) || (rc = parse_type(&words, key, err)) ||
        (rc = parse_fields(&words, key, &rdata, err)) ||
        (rc = parse_public_key(&words, &rdata, err)) || (rc = expect_end(&words, err))) {
        return rc;
    }
    if (rdata.failed) {
        return err_set(err, ERR_SYNTAX, "the key has more than the %zu bytes of RSA with %d bits",
                       sizeof(key->rdata) - 4, MODULUS_MAX * 8);
    }
    key->rdata_len = (uint16_t)rdata.pos;
    return check_public_key(key, err);
}
