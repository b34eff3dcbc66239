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
    size_t at;                    /* the namespace being tried */
};

static void try_namespace(struct endpoints_trial *trial);

/* ---- The end ---- */

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

static void on_list_end(void *data, struct kube_list_meta *meta, const struct kube_failure *failure)
{
    struct endpoints_trial *trial = data;
    trial->request = NULL;
    if (meta) {
        try_watch(trial, meta->resource_version);
    } else {
        end(trial, result_of_list(failure));
    }
}

static void try_namespace(struct endpoints_trial *trial)
{
    static const struct kube_list_callbacks callbacks = {.on_end = on_list_end};
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
    free(trial);
}
