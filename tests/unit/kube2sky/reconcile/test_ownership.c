/* ownership: whose a key is, by path and value; key_style: which keys kube2sky could have
 * written. */
#include "kube2sky/reconcile/ownership_internal.h"
#include "tests/support/unit_test.h"

#define TREE       "/skydns/local/cluster/"
#define TAIL       ",\"priority\":10,\"weight\":10,\"ttl\":30,\"targetstrip\":0}"
#define HOST(h)    "{\"host\":\"" h "\"" TAIL
#define PORT(h, p) "{\"host\":\"" h "\",\"port\":" p TAIL

static const char *const namespaces[] = {"default", "kube-system"};

struct scope {
    const char *name;
    struct ownership_config config;
};

static const struct scope all = {"all", {.domain = "cluster.local."}};
static const struct scope some = {
    "some namespaces",
    {.domain = "cluster.local.", .namespaces = namespaces, .namespace_count = 2},
};
static const struct scope written = {
    "only written",
    {.domain = "cluster.local.", .only_written = true},
};

static bool ownership_owns(const struct scope *scope, const char *key, const char *value)
{
    struct ownership o;
    ownership_init(&o, &scope->config);
    enum key_place place = ownership_place(&o, slice_str(key));
    bool is_ours = ownership_has(&o, place, slice_str(key), slice_str(value));
    ownership_fini(&o);
    return is_ours;
}

struct row {
    const char *key;
    const char *value;
    bool want;
};

static void ownership_check(const struct scope *scope, const struct row *rows, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        assert_that(ownership_owns(scope, rows[i].key, rows[i].value) == rows[i].want,
                    "%s: %s %s: want %d", scope->name, rows[i].key, rows[i].value, rows[i].want);
    }
}

UNIT_TEST(test_everything_below_svc_and_pod)
{
    static const struct row rows[] = {
        {TREE "svc/default/web/c88f1059", "{}", true},
        {TREE "svc/x", "", true},
        {TREE "svc//x//", "", true},
        {TREE "svc/", "", true},
        {TREE "pod/default/10-0-0-1/c88f1059", "{}", true},
        {TREE "svc", "{}", false},
        {TREE "pod", "{}", false},
        {TREE "node", "{}", false},
        {TREE "nodex/worker-1/c88f1059", HOST("10.0.0.1"), false},
        {TREE "svcx/default/web", "{}", false},
        {TREE "dns/ns/a", "{}", false},
        {"/skydns/local/cluster", "{}", false},
        {"/skydns/local/clusterx/svc/a/b", "{}", false},
        {"/skydns/local/other/svc/a/b", "{}", false},
        {"/skydns/config", "{}", false},
        {"/other/local/cluster/svc/a/b", "{}", false},
    };
    ownership_check(&all, rows, ARRAY_LEN(rows));
}

/* Places where keys of the ConfigMap, and of people, may be. */
UNIT_TEST(test_beside_svc_and_pod)
{
    static const struct {
        const char *key;
        enum key_place want;
    } rows[] = {
        {TREE "db", KEY_BESIDE},
        {TREE "dns/stub/local/acme/1", KEY_BESIDE},
        {TREE "svcx/default/web", KEY_BESIDE},
        {TREE "svc", KEY_ELSEWHERE},
        {TREE "pod", KEY_ELSEWHERE},
        {TREE "node", KEY_ELSEWHERE},
        {TREE "node/worker-1", KEY_ELSEWHERE}, /* of another writer with --nodes */
        {TREE "nodex/worker-1", KEY_BESIDE},
        {TREE "svc/other/web", KEY_ELSEWHERE},
        {TREE "svc/default/web", KEY_OBJECT},
        {TREE, KEY_ELSEWHERE},
        {"/skydns/local/cluster", KEY_ELSEWHERE},
        {"/skydns/local/clusterx/db", KEY_EXTERNAL},
        {"/skydns/config", KEY_EXTERNAL},
        {"/kube2sky/cluster.local/config", KEY_ELSEWHERE},
        {"", KEY_ELSEWHERE},
    };
    static const char *const one[] = {"default"};
    static const struct ownership_config config = {
        .domain = "cluster.local.", .namespaces = one, .namespace_count = 1};
    CLEANUP(ownership_fini) struct ownership o;
    ownership_init(&o, &config);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct slice key = slice_str(rows[i].key);
        assert_int_equal(ownership_place(&o, key), rows[i].want);
        assert_int_equal(ownership_has(&o, rows[i].want, key, slice_str("{}")),
                         rows[i].want == KEY_OBJECT);
    }
}

