#include "skydns/sign/signed_reply.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/cursor.h"
#include "common/base/xalloc.h"
#include "common/dns/dns.h"
#include "skydns/answer/follow.h"
#include "skydns/dnssec/dnssec.h"
#include "skydns/sign/signed_apex_internal.h"
#include "skydns/sign/signed_denial_internal.h"
#include "skydns/sign/signed_message_internal.h"
#include "skydns/sign/signed_question.h"
#include "skydns/sign/signed_zones.h"
#include "skydns/wire/edns.h"
#include "skydns/wire/reply_limit.h"

enum {
    POINTER = 0xc000,
    RR_HEAD = 10,                        /* type, class, TTL, length */
    ADDITIONALS_MAX = 256,               /* RRsets, each a question of half a microsecond */
    RRSIG_LEAST = 2 + RR_HEAD + 18 + 64, /* without the signer's name: ECDSA P-256, Ed25519 */
};

struct signed_reply {
    const struct engine_config *config;
    struct signed_zones zones;
    struct signed_probe *probe;

    /* Of the query being answered. */
    const struct engine_query *query;
    struct signed_question question;
    struct writer w; /* the signed reply */
    size_t opt_at;   /* in it */
    uint16_t counts[SIGNED_SECTIONS];
    size_t shift; /* of what follows the answers */
    struct signed_denial denial;
    bool is_open; /* CNAMEs whose end is not denied: signed_denial_is_open */
    struct signed_message message;

    /* Scratch. */
    struct dnssec_signature signatures[DNSSEC_ZONE_KEYS_MAX];
    struct slice data[SIGNED_RECORDS_MAX];
    uint8_t canonical[SIGNED_CANONICAL_MAX];
};

struct signed_reply *signed_reply_new(void)
{
    struct signed_reply *signer = xcalloc(1, sizeof(*signer));
    signer->probe = signed_probe_new();
    return signer;
}

void signed_reply_free(struct signed_reply *signer)
{
    if (!signer) {
        return;
    }
    signed_probe_free(signer->probe);
    free(signer);
}

void signed_reply_configure(struct signed_reply *signer, const struct engine_config *config)
{
    signer->config = config;
    signed_zones_configure(&signer->zones, config);
    signed_probe_configure(signer->probe, config);
    signer->denial.zones = &signer->zones;
    signer->denial.probe = signer->probe;
}

/* ---- Signatures ---- */

/* What became of a part of the reply. */
enum step {
    STEP_DONE,
    STEP_FULL,  /* it does not fit */
    STEP_SIGN,  /* a signature is missing */
    STEP_WALK,  /* a question has too many records for this thread */
    STEP_FAILED /* nobody knows, or libcrypto failed */
};

static void put_owner(struct signed_reply *s, size_t owner_at, const struct dname *owner)
{
    if (owner_at <= DNS_POINTER_MAX) {
        writer_u16(&s->w, (uint16_t)(POINTER | owner_at));
    } else {
        writer_bytes(&s->w, owner->wire, owner->len);
    }
}

static void put_head(struct signed_reply *s, uint16_t type, uint32_t ttl_s, size_t data_len)
{
    writer_u16(&s->w, type);
    writer_u16(&s->w, DNS_CLASS_IN);
    writer_u32(&s->w, ttl_s);
    writer_u16(&s->w, (uint16_t)data_len);
}

/* Appends the RRset's signatures to a section; its owner is written at `owner_at`. Those that
 * cannot fit are not asked for. */
static enum step sign(struct signed_reply *s, enum signed_section section,
                      const struct dnssec_zone *keys, const struct dnssec_rrset *rrset,
                      const struct dname *owner, size_t owner_at)
{
    size_t count = 0;
    if (s->w.failed || s->w.cap - s->w.pos < RRSIG_LEAST + (size_t)keys->name.len) {
        return STEP_FULL;
    }
    switch (dnssec_sign(s->config->dnssec, keys, rrset, s->query->now_s, s->query->may_sign,
                        s->signatures, &count)) {
    case DNSSEC_SIGNED:
        break;
    case DNSSEC_MISSING:
        return STEP_SIGN;
    case DNSSEC_FAILED:
        return STEP_FAILED;
    }
    for (size_t i = 0; i < count; i++) {
        put_owner(s, owner_at, owner);
        put_head(s, DNS_TYPE_RRSIG, rrset->ttl_s, s->signatures[i].len);
        writer_bytes(&s->w, s->signatures[i].rdata, s->signatures[i].len);
    }
    s->counts[section] = (uint16_t)(s->counts[section] + count);
    return s->w.failed ? STEP_FULL : STEP_DONE;
}

