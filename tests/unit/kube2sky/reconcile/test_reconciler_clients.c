/* The keys about clients, of a reconciler on a real etcd: at no revision has etcd the key of a
 * pod on the host network without its node address; and others who write there, keys that etcd
 * refuses, crashes. */
#include "tests/unit/kube2sky/reconcile/reconciler_bed.h"

#include "common/etcd/etcd_store_id.h"
#include "kube2sky/naming/client_keys.h"
#include "kube2sky/reconcile/conflict_internal.h"
#include "tests/support/unit_test.h"

#define HOST(a) "{\"host\":\"" a "\"}"

/* ---- Objects, passed on like by kube_source ---- */

static void start_keys(struct fixture *f, bool nodes, bool visible)
{
    client_keys_free(f->client_keys);
    f->client_keys = client_keys_new(&(struct client_keys_config){
        .domain = f->domain,
        .is_wanted = {nodes, visible},
    });
    inventory_want(f->inventory, KUBE_POD, nodes);
}

static void reconciler_clients_put_pod(struct fixture *f, const char *ns, const char *name,
                                       bool is_on_host, const char *ip)
{
    CLEANUP_FREE char *status = xasprintf("'phase':'Running','podIP':'%s'", ip);
    struct kube_object *pod = pod_from(ns, name, status);
    pod->pod.is_on_host_network = is_on_host;
    client_keys_upsert(f->client_keys, pod);
    inventory_upsert(f->inventory, pod);
}

static void reconciler_clients_remove_pod(struct fixture *f, const char *ns, const char *name)
{
    client_keys_remove(f->client_keys, KUBE_POD, ns, name);
    inventory_remove(f->inventory, KUBE_POD, ns, name);
}

static void begin_pods(struct fixture *f)
{
    client_keys_list_begin(f->client_keys, KUBE_POD, "");
    inventory_list_begin(f->inventory, KUBE_POD);
}

static void end_pods(struct fixture *f)
{
    client_keys_list_end(f->client_keys, KUBE_POD, "");
    inventory_list_end(f->inventory, KUBE_POD);
}

/* One pod that is never of interest, so that lists of pods are believed. */
static void reconciler_clients_list_pods(struct fixture *f)
{
    begin_pods(f);
    reconciler_clients_put_pod(f, "other", "p", false, "10.9.9.9");
    end_pods(f);
}

static void reconciler_clients_put_namespace(struct fixture *f, const char *name,
                                             const char *visible_to)
{
    const struct kube_object object = {
        .kind = KUBE_NAMESPACE,
        .ns = "",
        .name = name,
        .faults = "",
        .ns_object = {.visible_to = visible_to},
    };
    client_keys_upsert(f->client_keys, &object);
}

static void reconciler_clients_list_namespaces(struct fixture *f)
{
    client_keys_list_begin(f->client_keys, KUBE_NAMESPACE, "");
    reconciler_clients_put_namespace(f, "default", NULL);
    client_keys_list_end(f->client_keys, KUBE_NAMESPACE, "");
}

/* ---- etcd ---- */

/* The tree "/kube2sky/t7/" of "/skydns/t7/": both have the domain's label behind the slash. */
static char *writer_tree(const struct fixture *f)
{
    return etcd_writer_key(slice_str(f->domain), "");
}

/* Both are between the two folders. */
static void reconciler_clients_leave_out(struct tree *tree, const char *key)
{
    char *line = strstr(buf_cstr(&tree->text), key);
    if (line) {
        char *end = strchr(line, '\n') + 1;
        size_t rest = strlen(end);
        memmove(line, end, rest + 1);
        tree->text.len = (size_t)(line - (char *)tree->text.data) + rest;
    }
}

/* The content of that tree at a revision without the store key and the base of serials; "key
 * value\n". */
static void read_beside(struct fixture *f, int64_t revision, struct tree *ret_tree)
{
    char *skydns_tree = f->tree;
    f->tree = writer_tree(f);
    read_tree(f, revision, ret_tree);
    free(f->tree);
    f->tree = skydns_tree;
    reconciler_clients_leave_out(ret_tree, "store ");
    reconciler_clients_leave_out(ret_tree, "serial ");
}

