#include "skydns/sign/answer_signer.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/xalloc.h"
#include "common/dns/dns.h"
#include "skydns/answer/address_pick.h"
#include "skydns/answer/follow.h"
#include "skydns/answer/name_facts.h"
#include "skydns/dnssec/dnssec.h"
#include "skydns/sign/rrsets_internal.h"
#include "skydns/sign/signed_apex_internal.h"
#include "skydns/sign/signed_choice_internal.h"
#include "skydns/sign/signed_denial_internal.h"
#include "skydns/sign/signed_zones.h"
#include "skydns/wire/edns.h"
#include "skydns/wire/encode.h"
#include "skydns/wire/query_parse.h"

enum {
    POINTER_SIZE = 2,
    SOA_LEAST = 3 * POINTER_SIZE + DNS_RR_HEAD + RR_DATA_SOA_NUMBERS,
    RRSIG_LEAST = POINTER_SIZE + DNS_RR_HEAD + 18 + 64, /* without the signer's name: ECDSA P-256 */

    /* Bounds the signed additional RRsets: a validator verifies them all before it answers.
     * Measured with Debian 12, with keys of up to three algorithms: unbound 1.17 pauses after 15,
     * takes 1.9 s for 64 and drops the query with 80. systemd-resolved 252 answers SERVFAIL with
     * 64. Knot Resolver 5.6, PowerDNS Recursor 4.8 and BIND 9.18 answer at once with 256. */
    ADDITIONALS_MAX = 12,
};

_Static_assert((int)ANSWER_AUTHORITIES_MAX ==
                   (1 + (int)SIGNED_NSECS_MAX) * (1 + (int)DNSSEC_ZONE_KEYS_MAX),
               "a SOA and the NSEC records, each with the signatures of all keys");
_Static_assert((int)RRSETS_END == (int)NAME_FACTS_END, "one kind of chain");

struct answer_signer {
    const struct engine_config *config;
    struct signed_zones zones;
    struct name_facts *facts;

    /* The answer being signed: */
    const struct answer_input *input;
    struct dname name;         /* the question's, in lower case, */
    struct signed_place place; /* and its zone */
    struct answer_plan *plan;
    size_t room; /* bytes left of the limit, at most: names take more than pointers */
    struct signed_denial denial;
    struct dname nsec_owners[SIGNED_NSECS_MAX]; /* in the form that is sent */
    struct rrsets answers, authorities, additionals;

    struct dnssec_signature signatures[DNSSEC_ZONE_KEYS_MAX]; /* scratch */
    struct rrset_scratch scratch;
    size_t rdata_used;
    uint8_t rdata[DNS_MESSAGE_MAX]; /* of the answer's RRSIG records */
};

struct answer_signer *answer_signer_new(const struct engine_config *config)
{
    struct answer_signer *signer = xcalloc(1, sizeof(*signer));
    signer->facts = name_facts_new(config);
    signer->denial.zones = &signer->zones;
    signer->denial.facts = signer->facts;
    answer_signer_configure(signer, config);
    return signer;
}

void answer_signer_free(struct answer_signer *signer)
{
    if (!signer) {
        return;
    }
    name_facts_free(signer->facts);
    free(signer);
}

void answer_signer_configure(struct answer_signer *signer, const struct engine_config *config)
{
    signer->config = config;
    signed_zones_configure(&signer->zones, config);
    name_facts_configure(signer->facts, config);
}

/* ---- Questions ---- */

enum engine_verdict answer_signer_build(struct answer_signer *signer, struct answer *answer,
                                        const struct answer_input *input,
                                        struct engine_deferral *ret_deferral)
{
    return signed_apex_build(&signer->zones, answer, input)
               ? ENGINE_REPLY
               : answer_build(answer, input, ret_deferral);
}

/* ---- Signatures ---- */

