#include "skydns/records/store_garbage.h"

#include <stdlib.h>

#include "common/base/xalloc.h"
#include "skydns/records/store_node_internal.h"

struct dead {
    void *block;
    uint64_t born; /* the serial of its first version, or RECORD */
};

static const uint64_t RECORD = UINT64_MAX;

struct store_garbage {
    struct store_garbage *next; /* part of what a pin kept */
    uint64_t ended;             /* the serial of the first version without the blocks */
    size_t count;
    size_t cap;
    struct dead *dead;
};

/* The first capacity, 16: the path of one change, its branches and the record. */
enum { FIRST_CAP = 16 };

static void records_store_garbage_add(struct store_garbage **garbage, struct dead dead)
{
    if (!*garbage) {
        *garbage = xcalloc(1, sizeof(**garbage));
    }
    struct store_garbage *g = *garbage;
    if (g->count == g->cap) {
        g->cap = g->cap ? g->cap * 2 : FIRST_CAP;
        g->dead = xrealloc_array(g->dead, g->cap, sizeof(g->dead[0]));
    }
    g->dead[g->count++] = dead;
}

void store_garbage_add(struct store_garbage **garbage, uint64_t born, void *block)
{
    records_store_garbage_add(garbage, (struct dead){block, born});
}

void store_garbage_add_record(struct store_garbage **garbage, struct store_record *record)
{
    records_store_garbage_add(garbage, (struct dead){record, RECORD});
}

void store_garbage_end(struct store_garbage *garbage, uint64_t serial)
{
    if (garbage) {
        garbage->ended = serial;
    }
}

void store_garbage_free(struct store_garbage *garbage)
{
    while (garbage) {
        struct store_garbage *next = garbage->next;
        for (size_t i = 0; i < garbage->count; i++) {
            store_pool_free(garbage->dead[i].block);
        }
        free(garbage->dead);
        free(garbage);
        garbage = next;
    }
}

/* ---- Pins ---- */

static bool store_garbage_has_record(const struct store *store, const struct store_record *record)
{
    struct dname name;
    store_record_name(record, &name);
    const struct store_node *node = store_find(store, &name);
    return node && store_node_own_record(node) == record;
}

static bool has_block(const struct store *store, const struct dead *dead)
{
    return dead->born == RECORD ? store_garbage_has_record(store, dead->block)
                                : dead->born <= store->serial;
}

/* Adds to the newest part, or to a new one in front of it when that is full. */
static void records_store_garbage_keep(struct store_pin *pin, struct dead dead)
{
    struct store_garbage *part = pin->kept;
    if (part && part->count == STORE_GARBAGE_PART) {
        pin->kept = NULL;
    }
    records_store_garbage_add(&pin->kept, dead);
    if (pin->kept != part) {
        pin->kept->next = part;
        pin->kept->ended = pin->store->serial; /* older pins may have it, newer ones do not */
    }
}

/* Returns the newest pin that has the block, or NULL. */
static struct store_pin *store_garbage_find_pin(const struct store_garbage *garbage,
                                                const struct dead *dead, struct store_pin *pins,
                                                size_t count)
{
    for (size_t i = count; i > 0; i--) {
        const struct store *store = pins[i - 1].store;
        if (store->serial < garbage->ended && has_block(store, dead)) {
            return &pins[i - 1];
        }
    }
    return NULL;
}

void store_garbage_keep(struct store_garbage *garbage, struct store_pin *pins, size_t count)
{
    size_t left = 0;
    if (!garbage || count == 0) {
        return;
    }
    for (size_t i = 0; i < garbage->count; i++) {
        struct store_pin *pin = store_garbage_find_pin(garbage, &garbage->dead[i], pins, count);
        if (pin) {
            records_store_garbage_keep(pin, garbage->dead[i]);
        } else {
            garbage->dead[left++] = garbage->dead[i];
        }
    }
    garbage->count = left;
}

void store_garbage_join(struct store_garbage **list, struct store_garbage *parts)
{
    struct store_garbage **end = &parts;
    while (*end) {
        end = &(*end)->next;
    }
    *end = *list;
    *list = parts;
}

void store_garbage_free_part(struct store_garbage **list, struct store_pin *pins, size_t count)
{
    struct store_garbage *part = *list;
    *list = part->next;
    part->next = NULL;
    store_garbage_keep(part, pins, count);
    store_garbage_free(part);
}
