#include "skydns/answer/name_facts.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/xalloc.h"
#include "common/dns/dns.h"
#include "skydns/records/hash.h"

/* Bounds the table of known types: it serves names asked again and again, such as AAAA of names
 * with only A, a few dozen that many clients use. A longer name is looked up each time. */
enum { KNOWN_BITS = 8, KNOWN_NAME_MAX = 102 };

struct known {
    uint64_t store_serial; /* 0: nothing is known */
    uint16_t types;        /* a bit for each */
    uint8_t family; /* family of the address that the query was sent to, which our names have */
    uint8_t len;
    uint8_t name[KNOWN_NAME_MAX];
};

struct name_facts {
    const struct engine_config *config;
    struct answer *answer;
    struct known known[1 << KNOWN_BITS];

    /* The client's query: */
    struct answer_input input;
    struct question question;
    uint64_t store_serial;           /* 0: there are no records yet */
    struct engine_deferral deferral; /* scratch */
};

struct name_facts *name_facts_new(const struct engine_config *config)
{
    struct name_facts *facts = xcalloc(1, sizeof(*facts));
    facts->answer = answer_new(config);
    facts->config = config;
    return facts;
}

void name_facts_free(struct name_facts *facts)
{
    if (!facts) {
        return;
    }
    answer_free(facts->answer);
    free(facts);
}

void name_facts_configure(struct name_facts *facts, const struct engine_config *config)
{
    facts->config = config;
    answer_configure(facts->answer, config);
    memset(facts->known, 0, sizeof(facts->known));
}

void name_facts_begin(struct name_facts *facts, const struct answer_input *input)
{
    facts->input = *input;
    facts->input.question = &facts->question;
    facts->input.externals = NULL;
    facts->input.others = NULL;
    facts->input.cached = NULL;
    facts->input.query = NULL;
    facts->input.reply_limit = DNS_UDP_SIZE; /* only whether there is one record counts */
    facts->input.may_cut = true;
    facts->store_serial = input->store ? store_serial(input->store) : 0;
}

/* ---- Lookups ---- */

/* Answers one type. NAME_FACT_NO: there is an answer. NAME_FACT_YES: the name leads to external
 * names, whose upstreams would be asked. */
static enum name_fact ask_answer(struct name_facts *f, const struct dname *name, uint16_t type,
                                 const struct answer_plan **ret_plan)
{
    f->question = (struct question){
        .name = *name, .type = type, .qclass = DNS_CLASS_IN, .recursion_desired = true};
    switch (answer_build(f->answer, &f->input, &f->deferral)) {
    case ENGINE_REPLY:
        break;
    case ENGINE_DROP:
        return NAME_FACT_UNKNOWN;
    case ENGINE_DEFER:
        return f->deferral.kind == ENGINE_DEFER_SCAN ? NAME_FACT_SCAN : NAME_FACT_YES;
    }
    const struct answer_plan *plan = answer_get_plan(f->answer);
    *ret_plan = plan;
    if (plan->rcode == DNS_RCODE_NOERROR || plan->rcode == DNS_RCODE_NXDOMAIN) {
        return NAME_FACT_NO;
    }
    /* The name is in a stub zone without upstreams. */
    return plan->is_authoritative ? NAME_FACT_UNKNOWN : NAME_FACT_YES;
}

static bool plan_is_denied(const struct answer_plan *plan)
{
    return plan->rcode == DNS_RCODE_NXDOMAIN;
}

static bool plan_has_records(const struct answer_plan *plan)
{
    return plan->answers.count > 0 || plan->answers.is_cut;
}

/* Asks for CNAME, the type that leads nowhere: the rcode is the name's own, and no target is looked
 * up. */
enum name_fact name_facts_exists(struct name_facts *facts, const struct dname *name)
{
    const struct answer_plan *plan;
    enum name_fact fact = ask_answer(facts, name, DNS_TYPE_CNAME, &plan);
    return fact != NAME_FACT_NO                              ? fact
           : plan_is_denied(plan) && !plan_has_records(plan) ? NAME_FACT_NO
                                                             : NAME_FACT_YES;
}

/* ---- Types ---- */

static const uint16_t types[] = {
#define TYPE_NUMBER(name, number, shape, answer, text) DNS_TYPE_##name,
    RR_TYPES(TYPE_NUMBER)
#undef TYPE_NUMBER
};
_Static_assert(NAME_FACT_TYPES <= 16, "a bit for each");

enum {
#define TYPE_PLACE(name, number, shape, answer, text) AT_##name,
    RR_TYPES(TYPE_PLACE)
#undef TYPE_PLACE
        HAS_CNAME = 1 << AT_CNAME,
    HAS_TXT = 1 << AT_TXT,
};

/* Returns the table's slot for the name, or NULL when its facts are not cached: with visibility, a
 * client may see types of its own. */
static struct known *find_known_fact(struct name_facts *f, const struct dname *name)
{
    if (name->len > KNOWN_NAME_MAX || f->config->visibility || f->store_serial == 0) {
        return NULL;
    }
    uint32_t hash = hash_bytes(HASH_START, (const char *)name->wire, name->len);
    return &f->known[(hash ^ hash >> 16) & ((1 << KNOWN_BITS) - 1)];
}

static uint8_t own_family_of(const struct name_facts *f)
{
    return f->input.local.family_bytes;
}