#define EC2 TREE "node/internal/ec2/ip-10-0-0-1/"

/* With --nodes everything; without, what it left. */
UNIT_TEST(test_keys_of_nodes)
{
    static const struct {
        const char *key, *value;
        bool is_written;
    } rows[] = {
        {TREE "node/worker-1/c88f1059", HOST("10.0.0.1"), true},
        {TREE "node/worker-1/479bcb2e", HOST("fd00::1"), true},
        {EC2 "c88f1059", HOST("10.0.0.1"), true},
        {TREE "node/a/b/c/d/e/f/g/h/c88f1059", HOST("10.0.0.1"), true},
        {TREE "node/worker-1/c88f105a", HOST("10.0.0.1"), false}, /* another's hash */
        {TREE "node/worker-1/x", HOST("10.0.0.1"), false},
        {TREE "node/worker-1", HOST("10.0.0.1"), false},
        {TREE "node/c88f1059", HOST("10.0.0.1"), false}, /* of no name */
        {TREE "node//c88f1059", HOST("10.0.0.1"), false},
        {TREE "node/worker-1//c88f1059", HOST("10.0.0.1"), false},
        {TREE "node/!x/c88f1059", HOST("10.0.0.1"), false},
        {TREE "node/Worker-1/c88f1059", HOST("10.0.0.1"), false},
        {TREE "node/worker.1/c88f1059", HOST("10.0.0.1"), false},
        {TREE "node/", HOST("10.0.0.1"), false},
        {TREE "node/worker-1/c88f1059", "{\"host\":\"10.0.0.1\"}", false}, /* a person's */
        {TREE "node/worker-1/x", "", false},
        {TREE "node/worker-1/x", HOST("www.example.com."), false},
    };
    const struct scope with = {"with", {.domain = "cluster.local.", .has_nodes = true}},
                       careful = {"careful",
                                  {.domain = "cluster.local.",
                                   .has_nodes = true,
                                   .only_written = true}},
                       some_with = {"some, with",
                                    {.domain = "cluster.local.",
                                     .namespaces = namespaces,
                                     .namespace_count = 2,
                                     .has_nodes = true}};
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const struct row everything = {rows[i].key, rows[i].value, true},
                         nothing = {rows[i].key, rows[i].value, false},
                         written_ones = {rows[i].key, rows[i].value, rows[i].is_written};
        ownership_check(&with, &everything, 1);
        ownership_check(&some_with, &everything, 1);
        ownership_check(&all, &written_ones, 1);
        ownership_check(&written, &written_ones, 1);
        ownership_check(&careful, &written_ones, 1);
        ownership_check(&some, &nothing, 1);
    }
}

UNIT_TEST(test_reverse_keys_by_their_host)
{
    static const char key[] = "/skydns/arpa/in-addr/10/0/0/1";
    static const struct row rows[] = {
        {key, HOST("web.default.svc.cluster.local."), true},
        {key, HOST("a1.web.default.svc.cluster.local."), true},
        {key, "{ \"ttl\": 5, \"host\": \"x.y.svc.cluster.local.\" }", true}, /* by hand */
        {"/skydns/arpa/rubbish", HOST("web.default.svc.cluster.local."), true},
        {key, HOST("web.default.svc.cluster.local"), false}, /* no dot */
        {key, HOST("web.default.svc.other.local."), false},
        {key, HOST(".svc.cluster.local."), false},
        {key, HOST("svc.cluster.local."), false},
        {key, HOST("xsvc.cluster.local."), false},
        {key, "{\"host\":\"a\\\".svc.cluster.local.\"}", true}, /* a quote in it */
        {key, "{\"text\":\"web.default.svc.cluster.local.\"}", false},
        {key, "no JSON .svc.cluster.local.", false},
        {key, "", false},
        {"/skydns/arpa", HOST("web.default.svc.cluster.local."), false},
        {"/skydns/arpax/in-addr/1", HOST("web.default.svc.cluster.local."), false},
    };
    ownership_check(&all, rows, ARRAY_LEN(rows));
}

