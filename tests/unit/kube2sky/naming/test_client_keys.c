/* client_keys: what pods and namespaces make of it, one case at a time; and random events against
 * the same computed from scratch. */
#include "tests/unit/kube2sky/objects.h"

#include "kube2sky/naming/client_keys.h"
#include "tests/support/unit_test.h"

#define NODES   "/kube2sky/cluster.local/node-address/"
#define VISIBLE "/kube2sky/cluster.local/visible/"

enum { ADDRESSES_MAX = 4 };

static struct client_keys *client_keys_of(bool is_narrowed)
{
    return client_keys_new(&(struct client_keys_config){
        .domain = "cluster.local.",
        .is_wanted = {true, true},
        .are_pods_narrowed = is_narrowed,
        .are_namespaces_narrowed = is_narrowed,
    });
}

UNIT_FIXTURE_MADE(client_keys_of(false), client_keys_free)

/* ---- Objects, of which no copy remains ---- */

static void client_keys_put_pod(struct client_keys *keys, const char *ns, const char *name,
                                bool is_on_host, const char *phase, const char *ip,
                                const char *other_ip)
{
    const char *const ips[] = {ip, other_ip};
    char ns_copy[32], name_copy[32];
    (void)snprintf(ns_copy, sizeof(ns_copy), "%s", ns);
    (void)snprintf(name_copy, sizeof(name_copy), "%s", name);
    const struct kube_object object = {
        .kind = KUBE_POD,
        .ns = ns_copy,
        .name = name_copy,
        .faults = "",
        .pod = {.phase = phase,
                .node = "",
                .ips = ips,
                .ip_count = ip ? 1 + (other_ip != NULL) : 0,
                .is_on_host_network = is_on_host},
    };
    client_keys_upsert(keys, &object);
}

static void put_host_pod(struct client_keys *keys, const char *ns, const char *name, const char *ip)
{
    client_keys_put_pod(keys, ns, name, true, "Running", ip, NULL);
}

static void client_keys_put_namespace(struct client_keys *keys, const char *name,
                                      const char *visible_to)
{
    const struct kube_object object = {
        .kind = KUBE_NAMESPACE,
        .ns = "",
        .name = name,
        .faults = "",
        .ns_object = {.visible_to = visible_to},
    };
    client_keys_upsert(keys, &object);
}

/* Puts an object that cannot be understood: only its name is known. */
static void put_garbled(struct client_keys *keys, enum kube_kind kind, const char *ns,
                        const char *name)
{
    struct kube_object object = {
        .kind = kind,
        .ns = ns,
        .name = name,
        .faults = "spec: not an object",
        .is_garbled = true,
    };
    if (kind == KUBE_POD) {
        object.pod = (struct kube_pod){.phase = "", .node = ""};
    }
    client_keys_upsert(keys, &object);
}

static void list_empty(struct client_keys *keys, enum kube_kind kind)
{
    client_keys_list_begin(keys, kind, "");
    client_keys_list_end(keys, kind, "");
}

static void client_keys_remove_pod(struct client_keys *keys, const char *ns, const char *name)
{
    client_keys_remove(keys, KUBE_POD, ns, name);
}

/* ---- Looking ---- */

/* NULL: the key is not wanted. */
static void assert_value(const struct client_keys *keys, const char *key, const char *want)
{
    struct slice value = client_keys_value(keys, slice_str(key));
    if (!want) {
        assert_null(value.ptr);
        return;
    }
    assert_non_null(value.ptr);
    assert_true(slice_equal(value, slice_str(want)));
}

static void assert_change(struct client_keys *keys, enum client_keys_part part, const char *want)
{
    struct slice key = client_keys_next_change(keys, part);
    if (!want) {
        assert_null(key.ptr);
        return;
    }
    assert_non_null(key.ptr);
    assert_true(slice_equal(key, slice_str(want)));
}

/* ---- Cases ---- */

