/* Writes an explanation as JSON and, for people, as text: a form over the same JSON with some more
 * members. */
#include <inttypes.h>
#include <stdio.h>

#include "common/base/json_text.h"
#include "common/base/utc_time.h"
#include "common/live/live_form.h"
#include "kube2sky/api/kube_object.h"
#include "kube2sky/explain.h"
#include "kube2sky/naming/causes.h"
#include "kube2sky/reconcile/reconciler.h"

/* ---- JSON ---- */

/* Ends a list with the number of entries left out. */
static void end_explained_list(struct buf *out, const char *name_more, size_t count, size_t total)
{
    buf_append_char(out, ']');
    if (total > count) {
        json_text_number_field(out, name_more, total - count);
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
        buf_printf(out, ",\"port\":%" PRId32 "}", port->port);
    }
    end_explained_list(out, "ports_more", count, service->port_count);
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
    json_text_flag_field(out, "followed", x->is_followed);
    service_put_labels(x, out);
    if (x->sources->label_selector && *x->sources->label_selector) {
        json_text_string_field(out, "label_selector", x->sources->label_selector);
    }
    json_text_open(out, "near", '[');
    for (size_t i = 0; i < x->near_count; i++) {
        json_text_string_field(out, NULL, x->near[i]);
    }
    buf_append_char(out, ']');
}

static void service_put_faults(const struct explanation *x, struct buf *out)
{
    json_text_open(out, "faults", '[');
    for (size_t i = 0; i < x->fault_count; i++) {
        json_text_open(out, NULL, '{');
        json_text_string_field(out, "kind", x->faults[i].kind);
        json_text_slice_field(out, "name", x->faults[i].name);
        json_text_slice_field(out, "reason", x->faults[i].reason);
        buf_append_char(out, '}');
    }
    end_explained_list(out, "faults_more", x->fault_count, x->fault_total);
    json_text_open(out, "skipped", '[');
    for (size_t i = 0; i < x->drop_count; i++) {
        json_text_open(out, NULL, '{');
        json_text_slice_field(out, "what", x->drops[i].what);
        json_text_slice_field(out, "value", x->drops[i].value);
        json_text_string_field(out, "reason", "cannot be part of a key");
        buf_append_char(out, '}');
    }
    end_explained_list(out, "skipped_more", x->drop_count, x->drop_total);
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
        buf_printf(out, ",\"changed_ms\":%" PRId64, report->changed_ms);
    }
    if (report->is_contested) {
        json_text_open(out, "contested", '{');
        json_text_number_field(out, "restored", report->restored);
        buf_printf(out, ",\"rest_ms\":%" PRId64, report->rest_ms);
        json_text_slice_field(out, "key", report->contested_key);
        buf_append_char(out, '}');
    }
    if (report->is_refused) {
        buf_printf(out, ",\"refused\":{\"retry_ms\":%" PRId64, report->retry_ms);
        json_text_string_field(out, "reason", report->refusal);
        buf_append_char(out, '}');
    }
}

/* Signs of plan.h, and a blank for a key with the wanted value. */
static const char signs[OWNER_KEY_STATES][2] = {
    [OWNER_KEY_PRESENT] = " ",  [OWNER_KEY_MISSING] = "+", [OWNER_KEY_DIFFERS] = "~",
    [OWNER_KEY_UNWANTED] = "-", [OWNER_KEY_OTHERS] = "=",  [OWNER_KEY_UNKNOWN] = "?",
    [OWNER_KEY_TAKEN] = "!",
};

static void service_put_where(enum owner_key_state state, int64_t revision, struct buf *out)
{
    json_text_string_field(out, "state", owner_key_state_name(state));
    json_text_number_field(out, "revision", (uint64_t)revision);
    buf_append_char(out, '}');
}

static void service_put_keys(const struct explanation *x, bool is_for_text, struct buf *out)
{
    json_text_open(out, "counts", '{');
    for (size_t i = 0; i < OWNER_KEY_STATES; i++) {
        json_text_number_field(out, owner_key_state_name((enum owner_key_state)i), x->states[i]);
    }
    buf_append_char(out, '}');
    json_text_open(out, "keys", '[');
    for (size_t i = 0; i < x->key_count; i++) {
        const struct owner_key *key = &x->keys[i];
        json_text_open(out, NULL, '{');
        json_text_slice_field(out, "key", key->key);
        if (key->value.len) {
            json_text_slice_field(out, "value", key->value);
        }
        if (is_for_text) {
            json_text_string_field(out, "sign", signs[key->state]);
        }
        service_put_where(key->state, key->revision, out);
    }
    end_explained_list(out, "keys_more", x->key_count, x->key_total);
}

