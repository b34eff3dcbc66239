/* Nodes through inventory and naming: names with dots, none of which gives another node's address,
 * whatever comes first, and what may be deleted. */
#include "tests/unit/kube2sky/objects.h"

#include "common/base/buf.h"
#include "kube2sky/naming/inventory.h"
#include "kube2sky/naming/key_style.h"
#include "kube2sky/naming/naming.h"
#include "kube2sky/naming/node_names_internal.h"
#include "tests/support/random_numbers.h"
#include "tests/support/unit_test.h"

#define BASE     "/skydns/local/cluster/"
#define VALUE(h) "{\"host\":\"" h "\",\"priority\":10,\"weight\":10,\"ttl\":30,\"targetstrip\":0}"

struct fixture {
    struct inventory *inventory;
    struct buf changed; /* "owner owner " since the last check */
};

static void nodes_note_change(void *data, struct slice owner)
{
    struct fixture *f = data;
    buf_append_slice(&f->changed, owner);
    buf_append_char(&f->changed, ' ');
}

static void nodes_set_up(struct fixture *f)
{
    buf_init(&f->changed, 1 << 20);
    f->inventory = inventory_new(
        &(struct inventory_config){.is_narrowed = true, .changed = nodes_note_change, .data = f});
    inventory_want(f->inventory, KUBE_NODE, true);
}

static void nodes_tear_down(struct fixture *f)
{
    inventory_free(f->inventory);
    buf_fini(&f->changed);
}

UNIT_FIXTURE(struct fixture, nodes_set_up, nodes_tear_down)

static void assert_changed(struct fixture *f, const char *want)
{
    assert_string_equal(buf_cstr(&f->changed), want);
    buf_clear(&f->changed);
}

/* addresses: "10.0.0.1,fd00::1" */
static struct kube_object *node_from(const char *name, const char *addresses)
{
    CLEANUP_BUF struct buf text = buf_of(1 << 16);
    buf_printf(&text,
               "{'metadata':{'name':'%s'},'status':{'addresses':["
               "{'type':'Hostname','address':'%s'}",
               name, name);
    while (*addresses) {
        size_t n = strcspn(addresses, ",");
        buf_printf(&text, ",{'type':'InternalIP','address':'%.*s'}", (int)n, addresses);
        addresses += n + (addresses[n] == ',');
    }
    buf_append_str(&text, "]}}");
    return object_from(KUBE_NODE, buf_cstr(&text));
}

static void nodes_put(struct fixture *f, const char *name, const char *addresses)
{
    inventory_upsert(f->inventory, node_from(name, addresses));
}

static void nodes_note_drop(void *data, const struct naming_drop *drop)
{
    assert_string_equal(drop->kind, "nodes");
    assert_string_equal(drop->ns, "");
    buf_printf(data, "(%s: %s=%s)", drop->name, drop->what, drop->value);
}

/* "key host\n" of the owner, then what was dropped; "? " first if it is in doubt. */
static void assert_keys(struct fixture *f, const char *owner, const char *want)
{
    struct buf text;
    struct naming_config config = {
        .domain = "cluster.local.", .ttl_s = 30, .dropped = nodes_note_drop, .data = &text};
    struct owner_objects objects;
    struct desired desired;
    struct claims claims;
    struct err err = {0};
    buf_init(&text, 1 << 20);
    owner_objects_init(&objects);
    desired_init(&desired);
    claims_init(&claims);
    inventory_get(f->inventory, slice_str(owner), &objects);
    assert_int_equal(naming_build(&config, &objects, &desired, &claims, &err), 0);
    assert_int_equal(claims.count, 0); /* no reverse name */
    if (objects.is_in_doubt) {
        buf_append_str(&text, "? ");
    }
    for (size_t i = 0; i < desired.count; i++) {
        struct desired_record record = desired_get(&desired, i);
        struct slice below = slice_of(record.key.ptr + strlen(BASE), record.key.len - strlen(BASE));
        assert_true(slice_has_prefix(record.key, slice_str(BASE)));
        assert_true(slice_has_prefix(below, slice_str(owner)) && below.ptr[strlen(owner)] == '/');
        assert_true(key_style_object(slice_str("cluster.local."), false, below, record.value));
        buf_append_slice(&text, below);
        buf_append_char(&text, ' ');
        buf_append_slice(&text, record.value);
        buf_append_char(&text, '\n');
    }
    assert_string_equal(buf_cstr(&text), want);
    desired_fini(&desired);
    claims_fini(&claims);
    owner_objects_fini(&objects);
    buf_fini(&text);
}

