/* The command line of skydns: values, defaults, environment, error messages, resolv.conf. */
#include "common/base/log.h"

#include <errno.h>
#include <net/if.h>
#include <unistd.h>

#include "skydns/config/forward_settings_internal.h"
#include "skydns/settings/option_lists.h"
#include "skydns/settings/option_text.h"
#include "skydns/settings/option_values.h"
#include "skydns/settings/options.h"
#include "skydns/settings/stub_zones.h"
#include "tests/support/unit_test.h"

enum { ARGS_MAX = 12 };

static const char *const variables[] = {"ETCD_MACHINES",      "SKYDNS_ADDR",   "SKYDNS_DOMAIN",
                                        "SKYDNS_PATH_PREFIX", "SKYDNS_NDOTS",  "SKYDNS_NAMESERVERS",
                                        "PROMETHEUS_PORT",    "ETCD_USERNAME", "ETCD_PASSWORD",
                                        "ETCD_CACERT",        "ETCD_TLSPEM",   "ETCD_TLSKEY"};

/* The strings live as long as the program: options borrow them. */
static int settings_options_parse(const char *const args[ARGS_MAX], struct options *options,
                                  struct err *err)
{
    static char strings[ARGS_MAX + 1][256] = {"skydns"};
    char *argv[ARGS_MAX + 2] = {strings[0]};
    int argc = 1;
    for (size_t i = 0; i < ARGS_MAX && args[i]; i++, argc++) {
        assert_true(strlen(args[i]) < sizeof(strings[0]));
        memcpy(strings[argc], args[i], strlen(args[i]) + 1);
        argv[argc] = strings[argc];
    }
    return skydns_options_parse(argc, argv, options, err);
}

static int clear_environment(void **state)
{
    for (size_t i = 0; i < ARRAY_LEN(variables); i++) {
        unsetenv(variables[i]);
    }
    return 0;
}

static void options_assert_name(const struct dname *name, const char *want)
{
    char text[DNAME_TEXT_MAX];
    assert_string_equal(dname_to_text(name, text), want);
}

static void assert_address(const struct addr *address, const char *want)
{
    char text[ADDR_TEXT_MAX];
    assert_string_equal(addr_format(address, text), want);
}

UNIT_TEST_IN(test_defaults, clear_environment, NULL)
{
    struct options o;
    assert_int_equal(settings_options_parse((const char *[ARGS_MAX]){NULL}, &o, NULL), 0);
    assert_string_equal(o.machines, "http://127.0.0.1:2379,http://127.0.0.1:4001");
    assert_address(&o.addresses[0], "127.0.0.1:53");
    options_assert_name(&o.domains[0], "skydns.local.");
    options_assert_name(&o.hostmaster, "hostmaster.skydns.local.");
    assert_string_equal(o.path_prefix, "skydns");
    assert_int_equal(o.nameserver_count, 0);
    assert_int_equal(o.engine.local.len, 0);
    assert_true(o.ns_rotate && o.engine.round_robin);
    assert_false(o.engine.no_rec || o.verbose || o.version || o.has_http || o.require_store_key);
    assert_int_equal(o.engine.ndots, 2);
    assert_int_equal(o.rtimeout_ms, 2000);
    assert_int_equal(o.log_level, LOG_LEVEL_INFO);
    assert_int_equal(o.etcd_timeout_ms, 10000);
    assert_int_equal(o.stale_max_ms, 300000);
    assert_int_equal(o.lameduck_ms, 0);
    assert_int_equal(o.engine.max_udp_size, 1232);
    assert_in_range(o.workers, 1, OPTIONS_WORKERS_DEFAULT);
}

UNIT_TEST_IN(test_the_pod, clear_environment, NULL)
{
    struct options o;
    setenv("PROMETHEUS_PORT", "tcp://10.0.0.1:9090", 1);
    const char *args[ARGS_MAX] = {"-machines=http://127.0.0.1:4001", "-addr=0.0.0.0:53",
                                  "-ns-rotate=false", "-domain=Cluster.LOCAL", "-etcd3"};
    assert_int_equal(settings_options_parse(args, &o, NULL), 0);
    assert_string_equal(o.machines, "http://127.0.0.1:4001");
    assert_address(&o.addresses[0], "0.0.0.0:53");
    options_assert_name(&o.domains[0], "cluster.local.");
    assert_false(o.ns_rotate);
    options_assert_name(&o.hostmaster, "hostmaster.skydns.local."); /* does not follow the domain */
}

UNIT_TEST_IN(test_nameservers, clear_environment, NULL)
{
    struct options o;
    const char *args[ARGS_MAX] = {"-nameservers", "192.0.2.1:53,[2001:db8::1]:5353,"};
    assert_int_equal(settings_options_parse(args, &o, NULL), 0);
    assert_int_equal(o.nameserver_count, 2);
    assert_address(&o.nameservers[0].address, "192.0.2.1:53");
    assert_address(&o.nameservers[1].address, "[2001:db8::1]:5353");
}

/* Without a port, 53. */
UNIT_TEST_IN(test_ports_of_nameservers, clear_environment, NULL)
{
    struct options o;
    const char *args[ARGS_MAX] = {"-nameservers", "192.0.2.1,[2001:db8::1],192.0.2.2:5353"};
    assert_int_equal(settings_options_parse(args, &o, NULL), 0);
    assert_int_equal(o.nameserver_count, 3);
    assert_address(&o.nameservers[0].address, "192.0.2.1:53");
    assert_address(&o.nameservers[1].address, "[2001:db8::1]:53");
    assert_address(&o.nameservers[2].address, "192.0.2.2:5353");
}

