#include "kube2sky/options.h"

#include <stdlib.h>
#include <string.h>

#include "common/dname.h"
#include "common/flags.h"
#include "common/xalloc.h"
#include "kube2sky/naming.h"

/* Longer than a day is never: whoever gives more means something else. */
enum { TIMEOUT_MAX_MS = 24 * 60 * 60 * 1000 };

static int parse_flags(int argc, char *const *argv, struct options *o, const char **domain,
                       struct err *err)
{
    const struct flag table[] = {
        {"domain", FLAG_STRING, domain, .help = "DNS domain of the cluster"},
        {"etcd-server", FLAG_STRING, &o->etcd_server, .help = "comma-separated URLs of etcd"},
        {"etcd-cafile", FLAG_STRING, &o->etcd_cafile,
         .help = "PEM file of the CAs that sign etcd's certificates; none: the system's"},
        {"etcd-certfile", FLAG_STRING, &o->etcd_certfile,
         .help = "PEM file of the certificate shown to etcd; none: none is shown"},
        {"etcd-keyfile", FLAG_STRING, &o->etcd_keyfile, .help = "PEM file of its key"},
        {"etcd-username", FLAG_STRING, &o->etcd_username,
         .help = "user of an etcd with authentication"},
        {"etcd-password-file", FLAG_STRING, &o->etcd_password_file,
         .help = "file with its password, read again when etcd refuses the old one"},
        {"etcd-mutation-timeout", FLAG_DURATION_MS, &o->etcd_mutation_timeout_ms, .min = 1,
         .max = TIMEOUT_MAX_MS,
         .help = "etcd or the API failing for longer is logged as an error and shows in "
                 "/readiness?strict"},
        {"kubecfg-file", FLAG_STRING, &o->kubecfg_file,
         .help = "kubeconfig with the API server and credentials"},
        {"kube-master-url", FLAG_STRING, &o->kube_master_url,
         .help = "URL of the API server, before the kubeconfig's; $VARIABLES are expanded"},
        {"healthz-port", FLAG_INT, &o->healthz_port, .min = 1, .max = 65535,
         .help = "TCP port of /readiness, /metrics and /healthz"},
        {"v", FLAG_INT, &o->verbosity, .help = "log level; 4 and more log debugging lines"},
        {"version", FLAG_BOOL, &o->want_version, .help = "print the version and exit"},
        {"logtostderr", FLAG_IGNORED_BOOL, .help = NULL},
        {"alsologtostderr", FLAG_IGNORED_BOOL, .help = NULL},
        {"stderrthreshold", FLAG_IGNORED_STRING, .help = NULL},
        {"vmodule", FLAG_IGNORED_STRING, .help = NULL},
        {"log-dir", FLAG_IGNORED_STRING, .help = NULL},
        {"log-backtrace-at", FLAG_IGNORED_STRING, .help = NULL},
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

static bool is_domain(struct slice text)
{
    struct dname name;
    struct dname_labels labels;
    if (!dname_from_text(text, &name)) {
        return false;
    }
    dname_labels(&name, &labels);
    for (unsigned i = 0; i < labels.count; i++) {
        if (!naming_is_label(dname_label(&name, labels.offsets[i]))) {
            return false;
        }
    }
    return labels.count > 0;
}

static int take_domain(const char *text, char **ret_domain, struct err *err)
{
    size_t n = strlen(text);
    if (!is_domain(slice_of(text, n))) {
        return err_set(err, ERR_USAGE,
                       "flag -domain: `%s`: expected a domain name like cluster.local", text);
    }
    char *domain = xasprintf("%s%s", text, text[n - 1] == '.' ? "" : ".");
    for (char *c = domain; *c; c++) {
        *c = (char)ascii_lower((uint8_t)*c);
    }
    *ret_domain = domain;
    return 0;
}

static int check_credentials(const struct options *o, struct err *err)
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

int options_parse(int argc, char *const *argv, struct options *ret_options, struct err *err)
{
    const char *domain = "cluster.local";
    struct options o = {
        .etcd_server = "http://127.0.0.1:4001",
        .etcd_cafile = "",
        .etcd_certfile = "",
        .etcd_keyfile = "",
        .etcd_username = "",
        .etcd_password_file = "",
        .kubecfg_file = "",
        .kube_master_url = "",
        .etcd_mutation_timeout_ms = 10000,
        .healthz_port = 8081,
    };
    int r = parse_flags(argc, argv, &o, &domain, err);
    if (r == 0) {
        r = check_credentials(&o, err);
    }
    if (r == 0) {
        r = take_domain(domain, &o.domain, err);
    }
    if (r == 0) {
        *ret_options = o;
    }
    return r;
}

void options_fini(struct options *options)
{
    free(options->domain);
    options->domain = NULL;
}