/* ---- Keys ---- */

UNIT_TEST_ON(test_keys, struct fixture *f)
{
    nodes_put(f, "worker-1", "10.0.0.1,FD00:0::1");
    assert_changed(f, "node/worker-1 ");
    assert_keys(f, "node/worker-1",
                "node/worker-1/479bcb2e " VALUE("fd00::1") "\n"
                                                           "node/worker-1/c88f1059 " VALUE(
                                                               "10.0.0.1") "\n");
    nodes_put(f, "worker-1", "10.0.0.1,10.0.0.1,nonsense");
    assert_changed(f, "node/worker-1 ");
    assert_keys(f, "node/worker-1",
                "(worker-1: address=nonsense)node/worker-1/c88f1059 " VALUE("10.0.0.1") "\n");
    nodes_put(f, "worker-1", "10.0.0.1,10.0.0.1,nonsense"); /* heartbeats change nothing */
    assert_changed(f, "");
    nodes_put(f, "worker-1", "");
    assert_keys(f, "node/worker-1", "");
    buf_clear(&f->changed);
    inventory_remove(f->inventory, KUBE_NODE, "", "worker-1");
    assert_changed(f, "node/worker-1 ");
    assert_keys(f, "node/worker-1", "");
    assert_int_equal(inventory_count(f->inventory, KUBE_NODE), 0);
}

/* Names that no API server sends, but that anyone could write in its place. */
UNIT_TEST_ON(test_names_that_no_key_can_have, struct fixture *f)
{
    static const struct {
        const char *name, *owner;
    } rows[] = {
        {"a..b", "node/!a..b"},
        {"a/b", "node/!a/b"},
        {".a", "node/!.a"},
        {"a_b", "node/!a_b"},
        {"!a", "node/!!a"},
        {"a234567890123456789012345678901234567890123456789012345678901234",
         "node/!a234567890123456789012345678901234567890123456789012345678901234"},
    };
    inventory_list_begin(f->inventory, KUBE_NODE);
    nodes_put(f, "a", "10.0.0.7");
    inventory_list_end(f->inventory, KUBE_NODE);
    buf_clear(&f->changed);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        CLEANUP_FREE char *changed = xasprintf("%s ", rows[i].owner);
        CLEANUP_FREE char *dropped = xasprintf("(%s: node name=%s)", rows[i].name, rows[i].name);
        nodes_put(f, rows[i].name, "10.0.0.1");
        assert_changed(f, changed);
        assert_keys(f, rows[i].owner, dropped);
    }
    /* Ids that a key in etcd can have, but no Node. */
    assert_keys(f, "node/!a", "");
    assert_keys(f, "node/A", "");
    assert_keys(f, "node/", "");
    assert_keys(f, "node/a/", "");
    assert_keys(f, "node//a", "");
}

