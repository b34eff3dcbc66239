/* Counts by client: each query once, whatever results it has, who sends it, and how many there
 * are. */
#include "skydns/tap/client_counts.h"

#include <arpa/inet.h>
#include <pthread.h>

#include "common/dns/dname.h"
#include "common/dns/dns.h"
#include "tests/support/from_text.h"
#include "tests/support/unit_test.h"

UNIT_TESTS_HAVE_THREADS

static struct addr client_counts_v4(uint32_t number)
{
    struct addr addr = {.len = sizeof(addr.v4)};
    addr.v4.sin_family = AF_INET;
    addr.v4.sin_addr.s_addr = htonl(0x0a000000 + number);
    return addr;
}

/* Makes a response: the second and third pair of bytes of its header, and a question. */
static struct response client_counts_response(uint8_t room[512], uint16_t flags, uint8_t answers,
                                              const char *name, uint16_t type)
{
    struct dname dname = dname_from(name);
    memset(room, 0, 512);
    room[2] = (uint8_t)(flags >> 8);
    room[3] = (uint8_t)flags;
    room[5] = 1;
    room[7] = answers;
    memcpy(room + DNS_HEADER_SIZE, dname.wire, dname.len);
    room[DNS_HEADER_SIZE + dname.len] = (uint8_t)(type >> 8);
    room[DNS_HEADER_SIZE + dname.len + 1] = (uint8_t)type;
    return (struct response){.bytes = room, .len = 100, .name_len = dname.len};
}

static uint64_t read_sums(struct client_counts *counts, bool with_slots, const struct ip *only,
                          uint64_t sums[CLIENT_COUNTS])
{
    struct client_counts_at at = {0};
    struct client_delta delta;
    uint64_t queries = 0;
    memset(sums, 0, CLIENT_COUNTS * sizeof(*sums));
    while (client_counts_next(counts, with_slots, &at, &delta)) {
        if (!only || ip_equal(only, &delta.ip)) {
            queries += client_delta_queries(&delta);
            for (unsigned i = 0; i < CLIENT_COUNTS; i++) {
                sums[i] += delta.counts[i];
            }
        }
    }
    return queries;
}

UNIT_FIXTURE_MADE(client_counts_new(), client_counts_free)

UNIT_TEST_ON(test_results, struct client_counts *counts)
{
    enum { AA = DNS_FLAG_AA, TC = DNS_FLAG_TC };
    static const struct {
        uint16_t flags;
        uint8_t answers;
        const char *name;
        uint16_t type;
        enum client_count result;
        bool is_external_nxdomain, is_miss, is_detour;
    } cases[] = {
        {AA, 1, "web.a.svc.cluster.local.", DNS_TYPE_A, CLIENT_ANSWERED, 0, 0, 0},
        {AA, 0, "web.a.svc.cluster.local.", DNS_TYPE_A, CLIENT_NODATA, 0, 0, 0},
        {AA | TC, 0, "web.a.svc.cluster.local.", DNS_TYPE_A, CLIENT_ANSWERED, 0, 0, 0},
        {0, 1, "example.com.", DNS_TYPE_A, CLIENT_EXTERNAL, 0, 0, 0},
        {0, 0, "example.com.", DNS_TYPE_AAAA, CLIENT_EXTERNAL, 0, 0, 0},
        {3, 0, "no.example.com.", DNS_TYPE_A, CLIENT_EXTERNAL, 1, 0, 0},
        {2, 0, "example.com.", DNS_TYPE_A, CLIENT_FAILED, 0, 0, 0},
        {AA | 2, 0, "web.a.svc.cluster.local.", DNS_TYPE_A, CLIENT_FAILED, 0, 0, 0},
        {5, 0, "example.com.", DNS_TYPE_A, CLIENT_FAILED, 0, 0, 0},
        {AA | 3, 0, "example.com.a.svc.cluster.local.", DNS_TYPE_A, CLIENT_NXDOMAIN, 0, 1, 0},
        {AA | 3, 0, "example.com.SVC.cluster.local.", DNS_TYPE_AAAA, CLIENT_NXDOMAIN, 0, 1, 0},
        {AA | 3, 0, "example.com.cluster.local.", DNS_TYPE_A, CLIENT_NXDOMAIN, 0, 1, 1},
        {AA | 3, 0, "example.cluster.local.", DNS_TYPE_A, CLIENT_NXDOMAIN, 0, 1, 0},
        {AA | 3, 0, "example.com.cluster.local.", DNS_TYPE_TXT, CLIENT_NXDOMAIN, 0, 0, 0},
        {AA | 3, 0, "local.", DNS_TYPE_A, CLIENT_NXDOMAIN, 0, 0, 0},
    };
    const struct addr client = client_counts_v4(7);
    const struct ip ip = addr_ip(&client);
    client_counts_set_domain(counts, 15); /* cluster.local. */
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        uint8_t room[512];
        uint64_t sums[CLIENT_COUNTS], wanted[CLIENT_COUNTS] = {0};
        const struct response response = client_counts_response(
            room, cases[i].flags, cases[i].answers, cases[i].name, cases[i].type);
        client_counts_note(counts, &client, &response);
        wanted[cases[i].result] = 1;
        wanted[CLIENT_EXTERNAL_NXDOMAIN] = cases[i].is_external_nxdomain;
        wanted[CLIENT_MISSES] = cases[i].is_miss;
        wanted[CLIENT_DETOURS] = cases[i].is_detour;
        print_message("%s %u\n", cases[i].name, cases[i].flags);
        assert_int_equal(read_sums(counts, true, &ip, sums), 1);
        assert_memory_equal(sums, wanted, sizeof(sums));
    }
    client_counts_note_limited(counts, &client);
    uint64_t sums[CLIENT_COUNTS];
    assert_int_equal(read_sums(counts, true, &ip, sums), 1);
    assert_int_equal(sums[CLIENT_LIMITED], 1);
    assert_int_equal(read_sums(counts, true, NULL, sums), 0);
}

