/* The adapter's late answers, as the resolver's thread and the pools give them: resolver_work.c,
 * resolver_lookup.c, resolver_pools.c, answer_pool.c. There are no limits of places or time here,
 * and the records never change in between. */
#include <string.h>

#include "common/base/buf.h"
#include "common/dns/dns.h"
#include "skydns/publish/recursion.h"
#include "skydns/upstream/external.h"
#include "skydns/wire/owned_query.h"
#include "tests/recorded/side_engine.h"

/* A deferred query, and what it owns. */
struct side_late {
    struct side *side;
    struct side_asked asked; /* its query: as the resolver's thread has it */
    bool is_scan;            /* its answer visits many records */
    size_t external_count;
    struct external_answer externals[ENGINE_EXTERNAL_MAX];
    struct buf packed;                     /* their records, */
    size_t packed_at[ENGINE_EXTERNAL_MAX]; /* each one's from here on */
    union owned_query_room room;
};

static void side_wait_for(struct side_late *late);
static void side_pool_answer(struct side_late *late, bool may_scan);

/* ---- The end of a query ---- */

static void side_step(struct side *side, const struct side_asked *asked, enum side_step step)
{
    side->calls.step(side->calls.data, asked->number, step, NULL, 0);
}

void side_finish(struct side *side, const struct side_asked *asked)
{
    const size_t len = side->response.len;
    if (side->deferral.is_barred) {
        side_step(side, asked, SIDE_BARRED);
        side->deferral.is_barred = false;
    }
    side->calls.step(side->calls.data, asked->number, len > 0 ? SIDE_RESPONSE : SIDE_NOTHING,
                     side->reply, len);
}

static void side_end(struct side_late *late)
{
    side_finish(late->side, &late->asked);
}

/* The engine's last verdict was no deferral. */
static void side_end_with(struct side_late *late, enum engine_verdict verdict)
{
    if (verdict != ENGINE_REPLY) {
        late->side->response.len = 0;
    }
    side_end(late);
}

static void side_refuse(struct side_late *late, enum edns_error error)
{
    (void)!engine_servfail(late->side->engines[SIDE_ENGINE_RESOLVER], &late->asked.query, error,
                           &late->side->response);
    side_end(late);
}

void side_refresh(struct side *side, const struct side_asked *asked)
{
    if (side->deferral.wants_refresh) {
        const struct upstream_question question = upstream_question_of(&side->deferral.refresh);
        side_upstream_step(side, asked->number, SIDE_REFRESH, &question);
        side->asked = asked->number;
        fetcher_refresh(side->fetcher, &question, asked->query.random);
    }
}

/* ---- The engine again ---- */

/* Answers like turn_answer: an expensive answer is tried twice. */
static enum engine_verdict side_turn(struct side_late *late,
                                     const struct external_answers *externals)
{
    struct side *side = late->side;
    struct engine *engine = side->engines[SIDE_ENGINE_RESOLVER];
    struct engine_query brief = late->asked.query;
    brief.is_brief = true;
    enum engine_verdict verdict =
        engine_answer(engine, side->store, &brief, externals, &side->response, &side->deferral);
    if (verdict == ENGINE_DEFER && side->deferral.kind == ENGINE_DEFER_SCAN) {
        verdict = engine_answer(engine, side->store, &late->asked.query, externals, &side->response,
                                &side->deferral);
    }
    return verdict;
}

static void side_forget_lookup(struct side_late *late)
{
    late->external_count = 0;
    buf_clear(&late->packed);
}

static void side_keep_place(struct side_late *late)
{
    const struct engine_deferral *deferral = &late->side->deferral;
    late->asked.query.search_list_at = deferral->search_list_at;
    late->asked.query.search_list_seen = deferral->search_list_seen;
    late->asked.query.search_list_serial = deferral->search_list_serial;
}

static bool side_is_later_place(struct side_late *late)
{
    const struct engine_deferral *deferral = &late->side->deferral;
    if (deferral->search_list_at <= late->asked.query.search_list_at &&
        deferral->kind != ENGINE_DEFER_SIGN) {
        return false;
    }
    side_forget_lookup(late);
    side_wait_for(late);
    return true;
}

static void side_answer_again(struct side_late *late)
{
    enum engine_verdict verdict = side_turn(late, NULL);
    if (verdict == ENGINE_DEFER) {
        side_wait_for(late);
        return;
    }
    if (verdict == ENGINE_REPLY) {
        side_refresh(late->side, &late->asked);
    }
    side_end_with(late, verdict);
}

