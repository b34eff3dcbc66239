/* Says which external names kube2sky may write, and for which namespaces: --override-zones, and the
 * names that it never writes. PURE; single-threaded.
 *
 *     example.com                  example.com and all below, for every namespace
 *     shop.example.com@shop+web    likewise, for objects of these namespaces
 *     *.apps.example.com@ingress   all below apps.example.com, wildcard names, too
 *     .@infra                      every name; zones of one label need an `@`, too
 *
 * The longest of the zones that contain a name decide; two of the same length add up. A wildcard
 * name needs, besides, a zone that begins with `*.`, contains it and allows the namespace. */
#ifndef KUBE2SKY_NAMING_OVERRIDE_ZONES_H
#define KUBE2SKY_NAMING_OVERRIDE_ZONES_H

#include <stdbool.h>
#include <stddef.h>

#include "common/base/attributes.h"
#include "common/base/err.h"
#include "common/base/slice.h"
#include "common/dns/dname.h"

/* Bounds the cost of a name, which is compared with each zone. */
enum { OVERRIDE_ZONES_MAX = 100, OVERRIDE_NAMESPACES_MAX = 100 };

struct override_zones;

/* Parses the flag. domain: "cluster.local.", which no zone may lie in. The error names the zone and
 * what was expected. An empty text means no zones. */
int override_zones_parse(const char *text, const char *domain, struct override_zones **ret_zones,
                         struct err *err) MUST_CHECK;

/* Reserves another zone that is written, "clusterset.local." or "lb.example.com.", that of the
 * flag: no zone, and no name, may lie in it. Fails as the parser does. */
int override_zones_reserve(struct override_zones *zones, const char *zone, const char *flag,
                           struct err *err) MUST_CHECK;

void override_zones_free(struct override_zones *zones); /* NULL is fine */

/* Parses an external name as people write it, "app.example.com" or "*.apps.example.com", with or
 * without a trailing dot, into lower case. Labels have letters, digits and hyphens. Returns false
 * for any other text, and for a name that leaves no room for a key's last label. */
bool override_name_parse(struct slice text, struct dname *ret_name) MUST_CHECK;

enum override_verdict {
    OVERRIDE_ALLOWED,
    OVERRIDE_NO_NAME,   /* override_name_parse */
    OVERRIDE_RESERVED,  /* in a domain, the external zone, arpa, or special (RFC 6761, 7686,
                           9462) */
    OVERRIDE_OUTSIDE,   /* in no zone */
    OVERRIDE_NAMESPACE, /* in a zone for other namespaces */
    OVERRIDE_WILDCARD,  /* in no zone for wildcard names */
    OVERRIDE_TOO_MANY,  /* for the object or its namespace (external_aliases.h) */
};

/* Judges a name for an object of the namespace. An empty ns means the ConfigMap, which may use
 * every zone. */
enum override_verdict override_zones_judge(const struct override_zones *zones,
                                           const struct dname *name, struct slice ns);

/* Returns the reason, a constant: "is in no zone of --override-zones". */
const char *override_verdict_text(enum override_verdict verdict);

/* Returns whether one of two zones lies in the other, or one of them is no name. */
bool override_zones_overlap(const char *zone, const char *other);

/* Parses --external-zone: sets *ret_zone to the zone as text, "lb.example.com.", owned by the
 * caller. It neither contains one of the domains nor lies in it, nor in arpa or a special name.
 * import_domain NULL: there is none. */
int override_zones_parse_external(const char *text, const char *domain, const char *import_domain,
                                  char **ret_zone, struct err *err) MUST_CHECK;

/* Returns whether the name could be written for some namespace. */
bool override_zones_cover(const struct override_zones *zones, const struct dname *name);

#endif
