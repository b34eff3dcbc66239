#include "common/base/addr.h"

#include <arpa/inet.h>

#include "tests/support/from_text.h"
#include "tests/support/unit_test.h"

UNIT_TEST(test_ip)
{
    static const struct {
        const char *in;
        int family_bytes; /* 0: no address */
        const char *want;
    } cases[] = {
        {"10.0.0.1", 4, "10.0.0.1"},
        {"0.0.0.0", 4, "0.0.0.0"},
        {"255.255.255.255", 4, "255.255.255.255"},
        {"::", 16, "::"},
        {"FD00:0:0:0::1", 16, "fd00::1"},
        {"2001:db8::1:0:0:1", 16, "2001:db8::1:0:0:1"},
        {"::ffff:10.1.2.3", 4, "10.1.2.3"},
        {"::10.1.2.3", 16, "::a01:203"},
        {"::0.1.0.0", 16, "::1:0"},
        {"::1:0:2", 16, "::1:0:2"},
        {"::1", 16, "::1"},
        {"", 0, NULL},
        {"10.0.0", 0, NULL},
        {"10.0.0.1.", 0, NULL},
        {"10.0.0.256", 0, NULL},
        {"10.0.0.01", 0, NULL},
        {" 10.0.0.1", 0, NULL},
        {"10.0.0.1 ", 0, NULL},
        {"0x0a.0.0.1", 0, NULL},
        {"[::1]", 0, NULL},
        {"fe80::1%eth0", 0, NULL},
        {"1:2:3:4:5:6:7:8:9", 0, NULL},
        {"web.default.svc", 0, NULL},
        {"0000:0000:0000:0000:0000:ffff:255.255.255.2550", 0, NULL},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct ip ip = {.family_bytes = 99};
        char text[INET6_ADDRSTRLEN];
        bool ok = ip_parse(slice_str(cases[i].in), &ip);
        assert_that(ok == (cases[i].family_bytes != 0) &&
                        (!ok || (ip.family_bytes == cases[i].family_bytes &&
                                 strcmp(ip_format(&ip, text), cases[i].want) == 0)),
                    "`%s`: %d, family %d", cases[i].in, ok, ip.family_bytes);
        assert_true(ok || ip.family_bytes == 99); /* untouched on failure */
    }
    struct ip none = {0};
    char text[INET6_ADDRSTRLEN];
    assert_string_equal(ip_format(&none, text), "");
    assert_false(ip_parse(slice_of("10.0.0.1\0x", 10), &none));
    assert_true(ip_parse(slice_of("10.0.0.12", 8), &none)); /* not NUL-terminated */
    assert_string_equal(ip_format(&none, text), "10.0.0.1");
}

/* net.ParseIP of Go 1.16 and older skips zeros in front. */
UNIT_TEST(test_leading_zeros)
{
    static const struct {
        const char *in;
        const char *want; /* NULL: no address */
    } cases[] = {
        {"10.96.11.12", "10.96.11.12"},
        {"10.96.011.012", "10.96.11.12"},
        {"010.000.00.08", "10.0.0.8"},
        {"000000000000000000000000000000000000000000000010.0.0.1", "10.0.0.1"},
        {"00.0.0.0", "0.0.0.0"},
        {"10.0.0.100", "10.0.0.100"},
        {"::ffff:010.1.2.003", "10.1.2.3"},
        {"fd00:00000::0000a", "fd00::a"},
        {"FD00:0db8::00", "fd00:db8::"},
        {"0256.0.0.1", NULL},
        {"10.0.0.0x1", NULL},
        {"10.0.0.0a", NULL},
        {"10.0.0.01.", NULL},
        {"010.0.0", NULL},
        {" 010.0.0.1", NULL},
        {"fd00::0fffff", NULL},
        {"0", NULL},
        {"00", NULL},
        {"", NULL},
        {"web.01.svc", NULL},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct ip ip = {.family_bytes = 99};
        char text[INET6_ADDRSTRLEN];
        bool ok = ip_parse_sloppy(slice_str(cases[i].in), &ip);
        assert_that(ok == (cases[i].want != NULL) &&
                        (!ok || strcmp(ip_format(&ip, text), cases[i].want) == 0),
                    "`%s`: %d, family %d", cases[i].in, ok, ip.family_bytes);
        assert_true(ok || ip.family_bytes == 99); /* untouched on failure */
    }
    struct ip ip;
    assert_false(ip_parse_sloppy(slice_of("10.0.0.01\0x", 11), &ip));
}

