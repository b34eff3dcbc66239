/* Parses a client's query once, before any other step: each later one takes what it needs from
 * here. An ordinary query, as nearly all are, is parsed in one tuned pass, any other by question.h.
 * Pure; any thread. */
#ifndef SKYDNS_WIRE_QUERY_PARSE_H
#define SKYDNS_WIRE_QUERY_PARSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/slice.h"
#include "common/dns/dname.h"
#include "skydns/wire/cookie_option.h"
#include "skydns/wire/question.h"

/* An ordinary query, as fast_query_read has it. */
struct fast_query {
    const uint8_t *wire;
    uint16_t type;     /* class IN */
    uint16_t udp_size; /* EDNS's */
    bool has_edns;
    bool dnssec_ok;
    uint8_t asks;          /* EDNS_ASKS_... */
    bool is_lower;         /* the client's spelling has no capitals */
    uint8_t cookie_len;    /* of EDNS's option COOKIE, the first; 0: none */
    const uint8_t *cookie; /* its data */
    uint8_t name_len;      /* with the root label */
    uint8_t label_count;
    uint8_t name[DNAME_MAX]; /* in lower case */
    uint8_t
        offsets[DNAME_LABELS_MAX + 1]; /* of the labels' length bytes in the name, and the root's */
};

/* Parses an ordinary query: one question of class IN with an optional OPT of version 0, whose
 * options say nothing about the answer. Returns false for any other, and for a name with a dot in a
 * label, or a label of 46 bytes, which looks like one. question_parse tells whether such a query is
 * valid. */
bool fast_query_read(const uint8_t *wire, size_t len, struct fast_query *ret_query);

/* Sets the name, of name_len bytes, whole and after a header at `wire`, and the fields that depend
 * on it. Returns false when no query with such a name is ordinary. */
bool fast_query_set_name(struct fast_query *query, const uint8_t *wire, uint8_t name_len);

/* Returns, at the cost of one look, whether the query may have a cookie. It has none without an
 * additional record, or when it ends with an OPT record without options, as most queries do; a
 * client may make its cookie look like one. It has none, either, if its header counts more records
 * than a client's query with a cookie has: OPT and TSIG, and the SOA of an IXFR. */
bool fast_query_may_have_cookie(const uint8_t *wire, size_t len);

static inline struct slice fast_query_label(const struct fast_query *query, unsigned i)
{
    const uint8_t *at = query->name + query->offsets[i];
    return slice_of(at + 1, at[0]);
}

/* A parsed query. Borrows the bytes it was parsed from. */
struct query {
    bool is_ordinary;  /* `fast` is filled in, and the verdict OK */
    bool has_question; /* `question` is filled in, as far as the verdict says; always, once a query
                        * that is not ordinary has been through query_parse_other */
    enum question_verdict verdict;
    struct fast_query fast;
    struct question question; /* for query_question */
};

/* Parses a query, ordinary or not. */
void query_parse(const uint8_t *wire, size_t len, struct query *ret_query);

/* Do the two steps: whether the query is ordinary; and, if it is not, what it is. */
static inline void query_parse_ordinary(const uint8_t *wire, size_t len, struct query *ret_query)
{
    ret_query->is_ordinary = fast_query_read(wire, len, &ret_query->fast);
    ret_query->has_question = false;
    ret_query->verdict = QUESTION_OK;
}
void query_parse_other(const uint8_t *wire, size_t len, struct query *query);

/* Returns the question and the EDNS data; of a malformed query, as far as it could be parsed. Made
 * of an ordinary query when it is first wanted. */
const struct question *query_question(struct query *query);

/* Makes the tuned form of a question of class IN, whose query begins with header and name like
 * `wire`; borrows both. Returns false when fast_query_set_name does. */
bool query_make_fast(const struct question *question, const uint8_t *wire, struct fast_query *ret);

/* Return the EDNS data. */
static inline bool query_has_edns(const struct query *query)
{
    return query->is_ordinary ? query->fast.has_edns : query->question.has_edns;
}
static inline uint16_t query_udp_size(const struct query *query)
{
    return query->is_ordinary ? query->fast.udp_size : query->question.udp_size;
}

/* Returns the query's EDNS_ASKS_... bits. */
static inline unsigned query_asks(const struct query *query)
{
    return query->is_ordinary ? query->fast.asks : query->question.asks;
}

/* Returns whether the query has a cookie and gets one back: a malformed message gets none. */
static inline bool query_has_cookie(const struct query *query)
{
    return (query_asks(query) & EDNS_ASKS_COOKIE) != 0;
}
struct cookie query_cookie(const struct query *query); /* of a query that has one */

#endif
