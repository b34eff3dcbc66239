#include "common/log.h"

#include <regex.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/attributes.h"

/* What log_write puts to stderr, through a pipe: a line is one write and far below a pipe's size.
 */
struct capture {
    int saved;
    int read_end;
};

static struct capture capture_start(void)
{
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    struct capture c = {dup(STDERR_FILENO), ends[0]};
    assert_true(c.saved >= 0);
    dup2(ends[1], STDERR_FILENO);
    close(ends[1]);
    return c;
}

static const char *capture_end(struct capture *c)
{
    static char text[64 * 1024];
    dup2(c->saved, STDERR_FILENO); /* closes the last write end */
    close(c->saved);
    ssize_t n = read(c->read_end, text, sizeof(text) - 1);
    assert_true(n >= 0);
    text[n] = '\0';
    close(c->read_end);
    return text;
}

#define TIME "[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\\.[0-9]{3}Z"

static void assert_matches(const char *text, const char *pattern)
{
    regex_t regex;
    assert_int_equal(regcomp(&regex, pattern, REG_EXTENDED | REG_NOSUB), 0);
    int r = regexec(&regex, text, 0, NULL, 0);
    regfree(&regex);
    if (r != 0) {
        fail_msg("`%s` does not match `%s`", text, pattern);
    }
}

static void test_line(void **state)
{
    (void)state;
    struct capture c = capture_start();
    log_warn("etcd away, retrying", LOG_STR("endpoint", "http://127.0.0.1:2379"),
             LOG_INT("delay_ms", -200), LOG_SLICE("key", slice_of("/skydns/x", 7)),
             LOG_STR("none", NULL));
    assert_matches(capture_end(&c),
                   "^warn " TIME " etcd away, retrying endpoint=http://127\\.0\\.0\\.1:"
                   "2379 delay_ms=-200 key=/skydns none=\"\"\n$");
    c = capture_start();
    log_error("no fields");
    log_info("a second line");
    assert_matches(capture_end(&c), "^error " TIME " no fields\ninfo " TIME " a second line\n$");
}

static void test_bytes_from_outside_are_escaped(void **state)
{
    (void)state;
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
        struct capture c = capture_start();
        log_info("m", LOG_SLICE("v", slice_of(cases[i].in, cases[i].len)));
        const char *line = capture_end(&c);
        const char *field = strstr(line, " v=");
        if (!field || strcmp(field, cases[i].want) != 0) {
            fail_msg("case %zu: %s", i, line);
        }
    }
}

static void test_long_lines_are_cut(void **state)
{
    (void)state;
    static char value[8192];
    memset(value, '\n', sizeof(value) - 1);
    struct capture c = capture_start();
    log_info("m", LOG_STR("v", value), LOG_STR("w", value));
    const char *line = capture_end(&c);
    assert_int_equal(strlen(line), 4096);
    assert_int_equal(strcspn(line, "\n"), 4095);
}

static void test_levels(void **state)
{
    (void)state;
    static const char *const lines[] = {"debug ", "info ", "warn ", "error "};
    for (int level = LOG_LEVEL_DEBUG; level <= LOG_LEVEL_ERROR; level++) {
        struct capture c = capture_start();
        log_set_level((enum log_level)level);
        log_debug("m");
        log_info("m");
        log_warn("m");
        log_error("m");
        log_set_level(LOG_LEVEL_INFO);
        const char *text = capture_end(&c);
        for (int i = LOG_LEVEL_DEBUG; i <= LOG_LEVEL_ERROR; i++) {
            assert_int_equal(strstr(text, lines[i]) != NULL, i >= level);
        }
    }
}

/* A minute may end in the middle of this; then both minutes had their burst. */
static void test_limit(void **state)
{
    (void)state;
    static struct log_limit limit = {.burst = 3};
    unsigned passed = 0;
    for (int i = 0; i < 100; i++) {
        passed += log_limit_pass(&limit);
    }
    assert_true(passed == 3 || passed == 6);
    assert_int_equal(limit.suppressed, 100 - passed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_line),
        cmocka_unit_test(test_bytes_from_outside_are_escaped),
        cmocka_unit_test(test_long_lines_are_cut),
        cmocka_unit_test(test_levels),
        cmocka_unit_test(test_limit),
    };
    return cmocka_run_group_tests_name("log", tests, NULL, NULL);
}
