/* Translates plugins that change external names, and their AAAA: rewrite (-alias), template
 * (-no-aaaa), dns64; and nsid, which says who answers. */
#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

#include "skydns/corefile/translate_internal.h"

/* ---- rewrite ---- */

/* FROM and TO of a rule, without their leading dots; has_dot: both had one. */
struct rewritten {
    bool is_suffix, has_dot;
    struct buf from, to;
};

/* Reads the rule's names. Returns false if -alias cannot have them. */
static bool read_rewritten(const char *from, const char *to, struct rewritten *r)
{
    r->has_dot = r->is_suffix && *from == '.' && from[1] != '\0';
    if (r->is_suffix && (*from == '.') != (*to == '.')) {
        return false;
    }
    return zone_text(from + r->has_dot, &r->from) && zone_text(to + r->has_dot, &r->to) &&
           strcmp(buf_cstr(&r->from), ".") != 0 && strcmp(buf_cstr(&r->to), ".") != 0;
}

/* Returns whether an earlier rule has its names. */
static bool is_aliased(const struct translation *t, struct rewritten *r)
{
    const char *alias = NULL;
    struct buf zone;
    bool is_it = false;
    buf_init(&zone, COREFILE_BYTES_MAX);
    while (!is_it && (alias = strings_next(&t->aliases, alias))) {
        const bool is_of_zone = strncmp(alias, "*.", 2) == 0;
        const char *name = alias + (is_of_zone ? 2 : 0);
        buf_clear(&zone);
        buf_append(&zone, name, strcspn(name, "="));
        is_it = is_of_zone ? zone_contains(buf_cstr(&zone), buf_cstr(&r->from))
                           : !r->has_dot && strcmp(buf_cstr(&zone), buf_cstr(&r->from)) == 0;
    }
    buf_fini(&zone);
    return is_it;
}

static void translate_names_add_alias(const struct plugin_use *use,
                                      const struct corefile_line *line, const char *prefix,
                                      struct rewritten *r)
{
    struct buf text;
    buf_init(&text, COREFILE_BYTES_MAX * 2 + sizeof("*.=*."));
    buf_printf(&text, "%s%s=%s%s", prefix, buf_cstr(&r->from), prefix, buf_cstr(&r->to));
    translation_add(use->t, &use->t->aliases, ALIASES_MAX, buf_cstr(&text), line);
    buf_fini(&text);
}

