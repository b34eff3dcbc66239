#include "skydns/engine/direct_internal.h"

#include <assert.h>
#include <stdlib.h>

#include "common/base/attributes.h"
#include "common/base/xalloc.h"
#include "common/dns/dns.h"
#include "skydns/answer/answer.h"
#include "skydns/answer/cache_access.h"
#include "skydns/answer/external_synthesis.h"
#include "skydns/answer/relay.h"
#include "skydns/engine/search_list_internal.h"
#include "skydns/external/cache_counts.h"
#include "skydns/external/cache_image.h"
#include "skydns/external/hosts_table.h"
#include "skydns/fast/fast.h"
#include "skydns/sign/answer_signer.h"
#include "skydns/wire/edns.h"
#include "skydns/wire/encode.h"
#include "skydns/wire/query_parse.h"
#include "skydns/wire/question.h"
#include "skydns/wire/reply_limit.h"

struct direct {
    const struct engine_config *config;
    struct cache_access cached;
    struct answer *answer;
    struct encoder *encoder;
    struct fast *fast;
    struct answer_signer *signer; /* NULL: nothing has been signed so far */
};

static void configure_signer(struct direct *direct, const struct engine_config *config)
{
    if (config->dnssec) {
        direct->signer = direct->signer ? direct->signer : answer_signer_new(config);
        answer_signer_configure(direct->signer, config);
    }
}

struct direct *direct_new(const struct engine_config *config)
{
    struct direct *direct = xcalloc(1, sizeof(*direct));
    direct->config = config;
    cache_access_init(&direct->cached, config);
    direct->answer = answer_new(config);
    direct->encoder = encoder_new(config->settings.max_udp_size);
    direct->fast = fast_new(config, direct->encoder, &direct->cached);
    configure_signer(direct, config);
    return direct;
}

void direct_free(struct direct *direct)
{
    if (!direct) {
        return;
    }
    answer_free(direct->answer);
    encoder_free(direct->encoder);
    fast_free(direct->fast);
    answer_signer_free(direct->signer);
    free(direct);
}

void direct_configure(struct direct *direct, const struct engine_config *config)
{
    direct->config = config;
    cache_access_configure(&direct->cached, config);
    answer_configure(direct->answer, config);
    fast_configure(direct->fast, config, direct->encoder);
    configure_signer(direct, config);
}

static size_t reply_limit(const struct direct *direct, const struct engine_query *query,
                          const struct question *question)
{
    return reply_limit_of(query, question->has_edns, question->udp_size,
                          direct->config->settings.max_udp_size);
}

/* Returns whether a response over TCP is truncated. TC would send the client to TCP again, so it
 * stays beside part of the records. */
static bool is_cut_over_tcp(const struct engine_query *query, const uint8_t *reply)
{
    return query->transport != ENGINE_UDP && (reply[2] & DNS_FLAG_TC >> 8) != 0;
}

/* Returns the address that the client reached this server at, if the transport knows it. */
static struct ip local_ip(const struct engine_query *query)
{
    if (addr_is_wildcard(query->local)) {
        return (struct ip){0};
    }
    return addr_ip(query->local);
}

/* ---- External names ---- */

/* Returns the question's cache key, valid until the next call. */
static const struct cache_key *direct_key_of(struct direct *direct, const struct question *question,
                                             const struct forward_zone *zone)
{
    struct cache_key *key = &direct->cached.key;
    *key = (struct cache_key){.name = question->name,
                              .type = question->type,
                              .qclass = question->qclass,
                              .dnssec_ok = question->dnssec_ok,
                              .checking_disabled = question->checking_disabled,
                              .zone_serial = zone->serial};
    dname_lower(&key->name);
    return key;
}

/* Turns NXDOMAIN into NODATA for a name of a hosts file, which exists whatever upstreams say.
 * NXDOMAIN for one type would hide its addresses from clients that ask for several, as musl does.
 */
static NOINLINE void keep_listed_name(const struct direct *direct, const struct question *question,
                                      struct response *response)
{
    struct dname name = question->name;
    size_t unused;
    dname_lower(&name);
    if (hosts_table_find(direct->config->hosts, &name, &unused) &&
        !engine_config_zone(direct->config, &name)) {
        response_set_no_data(response);
    }
}

/* Completes a response about an external name. */
static void end_external(const struct direct *direct, const struct question *question,
                         bool keeps_name, struct response *response)
{
    if (response_low_rcode(response) != DNS_RCODE_NXDOMAIN) {
        return;
    }
    if (keeps_name) { /* and nothing proves that */
        response_set_no_data(response);
        response->bytes[3] &= (uint8_t)~DNS_FLAG_AD;
    } else if (direct->config->hosts) {
        keep_listed_name(direct, question, response);
    }
}

