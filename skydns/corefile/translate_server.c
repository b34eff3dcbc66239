/* What concerns the server itself: its addresses, HTTP, logs, and how it answers. */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "common/base/addr.h"
#include "common/base/attributes.h"
#include "skydns/corefile/translate_internal.h"

/* ---- Addresses ---- */

/* Of skydns -max-udp-size and -workers. */
enum { UDP_SIZE_MIN = 512, UDP_SIZE_MAX = 4096, WORKERS_MAX = 64 };

/* Of -lameduck. */
enum { LAMEDUCK_MAX_MS = 60 * 60 * 1000 };

/* Where a key of a block listens. */
struct place {
    const char *scheme; /* "" or "tls://" */
    unsigned port;
};

/* "0.0.0.0:53" for any, as every node has IPv4. */
static void append_address(const char *ip, const struct place *place, struct buf *out)
{
    bool is_v6 = strchr(ip, ':') != NULL;
    buf_printf(out, "%s%s%s%s:%u", place->scheme, is_v6 ? "[" : "", ip, is_v6 ? "]" : "",
               place->port);
}

static void listen_on(struct translation *t, const struct corefile_line *keys,
                      const struct corefile_directive *bind, const struct place *place)
{
    struct buf text;
    struct ip ip;
    bool has_any = false;
    buf_init(&text, COREFILE_BYTES_MAX);
    for (size_t i = 1; bind && i < bind->head.count; i++) {
        buf_clear(&text);
        if (ip_parse(slice_str(bind->head.words[i]), &ip)) {
            append_address(bind->head.words[i], place, &text);
            translation_add(t, &t->listen, LISTEN_MAX, buf_cstr(&text), &bind->head);
            has_any = true;
        } else {
            translation_missing(t, &bind->head, "expected addresses: put those of the interface");
        }
    }
    if (!has_any) {
        buf_clear(&text);
        append_address("0.0.0.0", place, &text);
        translation_add(t, &t->listen, LISTEN_MAX, buf_cstr(&text), keys);
    }
    buf_fini(&text);
}

/* The port after the last colon, else that of the scheme. Cuts it off. False: no number. */
static bool take_port(char *zone, struct place *place)
{
    char *colon = strrchr(zone, ':');
    if (!colon) {
        return true;
    }
    size_t digits = strspn(colon + 1, "0123456789");
    place->port = digits > 0 && digits <= 5 ? (unsigned)strtoul(colon + 1, NULL, 10) : 0;
    bool is_port = colon[1 + digits] == '\0' && place->port >= 1 && place->port <= 65535;
    *colon = '\0';
    return is_port;
}

/* What follows the scheme. NULL: it has no counterpart. */
static const char *take_scheme(struct translation *t, const struct corefile_line *keys,
                               const char *key, struct place *place)
{
    static const struct {
        const char *prefix;
        struct place place;
    } schemes[] = {
        {"dns://", {"", 53}},
        {"tls://", {"tls://", 853}},
        {"https://", {"https://", 443}},
        {"grpc://", {"grpc://", 443}},
    };
    *place = schemes[0].place;
    if (!strstr(key, "://")) {
        return key;
    }
    for (size_t i = 0; i < ARRAY_LEN(schemes); i++) {
        size_t len = strlen(schemes[i].prefix);
        if (strncasecmp(key, schemes[i].prefix, len) == 0) {
            *place = schemes[i].place;
            return key + len;
        }
    }
    translation_missing(t, keys, "none: no DNS over QUIC or HTTP/3");
    return NULL;
}

static void take_key(struct translation *t, const struct corefile_block *block,
                     const struct corefile_directive *bind, const char *key, struct strings *zones)
{
    struct buf copy, zone;
    struct place place;
    key = take_scheme(t, &block->keys, key, &place);
    if (!key) {
        return;
    }
    buf_init(&copy, COREFILE_BYTES_MAX);
    buf_init(&zone, COREFILE_BYTES_MAX);
    buf_append(&copy, key, strlen(key) + 1);
    char *text = (char *)copy.data;
    if (!take_port(text, &place) || !zone_text(*text ? text : ".", &zone)) {
        translation_missing(t, &block->keys, "expected a zone and a port, like example.org:53");
    } else {
        strings_add_once(zones, buf_cstr(&zone));
        listen_on(t, &block->keys, bind, &place);
    }
    buf_fini(&zone);
    buf_fini(&copy);
}

