/* Keys of common/dns/record.h: names and keys, both ways, at the limits of DNS names. */
#include "common/dns/record.h"
#include "tests/support/unit_test.h"

static const struct slice prefix = {"/skydns/", 8};

UNIT_TEST(test_from_name)
{
    static const struct {
        const char *name, *want;
    } cases[] = {
        {"cluster.local.", "/skydns/local/cluster"},
        {"cluster.local", "/skydns/local/cluster"},
        {"web.default.svc.cluster.local.", "/skydns/local/cluster/svc/default/web"},
        {"_HTTP._Tcp.Web", "/skydns/web/_tcp/_http"},
        {"local", "/skydns/local"},
        {".", "/skydns/"},
        {"", "/skydns/"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        CLEANUP_BUF struct buf key = buf_of(1024);
        record_key_from_name(prefix, slice_str(cases[i].name), &key);
        assert_string_equal(buf_cstr(&key), cases[i].want);
    }
}

UNIT_TEST(test_to_name)
{
    static const struct {
        const char *key;
        const char *want; /* NULL: refused */
    } cases[] = {
        {"/skydns/local/cluster/svc/default/web", "web.default.svc.cluster.local."},
        {"/skydns/local", "local."},
        {"/skydns/local/Cluster", "Cluster.local."},
        {"/skydns/local/a b", "a\\032b.local."},
        {"/skydns/local/a.b", "a\\.b.local."},
        {"/skydns/", NULL},
        {"/skydns", NULL},
        {"/skydnsx/local", NULL},
        {"/other/local", NULL},
        {"", NULL},
        {"/skydns//local", NULL},
        {"/skydns/local/", NULL},
        {"/skydns/local//cluster", NULL},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct dname name = {.len = 99};
        char text[DNAME_TEXT_MAX];
        bool ok = record_key_to_name(prefix, slice_str(cases[i].key), &name);
        assert_that(ok == (cases[i].want != NULL), "%s: %s", cases[i].key,
                    ok ? "accepted" : "refused");
        if (ok) {
            assert_string_equal(dname_to_text(&name, text), cases[i].want);
        } else {
            assert_int_equal(name.len, 99); /* untouched */
        }
    }
}

/* Whether a key of `count` labels of `length` bytes below the prefix is a name. */
static bool record_key_is_name(unsigned count, unsigned length, unsigned last_length)
{
    struct dname name, again;
    CLEANUP_BUF struct buf key = buf_of(4096);
    buf_append_str(&key, "/skydns");
    for (unsigned i = 0; i < count; i++) {
        buf_append_char(&key, '/');
        for (unsigned j = 0; j < (i + 1 < count ? length : last_length); j++) {
            buf_append_char(&key, 'a');
        }
    }
    bool ok = record_key_to_name(prefix, buf_slice(&key), &name);
    if (ok) {
        char text[DNAME_TEXT_MAX];
        assert_true(dname_from_text(slice_str(dname_to_text(&name, text)), &again));
        assert_true(dname_equal(&name, &again));
        assert_int_equal(dname_label_count(&name), count);
    }
    return ok;
}

UNIT_TEST(test_limits)
{
    assert_true(record_key_is_name(1, 0, 63));
    assert_false(record_key_is_name(1, 0, 64));
    assert_true(record_key_is_name(4, 63, 61)); /* 3 * 64 + 62 + 1 = 255 */
    assert_false(record_key_is_name(4, 63, 62));
    assert_true(record_key_is_name(127, 1, 1));
    assert_false(record_key_is_name(128, 1, 1));
}
