#include "kube2sky/options.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/cleanup.h"
#include "common/base/flags.h"
#include "common/base/log.h"
#include "common/base/xalloc.h"
#include "common/dns/dname.h"
#include "common/etcd/etcd_defaults.h"
#include "common/etcd/etcd_txn.h"
#include "common/http/http_admission.h"
#include "kube2sky/api/kube_client.h"
#include "kube2sky/api/label_selector.h"
#include "kube2sky/explain.h"
#include "kube2sky/naming/contract.h"
#include "kube2sky/naming/desired.h"
#include "kube2sky/naming/override_zones.h"
#include "kube2sky/naming/route_rules.h"

/* A timeout of more than a day is certainly a mistake. */
enum { TIMEOUT_MAX_MS = 24 * 60 * 60 * 1000 };

/* RFC 2181, section 8, limits TTLs. */
enum { TTL_MAX_S = INT32_MAX };

/* Lower values of -v mean info: glog's users know 2 as normal and 4 as debugging. */
enum { DEBUG_VERBOSITY = 4 };

/* Each namespace costs a connection or two to the API server. */
enum { NAMESPACES_MAX = 100 };

/* Length of a DNS-1123 subdomain. */
enum { OBJECT_NAME_MAX = 253 };

/* The choices of -pods. */
enum { PODS_VERIFIED, PODS_DISABLED };
#define PODS_CHOICES "verified|disabled"

/* etcd grants no lease below 2 s; an hour without a writer is too long for any cluster. */
enum { LEASE_MIN_MS = 2000, LEASE_MAX_MS = 60 * 60 * 1000 };

/* Holds values that need conversion. */
struct raw {
    const char *domain;
    bool wants_imports;
    const char *import_domain;
    const char *namespaces;
    const char *config_map;
    const char *config_map_namespace;
    const char *external_zone;
    const char *override_zones;
    struct flag_strings ingress;
    struct flag_strings gateway;
    int pods;
    bool is_elected;
    int64_t leader_lease_ms;
    int endpoints_mode;
    int endpoint_names;
    int64_t verbosity;
    bool is_verbose;
    bool has_log_level;
    bool wants_stderr;
    const char *healthz_address;
    int64_t healthz_port;
    bool has_explain;
};

/* etcd counts comparisons, too: with a leader there is one more than operations. A transaction of
 * more than some thousand operations is limited by its bytes. */
enum { TXN_OPS_MIN = 2, TXN_OPS_MAX = 8192 };

/* A million records of one owner are 256 MB (DESIRED_BYTES_MAX). */
enum { OWNER_KEYS_MAX = 1000 * 1000, NAMESPACE_KEYS_MAX = 1000 * 1000 * 1000 };

/* From what a test can fill to more than etcd advises, 8 GiB. */
enum { ETCD_SPACE_MIN_MIB = 1, ETCD_SPACE_MAX_MIB = 1024 * 1024 };

