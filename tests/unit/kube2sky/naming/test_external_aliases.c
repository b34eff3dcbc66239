/* external_aliases: who of several gets a name, which owners are told, and what each wants, against
 * a model that looks at everything; external_keys: which names have keys of others. */
#include "kube2sky/naming/external_aliases.h"

#include "common/base/buf.h"
#include "kube2sky/naming/external_keys.h"
#include "tests/support/random_numbers.h"
#include "tests/support/unit_test.h"

struct bed {
    struct override_zones *zones;
    struct external_aliases *aliases;
    struct external_keys *keys;
    struct buf told; /* owners and names, each with a blank behind it */
};

static void external_aliases_on_told(void *data, struct slice what)
{
    struct bed *bed = data;
    buf_append_slice(&bed->told, what);
    buf_append_char(&bed->told, ' ');
}

static void external_aliases_bed_open(struct bed *bed)
{
    struct err err = {0};
    assert_int_equal(override_zones_parse("*.example.com", "cluster.local.", &bed->zones, &err), 0);
    buf_init(&bed->told, 1 << 20);
    bed->aliases = external_aliases_new(&(struct external_aliases_config){
        .zones = bed->zones,
        .domain = "cluster.local.",
        .ttl_s = 30,
        .changed = external_aliases_on_told,
        .data = bed,
    });
    bed->keys = external_keys_new(&(struct external_keys_config){
        .zones = bed->zones, .changed = external_aliases_on_told, .data = bed});
}

static void external_aliases_bed_close(struct bed *bed)
{
    external_aliases_free(bed->aliases);
    external_keys_free(bed->keys);
    override_zones_free(bed->zones);
    buf_fini(&bed->told);
}

static void external_aliases_ask(struct bed *bed, enum alias_rank rank, const char *id,
                                 const char *target, int64_t created_s, const char *names)
{
    const char *ns = strchr(id, '/');
    const struct alias_owner_object owner_object = {
        .id = slice_str(id),
        .ns = ns ? slice_of(ns + 1, strcspn(ns + 1, "/")) : slice_of(NULL, 0),
        .target = slice_str(target),
        .created_s = created_s,
        .rank = rank,
    };
    external_aliases_set_text(bed->aliases, &owner_object, slice_str(names));
}

static bool is_never_taken(const void *data UNUSED, struct slice name UNUSED,
                           struct slice key UNUSED)
{
    return false;
}

/* "+key" of what it gets, "=key" of what it does not. */
static const char *external_aliases_wants(struct bed *bed, const char *owner, struct buf *out)
{
    struct desired wanted, left;
    desired_init(&wanted);
    desired_init(&left);
    external_aliases_build(bed->aliases, slice_str(owner), SIZE_MAX, is_never_taken, NULL, &wanted,
                           &left);
    buf_clear(out);
    for (size_t i = 0; i < wanted.count + left.count; i++) {
        bool is_left = i >= wanted.count;
        struct desired_record record =
            is_left ? desired_get(&left, i - wanted.count) : desired_get(&wanted, i);
        buf_append_str(out, i ? " " : "");
        buf_append_char(out, is_left ? '=' : '+');
        buf_append_slice(out, record.key);
    }
    desired_fini(&wanted);
    desired_fini(&left);
    return buf_cstr(out);
}

UNIT_TEST(test_record)
{
    CLEANUP(external_aliases_bed_close) struct bed bed;
    struct desired wanted, left;
    external_aliases_bed_open(&bed);
    desired_init(&wanted);
    desired_init(&left);
    external_aliases_ask(&bed, ALIAS_OF_SERVICE, "svc/default/web", "default/web", 1,
                         " App.Example.com.,*.example.com ,");
    external_aliases_build(bed.aliases, slice_str("alias/default/web"), SIZE_MAX, is_never_taken,
                           NULL, &wanted, &left);
    assert_int_equal(wanted.count, 2);
    assert_true(
        slice_equal(desired_get(&wanted, 0).key, slice_str("/skydns/com/example/*/41d689bb")));
    assert_true(
        slice_equal(desired_get(&wanted, 1).key, slice_str("/skydns/com/example/app/41d689bb")));
    assert_true(
        slice_equal(desired_get(&wanted, 1).value,
                    slice_str("{\"host\":\"web.default.svc.cluster.local.\",\"priority\":10,"
                              "\"weight\":10,\"ttl\":30,\"targetstrip\":1}")));
    desired_fini(&wanted);
    desired_fini(&left);
}