static void service_put_claims(const struct explanation *x, struct buf *out)
{
    char text[INET6_ADDRSTRLEN];
    json_text_open(out, "reverse", '[');
    for (size_t i = 0; i < x->claim_count; i++) {
        const struct owner_claim *claim = &x->claims[i];
        json_text_open(out, NULL, '{');
        json_text_string_field(out, "address", ip_format(&claim->ip, text));
        json_text_slice_field(out, "key", claim->key);
        json_text_slice_field(out, "host", claim->host);
        json_text_flag_field(out, "wins", claim->is_won);
        json_text_slice_field(out, "winner", claim->winner_host);
        json_text_slice_field(out, "winner_owner", claim->winner_owner);
        service_put_where(claim->state, claim->revision, out);
    }
    end_explained_list(out, "reverse_more", x->claim_count, x->claim_total);
    json_text_open(out, "held_back", '[');
    for (size_t i = 0; i < x->held_count; i++) {
        json_text_open(out, NULL, '{');
        json_text_string_field(out, "what", x->held[i].is_delete ? "delete" : "put");
        json_text_slice_field(out, "key", x->held[i].key);
        buf_append_char(out, '}');
    }
    end_explained_list(out, "held_back_more", x->held_count, x->held_total);
}

static void service_put_aliases(const struct explanation *x, struct buf *out)
{
    json_text_open(out, "aliases", '[');
    for (size_t i = 0; i < x->alias_count; i++) {
        const struct explain_alias *alias = &x->aliases[i];
        json_text_open(out, NULL, '{');
        json_text_slice_field(out, "name", alias->name);
        json_text_slice_field(out, "claimant", alias->owner_object);
        json_text_slice_field(out, "winner", alias->winner);
        json_text_string_field(out, "reason", alias->reason);
        json_text_string_field(out, "state", alias->state);
        json_text_number_field(out, "revision", (uint64_t)alias->revision);
        buf_append_char(out, '}');
    }
    end_explained_list(out, "aliases_more", x->alias_count, x->alias_total);
}

/* Prints which objects the latest changes of an owner's keys come from: those of the Service, or of
 * the external names that lead to it. */
static void service_put_changes(const struct explanation *x, const char *list, const char *prefix,
                                bool is_for_text, struct buf *out)
{
    char owner[sizeof("alias/") + EXPLAIN_ID_MAX];
    const struct cause *cause;
    (void)snprintf(owner, sizeof(owner), "%s%s", prefix, x->id);
    json_text_open(out, list, '[');
    for (size_t i = 0; (cause = reconciler_cause(x->sources->reconciler, slice_str(owner), i));
         i++) {
        json_text_open(out, NULL, '{');
        json_text_open(out, "time", '"');
        utc_time_append_ms(cause->time_ms, out);
        buf_printf(out, "\",\"time_ms\":%" PRId64, cause->time_ms);
        json_text_number_field(out, "revision", (uint64_t)cause->revision);
        json_text_string_field(out, "kind", cause->kind);
        json_text_string_field(out, "object", cause->object);
        json_text_string_field(out, "resource_version", cause->version);
        json_text_flag_field(out, "deleted", cause->is_deleted);
        json_text_number_field(out, "puts", cause->puts);
        json_text_number_field(out, "deletes", cause->deletes);
        if (is_for_text) {
            json_text_number_field(out, "others", cause->objects - 1);
        }
        buf_append_char(out, '}');
    }
    buf_append_char(out, ']');
}

static void service_put_away(const char *name, const struct explain_away *away, bool is_for_text,
                             struct buf *out)
{
    json_text_open(out, name, '{');
    json_text_flag_field(out, "connected", !away->is_away);
    if (away->is_away) {
        json_text_number_field(out, "away_s", (uint64_t)away->since_ms / 1000);
        json_text_string_field(out, "reason", away->why);
    }
    if (is_for_text) {
        json_text_number_field(out, "away_ms", (uint64_t)away->since_ms);
    }
    buf_append_char(out, '}');
}

static void service_put_surroundings(const struct explanation *x, bool is_for_text, struct buf *out)
{
    json_text_open(out, "leader", '{');
    json_text_flag_field(out, "is_leader", x->report.is_leading);
    json_text_string_field(out, "id", x->report.leader);
    buf_append_char(out, '}');
    service_put_away("etcd", &x->etcd, is_for_text, out);
    service_put_away("api", &x->api, is_for_text, out);
    if (x->missing) {
        json_text_string_field(out, "not_listed", x->missing);
    }
    if (is_for_text) {
        json_text_flag_field(out, "listed", x->is_listed);
        json_text_flag_field(out, "electing", x->report.is_electing);
    }
}

static void service_put_page(const struct explanation *x, bool is_for_text, struct buf *out)
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
    service_put_faults(x, out);
    service_put_state(x, out);
    service_put_keys(x, is_for_text, out);
    service_put_claims(x, out);
    service_put_aliases(x, out);
    service_put_changes(x, "changes", "svc/", is_for_text, out);
    service_put_changes(x, "alias_changes", "alias/", is_for_text, out);
    service_put_surroundings(x, is_for_text, out);
    buf_append_str(out, "}\n");
}

void explain_json(const struct explanation *x, struct buf *out)
{
    service_put_page(x, false, out);
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

void explain_text(const struct explanation *x, struct buf *out)
{
    struct buf json;
    buf_init(&json, TEXT_JSON_MAX);
    service_put_page(x, true, &json);
    live_form_page(explain_is_absent(x) ? absent_form : page_form, &json, out);
}
