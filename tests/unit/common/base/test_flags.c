#include "common/base/flags.h"

#include <unistd.h>

#include "tests/support/unit_test.h"

/* One flag of each kind. */
struct values {
    bool verbose, rotate;
    const char *domain;
    struct flag_strings cmds;
    int64_t ttl_s, offset, any, period_ms, wait_ms, leave_ms;
    int source;
    bool has_source;
    struct flag_strings ignored;
};

enum { ARGS_MAX = 80 };

#define VARIABLE "TEST_FLAGS_DOMAIN"

static int base_flags_parse(const char *const *args, struct values *v, bool underscores,
                            struct err *err)
{
    const struct flag table[] = {
        {"verbose", FLAG_BOOL, &v->verbose, .help = "log each query"},
        {"ns-rotate", FLAG_BOOL, &v->rotate, .help = "begin with another"},
        {"domain", FLAG_STRING, &v->domain, .env = VARIABLE, .help = "the domain"},
        {"cmd", FLAG_STRING_LIST, &v->cmds, .help = "a command"},
        {"ttl", FLAG_INT, &v->ttl_s, .env = "TEST_FLAGS_TTL", .min = 1, .max = 3600, .help = "s"},
        {"offset", FLAG_INT, &v->offset, .min = -5, .max = 5, .help = "n"},
        {"any", FLAG_INT, &v->any, .help = "n"},
        {"period", FLAG_DURATION_MS, &v->period_ms, .min = 10, .max = 60000, .help = "t"},
        {"wait", FLAG_DURATION_MS, &v->wait_ms, .help = "t"},
        {"leave", FLAG_DURATION_MS, &v->leave_ms, .max = 60000, .help = "t"},
        {"source", FLAG_CHOICE, &v->source, .choices = "auto|slices|endpoints", .help = "kind",
         .was_given = &v->has_source},
        {"etcd3", FLAG_IGNORED_BOOL, .help = "accepted"},
        {"v", FLAG_IGNORED_STRING, .help = NULL},
        {"log-dir", FLAG_IGNORED_STRING, &v->ignored, .help = NULL},
        {"to-files", FLAG_IGNORED_BOOL, &v->ignored, .help = NULL},
    };
    const struct flags flags = {"test", "tests", table, ARRAY_LEN(table), underscores, NULL};
    char *argv[ARGS_MAX + 2];
    int argc = 0;
    argv[argc++] = strdup("test");
    for (; *args; args++) {
        assert_true(argc <= ARGS_MAX);
        argv[argc++] = strdup(*args);
    }
    int r = flags_parse(&flags, argc, argv, err);
    /* Text values point into argv: kept for the assertions, as a program keeps its argv. */
    static char *kept[ARGS_MAX + 2];
    for (int i = 0; i < ARGS_MAX + 2; i++) {
        free(kept[i]);
        kept[i] = i < argc ? argv[i] : NULL;
    }
    return r;
}

static struct values flags_defaults(void)
{
    return (struct values){.domain = "cluster.local", .ttl_s = 30, .period_ms = 2000};
}

static int flags_teardown(void **state)
{
    unsetenv(VARIABLE);
    unsetenv("TEST_FLAGS_TTL");
    const char *const none[] = {NULL};
    struct values v = flags_defaults();
    return base_flags_parse(none, &v, false, NULL); /* frees what was kept */
}

UNIT_TEST_IN(test_spellings, NULL, flags_teardown)
{
    const char *const args[] = {"-verbose",
                                "--ns-rotate=T",
                                "-domain",
                                "a.b",
                                "--domain=c=d",
                                "-ttl",
                                "60",
                                "--offset",
                                "-3",
                                "-any=+7",
                                "-period",
                                "1.5s",
                                "-cmd=one",
                                "--cmd",
                                "-two",
                                "-wait=0",
                                "-etcd3",
                                "--v=2",
                                "-v",
                                "3",
                                NULL};
    struct values v = flags_defaults();
    struct err err;
    assert_int_equal(base_flags_parse(args, &v, false, &err), 0);
    assert_true(v.verbose && v.rotate);
    assert_string_equal(v.domain, "c=d");
    assert_int_equal(v.ttl_s, 60);
    assert_int_equal(v.offset, -3);
    assert_int_equal(v.any, 7);
    assert_int_equal(v.period_ms, 1500);
    assert_int_equal(v.cmds.count, 2);
    assert_string_equal(v.cmds.items[0], "one");
    assert_string_equal(v.cmds.items[1], "-two");
}

