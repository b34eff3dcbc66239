/* A foreign bed whose client is a pod of the namespace "team", and whose engine walks its search
 * path. */
#ifndef TESTS_UNIT_SKYDNS_ENGINE_SEARCH_LIST_BED_H
#define TESTS_UNIT_SKYDNS_ENGINE_SEARCH_LIST_BED_H

#include "skydns/clients/client_index.h"
#include "tests/support/from_text.h"
#include "tests/unit/skydns/answer/foreign_bed.h"

#define TEAM ".team.svc.cluster.local. "

struct search_list_bed {
    struct external_bed b;
    struct fixture *f; /* the same one's */
    struct client_index *clients;
};

static inline void free_retired(void *data, void *block, void (*fn)(void *block))
{
    fn(block); /* nobody else reads */
}

static inline struct addr pod_address(uint8_t last)
{
    struct ip ip = {.family_bytes = 4, .bytes = {10, 9, 0, last}};
    return addr_of_ip(&ip, 4711);
}

static inline void path_bed_pod(struct search_list_bed *p, uint8_t last, const char *ns)
{
    struct addr client = pod_address(last);
    struct ip ip = addr_ip(&client);
    client_index_add(p->clients, &ip, slice_str(ns));
    client_index_commit(p->clients);
}

/* Without the stub zone below the domain, which keeps names from being ruled out. */
static inline void path_bed_without_stub_below(struct search_list_bed *p)
{
    struct forward_zone zones[3];
    bed_zone(&zones[0], ".", 1);
    bed_zone(&zones[1], "acme.test.", 1);
    bed_zone(&zones[2], "empty.test.", 0);
    zone_table_unref(p->b.zones);
    p->b.zones = zone_table_new(zones, 3, NULL);
    p->f->config.zones_of_others = p->b.zones;
}

/* The client is 10.9.0.1. */
static inline struct search_list_bed path_bed_new(const struct fixture_key *keys, size_t count)
{
    static const struct client_index_config config = {.retire = free_retired};
    struct search_list_bed p = {.b = bed_new(keys, count), .clients = client_index_new(&config)};
    p.f = p.b.f;
    p.f->config.clients = p.clients;
    p.f->config.settings.autopath = true;
    p.f->client = pod_address(1);
    path_bed_pod(&p, 1, "team");
    return p;
}

static inline void search_list_bed_free(struct search_list_bed *p)
{
    bed_free(&p->b);
    client_index_free(p->clients);
}

static inline void path_bed_search(struct search_list_bed *p, const char *name)
{
    p->f->config.settings.search[p->f->config.settings.search_count++] = dname_from(name);
}

static inline uint64_t path_bed_answers(const struct search_list_bed *p)
{
    return counter_get(&engine_counts(p->f->engine)->path_answers);
}

static inline uint64_t path_bed_saved(const struct search_list_bed *p)
{
    return counter_get(&engine_counts(p->f->engine)->path_saved);
}

#endif