static enum step sign_set(struct signed_reply *s, const struct signed_set *set)
{
    const struct signed_message *m = &s->message;
    struct dname other;
    const struct dname *owner = &m->name;
    if (set->owner_at != DNS_HEADER_SIZE) {
        signed_message_name(m, set->owner_at, &other);
        owner = &other;
    }
    signed_message_data(m, set, s->data, s->canonical);
    const struct dnssec_rrset rrset = {
        .owner = slice_of(owner->wire, owner->len),
        .type = set->type,
        .ttl_s = set->ttl_s,
        .count = set->count > 1 ? dnssec_sort(s->data, set->count) : 1,
        .rdata = s->data,
    };
    return sign(s, set->section, set->keys, &rrset, owner,
                signed_message_moved(m, set->owner_at, s->shift));
}

static enum step sign_section(struct signed_reply *s, enum signed_section section)
{
    for (size_t i = 0; i < s->message.set_count; i++) {
        const struct signed_set *set = &s->message.sets[i];
        enum step step = set->section == section && set->keys ? sign_set(s, set) : STEP_DONE;
        if (step != STEP_DONE) {
            return step;
        }
    }
    return STEP_DONE;
}

/* ---- Denials ---- */

/* Appends the name: what it shares with the question's end leads there. */
static void put_name(struct signed_reply *s, const struct dname *name)
{
    const struct dname *question = &s->message.name;
    unsigned at = 0;
    while (at + 1 < name->len) {
        unsigned left = (unsigned)name->len - at;
        unsigned from = (unsigned)question->len - left;
        if (left <= question->len && memcmp(name->wire + at, question->wire + from, left) == 0) {
            break; /* perhaps at no label's begin there: checked below */
        }
        at += name->wire[at] + 1u;
    }
    unsigned left = (unsigned)name->len - at;
    struct dname tail = {.len = (uint8_t)left};
    memcpy(tail.wire, name->wire + at, left);
    if (left > 1 && dname_is_within(question, &tail)) {
        writer_bytes(&s->w, name->wire, at);
        writer_u16(&s->w, (uint16_t)(POINTER | (DNS_HEADER_SIZE + (unsigned)question->len - left)));
    } else {
        writer_bytes(&s->w, name->wire, name->len);
    }
}

/* A signed NSEC record; without the record itself for a question of type RRSIG. */
static enum step put_nsec(struct signed_reply *s, enum signed_section section,
                          const struct signed_nsec *nsec, uint32_t ttl_s)
{
    const struct slice data = slice_of(nsec->data, nsec->len);
    bool is_alone = section == SIGNED_ANSWER && s->question.type == DNS_TYPE_RRSIG;
    const struct dnssec_rrset rrset = {
        .owner = slice_of(nsec->owner.wire, nsec->owner.len),
        .type = DNS_TYPE_NSEC,
        .ttl_s = ttl_s,
        .count = 1,
        .rdata = &data,
    };
    size_t owner_at = s->w.pos;
    if (is_alone) {
        owner_at = DNS_POINTER_MAX + 1; /* nowhere */
    } else {
        put_name(s, &nsec->owner);
        put_head(s, DNS_TYPE_NSEC, ttl_s, nsec->len);
        writer_bytes(&s->w, nsec->data, nsec->len);
        s->counts[section]++;
    }
    return sign(s, section, s->denial.keys, &rrset, &nsec->owner, owner_at);
}

static const struct signed_set *find_soa(const struct signed_message *m)
{
    for (size_t i = 0; i < m->set_count; i++) {
        if (m->sets[i].section == SIGNED_AUTHORITY && m->sets[i].type == DNS_TYPE_SOA) {
            return &m->sets[i];
        }
    }
    return NULL;
}

