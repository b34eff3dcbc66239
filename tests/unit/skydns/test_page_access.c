/* The pages that are for few, and for whom. */
#include "skydns/http_pages.h"

#include "tests/support/unit_test.h"

static bool page_access_passes(const struct page_access *access, const char *path,
                               const char *argument, const char *client)
{
    const struct http_request request = {.method = "GET",
                                         .path = path,
                                         .argument_count = argument != NULL,
                                         .arguments = {{argument, "10m"}}};
    struct addr addr;
    assert_true(addr_parse_ip(slice_str(client), 1, &addr));
    const struct ip ip = addr_ip(&addr);
    return http_access_allows(&access->rule, &request, &ip);
}

UNIT_TEST(test_pages)
{
    static const char *const few[][2] = {{"/clients"},     {"/missing"}, {"/history", "name"},
                                         {"/watch"},       {"/flush"},   {"/explain", "at"},
                                         {"/clients", "n"}};
    static const char *const all[][2] = {
        {"/"},       {"/live"},    {"/healthz"},         {"/readiness"}, {"/cache"},
        {"/search"}, {"/metrics"}, {"/explain", "name"}, {"/wait"}};
    struct page_access access;
    page_access_set(&access, NULL, 0);
    for (size_t i = 0; i < ARRAY_LEN(few); i++) {
        assert_false(page_access_passes(&access, few[i][0], few[i][1], "10.1.0.1"));
        assert_false(page_access_passes(&access, few[i][0], few[i][1], "fd00::1"));
        assert_true(page_access_passes(&access, few[i][0], few[i][1], "127.0.0.9"));
        assert_true(page_access_passes(&access, few[i][0], few[i][1], "::1"));
        assert_true(page_access_passes(&access, few[i][0], few[i][1], "::ffff:127.0.0.1"));
    }
    for (size_t i = 0; i < ARRAY_LEN(all); i++) {
        assert_true(page_access_passes(&access, all[i][0], all[i][1], "10.1.0.1"));
    }
}

/* The networks of the flag add to loopback, and can be taken away again. */
UNIT_TEST(test_networks)
{
    struct network networks[HTTP_ACCESS_NETWORKS_MAX];
    struct page_access access;
    struct err err;
    for (size_t i = 0; i < HTTP_ACCESS_NETWORKS_MAX; i++) {
        assert_int_equal(network_parse(slice_str("10.1.0.0/16"), &networks[i], &err), 0);
    }
    assert_int_equal(
        network_parse(slice_str("fd00::/8"), &networks[HTTP_ACCESS_NETWORKS_MAX - 1], &err), 0);
    page_access_set(&access, networks, HTTP_ACCESS_NETWORKS_MAX);
    assert_true(page_access_passes(&access, "/clients", NULL, "10.1.0.1"));
    assert_true(page_access_passes(&access, "/clients", NULL, "::ffff:10.1.0.1"));
    assert_true(page_access_passes(&access, "/clients", NULL, "fd00::1"));
    assert_true(page_access_passes(&access, "/clients", NULL, "127.0.0.1"));
    assert_false(page_access_passes(&access, "/clients", NULL, "10.2.0.1"));
    page_access_set(&access, networks, 1);
    assert_true(page_access_passes(&access, "/clients", NULL, "10.1.0.1"));
    assert_false(page_access_passes(&access, "/clients", NULL, "fd00::1"));
    assert_true(page_access_passes(&access, "/clients", NULL, "::1"));
}
