#include "kube2sky/api/endpoints_trial_internal.h"

#include <stdlib.h>

#include "common/base/attributes.h"
#include "common/base/cleanup.h"
#include "common/base/log.h"
#include "common/base/xalloc.h"

/* Only says when the server would end it; we end it at its first byte. */
enum { WATCH_S = 1 };

struct endpoints_trial {
    struct endpoints_trial_config config;
    struct kube_request *request; /* NULL: it has ended */
    struct kube_list *list;       /* while it arrives */
    size_t at;                    /* the namespace being tried */
};

static void try_namespace(struct endpoints_trial *trial);

/* ---- The end ---- */

static void forget_list(struct endpoints_trial *trial)
{
    kube_list_free(trial->list);
    trial->list = NULL;
}

/* May free the trial. */
static void end(struct endpoints_trial *trial, enum endpoints_trial_result result)
{
    bool is_refused = result == ENDPOINTS_TRIAL_ABSENT || result == ENDPOINTS_TRIAL_FORBIDDEN;
    log_debug("endpoint slices tried", LOG_INT("is_permitted", result == ENDPOINTS_TRIAL_PERMITTED),
              LOG_INT("is_refused", is_refused));
    trial->config.done(trial->config.data, result);
}

static enum endpoints_trial_result result_of(const struct kube_failure *failure)
{
    return failure && endpoints_source_is_refusal(failure->status) ? ENDPOINTS_TRIAL_FORBIDDEN
                                                                   : ENDPOINTS_TRIAL_UNKNOWN;
}

static enum endpoints_trial_result result_of_list(const struct kube_failure *failure)
{
    return failure && endpoints_source_is_absence(failure->status) ? ENDPOINTS_TRIAL_ABSENT
                                                                   : result_of(failure);
}

/* ---- The watch ---- */

static void on_watch_open(void *data)
{
    struct endpoints_trial *trial = data;
    kube_request_cancel(trial->request);
    trial->request = NULL;
    if (++trial->at < trial->config.scope_count) {
        try_namespace(trial);
    } else {
        end(trial, ENDPOINTS_TRIAL_PERMITTED);
    }
}

static void on_watch_frame(void *data UNUSED, enum kube_encoding encoding UNUSED,
                           struct slice frame UNUSED)
{
}

static void on_watch_end(void *data, const struct kube_failure *failure)
{
    struct endpoints_trial *trial = data;
    trial->request = NULL;
    end(trial, result_of(failure));
}

static void try_watch(struct endpoints_trial *trial, const char *version)
{
    static const struct kube_watch_callbacks callbacks = {
        .on_open = on_watch_open, .on_frame = on_watch_frame, .on_end = on_watch_end};
    trial->request =
        kube_client_watch(trial->config.client, trial->config.resource,
                          &trial->config.scopes[trial->at], version, WATCH_S, &callbacks, trial);
}

/* ---- The list ---- */

static void on_object(void *data UNUSED, struct kube_object *object)
{
    kube_object_free(object);
}

static void on_bad(void *data UNUSED, const struct err *err UNUSED)
{
}

static void on_list_open(void *data, enum kube_encoding encoding)
{
    struct endpoints_trial *trial = data;
    trial->list = kube_list_new(encoding, trial->config.resource->kind, on_object, on_bad, trial);
}

static void on_list_bytes(void *data, struct slice bytes)
{
    struct endpoints_trial *trial = data;
    struct err err = {0};
    if (kube_list_push(trial->list, bytes, &err) < 0) {
        kube_request_cancel(trial->request);
        trial->request = NULL;
        forget_list(trial);
        end(trial, ENDPOINTS_TRIAL_UNKNOWN);
    }
}

static void on_list_end(void *data, const struct kube_failure *failure)
{
    struct endpoints_trial *trial = data;
    struct kube_list_meta meta = {0};
    struct err err = {0};
    trial->request = NULL;
    bool is_listed = !failure && kube_list_end(trial->list, &meta, &err) == 0;
    forget_list(trial);
    if (is_listed) {
        try_watch(trial, meta.resource_version);
        kube_list_meta_fini(&meta);
    } else {
        end(trial, result_of_list(failure));
    }
}

static void try_namespace(struct endpoints_trial *trial)
{
    static const struct kube_list_callbacks callbacks = {
        .on_open = on_list_open, .on_bytes = on_list_bytes, .on_end = on_list_end};
    trial->request = kube_client_list(trial->config.client, trial->config.resource,
                                      &trial->config.scopes[trial->at], 1, "", &callbacks, trial);
}

/* ---- Lifecycle ---- */

struct endpoints_trial *endpoints_trial_start(const struct endpoints_trial_config *config)
{
    struct endpoints_trial *trial = xcalloc(1, sizeof(*trial));
    trial->config = *config;
    try_namespace(trial);
    return trial;
}

void endpoints_trial_stop(struct endpoints_trial *trial)
{
    if (!trial) {
        return;
    }
    if (trial->request) {
        kube_request_cancel(trial->request);
    }
    forget_list(trial);
    free(trial);
}
