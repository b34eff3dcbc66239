/* Publishes store versions, and the configuration to answer by, to the answering threads, and frees
 * what no thread can see any more. Lock-free, as the response cache (skydns/foreign/cache.h) is:
 * quiescent-state reclamation with C11 atomics.
 *
 *     main thread                          worker, resolver
 *     snapshot_publish(v2, garbage of v1)  store = snapshot_enter(reader)   -> v1 or v2, whole
 *     snapshot_reclaim()                   ... answer a batch ...
 *                                          snapshot_leave(reader)           before it sleeps
 *
 * A thread outside enter/leave (asleep in recvmmsg) delays nothing. */
#ifndef SKYDNS_STORE_SNAPSHOT_H
#define SKYDNS_STORE_SNAPSHOT_H

#include "skydns/store/store.h"

struct engine_config;
struct snapshot;
struct snapshot_reader;

/* The most threads that may register: 64 workers, the resolver, the walker, room for the rest. */
enum { SNAPSHOT_READERS_MAX = 128 };

struct snapshot *snapshot_new(void);
void snapshot_free(struct snapshot *snapshot); /* all readers gone; frees pending garbage */

/* Main thread, before the reader's thread starts. The reader lives as long as the snapshot. */
struct snapshot_reader *snapshot_reader_new(struct snapshot *snapshot);

/* Reader's thread. NULL until the first publication (the first full sync). Valid until leave. */
const struct store *snapshot_enter(struct snapshot_reader *reader);
void snapshot_leave(struct snapshot_reader *reader);

/* Main thread. Readers that enter afterwards see the store. Takes ownership of the garbage. */
void snapshot_publish(struct snapshot *snapshot, const struct store *store,
                      struct store_garbage *garbage);

/* Main thread; the first call comes before any reader's thread starts. Takes ownership of the
 * configuration (engine_config_free). Every reader that enters afterwards sees it; it is freed once
 * it is replaced and no reader can hold it. */
void snapshot_configure(struct snapshot *snapshot, struct engine_config *config);

/* Main thread: the newest, valid until the next snapshot_configure. */
const struct engine_config *snapshot_newest_config(const struct snapshot *snapshot);

/* The reader's thread, between enter and leave. */
const struct engine_config *snapshot_config(const struct snapshot_reader *reader);

/* Main thread: frees the garbage that no reader can hold. True when some is still pending: call
 * again later (a timer). snapshot_publish and snapshot_configure call it once themselves. */
bool snapshot_reclaim(struct snapshot *snapshot);

#endif