UNIT_TEST_ON(test_pods_share_a_key, struct client_keys *keys)
{
    client_keys_put_pod(keys, "web", "a", false, "Running", "10.2.0.1", NULL);
    assert_change(keys, CLIENT_KEYS_NODE_ADDRESS, NULL);
    put_host_pod(keys, "kube-system", "proxy", "10.1.0.1");
    put_host_pod(keys, "monitoring", "agent", "10.1.0.1");
    assert_value(keys, NODES "10-1-0-1", "{\"host\":\"10.1.0.1\"}");
    assert_change(keys, CLIENT_KEYS_NODE_ADDRESS, NODES "10-1-0-1");
    assert_change(keys, CLIENT_KEYS_NODE_ADDRESS, NULL); /* once */
    client_keys_remove_pod(keys, "kube-system", "proxy");
    client_keys_remove_pod(keys, "kube-system", "proxy");
    client_keys_remove_pod(keys, "web", "a");
    assert_value(keys, NODES "10-1-0-1", "{\"host\":\"10.1.0.1\"}");
    assert_change(keys, CLIENT_KEYS_NODE_ADDRESS, NULL);
    client_keys_remove_pod(keys, "monitoring", "agent");
    assert_value(keys, NODES "10-1-0-1", NULL);
    assert_change(keys, CLIENT_KEYS_NODE_ADDRESS, NODES "10-1-0-1");
    assert_change(keys, CLIENT_KEYS_NODE_ADDRESS, NULL);
}

UNIT_TEST_ON(test_a_pod_changes, struct client_keys *keys)
{
    client_keys_put_pod(keys, "a", "p", true, "Pending", NULL, NULL);
    client_keys_put_pod(keys, "a", "p", true, "Running", "10.1.0.1", "fd00::");
    assert_value(keys, NODES "10-1-0-1", "{\"host\":\"10.1.0.1\"}");
    assert_value(keys, NODES "fd00--0", "{\"host\":\"fd00::\"}");
    assert_change(keys, CLIENT_KEYS_NODE_ADDRESS, NODES "10-1-0-1");
    assert_change(keys, CLIENT_KEYS_NODE_ADDRESS, NODES "fd00--0");
    client_keys_put_pod(keys, "a", "p", true, "Running",
                        "fd00::", "::ffff:10.1.0.2"); /* one stays */
    assert_change(keys, CLIENT_KEYS_NODE_ADDRESS, NODES "10-1-0-2");
    assert_change(keys, CLIENT_KEYS_NODE_ADDRESS, NODES "10-1-0-1");
    assert_change(keys, CLIENT_KEYS_NODE_ADDRESS, NULL);
    put_garbled(keys, KUBE_POD, "a", "p");
    assert_change(keys, CLIENT_KEYS_NODE_ADDRESS, NULL);
    client_keys_put_pod(keys, "a", "p", true, "Succeeded",
                        "fd00::", NULL); /* its IP stays in the API */
    assert_value(keys, NODES "10-1-0-2", NULL);
    assert_value(keys, NODES "fd00--0", NULL);
    client_keys_put_pod(keys, "a", "p", true, "Running", "10.1.0.1", "10.1.0.1");
    client_keys_put_pod(keys, "a", "p", true, "Failed", "10.1.0.1", "10.1.0.1");
    assert_value(keys, NODES "10-1-0-1", NULL);
    client_keys_put_pod(keys, "a", "p", true, "Running", "no address", "../../leader");
    client_keys_put_pod(keys, "a", "p", false, "Running", "10.1.0.1", NULL);
    put_garbled(keys, KUBE_POD, "a", "q");
    assert_value(keys, NODES "10-1-0-1", NULL);
}

/* "a" with "bc" is not "ab" with "c". */
UNIT_TEST_ON(test_names_of_pods_do_not_run_together, struct client_keys *keys)
{
    put_host_pod(keys, "a", "bc", "10.1.0.1");
    put_host_pod(keys, "ab", "c", "10.1.0.2");
    client_keys_remove_pod(keys, "ab", "c");
    assert_value(keys, NODES "10-1-0-1", "{\"host\":\"10.1.0.1\"}");
    assert_value(keys, NODES "10-1-0-2", NULL);
}