/* IPv6, IPv4 from an IPv6 socket, and IPv4 are told apart and together. */
UNIT_TEST_ON(test_addresses, struct client_counts *counts)
{
    static const char *const texts[] = {"10.0.0.1", "::ffff:10.0.0.1", "fd00::1", "fd00::2"};
    uint64_t sums[CLIENT_COUNTS];
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        struct addr addr = {0};
        if (strchr(texts[i], ':')) {
            addr.v6.sin6_family = AF_INET6;
            addr.len = sizeof(addr.v6);
            assert_int_equal(inet_pton(AF_INET6, texts[i], &addr.v6.sin6_addr), 1);
        } else {
            assert_true(addr_parse_ip(slice_str(texts[i]), 53, &addr));
        }
        for (size_t k = 0; k <= i; k++) {
            client_counts_note_limited(counts, &addr);
        }
    }
    struct ip wanted = ip_from("fd00::2");
    struct client_counts_at at = {0};
    struct client_delta delta;
    unsigned found = 0;
    while (client_counts_next(counts, true, &at, &delta)) {
        if (delta.ip.family_bytes == 4) {
            assert_int_equal(client_delta_queries(&delta), 3); /* both spellings */
        } else {
            assert_int_equal(client_delta_queries(&delta), ip_equal(&delta.ip, &wanted) ? 4 : 3);
        }
        found++;
    }
    assert_int_equal(found, 3);
    assert_int_equal(read_sums(counts, true, NULL, sums), 0);
}

/* More clients than places: nothing is lost, nothing counted twice, as long as they are read. */
UNIT_TEST_ON(test_all_are_counted, struct client_counts *counts)
{
    enum { CLIENTS = 3 * CLIENT_SLOTS, ROUNDS = 4 };
    uint32_t *seen = xcalloc(CLIENTS, sizeof(*seen));
    for (unsigned round = 0; round < ROUNDS; round++) {
        for (unsigned i = 0; i < CLIENTS; i++) {
            const struct addr client = client_counts_v4(i);
            for (unsigned k = 0; k <= i % 3; k++) {
                client_counts_note_limited(counts, &client);
            }
            struct client_counts_at at = {0};
            struct client_delta delta;
            while (i % 512 == 0 && client_counts_next(counts, i % 1024 == 0, &at, &delta)) {
                assert_int_equal(delta.ip.family_bytes, 4);
                const uint32_t number = (uint32_t)delta.ip.bytes[1] << 16 |
                                        (uint32_t)delta.ip.bytes[2] << 8 | delta.ip.bytes[3];
                seen[number] += (uint32_t)client_delta_queries(&delta);
            }
        }
    }
    struct client_counts_at at = {0};
    struct client_delta delta;
    while (client_counts_next(counts, true, &at, &delta)) {
        const uint32_t number = (uint32_t)delta.ip.bytes[1] << 16 |
                                (uint32_t)delta.ip.bytes[2] << 8 | delta.ip.bytes[3];
        seen[number] += (uint32_t)client_delta_queries(&delta);
    }
    for (unsigned i = 0; i < CLIENTS; i++) {
        assert_int_equal(seen[i], ROUNDS * (i % 3 + 1));
    }
    free(seen);
}