static int kube2sky_options_parse_flags(int argc, char *const *argv, struct options *o,
                                        struct raw *raw, struct err *err)
{
    const struct flag table[] = {
        {"domain", FLAG_STRING, &raw->domain, .help = "DNS domain of the cluster"},
        {"multicluster", FLAG_BOOL, &raw->wants_imports,
         .help = "write records for ServiceImports of the multicluster API"},
        {"multicluster-domain", FLAG_STRING, &raw->import_domain,
         .help = "DNS domain of ServiceImports"},
        {"etcd-server", FLAG_STRING, &o->etcd_server, .help = "comma-separated URLs of etcd"},
        {"etcd-cafile", FLAG_STRING, &o->etcd_cafile,
         .help = "PEM file of the CAs that sign etcd's certificates; default: the system's"},
        {"etcd-certfile", FLAG_STRING, &o->etcd_certfile,
         .help = "PEM file of the client certificate to show to etcd"},
        {"etcd-keyfile", FLAG_STRING, &o->etcd_keyfile, .help = "PEM file of its key"},
        {"etcd-username", FLAG_STRING, &o->etcd_username,
         .help = "user name for an etcd with authentication"},
        {"etcd-password-file", FLAG_STRING, &o->etcd_password_file,
         .help = "file with its password, reread when etcd refuses the old one"},
        {"etcd-mutation-timeout", FLAG_DURATION_MS, &o->etcd_mutation_timeout_ms, .min = 1,
         .max = TIMEOUT_MAX_MS,
         .help = "log an error and fail /readiness?strict when etcd or the API fails for longer"},
        {"exit-on-etcd-timeout", FLAG_BOOL, &o->exit_on_etcd_timeout,
         .help = "exit with status 255 when etcd has been failing for that long, as the old "
                 "program did"},
        {"ttl", FLAG_INT, &o->ttl_s, .min = 1, .max = TTL_MAX_S,
         .help = "time to live of the records, in seconds"},
        {"pods", FLAG_CHOICE, &raw->pods, .choices = PODS_CHOICES,
         .help = "write records for pods' addresses, or none"},
        {"nodes", FLAG_BOOL, &o->wants_nodes,
         .help = "write records for nodes' internal addresses, <node>.node.<domain>"},
        {"namespace-visibility", FLAG_BOOL, &o->wants_visibility,
         .help = "follow namespaces, and tell skydns their annotation dns.kube2sky/visible-to"},
        {"client-records", FLAG_BOOL, &o->wants_client_records,
         .help = "tell skydns which pod has which address, on which node and in which zone; "
                 "follows pods and nodes"},
        {"topology", FLAG_BOOL, &o->wants_topology,
         .help = "tell skydns in which zones the addresses of headless Services are that prefer "
                 "the nearest"},
        {"reverse", FLAG_BOOL, &o->wants_reverse,
         .help = "write records that map addresses to names, for PTR queries"},
        {"namespaces", FLAG_STRING, &raw->namespaces,
         .help = "comma-separated; write and own only their records; none: all"},
        {"endpoints", FLAG_CHOICE, &raw->endpoints_mode, .choices = ENDPOINTS_MODE_CHOICES,
         .help = "source of headless Services' endpoints; auto: slices if the server has and "
                 "permits them"},
        {"endpoint-names", FLAG_CHOICE, &raw->endpoint_names, .choices = ENDPOINT_NAMES_CHOICES,
         .help = "label of an endpoint without a hostname: hash, its address with dashes, or its "
                 "pod's name"},
        {"label-selector", FLAG_STRING, &o->label_selector,
         .help = "write records only for objects with matching labels"},
        {"namespace-labels", FLAG_STRING, &o->namespace_labels,
         .help = "write records only for objects in namespaces with matching labels, which are "
                 "followed; not with -namespaces"},
        {"config-map", FLAG_STRING, &raw->config_map,
         .help = "[NAMESPACE/]NAME of kube-dns's ConfigMap, for its stubDomains, "
                 "upstreamNameservers and records; none: without"},
        {"config-map-namespace", FLAG_STRING, &raw->config_map_namespace,
         .help = "its namespace, unless -config-map names one"},
        {"external-zone", FLAG_STRING, &raw->external_zone,
         .help = "zone with names of Services' external addresses, <service>.<namespace>.ZONE"},
        {"external-zone-headless", FLAG_BOOL, &o->has_external_headless,
         .help = "with -external-zone, names of headless Services' endpoints there, too"},
        {"external-zone-public", FLAG_BOOL, &o->is_external_public,
         .help = "with -external-zone, skydns -visibility=own hides no names there"},
        {"override-zones", FLAG_STRING, &raw->override_zones,
         .help = "comma-separated ZONE[@NAMESPACE[+NAMESPACE...]]: external zones in which records "
                 "are written, for objects of these namespaces; *.ZONE: wildcard names, too"},
        {"ingress", FLAG_STRING_LIST, &raw->ingress,
         .help = "CLASS=NAMESPACE/SERVICE: hosts of Ingresses of this class are names of this "
                 "Service; may be repeated"},
        {"gateway", FLAG_STRING_LIST, &raw->gateway,
         .help = "NAMESPACE/GATEWAY=NAMESPACE/SERVICE: hosts of HTTPRoutes that this Gateway "
                 "accepts are names of this Service; may be repeated"},
        {"events", FLAG_BOOL, &o->wants_events,
         .help = "write Warning events on Services, Ingresses and routes that are not written to "
                 "etcd as they are"},
        {"own-only-written", FLAG_BOOL, &o->own_only_written,
         .help = "delete only keys that kube2sky could have written; leave other keys below svc/ "
                 "alone"},
        {"leader-elect", FLAG_BOOL, &raw->is_elected,
         .help = "run as one of several: write only while holding the leader key in etcd"},
        {"leader-elect-lease-duration", FLAG_DURATION_MS, &raw->leader_lease_ms,
         .min = LEASE_MIN_MS, .max = LEASE_MAX_MS,
         .help = "how long a leader may be silent before another takes over"},
        {"etcd-max-txn-ops", FLAG_INT, &o->etcd_max_txn_ops, .min = TXN_OPS_MIN, .max = TXN_OPS_MAX,
         .help =
             "operations per transaction; etcd accepts 128 unless its --max-txn-ops is changed"},
        {"etcd-space", FLAG_INT, &o->etcd_space_mib, .min = ETCD_SPACE_MIN_MIB,
         .max = ETCD_SPACE_MAX_MIB,
         .help =
             "etcd's --quota-backend-bytes in MiB; one namespace's changes fill a tenth between "
             "two compactions, and its keys another"},
        {"max-owner-keys", FLAG_INT, &o->max_owner_keys, .min = 1, .max = OWNER_KEYS_MAX,
         .help = "records of one Service; with more, its keys are left as they are"},
        {"max-namespace-keys", FLAG_INT, &o->max_namespace_keys, .min = 0,
         .max = NAMESPACE_KEYS_MAX,
         .help = "keys of one namespace, without reverse names; further new keys wait; 0: no limit "
                 "but its share of -etcd-space"},
        {"kubecfg-file", FLAG_STRING, &o->kubecfg_file,
         .help = "kubeconfig with the API server and credentials"},
        {"kube-master-url", FLAG_STRING, &o->kube_master_url,
         .help = "URL of the API server, overrides the kubeconfig's; $VARIABLES are expanded"},
        {"dry-run", FLAG_BOOL, &o->is_dry_run,
         .help = "write nothing: print the changes, and exit with status 3 if there are any"},
        {"healthz-port", FLAG_INT, &raw->healthz_port, .min = 1, .max = 65535,
         .help = "TCP port of /readiness, /metrics, /plan, /explain and /healthz"},
        {"healthz-address", FLAG_STRING, &raw->healthz_address,
         .help = "IP address to serve them on; none: every address"},
        {"http-hosts", FLAG_STRING, &o->http_hosts,
         .help = "comma-separated names that requests for them may have in Host, beside IP "
                 "addresses, single labels and names in -domain"},
        {"top", FLAG_BOOL, &o->wants_top,
         .help = "show the figures of the kube2sky running there in this terminal; q ends"},
        {"v", FLAG_INT, &raw->verbosity, .help = "4 and more: like -log-level=debug"},
        {"verbose", FLAG_BOOL, &raw->is_verbose, .help = "like -log-level=debug"},
        {"log-level", FLAG_CHOICE, &o->log_level, .choices = LOG_LEVEL_CHOICES,
         .help = LOG_LEVEL_HELP "; overrides -v and -verbose", .was_given = &raw->has_log_level},
        {"log-format", FLAG_CHOICE, &o->log_format, .choices = LOG_FORMAT_CHOICES,
         .help = "log lines of text, or JSON objects"},
        {"healthcheck", FLAG_STRING, &o->healthcheck,
         .help = "check a running kube2sky at http://IP:PORT/PATH; exit status 0 if it is healthy"},
        {"explain", FLAG_STRING, &o->explain,
         .help = "print why the running kube2sky writes NAMESPACE/SERVICE's records as it does",
         .was_given = &raw->has_explain},
        {"version", FLAG_BOOL, &o->want_version, .help = "print the version and exit"},
        {"logtostderr", FLAG_BOOL, &raw->wants_stderr, .help = NULL},
        {"alsologtostderr", FLAG_IGNORED_BOOL, .help = NULL},
        {"stderrthreshold", FLAG_IGNORED_STRING, &o->without_effect, .help = NULL},
        {"vmodule", FLAG_IGNORED_STRING, &o->without_effect, .help = NULL},
        {"log-dir", FLAG_IGNORED_STRING, &o->without_effect, .help = NULL},
        {"log-backtrace-at", FLAG_IGNORED_STRING, &o->without_effect, .help = NULL},
        {"log-flush-frequency", FLAG_IGNORED_STRING, .help = NULL},
    };
    const struct flags flags = {
        .program = "kube2sky",
        .summary = "keeps the DNS records of a Kubernetes cluster's Services in etcd",
        .table = table,
        .count = ARRAY_LEN(table),
        .underscore_is_dash = true,
    };
    int r = flags_parse(&flags, argc, argv, err);
    if (r == FLAGS_HELP) {
        flags_print_help(&flags);
    }
    return r;
}

