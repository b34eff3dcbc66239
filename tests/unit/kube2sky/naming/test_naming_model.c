/* inventory, naming and reverse together against a naive model: random sequences of changes of all
 * four kinds of objects, relists that lost some, changes of the endpoints' source. After each step
 * only the owners reported dirty are named again; then all keys must be those that the model
 * computes from the existing objects alone, each key by a loop over everything. */
#include "tests/unit/kube2sky/naming/naming_model_objects.h"

#include "kube2sky/naming/inventory.h"
#include "kube2sky/naming/naming.h"
#include "kube2sky/naming/reverse.h"
#include "tests/support/random_numbers.h"
#include "tests/support/unit_test.h"

enum { STEPS = 6000 };

/* ---- The world ---- */

struct named_owner {
    char *id;
    struct lines lines;
};

enum { OWNERS_MAX = 256 };

struct world {
    enum endpoint_names endpoint_names;
    struct cluster clusters[NAMESPACES]; /* one per namespace */
    bool is_wanted;                      /* content of endpoints */
    bool by_slices;
    bool wants_pods;
    struct inventory *inventory;
    struct reverse *reverse;
    struct buf dirty; /* owner ids, each NUL-terminated */
    uint8_t changed_ips[ARRAY_LEN(ips)];
    struct named_owner owners[OWNERS_MAX]; /* every owner ever seen */
    size_t owner_count;
    struct owner_objects objects;
    struct desired desired;
    struct claims claims;
};

/* ---- Code under test ---- */

static void naming_model_mark_dirty(void *data, struct slice owner)
{
    struct world *w = data;
    buf_append_slice(&w->dirty, owner);
    buf_append_char(&w->dirty, '\0');
}

static struct named_owner *naming_model_owner_of(struct world *w, const char *id)
{
    for (size_t i = 0; i < w->owner_count; i++) {
        if (strcmp(w->owners[i].id, id) == 0) {
            return &w->owners[i];
        }
    }
    assert_in_range(w->owner_count, 0, OWNERS_MAX - 1);
    struct named_owner *owner = &w->owners[w->owner_count++];
    *owner = (struct named_owner){.id = xstrdup(id)};
    return owner;
}

static void naming_model_ignore_drop(void *data UNUSED, const struct naming_drop *drop UNUSED)
{
}

static void note_ip(void *data, const struct ip *ip)
{
    struct world *w = data;
    for (size_t i = 0; i < ARRAY_LEN(ips); i++) {
        struct ip other;
        if (ip_parse_sloppy(slice_str(ips[i].given), &other) &&
            claim_compare_ips(ip, &other) == 0) {
            w->changed_ips[i] = 1;
        }
    }
}

static void naming_model_name_owner(struct world *w, const char *id)
{
    struct named_owner *owner = naming_model_owner_of(w, id);
    struct naming_config config = {.domain = "cluster.local.",
                                   .ttl_s = 30,
                                   .endpoint_names = w->endpoint_names,
                                   .dropped = naming_model_ignore_drop};
    struct err err;
    inventory_get(w->inventory, slice_str(id), &w->objects);
    assert_int_equal(naming_build(&config, &w->objects, &w->desired, &w->claims, &err), 0);
    free_lines(&owner->lines);
    for (size_t i = 0; i < w->desired.count; i++) {
        struct desired_record record = desired_get(&w->desired, i);
        CLEANUP_FREE char *base = xasprintf("/skydns/local/cluster/%s", id);
        assert_true(slice_has_prefix(record.key, slice_str(base)));
        add_line(&owner->lines, xasprintf("%.*s %.*s\n", (int)record.key.len, record.key.ptr,
                                          (int)record.value.len, record.value.ptr));
    }
    reverse_set(w->reverse, slice_str(id), &w->claims, note_ip, w);
    struct slice label = slice_str(id);
    struct ip ip;
    if (slice_has_prefix(label, slice_str("pod/"))) {
        const char *name = strrchr(id, '/') + 1;
        if (naming_parse_pod_label(slice_str(name), &ip) && reverse_decide(w->reverse, &ip)) {
            note_ip(w, &ip);
        }
    }
}

