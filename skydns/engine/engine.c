#include "skydns/engine/engine.h"

#include <assert.h>
#include <stdlib.h>

#include "common/base/addr.h"
#include "common/base/attributes.h"
#include "common/base/xalloc.h"
#include "common/dns/dns.h"
#include "skydns/clients/client_index.h"
#include "skydns/clients/client_view.h"
#include "skydns/engine/direct_internal.h"
#include "skydns/engine/finish_internal.h"
#include "skydns/engine/search_list_try_internal.h"
#include "skydns/wire/owned_query.h"
#include "skydns/wire/query_parse.h"
#include "skydns/wire/response.h"

struct engine {
    const struct engine_config *config;
    uint64_t config_serial;
    bool knows_clients; /* answers depend on the client's namespace, or zone */
    struct direct *direct;
    struct search_list_try *path;
    size_t admitted_last; /* index of the -allow network of the last client admitted */
    size_t ahead_count;   /* queries looked ahead at */
    struct query ahead[ENGINE_AHEAD_MAX];
    struct query alone;         /* a query that is not among them */
    struct tsig_query tsig;     /* of the query being answered, if it has one */
    struct engine_query opened; /* the query in its final form: with TSIG, or one that has waited */
    struct engine_counts counts;
};

static bool knows_clients(const struct engine_config *config)
{
    return config->settings.autopath || config->visibility || config->topology;
}

struct engine *engine_new(const struct engine_config *config)
{
    struct engine *engine = xcalloc(1, sizeof(*engine));
    engine->config = config;
    engine->config_serial = config->serial;
    engine->knows_clients = knows_clients(config);
    engine->direct = direct_new(config);
    engine->path = search_list_try_new(config, engine->direct, &engine->counts);
    return engine;
}

void engine_free(struct engine *engine)
{
    if (!engine) {
        return;
    }
    search_list_try_free(engine->path);
    direct_free(engine->direct);
    free(engine);
}

/* Switches the configuration. A new one may have an old one's address: the serial tells them apart.
 */
void engine_configure(struct engine *engine, const struct engine_config *config)
{
    if (engine->config != config || engine->config_serial != config->serial) {
        engine->config = config;
        engine->config_serial = config->serial;
        engine->knows_clients = knows_clients(config);
        engine->ahead_count = 0;
        direct_configure(engine->direct, config);
        search_list_try_configure(engine->path, config);
    }
}

/* ---- The client ---- */

static inline struct client_view view_of(const struct engine *engine, const struct addr *client)
{
    const struct engine_config *config = engine->config;
    struct client_view view = {.visibility = config->visibility};
    if (config->clients) {
        const struct ip ip = addr_ip(client);
        view.space = config->topology ? client_index_find_zone(config->clients, &ip, &view.zone)
                                      : client_index_find(config->clients, &ip);
    }
    return view;
}

/* Returns whether a network of -allow contains the client. Tries the last client's first, so that
 * one network of many costs what one costs. */
static bool is_admitted(struct engine *engine, const struct engine_settings *settings,
                        const struct addr *client)
{
    const struct ip ip = addr_ip(client);
    if (engine->admitted_last < settings->admitted_count &&
        network_contains(&settings->admitted[engine->admitted_last], &ip)) {
        return true;
    }
    for (size_t i = 0; i < settings->admitted_count; i++) {
        if (network_contains(&settings->admitted[i], &ip)) {
            engine->admitted_last = i;
            return true;
        }
    }
    return false;
}

bool engine_admits(struct engine *engine, const struct addr *client)
{
    const struct engine_settings *settings = &engine->config->settings;
    return !settings->is_restricted || is_admitted(engine, settings, client);
}

/* ---- Queries ---- */

/* Parses a query that is not ordinary. Out of line, so that ordinary queries take no further call.
 */
static NOINLINE struct query *parse_rest(const struct engine_query *query, struct query *parsed)
{
    if (!parsed->has_question) {
        query_parse_other(query->wire, query->len, parsed);
    }
    return parsed;
}

/* Returns a query as parsed, once, if it is ordinary. */
static inline struct query *parse_begin(struct engine *engine, const struct engine_query *query)
{
    struct query *parsed = &engine->alone;
    if (query->ahead > 0 && query->ahead <= engine->ahead_count) {
        parsed = &engine->ahead[query->ahead - 1];
    } else if (query->owned) {
        owned_query_read(query->owned, parsed);
    } else {
        query_parse_ordinary(query->wire, query->len, parsed);
    }
    return parsed;
}

