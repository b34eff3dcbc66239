/* Imports: their names, cluster by cluster; their owners in an inventory of their own; and that any
 * other claim on an address comes before theirs. */
#include "tests/unit/kube2sky/objects.h"

#include "common/dns/record_json.h"
#include "kube2sky/naming/inventory.h"
#include "kube2sky/naming/key_style.h"
#include "kube2sky/naming/naming.h"
#include "kube2sky/naming/reverse.h"
#include "kube2sky/naming/slice_change.h"
#include "tests/support/from_text.h"
#include "tests/support/unit_test.h"

#define BASE      "/skydns/local/clusterset/svc/default/web"
#define TAIL      ",\"priority\":10,\"weight\":10,\"ttl\":30,\"targetstrip\":0}\n"
#define IP(ip)    " {\"host\":\"" ip "\"" TAIL
#define SRV(h, p) " {\"host\":\"" h "web.default.svc.clusterset.local.\",\"port\":" p TAIL

enum { SLICES_MAX = 5 };

static struct kube_object *import_from(const char *spec)
{
    CLEANUP_FREE char *text =
        xasprintf("{'metadata':{'namespace':'default','name':'web'},'spec':{%s}}", spec);
    struct kube_object *import = object_from(KUBE_IMPORT, text);
    kube_object_localize(import);
    return import;
}

static struct kube_object *import_slice_from(const char *name, const char *cluster,
                                             const char *rest)
{
    CLEANUP_FREE char *text = xasprintf("{'metadata':{'namespace':'default','name':'%s','labels':{"
                                        "'multicluster.kubernetes.io/service-name':'web',"
                                        "'multicluster.kubernetes.io/source-cluster':'%s'}},"
                                        "'addressType':'IPv4',%s}",
                                        name, cluster, rest);
    struct kube_object *slice = object_from(KUBE_IMPORT_SLICE, text);
    kube_object_localize(slice);
    return slice;
}

struct texts {
    struct buf records, claims, drops;
};

static void imports_note_drop(void *data, const struct naming_drop *drop)
{
    buf_printf(data, "%s %s=%s ", drop->kind, drop->what, drop->value);
}

static const struct naming_config imports_config = {.domain = "cluster.local.",
                                                    .import_domain = "clusterset.local.",
                                                    .ttl_s = 30,
                                                    .dropped = imports_note_drop};

/* Names the objects. Each record must be recognized as kube2sky's own. */
static void imports_name(const struct owner_objects *objects, struct texts *out)
{
    struct naming_config config = imports_config;
    CLEANUP(desired_fini) struct desired desired;
    CLEANUP(claims_fini) struct claims claims;
    struct err err = {0};
    char ip[INET6_ADDRSTRLEN];
    config.data = &out->drops;
    desired_init(&desired);
    claims_init(&claims);
    assert_int_equal(naming_build(&config, objects, &desired, &claims, &err), 0);
    for (size_t i = 0; i < desired.count; i++) {
        struct desired_record record = desired_get(&desired, i);
        size_t tree = strlen("/skydns/local/clusterset/");
        struct slice below = slice_of(record.key.ptr + tree, record.key.len - tree);
        assert_true(slice_has_prefix(record.key, slice_str(BASE)));
        assert_true(key_style_object(slice_str("clusterset.local."), true, below, record.value));
        buf_printf(&out->records, "%.*s ", (int)(record.key.len - strlen(BASE)),
                   record.key.ptr + strlen(BASE));
        buf_append_slice(&out->records, record.value);
        buf_append_char(&out->records, '\n');
    }
    for (size_t i = 0; i < claims.count; i++) {
        struct claim claim = claims_get(&claims, i);
        buf_printf(&out->claims, "%s %d %.*s\n", ip_format(&claim.ip, ip),
                   claim.rank - CLAIM_IMPORT_IP, (int)claim.host.len, claim.host.ptr);
    }
}

struct row {
    const char *spec;
    const char *clusters[SLICES_MAX], *slices[SLICES_MAX];
    const char *want, *claims, *dropped;
};

static void check_import(const struct row *row)
{
    struct texts got;
    struct owner_objects objects;
    struct kube_object *import = import_from(row->spec);
    buf_init(&got.records, 65536);
    buf_init(&got.claims, 65536);
    buf_init(&got.drops, 65536);
    owner_objects_init(&objects);
    objects.service = import;
    for (size_t i = 0; i < SLICES_MAX && row->slices[i]; i++) {
        owner_objects_add_part(&objects,
                               import_slice_from("web-x", row->clusters[i], row->slices[i]));
    }
    imports_name(&objects, &got);
    assert_string_equal(buf_cstr(&got.records), row->want);
    assert_string_equal(buf_cstr(&got.claims), row->claims);
    assert_string_equal(buf_cstr(&got.drops), row->dropped);
    for (size_t i = 0; i < objects.part_count; i++) {
        kube_object_free((struct kube_object *)(uintptr_t)objects.parts[i]);
    }
    owner_objects_fini(&objects);
    kube_object_free(import);
    buf_fini(&got.records);
    buf_fini(&got.claims);
    buf_fini(&got.drops);
}

