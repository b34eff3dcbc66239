#include "skydns/settings/options.h"

#include <stdio.h>
#include <string.h>

#include "common/base/flags.h"
#include "common/base/log.h"
#include "common/etcd/etcd_defaults.h"
#include "skydns/confine/cpu_limit.h"
#include "skydns/settings/option_values.h"
#include "skydns/settings/stub_zones.h"

/* The payload that every resolver must accept (RFC 1035 4.2.1), and the largest that RFC 6891 6.2.5
 * suggests offering. */
enum { UDP_SIZE_MIN = 512, UDP_SIZE_MAX = 4096 };

/* Plenty for a writer to start and rewrite everything. */
enum { STALE_MAX_MS_DEFAULT = 5 * 60 * 1000 };

/* More labels than a name can have, so that "forward nothing" can be expressed. */
enum { NDOTS_MAX = DNAME_LABELS_MAX + 1 };

/* More than a day is certainly a mistake. */
enum { ETCD_TIMEOUT_MAX_MS = 24 * 60 * 60 * 1000 };

/* No pod gets longer to terminate; a larger value was probably meant as milliseconds. */
enum { LAMEDUCK_MAX_MS = 60 * 60 * 1000 };

/* A TTL has 31 bits: RFC 2181 section 8. */
static const int64_t rcache_ttl_max_ms = (int64_t)INT32_MAX * 1000;
static const int64_t rcache_stale_max_ms = (int64_t)OPTIONS_RCACHE_STALE_MAX_S * 1000;

/* More often would only wear the disk. */
enum { SNAPSHOT_INTERVAL_MIN_MS = 100 };
static const int64_t snapshot_interval_max_ms = (int64_t)OPTIONS_SNAPSHOT_INTERVAL_MAX_S * 1000;

/* The flags as typed; texts are validated afterwards. */
struct raw {
    const char *machines, *address, *domain, *hostmaster, *local, *path_prefix, *nameservers,
        *http_address, *reverse_zones, *dnssec, *allow_recursion, *user;
    const char *search, *public_names, *allow, *rate, *transfer_to, *query_log, *dnstap;
    int64_t ndots, rtimeout_ms, etcd_timeout_ms, workers, max_udp_size, rcache, rcache_ttl_ms,
        scache;
    struct flag_strings stubs;
    int schema, pods, any, visibility, unknown;
    struct flag_strings arguments;
    char any_address[ADDR_TEXT_MAX]; /* of -http-addr=:port */
};

static int64_t default_workers(void)
{
    unsigned limit = cpu_limit();
    return limit > OPTIONS_WORKERS_DEFAULT ? OPTIONS_WORKERS_DEFAULT : limit;
}

/* UDP keeps half of the CPUs, however many clients want TLS. */
static unsigned default_handshake_threads(void)
{
    unsigned half = (cpu_limit() + 1) / 2;
    return half > OPTIONS_HANDSHAKE_THREADS_MAX ? OPTIONS_HANDSHAKE_THREADS_MAX : half;
}

/* Likewise; more than four would be idle: four make 100,000 signatures a second, with RSA 4,000.
 * They are always there, since a document may set -dnssec later; asleep, one costs its engine. */
static unsigned default_signers(void)
{
    unsigned half = (cpu_limit() + 1) / 2;
    return half > OPTIONS_SIGNERS_MAX ? OPTIONS_SIGNERS_MAX : half;
}

