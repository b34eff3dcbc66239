/* Allocates the record store's blocks: a service takes ten of them, of 16 to 150 bytes. Blocks of
 * one size share slabs, without headers or gaps, which is a quarter less than malloc needs. Empty
 * slabs beyond 1 MiB return their memory to the system. Large stores use huge pages: a lookup of a
 * random name then misses the cache, but not the TLB as well.
 *
 * Main thread only, like the writer. Under the address sanitizer every block is a malloc of its
 * own, so that a use after free is caught. */
#ifndef SKYDNS_RECORDS_STORE_POOL_INTERNAL_H
#define SKYDNS_RECORDS_STORE_POOL_INTERNAL_H

#include <stddef.h>

struct store_pool;

struct store_pool *store_pool_new(void);

/* Uses huge pages from the first block on: many blocks will come. */
void store_pool_expect_much(struct store_pool *pool);

/* Ends allocation. The memory is freed with the last block: garbage may outlive the writer. */
void store_pool_close(struct store_pool *pool);

/* Returns a block of at least this many bytes, not cleared, aligned for a pointer. Ends the process
 * when out of memory, like xmalloc. */
void *store_pool_alloc(struct store_pool *pool, size_t size);

/* Frees a block of any pool; NULL is fine. */
void store_pool_free(void *block);

/* Returns the bytes of the slabs that hold blocks or still have memory; 0 under the address
 * sanitizer. */
size_t store_pool_bytes(const struct store_pool *pool);

#endif
