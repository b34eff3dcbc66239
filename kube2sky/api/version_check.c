#include "kube2sky/api/version_check_internal.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/attributes.h"
#include "common/base/backoff.h"
#include "common/base/log.h"
#include "common/base/xalloc.h"

struct version_check {
    struct version_check_config config;
    struct kube_scope scope; /* of one object: the server looks at no other */
    char *seen;
    struct backoff backoff;
    ev_timer retry;
    struct kube_request *request; /* NULL: waiting, or done */
    struct kube_list *list;
};

static void ask(struct version_check *check);

/* ---- Versions ---- */

static bool is_number(const char *version)
{
    return *version && *version != '0' && !version[strspn(version, "0123456789")];
}

bool version_is_before(const char *version, const char *other)
{
    if (!is_number(version) || !is_number(other)) {
        return false;
    }
    size_t len = strlen(version), other_len = strlen(other);
    return len != other_len ? len < other_len : strcmp(version, other) < 0;
}

/* ---- The request ---- */

static void forget_list(struct version_check *check)
{
    kube_list_free(check->list);
    check->list = NULL;
}

static void ask_later(struct version_check *check, const struct kube_failure *failure)
{
    uint32_t delay_ms = backoff_next_ms(&check->backoff, backoff_random());
    delay_ms = delay_ms > failure->retry_after_ms ? delay_ms : failure->retry_after_ms;
    ev_timer_set(&check->retry, (double)delay_ms / 1000, 0);
    ev_timer_start(check->config.loop, &check->retry);
}

static void on_retry(struct ev_loop *loop UNUSED, ev_timer *w, int revents UNUSED)
{
    ask(w->data);
}

static void on_object(void *data UNUSED, struct kube_object *object)
{
    kube_object_free(object);
}

static void on_bad(void *data UNUSED, const struct err *err UNUSED)
{
}

static void on_open(void *data, enum kube_encoding encoding)
{
    struct version_check *check = data;
    check->list = kube_list_new(encoding, check->config.resource->kind, on_object, on_bad, check);
}

static void on_bytes(void *data, struct slice bytes)
{
    struct version_check *check = data;
    struct err err;
    if (kube_list_push(check->list, bytes, &err) < 0) {
        kube_request_cancel(check->request);
        check->request = NULL;
        forget_list(check);
    }
}

/* May free the check. */
static void compare(struct version_check *check, const char *now)
{
    log_debug("versions compared", LOG_STR("kind", check->config.resource->name),
              LOG_STR("seen", check->seen), LOG_STR("now", now));
    if (version_is_before(now, check->seen)) {
        check->config.went_back(check->config.data, check->seen, now);
    }
}

/* What is refused, or makes no sense, does so again; the hourly list is left. */
static void on_end(void *data, const struct kube_failure *failure)
{
    struct version_check *check = data;
    struct kube_list_meta meta = {0};
    struct err err;
    check->request = NULL;
    bool is_read = !failure && kube_list_end(check->list, &meta, &err) == 0;
    forget_list(check);
    if (is_read) {
        compare(check, meta.resource_version);
        kube_list_meta_fini(&meta);
    } else if (failure && failure->err.code != ERR_REFUSED && failure->err.code != ERR_PROTOCOL) {
        ask_later(check, failure);
    }
}

static void ask(struct version_check *check)
{
    static const struct kube_list_callbacks callbacks = {
        .on_open = on_open, .on_bytes = on_bytes, .on_end = on_end};
    check->request = kube_client_list(check->config.client, check->config.resource, &check->scope,
                                      1, "", &callbacks, check);
}

/* ---- Lifecycle ---- */

/* A namespace and a name make it a read of one key, whether that exists or not. */
static struct kube_scope scope_of_one(const struct version_check_config *config)
{
    bool is_namespaced = kube_kind_is_namespaced(config->resource->kind);
    return (struct kube_scope){
        .ns = *config->scope->ns || !is_namespaced ? config->scope->ns : "default",
        .label_selector = "",
        .object = config->scope->object ? config->scope->object : "kubernetes",
    };
}

struct version_check *version_check_start(const struct version_check_config *config,
                                          const char *seen)
{
    struct version_check *check = xcalloc(1, sizeof(*check));
    check->config = *config;
    check->scope = scope_of_one(config);
    check->seen = xstrdup(seen);
    backoff_init(&check->backoff, config->timing->retry_first_ms, config->timing->retry_max_ms);
    ev_timer_init(&check->retry, on_retry, 0, 0);
    check->retry.data = check;
    ask(check);
    return check;
}

void version_check_stop(struct version_check *check)
{
    if (check) {
        if (check->request) {
            kube_request_cancel(check->request);
        }
        ev_timer_stop(check->config.loop, &check->retry);
        forget_list(check);
        free(check->seen);
        free(check);
    }
}
