/* One connection of load_tls to a DNS server: TCP, TLS, and DNS in its own framing or over HTTP/2.
 * Trusts any certificate, but checks the handshake's signature, as clients do. Single-threaded. */
#ifndef BENCH_ANSWERS_TLS_ASKER_H
#define BENCH_ANSWERS_TLS_ASKER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/addr.h"
#include "common/base/attributes.h"
#include "tests/bench/answers/meter.h"
#include "tests/bench/answers/queries.h"

struct doh_asker;
struct ssl_ctx_st;
struct ssl_session_st;
struct ssl_st;

enum { TLS_ASKED_MAX = 64, TLS_ASKER_INPUT = 2048 };

/* State that the connections share. */
struct tls_askers {
    struct addr server;
    struct queries *queries; /* borrowed, as the meter */
    struct meter *meter;
    bool is_doh;
    bool has_resumption; /* offers the session of its last connection */
    int epoll;
    struct ssl_ctx_st *context; /* tls_askers_init */
};

void tls_askers_init(struct tls_askers *askers); /* the fields before `context` are set */
void tls_askers_fini(struct tls_askers *askers);

struct tls_asker {
    struct tls_askers *all;
    int fd; /* -1: closed; events of the epoll have this struct */
    bool is_connected, is_open, is_resumed;
    int64_t asked, answered;
    uint32_t events;
    struct ssl_st *ssl;
    struct ssl_session_st *session;
    struct doh_asker *doh;
    size_t have;
    uint8_t input[TLS_ASKER_INPUT]; /* part of an answer; queries have one name, so it is short */
};

void tls_asker_open(struct tls_asker *asker, struct tls_askers *all); /* a zeroed or closed one */

/* By a reset, which leaves no state behind; the session is kept. */
void tls_asker_close(struct tls_asker *asker);
void tls_asker_fini(struct tls_asker *asker);

/* After an event: goes on with the handshake (then is_open), or takes answers, and returns their
 * number; -1: the connection has failed or was closed. */
int64_t tls_asker_turn(struct tls_asker *asker) MUST_CHECK;

/* Sends as many queries in one record. */
bool tls_asker_ask(struct tls_asker *asker, int64_t count) MUST_CHECK;

#endif
