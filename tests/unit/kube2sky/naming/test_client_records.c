/* Client records: what pods and Nodes make of an address, one case at a time; and random events
 * against the same computed from scratch. */
#include "tests/unit/kube2sky/objects.h"

#include "kube2sky/naming/client_keys.h"
#include "tests/support/unit_test.h"

#define CLIENT "/kube2sky/cluster.local/client/"

static struct client_keys *record_keys_of(const char *const *namespaces, size_t count)
{
    return client_keys_new(&(struct client_keys_config){
        .domain = "cluster.local.",
        .is_wanted = {[CLIENT_KEYS_RECORD] = true},
        .are_pods_narrowed = count > 0,
        .namespaces = namespaces,
        .namespace_count = count,
    });
}

/* ---- Objects ---- */

static void tell_record_pod(struct client_keys *keys, const char *ns, const char *name,
                            const char *node, const char *ip, const char *other_ip)
{
    const char *const ips[] = {ip, other_ip};
    const struct kube_object object = {
        .kind = KUBE_POD,
        .ns = ns,
        .name = name,
        .faults = "",
        .pod = {.phase = "Running",
                .node = node,
                .ips = ips,
                .ip_count = ip ? 1 + (other_ip != NULL) : 0},
    };
    client_keys_upsert(keys, &object);
}

static void tell_odd_pod(struct client_keys *keys, const char *name, bool is_on_host,
                         const char *phase, const char *ip)
{
    const struct kube_object object = {
        .kind = KUBE_POD,
        .ns = "odd",
        .name = name,
        .faults = "",
        .pod = {.phase = phase,
                .node = "n1",
                .ips = &ip,
                .ip_count = 1,
                .is_on_host_network = is_on_host},
    };
    client_keys_upsert(keys, &object);
}

static void client_records_tell_node(struct client_keys *keys, const char *name, const char *zone)
{
    const struct kube_object object = {
        .kind = KUBE_NODE, .ns = "", .name = name, .faults = "", .node = {.zone = zone}};
    client_keys_upsert(keys, &object);
}

/* Lists one pod and two Nodes, after which records are wanted. */
static void client_records_list_placement(struct client_keys *keys)
{
    client_keys_list_begin(keys, KUBE_NODE, "");
    client_records_tell_node(keys, "n1", "eu-1a");
    client_records_tell_node(keys, "n2", "");
    client_keys_list_end(keys, KUBE_NODE, "");
    client_keys_list_begin(keys, KUBE_POD, "");
    tell_record_pod(keys, "other", "p", "n2", "10.9.9.9", NULL);
    client_keys_list_end(keys, KUBE_POD, "");
    while (client_keys_next_change(keys, CLIENT_KEYS_RECORD).ptr) {
    }
}

static struct client_keys *listed_records(void)
{
    struct client_keys *keys = record_keys_of(NULL, 0);
    client_records_list_placement(keys);
    return keys;
}

UNIT_FIXTURE_MADE(listed_records(), client_keys_free)

/* ---- Looking ---- */

/* NULL: the key is not wanted. */
static void assert_record(const struct client_keys *keys, const char *label, const char *want)
{
    char key[128];
    (void)snprintf(key, sizeof(key), CLIENT "%s", label);
    struct slice value = client_keys_value(keys, slice_str(key));
    char text[512];
    (void)snprintf(text, sizeof(text), "%.*s", (int)value.len, value.ptr ? value.ptr : "");
    assert_string_equal(text, want ? want : "");
}

/* NULL: there is no further change. */
static void assert_record_change(struct client_keys *keys, const char *label)
{
    struct slice key = client_keys_next_change(keys, CLIENT_KEYS_RECORD);
    char text[128];
    (void)snprintf(text, sizeof(text), "%.*s", (int)key.len, key.ptr ? key.ptr : "");
    assert_string_equal(text[0] ? text + strlen(CLIENT) : "", label ? label : "");
}

/* ---- Cases ---- */