UNIT_TEST_IN(test_stubs, clear_environment, NULL)
{
    struct options o;
    char text[1024];
    const char *args[ARGS_MAX] = {"-stub=Acme.local=10.0.0.1,[fd00::1]:54",
                                  "-domain=corp.test",
                                  "-stub",
                                  "10.in-addr.arpa.=10.0.0.2:5353",
                                  "-stub=a.corp.test=10.0.0.4",
                                  "-stub=acme.local.=10.0.0.3,",
                                  "-stub=b.test=none"};
    assert_int_equal(settings_options_parse(args, &o, NULL), 0);
    CLEANUP_BUF struct buf out = buf_of(sizeof(text));
    option_text_stubs(&o, &out);
    assert_string_equal(buf_cstr(&out), "acme.local.=10.0.0.1:53,[fd00::1]:54,10.0.0.3:53 "
                                        "10.in-addr.arpa.=10.0.0.2:5353 a.corp.test.=10.0.0.4:53 "
                                        "b.test.=none");
    stub_zones_unref(o.stubs);
}

UNIT_TEST_IN(test_too_many_servers_of_a_stub, clear_environment, NULL)
{
    static const char list[] =
        "10.0.0.1,10.0.0.1,10.0.0.1,10.0.0.1,10.0.0.1,10.0.0.1,10.0.0.1,10.0.0.1";
    char text[128];
    struct options o;
    struct err err;
    (void)snprintf(text, sizeof(text), "-stub=a.test=%s", list); /* fits */
    assert_int_equal(settings_options_parse((const char *[ARGS_MAX]){text, text}, &o, &err), 0);
    stub_zones_unref(o.stubs);
    assert_int_equal(settings_options_parse(
                         (const char *[ARGS_MAX]){text, text, "-stub=a.test=10.0.0.2"}, &o, &err),
                     ERR_USAGE);
    assert_non_null(strstr(err.msg, "more than 16 servers"));
}

UNIT_TEST_IN(test_dnssec, clear_environment, NULL)
{
    struct options o;
    struct err err;
    assert_int_equal(settings_options_parse((const char *[ARGS_MAX]){NULL}, &o, &err), 0);
    assert_string_equal(o.dnssec, "");
    assert_int_equal(o.scache, 10000);
    assert_false(o.print_ds);
    const char *some[ARGS_MAX] = {"-dnssec=a/Kx.+013+1,,Ky,", "-scache=1", "-print-ds"};
    assert_int_equal(settings_options_parse(some, &o, &err), 0);
    assert_string_equal(o.dnssec, "a/Kx.+013+1,Ky");
    assert_int_equal(o.scache, 1);
    assert_true(o.print_ds);
    const char *none[ARGS_MAX] = {"-dnssec=", "-scache=0"};
    assert_int_equal(settings_options_parse(none, &o, &err), 0);
    assert_string_equal(o.dnssec, "");
    assert_int_equal(o.scache, 10000);
}

/* The longest list, and one more byte; as many keys as there may be, and one more. */
UNIT_TEST(test_dnssec_limits)
{
    char list[OPTIONS_DNSSEC_MAX + 16];
    struct options o;
    struct err err;
    size_t len = 0;
    for (unsigned i = 0; i < DNSSEC_KEYS_MAX; i++) {
        len += (size_t)snprintf(list + len, sizeof(list) - len, "K%u,", i); /* fits */
    }
    assert_int_equal(option_dnssec(&o, list, &err), 0);
    memcpy(list + len, "Kx", sizeof("Kx"));
    assert_int_equal(option_dnssec(&o, list, &err), ERR_USAGE);
    assert_string_equal(err.msg, "expected at most 64 keys");
    memset(list, 'k', sizeof(list));
    for (size_t i = 0; i + 16 < sizeof(list); i += 600) {
        memset(list + i, (int)('a' + i / 600), 8);
        list[i + 8] = ',';
    }
    list[OPTIONS_DNSSEC_MAX - 1] = '\0';
    assert_int_equal(option_dnssec(&o, list, &err), 0);
    assert_string_equal(o.dnssec, list);
    list[OPTIONS_DNSSEC_MAX - 1] = 'k';
    list[OPTIONS_DNSSEC_MAX] = '\0';
    assert_int_equal(option_dnssec(&o, list, &err), ERR_USAGE);
    memset(list, 'k', 2000); /* longer than one may be */
    list[2000] = '\0';
    assert_int_equal(option_dnssec(&o, list, &err), ERR_USAGE);
}

UNIT_TEST_IN(test_dnssec_owners, clear_environment, NULL)
{
    static const struct {
        const char *owner;
        bool is_zone;
    } rows[] = {
        {"cluster.local.", true},
        {"sub.cluster.local.", false},
        {"local.", false},
        {"96.10.in-addr.arpa.", true},
        {"111.10.in-addr.arpa.", true},
        {"112.10.in-addr.arpa.", false},
        {"10.in-addr.arpa.", false},
        {"1.96.10.in-addr.arpa.", false},
        {"x.96.10.in-addr.arpa.", false},
        {"x.10.in-addr.arpa.", false},
        {"in-addr.arpa.", false},
        {"0.0.d.f.ip6.arpa.", true},
        {"0.d.f.ip6.arpa.", false},
        {"0.0.0.d.f.ip6.arpa.", false},
        {"168.192.in-addr.arpa.", true},
        {"1.168.192.in-addr.arpa.", false}, /* in the first of two networks */
    };
    const char *args[ARGS_MAX] = {
        "-domain=x.test,cluster.local",
        "-reverse-zones=10.96.0.0/12,fd00::/16,192.168.0.0/16,192.168.1.0/24"};
    struct options o;
    struct err err;
    assert_int_equal(settings_options_parse(args, &o, &err), 0);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct dname owner;
        assert_true(option_lower_name(rows[i].owner, &owner));
        assert_that(option_dnssec_is_zone(&o, &owner) == rows[i].is_zone, "%s", rows[i].owner);
    }
}