static void name_dirty(struct world *w)
{
    for (size_t at = 0; at < w->dirty.len; at += strlen((char *)w->dirty.data + at) + 1) {
        naming_model_name_owner(w, (const char *)w->dirty.data + at);
    }
    buf_clear(&w->dirty);
}

static char *reverse_line(const struct world *w, size_t i)
{
    struct reverse_winner winner;
    struct ip ip;
    if (!ip_parse_sloppy(slice_str(ips[i].given), &ip) ||
        !reverse_winner(w->reverse, &ip, &winner)) {
        return xstrdup("");
    }
    CLEANUP_BUF struct buf key = buf_of(REVERSE_KEY_MAX);
    reverse_key(&ip, &key);
    char *host = xstrndup(winner.host.ptr, winner.host.len), *value = value_of(host, 0);
    char *line = xasprintf("%s %s\n", buf_cstr(&key), value);
    free(value);
    free(host);
    return line;
}

static void actual_lines(const struct world *w, struct lines *lines)
{
    for (size_t i = 0; i < w->owner_count; i++) {
        for (size_t j = 0; j < w->owners[i].lines.count; j++) {
            add_line(lines, xstrdup(w->owners[i].lines.items[j]));
        }
    }
    for (size_t i = 0; i < ARRAY_LEN(ips); i++) {
        char *line = reverse_line(w, i);
        if (*line) {
            add_line(lines, line);
        } else {
            free(line);
        }
    }
    qsort(lines->items, lines->count, sizeof(lines->items[0]), compare_lines);
}

/* The maximum number of objects of a kind in a namespace. */
static unsigned naming_model_count_of(enum kube_kind kind)
{
    return kind == KUBE_SLICE ? SLICES : kind == KUBE_POD ? PODS : SERVICES;
}

/* NULL if it does not exist. */
static struct kube_object *object_of(const struct world *w, enum kube_kind kind, unsigned ns,
                                     unsigned i)
{
    const struct cluster *c = &w->clusters[ns];
    switch (kind) {
    case KUBE_SERVICE:
        return c->services[i].type ? service_object(&c->services[i], ns, i) : NULL;
    case KUBE_ENDPOINTS:
        return c->has_endpoints[i] ? endpoints_object(c->endpoints[i], ns, i) : NULL;
    case KUBE_SLICE:
        return c->slices[i].exists ? slice_object(&c->slices[i], ns, i) : NULL;
    case KUBE_CONFIG_MAP:
    case KUBE_NODE:
    case KUBE_NAMESPACE:
    case KUBE_INGRESS:
    case KUBE_GATEWAY:
    case KUBE_ROUTE:
    case KUBE_IMPORT:
    case KUBE_IMPORT_SLICE:
        return NULL;
    case KUBE_POD:
        break;
    }
    return c->pods[i].exists ? pod_object(&c->pods[i], ns, i) : NULL;
}

/* ---- Steps ---- */

static void change_part(struct world *w, struct part *part)
{
    part->endpoint_count = (uint8_t)random_below(ADDRESSES_MAX + 1);
    for (unsigned i = 0; i < part->endpoint_count; i++) {
        part->endpoints[i] = (struct endpoint){
            .ip = (uint8_t)random_below(ARRAY_LEN(ips)),
            .hostname = (uint8_t)random_below(ARRAY_LEN(hostnames)),
            .pod = (uint8_t)random_below(ARRAY_LEN(pods)),
            .is_ready = random_below(4),
        };
    }
    part->port_count = (uint8_t)random_below(PORTS_MAX + 1);
    for (unsigned i = 0; i < part->port_count; i++) {
        part->ports[i] = (uint8_t)random_below(ARRAY_LEN(ports));
    }
}

static void change_service(struct world *w, struct service *service)
{
    service->type = (enum service_type)(1 + random_below(TYPES - 1));
    service->type = random_below(2) ? HEADLESS : service->type;
    service->takes_all = random_below(4) == 0;
    service->ip_count = (uint8_t)(1 + random_below(2));
    service->ips[0] = (uint8_t)random_below(ARRAY_LEN(ips));
    service->ips[1] = (uint8_t)random_below(ARRAY_LEN(ips));
    change_part(w, &service->part);
}

