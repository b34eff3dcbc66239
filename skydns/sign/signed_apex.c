#include "skydns/sign/signed_apex_internal.h"

#include "common/dns/dns.h"
#include "skydns/dnssec/dnssec.h"
#include "skydns/sign/answer_signer.h"

const struct dnssec_apex_set *signed_apex_set(const struct dnssec_zone *keys, uint16_t type)
{
    switch (type) {
    case DNS_TYPE_DNSKEY:
        return &keys->dnskey;
    case DNS_TYPE_CDS:
        return &keys->cds;
    case DNS_TYPE_CDNSKEY:
        return &keys->cdnskey;
    case DNS_TYPE_DS:
        return &keys->ds;
    default:
        return NULL;
    }
}

static bool build_set(const struct signed_zones *zones, struct answer *answer,
                      const struct question *question, const struct dnssec_apex_set *set)
{
    struct answer_plan *plan = answer_start_plan(answer);
    for (size_t i = 0; i < set->count; i++) {
        const struct rr rr = {.owner = rr_name(&question->name),
                              .type = (enum rr_type)question->type,
                              .ttl_s = set->ttl_s ? set->ttl_s : zones->config->settings.ttl_s,
                              .data = set->rdata[i]};
        rr_list_add(&plan->answers, &rr);
    }
    return true;
}

/* Builds the parent's denial of a DS, as of a type that the parent's own name lacks. Returns false
 * when it cannot be read. */
static bool build_denial(struct answer *answer, const struct answer_input *input,
                         const struct dname *parent)
{
    struct engine_deferral deferral;
    const struct question question = {
        .name = *parent, .type = DNS_TYPE_HINFO, .qclass = DNS_CLASS_IN};
    struct answer_input apex = *input;
    apex.question = &question;
    apex.externals = NULL;
    apex.cached = NULL;
    apex.query = NULL;
    return answer_build(answer, &apex, &deferral) == ENGINE_REPLY &&
           answer_get_plan(answer)->rcode == DNS_RCODE_NOERROR &&
           answer_get_plan(answer)->answers.count == 0 &&
           answer_get_plan(answer)->authority_count > 0;
}

/* Builds the parent's answer about the DS of the zone that begins at the question's name. */
static bool build_ds(const struct signed_zones *zones, struct answer *answer,
                     const struct answer_input *input, const struct dname *name)
{
    struct signed_place place, parent;
    if (!input->question->dnssec_ok || !signed_zones_is_cut(zones, name, &place, &parent)) {
        return false;
    }
    return place.keys && place.keys->ds.count > 0
               ? build_set(zones, answer, input->question, &place.keys->ds)
               : build_denial(answer, input, &parent.keys->name);
}

bool signed_apex_build(const struct signed_zones *zones, struct answer *answer,
                       const struct answer_input *input)
{
    const uint16_t type = input->question->type;
    if (!answer_signer_is_of_keys(type) || input->question->qclass != DNS_CLASS_IN) {
        return false;
    }
    struct dname name = input->question->name;
    dname_lower(&name);
    if (type == DNS_TYPE_DS) {
        return build_ds(zones, answer, input, &name);
    }
    const struct signed_place place = signed_zones_find(zones, &name);
    const struct dnssec_apex_set *set =
        place.keys && place.apex_at == 0 ? signed_apex_set(place.keys, type) : NULL;
    return set && build_set(zones, answer, input->question, set);
}
