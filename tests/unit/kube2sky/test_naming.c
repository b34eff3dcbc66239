/* naming: objects in, keys and values out, byte for byte. Key tables are written below
 * /skydns/local/cluster/svc/ ; one test has whole keys. */
#include "tests/unit/kube2sky/objects.h"

#include <stdio.h>

#include "common/record_json.h"
#include "kube2sky/naming.h"

#define BASE      "/skydns/local/cluster/svc/"
#define TAIL      ",\"priority\":10,\"weight\":10,\"ttl\":30,\"targetstrip\":0}\n"
#define IP(ip)    " {\"host\":\"" ip "\"" TAIL
#define SRV(h, p) " {\"host\":\"" h ".svc.cluster.local.\",\"port\":" p TAIL

struct row {
    const char *name;
    const char *spec;    /* of service default/web */
    const char *subsets; /* of its endpoints; NULL: there are none */
    const char *want;    /* "key value\n" in key order */
    const char *dropped; /* "what=value ", as reported */
};

static void note_drop(void *data, const struct naming_drop *drop)
{
    buf_printf(data, "%s=%s ", drop->what, drop->value);
}

/* The records as text, keys without their base. */
static char *build_text(const struct kube_object *service, const struct kube_object *endpoints,
                        const char *domain, const char *base, struct buf *drops)
{
    struct naming_config config = {
        .domain = domain, .ttl_s = 30, .dropped = note_drop, .data = drops};
    struct desired desired;
    struct buf text;
    struct err err = {0};
    desired_init(&desired);
    buf_init(&text, 1 << 24);
    if (naming_build(&config, service, endpoints, &desired, &err) != 0) {
        fail_msg("%s", err.msg);
    }
    for (size_t i = 0; i < desired.count; i++) {
        struct desired_record record = desired_get(&desired, i);
        assert_true(slice_has_prefix(record.key, slice_str(base)));
        buf_append(&text, record.key.ptr + strlen(base), record.key.len - strlen(base));
        buf_append_char(&text, ' ');
        buf_append_slice(&text, record.value);
        buf_append_char(&text, '\n');
    }
    desired_fini(&desired);
    char *result = xstrdup(buf_cstr(&text));
    buf_fini(&text);
    return result;
}

static void check_rows(const struct row *rows, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const struct row *row = &rows[i];
        struct kube_object *service = service_from("default", "web", row->spec);
        struct kube_object *endpoints =
            row->subsets ? endpoints_from("default", "web", row->subsets) : NULL;
        struct buf drops;
        buf_init(&drops, 1 << 20);
        char *got = build_text(service, endpoints, "cluster.local.", BASE, &drops);
        const char *want_drops = row->dropped ? row->dropped : "";
        if (strcmp(got, row->want) != 0 || strcmp(buf_cstr(&drops), want_drops) != 0) {
            fail_msg("%s:\ngot\n%swant\n%sdropped `%s`, want `%s`", row->name, got, row->want,
                     buf_cstr(&drops), want_drops);
        }
        free(got);
        buf_fini(&drops);
        kube_object_free(service);
        kube_object_free(endpoints);
    }
}

static void test_whole_keys(void **state)
{
    struct kube_object *service = service_from(
        "default", "kubernetes",
        "'clusterIP':'10.0.0.1','ports':[{'name':'https','port':443,'protocol':'TCP'}]");
    struct buf drops;
    (void)state;
    buf_init(&drops, 1024);
    char *got = build_text(service, NULL, "cluster.local.", "", &drops);
    assert_string_equal(
        got,
        "/skydns/local/cluster/svc/default/kubernetes/_tcp/_https/c88f1059 "
        "{\"host\":\"kubernetes.default.svc.cluster.local.\",\"port\":443,\"priority\":10,"
        "\"weight\":10,\"ttl\":30,\"targetstrip\":0}\n"
        "/skydns/local/cluster/svc/default/kubernetes/c88f1059 "
        "{\"host\":\"10.0.0.1\",\"priority\":10,\"weight\":10,\"ttl\":30,\"targetstrip\":0}\n");
    free(got);
    got = build_text(service, NULL, "a.b.example.", "", &drops);
    assert_non_null(strstr(got, "/skydns/example/b/a/svc/default/kubernetes/c88f1059 "));
    assert_non_null(strstr(got, "\"kubernetes.default.svc.a.b.example.\""));
    free(got);
    assert_int_equal(drops.len, 0);
    buf_fini(&drops);
    kube_object_free(service);
}

