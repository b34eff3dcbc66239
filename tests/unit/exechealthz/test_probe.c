/* probe and reaper with real commands. The test process is a subreaper, so that processes left
 * behind by a command become its children, as with PID 1 of a container. */
#include "exechealthz/probe.h"

#include <dirent.h>
#include <errno.h>
#include <regex.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/base/log.h"
#include "tests/support/unit_test.h"

enum {
    LONG_MS = 3600 * 1000, /* never elapses in a test */
    TIMEOUT_S = 120,       /* only ends a test that hangs */
    OUTPUT_MAX = 64 * 1024,
};

struct fixture {
    struct ev_loop *loop;
    struct reaper reaper;
    ev_timer timeout;
    struct probe *probe;
};

static void probe_give_up(struct ev_loop *loop, ev_timer *w, int events)
{
    fail_msg("timed out after %d s", TIMEOUT_S);
}

static void probe_setup(struct fixture *f)
{
    *f = (struct fixture){.loop = ev_loop_new(EVFLAG_AUTO)};
    reaper_start(&f->reaper, f->loop);
    ev_timer_init(&f->timeout, probe_give_up, TIMEOUT_S, 0.);
    ev_timer_start(f->loop, &f->timeout);
}

static void probe_teardown(struct fixture *f)
{
    probe_free(f->probe);
    reaper_stop(&f->reaper);
    ev_loop_destroy(f->loop);
}

static int probe_before_tests(void **state)
{
    log_set_level(LOG_LEVEL_ERROR);
    (void)signal(SIGPIPE, SIG_IGN); /* as main() does */
    if (prctl(PR_SET_CHILD_SUBREAPER, 1) != 0) {
        perror("prctl");
        return 1;
    }
    return 0;
}

UNIT_FIXTURE(struct fixture, probe_setup, probe_teardown)
UNIT_TESTS_ONCE(probe_before_tests, NULL)

static struct probe_config probe_config_of(const char *command)
{
    return (struct probe_config){
        .path = "/healthz",
        .command = command,
        .settings = {
            .period_ms = 1, .latency_ms = LONG_MS, .timeout_ms = LONG_MS, .is_quiet = true}};
}

static void exechealthz_probe_start(struct fixture *f, const struct probe_config *config)
{
    probe_free(f->probe);
    f->probe = probe_new(f->loop, &f->reaper, config);
    probe_start(f->probe);
}

static void probe_await_run(struct fixture *f, uint64_t run)
{
    while (probe_last(f->probe).run < run) {
        ev_run(f->loop, EVRUN_ONCE);
    }
}

/* The report as of later_ms from now, and whether it is healthy. */
static const char *exechealthz_probe_report(struct fixture *f, int64_t later_ms, bool *ret_healthy)
{
    static struct buf reply;
    buf_fini(&reply);
    buf_init(&reply, 1024 * 1024);
    *ret_healthy = probe_report(f->probe, clock_monotonic_ms() + later_ms, &reply);
    return buf_cstr(&reply);
}

static void probe_assert_matches(const char *name, const char *text, const char *pattern)
{
    regex_t regex;
    assert_int_equal(regcomp(&regex, pattern, REG_EXTENDED | REG_NOSUB), 0);
    int r = regexec(&regex, text, 0, NULL, 0);
    regfree(&regex);
    assert_that(r == 0, "%s: `%s` does not match `%s`", name, text, pattern);
}

#define TIME "[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2}:[0-9]{2}(\\.[0-9]*[1-9])? \\+0000 UTC"