UNIT_TEST_ON(test_too_many_addresses, struct fixture *f)
{
    struct kube_object *node = node_from("big", "10.0.0.1");
    CLEANUP(owner_objects_fini) struct owner_objects objects;
    CLEANUP(desired_fini) struct desired desired;
    CLEANUP(claims_fini) struct claims claims;
    struct err err = {0};
    const struct naming_config config = {.domain = "cluster.local.", .ttl_s = 30};
    node->node.ip_count = DESIRED_MAX + 1; /* whatever they are */
    inventory_upsert(f->inventory, node);
    owner_objects_init(&objects);
    desired_init(&desired);
    claims_init(&claims);
    inventory_get(f->inventory, slice_str("node/big"), &objects);
    assert_int_equal(naming_build(&config, &objects, &desired, &claims, &err), ERR_TOO_LARGE);
    assert_string_equal(err.msg, "100001 addresses: expected at most 100000");
}

/* ---- Names with dots ---- */

#define EC2 "node/internal/ec2/ip-10-0-0-1"

UNIT_TEST_ON(test_dots, struct fixture *f)
{
    nodes_put(f, "IP-10-0-0-1.ec2.internal", "10.0.0.1");
    assert_changed(f, EC2 " ");
    assert_keys(f, EC2, "? "); /* until everything is listed, "ec2.internal" may be a node */
    inventory_list_begin(f->inventory, KUBE_NODE);
    nodes_put(f, "IP-10-0-0-1.ec2.internal", "10.0.0.1");
    assert_changed(f, "");
    inventory_list_end(f->inventory, KUBE_NODE);
    assert_changed(f, EC2 " ");
    assert_keys(f, EC2, EC2 "/c88f1059 " VALUE("10.0.0.1") "\n");
}

/* Lists these, "a b.a c", each with its own address: 10.0.0.1, 10.0.0.9, ... */
static void nodes_list(struct fixture *f, const char *const *names)
{
    static const char *const addresses[] = {"10.0.0.1", "10.0.0.9", "fd00::1"};
    inventory_list_begin(f->inventory, KUBE_NODE);
    for (size_t i = 0; names[i]; i++) {
        nodes_put(f, names[i], addresses[i]);
    }
    inventory_list_end(f->inventory, KUBE_NODE);
}

UNIT_TEST_ON(test_the_longer_name_gives_way, struct fixture *f)
{
    nodes_list(f, (const char *const[]){"x.a.b", "b", "ab", NULL});
    assert_keys(f, "node/b/a/x", "(x.a.b: name below another node's=b)");
    assert_keys(f, "node/b", "node/b/19ccb11 " VALUE("10.0.0.9") "\n");
    assert_keys(f, "node/ab", "node/ab/479bcb2e " VALUE("fd00::1") "\n");
    buf_clear(&f->changed);

    /* It goes, and comes back. */
    inventory_remove(f->inventory, KUBE_NODE, "", "b");
    assert_changed(f, "node/b node/b/a/x ");
    assert_keys(f, "node/b/a/x", "node/b/a/x/c88f1059 " VALUE("10.0.0.1") "\n");
    nodes_put(f, "B", "10.0.0.9");
    assert_changed(f, "node/b/a/x node/b "); /* first what has to go */
    assert_keys(f, "node/b/a/x", "(x.a.b: name below another node's=B)");

    /* A list lacks it: gone. */
    nodes_list(f, (const char *const[]){"x.a.b", "a.b", NULL});
    assert_non_null(strstr(buf_cstr(&f->changed), "node/b/a/x "));
    assert_keys(f, "node/b/a/x", "(x.a.b: name below another node's=a.b)");
    assert_keys(f, "node/b/a", "node/b/a/19ccb11 " VALUE("10.0.0.9") "\n");
    assert_keys(f, "node/b", "");

    /* One that cannot be understood has its name all the same. */
    buf_clear(&f->changed);
    inventory_upsert(f->inventory, garbled_from(KUBE_NODE, "", "b", ""));
    assert_non_null(strstr(buf_cstr(&f->changed), "node/b/a "));
    assert_keys(f, "node/b/a", "(a.b: name below another node's=b)");
    assert_keys(f, "node/b", "? ");
}

/* ---- Random ones, against a loop over everything ---- */

