/* options: spellings of every release, defaults, and what is rejected with which message. */
#include "common/base/buf.h"
#include "common/base/log.h"
#include "kube2sky/api/kube_client.h"
#include "kube2sky/naming/route_rules.h"
#include "kube2sky/options.h"
#include "tests/support/unit_test.h"

enum { ARGS_MAX = 8 };

static int parse_kube2sky_options(const char *const *args, struct options *ret_options,
                                  struct err *err)
{
    char *argv[ARGS_MAX + 2] = {(char *)(uintptr_t) "kube2sky"};
    int argc = 1;
    for (; *args; args++) {
        argv[argc++] = (char *)(uintptr_t)*args;
    }
    return kube2sky_options_parse(argc, argv, ret_options, err);
}

UNIT_TEST(test_defaults)
{
    CLEANUP(options_fini) struct options o;
    assert_int_equal(parse_kube2sky_options((const char *const[]){NULL}, &o, NULL), 0);
    assert_string_equal(o.domain, "cluster.local.");
    assert_string_equal(o.etcd_server, "http://127.0.0.1:2379,http://127.0.0.1:4001");
    assert_string_equal(o.kubecfg_file, "");
    assert_string_equal(o.kube_master_url, "");
    assert_int_equal(o.etcd_mutation_timeout_ms, 10000);
    char where[ADDR_TEXT_MAX];
    assert_string_equal(addr_format(&o.healthz, where), "[::]:8081");
    assert_int_equal(o.ttl_s, 30);
    assert_int_equal(o.etcd_max_txn_ops, 128);
    assert_false(o.exit_on_etcd_timeout);
    assert_int_equal(o.log_level, LOG_LEVEL_INFO);
    assert_int_equal(o.log_format, LOG_FORMAT_TEXT);
    assert_int_equal(o.without_effect.count, 0);
    assert_false(o.want_version);
}

UNIT_TEST(test_spellings)
{
    CLEANUP(options_fini) struct options o;
    assert_int_equal(parse_kube2sky_options(
                         (const char *const[]){"-etcd_mutation_timeout=1m30s", "--kubecfg_file",
                                               "/a", "-kube-master-url=http://b", "--healthz_port",
                                               "9000", "--healthz_address=127.0.0.1", "-v=4", NULL},
                         &o, NULL),
                     0);
    assert_int_equal(o.etcd_mutation_timeout_ms, 90000);
    assert_string_equal(o.kubecfg_file, "/a");
    assert_string_equal(o.kube_master_url, "http://b");
    char where[ADDR_TEXT_MAX];
    assert_string_equal(addr_format(&o.healthz, where), "127.0.0.1:9000");
    assert_int_equal(o.log_level, LOG_LEVEL_DEBUG);
}

/* Command lines of manifests of every release: each flag that ever existed, as it was written. */
UNIT_TEST(test_old_command_lines)
{
    static const struct {
        const char *args[ARGS_MAX + 1];
        const char *domain;
        bool is_debugging;
    } cases[] = {
        {{"-domain=kubernetes.local"}, "kubernetes.local.", false},
        {{"-domain=kubernetes.local", "-verbose=true"}, "kubernetes.local.", true},
        {{"-domain=a.b", "-etcd_mutation_timeout=10s", "-etcd-server=http://127.0.0.1:4001",
          "-kubecfg_file=/k", "-verbose"},
         "a.b.",
         true},
        {{"-domain=cluster.local.",
          "-kube_master_url=http://${KUBERNETES_SERVICE_HOST}:${KUBERNETES_SERVICE_PORT}",
          "--logtostderr=true", "--v=2"},
         "cluster.local.",
         false},
        {{"--domain=cluster.local"}, "cluster.local.", false},
        {{"--kubecfg-file=/k", "--kube-master-url=https://10.0.0.1", "--healthz-port=8081",
          "--alsologtostderr", "--stderrthreshold=0", "--log_flush_frequency=5s", "--v", "4"},
         "cluster.local.",
         true},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        CLEANUP(options_fini) struct options o;
        struct err err = {.code = 0};
        assert_that(parse_kube2sky_options(cases[i].args, &o, &err) == 0, "case %zu: %s", i,
                    err.msg);
        assert_string_equal(o.domain, cases[i].domain);
        assert_int_equal(o.log_level == LOG_LEVEL_DEBUG, cases[i].is_debugging);
    }
}

