#include "skydns/answer/engine.h"

#include <stdlib.h>

#include "common/base/xalloc.h"
#include "common/dns/dns.h"
#include "skydns/answer/client_view.h"
#include "skydns/answer/direct_internal.h"
#include "skydns/answer/edns.h"
#include "skydns/answer/path_walk_internal.h"
#include "skydns/clients/client_index.h"

struct engine {
    const struct engine_config *config;
    uint64_t config_serial;
    struct direct *direct;
    struct path_walk *path;
};

struct engine *engine_new(const struct engine_config *config)
{
    struct engine *engine = xcalloc(1, sizeof(*engine));
    engine->config = config;
    engine->config_serial = config->serial;
    engine->direct = direct_new(config);
    engine->path = path_walk_new(config, engine->direct);
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

/* ---- Answers ---- */

enum engine_verdict engine_answer(struct engine *engine, const struct store *store,
                                  const struct engine_query *query,
                                  const struct external_answers *externals, uint8_t *reply,
                                  size_t *ret_len, struct engine_deferral *ret_deferral)
{
    if (!engine->config->clients && !engine->config->visibility) {
        return direct_answer(engine->direct, store, query, externals, reply, ret_len, ret_deferral);
    }
    struct engine_query known = *query;
    known.view = view_of(engine, query->client);
    return path_walk_answer(engine->path, store, &known, externals, reply, ret_len, ret_deferral);
}

void engine_look_ahead(struct engine *engine, const struct store *store,
                       const struct slice *queries, size_t count)
{
    direct_look_ahead(engine->direct, store, queries, count);
}

size_t engine_servfail(struct engine *engine, const struct engine_query *query,
                       enum edns_error error, uint8_t *reply)
{
    return direct_error(engine->direct, query, DNS_RCODE_SERVFAIL, DNS_FLAG_RA, error, reply);
}

size_t engine_refused(struct engine *engine, const struct engine_query *query, uint8_t *reply)
{
    return direct_error(engine->direct, query, DNS_RCODE_REFUSED, 0, EDNS_ERROR_NONE, reply);
}

size_t engine_forwarded(struct engine *engine, const struct engine_query *query,
                        const uint8_t *upstream, size_t upstream_len, uint8_t *reply)
{
    struct engine_query known = *query;
    known.view = view_of(engine, query->client);
    return path_walk_forwarded(engine->path, &known, upstream, upstream_len, reply);
}

const struct engine_counts *engine_counts(const struct engine *engine)
{
    return path_walk_counts(engine->path);
}
