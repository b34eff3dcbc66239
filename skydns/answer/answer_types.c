/* Answers a name's records of each type. */
#include "skydns/answer/answer_internal.h"

#include "skydns/answer/address_pick.h"
#include "skydns/answer/lookup.h"

/* ---- Types that collect records ---- */

/* Returns whether an answer may use some of the records, when there are more than this thread may
 * visit. Some may already exceed any response to this client (answer_cut). With groups it may not,
 * or if only near ones count: these leave out any record. */
static bool may_take_some(struct answer *a, const struct dname *name)
{
    struct follow *f = &a->follow;
    const struct store_node *node = lookup_listed(&f->view, name, f->rule);
    if (!a->in.may_cut || a->in.may_scan || !node || store_node_tally(node).groups > 0 ||
        follow_near(f, name).service) {
        return false;
    }
    f->is_some = true;
    lookup_allow_some(f->lookup, follow_visits(f),
                      a->config->settings.round_robin ? a->in.random : 0);
    return true;
}

/* Checks the result of looking up the question's name. Returns false when the answer is already
 * decided. */
static bool take_found(struct answer *a, enum lookup_result result)
{
    struct follow *f = &a->follow;
    switch (result) {
    case LOOKUP_FOUND:
        break;
    case LOOKUP_ABSENT:
        answer_no_name(a);
        return false;
    case LOOKUP_LIMIT:
        if (!follow_defer_scan(f)) {
            answer_fail(a, DNS_RCODE_SERVFAIL, EDNS_ERROR_OTHER);
        }
        return false;
    }
    if (a->in.may_scan) {
        lookup_allow(f->lookup, FOLLOW_VISITS_MAX);
    }
    return true;
}

/* Returns whether the name has none of the records that the type needs. A name with a wildcard has
 * at most what it selects from. */
static bool has_none(const struct answer *a, const struct dname *name, enum rr_type type)
{
    const struct store_node *node = lookup_listed(&a->follow.view, name, a->follow.rule);
    struct store_tally tally = node ? store_node_tally(node) : (struct store_tally){0};
    if (tally.rrs > 0) {
        return false;
    }
    switch ((unsigned)type) {
    case DNS_TYPE_A:
        return node && tally.v4 == 0 && tally.names == 0;
    case DNS_TYPE_AAAA:
        return node && tally.v6 == 0 && tally.names == 0;
    case DNS_TYPE_SRV:
        return node && tally.v4 == 0 && tally.v6 == 0 && tally.names == 0;
    case DNS_TYPE_MX:
        return node && tally.mails == 0;
    case DNS_TYPE_TXT:
        return node && tally.texts == 0;
    case DNS_TYPE_NS:
        return false; /* those of another name */
    default:
        return node != NULL;
    }
}

/* Finds the records of the question's name, or of a name below it, for this type. Returns false
 * when the answer is already decided. */
static bool find_records(struct answer *a, const struct dname *name, enum rr_type type,
                         struct lookup_span *ret_span)
{
    struct follow *f = &a->follow;
    lookup_allow(f->lookup, follow_visits(f));
    if (has_none(a, name, type)) {
        return false; /* NODATA: answer_in_domain */
    }
    enum lookup_result result = lookup_find(f->lookup, &f->view, name, f->rule, ret_span);
    if (result == LOOKUP_LIMIT && may_take_some(a, name)) {
        result = lookup_find(f->lookup, &f->view, name, f->rule, ret_span);
    }
    return take_found(a, result);
}

static const struct store_record *answer_types_nth(const struct answer *a,
                                                   const struct lookup_span *span, size_t i)
{
    return lookup_record(a->follow.lookup, span, i);
}

/* Returns whether more records can make a difference: none fits once those before do not. */
static bool may_add(struct answer *a)
{
    struct rr_list *answers = &a->plan.answers;
    answers->is_cut = answers->is_cut || answers->least_bytes > a->in.reply_limit;
    return !answers->is_cut && !follow_is_scan_deferred(&a->follow);
}

/* Returns the fewest bytes that the record takes in a message as this type. */
static size_t least_size(const struct store_record *record, enum rr_type type)
{
    enum { OWNER_POINTER = 2 };
    const size_t fixed = OWNER_POINTER + DNS_RR_HEAD;
    switch ((unsigned)type) {
    case DNS_TYPE_TXT:
        return record->lens[RECORD_TEXT] > 0 ? fixed + 1 + store_record_text_bytes(record).len : 0;
    case DNS_TYPE_MX:
        return record->mail && rrsynth_has_target(record) ? fixed + 4 : 0;
    default:
        return rrsynth_has_target(record) ? fixed + 6 + rrsynth_target(record).len : 0;
    }
}

