/* Answers reverse names: PTR records from etcd for any address, then from hosts files. Names in the
 * networks of -reverse-zones are forwarded only to stub zones within them.
 *
 * A record that is hidden from the client counts as absent: the address is answered like one
 * without a record, so that a client cannot tell the two apart. A network's zones begin at its
 * prefix, rounded up to whole octets (or nibbles): 10.96.0.0/12 is 96.10.in-addr.arpa. to
 * 111.10.in-addr.arpa. */
#include "skydns/answer/answer_internal.h"

#include "skydns/answer/lookup.h"
#include "skydns/external/zone_table.h"
#include "skydns/publish/reverse_zone.h"

static bool answer_reverse_has_record(const struct answer *a, struct view_node *ret_at)
{
    const struct view *view = &a->follow.view;
    return view_has_record(view, lookup_find_literal(view, &a->name, ret_at) ? ret_at : NULL);
}

static bool has_rrs(const struct answer *a)
{
    return a->follow.view.store && store_has_rrs(a->follow.view.store);
}

/* Adds the PTR record, and records of the record's `rr`. */
static bool answer_reverse_add_records(struct answer *a)
{
    struct view_node at;
    const uint16_t type = a->in.question->type;
    if ((type != DNS_TYPE_PTR && !has_rrs(a)) || !answer_reverse_has_record(a, &at)) {
        return false;
    }
    const struct store_record *record = view_record(&a->follow.view, &at);
    if (!record) {
        return false;
    }
    if (type == DNS_TYPE_PTR && record->host == STORE_HOST_NAME) {
        answer_add(a, rrsynth_pointer(a->config, record, a->owner, RR_PTR));
    }
    if (a->in.others) {
        answer_list_others(a->in.others, record);
    }
    rrsynth_add_packed(a->config, record, a->owner, (enum rr_type)type, &a->plan.answers);
    return a->plan.answers.count > 0;
}

/* Returns whether the name spells less than an address, and nothing else. The names below it belong
 * to no single client. */
static bool is_above_addresses(const struct reversed *r)
{
    unsigned all = (unsigned)r->form->family_bytes * 8 / r->form->label_bits;
    return r->said < all && r->labels.count == r->said + r->form->suffix_labels;
}

/* Returns whether the name exists in a zone of ours; false also while that is not known. With
 * visibility, all names above addresses exist for every client: their records depend on other
 * namespaces. */
static bool exists_in_zone(struct answer *a, const struct reversed *r)
{
    struct follow *f = &a->follow;
    struct view_node at;
    if (a->config->visibility && is_above_addresses(r)) {
        return true;
    }
    lookup_allow(f->lookup, follow_visits(f));
    switch (
        lookup_exists(f->lookup, &f->view, &a->name, (struct lookup_rule){.no_wildcards = true})) {
    case LOOKUP_FOUND:
        return true;
    case LOOKUP_ABSENT:
        (void)answer_reverse_has_record(a, &at); /* takes as long as for a hidden record */
        break;
    case LOOKUP_LIMIT:
        (void)follow_defer_scan(f); /* else too much is below an address: absent */
        break;
    }
    return engine_config_is_above_stub(a->config, &a->name);
}

static bool add_from_hosts(struct answer *a, const struct reversed *r)
{
    struct ip ip;
    return reversed_address(r, &ip) && answer_hosts_address(a, &ip);
}

/* Answers from a zone of ours whose name has `apex` labels of the address. */
static void answer_zone(struct answer *a, const struct reversed *r, unsigned apex)
{
    unsigned first = r->labels.count - r->form->suffix_labels - apex;
    a->zone = &a->config->zones[0]; /* these zones have its hostmaster and name server */
    a->is_incomplete = engine_config_lacks_names(a->config);
    a->soa_owner =
        slice_of(a->name.wire + reversed_zone_at(r, apex), a->name.len - reversed_zone_at(r, apex));
    if (!a->follow.view.store) {
        answer_not_ready(a);
    } else if (answer_reverse_add_records(a)) {
        return;
    } else if (first == 0 && a->in.question->type == DNS_TYPE_SOA) {
        answer_own_soa(a);
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

/* Returns whether the name is ours: the longest zone counts, be it ours or a stub zone. */
static bool answer_reverse_is_ours(const struct answer *a, const struct reversed *r, int apex)
{
    return apex >= 0 &&
           (!a->stub || a->stub->name.len <= a->name.len - reversed_zone_at(r, (unsigned)apex));
}

bool answer_reverse(struct answer *a)
{
    struct reversed r;
    size_t index;
    reversed_read(&a->name, &r);
    int apex = reversed_find_zone(a->config, &r, &index);
    if (answer_reverse_is_ours(a, &r, apex)) {
        a->serial = a->config->reverse_serials[index];
        answer_zone(a, &r, (unsigned)apex);
        return true;
    }
    if (a->in.question->type == DNS_TYPE_PTR || has_rrs(a)) {
        if (!a->follow.view.store) {
            answer_not_ready(a);
            return true;
        }
        if (answer_reverse_add_records(a)) {
            return true;
        }
    }
    return !engine_config_zone(a->config, &a->asked) && add_from_hosts(a, &r);
}