#define PORT(name, number) "{'name':'" name "','protocol':'TCP','port':" number "}"

/* clang-format off */
UNIT_TEST(test_names)
{
    static const struct row rows[] = {
        {"'type':'ClusterSetIP','ips':['10.0.0.1','fd00::1'],'ports':[" PORT("http", "80") "]",
         .clusters = {"east"},
         .slices = {"'endpoints':[{'addresses':['10.1.0.1'],'hostname':'a'}]"},
         .want = "/479bcb2e" IP("fd00::1")
                 "/_tcp/_http/c88f1059" SRV("", "80")
                 "/c88f1059" IP("10.0.0.1"),
         .claims = "10.0.0.1 0 web.default.svc.clusterset.local.\n"
                   "fd00::1 0 web.default.svc.clusterset.local.\n",
         .dropped = ""},
        {"'type':'Headless'",
         .clusters = {"west", "east", "East"},
         .slices = {"'endpoints':[{'addresses':['10.2.0.1'],'hostname':'a'}],'ports':[" PORT("http", "81") "]",
                    "'endpoints':[{'addresses':['10.1.0.1'],'hostname':'a'}],'ports':[" PORT("http", "80") "]",
                    "'endpoints':[{'addresses':['10.1.0.3'],'hostname':'b','conditions':{'ready':false}}]"},
         .want = "/_tcp/_http/east/a" SRV("a.east.", "80")
                 "/_tcp/_http/west/a" SRV("a.west.", "81")
                 "/east/a" IP("10.1.0.1")
                 "/west/a" IP("10.2.0.1"),
         .claims = "10.1.0.1 1 a.east.web.default.svc.clusterset.local.\n"
                   "10.2.0.1 1 a.west.web.default.svc.clusterset.local.\n",
         .dropped = ""},
        {"'type':'Headless'", /* within a cluster as in a Service */
         .clusters = {"east", "east"},
         .slices = {"'endpoints':[{'addresses':['10.0.0.1'],'hostname':'a'},{'addresses':['10.0.0.9']}],"
                    "'ports':[" PORT("http", "80") "," PORT("http", "81") "]",
                    "'endpoints':[{'addresses':['10.0.0.9'],'hostname':'a'}]"},
         .want = "/_tcp/_http/east/19ccb11" SRV("19ccb11.east.", "80")
                 "/_tcp/_http/east/19ccb11-81" SRV("19ccb11.east.", "81")
                 "/_tcp/_http/east/a" SRV("a.east.", "80")
                 "/_tcp/_http/east/a-81" SRV("a.east.", "81")
                 "/east/19ccb11" IP("10.0.0.9")
                 "/east/a/19ccb11" IP("10.0.0.9")
                 "/east/a/c88f1059" IP("10.0.0.1"),
         .claims = "10.0.0.1 1 a.east.web.default.svc.clusterset.local.\n"
                   "10.0.0.9 1 a.east.web.default.svc.clusterset.local.\n",
         .dropped = ""},
        {"'type':'Headless'", /* without a cluster there is no name */
         .clusters = {"", "no_label", "east"},
         .slices = {"'endpoints':[{'addresses':['10.0.0.2']}]", "'endpoints':[{'addresses':['10.0.0.3']}]",
                    "'endpoints':[{'addresses':['10.0.0.1'],'hostname':'a'}]"},
         .want = "/east/a" IP("10.0.0.1"),
         .claims = "10.0.0.1 1 a.east.web.default.svc.clusterset.local.\n",
         .dropped = "serviceimports source cluster= serviceimports source cluster=no_label "},
        {"'type':'Headless'", .want = "", .claims = "", .dropped = ""},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        check_import(&rows[i]);
    }
}
/* clang-format on */

UNIT_TEST(test_a_slice_that_changes_its_cluster_is_no_change_of_its_own)
{
    const char *rest = "'endpoints':[{'addresses':['10.0.0.1'],'hostname':'a'}]";
    struct kube_object *import = import_from("'type':'Headless'");
    struct kube_object *east = import_slice_from("x", "east", rest);
    struct kube_object *west = import_slice_from("x", "west", rest);
    struct kube_object *more =
        import_slice_from("x", "east",
                          "'endpoints':[{'addresses':['10.0.0.1'],'hostname':'a'},"
                          "{'addresses':['10.0.0.2'],'hostname':'more-1'}]");
    struct slice_change change;
    struct naming_config config = imports_config;
    assert_false(kube_object_equal(east, west));
    assert_false(slice_change_init(&change, import, east, west));
    assert_true(slice_change_init(&change, import, east, more));
    struct slice_difference *difference = slice_difference_new(&config, &change);
    assert_int_equal(difference->come.count, 1);
    assert_int_equal(difference->gone.count, 0);
    assert_true(slice_equal(desired_get(&difference->come, 0).key, slice_str(BASE "/east/more-1")));
    slice_difference_free(difference);
    kube_object_free(import);
    kube_object_free(east);
    kube_object_free(west);
    kube_object_free(more);
}

