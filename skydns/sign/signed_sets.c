#include "skydns/sign/signed_sets.h"

#include <stdlib.h>

#include "common/base/xalloc.h"
#include "common/dns/dns.h"
#include "skydns/sign/signed_apex_internal.h"
#include "skydns/sign/signed_message_internal.h"
#include "skydns/sign/signed_zones.h"
#include "skydns/wire/encode.h"

struct scratch {
    struct signed_zones zones;
    struct signed_message message;
    uint8_t reply[DNS_MESSAGE_MAX];
    struct slice data[SIGNED_RECORDS_MAX];
    uint8_t canonical[SIGNED_CANONICAL_MAX];
};

static struct signed_set_shown show(const struct engine_config *config,
                                    const struct dnssec_zone *zone, const struct dname *owner,
                                    const struct dnssec_rrset *rrset)
{
    struct signed_set_shown shown = {.owner = *owner, .type = rrset->type, .zone = zone};
    for (size_t i = 0; i < zone->key_count; i++) {
        shown.ends_s[i] = dnssec_peek(config->dnssec, zone, i, rrset);
    }
    return shown;
}

static struct signed_set_shown show_set(const struct engine_config *config, struct scratch *s,
                                        const struct signed_set *set)
{
    struct dname owner;
    signed_message_name(&s->message, set->owner_at, &owner);
    signed_message_data(&s->message, set, s->data, s->canonical);
    const struct dnssec_rrset rrset = {
        .owner = slice_of(owner.wire, owner.len),
        .type = set->type,
        .ttl_s = set->ttl_s,
        .count = dnssec_sort(s->data, set->count),
        .rdata = s->data,
    };
    return show(config, set->keys, &owner, &rrset);
}

/* As a client without EDNS gets it: OPT is not signed. */
static bool read_plan(const struct engine_config *config, const struct question *question,
                      const struct answer_plan *plan, struct scratch *s)
{
    struct question plain = *question;
    struct dname name = question->name;
    struct encoder *encoder = encoder_new(config->settings.max_udp_size);
    plain.has_edns = false;
    struct response response = {.bytes = s->reply};
    encode_plan(encoder, &plain, plan, sizeof(s->reply), &response);
    encoder_free(encoder);
    dname_lower(&name);
    signed_zones_configure(&s->zones, config);
    return signed_message_read(&s->message, &s->zones, &name, &response);
}

static size_t show_keys(const struct engine_config *config, const struct question *question,
                        const struct signed_keys_shown *keys, struct signed_set_shown *ret)
{
    struct dname name = question->name;
    dname_lower(&name);
    const struct dnssec_rrset rrset = {
        .owner = slice_of(name.wire, name.len),
        .type = question->type,
        .ttl_s = keys->ttl_s,
        .count = keys->set->count,
        .rdata = keys->set->rdata,
    };
    *ret = show(config, dnssec_zone_of(config->dnssec, &name), &name, &rrset);
    return 1;
}

struct signed_keys_shown signed_sets_of_keys(const struct engine_config *config,
                                             const struct question *question)
{
    struct signed_keys_shown shown = {0};
    struct signed_zones zones;
    struct dname name = question->name;
    if (!config->dnssec || question->type == DNS_TYPE_DS) {
        return shown;
    }
    dname_lower(&name);
    signed_zones_configure(&zones, config);
    struct signed_place place = signed_zones_find(&zones, &name);
    if (place.is_ours && place.keys && place.apex_at == 0) {
        shown.set = signed_apex_set(place.keys, question->type);
        shown.ttl_s = shown.set && shown.set->ttl_s ? shown.set->ttl_s : config->settings.ttl_s;
    }
    return shown;
}

size_t signed_sets_show(const struct engine_config *config, const struct question *question,
                        const struct answer_plan *plan,
                        struct signed_set_shown ret_sets[SIGNED_SETS_SHOWN_MAX])
{
    const struct signed_keys_shown keys = signed_sets_of_keys(config, question);
    if (keys.set) {
        return show_keys(config, question, &keys, ret_sets);
    }
    if (!config->dnssec ||
        (plan->rcode != DNS_RCODE_NOERROR && plan->rcode != DNS_RCODE_NXDOMAIN)) {
        return 0;
    }
    size_t count = 0;
    struct scratch *s = xcalloc(1, sizeof(*s));
    bool is_read = read_plan(config, question, plan, s);
    for (size_t i = 0; is_read && i < s->message.set_count && count < SIGNED_SETS_SHOWN_MAX; i++) {
        if (s->message.sets[i].keys) {
            ret_sets[count++] = show_set(config, s, &s->message.sets[i]);
        }
    }
    free(s);
    return count;
}
