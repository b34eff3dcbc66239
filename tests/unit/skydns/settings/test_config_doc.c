/* The document /skydns/config: each field, its pitfalls, what is rejected and what has no effect;
 * and the resulting configuration of the engine. */
#include "skydns/settings/config_doc_internal.h"
#include "skydns/settings/config_documents.h"
#include "skydns/settings/option_lists.h"
#include "skydns/settings/option_text.h"
#include "skydns/settings/option_values.h"
#include "skydns/settings/stub_zones.h"
#include "skydns/sync/store_sync.h"
#include "tests/support/from_text.h"
#include "tests/support/unit_test.h"

/* Flags that all differ from the defaults. */
static struct options config_doc_flags(void)
{
    static char args[][40] = {"skydns",
                              "-domain=flag.test",
                              "-addr=127.0.0.1:1053",
                              "-hostmaster=flag@test",
                              "-local=l.flag.test",
                              "-nameservers=192.0.2.1:53",
                              "-ndots=5",
                              "-rtimeout=7s",
                              "-round-robin=false",
                              "-ns-rotate=false",
                              "-no-rec"};
    char *argv[ARRAY_LEN(args) + 1] = {NULL};
    struct options o;
    struct err err;
    for (size_t i = 0; i < ARRAY_LEN(args); i++) {
        argv[i] = args[i];
    }
    assert_int_equal(skydns_options_parse(ARRAY_LEN(args), argv, &o, &err), 0);
    return o;
}

/* Writes everything that a document can change, in one line. */
static const char *config_doc_text_of(const struct options *o, char out[1024])
{
    char name[DNAME_TEXT_MAX], address[ADDR_TEXT_MAX];
    size_t n = (size_t)snprintf(out, 1024, "%s", addr_format(&o->addresses[0], address));
    for (size_t i = 0; i < o->domain_count; i++) {
        n += (size_t)snprintf(out + n, 1024 - n, "%s%s", i ? "," : " ",
                              dname_to_text(&o->domains[i], name));
    }
    n += (size_t)snprintf(out + n, 1024 - n, " %s",
                          o->hostmaster.len ? dname_to_text(&o->hostmaster, name) : "-");
    n += (size_t)snprintf(out + n, 1024 - n, " %s",
                          o->engine.local.len ? dname_to_text(&o->engine.local, name) : "-");
    for (size_t i = 0; i < o->nameserver_count; i++) {
        n += (size_t)snprintf(out + n, 1024 - n, "%s%s", i ? "," : " ",
                              addr_format(&o->nameservers[i].address, address));
    }
    (void)snprintf(out + n, 1024 - n,
                   "%s rr=%d rotate=%d norec=%d ndots=%u rt=%u ttl=%u/%u prio=%u%s",
                   o->nameserver_count ? "" : " -", o->engine.round_robin, o->ns_rotate,
                   o->engine.no_rec, o->engine.ndots, o->rtimeout_ms, o->engine.ttl_s,
                   o->engine.min_ttl_s, o->engine.priority, o->require_store_key ? " require" : "");
    return out;
}

#define FLAGS                                                                               \
    "127.0.0.1:1053 flag.test. flag.test. l.flag.test. 192.0.2.1:53 rr=0 rotate=0 norec=1 " \
    "ndots=5 rt=7000 ttl=3600/60 prio=10"

