/* config_map: every rule of kube-dns's ConfigMap, keys and values byte for byte; what is refused,
 * and how the reason reads. */
#include "kube2sky/naming/config_map.h"

#include "kube2sky/naming/override_zones.h"
#include "tests/support/unit_test.h"

static struct config_map_rules rules = {.domain = "cluster.local.", .ttl_s = 30};

/* ' for ". */
static char *config_map_quoted(const char *text)
{
    char *copy = xasprintf("%s", text);
    for (char *c = copy; *c; c++) {
        *c = *c == '\'' ? '"' : *c;
    }
    return copy;
}

/* "key value\n" of each key, then the nameservers; or the error. */
static void read_one(const char *key, const char *value, struct buf *out)
{
    CLEANUP_FREE char *text = config_map_quoted(value);
    const struct kube_setting setting = {.key = key, .value = text};
    const struct kube_config_map from = {.settings = &setting, .setting_count = 1};
    CLEANUP(config_map_fini) struct config_map map;
    struct err err = {0};
    config_map_init(&map);
    if (config_map_read(&rules, &from, &map, &err) < 0) {
        buf_printf(out, "%s", err.msg);
    } else {
        for (size_t i = 0; i < map.keys.count; i++) {
            struct desired_record record = desired_get(&map.keys, i);
            buf_append_slice(out, record.key);
            buf_append_char(out, ' ');
            buf_append_slice(out, record.value);
            buf_append_char(out, '\n');
        }
        buf_append_slice(out, buf_slice(&map.nameservers));
    }
}

struct one {
    const char *key, *value, *want;
};

#define STUB "/skydns/local/cluster/dns/stub/"
#define REST ",'priority':10,'weight':10,'ttl':30,'targetstrip':0}\n"

static const struct one good[] = {
    {"stubDomains", "{}", ""},
    {"stubDomains", "null", ""},
    {"stubDomains", " {'acme.local': []} \n", ""},
    {"stubDomains", "{'acme.local': ['10.0.0.1']}",
     STUB "local/acme/c88f1059 {'host':'10.0.0.1'" REST},
    {"stubDomains", "{'acme.local': ['10.0.0.9', '10.0.0.9']}",
     STUB "local/acme/19ccb11 {'host':'10.0.0.9'" REST},
    {"stubDomains", "{'acme.local': ['10.0.0.1:10053']}",
     STUB "local/acme/58eb761d {'host':'10.0.0.1','port':10053" REST},
    {"stubDomains", "{'acme.local': ['fd00:0::1', '[fd00::1]:53']}",
     STUB "local/acme/479bcb2e {'host':'fd00::1'" REST STUB
          "local/acme/5cb48f4b {'host':'fd00::1','port':53" REST},
    {"stubDomains", "{'acme.local': ['ns.default.svc.cluster.local']}",
     STUB "local/acme/30868a4e {'host':'ns.default.svc.cluster.local.'" REST},
    {"stubDomains", "{'a.b': ['10.0.0.1'], '10.in-addr.arpa': ['10.0.0.1']}",
     STUB "arpa/in-addr/10/c88f1059 {'host':'10.0.0.1'" REST STUB
          "b/a/c88f1059 {'host':'10.0.0.1'" REST},
    {"stubDomains", "{'team.cluster.local': ['10.0.0.1']}",
     STUB "local/cluster/team/c88f1059 {'host':'10.0.0.1'" REST},
    {"upstreamNameservers", "[]", ""},
    {"upstreamNameservers", "null", ""},
    {"upstreamNameservers", "['8.8.8.8']", "['8.8.8.8:53']"},
    {"upstreamNameservers", "['8.8.8.8:5353','fd00:0::1','[fd00::2]:5']",
     "['8.8.8.8:5353','[fd00::1]:53','[fd00::2]:5']"},
    {"upstreamNameservers", "['fe80::1%eth7','[fe80::2%eth7]:5']",
     "['[fe80::1%eth7]:53','[fe80::2%eth7]:5']"},
    {"records", "{'db.cluster.local': {'host': '10.1.2.3'}}",
     "/skydns/local/cluster/db {'host':'10.1.2.3'}\n"},
    {"records", "{'DB.Cluster.Local.': { 'port' : 80, 'host' : 'a.b.', 'x' : [ 1, {} ] }}",
     "/skydns/local/cluster/db {'port':80,'host':'a.b.','x':[1,{}]}\n"},
    {"records", "{'_sip._tcp.db.cluster.local': [{'host':'10.0.0.1'}, {'text':'a b'}]}",
     "/skydns/local/cluster/db/_tcp/_sip/b20e8ad1 {'host':'10.0.0.1'}\n"
     "/skydns/local/cluster/db/_tcp/_sip/ceab66ed {'text':'a b'}\n"},
    {"records", "{'svc-a.cluster.local': [], 'ns.dns.cluster.local': {'host':'10.0.0.1'}}",
     "/skydns/local/cluster/dns/ns {'host':'10.0.0.1'}\n"},
    {"records", "{'db.cluster.local': {'rr':['SSHFP 1 1 00']}}",
     "/skydns/local/cluster/db {'rr':['SSHFP 1 1 00']}\n"},
    {"federations", "nonsense", ""},
    {"somethingElse", "nonsense", ""},
};

