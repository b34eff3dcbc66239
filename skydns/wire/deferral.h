/* Tells why a query cannot be answered without waiting, and what it waits for. The answer layer
 * fills it in on a worker, and the resolver thread acts on it. Plain data. */
#ifndef SKYDNS_WIRE_DEFERRAL_H
#define SKYDNS_WIRE_DEFERRAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/dns/dname.h"
#include "skydns/wire/external_answer.h"
#include "skydns/wire/question.h"

/* Bounds the records that one answer may visit on a thread that others wait for: a tenth of a
 * millisecond at most. An answer that needs more defers its subtree scan. */
enum { ENGINE_SCAN_MAX = 512 };

/* Bounds the same while other queries of its batch wait: the addresses that fill a response of
 * 1,232 bytes, some of them repeated. */
enum { ENGINE_BRIEF_MAX = 128 };

/* Bounds the external questions of one answer (targets outside the domain). Further targets get no
 * addresses. */
enum { ENGINE_EXTERNAL_MAX = 16 };

enum engine_deferral_kind {
    ENGINE_DEFER_FORWARD,  /* not our name: forward the query, relay the response */
    ENGINE_DEFER_LOOKUP,   /* upstreams must answer the questions below first */
    ENGINE_DEFER_SCAN,     /* too many records for a worker */
    ENGINE_DEFER_SIGN,     /* signatures must be made: a millisecond each, at worst */
    ENGINE_DEFER_TRANSFER, /* a zone transfer, to a client that may have it:
                            * skydns/transfer/transfers.h */
    ENGINE_DEFER_REFRESH,  /* set by callers of engine_answer alone, for wants_refresh */
};

struct engine_deferral {
    bool is_barred;          /* with REPLY: REFUSED, because -allow does not admit the client */
    bool wants_refresh;      /* also with REPLY: the response came from a cache entry that should be
                              * refreshed before it expires; once for each entry */
    struct question refresh; /* with it: the question to ask */
    bool lacks_target;       /* with REPLY: response.lacks_target */
    bool keeps_name;         /* FORWARD: the name exists here, and NXDOMAIN becomes no data */
    bool needs_recursion;    /* LOOKUP: only for clients whose queries may be forwarded */
    enum engine_deferral_kind kind;
    /* The candidate name of the client's search list that waits, the configuration that the list is
     * of, and the outcomes of earlier names. They go into engine_query when the query is answered
     * again. At least the query's own search_list_at; 0: there is no search list, or its first name
     * waits. */
    uint8_t search_list_at;
    uint64_t search_list_serial;
    uint8_t search_list_seen;
    struct dname forward; /* FORWARD only: this candidate name; len 0: the client's name */

    size_t question_count; /* LOOKUP only */
    struct external_question questions[ENGINE_EXTERNAL_MAX];
};

#endif