/* Answers a question that is to be forwarded from the response cache, if it is there. An answer
 * that an upstream gave for one network is not for others, so questions with a client subnet are
 * not looked up. */
static enum engine_verdict direct_answer_cached(struct direct *direct,
                                                const struct engine_query *query,
                                                const struct question *question,
                                                struct response *response,
                                                struct engine_deferral *ret_deferral)
{
    const struct forward_zone *zone = answer_get_external_zone(direct->answer);
    if (!query->is_allowed && !cache_access_allows(&direct->cached, query->client)) {
        return ENGINE_DEFER; /* the resolver may know more */
    }
    if (zone && direct->config->cache && question->subnet_len == 0) {
        if (cache_access_reply(&direct->cached, query, direct_key_of(direct, question, zone),
                               response, ret_deferral)) {
            end_external(direct, question, ret_deferral->keeps_name, response);
            return ENGINE_REPLY;
        }
    }
    cache_access_miss(&direct->cached, query);
    return ENGINE_DEFER;
}

/* ---- Names of DNS64 ---- */

/* A query for the name that a client's reverse name stands for. Its response begins with a CNAME to
 * it, as that for a name of a search list does (response.h). */
struct reverse_query {
    struct path path;
    struct path_candidate candidate;
    struct engine_query query;
};

/* Makes the query for the IPv4 reverse name. Returns false if the response would not even hold the
 * question, or the query itself is for a candidate name of a search list. */
static bool make_reverse_query(const struct direct *direct, const struct engine_query *query,
                               const struct dname *name, const struct response *response,
                               struct reverse_query *ret)
{
    enum { OPT_MAX = EDNS_OPT_SIZE + EDNS_SUBNET_MAX + EDNS_ERROR_SIZE };
    const struct question *question = query_question(query->parsed);
    if (response->asked.len > 0 || !path_take_query(&ret->path, query)) {
        return false;
    }
    ret->query = *query;
    ret->query.len = path_query(&ret->path, name, &ret->candidate);
    ret->query.wire = ret->candidate.wire;
    ret->query.parsed = &ret->candidate.parsed;
    ret->query.ahead = 0;
    const struct slice asked = slice_of(query->wire + DNS_HEADER_SIZE, question->name.len);
    return response_start_of(asked, name->len).records_at + OPT_MAX <=
           reply_limit(direct, query, question);
}

static void begin_reverse_response(const struct engine_query *query, struct response *response)
{
    response->asked =
        slice_of(query->wire + DNS_HEADER_SIZE, query_question(query->parsed)->name.len);
}

static NOINLINE enum engine_verdict answer_reverse_query(struct direct *direct,
                                                         const struct store *store,
                                                         const struct engine_query *query,
                                                         const struct external_answers *externals,
                                                         struct response *response,
                                                         struct engine_deferral *ret_deferral)
{
    const struct dname name = *answer_get_ipv4_reverse(direct->answer);
    struct reverse_query reverse;
    if (!make_reverse_query(direct, query, &name, response, &reverse)) {
        direct_error(direct, query, DNS_RCODE_SERVFAIL, DNS_FLAG_RA, EDNS_ERROR_OTHER, response);
        return ENGINE_REPLY;
    }
    begin_reverse_response(query, response);
    const enum engine_verdict verdict =
        direct_answer(direct, store, &reverse.query, externals, response, ret_deferral);
    response->asked = slice_of(NULL, 0);
    if (verdict == ENGINE_DEFER && ret_deferral->kind == ENGINE_DEFER_FORWARD) {
        ret_deferral->forward = name;
    }
    return verdict;
}

/* Returns whether the upstream's response is about the IPv4 reverse name that stands for the
 * query's. */
static bool is_about_reverse(const struct direct *direct, const struct engine_query *query,
                             const struct parsed_response *upstream, struct dname *ret_name)
{
    const struct question *question = query_question(query->parsed);
    if (!direct->config->settings.dns64.is_on || question->type != DNS_TYPE_PTR) {
        return false;
    }
    struct dname name = question->name;
    dname_lower(&name);
    return synthesis_reverse(direct->config, &name, NULL, ret_name) &&
           response_head_asks(&upstream->head, ret_name, DNS_TYPE_PTR, question->qclass);
}

/* ---- Answers ---- */

static void count_rule(struct direct *direct)
{
    switch (answer_get_rule(direct->answer)) {
    case ANSWER_BY_NO_AAAA:
        counter_add(&direct->cached.counts->no_aaaa, 1);
        break;
    case ANSWER_BY_DNS64:
        counter_add(&direct->cached.counts->dns64, 1);
        break;
    case ANSWER_BY_SOURCE:
    case ANSWER_BY_ALIAS:
    case ANSWER_BY_HOSTS:
    case ANSWER_BY_OVERRIDE:
    case ANSWER_BY_SPECIAL_NAME:
        break;
    }
}