/* Returns a copy in lower case, owned by the caller. */
static char *lower_copy(struct slice text)
{
    char *copy = xstrndup(text.ptr, text.len);
    ascii_lower_copy(copy, copy, text.len);
    return copy;
}

static int parse_domain_flag(const char *flag, const char *text, const char *example,
                             char **ret_domain, struct err *err)
{
    struct dname name;
    const size_t n = strlen(text);
    const bool has_dot = n > 0 && text[n - 1] == '.';
    if (!dname_is_host(slice_of(text, n - has_dot)) || !dname_from_text(slice_of(text, n), &name)) {
        return err_set(err, ERR_USAGE, "flag -%s: `%s`: expected a domain name like %s", flag, text,
                       example);
    }
    CLEANUP_FREE char *domain = xasprintf("%s%s", text, has_dot ? "" : ".");
    *ret_domain = lower_copy(slice_str(domain));
    return 0;
}

static int take_domain(const struct raw *raw, struct options *o, struct err *err)
{
    return parse_domain_flag("domain", raw->domain, "cluster.local", &o->domain, err);
}

/* Takes the domain of imports. Its keys must not be among those of the cluster's domain. */
static int take_import_domain(const struct raw *raw, struct options *o, struct err *err)
{
    int r = parse_domain_flag("multicluster-domain", raw->import_domain, "clusterset.local",
                              &o->import_domain, err);
    if (r == 0 && raw->wants_imports && override_zones_overlap(o->domain, o->import_domain)) {
        r = err_set(err, ERR_USAGE,
                    "flag -multicluster-domain: `%s`: expected a domain that is neither in -domain "
                    "nor above it",
                    raw->import_domain);
    }
    if (!raw->wants_imports) {
        free(o->import_domain);
        o->import_domain = NULL;
    }
    return r;
}

