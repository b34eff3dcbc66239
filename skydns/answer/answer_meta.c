/* Answers questions about the server rather than the records: class CHAOS, ANY, and types and
 * classes that no record has. These are neither answered from records nor forwarded. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/base/version.h"
#include "skydns/answer/answer_internal.h"
#include "skydns/external/cache_counts.h"

/* Returns whether we answer the class. Any class is IN for names of ours, as with BIND, NSD and
 * CoreDNS: Java's JNDI sends it when it wants all attributes. */
static bool has_class(const struct answer *a, uint16_t qclass)
{
    return qclass == DNS_CLASS_IN || qclass == DNS_CLASS_CH || (qclass == DNS_CLASS_ANY && a->zone);
}

/* Returns the rcode for a type that is no data, as BIND and Knot do. RFC 6895 3.1 reserves 128 to
 * 255 for such types. Undefined ones among them, and types that belong in other sections, make the
 * question malformed. */
static enum dns_rcode meta_rcode(const struct answer *a)
{
    const uint16_t type = a->in.question->type;
    switch (type) {
    case DNS_TYPE_ANY:
        break;
    case DNS_TYPE_AXFR:
    case DNS_TYPE_IXFR:
        return DNS_RCODE_REFUSED;
    case DNS_TYPE_TKEY:
    case DNS_TYPE_MAILA:
    case DNS_TYPE_MAILB:
        return DNS_RCODE_NOTIMP;
    default:
        if (dns_type_is_meta(type)) {
            return DNS_RCODE_FORMERR;
        }
    }
    return has_class(a, a->in.question->qclass) ? DNS_RCODE_NOERROR : DNS_RCODE_REFUSED;
}

static enum edns_error meta_error(uint16_t type, enum dns_rcode rcode)
{
    bool is_transfer = type == DNS_TYPE_AXFR || type == DNS_TYPE_IXFR;
    return rcode != DNS_RCODE_REFUSED ? EDNS_ERROR_NONE
           : is_transfer              ? EDNS_ERROR_PROHIBITED
                                      : EDNS_ERROR_NOT_SUPPORTED;
}

/* Returns whether the question asks for a transfer that the client may have: over TCP and TLS, IXFR
 * also over UDP (RFC 1995 2). The transfers check themselves that the name is a zone's. */
static bool is_transfer(const struct answer *a)
{
    const struct engine_config *config = a->config;
    const struct engine_query *query = a->in.query;
    if (config->settings.transfer_count == 0 || !query || a->in.question->qclass != DNS_CLASS_IN) {
        return false;
    }
    bool is_incremental = a->in.question->type == DNS_TYPE_IXFR;
    bool fits = query->transport == ENGINE_TCP || query->transport == ENGINE_TLS ||
                (query->transport == ENGINE_UDP && is_incremental);
    return (is_incremental || a->in.question->type == DNS_TYPE_AXFR) && fits &&
           transfer_access_allows(config->settings.transfers, config->settings.transfer_count,
                                  query->client, query->signed_by);
}

bool answer_meta(struct answer *a)
{
    if (is_transfer(a)) {
        a->follow.is_deferred = true;
        a->follow.deferral->kind = ENGINE_DEFER_TRANSFER;
        return true;
    }
    enum dns_rcode rcode = meta_rcode(a);
    if (rcode != DNS_RCODE_NOERROR) {
        a->plan.is_authoritative = a->plan.is_recursive = false;
        answer_fail(a, rcode, meta_error(a->in.question->type, rcode));
    }
    return rcode != DNS_RCODE_NOERROR;
}

/* Answers REFUSED, without AA and RA: these say something about names in class IN. */
static void refuse_unsupported(struct answer *a)
{
    a->plan.is_authoritative = a->plan.is_recursive = false;
    answer_fail(a, DNS_RCODE_REFUSED, EDNS_ERROR_NOT_SUPPORTED);
}

/* Returns the texts that tell the server's identity, or NULL. The authors are those of SkyDNS, as
 * in its answer. */
static const char *const *chaos_texts(const struct answer *a)
{
    static const char *const authors[] = {"Erik St. Martin", "Brian Ketelsen", "Miek Gieben",
                                          "Michael Crosby", NULL};
    static const char *const host[] = {"localhost", NULL};
    static const char *const version[] = {version_string, NULL};
    static const struct {
        const char *name;
        const char *const *texts;
    } known[] = {
        {"version.bind.", version}, {"version.server.", version}, {"id.server.", host},
        {"hostname.bind.", host},   {"authors.bind.", authors},
    };
    char name[DNAME_TEXT_MAX];
    dname_to_text(&a->name, name);
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        if (strcmp(known[i].name, name) == 0) {
            return known[i].texts;
        }
    }
    return a->zone && answer_is_apex(a) ? authors : NULL;
}