static int parse_flags(int argc, char *const *argv, struct options *o, struct raw *raw,
                       struct err *err)
{
    const struct flag table[] = {
        {"machines", FLAG_STRING, &raw->machines, .env = "ETCD_MACHINES",
         .help = "comma-separated URLs of etcd"},
        {"ca-cert", FLAG_STRING, &o->ca_cert, .env = "ETCD_CACERT",
         .help = "PEM file of the CAs that sign etcd's certificates; default: the system's"},
        {"tls-pem", FLAG_STRING, &o->tls_pem, .env = "ETCD_TLSPEM",
         .help = "PEM file of the client certificate to show to etcd"},
        {"tls-key", FLAG_STRING, &o->tls_key, .env = "ETCD_TLSKEY", .help = "PEM file of its key"},
        {"username", FLAG_STRING, &o->username, .env = "ETCD_USERNAME",
         .help = "user name for an etcd with authentication"},
        {"password", FLAG_STRING, &o->password, .env = "ETCD_PASSWORD",
         .help = "its password; visible to others on the command line"},
        {"password-file", FLAG_STRING, &o->password_file,
         .help = "file with its password, reread when etcd refuses the old one"},
        {"addr", FLAG_STRING, &raw->address, .env = "SKYDNS_ADDR",
         .help = "comma-separated IP:port to answer on, UDP and TCP; and URLs to answer on over "
                 "TLS and HTTP: tls://IP[:port], https://IP[:port], http://IP:port, "
                 "grpc://IP[:port]"},
        {"cert", FLAG_STRING, &o->cert,
         .help = "PEM file of the certificate, with its chain, to show to clients over TLS; "
                 "followed, as are the next three"},
        {"key", FLAG_STRING, &o->key, .help = "PEM file of its key"},
        {"client-ca", FLAG_STRING, &o->client_ca,
         .help = "PEM file of the CAs whose certificates clients have to show; default: none"},
        {"tls-ticket-keys", FLAG_STRING, &o->ticket_keys,
         .help = "file of keys for resuming TLS sessions, one a line, 160 hex digits; the first "
                 "makes tickets; default: one of this process alone"},
        {"systemd", FLAG_BOOL, &o->systemd, .env = "SKYDNS_SYSTEMD",
         .help = "answer on the sockets that systemd passes instead"},
        {"domain", FLAG_STRING, &raw->domain, .env = "SKYDNS_DOMAIN",
         .help = "comma-separated domains whose names are in etcd"},
        {"path-prefix", FLAG_STRING, &raw->path_prefix, .env = "SKYDNS_PATH_PREFIX",
         .help = "first component of the keys in etcd"},
        {"stale-max", FLAG_DURATION_MS, &o->stale_max_ms,
         .help = "how long to keep answering with records that etcd has lost; 0: no limit"},
        {"require-store-key", FLAG_BOOL, &o->require_store_key,
         .help = "not ready, and names that etcd lacks are SERVFAIL, until kube2sky has marked the "
                 "store complete"},
        {"hostmaster", FLAG_STRING, &raw->hostmaster,
         .help = "mail address in the SOA record; empty: hostmaster@<domain>"},
        {"local", FLAG_STRING, &raw->local,
         .help = "name that local.dns.<domain> stands for; none: off"},
        {"nameservers", FLAG_STRING, &raw->nameservers, .env = "SKYDNS_NAMESERVERS",
         .help = "comma-separated IP[:port], or tls://IP[:port][#name], of nameservers for other "
                 "names; none: those of /etc/resolv.conf"},
        {"nameservers-ca", FLAG_STRING, &o->nameservers_ca,
         .help =
             "PEM file of the CAs that sign the certificates of nameservers with TLS; followed; "
             "default: the system's"},
        {"config", FLAG_STRING, &o->config_file,
         .help = "file with the document of /<prefix>/config, which overrides it; followed"},
        {"hosts", FLAG_STRING_LIST, &o->hosts,
         .help = "file of addresses and names as hosts(5), for names outside the domains; may "
                 "repeat; followed"},
        {"stub", FLAG_STRING_LIST, &raw->stubs,
         .help =
             "ZONE=SERVER,...: nameservers, as -nameservers has them, for the names of a zone, or "
             "none: SERVFAIL; may repeat"},
        {"ns-rotate", FLAG_BOOL, &o->ns_rotate,
         .help = "start with another nameserver for each query; false: always with the first"},
        {"mix-case", FLAG_BOOL, &o->random_case,
         .help =
             "randomize the case of names sent to nameservers, which replies must repeat (0x20)"},
        {"allow-recursion", FLAG_STRING, &raw->allow_recursion,
         .help = "comma-separated networks of clients whose queries for other names are forwarded, "
                 "all or none; default: private networks and those of the host's interfaces"},
        {"no-rec", FLAG_BOOL, &o->no_rec, .help = "never forward: SERVFAIL for other names"},
        {"ndots", FLAG_INT, &raw->ndots, .env = "SKYDNS_NDOTS", .min = 0, .max = NDOTS_MAX,
         .help = "names with fewer labels are not forwarded"},
        {"rtimeout", FLAG_DURATION_MS, &raw->rtimeout_ms, .min = 1, .max = 60000,
         .help = "how long to wait for one nameserver; twice that for all of them"},
        {"round-robin", FLAG_BOOL, &o->round_robin, .help = "shuffle the addresses of an answer"},
        {"schema", FLAG_CHOICE, &raw->schema, .choices = ENGINE_SCHEMA_CHOICES,
         .help = "skydns: a name stands for all records below it, and * matches any label; "
                 "kubernetes: as in the Kubernetes DNS specification 1.1.0"},
        {"pods", FLAG_CHOICE, &raw->pods, .choices = ENGINE_PODS_CHOICES,
         .help = "pod names exist if etcd has them (verified), if they spell an address "
                 "(insecure), or never (disabled)"},
        {"reverse-zones", FLAG_STRING, &raw->reverse_zones,
         .help = "comma-separated networks like 10.96.0.0/12 whose reverse names are never "
                 "forwarded"},
        {"chaos", FLAG_BOOL, &o->chaos,
         .help = "answer version.bind and the like in class CHAOS; false: refuse"},
        {"any", FLAG_CHOICE, &raw->any, .choices = "refused|hinfo",
         .help = "refuse ANY, or answer it with one record (hinfo, RFC 8482)"},
        {"max-udp-size", FLAG_INT, &raw->max_udp_size, .min = UDP_SIZE_MIN, .max = UDP_SIZE_MAX,
         .help = "largest UDP reply, whatever the client offers"},
        {"workers", FLAG_INT, &raw->workers, .min = 1, .max = OPTIONS_WORKERS_MAX,
         .help = "threads that answer UDP"},
        {"http-addr", FLAG_STRING, &raw->http_address,
         .help = "IP:port to serve /healthz, /readiness, /metrics, /cache, /search, /explain on; "
                 "none: off"},
        {"etcd-timeout", FLAG_DURATION_MS, &raw->etcd_timeout_ms, .min = 1,
         .max = ETCD_TIMEOUT_MAX_MS,
         .help = "log an error and fail /readiness?strict when etcd is away for longer"},
        {"lameduck", FLAG_DURATION_MS, &o->lameduck_ms, .max = LAMEDUCK_MAX_MS,
         .help = "after SIGTERM, keep answering for this long with /readiness 503"},
        {"user", FLAG_STRING, &raw->user,
         .help = "USER or USER:GROUP to become once the sockets are open; default: stay"},
        {"dnssec", FLAG_STRING, &raw->dnssec,
         .help = "comma-separated names of key files, without .key and .private, as dnssec-keygen "
                 "writes them: sign answers with these; followed; default: none"},
        {"scache", FLAG_INT, &raw->scache, .min = 0, .max = DNSSEC_SIGNATURES_MAX,
         .help = "signatures to keep; 0: as many as by default"},
        {"print-ds", FLAG_BOOL, &o->print_ds,
         .help = "print the DS records of the keys, for the parent zones, and exit"},
        {"stubzones", FLAG_BOOL, &o->stubzones,
         .help = "also the stub zones that keys below dns/stub of a domain name"},
        {"rcache", FLAG_INT, &raw->rcache, .min = 0, .max = CACHE_ENTRIES_MAX,
         .help = "replies of nameservers to keep; 0: none"},
        {"rcache-ttl", FLAG_DURATION_MS, &raw->rcache_ttl_ms, .min = 1000, .max = rcache_ttl_max_ms,
         .help = "keep no reply for longer; a number alone is seconds"},
        {"rcache-stale", FLAG_DURATION_MS, &o->rcache_stale_ms, .max = rcache_stale_max_ms,
         .help =
             "how long an expired reply may still be used when no nameserver answers; 0: never"},
        {"snapshot", FLAG_STRING, &o->snapshot,
         .help = "file that keeps what was read from etcd, to answer at once after a restart; "
                 "default: none"},
        {"snapshot-interval", FLAG_DURATION_MS, &o->snapshot_interval_ms,
         .min = SNAPSHOT_INTERVAL_MIN_MS, .max = snapshot_interval_max_ms,
         .help = "write it at most this often"},
        {"snapshot-max", FLAG_DURATION_MS, &o->snapshot_max_ms,
         .help = "use none that is older; 0: of any age"},
        {"autopath", FLAG_BOOL, &o->clients.autopath,
         .help = "walk the search path of a client's pod here, so that one query does"},
        {"search", FLAG_STRING, &raw->search,
         .help = "comma-separated domains to search after those of the pod's cluster"},
        {"visibility", FLAG_CHOICE, &raw->visibility, .choices = VISIBILITY_CHOICES,
         .help =
             "whose names a client sees: all, or those of its pod's own namespace and of public "
             "ones"},
        {"public-namespaces", FLAG_STRING, &raw->public_names,
         .help = "comma-separated namespaces that everybody sees"},
        {"visibility-unknown", FLAG_CHOICE, &raw->unknown, .choices = VISIBILITY_UNKNOWN_CHOICES,
         .help = "what clients see whose namespace is not known: all, or public namespaces"},
        {"allow", FLAG_STRING, &raw->allow,
         .help = "comma-separated networks of clients that may ask at all, all or none"},
        {"rate", FLAG_STRING, &raw->rate,
         .help = "N[/BURST]: UDP queries a second of one client, and at once; 0: no limit"},
        {"cookie-secret", FLAG_STRING, &o->cookie_secret,
         .help =
             "file of secrets for DNS cookies, one a line, 32 hex digits; the first makes them; "
             "followed; default: one of this process alone"},
        {"tsig-keys", FLAG_STRING, &o->tsig_keys,
         .help =
             "file of keys by which queries and replies are signed (TSIG), as tsig-keygen prints "
             "them; followed"},
        {"transfer-to", FLAG_STRING, &raw->transfer_to,
         .help =
             "comma-separated networks, addresses (with a port: where NOTIFY goes) and key:NAME "
             "of those who may transfer zones; default: nobody"},
        {"discover", FLAG_IGNORED_BOOL, &o->ignored, .help = "accepted and ignored"},
        {"explain", FLAG_STRING, &o->explain,
         .help = "ask the skydns running at -http-addr why it answers NAME [TYPE] as it does"},
        {"client", FLAG_STRING, &o->explain_client,
         .help = "with -explain: as for the client with this address"},
        {"top", FLAG_BOOL, &o->top,
         .help = "show the figures of the skydns running at -http-addr in this terminal; q ends"},
        {"etcd3", FLAG_IGNORED_BOOL, .help = "accepted; the v3 API is always used"},
        {"verbose", FLAG_BOOL, &o->verbose, .help = "as -query-log=all"},
        {"query-log", FLAG_STRING, &raw->query_log,
         .help = "off|all|errors|denials|1/N: which queries get a line in the log"},
        {"dnstap", FLAG_STRING, &raw->dnstap,
         .help = "unix:PATH or tcp://IP:port of a sink for dnstap messages of queries and replies; "
                 "default: none"},
        {"log-level", FLAG_CHOICE, &o->log_level, .choices = LOG_LEVEL_CHOICES,
         .help = LOG_LEVEL_HELP},
        {"log-format", FLAG_CHOICE, &o->log_format, .choices = LOG_FORMAT_CHOICES,
         .help = "log lines of text, or JSON objects"},
        {"healthcheck", FLAG_STRING, &o->healthcheck,
         .help = "ask a running one at udp://IP:PORT or http://IP:PORT/PATH whether it is healthy; "
                 "exit status 0 if it is"},
        {"translate-corefile", FLAG_STRING, &o->corefile,
         .help = "print the flags that say what CoreDNS's configuration FILE says, and what of it "
                 "has no counterpart, and exit"},
        {"version", FLAG_BOOL, &o->version, .help = "print the version and exit"},
    };
    const struct flags flags = {
        .program = "skydns",
        .summary = "answers DNS queries from the records in etcd",
        .table = table,
        .count = ARRAY_LEN(table),
        .arguments = &raw->arguments,
    };
    int r = flags_parse(&flags, argc, argv, err);
    if (r == FLAGS_HELP) {
        flags_print_help(&flags);
    }
    return r;
}

