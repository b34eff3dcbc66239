#include "exechealthz/dns_message.h"

#include "tests/support/unit_test.h"

enum { ID = 0x1234 };

/* a.b, SRV. */
static const struct dns_question question = {
    .name = {.len = 5, .wire = {1, 'a', 1, 'b', 0}},
    .type = DNS_TYPE_SRV,
    .qclass = DNS_CLASS_IN,
};

UNIT_TEST(test_query)
{
    static const uint8_t want[] = {0x12, 0x34, 1,   0, 0,   1, 0, 0,  0, 0, 0,
                                   0,    1,    'a', 1, 'b', 0, 0, 33, 0, 1};
    uint8_t query[DNS_QUERY_MAX];
    assert_int_equal(dns_query_write(&question, ID, query), sizeof(want));
    assert_memory_equal(query, want, sizeof(want));
}

UNIT_TEST(test_longest_query)
{
    struct dns_question longest = {.type = DNS_TYPE_A, .qclass = DNS_CLASS_IN, .name = {.len = 1}};
    uint8_t query[DNS_QUERY_MAX];
    while (dname_prepend(&longest.name, slice_str("x"))) {
    }
    assert_int_equal(longest.name.len, DNAME_MAX);
    assert_int_equal(dns_query_write(&longest, ID, query), DNS_QUERY_MAX);
}

#define Q        "\1a\1b\0\0\x21\0\1"
#define RECORD   "\xc0\x0c\0\1\0\1\0\0\0\x1e\0\4\x0a\0\0\1"
#define BYTES(s) (const uint8_t *)(s), sizeof(s) - 1

UNIT_TEST(test_reply)
{
    static const struct {
        const char *name;
        const uint8_t *bytes;
        size_t len;
        enum dns_reply_kind kind;
        struct dns_reply reply;
    } cases[] = {
        {"an answer",
         BYTES("\x12\x34\x85\x80\0\1\0\1\0\0\0\0" Q RECORD),
         DNS_REPLY_READ,
         {.answers = 1}},
        {"two answers and more behind",
         BYTES("\x12\x34\x85\x80\0\1\0\2\0\0\0\1" Q RECORD RECORD),
         DNS_REPLY_READ,
         {.answers = 2}},
        {"the question in capitals",
         BYTES("\x12\x34\x80\0\0\1\0\1\0\0\0\0\1A\1B\0\0\x21\0\1" RECORD),
         DNS_REPLY_READ,
         {.answers = 1}},
        {"no answer", BYTES("\x12\x34\x85\x80\0\1\0\0\0\0\0\0" Q), DNS_REPLY_READ, {0}},
        {"NXDOMAIN",
         BYTES("\x12\x34\x85\x83\0\1\0\0\0\0\0\0" Q),
         DNS_REPLY_READ,
         {.rcode = DNS_RCODE_NXDOMAIN}},
        {"truncated",
         BYTES("\x12\x34\x87\x80\0\1\0\0\0\0\0\0" Q),
         DNS_REPLY_READ,
         {.is_truncated = true}},
        {"an error without the question",
         BYTES("\x12\x34\x80\1\0\0\0\0\0\0\0\0"),
         DNS_REPLY_READ,
         {.rcode = DNS_RCODE_FORMERR}},
        {"no question", BYTES("\x12\x34\x80\0\0\0\0\0\0\0\0\0"), DNS_REPLY_UNRELATED, {0}},
        {"another id",
         BYTES("\x12\x35\x85\x80\0\1\0\1\0\0\0\0" Q RECORD),
         DNS_REPLY_UNRELATED,
         {0}},
        {"a query", BYTES("\x12\x34\x05\x80\0\1\0\1\0\0\0\0" Q RECORD), DNS_REPLY_UNRELATED, {0}},
        {"another opcode",
         BYTES("\x12\x34\xa5\x80\0\1\0\1\0\0\0\0" Q RECORD),
         DNS_REPLY_UNRELATED,
         {0}},
        {"another name",
         BYTES("\x12\x34\x85\x80\0\1\0\0\0\0\0\0\1a\1c\0\0\x21\0\1"),
         DNS_REPLY_UNRELATED,
         {0}},
        {"another type",
         BYTES("\x12\x34\x85\x80\0\1\0\0\0\0\0\0\1a\1b\0\0\1\0\1"),
         DNS_REPLY_UNRELATED,
         {0}},
        {"another class",
         BYTES("\x12\x34\x85\x80\0\1\0\0\0\0\0\0\1a\1b\0\0\x21\0\3"),
         DNS_REPLY_UNRELATED,
         {0}},
        {"two questions", BYTES("\x12\x34\x85\x80\0\2\0\0\0\0\0\0" Q Q), DNS_REPLY_UNRELATED, {0}},
        {"a question cut off",
         BYTES("\x12\x34\x85\x80\0\1\0\0\0\0\0\0\1a\1b\0\0\x21\0"),
         DNS_REPLY_UNRELATED,
         {0}},
        {"a header cut off", BYTES("\x12\x34\x85\x80\0\1\0\0\0\0\0"), DNS_REPLY_UNRELATED, {0}},
        {"nothing", BYTES(""), DNS_REPLY_UNRELATED, {0}},
        {"fewer answers than said",
         BYTES("\x12\x34\x85\x80\0\1\xff\xff\0\0\0\0" Q RECORD),
         DNS_REPLY_MALFORMED,
         {0}},
        {"an answer cut off",
         BYTES("\x12\x34\x85\x80\0\1\0\1\0\0\0\0" Q "\xc0\x0c\0\1\0\1\0\0\0\x1e\0\4\x0a\0\0"),
         DNS_REPLY_MALFORMED,
         {0}},
        {"a name that points forward",
         BYTES("\x12\x34\x85\x80\0\1\0\1\0\0\0\0" Q "\xc0\x30\0\1\0\1\0\0\0\x1e\0\0"),
         DNS_REPLY_MALFORMED,
         {0}},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct dns_reply reply = {0};
        assert_that(
            dns_reply_read(&question, ID, cases[i].bytes, cases[i].len, &reply) == cases[i].kind &&
                reply.rcode == cases[i].reply.rcode && reply.answers == cases[i].reply.answers &&
                reply.is_truncated == cases[i].reply.is_truncated,
            "%s: rcode %u, %u answers", cases[i].name, reply.rcode, reply.answers);
    }
}