/* Each byte in each place, as inet_ntop prints it. */
UNIT_TEST(test_ipv4_texts)
{
    for (unsigned i = 0; i < 256 * 4; i++) {
        struct ip ip = {.family_bytes = 4, .bytes = {9, 99, 199, 0}};
        char text[INET6_ADDRSTRLEN], expected[INET6_ADDRSTRLEN];
        ip.bytes[i / 256] = (uint8_t)i;
        assert_non_null(inet_ntop(AF_INET, ip.bytes, expected, sizeof(expected)));
        assert_string_equal(ip_format(&ip, text), expected);
    }
}

/* The IPv4 form keeps nothing of the IPv6 form: addresses are compared byte by byte. */
UNIT_TEST(test_mapped_ip_equals_the_plain_one)
{
    struct ip plain = ip_from("10.1.2.3");
    struct ip mapped = ip_from("::ffff:10.1.2.3");
    assert_memory_equal(&plain, &mapped, sizeof(plain));
}

UNIT_TEST(test_addr)
{
    static const struct {
        const char *in;
        const char *want; /* NULL: refused */
        uint16_t port;
        const char *ip;
        bool is_wildcard;
    } cases[] = {
        {"127.0.0.1:53", "127.0.0.1:53", 53, "127.0.0.1", false},
        {"0.0.0.0:65535", "0.0.0.0:65535", 65535, "0.0.0.0", true},
        {"[::]:1", "[::]:1", 1, "::", true},
        {"[FD00::1]:053", "[fd00::1]:53", 53, "fd00::1", false},
        {"[::ffff:1.2.3.4]:53", "[::ffff:1.2.3.4]:53", 53, "1.2.3.4", false},
        {"[fe80::1%lo]:53", "[fe80::1%1]:53", 53, "fe80::1", false},
        {"[fe80::1%1]:53", "[fe80::1%1]:53", 53, "fe80::1", false},
        {"[fd00::1%lo]:53", "[fd00::1]:53", 53, "fd00::1", false}, /* means nothing there */
        {"[fe80::1%]:53", NULL, 0, NULL, false},
        {"[fe80::1%0]:53", NULL, 0, NULL, false},
        {"[fe80::1%4294967296]:53", NULL, 0, NULL, false},
        {"[fe80::1%absent]:53", NULL, 0, NULL, false},
        {"[fe80::1%a-name-too-long]:53", NULL, 0, NULL, false},
        {"[fe80::1%lo%lo]:53", NULL, 0, NULL, false},
        {"[fe80::1]%lo:53", NULL, 0, NULL, false},
        {"fe80::1%lo:53", NULL, 0, NULL, false},
        {"127.0.0.1%lo:53", NULL, 0, NULL, false},
        {"127.0.0.1", NULL, 0, NULL, false},
        {"127.0.0.1:", NULL, 0, NULL, false},
        {"127.0.0.1:0", NULL, 0, NULL, false},
        {"127.0.0.1:65536", NULL, 0, NULL, false},
        {"127.0.0.1:000053", NULL, 0, NULL, false},
        {"127.0.0.1:+53", NULL, 0, NULL, false},
        {"127.0.0.1:53 ", NULL, 0, NULL, false},
        {"127.0.0.1:dns", NULL, 0, NULL, false},
        {":53", NULL, 0, NULL, false},
        {"localhost:53", NULL, 0, NULL, false},
        {"::1:53", NULL, 0, NULL, false},
        {"[::1]", NULL, 0, NULL, false},
        {"[]:53", NULL, 0, NULL, false},
        {"[127.0.0.1]:53", NULL, 0, NULL, false},
        {"[::1:53", NULL, 0, NULL, false},
        {"", NULL, 0, NULL, false},
        {"a-host-name-that-is-longer-than-any-address-in-text-could-ever-be:53", NULL, 0, NULL,
         false},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct addr addr = {.len = 77};
        struct err err = {0};
        char text[ADDR_TEXT_MAX], ip_text[INET6_ADDRSTRLEN];
        int r = addr_parse(cases[i].in, &addr, &err);
        if (!cases[i].want) {
            assert_int_equal(addr.len, 77);
            assert_that(r == ERR_SYNTAX && strstr(err.msg, cases[i].in) &&
                            strstr(err.msg, "expected"),
                        "`%s`: %d, %s", cases[i].in, r, err.msg);
            continue;
        }
        assert_int_equal(r, 0);
        struct ip ip = addr_ip(&addr);
        assert_string_equal(addr_format(&addr, text), cases[i].want);
        assert_int_equal(addr_port(&addr), cases[i].port);
        assert_string_equal(ip_format(&ip, ip_text), cases[i].ip);
        assert_int_equal(addr_is_wildcard(&addr), cases[i].is_wildcard);
    }
}