static void assert_beside(struct fixture *f, const char *want)
{
    struct tree tree;
    read_beside(f, 0, &tree);
    assert_string_equal(buf_cstr(&tree.text), want);
    buf_fini(&tree.text);
}

static int64_t put_beside(struct fixture *f, const char *below, const char *value)
{
    CLEANUP_FREE char *key = etcd_writer_key(slice_str(f->domain), below);
    return sync_put(f->loop, f->etcd, key, slice_str(value));
}

static void del_beside(struct fixture *f, const char *below)
{
    CLEANUP_FREE char *key = etcd_writer_key(slice_str(f->domain), below);
    sync_del(f->loop, f->etcd, key);
}

/* ---- Waiting ---- */

struct client_preview {
    const struct fixture *f;
    struct buf lines;
};

static void add_preview(void *data, struct slice owner)
{
    struct client_preview *preview = data;
    if (slice_has_prefix(owner, slice_str("node-address/")) ||
        slice_has_prefix(owner, slice_str("visible/"))) {
        reconciler_preview(preview->f->reconciler, owner, &preview->lines);
    }
}

/* Returns the planned operations on keys about clients; buf_fini it. */
static struct buf preview_clients(const struct fixture *f)
{
    struct client_preview preview = {.f = f};
    struct unsettled_place place = {0};
    buf_init(&preview.lines, 1 << 24);
    while (reconciler_each_unsettled(f->reconciler, &place, add_preview, &preview) !=
           UNSETTLED_LAST) {
    }
    return preview.lines;
}

/* Returns whether all that is left waits for something else. */
static bool reconciler_clients_is_in_order(const void *data)
{
    const struct fixture *f = data;
    bool is_settled = true;
    struct buf lines = preview_clients(f);
    for (size_t i = 0; i + 1 < lines.len; i++) {
        bool begins = i == 0 || lines.data[i - 1] == '\n';
        is_settled = is_settled && !(begins && lines.data[i] != '?');
    }
    buf_fini(&lines);
    return is_settled && has_synced(f) && is_idle(f);
}

static void reconciler_clients_settle(struct fixture *f)
{
    loop_until(f->loop, reconciler_clients_is_in_order, f);
    wait_drained(f);
    loop_until(f->loop, reconciler_clients_is_in_order, f);
}

/* Waits for what was under way: only a leader's key keeps a killed process's last writes from
 * coming after the next one has read etcd. */
static void reconciler_clients_crash(struct fixture *f)
{
    reconciler_stop(f->reconciler);
    f->reconciler = NULL;
    (void)sync_put(f->loop, f->etcd, "/a-later-write", slice_str(""));
    start_inventory(f);
}

static void reconciler_clients_begin(struct fixture *f)
{
    start_keys(f, true, true);
    start_reconciler(f);
    list_nothing_else(f);
    reconciler_clients_list_pods(f);
    reconciler_clients_list_namespaces(f);
}

static int tear_down_keys(void **state)
{
    struct fixture *f = *state;
    struct client_keys *keys = f->client_keys;
    (void)tear_down(state);
    client_keys_free(keys);
    return 0;
}

static int reconciler_clients_before_tests(void **state)
{
    record_json_use_xalloc();
    return start_etcd(state);
}

UNIT_TESTS_EACH(set_up, tear_down_keys)
UNIT_TESTS_NEED(etcd_proc_missing)
UNIT_TESTS_ONCE(reconciler_clients_before_tests, end_etcd)

/* ---- Tests ---- */