static bool side_try_next_place(struct side_late *late, unsigned seen)
{
    struct engine_query *query = &late->asked.query;
    if (query->search_list_at == 0 || query->search_list_at == ENGINE_PATH_OVER) {
        return false;
    }
    query->search_list_at++;
    query->search_list_seen = (uint8_t)(query->search_list_seen | seen);
    side_answer_again(late);
    return true;
}

/* ---- FORWARD ---- */

static bool side_answer_stale(struct side_late *late)
{
    const struct engine_config *config = late->side->config;
    if (!config->cache || config->cache_limits.stale_ms == 0) {
        return false;
    }
    late->asked.query.takes_stale = true;
    enum engine_verdict verdict = side_turn(late, NULL);
    late->asked.query.takes_stale = false;
    if (verdict == ENGINE_DEFER) {
        return side_is_later_place(late);
    }
    if (verdict == ENGINE_REPLY) {
        side_refresh(late->side, &late->asked);
    }
    side_end_with(late, verdict);
    return true;
}

static void side_do_without(struct side_late *late, enum edns_error error)
{
    if (!side_answer_stale(late) && !side_try_next_place(late, ENGINE_PATH_SAW_FAILURE)) {
        side_refuse(late, error);
    }
}

static void side_on_forwarded(void *data, const struct forwarder_reply *reply)
{
    struct side_late *late = data;
    if (reply->outcome != FORWARDER_REPLIED) {
        side_do_without(late, reply->outcome == FORWARDER_FAILED ? EDNS_ERROR_NO_AUTHORITY
                                                                 : EDNS_ERROR_NETWORK);
        return;
    }
    const struct response_head *head = &reply->response->head;
    const unsigned rcode = head->flags & DNS_MASK_RCODE;
    const bool is_no_data = rcode == DNS_RCODE_NOERROR && head->counts[RESPONSE_ANSWER] == 0 &&
                            (head->flags & DNS_FLAG_TC) == 0;
    const bool is_denial = is_no_data || rcode == DNS_RCODE_NXDOMAIN;
    const unsigned seen = is_no_data ? ENGINE_PATH_SAW_NO_DATA : 0;
    if (engine_forwarded(late->side->engines[SIDE_ENGINE_RESOLVER], &late->asked.query,
                         reply->response, &reply->forms->image, &late->side->response)) {
        side_end(late);
    } else if (!is_denial || !side_try_next_place(late, seen)) {
        side_do_without(late, reply->response->head.flags & DNS_FLAG_TC ? EDNS_ERROR_NETWORK
                                                                        : EDNS_ERROR_NO_AUTHORITY);
    }
}

static void side_forward(struct side_late *late)
{
    struct side *side = late->side;
    const struct engine_query *query = &late->asked.query;
    struct forwarder_wait wait = {.cb = side_on_forwarded, .data = late};
    struct query parsed;
    owned_query_read(query->owned, &parsed);
    if (side->deferral.forward.len > 0) {
        parsed.question.name = side->deferral.forward;
    }
    const struct upstream_question question = upstream_question_of(&parsed.question);
    side_upstream_step(side, late->asked.number, SIDE_FORWARD, &question);
    if (!recursion_allows(&side->recursion, query->client, query->now_ms)) {
        if (!side_try_next_place(late, 0)) {
            (void)!engine_refused(side->engines[SIDE_ENGINE_RESOLVER], query, &side->response);
            side_end(late);
        }
        return;
    }
    side->asked = late->asked.number;
    if (fetcher_ask(side->fetcher, &question, query->random, &wait) != FORWARDER_ASKED) {
        side_do_without(late, EDNS_ERROR_NETWORK);
    }
}

/* ---- LOOKUP ---- */

static void side_answer_with_externals(struct side_late *late)
{
    const struct external_answers externals = {late->external_count, late->externals};
    if (late->is_scan) {
        side_pool_answer(late, true);
        return;
    }
    enum engine_verdict verdict = side_turn(late, &externals);
    if (verdict != ENGINE_DEFER) {
        side_end_with(late, verdict);
    } else if (late->side->deferral.kind == ENGINE_DEFER_SCAN) {
        side_pool_answer(late, true);
    } else if (late->side->deferral.kind == ENGINE_DEFER_SIGN) {
        side_pool_answer(late, false);
    } else if (!side_is_later_place(late)) {
        side_refuse(late, EDNS_ERROR_OTHER);
    }
}

/* One that is looked up, and what is known of it. */
struct side_lookup {
    struct side_late *late;
    struct external_answer *answer;
};

