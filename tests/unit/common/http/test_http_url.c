/* http_url: which URLs of servers and proxies are accepted, and how they are parsed and shown. */
#include "common/http/http_url.h"

#include "tests/support/unit_test.h"

UNIT_TEST(test_base)
{
    static const struct {
        const char *in;
        const char *want; /* NULL: refused */
    } cases[] = {
        {"http://127.0.0.1:8080", "http://127.0.0.1:8080"},
        {"https://10.96.0.1/", "https://10.96.0.1"},
        {"https://[fd00::1]:6443", "https://[fd00::1]:6443"},
        {"https://host/k8s/clusters/c-1//", "https://host/k8s/clusters/c-1"},
        {"HTTPS://host", "HTTPS://host"},
        {"", NULL},
        {"host", NULL},
        {"127.0.0.1:8080", NULL},
        {"http://", NULL},
        {"http://:80", NULL},
        {"http:///x", NULL},
        {"http://host:99999", NULL},
        {"http://fd00::1:443", NULL},
        {"ftp://host", NULL},
        {"http://user:pw@host", NULL},
        {"http://host/?a=b", NULL},
        {"//host", NULL},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        char *url = NULL;
        struct err err = {0};
        int rc = http_url_base(cases[i].in, &url, &err);
        assert_that(rc == (cases[i].want ? 0 : ERR_USAGE) &&
                        (!cases[i].want || strcmp(url, cases[i].want) == 0),
                    "%s: got %d %s %s", cases[i].in, rc, url ? url : "-", err.msg);
        free(url);
    }
}

UNIT_TEST(test_proxy)
{
    static const struct {
        const char *in;
        const char *want; /* NULL: refused */
    } cases[] = {
        {"http://proxy:3128", "http://proxy:3128/"},
        {"http://proxy", "http://proxy:80/"},
        {"https://proxy/", "https://proxy:443/"},
        {"socks5://10.0.0.1:1081", "socks5h://10.0.0.1:1081/"},
        {"socks5://proxy", "socks5h://proxy:1080/"},
        {"http://[fd00::1]:3128", "http://[fd00::1]:3128/"},
        {"http://me:pw@proxy:3128", "http://me:pw@proxy:3128/"},
        {"socks4://proxy", NULL},
        {"socks5h://proxy", NULL},
        {"ftp://proxy", NULL},
        {"proxy:3128", NULL},
        {"http://", NULL},
        {"http:///x", NULL},
        {"", NULL},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        char *url = NULL;
        struct err err = {0};
        int rc = http_url_proxy(cases[i].in, &url, &err);
        assert_that(rc == (cases[i].want ? 0 : ERR_USAGE) &&
                        (!cases[i].want || strcmp(url, cases[i].want) == 0),
                    "%s: got %d %s %s", cases[i].in, rc, url ? url : "-", err.msg);
        free(url);
    }
}

/* No password gets into a message. */
UNIT_TEST(test_shown)
{
    static const struct {
        const char *in, *want;
    } cases[] = {
        {"http://me:pw@proxy:3128/", "http://proxy:3128"},
        {"socks5h://me:pw@[fd00::1]:1080", "socks5://[fd00::1]:1080"},
        {"https://proxy", "https://proxy:443"},
        {"me:p@w@proxy", "proxy"},
        {"nonsense", "nonsense"},
    };
    struct err err;
    char *url = NULL;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        CLEANUP_FREE char *shown = http_url_shown(cases[i].in);
        assert_string_equal(shown, cases[i].want);
    }
    assert_int_equal(http_url_proxy("ftp://me:pw@proxy", &url, &err), ERR_USAGE);
    assert_null(strstr(err.msg, "pw"));
}

UNIT_TEST(test_loopback)
{
    static const struct {
        const char *url;
        bool want;
    } cases[] = {
        {"http://localhost:8080/x", true},    {"https://127.0.0.1/", true},
        {"https://127.9.9.9:1", true},        {"https://[::1]:6443/x", true},
        {"https://10.0.0.1/", false},         {"https://[fd00::1]/", false},
        {"https://localhost.example", false}, {"nonsense", false},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        assert_int_equal(http_url_is_loopback(cases[i].url), cases[i].want);
    }
}

UNIT_TEST(test_other_host)
{
    static const struct {
        const char *url, *host, *authority, *want;
    } cases[] = {
        {"https://10.0.0.1/a?b=c", "api", "10.0.0.1:443", "https://api/a?b=c"},
        {"https://[fd00::1]:6443/a", "10.0.0.1", "[fd00::1]:6443", "https://10.0.0.1:6443/a"},
        {"https://h:1/", "fd00::2", "h:1", "https://[fd00::2]:1/"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        CLEANUP_FREE char *authority = http_url_authority(cases[i].url);
        CLEANUP_FREE char *renamed = http_url_with_host(cases[i].url, cases[i].host);
        assert_string_equal(authority, cases[i].authority);
        assert_string_equal(renamed, cases[i].want);
    }
    assert_null(http_url_with_host("https://h/", "no host"));
    assert_null(http_url_authority("nonsense://"));
}