static void add_aliases(const struct plugin_use *use, const struct corefile_line *line,
                        struct rewritten *r)
{
    if (is_aliased(use->t, r)) {
        translation_missing(use->t, line, "an earlier rule has the name");
        return;
    }
    if (!r->has_dot) {
        translate_names_add_alias(use, line, "", r);
    }
    if (r->is_suffix) {
        translate_names_add_alias(use, line, "*.", r);
    }
    if (r->is_suffix && !r->has_dot) {
        translation_missing(use->t, line,
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
    struct rewritten r = {.is_suffix = false};
    const bool is_stop = at < line->count && strcmp(words[at], "stop") == 0;
    at += is_stop;
    if (at + 2 >= line->count || strcmp(words[at], "name") != 0) {
        translation_missing(use->t, line, "none");
        return;
    }
    at++;
    r.is_suffix = strcmp(words[at], "suffix") == 0;
    at += r.is_suffix || strcmp(words[at], "exact") == 0;
    const bool has_names = at + 2 <= line->count && !is_pattern(words[at]);
    const bool has_answer = line->count > at + 2;
    buf_init(&r.from, COREFILE_BYTES_MAX);
    buf_init(&r.to, COREFILE_BYTES_MAX);
    if (!has_names || !read_rewritten(words[at], words[at + 1], &r)) {
        translation_missing(use->t, line, "none: -alias takes names, or what they end with");
    } else {
        add_aliases(use, line, &r);
        if (has_answer && !(line->count == at + 4 && strcmp(words[at + 2], "answer") == 0 &&
                            strcmp(words[at + 3], "auto") == 0)) {
            translation_missing(use->t, line, "an answer always has the name that was queried");
        }
    }
    buf_fini(&r.from);
    buf_fini(&r.to);
}

/* ---- template ---- */

/* Returns whether the template answers every name with NOERROR and no answer records. */
static bool is_empty_answer(const struct plugin_use *use)
{
    static const char *const all[] = {".", ".*", "^.*$", "(.*)", "^(.*)$"};
    const struct corefile_directive *directive = use->directive;
    for (size_t i = 0; i < directive->line_count; i++) {
        const struct corefile_line *line = &directive->lines[i];
        bool is_right = strcmp(line->words[0], "authority") == 0 ||
                        (strcmp(line->words[0], "rcode") == 0 && line->count == 2 &&
                         strcmp(line->words[1], "NOERROR") == 0);
        for (size_t k = 0; k < ARRAY_LEN(all) && !is_right; k++) {
            is_right = strcmp(line->words[0], "match") == 0 && line->count == 2 &&
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
    struct strings zones;
    const char *zone = NULL;
    const bool is_filter =
        use_argument_count(use) >= 2 &&
        (strcmp(use_argument(use, 0), "IN") == 0 || strcmp(use_argument(use, 0), "ANY") == 0) &&
        strcmp(use_argument(use, 1), "AAAA") == 0 && is_empty_answer(use);
    if (!is_filter) {
        translation_missing(use->t, head, "none");
        translate_keep(use, 3);
        return;
    }
    if (!use_zones(use, 3, &zones)) {
        translate_keep_zone(use->t, "."); /* there is no telling which */
    }
    while ((zone = strings_next(&zones, zone))) {
        if (zone_is_reverse(zone)) {
            translation_missing(use->t, head, "none: reverse names have no AAAA");
        } else {
            translation_add(use->t, &use->t->no_aaaa, NO_AAAA_MAX,
                            strcmp(zone, ".") == 0 ? "all" : zone, head);
        }
    }
    strings_fini(&zones);
}

/* ---- dns64 ---- */

/* Returns whether RFC 6052 has the prefix length. */
static bool translate_names_is_prefix(const char *text)
{
    static const char *const lengths[] = {"32", "40", "48", "56", "64", "96"};
    const char *slash = strchr(text, '/');
    char address[INET6_ADDRSTRLEN];
    uint8_t bytes[16];
    size_t i = 0;
    if (!slash || (size_t)(slash - text) >= sizeof(address)) {
        return false;
    }
    memcpy(address, text, (size_t)(slash - text));
    address[slash - text] = '\0';
    while (i < ARRAY_LEN(lengths) && strcmp(slash + 1, lengths[i]) != 0) {
        i++;
    }
    if (i == ARRAY_LEN(lengths) || inet_pton(AF_INET6, address, bytes) != 1 || bytes[8] != 0) {
        return false;
    }
    for (size_t at = strtoul(slash + 1, NULL, 10) / 8; at < sizeof(bytes); at++) {
        if (bytes[at] != 0) {
            return false;
        }
    }
    return true;
}

void translate_dns64(const struct plugin_use *use)
{
    static const struct plugin_option options[] = {
        {"prefix", .needless = "the flag has it"},
        {"translate_all", .missing = "none: names with AAAA keep them"},
        {"allow_ipv4", .needless = "how a query came does not matter"},
    };
    const struct corefile_line *head = &use->directive->head;
    const struct corefile_line *line = use_option(use, "prefix");
    const char *prefix = line && line->count == 2       ? line->words[1]
                         : use_argument_count(use) == 1 ? use_argument(use, 0)
                                                        : "64:ff9b::/96";
    (void)!use_options(use, options, ARRAY_LEN(options)); /* unknown ones restrict nothing */
    if (!strings_has(use->zones, ".")) {
        translation_missing(use->t, head, "none: one -dns64 for all zones");
    } else if (!translate_names_is_prefix(prefix)) {
        translation_missing(use->t, head,
                            "expected a prefix of 32, 40, 48, 56, 64 or 96 bits, with zeros behind "
                            "it and in bits 64 to 71");
    } else {
        use->t->dns64 = prefix;
        translation_missing(use->t, head,
                            "own records have no made addresses; private ones have none in "
                            "64:ff9b::/96");
        if (!use_option(use, "allow_ipv4")) {
            translation_missing(use->t, head, "clients that query over IPv4 have them, too");
        }
    }
}

/* ---- nsid ---- */

void translate_nsid(const struct plugin_use *use)
{
    enum { NSID_MAX = 128 };
    struct buf text;
    buf_init(&text, COREFILE_BYTES_MAX);
    for (size_t i = 0; i < use_argument_count(use); i++) {
        buf_printf(&text, "%s%s", i > 0 ? " " : "", use_argument(use, i));
    }
    if (text.len == 0) {
        translation_missing(use->t, &use->directive->head,
                            "without a text it is the host's name: -nsid=\"$(hostname)\"");
    } else if (text.len > NSID_MAX) {
        translation_missing(use->t, &use->directive->head, "beyond what the flag takes: 128 bytes");
    } else {
        translation_flag(&use->t->skydns, "-nsid=%s", buf_cstr(&text));
    }
    buf_fini(&text);
}

/* ---- At the end ---- */

void translate_settle_names(struct translation *t)
{
    const char *item = NULL;
    struct strings aliases;
    struct buf name;
    strings_init(&aliases);
    buf_init(&name, STRINGS_BYTES_MAX);
    while ((item = strings_next(&t->aliases, item))) {
        const char *from = item + (strncmp(item, "*.", 2) == 0 ? 2 : 0);
        buf_clear(&name);
        buf_append(&name, from, strcspn(from, "="));
        if (translation_is_in_zone(t, buf_cstr(&name))) {
            translation_missing_item(t, item,
                                     "none: -alias is for names outside the zones answered here");
        } else {
            strings_add(&aliases, item);
        }
    }
    buf_fini(&name);
    strings_fini(&t->aliases);
    t->aliases = aliases;
    while ((item = strings_next(&t->no_aaaa, item))) {
        const char *zone = strcmp(item, "all") == 0 ? "." : item;
        if (zones_overlap(&t->domains, zone) || zones_overlap(&t->external_zones, zone)) {
            translation_missing_item(t, item,
                                     "-no-aaaa is for names outside the zones answered here");
        }
    }
}
