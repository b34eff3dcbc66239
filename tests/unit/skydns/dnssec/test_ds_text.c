/* -print-ds' text is that of dnssec-dsfromkey -2, apart from its TTL and the owner's case. */
#include "skydns/dnssec/dnssec.h"

#include <ctype.h>

#include "tests/support/skydns/sample_keys.h"
#include "tests/support/unit_test.h"

/* A DS record of the samples with this TTL; the owner's letters are small, as keys have them. */
static void append_sample(struct buf *out, enum sample_key_name name, unsigned ttl_s)
{
    const char *ds = sample_keys[name].ds;
    const char *rest = strstr(ds, " IN DS ");
    for (const char *at = ds; at < rest; at++) {
        buf_append_char(out, (char)tolower((unsigned char)*at));
    }
    buf_printf(out, " %u%s\n", ttl_s, rest);
}

static void ds_text_check(const enum sample_key_name *names, size_t count, struct buf *want)
{
    struct signing_key *keys[SAMPLE_KEYS];
    struct dnssec *dnssec = NULL;
    for (size_t i = 0; i < count; i++) {
        keys[i] = sample_key_new(names[i]);
    }
    assert_int_equal(dnssec_new(keys, count, 10, &dnssec, NULL), 0);
    CLEANUP_BUF struct buf out = buf_of(DS_TEXT_MAX);
    ds_text(dnssec, 42, &out);
    assert_false(out.failed);
    assert_string_equal(buf_cstr(&out), buf_cstr(want));
    buf_fini(want);
    dnssec_unref(dnssec);
}

/* The key without the bit is not listed; its TTL is not the DS records'. */
UNIT_TEST(test_only_sep_keys)
{
    struct buf want;
    buf_init(&want, DS_TEXT_MAX);
    append_sample(&want, SAMPLE_ECDSAP256_KSK, 42);
    ds_text_check((enum sample_key_name[]){SAMPLE_ECDSAP256_ZSK, SAMPLE_ECDSAP256_KSK}, 2, &want);
}

/* Canonical order begins with the tag: 48478, 49178. */
UNIT_TEST(test_all_without_sep)
{
    struct buf want;
    buf_init(&want, DS_TEXT_MAX);
    append_sample(&want, SAMPLE_ECDSAP256_ZSK, 300);
    append_sample(&want, SAMPLE_LDNS_ECDSAP256, 300);
    ds_text_check((enum sample_key_name[]){SAMPLE_LDNS_ECDSAP256, SAMPLE_ECDSAP256_ZSK}, 2, &want);
}

UNIT_TEST(test_zones)
{
    struct buf want;
    buf_init(&want, DS_TEXT_MAX);
    append_sample(&want, SAMPLE_LDNS_RSASHA512, 42); /* three labels */
    append_sample(&want, SAMPLE_RSASHA256, 60);
    ds_text_check((enum sample_key_name[]){SAMPLE_RSASHA256, SAMPLE_LDNS_RSASHA512, SAMPLE_RSASHA1},
                  3, &want);
}

UNIT_TEST(test_each_sample)
{
    for (unsigned i = 0; i < SAMPLE_KEYS; i++) {
        enum sample_key_name name = i;
        struct signing_key *key = sample_key_new(name);
        uint32_t ttl_s = key->ttl_s ? key->ttl_s : 42;
        struct buf want;
        signing_key_free(key);
        buf_init(&want, DS_TEXT_MAX);
        append_sample(&want, name, ttl_s);
        ds_text_check(&name, 1, &want);
    }
}

UNIT_TEST(test_no_room)
{
    struct signing_key *key = sample_key_new(SAMPLE_ED25519);
    struct dnssec *dnssec = NULL;
    assert_int_equal(dnssec_new(&key, 1, 10, &dnssec, NULL), 0);
    CLEANUP_BUF struct buf out = buf_of(40);
    ds_text(dnssec, 42, &out);
    assert_true(out.failed);
    dnssec_unref(dnssec);
}
