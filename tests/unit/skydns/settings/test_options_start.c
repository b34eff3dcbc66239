/* Options that depend on the whole command line: the files that confinement.h lets the process
 * read, the lines of the start, and flags that want or exclude others. */
#include "skydns/settings/option_text.h"
#include "skydns/settings/options.h"
#include "skydns/settings/stub_zones.h"
#include "tests/support/log_capture.h"
#include "tests/support/unit_test.h"

enum { WORDS_MAX = 16, LINE_MAX_BYTES = 512 };

/* A command line; the options point into it. */
struct start_line {
    char text[LINE_MAX_BYTES];
    struct options options;
    struct err err;
    int result;
};

/* "-hosts=a -hosts=b": as on the command line. */
static void start_parse(struct start_line *line, const char *flags)
{
    char *argv[WORDS_MAX + 1] = {NULL}, *rest = NULL;
    int argc = 0;
    (void)snprintf(line->text, sizeof(line->text), "skydns %s", flags); /* fits */
    for (char *word = strtok_r(line->text, " ", &rest); word; word = strtok_r(NULL, " ", &rest)) {
        assert_in_range(argc, 0, WORDS_MAX - 1);
        argv[argc++] = word;
    }
    line->err = (struct err){.code = 0};
    line->result = skydns_options_parse(argc, argv, &line->options, &line->err);
}

static int clear_start_environment(void **state)
{
    static const char *const names[] = {"PROMETHEUS_PORT", "PROMETHEUS_PATH", "GRAPHITE_SERVER",
                                        "GRAPHITE_PREFIX", "STATHAT_USER",    "SKYDNS_DOMAIN",
                                        "ETCD_MACHINES",   "SKYDNS_ADDR",     "SKYDNS_NAMESERVERS"};
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        unsetenv(names[i]);
    }
    return 0;
}

UNIT_TESTS_EACH(clear_start_environment, clear_start_environment)

/* ---- Files ---- */

static unsigned start_has_file(const struct option_files *files, const char *path)
{
    unsigned count = 0;
    for (size_t i = 0; i < files->count; i++) {
        count += strcmp(files->paths[i], path) == 0;
    }
    return count;
}

/* Each file that a flag names, both of each key of -dnssec; not the snapshot's. */
UNIT_TEST(test_files)
{
    static const char *const named[] = {
        "/etc/config", "/etc/hosts",     "/etc/hosts.more", "/k/ksk.key", "/k/ksk.private",
        "/k/zsk.key",  "/k/zsk.private", "/t/cert",         "/t/key",     "/t/tsig"};
    struct start_line line;
    start_parse(&line, "-domain=cluster.local -config=/etc/config -hosts=/etc/hosts "
                       "-hosts=/etc/hosts.more -dnssec=/k/ksk,/k/zsk -cert=/t/cert -key=/t/key "
                       "-addr=tls://127.0.0.1:853 -tsig-keys=/t/tsig -snapshot=/var/snapshot");
    assert_int_equal(line.result, 0);
    struct option_files *files = option_files_new(&line.options);
    size_t set = 0;
    for (size_t i = 0; i < files->count; i++) {
        set += *files->paths[i] != '\0';
    }
    for (size_t i = 0; i < ARRAY_LEN(named); i++) {
        assert_that(start_has_file(files, named[i]) == 1, "%s", named[i]);
    }
    assert_int_equal(set, ARRAY_LEN(named));
    option_files_free(files);
}

/* ---- The lines of the start ---- */

UNIT_TEST(test_the_first_lines)
{
    struct start_line line;
    struct log_capture capture;
    setenv("PROMETHEUS_PORT", "9153", 1);
    setenv("PROMETHEUS_PATH", "/old", 1);
    start_parse(&line, "-domain=cluster.local,other.test -nameservers=10.0.0.1,10.0.0.2:54 "
                       "-workers=3 -machines=http://etcd:2379 -schema=kubernetes");
    assert_int_equal(line.result, 0);
    log_capture_begin(&capture);
    option_text_log_start(&line.options, "udp://127.0.0.1:53");
    const char *log = log_capture_end(&capture);
    assert_non_null(strstr(log, " skydns: metrics enabled on :9153/old\n"));
    assert_non_null(strstr(log, " skydns started version="));
    assert_non_null(strstr(log, " workers=3 machines=http://etcd:2379 "
                                "addresses=udp://127.0.0.1:53 "));
    assert_non_null(strstr(log, "cluster.local"));
    assert_non_null(strstr(log, "other.test"));
    assert_non_null(strstr(log, " schema=kubernetes nameservers="));
    assert_non_null(strstr(log, "10.0.0.2:54"));
    assert_int_equal(log_occurrences(log, "\n"), 2);
}