UNIT_TEST(test_whom_a_reverse_key_names)
{
    static const struct {
        const char *value, *want;
    } rows[] = {
        {HOST("web.default.svc.cluster.local."), "svc/default/web"},
        {HOST("web-0.web.default.svc.cluster.local."), "svc/default/web"},
        {HOST("a.web-0.web.default.svc.cluster.local."), "svc/default/web"},
        {HOST("default.svc.cluster.local."), ""},
        {HOST(".default.svc.cluster.local."), ""},
        {HOST("web.default.svc.other.local."), ""},
        {HOST("svc.cluster.local."), ""},
        {"no JSON", ""},
        {"", ""},
    };
    CLEANUP(ownership_fini) struct ownership o;
    ownership_init(&o, &all.config);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        CLEANUP_BUF struct buf id = buf_of(255);
        ownership_owner_object(&o, slice_str(rows[i].value), &id);
        assert_string_equal(buf_cstr(&id), rows[i].want);
    }
}

UNIT_TEST(test_some_namespaces)
{
    static const char key[] = "/skydns/arpa/in-addr/10/0/0/1";
    static const struct row rows[] = {
        {TREE "svc/default/web/x", "", true},
        {TREE "pod/kube-system/10-0-0-1", "", true},
        {TREE "svc/default", "", true},
        {TREE "svc/other/web/x", "", false},
        {TREE "svc/defaultx/web/x", "", false},
        {TREE "pod/other/10-0-0-1", "", false},
        {key, HOST("web.default.svc.cluster.local."), true},
        {key, HOST("a.b.kube-system.svc.cluster.local."), true},
        {key, HOST("web.other.svc.cluster.local."), false},
        {key, HOST("default.svc.cluster.local."), true},
        {key, HOST("xdefault.svc.cluster.local."), false},
    };
    ownership_check(&some, rows, ARRAY_LEN(rows));
}

