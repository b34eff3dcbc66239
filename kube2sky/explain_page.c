/* Writes an explanation as JSON and, for people, as text: a form over the same JSON with some more
 * members. */
#include <stdio.h>

#include "common/base/clock.h"
#include "common/base/json_text.h"
#include "common/base/outage.h"
#include "common/live/live_form.h"
#include "kube2sky/api/kube_object.h"
#include "kube2sky/explain.h"
#include "kube2sky/kube_source.h"
#include "kube2sky/naming/causes.h"
#include "kube2sky/naming/contract.h"
#include "kube2sky/naming/inventory.h"
#include "kube2sky/reconcile/reconciler.h"

/* ---- JSON ---- */

/* Appends a list, and the number of entries left out. */
static void service_put_list(const struct explanation *x, enum explain_list list, struct buf *out)
{
    static const char *const names[][2] = {
        [EXPLAIN_FAULTS] = {"faults", "faults_more"},
        [EXPLAIN_SKIPPED] = {"skipped", "skipped_more"},
        [EXPLAIN_KEYS] = {"keys", "keys_more"},
        [EXPLAIN_REVERSE] = {"reverse", "reverse_more"},
        [EXPLAIN_HELD_BACK] = {"held_back", "held_back_more"},
        [EXPLAIN_ALIASES] = {"aliases", "aliases_more"},
    };
    const size_t more = x->lists[list].total - x->lists[list].count;
    json_text_open(out, names[list][0], '[');
    buf_append_slice(out, buf_slice(&x->lists[list].entries));
    buf_append_char(out, ']');
    if (more > 0) {
        json_text_number_field(out, names[list][1], more);
    }
}

static void service_put_ports(const struct kube_service *service, struct buf *out)
{
    size_t count = service->port_count < EXPLAIN_LIST_MAX ? service->port_count : EXPLAIN_LIST_MAX;
    json_text_open(out, "ports", '[');
    for (size_t i = 0; i < count; i++) {
        const struct kube_port *port = &service->ports[i];
        json_text_open(out, NULL, '{');
        json_text_string_field(out, "name", port->name);
        json_text_string_field(out, "protocol", port->protocol);
        json_text_integer_field(out, "port", port->port);
        buf_append_char(out, '}');
    }
    buf_append_char(out, ']');
    if (service->port_count > count) {
        json_text_number_field(out, "ports_more", service->port_count - count);
    }
}

static void service_put_service(const struct explanation *x, struct buf *out)
{
    const struct kube_service *service = &x->service->service;
    json_text_flag_field(out, "understood", !x->service->is_garbled);
    if (x->service->is_garbled) {
        return;
    }
    json_text_string_field(out, "type", service->type);
    json_text_flag_field(out, "headless", service->is_headless);
    json_text_open(out, "cluster_ips", '[');
    for (size_t i = 0; i < service->cluster_ip_count; i++) {
        json_text_string_field(out, NULL, service->cluster_ips[i]);
    }
    buf_append_char(out, ']');
    if (*service->external_name) {
        json_text_string_field(out, "external_name", service->external_name);
    }
    service_put_ports(service, out);
    if (service->is_headless) {
        json_text_open(out, "endpoints", '{');
        json_text_number_field(out, "ready", x->ready);
        json_text_number_field(out, "not_ready", x->not_ready);
        buf_append_char(out, '}');
        json_text_flag_field(out, "publish_not_ready", service->publish_not_ready);
    }
}

static void service_put_labels(const struct explanation *x, struct buf *out)
{
    if (x->sources->namespace_labels && *x->sources->namespace_labels) {
        json_text_string_field(out, "namespace_labels", x->sources->namespace_labels);
    }
}

static void service_put_absent(const struct explanation *x, struct buf *out)
{
    char near[EXPLAIN_NEAR_MAX][EXPLAIN_ID_MAX + 1];
    const size_t near_count = kube2sky_explain_near(x->sources->inventory, x->id, near);
    json_text_flag_field(out, "followed", x->is_followed);
    service_put_labels(x, out);
    if (x->sources->label_selector && *x->sources->label_selector) {
        json_text_string_field(out, "label_selector", x->sources->label_selector);
    }
    json_text_open(out, "near", '[');
    for (size_t i = 0; i < near_count; i++) {
        json_text_string_field(out, NULL, near[i]);
    }
    buf_append_char(out, ']');
}