/* Returns the index of the first record, which rotates when an answer over a stream holds fewer
 * records than there are: a client does not repeat such a query. No target is looked up then, since
 * additional records are dropped first. A datagram with TC is repeated over TCP. */
static size_t begin_records(struct answer *a, const struct lookup_span *span, enum rr_type type)
{
    size_t bytes = 0;
    for (size_t i = 0; !a->in.may_cut && i < span->count && bytes <= a->in.reply_limit; i++) {
        bytes += least_size(answer_types_nth(a, span, i), type);
    }
    if (bytes <= a->in.reply_limit) {
        return 0;
    }
    a->plan.additionals.is_cut = true;
    return a->config->settings.round_robin ? address_pick_first(a->in.random, (uint32_t)span->count)
                                           : 0;
}

/* Adds the addresses of an SRV, MX or NS record's target, or the host itself if it is an address.
 */
static void answer_types_add_target(struct answer *a, const struct store_record *record,
                                    struct slice owner)
{
    if (a->follow.is_some) {
        return; /* additional records are dropped first when an answer does not fit */
    }
    if (record->host == STORE_HOST_IP) {
        struct rr rr = rrsynth_address(a->config, record, owner);
        rr_list_add(&a->plan.additionals, &rr);
    } else {
        follow_target(&a->follow, rrsynth_target(record), &a->plan.additionals);
    }
}

/* Adds what the record's `rr` has of the question's type. */
static void add_packed(struct answer *a, const struct store_record *record)
{
    if (record->lens[RECORD_RR] > 0) {
        rrsynth_add_packed(a->config, record, a->owner, (enum rr_type)a->in.question->type,
                           &a->plan.answers);
    }
}

/* Adds the records as SRV, each with its share of the weights. */
static void add_services(struct answer *a, const struct lookup_span *span)
{
    for (size_t i = 0; i < span->count; i++) {
        const struct store_record *record = answer_types_nth(a, span, i);
        if (rrsynth_has_target(record)) {
            weights_add(&a->weights, a->config, record);
        }
    }
    size_t first = begin_records(a, span, RR_SRV);
    for (size_t i = 0; i < span->count && may_add(a); i++) {
        const struct store_record *record = answer_types_nth(a, span, (first + i) % span->count);
        if (rrsynth_has_target(record)) {
            uint16_t weight = weights_share(&a->weights, a->config, record);
            struct rr rr = rrsynth_srv(a->config, record, a->owner, weight);
            rr_list_add(&a->plan.answers, &rr);
            answer_types_add_target(a, record, rr.data);
        }
        add_packed(a, record);
    }
    for (size_t i = 0; i < span->count; i++) {
        weights_forget(&a->weights, a->config, answer_types_nth(a, span, i));
    }
}

static void answer_srv(struct answer *a)
{
    struct lookup_span span;
    if (find_records(a, &a->name, RR_SRV, &span)) {
        lookup_keep_group(a->follow.lookup, &span);
        follow_keep_near(&a->follow, &a->name, &span);
        add_services(a, &span);
    }
}

void answer_ports(struct answer *a)
{
    struct follow *f = &a->follow;
    struct lookup_span span;
    lookup_allow(f->lookup, follow_visits(f));
    if (take_found(a, lookup_find_ports(f->lookup, &f->view, &a->name, &span))) {
        follow_keep_near(f, &a->name, &span);
        add_services(a, &span);
    }
}

/* Adds a record as this type. An MX host's address has the key's full name as its owner, as in
 * SkyDNS. */
static void add_as(struct answer *a, const struct store_record *record, enum rr_type type)
{
    if (type == RR_MX && record->mail && rrsynth_has_target(record)) {
        answer_add(a, rrsynth_mx(a->config, record, a->owner));
        answer_types_add_target(a, record, store_record_name_wire(record));
    } else if (type == RR_TXT && record->lens[RECORD_TEXT] > 0) {
        answer_add(a, rrsynth_txt(a->config, record, a->owner));
    }
    add_packed(a, record);
}

static void answer_each(struct answer *a, const struct lookup_span *span, enum rr_type type)
{
    size_t first = begin_records(a, span, type);
    for (size_t i = 0; i < span->count && may_add(a); i++) {
        add_as(a, answer_types_nth(a, span, (first + i) % span->count), type);
    }
}

/* Answers MX as SkyDNS does: groups do not matter. */
static void answer_mx(struct answer *a)
{
    struct lookup_span span;
    if (find_records(a, &a->name, RR_MX, &span)) {
        answer_each(a, &span, RR_MX);
    }
}