/* The result of one part of the signing. */
enum step {
    STEP_DONE,
    STEP_FULL,  /* it does not fit */
    STEP_SIGN,  /* a signature is missing */
    STEP_SCAN,  /* a question has too many records for this thread */
    STEP_FAILED /* the answer is not known, or libcrypto failed */
};

/* A section's records, to which signatures are added. */
struct section {
    struct rr *rrs;
    size_t count, count_max;
};

static bool take_room(struct answer_signer *s, size_t bytes)
{
    if (bytes > s->room) {
        return false;
    }
    s->room -= bytes;
    return true;
}

static bool add_rr(struct answer_signer *s, struct section *section, const struct rr *rr)
{
    if (section->count == section->count_max ||
        !take_room(s, POINTER_SIZE + DNS_RR_HEAD + rr->data.len)) {
        return false;
    }
    section->rrs[section->count++] = *rr;
    return true;
}

static bool add_rrsig(struct answer_signer *s, struct section *section, struct slice owner,
                      uint32_t ttl_s, const struct dnssec_signature *signature)
{
    uint8_t *rdata = s->rdata + s->rdata_used;
    if (signature->len > sizeof(s->rdata) - s->rdata_used) {
        return false;
    }
    memcpy(rdata, signature->rdata, signature->len);
    s->rdata_used += signature->len;
    const struct rr rr = {
        .owner = owner, .type = RR_RRSIG, .ttl_s = ttl_s, .data = slice_of(rdata, signature->len)};
    return add_rr(s, section, &rr);
}

/* Adds an RRset's signatures. Those that cannot fit are not asked for. */
static enum step sign_rrset(struct answer_signer *s, struct section *section,
                            const struct dnssec_zone *keys, const struct dnssec_rrset *rrset,
                            struct slice owner)
{
    size_t count = 0;
    assert(rrset->count > 0);
    if (s->room < RRSIG_LEAST + (size_t)keys->name.len) {
        return STEP_FULL;
    }
    switch (dnssec_sign(s->config->dnssec, keys, rrset, s->input->now_s, s->input->query->may_sign,
                        s->signatures, &count)) {
    case DNSSEC_SIGNED:
        break;
    case DNSSEC_MISSING:
        return STEP_SIGN;
    case DNSSEC_FAILED:
        return STEP_FAILED;
    }
    for (size_t i = 0; i < count; i++) {
        if (!add_rrsig(s, section, owner, rrset->ttl_s, &s->signatures[i])) {
            return STEP_FULL;
        }
    }
    return STEP_DONE;
}

static bool is_of_question(const struct answer_signer *s, const struct rrset *set)
{
    return set->owner.ptr == (const char *)s->input->question->name.wire;
}

/* Returns an RRset's owner in lower case; may use `other` for it. */
static const struct dname *owner_of(const struct answer_signer *s, const struct rrsets *sets,
                                    const struct rrset *set, struct dname *other)
{
    if (is_of_question(s, set)) {
        return &s->name;
    }
    *other = rr_owner(&sets->rrs[set->first]);
    return other;
}

static enum step sign_rrsets(struct answer_signer *s, const struct rrsets *sets,
                             struct section *section)
{
    for (size_t i = 0; i < sets->count; i++) {
        const struct rrset *set = &sets->items[i];
        if (set->keys) {
            struct dname other;
            const struct dname *owner = owner_of(s, sets, set, &other);
            const struct dnssec_rrset rrset =
                rrsets_canonical(sets, set, owner, &s->plan->soa, &s->scratch);
            enum step step = sign_rrset(s, section, set->keys, &rrset, set->owner);
            if (step != STEP_DONE) {
                return step;
            }
        }
    }
    return STEP_DONE;
}

/* ---- RRsets ---- */