/* A question's inputs. */
struct direct_source {
    struct direct *direct;
    const struct store *store;
    const struct external_answers *externals;
    bool is_built; /* the plan is made; only the signatures are missing */
};

/* Writes a response without records, with an extended error. */
static void bare_error(const struct direct *direct, const struct question *question,
                       enum dns_rcode rcode, uint16_t flags, enum edns_error error,
                       struct response *response)
{
    struct writer w = writer_of(response->bytes, DNS_UDP_SIZE);
    encode_bare(direct->encoder, question, rcode, flags, response);
    w.pos = response->len;
    if (question->has_edns && error != EDNS_ERROR_NONE) {
        assert(response->opt_at > 0 && response->opt_at + EDNS_OPT_SIZE == response->len);
        edns_append_error(&w, (uint16_t)error);
        response->len = w.pos;
    }
}

/* Builds the answer, with signatures if the client wants them. */
static enum engine_verdict build_answer(const struct direct_source *source,
                                        const struct answer_input *input,
                                        struct engine_deferral *ret_deferral)
{
    struct direct *direct = source->direct;
    struct answer_signer *signer = direct->config->dnssec ? direct->signer : NULL;
    if (!signer || input->question->qclass != DNS_CLASS_IN) {
        return answer_build(direct->answer, input, ret_deferral);
    }
    enum engine_verdict verdict =
        source->is_built ? ENGINE_REPLY
                         : answer_signer_build(signer, direct->answer, input, ret_deferral);
    return verdict == ENGINE_REPLY && input->question->dnssec_ok
               ? answer_signer_sign(signer, direct->answer, input, ret_deferral)
               : verdict;
}

static enum engine_verdict answer_question(const struct direct_source *source,
                                           const struct engine_query *query,
                                           const struct question *question,
                                           struct response *response,
                                           struct engine_deferral *ret_deferral)
{
    struct direct *direct = source->direct;
    struct answer_input input = {
        .question = question,
        .store = source->store,
        .client = query->view,
        .externals = source->externals,
        .local = local_ip(query),
        .now_s = query->now_s,
        .random = query->random,
        .reply_limit = reply_limit(direct, query, question),
        .may_cut = query->transport == ENGINE_UDP,
        .may_scan = query->may_scan,
        .is_late = query->is_late,
        .is_late_data = query->is_late_data,
        .is_brief = query->is_brief,
        .cached = &direct->cached,
        .query = query,
    };
    enum engine_verdict verdict = build_answer(source, &input, ret_deferral);
    if (verdict == ENGINE_REPLY) {
        count_rule(direct);
        assert(input.reply_limit <= ENGINE_REPLY_MAX);
        encode_plan(direct->encoder, question, answer_get_plan(direct->answer), input.reply_limit,
                    response);
        if (is_cut_over_tcp(query, response->bytes) && !response_has_answer(response)) {
            bare_error(direct, question, DNS_RCODE_SERVFAIL, DNS_FLAG_AA | DNS_FLAG_RA,
                       EDNS_ERROR_OTHER, response);
        }
    }
    if (verdict == ENGINE_DEFER && ret_deferral->kind == ENGINE_DEFER_FORWARD) {
        if (answer_get_ipv4_reverse(direct->answer)->len > 0) {
            return answer_reverse_query(direct, source->store, query, source->externals, response,
                                        ret_deferral);
        }
        return direct_answer_cached(direct, query, question, response, ret_deferral);
    }
    return verdict;
}

static NOINLINE enum engine_verdict answer_slowly(const struct direct_source *source,
                                                  const struct engine_query *query,
                                                  struct response *response,
                                                  struct engine_deferral *ret_deferral)
{
    const struct question *question = query_question(query->parsed);
    enum dns_rcode rcode = DNS_RCODE_NOERROR;
    switch (query->parsed->verdict) {
    case QUESTION_OK:
        return answer_question(source, query, question, response, ret_deferral);
    case QUESTION_DROP:
        return ENGINE_DROP;
    case QUESTION_FORMERR:
    case QUESTION_NONE: /* of a client with a cookie, when cookies are off */
        rcode = DNS_RCODE_FORMERR;
        break;
    case QUESTION_NOTIMP:
        rcode = DNS_RCODE_NOTIMP;
        break;
    case QUESTION_BADVERS:
        rcode = DNS_RCODE_BADVERS;
        break;
    }
    encode_bare(source->direct->encoder, question, rcode, 0, response);
    return ENGINE_REPLY;
}

