#include "skydns/clients/client_table_internal.h"

#include <string.h>

#include "common/base/seeded_hash.h"
#include "common/base/xalloc.h"

enum { ADDRESSES_MIN = 32 };

struct client_address client_address_of(const struct ip *ip)
{
    static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};
    struct client_address address;
    uint8_t bytes[sizeof(address)];
    if (ip->family_bytes == sizeof(bytes)) {
        memcpy(bytes, ip->bytes, sizeof(bytes));
    } else {
        memcpy(bytes, mapped, sizeof(mapped));
        memcpy(bytes + sizeof(mapped), ip->bytes, sizeof(bytes) - sizeof(mapped));
    }
    memcpy(&address, bytes, sizeof(address));
    return address;
}

static bool client_table_is_same(const struct client_address *a, const struct client_address *b)
{
    return a->high == b->high && a->low == b->low;
}

/* Makes a table half full at most; a full one is three quarters full. A search for an address that
 * is not there looks at nine slots then, three cache lines. */
struct client_table *client_table_new(size_t addresses)
{
    size_t capacity = 2 * (addresses > ADDRESSES_MIN ? addresses : ADDRESSES_MIN);
    struct client_table *table = xcalloc(1, sizeof(*table) + capacity * sizeof(struct client_slot));
    seeded_hash_init();
    table->capacity = capacity;
    return table;
}

bool client_table_is_full(const struct client_table *table)
{
    return table->used >= table->capacity / 4 * 3;
}

/* Returns the first slot to look at, for any capacity: tables grow by half, where powers of two
 * would double. */
static size_t client_table_home_of(const struct client_table *table,
                                   const struct client_address *address)
{
    uint64_t hash = seeded_hash64(slice_of(address, sizeof(*address)));
    return (size_t)((unsigned __int128)hash * table->capacity >> 64);
}

static size_t client_table_after(const struct client_table *table, size_t at)
{
    return at + 1 < table->capacity ? at + 1 : 0;
}

uintptr_t client_table_find(const struct client_table *table, const struct client_address *address)
{
    size_t at = client_table_home_of(table, address);
    for (;;) {
        uintptr_t word = client_slot_word(&table->slots[at]);
        if (word == CLIENT_WORD_FREE || client_table_is_same(&table->slots[at].address, address)) {
            return word;
        }
        at = client_table_after(table, at);
    }
}

struct client_slot *client_table_slot(struct client_table *table,
                                      const struct client_address *address)
{
    size_t at = client_table_home_of(table, address);
    struct client_slot *slot = &table->slots[at];
    while (client_slot_word(slot) != CLIENT_WORD_FREE &&
           !client_table_is_same(&slot->address, address)) {
        at = client_table_after(table, at);
        slot = &table->slots[at];
    }
    if (client_slot_word(slot) == CLIENT_WORD_FREE) {
        slot->address = *address; /* no reader looks at it before the word */
    }
    return slot;
}

void client_table_set(struct client_table *table, struct client_slot *slot, uintptr_t word)
{
    table->used += client_slot_word(slot) == CLIENT_WORD_FREE;
    atomic_store_explicit(&slot->word, word, memory_order_seq_cst);
}

struct client_table *client_table_copy(const struct client_table *table, size_t count)
{
    struct client_table *copy = client_table_new(count);
    for (size_t i = 0; i < table->capacity; i++) {
        uintptr_t word = client_slot_word(&table->slots[i]);
        if (word != CLIENT_WORD_FREE && word != CLIENT_WORD_GONE) {
            client_table_set(copy, client_table_slot(copy, &table->slots[i].address), word);
        }
    }
    return copy;
}
