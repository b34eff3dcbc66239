#include "kube2sky/explain.h"

#include <inttypes.h>

#include "common/base/duration.h"
#include "kube2sky/api/kube_object.h"

/* Bytes that others wrote: only what is safe on a terminal. */
static void plain(struct buf *out, struct slice text)
{
    for (size_t i = 0; i < text.len; i++) {
        char c = text.ptr[i];
        buf_append_char(out, c >= ' ' && c <= '~' ? c : '?');
    }
}

static void label(struct buf *out, const char *name)
{
    buf_printf(out, "%-12s", name);
}

static void end_list(struct buf *out, size_t count, size_t total)
{
    if (total > count) {
        buf_printf(out, "  and %zu more\n", total - count);
    }
}

/* ---- The Service ---- */

static void put_ports(const struct kube_service *service, struct buf *out)
{
    label(out, "ports");
    buf_append_str(out, service->port_count ? "" : "none");
    for (size_t i = 0; i < service->port_count && i < EXPLAIN_LIST_MAX; i++) {
        const struct kube_port *port = &service->ports[i];
        buf_append_str(out, i ? ", " : "");
        plain(out, slice_str(*port->name ? port->name : "(unnamed)"));
        buf_printf(out, " %" PRId32 "/", port->port);
        plain(out, slice_str(*port->protocol ? port->protocol : "?"));
    }
    buf_append_char(out, '\n');
}

static void put_addresses(const struct kube_service *service, struct buf *out)
{
    label(out, "addresses");
    if (*service->external_name) {
        plain(out, slice_str(service->external_name));
    } else if (service->is_headless) {
        buf_append_str(out, "those of its endpoints: it is headless");
    } else if (service->cluster_ip_count == 0) {
        buf_append_str(out, "none yet");
    }
    for (size_t i = 0; i < service->cluster_ip_count; i++) {
        buf_append_str(out, i ? ", " : "");
        plain(out, slice_str(service->cluster_ips[i]));
    }
    buf_append_char(out, '\n');
}

static void put_endpoints(const struct explanation *x, struct buf *out)
{
    label(out, "endpoints");
    if (x->service->service.is_headless) {
        buf_printf(out, "%zu ready, %zu not ready%s\n", x->ready, x->not_ready,
                   x->service->service.publish_not_ready ? ", published all the same" : "");
    } else {
        buf_append_str(out, "not looked at: only a headless Service has records of them\n");
    }
}

static void put_service(const struct explanation *x, struct buf *out)
{
    if (!x->service) {
        label(out, "service");
        buf_printf(out, "%s does not exist; what is left of it in etcd:\n", x->id);
        return;
    }
    label(out, "service");
    buf_append_str(out, x->id);
    if (x->service->is_garbled) {
        buf_append_str(out, ", which cannot be understood: its keys are unchanged\n");
        return;
    }
    buf_append_str(out, ", type ");
    plain(out, slice_str(*x->service->service.type ? x->service->service.type : "ClusterIP"));
    buf_append_char(out, '\n');
    put_addresses(&x->service->service, out);
    put_ports(&x->service->service, out);
    put_endpoints(x, out);
}

static void put_faults(const struct explanation *x, struct buf *out)
{
    for (size_t i = 0; i < x->fault_count; i++) {
        label(out, "fault");
        buf_printf(out, "%s ", x->faults[i].kind);
        plain(out, x->faults[i].name);
        buf_append_str(out, ": ");
        plain(out, x->faults[i].reason);
        buf_append_char(out, '\n');
    }
    end_list(out, x->fault_count, x->fault_total);
    for (size_t i = 0; i < x->drop_count; i++) {
        label(out, "skipped");
        plain(out, x->drops[i].what);
        buf_append_str(out, " `");
        plain(out, x->drops[i].value);
        buf_append_str(out, "`: cannot be part of a key\n");
    }
    end_list(out, x->drop_count, x->drop_total);
}

/* ---- Keys ---- */

/* As in preview.h, and a blank for what is right. */
static char sign_of(enum owner_key_state state)
{
    static const char signs[OWNER_KEY_STATES] = {
        [OWNER_KEY_PRESENT] = ' ',  [OWNER_KEY_MISSING] = '+', [OWNER_KEY_DIFFERS] = '~',
        [OWNER_KEY_UNWANTED] = '-', [OWNER_KEY_FOREIGN] = '=', [OWNER_KEY_UNKNOWN] = '?',
        [OWNER_KEY_TAKEN] = '!',
    };
    return signs[state];
}

static void put_where(enum owner_key_state state, int64_t revision, struct buf *out)
{
    buf_printf(out, "  (%s", owner_key_state_name(state));
    if (revision) {
        buf_printf(out, ", revision %" PRId64, revision);
    }
    buf_append_str(out, ")\n");
}

