#include "kube2sky/naming/override_zones.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/xalloc.h"

/* How much of a wrong value an error shows. */
enum { SHOWN_MAX = 100 };

/* The last label of a key: eight hexadecimal digits and their length. */
enum { KEY_LABEL_BYTES = 9 };

struct override_zone {
    struct dname name; /* without `*.` */
    unsigned label_count;
    bool is_wildcard; /* begins with `*.`: the name itself is not in it */
    struct slice namespaces[OVERRIDE_NAMESPACES_MAX]; /* within the text */
    size_t namespace_count;                           /* 0: all */
};

struct override_zones {
    char *text; /* a copy, which the zones borrow from */
    struct dname domain;
    struct override_zone *zones;
    size_t count;
    struct dname taken[2]; /* override_zones_reserve */
    size_t taken_count;
};

static const char *const reserved[] = {"arpa", "localhost", "invalid", "onion"};

/* ---- Names ---- */

/* Returns whether the first label is `*`. */
static bool override_name_is_wildcard(const struct dname *name)
{
    return name->len > 2 && name->wire[0] == 1 && name->wire[1] == '*';
}

static bool has_zone_labels(const struct dname *name, unsigned from)
{
    struct dname_labels labels;
    bool has = true;
    dname_labels(name, &labels);
    for (unsigned i = from; i < labels.count && has; i++) {
        has = dname_is_host_label(dname_label(name, labels.offsets[i]));
    }
    return has && labels.count > from;
}

bool override_name_parse(struct slice text, struct dname *ret_name)
{
    bool is_plain = text.len && !memchr(text.ptr, '\\', text.len);
    if (!is_plain || !dname_from_text(text, ret_name) ||
        ret_name->len + KEY_LABEL_BYTES > DNAME_MAX) {
        return false;
    }
    dname_lower(ret_name);
    return has_zone_labels(ret_name, override_name_is_wildcard(ret_name));
}

/* Returns whether the last label is reserved. resolver.arpa is in arpa. */
static bool is_reserved(const struct dname *name)
{
    struct dname_labels labels;
    bool is = false;
    dname_labels(name, &labels);
    for (size_t i = 0; i < ARRAY_LEN(reserved) && !is && labels.count; i++) {
        is = slice_equal(dname_label(name, labels.offsets[labels.count - 1]),
                         slice_str(reserved[i]));
    }
    return is;
}

static bool is_never_written(const struct override_zones *zones, const struct dname *name)
{
    bool is_taken = dname_is_within(name, &zones->domain);
    for (size_t i = 0; i < zones->taken_count && !is_taken; i++) {
        is_taken = dname_is_within(name, &zones->taken[i]);
    }
    return is_taken || is_reserved(name);
}

/* ---- The flag ---- */

static int expect_zone(struct slice zone, const char *expected, struct err *err)
{
    int shown = (int)(zone.len < SHOWN_MAX ? zone.len : SHOWN_MAX);
    return err_set(err, ERR_USAGE, "`%.*s`: expected %s", shown, zone.ptr, expected);
}

static int take_zone_namespaces(struct override_zone *zone, struct slice entry, struct slice text,
                                struct err *err)
{
    while (text.len) {
        bool has_more = memchr(text.ptr, '+', text.len) != NULL;
        struct slice ns = slice_cut(&text, '+');
        if (!dname_is_host_label(ns) || (has_more && !text.len)) {
            return expect_zone(entry, "namespaces like prod+shop after `@`", err);
        }
        if (zone->namespace_count == OVERRIDE_NAMESPACES_MAX) {
            return expect_zone(entry, "at most 100 namespaces", err);
        }
        zone->namespaces[zone->namespace_count++] = ns;
    }
    return zone->namespace_count ? 0
                                 : expect_zone(entry, "namespaces like prod+shop after `@`", err);
}

static int override_zones_take_zone(struct override_zones *zones, struct slice entry,
                                    struct err *err)
{
    static const char example[] = "a zone like example.com, *.example.com or example.com@prod+shop";
    struct override_zone *zone = &zones->zones[zones->count];
    struct slice rest = entry, name = slice_cut(&rest, '@');
    struct dname_labels labels;
    bool has_namespaces = name.len < entry.len;
    zone->is_wildcard = slice_has_prefix(name, slice_str("*."));
    if (zone->is_wildcard) {
        name = slice_skip(name, 2);
        name = name.len ? name : slice_str(".");
    }
    if (!name.len || memchr(name.ptr, '\\', name.len) || !dname_from_text(name, &zone->name)) {
        return expect_zone(entry, example, err);
    }
    dname_lower(&zone->name);
    dname_labels(&zone->name, &labels);
    zone->label_count = labels.count;
    if (labels.count && !has_zone_labels(&zone->name, 0)) {
        return expect_zone(entry, example, err);
    }
    if (is_never_written(zones, &zone->name)) {
        return expect_zone(entry, "a zone outside -domain and arpa, and no special one", err);
    }
    if (labels.count < 2 && !has_namespaces) {
        return expect_zone(entry, "namespaces with so short a zone, like com@prod", err);
    }
    zones->count++;
    return has_namespaces ? take_zone_namespaces(zone, entry, rest, err) : 0;
}

bool override_zones_overlap(const char *zone, const char *other)
{
    struct dname a, b;
    return !dname_from_text(slice_str(zone), &a) || !dname_from_text(slice_str(other), &b) ||
           dname_is_within(&a, &b) || dname_is_within(&b, &a);
}