/* Returns whether etcd has keys for name servers. Without them this server names itself, at the
 * address that the query was sent to. */
static bool has_ns_keys(struct answer *a)
{
    struct follow *f = &a->follow;
    lookup_allow(f->lookup, follow_visits(f));
    return lookup_exists(f->lookup, &f->view, &a->zone->ns,
                         (struct lookup_rule){.no_wildcards = true}) != LOOKUP_ABSENT;
}

static void add_own_address(struct answer *a, struct slice owner, enum follow_families families,
                            struct rr_list *out)
{
    const struct ip *ip = &a->in.local;
    enum follow_families family = ip->family_bytes == 4 ? FOLLOW_A : FOLLOW_AAAA;
    if (ip->family_bytes > 0 && (families & family)) {
        struct rr rr = {.owner = owner,
                        .ttl_s = a->config->settings.ttl_s,
                        .type = family == FOLLOW_A ? RR_A : RR_AAAA,
                        .data = slice_of(ip->bytes, ip->family_bytes)};
        rr_list_add(out, &rr);
    }
}

void answer_own_ns(struct answer *a)
{
    struct slice name = rr_name(&a->zone->ns);
    answer_add(
        a, (struct rr){
               .owner = a->owner, .ttl_s = a->config->settings.ttl_s, .type = RR_NS, .data = name});
    add_own_address(a, name, FOLLOW_BOTH, &a->plan.additionals);
}

static bool has_address(const struct rr_list *list)
{
    for (size_t i = 0; i < list->count; i++) {
        if (list->items[i].type == RR_A || list->items[i].type == RR_AAAA) {
            return true;
        }
    }
    return false;
}

/* Decides about an answer without addresses. If an upstream failed for a target, or a target's zone
 * is incomplete, it may have addresses: SERVFAIL. A target that no upstream was
 * asked about leaves its CNAME for the client to follow. */
static void answer_no_address(struct answer *a)
{
    struct follow *f = &a->follow;
    if (f->has_failed) {
        answer_unknown(a);
    } else if (f->is_lacking && !f->is_deferred) {
        answer_not_ready(a);
    } else if (!a->config->is_for_transfers) { /* a zone does not depend on upstreams */
        follow_show_unasked(f, &a->plan.answers);
    }
}

static void answer_address(struct answer *a)
{
    struct follow *f = &a->follow;
    const enum rr_type type = (enum rr_type)a->in.question->type;
    enum follow_families families = type == RR_A ? FOLLOW_A : FOLLOW_AAAA;
    struct lookup_span span;
    if (dname_equal(&a->name, &a->zone->ns) && !has_ns_keys(a)) {
        add_own_address(a, a->owner, families, &a->plan.answers);
        return;
    }
    const struct store_node *node = lookup_node(&f->view, &a->name, f->rule);
    lookup_allow(f->lookup, follow_visits(f));
    if (node && follow_many(f, node, &a->name, a->owner, families, &a->plan.answers)) {
        return;
    }
    if (find_records(a, &a->name, type, &span)) {
        lookup_keep_group(f->lookup, &span);
        follow_keep_near(f, &a->name, &span);
        follow_records(f, &span, a->owner, families, &a->plan.answers);
        if (!has_address(&a->plan.answers)) {
            answer_no_address(a);
        }
    }
}

/* Answers a type that the name has no data of: NODATA, or NXDOMAIN. */
void answer_nothing(struct answer *a)
{
    struct follow *f = &a->follow;
    lookup_allow(f->lookup, follow_visits(f));
    (void)take_found(a, lookup_exists(f->lookup, &f->view, &a->name, f->rule));
}

static bool all_hosts_are_addresses(const struct answer *a, const struct lookup_span *span)
{
    for (size_t i = 0; i < span->count; i++) {
        if (answer_types_nth(a, span, i)->host != STORE_HOST_IP) {
            return false;
        }
    }
    return true;
}

/* Answers NS at the apex: the name servers are the keys below dns/ns. No other name has NS. */
static void answer_ns(struct answer *a)
{
    struct lookup_span span;
    if (!answer_is_apex(a)) {
        answer_nothing(a);
        return;
    }
    if (!has_ns_keys(a)) {
        answer_own_ns(a);
        return;
    }
    if (!find_records(a, &a->zone->ns, RR_NS, &span)) {
        return;
    }
    lookup_keep_group(a->follow.lookup, &span);
    if (!all_hosts_are_addresses(a, &span)) {
        return;
    }
    for (size_t i = 0; i < span.count; i++) {
        const struct store_record *record = answer_types_nth(a, &span, i);
        struct rr rr = rrsynth_ns(a->config, record, a->owner);
        rr_list_add(&a->plan.answers, &rr);
        answer_types_add_target(a, record, rr.data);
    }
}

