/* naming: objects in, keys and values out, byte for byte. Keys in tables are relative to
 * /skydns/local/cluster/svc/ ; one test has complete keys. */
#include "tests/unit/kube2sky/objects.h"

#include "common/dns/record_json.h"
#include "kube2sky/naming/naming.h"
#include "tests/support/from_text.h"
#include "tests/support/unit_test.h"

CLEANUP_POINTER(kube_object_free, struct kube_object)

#define BASE       "/skydns/local/cluster/svc/"
#define TAIL       ",\"priority\":10,\"weight\":10,\"ttl\":30,\"targetstrip\":0}\n"
#define IP(ip)     " {\"host\":\"" ip "\"" TAIL
#define NAME(name) IP(name)
#define LONG       "hhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhh"
#define SRV(h, p)  " {\"host\":\"" h ".svc.cluster.local.\",\"port\":" p TAIL

/* A row has its endpoints as Endpoints or as slices. */
enum { SLICES_MAX = 3 };

struct row {
    const char *name;
    const char *spec;               /* of service default/web */
    const char *subsets;            /* of its Endpoints; NULL: none */
    const char *want;               /* "key value\n" in key order */
    const char *dropped;            /* "what=value ", as reported; NULL: nothing */
    const char *slices[SLICES_MAX]; /* after the metadata */
    const char *claims;             /* "address rank host\n"; NULL: not checked */
    enum endpoint_names endpoint_names;
};

static void naming_note_drop(void *data, const struct naming_drop *drop)
{
    buf_printf(data, "%s=%s ", drop->what, drop->value);
}

/* The keys, claims and drops that naming derives from some objects, as text. */
struct result {
    struct buf records; /* keys without their base */
    struct buf claims;
    struct buf drops;
};

static void note_records(const struct desired *desired, const char *base, struct buf *out)
{
    for (size_t i = 0; i < desired->count; i++) {
        struct desired_record record = desired_get(desired, i);
        assert_true(slice_has_prefix(record.key, slice_str(base)));
        buf_append(out, record.key.ptr + strlen(base), record.key.len - strlen(base));
        buf_append_char(out, ' ');
        buf_append_slice(out, record.value);
        buf_append_char(out, '\n');
    }
}

static void note_claims(const struct claims *claims, struct buf *out)
{
    static const char *const ranks[] = {"ip", "hostname", "hash"};
    for (size_t i = 0; i < claims->count; i++) {
        struct claim claim = claims_get(claims, i);
        char ip[INET6_ADDRSTRLEN];
        buf_printf(out, "%s %s %.*s\n", ip_format(&claim.ip, ip), ranks[claim.rank],
                   (int)claim.host.len, claim.host.ptr);
    }
}

static void name_objects_as(const struct owner_objects *objects, enum endpoint_names endpoint_names,
                            const char *domain, const char *base, struct result *ret_result)
{
    struct naming_config config = {.domain = domain,
                                   .ttl_s = 30,
                                   .endpoint_names = endpoint_names,
                                   .dropped = naming_note_drop,
                                   .data = &ret_result->drops};
    CLEANUP(desired_fini) struct desired desired;
    CLEANUP(claims_fini) struct claims claims;
    struct err err = {0};
    desired_init(&desired);
    claims_init(&claims);
    buf_init(&ret_result->records, 1 << 24);
    buf_init(&ret_result->claims, 1 << 24);
    buf_init(&ret_result->drops, 1 << 20);
    assert_that(naming_build(&config, objects, &desired, &claims, &err) == 0, "%s", err.msg);
    note_records(&desired, base, &ret_result->records);
    note_claims(&claims, &ret_result->claims);
}

static void name_objects(const struct owner_objects *objects, const char *domain, const char *base,
                         struct result *ret_result)
{
    name_objects_as(objects, ENDPOINT_NAMES_HASH, domain, base, ret_result);
}

static void result_fini(struct result *result)
{
    buf_fini(&result->records);
    buf_fini(&result->claims);
    buf_fini(&result->drops);
}

/* The records of a service without endpoints, and what was dropped. */
static char *build_text(const struct kube_object *service, const char *domain, const char *base,
                        struct buf *drops)
{
    struct owner_objects objects = {.service = service};
    struct result result;
    name_objects(&objects, domain, base, &result);
    char *records = xstrdup(buf_cstr(&result.records));
    buf_append_slice(drops, buf_slice(&result.drops));
    result_fini(&result);
    return records;
}

static void check_row(const struct row *row)
{
    CLEANUP(kube_object_free_of)
    struct kube_object *service = service_from("default", "web", row->spec);
    struct kube_object *parts[SLICES_MAX + 1];
    size_t count = 0;
    struct owner_objects objects;
    struct result result;
    owner_objects_init(&objects);
    objects.service = service;
    if (row->subsets) {
        parts[count++] = endpoints_from("default", "web", row->subsets);
    }
    for (size_t i = 0; i < SLICES_MAX && row->slices[i]; i++) {
        parts[count++] = slice_from("default", "web-x", "web", row->slices[i]);
    }
    for (size_t i = 0; i < count; i++) {
        owner_objects_add_part(&objects, parts[i]);
    }
    name_objects_as(&objects, row->endpoint_names, "cluster.local.", BASE, &result);
    const char *want_drops = row->dropped ? row->dropped : "";
    assert_that(strcmp(buf_cstr(&result.records), row->want) == 0 &&
                    strcmp(buf_cstr(&result.drops), want_drops) == 0 &&
                    (!row->claims || strcmp(buf_cstr(&result.claims), row->claims) == 0),
                "%s:\ngot\n%swant\n%sclaims\n%swant\n%sdropped `%s`, want `%s`", row->name,
                buf_cstr(&result.records), row->want, buf_cstr(&result.claims),
                row->claims ? row->claims : "(any)\n", buf_cstr(&result.drops), want_drops);
    result_fini(&result);
    for (size_t i = 0; i < count; i++) {
        kube_object_free(parts[i]);
    }
    owner_objects_fini(&objects);
}

