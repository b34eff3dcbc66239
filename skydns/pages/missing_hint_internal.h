/* Says what is wrong with a name that does not exist: how the nearest existing name differs, or
 * that it existed until lately. Main thread. */
#ifndef SKYDNS_PAGES_MISSING_HINT_INTERNAL_H
#define SKYDNS_PAGES_MISSING_HINT_INTERNAL_H

#include <stdint.h>

#include "common/base/addr.h"
#include "common/base/slice.h"
#include "common/dns/dname.h"
#include "skydns/publish/engine_config.h"

struct metrics_sources;

enum missing_why {
    MISSING_UNEXPLAINED, /* nothing is near */
    MISSING_DELETED,     /* it existed within the last hour */
    MISSING_SPELLING,    /* at most two typing errors in a label */
    MISSING_PLURAL,      /* singular for plural, or the other way */
    MISSING_NAMESPACE,   /* it is in another namespace, or has none */
    MISSING_SVC,         /* `svc` is not there, or another word is */
    MISSING_POD,         /* a pod's name without its headless Service */
    MISSING_ORDER,       /* the labels are swapped */
    MISSING_DOMAIN,      /* the domain is there twice */
    MISSING_SIMILAR,     /* a part of the word is right */
    MISSING_HIDDEN,      /* it exists, but the client may not see it */
    MISSING_CREATED,     /* it exists by now */
    MISSING_TARGET,      /* it exists, as an alias of a name that does not */
};

/* Returns the word for programs: "spelling". */
const char *missing_why_text(enum missing_why why);

struct missing_hint {
    enum missing_why why;
    struct dname near; /* the nearest existing name, or the alias's target; len 0: none */

    /* MISSING_DELETED: the Unix time of that, the object's name, and the last address, if it had
     * one. */
    int64_t gone_ms;
    struct dname gone;
    struct ip had;
};

/* Returns how `near` differs; both are in the domain and in lower case. */
enum missing_why missing_why_of(const struct engine_zone *zone, const struct dname *name,
                                const struct dname *near);

/* Explains a name of ours (lower case) that a client of this namespace (empty: not known) was
 * denied. Bounded: explainer_nearest. */
void missing_hint_find(const struct metrics_sources *sources, const struct dname *name,
                       struct slice space, struct missing_hint *ret);

#endif