static int kube2sky_options_check_credentials(const struct raw *raw UNUSED, struct options *o,
                                              struct err *err)
{
    if (!*o->etcd_username != !*o->etcd_password_file) {
        return err_set(err, ERR_USAGE, "flag -%s: expected -%s with it",
                       *o->etcd_username ? "etcd-username" : "etcd-password-file",
                       *o->etcd_username ? "etcd-password-file" : "etcd-username");
    }
    if (!*o->etcd_certfile != !*o->etcd_keyfile) {
        return err_set(err, ERR_USAGE, "flag -%s: expected -%s with it",
                       *o->etcd_certfile ? "etcd-certfile" : "etcd-keyfile",
                       *o->etcd_certfile ? "etcd-keyfile" : "etcd-certfile");
    }
    return 0;
}

static int add_namespace(struct options *o, struct slice name, struct err *err)
{
    if (!dname_is_host_label(name)) {
        return err_set(err, ERR_USAGE,
                       "flag -namespaces: `%.*s`: expected namespaces like default,kube-system",
                       (int)name.len, name.ptr);
    }
    if (slice_is_among(name, (const char *const *)o->namespaces, o->namespace_count)) {
        return 0;
    }
    if (o->namespace_count == NAMESPACES_MAX) {
        return err_set(err, ERR_USAGE, "flag -namespaces: expected at most %d", NAMESPACES_MAX);
    }
    o->namespaces[o->namespace_count++] = lower_copy(name);
    return 0;
}

