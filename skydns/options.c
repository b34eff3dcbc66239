#include "skydns/options.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/flags.h"

/* The smallest payload every resolver must take (RFC 1035 4.2.1), and the largest that RFC 6891
 * 6.2.5 suggests anybody should offer. */
enum { UDP_SIZE_MIN = 512, UDP_SIZE_MAX = 4096 };

/* More labels than a name can have, so that "forward nothing" can be said. */
enum { NDOTS_MAX = DNAME_LABELS_MAX + 1 };

/* Longer than a day is never: whoever gives more means something else. */
enum { ETCD_TIMEOUT_MAX_MS = 24 * 60 * 60 * 1000 };

/* The flags as typed; what is text here is checked one by one afterwards. */
struct raw {
    const char *machines, *address, *domain, *hostmaster, *local, *path_prefix, *nameservers,
        *http_address;
    int64_t ndots, rtimeout_ms, etcd_timeout_ms, workers, max_udp_size;
};

static int64_t default_workers(void)
{
    cpu_set_t usable;
    CPU_ZERO(&usable);
    if (sched_getaffinity(0, sizeof(usable), &usable) < 0) {
        return 1;
    }
    int count = CPU_COUNT(&usable);
    return count < 1 ? 1 : count > OPTIONS_WORKERS_DEFAULT ? OPTIONS_WORKERS_DEFAULT : count;
}

static int parse_flags(int argc, char *const *argv, struct options *o, struct raw *raw,
                       struct err *err)
{
    const struct flag table[] = {
        {"machines", FLAG_STRING, &raw->machines, .env = "ETCD_MACHINES",
         .help = "comma-separated URLs of etcd"},
        {"ca-cert", FLAG_STRING, &o->ca_cert, .env = "ETCD_CACERT",
         .help = "PEM file of the CAs that sign etcd's certificates; none: the system's"},
        {"tls-pem", FLAG_STRING, &o->tls_pem, .env = "ETCD_TLSPEM",
         .help = "PEM file of the certificate shown to etcd; none: none is shown"},
        {"tls-key", FLAG_STRING, &o->tls_key, .env = "ETCD_TLSKEY", .help = "PEM file of its key"},
        {"username", FLAG_STRING, &o->username, .env = "ETCD_USERNAME",
         .help = "user of an etcd with authentication"},
        {"password", FLAG_STRING, &o->password, .env = "ETCD_PASSWORD",
         .help = "its password; visible to others on the command line"},
        {"password-file", FLAG_STRING, &o->password_file,
         .help = "file with its password, read again when etcd refuses the old one"},
        {"addr", FLAG_STRING, &raw->address, .env = "SKYDNS_ADDR",
         .help = "IP:port to answer on, UDP and TCP"},
        {"domain", FLAG_STRING, &raw->domain, .env = "SKYDNS_DOMAIN",
         .help = "the domain whose names are in etcd"},
        {"path-prefix", FLAG_STRING, &raw->path_prefix, .env = "SKYDNS_PATH_PREFIX",
         .help = "first component of the keys in etcd"},
        {"hostmaster", FLAG_STRING, &raw->hostmaster, .help = "mail address in the SOA record"},
        {"local", FLAG_STRING, &raw->local,
         .help = "the name that local.dns.<domain> is answered for; none: off"},
        {"nameservers", FLAG_STRING, &raw->nameservers, .env = "SKYDNS_NAMESERVERS",
         .help = "comma-separated IP:port that other names are forwarded to; none: those of "
                 "/etc/resolv.conf"},
        {"ns-rotate", FLAG_BOOL, &o->ns_rotate,
         .help = "begin with another nameserver each time; false: always with the first"},
        {"no-rec", FLAG_BOOL, &o->no_rec, .help = "never forward: SERVFAIL for other names"},
        {"ndots", FLAG_INT, &raw->ndots, .env = "SKYDNS_NDOTS", .min = 0, .max = NDOTS_MAX,
         .help = "names with fewer labels are not forwarded"},
        {"rtimeout", FLAG_DURATION_MS, &raw->rtimeout_ms, .min = 1, .max = 60000,
         .help = "how long to wait for one nameserver"},
        {"round-robin", FLAG_BOOL, &o->round_robin, .help = "shuffle the addresses of an answer"},
        {"max-udp-size", FLAG_INT, &raw->max_udp_size, .min = UDP_SIZE_MIN, .max = UDP_SIZE_MAX,
         .help = "largest UDP reply, whatever the client offers"},
        {"workers", FLAG_INT, &raw->workers, .min = 1, .max = OPTIONS_WORKERS_MAX,
         .help = "threads that answer UDP"},
        {"http-addr", FLAG_STRING, &raw->http_address,
         .help = "IP:port for /healthz, /readiness and /metrics; none: off"},
        {"etcd-timeout", FLAG_DURATION_MS, &raw->etcd_timeout_ms, .min = 1,
         .max = ETCD_TIMEOUT_MAX_MS,
         .help = "etcd away for longer is logged as an error and shows in /readiness?strict"},
        {"etcd3", FLAG_IGNORED_BOOL, .help = "accepted; the v3 API is always used"},
        {"verbose", FLAG_BOOL, &o->verbose, .help = "log each query"},
        {"version", FLAG_BOOL, &o->version, .help = "print the version and exit"},
    };
    const struct flags flags = {
        .program = "skydns",
        .summary = "answers DNS queries from the records in etcd",
        .table = table,
        .count = ARRAY_LEN(table),
    };
    int r = flags_parse(&flags, argc, argv, err);
    if (r == FLAGS_HELP) {
        flags_print_help(&flags);
    }
    return r;
}

