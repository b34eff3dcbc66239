#include "skydns/external/cache_image.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/cursor.h"
#include "common/base/xalloc.h"
#include "skydns/external/cache_entry_internal.h"
#include "skydns/external/cache_image_writer.h"
#include "skydns/wire/rdata_layout.h"

enum {
    DNAMES_MAX = 64, /* looked at in one response: a few for each CNAME */
};

struct making {
    const struct cache_key *key;
    const struct parsed_response *response;
    uint32_t ttl_max_s;
    struct cache_image_writer writer;
    struct cached_reply cached;
    bool is_sound;
    bool wants_signatures;     /* cached ones; RRSIGs asked for are records like others */
    struct response_name name; /* at the end of the chain so far */
    unsigned dnames_seen;
    size_t last_dname; /* its index plus one: a chain may go through it several times; 0: none */
    /* Zones with a denial or a wildcard, to which proofs belong. */
    size_t zone_count;
    struct dname zones[CACHED_CNAMES_MAX + 2];
};

/* ---- Records ---- */

/* Returns the section's next record of a name and type, from *at on (ANY: every type). NULL: no
 * more. */
static const struct response_rr *cache_image_next_rr(struct making *m,
                                                     const struct response_span *section,
                                                     size_t *at, struct response_name *name,
                                                     uint16_t type)
{
    for (; *at < section->to; ++*at) {
        m->cached.steps++;
        const struct response_rr *rr = &m->response->rrs[*at];
        if ((type == DNS_TYPE_ANY || rr->type == type) && rr->rr_class == m->key->qclass &&
            response_rr_is_of(m->response, rr, name)) {
            ++*at;
            return rr;
        }
    }
    return NULL;
}

static struct response_span answers_of(const struct making *m)
{
    return response_section_span(m->response, RESPONSE_ANSWER);
}

static struct response_span authorities_of(const struct making *m)
{
    return response_section_span(m->response, RESPONSE_AUTHORITY);
}

/* A signature's fields (RFC 4034 3.1): the type covered, the labels of the signed name, and the
 * owner of the key. */
struct cached_signature {
    uint16_t covered;
    uint8_t labels;
    struct dname signer;
};

/* Reads an RRSIG. Returns false when the record is none. */
static bool read_signature(const struct making *m, const struct response_rr *rr,
                           struct cached_signature *ret)
{
    enum { LABELS_AT = 3, SIGNER_AT = 18 };
    const uint8_t *rdata = m->response->bytes + rr->data_at;
    if (rr->type != DNS_TYPE_RRSIG ||
        !response_rr_name(m->response, rr, SIGNER_AT, &ret->signer, NULL)) {
        return false;
    }
    ret->covered = (uint16_t)(rdata[0] << 8 | rdata[1]);
    ret->labels = rdata[LABELS_AT];
    return true;
}

static size_t cache_image_put(struct making *m, const struct response_rr *rr,
                              const struct dname *owner, uint32_t ttl_s)
{
    bool is_sound = true;
    if (m->writer.out.failed) {
        return m->writer.out.pos; /* already too large */
    }
    const uint32_t shown_s = ttl_s < m->ttl_max_s ? ttl_s : m->ttl_max_s;
    size_t at = cache_image_writer_put(&m->writer, m->response, rr, owner, shown_s, &is_sound);
    m->is_sound &= is_sound;
    m->cached.answers++; /* counts the authority section, too, until the sections are told apart */
    return at;
}

static void cache_image_add_zone(struct making *m, const struct dname *zone)
{
    if (m->zone_count < ARRAY_LEN(m->zones)) {
        m->zones[m->zone_count++] = *zone;
    }
}

/* Notes the zone of a wildcard: a signature over fewer labels than the name has was made for one
 * (RFC 4035 5.3.4). The authority section proves that the name itself does not exist. */
static void note_wildcard(struct making *m, const struct dname *owner,
                          const struct cached_signature *signature)
{
    unsigned asterisks = owner->len > 2 && owner->wire[0] == 1 && owner->wire[1] == '*';
    if (signature->labels + asterisks < dname_label_count(owner) &&
        dname_is_within(owner, &signature->signer)) {
        cache_image_add_zone(m, &signature->signer);
    }
}