static void check_rows(const struct row *rows, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        check_row(&rows[i]);
    }
}

UNIT_TEST(test_whole_keys)
{
    CLEANUP(kube_object_free_of)
    struct kube_object *service = service_from(
        "default", "kubernetes",
        "'clusterIP':'10.0.0.1','ports':[{'name':'https','port':443,'protocol':'TCP'}]");
    CLEANUP_BUF struct buf drops = buf_of(1024);
    char *got = build_text(service, "cluster.local.", "", &drops);
    assert_string_equal(
        got,
        "/skydns/local/cluster/svc/default/kubernetes/_tcp/_https/c88f1059 "
        "{\"host\":\"kubernetes.default.svc.cluster.local.\",\"port\":443,\"priority\":10,"
        "\"weight\":10,\"ttl\":30,\"targetstrip\":0}\n"
        "/skydns/local/cluster/svc/default/kubernetes/c88f1059 "
        "{\"host\":\"10.0.0.1\",\"priority\":10,\"weight\":10,\"ttl\":30,\"targetstrip\":0}\n");
    free(got);
    got = build_text(service, "a.b.example.", "", &drops);
    assert_non_null(strstr(got, "/skydns/example/b/a/svc/default/kubernetes/c88f1059 "));
    assert_non_null(strstr(got, "\"kubernetes.default.svc.a.b.example.\""));
    free(got);
    assert_int_equal(drops.len, 0);
}

/* One record per line: clang-format would join them. */
/* clang-format off */

UNIT_TEST(test_cluster_ip)
{
    static const struct row rows[] = {
        {"no ports", "'clusterIP':'10.0.0.1'", NULL, "default/web/c88f1059" IP("10.0.0.1"),
         .dropped = NULL},
        {"a short hash is not padded", "'clusterIP':'10.0.0.9'", NULL,
         "default/web/19ccb11" IP("10.0.0.9"), .dropped = NULL},
        {"named and unnamed ports",
         "'clusterIP':'10.0.0.1','ports':[{'name':'http','port':80,'protocol':'TCP'},"
         "{'port':81,'protocol':'TCP'},{'name':'dns','port':53,'protocol':'UDP'}]",
         NULL,
         "default/web/_tcp/_http/c88f1059" SRV("web.default", "80")
         "default/web/_udp/_dns/c88f1059" SRV("web.default", "53")
         "default/web/c88f1059" IP("10.0.0.1"),
         .dropped = NULL},
        {"one name, two protocols",
         "'clusterIP':'10.0.0.1','ports':[{'name':'dns','port':53,'protocol':'UDP'},"
         "{'name':'dns','port':53,'protocol':'TCP'}]",
         NULL,
         "default/web/_tcp/_dns/c88f1059" SRV("web.default", "53")
         "default/web/_udp/_dns/c88f1059" SRV("web.default", "53")
         "default/web/c88f1059" IP("10.0.0.1"),
         .dropped = NULL},
        {"one key for three ports: the smallest number has it",
         "'clusterIP':'10.0.0.1','ports':[{'name':'http','port':8080,'protocol':'TCP'},"
         "{'name':'HTTP','port':80,'protocol':'TCP'},{'name':'http','port':81,'protocol':'TCP'},"
         "{'name':'http','port':81,'protocol':'TCP'}]",
         NULL,
         "default/web/_tcp/_http/c88f1059" SRV("web.default", "80")
         "default/web/_tcp/_http/c88f1059-8080" SRV("web.default", "8080")
         "default/web/_tcp/_http/c88f1059-81" SRV("web.default", "81")
         "default/web/c88f1059" IP("10.0.0.1"),
         .dropped = NULL},
        {"IPv6 in its short form", "'clusterIP':'FD00:0:0:0:0:0:0:1'", NULL,
         "default/web/479bcb2e" IP("fd00::1"), .dropped = NULL},
        {"dual stack: ports once, with the first address's label",
         "'clusterIP':'fd00::1','clusterIPs':['fd00::1','10.0.0.1'],"
         "'ports':[{'name':'http','port':80,'protocol':'TCP'}]",
         NULL,
         "default/web/479bcb2e" IP("fd00::1")
         "default/web/_tcp/_http/479bcb2e" SRV("web.default", "80")
         "default/web/c88f1059" IP("10.0.0.1"),
         .dropped = NULL},
        {"not allocated yet", "'clusterIP':'','ports':[{'name':'http','port':80}]", NULL, "",
         .dropped = NULL},
        {"nothing said", "", "{'addresses':[{'ip':'10.1.0.1'}]}", "", .dropped = NULL},
        {"its endpoints give nothing", "'clusterIP':'10.0.0.1'",
         "{'addresses':[{'ip':'10.1.0.1','hostname':'a'}],'ports':[{'name':'x','port':1}]}",
         "default/web/c88f1059" IP("10.0.0.1"), .dropped = NULL},
        {"bad address", "'clusterIP':'10.0.0.256','ports':[{'name':'x','port':1,'protocol':'TCP'}]",
         NULL, "", .dropped = "address=10.0.0.256 "},
        {"one bad address of two",
         "'clusterIPs':['nonsense','10.0.0.1'],'ports':[{'name':'x','port':1,'protocol':'TCP'}]",
         NULL,
         "default/web/_tcp/_x/c88f1059" SRV("web.default", "1")
         "default/web/c88f1059" IP("10.0.0.1"),
         .dropped = "address=nonsense "},
        {"ports whose names are no labels",
         "'clusterIP':'10.0.0.1','ports':[{'name':'a.b','port':1,'protocol':'TCP'},"
         "{'name':'a/b','port':2,'protocol':'TCP'},{'name':'-a','port':3,'protocol':'TCP'},"
         "{'name':'ok','port':4,'protocol':'T/P'},{'name':'ok','port':5,'protocol':'SCTP'},"
         "{'name':'a23456789012345678901234567890123456789012345678901234567890123','port':6,"
         "'protocol':'TCP'}]",
         NULL,
         "default/web/_sctp/_ok/c88f1059" SRV("web.default", "5")
         "default/web/c88f1059" IP("10.0.0.1"),
         .dropped = "port name=a.b port name=a/b port name=-a protocol=T/P "
         "port name=a23456789012345678901234567890123456789012345678901234567890123 "},
    };
    check_rows(rows, ARRAY_LEN(rows));
}

