#include "kube2sky/api/version_check_internal.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/attributes.h"
#include "common/base/backoff.h"
#include "common/base/log.h"
#include "common/base/timer.h"
#include "common/base/xalloc.h"
#include "kube2sky/api/kube_object.h"
#include "kube2sky/api/watcher_internal.h"

struct version_check {
    const struct watcher_config *config;
    struct watcher *watcher;
    struct kube_scope scope; /* selects one object: the server looks at no other */
    char *seen;
    struct backoff backoff;
    ev_timer retry;
    struct kube_request *request; /* NULL: waiting, or finished */
};

static void version_check_ask(struct version_check *check);

/* ---- The request ---- */

static void ask_later(struct version_check *check, const struct kube_failure *failure)
{
    uint32_t delay_ms = backoff_next_ms(&check->backoff, backoff_random());
    delay_ms = delay_ms > failure->retry_after_ms ? delay_ms : failure->retry_after_ms;
    timer_arm_ms(check->config->loop, &check->retry, delay_ms);
}

static void version_check_on_retry(struct ev_loop *loop UNUSED, ev_timer *w, int revents UNUSED)
{
    version_check_ask(w->data);
}

/* Compares the versions; may free the check. */
static void version_check_compare(struct version_check *check, const char *now)
{
    log_debug("versions compared", LOG_STR("kind", check->config->resource->name),
              LOG_STR("seen", check->seen), LOG_STR("now", now));
    if (kube_version_is_before(now, check->seen)) {
        watcher_note_went_back(check->watcher, check->seen, now);
    }
}

/* Returns whether a repeated request would fail the same way: a refusal, or a response without
 * sense. The hourly list remains. */
static bool is_lasting(const struct err *err)
{
    return err->code == ERR_REFUSED || err->code == ERR_PROTOCOL || err->code == ERR_SYNTAX ||
           err->code == ERR_TOO_LARGE;
}

static void version_check_on_end(void *data, struct kube_list_meta *meta,
                                 const struct kube_failure *failure)
{
    struct version_check *check = data;
    check->request = NULL;
    if (meta) {
        version_check_compare(check, meta->resource_version);
    } else if (!is_lasting(&failure->err)) {
        ask_later(check, failure);
    }
}

static void version_check_ask(struct version_check *check)
{
    static const struct kube_list_callbacks callbacks = {.on_end = version_check_on_end};
    check->request = kube_client_list(check->config->client, check->config->resource, &check->scope,
                                      1, "", &callbacks, check);
}

/* ---- Lifecycle ---- */

/* Returns the scope of one object: with namespace and name the server reads one key, whether that
 * exists or not. */
static struct kube_scope scope_of_one(const struct watcher_config *config)
{
    bool is_namespaced = kube_kind_is_namespaced(config->resource->kind);
    return (struct kube_scope){
        .ns = *config->scope.ns || !is_namespaced ? config->scope.ns : "default",
        .label_selector = "",
        .object = config->scope.object ? config->scope.object : "kubernetes",
    };
}

struct version_check *version_check_start(const struct watcher_config *config,
                                          struct watcher *watcher, const char *seen)
{
    struct version_check *check = xcalloc(1, sizeof(*check));
    check->config = config;
    check->watcher = watcher;
    check->scope = scope_of_one(config);
    check->seen = xstrdup(seen);
    backoff_init(&check->backoff, config->timing->retry_first_ms, config->timing->retry_max_ms);
    timer_init(&check->retry, version_check_on_retry, check);
    version_check_ask(check);
    return check;
}

void version_check_stop(struct version_check *check)
{
    if (check) {
        if (check->request) {
            kube_request_cancel(check->request);
        }
        ev_timer_stop(check->config->loop, &check->retry);
        free(check->seen);
        free(check);
    }
}
