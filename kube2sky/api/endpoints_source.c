#include "kube2sky/api/endpoints_source_internal.h"

#include <stdlib.h>

#include "common/base/attributes.h"
#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/base/timer.h"
#include "common/base/xalloc.h"
#include "kube2sky/api/reflector_internal.h"

/* ---- Rules; pure ---- */

/* Kubernetes 1.17 to 1.24 serve this version. */
static const struct kube_resource slices_v1beta1 = {
    .kind = KUBE_SLICE,
    .group_path = "/apis/discovery.k8s.io/v1beta1",
    .name = "endpointslices",
};

enum { FORBIDDEN = 403, NOT_FOUND = 404 };

struct endpoints_refusal {
    const struct kube_resource *resource; /* the resource that was refused */
    int status;                           /* HTTP status */
    const struct kube_resource *listed;   /* the resource last listed completely; NULL: none */
    int64_t lasts_ms;                     /* time since the first such refusal in a row */
    int64_t timeout_ms;                   /* time for which it counts as an outage */
};

static const struct kube_resource *endpoints_source_first(enum endpoints_mode mode)
{
    return kube_resource_of(mode == ENDPOINTS_ENDPOINTS ? KUBE_ENDPOINTS : KUBE_SLICE);
}

static bool endpoints_source_is_refusal(int status)
{
    return status == FORBIDDEN || status == NOT_FOUND;
}

/* Returns whether the status says that the server does not have the resource. */
static bool endpoints_source_is_absence(int status)
{
    return status == NOT_FOUND;
}

/* Returns the resource to fall back to. NULL: there is none, and the status is an ordinary error.
 */
static const struct kube_resource *endpoints_source_instead(enum endpoints_mode mode,
                                                            const struct endpoints_refusal *refusal)
{
    const struct kube_resource *slices = kube_resource_of(KUBE_SLICE);
    if (refusal->resource != slices || !endpoints_source_is_refusal(refusal->status)) {
        return NULL;
    }
    if (mode == ENDPOINTS_AUTO) {
        bool is_outage = refusal->listed == slices && refusal->lasts_ms < refusal->timeout_ms;
        return is_outage ? NULL : kube_resource_of(KUBE_ENDPOINTS);
    }
    return mode == ENDPOINTS_SLICES && endpoints_source_is_absence(refusal->status)
               ? &slices_v1beta1
               : NULL;
}

/* Returns whether the listed source only replaces slices. */
static bool endpoints_source_is_second_choice(enum endpoints_mode mode,
                                              const struct kube_resource *listed)
{
    return mode == ENDPOINTS_AUTO && listed == kube_resource_of(KUBE_ENDPOINTS);
}

/* Returns whether the source is settled with its first list. before: the settled source until now;
 * NULL: none. status: the refusal of slices that led to it; 0: none. */
static bool endpoints_source_is_settled(enum endpoints_mode mode,
                                        const struct kube_resource *before,
                                        const struct kube_resource *listed, int status)
{
    if (endpoints_source_is_second_choice(mode, listed)) {
        return endpoints_source_is_absence(status);
    }
    return !before || before->kind == listed->kind;
}

/* ---- Their application over time ---- */

/* The timeoutSeconds of a probe's watch; the probe ends at the first byte anyway. */
enum { PROBE_WATCH_S = 1 };

enum endpoints_probe_result {
    ENDPOINTS_PROBE_PERMITTED,
    ENDPOINTS_PROBE_ABSENT,    /* 404 for the list: the server does not have them */
    ENDPOINTS_PROBE_FORBIDDEN, /* 403; or 404 for the watch after a successful list by another
                                * server */
    ENDPOINTS_PROBE_UNKNOWN,   /* the server cannot be reached or is busy */
};

struct endpoints_switch {
    struct endpoints_switch_config config;
    const struct kube_resource *listed; /* by the last complete list; NULL: none */
    bool is_watching;                   /* its watches have not ended */
    bool is_settled;

    struct kube_request *probe; /* NULL: none runs */
    size_t probed;              /* index of the namespace being probed */
    bool is_asked;              /* a list waits for the probe */
    bool is_due;                /* a probe begins when all is watched */
    ev_timer minute;            /* runs until the next probe, or until the source is settled */

    int refused_status;   /* the last failure's status if it was a refusal; 0: it was none, or has
                           * passed */
    int64_t refused_ms;   /* when the current row of refusals began */
    struct err refusal;   /* the last failure */
    struct err forbidden; /* the last refusal of slices for want of permission; code 0: none */
};

static enum endpoints_mode mode_of(const struct endpoints_switch *s)
{
    return s->config.reflector->endpoints_mode;
}

static bool is_second_choice(const struct endpoints_switch *s)
{
    return endpoints_source_is_second_choice(mode_of(s), s->listed);
}

