/* Tests what a request asks: method, path, type, and the query in base64url. */
#include "skydns/doh/doh_request_internal.h"

#include "tests/support/unit_test.h"

UNIT_TEST(test_routes)
{
    static const struct {
        const char *method, *target, *type;
        unsigned status;
        const char *text; /* of a query in the target */
    } cases[] = {
        {"GET", "/dns-query?dns=AAAB", "", 0, "AAAB"},
        {"HEAD", "/dns-query?dns=AAAB", "text/html", 0, "AAAB"},
        {"GET", "/dns-query?a&b=c&dns=AAAB&dnsx=1&&ct", "", 0, "AAAB"},
        {"GET", "/dns-query?dns=A%2dAB", "", 0, "A%2dAB"},
        {"GET", "/dns-query?dns=", "", 0, ""},
        {"GET", "/dns-query?dns=a=b", "", 0, "a=b"},
        {"GET", "http://name:80/dns-query?dns=AAAB", "", 0, "AAAB"},
        {"GET", "HTTPS://[::1]/dns-query?dns=AAAB", "", 0, "AAAB"},
        {"POST", "/dns-query", "application/dns-message", 0, ""},
        {"POST", "/dns-query?dns=other", "Application/DNS-Message \t; charset=x;y", 0, ""},
        {"GET", "/dns-query", "", 400, NULL},
        {"GET", "/dns-query?", "", 400, NULL},
        {"GET", "/dns-query?DNS=AAAB", "", 400, NULL},
        {"GET", "/dns-query?dns=AAAB&dns=AAAB", "", 400, NULL},
        {"GET", "/", "", 404, NULL},
        {"GET", "*", "", 404, NULL},
        {"GET", "", "", 404, NULL},
        {"GET", "http://name", "", 404, NULL},
        {"GET", "http://name?/dns-query?dns=AAAB", "", 404, NULL},
        {"POST", "/dns-query/", "application/dns-message", 404, NULL},
        {"POST", "/dns-quer", "application/dns-message", 404, NULL},
        {"PUT", "/dns-query%20", "application/dns-message", 404, NULL},
        {"PUT", "/dns-query?dns=AAAB", "application/dns-message", 405, NULL},
        {"get", "/dns-query?dns=AAAB", "", 405, NULL},
        {"OPTIONS", "/dns-query", "", 405, NULL},
        {"POST", "/dns-query", "", 415, NULL},
        {"POST", "/dns-query", "application/dns-messages", 415, NULL},
        {"POST", "/dns-query", "application/dns-json", 415, NULL},
        {"POST", "/dns-query?dns=AAAB", "application/x-www-form-urlencoded", 415, NULL},
        {"POST", "/dns-query", ";application/dns-message", 415, NULL},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        const struct doh_request request = {slice_str(cases[i].method), slice_str(cases[i].target),
                                            slice_str(cases[i].type)};
        struct doh_route route;
        unsigned status = doh_request_route(&request, &route);
        assert_that(status == cases[i].status &&
                        (status != 0 || slice_equal(route.text, slice_str(cases[i].text))),
                    "%s %s: %u", cases[i].method, cases[i].target, status);
        assert_int_equal(route.is_head, strcmp(cases[i].method, "HEAD") == 0);
        assert_int_equal(route.is_in_body, strcmp(cases[i].method, "POST") == 0);
    }
}

/* Over HTTP/2, any field may be absent. */
UNIT_TEST(test_absent_fields)
{
    struct doh_request request = {.method = slice_str("POST"), .target = slice_str("/dns-query")};
    struct doh_route route;
    assert_int_equal(doh_request_route(&request, &route), 415);
    request.target = slice_of(NULL, 0);
    assert_int_equal(doh_request_route(&request, &route), 404);
    request.method = slice_of(NULL, 0);
    assert_int_equal(doh_request_route(&request, &route), 404);
    request.target = slice_str("/dns-query?dns=AAAB");
    assert_int_equal(doh_request_route(&request, &route), 405);
}

UNIT_TEST(test_base64url)
{
    static const struct {
        const char *text, *want; /* NULL: refused */
    } cases[] = {
        {"", ""},
        {"Zg", "f"},
        {"Zm8", "fo"},
        {"Zm9v", "foo"},
        {"Zm9vYg", "foob"},
        {"Zm9vYmFy", "foobar"},
        {"-_-_", "\xfb\xff\xbf"},
        {"%2D%5f-_", "\xfb\xff\xbf"},
        {"%5a%67", "f"},
        {"Zh", "f"}, /* bits that belong to no byte, as Go takes them */
        {"Z", NULL},
        {"Zm9vY", NULL},
        {"Zg==", NULL},
        {"Zm9v=", NULL},
        {"+/+/", NULL},
        {"Zm 9v", NULL},
        {"Zg%3d%3D", NULL},
        {"Zm%", NULL},
        {"Zm%3", NULL},
        {"Zm%3x", NULL},
        {"Zm%00", NULL},
        {"Zm\xc3\xa4", NULL},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        uint8_t out[DOH_TARGET_QUERY_MAX];
        size_t len = 0;
        unsigned status = doh_request_decode(slice_str(cases[i].text), out, &len);
        assert_that(
            status == (cases[i].want ? 0 : 400) &&
                (!cases[i].want || slice_equal(slice_of(out, len), slice_str(cases[i].want))),
            "%s: %u, %zu bytes", cases[i].text, status, len);
    }
}

/* No more is written than there is room for: the longest target fits. */
UNIT_TEST(test_longest_text)
{
    static char text[HTTP_HEAD_MAX + 4];
    uint8_t out[DOH_TARGET_QUERY_MAX];
    size_t len;
    memset(text, 'A', sizeof(text));
    assert_int_equal(doh_request_decode(slice_of(text, HTTP_HEAD_MAX), out, &len), 0);
    assert_int_equal(len, DOH_TARGET_QUERY_MAX);
    assert_int_equal(doh_request_decode(slice_of(text, sizeof(text)), out, &len), 400);
}

UNIT_TEST(test_queries)
{
    static const char query[] = "\0\0\1\0\0\1\0\0\0\0\0\0\1a\0\0\1\0\1";
    static char longest[DOH_QUERY_MAX + 1];
    size_t len = sizeof(query) - 1;
    assert_int_equal(doh_request_check(slice_of(query, len)), 0);
    for (size_t n = 0; n < len; n++) {
        assert_int_equal(doh_request_check(slice_of(query, n)), 400);
    }
    memcpy(longest, query, len);
    assert_int_equal(doh_request_check(slice_of(longest, DOH_QUERY_MAX)), 0);
    assert_int_equal(doh_request_check(slice_of(longest, DOH_QUERY_MAX + 1)), 413);
    longest[2] = (char)0x81; /* a reply */
    assert_int_equal(doh_request_check(slice_of(longest, len)), 400);
    longest[2] = 1;
    longest[5] = 0; /* no question */
    assert_int_equal(doh_request_check(slice_of(longest, len)), 400);
    longest[5] = 1;
    longest[12] = (char)0xc0; /* a name that points to what is not before it */
    assert_int_equal(doh_request_check(slice_of(longest, len)), 400);
}
