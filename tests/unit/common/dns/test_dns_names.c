/* dns_names: types and response codes as people read and write them. */
#include "common/dns/dns.h"
#include "common/dns/dns_names.h"
#include "tests/support/unit_test.h"

UNIT_TEST(test_types)
{
    static const struct {
        uint16_t type;
        const char *text;
    } rows[] = {
        {1, "A"},         {28, "AAAA"}, {33, "SRV"},          {255, "ANY"},
        {35, "NAPTR"},    {0, "TYPE0"}, {41, "TYPE41"}, /* OPT: never a question's type */
        {256, "TYPE256"}, {257, "CAA"}, {65535, "TYPE65535"},
    };
    char out[DNS_TYPE_TEXT_MAX];
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        uint16_t type = 0;
        assert_string_equal(dns_type_text(rows[i].type, out), rows[i].text);
        assert_true(dns_type_from_text(slice_str(rows[i].text), &type));
        assert_int_equal(type, rows[i].type);
    }
}

UNIT_TEST(test_what_is_a_type)
{
    static const struct {
        const char *text;
        int name, any; /* the type; -1: rejected */
    } rows[] = {
        {"aAaA", 28, 28},      {"https", 65, 65},      {"type65", -1, 65}, {"TYPE00001", -1, 1},
        {"TYPE65536", -1, -1}, {"TYPE000001", -1, -1}, {"TYPE", -1, -1},   {"TYPE-1", -1, -1},
        {"TYPE1x", -1, -1},    {"AA", -1, -1},         {"", -1, -1},       {"OPT", -1, -1},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        uint16_t type = 0;
        struct slice text = slice_str(rows[i].text);
        int name = dns_type_from_name(text, &type) ? type : -1;
        int any = dns_type_from_text(text, &type) ? type : -1;
        assert_that(name == rows[i].name && any == rows[i].any, "`%s`: %d, %d", rows[i].text, name,
                    any);
    }
}

UNIT_TEST(test_rcodes)
{
    static const struct {
        uint8_t rcode;
        const char *name, *text;
    } rows[] = {
        {0, "NOERROR", "NOERROR"},  {3, "NXDOMAIN", "NXDOMAIN"}, {5, "REFUSED", "REFUSED"},
        {6, "YXDOMAIN", "RCODE6"},  {10, "NOTZONE", "RCODE10"},  {11, "RCODE11", "RCODE11"},
        {15, "RCODE15", "RCODE15"}, {16, "BADVERS", "BADVERS"},
    };
    char out[DNS_RCODE_TEXT_MAX];
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        assert_string_equal(dns_rcode_name(rows[i].rcode), rows[i].name);
        assert_string_equal(dns_rcode_text(rows[i].rcode, out), rows[i].text);
    }
    assert_string_equal(dns_rcode_text(255, out), "RCODE255");
}