static void endpoints_switch_settle(struct endpoints_switch *s, bool is_settled)
{
    s->is_settled = is_settled;
    s->config.reflector->settled(s->config.reflector->data, is_settled);
}

/* ---- Probes ---- */

static void wait_a_minute(struct endpoints_switch *s)
{
    struct ev_loop *loop = s->config.reflector->loop;
    timer_arm_ms(loop, &s->minute, s->config.timing->probe_ms);
}

static void stop_probe(struct endpoints_switch *s)
{
    if (s->probe) {
        kube_request_cancel(s->probe);
        s->probe = NULL;
    }
    s->is_due = false;
}

/* Ends a probe. If the server does not have slices, or still refuses them a minute after Endpoints
 * were chosen, the source is settled. */
static void endpoints_switch_end_probe(struct endpoints_switch *s,
                                       enum endpoints_probe_result result)
{
    bool is_refused = result == ENDPOINTS_PROBE_ABSENT || result == ENDPOINTS_PROBE_FORBIDDEN;
    log_debug("endpoint slices probed",
              LOG_INT("is_permitted", result == ENDPOINTS_PROBE_PERMITTED),
              LOG_INT("is_refused", is_refused));
    stop_probe(s);
    if (result == ENDPOINTS_PROBE_ABSENT ||
        (result == ENDPOINTS_PROBE_FORBIDDEN && !ev_is_active(&s->minute))) {
        endpoints_switch_settle(s, true);
    }
    if (result == ENDPOINTS_PROBE_PERMITTED) {
        s->refused_status = 0;
        s->is_watching = false;
        reflector_list_source(s->config.owner, kube_resource_of(KUBE_SLICE));
    } else if (s->is_asked) {
        reflector_list_source(s->config.owner, kube_resource_of(KUBE_ENDPOINTS));
    } else {
        wait_a_minute(s);
    }
}

static enum endpoints_probe_result probe_result_of(const struct kube_failure *failure)
{
    return failure && endpoints_source_is_refusal(failure->status) ? ENDPOINTS_PROBE_FORBIDDEN
                                                                   : ENDPOINTS_PROBE_UNKNOWN;
}

static void probe_namespace(struct endpoints_switch *s);

static void endpoints_switch_on_watch_open(void *data)
{
    struct endpoints_switch *s = data;
    if (s->probed + 1 < s->config.scope_count) {
        kube_request_cancel(s->probe);
        s->probed++;
        probe_namespace(s);
    } else {
        endpoints_switch_end_probe(s, ENDPOINTS_PROBE_PERMITTED);
    }
}

static void on_watch_frame(void *data UNUSED, enum kube_encoding encoding UNUSED,
                           struct slice frame UNUSED)
{
}

static void endpoints_switch_on_watch_end(void *data, const struct kube_failure *failure)
{
    struct endpoints_switch *s = data;
    s->probe = NULL;
    endpoints_switch_end_probe(s, probe_result_of(failure));
}

static void endpoints_switch_on_list_end(void *data, struct kube_list_meta *meta,
                                         const struct kube_failure *failure)
{
    static const struct kube_watch_callbacks callbacks = {.on_open = endpoints_switch_on_watch_open,
                                                          .on_frame = on_watch_frame,
                                                          .on_end = endpoints_switch_on_watch_end};
    struct endpoints_switch *s = data;
    s->probe = NULL;
    if (meta) {
        s->probe = kube_client_watch(s->config.reflector->client, kube_resource_of(KUBE_SLICE),
                                     &s->config.scopes[s->probed], meta->resource_version,
                                     PROBE_WATCH_S, &callbacks, s);
    } else {
        bool is_absent = failure && endpoints_source_is_absence(failure->status);
        endpoints_switch_end_probe(s,
                                   is_absent ? ENDPOINTS_PROBE_ABSENT : probe_result_of(failure));
    }
}

/* Requests one object of a list, then the start of a watch: a role may permit one and not the
 * other. Changes nothing that is followed. */
static void probe_namespace(struct endpoints_switch *s)
{
    static const struct kube_list_callbacks callbacks = {.on_end = endpoints_switch_on_list_end};
    s->probe = kube_client_list(s->config.reflector->client, kube_resource_of(KUBE_SLICE),
                                &s->config.scopes[s->probed], 1, "", &callbacks, s);
}

/* Begins a probe: asks, while Endpoints are followed, whether slices could be. */
static void try_slices(struct endpoints_switch *s, bool is_asked)
{
    s->is_asked = is_asked;
    s->is_due = false;
    s->probed = 0;
    probe_namespace(s);
}

