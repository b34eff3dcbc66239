/* An engine over a store built from (key, value) pairs, queried in text: tests answers without
 * sockets or etcd. */
#ifndef TESTS_SUPPORT_SKYDNS_FIXTURE_H
#define TESTS_SUPPORT_SKYDNS_FIXTURE_H

#include "skydns/engine/engine.h"
#include "tests/support/skydns/dns_text.h"

/* A key below /skydns/ and its JSON value, with ' for ". */
struct fixture_key {
    const char *key;
    const char *value;
};

/* 17 October 2025, 12:34:56 UTC; ..._HOUR is the start of that hour. */
enum { FIXTURE_NOW_S = 1760704496, FIXTURE_NOW_HOUR = 1760702400 };

struct fixture {
    struct engine_config config; /* may be changed between questions */
    struct engine_config known;  /* the engine's current configuration */
    struct store_writer *writer;
    const struct store *store; /* NULL: as before the first sync */
    struct engine *engine;
    struct addr local;
    struct addr client;                /* family 0: `local` */
    unsigned char search_list_at;      /* as engine_query's */
    unsigned path_age;                 /* of how many configurations ago that place is */
    uint8_t search_list_seen;          /* as engine_query's */
    struct external_answers externals; /* passed on the second call if has_externals */
    bool has_externals;
    bool may_scan, may_sign, is_brief;
    bool (*is_late)(void *data); /* as engine_query's, with the fixture as its data */
    unsigned ahead;              /* as engine_query's */
    uint32_t random;
    int64_t now_ms;
    bool takes_stale, is_repeated; /* it waits, and is answered from what it owns */

    enum engine_verdict verdict;
    bool is_signed; /* the query is, well */
    struct engine_deferral deferral;
    uint8_t query[ENGINE_REPLY_MAX];
    size_t query_len;
    uint8_t reply[ENGINE_REPLY_MAX];
    size_t reply_len;
    struct response response; /* of the reply's bytes; for calls of the engine, too */
    char text[DNS_TEXT_MAX];
};

/* The domain is cluster.local., the hostmaster hostmaster.cluster.local., the rest as the flags'
 * defaults, except no nameservers and no rotation. Aborts on a key or value that does not parse. */
struct fixture *fixture_new(const struct fixture_key *keys, size_t count);
void fixture_free(struct fixture *fixture);

/* Adds keys to the store. */
void fixture_put(struct fixture *fixture, const struct fixture_key *keys, size_t count);

/* Adds a domain. */
void fixture_domain(struct fixture *fixture, const char *text);

/* Builds the query: "NAME TYPE" and, in any order, `ch`, `nord`, `ad`, `cd`, `edns=SIZE`, `do`,
 * `tcp`, and with EDNS `subnet`, 10.1.2.0/24 as the client's, and `stub`, which says that a server
 * of stub zones forwards it. Returns the transport requested. */
enum engine_transport fixture_query(struct fixture *fixture, const char *question);

/* Passes query[0..query_len) to the engine. Returns the reply as dns_text, or `drop`, `forward`,
 * `walk`, `sign`, or `lookup` and its questions. Aborts if the reply exceeds its limit. */
const char *fixture_answer(struct fixture *fixture, enum engine_transport transport);

/* Both steps. */
const char *fixture_ask(struct fixture *fixture, const char *question);

#endif