static void service_put_state(const struct explanation *x, struct buf *out)
{
    const struct owner_report *report = &x->report;
    json_text_string_field(out, "state", report->state);
    json_text_open(out, "reasons", '[');
    for (size_t i = 0; i < report->reason_count; i++) {
        json_text_string_field(out, NULL, report->reasons[i]);
    }
    buf_append_char(out, ']');
    json_text_open(out, "due", '{');
    json_text_number_field(out, "puts", report->puts);
    json_text_number_field(out, "deletes", report->deletes);
    buf_append_char(out, '}');
    if (report->changed_ms) {
        json_text_integer_field(out, "changed_ms", report->changed_ms);
    }
    if (report->is_contested) {
        json_text_open(out, "contested", '{');
        json_text_number_field(out, "restored", report->restored);
        json_text_integer_field(out, "rest_ms", report->rest_ms);
        json_text_slice_field(out, "key", report->contested_key);
        buf_append_char(out, '}');
    }
    if (report->is_refused) {
        json_text_open(out, "refused", '{');
        json_text_integer_field(out, "retry_ms", report->retry_ms);
        json_text_string_field(out, "reason", report->refusal);
        buf_append_char(out, '}');
    }
}

static void service_put_counts(const struct explanation *x, struct buf *out)
{
    json_text_open(out, "counts", '{');
    for (size_t i = 0; i < OWNER_KEY_STATES; i++) {
        json_text_number_field(out, owner_key_state_name((enum owner_key_state)i), x->states[i]);
    }
    buf_append_char(out, '}');
}

/* Prints which objects the latest changes of an owner's keys come from: those of the Service, or of
 * the external names that lead to it. */
static void service_put_changes(const struct explanation *x, const char *list, const char *prefix,
                                struct buf *out)
{
    char owner[sizeof(ALIAS_PREFIX) + EXPLAIN_ID_MAX];
    const struct cause *cause;
    (void)snprintf(owner, sizeof(owner), "%s%s", prefix, x->id);
    json_text_open(out, list, '[');
    for (size_t i = 0; (cause = reconciler_cause(x->sources->reconciler, slice_str(owner), i));
         i++) {
        json_text_open(out, NULL, '{');
        json_text_time_fields(out, cause->time_ms);
        json_text_integer_field(out, "revision", cause->revision);
        json_text_string_field(out, "kind", cause->kind);
        json_text_string_field(out, "object", cause->object);
        json_text_string_field(out, "resource_version", cause->version);
        json_text_flag_field(out, "deleted", cause->is_deleted);
        json_text_number_field(out, "puts", cause->puts);
        json_text_number_field(out, "deletes", cause->deletes);
        if (x->is_for_text) {
            json_text_number_field(out, "others", cause->objects - 1);
        }
        buf_append_char(out, '}');
    }
    buf_append_char(out, ']');
}

static void service_put_away(const char *name, const struct outage *outage, bool is_for_text,
                             struct buf *out)
{
    const int64_t now_ms = clock_monotonic_ms();
    int64_t away_ms = 0;
    for (const struct outage_source *s = outage->sources; s; s = s->next) {
        away_ms = s->is_away && now_ms - s->since_ms > away_ms ? now_ms - s->since_ms : away_ms;
    }
    json_text_open(out, name, '{');
    json_text_flag_field(out, "connected", !outage_is_away(outage));
    if (outage_is_away(outage)) {
        json_text_integer_field(out, "away_s", away_ms / 1000);
        json_text_string_field(out, "reason", outage_why(outage));
    }
    if (is_for_text) {
        json_text_integer_field(out, "away_ms", away_ms);
    }
    buf_append_char(out, '}');
}

static void service_put_surroundings(const struct explanation *x, struct buf *out)
{
    const char *missing = inventory_missing(x->sources->inventory);
    json_text_open(out, "leader", '{');
    json_text_flag_field(out, "is_leader", x->report.is_leading);
    json_text_string_field(out, "id", x->report.leader);
    buf_append_char(out, '}');
    service_put_away("etcd", x->sources->etcd_outage, x->is_for_text, out);
    service_put_away("api", kube_source_outage(x->sources->kube_source), x->is_for_text, out);
    if (missing) {
        json_text_string_field(out, "not_listed", missing);
    }
    if (x->is_for_text) {
        json_text_flag_field(out, "listed", x->is_listed);
        json_text_flag_field(out, "electing", x->report.is_electing);
    }
}

static void service_put_page(const struct explanation *x, struct buf *out)
{
    buf_append_char(out, '{');
    json_text_string_field(out, "service", x->id);
    json_text_flag_field(out, "exists", x->service != NULL);
    if (x->service) {
        service_put_service(x, out);
        if (!x->is_followed) {
            service_put_labels(x, out);
        }
    } else {
        service_put_absent(x, out);
    }
    service_put_list(x, EXPLAIN_FAULTS, out);
    service_put_list(x, EXPLAIN_SKIPPED, out);
    service_put_state(x, out);
    service_put_counts(x, out);
    service_put_list(x, EXPLAIN_KEYS, out);
    service_put_list(x, EXPLAIN_REVERSE, out);
    service_put_list(x, EXPLAIN_HELD_BACK, out);
    service_put_list(x, EXPLAIN_ALIASES, out);
    service_put_changes(x, "changes", SERVICE_PREFIX, out);
    service_put_changes(x, "alias_changes", ALIAS_PREFIX, out);
    service_put_surroundings(x, out);
    buf_append_str(out, "}\n");
}