static int check_domain(struct options *o, const char *text, struct err *err)
{
    if (!dname_from_text(slice_str(text), &o->domain) || dname_label_count(&o->domain) == 0) {
        return err_set(err, ERR_USAGE, "flag -domain: `%s`: expected a domain like cluster.local.",
                       text);
    }
    dname_lower(&o->domain);
    return 0;
}

/* The first `@` becomes a dot, as in zone files. */
static int check_hostmaster(struct options *o, const char *text, struct err *err)
{
    char name[DNAME_TEXT_MAX];
    size_t len = strlen(text);
    bool ok = len > 0 && len < sizeof(name);
    if (ok) {
        memcpy(name, text, len + 1);
        char *at = memchr(name, '@', len);
        if (at) {
            *at = '.';
        }
        ok = dname_from_text(slice_of(name, len), &o->hostmaster);
    }
    if (!ok) {
        return err_set(err, ERR_USAGE,
                       "flag -hostmaster: `%s`: expected a mail address like "
                       "hostmaster@cluster.local",
                       text);
    }
    return 0;
}

static int check_local(struct options *o, const char *text, struct err *err)
{
    if (*text == '\0') {
        return 0;
    }
    if (!dname_from_text(slice_str(text), &o->local)) {
        return err_set(err, ERR_USAGE, "flag -local: `%s`: expected a name like a.skydns.local.",
                       text);
    }
    dname_lower(&o->local);
    return 0;
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

/* Items are IP:port; empty ones (a trailing comma) are left out. */
static int check_nameservers(struct options *o, const char *list, struct err *err)
{
    while (*list) {
        size_t len = strcspn(list, ",");
        char item[ADDR_TEXT_MAX];
        struct err reason;
        if (len >= sizeof(item)) {
            return err_set(err, ERR_USAGE, "flag -nameservers: `%.*s`: expected IP:port", (int)len,
                           list);
        }
        memcpy(item, list, len);
        item[len] = '\0';
        list += len + (list[len] == ',');
        if (len == 0) {
            continue;
        }
        if (o->nameserver_count == OPTIONS_NAMESERVERS_MAX) {
            return err_set(err, ERR_USAGE, "flag -nameservers: more than %d servers",
                           OPTIONS_NAMESERVERS_MAX);
        }
        if (addr_parse(item, &o->nameservers[o->nameserver_count], &reason) < 0) {
            return err_set(err, ERR_USAGE, "flag -nameservers: %s", reason.msg);
        }
        o->nameserver_count++;
    }
    return 0;
}

static int check_address(const char *flag, const char *text, struct addr *ret, struct err *err)
{
    struct err reason;
    if (addr_parse(text, ret, &reason) < 0) {
        return err_set(err, ERR_USAGE, "flag -%s: %s", flag, reason.msg);
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

static int check(struct options *o, const struct raw *raw, struct err *err)
{
    int r = check_credentials(o, err);
    if (r == 0) {
        r = check_address("addr", raw->address, &o->address, err);
    }
    if (r == 0) {
        r = check_domain(o, raw->domain, err);
    }
    if (r == 0) {
        r = check_hostmaster(o, raw->hostmaster, err);
    }
    if (r == 0) {
        r = check_local(o, raw->local, err);
    }
    if (r == 0) {
        r = check_path_prefix(o, raw->path_prefix, err);
    }
    if (r == 0) {
        r = check_nameservers(o, raw->nameservers, err);
    }
    if (r == 0 && *raw->http_address) {
        r = check_address("http-addr", raw->http_address, &o->http_address, err);
        o->has_http = true;
    }
    o->machines = raw->machines;
    o->ndots = (unsigned)raw->ndots;
    o->rtimeout_ms = (uint32_t)raw->rtimeout_ms;
    o->etcd_timeout_ms = raw->etcd_timeout_ms;
    o->workers = (unsigned)raw->workers;
    o->max_udp_size = (uint16_t)raw->max_udp_size;
    return r;
}

int options_parse(int argc, char *const *argv, struct options *ret_options, struct err *err)
{
    static const char default_machines[] = "http://127.0.0.1:2379,http://127.0.0.1:4001";
    struct options o = {
        .ca_cert = "",
        .tls_pem = "",
        .tls_key = "",
        .username = "",
        .password = "",
        .password_file = "",
        .ns_rotate = true,
        .round_robin = true,
    };
    struct raw raw = {
        .machines = default_machines,
        .address = "127.0.0.1:53",
        .domain = "skydns.local.",
        .hostmaster = "hostmaster@skydns.local.",
        .local = "",
        .path_prefix = "skydns",
        .nameservers = "",
        .http_address = "",
        .ndots = 2,
        .rtimeout_ms = 2000,
        .etcd_timeout_ms = 10000,
        .workers = default_workers(),
        .max_udp_size = 1232,
    };
    int r = parse_flags(argc, argv, &o, &raw, err);
    if (r == 0 && !o.version) {
        if (*raw.machines == '\0') {
            raw.machines = default_machines;
        }
        r = check(&o, &raw, err);
    }
    if (r == 0) {
        *ret_options = o;
    }
    return r;
}

/* Adds the server of a line `nameserver ADDRESS`; other lines, and addresses that cannot be used
 * (an IPv6 zone), are passed over as the C library's resolver does. */
static void take_resolv_line(struct options *o, const char *line)
{
    static const char blanks[] = " \t\r\n";
    static const char keyword[] = "nameserver";
    struct ip ip;
    line += strspn(line, blanks);
    if (strncmp(line, keyword, sizeof(keyword) - 1) != 0) {
        return;
    }
    line += sizeof(keyword) - 1;
    size_t gap = strspn(line, blanks);
    struct slice text = slice_of(line + gap, strcspn(line + gap, blanks));
    if (gap == 0 || o->nameserver_count == OPTIONS_NAMESERVERS_MAX || !ip_parse(text, &ip)) {
        return;
    }
    struct addr *server = &o->nameservers[o->nameserver_count++];
    memset(server, 0, sizeof(*server));
    if (ip.family_bytes == 4) {
        server->v4.sin_family = AF_INET;
        server->v4.sin_port = htons(53);
        memcpy(&server->v4.sin_addr, ip.bytes, 4);
        server->len = sizeof(server->v4);
    } else {
        server->v6.sin6_family = AF_INET6;
        server->v6.sin6_port = htons(53);
        memcpy(&server->v6.sin6_addr, ip.bytes, 16);
        server->len = sizeof(server->v6);
    }
}

int options_read_resolv_conf(struct options *options, const char *path, struct err *err)
{
    char line[512]; /* longer lines (search lists) are read in pieces that match nothing */
    CLEANUP_FILE FILE *file = fopen(path, "re");
    if (!file) {
        if (errno == ENOENT) {
            return 0;
        }
        int code = -errno;
        return err_set(err, code, "read `%s`: %s; make it readable or set -nameservers", path,
                       err_code_text(code));
    }
    while (fgets(line, sizeof(line), file)) {
        take_resolv_line(options, line);
    }
    if (ferror(file)) {
        return err_set(err, -EIO, "read `%s` failed; set -nameservers", path);
    }
    return 0;
}
