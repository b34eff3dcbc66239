/* Counts the queries of each client, by result, on the threads that answer.
 *
 *     answering thread: address --> its entry (one multiplication, one comparison) --> count
 *            | an address that finds another one in its place
 *            v
 *     ring of entries that were replaced --> main thread, which also reads the living entries:
 *                                            differences since the last time, by address
 *
 * Each answering thread has a table of its own and alone writes it, with relaxed stores; the main
 * thread reads it. Neither waits for the other. The thread never looks up whose address it is.
 *
 * Nothing is lost while less than CLIENT_RING_VOTES addresses replace others between two reads.
 * Beyond that, as in a flood from spoofed addresses, an entry leaves only after as many queries of
 * others wanted its place as it has counted itself, so busy clients stay. What has no place is
 * counted without an address: every query is counted once, whatever comes. */
#ifndef SKYDNS_TAP_CLIENT_COUNTS_H
#define SKYDNS_TAP_CLIENT_COUNTS_H

#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/addr.h"
#include "common/base/metrics.h"
#include "skydns/wire/response.h"

/* Results, the first that applies: for skydns_namespace_queries_total. */
enum client_count {
    CLIENT_LIMITED,  /* rate-limited */
    CLIENT_FAILED,   /* neither NOERROR nor NXDOMAIN: SERVFAIL, REFUSED */
    CLIENT_EXTERNAL, /* the answer is not authoritative: an external name's */
    CLIENT_NXDOMAIN,
    CLIENT_NODATA,
    CLIENT_ANSWERED,
    CLIENT_RESULTS,
    /* Counted besides: */
    CLIENT_EXTERNAL_NXDOMAIN = CLIENT_RESULTS,
    CLIENT_MISSES,  /* NXDOMAIN for A or AAAA: a candidate of a search list that failed */
    CLIENT_DETOURS, /* of these, the last candidate of a name with dots: <name>.<domain> */
    CLIENT_COUNTS
};

enum {
    CLIENT_SLOTS_BITS = 12,
    CLIENT_SLOTS = 1 << CLIENT_SLOTS_BITS, /* more pods than most clusters have for a server */
    CLIENT_RING = 2048,                    /* entries that wait for the main thread */
    CLIENT_RING_VOTES = CLIENT_RING / 2,   /* with so many, a place is voted about */
};

/* Client of a slot: a cache line. Of IPv6, or nobody yet: v4 is 0. */
struct client_entry {
    _Atomic uint32_t v4;                    /* network order */
    _Atomic uint32_t turn;                  /* increases with each client of the slot */
    _Atomic uint64_t high, low;             /* the address, IPv4 as ::ffff:a.b.c.d; 0: none */
    _Atomic uint32_t counts[CLIENT_COUNTS]; /* since the client has the slot, modulo 2^32 */
    uint32_t votes; /* queries that wanted its place; in the ring, the number of the slot */
};
_Static_assert(sizeof(struct client_entry) == 64, "a cache line");

struct client_counts_reader;

struct client_counts {
    alignas(COUNTERS_ALIGN) uint32_t multiplier; /* odd, of this process: nobody foresees places */
    _Atomic uint32_t domain_len;                 /* of client_counts_set_domain */
    struct client_counts_reader *reader;         /* the main thread's */
    _Atomic uint32_t put;                        /* entries put into the ring so far */
    alignas(COUNTERS_ALIGN) _Atomic uint32_t taken; /* by the main thread */
    alignas(64) struct client_entry others;         /* counts without an address */
    struct client_entry ring[CLIENT_RING];
    struct client_entry slots[CLIENT_SLOTS];
};

/* Makes it for a thread that is not started yet. */
struct client_counts *client_counts_new(void);
void client_counts_free(struct client_counts *counts); /* NULL is fine */

/* ---- The answering thread ---- */

/* Returns the entry for an address that is not found in its place. */
struct client_entry *client_counts_place(struct client_counts *counts, const struct addr *client);

static inline unsigned client_counts_slot(const struct client_counts *counts, uint32_t word)
{
    return word * counts->multiplier >> (32 - CLIENT_SLOTS_BITS);
}

static inline struct client_entry *client_counts_entry(struct client_counts *counts,
                                                       const struct addr *client)
{
    if (client->sa.sa_family == AF_INET) {
        const uint32_t v4 = client->v4.sin_addr.s_addr;
        struct client_entry *entry = &counts->slots[client_counts_slot(counts, v4)];
        if (atomic_load_explicit(&entry->v4, memory_order_relaxed) == v4) {
            return entry;
        }
    }
    return client_counts_place(counts, client);
}

static inline void client_entry_add(struct client_entry *entry, enum client_count count)
{
    const uint32_t before = atomic_load_explicit(&entry->counts[count], memory_order_relaxed);
    atomic_store_explicit(&entry->counts[count], before + 1, memory_order_relaxed);
}

/* Counts a response that is not just an answer of ours. */
void client_counts_note_other(const struct client_counts *counts, struct client_entry *entry,
                              const struct response *response);

/* Counts a response to the client, if there is one. */
static inline void client_counts_note(struct client_counts *counts, const struct addr *client,
                                      const struct response *response)
{
    if (response->len == 0) {
        return;
    }
    struct client_entry *entry = client_counts_entry(counts, client);
    if (response_is_authoritative(response) && response_low_rcode(response) == 0 &&
        response_has_answer(response)) {
        client_entry_add(entry, CLIENT_ANSWERED);
    } else {
        client_counts_note_other(counts, entry, response);
    }
}

/* Counts a rate-limited query, whatever the client got. */
static inline void client_counts_note_limited(struct client_counts *counts,
                                              const struct addr *client)
{
    client_entry_add(client_counts_entry(counts, client), CLIENT_LIMITED);
}

/* ---- The main thread ---- */

/* Sets the length of the name of the cluster's domain, the first one: it tells the candidates of a
 * search list apart. Those of other domains count as if they were as long. */
void client_counts_set_domain(struct client_counts *counts, uint8_t domain_len);

/* What a client has sent since it was told last. */
struct client_delta {
    struct ip ip; /* none: clients without a place */
    uint32_t counts[CLIENT_COUNTS];
};

/* Position of a read; zero-initialized. */
struct client_counts_at {
    size_t slot;
    bool is_past_ring;
};

/* Finds the next client with queries since the last read; the same one may come several times.
 * with_slots false: only those that were replaced, which must not wait. Returns false at the
 * end. */
bool client_counts_next(struct client_counts *counts, bool with_slots, struct client_counts_at *at,
                        struct client_delta *ret_delta);

/* Returns how many replaced entries wait. */
size_t client_counts_waiting(const struct client_counts *counts);

/* Sums up. */
static inline uint64_t client_delta_queries(const struct client_delta *delta)
{
    uint64_t sum = 0;
    for (unsigned i = 0; i < CLIENT_RESULTS; i++) {
        sum += delta->counts[i];
    }
    return sum;
}

#endif
