/* Holds a waiting query's own data: what was parsed of it, and its origin. The thread that received
 * the query makes it once. Other threads answer from it, perhaps several times, without parsing
 * again. It holds neither namespace, zone nor key: each answer looks them up in the version of that
 * moment. Pure; any thread. */
#ifndef SKYDNS_WIRE_OWNED_QUERY_H
#define SKYDNS_WIRE_OWNED_QUERY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/addr.h"
#include "common/dns/dns.h"
#include "skydns/tsig/tsig.h"
#include "skydns/wire/cookie_option.h"
#include "skydns/wire/edns.h"
#include "skydns/wire/query.h"
#include "skydns/wire/query_parse.h"

/* A waiting query; copy it by its owned_query_size bytes. */
struct owned_query {
    struct addr client, local;
    int64_t received_ns; /* engine_query's, like the next fields */
    uint64_t search_list_serial;
    uint32_t idle_ms;
    uint16_t udp_size; /* EDNS's, like has_edns, dnssec_ok, is_from_stub, asks */
    uint8_t transport; /* enum engine_transport */
    uint8_t search_list_at, search_list_seen;
    uint8_t asks;
    uint8_t name_len, subnet_len, cookie_len;
    bool is_allowed : 1;
    bool keeps_name : 1;
    bool is_ordinary : 1, has_edns : 1, dnssec_ok : 1, is_from_stub : 1;
    bool is_signed : 1;
    /* A message of header, name in the client's spelling, type and class. Then the option
     * client-subnet, and the cookie, of which only the client's part if it cannot be ours. With
     * TSIG, struct tsig_state. */
    uint8_t bytes[];
};

enum {
    /* Without TSIG. */
    OWNED_QUERY_PLAIN_MAX =
        offsetof(struct owned_query, bytes) + QUESTION_WIRE_MAX + EDNS_SUBNET_MAX + COOKIE_SIZE,
    OWNED_QUERY_MAX = OWNED_QUERY_PLAIN_MAX + sizeof(struct tsig_state),
};

union owned_query_room { /* for any of them */
    struct owned_query query;
    uint8_t bytes[OWNED_QUERY_MAX];
};

/* Takes a sound query that the engine has parsed (`parsed`, `tsig`). Returns its size. */
size_t owned_query_take(struct owned_query *owned, const struct engine_query *query);

/* Returns the bytes to copy. */
size_t owned_query_size(const struct owned_query *owned);

/* Returns the TSIG state. NULL: the query had no TSIG. */
const struct tsig_state *owned_query_tsig(const struct owned_query *owned);

/* Returns the query as it is to be answered now; borrows from `owned`. */
struct engine_query owned_query_open(const struct owned_query *owned, int64_t now_s, int64_t now_ms,
                                     uint32_t random);

/* Returns the query as parsed, with its question; borrows from `owned`. */
void owned_query_read(const struct owned_query *owned, struct query *ret_query);

#endif
