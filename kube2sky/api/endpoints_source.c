#include "kube2sky/api/endpoints_source_internal.h"

#include <stdlib.h>

#include "common/base/attributes.h"
#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/base/xalloc.h"
#include "kube2sky/api/endpoints_probe_internal.h"

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

bool endpoints_source_is_refusal(int status)
{
    return status == FORBIDDEN || status == NOT_FOUND;
}

bool endpoints_source_is_absence(int status)
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

struct endpoints_switch {
    struct endpoints_switch_config config;
    const struct kube_resource *listed; /* by the last complete list; NULL: none */
    bool is_watching;                   /* its watches have not ended */
    bool is_settled;

    struct endpoints_probe *probe; /* NULL: none runs */
    bool is_asked;                 /* a list waits for the probe */
    bool is_due;                   /* a probe begins when all is watched */
    ev_timer minute;               /* runs until the next probe, or until the source is settled */

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

/* ---- Trials ---- */

static void wait_a_minute(struct endpoints_switch *s)
{
    struct ev_loop *loop = s->config.reflector->loop;
    ev_timer_stop(loop, &s->minute);
    ev_timer_set(&s->minute, (double)s->config.timing->probe_ms / 1000, 0);
    ev_timer_start(loop, &s->minute);
}

static void stop_probe(struct endpoints_switch *s)
{
    endpoints_probe_stop(s->probe);
    s->probe = NULL;
    s->is_due = false;
}

/* Ends a probe. If the server does not have slices, or still refuses them a minute after Endpoints
 * were chosen, the source is settled. */
static void on_tried(void *data, enum endpoints_probe_result result)
{
    struct endpoints_switch *s = data;
    stop_probe(s);
    if (result == ENDPOINTS_PROBE_ABSENT ||
        (result == ENDPOINTS_PROBE_FORBIDDEN && !ev_is_active(&s->minute))) {
        endpoints_switch_settle(s, true);
    }
    if (result == ENDPOINTS_PROBE_PERMITTED) {
        s->refused_status = 0;
        s->is_watching = false;
        s->config.list(s->config.data, kube_resource_of(KUBE_SLICE));
    } else if (s->is_asked) {
        s->config.list(s->config.data, kube_resource_of(KUBE_ENDPOINTS));
    } else {
        wait_a_minute(s);
    }
}

static void try_slices(struct endpoints_switch *s, bool is_asked)
{
    s->is_asked = is_asked;
    s->is_due = false;
    s->probe = endpoints_probe_start(
        &(struct endpoints_probe_config){.client = s->config.reflector->client,
                                         .resource = kube_resource_of(KUBE_SLICE),
                                         .scopes = s->config.scopes,
                                         .scope_count = s->config.scope_count,
                                         .done = on_tried,
                                         .data = s});
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
    ev_timer_init(&s->minute, on_minute, 0, 0);
    s->minute.data = s;
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