static inline struct query *parse_end(const struct engine_query *query, struct query *parsed)
{
    return parsed->is_ordinary ? parsed : parse_rest(query, parsed);
}

/* Prepares the query for the answer code: reserves room in the response for a cookie, if the client
 * gets one. `parsed` is parse_begin's result. */
static inline void open_in_place(const struct engine *engine, struct engine_query *query)
{
    query->parsed = parse_end(query, query->parsed);
    query->gets = 0;
    query->reserved = query->reserved_by_tsig;
    if (query_asks(query->parsed)) {
        query->gets = finish_gets(engine->config, query);
        query->reserved += finish_reserves(engine->config, query->gets);
    }
}

static inline void close_reply(const struct engine *engine, const struct engine_query *opened,
                               struct response *response)
{
    if (opened->gets && response->len > 0 && response->opt_at > 0) {
        finish_options(engine->config, opened, response);
    }
}

static enum cookie_verdict check_cookie(const struct engine *engine,
                                        const struct engine_query *query,
                                        const struct query *parsed)
{
    const struct ip ip = addr_ip(query->client);
    const struct cookie cookie = query_cookie(parsed);
    return cookie_check(&engine->config->cookies, &cookie, &ip, (uint32_t)query->now_s);
}

enum cookie_verdict engine_check_cookie(struct engine *engine, const struct engine_query *query)
{
    if (engine->config->cookies.count == 0 ||
        !fast_query_may_have_cookie(query->wire, query->len)) {
        return COOKIE_ALONE;
    }
    const struct query *parsed = parse_end(query, parse_begin(engine, query));
    return query_has_cookie(parsed) ? check_cookie(engine, query, parsed) : COOKIE_ALONE;
}

/* ---- TSIG ---- */

/* Checks the TSIG record of a parsed query. Returns NULL when there are no keys, or it has no
 * record. A record costs a hash. */
static const struct tsig_query *open_tsig(struct engine *engine, const struct engine_query *query)
{
    const struct tsig_keys *keys = engine->config->tsig;
    return keys && query->parsed->has_question &&
                   tsig_open(keys, query->wire, query->len, &query->parsed->question.tsig,
                             query->now_s, &engine->tsig) != TSIG_NONE
               ? &engine->tsig
               : NULL;
}

/* Reserves room for TSIG at the end of the response. open_tsig has found that the query is not
 * MALFORMED. */
static void note_tsig(const struct engine *engine, struct engine_query *query)
{
    const struct tsig_query *tsig = &engine->tsig;
    query->ends_in_tsig = true;
    query->signed_by = tsig->verdict == TSIG_GOOD ? tsig_key_name(tsig->key) : NULL;
    query->reserved_by_tsig = tsig->key ? tsig_reply_size(tsig) : 0;
}

/* Prepares the query, with TSIG if it has a record. Returns false when it has waited and its key is
 * gone. */
static NOINLINE bool open_whole(struct engine *engine, const struct engine_query *query,
                                struct engine_query *ret_opened)
{
    const struct tsig_state *state = query->owned ? owned_query_tsig(query->owned) : NULL;
    if (state && !tsig_restore(engine->config->tsig, state, &engine->tsig)) {
        return false;
    }
    *ret_opened = *query;
    ret_opened->parsed = parse_end(query, parse_begin(engine, query));
    if (state ||
        (!query->owned && open_tsig(engine, ret_opened) && engine->tsig.verdict == TSIG_GOOD)) {
        note_tsig(engine, ret_opened);
    }
    open_in_place(engine, ret_opened);
    return true;
}

void engine_read(struct engine *engine, struct engine_query *query)
{
    struct engine_query opened;
    assert(!query->owned);
    (void)!open_whole(engine, query, &opened); /* false: only for a query that has waited */
    query->parsed = opened.parsed;
    query->tsig = opened.ends_in_tsig ? &engine->tsig : NULL;
}

/* Appends the response's options and its TSIG record. */
static NOINLINE void finish_response(const struct engine *engine, const struct engine_query *opened,
                                     struct response *response)
{
    close_reply(engine, opened, response);
    if (opened->ends_in_tsig) {
        finish_tsig(&engine->tsig, opened, response);
    }
}

/* ---- Errors ---- */

static bool signed_error(struct engine *engine, const struct engine_query *query,
                         enum dns_rcode rcode, uint16_t flags, enum edns_error error,
                         struct response *response)
{
    struct engine_query opened;
    response->len = 0;
    if (open_whole(engine, query, &opened)) {
        direct_error(engine->direct, &opened, rcode, flags, error, response);
        finish_response(engine, &opened, response);
    }
    return response->len > 0;
}

