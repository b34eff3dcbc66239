/* Publishes store versions to the threads that answer, and frees what no thread can still see.
 * The only lock-free code in the tree: quiescent-state reclamation in C11 atomics.
 *
 *     main thread                          worker, resolver
 *     snapshot_publish(v2, garbage of v1)  store = snapshot_enter(reader)   -> v1 or v2, whole
 *     snapshot_reclaim()                   ... answer a batch ...
 *                                          snapshot_leave(reader)           before it sleeps
 *
 * A thread outside enter/leave (asleep in recvmmsg) delays nothing. */
#ifndef SKYDNS_SNAPSHOT_H
#define SKYDNS_SNAPSHOT_H

#include "skydns/store.h"

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

/* Main thread: frees the garbage that no reader can hold. True when some is still waiting; call
 * again later (a timer) then. snapshot_publish does it once itself. */
bool snapshot_reclaim(struct snapshot *snapshot);

#endif
