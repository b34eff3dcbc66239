/* Tests what a response says besides DNS. */
#include "skydns/doh/doh_reply_internal.h"

#include "common/base/buf.h"
#include "common/dns/dns.h"
#include "tests/support/unit_test.h"

UNIT_TEST(test_numbers)
{
    static const struct {
        uint32_t number;
        const char *text;
    } cases[] = {{0, "0"}, {9, "9"}, {10, "10"}, {65535, "65535"}, {UINT32_MAX, "4294967295"}};
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        char text[DOH_NUMBER_MAX];
        assert_int_equal(doh_reply_number(cases[i].number, text), strlen(cases[i].text));
        assert_string_equal(text, cases[i].text);
    }
}

/* ---- Heads ---- */

static void doh_reply_check_head(const struct doh_reply_head *head, const char *want)
{
    uint8_t out[DOH_REPLY_HEAD_MAX + 1];
    size_t len = doh_reply_head(head, out);
    out[len] = '\0';
    assert_string_equal((const char *)out, want);
}

UNIT_TEST(test_heads)
{
    static const char date[] = "Sun, 06 Nov 1994 08:49:37 GMT";
    doh_reply_check_head(
        &(struct doh_reply_head){.status = HTTP_OK, .content_length = 47, .date = date},
        "HTTP/1.1 200 OK\r\nContent-Type: application/dns-message\r\n"
        "Content-Length: 47\r\nCache-Control: max-age=0\r\n"
        "Date: Sun, 06 Nov 1994 08:49:37 GMT\r\n\r\n");
    doh_reply_check_head(&(struct doh_reply_head){.status = HTTP_OK,
                                                  .content_length = 65535,
                                                  .max_age = 3600,
                                                  .date = date,
                                                  .keeps_alive = true},
                         "HTTP/1.1 200 OK\r\nContent-Type: application/dns-message\r\n"
                         "Content-Length: 65535\r\nCache-Control: max-age=3600\r\n"
                         "Date: Sun, 06 Nov 1994 08:49:37 GMT\r\nConnection: keep-alive\r\n\r\n");
    doh_reply_check_head(
        &(struct doh_reply_head){.status = HTTP_WRONG_METHOD,
                                 .content_length = 24,
                                 .date = date,
                                 .is_last = true,
                                 .keeps_alive = true},
        "HTTP/1.1 405 Method Not Allowed\r\nContent-Type: text/plain; charset=utf-8\r\n"
        "Content-Length: 24\r\nCache-Control: max-age=0\r\n"
        "Date: Sun, 06 Nov 1994 08:49:37 GMT\r\nAllow: GET, POST, HEAD\r\n"
        "Connection: close\r\n\r\n");
}

/* The longest head fits: the bound is the buffer's. */
UNIT_TEST(test_longest_heads)
{
    static const enum http_status statuses[] = {HTTP_OK,
                                                HTTP_BAD_REQUEST,
                                                HTTP_NOT_FOUND,
                                                HTTP_WRONG_METHOD,
                                                HTTP_TOO_LONG,
                                                HTTP_TARGET_TOO_LONG,
                                                HTTP_WRONG_TYPE,
                                                HTTP_EXPECTATION_FAILED,
                                                HTTP_INTERNAL_ERROR,
                                                HTTP_HEAD_TOO_LONG,
                                                HTTP_UNKNOWN_CODING,
                                                HTTP_WRONG_VERSION};
    for (size_t i = 0; i < ARRAY_LEN(statuses); i++) {
        uint8_t out[DOH_REPLY_HEAD_MAX];
        const struct doh_reply_head head = {.status = statuses[i],
                                            .content_length = UINT32_MAX,
                                            .max_age = UINT32_MAX,
                                            .date = "Sun, 06 Nov 1994 08:49:37 GMT",
                                            .is_last = true};
        size_t len = doh_reply_head(&head, out);
        assert_memory_equal(out + len - 4, "\r\n\r\n", 4);
        assert_int_equal(statuses[i] == HTTP_OK, doh_reply_error(statuses[i]).len == 0);
    }
}

UNIT_TEST(test_date)
{
    struct doh_date date = {0};
    const char *text = doh_date_now(&date);
    assert_int_equal(strlen(text), DOH_DATE_MAX - 1);
    assert_memory_equal(text + 25, " GMT", 4);
    date.second = 0; /* of long ago: written again */
    date.text[0] = '?';
    assert_int_not_equal(*doh_date_now(&date), '?');
    date.text[0] = '?'; /* kept for the rest of the second, unless that ends just now */
    int64_t second = date.second;
    assert_true(*doh_date_now(&date) == '?' || date.second > second);
}
