/* A snapshot's bytes → content. Nothing in them is trusted: a length that does not fit, a name that
 * is none, a record that cannot be, names out of order, a checksum that differs, bytes missing or
 * behind the end all refuse the whole, with a reason. A length costs memory only as its bytes come.
 * Main thread; fuzzed (fuzz_snapshot). */
#ifndef SKYDNS_SNAPSHOT_SNAPSHOT_DECODE_INTERNAL_H
#define SKYDNS_SNAPSHOT_SNAPSHOT_DECODE_INTERNAL_H

#include <stddef.h>
#include <stdint.h>

#include "common/base/attributes.h"
#include "common/base/err.h"
#include "common/base/slice.h"
#include "skydns/snapshot/snapshot.h"

struct snapshot_source {
    /* Fills a buffer with the next bytes: how many, 0 at the end, or -errno. */
    int64_t (*read)(void *data, void *bytes, size_t len);
    void *data;
    size_t bytes; /* how many there may be; 0: unknown */
};

/* The moment of loading: a record has been known for as long as when etcd was last heard from, and
 * since then. */
struct snapshot_now {
    uint32_t monotonic_s; /* clock_monotonic */
    int64_t unix_ms;
};

/* 0, and what snapshot_content_fini frees; or ERR_SYNTAX with the reason for a warning, or the
 * source's -errno; then *ret_content is as it was. */
int snapshot_decode(const struct snapshot_source *source, const struct snapshot_now *now,
                    struct snapshot_content *ret_content, struct err *err) MUST_CHECK;

#endif