/* Writes the response without TSIG, so that a flood of these costs no hash. It sets RA: without it,
 * glibc's resolver takes an empty response for a referral, and asks another server. */
bool engine_limited(struct engine *engine, const struct engine_query *query,
                    enum cookie_verdict cookie, struct response *response)
{
    const bool is_wrong = cookie == COOKIE_WRONG;
    struct engine_query opened = *query;
    opened.parsed = parse_begin(engine, query);
    open_in_place(engine, &opened);
    direct_error(engine->direct, &opened, is_wrong ? DNS_RCODE_BADCOOKIE : DNS_RCODE_NOERROR,
                 is_wrong ? DNS_FLAG_RA : DNS_FLAG_TC | DNS_FLAG_RA, EDNS_ERROR_NONE, response);
    close_reply(engine, &opened, response);
    return response->len > 0;
}

bool engine_servfail(struct engine *engine, const struct engine_query *query, enum edns_error error,
                     struct response *response)
{
    return signed_error(engine, query, DNS_RCODE_SERVFAIL, DNS_FLAG_RA, error, response);
}

bool engine_refused(struct engine *engine, const struct engine_query *query,
                    struct response *response)
{
    return signed_error(engine, query, DNS_RCODE_REFUSED, 0, EDNS_ERROR_PROHIBITED, response);
}

/* ---- Answers ---- */

/* Answers a client whose search list, namespace or zone matters. */
static NOINLINE enum engine_verdict answer_known(struct engine *engine, const struct store *store,
                                                 struct engine_query *query,
                                                 const struct external_answers *externals,
                                                 struct response *response,
                                                 struct engine_deferral *ret_deferral)
{
    enum engine_verdict verdict;
    query->view = view_of(engine, query->client);
    verdict =
        engine->config->settings.autopath || query->search_list_at > 0
            ? search_list_try_answer(engine->path, store, query, externals, response, ret_deferral)
            : direct_answer(engine->direct, store, query, externals, response, ret_deferral);
    query->view.visibility = NULL; /* borrowed for this call; without it nothing else is read */
    return verdict;
}

/* Answers a client that asks for nothing but a cookie. */
static NOINLINE enum engine_verdict answer_cookie(struct engine *engine,
                                                  const struct engine_query *opened,
                                                  struct response *response,
                                                  struct engine_deferral *ret_deferral)
{
    bool is_wrong = check_cookie(engine, opened, opened->parsed) == COOKIE_WRONG;
    ret_deferral->wants_refresh = false;
    direct_error(engine->direct, opened, is_wrong ? DNS_RCODE_BADCOOKIE : DNS_RCODE_NOERROR,
                 DNS_FLAG_RA, EDNS_ERROR_NONE, response);
    return response->len > 0 ? ENGINE_REPLY : ENGINE_DROP;
}

static NOINLINE enum engine_verdict engine_refuse(struct engine *engine,
                                                  struct engine_query *opened,
                                                  struct response *response,
                                                  struct engine_deferral *ret_deferral)
{
    ret_deferral->is_barred = true;
    ret_deferral->wants_refresh = false;
    open_in_place(engine, opened);
    direct_error(engine->direct, opened, DNS_RCODE_REFUSED, 0, EDNS_ERROR_PROHIBITED, response);
    if (response->len == 0) {
        return ENGINE_DROP;
    }
    finish_response(engine, opened, response);
    return ENGINE_REPLY;
}

/* Answers a bad TSIG record (RFC 8945 5.2): NOTAUTH, with the reason in a TSIG record; FORMERR if
 * the record is malformed. */
static NOINLINE enum engine_verdict answer_unsound(struct engine *engine,
                                                   const struct engine_query *query,
                                                   struct response *response,
                                                   struct engine_deferral *ret_deferral)
{
    ret_deferral->wants_refresh = false;
    const bool is_malformed = engine->tsig.verdict == TSIG_MALFORMED;
    struct engine_query opened = *query;
    if (!is_malformed) {
        note_tsig(engine, &opened);
    }
    open_in_place(engine, &opened);
    direct_error(engine->direct, &opened, is_malformed ? DNS_RCODE_FORMERR : DNS_RCODE_NOTAUTH, 0,
                 EDNS_ERROR_NONE, response);
    finish_response(engine, &opened, response);
    return response->len > 0 ? ENGINE_REPLY : ENGINE_DROP;
}

/* Returns the query, which is signed if it has a good TSIG record. Returns NULL when its record is
 * bad: *ret_verdict is then the result. */
