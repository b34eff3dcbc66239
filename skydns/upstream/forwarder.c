/* Keeps the table of outstanding questions with the queries that wait for each, and decides whether
 * another may begin. */
#include "skydns/upstream/forwarder.h"

#include <stdlib.h>
#include <sys/random.h>

#include "common/base/cleanup.h"
#include "common/base/log.h"
#include "common/base/xalloc.h"
#include "skydns/external/zone_table.h"
#include "skydns/upstream/upstream_health_internal.h"
#include "skydns/upstream/upstream_query_internal.h"

static struct upstream_query *find_upstream_query(const struct forwarder *f,
                                                  const struct upstream_question *q, uint32_t hash)
{
    struct upstream_query *upstream_query;
    LIST_FOREACH(upstream_query, &f->table[hash % FORWARDER_TABLE_SIZE], entry)
    {
        if (upstream_question_equal(&upstream_query->question, q)) {
            return upstream_query;
        }
    }
    return NULL;
}

/* Returns whether a question may begin. A question that no query waits for is ended for one that a
 * query waits for. */
static bool may_begin(struct forwarder *f, const struct upstream_zone *zone, bool is_waited)
{
    static struct log_limit limit = {.burst = 1};
    size_t eighth = f->config.sockets_max / 8;
    size_t background_max = eighth < FORWARDER_BACKGROUND_MAX ? eighth : FORWARDER_BACKGROUND_MAX;
    if (!is_waited && counter_get(&f->counts.background) >= (background_max ? background_max : 1)) {
        return false;
    }
    while (is_waited && f->sockets >= upstream_query_sockets_max(f) &&
           !TAILQ_EMPTY(&f->background)) {
        upstream_query_give_way(TAILQ_FIRST(&f->background));
    }
    if (!upstream_query_has_room(f, zone) && is_waited && log_limit_pass(&limit)) {
        log_warn("too many queries waiting for upstreams, refusing more",
                 LOG_INT("waiting", (int64_t)counter_get(&f->counts.questions)));
    }
    return upstream_query_has_room(f, zone);
}

static void suspect_loop(struct forwarder *f)
{
    if (f->config.suspect_loop) {
        f->config.suspect_loop(f->config.data);
    }
}

static void forwarder_join(struct upstream_query *upstream_query, struct forwarder_wait *wait)
{
    struct forwarder *f = upstream_query->owner;
    counter_add(&f->counts.shared, 1);
    upstream_query_wait(upstream_query, wait);
    if (!upstream_query->question.is_stub) {
        suspect_loop(f);
    }
}

enum forwarder_start forwarder_ask(struct forwarder *forwarder, const struct forward_zone *zone,
                                   const struct upstream_question *question, unsigned rotation,
                                   struct forwarder_wait *wait)
{
    struct forwarder *f = forwarder;
    struct nameserver order[UPSTREAMS_MAX];
    struct upstream_question q = *question;
    if (wait && wait->client) {
        wait->turn.net = client_net_of(wait->client);
    }
    q.zone_serial = zone->serial;
    q.is_stub = zone_is_stub(zone);
    uint32_t hash = upstream_question_hash(&q, f->seed);
    struct upstream_query *upstream_query = find_upstream_query(f, &q, hash);
    if (upstream_query) {
        if (wait) {
            forwarder_join(upstream_query, wait);
        }
        return FORWARDER_ASKED;
    }
    struct upstream_zone *asked = upstream_zones_get(f->zones, zone);
    if (upstream_health_order(asked->health, 0, order) == 0) {
        return FORWARDER_NO_SERVER;
    }
    if (!may_begin(f, asked, wait != NULL)) {
        return FORWARDER_FULL;
    }
    upstream_query = upstream_query_new(f, asked, &q, rotation, wait ? wait->client : NULL);
    LIST_INSERT_HEAD(&f->table[hash % FORWARDER_TABLE_SIZE], upstream_query, entry);
    counter_add(&f->counts.questions, 1);
    if (wait) {
        upstream_query_wait(upstream_query, wait);
    }
    upstream_query_begin(upstream_query);
    return FORWARDER_ASKED;
}

/* ---- Waiting queries ---- */

void upstream_query_join_background(struct upstream_query *upstream_query)
{
    TAILQ_INSERT_TAIL(&upstream_query->owner->background, upstream_query, background_entry);
    counter_add(&upstream_query->owner->counts.background, 1);
}

void upstream_query_leave_background(struct upstream_query *upstream_query)
{
    TAILQ_REMOVE(&upstream_query->owner->background, upstream_query, background_entry);
    counter_sub(&upstream_query->owner->counts.background, 1);
}