/* One record a line. clang-format would run them together. */
/* clang-format off */

static void test_cluster_ip(void **state)
{
    static const struct row rows[] = {
        {"no ports", "'clusterIP':'10.0.0.1'", NULL, "default/web/c88f1059" IP("10.0.0.1"), NULL},
        {"a short hash is not padded", "'clusterIP':'10.0.0.9'", NULL,
         "default/web/19ccb11" IP("10.0.0.9"), NULL},
        {"named and unnamed ports",
         "'clusterIP':'10.0.0.1','ports':[{'name':'http','port':80,'protocol':'TCP'},"
         "{'port':81,'protocol':'TCP'},{'name':'dns','port':53,'protocol':'UDP'}]",
         NULL,
         "default/web/_tcp/_http/c88f1059" SRV("web.default", "80")
         "default/web/_udp/_dns/c88f1059" SRV("web.default", "53")
         "default/web/c88f1059" IP("10.0.0.1"),
         NULL},
        {"one name, two protocols",
         "'clusterIP':'10.0.0.1','ports':[{'name':'dns','port':53,'protocol':'UDP'},"
         "{'name':'dns','port':53,'protocol':'TCP'}]",
         NULL,
         "default/web/_tcp/_dns/c88f1059" SRV("web.default", "53")
         "default/web/_udp/_dns/c88f1059" SRV("web.default", "53")
         "default/web/c88f1059" IP("10.0.0.1"),
         NULL},
        {"one key for three ports: the smallest number has it",
         "'clusterIP':'10.0.0.1','ports':[{'name':'http','port':8080,'protocol':'TCP'},"
         "{'name':'HTTP','port':80,'protocol':'TCP'},{'name':'http','port':81,'protocol':'TCP'},"
         "{'name':'http','port':81,'protocol':'TCP'}]",
         NULL,
         "default/web/_tcp/_http/c88f1059" SRV("web.default", "80")
         "default/web/_tcp/_http/c88f1059-8080" SRV("web.default", "8080")
         "default/web/_tcp/_http/c88f1059-81" SRV("web.default", "81")
         "default/web/c88f1059" IP("10.0.0.1"),
         NULL},
        {"IPv6 in its short form", "'clusterIP':'FD00:0:0:0:0:0:0:1'", NULL,
         "default/web/479bcb2e" IP("fd00::1"), NULL},
        {"dual stack: ports once, with the first address's label",
         "'clusterIP':'fd00::1','clusterIPs':['fd00::1','10.0.0.1'],"
         "'ports':[{'name':'http','port':80,'protocol':'TCP'}]",
         NULL,
         "default/web/479bcb2e" IP("fd00::1")
         "default/web/_tcp/_http/479bcb2e" SRV("web.default", "80")
         "default/web/c88f1059" IP("10.0.0.1"),
         NULL},
        {"not allocated yet", "'clusterIP':'','ports':[{'name':'http','port':80}]", NULL, "", NULL},
        {"nothing said", "", "{'addresses':[{'ip':'10.1.0.1'}]}", "", NULL},
        {"its endpoints give nothing", "'clusterIP':'10.0.0.1'",
         "{'addresses':[{'ip':'10.1.0.1','hostname':'a'}],'ports':[{'name':'x','port':1}]}",
         "default/web/c88f1059" IP("10.0.0.1"), NULL},
        {"ExternalName", "'type':'ExternalName','externalName':'example.com'", NULL, "", NULL},
        {"ExternalName, headless in name",
         "'type':'ExternalName','externalName':'example.com','clusterIP':'None'",
         "{'addresses':[{'ip':'10.1.0.1'}]}", "", NULL},
        {"ExternalName with the address it had before",
         "'type':'ExternalName','externalName':'example.com','clusterIP':'10.0.0.1'", NULL, "",
         NULL},
        {"bad address", "'clusterIP':'10.0.0.256','ports':[{'name':'x','port':1,'protocol':'TCP'}]",
         NULL, "", "address=10.0.0.256 "},
        {"one bad address of two",
         "'clusterIPs':['nonsense','10.0.0.1'],'ports':[{'name':'x','port':1,'protocol':'TCP'}]",
         NULL,
         "default/web/_tcp/_x/c88f1059" SRV("web.default", "1")
         "default/web/c88f1059" IP("10.0.0.1"),
         "address=nonsense "},
        {"ports whose names are no labels",
         "'clusterIP':'10.0.0.1','ports':[{'name':'a.b','port':1,'protocol':'TCP'},"
         "{'name':'a/b','port':2,'protocol':'TCP'},{'name':'-a','port':3,'protocol':'TCP'},"
         "{'name':'ok','port':4,'protocol':'T/P'},{'name':'ok','port':5,'protocol':'SCTP'},"
         "{'name':'a23456789012345678901234567890123456789012345678901234567890123','port':6,"
         "'protocol':'TCP'}]",
         NULL,
         "default/web/_sctp/_ok/c88f1059" SRV("web.default", "5")
         "default/web/c88f1059" IP("10.0.0.1"),
         "port name=a.b port name=a/b port name=-a protocol=T/P "
         "port name=a23456789012345678901234567890123456789012345678901234567890123 "},
    };
    (void)state;
    check_rows(rows, ARRAY_LEN(rows));
}

