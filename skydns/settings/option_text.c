#include "skydns/settings/option_text.h"

#include <stdio.h>

#include "common/base/addr.h"
#include "common/base/flags.h"
#include "common/base/log.h"
#include "common/base/version.h"
#include "skydns/settings/option_lists.h"
#include "skydns/settings/option_values.h"
#include "skydns/settings/setting_values_internal.h"
#include "skydns/settings/settings_table.h"
#include "skydns/settings/stub_zones.h"

/* ---- Lists ---- */

static void write_separator(struct buf *out, const char *separator, size_t index)
{
    buf_append_str(out, index ? separator : "");
}

static void option_text_write_name(const struct dname *name, struct buf *out)
{
    char text[DNAME_TEXT_MAX];
    buf_append_str(out, name->len ? dname_to_text(name, text) : "");
}

void option_text_stubs(const struct options *o, struct buf *out)
{
    size_t count;
    const struct forward_zone *zones = stub_zones_items(o->stubs, &count);
    for (size_t i = 0; i < count; i++) {
        write_separator(out, " ", i);
        option_text_write_name(&zones[i].name, out);
        buf_append_str(out, zones[i].server_count ? "" : "=none");
        for (size_t k = 0; k < zones[i].server_count; k++) {
            char text[NAMESERVER_TEXT_MAX];
            buf_printf(out, "%c%s", k ? ',' : '=', nameserver_format(&zones[i].servers[k], text));
        }
    }
}

void option_text_addresses(const struct options *o, struct buf *out)
{
    char text[OPTION_LISTENER_MAX];
    for (size_t i = 0; i < o->address_count; i++) {
        write_separator(out, " ", i);
        buf_append_str(out, addr_format(&o->addresses[i], text));
    }
    for (size_t i = 0; i < o->stream_count; i++) {
        write_separator(out, " ", o->address_count + i);
        buf_append_str(out, option_stream_text(&o->streams[i], text));
    }
}

/* ---- Values as their flags take them ---- */

void option_text_hostmaster(const struct options *o, struct buf *out)
{
    option_text_write_name(&o->hostmaster, out);
}

void option_text_local(const struct options *o, struct buf *out)
{
    option_text_write_name(&o->engine.local, out);
}

void option_text_dnssec(const struct options *o, struct buf *out)
{
    buf_append_str(out, o->dnssec);
}

void option_text_dns64(const struct options *o, struct buf *out)
{
    if (o->engine.dns64.is_on) {
        option_list_show_ipv6(&o->engine.dns64.prefix, out);
    }
}

void option_text_allow(const struct options *o, struct buf *out)
{
    const struct engine_settings *engine = &o->engine;
    buf_append_str(out, !engine->is_restricted ? "all" : engine->admitted_count == 0 ? "none" : "");
    option_list_show(OPTION_ADMITTED, o, out);
}

static void write_rate(uint32_t rate, uint32_t burst, struct buf *out)
{
    if (rate == 0) {
        buf_append_str(out, "off");
    } else {
        buf_printf(out, "%u/%u", rate, burst);
    }
}

void option_text_rate(const struct options *o, struct buf *out)
{
    write_rate(o->engine.rate, o->engine.rate_burst, out);
}

void option_text_rate_namespace(const struct options *o, struct buf *out)
{
    write_rate(o->engine.rate_namespace, o->engine.rate_namespace_burst, out);
}

void option_text_query_log(const struct options *o, struct buf *out)
{
    if (o->query_log.mode == QUERY_LOG_SOME) {
        buf_printf(out, "1/%u", o->query_log.every);
    } else {
        buf_append_str(out, option_query_log_mode(o->query_log.mode));
    }
}

/* ---- Changes ---- */

/* Writes "old -> new"; the text is empty if they are the same. */
static void write_change(const struct setting *setting, const struct options *before,
                         const struct options *now, struct buf *text)
{
    static const char arrow[] = " -> ";
    setting_show(setting, before, text);
    size_t old_len = text->len, new_at = old_len + sizeof(arrow) - 1;
    buf_append_str(text, arrow);
    setting_show(setting, now, text);
    if (slice_equal(slice_of(text->data, old_len),
                    slice_of(text->data + new_at, text->len - new_at))) {
        buf_clear(text);
    }
}

void option_changes_init(struct option_changes *changes, bool needs_restart,
                         const struct options *before, const struct options *now)
{
    size_t count;
    const struct setting *settings = settings_table(&count);
    changes->count = 0;
    buf_init(&changes->names, OPTION_TEXT_MAX);
    for (size_t i = 0; i < count; i++) {
        struct buf text;
        if (!settings[i].field || (settings[i].taker == SETTING_AT_START) != needs_restart) {
            continue;
        }
        buf_init(&text, 2 * OPTION_TEXT_MAX);
        write_change(&settings[i], before, now, &text);
        if (text.len == 0) {
            buf_fini(&text);
            continue;
        }
        write_separator(&changes->names, " ", changes->count);
        buf_append_str(&changes->names, settings[i].field);
        changes->items[changes->count].name = settings[i].field;
        changes->items[changes->count++].text = text;
    }
}

void option_changes_fini(struct option_changes *changes)
{
    for (size_t i = 0; i < changes->count; i++) {
        buf_fini(&changes->items[i].text);
    }
    buf_fini(&changes->names);
}

bool option_same_upstream(const struct options *a, const struct options *b)
{
    size_t count;
    const struct setting *settings = settings_table(&count);
    bool is_same = true;
    CLEANUP_BUF struct buf text = buf_of(2 * OPTION_TEXT_MAX);
    for (size_t i = 0; is_same && i < count; i++) {
        if (settings[i].taker == SETTING_UPSTREAM) {
            write_change(&settings[i], a, b, &text);
            is_same = text.len == 0;
        }
    }
    return is_same;
}

/* ---- The start ---- */

/* Room for names in one log line: at most 64, none longer than 16. */
enum { IGNORED_NAMES_MAX = 1024 };

void option_text_log_ignored(const struct flag_strings *ignored)
{
    CLEANUP_BUF struct buf names = buf_of(IGNORED_NAMES_MAX);
    for (size_t i = 0; i < ignored->count; i++) {
        buf_printf(&names, "%s%s", i ? " " : "", ignored->items[i]);
    }
    if (ignored->count > 0) {
        log_warn("accepted and ignored", LOG_STR("settings", buf_cstr(&names)));
    }
}

static void log_prometheus(const struct options *o)
{
    char line[128];
    (void)snprintf(line, sizeof(line), "skydns: metrics enabled on :%u%s", o->prometheus_port,
                   o->prometheus_path); /* a truncated path is still recognisable */
    log_info(line);
}

void option_text_log_start(const struct options *options, const char *addresses)
{
    if (options->prometheus_port) {
        log_prometheus(options);
    }
    CLEANUP_BUF struct buf domains = buf_of(OPTION_TEXT_MAX);
    CLEANUP_BUF struct buf nameservers = buf_of(OPTION_TEXT_MAX);
    option_list_show(OPTION_DOMAINS, options, &domains);
    option_list_show(OPTION_NAMESERVERS, options, &nameservers);
    log_info("skydns started", LOG_STR("version", version_string),
             LOG_INT("workers", options->workers), LOG_STR("machines", options->machines),
             LOG_STR("addresses", addresses), LOG_STR("domains", buf_cstr(&domains)),
             LOG_SLICE("schema", flags_choice(ENGINE_SCHEMA_CHOICES, (int)options->engine.schema)),
             LOG_STR("nameservers", buf_cstr(&nameservers)));
}
