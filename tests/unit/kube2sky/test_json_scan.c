/* The scanner that cuts JSON text into members and elements. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "common/attributes.h"
#include "common/buf.h"
#include "kube2sky/json_scan.h"

/* Elements joined with "|"; "!" at the end = failed. */
static char *elements(const char *text)
{
    struct json_scan scan = json_scan_array(slice_str(text));
    struct slice value;
    struct buf out;
    buf_init(&out, 4096);
    while (json_scan_element(&scan, &value)) {
        buf_append_slice(&out, value);
        buf_append_char(&out, '|');
    }
    if (scan.failed) {
        buf_append_char(&out, '!');
    }
    (void)buf_cstr(&out);
    return (char *)out.data;
}

static char *members(const char *text)
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

static void run(const struct scan_case *cases, size_t count, char *(*scan)(const char *))
{
    for (size_t i = 0; i < count; i++) {
        char *got = scan(cases[i].in);
        if (strcmp(got, cases[i].want) != 0) {
            fail_msg("%s: got %s, want %s", cases[i].in, got, cases[i].want);
        }
        free(got);
    }
}

static void test_arrays(void **state)
{
    (void)state;
    static const struct scan_case cases[] = {
        {"[]", ""},
        {" [ ] \n", ""},
        {"[1]", "1|"},
        {"[ {\"a\":[1,2]} , \"x\" ,null]", "{\"a\":[1,2]}|\"x\"|null|"},
        {"[\"]\",\"\\\"]\",{\"}\":\"{\"}]", "\"]\"|\"\\\"]\"|{\"}\":\"{\"}|"},
        {"[{broken: ]}, 2]", "{broken: ]|!"}, /* brackets count, whatever their kind */
        {"[{broken: []}, 2]", "{broken: []}|2|"},
        {"", "!"},
        {"[", "!"},
        {"[1", "1|!"},
        {"[1,", "1|!"},
        {"[1,]", "1|!"},
        {"[,1]", "!"},
        {"[1 2]", "1|!"},
        {"[1]x", "1|!"},
        {"[\"abc]", "!"},
        {"[\"abc\\", "!"},
        {"[{\"a\":1", "!"},
        {"{}", "!"},
        {"null", "!"},
    };
    run(cases, ARRAY_LEN(cases), elements);
}

static void test_objects(void **state)
{
    (void)state;
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
        {"[]", "!"},
        {"", "!"},
    };
    run(cases, ARRAY_LEN(cases), members);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_arrays),
        cmocka_unit_test(test_objects),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
