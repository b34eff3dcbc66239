#include "exechealthz/options.h"

#include "common/base/log.h"
#include "tests/support/unit_test.h"

enum { ARGS_MAX = 24 };

static int check_options_parse(char *const *args, struct options *o, struct err *err)
{
    static char program[] = "exechealthz";
    char *argv[ARGS_MAX + 2] = {program};
    int argc = 1;
    for (; argc <= ARGS_MAX && args[argc - 1]; argc++) {
        argv[argc] = args[argc - 1];
    }
    return exechealthz_options_parse(argc, argv, o, err);
}

static void assert_listens_on(const struct options *o, const char *want)
{
    char text[ADDR_TEXT_MAX];
    assert_string_equal(addr_format(&o->listen, text), want);
}

UNIT_TEST(test_defaults)
{
    char *const args[ARGS_MAX + 1] = {NULL};
    struct options o;
    struct err err;
    assert_int_equal(check_options_parse(args, &o, &err), 0);
    assert_int_equal(o.command_count, 1);
    assert_string_equal(o.commands[0].command, "echo healthz");
    assert_string_equal(o.commands[0].url, "/healthz");
    assert_listens_on(&o, "0.0.0.0:8080");
    assert_int_equal(o.dns_count, 0);
    assert_null(o.dns_url);
    assert_int_equal(o.probes.period_ms, 2000);
    assert_int_equal(o.probes.latency_ms, 30000);
    assert_int_equal(o.probes.timeout_ms, 30000);
    assert_int_equal(o.dns_timeout_ms, 5000);
    assert_int_equal(o.log_level, LOG_LEVEL_INFO);
    assert_false(o.probes.want_output || o.probes.is_quiet || o.want_version ||
                 o.probes.starts_unhealthy || o.has_legacy_pages || o.has_dnsmasq_metrics);
}

/* The spelling of the published pod manifest. */
UNIT_TEST(test_manifest_arguments)
{
    static char cmd[] = "-cmd=nslookup kubernetes.default.svc.cluster.local 127.0.0.1 >/dev/null",
                port[] = "-port=8080";
    char *const args[ARGS_MAX + 1] = {cmd, port};
    struct options o;
    struct err err;
    assert_int_equal(check_options_parse(args, &o, &err), 0);
    assert_int_equal(o.command_count, 1);
    assert_string_equal(o.commands[0].command,
                        "nslookup kubernetes.default.svc.cluster.local 127.0.0.1 >/dev/null");
    assert_string_equal(o.commands[0].url, "/healthz");
    assert_listens_on(&o, "0.0.0.0:8080");
}

UNIT_TEST(test_every_flag)
{
    static char cmd[] = "--cmd=true", port[] = "-port", number[] = "18080",
                period[] = "--period=1m0.5s", latency[] = "--latency=10s",
                timeout[] = "--timeout=300ms", quiet[] = "--quiet", output[] = "-output=true",
                address[] = "--address=::1", unhealthy[] = "--start-unhealthy",
                pages[] = "--legacy-pages", url[] = "--url=/one", dns[] = "--dns=a.b,SRV",
                level[] = "--log-level=warn", bad[] = "--on-unhealthy=exit 1",
                good[] = "--on-healthy=true", threshold[] = "--threshold=5",
                repeat[] = "--repeat=1m", action[] = "--action-timeout=10s",
                dnsmasq[] = "--dnsmasq-metrics=::1";
    char *const args[ARGS_MAX + 1] = {cmd,    port,    number,    period, latency, timeout, quiet,
                                      output, address, unhealthy, pages,  url,     dns,     level,
                                      bad,    good,    threshold, repeat, action,  dnsmasq};
    struct options o;
    struct err err;
    assert_int_equal(check_options_parse(args, &o, &err), 0);
    assert_string_equal(o.commands[0].command, "true");
    assert_string_equal(o.commands[0].url, "/one");
    assert_listens_on(&o, "[::1]:18080");
    assert_int_equal(o.probes.period_ms, 60500);
    assert_int_equal(o.probes.latency_ms, 10000);
    assert_int_equal(o.probes.timeout_ms, 300);
    assert_int_equal(o.dns_timeout_ms, 300);
    assert_int_equal(o.log_level, LOG_LEVEL_WARN);
    assert_true(o.probes.is_quiet && o.probes.want_output && o.probes.starts_unhealthy &&
                o.has_legacy_pages);
    assert_int_equal(o.dns_count, 1);
    assert_string_equal(o.dns[0].label, "a");
    assert_null(o.dns_url); /* the command has the path */
    assert_string_equal(o.actions.on_unhealthy, "exit 1");
    assert_string_equal(o.actions.on_healthy, "true");
    assert_int_equal(o.actions.threshold, 5);
    assert_int_equal(o.actions.repeat_ms, 60000);
    assert_int_equal(o.actions.timeout_ms, 10000);
    assert_true(o.has_dnsmasq_metrics);
    assert_int_equal(addr_port(&o.dnsmasq), 53);
}