/* Returns whether DNSSEC may change the answer. */
static inline bool may_be_signed(const struct fast_query *query)
{
    return query->dnssec_ok || answer_signer_is_of_keys(query->type);
}

enum engine_verdict direct_answer(struct direct *direct, const struct store *store,
                                  const struct engine_query *query,
                                  const struct external_answers *externals,
                                  struct response *response, struct engine_deferral *ret_deferral)
{
    struct direct_source source = {.direct = direct, .store = store, .externals = externals};
    ret_deferral->wants_refresh = false;
    ret_deferral->lacks_target = false;
    ret_deferral->forward.len = 0;
    ret_deferral->search_list_at = 0;
    ret_deferral->search_list_seen = 0;
    if (store && !externals && query->parsed->is_ordinary) {
        bool is_answered = false;
        if (!direct->config->dnssec || !may_be_signed(&query->parsed->fast)) {
            is_answered = fast_answer(direct->fast, store, query, response, ret_deferral);
        } else if (!answer_signer_is_of_keys(query->parsed->fast.type)) {
            enum fast_outcome outcome =
                fast_prepare(direct->fast, store, query, direct->answer, response, ret_deferral);
            is_answered = outcome == FAST_ANSWERED;
            source.is_built = outcome == FAST_BUILT;
        }
        if (is_answered) {
            return ENGINE_REPLY;
        }
    }
    const enum engine_verdict verdict = answer_slowly(&source, query, response, ret_deferral);
    response->lacks_target = verdict == ENGINE_REPLY && ret_deferral->lacks_target;
    return verdict;
}

void direct_look_ahead(struct direct *direct, const struct store *store,
                       const struct fast_query *const *queries, size_t count)
{
    fast_look_ahead(direct->fast, store, queries, store ? count : 0);
}

void direct_error(struct direct *direct, const struct engine_query *query, enum dns_rcode rcode,
                  uint16_t flags, enum edns_error error, struct response *response)
{
    response->len = 0;
    enum question_verdict verdict = query->parsed->verdict;
    if (verdict == QUESTION_OK || verdict == QUESTION_NONE) {
        bare_error(direct, query_question(query->parsed), rcode, flags, error, response);
    }
}

/* Writes the response that later cache hits will repeat. Returns false when it cannot be cached. */
static bool forwarded_as_cached(struct direct *direct, const struct engine_query *query,
                                const struct question *question,
                                const struct parsed_response *upstream, struct cache_image *image,
                                struct response *response)
{
    static const struct forward_zone any_zone; /* the response is the same from any upstream */
    if (!direct->config->cache || question->subnet_len > 0) {
        return false;
    }
    const struct cache_key *key = direct_key_of(direct, question, &any_zone);
    if (cache_image_make(image, key, upstream, direct->config->cache_limits.ttl_max_s) !=
        CACHE_HIT) {
        return false;
    }
    cache_access_first(&direct->cached, query, key, image, response);
    return true;
}

static bool relay_forwarded(struct direct *direct, const struct engine_query *query,
                            const struct parsed_response *upstream, struct cache_image *image,
                            struct response *response)
{
    const struct question *question = query_question(query->parsed);
    struct relay_parts parts;
    if (query->parsed->verdict != QUESTION_OK || !relay_read(question, upstream, &parts)) {
        return false;
    }
    if (query->transport != ENGINE_UDP && (parts.flags & DNS_FLAG_TC)) {
        return false; /* already over TCP: part of an answer would pass for the whole */
    }
    bool is_made = forwarded_as_cached(direct, query, question, upstream, image, response) ||
                   (relay_write(question, upstream, &parts, direct->config->settings.max_udp_size,
                                reply_limit(direct, query, question), response) &&
                    !is_cut_over_tcp(query, response->bytes));
    if (is_made) {
        end_external(direct, question, query->keeps_name, response);
    }
    return is_made;
}

bool direct_forwarded(struct direct *direct, const struct engine_query *query,
                      const struct parsed_response *upstream, struct cache_image *image,
                      struct response *response)
{
    struct dname name;
    struct reverse_query reverse;
    response->lacks_target = false;
    if (query->parsed->verdict != QUESTION_OK ||
        !is_about_reverse(direct, query, upstream, &name)) {
        return relay_forwarded(direct, query, upstream, image, response);
    }
    if (!make_reverse_query(direct, query, &name, response, &reverse)) {
        return false;
    }
    begin_reverse_response(query, response);
    const bool is_made = relay_forwarded(direct, &reverse.query, upstream, image, response);
    response->asked = slice_of(NULL, 0);
    return is_made;
}
