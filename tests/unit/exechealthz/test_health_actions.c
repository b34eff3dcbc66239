/* health_actions with real commands, which append a line each to a file; results come from the
 * test. */
#include "exechealthz/health_actions.h"

#include <signal.h>
#include <unistd.h>

#include "common/base/log.h"
#include "tests/support/unit_test.h"

enum {
    LONG_MS = 3600 * 1000, /* never elapses in a test */
    TIMEOUT_S = 120,       /* only ends a test that hangs */
};

struct fixture {
    struct ev_loop *loop;
    struct reaper reaper;
    ev_timer timeout;
    struct health_actions *actions;
    char file[64];
    char good[128], bad[256];
};

static void actions_give_up(struct ev_loop *loop, ev_timer *w, int events)
{
    fail_msg("timed out after %d s", TIMEOUT_S);
}

static void actions_setup(struct fixture *f)
{
    *f = (struct fixture){.loop = ev_loop_new(EVFLAG_AUTO), .file = "/tmp/actions.XXXXXX"};
    int fd = mkstemp(f->file);
    assert_true(fd >= 0);
    (void)close(fd);
    (void)snprintf(f->good, sizeof(f->good), "echo good >>%s", f->file);
    (void)snprintf(f->bad, sizeof(f->bad),
                   "echo \"bad $EXECHEALTHZ_PROBE: $EXECHEALTHZ_REASON\" >>%s", f->file);
    reaper_start(&f->reaper, f->loop);
    ev_timer_init(&f->timeout, actions_give_up, TIMEOUT_S, 0.);
    ev_timer_start(f->loop, &f->timeout);
}

static void actions_teardown(struct fixture *f)
{
    health_actions_free(f->actions);
    reaper_stop(&f->reaper);
    ev_loop_destroy(f->loop);
    (void)unlink(f->file);
}

static int actions_before_tests(void **state)
{
    log_set_level(LOG_LEVEL_ERROR);
    return 0;
}

UNIT_FIXTURE(struct fixture, actions_setup, actions_teardown)
UNIT_TESTS_ONCE(actions_before_tests, NULL)

/* Starts with two probes, "a" and "b". */
static void actions_start(struct fixture *f, const char *good, const char *bad, int64_t repeat_ms)
{
    f->actions = health_actions_new(&(struct health_actions_config){
        .loop = f->loop,
        .reaper = &f->reaper,
        .on_healthy = good,
        .on_unhealthy = bad,
        .threshold = 2,
        .repeat_ms = repeat_ms,
        .timeout_ms = LONG_MS,
    });
    assert_int_equal(health_actions_add(f->actions, "a"), 0);
    assert_int_equal(health_actions_add(f->actions, "b"), 1);
}

static uint64_t actions_runs(const struct fixture *f, enum health health)
{
    return health_actions_counts(f->actions, health)->runs;
}

static void actions_await(const struct fixture *f, enum health health, uint64_t runs)
{
    while (actions_runs(f, health) < runs) {
        ev_run(f->loop, EVRUN_ONCE);
    }
}

static const char *actions_lines(const struct fixture *f)
{
    static char text[1024];
    FILE *file = fopen(f->file, "r");
    assert_non_null(file);
    text[fread(text, 1, sizeof(text) - 1, file)] = '\0';
    (void)fclose(file);
    return text;
}

static void note_both(struct fixture *f, unsigned times, const char *error)
{
    for (unsigned i = 0; i < times; i++) {
        health_actions_note(f->actions, 0, error);
        health_actions_note(f->actions, 1, error);
    }
}

UNIT_TEST_ON(test_changes_of_all_probes_together, struct fixture *f)
{
    actions_start(f, f->good, f->bad, 0);
    note_both(f, 1, "");
    health_actions_note(f->actions, 0, "");
    health_actions_note(f->actions, 0, ""); /* b has succeeded once only */
    ev_run(f->loop, EVRUN_NOWAIT);
    assert_string_equal(actions_lines(f), "");
    health_actions_note(f->actions, 1, "");
    actions_await(f, HEALTH_GOOD, 1); /* the first known health is a change */
    note_both(f, 3, "");
    health_actions_note(f->actions, 1, "no response"); /* one is not two */
    health_actions_note(f->actions, 1, "");
    health_actions_note(f->actions, 1, "no response");
    note_both(f, 1, "");
    health_actions_note(f->actions, 1, "no response");
    health_actions_note(f->actions, 1, "refused");
    actions_await(f, HEALTH_BAD, 1);
    note_both(f, 1, ""); /* one is not two: still unhealthy */
    health_actions_note(f->actions, 1, "refused");
    note_both(f, 2, "");
    actions_await(f, HEALTH_GOOD, 2);
    assert_string_equal(actions_lines(f), "good\nbad b: refused\ngood\n");
    assert_int_equal(actions_runs(f, HEALTH_BAD), 1);
    assert_int_equal(health_actions_counts(f->actions, HEALTH_BAD)->failures, 0);
}

