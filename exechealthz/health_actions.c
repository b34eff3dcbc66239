#include "exechealthz/health_actions.h"

#include <assert.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/attributes.h"
#include "common/base/cleanup.h"
#include "common/base/clock.h"
#include "common/base/flags.h"
#include "common/base/log.h"
#include "common/base/xalloc.h"
#include "exechealthz/shell_run.h"

enum {
    PROBES_MAX = 2 * FLAG_STRINGS_MAX, /* -cmd and -dns */
    REASON_MAX = 512,                  /* longer than any error of a probe */
    END_RUNS_MAX = 3,                  /* tries of -on-unhealthy at the end: no result follows */
};

/* Counts the latest equal results of one probe. */
struct streak {
    const char *name;
    bool has_failed;
    int64_t results;
};

struct health_actions {
    struct health_actions_config config;
    struct streak probes[PROBES_MAX];
    unsigned probe_count;
    enum health health;
    const char *probe;       /* that made it bad; "": none */
    char reason[REASON_MAX]; /* its error */

    enum health done;         /* whose command ran last, or runs */
    bool is_to_repeat;        /* though it is done */
    bool is_failing[HEALTHS]; /* its last command */
    bool is_news;             /* the last command ran because of a change */
    struct shell_run run;
    ev_timer repeat;
    bool is_stopping;
    unsigned end_runs; /* since then */
    struct health_action_counts counts[HEALTHS];
};

static const char *const flag_names[] = {
    [HEALTH_UNKNOWN] = "", [HEALTH_GOOD] = "on-healthy", [HEALTH_BAD] = "on-unhealthy"};

const char *health_actions_command(const struct health_actions *actions, enum health health)
{
    const struct health_actions_config *config = &actions->config;
    return health == HEALTH_GOOD  ? config->on_healthy
           : health == HEALTH_BAD ? config->on_unhealthy
                                  : NULL;
}

const struct health_action_counts *health_actions_counts(const struct health_actions *actions,
                                                         enum health health)
{
    return &actions->counts[health];
}

/* ---- Runs ---- */

/* Runs the command with the variables that say why, instead of those that we were started with. */
static void health_actions_run(struct health_actions *actions, const char *command)
{
    static const char probe_variable[] = "EXECHEALTHZ_PROBE=";
    static const char reason_variable[] = "EXECHEALTHZ_REASON=";
    CLEANUP_FREE char *probe = xasprintf("%s%s", probe_variable, actions->probe);
    CLEANUP_FREE char *reason = xasprintf("%s%s", reason_variable, actions->reason);
    size_t count = 0, all = 0;
    while (environ[all]) {
        all++;
    }
    char **environment = xcalloc(all + 3, sizeof(*environment));
    for (size_t i = 0; i < all; i++) {
        if (strncmp(environ[i], probe_variable, sizeof(probe_variable) - 1) != 0 &&
            strncmp(environ[i], reason_variable, sizeof(reason_variable) - 1) != 0) {
            environment[count++] = environ[i];
        }
    }
    environment[count++] = probe;
    environment[count] = reason;
    shell_run_start(&actions->run, flag_names[actions->done], command, environment);
    free(environment);
}

/* Runs what the health demands and has not been run, unless a command runs. */
static void health_actions_act(struct health_actions *actions)
{
    const char *command = health_actions_command(actions, actions->health);
    bool is_due = actions->health != actions->done || actions->is_to_repeat;
    if (!is_due || shell_run_is_active(&actions->run)) {
        return;
    }
    actions->is_news = actions->health != actions->done || actions->is_stopping;
    actions->done = actions->health;
    actions->is_to_repeat = false;
    ev_timer_stop(actions->config.loop, &actions->repeat);
    if (command) {
        actions->end_runs += actions->is_stopping;
        health_actions_run(actions, command);
    }
}

static void health_actions_log_end(const struct health_actions *actions, bool was_failing,
                                   const char *error)
{
    const char *flag = flag_names[actions->done];
    if (!*error && !actions->is_news && !was_failing) {
        log_debug("command of the health run again", LOG_STR("flag", flag));
    } else if (!*error) {
        log_info("command of the health run", LOG_STR("flag", flag),
                 LOG_STR("probe", actions->probe), LOG_STR("reason", actions->reason),
                 LOG_INT("duration_ms", (clock_monotonic_us() - actions->run.started_us) / 1000));
    } else if (!was_failing) {
        log_warn("command of the health failed, running it again with the next result",
                 LOG_STR("flag", flag), LOG_STR("error", error),
                 LOG_SLICE("output", buf_slice(&actions->run.output)));
    }
}