UNIT_TEST(test_headless)
{
    static const struct row rows[] = {
        {"before its endpoints", "'clusterIP':'None'", NULL, "",
         .dropped = NULL},
        {"no endpoints", "'clusterIP':'None'", "", "", .dropped = NULL},
        {"hash labels", "'clusterIP':'None'", "{'addresses':[{'ip':'10.0.0.9'},{'ip':'10.0.0.1'}]}",
         "default/web/19ccb11" IP("10.0.0.9")
         "default/web/c88f1059" IP("10.0.0.1"), .dropped = NULL},
        {"hostnames and endpoint ports",
         "'clusterIP':'None','ports':[{'name':'http','port':80,'protocol':'TCP'}]",
         "{'addresses':[{'ip':'10.1.0.1','hostname':'Web-0'},{'ip':'10.0.0.1'}],"
         "'ports':[{'name':'http','port':8080,'protocol':'TCP'},{'port':1,'protocol':'TCP'}]}",
         "default/web/_tcp/_http/c88f1059" SRV("c88f1059.web.default", "8080")
         "default/web/_tcp/_http/web-0" SRV("web-0.web.default", "8080")
         "default/web/c88f1059" IP("10.0.0.1")
         "default/web/web-0" IP("10.1.0.1"),
         .dropped = NULL},
        {"not ready ones stay out", "'clusterIP':'None'",
         "{'addresses':[{'ip':'10.0.0.1'}],'notReadyAddresses':[{'ip':'10.0.0.9'}]}",
         "default/web/c88f1059" IP("10.0.0.1"), .dropped = NULL},
        {"unless the service says so", "'clusterIP':'None','publishNotReadyAddresses':true",
         "{'addresses':[{'ip':'10.0.0.1'}],'notReadyAddresses':[{'ip':'10.0.0.9'}]}",
         "default/web/19ccb11" IP("10.0.0.9")
         "default/web/c88f1059" IP("10.0.0.1"), .dropped = NULL},
        {"one address in two subsets", "'clusterIP':'None'",
         "{'addresses':[{'ip':'10.0.0.1'}],'ports':[{'name':'a','port':1,'protocol':'TCP'}]},"
         "{'addresses':[{'ip':'10.0.0.1'}],'ports':[{'name':'b','port':2,'protocol':'TCP'}]}",
         "default/web/_tcp/_a/c88f1059" SRV("c88f1059.web.default", "1")
         "default/web/_tcp/_b/c88f1059" SRV("c88f1059.web.default", "2")
         "default/web/c88f1059" IP("10.0.0.1"),
         .dropped = NULL},
        {"one port name with two numbers", "'clusterIP':'None'",
         "{'addresses':[{'ip':'10.0.0.1'}],'ports':[{'name':'a','port':9,'protocol':'TCP'}]},"
         "{'addresses':[{'ip':'10.0.0.1'}],'ports':[{'name':'a','port':2,'protocol':'TCP'}]}",
         "default/web/_tcp/_a/c88f1059" SRV("c88f1059.web.default", "2")
         "default/web/_tcp/_a/c88f1059-9" SRV("c88f1059.web.default", "9")
         "default/web/c88f1059" IP("10.0.0.1"),
         .dropped = NULL},
        {"a numbered label that is another's", "'clusterIP':'None'",
         "{'addresses':[{'ip':'10.0.0.1','hostname':'a'}],'ports':[{'name':'p','port':1,"
         "'protocol':'TCP'},{'name':'p','port':2,'protocol':'TCP'}]},"
         "{'addresses':[{'ip':'10.0.0.9','hostname':'a-2'}],'ports':[{'name':'p','port':7,"
         "'protocol':'TCP'}]}",
         "default/web/_tcp/_p/15d12939" SRV("a.web.default", "2")
         "default/web/_tcp/_p/a" SRV("a.web.default", "1")
         "default/web/_tcp/_p/a-2" SRV("a-2.web.default", "7")
         "default/web/a" IP("10.0.0.1")
         "default/web/a-2" IP("10.0.0.9"),
         .dropped = NULL},
        {"and so is the hash for it", "'clusterIP':'None'",
         "{'addresses':[{'ip':'10.0.0.1','hostname':'a'}],'ports':[{'name':'p','port':1,"
         "'protocol':'TCP'},{'name':'p','port':2,'protocol':'TCP'}]},"
         "{'addresses':[{'ip':'10.0.0.9','hostname':'a-2'},{'ip':'10.0.0.9','hostname':'15d12939'}],"
         "'ports':[{'name':'p','port':7,'protocol':'TCP'}]}",
         "default/web/15d12939" IP("10.0.0.9")
         "default/web/_tcp/_p/15d12939" SRV("15d12939.web.default", "7")
         "default/web/_tcp/_p/a" SRV("a.web.default", "1")
         "default/web/_tcp/_p/a-2" SRV("a-2.web.default", "7")
         "default/web/a" IP("10.0.0.1")
         "default/web/a-2" IP("10.0.0.9"),
         .dropped = "port label taken by another endpoint=15d12939 "},
        {"no room for a number", "'clusterIP':'None'",
         "{'addresses':[{'ip':'10.0.0.1','hostname':'" LONG "'}],'ports':["
         "{'name':'p','port':1,'protocol':'TCP'},{'name':'p','port':8001,'protocol':'TCP'}]}",
         "default/web/_tcp/_p/27280803" SRV(LONG ".web.default", "8001")
         "default/web/_tcp/_p/" LONG SRV(LONG ".web.default", "1")
         "default/web/" LONG IP("10.0.0.1"),
         .dropped = NULL},
        {"one hostname, two addresses", "'clusterIP':'None'",
         "{'addresses':[{'ip':'10.0.0.1','hostname':'db'},{'ip':'10.0.0.9','hostname':'DB'}],"
         "'ports':[{'name':'a','port':1,'protocol':'TCP'}]}",
         "default/web/_tcp/_a/db" SRV("db.web.default", "1")
         "default/web/db/19ccb11" IP("10.0.0.9")
         "default/web/db/c88f1059" IP("10.0.0.1"),
         .dropped = NULL},
        {"one hostname and address twice", "'clusterIP':'None'",
         "{'addresses':[{'ip':'10.0.0.1','hostname':'db'}]},"
         "{'addresses':[{'ip':'10.0.0.1','hostname':'db'}]}",
         "default/web/db" IP("10.0.0.1"), .dropped = NULL},
        {"a hostname that is another one's hash", "'clusterIP':'None'",
         "{'addresses':[{'ip':'10.0.0.1'},{'ip':'10.0.0.9','hostname':'c88f1059'}]}",
         "default/web/c88f1059/19ccb11" IP("10.0.0.9")
         "default/web/c88f1059/c88f1059" IP("10.0.0.1"),
         .dropped = NULL},
        {"a hostname that is its own hash", "'clusterIP':'None'",
         "{'addresses':[{'ip':'10.0.0.1','hostname':'c88f1059'}]}",
         "default/web/c88f1059" IP("10.0.0.1"), .dropped = NULL},
        {"IPv6 endpoint", "'clusterIP':'None'", "{'addresses':[{'ip':'fd00:0::01'}]}",
         "default/web/479bcb2e" IP("fd00::1"), .dropped = NULL},
        {"what cannot be in a key stays out alone", "'clusterIP':'None'",
         "{'addresses':[{'ip':'10.0.0.1'},{'ip':'10.0.0.9','hostname':'a_b'},{'ip':'x'}],"
         "'ports':[{'name':'a','port':1,'protocol':'TCP'}]}",
         "default/web/_tcp/_a/c88f1059" SRV("c88f1059.web.default", "1")
         "default/web/c88f1059" IP("10.0.0.1"),
         .dropped = "hostname=a_b address=x "},
    };
    check_rows(rows, ARRAY_LEN(rows));
}

