/* The plugins for names of other domains: forward, cache and hosts. */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "common/base/addr.h"
#include "common/dns/dname.h"
#include "skydns/corefile/translate_internal.h"

/* Of -rtimeout and -rcache-stale. */
enum { RTIMEOUT_MAX_MS = 60000, RCACHE_STALE_MAX_S = 30 * 24 * 60 * 60 };

static bool is_root(const char *zone)
{
    return strcmp(zone, ".") == 0;
}

/* ---- forward ---- */

static const char *missing_server(const char *server)
{
    if (strncasecmp(server, "https://", 8) == 0) {
        return "none: nameservers are asked over UDP, TCP or TLS";
    }
    return server[0] == '/' || server[0] == '.'
               ? "put the addresses of that file's nameservers in its place"
               : "expected IP addresses";
}

/* As -nameservers takes it. */
static bool is_tls_servername(const struct corefile_line *line)
{
    static const char letters[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.";
    struct dname name;
    return line->count == 2 && line->words[1][strspn(line->words[1], letters)] == '\0' &&
           dname_from_text(slice_str(line->words[1]), &name) && name.len > 1;
}

/* Of `tls_servername`; NULL: their certificates are for their addresses. */
static const char *tls_servername(const struct plugin_use *use)
{
    for (size_t i = 0; i < use->directive->line_count; i++) {
        const struct corefile_line *line = &use->directive->lines[i];
        if (strcmp(line->words[0], "tls_servername") == 0 && is_tls_servername(line)) {
            return line->words[1];
        }
    }
    return NULL;
}

/* "tls://9.9.9.9" -> "tls://9.9.9.9:853#dns.example" */
static bool tls_server_text(const struct plugin_use *use, const char *server, struct buf *out)
{
    struct addr addr;
    struct ip ip;
    char text[ADDR_TEXT_MAX];
    const char *name = tls_servername(use);
    if (strncasecmp(server, "tls://", 6) != 0) {
        return false;
    }
    if (ip_parse(slice_str(server + 6), &ip)) {
        addr = addr_of_ip(&ip, 853);
    } else if (addr_parse(server + 6, &addr, NULL) < 0) {
        return false;
    }
    buf_clear(out);
    buf_printf(out, "tls://%s%s%s", addr_format(&addr, text), name ? "#" : "", name ? name : "");
    return true;
}

/* [CERT KEY] [CA] */
static void take_tls(const struct plugin_use *use, const struct corefile_line *line)
{
    const char *ca = line->count % 2 == 0 ? line->words[line->count - 1] : NULL;
    if (line->count > 4) {
        translation_missing(use->t, line, "expected a certificate and its key, and CAs");
        return;
    }
    if (line->count > 2) {
        translation_missing(use->t, line, "none: skydns shows nameservers no certificate");
    }
    if (ca && use->t->nameservers_ca && strcmp(use->t->nameservers_ca, ca) != 0) {
        translation_missing(use->t, line, "another block has other CAs: put both in one file");
    } else if (ca) {
        use->t->nameservers_ca = ca;
    }
}

static void take_tls_servername(const struct plugin_use *use, const struct corefile_line *line)
{
    if (!is_tls_servername(line)) {
        translation_missing(use->t, line, "expected a name"); /* else it is in each server's text */
    }
}

/* "IP:port,IP:port"; empty with /etc/resolv.conf, which is the default. */
static void take_servers(const struct plugin_use *use, struct strings *servers)
{
    const struct corefile_line *head = &use->directive->head;
    struct buf text;
    buf_init(&text, COREFILE_BYTES_MAX);
    for (size_t i = 1; i < use_argument_count(use); i++) {
        const char *server = use_argument(use, i);
        if (server_text(server, &text) || tls_server_text(use, server, &text)) {
            translation_add(use->t, servers, NAMESERVERS_MAX, buf_cstr(&text), head);
        } else if (strcmp(server, "/etc/resolv.conf") != 0) {
            translation_missing(use->t, head, missing_server(server));
        }
    }
    buf_fini(&text);
}

static bool has_stub(const struct translation *t, const char *zone)
{
    const char *stub = NULL;
    size_t n = strlen(zone);
    while ((stub = strings_next(&t->stubs, stub))) {
        if (strncmp(stub, zone, n) == 0 && stub[n] == '=') {
            return true;
        }
    }
    return false;
}

static void add_stub(const struct plugin_use *use, const char *zone, const struct strings *servers)
{
    struct buf stub;
    const char *server = NULL, *separator = "";
    if (strings_is_empty(servers)) {
        translation_missing(use->t, &use->directive->head,
                            "a zone of its own needs addresses: -stub=ZONE=IP");
        return;
    }
    buf_init(&stub, COREFILE_BYTES_MAX);
    buf_printf(&stub, "%s=", zone);
    while ((server = strings_next(servers, server))) {
        buf_printf(&stub, "%s%s", separator, server);
        separator = ",";
    }
    if (has_stub(use->t, zone) && !strings_has(&use->t->stubs, buf_cstr(&stub))) {
        translation_missing(use->t, &use->directive->head,
                            "none: another block has nameservers for the zone");
    } else {
        translation_add(use->t, &use->t->stubs, STUBS_MAX, buf_cstr(&stub), &use->directive->head);
    }
    buf_fini(&stub);
}

static void add_nameservers(const struct plugin_use *use, const struct strings *servers)
{
    const char *server = NULL;
    use->t->has_forward = true;
    while ((server = strings_next(servers, server))) {
        translation_add(use->t, &use->t->nameservers, NAMESERVERS_MAX, server,
                        &use->directive->head);
    }
}

/* Of `forward .`, the zones of its block; of another, only itself. */
static void add_servers(const struct plugin_use *use, const char *from,
                        const struct strings *servers)
{
    const char *zone = NULL;
    if (!is_root(from)) {
        add_stub(use, from, servers);
        return;
    }
    while ((zone = strings_next(use->zones, zone))) {
        if (is_root(zone)) {
            add_nameservers(use, servers);
        } else {
            add_stub(use, zone, servers);
        }
    }
}

static void take_policy(const struct plugin_use *use, const struct corefile_line *line)
{
    const char *policy = line->count == 2 ? line->words[1] : "";
    if (strcmp(policy, "sequential") == 0) {
        use->t->sequential = true;
    } else {
        translation_needless(use->t, line, "-ns-rotate, the default, begins with each in turn");
    }
}

static void take_read_timeout(const struct plugin_use *use, const struct corefile_line *line)
{
    use_duration(use, line, "rtimeout", 1, RTIMEOUT_MAX_MS);
}

void translate_forward(const struct plugin_use *use)
{
    static const struct plugin_option options[] = {
        {"except", .missing = "none: give those names a -stub of their own"},
        {"force_tcp", .missing = "none: UDP first, TCP for what does not fit"},
        {"prefer_udp", .needless = "UDP first, TCP for what does not fit"},
        {"expire", .needless = "TLS connections are kept for ten seconds, others not"},
        {"max_idle_conns", .needless = "TLS connections are kept for ten seconds, others not"},
        {"max_fails", .needless = "a nameserver that does not answer is skipped until it does"},
        {"max_connect_attempts", .needless = "each nameserver is asked once for a question"},
        {"read_timeout", .take = take_read_timeout},
        {"doh_method", .missing = "none: nameservers are asked over UDP, TCP or TLS"},
        {"tls", .take = take_tls},
        {"tls_servername", .take = take_tls_servername},
        {"policy", .take = take_policy},
        {"health_check", .needless = "nameservers that do not answer are probed until they do"},
        {"max_concurrent", .needless = "10,000 at once, of which one client has at most half"},
        {"next", .missing = "none"},
        {"next_on_nodata", .missing = "none"},
        {"failfast_all_unhealthy_upstreams", .missing = "none"},
        {"failover", .needless = "after SERVFAIL or REFUSED the next nameserver is asked"},
        {"source_address", .missing = "none"},
        {"resolver", .missing = "expected IP addresses of nameservers"},
    };
    struct strings servers;
    struct buf from;
    buf_init(&from, COREFILE_BYTES_MAX);
    strings_init(&servers);
    take_servers(use, &servers);
    if (use_argument_count(use) < 2 || !zone_text(use_argument(use, 0), &from)) {
        translation_missing(use->t, &use->directive->head, "expected a zone and its nameservers");
    } else {
        add_servers(use, buf_cstr(&from), &servers);
    }
    use_options(use, options, ARRAY_LEN(options));
    strings_fini(&servers);
    buf_fini(&from);
}

/* ---- cache ---- */

/* Of each kind of replies that no line sets. */
enum { COREDNS_CAPACITY = 9984, RCACHE_MAX = 1000000 };

static bool number_of(const char *text, int64_t max, int64_t *ret_number)
{
    size_t digits = strspn(text, "0123456789");
    int64_t number =
        digits > 0 && digits < 10 && text[digits] == '\0' ? strtoll(text, NULL, 10) : -1;
    *ret_number = number < max ? number : max;
    return number >= 0;
}

/* CAPACITY [TTL [MINTTL]]; replies and denials have one cache here. */
static void take_capacity(const struct plugin_use *use, const struct corefile_line *line)
{
    int64_t capacity;
    if (line->count < 2 || !number_of(line->words[1], RCACHE_MAX, &capacity)) {
        translation_missing(use->t, line, "expected a number of replies");
        return;
    }
    int64_t others = use->t->rcache < 0 ? COREDNS_CAPACITY : use->t->rcache - COREDNS_CAPACITY;
    int64_t sum = others + capacity;
    use->t->rcache = sum < 1 ? 1 : sum > RCACHE_MAX ? RCACHE_MAX : sum;
    if (line->count > 2) {
        translation_missing(use->t, line,
                            "none: -rcache-ttl is for all replies, denials are kept "
                            "half an hour at most");
    }
}

/* Seconds of "1h", "30m", "90s", "1h30m". -1: something else. */
static int64_t duration_s(const char *text)
{
    int64_t total_s = 0;
    bool is_empty = true;
    while (*text) {
        char *unit;
        if (*text < '0' || *text > '9' || strspn(text, "0123456789") > 9) {
            return -1;
        }
        int64_t n = strtol(text, &unit, 10);
        int64_t unit_s = *unit == 'h' ? 3600 : *unit == 'm' ? 60 : *unit == 's' ? 1 : 0;
        if (!unit_s || (*unit == 'm' && unit[1] == 's') || total_s > INT32_MAX) {
            return -1;
        }
        total_s += n * unit_s;
        text = unit + 1;
        is_empty = false;
    }
    return is_empty ? -1 : total_s;
}

static void take_serve_stale(const struct plugin_use *use, const struct corefile_line *line)
{
    int64_t stale_s = line->count > 1 ? duration_s(line->words[1]) : 3600;
    if (stale_s < 0) {
        translation_missing(use->t, line, "expected a duration in hours, minutes and seconds");
        return;
    }
    if (stale_s > RCACHE_STALE_MAX_S) {
        translation_missing(use->t, line, "beyond what the flag takes: 720h is its limit");
        stale_s = RCACHE_STALE_MAX_S;
    }
    use->t->rcache_stale_s = stale_s;
    if (line->count > 2) {
        translation_missing(use->t, line,
                            "none: a stale reply is used when no nameserver has "
                            "answered for 1.8 s");
    }
}

/* Zones after it: ours are not in the cache anyway. */
static void take_disable(const struct plugin_use *use, const struct corefile_line *line)
{
    bool is_ours = line->count > 2;
    struct buf zone;
    buf_init(&zone, COREFILE_BYTES_MAX);
    for (size_t i = 2; i < line->count; i++) {
        is_ours &=
            zone_text(line->words[i], &zone) &&
            (strings_has(&use->t->domains, buf_cstr(&zone)) || zone_is_reverse(buf_cstr(&zone)));
    }
    buf_fini(&zone);
    if (is_ours) {
        translation_needless(use->t, line, "own records are never in the cache");
    } else {
        translation_missing(use->t, line, "none: replies and denials of all names are kept");
    }
}

void translate_cache(const struct plugin_use *use)
{
    static const struct plugin_option options[] = {
        {"success", .take = take_capacity},
        {"denial", .take = take_capacity},
        {"prefetch", .needless = "names asked at least three times are asked again before they "
                                 "expire"},
        {"serve_stale", .take = take_serve_stale},
        {"serve_stale_policy", .missing = "none"},
        {"servfail", .needless = "failures are kept 1 s, doubling up to 30 s while they last"},
        {"disable", .take = take_disable},
        {"keepttl", .missing = "none: TTLs count down"},
    };
    const struct corefile_line *head = &use->directive->head;
    int64_t ttl_s = -1;
    bool is_of_root = strings_has(use->zones, ".");
    size_t zones = use_argument_count(use);
    if (zones > 0 && number_of(use_argument(use, 0), INT32_MAX, &ttl_s)) {
        zones--;
    }
    if (zones > 0) {
        translation_needless(use->t, head, "one cache for all names but our own");
    }
    use->t->has_cache = true;
    if (is_of_root && ttl_s > 0) {
        use->t->rcache_ttl_s = ttl_s;
    } else if (ttl_s >= 0) {
        translation_missing(use->t, head,
                            is_of_root ? "expected a TTL of at least 1"
                                       : "none: one -rcache-ttl for all zones");
    }
    use_options(use, options, ARRAY_LEN(options));
    if (use->t->rcache_stale_s < 0) {
        translation_needless(
            use->t, head,
            "without serve_stale, too, an expired reply is used when no nameserver "
            "answers; -rcache-stale=0 turns that off");
    }
}

/* ---- hosts ---- */

static bool is_host(const char *name)
{
    struct buf ignored;
    buf_init(&ignored, COREFILE_BYTES_MAX);
    bool is_it = !strchr(name, '/') && zone_text(name, &ignored);
    buf_fini(&ignored);
    return is_it;
}

/* "10.0.0.1 name...": into the file that the translation has. */
static bool add_entry(const struct plugin_use *use, const struct corefile_line *line)
{
    struct buf entry;
    struct ip ip;
    bool is_entry = line->count > 1 && ip_parse(slice_str(line->words[0]), &ip);
    buf_init(&entry, COREFILE_BYTES_MAX);
    for (size_t i = 0; i < line->count && is_entry; i++) {
        is_entry = i == 0 || is_host(line->words[i]);
        buf_printf(&entry, "%s%s", i ? " " : "", line->words[i]);
    }
    if (is_entry) {
        strings_add(&use->t->hosts, buf_cstr(&entry));
    }
    buf_fini(&entry);
    return is_entry;
}

/* Options begin with a letter, entries with an address; of IPv6, one may begin with a letter. */
static void take_hosts_line(const struct plugin_use *use, const struct corefile_line *line)
{
    static const struct {
        const char *name;
        const char *missing;
        const char *needless;
    } options[] = {
        {"ttl", "none: 30 s", NULL},
        {"no_reverse", "none: its addresses have reverse names", NULL},
        {"reload", NULL, "files are followed"},
        {"fallthrough", NULL, "names that are not in the files go to the nameservers"},
    };
    for (size_t i = 0; i < ARRAY_LEN(options); i++) {
        if (strcmp(line->words[0], options[i].name) == 0) {
            if (options[i].missing) {
                translation_missing(use->t, line, options[i].missing);
            } else {
                translation_needless(use->t, line, options[i].needless);
            }
            return;
        }
    }
    if (!add_entry(use, line)) {
        translation_missing(use->t, line, "expected an address and its names");
    }
}

void translate_hosts(const struct plugin_use *use)
{
    const struct corefile_directive *directive = use->directive;
    bool has_fallthrough = false;
    size_t before = use->t->hosts.bytes.len;
    for (size_t i = 0; i < directive->line_count; i++) {
        has_fallthrough |= strcmp(directive->lines[i].words[0], "fallthrough") == 0;
        take_hosts_line(use, &directive->lines[i]);
    }
    if (use_argument_count(use) > 0) {
        translation_flag(&use->t->skydns, "-hosts=%s", use_argument(use, 0));
    } else if (use->t->hosts.bytes.len == before) {
        strings_add_once(&use->t->skydns, "-hosts=/etc/hosts");
    }
    if (use_argument_count(use) > 1) {
        translation_missing(use->t, &directive->head,
                            "none for its zones: the file is for all names but those of -domain");
    }
    if (!has_fallthrough) {
        translation_missing(use->t, &directive->head,
                            "without fallthrough: names that are not in it go to the nameservers");
    }
}
