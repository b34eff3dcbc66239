#include "skydns/tap/client_counts.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/attributes.h"
#include "common/base/xalloc.h"
#include "common/dns/dns.h"

/* Counts that the main thread has been told of a slot's client. */
struct client_shadow {
    uint32_t turn;
    uint32_t counts[CLIENT_COUNTS];
};

struct client_counts_reader {
    struct client_shadow others;
    struct client_shadow slots[CLIENT_SLOTS];
};

struct client_counts *client_counts_new(void)
{
    struct client_counts *counts =
        xcalloc_aligned(alignof(struct client_counts), sizeof(struct client_counts));
    for (uint32_t slot = 0; slot < 2; slot++) { /* those that 0.0.0.0 would look into */
        atomic_init(&counts->slots[slot].mark, client_counts_no_mark(slot));
    }
    counts->reader = xcalloc(1, sizeof(*counts->reader));
    return counts;
}

void client_counts_set_domain(struct client_counts *counts, uint8_t domain_len)
{
    atomic_store_explicit(&counts->domain_len, domain_len, memory_order_relaxed);
}

void client_counts_free(struct client_counts *counts)
{
    if (counts) {
        free(counts->reader);
    }
    free(counts);
}

/* ---- Places ---- */

struct client_key {
    uint32_t mark;
    uint32_t slot;
    uint64_t high, low;
};

static struct client_key client_key_of(const struct addr *client)
{
    static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};
    const struct ip ip = addr_ip(client);
    struct client_key key;
    uint8_t bytes[16];
    uint32_t v4 = 0;
    if (ip.family_bytes == 4) {
        memcpy(&v4, ip.bytes, sizeof(v4));
        memcpy(bytes, mapped, sizeof(mapped));
        memcpy(bytes + sizeof(mapped), ip.bytes, sizeof(v4));
    } else {
        memcpy(bytes, ip.bytes, sizeof(bytes));
    }
    memcpy(&key.high, bytes, sizeof(key.high));
    memcpy(&key.low, bytes + sizeof(key.high), sizeof(key.low));
    const uint64_t mixed = key.high ^ key.low * UINT64_C(0x9e3779b97f4a7c15);
    key.slot =
        client_counts_slot(ip.family_bytes == 4 ? client_counts_mark(v4) : (uint32_t)(mixed >> 32));
    key.mark = ip.family_bytes == 4 ? client_counts_mark(v4) : client_counts_no_mark(key.slot);
    return key;
}

static uint64_t entry_high(const struct client_entry *entry)
{
    return atomic_load_explicit(&entry->high, memory_order_relaxed);
}

static uint64_t entry_low(const struct client_entry *entry)
{
    return atomic_load_explicit(&entry->low, memory_order_relaxed);
}

static uint32_t entry_turn(const struct client_entry *entry)
{
    return atomic_load_explicit(&entry->turn, memory_order_relaxed);
}

static uint32_t client_entry_count(const struct client_entry *entry, unsigned count)
{
    return atomic_load_explicit(&entry->counts[count], memory_order_relaxed);
}

static bool is_place_free(const struct client_entry *entry)
{
    return entry_high(entry) == 0 && entry_low(entry) == 0;
}

static uint32_t ring_fill(const struct client_counts *counts)
{
    return atomic_load_explicit(&counts->put, memory_order_relaxed) -
           atomic_load_explicit(&counts->taken, memory_order_acquire);
}

/* Returns whether the client of the slot has to leave for another one. */
static bool has_to_leave(struct client_entry *entry, uint32_t fill)
{
    uint64_t own = 0;
    if (fill < CLIENT_RING_VOTES) {
        return true;
    }
    for (unsigned i = 0; i < CLIENT_RESULTS; i++) {
        own += client_entry_count(entry, i);
    }
    entry->votes += entry->votes < UINT32_MAX;
    return entry->votes > own && fill < CLIENT_RING;
}

static void copy_entry(const struct client_entry *from, uint32_t slot, struct client_entry *to)
{
    atomic_store_explicit(&to->turn, entry_turn(from), memory_order_relaxed);
    atomic_store_explicit(&to->high, entry_high(from), memory_order_relaxed);
    atomic_store_explicit(&to->low, entry_low(from), memory_order_relaxed);
    for (unsigned i = 0; i < CLIENT_COUNTS; i++) {
        atomic_store_explicit(&to->counts[i], client_entry_count(from, i), memory_order_relaxed);
    }
    to->votes = slot;
}

/* Gives the slot to another client. The turn changes first, and what follows releases it: a reader
 * that saw anything of the new client finds that it has changed. */
static void set_entry(struct client_entry *entry, const struct client_key *key)
{
    atomic_store_explicit(&entry->turn, entry_turn(entry) + 1, memory_order_relaxed);
    atomic_store_explicit(&entry->high, key->high, memory_order_release);
    atomic_store_explicit(&entry->low, key->low, memory_order_release);
    for (unsigned i = 0; i < CLIENT_COUNTS; i++) {
        atomic_store_explicit(&entry->counts[i], 0, memory_order_release);
    }
    atomic_store_explicit(&entry->mark, key->mark, memory_order_relaxed);
    entry->votes = 0;
}

