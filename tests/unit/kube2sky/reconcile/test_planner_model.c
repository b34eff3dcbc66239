/* inventory, naming, owners and plan together against a naive model: random sequences of object
 * events, relists and foreign keys, with the plans of the owners reported dirty applied to a store
 * at once. After each step the store must hold what the model computes from the existing objects
 * alone. The plans together must be no larger than the difference, and planning everything again
 * must find nothing to do. */
#include "tests/unit/kube2sky/objects.h"

#include "common/base/buf.h"
#include "common/dns/dname.h"
#include "common/dns/record_json.h"
#include "common/etcd/etcd_kv.h"
#include "kube2sky/naming/inventory.h"
#include "kube2sky/reconcile/owners_internal.h"
#include "kube2sky/reconcile/ownership_internal.h"
#include "kube2sky/reconcile/planner_internal.h"
#include "tests/support/random_numbers.h"
#include "tests/support/unit_test.h"
#include "tests/unit/kube2sky/reconcile/planner_whole.h"

#define PREFIX "/skydns/local/cluster/"

enum { NAMES = 6, CLUSTER_IPS = 8, ENDPOINTS = 8, STEPS = 4000, KEYS_MAX = 256 };

/* One name's objects in the cluster. */
struct model {
    bool has_service;
    uint8_t ip; /* 10.0.0.<ip>; 0 = headless */
    uint16_t port;
    bool has_endpoints;
    uint8_t ready; /* one bit each for 10.1.0.0 to 10.1.0.7 */
    bool is_named; /* endpoints have the hostnames e0 to e3, two addresses each */
};

struct world {
    struct model models[NAMES];
    struct inventory *inventory;
    bool is_wanted; /* content of endpoints */
    uint8_t others; /* one bit for each reverse key of 10.1.0.x that another cluster owns */
    struct ownership ownership;
    struct owners *owners;
    struct reverse_keys *reverse_keys;
    struct planner planner;
    struct buf dirty; /* owner ids, each NUL-terminated */
    struct buf store; /* sorted "key value\n" */
};

/* ---- The store according to the model ---- */

struct lines {
    char *items[KEYS_MAX];
    size_t count;
};

