#include "common/dns/dname.h"

#include "tests/support/from_text.h"
#include "tests/support/unit_test.h"

/* count labels of len bytes each, dots between. */
static const char *dname_repeat(unsigned count, unsigned len)
{
    static char text[2048];
    size_t n = 0;
    for (unsigned i = 0; i < count; i++) {
        memset(text + n, 'a', len);
        n += len;
        text[n++] = '.';
    }
    text[n] = '\0';
    return text;
}

UNIT_TEST(test_text)
{
    static const struct {
        const char *in, *wire;
        size_t len;
        const char *text; /* NULL: as given */
    } cases[] = {
        {".", "\0", 1, NULL},
        {"a.", "\1a\0", 3, NULL},
        {"a", "\1a\0", 3, "a."},
        {"Web.Default.svc.", "\3Web\7Default\3svc\0", 17, NULL},
        {"_http._tcp.web.", "\5_http\4_tcp\3web\0", 16, NULL},
        {"*.any.", "\1*\3any\0", 7, NULL},
        {"a\\.b.c.", "\3a.b\1c\0", 7, NULL},
        {"a\\\\b.", "\3a\\b\0", 5, NULL},
        {"\\097.", "\1a\0", 3, "a."},
        {"\\000\\032\\255\\127.", "\4\0 \xff\x7f\0", 6, NULL},
        {"\\\"\\(\\)\\;\\@\\$.", "\6\"();@$\0", 8, NULL},
        {"a b.", "\3a b\0", 5, "a\\032b."},
        {"\xc3\xa4.", "\2\xc3\xa4\0", 4, "\\195\\164."},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct dname name = dname_from(cases[i].in);
        char text[DNAME_TEXT_MAX];
        assert_that(name.len == cases[i].len && memcmp(name.wire, cases[i].wire, name.len) == 0,
                    "`%s`: other wire form of %u bytes", cases[i].in, name.len);
        assert_string_equal(dname_to_text(&name, text),
                            cases[i].text ? cases[i].text : cases[i].in);
    }
}

UNIT_TEST(test_text_refused)
{
    static const char *const cases[] = {
        "",    "..",   ".a",    "a..",   "a..b",  "\\",    "a\\",
        "\\1", "\\12", "\\256", "\\999", "\\1x2", "\\12x",
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct dname name = {.len = 77};
        assert_that(!dname_from_text(slice_str(cases[i]), &name) && name.len == 77, "`%s` accepted",
                    cases[i]);
    }
    struct dname name;
    assert_false(dname_from_text(slice_of("\\12", 2), &name)); /* the 2 is not part of it */
}

UNIT_TEST(test_text_lengths)
{
    static const struct {
        unsigned count, len, last; /* count labels of len bytes and one of `last` */
        unsigned want;             /* wire bytes; 0: refused */
    } cases[] = {
        {0, 0, 63, 65},   {0, 0, 64, 0},    {3, 63, 61, 255}, {3, 63, 62, 0},
        {3, 63, 63, 0},   {126, 1, 1, 255}, {126, 1, 2, 0},   {127, 1, 1, 0},
        {125, 1, 3, 255}, {31, 7, 5, 255},  {31, 7, 6, 0},    {200, 5, 5, 0},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        char text[2048];
        struct dname name = {0};
        int n = snprintf(text, sizeof(text), "%s", dname_repeat(cases[i].count, cases[i].len));
        memset(text + n, 'b', cases[i].last);
        text[n + (int)cases[i].last] = '\0';
        bool ok = dname_from_text(slice_str(text), &name);
        assert_that(ok == (cases[i].want != 0) && name.len == cases[i].want,
                    "%u of %u and %u: %d, %u bytes", cases[i].count, cases[i].len, cases[i].last,
                    ok, name.len);
    }
}

UNIT_TEST(test_worst_text_fits)
{
    struct dname name = {0};
    char text[DNAME_TEXT_MAX];
    memset(name.wire, 0xff, sizeof(name.wire));
    name.wire[0] = name.wire[64] = name.wire[128] = 63;
    name.wire[192] = 61;
    name.wire[254] = 0;
    name.len = 255;
    assert_int_equal(strlen(dname_to_text(&name, text)), 250 * 4 + 4);
    struct dname back = dname_from(text);
    assert_int_equal(back.len, 255);
    assert_memory_equal(back.wire, name.wire, 255);
}