/* Finds the keys of each RRset. Returns whether any RRset has keys. */
static bool find_keys(struct answer_signer *s, struct rrsets *sets)
{
    bool is_signed = false;
    for (size_t i = 0; i < sets->count; i++) {
        struct rrset *set = &sets->items[i];
        if (is_of_question(s, set) && set->type != RR_DS) {
            set->keys = s->place.keys;
        } else {
            const struct dname owner = rr_owner(&sets->rrs[set->first]);
            set->keys = signed_zones_keys(&s->zones, &owner, (uint16_t)set->type);
        }
        is_signed = is_signed || set->keys;
    }
    return is_signed;
}

/* Finds the RRsets. Returns false when the answer stays as it is without DNSSEC. */
static bool find_rrsets(struct answer_signer *s, bool *ret_has_room)
{
    struct answer_plan *plan = s->plan;
    s->authorities.count = 0; /* not reached if the answers have no room */
    *ret_has_room = rrsets_find(&s->answers, plan->answers.items, plan->answers.count) &&
                    rrsets_find(&s->authorities, plan->authorities, plan->authority_count);
    if (plan->authority_count > 0 || plan->additionals.is_cut ||
        !rrsets_find(&s->additionals, plan->additionals.items, plan->additionals.count)) {
        rr_list_clear(&plan->additionals);
        s->additionals.count = 0;
    }
    bool answers = find_keys(s, &s->answers), authorities = find_keys(s, &s->authorities);
    return find_keys(s, &s->additionals) || answers || authorities || s->place.keys;
}

/* ---- Denials ---- */

/* Finds the last name of the question's CNAMEs (RFC 6604). Returns false when they go in a circle.
 */
static bool find_last_name(const struct answer_signer *s, struct dname *name)
{
    const uint16_t type = s->input->question->type;
    *name = s->name;
    if (s->answers.count == 0 || type == DNS_TYPE_CNAME || type == DNS_TYPE_ANY) {
        return true;
    }
    for (unsigned i = 0; i <= FOLLOW_CHAIN_MAX; i++) {
        const struct rrset *cname = rrsets_of_name(&s->answers, rr_name(name), RR_CNAME);
        if (!cname) {
            return true;
        }
        const struct slice target = s->plan->answers.items[cname->first].data;
        name->len = (uint8_t)target.len;
        memcpy(name->wire, target.ptr, target.len);
        dname_lower(name);
    }
    return false;
}

static enum step step_of(enum name_fact fact)
{
    switch (fact) {
    case NAME_FACT_YES:
        return STEP_DONE;
    case NAME_FACT_SCAN:
        return STEP_SCAN;
    case NAME_FACT_NO:
    case NAME_FACT_UNKNOWN:
        break;
    }
    return STEP_FAILED;
}

/* Makes an answer of CNAMEs whose end is not denied: signed_denial_is_open. */
static void leave_open(struct answer_plan *plan)
{
    plan->rcode = DNS_RCODE_NOERROR;
    plan->authority_count = 0;
}

/* Makes the denial's records, if the answer is one. */
static enum step find_denial(struct answer_signer *s)
{
    struct signed_denial *denial = &s->denial;
    const bool is_denied = s->plan->rcode == DNS_RCODE_NXDOMAIN;
    denial->count = 0;
    denial->type = s->input->question->type;
    if (s->plan->authority_count == 0 || !find_last_name(s, &denial->name)) {
        return STEP_DONE;
    }
    if (!dname_equal(&denial->name, &s->name)) {
        enum name_fact fact = signed_denial_is_open(denial, is_denied);
        if (fact != NAME_FACT_NO) {
            leave_open(s->plan);
            return step_of(fact);
        }
    }
    denial->keys = s->authorities.items[0].keys;
    const struct dname apex = rr_owner(&s->plan->authorities[0]);
    if (!denial->keys || !dname_equal(&apex, &denial->keys->name) ||
        !dname_is_within(&denial->name, &apex)) {
        return STEP_DONE;
    }
    return step_of(is_denied ? signed_denial_of_name(denial) : signed_denial_of_type(denial));
}

