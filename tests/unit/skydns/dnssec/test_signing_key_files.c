/* The two files of a key as people and tools may have them: what is taken, and what the error says
 * of others - never a part of the private key. */
#include <openssl/evp.h>

#include "skydns/dnssec/signing_key.h"
#include "tests/support/skydns/sample_keys.h"
#include "tests/support/unit_test.h"

#define RECORD "`OWNER [TTL] [IN] DNSKEY FLAGS 3 ALGORITHM KEY`"
#define ALGORITHMS \
    "8 (RSASHA256), 10 (RSASHA512), 13 (ECDSAP256SHA256), 14 (ECDSAP384SHA384) or 15 (ED25519)"

/* A pair whose private key is 1, so that its public one is the curve's base point. */
#define ONE_KEY \
    "axfR8uEsQkf4vOblY6RA8ncDfYEt6zOg9KE5RdiYwpZP40Li/hp/m47n60p8D54WK84zV2sxXs7LtkBoN79R9Q=="
static const char one_key[] = "a.test. IN DNSKEY 256 3 13 " ONE_KEY "\n";
static const char one_private[] = "Private-key-format: v1.3\n"
                                  "Algorithm: 13 (ECDSAP256SHA256)\n"
                                  "PrivateKey: "
                                  "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAE=\n";

static int signing_key_files_parse(const char *public_text, const char *private_text,
                                   struct signing_key **ret_key, struct err *err)
{
    return signing_key_parse(slice_str(public_text), slice_str(private_text), ret_key, err);
}

/* With the first `from` replaced; for free(). */
static char *signing_key_files_edit(const char *text, const char *from, const char *to)
{
    const char *at = strstr(text, from);
    assert_that(at, "no `%s`", from);
    return xasprintf("%.*s%s%s", (int)(at - text), text, to, at + strlen(from));
}

/* Whether the message has eight characters of any number of the private file. */
static bool signing_key_files_tells(const char *msg, const char *private_text)
{
    const char *line = private_text;
    while (line && *line) {
        const char *colon = strchr(line, ':');
        const char *end = strchr(line, '\n');
        size_t len = colon && end && end > colon + 2 ? (size_t)(end - colon - 2) : 0;
        for (size_t i = 0; len > 40 && i + 8 <= len; i++) {
            char part[9] = {0};
            memcpy(part, colon + 2 + i, 8);
            if (strstr(msg, part)) {
                return true;
            }
        }
        line = end ? end + 1 : NULL;
    }
    return false;
}

static void signing_key_files_expect_error(const char *public_text, const char *private_text,
                                           const char *want)
{
    struct signing_key *key = NULL;
    struct err err = {.code = 0};
    assert_int_equal(signing_key_files_parse(public_text, private_text, &key, &err), ERR_SYNTAX);
    assert_int_equal(err.code, ERR_SYNTAX);
    assert_string_equal(err.msg, want);
    assert_null(key);
    assert_false(signing_key_files_tells(err.msg, private_text));
}

static void expect_owner(const char *public_text, const char *private_text, const char *owner,
                         uint32_t ttl_s)
{
    char text[DNAME_TEXT_MAX];
    struct signing_key *key = NULL;
    struct err err = {.code = 0};
    assert_that(!signing_key_files_parse(public_text, private_text, &key, &err), "%s: %s",
                public_text, err.msg);
    assert_string_equal(dname_to_text(&key->owner, text), owner);
    assert_int_equal(key->ttl_s, ttl_s);
    assert_int_equal(key->rdata_len, 68);
    signing_key_free(key);
}

/* ---- Taken ---- */

