/* Says which external names kube2sky may write, and for whom: --override-zones, and the names that
 * it never writes. PURE; single-threaded.
 *
 *     example.com                  example.com and all below, for every namespace
 *     shop.example.com@shop+web    likewise, for objects of these namespaces
 *     *.apps.example.com@ingress   all below apps.example.com, wildcard names, too
 *     .@infra                      every name; zones of one label need an `@`, too
 *
 * Of the zones that a name lies in, the longest decide. A wildcard name lies in a zone that begins
 * with `*.` as well, for the same namespace. */
#ifndef KUBE2SKY_NAMING_OVERRIDE_ZONES_H
#define KUBE2SKY_NAMING_OVERRIDE_ZONES_H

#include <stdbool.h>
#include <stddef.h>

#include "common/base/attributes.h"
#include "common/base/err.h"
#include "common/base/slice.h"
#include "common/dns/dname.h"

/* Each name is compared with each zone. */
enum { OVERRIDE_ZONES_MAX = 100, OVERRIDE_NAMESPACES_MAX = 100 };

struct override_zones;

/* domain: "cluster.local.", whose names are written for other reasons. A failure says which zone,
 * and what was expected; "" is no zone at all. */
int override_zones_parse(const char *text, const char *domain, struct override_zones **ret_zones,
                         struct err *err) MUST_CHECK;
void override_zones_free(struct override_zones *zones); /* NULL is fine */

size_t override_zones_count(const struct override_zones *zones); /* NULL: 0 */

/* An external name as people write it, "app.example.com" or "*.apps.example.com": letters, digits
 * and hyphens, with or without a trailing dot, short enough for the label of a key. In lower case.
 */
bool override_name_parse(struct slice text, struct dname *ret_name) MUST_CHECK;

/* Whether its first label is `*`. */
bool override_name_is_wildcard(const struct dname *name);

enum override_verdict {
    OVERRIDE_ALLOWED,
    OVERRIDE_NO_NAME,   /* override_name_parse */
    OVERRIDE_RESERVED,  /* in the domain, in arpa, or special (RFC 6761, 7686, 9462) */
    OVERRIDE_OUTSIDE,   /* in no zone */
    OVERRIDE_NAMESPACE, /* in a zone for other namespaces */
    OVERRIDE_WILDCARD,  /* in no zone for wildcard names */
    OVERRIDE_TOO_MANY,  /* external_aliases.h */
};

/* ns empty: of the ConfigMap, which may use every zone. */
enum override_verdict override_zones_judge(const struct override_zones *zones,
                                           const struct dname *name, struct slice ns);

/* Why not: "is in no zone of --override-zones"; a constant. */
const char *override_verdict_text(enum override_verdict verdict);

/* Whether the name could be written for anybody. */
bool override_zones_cover(const struct override_zones *zones, const struct dname *name);

#endif
