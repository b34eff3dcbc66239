/* The command line of skydns: flags and their environment fallbacks, made into validated values.
 * Called by main() before any thread starts; pure but for the two calls that say what they read. */
#ifndef SKYDNS_OPTIONS_H
#define SKYDNS_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/addr.h"
#include "common/attributes.h"
#include "common/dname.h"
#include "common/err.h"

enum {
    OPTIONS_NAMESERVERS_MAX = 16, /* a resolv.conf has 3, a long -nameservers list a handful */
    OPTIONS_WORKERS_MAX = 64,     /* above any machine's use for DNS; one socket and 0.2 MB each */
    OPTIONS_WORKERS_DEFAULT = 8,  /* at most; fewer when there are fewer CPUs */
};

struct options {
    const char *machines; /* comma-separated etcd URLs, checked by the etcd client */
    const char *ca_cert;  /* PEM files for etcd's TLS; "" = not given */
    const char *tls_pem;
    const char *tls_key;  /* given exactly when tls_pem is */
    const char *username; /* empty: etcd is asked without one */
    const char *password;
    const char *password_file; /* empty: `password` counts */
    struct addr address;
    struct dname domain;     /* lower case */
    struct dname hostmaster; /* of the SOA */
    struct dname local;      /* lower case; what local.dns.<domain> stands for; len 0: nothing */
    const char *path_prefix; /* one component, without slashes */

    struct addr nameservers[OPTIONS_NAMESERVERS_MAX];
    size_t nameserver_count;
    bool ns_rotate;
    bool no_rec;
    unsigned ndots;
    uint32_t rtimeout_ms;

    bool round_robin;
    uint16_t max_udp_size;
    unsigned workers;

    bool has_http;
    struct addr http_address;
    int64_t etcd_timeout_ms; /* etcd away for longer is an error; it is waited for all the same */
    bool verbose;
    bool version;
};

/* 0; FLAGS_HELP when help was asked for (and printed); ERR_USAGE with a message that names the flag
 * or variable. Reads the environment and, for the default of -workers, the CPUs this process may
 * use. Strings are borrowed from argv and the environment. */
int options_parse(int argc, char *const *argv, struct options *ret_options,
                  struct err *err) MUST_CHECK;

/* The nameservers of a resolv.conf, port 53, when the command line named none. A file that does not
 * exist is no error and names none. */
int options_read_resolv_conf(struct options *options, const char *path, struct err *err) MUST_CHECK;

#endif
