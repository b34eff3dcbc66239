#include "skydns/answer.h"

#include <stdlib.h>
#include <string.h>

#include "common/version.h"
#include "common/xalloc.h"
#include "skydns/follow.h"
#include "skydns/lookup.h"
#include "skydns/rrsynth.h"

/* The SOA's serial is the hour, as SkyDNS had it. */
enum { SOA_SERIAL_STEP_S = 3600 };

/* Where PTR questions go. */
static const struct dname in_addr_arpa = {.len = 14, .wire = "\7in-addr\4arpa"};
static const struct dname ip6_arpa = {.len = 10, .wire = "\3ip6\4arpa"};

struct answer {
    const struct engine_config *config;
    struct dname ns_domain; /* ns.dns.<domain>: above the name servers' keys, and the SOA's MNAME */
    struct dname local;     /* local.dns.<domain> */
    struct weights weights;

    /* Of the answer being made. */
    struct answer_input in;
    struct slice owner; /* the question's name as typed */
    struct dname name;  /* in lower case; or what it stands for */
    struct follow follow;
    struct answer_plan plan;
};

/* A domain that leaves no room for the two labels stands for itself. */
static struct dname below_dns(const struct dname *domain, const char *label)
{
    struct dname name = *domain;
    bool fits = dname_prepend(&name, slice_str("dns")) && dname_prepend(&name, slice_str(label));
    return fits ? name : *domain;
}

struct answer *answer_new(const struct engine_config *config)
{
    struct answer *a = xcalloc(1, sizeof(*a));
    a->config = config;
    a->ns_domain = below_dns(&config->domain, "ns");
    a->local = below_dns(&config->domain, "local");
    weights_init(&a->weights);
    follow_init(&a->follow, config);
    rr_list_init(&a->plan.answers);
    rr_list_init(&a->plan.additionals);
    return a;
}

void answer_free(struct answer *answer)
{
    if (!answer) {
        return;
    }
    weights_fini(&answer->weights);
    follow_fini(&answer->follow);
    rr_list_fini(&answer->plan.answers);
    rr_list_fini(&answer->plan.additionals);
    free(answer);
}

const struct answer_plan *answer_get_plan(const struct answer *answer)
{
    return &answer->plan;
}

/* ---- Ends ---- */

static void fail(struct answer *a, enum dns_rcode rcode)
{
    a->plan.rcode = rcode;
}

static void add_answer(struct answer *a, struct rr rr)
{
    rr_list_add(&a->plan.answers, &rr);
}

static struct rr soa_rr(struct answer *a, struct slice owner, uint32_t ttl_s)
{
    a->plan.soa = (struct answer_soa){
        .mname = rr_name(&a->ns_domain),
        .rname = rr_name(&a->config->hostmaster),
        .serial = (uint32_t)(a->in.now_s - a->in.now_s % SOA_SERIAL_STEP_S),
        .minimum_s = a->config->min_ttl_s,
    };
    return (struct rr){.owner = owner, .ttl_s = ttl_s, .type = DNS_TYPE_SOA};
}

/* NOERROR without data, or NXDOMAIN: RFC 2308. */
static void deny(struct answer *a, enum dns_rcode rcode)
{
    a->plan.rcode = rcode;
    a->plan.has_authority = true;
    a->plan.authority = soa_rr(a, rr_name(&a->config->domain), a->config->min_ttl_s);
}

static void deny_data(struct answer *a)
{
    deny(a, DNS_RCODE_NOERROR);
}

static bool is_apex(const struct answer *a)
{
    return dname_equal(&a->name, &a->config->domain);
}

/* The apex and the name server's name, with what lies between, exist whatever the store holds. */
static void deny_name(struct answer *a)
{
    bool exists = dname_is_within(&a->ns_domain, &a->name);
    deny(a, exists ? DNS_RCODE_NOERROR : DNS_RCODE_NXDOMAIN);
}

static void forward(struct answer *a)
{
    a->plan.is_authoritative = false;
    if (a->config->no_rec) {
        a->plan.is_recursive = false;
        fail(a, DNS_RCODE_SERVFAIL);
    } else if (!a->config->has_nameservers || dname_label_count(&a->name) < a->config->ndots) {
        fail(a, DNS_RCODE_SERVFAIL);
    } else {
        a->follow.is_deferred = true;
        a->follow.deferral->kind = ENGINE_DEFER_FORWARD;
    }
}