UNIT_TEST(test_flags_together)
{
    static const struct {
        const char *args[4];
        const char *want; /* part of the message */
    } cases[] = {
        {{"--etcd-certfile=/c", NULL}, "flag -etcd-certfile: expected -etcd-keyfile with it"},
        {{"--etcd_keyfile=/k", NULL}, "flag -etcd-keyfile: expected -etcd-certfile with it"},
        {{"--top", "--dry-run", NULL}, "flag -top: expected no -dry-run with it"},
        {{"--top", "--healthcheck=readiness", NULL}, "flag -top: expected no -healthcheck with it"},
    };
    struct options o;
    assert_int_equal(
        parse_kube2sky_options((const char *const[]){"--etcd_cafile=/ca", "--etcd-certfile=/c",
                                                     "--etcd-keyfile=/k", NULL},
                               &o, NULL),
        0);
    assert_string_equal(o.etcd_cafile, "/ca");
    assert_string_equal(o.etcd_certfile, "/c");
    assert_string_equal(o.etcd_keyfile, "/k");
    options_fini(&o);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct err err;
        assert_int_equal(parse_kube2sky_options(cases[i].args, &o, &err), ERR_USAGE);
        assert_string_equal(err.msg, cases[i].want);
    }
}

UNIT_TEST(test_log)
{
    static const struct {
        const char *args[3];
        int level;
    } cases[] = {
        {{"--v=0"}, LOG_LEVEL_INFO},
        {{"-v=3"}, LOG_LEVEL_INFO},
        {{"--v=4"}, LOG_LEVEL_DEBUG},
        {{"--v=10"}, LOG_LEVEL_DEBUG},
        {{"-verbose"}, LOG_LEVEL_DEBUG},
        {{"--verbose=false"}, LOG_LEVEL_INFO},
        {{"--log-level=error"}, LOG_LEVEL_ERROR},
        {{"--log_level=debug"}, LOG_LEVEL_DEBUG},
        {{"--log-level=info", "--v=4"}, LOG_LEVEL_INFO},
        {{"--v=4", "--log-level=warn"}, LOG_LEVEL_WARN},
        {{"--verbose", "--log-level=info"}, LOG_LEVEL_INFO},
    };
    struct options o;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        assert_int_equal(parse_kube2sky_options(cases[i].args, &o, NULL), 0);
        assert_int_equal(o.log_level, cases[i].level);
        options_fini(&o);
    }
    assert_int_equal(
        parse_kube2sky_options((const char *const[]){"--log_format=json", NULL}, &o, NULL), 0);
    assert_int_equal(o.log_format, LOG_FORMAT_JSON);
    options_fini(&o);
}

/* Each is accepted; those that users would miss are reported as ignored. */
UNIT_TEST(test_flags_of_glog)
{
    struct options o;
    assert_int_equal(
        parse_kube2sky_options((const char *const[]){"--logtostderr", "--alsologtostderr=false",
                                                     "--log-flush-frequency=5s", NULL},
                               &o, NULL),
        0);
    assert_int_equal(o.without_effect.count, 0);
    options_fini(&o);
    assert_int_equal(parse_kube2sky_options((const char *const[]){"--log_dir=/tmp", "--vmodule",
                                                                  "a=1", "--stderrthreshold=2",
                                                                  "--log_backtrace_at=a:1",
                                                                  "--logtostderr=false", NULL},
                                            &o, NULL),
                     0);
    static const char *const want[] = {"log-dir", "vmodule", "stderrthreshold", "log-backtrace-at",
                                       "logtostderr"};
    assert_int_equal(o.without_effect.count, ARRAY_LEN(want));
    for (size_t i = 0; i < ARRAY_LEN(want); i++) {
        assert_string_equal(o.without_effect.items[i], want[i]);
    }
    options_fini(&o);
}

