#include "skydns/sign/signed_choice_internal.h"

#include <assert.h>

#include "skydns/wire/encode.h"

enum { POINTER_BYTES = 2 };

/* Returns an upper bound on the rdata's bytes, with whole names. */
static size_t data_bytes(const struct rr *rr)
{
    switch (rr_shape(rr)) {
    case RR_SHAPE_BYTES:
        return rr->data.len;
    case RR_SHAPE_TEXT:
        return rr->data.len + rr->data.len / UINT8_MAX + 1;
    case RR_SHAPE_SERVICE_NAMED:
    case RR_SHAPE_PREFERENCE_NAMED:
    case RR_SHAPE_NAMED:
    case RR_SHAPE_ZONE:
        break;
    }
    return RR_DATA_NUMBERS_MAX + rr->data.len;
}

static size_t canonical_bytes(const struct rr *rr)
{
    return rr->owner.len + DNS_RR_HEAD + data_bytes(rr);
}

static size_t message_bytes(const struct rr *rr)
{
    return POINTER_BYTES + DNS_RR_HEAD + data_bytes(rr);
}

static bool is_verifiable(const struct rrsets *sets, const struct rrset *set)
{
    size_t bytes = 0;
    for (uint16_t at = set->first; at != RRSETS_END; at = sets->next[at]) {
        bytes += canonical_bytes(&sets->rrs[at]);
    }
    return bytes <= SIGNED_CHOICE_CANONICAL_MAX;
}

bool signed_choice_can_verify(const struct rrsets *sets)
{
    for (size_t i = 0; i < sets->count; i++) {
        if (sets->items[i].keys && !is_verifiable(sets, &sets->items[i])) {
            return false;
        }
    }
    return true;
}

static const struct rrset *largest_signed(const struct rrsets *sets)
{
    const struct rrset *largest = NULL;
    for (size_t i = 0; i < sets->count; i++) {
        const struct rrset *set = &sets->items[i];
        if (set->keys && (!largest || set->count > largest->count)) {
            largest = set;
        }
    }
    return largest;
}

/* Returns the bytes of all records but that RRset's. */
static size_t other_bytes(const struct rrsets *sets, const struct rrset *largest)
{
    size_t bytes = 0;
    for (size_t i = 0; i < sets->count; i++) {
        const struct rrset *set = &sets->items[i];
        bytes += set->owner.len; /* once without compression */
        for (uint16_t at = set->first; set != largest && at != RRSETS_END; at = sets->next[at]) {
            bytes += message_bytes(&sets->rrs[at]);
        }
    }
    return bytes;
}

static uint16_t next_in_turn(const struct rrsets *sets, const struct rrset *set, uint16_t at)
{
    const uint16_t next = sets->next[at];
    return next == RRSETS_END ? set->first : next;
}

/* Returns how many records fit, from `at` on. */
static size_t count_fitting(const struct rrsets *sets, const struct rrset *set, uint16_t at,
                            size_t room, size_t *ret_bytes)
{
    size_t count = 0, canonical = 0, message = 0;
    for (; count < set->count; count++) {
        const struct rr *rr = &sets->rrs[at];
        canonical += canonical_bytes(rr);
        if (canonical > SIGNED_CHOICE_CANONICAL_MAX || message + message_bytes(rr) > room) {
            break;
        }
        message += message_bytes(rr);
        at = next_in_turn(sets, set, at);
    }
    *ret_bytes = message;
    return count;
}

/* Keeps `count` records of the RRset, from the one with the number `first` on, in their order. */
static void keep_records(struct rr_list *answers, const struct rrsets *sets,
                         const struct rrset *set, size_t first, size_t count)
{
    size_t left_count = 0, number = 0;
    uint16_t of_set = set->first;
    for (size_t i = 0; i < answers->count; i++) {
        bool is_cached = true;
        if (i == of_set) {
            is_cached = (number + set->count - first) % set->count < count;
            number++;
            of_set = sets->next[of_set];
        }
        if (is_cached) {
            answers->items[left_count++] = answers->items[i];
        }
    }
    answers->count = left_count;
    answers->is_indexed = false;
}

bool signed_choice_shorten(struct rr_list *answers, const struct rrsets *sets, size_t room,
                           size_t first)
{
    const struct rrset *set = largest_signed(sets);
    assert(sets->rrs == answers->items && sets->record_count == answers->count);
    if (!set) {
        return false;
    }
    const size_t others = other_bytes(sets, set);
    uint16_t at = set->first;
    for (size_t i = 0; i < first % set->count; i++) {
        at = sets->next[at];
    }
    size_t bytes;
    const size_t count = others < room ? count_fitting(sets, set, at, room - others, &bytes) : 0;
    if (count == 0 || (count == set->count && !answers->is_cut)) {
        return false;
    }
    keep_records(answers, sets, set, first % set->count, count);
    answers->is_cut = false;
    answers->least_bytes = others + bytes - answers->count; /* the signer adds the count */
    return true;
}