static bool is_known_fact(const struct name_facts *f, const struct known *known,
                          const struct dname *name)
{
    return known && known->store_serial == f->store_serial && known->family == own_family_of(f) &&
           known->len == name->len && memcmp(known->name, name->wire, name->len) == 0;
}

/* Returns whether an alias has texts of its own. Without them, its CNAME answers TXT. */
static bool has_alias_texts(struct name_facts *f, const struct dname *name)
{
    const struct answer_plan *plan;
    return ask_answer(f, name, DNS_TYPE_TXT, &plan) == NAME_FACT_NO && plan->answers.count > 0 &&
           plan->answers.items[0].type == RR_TXT;
}

static enum name_fact ask_alias(struct name_facts *f, const struct dname *name, unsigned *ret_bits)
{
    const struct answer_plan *plan;
    *ret_bits = 0;
    if (f->config->settings.schema != ENGINE_SCHEMA_KUBERNETES) {
        return NAME_FACT_YES;
    }
    enum name_fact fact = ask_answer(f, name, DNS_TYPE_CNAME, &plan);
    if (fact == NAME_FACT_NO && plan_has_records(plan)) {
        *ret_bits = HAS_CNAME | (has_alias_texts(f, name) ? HAS_TXT : 0);
    }
    return fact == NAME_FACT_NO ? NAME_FACT_YES : fact;
}

static enum name_fact ask_types(struct name_facts *f, const struct dname *name, unsigned *ret_bits)
{
    enum name_fact alias = ask_alias(f, name, ret_bits);
    if (alias != NAME_FACT_YES || *ret_bits) {
        return alias;
    }
    for (unsigned i = 0; i < NAME_FACT_TYPES; i++) {
        const struct answer_plan *plan;
        if (i == AT_CNAME) {
            continue; /* without an alias, A and AAAA have its target's */
        }
        enum name_fact fact = ask_answer(f, name, types[i], &plan);
        if (fact == NAME_FACT_SCAN || fact == NAME_FACT_UNKNOWN) {
            return fact;
        }
        bool has_it = fact == NAME_FACT_YES || (!plan_is_denied(plan) && plan_has_records(plan));
        *ret_bits |= has_it ? 1u << i : 0;
    }
    return NAME_FACT_YES;
}

/* Appends the types that only the `rr` of records has. Nothing is known of a name with too many. */
static enum name_fact append_others(struct name_facts *f, const struct dname *name,
                                    uint16_t *types_out, size_t *count)
{
    struct answer_other_types others = {.count = 0};
    const struct answer_plan *plan;
    f->input.others = &others;
    enum name_fact fact = ask_answer(f, name, ANSWER_TYPE_OF_OTHERS, &plan);
    f->input.others = NULL;
    if (fact != NAME_FACT_NO || others.is_cut) {
        return fact == NAME_FACT_SCAN ? fact : NAME_FACT_UNKNOWN;
    }
    memcpy(types_out + *count, others.types, others.count * sizeof(others.types[0]));
    *count += others.count;
    return NAME_FACT_YES;
}

enum name_fact name_facts_types(struct name_facts *facts, const struct dname *name,
                                uint16_t ret_types[NAME_FACT_TYPES_MAX], size_t *ret_count)
{
    struct known *known = find_known_fact(facts, name);
    unsigned bits = 0;
    if (is_known_fact(facts, known, name)) {
        bits = known->types;
    } else {
        enum name_fact fact = ask_types(facts, name, &bits);
        if (fact != NAME_FACT_YES) {
            return fact;
        }
        if (known) {
            *known = (struct known){.store_serial = facts->store_serial,
                                    .types = (uint16_t)bits,
                                    .family = own_family_of(facts),
                                    .len = name->len};
            memcpy(known->name, name->wire, name->len);
        }
    }
    assert(!(bits & HAS_CNAME) || !(bits & ~(unsigned)(HAS_CNAME | HAS_TXT)));
    *ret_count = 0;
    for (unsigned i = 0; i < NAME_FACT_TYPES; i++) {
        if (bits & 1u << i) {
            ret_types[(*ret_count)++] = types[i];
        }
    }
    return (bits & HAS_CNAME) || !facts->input.store || !store_has_rrs(facts->input.store)
               ? NAME_FACT_YES
               : append_others(facts, name, ret_types, ret_count);
}

/* ---- Data ---- */

static bool is_rr_among(const struct rr *rr, const struct rr *rrs, uint16_t first,
                        const uint16_t *next)
{
    for (uint16_t i = first; i != NAME_FACTS_END; i = next[i]) {
        if (rr->type == rrs[i].type && slice_equal(rr->data, rrs[i].data)) {
            return true;
        }
    }
    return false;
}

bool name_facts_has_just(struct name_facts *facts, const struct rr *rrs, uint16_t first,
                         const uint16_t *next, size_t count)
{
    const struct answer_plan *plan;
    assert(first != NAME_FACTS_END && count > 0);
    struct dname owner = rr_owner(&rrs[first]);
    if (ask_answer(facts, &owner, rrs[first].type, &plan) != NAME_FACT_NO || plan->answers.is_cut ||
        plan->answers.count != count) {
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        const struct rr *rr = &plan->answers.items[i];
        if (!rr_same_name(rr->owner, rrs[first].owner) || !is_rr_among(rr, rrs, first, next)) {
            return false;
        }
    }
    return true;
}