static void naming_model_change_pod(struct world *w, struct pod *pod)
{
    pod->exists = true;
    pod->has_ended = random_below(4) == 0;
    pod->ip_count = (uint8_t)random_below(POD_IPS_MAX + 1);
    pod->ips[0] = (uint8_t)random_below(ARRAY_LEN(ips));
    pod->ips[1] = (uint8_t)random_below(ARRAY_LEN(ips));
}

static void naming_model_change(struct world *w, enum kube_kind kind, unsigned ns, unsigned i)
{
    struct cluster *c = &w->clusters[ns];
    if (kind == KUBE_SERVICE) {
        change_service(w, &c->services[i]);
    } else if (kind == KUBE_ENDPOINTS) {
        c->has_endpoints[i] = true;
        change_part(w, &c->endpoints[i][0]);
        change_part(w, &c->endpoints[i][1]);
    } else if (kind == KUBE_SLICE) {
        c->slices[i].exists = true;
        c->slices[i].is_fqdn = random_below(8) == 0;
        c->slices[i].service = (uint8_t)random_below(SERVICES + 1);
        change_part(w, &c->slices[i].part);
    } else {
        naming_model_change_pod(w, &c->pods[i]);
    }
    inventory_upsert(w->inventory, object_of(w, kind, ns, i));
}

static void naming_model_vanish(struct world *w, enum kube_kind kind, unsigned ns, unsigned i)
{
    struct cluster *c = &w->clusters[ns];
    if (kind == KUBE_SERVICE) {
        c->services[i].type = NO_SERVICE;
    } else if (kind == KUBE_ENDPOINTS) {
        c->has_endpoints[i] = false;
    } else if (kind == KUBE_SLICE) {
        c->slices[i].exists = false;
    } else {
        c->pods[i].exists = false;
    }
}

static char *naming_model_name_of(enum kube_kind kind, unsigned i)
{
    return kind == KUBE_SLICE ? xasprintf("slice%u", i)
           : kind == KUBE_POD ? xasprintf("pod%u", i)
                              : xasprintf("s%u", i);
}

static void list_objects(struct world *w, enum kube_kind kind, unsigned ns_count)
{
    inventory_list_begin(w->inventory, kind);
    for (unsigned ns = 0; ns < ns_count; ns++) {
        for (unsigned i = 0; i < naming_model_count_of(kind); i++) {
            struct kube_object *object = object_of(w, kind, ns, i);
            if (object) {
                inventory_upsert(w->inventory, object);
            }
        }
    }
}

/* Some objects vanished unseen; the first attempt at the list is cut off. */
static void naming_model_relist(struct world *w, enum kube_kind kind)
{
    for (unsigned ns = 0; ns < NAMESPACES; ns++) {
        for (unsigned i = 0; i < naming_model_count_of(kind); i++) {
            if (random_below(4) == 0) {
                naming_model_vanish(w, kind, ns, i);
            }
        }
    }
    list_objects(w, kind, random_below(NAMESPACES + 1));
    list_objects(w, kind, NAMESPACES);
    inventory_list_end(w->inventory, kind);
}

static void naming_model_note_wanted(void *data, const char *ns UNUSED, const char *service UNUSED)
{
    struct world *w = data;
    w->is_wanted = true;
}

/* A Service became headless whose endpoints were not kept: they are listed beside the watch. */
static void fill_source(struct world *w)
{
    enum kube_kind kind = w->by_slices ? KUBE_SLICE : KUBE_ENDPOINTS;
    w->is_wanted = false;
    for (unsigned ns = 0; ns < NAMESPACES; ns++) {
        for (unsigned i = 0; i < naming_model_count_of(kind); i++) {
            struct kube_object *object = object_of(w, kind, ns, i);
            if (object) {
                inventory_fill(w->inventory, object);
            }
        }
    }
}

static void change_source(struct world *w)
{
    bool by_slices = !w->by_slices;
    enum kube_kind kind = by_slices ? KUBE_SLICE : KUBE_ENDPOINTS;
    inventory_use_endpoints(w->inventory, kind);
    if (random_below(2)) { /* the list is cut off, and the change undone meanwhile */
        list_objects(w, kind, 1);
        inventory_use_endpoints(w->inventory, by_slices ? KUBE_ENDPOINTS : KUBE_SLICE);
        inventory_use_endpoints(w->inventory, kind);
    }
    list_objects(w, kind, NAMESPACES);
    name_dirty(w); /* the old source still counts */
    inventory_list_end(w->inventory, kind);
    w->by_slices = by_slices;
}