static void count_alias_view(void *data, const struct alias_view *view UNUSED)
{
    ++*(size_t *)data;
}

/* A route names it at each listener of a Gateway. It is one of 64 names, and /explain shows it
 * once. */
UNIT_TEST(test_repeated_name)
{
    struct bed bed;
    struct buf names;
    size_t count = 0;
    external_aliases_bed_open(&bed);
    buf_init(&names, 1 << 20);
    for (size_t i = 0; i < 2 * EXTERNAL_ALIASES_OBJECT_MAX; i++) {
        buf_append_str(&names, "x.example.com,");
    }
    buf_append_str(&names, "y.example.com");
    external_aliases_ask(&bed, ALIAS_OF_SERVICE, "svc/default/web", "default/web", 1,
                         buf_cstr(&names));
    external_aliases_each(bed.aliases, slice_str("alias/default/web"), count_alias_view, &count);
    assert_int_equal(count, 2);
    assert_int_equal(external_aliases_count(bed.aliases).refused, 0);
    buf_fini(&names);
    external_aliases_bed_close(&bed);
}

UNIT_TEST(test_order)
{
    CLEANUP(external_aliases_bed_close) struct bed bed;
    const char *const mine = "+/skydns/com/example/x/41d689bb";
    external_aliases_bed_open(&bed);
    CLEANUP_BUF struct buf out = buf_of(1 << 20);
    external_aliases_ask(&bed, ALIAS_OF_ROUTE, "ingress/default/i", "default/web", 1,
                         "x.example.com");
    assert_string_equal(external_aliases_wants(&bed, "alias/default/web", &out), mine);
    external_aliases_ask(&bed, ALIAS_OF_SERVICE, "svc/b/s", "b/s", 9, "x.example.com");
    assert_int_equal(*external_aliases_wants(&bed, "alias/default/web", &out), '=');
    external_aliases_ask(&bed, ALIAS_OF_SERVICE, "svc/a/s", "a/s", 9, "x.example.com");
    assert_int_equal(*external_aliases_wants(&bed, "alias/a/s", &out), '+');
    assert_int_equal(*external_aliases_wants(&bed, "alias/b/s", &out), '=');
    external_aliases_ask(&bed, ALIAS_OF_SERVICE, "svc/c/s", "c/s", 8, "x.example.com");
    assert_int_equal(*external_aliases_wants(&bed, "alias/c/s", &out), '+');
    assert_int_equal(external_aliases_count(bed.aliases).taken, 3);
    external_aliases_ask(&bed, ALIAS_OF_CONFIG_MAP, "ConfigMap", "", 0, "x.example.com");
    assert_int_equal(*external_aliases_wants(&bed, "alias/c/s", &out), '=');
    bool is_config = false;
    assert_int_equal(
        external_aliases_owner(bed.aliases, slice_str("/skydns/com/example/x"), &is_config).len, 0);
    assert_true(is_config);
    buf_clear(&bed.told);
    external_aliases_ask(&bed, ALIAS_OF_CONFIG_MAP, "ConfigMap", "", 0, "");
    assert_string_equal(buf_cstr(&bed.told), "alias/c/s ");
    buf_clear(&bed.told);
    external_aliases_ask(&bed, ALIAS_OF_SERVICE, "svc/b/s", "b/s", 9,
                         "x.example.com"); /* the same */
    assert_string_equal(buf_cstr(&bed.told), "");
    external_aliases_ask(&bed, ALIAS_OF_SERVICE, "svc/c/s", "c/s", 8, "");
    assert_string_equal(buf_cstr(&bed.told), "alias/a/s alias/c/s ");
}