/* ---- Types that collect records ---- */

/* The records of the question's name, or of one below it; false: the answer is already decided. */
static bool find_records(struct answer *a, const struct dname *name, struct lookup_span *ret_span)
{
    struct follow *f = &a->follow;
    lookup_allow(f->lookup, f->may_walk ? LOOKUP_RECORDS_MAX : ENGINE_WALK_MAX);
    switch (lookup_find(f->lookup, f->store, name, f->domain_labels, ret_span)) {
    case LOOKUP_FOUND:
        break;
    case LOOKUP_ABSENT:
        deny_name(a);
        return false;
    case LOOKUP_LIMIT:
        if (!follow_defer_walk(f)) {
            fail(a, DNS_RCODE_SERVFAIL);
        }
        return false;
    }
    if (f->may_walk) {
        lookup_allow(f->lookup, FOLLOW_VISITS_MAX);
    }
    return true;
}

static const struct store_record *nth(const struct answer *a, const struct lookup_span *span,
                                      size_t i)
{
    return lookup_record(a->follow.lookup, span, i);
}

/* The addresses of what an SRV, MX or NS record points to; those of an IP host are its own. */
static void add_target(struct answer *a, const struct store_record *record, struct slice owner)
{
    if (record->host == STORE_HOST_IP) {
        struct rr rr = rrsynth_address(a->config, record, owner);
        rr_list_add(&a->plan.additionals, &rr);
    } else {
        follow_target(&a->follow, rrsynth_target(record), &a->plan.additionals);
    }
}

static void answer_srv(struct answer *a)
{
    struct lookup_span span;
    if (!find_records(a, &a->name, &span)) {
        return;
    }
    lookup_keep_group(a->follow.lookup, &span);
    for (size_t i = 0; i < span.count; i++) {
        const struct store_record *record = nth(a, &span, i);
        if (rrsynth_has_target(record)) {
            weights_add(&a->weights, a->config, record);
        }
    }
    for (size_t i = 0; i < span.count && !follow_is_walk_deferred(&a->follow); i++) {
        const struct store_record *record = nth(a, &span, i);
        if (rrsynth_has_target(record)) {
            uint16_t weight = weights_share(&a->weights, a->config, record);
            struct rr rr = rrsynth_srv(a->config, record, a->owner, weight);
            rr_list_add(&a->plan.answers, &rr);
            add_target(a, record, rr.data);
        }
    }
    for (size_t i = 0; i < span.count; i++) {
        weights_forget(&a->weights, a->config, nth(a, &span, i));
    }
}

/* Groups do not matter here, and the address of a host keeps the key's whole name as its owner, as
 * it was with SkyDNS. */
static void answer_mx(struct answer *a)
{
    struct lookup_span span;
    if (!find_records(a, &a->name, &span)) {
        return;
    }
    for (size_t i = 0; i < span.count && !follow_is_walk_deferred(&a->follow); i++) {
        const struct store_record *record = nth(a, &span, i);
        if (record->mail && rrsynth_has_target(record)) {
            struct rr rr = rrsynth_mx(a->config, record, a->owner);
            rr_list_add(&a->plan.answers, &rr);
            add_target(a, record, store_record_name_wire(record));
        }
    }
}

/* Without keys for name servers this server says it is the one, at the address it was reached. */
static bool has_ns_keys(const struct answer *a)
{
    return store_find(a->follow.store, &a->ns_domain, NULL) != NULL;
}

static void add_own_address(struct answer *a, struct slice owner, enum follow_families families,
                            struct rr_list *out)
{
    const struct ip *ip = &a->in.local;
    enum follow_families family = ip->family_bytes == 4 ? FOLLOW_A : FOLLOW_AAAA;
    if (ip->family_bytes > 0 && (families & family)) {
        struct rr rr = {.owner = owner,
                        .ttl_s = a->config->ttl_s,
                        .type = family == FOLLOW_A ? DNS_TYPE_A : DNS_TYPE_AAAA,
                        .data = slice_of(ip->bytes, ip->family_bytes)};
        rr_list_add(out, &rr);
    }
}