UNIT_TEST(test_only_what_it_could_have_written)
{
    static const struct row rows[] = {
        {TREE "svc/default/web/c88f1059", HOST("10.0.0.1"), true},
        {TREE "svc/default/web/_tcp/_http/c88f1059", PORT("web.default.svc.cluster.local.", "80"),
         true},
        {TREE "svc/default/web/_tcp/_http/c88f1059-81",
         PORT("web.default.svc.cluster.local.", "81"), true},
        {TREE "svc/default/web/db-0", HOST("10.0.0.1"), true},
        {TREE "svc/default/web/_tcp/_http/db-0", PORT("db-0.web.default.svc.cluster.local.", "80"),
         true},
        {TREE "svc/default/web/_tcp/_http/db-0-81",
         PORT("db-0.web.default.svc.cluster.local.", "81"), true},
        {TREE "svc/default/web/_tcp/_p/15d12939", PORT("a.web.default.svc.cluster.local.", "2"),
         true}, /* there was no room for the number */
        {TREE "svc/default/web/_tcp/_p/15d1293a", PORT("a.web.default.svc.cluster.local.", "2"),
         false},
        {TREE "svc/default/web/db-0/c88f1059", HOST("10.0.0.1"), true},
        {TREE "svc/default/web", HOST("www.example.com."), true},
        {TREE "pod/default/10-0-0-1/c88f1059", HOST("10.0.0.1"), true},
        {TREE "pod/default/fd00--1/479bcb2e", HOST("fd00::1"), true},
        {"/skydns/arpa/in-addr/10/0/0/1", HOST("web.default.svc.cluster.local."), true},

        /* Copied from the label that is its hash */
        {TREE "svc/default/web/c88f105a", HOST("10.0.0.1"), false},
        {TREE "svc/default/web/abcdef", HOST("10.0.0.1"), false},
        {TREE "svc/default/web/_tcp/_http/mine", PORT("web.default.svc.cluster.local.", "80"),
         false},
        {TREE "svc/default/web/_tcp/_http/mine-80", PORT("web.default.svc.cluster.local.", "80"),
         false},

        {TREE "svc/default/web/x", "{\"host\":\"10.0.0.1\"}", false}, /* another format */
        {TREE "svc/default/web/x", "{}", false},
        {TREE "svc/default/web/x", "", false},
        {TREE "svc/default/web/x", HOST("www.example.com."), false}, /* not an address */
        {TREE "svc/default/web/x", PORT("10.0.0.1", "80"), false},
        {TREE "svc/default/web/_x", HOST("10.0.0.1"), false}, /* not a label */
        {TREE "svc/default/web", HOST("10.0.0.1"), false},
        {TREE "svc/default/web/db-0/c88f105a", HOST("10.0.0.1"), false}, /* hash of another value */
        {TREE "svc/default/web/_tcp/_http/x", PORT("web.other.svc.cluster.local.", "80"), false},
        {TREE "svc/default/web/_tcp/_http/x", PORT("y.web.default.svc.cluster.local.", "80"),
         false},
        {TREE "svc/default/web/_tcp/_http/x", HOST("web.default.svc.cluster.local."), false},
        {TREE "svc/default/web/tcp/_http/x", PORT("web.default.svc.cluster.local.", "80"), false},
        {TREE "svc/default/web/_tcp/_http/x/y", PORT("web.default.svc.cluster.local.", "80"),
         false},
        {TREE "svc/default", HOST("10.0.0.1"), false},
        {TREE "svc//web/c88f1059", HOST("10.0.0.1"), false},
        {TREE "pod/default/10-0-0-2/c88f1059", HOST("10.0.0.1"), false},
        {TREE "pod/default/10-0-0-1/x", HOST("10.0.0.1"), false},
        {TREE "pod/default/10-0-0-1", HOST("10.0.0.1"), false},
        {"/skydns/arpa/rubbish", HOST("web.default.svc.cluster.local."), false},
        {"/skydns/arpa/in-addr/10/0/0/1", PORT("web.default.svc.cluster.local.", "80"), false},
        {"/skydns/arpa/in-addr/10/0/0/1", HOST("web.default.svc.other.local."), false},
    };
    ownership_check(&written, rows, ARRAY_LEN(rows));
}

UNIT_TEST(test_parts_of_keys)
{
    static const struct {
        const char *key, *owner, *suffix;
    } rows[] = {
        {TREE "svc/default/web/_tcp/_http/x", "svc/default/web", "/_tcp/_http/x"},
        {TREE "svc/default/web", "svc/default/web", ""},
        {TREE "svc/default/web/", "svc/default/web", "/"},
        {TREE "svc/x", "svc/x", ""},
        {TREE "svc/", "svc/", ""},
        {TREE "svc//x//y/", "svc//x", "//y/"},
        {TREE "pod/default/10-0-0-1/c88f1059", "pod/default/10-0-0-1", "/c88f1059"},
        {TREE "node/worker-1/c88f1059", "node/worker-1", "/c88f1059"},
        {EC2 "c88f1059", "node/internal/ec2/ip-10-0-0-1", "/c88f1059"},
        {TREE "node/worker-1", "node/worker-1", ""},
        {TREE "node/worker-1/", "node/worker-1", "/"},
        {TREE "node/", "node/", ""},
        {TREE "node//", "node//", ""},
        {TREE "node//x", "node//x", ""},
        {TREE "node//x/y", "node//x", "/y"},
    };
    CLEANUP(ownership_fini) struct ownership o;
    ownership_init(&o, &all.config);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct object_key key = ownership_part(&o, slice_str(rows[i].key));
        assert_that(slice_equal(key.owner, slice_str(rows[i].owner)) &&
                        slice_equal(key.suffix, slice_str(rows[i].suffix)),
                    "%s: got %.*s and %.*s", rows[i].key, (int)key.owner.len, key.owner.ptr,
                    (int)key.suffix.len, key.suffix.ptr);
    }
}