UNIT_TEST(test_records)
{
    static const struct {
        const char *record, *owner;
        uint32_t ttl_s;
    } cases[] = {
        {"a.test. IN DNSKEY 256 3 13 " ONE_KEY, "a.test.", 0},
        {"a.test IN DNSKEY 256 3 13 " ONE_KEY "\n", "a.test.", 0},
        {"A.Test. DNSKEY 256 3 13 " ONE_KEY "\r\n", "a.test.", 0},
        {"a.test.\t7 DNSKEY 256 3 13 " ONE_KEY "\n\n;x\n ; y", "a.test.", 7},
        {"\n \n;\na.test. 7 in dnskey 256 3 13 " ONE_KEY " ;{id = 1 (zsk)}\n", "a.test.", 7},
        {"a.test. IN 2147483647 DNSKEY 256 3 13 " ONE_KEY "\n", "a.test.", 2147483647},
        {"a.test. 0 IN DNSKEY 256 3 13 " ONE_KEY "\n", "a.test.", 0},
        {"a\\.b.te\\;\\(.\\255 IN DNSKEY 256 3 13 " ONE_KEY "\n", "a\\.b.te\\;\\(.\\255.", 0},
        {". IN DNSKEY 257 3 13 " ONE_KEY "\n", ".", 0},
        {"a.test. IN DNSKEY ( 256 3\n 13 ; the algorithm\n\t" ONE_KEY "\n )\n", "a.test.", 0},
        {"a.test. IN DNSKEY 256 3 13(\naxfR8uEsQkf4vOblY6RA8ncDfYEt6zOg9KE5RdiYw\n"
         "pZP4 0Li/hp/m47n60p8D54WK84zV2sxXs7LtkBoN79R9Q=\n=)",
         "a.test.", 0},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        expect_owner(cases[i].record, one_private, cases[i].owner, cases[i].ttl_s);
    }
}

UNIT_TEST(test_private_files)
{
    static const char *const files[] = {
        one_private,
        "Private-key-format: v1.2\r\nAlgorithm: 13 (ECDSAP256SHA256)\r\nPrivateKey: AQ==\r\n",
        "\nPrivate-key-format:v1.3\nCreated: 20260101\nPublish: x\nModulus: AQ==\n"
        "PrivateKey:AAE=\nAlgorithm: 13",
    };
    for (size_t i = 0; i < ARRAY_LEN(files); i++) {
        expect_owner(one_key, files[i], "a.test.", 0);
    }
}

/* ---- Refused: the record ---- */

