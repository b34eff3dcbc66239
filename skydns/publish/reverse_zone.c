#include "skydns/publish/reverse_zone.h"

#include <stdio.h>
#include <string.h>

#include "common/base/addr.h"
#include "skydns/publish/engine_config.h"

const struct dname reverse_zone_in_addr_arpa = {.len = 14, .wire = "\7in-addr\4arpa"};
const struct dname reverse_zone_ip6_arpa = {.len = 10, .wire = "\3ip6\4arpa"};

static const struct reversed_form form4 = {4, 8, 2}, form6 = {16, 4, 2};

/* Returns the form of a reverse name, or NULL. Most names do not end in `arpa.`: their last bytes
 * rule them out. */
static const struct reversed_form *reversed_form(const struct dname *name)
{
    static const char arpa[] = "\4arpa";
    if (name->len < sizeof(arpa) ||
        memcmp(name->wire + name->len - sizeof(arpa), arpa, sizeof(arpa)) != 0) {
        return NULL;
    }
    return dname_is_within(name, &reverse_zone_in_addr_arpa) ? &form4
           : dname_is_within(name, &reverse_zone_ip6_arpa)   ? &form6
                                                             : NULL;
}

bool reverse_zone_is_reverse(const struct dname *name)
{
    return reversed_form(name) != NULL;
}

/* Parses 0 to 255, or one hexadecimal digit. */
static bool reverse_zone_parse_label(const struct reversed_form *form, struct slice label,
                                     unsigned *ret)
{
    unsigned value = 0, base = form->label_bits == 4 ? 16 : 10;
    size_t digits_max = form->label_bits == 4 ? 1 : 3;
    if (label.len == 0 || label.len > digits_max || (label.len > 1 && label.ptr[0] == '0')) {
        return false;
    }
    for (size_t i = 0; i < label.len; i++) {
        char c = label.ptr[i];
        unsigned digit = c >= '0' && c <= '9'   ? (unsigned)(c - '0')
                         : c >= 'a' && c <= 'f' ? (unsigned)(c - 'a') + 10
                                                : base;
        if (digit >= base) {
            return false;
        }
        value = value * base + digit;
    }
    *ret = value;
    return value >> form->label_bits == 0;
}

void reversed_read(const struct dname *name, struct reversed *r)
{
    const struct reversed_form *form = reversed_form(name);
    *r = (struct reversed){.form = form};
    dname_labels(name, &r->labels);
    unsigned left = r->labels.count - form->suffix_labels;
    unsigned most = (unsigned)form->family_bytes * 8 / form->label_bits;
    unsigned value;
    while (r->said < left && r->said < most &&
           reverse_zone_parse_label(form, dname_label(name, r->labels.offsets[left - r->said - 1]),
                                    &value)) {
        unsigned bit = r->said++ * form->label_bits;
        r->bytes[bit / 8] |= (uint8_t)(value << (8 - form->label_bits - bit % 8));
    }
}

bool reversed_address(const struct reversed *r, struct ip *ret)
{
    unsigned all = (unsigned)r->form->family_bytes * 8 / r->form->label_bits;
    *ret = (struct ip){.family_bytes = r->form->family_bytes};
    memcpy(ret->bytes, r->bytes, ret->family_bytes);
    return r->said == all && r->labels.count == all + r->form->suffix_labels;
}

int reversed_find_zone(const struct engine_config *config, const struct reversed *r,
                       size_t *ret_index)
{
    struct ip ip = {.family_bytes = r->form->family_bytes};
    memcpy(ip.bytes, r->bytes, ip.family_bytes);
    for (size_t i = 0; i < config->settings.reverse_zone_count; i++) {
        const struct network *network = &config->settings.reverse_zones[i];
        unsigned apex = (network->prefix_bits + r->form->label_bits - 1u) / r->form->label_bits;
        if (r->said >= apex && network_contains(network, &ip)) {
            *ret_index = i;
            return (int)apex;
        }
    }
    return -1;
}

bool reverse_zone_find(const struct engine_config *config, const struct dname *name,
                       unsigned *ret_at)
{
    struct reversed r;
    size_t index;
    reversed_read(name, &r);
    int apex = reversed_find_zone(config, &r, &index);
    *ret_at = apex < 0 ? 0 : reversed_zone_at(&r, (unsigned)apex);
    return apex >= 0;
}

bool reverse_zone_is_apex(const struct engine_config *config, const struct dname *name)
{
    unsigned at;
    return reversed_form(name) && reverse_zone_find(config, name, &at) && at == 0;
}

bool reverse_zone_apex(const struct network *network, struct dname *ret_apex)
{
    bool is_v4 = network->ip.family_bytes == 4;
    const struct reversed_form *form = is_v4 ? &form4 : &form6;
    unsigned labels = network->prefix_bits / form->label_bits;
    if (network->prefix_bits % form->label_bits != 0) {
        return false;
    }
    *ret_apex = is_v4 ? reverse_zone_in_addr_arpa : reverse_zone_ip6_arpa;
    for (unsigned i = 0; i < labels; i++) {
        char text[4];
        uint8_t byte = network->ip.bytes[i * form->label_bits / 8];
        unsigned digit = i % 2 == 0 ? byte >> 4 : byte & 0xf;
        (void)snprintf(text, sizeof(text), is_v4 ? "%u" : "%x", is_v4 ? byte : digit); /* fits */
        if (!dname_prepend(ret_apex, slice_str(text))) {
            return false;
        }
    }
    return true;
}
