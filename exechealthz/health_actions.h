/* Runs one command when the probes become unhealthy, and another when they become healthy.
 *
 *     results ──▶ a streak for each probe ──▶ the health of all ──▶ -on-unhealthy, -on-healthy
 *
 * All probes together are unhealthy once one has failed `threshold` times in a row, and healthy
 * once each has succeeded as often in a row; in between, their health stays as it was. At first it
 * is unknown, and becoming known is a change.
 *
 * No two commands run at once. When one ends, the next is chosen by the health of that moment, so a
 * change that was taken back meanwhile costs nothing. A command that fails runs again with the next
 * result. On the loop's thread. */
#ifndef EXECHEALTHZ_HEALTH_ACTIONS_H
#define EXECHEALTHZ_HEALTH_ACTIONS_H

#include <ev.h>
#include <stdint.h>

#include "exechealthz/shell_run.h"

enum health { HEALTH_UNKNOWN, HEALTH_GOOD, HEALTH_BAD };
enum { HEALTHS = 3 };

struct health_actions_config {
    struct ev_loop *loop;
    struct reaper *reaper;
    const char *on_healthy; /* shell commands, borrowed; NULL: none */
    const char *on_unhealthy;
    int64_t threshold;  /* results, > 0 */
    int64_t repeat_ms;  /* from the end of -on-healthy to its next run; 0: never */
    int64_t timeout_ms; /* after which a command is killed, > 0 */
};

struct health_action_counts {
    uint64_t runs; /* ended */
    uint64_t failures;
};

struct health_actions;

/* Copies config. */
struct health_actions *health_actions_new(const struct health_actions_config *config);

/* Kills a running command. NULL is fine. */
void health_actions_free(struct health_actions *actions);

/* Adds a probe, before the loop runs, and returns its number; actions NULL: 0. name: for
 * EXECHEALTHZ_PROBE, borrowed. */
unsigned health_actions_add(struct health_actions *actions, const char *name);

/* Notes a result of the probe; error "": it has succeeded. actions NULL: does nothing. */
void health_actions_note(struct health_actions *actions, unsigned probe, const char *error);

/* Runs -on-unhealthy, after a command that still runs, a few times if it fails, and then breaks the
 * loop; breaks it at once without such a command, or when called again. */
void health_actions_stop(struct health_actions *actions);

/* Returns the command for this health, NULL: none, and its counts. */
const char *health_actions_command(const struct health_actions *actions, enum health health);
const struct health_action_counts *health_actions_counts(const struct health_actions *actions,
                                                         enum health health);

#endif
