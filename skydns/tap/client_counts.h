/* Counts the queries of each client, by result, on the threads that answer.
 *
 *     answering thread: address --> its entry (one multiplication, one comparison) --> count
 *            | an address that finds another one in its place
 *            v
 *     ring of entries that were replaced --> main thread, which also reads the living entries:
 *                                            differences since the last time, by address
 *
 * Each answering thread has a table of its own and alone writes it, with relaxed stores; the main
 * thread reads it. Neither waits for the other. The thread never looks up whose address it is. An
 * address has two slots, side by side, and is found at once in the first.
 *
 * Nothing is lost while less than CLIENT_RING_VOTES addresses replace others between two reads.
 * Beyond that, as in a flood from spoofed addresses, an entry leaves only after as many queries of
 * others wanted its place as it has counted itself, so busy clients stay. What has no place is
 * counted without an address: every query is counted once, whatever comes. */
#ifndef SKYDNS_TAP_CLIENT_COUNTS_H
#define SKYDNS_TAP_CLIENT_COUNTS_H

#include <endian.h>
#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "common/base/addr.h"
#include "common/base/metrics.h"
#include "common/dns/dns.h"
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

/* Client of a slot: a cache line. */
struct client_entry {
    _Atomic uint32_t mark;      /* client_counts_mark; of nobody yet: 0, but in the first two */
    _Atomic uint32_t turn;      /* increases with each client of the slot */
    _Atomic uint64_t high, low; /* the address, IPv4 as ::ffff:a.b.c.d; 0: none */
    _Atomic uint32_t counts[CLIENT_COUNTS]; /* since the client has the slot, modulo 2^32 */
    uint32_t votes; /* queries that wanted its place; in the ring, the number of the slot */
};
_Static_assert(sizeof(struct client_entry) == 64, "a cache line");

struct client_counts_reader;

struct client_counts {
    alignas(COUNTERS_ALIGN) struct client_entry slots[CLIENT_SLOTS];
    struct client_entry ring[CLIENT_RING];
    struct client_entry others;                          /* counts without an address */
    alignas(COUNTERS_ALIGN) _Atomic uint32_t domain_len; /* of client_counts_set_domain */
    struct client_counts_reader *reader;                 /* the main thread's */
    _Atomic uint32_t put;                                /* entries put into the ring so far */
    alignas(COUNTERS_ALIGN) _Atomic uint32_t taken;      /* by the main thread */
};

/* Makes it for a thread that is not started yet. */
struct client_counts *client_counts_new(void);
void client_counts_free(struct client_counts *counts); /* NULL is fine */

/* ---- The answering thread ---- */

/* Returns a number that no other IPv4 address has. Its upper bits, the number of the first slot,
 * spread the hosts of a network and networks (Knuth 6.4), in either byte order. */
static inline uint32_t client_counts_mark(uint32_t v4)
{
    return v4 * UINT32_C(0x9e3779b1);
}

/* Returns a mark that no IPv4 address with this slot has, be it its first or its second. */
static inline uint32_t client_counts_no_mark(uint32_t slot)
{
    return ~(slot << (32 - CLIENT_SLOTS_BITS));
}

static inline unsigned client_counts_slot(uint32_t mark)
{
    return mark >> (32 - CLIENT_SLOTS_BITS);
}

/* Returns the first slot of an IPv4 address, and whether the address has it. */
static inline struct client_entry *client_counts_first(struct client_counts *counts,
                                                       const struct addr *client, bool *ret_is_its)
{
    /* These four bytes of an IPv6 client are its flow label, 0 as received: no mark of slot 0. */
    const uint32_t mark = client_counts_mark(client->v4.sin_addr.s_addr);
    struct client_entry *entry = &counts->slots[client_counts_slot(mark)];
    *ret_is_its = atomic_load_explicit(&entry->mark, memory_order_relaxed) == mark;
    return entry;
}

static inline void client_entry_add(struct client_entry *entry, enum client_count count)
{
    const uint32_t before = atomic_load_explicit(&entry->counts[count], memory_order_relaxed);
    atomic_store_explicit(&entry->counts[count], before + 1, memory_order_relaxed);
}

/* Counts a response that is not just an answer of ours, or to a client that is not found at once.
 */
void client_counts_note_other(struct client_counts *counts, const struct addr *client,
                              const struct response *response);

/* Counts a response, which there is, for its client. */
static inline void client_counts_note(struct client_counts *counts, const struct addr *client,
                                      const struct response *response)
{
    bool is_its;
    struct client_entry *entry = client_counts_first(counts, client, &is_its);
    if (is_its && response_is_authoritative(response) && response_has_answer(response) &&
        response_low_rcode(response) == DNS_RCODE_NOERROR) {
        client_entry_add(entry, CLIENT_ANSWERED);
    } else {
        client_counts_note_other(counts, client, response);
    }
}

/* Counts a rate-limited query, whatever the client got. */
void client_counts_note_limited(struct client_counts *counts, const struct addr *client);

/* ---- The main thread ---- */

/* Sets the length of the name of the cluster's domain, the first one: it tells the candidates of a
 * search list apart. Those of other domains count as if they were as long. */
void client_counts_set_domain(struct client_counts *counts, uint8_t domain_len);

/* Queries of a client since it was told last. */
struct client_delta {
    struct ip ip; /* none: clients without a place */
    uint32_t counts[CLIENT_COUNTS];
};

/* Position of a read; zero-initialized. */
struct client_counts_at {
    size_t slot;
    unsigned replaced; /* taken from the ring: at most what it holds, however fast it fills */
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