enum { HEADER_SIZE = 12 };

UNIT_TEST(test_read)
{
    static const struct {
        const char *name;
        const char *data; /* after the header's 12 bytes, like the positions */
        size_t len, pos;
        const char *want; /* NULL: refused */
        size_t end;
    } cases[] = {
        {"root", "\0", 1, 0, ".", 1},
        {"plain", "\3www\2ab\0rest", 12, 0, "www.ab.", 8},
        {"from the middle", "\3www\2ab\0", 8, 4, "ab.", 8},
        {"pointer", "\2ab\0\3www\xc0\x0c", 10, 4, "www.ab.", 10},
        {"pointer alone", "\2ab\0\xc0\x0c", 6, 4, "ab.", 6},
        {"pointer to a pointer", "\1a\0\1b\xc0\x0c\1c\xc0\x0f", 11, 7, "c.b.a.", 11},
        {"pointer to the root", "\0\1a\xc0\x0c", 5, 1, "a.", 5},
        {"nothing there", "", 0, 0, NULL, 0},
        {"position behind the end", "\0", 1, 1, NULL, 0},
        {"label cut short", "\3ww", 3, 0, NULL, 0},
        {"no root", "\3www", 4, 0, NULL, 0},
        {"pointer cut short", "\0\1a\xc0", 4, 1, NULL, 0},
        {"pointer to itself", "\xc0\x0c", 2, 0, NULL, 0},
        {"pointer to its own name", "\1a\xc0\x0c", 4, 0, NULL, 0},
        {"pointer forward", "\xc0\x0e\0", 3, 0, NULL, 0},
        {"pointer behind the end", "\0\xff\xff", 3, 1, NULL, 0},
        {"two pointers in a circle", "\xc0\x0e\xc0\x0c", 4, 2, NULL, 0},
        {"pointer into the header", "\0\1a\xc0\x0b", 5, 1, NULL, 0},
        {"what is pointed to ends too late", "\2ab\1a\xc0\x0c\0", 8, 3, NULL, 0},
        {"what is pointed to ends in the pointer", "\3ab\1a\xc0\x0c\0", 8, 3, NULL, 0},
        {"label type 01", "\x41www\0", 5, 0, NULL, 0},
        {"label type 10", "\x81www\0", 5, 0, NULL, 0},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        uint8_t message[HEADER_SIZE + 64] = {0};
        memcpy(message + HEADER_SIZE, cases[i].data, cases[i].len);
        struct reader r = reader_of(message, HEADER_SIZE + cases[i].len);
        struct dname name = {.len = 77};
        char text[DNAME_TEXT_MAX];
        reader_seek(&r, HEADER_SIZE + cases[i].pos);
        bool ok = dname_read(&r, &name);
        assert_that(ok == (cases[i].want != NULL) && r.failed != ok &&
                        (!ok || (strcmp(dname_to_text(&name, text), cases[i].want) == 0 &&
                                 r.pos == HEADER_SIZE + cases[i].end)),
                    "%s: %d, at %zu", cases[i].name, ok, r.pos - HEADER_SIZE);
        assert_true(ok || name.len == 77);
    }
}

/* The longest name has a pointer before each of its 127 labels and before the root; pointers to
 * pointers beyond that only cost time. */
UNIT_TEST(test_read_pointers)
{
    enum { POINTERS_MAX = 2 * DNAME_LABELS_MAX + 1 };
    for (unsigned pointers = 1; pointers <= POINTERS_MAX + 2; pointers++) {
        uint8_t data[1024] = {0};
        struct writer w = writer_of(data, sizeof(data));
        (void)writer_take(&w, HEADER_SIZE);
        writer_u8(&w, 0);
        size_t before = HEADER_SIZE;
        for (unsigned i = 0; i < pointers; i++) {
            size_t at = w.pos;
            writer_u16(&w, (uint16_t)(0xc000 | before));
            before = at;
        }
        struct reader r = reader_of(data, w.pos);
        struct dname name;
        reader_seek(&r, before);
        assert_int_equal(dname_read(&r, &name), pointers <= POINTERS_MAX);
    }
    /* With every label. */
    uint8_t data[1024] = {0};
    struct writer w = writer_of(data, sizeof(data));
    (void)writer_take(&w, HEADER_SIZE);
    writer_u8(&w, 0);
    size_t before = HEADER_SIZE;
    for (unsigned i = 0; i < DNAME_LABELS_MAX; i++) {
        size_t at = w.pos;
        writer_u16(&w, (uint16_t)('\1' << 8 | 'a'));
        writer_u16(&w, (uint16_t)(0xc000 | before));
        before = at;
    }
    struct reader r = reader_of(data, w.pos + 2);
    struct dname name;
    reader_seek(&r, w.pos);
    writer_u16(&w, (uint16_t)(0xc000 | before));
    assert_true(dname_read(&r, &name));
    assert_int_equal(name.len, DNAME_MAX);
}

