/* The server's side of DNS over HTTPS at the least that nghttp2 costs: answers each POST with the
 * bare answer (bare_answer.h), whatever its path and fields. Single-threaded. */
#ifndef BENCH_ANSWERS_BARE_H2_H
#define BENCH_ANSWERS_BARE_H2_H

#include <stddef.h>
#include <stdint.h>

#include "common/base/attributes.h"

struct bare_h2;

struct bare_h2 *bare_h2_new(void);
void bare_h2_free(struct bare_h2 *h2); /* NULL is fine */

/* Takes what was read; returns how much of `out` is to be sent. size + 1: the client has broken the
 * protocol, or does not read its answers. */
size_t bare_h2_answer(struct bare_h2 *h2, const uint8_t *in, size_t len, uint8_t *out,
                      size_t size) MUST_CHECK;

#endif
