/* Publishes versions and configuration to the answering threads, and frees what none can see any
 * more. Lock-free, as the response cache (skydns/external/cache.h) is: quiescent-state reclamation
 * with C11 atomics.
 *
 *     main thread                           worker, resolver
 *     publisher_publish(v2, garbage of v1)  store = publisher_enter(reader)   -> v1 or v2, whole
 *     publisher_reclaim()                   ... answer a batch ...
 *                                           publisher_leave(reader)           before it sleeps
 *
 * A thread outside enter/leave (asleep in recvmmsg) delays nothing. */
#ifndef SKYDNS_PUBLISH_PUBLISHER_H
#define SKYDNS_PUBLISH_PUBLISHER_H

#include "skydns/records/store.h"

struct engine_config;
struct publisher;
struct publisher_reader;

/* The most threads that may register: 64 workers, the resolver, the walker, room for the rest. */
enum { PUBLISHER_READERS_MAX = 128 };

struct publisher *publisher_new(void);
void publisher_free(struct publisher *publisher); /* readers gone, pins not used any more */

/* Main thread, before the reader's thread starts. The reader lives as long as the publisher. */
struct publisher_reader *publisher_reader_new(struct publisher *publisher);

/* Reader's thread. NULL until the first publication (the first full sync). Valid until leave. */
const struct store *publisher_enter(struct publisher_reader *reader);
void publisher_leave(struct publisher_reader *reader);

/* Main thread. Readers that enter afterwards see the store. Takes ownership of the garbage. */
void publisher_publish(struct publisher *publisher, const struct store *store,
                       struct store_garbage *garbage);

/* Main thread: identifies what was published last, for publisher_seen. */
uint64_t publisher_epoch(const struct publisher *publisher);

/* Main thread: up to which of these no reader sees anything older. A reader outside enter and leave
 * sees the newest when it enters, so it holds up none. */
uint64_t publisher_seen(const struct publisher *publisher);

/* Main thread; the first call comes before any reader's thread starts. Takes ownership of the
 * configuration (engine_config_free). Every reader that enters afterwards sees it; it is freed once
 * it is replaced and no reader can hold it. */
void publisher_configure(struct publisher *publisher, struct engine_config *config);

/* Main thread: calls fn(block) once no reader can hold the block that they could find until now: in
 * this call or a later publisher_reclaim, or in publisher_free. */
void publisher_retire(struct publisher *publisher, void *block, void (*fn)(void *block));

/* Main thread: the newest, valid until the next publisher_configure. */
const struct engine_config *publisher_newest_config(const struct publisher *publisher);

/* The reader's thread, between enter and leave. */
const struct engine_config *publisher_config(const struct publisher_reader *reader);

/* Versions pinned at once: the snapshot's, and the transfers': the newest two and four older ones.
 */
enum { PUBLISHER_PINS_MAX = 8 };

/* Main thread: the newest version stays whole until publisher_unpin, and any thread may read it;
 * NULL if there is none, or too many are pinned. Unlike a reader that stays inside, it holds up
 * nothing but its own blocks: what later versions replace of it is kept, and what they made and
 * replaced themselves is freed as ever. So a pin never holds more than the version it pins. The
 * writer of the versions outlives all pins.
 *
 * Once it is unpinned, publisher_reclaim frees what it held, in parts that are no delay to a
 * loop. */
const struct store *publisher_pin(struct publisher *publisher);
void publisher_unpin(struct publisher *publisher, const struct store *store);

/* Main thread: frees the garbage that no reader can hold. True when some is still pending: call
 * again later (a timer). publisher_publish, publisher_configure and publisher_retire call it once
 * themselves. */
bool publisher_reclaim(struct publisher *publisher);

#endif
