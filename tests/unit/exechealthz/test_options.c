#include "exechealthz/options.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

enum { ARGS_MAX = 8 };

static int parse(char *const *args, struct options *o, struct err *err)
{
    static char program[] = "exechealthz";
    char *argv[ARGS_MAX + 2] = {program};
    int argc = 1;
    for (; argc <= ARGS_MAX && args[argc - 1]; argc++) {
        argv[argc] = args[argc - 1];
    }
    return options_parse(argc, argv, o, err);
}

static void test_defaults(void **state)
{
    (void)state;
    char *const args[ARGS_MAX + 1] = {NULL};
    struct options o;
    struct err err;
    assert_int_equal(parse(args, &o, &err), 0);
    assert_string_equal(o.command, "echo healthz");
    assert_int_equal(o.port, 8080);
    assert_int_equal(o.period_ms, 2000);
    assert_int_equal(o.latency_ms, 30000);
    assert_int_equal(o.timeout_ms, 30000);
    assert_false(o.want_output || o.is_quiet || o.want_version);
}

/* The spelling of the published pod manifest. */
static void test_manifest_arguments(void **state)
{
    (void)state;
    static char cmd[] = "-cmd=nslookup kubernetes.default.svc.cluster.local 127.0.0.1 >/dev/null",
                port[] = "-port=8080";
    char *const args[ARGS_MAX + 1] = {cmd, port};
    struct options o;
    struct err err;
    assert_int_equal(parse(args, &o, &err), 0);
    assert_string_equal(o.command,
                        "nslookup kubernetes.default.svc.cluster.local 127.0.0.1 >/dev/null");
    assert_int_equal(o.port, 8080);
}

static void test_every_flag(void **state)
{
    (void)state;
    static char cmd[] = "--cmd=true", port[] = "-port", number[] = "18080",
                period[] = "--period=1m0.5s", latency[] = "--latency=10s",
                timeout[] = "--timeout=300ms", quiet[] = "--quiet", output[] = "-output=true";
    char *const args[ARGS_MAX + 1] = {cmd, port, number, period, latency, timeout, quiet, output};
    struct options o;
    struct err err;
    assert_int_equal(parse(args, &o, &err), 0);
    assert_string_equal(o.command, "true");
    assert_int_equal(o.port, 18080);
    assert_int_equal(o.period_ms, 60500);
    assert_int_equal(o.latency_ms, 10000);
    assert_int_equal(o.timeout_ms, 300);
    assert_true(o.is_quiet && o.want_output);
}

static void test_timeout_follows_latency(void **state)
{
    (void)state;
    static char latency[] = "-latency=7s", timeout[] = "-timeout=0";
    char *const args[ARGS_MAX + 1] = {latency, timeout};
    struct options o;
    struct err err;
    assert_int_equal(parse(args, &o, &err), 0);
    assert_int_equal(o.timeout_ms, 7000);
}

static void test_refused(void **state)
{
    (void)state;
    static const struct {
        const char *arg, *named, *expected;
    } cases[] = {
        {"--nope", "--nope", "unknown flag"},         {"--port=0", "-port", "from 1 to 65535"},
        {"--port=65536", "65536", "from 1 to 65535"}, {"--port=http", "http", "a number"},
        {"--period=0s", "-period", "a duration"},     {"--period=2", "-period", "a duration"},
        {"--latency=-1s", "-1s", "a duration"},       {"--timeout=25h", "-timeout", "a duration"},
        {"--quiet=maybe", "maybe", "true or false"},  {"--cmd", "-cmd", "value missing"},
        {"healthz", "healthz", "expected a flag"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        char arg[64];
        (void)snprintf(arg, sizeof(arg), "%s", cases[i].arg); /* fits */
        char *const args[ARGS_MAX + 1] = {arg};
        struct options o = {.port = 1};
        struct err err = {0};
        if (parse(args, &o, &err) != ERR_USAGE || !strstr(err.msg, cases[i].named) ||
            !strstr(err.msg, cases[i].expected)) {
            fail_msg("%s: %d `%s`", cases[i].arg, err.code, err.msg);
        }
        assert_int_equal(o.port, 1); /* nothing written on failure */
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_defaults),   cmocka_unit_test(test_manifest_arguments),
        cmocka_unit_test(test_every_flag), cmocka_unit_test(test_timeout_follows_latency),
        cmocka_unit_test(test_refused),
    };
    return cmocka_run_group_tests_name("exechealthz options", tests, NULL, NULL);
}