static void answer_own_ns(struct answer *a)
{
    struct slice name = rr_name(&a->ns_domain);
    add_answer(
        a, (struct rr){
               .owner = a->owner, .ttl_s = a->config->ttl_s, .type = DNS_TYPE_NS, .data = name});
    add_own_address(a, name, FOLLOW_BOTH, &a->plan.additionals);
}

static void answer_address(struct answer *a, enum follow_families families)
{
    struct lookup_span span;
    if (dname_equal(&a->name, &a->ns_domain) && !has_ns_keys(a)) {
        add_own_address(a, a->owner, families, &a->plan.answers);
    } else if (find_records(a, &a->name, &span)) {
        lookup_keep_group(a->follow.lookup, &span);
        follow_records(&a->follow, &span, a->owner, families, &a->plan.answers);
    }
}

/* A type of which there is no data. */
static void answer_nothing(struct answer *a)
{
    if (!lookup_exists(a->follow.store, &a->name, a->follow.domain_labels)) {
        deny_name(a);
    }
}

static bool all_hosts_are_addresses(const struct answer *a, const struct lookup_span *span)
{
    for (size_t i = 0; i < span->count; i++) {
        if (nth(a, span, i)->host != STORE_HOST_IP) {
            return false;
        }
    }
    return true;
}

/* Name servers are the keys below dns/ns; elsewhere than at the apex there are none. */
static void answer_ns(struct answer *a)
{
    struct lookup_span span;
    if (!is_apex(a)) {
        answer_nothing(a);
        return;
    }
    if (!has_ns_keys(a)) {
        answer_own_ns(a);
        return;
    }
    if (!find_records(a, &a->ns_domain, &span)) {
        return;
    }
    lookup_keep_group(a->follow.lookup, &span);
    if (!all_hosts_are_addresses(a, &span)) {
        return;
    }
    for (size_t i = 0; i < span.count; i++) {
        const struct store_record *record = nth(a, &span, i);
        struct rr rr = rrsynth_ns(a->config, record, a->owner);
        rr_list_add(&a->plan.answers, &rr);
        add_target(a, record, rr.data);
    }
}

/* ---- Other types ---- */

static void answer_txt(struct answer *a)
{
    struct lookup_span span;
    if (!find_records(a, &a->name, &span)) {
        return;
    }
    lookup_keep_group(a->follow.lookup, &span);
    for (size_t i = 0; i < span.count; i++) {
        const struct store_record *record = nth(a, &span, i);
        if (record->text_len > 0) {
            add_answer(a, rrsynth_txt(a->config, record, a->owner));
        }
    }
}

/* Only the key of exactly this name: what is below it has names of its own. */
static void answer_cname(struct answer *a)
{
    const struct store_record *record = lookup_exact(a->follow.store, &a->name);
    if (!record || record->host != STORE_HOST_NAME) {
        answer_nothing(a);
        return;
    }
    add_answer(a, rrsynth_pointer(a->config, record, a->owner, DNS_TYPE_CNAME));
}

static void answer_soa(struct answer *a)
{
    if (!is_apex(a)) {
        answer_nothing(a);
        return;
    }
    add_answer(a, soa_rr(a, a->owner, a->config->ttl_s));
}

static void answer_in_domain(struct answer *a)
{
    switch (a->in.question->type) {
    case DNS_TYPE_A:
        answer_address(a, FOLLOW_A);
        break;
    case DNS_TYPE_AAAA:
        answer_address(a, FOLLOW_AAAA);
        break;
    case DNS_TYPE_SRV:
        answer_srv(a);
        break;
    case DNS_TYPE_MX:
        answer_mx(a);
        break;
    case DNS_TYPE_TXT:
        answer_txt(a);
        break;
    case DNS_TYPE_NS:
        answer_ns(a);
        break;
    case DNS_TYPE_CNAME:
        answer_cname(a);
        break;
    case DNS_TYPE_SOA:
        answer_soa(a);
        break;
    default:
        answer_nothing(a);
        break;
    }
    if (a->plan.rcode == DNS_RCODE_NOERROR && a->plan.answers.count == 0 &&
        !a->plan.has_authority) {
        deny_data(a);
    }
}

