/* The adapter's first answer, as the threads give it that receive queries: worker.c, turn.c. */
#include "skydns/streams/streams.h"
#include "tests/recorded/side_engine.h"

static const enum engine_transport side_transports[SIDE_TRANSPORTS] = {
    [SIDE_UDP] = ENGINE_UDP,     [SIDE_TCP] = ENGINE_TCP,   [SIDE_TLS] = ENGINE_TLS,
    [SIDE_HTTPS] = ENGINE_HTTPS, [SIDE_HTTP] = ENGINE_HTTP, [SIDE_GRPC] = ENGINE_GRPC,
    [SIDE_UDP_LATE] = ENGINE_UDP};

static const enum side_engine side_receivers[SIDE_TRANSPORTS] = {
    [SIDE_UDP] = SIDE_ENGINE_WORKER,     [SIDE_TCP] = SIDE_ENGINE_RESOLVER,
    [SIDE_TLS] = SIDE_ENGINE_STREAMS,    [SIDE_HTTPS] = SIDE_ENGINE_STREAMS,
    [SIDE_HTTP] = SIDE_ENGINE_STREAMS,   [SIDE_GRPC] = SIDE_ENGINE_STREAMS,
    [SIDE_UDP_LATE] = SIDE_ENGINE_WALKER};

static struct addr side_addr(const struct side_address *from)
{
    struct ip ip = {.family_bytes = from->ip_len};
    memcpy(ip.bytes, from->ip, from->ip_len);
    return from->ip_len > 0 ? addr_of_ip(&ip, from->port) : (struct addr){0};
}

static void side_take(struct side_asked *asked, const struct side_query *from, size_t number)
{
    *asked = (struct side_asked){
        .number = number, .client = side_addr(&from->client), .local = side_addr(&from->local)};
    asked->query = (struct engine_query){
        .wire = from->wire,
        .len = from->len,
        .client = &asked->client,
        .local = &asked->local,
        .transport = side_transports[from->transport],
        .idle_ms = STREAMS_IDLE_MS,
        .now_s = from->now_s,
        .now_ms = from->now_ms,
        .random = from->random,
    };
}

/* False: it is beyond its client's rate, and has what it gets. */
static bool side_passes_rate(struct side *side, const struct side_asked *asked)
{
    struct engine *engine = side->engines[SIDE_ENGINE_WORKER];
    const struct rate rate = {side->config->settings.rate, side->config->settings.rate_burst};
    if (rate.per_s == 0) {
        return true;
    }
    enum cookie_verdict cookie = engine_check_cookie(engine, &asked->query);
    if (cookie == COOKIE_VALID) {
        return true;
    }
    enum rate_verdict verdict = rate_limit_take(side->rate_limit, rate_limit_client(&asked->client),
                                                &rate, asked->query.now_ms * 1000);
    if (verdict == RATE_PASS) {
        return true;
    }
    side->calls.step(side->calls.data, asked->number, SIDE_LIMITED, NULL, 0);
    side->response.len = 0;
    if (verdict == RATE_TRUNCATE) {
        (void)!engine_limited(engine, &asked->query, cookie, &side->response);
    }
    side_finish(side, asked);
    return false;
}

/* True: it is answered, or waits for something else than its turn. */
static bool side_try(struct side *side, struct engine *engine, struct side_asked *asked)
{
    switch (
        engine_answer(engine, side->store, &asked->query, NULL, &side->response, &side->deferral)) {
    case ENGINE_REPLY:
        side_refresh(side, asked);
        side_finish(side, asked);
        return true;
    case ENGINE_DROP:
        side->response.len = 0;
        side_finish(side, asked);
        return true;
    case ENGINE_DEFER:
        break;
    }
    if (asked->query.is_brief && side->deferral.kind == ENGINE_DEFER_SCAN) {
        return false;
    }
    side_go_on(side, asked);
    return true;
}

/* All, those that cost much after the others. */
static void side_try_all(struct side *side, struct engine *engine, struct side_asked *asked,
                         size_t count)
{
    struct slice wires[SIDE_BATCH_MAX];
    struct side_asked *expensive[SIDE_BATCH_MAX];
    size_t expensive_count = 0;
    for (size_t i = 0; i < count; i++) {
        wires[i] = slice_of(asked[i].query.wire, asked[i].query.len);
    }
    engine_look_ahead(engine, side->store, wires, count);
    for (size_t i = 0; i < count; i++) {
        asked[i].query.ahead = (unsigned)i + 1;
        asked[i].query.is_brief = true;
        if (!side_try(side, engine, &asked[i])) {
            expensive[expensive_count++] = &asked[i];
        }
    }
    for (size_t i = 0; i < expensive_count; i++) {
        expensive[i]->query.ahead = 0;
        expensive[i]->query.is_brief = false;
        (void)side_try(side, engine, expensive[i]); /* true: not brief */
    }
}

static void side_enter(struct side *side)
{
    side_upstream_is(side);
    side->store = publisher_enter(side->reader);
    side->config = publisher_config(side->reader);
    for (size_t i = 0; i < SIDE_ENGINES; i++) {
        engine_configure(side->engines[i], side->config);
    }
    (void)fetcher_configure(side->fetcher, side->config);
}

void side_answer(struct side *side, const struct side_query *queries, size_t count)
{
    struct side_asked asked[SIDE_BATCH_MAX];
    size_t due = 0;
    side_enter(side);
    for (size_t i = 0; i < count; i++) {
        side_take(&asked[due], &queries[i], i);
        due += queries[i].transport != SIDE_UDP || side_passes_rate(side, &asked[due]);
    }
    for (size_t i = 0; i < due; i++) { /* where they lie now */
        asked[i].query.client = &asked[i].client;
        asked[i].query.local = &asked[i].local;
    }
    if (queries[0].transport == SIDE_UDP_LATE) {
        for (size_t i = 0; i < due; i++) {
            side_answer_late(side, &asked[i]);
        }
    } else {
        side_try_all(side, side->engines[side_receivers[queries[0].transport]], asked, due);
    }
    publisher_leave(side->reader);
}