UNIT_TEST_ON(test_namespaces, struct client_keys *keys)
{
    static const char odd[] = "team-b,\n\x01\x7f\xff\"\\,*";
    client_keys_put_namespace(keys, "plain", NULL);
    assert_change(keys, CLIENT_KEYS_VISIBLE, NULL);
    client_keys_put_namespace(keys, "a", "team-b");
    client_keys_put_namespace(keys, "A1", odd); /* as it is */
    client_keys_put_namespace(keys, "none", "");
    assert_value(keys, VISIBLE "a", "team-b");
    assert_value(keys, VISIBLE "a1", odd);
    assert_value(keys, VISIBLE "none", "");
    assert_change(keys, CLIENT_KEYS_VISIBLE, VISIBLE "a");
    client_keys_put_namespace(keys, "a", "team-b,team-c");
    put_garbled(keys, KUBE_NAMESPACE, "", "a");
    put_garbled(keys, KUBE_NAMESPACE, "", "unknown");
    assert_value(keys, VISIBLE "a", "team-b,team-c");
    client_keys_put_namespace(keys, "a", NULL);
    assert_value(keys, VISIBLE "a", NULL);
    client_keys_remove(keys, KUBE_NAMESPACE, "", "A1");
    client_keys_remove(keys, KUBE_NAMESPACE, "", "A1");
    client_keys_remove(keys, KUBE_NAMESPACE, "", "never");
    assert_value(keys, VISIBLE "a1", NULL);
}

/* A Namespace with no valid name, or with a longer text than readers take, has no key. */
UNIT_TEST_ON(test_impossible_namespaces, struct client_keys *keys)
{
    static const char *const names[] = {"", "a/b", "../leader", "a.b", "a\nb", "-a", "a-"};
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        client_keys_put_namespace(keys, names[i], "*");
        client_keys_remove(keys, KUBE_NAMESPACE, "", names[i]);
    }
    assert_change(keys, CLIENT_KEYS_VISIBLE, NULL);
    CLEANUP_FREE char *text = xmalloc(CLIENT_KEYS_TEXT_MAX + 2);
    memset(text, 'x', CLIENT_KEYS_TEXT_MAX + 1);
    text[CLIENT_KEYS_TEXT_MAX + 1] = '\0';
    client_keys_put_namespace(keys, "a", text);
    assert_value(keys, VISIBLE "a", NULL);
    text[CLIENT_KEYS_TEXT_MAX] = '\0';
    client_keys_put_namespace(keys, "a", text);
    assert_value(keys, VISIBLE "a", text);
    text[CLIENT_KEYS_TEXT_MAX] = 'x';
    client_keys_put_namespace(keys, "a", text); /* nobody sees it now */
    assert_value(keys, VISIBLE "a", NULL);
}

/* The longest lists have no key while all together are too long, in whatever order they came. */
UNIT_TEST_ON(test_long_lists_take_nothing_from_short_ones, struct client_keys *keys)
{
    enum { FULL = CLIENT_KEYS_TEXTS_MAX / CLIENT_KEYS_TEXT_MAX };
    char *text = xmalloc(CLIENT_KEYS_TEXT_MAX + 1), name[16], key[100];
    memset(text, 'x', CLIENT_KEYS_TEXT_MAX);
    text[CLIENT_KEYS_TEXT_MAX] = '\0';
    client_keys_put_namespace(keys, "before", "a,b");
    for (unsigned i = 0; i < 2 * FULL; i++) {
        (void)snprintf(name, sizeof(name), "long-%03u", i);
        client_keys_put_namespace(keys, name, text);
    }
    client_keys_put_namespace(keys, "then", "*");
    assert_value(keys, VISIBLE "before", "a,b");
    assert_value(keys, VISIBLE "then", "*");
    assert_int_equal(client_keys_left_out(keys), FULL + 1); /* the short ones take 4 bytes */
    for (unsigned i = 0; i < 2 * FULL; i++) {
        (void)snprintf(key, sizeof(key), VISIBLE "long-%03u", i);
        assert_value(keys, key, i < FULL - 1 ? text : NULL);
    }
    while (client_keys_next_change(keys, CLIENT_KEYS_VISIBLE).ptr) {
    }
    client_keys_remove(keys, KUBE_NAMESPACE, "", "long-000"); /* makes room for the next one */
    (void)snprintf(key, sizeof(key), VISIBLE "long-%03u", FULL - 1);
    assert_value(keys, key, text);
    assert_change(keys, CLIENT_KEYS_VISIBLE, VISIBLE "long-000");
    assert_change(keys, CLIENT_KEYS_VISIBLE, key);
    assert_change(keys, CLIENT_KEYS_VISIBLE, NULL);
    client_keys_list_begin(keys, KUBE_NAMESPACE, ""); /* all long ones are gone */
    client_keys_put_namespace(keys, "before", "a,b");
    client_keys_list_end(keys, KUBE_NAMESPACE, "");
    assert_int_equal(client_keys_left_out(keys), 0);
    client_keys_put_namespace(keys, "long-127", text); /* one that was left out before */
    assert_value(keys, VISIBLE "long-127", text);
    free(text);
}

