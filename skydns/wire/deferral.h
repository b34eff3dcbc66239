/* Why a query cannot be answered without waiting, and what it waits for: the answer layer fills it
 * in on a worker, the resolver thread acts on it. Plain data. */
#ifndef SKYDNS_WIRE_DEFERRAL_H
#define SKYDNS_WIRE_DEFERRAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/dns/dname.h"
#include "skydns/wire/external_answer.h"
#include "skydns/wire/question.h"

/* The records one answer may visit on a thread that others wait for: a tenth of a millisecond at
 * most. Beyond that, the walk is deferred. */
enum { ENGINE_SCAN_MAX = 512 };

/* The same while other queries of its batch are still to be answered: the addresses that fill a
 * reply of 1,232 bytes, some of them repeated. */
enum { ENGINE_BRIEF_MAX = 128 };

/* External questions one answer may ask (targets outside the domain); further targets get no
 * addresses. */
enum { ENGINE_EXTERNAL_MAX = 16 };

enum engine_deferral_kind {
    ENGINE_DEFER_FORWARD,  /* not our name: forward the query, relay the reply */
    ENGINE_DEFER_LOOKUP,   /* the questions below must be asked upstream first */
    ENGINE_DEFER_SCAN,     /* too many records for a worker */
    ENGINE_DEFER_SIGN,     /* signatures are to be made: a millisecond each, at worst */
    ENGINE_DEFER_TRANSFER, /* of a zone, to a client that may have it: skydns/transfer/transfers.h
                            */
    ENGINE_DEFER_REFRESH, /* never of engine_answer, but what its caller passes on: wants_refresh */
};

struct engine_deferral {
    bool is_barred;          /* with REPLY: REFUSED, because the client may not ask at all */
    bool wants_refresh;      /* also with REPLY: the reply came from the cache, whose copy should be
                              * asked for again before it expires; once for each copy */
    struct question refresh; /* with it: what to ask */
    bool keeps_name;         /* FORWARD: the name exists here, and NXDOMAIN becomes no data */
    bool needs_recursion;    /* LOOKUP: only for clients whose queries may be forwarded */
    enum engine_deferral_kind kind;
    /* The place of the client's search path that waits, the configuration that the path is of, and
     * what was seen at earlier places: for engine_query, when the query is answered
     * again. At least the query's own search_list_at; 0: it has no search path, or its first place
     * waits.
     */
    uint8_t search_list_at;
    uint64_t search_list_serial;
    uint8_t search_list_seen;
    struct dname forward; /* FORWARD only: the name at this place; len 0: the client's */

    size_t question_count; /* LOOKUP only */
    struct external_question questions[ENGINE_EXTERNAL_MAX];
};

#endif
