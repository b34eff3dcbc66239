#include "kube2sky/explain.h"

#include <stdio.h>
#include <string.h>

#include "common/base/json_text.h"
#include "common/http/http_fetch.h"
#include "kube2sky/api/kube_client.h"
#include "kube2sky/kube_source.h"
#include "kube2sky/naming/contract.h"
#include "kube2sky/naming/external_aliases.h"
#include "kube2sky/naming/external_keys.h"
#include "kube2sky/naming/inventory.h"
#include "kube2sky/naming/owner_objects.h"
#include "kube2sky/reconcile/reconciler.h"

/* Room for a list of texts of which each character takes six bytes. */
enum { ENTRIES_BYTES_MAX = 32 * 1024 * 1024 };

enum { OWNER_MAX = sizeof(ALIAS_PREFIX) + EXPLAIN_ID_MAX }; /* with the longest prefix */

/* ---- The argument ---- */

static bool is_part(struct slice part)
{
    bool is = part.len > 0 && part.len <= EXPLAIN_PART_MAX;
    for (size_t i = 0; i < part.len && is; i++) {
        is = part.ptr[i] > ' ' && part.ptr[i] < 0x7f && part.ptr[i] != '/';
    }
    return is;
}

bool explain_parse(const char *text, char ret_id[EXPLAIN_ID_MAX + 1])
{
    const char *slash = strchr(text, '/');
    if (!slash || !is_part(slice_of(text, (size_t)(slash - text))) ||
        !is_part(slice_str(slash + 1))) {
        return false;
    }
    ascii_lower_copy(ret_id, text, strlen(text) + 1);
    return true;
}

/* ---- Lists ---- */

/* Counts one more entry, and begins it. Returns where its members go; NULL if it is only counted.
 */
static struct buf *begin_entry(struct explanation *x, enum explain_list list)
{
    x->lists[list].total++;
    if (x->lists[list].count == EXPLAIN_LIST_MAX) {
        return NULL;
    }
    x->lists[list].count++;
    json_text_open(&x->lists[list].entries, NULL, '{');
    return &x->lists[list].entries;
}

static void put_cut(struct buf *out, const char *field, struct slice text)
{
    text.len = text.len < EXPLAIN_TEXT_MAX ? text.len : EXPLAIN_TEXT_MAX;
    json_text_slice_field(out, field, text);
}

static void put_where(struct buf *out, enum owner_key_state state, int64_t revision)
{
    json_text_string_field(out, "state", owner_key_state_name(state));
    json_text_integer_field(out, "revision", revision);
    buf_append_char(out, '}');
}

/* Signs of plan.h, and a blank for a key with the wanted value. */
static const char signs[OWNER_KEY_STATES][2] = {
    [OWNER_KEY_PRESENT] = " ",  [OWNER_KEY_MISSING] = "+", [OWNER_KEY_DIFFERS] = "~",
    [OWNER_KEY_UNWANTED] = "-", [OWNER_KEY_OTHERS] = "=",  [OWNER_KEY_UNKNOWN] = "?",
    [OWNER_KEY_TAKEN] = "!",
};

static void kube2sky_explain_on_key(void *data, const struct owner_key *key)
{
    struct explanation *x = data;
    struct buf *out = begin_entry(x, EXPLAIN_KEYS);
    x->states[key->state]++;
    if (!out) {
        return;
    }
    put_cut(out, "key", key->key);
    if (key->value.len) {
        put_cut(out, "value", key->value);
    }
    if (x->is_for_text) {
        json_text_string_field(out, "sign", signs[key->state]);
    }
    put_where(out, key->state, key->revision);
}

static void on_claim(void *data, const struct owner_claim *claim)
{
    struct buf *out = begin_entry(data, EXPLAIN_REVERSE);
    char address[INET6_ADDRSTRLEN];
    if (out) {
        json_text_string_field(out, "address", ip_format(&claim->ip, address));
        put_cut(out, "key", claim->key);
        put_cut(out, "host", claim->host);
        json_text_flag_field(out, "wins", claim->is_won);
        put_cut(out, "winner", claim->winner_host);
        put_cut(out, "winner_owner", claim->winner_owner);
        put_where(out, claim->state, claim->revision);
    }
}