void translate_listen(struct translation *t, const struct corefile_block *block,
                      const struct corefile_directive *bind, struct strings *ret_zones)
{
    bool had_others = !strings_is_empty(&t->listen);
    size_t before = t->listen.bytes.len;
    for (size_t i = 0; i < block->keys.count; i++) {
        take_key(t, block, bind, block->keys.words[i], ret_zones);
    }
    if (had_others && t->listen.bytes.len > before) {
        translation_missing(t, &block->keys,
                            "addresses differ between blocks: all names are answered on all of "
                            "them");
    }
}

/* ---- HTTP ---- */

/* ":8080", "127.0.0.1:9153", "localhost:9153" */
static void take_http(const struct plugin_use *use, enum http_plugin plugin, const char *if_none,
                      const char *note)
{
    struct buf *out = &use->t->http[plugin];
    const char *text = use_argument_count(use) ? use_argument(use, 0) : if_none;
    struct addr addr;
    struct buf whole;
    char formatted[ADDR_TEXT_MAX];
    buf_init(&whole, COREFILE_BYTES_MAX);
    if (strncmp(text, "localhost:", 10) == 0) {
        buf_printf(&whole, "127.0.0.1%s", text + 9);
    } else {
        buf_printf(&whole, "%s%s", text[0] == ':' ? "0.0.0.0" : "", text);
    }
    if (addr_parse(buf_cstr(&whole), &addr, NULL) < 0) {
        translation_missing(use->t, &use->directive->head, "expected an address and a port");
    } else {
        buf_clear(out);
        buf_append_str(out, addr_format(&addr, formatted));
        translation_needless(use->t, &use->directive->head, note);
    }
    buf_fini(&whole);
}

static void take_lameduck(const struct plugin_use *use, const struct corefile_line *line)
{
    use_duration(use, line, "lameduck", 0, LAMEDUCK_MAX_MS);
}

void translate_health(const struct plugin_use *use)
{
    static const struct plugin_option options[] = {{"lameduck", .take = take_lameduck}};
    take_http(use, HTTP_HEALTH, ":8080", "/healthz on the port of -http-addr");
    use_options(use, options, ARRAY_LEN(options));
}

void translate_ready(const struct plugin_use *use)
{
    static const struct plugin_option options[] = {
        {"monitor", .needless = "once ready, ready until it stops"}};
    take_http(use, HTTP_READY, ":8181", "/readiness on the port of -http-addr");
    use_options(use, options, ARRAY_LEN(options));
}

void translate_prometheus(const struct plugin_use *use)
{
    take_http(use, HTTP_PROMETHEUS, "localhost:9153",
              "/metrics on the port of -http-addr, with names of its own: see skydns(8), METRICS");
}

/* ---- Logs and answers ---- */

/* Of CoreDNS's classes, in any combination. */
static const char *query_log_of(const struct corefile_directive *log)
{
    bool has_class = false, has_denial = false, has_error = false, has_more = false;
    for (size_t i = 0; i < log->line_count; i++) {
        const struct corefile_line *line = &log->lines[i];
        for (size_t k = 1; k < line->count && strcmp(line->words[0], "class") == 0; k++) {
            bool is_denial = strcmp(line->words[k], "denial") == 0;
            bool is_error = strcmp(line->words[k], "error") == 0;
            has_class = true;
            has_denial |= is_denial;
            has_error |= is_error;
            has_more |= !is_denial && !is_error;
        }
    }
    return !has_class || has_more || has_denial == has_error ? "all"
           : has_denial                                      ? "denials"
                                                             : "errors";
}

void translate_log(const struct plugin_use *use)
{
    struct translation *t = use->t;
    const char *rule = query_log_of(use->directive);
    t->query_log = t->query_log && strcmp(t->query_log, rule) != 0 ? "all" : rule;
    if (use_argument_count(use) > 0) {
        translation_missing(t, &use->directive->head,
                            "-query-log is for the names of all blocks, in a form of its own");
    }
}

