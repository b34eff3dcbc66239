#include "skydns/engine/engine.h"

#include <stdlib.h>

#include "common/base/attributes.h"
#include "common/base/xalloc.h"
#include "common/dns/dns.h"
#include "skydns/clients/client_index.h"
#include "skydns/clients/client_view.h"
#include "skydns/engine/admission_internal.h"
#include "skydns/engine/cookie_envelope_internal.h"
#include "skydns/engine/direct_internal.h"
#include "skydns/engine/path_walk_internal.h"
#include "skydns/engine/tsig_envelope_internal.h"
#include "skydns/wire/edns.h"

struct engine {
    const struct engine_config *config;
    uint64_t config_serial;
    struct direct *direct;
    struct path_walk *path;
    struct admission admission;
    size_t ahead_count; /* queries looked ahead at, with these envelopes if they have cookies */
    struct cookie_envelope ahead[ENGINE_AHEAD_MAX];
    struct cookie_envelope alone; /* of one that is not among them */
    struct tsig_envelope tsig;    /* of the query being answered */
    struct engine_counts counts;
};

struct engine *engine_new(const struct engine_config *config)
{
    struct engine *engine = xcalloc(1, sizeof(*engine));
    engine->config = config;
    engine->config_serial = config->serial;
    engine->direct = direct_new(config);
    engine->path = path_walk_new(config, engine->direct, &engine->counts);
    return engine;
}

void engine_free(struct engine *engine)
{
    if (!engine) {
        return;
    }
    path_walk_free(engine->path);
    direct_free(engine->direct);
    free(engine);
}

/* A new configuration may have an old one's address: the serial tells them apart. */
void engine_configure(struct engine *engine, const struct engine_config *config)
{
    if (engine->config != config || engine->config_serial != config->serial) {
        engine->config = config;
        engine->config_serial = config->serial;
        engine->ahead_count = 0;
        direct_configure(engine->direct, config);
        path_walk_configure(engine->path, config);
    }
}

/* ---- The client ---- */

static struct client_view view_of(const struct engine *engine, const struct addr *client)
{
    const struct engine_config *config = engine->config;
    struct client_view view = {.visibility = config->visibility};
    if (config->clients) {
        const struct ip ip = addr_ip(client);
        view.space = client_index_find(config->clients, &ip);
    }
    return view;
}

/* ---- Cookies ---- */

/* A query as the answers see it. */
struct opened {
    const struct cookie_envelope *envelope; /* NULL: it has no cookie */
    struct engine_query query;
};

/* NULL: it has no cookie, or nobody wants it. */
static const struct cookie_envelope *find_envelope(struct engine *engine,
                                                   const struct engine_query *query)
{
    struct cookie_envelope *envelope = &engine->alone;
    if (engine->config->cookies.count == 0 || !cookie_may_be_in(query->wire, query->len)) {
        return NULL;
    }
    if (query->ahead > 0 && query->ahead <= engine->ahead_count) {
        envelope = &engine->ahead[query->ahead - 1];
    } else {
        cookie_open(envelope, query->wire, query->len);
    }
    return envelope->cookie.len > 0 ? envelope : NULL;
}

static struct engine_query without_cookie(const struct engine_query *query,
                                          const struct cookie_envelope *envelope)
{
    struct engine_query plain = *query;
    plain.wire = (const uint8_t *)envelope->query.ptr;
    plain.len = envelope->query.len;
    plain.reserved += COOKIE_OPTION_SIZE;
    return plain;
}

static struct opened open_query(struct engine *engine, const struct engine_query *query)
{
    struct opened opened = {.envelope = find_envelope(engine, query)};
    opened.query = opened.envelope ? without_cookie(query, opened.envelope) : *query;
    return opened;
}

static size_t close_reply(const struct engine *engine, const struct engine_query *query,
                          const struct cookie_envelope *envelope, uint8_t *reply, size_t len)
{
    if (!envelope || len == 0) {
        return len;
    }
    const struct ip ip = addr_ip(query->client);
    return cookie_close(envelope, &engine->config->cookies, &ip, (uint32_t)query->now_s, reply,
                        len);
}