static void put_signatures(struct making *m, const struct response_span *section,
                           struct response_name *owner, uint16_t type, uint32_t ttl_max_s)
{
    const struct response_rr *rr;
    struct cached_signature signature;
    size_t at = section->from;
    while (m->wants_signatures &&
           (rr = cache_image_next_rr(m, section, &at, owner, DNS_TYPE_RRSIG)) != NULL) {
        if (read_signature(m, rr, &signature) && signature.covered == type) {
            cache_image_put(m, rr, &owner->name, rr->ttl_s < ttl_max_s ? rr->ttl_s : ttl_max_s);
            note_wildcard(m, &owner->name, &signature);
        }
    }
}

/* ---- The answer section ---- */

/* Returns whether the DNAME turns the name into the target (RFC 6672 2.2). */
static bool is_made_by(const struct making *m, const struct response_rr *dname,
                       const struct dname *target)
{
    struct dname owner = response_rr_owner(m->response, dname), end;
    if (owner.len >= m->name.name.len || !dname_is_within(&m->name.name, &owner) ||
        !response_rr_name(m->response, dname, 0, &end, NULL)) {
        return false;
    }
    size_t head = (size_t)m->name.name.len - owner.len;
    if (head + end.len != target->len || !dname_is_within(target, &end)) {
        return false;
    }
    struct dname made = {.len = (uint8_t)(head + end.len)};
    memcpy(made.wire, m->name.name.wire, head);
    memcpy(made.wire + head, end.wire, end.len);
    return dname_equal(&made, target);
}

/* Caches the DNAME that a CNAME was made from: validators check the DNAME's signature. */
static void put_dname(struct making *m, const struct dname *target)
{
    const struct response_span section = answers_of(m);
    for (size_t i = section.from; i < section.to; i++) {
        const struct response_rr *rr = &m->response->rrs[i];
        m->cached.steps++;
        if (rr->type == DNS_TYPE_DNAME && rr->rr_class == m->key->qclass &&
            m->dnames_seen++ < DNAMES_MAX && is_made_by(m, rr, target)) {
            if (m->last_dname == i + 1) {
                return;
            }
            m->last_dname = i + 1;
            struct response_name owner = response_rr_name_of_owner(m->response, rr);
            cache_image_put(m, rr, &owner.name, rr->ttl_s);
            put_signatures(m, &section, &owner, DNS_TYPE_DNAME, UINT32_MAX);
            return;
        }
    }
}

/* Follows the CNAMEs from the question's name. The type asked for may stand beside a CNAME, as NSEC
 * does, and then ends the chain. Addresses may not stand beside one, and targets are read by the
 * same rule (external_answer.h). Returns false when there are too many CNAMEs, or a malformed one.
 */
static bool put_chain(struct making *m)
{
    const struct response_span section = answers_of(m);
    const uint16_t type = m->key->type;
    const bool wants_cname = type == DNS_TYPE_CNAME || type == DNS_TYPE_ANY;
    const bool wants_address = type == DNS_TYPE_A || type == DNS_TYPE_AAAA;
    for (unsigned hops = 0; !wants_cname; hops++) {
        size_t at = section.from, asked_at = section.from;
        const struct response_rr *rr;
        struct dname target;
        if ((!wants_address && cache_image_next_rr(m, &section, &asked_at, &m->name, type)) ||
            !(rr = cache_image_next_rr(m, &section, &at, &m->name, DNS_TYPE_CNAME))) {
            return true;
        }
        if (hops == CACHED_CNAMES_MAX || !response_rr_name(m->response, rr, 0, &target, NULL)) {
            return false;
        }
        put_dname(m, &target);
        cache_image_put(m, rr, &m->name.name, rr->ttl_s);
        put_signatures(m, &section, &m->name, DNS_TYPE_CNAME, UINT32_MAX);
        m->name = response_name_of(&target);
    }
    return true;
}

