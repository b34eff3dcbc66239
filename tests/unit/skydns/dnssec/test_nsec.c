#include "skydns/dnssec/nsec.h"

#include "common/base/slice.h"
#include "tests/support/from_text.h"
#include "tests/support/unit_test.h"

/* The highest byte, so many times. */
#define F1  "\\255"
#define F2  F1 F1
#define F4  F2 F2
#define F8  F4 F4
#define F16 F8 F8
#define F32 F16 F16
#define F60 F32 F16 F8 F4
#define F61 F60 F1
#define F62 F60 F2
#define F63 F62 F1

#define A8   "aaaaaaaa"
#define A32  A8 A8 A8 A8
#define A61  A32 A8 A8 A8 "aaaaa"
#define A62  A61 "a"
#define A63  A62 "a"
#define LONG A63 "." A63 "." A63 "." /* 193 bytes: 62 are left, 61 for a label */

static void nsec_assert_name(const char *what, const struct dname *got, const char *want)
{
    char text[DNAME_TEXT_MAX];
    struct dname wanted = dname_from(want);
    assert_that(got->len == wanted.len && memcmp(got->wire, wanted.wire, got->len) == 0,
                "%s: `%s` instead of `%s`", what, dname_to_text(got, text), want);
}

UNIT_TEST(test_before)
{
    static const struct {
        const char *name;
        enum nsec_before kind;
        const char *before;
    } cases[] = {
        {"web.c.l.", NSEC_BEFORE_SIBLING, "wea" F60 ".c.l."},
        {"b.", NSEC_BEFORE_SIBLING, "a" F62 "."},
        {"*.c.l.", NSEC_BEFORE_SIBLING, "\\)" F62 ".c.l."},
        {"_.c.", NSEC_BEFORE_SIBLING, "^" F62 ".c."},
        {"[.c.", NSEC_BEFORE_SIBLING, "\\@" F62 ".c."}, /* no capitals */
        {"x[.c.", NSEC_BEFORE_SIBLING, "x\\@" F61 ".c."},
        {"\\\\.c.", NSEC_BEFORE_SIBLING, "[" F62 ".c."},
        {"\\@.c.", NSEC_BEFORE_SIBLING, "?" F62 ".c."},
        {"\\001.c.", NSEC_BEFORE_SIBLING, "\\000" F62 ".c."},
        {F1 ".c.", NSEC_BEFORE_SIBLING, "\\254" F62 ".c."},
        {F63 ".c.", NSEC_BEFORE_SIBLING, F62 "\\254.c."},
        {A62 "b.c.", NSEC_BEFORE_SIBLING, A63 ".c."},
        /* A name that ends in \000 follows directly the names below its sibling. */
        {"web\\000.c.", NSEC_BEFORE_BELOW, F63 ".web.c."},
        {"\\000\\000.c.", NSEC_BEFORE_BELOW, F63 ".\\000.c."},
        {"\\000.c.", NSEC_BEFORE_PARENT, "c."},
        {"\\000.", NSEC_BEFORE_PARENT, "."},
        /* Names of at most 255 bytes: 61 for the fourth label. */
        {"b." LONG, NSEC_BEFORE_SIBLING, "a" F60 "." LONG},
        {A61 "." LONG, NSEC_BEFORE_SIBLING, A32 A8 A8 A8 "aaaa`." LONG},
        {A32 "\\000." LONG, NSEC_BEFORE_BELOW, F16 F8 F4 "." A32 "." LONG},
        {A32 A8 A8 A8 "aa\\000." LONG, NSEC_BEFORE_BELOW, F2 "." A32 A8 A8 A8 "aa." LONG},
        {A32 A8 A8 A8 "aaa\\000." LONG, NSEC_BEFORE_BELOW, F1 "." A32 A8 A8 A8 "aaa." LONG},
        {A32 A8 A8 A8 "aaaa\\000." LONG, NSEC_BEFORE_SIBLING, A32 A8 A8 A8 "aaaa." LONG},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct dname name = dname_from(cases[i].name), before;
        enum nsec_before kind = nsec_before(&name, &before);
        nsec_assert_name(cases[i].name, &before, cases[i].before);
        assert_int_equal(kind, cases[i].kind);
        assert_true(nsec_compare(&before, &name) < 0);
    }
}