/* Keys of external names are ours by host and last label, in any zone. */
UNIT_TEST(test_external_names)
{
#define LEADS(h) "{\"host\":\"" h "\",\"priority\":10,\"weight\":10,\"ttl\":30,\"targetstrip\":1}"
    static const struct {
        const struct scope *scope;
        const char *key, *value, *want;
    } cases[] = {
        {&all, "/skydns/com/example/app/41d689bb", LEADS("web.default.svc.cluster.local."),
         "alias/default/web"},
        {&all, "/skydns/org/app/41d689bb", HOST("web.default.svc.cluster.local."),
         "alias/default/web"},
        {&all, "/skydns/org/app/41d689bc", LEADS("web.default.svc.cluster.local."), ""},
        {&all, "/skydns/org/app/41d689bb/x", LEADS("web.default.svc.cluster.local."), ""},
        {&all, "/skydns/org/app/41d689bb", LEADS("a.web.default.svc.cluster.local."), ""},
        {&all, "/skydns/org/app/41d689bb", LEADS("web.default.svc.other.local."), ""},
        {&all, "/skydns/org/app/41d689bb", LEADS("default.svc.cluster.local."), ""},
        {&all, "/skydns/org/app/41d689bb", "{}", ""},
        {&some, "/skydns/org/app/41d689bb", LEADS("web.default.svc.cluster.local."),
         "alias/default/web"},
        {&some, "/skydns/org/app/67fb78c5", LEADS("web.prod.svc.cluster.local."), ""},
        {&all, "/skydns/org/app/67fb78c5", LEADS("web.prod.svc.cluster.local."), "alias/prod/web"},
    };
#undef LEADS
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        CLEANUP(ownership_fini) struct ownership o;
        CLEANUP_BUF struct buf id = buf_of(1024);
        ownership_init(&o, &cases[i].scope->config);
        assert_int_equal(ownership_place(&o, slice_str(cases[i].key)), KEY_EXTERNAL);
        ownership_external(&o, slice_str(cases[i].key), slice_str(cases[i].value), &id);
        assert_string_equal(buf_cstr(&id), cases[i].want);
    }
}