UNIT_TEST(test_limit_of_a_service)
{
    CLEANUP(external_aliases_bed_close) struct bed bed;
    external_aliases_bed_open(&bed);
    CLEANUP_BUF struct buf names = buf_of(1 << 20);
    for (int i = 0; i < EXTERNAL_ALIASES_OBJECT_MAX + 6; i++) {
        buf_printf(&names, "n%d.example.com,", i);
    }
    external_aliases_ask(&bed, ALIAS_OF_SERVICE, "svc/a/s", "a/s", 9, buf_cstr(&names));
    assert_int_equal(external_aliases_count(bed.aliases).names, EXTERNAL_ALIASES_OBJECT_MAX);
    assert_int_equal(external_aliases_count(bed.aliases).refused, 1);
}

/* Names that do not fit come when there is room; other namespaces are not concerned. */
UNIT_TEST(test_limit_of_a_namespace)
{
    CLEANUP(external_aliases_bed_close) struct bed bed;
    char id[40], name[40];
    external_aliases_bed_open(&bed);
    for (int i = 0; i < EXTERNAL_ALIASES_NAMESPACE_MAX + 2; i++) {
        (void)snprintf(id, sizeof(id), "ingress/a/%d", i);
        (void)snprintf(name, sizeof(name), "n%d.example.com", i);
        external_aliases_ask(&bed, ALIAS_OF_ROUTE, id, "infra/in", 9, name);
    }
    external_aliases_ask(&bed, ALIAS_OF_ROUTE, "ingress/b/x", "infra/in", 9, "b.example.com");
    assert_int_equal(external_aliases_count(bed.aliases).names, EXTERNAL_ALIASES_NAMESPACE_MAX + 1);
    assert_int_equal(external_aliases_count(bed.aliases).refused, 2);
    external_aliases_ask(&bed, ALIAS_OF_ROUTE, "ingress/a/7", "infra/in", 9, "");
    assert_int_equal(external_aliases_count(bed.aliases).names, EXTERNAL_ALIASES_NAMESPACE_MAX + 1);
    assert_int_equal(external_aliases_count(bed.aliases).refused, 1);
}

/* How many keys the owner gets whose name begins so. */
static size_t count_wanted(struct bed *bed, size_t names_max, const char *prefix)
{
    struct desired wanted, left;
    CLEANUP_FREE char *start = xasprintf("/skydns/com/example/%s", prefix);
    size_t count = 0;
    desired_init(&wanted);
    desired_init(&left);
    external_aliases_build(bed->aliases, slice_str("alias/infra/in"), names_max, is_never_taken,
                           NULL, &wanted, &left);
    for (size_t i = 0; i < wanted.count; i++) {
        count += slice_has_prefix(desired_get(&wanted, i).key, slice_str(start));
    }
    assert_true(wanted.count + left.count == 111);
    desired_fini(&wanted);
    desired_fini(&left);
    return count;
}

/* A namespace with many names leaves room for the others when the Service may not have all. */
UNIT_TEST(test_shares)
{
    CLEANUP(external_aliases_bed_close) struct bed bed;
    char id[40], name[40];
    external_aliases_bed_open(&bed);
    for (int i = 0; i < 111; i++) {
        const char *ns = i < 100 ? "many" : i < 110 ? "few" : "one";
        (void)snprintf(id, sizeof(id), "ingress/%s/%d", ns, i);
        (void)snprintf(name, sizeof(name), "%s%d.example.com", ns, i);
        external_aliases_ask(&bed, ALIAS_OF_ROUTE, id, "infra/in", 9, name);
    }
    static const size_t rows[][4] = {
        {111, 100, 10, 1}, {1000, 100, 10, 1}, {110, 99, 10, 1}, {41, 30, 10, 1},
        {21, 10, 10, 1},   {20, 9, 9, 1},      {3, 1, 1, 1},     {0, 0, 0, 0},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        assert_int_equal(count_wanted(&bed, rows[i][0], "many"), rows[i][1]);
        assert_int_equal(count_wanted(&bed, rows[i][0], "few"), rows[i][2]);
        assert_int_equal(count_wanted(&bed, rows[i][0], "one"), rows[i][3]);
    }
}

