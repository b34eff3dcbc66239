#include "skydns/external/kept_reply.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/xalloc.h"
#include "skydns/external/kept_message_internal.h"
#include "skydns/external/kept_writer_internal.h"

enum {
    /* Looked at in one reply: three for a denial, as many for each wildcard on the way (RFC 5155
     * 7.2). A nameserver that sends thousands keeps us no longer. */
    PROOFS_MAX = 32,
    DNAMES_MAX = 64, /* likewise: a few for each CNAME */
};

struct making {
    const struct cache_key *key;
    struct kept_message message;
    struct kept_writer writer;
    struct kept_reply kept;
    bool is_sound;
    bool wants_signatures; /* of what is kept; those asked for are records like others */
    struct dname name;     /* at the end of the chain so far */
    uint32_t name_hash;
    unsigned dnames_seen;
    /* Zones in which something was denied, or made from a wildcard, so that proofs belong to it. */
    size_t zone_count;
    struct dname zones[KEPT_CNAMES_MAX + 2];
};

/* ---- Records ---- */

struct section {
    size_t from, to;
};

/* The section's next record, from *at on, of a name and type (ANY: every type); NULL: no more. */
static const struct kept_rr *next_rr(const struct making *m, const struct section *section,
                                     size_t *at, const struct dname *name, uint32_t hash,
                                     uint16_t type)
{
    for (; *at < section->to; ++*at) {
        const struct kept_rr *rr = &m->message.rrs[*at];
        if ((type == DNS_TYPE_ANY || rr->type == type) && rr->rr_class == m->key->qclass &&
            kept_rr_is_of(&m->message, rr, name, hash)) {
            ++*at;
            return rr;
        }
    }
    return NULL;
}

static struct section answers_of(const struct making *m)
{
    return (struct section){0, m->message.answers};
}

static struct section authorities_of(const struct making *m)
{
    return (struct section){m->message.answers, m->message.count};
}

static size_t put(struct making *m, const struct kept_rr *rr, const struct dname *owner,
                  uint32_t ttl_s)
{
    bool is_sound = true;
    if (m->writer.out.failed) {
        return m->writer.out.pos; /* too large already */
    }
    size_t at = kept_writer_put(&m->writer, &m->message, rr, owner, ttl_s, &is_sound);
    m->is_sound &= is_sound;
    m->kept.answers++; /* of the authority section, too, until the sections are told apart */
    return at;
}

static void add_zone(struct making *m, const struct dname *zone)
{
    if (m->zone_count < ARRAY_LEN(m->zones)) {
        m->zones[m->zone_count++] = *zone;
    }
}

/* A signature over fewer labels than the name has was made for a wildcard (RFC 4035 5.3.4): that
 * the name itself does not exist is proved in the authority section. */
static void note_wildcard(struct making *m, const struct dname *owner,
                          const struct kept_signature *signature)
{
    unsigned asterisks = owner->len > 2 && owner->wire[0] == 1 && owner->wire[1] == '*';
    if (signature->labels + asterisks < dname_label_count(owner) &&
        dname_is_within(owner, &signature->signer)) {
        add_zone(m, &signature->signer);
    }
}

static void put_signatures(struct making *m, const struct section *section,
                           const struct dname *owner, uint32_t hash, uint16_t type,
                           uint32_t ttl_max_s)
{
    const struct kept_rr *rr;
    struct kept_signature signature;
    size_t at = section->from;
    while (m->wants_signatures &&
           (rr = next_rr(m, section, &at, owner, hash, KEPT_TYPE_RRSIG)) != NULL) {
        if (kept_rr_signature(&m->message, rr, &signature) && signature.covered == type) {
            put(m, rr, owner, rr->ttl_s < ttl_max_s ? rr->ttl_s : ttl_max_s);
            note_wildcard(m, owner, &signature);
        }
    }
}

/* ---- The answer section ---- */

