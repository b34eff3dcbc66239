#include "skydns/settings/option_text.h"

#include "common/base/addr.h"
#include "common/base/attributes.h"
#include "common/base/duration.h"
#include "skydns/settings/option_values.h"
#include "skydns/settings/stub_zones.h"

/* ---- Lists ---- */

static void write_separator(struct buf *out, size_t index)
{
    buf_append_str(out, index ? " " : "");
}

static void write_name(const struct dname *name, struct buf *out)
{
    char text[DNAME_TEXT_MAX];
    buf_append_str(out, name->len ? dname_to_text(name, text) : "");
}

static void write_addresses(const struct addr *addresses, size_t count, struct buf *out)
{
    char text[ADDR_TEXT_MAX];
    for (size_t i = 0; i < count; i++) {
        write_separator(out, i);
        buf_append_str(out, addr_format(&addresses[i], text));
    }
}

void option_text_domains(const struct options *o, struct buf *out)
{
    for (size_t i = 0; i < o->domain_count; i++) {
        write_separator(out, i);
        write_name(&o->domains[i], out);
    }
}

void option_text_nameservers(const struct options *o, struct buf *out)
{
    char text[NAMESERVER_TEXT_MAX];
    for (size_t i = 0; i < o->nameserver_count; i++) {
        write_separator(out, i);
        buf_append_str(out, nameserver_format(&o->nameservers[i], text));
    }
}

void option_text_stubs(const struct options *o, struct buf *out)
{
    size_t count;
    const struct foreign_zone *zones = stub_zones_items(o->stubs, &count);
    for (size_t i = 0; i < count; i++) {
        write_separator(out, i);
        write_name(&zones[i].name, out);
        buf_append_str(out, zones[i].server_count ? "" : "=none");
        for (size_t k = 0; k < zones[i].server_count; k++) {
            char text[NAMESERVER_TEXT_MAX];
            buf_printf(out, "%c%s", k ? ',' : '=', nameserver_format(&zones[i].servers[k], text));
        }
    }
}

const char *option_text_schema(enum engine_schema schema)
{
    switch (schema) {
    case ENGINE_SCHEMA_SKYDNS:
        return "skydns";
    case ENGINE_SCHEMA_KUBERNETES:
        break;
    }
    return "kubernetes";
}

/* ---- Changes ---- */

static void write_bool(bool value, struct buf *out)
{
    buf_append_str(out, value ? "true" : "false");
}

static void write_hostmaster(const struct options *o, struct buf *out)
{
    write_name(&o->hostmaster, out);
}

static void write_local(const struct options *o, struct buf *out)
{
    write_name(&o->local, out);
}

static void write_round_robin(const struct options *o, struct buf *out)
{
    write_bool(o->round_robin, out);
}

static void write_no_rec(const struct options *o, struct buf *out)
{
    write_bool(o->no_rec, out);
}

static void write_ndots(const struct options *o, struct buf *out)
{
    buf_printf(out, "%u", o->ndots);
}

static void write_priority(const struct options *o, struct buf *out)
{
    buf_printf(out, "%u", o->priority);
}

static void write_ttl(const struct options *o, struct buf *out)
{
    buf_printf(out, "%u", o->ttl_s);
}

static void write_min_ttl(const struct options *o, struct buf *out)
{
    buf_printf(out, "%u", o->min_ttl_s);
}

static void write_ns_rotate(const struct options *o, struct buf *out)
{
    write_bool(o->ns_rotate, out);
}

static void write_read_timeout(const struct options *o, struct buf *out)
{
    buf_printf(out, "%ums", o->rtimeout_ms);
}

static void write_stubzones(const struct options *o, struct buf *out)
{
    write_bool(o->stubzones, out);
}

static void write_rcache(const struct options *o, struct buf *out)
{
    buf_printf(out, "%u", o->rcache);
}

static void write_rcache_ttl(const struct options *o, struct buf *out)
{
    buf_printf(out, "%u", o->rcache_ttl_s);
}

static void write_rcache_stale(const struct options *o, struct buf *out)
{
    buf_printf(out, "%lld", (long long)o->rcache_stale_ms / 1000);
}

static void write_dnssec(const struct options *o, struct buf *out)
{
    buf_append_str(out, o->dnssec);
}

static void write_scache(const struct options *o, struct buf *out)
{
    buf_printf(out, "%u", o->scache);
}

static void write_snapshot_interval(const struct options *o, struct buf *out)
{
    char text[DURATION_TEXT_MAX];
    buf_append_str(out, duration_text(o->snapshot_interval_ms, text));
}

static void write_snapshot_max(const struct options *o, struct buf *out)
{
    char text[DURATION_TEXT_MAX];
    buf_append_str(out, duration_text(o->snapshot_max_ms, text));
}

static void write_require_store_key(const struct options *o, struct buf *out)
{
    write_bool(o->require_store_key, out);
}

static void write_autopath(const struct options *o, struct buf *out)
{
    write_bool(o->clients.autopath, out);
}

static void write_search(const struct options *o, struct buf *out)
{
    client_option_search_text(&o->clients, out);
}

static void write_visibility(const struct options *o, struct buf *out)
{
    buf_append_str(out, o->clients.is_own ? "own" : "all");
}

