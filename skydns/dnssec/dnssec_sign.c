/* Makes an RRset's RRSIGs, or finds those in the signature cache. */
#include "skydns/dnssec/dnssec_internal.h"

#include <string.h>
#include <time.h>

#include "common/base/buf.h"
#include "common/base/cursor.h"
#include "common/base/log.h"

/* Size of the first fields of an RRSIG's data: RFC 4034 3.1. */
enum { FIELDS_SIZE = 18 };

/* Limits the data to sign: an RRset of 64 KiB at most, each of whose records has the owner in
 * front. */
enum { DATA_MAX = 32 * 1024 * 1024 };

/* Signature that is asked for. */
struct wish {
    struct dnssec *dnssec;
    const struct dnssec_zone *zone;
    const struct signing_key *key;
    const struct dnssec_rrset *rrset;
    struct signature_id id;
    int64_t now_s;
};

/* ---- The RRSIG's data ---- */

/* Counts the labels without the root and an asterisk in front: RFC 4034 3.1.3. */
static uint8_t dnssec_sign_labels_of(struct slice owner)
{
    unsigned labels = 0;
    for (size_t at = 0; at < owner.len && owner.ptr[at] != 0; at += 1 + (uint8_t)owner.ptr[at]) {
        labels++;
    }
    bool is_wildcard = owner.len >= 2 && owner.ptr[0] == 1 && owner.ptr[1] == '*';
    return (uint8_t)(labels - is_wildcard);
}

/* Writes the fields and the signer's name; returns their length. Times are serial numbers of 32
 * bits: RFC 4034 3.1.5. */
static size_t write_fields(const struct wish *wish, int64_t made_s, uint8_t *out)
{
    struct writer w = writer_of(out, DNSSEC_RRSIG_MAX);
    writer_u16(&w, wish->rrset->type);
    writer_u8(&w, wish->key->algorithm);
    writer_u8(&w, dnssec_sign_labels_of(wish->rrset->owner));
    writer_u32(&w, wish->rrset->ttl_s);
    writer_u32(&w, (uint32_t)(uint64_t)(made_s + DNSSEC_ENDS_S));
    writer_u32(&w, (uint32_t)(uint64_t)(made_s - DNSSEC_BEGAN_S));
    writer_u16(&w, wish->key->tag);
    writer_bytes(&w, wish->zone->name.wire, wish->zone->name.len);
    return w.pos;
}

/* ---- Kept signatures ---- */

static bool is_valid(int64_t made_s, int64_t now_s)
{
    return now_s >= made_s - DNSSEC_BEGAN_S && now_s < made_s + DNSSEC_LAST_S;
}

enum age { AGE_UNUSABLE, AGE_TO_RENEW, AGE_GOOD };

/* Writes the cached signature, if it can be used. */
static enum age dnssec_sign_reuse(const struct wish *wish, struct dnssec_signature *signature,
                                  struct signature_found *ret_found)
{
    size_t fields_len = FIELDS_SIZE + wish->zone->name.len;
    uint8_t *out = signature->rdata + fields_len;
    if (!signature_cache_find(wish->dnssec->cache, wish->id, ret_found, out) ||
        !is_valid(ret_found->made_s, wish->now_s)) {
        return AGE_UNUSABLE;
    }
    signature->len = write_fields(wish, ret_found->made_s, signature->rdata) + ret_found->len;
    return wish->now_s < ret_found->made_s + DNSSEC_RENEW_S ? AGE_GOOD : AGE_TO_RENEW;
}

/* ---- New signatures ---- */

/* Appends the RRset behind the fields: RFC 4034 3.1.8.1. */
static void append_rrset(struct buf *data, const struct dnssec_rrset *rrset)
{
    for (size_t i = 0; i < rrset->count; i++) {
        buf_append_slice(data, rrset->owner);
        buf_append_u16(data, rrset->type);
        buf_append_u16(data, DNS_CLASS_IN);
        buf_append_u32(data, rrset->ttl_s);
        buf_append_u16(data, (uint16_t)rrset->rdata[i].len);
        buf_append_slice(data, rrset->rdata[i]);
    }
}

static int make_with(const struct wish *wish, struct buf *data, struct dnssec_signature *signature,
                     struct err *err)
{
    size_t fields_len = write_fields(wish, wish->now_s, signature->rdata), len = 0;
    uint8_t *out = signature->rdata + fields_len;
    buf_append(data, signature->rdata, fields_len);
    append_rrset(data, wish->rrset);
    if (data->failed) {
        return err_set(err, ERR_TOO_LARGE, "more than %d bytes to be signed", DATA_MAX);
    }
    int r = signing_key_sign(wish->key, buf_slice(data), out, &len, err);
    if (r < 0) {
        return r;
    }
    signature->len = fields_len + len;
    signature_cache_put(wish->dnssec->cache, wish->id, wish->now_s, slice_of(out, len));
    return 0;
}

static int64_t thread_cpu_ns(void)
{
    struct timespec now = {0};
    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now); /* cannot fail */
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static void tell_failure(const struct wish *wish, const struct err *err)
{
    static struct log_limit limit = {.burst = 1};
    char zone[DNAME_TEXT_MAX];
    if (log_limit_pass(&limit)) {
        log_warn("a signature cannot be made",
                 LOG_STR("zone", dname_to_text(&wish->zone->name, zone)),
                 LOG_INT("tag", wish->key->tag), LOG_INT("algorithm", wish->key->algorithm),
                 LOG_STR("error", err->msg), LOG_INT("suppressed", (int64_t)limit.suppressed));
    }
}