static int check_path_prefix(struct options *o, const char *text, struct err *err)
{
    if (*text == '\0' || strchr(text, '/')) {
        return err_set(err, ERR_USAGE,
                       "flag -path-prefix: `%s`: expected one path component, without slashes",
                       text);
    }
    o->path_prefix = text;
    return 0;
}

static int check_snapshot(const struct options *o, struct err *err)
{
    size_t len = strlen(o->snapshot);
    if (len > 0 && o->snapshot[len - 1] == '/') {
        return err_set(err, ERR_USAGE, "flag -snapshot: `%s`: expected a file, not a folder",
                       o->snapshot);
    }
    return 0;
}

/* The only argument is the type after -explain NAME. */
static int check_explain(struct options *o, const struct raw *raw, struct err *err)
{
    size_t allowed = *o->explain ? 1 : 0;
    if (raw->arguments.count > allowed) {
        return err_set(err, ERR_USAGE, "unexpected argument `%s`: expected a flag like -machines",
                       raw->arguments.items[allowed]);
    }
    o->explain_type = raw->arguments.count ? raw->arguments.items[0] : "";
    if (*o->explain && !*raw->http_address) {
        return err_set(err, ERR_USAGE,
                       "flag -explain: expected -http-addr with it, to name the skydns to ask");
    }
    if (*o->explain_client && !*o->explain) {
        return err_set(err, ERR_USAGE, "flag -client: `%s`: expected -explain with it",
                       o->explain_client);
    }
    struct ip ip;
    if (*o->explain_client && !ip_parse(slice_str(o->explain_client), &ip)) {
        return err_set(err, ERR_USAGE, "flag -client: `%s`: expected an address like 10.1.0.7",
                       o->explain_client);
    }
    return 0;
}