UNIT_TEST_IN(test_rcache, clear_environment, NULL)
{
    struct options o;
    const char *args[ARGS_MAX] = {"-rcache=0", "-rcache-ttl", "60", "-rcache-stale=0"};
    assert_int_equal(settings_options_parse((const char *[ARGS_MAX]){NULL}, &o, NULL), 0);
    assert_int_equal(o.rcache, 10000);
    assert_int_equal(o.rcache_ttl_s, 3600);
    assert_int_equal(o.rcache_stale_ms, 24 * 3600 * 1000);
    assert_int_equal(settings_options_parse(args, &o, NULL), 0);
    assert_int_equal(o.rcache, 0);
    assert_int_equal(o.rcache_ttl_s, 60);
    assert_int_equal(o.rcache_stale_ms, 0);
    const char *units[ARGS_MAX] = {"-rcache-ttl=2h", "-rcache-stale=30m"};
    assert_int_equal(settings_options_parse(units, &o, NULL), 0);
    assert_int_equal(o.rcache_ttl_s, 7200);
    assert_int_equal(o.rcache_stale_ms, 1800 * 1000);
}

/* The default depends on another flag, before or after it. */
UNIT_TEST_IN(test_min_ttl, clear_environment, NULL)
{
    static const struct {
        const char *args[ARGS_MAX];
        uint32_t want_s;
    } rows[] = {
        {{NULL}, 60},
        {{"-schema=skydns"}, 60},
        {{"-schema=kubernetes"}, 5},
        {{"-schema=kubernetes", "-min-ttl=60"}, 60},
        {{"-min-ttl=1", "-schema=kubernetes"}, 1},
        {{"-min-ttl", "3600"}, 3600},
    };
    struct options o;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        assert_int_equal(settings_options_parse(rows[i].args, &o, NULL), 0);
        assert_int_equal(o.engine.min_ttl_s, rows[i].want_s);
    }
}

UNIT_TEST_IN(test_snapshot, clear_environment, NULL)
{
    struct options o;
    assert_int_equal(settings_options_parse((const char *[ARGS_MAX]){NULL}, &o, NULL), 0);
    assert_string_equal(o.snapshot, "");
    assert_int_equal(o.snapshot_interval_ms, 60000);
    assert_int_equal(o.snapshot_max_ms, 24 * 3600 * 1000);
    const char *args[ARGS_MAX] = {"-snapshot=/var/lib/skydns/snapshot", "-snapshot-interval", "5",
                                  "-snapshot-max=0"};
    assert_int_equal(settings_options_parse(args, &o, NULL), 0);
    assert_string_equal(o.snapshot, "/var/lib/skydns/snapshot");
    assert_int_equal(o.snapshot_interval_ms, 5000);
    assert_int_equal(o.snapshot_max_ms, 0);
    const char *without_a_file[ARGS_MAX] = {"-snapshot-interval=100ms", "-snapshot-max=90m",
                                            "-snapshot="};
    assert_int_equal(settings_options_parse(without_a_file, &o, NULL), 0);
    assert_string_equal(o.snapshot, "");
    assert_int_equal(o.snapshot_interval_ms, 100);
    assert_int_equal(o.snapshot_max_ms, 90 * 60 * 1000);
}

UNIT_TEST_IN(test_environment_is_overridden_by_flags, clear_environment, NULL)
{
    struct options o;
    setenv("SKYDNS_ADDR", "127.0.0.1:1053", 1);
    setenv("SKYDNS_DOMAIN", "env.test", 1);
    setenv("SKYDNS_NDOTS", "3", 1);
    setenv("ETCD_MACHINES", "http://192.0.2.9:2379", 1);
    setenv("ETCD_USERNAME", "dns", 1);
    setenv("ETCD_PASSWORD", "secret", 1);
    setenv("SKYDNS_NAMESERVERS", "192.0.2.1", 1);
    const char *args[ARGS_MAX] = {"--domain=flag.test.", "-nameservers="}; /* resolv.conf's */
    assert_int_equal(settings_options_parse(args, &o, NULL), 0);
    assert_address(&o.addresses[0], "127.0.0.1:1053");
    options_assert_name(&o.domains[0], "flag.test.");
    assert_int_equal(o.engine.ndots, 3);
    assert_int_equal(o.nameserver_count, 0);
    assert_string_equal(o.machines, "http://192.0.2.9:2379");
    assert_string_equal(o.username, "dns");
    assert_string_equal(o.password, "secret");
}

UNIT_TEST_IN(test_tls, clear_environment, NULL)
{
    struct options o;
    const char *args[ARGS_MAX] = {"-ca-cert=/ca.pem", "-tls-pem=/me.pem", "-tls-key=/me.key"};
    assert_int_equal(settings_options_parse(args, &o, NULL), 0);
    assert_string_equal(o.ca_cert, "/ca.pem");
    assert_string_equal(o.tls_pem, "/me.pem");
    assert_string_equal(o.tls_key, "/me.key");

    setenv("ETCD_CACERT", "/env-ca.pem", 1);
    setenv("ETCD_TLSPEM", "/env.pem", 1);
    setenv("ETCD_TLSKEY", "/env.key", 1);
    assert_int_equal(settings_options_parse((const char *[ARGS_MAX]){"-tls-key=/me.key"}, &o, NULL),
                     0);
    assert_string_equal(o.ca_cert, "/env-ca.pem");
    assert_string_equal(o.tls_pem, "/env.pem");
    assert_string_equal(o.tls_key, "/me.key");
}

