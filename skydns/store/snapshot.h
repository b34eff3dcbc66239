/* Publishes store versions, and the configuration they are answered by, to the threads that answer,
 * and frees what no thread can still see.
 * The only lock-free code in the tree: quiescent-state reclamation in C11 atomics.
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

/* As many threads as may register: 64 workers, the resolver, room for the rest. */
enum { SNAPSHOT_READERS_MAX = 128 };

struct snapshot *snapshot_new(void);
void snapshot_free(struct snapshot *snapshot); /* all readers gone; frees garbage still waiting */

/* Main thread, before the reader's thread starts. The reader lives as long as the snapshot. */
struct snapshot_reader *snapshot_reader_new(struct snapshot *snapshot);

/* The reader's thread. NULL until the first publication (the first full sync). Valid until leave.
 */
const struct store *snapshot_enter(struct snapshot_reader *reader);
void snapshot_leave(struct snapshot_reader *reader);

/* Main thread. Takes the garbage; visible to every reader that enters afterwards. */
void snapshot_publish(struct snapshot *snapshot, const struct store *store,
                      struct store_garbage *garbage);

/* Main thread, the first time before any reader's thread starts. Takes the configuration, one block
 * of memory; every reader that enters afterwards has it, and it is freed when its successor has
 * replaced it everywhere. */
void snapshot_configure(struct snapshot *snapshot, struct engine_config *config);

/* Main thread: the newest, until the next snapshot_configure. */
const struct engine_config *snapshot_newest_config(const struct snapshot *snapshot);

/* The reader's thread, between enter and leave. */
const struct engine_config *snapshot_config(const struct snapshot_reader *reader);

/* Main thread: frees the garbage that no reader can hold. True when some is still waiting; call
 * again later (a timer) then. snapshot_publish does it once itself. */
bool snapshot_reclaim(struct snapshot *snapshot);

#endif
