/* Reads an ordinary query in one pass (query_parse.h). Pure. */
#ifndef SKYDNS_WIRE_FAST_QUERY_H
#define SKYDNS_WIRE_FAST_QUERY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/slice.h"
#include "common/dns/dname.h"

struct fast_query {
    const uint8_t *wire;
    uint16_t type;     /* class IN */
    uint16_t udp_size; /* of EDNS */
    bool has_edns;
    bool dnssec_ok;
    uint8_t asks;          /* EDNS_ASKS_... */
    bool is_lower;         /* the name as typed has no capitals */
    uint8_t cookie_len;    /* of EDNS's option COOKIE, the first; 0: none */
    const uint8_t *cookie; /* its data */
    uint8_t name_len;      /* with the root label */
    uint8_t label_count;
    uint8_t name[DNAME_MAX]; /* in lower case */
    uint8_t
        offsets[DNAME_LABELS_MAX + 1]; /* of the labels' length bytes in the name, and the root's */
};

/* False: not an ordinary query (anything but one question of class IN with an optional OPT of
 * version 0, whose options say nothing about the answer; or a dot in a label; or a label of 46
 * bytes, which looks like one). Whether it is valid is for question_parse. */
bool fast_query_read(const uint8_t *wire, size_t len, struct fast_query *ret_query);

/* Sets the name, of name_len bytes, whole and behind a header at `wire`, and what follows from it.
 * False: for such a name no query is ordinary. */
bool fast_query_set_name(struct fast_query *query, const uint8_t *wire, uint8_t name_len);

/* False, at the cost of one look: the query has no additional record, or ends with an OPT record
 * without options, as most do (a client may make its cookie look like one); or its header counts
 * more records than a client's query with a cookie has: OPT and TSIG, and the SOA of an IXFR. */
bool fast_query_may_have_cookie(const uint8_t *wire, size_t len);

static inline struct slice fast_query_label(const struct fast_query *query, unsigned i)
{
    const uint8_t *at = query->name + query->offsets[i];
    return slice_of(at + 1, at[0]);
}

#endif
