/* How long a reply may be kept, and the head that says so. */
#include "skydns/doh/doh_reply_internal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/base/attributes.h"
#include "common/base/buf.h"
#include "common/dns/dns.h"
#include "skydns/doh/doh_date_internal.h"

/* ---- Replies ---- */

struct record_plan {
    enum dns_type type;
    uint32_t ttl_s;
    uint32_t minimum_s; /* of a SOA */
};

struct reply_plan {
    const char *name;
    uint16_t flags;
    struct record_plan answers[4], authorities[3]; /* until one without a type */
    uint32_t want;
};

/* Owners are compressed, or spelled out in every second record. */
static void add_record(struct buf *b, const struct record_plan *record, unsigned number)
{
    if (number % 2) {
        buf_append(b, "\1x\7example\0", 11);
    } else {
        buf_append(b, "\xc0\x0c", 2);
    }
    buf_append_u16(b, (uint16_t)record->type);
    buf_append_u16(b, DNS_CLASS_IN);
    buf_append_u32(b, record->ttl_s);
    if (record->type == DNS_TYPE_SOA) {
        buf_append_u16(b, 2 + 2 + 5 * 4);
        buf_append(b, "\xc0\x0c\xc0\x0c", 4);
        buf_append(b, "serialrefreshretry", 16);
        buf_append_u32(b, record->minimum_s);
    } else {
        buf_append_u16(b, 4);
        buf_append(b, "\1\2\3\4", 4);
    }
}

static void make_reply(struct buf *b, const struct reply_plan *plan)
{
    uint16_t answers = 0, authorities = 0;
    while (answers < ARRAY_LEN(plan->answers) && plan->answers[answers].type) {
        answers++;
    }
    while (authorities < ARRAY_LEN(plan->authorities) && plan->authorities[authorities].type) {
        authorities++;
    }
    buf_append_u16(b, 7);
    buf_append_u16(b, DNS_FLAG_QR | plan->flags);
    buf_append_u16(b, 1);
    buf_append_u16(b, answers);
    buf_append_u16(b, authorities);
    buf_append_u16(b, 1);
    buf_append(b, "\1x\7example\0\0\1\0\1", 15);
    for (unsigned i = 0; i < answers; i++) {
        add_record(b, &plan->answers[i], i);
    }
    for (unsigned i = 0; i < authorities; i++) {
        add_record(b, &plan->authorities[i], i);
    }
    add_record(b, &(struct record_plan){DNS_TYPE_A, 1, 0}, 0); /* additional: does not count */
}

static const struct reply_plan plans[] = {
    {"one", 0, {{DNS_TYPE_A, 30, 0}}, {{0}}, 30},
    {"the smallest", 0, {{DNS_TYPE_A, 30, 0}, {DNS_TYPE_A, 7, 0}, {DNS_TYPE_A, 90, 0}}, {{0}}, 7},
    {"none for later", 0, {{DNS_TYPE_A, 0, 0}, {DNS_TYPE_A, 7, 0}}, {{0}}, 0},
    {"authority of an answer", 0, {{DNS_TYPE_A, 30, 0}}, {{DNS_TYPE_NS, 5, 0}}, 30},
    {"the longest", 0, {{DNS_TYPE_A, INT32_MAX, 0}}, {{0}}, INT32_MAX},
    {"a sign, RFC 2181", 0, {{DNS_TYPE_A, 0x80000000U, 0}}, {{0}}, 0},
    {"a SOA as the answer", 0, {{DNS_TYPE_SOA, 30, 5}}, {{0}}, 30},
    {"no data, minimum", 0, {{0}}, {{DNS_TYPE_SOA, 60, 30}}, 30},
    {"no data, TTL", 0, {{0}}, {{DNS_TYPE_SOA, 20, 30}}, 20},
    {"no data, proof first", 0, {{0}}, {{DNS_TYPE_NS, 5, 0}, {DNS_TYPE_SOA, 60, 30}}, 30},
    {"no name", DNS_RCODE_NXDOMAIN, {{0}}, {{DNS_TYPE_SOA, 60, 40}}, 40},
    {"no data of an alias", 0, {{DNS_TYPE_CNAME, 50, 0}}, {{DNS_TYPE_SOA, 60, 40}}, 40},
    {"no name of an alias",
     DNS_RCODE_NXDOMAIN,
     {{DNS_TYPE_CNAME, 20, 0}},
     {{DNS_TYPE_SOA, 60, 40}},
     20},
    {"no name of an alias, nor SOA", DNS_RCODE_NXDOMAIN, {{DNS_TYPE_CNAME, 20, 0}}, {{0}}, 0},
    {"no data, no SOA", 0, {{0}}, {{DNS_TYPE_NS, 60, 0}}, 0},
    {"empty", 0, {{0}}, {{0}}, 0},
    {"no name, no SOA", DNS_RCODE_NXDOMAIN, {{0}}, {{0}}, 0},
    {"failure", DNS_RCODE_SERVFAIL, {{DNS_TYPE_A, 30, 0}}, {{DNS_TYPE_SOA, 60, 40}}, 0},
    {"refused", DNS_RCODE_REFUSED, {{0}}, {{DNS_TYPE_SOA, 60, 40}}, 0},
    {"truncated", DNS_FLAG_TC, {{DNS_TYPE_A, 30, 0}}, {{0}}, 0},
};