UNIT_TEST(test_endpoint_names)
{
    static const char mixed[] =
        "{'addresses':[{'ip':'10.1.2.3','targetRef':{'kind':'Pod','name':'web-x7k2p'}},"
        "{'ip':'10.1.2.4','hostname':'db-0','targetRef':{'kind':'Pod','name':'db-0'}},"
        "{'ip':'10.1.2.5','targetRef':{'kind':'Node','name':'worker'}}],"
        "'ports':[{'name':'http','port':80,'protocol':'TCP'}]}";
    static const struct row rows[] = {
        {"addresses", "'clusterIP':'None'", mixed,
         "default/web/10-1-2-3" IP("10.1.2.3")
         "default/web/10-1-2-5" IP("10.1.2.5")
         "default/web/_tcp/_http/10-1-2-3" SRV("10-1-2-3.web.default", "80")
         "default/web/_tcp/_http/10-1-2-5" SRV("10-1-2-5.web.default", "80")
         "default/web/_tcp/_http/db-0" SRV("db-0.web.default", "80")
         "default/web/db-0" IP("10.1.2.4"),
         .dropped = NULL, .endpoint_names = ENDPOINT_NAMES_ADDRESS,
         .claims = "10.1.2.3 hash 10-1-2-3.web.default.svc.cluster.local.\n"
         "10.1.2.4 hostname db-0.web.default.svc.cluster.local.\n"
         "10.1.2.5 hash 10-1-2-5.web.default.svc.cluster.local.\n"},
        {"pods, and the address of what is none", "'clusterIP':'None'", mixed,
         "default/web/10-1-2-5" IP("10.1.2.5")
         "default/web/_tcp/_http/10-1-2-5" SRV("10-1-2-5.web.default", "80")
         "default/web/_tcp/_http/db-0" SRV("db-0.web.default", "80")
         "default/web/_tcp/_http/web-x7k2p" SRV("web-x7k2p.web.default", "80")
         "default/web/db-0" IP("10.1.2.4")
         "default/web/web-x7k2p" IP("10.1.2.3"),
         .dropped = NULL, .endpoint_names = ENDPOINT_NAMES_POD,
         .claims = "10.1.2.3 hash web-x7k2p.web.default.svc.cluster.local.\n"
         "10.1.2.4 hostname db-0.web.default.svc.cluster.local.\n"
         "10.1.2.5 hash 10-1-2-5.web.default.svc.cluster.local.\n"},
        {"IPv6", "'clusterIP':'None'", NULL,
         "default/web/0--1-2" IP("::1:2")
         "default/web/2001-db8--0" IP("2001:db8::")
         "default/web/fd00--1" IP("fd00::1"),
         .dropped = NULL, .endpoint_names = ENDPOINT_NAMES_ADDRESS,
         .slices = {"'addressType':'IPv6','endpoints':[{'addresses':['FD00:0::1']},"
                    "{'addresses':['2001:db8::']},{'addresses':['::0.1.0.2']}]"}},
        {"one pod, both families: a label for two addresses", "'clusterIP':'None'", NULL,
         "default/web/web-0/479bcb2e" IP("fd00::1")
         "default/web/web-0/c88f1059" IP("10.0.0.1"),
         .dropped = NULL, .endpoint_names = ENDPOINT_NAMES_POD,
         .slices = {"'addressType':'IPv6','endpoints':[{'addresses':['fd00::1'],"
                    "'targetRef':{'kind':'Pod','name':'web-0'}}]",
                    "'addressType':'IPv4','endpoints':[{'addresses':['10.0.0.1'],"
                    "'targetRef':{'kind':'Pod','name':'web-0'}}]"}},
        {"a hostname like another's address", "'clusterIP':'None'", NULL,
         "default/web/10-0-0-9/19ccb11" IP("10.0.0.9")
         "default/web/10-0-0-9/c88f1059" IP("10.0.0.1"),
         .dropped = NULL, .endpoint_names = ENDPOINT_NAMES_ADDRESS,
         .slices = {"'addressType':'IPv4','endpoints':[{'addresses':['10.0.0.1'],"
                    "'hostname':'10-0-0-9'},{'addresses':['10.0.0.9']}]"}},
        {"pods whose names are no labels, or too long", "'clusterIP':'None'", NULL,
         "default/web/10-0-0-1" IP("10.0.0.1")
         "default/web/10-0-0-26" IP("10.0.0.26")
         "default/web/a23456789-123456789-123456789-123456789-123456789-123456789-123"
         IP("10.0.0.9"),
         .dropped = NULL, .endpoint_names = ENDPOINT_NAMES_POD,
         .slices = {"'addressType':'IPv4','endpoints':["
                    "{'addresses':['10.0.0.1'],'targetRef':{'kind':'Pod','name':'web.0'}},"
                    "{'addresses':['10.0.0.26'],'targetRef':{'kind':'Pod','name':"
                    "'a23456789-123456789-123456789-123456789-123456789-123456789-1234'}},"
                    "{'addresses':['10.0.0.9'],'targetRef':{'kind':'Pod','name':"
                    "'a23456789-123456789-123456789-123456789-123456789-123456789-123'}}]"}},
    };
    kube_object_keep((struct kube_kept){.pods = true});
    check_rows(rows, ARRAY_LEN(rows));
    kube_object_keep((struct kube_kept){0});
}