static void set_name(struct making *m, const struct dname *name)
{
    m->name = *name;
    m->name_hash = kept_name_hash(name);
}

/* Whether the DNAME turns the name into the target: RFC 6672 2.2. */
static bool is_made_by(const struct making *m, const struct kept_rr *dname,
                       const struct dname *target)
{
    struct dname owner = kept_rr_owner(&m->message, dname), end;
    if (owner.len >= m->name.len || !dname_is_within(&m->name, &owner) ||
        !kept_rr_name(&m->message, dname, 0, &end)) {
        return false;
    }
    size_t head = (size_t)m->name.len - owner.len;
    if (head + end.len != target->len || !dname_is_within(target, &end)) {
        return false;
    }
    struct dname made = {.len = (uint8_t)(head + end.len)};
    memcpy(made.wire, m->name.wire, head);
    memcpy(made.wire + head, end.wire, end.len);
    return dname_equal(&made, target);
}

/* Keeps the DNAME that a CNAME was made from: validators check that one's signature. */
static void put_dname(struct making *m, const struct dname *target)
{
    const struct section section = answers_of(m);
    for (size_t i = section.from; i < section.to; i++) {
        const struct kept_rr *rr = &m->message.rrs[i];
        if (rr->type == KEPT_TYPE_DNAME && rr->rr_class == m->key->qclass &&
            m->dnames_seen++ < DNAMES_MAX && is_made_by(m, rr, target)) {
            struct dname owner = kept_rr_owner(&m->message, rr);
            put(m, rr, &owner, rr->ttl_s);
            put_signatures(m, &section, &owner, rr->owner_hash, KEPT_TYPE_DNAME, UINT32_MAX);
            return;
        }
    }
}

/* Follows the CNAMEs from the question's name. What is asked for may stand beside a CNAME, as NSEC
 * does, and ends the chain; addresses may not, and targets are read likewise (external.h). False:
 * too many, or one that is none. */
static bool put_chain(struct making *m)
{
    const struct section section = answers_of(m);
    const uint16_t type = m->key->type;
    const bool wants_cname = type == DNS_TYPE_CNAME || type == DNS_TYPE_ANY;
    const bool wants_address = type == DNS_TYPE_A || type == DNS_TYPE_AAAA;
    for (unsigned hops = 0; !wants_cname; hops++) {
        size_t at = section.from, asked_at = section.from;
        const struct kept_rr *rr;
        struct dname target;
        if ((!wants_address && next_rr(m, &section, &asked_at, &m->name, m->name_hash, type)) ||
            !(rr = next_rr(m, &section, &at, &m->name, m->name_hash, DNS_TYPE_CNAME))) {
            return true;
        }
        if (hops == KEPT_CNAMES_MAX || !kept_rr_name(&m->message, rr, 0, &target)) {
            return false;
        }
        put_dname(m, &target);
        put(m, rr, &m->name, rr->ttl_s);
        put_signatures(m, &section, &m->name, m->name_hash, DNS_TYPE_CNAME, UINT32_MAX);
        set_name(m, &target);
    }
    return true;
}

/* Of records of equal length, the last ones in a row: those before have the owner spelled out. */
static void note_address(struct kept_reply *kept, size_t at, size_t size)
{
    if (kept->run_count == 0 || kept->run_size != size) {
        kept->run_at = (uint16_t)at;
        kept->run_size = (uint16_t)size;
        kept->run_count = 0;
    }
    kept->run_count++;
}

static bool put_asked(struct making *m)
{
    const struct section section = answers_of(m);
    const uint16_t type = m->key->type;
    const bool is_address =
        m->key->qclass == DNS_CLASS_IN && (type == DNS_TYPE_A || type == DNS_TYPE_AAAA);
    const struct kept_rr *rr;
    size_t at = section.from, count = 0;
    while ((rr = next_rr(m, &section, &at, &m->name, m->name_hash, type)) != NULL) {
        size_t start = put(m, rr, &m->name, rr->ttl_s);
        if (is_address && !m->writer.out.failed) {
            note_address(&m->kept, start - m->writer.records_at, m->writer.out.pos - start);
        }
        count++;
    }
    if (count > 0) {
        put_signatures(m, &section, &m->name, m->name_hash, type, UINT32_MAX);
    }
    return count > 0;
}