/* Returns the owner with the question's capitals in the suffix that both share, so that it can
 * point there, and the number of bytes before it. */
static struct dname owner_as_typed(const struct answer_signer *s, const struct dname *owner,
                                   size_t *ret_own)
{
    const struct dname *typed = &s->input->question->name;
    struct dname tail = *owner, ret = *owner;
    while (tail.len > 1 && !dname_is_within(&s->name, &tail)) {
        dname_strip(&tail, 1);
    }
    assert(tail.len >= 1 && tail.len <= typed->len);
    *ret_own = (size_t)owner->len - tail.len;
    memcpy(ret.wire + *ret_own, typed->wire + typed->len - tail.len, tail.len);
    return ret;
}

/* Adds a signed NSEC record; for a question of type RRSIG, without the record itself. Its TTL is
 * the smaller of the SOA's TTL and its minimum (RFC 9077 3). */
static enum step add_nsec(struct answer_signer *s, size_t i, uint32_t ttl_s,
                          struct section *section)
{
    const struct signed_nsec *nsec = &s->denial.nsecs[i];
    const struct slice data = slice_of(nsec->data, nsec->len);
    const struct dnssec_rrset rrset = {.owner = rr_name(&nsec->owner),
                                       .type = DNS_TYPE_NSEC,
                                       .ttl_s = ttl_s,
                                       .count = 1,
                                       .rdata = &data};
    size_t own_bytes;
    assert(i < s->denial.count && dname_is_within(&nsec->owner, &s->denial.keys->name));
    s->nsec_owners[i] = owner_as_typed(s, &nsec->owner, &own_bytes);
    const struct rr rr = {
        .owner = rr_name(&s->nsec_owners[i]), .type = RR_NSEC, .ttl_s = ttl_s, .data = data};
    bool is_asked = section->rrs == s->plan->answers.items;
    if (!(is_asked && s->input->question->type == DNS_TYPE_RRSIG) &&
        !(take_room(s, own_bytes) && add_rr(s, section, &rr))) {
        return STEP_FULL;
    }
    return sign_rrset(s, section, s->denial.keys, &rrset, rr.owner);
}

/* Returns whether the question asks for the denial's own record. */
static bool is_for_nsec(const struct answer_signer *s)
{
    const uint16_t type = s->input->question->type;
    return s->denial.count == 1 && s->plan->rcode == DNS_RCODE_NOERROR &&
           (type == DNS_TYPE_NSEC || type == DNS_TYPE_RRSIG);
}

/* ---- Sections ---- */

static enum step sign_answers(struct answer_signer *s, uint32_t nsec_ttl_s)
{
    struct rr_list *answers = &s->plan->answers;
    struct section section = {answers->items, answers->count, RR_LIST_MAX};
    enum step step = sign_rrsets(s, &s->answers, &section);
    if (step == STEP_DONE && is_for_nsec(s)) {
        step = add_nsec(s, 0, nsec_ttl_s, &section);
        s->plan->authority_count = 0;
    }
    answers->count = section.count;
    return step;
}

static enum step sign_authorities(struct answer_signer *s, uint32_t nsec_ttl_s)
{
    struct answer_plan *plan = s->plan;
    struct section section = {plan->authorities, plan->authority_count, ANSWER_AUTHORITIES_MAX};
    if (plan->authority_count == 0) {
        return STEP_DONE;
    }
    enum step step =
        take_room(s, SOA_LEAST) ? sign_rrsets(s, &s->authorities, &section) : STEP_FULL;
    for (size_t i = 0; i < s->denial.count && step == STEP_DONE; i++) {
        step = add_nsec(s, i, nsec_ttl_s, &section);
    }
    plan->authority_count = section.count;
    return step;
}

/* Returns whether additional addresses are all of a name's. They may be only those of the record
 * that is the target, or be at a name that has none by the schema. A validator would cache them,
 * signed, as the name's answer. */
