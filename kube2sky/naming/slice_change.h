/* A change of one EndpointSlice, named by itself: the records and claims that come and go. So what
 * a large Service costs is its slice of at most 1,000 endpoints, however many slices it has. PURE.
 *
 * What a change costs is the slice itself and, for each other one, a search for each changed word.
 *
 * A change cannot be named by itself if a changed endpoint's address, hostname or pod is in another
 * slice (they share keys and claims), or if ports differ between slices (equal ports are numbered).
 */
#ifndef KUBE2SKY_NAMING_SLICE_CHANGE_H
#define KUBE2SKY_NAMING_SLICE_CHANGE_H

#include <stdbool.h>
#include <stdint.h>

#include "kube2sky/api/kube_object.h"
#include "kube2sky/naming/claims.h"
#include "kube2sky/naming/desired.h"
#include "kube2sky/naming/naming.h"

/* Changed addresses: each is looked up in all of the other slices. More are a rollout, and named
 * with everything else. */
enum { SLICE_CHANGED_MAX = 32 };

/* What endpoints could share keys by, whichever of their names they go by: addresses, hostnames and
 * pods, as hashes in ascending order. Two that are equal may be of different words: that costs a
 * plan of the whole Service. */
struct slice_words {
    bool could_take_a_label; /* an endpoint has a name like the label of one that has none */
    size_t count;
    uint32_t hashes[];
};

/* Of a usable slice; made once for each state of it. The caller owns the result (free). */
struct slice_words *slice_words_new(const struct kube_slice *slice);

/* before and after: of one slice, borrowed; NULL: it does not exist. */
struct slice_change {
    const struct kube_object *service;
    const struct kube_object *before;
    const struct kube_object *after;
    uint32_t words[3 * SLICE_CHANGED_MAX]; /* hashes: of the changed endpoints of either */
    size_t word_count;
};

/* Sets what changed. False: it cannot be named by itself, whatever the other slices are. */
bool slice_change_init(struct slice_change *ret_change, const struct kube_object *service,
                       const struct kube_object *before, const struct kube_object *after);

/* Whether the slice can be compared with a change of another one at all. */
bool slice_change_is_usable(const struct kube_object *slice);

/* Whether the other slice, a usable one with these words, stays out of it. To be asked of each. A
 * search for each changed word: nothing of it is linear in the slice. */
bool slice_change_spares(const struct slice_change *change, const struct kube_object *other,
                         const struct slice_words *words);

/* Sealed. A record whose value changes is among those that come, as is a claim whose rank or host
 * does. */
struct slice_difference {
    struct desired come;
    struct desired gone;
    struct claims claims_come;
    struct claims claims_gone;
    int32_t count_change; /* of the owner's records */
};

/* NULL: more records than an owner may have. The caller owns the result. */
struct slice_difference *slice_difference_new(const struct naming_config *config,
                                              const struct slice_change *change);
void slice_difference_free(struct slice_difference *difference); /* NULL is fine */

#endif