/* Variables of pushed counts, as the original SkyDNS had them; and a Service's address in place of
 * a port. */
UNIT_TEST(test_what_is_ignored)
{
    struct start_line line;
    struct log_capture capture;
    setenv("GRAPHITE_SERVER", "graphite:2003", 1);
    setenv("STATHAT_USER", "", 1); /* as if it were not set */
    setenv("PROMETHEUS_PORT", "tcp://10.0.0.7:9090", 1);
    start_parse(&line, "");
    assert_int_equal(line.result, 0);
    assert_int_equal(line.options.prometheus_port, 0);
    log_capture_begin(&capture);
    option_text_log_ignored(&line.options.ignored);
    const char *log = log_capture_end(&capture);
    assert_non_null(
        strstr(log, "accepted and ignored settings=\"GRAPHITE_SERVER PROMETHEUS_PORT\""));
    setenv("PROMETHEUS_PORT", "65537", 1); /* no port, either */
    start_parse(&line, "");
    assert_int_equal(line.options.prometheus_port, 0);
    (void)clear_start_environment(NULL);
    start_parse(&line, "");
    log_capture_begin(&capture);
    option_text_log_ignored(&line.options.ignored);
    assert_string_equal(log_capture_end(&capture), "");
}

/* ---- Commands ---- */

UNIT_TEST(test_commands_without_a_value)
{
    static const char *const flags[] = {"explain", "client",      "at",
                                        "flush",   "healthcheck", "translate-corefile"};
    for (size_t i = 0; i < ARRAY_LEN(flags); i++) {
        char text[64], message[64];
        struct start_line line;
        (void)snprintf(text, sizeof(text), "-%s= -http-addr=127.0.0.1:1", flags[i]);
        (void)snprintf(message, sizeof(message), "flag -%s: ``: expected a value", flags[i]);
        start_parse(&line, text);
        assert_int_equal(line.result, ERR_USAGE);
        assert_string_equal(line.err.msg, message);
    }
}

/* ---- Flags that want or exclude others ---- */

UNIT_TEST(test_flags_together)
{
    static const struct {
        const char *flags, *message;
    } lines[] = {
        {"-explain=a.b", "flag -explain: expected -http-addr with it"},
        {"-flush=a.b", "flag -flush: expected -http-addr with it"},
        {"-client=10.0.0.1", "flag -client: `10.0.0.1`: expected -explain with it"},
        {"-at=2026-05-01", "flag -at: `2026-05-01`: expected -explain with it"},
        {"-explain=a.b -http-addr=127.0.0.1:1 -client=x",
         "flag -client: `x`: expected an address like 10.1.0.7"},
        {"-top", "flag -top: expected -http-addr with it"},
        {"-top -http-addr=127.0.0.1:1 -flush=a.b", "flag -top: expected no -flush with it"},
        {"-http-socket=/s", "flag -http-socket: `/s`: expected -http-addr with it"},
        {"-reuse-port -systemd", "flag -reuse-port: expected no -systemd with it"},
        {"-password-file=/p", "flag -password-file: expected -username with it"},
        {"-username=u", "flag -username: `u`: expected -password-file or -password with it"},
        {"-tls-pem=/p", "flag -tls-pem: expected -tls-key with it"},
        {"-tls-key=/p", "flag -tls-key: expected -tls-pem with it"},
    };
    for (size_t i = 0; i < ARRAY_LEN(lines); i++) {
        struct start_line line;
        start_parse(&line, lines[i].flags);
        assert_int_equal(line.result, ERR_USAGE);
        assert_that(strncmp(line.err.msg, lines[i].message, strlen(lines[i].message)) == 0,
                    "%s: %s", lines[i].flags, line.err.msg);
    }
}
