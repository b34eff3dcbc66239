#include "skydns/corefile/translation_internal.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/json_text.h"
#include "common/base/xalloc.h"

/* Of one kind of strings. Each word of the Corefile is in a few notes at most, of which a snippet's
 * may repeat (translate_internal.h limits how often). */
enum { STRINGS_BYTES_MAX = 64 * 1024 * 1024 };

/* Of a word in a note. */
enum { WORD_SHOWN_MAX = 64 };

/* A snippet's notes are given once, however many blocks import it. Beyond this many, comparing
 * costs more than reading them twice. */
enum { NOTES_COMPARED_MAX = 1000 };

/* ---- Strings ---- */

void strings_init(struct strings *strings)
{
    buf_init(&strings->bytes, STRINGS_BYTES_MAX);
}

void strings_fini(struct strings *strings)
{
    buf_fini(&strings->bytes);
}

void strings_add(struct strings *strings, const char *text)
{
    buf_append(&strings->bytes, text, strlen(text) + 1);
}

const char *strings_next(const struct strings *strings, const char *text)
{
    const char *begin = (const char *)strings->bytes.data;
    const char *next = text ? text + strlen(text) + 1 : begin;
    return next && next < begin + strings->bytes.len ? next : NULL;
}

bool strings_has(const struct strings *strings, const char *text)
{
    const char *at = NULL;
    while ((at = strings_next(strings, at))) {
        if (strcmp(at, text) == 0) {
            return true;
        }
    }
    return false;
}

void strings_add_once(struct strings *strings, const char *text)
{
    if (!strings_has(strings, text)) {
        strings_add(strings, text);
    }
}

bool strings_is_empty(const struct strings *strings)
{
    return strings->bytes.len == 0;
}

size_t strings_count(const struct strings *strings)
{
    const char *at = NULL;
    size_t count = 0;
    while ((at = strings_next(strings, at))) {
        count++;
    }
    return count;
}

/* ---- Notes and flags ---- */

static void append_plain(const char *text, size_t max, struct buf *out)
{
    for (size_t i = 0; i < max && text[i]; i++) {
        buf_append_char(out, text[i] >= ' ' && text[i] <= '~' ? text[i] : '?');
    }
    buf_append_str(out, strlen(text) > max ? "..." : "");
}

static void add_note(struct translation *t, struct strings *notes, const struct corefile_line *line,
                     const char *why)
{
    struct buf note;
    buf_init(&note, COREFILE_BYTES_MAX + 4096);
    append_plain(t->file, 4096, &note);
    buf_printf(&note, ":%u:", line->number);
    for (size_t i = 0; i < line->count && i < 8; i++) {
        buf_append_char(&note, ' ');
        append_plain(line->words[i], WORD_SHOWN_MAX, &note);
    }
    buf_printf(&note, "%s: %s", line->count > 8 ? " ..." : "", why);
    if (t->note_count++ < NOTES_COMPARED_MAX) {
        strings_add_once(notes, buf_cstr(&note));
    } else {
        strings_add(notes, buf_cstr(&note));
    }
    buf_fini(&note);
}

void translation_missing(struct translation *t, const struct corefile_line *line, const char *why)
{
    add_note(t, &t->missing, line, why);
}

void translation_needless(struct translation *t, const struct corefile_line *line, const char *why)
{
    add_note(t, &t->needless, line, why);
}

void translation_missing_item(struct translation *t, const char *item, const char *why)
{
    struct buf note;
    buf_init(&note, STRINGS_BYTES_MAX);
    append_plain(t->file, 4096, &note);
    buf_append_str(&note, ": ");
    append_plain(item, WORD_SHOWN_MAX, &note);
    buf_printf(&note, ": %s", why);
    strings_add_once(&t->missing, buf_cstr(&note));
    buf_fini(&note);
}