static enum cookie_verdict check_cookie(const struct engine *engine,
                                        const struct engine_query *query,
                                        const struct cookie_envelope *envelope)
{
    const struct ip ip = addr_ip(query->client);
    return cookie_check(&engine->config->cookies, &envelope->cookie, &ip, (uint32_t)query->now_s);
}

enum cookie_verdict engine_check_cookie(struct engine *engine, const struct engine_query *query)
{
    const struct cookie_envelope *envelope = find_envelope(engine, query);
    return envelope ? check_cookie(engine, query, envelope) : COOKIE_ALONE;
}

/* ---- Errors ---- */

/* To a query without its TSIG record. */
static size_t error_reply(struct engine *engine, const struct engine_query *query,
                          enum dns_rcode rcode, uint16_t flags, enum edns_error error,
                          uint8_t *reply)
{
    const struct opened opened = open_query(engine, query);
    size_t len = direct_error(engine->direct, &opened.query, rcode, flags, error, reply);
    return close_reply(engine, query, opened.envelope, reply, len);
}

/* NULL: the query is not signed well, or nobody asks. */
static const struct tsig_envelope *find_good(struct engine *engine,
                                             const struct engine_query *query)
{
    const struct tsig_envelope *envelope =
        tsig_envelope_open(&engine->tsig, engine->config->tsig, query);
    return envelope && envelope->tsig.verdict == TSIG_GOOD ? envelope : NULL;
}

static size_t signed_error(struct engine *engine, const struct engine_query *query,
                           enum dns_rcode rcode, uint16_t flags, enum edns_error error,
                           uint8_t *reply)
{
    const struct tsig_envelope *envelope = find_good(engine, query);
    if (!envelope) {
        return error_reply(engine, query, rcode, flags, error, reply);
    }
    const struct engine_query plain = tsig_envelope_query(envelope, query);
    size_t len = error_reply(engine, &plain, rcode, flags, error, reply);
    return tsig_envelope_close(envelope, query, reply, len);
}

/* Not signed, so that a flood of these costs no hash. RA: without it, glibc's resolver takes an
 * empty reply for a referral, and asks another server. */
size_t engine_limited(struct engine *engine, const struct engine_query *query,
                      enum cookie_verdict cookie, uint8_t *reply)
{
    return cookie == COOKIE_WRONG ? error_reply(engine, query, DNS_RCODE_BADCOOKIE, DNS_FLAG_RA,
                                                EDNS_ERROR_NONE, reply)
                                  : error_reply(engine, query, DNS_RCODE_NOERROR,
                                                DNS_FLAG_TC | DNS_FLAG_RA, EDNS_ERROR_NONE, reply);
}

size_t engine_servfail(struct engine *engine, const struct engine_query *query,
                       enum edns_error error, uint8_t *reply)
{
    return signed_error(engine, query, DNS_RCODE_SERVFAIL, DNS_FLAG_RA, error, reply);
}

size_t engine_refused(struct engine *engine, const struct engine_query *query, uint8_t *reply)
{
    return signed_error(engine, query, DNS_RCODE_REFUSED, 0, EDNS_ERROR_PROHIBITED, reply);
}

/* ---- Answers ---- */

/* To a client whose search path or namespace matters. */
static NOINLINE enum engine_verdict answer_known(struct engine *engine, const struct store *store,
                                                 const struct engine_query *query,
                                                 const struct external_answers *externals,
                                                 uint8_t *reply, size_t *ret_len,
                                                 struct engine_deferral *ret_deferral)
{
    struct engine_query known = *query;
    known.view = view_of(engine, query->client);
    enum engine_verdict verdict =
        path_walk_answer(engine->path, store, &known, externals, reply, ret_len, ret_deferral);
    ret_deferral->name_len = 0; /* it may have been another place's */
    return verdict;
}

