/* Queries byte by byte: what is accepted, rejected and ignored. */
#include "skydns/wire/question.h"
#include "tests/support/unit_test.h"

/* Bytes and their count, without the literal's final NUL. */
#define BYTES(literal) (literal), sizeof(literal) - 1

#define HEADER(questions, others, additionals) \
    "\x12\x34\x01\x00\x00" questions "\x00" others "\x00\x00\x00" additionals
#define PLAIN                HEADER("\x01", "\x00", "\x00")
#define WITH_OPT             HEADER("\x01", "\x00", "\x01")
#define WEB                  "\x03web\x02ns\x00\x00\x01\x00\x01"
/* root, OPT, 1232, extended code, version, flags, no data */
#define OPT(version, flags)  "\x00\x00\x29\x04\xd0\x00" version flags "\x00\x00\x00"
/* The same with options, given their length. */
#define OPTION(len, options) "\x00\x00\x29\x04\xd0\x00\x00\x00\x00\x00" len options

struct parse_case {
    const char *name;
    const char *wire;
    size_t len;
    enum question_verdict want;
};

UNIT_TEST(verdicts)
{
    static const struct parse_case cases[] = {
        {"plain", BYTES(PLAIN WEB), QUESTION_OK},
        {"the root", BYTES(PLAIN "\x00\x00\x06\x00\x01"), QUESTION_OK},
        {"nothing", BYTES(""), QUESTION_DROP},
        {"half a header", BYTES("\x12\x34\x01\x00\x00\x01\x00\x00\x00\x00\x00"), QUESTION_DROP},
        {"header alone", BYTES(PLAIN), QUESTION_FORMERR},
        {"a response", BYTES("\x12\x34\x81\x80\x00\x01\x00\x00\x00\x00\x00\x00" WEB),
         QUESTION_DROP},
        {"a response without a question", BYTES("\x12\x34\x80\x00\x00\x00\x00\x00\x00\x00\x00\x00"),
         QUESTION_DROP},
        {"opcode STATUS", BYTES("\x12\x34\x10\x00\x00\x01\x00\x00\x00\x00\x00\x00" WEB),
         QUESTION_NOTIMP},
        {"opcode UPDATE", BYTES("\x12\x34\x28\x00\x00\x01\x00\x00\x00\x00\x00\x00" WEB),
         QUESTION_NOTIMP},
        {"no question", BYTES(HEADER("\x00", "\x00", "\x00")), QUESTION_FORMERR},
        {"two questions", BYTES(HEADER("\x02", "\x00", "\x00") WEB WEB), QUESTION_FORMERR},
        {"one byte short", BYTES(PLAIN "\x03web\x02ns\x00\x00\x01\x00"), QUESTION_FORMERR},
        {"one byte too many", BYTES(PLAIN WEB "\x00"), QUESTION_FORMERR},
        {"label past the end", BYTES(PLAIN "\x3fweb\x00\x00\x01\x00\x01"), QUESTION_FORMERR},
        {"pointer to itself", BYTES(PLAIN "\xc0\x0c\x00\x01\x00\x01"), QUESTION_FORMERR},
        {"pointer forward", BYTES(PLAIN "\xc0\x20\x00\x01\x00\x01"), QUESTION_FORMERR},
        {"pointer into the header", BYTES(PLAIN "\x03web\xc0\x08\x00\x01\x00\x01"),
         QUESTION_FORMERR},
        {"two pointers in a ring",
         BYTES(PLAIN "\x01"
                     "a"
                     "\xc0\x10\xc0\x0c\x00\x01\x00\x01"),
         QUESTION_FORMERR},
        {"label of an unknown kind", BYTES(PLAIN "\x43web\x00\x00\x01\x00\x01"), QUESTION_FORMERR},
        {"EDNS", BYTES(WITH_OPT WEB OPT("\x00", "\x80")), QUESTION_OK},
        {"EDNS version 1", BYTES(WITH_OPT WEB OPT("\x01", "\x00")), QUESTION_BADVERS},
        {"EDNS version 255", BYTES(WITH_OPT WEB OPT("\xff", "\x00")), QUESTION_BADVERS},
        {"EDNS with an option",
         BYTES(WITH_OPT WEB "\x00\x00\x29\x02\x00\x00\x00\x00\x00\x00\x06\x00\x0c\x00\x02hi"),
         QUESTION_OK},
        {"EDNS with half an option",
         BYTES(WITH_OPT WEB "\x00\x00\x29\x02\x00\x00\x00\x00\x00\x00\x05\x00\x0c\x00\x02h"),
         QUESTION_FORMERR},
        {"EDNS with an option's code alone",
         BYTES(WITH_OPT WEB "\x00\x00\x29\x02\x00\x00\x00\x00\x00\x00\x02\x00\x0a"),
         QUESTION_FORMERR},
        {"EDNS data past the end",
         BYTES(WITH_OPT WEB "\x00\x00\x29\x02\x00\x00\x00\x00\x00\x00\x01"), QUESTION_FORMERR},
        {"EDNS one byte short", BYTES(WITH_OPT WEB "\x00\x00\x29\x02\x00\x00\x00\x00\x00\x00"),
         QUESTION_FORMERR},
        {"EDNS counted but missing", BYTES(WITH_OPT WEB), QUESTION_FORMERR},
        {"EDNS not counted", BYTES(PLAIN WEB OPT("\x00", "\x00")), QUESTION_FORMERR},
        {"a client's network",
         BYTES(WITH_OPT WEB OPTION("\x0b", "\x00\x08\x00\x07\x00\x01\x18\x00\x0a\x01\x02")),
         QUESTION_OK},
        {"a client's network of 23 bits",
         BYTES(WITH_OPT WEB OPTION("\x0b", "\x00\x08\x00\x07\x00\x01\x17\x00\x0a\x01\x02")),
         QUESTION_OK},
        {"a client's network with bits of the host",
         BYTES(WITH_OPT WEB OPTION("\x0b", "\x00\x08\x00\x07\x00\x01\x17\x00\x0a\x01\x03")),
         QUESTION_FORMERR},
        {"a client's network with too few bytes",
         BYTES(WITH_OPT WEB OPTION("\x0a", "\x00\x08\x00\x06\x00\x01\x18\x00\x0a\x01")),
         QUESTION_FORMERR},
        {"a client's network with too many bytes",
         BYTES(WITH_OPT WEB OPTION("\x0b", "\x00\x08\x00\x07\x00\x01\x10\x00\x0a\x01\x00")),
         QUESTION_FORMERR},
        {"a client's network of 33 bits",
         BYTES(WITH_OPT WEB OPTION("\x0d", "\x00\x08\x00\x09\x00\x01\x21\x00\x0a\x01\x02\x03\x00")),
         QUESTION_FORMERR},
        {"a client's network with a scope",
         BYTES(WITH_OPT WEB OPTION("\x0b", "\x00\x08\x00\x07\x00\x01\x18\x18\x0a\x01\x02")),
         QUESTION_FORMERR},
        {"a client's network of another family",
         BYTES(WITH_OPT WEB OPTION("\x08", "\x00\x08\x00\x04\x00\x03\x00\x00")), QUESTION_FORMERR},
        {"a client's network cut short",
         BYTES(WITH_OPT WEB OPTION("\x07", "\x00\x08\x00\x03\x00\x01\x00")), QUESTION_FORMERR},
        {"a client's cookie",
         BYTES(WITH_OPT WEB OPTION("\x0c", "\x00\x0a\x00\x08"
                                           "12345678")),
         QUESTION_OK},
        {"with a server's",
         BYTES(WITH_OPT WEB OPTION("\x14", "\x00\x0a\x00\x10"
                                           "1234567812345678")),
         QUESTION_OK},
        {"a short cookie",
         BYTES(WITH_OPT WEB OPTION("\x0b", "\x00\x0a\x00\x07"
                                           "1234567")),
         QUESTION_FORMERR},
        {"a short server cookie",
         BYTES(WITH_OPT WEB OPTION("\x13", "\x00\x0a\x00\x0f"
                                           "123456781234567")),
         QUESTION_FORMERR},
        {"the longest cookie",
         BYTES(WITH_OPT WEB OPTION("\x2c", "\x00\x0a\x00\x28"
                                           "1234567812345678123456781234567812345678")),
         QUESTION_OK},
        {"a longer one",
         BYTES(WITH_OPT WEB OPTION("\x2d", "\x00\x0a\x00\x29"
                                           "12345678123456781234567812345678123456789")),
         QUESTION_FORMERR},
        {"an empty cookie", BYTES(WITH_OPT WEB OPTION("\x04", "\x00\x0a\x00\x00")),
         QUESTION_FORMERR},
        {"a second cookie, too short",
         BYTES(WITH_OPT WEB OPTION("\x11", "\x00\x0a\x00\x08"
                                           "12345678"
                                           "\x00\x0a\x00\x01"
                                           "1")),
         QUESTION_FORMERR},
        {"nothing but a cookie",
         BYTES(HEADER("\x00", "\x00", "\x01") OPTION("\x0c", "\x00\x0a\x00\x08"
                                                             "12345678")),
         QUESTION_NONE},
        {"nothing but a cookie, of version 1",
         BYTES(HEADER("\x00", "\x00", "\x01") "\x00\x00\x29\x04\xd0\x00\x01\x00\x00\x00\x0c"
                                              "\x00\x0a\x00\x08"
                                              "12345678"),
         QUESTION_BADVERS},
        {"no question, and no cookie", BYTES(HEADER("\x00", "\x00", "\x01") OPT("\x00", "\x00")),
         QUESTION_FORMERR},
        {"no network told", BYTES(WITH_OPT WEB OPTION("\x08", "\x00\x08\x00\x04\x00\x00\x00\x00")),
         QUESTION_OK},
        {"EDNS twice",
         BYTES(HEADER("\x01", "\x00", "\x02") WEB OPT("\x00", "\x00") OPT("\x00", "\x00")),
         QUESTION_FORMERR},
        {"EDNS not at the root",
         BYTES(WITH_OPT WEB "\x01"
                            "a\x00\x00\x29\x04\xd0\x00\x00\x00\x00\x00\x00"),
         QUESTION_FORMERR},
        {"EDNS in the answer section",
         BYTES(HEADER("\x01", "\x01", "\x00") WEB OPT("\x00", "\x00")), QUESTION_FORMERR},
        {"EDNS at a pointer to the root",
         BYTES(WITH_OPT WEB "\xc0\x13\x00\x29\x04\xd0\x00\x00\x00\x00\x00\x00"), QUESTION_FORMERR},
        {"a record whose name ends nowhere, beside EDNS: nobody follows its pointer",
         BYTES(HEADER("\x01", "\x00", "\x02") WEB
               "\xff\xff\x00\x01\x00\x01\x00\x00\x00\x00\x00\x00" OPT("\x00", "\x00")),
         QUESTION_OK},
        {"another record beside EDNS",
         BYTES(HEADER("\x01", "\x00", "\x02") WEB
               "\xc0\x0c\x00\x01\x00\x01\x00\x00\x00\x00\x00\x04\x0a\x00\x00\x01" OPT("\x00",
                                                                                      "\x00")),
         QUESTION_OK},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct question question;
        /* On the heap at its exact size, so that asan catches reads past the end. */
        CLEANUP_FREE uint8_t *wire = malloc(cases[i].len ? cases[i].len : 1);
        assert_non_null(wire);
        memcpy(wire, cases[i].wire, cases[i].len);
        enum question_verdict got = question_parse(wire, cases[i].len, &question);
        assert_that(got == cases[i].want, "%s: want %d, got %d", cases[i].name, (int)cases[i].want,
                    (int)got);
    }
}