/* A name may be up to 255 bytes long, however it is composed; one more byte is an error. */
UNIT_TEST(test_read_lengths)
{
    for (unsigned last = 58; last <= 63; last++) {
        uint8_t data[512] = {0};
        struct writer w = writer_of(data, sizeof(data));
        (void)writer_take(&w, HEADER_SIZE);
        for (int i = 0; i < 3; i++) {
            writer_u8(&w, 63);
            (void)writer_take(&w, 63);
        }
        writer_u8(&w, 0); /* 193 bytes */
        writer_u8(&w, (uint8_t)last);
        (void)writer_take(&w, last);
        writer_u16(&w, 0xc000 | HEADER_SIZE);
        struct reader r = reader_of(data, w.pos);
        struct dname name;
        reader_seek(&r, HEADER_SIZE + 193);
        assert_int_equal(dname_read(&r, &name), last <= 61);
        if (last <= 61) {
            assert_int_equal(name.len, 194 + last);
            assert_int_equal(r.pos, w.pos);
        }
    }
}

UNIT_TEST(test_labels)
{
    const struct dname name = dname_from("web.default.svc."), root = dname_from(".");
    struct dname_labels labels;
    dname_labels(&name, &labels);
    assert_int_equal(labels.count, 3);
    assert_int_equal(dname_label_count(&name), 3);
    assert_true(slice_equal(dname_label(&name, labels.offsets[0]), slice_str("web")));
    assert_true(slice_equal(dname_label(&name, labels.offsets[1]), slice_str("default")));
    assert_true(slice_equal(dname_label(&name, labels.offsets[2]), slice_str("svc")));
    dname_labels(&root, &labels);
    assert_int_equal(labels.count, 0);
    assert_int_equal(dname_label_count(&root), 0);
    const struct dname longest = dname_from(dname_repeat(127, 1));
    dname_labels(&longest, &labels);
    assert_int_equal(labels.count, DNAME_LABELS_MAX);
    assert_int_equal(labels.offsets[126], 252);
}

UNIT_TEST(test_compare)
{
    static const struct {
        const char *a, *b;
        bool equal, within; /* a is b, a is b or below */
    } cases[] = {
        {"a.b.", "a.b.", true, true},
        {"A.b.", "a.B.", true, true},
        {"a.b.", "b.", false, true},
        {"a.b.", ".", false, true},
        {".", ".", true, true},
        {".", "a.", false, false},
        {"b.", "a.b.", false, false},
        {"xb.", "b.", false, false},
        {"web.CLUSTER.local.", "cluster.LOCAL.", false, true},
        {"webcluster.local.", "cluster.local.", false, false},
        {"[.", "{.", false, false},       /* 0x5b and 0x7b are not letters */
        {"a\\001b.", "b.", false, false}, /* contains the bytes 01 'b' 00, but not as a label */
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct dname a = dname_from(cases[i].a), b = dname_from(cases[i].b);
        assert_that(dname_equal(&a, &b) == cases[i].equal &&
                        dname_is_within(&a, &b) == cases[i].within,
                    "%s %s", cases[i].a, cases[i].b);
    }
}

UNIT_TEST(test_lower)
{
    struct dname name = dname_from("AZ[@`az.\\193\\218.");
    const struct dname want = dname_from("az[@`az.\\193\\218.");
    dname_lower(&name);
    assert_int_equal(name.len, want.len);
    assert_memory_equal(name.wire, want.wire, want.len);
    name = dname_from(dname_repeat(3, 63)); /* length bytes of 63 are not letters */
    dname_lower(&name);
    assert_int_equal(dname_label_count(&name), 3);
}

/* Names of every length up to 24 bytes, each byte in each place: same as ascii_lower byte by
 * byte. */