static int check_credentials(const struct options *o, struct err *err)
{
    if (*o->password_file && !*o->username) {
        return err_set(err, ERR_USAGE, "flag -password-file: expected -username with it");
    }
    if (*o->username && !*o->password && !*o->password_file) {
        return err_set(err, ERR_USAGE,
                       "flag -username: `%s`: expected -password-file or -password with it",
                       o->username);
    }
    if (!*o->tls_pem != !*o->tls_key) {
        return err_set(err, ERR_USAGE, "flag -tls-%s: expected -tls-%s with it",
                       *o->tls_pem ? "pem" : "key", *o->tls_pem ? "key" : "pem");
    }
    return 0;
}

/* Prefixes the flag to the error of its value. */
static int name_flag(int status, const char *flag, struct err *err)
{
    return status == 0 ? 0 : err_wrap(err, status, "flag -%s", flag);
}

static int check_names(struct options *o, const struct raw *raw, struct err *err)
{
    int r = name_flag(option_domains(o, raw->domain, err), "domain", err);
    if (r == 0) {
        r = name_flag(option_hostmaster(o, raw->hostmaster, err), "hostmaster", err);
    }
    if (r == 0) {
        r = name_flag(option_local(o, raw->local, err), "local", err);
    }
    if (r == 0) {
        r = check_path_prefix(o, raw->path_prefix, err);
    }
    return r;
}