/* Sets *ret to a figure of the response cache, as dnsmasq gives it. Hits are all answers made
 * without asking an upstream. The figures go on counting when -rcache changes. */
static bool chaos_number(const struct answer *a, const char *name, uint64_t *ret)
{
    const struct engine_config *config = a->config;
    struct cache_counts sums = {0};
    if (strcmp(name, "cachesize.bind.") == 0) {
        *ret = config->cache ? cache_figures(config->cache).entries_max : 0;
        return true;
    }
    const struct {
        const char *name;
        const struct counter *counter;
    } known[] = {
        {"insertions.bind.", &sums.insertions},
        {"evictions.bind.", &sums.evictions},
        {"misses.bind.", &sums.misses},
        {"hits.bind.", NULL},
    };
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        if (strcmp(known[i].name, name) == 0) {
            if (config->cache_tally) {
                cache_tally_sum(config->cache_tally, &sums);
            }
            *ret = known[i].counter
                       ? counter_get(known[i].counter)
                       : counter_get(&sums.hits_positive) + counter_get(&sums.hits_negative) +
                             counter_get(&sums.hits_failure) + counter_get(&sums.hits_stale);
            return true;
        }
    }
    return false;
}

/* Adds the figure that the name asks for. Returns false when it asks for none. */
static bool add_chaos_number(struct answer *a)
{
    char name[DNAME_TEXT_MAX];
    uint64_t number;
    if (!chaos_number(a, dname_to_text(&a->asked, name), &number)) {
        return false;
    }
    int len = snprintf(a->number, sizeof(a->number), "%" PRIu64, number);
    a->plan.rr_class = DNS_CLASS_CH;
    answer_add(a, (struct rr){
                      .owner = a->owner, .type = RR_TXT, .data = slice_of(a->number, (size_t)len)});
    return true;
}

void answer_chaos(struct answer *a)
{
    if (!a->config->settings.chaos || a->in.question->type != DNS_TYPE_TXT) {
        refuse_unsupported(a);
        return;
    }
    if (add_chaos_number(a)) {
        return;
    }
    const char *const *texts = chaos_texts(a);
    if (!texts) {
        refuse_unsupported(a);
        return;
    }
    a->plan.rr_class = DNS_CLASS_CH;
    for (; *texts; texts++) {
        answer_add(a, (struct rr){.owner = a->owner, .type = RR_TXT, .data = slice_str(*texts)});
    }
}

/* Adds the name's A and AAAA records, as far as no upstream must be asked for them. */
static void add_addresses_of_any(struct answer *a)
{
    static const uint16_t types[] = {DNS_TYPE_A, DNS_TYPE_AAAA};
    const struct question *any = a->in.question;
    struct question question = *any;
    a->in.question = &question;
    a->follow.may_ask = false;
    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
        if (a->plan.rcode == DNS_RCODE_NOERROR && !a->follow.is_deferred) {
            question.type = types[i];
            answer_in_domain(a);
            a->plan.authority_count = 0;
        }
    }
    a->in.question = any;
}

/* Answers ANY with HINFO (RFC 8482 4.2): one record for every existing name of ours.
 *
 * Over streams, the addresses follow (4.1, 4.4), and over UDP TC says so: Java's JNDI sends ANY,
 * over UDP first, when it wants more than one type. A resolver that sets DO asks for single types
 * instead. */
static void answer_hinfo(struct answer *a)
{
    static const char hinfo[] = "\7RFC8482";
    if (!a->follow.view.store) {
        answer_not_ready(a);
        return;
    }
    answer_in_domain(a); /* no data has type ANY: this only finds whether the name exists */
    if (a->plan.rcode == DNS_RCODE_NOERROR && a->plan.answers.count == 0) { /* no CNAME */
        a->plan.authority_count = 0;
        answer_add(a, (struct rr){.owner = a->owner,
                                  .ttl_s = a->config->settings.ttl_s,
                                  .type = RR_HINFO,
                                  .data = slice_of(hinfo, sizeof(hinfo))}); /* "" is the NUL */
        if (!a->in.may_cut) {
            add_addresses_of_any(a);
        } else if (!a->in.question->dnssec_ok) {
            a->plan.answers.is_cut = true;
        }
    }
}

void answer_any(struct answer *a)
{
    if (a->config->settings.any_is_hinfo && a->zone && a->in.question->qclass != DNS_CLASS_CH) {
        answer_hinfo(a);
        return;
    }
    refuse_unsupported(a);
}