UNIT_TEST(fields)
{
    static const char wire[] = WITH_OPT "\x03WeB\x02nS\x00\x00\x21\x00\x03" OPT("\x00", "\x80");
    struct question q;
    char text[DNAME_TEXT_MAX];
    assert_int_equal(question_parse((const uint8_t *)wire, sizeof(wire) - 1, &q), QUESTION_OK);
    assert_int_equal(q.id, 0x1234);
    assert_true(q.recursion_desired);
    assert_string_equal(dname_to_text(&q.name, text), "WeB.nS.");
    assert_int_equal(q.type, 33);
    assert_int_equal(q.qclass, 3);
    assert_true(q.has_edns);
    assert_true(q.dnssec_ok);
    assert_int_equal(q.udp_size, 1232);
    assert_false(q.wants_authentic);
    assert_false(q.checking_disabled);
    assert_false(q.is_from_stub);
    assert_int_equal(q.subnet_len, 0);
}

/* AD and CD, and the options that something depends on. */
UNIT_TEST(of_other_domains)
{
    static const char both[] = "\x12\x34\x01\x30\x00\x01\x00\x00\x00\x00\x00\x01" WEB OPTION(
        "\x10", "\x00\x08\x00\x07\x00\x01\x18\x00\x0a\x01\x02\xfd\xf3\x00\x01\x01");
    static const char not_stub[] = "\x12\x34\x01\x10\x00\x01\x00\x00\x00\x00\x00\x01" WEB OPTION(
        "\x05", "\xfd\xf3\x00\x01\x02");
    struct question q;
    assert_int_equal(question_parse((const uint8_t *)both, sizeof(both) - 1, &q), QUESTION_OK);
    assert_true(q.wants_authentic);
    assert_true(q.checking_disabled);
    assert_true(q.is_from_stub);
    assert_int_equal(q.subnet_len, 11);
    assert_memory_equal(q.subnet, "\x00\x08\x00\x07\x00\x01\x18\x00\x0a\x01\x02", 11);
    assert_int_equal(question_parse((const uint8_t *)not_stub, sizeof(not_stub) - 1, &q),
                     QUESTION_OK);
    assert_false(q.wants_authentic);
    assert_true(q.checking_disabled);
    assert_false(q.is_from_stub);
}

