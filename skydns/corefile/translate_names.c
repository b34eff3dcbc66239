/* Translates plugins that change external names, and their AAAA: rewrite (-alias), template
 * (-no-aaaa), dns64; and nsid, which says who answers. */
#include <stdlib.h>
#include <string.h>

#include "common/base/addr.h"
#include "skydns/corefile/translate_internal.h"

/* ---- rewrite ---- */

/* FROM and TO of a rule, without their leading dots; has_dot: both had one. */
struct rewritten {
    bool is_suffix, has_dot;
    struct buf *from, *to;
};

/* Reads the rule's names. Returns false if -alias cannot have them. */
static bool read_rewritten(const char *from, const char *to, struct rewritten *r)
{
    r->has_dot = r->is_suffix && *from == '.' && from[1] != '\0';
    if (r->is_suffix && (*from == '.') != (*to == '.')) {
        return false;
    }
    return zone_text(from + r->has_dot, r->from) && zone_text(to + r->has_dot, r->to) &&
           strcmp(buf_cstr(r->from), ".") != 0 && strcmp(buf_cstr(r->to), ".") != 0;
}

/* Returns whether an earlier rule has its names. */
static bool is_aliased(const struct translation *t, struct rewritten *r)
{
    CLEANUP_BUF struct buf zone = buf_of(COREFILE_BYTES_MAX);
    for (const char *alias = NULL; (alias = strings_next(&t->aliases, alias));) {
        translation_named_zone(alias, &zone);
        if (strncmp(alias, "*.", 2) == 0
                ? zone_contains(buf_cstr(&zone), buf_cstr(r->from))
                : !r->has_dot && strcmp(buf_cstr(&zone), buf_cstr(r->from)) == 0) {
            return true;
        }
    }
    return false;
}

static void translate_names_add_alias(const struct plugin_use *use,
                                      const struct corefile_line *line, const char *prefix,
                                      struct rewritten *r)
{
    CLEANUP_BUF struct buf text = buf_of(COREFILE_BYTES_MAX * 2 + sizeof("*.=*."));
    buf_printf(&text, "%s%s=%s%s", prefix, buf_cstr(r->from), prefix, buf_cstr(r->to));
    translation_add(use->t, &use->t->aliases, ALIASES_MAX, buf_cstr(&text), line);
}

static void add_aliases(const struct plugin_use *use, const struct corefile_line *line,
                        struct rewritten *r)
{
    if (is_aliased(use->t, r)) {
        note_line(use->t, NOTE_MISSING, line, "an earlier rule has the name");
        return;
    }
    if (!r->has_dot) {
        translate_names_add_alias(use, line, "", r);
    }
    if (r->is_suffix) {
        translate_names_add_alias(use, line, "*.", r);
    }
    if (r->is_suffix && !r->has_dot) {
        note_line(use->t, NOTE_MISSING, line,
                  "names whose last label only ends like that are not rewritten");
    }
}

/* Returns whether the word is a kind of rewrite that no alias can stand for. */
static bool is_pattern(const char *word)
{
    return strcmp(word, "prefix") == 0 || strcmp(word, "substring") == 0 ||
           strcmp(word, "regex") == 0;
}

/* Translates "[stop] name [exact|suffix] FROM TO [answer auto]", which begins at a word of the
 * line.
 */
void translate_rewrite_rule(const struct plugin_use *use, const struct corefile_line *line,
                            size_t at)
{
    const char *const *words = line->words;
    const bool is_stop = at < line->count && strcmp(words[at], "stop") == 0;
    at += is_stop;
    if (at + 2 >= line->count || strcmp(words[at], "name") != 0) {
        note_line(use->t, NOTE_MISSING, line, "none");
        return;
    }
    at++;
    CLEANUP_BUF struct buf from = buf_of(COREFILE_BYTES_MAX);
    CLEANUP_BUF struct buf to = buf_of(COREFILE_BYTES_MAX);
    struct rewritten r = {.is_suffix = strcmp(words[at], "suffix") == 0, .from = &from, .to = &to};
    at += r.is_suffix || strcmp(words[at], "exact") == 0;
    const bool has_names = at + 2 <= line->count && !is_pattern(words[at]);
    const bool has_answer = line->count > at + 2;
    if (!has_names || !read_rewritten(words[at], words[at + 1], &r)) {
        note_line(use->t, NOTE_MISSING, line, "none: -alias takes names, or what they end with");
    } else {
        add_aliases(use, line, &r);
        if (has_answer && !(line->count == at + 4 && strcmp(words[at + 2], "answer") == 0 &&
                            strcmp(words[at + 3], "auto") == 0)) {
            note_line(use->t, NOTE_MISSING, line, "an answer always has the name that was queried");
        }
    }
}

/* ---- template ---- */

/* Returns whether the template answers every name with NOERROR and no answer records. */
static bool is_empty_answer(const struct plugin_use *use)
{
    static const char *const all[] = {".", ".*", "^.*$", "(.*)", "^(.*)$"};
    const struct corefile_directive *directive = use->directive;
    for (size_t i = 0; i < directive->line_count; i++) {
        const struct corefile_line *line = &directive->lines[i];
        bool is_right = corefile_line_is(line, "authority") ||
                        (corefile_line_is(line, "rcode") && line->count == 2 &&
                         strcmp(line->words[1], "NOERROR") == 0);
        for (size_t k = 0; k < ARRAY_LEN(all) && !is_right; k++) {
            is_right = corefile_line_is(line, "match") && line->count == 2 &&
                       strcmp(line->words[1], all[k]) == 0;
        }
        if (!is_right) {
            return false;
        }
    }
    return true;
}

