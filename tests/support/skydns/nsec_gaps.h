/* Whether what nsec.h gives for a name is as near as can be, by trying another name, the probe:
 * `make check`'s random ones and the fuzzer's. All are lower case. */
#ifndef TESTS_SUPPORT_SKYDNS_NSEC_GAPS_H
#define TESTS_SUPPORT_SKYDNS_NSEC_GAPS_H

#include "common/dns/dname.h"

/* Returns what is wrong with the names before and behind `name`, which is below the zone; NULL:
 * nothing. */
const char *nsec_gaps_fault(const struct dname *zone, const struct dname *name,
                            const struct dname *probe);

/* Returns what is wrong with two names' gaps, joined; NULL: nothing. */
const char *nsec_gaps_join_fault(const struct dname *zone, const struct dname *a,
                                 const struct dname *b, const struct dname *probe);

#endif