static void put_keys(const struct explanation *x, struct buf *out)
{
    label(out, "keys");
    buf_printf(out, "%zu present, %zu missing, %zu differ, %zu unwanted\n",
               x->states[OWNER_KEY_PRESENT], x->states[OWNER_KEY_MISSING],
               x->states[OWNER_KEY_DIFFERS], x->states[OWNER_KEY_UNWANTED]);
    for (size_t i = 0; i < x->key_count; i++) {
        buf_printf(out, "  %c ", sign_of(x->keys[i].state));
        plain(out, x->keys[i].key);
        buf_append_char(out, ' ');
        plain(out, x->keys[i].value);
        put_where(x->keys[i].state, x->keys[i].revision, out);
    }
    end_list(out, x->key_count, x->key_total);
}

static void put_claims(const struct explanation *x, struct buf *out)
{
    char text[INET6_ADDRSTRLEN];
    for (size_t i = 0; i < x->claim_count; i++) {
        const struct owner_claim *claim = &x->claims[i];
        label(out, i ? "" : "reverse");
        bool is_taken = claim->state == OWNER_KEY_TAKEN;
        buf_printf(out, "%s is %s", ip_format(&claim->ip, text), is_taken ? "not " : "");
        plain(out, claim->winner_host.len ? claim->winner_host : claim->host);
        if (claim->winner_host.len && !claim->is_won) {
            buf_append_str(out, " of ");
            plain(out, claim->winner_owner);
            buf_append_str(out, ", which wins against ");
            plain(out, claim->host);
        }
        if (is_taken) {
            buf_append_str(out, ": a pod of another namespace has the address");
        }
        put_where(claim->state, claim->revision, out);
    }
    end_list(out, x->claim_count, x->claim_total);
}

static void put_held(const struct explanation *x, struct buf *out)
{
    for (size_t i = 0; i < x->held_count; i++) {
        label(out, i ? "" : "held back");
        buf_append_str(out, x->held[i].is_delete ? "delete " : "put ");
        plain(out, x->held[i].key);
        buf_append_char(out, '\n');
    }
    end_list(out, x->held_count, x->held_total);
}

/* ---- The state ---- */

static void put_state(const struct explanation *x, struct buf *out)
{
    const struct owner_report *report = &x->report;
    char text[DURATION_TEXT_MAX];
    label(out, "state");
    buf_printf(out, "%s; %zu puts and %zu deletes are due", report->state, report->puts,
               report->deletes);
    if (report->changed_ms) {
        buf_printf(out, ", since %s", duration_text(report->changed_ms, text));
    }
    buf_append_char(out, '\n');
    for (size_t i = 0; i < report->reason_count; i++) {
        label(out, "because");
        buf_printf(out, "%s\n", report->reasons[i]);
    }
    if (report->is_contested) {
        label(out, "contested");
        buf_printf(out, "restored %u times in a row, such as ", report->restored);
        plain(out, report->contested_key);
        buf_printf(out, "; again in %s\n", duration_text(report->rest_ms, text));
    }
    if (report->is_refused) {
        label(out, "refused");
        plain(out, slice_str(report->refusal));
        buf_printf(out, "; tried again in %s\n", duration_text(report->retry_ms, text));
    }
}

static void put_away(const char *name, const struct explain_away *away, struct buf *out)
{
    char text[DURATION_TEXT_MAX];
    label(out, name);
    if (!away->is_away) {
        buf_append_str(out, "followed\n");
        return;
    }
    buf_printf(out, "away for %s", duration_text(away->since_ms, text));
    buf_append_str(out, *away->why ? ": " : "");
    plain(out, slice_str(away->why));
    buf_append_char(out, '\n');
}

static void put_surroundings(const struct explanation *x, struct buf *out)
{
    if (x->report.is_electing) {
        label(out, "leader");
        buf_printf(out, "%s%s\n", *x->report.leader ? x->report.leader : "nobody",
                   x->report.is_leading ? ", this one" : "");
    }
    put_away("etcd", &x->etcd, out);
    put_away("API", &x->api, out);
    if (x->missing) {
        label(out, "not listed");
        buf_printf(out, "%s\n", x->missing);
    }
}

/* ---- A Service that does not exist ---- */

static void put_absent(const struct explanation *x, struct buf *out)
{
    buf_printf(out, "service %s ", x->id);
    if (!x->is_followed) {
        buf_append_str(out, "is not followed: --namespaces has other namespaces\n");
    } else if (!x->is_listed) {
        buf_printf(out, "is not known yet: %s\n",
                   x->missing ? x->missing : "services are not listed yet");
    } else {
        bool has_selector = x->sources->label_selector && *x->sources->label_selector;
        buf_append_str(out, "does not exist");
        buf_append_str(out, has_selector ? ", or --label-selector does not match it" : "");
        for (size_t i = 0; i < x->near_count; i++) {
            buf_append_str(out, i ? ", " : "; did you mean ");
            plain(out, slice_str(x->near[i]));
        }
        buf_append_str(out, x->near_count ? "?\n" : "\n");
    }
}

void explain_text(const struct explanation *x, struct buf *out)
{
    if (explain_is_absent(x)) {
        put_absent(x, out);
        return;
    }
    put_service(x, out);
    put_faults(x, out);
    put_state(x, out);
    put_keys(x, out);
    put_claims(x, out);
    put_held(x, out);
    put_surroundings(x, out);
}
