/* The questions of a load generator: `name TYPE` lines from a file, encoded once, so that sending
 * one only costs setting its ID. Single-threaded. */
#ifndef BENCH_ANSWERS_QUERIES_H
#define BENCH_ANSWERS_QUERIES_H

#include <stddef.h>
#include <stdint.h>

#include "common/base/attributes.h"
#include "common/base/err.h"

enum { QUERY_FRAME = 2 }; /* the length before each message over TCP */

struct query {
    uint8_t *frame; /* length, then the message; the owner sets the ID */
    uint16_t len;   /* of the message */
};

struct queries {
    uint8_t *bytes;
    struct query *items;
    size_t count;
    size_t next; /* index of the next one */
};

enum queries_edns {
    QUERIES_PLAIN, /* no OPT record: replies of 512 bytes */
    QUERIES_EDNS,  /* of 1232 bytes */
    QUERIES_DO,    /* the same, and signatures are wanted */
};

/* Fails on a bad line (the message has its number), and on
 * a file without questions. */
int queries_read(const char *path, enum queries_edns edns, struct queries *ret_queries,
                 struct err *err) MUST_CHECK;
void queries_fini(struct queries *queries);

/* The next one, round robin, with this ID. Borrowed; reused after all others. */
static inline const struct query *queries_take(struct queries *queries, uint16_t id)
{
    struct query *query = &queries->items[queries->next];
    if (++queries->next == queries->count) {
        queries->next = 0;
    }
    query->frame[QUERY_FRAME] = (uint8_t)(id >> 8);
    query->frame[QUERY_FRAME + 1] = (uint8_t)id;
    return query;
}

#endif
