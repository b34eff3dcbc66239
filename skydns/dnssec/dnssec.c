#include "skydns/dnssec/dnssec_internal.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/xalloc.h"
#include "skydns/dnssec/dnssec.h"

/* ---- Zones ---- */

static struct dnssec_room *room_of(struct dnssec *dnssec, const struct dname *owner)
{
    for (size_t i = 0; i < dnssec->zone_count; i++) {
        if (dname_equal(&dnssec->rooms[i].zone.name, owner)) {
            return &dnssec->rooms[i];
        }
    }
    return NULL;
}

/* Adds a zone before those that have fewer labels, so before those that contain it. */
static struct dnssec_room *add_room(struct dnssec *dnssec, const struct dname *owner)
{
    unsigned labels = dname_label_count(owner);
    size_t at = 0;
    while (at < dnssec->zone_count && dnssec->rooms[at].zone.labels >= labels) {
        at++;
    }
    struct dnssec_room *room = &dnssec->rooms[at];
    memmove(room + 1, room, (dnssec->zone_count - at) * sizeof(*room));
    *room = (struct dnssec_room){.zone = {.name = *owner, .labels = labels}};
    dnssec->zone_count++;
    return room;
}

static int dnssec_add_key(struct dnssec *dnssec, struct signing_key *key, struct err *err)
{
    struct dnssec_room *room = room_of(dnssec, &key->owner);
    struct dnssec_zone *zone = room ? &room->zone : &add_room(dnssec, &key->owner)->zone;
    char text[DNAME_TEXT_MAX];
    for (size_t i = 0; i < zone->key_count; i++) {
        if (slice_equal(slice_of(zone->keys[i]->rdata, zone->keys[i]->rdata_len),
                        slice_of(key->rdata, key->rdata_len))) {
            return err_set(err, ERR_USAGE, "key %u of %s is given twice", key->tag,
                           dname_to_text(&key->owner, text));
        }
    }
    if (zone->key_count == DNSSEC_ZONE_KEYS_MAX) {
        return err_set(err, ERR_USAGE, "%s has more than %d keys", dname_to_text(&key->owner, text),
                       DNSSEC_ZONE_KEYS_MAX);
    }
    zone->keys[zone->key_count++] = key;
    return 0;
}

/* ---- Records of the apex ---- */

static void dnssec_add_record(struct dnssec_apex_set *set, const struct signing_key *key,
                              const void *rdata, size_t len)
{
    set->rdata[set->count++] = slice_of(rdata, len);
    if (key->ttl_s != 0 && (set->ttl_s == 0 || key->ttl_s < set->ttl_s)) {
        set->ttl_s = key->ttl_s;
    }
}

static void dnssec_add_records(struct dnssec_room *room, size_t i, bool is_entry)
{
    struct dnssec_zone *zone = &room->zone;
    const struct signing_key *key = zone->keys[i];
    dnssec_add_record(&zone->dnskey, key, key->rdata, key->rdata_len);
    if (is_entry) {
        signing_key_ds(key, room->ds[i]);
        dnssec_add_record(&zone->cdnskey, key, key->rdata, key->rdata_len);
        dnssec_add_record(&zone->ds, key, room->ds[i], SIGNING_KEY_DS_SIZE);
    }
}

/* Prepares a room's records, which point into it: call once the rooms are in their places. */
static void dnssec_prepare(struct dnssec_room *room)
{
    struct dnssec_zone *zone = &room->zone;
    size_t seps = 0;
    for (size_t i = 0; i < zone->key_count; i++) {
        seps += zone->keys[i]->is_sep;
    }
    zone->has_both = seps != 0 && seps != zone->key_count;
    for (size_t i = 0; i < zone->key_count; i++) {
        dnssec_add_records(room, i, seps == 0 || zone->keys[i]->is_sep);
    }
    zone->dnskey.count = dnssec_sort(zone->dnskey.rdata, zone->dnskey.count);
    zone->cdnskey.count = dnssec_sort(zone->cdnskey.rdata, zone->cdnskey.count);
    zone->ds.count = dnssec_sort(zone->ds.rdata, zone->ds.count);
    zone->cds = zone->ds;
}

/* ---- Life ---- */

/* Returns the longest signature. RSA: as long as the modulus, which follows the exponent and its
 * length (RFC 3110 2). */
static size_t signature_len_max(const struct signing_key *key)
{
    enum { DNSKEY_FIELDS = 4, P256 = 13, P384 = 14, ED25519 = 15 };
    size_t rest = key->rdata_len - DNSKEY_FIELDS, exponent = 1u + key->rdata[DNSKEY_FIELDS];
    switch (key->algorithm) {
    case P256:
    case ED25519:
        return 64;
    case P384:
        return 96;
    default: /* a long exponent has another form: it counts, too */
        rest = exponent > 1 && exponent < rest ? rest - exponent : rest;
        return rest < SIGNING_KEY_SIGNATURE_MAX ? rest : SIGNING_KEY_SIGNATURE_MAX;
    }
}