/* An error after the question does not lose the question. */
UNIT_TEST(question_survives)
{
    static const char behind[] = PLAIN WEB "\x00";
    static const char inside[] = PLAIN "\x03web\x02ns\x00\x00\x01\x00";
    struct question q;
    assert_int_equal(question_parse((const uint8_t *)behind, sizeof(behind) - 1, &q),
                     QUESTION_FORMERR);
    assert_int_equal(q.name.len, 8);
    assert_int_equal(question_parse((const uint8_t *)inside, sizeof(inside) - 1, &q),
                     QUESTION_FORMERR);
    assert_int_equal(q.name.len, 0);
}

/* A query whose name has `labels` labels of `len` bytes each, and one of `last` bytes if not 0. */
static enum question_verdict parse_long(unsigned labels, unsigned len, unsigned last,
                                        struct question *ret_question)
{
    static const char head[] = PLAIN;
    uint8_t wire[512];
    size_t at = sizeof(head) - 1;
    memcpy(wire, head, at);
    for (unsigned i = 0; i <= labels; i++) {
        unsigned n = i < labels ? len : last;
        if (n > 0) {
            wire[at++] = (uint8_t)n;
            memset(wire + at, 'a', n);
            at += n;
        }
    }
    memcpy(wire + at, "\x00\x00\x01\x00\x01", 5);
    return question_parse(wire, at + 5, ret_question);
}

