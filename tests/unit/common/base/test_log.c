#include "common/base/log.h"

#include <regex.h>

#include "tests/support/log_capture.h"
#include "tests/support/unit_test.h"

#define TIME "[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\\.[0-9]{3}Z"

static void log_assert_matches(const char *text, const char *pattern)
{
    regex_t regex;
    assert_int_equal(regcomp(&regex, pattern, REG_EXTENDED | REG_NOSUB), 0);
    int r = regexec(&regex, text, 0, NULL, 0);
    regfree(&regex);
    assert_that(r == 0, "`%s` does not match `%s`", text, pattern);
}

UNIT_TEST(test_line)
{
    struct log_capture c;
    log_capture_begin(&c);
    log_warn("etcd away, retrying", LOG_STR("endpoint", "http://127.0.0.1:2379"),
             LOG_INT("delay_ms", -200), LOG_SLICE("key", slice_of("/skydns/x", 7)),
             LOG_STR("none", NULL));
    log_assert_matches(log_capture_end(&c),
                       "^warn " TIME " etcd away, retrying endpoint=http://127\\.0\\.0\\.1:"
                       "2379 delay_ms=-200 key=/skydns none=\"\"\n$");
    log_capture_begin(&c);
    log_error("no fields");
    log_info("a second line");
    log_assert_matches(log_capture_end(&c),
                       "^error " TIME " no fields\ninfo " TIME " a second line\n$");
}

UNIT_TEST(test_bytes_from_outside_are_escaped)
{
    static const struct {
        const char *in;
        size_t len;
        const char *want;
    } cases[] = {
        {"plain-._/*", 10, " v=plain-._/*\n"},
        {"two words", 9, " v=\"two words\"\n"},
        {"a=b", 3, " v=\"a=b\"\n"},
        {"say \"hi\"", 8, " v=\"say \\\"hi\\\"\"\n"},
        {"back\\slash", 10, " v=\"back\\\\slash\"\n"},
        {"x\nerror forged", 14, " v=\"x\\nerror forged\"\n"},
        {"\x1b[31m\r\t", 7, " v=\"\\x1b[31m\\x0d\\x09\"\n"},
        {"nul\0byte", 8, " v=\"nul\\x00byte\"\n"},
        {"\xc3\xa4\x7f", 3, " v=\"\\xc3\\xa4\\x7f\"\n"},
        {"", 0, " v=\"\"\n"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct log_capture c;
        log_capture_begin(&c);
        log_info("m", LOG_SLICE("v", slice_of(cases[i].in, cases[i].len)));
        const char *line = log_capture_end(&c);
        const char *field = strstr(line, " v=");
        assert_that(field && strcmp(field, cases[i].want) == 0, "case %zu: %s", i, line);
    }
}

UNIT_TEST(test_long_lines_are_cut)
{
    static char value[8192];
    memset(value, '\n', sizeof(value) - 1);
    struct log_capture c;
    log_capture_begin(&c);
    log_info("m", LOG_STR("v", value), LOG_STR("w", value));
    const char *line = log_capture_end(&c);
    assert_in_range(strlen(line), 4092, 4096);
    assert_int_equal(strcspn(line, "\n"), strlen(line) - 1);
    assert_null(strstr(line, " w="));
}

/* The text after the time, which is checked here. */
static const char *json_rest(const char *line, const char *level)
{
    char pattern[128];
    (void)snprintf(pattern, sizeof(pattern), "^\\{\"level\":\"%s\",\"time\":\"" TIME "\",", level);
    log_assert_matches(line, pattern);
    return strstr(line, "\"message\"");
}

UNIT_TEST(test_json)
{
    log_set_format(LOG_FORMAT_JSON);
    struct log_capture c;
    log_capture_begin(&c);
    log_warn("a \"b\"", LOG_STR("endpoint", "http://h:1"), LOG_INT("delay_ms", -200),
             LOG_SLICE("key", slice_of("\"\\\n\0\xc3\x7f ", 7)), LOG_STR("none", NULL));
    assert_string_equal(json_rest(log_capture_end(&c), "warn"),
                        "\"message\":\"a \\\"b\\\"\",\"endpoint\":\"http://h:1\",\"delay_ms\":-200,"
                        "\"key\":\"\\\"\\\\\\n\\u0000\\u00c3\\u007f \",\"none\":\"\"}\n");
    log_capture_begin(&c);
    log_error("no fields");
    assert_string_equal(json_rest(log_capture_end(&c), "error"), "\"message\":\"no fields\"}\n");
    log_set_format(LOG_FORMAT_TEXT);
}

/* Wherever it is truncated, the line is a complete object. */
UNIT_TEST(test_long_json_lines_are_cut)
{
    static char value[8192];
    memset(value, 'x', sizeof(value) - 1);
    log_set_format(LOG_FORMAT_JSON);
    for (int len = 3900; len < 4100; len++) {
        struct log_capture c;
        log_capture_begin(&c);
        log_info("m", LOG_SLICE("v", slice_of(value, (size_t)len)), LOG_INT("n", 7),
                 LOG_STR("w", "\x01\x01"));
        const char *line = log_capture_end(&c);
        size_t n = strlen(line);
        assert_true(n <= 4096 && line[n - 1] == '\n' && line[n - 2] == '}');
        log_assert_matches(line,
                           "^\\{\"level\":\"info\",\"time\":\"[^\"]*\",\"message\":\"m\",\"v\":\"x*"
                           "\"(,\"n\":7(,\"w\":\"(\\\\u0001)*\")?)?\\}\n$");
    }
    log_set_format(LOG_FORMAT_TEXT);
}

UNIT_TEST(test_levels)
{
    static const char *const lines[] = {"error ", "warn ", "info ", "debug "};
    for (int level = LOG_LEVEL_ERROR; level <= LOG_LEVEL_DEBUG; level++) {
        struct log_capture c;
        log_capture_begin(&c);
        log_set_level((enum log_level)level);
        log_debug("m");
        log_info("m");
        log_warn("m");
        log_error("m");
        log_set_level(LOG_LEVEL_INFO);
        const char *text = log_capture_end(&c);
        for (int i = LOG_LEVEL_ERROR; i <= LOG_LEVEL_DEBUG; i++) {
            assert_int_equal(strstr(text, lines[i]) != NULL, i <= level);
        }
    }
}

/* A line below the level costs a comparison: its fields are not evaluated. */
UNIT_TEST(test_fields_are_not_evaluated_below_the_level)
{
    int64_t evaluated = 0;
    struct log_capture c;
    log_capture_begin(&c);
    log_debug("m", LOG_INT("n", ++evaluated));
    assert_int_equal(evaluated, 0);
    log_info("m", LOG_INT("n", ++evaluated));
    assert_int_equal(evaluated, 1);
    log_assert_matches(log_capture_end(&c), "^info [^ ]* m n=1\n$");
}

/* The test may span two minutes, each with its own burst. */
UNIT_TEST(test_limit)
{
    static struct log_limit limit = {.burst = 3};
    unsigned passed = 0;
    for (int i = 0; i < 100; i++) {
        passed += log_limit_pass(&limit);
    }
    assert_true(passed == 3 || passed == 6);
    assert_int_equal(limit.suppressed, 100 - passed);
}