UNIT_TEST(test_external_name)
{
    static const struct row rows[] = {
        {"a leaf at the service's name", "'type':'ExternalName','externalName':'example.com'", NULL,
         "default/web" NAME("example.com."), .claims = ""},
        {"one dot at the end is enough", "'type':'ExternalName','externalName':'Example.COM.'",
         NULL, "default/web" NAME("example.com."), .dropped = NULL},
        {"a single label", "'type':'ExternalName','externalName':'db'", NULL,
         "default/web" NAME("db."), .dropped = NULL},
        {"digits are a name, too", "'type':'ExternalName','externalName':'10.0.0.1'", NULL,
         "default/web" NAME("10.0.0.1."), .claims = ""},
        {"ports give nothing",
         "'type':'ExternalName','externalName':'db.example','ports':[{'name':'x','port':1,"
         "'protocol':'TCP'}]",
         NULL, "default/web" NAME("db.example."), .dropped = NULL},
        {"headless in name: endpoints give nothing",
         "'type':'ExternalName','externalName':'db.example','clusterIP':'None'",
         "{'addresses':[{'ip':'10.1.0.1'}]}", "default/web" NAME("db.example."), .claims = ""},
        {"with the address it had before",
         "'type':'ExternalName','externalName':'db.example','clusterIP':'10.0.0.1'", NULL,
         "default/web" NAME("db.example."), .claims = ""},
        {"no name", "'type':'ExternalName'", NULL, "", .dropped = "external name= "},
        {"only a dot", "'type':'ExternalName','externalName':'.'", NULL, "",
         .dropped = "external name=. "},
        {"an empty label", "'type':'ExternalName','externalName':'a..b'", NULL, "",
         .dropped = "external name=a..b "},
        {"two dots at the end", "'type':'ExternalName','externalName':'a.b..'", NULL, "",
         .dropped = "external name=a.b.. "},
        {"no host name", "'type':'ExternalName','externalName':'a b'", NULL, "",
         .dropped = "external name=a b "},
        {"an IPv6 address", "'type':'ExternalName','externalName':'fd00::1'", NULL, "",
         .dropped = "external name=fd00::1 "},
        {"a label of 64 bytes",
         "'type':'ExternalName','externalName':"
         "'a234567890123456789012345678901234567890123456789012345678901234.b'",
         NULL, "",
         .dropped = "external name=a234567890123456789012345678901234567890123456789012345678901234.b "},
        {"a name is not an external one without the type",
         "'clusterIP':'10.0.0.1','externalName':'example.com'", NULL,
         "default/web/c88f1059" IP("10.0.0.1"), .dropped = NULL},
    };
    check_rows(rows, ARRAY_LEN(rows));
}