UNIT_TEST(test_lower_every_byte)
{
    for (uint8_t len = 1; len <= 24; len++) {
        for (uint8_t at = 0; at < len; at++) {
            for (unsigned byte = 0; byte < 256; byte++) {
                struct dname name = {.len = len}, folded, other;
                memset(name.wire, 'Q', len);
                name.wire[at] = (uint8_t)byte;
                folded = name;
                dname_lower(&folded);
                for (uint8_t i = 0; i < len; i++) {
                    assert_int_equal(folded.wire[i], ascii_lower(name.wire[i]));
                }
                assert_true(dname_equal(&name, &folded));
                other = name;
                other.wire[at] ^= 1;
                assert_int_equal(dname_equal(&name, &other),
                                 ascii_lower(other.wire[at]) == ascii_lower((uint8_t)byte));
                other.wire[at] = (uint8_t)byte ^ 0x20;
                assert_int_equal(dname_equal(&name, &other),
                                 ascii_lower(other.wire[at]) == ascii_lower((uint8_t)byte));
            }
        }
    }
}

UNIT_TEST(test_prepend_and_strip)
{
    struct dname name = dname_from(".");
    char text[DNAME_TEXT_MAX];
    assert_true(dname_prepend(&name, slice_str("local")));
    assert_true(dname_prepend(&name, slice_str("a.b")));
    assert_string_equal(dname_to_text(&name, text), "a\\.b.local.");
    assert_false(dname_prepend(&name, slice_str("")));
    assert_false(dname_prepend(&name, slice_of(dname_repeat(1, 64), 64)));
    assert_true(dname_prepend(&name, slice_of(dname_repeat(1, 63), 63)));
    assert_string_equal(dname_to_text(&name, text) + 63, ".a\\.b.local.");
    dname_strip(&name, 0);
    dname_strip(&name, 2);
    assert_string_equal(dname_to_text(&name, text), "local.");
    dname_strip(&name, 9);
    assert_string_equal(dname_to_text(&name, text), ".");

    name = dname_from(dname_repeat(126, 1)); /* 253 bytes */
    struct dname before = name;
    assert_false(dname_prepend(&name, slice_str("ab")));
    assert_memory_equal(&name, &before, sizeof(name));
    assert_true(dname_prepend(&name, slice_str("b")));
    assert_int_equal(name.len, DNAME_MAX);
    assert_false(dname_prepend(&name, slice_str("b")));
}

UNIT_TEST(test_is_host_label)
{
    static const struct {
        const char *text;
        bool want;
    } cases[] = {
        {"a", true},
        {"A-9", true},
        {"9", true},
        {"", false},
        {"-a", false},
        {"a-", false},
        {"a.b", false},
        {"a_b", false},
        {"a b", false},
        {"a/b", false},
        {"\xc3\xa9", false},
        {"a23456789012345678901234567890123456789012345678901234567890123", true},
        {"a234567890123456789012345678901234567890123456789012345678901234", false},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        assert_that(dname_is_host_label(slice_str(cases[i].text)) == cases[i].want, "%s: want %s",
                    cases[i].text, cases[i].want ? "a label" : "no label");
    }
}

UNIT_TEST(test_hosts)
{
    static const struct {
        const char *text;
        bool want;
    } cases[] = {
        {"a", true},   {"a.b-c.9", true}, {"A.b", true},   {"", false},     {".", false},
        {"a.", false}, {".a", false},     {"a..b", false}, {"a.-b", false}, {"a_b.c", false},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        if (dname_is_host(slice_str(cases[i].text)) != cases[i].want) {
            fail_msg("%s: want %s", cases[i].text, cases[i].want ? "a host" : "no host");
        }
    }
}

/* RFC 6891 5 and what else is not RFC 1035's. */
UNIT_TEST(test_labels_of_another_kind_are_not_skipped)
{
    uint8_t name[64 + 2] = {0};
    for (unsigned first = 1; first < 256; first++) {
        struct reader r = reader_of(name, sizeof(name));
        name[0] = (uint8_t)first;
        bool is_good = first <= 63 || first >= 0xc0;
        assert_int_equal(dname_skip(&r), is_good);
        assert_int_equal(r.failed, !is_good);
        assert_true(!is_good || r.pos == (first <= 63 ? first + 2 : 2));
    }
}
