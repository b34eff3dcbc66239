/* Parses skydns's settings: flags with their environment fallbacks, validated; the document in etcd
 * overrides them (config_doc_internal.h). Main thread; pure except as noted. */
#ifndef SKYDNS_SETTINGS_OPTIONS_H
#define SKYDNS_SETTINGS_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/addr.h"
#include "common/base/attributes.h"
#include "common/base/err.h"
#include "common/base/flags.h"
#include "common/base/privileges.h"
#include "common/dns/dname.h"
#include "common/http/http_admission.h"
#include "common/tls/tls_client.h"
#include "skydns/clients/visibility.h"
#include "skydns/dnssec/dnssec.h"
#include "skydns/dnstap/dnstap.h"
#include "skydns/external/zone_table.h"
#include "skydns/listen/listen_socket.h"
#include "skydns/publish/engine_config.h"
#include "skydns/publish/recursion.h"
#include "skydns/tap/query_log.h"

struct stub_zones;

enum {
    OPTIONS_NAMESERVERS_MAX = ZONE_SERVERS_MAX,
    OPTIONS_STUB_FALLBACKS_MAX = 64,
    OPTIONS_WORKERS_MAX = 64, /* more than any machine needs for DNS; one socket and 0.2 MB each */
    OPTIONS_WORKERS_DEFAULT = 8,        /* at most; fewer when there are fewer CPUs */
    OPTIONS_HANDSHAKE_THREADS_MAX = 16, /* tls_handshakes.h has no more */
    /* Limits signers as answer_pool.h does; more would be idle: they make 100,000 signatures a
     * second, with RSA 4,000. */
    OPTIONS_SIGNERS_MAX = 4,
    OPTIONS_DNSSEC_MAX = DNSSEC_KEYS_MAX * 64, /* bytes; paths of keys are no longer */
    OPTIONS_SCACHE_DEFAULT = 10000,
    SETTINGS_MAX = 128, /* more than the table has (settings_table.h) */
};

/* Address that speaks something else than DNS's own framing in the clear. */
struct stream_address {
    enum engine_transport transport;
    struct addr address;
};

/* Limits a namespace: it is a label, of RFC 1035. */
enum { NAMESPACE_TEXT_MAX = 63 };

struct namespace_name {
    uint8_t len;
    char text[NAMESPACE_TEXT_MAX]; /* in lower case, without a final NUL */
};

/* Settings of the names and addresses that a client sees. */
struct client_options {
    bool is_own; /* -visibility=own */
    enum visibility_unknown unknown;
    size_t public_count;
    struct namespace_name public_names[VISIBILITY_PUBLIC_MAX]; /* each once */
    bool wants_near;                                           /* -topology=marked */
};

/* A stub zone whose denials are asked again of the general upstreams. */
struct stub_fallback {
    struct dname zone; /* lower case */
    enum zone_fallback kind;
};

struct options {
    const char *machines; /* comma-separated etcd URLs, checked by the etcd client */
    const char *ca_cert;  /* PEM files for etcd's TLS; "" = unset */
    const char *tls_pem;
    const char *tls_key;  /* set if and only if tls_pem is */
    const char *username; /* empty: no authentication */
    const char *password;
    const char *password_file; /* empty: use `password` */
    struct addr addresses[LISTEN_SOCKETS_MAX];
    size_t address_count; /* UDP and TCP */
    struct stream_address streams[LISTEN_SOCKETS_MAX];
    size_t stream_count;                    /* with the other addresses: 1 to LISTEN_SOCKETS_MAX */
    bool systemd;                           /* sockets come from systemd; addresses are ignored */
    bool reuse_port;                        /* take over, and hand over, the sockets: handover/ */
    bool freebind;                          /* addresses need not be on an interface yet */
    const char *cert;                       /* PEM files shown to clients; "" = unset */
    const char *key;                        /* set if and only if cert is */
    const char *client_ca;                  /* "" = unset; only with cert */
    const char *ticket_keys;                /* the same */
    unsigned handshake_threads;             /* of TLS */
    unsigned signers;                       /* threads that make signatures */
    struct dname domains[ENGINE_ZONES_MAX]; /* lower case */
    size_t domain_count;                    /* at least one */
    struct dname external_zones[ENGINE_EXTERNAL_ZONES_MAX]; /* lower case */
    size_t external_zone_count;
    struct dname hostmaster; /* of the SOA; len 0: hostmaster.<domain> */
    const char *path_prefix; /* one component, without slashes */
    int64_t stale_max_ms;    /* 0 = no limit */
    bool require_store_key;  /* a domain without one in etcd is incomplete */

    struct nameserver nameservers[OPTIONS_NAMESERVERS_MAX];
    size_t nameserver_count;
    struct tls_files nameservers_tls; /* of upstreams with TLS, also of stub zones; without CAs: the
                                       * system's */
    bool ns_rotate;
    bool random_case;           /* of the names in queries to them */
    struct recursion recursion; /* clients that may query external names */
    uint32_t rtimeout_ms;

