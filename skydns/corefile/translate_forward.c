/* Translates the plugin forward: names that leave for upstreams. If these have no counterpart, or
 * are asked in a way that has none, the names stay. */
#include <string.h>
#include <strings.h>

#include "common/base/addr.h"
#include "common/base/cleanup.h"
#include "common/base/xalloc.h"
#include "common/dns/dname.h"
#include "skydns/corefile/translate_internal.h"

/* Limit of -rtimeout. */
enum { RTIMEOUT_MAX_MS = 60000 };

static bool is_root(const char *zone)
{
    return strcmp(zone, ".") == 0;
}

static const char *missing_server(const char *server)
{
    if (strstr(server, "://") && strncasecmp(server, "tls://", 6) != 0 &&
        strncasecmp(server, "dns://", 6) != 0) {
        return "upstreams are queried over UDP, TCP or TLS";
    }
    return server[0] == '/' || server[0] == '.'
               ? "put the addresses of that file's nameservers in its place"
               : "expected IP addresses of upstreams";
}

/* Returns whether -nameservers takes the name. */
static bool is_tls_servername(const struct corefile_line *line)
{
    static const char letters[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.";
    struct dname name;
    return line->count == 2 && line->words[1][strspn(line->words[1], letters)] == '\0' &&
           dname_from_text(slice_str(line->words[1]), &name) && name.len > 1;
}

/* Returns the name in the certificates; NULL: they are for their addresses. */
static const char *tls_servername(const struct plugin_use *use)
{
    const struct corefile_line *line = use_option(use, "tls_servername");
    return line && is_tls_servername(line) ? line->words[1] : NULL;
}

/* Writes "tls://9.9.9.9" as "tls://9.9.9.9:853#dns.example". */
static bool tls_server_text(const struct plugin_use *use, const char *server, struct buf *out)
{
    struct addr addr;
    char text[ADDR_TEXT_MAX], scope[IF_NAMESIZE];
    const char *name = tls_servername(use);
    if (strncasecmp(server, "tls://", 6) != 0 ||
        !addr_parse_remote(server + 6, 853, &addr, scope)) {
        return false;
    }
    buf_clear(out);
    buf_printf(out, "tls://%s%s%s", addr_format_remote(&addr, scope, text), name ? "#" : "",
               name ? name : "");
    return true;
}

/* ---- Options ---- */

/* Takes [CERT KEY] [CA]; the servers that they are for take the files. */
static void take_tls(const struct plugin_use *use, const struct corefile_line *line)
{
    if (line->count > 4) {
        note_line(use->t, NOTE_MISSING, line, "expected a certificate and its key, and CAs");
    }
}

static void take_tls_servername(const struct plugin_use *use, const struct corefile_line *line)
{
    if (!is_tls_servername(line)) {
        note_line(use->t, NOTE_MISSING, line,
                  "expected a name"); /* else it is in each server's text */
    }
}

static void take_policy(const struct plugin_use *use, const struct corefile_line *line)
{
    const char *policy = line->count == 2 ? line->words[1] : "";
    if (strcmp(policy, "sequential") == 0) {
        use->t->sequential = true;
    } else {
        note_line(use->t, NOTE_NEEDLESS, line, "-ns-rotate, the default, begins with each in turn");
    }
}

static void take_read_timeout(const struct plugin_use *use, const struct corefile_line *line)
{
    use_duration(use, line, "rtimeout", 1, RTIMEOUT_MAX_MS);
}

/* Takes force_tcp; the texts of upstreams without TLS say it. */
static void take_force_tcp(const struct plugin_use *use, const struct corefile_line *line)
{
    for (size_t i = 1; i < use_argument_count(use); i++) {
        if (strncasecmp(use_argument(use, i), "tls://", 6) == 0) {
            note_line(use->t, NOTE_NEEDLESS, line, "upstreams with TLS are queried over TCP");
        }
    }
}

static void take_except(const struct plugin_use *use, const struct corefile_line *line)
{
    CLEANUP_STRINGS struct strings zones = strings_new();
    CLEANUP_BUF struct buf zone = buf_of(COREFILE_BYTES_MAX);
    for (size_t i = 1; i < line->count; i++) {
        if (zone_text(line->words[i], &zone) && !is_root(buf_cstr(&zone))) {
            strings_add(&zones, buf_cstr(&zone));
        } else {
            note_line(use->t, NOTE_NARROWER, line, "expected names: nothing is forwarded");
            translate_keep_zone(use->t, ".");
        }
    }
    translate_unforwarded(use->t, &zones);
}

/* ---- Servers ---- */

static bool same_text(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) == 0 : a == b;
}