static int kube2sky_options_take_namespaces(const struct raw *raw, struct options *o,
                                            struct err *err)
{
    const char *text = raw->namespaces;
    int r = 0;
    o->namespaces = xcalloc(NAMESPACES_MAX + 1, sizeof(*o->namespaces));
    while (r == 0 && *text) {
        size_t len = strcspn(text, ",");
        r = add_namespace(o, slice_of(text, len), err);
        text += len;
        if (*text == ',' && *++text == '\0') {
            r = add_namespace(o, slice_of(text, 0), err); /* fails on the empty name after a
                                                           * trailing comma */
        }
    }
    return r;
}

/* Returns whether it is a name of the API's. */
static bool is_object_name(struct slice name)
{
    return name.len <= OBJECT_NAME_MAX && dname_is_host(name) && !slice_has_capitals(name);
}

static int kube2sky_options_take_config_map(const struct raw *raw, struct options *o,
                                            struct err *err)
{
    const char *slash = strchr(raw->config_map, '/');
    struct slice ns = slash ? slice_of(raw->config_map, (size_t)(slash - raw->config_map))
                            : slice_str(raw->config_map_namespace);
    const char *name = slash ? slash + 1 : raw->config_map;
    if (!dname_is_host_label(ns) && !slash) {
        return err_set(err, ERR_USAGE,
                       "flag -config-map-namespace: `%s`: expected a namespace like kube-system",
                       raw->config_map_namespace);
    }
    if (*raw->config_map && (!dname_is_host_label(ns) || !is_object_name(slice_str(name)))) {
        return err_set(err, ERR_USAGE,
                       "flag -config-map: `%s`: expected a ConfigMap like kube-dns or "
                       "kube-system/kube-dns",
                       raw->config_map);
    }
    o->config_map_namespace = lower_copy(ns);
    o->config_map = *name ? lower_copy(slice_str(name)) : NULL;
    return 0;
}

static int take_external_zone(const struct raw *raw, struct options *o, struct err *err)
{
    const char *text = raw->external_zone;
    struct err reason;
    if (!*text && (o->has_external_headless || o->is_external_public)) {
        return err_set(err, ERR_USAGE, "flag -external-zone-%s: expected -external-zone with it",
                       o->has_external_headless ? "headless" : "public");
    }
    int r = *text ? override_zones_parse_external(text, o->domain, o->import_domain,
                                                  &o->external_zone, &reason)
                  : 0;
    return r < 0 ? err_set(err, ERR_USAGE, "flag -external-zone: %s", reason.msg) : 0;
}

