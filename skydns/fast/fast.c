#include "skydns/fast/fast.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/attributes.h"
#include "common/base/xalloc.h"
#include "common/dns/dns.h"
#include "skydns/answer/answer.h"
#include "skydns/answer/cache_access.h"
#include "skydns/answer/external_synthesis.h"
#include "skydns/external/cache_counts.h"
#include "skydns/fast/fast_internal.h"
#include "skydns/records/rr.h"
#include "skydns/wire/deferral.h"
#include "skydns/wire/query_parse.h"
#include "skydns/wire/response.h"

void fast_configure(struct fast *fast, const struct engine_config *config, struct encoder *encoder)
{
    fast->config = config;
    fast->ahead_count = 0;
    fast_zones_configure(&fast->zones, config, encoder);
}

struct fast *fast_new(const struct engine_config *config, struct encoder *encoder,
                      struct cache_access *cached)
{
    struct fast *fast = xcalloc(1, sizeof(*fast));
    fast->cached = cached;
    fast_configure(fast, config, encoder);
    return fast;
}

void fast_free(struct fast *fast)
{
    free(fast);
}

/* ---- Lookup ---- */

void fast_look_ahead(struct fast *fast, const struct store *store,
                     const struct fast_query *const *queries, size_t count)
{
    struct store_scan *scans[ENGINE_AHEAD_MAX];
    const struct fast_question *external[ENGINE_AHEAD_MAX];
    size_t going = 0, external_count = 0;
    /* A name that a client may not see is not looked up: the time it takes would tell of it. */
    fast->ahead_count = fast->config->visibility   ? 0
                        : count < ENGINE_AHEAD_MAX ? count
                                                   : ENGINE_AHEAD_MAX;
    if (fast->ahead_count == 0) {
        return;
    }
    fast_zones_use(&fast->zones, store);
    fast->ahead_serial = fast->zones.serial;
    for (size_t i = 0; i < fast->ahead_count; i++) {
        struct fast_question *question = &fast->questions[i];
        fast_question_begin(&fast->zones, queries[i], question);
        if (question->source == FAST_STORE) {
            scans[going++] = &question->scan;
        } else if (question->source == FAST_CACHE) {
            cache_prepare(fast->config->cache, &question->key);
            external[external_count++] = question;
        }
    }
    while (going > 0) {
        for (size_t i = 0; i < going;) {
            if (store_scan_step(scans[i])) {
                i++;
            } else {
                scans[i] = scans[--going];
            }
        }
    }
    for (size_t i = 0; i < external_count; i++) {
        cache_look_ahead(fast->config->cache, &external[i]->key);
    }
}

/* Returns whether the name may be hidden from the client, whether or not it exists. All reverse
 * names may be: the slow path decides. */
static bool may_be_hidden(const struct fast *f, const struct fast_question *question,
                          const struct engine_query *query)
{
    return f->view.visibility &&
           (!question->zone ||
            fast_name_part(&f->zones, question->zone, question->query, &query->view) == VIEW_NONE);
}

static NOINLINE const struct fast_question *find_alone(struct fast *f, const struct store *store,
                                                       const struct engine_query *query)
{
    struct fast_question *q = &f->alone;
    fast_zones_use(&f->zones, store);
    fast_question_begin(&f->zones, &query->parsed->fast, q);
    if (q->source == FAST_STORE && !may_be_hidden(f, q, query)) {
        store_scan_finish(&q->scan);
    }
    return q;
}

/* Returns the query's question, with its name looked up if it may be in the store. */
static inline const struct fast_question *find_question(struct fast *f, const struct store *store,
                                                        const struct engine_query *query)
{
    bool is_ahead = query->ahead > 0 && query->ahead <= f->ahead_count &&
                    f->ahead_serial == store_serial(store);
    return is_ahead ? &f->questions[query->ahead - 1] : find_alone(f, store, query);
}

/* ---- Answers ---- */

