/* Keeps the file of -snapshot up to date: decides when to write it, and logs and counts the result.
 * Takes the image here, in an instant; another thread writes it (snapshot_writer.h).
 *
 *     something changed          written when the interval has passed since the last write began
 *     nothing changed            a quarter of the greatest age after that, while etcd is followed
 *     the program ends           written once more
 *
 * The first snapshot comes with the first content that etcd has confirmed. One that cannot be
 * written is tried again after the interval; one that hangs is logged as a failure is. Looks at
 * each turn of the loop, so that an idle program has no timer but for the next write. Main thread.
 */
#ifndef SKYDNS_SNAPSHOT_KEEPER_H
#define SKYDNS_SNAPSHOT_KEEPER_H

#include <ev.h>
#include <stdint.h>

#include "skydns/pages/metrics_table.h"
#include "skydns/publish/engine_config.h"

struct publisher;
struct snapshot_content;
struct snapshot_keeper;
struct store_sync;
struct writer_documents;

/* Returns how long the end of the program waits for a file of this size: 5 s, and one more for each
 * 16 MiB, since a million Services are 190 MiB; at most 20 s, within the 30 s that Kubernetes gives
 * a pod. Pure. */
int64_t snapshot_keeper_end_ms(size_t bytes);

/* Parts of the program, borrowed as long as the keeper lives. */
struct snapshot_keeper_config {
    struct ev_loop *loop;
    struct publisher *publisher;
    const struct store_sync *sync;
    const struct writer_documents *documents;
    const char *path;
    enum engine_schema schema;
    int64_t interval_ms;
    int64_t max_ms;                       /* the greatest age of a useful one; 0: any */
    const struct snapshot_content *start; /* this program started from it; for the call; or NULL */

    /* Called once, when answers no longer come from the snapshot of the start; not without
     * `start`. */
    void (*caught_up)(void *data);
    void *data;
};

struct snapshot_keeper *snapshot_keeper_new(const struct snapshot_keeper_config *config);

/* Cancels a write under way; the file is then as it was. NULL is fine. */
void snapshot_keeper_free(struct snapshot_keeper *keeper);

/* Sets other settings. */
void snapshot_keeper_set(struct snapshot_keeper *keeper, int64_t interval_ms, int64_t max_ms);

/* Notes a change that store_sync_changes does not count: one of kube2sky's documents. */
void snapshot_keeper_note(struct snapshot_keeper *keeper);

/* Writes a last snapshot, and blocks until it is there, at most this long. Runs the loop for up to
 * a second if etcd, which answers, has not told all of it yet. */
void snapshot_keeper_finish(struct snapshot_keeper *keeper, int64_t timeout_ms);

/* Returns the counts for the metrics; keeper: a struct snapshot_keeper, or NULL. */
struct metrics_snapshot snapshot_keeper_counts(const void *keeper);

#endif