/* Notes the last run of records of equal length; those before it have the owner spelled out. */
static void note_address(struct cached_reply *cached, size_t at, size_t size)
{
    if (cached->run_count == 0 || cached->run_size != size) {
        cached->run_at = (uint16_t)at;
        cached->run_size = (uint16_t)size;
        cached->run_count = 0;
    }
    cached->run_count++;
}

static bool put_asked(struct making *m)
{
    const struct response_span section = answers_of(m);
    const uint16_t type = m->key->type;
    const bool is_address =
        m->key->qclass == DNS_CLASS_IN && (type == DNS_TYPE_A || type == DNS_TYPE_AAAA);
    const struct response_rr *rr;
    size_t at = section.from, count = 0;
    while ((rr = cache_image_next_rr(m, &section, &at, &m->name, type)) != NULL) {
        size_t start = cache_image_put(m, rr, &m->name.name, rr->ttl_s);
        if (is_address && !m->writer.out.failed) {
            note_address(&m->cached, start - m->writer.records_at, m->writer.out.pos - start);
        }
        count++;
    }
    if (count > 0) {
        put_signatures(m, &section, &m->name, type, UINT32_MAX);
    }
    return count > 0;
}

/* ---- The authority section ---- */

static void cache_image_shorten(uint32_t *ttl_s, uint32_t max_s)
{
    *ttl_s = *ttl_s < max_s ? *ttl_s : max_s;
}

/* Writes the SOA of a denial. It is that of the zone that contains the name. */
static enum cache_verdict put_soa(struct making *m)
{
    const struct response_span section = authorities_of(m);
    bool is_referral = false;
    for (size_t i = section.from; i < section.to; i++) {
        const struct response_rr *rr = &m->response->rrs[i];
        m->cached.steps++;
        is_referral |= rr->type == DNS_TYPE_NS;
        if (rr->type != DNS_TYPE_SOA || rr->rr_class != m->key->qclass) {
            continue;
        }
        struct response_name owner = response_rr_name_of_owner(m->response, rr);
        if (dname_is_within(&m->name.name, &owner.name)) {
            cache_image_shorten(&m->cached.ttl_s, response_rr_denial_ttl_s(m->response, rr));
            cache_image_shorten(&m->cached.ttl_s, CACHE_NEGATIVE_MAX_S);
            cache_image_put(m, rr, &owner.name, m->cached.ttl_s);
            put_signatures(m, &section, &owner, DNS_TYPE_SOA, m->cached.ttl_s);
            cache_image_add_zone(m, &owner.name);
            return CACHE_HIT;
        }
    }
    return is_referral ? CACHE_NO_ANSWER : CACHE_NO_SOA;
}

/* Returns whether the record is the first of its RRset in the section. */
static bool is_first_of_set(struct making *m, size_t from, size_t at, struct response_name *owner)
{
    const struct response_rr *rr = &m->response->rrs[at];
    const struct response_span before = {.from = from, .to = at};
    size_t i = from;
    return cache_image_next_rr(m, &before, &i, owner, rr->type) == NULL;
}

/* Writes the proofs, with a set's signatures once, however often its records repeat: a response is
 * not multiplied. */
static void put_proofs(struct making *m)
{
    const struct response_span section = authorities_of(m);
    size_t i = m->wants_signatures && m->zone_count > 0 ? section.from : section.to;
    for (unsigned seen = 0; i < section.to && seen < CACHED_PROOFS_MAX; i++) {
        const struct response_rr *rr = &m->response->rrs[i];
        m->cached.steps++;
        if ((rr->type != DNS_TYPE_NSEC && rr->type != DNS_TYPE_NSEC3) ||
            rr->rr_class != m->key->qclass) {
            continue;
        }
        struct response_name owner = response_rr_name_of_owner(m->response, rr);
        if (dname_is_within_any(&owner.name, m->zones, m->zone_count)) {
            cache_image_put(m, rr, &owner.name, rr->ttl_s);
            if (is_first_of_set(m, section.from, i, &owner)) {
                put_signatures(m, &section, &owner, rr->type, UINT32_MAX);
            }
        }
        seen++;
    }
}