/* Lists each once: a Service has names in the external zone, too. */
static void kube2sky_explain_on_dropped(void *data, const struct naming_drop *drop)
{
    struct explanation *x = data;
    struct buf *listed = &x->lists[EXPLAIN_SKIPPED].entries;
    struct buf entry;
    buf_init(&entry, ENTRIES_BYTES_MAX);
    put_cut(&entry, "what", slice_str(drop->what));
    put_cut(&entry, "value", slice_str(drop->value));
    json_text_string_field(&entry, "reason", "cannot be part of a key");
    buf_append_char(&entry, '}');
    if (!memmem(buf_cstr(listed), listed->len, entry.data, entry.len)) {
        struct buf *out = begin_entry(x, EXPLAIN_SKIPPED);
        if (out) {
            buf_append_slice(out, buf_slice(&entry));
        }
    }
    buf_fini(&entry);
}

/* Returns what etcd has at a name that leads here. */
static const char *look_at_alias(const struct external_keys *keys, const struct alias_view *view,
                                 int64_t *ret_revision)
{
    struct buf key;
    buf_init(&key, EXPLAIN_TEXT_MAX);
    buf_append_slice(&key, view->key);
    buf_append_char(&key, '/');
    buf_append_str(&key, view->label);
    bool is_ours = external_keys_owner(keys, buf_slice(&key)).len > 0;
    *ret_revision = is_ours ? external_keys_revision(keys, buf_slice(&key)) : 0;
    buf_fini(&key);
    return external_keys_has_other(keys, view->key, NULL, NULL) ? "foreign"
           : is_ours                                            ? "present"
                                                                : "missing";
}

static void on_alias(void *data, const struct alias_view *view)
{
    struct explanation *x = data;
    struct buf *out = begin_entry(x, EXPLAIN_ALIASES);
    const bool is_allowed = view->verdict == OVERRIDE_ALLOWED;
    int64_t revision = 0;
    if (!out) {
        return;
    }
    put_cut(out, "name", view->name);
    put_cut(out, "claimant", view->owner_object);
    put_cut(out, "winner", view->winner);
    json_text_string_field(out, "reason", is_allowed ? "" : override_verdict_text(view->verdict));
    json_text_string_field(
        out, "state",
        view->is_won
            ? look_at_alias(reconciler_external_keys(x->sources->reconciler), view, &revision)
        : is_allowed ? "taken"
                     : "refused");
    json_text_integer_field(out, "revision", revision);
    buf_append_char(out, '}');
}

static void on_held_back(void *data, const struct etcd_op *op)
{
    struct buf *out = begin_entry(data, EXPLAIN_HELD_BACK);
    if (out) {
        json_text_string_field(out, "what", op->kind == ETCD_OP_DELETE ? "delete" : "put");
        put_cut(out, "key", op->key);
        buf_append_char(out, '}');
    }
}

static void add_faults(struct explanation *x, const struct kube_object *object)
{
    struct buf *out = *object->faults ? begin_entry(x, EXPLAIN_FAULTS) : NULL;
    if (out) {
        json_text_string_field(out, "kind", kube_kind_name(object->kind));
        put_cut(out, "name", slice_str(object->name));
        put_cut(out, "reason", slice_str(object->faults));
        buf_append_char(out, '}');
    }
}

/* ---- Objects ---- */

static void count_endpoints(struct explanation *x, const struct kube_object *part)
{
    if (part->kind == KUBE_SLICE) {
        for (size_t i = 0; i < part->slice.endpoint_count; i++) {
            bool is_ready = part->slice.endpoints[i].is_ready;
            x->ready += is_ready;
            x->not_ready += !is_ready;
        }
        return;
    }
    for (size_t i = 0; i < part->endpoints.subset_count; i++) {
        const struct kube_subset *subset = &part->endpoints.subsets[i];
        for (size_t j = 0; j < subset->address_count; j++) {
            x->ready += subset->addresses[j].is_ready;
            x->not_ready += !subset->addresses[j].is_ready;
        }
    }
}

static void gather_objects(struct explanation *x, struct slice owner)
{
    const struct inventory *inventory = x->sources->inventory;
    struct owner_objects objects;
    x->service = inventory_find(inventory, KUBE_SERVICE, slice_str(x->id));
    x->is_listed = inventory_may_delete(inventory, owner); /* if there is no such Service, that is
                                                            * certain only then */
    if (!x->service) {
        return;
    }
    add_faults(x, x->service);
    owner_objects_init(&objects);
    inventory_get(inventory, owner, &objects);
    for (size_t i = 0; i < objects.part_count; i++) {
        add_faults(x, objects.parts[i]);
        count_endpoints(x, objects.parts[i]);
    }
    owner_objects_fini(&objects);
}

bool explain_follows_namespace(const struct metrics_sources *sources, const char *id)
{
    const struct slice ns = slice_of(id, strcspn(id, "/"));
    bool follows = sources->namespace_count == 0;
    for (size_t i = 0; i < sources->namespace_count && !follows; i++) {
        follows = slice_equal(ns, slice_str(sources->namespaces[i]));
    }
    return follows;
}