/* RFC 9077 3: the smaller of the SOA's TTL and its minimum, which is its data's end. */
static uint32_t denial_ttl(const struct signed_message *m, const struct signed_set *soa)
{
    const struct signed_record *record = &m->records[soa->first];
    struct reader r = reader_of(m->bytes, m->len);
    reader_seek(&r, (size_t)record->data_at + record->data_len - sizeof(uint32_t));
    uint32_t minimum_s = reader_u32(&r);
    return minimum_s < soa->ttl_s ? minimum_s : soa->ttl_s;
}

/* The last name of the question's CNAMEs (RFC 6604). False: they go in a circle. */
static bool find_last_name(const struct signed_reply *s, struct dname *name)
{
    const struct signed_message *m = &s->message;
    const struct signed_set *cname;
    *name = m->name;
    if (m->counts[SIGNED_ANSWER] == 0 || s->question.type == DNS_TYPE_CNAME ||
        s->question.type == DNS_TYPE_ANY) {
        return true;
    }
    for (unsigned i = 0; i <= FOLLOW_CHAIN_MAX; i++) {
        cname = signed_message_find(m, SIGNED_ANSWER, name, DNS_TYPE_CNAME);
        if (!cname) {
            return true;
        }
        signed_message_name(m, m->records[cname->first].data_at, name);
    }
    return false;
}

static enum step step_of(enum signed_fact fact)
{
    switch (fact) {
    case SIGNED_YES:
        return STEP_DONE;
    case SIGNED_WALK:
        return STEP_WALK;
    case SIGNED_NO:
    case SIGNED_UNKNOWN:
        break;
    }
    return STEP_FAILED;
}

/* Makes the records of the reply's denial, if it is one. */
static enum step find_denial(struct signed_reply *s, const struct signed_set *soa)
{
    struct signed_denial *denial = &s->denial;
    const struct dnssec_zone *keys = soa ? soa->keys : NULL;
    bool is_denied = (s->message.bytes[3] & DNS_MASK_RCODE) == DNS_RCODE_NXDOMAIN;
    struct dname apex;
    denial->count = 0;
    denial->type = s->question.type;
    s->is_open = false;
    if (!soa || !find_last_name(s, &denial->name)) {
        return STEP_DONE;
    }
    if (!dname_equal(&denial->name, &s->message.name)) {
        enum signed_fact fact = signed_denial_is_open(denial, is_denied);
        s->is_open = fact == SIGNED_YES;
        if (fact != SIGNED_NO) {
            return step_of(fact);
        }
    }
    if (!keys) {
        return STEP_DONE;
    }
    signed_message_name(&s->message, soa->owner_at, &apex);
    if (!dname_equal(&apex, &keys->name) || !dname_is_within(&denial->name, &apex)) {
        return STEP_DONE;
    }
    denial->keys = keys;
    return step_of(is_denied ? signed_denial_of_name(denial) : signed_denial_of_type(denial));
}

/* Whether the denial's record is what the question asks for. */
static bool is_for_nsec(const struct signed_reply *s)
{
    return s->denial.count == 1 && (s->message.bytes[3] & DNS_MASK_RCODE) == DNS_RCODE_NOERROR &&
           (s->question.type == DNS_TYPE_NSEC || s->question.type == DNS_TYPE_RRSIG);
}

/* Over UDP, the SOA of a denial may have had no room: then there is a name of ours that the reply
 * says nothing about. */
static bool lacks_soa(const struct signed_reply *s, const struct signed_set *soa)
{
    struct dname last;
    const struct signed_message *m = &s->message;
    const struct signed_set *first = &m->sets[0];
    if (s->query->transport != ENGINE_UDP || soa ||
        (m->set_count > 0 && first->owner_at == DNS_HEADER_SIZE &&
         first->type == s->question.type) ||
        !find_last_name(s, &last) || !signed_zones_find(&s->zones, &last).keys) {
        return false;
    }
    return s->question.type == DNS_TYPE_ANY
               ? m->counts[SIGNED_ANSWER] == 0
               : !signed_message_find(m, SIGNED_ANSWER, &last, s->question.type);
}