static bool dnssec_sign_make(const struct wish *wish, struct dnssec_signature *signature)
{
    struct err err = {0};
    struct buf data;
    buf_init(&data, DATA_MAX);
    int64_t start_ns = thread_cpu_ns();
    int r = make_with(wish, &data, signature, &err);
    dnssec_count_made(r == 0, thread_cpu_ns() - start_ns);
    buf_fini(&data);
    if (r < 0) {
        tell_failure(wish, &err);
    }
    return r == 0;
}

/* ---- One or the other ---- */

struct given {
    enum dnssec_outcome outcome;
    bool is_reused;
    int64_t made_s;
};

static struct given given_reused(const struct wish *wish, const struct signature_found *found)
{
    signature_cache_use(wish->dnssec->cache, found);
    return (struct given){DNSSEC_SIGNED, true, found->made_s};
}

static struct given dnssec_sign_find(const struct wish *wish, struct dnssec_signature *signature)
{
    struct signature_found found;
    enum age age = dnssec_sign_reuse(wish, signature, &found);
    if (age == AGE_UNUSABLE ||
        (age == AGE_TO_RENEW && signature_cache_claim(wish->dnssec->cache, &found, wish->now_s))) {
        return (struct given){.outcome = DNSSEC_MISSING};
    }
    return given_reused(wish, &found);
}

/* Finds or makes the signature. Another thread may make the same one: the second finds it. An old
 * one that cannot be renewed is better than none. */
static struct given find_or_make(const struct wish *wish, struct dnssec_signature *signature)
{
    struct signature_found found;
    if (dnssec_sign_reuse(wish, signature, &found) == AGE_GOOD) {
        return given_reused(wish, &found);
    }
    struct given given = {DNSSEC_SIGNED, .made_s = wish->now_s};
    pthread_mutex_t *making = &wish->dnssec->making[wish->id.high % DNSSEC_MAKING];
    (void)pthread_mutex_lock(making);
    if (dnssec_sign_reuse(wish, signature, &found) == AGE_GOOD) {
        given = given_reused(wish, &found);
    } else if (!dnssec_sign_make(wish, signature)) {
        given = dnssec_sign_reuse(wish, signature, &found) != AGE_UNUSABLE
                    ? given_reused(wish, &found)
                    : (struct given){.outcome = DNSSEC_FAILED};
    }
    (void)pthread_mutex_unlock(making);
    return given;
}

static struct signature_id id_with_key(const struct dnssec *dnssec, const struct dnssec_zone *zone,
                                       size_t key, struct signature_id rrset_id)
{
    size_t zone_number = 0;
    while (&dnssec->rooms[zone_number].zone != zone) {
        zone_number++;
    }
    return signature_id_with_key(rrset_id, zone_number * DNSSEC_ZONE_KEYS_MAX + key);
}

enum dnssec_outcome dnssec_sign(struct dnssec *dnssec, const struct dnssec_zone *zone,
                                const struct dnssec_rrset *rrset, int64_t now_s, bool may_make,
                                struct dnssec_signature signatures[DNSSEC_ZONE_KEYS_MAX],
                                size_t *ret_count)
{
    struct signature_id rrset_id = signature_cache_id(dnssec->cache, rrset);
    size_t count = 0, reused = 0;
    int64_t first_made_s = now_s;
    for (size_t i = 0; i < zone->key_count; i++) {
        if (!dnssec_key_signs(zone, zone->keys[i], rrset->type)) {
            continue;
        }
        const struct wish wish = {
            .dnssec = dnssec,
            .zone = zone,
            .key = zone->keys[i],
            .rrset = rrset,
            .id = id_with_key(dnssec, zone, i, rrset_id),
            .now_s = now_s,
        };
        struct given given = may_make ? find_or_make(&wish, &signatures[count])
                                      : dnssec_sign_find(&wish, &signatures[count]);
        if (given.outcome != DNSSEC_SIGNED) {
            return given.outcome;
        }
        count++;
        reused += given.is_reused;
        first_made_s = given.made_s < first_made_s ? given.made_s : first_made_s;
    }
    if (reused > 0) {
        dnssec_count_reused(reused);
    }
    dnssec_note_end(first_made_s + DNSSEC_ENDS_S, now_s);
    *ret_count = count;
    return DNSSEC_SIGNED;
}

int64_t dnssec_peek(const struct dnssec *dnssec, const struct dnssec_zone *zone, size_t key,
                    const struct dnssec_rrset *rrset)
{
    uint8_t signature[SIGNING_KEY_SIGNATURE_MAX];
    struct signature_found found;
    if (!dnssec_key_signs(zone, zone->keys[key], rrset->type)) {
        return -1;
    }
    struct signature_id rrset_id = signature_cache_id(dnssec->cache, rrset);
    struct signature_id id = id_with_key(dnssec, zone, key, rrset_id);
    return signature_cache_find(dnssec->cache, id, &found, signature) ? found.made_s + DNSSEC_ENDS_S
                                                                      : 0;
}