void upstream_query_wait(struct upstream_query *upstream_query, struct forwarder_wait *wait)
{
    if (TAILQ_EMPTY(&upstream_query->waits)) {
        upstream_query_leave_background(upstream_query);
    }
    upstream_query->was_waited = true;
    wait->upstream_query = upstream_query;
    TAILQ_INSERT_TAIL(&upstream_query->waits, wait, entry);
}

struct forwarder_wait *upstream_query_next_wait(struct upstream_query *upstream_query)
{
    struct forwarder_wait *wait = TAILQ_FIRST(&upstream_query->waits);
    if (wait) {
        TAILQ_REMOVE(&upstream_query->waits, wait, entry);
        wait->upstream_query = NULL;
    }
    return wait;
}

void forwarder_forget(struct forwarder_wait *wait)
{
    if (wait->shared) {
        reply_portions_forget(wait);
        return;
    }
    struct upstream_query *upstream_query = STEAL(wait->upstream_query);
    if (!upstream_query) {
        return;
    }
    TAILQ_REMOVE(&upstream_query->waits, wait, entry);
    if (TAILQ_EMPTY(&upstream_query->waits)) {
        upstream_query_join_background(upstream_query);
    }
}

/* ---- Life ---- */

void forwarder_on_revived(struct forwarder *f, const struct upstream_zone *zone, bool was_away)
{
    if (zone->name.len == 1) {
        suspect_loop(f);
    }
    if (f->config.revived) {
        f->config.revived(f->config.ended_data, zone->serial, was_away);
    }
}

struct forwarder *forwarder_new(const struct forwarder_config *config)
{
    struct forwarder *f = xcalloc_aligned(alignof(struct forwarder), sizeof(*f));
    const struct upstream_zones_config zones = {
        .loop = config->loop,
        .tls = config->tls,
        .dnstap = config->dnstap,
        .counts = &f->counts,
        .forwarder = f,
    };
    f->config = *config;
    f->zones = upstream_zones_new(&zones);
    tcp_places_init(&f->tcp, &f->counts);
    f->portions = reply_portions_new(config->loop, &f->counts);
    TAILQ_INIT(&f->background);
    if (getrandom(&f->seed, sizeof(f->seed), 0) < 0) {
        f->seed = 0; /* it only seeds a hash table */
    }
    for (size_t i = 0; i < FORWARDER_TABLE_SIZE; i++) {
        LIST_INIT(&f->table[i]);
    }
    return f;
}

void forwarder_set_rules(struct forwarder *forwarder, const struct forwarder_rules *rules)
{
    forwarder->rules = *rules;
}

/* Sets the zones. Counts the general upstreams although they have not been asked yet. */
void forwarder_set_zones(struct forwarder *forwarder, const struct zone_table *table)
{
    size_t count;
    const struct forward_zone *root = zone_table_items(table, &count);
    upstream_zones_update(forwarder->zones, table);
    (void)upstream_zones_get(forwarder->zones, root);
    forwarder->has_stubs = forwarder->tcp.are_zones_many = count > 1;
}

void forwarder_judge_server(struct forwarder *forwarder, const struct nameserver *server,
                            enum upstream_verdict verdict)
{
    struct upstream_zone *root = upstream_zones_root(forwarder->zones);
    if (root) {
        upstream_health_judge(root->health, server, verdict);
    }
}

void forwarder_drop_all(struct forwarder *forwarder)
{
    reply_portions_drop_all(forwarder->portions);
    for (size_t i = 0; i < FORWARDER_TABLE_SIZE; i++) {
        struct upstream_query *upstream_query;
        while ((upstream_query = LIST_FIRST(&forwarder->table[i]))) {
            upstream_query_drop(upstream_query);
        }
    }
}

void forwarder_free(struct forwarder *forwarder)
{
    if (forwarder) {
        forwarder_drop_all(forwarder);
        upstream_zones_free(forwarder->zones);
        tcp_places_fini(&forwarder->tcp);
        reply_portions_free(forwarder->portions);
        free(forwarder);
    }
}

const struct upstream_figures *forwarder_figures(const struct forwarder *forwarder)
{
    return &forwarder->figures;
}

const struct forwarder_counts *forwarder_counts(const struct forwarder *forwarder)
{
    return &forwarder->counts;
}

bool forwarder_zone_state(const struct forwarder *forwarder, uint32_t serial,
                          struct upstream_states *ret)
{
    return upstream_zones_state(forwarder->zones, serial, ret);
}
