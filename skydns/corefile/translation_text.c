/* Writes the text of a translation: commands that a shell takes, and comments. */
#include <inttypes.h>
#include <string.h>

#include "common/base/json_text.h"
#include "skydns/corefile/translation_internal.h"

/* Appends one word of a shell command. */
static void translation_text_append_quoted(const char *text, struct buf *out)
{
    static const char plain[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./:,=@%+";
    if (*text && text[strspn(text, plain)] == '\0') {
        buf_append_str(out, text);
        return;
    }
    buf_append_char(out, '\'');
    for (; *text; text++) {
        if (*text == '\'') {
            buf_append_str(out, "'\\''");
        } else {
            buf_append_char(out, *text);
        }
    }
    buf_append_char(out, '\'');
}

static void print_command(const char *program, const struct strings *flags, struct buf *out)
{
    buf_append_str(out, program);
    for (const char *flag = NULL; (flag = strings_next(flags, flag));) {
        buf_append_str(out, " \\\n  ");
        translation_text_append_quoted(flag, out);
    }
    buf_append_char(out, '\n');
}

static void print_notes(const char *title, const struct strings *notes, struct buf *out)
{
    if (!strings_is_empty(notes)) {
        buf_printf(out, "\n# %s\n", title);
    }
    for (const char *note = NULL; (note = strings_next(notes, note));) {
        buf_printf(out, "# %s\n", note);
    }
}

#define HOSTS_FILE "skydns.hosts"

/* Prints lines of hosts. Each begins with an address, so none can be the END. */
static void print_hosts(const struct translation *t, struct buf *out)
{
    if (!strings_is_empty(&t->hosts)) {
        buf_append_str(out, "\ncat >" HOSTS_FILE " <<'END'\n");
        for (const char *line = NULL; (line = strings_next(&t->hosts, line));) {
            buf_printf(out, "%s\n", line);
        }
        buf_append_str(out, "END\n");
    }
}

static void add_list(struct strings *flags, const char *name, const struct strings *list)
{
    CLEANUP_BUF struct buf text = buf_of(STRINGS_BYTES_MAX);
    for (const char *item = NULL; (item = strings_next(list, item));) {
        buf_printf(&text, "%s%s", text.len > 0 ? "," : "", item);
    }
    if (text.len > 0) {
        translation_flag(flags, "%s=%s", name, buf_cstr(&text));
    }
}

static void add_flag_if(struct strings *flags, bool is_set, const char *flag)
{
    if (is_set) {
        strings_add(flags, flag);
    }
}

/* Adds a flag with a text, unless this is NULL. */
static void add_text(struct strings *flags, const char *name, const char *text)
{
    if (text) {
        translation_flag(flags, "%s=%s", name, text);
    }
}

static void add_http(const struct translation *t, struct strings *flags)
{
    for (size_t i = 0; i < HTTP_PLUGINS; i++) {
        if (t->http[i].len) {
            translation_flag(flags, "-http-addr=%.*s", (int)t->http[i].len,
                             (char *)t->http[i].data);
            return;
        }
    }
}

/* Returns the size of the response cache; -1: the default. */
static int64_t rcache_of(const struct translation *t)
{
    if (!t->has_cache && (t->root == ROOT_FORWARDED || !strings_is_empty(&t->stubs))) {
        return 0;
    }
    int64_t least = 1; /* 0 would be no cache */
    return !t->has_capacity ? -1 : t->rcache_sum < least ? least : t->rcache_sum;
}

static void add_cache(const struct translation *t, struct strings *flags)
{
    if (rcache_of(t) >= 0) {
        translation_flag(flags, "-rcache=%" PRId64, rcache_of(t));
    }
    if (t->rcache_ttl_s >= 0) {
        translation_flag(flags, "-rcache-ttl=%" PRId64, t->rcache_ttl_s);
    }
    if (t->rcache_stale_s >= 0) {
        translation_flag(flags, "-rcache-stale=%" PRId64 "s", t->rcache_stale_s);
    }
}

static void add_strings(struct strings *flags, const char *prefix, const struct strings *list)
{
    for (const char *item = NULL; (item = strings_next(list, item));) {
        translation_flag(flags, "%s%s", prefix, item);
    }
}

static void skydns_flags(const struct translation *t, struct strings *flags)
{
    static const char *const pods[] = {"disabled", "verified", "insecure"};
    add_list(flags, "-addr", &t->listen);
    add_list(flags, "-domain", &t->domains);
    add_flag_if(flags, t->kubernetes, "-schema=kubernetes");
    add_text(flags, "-pods", t->kubernetes ? pods[t->pods] : NULL);
    add_flag_if(flags, t->kubernetes && !t->etcd, "-require-store-key");
    add_list(flags, "-external-zones", &t->external_zones);
    add_list(flags, "-reverse-zones", &t->reverse_zones);
    add_list(flags, "-nameservers", &t->nameservers);
    add_text(flags, "-nameservers-ca", t->nameservers_tls.ca);
    add_text(flags, "-nameservers-cert", t->nameservers_tls.cert);
    add_text(flags, "-nameservers-key", t->nameservers_tls.key);
    add_flag_if(flags, t->sequential, "-ns-rotate=false");
    strings_add(flags, t->root != ROOT_FORWARDED ? "-no-rec" /* but stub zones are asked */
                                                 : "-ndots=0" /* names of one label, too */);
    add_strings(flags, "-stub=", &t->stubs);
    add_flag_if(flags, t->has_overrides, "-overrides");
    add_strings(flags, "-alias=", &t->aliases);
    add_list(flags, "-no-aaaa", &t->no_aaaa);
    add_text(flags, "-dns64", t->dns64);
    add_flag_if(flags, !strings_is_empty(&t->hosts), "-hosts=" HOSTS_FILE);
    add_cache(t, flags);
    add_list(flags, "-dnssec", &t->keys);
    add_list(flags, "-allow", &t->allow);
    add_list(flags, "-transfer-to", &t->transfers);
    if (t->scache >= 0 && !strings_is_empty(&t->keys)) {
        translation_flag(flags, "-scache=%" PRId64, t->scache);
    }
    add_text(flags, "-query-log", t->query_log);
    add_flag_if(flags, t->has_any && !t->refuses_any, "-any=hinfo");
    add_flag_if(flags, !t->has_chaos, "-chaos=false");
    add_flag_if(flags, !t->has_loadbalance, "-round-robin=false");
    add_http(t, flags);
    add_strings(flags, "", &t->skydns);
}

static void kube2sky_flags(const struct translation *t, struct strings *flags)
{
    add_text(flags, "--domain", strings_next(&t->domains, NULL));
    add_text(flags, "--pods", t->pods == PODS_VERIFIED ? "verified" : "disabled");
    add_strings(flags, "", &t->kube2sky);
}

/* ---- The document ---- */

/* TTL that CoreDNS's plugin etcd gives to records without one. */
enum { COREDNS_ETCD_TTL_S = 300 };

static void add_stub_fields(const struct strings *stubs, struct buf *json)
{
    json_text_open(json, "stubs", '{');
    for (const char *stub = NULL; (stub = strings_next(stubs, stub));) {
        struct slice servers = slice_str(stub), zone = slice_cut(&servers, '=');
        json_text_slice_field(json, NULL, zone);
        buf_append_str(json, ":[");
        while (servers.len > 0) {
            json_text_slice_field(json, NULL, slice_cut(&servers, ','));
        }
        buf_append_char(json, ']');
    }
    buf_append_char(json, '}');
}

static void add_number_field(const char *name, int64_t value, struct buf *json)
{
    if (value >= 0) {
        json_text_integer_field(json, name, value);
    }
}

static void add_list_field(const char *name, const struct strings *list, struct buf *json)
{
    if (!strings_is_empty(list)) {
        json_text_open(json, name, '[');
        for (const char *item = NULL; (item = strings_next(list, item));) {
            json_text_string_field(json, NULL, item);
        }
        buf_append_char(json, ']');
    }
}

static void add_alias_fields(const struct strings *aliases, struct buf *json)
{
    json_text_open(json, "aliases", '{');
    for (const char *alias = NULL; (alias = strings_next(aliases, alias));) {
        struct slice to = slice_str(alias), from = slice_cut(&to, '=');
        json_text_slice_field(json, NULL, from);
        buf_append_char(json, ':');
        json_text_string(json, to);
    }
    buf_append_char(json, '}');
}

static void print_document(const struct translation *t, struct buf *out)
{
    CLEANUP_BUF struct buf json = buf_of(STRINGS_BYTES_MAX);
    buf_append_char(&json, '{');
    add_list_field("nameservers", &t->nameservers, &json);
    if (t->root != ROOT_FORWARDED) {
        json_text_flag_field(&json, "no_rec", true);
    }
    if (!strings_is_empty(&t->stubs)) {
        add_stub_fields(&t->stubs, &json);
    }
    if (t->has_overrides) {
        json_text_flag_field(&json, "overrides", true);
    }
    if (!strings_is_empty(&t->aliases)) {
        add_alias_fields(&t->aliases, &json);
    }
    add_list_field("no_aaaa", &t->no_aaaa, &json);
    if (t->dns64) {
        json_text_string_field(&json, "dns64", t->dns64);
    }
    if (t->etcd) {
        add_number_field("ttl", COREDNS_ETCD_TTL_S, &json);
    }
    add_list_field("external_zones", &t->external_zones, &json);
    add_number_field("rcache", rcache_of(t), &json);
    add_number_field("rcache_ttl", t->rcache_ttl_s, &json);
    if (t->rcache_stale_s != 0) { /* there, 0 is the default: only the flag can say never */
        add_number_field("rcache_stale", t->rcache_stale_s, &json);
    }
    add_list_field("dnssec", &t->keys, &json);
    add_list_field("allow", &t->allow, &json);
    add_list_field("transfer_to", &t->transfers, &json);
    buf_append_char(&json, '}');
    if (json.len > 2) {
        buf_printf(out,
                   "\n# What of this a running skydns takes from the file of -config, or from "
                   "/skydns/config in etcd:\n# %s\n",
                   buf_cstr(&json));
    }
}

void translation_print(const struct translation *t, struct buf *out)
{
    CLEANUP_STRINGS struct strings skydns = strings_new();
    CLEANUP_STRINGS struct strings kube2sky = strings_new();
    skydns_flags(t, &skydns);
    kube2sky_flags(t, &kube2sky);
    buf_append_str(out, "# ");
    translation_plain(t->file, FILE_SHOWN_MAX, out);
    buf_append_str(out, " as flags; each command can be pasted into a shell.\n");
    print_notes("Nobody may send queries (-allow=none), as no flag says what these lines forbid. "
                "Take them\n# out, or say it in flags:",
                &t->notes[NOTE_CLOSING], out);
    print_notes("Narrower than the file, as a flag would allow more:", &t->notes[NOTE_NARROWER],
                out);
    print_hosts(t, out);
    if (t->kubernetes) {
        buf_append_char(out, '\n');
        print_command("kube2sky", &kube2sky, out);
    }
    buf_append_char(out, '\n');
    print_command("skydns", &skydns, out);
    print_document(t, out);
    if (t->root == ROOT_FORWARDED || !strings_is_empty(&t->stubs)) {
        buf_append_str(out,
                       "\n# External names are REFUSED to clients outside private networks and "
                       "those of the host, whom\n# CoreDNS would answer: see -allow-recursion.\n");
    }
    print_notes("Without a flag:", &t->notes[NOTE_NEEDLESS], out);
    print_notes("Without a counterpart:", &t->notes[NOTE_MISSING], out);
}