static void toggle_pods(struct world *w)
{
    w->wants_pods = !w->wants_pods;
    inventory_want(w->inventory, KUBE_POD, w->wants_pods);
    list_objects(w, KUBE_POD, NAMESPACES);
    inventory_list_end(w->inventory, KUBE_POD);
}

/* Objects understood before keep their content; one that never was is removed again. */
static void naming_model_garble(struct world *w, enum kube_kind kind, unsigned ns, unsigned i)
{
    CLEANUP_FREE char *own = naming_model_name_of(kind, i);
    struct kube_object *object = object_of(w, kind, ns, i);
    inventory_upsert(w->inventory, garbled_from(kind, ns_name(ns), own, "s0"));
    if (!object) {
        inventory_remove(w->inventory, kind, ns_name(ns), own);
    }
    kube_object_free(object);
}

static void naming_model_take_step(struct world *w)
{
    enum kube_kind kind = (enum kube_kind)random_below(KUBE_POD + 1);
    unsigned ns = random_below(NAMESPACES), i = random_below(naming_model_count_of(kind));
    CLEANUP_FREE char *name = naming_model_name_of(kind, i);
    switch (random_below(24)) {
    case 0:
        naming_model_relist(w, kind);
        break;
    case 1:
        naming_model_garble(w, kind, ns, i);
        break;
    case 2:
        change_source(w);
        break;
    case 3:
        toggle_pods(w);
        break;
    case 4:
    case 5:
    case 6:
    case 7:
        naming_model_vanish(w, kind, ns, i);
        inventory_remove(w->inventory, kind, ns_name(ns), name);
        break;
    default:
        naming_model_change(w, kind, ns, i);
        break;
    }
}

/* ---- Checks ---- */

static void naming_model_fail_with(const struct lines *got, const struct lines *want, unsigned step)
{
    size_t i = 0;
    while (i < got->count && i < want->count && strcmp(got->items[i], want->items[i]) == 0) {
        i++;
    }
    fail_msg("step %u, line %zu:\ngot  %swant %s", step, i,
             i < got->count ? got->items[i] : "nothing\n",
             i < want->count ? want->items[i] : "nothing\n");
}

static char *naming_model_line_of(unsigned ip, const char *host)
{
    CLEANUP_FREE char *value = value_of(host, 0);
    return xasprintf("/skydns/arpa/%s %s\n", ips[ip].arpa, value);
}

static bool is_wished(const struct wishes *wishes, unsigned ip, unsigned ns, const char *line)
{
    bool is = false;
    for (size_t i = 0; i < wishes->hosts[ip][ns].count && !is; i++) {
        CLEANUP_FREE char *other = naming_model_line_of(ip, wishes->hosts[ip][ns].items[i]);
        is = strcmp(other, line) == 0;
    }
    return is;
}

/* Returns the namespace whose name the address must have, of those that claim it and may have it:
 * that of the claim that had it before, if it still exists. If it does not, another one may have
 * won during the step, and any of them is right: now's. */
static unsigned winning_namespace(const struct wishes *wishes, unsigned ip, const bool *may,
                                  const char *before, const char *now)
{
    unsigned winner = NAMESPACES;
    for (unsigned ns = 0; ns < NAMESPACES; ns++) {
        const char *host = may[ns] ? wishes->best[ip][ns].host : NULL;
        CLEANUP_FREE char *line = host ? naming_model_line_of(ip, host) : NULL;
        if (line && (winner == NAMESPACES || strcmp(line, now) == 0)) {
            winner = ns;
        }
    }
    for (unsigned ns = 0; ns < NAMESPACES; ns++) {
        winner = may[ns] && is_wished(wishes, ip, ns, before) ? ns : winner;
    }
    return winner;
}