UNIT_TEST_ON(test_a_pod_and_its_node, struct client_keys *keys)
{
    tell_record_pod(keys, "prod", "web-0", "n1", "10.1.0.5", "fd00::");
    static const char web[] =
        "{\"namespace\":\"prod\",\"pod\":\"web-0\",\"node\":\"n1\",\"zone\":\"eu-1a\"}";
    assert_record(keys, "10-1-0-5", web);
    assert_record(keys, "fd00--0", web);
    assert_record_change(keys, "10-1-0-5");
    assert_record_change(keys, "fd00--0");
    tell_record_pod(keys, "prod", "web-0", "n1", "10.1.0.5", "fd00::"); /* nothing new */
    assert_record_change(keys, NULL);
    tell_record_pod(keys, "prod", "web-0", "n2", "10.1.0.5", NULL); /* moved */
    assert_record(keys, "10-1-0-5", "{\"namespace\":\"prod\",\"pod\":\"web-0\",\"node\":\"n2\"}");
    assert_record(keys, "fd00--0", NULL);
    assert_record_change(keys, "10-1-0-5");
    assert_record_change(keys, "fd00--0");
    tell_record_pod(keys, "prod", "web-0", "", "10.1.0.5", NULL);
    assert_record(keys, "10-1-0-5", "{\"namespace\":\"prod\",\"pod\":\"web-0\"}");
    client_keys_remove(keys, KUBE_POD, "prod", "web-0");
    client_keys_remove(keys, KUBE_POD, "prod", "web-0");
    assert_record(keys, "10-1-0-5", NULL);
    assert_record_change(keys, "10-1-0-5");
    assert_record_change(keys, NULL);
    assert_record(keys, "no-address", NULL);
}

UNIT_TEST_ON(test_pods_that_share_an_address, struct client_keys *keys)
{
    tell_record_pod(keys, "a", "p", "n1", "10.1.0.1", NULL);
    tell_record_pod(keys, "a", "q", "n1", "10.1.0.1", "10.1.0.1");
    assert_record(keys, "10-1-0-1", "{\"namespace\":\"a\"}");
    tell_record_pod(keys, "b", "p", "n1", "10.1.0.1", NULL);
    assert_record(keys, "10-1-0-1", NULL);
    client_keys_remove(keys, KUBE_POD, "a", "p");
    assert_record(keys, "10-1-0-1", NULL);
    client_keys_remove(keys, KUBE_POD, "a", "q"); /* passed on */
    assert_record(keys, "10-1-0-1",
                  "{\"namespace\":\"b\",\"pod\":\"p\",\"node\":\"n1\",\"zone\":\"eu-1a\"}");
    tell_record_pod(keys, "c", "x", "n1", "10.1.0.2", "10.1.0.2"); /* named twice */
    assert_record(keys, "10-1-0-2",
                  "{\"namespace\":\"c\",\"pod\":\"x\",\"node\":\"n1\",\"zone\":\"eu-1a\"}");
}

UNIT_TEST_ON(test_pods_without_records, struct client_keys *keys)
{
    tell_odd_pod(keys, "host", true, "Running", "10.1.0.1");
    assert_record(keys, "10-1-0-1", NULL);
    tell_record_pod(keys, "odd", "guest", "n1", "10.1.0.1", NULL); /* shares the node's */
    assert_record(keys, "10-1-0-1", NULL);
    tell_odd_pod(keys, "host", true, "Failed", "10.1.0.1");
    assert_record(keys, "10-1-0-1",
                  "{\"namespace\":\"odd\",\"pod\":\"guest\",\"node\":\"n1\",\"zone\":\"eu-1a\"}");
    tell_odd_pod(keys, "job", false, "Succeeded", "10.1.0.2");
    tell_odd_pod(keys, "new", false, "Pending", "10.1.0.3"); /* its init containers ask, too */
    tell_odd_pod(keys, "bad", false, "Running", "no address");
    tell_odd_pod(keys, "zero", false, "Running", "0.0.0.0");
    assert_record(keys, "10-1-0-2", NULL);
    assert_record(keys, "10-1-0-3",
                  "{\"namespace\":\"odd\",\"pod\":\"new\",\"node\":\"n1\",\"zone\":\"eu-1a\"}");
    assert_record(keys, "0-0-0-0", NULL);
    const struct kube_object garbled = {
        .kind = KUBE_POD, .ns = "odd", .name = "new", .faults = "x", .is_garbled = true};
    client_keys_upsert(keys, &garbled); /* keeps its last state */
    assert_record(keys, "10-1-0-3",
                  "{\"namespace\":\"odd\",\"pod\":\"new\",\"node\":\"n1\",\"zone\":\"eu-1a\"}");
}