static void assert_deletes(const struct client_keys *keys, bool nodes, bool visible)
{
    assert_int_equal(client_keys_may_delete(keys, CLIENT_KEYS_NODE_ADDRESS), nodes);
    assert_int_equal(client_keys_may_delete(keys, CLIENT_KEYS_VISIBLE), visible);
}

/* Before any list, too: what etcd has may go. */
UNIT_TEST_ON(test_lists_that_can_no_longer_be_known, struct client_keys *keys)
{
    client_keys_lose(keys, KUBE_NAMESPACE, true);
    assert_deletes(keys, false, true);
    client_keys_lose(keys, KUBE_NAMESPACE, false);
    assert_deletes(keys, false, false);
    client_keys_list_begin(keys, KUBE_NAMESPACE, "");
    client_keys_put_namespace(keys, "team-a", "*");
    client_keys_list_end(keys, KUBE_NAMESPACE, "");
    assert_change(keys, CLIENT_KEYS_VISIBLE, VISIBLE "team-a");
    client_keys_lose(keys, KUBE_NAMESPACE, true);
    assert_value(keys, VISIBLE "team-a", NULL);
    assert_change(keys, CLIENT_KEYS_VISIBLE, VISIBLE "team-a");
    client_keys_lose(keys, KUBE_NAMESPACE, false);
    assert_value(keys, VISIBLE "team-a", "*");
    assert_change(keys, CLIENT_KEYS_VISIBLE, VISIBLE "team-a");
    assert_change(keys, CLIENT_KEYS_VISIBLE, NULL);
}

/* Beside those of nodes. No pod can say so. */
UNIT_TEST_ON(test_pods_that_can_no_longer_be_known, struct client_keys *keys)
{
    client_keys_lose(keys, KUBE_POD, true);
    assert_value(keys, NODES "0-0-0-0", "{\"host\":\"0.0.0.0\"}");
    assert_change(keys, CLIENT_KEYS_NODE_ADDRESS, NODES "0-0-0-0");
    assert_deletes(keys, false, false);
    client_keys_lose(keys, KUBE_POD, true);
    client_keys_list_begin(keys, KUBE_POD, "");
    put_host_pod(keys, "default", "a", "10.1.0.1");
    put_host_pod(keys, "default", "b", "0.0.0.0");
    client_keys_list_end(keys, KUBE_POD, "");
    assert_change(keys, CLIENT_KEYS_NODE_ADDRESS, NODES "10-1-0-1");
    client_keys_lose(keys, KUBE_POD, false);
    assert_value(keys, NODES "0-0-0-0", NULL);
    assert_value(keys, NODES "10-1-0-1", "{\"host\":\"10.1.0.1\"}");
    assert_change(keys, CLIENT_KEYS_NODE_ADDRESS, NODES "0-0-0-0");
    assert_change(keys, CLIENT_KEYS_NODE_ADDRESS, NULL);
    assert_deletes(keys, true, false);
    client_keys_lose(keys, KUBE_POD, false);
}

UNIT_TEST_ON(test_lists, struct client_keys *keys)
{
    assert_deletes(keys, false, false);
    client_keys_list_begin(keys, KUBE_POD, "");
    put_host_pod(keys, "a", "p", "10.1.0.1");
    client_keys_list_begin(keys, KUBE_POD, ""); /* it starts over */
    put_host_pod(keys, "a", "q", "10.1.0.2");
    client_keys_list_end(keys, KUBE_POD, "");
    assert_value(keys, NODES "10-1-0-1", NULL);
    assert_value(keys, NODES "10-1-0-2", "{\"host\":\"10.1.0.2\"}");
    assert_deletes(keys, true, false);

    client_keys_list_begin(keys, KUBE_NAMESPACE, "");
    client_keys_put_namespace(keys, "a", "x");
    client_keys_put_namespace(keys, "b", "x");
    client_keys_list_end(keys, KUBE_NAMESPACE, "");
    assert_deletes(keys, true, true);
    client_keys_list_begin(keys, KUBE_NAMESPACE, "");
    put_garbled(keys, KUBE_NAMESPACE, "", "b");
    client_keys_list_end(keys, KUBE_NAMESPACE, "");
    assert_value(keys, VISIBLE "a", NULL);
    assert_value(keys, VISIBLE "b", "x");
    list_empty(keys, KUBE_SERVICE); /* not of interest */
    client_keys_remove(keys, KUBE_SERVICE, "a", "q");
}

