#include "kube2sky/explain.h"

#include <inttypes.h>

#include "common/base/json_text.h"
#include "kube2sky/api/kube_object.h"

static void string(struct buf *out, const char *name, struct slice text)
{
    buf_printf(out, "\"%s\":", name);
    json_text_string(out, text);
}

static void boolean(struct buf *out, const char *name, bool is)
{
    buf_printf(out, "\"%s\":%s", name, is ? "true" : "false");
}

static void comma(struct buf *out, size_t index)
{
    buf_append_str(out, index ? "," : "");
}

/* Ends a list; how many were left out. */
static void end_list(struct buf *out, const char *name, size_t count, size_t total)
{
    buf_append_char(out, ']');
    if (total > count) {
        buf_printf(out, ",\"%s_more\":%zu", name, total - count);
    }
}

/* ---- The Service ---- */

static void put_ports(const struct kube_service *service, struct buf *out)
{
    buf_append_str(out, ",\"ports\":[");
    for (size_t i = 0; i < service->port_count && i < EXPLAIN_LIST_MAX; i++) {
        const struct kube_port *port = &service->ports[i];
        comma(out, i);
        buf_append_char(out, '{');
        string(out, "name", slice_str(port->name));
        buf_append_char(out, ',');
        string(out, "protocol", slice_str(port->protocol));
        buf_printf(out, ",\"port\":%" PRId32 "}", port->port);
    }
    end_list(out, "ports",
             service->port_count < EXPLAIN_LIST_MAX ? service->port_count : EXPLAIN_LIST_MAX,
             service->port_count);
}

static void put_service(const struct explanation *x, struct buf *out)
{
    const struct kube_service *service = &x->service->service;
    buf_append_char(out, ',');
    boolean(out, "understood", !x->service->is_garbled);
    if (x->service->is_garbled) {
        return;
    }
    buf_append_char(out, ',');
    string(out, "type", slice_str(service->type));
    buf_append_char(out, ',');
    boolean(out, "headless", service->is_headless);
    buf_append_str(out, ",\"cluster_ips\":[");
    for (size_t i = 0; i < service->cluster_ip_count; i++) {
        comma(out, i);
        json_text_string(out, slice_str(service->cluster_ips[i]));
    }
    buf_append_char(out, ']');
    if (*service->external_name) {
        buf_append_char(out, ',');
        string(out, "external_name", slice_str(service->external_name));
    }
    put_ports(service, out);
    if (service->is_headless) {
        buf_printf(out, ",\"endpoints\":{\"ready\":%zu,\"not_ready\":%zu},", x->ready,
                   x->not_ready);
        boolean(out, "publish_not_ready", service->publish_not_ready);
    }
}

static void put_faults(const struct explanation *x, struct buf *out)
{
    buf_append_str(out, ",\"faults\":[");
    for (size_t i = 0; i < x->fault_count; i++) {
        comma(out, i);
        buf_append_char(out, '{');
        string(out, "kind", slice_str(x->faults[i].kind));
        buf_append_char(out, ',');
        string(out, "name", x->faults[i].name);
        buf_append_char(out, ',');
        string(out, "reason", x->faults[i].reason);
        buf_append_char(out, '}');
    }
    end_list(out, "faults", x->fault_count, x->fault_total);
    buf_append_str(out, ",\"skipped\":[");
    for (size_t i = 0; i < x->drop_count; i++) {
        comma(out, i);
        buf_append_char(out, '{');
        string(out, "what", x->drops[i].what);
        buf_append_char(out, ',');
        string(out, "value", x->drops[i].value);
        buf_append_str(out, ",\"reason\":\"cannot be part of a key\"}");
    }
    end_list(out, "skipped", x->drop_count, x->drop_total);
}

/* ---- Keys ---- */

static void put_keys(const struct explanation *x, struct buf *out)
{
    buf_append_str(out, ",\"counts\":{");
    for (size_t i = 0; i < OWNER_KEY_STATES; i++) {
        comma(out, i);
        buf_printf(out, "\"%s\":%zu", owner_key_state_name((enum owner_key_state)i), x->states[i]);
    }
    buf_append_str(out, "},\"keys\":[");
    for (size_t i = 0; i < x->key_count; i++) {
        const struct owner_key *key = &x->keys[i];
        comma(out, i);
        buf_append_char(out, '{');
        string(out, "key", key->key);
        if (key->value.len) {
            buf_append_char(out, ',');
            string(out, "value", key->value);
        }
        buf_printf(out, ",\"state\":\"%s\",\"revision\":%" PRId64 "}",
                   owner_key_state_name(key->state), key->revision);
    }
    end_list(out, "keys", x->key_count, x->key_total);
}

