/* What happens to a deferred query between resolver_take and its reply. */
#include <stdlib.h>
#include <string.h>

#include "common/base/cleanup.h"
#include "common/base/client_net.h"
#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/base/xalloc.h"
#include "common/dns/dns.h"
#include "skydns/answer/engine.h"
#include "skydns/serve/query_log_internal.h"
#include "skydns/serve/resolver_internal.h"
#include "skydns/serve/tcp_server.h"
#include "skydns/serve/udp_server.h"
#include "skydns/serve/walker.h"
#include "skydns/store/snapshot.h"
#include "skydns/store/store.h"
#include "skydns/upstream/external.h"
#include "skydns/upstream/forwarder.h"
#include "skydns/upstream/loop_check.h"
#include "skydns/upstream/recursion.h"

/* Time between log lines about refused clients. */
enum { REFUSAL_PAUSE_MS = 60 * 60 * 1000 };

static struct engine_query query_of(struct resolver *r, const struct deferred *d)
{
    return (struct engine_query){
        .wire = d->wire,
        .len = d->len,
        .client = &d->client,
        .local = &d->local,
        .transport = d->origin.udp ? ENGINE_UDP : ENGINE_TCP,
        .now_s = clock_wall_s(),
        .now_ms = clock_monotonic_ms(),
        .random = rng_next(&r->rng),
    };
}

enum engine_verdict resolver_answer(struct resolver *r, const struct engine_query *query,
                                    const struct external_answers *externals, uint8_t *reply,
                                    size_t *ret_len)
{
    struct engine_query brief = *query;
    brief.is_brief = true;
    enum engine_verdict verdict =
        engine_answer(r->config.engine, r->store, &brief, externals, reply, ret_len, &r->deferral);
    if (verdict != ENGINE_DEFER || r->deferral.kind != ENGINE_DEFER_WALK ||
        r->expensive_left == 0) {
        return verdict;
    }
    r->expensive_left--;
    return engine_answer(r->config.engine, r->store, query, externals, reply, ret_len,
                         &r->deferral);
}

/* ---- The end of a query ---- */

static void free_lookup(struct resolver *r, struct lookup *lookup)
{
    if (lookup) {
        client_loads_drop(r->lookup_loads, &lookup->deferred->client);
        buf_fini(&lookup->packed);
        free(lookup);
        r->lookup_count--;
    }
}

void resolver_release(struct resolver *r, struct deferred *d)
{
    TAILQ_REMOVE(&r->in_hand, d, entry);
    counter_sub(&r->counts.in_hand, 1);
    client_loads_drop(r->loads, &d->client);
    free_lookup(r, d->lookup);
    deferred_free(d);
}

/* Sends what is in r->reply; len 0: nothing. */
static void finish(struct resolver *r, struct deferred *d, size_t len)
{
    if (r->config.verbose && len) {
        struct engine_query query = query_of(r, d);
        query_log(&query, r->reply, len);
    }
    struct query_counts *counts = d->origin.udp ? &r->counts.udp : &r->counts.tcp;
    if (counts->skydns) {
        skydns_counts_begin(counts->skydns, d->begun_us, d->kind == ENGINE_DEFER_FORWARD);
    }
    query_counts_reply(counts, r->reply, len);
    if (!d->origin.udp) {
        (void)tcp_server_reply(r->tcp, d->origin.tcp, r->reply, len); /* false: it is gone */
    } else if (len && !udp_server_send_one(d->origin.udp, &d->client, &d->local, r->reply, len)) {
        counter_add(&r->counts.udp.unsent, 1); /* lost as on any link: the client retries */
    }
    resolver_release(r, d);
}

void resolver_refuse(struct resolver *r, struct deferred *d)
{
    struct engine_query query = query_of(r, d);
    finish(r, d, engine_servfail(r->config.engine, &query, EDNS_ERROR_NONE, r->reply));
}

/* ---- WALK ---- */

static unsigned walks_of(const struct resolver *r, const struct addr *client)
{
    const struct client_net net = client_net_of(client);
    unsigned count = 0;
    for (size_t i = 0; i < r->walk_count; i++) {
        const struct client_net other = client_net_of(&r->walks[i]->client);
        count += client_net_equal(&net, &other);
    }
    return count;
}