int override_zones_parse_external(const char *text, const char *domain, const char *import_domain,
                                  char **ret_zone, struct err *err)
{
    struct dname zone;
    char name[DNAME_TEXT_MAX];
    if (!override_name_parse(slice_str(text), &zone) || override_name_is_wildcard(&zone)) {
        return expect_zone(slice_str(text), "a zone like lb.example.com", err);
    }
    if (is_reserved(&zone) || override_zones_overlap(text, domain) ||
        (import_domain && override_zones_overlap(text, import_domain))) {
        return expect_zone(slice_str(text),
                           "a zone outside -domain, -multicluster-domain and arpa that contains "
                           "neither domain, and no special one",
                           err);
    }
    *ret_zone = xstrdup(dname_to_text(&zone, name));
    return 0;
}

int override_zones_parse(const char *text, const char *domain, struct override_zones **ret_zones,
                         struct err *err)
{
    struct override_zones *zones = xcalloc(1, sizeof(*zones));
    zones->text = xstrdup(text);
    ascii_lower_copy(zones->text, zones->text, strlen(zones->text));
    zones->zones = xcalloc(OVERRIDE_ZONES_MAX, sizeof(*zones->zones));
    struct slice rest = slice_str(zones->text);
    int r = dname_from_text(slice_str(domain), &zones->domain)
                ? 0
                : expect_zone(slice_str(domain), "a domain", err);
    bool has_more = rest.len > 0;
    while (r == 0 && has_more) {
        has_more = rest.len && memchr(rest.ptr, ',', rest.len);
        struct slice entry = slice_cut(&rest, ',');
        r = zones->count < OVERRIDE_ZONES_MAX ? override_zones_take_zone(zones, entry, err)
                                              : expect_zone(entry, "at most 100 zones", err);
    }
    if (r < 0) {
        override_zones_free(zones);
        return r;
    }
    *ret_zones = zones;
    return 0;
}

int override_zones_reserve(struct override_zones *zones, const char *zone, const char *flag,
                           struct err *err)
{
    char text[DNAME_TEXT_MAX], expected[64];
    struct dname *taken = &zones->taken[zones->taken_count];
    assert(zones->taken_count < ARRAY_LEN(zones->taken));
    if (!dname_from_text(slice_str(zone), taken)) {
        return expect_zone(slice_str(zone), "a zone", err);
    }
    zones->taken_count++;
    (void)snprintf(expected, sizeof(expected), "a zone outside %s", flag);
    for (size_t i = 0; i < zones->count; i++) {
        if (dname_is_within(&zones->zones[i].name, taken)) {
            return expect_zone(slice_str(dname_to_text(&zones->zones[i].name, text)), expected,
                               err);
        }
    }
    return 0;
}

void override_zones_free(struct override_zones *zones)
{
    if (zones) {
        free(zones->zones);
        free(zones->text);
        free(zones);
    }
}

/* ---- Verdicts ---- */

static bool is_in_zone(const struct override_zone *zone, const struct dname *name)
{
    return dname_is_within(name, &zone->name) &&
           !(zone->is_wildcard && dname_equal(name, &zone->name));
}

static bool is_zone_for(const struct override_zone *zone, struct slice ns)
{
    bool is = !ns.len || !zone->namespace_count;
    for (size_t i = 0; i < zone->namespace_count && !is; i++) {
        is = slice_equal(zone->namespaces[i], ns);
    }
    return is;
}

enum override_verdict override_zones_judge(const struct override_zones *zones,
                                           const struct dname *name, struct slice ns)
{
    bool has_zone = false, is_allowed = false, is_wildcard_allowed = false;
    unsigned longest = 0;
    for (size_t i = 0; i < zones->count; i++) {
        const struct override_zone *zone = &zones->zones[i];
        if (!is_in_zone(zone, name)) {
            continue;
        }
        bool is_longer = !has_zone || zone->label_count > longest;
        bool is_mine = is_zone_for(zone, ns);
        is_allowed =
            (is_allowed && !is_longer) || (is_mine && (is_longer || zone->label_count == longest));
        longest = is_longer ? zone->label_count : longest;
        is_wildcard_allowed |= zone->is_wildcard && is_mine;
        has_zone = true;
    }
    bool needs_wildcard = override_name_is_wildcard(name);
    return is_never_written(zones, name)            ? OVERRIDE_RESERVED
           : !has_zone                              ? OVERRIDE_OUTSIDE
           : !is_allowed                            ? OVERRIDE_NAMESPACE
           : needs_wildcard && !is_wildcard_allowed ? OVERRIDE_WILDCARD
                                                    : OVERRIDE_ALLOWED;
}

bool override_zones_cover(const struct override_zones *zones, const struct dname *name)
{
    return override_zones_judge(zones, name, slice_of(NULL, 0)) == OVERRIDE_ALLOWED;
}

const char *override_verdict_text(enum override_verdict verdict)
{
    static const char *const texts[] = {
        [OVERRIDE_ALLOWED] = "is allowed",
        [OVERRIDE_NO_NAME] = "is no name like app.example.com",
        [OVERRIDE_RESERVED] =
            "is in --domain, in --multicluster-domain, in --external-zone, in arpa or special",
        [OVERRIDE_OUTSIDE] = "is in no zone of --override-zones",
        [OVERRIDE_NAMESPACE] = "is in a zone that --override-zones gives to other namespaces",
        [OVERRIDE_WILDCARD] = "is in no zone of --override-zones that begins with *.",
        [OVERRIDE_TOO_MANY] = "is one too many",
    };
    return texts[verdict];
}