static NOINLINE struct engine_query *check_tsig(struct engine *engine, struct engine_query *query,
                                                struct response *response,
                                                struct engine_deferral *ret_deferral,
                                                enum engine_verdict *ret_verdict)
{
    query->parsed = parse_end(query, query->parsed);
    const struct tsig_query *tsig = open_tsig(engine, query);
    if (!tsig) {
        return query;
    }
    counter_add(&engine->counts.tsig[tsig->verdict], 1);
    if (tsig->verdict != TSIG_GOOD) {
        *ret_verdict = answer_unsound(engine, query, response, ret_deferral);
        return NULL;
    }
    query->tsig = tsig;
    engine->opened = *query;
    note_tsig(engine, &engine->opened);
    return &engine->opened;
}

static NOINLINE enum engine_verdict answer_and_finish(struct engine *engine,
                                                      const struct store *store,
                                                      struct engine_query *opened,
                                                      const struct external_answers *externals,
                                                      struct response *response,
                                                      struct engine_deferral *ret_deferral)
{
    bool is_cookie = opened->parsed->verdict == QUESTION_NONE && opened->gets & EDNS_ASKS_COOKIE;
    enum engine_verdict verdict =
        is_cookie ? answer_cookie(engine, opened, response, ret_deferral)
        : engine->knows_clients
            ? answer_known(engine, store, opened, externals, response, ret_deferral)
            : direct_answer(engine->direct, store, opened, externals, response, ret_deferral);
    if (verdict == ENGINE_REPLY) {
        finish_response(engine, opened, response);
    }
    return verdict;
}

/* Keeps the calls on every query's way few. */
enum engine_verdict engine_answer(struct engine *engine, const struct store *store,
                                  struct engine_query *query,
                                  const struct external_answers *externals,
                                  struct response *response, struct engine_deferral *ret_deferral)
{
    enum engine_verdict verdict;
    struct engine_query *opened = query;
    ret_deferral->is_barred = false;
    response->lacks_target = false;
    if (query->owned) {
        opened = &engine->opened;
        if (!open_whole(engine, query, opened)) {
            response->len = 0;
            return ENGINE_DROP;
        }
    } else {
        query->tsig = NULL;
        query->parsed = parse_begin(engine, query);
        if (engine->config->tsig && !query->parsed->is_ordinary && /* no ordinary query has TSIG */
            !(opened = check_tsig(engine, query, response, ret_deferral, &verdict))) {
            return verdict;
        }
    }
    if (!engine_admits(engine, query->client)) {
        return engine_refuse(engine, opened, response, ret_deferral);
    }
    open_in_place(engine, opened);
    if (opened->gets || opened != query) {
        return answer_and_finish(engine, store, opened, externals, response, ret_deferral);
    }
    return engine->knows_clients
               ? answer_known(engine, store, query, externals, response, ret_deferral)
               : direct_answer(engine->direct, store, query, externals, response, ret_deferral);
}

bool engine_outdates(enum engine_verdict verdict, const struct engine_deferral *deferral,
                     const struct external_answers *externals)
{
    return verdict == ENGINE_DEFER && deferral->kind == ENGINE_DEFER_LOOKUP &&
           !external_answers_cover(externals, deferral->questions, deferral->question_count);
}

void engine_look_ahead(struct engine *engine, const struct store *store,
                       const struct slice *queries, size_t count)
{
    const struct fast_query *ordinary[ENGINE_AHEAD_MAX];
    engine->ahead_count = count < ENGINE_AHEAD_MAX ? count : ENGINE_AHEAD_MAX;
    for (size_t i = 0; i < engine->ahead_count; i++) {
        struct query *parsed = &engine->ahead[i];
        query_parse_ordinary((const uint8_t *)queries[i].ptr, queries[i].len, parsed);
        ordinary[i] = parsed->is_ordinary ? &parsed->fast : NULL;
    }
    direct_look_ahead(engine->direct, store, ordinary, engine->ahead_count);
}

bool engine_forwarded(struct engine *engine, const struct engine_query *query,
                      const struct parsed_response *upstream, struct cache_image *image,
                      struct response *response)
{
    struct engine_query opened;
    if (!open_whole(engine, query, &opened)) {
        return false;
    }
    opened.view = engine->knows_clients ? view_of(engine, query->client)
                                        : (struct client_view){.space = NULL};
    if (!search_list_try_forwarded(engine->path, &opened, upstream, image, response)) {
        return false;
    }
    finish_response(engine, &opened, response);
    return true;
}

const struct engine_counts *engine_counts(const struct engine *engine)
{
    return &engine->counts;
}