UNIT_TEST_ON(test_zones, struct client_keys *keys)
{
    tell_record_pod(keys, "a", "p", "n1", "10.1.0.1", NULL);
    tell_record_pod(keys, "a", "q", "n1", "10.1.0.2", NULL);
    tell_record_pod(keys, "a", "r", "late", "10.1.0.3", NULL);
    while (client_keys_next_change(keys, CLIENT_KEYS_RECORD).ptr) {
    }
    client_records_tell_node(keys, "n1", "eu-1a");
    assert_record_change(keys, NULL);
    client_records_tell_node(keys, "n1", "eu-1b"); /* of its pods alone */
    assert_record_change(keys, "10-1-0-2");
    assert_record_change(keys, "10-1-0-1");
    assert_record_change(keys, NULL);
    assert_record(keys, "10-1-0-1",
                  "{\"namespace\":\"a\",\"pod\":\"p\",\"node\":\"n1\",\"zone\":\"eu-1b\"}");
    client_records_tell_node(keys, "late", "z\"");
    assert_record(keys, "10-1-0-3",
                  "{\"namespace\":\"a\",\"pod\":\"r\",\"node\":\"late\",\"zone\":\"z\\\"\"}");
    assert_int_equal(client_keys_count(keys, KUBE_NODE), 3);
    client_keys_list_begin(keys, KUBE_NODE, "");
    client_records_tell_node(keys, "late", "z");
    client_keys_list_end(keys, KUBE_NODE, ""); /* the others are gone */
    assert_record(keys, "10-1-0-1", "{\"namespace\":\"a\",\"pod\":\"p\",\"node\":\"n1\"}");
    assert_int_equal(client_keys_count(keys, KUBE_NODE), 1);
    client_keys_remove(keys, KUBE_NODE, "", "late");
    assert_record(keys, "10-1-0-3", "{\"namespace\":\"a\",\"pod\":\"r\",\"node\":\"late\"}");
}

/* Before pods and Nodes are known, a value might be wrong, or would soon be another. */
UNIT_TEST(test_nothing_before_the_lists)
{
    struct client_keys *keys = record_keys_of(NULL, 0);
    client_keys_list_begin(keys, KUBE_POD, "");
    tell_record_pod(keys, "a", "p", "n1", "10.1.0.1", NULL);
    client_keys_list_end(keys, KUBE_POD, "");
    assert_record(keys, "10-1-0-1", NULL);
    assert_record_change(keys, NULL);
    assert_false(client_keys_are_known(keys) || client_keys_may_delete(keys, CLIENT_KEYS_RECORD));
    client_keys_lack(keys, KUBE_NODE, ""); /* refused: without zones */
    assert_true(client_keys_are_known(keys) && client_keys_may_delete(keys, CLIENT_KEYS_RECORD));
    assert_record_change(keys, "10-1-0-1");
    assert_record(keys, "10-1-0-1", "{\"namespace\":\"a\",\"pod\":\"p\",\"node\":\"n1\"}");
    client_keys_list_begin(keys, KUBE_NODE, ""); /* permitted after all */
    client_records_tell_node(keys, "n1", "z");
    client_keys_list_end(keys, KUBE_NODE, "");
    assert_record_change(keys, "10-1-0-1");
    client_keys_list_begin(keys, KUBE_POD, "");
    client_keys_list_end(keys, KUBE_POD, ""); /* an empty list is not believed */
    assert_false(client_keys_may_delete(keys, CLIENT_KEYS_RECORD));
    assert_record_change(keys, NULL);
    client_keys_free(keys);
}