UNIT_TEST(test_last_below)
{
    static const struct {
        const char *name, *last; /* NULL: there is no room */
    } cases[] = {
        {".", F63 "."},
        {"c.", F63 ".c."},
        {F63 ".c.", F63 "." F63 ".c."},
        {LONG, F61 "." LONG},
        {A32 A8 A8 A8 "aaa." LONG, F1 "." A32 A8 A8 A8 "aaa." LONG},
        {A32 A8 A8 A8 "aaaa." LONG, NULL},
        {A61 "." LONG, NULL},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct dname name = dname_from(cases[i].name), last = {.len = 77};
        assert_int_equal(nsec_last_below(&name, &last), cases[i].last != NULL);
        if (cases[i].last) {
            nsec_assert_name(cases[i].name, &last, cases[i].last);
            assert_true(nsec_compare(&name, &last) < 0);
        } else {
            assert_int_equal(last.len, 77);
        }
    }
}

UNIT_TEST(test_after)
{
    static const struct {
        const char *name, *zone, *after, *next;
    } cases[] = {
        {"web.c.", "c.", "web\\000.c.", "\\000.web.c."},
        {"\\000.c.", "c.", "\\000\\000.c.", "\\000.\\000.c."},
        {F62 ".c.", "c.", F62 "\\000.c.", "\\000." F62 ".c."},
        /* Labels of 63 bytes. */
        {A63 ".c.", "c.", A62 "b.c.", "\\000." A63 ".c."},
        {A62 "\\@.c.", "c.", A62 "[.c.", "\\000." A62 "\\@.c."}, /* no capitals */
        {A61 "b" F1 ".c.", "c.", A61 "c.c.", "\\000." A61 "b" F1 ".c."},
        {"a" F62 ".c.", "c.", "b.c.", "\\000.a" F62 ".c."},
        {F63 ".b.c.", "c.", "b\\000.c.", "\\000." F63 ".b.c."},
        {F63 "." A63 ".c.", "c.", A62 "b.c.", "\\000." F63 "." A63 ".c."},
        /* Nothing follows in the zone. */
        {F63 ".c.", "c.", "c.", "\\000." F63 ".c."},
        {F63 "." F63 ".c.", "c.", "c.", "\\000." F63 "." F63 ".c."},
        {"c.", "c.", "c.", "\\000.c."},
        {F63 ".", ".", ".", "\\000." F63 "."},
        /* Names of 252 to 255 bytes. */
        {A32 A8 A8 A8 "aa." LONG, A63 ".", A32 A8 A8 A8 "aa\\000." LONG,
         "\\000." A32 A8 A8 A8 "aa." LONG},
        {A32 A8 A8 A8 "aaa." LONG, A63 ".", A32 A8 A8 A8 "aaa\\000." LONG,
         "\\000." A32 A8 A8 A8 "aaa." LONG},
        {A32 A8 A8 A8 "aaaa." LONG, A63 ".", A32 A8 A8 A8 "aaaa\\000." LONG,
         A32 A8 A8 A8 "aaaa\\000." LONG},
        {A61 "." LONG, A63 ".", A32 A8 A8 A8 "aaaab." LONG, A32 A8 A8 A8 "aaaab." LONG},
        {F61 "." LONG, A63 ".", A62 "b." A63 "." A63 ".", A62 "b." A63 "." A63 "."},
        {F61 "." LONG, LONG, LONG, LONG},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct dname name = dname_from(cases[i].name), zone = dname_from(cases[i].zone), after,
                     next;
        nsec_after(&name, &zone, &after);
        nsec_assert_name(cases[i].name, &after, cases[i].after);
        nsec_next(&name, &zone, &next);
        nsec_assert_name(cases[i].name, &next, cases[i].next);
    }
}

/* ret may be the name itself. */
UNIT_TEST(test_in_place)
{
    struct dname name = dname_from("web.c."), zone = dname_from("c.");
    nsec_after(&name, &zone, &name);
    nsec_assert_name("after", &name, "web\\000.c.");
    assert_int_equal(nsec_before(&name, &name), NSEC_BEFORE_BELOW);
    nsec_assert_name("before", &name, F63 ".web.c.");
    assert_true(nsec_last_below(&name, &name));
    nsec_assert_name("below", &name, F63 "." F63 ".web.c.");
    nsec_next(&name, &zone, &name);
    nsec_assert_name("next", &name, "\\000." F63 "." F63 ".web.c.");
    nsec_after(&zone, &zone, &zone);
    nsec_assert_name("zone", &zone, "c.");
}