/* A flood from spoofed addresses that nobody reads: the sum is exact, and clients that send keep
 * their places. */
UNIT_TEST_ON(test_flood, struct client_counts *counts)
{
    enum { FLOOD = 100 * CLIENT_SLOTS, BUSY = 16, EVERY = 64 };
    uint64_t sent[BUSY] = {0}, all = 0;
    for (unsigned i = 0; i < BUSY; i++) {
        const struct addr client = client_counts_v4(0xff0000 + i);
        for (unsigned k = 0; k < 1000; k++, all++, sent[i]++) {
            client_counts_note_limited(counts, &client);
        }
    }
    for (unsigned i = 0; i < FLOOD; i++, all++) {
        const struct addr spoofed = client_counts_v4(i);
        client_counts_note_limited(counts, &spoofed);
        if (i % EVERY == 0) {
            const struct addr client = client_counts_v4(0xff0000 + i / EVERY % BUSY);
            client_counts_note_limited(counts, &client);
            sent[i / EVERY % BUSY]++;
            all++;
        }
    }
    assert_true(client_counts_waiting(counts) <= CLIENT_RING);
    uint64_t found[BUSY] = {0}, total = 0;
    struct client_counts_at at = {0};
    struct client_delta delta;
    while (client_counts_next(counts, true, &at, &delta)) {
        total += client_delta_queries(&delta);
        if (delta.ip.family_bytes == 4 && delta.ip.bytes[1] == 0xff) {
            found[delta.ip.bytes[3]] += client_delta_queries(&delta);
        }
    }
    assert_int_equal(total, all);
    for (unsigned i = 0; i < BUSY; i++) {
        print_message("%u: %llu of %llu\n", i, (unsigned long long)found[i],
                      (unsigned long long)sent[i]);
        assert_true(found[i] <= sent[i] && found[i] >= sent[i] / 10 * 9);
    }
}

struct counting {
    struct client_counts *counts;
    _Atomic bool is_done;
};

enum { COUNTED = 2000000 };

static void *count_many(void *data)
{
    struct counting *counting = data;
    uint32_t random = 1;
    for (unsigned i = 0; i < COUNTED; i++) {
        random = random * 1664525 + 1013904223;
        const struct addr client = client_counts_v4((random >> 8) % (2 * CLIENT_SLOTS));
        client_counts_note_limited(counting->counts, &client);
    }
    atomic_store(&counting->is_done, true);
    return NULL;
}

/* Reading while a thread counts: each query is told once. */
UNIT_TEST(test_concurrent)
{
    struct counting counting = {.counts = client_counts_new()};
    uint64_t sums[CLIENT_COUNTS], total = 0;
    pthread_t thread;
    unsigned reads = 0;
    assert_int_equal(pthread_create(&thread, NULL, count_many, &counting), 0);
    while (!atomic_load(&counting.is_done)) {
        total += read_sums(counting.counts, reads++ % 4 == 0, NULL, sums);
    }
    assert_int_equal(pthread_join(thread, NULL), 0);
    total += read_sums(counting.counts, true, NULL, sums);
    assert_int_equal(total, COUNTED);
    assert_int_equal(read_sums(counting.counts, true, NULL, sums), 0);
    client_counts_free(counting.counts);
}

/* A read ends while new clients come faster than it takes those that they replace. */
UNIT_TEST_ON(test_a_read_ends_in_a_flood, struct client_counts *counts)
{
    struct client_counts_at at = {0};
    struct client_delta delta;
    uint32_t number = 0;
    unsigned reads = 0;
    for (; number < 4 * CLIENT_RING; number++) {
        const struct addr client = client_counts_v4(number);
        client_counts_note_limited(counts, &client);
    }
    while (client_counts_next(counts, false, &at, &delta)) {
        assert_true(++reads <= CLIENT_RING + 1); /* and those without a place */
        for (unsigned i = 0; i < 4; i++) {
            const struct addr client = client_counts_v4(number++);
            client_counts_note_limited(counts, &client);
        }
    }
}