/* In the external zone, keys are ours by their form; who owns them follows from their place. */
UNIT_TEST(test_external_zone)
{
#define LB    "/skydns/com/example/lb/"
#define AT(h) "{\"host\":\"" h "\",\"priority\":10,\"weight\":10,\"ttl\":30,\"targetstrip\":0}"
    static const struct {
        const char *key, *value, *want;
        bool is_ours, is_narrowed;
    } cases[] = {
        {LB "default/web/c88f1059", AT("10.0.0.1"), "ext/default/web", true, true},
        {LB "default/web/c88f1059", AT("10.0.0.2"), "ext/default/web", false, false},
        {LB "default/web/db-0", AT("10.0.0.2"), "ext/default/web", true, false},
        {LB "default/web/db-0/c88f1059", AT("10.0.0.1"), "ext/default/web", true, false},
        {LB "default/web/db-0/c88f1058", AT("10.0.0.1"), "ext/default/web", false, false},
        {LB "default/web/ed07a6a4", AT("lb.example.net."), "ext/default/web", true, false},
        {LB "default/web/lb", AT("lb.example.net."), "ext/default/web", false, false},
        {LB "default/web/_tcp/_http/c88f1059", PORT("web.default.lb.example.com.", "80"),
         "ext/default/web", true, false},
        {LB "default/web/_tcp/_http/db-0", PORT("db-0.web.default.lb.example.com.", "80"),
         "ext/default/web", true, false},
        {LB "default/web/_tcp/_http/c88f1059", PORT("lb.example.net.", "80"), "ext/default/web",
         true, false},
        {LB "default/web/_tcp/_http/word", PORT("lb.example.net.", "80"), "ext/default/web", false,
         false},
        {LB "default/web/_tcp/_http/word", PORT("web.default.svc.cluster.local.", "80"),
         "ext/default/web", false, false},
        {LB "default/web/x", "{}", "ext/default/web", false, false},
        {LB "default/web", AT("10.0.0.1"), "", false, false},
        {LB "default/", AT("10.0.0.1"), "", false, false},
        {LB "-/web/c88f1059", AT("10.0.0.1"), "", false, false},
        {LB "default//c88f1059", AT("10.0.0.1"), "", false, false},
        {LB "dns/ns/c88f1059", AT("10.0.0.1"), "", false, false},
        {LB "pod/default/10-0-0-1/c88f1059", AT("10.0.0.1"), "", false, false},
        {LB "svc/default/web/c88f1059", AT("10.0.0.1"), "", false, false},
        {LB "dns/public", "{\"text\":\"public\"}", "ext/dns/public", true, true},
        {LB "dns/public", "{\"text\":\"secret\"}", "ext/dns/public", false, false},
        {LB "prod/web/c88f1059", AT("10.0.0.1"), "", true, true},
        {LB "prod/web/c88f1059", AT("10.0.0.1"), "ext/prod/web", true, false},
        {"/skydns/com/example/default/web/c88f1059", AT("10.0.0.1"), "", false, false},
    };
#undef AT
#undef LB
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        CLEANUP(ownership_fini) struct ownership o;
        CLEANUP_BUF struct buf id = buf_of(1024);
        ownership_init(&o, &(struct ownership_config){.domain = "cluster.local.",
                                                      .namespaces = namespaces,
                                                      .namespace_count = cases[i].is_narrowed,
                                                      .external_zone = "lb.example.com."});
        struct slice key = slice_str(cases[i].key), value = slice_str(cases[i].value);
        assert_int_equal(ownership_place(&o, key), KEY_EXTERNAL);
        ownership_external(&o, key, value, &id);
        assert_that(
            strcmp(buf_cstr(&id), cases[i].want) == 0 &&
                (!id.len || ownership_has(&o, KEY_EXTERNAL, key, value) == cases[i].is_ours),
            "%s %s: got %s", cases[i].key, cases[i].value, buf_cstr(&id));
    }
}

#define SET     "/skydns/local/clusterset/"
#define VISIBLE "/kube2sky/clusterset.local/visible/"