#define NAME_WANTED   "expected a name below cluster.local., outside svc, pod, node and stub.dns"
#define SERVER_WANTED "expected an IP address, IP:port or a host name of this domain"

static const struct one bad[] = {
    {"records", "{'worker-1.node.cluster.local': {'host': '10.1.2.3'}}",
     "records: `worker-1.node.cluster.local`: " NAME_WANTED},
    {"records", "{'Node.cluster.local': {'host': '10.1.2.3'}}",
     "records: `Node.cluster.local`: " NAME_WANTED},
    {"stubDomains", "",
     "stubDomains: ``: expected an object like {'acme.local': ['10.0.0.1']}: "
     "line 1: unexpected token near end of file"},
    {"stubDomains", "[]",
     "stubDomains: `[]`: expected an object like {'acme.local': ['10.0.0.1']}"},
    {"stubDomains", "{'Acme.local': ['10.0.0.1']}",
     "stubDomains: `Acme.local`: expected a domain like acme.local, in lower case"},
    {"stubDomains", "{'acme.local.': []}",
     "stubDomains: `acme.local.`: expected a domain like acme.local, in lower case"},
    {"stubDomains", "{'': []}",
     "stubDomains: ``: expected a domain like acme.local, in lower case"},
    {"stubDomains", "{'.': []}",
     "stubDomains: `.`: expected a domain like acme.local, in lower case"},
    {"stubDomains", "{'a_b': []}",
     "stubDomains: `a_b`: expected a domain like acme.local, in lower case"},
    {"stubDomains", "{'a/b': []}",
     "stubDomains: `a/b`: expected a domain like acme.local, in lower case"},
    {"stubDomains", "{'cluster.local': ['10.0.0.1']}",
     "stubDomains: `cluster.local`: expected another domain than that of the cluster"},
    {"stubDomains", "{'acme.local': '10.0.0.1'}",
     "stubDomains: acme.local: `\"10.0.0.1\"`: expected a list of nameservers"},
    {"stubDomains", "{'acme.local': [1]}", "stubDomains: acme.local: `1`: " SERVER_WANTED},
    {"stubDomains", "{'acme.local': ['10.0.0.300']}",
     "stubDomains: acme.local: `10.0.0.300`: " SERVER_WANTED},
    {"stubDomains", "{'acme.local': ['fe80::1%eth0']}",
     "stubDomains: acme.local: `fe80::1%eth0`: " SERVER_WANTED},
    {"stubDomains", "{'acme.local': ['10.0.0.1:0']}",
     "stubDomains: acme.local: `10.0.0.1:0`: " SERVER_WANTED},
    {"stubDomains", "{'acme.local': ['10.0.0.1:65536']}",
     "stubDomains: acme.local: `10.0.0.1:65536`: " SERVER_WANTED},
    {"stubDomains", "{'acme.local': ['10.0.0.1:dns']}",
     "stubDomains: acme.local: `10.0.0.1:dns`: " SERVER_WANTED},
    {"stubDomains", "{'acme.local': ['ns.example.com']}",
     "stubDomains: acme.local: `ns.example.com`: " SERVER_WANTED},
    {"stubDomains", "{'acme.local': ['\\\"10.0.0.1\\\"']}",
     "stubDomains: acme.local: `\"10.0.0.1\"`: " SERVER_WANTED},
    {"stubDomains", "{'acme.local': ['ns.example.com:53']}",
     "stubDomains: acme.local: `ns.example.com:53`: " SERVER_WANTED},
    {"stubDomains", "{'acme.local': ['ns.example.com.']}",
     "stubDomains: acme.local: `ns.example.com.`: " SERVER_WANTED},
    {"stubDomains", "{'acme.local': ['']}", "stubDomains: acme.local: ``: " SERVER_WANTED},
    {"upstreamNameservers", "{}", "upstreamNameservers: `{}`: expected a list like ['10.0.0.1']"},
    {"upstreamNameservers", "['1.1.1.1','1.1.1.1','1.1.1.1','1.1.1.1']",
     "upstreamNameservers: expected at most 3 nameservers, found 4"},
    {"upstreamNameservers", "['ns.example.com']",
     "upstreamNameservers: `ns.example.com`: expected an IP address or IP:port"},
    {"upstreamNameservers", "['1.1.1.1:99999']",
     "upstreamNameservers: `1.1.1.1:99999`: expected an IP address or IP:port"},
    {"upstreamNameservers", "[7]", "upstreamNameservers: `7`: expected an IP address or IP:port"},
    {"records", "[]",
     "records: `[]`: expected an object like {'db.cluster.local': {'host': "
     "'10.1.2.3'}}"},
    {"records", "{'cluster.local':{'host':'a'}}", "records: `cluster.local`: " NAME_WANTED},
    {"records", "{'db.example.com':{'host':'a'}}", "records: `db.example.com`: " NAME_WANTED},
    {"records", "{'svc.cluster.local':{'host':'a'}}", "records: `svc.cluster.local`: " NAME_WANTED},
    {"records", "{'a.b.Svc.cluster.local':{'host':'a'}}",
     "records: `a.b.Svc.cluster.local`: " NAME_WANTED},
    {"records", "{'a.pod.cluster.local':{'host':'a'}}",
     "records: `a.pod.cluster.local`: " NAME_WANTED},
    {"records", "{'1.acme.stub.dns.cluster.local':{'host':'a'}}",
     "records: `1.acme.stub.dns.cluster.local`: " NAME_WANTED},
    {"records", "{'*.cluster.local':{'host':'a'}}", "records: `*.cluster.local`: " NAME_WANTED},
    {"records", "{'a\\\\.b.cluster.local':{'host':'a'}}",
     "records: `a\\.b.cluster.local`: " NAME_WANTED},
    {"records", "{'db.cluster.local':'10.0.0.1'}",
     "records: db.cluster.local: `\"10.0.0.1\"`: expected an object like {'host': '10.1.2.3'}"},
    {"records", "{'db.cluster.local':{'hosts':'10.0.0.1'}}",
     "records: db.cluster.local: `{'hosts':'10.0.0.1'}`: expected a host, a text or rr"},
    {"records", "{'db.cluster.local':{'host':'a..b'}}",
     "records: db.cluster.local: field `host`: `a..b`: expected an address or a name"},
    {"records", "{'db.cluster.local':[{'host':'10.0.0.1','port':'80'}]}",
     "records: db.cluster.local: field `port`: "},
};

