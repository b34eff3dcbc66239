/* Reverse names: PTR records that etcd holds, for any address, then those of hosts files; and the
 * networks of -reverse-zones, whose names are forwarded to stub zones within them only. A network's
 * zones begin at its prefix, rounded up to whole octets (or nibbles): 10.96.0.0/12
 * is 96.10.in-addr.arpa. to 111.10.in-addr.arpa. */
#include <stdio.h>
#include <string.h>

#include "skydns/answer/answer_internal.h"
#include "skydns/answer/lookup.h"
#include "skydns/answer/reverse_zone.h"
#include "skydns/foreign/zone_table.h"

const struct dname answer_in_addr_arpa = {.len = 14, .wire = "\7in-addr\4arpa"};
const struct dname answer_ip6_arpa = {.len = 10, .wire = "\3ip6\4arpa"};

/* How names spell an address. */
struct form {
    uint8_t family_bytes;
    uint8_t label_bits;
    unsigned suffix_labels;
};
static const struct form form4 = {4, 8, 2}, form6 = {16, 4, 2};

/* Most names do not end in `arpa.`: their last bytes rule them out. */
static const struct form *form_of(const struct dname *name)
{
    static const char arpa[] = "\4arpa";
    if (name->len < sizeof(arpa) ||
        memcmp(name->wire + name->len - sizeof(arpa), arpa, sizeof(arpa)) != 0) {
        return NULL;
    }
    return dname_is_within(name, &answer_in_addr_arpa) ? &form4
           : dname_is_within(name, &answer_ip6_arpa)   ? &form6
                                                       : NULL;
}

bool answer_name_is_reverse(const struct dname *name)
{
    return form_of(name) != NULL;
}

/* 0 to 255, or one hexadecimal digit. */
static bool parse_label(const struct form *form, struct slice label, unsigned *ret)
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

/* As much of an address as the name gives. */
struct reversed {
    const struct form *form;
    struct dname_labels labels;
    unsigned said; /* labels read into `bytes` */
    uint8_t bytes[16];
};

static void read_name(const struct dname *name, const struct form *form, struct reversed *r)
{
    *r = (struct reversed){.form = form};
    dname_labels(name, &r->labels);
    unsigned left = r->labels.count - form->suffix_labels;
    unsigned most = (unsigned)form->family_bytes * 8 / form->label_bits;
    unsigned value;
    while (r->said < left && r->said < most &&
           parse_label(form, dname_label(name, r->labels.offsets[left - r->said - 1]), &value)) {
        unsigned bit = r->said++ * form->label_bits;
        r->bytes[bit / 8] |= (uint8_t)(value << (8 - form->label_bits - bit % 8));
    }
}

/* The address that the name spells, whole. */
static bool read_address(const struct reversed *r, struct ip *ret)
{
    unsigned all = (unsigned)r->form->family_bytes * 8 / r->form->label_bits;
    *ret = (struct ip){.family_bytes = r->form->family_bytes};
    memcpy(ret->bytes, r->bytes, ret->family_bytes);
    return r->said == all && r->labels.count == all + r->form->suffix_labels;
}

/* How many labels of the address the zone's name has, if the name is in a zone of ours; else -1.
 * *ret_index: which of the configuration's it is. */
static int find_zone(const struct engine_config *config, const struct reversed *r,
                     size_t *ret_index)
{
    struct ip ip = {.family_bytes = r->form->family_bytes};
    memcpy(ip.bytes, r->bytes, ip.family_bytes);
    for (size_t i = 0; i < config->reverse_zone_count; i++) {
        const struct network *network = &config->reverse_zones[i];
        unsigned apex = (network->prefix_bits + r->form->label_bits - 1u) / r->form->label_bits;
        if (r->said >= apex && network_contains(network, &ip)) {
            *ret_index = i;
            return (int)apex;
        }
    }
    return -1;
}

static bool add_pointer(struct answer *a)
{
    const struct store_record *record =
        a->in.question->type == DNS_TYPE_PTR ? lookup_exact(&a->follow.view, &a->name) : NULL;
    if (!record || record->host != STORE_HOST_NAME) {
        return false;
    }
    answer_add(a, rrsynth_pointer(a->config, record, a->owner, RR_PTR));
    return true;
}

/* Reverse names come with the names of any domain. */
static bool lacks_names(const struct engine_config *config)
{
    for (size_t i = 0; i < config->zone_count; i++) {
        if (config->zones[i].is_incomplete) {
            return true;
        }
    }
    return false;
}

/* Where the name of a zone with `apex` labels of the address begins in the name. */
static unsigned zone_at(const struct reversed *r, unsigned apex)
{
    return r->labels.offsets[r->labels.count - r->form->suffix_labels - apex];
}

