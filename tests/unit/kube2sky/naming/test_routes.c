/* route_rules: which values of --ingress and --gateway are taken, and the names that a route has at
 * a Gateway. route_table: lists, what is claimed, and until when names are held. */
#include "kube2sky/naming/route_table.h"

#include "common/base/buf.h"
#include "kube2sky/naming/external_aliases.h"
#include "kube2sky/naming/route_rules.h"
#include "tests/support/unit_test.h"
#include "tests/unit/kube2sky/objects.h"

UNIT_TEST(test_flags)
{
#define CLASS   ": expected CLASS=NAMESPACE/SERVICE like nginx=infra/ingress-nginx"
#define GATEWAY ": expected NAMESPACE/GATEWAY=NAMESPACE/SERVICE like infra/public=infra/envoy"
    static const char *const infra[] = {"infra"};
    static const struct {
        bool is_class;
        const char *text, *want; /* "": taken */
    } cases[] = {
        {true, "nginx=infra/in", ""},
        {true, "my.class/x=infra/in", ""},
        {true, "nginx=infra/in", "`nginx`: expected it once"},
        {true, "nginx", "`nginx`" CLASS},
        {true, "=infra/in", "`=infra/in`" CLASS},
        {true, "a b=infra/in", "`a b=infra/in`" CLASS},
        {true, "a=infra", "`a=infra`" CLASS},
        {true, "a=infra/", "`a=infra/`" CLASS},
        {true, "a=Infra/in", "`a=Infra/in`" CLASS},
        {true, "a=infra/in.x", "`a=infra/in.x`" CLASS},
        {true, "a=other/in", "`a=other/in`: expected a Service in one of -namespaces"},
        {false, "infra/public=infra/envoy", ""},
        {false, "other/a.b=infra/envoy", ""},
        {false, "infra/public=infra/other", "`infra/public`: expected it once"},
        {false, "public=infra/envoy", "`public=infra/envoy`" GATEWAY},
        {false, "infra/a..b=infra/envoy", "`infra/a..b=infra/envoy`" GATEWAY},
        {false, "infra/=infra/envoy", "`infra/=infra/envoy`" GATEWAY},
        {false, "infra/public=envoy", "`infra/public=envoy`" GATEWAY},
    };
#undef CLASS
#undef GATEWAY
    struct route_rules rules = {.class_count = 0};
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct err err = {0};
        int r = cases[i].is_class ? route_rules_add_class(&rules, cases[i].text, infra, 1, &err)
                                  : route_rules_add_gateway(&rules, cases[i].text, infra, 1, &err);
        assert_int_equal(r, *cases[i].want ? ERR_USAGE : 0);
        assert_string_equal(r < 0 ? err.msg : "", cases[i].want);
    }
    assert_int_equal(rules.class_count, 2);
    assert_int_equal(rules.gateway_count, 2);
}

static void routes_append_name(void *data, struct slice name)
{
    struct buf *out = data;
    buf_append_slice(out, name);
    buf_append_char(out, ' ');
}

