/* -schema=kubernetes: where Kubernetes DNS-Based Service Discovery 1.1.0 differs from SkyDNS.
 * Wildcards are not handled here: with this schema no lookup knows them (follow_rule). */
#include "skydns/answer/answer_internal.h"
#include "skydns/answer/kube_place.h"

static void answer_version(struct answer *a)
{
    if (a->in.question->type == DNS_TYPE_TXT) {
        answer_add(a, (struct rr){.owner = a->owner,
                                  .ttl_s = a->config->ttl_s,
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