static void on_minute(struct ev_loop *loop UNUSED, ev_timer *w, int revents UNUSED)
{
    struct endpoints_switch *s = w->data;
    if (!is_second_choice(s)) {
        endpoints_switch_settle(s, true);
    } else if (s->is_watching && !s->probe) {
        try_slices(s, false);
    } /* otherwise a probe runs, or the next list begins with one; the timer starts after it */
}

/* ---- The reflector's side ---- */

const struct kube_resource *endpoints_switch_ask(struct endpoints_switch *s)
{
    stop_probe(s);
    s->is_watching = false;
    if (!is_second_choice(s)) {
        return endpoints_source_first(mode_of(s));
    }
    try_slices(s, true);
    return NULL;
}

/* Returns the resource to list instead. A failure of another kind ends a row of refusals: the time
 * in which a server is away proves nothing. */
const struct kube_resource *endpoints_switch_failed(struct endpoints_switch *s,
                                                    const struct kube_resource *resource,
                                                    const struct kube_failure *failure)
{
    int64_t now_ms = clock_monotonic_ms();
    bool is_refusal = endpoints_source_is_refusal(failure->status);
    stop_probe(s);
    s->is_watching = false;
    if (is_refusal && !s->refused_status) {
        s->refused_ms = now_ms;
    }
    s->refused_status = is_refusal ? failure->status : 0;
    s->refusal = failure->err;
    if (is_refusal && resource == kube_resource_of(KUBE_SLICE)) {
        s->forbidden = (struct err){0};
        if (!endpoints_source_is_absence(failure->status)) {
            s->forbidden = failure->err;
        }
    }
    return endpoints_source_instead(
        mode_of(s), &(struct endpoints_refusal){.resource = resource,
                                                .status = failure->status,
                                                .listed = s->listed,
                                                .lasts_ms = now_ms - s->refused_ms,
                                                .timeout_ms = s->config.timing->refused_ms});
}

struct endpoints_reason endpoints_switch_reason(const struct endpoints_switch *s,
                                                const struct kube_resource *resource,
                                                const struct kube_failure *failure)
{
    bool is_instead = mode_of(s) == ENDPOINTS_AUTO &&
                      resource == kube_resource_of(KUBE_ENDPOINTS) && s->listed != resource &&
                      endpoints_source_is_refusal(failure->status);
    bool is_forbidden = is_instead && s->forbidden.code != 0;
    return (struct endpoints_reason){
        .resource = is_forbidden ? kube_resource_of(KUBE_SLICE) : resource,
        .err = is_forbidden ? &s->forbidden : &failure->err,
    };
}

uint32_t endpoints_switch_shorten(const struct endpoints_switch *s, uint32_t delay_ms)
{
    int64_t left_ms = s->refused_ms + s->config.timing->refused_ms - clock_monotonic_ms();
    bool is_due = s->refused_status && left_ms > 0 && left_ms < (int64_t)delay_ms;
    return is_due ? (uint32_t)left_ms : delay_ms;
}

static void tell_source(const struct endpoints_switch *s, const struct kube_resource *before)
{
    const char *why = s->refused_status ? s->refusal.msg : "slices are permitted";
    if (before) {
        log_info("source of endpoints changed", LOG_STR("path", s->listed->group_path),
                 LOG_STR("kind", s->listed->name), LOG_STR("reason", why));
    } else {
        log_info("endpoint slices are refused, following endpoints", LOG_STR("reason", why));
    }
}

void endpoints_switch_listed(struct endpoints_switch *s, const struct kube_resource *resource)
{
    const struct kube_resource *before = s->listed;
    s->listed = resource;
    s->is_watching = true;
    bool is_news = before != resource && (before || is_second_choice(s));
    if (is_news) {
        tell_source(s, before);
        endpoints_switch_settle(s, endpoints_source_is_settled(mode_of(s),
                                                               s->is_settled ? before : NULL,
                                                               resource, s->refused_status));
        s->is_due = !s->is_settled && is_second_choice(s);
    }
    if (is_news || (is_second_choice(s) && !ev_is_active(&s->minute))) {
        wait_a_minute(s);
    }
}

void endpoints_switch_watched(struct endpoints_switch *s)
{
    s->refused_status = 0;
    if (s->is_due) {
        try_slices(s, false);
    }
}

/* ---- Lifecycle ---- */

struct endpoints_switch *endpoints_switch_new(const struct endpoints_switch_config *config)
{
    struct endpoints_switch *s = xcalloc(1, sizeof(*s));
    s->config = *config;
    s->is_settled = true;
    timer_init(&s->minute, on_minute, s);
    return s;
}

void endpoints_switch_free(struct endpoints_switch *s)
{
    if (!s) {
        return;
    }
    ev_timer_stop(s->config.reflector->loop, &s->minute);
    stop_probe(s);
    free(s);
}