static int check_addresses(struct options *o, const struct raw *raw, struct err *err)
{
    int r = option_check_certificate(o, err);
    if (r == 0) {
        r = name_flag(option_addresses(o, raw->address, err), "addr", err);
    }
    if (r == 0) {
        r = name_flag(option_nameservers(o, raw->nameservers, err), "nameservers", err);
    }
    for (size_t i = 0; r == 0 && i < raw->stubs.count; i++) {
        r = name_flag(option_stub(o, raw->stubs.items[i], err), "stub", err);
    }
    if (r == 0) {
        r = name_flag(option_check_stubs(o, err), "stub", err);
    }
    if (r == 0) {
        r = name_flag(option_reverse_zones(o, raw->reverse_zones, err), "reverse-zones", err);
    }
    if (r == 0) {
        r = name_flag(recursion_init(&o->recursion, raw->allow_recursion, err), "allow-recursion",
                      err);
    }
    if (r == 0 && *raw->http_address) {
        r = name_flag(option_address(&o->http_address, raw->http_address, err), "http-addr", err);
        o->has_http = true;
    }
    return r;
}

static int check_clients(struct client_options *o, const struct raw *raw, struct err *err)
{
    int r = name_flag(client_option_search(o, raw->search, err), "search", err);
    if (r == 0) {
        r = name_flag(client_option_public(o, raw->public_names, err), "public-namespaces", err);
    }
    if (r == 0) {
        r = name_flag(client_option_allow(o, raw->allow, err), "allow", err);
    }
    if (r == 0) {
        r = name_flag(client_option_rate(o, raw->rate, err), "rate", err);
    }
    o->is_own = raw->visibility == 1;
    o->unknown = (enum visibility_unknown)raw->unknown;
    return r;
}