/* To a query without its cookie. */
static enum engine_verdict answer(struct engine *engine, const struct store *store,
                                  const struct engine_query *query,
                                  const struct external_answers *externals, uint8_t *reply,
                                  size_t *ret_len, struct engine_deferral *ret_deferral)
{
    return engine->config->clients || engine->config->visibility
               ? answer_known(engine, store, query, externals, reply, ret_len, ret_deferral)
               : direct_answer(engine->direct, store, query, externals, reply, ret_len,
                               ret_deferral);
}

/* The client asks for nothing but a cookie. */
static enum engine_verdict answer_cookie(struct engine *engine, const struct engine_query *query,
                                         uint8_t *reply, size_t *ret_len,
                                         struct engine_deferral *ret_deferral)
{
    bool is_wrong = engine_check_cookie(engine, query) == COOKIE_WRONG;
    ret_deferral->wants_refresh = false;
    *ret_len = error_reply(engine, query, is_wrong ? DNS_RCODE_BADCOOKIE : DNS_RCODE_NOERROR,
                           DNS_FLAG_RA, EDNS_ERROR_NONE, reply);
    return *ret_len > 0 ? ENGINE_REPLY : ENGINE_DROP;
}

static NOINLINE enum engine_verdict answer_with_cookie(
    struct engine *engine, const struct store *store, const struct engine_query *query,
    const struct cookie_envelope *envelope, const struct external_answers *externals,
    uint8_t *reply, size_t *ret_len, struct engine_deferral *ret_deferral)
{
    const struct engine_query plain = without_cookie(query, envelope);
    if (!envelope->has_question) {
        return answer_cookie(engine, query, reply, ret_len, ret_deferral);
    }
    enum engine_verdict verdict =
        answer(engine, store, &plain, externals, reply, ret_len, ret_deferral);
    if (verdict == ENGINE_REPLY) {
        *ret_len = close_reply(engine, query, envelope, reply, *ret_len);
    }
    return verdict;
}

static NOINLINE enum engine_verdict bar(struct engine *engine, const struct engine_query *query,
                                        uint8_t *reply, size_t *ret_len,
                                        struct engine_deferral *ret_deferral)
{
    ret_deferral->is_barred = true;
    ret_deferral->wants_refresh = false;
    *ret_len = error_reply(engine, query, DNS_RCODE_REFUSED, 0, EDNS_ERROR_PROHIBITED, reply);
    return *ret_len > 0 ? ENGINE_REPLY : ENGINE_DROP;
}

/* To a query without its TSIG record. */
static inline enum engine_verdict answer_open(struct engine *engine, const struct store *store,
                                              const struct engine_query *query,
                                              const struct external_answers *externals,
                                              uint8_t *reply, size_t *ret_len,
                                              struct engine_deferral *ret_deferral)
{
    if (!admission_admits(&engine->admission, engine->config, query->client)) {
        return bar(engine, query, reply, ret_len, ret_deferral);
    }
    ret_deferral->is_barred = false;
    const struct cookie_envelope *envelope = find_envelope(engine, query);
    if (envelope) {
        return answer_with_cookie(engine, store, query, envelope, externals, reply, ret_len,
                                  ret_deferral);
    }
    return answer(engine, store, query, externals, reply, ret_len, ret_deferral);
}

/* RFC 8945 5.2: NOTAUTH, and why in the TSIG record; FORMERR if that makes no sense. */
static enum engine_verdict answer_unsound(struct engine *engine, const struct engine_query *query,
                                          const struct tsig_envelope *envelope, uint8_t *reply,
                                          size_t *ret_len, struct engine_deferral *ret_deferral)
{
    ret_deferral->is_barred = false;
    ret_deferral->wants_refresh = false;
    if (envelope->tsig.verdict == TSIG_MALFORMED) {
        *ret_len = error_reply(engine, query, DNS_RCODE_FORMERR, 0, EDNS_ERROR_NONE, reply);
    } else {
        const struct engine_query plain = tsig_envelope_query(envelope, query);
        *ret_len = error_reply(engine, &plain, DNS_RCODE_NOTAUTH, 0, EDNS_ERROR_NONE, reply);
        *ret_len = tsig_envelope_close(envelope, query, reply, *ret_len);
    }
    return *ret_len > 0 ? ENGINE_REPLY : ENGINE_DROP;
}

