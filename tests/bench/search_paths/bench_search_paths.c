/* Measures the cost of a search list on a worker, in process, without sockets:
 *
 *     bare      a kept name of another domain, asked for itself
 *     search    the same name below the client's search domain, answered from the same kept reply
 *     plain     the latter without -autopath: NXDOMAIN, and the client goes on asking
 *     service   a service below the search domain, with -autopath and without
 *
 * Prints nanoseconds an answer, the best of several rounds; with an argument, of that kind alone,
 * for a profile. Exit status 1: a search costs more than 1.4 times the bare name. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/base/cursor.h"
#include "common/base/seeded_hash.h"
#include "common/base/xalloc.h"
#include "common/dns/dns.h"
#include "skydns/clients/client_index.h"
#include "skydns/engine/engine.h"
#include "skydns/external/cache.h"
#include "skydns/external/zone_table.h"
#include "tests/bench/bench.h"
#include "tests/support/from_text.h"
#include "tests/support/skydns/fixture.h"
#include "tests/support/skydns/response_bytes.h"

enum { ROUNDS = 15, ANSWERS = 400000, SERVICES = 1000, TTL_S = 3600, NOW_MS = 1000000 };
#define MOST 1.4

static void free_at_once(void *data, void *block, void (*fn)(void *block))
{
    (void)data;
    fn(block);
}

static struct client_index *one_client(const struct addr *client)
{
    static const struct client_index_config config = {.retire = free_at_once};
    struct client_index *index = client_index_new(&config);
    const struct ip ip = addr_ip(client);
    client_index_add(index, &ip, slice_of("team", 4));
    client_index_commit(index);
    return index;
}

static void bench_search_paths_put_services(struct fixture *f)
{
    char *keys[SERVICES];
    struct fixture_key pairs[SERVICES];
    for (unsigned i = 0; i < SERVICES; i++) {
        keys[i] = xasprintf("local/cluster/svc/%s/web-%u/x", i % 10 ? "other" : "team", i);
        pairs[i] = (struct fixture_key){keys[i], "{'host':'10.0.0.1'}"};
    }
    fixture_put(f, pairs, SERVICES);
    for (unsigned i = 0; i < SERVICES; i++) {
        free(keys[i]);
    }
}

/* An address of www.example.com. */
static void bench_search_paths_keep(struct cache *cache, const struct forward_zone *general)
{
    static const struct addr nameserver;
    static const struct cache_limits limits = {.ttl_max_s = TTL_S};
    const struct cache_key key = {.name = dname_from("www.example.com."),
                                  .type = DNS_TYPE_A,
                                  .qclass = DNS_CLASS_IN,
                                  .zone_serial = general->serial};
    uint8_t wire[512];
    struct writer w = writer_of(wire, sizeof(wire));
    writer_u16(&w, 1);
    writer_u16(&w, 0x8180);
    writer_u16(&w, 1);
    writer_u16(&w, 1);
    writer_u32(&w, 0);
    writer_bytes(&w, key.name.wire, key.name.len);
    writer_u16(&w, DNS_TYPE_A);
    writer_u16(&w, DNS_CLASS_IN);
    writer_bytes(&w, "\xc0\x0c\0\1\0\1\0\0\x0e\x10\0\4\xc0\0\2\1", 16);
    if (cache_put_bytes(cache, &key, wire, w.pos, &nameserver, &limits, NOW_MS) != CACHE_HIT) {
        abort();
    }
}

static struct fixture *bench_search_paths_prepare(void)
{
    struct forward_zone root = {.name = dname_from("."), .server_count = 1};
    struct fixture *f = fixture_new(NULL, 0);
    struct engine_config *config = &f->config;
    const struct ip client = {.family_bytes = 4, .bytes = {10, 9, 0, 1}};
    size_t count;
    bench_search_paths_put_services(f);
    f->client = addr_of_ip(&client, 4711);
    f->now_ms = NOW_MS;
    config->zones_of_others = zone_table_new(&root, 1, NULL);
    config->cache = cache_new(1000);
    config->cache_limits = (struct cache_limits){.ttl_max_s = TTL_S};
    config->allows_all = true;
    bench_search_paths_keep(config->cache, zone_table_items(config->zones_of_others, &count));
    return f;
}

static void bench_search_paths_release(struct fixture *f, struct client_index *clients)
{
    cache_unref(f->config.cache);
    zone_table_unref(f->config.zones_of_others);
    fixture_free(f);
    client_index_free(clients);
}

/* The best round so far. */
struct kind {
    const char *name;
    const char *question;
    bool is_path;
    double best_ns;
};

static void bench_search_paths_measure(struct fixture *f, const struct client_index *clients,
                                       struct kind *kind)
{
    struct engine_query query = {.wire = f->query,
                                 .client = &f->client,
                                 .local = &f->local,
                                 .now_s = FIXTURE_NOW_S,
                                 .now_ms = NOW_MS};
    f->config.clients = kind->is_path ? clients : NULL;
    f->config.settings.autopath = kind->is_path;
    (void)fixture_ask(f, kind->question);
    query.len = f->query_len;
    uint64_t begun_ns = clock_ns(CLOCK_MONOTONIC);
    for (unsigned i = 0; i < ANSWERS; i++) {
        if (engine_answer(f->engine, f->store, &query, NULL, &f->response, &f->deferral) !=
            ENGINE_REPLY) {
            abort();
        }
    }
    double took_ns = (double)(clock_ns(CLOCK_MONOTONIC) - begun_ns) / ANSWERS;
    if (kind->best_ns == 0 || took_ns < kind->best_ns) {
        kind->best_ns = took_ns;
    }
}

int main(int argc, char **argv)
{
    enum { BARE, SEARCH };
    struct kind kinds[] = {
        [BARE] = {"bare", "www.example.com. A", false, 0},
        [SEARCH] = {"search", "www.example.com.team.svc.cluster.local. A", true, 0},
        {"bare, with -autopath", "www.example.com. A", true, 0},
        {"plain", "www.example.com.team.svc.cluster.local. A", false, 0},
        {"service, with -autopath", "web-10.team.svc.cluster.local. A", true, 0},
        {"service, without", "web-10.team.svc.cluster.local. A", false, 0},
    };
    enum { KINDS = sizeof(kinds) / sizeof(kinds[0]) };
    seeded_hash_init();
    struct fixture *f = bench_search_paths_prepare();
    struct client_index *clients = one_client(&f->client);
    for (unsigned round = 0; round < ROUNDS; round++) {
        for (unsigned i = 0; i < KINDS; i++) {
            if (argc < 2 || strcmp(argv[1], kinds[i].name) == 0) {
                bench_search_paths_measure(f, clients, &kinds[i]);
            }
        }
    }
    for (unsigned i = 0; i < KINDS; i++) {
        (void)printf("%-24s %6.0f ns\n", kinds[i].name, kinds[i].best_ns);
    }
    double ratio = kinds[SEARCH].best_ns / kinds[BARE].best_ns;
    (void)printf("search/bare              %6.2f\n", ratio);
    bench_search_paths_release(f, clients);
    return ratio > MOST;
}