UNIT_TEST(longest_names)
{
    struct question q;
    assert_int_equal(parse_long(127, 1, 0, &q), QUESTION_OK);
    assert_int_equal(q.name.len, 255);
    assert_int_equal(dname_label_count(&q.name), 127);
    assert_int_equal(parse_long(128, 1, 0, &q), QUESTION_FORMERR);
    assert_int_equal(parse_long(3, 63, 61, &q), QUESTION_OK);
    assert_int_equal(q.name.len, 255);
    assert_int_equal(parse_long(3, 63, 62, &q), QUESTION_FORMERR);
    assert_int_equal(parse_long(1, 64, 0, &q), QUESTION_FORMERR);
}

/* Writes a question: all but EDNS, and flags that no answer depends on. */
UNIT_TEST(written)
{
    static const char wire[] =
        "\x12\x34\x07\x7f\x00\x01\x00\x00\x00\x00\x00\x01" WEB OPT("\x00", "\x80");
    static const char want[] = "\x12\x34\x01\x30\x00\x01\x00\x00\x00\x00\x00\x00" WEB;
    uint8_t out[QUESTION_WIRE_MAX];
    struct question q;
    assert_int_equal(question_parse((const uint8_t *)wire, sizeof(wire) - 1, &q), QUESTION_OK);
    assert_int_equal(question_write(&q, out), sizeof(want) - 1);
    assert_memory_equal(out, want, sizeof(want) - 1);
}