UNIT_TEST(test_timeout_follows_latency)
{
    static char latency[] = "-latency=4s", timeout[] = "-timeout=0";
    char *const args[ARGS_MAX + 1] = {latency, timeout};
    struct options o;
    struct err err;
    assert_int_equal(check_options_parse(args, &o, &err), 0);
    assert_int_equal(o.probes.timeout_ms, 4000);
    assert_int_equal(o.dns_timeout_ms, 4000);
}

UNIT_TEST(test_several_commands)
{
    static char cmd1[] = "-cmd=one", cmd2[] = "-cmd=two", url1[] = "-url=/1", url2[] = "-url=/2/";
    char *const args[ARGS_MAX + 1] = {url1, cmd1, cmd2, url2};
    struct options o;
    struct err err;
    assert_int_equal(check_options_parse(args, &o, &err), 0);
    assert_int_equal(o.command_count, 2);
    assert_string_equal(o.commands[0].command, "one");
    assert_string_equal(o.commands[0].url, "/1");
    assert_string_equal(o.commands[1].command, "two");
    assert_string_equal(o.commands[1].url, "/2/");
}

UNIT_TEST(test_url_alone)
{
    static char url[] = "-url=/health";
    char *const args[ARGS_MAX + 1] = {url};
    struct options o;
    struct err err;
    assert_int_equal(check_options_parse(args, &o, &err), 0);
    assert_int_equal(o.command_count, 1);
    assert_string_equal(o.commands[0].command, "echo healthz");
    assert_string_equal(o.commands[0].url, "/health");
}

UNIT_TEST(test_dns_alone_has_the_path)
{
    static char one[] = "-dns=a.b", two[] = "-dns=other=a.b,SRV", url[] = "-url=/dns";
    char *const args[ARGS_MAX + 1] = {one, two}, *const with_url[ARGS_MAX + 1] = {one, url};
    struct options o;
    struct err err;
    assert_int_equal(check_options_parse(args, &o, &err), 0);
    assert_int_equal(o.command_count, 0);
    assert_int_equal(o.dns_count, 2);
    assert_string_equal(o.dns_url, "/healthz");
    assert_string_equal(o.dns[1].label, "other");
    assert_int_equal(check_options_parse(with_url, &o, &err), 0);
    assert_string_equal(o.dns_url, "/dns");
}

UNIT_TEST(test_dns_over_tls)
{
    static char plain[] = "-dns=a.b", tls[] = "-dns=tls=a.b,tls://::1",
                https[] = "-dns=https=a.b,https://::1#dns.example", ca[] = "-dns-ca=ca.crt",
                cert[] = "--dns-cert=tls.crt", key[] = "--dns-key=tls.key";
    char *const none[ARGS_MAX + 1] = {plain}, *const one[ARGS_MAX + 1] = {plain, tls};
    char *const all[ARGS_MAX + 1] = {tls, https, ca, cert, key};
    struct options o;
    struct err err;
    assert_int_equal(check_options_parse(none, &o, &err), 0);
    assert_false(options_have_tls(&o));
    assert_false(tls_files_any(&o.dns_files));
    assert_int_equal(check_options_parse(one, &o, &err), 0);
    assert_true(options_have_tls(&o) && o.dns_files.without_ca);
    assert_int_equal(check_options_parse(all, &o, &err), 0);
    assert_false(o.dns_files.without_ca);
    assert_string_equal(o.dns_files.ca, "ca.crt");
    assert_string_equal(o.dns_files.cert, "tls.crt");
    assert_string_equal(o.dns_files.key, "tls.key");
}

