/* Reads -external-zones and -alias, and checks the names in both against the zones that are
 * answered here. */
#include <string.h>

#include "common/base/buf.h"
#include "skydns/publish/reverse_zone.h"
#include "skydns/settings/option_text.h"
#include "skydns/settings/option_values.h"

/* ---- -external-zones ---- */

size_t option_own_zone_count(const struct options *o)
{
    return o->domain_count + o->external_zone_count;
}

const struct dname *option_own_zone(const struct options *o, size_t index)
{
    return index < o->domain_count ? &o->domains[index]
                                   : &o->external_zones[index - o->domain_count];
}

/* Returns whether one of the names contains the other. */
static bool option_zones_overlap(const struct dname *a, const struct dname *b)
{
    return dname_is_within(a, b) || dname_is_within(b, a);
}

static int check_external_zone(const struct options *o, size_t index, struct err *err)
{
    const struct dname *zone = &o->external_zones[index];
    char text[DNAME_TEXT_MAX];
    bool overlaps = false;
    for (size_t i = 0; i < o->domain_count; i++) {
        overlaps = overlaps || option_zones_overlap(zone, &o->domains[i]);
    }
    for (size_t i = 0; i < index; i++) {
        overlaps = overlaps || option_zones_overlap(zone, &o->external_zones[i]);
    }
    overlaps = overlaps || option_zones_overlap(zone, &reverse_zone_in_addr_arpa) ||
               option_zones_overlap(zone, &reverse_zone_ip6_arpa);
    return overlaps ? err_set(err, ERR_USAGE,
                              "`%s`: expected a zone outside the other zones and domains answered "
                              "here and arpa, that contains none",
                              dname_to_text(zone, text))
                    : 0;
}

int option_check_external_zones(const struct options *o, struct err *err)
{
    int r = o->domain_count + o->external_zone_count <= ENGINE_ZONES_MAX
                ? 0
                : err_set(err, ERR_USAGE, "expected at most %d zones and domains together",
                          ENGINE_ZONES_MAX);
    for (size_t i = 0; r == 0 && i < o->external_zone_count; i++) {
        r = check_external_zone(o, i, err);
    }
    return r;
}

/* ---- -alias ---- */

#define EXPECTED \
    "expected FROM=TO, *.FROM=TO or *.FROM=*.TO, like app.example.com=web.prod.svc.cluster.local"

static bool take_wildcard(const char **text)
{
    const bool has_it = strncmp(*text, "*.", 2) == 0;
    *text += has_it ? 2 : 0;
    return has_it;
}

int option_alias(struct options *o, const char *text, struct err *err)
{
    char from[OPTION_ITEM_MAX];
    struct engine_alias alias = {.is_below = false};
    const char *equals = strchr(text, '='), *at = from;
    const size_t len = equals ? (size_t)(equals - text) : 0;
    if (len == 0 || len >= sizeof(from)) {
        return err_set(err, ERR_USAGE, "`%s`: " EXPECTED, text);
    }
    memcpy(from, text, len);
    from[len] = '\0';
    const char *to = equals + 1;
    alias.is_below = take_wildcard(&at);
    alias.keeps_labels = take_wildcard(&to);
    if (!option_lower_name(at, &alias.from) || !option_lower_name(to, &alias.to) ||
        dname_label_count(&alias.from) == 0 || dname_label_count(&alias.to) == 0 ||
        (alias.keeps_labels && !alias.is_below)) {
        return err_set(err, ERR_USAGE, "`%s`: " EXPECTED, text);
    }
    for (size_t i = 0; i < o->engine.alias_count; i++) {
        const struct engine_alias *other = &o->engine.aliases[i];
        if (other->is_below == alias.is_below && dname_equal(&other->from, &alias.from)) {
            return err_set(err, ERR_USAGE, "`%s`: expected each FROM once", text);
        }
    }
    if (o->engine.alias_count == ENGINE_ALIASES_MAX) {
        return err_set(err, ERR_USAGE, "`%s`: expected at most %d aliases", text,
                       ENGINE_ALIASES_MAX);
    }
    o->engine.aliases[o->engine.alias_count++] = alias;
    return 0;
}

int option_check_aliases(const struct options *o, struct err *err)
{
    char text[DNAME_TEXT_MAX];
    for (size_t i = 0; i < o->engine.alias_count; i++) {
        const struct dname *from = &o->engine.aliases[i].from;
        for (size_t k = 0; k < option_own_zone_count(o); k++) {
            if (dname_is_within(from, option_own_zone(o, k))) {
                return err_set(err, ERR_USAGE,
                               "`%s`: expected a name in none of the domains answered here",
                               dname_to_text(from, text));
            }
        }
    }
    return 0;
}

void option_text_aliases(const struct options *o, struct buf *out)
{
    char text[DNAME_TEXT_MAX];
    for (size_t i = 0; i < o->engine.alias_count; i++) {
        const struct engine_alias *alias = &o->engine.aliases[i];
        buf_append_str(out, i > 0 ? " " : "");
        buf_append_str(out, alias->is_below ? "*." : "");
        buf_append_str(out, dname_to_text(&alias->from, text));
        buf_append_str(out, alias->keeps_labels ? "=*." : "=");
        buf_append_str(out, dname_to_text(&alias->to, text));
    }
}