/* Translates "CLASS AAAA [ZONE...]" without answer records into -no-aaaa; nothing else can be. */
void translate_template(const struct plugin_use *use)
{
    const struct corefile_line *head = &use->directive->head;
    const bool is_filter =
        use_argument_count(use) >= 2 &&
        (strcmp(use_argument(use, 0), "IN") == 0 || strcmp(use_argument(use, 0), "ANY") == 0) &&
        strcmp(use_argument(use, 1), "AAAA") == 0 && is_empty_answer(use);
    if (!is_filter) {
        use_note(use, NOTE_MISSING, "none");
        translate_keep(use, 3);
        return;
    }
    CLEANUP_STRINGS struct strings zones = use_zones_kept(use, 3);
    for (const char *zone = NULL; (zone = strings_next(&zones, zone));) {
        if (zone_is_reverse(zone)) {
            use_note(use, NOTE_MISSING, "none: reverse names have no AAAA");
        } else {
            translation_add(use->t, &use->t->no_aaaa, NO_AAAA_MAX,
                            strcmp(zone, ".") == 0 ? "all" : zone, head);
        }
    }
}

/* ---- dns64 ---- */

/* Returns whether RFC 6052 has the prefix: one of its lengths, with zeros in bits 64 to 71 and
 * behind the prefix. */
static bool is_dns64_prefix(const char *text)
{
    const char *slash = strchr(text, '/');
    struct network network;
    struct ip ip;
    if (!slash || network_parse(slice_str(text), &network, NULL) < 0 ||
        !ip_parse(slice_of(text, (size_t)(slash - text)), &ip)) {
        return false;
    }
    const unsigned bits = network.prefix_bits;
    const bool is_length = bits == 96 || (bits >= 32 && bits <= 64 && bits % 8 == 0);
    return ip.family_bytes == 16 && is_length && ip.bytes[8] == 0 && ip_equal(&ip, &network.ip);
}

void translate_dns64(const struct plugin_use *use)
{
    static const struct plugin_option options[] = {
        {"prefix", NEEDLESS("the flag has it")},
        {"translate_all", MISSING("none: names with AAAA keep them")},
        {"allow_ipv4", NEEDLESS("how a query came does not matter")},
    };
    const struct corefile_line *line = use_option(use, "prefix");
    const char *prefix = line && line->count == 2       ? line->words[1]
                         : use_argument_count(use) == 1 ? use_argument(use, 0)
                                                        : "64:ff9b::/96";
    (void)!use_options(use, options, ARRAY_LEN(options)); /* unknown ones restrict nothing */
    if (!strings_has(use->zones, ".")) {
        use_note(use, NOTE_MISSING, "none: one -dns64 for all zones");
    } else if (!is_dns64_prefix(prefix)) {
        use_note(use, NOTE_MISSING,
                 "expected a prefix of 32, 40, 48, 56, 64 or 96 bits, with zeros behind it and in "
                 "bits 64 to 71");
    } else {
        use->t->dns64 = prefix;
        use_note(use, NOTE_MISSING,
                 "own records have no made addresses; private ones have none in 64:ff9b::/96");
        if (!use_option(use, "allow_ipv4")) {
            use_note(use, NOTE_MISSING, "clients that query over IPv4 have them, too");
        }
    }
}

/* ---- nsid ---- */

void translate_nsid(const struct plugin_use *use)
{
    enum { NSID_MAX = 128 };
    CLEANUP_BUF struct buf text = buf_of(COREFILE_BYTES_MAX);
    for (size_t i = 0; i < use_argument_count(use); i++) {
        buf_printf(&text, "%s%s", i > 0 ? " " : "", use_argument(use, i));
    }
    if (text.len == 0) {
        use_note(use, NOTE_MISSING, "without a text it is the host's name: -nsid=\"$(hostname)\"");
    } else if (text.len > NSID_MAX) {
        use_note(use, NOTE_MISSING, "beyond what the flag takes: 128 bytes");
    } else {
        translation_flag(&use->t->skydns, "-nsid=%s", buf_cstr(&text));
    }
}

/* ---- At the end ---- */

void translate_settle_names(struct translation *t)
{
    CLEANUP_STRINGS struct strings aliases = strings_new();
    CLEANUP_BUF struct buf name = buf_of(STRINGS_BYTES_MAX);
    for (const char *item = NULL; (item = strings_next(&t->aliases, item));) {
        translation_named_zone(item, &name);
        if (translation_is_in_zone(t, buf_cstr(&name))) {
            note_item(t, NOTE_MISSING, item,
                      "none: -alias is for names outside the zones answered here");
        } else {
            strings_add(&aliases, item);
        }
    }
    strings_take(&t->aliases, &aliases);
    for (const char *item = NULL; (item = strings_next(&t->no_aaaa, item));) {
        const char *zone = strcmp(item, "all") == 0 ? "." : item;
        if (zones_overlap(&t->domains, zone) || zones_overlap(&t->external_zones, zone)) {
            note_item(t, NOTE_MISSING, item,
                      "-no-aaaa is for names outside the zones answered here");
        }
    }
}
