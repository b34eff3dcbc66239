/* Decides whether /readiness is 503, and why: status.h has the rules. Main thread. */
#ifndef SKYDNS_PAGES_READINESS_INTERNAL_H
#define SKYDNS_PAGES_READINESS_INTERNAL_H

#include <stdbool.h>

#include "common/base/attributes.h"
#include "common/base/buf.h"
#include "skydns/pages/metrics_table.h"

/* Returns true if it is 503, with the reason appended as one line without newline. */
bool readiness_explain(const struct metrics_sources *sources, bool is_strict,
                       struct buf *out) MUST_CHECK;

#endif