/* ---- The reply ---- */

static enum step put_answers(struct signed_reply *s, uint32_t nsec_ttl_s)
{
    const struct signed_message *m = &s->message;
    writer_bytes(&s->w, m->bytes, m->answers_end);
    s->w.data[3] &= s->is_open ? (uint8_t)~DNS_MASK_RCODE : 0xff;
    s->counts[SIGNED_ANSWER] = m->counts[SIGNED_ANSWER];
    enum step step = sign_section(s, SIGNED_ANSWER);
    if (step == STEP_DONE && is_for_nsec(s)) {
        step = put_nsec(s, SIGNED_ANSWER, &s->denial.nsecs[0], nsec_ttl_s);
    }
    s->shift = s->w.pos - m->answers_end;
    return step;
}

static enum step put_authority(struct signed_reply *s, uint32_t nsec_ttl_s)
{
    const struct signed_message *m = &s->message;
    if (is_for_nsec(s) || s->is_open) {
        return STEP_DONE;
    }
    if (!signed_message_move(m, SIGNED_AUTHORITY, s->shift, &s->w)) {
        return STEP_FULL;
    }
    s->counts[SIGNED_AUTHORITY] = m->counts[SIGNED_AUTHORITY];
    enum step step = sign_section(s, SIGNED_AUTHORITY);
    for (size_t i = 0; i < s->denial.count && step == STEP_DONE; i++) {
        step = put_nsec(s, SIGNED_AUTHORITY, &s->denial.nsecs[i], nsec_ttl_s);
    }
    return step;
}

/* Additional addresses can be some of a name's, those of the record that is the target, or be at a
 * name that by the schema has none. A validator would keep them, signed, as the name's answer. */
static bool are_additionals_whole(struct signed_reply *s)
{
    const struct signed_message *m = &s->message;
    unsigned asked = 0;
    for (size_t i = 0; i < m->set_count; i++) {
        const struct signed_set *set = &m->sets[i];
        struct dname owner;
        if (set->section != SIGNED_ADDITIONAL || !set->keys) {
            continue;
        }
        signed_message_name(m, set->owner_at, &owner);
        signed_message_data(m, set, s->data, s->canonical);
        if (++asked > ADDITIONALS_MAX ||
            !signed_probe_has_just(s->probe, &owner, set->type, s->data, set->count)) {
            return false;
        }
    }
    return true;
}

/* All or nothing. They follow the answers: no reply of ours has both an authority section and
 * these. */
static enum step put_additionals(struct signed_reply *s)
{
    const struct signed_message *m = &s->message;
    struct writer before = s->w;
    enum step step = STEP_FULL;
    if (m->has_additionals_room && m->counts[SIGNED_AUTHORITY] == 0 && are_additionals_whole(s) &&
        signed_message_move(m, SIGNED_ADDITIONAL, s->shift, &s->w)) {
        s->counts[SIGNED_ADDITIONAL] = m->counts[SIGNED_ADDITIONAL];
        step = sign_section(s, SIGNED_ADDITIONAL);
    }
    if (step == STEP_FULL) {
        s->w = before;
        s->counts[SIGNED_ADDITIONAL] = 0;
        step = STEP_DONE;
    }
    return step;
}

static void put_end(struct signed_reply *s)
{
    s->opt_at = s->w.pos;
    s->w.cap += EDNS_OPT_SIZE;
    edns_append_opt(&s->w, s->config->settings.max_udp_size, 0, true);
    s->counts[SIGNED_ADDITIONAL]++;
    struct writer w = writer_of(s->w.data, DNS_HEADER_SIZE);
    (void)writer_take(&w, 6); /* id, flags and the question's count are as they were */
    for (unsigned i = 0; i < SIGNED_SECTIONS; i++) {
        writer_u16(&w, s->counts[i]);
    }
}

