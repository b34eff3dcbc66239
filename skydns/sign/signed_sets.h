/* Lists signatures for /explain: the signed RRsets of an answer, their keys, and how long the
 * cached signatures hold. Makes none, and uses none. Main thread; allocates 1.2 MiB meanwhile. */
#ifndef SKYDNS_SIGN_SIGNED_SETS_H
#define SKYDNS_SIGN_SIGNED_SETS_H

#include <stddef.h>
#include <stdint.h>

#include "common/dns/dname.h"
#include "skydns/answer/answer.h"
#include "skydns/dnssec/dnssec.h"
#include "skydns/publish/engine_config.h"
#include "skydns/wire/question.h"

/* Bounds the RRsets: the names that a page shows, each with two types. */
enum { SIGNED_SETS_SHOWN_MAX = 32 };

struct signed_set_shown {
    struct dname owner; /* lower case */
    uint16_t type;
    const struct dnssec_zone *zone;       /* in the configuration's dnssec */
    int64_t ends_s[DNSSEC_ZONE_KEYS_MAX]; /* for each of its keys: as dnssec_peek */
};

/* The records that answer a question about the keys of a signed zone, instead of a plan. */
struct signed_keys_shown {
    const struct dnssec_apex_set *set; /* NULL: it is another question */
    uint32_t ttl_s;
};

/* Returns the records of keys that answer the question, if any do. */
struct signed_keys_shown signed_sets_of_keys(const struct engine_config *config,
                                             const struct question *question);

/* Lists the signed RRsets. Returns how many; unsigned ones are left out. The plan is the answer to
 * the question, over TCP. */
size_t signed_sets_show(const struct engine_config *config, const struct question *question,
                        const struct answer_plan *plan,
                        struct signed_set_shown ret_sets[SIGNED_SETS_SHOWN_MAX]);

#endif