/* Gives a free slot to its first client, who has turn 0: the address comes last, so that a reader
 * sees all of it or none. */
static void open_entry(struct client_entry *entry, const struct client_key *key)
{
    atomic_store_explicit(&entry->high, key->high, memory_order_relaxed);
    atomic_store_explicit(&entry->low, key->low, memory_order_release); /* never 0 */
    atomic_store_explicit(&entry->mark, key->mark, memory_order_relaxed);
}

static bool is_entry_of(const struct client_entry *entry, const struct client_key *key)
{
    return entry_low(entry) == key->low && entry_high(entry) == key->high;
}

static struct client_entry *replace_entry(struct client_counts *counts,
                                          const struct client_key *key)
{
    struct client_entry *entry = &counts->slots[key->slot];
    if (!has_to_leave(entry, ring_fill(counts))) {
        return &counts->others;
    }
    const uint32_t put = atomic_load_explicit(&counts->put, memory_order_relaxed);
    copy_entry(entry, key->slot, &counts->ring[put % CLIENT_RING]);
    set_entry(entry, key);
    /* Only now may the reader expect the slot's next client. */
    atomic_store_explicit(&counts->put, put + 1, memory_order_release);
    return entry;
}

/* Returns the entry of an address that does not have its first slot: in its second slot, of an IPv6
 * address, a new one, or the one for all that have no place. */
static NOINLINE struct client_entry *client_counts_place(struct client_counts *counts,
                                                         const struct addr *client)
{
    const struct client_key key = client_key_of(client);
    struct client_entry *first = &counts->slots[key.slot], *second = &counts->slots[key.slot ^ 1];
    if (key.low == 0 || key.mark == client_counts_mark(0)) {
        return &counts->others; /* addresses of networks, and 0.0.0.0: no client's */
    }
    if (is_entry_of(first, &key)) {
        return first; /* IPv6, or IPv4 from an IPv6 socket */
    }
    if (is_entry_of(second, &key)) {
        return second;
    }
    if (is_place_free(first) || is_place_free(second)) {
        struct client_entry *place = is_place_free(first) ? first : second;
        open_entry(place, &key);
        return place;
    }
    return replace_entry(counts, &key);
}

/* ---- Results ---- */

/* Counts a name that does not exist. Names of addresses come from search lists: the last candidate
 * is <name>.<domain>; the others end in svc.<domain>. */
static void note_nxdomain(const struct client_counts *counts, struct client_entry *entry,
                          const struct response *response)
{
    static const uint8_t svc[] = {3, 's', 'v', 'c'};
    static const uint8_t lower = 0x20;
    const size_t domain_len = atomic_load_explicit(&counts->domain_len, memory_order_relaxed);
    client_entry_add(entry, CLIENT_NXDOMAIN);
    if (response->name_len <= domain_len) {
        return;
    }
    const uint16_t type = response_type(response);
    if (type != DNS_TYPE_A && type != DNS_TYPE_AAAA) {
        return;
    }
    const uint8_t *name = response_name(response);
    const size_t own = response->name_len - domain_len; /* labels before the domain */
    const uint8_t *end = name + own;
    const bool is_svc = own >= sizeof(svc) && end[-4] == svc[0] && (end[-3] | lower) == svc[1] &&
                        (end[-2] | lower) == svc[2] && (end[-1] | lower) == svc[3];
    client_entry_add(entry, CLIENT_MISSES);
    if (!is_svc && (size_t)name[0] + 1 < own) {
        client_entry_add(entry, CLIENT_DETOURS);
    }
}

static void note_response(const struct client_counts *counts, struct client_entry *entry,
                          const struct response *response)
{
    const unsigned rcode = response_rcode(response);
    if (rcode != DNS_RCODE_NOERROR && rcode != DNS_RCODE_NXDOMAIN) {
        client_entry_add(entry, CLIENT_FAILED);
    } else if (!response_is_authoritative(response)) {
        client_entry_add(entry, CLIENT_EXTERNAL);
        if (rcode == DNS_RCODE_NXDOMAIN) {
            client_entry_add(entry, CLIENT_EXTERNAL_NXDOMAIN);
        }
    } else if (rcode == DNS_RCODE_NXDOMAIN) {
        note_nxdomain(counts, entry, response);
    } else if (!response_has_answer(response) && !response_is_truncated(response)) {
        client_entry_add(entry, CLIENT_NODATA);
    } else {
        client_entry_add(entry, CLIENT_ANSWERED);
    }
}

