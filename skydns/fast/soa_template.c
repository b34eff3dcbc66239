#include "skydns/fast/soa_template_internal.h"

#include <arpa/inet.h>
#include <assert.h>
#include <string.h>

#include "common/dns/dns.h"

/* Returns the offset after the name at `at`, which ends with the root or a pointer; notes that
 * pointer. */
static size_t pass_name(struct soa_template *soa, size_t at)
{
    while (soa->bytes[at] != 0 && soa->bytes[at] < 0xc0) {
        at += soa->bytes[at] + 1u;
    }
    if (soa->bytes[at] == 0) {
        return at + 1;
    }
    assert(soa->pointer_count < SOA_POINTERS_MAX);
    struct soa_pointer *pointer = &soa->pointers[soa->pointer_count++];
    pointer->at = (uint16_t)at;
    const unsigned target = (unsigned)(soa->bytes[at] << 8 | soa->bytes[at + 1]);
    pointer->base = (uint16_t)(target - soa->domain_len);
    soa->has_own_suffix |= (target & DNS_POINTER_MAX) >= DNS_HEADER_SIZE + (size_t)soa->domain_len;
    return at + 2;
}

/* Returns the domain, with a capital just before the shared labels: no name of a SOA has one
 * (fast_names.c), so no name is compressed beyond these. */
static struct dname name_sharing(const struct engine_zone *zone, unsigned shared)
{
    struct dname name = zone->domain;
    struct dname_labels labels;
    dname_labels(&name, &labels);
    if (shared < labels.count) {
        name.wire[labels.offsets[labels.count - shared - 1] + 1] = 'A';
    }
    return name;
}

void soa_template_make(struct soa_template *soa, uint32_t ttl_s, const struct engine_zone *zone,
                       unsigned shared, struct encoder *encoder)
{
    uint8_t reply[DNS_UDP_SIZE + SOA_TEMPLATE_MAX];
    const struct question question = {
        .name = name_sharing(zone, shared), .type = DNS_TYPE_A, .qclass = DNS_CLASS_IN};
    struct answer_plan plan = {
        .error = EDNS_ERROR_NONE,
        .rr_class = DNS_CLASS_IN,
        .authority_count = 1,
        .authorities = {{.owner = rr_name(&zone->domain), .ttl_s = ttl_s, .type = RR_SOA}},
        .soa = {.mname = rr_name(&zone->ns),
                .rname = rr_name(&zone->hostmaster),
                .minimum_s = ttl_s},
    };
    size_t start = DNS_HEADER_SIZE + (size_t)zone->domain.len + DNS_QUESTION_TAIL;
    struct response response = {.bytes = reply};
    encode_plan(encoder, &question, &plan, sizeof(reply), &response);
    *soa = (struct soa_template){.len = response.len - start, .domain_len = zone->domain.len};
    assert(soa->len <= sizeof(soa->bytes));
    memcpy(soa->bytes, reply + start, soa->len);
    size_t at = pass_name(soa, 0) + DNS_RR_HEAD - 2; /* they follow the owner's pointer */
    at = pass_name(soa, at + 2);
    soa->serial_at = pass_name(soa, at);
}

/* ---- A domain's ---- */

static bool is_lower(const struct dname *name)
{
    struct dname lower = *name;
    dname_lower(&lower);
    return memcmp(lower.wire, name->wire, name->len) == 0;
}

void soa_templates_make(struct soa_templates *soas, uint32_t ttl_s, const struct engine_zone *zone,
                        struct encoder *encoder)
{
    const bool can_be_mixed =
        is_lower(&zone->domain) && is_lower(&zone->ns) && is_lower(&zone->hostmaster);
    soa_template_make(&soas->lower, ttl_s, zone, zone->labels, encoder);
    soas->mixed_count = !can_be_mixed                            ? 0
                        : zone->labels < SOA_TEMPLATES_MIXED_MAX ? zone->labels
                                                                 : SOA_TEMPLATES_MIXED_MAX;
    for (unsigned shared = 0; shared < soas->mixed_count; shared++) {
        soa_template_make(&soas->mixed[shared], ttl_s, zone, shared, encoder);
    }
}

const struct soa_template *soa_templates_mixed(const struct soa_templates *soas,
                                               const struct engine_zone *zone,
                                               const struct fast_query *query)
{
    const uint8_t *typed = query->wire + DNS_HEADER_SIZE;
    unsigned shared = 0;
    while (shared < zone->labels) {
        const uint8_t at = query->offsets[query->label_count - shared - 1];
        if (memcmp(typed + at, query->name + at, query->name[at] + 1u) != 0) {
            break;
        }
        shared++;
    }
    if (soas->mixed_count == 0) {
        return NULL;
    }
    return shared == zone->labels       ? &soas->lower
           : shared < soas->mixed_count ? &soas->mixed[shared]
                                        : NULL;
}

/* ---- Answers ---- */

size_t soa_template_write(const struct soa_template *soa, size_t name_len, uint32_t serial,
                          uint8_t *out)
{
    memcpy(out, soa->bytes, soa->len);
    for (unsigned i = 0; i < soa->pointer_count; i++) {
        const struct soa_pointer *pointer = &soa->pointers[i];
        uint16_t value = htons((uint16_t)(pointer->base + name_len));
        memcpy(out + pointer->at, &value, sizeof(value));
    }
    serial = htonl(serial);
    memcpy(out + soa->serial_at, &serial, sizeof(serial));
    return soa->len;
}