/* ---- The image ---- */

static size_t cache_image_written(const struct making *m)
{
    return m->writer.out.pos - m->writer.records_at;
}

static enum cache_verdict put_authorities(struct making *m, bool is_negative)
{
    m->cached.answers_len = (uint16_t)cache_image_written(m);
    uint16_t answers = m->cached.answers;
    if (is_negative) {
        enum cache_verdict verdict = put_soa(m);
        if (verdict != CACHE_HIT) {
            return verdict;
        }
    }
    put_proofs(m);
    m->cached.authorities = (uint16_t)(m->cached.answers - answers);
    m->cached.answers = answers;
    m->cached.len = (uint16_t)cache_image_written(m);
    return CACHE_HIT;
}

static enum cache_verdict external_cache_image_make(struct making *m)
{
    m->name = response_name_of(&m->key->name);
    if (!put_chain(m)) {
        return CACHE_NO_ANSWER;
    }
    bool is_negative = !put_asked(m);
    if (!is_negative && m->cached.rcode == DNS_RCODE_NXDOMAIN) {
        return CACHE_NO_ANSWER;
    }
    m->cached.is_negative = is_negative;
    enum cache_verdict verdict = put_authorities(m, is_negative);
    if (verdict != CACHE_HIT) {
        return verdict;
    }
    if (!m->is_sound) {
        return CACHE_MALFORMED;
    }
    if (m->cached.ttl_s == 0) {
        return CACHE_NO_TIME;
    }
    return m->writer.out.failed ? CACHE_TOO_LARGE : CACHE_HIT;
}

/* Checks the header. Returns CACHE_HIT when the response may hold an answer. */
static enum cache_verdict cache_image_check_response(const struct cache_key *key,
                                                     const struct parsed_response *response)
{
    const struct response_head *head = &response->head;
    unsigned rcode = head->flags & DNS_MASK_RCODE;
    if (!(head->flags & DNS_FLAG_QR) || (head->flags & DNS_MASK_OPCODE)) {
        return CACHE_MALFORMED;
    }
    if (head->flags & DNS_FLAG_TC) {
        return CACHE_TRUNCATED;
    }
    if (rcode != DNS_RCODE_NOERROR && rcode != DNS_RCODE_NXDOMAIN) {
        return CACHE_NO_ANSWER; /* perhaps without the question */
    }
    if (!response_head_asks(head, &key->name, key->type, key->qclass) || !response->is_whole) {
        return CACHE_MALFORMED;
    }
    return response_has_extended_rcode(response) ? CACHE_NO_ANSWER : CACHE_HIT;
}

/* Returns the smallest TTL of the answer and authority sections. */
static uint32_t smallest_ttl_s(const struct parsed_response *response, uint32_t ttl_max_s)
{
    const size_t count = response_section_span(response, RESPONSE_AUTHORITY).to;
    uint32_t ttl_s = ttl_max_s;
    for (size_t i = 0; i < count; i++) {
        cache_image_shorten(&ttl_s, response->rrs[i].ttl_s);
    }
    return ttl_s;
}

static enum cache_verdict make_cached_reply(const struct cache_key *key,
                                            const struct parsed_response *response,
                                            uint32_t ttl_max_s, uint8_t image[CACHED_IMAGE_MAX],
                                            struct cached_reply *ret_cached)
{
    struct making m = {.key = key, .response = response, .ttl_max_s = ttl_max_s, .is_sound = true};
    ret_cached->steps = 0;
    if (dns_type_is_meta(key->type)) {
        return CACHE_NO_ANSWER;
    }
    enum cache_verdict verdict = cache_image_check_response(key, response);
    if (verdict != CACHE_HIT) {
        return verdict;
    }
    const struct response_start start = response_start_of(slice_of(NULL, 0), key->name.len);
    cache_image_writer_init(&m.writer, &key->name, &start, image, CACHED_IMAGE_MAX);
    m.wants_signatures = key->dnssec_ok && key->type != DNS_TYPE_ANY && key->type != DNS_TYPE_RRSIG;
    m.cached.records_at = (uint16_t)m.writer.records_at;
    m.cached.rcode = response->head.flags & DNS_MASK_RCODE;
    m.cached.is_authentic = response->head.flags & DNS_FLAG_AD;
    m.cached.ttl_s = smallest_ttl_s(response, ttl_max_s);
    verdict = external_cache_image_make(&m);
    assert(m.cached.steps <= CACHED_SCANS_MAX * response->count);
    if (verdict == CACHE_HIT) {
        *ret_cached = m.cached;
    }
    ret_cached->steps = m.cached.steps;
    return verdict;
}