/* resolver_lookup.c's fit_client: a UDP client gets no more addresses than a datagram holds. */
static void side_fit_client(const struct side_late *late, size_t room, struct external_answer *a)
{
    enum { ADDRESS_RR_MIN = 16 };
    const bool is_udp = late->asked.query.transport == ENGINE_UDP;
    if (is_udp) {
        external_answer_cut(a, EXTERNAL_CNAMES_MAX +
                                   late->side->config->settings.max_udp_size / ADDRESS_RR_MIN);
    }
    if (a->records.len > room) {
        a->outcome = EXTERNAL_TRUNCATED;
        a->records.len = 0;
    }
    if (a->outcome == EXTERNAL_TRUNCATED && !is_udp) {
        a->outcome = EXTERNAL_FAILED;
        a->records.len = 0;
    }
}

static void side_take_reply(struct side_lookup *lookup, const struct parsed_response *response)
{
    struct side_late *late = lookup->late;
    const struct engine_config *config = late->side->config;
    CLEANUP_BUF struct buf packed = buf_of(EXTERNAL_PACKED_MAX);
    struct external_answer answer = *lookup->answer;
    answer.outcome =
        external_read(&answer.question, response,
                      config->cache ? config->cache_limits.ttl_max_s : EXTERNAL_TTL_MAX_S, &packed);
    answer.records = buf_slice(&packed);
    side_fit_client(late, late->packed.limit - late->packed.len, &answer);
    late->packed_at[lookup->answer - late->externals] = late->packed.len;
    buf_append_slice(&late->packed, answer.records);
    *lookup->answer = answer; /* side_look_up sets where its records are */
}

static void side_take_cached(struct side_lookup *lookup, struct slice message)
{
    struct parsed_response response;
    response_parse((const uint8_t *)message.ptr, message.len, &response);
    side_take_reply(lookup, &response);
    response_parse_fini(&response);
}

static void side_on_external(void *data, const struct forwarder_reply *reply)
{
    struct side_lookup *lookup = data;
    struct slice message;
    struct upstream_question question = {.name = lookup->answer->question.name,
                                         .type = lookup->answer->question.type,
                                         .qclass = DNS_CLASS_IN,
                                         .flags = DNS_FLAG_RD};
    dname_lower(&question.name);
    if (reply && reply->outcome == FORWARDER_REPLIED) {
        side_take_reply(lookup, reply->response);
    } else if (fetcher_find(lookup->late->side->fetcher, &question, true, &message) ==
               FETCHER_REPLY) {
        side_take_cached(lookup, message);
    }
}

static void side_look_up_one(struct side_late *late, const struct external_question *question)
{
    struct side *side = late->side;
    struct side_lookup lookup = {late, &late->externals[late->external_count++]};
    struct upstream_question upstream = {.name = question->name,
                                         .type = question->type,
                                         .qclass = DNS_CLASS_IN,
                                         .flags = DNS_FLAG_RD};
    struct forwarder_wait wait = {.cb = side_on_external, .data = &lookup};
    struct slice message;
    uint8_t wire[UPSTREAM_QUERY_MAX];
    *lookup.answer = (struct external_answer){.question = *question, .outcome = EXTERNAL_FAILED};
    dname_lower(&upstream.name);
    side->calls.step(side->calls.data, late->asked.number, SIDE_LOOK_UP, wire,
                     upstream_query_write(&upstream, 0, wire));
    switch (fetcher_find(side->fetcher, &upstream, false, &message)) {
    case FETCHER_REPLY:
        side_take_cached(&lookup, message);
        return;
    case FETCHER_FAILURE:
        return;
    case FETCHER_NOTHING:
        break;
    }
    side->asked = late->asked.number;
    if (fetcher_ask(side->fetcher, &upstream, late->asked.query.random, &wait) != FORWARDER_ASKED) {
        side_on_external(&lookup, NULL);
    }
}

static void side_look_up(struct side_late *late)
{
    struct external_question questions[ENGINE_EXTERNAL_MAX];
    const size_t count = late->side->deferral.question_count;
    memcpy(questions, late->side->deferral.questions, count * sizeof(questions[0]));
    side_forget_lookup(late);
    for (size_t i = 0; i < count; i++) {
        side_look_up_one(late, &questions[i]);
    }
    for (size_t i = 0; i < count; i++) {
        struct slice *records = &late->externals[i].records;
        const size_t len = records->len;
        *records = slice_of(len > 0 ? late->packed.data + late->packed_at[i] : NULL, len);
    }
    side_answer_with_externals(late);
}

/* ---- WALK and SIGN ---- */

