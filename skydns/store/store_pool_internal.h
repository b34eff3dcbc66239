/* Memory for the store's blocks: a service takes ten of them, of 16 to 150 bytes. Blocks of one
 * size share slabs, without a header or a gap between them, which is a quarter less than malloc
 * needs; a slab that holds nothing any more goes back to the system. Large stores lie in huge
 * pages: a look-up at a random name then misses the cache, but not the tables of pages, too.
 *
 * The main thread's alone, as the writer is. Under the address sanitizer every block is malloc's
 * own, so that a use after free is seen. */
#ifndef SKYDNS_STORE_STORE_POOL_INTERNAL_H
#define SKYDNS_STORE_STORE_POOL_INTERNAL_H

#include <stddef.h>

struct store_pool;

struct store_pool *store_pool_new(void);

/* No more blocks are taken. The memory goes when the last block does: garbage may outlive the
 * writer. */
void store_pool_close(struct store_pool *pool);

/* A block of at least this many bytes, not cleared, aligned for a pointer. Ends the process when
 * there is no memory, as xmalloc does. */
void *store_pool_alloc(struct store_pool *pool, size_t size);

/* Any pool's; NULL is fine. */
void store_pool_free(void *block);

/* The bytes of the slabs that hold blocks or wait for some; 0 under the address sanitizer. */
size_t store_pool_bytes(const struct store_pool *pool);

#endif