/* By the Gateway API: the narrower name of both. */
UNIT_TEST(test_names_at_listeners)
{
    static const struct {
        const char *hosts, *section, *listeners, *want;
    } cases[] = {
        {"'a.com'", "", "{'name':'x'}", "a.com "},
        {"", "", "{'name':'x','hostname':'a.com'}", "a.com "},
        {"", "", "{'name':'x'}", ""},
        {"'a.com','b.com'", "", "{'name':'x','hostname':'A.com'}", "a.com "},
        {"'x.a.com'", "", "{'name':'x','hostname':'*.a.com'}", "x.a.com "},
        {"'y.x.a.com'", "", "{'name':'x','hostname':'*.a.com'}", "y.x.a.com "},
        {"'a.com'", "", "{'name':'x','hostname':'*.a.com'}", ""},
        {"'xa.com'", "", "{'name':'x','hostname':'*.a.com'}", ""},
        {"'*.a.com'", "", "{'name':'x','hostname':'x.a.com'}", "x.a.com "},
        {"'*.a.com'", "", "{'name':'x','hostname':'*.b.a.com'}", "*.b.a.com "},
        {"'*.b.a.com'", "", "{'name':'x','hostname':'*.a.com'}", "*.b.a.com "},
        {"'*.a.com'", "", "{'name':'x','hostname':'*.a.com'}", "*.a.com "},
        {"'a.com'", "", "{'name':'x'},{'name':'y','hostname':'b.com'}", "a.com "},
        {"'a.com'", "y", "{'name':'x'},{'name':'y','hostname':'b.com'}", ""},
        {"'a.com'", "y", "{'name':'x','hostname':'b.com'},{'name':'y'}", "a.com "},
    };
    struct route_rules rules = {.class_count = 0};
    struct err err;
    CLEANUP_BUF struct buf got = buf_of(1 << 16);
    assert_int_equal(route_rules_add_gateway(&rules, "n/g=n/s", NULL, 0, &err), 0);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        CLEANUP_FREE char *route_text = xasprintf(
            "{'metadata':{'namespace':'n','name':'r','generation':3},'spec':{'hostnames':[%s]},"
            "'status':{'parents':[{'parentRef':{'name':'g','sectionName':'%s'},'conditions':["
            "{'type':'Accepted','status':'True','observedGeneration':3}]}]}}",
            cases[i].hosts, cases[i].section);
        CLEANUP_FREE char *gateway_text =
            xasprintf("{'metadata':{'namespace':'n','name':'g'},'spec':{'listeners':[%s]}}",
                      cases[i].listeners);
        struct kube_object *route = object_from(KUBE_ROUTE, route_text);
        struct kube_object *gateway = object_from(KUBE_GATEWAY, gateway_text);
        buf_clear(&got);
        assert_true(route_rule_has_parent(&rules.gateways[0], route));
        route_rule_names(&rules.gateways[0], route, gateway, routes_append_name, &got);
        assert_string_equal(buf_cstr(&got), cases[i].want);
        kube_object_free(route);
        kube_object_free(gateway);
    }
}

/* ---- The table ---- */

struct bed {
    struct override_zones *zones;
    struct external_aliases *aliases;
    struct route_rules rules;
    struct route_table *table;
    struct buf told;
};

static void routes_on_changed(void *data, struct slice owner)
{
    struct bed *bed = data;
    routes_append_name(&bed->told, owner);
}

static void routes_bed_open(struct bed *bed, const size_t *list_counts)
{
    struct err err = {0};
    *bed = (struct bed){.zones = NULL};
    buf_init(&bed->told, 1 << 16);
    assert_int_equal(override_zones_parse("*.com@a+b", "cluster.local.", &bed->zones, &err), 0);
    bed->aliases = external_aliases_new(&(struct external_aliases_config){
        .zones = bed->zones,
        .domain = "cluster.local.",
        .ttl_s = 30,
        .changed = routes_on_changed,
        .data = bed,
    });
    assert_int_equal(route_rules_add_class(&bed->rules, "c=i/s", NULL, 0, &err), 0);
    assert_int_equal(route_rules_add_gateway(&bed->rules, "i/g=i/s", NULL, 0, &err), 0);
    bed->table = route_table_new(&bed->rules, bed->aliases, list_counts);
}

static void routes_bed_close(struct bed *bed)
{
    route_table_free(bed->table);
    external_aliases_free(bed->aliases);
    override_zones_free(bed->zones);
    buf_fini(&bed->told);
}

static void put_ingress(struct bed *bed, const char *ns, const char *name, const char *class,
                        const char *host)
{
    CLEANUP_FREE char *text =
        xasprintf("{'metadata':{'namespace':'%s','name':'%s'},'spec':{'ingressClassName':"
                  "'%s','rules':[{'host':'%s'}]}}",
                  ns, name, class, host);
    route_table_upsert(bed->table, object_from(KUBE_INGRESS, text));
}

static void list_routes(struct bed *bed, enum kube_kind kind, const char *ns)
{
    route_table_list_begin(bed->table, kind, ns);
    route_table_list_end(bed->table, kind, ns);
}