/* An address may be another pod's by now. */
UNIT_TEST_ON(test_pods_that_are_lost, struct client_keys *keys)
{
    client_keys_lose(keys, KUBE_POD, true);
    client_keys_lose(keys, KUBE_POD, true);
    assert_record(keys, "10-9-9-9", NULL);
    assert_record_change(keys, "10-9-9-9");
    assert_record_change(keys, NULL);
    assert_true(client_keys_may_delete(keys, CLIENT_KEYS_RECORD));
    client_keys_lose(keys, KUBE_POD, false);
    assert_record_change(keys, "10-9-9-9");
    assert_record_change(keys, NULL);
    assert_record(keys, "10-9-9-9", "{\"namespace\":\"other\",\"pod\":\"p\",\"node\":\"n2\"}");
}

/* Each namespace's pods are listed by themselves; one that is refused takes the others nothing. */
UNIT_TEST(test_records_of_some_namespaces)
{
    static const char *const namespaces[] = {"team", "crew"};
    struct client_keys *keys = record_keys_of(namespaces, 2);
    client_keys_list_begin(keys, KUBE_NODE, "");
    client_records_tell_node(keys, "n1", "");
    client_keys_list_end(keys, KUBE_NODE, "");
    client_keys_list_begin(keys, KUBE_POD, "team");
    tell_record_pod(keys, "team", "p", "n1", "10.1.0.1", NULL);
    tell_record_pod(keys, "elsewhere", "p", "n1", "10.1.0.2", NULL);
    client_keys_list_end(keys, KUBE_POD, "team");
    assert_record(keys, "10-1-0-1", NULL);
    client_keys_lack(keys, KUBE_POD, "crew");
    assert_record(keys, "10-1-0-1", "{\"namespace\":\"team\",\"pod\":\"p\",\"node\":\"n1\"}");
    assert_record(keys, "10-1-0-2", NULL);
    assert_false(client_keys_may_delete(keys, CLIENT_KEYS_RECORD));
    client_keys_list_begin(keys, KUBE_POD, "crew");
    client_keys_list_end(keys, KUBE_POD, "crew");
    assert_true(client_keys_may_delete(keys, CLIENT_KEYS_RECORD));
    assert_record(keys, "10-1-0-1", "{\"namespace\":\"team\",\"pod\":\"p\",\"node\":\"n1\"}");
    client_keys_free(keys);
}

UNIT_TEST(test_unwanted_records)
{
    struct client_keys *keys = client_keys_new(&(struct client_keys_config){.domain = "t."});
    client_records_list_placement(keys);
    assert_true(client_keys_are_known(keys) && client_keys_may_delete(keys, CLIENT_KEYS_RECORD));
    assert_true(
        slice_equal(client_keys_tree(keys, CLIENT_KEYS_RECORD), slice_str("/kube2sky/t/client/")));
    assert_null(client_keys_value(keys, slice_str("/kube2sky/t/client/10-9-9-9")).ptr);
    assert_int_equal(client_keys_count(keys, KUBE_NODE), 0);
    client_keys_free(keys);
}

/* ---- The model ---- */

enum { PODS = 10, PLACES = 4, STEPS = 20000 };

struct model_pod {
    bool exists, is_on_host;
    unsigned places; /* a bit each; at most two */
    unsigned node;
};

static const char *const places[PLACES] = {"10.1.0.1", "10.1.0.2", "fd00::1", "fd00::2"};
static const char *const place_labels[PLACES] = {"10-1-0-1", "10-1-0-2", "fd00--1", "fd00--2"};
static const char *const nodes[] = {"", "n1", "n2"};

static unsigned record_draw(unsigned *random, unsigned below)
{
    *random = *random * 1664525 + 1013904223;
    return (*random >> 16) % below;
}

static void tell_model_pod(struct client_keys *keys, const struct model_pod *pod, size_t i)
{
    const char *ips[2] = {NULL, NULL};
    char name[8];
    size_t count = 0;
    for (unsigned bit = 0; bit < PLACES && count < 2; bit++) {
        if (pod->places >> bit & 1) {
            ips[count++] = places[bit];
        }
    }
    (void)snprintf(name, sizeof(name), "p%zu", i);
    const struct kube_object object = {
        .kind = KUBE_POD,
        .ns = i % 2 ? "a" : "b",
        .name = name,
        .faults = "",
        .pod = {.phase = "Running",
                .node = nodes[pod->node],
                .ips = ips,
                .ip_count = count,
                .is_on_host_network = pod->is_on_host},
    };
    client_keys_upsert(keys, &object);
}