/* ---- Text ---- */

static const char absent_form[] =
    "service {service} {?!followed}is not followed: "
    "{?namespace_labels}--namespace-labels does not match its namespace\n"
    "{:}--namespaces has other namespaces\n{/}"
    "{:}{?!listed}is not known yet: {?not_listed}{not_listed}{:}services are not listed yet{/}\n"
    "{:}does not exist{?label_selector}, or --label-selector does not match it{/}"
    "{*near}{?+}, {:}; did you mean {/}{.}{/}{?near}?{/}\n{/}{/}";

#define WHERE    "  ({state}{?revision}, revision {revision}{/})\n"
#define MORE(of) "{?" of "_more}  and {" of "_more} more\n{/}"
#define AWAY(of)                                                 \
    "{?" of "/connected}followed{:}away for {" of "/away_ms|ms}" \
    "{?" of "/reason}: {" of "/reason}{/}{/}\n"

#define CHANGED_BY                                                                 \
    "{time} at revision {revision}, {puts} puts and {deletes} deletes, as {kind} " \
    "{object} {?deleted}was deleted{:}changed{/}"                                  \
    "{?resource_version}, resourceVersion {resource_version}{/}"                   \
    "{?others}, after {others} other events{/}"

/* clang-format off */
static const char page_form[] =
    "service     {service}"
    "{?!exists} does not exist; what is left of it in etcd:\n{:}"
    "{?!understood}, which cannot be understood: its keys are unchanged\n{:}"
    ", type {?type}{type}{:}ClusterIP{/}"
    "{?namespace_labels}; not followed, since --namespace-labels={namespace_labels} does not match "
    "its namespace{/}\n"
    "addresses   {?external_name}{external_name}"
    "{:}{?headless}those of its endpoints: it is headless"
    "{:}{?!cluster_ips}none yet{/}{/}{/}{*cluster_ips}{?+}, {/}{.}{/}\n"
    "ports       {?!ports}none{/}"
    "{*ports}{?+}, {/}{?name}{name}{:}(unnamed){/} {port}/{?protocol}{protocol}{:}?{/}{/}\n"
    "endpoints   {?headless}{endpoints/ready} ready, {endpoints/not_ready} not ready"
    "{?publish_not_ready}, published all the same{/}\n"
    "{:}not looked at: only a headless Service has records of them\n{/}{/}{/}"

    "{*faults}fault       {kind} {name}: {reason}\n{/}" MORE("faults")
    "{*skipped}skipped     {what} `{value}`: {reason}\n{/}" MORE("skipped")

    "state       {state}; {due/puts} puts and {due/deletes} deletes are due"
    "{?changed_ms}, since {changed_ms|ms}{/}\n"
    "{*reasons}because     {.}\n{/}"
    "{*contested}contested   restored {restored} times in a row, such as {key}; "
    "again in {rest_ms|ms}\n{/}"
    "{*refused}refused     {reason}; tried again in {retry_ms|ms}\n{/}"

    "keys        {counts/present} present, {counts/missing} missing, {counts/differs} differ, "
    "{counts/unwanted} unwanted\n"
    "{*keys}  {sign} {key} {value}" WHERE "{/}" MORE("keys")
    "{*reverse}{?+}            {:}reverse     {/}{address} is {?state=taken}not {/}"
    "{?winner}{winner}{?!wins} of {winner_owner}, which wins against {host}{/}{:}{host}{/}"
    "{?state=taken}: a pod of another namespace has the address{/}" WHERE "{/}" MORE("reverse")
    "{*aliases}{?+}            {:}aliases     {/}{name} of {claimant}"
    "{?reason} {reason}\n{:}{?state=taken} is that of {winner}{/}"
    "{?state=foreign} has keys of another writer{/}" WHERE "{/}{/}" MORE("aliases")
    "{*held_back}{?+}            {:}held back   {/}{what} {key}\n{/}" MORE("held_back")

    "{*changes}{?+}            {:}changed     {/}" CHANGED_BY "\n{/}"
    "{*alias_changes}{?+}            {:}alias keys  {/}" CHANGED_BY "\n{/}"

    "{?electing}leader      {?leader/id}{leader/id}{:}nobody{/}{?leader/is_leader}, this one{/}\n{/}"
    "etcd        " AWAY("etcd")
    "API         " AWAY("api")
    "{?not_listed}not listed  {not_listed}\n{/}";
/* clang-format on */

/* Room for lists of texts of which each character takes six bytes. */
enum { TEXT_JSON_MAX = 128 * 1024 * 1024 };

void explain_service_write(const struct explanation *x, bool is_absent, struct buf *out)
{
    struct buf json;
    if (!x->is_for_text) {
        service_put_page(x, out);
        return;
    }
    buf_init(&json, TEXT_JSON_MAX);
    service_put_page(x, &json);
    live_form_page(is_absent ? absent_form : page_form, &json, out);
}