/* ---- Other types ---- */

void answer_txt(struct answer *a)
{
    struct lookup_span span;
    if (find_records(a, &a->name, RR_TXT, &span)) {
        lookup_keep_group(a->follow.lookup, &span);
        answer_each(a, &span, RR_TXT);
    }
}

static void list_other_type(struct answer_other_types *others, uint16_t type)
{
    static const uint16_t listed[] = {
#define LISTED_TYPE(name, number, shape, answer, text) DNS_TYPE_##name,
        RR_TYPES(LISTED_TYPE)
#undef LISTED_TYPE
    };
    bool is_known = false;
    for (size_t i = 0; i < sizeof(listed) / sizeof(listed[0]); i++) {
        is_known = is_known || listed[i] == type;
    }
    for (size_t i = 0; i < others->count; i++) {
        is_known = is_known || others->types[i] == type;
    }
    if (is_known) {
        return;
    }
    others->is_cut = others->is_cut || others->count == ANSWER_OTHER_TYPES_MAX;
    if (!others->is_cut) {
        others->types[others->count++] = type;
    }
}

void answer_list_others(struct answer_other_types *others, const struct store_record *record)
{
    const struct slice rrs = store_record_string(record, RECORD_RR);
    struct reader r = reader_of(rrs.ptr, rrs.len);
    struct record_rr packed;
    while (record_rrs_next(&r, &packed)) {
        list_other_type(others, packed.type);
    }
}

/* Types that only `rr` has. */
static void answer_other(struct answer *a)
{
    struct lookup_span span;
    if (!store_has_rrs(a->follow.view.store)) {
        answer_nothing(a);
        return;
    }
    if (!find_records(a, &a->name, (enum rr_type)a->in.question->type, &span)) {
        return;
    }
    lookup_keep_group(a->follow.lookup, &span);
    for (size_t i = 0; i < span.count && may_add(a); i++) {
        if (a->in.others) {
            answer_list_others(a->in.others, answer_types_nth(a, &span, i));
        } else {
            add_packed(a, answer_types_nth(a, &span, i));
        }
    }
}

/* Answers CNAME from the key of exactly this name: keys below it have names of their own. */
static void answer_cname(struct answer *a)
{
    const struct store_record *record = lookup_exact(&a->follow.view, &a->name);
    if (!record || record->host != STORE_HOST_NAME) {
        answer_nothing(a);
        return;
    }
    answer_add(a, rrsynth_pointer(a->config, record, a->owner, RR_CNAME));
}

static void answer_soa(struct answer *a)
{
    if (!answer_is_apex(a)) {
        answer_nothing(a);
        return;
    }
    answer_own_soa(a);
}

void answer_records(struct answer *a)
{
    switch (a->in.question->type) {
#define ANSWER_CASE(name, number, shape, answer, text) \
    case number:                                       \
        answer_##answer(a);                            \
        break;
        RR_TYPES(ANSWER_CASE)
#undef ANSWER_CASE
    default:
        answer_other(a);
        break;
    }
}

/* Returns whether the question asks for the DS of a stub zone within the domain. The domain denies
 * it (RFC 4035 3.1.4.1), whatever keys the name has. */
static bool is_stub_delegation(const struct answer *a)
{
    return a->in.question->type == DNS_TYPE_DS &&
           engine_config_stub(a->config, &a->asked, DNS_TYPE_SOA, a->zone) && !answer_is_hidden(a);
}

void answer_in_domain(struct answer *a)
{
    if (is_stub_delegation(a)) {
        answer_no_data(a);
        return;
    }
    if (answer_alias(a)) {
        return;
    }
    if (answer_is_hidden(a)) {
        answer_denied(a);
        return;
    }
    size_t aliases = a->plan.answers.count;
    bool is_special = (a->config->settings.pods != ENGINE_PODS_VERIFIED && answer_pod(a)) ||
                      (a->config->settings.schema == ENGINE_SCHEMA_KUBERNETES && answer_kube(a));
    if (!is_special) {
        answer_records(a);
    }
    bool is_known = !a->plan.answers.is_cut && !a->follow.is_open;
    if (a->plan.rcode == DNS_RCODE_NOERROR && a->plan.answers.count == aliases && is_known &&
        a->plan.authority_count == 0) {
        answer_no_data(a);
    }
}
