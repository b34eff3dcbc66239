/* Defines a query and its possible outcomes: what the sockets pass to the answer layer and get
 * back. Plain data; the bytes and addresses are borrowed from the caller. */
#ifndef SKYDNS_WIRE_QUERY_H
#define SKYDNS_WIRE_QUERY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/addr.h"
#include "common/dns/dname.h"
#include "skydns/clients/client_view.h"

/* Bounds a response on any transport; over TCP 65,535 (RFC 1035 4.2.2). */
enum { ENGINE_REPLY_MAX = 65535 };

/* Bounds the queries whose names one engine_look_ahead looks up together. */
enum { ENGINE_AHEAD_MAX = 8 };

/* The value of engine_query.search_list_at after the last candidate name of a search list. */
enum { ENGINE_PATH_OVER = 255 };

/* Bits of engine_query.search_list_seen. They decide if no candidate name of a search list answers:
 * an upstream failed, or said NODATA. */
enum { ENGINE_PATH_SAW_FAILURE = 1, ENGINE_PATH_SAW_NO_DATA = 2 };

/* A query's transport. For the answer, all but UDP are TCP: only limits of size differ. */
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
    const struct addr *local; /* the address that it was sent to; family AF_UNSPEC when not known */
    enum engine_transport transport;
    uint32_t idle_ms;    /* its connection's idle time, as told to a client that asks */
    int64_t received_ns; /* Unix time at which the kernel had it; 0: not measured. Only passed on */
    int64_t now_s;       /* wall clock */
    int64_t now_ms;      /* monotonic clock: for the age of cache entries */
    uint32_t random;     /* for rotation */
    unsigned ahead;      /* its position, from 1, in the last engine_look_ahead; 0: none */
    bool may_scan; /* on the walker's thread, in every call: no ENGINE_SCAN_MAX (deferral.h) */
    bool may_sign; /* on a signer's or the walker's thread, in every call: makes signatures that are
                    * not cached; else they are ENGINE_DEFER_SIGN */
    bool (*is_late)(void *data); /* with may_scan: ends a subtree scan that has taken too long with
                                  * SERVFAIL; NULL: never */
    void *is_late_data;
    bool takes_stale; /* upstreams have failed, or not responded in time: a stale answer will do,
                       * and is REPLY; without one, DEFER, and the caller says how they failed */
    bool keeps_name;  /* as the deferral that the query waits for said */
    bool is_allowed;  /* the resolver knows that the client may ask about external names, whatever
                       * the configuration's list says */
    bool is_brief;    /* only ENGINE_BRIEF_MAX: others wait for their first try */

    /* Set for a query that was deferred before, and is answered from this: `wire` is header and
     * question, and its cache misses are counted already. NULL: it has just come. */
    const struct owned_query *owned;

    /* Its search list (search_list_internal.h), after a deferral for FORWARD: */
    uint8_t search_list_at;      /* the first candidate name still to be tried; 0: from the start;
                                  * ENGINE_PATH_OVER: none, the query is answered as it stands */
    uint64_t search_list_serial; /* serial of the configuration with that search list: with another
                                  * one, it is as ENGINE_PATH_OVER */
    uint8_t search_list_seen;    /* ENGINE_PATH_SAW_..., for earlier names */

    /* The engine's own; callers leave them alone: */
    struct query *parsed;          /* the parsed bytes (query_parse.h), without TSIG */
    const struct tsig_query *tsig; /* its good TSIG record; NULL: it has none, or has waited */
    uint8_t gets; /* EDNS_ASKS_...: the options of its response; `reserved` has the cookie */
    struct client_view view;
    size_t reserved;               /* bytes of the response's limit that something else needs */
    size_t reserved_by_tsig;       /* the part of it for TSIG; 0 from callers */
    bool ends_in_tsig;             /* the response ends in TSIG; false from callers */
    const struct dname *signed_by; /* the key of its good TSIG record; NULL: none */
};

enum engine_verdict { ENGINE_REPLY, ENGINE_DROP, ENGINE_DEFER }; /* engine.h */

#endif
