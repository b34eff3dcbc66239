#include "skydns/answer/external_synthesis.h"

#include <stdio.h>
#include <string.h>

#include "skydns/publish/reverse_zone.h"

/* RFC 6052 2.2: bits 64 to 71 are zero, and the address goes on behind them. */
enum { IPV4_BYTES = 4, IPV6_BYTES = 16, ZERO_BYTE = 8 };

/* ---- Addresses ---- */

bool synthesis_excludes(const struct dns64_settings *dns64, struct slice ipv6)
{
    struct ip ip = {.family_bytes = IPV6_BYTES};
    memcpy(ip.bytes, ipv6.ptr, IPV6_BYTES);
    for (size_t i = 0; i < dns64->excluded_count; i++) {
        if (network_contains(&dns64->excluded[i], &ip)) {
            return true;
        }
    }
    return false;
}

static bool is_well_known(const struct network *prefix)
{
    static const uint8_t well_known[IPV6_BYTES] = {0x00, 0x64, 0xff, 0x9b};
    return prefix->prefix_bits == 96 && memcmp(prefix->ip.bytes, well_known, IPV6_BYTES) == 0;
}

/* Returns whether the address is globally reachable: in no special network (RFC 6890 and later
 * ones), and no multicast. */
static bool is_global(const uint8_t ipv4[IPV4_BYTES])
{
    static const struct {
        uint8_t bytes[IPV4_BYTES];
        uint8_t bits;
    } others[] = {
        {{0}, 8},
        {{10}, 8},
        {{100, 64}, 10},
        {{127}, 8},
        {{169, 254}, 16},
        {{172, 16}, 12},
        {{192, 0, 0}, 24},
        {{192, 0, 2}, 24},
        {{192, 88, 99}, 24},
        {{192, 168}, 16},
        {{198, 18}, 15},
        {{198, 51, 100}, 24},
        {{203, 0, 113}, 24},
        {{224}, 3}, /* multicast, and what is reserved */
    };
    static const uint8_t discovery[IPV4_BYTES] = {192, 0, 0, 170}; /* and 171 */
    struct ip ip = {.family_bytes = IPV4_BYTES};
    memcpy(ip.bytes, ipv4, IPV4_BYTES);
    if (memcmp(ipv4, discovery, 3) == 0 && (ipv4[3] & 0xfe) == discovery[3]) {
        return true;
    }
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        struct network network = {.ip = {.family_bytes = IPV4_BYTES},
                                  .prefix_bits = others[i].bits};
        memcpy(network.ip.bytes, others[i].bytes, IPV4_BYTES);
        if (network_contains(&network, &ip)) {
            return false;
        }
    }
    return true;
}

bool synthesis_map(const struct dns64_settings *dns64, struct slice ipv4, uint8_t ret_ipv6[16])
{
    const uint8_t *bytes = (const uint8_t *)ipv4.ptr;
    size_t at = dns64->prefix.prefix_bits / 8;
    if (is_well_known(&dns64->prefix) && !is_global(bytes)) {
        return false;
    }
    memcpy(ret_ipv6, dns64->prefix.ip.bytes, IPV6_BYTES);
    for (size_t i = 0; i < IPV4_BYTES; i++) {
        at += at == ZERO_BYTE;
        ret_ipv6[at++] = bytes[i];
    }
    return true;
}

/* ---- Answers ---- */

/* Returns whether CNAMEs end at a name of ours: then its records answer, as they are. */
static bool leads_to_ours(const struct engine_config *config, struct slice end)
{
    const struct dname name = dname_lower_of(end);
    return engine_config_own_zone(config, &name) != NULL;
}

enum synthesis_worth synthesis_worth_of(const struct engine_config *config,
                                        const struct external_answer *aaaa)
{
    const struct dname *name = &aaaa->question.name;
    struct external_reader reader = external_answer_read(aaaa, slice_of(name->wire, name->len));
    struct external_rr e;
    size_t count = 0, excluded = 0;
    bool is_alias = false;
    if (aaaa->outcome == EXTERNAL_NOT_ASKED || aaaa->outcome == EXTERNAL_TRUNCATED ||
        aaaa->is_nxdomain) {
        return SYNTHESIS_WHOLE;
    }
    while (external_answer_next(&reader, &e)) {
        is_alias = is_alias || e.type == DNS_TYPE_CNAME;
        count += e.type == DNS_TYPE_AAAA;
        excluded += e.type == DNS_TYPE_AAAA && synthesis_excludes(&config->settings.dns64, e.data);
    }
    if (count == 0 && is_alias && leads_to_ours(config, reader.owner)) {
        return SYNTHESIS_WHOLE;
    }
    return count == excluded ? SYNTHESIS_NONE : excluded > 0 ? SYNTHESIS_PART : SYNTHESIS_WHOLE;
}

bool synthesis_maps_any(const struct dns64_settings *dns64, const struct external_answer *a)
{
    const struct dname *name = &a->question.name;
    struct external_reader reader = external_answer_read(a, slice_of(name->wire, name->len));
    struct external_rr e;
    uint8_t unused[IPV6_BYTES];
    while (external_answer_next(&reader, &e)) {
        if (e.type == DNS_TYPE_A && synthesis_map(dns64, e.data, unused)) {
            return true;
        }
    }
    return false;
}

/* ---- Reverse names ---- */

static struct dname ipv4_reverse_name(const uint8_t ipv4[IPV4_BYTES])
{
    char text[sizeof("255.255.255.255.in-addr.arpa.")];
    struct dname name;
    (void)snprintf(text, sizeof(text), "%u.%u.%u.%u.in-addr.arpa.", ipv4[3], ipv4[2], ipv4[1],
                   ipv4[0]);
    (void)!dname_from_text(slice_str(text), &name); /* it is one */
    return name;
}

bool synthesis_reverse(const struct engine_config *config, const struct dname *name,
                       const struct forward_zone *zone, struct dname *ret_name)
{
    const struct network *prefix = &config->settings.dns64.prefix;
    const size_t prefix_name_len = prefix->prefix_bits / 4 * 2u + reverse_zone_ip6_arpa.len;
    struct reversed r;
    struct ip ip;
    uint8_t ipv4[IPV4_BYTES];
    if (!config->settings.dns64.is_on || !reverse_zone_is_reverse(name) ||
        (zone && zone_is_stub(zone) && zone->name.len >= prefix_name_len)) {
        return false;
    }
    reversed_read(name, &r);
    if (!reversed_address(&r, &ip) || !network_contains(prefix, &ip)) {
        return false;
    }
    size_t at = prefix->prefix_bits / 8;
    for (size_t i = 0; i < IPV4_BYTES; i++) {
        at += at == ZERO_BYTE;
        ipv4[i] = ip.bytes[at++];
    }
    *ret_name = ipv4_reverse_name(ipv4);
    return true;
}