/* ":8080" is every address of this machine. */
static int check_top(const struct options *o, struct raw *raw, struct err *err)
{
    if (!o->top) {
        return 0;
    }
    if (*o->explain || o->print_ds || *o->healthcheck || *o->corefile) {
        return err_set(err, ERR_USAGE, "flag -top: expected no -%s with it",
                       *o->explain       ? "explain"
                       : o->print_ds     ? "print-ds"
                       : *o->healthcheck ? "healthcheck"
                                         : "translate-corefile");
    }
    if (!*raw->http_address) {
        return err_set(err, ERR_USAGE,
                       "flag -top: expected -http-addr with it, to name the skydns to show");
    }
    if (raw->http_address[0] == ':') {
        (void)snprintf(raw->any_address, sizeof(raw->any_address), "0.0.0.0%s", raw->http_address);
        raw->http_address = raw->any_address;
    }
    return 0;
}

static int check_dnssec(struct options *o, const struct raw *raw, struct err *err)
{
    int r = name_flag(option_dnssec(o, raw->dnssec, err), "dnssec", err);
    o->scache = raw->scache ? (uint32_t)raw->scache : OPTIONS_SCACHE_DEFAULT;
    return r;
}

static int check(struct options *o, struct raw *raw, struct err *err)
{
    int r = check_explain(o, raw, err);
    if (r == 0) {
        r = check_top(o, raw, err);
    }
    if (r == 0) {
        r = check_credentials(o, err);
    }
    if (r == 0) {
        r = check_dnssec(o, raw, err);
    }
    if (r == 0) {
        r = check_snapshot(o, err);
    }
    if (r == 0) {
        r = check_names(o, raw, err);
    }
    if (r == 0) {
        r = check_addresses(o, raw, err);
    }
    if (r == 0) {
        r = check_clients(&o->clients, raw, err);
    }
    if (r == 0) {
        r = name_flag(option_transfer_to(o, raw->transfer_to, err), "transfer-to", err);
    }
    if (r == 0) {
        const char *text = !*raw->query_log && o->verbose ? "all" : raw->query_log;
        r = name_flag(option_query_log(o, text, err), "query-log", err);
    }
    if (r == 0) {
        r = name_flag(dnstap_target_parse(raw->dnstap, &o->dnstap, err), "dnstap", err);
    }
    if (r == 0 && *raw->user) {
        r = name_flag(privileges_find_user(raw->user, &o->user, err), "user", err);
    }
    option_variables(o);
    o->schema = (enum engine_schema)raw->schema;
    o->pods = (enum engine_pods)raw->pods;
    if (r == 0) {
        r = name_flag(option_check_transfers(o, err), "transfer-to", err);
    }
    o->any_is_hinfo = raw->any == 1;
    o->machines = raw->machines;
    o->ndots = (unsigned)raw->ndots;
    o->rtimeout_ms = (uint32_t)raw->rtimeout_ms;
    o->etcd_timeout_ms = raw->etcd_timeout_ms;
    o->workers = (unsigned)raw->workers;
    o->max_udp_size = (uint16_t)raw->max_udp_size;
    o->rcache = (uint32_t)raw->rcache;
    o->rcache_ttl_s = (uint32_t)(raw->rcache_ttl_ms / 1000);
    return r;
}