/* Returns whether the files for their certificates and ours are those that the first ones have. */
static bool has_same_tls_files(const struct plugin_use *use)
{
    struct translation *t = use->t;
    const struct corefile_line *line = use_option(use, "tls");
    const size_t count = line && line->count <= 4 ? line->count : 0;
    const struct tls_files files = {
        .ca = count > 0 && count % 2 == 0 ? line->words[count - 1] : NULL,
        .cert = count > 2 ? line->words[1] : NULL,
        .key = count > 2 ? line->words[2] : NULL,
    };
    if (!t->has_tls_nameserver) {
        t->nameservers_tls = files;
    }
    t->has_tls_nameserver = true;
    return same_text(t->nameservers_tls.ca, files.ca) &&
           same_text(t->nameservers_tls.cert, files.cert) &&
           same_text(t->nameservers_tls.key, files.key);
}

/* Writes what -nameservers has, and returns NULL; otherwise returns why the upstream cannot be
 * asked. */
static const char *read_server(const struct plugin_use *use, const char *server, struct buf *out)
{
    if (tls_server_text(use, server, out)) {
        return has_same_tls_files(use)
                   ? NULL
                   : "another plugin has other CAs, or another certificate: put both in one file";
    }
    if (!server_text(server, out)) {
        return missing_server(server);
    }
    if (use_option(use, "force_tcp")) {
        CLEANUP_FREE char *address = xstrdup(buf_cstr(out));
        buf_clear(out);
        buf_printf(out, "tcp://%s", address);
    }
    return NULL;
}

/* Upstreams of a forward that can be asked as it says. */
struct forward_servers {
    struct strings *list; /* "IP:port" */
    bool has_resolv_conf;
};

static void read_servers(const struct plugin_use *use, struct forward_servers *servers)
{
    const struct corefile_line *head = &use->directive->head;
    CLEANUP_BUF struct buf text = buf_of(COREFILE_BYTES_MAX);
    for (size_t i = 1; i < use_argument_count(use); i++) {
        const char *server = use_argument(use, i);
        if (strcmp(server, "/etc/resolv.conf") == 0 && !use_option(use, "force_tcp")) {
            servers->has_resolv_conf = true;
            continue;
        }
        const char *why = read_server(use, server, &text);
        if (why) {
            use_note(use, NOTE_NARROWER, why);
        } else {
            translation_add(use->t, servers->list, NAMESERVERS_MAX, buf_cstr(&text), head);
        }
    }
    if (servers->has_resolv_conf && !strings_is_empty(servers->list)) {
        use_note(use, NOTE_NARROWER,
                 "beside addresses, put those of /etc/resolv.conf in its place: it is left out");
    }
}

static bool has_stub(const struct translation *t, const char *zone)
{
    return translation_has_stub(t, zone) || strings_has(&t->like_root, zone);
}

static void add_stub(const struct plugin_use *use, const char *zone,
                     const struct forward_servers *servers)
{
    struct translation *t = use->t;
    const struct corefile_line *head = &use->directive->head;
    if (zone_is_odd(zone)) {
        use_note(use, NOTE_NARROWER, "-stub takes names: of networks, those of whole octets");
        translate_keep_zone(t, zone);
        return;
    }
    CLEANUP_BUF struct buf stub = buf_of(COREFILE_BYTES_MAX);
    const char *separator = "=";
    buf_append_str(&stub, zone);
    for (const char *server = NULL; (server = strings_next(servers->list, server));) {
        buf_printf(&stub, "%s%s", separator, server);
        separator = ",";
    }
    if (has_stub(t, zone)) {
        if (!strings_has(&t->stubs, buf_cstr(&stub))) {
            use_note(use, NOTE_MISSING, "none: another block has upstreams for the zone");
        }
    } else if (!strings_is_empty(servers->list)) {
        translation_add(t, &t->stubs, STUBS_MAX, buf_cstr(&stub), head);
    } else if (servers->has_resolv_conf) {
        use_note(use, NOTE_MISSING, "a zone of its own needs addresses: -stub=ZONE=IP");
        strings_add(&t->like_root, zone);
    }
    if (!has_stub(t, zone)) {
        translate_keep_zone(t, zone);
    }
}

