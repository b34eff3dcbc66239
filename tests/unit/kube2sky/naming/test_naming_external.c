/* naming, in the external zone: Services in, keys and values in the external zone out; each is in a
 * form that key_style knows as ours. */
#include "tests/unit/kube2sky/objects.h"

#include "common/dns/record_json.h"
#include "kube2sky/naming/key_style.h"
#include "kube2sky/naming/naming.h"
#include "tests/support/unit_test.h"

#define ZONE     "lb.example.com."
#define BASE     "/skydns/com/example/lb/"
#define TAIL     ",\"priority\":10,\"weight\":10,\"ttl\":30,\"targetstrip\":0}\n"
#define AT(h)    " {\"host\":\"" h "\"" TAIL
#define TO(h, p) " {\"host\":\"" h "\",\"port\":" p TAIL
#define PORT     "'ports':[{'name':'http','port':80,'protocol':'TCP'}]"
#define SLICE \
    "'addressType':'IPv4','endpoints':[{'addresses':['10.1.0.1'],'hostname':'db-0'}]," PORT

static void note_external_drop(void *data, const struct naming_drop *drop)
{
    buf_printf(data, "%s=%s ", drop->what, drop->value);
}

static struct kube_object *service_with(const char *spec, const char *points)
{
    CLEANUP_FREE char *text =
        xasprintf("{'metadata':{'namespace':'default','name':'web','resourceVersion':'1'},"
                  "'spec':{%s},'status':{'loadBalancer':{'ingress':[%s]}}}",
                  spec, points);
    return object_from(KUBE_SERVICE, text);
}

struct external_row {
    const char *name, *spec, *points, *want, *dropped;
    bool has_headless; /* the flag is set */
};

static void check_external(const struct external_row *row)
{
    struct kube_object *service = service_with(row->spec, row->points);
    struct kube_object *slice = slice_from("default", "web-x", "web", SLICE);
    struct buf drops;
    struct naming_config config = {
        .domain = "cluster.local.",
        .ttl_s = 30,
        .external = {.zone = ZONE, .has_headless = row->has_headless},
        .dropped = note_external_drop,
        .data = &drops,
    };
    struct owner_objects objects;
    struct desired desired;
    struct claims claims;
    struct err err = {0};
    CLEANUP_BUF struct buf got = buf_of(1 << 20);
    buf_init(&drops, 1 << 20);
    desired_init(&desired);
    claims_init(&claims);
    owner_objects_init(&objects);
    objects.service = service;
    objects.is_external = true;
    if (service->service.is_headless) {
        owner_objects_add_part(&objects, slice);
    }
    assert_int_equal(naming_build(&config, &objects, &desired, &claims, &err), 0);
    assert_int_equal(claims.count, 0);
    assert_true(desired.count == 0 || naming_is_external(&config, service));
    for (size_t i = 0; i < desired.count; i++) {
        struct desired_record record = desired_get(&desired, i);
        struct slice below = slice_of(record.key.ptr + strlen(BASE), record.key.len - strlen(BASE));
        assert_true(slice_has_prefix(record.key, slice_str(BASE)));
        assert_true(key_style_external(slice_str(ZONE), below, record.value));
        buf_printf(&got, "%.*s %.*s\n", (int)below.len, below.ptr, (int)record.value.len,
                   record.value.ptr);
    }
    assert_that(strcmp(buf_cstr(&got), row->want) == 0 &&
                    strcmp(buf_cstr(&drops), row->dropped ? row->dropped : "") == 0,
                "%s:\ngot\n%swant\n%sdropped `%s`", row->name, buf_cstr(&got), row->want,
                buf_cstr(&drops));
    desired_fini(&desired);
    claims_fini(&claims);
    owner_objects_fini(&objects);
    kube_object_free(slice);
    kube_object_free(service);
    buf_fini(&drops);
}