static bool is_held(const struct bed *bed)
{
    return external_aliases_is_held(bed->aliases, slice_str("alias/i/s"));
}

static size_t routes_names(const struct bed *bed)
{
    return external_aliases_count(bed->aliases).names;
}

UNIT_TEST(test_lists)
{
    static const size_t counts[KUBE_KIND_COUNT] = {
        [KUBE_INGRESS] = 2, [KUBE_GATEWAY] = 1, [KUBE_ROUTE] = 2};
    CLEANUP(routes_bed_close) struct bed bed;
    routes_bed_open(&bed, counts);
    route_table_list_begin(bed.table, KUBE_INGRESS, "a");
    put_ingress(&bed, "a", "x", "c", "x.com");
    put_ingress(&bed, "a", "y", "d", "y.com");
    route_table_list_end(bed.table, KUBE_INGRESS, "a");
    route_table_list_begin(bed.table, KUBE_INGRESS, "b");
    put_ingress(&bed, "b", "x", "c", "b.com");
    assert_int_equal(routes_names(&bed), 2);
    route_table_list_end(bed.table, KUBE_INGRESS, "b");
    assert_true(is_held(&bed)); /* by routes */
    list_routes(&bed, KUBE_ROUTE, "a");
    list_routes(&bed, KUBE_GATEWAY, "i");
    assert_true(is_held(&bed));
    buf_clear(&bed.told);
    list_routes(&bed, KUBE_ROUTE, "b");
    assert_false(is_held(&bed));
    assert_string_equal(buf_cstr(&bed.told), "alias/i/s ");
    list_routes(&bed, KUBE_INGRESS, "a"); /* empty now; b's stay */
    assert_int_equal(routes_names(&bed), 1);
    assert_int_equal(route_table_count(bed.table, KUBE_INGRESS), 1);
    put_ingress(&bed, "b", "x", "d", "b.com");
    assert_int_equal(routes_names(&bed), 0);
    put_ingress(&bed, "b", "x", "c", "b.com");
    route_table_remove(bed.table, KUBE_INGRESS, "b", "x");
    route_table_remove(bed.table, KUBE_INGRESS, "b", "x");
    assert_int_equal(routes_names(&bed), 0);
}

static void put_route(struct bed *bed, const char *gateway_hosts, bool is_gateway)
{
    CLEANUP_FREE char *text =
        is_gateway ? xasprintf("{'metadata':{'namespace':'i','name':'g'},'spec':{'listeners':["
                               "{'name':'l','hostname':'%s'}]}}",
                               gateway_hosts)
                   : xasprintf("{'metadata':{'namespace':'a','name':'r','generation':1},'spec':{"
                               "'hostnames':['%s']},'status':{'parents':[{'parentRef':{'namespace':"
                               "'i','name':'g'},'conditions':[{'type':'Accepted','status':'True',"
                               "'observedGeneration':1}]}]}}",
                               gateway_hosts);
    route_table_upsert(bed->table, object_from(is_gateway ? KUBE_GATEWAY : KUBE_ROUTE, text));
}

/* In whatever order they come. */
UNIT_TEST(test_gateway_and_route)
{
    static const size_t counts[KUBE_KIND_COUNT] = {
        [KUBE_INGRESS] = 1, [KUBE_GATEWAY] = 1, [KUBE_ROUTE] = 1};
    CLEANUP(routes_bed_close) struct bed bed;
    routes_bed_open(&bed, counts);
    put_route(&bed, "x.com", false);
    assert_int_equal(routes_names(&bed), 0);
    put_route(&bed, "*.com", true);
    assert_int_equal(routes_names(&bed), 1);
    put_route(&bed, "y.com", true);
    assert_int_equal(routes_names(&bed), 0);
    put_route(&bed, "y.com", false);
    assert_int_equal(routes_names(&bed), 1);
    route_table_upsert(bed.table, garbled_from(KUBE_ROUTE, "a", "r", ""));
    assert_int_equal(routes_names(&bed), 1); /* as it was last understood */
    route_table_remove(bed.table, KUBE_GATEWAY, "i", "g");
    assert_int_equal(routes_names(&bed), 0);
}
