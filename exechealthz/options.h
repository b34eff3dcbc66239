/* exechealthz's command line, validated. main() calls it before anything else. */
#ifndef EXECHEALTHZ_OPTIONS_H
#define EXECHEALTHZ_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/addr.h"
#include "common/base/attributes.h"
#include "common/base/err.h"
#include "common/base/flags.h"
#include "common/tls/tls_client.h"
#include "exechealthz/dns_target.h"
#include "exechealthz/health_actions.h"
#include "exechealthz/probe_settings.h"

/* Holds a command and the path of its result; from argv, borrowed for the process's lifetime. */
struct command_option {
    const char *command;
    const char *url;
};

struct options {
    struct command_option commands[FLAG_STRINGS_MAX];
    size_t command_count;
    struct dns_target dns[FLAG_STRINGS_MAX];
    size_t dns_count;
    bool has_dnsmasq_metrics;
    struct addr dnsmasq; /* the server to take them from */
    const char *dns_url; /* path of all DNS probes; NULL with commands or without DNS probes */
    struct addr listen;
    const char *listen_path;              /* of a Unix socket to listen on instead; NULL: none */
    struct probe_settings probes;         /* the timeout: the latency unless given */
    int64_t dns_timeout_ms;               /* never 0; default: 5 s, or the latency if shorter */
    struct tls_files dns_files;           /* for all DNS probes over TLS; "": none */
    int log_level;                        /* enum log_level */
    struct health_actions_config actions; /* without loop and reaper */
    bool has_legacy_pages;
    const char *healthcheck; /* the URL to query instead of all else; NULL: none */
    bool want_version;
};

/* Returns whether a DNS probe goes over TLS or HTTPS. */
bool options_have_tls(const struct options *o);

/* Returns 0; FLAGS_HELP after printing help; ERR_USAGE with a message. Only 0 sets *ret_options. */
int exechealthz_options_parse(int argc, char *const *argv, struct options *ret_options,
                              struct err *err) MUST_CHECK;

#endif