/* Writes the SOA after a CNAME. Returns false when one of its pointers would be wrong. */
static NOINLINE bool put_soa_behind_alias(struct fast *f, const struct fast_query *q,
                                          const struct soa_template *soa, uint32_t serial)
{
    const size_t name_len = f->reply.name_at - (size_t)DNS_HEADER_SIZE + q->name_len;
    if (soa->has_own_suffix) {
        return false;
    }
    f->reply.len += soa_template_write(soa, name_len, serial, f->reply.bytes + f->reply.len);
    return true;
}

/* Writes the SOA, for a denial. Returns false when the slow path decides. */
static inline bool fast_put_soa(struct fast *f, const struct fast_query *q,
                                const struct soa_template *soa, uint32_t serial)
{
    if (f->reply.len + soa->len > f->reply.limit) {
        return false;
    }
    f->reply.authorities = 1;
    if (f->reply.name_at != DNS_HEADER_SIZE) {
        return put_soa_behind_alias(f, q, soa, serial);
    }
    f->reply.len += soa_template_write(soa, q->name_len, serial, f->reply.bytes + f->reply.len);
    return true;
}

bool fast_answer_negative(struct fast *f, const struct fast_question *question,
                          const struct engine_query *query, enum dns_rcode rcode)
{
    const struct fast_query *q = question->query;
    const struct engine_zone *zone = question->zone->zone;
    const struct soa_templates *soas = &question->zone->soas;
    const struct soa_template *soa =
        q->is_lower ? &soas->lower : soa_templates_mixed(soas, zone, q);
    return soa && !zone->is_incomplete &&
           fast_put_soa(f, q, soa, answer_soa_serial(zone->serial, query->now_s)) &&
           fast_end(f, q, rcode, f->config->settings.min_ttl_s);
}

/* ---- Questions ---- */

/* Gets the question's node, as the client sees it. Returns false when the slow path decides. */
static inline bool get_node(const struct fast *f, const struct fast_question *question,
                            const struct engine_query *query, const struct store_node **ret_node)
{
    *ret_node = question->scan.node;
    if (!f->view.visibility) {
        return true;
    }
    switch (fast_name_part(&f->zones, question->zone, question->query, &query->view)) {
    case VIEW_NONE:
        *ret_node = NULL;
        return true;
    case VIEW_WHOLE:
        return true;
    case VIEW_SPACES:
    case VIEW_SOME:
        break;
    }
    return false;
}

/* Returns the action for a name in a zone; PLAIN_NOT: the slow path decides. Never PLAIN_IF_ALIAS.
 */
static inline enum plain_action find_action(const struct fast *f,
                                            const struct fast_question *question,
                                            const struct engine_query *query)
{
    const struct store_node *node;
    struct addresses ignored;
    if (!get_node(f, question, query, &node)) {
        return PLAIN_NOT;
    }
    enum plain_action action =
        fast_name_action(&f->zones, question->zone, question->query, question->kind, node);
    if (action != PLAIN_IF_ALIAS) {
        return action;
    }
    /* The name's records may be host names. */
    return fast_get_addresses(f, node, 0, &ignored) ? PLAIN_NO_DATA : PLAIN_NOT;
}

/* Returns whether a name could share a suffix with a reverse name, whatever the case of either. */
static bool may_end_like_reverse(struct slice name)
{
    static const char arpa[] = "\4arpa"; /* with the root label */
    return name.len >= sizeof(arpa) &&
           rr_same_name(slice_of(name.ptr + name.len - sizeof(arpa), sizeof(arpa)),
                        slice_of(arpa, sizeof(arpa)));
}

/* Answers a reverse name that has a key. */
static bool answer_pointer(struct fast *f, const struct fast_question *question)
{
    const struct store_node *node = f->view.visibility ? NULL : question->scan.node;
    const struct store_record *record = node ? store_node_record(node) : NULL;
    struct slice target = record ? store_record_host_wire(record) : slice_of(NULL, 0);
    if (target.len == 0 || record->lens[RECORD_RR] > 0 || may_end_like_reverse(target)) {
        return false;
    }
    uint32_t ttl_s = record->ttl_s ? record->ttl_s : f->config->settings.ttl_s;
    uint8_t *data = fast_reply_record(&f->reply, f->reply.name_at, DNS_TYPE_PTR, ttl_s, target.len);
    if (!data) {
        return false;
    }
    memcpy(data, target.ptr, target.len);
    f->reply.answers = 1;
    return fast_end(f, question->query, DNS_RCODE_NOERROR, ttl_s);
}