/* Passes it to the walker; with r->answers, `external_count` of them, to the questions that records
 * of this revision led to. */
static void walk(struct resolver *r, struct deferred *d, size_t external_count, int64_t revision)
{
    if (r->walk_count == RESOLVER_WALKS_MAX ||
        walks_of(r, &d->client) >= RESOLVER_CLIENT_WALKS_MAX) {
        resolver_refuse(r, d);
        return;
    }
    struct engine_query query = query_of(r, d);
    struct walk *walk = walk_new(&query, d);
    if (external_count) {
        walk_set_externals(walk, r->answers, external_count, revision);
    }
    r->walks[r->walk_count++] = d;
    walker_push(r->walker, walk);
}

static void look_up(struct resolver *r, struct deferred *d, int64_t revision);

/* False: it was given up, at the end of the drain. */
static bool take_back(struct resolver *r, const struct deferred *d)
{
    for (size_t i = 0; i < r->walk_count; i++) {
        if (r->walks[i] == d) {
            r->walks[i] = r->walks[--r->walk_count];
            return true;
        }
    }
    return false;
}

static void end_walk(struct resolver *r, struct deferred *d, const struct walk *walk)
{
    switch (walk->verdict) {
    case ENGINE_REPLY:
        memcpy(r->reply, walk->reply, walk->reply_len);
        finish(r, d, walk->reply_len);
        return;
    case ENGINE_DROP:
        finish(r, d, 0);
        return;
    case ENGINE_DEFER:
        break;
    }
    if (walk->deferral.kind == ENGINE_DEFER_LOOKUP) {
        d->kind = ENGINE_DEFER_WALK; /* as its second answer will be */
        r->deferral = walk->deferral;
        look_up(r, d, walk->revision);
    } else {
        resolver_refuse(r, d);
    }
}

void resolver_walked(struct resolver *r)
{
    struct walk *walk;
    while ((walk = walker_pop(r->walker))) {
        if (take_back(r, walk->data)) {
            end_walk(r, walk->data, walk);
        }
        walk_free(walk);
    }
}

/* ---- LOOKUP ---- */

/* True if the records have changed meanwhile and now point to names not asked about: without their
 * addresses, the answer would deny existing ones. If that is a WALK, so is the answer, and
 * the walker sees. */
static bool is_outdated(struct resolver *r, const struct deferred *d,
                        const struct external_answers *externals)
{
    struct engine_query query = query_of(r, d);
    size_t len;
    return r->store && store_revision(r->store) != d->lookup->revision &&
           resolver_answer(r, &query, NULL, r->reply, &len) == ENGINE_DEFER &&
           r->deferral.kind == ENGINE_DEFER_LOOKUP &&
           !external_answers_cover(externals, r->deferral.questions, r->deferral.question_count);
}

/* Asks the engine again, on the store's current version, with r->answers to the questions that
 * records of this revision led to. */
static void answer_with(struct resolver *r, struct deferred *d, size_t count, int64_t revision)
{
    const struct external_answers externals = {.count = count, .items = r->answers};
    struct engine_query query = query_of(r, d);
    size_t len = 0;
    if (d->kind == ENGINE_DEFER_WALK) {
        walk(r, d, count, revision);
        return;
    }
    enum engine_verdict verdict = resolver_answer(r, &query, &externals, r->reply, &len);
    if (verdict == ENGINE_DEFER && r->deferral.kind == ENGINE_DEFER_WALK) {
        walk(r, d, count, revision);
    } else if (verdict ==
               ENGINE_DEFER) { /* the name left the domain meanwhile: the client should retry */
        resolver_refuse(r, d);
    } else {
        finish(r, d, verdict == ENGINE_REPLY ? len : 0);
    }
}