static void add_nameservers(const struct plugin_use *use, const struct forward_servers *servers)
{
    struct translation *t = use->t;
    const struct corefile_line *head = &use->directive->head;
    if (t->root != ROOT_UNSAID) {
        if (!corefile_line_equal(t->root_line, head)) {
            use_note(use, NOTE_NARROWER, "another one has these names first");
        }
        return;
    }
    t->root_line = head;
    if (strings_is_empty(servers->list) && !servers->has_resolv_conf) {
        t->root = ROOT_KEPT;
        use_note(use, NOTE_NARROWER, "no upstream is left (-no-rec)");
        return;
    }
    t->root = ROOT_FORWARDED;
    for (const char *server = NULL; (server = strings_next(servers->list, server));) {
        strings_add_once(&t->nameservers, server);
    }
}

/* Adds upstreams: `forward .` is for the zones of its block, another one for its own. */
static void add_servers(const struct plugin_use *use, const char *from,
                        const struct forward_servers *servers)
{
    if (!is_root(from)) {
        add_stub(use, from, servers);
        return;
    }
    for (const char *zone = NULL; (zone = strings_next(use->zones, zone));) {
        if (is_root(zone)) {
            add_nameservers(use, servers);
        } else {
            add_stub(use, zone, servers);
        }
    }
}

void translate_forward(const struct plugin_use *use)
{
    static const struct plugin_option options[] = {
        {"except", .take = take_except},
        {"force_tcp", .take = take_force_tcp},
        {"prefer_udp", NEEDLESS("UDP first, TCP for what does not fit")},
        {"expire", NEEDLESS("TLS connections stay open for ten seconds, others do not")},
        {"max_age", NEEDLESS("TLS connections stay open for ten seconds, others do not")},
        {"max_idle_conns", NEEDLESS("TLS connections stay open for ten seconds, others do not")},
        {"max_fails", NEEDLESS("an upstream that does not respond is skipped until it does")},
        {"max_connect_attempts", NEEDLESS("each upstream is queried once")},
        {"read_timeout", .take = take_read_timeout},
        {"doh_method", MISSING("none: upstreams are queried over UDP, TCP or TLS")},
        {"tls", .take = take_tls},
        {"tls_servername", .take = take_tls_servername},
        {"policy", .take = take_policy},
        {"health_check", NEEDLESS("upstreams that do not respond are probed until they do")},
        {"max_concurrent", NEEDLESS("10,000 at once, of which one client has at most half")},
        {"next",
         MISSING("none: -stub-fallback sends a stub zone's NXDOMAIN to the general upstreams")},
        {"next_on_nodata", MISSING("none: -stub-fallback=ZONE=nodata, likewise")},
        {"failfast_all_unhealthy_upstreams", MISSING("none")},
        {"fail_timeout", NEEDLESS("an upstream that does not respond is skipped until it does")},
        {"spray", NEEDLESS("upstreams that do not respond are probed until they do")},
        {"failover", NEEDLESS("after SERVFAIL or REFUSED the next upstream is queried")},
        {"source_address", MISSING("none")},
        {"resolver", MISSING("expected IP addresses of upstreams")},
    };
    CLEANUP_STRINGS struct strings list = strings_new();
    struct forward_servers servers = {.list = &list};
    CLEANUP_BUF struct buf from = buf_of(COREFILE_BYTES_MAX);
    if (use_options(use, options, ARRAY_LEN(options))) {
        read_servers(use, &servers);
    } else {
        use_note(use, NOTE_NARROWER, unknown_options);
    }
    if (use_argument_count(use) < 2 || !zone_text(use_argument(use, 0), &from)) {
        use_note(use, NOTE_NARROWER, "expected a zone and its upstreams");
        translate_keep_zone(use->t, "."); /* there is no telling which */
    } else {
        add_servers(use, buf_cstr(&from), &servers);
    }
}