/* Returns whether a name of a stub zone is hidden from the client, since the zone is below a name
 * that is. */
static bool is_hidden_stub(const struct fast *f, const struct fast_question *question)
{
    return f->view.visibility && view_part_of(&f->view, &question->key.name) == VIEW_NONE;
}

/* Answers an external name, if the response cache has it. */
static NOINLINE bool fast_answer_cached(struct fast *f, const struct fast_question *question,
                                        const struct engine_query *query, struct response *response,
                                        struct engine_deferral *ret_deferral)
{
    return cache_access_allows(f->cached, query->client) &&
           cache_access_reply(f->cached, query, &question->key, response, ret_deferral);
}

/* Answers for -no-aaaa, as answer_deny_external would. */
static NOINLINE bool answer_no_aaaa(struct fast *f, const struct fast_question *question,
                                    const struct engine_query *query, struct response *response)
{
    const struct fast_query *q = question->query;
    fast_reply_begin(&f->reply, q, query, f->config->settings.max_udp_size, response);
    f->response = response;
    if (!fast_put_soa(f, q, &f->zones.root_soa, answer_soa_serial(NULL, query->now_s))) {
        return false;
    }
    (void)fast_end(f, q, DNS_RCODE_NOERROR, SYNTHESIS_DENIAL_TTL_S); /* true */
    response->bytes[2] &= (uint8_t) ~(DNS_FLAG_AA >> 8);
    response->bytes[3] |= (uint8_t)(q->wire[3] & DNS_FLAG_CD);
    counter_add(&f->cached->counts->no_aaaa, 1);
    return true;
}

/* Gets the addresses that the only record of an override leads to in our domains. Returns false
 * when the slow path decides. */
static bool get_led_addresses(const struct fast *f, const struct fast_question *question,
                              const struct engine_query *query, struct addresses *ret)
{
    const struct store_node *owner = question->scan.node, *node;
    const struct store_record *record =
        store_visible_count(owner) == 1 ? store_node_record(owner) : NULL;
    record = record ? record : store_node_single(owner);
    if (!record || f->view.visibility || record->host != STORE_HOST_NAME ||
        record->lens[RECORD_RR] > 0 ||
        fast_has_near_records(f, query, store_record_host_wire(record))) {
        return false;
    }
    node = fast_target_find_alone(&f->zones, store_record_host_wire(record));
    if (!node || !fast_get_addresses(f, node, query_family(question), ret)) {
        return false;
    }
    const uint32_t ttl_s = record->ttl_s ? record->ttl_s : f->config->settings.ttl_s;
    ret->ttl_s = ttl_s < ret->ttl_s ? ttl_s : ret->ttl_s;
    return true;
}

/* Answers from an override whose addresses, or those that it leads to, are prepared. Returns false
 * when the slow path decides. */
static NOINLINE bool answer_override_addresses(struct fast *f, const struct fast_question *question,
                                               const struct engine_query *query,
                                               struct response *response)
{
    const struct fast_query *q = question->query;
    struct addresses a;
    if ((!fast_get_addresses(f, question->scan.node, query_family(question), &a) &&
         !get_led_addresses(f, question, query, &a)) ||
        a.count == 0) {
        return false;
    }
    fast_reply_begin(&f->reply, q, query, f->config->settings.max_udp_size, response);
    f->response = response;
    f->random = query->random;
    const unsigned count = fast_put_addresses(f, &a, f->reply.name_at);
    f->reply.answers = (uint16_t)count;
    f->reply.is_cut = count < a.count;
    (void)fast_end(f, q, DNS_RCODE_NOERROR, a.ttl_s);
    response->bytes[2] &= (uint8_t) ~(DNS_FLAG_AA >> 8);
    response->bytes[3] |= (uint8_t)(q->wire[3] & DNS_FLAG_CD);
    return true;
}

