/* Looks up the external names that records point to, and answers the query with the outcomes. */
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/xalloc.h"
#include "common/dns/dns.h"
#include "skydns/answer/external_synthesis.h"
#include "skydns/engine/engine.h"
#include "skydns/publish/publisher.h"
#include "skydns/publish/recursion.h"
#include "skydns/records/store.h"
#include "skydns/resolver/resolver_internal.h"
#include "skydns/upstream/external.h"
#include "skydns/wire/response_parse.h"

void resolver_free_lookup(struct resolver *r, struct deferred *d)
{
    struct lookup *lookup = d->lookup;
    if (lookup) {
        for (size_t i = 0; i < lookup->count; i++) {
            forwarder_forget(&lookup->items[i].wait);
        }
        client_loads_drop(r->lookup_loads, &d->query.client);
        buf_fini(&lookup->packed);
        free(lookup);
        d->lookup = NULL;
        r->lookup_count--;
    }
}

/* ---- The answer ---- */

/* Returns whether the lookup is outdated. If the current records need a SCAN, so does the answer,
 * and the walker decides. Missing signatures do not make it outdated. */
static bool lookup_is_outdated(struct resolver *r, const struct deferred *d,
                               const struct external_answers *externals)
{
    struct engine_query query = resolver_query(r, d);
    return r->turn.store && store_revision(r->turn.store) != d->lookup->revision &&
           engine_outdates(turn_answer(&r->turn, &query, NULL, &r->response), &r->turn.deferral,
                           externals);
}

void resolver_note_mapped(struct deferred *d)
{
    d->mapped_at = (uint16_t)(d->query.search_list_at + 1);
}

static bool is_for_ipv6(const struct resolver *r, const struct deferred *d)
{
    struct query parsed;
    const struct engine_config *config = publisher_config(r->config.reader);
    if (!config->settings.dns64.is_on) {
        return false;
    }
    owned_query_read(&d->query, &parsed);
    const struct question *question = query_question(&parsed);
    return question->type == DNS_TYPE_AAAA && question->qclass == DNS_CLASS_IN &&
           synthesis_may_map(config, question);
}

bool resolver_may_map(const struct resolver *r, const struct deferred *d)
{
    return d->mapped_at != d->query.search_list_at + 1 && is_for_ipv6(r, d);
}

/* Asks the engine again, on the store's current version, with r->answers to the questions that
 * records of this revision led to. */
static void answer_with(struct resolver *r, struct deferred *d, size_t count, int64_t revision)
{
    const struct external_answers externals = {.count = count, .items = r->answers};
    struct engine_query query = resolver_query(r, d);
    if (d->kind == ENGINE_DEFER_SCAN) {
        resolver_scan(r, d, count, revision);
        return;
    }
    enum engine_verdict verdict = turn_answer(&r->turn, &query, &externals, &r->response);
    if (verdict == ENGINE_DEFER && r->turn.deferral.kind == ENGINE_DEFER_SCAN) {
        resolver_scan(r, d, count, revision);
    } else if (verdict == ENGINE_DEFER && r->turn.deferral.kind == ENGINE_DEFER_SIGN) {
        resolver_sign(r, d, count, revision);
    } else if (verdict == ENGINE_DEFER) {
        const bool is_unmapped = r->turn.deferral.kind == ENGINE_DEFER_FORWARD &&
                                 r->turn.deferral.search_list_at <= d->query.search_list_at &&
                                 is_for_ipv6(r, d);
        if (is_unmapped) {
            resolver_answer_unmapped(r, d, r->answers[0].outcome == EXTERNAL_FAILED);
        } else if (!resolver_goes_on(
                       r, d)) { /* the name left the domain meanwhile: the client should retry */
            resolver_refuse(r, d);
        }
    } else if (verdict == ENGINE_REPLY) {
        resolver_finish(r, d, &r->response);
    } else {
        resolver_drop(r, d);
    }
}