static void expect_record(const struct model_pod pods[PODS], const char *const zones[3],
                          unsigned bit, char out[200])
{
    size_t count = 0, last = 0;
    bool is_nobody = false;
    for (size_t i = 0; i < PODS; i++) {
        if (pods[i].exists && (pods[i].places >> bit & 1)) {
            is_nobody = is_nobody || pods[i].is_on_host || (count && i % 2 != last % 2);
            count++;
            last = i;
        }
    }
    out[0] = '\0';
    if (count > 0 && !is_nobody) {
        const char *node = nodes[pods[last].node], *zone = zones[pods[last].node];
        int n = snprintf(out, 200, "{\"namespace\":\"%s\"", last % 2 ? "a" : "b");
        n += count == 1 ? snprintf(out + n, 100, ",\"pod\":\"p%zu\"", last) : 0;
        n += count == 1 && *node ? snprintf(out + n, 100, ",\"node\":\"%s\"", node) : 0;
        n += count == 1 && *zone ? snprintf(out + n, 100, ",\"zone\":\"%s\"", zone) : 0;
        (void)snprintf(out + n, 10, "}");
    }
}

static void follow_record_changes(struct client_keys *keys, char seen[PLACES][200])
{
    struct slice key;
    while ((key = client_keys_next_change(keys, CLIENT_KEYS_RECORD)).ptr) {
        struct slice value = client_keys_value(keys, key);
        for (unsigned bit = 0; bit < PLACES; bit++) {
            if (slice_has_suffix(key, slice_str(place_labels[bit]))) {
                (void)snprintf(seen[bit], 200, "%.*s", (int)value.len, value.ptr ? value.ptr : "");
            }
        }
    }
}

/* A reader that looks only at announced changes sees every change. */
UNIT_TEST(test_random_pods_and_nodes)
{
    struct client_keys *keys = record_keys_of(NULL, 0);
    struct model_pod pods[PODS] = {{.exists = false}};
    const char *zones[3] = {"", "", ""};
    char seen[PLACES][200] = {""}, want[200], name[8];
    unsigned random = 3, held = 0;
    client_keys_list_begin(keys, KUBE_NODE, "");
    client_keys_list_end(keys, KUBE_NODE, "");
    client_keys_list_begin(keys, KUBE_POD, "");
    client_keys_list_end(keys, KUBE_POD, "");
    for (int step = 0; step < STEPS; step++) {
        size_t i = record_draw(&random, PODS);
        unsigned node = 1 + record_draw(&random, 2);
        (void)snprintf(name, sizeof(name), "p%zu", i);
        switch (record_draw(&random, 8)) {
        case 0:
            zones[node] = record_draw(&random, 2) ? "z1" : "";
            client_records_tell_node(keys, nodes[node], zones[node]);
            break;
        case 1:
            zones[node] = "";
            client_keys_remove(keys, KUBE_NODE, "", nodes[node]);
            break;
        case 2:
        case 3:
            pods[i] = (struct model_pod){.exists = false};
            client_keys_remove(keys, KUBE_POD, i % 2 ? "a" : "b", name);
            break;
        default:
            pods[i] = (struct model_pod){
                .exists = true,
                .is_on_host = record_draw(&random, 5) == 0,
                .places = 1u << record_draw(&random, PLACES) | 1u << record_draw(&random, PLACES),
                .node = record_draw(&random, 3),
            };
            tell_model_pod(keys, &pods[i], i);
        }
        if (record_draw(&random, 3)) {
            continue;
        }
        follow_record_changes(keys, seen);
        for (unsigned bit = 0; bit < PLACES; bit++) {
            expect_record(pods, zones, bit, want);
            assert_string_equal(seen[bit], want);
            held += want[0] != '\0';
        }
    }
    assert_true(held > STEPS / 20);
    client_keys_free(keys);
}