static int add_all(struct dnssec *dnssec, struct signing_key *const *keys, size_t count,
                   size_t signatures_max, struct err *err)
{
    size_t len_max = 1;
    for (size_t i = 0; i < count; i++) {
        int r = dnssec_add_key(dnssec, keys[i], err);
        if (r < 0) {
            return r;
        }
        size_t len = signature_len_max(keys[i]);
        len_max = len > len_max ? len : len_max;
    }
    for (size_t i = 0; i < dnssec->zone_count; i++) {
        dnssec_prepare(&dnssec->rooms[i]);
    }
    return signature_cache_new(signatures_max, len_max, &dnssec->cache, err);
}

int dnssec_new(struct signing_key *const *keys, size_t count, size_t signatures_max,
               struct dnssec **ret_dnssec, struct err *err)
{
    if (count > DNSSEC_KEYS_MAX) {
        return err_set(err, ERR_USAGE, "more than %d keys", DNSSEC_KEYS_MAX);
    }
    struct dnssec *dnssec = xcalloc(1, sizeof(*dnssec) + count * sizeof(dnssec->rooms[0]));
    int r = add_all(dnssec, keys, count, signatures_max, err);
    if (r < 0) {
        free(dnssec);
        return r;
    }
    for (size_t i = 0; i < DNSSEC_MAKING; i++) {
        (void)pthread_mutex_init(&dnssec->making[i], NULL); /* cannot fail without attributes */
    }
    atomic_init(&dnssec->references, 1);
    *ret_dnssec = dnssec;
    return 0;
}

struct dnssec *dnssec_ref(struct dnssec *dnssec)
{
    atomic_fetch_add_explicit(&dnssec->references, 1, memory_order_relaxed);
    return dnssec;
}

void dnssec_unref(struct dnssec *dnssec)
{
    if (!dnssec || atomic_fetch_sub_explicit(&dnssec->references, 1, memory_order_acq_rel) != 1) {
        return;
    }
    for (size_t i = 0; i < dnssec->zone_count; i++) {
        const struct dnssec_zone *zone = &dnssec->rooms[i].zone;
        for (size_t k = 0; k < zone->key_count; k++) {
            signing_key_free(zone->keys[k]);
        }
    }
    for (size_t i = 0; i < DNSSEC_MAKING; i++) {
        (void)pthread_mutex_destroy(&dnssec->making[i]); /* nobody holds it */
    }
    signature_cache_free(dnssec->cache);
    free(dnssec);
}

/* ---- For any thread ---- */

size_t dnssec_zone_count(const struct dnssec *dnssec)
{
    return dnssec->zone_count;
}

const struct dnssec_zone *dnssec_zone_at(const struct dnssec *dnssec, size_t i)
{
    return &dnssec->rooms[i].zone;
}

const struct dnssec_zone *dnssec_zone_of(const struct dnssec *dnssec, const struct dname *name)
{
    for (size_t i = 0; i < dnssec->zone_count; i++) {
        if (dname_is_within(name, &dnssec->rooms[i].zone.name)) {
            return &dnssec->rooms[i].zone;
        }
    }
    return NULL;
}

/* Sorts by Shell's method with Sedgewick's gaps. There are mostly a few records, but a long
 * response has thousands, in an order that clients influence: n^(4/3) steps at most, nothing
 * allocated. */
static void shell_sort_slices(struct slice *items, size_t count)
{
    static const size_t gaps[] = {16577, 4193, 1073, 281, 77, 23, 8, 1};
    for (size_t g = 0; g < ARRAY_LEN(gaps); g++) {
        size_t gap = gaps[g];
        for (size_t i = gap; i < count; i++) {
            struct slice item = items[i];
            size_t at = i;
            for (; at >= gap && slice_compare(item, items[at - gap]) < 0; at -= gap) {
                items[at] = items[at - gap];
            }
            items[at] = item;
        }
    }
}

size_t dnssec_sort(struct slice *rdata, size_t count)
{
    size_t unique = 0;
    shell_sort_slices(rdata, count);
    for (size_t i = 0; i < count; i++) {
        if (unique == 0 || !slice_equal(rdata[i], rdata[unique - 1])) {
            rdata[unique++] = rdata[i];
        }
    }
    return unique;
}

static void append_record(const char *owner, uint32_t ttl_s, struct slice rdata, struct buf *out)
{
    struct reader reader = reader_of(rdata.ptr, rdata.len);
    unsigned tag = reader_u16(&reader);
    unsigned algorithm = reader_u8(&reader);
    unsigned digest_type = reader_u8(&reader);
    buf_printf(out, "%s %u IN DS %u %u %u ", owner, ttl_s, tag, algorithm, digest_type);
    while (reader_left(&reader) > 0) {
        buf_printf(out, "%02X", reader_u8(&reader));
    }
    buf_append_char(out, '\n');
}

void ds_text(const struct dnssec *dnssec, uint32_t default_ttl_s, struct buf *out)
{
    for (size_t i = 0; i < dnssec_zone_count(dnssec); i++) {
        const struct dnssec_zone *zone = dnssec_zone_at(dnssec, i);
        char owner[DNAME_TEXT_MAX];
        uint32_t ttl_s = zone->ds.ttl_s ? zone->ds.ttl_s : default_ttl_s;
        (void)dname_to_text(&zone->name, owner); /* returns owner */
        for (size_t k = 0; k < zone->ds.count; k++) {
            append_record(owner, ttl_s, zone->ds.rdata[k], out);
        }
    }
}