/* Answers the query when no question is outstanding any more. */
static void answer_with_externals(struct resolver *r, struct deferred *d)
{
    const struct lookup *lookup = d->lookup;
    if (resolver_drop_if_gone(r, d)) {
        return;
    }
    resolver_be_patient_no_more(r, d);
    for (size_t i = 0; i < lookup->count; i++) {
        const struct lookup_item *item = &lookup->items[i];
        const uint8_t *packed = item->packed_len ? lookup->packed.data + item->packed_at : NULL;
        r->answers[i] = (struct external_answer){
            .question = item->question,
            .outcome = item->outcome,
            .is_nxdomain = item->is_nxdomain,
            .denial_ttl_s = item->denial_ttl_s,
            .records = slice_of(packed, item->packed_len),
        };
    }
    const struct external_answers externals = {.count = lookup->count, .items = r->answers};
    if (d->kind != ENGINE_DEFER_SCAN &&
        lookup_is_outdated(r, d, &externals)) { /* the client should ask again */
        resolver_refuse(r, d);
        return;
    }
    answer_with(r, d, lookup->count, lookup->revision);
}

/* ---- Responses ---- */

static uint32_t ttl_max_s(const struct resolver *r)
{
    const struct engine_config *config = publisher_config(r->config.reader);
    return config->cache ? config->cache_limits.ttl_max_s : EXTERNAL_TTL_MAX_S;
}

/* Cuts the answer to what the client can use. Over UDP that is as many addresses as a datagram
 * holds, so that a long response costs no more than a short one: the client asks for the rest over
 * TCP. Over TCP, part of an answer would pass for the whole. */
static void fit_client(struct resolver *r, const struct deferred *d, size_t room,
                       struct external_answer *answer)
{
    enum { ADDRESS_RR_MIN = 16 };
    if (d->query.transport == ENGINE_UDP) {
        const struct engine_config *config = publisher_config(r->config.reader);
        external_answer_cut(answer,
                            EXTERNAL_CNAMES_MAX + config->settings.max_udp_size / ADDRESS_RR_MIN);
    }
    if (answer->records.len > room) {
        answer->outcome = EXTERNAL_TRUNCATED;
        answer->records.len = 0;
    }
    if (answer->outcome == EXTERNAL_TRUNCATED && d->query.transport != ENGINE_UDP) {
        answer->outcome = EXTERNAL_FAILED;
        answer->records.len = 0;
    }
}

/* Reads the response into `forms`. If it leads to a name of ours, another server's rcode does not
 * count. */
static void read_external(struct resolver *r, const struct external_question *question,
                          const struct parsed_response *response, struct reply_forms *forms)
{
    struct parsed_response shown = *response;
    if (fetcher_leads_home(r->fetcher, response, forms)) {
        shown.head.flags &= (uint16_t)~DNS_MASK_RCODE;
    }
    reply_forms_external(forms, question, &shown, ttl_max_s(r));
}

bool resolver_lead_home(struct resolver *r, struct deferred *d, const struct forwarder_reply *reply)
{
    const struct response_head *head = &reply->response->head;
    if (!fetcher_leads_home(r->fetcher, reply->response, reply->forms)) {
        return false;
    }
    struct external_answer *answer = &r->answers[0];
    *answer = (struct external_answer){.question = {.name = head->name, .type = head->type}};
    dname_lower(&answer->question.name);
    read_external(r, &answer->question, reply->response, reply->forms);
    answer->outcome = reply->forms->outcome;
    answer->records = buf_slice(&reply->forms->packed);
    answer_with(r, d, 1, r->turn.store ? store_revision(r->turn.store) : 0);
    return true;
}

static void resolver_lookup_take_reply(struct lookup_item *item,
                                       const struct parsed_response *response,
                                       struct reply_forms *forms)
{
    struct lookup *lookup = item->lookup;
    struct buf *packed = &lookup->packed;
    struct deferred *d = lookup->deferred;
    struct resolver *r = d->resolver;
    read_external(r, &item->question, response, forms);
    struct external_answer answer = {.outcome = forms->outcome,
                                     .records = buf_slice(&forms->packed)};
    fit_client(r, d, packed->limit - packed->len, &answer);
    item->outcome = answer.outcome;
    item->is_nxdomain = forms->is_nxdomain;
    item->denial_ttl_s = forms->denial_ttl_s;
    item->packed_at = packed->len;
    item->packed_len = answer.records.len;
    buf_append_slice(packed, answer.records);
    counter_add(&r->counts.failures, item->outcome == EXTERNAL_FAILED);
}

