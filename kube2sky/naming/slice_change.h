/* Names a change of one EndpointSlice by itself: the records and claims that come and go. So a
 * change of a large Service costs one slice of at most 1,000 endpoints and, for each other slice, a
 * search for each changed word. PURE.
 *
 * A change cannot be named by itself if a changed endpoint's address, hostname or pod is in another
 * slice, since they share keys and claims. Nor can it if ports differ between slices, since equal
 * ports are numbered. */
#ifndef KUBE2SKY_NAMING_SLICE_CHANGE_H
#define KUBE2SKY_NAMING_SLICE_CHANGE_H

#include <stdbool.h>
#include <stdint.h>

#include "kube2sky/api/kube_object.h"
#include "kube2sky/naming/claims.h"
#include "kube2sky/naming/desired.h"
#include "kube2sky/naming/naming.h"

/* Limits the changed addresses: each is looked up in all other slices. More are a rollout, and the
 * whole Service is named. */
enum { SLICE_CHANGED_MAX = 32 };

/* Holds the words by which endpoints could share keys: addresses, hostnames and pods, as hashes in
 * ascending order. Two equal hashes may be of different words: that costs a plan of the whole
 * Service. */
struct slice_words {
    bool could_take_a_label; /* an endpoint's name looks like the label of an unnamed one */
    size_t count;
    uint32_t hashes[];
};

/* Returns the words of a usable slice, made once for each of its states. The caller owns the result
 * (free). */
struct slice_words *slice_words_new(const struct kube_slice *slice);

/* Holds the slice before and after the change, borrowed; NULL: it does not exist. */
struct slice_change {
    const struct kube_object *service;
    const struct kube_object *before;
    const struct kube_object *after;
    uint32_t words[3 * SLICE_CHANGED_MAX]; /* hashes of the changed endpoints, before and after */
    size_t word_count;
};

/* Sets the change. Returns false if it cannot be named by itself, whatever the other slices are. */
bool slice_change_init(struct slice_change *ret_change, const struct kube_object *service,
                       const struct kube_object *before, const struct kube_object *after);

/* Returns whether the slice can be compared with a change of another one at all. */
bool slice_change_is_usable(const struct kube_object *slice);

/* Returns whether the change does not affect the other slice, a usable one with these words. Call
 * it for each. It searches for each changed word: nothing in it is linear in the slice. */
bool slice_change_spares(const struct slice_change *change, const struct kube_object *other,
                         const struct slice_words *words);

/* Holds the difference, sealed. A record whose value changes is among those that come, as is a
 * claim whose rank or host changes. */
struct slice_difference {
    struct desired come;
    struct desired gone;
    struct claims claims_come;
    struct claims claims_gone;
    int32_t count_change; /* of the owner's records */
};

/* Returns the difference, which the caller owns; NULL: the owner would have more records than
 * allowed. */
struct slice_difference *slice_difference_new(const struct naming_config *config,
                                              const struct slice_change *change);
void slice_difference_free(struct slice_difference *difference); /* NULL is fine */

#endif
