/* Arbitrary objects through inventory and naming: one per line, as the letter of its kind, S, E, L
 * (slice), P, N (Node), I (import) or M (an import's slice), then JSON. Whatever their content, the
 * keys belong to their owner, are valid DNS names and unique; the values parse; each address is
 * claimed once; whatever endpoints without hostnames are called. Likewise in an external zone,
 * where kube2sky recognizes each key as its own. */
#include <assert.h>

#include "common/base/xalloc.h"
#include "common/dns/record.h"
#include "common/dns/record_json.h"
#include "kube2sky/api/kube_object.h"
#include "kube2sky/naming/contract.h"
#include "kube2sky/naming/inventory.h"
#include "kube2sky/naming/key_style.h"
#include "kube2sky/naming/naming.h"
#include "tests/fuzz/fuzz_target.h"

#define EXTERNAL_ZONE "lb.example.com."
#define EXTERNAL_TREE "/skydns/com/example/lb/"

/* Names are derived for this many owners at the end; inputs have only a few lines. */
enum { OWNERS_MAX = 64 };

struct run {
    struct inventory *inventory;
    struct inventory *imports;
    char *owners[OWNERS_MAX];
    size_t owner_count;
};

static void naming_note_owner(void *data, struct slice owner)
{
    struct run *run = data;
    if (run->owner_count < OWNERS_MAX) {
        run->owners[run->owner_count++] = xstrndup(owner.ptr, owner.len);
    }
}

static void check_drop(void *data, const struct naming_drop *drop)
{
    (void)data;
    assert(drop->kind && drop->ns && drop->name && drop->what && drop->value);
}

static void naming_take_line(struct run *run, struct slice line)
{
    static const char letters[KUBE_KIND_COUNT] = "SELP-N----IM";
    const char *letter = line.len ? memchr(letters, line.ptr[0], sizeof(letters)) : NULL;
    struct kube_event event;
    struct err err;
    if (!letter || *letter == '-') { /* a ConfigMap takes another way */
        return;
    }
    enum kube_kind kind = (enum kube_kind)(letter - letters);
    char *text = xasprintf("{\"type\":\"ADDED\",\"object\":%.*s}", (int)line.len - 1, line.ptr + 1);
    if (kube_decode_event(KUBE_JSON, kind, slice_str(text), &event, &err) == 0) {
        if (event.kind == KUBE_EVENT_UPSERT) {
            bool is_import = kind == KUBE_IMPORT || kind == KUBE_IMPORT_SLICE;
            kube_object_localize(event.object);
            inventory_upsert(is_import ? run->imports : run->inventory, event.object);
            event.object = NULL;
        }
        kube_event_fini(&event);
    }
    free(text);
}

static bool naming_is_import(const char *owner)
{
    return slice_has_prefix(slice_str(owner), slice_str(IMPORT_PREFIX));
}

static void naming_check_records(const struct desired *desired, const char *base)
{
    for (size_t i = 0; i < desired->count; i++) {
        struct desired_record record = desired_get(desired, i);
        struct dname name;
        struct record parsed;
        struct err err;
        assert(i == 0 || slice_compare(desired_get(desired, i - 1).key, record.key) < 0);
        assert(slice_has_prefix(record.key, slice_str(base)));
        assert(record.key.len == strlen(base) || record.key.ptr[strlen(base)] == '/');
        bool is_name = record_key_to_name(slice_str("/skydns/"), record.key, &name);
        assert(is_name);
        int r = record_from_json(record.value, &parsed, &err);
        assert(r == 0);
        record_fini(&parsed);
    }
}

static void check_style(const struct desired *desired)
{
    for (size_t i = 0; i < desired->count; i++) {
        struct desired_record record = desired_get(desired, i);
        struct slice below = slice_of(record.key.ptr + sizeof(EXTERNAL_TREE) - 1,
                                      record.key.len - (sizeof(EXTERNAL_TREE) - 1));
        bool is_ours = key_style_external(slice_str(EXTERNAL_ZONE), below, record.value);
        assert(is_ours);
    }
}

