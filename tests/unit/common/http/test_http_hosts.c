/* common/http/http_hosts.h: which names pass, and what the flag takes. */
#include <string.h>

#include "common/base/attributes.h"
#include "common/http/http_hosts.h"
#include "tests/support/unit_test.h"

static bool http_hosts_is_ours(const void *data, struct slice name)
{
    return slice_equal(name, slice_str(data));
}

static const struct http_hosts hosts = {
    .names = "pages.example.com,Other.Example.Org.",
    .is_ours = http_hosts_is_ours,
    .data = "kube-dns.kube-system.svc.cluster.local",
};

static void http_hosts_expect(const char *const *texts, size_t count, bool is_allowed)
{
    for (size_t i = 0; i < count; i++) {
        if (http_hosts_allow(&hosts, slice_str(texts[i])) != is_allowed) {
            print_error("Host: %s\n", texts[i]);
            fail();
        }
    }
}

UNIT_TEST(test_allowed)
{
    static const char *const texts[] = {
        "",
        "127.0.0.1",
        "10.1.2.3:8081",
        "[::1]",
        "[fd00::1]:8081",
        "[fe80::1%25eth0]:80",
        "::1",
        "localhost",
        "localhost:8081",
        "LOCALHOST.",
        "kube-dns:10055",
        "my_pod",
        "kube-dns.kube-system.svc.cluster.local",
        "kube-dns.kube-system.svc.cluster.local.:10055",
        "pages.example.com",
        "Pages.Example.COM.:80",
        "other.example.org",
        "pages.example.com:",
    };
    http_hosts_expect(texts, ARRAY_LEN(texts), true);
}

UNIT_TEST(test_refused)
{
    static const char *const texts[] = {
        "rebind.example.com",
        "rebind.example.com:8081",
        "x.pages.example.com",
        "example.com",
        "127.0.0.1.nip.io",
        "localhost.example",
        "a..b",
        ".localhost",
        ".",
        ":80",
        "[::1",
        "[]",
        "[::1]x",
        "[::1]:x",
        "[localhost]",
        "local host",
        "pages.example.com,x",
        "user@localhost",
        "localhost:80:80",
        "localhost/x",
        "\xc3\xa4",
    };
    http_hosts_expect(texts, ARRAY_LEN(texts), false);
}

UNIT_TEST(test_flag)
{
    static const char *const good[] = {"", "a", "a.example.com", "a.example.com.,b_c.example"};
    static const char *const bad[] = {",", "a,", "a,,b", "a.example:80", "http://a", "*.a", "a b"};
    struct err err;
    for (size_t i = 0; i < ARRAY_LEN(good); i++) {
        assert_int_equal(http_hosts_check(good[i], &err), 0);
    }
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        assert_int_equal(http_hosts_check(bad[i], &err), ERR_USAGE);
        assert_non_null(strstr(err.msg, bad[i]));
        assert_non_null(strstr(err.msg, "expected comma-separated host names"));
    }
}
