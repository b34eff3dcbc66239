/* Shared by the bare responders over TCP and over TLS: the socket, and the answers to a read.
 * Single-threaded. */
#ifndef BENCH_ANSWERS_BARE_STREAM_H
#define BENCH_ANSWERS_BARE_STREAM_H

#include <stddef.h>
#include <stdint.h>

#include "common/base/attributes.h"
#include "common/base/err.h"
#include "tests/bench/answers/bare_answer.h"

enum {
    BARE_EVENTS = 256,
    BARE_LENGTH = 2,                     /* before each message */
    BARE_QUERY_LEAST = BARE_LENGTH + 17, /* for the root: sets how many fit into a read */
    BARE_READ = 1 << 16,
    BARE_WRITE = BARE_READ + BARE_READ / BARE_QUERY_LEAST * BARE_RECORD,
};

/* A listening socket on `address:port`; -errno, or the parser's error. */
int bare_listen(const char *address, struct err *err) MUST_CHECK;

/* The next new connection; -1: there is none at present. */
int bare_accept(int listener);

/* Answers the queries of one read into `out`, which has room for BARE_WRITE bytes; returns the
 * answers' size. Ignores a query split across reads: the benchmark's clients send whole ones. */
size_t bare_answer_all(const uint8_t *in, size_t len, uint8_t *out);

#endif