static void put_claims(const struct explanation *x, struct buf *out)
{
    char text[INET6_ADDRSTRLEN];
    buf_append_str(out, ",\"reverse\":[");
    for (size_t i = 0; i < x->claim_count; i++) {
        const struct owner_claim *claim = &x->claims[i];
        comma(out, i);
        buf_printf(out, "{\"address\":\"%s\",", ip_format(&claim->ip, text));
        string(out, "key", claim->key);
        buf_append_char(out, ',');
        string(out, "host", claim->host);
        buf_append_char(out, ',');
        boolean(out, "wins", claim->is_won);
        buf_append_char(out, ',');
        string(out, "winner", claim->winner_host);
        buf_append_char(out, ',');
        string(out, "winner_owner", claim->winner_owner);
        buf_printf(out, ",\"state\":\"%s\",\"revision\":%" PRId64 "}",
                   owner_key_state_name(claim->state), claim->revision);
    }
    end_list(out, "reverse", x->claim_count, x->claim_total);
}

static void put_held(const struct explanation *x, struct buf *out)
{
    buf_append_str(out, ",\"held_back\":[");
    for (size_t i = 0; i < x->held_count; i++) {
        comma(out, i);
        buf_printf(out, "{\"what\":\"%s\",", x->held[i].is_delete ? "delete" : "put");
        string(out, "key", x->held[i].key);
        buf_append_char(out, '}');
    }
    end_list(out, "held_back", x->held_count, x->held_total);
}

/* ---- The state ---- */

static void put_state(const struct explanation *x, struct buf *out)
{
    const struct owner_report *report = &x->report;
    buf_append_char(out, ',');
    string(out, "state", slice_str(report->state));
    buf_append_str(out, ",\"reasons\":[");
    for (size_t i = 0; i < report->reason_count; i++) {
        comma(out, i);
        json_text_string(out, slice_str(report->reasons[i]));
    }
    buf_printf(out, "],\"due\":{\"puts\":%zu,\"deletes\":%zu}", report->puts, report->deletes);
    if (report->changed_ms) {
        buf_printf(out, ",\"changed_ms\":%" PRId64, report->changed_ms);
    }
    if (report->is_contested) {
        buf_printf(out, ",\"contested\":{\"restored\":%u,\"rest_ms\":%" PRId64 ",",
                   report->restored, report->rest_ms);
        string(out, "key", report->contested_key);
        buf_append_char(out, '}');
    }
    if (report->is_refused) {
        buf_printf(out, ",\"refused\":{\"retry_ms\":%" PRId64 ",", report->retry_ms);
        string(out, "reason", slice_str(report->refusal));
        buf_append_char(out, '}');
    }
}

static void put_away(const char *name, const struct explain_away *away, struct buf *out)
{
    buf_printf(out, ",\"%s\":{", name);
    boolean(out, "connected", !away->is_away);
    if (away->is_away) {
        buf_printf(out, ",\"away_s\":%" PRId64 ",", away->since_ms / 1000);
        string(out, "reason", slice_str(away->why));
    }
    buf_append_char(out, '}');
}

static void put_surroundings(const struct explanation *x, struct buf *out)
{
    buf_append_str(out, ",\"leader\":{");
    boolean(out, "is_leader", x->report.is_leading);
    buf_append_char(out, ',');
    string(out, "id", slice_str(x->report.leader));
    buf_append_char(out, '}');
    put_away("etcd", &x->etcd, out);
    put_away("api", &x->api, out);
    if (x->missing) {
        buf_append_char(out, ',');
        string(out, "not_listed", slice_str(x->missing));
    }
}

static void put_absent(const struct explanation *x, struct buf *out)
{
    buf_append_char(out, ',');
    boolean(out, "followed", x->is_followed);
    if (x->sources->label_selector && *x->sources->label_selector) {
        buf_append_char(out, ',');
        string(out, "label_selector", slice_str(x->sources->label_selector));
    }
    buf_append_str(out, ",\"near\":[");
    for (size_t i = 0; i < x->near_count; i++) {
        comma(out, i);
        json_text_string(out, slice_str(x->near[i]));
    }
    buf_append_char(out, ']');
}

void explain_json(const struct explanation *x, struct buf *out)
{
    buf_append_char(out, '{');
    string(out, "service", slice_str(x->id));
    buf_append_char(out, ',');
    boolean(out, "exists", x->service != NULL);
    if (x->service) {
        put_service(x, out);
    } else {
        put_absent(x, out);
    }
    put_faults(x, out);
    put_state(x, out);
    put_keys(x, out);
    put_claims(x, out);
    put_held(x, out);
    put_surroundings(x, out);
    buf_append_str(out, "}\n");
}