UNIT_TEST_ON(test_pods_and_namespaces, struct fixture *f)
{
    reconciler_clients_begin(f);
    reconciler_clients_put_pod(f, "kube-system", "proxy", true, "10.1.0.1");
    reconciler_clients_put_pod(f, "monitoring", "agent", true, "10.1.0.1");
    reconciler_clients_put_pod(f, "web", "web", false, "10.2.0.1");
    reconciler_clients_put_namespace(f, "web", "team-b,team-c");
    reconciler_clients_put_namespace(f, "all", "*");
    reconciler_clients_settle(f);
    assert_beside(
        f, "node-address/10-1-0-1 " HOST("10.1.0.1") "\n"
                                                     "visible/all *\nvisible/web team-b,team-c\n");
    assert_int_equal(reconciler_get_stats(f->reconciler).node_addresses, 1);
    assert_int_equal(reconciler_get_stats(f->reconciler).visible, 2);
    reconciler_clients_remove_pod(f, "kube-system", "proxy");
    reconciler_clients_put_namespace(f, "web", "team-b");
    reconciler_clients_put_namespace(f, "all", NULL);
    reconciler_clients_settle(f);
    assert_beside(f, "node-address/10-1-0-1 " HOST("10.1.0.1") "\nvisible/web team-b\n");
    reconciler_clients_remove_pod(f, "monitoring", "agent");
    client_keys_remove(f->client_keys, KUBE_NAMESPACE, "", "web");
    reconciler_clients_settle(f);
    assert_beside(f, "");
}

/* ---- Client records ---- */

static void start_client_records(struct fixture *f)
{
    client_keys_free(f->client_keys);
    f->client_keys = client_keys_new(&(struct client_keys_config){
        .domain = f->domain,
        .is_wanted = {true, false, true},
    });
    start_reconciler(f);
    list_nothing_else(f);
}

static void put_placed_pod(struct fixture *f, const char *ns, const char *name, const char *node,
                           const char *ip)
{
    CLEANUP_FREE char *status = xasprintf("'phase':'Running','podIP':'%s'", ip);
    struct kube_object *pod = pod_from(ns, name, status);
    pod->pod.node = node; /* lasts as long as the test */
    client_keys_upsert(f->client_keys, pod);
    inventory_upsert(f->inventory, pod);
}

static void put_zone(struct fixture *f, const char *node, const char *zone)
{
    const struct kube_object object = {
        .kind = KUBE_NODE, .ns = "", .name = node, .faults = "", .node = {.zone = zone}};
    client_keys_upsert(f->client_keys, &object);
}

static void list_placement(struct fixture *f)
{
    client_keys_list_begin(f->client_keys, KUBE_NODE, "");
    put_zone(f, "n1", "z1");
    client_keys_list_end(f->client_keys, KUBE_NODE, "");
    begin_pods(f);
    put_placed_pod(f, "a", "p", "n1", "10.2.0.1");
    end_pods(f);
}

#define RECORD_OF_P(zone) \
    "client/10-2-0-1 {\"namespace\":\"a\",\"pod\":\"p\",\"node\":\"n1\",\"zone\":\"" zone "\"}\n"

/* They follow pods and zones, are restored, and go without the flag. */
UNIT_TEST_ON(test_client_records, struct fixture *f)
{
    put_beside(f, "client/10-9-9-9", "{\"namespace\":\"gone\"}");
    put_beside(f, "client/web", "of another program");
    start_client_records(f);
    list_placement(f);
    reconciler_clients_settle(f);
    assert_beside(f, RECORD_OF_P("z1") "client/web of another program\n");
    assert_int_equal(reconciler_get_stats(f->reconciler).client_records, 1);
    put_zone(f, "n1", "z2");
    reconciler_clients_settle(f);
    assert_beside(f, RECORD_OF_P("z2") "client/web of another program\n");
    uint64_t restored = reconciler_get_stats(f->reconciler).keys_restored;
    put_beside(f, "client/10-2-0-1", "{\"namespace\":\"b\"}");
    while (reconciler_get_stats(f->reconciler).keys_restored == restored) {
        ev_run(f->loop, EVRUN_ONCE);
    }
    reconciler_clients_settle(f);
    assert_beside(f, RECORD_OF_P("z2") "client/web of another program\n");
    put_placed_pod(f, "b", "q", "n1", "10.2.0.1"); /* of two namespaces */
    reconciler_clients_settle(f);
    assert_beside(f, "client/web of another program\n");
    reconciler_clients_remove_pod(f, "b", "q");
    reconciler_clients_settle(f);
    reconciler_clients_crash(f);
    start_keys(f, true, false);
    start_reconciler(f);
    list_nothing_else(f);
    reconciler_clients_list_pods(f);
    reconciler_clients_settle(f);
    assert_beside(f, "client/web of another program\n");
}

