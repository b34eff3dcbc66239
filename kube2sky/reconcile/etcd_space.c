#include "kube2sky/reconcile/etcd_space_internal.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/attributes.h"
#include "common/base/backoff.h"
#include "common/base/err.h"
#include "common/base/log.h"
#include "common/base/timer.h"
#include "common/base/xalloc.h"
#include "common/etcd/etcd.h"

/* Time between two status requests; each comes up to a quarter earlier, so that writers that
 * started together do not ask together. A file that grows from 80 % to its quota within a minute
 * shows by etcd's refusal. */
enum { LOOK_EVERY_MS = 60000 };

static const char refusal_text[] =
    "etcd is out of space and refuses writes: compact, defragment, disarm its alarm";
static const char shortage_text[] =
    "etcd has filled more than 80 % of --etcd-space: compact and defragment it, or raise its quota "
    "and --etcd-space";

struct etcd_space {
    struct etcd_space_config config;
    struct etcd_space_figures figures;
    struct etcd_call *call; /* NULL: no request is under way */
    ev_timer next;
    bool is_denial_told;
};

/* ---- Refusals ---- */

/* Looks for the message, since etcd has no status code of its own for a full database. */
void etcd_space_note_write(struct etcd_space *space, const struct err *err)
{
    bool was_exhausted = space->figures.is_exhausted;
    space->figures.is_exhausted = err && strstr(err->msg, "database space exceeded");
    if (space->figures.is_exhausted && !was_exhausted) {
        log_error(refusal_text, LOG_STR("reason", err->msg));
    }
}

/* ---- Looks ---- */

static bool is_beyond(const struct etcd_space *space, uint64_t percent)
{
    uint64_t quota = space->config.quota_bytes;
    return quota && space->figures.file_bytes / percent > quota / 100;
}

static void take_sizes(struct etcd_space *space, const struct etcd_status_reply *reply)
{
    struct etcd_space_figures *figures = &space->figures;
    bool was_short = figures->is_short;
    figures->is_known = true;
    figures->file_bytes = (uint64_t)reply->file_bytes;
    figures->in_use_bytes = (uint64_t)reply->in_use_bytes;
    figures->is_short = is_beyond(space, ETCD_SPACE_SHORT_PERCENT);
    if (figures->is_short && !was_short) {
        log_warn(shortage_text, LOG_INT("file_bytes", reply->file_bytes),
                 LOG_INT("in_use_bytes", reply->in_use_bytes),
                 LOG_INT("space_bytes", (int64_t)space->config.quota_bytes));
    } else if (was_short && !figures->is_short) {
        log_info("etcd has space again", LOG_INT("file_bytes", reply->file_bytes));
    }
}

static void note_denial(struct etcd_space *space, const struct err *err)
{
    space->figures.is_known = space->figures.is_short = false;
    if (!space->is_denial_told) {
        space->is_denial_told = true;
        log_warn("etcd's size cannot be read, so that only its refusals tell that it is full",
                 LOG_STR("reason", err->msg));
    }
}

/* Ignores an etcd that cannot be reached, which others report; the last sizes count until it
 * answers. */
static void on_status(void *data, const struct etcd_status_reply *reply, const struct err *err)
{
    struct etcd_space *space = data;
    space->call = NULL;
    if (reply) {
        space->is_denial_told = false;
        take_sizes(space, reply);
    } else if (err->code == ERR_REFUSED) {
        note_denial(space, err);
    }
    uint32_t wait_ms = LOOK_EVERY_MS - backoff_random() % (LOOK_EVERY_MS / 4);
    timer_arm_ms(space->config.loop, &space->next, wait_ms);
}

static void on_space_timer(struct ev_loop *loop UNUSED, ev_timer *timer, int revents UNUSED)
{
    struct etcd_space *space = timer->data;
    space->call = etcd_status(space->config.etcd, on_status, space);
}

/* ---- Reports ---- */

struct etcd_space_figures etcd_space_figures(const struct etcd_space *space)
{
    return space->figures;
}

const char *etcd_space_refusal(const struct etcd_space *space)
{
    return space->figures.is_exhausted ? refusal_text : NULL;
}

const char *etcd_space_shortage(const struct etcd_space *space)
{
    return space->figures.is_short ? shortage_text : NULL;
}

/* ---- Life ---- */

struct etcd_space *etcd_space_start(const struct etcd_space_config *config)
{
    struct etcd_space *space = xcalloc(1, sizeof(*space));
    space->config = *config;
    timer_init(&space->next, on_space_timer, space);
    ev_timer_start(config->loop, &space->next);
    return space;
}

void etcd_space_stop(struct etcd_space *space)
{
    if (space) {
        ev_timer_stop(space->config.loop, &space->next);
        if (space->call) {
            etcd_call_cancel(space->call);
        }
        free(space);
    }
}
