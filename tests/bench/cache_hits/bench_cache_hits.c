/* How many questions the response cache answers, beside a plain LRU cache of as many replies, and
 * what a hit costs:
 *
 *     zipf    names of a Zipf distribution, as clients ask for other domains' names
 *     scans   the same; from time to time, every second question is for a name that never comes
 *             again, as from a crawler or a mail server; only the others count
 *
 * Prints both hit rates of each. Exit status 1: the LRU cache's is higher, in one of them. */
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "common/base/cursor.h"
#include "common/base/seeded_hash.h"
#include "common/base/xalloc.h"
#include "common/dns/dns.h"
#include "skydns/external/cache.h"
#include "tests/bench/bench.h"
#include "tests/support/skydns/response_bytes.h"

enum {
    NAMES = 1000000,
    ENTRIES = 10000,
    WARM = 500000, /* questions before the count begins */
    COUNTED = 2000000,
    SCAN_EVERY = 100000,
    SCAN_LEN = 20000,
    COST_FEW = 100,
    COST_MANY = 100000,
    COST_READS = 500000,
    COST_ROUNDS = 5, /* the best counts: the first fills the processor's caches */
    TTL_S = 3600,
};
#define ZIPF_EXPONENT 1.0

static const struct cache_limits limits = {.ttl_max_s = TTL_S};

/* ---- Names ---- */

static uint64_t random_state = 88172645463325252u;

static uint64_t bench_cache_hits_random_next(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state;
}

/* The share of names up to each, the most popular first. */
static double *zipf_shares(void)
{
    double *shares = xcalloc(NAMES, sizeof(*shares)), sum = 0;
    for (unsigned i = 0; i < NAMES; i++) {
        sum += 1 / pow(i + 1, ZIPF_EXPONENT);
        shares[i] = sum;
    }
    for (unsigned i = 0; i < NAMES; i++) {
        shares[i] /= sum;
    }
    return shares;
}