UNIT_TEST_IN(test_other_values, clear_environment, NULL)
{
    struct options o;
    const char *args[ARGS_MAX] = {"-hostmaster=dns@ops.example",
                                  "-rtimeout=250ms",
                                  "-workers=3",
                                  "-max-udp-size=512",
                                  "-http-addr=127.0.0.1:8080",
                                  "-local=A.Skydns.Local",
                                  "-etcd-timeout=3s",
                                  "-lameduck=5",
                                  "-log-level=debug",
                                  "-verbose=false"};
    assert_int_equal(settings_options_parse(args, &o, NULL), 0);
    options_assert_name(&o.hostmaster, "dns.ops.example.");
    assert_int_equal(o.rtimeout_ms, 250);
    assert_int_equal(o.etcd_timeout_ms, 3000);
    assert_int_equal(o.lameduck_ms, 5000);
    assert_int_equal(o.log_level, LOG_LEVEL_DEBUG);
    assert_false(o.verbose); /* logs queries; unrelated */
    assert_int_equal(o.workers, 3);
    options_assert_name(&o.engine.local, "a.skydns.local.");
    assert_int_equal(o.engine.max_udp_size, 512);
    assert_true(o.has_http);
    assert_address(&o.http_address, "127.0.0.1:8080");
}

/* Plain addresses, then those of streams. */
static const char *listeners_text(const struct options *o)
{
    static char out[512];
    char one[OPTION_LISTENER_MAX];
    CLEANUP_BUF struct buf text = buf_of(sizeof(out));
    for (size_t i = 0; i < o->address_count; i++) {
        buf_printf(&text, "%s ", addr_format(&o->addresses[i], one));
    }
    for (size_t i = 0; i < o->stream_count; i++) {
        buf_printf(&text, "%s ", option_stream_text(&o->streams[i], one));
    }
    (void)snprintf(out, sizeof(out), "%s", buf_cstr(&text)); /* fits */
    return out;
}

UNIT_TEST_IN(test_listeners, clear_environment, NULL)
{
    static const struct {
        const char *addr, *want;
    } rows[] = {
        {"-addr=tls://10.0.0.1", "tls://10.0.0.1:853 "},
        {"-addr=tls://[::1]", "tls://[::1]:853 "},
        {"-addr=tls://[::]:8853,", "tls://[::]:8853 "},
        {"-addr=https://10.0.0.1,grpc://10.0.0.2", "https://10.0.0.1:443 grpc://10.0.0.2:443 "},
        {"-addr=http://10.0.0.1:80,10.0.0.1:53,https://10.0.0.1:8443",
         "10.0.0.1:53 http://10.0.0.1:80 https://10.0.0.1:8443 "},
        {"-addr=10.0.0.1:53,10.0.0.2:53,tls://10.0.0.1,tls://10.0.0.2:853",
         "10.0.0.1:53 10.0.0.2:53 tls://10.0.0.1:853 tls://10.0.0.2:853 "},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct options o;
        struct err err = {0};
        const char *args[ARGS_MAX] = {rows[i].addr, "-cert=/c", "-key=/k", "-client-ca=/a",
                                      "-tls-ticket-keys=/t"};
        assert_that(settings_options_parse(args, &o, &err) == 0, "%s: %s", rows[i].addr, err.msg);
        assert_string_equal(listeners_text(&o), rows[i].want);
        assert_string_equal(o.cert, "/c");
        assert_string_equal(o.key, "/k");
        assert_string_equal(o.client_ca, "/a");
        assert_string_equal(o.ticket_keys, "/t");
    }
}

/* Without TLS, none is needed; a certificate without a listener is no mistake either, since the
 * document in etcd or systemd may bring one. */
UNIT_TEST_IN(test_listeners_and_certificate, clear_environment, NULL)
{
    struct options o;
    struct err err;
    assert_int_equal(settings_options_parse(
                         (const char *[ARGS_MAX]){"-addr=http://[::1]:80,grpc://[::1]"}, &o, &err),
                     0);
    assert_string_equal(listeners_text(&o), "http://[::1]:80 grpc://[::1]:443 ");
    assert_string_equal(o.cert, "");
    assert_int_equal(
        settings_options_parse((const char *[ARGS_MAX]){"-cert=/c", "-key=/k"}, &o, &err), 0);
    assert_string_equal(listeners_text(&o), "127.0.0.1:53 ");
}

/* "search visibility/unknown public allow rate" */
static const char *options_clients_text(const struct options *o)
{
    static char out[512];
    CLEANUP_BUF struct buf text = buf_of(sizeof(out));
    buf_append_str(&text, o->engine.autopath ? "autopath " : "");
    option_list_show(OPTION_SEARCH, o, &text);
    buf_printf(&text, " %s/%s ", o->clients.is_own ? "own" : "all",
               o->clients.unknown == VISIBILITY_UNKNOWN_ALL ? "all" : "public");
    option_list_show(OPTION_PUBLIC_NAMESPACES, o, &text);
    buf_append_char(&text, ' ');
    option_text_allow(o, &text);
    buf_append_char(&text, ' ');
    option_text_rate(o, &text);
    (void)snprintf(out, sizeof(out), "%s", buf_cstr(&text)); /* fits */
    return out;
}

