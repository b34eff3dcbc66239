#include "kube2sky/explain.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/json_text.h"
#include "common/base/outage.h"
#include "common/base/xalloc.h"
#include "common/http/http_fetch.h"
#include "kube2sky/api/kube_client.h"
#include "kube2sky/kube_source.h"
#include "kube2sky/naming/contract.h"
#include "kube2sky/naming/external_aliases.h"
#include "kube2sky/naming/external_keys.h"
#include "kube2sky/naming/inventory.h"
#include "kube2sky/naming/owner_objects.h"
#include "kube2sky/reconcile/reconciler.h"

/* Room for four lists of texts; a usual key and value have some 150 bytes together. */
enum { TEXTS_BYTES_MAX = 16 * 1024 * 1024 };

static const char owner_prefix[] = "svc/";

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
    size_t len = strlen(text);
    for (size_t i = 0; i <= len; i++) { /* includes the NUL */
        ret_id[i] = text[i] >= 'A' && text[i] <= 'Z' ? (char)(text[i] - 'A' + 'a') : text[i];
    }
    return true;
}

/* ---- Lists ---- */

static struct slice kube2sky_explain_keep(struct explanation *x, struct slice text)
{
    size_t len = text.len < EXPLAIN_TEXT_MAX ? text.len : EXPLAIN_TEXT_MAX;
    char *copy = len ? arena_alloc(&x->arena, len) : NULL;
    if (!copy) {
        return slice_of(NULL, 0);
    }
    memcpy(copy, text.ptr, len);
    return slice_of(copy, len);
}

/* Counts one more entry. Returns a slot for it; NULL if it is only counted. */
static void *kube2sky_explain_place(void **list, size_t size, size_t *count, size_t *total)
{
    (*total)++;
    if (*count == EXPLAIN_LIST_MAX) {
        return NULL;
    }
    if ((*count & (*count - 1)) == 0) { /* the list is full at each power of two */
        *list = xrealloc_array(*list, *count ? *count * 2 : 1, size);
    }
    return (char *)*list + (*count)++ * size;
}

static void kube2sky_explain_on_key(void *data, const struct owner_key *key)
{
    struct explanation *x = data;
    void *list = x->keys;
    struct owner_key *at = kube2sky_explain_place(&list, sizeof(*at), &x->key_count, &x->key_total);
    x->keys = list;
    x->states[key->state]++;
    if (at) {
        *at = *key;
        at->key = kube2sky_explain_keep(x, key->key);
        at->value = kube2sky_explain_keep(x, key->value);
    }
}

static void on_claim(void *data, const struct owner_claim *claim)
{
    struct explanation *x = data;
    void *list = x->claims;
    struct owner_claim *at =
        kube2sky_explain_place(&list, sizeof(*at), &x->claim_count, &x->claim_total);
    x->claims = list;
    if (at) {
        *at = *claim;
        at->key = kube2sky_explain_keep(x, claim->key);
        at->host = kube2sky_explain_keep(x, claim->host);
        at->winner_host = kube2sky_explain_keep(x, claim->winner_host);
        at->winner_owner = kube2sky_explain_keep(x, claim->winner_owner);
    }
}

/* Returns whether it is listed already: a Service has names in the external zone, too. */
static bool is_drop_listed(const struct explanation *x, const struct naming_drop *drop)
{
    bool is_listed = false;
    for (size_t i = 0; i < x->drop_count && !is_listed; i++) {
        is_listed = slice_equal(x->drops[i].what, slice_str(drop->what)) &&
                    slice_equal(x->drops[i].value, slice_str(drop->value));
    }
    return is_listed;
}

static void kube2sky_explain_on_dropped(void *data, const struct naming_drop *drop)
{
    struct explanation *x = data;
    if (is_drop_listed(x, drop)) {
        return;
    }
    void *list = x->drops;
    struct explain_drop *at =
        kube2sky_explain_place(&list, sizeof(*at), &x->drop_count, &x->drop_total);
    x->drops = list;
    if (at) {
        at->what = kube2sky_explain_keep(x, slice_str(drop->what));
        at->value = kube2sky_explain_keep(x, slice_str(drop->value));
    }
}

/* Adds what etcd has at a name that leads here. */
static void look_at_alias(const struct external_keys *keys, const struct alias_view *view,
                          struct explain_alias *alias)
{
    struct buf key;
    buf_init(&key, EXPLAIN_TEXT_MAX);
    buf_append_slice(&key, view->key);
    buf_append_char(&key, '/');
    buf_append_str(&key, view->label);
    bool is_ours = external_keys_owner(keys, buf_slice(&key)).len > 0;
    alias->revision = is_ours ? external_keys_revision(keys, buf_slice(&key)) : 0;
    alias->state = external_keys_has_other(keys, view->key, NULL, NULL) ? "foreign"
                   : is_ours                                            ? "present"
                                                                        : "missing";
    buf_fini(&key);
}

static void on_alias(void *data, const struct alias_view *view)
{
    struct explanation *x = data;
    void *list = x->aliases;
    struct explain_alias *at =
        kube2sky_explain_place(&list, sizeof(*at), &x->alias_count, &x->alias_total);
    x->aliases = list;
    if (!at) {
        return;
    }
    bool is_allowed = view->verdict == OVERRIDE_ALLOWED;
    *at = (struct explain_alias){
        .name = kube2sky_explain_keep(x, view->name),
        .owner_object = kube2sky_explain_keep(x, view->owner_object),
        .winner = kube2sky_explain_keep(x, view->winner),
        .state = is_allowed ? "taken" : "refused",
        .reason = is_allowed ? "" : override_verdict_text(view->verdict),
    };
    if (view->is_won) {
        look_at_alias(reconciler_external_keys(x->sources->reconciler), view, at);
    }
}