static void config_map_check(const struct one *one, bool is_prefix)
{
    CLEANUP_FREE char *want = config_map_quoted(one->want);
    CLEANUP_BUF struct buf got = buf_of(1 << 20);
    read_one(one->key, one->value, &got);
    size_t n = is_prefix ? strlen(want) : strlen(want) + 1;
    assert_that(strncmp(buf_cstr(&got), want, n) == 0, "%s: %s\ngot:  %s\nwant: %s", one->key,
                one->value, buf_cstr(&got), want);
}

UNIT_TEST(test_good)
{
    for (size_t i = 0; i < ARRAY_LEN(good); i++) {
        config_map_check(&good[i], false);
    }
}

UNIT_TEST(test_bad)
{
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        config_map_check(&bad[i], true);
    }
}

/* In zones that --override-zones allows. */
UNIT_TEST(test_external_names)
{
    static const struct one names[] = {
        {"records", "{'Web.example.com':{'host':'192.0.2.1','x':1}}",
         "/skydns/com/example/web {'host':'192.0.2.1','x':1}\n"},
        {"records", "{'*.example.com.':[{'host':'192.0.2.1'}]}",
         "/skydns/com/example/*/1295d8c {'host':'192.0.2.1','targetstrip':1}\n"},
        {"records", "{'a.example.com':[{'targetstrip':0,'host':'192.0.2.1'}]}",
         "/skydns/com/example/a/1295d8c {'host':'192.0.2.1','targetstrip':1}\n"},
        {"records", "{'db.cluster.local':{'host':'192.0.2.1','targetstrip':3}}",
         "/skydns/local/cluster/db {'host':'192.0.2.1','targetstrip':3}\n"},
        {"records", "{'a.example.com':{'host':'192.0.2.1','TargetStrip':1}}",
         "records: a.example.com: `{'host':'192.0.2.1','TargetStrip':1}`: expected no targetstrip "
         "with an external name"},
        {"records", "{'a.example.org':{'host':'192.0.2.1'}}",
         "records: `a.example.org`: is in no zone of --override-zones"},
        {"records", "{'example.com':{'host':'192.0.2.1'}}",
         "records: `example.com`: is in no zone of --override-zones"},
        {"records", "{'a.arpa':{'host':'192.0.2.1'}}",
         "records: `a.arpa`: is in --domain, in --multicluster-domain, in --external-zone, in arpa "
         "or "
         "special"},
        {"records", "{'svc.cluster.local':{'host':'a'}}",
         "records: `svc.cluster.local`: expected a name below cluster.local., outside svc, pod, "
         "node and stub.dns, or one that --override-zones allows"},
    };
    struct override_zones *zones = NULL;
    struct err err = {0};
    assert_int_equal(override_zones_parse("*.example.com", "cluster.local.", &zones, &err), 0);
    rules.zones = zones;
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        config_map_check(&names[i], false);
    }
    rules.zones = NULL;
    override_zones_free(zones);
}