/* Without the flags, what an earlier start wrote goes; not before it is known that it is not
 * wanted. Somebody else's keys stay, wherever they are. */
UNIT_TEST_ON(test_unwanted, struct fixture *f)
{
    put_beside(f, "config", "{}");
    put_beside(f, "node-address/10-1-0-1/x", "1");
    put_beside(f, "node-address/web", "1");
    put_beside(f, "visible/a/b", "1");
    put_beside(f, "visible/a.b", "1");
    put_beside(f, "visibles", "1");
    reconciler_clients_begin(f);
    reconciler_clients_put_pod(f, "a", "p", true, "10.1.0.1");
    reconciler_clients_put_namespace(f, "a", "b");
    reconciler_clients_settle(f);
    reconciler_clients_crash(f);
    start_keys(f, true, true); /* nothing is listed yet */
    start_reconciler(f);
    list_nothing_else(f);
    f->want = 1;
    loop_until(f->loop, is_waiting, f);
    assert_int_equal(reconciler_get_stats(f->reconciler).keys_deleted, 0);
    assert_false(reconciler_has_synced(f->reconciler));
    reconciler_clients_crash(f);
    start_keys(f, false, false);
    start_reconciler(f);
    list_nothing_else(f);
    reconciler_clients_settle(f);
    assert_int_equal(reconciler_get_stats(f->reconciler).keys_deleted, 4);
    struct tree tree;
    read_beside(f, 0, &tree);
    assert_null(strstr(buf_cstr(&tree.text), "node-address/10-1-0-1 "));
    assert_null(strstr(buf_cstr(&tree.text), "visible/a "));
    assert_int_equal(tree.count, 7); /* theirs without config, which nobody lists, and two more */
    buf_fini(&tree.text);
    assert_tree(f, KUBERNETES);
}

UNIT_TEST_ON(test_others, struct fixture *f)
{
    reconciler_clients_begin(f);
    reconciler_clients_put_pod(f, "a", "p", true, "10.1.0.1");
    reconciler_clients_put_namespace(f, "a", "b");
    reconciler_clients_settle(f);
    for (unsigned i = 0; i < CONFLICT_FREE; i++) {
        uint64_t restored = reconciler_get_stats(f->reconciler).keys_restored;
        if (i % 2) {
            del_beside(f, "visible/a");
        } else {
            put_beside(f, "visible/a", "everybody");
        }
        put_beside(f, "node-address/10-9-9-9", "theirs");
        while (reconciler_get_stats(f->reconciler).keys_restored < restored + 2) {
            ev_run(f->loop, EVRUN_ONCE);
        }
        reconciler_clients_settle(f);
        assert_beside(f, "node-address/10-1-0-1 " HOST("10.1.0.1") "\nvisible/a b\n");
    }
    CLEANUP_BUF struct buf why = buf_of(1024);
    assert_true(reconciler_explain_trouble(f->reconciler, &why));
    assert_non_null(strstr(buf_cstr(&why), "another writer keeps changing keys of "));
    /* It backs off; a change in the API does not wait for that. */
    put_beside(f, "visible/a", "everybody");
    reconciler_clients_put_namespace(f, "b", "x");
    reconciler_clients_put_namespace(f, "a", "c");
    reconciler_clients_settle(f);
    assert_beside(f, "node-address/10-1-0-1 " HOST("10.1.0.1") "\nvisible/a c\nvisible/b x\n");
}

