/* Reads -external-zones, and checks the zones that are answered here against each other. */
#include "common/base/buf.h"
#include "skydns/publish/reverse_zone.h"
#include "skydns/settings/option_text.h"
#include "skydns/settings/option_values.h"

size_t option_own_zone_count(const struct options *o)
{
    return o->domain_count + o->external_zone_count;
}

const struct dname *option_own_zone(const struct options *o, size_t index)
{
    return index < o->domain_count ? &o->domains[index]
                                   : &o->external_zones[index - o->domain_count];
}

int option_external_zones(struct options *o, const char *list, struct err *err)
{
    char item[OPTION_ITEM_MAX];
    const char *rest = list;
    o->external_zone_count = 0;
    while (option_next_item(&rest, item)) {
        struct dname zone;
        if (!option_lower_name(item, &zone) || dname_label_count(&zone) == 0) {
            return err_set(err, ERR_USAGE, "`%s`: expected a zone like lb.example.com", item);
        }
        if (o->external_zone_count == ENGINE_EXTERNAL_ZONES_MAX) {
            return err_set(err, ERR_USAGE, "`%s`: expected at most %d zones", list,
                           ENGINE_EXTERNAL_ZONES_MAX);
        }
        o->external_zones[o->external_zone_count++] = zone;
    }
    return 0;
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

void option_text_external_zones(const struct options *o, struct buf *out)
{
    char text[DNAME_TEXT_MAX];
    for (size_t i = 0; i < o->external_zone_count; i++) {
        buf_append_str(out, i ? "," : "");
        buf_append_str(out, dname_to_text(&o->external_zones[i], text));
    }
}
