#include "skydns/sign/rrsets_internal.h"

#include <assert.h>
#include <string.h>

#include "common/base/cursor.h"
#include "skydns/wire/encode.h"

/* ---- Grouping ---- */

/* Returns one hash for names that differ only in case: it sets the bit that tells letters' cases.
 */
static uint32_t hash_owner(struct slice name)
{
    const uint64_t fold = UINT64_C(0x2020202020202020), odd = UINT64_C(0x9e3779b97f4a7c15);
    uint64_t h = name.len;
    for (size_t at = 0; at < name.len; at += sizeof(h)) {
        uint64_t part = 0;
        size_t left = name.len - at;
        memcpy(&part, name.ptr + at, left < sizeof(part) ? left : sizeof(part));
        h = (h ^ (part | fold)) * odd;
        h ^= h >> 32;
    }
    return (uint32_t)h;
}

/* Finds an RRset from the end: most records are of the RRset before. */
static size_t find_rrset(const struct rrsets *sets, struct slice owner, enum rr_type type,
                         uint32_t hash)
{
    for (size_t i = sets->count; i-- > 0;) {
        const struct rrset *set = &sets->items[i];
        if (set->owner_hash == hash && set->type == type && rr_same_name(set->owner, owner)) {
            return i;
        }
    }
    return sets->count;
}

const struct rrset *rrsets_of_name(const struct rrsets *sets, struct slice owner, enum rr_type type)
{
    size_t i = find_rrset(sets, owner, type, sets->record_count > 1 ? hash_owner(owner) : 0);
    return i < sets->count ? &sets->items[i] : NULL;
}

static struct rrset *add_rrset(struct rrsets *sets, const struct rr *rr, uint32_t hash)
{
    assert(sets->count < RRSETS_MAX);
    struct rrset *set = &sets->items[sets->count++];
    *set = (struct rrset){.owner = rr->owner,
                          .type = rr->type,
                          .owner_hash = hash,
                          .ttl_s = rr->ttl_s,
                          .first = RRSETS_END,
                          .last = RRSETS_END};
    return set;
}

static void chain_rr(struct rrsets *sets, struct rrset *set, uint16_t at)
{
    *(set->last == RRSETS_END ? &set->first : &sets->next[set->last]) = at;
    sets->next[at] = RRSETS_END;
    set->last = at;
    set->count++;
    set->ttl_s = sets->rrs[at].ttl_s < set->ttl_s ? sets->rrs[at].ttl_s : set->ttl_s;
}

bool rrsets_find(struct rrsets *sets, const struct rr *rrs, size_t count)
{
    assert(count <= RR_LIST_MAX);
    sets->rrs = rrs;
    sets->record_count = count;
    sets->count = 0;
    uint32_t hash = 0; /* a single record needs none */
    for (size_t i = 0; i < count; i++) {
        if (count > 1 && (i == 0 || rrs[i].owner.ptr != rrs[i - 1].owner.ptr ||
                          rrs[i].owner.len != rrs[i - 1].owner.len)) {
            hash = hash_owner(rrs[i].owner);
        }
        size_t at = find_rrset(sets, rrs[i].owner, rrs[i].type, hash);
        if (at == RRSETS_MAX) {
            return false;
        }
        chain_rr(sets, at < sets->count ? &sets->items[at] : add_rrset(sets, &rrs[i], hash),
                 (uint16_t)i);
    }
    return true;
}

void rrsets_level_ttls(const struct rrsets *sets, struct rr *rrs)
{
    for (size_t i = 0; i < sets->count; i++) {
        const struct rrset *set = &sets->items[i];
        for (uint16_t at = set->first; at != RRSETS_END; at = sets->next[at]) {
            rrs[at].ttl_s = set->ttl_s;
        }
    }
}

/* ---- Canonical form ---- */

/* Lowers names; lengths of labels are no capitals. */
static void lower_names(uint8_t *names, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        names[i] = ascii_lower(names[i]);
    }
}

static void write_canonical(const struct rr *rr, const struct answer_soa *soa, struct writer *w)
{
    const size_t start = w->pos;
    const enum rr_shape shape = rr_shape(rr);
    const size_t before = rr_numbers_len(shape);
    const size_t behind = shape == RR_SHAPE_ZONE ? RR_DATA_SOA_NUMBERS : 0;
    rr_data_write(rr, soa, w);
    assert(!w->failed);
    if (shape != RR_SHAPE_TEXT) {
        lower_names(w->data + start + before, w->pos - start - before - behind);
    }
}

struct dnssec_rrset rrsets_canonical(const struct rrsets *sets, const struct rrset *set,
                                     const struct dname *owner, const struct answer_soa *soa,
                                     struct rrset_scratch *scratch)
{
    struct writer w = writer_of(scratch->bytes, sizeof(scratch->bytes));
    size_t count = 0;
    for (uint16_t at = set->first; at != RRSETS_END; at = sets->next[at]) {
        const struct rr *rr = &sets->rrs[at];
        const size_t start = w.pos;
        if (rr_shape(rr) == RR_SHAPE_BYTES) {
            scratch->data[count++] = rr->data;
            continue;
        }
        write_canonical(rr, soa, &w);
        scratch->data[count++] = slice_of(w.data + start, w.pos - start);
    }
    assert(!w.failed);
    return (struct dnssec_rrset){
        .owner = rr_name(owner),
        .type = (uint16_t)set->type,
        .ttl_s = set->ttl_s,
        .count = count > 1 ? dnssec_sort(scratch->data, count) : count,
        .rdata = scratch->data,
    };
}