UNIT_TEST_IN(test_clients, clear_environment, NULL)
{
    static const struct {
        const char *args[ARGS_MAX], *want;
    } rows[] = {
        {{NULL}, " all/public default,kube-system all off"},
        {{"-autopath", "-search=Corp.Example,b.test.,corp.example,", "-visibility=own",
          "-visibility-unknown=all", "-public-namespaces=Shared,shared,x-1",
          "-allow=10.1.2.3/8,2001:db8::/32,192.0.2.1", "-rate=1000"},
         "autopath corp.example.,b.test. own/all shared,x-1 "
         "10.0.0.0/8,2001:db8::/32,192.0.2.1/32 1000/1000"},
        {{"-public-namespaces=", "-allow=all", "-rate=off"}, " all/public  all off"},
        {{"-allow=10.0.0.0/8,all", "-rate=0"}, " all/public default,kube-system all off"},
        {{"-allow=,", "-rate=5/9"}, " all/public default,kube-system all 5/9"},
        {{"-allow=none"}, " all/public default,kube-system none off"},
        {{"-allow=none,10.0.0.0/8"}, " all/public default,kube-system 10.0.0.0/8 off"},
        {{"-allow=all,none"}, " all/public default,kube-system all off"},
        {{"-rate=1000000/1000000"}, " all/public default,kube-system all 1000000/1000000"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct options o;
        struct err err = {0};
        assert_that(settings_options_parse(rows[i].args, &o, &err) == 0, "row %zu: %s", i, err.msg);
        assert_string_equal(options_clients_text(&o), rows[i].want);
    }
}

/* Checks what answering threads get of the flags about clients. */
UNIT_TEST_IN(test_clients_of_engine, clear_environment, NULL)
{
    struct options o;
    struct err err;
    assert_int_equal(settings_options_parse((const char *[ARGS_MAX]){NULL}, &o, &err), 0);
    struct engine_config *config = options_engine_config(&o);
    assert_false(config->settings.is_restricted || config->settings.autopath ||
                 config->settings.search_count);
    assert_int_equal(config->settings.rate, 0);
    assert_false(options_want_client_index(&o));
    engine_config_free(config);
    assert_int_equal(
        settings_options_parse((const char *[ARGS_MAX]){"-autopath", "-search=a.test,b.test",
                                                        "-allow=10.0.0.0/8,fd00::/8", "-rate=7/9"},
                               &o, &err),
        0);
    config = options_engine_config(&o);
    assert_true(config->settings.is_restricted && config->settings.autopath);
    assert_int_equal(config->settings.admitted_count, 2);
    assert_int_equal(config->settings.admitted[1].prefix_bits, 8);
    assert_int_equal(config->settings.search_count, 2);
    options_assert_name(&config->settings.search[1], "b.test.");
    assert_int_equal(config->settings.rate, 7);
    assert_int_equal(config->settings.rate_burst, 9);
    assert_true(options_want_client_index(&o));
    assert_int_equal(config->settings.rate_namespace, 0);
    engine_config_free(config);
    assert_int_equal(
        settings_options_parse(
            (const char *[ARGS_MAX]){"-rate-namespace=500", "-http-allow=10.0.0.0/8,,fd00::1"}, &o,
            &err),
        0);
    assert_true(options_want_client_index(&o));
    assert_int_equal(o.engine.rate_namespace, 500);
    assert_int_equal(o.engine.rate_namespace_burst, 500);
    assert_int_equal(o.engine.rate, 0);
    assert_int_equal(o.http_allowed_count, 2);
    assert_int_equal(o.http_allowed[1].prefix_bits, 128);
}

/* Each is rejected with a message that names the flag (or variable) and the value. */
UNIT_TEST_IN(test_refused, clear_environment, NULL)
{
    static const struct {
        const char *arg, *says[2];
    } rows[] = {
        {"-addr=localhost:53", {"-addr", "`localhost:53`"}},
        {"-username=dns", {"-username", "expected -password-file or -password"}},
        {"-password-file=/x", {"-password-file", "expected -username"}},
        {"-addr=127.0.0.1", {"-addr", "expected IP:port"}},
        {"-addr=127.0.0.1:0", {"-addr", "1-65535"}},
        {"-nameservers=192.0.2.1:0", {"-nameservers", "`192.0.2.1:0`"}},
        {"-nameservers=192.0.2.1:53,x:1", {"-nameservers", "`x:1`"}},
        {"-nameservers=2001:db8::1", {"-nameservers", "`2001:db8::1`: expected IP or IP:port"}},
        {"-nameservers=ns.test", {"-nameservers", "`ns.test`: expected IP or IP:port"}},
        {"-addr=127.0.0.1:53,127.0.0.1", {"-addr", "`127.0.0.1`"}},
        {"-addr=,", {"-addr", "expected IP:port"}},
        {"-addr=tls://10.0.0.1", {"flag -addr: `tls://10.0.0.1`", "expected -cert and -key"}},
        {"-addr=https://10.0.0.1", {"`https://10.0.0.1`", "expected -cert and -key"}},
        {"-addr=http://10.0.0.1", {"`http://10.0.0.1`", "expected http://IP:port, like"}},
        {"-addr=http://10.0.0.1:0", {"`http://10.0.0.1:0`", "port 1-65535"}},
        {"-addr=grpc://dns.test", {"`grpc://dns.test`", "expected grpc://IP or"}},
        {"-addr=grpc://", {"`grpc://`", "expected grpc://IP or"}},
        {"-addr=grpc://10.0.0.1:", {"`grpc://10.0.0.1:`", "expected grpc://IP or"}},
        {"-addr=grpc://::1", {"`grpc://::1`", "expected grpc://IP or"}},
        {"-addr=grpc://10.0.0.1/x", {"`grpc://10.0.0.1/x`", "expected grpc://IP or"}},
        {"-addr=quic://10.0.0.1",
         {"`quic://10.0.0.1`: unknown scheme `quic`", "expected IP:port, tls://IP, https://IP"}},
        {"-addr=TLS://10.0.0.1", {"unknown scheme `TLS`", "-addr"}},
        {"-addr=://10.0.0.1", {"unknown scheme ``", "-addr"}},
        {"-addr=udp://10.0.0.1:53", {"unknown scheme `udp`", "-addr"}},
        {"-addr=grpc://10.0.0.1,http://10.0.0.1:443",
         {"`grpc://10.0.0.1:443` and `http://10.0.0.1:443`", "the same TCP port"}},
        {"-addr=10.0.0.1:53,http://10.0.0.1:53",
         {"`10.0.0.1:53` and `http://10.0.0.1:53`", "the same TCP port"}},
        {"-addr=http://[::1]:80,[::1]:80", {"`[::1]:80` and `http://[::1]:80`", "expected"}},
        {"-addr=10.0.0.1:53,10.0.0.1:53", {"`10.0.0.1:53` and `10.0.0.1:53`", "expected"}},
        {"-addr=http://1.1.1.1:1,http://1.1.1.1:2,1.1.1.1:3,1.1.1.1:4,1.1.1.1:5,1.1.1.1:6,"
         "1.1.1.1:7,1.1.1.1:8,1.1.1.2:1,1.1.1.2:2,1.1.1.2:3,1.1.1.2:4,1.1.1.2:5,1.1.1.2:6,"
         "1.1.1.2:7,1.1.1.2:8,http://1.1.1.1:9",
         {"-addr", "expected at most 16 addresses"}},
        {"-cert=/a", {"flag -cert: `/a`", "expected -key with it"}},
        {"-key=/a", {"flag -key: `/a`", "expected -cert with it"}},
        {"-client-ca=/a", {"flag -client-ca: `/a`", "expected -cert and -key with it"}},
        {"-tls-ticket-keys=/a", {"flag -tls-ticket-keys: `/a`", "expected -cert and -key"}},
        {"-allow-recursion=10.0.0.0/8,10/8", {"-allow-recursion", "`10/8`"}},
        {"-domain=", {"-domain", "expected a domain"}},
        {"-domain=\"cluster.local.\"", {"-domain", "`\"cluster.local.\"`: expected a domain"}},
        {"-domain='cluster.local'", {"-domain", "expected a domain"}},
        {"-domain=$(DOMAIN)", {"-domain", "expected a domain"}},
        {"-domain=cluster.local ", {"-domain", "expected a domain"}},
        {"-local=\"a.b\"", {"-local", "expected a name like"}},
        {"-search=\"a.b\"", {"-search", "expected a domain like"}},
        {"-stub=\"a\"=10.0.0.1", {"-stub", "expected a zone like"}},
        {"-stub=acme.local=ns.example.com", {"-stub", "expected IP or IP:port"}},
        {"-hostmaster=\"a@b\"", {"-hostmaster", "expected a mail address"}},
        {"-path-prefix=\"skydns\"", {"-path-prefix", "without slashes, quotation marks"}},
        {"-nameservers=\"\"", {"-nameservers", "`\"\"`: expected IP or IP:port"}},
        {"-nameservers=\"8.8.8.8\"", {"-nameservers", "expected IP or IP:port"}},
        {"-domain=.", {"-domain", "`.`"}},
        {"-domain=a..b", {"-domain", "`a..b`"}},
        {"-domain=a.test,b..c", {"-domain", "`b..c`"}},
        {"-dnssec=Kx+1+2,Ky,Kx+1+2", {"flag -dnssec: `Kx+1+2`", "expected each key once"}},
        {"-scache=-1", {"-scache", "`-1`"}},
        {"-scache=1000001", {"-scache", "1000000"}},
        {"-stub=acme.local", {"-stub", "`acme.local`: expected ZONE=IP[:port]"}},
        {"-stub==10.0.0.1", {"-stub", "expected ZONE=IP[:port]"}},
        {"-stub=acme.local=", {"-stub", "expected servers like"}},
        {"-stub=acme.local=ns.test", {"-stub", "`ns.test`: expected IP or IP:port"}},
        {"-stub=a..b=10.0.0.1", {"-stub", "`a..b`: expected a zone like"}},
        {"-stub=.=10.0.0.1", {"-stub", "-nameservers"}},
        {"-stub=Skydns.Local=10.0.0.1", {"-stub", "`skydns.local.`: expected a zone of others"}},
        {"-rcache=-1", {"-rcache", "`-1`"}},
        {"-rcache=1000001", {"-rcache", "1000000"}},
        {"-rcache-ttl=0", {"-rcache-ttl", "`0`"}},
        {"-rcache-ttl=x", {"-rcache-ttl", "`x`"}},
        {"-rcache-stale=31d", {"-rcache-stale", "`31d`"}},
        {"-rcache-stale=721h", {"-rcache-stale", "`721h`"}},
        {"-snapshot=/var/lib/skydns/", {"-snapshot", "`/var/lib/skydns/`: expected a file"}},
        {"-snapshot-interval=0", {"-snapshot-interval", "`0`"}},
        {"-snapshot-interval=99ms", {"-snapshot-interval", "`99ms`"}},
        {"-snapshot-interval=25h", {"-snapshot-interval", "`25h`"}},
        {"-snapshot-max=1d", {"-snapshot-max", "`1d`"}},
        {"-snapshot-max=-1s", {"-snapshot-max", "`-1s`"}},
        {"-reverse-zones=10.96.0.0/", {"-reverse-zones", "`10.96.0.0/`"}},
        {"-reverse-zones=10.96.0.0/33", {"-reverse-zones", "expected a network"}},
        {"-reverse-zones=fd00::/129", {"-reverse-zones", "expected a network"}},
        {"-schema=kube", {"-schema", "`kube`"}},
        {"-pods=on", {"-pods", "`on`"}},
        {"-any=answer", {"-any", "`answer`"}},
        {"-hostmaster=a..b", {"-hostmaster", "expected a mail address"}},
        {"-local=a..b", {"-local", "`a..b`"}},
        {"-path-prefix=a/b", {"-path-prefix", "`a/b`"}},
        {"-path-prefix=", {"-path-prefix", "one path component"}},
        {"-stale-max=5d", {"-stale-max", "a duration like"}},
        {"-max-udp-size=100", {"-max-udp-size", "512"}},
        {"-workers=0", {"-workers", "1"}},
        {"-log-level=loud", {"-log-level: `loud`", "expected error|warn|info|debug"}},
        {"-rtimeout=2x", {"-rtimeout", "duration"}},
        {"-etcd-timeout=0s", {"-etcd-timeout", "1"}},
        {"-lameduck=5000", {"-lameduck", "to 1h"}},
        {"-lameduck=-1s", {"-lameduck", "`-1s`"}},
        {"-http-addr=:8080", {"-http-addr", "`:8080`"}},
        {"-tls-pem=/a", {"-tls-pem", "expected -tls-key with it"}},
        {"-tls-key=/a", {"-tls-key", "expected -tls-pem with it"}},
        {"-no-such-flag", {"unknown flag", "-no-such-flag"}},
        {"stray", {"unexpected argument", "`stray`"}},
        {"-explain=a.b", {"-explain", "expected -http-addr"}},
        {"-client=10.0.0.1", {"-client", "`10.0.0.1`: expected -explain"}},
        {"-top", {"-top", "expected -http-addr"}},
        {"-external-zones=a..b",
         {"-external-zones", "`a..b`: expected a zone like lb.example.com"}},
        {"-external-zones=.", {"-external-zones", "`.`"}},
        {"-external-zones=a,b,c,d,e", {"-external-zones", "expected at most 4 zones"}},
        {"-external-zones=x.skydns.local", {"-external-zones", "`x.skydns.local.`: expected a"}},
        {"-external-zones=local", {"-external-zones", "`local.`: expected a zone outside"}},
        {"-external-zones=a.b,b", {"-external-zones", "`b.`: expected a zone outside"}},
        {"-external-zones=1.10.in-addr.arpa", {"-external-zones", "expected a zone outside"}},
        {"-search=corp.example,a..b", {"-search", "`a..b`: expected a domain like"}},
        {"-search=.", {"-search", "`.`"}},
        {"-search=a,b,c,d,e,f,g,h,i,j,k,l,m,n,o,p,q", {"-search", "expected at most 16 domains"}},
        {"-visibility=some", {"-visibility", "`some`: expected all|own"}},
        {"-visibility-unknown=own", {"-visibility-unknown", "`own`: expected all|public"}},
        {"-public-namespaces=a,b.c", {"-public-namespaces", "`b.c`: expected a namespace like"}},
        {"-public-namespaces=-a", {"-public-namespaces", "`-a`"}},
        {"-allow=10.0.0.0/8,10/8", {"-allow", "`10/8`: expected a network like"}},
        {"-allow=nobody", {"-allow", "`nobody`: expected a network like"}},
        {"-http-allow=10.0.0.0/8,all", {"-http-allow", "`all`: expected a network like"}},
        {"-rate-namespace=10/", {"flag -rate-namespace", "`10/`: expected N or N/BURST"}},
        {"-rate-namespace=1000001", {"flag -rate-namespace", "`1000001`"}},
        {"-rate=-1", {"-rate", "`-1`: expected N or N/BURST"}},
        {"-rate=1000001", {"-rate", "`1000001`"}},
        {"-rate=10/", {"-rate", "`10/`"}},
        {"-rate=10/0", {"-rate", "`10/0`"}},
        {"-rate=0/10", {"-rate", "`0/10`"}},
        {"-rate=5/5/5", {"-rate", "`5/5/5`"}},
        {"-rate=1e3", {"-rate", "`1e3`"}},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct options o;
        struct err err = {0};
        const char *args[ARGS_MAX] = {rows[i].arg};
        assert_int_equal(settings_options_parse(args, &o, &err), ERR_USAGE);
        for (size_t k = 0; k < ARRAY_LEN(rows[i].says); k++) {
            assert_that(strstr(err.msg, rows[i].says[k]), "%s: `%s` does not say `%s`", rows[i].arg,
                        err.msg, rows[i].says[k]);
        }
    }
}

UNIT_TEST_IN(test_transfers, clear_environment, NULL)
{
    static const struct {
        const char *list, *error; /* NULL: it is right */
    } cases[] = {
        {"10.0.0.0/8,fd00::1,10.0.0.1:5353,key:k1.,10.0.0.2+key:K2", NULL},
        {"fe80::1%lo,[fe80::2%1]:54+key:k1.", NULL},
        {"fe80::1%absent", "`fe80::1%absent`: expected an interface"},
        {"10.0.0.0/33", "expected a network"},
        {"key:", "expected a network"},
        {"10.0.0.1+k", "expected a network"},
        {"10.0.0.1:99999", "expected a network"},
    };
    struct options o;
    struct err err;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char flag[128];
        (void)snprintf(flag, sizeof(flag), "-transfer-to=%s", cases[i].list);
        const char *const args[ARGS_MAX] = {"-schema=kubernetes", flag};
        int r = settings_options_parse(args, &o, &err);
        assert_int_equal(r, cases[i].error ? ERR_USAGE : 0);
        assert_true(!cases[i].error || strstr(err.msg, cases[i].error));
    }
    const char *const right[ARGS_MAX] = {"-schema=kubernetes",
                                         "-transfer-to=10.0.0.0/8,fd00::1,key:k1.,10.0.0.2+key:K2"};
    assert_int_equal(settings_options_parse(right, &o, &err), 0);
    assert_int_equal(o.engine.transfer_count, 4);
    assert_int_equal(addr_port(&o.engine.transfers[1].notify), 53);
    assert_int_equal(o.engine.transfers[0].notify.len, 0);
    CLEANUP_BUF struct buf text = buf_of(1024);
    option_list_show(OPTION_TRANSFERS, &o, &text);
    assert_string_equal(buf_cstr(&text), "10.0.0.0/8,[fd00::1]:53,key:k1.,10.0.0.2:53+key:k2.");
    assert_ptr_equal(option_transfer_lacks_key(&o, NULL), &o.engine.transfers[2]);
    const char *const wrong[ARGS_MAX] = {"-transfer-to=10.0.0.1"};
    assert_int_equal(settings_options_parse(wrong, &o, &err), ERR_USAGE);
}

