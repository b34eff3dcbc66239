#include "exechealthz/dns_target.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static void test_taken(void **state)
{
    (void)state;
    static const struct {
        const char *text, *label, *name;
        uint16_t type;
        const char *server;
    } cases[] = {
        {"kubernetes.default.svc.cluster.local", "kubernetes",
         "kubernetes.default.svc.cluster.local.", DNS_TYPE_A, "127.0.0.1:53"},
        {"a.b.,SRV", "a", "a.b.", DNS_TYPE_SRV, "127.0.0.1:53"},
        {"a.b,aaaa,10.0.0.10", "a", "a.b.", DNS_TYPE_AAAA, "10.0.0.10:53"},
        {"a.b,10.0.0.10:10053", "a", "a.b.", DNS_TYPE_A, "10.0.0.10:10053"},
        {"a.b,ANY,[fd00::10]:5353", "a", "a.b.", DNS_TYPE_ANY, "[fd00::10]:5353"},
        {"a.b,fd00::10", "a", "a.b.", DNS_TYPE_A, "[fd00::10]:53"},
        {"kubedns=a.b,TXT", "kubedns", "a.b.", DNS_TYPE_TXT, "127.0.0.1:53"},
        {"_dns-tcp.b", "_dns_tcp", "_dns-tcp.b.", DNS_TYPE_A, "127.0.0.1:53"},
        {".", "root", ".", DNS_TYPE_A, "127.0.0.1:53"},
        {"a.b,", "a", "a.b.", DNS_TYPE_A, "127.0.0.1:53"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct dns_target target;
        struct err err = {0};
        char name[DNAME_TEXT_MAX], server[ADDR_TEXT_MAX];
        if (dns_target_parse(cases[i].text, &target, &err) != 0) {
            fail_msg("%s: %s", cases[i].text, err.msg);
        }
        assert_string_equal(target.label, cases[i].label);
        assert_string_equal(dname_to_text(&target.question.name, name), cases[i].name);
        assert_int_equal(target.question.type, cases[i].type);
        assert_string_equal(addr_format(&target.server, server), cases[i].server);
    }
}

static void test_refused(void **state)
{
    (void)state;
    static const struct {
        const char *text, *expected;
    } cases[] = {
        {"", "a domain name"},
        {",A", "a domain name"},
        {"a..b", "a domain name"},
        {"l=", "a domain name"},
        {"=a.b", "letters, digits and _"},
        {"kube-dns=a.b", "letters, digits and _"},
        {"a.b,HINFO", "a type like A"},
        {"a.b,A,dns.example", "an IP address"},
        {"a.b,A,127.0.0.1:0", "an IP address"},
        {"a.b,A,127.0.0.1:53,more", "`A,127.0.0.1:53,more`"},
        {"a.b,127.0.0.1,A", "expected [TYPE][,SERVER[:PORT]]"},
        {"a.b,A,12345678901234567890123456789012345678901234567890123456789012345", "an IP"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct dns_target target = {.label = "kept"};
        struct err err = {0};
        if (dns_target_parse(cases[i].text, &target, &err) != ERR_USAGE ||
            !strstr(err.msg, cases[i].expected)) {
            fail_msg("%s: %d `%s`", cases[i].text, err.code, err.msg);
        }
        assert_string_equal(target.label, "kept"); /* nothing written on failure */
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_taken),
        cmocka_unit_test(test_refused),
    };
    return cmocka_run_group_tests_name("exechealthz dns_target", tests, NULL, NULL);
}
