/* The client's side of DNS over HTTPS (RFC 8484, POST) on one HTTP/2 connection: queries in, bytes
 * out; bytes in, answers counted. No socket. Single-threaded. */
#ifndef BENCH_ANSWERS_DOH_ASKER_H
#define BENCH_ANSWERS_DOH_ASKER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/base/attributes.h"
#include "tests/bench/answers/meter.h"
#include "tests/bench/answers/queries.h"

struct doh_asker;

/* At most so many unanswered; the default of servers is 100 or more. */
enum { DOH_ASKED_MAX = 64 };

/* The meter, which counts the answers, is borrowed. */
struct doh_asker *doh_asker_new(struct meter *meter);
void doh_asker_free(struct doh_asker *asker); /* NULL is fine */

/* The query, borrowed until it is answered, must have the ID 0. */
void doh_asker_ask(struct doh_asker *asker, const struct query *query);

/* The next bytes to send, at most size; returns how many. */
size_t doh_asker_put(struct doh_asker *asker, uint8_t *out, size_t size);

/* Returns the number of answers; -1: the server has broken the protocol, or ends the connection. An
 * answer whose status is not 200 counts as an answer, and as an error. */
int64_t doh_asker_take(struct doh_asker *asker, const uint8_t *bytes, size_t len) MUST_CHECK;

#endif