/* An API server that has lost everything lists nothing: not believed until there is something. */
UNIT_TEST(test_empty_lists)
{
    struct client_keys *keys = client_keys_of(false);
    put_host_pod(keys, "a", "p", "10.1.0.1");
    client_keys_put_namespace(keys, "a", "x");
    list_empty(keys, KUBE_POD);
    list_empty(keys, KUBE_NAMESPACE);
    assert_deletes(keys, false, false);
    assert_value(keys, NODES "10-1-0-1", "{\"host\":\"10.1.0.1\"}");
    client_keys_put_pod(keys, "b", "p", false, "Running", "10.2.0.1", NULL);
    client_keys_put_namespace(keys, "b", NULL);
    assert_deletes(keys, true, true);
    assert_value(keys, NODES "10-1-0-1", NULL);
    assert_value(keys, VISIBLE "a", NULL);
    client_keys_free(keys);

    keys = client_keys_of(true);
    put_host_pod(keys, "a", "p", "10.1.0.1");
    list_empty(keys, KUBE_POD);
    assert_value(keys, NODES "10-1-0-1", NULL);
    assert_deletes(keys, true, false);
    client_keys_free(keys);
}

/* All keys of an unwanted part are to be deleted. */
UNIT_TEST(test_unwanted_parts)
{
    struct client_keys *keys = client_keys_new(&(struct client_keys_config){.domain = "t."});
    put_host_pod(keys, "a", "p", "10.1.0.1");
    client_keys_put_namespace(keys, "a", "x");
    client_keys_list_begin(keys, KUBE_POD, "");
    client_keys_list_end(keys, KUBE_POD, "");
    client_keys_remove_pod(keys, "a", "p");
    assert_deletes(keys, true, true);
    assert_change(keys, CLIENT_KEYS_NODE_ADDRESS, NULL);
    assert_change(keys, CLIENT_KEYS_VISIBLE, NULL);
    assert_true(slice_equal(client_keys_tree(keys, CLIENT_KEYS_VISIBLE),
                            slice_str("/kube2sky/t/visible/")));
    client_keys_free(keys);
    client_keys_free(NULL);
}

UNIT_TEST(test_names)
{
    assert_true(client_keys_is_name(CLIENT_KEYS_NODE_ADDRESS, slice_str("10-1-0-1")));
    assert_true(client_keys_is_name(CLIENT_KEYS_NODE_ADDRESS, slice_str("fd00--0")));
    assert_true(client_keys_is_name(CLIENT_KEYS_NODE_ADDRESS, slice_str("0--1-2")));
    assert_false(client_keys_is_name(CLIENT_KEYS_NODE_ADDRESS, slice_str("--1-2")));
    assert_false(client_keys_is_name(CLIENT_KEYS_NODE_ADDRESS, slice_str("10-1-0-1/x")));
    assert_false(client_keys_is_name(CLIENT_KEYS_NODE_ADDRESS, slice_str("web")));
    assert_true(client_keys_is_name(CLIENT_KEYS_VISIBLE, slice_str("team-a")));
    assert_false(client_keys_is_name(CLIENT_KEYS_VISIBLE, slice_str("team-a/x")));
    assert_false(client_keys_is_name(CLIENT_KEYS_VISIBLE, slice_str("")));
}

/* ---- The model ---- */

enum { PODS = 12, NAMESPACES = 6, STEPS = 20000 };

struct model_pod {
    bool exists, is_on_host, has_ended;
    uint8_t addresses; /* a bit each */
};

struct world {
    struct client_keys *keys;
    unsigned random;
    struct model_pod pods[PODS];
    int texts[NAMESPACES]; /* 0: none, 1: no annotation, then the text's number */
    uint64_t changes;
};

static unsigned client_keys_draw(struct world *w, unsigned below)
{
    w->random = w->random * 1664525 + 1013904223;
    return (w->random >> 16) % below;
}