static const char *expected_host(const struct world *w, const struct wishes *wishes, unsigned ip,
                                 const char *before)
{
    bool may[NAMESPACES], is_pods = false;
    for (unsigned ns = 0; ns < NAMESPACES && w->wants_pods; ns++) {
        is_pods |= has_pod(&w->clusters[ns], ip);
    }
    for (unsigned ns = 0; ns < NAMESPACES; ns++) {
        may[ns] = !is_pods || has_pod(&w->clusters[ns], ip);
    }
    if (wishes->allocated[ip].host) {
        return wishes->allocated[ip].host;
    }
    CLEANUP_FREE char *now = reverse_line(w, ip);
    unsigned ns = winning_namespace(wishes, ip, may, before, now);
    return ns < NAMESPACES ? wishes->best[ip][ns].host : NULL;
}

static void expected_lines(const struct world *w, char *const before[], struct lines *lines)
{
    struct wishes *wishes = xcalloc(1, sizeof(*wishes));
    for (unsigned ns = 0; ns < NAMESPACES; ns++) {
        wishes->ns = ns;
        for (unsigned i = 0; i < SERVICES; i++) {
            expect_service(lines, wishes, w->endpoint_names, &w->clusters[ns], w->by_slices, ns, i);
        }
        if (w->wants_pods) {
            expect_pods(lines, &w->clusters[ns], ns);
        }
    }
    for (unsigned i = 0; i < ARRAY_LEN(ips); i++) {
        const char *host = expected_host(w, wishes, i, before[i]);
        if (host) {
            expect(lines, xasprintf("arpa/%s", ips[i].arpa), host, 0);
        }
    }
    free_wishes(wishes);
    sort_lines(lines);
}

/* before: the reverse keys before the step; those not reported as changed must be the same. */
static void naming_model_check(struct world *w, char *const before[], unsigned step)
{
    struct lines got = {.count = 0}, want = {.count = 0};
    expected_lines(w, before, &want);
    actual_lines(w, &got);
    bool is_equal = got.count == want.count;
    for (size_t i = 0; i < got.count && is_equal; i++) {
        is_equal = strcmp(got.items[i], want.items[i]) == 0;
    }
    if (!is_equal) {
        naming_model_fail_with(&got, &want, step);
    }
    for (size_t i = 0; i < ARRAY_LEN(ips); i++) {
        CLEANUP_FREE char *now = reverse_line(w, i);
        assert_true(w->changed_ips[i] || strcmp(before[i], now) == 0);
    }
    free_lines(&got);
    free_lines(&want);
}

static void naming_model_run(uint32_t seed, enum endpoint_names endpoint_names)
{
    struct world *w = xcalloc(1, sizeof(*w));
    random_state = seed;
    w->endpoint_names = endpoint_names;
    kube_object_keep((struct kube_kept){.pods = endpoint_names == ENDPOINT_NAMES_POD});
    w->wants_pods = true;
    w->inventory = inventory_new(&(struct inventory_config){
        .is_narrowed = true,
        .changed = naming_model_mark_dirty,
        .parts_wanted = naming_model_note_wanted,
        .data = w,
    });
    w->reverse = reverse_new(&(struct reverse_config){.inventory = w->inventory});
    buf_init(&w->dirty, 1 << 20);
    owner_objects_init(&w->objects);
    desired_init(&w->desired);
    claims_init(&w->claims);
    for (unsigned step = 0; step < STEPS; step++) {
        char *before[ARRAY_LEN(ips)];
        for (size_t i = 0; i < ARRAY_LEN(ips); i++) {
            before[i] = reverse_line(w, i);
        }
        memset(w->changed_ips, 0, sizeof(w->changed_ips));
        naming_model_take_step(w);
        if (w->is_wanted) {
            fill_source(w);
        }
        name_dirty(w);
        naming_model_check(w, before, step);
        for (size_t i = 0; i < ARRAY_LEN(ips); i++) {
            free(before[i]);
        }
    }
    for (size_t i = 0; i < w->owner_count; i++) {
        free_lines(&w->owners[i].lines);
        free(w->owners[i].id);
    }
    desired_fini(&w->desired);
    claims_fini(&w->claims);
    owner_objects_fini(&w->objects);
    buf_fini(&w->dirty);
    reverse_free(w->reverse);
    inventory_free(w->inventory);
    free(w);
}

UNIT_TEST(test_random_sequences)
{
    naming_model_run(20260301, ENDPOINT_NAMES_HASH);
    naming_model_run(7, ENDPOINT_NAMES_ADDRESS);
    naming_model_run(8, ENDPOINT_NAMES_POD);
}