static NOINLINE enum engine_verdict answer_signed_query(
    struct engine *engine, const struct store *store, const struct engine_query *query,
    const struct tsig_envelope *envelope, const struct external_answers *externals, uint8_t *reply,
    size_t *ret_len, struct engine_deferral *ret_deferral)
{
    if (!query->is_repeated) {
        counter_add(&engine->counts.tsig[envelope->tsig.verdict], 1);
    }
    if (envelope->tsig.verdict != TSIG_GOOD) {
        return answer_unsound(engine, query, envelope, reply, ret_len, ret_deferral);
    }
    const struct engine_query plain = tsig_envelope_query(envelope, query);
    enum engine_verdict verdict =
        answer_open(engine, store, &plain, externals, reply, ret_len, ret_deferral);
    ret_deferral->is_signed = true;
    if (verdict == ENGINE_REPLY) {
        *ret_len = tsig_envelope_close(envelope, query, reply, *ret_len);
    }
    return verdict;
}

enum engine_verdict engine_answer(struct engine *engine, const struct store *store,
                                  const struct engine_query *query,
                                  const struct external_answers *externals, uint8_t *reply,
                                  size_t *ret_len, struct engine_deferral *ret_deferral)
{
    ret_deferral->is_signed = false;
    ret_deferral->name_len = 0;
    if (engine->config->tsig) {
        const struct tsig_envelope *envelope =
            tsig_envelope_open(&engine->tsig, engine->config->tsig, query);
        if (envelope) {
            return answer_signed_query(engine, store, query, envelope, externals, reply, ret_len,
                                       ret_deferral);
        }
    }
    return answer_open(engine, store, query, externals, reply, ret_len, ret_deferral);
}

void engine_look_ahead(struct engine *engine, const struct store *store,
                       const struct slice *queries, size_t count)
{
    struct slice plain[ENGINE_AHEAD_MAX];
    engine->ahead_count = 0;
    if (engine->config->cookies.count == 0) {
        direct_look_ahead(engine->direct, store, queries, count);
        return;
    }
    for (; engine->ahead_count < count && engine->ahead_count < ENGINE_AHEAD_MAX;
         engine->ahead_count++) {
        struct slice query = queries[engine->ahead_count];
        struct cookie_envelope *envelope = &engine->ahead[engine->ahead_count];
        const uint8_t *wire = (const uint8_t *)query.ptr;
        plain[engine->ahead_count] = query;
        if (cookie_may_be_in(wire, query.len)) {
            cookie_open(envelope, wire, query.len);
            plain[engine->ahead_count] = envelope->query;
        }
    }
    direct_look_ahead(engine->direct, store, plain, engine->ahead_count);
}

size_t engine_forwarded(struct engine *engine, const struct engine_query *query,
                        const uint8_t *upstream, size_t upstream_len, uint8_t *reply)
{
    const struct tsig_envelope *envelope = find_good(engine, query);
    const struct engine_query plain = envelope ? tsig_envelope_query(envelope, query) : *query;
    struct opened opened = open_query(engine, &plain);
    opened.query.view = view_of(engine, query->client);
    size_t len = path_walk_forwarded(engine->path, &opened.query, upstream, upstream_len, reply);
    len = close_reply(engine, &plain, opened.envelope, reply, len);
    return envelope ? tsig_envelope_close(envelope, query, reply, len) : len;
}

const struct engine_counts *engine_counts(const struct engine *engine)
{
    return &engine->counts;
}