UNIT_TEST(test_namespaces)
{
    static const struct {
        const char *flag;
        const char *want[4]; /* NULL: refused */
    } cases[] = {
        {"--namespaces=default", {"default"}},
        {"--namespaces=b,a-1,b", {"b", "a-1"}},
        {"--namespaces=a,", {NULL}},
        {"--namespaces=,a", {NULL}},
        {"--namespaces=,", {NULL}},
        {"--namespaces=a,,b", {NULL}},
        {"--namespaces=a b", {NULL}},
        {"--namespaces=a.b", {NULL}},
        {"--namespaces=*", {NULL}},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        CLEANUP(options_fini) struct options o = {.domain = NULL};
        struct err err = {.code = 0};
        int r = parse_kube2sky_options((const char *const[]){cases[i].flag, NULL}, &o, &err);
        assert_int_equal(r, cases[i].want[0] ? 0 : ERR_USAGE);
        if (r < 0) {
            assert_non_null(strstr(err.msg, "expected namespaces like default,kube-system"));
            continue;
        }
        for (size_t n = 0; n < o.namespace_count; n++) {
            assert_string_equal(o.namespaces[n], cases[i].want[n]);
        }
        assert_null(cases[i].want[o.namespace_count]);
        assert_null(o.namespaces[o.namespace_count]);
    }
}

UNIT_TEST(test_what_is_followed)
{
    struct options o;
    assert_int_equal(parse_kube2sky_options((const char *const[]){NULL}, &o, NULL), 0);
    assert_true(o.wants_pods && o.wants_reverse);
    assert_false(o.own_only_written || o.wants_nodes || o.wants_visibility);
    assert_int_equal(o.leader_lease_s, 0);
    assert_int_equal(o.namespace_count, 0);
    assert_int_equal(o.endpoints_mode, ENDPOINTS_AUTO);
    assert_int_equal(o.endpoint_names, ENDPOINT_NAMES_HASH);
    assert_string_equal(o.label_selector, "");
    assert_null(o.config_map);
    options_fini(&o);
    assert_int_equal(
        parse_kube2sky_options((const char *const[]){"--pods=disabled", "--reverse=false",
                                                     "--own_only_written", "--leader-elect",
                                                     "--endpoints=slices", "--endpoint_names=pod",
                                                     "--label_selector=a in (b, c)", NULL},
                               &o, NULL),
        0);
    assert_false(o.wants_pods || o.wants_reverse);
    assert_true(o.own_only_written);
    assert_int_equal(o.leader_lease_s, 10);
    assert_int_equal(o.endpoints_mode, ENDPOINTS_SLICES);
    assert_int_equal(o.endpoint_names, ENDPOINT_NAMES_POD);
    assert_string_equal(o.label_selector, "a in (b, c)");
    options_fini(&o);
    assert_int_equal(
        parse_kube2sky_options(
            (const char *const[]){"--nodes", "--namespace_visibility=true", NULL}, &o, NULL),
        0);
    assert_true(o.wants_nodes && o.wants_visibility);
    options_fini(&o);
}