static struct upstream_question question_of(const struct lookup_item *item)
{
    struct upstream_question question = {.name = item->question.name,
                                         .type = item->question.type,
                                         .qclass = DNS_CLASS_IN,
                                         .flags = DNS_FLAG_RD};
    dname_lower(&question.name);
    return question;
}

static void resolver_lookup_take_cached(struct lookup_item *item, struct slice message)
{
    struct parsed_response response;
    struct reply_forms forms = {0};
    response_parse((const uint8_t *)message.ptr, message.len, &response);
    resolver_lookup_take_reply(item, &response, &forms);
    reply_forms_fini(&forms);
    response_parse_fini(&response);
}

/* Takes the cached answer, stale or not. Returns false when there is none. */
static bool take_stale(struct lookup_item *item)
{
    struct slice message;
    const struct upstream_question question = question_of(item);
    if (fetcher_find(item->lookup->deferred->resolver->fetcher, &question, true, &message) !=
        FETCHER_REPLY) {
        return false;
    }
    resolver_lookup_take_cached(item, message);
    return true;
}

/* Gives up a question that no upstream has a usable response to. */
static void resolver_lookup_give_up(struct lookup_item *item)
{
    if (!take_stale(item)) {
        item->outcome = EXTERNAL_FAILED;
        counter_add(&item->lookup->deferred->resolver->counts.failures, 1);
    }
}

static void on_external(void *data, const struct forwarder_reply *reply)
{
    struct lookup_item *item = data;
    struct lookup *lookup = item->lookup;
    if (reply->outcome == FORWARDER_REPLIED) {
        resolver_lookup_take_reply(item, reply->response, reply->forms);
    } else {
        resolver_lookup_give_up(item);
    }
    if (--lookup->waiting == 0) {
        answer_with_externals(lookup->deferred->resolver, lookup->deferred);
    }
}

void resolver_look_up_stale(struct resolver *r, struct deferred *d)
{
    struct lookup *lookup = d->lookup;
    for (size_t i = 0; i < lookup->count; i++) {
        struct lookup_item *item = &lookup->items[i];
        if (item->wait.upstream_query && take_stale(item)) {
            forwarder_forget(&item->wait);
            lookup->waiting--;
        }
    }
    if (lookup->waiting == 0) {
        answer_with_externals(r, d);
    }
}

/* ---- Questions ---- */

/* Answers at the limit without asking, as if no upstream responded. */
static void resolver_lookup_answer_without_upstream(struct resolver *r, struct deferred *d,
                                                    int64_t revision)
{
    size_t count = r->turn.deferral.question_count;
    for (size_t i = 0; i < count; i++) {
        r->answers[i] = (struct external_answer){.question = r->turn.deferral.questions[i],
                                                 .outcome = EXTERNAL_FAILED};
    }
    counter_add(&r->counts.failures, count);
    answer_with(r, d, count, revision);
}

static void resolver_lookup_ask(struct resolver *r, struct lookup_item *item)
{
    const struct upstream_question question = question_of(item);
    struct slice message;
    item->wait.cb = on_external;
    item->wait.data = item;
    item->wait.client = &item->lookup->deferred->query.client;
    switch (fetcher_find(r->fetcher, &question, false, &message)) {
    case FETCHER_REPLY:
        resolver_lookup_take_cached(item, message);
        return;
    case FETCHER_FAILURE:
        counter_add(&r->counts.failures, 1);
        return;
    case FETCHER_NOTHING:
        break;
    }
    if (fetcher_ask(r->fetcher, &question, rng_next(&r->turn.rng), &item->wait) ==
        FORWARDER_ASKED) {
        counter_add(&r->counts.lookups, 1);
        item->lookup->waiting++;
    } else {
        resolver_lookup_give_up(item);
    }
}