static void imports_note_owner(void *data, struct slice owner)
{
    buf_append_slice(data, owner);
    buf_append_char(data, ' ');
}

UNIT_TEST(test_inventory)
{
    CLEANUP(owner_objects_fini) struct owner_objects objects;
    CLEANUP_BUF struct buf changed = buf_of(65536);
    owner_objects_init(&objects);
    struct inventory *imports = inventory_new(&(struct inventory_config){
        .is_narrowed = true, .has_imports = true, .changed = imports_note_owner, .data = &changed});
    inventory_want(imports, KUBE_POD, false);
    inventory_use_endpoints(imports, KUBE_SLICE);
    inventory_list_begin(imports, KUBE_SERVICE);
    inventory_list_begin(imports, KUBE_SLICE);
    inventory_upsert(imports, import_from("'type':'Headless'"));
    inventory_upsert(imports, import_slice_from("x", "east", "'endpoints':[]"));
    assert_string_equal(buf_cstr(&changed), "mcs/default/web mcs/default/web ");
    inventory_get(imports, slice_str("mcs/default/web"), &objects);
    assert_true(objects.service && objects.service->service.is_import);
    assert_int_equal(objects.part_count, 1);
    assert_false(inventory_may_delete(imports, slice_str("mcs/default/web")));
    assert_false(inventory_is_complete(imports));
    inventory_list_end(imports, KUBE_SERVICE); /* without default/kubernetes */
    inventory_list_end(imports, KUBE_SLICE);
    assert_true(inventory_is_complete(imports));
    assert_true(inventory_may_delete(imports, slice_str("mcs/default/web")));
    assert_true(inventory_knows_claims(imports, slice_str("mcs/default/gone")));
    inventory_free(imports);
}

static void imports_ignore_address(void *data, const struct ip *ip)
{
    (void)data;
    (void)ip;
}

/* Sets the owner's only claim on 10.0.0.1; rank -1: none. */
static void set_claim(struct reverse *reverse, const char *owner, int rank)
{
    struct claim claim = {.rank = (enum claim_rank)rank, .host = slice_str(owner)};
    CLEANUP(claims_fini) struct claims claims;
    claims_init(&claims);
    assert_true(ip_parse(slice_str("10.0.0.1"), &claim.ip));
    if (rank >= 0) {
        claims_add(&claims, &claim);
    }
    claims_seal(&claims);
    reverse_set(reverse, slice_str(owner), &claims, imports_ignore_address, NULL);
}

static void assert_import_winner(struct reverse *reverse, const char *want)
{
    struct reverse_winner winner;
    struct ip ip = ip_from("10.0.0.1");
    assert_true(reverse_winner(reverse, &ip, &winner));
    assert_true(slice_equal(winner.owner, slice_str(want)));
    assert_int_equal(winner.is_import, slice_has_prefix(winner.owner, slice_str("mcs/")));
}

static struct slice held_by_import(void *data, const struct ip *ip)
{
    (void)data;
    (void)ip;
    return slice_str("mcs/b/web");
}

/* Whatever an import's rank is, and although its namespace has the name. */
UNIT_TEST(test_reverse_names)
{
    struct reverse *reverse = reverse_new(&(struct reverse_config){.holder = held_by_import});
    set_claim(reverse, "mcs/b/web", CLAIM_IMPORT_IP);
    assert_import_winner(reverse, "mcs/b/web");
    set_claim(reverse, "mcs/a/web", CLAIM_IMPORT_IP);
    assert_import_winner(reverse, "mcs/b/web");
    set_claim(reverse, "svc/a/web", CLAIM_HASH);
    assert_import_winner(reverse, "svc/a/web");
    set_claim(reverse, "mcs/a/web", -1);
    assert_import_winner(reverse, "svc/a/web");
    set_claim(reverse, "svc/z/web", CLAIM_CLUSTER_IP);
    assert_import_winner(reverse, "svc/z/web");
    set_claim(reverse, "svc/a/web", -1);
    set_claim(reverse, "svc/z/web", -1);
    assert_import_winner(reverse, "mcs/b/web");
    reverse_free(reverse);
}