/* ---- Answers with signatures ---- */

/* Builds the plan of an answer. Returns false when the slow path decides. */
static NOINLINE bool build_in_zone(struct fast *f, const struct fast_question *question,
                                   const struct engine_query *query, const struct question *q,
                                   struct answer *answer)
{
    const struct engine_zone *zone = question->zone->zone;
    struct addresses a = {.count = 0};
    if (zone->is_incomplete) {
        return false;
    }
    switch (find_action(f, question, query)) {
    case PLAIN_NOT:
    case PLAIN_IF_ALIAS:
    case PLAIN_TARGETS:
        return false;
    case PLAIN_NO_NAME:
        answer_start_denial(answer, zone, DNS_RCODE_NXDOMAIN, query->now_s);
        return true;
    case PLAIN_NO_DATA:
        break;
    case PLAIN_ADDRESSES:
        if (!fast_get_addresses(f, question->scan.node, query_family(question), &a)) {
            return false;
        }
        break;
    }
    if (a.count == 0) {
        answer_start_denial(answer, zone, DNS_RCODE_NOERROR, query->now_s);
    } else {
        fast_build_addresses(f, question, &a, rr_name(&q->name), answer_start_plan(answer));
    }
    return true;
}

enum fast_outcome fast_prepare(struct fast *fast, const struct store *store,
                               const struct engine_query *query, struct answer *answer,
                               struct response *response, struct engine_deferral *ret_deferral)
{
    struct fast *f = fast;
    assert(query->parsed->is_ordinary);
    f->view = view_of(f->config, store, &query->view, NULL);
    const struct fast_question *question = find_question(f, store, query);
    f->random = query->random;
    if (question->source == FAST_CACHE) {
        return !is_hidden_stub(f, question) &&
                       fast_answer_cached(f, question, query, response, ret_deferral)
                   ? FAST_ANSWERED
                   : FAST_LEFT;
    }
    return question->source == FAST_STORE && question->zone &&
                   build_in_zone(f, question, query, query_question(query->parsed), answer)
               ? FAST_BUILT
               : FAST_LEFT;
}

bool fast_answer(struct fast *fast, const struct store *store, const struct engine_query *query,
                 struct response *response, struct engine_deferral *ret_deferral)
{
    struct fast *f = fast;
    f->view = view_of(f->config, store, &query->view, NULL);
    const struct fast_question *question = find_question(f, store, query);
    if (question->source != FAST_STORE) {
        switch (question->source) {
        case FAST_CACHE:
            return !is_hidden_stub(f, question) &&
                   fast_answer_cached(f, question, query, response, ret_deferral);
        case FAST_NO_AAAA:
            return answer_no_aaaa(f, question, query, response);
        case FAST_OVERRIDE:
            return answer_override_addresses(f, question, query, response);
        case FAST_NOWHERE:
        case FAST_STORE:
            return false;
        }
    }
    fast_reply_begin(&f->reply, question->query, query, f->config->settings.max_udp_size, response);
    f->response = response;
    f->random = query->random;
    switch (question->zone ? find_action(f, question, query) : PLAIN_NOT) {
    case PLAIN_NOT:
    case PLAIN_IF_ALIAS:
        return !question->zone && answer_pointer(f, question);
    case PLAIN_NO_NAME:
        return fast_answer_negative(f, question, query, DNS_RCODE_NXDOMAIN);
    case PLAIN_NO_DATA:
        return fast_answer_negative(f, question, query, DNS_RCODE_NOERROR);
    case PLAIN_ADDRESSES:
        return fast_answer_addresses(f, question, query);
    case PLAIN_TARGETS:
        return fast_answer_targets(f, question, query);
    }
    return false;
}