UNIT_TEST_IN(test_booleans, NULL, flags_teardown)
{
    static const char *const yes[] = {"1", "t", "T", "true", "TRUE", "True"};
    static const char *const no[] = {"0", "f", "F", "false", "FALSE", "False"};
    for (size_t i = 0; i < 2 * ARRAY_LEN(yes); i++) {
        bool want = i < ARRAY_LEN(yes);
        char arg[32];
        const char *const args[] = {arg, NULL};
        struct values v = flags_defaults();
        v.verbose = !want;
        (void)snprintf(arg, sizeof(arg), "-verbose=%s", want ? yes[i] : no[i - ARRAY_LEN(yes)]);
        assert_int_equal(base_flags_parse(args, &v, false, NULL), 0);
        assert_int_equal(v.verbose, want);
    }
}

UNIT_TEST_IN(test_choices, NULL, flags_teardown)
{
    static const char *const spellings[] = {"-source=auto", "-source=slices", "--source=endpoints"};
    for (size_t i = 0; i < ARRAY_LEN(spellings); i++) {
        const char *const args[] = {spellings[i], NULL};
        struct values v = flags_defaults();
        v.source = -1;
        assert_int_equal(base_flags_parse(args, &v, false, NULL), 0);
        assert_int_equal(v.source, i);
        assert_true(v.has_source);
    }
    struct values v = flags_defaults();
    assert_int_equal(base_flags_parse((const char *const[]){"-any=1", NULL}, &v, false, NULL), 0);
    assert_false(v.has_source); /* an absent flag keeps its default, unmarked */
}

/* Callers that warn about ignored flags can tell which were given. */
UNIT_TEST_IN(test_ignored, NULL, flags_teardown)
{
    const char *const args[] = {"-log-dir=/a", "-v=3", "-log-dir", "/b", "-to-files", NULL};
    struct values v = flags_defaults();
    assert_int_equal(base_flags_parse(args, &v, false, NULL), 0);
    assert_int_equal(v.ignored.count, 2);
    assert_string_equal(v.ignored.items[0], "log-dir");
    assert_string_equal(v.ignored.items[1], "to-files");
}