static bool are_additionals_whole(struct answer_signer *s)
{
    const struct rrsets *sets = &s->additionals;
    for (size_t i = 0; i < sets->count; i++) {
        const struct rrset *set = &sets->items[i];
        if (set->keys &&
            !name_facts_has_just(s->facts, sets->rrs, set->first, sets->next, set->count)) {
            return false;
        }
    }
    return true;
}

static bool are_additionals_few(const struct rrsets *sets)
{
    unsigned signed_count = 0;
    for (size_t i = 0; i < sets->count && signed_count <= ADDITIONALS_MAX; i++) {
        signed_count += sets->items[i].keys != NULL;
    }
    return signed_count <= ADDITIONALS_MAX;
}

/* Signs all of the additional section, or drops it. */
static enum step sign_additionals(struct answer_signer *s)
{
    struct rr_list *additionals = &s->plan->additionals;
    struct section section = {additionals->items, additionals->count, RR_LIST_MAX};
    if (additionals->count == 0) {
        return STEP_DONE;
    }
    enum step step = STEP_FULL;
    if (are_additionals_few(&s->additionals) && take_room(s, additionals->least_bytes) &&
        signed_choice_can_verify(&s->additionals) && are_additionals_whole(s)) {
        step = sign_rrsets(s, &s->additionals, &section);
        additionals->count = section.count;
    }
    if (step == STEP_FULL) {
        rr_list_clear(additionals);
        step = STEP_DONE;
    }
    return step;
}

/* ---- Choices ---- */

/* Returns an upper bound on the bytes of all answers' signatures. */
static size_t signature_bytes(const struct rrsets *sets)
{
    size_t bytes = 0;
    for (size_t i = 0; i < sets->count; i++) {
        const struct dnssec_zone *keys = sets->items[i].keys;
        bytes +=
            keys ? keys->key_count * (RRSIG_LEAST + keys->name.len + SIGNING_KEY_SIGNATURE_MAX) : 0;
    }
    return bytes;
}

/* Shortens the answers over a stream, where a client can ask for no more. Returns true when the
 * RRsets of the answers have changed. */
static NOINLINE bool shorten_answers(struct answer_signer *s)
{
    struct answer_plan *plan = s->plan;
    const size_t signatures = signature_bytes(&s->answers);
    if (plan->authority_count > 0 || signatures > s->room ||
        (!plan->answers.is_cut && signed_choice_can_verify(&s->answers) &&
         plan->answers.least_bytes + plan->answers.count <= s->room - signatures)) {
        return false;
    }
    const size_t first = s->config->settings.round_robin
                             ? address_pick_first(s->input->random, (uint32_t)plan->answers.count)
                             : 0;
    if (!signed_choice_shorten(&plan->answers, &s->answers, s->room - signatures, first)) {
        return false;
    }
    rr_list_clear(&plan->additionals);
    return true;
}

/* ---- The plan ---- */

static enum step sign_plan(struct answer_signer *s)
{
    struct answer_plan *plan = s->plan;
    const size_t fixed = DNS_HEADER_SIZE + (size_t)s->name.len + DNS_QUESTION_TAIL + EDNS_OPT_SIZE;
    assert(s->input->reply_limit >= fixed);
    s->room = s->input->reply_limit - fixed;
    if (!s->input->may_cut && shorten_answers(s)) {
        bool has_room;
        (void)find_rrsets(s, &has_room);
        assert(has_room);
    }
    /* An owner takes two bytes, as a pointer: one more than least_bytes counts. */
    if (plan->answers.is_cut || !take_room(s, plan->answers.least_bytes + plan->answers.count)) {
        return STEP_FULL;
    }
    rrsets_level_ttls(&s->answers, plan->answers.items);
    rrsets_level_ttls(&s->additionals, plan->additionals.items);
    const uint32_t soa_ttl_s = plan->authority_count > 0 ? plan->authorities[0].ttl_s : 0;
    const uint32_t nsec_ttl_s = plan->soa.minimum_s < soa_ttl_s ? plan->soa.minimum_s : soa_ttl_s;
    enum step step = find_denial(s);
    step = step == STEP_DONE ? sign_answers(s, nsec_ttl_s) : step;
    step = step == STEP_DONE ? sign_authorities(s, nsec_ttl_s) : step;
    return step == STEP_DONE ? sign_additionals(s) : step;
}

