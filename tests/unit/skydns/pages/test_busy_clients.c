/* The busiest clients: against exact counts, on Zipf's streams and on those of attackers. */
#include "skydns/pages/busy_clients_internal.h"

#include "tests/support/random_numbers.h"
#include "tests/support/unit_test.h"

static struct ip busy_ip(uint32_t number)
{
    return (struct ip){.family_bytes = 4,
                       .bytes = {(uint8_t)(number >> 24), (uint8_t)(number >> 16),
                                 (uint8_t)(number >> 8), (uint8_t)number}};
}

static uint32_t busy_number(const struct ip *ip)
{
    return (uint32_t)ip->bytes[0] << 24 | (uint32_t)ip->bytes[1] << 16 |
           (uint32_t)ip->bytes[2] << 8 | ip->bytes[3];
}

static void busy_add(struct busy_clients *busy, uint32_t number, unsigned group, uint32_t queries)
{
    const uint32_t figures[BUSY_FIGURES] = {[BUSY_QUERIES] = queries, [BUSY_MISSES] = queries / 2};
    const struct ip ip = busy_ip(number);
    busy_clients_add(busy, &ip, group, figures);
}

/* Draws by Zipf's law with exponent 1, of `count` clients, by a table of cumulated weights. */
static uint32_t draw_zipf(const double *cumulated, size_t count)
{
    const double drawn = random_below(UINT32_MAX) / 4294967295.0 * cumulated[count - 1];
    size_t low = 0, high = count - 1;
    while (low < high) {
        const size_t middle = (low + high) / 2;
        if (cumulated[middle] < drawn) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return (uint32_t)low;
}

static double *make_zipf(size_t count)
{
    double *cumulated = xcalloc(count, sizeof(*cumulated));
    for (size_t i = 0; i < count; i++) {
        cumulated[i] = 1. / (double)(i + 1) + (i ? cumulated[i - 1] : 0);
    }
    return cumulated;
}

/* Checks the header's promise for clients 0 to count - 1 of a group, whose exact counts these
 * are. */
static void expect_bound(const struct busy_clients *busy, unsigned group, const uint64_t *exact,
                         size_t count, uint64_t share)
{
    struct busy_client *all = xcalloc(count, sizeof(*all));
    bool *is_listed = xcalloc(count, sizeof(*is_listed));
    uint64_t queries = 0;
    for (size_t i = 0; i < count; i++) {
        queries += exact[i];
    }
    const uint64_t bound = queries / share;
    const size_t found = busy_clients_list(busy, all, count);
    for (size_t i = 0; i < found; i++) {
        const uint32_t number = busy_number(&all[i].ip);
        if (all[i].group == group && number < count) {
            is_listed[number] = true;
            assert_true(all[i].figures[BUSY_QUERIES] <= exact[number]);
            assert_true(all[i].figures[BUSY_QUERIES] + all[i].lacks >= exact[number]);
            assert_true(all[i].lacks <= bound);
        }
    }
    for (size_t i = 0; i < count; i++) {
        assert_true(is_listed[i] || exact[i] <= bound);
    }
    free(all);
    free(is_listed);
}

UNIT_FIXTURE_MADE(busy_clients_new(), busy_clients_free)

UNIT_TEST_ON(test_zipf_against_exact_counts, struct busy_clients *busy)
{
    enum { CLIENTS = 50000, QUERIES = 1000000 };
    double *cumulated = make_zipf(CLIENTS);
    uint64_t *exact = xcalloc(CLIENTS, sizeof(*exact));
    random_state = 1;
    for (unsigned i = 0; i < QUERIES; i++) {
        const uint32_t client = draw_zipf(cumulated, CLIENTS);
        exact[client]++;
        busy_add(busy, client, 1, 1);
    }
    expect_bound(busy, 1, exact, CLIENTS, BUSY_CLIENTS_MAX);
    struct busy_client top[50];
    assert_int_equal(busy_clients_list(busy, top, ARRAY_LEN(top)), ARRAY_LEN(top));
    for (size_t i = 0; i < 20; i++) { /* the very busiest are exact */
        const uint32_t number = busy_number(&top[i].ip);
        assert_int_equal(top[i].figures[BUSY_QUERIES] + top[i].lacks >= exact[number], 1);
        assert_true(number < 30);
    }
    free(exact);
    free(cumulated);
}

/* A flood in which no address comes twice displaces nobody of another namespace, and counts of
 * these stay exact; those of its own group keep the bound. */
UNIT_TEST_ON(test_flood_from_spoofed_addresses, struct busy_clients *busy)
{
    enum { CLIENTS = 300, ROUNDS = 100, FLOOD = 1000, GROUPS = 3 };
    uint64_t exact[CLIENTS] = {0};
    uint32_t spoofed = UINT32_C(1) << 24;
    for (unsigned round = 0; round < ROUNDS; round++) {
        for (unsigned i = 0; i < FLOOD; i++) {
            busy_add(busy, spoofed++, 0, 1);
        }
        for (unsigned i = 0; i < CLIENTS; i++) {
            const uint32_t queries = 1 + i % 7;
            busy_add(busy, i, 1 + i % 2, queries);
            exact[i] += queries;
        }
        busy_add(busy, 5, 0, 20); /* a busy one among the unknown */
    }
    struct busy_client all[BUSY_CLIENTS_MAX];
    const size_t found = busy_clients_list(busy, all, BUSY_CLIENTS_MAX);
    size_t known = 0;
    bool has_busy = false;
    for (size_t i = 0; i < found; i++) {
        const uint32_t number = busy_number(&all[i].ip);
        if (all[i].group > 0) {
            assert_int_equal(all[i].figures[BUSY_QUERIES], exact[number]);
            assert_int_equal(all[i].lacks, 0);
            known++;
        } else {
            const uint64_t bound = (ROUNDS * (uint64_t)(FLOOD + 20)) / (BUSY_CLIENTS_MAX / GROUPS);
            assert_true(all[i].lacks <= bound);
            has_busy = has_busy || number == 5;
        }
    }
    assert_int_equal(known, CLIENTS);
    assert_true(has_busy); /* it sent more than the bound */
    uint16_t counts[BUSY_GROUPS_MAX];
    busy_clients_count(busy, counts);
    assert_int_equal(counts[1] + counts[2], CLIENTS);
}

/* Within a namespace, too, an attacker with the least queries at the right time does no more than
 * the bound: each of his addresses sends as often as the smallest, then goes. */
UNIT_TEST_ON(test_attacker_within_a_namespace, struct busy_clients *busy)
{
    enum { CLIENTS = 4 * BUSY_CLIENTS_MAX };
    uint64_t *exact = xcalloc(CLIENTS, sizeof(*exact));
    random_state = 7;
    for (unsigned round = 0; round < 40; round++) {
        for (uint32_t i = 0; i < CLIENTS; i++) {
            const uint32_t queries = i < 50 ? 40 : random_below(3) + (i % 40 == round) * 5;
            if (queries > 0) {
                busy_add(busy, i, 9, queries);
                exact[i] += queries;
            }
        }
    }
    expect_bound(busy, 9, exact, CLIENTS, BUSY_CLIENTS_MAX);
    free(exact);
}

/* Only queries that are older than the window are gone; the bound holds on the way. */
UNIT_TEST_ON(test_window, struct busy_clients *busy)
{
    enum { CLIENTS = 3000 };
    struct busy_client top[3];
    double *cumulated = make_zipf(CLIENTS);
    random_state = 3;
    uint64_t(*parts)[CLIENTS] = xcalloc(BUSY_PARTS, sizeof(*parts));
    for (unsigned turn = 0; turn < 3 * BUSY_PARTS; turn++) {
        uint64_t *now = parts[turn % BUSY_PARTS], *exact = xcalloc(CLIENTS, sizeof(*exact));
        memset(now, 0, sizeof(parts[0]));
        for (unsigned i = 0; i < 20000; i++) {
            const uint32_t client = (draw_zipf(cumulated, CLIENTS) + turn) % CLIENTS;
            now[client]++;
            busy_add(busy, client, 2, 1);
        }
        for (unsigned part = 0; part < BUSY_PARTS; part++) {
            for (unsigned i = 0; i < CLIENTS; i++) {
                exact[i] += parts[part][i];
            }
        }
        expect_bound(busy, 2, exact, CLIENTS, BUSY_CLIENTS_MAX);
        free(exact);
        busy_clients_turn(busy);
        memset(parts[(turn + 1) % BUSY_PARTS], 0, sizeof(parts[0]));
    }
    for (unsigned i = 0; i < BUSY_PARTS - 1; i++) {
        assert_true(busy_clients_list(busy, top, ARRAY_LEN(top)) > 0);
        busy_clients_turn(busy);
    }
    assert_int_equal(busy_clients_list(busy, top, ARRAY_LEN(top)), 0);
    uint16_t counts[BUSY_GROUPS_MAX];
    busy_clients_count(busy, counts);
    assert_int_equal(counts[2], 0);
    free(parts);
    free(cumulated);
}