static void test_headless(void **state)
{
    static const struct row rows[] = {
        {"before its endpoints", "'clusterIP':'None'", NULL, "", NULL},
        {"no endpoints", "'clusterIP':'None'", "", "", NULL},
        {"hash labels", "'clusterIP':'None'", "{'addresses':[{'ip':'10.0.0.9'},{'ip':'10.0.0.1'}]}",
         "default/web/19ccb11" IP("10.0.0.9")
         "default/web/c88f1059" IP("10.0.0.1"), NULL},
        {"hostnames and endpoint ports",
         "'clusterIP':'None','ports':[{'name':'http','port':80,'protocol':'TCP'}]",
         "{'addresses':[{'ip':'10.1.0.1','hostname':'Web-0'},{'ip':'10.0.0.1'}],"
         "'ports':[{'name':'http','port':8080,'protocol':'TCP'},{'port':1,'protocol':'TCP'}]}",
         "default/web/_tcp/_http/c88f1059" SRV("c88f1059.web.default", "8080")
         "default/web/_tcp/_http/web-0" SRV("web-0.web.default", "8080")
         "default/web/c88f1059" IP("10.0.0.1")
         "default/web/web-0" IP("10.1.0.1"),
         NULL},
        {"not ready ones stay out", "'clusterIP':'None'",
         "{'addresses':[{'ip':'10.0.0.1'}],'notReadyAddresses':[{'ip':'10.0.0.9'}]}",
         "default/web/c88f1059" IP("10.0.0.1"), NULL},
        {"unless the service says so", "'clusterIP':'None','publishNotReadyAddresses':true",
         "{'addresses':[{'ip':'10.0.0.1'}],'notReadyAddresses':[{'ip':'10.0.0.9'}]}",
         "default/web/19ccb11" IP("10.0.0.9")
         "default/web/c88f1059" IP("10.0.0.1"), NULL},
        {"one address in two subsets", "'clusterIP':'None'",
         "{'addresses':[{'ip':'10.0.0.1'}],'ports':[{'name':'a','port':1,'protocol':'TCP'}]},"
         "{'addresses':[{'ip':'10.0.0.1'}],'ports':[{'name':'b','port':2,'protocol':'TCP'}]}",
         "default/web/_tcp/_a/c88f1059" SRV("c88f1059.web.default", "1")
         "default/web/_tcp/_b/c88f1059" SRV("c88f1059.web.default", "2")
         "default/web/c88f1059" IP("10.0.0.1"),
         NULL},
        {"one port name with two numbers", "'clusterIP':'None'",
         "{'addresses':[{'ip':'10.0.0.1'}],'ports':[{'name':'a','port':9,'protocol':'TCP'}]},"
         "{'addresses':[{'ip':'10.0.0.1'}],'ports':[{'name':'a','port':2,'protocol':'TCP'}]}",
         "default/web/_tcp/_a/c88f1059" SRV("c88f1059.web.default", "2")
         "default/web/_tcp/_a/c88f1059-9" SRV("c88f1059.web.default", "9")
         "default/web/c88f1059" IP("10.0.0.1"),
         NULL},
        {"one hostname, two addresses", "'clusterIP':'None'",
         "{'addresses':[{'ip':'10.0.0.1','hostname':'db'},{'ip':'10.0.0.9','hostname':'DB'}],"
         "'ports':[{'name':'a','port':1,'protocol':'TCP'}]}",
         "default/web/_tcp/_a/db" SRV("db.web.default", "1")
         "default/web/db/19ccb11" IP("10.0.0.9")
         "default/web/db/c88f1059" IP("10.0.0.1"),
         NULL},
        {"one hostname and address twice", "'clusterIP':'None'",
         "{'addresses':[{'ip':'10.0.0.1','hostname':'db'}]},"
         "{'addresses':[{'ip':'10.0.0.1','hostname':'db'}]}",
         "default/web/db" IP("10.0.0.1"), NULL},
        {"a hostname that is another one's hash", "'clusterIP':'None'",
         "{'addresses':[{'ip':'10.0.0.1'},{'ip':'10.0.0.9','hostname':'c88f1059'}]}",
         "default/web/c88f1059/19ccb11" IP("10.0.0.9")
         "default/web/c88f1059/c88f1059" IP("10.0.0.1"),
         NULL},
        {"a hostname that is its own hash", "'clusterIP':'None'",
         "{'addresses':[{'ip':'10.0.0.1','hostname':'c88f1059'}]}",
         "default/web/c88f1059" IP("10.0.0.1"), NULL},
        {"IPv6 endpoint", "'clusterIP':'None'", "{'addresses':[{'ip':'fd00:0::01'}]}",
         "default/web/479bcb2e" IP("fd00::1"), NULL},
        {"what cannot be in a key stays out alone", "'clusterIP':'None'",
         "{'addresses':[{'ip':'10.0.0.1'},{'ip':'10.0.0.9','hostname':'a_b'},{'ip':'x'}],"
         "'ports':[{'name':'a','port':1,'protocol':'TCP'}]}",
         "default/web/_tcp/_a/c88f1059" SRV("c88f1059.web.default", "1")
         "default/web/c88f1059" IP("10.0.0.1"),
         "hostname=a_b address=x "},
    };
    (void)state;
    check_rows(rows, ARRAY_LEN(rows));
}