/* ---- The authority section ---- */

/* RFC 2308 5: the smaller of the SOA's TTL and its last field. */
static uint32_t denial_ttl_s(const struct kept_message *message, const struct kept_rr *soa)
{
    enum { MINIMUM_SIZE = 4, SOA_MIN = 22 };
    if (soa->rdata_len < SOA_MIN) {
        return 0;
    }
    struct reader r = reader_of(message->bytes, message->len);
    r.pos = soa->rdata_at + soa->rdata_len - MINIMUM_SIZE;
    uint32_t minimum_s = reader_u32(&r);
    minimum_s = minimum_s > INT32_MAX ? 0 : minimum_s;
    return minimum_s < soa->ttl_s ? minimum_s : soa->ttl_s;
}

static void shorten(uint32_t *ttl_s, uint32_t max_s)
{
    *ttl_s = *ttl_s < max_s ? *ttl_s : max_s;
}

/* A denial is that of the zone that contains the name, and says so with its SOA. */
static enum cache_verdict put_soa(struct making *m)
{
    const struct section section = authorities_of(m);
    bool is_referral = false;
    for (size_t i = section.from; i < section.to; i++) {
        const struct kept_rr *rr = &m->message.rrs[i];
        is_referral |= rr->type == DNS_TYPE_NS;
        if (rr->type != DNS_TYPE_SOA || rr->rr_class != m->key->qclass) {
            continue;
        }
        struct dname owner = kept_rr_owner(&m->message, rr);
        if (dname_is_within(&m->name, &owner)) {
            shorten(&m->kept.ttl_s, denial_ttl_s(&m->message, rr));
            shorten(&m->kept.ttl_s, CACHE_NEGATIVE_MAX_S);
            put(m, rr, &owner, m->kept.ttl_s);
            put_signatures(m, &section, &owner, rr->owner_hash, DNS_TYPE_SOA, m->kept.ttl_s);
            add_zone(m, &owner);
            return CACHE_KEPT;
        }
    }
    return is_referral ? CACHE_NO_ANSWER : CACHE_NO_SOA;
}

static bool is_in_zones(const struct making *m, const struct dname *owner)
{
    for (size_t i = 0; i < m->zone_count; i++) {
        if (dname_is_within(owner, &m->zones[i])) {
            return true;
        }
    }
    return false;
}

static void put_proofs(struct making *m)
{
    const struct section section = authorities_of(m);
    size_t i = m->wants_signatures && m->zone_count > 0 ? section.from : section.to;
    for (unsigned seen = 0; i < section.to && seen < PROOFS_MAX; i++) {
        const struct kept_rr *rr = &m->message.rrs[i];
        if ((rr->type != KEPT_TYPE_NSEC && rr->type != KEPT_TYPE_NSEC3) ||
            rr->rr_class != m->key->qclass) {
            continue;
        }
        struct dname owner = kept_rr_owner(&m->message, rr);
        if (is_in_zones(m, &owner)) {
            put(m, rr, &owner, rr->ttl_s);
            put_signatures(m, &section, &owner, rr->owner_hash, rr->type, UINT32_MAX);
        }
        seen++;
    }
}

/* ---- The whole ---- */

static size_t written(const struct making *m)
{
    return m->writer.out.pos - m->writer.records_at;
}