/* ---- Against a model ---- */

enum { MODEL_ASKERS = 12, MODEL_NAMES = 5, MODEL_TARGETS = 4 };

struct model_requester {
    bool asks[MODEL_NAMES];
    int target;
    enum alias_rank rank;
    int64_t created_s;
};

static void model_ask(struct bed *bed, const struct model_requester *requester, int i)
{
    char names[200] = "", id[20], target[20];
    for (int n = 0; n < MODEL_NAMES; n++) {
        size_t at = strlen(names);
        (void)snprintf(names + at, sizeof(names) - at, "%s", requester->asks[n] ? "n" : "");
        at = strlen(names);
        if (requester->asks[n]) {
            (void)snprintf(names + at, sizeof(names) - at, "%d.example.com,", n);
        }
    }
    (void)snprintf(id, sizeof(id), "x/n/%02d", i);
    (void)snprintf(target, sizeof(target), "t/%d", requester->target);
    external_aliases_ask(bed, requester->rank, id, target, requester->created_s, names);
}

/* Returns the number of the name's owner; -1: none. */
static int model_winner(const struct model_requester *requesters, int name)
{
    int best = -1;
    for (int i = 0; i < MODEL_ASKERS; i++) {
        const struct model_requester *a = &requesters[i], *b = &requesters[best < 0 ? 0 : best];
        bool is_better =
            best < 0 || a->rank < b->rank || (a->rank == b->rank && a->created_s < b->created_s);
        best = a->asks[name] && is_better ? i : best;
    }
    return best;
}

static void model_check(struct bed *bed, const struct model_requester *requesters)
{
    size_t names = 0, taken = 0;
    for (int n = 0; n < MODEL_NAMES; n++) {
        char key[40], want[20] = "";
        bool is_config = false;
        int winner = model_winner(requesters, n);
        (void)snprintf(key, sizeof(key), "/skydns/com/example/n%d", n);
        if (winner >= 0) {
            (void)snprintf(want, sizeof(want), "alias/t/%d", requesters[winner].target);
        }
        for (int i = 0; i < MODEL_ASKERS; i++) {
            taken += requesters[i].asks[n] && requesters[i].target != requesters[winner].target;
        }
        names += winner >= 0;
        struct slice got = external_aliases_owner(bed->aliases, slice_str(key), &is_config);
        assert_true(slice_equal(got, slice_str(want)));
    }
    assert_int_equal(external_aliases_count(bed->aliases).names, names);
    assert_int_equal(external_aliases_count(bed->aliases).taken, taken);
}

