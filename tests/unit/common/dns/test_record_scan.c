/* record_scan, the fast path of reading values: accepts what kube2sky writes, and agrees with
 * record_from_json; accepts nothing that record_from_json rejects. */
#include "common/dns/record_json.h"
#include "common/dns/record_scan.h"
#include "tests/support/unit_test.h"

static void record_scan_assert_same(const char *json, const struct record *a,
                                    const struct record *b)
{
    assert_that(slice_equal(a->host, b->host) && slice_equal(a->text, b->text) &&
                    slice_equal(a->group, b->group) && a->ttl_s == b->ttl_s && a->port == b->port &&
                    a->priority == b->priority && a->weight == b->weight &&
                    a->targetstrip == b->targetstrip && a->mail == b->mail,
                "%s: fast and slow path differ", json);
}

/* Whether the fast path accepts it; then the slow path must agree. The value has its exact size, so
 * that the sanitizer catches a read past it. */
static bool dns_record_scan(const char *json, size_t len)
{
    struct record view;
    struct record record;
    CLEANUP_FREE char *value = xmalloc(len);
    memcpy(value, json, len);
    bool is_taken = record_scan(slice_of(value, len), &view);
    if (is_taken) {
        assert_that(record_from_json(slice_of(value, len), &record, NULL) >= 0,
                    "%.*s: accepted by the fast path only", (int)len, json);
        record_scan_assert_same(json, &view, &record);
        record_fini(&record);
    }
    return is_taken;
}

static const char *const written[] = {
    "{\"host\":\"10.0.0.1\",\"priority\":10,\"weight\":10,\"ttl\":30,\"targetstrip\":0}",
    "{\"host\":\"10.0.0.1\",\"priority\":10,\"weight\":10,\"ttl\":30}",
    "{\"host\":\"web.default.svc.cluster.local.\",\"port\":65535,\"weight\":10,\"ttl\":30}",
    "{\"host\":\"fd00::1\",\"ttl\":4294967295}",
    "{\"text\":\"v=1 ~ {}[],:\",\"group\":\"g\",\"mail\":true}",
    "{\"mail\":false,\"host\":\"\",\"port\":0}",
    "{\"host\":\"a\",\"host\":\"b\",\"ttl\":1,\"ttl\":2}",
};

static int record_scan_before_tests(void **state)
{
    record_json_use_xalloc();
    return 0;
}

UNIT_TESTS_ONCE(record_scan_before_tests, NULL)

UNIT_TEST(test_taken)
{
    for (size_t i = 0; i < ARRAY_LEN(written); i++) {
        assert_that(dns_record_scan(written[i], strlen(written[i])), "%s: not accepted",
                    written[i]);
    }
}

/* Accepts what kube2sky writes, which is read by the hundred thousand. */
UNIT_TEST(test_takes_what_is_written)
{
    struct record record = {.host = slice_str("web-1.default.svc.cluster.local."),
                            .ttl_s = INT32_MAX};
    for (unsigned i = 0; i <= UINT16_MAX; i += 5) {
        struct record view;
        record.port = (uint16_t)i;
        record.priority = (uint16_t)(UINT16_MAX - i);
        record.weight = (uint16_t)(i ^ 0x5555);
        CLEANUP_BUF struct buf json = buf_of(RECORD_JSON_MAX);
        record_to_json(&record, &json);
        assert_true(record_scan(buf_slice(&json), &view));
        record_scan_assert_same(buf_cstr(&json), &view, &record);
    }
}

UNIT_TEST(test_left_to_others)
{
    static const char *const cases[] = {
        "",
        "{",
        "{}",
        "[]",
        "null",
        "{\"host\":\"a\"",
        "{\"host\":\"a\"} ",
        " {\"host\":\"a\"}",
        "{ \"host\":\"a\"}",
        "{\"host\": \"a\"}",
        "{\"host\":\"a\",}",
        "{\"host\":\"a\"}}",
        "{\"host\":\"a\"\"port\":1}",
        "{\"host\"\"a\"}",
        "{host:\"a\"}",
        "{\"host\":a}",
        "{\"host\":\"a}",
        "{\"host\":null}",
        "{\"host\":1}",
        "{\"HOST\":\"a\"}",
        "{\"hosts\":\"a\"}",
        "{\"other\":1}",
        "{\"host\":\"\\u0061\"}",
        "{\"host\":\"\xc3\xa9\"}",
        "{\"host\":\"\xff\"}",
        "{\"host\":\"a\nb\"}",
        "{\"host\":\"\x7f\"}",
        "{\"port\":}",
        "{\"port\":-1}",
        "{\"port\":+1}",
        "{\"port\":01}",
        "{\"port\":00}",
        "{\"port\":1.0}",
        "{\"port\":1e1}",
        "{\"port\":65536}",
        "{\"port\":\"80\"}",
        "{\"weight\":70000}",
        "{\"priority\":99999999999999999999999999999999}",
        "{\"targetstrip\":18446744073709551616}",
        "{\"ttl\":4294967296}",
        "{\"mail\":1}",
        "{\"mail\":tru}",
        "{\"mail\":trues}",
        "{\"mail\":\"true\"}",
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        assert_that(!dns_record_scan(cases[i], strlen(cases[i])), "%s: accepted", cases[i]);
    }
    struct record view = {.ttl_s = 77};
    assert_false(record_scan(slice_of(NULL, 0), &view));
    assert_false(record_scan(slice_str("{\"ttl\":1"), &view));
    assert_int_equal(view.ttl_s, 77); /* untouched */
}

/* At every byte of the values above: truncated, the byte removed, every byte in its place or before
 * it. */
UNIT_TEST(test_agrees_on_neighbours)
{
    unsigned taken = 0;
    for (size_t i = 0; i < ARRAY_LEN(written); i++) {
        char json[256];
        size_t len = strlen(written[i]);
        for (size_t at = 0; at < len; at++) {
            memcpy(json, written[i], len);
            memmove(json + at, json + at + 1, len - at - 1);
            taken += dns_record_scan(json, len - 1);
            taken += dns_record_scan(written[i], at);
            for (unsigned c = 0; c < 256; c++) {
                memcpy(json, written[i], len);
                json[at] = (char)c;
                taken += dns_record_scan(json, len);
                memcpy(json + at + 1, written[i] + at, len - at);
                taken += dns_record_scan(json, len + 1);
            }
        }
    }
    assert_true(taken > 10000); /* other digits and letters are fine */
}

UNIT_TEST(test_size_limit)
{
    struct record view;
    CLEANUP_FREE char *json = xmalloc(RECORD_JSON_MAX + 1);
    memset(json, 'x', RECORD_JSON_MAX + 1);
    memcpy(json, "{\"text\":\"", 9);
    memcpy(json + RECORD_JSON_MAX - 2, "\"}", 2);
    assert_true(record_scan(slice_of(json, RECORD_JSON_MAX), &view));
    assert_int_equal(view.text.len, RECORD_JSON_MAX - 11);
    memcpy(json + RECORD_JSON_MAX - 2, "x\"}", 3);
    assert_false(record_scan(slice_of(json, RECORD_JSON_MAX + 1), &view));
}