static enum cache_verdict put_authorities(struct making *m, bool is_negative)
{
    m->kept.answers_len = (uint16_t)written(m);
    uint16_t answers = m->kept.answers;
    if (is_negative) {
        enum cache_verdict verdict = put_soa(m);
        if (verdict != CACHE_KEPT) {
            return verdict;
        }
    }
    put_proofs(m);
    m->kept.authorities = (uint16_t)(m->kept.answers - answers);
    m->kept.answers = answers;
    m->kept.len = (uint16_t)written(m);
    return CACHE_KEPT;
}

static enum cache_verdict make(struct making *m)
{
    set_name(m, &m->key->name);
    if (!put_chain(m)) {
        return CACHE_NO_ANSWER;
    }
    bool is_negative = !put_asked(m);
    if (!is_negative && m->kept.rcode == DNS_RCODE_NXDOMAIN) {
        return CACHE_NO_ANSWER;
    }
    m->kept.is_negative = is_negative;
    enum cache_verdict verdict = put_authorities(m, is_negative);
    if (verdict != CACHE_KEPT) {
        return verdict;
    }
    if (!m->is_sound) {
        return CACHE_MALFORMED;
    }
    if (m->kept.ttl_s == 0) {
        return CACHE_NO_TIME;
    }
    return m->writer.out.failed ? CACHE_TOO_LARGE : CACHE_KEPT;
}

/* Types that no reply answers with records of that type: 128 to 254, and OPT. */
static bool is_meta(uint16_t type)
{
    return type == DNS_TYPE_OPT || (type >= DNS_TYPE_META_FIRST && type < DNS_TYPE_ANY);
}

enum cache_verdict kept_reply_make(const struct cache_key *key, const uint8_t *reply, size_t len,
                                   uint32_t ttl_max_s, uint8_t image[KEPT_IMAGE_MAX],
                                   struct kept_reply *ret_kept)
{
    struct making m = {.key = key, .is_sound = true};
    if (is_meta(key->type)) {
        return CACHE_NO_ANSWER;
    }
    enum cache_verdict verdict = kept_message_parse(key, reply, len, &m.message);
    if (verdict != CACHE_KEPT) {
        return verdict;
    }
    kept_writer_init(&m.writer, key, image, KEPT_IMAGE_MAX);
    m.wants_signatures =
        key->dnssec_ok && key->type != DNS_TYPE_ANY && key->type != KEPT_TYPE_RRSIG;
    m.kept.records_at = (uint16_t)m.writer.records_at;
    m.kept.rcode = m.message.flags & DNS_MASK_RCODE;
    m.kept.is_authentic = m.message.flags & DNS_FLAG_AD;
    m.kept.ttl_s = m.message.ttl_min_s < ttl_max_s ? m.message.ttl_min_s : ttl_max_s;
    verdict = make(&m);
    kept_message_free(&m.message);
    if (verdict == CACHE_KEPT) {
        *ret_kept = m.kept;
    }
    return verdict;
}

enum cache_verdict kept_reply_first(const struct cache_key *key, const uint8_t *reply, size_t len,
                                    const struct addr *nameserver,
                                    const struct cache_limits *limits, uint32_t shuffle,
                                    uint8_t *records, size_t room, struct cache_hit *ret_hit)
{
    struct kept_reply kept;
    uint8_t *image = xmalloc(KEPT_IMAGE_MAX);
    enum cache_verdict verdict = kept_reply_make(key, reply, len, limits->ttl_max_s, image, &kept);
    *ret_hit = (struct cache_hit){.state = CACHE_MISS};
    if (verdict == CACHE_KEPT) {
        const struct kept_age now = {.ttl_max_s = limits->ttl_max_s};
        size_t fits = kept_reply_fits(&kept, room);
        memcpy(records, image + kept.records_at, fits);
        kept_reply_show(&kept, &now, shuffle, records, fits);
        kept_reply_describe(&kept, ret_hit);
        ret_hit->state = CACHE_FRESH;
        ret_hit->left_s = kept.ttl_s;
        ret_hit->nameserver = *nameserver;
    }
    free(image);
    return verdict;
}
