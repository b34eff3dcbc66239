/* The scanner that splits JSON text into members. */
#include "common/base/buf.h"
#include "kube2sky/api/json_scan_internal.h"
#include "tests/support/unit_test.h"

/* Each member as "key=value|"; a final "!" = failed. */
static char *json_scan_members(const char *text)
{
    struct json_scan scan = json_scan_object(slice_str(text));
    struct slice key, value;
    struct buf out;
    buf_init(&out, 4096);
    while (json_scan_member(&scan, &key, &value)) {
        buf_append_slice(&out, key);
        buf_append_char(&out, '=');
        buf_append_slice(&out, value);
        buf_append_char(&out, '|');
    }
    if (scan.failed) {
        buf_append_char(&out, '!');
    }
    (void)buf_cstr(&out);
    return (char *)out.data;
}

struct scan_case {
    const char *in;
    const char *want;
};

UNIT_TEST(test_objects)
{
    static const struct scan_case cases[] = {
        {"{}", ""},
        {"{\"a\":1}", "a=1|"},
        {" { \"a\" : {\"b\":[]} , \"c\":\"}\" } ", "a={\"b\":[]}|c=\"}\"|"},
        {"{\"a\\\"b\":true}", "a\\\"b=true|"},
        {"{\"a\"}", "!"},
        {"{\"a\":}", "!"},
        {"{\"a\":1,}", "a=1|!"},
        {"{a:1}", "!"},
        {"{\"a", "!"},
        {"{\"a\":1", "a=1|!"},
        {"{\"a\":{broken: ]}, \"b\":2}", "a={broken: ]|!"}, /* brackets of any kind count */
        {"{\"a\":{broken: []}, \"b\":2}", "a={broken: []}|b=2|"},
        {"{\"a\":\"]}\",\"b\":\"\\\"]\"} \n", "a=\"]}\"|b=\"\\\"]\"|"},
        {"{\"a\":1 \"b\":2}", "a=1|!"},
        {"{\"a\":1}x", "a=1|!"},
        {"{\"a\":\"b\\", "!"},
        {"[]", "!"},
        {"null", "!"},
        {"", "!"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        CLEANUP_FREE char *got = json_scan_members(cases[i].in);
        assert_that(strcmp(got, cases[i].want) == 0, "%s: got %s, want %s", cases[i].in, got,
                    cases[i].want);
    }
}