static void client_keys_tell_pod(struct world *w, size_t i)
{
    static const char *const addresses[] = {"10.1.0.1", "10.1.0.2", "fd00::1", "fd00::2"};
    const struct model_pod *pod = &w->pods[i];
    const char *ips[2] = {NULL, NULL};
    char name[8];
    size_t count = 0;
    for (unsigned bit = 0; bit < ADDRESSES_MAX && count < 2; bit++) {
        if (pod->addresses >> bit & 1) {
            ips[count++] = addresses[bit];
        }
    }
    (void)snprintf(name, sizeof(name), "p%zu", i);
    client_keys_put_pod(w->keys, i % 2 ? "a" : "b", name, pod->is_on_host,
                        pod->has_ended ? "Failed" : "Running", ips[0], ips[1]);
}

static void tell_namespace(struct world *w, size_t i)
{
    char name[8], text[16];
    (void)snprintf(name, sizeof(name), "n%zu", i);
    (void)snprintf(text, sizeof(text), "text-%d", w->texts[i]);
    client_keys_put_namespace(w->keys, name, w->texts[i] > 1 ? text : NULL);
}

static void forget_pod(struct world *w, size_t i)
{
    char name[8];
    (void)snprintf(name, sizeof(name), "p%zu", i);
    client_keys_remove_pod(w->keys, i % 2 ? "a" : "b", name);
}

static void client_keys_change_pod(struct world *w)
{
    size_t i = client_keys_draw(w, PODS);
    struct model_pod *pod = &w->pods[i];
    if (pod->exists && !client_keys_draw(w, 3)) {
        *pod = (struct model_pod){.exists = false};
        forget_pod(w, i);
        return;
    }
    unsigned first = 1u << client_keys_draw(w, ADDRESSES_MAX),
             second = 1u << client_keys_draw(w, ADDRESSES_MAX);
    *pod = (struct model_pod){
        .exists = true,
        .is_on_host = client_keys_draw(w, 3) > 0,
        .has_ended = !client_keys_draw(w, 4),
        .addresses = (uint8_t)(first | (client_keys_draw(w, 2) ? second : 0)),
    };
    client_keys_tell_pod(w, i);
}

static void change_namespace(struct world *w)
{
    size_t i = client_keys_draw(w, NAMESPACES);
    char name[8];
    w->texts[i] = (int)client_keys_draw(w, 5);
    if (w->texts[i]) {
        tell_namespace(w, i);
        return;
    }
    (void)snprintf(name, sizeof(name), "n%zu", i);
    client_keys_remove(w->keys, KUBE_NAMESPACE, "", name);
}

/* The watch missed some changes; the list has them, perhaps at a second attempt. */
static void client_keys_list_pods(struct world *w)
{
    for (int attempts = 0; attempts < 1 + (int)client_keys_draw(w, 2); attempts++) {
        client_keys_list_begin(w->keys, KUBE_POD, "");
        for (size_t i = 0; i < PODS; i++) {
            if (client_keys_draw(w, 4) == 0) {
                w->pods[i].exists = false;
            }
            if (w->pods[i].exists) {
                client_keys_tell_pod(w, i);
            }
        }
    }
    w->pods[0] = (struct model_pod){.exists = true, .addresses = 1}; /* never empty */
    client_keys_tell_pod(w, 0);
    client_keys_list_end(w->keys, KUBE_POD, "");
}

static void client_keys_list_namespaces(struct world *w)
{
    client_keys_list_begin(w->keys, KUBE_NAMESPACE, "");
    for (size_t i = 0; i < NAMESPACES; i++) {
        w->texts[i] = (int)client_keys_draw(w, 5);
        if (w->texts[i]) {
            tell_namespace(w, i);
        }
    }
    w->texts[0] = w->texts[0] ? w->texts[0] : 1;
    tell_namespace(w, 0);
    client_keys_list_end(w->keys, KUBE_NAMESPACE, "");
}

static bool wants_address(const struct world *w, unsigned bit)
{
    bool is_wanted = false;
    for (size_t i = 0; i < PODS; i++) {
        const struct model_pod *pod = &w->pods[i];
        is_wanted |=
            pod->exists && pod->is_on_host && !pod->has_ended && (pod->addresses >> bit & 1);
    }
    return is_wanted;
}