bool explain_selects_namespace(const struct metrics_sources *sources, const char *id)
{
    char owner[OWNER_MAX];
    (void)snprintf(owner, sizeof(owner), SERVICE_PREFIX "%s", id); /* fits */
    return inventory_selects(sources->inventory, slice_str(owner)) ||
           !inventory_may_delete(sources->inventory, slice_str(owner));
}

/* ---- All ---- */

/* Gathers the keys in the external zone. If only those have work, the report is about them. */
static void gather_external(struct explanation *x, const struct owner_visitor *visitor)
{
    char owner[OWNER_MAX];
    struct owner_report report;
    (void)snprintf(owner, sizeof(owner), EXTERNAL_PREFIX "%s", x->id); /* fits */
    owner_report(x->sources->reconciler, slice_str(owner), visitor, &report);
    if (report.puts + report.deletes > 0 && x->report.puts + x->report.deletes == 0) {
        x->report = report;
    }
}

static void explain_gather(struct explanation *x)
{
    const struct metrics_sources *sources = x->sources;
    const struct external_aliases *aliases = reconciler_aliases(sources->reconciler);
    const struct owner_visitor visitor = {
        .key = kube2sky_explain_on_key,
        .claim = on_claim,
        .dropped = kube2sky_explain_on_dropped,
        .held_back = on_held_back,
        .data = x,
    };
    char owner[OWNER_MAX];
    x->is_followed =
        explain_follows_namespace(sources, x->id) && explain_selects_namespace(sources, x->id);
    (void)snprintf(owner, sizeof(owner), SERVICE_PREFIX "%s", x->id); /* fits */
    gather_objects(x, slice_str(owner));
    owner_report(sources->reconciler, slice_str(owner), &visitor, &x->report);
    gather_external(x, &visitor);
    if (aliases) {
        (void)snprintf(owner, sizeof(owner), ALIAS_PREFIX "%s", x->id); /* fits */
        external_aliases_each(aliases, slice_str(owner), on_alias, x);
    }
}

static void kube2sky_explain_reject(const char *service, bool is_text, struct buf *out)
{
    if (is_text) {
        buf_printf(out, "service: %s: " EXPLAIN_EXPECTED "\n", *service ? "no such text" : "none");
        return;
    }
    buf_append_str(out, "{\"service\":");
    json_text_string(out, slice_str(service));
    buf_append_str(out, ",\"error\":\"" EXPLAIN_EXPECTED "\"}\n");
}

void explain_page_handle(void *data, const struct http_request *request, struct http_reply *reply)
{
    const char *service = http_request_arg(request, "service");
    struct explanation x = {.sources = data,
                            .is_for_text = http_request_arg(request, "text") != NULL};
    reply->content_type = x.is_for_text ? reply->content_type : "application/json";
    if (!service || !explain_parse(service, x.id)) {
        reply->status = 400;
        kube2sky_explain_reject(service ? service : "", x.is_for_text, &reply->body);
        return;
    }
    for (size_t i = 0; i < EXPLAIN_LISTS; i++) {
        buf_init(&x.lists[i].entries, ENTRIES_BYTES_MAX);
    }
    explain_gather(&x);
    const bool is_absent =
        !x.service && x.lists[EXPLAIN_KEYS].total == 0 && x.lists[EXPLAIN_HELD_BACK].total == 0;
    reply->status = !is_absent ? 200 : x.is_followed && !x.is_listed ? 503 : 404;
    explain_service_write(&x, is_absent, &reply->body);
    for (size_t i = 0; i < EXPLAIN_LISTS; i++) {
        buf_fini(&x.lists[i].entries);
    }
}

enum { TARGET_MAX = 4096 };

int kube2sky_explain_client(const struct addr *server, const char *id, struct err *err)
{
    struct buf target;
    struct err why;
    buf_init(&target, TARGET_MAX);
    buf_append_str(&target, "/explain?text&service=");
    http_fetch_append_value(&target, id);
    int r = http_fetch_print(server, buf_cstr(&target), NULL, &why);
    buf_fini(&target);
    if (r == ERR_REFUSED && strcmp(why.msg, "not found") == 0) {
        return err_set(err, r, "the server there has no /explain: expected a running kube2sky");
    }
    if (r == ERR_REFUSED || r == ERR_NOT_FOUND) {
        return err_set(err, r, "%s", why.msg);
    }
    return r == 0 ? 0
                  : err_set(err, r,
                            "%s; -healthz-address and -healthz-port must be those of a running "
                            "kube2sky",
                            why.msg);
}