static const char *const names[] = {"a",   "b",     "a.b",     "b.a",   "a.a",   "a.b.a",
                                    "c.b", "x.c.b", "a.x.c.b", "b.b.b", "ab.cd", "cd"};

struct world {
    struct fixture *f;
    bool exists[ARRAY_LEN(names)];
    char *keys[ARRAY_LEN(names)]; /* as named when its owner was last reported */
};

static void put_nth(struct world *w, size_t i)
{
    CLEANUP_FREE char *address = xasprintf("10.0.0.%zu", i);
    nodes_put(w->f, names[i], address);
    w->exists[i] = true;
}

static void remove_nth(struct world *w, size_t i)
{
    inventory_remove(w->f->inventory, KUBE_NODE, "", names[i]);
    w->exists[i] = false;
}

static void nodes_relist(struct world *w)
{
    inventory_list_begin(w->f->inventory, KUBE_NODE);
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        w->exists[i] = false;
        if (random_below(2) || i == ARRAY_LEN(names) - 1) { /* a list without any is no list */
            put_nth(w, i);
        }
    }
    inventory_list_end(w->f->inventory, KUBE_NODE);
}

/* The hosts of its keys, naively: its own address unless another node's name is the end of its
 * name. */
static char *nodes_expected(const struct world *w, size_t i)
{
    bool has_keys = w->exists[i];
    for (size_t j = 0; j < ARRAY_LEN(names); j++) {
        size_t n = strlen(names[i]), m = strlen(names[j]);
        bool is_end =
            n > m && names[i][n - m - 1] == '.' && strcmp(names[i] + n - m, names[j]) == 0;
        has_keys = has_keys && !(is_end && w->exists[j]);
    }
    return has_keys ? xasprintf("10.0.0.%zu", i) : xstrdup("");
}

static void nodes_ignore_drop(void *data UNUSED, const struct naming_drop *drop UNUSED)
{
}

static char *hosts_of(const struct world *w, size_t i)
{
    const struct naming_config config = {
        .domain = "cluster.local.", .ttl_s = 30, .dropped = nodes_ignore_drop};
    struct owner_objects objects;
    struct desired desired;
    struct claims claims;
    struct err err;
    CLEANUP_BUF struct buf id = buf_of(1024);
    node_names_append_owner(slice_str(names[i]), &id);
    owner_objects_init(&objects);
    desired_init(&desired);
    claims_init(&claims);
    inventory_get(w->f->inventory, buf_slice(&id), &objects);
    assert_false(objects.is_in_doubt);
    assert_int_equal(naming_build(&config, &objects, &desired, &claims, &err), 0);
    assert_in_range(desired.count, 0, 1);
    char *host = xstrdup("");
    if (desired.count) {
        struct slice value = desired_get(&desired, 0).value;
        const char *from = value.ptr + strlen("{\"host\":\"");
        free(host);
        host = xstrndup(from, (size_t)((const char *)memchr(from, '"', 64) - from));
    }
    desired_fini(&desired);
    claims_fini(&claims);
    owner_objects_fini(&objects);
    return host;
}

/* Names again only what was reported. */
static void name_reported(struct world *w)
{
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        CLEANUP_BUF struct buf id = buf_of(1024);
        node_names_append_owner(slice_str(names[i]), &id);
        buf_append_char(&id, ' ');
        const char *at = strstr(buf_cstr(&w->f->changed), buf_cstr(&id));
        if (at && (at == buf_cstr(&w->f->changed) || at[-1] == ' ')) {
            free(w->keys[i]);
            w->keys[i] = hosts_of(w, i);
        }
    }
    buf_clear(&w->f->changed);
}

