/* Translates the plugin k8s_external, which has names for the Services of the plugin kubernetes in
 * its block. */
#include <string.h>

#include "common/base/attributes.h"
#include "skydns/corefile/translate_internal.h"

/* Returns the block's first plugin kubernetes, or NULL. */
static const struct corefile_directive *block_kubernetes(const struct corefile_block *block)
{
    for (size_t i = 0; i < block->directive_count; i++) {
        if (corefile_line_is(&block->directives[i].head, "kubernetes")) {
            return &block->directives[i];
        }
    }
    return NULL;
}

static bool can_have_names(const struct translation *t, const char *zone)
{
    static const char *const special[] = {"arpa", "localhost", "invalid", "onion"};
    bool can = zone_is_host_name(zone) && !zone_is_odd(zone) && !zones_overlap(&t->domains, zone);
    for (size_t i = 0; i < ARRAY_LEN(special); i++) {
        can = can && !zone_contains(special[i], zone);
    }
    return can;
}

/* Adds the zone. kube2sky has one, and skydns reads what it writes. */
static void add_external_zone(const struct plugin_use *use, const char *zone)
{
    struct translation *t = use->t;
    if (!can_have_names(t, zone)) {
        use_note(use, NOTE_MISSING,
                 "expected a zone beside the domains, of letters, digits and inner hyphens: "
                 "--external-zone takes no other");
    } else if (!strings_is_empty(&t->external_zones) && !strings_has(&t->external_zones, zone)) {
        use_note(use, NOTE_NARROWER, "--external-zone is one zone: the others are left out");
    } else if (strings_is_empty(&t->external_zones)) {
        strings_add(&t->external_zones, zone);
        translation_flag(&t->kube2sky, "--external-zone=%s", zone);
        translate_zone_transfers(use, zone, true);
    }
}

static void take_headless(const struct plugin_use *use, const struct corefile_line *line UNUSED)
{
    translation_flag(&use->t->kube2sky, "--external-zone-headless");
}

/* Takes the label below which the zone's name servers are. */
static void take_apex(const struct plugin_use *use, const struct corefile_line *line)
{
    if (line->count == 2 && strcmp(line->words[1], "dns") == 0) {
        note_line(use->t, NOTE_NEEDLESS, line, "its label is dns");
    } else {
        note_line(use->t, NOTE_MISSING, line, "none: its label is dns");
    }
}

static void translate_external_options(const struct plugin_use *use)
{
    static const struct plugin_option options[] = {
        {"apex", .take = take_apex},
        {"ttl", MISSING("none: kube2sky's --ttl is for the domain and the zone")},
        {"headless", .take = take_headless},
        {"fallthrough", MISSING("none: the zone's names that do not exist are NXDOMAIN")},
    };
    if (!use_options(use, options, ARRAY_LEN(options))) {
        use_note(use, NOTE_CLOSING, unknown_options);
    }
}

void translate_external_zones(const struct plugin_use *kubernetes)
{
    struct plugin_use use = *kubernetes;
    if (kubernetes->directive != block_kubernetes(use.block)) {
        return;
    }
    for (size_t i = 0; i < use.block->directive_count; i++) {
        bool are_zones; /* translate_external keeps those that are none */
        use.directive = &use.block->directives[i];
        if (!corefile_line_is(&use.directive->head, "k8s_external")) {
            continue;
        }
        CLEANUP_STRINGS struct strings zones = use_zones(&use, 1, &are_zones);
        for (const char *zone = NULL; (zone = strings_next(&zones, zone));) {
            add_external_zone(&use, zone);
        }
        translate_external_options(&use);
    }
}

void translate_external(const struct plugin_use *use)
{
    if (!block_kubernetes(use->block)) {
        use_note(use, NOTE_MISSING,
                 "expected the plugin kubernetes in its block: CoreDNS does not start");
    }
    translate_keep(use, 1); /* whether skydns has the names or not */
}
