/* Decodes a snapshot's bytes into content. Trusts nothing in them: a length that does not fit, a
 * malformed name or record, names out of order, a checksum that differs, bytes missing or behind
 * the end all refuse the whole, with a reason. A length costs memory only as its bytes come. Main
 * thread; fuzzed (fuzz_snapshot). */
#ifndef SKYDNS_SNAPSHOT_SNAPSHOT_DECODE_INTERNAL_H
#define SKYDNS_SNAPSHOT_SNAPSHOT_DECODE_INTERNAL_H

#include <stddef.h>
#include <stdint.h>

#include "common/base/attributes.h"
#include "common/base/err.h"
#include "common/base/slice.h"
#include "skydns/snapshot/snapshot.h"

struct snapshot_source {
    /* Fills a buffer with the next bytes; returns how many, 0 at the end, or -errno. */
    int64_t (*read)(void *data, void *bytes, size_t len);
    void *data;
    size_t bytes; /* how many there may be; 0: unknown */
};

/* Moment of loading. A record's age counts up to when etcd was last heard from, and since then. */
struct snapshot_now {
    uint32_t monotonic_s; /* clock_monotonic_ms in seconds */
    int64_t unix_ms;
};

/* Decodes. Returns 0 and content for snapshot_content_fini; ERR_SYNTAX with the reason for a
 * warning; or the source's -errno. On failure *ret_content is as it was. */
int snapshot_decode(const struct snapshot_source *source, const struct snapshot_now *now,
                    struct snapshot_content *ret_content, struct err *err) MUST_CHECK;

#endif
