/* Parses and validates kube2sky's command line. main() calls it before anything else. */
#ifndef KUBE2SKY_OPTIONS_H
#define KUBE2SKY_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/addr.h"
#include "common/base/attributes.h"
#include "common/base/err.h"
#include "common/base/flags.h"
#include "kube2sky/api/endpoints_source.h"
#include "kube2sky/naming/naming.h"

struct override_zones;
struct route_rules;

struct options {
    char *domain;        /* lower case, with the trailing dot; owned */
    char *import_domain; /* likewise; NULL without --multicluster */
    /* From argv, borrowed for the process's lifetime; "" = unset. The modules that use them
     * validate URLs. */
    const char *etcd_server;
    const char *etcd_cafile;
    const char *etcd_certfile;
    const char *etcd_keyfile; /* set if and only if etcd_certfile is */
    const char *etcd_username;
    const char *etcd_password_file;
    const char *kubecfg_file;
    const char *kube_master_url;
    int64_t etcd_mutation_timeout_ms;
    bool exit_on_etcd_timeout;
    int64_t ttl_s; /* of the records */
    enum endpoints_mode endpoints_mode;
    enum endpoint_names endpoint_names;
    bool wants_pods;
    bool wants_nodes;
    bool wants_visibility;
    bool wants_client_records;
    bool wants_topology;
    bool wants_events;
    bool wants_reverse;
    bool own_only_written;
    int64_t leader_lease_s;       /* 0: no election; this is the only writer */
    char **namespaces;            /* owned; ends with NULL */
    size_t namespace_count;       /* 0: all */
    const char *label_selector;   /* checked */
    const char *namespace_labels; /* likewise; "": every namespace */
    char *external_zone;          /* as domain; NULL: none; owned */
    bool has_external_headless;
    bool is_external_public;
    struct override_zones *override_zones; /* NULL: none; owned */
    struct route_rules *route_rules;       /* NULL: none; owned */
    char *config_map;           /* name of a ConfigMap with settings; NULL: none; owned */
    char *config_map_namespace; /* owned */
    int64_t etcd_max_txn_ops;
    int64_t etcd_space_mib;
    int64_t max_owner_keys;
    int64_t max_namespace_keys; /* 0: no limit */
    bool is_dry_run;
    struct addr healthz;     /* address of the HTTP server; `::` stands for all, IPv4 too */
    int log_level;           /* enum log_level */
    int log_format;          /* enum log_format */
    const char *http_hosts;  /* comma-separated, "" = none: http_admission.h */
    bool wants_top;          /* show the figures of the kube2sky at healthz instead */
    const char *healthcheck; /* the URL to ask instead of everything else; NULL: none */
    const char *explain;     /* NAMESPACE/SERVICE to ask a running kube2sky about; "": none */
    bool want_version;
    struct flag_strings without_effect; /* ignored flags that were set */
};

/* Parses argv. Returns 0, FLAGS_HELP after printing help, or ERR_USAGE with a message. On success
 * the caller calls options_fini. */
int kube2sky_options_parse(int argc, char *const *argv, struct options *ret_options,
                           struct err *err) MUST_CHECK;
void options_fini(struct options *options);

#endif
