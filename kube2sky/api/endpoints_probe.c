#include "kube2sky/api/endpoints_probe_internal.h"

#include <stdlib.h>

#include "common/base/attributes.h"
#include "common/base/cleanup.h"
#include "common/base/log.h"
#include "common/base/xalloc.h"
#include "kube2sky/api/endpoints_source_internal.h"

/* The request's timeoutSeconds; the probe ends at the first byte anyway. */
enum { WATCH_S = 1 };

struct endpoints_probe {
    struct endpoints_probe_config config;
    struct kube_request *request; /* NULL: no request is under way */
    size_t at;                    /* index of the namespace being probed */
};

static void try_namespace(struct endpoints_probe *probe);

/* ---- The end ---- */

/* Ends the probe and reports the result, which may free the probe. */
static void endpoints_probe_end(struct endpoints_probe *probe, enum endpoints_probe_result result)
{
    bool is_refused = result == ENDPOINTS_PROBE_ABSENT || result == ENDPOINTS_PROBE_FORBIDDEN;
    log_debug("endpoint slices probed",
              LOG_INT("is_permitted", result == ENDPOINTS_PROBE_PERMITTED),
              LOG_INT("is_refused", is_refused));
    probe->config.done(probe->config.data, result);
}

static enum endpoints_probe_result result_of(const struct kube_failure *failure)
{
    return failure && endpoints_source_is_refusal(failure->status) ? ENDPOINTS_PROBE_FORBIDDEN
                                                                   : ENDPOINTS_PROBE_UNKNOWN;
}

static enum endpoints_probe_result result_of_list(const struct kube_failure *failure)
{
    return failure && endpoints_source_is_absence(failure->status) ? ENDPOINTS_PROBE_ABSENT
                                                                   : result_of(failure);
}

/* ---- The watch ---- */

static void endpoints_probe_on_watch_open(void *data)
{
    struct endpoints_probe *probe = data;
    kube_request_cancel(probe->request);
    probe->request = NULL;
    if (++probe->at < probe->config.scope_count) {
        try_namespace(probe);
    } else {
        endpoints_probe_end(probe, ENDPOINTS_PROBE_PERMITTED);
    }
}

static void on_watch_frame(void *data UNUSED, enum kube_encoding encoding UNUSED,
                           struct slice frame UNUSED)
{
}

static void endpoints_probe_on_watch_end(void *data, const struct kube_failure *failure)
{
    struct endpoints_probe *probe = data;
    probe->request = NULL;
    endpoints_probe_end(probe, result_of(failure));
}

static void try_watch(struct endpoints_probe *probe, const char *version)
{
    static const struct kube_watch_callbacks callbacks = {.on_open = endpoints_probe_on_watch_open,
                                                          .on_frame = on_watch_frame,
                                                          .on_end = endpoints_probe_on_watch_end};
    probe->request =
        kube_client_watch(probe->config.client, probe->config.resource,
                          &probe->config.scopes[probe->at], version, WATCH_S, &callbacks, probe);
}

/* ---- The list ---- */

static void endpoints_probe_on_list_end(void *data, struct kube_list_meta *meta,
                                        const struct kube_failure *failure)
{
    struct endpoints_probe *probe = data;
    probe->request = NULL;
    if (meta) {
        try_watch(probe, meta->resource_version);
    } else {
        endpoints_probe_end(probe, result_of_list(failure));
    }
}

static void try_namespace(struct endpoints_probe *probe)
{
    static const struct kube_list_callbacks callbacks = {.on_end = endpoints_probe_on_list_end};
    probe->request = kube_client_list(probe->config.client, probe->config.resource,
                                      &probe->config.scopes[probe->at], 1, "", &callbacks, probe);
}

/* ---- Lifecycle ---- */

struct endpoints_probe *endpoints_probe_start(const struct endpoints_probe_config *config)
{
    struct endpoints_probe *probe = xcalloc(1, sizeof(*probe));
    probe->config = *config;
    try_namespace(probe);
    return probe;
}

void endpoints_probe_stop(struct endpoints_probe *probe)
{
    if (!probe) {
        return;
    }
    if (probe->request) {
        kube_request_cancel(probe->request);
    }
    free(probe);
}
