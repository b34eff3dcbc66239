#include "exechealthz/options.h"

#include <string.h>

#include "common/base/duration.h"
#include "common/base/log.h"
#include "common/base/slice.h"
#include "common/base/sockets.h"

enum {
    /* Bounds a period, latency or timeout: longer than a day is certainly a mistake. */
    DURATION_MAX_MS = 24 * 60 * 60 * 1000,
    THRESHOLD_MAX = 1000, /* results; more are a mistake likewise */
    /* Waits as long as resolvers wait for a server (resolv.conf(5)). */
    DNS_TIMEOUT_MS = 5000,
};

static const char default_command[] = "echo healthz", default_url[] = "/healthz";

/* Holds the flags as typed. */
struct given {
    struct flag_strings commands, urls, dns;
    const char *address, *dnsmasq;
    int64_t port;
};

static int exechealthz_options_parse_flags(int argc, char *const *argv, struct given *given,
                                           struct options *o, struct err *err)
{
    const struct flag table[] = {
        {"cmd", FLAG_STRING_LIST, &given->commands,
         .help = "shell command; exit status 0 is healthy (default echo healthz, without -dns)"},
        {"url", FLAG_STRING_LIST, &given->urls,
         .help = "path that serves the result of the cmd in the same position (default /healthz)"},
        {"dns", FLAG_STRING_LIST, &given->dns,
         .help =
             "[LABEL=]NAME[,TYPE][,SERVER] to query, SERVER as IP[:PORT], tls://IP[:853][#NAME] "
             "or https://IP[:443][/PATH][#NAME]; served at /healthcheck/LABEL, and at the url "
             "unless there is a cmd"},
        {"dns-ca", FLAG_STRING, &o->dns_files.ca,
         .help = "PEM file of the CAs that certificates of -dns with a #NAME must come from; "
                 "default: the system's"},
        {"dns-cert", FLAG_STRING, &o->dns_files.cert,
         .help = "PEM file of the certificate to show to DNS servers that request one"},
        {"dns-key", FLAG_STRING, &o->dns_files.key, .help = "PEM file of its key"},
        {"dnsmasq-metrics", FLAG_STRING, &given->dnsmasq,
         .help = "IP[:PORT] of a DNS server whose cache's counts are metrics, named as kube-dns's "
                 "sidecar does, kubedns_dnsmasq_hits and the like"},
        {"address", FLAG_STRING, &given->address,
         .help = "IP address to listen on, or unix:FILE, a Unix socket without a port"},
        {"port", FLAG_INT, &given->port, .min = 1, .max = 65535, .help = "TCP port to listen on"},
        {"period", FLAG_DURATION_MS, &o->probes.period_ms, .min = 1, .max = DURATION_MAX_MS,
         .help = "time from the start of one run to the start of the next"},
        {"latency", FLAG_DURATION_MS, &o->probes.latency_ms, .min = 1, .max = DURATION_MAX_MS,
         .help = "older results are ignored"},
        {"timeout", FLAG_DURATION_MS, &o->probes.timeout_ms, .min = 0, .max = DURATION_MAX_MS,
         .help = "kill the command's process group, or fail the DNS probe, after this time; 0: the "
                 "latency, DNS at most 5s"},
        {"on-unhealthy", FLAG_STRING, &o->actions.on_unhealthy,
         .help = "shell command to run when a probe has failed -threshold times in a row, and when "
                 "the program ends"},
        {"on-healthy", FLAG_STRING, &o->actions.on_healthy,
         .help = "shell command to run when all probes have succeeded -threshold times in a row"},
        {"threshold", FLAG_INT, &o->actions.threshold, .min = 1, .max = THRESHOLD_MAX,
         .help = "equal results of a probe that count for -on-unhealthy and -on-healthy"},
        {"action-timeout", FLAG_DURATION_MS, &o->actions.timeout_ms, .min = 0,
         .max = DURATION_MAX_MS,
         .help = "kill -on-unhealthy and -on-healthy after this time; 0: the timeout"},
        {"repeat", FLAG_DURATION_MS, &o->actions.repeat_ms, .min = 0, .max = DURATION_MAX_MS,
         .help = "run -on-healthy again so long after its end; 0: never"},
        {"output", FLAG_BOOL, &o->probes.want_output,
         .help = "respond with the command's output instead of `ok`"},
        {"quiet", FLAG_BOOL, &o->probes.is_quiet, .help = "log only changes of health"},
        {"log-level", FLAG_CHOICE, &o->log_level, .choices = LOG_LEVEL_CHOICES,
         .help = LOG_LEVEL_HELP},
        {"start-unhealthy", FLAG_BOOL, &o->probes.starts_unhealthy,
         .help = "run at once, and respond 503 until there is a result"},
        {"legacy-pages", FLAG_BOOL, &o->has_legacy_pages,
         .help = "serve a page at unknown paths, and /quit, which ends the program"},
        {"healthcheck", FLAG_STRING, &o->healthcheck,
         .help = "check a running one at http://IP:PORT/PATH or http://unix:FILE:/PATH, or a DNS "
                 "server "
                 "at udp://IP:PORT; exit status 0 if it is healthy"},
        {"version", FLAG_BOOL, &o->want_version, .help = "print the version and exit"},
    };
    const struct flags flags = {
        .program = "exechealthz",
        .summary = "runs commands and DNS queries periodically and serves their last results",
        .table = table,
        .count = ARRAY_LEN(table),
    };
    int r = flags_parse(&flags, argc, argv, err);
    if (r == FLAGS_HELP) {
        flags_print_help(&flags);
    }
    return r;
}

