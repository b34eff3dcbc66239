#include "skydns/upstream/onward_internal.h"

#include "common/base/attributes.h"
#include "common/base/cursor.h"
#include "skydns/external/cache_image_writer.h"
#include "skydns/external/hosts_table.h"
#include "skydns/publish/engine_config.h"
#include "skydns/upstream/external.h"
#include "skydns/wire/response.h"

bool onward_is_ours(const struct engine_config *config, const struct dname *name)
{
    return engine_config_own_zone(config, name) != NULL;
}

/* ---- Records that are believed ---- */

static bool is_owner_ours(const void *data, enum response_section section UNUSED,
                          uint16_t type UNUSED, const struct dname *owner)
{
    const struct dname lower = dname_lower_of(slice_of(owner->wire, owner->len));
    return onward_is_ours(data, &lower);
}

void onward_drop_ours(const struct engine_config *config, struct parsed_response *response)
{
    response_drop(response, is_owner_ours, config);
}

static bool is_of_denial(uint16_t type)
{
    return type == DNS_TYPE_NSEC || type == DNS_TYPE_NSEC3 || type == DNS_TYPE_RRSIG;
}

/* Returns whether the owner is outside the zone; false for the root, which OPT has. */
static bool is_owner_outside(const void *data, enum response_section section, uint16_t type,
                             const struct dname *owner)
{
    const struct dname *zone = data;
    if (owner->len == 1 || dname_is_within(owner, zone)) {
        return false;
    }
    return section != RESPONSE_AUTHORITY ||
           !(is_of_denial(type) || (type == DNS_TYPE_SOA && dname_is_within(zone, owner)));
}

void onward_drop_outside(const struct dname *zone, struct parsed_response *response)
{
    response_drop(response, is_owner_outside, zone);
}

/* ---- The way of a CNAME ---- */

static bool is_in_hosts(const struct engine_config *config,
                        const struct upstream_question *question)
{
    size_t count;
    return (question->type == DNS_TYPE_A || question->type == DNS_TYPE_AAAA) && config->hosts &&
           !engine_config_zone(config, &question->name) &&
           hosts_table_find(config->hosts, &question->name, &count);
}

/* Decides as for a CNAME of ours (follow.c). */
static enum onward_way way_to(const struct engine_config *config, const struct onward *onward)
{
    const struct upstream_question *question = &onward->question;
    const bool is_stub = zone_is_stub(onward->zone);
    if (!(question->flags & DNS_FLAG_RD)) {
        return ONWARD_ALONE;
    }
    if (is_stub) {
        return onward->zone->server_count > 0 ? ONWARD_UPSTREAM : ONWARD_NOWHERE;
    }
    const bool is_short = engine_config_is_too_short(config, dname_label_count(&question->name),
                                                     question->type, is_stub);
    return config->settings.no_rec || is_short || onward->zone->server_count == 0 ? ONWARD_ALONE
                                                                                  : ONWARD_UPSTREAM;
}

/* Returns whether the zone's denial is not the last word. */
static bool is_asked_again(const struct engine_config *config, const struct dname *zone,
                           const struct upstream_question *question,
                           const struct parsed_response *response)
{
    const struct forward_zone *stub = zone_table_find(config->zones_of_others, zone);
    const uint16_t rcode = response->head.flags & DNS_MASK_RCODE;
    struct dname end;
    const bool is_denied = response_section_span(response, RESPONSE_ANSWER).to == 0 ||
                           (rcode == DNS_RCODE_NXDOMAIN && external_chain_end(response, &end) &&
                            dname_is_within(&end, zone));
    return is_denied && dname_equal(&stub->name, zone) && (question->flags & DNS_FLAG_RD) &&
           !(response->head.flags & DNS_FLAG_TC) && !config->settings.no_rec &&
           zone_table_items(config->zones_of_others, &(size_t){0})->server_count > 0 &&
           ((stub->fallback != ZONE_ENDS && rcode == DNS_RCODE_NXDOMAIN) ||
            (stub->fallback == ZONE_FALLBACK_NODATA && rcode == DNS_RCODE_NOERROR));
}

enum onward_way onward_find(const struct engine_config *config, const struct dname *zone,
                            const struct upstream_question *question,
                            const struct parsed_response *response, struct onward *ret)
{
    struct dname end;
    if (config->zones_of_others && is_asked_again(config, zone, question, response)) {
        size_t count;
        *ret = (struct onward){.question = *question,
                               .zone = zone_table_items(config->zones_of_others, &count)};
        return ONWARD_INSTEAD;
    }
    if (question->qclass != DNS_CLASS_IN || !config->zones_of_others ||
        onward_is_cname_asked(question->type) || (response->head.flags & DNS_FLAG_TC) ||
        !external_chain_end(response, &end) || dname_is_within(&end, zone) ||
        onward_is_ours(config, &end)) {
        return ONWARD_ENDS;
    }
    *ret = (struct onward){.question = *question};
    ret->question.name = end;
    if (is_in_hosts(config, &ret->question)) {
        return ONWARD_HOSTS;
    }
    ret->zone = zone_table_find_for(config->zones_of_others, &end, question->type);
    return way_to(config, ret);
}