/* Bad combinations of flags. */
UNIT_TEST(test_refused_together)
{
    static const struct {
        const char *args[4], *expected;
    } cases[] = {
        {{"-cmd=a", "-cmd=b"}, "number of cmds and urls are different: 2 and 1"},
        {{"-url=/a", "-url=/b"}, "number of cmds and urls are different: 1 and 2"},
        {{"-cmd=a", "-cmd=b", "-url=/a", "-url=/a"}, "`/a`: given twice"},
        {{"-legacy-pages", "-url=/"}, "`/`: taken by -legacy-pages, expected another path"},
        {{"-url=/quit", "-legacy-pages"}, "`/quit`: taken by -legacy-pages"},
        {{"-dns=a.b", "-dns=a.c"}, "label `a` is taken"},
        {{"-dns=a.b", "-url=/a", "-url=/b"}, "given 2 times"},
        {{"-dns=a.b", "-url=b"}, "starts with /"},
        {{"-dnsmasq-metrics=localhost"},
         "flag -dnsmasq-metrics: `localhost`: expected an IP address like 127.0.0.1:53"},
        {{"-dns-ca=ca.crt"}, "flag -dns-ca: `ca.crt`: no CA is checked without"},
        {{"-dns=a.b,tls://::1", "-dns-ca=ca.crt"}, "tls://IP#NAME"},
        {{"-dns=a.b,tls://::1", "-dns-cert=a"}, "flag -dns-cert: `a`: expected -dns-key"},
        {{"-dns=a.b,tls://::1", "-dns-key=b"}, "flag -dns-key: `b`: expected -dns-cert"},
        {{"-dns=a.b", "-dns-key=a", "-dns-cert=b"},
         "flag -dns-cert: `b`: expected a -dns with tls"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        char text[4][32];
        char *args[ARGS_MAX + 1] = {NULL};
        struct options o;
        struct err err = {0};
        for (size_t k = 0; k < 4 && cases[i].args[k]; k++) {
            (void)snprintf(text[k], sizeof(text[k]), "%s", cases[i].args[k]); /* fits */
            args[k] = text[k];
        }
        assert_that(check_options_parse(args, &o, &err) == ERR_USAGE &&
                        strstr(err.msg, cases[i].expected),
                    "%s ...: %d `%s`", cases[i].args[0], err.code, err.msg);
    }
}

UNIT_TEST(test_refused)
{
    static const struct {
        const char *arg, *named, *expected;
    } cases[] = {
        {"--nope", "--nope", "unknown flag"},
        {"--port=0", "-port", "from 1 to 65535"},
        {"--port=65536", "65536", "from 1 to 65535"},
        {"--port=http", "http", "a number"},
        {"--period=0s", "-period", "a duration"},
        {"--period=2x", "-period", "a duration"},
        {"--latency=-1s", "-1s", "a duration"},
        {"--timeout=25h", "-timeout", "a duration"},
        {"--quiet=maybe", "maybe", "true or false"},
        {"--cmd", "-cmd", "value missing"},
        {"healthz", "healthz", "expected a flag"},
        {"--cmd=", "-cmd", "a shell command"},
        {"--cmd= \t", "-cmd", "a shell command"},
        {"--on-healthy=", "-on-healthy", "a shell command"},
        {"--on-unhealthy= ", "-on-unhealthy", "a shell command"},
        {"--threshold=0", "-threshold", "from 1 to 1000"},
        {"--repeat=1m", "-repeat: `1m`", "expected -on-healthy"},
        {"--url=healthz", "-url", "starts with /"},
        {"--url=", "-url", "starts with /"},
        {"--url=/a?b", "/a?b", "starts with /"},
        {"--address=localhost", "localhost", "IP"},
        {"--dns=", "-dns", "a domain name"},
        {"--dns=a..b", "a..b", "a domain name"},
        {"--dns=a,localhost", "-dns", "an IP address"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        char arg[64];
        (void)snprintf(arg, sizeof(arg), "%s", cases[i].arg); /* fits */
        char *const args[ARGS_MAX + 1] = {arg};
        struct options o = {.probes = {.period_ms = 1}};
        struct err err = {0};
        assert_that(check_options_parse(args, &o, &err) == ERR_USAGE &&
                        strstr(err.msg, cases[i].named) && strstr(err.msg, cases[i].expected),
                    "%s: %d `%s`", cases[i].arg, err.code, err.msg);
        assert_int_equal(o.probes.period_ms, 1); /* nothing written on failure */
    }
}
