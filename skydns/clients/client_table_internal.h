/* Maps addresses to a word each: open addressing, linear probing, one writer, readers without lock
 * or wait. An address's slot is its own as long as the table lives, also after its word says that
 * it is gone. So a reader that finds the address finds a word that was once its. A table that has
 * no room is copied into a new one, without what is gone; 32 to 48 bytes for each address.
 *
 * Accesses that readers share are sequentially consistent, as the publisher's (publisher.c says
 * why): a reader that enters after a word was replaced cannot find the old one. The hash is seeded:
 * IPv6 clients choose their addresses. */
#ifndef SKYDNS_CLIENTS_CLIENT_TABLE_INTERNAL_H
#define SKYDNS_CLIENTS_CLIENT_TABLE_INTERNAL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/addr.h"

/* Address; IPv4 as ::ffff:a.b.c.d. */
struct client_address {
    uint64_t high, low;
};

enum {
    CLIENT_WORD_FREE = 0, /* no address's, so a search ends here */
    CLIENT_WORD_GONE = 2, /* nothing is known of the address any more */
};

struct client_slot {
    struct client_address address; /* written before the word, and never again */
    _Atomic uintptr_t word;
};

struct client_table {
    size_t capacity;
    size_t used; /* slots that are not free, also those of addresses that are gone; the writer's */
    struct client_slot slots[];
};

struct client_address client_address_of(const struct ip *ip);

/* Makes a table with room for so many addresses, and as many to come. */
struct client_table *client_table_new(size_t addresses);

/* Returns the address's word, CLIENT_WORD_FREE if it has none. Any thread. */
uintptr_t client_table_find(const struct client_table *table, const struct client_address *address);

/* Returns the slot for an address; the word of a new one is still free. The table has room:
 * client_table_is_full. The writer. */
struct client_slot *client_table_slot(struct client_table *table,
                                      const struct client_address *address);
bool client_table_is_full(const struct client_table *table);

static inline uintptr_t client_slot_word(const struct client_slot *slot)
{
    return atomic_load_explicit(&slot->word, memory_order_seq_cst);
}

/* Sets the word, which is not CLIENT_WORD_FREE. */
void client_table_set(struct client_table *table, struct client_slot *slot, uintptr_t word);

/* Copies what is not gone, `count` addresses, into a new table. */
struct client_table *client_table_copy(const struct client_table *table, size_t count);

#endif
