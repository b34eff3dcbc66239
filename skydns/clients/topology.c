#include "skydns/clients/topology.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/seeded_hash.h"
#include "common/base/xalloc.h"
#include "skydns/clients/client_index.h"

/* Words of slots that hold no block. */
enum { WORD_FREE = 0, WORD_GONE = 1 };

/* Open addressing; a name's slot is its own as long as the table lives, until it is gone: then the
 * slot is nobody's. */
struct topology_table {
    size_t mask;
    size_t used; /* slots that are not free; the writer's */
    _Atomic uintptr_t words[];
};

struct topology {
    struct client_index_config config;
    _Atomic(struct topology_table *) table;
    size_t count;
};

enum { SLOTS_MIN = 16 };

/* Hashes a name without its end, which names of one domain share: `svc` and the domain are longer
 * than that, but for a letter at most. */
static inline uint64_t topology_hash(struct slice name)
{
    enum { SHARED_END = 8 };
    return seeded_hash64(slice_of(name.ptr, name.len > SHARED_END ? name.len - SHARED_END : 0));
}

static struct topology_table *topology_table_new(size_t services)
{
    size_t slots = SLOTS_MIN;
    while (slots < 4 * services) {
        slots *= 2;
    }
    struct topology_table *table = xcalloc(1, sizeof(*table) + slots * sizeof(table->words[0]));
    table->mask = slots - 1;
    return table;
}

struct topology *topology_new(const struct client_index_config *config)
{
    struct topology *topology = xcalloc(1, sizeof(*topology));
    topology->config = *config;
    seeded_hash_init();
    atomic_init(&topology->table, topology_table_new(0));
    return topology;
}

static struct topology_table *topology_get_table(const struct topology *topology)
{
    return atomic_load_explicit(&topology->table, memory_order_seq_cst);
}

static uintptr_t topology_word(const struct topology_table *table, size_t at)
{
    return atomic_load_explicit(&table->words[at], memory_order_seq_cst);
}

static struct topology_service *service_of(uintptr_t word)
{
    return word == WORD_FREE || word == WORD_GONE ? NULL : (struct topology_service *)word;
}

void topology_free(struct topology *topology)
{
    if (topology) {
        struct topology_table *table = topology_get_table(topology);
        for (size_t i = 0; i <= table->mask; i++) {
            free(service_of(topology_word(table, i)));
        }
        free(table);
        free(topology);
    }
}

/* Returns the slot of the name, or the free one where it would be. The writer. */
static size_t topology_find_slot(const struct topology_table *table, struct slice name)
{
    size_t at = topology_hash(name) & table->mask;
    for (;; at = (at + 1) & table->mask) {
        const uintptr_t word = topology_word(table, at);
        const struct topology_service *service = service_of(word);
        if (word == WORD_FREE || (service && slice_equal(topology_service_name(service), name))) {
            return at;
        }
    }
}

const struct topology_service *topology_find(const struct topology *topology, struct slice name)
{
    const struct topology_table *table = topology_get_table(topology);
    for (size_t at = topology_hash(name) & table->mask;; at = (at + 1) & table->mask) {
        const uintptr_t word = topology_word(table, at);
        const struct topology_service *service = (const struct topology_service *)word;
        if (word == WORD_FREE) {
            return NULL;
        }
        if (word != WORD_GONE && service->name.len == name.len &&
            memcmp(service->name.ptr, name.ptr, name.len) == 0) {
            return service;
        }
    }
}

static void topology_set_word(struct topology_table *table, size_t at, uintptr_t word)
{
    table->used += topology_word(table, at) == WORD_FREE;
    atomic_store_explicit(&table->words[at], word, memory_order_seq_cst);
}

/* Makes room for one more: at most half of the slots are used. */
static void topology_grow(struct topology *topology)
{
    struct topology_table *old = topology_get_table(topology);
    if (2 * (old->used + 1) <= old->mask) {
        return;
    }
    struct topology_table *table = topology_table_new(topology->count + 1);
    for (size_t i = 0; i <= old->mask; i++) {
        struct topology_service *service = service_of(topology_word(old, i));
        if (service) {
            size_t at = topology_find_slot(table, topology_service_name(service));
            topology_set_word(table, at, (uintptr_t)service);
        }
    }
    atomic_store_explicit(&topology->table, table, memory_order_seq_cst);
    topology->config.retire(topology->config.data, old, free);
}

void topology_put(struct topology *topology, struct topology_service *service)
{
    topology_grow(topology);
    struct topology_table *table = topology_get_table(topology);
    size_t at = topology_find_slot(table, topology_service_name(service));
    struct topology_service *old = service_of(topology_word(table, at));
    topology_set_word(table, at, (uintptr_t)service);
    if (old) {
        topology->config.retire(topology->config.data, old, free);
    } else {
        topology->count++;
    }
}

void topology_remove(struct topology *topology, struct slice name)
{
    struct topology_table *table = topology_get_table(topology);
    size_t at = topology_find_slot(table, name);
    struct topology_service *old = service_of(topology_word(table, at));
    if (old) {
        topology_set_word(table, at, WORD_GONE);
        topology->count--;
        topology->config.retire(topology->config.data, old, free);
    }
}

size_t topology_count(const struct topology *topology)
{
    return topology->count;
}