static void write_public_namespaces(const struct options *o, struct buf *out)
{
    client_option_public_text(&o->clients, out);
}

static void write_visibility_unknown(const struct options *o, struct buf *out)
{
    buf_append_str(out, o->clients.unknown == VISIBILITY_UNKNOWN_ALL ? "all" : "public");
}

static void write_allow(const struct options *o, struct buf *out)
{
    client_option_allow_text(&o->clients, out);
}

static void write_rate(const struct options *o, struct buf *out)
{
    client_option_rate_text(&o->clients, out);
}

static void write_listening(const struct options *o, struct buf *out)
{
    char text[OPTION_LISTENER_MAX];
    write_addresses(o->addresses, o->address_count, out);
    for (size_t i = 0; i < o->stream_count; i++) {
        write_separator(out, o->address_count + i);
        buf_append_str(out, option_stream_text(&o->streams[i], text));
    }
}

static void write_systemd(const struct options *o, struct buf *out)
{
    write_bool(o->systemd, out);
}

/* Two states have the same setting if and only if its text is the same. */
static const struct setting {
    const char *name;
    enum option_scope scope;
    void (*write)(const struct options *o, struct buf *out);
} settings[] = {
    {"domain", OPTION_AT_ONCE, option_text_domains},
    {"hostmaster", OPTION_AT_ONCE, write_hostmaster},
    {"local", OPTION_AT_ONCE, write_local},
    {"round_robin", OPTION_AT_ONCE, write_round_robin},
    {"no_rec", OPTION_AT_ONCE, write_no_rec},
    {"ndot", OPTION_AT_ONCE, write_ndots},
    {"priority", OPTION_AT_ONCE, write_priority},
    {"ttl", OPTION_AT_ONCE, write_ttl},
    {"min_ttl", OPTION_AT_ONCE, write_min_ttl},
    {"nameservers", OPTION_AT_ONCE, option_text_nameservers},
    {"ns_rotate", OPTION_AT_ONCE, write_ns_rotate},
    {"read_timeout", OPTION_AT_ONCE, write_read_timeout},
    {"stubs", OPTION_AT_ONCE, option_text_stubs},
    {"stubzones", OPTION_AT_ONCE, write_stubzones},
    {"rcache", OPTION_AT_ONCE, write_rcache},
    {"rcache_ttl", OPTION_AT_ONCE, write_rcache_ttl},
    {"rcache_stale", OPTION_AT_ONCE, write_rcache_stale},
    {"dnssec", OPTION_AT_ONCE, write_dnssec},
    {"scache", OPTION_AT_ONCE, write_scache},
    {"snapshot_interval", OPTION_AT_ONCE, write_snapshot_interval},
    {"snapshot_max", OPTION_AT_ONCE, write_snapshot_max},
    {"require_store_key", OPTION_AT_ONCE, write_require_store_key},
    {"autopath", OPTION_AT_ONCE, write_autopath},
    {"search", OPTION_AT_ONCE, write_search},
    {"visibility", OPTION_AT_ONCE, write_visibility},
    {"public_namespaces", OPTION_AT_ONCE, write_public_namespaces},
    {"visibility_unknown", OPTION_AT_ONCE, write_visibility_unknown},
    {"allow", OPTION_AT_ONCE, write_allow},
    {"rate", OPTION_AT_ONCE, write_rate},
    {"transfer_to", OPTION_AT_ONCE, option_transfer_text},
    {"query_log", OPTION_AT_ONCE, option_query_log_text},
    {"dns_addr", OPTION_AT_RESTART, write_listening},
    {"systemd", OPTION_AT_RESTART, write_systemd},
};
_Static_assert(ARRAY_LEN(settings) <= OPTION_CHANGES_MAX, "each may have changed");

/* Takes the text. */
static void add_change(struct option_changes *changes, const char *name, struct buf *text)
{
    write_separator(&changes->names, changes->count);
    buf_append_str(&changes->names, name);
    changes->items[changes->count].name = name;
    changes->items[changes->count].text = *text;
    changes->count++;
}

void option_changes_init(struct option_changes *changes, enum option_scope scope,
                         const struct options *before, const struct options *now)
{
    static const char arrow[] = " -> ";
    changes->count = 0;
    buf_init(&changes->names, OPTION_TEXT_MAX);
    for (size_t i = 0; i < ARRAY_LEN(settings); i++) {
        struct buf text;
        if (settings[i].scope != scope) {
            continue;
        }
        buf_init(&text, 2 * OPTION_TEXT_MAX);
        settings[i].write(before, &text);
        size_t old_len = text.len, new_at = old_len + sizeof(arrow) - 1;
        buf_append_str(&text, arrow);
        settings[i].write(now, &text);
        if (slice_equal(slice_of(text.data, old_len),
                        slice_of(text.data + new_at, text.len - new_at))) {
            buf_fini(&text);
        } else {
            add_change(changes, settings[i].name, &text);
        }
    }
}

void option_changes_fini(struct option_changes *changes)
{
    for (size_t i = 0; i < changes->count; i++) {
        buf_fini(&changes->items[i].text);
    }
    buf_fini(&changes->names);
}