UNIT_TEST(test_slices)
{
#define V4 "'addressType':'IPv4',"
    static const struct row rows[] = {
        {"hash labels, hostnames and ports", "'clusterIP':'None'", NULL,
         "default/web/_tcp/_http/c88f1059" SRV("c88f1059.web.default", "8080")
         "default/web/_tcp/_http/web-0" SRV("web-0.web.default", "8080")
         "default/web/c88f1059" IP("10.0.0.1")
         "default/web/web-0" IP("10.1.0.1"),
         .slices = {V4 "'endpoints':[{'addresses':['10.0.0.1']},"
                       "{'addresses':['10.1.0.1'],'hostname':'Web-0'}],"
                       "'ports':[{'name':'http','port':8080,'protocol':'TCP'},"
                       "{'name':'','port':1,'protocol':'TCP'}]"}},
        {"ready is true or absent", "'clusterIP':'None'", NULL,
         "default/web/19ccb11" IP("10.0.0.9")
         "default/web/c88f1059" IP("10.0.0.1"),
         .slices = {V4 "'endpoints':[{'addresses':['10.0.0.1'],'conditions':{'ready':true}},"
                       "{'addresses':['10.0.0.9'],'conditions':{}},"
                       "{'addresses':['10.0.0.2'],'conditions':{'ready':false}}]"}},
        {"a terminating one counts by its ready condition", "'clusterIP':'None'", NULL,
         "default/web/c88f1059" IP("10.0.0.1"),
         .slices = {V4 "'endpoints':[{'addresses':['10.0.0.1'],'conditions':{'ready':true,"
                       "'serving':true,'terminating':true}},{'addresses':['10.0.0.9'],"
                       "'conditions':{'ready':false,'serving':true,'terminating':true}}]"}},
        {"unless the service takes all", "'clusterIP':'None','publishNotReadyAddresses':true", NULL,
         "default/web/19ccb11" IP("10.0.0.9")
         "default/web/c88f1059" IP("10.0.0.1"),
         .slices = {V4 "'endpoints':[{'addresses':['10.0.0.1'],'conditions':{'ready':false}},"
                       "{'addresses':['10.0.0.9'],'conditions':{'ready':false,"
                       "'serving':true,'terminating':true}}]"}},
        {"one endpoint in two slices", "'clusterIP':'None'", NULL,
         "default/web/_tcp/_a/c88f1059" SRV("c88f1059.web.default", "1")
         "default/web/c88f1059" IP("10.0.0.1"),
         .slices = {V4 "'endpoints':[{'addresses':['10.0.0.1']}],"
                       "'ports':[{'name':'a','port':1,'protocol':'TCP'}]",
                    V4 "'endpoints':[{'addresses':['10.0.0.1']}],"
                       "'ports':[{'name':'a','port':1,'protocol':'TCP'}]"},
         .claims = "10.0.0.1 hash c88f1059.web.default.svc.cluster.local.\n"},
        {"ready in the slice it moves to", "'clusterIP':'None'", NULL,
         "default/web/c88f1059" IP("10.0.0.1"),
         .slices = {V4 "'endpoints':[{'addresses':['10.0.0.1'],'conditions':{'ready':false}}]",
                    V4 "'endpoints':[{'addresses':['10.0.0.1'],'conditions':{'ready':true}}]"}},
        {"both families", "'clusterIP':'None'", NULL,
         "default/web/db/479bcb2e" IP("fd00::1")
         "default/web/db/c88f1059" IP("10.0.0.1"),
         .slices = {V4 "'endpoints':[{'addresses':['10.0.0.1'],'hostname':'db'}]",
                    "'addressType':'IPv6','endpoints':[{'addresses':['FD00:0::1'],"
                    "'hostname':'db'}]"},
         .claims = "10.0.0.1 hostname db.web.default.svc.cluster.local.\n"
                   "fd00::1 hostname db.web.default.svc.cluster.local.\n"},
        {"names are for others to resolve", "'clusterIP':'None'", NULL,
         "default/web/c88f1059" IP("10.0.0.1"),
         .slices = {"'addressType':'FQDN','endpoints':[{'addresses':['db.example.com']}],"
                    "'ports':[{'name':'a','port':1,'protocol':'TCP'}]",
                    V4 "'endpoints':[{'addresses':['10.0.0.1']}]",
                    "'addressType':'Later','endpoints':[{'addresses':['10.0.0.9']}]"}},
        {"several addresses of one endpoint", "'clusterIP':'None'", NULL,
         "default/web/a/19ccb11" IP("10.0.0.9")
         "default/web/a/c88f1059" IP("10.0.0.1"),
         .slices = {V4 "'endpoints':[{'addresses':['10.0.0.1','10.0.0.9'],'hostname':'a'}]"}},
        {"a port of any number gives nothing", "'clusterIP':'None'", NULL,
         "default/web/c88f1059" IP("10.0.0.1"),
         .slices = {V4 "'endpoints':[{'addresses':['10.0.0.1']}],"
                       "'ports':[{'name':'a','protocol':'TCP'}]"}},
        {"of a service with an address: nothing", "'clusterIP':'10.0.0.1'", NULL,
         "default/web/c88f1059" IP("10.0.0.1"),
         .slices = {V4 "'endpoints':[{'addresses':['10.0.0.9']}]"}},
        {"no endpoints", "'clusterIP':'None'", NULL, "", .slices = {V4 "'endpoints':[]"},
         .claims = ""},
        {"one port, two numbers", "'clusterIP':'None'", NULL,
         "default/web/_tcp/_a/db" SRV("db.web.default", "1")
         "default/web/_tcp/_a/db-2" SRV("db.web.default", "2")
         "default/web/db/19ccb11" IP("10.0.0.9")
         "default/web/db/c88f1059" IP("10.0.0.1"),
         .slices = {V4 "'endpoints':[{'addresses':['10.0.0.1'],'hostname':'db'}],"
                       "'ports':[{'name':'a','port':2,'protocol':'TCP'}]",
                    V4 "'endpoints':[{'addresses':['10.0.0.9'],'hostname':'db'}],"
                       "'ports':[{'name':'a','port':1,'protocol':'TCP'}]"}},
    };
#undef V4
    check_rows(rows, ARRAY_LEN(rows));
}

UNIT_TEST(test_claims)
{
    static const struct row rows[] = {
        {"each cluster IP", "'clusterIPs':['10.0.0.1','FD00::1']", NULL,
         "default/web/479bcb2e" IP("fd00::1")
         "default/web/c88f1059" IP("10.0.0.1"),
         .claims = "10.0.0.1 ip web.default.svc.cluster.local.\n"
                   "fd00::1 ip web.default.svc.cluster.local.\n"},
        {"not yet allocated", "'clusterIP':''", NULL, "", .claims = ""},
        {"endpoints by hostname or hash", "'clusterIP':'None'",
         "{'addresses':[{'ip':'10.0.0.9'},{'ip':'10.0.0.1','hostname':'DB'}],"
         "'notReadyAddresses':[{'ip':'10.0.0.3'}]}",
         "default/web/19ccb11" IP("10.0.0.9")
         "default/web/db" IP("10.0.0.1"),
         .claims = "10.0.0.1 hostname db.web.default.svc.cluster.local.\n"
                   "10.0.0.9 hash 19ccb11.web.default.svc.cluster.local.\n"},
        {"one address with and without a hostname", "'clusterIP':'None'",
         "{'addresses':[{'ip':'10.0.0.1'},{'ip':'10.0.0.1','hostname':'zz'},"
         "{'ip':'10.0.0.1','hostname':'db'}]}",
         "default/web/c88f1059" IP("10.0.0.1")
         "default/web/db" IP("10.0.0.1")
         "default/web/zz" IP("10.0.0.1"),
         .claims = "10.0.0.1 hostname db.web.default.svc.cluster.local.\n"},
        {"a hostname that is its own hash counts as one", "'clusterIP':'None'",
         "{'addresses':[{'ip':'10.0.0.1'},{'ip':'10.0.0.1','hostname':'c88f1059'}]}",
         "default/web/c88f1059" IP("10.0.0.1"),
         .claims = "10.0.0.1 hostname c88f1059.web.default.svc.cluster.local.\n"},
        {"what is dropped claims nothing", "'clusterIP':'None'",
         "{'addresses':[{'ip':'10.0.0.1','hostname':'a_b'}]}", "", "hostname=a_b ", .claims = ""},
    };
    check_rows(rows, ARRAY_LEN(rows));
}

