#include "skydns/settings/settings_table.h"

#include "common/base/attributes.h"
#include "common/base/log.h"
#include "common/etcd/etcd_defaults.h"
#include "skydns/clients/topology.h"
#include "skydns/confine/process_limits.h"
#include "skydns/settings/option_text.h"
#include "skydns/settings/option_values.h"

enum { MINUTE_MS = 60 * 1000, HOUR_MS = 60 * MINUTE_MS, DAY_MS = 24 * HOUR_MS };

/* Limits of the UDP payload: every resolver must accept the least (RFC 1035 4.2.1), and RFC 6891
 * 6.2.5 suggests offering no more than the largest. */
enum { HOSTS_MAX_MIB = 4096 };
enum { UDP_SIZE_MIN = 512, UDP_SIZE_MAX = 4096 };

/* Limits -ndots to more labels than a name can have, so that "forward nothing" can be expressed. */
enum { NDOTS_MAX = DNAME_LABELS_MAX + 1 };

/* Limits the TTL of denials: a name that appears is denied for as long. RFC 2308 5 suggests one to
 * three hours at most. A larger field of a document counts as this, since SkyDNS takes it. */
enum { MIN_TTL_MAX = 3600 };

/* Limits a TTL to 31 bits: RFC 2181 section 8. */
#define TTL_MAX_MS ((int64_t)INT32_MAX * 1000)

/* Limits the age of stale answers: data a month old is of no use, and RFC 8767 suggests one to
 * three days. */
#define RCACHE_STALE_MAX_MS ((int64_t)30 * DAY_MS)

/* Returns one worker for each CPU: UDP has no use for more. */
static int64_t default_workers(UNUSED const struct options *options)
{
    unsigned limit = cpu_limit();
    return limit > OPTIONS_WORKERS_DEFAULT ? OPTIONS_WORKERS_DEFAULT : limit;
}

/* Returns SkyDNS's default, or CoreDNS's: a search list goes through names that soon exist. */
static int64_t default_min_ttl(const struct options *options)
{
    return options->engine.schema == ENGINE_SCHEMA_KUBERNETES ? 5 : 60;
}

/* Limits the namespaces with metrics: each has six series, and Prometheus holds all of them. */
enum { NAMESPACE_METRICS_MAX = 4000 };

#define IN(member)                                 \
    .member_at = offsetof(struct options, member), \
    .member_bytes = sizeof(((struct options *)0)->member)