static void side_refuse_in_pool(struct side_late *late, bool is_scan)
{
    if (!is_scan && late->asked.query.transport == ENGINE_UDP) {
        side_end_with(late, ENGINE_DROP);
    } else {
        side_refuse(late, EDNS_ERROR_OTHER);
    }
}

static bool side_pool_goes_on(const struct side_late *late, bool may_scan)
{
    const struct engine_deferral *deferral = &late->side->deferral;
    if (deferral->search_list_at > late->asked.query.search_list_at) {
        return true;
    }
    return deferral->kind == ENGINE_DEFER_LOOKUP ? late->external_count == 0
                                                 : deferral->kind == ENGINE_DEFER_SCAN && !may_scan;
}

static void side_pool_answer(struct side_late *late, bool may_scan)
{
    struct side *side = late->side;
    const struct external_answers externals = {late->external_count, late->externals};
    struct engine_query query = late->asked.query;
    side_step(side, &late->asked, may_scan ? SIDE_SCAN : SIDE_SIGN);
    query.may_scan = may_scan;
    query.may_sign = true;
    enum engine_verdict verdict = engine_answer(
        side->engines[may_scan ? SIDE_ENGINE_WALKER : SIDE_ENGINE_SIGNER], side->store, &query,
        late->external_count > 0 ? &externals : NULL, &side->response, &side->deferral);
    if (verdict != ENGINE_DEFER) {
        if (verdict == ENGINE_REPLY) {
            side_refresh(side, &late->asked);
        }
        side_end_with(late, verdict);
    } else if (!side_pool_goes_on(late, may_scan)) {
        side_refuse_in_pool(late, may_scan);
    } else if (side->deferral.kind == ENGINE_DEFER_SCAN) {
        side_pool_answer(late, true);
    } else if (side->deferral.kind == ENGINE_DEFER_LOOKUP) {
        late->is_scan = late->is_scan || may_scan;
        side_keep_place(late);
        side_look_up(late);
    } else if (!side_is_later_place(late)) {
        side_refuse(late, EDNS_ERROR_OTHER);
    }
}

/* ---- The begin ---- */

static void side_wait_for(struct side_late *late)
{
    struct side *side = late->side;
    side_keep_place(late);
    switch (side->deferral.kind) {
    case ENGINE_DEFER_FORWARD:
        side_forward(late);
        break;
    case ENGINE_DEFER_LOOKUP:
        side_look_up(late);
        break;
    case ENGINE_DEFER_SCAN:
        side_pool_answer(late, true);
        break;
    case ENGINE_DEFER_SIGN:
        side_pool_answer(late, false);
        break;
    case ENGINE_DEFER_TRANSFER:
    case ENGINE_DEFER_REFRESH:
        side_refuse(late, EDNS_ERROR_OTHER);
        break;
    }
}

/* Defers like deferred_new, except for what may not be taken. */
static void side_defer(struct side_late *late, struct side *side, const struct side_asked *asked)
{
    *late = (struct side_late){.side = side, .asked = *asked};
    struct engine_query *query = &late->asked.query;
    buf_init(&late->packed,
             query->transport == ENGINE_UDP ? EXTERNAL_PACKED_UDP_MAX : EXTERNAL_PACKED_MAX);
    (void)owned_query_take(&late->room.query, query);
    *query = owned_query_open(&late->room.query, query->now_s, query->now_ms, query->random);
}

void side_go_on(struct side *side, const struct side_asked *asked)
{
    struct side_late late;
    if (side->deferral.kind == ENGINE_DEFER_TRANSFER) {
        side_step(side, asked, SIDE_TRANSFER);
        return;
    }
    side_defer(&late, side, asked);
    if (side->deferral.kind == ENGINE_DEFER_SCAN || side->deferral.kind == ENGINE_DEFER_SIGN) {
        side_wait_for(&late);
    } else {
        side_answer_again(&late);
    }
    buf_fini(&late.packed);
}

void side_answer_late(struct side *side, const struct side_asked *asked)
{
    struct side_asked late = *asked;
    late.query.may_scan = late.query.may_sign = true;
    enum engine_verdict verdict =
        engine_answer(side->engines[SIDE_ENGINE_WALKER], side->store, &late.query, NULL,
                      &side->response, &side->deferral);
    if (verdict == ENGINE_DEFER) {
        side_go_on(side, &late);
        return;
    }
    if (verdict == ENGINE_REPLY) {
        side_refresh(side, &late);
    }
    if (verdict != ENGINE_REPLY) {
        side->response.len = 0;
    }
    side_finish(side, asked);
}