/* No question is in flight any more. */
static void answer_with_externals(struct resolver *r, struct deferred *d)
{
    const struct lookup *lookup = d->lookup;
    for (size_t i = 0; i < lookup->count; i++) {
        const struct lookup_item *item = &lookup->items[i];
        const uint8_t *packed = item->packed_len ? lookup->packed.data + item->packed_at : NULL;
        r->answers[i] = (struct external_answer){
            .question = item->question,
            .outcome = item->outcome,
            .records = slice_of(packed, item->packed_len),
        };
    }
    const struct external_answers externals = {.count = lookup->count, .items = r->answers};
    if (d->kind != ENGINE_DEFER_WALK && is_outdated(r, d, &externals)) { /* ask again, please */
        resolver_refuse(r, d);
        return;
    }
    answer_with(r, d, lookup->count, lookup->revision);
}

/* Once for all who share the reply. */
static void reduce(struct resolver *r, const struct external_question *question,
                   const uint8_t *reply, size_t len)
{
    uint64_t number = forwarder_reply_number(r->forwarder);
    if (number != r->reduced.number) {
        r->reduced.number = number;
        buf_clear(&r->reduced.packed);
        r->reduced.outcome = external_read(question, reply, len, &r->reduced.packed);
    }
}

/* What the client can use of it. Over UDP, no more addresses than a datagram holds, so that a long
 * reply costs what a short one does: it asks for the rest over TCP. Over TCP, part of an answer
 * would pass for the whole. */
static void fit_client(struct resolver *r, const struct deferred *d, size_t room,
                       struct external_answer *answer)
{
    enum { ADDRESS_RR_MIN = 16 };
    if (d->origin.udp) {
        const struct engine_config *config = snapshot_config(r->config.reader);
        external_answer_cut(answer, EXTERNAL_CNAMES_MAX + config->max_udp_size / ADDRESS_RR_MIN);
    }
    if (answer->records.len > room) {
        answer->outcome = EXTERNAL_TRUNCATED;
        answer->records.len = 0;
    }
    if (answer->outcome == EXTERNAL_TRUNCATED && !d->origin.udp) {
        answer->outcome = EXTERNAL_FAILED;
        answer->records.len = 0;
    }
}

static void on_external(void *data, const uint8_t *reply, size_t len)
{
    struct lookup_item *item = data;
    struct lookup *lookup = item->lookup;
    struct buf *packed = &lookup->packed;
    struct deferred *d = lookup->deferred;
    struct resolver *r = d->resolver;
    reduce(r, &item->question, reply, len);
    struct external_answer answer = {.outcome = r->reduced.outcome,
                                     .records = buf_slice(&r->reduced.packed)};
    fit_client(r, d, packed->limit - packed->len, &answer);
    item->outcome = answer.outcome;
    item->packed_at = packed->len;
    item->packed_len = answer.records.len;
    buf_append_slice(packed, answer.records);
    counter_add(&r->counts.failures, item->outcome == EXTERNAL_FAILED);
    if (--lookup->waiting == 0) {
        answer_with_externals(r, d);
    }
}

/* At the limit nothing is asked: as if no nameserver replied. */
static void do_without(struct resolver *r, struct deferred *d, int64_t revision)
{
    size_t count = r->deferral.question_count;
    for (size_t i = 0; i < count; i++) {
        r->answers[i] = (struct external_answer){.question = r->deferral.questions[i],
                                                 .outcome = EXTERNAL_FAILED};
    }
    counter_add(&r->counts.failures, count);
    answer_with(r, d, count, revision);
}

/* Asks the questions in r->deferral, which records of this revision led to. */
static void look_up(struct resolver *r, struct deferred *d, int64_t revision)
{
    size_t count = r->deferral.question_count;
    if (client_loads_add(r->lookup_loads, &d->client) + r->lookup_count > RESOLVER_LOOKUPS_MAX) {
        client_loads_drop(r->lookup_loads, &d->client);
        do_without(r, d, revision);
        return;
    }
    struct lookup *lookup = xcalloc(1, sizeof(*lookup) + count * sizeof(lookup->items[0]));
    buf_init(&lookup->packed, d->origin.udp ? EXTERNAL_PACKED_UDP_MAX : EXTERNAL_PACKED_MAX);
    lookup->deferred = d;
    lookup->count = count;
    lookup->revision = revision;
    d->lookup = lookup;
    r->lookup_count++;
    for (size_t i = 0; i < count; i++) {
        struct lookup_item *item = &lookup->items[i];
        item->lookup = lookup;
        item->question = r->deferral.questions[i];
        item->outcome = EXTERNAL_FAILED; /* until a reply says otherwise */
        struct upstream_question question = {.name = item->question.name,
                                             .type = item->question.type,
                                             .qclass = DNS_CLASS_IN,
                                             .flags = DNS_FLAG_RD};
        dname_lower(&question.name);
        bool is_sent = forwarder_ask(r->forwarder, &question, rng_next(&r->rng), on_external, item);
        counter_add(is_sent ? &r->counts.lookups : &r->counts.failures, 1);
        lookup->waiting += is_sent;
    }
    if (lookup->waiting == 0) { /* no question could be sent */
        answer_with_externals(r, d);
    }
}