/* Begins a lookup of the deferral's questions. Returns NULL, having answered the query, if the
 * client may not ask or has too many. */
static struct lookup *begin_lookup(struct resolver *r, struct deferred *d, int64_t revision)
{
    size_t count = r->turn.deferral.question_count;
    if (r->turn.deferral.needs_recursion &&
        !recursion_allows(r->config.recursion, &d->query.client, clock_monotonic_ms())) {
        resolver_refuse_recursion(r, d);
        return NULL;
    }
    if (!client_loads_take(r->lookup_loads, &d->query.client,
                           RESOLVER_LOOKUPS_MAX - r->lookup_count)) {
        resolver_lookup_answer_without_upstream(r, d, revision);
        return NULL;
    }
    struct lookup *lookup = xcalloc(1, sizeof(*lookup) + count * sizeof(lookup->items[0]));
    buf_init(&lookup->packed,
             d->query.transport == ENGINE_UDP ? EXTERNAL_PACKED_UDP_MAX : EXTERNAL_PACKED_MAX);
    lookup->deferred = d;
    lookup->count = count;
    lookup->revision = revision;
    d->lookup = lookup;
    r->lookup_count++;
    for (size_t i = 0; i < count; i++) {
        struct lookup_item *item = &lookup->items[i];
        item->lookup = lookup;
        item->question = r->turn.deferral.questions[i];
        item->outcome = EXTERNAL_FAILED; /* until a response says otherwise */
    }
    return lookup;
}

static void end_lookup(struct resolver *r, struct deferred *d)
{
    if (d->lookup->waiting == 0) { /* all are known, or no question could be sent */
        answer_with_externals(r, d);
    } else {
        resolver_be_patient(r, d);
    }
}

void resolver_look_up(struct resolver *r, struct deferred *d, int64_t revision)
{
    struct lookup *lookup = begin_lookup(r, d, revision);
    if (lookup) {
        for (size_t i = 0; i < lookup->count; i++) {
            resolver_lookup_ask(r, &lookup->items[i]);
        }
        end_lookup(r, d);
    }
}

/* ---- DNS64 ---- */

/* Returns whether DNS64 may put addresses in the place of the reply, or of a part of it. */
static bool is_unusable(struct resolver *r, const struct engine_config *config,
                        const struct dname *name, const struct forwarder_reply *reply)
{
    struct external_answer aaaa = {.question = {.name = *name, .type = DNS_TYPE_AAAA}};
    if (!response_head_asks(&reply->response->head, name, DNS_TYPE_AAAA, DNS_CLASS_IN)) {
        return false;
    }
    read_external(r, &aaaa.question, reply->response, reply->forms);
    aaaa.outcome = reply->forms->outcome;
    aaaa.is_nxdomain = reply->forms->is_nxdomain;
    aaaa.records = buf_slice(&reply->forms->packed);
    return synthesis_worth_of(config, &aaaa) != SYNTHESIS_WHOLE;
}

bool resolver_look_up_ipv4(struct resolver *r, struct deferred *d, const struct dname *name,
                           const struct forwarder_reply *reply)
{
    const struct engine_config *config = publisher_config(r->config.reader);
    if (!resolver_may_map(r, d)) {
        return false;
    }
    struct dname lower = *name;
    dname_lower(&lower);
    if (engine_config_zone(config, &lower) || (reply && !is_unusable(r, config, &lower, reply))) {
        return false;
    }
    resolver_note_mapped(d);
    r->turn.deferral.question_count = 2;
    r->turn.deferral.questions[0] = (struct external_question){lower, DNS_TYPE_AAAA};
    r->turn.deferral.questions[1] = (struct external_question){lower, DNS_TYPE_A};
    struct lookup *lookup = begin_lookup(r, d, r->turn.store ? store_revision(r->turn.store) : 0);
    if (lookup) {
        if (reply) {
            resolver_lookup_take_reply(&lookup->items[0], reply->response, reply->forms);
        }
        resolver_lookup_ask(r, &lookup->items[1]);
        end_lookup(r, d);
    }
    return true;
}