/* clang-format off */
static const struct setting rows[] = {
    {.flag = "machines", .env = "ETCD_MACHINES", .kind = SETTING_TEXT, IN(machines),
     .default_text = ETCD_DEFAULT_ENDPOINTS, .help = "comma-separated URLs of etcd"},
    {.flag = "ca-cert", .env = "ETCD_CACERT", .kind = SETTING_TEXT, IN(ca_cert), .is_file = true,
     .help = "PEM file of the CAs that sign etcd's certificates; default: the system's"},
    {.flag = "tls-pem", .env = "ETCD_TLSPEM", .kind = SETTING_TEXT, IN(tls_pem), .is_file = true,
     .help = "PEM file of the client certificate to show to etcd"},
    {.flag = "tls-key", .env = "ETCD_TLSKEY", .kind = SETTING_TEXT, IN(tls_key), .is_file = true,
     .help = "PEM file of its key"},
    {.flag = "username", .env = "ETCD_USERNAME", .kind = SETTING_TEXT, IN(username),
     .help = "user name for an etcd with authentication"},
    {.flag = "password", .env = "ETCD_PASSWORD", .kind = SETTING_TEXT, IN(password),
     .help = "its password; visible to others on the command line"},
    {.flag = "password-file", .kind = SETTING_TEXT, IN(password_file), .is_file = true,
     .help = "file with its password, reread when etcd refuses the old one"},
    {.flag = "addr", .field = "dns_addr", .env = "SKYDNS_ADDR", .kind = SETTING_PARSED,
     .parse = option_addresses, .show = option_text_addresses, .default_text = "127.0.0.1:53",
     .help = "comma-separated IP:port to answer on, UDP and TCP; and URLs to answer on over TLS "
             "and HTTP: tls://IP[:port], https://IP[:port], http://IP:port, grpc://IP[:port]"},
    {.flag = "cert", .kind = SETTING_TEXT, IN(cert), .is_file = true,
     .help = "PEM file of the certificate, with its chain, to show to clients over TLS; followed, "
             "as are the next three"},
    {.flag = "key", .kind = SETTING_TEXT, IN(key), .is_file = true, .help = "PEM file of its key"},
    {.flag = "client-ca", .kind = SETTING_TEXT, IN(client_ca), .is_file = true,
     .help = "PEM file of the CAs whose certificates clients have to show; default: none"},
    {.flag = "tls-ticket-keys", .kind = SETTING_TEXT, IN(ticket_keys), .is_file = true,
     .help = "file of keys for resuming TLS sessions, one a line, 160 hex digits; the first makes "
             "tickets; default: one of this process alone"},
    {.flag = "systemd", .field = "systemd", .env = "SKYDNS_SYSTEMD", .kind = SETTING_BOOL,
     IN(systemd), .help = "answer on the sockets that systemd passes instead"},
    {.flag = "freebind", .kind = SETTING_BOOL, IN(freebind),
     .help = "open addresses of -addr that no interface has yet (IP_FREEBIND)"},
    {.flag = "reuse-port", .kind = SETTING_BOOL, IN(reuse_port),
     .help = "take the addresses over from a running skydns with this flag, once there are "
             "answers; it then ends"},
    {.flag = "domain", .field = "domain", .env = "SKYDNS_DOMAIN", .kind = SETTING_PARSED,
     .list = OPTION_DOMAINS, .default_text = "skydns.local.",
     .taker = SETTING_LIVE, .help = "comma-separated domains whose names are in etcd"},
    {.flag = "external-zones", .field = "external_zones", .kind = SETTING_PARSED,
     .form = SETTING_FORM_LIST, .list = OPTION_EXTERNAL_ZONES,
     .taker = SETTING_LIVE,
     .help = "comma-separated zones beside the domains, whose names in etcd are "
             "<service>.<namespace>.ZONE"},
    {.flag = "path-prefix", .env = "SKYDNS_PATH_PREFIX", .kind = SETTING_PARSED,
     .parse = option_path_prefix, .default_text = "skydns",
     .help = "first component of the keys in etcd"},
    {.flag = "stale-max", .kind = SETTING_DURATION, .unit_ms = 1, IN(stale_max_ms),
     .default_number = 5 * MINUTE_MS, /* plenty for a writer to start and rewrite everything */
     .help = "how long to keep answering with records that etcd has lost; 0: no limit"},
    {.flag = "require-store-key", .field = "require_store_key", .kind = SETTING_BOOL,
     .taker = SETTING_LIVE, IN(require_store_key),
     .help = "not ready, and names that etcd lacks are SERVFAIL, until kube2sky has marked its "
             "data set complete"},
    {.flag = "hostmaster", .field = "hostmaster", .kind = SETTING_PARSED,
     .parse = option_hostmaster, .show = option_text_hostmaster, .keeps_zero = true,
     .default_text = "hostmaster@skydns.local.", .taker = SETTING_LIVE,
     .help = "mail address in the SOA record; empty: hostmaster@<domain>"},
    {.flag = "local", .field = "local", .kind = SETTING_PARSED, .parse = option_local,
     .show = option_text_local, .taker = SETTING_LIVE,
     .help = "name that local.dns.<domain> stands for; none: off"},
    {.flag = "nameservers", .field = "nameservers", .env = "SKYDNS_NAMESERVERS",
     .kind = SETTING_PARSED, .form = SETTING_FORM_NAMESERVERS, .list = OPTION_NAMESERVERS, .taker = SETTING_UPSTREAM,
     .help = "comma-separated IP[:port], tcp://IP[:port] or tls://IP[:port][#name] of upstreams for "
             "external names; none: those of /etc/resolv.conf"},
    {.flag = "nameservers-ca", .kind = SETTING_TEXT, IN(nameservers_tls.ca), .is_file = true,
     .help = "PEM file of the CAs that sign the certificates of upstreams with TLS; followed; "
             "default: the system's"},
    {.flag = "nameservers-cert", .kind = SETTING_TEXT, IN(nameservers_tls.cert), .is_file = true,
     .help = "PEM file of the certificate, with its chain, for upstreams with TLS that ask for one; "
             "followed"},
    {.flag = "nameservers-key", .kind = SETTING_TEXT, IN(nameservers_tls.key), .is_file = true,
     .help = "PEM file of its key"},
    {.flag = "config", .kind = SETTING_TEXT, IN(config_file), .is_file = true,
     .help = "file with the document of /<prefix>/config, which overrides it; followed"},
    {.flag = "hosts", .kind = SETTING_TEXTS, IN(hosts), .is_file = true,
     .help = "file of addresses and names as hosts(5), for names outside the domains; may repeat; "
             "followed"},
    {.flag = "hosts-max", .kind = SETTING_NUMBER, .min = 1, .max = HOSTS_MAX_MIB,
     .default_number = 96, IN(hosts_max_mib),
     .help = "MiB of memory for the names of -hosts; names without room are left out"},
    {.flag = "stub", .field = "stubs", .kind = SETTING_PARSED, .form = SETTING_FORM_ZONES,
     .repeats = true, .parse = option_stub, .show = option_text_stubs, .taker = SETTING_LIVE,
     .help = "ZONE=SERVER,...: upstreams, as -nameservers has them, for the names of a zone, or "
             "none: SERVFAIL; may repeat"},
    {.flag = "stub-fallback", .field = "stub_fallback", .kind = SETTING_PARSED,
     .form = SETTING_FORM_LIST, .list = OPTION_STUB_FALLBACKS, .taker = SETTING_LIVE,
     .help = "ZONE[=nodata],...: stub zones whose NXDOMAIN, or NODATA too, is queried again of the "
             "general upstreams"},
    {.flag = "ns-rotate", .field = "ns_rotate", .kind = SETTING_BOOL, .default_number = true,
     .taker = SETTING_UPSTREAM, IN(ns_rotate),
     .help = "start with another upstream for each query; false: always with the first"},
    {.flag = "mix-case", .kind = SETTING_BOOL, IN(random_case),
     .help = "randomize the case of names sent to upstreams, which responses must repeat (0x20)"},
    {.flag = "allow-recursion", .kind = SETTING_PARSED, .parse = option_allow_recursion,
     .help = "comma-separated networks of clients whose queries for external names are forwarded, "
             "all or none; default: private networks and those of the host's interfaces"},
    {.flag = "no-rec", .field = "no_rec", .kind = SETTING_BOOL, .taker = SETTING_LIVE,
     IN(engine.no_rec), .help = "never forward: SERVFAIL for external names"},
    {.flag = "ndots", .field = "ndot", .env = "SKYDNS_NDOTS", .kind = SETTING_NUMBER,
     .max = NDOTS_MAX, .default_number = 2, .field_min = INT32_MIN, .field_max = INT32_MAX,
     .taker = SETTING_UPSTREAM, IN(engine.ndots),
     .help = "names with fewer labels are not forwarded"},
    {.flag = "no-aaaa", .field = "no_aaaa", .kind = SETTING_PARSED, .form = SETTING_FORM_LIST,
     .parse = option_no_aaaa, .list = OPTION_NO_AAAA, .taker = SETTING_LIVE,
     .help = "all, or comma-separated zones: AAAA of external names in them is NODATA, and no "
             "upstream is queried"},
    {.flag = "dns64", .field = "dns64", .kind = SETTING_PARSED, .parse = option_dns64,
     .show = option_text_dns64, .taker = SETTING_LIVE,
     .help = "well-known, or an IPv6 prefix like 2001:db8:64::/96: external names without AAAA get "
             "those that a NAT64 translates (RFC 6147)"},
    {.flag = "dns64-exclude", .field = "dns64_exclude", .kind = SETTING_PARSED,
     .form = SETTING_FORM_LIST, .list = OPTION_DNS64_EXCLUDED, .default_text = "::ffff:0:0/96", .taker = SETTING_LIVE,
     .help = "comma-separated networks whose AAAA records count as absent with -dns64"},
    {.flag = "rtimeout", .field = "read_timeout", .kind = SETTING_DURATION,
     .form = SETTING_FORM_NANOSECONDS, .unit_ms = 1, .min = 1, .max = MINUTE_MS,
     .default_number = 2000,
     .taker = SETTING_UPSTREAM, IN(rtimeout_ms),
     .help = "timeout of one upstream; twice that for all of them"},
    {.flag = "round-robin", .field = "round_robin", .kind = SETTING_BOOL, .default_number = true,
     .taker = SETTING_LIVE, IN(engine.round_robin), .help = "shuffle the addresses of an answer"},
    {.field = "ttl", .kind = SETTING_NUMBER, .max = INT32_MAX, .field_max = UINT32_MAX,
     .default_number = ENGINE_TTL_DEFAULT_S, .taker = SETTING_LIVE, IN(engine.ttl_s)},
    {.flag = "min-ttl", .field = "min_ttl", .kind = SETTING_NUMBER, .min = 1, .max = MIN_TTL_MAX,
     .field_max = UINT32_MAX, .get_default_number = default_min_ttl, .taker = SETTING_LIVE,
     IN(engine.min_ttl_s),
     .help = "seconds that clients may cache NXDOMAIN or NODATA for names in a domain, or of an "
             "override; with -schema=kubernetes by default 5"},
    {.field = "priority", .kind = SETTING_NUMBER, .max = UINT16_MAX, .default_number = 10,
     .taker = SETTING_LIVE, IN(engine.priority)},
    {.flag = "schema", .kind = SETTING_CHOICE, .choices = ENGINE_SCHEMA_CHOICES, IN(engine.schema),
     .help = "skydns: a name stands for all records below it, and * matches any label; "
             "kubernetes: as in the Kubernetes DNS specification 1.1.0"},
    {.flag = "pods", .kind = SETTING_CHOICE, .choices = ENGINE_PODS_CHOICES, IN(engine.pods),
     .help = "pod names exist if etcd has them (verified), if they spell an address (insecure), "
             "or never (disabled)"},
    {.flag = "overrides", .field = "overrides", .kind = SETTING_BOOL, .taker = SETTING_LIVE,
     IN(engine.overrides),
     .help = "records in etcd whose names are in no domain answer queries for exactly these names"},
    {.flag = "alias", .field = "aliases", .kind = SETTING_PARSED, .form = SETTING_FORM_ALIASES,
     .repeats = true, .parse = option_alias, .show = option_text_aliases, .taker = SETTING_LIVE,
     .help = "FROM=TO, *.FROM=TO, *.FROM=*.TO: a name in no domain, or all below it, has the "
             "addresses of another name; may repeat"},
    {.flag = "reverse-zones", .kind = SETTING_PARSED, .list = OPTION_REVERSE_ZONES,
     .help = "comma-separated networks like 10.96.0.0/12 whose reverse names are never forwarded"},
    {.flag = "chaos", .kind = SETTING_BOOL, .default_number = true, IN(engine.chaos),
     .help = "answer version.bind and the like in class CHAOS; false: refuse"},
    {.flag = "any", .kind = SETTING_CHOICE, .choices = "refused|hinfo", IN(engine.any_is_hinfo),
     .help = "refuse ANY, or answer it with one record (hinfo, RFC 8482)"},
    {.flag = "nsid", .kind = SETTING_PARSED, .parse = option_nsid,
     .help = "text that tells clients which server answers, if they request it (NSID, RFC 5001); "
             "default: none"},
    {.flag = "max-udp-size", .kind = SETTING_NUMBER, .min = UDP_SIZE_MIN, .max = UDP_SIZE_MAX,
     .default_number = 1232, IN(engine.max_udp_size),
     .help = "largest UDP response, whatever the client offers"},
    {.flag = "workers", .kind = SETTING_NUMBER, .min = 1, .max = OPTIONS_WORKERS_MAX,
     .get_default_number = default_workers, IN(workers), .help = "threads that answer UDP"},
    {.flag = "http-addr", .kind = SETTING_PARSED, .parse = option_http_address,
     .help = "IP:port to serve /healthz, /readiness, /metrics, /cache, /search, /explain on; none: "
             "off"},
    {.flag = "http-socket", .kind = SETTING_TEXT, IN(http_socket),
     .help = "Unix socket to serve them on, too: for probes of this skydns and of no other one"},
    {.flag = "http-hosts", .kind = SETTING_PARSED, .parse = option_http_hosts,
     .help = "comma-separated names that its requests may have in Host, beside IP addresses, single "
             "labels and names in -domain"},
    {.flag = "http-allow", .field = "http_allow", .kind = SETTING_PARSED,
     .form = SETTING_FORM_LIST, .list = OPTION_HTTP_ALLOWED,
     .taker = SETTING_LIVE,
     .help = "comma-separated networks, beside loopback, that may have the pages about clients and "
             "about the past: /clients, /missing, /history, /watch, /flush, at="},
    {.flag = "namespace-metrics", .kind = SETTING_NUMBER, .max = NAMESPACE_METRICS_MAX,
     .default_number = 200, IN(namespace_metrics),
     .help = "namespaces of clients whose queries /metrics has by result, the busiest; 0: none"},
    {.flag = "etcd-timeout", .kind = SETTING_DURATION, .unit_ms = 1, .min = 1,
     .max = DAY_MS, /* more is certainly a mistake */
     .default_number = 10000, IN(etcd_timeout_ms),
     .help = "log an error and fail /readiness?strict when etcd is away for longer"},
    {.flag = "lameduck", .kind = SETTING_DURATION, .unit_ms = 1, IN(lameduck_ms),
     .max = HOUR_MS, /* no pod gets longer to terminate; more was probably meant as ms */
     .help = "after SIGTERM, keep answering for this long with /readiness 503"},
    {.flag = "user", .kind = SETTING_PARSED, .parse = option_user,
     .help = "USER or USER:GROUP to become once the sockets are open; default: stay"},
    {.flag = "dnssec", .field = "dnssec", .kind = SETTING_PARSED, .form = SETTING_FORM_KEY_FILES,
     .parse = option_dnssec, .show = option_text_dnssec, .taker = SETTING_LIVE,
     .help = "comma-separated names of key files, without .key and .private, as dnssec-keygen "
             "writes them: sign answers with these; followed; default: none"},
    {.flag = "scache", .field = "scache", .kind = SETTING_NUMBER, .max = DNSSEC_SIGNATURES_MAX,
     .default_number = OPTIONS_SCACHE_DEFAULT, .field_min = INT32_MIN, .taker = SETTING_LIVE,
     IN(scache),
     .help = "entries of the signature cache; 0: as many as by default"},
    {.flag = "print-ds", .kind = SETTING_BOOL, IN(print_ds),
     .help = "print the DS records of the keys, for the parent zones, and exit"},
    {.flag = "stubzones", .field = "stubzones", .kind = SETTING_BOOL, .taker = SETTING_LIVE,
     IN(stubzones), .help = "also the stub zones that keys below dns/stub of a domain name"},
    {.flag = "rcache", .field = "rcache", .kind = SETTING_NUMBER, .max = CACHE_ENTRIES_MAX,
     .default_number = 10000, .field_min = INT32_MIN, .keeps_zero = true, .taker = SETTING_LIVE,
     IN(rcache), .help = "entries of the response cache; 0: none"},
    {.flag = "rcache-ttl", .field = "rcache_ttl", .kind = SETTING_DURATION, .unit_ms = 1000,
     .min = 1000, .max = TTL_MAX_MS, .default_number = HOUR_MS, .field_min = INT32_MIN,
     .taker = SETTING_LIVE, IN(rcache_ttl_s),
     .help = "cache no response for longer; a number alone is seconds"},
    {.flag = "rcache-stale", .field = "rcache_stale", .kind = SETTING_DURATION, .unit_ms = 1,
     .max = RCACHE_STALE_MAX_MS, .default_number = DAY_MS, .taker = SETTING_LIVE,
     IN(rcache_stale_ms),
     .help = "how long a stale response may be used when no upstream responds; 0: never"},
    {.flag = "snapshot", .kind = SETTING_PARSED, .parse = option_snapshot,
     .help = "file for a snapshot of the records, to answer at once after a restart; "
             "default: none"},
    {.flag = "snapshot-interval", .field = "snapshot_interval", .kind = SETTING_DURATION,
     .unit_ms = 1, .min = 100, /* more often would only wear the disk */
     .max = DAY_MS,            /* written less often, it would be too old to be used */
     .default_number = MINUTE_MS, .taker = SETTING_LIVE, IN(snapshot_interval_ms),
     .help = "write it at most this often"},
    {.flag = "snapshot-max", .field = "snapshot_max", .kind = SETTING_DURATION, .unit_ms = 1,
     .default_number = DAY_MS, .field_max = INT32_MAX, .taker = SETTING_LIVE, IN(snapshot_max_ms),
     .help = "use none that is older; 0: of any age"},
    {.flag = "autopath", .field = "autopath", .kind = SETTING_BOOL, .taker = SETTING_LIVE,
     IN(engine.autopath),
     .help = "resolve the search list of a client's pod here, so that one query is enough"},
    {.flag = "search", .field = "search", .kind = SETTING_PARSED, .form = SETTING_FORM_LIST,
     .list = OPTION_SEARCH, .taker = SETTING_LIVE,
     .help = "comma-separated domains to search after those of the pod's cluster"},
    {.flag = "visibility", .field = "visibility", .kind = SETTING_CHOICE,
     .choices = VISIBILITY_CHOICES, .taker = SETTING_LIVE, IN(clients.is_own),
     .help = "whose names a client sees: all, or those of its pod's own namespace and of public "
             "ones"},
    {.flag = "public-namespaces", .field = "public_namespaces", .kind = SETTING_PARSED,
     .form = SETTING_FORM_LIST, .list = OPTION_PUBLIC_NAMESPACES, .default_text = "default,kube-system",
     .taker = SETTING_LIVE,
     .help = "comma-separated namespaces that everybody sees"},
    {.flag = "visibility-unknown", .field = "visibility_unknown", .kind = SETTING_CHOICE,
     .choices = VISIBILITY_UNKNOWN_CHOICES, .default_number = VISIBILITY_UNKNOWN_PUBLIC,
     .taker = SETTING_LIVE, IN(clients.unknown),
     .help = "what clients see whose namespace is not known: all, or public namespaces"},
    {.flag = "topology", .field = "topology", .kind = SETTING_CHOICE, .choices = TOPOLOGY_CHOICES,
     .taker = SETTING_LIVE, IN(clients.wants_near),
     .help = "which addresses of headless Services a client gets: all (off), or for marked ones "
             "those in its zone"},
    {.flag = "allow", .field = "allow", .kind = SETTING_PARSED, .form = SETTING_FORM_LIST,
     .parse = option_allow, .show = option_text_allow, .taker = SETTING_LIVE,
     .help = "comma-separated networks of clients that may send queries, all or none"},
    {.flag = "rate", .field = "rate", .kind = SETTING_PARSED, .form = SETTING_FORM_RATE,
     .parse = option_rate, .show = option_text_rate, .taker = SETTING_LIVE,
     .help = "N[/BURST]: UDP queries a second of one client, and at once; 0: no limit"},
    {.flag = "rate-namespace", .field = "rate_namespace", .kind = SETTING_PARSED,
     .form = SETTING_FORM_RATE, .parse = option_rate_namespace, .show = option_text_rate_namespace,
     .taker = SETTING_LIVE,
     .help = "N[/BURST]: queries a second of all pods of a namespace together, over all transports, "
             "and at once; 0: no limit"},
    {.flag = "cookie-secret", .kind = SETTING_TEXT, IN(cookie_secret), .is_file = true,
     .help = "file of secrets for DNS cookies, one a line, 32 hex digits; the first makes them; "
             "followed; default: one of this process alone"},
    {.flag = "tsig-keys", .kind = SETTING_TEXT, IN(tsig_keys), .is_file = true,
     .help = "file of keys by which queries and responses are signed (TSIG), as tsig-keygen prints "
             "them; followed"},
    {.flag = "transfer-to", .field = "transfer_to", .kind = SETTING_PARSED,
     .form = SETTING_FORM_LIST, .list = OPTION_TRANSFERS,
     .taker = SETTING_LIVE,
     .help = "comma-separated networks, addresses (with a port: where NOTIFY goes) and key:NAME "
             "that may transfer zones; default: none"},
    {.flag = "discover", .kind = SETTING_IGNORED, IN(ignored), .help = "accepted and ignored"},
    {.flag = "explain", .kind = SETTING_TEXT, .is_for_command = true, IN(explain),
     .help = "print why the skydns running at -http-addr answers NAME [TYPE] as it does"},
    {.flag = "client", .kind = SETTING_TEXT, .is_for_command = true, IN(explain_client),
     .help = "with -explain: as for the client with this address"},
    {.flag = "at", .kind = SETTING_TEXT, .is_for_command = true, IN(explain_at),
     .help = "with -explain: as it was at a revision of etcd, a time like 2026-05-01T03:12:00Z or an "
             "age like 10m; 5..6: what differs between two"},
    {.flag = "flush", .kind = SETTING_TEXT, .is_for_command = true, IN(flush),
     .help = "drop what the skydns running at -http-addr has cached of NAME, or with a last dot of a "
             "zone's names, and exit"},
    {.flag = "top", .kind = SETTING_BOOL, IN(top),
     .help = "show the figures of the skydns running at -http-addr in this terminal; q ends"},
    {.flag = "etcd3", .kind = SETTING_IGNORED, .help = "accepted; the v3 API is always used"},
    {.flag = "verbose", .kind = SETTING_BOOL, IN(verbose), .help = "as -query-log=all"},
    {.flag = "query-log", .field = "query_log", .kind = SETTING_PARSED, .parse = option_query_log,
     .show = option_text_query_log, .taker = SETTING_LIVE,
     .help = "off|all|errors|denials|1/N: which queries get a line in the log"},
    {.flag = "dnstap", .kind = SETTING_PARSED, .parse = option_dnstap,
     .help = "unix:PATH or tcp://IP:port of a sink for dnstap messages of queries and responses; "
             "default: none"},
    {.flag = "log-level", .kind = SETTING_CHOICE, .choices = LOG_LEVEL_CHOICES,
     .default_number = LOG_LEVEL_INFO, IN(log_level), .help = LOG_LEVEL_HELP},
    {.flag = "log-format", .kind = SETTING_CHOICE, .choices = LOG_FORMAT_CHOICES, IN(log_format),
     .help = "log lines of text, or JSON objects"},
    {.flag = "healthcheck", .kind = SETTING_TEXT, .is_for_command = true, IN(healthcheck),
     .help = "check a running one at udp://IP:PORT, http://IP:PORT/PATH or http://unix:FILE:/PATH; "
             "exit status 0 if it is healthy"},
    {.flag = "translate-corefile", .kind = SETTING_TEXT, .is_for_command = true, IN(corefile),
     .help = "print the flags that say what CoreDNS's configuration FILE says, and what of it has "
             "no counterpart, and exit"},
    {.flag = "version", .kind = SETTING_BOOL, IN(version), .help = "print the version and exit"},
};
/* clang-format on */
_Static_assert(ARRAY_LEN(rows) <= SETTINGS_MAX, "callers have room for a value of each");

const struct setting *settings_table(size_t *ret_count)
{
    *ret_count = ARRAY_LEN(rows);
    return rows;
}
