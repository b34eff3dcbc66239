/* Lists of etcd URLs. */
#include "common/base/buf.h"
#include "common/etcd/etcd_endpoint_internal.h"
#include "tests/support/unit_test.h"

UNIT_TEST(test_accepted)
{
    static const struct {
        const char *in;
        const char *want; /* TLS, address and authority of each */
    } cases[] = {
        {"http://127.0.0.1:4001", "127.0.0.1:4001 127.0.0.1:4001;"},
        {"http://127.0.0.1:2379/", "127.0.0.1:2379 127.0.0.1:2379;"},
        {"http://10.0.0.1", "10.0.0.1:2379 10.0.0.1:2379;"},
        {"http://[::1]:4001", "[::1]:4001 [::1]:4001;"},
        {"http://[fd00::7]", "[fd00::7]:2379 [fd00::7]:2379;"},
        {"https://10.0.0.1", "TLS 10.0.0.1:2379 10.0.0.1:2379;"},
        {"https://10.0.0.1:4001/,http://10.0.0.2:4001",
         "TLS 10.0.0.1:4001 10.0.0.1:4001;10.0.0.2:4001 10.0.0.2:4001;"},
        {"http://127.0.0.1:2379,http://127.0.0.1:4001",
         "127.0.0.1:2379 127.0.0.1:2379;127.0.0.1:4001 127.0.0.1:4001;"},
        {" http://127.0.0.1:1 , http://127.0.0.1:65535 ",
         "127.0.0.1:1 127.0.0.1:1;127.0.0.1:65535 127.0.0.1:65535;"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        CLEANUP(etcd_endpoints_fini) struct etcd_endpoints list;
        struct err err;
        CLEANUP_BUF struct buf got = buf_of(4096);
        assert_that(etcd_endpoints_parse(cases[i].in, &list, &err) == 0, "`%s`: %s", cases[i].in,
                    err.msg);
        for (size_t k = 0; k < list.count; k++) {
            char text[ADDR_TEXT_MAX];
            buf_printf(&got, "%s%s %s;", list.items[k].is_tls ? "TLS " : "",
                       addr_format(&list.items[k].address, text), list.items[k].authority);
        }
        assert_string_equal(buf_cstr(&got), cases[i].want);
    }
}

UNIT_TEST(test_name)
{
    struct etcd_endpoints list;
    assert_int_equal(etcd_endpoints_parse("http://etcd-0.etcd:4001", &list, NULL), 0);
    assert_int_equal(list.count, 1);
    assert_false(list.items[0].is_literal);
    assert_string_equal(list.items[0].host, "etcd-0.etcd");
    assert_int_equal(list.items[0].port, 4001);
    assert_string_equal(list.items[0].authority, "etcd-0.etcd:4001");
    assert_string_equal(list.items[0].url, "http://etcd-0.etcd:4001");
    etcd_endpoints_fini(&list);

    assert_int_equal(etcd_endpoints_parse("http://[::1]", &list, NULL), 0);
    assert_true(list.items[0].is_literal);
    assert_string_equal(list.items[0].host, "::1");
    etcd_endpoints_fini(&list);
}

UNIT_TEST(test_refused)
{
    static const struct {
        const char *in;
        const char *want; /* part of the message */
    } cases[] = {
        {"", "not an http:// or https:// URL"},
        {"127.0.0.1:2379", "not an http:// or https:// URL"},
        {"HTTP://127.0.0.1:2379", "not an http:// or https:// URL"},
        {"ftp://127.0.0.1", "not an http:// or https:// URL"},
        {"https:/127.0.0.1:2379", "not an http:// or https:// URL"},
        {"http://", "invalid host"},
        {"http://:2379", "invalid host"},
        {"http://[::1", "invalid host"},
        {"http://[::1]2379", "invalid host"},
        {"http://[]:2379", "invalid host"},
        {"http://127.0.0.1:", "the port must be 1-65535"},
        {"http://127.0.0.1:0", "the port must be 1-65535"},
        {"http://127.0.0.1:65536", "the port must be 1-65535"},
        {"http://127.0.0.1:2379x", "the port must be 1-65535"},
        {"http://127.0.0.1:000002379", "the port must be 1-65535"},
        {"http://::1", "invalid host"},
        {"http://127.0.0.1:2379/v2", "path, query and user"},
        {"http://user@127.0.0.1:2379", "path, query and user"},
        {"http://127.0.0.1:2379?x", "path, query and user"},
        {"http://127.0.0.1 :2379", "path, query and user"},
        {"http://127.0.0.1:2379,", "not an http:// or https:// URL"},
        {"http://127.0.0.1:2379,,http://127.0.0.1:4001", "not an http:// or https:// URL"},
        {"http://127.0.0.1:2379,https://", "`https://`: invalid host"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct etcd_endpoints list = {.count = 77};
        struct err err;
        assert_int_equal(etcd_endpoints_parse(cases[i].in, &list, &err), ERR_USAGE);
        assert_that(strstr(err.msg, cases[i].want), "`%s`: want `%s`, got `%s`", cases[i].in,
                    cases[i].want, err.msg);
        assert_int_equal(list.count, 77); /* untouched */
    }
}

UNIT_TEST(test_too_many)
{
    struct etcd_endpoints list;
    struct err err;
    CLEANUP_BUF struct buf urls = buf_of(4096);
    for (int i = 1; i <= ETCD_ENDPOINTS_MAX; i++) {
        buf_printf(&urls, "%shttp://127.0.0.1:%d", i > 1 ? "," : "", i);
    }
    assert_int_equal(etcd_endpoints_parse(buf_cstr(&urls), &list, &err), 0);
    assert_int_equal(list.count, ETCD_ENDPOINTS_MAX);
    etcd_endpoints_fini(&list);
    buf_append_str(&urls, ",http://127.0.0.1:99");
    assert_int_equal(etcd_endpoints_parse(buf_cstr(&urls), &list, &err), ERR_USAGE);
    assert_non_null(strstr(err.msg, "too many endpoints"));
}

UNIT_TEST(scopes)
{
    static const struct {
        const char *url, *host;
    } cases[] = {
        {"http://[fe80::1%25eth0]:2379", "fe80::1%eth0"},
        {"http://[fe80::1%eth0]:2379", "fe80::1%eth0"},
        {"http://[fe80::1%25]:2379", "fe80::1%25"}, /* the interface's number */
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        CLEANUP(etcd_endpoints_fini) struct etcd_endpoints list;
        assert_int_equal(etcd_endpoints_parse(cases[i].url, &list, NULL), 0);
        assert_string_equal(list.items[0].host, cases[i].host);
        assert_string_equal(list.items[0].authority, "[fe80::1]:2379");
    }
}