static int take_override_zones(const struct raw *raw, struct options *o, struct err *err)
{
    struct err reason;
    if (!*raw->override_zones) {
        return 0;
    }
    int r = override_zones_parse(raw->override_zones, o->domain, &o->override_zones, &reason);
    if (r == 0 && o->import_domain) {
        r = override_zones_reserve(o->override_zones, o->import_domain, "-multicluster-domain",
                                   &reason);
    }
    if (r == 0 && o->external_zone) {
        r = override_zones_reserve(o->override_zones, o->external_zone, "-external-zone", &reason);
    }
    return r < 0 ? err_set(err, ERR_USAGE, "flag -override-zones: %s", reason.msg) : 0;
}

/* Takes --ingress and --gateway. Both require --override-zones: otherwise no name could be written.
 */
static int take_route_rules(const struct raw *raw, struct options *o, struct err *err)
{
    const char *const *namespaces = (const char *const *)o->namespaces;
    const char *flag = raw->ingress.count ? "ingress" : "gateway";
    struct err reason = {.code = 0};
    int r = 0;
    if (!(raw->ingress.count + raw->gateway.count)) {
        return 0;
    }
    if (!o->override_zones) {
        return err_set(err, ERR_USAGE, "flag -%s: expected -override-zones with it", flag);
    }
    o->route_rules = xcalloc(1, sizeof(*o->route_rules));
    for (size_t i = 0; r == 0 && i < raw->ingress.count; i++) {
        r = route_rules_add_class(o->route_rules, raw->ingress.items[i], namespaces,
                                  o->namespace_count, &reason);
    }
    flag = r < 0 ? "ingress" : "gateway";
    for (size_t i = 0; r == 0 && i < raw->gateway.count; i++) {
        r = route_rules_add_gateway(o->route_rules, raw->gateway.items[i], namespaces,
                                    o->namespace_count, &reason);
    }
    return r < 0 ? err_set(err, ERR_USAGE, "flag -%s: %s", flag, reason.msg) : 0;
}

static int check_selector(const char *flag, const char *text, struct err *err)
{
    struct err reason;
    if (strlen(text) > KUBE_SELECTOR_MAX) {
        return err_set(err, ERR_USAGE, "flag -%s: expected at most %d bytes", flag,
                       KUBE_SELECTOR_MAX);
    }
    if (label_selector_check(slice_str(text), &reason) < 0) {
        return err_set(err, ERR_USAGE, "flag -%s: `%.200s`: %s", flag, text, reason.msg);
    }
    return 0;
}

static int check_selectors(const struct raw *raw, struct options *o, struct err *err)
{
    if (*o->namespace_labels && *raw->namespaces) {
        return err_set(err, ERR_USAGE,
                       "flag -namespace-labels: `%.200s`: expected no -namespaces with it",
                       o->namespace_labels);
    }
    int r = check_selector("label-selector", o->label_selector, err);
    return r < 0 ? r : check_selector("namespace-labels", o->namespace_labels, err);
}

static int kube2sky_options_check_explain(const struct raw *raw, struct options *o, struct err *err)
{
    char id[EXPLAIN_ID_MAX + 1];
    if (raw->has_explain && !explain_parse(o->explain, id)) {
        return err_set(err, ERR_USAGE, "flag -explain: `%.200s`: " EXPLAIN_EXPECTED, o->explain);
    }
    return 0;
}

static int take_healthz(const struct raw *raw, struct options *o, struct err *err)
{
    const char *text = raw->healthz_address;
    struct ip ip = {.family_bytes = 16}; /* :: */
    if (*text && !ip_parse(slice_str(text), &ip)) {
        return err_set(err, ERR_USAGE,
                       "flag -healthz-address: `%s`: expected an IP address like 127.0.0.1", text);
    }
    o->healthz = addr_of_ip(&ip, (uint16_t)raw->healthz_port);
    return 0;
}

static int check_http_hosts(const struct raw *raw UNUSED, struct options *o, struct err *err)
{
    struct err reason;
    int r = http_hosts_check(o->http_hosts, &reason);
    return r < 0 ? err_set(err, r, "flag -http-hosts: %s", reason.msg) : 0;
}

