/* A snapshot's bytes → content. Nothing in them is trusted: a length that does not fit, a name that
 * is none, a record that cannot be, names out of order, a checksum that differs, bytes missing or
 * behind the end all refuse the whole, with a reason. Main thread; fuzzed (fuzz_snapshot). */
#ifndef SKYDNS_SNAPSHOT_SNAPSHOT_DECODE_INTERNAL_H
#define SKYDNS_SNAPSHOT_SNAPSHOT_DECODE_INTERNAL_H

#include <stddef.h>
#include <stdint.h>

#include "common/base/attributes.h"
#include "common/base/err.h"
#include "common/base/slice.h"
#include "skydns/snapshot/snapshot.h"

/* Fills a buffer with the next bytes: how many, 0 at the end, or -errno. */
typedef int64_t (*snapshot_source)(void *data, void *bytes, size_t len);

/* 0, and what fini frees; or ERR_SYNTAX with the reason for a warning, or the source's -errno. Now:
 * clock_monotonic in seconds and Unix time in ms, from which ages count. */
int snapshot_decode(snapshot_source source, void *data, int64_t now_ms,
                    struct snapshot_content *ret_content, struct err *err) MUST_CHECK;

#endif