static void test_max_age(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(plans); i++) {
        struct buf b;
        buf_init(&b, SIZE_MAX);
        make_reply(&b, &plans[i]);
        uint32_t got = doh_reply_max_age(b.data, b.len);
        if (got != plans[i].want) {
            fail_msg("%s: %u", plans[i].name, got);
        }
        buf_fini(&b);
    }
}

/* Every reply cut off anywhere before what counts: may not be kept. */
static void test_cut_off(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(plans); i++) {
        struct buf b;
        buf_init(&b, SIZE_MAX);
        make_reply(&b, &plans[i]);
        size_t additional = 2 + 10 + 4;
        for (size_t len = 0; len < b.len - additional; len++) {
            uint8_t *part = malloc(len + 1);
            assert_non_null(part);
            memcpy(part + 1, b.data, len); /* its end is the block's */
            assert_int_equal(doh_reply_max_age(part + 1, len), 0);
            free(part);
        }
        buf_fini(&b);
    }
}

static void test_numbers(void **state)
{
    (void)state;
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

static void check_head(const struct doh_reply_head *head, const char *want)
{
    uint8_t out[DOH_REPLY_HEAD_MAX + 1];
    size_t len = doh_reply_head(head, out);
    out[len] = '\0';
    assert_string_equal((const char *)out, want);
}

static void test_heads(void **state)
{
    (void)state;
    static const char date[] = "Sun, 06 Nov 1994 08:49:37 GMT";
    check_head(&(struct doh_reply_head){.status = DOH_OK, .content_length = 47, .date = date},
               "HTTP/1.1 200 OK\r\nContent-Type: application/dns-message\r\n"
               "Content-Length: 47\r\nCache-Control: max-age=0\r\n"
               "Date: Sun, 06 Nov 1994 08:49:37 GMT\r\n\r\n");
    check_head(&(struct doh_reply_head){.status = DOH_OK,
                                        .content_length = 65535,
                                        .max_age = 3600,
                                        .date = date,
                                        .keeps_alive = true},
               "HTTP/1.1 200 OK\r\nContent-Type: application/dns-message\r\n"
               "Content-Length: 65535\r\nCache-Control: max-age=3600\r\n"
               "Date: Sun, 06 Nov 1994 08:49:37 GMT\r\nConnection: keep-alive\r\n\r\n");
    check_head(&(struct doh_reply_head){.status = DOH_WRONG_METHOD,
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
static void test_longest_heads(void **state)
{
    (void)state;
    static const enum doh_status statuses[] = {
        DOH_OK,       DOH_BAD_REQUEST,     DOH_NOT_FOUND,      DOH_WRONG_METHOD,
        DOH_TOO_LONG, DOH_TARGET_TOO_LONG, DOH_WRONG_TYPE,     DOH_EXPECTATION_FAILED,
        DOH_NO_REPLY, DOH_HEAD_TOO_LONG,   DOH_UNKNOWN_CODING, DOH_WRONG_VERSION};
    for (size_t i = 0; i < ARRAY_LEN(statuses); i++) {
        uint8_t out[DOH_REPLY_HEAD_MAX];
        const struct doh_reply_head head = {.status = statuses[i],
                                            .content_length = UINT32_MAX,
                                            .max_age = UINT32_MAX,
                                            .date = "Sun, 06 Nov 1994 08:49:37 GMT",
                                            .is_last = true};
        size_t len = doh_reply_head(&head, out);
        assert_memory_equal(out + len - 4, "\r\n\r\n", 4);
        assert_int_equal(statuses[i] == DOH_OK, doh_reply_error(statuses[i]).len == 0);
    }
}

static void test_date(void **state)
{
    (void)state;
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

int main(void)
{
    const struct CMUnitTest doh_reply_tests[] = {
        cmocka_unit_test(test_max_age),       cmocka_unit_test(test_cut_off),
        cmocka_unit_test(test_numbers),       cmocka_unit_test(test_heads),
        cmocka_unit_test(test_longest_heads), cmocka_unit_test(test_date),
    };
    return cmocka_run_group_tests(doh_reply_tests, NULL, NULL);
}