UNIT_TEST(test_random)
{
    CLEANUP(external_aliases_bed_close) struct bed bed;
    struct model_requester requesters[MODEL_ASKERS] = {{.target = 0}};
    struct buf before[MODEL_TARGETS], after;
    external_aliases_bed_open(&bed);
    buf_init(&after, 1 << 20);
    for (int t = 0; t < MODEL_TARGETS; t++) {
        buf_init(&before[t], 1 << 20);
    }
    for (int step = 0; step < 3000; step++) {
        char owner[20];
        int i = (int)random_below(MODEL_ASKERS);
        for (int n = 0; n < MODEL_NAMES; n++) {
            requesters[i].asks[n] = random_below(3) == 0;
        }
        requesters[i].target = (int)random_below(MODEL_TARGETS);
        requesters[i].rank = random_below(2) ? ALIAS_OF_SERVICE : ALIAS_OF_ROUTE;
        requesters[i].created_s = random_below(4);
        buf_clear(&bed.told);
        model_ask(&bed, &requesters[i], i);
        model_check(&bed, requesters);
        for (int t = 0; t < MODEL_TARGETS; t++) { /* whoever wants other keys now was told */
            (void)snprintf(owner, sizeof(owner), "alias/t/%d", t);
            const char *now = external_aliases_wants(&bed, owner, &after);
            if (strcmp(now, buf_cstr(&before[t])) != 0) {
                bool is_told = strstr(buf_cstr(&bed.told), owner) != NULL;
                bool is_gain = strchr(now, '+') || strchr(buf_cstr(&before[t]), '+');
                assert_true(is_told || !is_gain);
            }
            buf_clear(&before[t]);
            buf_append_str(&before[t], now);
        }
    }
    for (int t = 0; t < MODEL_TARGETS; t++) {
        buf_fini(&before[t]);
    }
    buf_fini(&after);
}

/* ---- Keys ---- */

static bool has_other(const struct bed *bed, const char *name)
{
    return external_keys_has_other(bed->keys, slice_str(name), NULL, NULL);
}

static void external_aliases_put_key(struct bed *bed, const char *key, const char *value,
                                     const char *owner, uint32_t generation)
{
    external_keys_put(bed->keys, slice_str(key), slice_str(value), slice_str(owner), 7, generation);
}

UNIT_TEST(test_keys)
{
    CLEANUP(external_aliases_bed_close) struct bed bed;
    const char *const name = "/skydns/com/example/app", *const below_name =
                                                            "/skydns/com/example/app/1";
    external_aliases_bed_open(&bed);
    external_aliases_put_key(&bed, below_name, "{\"host\":\"192.0.2.1\",\"targetstrip\":1}", "", 1);
    assert_true(has_other(&bed, name));
    assert_false(has_other(&bed, below_name));
    assert_string_equal(buf_cstr(&bed.told), "/skydns/com/example/app ");
    external_aliases_put_key(&bed, below_name, "{\"host\":\"192.0.2.2\",\"targetstrip\":1}", "", 1);
    assert_string_equal(buf_cstr(&bed.told), "/skydns/com/example/app "); /* as before */
    external_aliases_put_key(&bed, below_name, "{\"host\":\"192.0.2.1\"}", "", 1);
    assert_false(has_other(&bed, name));
    assert_true(has_other(&bed, below_name));
    external_aliases_put_key(&bed, below_name, "{\"host\":\"x\"}", "alias/default/web", 1);
    assert_false(has_other(&bed, below_name));
    assert_true(slice_equal(external_keys_owner(bed.keys, slice_str(below_name)),
                            slice_str("alias/default/web")));
    external_aliases_put_key(&bed, name, "no JSON", "", 1);
    external_aliases_put_key(&bed, "/skydns/org/app", "{\"host\":\"x\"}", "", 1); /* in no zone */
    external_aliases_put_key(&bed, "/skydns/com", "{\"host\":\"x\",\"targetstrip\":9}", "", 1);
    assert_true(has_other(&bed, name));
    assert_false(has_other(&bed, "/skydns/org/app"));
    assert_false(has_other(&bed, "/skydns/com"));
    external_aliases_put_key(&bed, below_name, "{\"host\":\"x\"}", "alias/default/web", 2);
    external_keys_sweep(bed.keys, 2);
    assert_false(has_other(&bed, name));
    assert_int_equal(external_keys_revision(bed.keys, slice_str(below_name)), 7);
    external_keys_delete(bed.keys, slice_str(below_name));
    external_keys_delete(bed.keys, slice_str(below_name));
    assert_int_equal(external_keys_revision(bed.keys, slice_str(below_name)), 0);
}