/* ---- Outcomes ---- */

static void clear_records(struct answer_plan *plan)
{
    rr_list_clear(&plan->answers);
    rr_list_clear(&plan->additionals);
    plan->authority_count = 0;
}

/* Leaves the first records without signatures, as without DNSSEC, over a stream if no choice of one
 * RRset fits. Clients that do not validate can use a part, and others lose nothing. */
static bool leave_unsigned(struct answer_signer *s)
{
    struct answer_plan *plan = s->plan;
    const size_t count = s->answers.record_count; /* without signatures */
    if (s->input->may_cut || count == 0 || plan->authority_count > 0) {
        return false;
    }
    plan->answers.count = count;
    plan->answers.is_cut = true;
    plan->is_signed = false;
    rr_list_clear(&plan->additionals);
    return true;
}

static enum engine_verdict defer_signing(enum engine_deferral_kind kind,
                                         struct engine_deferral *ret_deferral)
{
    ret_deferral->kind = kind;
    return ENGINE_DEFER;
}

static enum engine_verdict end_step(struct answer_plan *plan, enum step step,
                                    struct engine_deferral *ret_deferral)
{
    switch (step) {
    case STEP_DONE:
        break;
    case STEP_FULL:
        clear_records(plan);
        plan->answers.is_cut = true;
        break;
    case STEP_SIGN:
        return defer_signing(ENGINE_DEFER_SIGN, ret_deferral);
    case STEP_SCAN:
        return defer_signing(ENGINE_DEFER_SCAN, ret_deferral);
    case STEP_FAILED:
        clear_records(plan);
        plan->rcode = DNS_RCODE_SERVFAIL;
        plan->error = EDNS_ERROR_OTHER;
        break;
    }
    return ENGINE_REPLY;
}

static void take_lower_name(struct answer_signer *s, const struct answer_input *input)
{
    const struct query *parsed = input->query->parsed;
    const struct dname *typed = &input->question->name;
    s->name.len = typed->len;
    memcpy(s->name.wire, parsed->is_ordinary ? parsed->fast.name : typed->wire, typed->len);
    if (!parsed->is_ordinary) {
        dname_lower(&s->name);
    }
}

enum engine_verdict answer_signer_sign(struct answer_signer *signer, struct answer *answer,
                                       const struct answer_input *input,
                                       struct engine_deferral *ret_deferral)
{
    struct answer_signer *s = signer;
    struct answer_plan *plan = s->plan = answer_get_plan(answer);
    bool has_room;
    if (!plan->is_authoritative ||
        (plan->rcode != DNS_RCODE_NOERROR && plan->rcode != DNS_RCODE_NXDOMAIN)) {
        return ENGINE_REPLY; /* only answers and denials of ours have signatures */
    }
    assert(input->question->has_edns && input->question->dnssec_ok);
    s->input = input;
    take_lower_name(s, input);
    s->place = signed_zones_find(&s->zones, &s->name);
    s->rdata_used = 0;
    if (!find_rrsets(s, &has_room)) {
        return ENGINE_REPLY;
    }
    plan->is_signed = true;
    if (plan->authority_count > 0 || plan->additionals.count > 0) {
        name_facts_begin(s->facts, input); /* it may ask about names */
    }
    enum step step = has_room ? sign_plan(s) : STEP_FULL;
    return step == STEP_FULL && leave_unsigned(s) ? ENGINE_REPLY
                                                  : end_step(plan, step, ret_deferral);
}