/* ---- FORWARD ---- */

static void on_forwarded(void *data, const uint8_t *reply, size_t len)
{
    struct deferred *d = data;
    struct resolver *r = d->resolver;
    struct engine_query query = query_of(r, d);
    size_t reply_len = reply ? engine_forwarded(r->config.engine, &query, reply, len, r->reply) : 0;
    if (reply_len) {
        finish(r, d, reply_len);
    } else {
        counter_add(&r->counts.failures, 1);
        resolver_refuse(r, d);
    }
}

/* Answers REFUSED, and tells the operator once an hour. */
static void refuse_recursion(struct resolver *r, struct deferred *d)
{
    char client[ADDR_TEXT_MAX];
    int64_t now_ms = clock_monotonic_ms();
    counter_add(&r->counts.not_allowed, 1);
    if (r->refusal_told_ms == 0 || now_ms - r->refusal_told_ms >= REFUSAL_PAUSE_MS) {
        r->refusal_told_ms = now_ms;
        log_warn("refusing queries for other domains; set -allow-recursion to allow them",
                 LOG_STR("client", addr_format(&d->client, client)));
    }
    struct engine_query query = query_of(r, d);
    finish(r, d, engine_refused(r->config.engine, &query, r->reply));
}

/* The client's id spreads the questions over the servers, as in SkyDNS. */
static void forward(struct resolver *r, struct deferred *d)
{
    struct upstream_question question;
    if (!upstream_question_read(d->wire, d->len, &question) ||
        loop_check_came_back(r->loop_check, &question.name)) {
        resolver_refuse(r, d);
    } else if (!recursion_allows(r->config.recursion, &d->client, clock_monotonic_ms())) {
        refuse_recursion(r, d);
    } else if (forwarder_ask(r->forwarder, &question, (unsigned)(d->wire[0] << 8 | d->wire[1]),
                             on_forwarded, d)) {
        counter_add(&r->counts.forwarded, 1);
    } else {
        counter_add(&r->counts.failures, 1);
        resolver_refuse(r, d);
    }
}

void resolver_begin(struct resolver *r, struct deferred *d)
{
    struct engine_query query = query_of(r, d);
    size_t len = 0;
    if (d->kind == ENGINE_DEFER_WALK) {
        walk(r, d, 0, 0);
        return;
    }
    switch (resolver_answer(r, &query, NULL, r->reply, &len)) {
    case ENGINE_REPLY:
        finish(r, d, len);
        return;
    case ENGINE_DROP:
        finish(r, d, 0);
        return;
    case ENGINE_DEFER:
        break;
    }
    switch (r->deferral.kind) {
    case ENGINE_DEFER_LOOKUP:
        look_up(r, d, r->store ? store_revision(r->store) : 0);
        break;
    case ENGINE_DEFER_FORWARD:
        forward(r, d);
        break;
    case ENGINE_DEFER_WALK:
        walk(r, d, 0, 0);
        break;
    case ENGINE_DEFER_REFRESH: /* never of the engine */
        break;
    }
}

/* A client may have as many as are free: alone, half of them. */
bool resolver_take(struct resolver *r, struct deferred *d)
{
    d->resolver = r;
    TAILQ_INSERT_TAIL(&r->in_hand, d, entry);
    counter_add(&r->counts.in_hand, 1);
    return client_loads_add(r->loads, &d->client) + counter_get(&r->counts.in_hand) <=
           RESOLVER_IN_HAND_MAX + 1;
}