UNIT_TEST(test_bad_records)
{
    static const struct {
        const char *record, *want;
    } cases[] = {
        {"", ".key: no record; expected " RECORD},
        {"; cluster.local.\n\n", ".key: no record; expected " RECORD},
        {"(", ".key: no record; expected " RECORD},
        {" 300 IN DNSKEY", ".key: line 1: expected " RECORD ", beginning with a domain name"},
        {"$TTL 300\na.test.", ".key: line 1: expected " RECORD ", beginning with a domain name"},
        {"\na..test. IN", ".key: line 2: expected " RECORD ", beginning with a domain name"},
        {"a.test.", ".key: line 1: expected " RECORD},
        {"a.test. IN\nDNSKEY", ".key: line 1: expected " RECORD},
        {"a.test. IN KEY 256 3 13 AA==", ".key: line 1: expected " RECORD},
        {"a.test. CH DNSKEY 256 3 13 AA==", ".key: line 1: expected " RECORD},
        {"a.test. IN IN DNSKEY 256 3 13 AA==", ".key: line 1: expected " RECORD},
        {"a.test. 1 2 DNSKEY 256 3 13 AA==", ".key: line 1: expected " RECORD},
        {"a.test. 2147483648 DNSKEY 256 3 13 AA==", ".key: line 1: expected " RECORD},
        {"a.test. 1h DNSKEY 256 3 13 AA==", ".key: line 1: expected " RECORD},
        {"a.test. DNSKEY", ".key: line 1: expected flags: 256 or 257"},
        {"a.test. DNSKEY 256x", ".key: line 1: expected flags: 256 or 257"},
        {"a.test. DNSKEY 65536", ".key: line 1: expected flags: 256 or 257"},
        {"a.test. DNSKEY 0 3 13 AA==",
         ".key: line 1: flags 0; expected the key of a zone: flags 256 or 257"},
        {"a.test. DNSKEY 512 3 13 AA==",
         ".key: line 1: flags 512; expected the key of a zone: flags 256 or 257"},
        {"a.test. DNSKEY 385 3 13 AA==",
         ".key: line 1: flags 385: revoked (RFC 5011); expected flags 256 or 257"},
        {"a.test. DNSKEY 256", ".key: line 1: expected protocol 3"},
        {"a.test. DNSKEY 256 2 13 AA==", ".key: line 1: protocol 2; expected 3"},
        {"a.test. DNSKEY 256 3\n13 AA==", ".key: line 1: expected an algorithm: " ALGORITHMS},
        {"a.test. DNSKEY 256 3 256 AA==", ".key: line 1: expected an algorithm: " ALGORITHMS},
        {"a.test. DNSKEY 256 3 16 AA==",
         ".key: line 1: algorithm 16 is not supported; expected " ALGORITHMS},
        {"a.test. DNSKEY 256 3 1 AA==",
         ".key: line 1: algorithm 1 is not supported; expected " ALGORITHMS},
        {"a.test. DNSKEY 256 3 13 (A*==)", ".key: line 1: the key is not base64"},
        {"a.test. DNSKEY 256 3 13 A===", ".key: line 1: the key is not base64"},
        {"a.test. DNSKEY 256 3 13 AB==", ".key: line 1: the key is not base64"},
        {"a.test. DNSKEY 256 3 13 AAA==", ".key: line 1: the key is not base64"},
        {"a.test. DNSKEY 256 3 13 AA==AAAA", ".key: line 1: the key is not base64"},
        {"a.test. DNSKEY 256 3 13 ====", ".key: line 1: the key is not base64"},
        {"a.test. DNSKEY 256 3 13 (\nAA=)", ".key: line 2: the key's base64 is not complete"},
        {"a.test. DNSKEY 256 3 13 AAAA A", ".key: line 1: the key's base64 is not complete"},
        {"a.test. DNSKEY 256 3 13 (\nAA==", ".key: line 2: a parenthesis without the other"},
        {"a.test. DNSKEY 256 3 13 AA==)", ".key: line 1: a parenthesis without the other"},
        {"a.test. DNSKEY 256 3 13",
         ".key: a key of 0 bytes; expected 64 for algorithm 13 (ECDSAP256SHA256)"},
        {"a.test. DNSKEY 256 3 14 " ONE_KEY,
         ".key: a key of 64 bytes; expected 96 for algorithm 14 (ECDSAP384SHA384)"},
        {"a.test. DNSKEY 256 3 15 " ONE_KEY,
         ".key: a key of 64 bytes; expected 32 for algorithm 15 (ED25519)"},
        {"a.test. DNSKEY 256 3 13 " ONE_KEY "\nb.test.",
         ".key: line 2: expected one record, and nothing behind it"},
        {"a.test. DNSKEY 256 3 13 " ONE_KEY "\n)",
         ".key: line 2: expected one record, and nothing behind it"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        signing_key_files_expect_error(cases[i].record, one_private, cases[i].want);
    }
}

UNIT_TEST(test_point_off_the_curve)
{
    CLEANUP_FREE char *off = signing_key_files_edit(one_key, "N79R9Q==", "N79R9g==");
    struct signing_key *key = NULL;
    struct err err = {.code = 0};
    static const char want[] = ".key: not a public key of algorithm 13 (ECDSAP256SHA256): ";
    assert_int_equal(signing_key_files_parse(off, one_private, &key, &err), ERR_SYNTAX);
    err.msg[sizeof(want) - 1] = '\0'; /* libcrypto's reason follows */
    assert_string_equal(err.msg, want);
}

/* An RSA record whose key is these bytes, then ones up to `len` bytes in all; for free(). */
static char *rsa_record(const char *head, size_t head_len, size_t len)
{
    uint8_t bytes[600];
    char text[900];
    assert_true(len <= sizeof(bytes));
    memset(bytes, 0xff, sizeof(bytes));
    memcpy(bytes, head, head_len);
    (void)EVP_EncodeBlock((uint8_t *)text, bytes, (int)len);
    return xasprintf("a.test. DNSKEY 256 3 8 %s\n", text);
}

UNIT_TEST(test_rsa_sizes)
{
#define BYTES(text) (text), sizeof(text) - 1
#define NO_RSA                                                                                 \
    ".key: expected an RSA key: an exponent of 1 to 8 bytes and a modulus, neither beginning " \
    "with a zero byte (RFC 3110)"
    const struct {
        const char *head;
        size_t head_len, len;
        const char *want;
    } cases[] = {
        {BYTES(""), 0, NO_RSA},
        {BYTES("\0\0"), 2, NO_RSA},
        {BYTES("\3\1\0\1"), 3, NO_RSA},
        {BYTES("\3\1\0\1"), 4, NO_RSA},
        {BYTES("\0\0\0"), 200, NO_RSA},
        {BYTES("\0\1\0"), 200, NO_RSA},
        {BYTES("\3\0\0\1"), 200, NO_RSA},
        {BYTES("\3\1\0\1\0"), 200, NO_RSA},
        {BYTES("\11\1\1\1\1\1\1\1\1\1"), 200, NO_RSA},
        {BYTES("\3\1\0\1\x7f"), 4 + 128, ".key: RSA of 1023 bits; expected 1024 to 4096"},
        {BYTES("\3\1\0\1"), 4 + 64, ".key: RSA of 512 bits; expected 1024 to 4096"},
        {BYTES("\3\1\0\1\1"), 4 + 513, ".key: RSA of 4097 bits; expected 1024 to 4096"},
        {BYTES("\0\0\10\1\1\1\1\1\1\1\1"), 11 + 513,
         ".key: the key has more than the 523 bytes of RSA with 4096 bits"},
        {BYTES("\3\1\0\1"), 600, ".key: the key has more than the 523 bytes of RSA with 4096 bits"},
        /* Not refused as records. */
        {BYTES("\3\1\0\1\x80"), 4 + 128,
         ".private: line 2: algorithm 13; expected 8 (RSASHA256), as the record has"},
        {BYTES("\0\0\10\1\1\1\1\1\1\1\1"), 11 + 512,
         ".private: line 2: algorithm 13; expected 8 (RSASHA256), as the record has"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        CLEANUP_FREE char *record = rsa_record(cases[i].head, cases[i].head_len, cases[i].len);
        signing_key_files_expect_error(record, one_private, cases[i].want);
    }
}

/* ---- Refused: the private half ---- */

#define FORMAT "Private-key-format: v1.3\n"
#define A13    "Algorithm: 13 (ECDSAP256SHA256)\n"

UNIT_TEST(test_bad_private_files)
{
    static const struct {
        const char *text, *want;
    } cases[] = {
        {"", ".private: line 1: expected `Private-key-format: v1.3`, or v1.2, first"},
        {"\n" A13, ".private: line 2: expected `Private-key-format: v1.3`, or v1.2, first"},
        {"Private-key-format: v1.1\n",
         ".private: line 1: expected `Private-key-format: v1.3`, or v1.2, first"},
        {"-----BEGIN PRIVATE KEY-----\n",
         ".private: line 1: expected `Private-key-format: v1.3`, or v1.2, first"},
        {FORMAT "abc\n", ".private: line 2: expected `NAME: VALUE`"},
        {FORMAT, ".private: no Algorithm; expected `Algorithm: 13 (ECDSAP256SHA256)`"},
        {FORMAT A13 A13, ".private: line 3: a second Algorithm"},
        {FORMAT "Algorithm: ECDSA", ".private: line 2: expected `Algorithm: 13 (ECDSAP256SHA256)`"},
        {FORMAT "Algorithm:", ".private: line 2: expected `Algorithm: 13 (ECDSAP256SHA256)`"},
        {FORMAT "Algorithm: 8 (RSASHA256)\n",
         ".private: line 2: algorithm 8; expected 13 (ECDSAP256SHA256), as the record has"},
        {FORMAT A13, ".private: no PrivateKey; expected the files of one pair"},
        {FORMAT A13 "PrivateKey:\n", ".private: line 3: PrivateKey: expected base64"},
        {FORMAT A13 "PrivateKey: AAE\n", ".private: line 3: PrivateKey: expected base64"},
        {FORMAT A13 "PrivateKey: A A=\n", ".private: line 3: PrivateKey: expected base64"},
        {FORMAT A13 "PrivateKey: AQ==\nPrivateKey: AQ==\n",
         ".private: line 4: a second PrivateKey"},
        {FORMAT A13 "Label: pkcs11:token=a\n",
         ".private: line 3: a key in a hardware module; expected the private key itself"},
        {FORMAT A13 "Engine: cGtjczExAA==\n",
         ".private: line 3: a key in a hardware module; expected the private key itself"},
        {FORMAT A13 "PrivateKey: AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAB\n",
         ".private: PrivateKey: 36 bytes; expected 32 for algorithm 13 (ECDSAP256SHA256)"},
        {FORMAT A13 "PrivateKey: Ag==\n",
         "the private key does not match the record; expected the files of one pair"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        signing_key_files_expect_error(one_key, cases[i].text, cases[i].want);
    }
}

UNIT_TEST(test_number_too_long)
{
    char zeros[513 * 4 / 3 + 1];
    memset(zeros, 'A', sizeof(zeros));
    zeros[513 * 4 / 3] = '\0';
    CLEANUP_FREE char *text = xasprintf(FORMAT A13 "Prime1: %s\n", zeros);
    signing_key_files_expect_error(one_key, text, ".private: line 3: Prime1: more than 512 bytes");
}

UNIT_TEST(test_eddsa_length)
{
    const struct sample_key *sample = &sample_keys[SAMPLE_ED25519];
    signing_key_files_expect_error(
        sample->public_text, FORMAT "Algorithm: 15\nPrivateKey: AQ==\n",
        ".private: PrivateKey: 1 bytes; expected 32 for algorithm 15 (ED25519)");
}

/* Private numbers of another key are refused with every algorithm. */
UNIT_TEST(test_mismatching_pairs)
{
    static const enum sample_key_name pairs[][2] = {
        {SAMPLE_ECDSAP256_KSK, SAMPLE_ECDSAP256_ZSK}, {SAMPLE_ECDSAP384, SAMPLE_LDNS_ECDSAP384},
        {SAMPLE_ED25519, SAMPLE_LDNS_ED25519},        {SAMPLE_RSASHA256, SAMPLE_LDNS_RSASHA256},
        {SAMPLE_RSASHA512, SAMPLE_LDNS_RSASHA512},    {SAMPLE_RSASHA1, SAMPLE_LDNS_RSASHA1},
    };
    for (size_t i = 0; i < ARRAY_LEN(pairs); i++) {
        for (unsigned k = 0; k < 2; k++) {
            signing_key_files_expect_error(
                sample_keys[pairs[i][k]].public_text, sample_keys[pairs[i][1 - k]].private_text,
                "the private key does not match the record; expected the files of one "
                "pair");
        }
    }
}

static const char *const rsa_names[] = {"Modulus",   "PublicExponent", "PrivateExponent",
                                        "Prime1",    "Prime2",         "Exponent1",
                                        "Exponent2", "Coefficient"};

UNIT_TEST(test_each_rsa_number_is_needed)
{
    const struct sample_key *sample = &sample_keys[SAMPLE_RSASHA512];
    for (size_t i = 0; i < ARRAY_LEN(rsa_names); i++) {
        CLEANUP_FREE char *field = xasprintf("\n%s:", rsa_names[i]);
        CLEANUP_FREE char *other = xasprintf("\nX%s:", rsa_names[i]);
        CLEANUP_FREE char *want =
            xasprintf(".private: no %s; expected the files of one pair", rsa_names[i]);
        CLEANUP_FREE char *without = signing_key_files_edit(sample->private_text, field, other);
        signing_key_files_expect_error(sample->public_text, without, want);
    }
}

/* Nor does any number that is not of this key: libcrypto would sign without primes, slowly. */
UNIT_TEST(test_spoilt_rsa_numbers)
{
    static const char *const values[] = {"AA==", "AQ==", "Ag==", "AwAAAAAAAAAAAAAA", "/////w=="};
    const struct sample_key *sample = &sample_keys[SAMPLE_RSASHA512];
    for (size_t k = 0; k < ARRAY_LEN(rsa_names); k++) {
        CLEANUP_FREE char *field = xasprintf("\n%s: ", rsa_names[k]);
        for (size_t i = 0; i < ARRAY_LEN(values); i++) {
            CLEANUP_FREE char *spoilt = xasprintf("\n%s: %s\nOld: ", rsa_names[k], values[i]);
            CLEANUP_FREE char *text = signing_key_files_edit(sample->private_text, field, spoilt);
            signing_key_files_expect_error(
                sample->public_text, text,
                "the private key does not match the record; expected the files of one "
                "pair");
        }
    }
}

/* ---- Whole files ---- */

UNIT_TEST(test_swapped_files)
{
    for (unsigned i = 0; i < SAMPLE_KEYS; i++) {
        const struct sample_key *sample = &sample_keys[i];
        struct signing_key *key = NULL;
        struct err err = {.code = 0};
        assert_int_equal(
            signing_key_files_parse(sample->private_text, sample->public_text, &key, &err),
            ERR_SYNTAX);
        assert_false(signing_key_files_tells(err.msg, sample->private_text));
        /* Cuts the first lines off. */
        const char *number = strstr(sample->private_text, "PrivateKey: ");
        if (number) {
            assert_int_equal(signing_key_files_parse(number, number, &key, &err), ERR_SYNTAX);
            assert_false(signing_key_files_tells(err.msg, sample->private_text));
            number = strchr(number, ' ') + 1;
            assert_int_equal(signing_key_files_parse(number, number, &key, &err), ERR_SYNTAX);
            assert_false(signing_key_files_tells(err.msg, sample->private_text));
        }
    }
}

/* Whether the text, cut off at each byte, fails until it has all of what ends with `last`. */
static void check_cuts(const struct sample_key *sample, bool is_public)
{
    const char *whole = is_public ? sample->public_text : sample->private_text;
    const char *last = strstr(whole, is_public ? "DNSKEY" : "PrivateKey: ");
    last = strstr(last ? last : strstr(whole, "Coefficient: "), "==") + 2;
    for (size_t len = 0; whole[len]; len++) {
        /* On the heap, without a NUL: so that asan sees a read behind it. */
        char *cut = xmalloc(len + 1);
        memcpy(cut, whole, len);
        cut = xrealloc(cut, len ? len : 1);
        struct signing_key *key = NULL;
        struct slice slice = slice_of(cut, len);
        int rc = signing_key_parse(is_public ? slice : slice_str(sample->public_text),
                                   is_public ? slice_str(sample->private_text) : slice, &key, NULL);
        assert_true(rc == 0 ? whole + len >= last : !key);
        signing_key_free(key);
        free(cut);
    }
}

UNIT_TEST(test_truncated_files)
{
    check_cuts(&sample_keys[SAMPLE_LDNS_ECDSAP256], true);
    check_cuts(&sample_keys[SAMPLE_ECDSAP256_KSK], true);
    check_cuts(&(struct sample_key){.public_text = one_key, .private_text = one_private}, true);
    check_cuts(&sample_keys[SAMPLE_RSASHA512], false);
}

UNIT_TEST(test_oversized_files)
{
    static const char *const wants[] = {".key: more than 16384 bytes",
                                        ".private: more than 16384 bytes"};
    CLEANUP_FREE char *big = xmalloc(SIGNING_KEY_FILE_MAX + 1);
    memset(big, '\n', SIGNING_KEY_FILE_MAX + 1);
    for (unsigned i = 0; i < 2; i++) {
        const char *text = i ? one_private : one_key;
        for (size_t len = SIGNING_KEY_FILE_MAX; len <= SIGNING_KEY_FILE_MAX + 1; len++) {
            struct signing_key *key = NULL;
            struct err err = {.code = 0};
            memcpy(big, text, strlen(text));
            struct slice slice = slice_of(big, len);
            int rc = signing_key_parse(i ? slice_str(one_key) : slice,
                                       i ? slice : slice_str(one_private), &key, &err);
            assert_int_equal(rc, len > SIGNING_KEY_FILE_MAX ? ERR_TOO_LARGE : 0);
            assert_true(rc == 0 || strcmp(err.msg, wants[i]) == 0);
            signing_key_free(key);
            memset(big, '\n', SIGNING_KEY_FILE_MAX + 1);
        }
    }
}

UNIT_TEST(test_bytes_of_any_kind)
{
    uint8_t bytes[256];
    struct signing_key *key = NULL;
    for (unsigned i = 0; i < sizeof(bytes); i++) {
        bytes[i] = (uint8_t)(i * 167);
    }
    struct slice noise = slice_of(bytes, sizeof(bytes));
    assert_int_equal(signing_key_parse(noise, noise, &key, NULL), ERR_SYNTAX);
    assert_int_equal(signing_key_parse(slice_str(one_key), noise, &key, NULL), ERR_SYNTAX);
    assert_int_equal(signing_key_parse(slice_of(NULL, 0), slice_of(NULL, 0), &key, NULL),
                     ERR_SYNTAX);
    signing_key_free(NULL);
}