static bool is_reverse(const struct answer *a)
{
    return a->in.question->type == DNS_TYPE_PTR &&
           (dname_is_within(&a->name, &in_addr_arpa) || dname_is_within(&a->name, &ip6_arpa));
}

/* A reverse name that a key says; others belong to somebody else. */
static bool answer_reverse(struct answer *a)
{
    const struct store_record *record = lookup_exact(a->follow.store, &a->name);
    if (!record || record->host != STORE_HOST_NAME) {
        return false;
    }
    add_answer(a, rrsynth_pointer(a->config, record, a->owner, DNS_TYPE_PTR));
    return true;
}

/* Class CHAOS: who serves here. The authors are those of SkyDNS, whose answer this is. */
static void answer_chaos(struct answer *a)
{
    static const char *const authors[] = {"Erik St. Martin", "Brian Ketelsen", "Miek Gieben",
                                          "Michael Crosby", NULL};
    static const char *const host[] = {"localhost", NULL};
    const char *const version[] = {version_string, NULL};
    const struct {
        const char *name;
        const char *const *texts;
    } known[] = {
        {"version.bind.", version}, {"version.server.", version}, {"id.server.", host},
        {"hostname.bind.", host},   {"authors.bind.", authors},
    };
    char name[DNAME_TEXT_MAX];
    dname_to_text(&a->name, name);
    const char *const *texts = is_apex(a) ? authors : NULL;
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]) && !texts; i++) {
        texts = strcmp(known[i].name, name) == 0 ? known[i].texts : NULL;
    }
    if (!texts || a->in.question->type != DNS_TYPE_TXT) {
        fail(a, DNS_RCODE_SERVFAIL);
        return;
    }
    a->plan.rr_class = DNS_CLASS_CH;
    for (; *texts; texts++) {
        add_answer(a,
                   (struct rr){.owner = a->owner, .type = DNS_TYPE_TXT, .data = slice_str(*texts)});
    }
}

/* ---- The whole ---- */

static void start(struct answer *a, const struct answer_input *input)
{
    a->in = *input;
    a->owner = rr_name(&input->question->name);
    a->name = input->question->name;
    dname_lower(&a->name);
    if (a->config->local.len > 0 && dname_equal(&a->name, &a->local)) {
        a->name = a->config->local;
    }
    a->plan.rcode = DNS_RCODE_NOERROR;
    a->plan.is_authoritative = true;
    a->plan.is_recursive = true;
    a->plan.rr_class = DNS_CLASS_IN;
    a->plan.has_authority = false;
    rr_list_clear(&a->plan.answers);
    rr_list_clear(&a->plan.additionals);
}

/* In SkyDNS's order. Before the first sync nothing of ours can be said: an NXDOMAIN would stay in
 * the clients' caches. A reverse name may be ours, too. */
static void dispatch(struct answer *a)
{
    bool in_domain = dname_is_within(&a->name, &a->config->domain);
    if (a->in.question->type == DNS_TYPE_ANY) {
        a->plan.is_authoritative = a->plan.is_recursive = false;
        fail(a, DNS_RCODE_REFUSED);
    } else if (a->in.question->qclass == DNS_CLASS_CH) {
        answer_chaos(a);
    } else if (!a->follow.store && (in_domain || is_reverse(a))) {
        fail(a, DNS_RCODE_SERVFAIL);
    } else if (is_reverse(a) && answer_reverse(a)) {
        return;
    } else if (in_domain) {
        answer_in_domain(a);
    } else {
        forward(a);
    }
}

enum engine_verdict answer_build(struct answer *answer, const struct answer_input *input,
                                 struct engine_deferral *ret_deferral)
{
    start(answer, input);
    follow_start(&answer->follow, input->store, input->externals, input->may_walk, ret_deferral);
    dispatch(answer);
    if (answer->follow.is_deferred) {
        return ENGINE_DEFER;
    }
    if (answer->config->round_robin) {
        uint32_t random = input->random;
        rr_list_shuffle_addresses(&answer->plan.answers, &random);
        rr_list_shuffle_addresses(&answer->plan.additionals, &random);
    }
    if (answer->plan.answers.count > 1) { /* a single one keeps its own */
        rr_list_level_ttls(&answer->plan.answers, answer->config->ttl_s);
    }
    return ENGINE_REPLY;
}
