/* A query and its possible outcomes: what the sockets pass to the answer layer and get back. Plain
 * data; the bytes and addresses are borrowed from the caller. */
#ifndef SKYDNS_WIRE_QUERY_H
#define SKYDNS_WIRE_QUERY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/addr.h"
#include "common/dns/dname.h"
#include "skydns/clients/client_view.h"

/* A reply never exceeds the transport's limit; over TCP 65,535 (RFC 1035 4.2.2). */
enum { ENGINE_REPLY_MAX = 65535 };

/* Queries whose names one engine_look_ahead looks up together. */
enum { ENGINE_AHEAD_MAX = 8 };

/* As engine_query.search_list_at: behind every place of a search path. */
enum { ENGINE_PATH_OVER = 255 };

/* Bits of engine_query.search_list_seen. They decide if no place of a search path answers: an
 * upstream failed, or said NODATA. */
enum { ENGINE_PATH_SAW_FAILURE = 1, ENGINE_PATH_SAW_NO_DATA = 2 };

/* How a query came. To the answer, all that is not UDP is TCP: only limits of size differ. */
enum engine_transport {
    ENGINE_UDP,
    ENGINE_TCP,
    ENGINE_TLS,   /* DNS over TLS, RFC 7858 */
    ENGINE_HTTPS, /* RFC 8484 */
    ENGINE_HTTP,  /* the same without TLS, behind a proxy */
    ENGINE_GRPC,  /* CoreDNS's service */
    ENGINE_TRANSPORTS
};

struct owned_query;
struct query;
struct tsig_query;

struct engine_query {
    const uint8_t *wire;
    size_t len;
    const struct addr *client;
    const struct addr *local; /* where it was sent to; family AF_UNSPEC when not known */
    enum engine_transport transport;
    uint32_t idle_ms;    /* of its connection, as told to a client that asks */
    int64_t received_ns; /* Unix time at which the kernel had it; 0: not measured. Passed on only */
    int64_t now_s;       /* wall clock */
    int64_t now_ms;      /* monotonic clock: how old kept replies are */
    uint32_t random;     /* for rotation */
    unsigned ahead;      /* its position, from 1, in the last engine_look_ahead; 0: none */
    bool may_scan; /* on the walker's thread, in every call: no ENGINE_SCAN_MAX (deferral.h) */
    bool may_sign; /* on a signer's or the walker's thread, in every call: signatures that are
                    * not kept are made; else they are ENGINE_DEFER_SIGN */
    bool (*is_late)(void *data); /* with may_scan: ends a walk that has taken too long, SERVFAIL;
                                  * NULL: never */
    void *is_late_data;
    bool takes_stale; /* nameservers have failed, or not replied in time: an expired reply will do,
                       * and is REPLY; without one, DEFER, and the caller says how they failed */
    bool keeps_name;  /* as the deferral that the query waits for said */
    bool is_allowed;  /* the resolver knows that the client may ask about other domains, whatever
                       * the configuration's list says */
    bool is_brief;    /* only ENGINE_BRIEF_MAX: others wait for their first try */

    /* It was deferred before, and is answered from this: `wire` is header and question, and what it
     * misses in the cache is counted already. NULL: it has just come. */
    const struct owned_query *owned;

    /* Of a search path (search_list_internal.h), after a deferral for FORWARD: */
    uint8_t search_list_at;      /* the first place still to be tried; 0: from the start;
                                  * ENGINE_PATH_OVER: none, the query is answered as it stands */
    uint64_t search_list_serial; /* of the configuration whose path has that place: by another one,
                                  * it is as ENGINE_PATH_OVER */
    uint8_t search_list_seen;    /* ENGINE_PATH_SAW_..., at earlier ones */

    /* The engine's own; callers leave them alone. */
    struct query *parsed;          /* what the bytes say (query_parse.h), without TSIG */
    const struct tsig_query *tsig; /* its good TSIG record; NULL: it has none, or has waited */
    uint8_t gets;                  /* EDNS_ASKS_...: its response has these; `reserved` has room */
    struct client_view view;
    size_t reserved;               /* bytes of the reply's limit that something else is to have */
    size_t reserved_by_tsig;       /* the part of it for TSIG; 0 from callers */
    bool ends_in_tsig;             /* the response does; false from callers */
    const struct dname *signed_by; /* the key of its good TSIG record; NULL: none */
};

enum engine_verdict { ENGINE_REPLY, ENGINE_DROP, ENGINE_DEFER }; /* engine.h */

#endif