/* "/x", "unix:///x" -> "unix:/x"; "tcp://127.0.0.1:6000" as it is. False: something else. */
static bool sink_text(const char *sink, struct buf *out)
{
    static const char unix_scheme[] = "unix://", tcp_scheme[] = "tcp://";
    struct addr addr;
    char text[ADDR_TEXT_MAX];
    if (strncmp(sink, tcp_scheme, strlen(tcp_scheme)) == 0) {
        if (addr_parse(sink + strlen(tcp_scheme), &addr, NULL) < 0) {
            return false;
        }
        buf_printf(out, "%s%s", tcp_scheme, addr_format(&addr, text));
        return true;
    }
    if (strncmp(sink, unix_scheme, strlen(unix_scheme)) == 0) {
        sink += strlen(unix_scheme);
    }
    buf_printf(out, "unix:%s", sink);
    return *sink == '/' && sink[strlen(sink) - 1] != '/';
}

static void take_sink(const struct plugin_use *use, const char *flag)
{
    struct translation *t = use->t;
    if (t->has_dnstap && !strings_has(&t->skydns, flag)) {
        translation_missing(t, &use->directive->head, "-dnstap has one sink, of all blocks");
        return;
    }
    t->has_dnstap = true;
    strings_add_once(&t->skydns, flag);
    if (use_argument_count(use) == 1) {
        translation_needless(t, &use->directive->head, "-dnstap has the whole messages, as `full`");
    }
}

void translate_dnstap(const struct plugin_use *use)
{
    static const struct plugin_option options[] = {
        {"identity", .missing = "none: the identity is the host's name"},
        {"version", .missing = "none: the version is our own"},
        {"extra", .missing = "none"},
        {"skipverify", .missing = "none: no TLS to the sink"},
    };
    struct buf flag;
    buf_init(&flag, COREFILE_BYTES_MAX);
    buf_append_str(&flag, "-dnstap=");
    if (use_argument_count(use) == 0 || !sink_text(use_argument(use, 0), &flag)) {
        translation_missing(use->t, &use->directive->head,
                            "expected the path of a Unix socket, or tcp://IP:port");
    } else {
        take_sink(use, buf_cstr(&flag));
    }
    buf_fini(&flag);
    use_options(use, options, ARRAY_LEN(options));
}

void translate_debug(const struct plugin_use *use)
{
    strings_add_once(&use->t->skydns, "-log-level=debug");
}

void translate_any(const struct plugin_use *use)
{
    strings_add_once(&use->t->skydns, "-any=hinfo");
}

void translate_chaos(const struct plugin_use *use)
{
    if (use_argument_count(use) > 0) {
        translation_missing(use->t, &use->directive->head,
                            "none: version.bind and the like are answered, with our version");
    } else {
        translation_needless(use->t, &use->directive->head, "-chaos is the default");
    }
}

static void take_number(const struct plugin_use *use, const char *flag, long min, long max)
{
    const char *text = use_argument_count(use) == 1 ? use_argument(use, 0) : "";
    size_t digits = strspn(text, "0123456789");
    long number = digits > 0 && digits < 9 && text[digits] == '\0' ? strtol(text, NULL, 10) : -1;
    if (number < min || number > max) {
        translation_missing(use->t, &use->directive->head, "beyond what the flag takes");
        return;
    }
    translation_flag(&use->t->skydns, "-%s=%ld", flag, number);
}

void translate_bufsize(const struct plugin_use *use)
{
    if (use_argument_count(use) == 0) {
        translation_needless(use->t, &use->directive->head, "-max-udp-size is 1232 by default");
    } else {
        take_number(use, "max-udp-size", UDP_SIZE_MIN, UDP_SIZE_MAX);
    }
}

void translate_multisocket(const struct plugin_use *use)
{
    if (use_argument_count(use) == 0) {
        translation_needless(use->t, &use->directive->head, "-workers is one per CPU by default");
    } else {
        take_number(use, "workers", 1, WORKERS_MAX);
    }
}

void translate_loadbalance(const struct plugin_use *use)
{
    const char *policy = use_argument_count(use) ? use_argument(use, 0) : "round_robin";
    use->t->has_loadbalance = true;
    if (strcmp(policy, "round_robin") == 0) {
        translation_needless(use->t, &use->directive->head, "-round-robin is the default");
    } else {
        translation_missing(use->t, &use->directive->head, "none: addresses are shuffled");
    }
}
