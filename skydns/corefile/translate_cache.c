/* Translates names that no upstream may be asked about: those that a plugin of CoreDNS answers and
 * nothing here does, those that its `forward` leaves out, those whose upstreams have no
 * counterpart. Without more, the upstreams of all other names would get them. */
#include <string.h>

#include "skydns/corefile/translate_internal.h"

/* Limits zones of each kind; STUBS_MAX can be flags. */
enum { KEPT_MAX = 1000 };

static void close_too_many(struct translation *t)
{
    note_item(t, NOTE_CLOSING, "forward", "more zones without an upstream than -stub takes");
}

static void list_zone(struct translation *t, struct strings *list, const char *zone)
{
    if (strings_has(list, zone)) {
        return;
    }
    if (strings_count(list) < KEPT_MAX) {
        strings_add(list, zone);
    } else {
        close_too_many(t);
    }
}

void translate_keep_zone(struct translation *t, const char *zone)
{
    CLEANUP_BUF struct buf name = buf_of(COREFILE_BYTES_MAX);
    zone_enclosing(zone, &name); /* -stub takes names */
    list_zone(t, &t->kept, buf_cstr(&name));
}

void translate_keep(const struct plugin_use *use, size_t first)
{
    CLEANUP_STRINGS struct strings zones = use_zones_kept(use, first);
    for (const char *zone = NULL; (zone = strings_next(&zones, zone));) {
        translate_keep_zone(use->t, zone);
    }
}

void translate_local(const struct plugin_use *use)
{
    static const char *const zones[] = {"0.in-addr.arpa", "127.in-addr.arpa", "255.in-addr.arpa"};
    use_note(use, NOTE_MISSING,
             "none but for localhost, names below it, and PTR of 127.0.0.1 and ::1, which are "
             "always answered here");
    for (size_t i = 0; i < ARRAY_LEN(zones); i++) {
        translate_keep_zone(use->t, zones[i]);
    }
}

/* Keeps the names of "[stop] name [exact|suffix] FROM TO", which CoreDNS asks about under another
 * one, if at all. Of other patterns there is no telling which they are. */
static void keep_rewritten(const struct plugin_use *use, const struct corefile_line *line,
                           size_t at)
{
    static const char *const patterns[] = {"exact", "suffix", "prefix", "substring", "regex"};
    size_t pattern = 0;
    at += at < line->count &&
          (strcmp(line->words[at], "continue") == 0 || strcmp(line->words[at], "stop") == 0);
    if (at + 1 >= line->count || strcmp(line->words[at], "name") != 0) {
        return;
    }
    at++;
    while (pattern < ARRAY_LEN(patterns) && strcmp(line->words[at], patterns[pattern]) != 0) {
        pattern++;
    }
    at += pattern < ARRAY_LEN(patterns);
    const char *from = at < line->count ? line->words[at] : "";
    bool is_zone = pattern == ARRAY_LEN(patterns) || pattern < 2;
    CLEANUP_BUF struct buf zone = buf_of(COREFILE_BYTES_MAX);
    is_zone = is_zone && zone_text(from + (*from == '.'), &zone);
    translate_keep_zone(use->t, is_zone ? buf_cstr(&zone) : ".");
}

void translate_rewrite(const struct plugin_use *use)
{
    const struct corefile_directive *directive = use->directive;
    if (directive->line_count == 0) {
        translate_rewrite_rule(use, &directive->head, 1);
    } else {
        note_line(use->t, NOTE_MISSING, &directive->head, "none of several rules at once");
    }
    keep_rewritten(use, &directive->head, 1);
    for (size_t i = 0; i < directive->line_count; i++) {
        keep_rewritten(use, &directive->lines[i], 0);
    }
}

void translate_unforwarded(struct translation *t, const struct strings *zones)
{
    for (const char *zone = NULL; (zone = strings_next(zones, zone));) {
        if (strcmp(zone, ".") != 0) {
            list_zone(t, &t->unforwarded, zone);
        }
    }
}

/* ---- At the end ---- */

static const char nobody_asked[] = "no upstream may be queried for it: SERVFAIL";

/* Returns whether it is answered here; without -domain, SkyDNS's default is. */
static bool is_own_zone(const struct translation *t, const char *zone)
{
    return strings_is_empty(&t->domains) ? strcmp(zone, "skydns.local") == 0
                                         : translation_has_zone(t, zone);
}

/* Returns the stub zone that the name is in, the longest; NULL: none. */
static const char *find_stub(const struct translation *t, const char *name)
{
    CLEANUP_BUF struct buf zone = buf_of(COREFILE_BYTES_MAX);
    const char *best = NULL;
    size_t longest = 0;
    for (const char *stub = NULL; (stub = strings_next(&t->stubs, stub));) {
        translation_named_zone(stub, &zone);
        if (zone.len > longest && zone_contains(buf_cstr(&zone), name)) {
            best = stub;
            longest = zone.len;
        }
    }
    return best;
}