int options_parse(int argc, char *const *argv, struct options *ret_options, struct err *err)
{
    struct options o = {
        .ca_cert = "",
        .tls_pem = "",
        .tls_key = "",
        .handshake_threads = default_handshake_threads(),
        .signers = default_signers(),
        .cert = "",
        .key = "",
        .client_ca = "",
        .nameservers_ca = "",
        .ticket_keys = "",
        .username = "",
        .password = "",
        .password_file = "",
        .explain = "",
        .explain_client = "",
        .cookie_secret = "",
        .tsig_keys = "",
        .corefile = "",
        .config_file = "",
        .snapshot = "",
        .healthcheck = "",
        .ns_rotate = true,
        .round_robin = true,
        .chaos = true,
        .log_level = LOG_LEVEL_INFO,
        .ttl_s = 3600,
        .min_ttl_s = 60,
        .priority = 10,
        .stale_max_ms = STALE_MAX_MS_DEFAULT,
        .rcache_stale_ms = (int64_t)OPTIONS_RCACHE_STALE_S * 1000,
        .snapshot_interval_ms = (int64_t)OPTIONS_SNAPSHOT_INTERVAL_S * 1000,
        .snapshot_max_ms = (int64_t)OPTIONS_SNAPSHOT_MAX_S * 1000,
    };
    struct raw raw = {
        .machines = ETCD_DEFAULT_ENDPOINTS,
        .address = "127.0.0.1:53",
        .domain = "skydns.local.",
        .hostmaster = "hostmaster@skydns.local.",
        .local = "",
        .path_prefix = "skydns",
        .nameservers = "",
        .http_address = "",
        .reverse_zones = "",
        .allow_recursion = "",
        .dnssec = "",
        .user = "",
        .search = "",
        .public_names = CLIENT_PUBLIC_DEFAULT,
        .allow = "",
        .rate = "",
        .transfer_to = "",
        .query_log = "",
        .dnstap = "",
        .unknown = VISIBILITY_UNKNOWN_PUBLIC,
        .ndots = 2,
        .rtimeout_ms = 2000,
        .etcd_timeout_ms = 10000,
        .workers = default_workers(),
        .max_udp_size = 1232,
        .rcache = OPTIONS_RCACHE_DEFAULT,
        .rcache_ttl_ms = (int64_t)OPTIONS_RCACHE_TTL_S * 1000,
        .scache = OPTIONS_SCACHE_DEFAULT,
    };
    int r = parse_flags(argc, argv, &o, &raw, err);
    if (r == 0 && !o.version) {
        if (*raw.machines == '\0') {
            raw.machines = ETCD_DEFAULT_ENDPOINTS;
        }
        r = check(&o, &raw, err);
    }
    if (r == 0) {
        *ret_options = o;
    } else {
        stub_zones_unref(o.stubs);
    }
    return r;
}