/* clang-format on */

static void check_names(const char *ns, const char *name, const char *domain, const char *want,
                        const char *want_drops)
{
    struct kube_object *service = service_from(
        ns, name, "'clusterIP':'10.0.0.1','ports':[{'name':'x','port':1,'protocol':'TCP'}]");
    struct buf drops;
    buf_init(&drops, 1 << 16);
    char *got = build_text(service, NULL, domain, "", &drops);
    if (!strstr(got, want) || (want[0] == '\0') != (got[0] == '\0')) {
        fail_msg("%s/%s: `%s` lacks `%s`", ns, name, got, want);
    }
    assert_string_equal(buf_cstr(&drops), want_drops);
    free(got);
    buf_fini(&drops);
    kube_object_free(service);
}

static void test_names(void **state)
{
    static const char l63[] = "a23456789012345678901234567890123456789012345678901234567890123";
    (void)state;
    check_names("Default", "WEB", "cluster.local.", BASE "default/web/c88f1059 ", "");
    check_names("Default", "WEB", "cluster.local.", "\"web.default.svc.cluster.local.\"", "");
    check_names("kube.system", "web", "cluster.local.", "", "namespace=kube.system ");
    check_names("default", "a.b", "cluster.local.", "", "service name=a.b ");
    check_names("default", "-a", "cluster.local.", "", "service name=-a ");
    check_names(l63, l63, "cluster.local.", "/c88f1059 ", "");
    char *too_long = xasprintf("%sx", l63);
    char *drop = xasprintf("service name=%s ", too_long);
    check_names("default", too_long, "cluster.local.", "", drop);
    free(drop);
    free(too_long);
}