/* Checks that changes are announced, of these keys alone: a reader that looks only at these sees
 * every change. */
static void follow_changes(struct world *w, bool seen[ADDRESSES_MAX + NAMESPACES])
{
    static const char *const nodes[] = {NODES "10-1-0-1", NODES "10-1-0-2", NODES "fd00--1",
                                        NODES "fd00--2"};
    char name[64];
    for (int part = 0; part < CLIENT_KEYS_PARTS; part++) {
        struct slice key;
        while ((key = client_keys_next_change(w->keys, (enum client_keys_part)part)).ptr) {
            w->changes++;
            bool has_value = client_keys_value(w->keys, key).ptr != NULL, is_expected = false;
            for (size_t i = 0; i < ADDRESSES_MAX; i++) {
                if (slice_equal(key, slice_str(nodes[i]))) {
                    seen[i] = has_value;
                    is_expected = true;
                }
            }
            for (size_t i = 0; i < NAMESPACES; i++) {
                (void)snprintf(name, sizeof(name), VISIBLE "n%zu", i);
                if (slice_equal(key, slice_str(name))) {
                    seen[ADDRESSES_MAX + i] = has_value;
                    is_expected = true;
                }
            }
            assert_true(is_expected);
        }
    }
}

UNIT_TEST(test_random_events)
{
    struct world w = {.keys = client_keys_of(false), .random = 7};
    bool seen[ADDRESSES_MAX + NAMESPACES] = {false};
    for (int step = 0; step < STEPS; step++) {
        switch (client_keys_draw(&w, 40)) {
        case 0:
            client_keys_list_pods(&w);
            break;
        case 1:
            client_keys_list_namespaces(&w);
            break;
        default:
            if (client_keys_draw(&w, 3)) {
                client_keys_change_pod(&w);
            } else {
                change_namespace(&w);
            }
        }
        if (client_keys_draw(&w, 5)) { /* sometimes several changes at once */
            continue;
        }
        follow_changes(&w, seen);
        for (unsigned i = 0; i < ADDRESSES_MAX; i++) {
            assert_int_equal(seen[i], wants_address(&w, i));
        }
        for (size_t i = 0; i < NAMESPACES; i++) {
            char name[64], text[16];
            (void)snprintf(name, sizeof(name), VISIBLE "n%zu", i);
            (void)snprintf(text, sizeof(text), "text-%d", w.texts[i]);
            assert_int_equal(seen[ADDRESSES_MAX + i], w.texts[i] > 1);
            assert_value(w.keys, name, w.texts[i] > 1 ? text : NULL);
        }
    }
    assert_true(w.changes > STEPS / 20);
    client_keys_free(w.keys);
}

/* Each namespace's pods are listed by themselves. */
UNIT_TEST(test_pods_of_several_namespaces)
{
    static const char *const namespaces[] = {"team", "crew"};
    struct client_keys *keys = client_keys_new(&(struct client_keys_config){
        .domain = "cluster.local.",
        .is_wanted = {[CLIENT_KEYS_NODE_ADDRESS] = true},
        .are_pods_narrowed = true,
        .namespaces = namespaces,
        .namespace_count = 2,
    });
    client_keys_list_begin(keys, KUBE_POD, "team");
    client_keys_list_begin(keys, KUBE_POD, "crew");
    put_host_pod(keys, "team", "a", "10.1.0.1");
    put_host_pod(keys, "crew", "a", "10.1.0.2");
    put_host_pod(keys, "other", "a", "10.1.0.3");
    client_keys_list_end(keys, KUBE_POD, "team");
    assert_false(client_keys_may_delete(keys, CLIENT_KEYS_NODE_ADDRESS));
    client_keys_list_end(keys, KUBE_POD, "crew");
    assert_true(client_keys_may_delete(keys, CLIENT_KEYS_NODE_ADDRESS));
    assert_value(keys, NODES "10-1-0-1", "{\"host\":\"10.1.0.1\"}");
    assert_value(keys, NODES "10-1-0-3", NULL);

    client_keys_list_begin(keys, KUBE_POD, "team");
    client_keys_list_end(keys, KUBE_POD, "team");
    assert_value(keys, NODES "10-1-0-1", NULL);
    assert_value(keys, NODES "10-1-0-2", "{\"host\":\"10.1.0.2\"}");
    client_keys_free(keys);
}