/* etcd counts operations: what it refuses is halved until it fits. */
UNIT_TEST_ON(test_refused_transactions, struct fixture *f)
{
    char ip[32];
    f->txn_ops_max = 2 * (size_t)ETCD_TXN_OPS_MAX;
    reconciler_clients_begin(f);
    wait_synced(f);
    for (unsigned i = 0; i < 1000; i++) {
        (void)snprintf(ip, sizeof(ip), "10.1.%u.%u", i / 250, i % 250);
        struct kube_object object = {
            .kind = KUBE_POD,
            .ns = "a",
            .name = ip,
            .faults = "",
            .pod = {.phase = "Running",
                    .node = "",
                    .ips = (const char *const[]){ip},
                    .ip_count = 1,
                    .is_on_host_network = true},
        };
        client_keys_upsert(f->client_keys, &object);
    }
    reconciler_clients_settle(f);
    assert_int_equal(reconciler_get_stats(f->reconciler).node_addresses, 1000);
    struct tree tree;
    read_beside(f, 0, &tree);
    assert_int_equal(tree.count, 1002);
    buf_fini(&tree.text);
}

/* Other writers have other namespaces: node addresses are common to all, visibility is not. */
UNIT_TEST_ON(test_some_namespaces, struct fixture *f)
{
    static const char *const ours[] = {"a", "c", "default", "other"};
    f->namespaces = ours;
    f->namespace_count = ARRAY_LEN(ours);
    put_beside(f, "node-address/10-9-9-9", HOST("10.9.9.9"));
    put_beside(f, "visible/b", "theirs");
    put_beside(f, "visible/c", "ours");
    reconciler_clients_begin(f);
    reconciler_clients_put_pod(f, "a", "p", true, "10.1.0.1");
    reconciler_clients_put_namespace(f, "a", "x");
    reconciler_clients_put_namespace(f, "b", "y");
    reconciler_clients_settle(f);
    reconciler_clients_remove_pod(f, "a", "p");
    reconciler_clients_settle(f);
    assert_beside(f, "node-address/10-1-0-1 " HOST(
                         "10.1.0.1") "\n"
                                     "node-address/10-9-9-9 " HOST(
                                         "10.9.9.9") "\nvisible/a x\nvisible/b theirs\n");
}

UNIT_TEST_ON(test_dry_run, struct fixture *f)
{
    put_beside(f, "node-address/10-9-9-9", HOST("10.9.9.9"));
    f->is_dry = true;
    reconciler_clients_begin(f);
    reconciler_clients_put_pod(f, "a", "p", true, "10.1.0.1");
    reconciler_clients_put_namespace(f, "a", "x");
    wait_synced(f);
    /* kubernetes, two pods; one node address comes, one goes; one namespace is visible */
    assert_int_equal(f->planned, 6);
    assert_beside(f, "node-address/10-9-9-9 " HOST("10.9.9.9") "\n");
}

/* One of two: the other one only knows what it would do. */
UNIT_TEST_ON(test_leader, struct fixture *f)
{
    f->lease_s = 5;
    reconciler_clients_begin(f);
    reconciler_clients_put_pod(f, "a", "p", true, "10.1.0.1");
    reconciler_clients_put_namespace(f, "a", "x");
    loop_until(f->loop, reconciler_clients_is_in_order, f); /* drained, it would resign */
    struct buf lines;
    put_beside(f, "leader", "another"); /* without a lease: it is overwritten after that time */
    while (reconciler_get_stats(f->reconciler).is_leading) {
        ev_run(f->loop, EVRUN_ONCE);
    }
    reconciler_clients_put_namespace(f, "a", "y");
    while (lines = preview_clients(f), !lines.len) {
        buf_fini(&lines);
        ev_run(f->loop, EVRUN_ONCE);
    }
    assert_non_null(strstr(buf_cstr(&lines), "visible/a y\n"));
    buf_fini(&lines);
    struct tree tree;
    read_beside(f, 0, &tree);
    assert_non_null(strstr(buf_cstr(&tree.text), "visible/a x\n"));
    buf_fini(&tree.text);
    f->want = reconciler_get_stats(f->reconciler).keys_written + 1;
    del_beside(f, "leader");
    loop_until(f->loop, has_written, f);
    read_beside(f, 0, &tree);
    assert_non_null(strstr(buf_cstr(&tree.text), "visible/a y\n"));
    buf_fini(&tree.text);
}

/* ---- The order, at every revision ---- */

enum { PODS = 10, NODES = 4, ROUNDS = 12, EVENTS = 30 };

struct world {
    struct fixture *f;
    unsigned random;
    int node[PODS]; /* of the host pod; -1: none */
};

