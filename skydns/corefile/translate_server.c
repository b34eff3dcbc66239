/* Translates the server itself: HTTP, logs, and how it answers. */
#include <inttypes.h>
#include <string.h>

#include "common/base/addr.h"
#include "common/base/attributes.h"
#include "skydns/corefile/translate_internal.h"

/* Limits of -max-udp-size, -workers and -lameduck. */
enum { UDP_SIZE_MIN = 512, UDP_SIZE_MAX = 4096, WORKERS_MAX = 64 };
enum { LAMEDUCK_MAX_MS = 60 * 60 * 1000 };

/* ---- HTTP ---- */

/* Takes ":8080", "127.0.0.1:9153", "localhost:9153". */
static void take_http(const struct plugin_use *use, enum http_plugin plugin, const char *if_none,
                      const char *note)
{
    struct buf *out = &use->t->http[plugin];
    const char *text = use_argument_count(use) ? use_argument(use, 0) : if_none;
    struct addr addr;
    char formatted[ADDR_TEXT_MAX], scope[IF_NAMESIZE];
    CLEANUP_BUF struct buf whole = buf_of(COREFILE_BYTES_MAX);
    if (strncmp(text, "localhost:", 10) == 0) {
        buf_printf(&whole, "127.0.0.1%s", text + 9);
    } else {
        buf_printf(&whole, "%s%s", text[0] == ':' ? "0.0.0.0" : "", text);
    }
    if (!addr_parse_remote(buf_cstr(&whole), 0, &addr, scope)) {
        use_note(use, NOTE_MISSING, "expected an address and a port");
    } else if (out->len && strcmp(buf_cstr(out), addr_format(&addr, formatted)) != 0) {
        use_note(use, NOTE_MISSING, "none: -http-addr is one address, another line has it first");
    } else {
        buf_clear(out);
        buf_append_str(out, addr_format_remote(&addr, scope, formatted));
        use_note(use, NOTE_NEEDLESS, note);
    }
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
        {"monitor", NEEDLESS("once ready, ready until it stops")}};
    take_http(use, HTTP_READY, ":8181", "/readiness on the port of -http-addr");
    use_options(use, options, ARRAY_LEN(options));
}

static void take_http_tls(const struct plugin_use *use, const struct corefile_line *line)
{
    use->t->has_http_tls = true;
    note_line(use->t, NOTE_NARROWER, line, "-http-addr is without TLS: none is given");
}

void translate_prometheus(const struct plugin_use *use)
{
    static const struct plugin_option options[] = {
        {"runtime_metrics", MISSING("none: no Go runtime")},
        {"tls", .take = take_http_tls},
    };
    use_options(use, options, ARRAY_LEN(options));
    take_http(use, HTTP_PROMETHEUS, "localhost:9153",
              "/metrics on the port of -http-addr, with names of its own: see skydns(8), METRICS");
}

static bool is_loopback(const char *address)
{
    return strncmp(address, "127.", 4) == 0 || strncmp(address, "[::1]:", 6) == 0;
}

/* Returns whether they have one address: "10.0.0.1:9153" and "tls://10.0.0.1:853" do. */
static bool translate_server_is_at(const char *listener, const char *address)
{
    const char *scheme_end = strstr(listener, "://");
    listener = scheme_end ? scheme_end + strlen("://") : listener;
    size_t n = (size_t)(strrchr(address, ':') - address);
    return strncmp(listener, "0.0.0.0:", 8) == 0 || strncmp(listener, "[::]:", 5) == 0 ||
           (strncmp(listener, address, n) == 0 && listener[n] == ':');
}

static bool is_answered_at(const struct translation *t, const char *address)
{
    for (const char *listener = NULL; (listener = strings_next(&t->listen, listener));) {
        if (translate_server_is_at(listener, address)) {
            return true;
        }
    }
    return false;
}

/* Settles HTTP, which has /explain, as CoreDNS has not: it answers whoever reaches it. */
void translate_settle_http(struct translation *t)
{
    for (size_t i = 0; i < HTTP_PLUGINS; i++) {
        const char *address = t->http[i].len ? buf_cstr(&t->http[i]) : "127.0.0.1:1";
        const char *why = NULL;
        if (t->has_http_tls) {
            why = "-http-addr is without TLS";
        } else if (!strings_is_empty(&t->allow) && !is_loopback(address)) {
            why = "-allow is not for HTTP, where /explain shows all names: only 127.0.0.1 may be "
                  "-http-addr";
        } else if (!is_loopback(address) && !is_answered_at(t, address)) {
            why = "DNS is not answered there, but HTTP would be, where /explain shows all names";
        }
        if (why && t->http[i].len) {
            note_item(t, NOTE_NARROWER, address, why);
            buf_clear(&t->http[i]);
        }
    }
}

/* ---- Logs and answers ---- */

/* Returns the counterpart of CoreDNS's classes, in any combination. */
static const char *query_log_of(const struct corefile_directive *log, bool *ret_is_exact)
{
    bool has_class = false, has_denial = false, has_error = false, has_more = false;
    bool has_success = false, has_all = false;
    for (size_t i = 0; i < log->line_count; i++) {
        const struct corefile_line *line = &log->lines[i];
        for (size_t k = 1; k < line->count && corefile_line_is(line, "class"); k++) {
            bool is_denial = strcmp(line->words[k], "denial") == 0;
            bool is_error = strcmp(line->words[k], "error") == 0;
            has_class = true;
            has_denial |= is_denial;
            has_error |= is_error;
            has_more |= !is_denial && !is_error;
            has_success |= strcmp(line->words[k], "success") == 0;
            has_all |= strcmp(line->words[k], "all") == 0;
        }
    }
    *ret_is_exact = !has_class || has_all || (has_success && has_denial && has_error) ||
                    (!has_more && has_denial != has_error);
    return !has_class || has_more || has_denial == has_error ? "all"
           : has_denial                                      ? "denials"
                                                             : "errors";
}