UNIT_TEST_IN(test_query_log, clear_environment, NULL)
{
    static const struct {
        const char *args[2];
        const char *want; /* the text, or part of the error */
    } cases[] = {
        {{NULL}, "off"},
        {{"-verbose"}, "all"},
        {{"-query-log=off", "-verbose"}, "off"},
        {{"-query-log=all"}, "all"},
        {{"-query-log=errors", "-verbose"}, "errors"},
        {{"-query-log=denials"}, "denials"},
        {{"-query-log=1/1"}, "1/1"},
        {{"-query-log=1/1000000"}, "1/1000000"},
        {{"-query-log=1/0"}, "flag -query-log: `1/0`: expected off, all, errors, denials, or 1/N"},
        {{"-query-log=1/1000001"}, "`1/1000001`: expected"},
        {{"-query-log=1/9999999999999"}, "`1/9999999999999`: expected"},
        {{"-query-log=1/"}, "`1/`: expected"},
        {{"-query-log=1/7x"}, "`1/7x`: expected"},
        {{"-query-log=2/7"}, "`2/7`: expected"},
        {{"-query-log=All"}, "`All`: expected"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const char *const args[ARGS_MAX] = {cases[i].args[0], cases[i].args[1]};
        struct options o;
        struct err err;
        CLEANUP_BUF struct buf text = buf_of(64);
        if (settings_options_parse(args, &o, &err) == 0) {
            option_text_query_log(&o, &text);
            assert_string_equal(buf_cstr(&text), cases[i].want);
        } else {
            assert_int_equal(err.code, ERR_USAGE);
            assert_non_null(strstr(err.msg, cases[i].want));
        }
    }
}

UNIT_TEST_IN(test_dnstap, clear_environment, NULL)
{
    static const struct {
        const char *arg;
        const char *want; /* the text, or part of the error */
    } cases[] = {
        {NULL, ""},
        {"-dnstap=", ""},
        {"-dnstap=unix:/run/dnstap.sock", "unix:/run/dnstap.sock"},
        {"-dnstap=tcp://127.0.0.1:6000", "tcp://127.0.0.1:6000"},
        {"-dnstap=/run/x", "flag -dnstap: `/run/x`: expected unix:PATH or tcp://IP:port"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const char *const args[ARGS_MAX] = {cases[i].arg};
        struct options o;
        struct err err;
        char text[DNSTAP_TARGET_TEXT_MAX];
        if (settings_options_parse(args, &o, &err) == 0) {
            assert_string_equal(dnstap_target_format(&o.dnstap, text), cases[i].want);
        } else {
            assert_int_equal(err.code, ERR_USAGE);
            assert_non_null(strstr(err.msg, cases[i].want));
        }
    }
}

UNIT_TEST_IN(test_top, clear_environment, NULL)
{
    static const struct {
        const char *address, *shown;
    } rows[] = {{"-http-addr=:8080", "0.0.0.0:8080"}, {"-http-addr=[::1]:8080", "[::1]:8080"}};
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct options o;
        struct err err = {0};
        char text[ADDR_TEXT_MAX];
        const char *args[ARGS_MAX] = {"-top", rows[i].address};
        assert_int_equal(settings_options_parse(args, &o, &err), 0);
        assert_true(o.top);
        assert_string_equal(addr_format(&o.http_address, text), rows[i].shown);
        args[2] = "-explain=a.b";
        assert_int_equal(settings_options_parse(args, &o, &err), ERR_USAGE);
        assert_non_null(strstr(err.msg, "flag -top: expected no -explain"));
    }
}

UNIT_TEST_IN(test_explain, clear_environment, NULL)
{
    struct options o;
    struct err err;
    const char *args[ARGS_MAX] = {"-explain", "a.b", "-http-addr=127.0.0.1:1", "srv"};
    assert_int_equal(settings_options_parse(args, &o, &err), 0);
    assert_string_equal(o.explain, "a.b");
    assert_string_equal(o.explain_type, "srv");
    args[4] = "more";
    assert_int_equal(settings_options_parse(args, &o, &err), ERR_USAGE);
    assert_non_null(strstr(err.msg, "`more`"));
}

UNIT_TEST_IN(test_version_needs_no_other_value, clear_environment, NULL)
{
    struct options o;
    const char *args[ARGS_MAX] = {"-version", "-addr=nonsense"};
    assert_int_equal(settings_options_parse(args, &o, NULL), 0);
    assert_true(o.version);
}

UNIT_TEST_IN(test_resolv_conf, clear_environment, NULL)
{
    static const char text[] = "# a comment\n"
                               "search a.test b.test\n"
                               "nameserver 192.0.2.53\n"
                               "  nameserver\t2001:db8::53  \n"
                               "nameserver fe80::1%no-such-link\n"
                               "nameserver fe80::2%\n"
                               "nameserver 192.0.2.9%lo\n"
                               "nameserverx 192.0.2.54\n"
                               "nameserver\n"
                               "options ndots:5\n"
                               "nameserver 192.0.2.55\n"
                               "nameserver fe80::3%lo\n"
                               "nameserver fe80::3%4711";
    char path[] = "/tmp/resolv-XXXXXX";
    struct options o = {.nameserver_count = 0};
    struct err err = {0};
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    close(fd);
    int r = resolv_conf_read(&o, path, &err);
    unlink(path);
    assert_int_equal(r, 0);
    assert_int_equal(o.nameserver_count, 5);
    assert_address(&o.nameservers[0].address, "192.0.2.53:53");
    assert_address(&o.nameservers[1].address, "[2001:db8::53]:53");
    assert_address(&o.nameservers[2].address, "192.0.2.55:53");
    assert_address(&o.nameservers[3].address, "[fe80::3%1]:53");
    assert_int_equal(o.nameservers[3].address.v6.sin6_scope_id, if_nametoindex("lo"));
    assert_address(&o.nameservers[4].address, "[fe80::3%4711]:53");
    assert_int_equal(o.nameservers[4].address.v6.sin6_scope_id, 4711);

    o.nameserver_count = 0;
    assert_int_equal(resolv_conf_read(&o, path, &err), 0); /* missing: fine */
    assert_int_equal(o.nameserver_count, 0);
    assert_int_equal(resolv_conf_read(&o, "/", &err), -EIO); /* exists, but is unreadable */
    assert_non_null(strstr(err.msg, "-nameservers"));
}
