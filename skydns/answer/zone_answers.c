#include "skydns/answer/zone_answers.h"

#include <stdlib.h>

#include "common/base/attributes.h"
#include "common/base/xalloc.h"
#include "common/dns/dns.h"
#include "skydns/answer/answer.h"
#include "skydns/answer/answer_kube.h"
#include "skydns/publish/reverse_zone.h"
#include "skydns/wire/encode.h"

/* Stands for the address that a request came to: no name server has the broadcast address. */
static const struct ip own_address = {.family_bytes = 4, .bytes = {255, 255, 255, 255}};

/* Lets no size cut a response; RR_LIST_MAX remains. */
static const size_t REPLY_LIMIT = SIZE_MAX / 2;

/* Rdata longer than a record holds (RFC 1035 3.2.1) is left out, as in a response. */

struct zone_answers {
    struct answer *answer;
    const struct engine_config *config;
    uint8_t data[UINT16_MAX]; /* of the record being added */
};

struct zone_answers *zone_answers_new(const struct engine_config *config)
{
    struct zone_answers *answers = xcalloc(1, sizeof(*answers));
    answers->answer = answer_new(config);
    answers->config = config;
    return answers;
}

void zone_answers_free(struct zone_answers *answers)
{
    if (!answers) {
        return;
    }
    answer_free(answers->answer);
    free(answers);
}

void zone_answers_configure(struct zone_answers *answers, const struct engine_config *config)
{
    answers->config = config;
    answer_configure(answers->answer, config);
}

/* ---- Zones ---- */

bool zone_answers_is_of_zone(const struct engine_config *config, const struct dname *apex,
                             const struct dname *name)
{
    unsigned at;
    if (reverse_zone_is_reverse(name)) {
        return reverse_zone_find(config, name, &at) && name->len - at == apex->len &&
               dname_is_within(name, apex);
    }
    const struct engine_zone *zone = engine_config_zone(config, name);
    return zone && dname_equal(&zone->domain, apex);
}

/* ---- Records ---- */

static bool is_own_address(const struct zone_answers *answers, const struct dname *name,
                           const struct rr *rr)
{
    const struct engine_zone *zone = engine_config_zone(answers->config, name);
    return zone && dname_equal(name, &zone->ns) && rr->type == RR_A &&
           slice_equal(rr->data, slice_of(own_address.bytes, own_address.family_bytes));
}

/* Takes the records of the name itself: a chain of aliases leads to others. */
static void take_records(struct zone_answers *answers, const struct dname *name,
                         struct zone_rrs *out)
{
    const struct answer_plan *plan = answer_get_plan(answers->answer);
    const struct rr_list *list = &plan->answers;
    for (size_t i = 0; i < list->count; i++) {
        const struct rr *rr = &list->items[i];
        bool is_own = is_own_address(answers, name, rr);
        struct writer w = writer_of(answers->data, sizeof(answers->data));
        rr_data_write(rr, &plan->soa, &w);
        if (rr_same_name(rr->owner, rr_name(name)) && !w.failed) {
            zone_rrs_add(out,
                         &(struct zone_rr){
                             .owner = rr_name(name),
                             .type = (uint16_t)rr->type,
                             .ttl_s = rr->ttl_s,
                             .data = is_own ? slice_of(NULL, 0) : slice_of(answers->data, w.pos),
                         });
        }
    }
}

/* Asks the answer code for one type. Returns false when the answer is not known. */
static bool zone_answers_ask(struct zone_answers *answers, const struct store *store,
                             const struct dname *name, uint16_t type,
                             struct answer_other_types *others, struct zone_rrs *out)
{
    /* Without RD, a target outside is not looked up, which would leave an SRV record out. */
    const struct question question = {.name = *name, .type = type, .qclass = DNS_CLASS_IN};
    const struct answer_input input = {
        .question = &question,
        .store = store,
        .local = own_address,
        .reply_limit = REPLY_LIMIT,
        .may_scan = true,
        .others = others,
    };
    struct engine_deferral deferral;
    if (answer_build(answers->answer, &input, &deferral) != ENGINE_REPLY) {
        return true; /* other upstreams answer it */
    }
    const struct answer_plan *plan = answer_get_plan(answers->answer);
    if (plan->rcode == DNS_RCODE_NOERROR) {
        take_records(answers, name, out);
    }
    return plan->error != EDNS_ERROR_NOT_READY;
}

/* Returns whether a name can have the type, as the answer code sees it. The SOA is made at each
 * transfer, and CNAME comes first. */
static bool can_have(const struct zone_answers *answers, const struct engine_zone *zone,
                     const struct dname *name, uint16_t type)
{
    if (type == DNS_TYPE_SOA || type == DNS_TYPE_CNAME) {
        return false;
    }
    if (!zone) {
        return type == DNS_TYPE_PTR || type == DNS_TYPE_NS;
    }
    return answers->config->settings.schema != ENGINE_SCHEMA_KUBERNETES ||
           (zone->apex.len > 0 && dname_equal(name, &zone->domain)) ||
           dname_equal(name, &zone->version) || dname_equal(name, &zone->local) ||
           kube_has_data(zone, name, type);
}

/* Types that only the `rr` of records has. */
static bool add_others(struct zone_answers *answers, const struct store *store,
                       const struct dname *name, struct zone_rrs *out)
{
    struct answer_other_types others = {.count = 0};
    bool is_known = zone_answers_ask(answers, store, name, ANSWER_TYPE_OF_OTHERS, &others, out);
    for (size_t i = 0; i < others.count && is_known; i++) {
        is_known = zone_answers_ask(answers, store, name, others.types[i], NULL, out);
    }
    return is_known;
}

bool zone_answers_of(struct zone_answers *answers, const struct store *store,
                     const struct dname *name, struct zone_rrs *out)
{
    static const uint16_t types[] = {
#define ZONE_TYPE(name, number, shape, answer, text) DNS_TYPE_##name,
        RR_TYPES(ZONE_TYPE)
#undef ZONE_TYPE
    };
    const struct engine_zone *zone =
        reverse_zone_is_reverse(name) ? NULL : engine_config_zone(answers->config, name);
    zone_rrs_clear(out);
    /* An alias has the CNAME and nothing else: the other types would repeat it. */
    if (zone && !zone_answers_ask(answers, store, name, DNS_TYPE_CNAME, NULL, out)) {
        return false;
    }
    bool is_alias = out->count > 0;
    for (size_t i = 0; !is_alias && i < ARRAY_LEN(types); i++) {
        if (can_have(answers, zone, name, types[i]) &&
            !zone_answers_ask(answers, store, name, types[i], NULL, out)) {
            return false;
        }
    }
    if (!is_alias && store_has_rrs(store) && !add_others(answers, store, name, out)) {
        return false;
    }
    zone_rrs_sort(out);
    return true;
}