/* A count of a cache, in class CHAOS. */
UNIT_TEST(test_number)
{
    static const struct dns_question count = {
        .name = {.len = 5, .wire = {1, 'a', 1, 'b', 0}},
        .type = DNS_TYPE_TXT,
        .qclass = DNS_CLASS_CH,
    };
    static const struct {
        const char *name;
        const uint8_t *bytes;
        size_t len;
        bool has_number;
        uint64_t number;
    } cases[] = {
#define HEAD(answers) "\x12\x34\x85\x80\0\1\0" answers "\0\0\0\0\1a\1b\0\0\x10\0\3"
#define TXT(len)      "\xc0\x0c\0\x10\0\3\0\0\0\0\0" len
        {"a number", BYTES(HEAD("\1") TXT("\4") "\003204"), true, 204},
        {"the largest",
         BYTES(HEAD("\1") TXT("\x14") "\x13"
                                      "1844674407370955160"),
         true, 1844674407370955160},
        {"too large",
         BYTES(HEAD("\1") TXT("\x16") "\x15"
                                      "184467440737095516160"),
         false, 0},
        {"no digits", BYTES(HEAD("\1") TXT("\1") "\0"), false, 0},
        {"no string", BYTES(HEAD("\1") TXT("\0")), false, 0},
        {"a sign", BYTES(HEAD("\1") TXT("\3") "\2-1"), false, 0},
        {"two strings", BYTES(HEAD("\1") TXT("\4") "\0011\0012"), false, 0},
        {"a string longer than its record", BYTES(HEAD("\1") TXT("\2") "\0021"), false, 0},
        {"two records", BYTES(HEAD("\2") TXT("\2") "\0011" TXT("\2") "\0011"), false, 0},
        {"another type", BYTES(HEAD("\1") "\xc0\x0c\0\1\0\3\0\0\0\0\0\2\0011"), false, 0},
        {"no answer", BYTES(HEAD("\0")), false, 0},
#undef HEAD
#undef TXT
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct dns_reply reply = {0};
        assert_that(
            dns_reply_read(&count, ID, cases[i].bytes, cases[i].len, &reply) == DNS_REPLY_READ &&
                reply.has_number == cases[i].has_number &&
                (!reply.has_number || reply.number == cases[i].number),
            "%s: %d %llu", cases[i].name, reply.has_number, (unsigned long long)reply.number);
    }
}

UNIT_TEST(test_words)
{
    uint16_t type = 0;
    assert_true(dns_question_type(slice_str("aaaa"), &type));
    assert_int_equal(type, DNS_TYPE_AAAA);
    assert_false(dns_question_type(slice_str("AA"), &type));
    assert_false(dns_question_type(slice_str(""), &type));
    assert_false(
        dns_question_type(slice_str("HTTPS"), &type)); /* a valid type, but of no use to probes */
    assert_false(dns_question_type(slice_str("TYPE1"), &type));
    assert_int_equal(type, DNS_TYPE_AAAA);
}