static int planner_model_compare_lines(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void planner_model_add_line(struct lines *lines, char *line)
{
    assert_in_range(lines->count, 0, KEYS_MAX - 1);
    lines->items[lines->count++] = line;
}

static char *planner_model_value_of(const char *host, unsigned port)
{
    CLEANUP_FREE char *with_port = port ? xasprintf(",\"port\":%u", port) : xstrdup("");
    char *value =
        xasprintf("{\"host\":\"%s\"%s,\"priority\":10,\"weight\":10,\"ttl\":30,\"targetstrip\":0}",
                  host, with_port);
    return value;
}

/* PREFIX svc/ns/n<name>/<below> = a record. */
static void planner_model_expect(struct lines *lines, unsigned name, const char *below,
                                 const char *host, unsigned port)
{
    CLEANUP_FREE char *value = planner_model_value_of(host, port);
    planner_model_add_line(lines, xasprintf(PREFIX "svc/ns/n%u/%s %s\n", name, below, value));
}

static void expect_cluster_ip(struct lines *lines, unsigned name, const struct model *m)
{
    char label[9];
    char *ip = xasprintf("10.0.0.%u", m->ip), *value = planner_model_value_of(ip, 0);
    record_label(slice_str(value), label);
    CLEANUP_FREE char *below = xasprintf("_tcp/_http/%s", label);
    CLEANUP_FREE char *host = xasprintf("n%u.ns.svc.cluster.local.", name);
    planner_model_expect(lines, name, label, ip, 0);
    if (m->port) {
        planner_model_expect(lines, name, below, host, m->port);
    }
    free(value);
    free(ip);
}

static void expect_endpoint(struct lines *lines, unsigned name, const struct model *m, unsigned i)
{
    char hash[9];
    char *ip = xasprintf("10.1.0.%u", i), *value = planner_model_value_of(ip, 0);
    record_label(slice_str(value), hash);
    bool is_shared = m->is_named && m->ready >> (i ^ 1) & 1;
    bool is_first = !is_shared || i % 2 == 0;
    CLEANUP_FREE char *label = m->is_named ? xasprintf("e%u", i / 2) : xstrdup(hash);
    CLEANUP_FREE char *own = is_shared ? xasprintf("%s/%s", label, hash) : xstrdup(label);
    CLEANUP_FREE char *below = xasprintf("_tcp/_http/%s", label);
    CLEANUP_FREE char *host = xasprintf("%s.n%u.ns.svc.cluster.local.", label, name);
    planner_model_expect(lines, name, own, ip, 0);
    if (is_first && m->port) {
        planner_model_expect(lines, name, below, host, m->port);
    }
    free(value);
    free(ip);
}

/* The best of the names claimed for one address, by rank, then in byte order. */
struct best {
    char *host; /* NULL: none */
    unsigned rank;
};

static void planner_model_claim(struct best *best, unsigned rank, char *host)
{
    bool is_better =
        !best->host || rank < best->rank || (rank == best->rank && strcmp(host, best->host) < 0);
    free(is_better ? best->host : host);
    if (is_better) {
        *best = (struct best){host, rank};
    }
}

static void claim_endpoint(struct best *best, unsigned name, const struct model *m, unsigned i)
{
    char hash[9];
    char *ip = xasprintf("10.1.0.%u", i), *value = planner_model_value_of(ip, 0);
    record_label(slice_str(value), hash);
    CLEANUP_FREE char *label = m->is_named ? xasprintf("e%u", i / 2) : xstrdup(hash);
    planner_model_claim(best, m->is_named ? 1 : 2,
                        xasprintf("%s.n%u.ns.svc.cluster.local.", label, name));
    free(value);
    free(ip);
}

#define EXTERNAL_HOST "other.cluster."

static void add_reverse_line(struct lines *lines, const char *below, unsigned number,
                             struct best *best)
{
    if (best->host) {
        CLEANUP_FREE char *value = planner_model_value_of(best->host, 0);
        planner_model_add_line(
            lines, xasprintf("/skydns/arpa/in-addr/10/%s/0/%u %s\n", below, number, value));
        free(best->host);
    }
}

static void expect_reverse(const struct world *w, struct lines *lines)
{
    for (unsigned ip = 1; ip <= CLUSTER_IPS; ip++) {
        struct best best = {.host = NULL};
        for (unsigned name = 0; name < NAMES; name++) {
            if (w->models[name].has_service && w->models[name].ip == ip) {
                planner_model_claim(&best, 0, xasprintf("n%u.ns.svc.cluster.local.", name));
            }
        }
        add_reverse_line(lines, "0", ip, &best);
    }
    for (unsigned i = 0; i < ENDPOINTS; i++) {
        struct best best = {.host = NULL};
        for (unsigned name = 0; name < NAMES; name++) {
            const struct model *m = &w->models[name];
            if (m->has_service && !m->ip && m->has_endpoints && m->ready >> i & 1) {
                claim_endpoint(&best, name, m, i);
            }
        }
        if (w->others >> i & 1) {
            free(best.host);
            best.host = xstrdup(EXTERNAL_HOST);
        }
        add_reverse_line(lines, "1", i, &best);
    }
}

static char *expected_store(const struct world *w)
{
    struct lines lines = {.count = 0};
    expect_reverse(w, &lines);
    for (unsigned name = 0; name < NAMES; name++) {
        const struct model *m = &w->models[name];
        if (m->has_service && m->ip) {
            expect_cluster_ip(&lines, name, m);
        }
        for (unsigned i = 0; i < 8; i++) {
            if (m->has_service && !m->ip && m->has_endpoints && m->ready >> i & 1) {
                expect_endpoint(&lines, name, m, i);
            }
        }
    }
    qsort(lines.items, lines.count, sizeof(lines.items[0]), planner_model_compare_lines);
    CLEANUP_BUF struct buf text = buf_of(1 << 20);
    for (size_t i = 0; i < lines.count; i++) {
        buf_append_str(&text, lines.items[i]);
        free(lines.items[i]);
    }
    return xstrdup(buf_cstr(&text));
}

/* ---- The store, and the code under test ---- */

/* The key's line and the start of the next one; the insertion point if the key is missing. */
static size_t find_line(const struct buf *store, struct slice key, size_t *ret_end)
{
    size_t at = 0;
    while (at < store->len) {
        const char *line = (const char *)store->data + at;
        size_t len = (size_t)((const char *)memchr(line, '\n', store->len - at) - line) + 1;
        size_t key_len = (size_t)((const char *)memchr(line, ' ', len) - line);
        int d = slice_compare(slice_of(line, key_len), key);
        if (d >= 0) {
            *ret_end = d == 0 ? at + len : at;
            return at;
        }
        at += len;
    }
    *ret_end = at;
    return at;
}

/* Replaces the key's line; value.ptr NULL removes it. */
static void change_line(struct buf *store, struct slice key, struct slice value)
{
    struct buf changed;
    size_t end, at = find_line(store, key, &end);
    buf_init(&changed, store->limit);
    buf_append(&changed, store->data, at);
    if (value.ptr) {
        buf_append_slice(&changed, key);
        buf_append_char(&changed, ' ');
        buf_append_slice(&changed, value);
        buf_append_char(&changed, '\n');
    }
    if (store->len > end) {
        buf_append(&changed, store->data + end, store->len - end);
    }
    buf_fini(store);
    *store = changed;
}

static void store_put(struct world *w, struct slice key, struct slice value)
{
    change_line(&w->store, key, value);
    if (ownership_place(&w->ownership, key) == KEY_OBJECT) {
        (void)owners_key_put(w->owners, &(struct etcd_kv){.key = key, .value = value}, 1);
        return;
    }
    const struct actual_value there = {
        .hash = actual_value_hash(value),
        .generation = 1,
        .is_ours = ownership_has(&w->ownership, KEY_REVERSE, key, value),
    };
    CLEANUP_BUF struct buf owner_object = buf_of(DNAME_MAX);
    ownership_owner_object(&w->ownership, value, &owner_object);
    (void)reverse_keys_put(w->reverse_keys, key, &there, buf_slice(&owner_object));
}

static void store_delete(struct world *w, struct slice key)
{
    change_line(&w->store, key, slice_of(NULL, 0));
    if (ownership_place(&w->ownership, key) == KEY_OBJECT) {
        (void)owners_key_delete(w->owners, key);
    } else {
        (void)reverse_keys_delete(w->reverse_keys, key);
    }
}

static void planner_model_mark_dirty(void *data, struct slice owner)
{
    struct world *w = data;
    buf_append_slice(&w->dirty, owner);
    buf_append_char(&w->dirty, '\0');
}

static size_t apply_owner(struct world *w, const char *id)
{
    struct owner *owner = owners_get(w->owners, slice_str(id));
    struct plan plan;
    plan_init(&plan);
    struct planned planned = plan_owner_whole(&w->planner, owner, &plan);
    assert_false(planned.is_withheld || planned.other);
    owner->desired_count = planned.desired_count;
    owners_free_touched(owner); /* all of it is done */
    for (size_t i = 0; i < plan.op_count; i++) {
        struct etcd_op op = plan_get(&plan, i);
        if (op.kind == ETCD_OP_PUT) {
            store_put(w, op.key, op.value);
        } else {
            store_delete(w, op.key);
        }
    }
    size_t done = plan.op_count;
    plan_fini(&plan);
    owners_forget_if_empty(w->owners, owner);
    return done;
}

/* Returns the number of operations. */
static size_t planner_model_apply_dirty(struct world *w)
{
    size_t done = 0;
    for (size_t at = 0; at < w->dirty.len; at += strlen((char *)w->dirty.data + at) + 1) {
        const char *id = (const char *)w->dirty.data + at;
        (void)claim_whole(&w->planner, owners_get(w->owners, slice_str(id)));
    }
    for (size_t at = 0; at < w->dirty.len; at += strlen((char *)w->dirty.data + at) + 1) {
        done += apply_owner(w, (const char *)w->dirty.data + at);
    }
    buf_clear(&w->dirty);
    return done;
}

/* ---- Steps ---- */

static struct kube_object *planner_model_service_of(const struct world *w, unsigned number)
{
    const struct model *m = &w->models[number];
    CLEANUP_FREE char *ip = m->ip ? xasprintf("10.0.0.%u", m->ip) : xstrdup("None");
    CLEANUP_FREE char *port =
        m->port ? xasprintf(",'ports':[{'name':'http','port':%u,'protocol':'TCP'}]", m->port)
                : xstrdup("");
    char *spec = xasprintf("'clusterIP':'%s'%s", ip, port), *name = xasprintf("n%u", number);
    struct kube_object *object = service_from("ns", name, spec);
    free(name);
    free(spec);
    return object;
}

static struct kube_object *endpoints_of(const struct world *w, unsigned number)
{
    const struct model *m = &w->models[number];
    CLEANUP_BUF struct buf ready = buf_of(4096);
    CLEANUP_BUF struct buf not_ready = buf_of(4096);
    for (unsigned i = 0; i < 8; i++) {
        struct buf *list = m->ready >> i & 1 ? &ready : &not_ready;
        buf_printf(list, "%s{'ip':'10.1.0.%u'", list->len ? "," : "", i);
        if (m->is_named) {
            buf_printf(list, ",'hostname':'e%u'", i / 2);
        }
        buf_append_char(list, '}');
    }
    CLEANUP_FREE char *ports =
        m->port ? xasprintf("{'name':'http','port':%u,'protocol':'TCP'}", m->port) : xstrdup("");
    CLEANUP_FREE char *subset =
        xasprintf("{'addresses':[%s],'notReadyAddresses':[%s],'ports':[%s]}", buf_cstr(&ready),
                  buf_cstr(&not_ready), ports);
    CLEANUP_FREE char *name = xasprintf("n%u", number);
    return endpoints_from("ns", name, subset);
}

/* The service's port and its endpoints' are one number here, so both are reported. */
static void planner_model_report(struct world *w, unsigned number)
{
    const struct model *m = &w->models[number];
    if (m->has_service) {
        inventory_upsert(w->inventory, planner_model_service_of(w, number));
    }
    if (m->has_endpoints) {
        inventory_upsert(w->inventory, endpoints_of(w, number));
    }
}

static void planner_model_note_wanted(void *data, const char *ns UNUSED, const char *service UNUSED)
{
    struct world *w = data;
    w->is_wanted = true;
}

/* A Service became headless whose endpoints were not kept: they are listed beside the watch. */
static void fill_endpoints_if_wanted(struct world *w)
{
    for (unsigned i = 0; w->is_wanted && i < NAMES; i++) {
        if (w->models[i].has_endpoints) {
            inventory_fill(w->inventory, endpoints_of(w, i));
        }
    }
    w->is_wanted = false;
}

static void change_object(struct world *w, unsigned number)
{
    struct model *m = &w->models[number];
    m->has_service = true;
    m->ip = (uint8_t)(random_below(3) ? 0 : 1 + random_below(CLUSTER_IPS));
    m->port = (uint16_t)(random_below(4) ? 1 + random_below(3) : 0);
    m->has_endpoints = m->has_endpoints || random_below(2);
    m->ready = (uint8_t)random_below(256);
    m->is_named = random_below(2);
    planner_model_report(w, number);
}

static void remove_object(struct world *w, unsigned number)
{
    struct model *m = &w->models[number];
    CLEANUP_FREE char *name = xasprintf("n%u", number);
    if (random_below(2)) {
        m->has_service = false;
        inventory_remove(w->inventory, KUBE_SERVICE, "ns", name);
    } else {
        m->has_endpoints = false;
        inventory_remove(w->inventory, KUBE_ENDPOINTS, "ns", name);
    }
}

/* Relists both kinds, the first attempt at each cut off; some objects vanished unseen. */
static void planner_model_relist(struct world *w)
{
    for (unsigned i = 0; i < NAMES; i++) {
        w->models[i].has_service = w->models[i].has_service && random_below(4);
        w->models[i].has_endpoints = w->models[i].has_endpoints && random_below(4);
    }
    for (unsigned attempt = 0; attempt < 2; attempt++) {
        inventory_list_begin(w->inventory, KUBE_SERVICE);
        inventory_list_begin(w->inventory, KUBE_ENDPOINTS);
        unsigned last = attempt ? NAMES : random_below(NAMES);
        for (unsigned i = 0; i < last; i++) {
            planner_model_report(w, i);
        }
    }
    inventory_upsert(w->inventory, service_from("default", "kubernetes", ""));
    inventory_list_end(w->inventory, KUBE_SERVICE);
    inventory_list_end(w->inventory, KUBE_ENDPOINTS);
}

/* Another writer puts a key below an owner, or deletes one. */
static void planner_model_meddle(struct world *w, unsigned number)
{
    CLEANUP_FREE char *id = xasprintf("svc/ns/n%u", number);
    CLEANUP_FREE char *key = xasprintf(PREFIX "%s/c88f1059", id);
    if (random_below(2)) {
        store_put(w, slice_str(key), slice_str("{}"));
    } else {
        store_delete(w, slice_str(key));
    }
    planner_model_mark_dirty(w, slice_str(id));
}

static void mark_reverse_dirty(struct world *w, const char *key)
{
    struct slice owner = planner_reverse_owner(&w->planner, slice_str(key));
    planner_model_mark_dirty(w, owner.len ? owner : slice_str(key + strlen("/skydns/")));
}

/* Another cluster takes a reverse key or gives it up; or another writer spoils or deletes one, or
 * puts one that looks like ours. */
static void meddle_with_reverse(struct world *w)
{
    unsigned number = random_below(ENDPOINTS);
    CLEANUP_FREE char *key = xasprintf("/skydns/arpa/in-addr/10/1/0/%u", number);
    char *value = NULL;
    switch (random_below(3)) {
    case 0:
        w->others |= (uint8_t)(1u << number);
        value = planner_model_value_of(EXTERNAL_HOST, 0);
        break;
    case 1:
        w->others &= (uint8_t) ~(1u << number);
        value = planner_model_value_of("spoiled.ns.svc.cluster.local.", 0);
        break;
    default:
        w->others &= (uint8_t) ~(1u << number);
        break;
    }
    if (value) {
        store_put(w, slice_str(key), slice_str(value));
    } else {
        store_delete(w, slice_str(key));
    }
    mark_reverse_dirty(w, key);
    free(value);
}

static size_t count_missing(const char *from, const char *in)
{
    size_t missing = 0;
    while (*from) {
        size_t n = strcspn(from, "\n") + 1;
        CLEANUP_FREE char *line = xstrndup(from, n);
        missing += strstr(in, line) == NULL;
        from += n;
    }
    return missing;
}

/* The number of keys that differ or are only in one: one per new line, and one per removed line
 * unless its key is in a new line. */
static size_t planner_model_difference(const char *before, const char *want)
{
    size_t puts = count_missing(want, before), gone = 0;
    while (*before) {
        size_t n = strcspn(before, " ") + 1;
        CLEANUP_FREE char *key = xstrndup(before, n);
        const char *there = strstr(want, key);
        gone += there == NULL || (there != want && there[-1] != '\n');
        before += strcspn(before, "\n") + 1;
    }
    return puts + gone;
}

static void planner_model_check(struct world *w, unsigned step)
{
    CLEANUP_FREE char *want = expected_store(w);
    assert_that(strcmp(buf_cstr(&w->store), want) == 0, "step %u: got\n%swant\n%s", step,
                buf_cstr(&w->store), want);
    for (unsigned i = 0; i < NAMES; i++) {
        CLEANUP_FREE char *id = xasprintf("svc/ns/n%u", i);
        assert_int_equal(apply_owner(w, id), 0);
    }
}

static void planner_model_init(struct world *w)
{
    buf_init(&w->dirty, 1 << 20);
    buf_init(&w->store, 1 << 20);
    w->inventory = inventory_new(&(struct inventory_config){
        .changed = planner_model_mark_dirty, .parts_wanted = planner_model_note_wanted, .data = w});
    inventory_want(w->inventory, KUBE_POD, false);
    ownership_init(&w->ownership, &(struct ownership_config){.domain = "cluster.local."});
    w->owners = owners_new(&w->ownership);
    w->reverse_keys = reverse_keys_new();
    planner_init(&w->planner, &(struct planner_config){
                                  .inventory = w->inventory,
                                  .owners = w->owners,
                                  .reverse_keys = w->reverse_keys,
                                  .domain = "cluster.local.",
                                  .ttl_s = 30,
                                  .has_reverse = true,
                              });
}

/* False: the objects were relisted. Then an address may move from one owner to another via none,
 * since their plans are made in sequence. */
static bool planner_model_take_step(struct world *w)
{
    unsigned number = random_below(NAMES);
    switch (random_below(12)) {
    case 0:
        planner_model_relist(w);
        return false;
    case 1:
    case 2:
        planner_model_meddle(w, number);
        break;
    case 3:
    case 4:
        remove_object(w, number);
        break;
    case 5:
    case 6:
        meddle_with_reverse(w);
        break;
    default:
        change_object(w, number);
        break;
    }
    return true;
}

UNIT_TEST(test_random_sequences)
{
    struct world w = {0};
    random_state = 20250114;
    planner_model_init(&w);
    planner_model_relist(&w);
    fill_endpoints_if_wanted(&w);
    (void)planner_model_apply_dirty(&w);
    for (unsigned step = 0; step < STEPS; step++) {
        bool is_single = planner_model_take_step(&w);
        fill_endpoints_if_wanted(&w);
        CLEANUP_FREE char *want = expected_store(&w);
        size_t most = planner_model_difference(buf_cstr(&w.store), want);
        size_t done = planner_model_apply_dirty(&w);
        assert_that(!is_single || done <= most, "step %u: %zu operations for %zu differences", step,
                    done, most);
        planner_model_check(&w, step);
    }
    assert_int_equal(w.planner.dropped, 0);
    planner_fini(&w.planner);
    reverse_keys_free(w.reverse_keys);
    owners_free(w.owners);
    ownership_fini(&w.ownership);
    inventory_free(w.inventory);
    buf_fini(&w.dirty);
    buf_fini(&w.store);
}