void translate_log(const struct plugin_use *use)
{
    struct translation *t = use->t;
    bool is_exact;
    const char *rule = query_log_of(use->directive, &is_exact);
    is_exact &= !t->query_log || strcmp(t->query_log, rule) == 0;
    t->query_log = t->query_log && strcmp(t->query_log, rule) != 0 ? "all" : rule;
    if (!is_exact) {
        use_note(use, NOTE_MISSING,
                 "-query-log is all, denials or errors: it has more than these classes");
    }
    if (use_argument_count(use) > 0) {
        use_note(use, NOTE_MISSING,
                 "-query-log is for the names of all blocks, in a form of its own");
    }
}

/* Writes "/x" and "unix:///x" as "unix:/x"; "tcp://127.0.0.1:6000" as it is. Returns false for
 * something else. */
static bool sink_text(const char *sink, struct buf *out)
{
    static const char unix_scheme[] = "unix://", tcp_scheme[] = "tcp://";
    struct addr addr;
    char text[ADDR_TEXT_MAX], scope[IF_NAMESIZE];
    if (strncmp(sink, tcp_scheme, strlen(tcp_scheme)) == 0) {
        if (!addr_parse_remote(sink + strlen(tcp_scheme), 0, &addr, scope)) {
            return false;
        }
        buf_printf(out, "%s%s", tcp_scheme, addr_format_remote(&addr, scope, text));
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
        use_note(use, NOTE_MISSING, "-dnstap has one sink, of all blocks");
        return;
    }
    t->has_dnstap = true;
    strings_add_once(&t->skydns, flag);
    if (use_argument_count(use) == 1) {
        use_note(use, NOTE_NEEDLESS, "-dnstap has the whole messages, as `full`");
    }
}

void translate_dnstap(const struct plugin_use *use)
{
    static const struct plugin_option options[] = {
        {"identity", MISSING("none: the identity is the host's name")},
        {"version", MISSING("none: the version is our own")},
        {"extra", MISSING("none")},
        {"skipverify", MISSING("none: no TLS to the sink")},
        {"tls", MISSING("none: no TLS to the sink")},
    };
    CLEANUP_BUF struct buf flag = buf_of(COREFILE_BYTES_MAX);
    buf_append_str(&flag, "-dnstap=");
    if (use_argument_count(use) == 0 || !sink_text(use_argument(use, 0), &flag)) {
        use_note(use, NOTE_MISSING, "expected the path of a Unix socket, or tcp://IP:port");
    } else {
        take_sink(use, buf_cstr(&flag));
    }
    use_options(use, options, ARRAY_LEN(options));
}

void translate_debug(const struct plugin_use *use)
{
    strings_add_once(&use->t->skydns, "-log-level=debug");
}

void translate_any(const struct plugin_use *use)
{
    use->t->has_any = true;
}

void translate_settle_any(struct translation *t)
{
    if (t->has_any && (t->root == ROOT_FORWARDED || !strings_is_empty(&t->stubs))) {
        note_item(t, NOTE_MISSING, "any",
                  "-any=hinfo is for names of ours: ANY of others is REFUSED");
    }
}

void translate_chaos(const struct plugin_use *use)
{
    use->t->has_chaos = true;
    if (use_argument_count(use) > 0) {
        use_note(use, NOTE_MISSING,
                 "none: version.bind and the like are answered, with our version");
    } else {
        use_note(use, NOTE_NEEDLESS, "-chaos is the default: version.bind and the like");
    }
}

/* Takes the plugin's only word as a flag's number; without one, the flag's default does. */
static void translate_server_take_number(const struct plugin_use *use, const char *flag,
                                         int64_t min, int64_t max, const char *by_default)
{
    int64_t number;
    if (use_argument_count(use) == 0) {
        use_note(use, NOTE_NEEDLESS, by_default);
    } else if (use_argument_count(use) != 1 ||
               !word_number(use_argument(use, 0), max + 1, &number) || number < min ||
               number > max) {
        use_note(use, NOTE_MISSING, "beyond what the flag takes");
    } else {
        translation_flag(&use->t->skydns, "-%s=%" PRId64, flag, number);
    }
}

void translate_bufsize(const struct plugin_use *use)
{
    translate_server_take_number(use, "max-udp-size", UDP_SIZE_MIN, UDP_SIZE_MAX,
                                 "-max-udp-size is 1232 by default");
}

void translate_multisocket(const struct plugin_use *use)
{
    translate_server_take_number(use, "workers", 1, WORKERS_MAX,
                                 "-workers is one per CPU by default");
}

void translate_loadbalance(const struct plugin_use *use)
{
    static const struct plugin_option options[] = {
        {"reload", MISSING("none: no file of weights")},
        {"prefer", MISSING("none: no network comes first")},
    };
    const char *policy = use_argument_count(use) ? use_argument(use, 0) : "round_robin";
    use->t->has_loadbalance = true;
    use_options(use, options, ARRAY_LEN(options));
    if (strcmp(policy, "round_robin") == 0) {
        use_note(use, NOTE_NEEDLESS, "-round-robin is the default");
    } else {
        use_note(use, NOTE_MISSING, "none: addresses are shuffled");
    }
}
