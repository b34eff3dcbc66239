/* Snapshots in memory: an image's bytes, what they decode to, and all of it as text, in which two
 * are equal exactly when everything in them is. For tests; aborts on errors. */
#ifndef TESTS_SUPPORT_SKYDNS_SNAPSHOTS_H
#define TESTS_SUPPORT_SKYDNS_SNAPSHOTS_H

#include "common/base/err.h"
#include "skydns/snapshot/snapshot_decode_internal.h"

enum { SNAPSHOTS_MAX = 64 << 20 };

/* Appends the bytes of the image. */
void snapshots_encode(const struct snapshot_image *image, uint32_t now_s, struct buf *out);

/* snapshot_decode of these bytes. */
int snapshots_decode(struct slice bytes, const struct snapshot_now *now,
                     struct snapshot_content *ret_content, struct err *err);

/* Sets the last eight bytes to the checksum of those before; nothing if there are fewer. */
void snapshots_seal(struct buf *bytes);

/* Commits up to `count` records of all kinds below few names. Owned by the writer. */
const struct store *snapshots_random_store(struct store_writer *writer, uint64_t seed, size_t count,
                                           int64_t revision);

/* A header and sections that depend on the seed; the store borrowed. */
void snapshots_random_image(struct snapshot_image *image, uint64_t seed, const struct store *store);

/* Appends text. Commits the content's writer. */
void snapshots_describe_image(const struct snapshot_image *image, struct buf *out);
void snapshots_describe_content(struct snapshot_content *content, struct buf *out);

#endif
