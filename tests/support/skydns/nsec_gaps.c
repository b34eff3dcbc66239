#include "tests/support/skydns/nsec_gaps.h"

#include <string.h>

#include "skydns/dnssec/nsec.h"
#include "tests/support/skydns/nsec_model.h"

/* Whether the name lies strictly between these two, the latter of which may be the zone. */
static bool is_between(const struct dname *name, const struct dname *before,
                       const struct dname *behind, const struct dname *zone)
{
    struct nsec_model record;
    record.owner = *before;
    record.next = *behind;
    return nsec_model_covers(&record, zone, name);
}

static bool nsec_gaps_is_below(const struct dname *name, const struct dname *above)
{
    return dname_is_within(name, above) && name->len > above->len;
}

static bool nsec_gaps_is_name(const struct dname *name)
{
    unsigned at = 0;
    while (at < name->len && name->wire[at] > 0 && name->wire[at] <= DNAME_LABEL_MAX) {
        at += name->wire[at] + 1u;
    }
    struct dname lower = *name;
    dname_lower(&lower);
    return at + 1 == name->len && name->wire[at] == 0 &&
           memcmp(lower.wire, name->wire, name->len) == 0;
}

static const char *before_fault(const struct dname *zone, const struct dname *name,
                                const struct dname *probe)
{
    struct dname before, parent = *name, above;
    enum nsec_before kind = nsec_before(name, &before);
    dname_strip(&parent, 1);
    above = before;
    dname_strip(&above, kind == NSEC_BEFORE_PARENT ? 0 : kind == NSEC_BEFORE_BELOW ? 2 : 1);
    if (!nsec_gaps_is_name(&before) || nsec_model_order(&before, name) >= 0) {
        return "before is not before";
    }
    if (!dname_is_within(&before, zone) || nsec_model_order(&above, &parent) != 0) {
        return "before is of another kind";
    }
    return is_between(probe, &before, name, zone) &&
                   (kind == NSEC_BEFORE_PARENT || !nsec_gaps_is_below(probe, &before))
               ? "something is between before and the name"
               : NULL;
}

static const char *behind_fault(const struct dname *zone, const struct dname *name,
                                const struct dname *probe)
{
    struct dname after, next;
    nsec_after(name, zone, &after);
    nsec_next(name, zone, &next);
    if (!nsec_gaps_is_name(&after) || !nsec_gaps_is_name(&next) || !dname_is_within(&after, zone) ||
        !dname_is_within(&next, zone)) {
        return "after or next is no name of the zone";
    }
    if (dname_is_within(&after, name) ||
        (nsec_model_order(&after, zone) != 0 && nsec_model_order(name, &after) >= 0)) {
        return "after is not behind";
    }
    if (is_between(probe, name, &after, zone) && !nsec_gaps_is_below(probe, name)) {
        return "something is between the name and after";
    }
    return is_between(probe, name, &next, zone) ? "something is between the name and next" : NULL;
}

static const char *below_fault(const struct dname *name, const struct dname *probe)
{
    struct dname last, above;
    if (!nsec_last_below(name, &last)) {
        return nsec_gaps_is_below(probe, name) ? "there is something below after all" : NULL;
    }
    above = last;
    dname_strip(&above, 1);
    if (!nsec_gaps_is_name(&last) || nsec_model_order(&above, name) != 0) {
        return "the last one below is not directly below";
    }
    return nsec_gaps_is_below(probe, name) && nsec_model_order(&last, probe) < 0 &&
                   !nsec_gaps_is_below(probe, &last)
               ? "the last one below is not the last"
               : NULL;
}

static int nsec_gaps_sign(int n)
{
    return (n > 0) - (n < 0);
}

const char *nsec_gaps_fault(const struct dname *zone, const struct dname *name,
                            const struct dname *probe)
{
    const char *fault = before_fault(zone, name, probe);
    fault = fault ? fault : behind_fault(zone, name, probe);
    fault = fault ? fault : below_fault(name, probe);
    if (!fault && nsec_gaps_sign(nsec_compare(name, probe)) !=
                      nsec_gaps_sign(nsec_model_order(name, probe))) {
        fault = "another order";
    }
    return fault;
}

static struct nsec_gap nsec_gaps_gap_around(const struct dname *zone, const struct dname *name)
{
    struct nsec_gap gap;
    (void)nsec_before(name, &gap.owner);
    nsec_after(name, zone, &gap.next);
    return gap;
}

const char *nsec_gaps_join_fault(const struct dname *zone, const struct dname *a,
                                 const struct dname *b, const struct dname *probe)
{
    struct nsec_gap first = nsec_gaps_gap_around(zone, a), second = nsec_gaps_gap_around(zone, b),
                    joined = first;
    bool in_first = is_between(probe, &first.owner, &first.next, zone);
    bool in_second = is_between(probe, &second.owner, &second.next, zone);
    if (!nsec_join(&joined, &second, zone)) {
        return in_first && in_second ? "they overlap" : NULL;
    }
    bool is_bound =
        nsec_model_order(probe, &first.owner) == 0 || nsec_model_order(probe, &first.next) == 0 ||
        nsec_model_order(probe, &second.owner) == 0 || nsec_model_order(probe, &second.next) == 0;
    bool in_joined = is_between(probe, &joined.owner, &joined.next, zone);
    return in_joined == (in_first || in_second) || is_bound ? NULL : "not the whole of both";
}
