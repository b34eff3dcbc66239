#include "skydns/answer/answer_kube.h"

#include <netinet/in.h>

#include "skydns/answer/answer_internal.h"
#include "skydns/records/rr.h"

/* ---- Places ---- */

enum kube_place kube_place_at(enum kube_tree tree, unsigned depth, bool is_protocol_underscored)
{
    enum { SERVICE_DEPTH = KUBE_PROTOCOL_DEPTH - 1, PORT_DEPTH = KUBE_PROTOCOL_DEPTH + 1 };
    if (depth == 0) {
        return KUBE_DOMAIN;
    }
    if (tree == KUBE_TREE_OTHER) {
        return KUBE_OTHER;
    }
    if (depth < SERVICE_DEPTH) {
        return KUBE_ABOVE;
    }
    if (tree == KUBE_TREE_POD) {
        return KUBE_ENDPOINT;
    }
    if (depth == SERVICE_DEPTH) {
        return KUBE_SERVICE;
    }
    if (!is_protocol_underscored) {
        return KUBE_ENDPOINT;
    }
    return depth == KUBE_PROTOCOL_DEPTH ? KUBE_PROTOCOL
           : depth == PORT_DEPTH        ? KUBE_PORT
                                        : KUBE_BELOW_PORT;
}

enum kube_place kube_place_of(const struct engine_zone *zone, const struct dname *name)
{
    struct dname_labels labels;
    dname_labels(name, &labels);
    unsigned depth = labels.count - zone->labels;
    if (depth == 0) {
        return KUBE_DOMAIN;
    }
    enum kube_tree tree = kube_zone_tree(zone, dname_label(name, labels.offsets[depth - 1]));
    depth = kube_zone_depth(zone, depth);
    bool is_underscored =
        depth >= KUBE_PROTOCOL_DEPTH &&
        dname_label(name, labels.offsets[depth - KUBE_PROTOCOL_DEPTH]).ptr[0] == '_';
    return kube_place_at(tree, depth, is_underscored);
}

/* Returns a bit for each place that may have the type. A service has addresses, its ports have SRV,
 * and nothing else is below it. Names above services have no data. */
static unsigned places_with(uint16_t number)
{
    enum {
        ANYWHERE = 1u << KUBE_SERVICE | 1u << KUBE_OTHER,
        ENDPOINTS = 1u << KUBE_ENDPOINT,
    };
    switch (number) {
    case DNS_TYPE_SRV: /* an endpoint's SRV would have port 0 */
        return ANYWHERE | 1u << KUBE_PORT | 1u << KUBE_BELOW_PORT;
    case DNS_TYPE_SOA:
    case DNS_TYPE_NS:
        return ANYWHERE | ENDPOINTS | 1u << KUBE_DOMAIN;
    default:
        return ANYWHERE | ENDPOINTS;
    }
}

bool kube_place_has_data(enum kube_place place, uint16_t type)
{
    return places_with(type) >> place & 1;
}

bool kube_place_lists_ports(enum kube_place place, uint16_t type)
{
    return place == KUBE_SERVICE && type == DNS_TYPE_SRV;
}

bool kube_has_data(const struct engine_zone *zone, const struct dname *name, uint16_t type)
{
    return kube_place_has_data(kube_place_of(zone, name), type);
}

/* ---- Answers ---- */

/* Below are the differences from SkyDNS under -schema=kubernetes (Kubernetes DNS-Based Service
 * Discovery 1.1.0).
 *
 * A name with a CNAME has nothing else and answers every type with it (RFC 1034 3.6.2), except TXT
 * if its record has a text. The rcode is that of the last name (RFC 6604). Wildcards need no case
 * here: with this schema no lookup knows them (follow_rule). */

/* Returns whether the answer already has a CNAME at the target. */
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

/* Makes the target the name that the rest of the answer is about. Returns false when the target is
 * in no domain of ours. */
static bool lead_on(struct answer *a, struct slice target)
{
    const struct dname name = dname_lower_of(target);
    const struct engine_zone *zone = engine_config_zone(a->config, &name);
    bool is_hidden = zone && follow_is_hidden(&a->follow.view, zone, &name);
    if (!zone || (!is_hidden && engine_config_stub(a->config, &name, DNS_TYPE_SOA, zone))) {
        lookup_allow(a->follow.lookup, follow_visits(&a->follow)); /* overrides are looked up */
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
 * the records below it. Returns false when there are none. */
static bool add_alias_texts(struct answer *a, const struct store_record *alias)
{
    size_t before = a->plan.answers.count;
    if (lookup_exact(&a->follow.view, &a->name) != alias) {
        answer_txt(a);
    } else if (alias->lens[RECORD_TEXT] > 0) {
        answer_add(a, rrsynth_txt(a->config, alias, a->owner));
    }
    return a->plan.answers.count > before || follow_is_scan_deferred(&a->follow);
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

/* Answers with the version of a record, which kube2sky writes for another specification: that of
 * the multicluster domain. */
static void answer_version(struct answer *a)
{
    const struct store_record *other = lookup_exact(&a->follow.view, &a->name);
    if (a->in.question->type == DNS_TYPE_TXT && other && other->lens[RECORD_TEXT] > 0) {
        answer_add(a, rrsynth_txt(a->config, other, a->owner));
    } else if (a->in.question->type == DNS_TYPE_TXT) {
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
    if (place == KUBE_DOMAIN && answer_apex(a)) {
        return true;
    }
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

/* ---- -pods=insecure and -pods=disabled: a-b-c-d.<namespace>.pod.<domain>, without records ---- */

static void add_pod(struct answer *a)
{
    enum rr_type type = a->pod.family_bytes == 4 ? RR_A : RR_AAAA;
    if (a->in.question->type == (uint16_t)type) {
        answer_add(a, (struct rr){.owner = a->owner,
                                  .ttl_s = a->config->settings.ttl_s,
                                  .type = type,
                                  .data = slice_of(a->pod.bytes, a->pod.family_bytes)});
    }
}

/* Answers names below pod.<domain>. Insecure: pod.<domain> and any namespace below it exist; a
 * label below a namespace exists if it spells an address; nothing exists below that. Disabled: none
 * of these exists. */
bool answer_pod(struct answer *a)
{
    if (a->zone->pods.len == 0 || !dname_is_within(&a->name, &a->zone->pods)) {
        return false;
    }
    unsigned labels = dname_label_count(&a->name) - a->zone->labels - 1;
    if (a->config->settings.pods == ENGINE_PODS_DISABLED || labels > 2) {
        answer_denied(a);
    } else if (labels == 2 && !ip_parse_dashed(dname_label(&a->name, 0), &a->pod)) {
        answer_denied(a);
    } else if (labels == 2) {
        add_pod(a);
    }
    return true;
}