static unsigned reconciler_clients_draw(struct world *w, unsigned below)
{
    w->random = w->random * 1664525 + 1013904223;
    return (w->random >> 16) % below;
}

static void reconciler_clients_tell_pod(struct world *w, size_t i)
{
    char ip[16], name[8], ns[8];
    (void)snprintf(ip, sizeof(ip), "10.1.0.%d", w->node[i]);
    (void)snprintf(name, sizeof(name), "p%zu", i);
    (void)snprintf(ns, sizeof(ns), "n%zu", i % 3);
    if (w->node[i] < 0) {
        reconciler_clients_remove_pod(w->f, ns, name);
    } else {
        reconciler_clients_put_pod(w->f, ns, name, true, ip);
    }
}

static void reconciler_clients_change(struct world *w)
{
    size_t i = reconciler_clients_draw(w, PODS);
    w->node[i] = (int)reconciler_clients_draw(w, 2 * NODES) - NODES;
    w->node[i] = w->node[i] < 0 ? -1 : w->node[i];
    reconciler_clients_tell_pod(w, i);
}

static void list_world(struct world *w)
{
    list_nothing_else(w->f);
    begin_pods(w->f);
    reconciler_clients_put_pod(w->f, "other", "p", false, "10.9.9.9");
    for (size_t i = 0; i < PODS; i++) {
        if (w->node[i] >= 0) {
            reconciler_clients_tell_pod(w, i);
        }
    }
    end_pods(w->f);
    reconciler_clients_list_namespaces(w->f);
}

/* Returns how many pods' keys there are. */
static size_t check_revision(struct fixture *f, int64_t revision)
{
    struct tree pods, beside;
    size_t found = 0;
    read_tree(f, revision, &pods);
    read_beside(f, revision, &beside);
    for (int node = 0; node < NODES; node++) {
        char at[32], key[64];
        (void)snprintf(at, sizeof(at), "/10-1-0-%d/", node);
        (void)snprintf(key, sizeof(key), "node-address/10-1-0-%d ", node);
        if (strstr(buf_cstr(&pods.text), at)) {
            found++;
            assert_non_null(strstr(buf_cstr(&beside.text), key));
        }
    }
    buf_fini(&pods.text);
    buf_fini(&beside.text);
    return found;
}

static void assert_world(struct world *w)
{
    CLEANUP_BUF struct buf want = buf_of(4096);
    for (int node = 0; node < NODES; node++) {
        bool is_wanted = false;
        for (size_t i = 0; i < PODS; i++) {
            is_wanted |= w->node[i] == node;
        }
        if (is_wanted) {
            buf_printf(&want, "node-address/10-1-0-%d {\"host\":\"10.1.0.%d\"}\n", node, node);
        }
    }
    assert_beside(w->f, buf_cstr(&want));
}

UNIT_TEST_ON(test_order, struct fixture *f)
{
    struct world w = {.f = f, .random = 3};
    struct tree tree;
    for (size_t i = 0; i < PODS; i++) {
        w.node[i] = -1;
    }
    read_beside(f, 0, &tree);
    int64_t from = tree.revision + 1;
    buf_fini(&tree.text);
    for (int round = 0; round < ROUNDS; round++) {
        f->txn_ops_max = 2 + reconciler_clients_draw(&w, 4);
        start_keys(f, true, true);
        start_reconciler(f);
        list_world(&w);
        for (int i = 0; i < EVENTS; i++) {
            reconciler_clients_change(&w);
            for (unsigned turns = reconciler_clients_draw(&w, 4); turns; turns--) {
                ev_run(f->loop, EVRUN_ONCE);
            }
        }
        if (round % 2) {
            reconciler_clients_settle(f);
            assert_world(&w);
        }
        if (round + 1 < ROUNDS) {
            reconciler_clients_crash(f);
        }
    }
    read_beside(f, 0, &tree);
    size_t found = 0;
    for (int64_t revision = from; revision <= tree.revision; revision++) {
        found += check_revision(f, revision);
    }
    buf_fini(&tree.text);
    assert_true(found > 100);
}
