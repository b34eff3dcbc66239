/* -schema=kubernetes: where Kubernetes DNS-Based Service Discovery 1.1.0 differs from SkyDNS. A
 * name with a CNAME has nothing else and answers every type with it (RFC 1034 3.6.2), but for TXT
 * if its record has a text; the rcode is that of the last name (RFC 6604). Wildcards are not
 * handled here: with this schema no lookup knows them (follow_rule). */
#include <string.h>

#include "skydns/answer/answer_internal.h"
#include "skydns/answer/kube_place.h"

/* Whether a CNAME of the answer already leads on from there. */
static bool is_ring(const struct answer *a, struct slice target)
{
    for (size_t i = 0; i < a->plan.answers.count; i++) {
        if (rr_same_name(a->plan.answers.items[i].owner, target)) {
            return true;
        }
    }
    return false;
}

static enum follow_families families_of(uint16_t type)
{
    return type == DNS_TYPE_A ? FOLLOW_A : type == DNS_TYPE_AAAA ? FOLLOW_AAAA : FOLLOW_NONE;
}

/* The rest of the answer is about the target. False: it is in no domain of ours. */
static bool lead_on(struct answer *a, struct slice target)
{
    const struct dname name = dname_lower_of(target);
    const struct engine_zone *zone = engine_config_zone(a->config, &name);
    bool is_hidden = zone && follow_is_hidden(&a->follow.view, zone, &name);
    if (!zone || (!is_hidden && engine_config_stub(a->config, &name, DNS_TYPE_SOA, zone))) {
        follow_outside(&a->follow, &name, target, families_of(a->in.question->type),
                       &a->plan.answers);
        if (a->follow.has_failed) {
            answer_unknown(a);
        }
        return false;
    }
    a->owner = target;
    a->name = name;
    answer_set_zone(a, zone);
    return true;
}

/* Adds the texts beside the host names that make the name an alias: its own record's, or those of
 * the records below it. False: there are none. */
static bool add_alias_texts(struct answer *a, const struct store_record *alias)
{
    size_t before = a->plan.answers.count;
    if (lookup_exact(&a->follow.view, &a->name) != alias) {
        answer_txt(a);
    } else if (alias->lens[RECORD_TEXT] > 0) {
        answer_add(a, rrsynth_txt(a->config, alias, a->owner));
    }
    return a->plan.answers.count > before || follow_is_walk_deferred(&a->follow);
}

bool answer_alias(struct answer *a)
{
    uint16_t type = a->in.question->type;
    const struct store_record *alias;
    while ((alias = follow_alias(&a->follow.view, a->zone, &a->name))) {
        if (a->plan.answers.count == FOLLOW_CHAIN_MAX) {
            return true;
        }
        if (type == DNS_TYPE_TXT && add_alias_texts(a, alias)) {
            return true;
        }
        struct rr cname = rrsynth_pointer(a->config, alias, a->owner, RR_CNAME);
        bool is_last = type == DNS_TYPE_CNAME || type == DNS_TYPE_ANY || is_ring(a, cname.data) ||
                       rr_same_name(a->owner, cname.data);
        answer_add(a, cname);
        if (is_last || !lead_on(a, cname.data)) {
            return true;
        }
    }
    return false;
}

static void answer_version(struct answer *a)
{
    if (a->in.question->type == DNS_TYPE_TXT) {
        answer_add(a, (struct rr){.owner = a->owner,
                                  .ttl_s = a->config->settings.ttl_s,
                                  .type = RR_TXT,
                                  .data = slice_str("1.1.0")});
    }
}

bool answer_kube(struct answer *a)
{
    uint16_t type = a->in.question->type;
    if (dname_equal(&a->name, &a->zone->version)) {
        answer_version(a);
        return true;
    }
    enum kube_place place = kube_place_of(a->zone, &a->name);
    if (!kube_place_has_data(place, type)) {
        answer_nothing(a);
        return true;
    }
    if (kube_place_lists_ports(place, type)) {
        answer_ports(a);
        return true;
    }
    return false;
}
