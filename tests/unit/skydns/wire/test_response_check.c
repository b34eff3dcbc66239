/* Sound responses: records as counted, of the question's class, and rdata by type. */
#include "common/base/cursor.h"
#include "skydns/wire/response_check.h"
#include "tests/support/unit_test.h"

enum { IN = 1, CH = 3, ANY = 255 };

struct record {
    uint16_t type, rr_class;
    const char *data;
    size_t len;
};

/* A response to `w. A` with this record as answer, and as many as `count` says. */
static bool is_sound(uint16_t qclass, const struct record *record, uint16_t count)
{
    uint8_t message[512];
    struct writer w = writer_of(message, sizeof(message));
    struct parsed_response response;
    const uint16_t head[] = {1, 0x8180, 1, count, 0, 0};
    for (size_t i = 0; i < sizeof(head) / sizeof(head[0]); i++) {
        writer_u16(&w, head[i]);
    }
    writer_bytes(&w, (const uint8_t *)"\1w", 3);
    writer_u16(&w, 1);
    writer_u16(&w, qclass);
    writer_u16(&w, 0xc00c);
    writer_u16(&w, record->type);
    writer_u16(&w, record->rr_class);
    writer_u32(&w, 60);
    writer_u16(&w, (uint16_t)record->len);
    writer_bytes(&w, (const uint8_t *)record->data, record->len);
    response_parse(message, w.pos, &response);
    const bool sound = response_is_sound(&response);
    response_parse_fini(&response);
    return sound;
}

#define DATA(text) (text), sizeof(text) - 1

UNIT_TEST(test_rdata)
{
    static const struct {
        uint16_t type;
        bool is_sound;
        const char *data;
        size_t len;
    } cases[] = {
        {1, true, DATA("\300\0\2\1")},
        {1, false, DATA("\300\0\2\1\1")},
        {1, false, DATA("\300\0\2")},
        {1, false, DATA("")},
        {28, true, DATA("0123456789abcdef")},
        {28, false, DATA("\300\0\2\1")},
        {5, true, DATA("\300\014")},
        {5, false, DATA("\300\014\0")}, /* more behind the name */
        {5, false, DATA("\300\077")},   /* leads forward */
        {5, false, DATA("\4cut")},
        {5, false, DATA("\100label")}, /* no kind of label */
        {15, true, DATA("\0\12\300\014")},
        {15, false, DATA("\0\12")},
        {6, true,
         DATA("\0\0"
              "01234567890123456789")},
        {6, false,
         DATA("\0\0"
              "0123456789012345678")},
        {6, false,
         DATA("\0\0"
              "012345678901234567890")},
        {33, true, DATA("\0\1\0\1\0\120\0")},
        {33, false, DATA("\0\1\0\1\0\120")},
        {13, true, DATA("\7RFC8482\0")},
        {13, false, DATA("\7RFC8482")},
        {16, true, DATA("\4text")},
        {16, true, DATA("\4text\0\1t")},
        {16, true, DATA("\0")},
        {16, false, DATA("")},
        {16, false, DATA("\5text")},
        {16, false, DATA("\4text\2t")},
        {35, true, DATA("\0\1\0\2\1u\1s\0\0")},
        {35, false, DATA("\0\1\0\2\1u\1s\0")},
        {43, true, DATA("\0\1\10\2digest")},
        {43, false, DATA("\0\1\10")},
        {46, true, DATA("\0\1\10\1\0\0\0\74\0\0\0\0\0\0\0\0\0\1\0signature")},
        {46, false, DATA("\0\1\10\1\0\0\0\74\0\0\0\0\0\0\0\0\0")},
        {47, true, DATA("\0\0\1\100\1\2\1\2")},
        {47, true, DATA("\0")},
        {47, false, DATA("\0\0\0")},             /* an empty window */
        {47, false, DATA("\0\0\2\100")},         /* a cut one */
        {47, false, DATA("\0\1\1\100\0\1\100")}, /* not in order */
        {47, false,
         DATA("\0\0\41"
              "0123456789abcdef0123456789abcdefg")},
        {50, true, DATA("\1\0\0\1\0\4hash\0\1\100")},
        {50, false, DATA("\1\0\0\1\0\5hash")},
        {64, true, DATA("\0\1\0\0\1\0\2h3\0\3\0\2\0\120")},
        {65, true, DATA("\0\0\1w\0")},
        {65, false, DATA("\0\1\300\014")},                   /* compressed */
        {65, false, DATA("\0\1\0\0\3\0\2\0\120\0\1\0\2h3")}, /* not in order */
        {65, false, DATA("\0\1\0\0\1\0\3h3")},               /* cut */
        {257, true, DATA("\0\5issueca.test")},
        {257, false, DATA("\0\17issue")},
        {41, true, DATA("\0\12\0\1c")},
        {41, false, DATA("\0\12\0\2c")},
        {65280, true, DATA("")}, /* nothing is known of these */
        {65280, true, DATA("anything")},
        {10, true, DATA("anything")},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const struct record record = {cases[i].type, IN, cases[i].data, cases[i].len};
        assert_that(is_sound(IN, &record, 1) == cases[i].is_sound, "case %zu, type %u", i,
                    cases[i].type);
    }
}

