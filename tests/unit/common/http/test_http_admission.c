/* common/http/http_admission.h: which names pass and what the flag takes; which requests of which
 * clients pass. */
#include "common/http/http_admission.h"

#include "tests/support/unit_test.h"

/* ---- Hosts ---- */

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

/* ---- Clients ---- */

static const struct http_restricted restricted[] = {
    {.path = "/secret"}, {.argument = "at"}, {.path = "/log", .argument = "all"}};

static const struct network networks[] = {
    {.ip = {.family_bytes = 4, .bytes = {10, 1}}, .prefix_bits = 16},
    {.ip = {.family_bytes = 16, .bytes = {0xfd}}, .prefix_bits = 8},
};

static bool http_access_passes(const char *path, const char *argument, const char *client)
{
    const struct http_access access = {restricted, ARRAY_LEN(restricted), networks,
                                       ARRAY_LEN(networks), "no"};
    struct http_request request = {.method = "GET", .path = path};
    struct addr addr;
    if (argument) {
        request.arguments[request.argument_count++] = (struct http_argument){"x", ""};
        request.arguments[request.argument_count++] = (struct http_argument){argument, ""};
    }
    assert_true(addr_parse_ip(slice_str(client), 1, &addr));
    const struct ip ip = addr_ip(&addr);
    return http_access_allows(&access, &request, &ip);
}

UNIT_TEST(test_requests)
{
    static const struct {
        const char *path, *argument;
        bool is_restricted;
    } rows[] = {
        {"/secret", NULL, true},  {"/secret", "x", true},  {"/Secret", NULL, false},
        {"/secret/", "x", false}, {"/", NULL, false},      {"/", "at", true},
        {"/log", NULL, false},    {"/log", "all", true},   {"/logs", "all", false},
        {"/log", "AT", false},    {"/secret", "at", true}, {"", NULL, false},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        bool passes = http_access_passes(rows[i].path, rows[i].argument, "192.0.2.1");
        assert_that(passes != rows[i].is_restricted &&
                        http_access_passes(rows[i].path, rows[i].argument, "10.1.255.1"),
                    "%s %s", rows[i].path, rows[i].argument);
    }
}

UNIT_TEST(test_networks)
{
    static const struct {
        const char *client;
        bool passes;
    } rows[] = {
        {"10.1.0.0", true},
        {"10.2.0.0", false},
        {"::ffff:10.1.2.3", true},
        {"::ffff:10.2.2.3", false},
        {"fd00::1", true},
        {"fe80::1", false},
        {"::1", false},
        {"127.0.0.1", false},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        assert_that(http_access_passes("/secret", NULL, rows[i].client) == rows[i].passes, "%s",
                    rows[i].client);
    }
}

/* A connection whose peer is not known passes for nobody's. */
UNIT_TEST(test_no_address)
{
    static const struct network all[] = {{.ip = {.family_bytes = 4}}, {.ip = {.family_bytes = 16}}};
    const struct http_access access = {restricted, ARRAY_LEN(restricted), all, ARRAY_LEN(all), ""};
    const struct http_request request = {.method = "GET", .path = "/secret"};
    assert_false(http_access_allows(&access, &request, &(struct ip){0}));
}
