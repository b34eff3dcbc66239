/* Translates the plugins for what is known of external names: cache and hosts. */
#include <stdlib.h>
#include <string.h>

#include "common/base/addr.h"
#include "common/base/duration.h"
#include "skydns/corefile/translate_internal.h"

/* Limit of -rcache-stale. */
enum { RCACHE_STALE_MAX_S = 30 * 24 * 60 * 60 };

/* ---- cache ---- */

/* Capacity of each kind of responses that no line sets. */
enum { COREDNS_CAPACITY = 9984, RCACHE_MAX = 1000000 };

/* Takes CAPACITY [TTL [MINTTL]]; responses and denials have one cache here. */
static void translate_upstreams_take_capacity(const struct plugin_use *use,
                                              const struct corefile_line *line)
{
    struct translation *t = use->t;
    int64_t capacity;
    if (line->count < 2 || !word_number(line->words[1], RCACHE_MAX, &capacity)) {
        note_line(t, NOTE_MISSING, line, "expected a number of responses");
        return;
    }
    t->has_capacity = true;
    if (line == use_option(use, line->words[0])) { /* the first of its kind */
        const int64_t sum = t->rcache_sum - COREDNS_CAPACITY + capacity;
        t->rcache_sum = sum < RCACHE_MAX ? sum : RCACHE_MAX;
    } else {
        note_line(t, NOTE_MISSING, line, "another line has the capacity first");
    }
    if (line->count > 2) {
        note_line(use->t, NOTE_MISSING, line,
                  "none: -rcache-ttl is for all responses, NXDOMAIN and NODATA are cached half an "
                  "hour at most");
    }
}

static void take_serve_stale(const struct plugin_use *use, const struct corefile_line *line)
{
    int64_t stale_ms = 3600 * 1000;
    if (line->count > 1 &&
        (!duration_parse_ms(line->words[1], &stale_ms) || stale_ms % 1000 != 0)) {
        note_line(use->t, NOTE_MISSING, line, "expected a duration in hours, minutes and seconds");
        return;
    }
    int64_t stale_s = stale_ms / 1000;
    if (stale_s > RCACHE_STALE_MAX_S) {
        note_line(use->t, NOTE_MISSING, line, "beyond what the flag takes: 720h is its limit");
        stale_s = RCACHE_STALE_MAX_S;
    }
    use->t->rcache_stale_s = stale_s;
    if (line->count > 2) {
        note_line(use->t, NOTE_MISSING, line,
                  "none: a stale response is used when no upstream has responded for 1.8 s");
    }
}

/* Takes `disable` with zones after it: ours are not in the response cache anyway. */
static void take_disable(const struct plugin_use *use, const struct corefile_line *line)
{
    bool is_ours = line->count > 2;
    CLEANUP_BUF struct buf zone = buf_of(COREFILE_BYTES_MAX);
    for (size_t i = 2; i < line->count; i++) {
        is_ours &=
            zone_text(line->words[i], &zone) &&
            (translation_has_zone(use->t, buf_cstr(&zone)) || zone_is_reverse(buf_cstr(&zone)));
    }
    if (is_ours) {
        note_line(use->t, NOTE_NEEDLESS, line, "own records are never in the cache");
    } else {
        note_line(use->t, NOTE_MISSING, line,
                  "none: all responses are cached, NXDOMAIN and NODATA too");
    }
}

void translate_cache(const struct plugin_use *use)
{
    static const struct plugin_option options[] = {
        {"success", .take = translate_upstreams_take_capacity},
        {"denial", .take = translate_upstreams_take_capacity},
        {"prefetch",
         NEEDLESS("names queried at least three times are refreshed before they expire")},
        {"serve_stale", .take = take_serve_stale},
        {"serve_stale_policy", MISSING("none")},
        {"servfail", NEEDLESS("failures are cached 1 s, doubling up to 30 s while they last")},
        {"disable", .take = take_disable},
        {"keepttl", MISSING("none: TTLs count down")},
    };
    int64_t ttl_s = -1;
    bool is_of_root = strings_has(use->zones, ".");
    size_t zones = use_argument_count(use);
    if (zones > 0 && word_number(use_argument(use, 0), INT32_MAX, &ttl_s)) {
        zones--;
    }
    if (zones > 0) {
        use_note(use, NOTE_NEEDLESS, "one cache for all names but our own");
    }
    use->t->has_cache = true;
    use->t->rcache_sum += 2 * COREDNS_CAPACITY;
    if (is_of_root && ttl_s > 0) {
        use->t->rcache_ttl_s = ttl_s;
    } else if (ttl_s >= 0) {
        use_note(use, NOTE_MISSING,
                 is_of_root ? "expected a TTL of at least 1"
                            : "none: one -rcache-ttl for all zones");
    }
    use_options(use, options, ARRAY_LEN(options));
    if (use->t->rcache_stale_s < 0) {
        use_note(use, NOTE_NEEDLESS,
                 "without serve_stale, too, a stale response is used when no upstream responds; "
                 "-rcache-stale=0 turns that off");
    }
}