/* A change while a command runs waits for its end; one that was taken back is not run. */
UNIT_TEST_ON(test_one_command_at_once, struct fixture *f)
{
    char slow[512];
    (void)snprintf(slow, sizeof(slow),
                   "echo begin >>%s; while ! test -e %s.go; do sleep 0.01; done; "
                   "rm %s.go; echo end >>%s",
                   f->file, f->file, f->file, f->file);
    actions_start(f, slow, f->bad, 0);
    note_both(f, 2, "");
    while (!strstr(actions_lines(f), "begin")) {
        ev_run(f->loop, EVRUN_NOWAIT);
    }
    note_both(f, 2, "down");
    note_both(f, 2, "");
    note_both(f, 2, "down again");
    assert_string_equal(actions_lines(f), "begin\n");
    char go[80];
    (void)snprintf(go, sizeof(go), "%s.go", f->file);
    FILE *file = fopen(go, "w");
    assert_non_null(file);
    (void)fclose(file);
    actions_await(f, HEALTH_BAD, 1);
    assert_string_equal(actions_lines(f), "begin\nend\nbad a: down again\n");
    assert_int_equal(actions_runs(f, HEALTH_GOOD), 1);
}

UNIT_TEST_ON(test_a_failed_command_runs_again, struct fixture *f)
{
    char fails_once[512];
    (void)snprintf(fails_once, sizeof(fails_once), "echo x >>%s; test $(wc -l <%s) -gt 1", f->file,
                   f->file);
    actions_start(f, NULL, fails_once, 0);
    note_both(f, 2, "down");
    actions_await(f, HEALTH_BAD, 1);
    note_both(f, 1, "down");
    actions_await(f, HEALTH_BAD, 2);
    note_both(f, 3, "down"); /* it has succeeded */
    ev_run(f->loop, EVRUN_NOWAIT);
    assert_string_equal(actions_lines(f), "x\nx\n");
    assert_int_equal(health_actions_counts(f->actions, HEALTH_BAD)->failures, 1);
}

UNIT_TEST_ON(test_repeated_while_healthy, struct fixture *f)
{
    actions_start(f, f->good, f->bad, 1);
    note_both(f, 2, "");
    actions_await(f, HEALTH_GOOD, 3);
    note_both(f, 2, "down");
    actions_await(f, HEALTH_BAD, 1);
    uint64_t runs = actions_runs(f, HEALTH_GOOD);
    ev_run(f->loop, EVRUN_NOWAIT);
    assert_int_equal(actions_runs(f, HEALTH_GOOD), runs);
    assert_non_null(strstr(actions_lines(f), "good\nbad a: down\n"));
}

UNIT_TEST_ON(test_the_end, struct fixture *f)
{
    char slow[512];
    (void)snprintf(slow, sizeof(slow), "echo begin >>%s; echo end >>%s", f->file, f->file);
    actions_start(f, slow, f->bad, 0);
    note_both(f, 2, "");
    health_actions_stop(f->actions); /* while the other runs */
    note_both(f, 2, "");
    ev_run(f->loop, 0);
    assert_string_equal(actions_lines(f), "begin\nend\nbad : exechealthz stops\n");
    assert_int_equal(actions_runs(f, HEALTH_BAD), 1);
}

static void actions_on_stop(struct ev_loop *loop, ev_timer *w, int events)
{
    health_actions_stop(w->data);
}

/* A command that runs at the end has another reason: it runs again with this one, thrice if it
 * fails. */
UNIT_TEST_ON(test_the_end_while_unhealthy, struct fixture *f)
{
    char fails[512];
    (void)snprintf(fails, sizeof(fails), "%s; false", f->bad);
    actions_start(f, NULL, fails, 0);
    note_both(f, 2, "down");
    health_actions_stop(f->actions);
    ev_run(f->loop, 0);
    assert_string_equal(actions_lines(f), "bad a: down\nbad : exechealthz stops\n"
                                          "bad : exechealthz stops\nbad : exechealthz stops\n");
}

/* Variables of these names that we were started with are not the command's. */
UNIT_TEST_ON(test_variables_of_our_own_environment, struct fixture *f)
{
    assert_int_equal(setenv("EXECHEALTHZ_REASON", "another", 1), 0);
    actions_start(f, NULL, f->bad, 0);
    note_both(f, 2, "down");
    actions_await(f, HEALTH_BAD, 1);
    (void)unsetenv("EXECHEALTHZ_REASON"); /* fails for odd names only */
    assert_string_equal(actions_lines(f), "bad a: down\n");
}

UNIT_TEST_ON(test_the_end_without_a_command, struct fixture *f)
{
    ev_timer stop;
    actions_start(f, f->good, NULL, 0);
    note_both(f, 2, "down");
    ev_timer_init(&stop, actions_on_stop, 0., 0.);
    stop.data = f->actions;
    ev_timer_start(f->loop, &stop);
    ev_run(f->loop, 0);
    assert_int_equal(actions_runs(f, HEALTH_BAD), 0);
    assert_string_equal(actions_lines(f), "");
}

UNIT_TEST_ON(test_a_hung_command_is_killed, struct fixture *f)
{
    f->actions = health_actions_new(&(struct health_actions_config){
        .loop = f->loop,
        .reaper = &f->reaper,
        .on_unhealthy = "sleep 3600",
        .threshold = 1,
        .timeout_ms = 20,
    });
    (void)health_actions_add(f->actions, "a");
    health_actions_note(f->actions, 0, "down");
    actions_await(f, HEALTH_BAD, 1);
    assert_int_equal(health_actions_counts(f->actions, HEALTH_BAD)->failures, 1);
    assert_null(health_actions_command(f->actions, HEALTH_GOOD));
    health_actions_stop(f->actions);
    ev_run(f->loop, 0);
    assert_int_equal(actions_runs(f, HEALTH_BAD), 1 + 3);
}