UNIT_TEST_ON(test_random_nodes, struct fixture *f)
{
    struct world w = {.f = f};
    random_state = 20261123;
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        w.keys[i] = xstrdup("");
    }
    nodes_relist(&w);
    for (unsigned step = 0; step < 3000; step++) {
        size_t i = random_below(ARRAY_LEN(names));
        if (random_below(20) == 0) {
            nodes_relist(&w);
        } else if (w.exists[i]) {
            remove_nth(&w, i);
        } else {
            put_nth(&w, i);
        }
        name_reported(&w);
        for (size_t j = 0; j < ARRAY_LEN(names); j++) {
            CLEANUP_FREE char *want = nodes_expected(&w, j);
            assert_that(strcmp(w.keys[j], want) == 0, "step %u: %s: `%s`, not `%s`", step, names[j],
                        w.keys[j], want);
        }
    }
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        free(w.keys[i]);
    }
}

/* ---- Permitted deletes ---- */

static void list_nothing(struct fixture *f, enum kube_kind kind)
{
    inventory_list_begin(f->inventory, kind);
    inventory_list_end(f->inventory, kind);
}

static bool may_delete(const struct fixture *f)
{
    return inventory_may_delete(f->inventory, slice_str("node/gone"));
}

UNIT_TEST_ON(test_deletes_wait_for_the_list, struct fixture *f)
{
    list_nothing(f, KUBE_SERVICE);
    list_nothing(f, KUBE_ENDPOINTS);
    list_nothing(f, KUBE_POD);
    assert_false(may_delete(f));
    assert_false(inventory_is_complete(f->inventory));
    list_nothing(f, KUBE_NODE);
    assert_true(inventory_is_complete(f->inventory));
    assert_false(may_delete(f)); /* without any node, this process would not run */
    assert_true(inventory_doubts(f->inventory, KUBE_NODE));
    nodes_put(f, "a", "10.0.0.1");
    assert_true(may_delete(f));
    assert_false(inventory_doubts(f->inventory, KUBE_NODE));
    inventory_want(f->inventory, KUBE_NODE, false);
    assert_int_equal(inventory_count(f->inventory, KUBE_NODE), 0);
    assert_true(may_delete(f)); /* as of pods: their keys are to go */
}

/* A kind that cannot be listed is not waited for, but its keys stay. */
UNIT_TEST_ON(test_a_refused_list, struct fixture *f)
{
    inventory_want(f->inventory, KUBE_NAMESPACE, true);
    list_nothing(f, KUBE_SERVICE);
    list_nothing(f, KUBE_ENDPOINTS);
    list_nothing(f, KUBE_POD);
    assert_string_equal(inventory_missing(f->inventory), "nodes are not listed yet");
    inventory_lack(f->inventory, KUBE_NODE);
    assert_string_equal(inventory_missing(f->inventory), "namespaces are not listed yet");
    inventory_lack(f->inventory, KUBE_NAMESPACE);
    assert_true(inventory_is_complete(f->inventory));
    assert_false(may_delete(f));
    nodes_put(f, "a", "10.0.0.1");
    assert_keys(f, "node/a", "node/a/c88f1059 " VALUE("10.0.0.1") "\n");
    assert_false(may_delete(f));
}

UNIT_TEST_ON(test_namespaces_have_no_keys, struct fixture *f)
{
    inventory_want(f->inventory, KUBE_NAMESPACE, true);
    inventory_list_begin(f->inventory, KUBE_NAMESPACE);
    inventory_upsert(f->inventory,
                     object_from(KUBE_NAMESPACE, "{'metadata':{'name':'team-a','annotations':{"
                                                 "'dns.kube2sky/visible-to':'team-b'}}}"));
    const uint64_t completions = inventory_completions(f->inventory);
    inventory_list_end(f->inventory, KUBE_NAMESPACE);
    assert_int_equal(inventory_count(f->inventory, KUBE_NAMESPACE), 1);
    assert_true(inventory_completions(f->inventory) > completions);
    inventory_remove(f->inventory, KUBE_NAMESPACE, "", "team-a");
    assert_int_equal(inventory_count(f->inventory, KUBE_NAMESPACE), 0);
    assert_changed(f, "");
}