/* ---- hosts ---- */

static bool translate_upstreams_is_host(const char *name)
{
    CLEANUP_BUF struct buf ignored = buf_of(COREFILE_BYTES_MAX);
    return !strchr(name, '/') && zone_text(name, &ignored);
}

static bool translate_upstreams_is_in_zones(const struct strings *zones, const char *name)
{
    CLEANUP_BUF struct buf text = buf_of(COREFILE_BYTES_MAX);
    return zone_text(name, &text) && has_zone_of(zones, buf_cstr(&text));
}

/* Adds "10.0.0.1 name..." to the file that the translation has, with its names in the zones. */
static bool add_entry(const struct plugin_use *use, const struct corefile_line *line,
                      const struct strings *zones)
{
    struct ip ip;
    size_t names = 0;
    bool is_entry = line->count > 1 && ip_parse(slice_str(line->words[0]), &ip);
    bool has_bad_name = false;
    CLEANUP_BUF struct buf entry = buf_of(COREFILE_BYTES_MAX);
    buf_append_str(&entry, line->words[0]);
    for (size_t i = 1; i < line->count && is_entry; i++) {
        if (!translate_upstreams_is_host(line->words[i])) {
            has_bad_name = true;
        } else if (translate_upstreams_is_in_zones(zones, line->words[i])) {
            buf_printf(&entry, " %s", line->words[i]);
            names++;
        }
    }
    if (has_bad_name) {
        note_line(use->t, NOTE_MISSING, line,
                  "expected an address and its names: a word is no name");
    } else if (is_entry && names + 1 < line->count) {
        note_line(use->t, NOTE_MISSING, line, "names of other zones than the plugin's");
    }
    if (is_entry && names > 0) {
        strings_add(&use->t->hosts, buf_cstr(&entry));
    }
    return is_entry;
}

/* Takes a line. Options begin with a letter, entries with an address; of IPv6, one may begin with a
 * letter. */
static void take_hosts_line(const struct plugin_use *use, const struct corefile_line *line,
                            const struct strings *zones)
{
    static const struct plugin_option options[] = {
        {"ttl", MISSING("none: 30 s")},
        {"no_reverse", MISSING("none: its addresses have reverse names")},
        {"reload", NEEDLESS("files are followed")},
        {"fallthrough", NEEDLESS("names that are not in the files go to the upstreams")},
        {"fallthrough_unsupported", MISSING("none: other types of its names have no data")},
    };
    if (!use_option_line(use, options, ARRAY_LEN(options), line) && !add_entry(use, line, zones)) {
        note_line(use->t, NOTE_MISSING, line, "expected an address and its names");
    }
}

/* Keeps zones here: names that are not in its files are answered by nobody else, unless they fall
 * through. */
static void keep_hosts_zones(const struct plugin_use *use, const struct strings *zones)
{
    for (const char *zone = NULL; (zone = strings_next(zones, zone));) {
        if (!use_falls_through(use, zone)) {
            use_note(use, NOTE_MISSING,
                     "without fallthrough: no upstream is queried for other names");
            translate_keep_zone(use->t, zone);
        }
    }
}

void translate_hosts(const struct plugin_use *use)
{
    const struct corefile_directive *directive = use->directive;
    struct translation *t = use->t;
    const char *file = use_argument_count(use) > 0 ? use_argument(use, 0) : "/etc/hosts";
    CLEANUP_STRINGS struct strings zones = use_zones_kept(use, 2);
    for (size_t i = 0; i < directive->line_count; i++) {
        take_hosts_line(use, &directive->lines[i], &zones);
    }
    if (!strings_has(&zones, ".")) {
        note_line(
            t, NOTE_NARROWER, &directive->head,
            "-hosts has the names of all zones: write those of its zones into the file's place");
    } else {
        translation_flag(&t->skydns, "-hosts=%s", file); /* beside the lines here */
    }
    keep_hosts_zones(use, &zones);
}