UNIT_TEST_IN(test_refused, NULL, flags_teardown)
{
    static const struct {
        const char *args[3], *want;
    } cases[] = {
        {{"-nope"}, "unknown flag `-nope`; -help lists the flags"},
        {{"--nope=1"}, "unknown flag `--nope=1`; -help lists the flags"},
        {{"-verb"}, "unknown flag `-verb`; -help lists the flags"},
        {{"-domian=a"}, "unknown flag `-domian=a`: did you mean -domain? -help lists the flags"},
        {{"-ns_rotate"},
         "unknown flag `-ns_rotate`: did you mean -ns-rotate? -help lists the flags"},
        {{"-log-dr"}, "unknown flag `-log-dr`; -help lists the flags"}, /* hidden */
        {{"---verbose"}, "unknown flag `---verbose`: did you mean -verbose? -help lists the flags"},
        {{"-=x"}, "unknown flag `-=x`; -help lists the flags"},
        {{"web"}, "unexpected argument `web`: expected a flag like -verbose"},
        {{"-"}, "unexpected argument `-`: expected a flag like -verbose"},
        {{"--"}, "unexpected argument `--`: expected a flag like -verbose"},
        {{"-verbose", "false"}, "unexpected argument `false`: expected a flag like -verbose"},
        {{"-verbose=yes"}, "flag -verbose: `yes`: expected true or false"},
        {{"-etcd3=2"}, "flag -etcd3: `2`: expected true or false"},
        {{"-domain"}, "flag -domain: value missing: expected a value"},
        {{"-ttl"}, "flag -ttl: value missing: expected a number from 1 to 3600"},
        {{"-ttl=0"}, "flag -ttl: `0`: expected a number from 1 to 3600"},
        {{"-ttl=3601"}, "flag -ttl: `3601`: expected a number from 1 to 3600"},
        {{"-ttl="}, "flag -ttl: ``: expected a number from 1 to 3600"},
        {{"-ttl=5s"}, "flag -ttl: `5s`: expected a number from 1 to 3600"},
        {{"-ttl=0x10"}, "flag -ttl: `0x10`: expected a number from 1 to 3600"},
        {{"-offset=-6"}, "flag -offset: `-6`: expected a number from -5 to 5"},
        {{"-any=-1"}, "flag -any: `-1`: expected a number from 0 up"},
        {{"-any=-"}, "flag -any: `-`: expected a number from 0 up"},
        {{"-any=9223372036854775808"},
         "flag -any: `9223372036854775808`: expected a number from 0 up"},
        {{"-period=9ms"}, "flag -period: `9ms`: expected a duration like 10s, from 10ms to 1m"},
        {{"-wait=-2"}, "flag -wait: `-2`: expected a duration like 10s or 1m30s"},
        {{"-leave=61"}, "flag -leave: `61`: expected a duration like 10s, from 0 to 1m"},
        {{"-leave=-1"}, "flag -leave: `-1`: expected a duration like 10s, from 0 to 1m"},
        {{"-leave=1.5"}, "flag -leave: `1.5`: expected a duration like 10s, from 0 to 1m"},
        {{"-leave=9223372036854775807"},
         "flag -leave: `9223372036854775807`: expected a duration like 10s, from 0 to 1m"},
        {{"-v"}, "flag -v: value missing: expected a value"},
        {{"-source"}, "flag -source: value missing: expected auto|slices|endpoints"},
        {{"-source=slice"}, "flag -source: `slice`: expected auto|slices|endpoints"},
        {{"-source=auto|slices"}, "flag -source: `auto|slices`: expected auto|slices|endpoints"},
        {{"-source="}, "flag -source: ``: expected auto|slices|endpoints"},
        {{"-to-files=maybe"}, "flag -to-files: `maybe`: expected true or false"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct values v = flags_defaults();
        struct err err = {0};
        int r = base_flags_parse(cases[i].args, &v, false, &err);
        assert_that(r == ERR_USAGE && strcmp(err.msg, cases[i].want) == 0, "%s: %d `%s`",
                    cases[i].args[0], r, err.msg);
        assert_int_equal(v.ttl_s, 30);
        assert_int_equal(v.period_ms, 2000);
    }
}

UNIT_TEST(test_durations_in_seconds)
{
    static const struct {
        const char *arg;
        int64_t want_ms;
    } cases[] = {
        {"-leave=0", 0},         {"-leave=5", 5000},   {"-leave=60", 60000},
        {"-leave=1500ms", 1500}, {"-leave=0.5s", 500}, {"-leave=1m", 60000},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        const char *const args[] = {cases[i].arg, NULL};
        struct values v = flags_defaults();
        v.leave_ms = -1;
        assert_int_equal(base_flags_parse(args, &v, false, NULL), 0);
        assert_int_equal(v.leave_ms, cases[i].want_ms);
    }
}

UNIT_TEST_IN(test_help_wins_over_what_follows, NULL, flags_teardown)
{
    static const char *const spellings[] = {"-h", "--h", "-help", "--help"};
    for (size_t i = 0; i < ARRAY_LEN(spellings); i++) {
        const char *const args[] = {"-verbose", spellings[i], "-nope", NULL};
        struct values v = flags_defaults();
        assert_int_equal(base_flags_parse(args, &v, false, NULL), FLAGS_HELP);
    }
}

UNIT_TEST_IN(test_underscores, NULL, flags_teardown)
{
    const char *const args[] = {"--ns_rotate", NULL};
    const char *const dashes[] = {"--ns-rotate", NULL};
    struct values v = flags_defaults();
    assert_int_equal(base_flags_parse(args, &v, true, NULL), 0);
    assert_true(v.rotate);
    v = flags_defaults();
    assert_int_equal(base_flags_parse(dashes, &v, true, NULL), 0);
    assert_true(v.rotate);
}

UNIT_TEST_IN(test_environment, NULL, flags_teardown)
{
    const char *const none[] = {NULL};
    const char *const given[] = {"-domain=flag", NULL};
    struct values v = flags_defaults();
    struct err err = {0};
    setenv(VARIABLE, "variable", 1);
    assert_int_equal(base_flags_parse(none, &v, false, NULL), 0);
    assert_string_equal(v.domain, "variable");
    assert_int_equal(base_flags_parse(given, &v, false, NULL), 0);
    assert_string_equal(v.domain, "flag");
    setenv(VARIABLE, "", 1);
    v = flags_defaults();
    assert_int_equal(base_flags_parse(none, &v, false, NULL), 0);
    assert_string_equal(v.domain, "cluster.local");
    setenv("TEST_FLAGS_TTL", "soon", 1);
    assert_int_equal(base_flags_parse(none, &v, false, &err), ERR_USAGE);
    assert_string_equal(
        err.msg, "environment variable TEST_FLAGS_TTL: `soon`: expected a number from 1 to 3600");
}

UNIT_TEST_IN(test_repeated_too_often, NULL, flags_teardown)
{
    const char *args[FLAG_STRINGS_MAX + 2] = {NULL};
    struct values v = flags_defaults();
    struct err err = {0};
    for (int i = 0; i < FLAG_STRINGS_MAX; i++) {
        args[i] = "-cmd=x";
    }
    assert_int_equal(base_flags_parse(args, &v, false, &err), 0);
    assert_int_equal(v.cmds.count, FLAG_STRINGS_MAX);
    args[FLAG_STRINGS_MAX] = "-cmd=x";
    v = flags_defaults();
    assert_int_equal(base_flags_parse(args, &v, false, &err), ERR_USAGE);
    assert_string_equal(err.msg, "flag -cmd: given more than 64 times");
}

/* The help is for people, but must contain every flag with a text, and its default. */
UNIT_TEST(test_help_text)
{
    bool quiet = true;
    const char *domain = "cluster.local";
    int64_t port = 8080, period_ms = 2000, latency_ms = 1500;
    int format = 1;
    const struct flag table[] = {
        {"quiet", FLAG_BOOL, &quiet, .help = "say little"},
        {"domain", FLAG_STRING, &domain, .env = "DOMAIN", .help = "the domain"},
        {"port", FLAG_INT, &port, .help = "a port"},
        {"period", FLAG_DURATION_MS, &period_ms, .help = "a period"},
        {"latency", FLAG_DURATION_MS, &latency_ms, .help = "a latency"},
        {"format", FLAG_CHOICE, &format, .choices = "text|json", .help = "a format"},
        {"logtostderr", FLAG_IGNORED_BOOL, .help = NULL},
    };
    const struct flags flags = {"test", "tests", table, ARRAY_LEN(table), false, NULL};
    FILE *captured = tmpfile();
    int out = dup(STDOUT_FILENO);
    assert_true(captured && out >= 0);
    fflush(stdout);
    dup2(fileno(captured), STDOUT_FILENO);
    flags_print_help(&flags);
    fflush(stdout);
    dup2(out, STDOUT_FILENO);
    close(out);
    char text[1024];
    rewind(captured);
    text[fread(text, 1, sizeof(text) - 1, captured)] = '\0';
    fclose(captured);
    assert_string_equal(text, "test: tests\n\n"
                              "  -quiet\n        say little (default true)\n"
                              "  -domain=VALUE\n"
                              "        the domain (default cluster.local) [DOMAIN]\n"
                              "  -port=N\n        a port (default 8080)\n"
                              "  -period=DURATION\n        a period (default 2s)\n"
                              "  -latency=DURATION\n        a latency (default 1s500ms)\n"
                              "  -format=text|json\n        a format (default json)\n");
}