/* clang-format off */
UNIT_TEST(test_rows)
{
    static const struct external_row rows[] = {
        {"nothing external", "'clusterIP':'10.0.0.1'," PORT, "", "", .dropped = NULL},
        {"an externalIP", "'externalIPs':['10.0.0.1']," PORT, "",
         "default/web/_tcp/_http/c88f1059" TO("web.default." ZONE, "80")
         "default/web/c88f1059" AT("10.0.0.1"), .dropped = NULL},
        {"both families, each once; the first labels the port",
         "'externalIPs':['fd00::1','10.0.0.1','fd00:0::1']," PORT, "{'ip':'10.0.0.1'}",
         "default/web/479bcb2e" AT("fd00::1")
         "default/web/_tcp/_http/479bcb2e" TO("web.default." ZONE, "80")
         "default/web/c88f1059" AT("10.0.0.1"), .dropped = NULL},
        {"without ports", "'externalIPs':['10.0.0.1']", "", "default/web/c88f1059" AT("10.0.0.1"),
         .dropped = NULL},
        {"a host name", PORT, "{'hostname':'LB.example.net'}",
         "default/web/_tcp/_http/ed07a6a4" TO("lb.example.net.", "80")
         "default/web/ed07a6a4" AT("lb.example.net."), .dropped = NULL},
        {"a host name beside an address", PORT, "{'hostname':'lb.example.net'},{'ip':'10.0.0.1'}",
         "default/web/_tcp/_http/c88f1059" TO("web.default." ZONE, "80")
         "default/web/c88f1059" AT("10.0.0.1"),
         .dropped = "host name beside addresses=lb.example.net. "},
        {"no address, and no host name", "'externalIPs':['x']", "{'hostname':'a b'}", "",
         .dropped = "address=x host name=a b. "},
        {"two ports of one name", "'externalIPs':['10.0.0.1'],'ports':["
         "{'name':'a','port':90,'protocol':'TCP'},{'name':'a','port':80,'protocol':'TCP'}]", "",
         "default/web/_tcp/_a/c88f1059" TO("web.default." ZONE, "80")
         "default/web/_tcp/_a/c88f1059-90" TO("web.default." ZONE, "90")
         "default/web/c88f1059" AT("10.0.0.1"), .dropped = NULL},
        {"headless, without the flag", "'clusterIP':'None'," PORT, "", "", .dropped = NULL},
        {"headless", "'clusterIP':'None'," PORT, "",
         "default/web/_tcp/_http/db-0" TO("db-0.web.default." ZONE, "80")
         "default/web/db-0" AT("10.1.0.1"), .dropped = NULL, .has_headless = true},
        {"headless with an external address",
         "'clusterIP':'None','externalIPs':['10.0.0.1']," PORT, "",
         "default/web/_tcp/_http/c88f1059" TO("web.default." ZONE, "80")
         "default/web/c88f1059" AT("10.0.0.1"), .dropped = NULL, .has_headless = true},
    };
    kube_object_keep((struct kube_kept){.external = true});
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        check_external(&rows[i]);
    }
    kube_object_keep((struct kube_kept){0});
}
/* clang-format on */

UNIT_TEST(test_too_many)
{
    kube_object_keep((struct kube_kept){.external = true});
    struct kube_object *service = service_with("'externalIPs':['10.0.0.1','10.0.0.2']," PORT, "");
    struct owner_objects objects = {.service = service, .is_external = true};
    for (uint32_t most = 3; most <= 4; most++) {
        struct naming_config config = {.domain = "cluster.local.",
                                       .ttl_s = 30,
                                       .records_max = most,
                                       .external = {.zone = ZONE},
                                       .dropped = note_external_drop};
        CLEANUP(desired_fini) struct desired desired;
        CLEANUP(claims_fini) struct claims claims;
        struct err err = {0};
        desired_init(&desired);
        claims_init(&claims);
        assert_int_equal(naming_build(&config, &objects, &desired, &claims, &err),
                         most < 4 ? ERR_TOO_LARGE : 0);
    }
    kube_object_free(service);
    kube_object_keep((struct kube_kept){0});
}

UNIT_TEST(test_namespaces_and_public)
{
    static const struct naming_config config = {.external = {.zone = ZONE}};
    CLEANUP(desired_fini) struct desired desired;
    assert_true(naming_may_be_external(slice_str("default")));
    assert_true(naming_may_be_external(slice_str("dnsx")));
    assert_false(naming_may_be_external(slice_str("dns")));
    assert_false(naming_may_be_external(slice_str("pod")));
    assert_false(naming_may_be_external(slice_str("svc")));
    desired_init(&desired);
    naming_build_public(&config, false, &desired);
    assert_int_equal(desired.count, 0);
    naming_build_public(&config, true, &desired);
    assert_int_equal(desired.count, 1);
    assert_true(slice_equal(desired_get(&desired, 0).key, slice_str(BASE "dns/public")));
}