/* ---- Commands and their paths ---- */

static int check_url(const struct options *o, const char *url, struct err *err)
{
    bool is_page = strcmp(url, "/") == 0 || strcmp(url, "/quit") == 0;
    if (url[0] != '/' || strpbrk(url, "?#*")) {
        return err_set(err, ERR_USAGE, "flag -url: `%s`: expected a path that starts with /", url);
    }
    if (is_page && o->has_legacy_pages) {
        return err_set(err, ERR_USAGE,
                       "flag -url: `%s`: taken by -legacy-pages, expected another path", url);
    }
    return 0;
}

/* Refuses an empty command, which a shell takes for a success. */
static int check_command(const char *flag, const char *command, struct err *err)
{
    return command[strspn(command, " \t\n")] != '\0'
               ? 0
               : err_set(err, ERR_USAGE, "flag -%s: `%s`: expected a shell command", flag, command);
}

static int add_command(struct options *o, const char *command, const char *url, struct err *err)
{
    int r = check_command("cmd", command, err);
    if (r < 0) {
        return r;
    }
    for (size_t i = 0; i < o->command_count; i++) {
        if (strcmp(o->commands[i].url, url) == 0) {
            return err_set(err, ERR_USAGE, "flag -url: `%s`: given twice, expected a path for each",
                           url);
        }
    }
    o->commands[o->command_count++] = (struct command_option){command, url};
    return check_url(o, url, err);
}

static int pair_commands(const struct given *given, struct options *o, struct err *err)
{
    size_t commands = given->commands.count ? given->commands.count : 1;
    size_t urls = given->urls.count ? given->urls.count : 1;
    if (commands != urls) {
        return err_set(err, ERR_USAGE,
                       "flags -cmd and -url: number of cmds and urls are different: %zu and %zu, "
                       "expected a -url for each -cmd",
                       commands, urls);
    }
    for (size_t i = 0; i < commands; i++) {
        const char *command = given->commands.count ? given->commands.items[i] : default_command;
        const char *url = given->urls.count ? given->urls.items[i] : default_url;
        int r = add_command(o, command, url, err);
        if (r < 0) {
            return r;
        }
    }
    return 0;
}

/* ---- DNS ---- */

static int exechealthz_options_add_dns(struct options *o, const char *text, struct err *err)
{
    struct dns_target *target = &o->dns[o->dns_count];
    int r = dns_target_parse(text, target, err);
    if (r < 0) {
        return err_wrap(err, r, "flag -dns: `%s`", text);
    }
    for (size_t i = 0; i < o->dns_count; i++) {
        if (strcmp(o->dns[i].label, target->label) == 0) {
            return err_set(err, ERR_USAGE,
                           "flag -dns: `%s`: label `%s` is taken, expected another: LABEL=NAME",
                           text, target->label);
        }
    }
    o->dns_count++;
    return 0;
}

bool options_have_tls(const struct options *o)
{
    bool has_tls = false;
    for (size_t i = 0; i < o->dns_count; i++) {
        has_tls |= o->dns[i].protocol != DNS_OVER_UDP;
    }
    return has_tls;
}

static bool has_tls_name(const struct options *o)
{
    bool has_name = false;
    for (size_t i = 0; i < o->dns_count; i++) {
        has_name |= o->dns[i].tls_name[0] != '\0';
    }
    return has_name;
}

/* Refuses a file without effect, which would make a person believe that something is checked. */
static int check_files(const struct options *o, struct err *err)
{
    const struct tls_files *files = &o->dns_files;
    if (*files->ca && !has_tls_name(o)) {
        return err_set(err, ERR_USAGE,
                       "flag -dns-ca: `%s`: no CA is checked without a -dns with tls://IP#NAME or "
                       "https://IP#NAME",
                       files->ca);
    }
    if (!*files->cert != !*files->key) {
        const bool has_cert = *files->cert != '\0';
        return err_set(err, ERR_USAGE, "flag -dns-%s: `%s`: expected -dns-%s beside it",
                       has_cert ? "cert" : "key", has_cert ? files->cert : files->key,
                       has_cert ? "key" : "cert");
    }
    if (*files->cert && !options_have_tls(o)) {
        return err_set(
            err, ERR_USAGE,
            "flag -dns-cert: `%s`: expected a -dns with tls:// or https:// to show it to",
            files->cert);
    }
    return 0;
}