UNIT_TEST(test_config_maps)
{
    static const struct {
        const char *flags[3], *ns, *name;
    } cases[] = {
        {{"--config-map=kube-dns"}, "kube-system", "kube-dns"},
        {{"--config-map=dns/a.b-c"}, "dns", "a.b-c"},
        {{"--config-map=kube-dns", "--config-map-namespace=dns"}, "dns", "kube-dns"},
        {{"--config_map_namespace=dns", "--config_map=other/kube-dns"}, "other", "kube-dns"},
        {{"--config-map-namespace=dns", "--config-map="}, "dns", NULL},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        CLEANUP(options_fini) struct options o;
        assert_int_equal(parse_kube2sky_options(cases[i].flags, &o, NULL), 0);
        assert_string_equal(o.config_map_namespace, cases[i].ns);
        assert_string_equal(o.config_map ? o.config_map : "", cases[i].name ? cases[i].name : "");
        assert_int_equal(o.config_map != NULL, cases[i].name != NULL);
    }
}

UNIT_TEST(test_domains)
{
    static const struct {
        const char *flag;
        const char *want; /* NULL: refused */
    } cases[] = {
        {"--domain=kubernetes.local", "kubernetes.local."},
        {"--domain=kubernetes.local.", "kubernetes.local."},
        {"--domain=Cluster.LOCAL", "cluster.local."},
        {"--domain=local", "local."},
        {"--domain=a-1.b.c", "a-1.b.c."},
        {"--domain=", NULL},
        {"--domain=.", NULL},
        {"--domain=a..b", NULL},
        {"--domain=.a", NULL},
        {"--domain=a b", NULL},
        {"--domain=a/b", NULL},
        {"--domain=_a.b", NULL},
        {"--domain=-a.b", NULL},
        {"--domain=a\\.b", NULL},
        {"--domain=a2345678901234567890123456789012345678901234567890123456789012345", NULL},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        CLEANUP(options_fini) struct options o = {.domain = NULL};
        struct err err = {.code = 0};
        int r = parse_kube2sky_options((const char *const[]){cases[i].flag, NULL}, &o, &err);
        if (!cases[i].want) {
            assert_int_equal(r, ERR_USAGE);
            assert_non_null(strstr(err.msg, "expected a domain name like cluster.local"));
            assert_null(o.domain); /* untouched */
            continue;
        }
        assert_int_equal(r, 0);
        assert_string_equal(o.domain, cases[i].want);
    }
}