    const char *config_file;   /* "" = none */
    struct flag_strings hosts; /* paths */
    unsigned hosts_max_mib;    /* of memory for their names */

    size_t stub_fallback_count;
    struct stub_fallback stub_fallbacks[OPTIONS_STUB_FALLBACKS_MAX];
    struct stub_zones *stubs; /* NULL: none. A reference of whoever parsed the flags or applied a
                               * document; other copies of the options borrow it */
    bool stubzones;           /* etcd's keys may name further ones */
    uint32_t rcache;          /* entries of the response cache; 0: none */
    uint32_t rcache_ttl_s;    /* not 0 */
    int64_t rcache_stale_ms;  /* 0: stale answers are not used */

    char dnssec[OPTIONS_DNSSEC_MAX]; /* keys: their files' names without .key and .private, with
                                      * commas between; "" = none */
    uint32_t scache;                 /* entries of the signature cache; not 0 */

    const char *snapshot; /* the file; "" = none */
    int64_t snapshot_interval_ms;
    int64_t snapshot_max_ms; /* 0: of any age */

    struct engine_settings engine;
    struct client_options clients;
    const char *cookie_secret; /* the file; "" = none */
    const char *tsig_keys;     /* the same */
    unsigned workers;

    uint16_t prometheus_port; /* 0: off; serves SkyDNS's metrics */
    const char *prometheus_path;
    const char *prometheus_namespace;
    const char *prometheus_subsystem;
    bool has_http;
    struct addr http_address;
    const char *http_socket;    /* a path for the pages, too; "" = none; only with has_http */
    unsigned namespace_metrics; /* namespaces with metrics of their own; 0: none */
    const char *http_hosts;     /* comma-separated, "" = none: http_admission.h */
    size_t http_allowed_count;
    struct network http_allowed[HTTP_ACCESS_NETWORKS_MAX]; /* beside loopback: http_pages.h */
    int64_t etcd_timeout_ms; /* log an error when etcd is away for longer; retries continue */
    int64_t lameduck_ms;     /* after SIGTERM: answer for this long, but not ready */
    const char *explain;     /* name to ask a running skydns about; "" = none */
    const char *explain_type;
    const char *explain_client;  /* the address to answer as for; "" = sees everything */
    const char *explain_at;      /* the moment to answer as of; "" = now */
    const char *flush;           /* name to drop from a running cache; "" = none */
    bool top;                    /* show the figures of the one at http_address instead */
    bool print_ds;               /* print the DS records of the keys instead */
    const char *corefile;        /* -translate-corefile: the file to translate instead; "": none */
    const char *healthcheck;     /* URL of a running skydns to check; "" = none */
    struct privileges_user user; /* to become once the sockets are open */
    bool verbose;                /* as -query-log=all, where that is not set */
    struct query_log_rule query_log;
    struct dnstap_target dnstap; /* not set: nowhere */
    int log_level;               /* enum log_level */
    int log_format;              /* enum log_format */
    bool version;

    struct flag_strings ignored; /* ignored flags and variables */
};

/* Parses the flags. Returns 0; FLAGS_HELP after printing help; ERR_USAGE with a message that names
 * the flag or variable. Reads the environment, the user database (-user) and, for the default of
 * -workers, the CPUs this process may use. Borrows strings from argv and the environment. */
int skydns_options_parse(int argc, char *const *argv, struct options *ret_options,
                         struct err *err) MUST_CHECK;

/* Returns whether any answer depends on the namespaces, or zones, of clients. */
static inline bool options_answer_by_client(const struct options *o)
{
    return o->engine.autopath || o->clients.is_own || o->clients.wants_near ||
           o->engine.rate_namespace > 0;
}

/* Returns whether answering threads look up the clients: for answers, or to log them. */
static inline bool options_want_client_index(const struct options *o)
{
    return options_answer_by_client(o) || o->query_log.mode != QUERY_LOG_OFF || o->dnstap.is_set;
}

/* Returns whether somebody may read metrics or pages. */
static inline bool options_have_pages(const struct options *o)
{
    return o->has_http || o->prometheus_port != 0;
}

/* Returns whether queries are counted by the namespaces of clients. */
static inline bool options_count_namespaces(const struct options *o)
{
    return o->namespace_metrics > 0 && options_have_pages(o);
}

/* Returns the part that answering threads need; one block of memory, owned by the caller. */
struct engine_config *options_engine_config(const struct options *options);

/* ---- Files ---- */

/* Returns the files that flags name, for confinement.h. Main thread. */

/* Paths without that of -snapshot, which is read but once, and written. */
struct option_files {
    size_t count;
    char *paths[]; /* "": the flag is not set */
};

struct option_files *option_files_new(const struct options *flags);
void option_files_free(struct option_files *files);

#endif