static enum step put_reply(struct signed_reply *s)
{
    const struct signed_set *soa = find_soa(&s->message);
    uint32_t nsec_ttl_s = soa ? denial_ttl(&s->message, soa) : 0;
    if (lacks_soa(s, soa) || !s->message.has_room) {
        return STEP_FULL;
    }
    enum step step = find_denial(s, soa);
    step = step == STEP_DONE ? put_answers(s, nsec_ttl_s) : step;
    step = step == STEP_DONE ? put_authority(s, nsec_ttl_s) : step;
    step = step == STEP_DONE ? put_additionals(s) : step;
    if (step != STEP_DONE || s->w.failed) {
        return step == STEP_DONE ? STEP_FULL : step;
    }
    put_end(s);
    return STEP_DONE;
}

/* ---- Outcomes ---- */

static enum engine_verdict end_bare(struct signed_reply *s, enum dns_rcode rcode, bool is_cut,
                                    struct response *response)
{
    signed_apex_bare(&s->zones, &s->question, s->query, rcode, is_cut, response);
    return ENGINE_REPLY;
}

static enum engine_verdict end_step(struct signed_reply *s, enum step step,
                                    struct response *response, struct engine_deferral *ret_deferral)
{
    bool is_udp = s->query->transport == ENGINE_UDP;
    switch (step) {
    case STEP_DONE:
        response->len = s->w.pos;
        response->opt_at = s->opt_at;
        return ENGINE_REPLY;
    case STEP_FULL:
        return end_bare(s, is_udp ? s->message.bytes[3] & DNS_MASK_RCODE : DNS_RCODE_SERVFAIL,
                        is_udp, response);
    case STEP_SIGN:
        ret_deferral->kind = ENGINE_DEFER_SIGN;
        return ENGINE_DEFER;
    case STEP_WALK:
        ret_deferral->kind = ENGINE_DEFER_WALK;
        return ENGINE_DEFER;
    case STEP_FAILED:
        break;
    }
    return end_bare(s, DNS_RCODE_SERVFAIL, false, response);
}

/* Only answers and denials of ours are signed. */
static bool is_signable(const uint8_t *reply)
{
    unsigned rcode = reply[3] & DNS_MASK_RCODE;
    return (reply[2] & DNS_FLAG_AA >> 8) != 0 &&
           (rcode == DNS_RCODE_NOERROR || rcode == DNS_RCODE_NXDOMAIN);
}

static enum engine_verdict sign_reply(struct signed_reply *s, struct response *response,
                                      struct engine_deferral *ret_deferral)
{
    uint8_t *reply = response->bytes;
    struct signed_message *m = &s->message;
    const struct signed_question *q = &s->question;
    if (!is_signable(reply)) {
        return ENGINE_REPLY;
    }
    if (!signed_message_read(m, &s->zones, &q->name, response)) {
        return end_bare(s, DNS_RCODE_SERVFAIL, false, response);
    }
    bool is_cut = (reply[2] & DNS_FLAG_TC >> 8) != 0;
    if (m->place.keys && is_cut) {
        return end_step(s, STEP_FULL, response, ret_deferral);
    }
    if ((!m->is_signed && !m->place.keys) || is_cut) {
        return ENGINE_REPLY;
    }
    size_t limit =
        reply_limit_of(s->query, q->has_edns, q->udp_size, s->config->settings.max_udp_size);
    memset(s->counts, 0, sizeof(s->counts));
    s->w = writer_of(reply, limit - EDNS_OPT_SIZE);
    return end_step(s, put_reply(s), response, ret_deferral);
}

enum engine_verdict signed_reply_answer(struct signed_reply *signer,
                                        const struct signed_source *source,
                                        const struct engine_query *query, struct response *response,
                                        struct engine_deferral *ret_deferral)
{
    struct signed_reply *s = signer;
    if (!signed_question_read(query->parsed, &s->question)) {
        return source->answer(source->data, query, false, response, ret_deferral);
    }
    s->query = query;
    signed_probe_begin(s->probe, source, query);
    size_t limit = reply_limit_of(query, s->question.has_edns, s->question.udp_size,
                                  s->config->settings.max_udp_size);
    enum engine_verdict verdict =
        signed_apex_reply(&s->zones, s->probe, &s->question, query, limit, response)
            ? ENGINE_REPLY
            : source->answer(source->data, query, false, response, ret_deferral);
    return verdict == ENGINE_REPLY && s->question.dnssec_ok ? sign_reply(s, response, ret_deferral)
                                                            : verdict;
}