void translation_add(struct translation *t, struct strings *list, size_t max, const char *text,
                     const struct corefile_line *line)
{
    if (strings_has(list, text)) {
        return;
    }
    if (strings_count(list) == max) {
        translation_missing(t, line, "left out: more than the flag takes");
        return;
    }
    strings_add(list, text);
}

/* Without -domain, it is SkyDNS's default. */
static bool is_own(const struct translation *t, const char *stub)
{
    const char *domain = NULL;
    size_t n = strcspn(stub, "=");
    if (strings_is_empty(&t->domains)) {
        return strncmp(stub, "skydns.local=", n + 1) == 0;
    }
    while ((domain = strings_next(&t->domains, domain))) {
        if (strlen(domain) == n && strncmp(domain, stub, n) == 0) {
            return true;
        }
    }
    return false;
}

void translation_drop_own_stubs(struct translation *t)
{
    const char *stub = NULL;
    struct strings others;
    strings_init(&others);
    while ((stub = strings_next(&t->stubs, stub))) {
        if (is_own(t, stub)) {
            struct buf note;
            buf_init(&note, STRINGS_BYTES_MAX);
            append_plain(t->file, 4096, &note);
            buf_append_str(&note, ": forward ");
            append_plain(stub, WORD_SHOWN_MAX, &note);
            buf_append_str(&note, ": none: the zone is a domain that is answered here");
            strings_add(&t->missing, buf_cstr(&note));
            buf_fini(&note);
        } else {
            strings_add(&others, stub);
        }
    }
    strings_fini(&t->stubs);
    t->stubs = others;
}

void translation_flag(struct strings *flags, const char *format, ...)
{
    char *text = NULL;
    va_list arguments;
    va_start(arguments, format);
    if (vasprintf(&text, format, arguments) < 0) {
        xalloc_out_of_memory();
    }
    va_end(arguments);
    strings_add_once(flags, text);
    free(text);
}

/* ---- Text ---- */

/* One word of a shell command. */
static void append_quoted(const char *text, struct buf *out)
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
    const char *flag = NULL;
    buf_append_str(out, program);
    while ((flag = strings_next(flags, flag))) {
        buf_append_str(out, " \\\n  ");
        append_quoted(flag, out);
    }
    buf_append_char(out, '\n');
}

static void print_notes(const char *title, const struct strings *notes, struct buf *out)
{
    const char *note = NULL;
    if (!strings_is_empty(notes)) {
        buf_printf(out, "\n# %s\n", title);
    }
    while ((note = strings_next(notes, note))) {
        buf_printf(out, "# %s\n", note);
    }
}

#define HOSTS_FILE "skydns.hosts"

/* Each line begins with an address, so none can be the END. */
static void print_hosts(const struct translation *t, struct buf *out)
{
    const char *line = NULL;
    if (!strings_is_empty(&t->hosts)) {
        buf_append_str(out, "\ncat >" HOSTS_FILE " <<'END'\n");
        while ((line = strings_next(&t->hosts, line))) {
            buf_printf(out, "%s\n", line);
        }
        buf_append_str(out, "END\n");
    }
}

/* Appends the list with commas, each between a quotation mark or what else. */
static void append_list(const struct strings *list, bool is_json, struct buf *out)
{
    const char *item = NULL, *separator = "";
    while ((item = strings_next(list, item))) {
        buf_append_str(out, separator);
        if (is_json) {
            json_text_string(out, slice_str(item));
        } else {
            buf_append_str(out, item);
        }
        separator = ",";
    }
}