/* clang-format on */

static void naming_check_names(const char *ns, const char *name, const char *domain,
                               const char *want, const char *want_drops)
{
    CLEANUP(kube_object_free_of)
    struct kube_object *service = service_from(
        ns, name, "'clusterIP':'10.0.0.1','ports':[{'name':'x','port':1,'protocol':'TCP'}]");
    CLEANUP_BUF struct buf drops = buf_of(1 << 16);
    CLEANUP_FREE char *got = build_text(service, domain, "", &drops);
    assert_that(strstr(got, want) && (want[0] == '\0') == (got[0] == '\0'),
                "%s/%s: `%s` lacks `%s`", ns, name, got, want);
    assert_string_equal(buf_cstr(&drops), want_drops);
}

UNIT_TEST(test_names)
{
    static const char l63[] = "a23456789012345678901234567890123456789012345678901234567890123";
    naming_check_names("Default", "WEB", "cluster.local.", BASE "default/web/c88f1059 ", "");
    naming_check_names("Default", "WEB", "cluster.local.", "\"web.default.svc.cluster.local.\"",
                       "");
    /* Names that also occur as parts of keys. */
    naming_check_names("svc", "pod", "cluster.local.", BASE "svc/pod/c88f1059 ", "");
    naming_check_names("pod", "svc", "cluster.local.", BASE "pod/svc/_tcp/_x/c88f1059 ", "");
    naming_check_names("kube.system", "web", "cluster.local.", "", "namespace=kube.system ");
    naming_check_names("default", "a.b", "cluster.local.", "", "service name=a.b ");
    naming_check_names("default", "-a", "cluster.local.", "", "service name=-a ");
    naming_check_names(l63, l63, "cluster.local.", "/c88f1059 ", "");
    CLEANUP_FREE char *too_long = xasprintf("%sx", l63);
    CLEANUP_FREE char *drop = xasprintf("service name=%s ", too_long);
    naming_check_names("default", too_long, "cluster.local.", "", drop);
}

UNIT_TEST(test_key_over_255_bytes)
{
    static const char l63[] = "a23456789012345678901234567890123456789012345678901234567890123";
    /* 248 bytes of name for the address; the port's two labels would be ten more. */
    CLEANUP_FREE char *domain = xasprintf("%s.a234567890123456789012345678901234567890.", l63);
    CLEANUP(kube_object_free_of)
    struct kube_object *service = service_from(
        l63, l63, "'clusterIP':'10.0.0.1','ports':[{'name':'abc','port':1,'protocol':'TCP'}]");
    CLEANUP_BUF struct buf drops = buf_of(1 << 16);
    CLEANUP_FREE char *got = build_text(service, domain, "", &drops);
    assert_non_null(strstr(got, "/c88f1059 {\"host\":\"10.0.0.1\""));
    assert_null(strstr(got, "_tcp"));
    assert_true(strncmp(buf_cstr(&drops), "key exceeds the limits of DNS names=/skydns/", 43) == 0);
}

/* ---- Pods ---- */

static void check_pod(const char *ns, const char *name, const char *ip, const char *want,
                      const char *want_drops)
{
    struct owner_objects objects = {.pod_ns = slice_str(ns), .pod_name = slice_str(name)};
    CLEANUP(result_fini) struct result result;
    (void)ip_parse(slice_str(ip), &objects.pod_ip);
    name_objects(&objects, "cluster.local.", "/skydns/local/cluster/pod/", &result);
    assert_string_equal(buf_cstr(&result.records), want);
    assert_string_equal(buf_cstr(&result.drops), want_drops);
    assert_int_equal(result.claims.len, 0);
}

UNIT_TEST(test_pods)
{
    check_pod("default", "10-0-0-1", "10.0.0.1", "default/10-0-0-1/c88f1059" IP("10.0.0.1"), "");
    check_pod("Default", "fd00--1", "fd00::1", "default/fd00--1/479bcb2e" IP("fd00::1"), "");
    check_pod("kube.system", "10-0-0-1", "10.0.0.1", "", "namespace=kube.system ");
    check_pod("default", "--1", "::1", "", "address=--1 ");
    check_pod("default", "nonsense", "nonsense", "", "address=nonsense ");
}