/* ---- Messages ---- */

/* A message being written; only records, no OPT. */
struct onward_message {
    struct cache_image_writer writer;
    uint16_t counts[RESPONSE_SECTIONS];
    bool is_sound;
};

static void begin_onward(struct onward_message *m, const struct dname *name, uint8_t *out,
                         size_t size)
{
    const struct response_start start = response_start_of(slice_of(NULL, 0), name->len);
    *m = (struct onward_message){.is_sound = true};
    cache_image_writer_init(&m->writer, name, &start, out, size);
}

/* Ends the message. Returns its length; 0: it does not fit. */
static size_t end_onward(struct onward_message *m, const struct response_head *asked,
                         uint16_t flags)
{
    struct writer head = writer_of(m->writer.out.data, DNS_HEADER_SIZE);
    struct writer tail =
        writer_of(m->writer.out.data + m->writer.records_at - DNS_QUESTION_TAIL, DNS_QUESTION_TAIL);
    writer_u16(&head, 0); /* id */
    writer_u16(&head, flags);
    writer_u16(&head, 1);
    for (unsigned i = 0; i < RESPONSE_SECTIONS; i++) {
        writer_u16(&head, m->counts[i]);
    }
    writer_u16(&tail, asked->type);
    writer_u16(&tail, asked->qclass);
    return m->writer.out.failed || !m->is_sound ? 0 : m->writer.out.pos;
}

typedef bool (*onward_wants)(uint16_t type);

static void put_onward(struct onward_message *m, const struct parsed_response *response,
                       enum response_section section, onward_wants wants)
{
    const struct response_span span = response_section_span(response, section);
    for (size_t i = span.from; i < span.to && !m->writer.out.failed; i++) {
        const struct response_rr *rr = &response->rrs[i];
        if (wants(rr->type)) {
            const struct dname owner = response_rr_owner(response, rr);
            bool is_sound;
            (void)cache_image_writer_put(&m->writer, response, rr, &owner, rr->ttl_s, &is_sound);
            m->is_sound = m->is_sound && is_sound;
            m->counts[section]++;
        }
    }
}

static bool is_of_chain(uint16_t type)
{
    return type == DNS_TYPE_CNAME || type == DNS_TYPE_DNAME || type == DNS_TYPE_RRSIG;
}

static bool is_any_type(uint16_t type UNUSED)
{
    return true;
}

size_t onward_chain_write(const struct upstream_question *question,
                          const struct parsed_response *response, uint8_t out[ONWARD_CHAIN_MAX])
{
    struct onward_message m;
    begin_onward(&m, &question->name, out, ONWARD_CHAIN_MAX);
    put_onward(&m, response, RESPONSE_ANSWER, is_of_chain);
    put_onward(&m, response, RESPONSE_AUTHORITY, is_of_denial); /* a CNAME made from a wildcard */
    return end_onward(&m, &response->head, response->head.flags & (uint16_t)~DNS_MASK_RCODE);
}

size_t onward_join(struct slice chain, const struct parsed_response *target,
                   uint8_t out[DNS_MESSAGE_MAX])
{
    struct onward_message m;
    struct parsed_response first;
    response_parse((const uint8_t *)chain.ptr, chain.len, &first);
    begin_onward(&m, &first.head.name, out, DNS_MESSAGE_MAX);
    for (unsigned section = 0; section < RESPONSE_ADDITIONAL; section++) {
        put_onward(&m, &first, (enum response_section)section, is_any_type);
        put_onward(&m, target, (enum response_section)section, is_any_type);
    }
    const uint16_t ad = first.head.flags & target->head.flags & DNS_FLAG_AD;
    const size_t len =
        end_onward(&m, &first.head, (target->head.flags & (uint16_t)~DNS_FLAG_AD) | ad);
    response_parse_fini(&first);
    return len;
}

size_t onward_hosts_write(const struct engine_config *config,
                          const struct upstream_question *question, uint8_t out[DNS_MESSAGE_MAX])
{
    const struct response_head asked = {.type = question->type, .qclass = question->qclass};
    struct onward_message m;
    size_t count = 0;
    const struct ip *ips = hosts_table_find(config->hosts, &question->name, &count);
    begin_onward(&m, &question->name, out, DNS_MESSAGE_MAX);
    for (size_t i = 0; i < count; i++) {
        struct writer *w = &m.writer.out;
        if (ips[i].family_bytes == (question->type == DNS_TYPE_A ? 4 : 16)) {
            writer_u16(w, 0xc000 | DNS_HEADER_SIZE);
            writer_u16(w, question->type);
            writer_u16(w, DNS_CLASS_IN);
            writer_u32(w, HOSTS_TTL_S);
            writer_u16(w, ips[i].family_bytes);
            writer_bytes(w, ips[i].bytes, ips[i].family_bytes);
            m.counts[RESPONSE_ANSWER]++;
        }
    }
    return end_onward(&m, &asked, DNS_FLAG_QR | DNS_FLAG_RD | DNS_FLAG_RA);
}