static struct client_entry *client_counts_entry(struct client_counts *counts,
                                                const struct addr *client)
{
    bool is_its;
    struct client_entry *first = client_counts_first(counts, client, &is_its);
    if (is_its) {
        return first;
    }
    const uint32_t mark = client_counts_mark(client->v4.sin_addr.s_addr);
    struct client_entry *second = &counts->slots[client_counts_slot(mark) ^ 1];
    return atomic_load_explicit(&second->mark, memory_order_relaxed) == mark
               ? second
               : client_counts_place(counts, client);
}

NOINLINE void client_counts_note_other(struct client_counts *counts, const struct addr *client,
                                       const struct response *response)
{
    note_response(counts, client_counts_entry(counts, client), response);
}

void client_counts_note_limited(struct client_counts *counts, const struct addr *client)
{
    client_entry_add(client_counts_entry(counts, client), CLIENT_LIMITED);
}

/* ---- Reading ---- */

static struct ip ip_of_words(uint64_t high, uint64_t low)
{
    static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};
    struct ip ip = {.family_bytes = sizeof(ip.bytes)};
    memcpy(ip.bytes, &high, sizeof(high));
    memcpy(ip.bytes + sizeof(high), &low, sizeof(low));
    if (memcmp(ip.bytes, mapped, sizeof(mapped)) == 0) {
        ip.family_bytes = 4;
        memmove(ip.bytes, ip.bytes + sizeof(mapped), 4);
        memset(ip.bytes + 4, 0, sizeof(ip.bytes) - 4);
    }
    return ip;
}

/* Sets the delta to what the counts have more than the shadow. Returns false if that is nothing. */
static bool take_delta(const uint32_t counts[CLIENT_COUNTS], const struct client_shadow *shadow,
                       struct client_delta *ret)
{
    uint32_t any = 0;
    for (unsigned i = 0; i < CLIENT_COUNTS; i++) {
        ret->counts[i] = counts[i] - shadow->counts[i];
        any |= ret->counts[i];
    }
    return any != 0;
}

static bool take_replaced(struct client_counts *counts, struct client_delta *ret)
{
    const uint32_t taken = atomic_load_explicit(&counts->taken, memory_order_relaxed);
    if (atomic_load_explicit(&counts->put, memory_order_acquire) == taken) {
        return false;
    }
    const struct client_entry *entry = &counts->ring[taken % CLIENT_RING];
    struct client_shadow *shadow = &counts->reader->slots[entry->votes];
    uint32_t now[CLIENT_COUNTS];
    assert(entry_turn(entry) == shadow->turn); /* each client of a slot comes by, in order */
    for (unsigned i = 0; i < CLIENT_COUNTS; i++) {
        now[i] = client_entry_count(entry, i);
    }
    ret->ip = ip_of_words(entry_high(entry), entry_low(entry));
    (void)take_delta(now, shadow, ret); /* nothing since the last read: told as that */
    *shadow = (struct client_shadow){.turn = shadow->turn + 1};
    atomic_store_explicit(&counts->taken, taken + 1, memory_order_release);
    return true;
}

/* Reads the counts of a living entry. Returns false if there is nothing new, or its client has
 * changed: the ring will tell. */
static bool read_living(const struct client_entry *entry, bool has_address,
                        struct client_shadow *shadow, struct client_delta *ret)
{
    uint32_t now[CLIENT_COUNTS];
    if (atomic_load_explicit(&entry->turn, memory_order_acquire) != shadow->turn) {
        return false;
    }
    const uint64_t low = atomic_load_explicit(&entry->low, memory_order_acquire);
    const uint64_t high = atomic_load_explicit(&entry->high, memory_order_acquire);
    if (low == 0 && has_address) {
        return false; /* it is about to get its first client */
    }
    for (unsigned i = 0; i < CLIENT_COUNTS; i++) {
        now[i] = atomic_load_explicit(&entry->counts[i], memory_order_acquire);
    }
    if (entry_turn(entry) != shadow->turn || !take_delta(now, shadow, ret)) {
        return false;
    }
    ret->ip = low ? ip_of_words(high, low) : (struct ip){0};
    memcpy(shadow->counts, now, sizeof(now));
    return true;
}

bool client_counts_next(struct client_counts *counts, bool with_slots, struct client_counts_at *at,
                        struct client_delta *ret_delta)
{
    struct client_counts_reader *reader = counts->reader;
    if (!at->is_past_ring) {
        if (at->replaced < CLIENT_RING && take_replaced(counts, ret_delta)) {
            at->replaced++;
            return true;
        }
        at->is_past_ring = true;
        if (read_living(&counts->others, false, &reader->others, ret_delta)) {
            return true;
        }
    }
    while (with_slots && at->slot < CLIENT_SLOTS) {
        const size_t slot = at->slot++;
        if (read_living(&counts->slots[slot], true, &reader->slots[slot], ret_delta)) {
            return true;
        }
    }
    return false;
}

size_t client_counts_waiting(const struct client_counts *counts)
{
    return ring_fill(counts);
}