UNIT_TEST(test_pod_labels)
{
    static const struct {
        const char *ip, *label;
    } rows[] = {
        {"10.0.0.1", "10-0-0-1"},
        {"fd00::1", "fd00--1"},
        {"FD00:0:0::", "fd00--0"},
        {"2001:db8:0:1:0:0:0:1", "2001-db8-0-1--1"},
        {"::", "0--0"},
        {"::1:2", "0--1-2"},
        {"::1:0:2", "0--1-0-2"},
        {"::ffff:10.0.0.1", "10-0-0-1"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        CLEANUP_BUF struct buf label = buf_of(64);
        struct ip ip = ip_from(rows[i].ip);
        naming_pod_label(&ip, &label);
        assert_string_equal(buf_cstr(&label), rows[i].label);
    }
}

UNIT_TEST(test_nothing_without_a_service)
{
    struct naming_config config = {.domain = "cluster.local.", .ttl_s = 30};
    struct kube_object *endpoints =
        endpoints_from("default", "web", "{'addresses':[{'ip':'10.0.0.1'}]}");
    struct owner_objects objects;
    struct desired desired;
    struct claims claims;
    owner_objects_init(&objects);
    owner_objects_add_part(&objects, endpoints);
    desired_init(&desired);
    claims_init(&claims);
    desired_add(&desired, slice_str("left"), slice_str("over"));
    claims_add(&claims, &(struct claim){.host = slice_str("left.over.")});
    assert_int_equal(naming_build(&config, &objects, &desired, &claims, NULL), 0);
    assert_int_equal(desired.count, 0);
    assert_int_equal(claims.count, 0);
    desired_fini(&desired);
    claims_fini(&claims);
    owner_objects_fini(&objects);
    kube_object_free(endpoints);
}

/* 400 addresses x 400 ports: rejected before any record is made. */
UNIT_TEST(test_too_many_records)
{
    struct naming_config config = {.domain = "cluster.local.", .ttl_s = 30};
    struct kube_object *service = service_from("default", "web", "'clusterIP':'None'");
    struct owner_objects objects;
    struct desired desired;
    struct claims claims;
    struct err err = {0};
    CLEANUP_BUF struct buf subset = buf_of(1 << 20);
    buf_append_str(&subset, "{'addresses':[");
    for (int i = 0; i < 400; i++) {
        buf_printf(&subset, "%s{'ip':'10.0.%d.%d'}", i ? "," : "", i / 256, i % 256);
    }
    buf_append_str(&subset, "],'ports':[");
    for (int i = 0; i < 400; i++) {
        buf_printf(&subset, "%s{'name':'p%d','port':%d,'protocol':'TCP'}", i ? "," : "", i, i + 1);
    }
    buf_append_str(&subset, "]}");
    CLEANUP(kube_object_free_of)
    struct kube_object *endpoints = endpoints_from("default", "web", buf_cstr(&subset));
    owner_objects_init(&objects);
    objects.service = service;
    owner_objects_add_part(&objects, endpoints);
    desired_init(&desired);
    claims_init(&claims);
    assert_int_equal(naming_build(&config, &objects, &desired, &claims, &err), ERR_TOO_LARGE);
    assert_non_null(strstr(err.msg, "400 addresses and 160000 address and port pairs"));
    desired_fini(&desired);
    claims_fini(&claims);
    owner_objects_fini(&objects);
    kube_object_free(service);
}

/* Portions of 7 records, while the objects are gone: the same names as at once. */
UNIT_TEST(test_names_in_portions)
{
    enum { PORTION = 7, ADDRESSES = 3, PORTS = 20, PORTIONS = (ADDRESSES * (1 + PORTS)) / PORTION };
    struct naming_config config = {.domain = "cluster.local.", .ttl_s = 30};
    struct kube_object *service = service_from("default", "web", "'clusterIP':'None'");
    struct owner_objects objects;
    struct desired desired[2];
    struct claims claims[2];
    struct err err = {0};
    struct buf subset, records[2], claimed[2];
    buf_init(&subset, 1 << 20);
    buf_append_str(&subset, "{'addresses':[{'ip':'10.0.0.1','hostname':'a'},{'ip':'10.0.0.2'},"
                            "{'ip':'10.0.0.3','hostname':'a'}],'ports':[");
    for (int i = 0; i < PORTS; i++) {
        buf_printf(&subset, "%s{'name':'p%d','port':%d,'protocol':'TCP'}", i ? "," : "", i % 15,
                   i + 1);
    }
    buf_append_str(&subset, "]}");
    struct kube_object *endpoints = endpoints_from("default", "web", buf_cstr(&subset));
    owner_objects_init(&objects);
    objects.service = service;
    owner_objects_add_part(&objects, endpoints);
    for (int i = 0; i < 2; i++) {
        desired_init(&desired[i]);
        claims_init(&claims[i]);
        buf_init(&records[i], 1 << 20);
        buf_init(&claimed[i], 1 << 20);
    }
    assert_int_equal(naming_build(&config, &objects, &desired[0], &claims[0], &err), 0);
    struct naming_job *job = naming_begin(&config, &objects, &desired[1], &claims[1]);
    owner_objects_fini(&objects);
    kube_object_free(service);
    kube_object_free(endpoints);
    size_t portions = 0, budget = PORTION;
    while (!naming_go_on(job, &budget)) {
        assert_int_equal(budget, 0);
        budget = PORTION;
        portions++;
    }
    assert_int_equal(naming_end(job, &err), 0);
    assert_in_range(portions, PORTIONS - 1, PORTIONS);
    for (int i = 0; i < 2; i++) {
        note_records(&desired[i], "/skydns/local/cluster/svc", &records[i]);
        note_claims(&claims[i], &claimed[i]);
    }
    assert_int_equal(desired[0].count, ADDRESSES + 2 * PORTS); /* two share a label */
    assert_string_equal(buf_cstr(&records[1]), buf_cstr(&records[0]));
    assert_string_equal(buf_cstr(&claimed[1]), buf_cstr(&claimed[0]));
    for (int i = 0; i < 2; i++) {
        desired_fini(&desired[i]);
        claims_fini(&claims[i]);
        buf_fini(&records[i]);
        buf_fini(&claimed[i]);
    }
    buf_fini(&subset);
}

/* The memory for one large Service is not kept. */
UNIT_TEST(test_large_memory_is_given_back)
{
    CLEANUP(desired_fini) struct desired desired;
    CLEANUP(claims_fini) struct claims claims;
    desired_init(&desired);
    claims_init(&claims);
    for (int i = 0; i < 40000; i++) {
        desired_add(&desired, slice_str("/skydns/a/key"), slice_str("{\"host\":\"a.value.\"}"));
        claims_add(&claims, &(struct claim){.host = slice_str("a.host.of.some.length.example.")});
    }
    desired_clear(&desired);
    claims_clear(&claims);
    assert_in_range(desired.bytes.cap, 0, DESIRED_KEPT_BYTES);
    assert_in_range(claims.hosts.cap, 0, DESIRED_KEPT_BYTES);
    desired_add(&desired, slice_str("key"), slice_str("value"));
    assert_true(slice_equal(desired_get(&desired, 0).value, slice_str("value")));
}
