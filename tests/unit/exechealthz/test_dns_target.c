#include "exechealthz/dns_target.h"

#include "tests/support/unit_test.h"

UNIT_TEST(test_taken)
{
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
        {"a.b,[fd00::10]", "a", "a.b.", DNS_TYPE_A, "[fd00::10]:53"},
        {"a.b,tls://10.0.0.10", "a", "a.b.", DNS_TYPE_A, "tls://10.0.0.10:853"},
        {"a.b,SRV,tls://[fd00::10]:8853", "a", "a.b.", DNS_TYPE_SRV, "tls://[fd00::10]:8853"},
        {"a.b,tls://fd00::10", "a", "a.b.", DNS_TYPE_A, "tls://[fd00::10]:853"},
        {"x=a.b,https://10.0.0.10", "x", "a.b.", DNS_TYPE_A, "https://10.0.0.10:443/dns-query"},
        {"a.b,https://[::1]:8443/q", "a", "a.b.", DNS_TYPE_A, "https://[::1]:8443/q"},
        {"a.b,https://[::1]/", "a", "a.b.", DNS_TYPE_A, "https://[::1]:443/"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct dns_target target;
        struct err err = {0};
        char name[DNAME_TEXT_MAX], server[DNS_SERVER_TEXT_MAX];
        assert_that(dns_target_parse(cases[i].text, &target, &err) == 0, "%s: %s", cases[i].text,
                    err.msg);
        assert_string_equal(target.label, cases[i].label);
        assert_string_equal(dname_to_text(&target.question.name, name), cases[i].name);
        assert_int_equal(target.question.type, cases[i].type);
        assert_string_equal(dns_target_server(&target, server), cases[i].server);
        assert_string_equal(target.tls_name, "");
    }
}

UNIT_TEST(test_names_of_certificates)
{
    static const struct {
        const char *text, *tls_name, *server;
    } cases[] = {
        {"a.b,tls://10.0.0.10#dns.example", "dns.example", "tls://10.0.0.10:853"},
        {"a.b,tls://[::1]:8853#dns.example.", "dns.example.", "tls://[::1]:8853"},
        {"a.b,tls://10.0.0.10#fd00::10", "fd00::10", "tls://10.0.0.10:853"},
        {"a.b,https://10.0.0.10#dns.example", "dns.example", "https://10.0.0.10:443/dns-query"},
        {"a.b,https://1.2.3.4:444/q?a=b#1.2.3.4", "1.2.3.4", "https://1.2.3.4:444/q?a=b"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct dns_target target;
        struct err err = {0};
        char server[DNS_SERVER_TEXT_MAX];
        assert_that(dns_target_parse(cases[i].text, &target, &err) == 0, "%s: %s", cases[i].text,
                    err.msg);
        assert_string_equal(target.tls_name, cases[i].tls_name);
        assert_string_equal(dns_target_server(&target, server), cases[i].server);
    }
}

static void dns_target_assert_refused(const char *text, const char *expected)
{
    struct dns_target target = {.label = "kept"};
    struct err err = {0};
    assert_that(dns_target_parse(text, &target, &err) == ERR_USAGE && strstr(err.msg, expected),
                "%s: %d `%s`", text, err.code, err.msg);
    assert_string_equal(target.label, "kept"); /* nothing written on failure */
}

/* One character more than fits. */
UNIT_TEST(test_long_parts)
{
    char text[1024], filler[DNS_PATH_MAX + 1];
    memset(filler, 'x', sizeof(filler));
    int fits = DNS_PATH_MAX - 2; /* behind the slash */
    struct dns_target target;
    (void)snprintf(text, sizeof(text), "a.b,https://::1/%.*s", fits, filler); /* fits */
    assert_int_equal(dns_target_parse(text, &target, NULL), 0);
    (void)snprintf(text, sizeof(text), "a.b,https://::1/%.*s", fits + 1, filler); /* fits */
    dns_target_assert_refused(text, "an IP address");
    for (size_t i = 50; i < sizeof(filler); i += 51) {
        filler[i] = '.';
    }
    (void)snprintf(text, sizeof(text), "a.b,tls://::1#%.*s", 253, filler); /* fits */
    assert_int_equal(dns_target_parse(text, &target, NULL), 0);
    (void)snprintf(text, sizeof(text), "a.b,tls://::1#%.*s", 256, filler); /* fits */
    dns_target_assert_refused(text, "an IP address");
}

UNIT_TEST(test_refused)
{
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
        {"a.b,127.0.0.1,A", "expected [TYPE][,SERVER]"},
        {"a.b,10.0.0.10#dns.example", "an IP address"},
        {"a.b,10.0.0.10/dns-query", "an IP address"},
        {"a.b,tls://", "tls://127.0.0.1[#NAME]"},
        {"a.b,tls://dns.example", "an IP address"},
        {"a.b,tls://10.0.0.10/dns-query", "an IP address"},
        {"a.b,tls://10.0.0.10#", "[#NAME]"},
        {"a.b,tls://10.0.0.10#a b", "[#NAME]"},
        {"a.b,tls://10.0.0.10#a\r\nX: y", "[#NAME]"},
        {"a.b,tls://10.0.0.10#a..b", "[#NAME]"},
        {"a.b,tls://10.0.0.10#.", "[#NAME]"},
        {"a.b,tls://10.0.0.10:0", "an IP address"},
        {"a.b,https://dns.example/dns-query", "https://127.0.0.1[/PATH][#NAME]"},
        {"a.b,https://10.0.0.10/a b", "[/PATH]"},
        {"a.b,https://10.0.0.10/dns-query{?dns}", "[/PATH]"},
        {"a.b,https://10.0.0.10/\r\nX: y", "[/PATH]"},
        {"a.b,http://10.0.0.10/dns-query", "https://127.0.0.1"},
        {"a.b,tls:/10.0.0.10", "an IP address"},
        {"a.b,A,12345678901234567890123456789012345678901234567890123456789012345", "an IP"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        dns_target_assert_refused(cases[i].text, cases[i].expected);
    }
}

static void assert_request(const char *flag, const char *want)
{
    struct dns_target target;
    CLEANUP_BUF struct buf out = buf_of(2048);
    assert_int_equal(dns_target_parse(flag, &target, NULL), 0);
    doh_request_write(&target, slice_str("query"), &out);
    assert_string_equal(buf_cstr(&out), want);
}

UNIT_TEST(test_requests_over_https)
{
#define REQUEST(path, host)                                                      \
    "POST " path " HTTP/1.1\r\nHost: " host "\r\nAccept: " DOH_MEDIA_TYPE "\r\n" \
    "Content-Type: " DOH_MEDIA_TYPE "\r\n"                                       \
    "Content-Length: 5\r\nConnection: close\r\n\r\nquery"
    assert_request("a.b,https://10.0.0.1", REQUEST("/dns-query", "10.0.0.1:443"));
    assert_request("a.b,https://[::1]:8443/q?a=b", REQUEST("/q?a=b", "[::1]:8443"));
    assert_request("a.b,https://10.0.0.1#dns.example", REQUEST("/dns-query", "dns.example"));
    assert_request("a.b,https://10.0.0.1:8443#dns.example",
                   REQUEST("/dns-query", "dns.example:8443"));
    assert_request("a.b,https://[::1]:8443#::1", REQUEST("/dns-query", "[::1]:8443"));
#undef REQUEST
}
