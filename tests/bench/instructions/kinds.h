/* The kinds of questions whose instructions are counted: their bytes, and what is a right answer.
 * They are those that a cluster's clients ask all day (tests/bench/instructions.py says why these).
 * Knows the records that bench_instructions.c puts into the store and the cache. Any thread. */
#ifndef TESTS_BENCH_INSTRUCTIONS_KINDS_H
#define TESTS_BENCH_INSTRUCTIONS_KINDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/dns/dname.h"

/* The names that queries ask for. A headless Service has ENDPOINTS addresses. */
enum { SERVICES = 10000, HEADLESS = 200, ENDPOINTS = 5, PODS = 2000, EXTERNAL = 1000 };

/* How its questions are asked; DO and a cookie come with EDNS. */
enum kind_flag { KIND_EDNS = 1, KIND_MIXED_CASE = 2, KIND_DNSSEC_OK = 4, KIND_COOKIE = 8 };

/* Questions of a kind differ by their number alone; any number will do. */
struct kind {
    const char *name;                                /* "service-a" */
    void (*write_name)(unsigned number, char *text); /* KIND_TEXT_MAX bytes */
    uint32_t (*address)(unsigned number);            /* in the answer; NULL: none */
    uint16_t type;
    uint8_t rcode;
    uint16_t answers, authorities, additionals; /* records, OPT apart */
    uint8_t batch;                              /* how many of them the worker receives at once */
    unsigned flags;                             /* enum kind_flag */
};

enum { KIND_TEXT_MAX = 128, KIND_QUERY_MAX = 128 };

/* For a server with the flags' defaults; for one that counts its clients; one that samples missing
 * names; one with -autopath, which knows its clients; one that signs cluster.local; one with server
 * cookies; one with -no-aaaa; one with -rate-namespace; one with -overrides; one with -topology. */
extern const struct kind kinds_plain[], kinds_counted[], kinds_watched[], kinds_autopath[],
    kinds_signed[], kinds_cookie[], kinds_filtered[], kinds_rated[], kinds_override[], kinds_near[];
extern const size_t kinds_plain_count, kinds_counted_count, kinds_watched_count,
    kinds_autopath_count, kinds_signed_count, kinds_cookie_count, kinds_filtered_count,
    kinds_rated_count, kinds_override_count, kinds_near_count;

/* Names of the records; KIND_TEXT_MAX bytes. Addresses are in network byte order. */
void kinds_headless_name(unsigned number, char *text);
void kinds_external_name(unsigned number, char *text);
uint32_t kinds_endpoint_address(unsigned number, unsigned endpoint);
uint32_t kinds_pod_address(unsigned number); /* also of a client */
uint32_t kinds_external_address(unsigned number);

struct dname kinds_dname(const char *text); /* aborts if it is no name */

/* Writes the query, KIND_QUERY_MAX bytes; its ID is the number's low bits. Returns its length. */
size_t kinds_query(const struct kind *kind, unsigned number, uint8_t *wire);

/* Returns the fault of the response to this query, a constant; NULL: none. */
const char *kinds_fault(const struct kind *kind, unsigned number, const uint8_t *reply, size_t len);

#endif