static unsigned zipf_name(const double *shares)
{
    double share = (double)(bench_cache_hits_random_next() >> 11) / (double)(1ull << 53);
    unsigned low = 0, high = NAMES - 1;
    while (low < high) {
        unsigned middle = (low + high) / 2;
        if (shares[middle] < share) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

/* "n01234567.example." */
static void bench_cache_hits_set_name(struct cache_key *key, unsigned number)
{
    enum { LAST_DIGIT = 9, DIGITS = 8 };
    for (unsigned i = 0; i < DIGITS; i++, number /= 10) {
        key->name.wire[LAST_DIGIT - i] = (uint8_t)('0' + number % 10);
    }
}

static struct cache_key bench_cache_hits_make_key(void)
{
    struct cache_key key = {.type = DNS_TYPE_A, .qclass = DNS_CLASS_IN, .zone_serial = 1};
    static const char wire[] = "\11n00000000\7example";
    key.name.len = sizeof(wire);
    memcpy(key.name.wire, wire, sizeof(wire));
    return key;
}

/* ---- The cache ---- */

static void bench_cache_hits_put(struct cache *cache, const struct cache_key *key)
{
    uint8_t wire[512];
    const struct addr nobody = {0};
    struct writer w = writer_of(wire, sizeof(wire));
    writer_u16(&w, 1);
    writer_u16(&w, DNS_FLAG_QR);
    writer_u16(&w, 1);
    writer_u16(&w, 1);
    writer_u32(&w, 0);
    writer_bytes(&w, key->name.wire, key->name.len);
    writer_u16(&w, key->type);
    writer_u16(&w, key->qclass);
    writer_u16(&w, 0xc000 | DNS_HEADER_SIZE);
    writer_u16(&w, key->type);
    writer_u16(&w, key->qclass);
    writer_u32(&w, TTL_S);
    writer_u16(&w, 4);
    writer_u32(&w, 0x0a000001);
    if (cache_put_bytes(cache, key, wire, w.pos, &nobody, &limits, 0) != CACHE_HIT) {
        abort();
    }
}

static bool is_hit(struct cache *cache, const struct cache_key *key)
{
    uint8_t records[512];
    struct cache_hit hit;
    cache_read(cache, key, &limits, 0, CACHE_ANSWER, 0, records, sizeof(records), &hit);
    return hit.state == CACHE_FRESH;
}

static bool ask_ours(void *data, unsigned name)
{
    struct cache *cache = data;
    struct cache_key key = bench_cache_hits_make_key();
    bench_cache_hits_set_name(&key, name);
    if (is_hit(cache, &key)) {
        return true;
    }
    bench_cache_hits_put(cache, &key);
    return false;
}

/* ---- LRU ---- */

struct lru {
    unsigned count;
    struct {
        unsigned newer, older; /* 0: the list's ends */
        bool is_cached;
    } names[NAMES + (WARM + COUNTED) / SCAN_EVERY * SCAN_LEN + 2];
};

static void lru_unlink(struct lru *lru, unsigned name)
{
    lru->names[lru->names[name].newer].older = lru->names[name].older;
    lru->names[lru->names[name].older].newer = lru->names[name].newer;
}

static bool ask_lru(void *data, unsigned name)
{
    struct lru *lru = data;
    name++; /* 0 is the list itself: its `older` is the newest name */
    bool is_cached = lru->names[name].is_cached;
    if (is_cached) {
        lru_unlink(lru, name);
    } else if (lru->count == ENTRIES) {
        unsigned oldest = lru->names[0].newer;
        lru->names[oldest].is_cached = false;
        lru_unlink(lru, oldest);
    } else {
        lru->count++;
    }
    unsigned newest = lru->names[0].older;
    lru->names[name].newer = 0;
    lru->names[name].older = newest;
    lru->names[newest].newer = name;
    lru->names[0].older = name;
    lru->names[name].is_cached = true;
    return is_cached;
}

/* ---- The questions ---- */

typedef bool (*ask_fn)(void *data, unsigned name);

static double hit_rate(ask_fn ask, void *data, const double *shares, bool has_scans)
{
    unsigned hits = 0, scanned = NAMES;
    random_state = 88172645463325252u; /* the same questions to both */
    for (unsigned i = 0; i < WARM + COUNTED; i++) {
        bool was_hit = ask(data, zipf_name(shares));
        hits += i >= WARM && was_hit;
        if (has_scans && i % SCAN_EVERY < SCAN_LEN) {
            (void)ask(data, scanned++); /* a miss */
        }
    }
    return (double)hits / COUNTED;
}

static bool bench_cache_hits_compare(const char *title, const double *shares, bool has_scans)
{
    struct cache *cache = cache_new(ENTRIES);
    struct lru *lru = xcalloc(1, sizeof(*lru));
    double ours = hit_rate(ask_ours, cache, shares, has_scans);
    double theirs = hit_rate(ask_lru, lru, shares, has_scans);
    printf("%-6s  %.2f %% of questions hit; with LRU %.2f %%\n", title, 100 * ours, 100 * theirs);
    free(lru);
    cache_unref(cache);
    return ours >= theirs;
}

/* CPU time, since other work on the machine does not count. */
static void print_cost(unsigned names)
{
    struct cache *cache = cache_new(names);
    struct cache_key key = bench_cache_hits_make_key();
    double best_ns = INFINITY;
    for (unsigned i = 0; i < names; i++) {
        bench_cache_hits_set_name(&key, i);
        bench_cache_hits_put(cache, &key);
    }
    for (unsigned round = 0; round < COST_ROUNDS; round++) {
        uint64_t start_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
        for (unsigned i = 0; i < COST_READS; i++) {
            bench_cache_hits_set_name(&key,
                                      (unsigned)(bench_cache_hits_random_next() >> 32) % names);
            if (!is_hit(cache, &key)) {
                abort();
            }
        }
        best_ns =
            fmin(best_ns, (double)(clock_ns(CLOCK_THREAD_CPUTIME_ID) - start_ns) / COST_READS);
    }
    printf("a hit   %.0f ns with %u names, asked for at random\n", best_ns, names);
    cache_unref(cache);
}

int main(void)
{
    seeded_hash_init();
    double *shares = zipf_shares();
    printf("%u names, Zipf %.1f, %u replies kept\n", NAMES, ZIPF_EXPONENT, ENTRIES);
    bool is_better = bench_cache_hits_compare("zipf", shares, false);
    is_better &= bench_cache_hits_compare("scans", shares, true);
    free(shares);
    print_cost(COST_FEW);
    print_cost(COST_MANY);
    return is_better ? 0 : 1;
}