UNIT_TEST_ON(test_results, struct fixture *f)
{
    static const struct {
        const char *name, *command, *output, *error, *report;
    } cases[] = {
        {"success", "echo fine", "fine\n", NULL, "^ok$"},
        {"both streams in order", "echo one; echo two >&2; echo three", "one\ntwo\nthree\n", NULL,
         "^ok$"},
        {"no input", "cat", "", NULL, "^ok$"},
        {"exit status", "exit 1", "", "exit status 1",
         "^Healthz probe on /healthz error: Result of last exec: , at " TIME
         ", error exit status 1\n$"},
        {"output before failure", "echo gone; exit 255", "gone\n", "exit status 255",
         "^Healthz probe on /healthz error: Result of last exec: gone\n, at " TIME
         ", error exit status 255\n$"},
        {"percent signs", "printf '100%%s %%n'; false", "100%s %n", "exit status 1",
         "exec: 100%s %n, at "},
        {"no such command", "/does/not/exist 2>/dev/null", "", "exit status 127", "status 127\n$"},
        {"killed", "kill -9 $$", "", "signal: killed", "error signal: killed\n$"},
        {"terminated", "kill -15 $$", "", "signal: terminated", "error signal: terminated\n$"},
        {"a signal without a name", "kill -16 $$", "", "signal: signal 16",
         "error signal: signal 16\n$"},
        {"SIGPIPE is as usual", "kill -s PIPE $$", "", "signal: broken pipe", "broken pipe\n$"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        const struct probe_config config = probe_config_of(cases[i].command);
        bool healthy;
        exechealthz_probe_start(f, &config);
        probe_await_run(f, 1);
        struct probe_result got = probe_last(f->probe);
        assert_that(slice_equal(got.output, slice_str(cases[i].output)) &&
                        strcmp(got.error ? got.error : "", cases[i].error ? cases[i].error : "") ==
                            0,
                    "%s: got `%.*s`, `%s`", cases[i].name, (int)got.output.len, got.output.ptr,
                    got.error ? got.error : "(success)");
        probe_assert_matches(cases[i].name, exechealthz_probe_report(f, 0, &healthy),
                             cases[i].report);
        assert_int_equal(healthy, cases[i].error == NULL);
    }
}

UNIT_TEST_ON(test_healthy_until_the_first_result, struct fixture *f)
{
    struct probe_config config = probe_config_of("false");
    bool healthy;
    config.settings.period_ms = config.settings.latency_ms = LONG_MS;
    exechealthz_probe_start(f, &config);
    assert_string_equal(exechealthz_probe_report(f, 0, &healthy), "ok");
    assert_true(healthy);
    probe_assert_matches("old", exechealthz_probe_report(f, LONG_MS + 1, &healthy),
                         "^Latest result too old to be useful: Result of last exec: , at " TIME
                         ", error None\\.\n$");
    assert_false(healthy);
}

UNIT_TEST_ON(test_unhealthy_until_the_first_success, struct fixture *f)
{
    struct probe_config config = probe_config_of("true");
    bool healthy;
    config.settings.period_ms = LONG_MS; /* the first run does not wait a period */
    config.settings.starts_unhealthy = true;
    exechealthz_probe_start(f, &config);
    probe_assert_matches("before", exechealthz_probe_report(f, 0, &healthy),
                         "^Healthz probe on /healthz error: Result of last exec: , at " TIME
                         ", error waiting for first run\n$");
    assert_false(healthy);
    probe_await_run(f, 1);
    assert_string_equal(exechealthz_probe_report(f, 0, &healthy), "ok");
}

UNIT_TEST_ON(test_counts, struct fixture *f)
{
    struct probe_config config = probe_config_of("false");
    exechealthz_probe_start(f, &config);
    probe_await_run(f, 3);
    const struct probe_counts *counts = probe_counts(f->probe);
    assert_true(counts->runs >= 3);
    assert_int_equal(counts->failures, counts->runs);
    assert_int_equal(counts->timeouts, 0);
    assert_true(counter_get(&counts->duration.sum) > 0);
    assert_false(probe_is_healthy(f->probe, clock_monotonic_ms()));

    config = probe_config_of("sleep 1000");
    config.settings.timeout_ms = 1;
    exechealthz_probe_start(f, &config);
    probe_await_run(f, 2);
    counts = probe_counts(f->probe);
    assert_true(counts->timeouts >= 2);
    assert_int_equal(counts->timeouts, counts->failures);
}

UNIT_TEST_ON(test_old_success_counts_no_more, struct fixture *f)
{
    const struct probe_config config = probe_config_of("echo fine");
    bool healthy;
    exechealthz_probe_start(f, &config);
    probe_await_run(f, 1);
    assert_string_equal(exechealthz_probe_report(f, 0, &healthy), "ok");
    probe_assert_matches(
        "old", exechealthz_probe_report(f, LONG_MS + 1, &healthy),
        "^Latest result too old to be useful: Result of last exec: fine\n, at " TIME
        ", error None\\.\n$");
    assert_false(healthy);
}

UNIT_TEST_ON(test_output_is_the_reply, struct fixture *f)
{
    struct probe_config config = probe_config_of("echo '100%s'");
    bool healthy;
    config.settings.want_output = true;
    exechealthz_probe_start(f, &config);
    probe_await_run(f, 1);
    assert_string_equal(exechealthz_probe_report(f, 0, &healthy), "100%s\n");
    assert_true(healthy);
}

UNIT_TEST_ON(test_output_has_a_limit, struct fixture *f)
{
    const struct probe_config config = probe_config_of("head -c 1000000 /dev/zero");
    exechealthz_probe_start(f, &config);
    probe_await_run(f, 1);
    assert_int_equal(probe_last(f->probe).output.len, OUTPUT_MAX);
    assert_null(probe_last(f->probe).error);
}

static void await_health(struct fixture *f, bool want)
{
    bool healthy = !want;
    while (healthy != want) {
        probe_await_run(f, probe_last(f->probe).run + 1);
        (void)exechealthz_probe_report(f, 0, &healthy);
    }
}

UNIT_TEST_ON(test_follows_the_command, struct fixture *f)
{
    char path[] = "/tmp/test_probe.XXXXXX", command[128];
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    (void)snprintf(command, sizeof(command), "test -e %s", path);
    const struct probe_config config = probe_config_of(command);
    exechealthz_probe_start(f, &config);
    await_health(f, true);
    assert_int_equal(unlink(path), 0);
    await_health(f, false);
    assert_int_equal(mkdir(path, 0700), 0);
    await_health(f, true);
    assert_int_equal(rmdir(path), 0);
    close(fd);
}

UNIT_TEST_ON(test_runs_do_not_overlap, struct fixture *f)
{
    char folder[] = "/tmp/test_probe.XXXXXX", command[128];
    assert_non_null(mkdtemp(folder));
    (void)snprintf(command, sizeof(command), "rmdir %s && sleep 0.01 && mkdir %s", folder, folder);
    const struct probe_config config = probe_config_of(command);
    exechealthz_probe_start(f, &config);
    for (uint64_t run = 1; run <= 20; run++) {
        probe_await_run(f, run);
        assert_null(probe_last(f->probe).error);
    }
    probe_free(f->probe);
    f->probe = NULL;
    (void)rmdir(folder); /* may not exist: another run had started */
}

UNIT_TEST_ON(test_the_first_run_is_one_period_away, struct fixture *f)
{
    struct probe_config config = probe_config_of("true");
    config.settings.period_ms = 200;
    int64_t begin_us = clock_monotonic_us();
    exechealthz_probe_start(f, &config);
    probe_await_run(f, 1);
    assert_true(clock_monotonic_us() - begin_us >= config.settings.period_ms * 1000);
}

/* A run longer than many periods is followed by one at once; the rest keep their interval. */
UNIT_TEST_ON(test_missed_ticks_do_not_pile_up, struct fixture *f)
{
    enum { PERIOD_MS = 50, MORE_RUNS = 8 };
    char path[] = "/tmp/test_probe.XXXXXX", command[128];
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    /* The first run lasts ten periods. */
    (void)snprintf(command, sizeof(command), "test -e %s || exit 0; rm %s; sleep 0.5", path, path);
    struct probe_config config = probe_config_of(command);
    config.settings.period_ms = PERIOD_MS;
    exechealthz_probe_start(f, &config);
    probe_await_run(f, 1);
    int64_t begin_us = clock_monotonic_us();
    probe_await_run(f, 1 + MORE_RUNS);
    /* One may come at once for the missed ticks, and two whenever the machine stalls for a period
     * or more. All at once would take no time. */
    assert_true(clock_monotonic_us() - begin_us >= PERIOD_MS * 1000);
    close(fd);
}

static void await_gone(struct fixture *f, pid_t pid)
{
    while (kill(pid, 0) == 0) {
        ev_run(f->loop, EVRUN_ONCE);
    }
    assert_int_equal(errno, ESRCH);
}

/* The pid that the command wrote, or 0. */
static pid_t pid_written(const struct fixture *f)
{
    struct slice output = probe_last(f->probe).output;
    char text[32] = "";
    memcpy(text, output.ptr, output.len < sizeof(text) ? output.len : sizeof(text) - 1);
    return (pid_t)strtol(text, NULL, 10);
}

UNIT_TEST_ON(test_hanging_command_is_killed_whole, struct fixture *f)
{
    struct probe_config config = probe_config_of(
        "trap '' TERM; (trap '' TERM; sleep 1000; :) & echo $!; wait; sleep 1000; :");
    pid_t grandchild = 0;
    /* However slow the machine, with a long enough timeout the shell reports the child it
     * started. */
    for (config.settings.timeout_ms = 250; grandchild == 0; config.settings.timeout_ms *= 2) {
        config.settings.period_ms = 50;
        exechealthz_probe_start(f, &config);
        probe_await_run(f, 1);
        assert_string_equal(probe_last(f->probe).error, "signal: killed");
        grandchild = pid_written(f);
    }
    await_gone(f, grandchild);
}

UNIT_TEST_ON(test_nothing_is_left_behind_by_a_success, struct fixture *f)
{
    struct probe_config config = probe_config_of("sleep 1000 & echo $!");
    config.settings.period_ms = 50;
    exechealthz_probe_start(f, &config);
    probe_await_run(f, 1);
    assert_null(probe_last(f->probe).error);
    pid_t background = pid_written(f);
    assert_true(background > 0);
    await_gone(f, background);
}

/* It has left the process group, and holds the pipe: the result does not wait for it. */
UNIT_TEST_ON(test_a_process_that_left_the_group_delays_nothing, struct fixture *f)
{
    struct probe_config config = probe_config_of("setsid sleep 1000 & echo $!; "
                                                 "until kill -0 -$! 2>/dev/null; do :; done");
    config.settings.period_ms = 50;
    exechealthz_probe_start(f, &config);
    probe_await_run(f, 1);
    assert_null(probe_last(f->probe).error);
    pid_t gone_away = pid_written(f);
    probe_free(f->probe); /* no second run starts */
    f->probe = NULL;
    assert_int_equal(kill(gone_away, SIGKILL), 0);
    await_gone(f, gone_away);
}

UNIT_TEST_ON(test_free_kills_the_running_command, struct fixture *f)
{
    char path[] = "/tmp/test_probe.XXXXXX", command[128];
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    (void)snprintf(command, sizeof(command), "echo $$ >%s; sleep 1000; :", path);
    const struct probe_config config = probe_config_of(command);
    char text[32] = "";
    exechealthz_probe_start(f, &config);
    while (strchr(text, '\n') == NULL) {
        ev_run(f->loop, EVRUN_NOWAIT);
        assert_true(pread(fd, text, sizeof(text) - 1, 0) >= 0);
    }
    probe_free(f->probe);
    f->probe = NULL;
    await_gone(f, (pid_t)strtol(text, NULL, 10));
    close(fd);
    unlink(path);
}

static unsigned entries_of(const char *path)
{
    DIR *dir = opendir(path);
    unsigned count = 0;
    assert_non_null(dir);
    while (readdir(dir)) {
        count++;
    }
    closedir(dir);
    return count;
}

UNIT_TEST_ON(test_no_descriptor_leaks_either_way, struct fixture *f)
{
    const struct probe_config config = probe_config_of("ls /proc/self/fd; sleep 0 &");
    unsigned before = entries_of("/proc/self/fd");
    exechealthz_probe_start(f, &config);
    probe_await_run(f, 1);
    /* Standard input, output, error, and the descriptor that reads the folder. */
    assert_true(slice_equal(probe_last(f->probe).output, slice_str("0\n1\n2\n3\n")));
    probe_await_run(f, 200);
    probe_free(f->probe);
    f->probe = NULL;
    assert_int_equal(entries_of("/proc/self/fd"), before);
}