UNIT_TEST(test_counts)
{
    const struct record record = {1, IN, DATA("\300\0\2\1")};
    assert_true(is_sound(IN, &record, 1));
    assert_true(is_sound(IN, &record, 0)); /* bytes behind the last record */
    assert_false(is_sound(IN, &record, 2));
    assert_false(is_sound(IN, &record, UINT16_MAX));
}

UNIT_TEST(test_classes)
{
    static const struct {
        uint16_t qclass, type, rr_class;
        bool is_sound;
    } cases[] = {
        {IN, 1, IN, true},    {IN, 1, CH, false},    {IN, 1, ANY, false},    {CH, 1, CH, true},
        {CH, 1, IN, false},   {ANY, 1, IN, true},    {ANY, 1, CH, true},     {IN, 41, 1232, true},
        {IN, 250, ANY, true}, {IN, 65280, IN, true}, {IN, 65280, CH, false},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const bool is_opt = cases[i].type == 41;
        const struct record record = {cases[i].type, cases[i].rr_class, "\300\0\2\1",
                                      is_opt ? 0 : 4};
        assert_int_equal(is_sound(cases[i].qclass, &record, 1), cases[i].is_sound);
    }
}

/* The authority section has a record of each type, with empty names or numbers as data. */
static bool response_check_is_usable(uint16_t flags, uint16_t questions, unsigned extended_rcode,
                                     unsigned answers, const char *authorities)
{
    uint8_t message[512];
    struct writer w = writer_of(message, sizeof(message));
    struct parsed_response response;
    const uint16_t head[] = {
        1, (uint16_t)(0x8180 ^ flags), questions, (uint16_t)answers, (uint16_t)strlen(authorities),
        1};
    for (size_t i = 0; i < sizeof(head) / sizeof(head[0]); i++) {
        writer_u16(&w, head[i]);
    }
    writer_bytes(&w, (const uint8_t *)"\1w\0\0\1\0\1", questions ? 7 : 0);
    for (unsigned i = 0; i < answers + strlen(authorities) + 1; i++) {
        const bool is_answer = i < answers, is_opt = i == answers + strlen(authorities);
        const char kind = is_answer || is_opt ? 0 : authorities[i - answers];
        writer_u8(&w, 0);
        writer_u16(&w, is_answer ? 1 : is_opt ? 41 : kind == 'n' ? 2 : 6);
        writer_u16(&w, is_opt ? 1232 : IN);
        writer_u32(&w, is_opt ? extended_rcode << 24 : 60);
        const uint16_t len = is_answer ? 4 : is_opt ? 0 : kind == 'n' ? 1 : 22;
        static const uint8_t data[22];
        writer_u16(&w, len);
        writer_bytes(&w, data, len);
    }
    response_parse(message, w.pos, &response);
    assert_true(response_is_sound(&response));
    const bool usable = response_is_usable(&response);
    response_parse_fini(&response);
    return usable;
}

UNIT_TEST(test_usable)
{
    enum {
        AA = 0x400,
        TC = 0x200,
        RD = 0x100,
        SERVFAIL = 2,
        NXDOMAIN = 3,
        NOTIMP = 4,
        REFUSED = 5
    };
    assert_true(response_check_is_usable(0, 1, 0, 1, ""));
    assert_true(response_check_is_usable(0, 1, 0, 0, "")); /* no data, without an SOA */
    assert_true(response_check_is_usable(0, 1, 0, 0, "s"));
    assert_true(response_check_is_usable(0, 1, 0, 0, "ns")); /* RFC 2308 2.2: type 1 */
    assert_true(response_check_is_usable(AA, 1, 0, 0, "n"));
    assert_true(response_check_is_usable(0, 1, 0, 1, "n"));
    assert_true(response_check_is_usable(NXDOMAIN, 1, 0, 0, "n")); /* 2.1: type 4 */
    assert_true(
        response_check_is_usable(NOTIMP, 1, 0, 0, "")); /* of the type: others would say the same */
    assert_true(response_check_is_usable(TC, 1, 0, 0, "n"));
    assert_true(response_check_is_usable(RD, 1, 0, 0, "nn")); /* RD clear: what was asked for */
    assert_false(response_check_is_usable(0, 1, 0, 0, "nn")); /* a referral */
    assert_false(response_check_is_usable(SERVFAIL, 1, 0, 0, ""));
    assert_false(response_check_is_usable(REFUSED, 1, 0, 0, ""));
    assert_false(response_check_is_usable(0, 1, 1, 0, "")); /* BADVERS */
    assert_false(response_check_is_usable(0, 1, 1, 1, ""));
    assert_false(response_check_is_usable(NXDOMAIN, 0, 0, 0, ""));
}
