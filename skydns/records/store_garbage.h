/* Collects the pool's blocks that a build replaced: garbage, once no reader can hold the version
 * before. A pinned version keeps its own blocks that become garbage, and no others.
 *
 * A version has a block if it is no older than the block and older than the commit that replaced
 * it. The blocks know their age, except records: those are looked up by name. Main thread. */
#ifndef SKYDNS_RECORDS_STORE_GARBAGE_H
#define SKYDNS_RECORDS_STORE_GARBAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct store;
struct store_garbage;
struct store_record;

/* Adds a block that is in versions of this serial and later. Makes *garbage when it is NULL. */
void store_garbage_add(struct store_garbage **garbage, uint64_t born, void *block);
void store_garbage_add_record(struct store_garbage **garbage, struct store_record *record);

/* Ends the garbage: the version with this serial is the first without any of the blocks. */
void store_garbage_end(struct store_garbage *garbage, uint64_t serial);

/* A version that any thread may read, and the garbage that only it still needs, in parts that are
 * each freed quickly. */
struct store_pin {
    const struct store *store;
    unsigned count; /* of its users */
    struct store_garbage *kept;
};

/* Moves the blocks that pinned versions have from the garbage to their pins, which are in the order
 * of their versions, oldest first. It costs a lookup for each record; without pins nothing. */
void store_garbage_keep(struct store_garbage *garbage, struct store_pin *pins, size_t count);

/* Puts the parts of one list before the other. */
void store_garbage_join(struct store_garbage **list, struct store_garbage *parts);

/* Frees one part of the list, of at most STORE_GARBAGE_PART blocks, except for those that pins
 * need. */
enum { STORE_GARBAGE_PART = 2048 }; /* a tenth of a millisecond */
void store_garbage_free_part(struct store_garbage **list, struct store_pin *pins, size_t count);

#endif
