/* Lists signatures for /explain: the RRsets of an answer that are signed, with which keys, and
 * until when those of their signatures hold that are kept. Makes none, and uses none. Main thread;
 * allocates 1.2 MiB meanwhile. */
#ifndef SKYDNS_SIGN_SIGNED_SETS_H
#define SKYDNS_SIGN_SIGNED_SETS_H

#include <stddef.h>
#include <stdint.h>

#include "common/dns/dname.h"
#include "skydns/answer/answer.h"
#include "skydns/dnssec/dnssec.h"
#include "skydns/publish/engine_config.h"
#include "skydns/wire/question.h"

/* As many as a page shows of names, each with two types. */
enum { SIGNED_SETS_SHOWN_MAX = 32 };

struct signed_set_shown {
    struct dname owner; /* lower case */
    uint16_t type;
    const struct dnssec_zone *zone;       /* of the configuration's dnssec */
    int64_t ends_s[DNSSEC_ZONE_KEYS_MAX]; /* of each of its keys: as dnssec_peek */
};

/* What answers, instead of a plan, a question for the keys of a signed zone. */
struct signed_keys_shown {
    const struct dnssec_apex_set *set; /* NULL: it is another question */
    uint32_t ttl_s;
};

struct signed_keys_shown signed_sets_of_keys(const struct engine_config *config,
                                             const struct question *question);

/* Returns how many; unsigned RRsets are left out. The plan is the answer to the question, over
 * TCP. */
size_t signed_sets_show(const struct engine_config *config, const struct question *question,
                        const struct answer_plan *plan,
                        struct signed_set_shown ret_sets[SIGNED_SETS_SHOWN_MAX]);

#endif