static int check_actions(const struct health_actions_config *actions, struct err *err)
{
    int r = actions->on_unhealthy ? check_command("on-unhealthy", actions->on_unhealthy, err) : 0;
    if (r == 0 && actions->on_healthy) {
        r = check_command("on-healthy", actions->on_healthy, err);
    }
    if (r == 0 && actions->repeat_ms > 0 && !actions->on_healthy) {
        char repeat[DURATION_TEXT_MAX];
        r = err_set(err, ERR_USAGE, "flag -repeat: `%s`: expected -on-healthy with it",
                    duration_text(actions->repeat_ms, repeat));
    }
    return r;
}

/* Uses one path for all DNS probes: without a command, kubelets ask for all of them together. */
static int use_dns_alone(const struct given *given, struct options *o, struct err *err)
{
    if (given->urls.count > 1) {
        return err_set(err, ERR_USAGE, "flag -url: given %zu times, expected one for -dns",
                       given->urls.count);
    }
    o->dns_url = given->urls.count ? given->urls.items[0] : default_url;
    return check_url(o, o->dns_url, err);
}

static int take_probes(const struct given *given, struct options *o, struct err *err)
{
    for (size_t i = 0; i < given->dns.count; i++) {
        int r = exechealthz_options_add_dns(o, given->dns.items[i], err);
        if (r < 0) {
            return r;
        }
    }
    return o->dns_count && !given->commands.count ? use_dns_alone(given, o, err)
                                                  : pair_commands(given, o, err);
}

static int exechealthz_options_take_address(const struct given *given, struct options *o,
                                            struct err *err)
{
    static const char unix_scheme[] = "unix:";
    struct ip ip;
    if (strncmp(given->address, unix_scheme, strlen(unix_scheme)) == 0 &&
        unix_socket_path_fits(given->address + strlen(unix_scheme))) {
        o->listen_path = given->address + strlen(unix_scheme);
        return 0;
    }
    if (!ip_parse(slice_str(given->address), &ip)) {
        return err_set(err, ERR_USAGE,
                       "flag -address: `%s`: expected an IP address like 127.0.0.1, or unix:FILE",
                       given->address);
    }
    o->listen = addr_of_ip(&ip, (uint16_t)given->port);
    return 0;
}

static int take_dnsmasq(const struct given *given, struct options *o, struct err *err)
{
    o->has_dnsmasq_metrics = given->dnsmasq != NULL;
    if (given->dnsmasq &&
        !dns_target_parse_address(slice_str(given->dnsmasq), DNS_PORT, &o->dnsmasq)) {
        return err_set(err, ERR_USAGE,
                       "flag -dnsmasq-metrics: `%s`: expected an IP address like 127.0.0.1:53",
                       given->dnsmasq);
    }
    return 0;
}

int exechealthz_options_parse(int argc, char *const *argv, struct options *ret_options,
                              struct err *err)
{
    struct given given = {.address = "0.0.0.0", .port = 8080};
    struct options o = {.probes = {.period_ms = 2000, .latency_ms = 30000},
                        .dns_files = {.ca = "", .cert = "", .key = ""},
                        .actions = {.threshold = 3},
                        .log_level = LOG_LEVEL_INFO};
    int r = exechealthz_options_parse_flags(argc, argv, &given, &o, err);
    if (r == 0) {
        r = exechealthz_options_take_address(&given, &o, err);
    }
    if (r == 0) {
        r = take_probes(&given, &o, err);
    }
    if (r == 0) {
        r = take_dnsmasq(&given, &o, err);
    }
    if (r == 0) {
        r = check_files(&o, err);
    }
    if (r == 0) {
        r = check_actions(&o.actions, err);
    }
    if (r != 0) {
        return r;
    }
    o.dns_timeout_ms = o.probes.timeout_ms;
    if (o.probes.timeout_ms == 0) {
        o.probes.timeout_ms = o.probes.latency_ms;
        o.dns_timeout_ms =
            o.probes.latency_ms < DNS_TIMEOUT_MS ? o.probes.latency_ms : DNS_TIMEOUT_MS;
    }
    if (o.actions.timeout_ms == 0) {
        o.actions.timeout_ms = o.probes.timeout_ms;
    }
    o.dns_files.without_ca = !has_tls_name(&o);
    *ret_options = o;
    return 0;
}