/* Keys of imports: below another domain, with owners whose ids are no part of them. */
UNIT_TEST(test_imports)
{
    static const struct {
        const char *key;
        enum key_place place; /* with two namespaces */
        const char *owner, *suffix;
    } rows[] = {
        {SET "svc/default/web/east/a", KEY_OBJECT, "mcs/default/web", "/east/a"},
        {SET "svc/default/web", KEY_OBJECT, "mcs/default/web", ""},
        {SET "svc/default/web/_tcp/_http/east/a", KEY_OBJECT, "mcs/default/web",
         "/_tcp/_http/east/a"},
        {SET "svc/default", KEY_OBJECT, "mcs/default", ""},
        {SET "svc/other/web", KEY_ELSEWHERE, NULL, NULL},
        {SET "pod/default/10-0-0-1/a", KEY_ELSEWHERE, NULL, NULL},
        {SET "dns-version", KEY_ELSEWHERE, NULL, NULL},
        {SET, KEY_ELSEWHERE, NULL, NULL},
        {"/skydns/local/clusterset", KEY_ELSEWHERE, NULL, NULL},
        {"/skydns/local/clustersetx/a", KEY_EXTERNAL, NULL, NULL},
        {VISIBLE "default", KEY_CLIENT, "mcs-visible/default", ""},
        {VISIBLE "other", KEY_ELSEWHERE, NULL, NULL},
        {"/kube2sky/clusterset.local/store", KEY_ELSEWHERE, NULL, NULL},
        {TREE "svc/default/web/a", KEY_OBJECT, "svc/default/web", "/a"},
    };
    static const struct ownership_config config = {.domain = "cluster.local.",
                                                   .import_domain = "clusterset.local.",
                                                   .namespaces = namespaces,
                                                   .namespace_count = 2};
    CLEANUP(ownership_fini) struct ownership o;
    CLEANUP_BUF struct buf base = buf_of(1024);
    ownership_init(&o, &config);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct slice key = slice_str(rows[i].key);
        assert_that(ownership_place(&o, key) == rows[i].place, "%s: place %d", rows[i].key,
                    ownership_place(&o, key));
        if (rows[i].owner) {
            struct object_key parted = ownership_part(&o, key);
            assert_true(slice_equal(parted.owner, slice_str(rows[i].owner)));
            assert_true(slice_equal(parted.suffix, slice_str(rows[i].suffix)));
            buf_clear(&base);
            ownership_base(&o, parted.owner, &base);
            buf_append_slice(&base, parted.suffix);
            assert_true(slice_equal(buf_slice(&base), key));
            assert_true(ownership_has(&o, rows[i].place, key, slice_str("{}")));
        }
    }
}

UNIT_TEST(test_reverse_keys_of_imports)
{
    static const struct {
        const char *host, *owner;
    } rows[] = {
        {HOST("web.default.svc.clusterset.local."), "mcs/default/web"},
        {HOST("a.east.web.default.svc.clusterset.local."), "mcs/default/web"},
        {HOST("web.default.svc.cluster.local."), "svc/default/web"},
        {HOST("web.default.svc.other.local."), ""},
    };
    static const struct ownership_config config = {.domain = "cluster.local.",
                                                   .import_domain = "clusterset.local."};
    struct ownership o, without;
    ownership_init(&o, &config);
    ownership_init(&without, &all.config);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct slice key = slice_str("/skydns/arpa/in-addr/10/0/0/1"),
                     value = slice_str(rows[i].host);
        CLEANUP_BUF struct buf owner = buf_of(1024);
        ownership_owner_object(&o, value, &owner);
        assert_string_equal(buf_cstr(&owner), rows[i].owner);
        assert_int_equal(ownership_has(&o, KEY_REVERSE, key, value), *rows[i].owner != '\0');
        assert_int_equal(ownership_has(&without, KEY_REVERSE, key, value), i == 2);
    }
    ownership_fini(&o);
    ownership_fini(&without);
}

/* With --own-only-written, a person's keys below a cluster stay. */
UNIT_TEST(test_only_written_imports)
{
    static const struct scope imports = {
        "only written imports",
        {.domain = "cluster.local.", .import_domain = "clusterset.local.", .only_written = true}};
    static const struct row rows[] = {
        {SET "svc/default/web/c88f1059", HOST("10.0.0.1"), true},
        {SET "svc/default/web/east/db-0", HOST("10.0.0.1"), true},
        {SET "svc/default/web/east/db-0/c88f1059", HOST("10.0.0.1"), true},
        {SET "svc/default/web/_tcp/_http/east/db-0",
         PORT("db-0.east.web.default.svc.clusterset.local.", "80"), true},
        {SET "svc/default/web/_tcp/_http/c88f1059", PORT("web.default.svc.clusterset.local.", "80"),
         true},
        {SET "svc/default/web/_tcp/_http/east/db-0",
         PORT("db-0.west.web.default.svc.clusterset.local.", "80"), false},
        {SET "svc/default/web/east/db-0", "{\"host\":\"10.0.0.1\"}", false},
        {SET "svc/default/web/a/b/c/d", HOST("10.0.0.1"), false},
    };
    ownership_check(&imports, rows, ARRAY_LEN(rows));
}
