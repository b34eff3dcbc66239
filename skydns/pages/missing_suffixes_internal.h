/* Finds what a pod's resolver may have appended to a name: the suffixes of its search list. Pure.
 */
#ifndef SKYDNS_PAGES_MISSING_SUFFIXES_INTERNAL_H
#define SKYDNS_PAGES_MISSING_SUFFIXES_INTERNAL_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/attributes.h"
#include "common/base/slice.h"
#include "common/dns/dname.h"
#include "skydns/publish/engine_config.h"
#include "skydns/records/store.h"

enum { MISSING_SUFFIXES = 3 }; /* <namespace>.svc.<domain>, svc.<domain>, <domain> */

/* Suffixes in their order; len 0: not known, or too long. */
struct missing_suffixes {
    struct dname items[MISSING_SUFFIXES];
};

/* Returns the suffixes for a name of the zone; without a client's namespace (empty), those of the
 * one that the name is in. */
struct missing_suffixes missing_suffixes_of(const struct engine_zone *zone,
                                            const struct dname *name, struct slice space);

/* Splits the name before a suffix: fills in what is before it, as a name of its own. Returns its
 * labels; 0: the name does not end so. */
unsigned missing_before_suffix(const struct dname *name, const struct dname *suffix,
                               struct dname *ret_before);

/* Joins both. Returns false if there is no suffix, or the name would be too long. */
bool missing_with_suffix(const struct dname *before, const struct dname *suffix,
                         struct dname *ret_name) MUST_CHECK;

/* Returns whether the search for what the client means by the name, one of the zone, goes on, and
 * ends well or elsewhere. */
bool missing_is_expansion(const struct engine_config *config, const struct store *store,
                          const struct engine_zone *zone, const struct missing_suffixes *suffixes,
                          const struct dname *name);

/* Returns whether a candidate may be asked for as often as another one, by their samples: it is
 * asked for, and not less than half as often, but for chance: three standard deviations of the
 * difference. */
static inline bool missing_are_alike(uint32_t count, uint32_t other)
{
    const int64_t lack = (int64_t)other - 2 * (int64_t)count;
    const int64_t variance = (int64_t)other + 4 * (int64_t)count;
    return count > 0 && (lack <= 0 || lack * lack <= 9 * variance);
}

#endif
