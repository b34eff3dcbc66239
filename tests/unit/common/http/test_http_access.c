/* common/http/http_access.h: which requests of which clients pass. */
#include "common/http/http_access.h"

#include <stdio.h>

#include "common/base/attributes.h"
#include "tests/support/unit_test.h"

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
        if (passes == rows[i].is_restricted ||
            !http_access_passes(rows[i].path, rows[i].argument, "10.1.255.1")) {
            fail_msg("%s %s", rows[i].path, rows[i].argument);
        }
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
        if (http_access_passes("/secret", NULL, rows[i].client) != rows[i].passes) {
            fail_msg("%s", rows[i].client);
        }
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