/* With less than an address, and nothing else: what is below it is no one client's. */
static bool is_above_addresses(const struct reversed *r)
{
    unsigned all = (unsigned)r->form->family_bytes * 8 / r->form->label_bits;
    return r->said < all && r->labels.count == r->said + r->form->suffix_labels;
}

/* Whether the name exists in a zone of ours; false also if that is not known yet. With visibility,
 * all names above addresses do, for whomever: which have records below depends on other
 * namespaces. */
static bool exists_in_zone(struct answer *a, const struct reversed *r)
{
    struct follow *f = &a->follow;
    if (a->config->visibility && is_above_addresses(r)) {
        return true;
    }
    lookup_allow(f->lookup, follow_visits(f));
    switch (
        lookup_exists(f->lookup, &f->view, &a->name, (struct lookup_rule){.no_wildcards = true})) {
    case LOOKUP_FOUND:
        return true;
    case LOOKUP_ABSENT:
        break;
    case LOOKUP_LIMIT:
        (void)follow_defer_walk(f); /* else it is too much below an address: as absent */
        break;
    }
    return engine_config_is_above_stub(a->config, &a->name);
}

bool answer_reverse_zone(const struct engine_config *config, const struct dname *name,
                         unsigned *ret_at)
{
    struct reversed r;
    size_t index;
    read_name(name, form_of(name), &r);
    int apex = find_zone(config, &r, &index);
    *ret_at = apex < 0 ? 0 : zone_at(&r, (unsigned)apex);
    return apex >= 0;
}

bool reverse_zone_is_apex(const struct engine_config *config, const struct dname *name)
{
    unsigned at;
    return form_of(name) && answer_reverse_zone(config, name, &at) && at == 0;
}

bool reverse_zone_apex(const struct network *network, struct dname *ret_apex)
{
    bool is_v4 = network->ip.family_bytes == 4;
    const struct form *form = is_v4 ? &form4 : &form6;
    unsigned labels = network->prefix_bits / form->label_bits;
    if (network->prefix_bits % form->label_bits != 0) {
        return false;
    }
    *ret_apex = is_v4 ? answer_in_addr_arpa : answer_ip6_arpa;
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

static bool add_from_hosts(struct answer *a, const struct reversed *r)
{
    struct ip ip;
    return read_address(r, &ip) && answer_hosts(a, &ip);
}

/* From a zone of ours whose name has `apex` labels of the address. */
static void answer_zone(struct answer *a, const struct reversed *r, unsigned apex)
{
    unsigned first = r->labels.count - r->form->suffix_labels - apex;
    a->zone = &a->config->zones[0]; /* these zones have its hostmaster and name server */
    a->is_incomplete = lacks_names(a->config);
    a->soa_owner = slice_of(a->name.wire + zone_at(r, apex), a->name.len - zone_at(r, apex));
    if (!a->follow.view.store) {
        answer_not_ready(a);
    } else if (add_pointer(a)) {
        return;
    } else if (first == 0 && a->in.question->type == DNS_TYPE_SOA) {
        answer_add(a, answer_soa_rr(a, a->owner, a->config->ttl_s));
    } else if (first == 0 && a->in.question->type == DNS_TYPE_NS) {
        answer_own_ns(a);
    } else if (add_from_hosts(a, r)) {
        return;
    } else if (first == 0 || exists_in_zone(a, r)) {
        answer_no_data(a);
    } else {
        answer_denied(a);
    }
}

/* The longest zone counts, ours or a stub zone. */
static bool is_ours(const struct answer *a, const struct reversed *r, int apex)
{
    return apex >= 0 && (!a->stub || a->stub->name.len <= a->name.len - zone_at(r, (unsigned)apex));
}

/* Outside the zones of ours, a name whose record is hidden is nobody else's to answer, either. The
 * SOA is owned by the name itself, so that nothing is denied beside it. */
static bool deny_hidden(struct answer *a)
{
    if (a->zone || !a->follow.view.store || !view_hides_record(&a->follow.view, &a->name)) {
        return false;
    }
    a->zone = &a->config->zones[0];
    a->soa_owner = rr_name(&a->name);
    answer_denied(a);
    return true;
}

bool answer_reverse(struct answer *a)
{
    struct reversed r;
    size_t index;
    read_name(&a->name, form_of(&a->name), &r);
    int apex = find_zone(a->config, &r, &index);
    if (is_ours(a, &r, apex)) {
        a->serial = a->config->reverse_serials[index];
        answer_zone(a, &r, (unsigned)apex);
        return true;
    }
    if (deny_hidden(a)) {
        return true;
    }
    if (a->in.question->type == DNS_TYPE_PTR) {
        if (!a->follow.view.store) {
            answer_not_ready(a);
            return true;
        }
        if (add_pointer(a)) {
            return true;
        }
    }
    return !engine_config_zone(a->config, &a->asked) && add_from_hosts(a, &r);
}