static void test_key_over_255_bytes(void **state)
{
    static const char l63[] = "a23456789012345678901234567890123456789012345678901234567890123";
    struct buf drops;
    (void)state;
    /* 248 bytes of name for the address; the port's two labels would be ten more. */
    char *domain = xasprintf("%s.a234567890123456789012345678901234567890.", l63);
    struct kube_object *service = service_from(
        l63, l63, "'clusterIP':'10.0.0.1','ports':[{'name':'abc','port':1,'protocol':'TCP'}]");
    buf_init(&drops, 1 << 16);
    char *got = build_text(service, NULL, domain, "", &drops);
    assert_non_null(strstr(got, "/c88f1059 {\"host\":\"10.0.0.1\""));
    assert_null(strstr(got, "_tcp"));
    assert_true(strncmp(buf_cstr(&drops), "key beyond the limits of DNS names=/skydns/", 43) == 0);
    free(got);
    free(domain);
    buf_fini(&drops);
    kube_object_free(service);
}

static void test_nothing_without_a_service(void **state)
{
    struct naming_config config = {.domain = "cluster.local.", .ttl_s = 30};
    struct kube_object *endpoints =
        endpoints_from("default", "web", "{'addresses':[{'ip':'10.0.0.1'}]}");
    struct desired desired;
    (void)state;
    desired_init(&desired);
    desired_add(&desired, slice_str("left"), slice_str("over"));
    assert_int_equal(naming_build(&config, NULL, endpoints, &desired, NULL), 0);
    assert_int_equal(desired.count, 0);
    desired_fini(&desired);
    kube_object_free(endpoints);
}

/* 400 addresses x 400 ports: refused before anything is made of them. */
static void test_too_many_records(void **state)
{
    struct naming_config config = {.domain = "cluster.local.", .ttl_s = 30};
    struct kube_object *service = service_from("default", "web", "'clusterIP':'None'");
    struct desired desired;
    struct err err = {0};
    struct buf subset;
    (void)state;
    buf_init(&subset, 1 << 20);
    buf_append_str(&subset, "{'addresses':[");
    for (int i = 0; i < 400; i++) {
        buf_printf(&subset, "%s{'ip':'10.0.%d.%d'}", i ? "," : "", i / 256, i % 256);
    }
    buf_append_str(&subset, "],'ports':[");
    for (int i = 0; i < 400; i++) {
        buf_printf(&subset, "%s{'name':'p%d','port':%d,'protocol':'TCP'}", i ? "," : "", i, i + 1);
    }
    buf_append_str(&subset, "]}");
    struct kube_object *endpoints = endpoints_from("default", "web", buf_cstr(&subset));
    desired_init(&desired);
    assert_int_equal(naming_build(&config, service, endpoints, &desired, &err), ERR_TOO_LARGE);
    assert_non_null(strstr(err.msg, "400 addresses and 160000 address and port pairs"));
    desired_fini(&desired);
    buf_fini(&subset);
    kube_object_free(service);
    kube_object_free(endpoints);
}

static void test_is_label(void **state)
{
    static const struct {
        const char *text;
        bool want;
    } cases[] = {
        {"a", true},
        {"A-9", true},
        {"9", true},
        {"", false},
        {"-a", false},
        {"a-", false},
        {"a.b", false},
        {"a_b", false},
        {"a b", false},
        {"a/b", false},
        {"\xc3\xa9", false},
        {"a23456789012345678901234567890123456789012345678901234567890123", true},
        {"a234567890123456789012345678901234567890123456789012345678901234", false},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        if (naming_is_label(slice_str(cases[i].text)) != cases[i].want) {
            fail_msg("%s: want %s", cases[i].text, cases[i].want ? "a label" : "no label");
        }
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_whole_keys),         cmocka_unit_test(test_cluster_ip),
        cmocka_unit_test(test_headless),           cmocka_unit_test(test_names),
        cmocka_unit_test(test_key_over_255_bytes), cmocka_unit_test(test_nothing_without_a_service),
        cmocka_unit_test(test_too_many_records),   cmocka_unit_test(test_is_label),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
