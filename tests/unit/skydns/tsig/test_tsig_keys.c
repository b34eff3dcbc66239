/* -tsig-keys' file: what is a key, and what the messages tell. */
#include "common/base/buf.h"
#include "skydns/tsig/tsig_keys.h"
#include "tests/support/unit_test.h"

#define SECRET    "MIHmdg=="
#define KEY(name) "key " name " {\n\talgorithm hmac-sha256;\n\tsecret \"" SECRET "\";\n};\n"

UNIT_TEST(reads)
{
    static const struct {
        const char *text;
        size_t count;
        const char *first, *algorithm;
    } cases[] = {
        {KEY("\"transfer.\""), 1, "transfer.", "hmac-sha256"},
        {KEY("A.Example") KEY("b"), 2, "a.example.", "hmac-sha256"},
        {"// one\n# two\n/* three\n */key /**/ x{secret " SECRET ";algorithm HMAC-SHA512.;};", 1,
         "x.", "hmac-sha512"},
        {"key \"x\" { algorithm \"hmac-sha1\"; secret \"" SECRET "\"; }; // end", 1, "x.",
         "hmac-sha1"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct tsig_keys *keys;
        struct err err;
        char text[DNAME_TEXT_MAX];
        assert_int_equal(tsig_keys_parse(slice_str(cases[i].text), &keys, &err), 0);
        assert_int_equal(tsig_keys_count(keys), cases[i].count);
        const struct tsig_key *key = tsig_keys_at(keys, 0);
        assert_string_equal(dname_to_text(tsig_key_name(key), text), cases[i].first);
        assert_string_equal(tsig_key_algorithm(key), cases[i].algorithm);
        assert_ptr_equal(tsig_keys_find(keys, tsig_key_name(key)), key);
        tsig_keys_unref(tsig_keys_ref(keys));
        tsig_keys_unref(keys);
    }
}

UNIT_TEST(refuses)
{
    static const struct {
        const char *text, *why;
    } cases[] = {
        {"", "expected a key, as tsig-keygen prints it"},
        {"/* " KEY("x"), "expected a key, as tsig-keygen prints it"},
        {KEY("a") "options {};", "line 5: expected `key`, found `options`"},
        {KEY("a") KEY("\"A.\""), "line 5: expected each name once, found `A.`"},
        {"key { };",
         "line 1: expected the name of a key, a DNS name of at most 80 bytes, found `{`"},
        {"key a..b { };", "line 1: expected the name"},
        {"key a algorithm", "line 1: expected `{`, found `algorithm`"},
        {"key a {\nalgorithm hmac-md5.sig-alg.reg.int;",
         "line 2: expected hmac-sha256 or another of SHA, since MD5 is too weak"},
        {"key a { algorithm sha256; };",
         "expected hmac-sha1, -sha224, -sha256, -sha384 or -sha512"},
        {"key a { algorithm hmac-sha256 }", "expected `;`, found `}`"},
        {"key a { algorithm hmac-sha256; };", "line 1: expected `secret` in the key"},
        {"key a { secret " SECRET "; };", "line 1: expected `algorithm` in the key"},
        {"key a { secret \"\"; };", "expected a secret of 1 to 512 bytes in base64"},
        {"key a { secret \"MIHmdg=\"; };", "expected a secret of 1 to 512 bytes in base64"},
        {"key a { secret \"MI=mdg==\"; };", "expected a secret of 1 to 512 bytes in base64"},
        {"key a { secret \"MIHm dg==\"; };", "expected a secret of 1 to 512 bytes in base64"},
        {"key a { secret \"====\"; };", "expected a secret of 1 to 512 bytes in base64"},
        {"key a { secret \"" SECRET, "expected `;`, found ``"},
        {"key a { what; };", "expected `algorithm`, `secret` or `}`, found `what`"},
        {"key a { algorithm hmac-sha256; secret " SECRET "; }", "expected `;`, found ``"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct tsig_keys *keys;
        struct err err;
        assert_int_not_equal(tsig_keys_parse(slice_str(cases[i].text), &keys, &err), 0);
        assert_that(strstr(err.msg, cases[i].why), "`%s`: %s", cases[i].text, err.msg);
        assert_null(strstr(err.msg, "MIHm"));
    }
}

static int parse_many(size_t count, struct tsig_keys **ret_keys, struct err *err)
{
    CLEANUP_BUF struct buf text = buf_of(1024 * 1024);
    for (size_t i = 0; i < count; i++) {
        buf_printf(&text, "key k%zu { algorithm hmac-sha256; secret " SECRET "; };", i);
    }
    return tsig_keys_parse(buf_slice(&text), ret_keys, err);
}

UNIT_TEST(limits)
{
    struct tsig_keys *keys;
    struct err err;
    char text[800];
    assert_int_equal(parse_many(TSIG_KEYS_MAX, &keys, &err), 0);
    assert_int_equal(tsig_keys_count(keys), TSIG_KEYS_MAX);
    tsig_keys_unref(keys);
    assert_int_not_equal(parse_many(TSIG_KEYS_MAX + 1, &keys, &err), 0);
    assert_non_null(strstr(err.msg, "expected at most 64 keys"));
    for (int digits = 684; digits <= 688; digits += 4) { /* 512 bytes have 683, and one `=` */
        int len = snprintf(text, sizeof(text), "key k { algorithm hmac-sha1; secret \"%0*d%s\"; };",
                           digits - 1, 0, "=");
        int r = tsig_keys_parse(slice_of(text, (size_t)len), &keys, &err);
        assert_int_equal(r == 0, digits == 684);
        if (r == 0) {
            tsig_keys_unref(keys);
        }
    }
}