static void health_actions_on_end(struct shell_run *run, const char *error)
{
    struct health_actions *actions =
        (struct health_actions *)(void *)((char *)run - offsetof(struct health_actions, run));
    bool was_failing = actions->is_failing[actions->done];
    actions->counts[actions->done].runs++;
    actions->counts[actions->done].failures += *error != '\0';
    actions->is_failing[actions->done] = *error != '\0';
    health_actions_log_end(actions, was_failing, error);
    if (actions->done == HEALTH_GOOD && actions->config.repeat_ms > 0) {
        ev_timer_again(actions->config.loop, &actions->repeat);
    }
    actions->is_to_repeat |= actions->is_stopping && *error && actions->end_runs < END_RUNS_MAX;
    health_actions_act(actions);
    if (actions->is_stopping && !shell_run_is_active(&actions->run)) {
        ev_break(actions->config.loop, EVBREAK_ALL);
    }
}

static void health_actions_on_repeat(struct ev_loop *loop UNUSED, ev_timer *timer,
                                     int events UNUSED)
{
    struct health_actions *actions = timer->data;
    actions->is_to_repeat = actions->health == HEALTH_GOOD;
    health_actions_act(actions);
}

/* ---- Health ---- */

/* Returns the health of all probes together; *ret_bad: which probe makes it bad. */
static enum health health_of_all(const struct health_actions *actions,
                                 const struct streak **ret_bad)
{
    enum health health = HEALTH_GOOD;
    for (unsigned i = 0; i < actions->probe_count; i++) {
        const struct streak *streak = &actions->probes[i];
        bool is_settled = streak->results >= actions->config.threshold;
        if (is_settled && streak->has_failed) {
            *ret_bad = streak;
            return HEALTH_BAD;
        }
        health = is_settled ? health : actions->health;
    }
    return health;
}

static void health_actions_set(struct health_actions *actions, enum health health,
                               const char *probe, const char *reason)
{
    actions->health = health;
    actions->probe = probe;
    (void)snprintf(actions->reason, sizeof(actions->reason), "%s", reason); /* a long one is cut */
}

unsigned health_actions_add(struct health_actions *actions, const char *name)
{
    if (!actions) {
        return 0;
    }
    assert(actions->probe_count < PROBES_MAX);
    actions->probes[actions->probe_count] = (struct streak){.name = name};
    return actions->probe_count++;
}

void health_actions_note(struct health_actions *actions, unsigned probe, const char *error)
{
    const struct streak *bad = NULL;
    if (!actions || actions->is_stopping) {
        return;
    }
    struct streak *streak = &actions->probes[probe];
    bool has_failed = *error != '\0';
    streak->results = has_failed == streak->has_failed ? streak->results + 1 : 1;
    streak->has_failed = has_failed;
    enum health health = health_of_all(actions, &bad);
    if (health == actions->health) {
        actions->is_to_repeat |= actions->is_failing[health] && actions->done == health &&
                                 !shell_run_is_active(&actions->run);
    } else {
        assert(!bad || bad == streak); /* another one would have been bad before */
        health_actions_set(actions, health, bad ? bad->name : "", bad ? error : "");
    }
    health_actions_act(actions);
}

void health_actions_stop(struct health_actions *actions)
{
    if (actions->is_stopping || !actions->config.on_unhealthy) {
        ev_break(actions->config.loop, EVBREAK_ALL);
        return;
    }
    actions->is_stopping = true;
    actions->is_to_repeat = true; /* with this reason, also after one that runs with another */
    health_actions_set(actions, HEALTH_BAD, "", "exechealthz stops");
    health_actions_act(actions);
}

/* ---- Life ---- */

struct health_actions *health_actions_new(const struct health_actions_config *config)
{
    struct health_actions *actions = xcalloc(1, sizeof(*actions));
    actions->config = *config;
    actions->probe = "";
    shell_run_init(&actions->run, config->loop, config->reaper, config->timeout_ms,
                   health_actions_on_end);
    ev_timer_init(&actions->repeat, health_actions_on_repeat, 0., (double)config->repeat_ms / 1000);
    actions->repeat.data = actions;
    return actions;
}

void health_actions_free(struct health_actions *actions)
{
    if (actions) {
        ev_timer_stop(actions->config.loop, &actions->repeat);
        shell_run_fini(&actions->run);
        free(actions);
    }
}