void cache_image_fini(struct cache_image *image)
{
    free(image->bytes);
    *image = (struct cache_image){0};
}

enum cache_verdict cache_image_make(struct cache_image *image, const struct cache_key *key,
                                    const struct parsed_response *response, uint32_t ttl_max_s)
{
    if (image->made_count == 0 || image->ttl_max_s != ttl_max_s ||
        image->dnssec_ok != key->dnssec_ok) {
        image->made_count++;
        image->ttl_max_s = ttl_max_s;
        image->dnssec_ok = key->dnssec_ok;
        image->bytes = xrealloc(image->bytes, CACHED_IMAGE_MAX);
        image->verdict = make_cached_reply(key, response, ttl_max_s, image->bytes, &image->cached);
        image->size =
            image->verdict == CACHE_HIT ? (size_t)image->cached.records_at + image->cached.len : 1;
        image->bytes = xrealloc(image->bytes, image->size);
    }
    return image->verdict;
}

void cache_image_read(const struct cache_image *image, uint32_t shuffle, uint8_t *records,
                      size_t room, struct cache_hit *ret_hit)
{
    const size_t len = entry_copied(&image->cached, room);
    assert(image->verdict == CACHE_HIT && image->made_count > 0);
    memcpy(records, image->bytes + image->cached.records_at, len);
    *ret_hit = (struct cache_hit){.state = CACHE_MISS};
    entry_describe(&image->cached, ret_hit);
    entry_show(&image->cached, NULL, shuffle, records, len, ret_hit);
    ret_hit->state = CACHE_FRESH;
    ret_hit->left_s = image->cached.ttl_s;
}

/* ---- Records after a search list's CNAME ---- */

struct cached_move {
    uint8_t *records;
    size_t name_end, name_by, records_by; /* of the image; how far each part moves */
};

/* Moves a name that cache_image_writer wrote. Returns where it ends. */
static size_t move_cached_name(const struct cached_move *m, size_t at)
{
    uint8_t *label = m->records + at;
    while (*label != 0 && *label < 0xc0) {
        label += *label + 1u;
    }
    if (*label == 0) {
        return (size_t)(label + 1 - m->records);
    }
    size_t target = (size_t)(label[0] & ~0xc0) << 8 | label[1];
    target += target < m->name_end ? m->name_by : m->records_by;
    assert(target <= DNS_POINTER_MAX);
    label[0] = (uint8_t)(0xc0 | target >> 8);
    label[1] = (uint8_t)target;
    return (size_t)(label + 2 - m->records);
}

void cached_records_move(uint8_t *records, size_t len, size_t name_len,
                         const struct response_start *start)
{
    const struct response_start image = response_start_of(slice_of(NULL, 0), name_len);
    const struct cached_move m = {
        .records = records,
        .name_end = image.name_at + name_len,
        .name_by = start->name_at - image.name_at,
        .records_by = start->records_at - image.records_at,
    };
    for (size_t at = 0; at < len;) {
        const uint8_t *head = records + (at = move_cached_name(&m, at));
        const struct rdata_layout *layout = rdata_layout_of((unsigned)head[0] << 8 | head[1]);
        at += DNS_RR_HEAD;
        size_t name_at = at + layout->head;
        for (unsigned i = 0; i < layout->names && layout->is_compressible; i++) {
            name_at = move_cached_name(&m, name_at);
        }
        at += (size_t)head[8] << 8 | head[9];
        assert(at <= len);
    }
}