/* Accepts a domain of imports beside the cluster's, whether they are wanted or not. */
UNIT_TEST(test_multicluster)
{
    static const struct {
        const char *flags[3];
        const char *domain; /* NULL: none */
        const char *error;  /* NULL: accepted */
    } cases[] = {
        {{"--domain=a.example"}, NULL, NULL},
        {{"--domain=local"}, NULL, NULL},
        {{"--multicluster"}, "clusterset.local.", NULL},
        {{"--multicluster", "--multicluster-domain=Set.Example."}, "set.example.", NULL},
        {{"--multicluster", "--domain=local"},
         NULL,
         "flag -multicluster-domain: `clusterset.local`: expected a domain that is neither in "
         "-domain nor above it"},
        {{"--multicluster", "--multicluster-domain=local"},
         NULL,
         "flag -multicluster-domain: `local`: expected a domain that is neither"},
        {{"--multicluster-domain=a..b"},
         NULL,
         "flag -multicluster-domain: `a..b`: expected a domain name like clusterset.local"},
        {{"--multicluster", "--override-zones=*.clusterset.local"},
         NULL,
         "flag -override-zones: `clusterset.local.`: expected a zone outside -multicluster-domain"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        const char *args[ARGS_MAX] = {NULL};
        CLEANUP(options_fini) struct options o;
        struct err err = {.code = 0};
        memcpy(args, cases[i].flags, sizeof(cases[i].flags));
        int r = parse_kube2sky_options(args, &o, &err);
        if (cases[i].error) {
            assert_int_equal(r, ERR_USAGE);
            assert_memory_equal(err.msg, cases[i].error, strlen(cases[i].error));
            continue;
        }
        assert_int_equal(r, 0);
        assert_string_equal(o.import_domain ? o.import_domain : "",
                            cases[i].domain ? cases[i].domain : "");
    }
}

/* Accepts rules of external names; tells each error that needs a zone before it. */
UNIT_TEST(test_external_names)
{
    static const struct {
        const char *flags[4];
        const char *want; /* NULL: accepted */
    } cases[] = {
        {{"--ingress=nginx=infra/in"}, NULL},
        {{"--ingress=nginx=infra/in", "--ingress=haproxy=infra/ha",
          "--gateway=infra/a=infra/envoy"},
         NULL},
        {{"--namespaces=infra", "--ingress=nginx=infra/in"}, NULL},
        {{"--ingress=nginx"}, "flag -ingress: `nginx`: expected CLASS=NAMESPACE/SERVICE like"},
        {{"--ingress=nginx=infra"}, "flag -ingress: `nginx=infra`: expected CLASS=NAMESPACE/SERV"},
        {{"--ingress=nginx=infra/in", "--ingress=nginx=infra/other"},
         "flag -ingress: `nginx`: expected it once"},
        {{"--namespaces=default", "--ingress=nginx=infra/in"},
         "flag -ingress: `nginx=infra/in`: expected a Service in one of -namespaces"},
        {{"--ingress=nginx=infra/in", "--gateway=a=infra/envoy"},
         "flag -gateway: `a=infra/envoy`: expected NAMESPACE/GATEWAY=NAMESPACE/SERVICE like"},
        {{"--gateway=infra/a=infra/b", "--gateway=infra/a=infra/c"},
         "flag -gateway: `infra/a`: expected it once"},
        {{"--namespaces=default", "--gateway=infra/a=infra/envoy"},
         "flag -gateway: `infra/a=infra/envoy`: expected a Service in one of -namespaces"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        const char *args[ARGS_MAX] = {"--override-zones=*.example.com"};
        struct options o;
        struct err err = {.code = 0};
        memcpy(args + 1, cases[i].flags, sizeof(cases[i].flags));
        int r = parse_kube2sky_options(args, &o, &err);
        assert_int_equal(r, cases[i].want ? ERR_USAGE : 0);
        if (cases[i].want && !strstr(err.msg, cases[i].want)) {
            fail_msg("case %zu: `%s` lacks `%s`", i, err.msg, cases[i].want);
        } else if (!cases[i].want) {
            assert_non_null(o.override_zones);
            assert_int_equal(o.route_rules->classes[0].from.len, strlen("nginx"));
            options_fini(&o);
        }
    }
}

/* Accepts as many as fit, and not one more. */
UNIT_TEST(test_too_many)
{
    struct options o;
    struct err err = {.code = 0};
    char selector[KUBE_SELECTOR_MAX + 2], flag[sizeof("--label-selector=") + sizeof(selector)];
    memset(selector, 'a', sizeof(selector) - 1);
    selector[sizeof(selector) - 1] = '\0';
    (void)snprintf(flag, sizeof(flag), "--label-selector=%s", selector); /* fits */
    assert_int_equal(parse_kube2sky_options((const char *const[]){flag, NULL}, &o, &err),
                     ERR_USAGE);
    assert_non_null(strstr(err.msg, "flag -label-selector: expected at most"));

    CLEANUP_BUF struct buf list = buf_of(1 << 16);
    buf_append_str(&list, "--namespaces=n0");
    for (int i = 1; i < 100; i++) {
        buf_printf(&list, ",n%d", i);
    }
    assert_int_equal(parse_kube2sky_options((const char *const[]){buf_cstr(&list), NULL}, &o, NULL),
                     0);
    assert_int_equal(o.namespace_count, 100);
    options_fini(&o);
    buf_append_str(&list, ",more");
    assert_int_equal(parse_kube2sky_options((const char *const[]){buf_cstr(&list), NULL}, &o, &err),
                     ERR_USAGE);
    assert_non_null(strstr(err.msg, "flag -namespaces: expected at most 100"));
}

UNIT_TEST(test_refused)
{
    static const struct {
        const char *flag, *want;
    } cases[] = {
        {"--unknown", "unknown flag `--unknown`"},
        {"argument", "unexpected argument `argument`"},
        {"--healthz-port=0", "expected a number from 1 to 65535"},
        {"--healthz-port=65536", "expected a number from 1 to 65535"},
        {"--healthz-address=localhost",
         "flag -healthz-address: `localhost`: expected an IP address like 127.0.0.1"},
        {"--healthz_port=http", "flag -healthz-port: `http`"},
        {"--etcd-mutation-timeout=-10", "expected a duration like 10s"},
        {"--etcd-mutation-timeout=0s", "expected a duration like 10s"},
        {"--etcd-max-txn-ops=1", "expected a number from 2 to 8192"},
        {"--ttl=0", "flag -ttl: `0`: expected a number from 1 to 2147483647"},
        {"--ttl=30s", "flag -ttl: `30s`"},
        {"--log-format=xml", "flag -log-format: `xml`: expected text|json"},
        {"--log_level=loud", "flag -log-level: `loud`: expected error|warn|info|debug"},
        {"--log-level", "flag -log-level: value missing: expected error|warn|info|debug"},
        {"--exit-on-etcd-timeout=10s", "expected true or false"},
        {"--pods=insecure", "flag -pods: `insecure`: expected verified|disabled"},
        {"--nodes=ready", "flag -nodes: `ready`: expected true or false"},
        {"--namespace-visibility=own", "flag -namespace-visibility: `own`: expected true or false"},
        {"--reverse=no", "flag -reverse: `no`: expected true or false"},
        {"--leader-elect-lease-duration=1s", "expected a duration like 10s, from 2s"},
        {"--endpoint-names=ip", "flag -endpoint-names: `ip`: expected hash|address|pod"},
        {"--endpoints=v1", "flag -endpoints: `v1`: expected auto|slices|endpoints"},
        {"--label-selector=a=b=c",
         "flag -label-selector: `a=b=c`: expected `,` or the end at byte 4"},
        {"--override-zones=com",
         "flag -override-zones: `com`: expected namespaces with so short a zone"},
        {"--override-zones=example.com,x.cluster.local",
         "flag -override-zones: `x.cluster.local`: expected a zone outside -domain"},
        {"--ingress=a=b/c", "flag -ingress: expected -override-zones with it"},
        {"--gateway=a/b=b/c", "flag -gateway: expected -override-zones with it"},
        {"--config-map=Kube", "flag -config-map: `Kube`: expected a ConfigMap like kube-dns"},
        {"--config-map=a/b/c", "flag -config-map: `a/b/c`: expected a ConfigMap like"},
        {"--config-map=a/", "flag -config-map: `a/`: expected a ConfigMap like"},
        {"--config-map=/a", "flag -config-map: `/a`: expected a ConfigMap like"},
        {"--config-map=a..b", "flag -config-map: `a..b`: expected a ConfigMap like"},
        {"--config-map-namespace=a.b", "flag -config-map-namespace: `a.b`: expected a namespace"},
        {"--http-hosts=a b", "flag -http-hosts: "},
        {"--explain=web", "flag -explain: `web`: expected NAMESPACE/SERVICE"},
        {"--v=high", "flag -v: `high`"},
        {"--etcd-server", "flag -etcd-server: value missing"},
        {"--etcd-username=dns", "flag -etcd-username: expected -etcd-password-file with it"},
        {"--etcd-password-file=/x", "flag -etcd-password-file: expected -etcd-username with it"},
        {"--version=maybe", "expected true or false"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct options o;
        struct err err = {.code = 0};
        assert_int_equal(
            parse_kube2sky_options((const char *const[]){cases[i].flag, NULL}, &o, &err),
            ERR_USAGE);
        assert_that(strstr(err.msg, cases[i].want), "%s: `%s` lacks `%s`", cases[i].flag, err.msg,
                    cases[i].want);
    }
}