static void check_claims(const struct claims *claims)
{
    for (size_t i = 0; i < claims->count; i++) {
        struct claim claim = claims_get(claims, i), before = claims_get(claims, i ? i - 1 : 0);
        struct dname name;
        assert(i == 0 || claim_compare_ips(&before.ip, &claim.ip) < 0);
        bool is_name = dname_from_text(claim.host, &name);
        assert(is_name);
    }
}

static void naming_name_owner(const struct run *run, const char *owner,
                              enum endpoint_names endpoint_names)
{
    struct naming_config config = {
        .domain = "cluster.local.",
        .import_domain = "clusterset.local.",
        .ttl_s = 30,
        .endpoint_names = endpoint_names,
        .external = {.zone = EXTERNAL_ZONE, .has_headless = true},
        .dropped = check_drop,
    };
    bool is_external = strncmp(owner, "ext/", 4) == 0;
    char *base = is_external               ? xasprintf(EXTERNAL_TREE "%s", owner + 4)
                 : naming_is_import(owner) ? xasprintf("/skydns/local/clusterset/svc/%s",
                                                       owner + sizeof(IMPORT_PREFIX) - 1)
                                           : xasprintf("/skydns/local/cluster/%s", owner);
    struct owner_objects objects;
    struct desired desired;
    struct claims claims;
    struct err err;
    owner_objects_init(&objects);
    desired_init(&desired);
    claims_init(&claims);
    const struct inventory *inventory = naming_is_import(owner) ? run->imports : run->inventory;
    inventory_get(inventory, slice_str(owner), &objects);
    if (naming_build(&config, &objects, &desired, &claims, &err) == 0) {
        naming_check_records(&desired, base);
        check_claims(&claims);
        if (is_external) {
            check_style(&desired);
        }
    }
    (void)inventory_may_delete(inventory, slice_str(owner)); /* only that it returns */
    free(base);
    owner_objects_fini(&objects);
    desired_fini(&desired);
    claims_fini(&claims);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct run run = {.owner_count = 0};
    struct inventory_config config = {
        .is_narrowed = true, .changed = naming_note_owner, .data = &run};
    const char *at = (const char *)data, *end = at + size;
    kube_object_keep((struct kube_kept){.pods = true, .external = true});
    run.inventory = inventory_new(&config);
    config.has_imports = true;
    run.imports = inventory_new(&config);
    inventory_use_endpoints(run.imports, KUBE_SLICE);
    inventory_want(run.inventory, KUBE_NODE, true);
    inventory_list_begin(run.inventory, KUBE_NODE);
    inventory_use_endpoints(run.inventory, size % 2 ? KUBE_SLICE : KUBE_ENDPOINTS);
    while (at < end) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        const char *line_end = newline ? newline : end;
        naming_take_line(&run, slice_of(at, (size_t)(line_end - at)));
        at = line_end + 1;
    }
    inventory_list_end(run.inventory, KUBE_NODE);
    for (size_t i = 0; i < run.owner_count; i++) {
        naming_name_owner(&run, run.owners[i], ENDPOINT_NAMES_HASH);
        naming_name_owner(&run, run.owners[i], ENDPOINT_NAMES_ADDRESS);
        naming_name_owner(&run, run.owners[i], ENDPOINT_NAMES_POD);
        if (strncmp(run.owners[i], "svc/", 4) == 0) {
            memcpy(run.owners[i], "ext/", 4);
            naming_name_owner(&run, run.owners[i], ENDPOINT_NAMES_HASH);
            naming_name_owner(&run, run.owners[i], ENDPOINT_NAMES_POD);
        }
        free(run.owners[i]);
    }
    inventory_free(run.inventory);
    inventory_free(run.imports);
    return 0;
}