UNIT_TEST(test_fields)
{
    static const struct {
        const char *json, *want;
    } rows[] = {
        {"{}", FLAGS},
        {"{\"ttl\":null,\"domain\":null}", FLAGS},
        {"{\"Etcd3\":true,\"version\":true}", FLAGS},
        {"{\"dns_addr\":\"127.0.0.2:53\",\"Domain\":\"A.Test\",\"HOSTMASTER\":\"x@y\","
         "\"local\":\"\",\"nameservers\":[\"192.0.2.9:53\",\"[::1]:5353\"],\"round_robin\":true,"
         "\"ns_rotate\":true,\"no_rec\":false,\"ndot\":3,\"read_timeout\":1500000000,\"ttl\":30,"
         "\"min_ttl\":5,\"priority\":20}",
         "127.0.0.2:53 a.test. x.y. - 192.0.2.9:53,[::1]:5353 rr=1 rotate=1 norec=0 ndots=3 "
         "rt=1500 ttl=30/5 prio=20"},
        /* an empty value means the default, not the flag's value */
        {"{\"dns_addr\":\"\",\"domain\":\"\",\"hostmaster\":\"\",\"nameservers\":[],\"ndot\":0,"
         "\"read_timeout\":0,\"ttl\":0,\"min_ttl\":0,\"priority\":0}",
         "127.0.0.1:53 skydns.local. - l.flag.test. - rr=0 rotate=0 norec=1 ndots=2 rt=2000 "
         "ttl=3600/60 prio=10"},
        {"{\"domain\":\"a.test,b.test,\",\"ndot\":-4,\"read_timeout\":2e9,\"ttl\":4294967295}",
         "127.0.0.1:1053 a.test.,b.test. flag.test. l.flag.test. 192.0.2.1:53 rr=0 rotate=0 "
         "norec=1 ndots=2 rt=2000 ttl=2147483647/60 prio=10"},
        {"{\"require_store_key\":true}", FLAGS " require"},
        /* of a duplicate field the last counts */
        {"{\"ttl\":1,\"ttl\":2}",
         "127.0.0.1:1053 flag.test. flag.test. l.flag.test. 192.0.2.1:53 rr=0 rotate=0 norec=1 "
         "ndots=5 rt=7000 ttl=2/60 prio=10"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct options o = config_doc_flags();
        struct config_doc_report report;
        struct err err = {0};
        char text[1024];
        assert_that(config_doc_apply(slice_str(rows[i].json), &o, &report, &err) >= 0, "%s: %s",
                    rows[i].json, err.msg);
        assert_string_equal(config_doc_text_of(&o, text), rows[i].want);
        assert_int_equal(report.ignored_count, 0);
    }
}

/* Rejected as a whole: the field before the wrong one has no effect either. */
UNIT_TEST(test_refused)
{
    static const struct {
        const char *json, *says[2];
    } rows[] = {
        {"", {"not JSON", "byte 0"}},
        {"{\"ttl\":1", {"not JSON", "byte 8"}},
        {"[]", {"expected a JSON object", ""}},
        {"{\"read_timeout\":\"2s\"}", {"field `read_timeout`: `\"2s\"`", "nanoseconds"}},
        {"{\"read_timeout\":2}", {"field `read_timeout`: `2`", "2000000000 is two seconds"}},
        {"{\"read_timeout\":60000000001}", {"field `read_timeout`", "60000000000"}},
        {"{\"ttl\":\"300\"}", {"field `ttl`: `\"300\"`", "0 to 4294967295"}},
        {"{\"ttl\":-1}", {"field `ttl`: `-1`", "whole number"}},
        {"{\"ttl\":1.5}", {"field `ttl`: `1.5`", "whole number"}},
        {"{\"min_ttl\":4294967296}", {"field `min_ttl`", "4294967296"}},
        {"{\"priority\":65536}", {"field `priority`", "65535"}},
        {"{\"ndot\":true}", {"field `ndot`", "true"}},
        {"{\"systemd\":1}", {"field `systemd`", "true or false"}},
        {"{\"no_rec\":\"true\"}", {"field `no_rec`", "true or false"}},
        {"{\"dns_addr\":\"0.0.0.0\"}", {"field `dns_addr`", "expected IP:port"}},
        {"{\"dns_addr\":\"tls://10.0.0.1\"}",
         {"field `dns_addr`: `tls://10.0.0.1`", "expected -cert and -key with it"}},
        {"{\"dns_addr\":\"quic://10.0.0.1\"}", {"field `dns_addr`", "unknown scheme `quic`"}},
        {"{\"domain\":7}", {"field `domain`: `7`", "a string"}},
        {"{\"domain\":\"a..b\"}", {"field `domain`: `a..b`", "a domain like"}},
        {"{\"local\":\"a..b\"}", {"field `local`", "`a..b`"}},
        {"{\"hostmaster\":\"a..b\"}", {"field `hostmaster`", "`a..b`"}},
        {"{\"nameservers\":\"192.0.2.1:53\"}", {"field `nameservers`", "a list of strings"}},
        {"{\"nameservers\":[\"ns.test\"]}", {"field `nameservers`", "`ns.test`"}},
        {"{\"nameservers\":[1]}", {"field `nameservers`: `1`", "a string"}},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct options o = config_doc_flags();
        struct config_doc_report report;
        struct err err = {0};
        char text[1024];
        assert_that(config_doc_apply(slice_str(rows[i].json), &o, &report, &err) != 0,
                    "%s: accepted", rows[i].json);
        for (size_t k = 0; k < ARRAY_LEN(rows[i].says); k++) {
            assert_that(strstr(err.msg, rows[i].says[k]), "%s: `%s` does not say `%s`",
                        rows[i].json, err.msg, rows[i].says[k]);
        }
        assert_string_equal(config_doc_text_of(&o, text), FLAGS);
    }
}

/* stubs and rcache: apart from config_doc_text_of, since no flag of this table sets them. */
static const char *config_doc_external_text(const char *json, const char *flag, struct err *err)
{
    static char text[1024];
    char program[] = "skydns", argument[64] = "-domain=flag.test";
    char *argv[] = {program, argument, NULL, NULL};
    char stub[64];
    struct config_doc_report report;
    struct options o;
    (void)snprintf(stub, sizeof(stub), "-stub=%s", flag); /* fits */
    argv[2] = stub;
    assert_int_equal(skydns_options_parse(3, argv, &o, err), 0);
    int r = config_doc_apply(slice_str(json), &o, &report, err);
    CLEANUP_BUF struct buf stubs = buf_of(sizeof(text) - 64);
    option_text_stubs(&o, &stubs);
    (void)snprintf(text, sizeof(text), "%s rcache=%u %u %d", buf_cstr(&stubs), o.rcache,
                   o.rcache_ttl_s, (int)(o.rcache_stale_ms / 1000)); /* fits */
    stub_zones_unref(o.stubs);
    return r < 0 ? err->msg : text;
}

/* The fields about clients, over flags that all differ from the defaults; or the error. */
static const char *config_doc_clients_text(const char *json)
{
    static char out[1024];
    static char args[][32] = {"skydns",
                              "-autopath",
                              "-search=s.test",
                              "-visibility=own",
                              "-visibility-unknown=all",
                              "-public-namespaces=shared",
                              "-allow=10.0.0.0/8",
                              "-rate=5/9"};
    char *argv[ARRAY_LEN(args) + 1] = {NULL};
    struct options o;
    struct config_doc_report report;
    struct err err;
    for (size_t i = 0; i < ARRAY_LEN(args); i++) {
        argv[i] = args[i];
    }
    assert_int_equal(skydns_options_parse(ARRAY_LEN(args), argv, &o, &err), 0);
    if (config_doc_apply(slice_str(json), &o, &report, &err) < 0) {
        (void)snprintf(out, sizeof(out), "%s", err.msg); /* may cut */
        return out;
    }
    CLEANUP_BUF struct buf text = buf_of(sizeof(out));
    buf_printf(&text, "%d ", o.engine.autopath);
    option_list_show(OPTION_SEARCH, &o, &text);
    buf_printf(&text, " %d/%d ", o.clients.is_own, (int)o.clients.unknown);
    option_list_show(OPTION_PUBLIC_NAMESPACES, &o, &text);
    buf_append_char(&text, ' ');
    option_text_allow(&o, &text);
    buf_append_char(&text, ' ');
    option_text_rate(&o, &text);
    buf_append_char(&text, ' ');
    option_text_rate_namespace(&o, &text);
    buf_append_char(&text, ' ');
    option_list_show(OPTION_HTTP_ALLOWED, &o, &text);
    (void)snprintf(out, sizeof(out), "%s", buf_cstr(&text)); /* fits */
    return out;
}

UNIT_TEST(test_client_fields)
{
    static const struct {
        const char *json, *want;
    } rows[] = {
        {"{}", "1 s.test. 1/0 shared 10.0.0.0/8 5/9 off "},
        {"{\"rate_namespace\":\"7/8\",\"http_allow\":[\"10.0.0.0/8\",\"fd00::1\"]}",
         "1 s.test. 1/0 shared 10.0.0.0/8 5/9 7/8 10.0.0.0/8,fd00::1/128"},
        {"{\"rate_namespace\":9,\"http_allow\":\"10.0.0.0/8\"}",
         "1 s.test. 1/0 shared 10.0.0.0/8 5/9 9/9 10.0.0.0/8"},
        {"{\"rate_namespace\":0,\"http_allow\":\"\"}", "1 s.test. 1/0 shared 10.0.0.0/8 5/9 off "},
        {"{\"rate_namespace\":\"1/0\"}", "field `rate_namespace`: `1/0`: expected N or N/BURST"},
        {"{\"http_allow\":\"all\"}", "field `http_allow`: `all`: expected a network like"},
        {"{\"autopath\":false,\"search\":\"\",\"visibility\":\"\",\"visibility_unknown\":\"\","
         "\"public_namespaces\":\"\",\"allow\":\"\",\"rate\":\"\"}",
         "0  0/1 default,kube-system all off"},
        {"{\"search\":[],\"public_namespaces\":[],\"allow\":[],\"rate\":0}",
         "1  1/0 default,kube-system all off"},
        {"{\"Search\":\"A.test,b.test\",\"visibility\":\"all\",\"visibility_unknown\":\"public\","
         "\"public_namespaces\":\"x\",\"allow\":\"fd00::/8\",\"rate\":\"7\"}",
         "1 a.test.,b.test. 0/1 x fd00::/8 7/7"},
        {"{\"search\":[\"a.test\",\"b.test\"],\"allow\":[\"all\"],\"rate\":1000}",
         "1 a.test.,b.test. 1/0 shared all 1000/1000"},
        {"{\"autopath\":1}", "field `autopath`: `1`: expected true or false"},
        {"{\"search\":7}", "field `search`: `7`: expected a string like the flag's"},
        {"{\"search\":[7]}", "field `search`: `7`: expected a string"},
        {"{\"search\":[\"a..b\"]}", "field `search`: `a..b`: expected a domain"},
        {"{\"visibility\":\"some\"}",
         "field `visibility`: `\"some\"`: expected \"all\" or \"own\""},
        {"{\"visibility\":true}", "field `visibility`: `true`: expected a string"},
        {"{\"visibility_unknown\":\"own\"}", "field `visibility_unknown`: `\"own\"`: expected"},
        {"{\"public_namespaces\":\"a.b\"}", "field `public_namespaces`: `a.b`: expected a name"},
        {"{\"allow\":\"10/8\"}", "field `allow`: `10/8`: expected a network like"},
        {"{\"rate\":-1}", "field `rate`: `-1`: expected a whole number"},
        {"{\"rate\":\"x\"}", "field `rate`: `x`: expected N or N/BURST"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const char *got = config_doc_clients_text(rows[i].json);
        assert_that(strncmp(got, rows[i].want, strlen(rows[i].want)) == 0,
                    "%s: `%s`, expected `%s`", rows[i].json, got, rows[i].want);
    }
}

UNIT_TEST(test_query_log_field)
{
    static const struct {
        const char *json, *want;
    } rows[] = {
        {"{}", "all"},
        {"{\"query_log\":\"\"}", "off"},
        {"{\"Query_Log\":\"errors\"}", "errors"},
        {"{\"query_log\":\"1/50\"}", "1/50"},
        {"{\"query_log\":\"some\"}", "field `query_log`: `some`: expected off, all"},
        {"{\"query_log\":1}", "field `query_log`: `1`: expected a string"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct options o = config_doc_flags();
        struct config_doc_report report;
        struct err err = {0};
        CLEANUP_BUF struct buf text = buf_of(64);
        o.query_log.mode = QUERY_LOG_ALL;
        int r = config_doc_apply(slice_str(rows[i].json), &o, &report, &err);
        option_text_query_log(&o, &text);
        const char *got = r < 0 ? err.msg : buf_cstr(&text);
        assert_int_equal(strncmp(got, rows[i].want, strlen(rows[i].want)), 0);
    }
}

UNIT_TEST(test_external_fields)
{
    static const struct {
        const char *json, *want;
    } rows[] = {
        {"{}", "a.test.=10.0.0.1:53 rcache=10000 3600 86400"},
        {"{\"rcache\":0,\"rcache_ttl\":0,\"rcache_stale\":0}",
         "a.test.=10.0.0.1:53 rcache=0 3600 86400"},
        {"{\"rcache\":-1,\"rcache_ttl\":-1,\"RCACHE_STALE\":60}",
         "a.test.=10.0.0.1:53 rcache=0 3600 60"},
        {"{\"rcache\":1000000,\"rcache_ttl\":60}", "a.test.=10.0.0.1:53 rcache=1000000 60 86400"},
        {"{\"rcache\":1000001}", "field `rcache`: `1000001`: expected a whole number"},
        {"{\"rcache_stale\":-1}", "field `rcache_stale`: `-1`"},
        {"{\"rcache_stale\":2592001}", "field `rcache_stale`: `2592001`"},
        {"{\"rcache_ttl\":\"1h\"}", "field `rcache_ttl`: `\"1h\"`"},
        {"{\"stubs\":{}}", "a.test.=10.0.0.1:53 rcache"},
        {"{\"stubs\":{\"A.test.\":[\"10.0.0.9\"],\"b.flag.test\":[\"[::1]:54\",\"10.0.0.8:55\"]}}",
         "a.test.=10.0.0.9:53 b.flag.test.=[::1]:54,10.0.0.8:55 rcache"},
        {"{\"stubs\":{\"x.test\":[\"10.0.0.9\"]},\"stubs\":{\"y.test\":[\"10.0.0.9\"]}}",
         "a.test.=10.0.0.1:53 y.test.=10.0.0.9:53 rcache"},
        {"{\"stubs\":[]}", "field `stubs`: `[]`: expected an object like"},
        {"{\"stubs\":{\"b.test\":\"10.0.0.9\"}}",
         "field `stubs`: zone `b.test`: `\"10.0.0.9\"`: expected a list"},
        {"{\"stubs\":{\"b.test\":[]}}", "field `stubs`: zone `b.test`: `[]`: expected a list"},
        {"{\"stubs\":{\"b.test\":[1]}}", "field `stubs`: zone `b.test`: `1`: expected a string"},
        {"{\"stubs\":{\"b.test\":[\"ns.test\"]}}",
         "field `stubs`: zone `b.test`: `ns.test`: expected IP"},
        {"{\"stubs\":{\".\":[\"10.0.0.9\"]}}", "field `stubs`: zone `.`: `.`: the root"},
        {"{\"stubs\":{\"b..test\":[\"10.0.0.9\"]}}", "field `stubs`: zone `b..test`"},
        {"{\"stubs\":{\"flag.test\":[\"10.0.0.9\"]}}",
         "field `stubs`: `flag.test.`: expected a zone of others"},
        {"{\"domain\":\"a.test\"}", "field `stubs`: `a.test.`: expected a zone of others"},
        {"{\"domain\":\"doc.test\",\"stubs\":{\"flag.test\":[\"10.0.0.9\"]}}",
         "a.test.=10.0.0.1:53 flag.test.=10.0.0.9:53 rcache"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct err err;
        const char *got = config_doc_external_text(rows[i].json, "a.test=10.0.0.1", &err);
        assert_that(strncmp(got, rows[i].want, strlen(rows[i].want)) == 0,
                    "%s: `%s`, expected `%s`", rows[i].json, got, rows[i].want);
    }
}

UNIT_TEST(test_snapshot_fields)
{
    static const struct {
        const char *json;
        int64_t interval_s, max_s;
        const char *refused; /* NULL: it is not */
    } rows[] = {
        {"{}", 60, 86400, NULL},
        {"{\"snapshot_interval\":5,\"Snapshot_Max\":600}", 5, 600, NULL},
        {"{\"snapshot_interval\":0,\"snapshot_max\":0}", 60, 86400, NULL},
        {"{\"snapshot_interval\":86400,\"snapshot_max\":2147483647}", 86400, INT32_MAX, NULL},
        {"{\"snapshot_interval\":86401}", 60, 86400, "field `snapshot_interval`: `86401`"},
        {"{\"snapshot_interval\":\"5s\"}", 60, 86400, "field `snapshot_interval`: `\"5s\"`"},
        {"{\"snapshot_max\":-1}", 60, 86400, "field `snapshot_max`: `-1`"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct options o = config_doc_flags();
        struct config_doc_report report;
        struct err err = {0};
        int r = config_doc_apply(slice_str(rows[i].json), &o, &report, &err);
        assert_that((r < 0) == (rows[i].refused != NULL) &&
                        (r >= 0 || strstr(err.msg, rows[i].refused)) &&
                        o.snapshot_interval_ms == rows[i].interval_s * 1000 &&
                        o.snapshot_max_ms == rows[i].max_s * 1000,
                    "%s: %d %s", rows[i].json, r, err.msg);
    }
}

UNIT_TEST(test_too_many_stubs)
{
    static char json[CONFIG_DOCUMENT_MAX];
    struct options o = config_doc_flags();
    struct config_doc_report report;
    struct err err;
    size_t n = (size_t)snprintf(json, sizeof(json), "{\"stubs\":{\"x\":[\"10.0.0.1\"]");
    for (unsigned i = 1; i < ZONE_TABLE_MAX; i++) {
        n += (size_t)snprintf(json + n, sizeof(json) - n, ",\"z%u\":[\"10.0.0.1\"]", i);
    }
    size_t end = n;
    (void)snprintf(json + end, sizeof(json) - end, "}}");
    assert_int_equal(config_doc_apply(slice_str(json), &o, &report, &err), 0);
    stub_zones_unref(o.stubs);
    o = config_doc_flags();
    (void)snprintf(json + end, sizeof(json) - end, ",\"more\":[\"10.0.0.1\"]}}");
    assert_int_equal(config_doc_apply(slice_str(json), &o, &report, &err), ERR_SYNTAX);
    assert_non_null(strstr(err.msg, "more than 1024 zones"));
    assert_null(o.stubs);
}

UNIT_TEST(test_too_long)
{
    static char json[CONFIG_DOCUMENT_MAX + 1];
    struct options o = config_doc_flags();
    struct config_doc_report report;
    struct err err;
    memset(json, ' ', sizeof(json));
    memcpy(json, "{}", 2);
    assert_int_equal(config_doc_apply(slice_of(json, sizeof(json)), &o, &report, &err),
                     ERR_TOO_LARGE);
    assert_int_equal(config_doc_apply(slice_of(json, sizeof(json) - 1), &o, &report, &err), 0);
}

UNIT_TEST(test_dnssec)
{
    static const struct {
        const char *json;
        const char *list; /* NULL: refused */
        unsigned scache;
    } rows[] = {
        {"{}", "Kflag", 7},
        {"{\"dnssec\":\"\",\"scache\":0}", "", 10000},
        {"{\"DNSSEC\":\"Ka,/b/Kb,\",\"scache\":1000000}", "Ka,/b/Kb", 1000000},
        {"{\"dnssec\":[\"Ka\",\"Kb\"],\"scache\":-1}", "Ka,Kb", 10000},
        {"{\"dnssec\":\"Kx. 013 12345\"}", "Kx.+013+12345", 7}, /* as SkyDNS had it */
        {"{\"dnssec\":[\"Ka\",\"Ka\"]}", NULL, 7},
        {"{\"dnssec\":7}", NULL, 7},
        {"{\"dnssec\":[7]}", NULL, 7},
        {"{\"scache\":1000001}", NULL, 7},
        {"{\"scache\":\"9\"}", NULL, 7},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct options o = config_doc_flags();
        struct config_doc_report report;
        struct err err = {0};
        memcpy(o.dnssec, "Kflag", sizeof("Kflag"));
        o.scache = 7;
        int r = config_doc_apply(slice_str(rows[i].json), &o, &report, &err);
        assert_int_equal(r, rows[i].list ? 0 : ERR_SYNTAX);
        assert_string_equal(o.dnssec, rows[i].list ? rows[i].list : "Kflag");
        assert_int_equal(o.scache, rows[i].scache);
    }
}

UNIT_TEST(test_without_effect)
{
    static const char json[] =
        "{\"ndots\":3,\"a_field_with_a_name_that_is_longer_than_it_may_be\":1}";
    static const char want[] = "ndots: unknown; the field is `ndot`\n"
                               "a_field_with_a_name_that_is_lon: unknown\n";
    struct options o = config_doc_flags();
    struct config_doc_report report;
    struct err err;
    char text[1024], got[1024] = "";
    size_t n = 0;
    assert_int_equal(config_doc_apply(slice_str(json), &o, &report, &err), 0);
    assert_string_equal(config_doc_text_of(&o, text), FLAGS);
    for (size_t i = 0; i < report.ignored_count; i++) {
        n += (size_t)snprintf(got + n, sizeof(got) - n, "%s: %s\n", report.ignored[i].field,
                              report.ignored[i].why);
    }
    assert_string_equal(got, want);
}

/* A domain inside another one is found first; unset, hostmaster follows each. */
UNIT_TEST(test_zones)
{
    static const struct {
        const char *name, *zone, *hostmaster;
    } rows[] = {
        {"x.test.", "test.", "hostmaster.test."},
        {"x.a.test.", "a.test.", "hostmaster.a.test."},
        {"a.test.", "a.test.", "hostmaster.a.test."},
        {"xa.test.", "test.", "hostmaster.test."},
        {"b.example.", "b.example.", "hostmaster.b.example."},
        {"example.", NULL, NULL},
    };
    struct options o = config_doc_flags();
    struct config_doc_report report;
    struct err err;
    assert_int_equal(
        config_doc_apply(
            slice_str("{\"domain\":\"test,a.test,b.example,a.test\",\"hostmaster\":\"\"}"), &o,
            &report, &err),
        0);
    CLEANUP_FREE struct engine_config *config = options_engine_config(&o);
    assert_int_equal(config->zone_count, 3);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        char text[DNAME_TEXT_MAX];
        struct dname name = dname_from(rows[i].name);
        const struct engine_zone *zone = engine_config_zone(config, &name);
        assert_int_equal(zone != NULL, rows[i].zone != NULL);
        if (zone) {
            assert_string_equal(dname_to_text(&zone->domain, text), rows[i].zone);
            assert_string_equal(dname_to_text(&zone->hostmaster, text), rows[i].hostmaster);
        }
    }
}
