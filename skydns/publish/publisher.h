/* Publishes versions and configuration to the answering threads, and frees what none can see any
 * more. It is lock-free, like the response cache (skydns/external/cache.h): quiescent-state
 * reclamation with C11 atomics; the time until no reader can hold an old version is the grace
 * period.
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

/* Bounds the threads that may register: 64 workers, the resolver, the walker, and room for others.
 */
enum { PUBLISHER_READERS_MAX = 128 };

struct publisher *publisher_new(void);
void publisher_free(struct publisher *publisher); /* readers gone, pins not used any more */

/* Makes a reader, before its thread starts. It lives as long as the publisher. Main thread. */
struct publisher_reader *publisher_reader_new(struct publisher *publisher);

/* Returns the current version, valid until leave; NULL until the first publication (the first full
 * sync). Reader's thread. */
const struct store *publisher_enter(struct publisher_reader *reader);
void publisher_leave(struct publisher_reader *reader);

/* Publishes a version: readers that enter afterwards see it. Takes ownership of the garbage. Main
 * thread. */
void publisher_publish(struct publisher *publisher, const struct store *store,
                       struct store_garbage *garbage);

/* Identifies the last publication, for publisher_seen. Main thread. */
uint64_t publisher_epoch(const struct publisher *publisher);

/* Returns the publication up to which no reader sees anything older. A reader outside enter and
 * leave sees the newest when it enters, so it holds up none. Main thread. */
uint64_t publisher_seen(const struct publisher *publisher);

/* Publishes a configuration, and takes ownership of it (engine_config_free). Every reader that
 * enters afterwards sees it. It is freed once it is replaced and no reader can hold it. Main
 * thread; the first call comes before any reader's thread starts. */
void publisher_configure(struct publisher *publisher, struct engine_config *config);

/* Calls fn(block) once no reader can hold the block, which they could find until now: in this call
 * or a later publisher_reclaim, or in publisher_free. Main thread. */
void publisher_retire(struct publisher *publisher, void *block, void (*fn)(void *block));

/* Returns the newest configuration, valid until the next publisher_configure. Main thread. */
const struct engine_config *publisher_newest_config(const struct publisher *publisher);

/* Returns the reader's configuration. The reader's thread, between enter and leave. */
const struct engine_config *publisher_config(const struct publisher_reader *reader);

/* Bounds the versions pinned at once: the snapshot's, and the transfers': the newest two and four
 * older ones. */
enum { PUBLISHER_PINS_MAX = 8 };

/* Pins the newest version: it stays whole until publisher_unpin, and any thread may read it.
 * Returns NULL if there is none, or too many are pinned. Main thread.
 *
 * Unlike a reader that stays inside, a pin holds up nothing but its own blocks. Blocks that later
 * versions replace stay, and blocks that these made and replaced themselves are freed as ever. So a
 * pin never holds more than its version. The writer of the versions outlives all pins. After
 * publisher_unpin, publisher_reclaim frees the version in parts that are no delay to a loop. */
const struct store *publisher_pin(struct publisher *publisher);
void publisher_unpin(struct publisher *publisher, const struct store *store);

/* Frees the garbage that no reader can hold. Returns true when some is still pending: call it again
 * later (a timer). publisher_publish, publisher_configure and publisher_retire call it once
 * themselves. Main thread. */
bool publisher_reclaim(struct publisher *publisher);

#endif