static void add_list(struct strings *flags, const char *name, const struct strings *list)
{
    struct buf text;
    if (strings_is_empty(list)) {
        return;
    }
    buf_init(&text, STRINGS_BYTES_MAX);
    append_list(list, false, &text);
    translation_flag(flags, "%s=%s", name, buf_cstr(&text));
    buf_fini(&text);
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

static bool has_no_cache(const struct translation *t)
{
    return !t->has_cache && (t->has_forward || !strings_is_empty(&t->stubs));
}

static void add_cache(const struct translation *t, struct strings *flags)
{
    if (has_no_cache(t)) {
        strings_add(flags, "-rcache=0");
    } else if (t->rcache >= 0) {
        translation_flag(flags, "-rcache=%" PRId64, t->rcache);
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
    const char *item = NULL;
    while ((item = strings_next(list, item))) {
        translation_flag(flags, "%s%s", prefix, item);
    }
}

static void skydns_flags(const struct translation *t, struct strings *flags)
{
    static const char *const pods[] = {"disabled", "insecure", "verified"};
    add_list(flags, "-addr", &t->listen);
    add_list(flags, "-domain", &t->domains);
    if (t->has_kubernetes) {
        strings_add(flags, "-schema=kubernetes");
        translation_flag(flags, "-pods=%s", pods[t->pods]);
        if (!t->has_etcd) {
            strings_add(flags, "-require-store-key");
        }
    }
    add_list(flags, "-reverse-zones", &t->reverse_zones);
    add_list(flags, "-nameservers", &t->nameservers);
    if (t->nameservers_ca) {
        translation_flag(flags, "-nameservers-ca=%s", t->nameservers_ca);
    }
    if (t->sequential) {
        strings_add(flags, "-ns-rotate=false");
    }
    if (!t->has_forward) {
        strings_add(flags, "-no-rec"); /* but stub zones are asked */
    }
    add_strings(flags, "-stub=", &t->stubs);
    if (!strings_is_empty(&t->hosts)) {
        strings_add(flags, "-hosts=" HOSTS_FILE);
    }
    add_cache(t, flags);
    add_list(flags, "-dnssec", &t->keys);
    add_list(flags, "-transfer-to", &t->transfers);
    if (t->scache >= 0 && !strings_is_empty(&t->keys)) {
        translation_flag(flags, "-scache=%" PRId64, t->scache);
    }
    if (t->query_log) {
        translation_flag(flags, "-query-log=%s", t->query_log);
    }
    if (!t->has_loadbalance) {
        strings_add(flags, "-round-robin=false");
    }
    add_http(t, flags);
    add_strings(flags, "", &t->skydns);
}

static void kube2sky_flags(const struct translation *t, struct strings *flags)
{
    const char *domain = strings_next(&t->domains, NULL);
    if (domain) {
        translation_flag(flags, "--domain=%s", domain);
    }
    translation_flag(flags, "--pods=%s", t->pods == PODS_VERIFIED ? "verified" : "disabled");
    add_strings(flags, "", &t->kube2sky);
}

/* ---- The document ---- */

static void begin_field(const char *name, struct buf *json)
{
    buf_printf(json, "%s\"%s\":", json->len > 1 ? "," : "", name);
}

static void add_stub_fields(const struct translation *t, struct buf *json)
{
    const char *stub = NULL, *separator = "";
    begin_field("stubs", json);
    buf_append_char(json, '{');
    while ((stub = strings_next(&t->stubs, stub))) {
        size_t zone_len = strcspn(stub, "=");
        const char *at = stub + zone_len + (stub[zone_len] == '=');
        buf_append_str(json, separator);
        json_text_string(json, slice_of(stub, zone_len));
        buf_append_str(json, ":[");
        for (separator = ""; *at; separator = ",") {
            size_t n = strcspn(at, ",");
            buf_append_str(json, separator);
            json_text_string(json, slice_of(at, n));
            at += n + (at[n] == ',');
        }
        buf_append_char(json, ']');
        separator = ",";
    }
    buf_append_char(json, '}');
}

static void add_number_field(const char *name, int64_t value, struct buf *json)
{
    if (value >= 0) {
        begin_field(name, json);
        buf_printf(json, "%" PRId64, value);
    }
}

static void add_list_field(const char *name, const struct strings *list, struct buf *json)
{
    if (!strings_is_empty(list)) {
        begin_field(name, json);
        buf_append_char(json, '[');
        append_list(list, true, json);
        buf_append_char(json, ']');
    }
}

static void print_document(const struct translation *t, struct buf *out)
{
    struct buf json;
    buf_init(&json, STRINGS_BYTES_MAX);
    buf_append_char(&json, '{');
    add_list_field("nameservers", &t->nameservers, &json);
    if (!strings_is_empty(&t->stubs)) {
        add_stub_fields(t, &json);
    }
    add_number_field("rcache", has_no_cache(t) ? 0 : t->rcache, &json);
    add_number_field("rcache_ttl", t->rcache_ttl_s, &json);
    if (t->rcache_stale_s != 0) { /* there, 0 is the default: only the flag can say never */
        add_number_field("rcache_stale", t->rcache_stale_s, &json);
    }
    add_list_field("dnssec", &t->keys, &json);
    add_list_field("transfer_to", &t->transfers, &json);
    buf_append_char(&json, '}');
    if (json.len > 2) {
        buf_printf(out,
                   "\n# What of this a running skydns takes from the file of -config, or from "
                   "/skydns/config in etcd:\n# %s\n",
                   buf_cstr(&json));
    }
    buf_fini(&json);
}

void translation_print(const struct translation *t, struct buf *out)
{
    struct strings skydns, kube2sky;
    strings_init(&skydns);
    strings_init(&kube2sky);
    skydns_flags(t, &skydns);
    kube2sky_flags(t, &kube2sky);
    buf_append_str(out, "# ");
    append_plain(t->file, 4096, out);
    buf_append_str(out, " as flags; each command can be pasted into a shell.\n");
    print_hosts(t, out);
    if (t->has_kubernetes) {
        buf_append_char(out, '\n');
        print_command("kube2sky", &kube2sky, out);
    }
    buf_append_char(out, '\n');
    print_command("skydns", &skydns, out);
    print_document(t, out);
    if (t->has_forward || !strings_is_empty(&t->stubs)) {
        buf_append_str(
            out,
            "\n# Names of other domains are REFUSED to clients outside private networks and those "
            "of the host,\n# whom CoreDNS would answer: see -allow-recursion.\n");
    }
    print_notes("Without a flag:", &t->needless, out);
    print_notes("Without a counterpart:", &t->missing, out);
    strings_fini(&skydns);
    strings_fini(&kube2sky);
}

void translation_drop_transfers(struct translation *t)
{
    if (!strings_is_empty(&t->transfers) && (!t->has_kubernetes || t->pods == PODS_INSECURE)) {
        translation_missing_item(t, "transfer",
                                 "-transfer-to needs the plugin kubernetes, and pods verified or "
                                 "disabled: other names cannot be listed");
        strings_fini(&t->transfers);
        strings_init(&t->transfers);
    }
}

/* ---- Lifetime ---- */

static void each_strings(struct translation *t, void (*fn)(struct strings *strings))
{
    struct strings *all[] = {&t->skydns,      &t->kube2sky, &t->needless, &t->missing,
                             &t->hosts,       &t->listen,   &t->domains,  &t->reverse_zones,
                             &t->nameservers, &t->stubs,    &t->keys,     &t->transfers};
    for (size_t i = 0; i < ARRAY_LEN(all); i++) {
        fn(all[i]);
    }
}

void translation_init(struct translation *t, const char *file)
{
    *t = (struct translation){
        .file = file, .rcache = -1, .rcache_ttl_s = -1, .rcache_stale_s = -1, .scache = -1};
    each_strings(t, strings_init);
    for (size_t i = 0; i < HTTP_PLUGINS; i++) {
        buf_init(&t->http[i], COREFILE_BYTES_MAX);
    }
}

void translation_fini(struct translation *t)
{
    each_strings(t, strings_fini);
    for (size_t i = 0; i < HTTP_PLUGINS; i++) {
        buf_fini(&t->http[i]);
    }
}