/* Returns whether upstreams get the zone's names, as things are. */
static bool is_forwarded(const struct translation *t, const char *zone, bool *ret_by_root)
{
    const char *stub = find_stub(t, zone);
    *ret_by_root = !stub && t->root == ROOT_FORWARDED && !translation_is_in_zone(t, zone);
    return stub ? strcmp(stub + strcspn(stub, "="), "=none") != 0 : *ret_by_root;
}

bool translation_has_stub(const struct translation *t, const char *zone)
{
    const size_t n = strlen(zone);
    for (const char *stub = NULL; (stub = strings_next(&t->stubs, stub));) {
        if (strncmp(stub, zone, n) == 0 && stub[n] == '=') {
            return true;
        }
    }
    return false;
}

static void keep_root(struct translation *t, const char *why)
{
    if (t->root == ROOT_FORWARDED) {
        t->root = ROOT_KEPT;
        strings_clear(&t->nameservers);
        note_item(t, NOTE_NARROWER, "forward", why);
    }
}

static void add_empty_stub(struct translation *t, const char *zone)
{
    bool is_by_root;
    if (is_own_zone(t, zone) || translation_has_reverse_zone(t, zone) ||
        !is_forwarded(t, zone, &is_by_root)) {
        return;
    }
    if (zone_is_odd(zone)) {
        CLEANUP_BUF struct buf name = buf_of(COREFILE_BYTES_MAX);
        zone_enclosing(zone, &name);
        add_empty_stub(t, buf_cstr(&name));
        return;
    }
    note_item(t, NOTE_NARROWER, zone, nobody_asked);
    if (strings_count(&t->stubs) < STUBS_MAX) {
        translation_flag(&t->stubs, "%s=none", zone);
    } else if (is_by_root) {
        keep_root(t, "too many zones without an upstream: nothing is forwarded (-no-rec)");
    } else {
        close_too_many(t);
    }
}

/* Drops stub zones that are answered here: the flags would be refused. */
static void drop_stubs_of_own_zones(struct translation *t)
{
    CLEANUP_STRINGS struct strings others = strings_new();
    CLEANUP_BUF struct buf text = buf_of(STRINGS_BYTES_MAX);
    for (const char *stub = NULL; (stub = strings_next(&t->stubs, stub));) {
        translation_named_zone(stub, &text);
        if (!is_own_zone(t, buf_cstr(&text))) {
            strings_add(&others, stub);
            continue;
        }
        buf_clear(&text);
        buf_printf(&text, "forward %s", stub);
        note_item(t, NOTE_MISSING, buf_cstr(&text), "none: the zone is one that is answered here");
    }
    strings_take(&t->stubs, &others);
}

/* Empties stub zones in a kept one, unless a block of their own has them. */
static void empty_stubs_in(struct translation *t, const char *kept)
{
    CLEANUP_STRINGS struct strings settled = strings_new();
    CLEANUP_BUF struct buf zone = buf_of(STRINGS_BYTES_MAX);
    for (const char *stub = NULL; (stub = strings_next(&t->stubs, stub));) {
        translation_named_zone(stub, &zone);
        bool has_block = strings_has(&t->unforwarded, buf_cstr(&zone));
        bool is_kept = strcmp(kept, buf_cstr(&zone)) == 0;
        if (!zone_contains(kept, buf_cstr(&zone)) || (has_block && !is_kept)) {
            strings_add(&settled, stub);
        } else {
            translation_flag(&settled, "%s=none", buf_cstr(&zone));
            note_item(t, NOTE_NARROWER, buf_cstr(&zone), nobody_asked);
        }
    }
    strings_take(&t->stubs, &settled);
}

void translate_settle_kept(struct translation *t)
{
    drop_stubs_of_own_zones(t);
    if (strings_has(&t->kept, ".")) {
        keep_root(t, "another plugin has the names first: no upstream is queried (-no-rec)");
    }
    for (const char *zone = NULL; (zone = strings_next(&t->kept, zone));) {
        empty_stubs_in(t, zone);
        if (strcmp(zone, ".") != 0) {
            add_empty_stub(t, zone);
        }
    }
    for (const char *zone = NULL; (zone = strings_next(&t->like_root, zone));) {
        bool is_by_root;
        bool is_right =
            is_forwarded(t, zone, &is_by_root) && is_by_root && strings_is_empty(&t->nameservers);
        if (!is_right && !translation_has_stub(t, zone)) {
            add_empty_stub(t, zone);
        }
    }
    for (const char *zone = NULL; (zone = strings_next(&t->unforwarded, zone));) {
        if (!translation_has_stub(t, zone) && !strings_has(&t->like_root, zone)) {
            add_empty_stub(t, zone);
        }
    }
}