static void gather_aliases(struct explanation *x)
{
    const struct external_aliases *aliases = reconciler_aliases(x->sources->reconciler);
    char owner[sizeof(ALIAS_PREFIX) + EXPLAIN_ID_MAX] = ALIAS_PREFIX;
    if (aliases) {
        memcpy(owner + sizeof(ALIAS_PREFIX) - 1, x->id, strlen(x->id) + 1);
        external_aliases_each(aliases, slice_str(owner), on_alias, x);
    }
}

static void on_held_back(void *data, const struct etcd_op *op)
{
    struct explanation *x = data;
    void *list = x->held;
    struct explain_held *at =
        kube2sky_explain_place(&list, sizeof(*at), &x->held_count, &x->held_total);
    x->held = list;
    if (at) {
        at->is_delete = op->kind == ETCD_OP_DELETE;
        at->key = kube2sky_explain_keep(x, op->key);
    }
}

static void add_faults(struct explanation *x, const struct kube_object *object)
{
    if (!*object->faults) {
        return;
    }
    void *list = x->faults;
    struct explain_fault *at =
        kube2sky_explain_place(&list, sizeof(*at), &x->fault_count, &x->fault_total);
    x->faults = list;
    if (at) {
        at->kind = kube_kind_name(object->kind);
        at->name = kube2sky_explain_keep(x, slice_str(object->name));
        at->reason = kube2sky_explain_keep(x, slice_str(object->faults));
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
    x->missing = inventory_missing(inventory);
    if (!x->service) {
        x->near_count = kube2sky_explain_near(inventory, x->id, x->near);
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

static bool kube2sky_explain_is_followed(const struct explanation *x, struct slice owner)
{
    const struct inventory *inventory = x->sources->inventory;
    bool is = x->sources->namespace_count == 0;
    for (size_t i = 0; i < x->sources->namespace_count && !is; i++) {
        is = slice_equal(x->ns, slice_str(x->sources->namespaces[i]));
    }
    return is && (inventory_selects(inventory, owner) || !inventory_may_delete(inventory, owner));
}

/* ---- Outages ---- */

static struct explain_away away_of(const struct outage *outage)
{
    struct explain_away away = {.is_away = outage_is_away(outage), .why = outage_why(outage)};
    int64_t now_ms = clock_monotonic_ms();
    for (const struct outage_source *s = outage->sources; s; s = s->next) {
        if (s->is_away && now_ms - s->since_ms > away.since_ms) {
            away.since_ms = now_ms - s->since_ms;
        }
    }
    return away;
}

/* ---- All ---- */

/* Adds the keys in the external zone. If only those have work, the report is about them. */
static void gather_external(struct explanation *x, const struct owner_visitor *visitor)
{
    char owner[sizeof(EXTERNAL_PREFIX) + EXPLAIN_ID_MAX] = EXTERNAL_PREFIX;
    struct owner_report report;
    memcpy(owner + sizeof(EXTERNAL_PREFIX) - 1, x->id, strlen(x->id) + 1);
    owner_report(x->sources->reconciler, slice_str(owner), visitor, &report);
    if (report.puts + report.deletes > 0 && x->report.puts + x->report.deletes == 0) {
        x->report = report;
    }
}

void explain_gather(const struct metrics_sources *sources, const char *id, struct explanation *x)
{
    char owner[sizeof(owner_prefix) + EXPLAIN_ID_MAX];
    const struct owner_visitor visitor = {
        .key = kube2sky_explain_on_key,
        .claim = on_claim,
        .dropped = kube2sky_explain_on_dropped,
        .held_back = on_held_back,
        .data = x,
    };
    *x = (struct explanation){.sources = sources};
    arena_init(&x->arena, TEXTS_BYTES_MAX);
    memcpy(x->id, id, strlen(id) + 1);
    x->ns = slice_of(x->id, strcspn(x->id, "/"));
    memcpy(owner, owner_prefix, sizeof(owner_prefix));
    memcpy(owner + sizeof(owner_prefix) - 1, id, strlen(id) + 1);
    x->is_followed = kube2sky_explain_is_followed(x, slice_str(owner));
    gather_objects(x, slice_str(owner));
    owner_report(sources->reconciler, slice_str(owner), &visitor, &x->report);
    gather_external(x, &visitor);
    gather_aliases(x);
    x->etcd = away_of(sources->etcd_outage);
    x->api = away_of(kube_source_outage(sources->kube_source));
}

void explain_fini(struct explanation *x)
{
    arena_fini(&x->arena);
    free(x->keys);
    free(x->claims);
    free(x->drops);
    free(x->aliases);
    free(x->held);
    free(x->faults);
}

bool explain_is_absent(const struct explanation *x)
{
    return !x->service && x->key_total == 0 && x->held_total == 0;
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

static int status_of(const struct explanation *x)
{
    if (!explain_is_absent(x)) {
        return 200;
    }
    return x->is_followed && !x->is_listed ? 503 : 404;
}

void explain_page_handle(void *data, const struct http_request *request, struct http_reply *reply)
{
    const char *service = http_request_arg(request, "service");
    bool is_text = http_request_arg(request, "text") != NULL;
    char id[EXPLAIN_ID_MAX + 1];
    struct explanation x;
    reply->content_type = is_text ? reply->content_type : "application/json";
    if (!service || !explain_parse(service, id)) {
        reply->status = 400;
        kube2sky_explain_reject(service ? service : "", is_text, &reply->body);
        return;
    }
    explain_gather(data, id, &x);
    reply->status = status_of(&x);
    if (is_text) {
        explain_text(&x, &reply->body);
    } else {
        explain_json(&x, &reply->body);
    }
    explain_fini(&x);
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