static int kube2sky_options_check_top(const struct raw *raw UNUSED, struct options *o,
                                      struct err *err)
{
    if (o->wants_top && (o->is_dry_run || o->healthcheck)) {
        return err_set(err, ERR_USAGE, "flag -top: expected no -%s with it",
                       o->is_dry_run ? "dry-run" : "healthcheck");
    }
    return 0;
}

static void take_log_flags(const struct raw *raw, struct options *o)
{
    bool is_debugging = raw->is_verbose || raw->verbosity >= DEBUG_VERBOSITY;
    if (is_debugging && !raw->has_log_level) {
        o->log_level = LOG_LEVEL_DEBUG;
    }
    if (!raw->wants_stderr) {
        o->without_effect.items[o->without_effect.count++] = "logtostderr";
    }
}

int kube2sky_options_parse(int argc, char *const *argv, struct options *ret_options,
                           struct err *err)
{
    struct raw raw = {.domain = "cluster.local",
                      .import_domain = "clusterset.local",
                      .namespaces = "",
                      .config_map = "",
                      .config_map_namespace = "kube-system",
                      .external_zone = "",
                      .override_zones = "",
                      .leader_lease_ms = 10000,
                      .wants_stderr = true,
                      .healthz_address = "",
                      .healthz_port = 8081};
    struct options o = {
        .etcd_server = ETCD_DEFAULT_ENDPOINTS,
        .etcd_cafile = "",
        .etcd_certfile = "",
        .etcd_keyfile = "",
        .etcd_username = "",
        .etcd_password_file = "",
        .kubecfg_file = "",
        .kube_master_url = "",
        .label_selector = "",
        .namespace_labels = "",
        .http_hosts = "",
        .explain = "",
        .wants_reverse = true,
        .etcd_mutation_timeout_ms = 10000,
        .ttl_s = RECORD_TTL_S,
        .etcd_max_txn_ops = ETCD_TXN_OPS_MAX,
        .etcd_space_mib = 512,
        .max_owner_keys = DESIRED_MAX,
        .log_level = LOG_LEVEL_INFO,
    };
    /* In this order: later ones use what earlier ones took. */
    static int (*const steps[])(const struct raw *raw, struct options *o, struct err *err) = {
        kube2sky_options_check_credentials,
        check_selectors,
        kube2sky_options_check_explain,
        take_healthz,
        check_http_hosts,
        kube2sky_options_check_top,
        kube2sky_options_take_namespaces,
        kube2sky_options_take_config_map,
        take_domain,
        take_import_domain,
        take_external_zone,
        take_override_zones,
        take_route_rules,
    };
    int r = kube2sky_options_parse_flags(argc, argv, &o, &raw, err);
    for (size_t i = 0; r == 0 && i < ARRAY_LEN(steps); i++) {
        r = steps[i](&raw, &o, err);
    }
    if (r != 0) {
        options_fini(&o);
        return r;
    }
    o.wants_pods = raw.pods == PODS_VERIFIED;
    o.leader_lease_s = raw.is_elected ? (raw.leader_lease_ms + 999) / 1000 : 0;
    o.endpoints_mode = (enum endpoints_mode)raw.endpoints_mode;
    o.endpoint_names = (enum endpoint_names)raw.endpoint_names;
    take_log_flags(&raw, &o);
    *ret_options = o;
    return 0;
}

void options_fini(struct options *options)
{
    for (size_t i = 0; i < options->namespace_count; i++) {
        free(options->namespaces[i]);
    }
    free(options->namespaces);
    free(options->domain);
    free(options->external_zone);
    free(options->import_domain);
    override_zones_free(options->override_zones);
    free(options->route_rules);
    free(options->config_map);
    free(options->config_map_namespace);
    *options = (struct options){.domain = NULL};
}