/* The last label of a key has room for the hash. */
UNIT_TEST(test_long_names)
{
    CLEANUP_BUF struct buf zone = buf_of(4096);
    CLEANUP_BUF struct buf value = buf_of(8192);
    CLEANUP_BUF struct buf got = buf_of(8192);
    for (size_t n = 200; n < 250; n++) {
        buf_clear(&zone);
        for (size_t i = 0; i < n; i++) {
            buf_append_char(&zone, i % 40 == 39 ? '.' : 'a');
        }
        buf_append_char(&zone, 'z');
        buf_clear(&value);
        buf_printf(&value, "{'%s': ['10.0.0.1']}", buf_cstr(&zone));
        buf_clear(&got);
        read_one("stubDomains", buf_cstr(&value), &got);
        /* <8 hex digits>.<zone>.stub.dns.cluster.local. takes 255 bytes of wire */
        bool fits = 9 + (n + 2) + 24 <= 255;
        assert_int_equal(strncmp(buf_cstr(&got), STUB, strlen(STUB)) == 0, fits);
    }
}

UNIT_TEST(test_limits)
{
    CLEANUP_BUF struct buf text = buf_of(4 << 20);
    CLEANUP_BUF struct buf got = buf_of(4 << 20);
    for (size_t extra = 0; extra < 2; extra++) {
        buf_clear(&text);
        buf_append_str(&text, "{'a.cluster.local':[");
        for (size_t i = 0; i < CONFIG_KEYS_MAX + extra; i++) {
            buf_printf(&text, "%s{'text':'%zu'}", i ? "," : "", i);
        }
        buf_append_str(&text, "]}");
        buf_clear(&got);
        read_one("records", buf_cstr(&text), &got);
        const char *want = extra ? "records: a.cluster.local: expected at most 10000 keys in all"
                                 : "/skydns/local/cluster/a/";
        assert_int_equal(strncmp(buf_cstr(&got), want, strlen(want)), 0);
    }
    buf_clear(&text);
    buf_append_str(&text, "{");
    for (size_t i = 0; i < 9000; i++) {
        buf_printf(&text, "%s'%060zu.cluster.local':{'text':'a'}", i ? "," : "", i);
    }
    buf_append_str(&text, "}");
    buf_clear(&got);
    read_one("records", buf_cstr(&text), &got);
    assert_non_null(strstr(buf_cstr(&got), "expected keys of at most 655360 bytes in all"));
}

/* A refusal says nothing of the rest, and a later map that is right is taken whole. */
UNIT_TEST(test_whole)
{
    struct kube_setting settings[] = {
        {"records", "{\"db.cluster.local\": {\"host\": \"10.1.2.3\"}}"},
        {"upstreamNameservers", "[\"8.8.8.8\"]"},
        {"stubDomains", "{\"acme.local\": [\"nonsense!\"]}"},
    };
    struct kube_config_map from = {.settings = settings, .setting_count = 3};
    struct config_map a, b;
    struct err err = {0};
    config_map_init(&a);
    config_map_init(&b);
    assert_int_equal(config_map_read(&rules, &from, &a, &err), ERR_SYNTAX);
    from.setting_count = 2;
    assert_int_equal(config_map_read(&rules, &from, &a, &err), 0);
    assert_int_equal(a.keys.count, 1);
    assert_int_equal(config_map_read(&rules, &from, &b, &err), 0);
    assert_true(config_map_equal(&a, &b));
    settings[1].value = "[\"8.8.8.8:54\"]";
    assert_int_equal(config_map_read(&rules, &from, &b, &err), 0);
    assert_false(config_map_equal(&a, &b));
    config_map_clear(&b);
    assert_false(config_map_equal(&a, &b));
    config_map_fini(&a);
    config_map_fini(&b);
}

UNIT_TEST(test_settings)
{
    assert_int_equal(config_map_setting_of("stubDomains"), CONFIG_MAP_KNOWN);
    assert_int_equal(config_map_setting_of("upstreamNameservers"), CONFIG_MAP_KNOWN);
    assert_int_equal(config_map_setting_of("records"), CONFIG_MAP_KNOWN);
    assert_int_equal(config_map_setting_of("federations"), CONFIG_MAP_FEDERATIONS);
    assert_int_equal(config_map_setting_of("stubdomains"), CONFIG_MAP_UNKNOWN);
}
