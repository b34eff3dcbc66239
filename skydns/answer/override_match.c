#include "skydns/answer/override_match.h"

#include "common/dns/record_rrs.h"
#include "skydns/external/zone_table.h"
#include "skydns/records/overrides.h"

static bool is_target_shown(const struct follow *f, const struct dname *target)
{
    const struct engine_zone *zone = engine_config_zone(f->config, target);
    return !zone || !follow_is_hidden(&f->view, zone, target);
}

bool override_shows(const struct follow *f, const struct store_record *record)
{
    if (record->host != STORE_HOST_NAME || !f->view.visibility) {
        return true;
    }
    const struct dname target = dname_lower_of(store_record_host_wire(record));
    return is_target_shown(f, &target);
}

bool override_match_alias(struct follow *f, const struct dname *name,
                          struct override_match *ret_match)
{
    const struct engine_alias *alias = engine_config_alias(f->config, name);
    *ret_match = (struct override_match){.is_alias = true, .families = FOLLOW_BOTH};
    return alias && engine_config_alias_target(alias, name, &ret_match->target) &&
           is_target_shown(f, &ret_match->target);
}

/* Returns the address families that a record answers for: both if it has a host. */
static enum follow_families families_of_record(const struct store_record *record)
{
    const struct slice rrs = store_record_string(record, RECORD_RR);
    struct reader r = reader_of(rrs.ptr, rrs.len);
    struct record_rr packed;
    unsigned families = record->host == STORE_HOST_NONE ? FOLLOW_NONE : FOLLOW_BOTH;
    while (record_rrs_next(&r, &packed)) {
        families |= packed.type == DNS_TYPE_A      ? FOLLOW_A
                    : packed.type == DNS_TYPE_AAAA ? FOLLOW_AAAA
                                                   : FOLLOW_NONE;
    }
    return (enum follow_families)families;
}

/* Returns whether a stub zone has the name: one at least as long as the wildcard that matches it.
 */
static bool override_match_is_stubs(const struct follow *f, const struct dname *name,
                                    const struct override_found *found)
{
    const struct forward_zone *stub =
        found->is_wildcard ? engine_config_stub(f->config, name, DNS_TYPE_SOA, NULL) : NULL;
    return stub && dname_label_count(&stub->name) >= found->labels;
}

static bool match_place(struct follow *f, const struct dname *place, struct override_match *match)
{
    const struct view view = {.store = store_overrides(f->view.store), .config = f->config};
    const struct lookup_rule rule = {.no_wildcards = true};
    bool is_any_shown = false;
    if (lookup_find(f->lookup, &view, place, rule, &match->span) == LOOKUP_LIMIT) {
        (void)follow_defer_scan(f); /* false on the walker: then there are no addresses */
        match->is_deferred = true;
        return true;
    }
    for (size_t i = 0; i < match->span.count; i++) {
        const struct store_record *record = lookup_record(f->lookup, &match->span, i);
        if (override_shows(f, record)) {
            is_any_shown = true;
            match->families = (enum follow_families)(match->families | families_of_record(record));
        }
    }
    if (!is_any_shown) {
        lookup_release(f->lookup, &match->span);
    }
    return is_any_shown;
}

bool override_match_records(struct follow *f, const struct dname *name,
                            struct override_match *ret_match)
{
    struct override_found found;
    struct dname place;
    const struct store *overrides = f->view.store ? store_overrides(f->view.store) : NULL;
    *ret_match = (struct override_match){.is_alias = false};
    return overrides && overrides_find(overrides, name, &found) &&
           !override_match_is_stubs(f, name, &found) && overrides_place(&found, name, &place) &&
           match_place(f, &place, ret_match);
}

void override_match_end(struct follow *f, const struct override_match *match)
{
    if (!match->is_deferred) {
        lookup_release(f->lookup, &match->span);
    }
}