UNIT_TEST(test_addr_without_port)
{
    static const struct {
        const char *in, *want; /* NULL: refused */
    } cases[] = {
        {"10.0.0.1", "10.0.0.1:53"}, {"::ffff:10.0.0.1", "10.0.0.1:53"},
        {"fd00::1", "[fd00::1]:53"}, {"fe80::1%lo", "[fe80::1%1]:53"},
        {"fe80::1%absent", NULL},    {"10.0.0.1%lo", NULL},
        {"[fd00::1]", NULL},         {"10.0.0.1:53", NULL},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct addr addr;
        char text[ADDR_TEXT_MAX];
        assert_int_equal(addr_parse_ip(slice_str(cases[i].in), 53, &addr), cases[i].want != NULL);
        if (cases[i].want) {
            assert_string_equal(addr_format(&addr, text), cases[i].want);
        }
    }
}

/* The interface is another machine's. */
UNIT_TEST(test_remote)
{
    static const struct {
        const char *in;
        uint16_t port;
        const char *want; /* NULL: refused */
    } cases[] = {
        {"fe80::1%absent", 53, "[fe80::1%absent]:53"},
        {"[fe80::1%absent]:54", 53, "[fe80::1%absent]:54"},
        {"10.0.0.1", 53, "10.0.0.1:53"},
        {"10.0.0.1", 0, NULL},
        {"10.0.0.1:54", 0, "10.0.0.1:54"},
        {"fe80::1%a b", 53, NULL},
        {"fe80::1%a\"b", 53, NULL},
        {"name", 53, NULL},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct addr addr;
        char text[ADDR_TEXT_MAX], scope[IF_NAMESIZE];
        assert_int_equal(addr_parse_remote(cases[i].in, cases[i].port, &addr, scope),
                         cases[i].want != NULL);
        if (cases[i].want) {
            assert_string_equal(addr_format_remote(&addr, scope, text), cases[i].want);
        }
    }
}

UNIT_TEST(test_addr_of_ip)
{
    static const struct {
        const char *ip, *want;
    } cases[] = {
        {"10.0.0.1", "10.0.0.1:53"},
        {"fd00::1", "[fd00::1]:53"},
        {"::ffff:10.0.0.1", "10.0.0.1:53"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        char text[ADDR_TEXT_MAX];
        struct ip ip = ip_from(cases[i].ip);
        struct addr addr = addr_of_ip(&ip, 53);
        assert_string_equal(addr_format(&addr, text), cases[i].want);
    }
    assert_int_equal(addr_of_ip(&(struct ip){0}, 53).sa.sa_family, AF_UNSPEC);
}

UNIT_TEST(test_unknown_addr)
{
    const struct addr none = {0};
    char text[ADDR_TEXT_MAX];
    assert_string_equal(addr_format(&none, text), "unknown");
    assert_int_equal(addr_port(&none), 0);
    assert_int_equal(addr_ip(&none).family_bytes, 0);
    assert_false(addr_is_wildcard(&none));
}

UNIT_TEST(test_longest_addr_fits)
{
    static const char longest[] = "[fe80:2222:3333:4444:5555:6666:7777:8888%4294967295]:65535";
    static const char named[] = "[fe80:2222:3333:4444:5555:6666:7777:8888%fifteen-letters]:65535";
    struct addr addr;
    char text[ADDR_TEXT_MAX], scope[IF_NAMESIZE];
    assert_int_equal(addr_parse(longest, &addr, NULL), 0);
    assert_string_equal(addr_format(&addr, text), longest);
    assert_true(addr_parse_remote(named, 0, &addr, scope));
    assert_string_equal(addr_format_remote(&addr, scope, text), named);
}