UNIT_TEST(test_join)
{
    static const struct {
        const char *a[2], *b[2], *joined[2]; /* NULL: they stay apart */
    } cases[] = {
        {{"a.c.", "d.c."}, {"d.c.", "f.c."}, {NULL}},
        {{"d.c.", "f.c."}, {"a.c.", "d.c."}, {NULL}},
        {{"a.c.", "d.c."}, {"b.c.", "f.c."}, {"a.c.", "f.c."}},
        {{"b.c.", "f.c."}, {"a.c.", "d.c."}, {"a.c.", "f.c."}},
        {{"a.c.", "f.c."}, {"b.c.", "d.c."}, {"a.c.", "f.c."}},
        {{"b.c.", "d.c."}, {"b.c.", "d.c."}, {"b.c.", "d.c."}},
        /* Gaps to the end of the zone. */
        {{"d.c.", "c."}, {"a.c.", "d.c."}, {NULL}},
        {{"b.c.", "c."}, {"a.c.", "d.c."}, {"a.c.", "c."}},
        {{"a.c.", "d.c."}, {"b.c.", "c."}, {"a.c.", "c."}},
        {{"b.c.", "c."}, {"a.c.", "c."}, {"a.c.", "c."}},
    };
    struct dname zone = dname_from("c.");
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        const char *const *want = cases[i].joined[0] ? cases[i].joined : cases[i].a;
        struct nsec_gap a = {dname_from(cases[i].a[0]), dname_from(cases[i].a[1])};
        struct nsec_gap b = {dname_from(cases[i].b[0]), dname_from(cases[i].b[1])};
        assert_int_equal(nsec_join(&a, &b, &zone), cases[i].joined[0] != NULL);
        nsec_assert_name("owner", &a.owner, want[0]);
        nsec_assert_name("next", &a.next, want[1]);
    }
}

/* RFC 4034 6.1 has these, with capitals. */
UNIT_TEST(test_compare)
{
    static const char *const in_order[] = {
        ".",
        "example.",
        "a.example.",
        "yljkjljk.a.example.",
        "z.a.example.",
        "zabc.a.example.",
        "a\\000.example.",
        "aa.example.",
        "z.example.",
        "\\001.z.example.",
        "*.z.example.",
        "\\200.z.example.",
        "z\\000.example.",
        "example\\000.",
        "f.",
    };
    for (size_t i = 0; i < ARRAY_LEN(in_order); i++) {
        for (size_t j = 0; j < ARRAY_LEN(in_order); j++) {
            struct dname a = dname_from(in_order[i]), b = dname_from(in_order[j]);
            int order = nsec_compare(&a, &b);
            assert_that((order < 0) == (i < j) && (order > 0) == (i > j), "`%s` and `%s`: %d",
                        in_order[i], in_order[j], order);
        }
    }
}

UNIT_TEST(test_bitmap)
{
    static const struct {
        uint16_t types[5];
        size_t count, len;
        const char *bitmap;
    } cases[] = {
        {{0}, 0, 0, ""},
        {{1}, 1, 3, "\0\1\x40"},
        {{47, 46}, 2, 8, "\0\6\0\0\0\0\0\3"},
        {{1, 15, 46, 47, 1}, 5, 8, "\0\6\x40\1\0\0\0\3"}, /* as RFC 4034 4.3 begins */
        {{255, 0},
         2,
         34,
         "\0\x20\x80\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\1"},
        {{257, 1}, 2, 6, "\0\1\x40\1\1\x40"},
        {{1234}, 1, 29, "\4\x1b\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x20"},
        {{2047, 2048, 65535},
         3,
         71,
         "\7\x20\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\1"
         "\10\1\x80"
         "\xff\x20\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\1"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        uint8_t out[NSEC_BITMAP_MAX];
        assert_int_equal(nsec_bitmap(cases[i].types, cases[i].count, out), cases[i].len);
        assert_memory_equal(out, cases[i].bitmap, cases[i].len);
    }
}

UNIT_TEST(test_full_bitmap)
{
    uint16_t types[NSEC_TYPES_MAX]; /* the last of each window */
    for (size_t i = 0; i < ARRAY_LEN(types); i++) {
        types[i] = (uint16_t)((ARRAY_LEN(types) - i) * 256 - 1);
    }
    CLEANUP_FREE uint8_t *out = malloc(NSEC_BITMAP_MAX);
    assert_non_null(out);
    assert_int_equal(nsec_bitmap(types, ARRAY_LEN(types), out), NSEC_BITMAP_MAX);
    assert_int_equal(out[NSEC_BITMAP_MAX - 34], NSEC_TYPES_MAX - 1);
    assert_int_equal(out[NSEC_BITMAP_MAX - 1], 1);
}
