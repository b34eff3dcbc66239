/* The list of one section: duplicates, CNAMEs, its limit; for short and long lists. */
#include "common/dns/dns.h"
#include "skydns/records/rr.h"
#include "tests/support/from_text.h"
#include "tests/support/skydns/fixture.h"
#include "tests/support/unit_test.h"

/* Enough for an index before the records under test are added. */
enum { FILLERS = 100 };

static struct dname web, web_capitals, other;

static int rr_names(void **state)
{
    web = dname_from("web.test.");
    web_capitals = dname_from("WEB.Test.");
    other = dname_from("other.test.");
    return 0;
}

UNIT_TESTS_ONCE(rr_names, NULL)

static void add_fillers(struct rr_list *list, const uint32_t *addresses, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct rr rr = {
            .owner = rr_name(&web), .ttl_s = 30, .type = RR_A, .data = slice_of(&addresses[i], 4)};
        rr_list_add(list, &rr);
    }
}

struct pair {
    const char *name;
    struct rr first, second;
    bool is_duplicate;
};

static void check_pairs(size_t fillers)
{
    struct slice w = rr_name(&web), c = rr_name(&web_capitals), o = rr_name(&other);
    const struct pair pairs[] = {
        {"equal names", {w, 9, RR_NS, 0, 0, 0, false, o}, {w, 5, RR_NS, 0, 0, 0, false, o}, true},
        {"case of the owner",
         {w, 9, RR_NS, 0, 0, 0, false, o},
         {c, 5, RR_NS, 0, 0, 0, false, o},
         true},
        {"case of the data",
         {o, 9, RR_NS, 0, 0, 0, false, w},
         {o, 5, RR_NS, 0, 0, 0, false, c},
         true},
        {"case of a text",
         {w, 9, RR_TXT, 0, 0, 0, false, slice_of("a", 1)},
         {w, 5, RR_TXT, 0, 0, 0, false, slice_of("A", 1)},
         false},
        {"type", {w, 9, RR_NS, 0, 0, 0, false, o}, {w, 5, RR_PTR, 0, 0, 0, false, o}, false},
        {"owner", {w, 9, RR_NS, 0, 0, 0, false, o}, {o, 5, RR_NS, 0, 0, 0, false, o}, false},
        {"priority", {w, 9, RR_SRV, 1, 2, 3, false, o}, {w, 5, RR_SRV, 9, 2, 3, false, o}, false},
        {"weight", {w, 9, RR_SRV, 1, 2, 3, false, o}, {w, 5, RR_SRV, 1, 9, 3, false, o}, false},
        {"port", {w, 9, RR_SRV, 1, 2, 3, false, o}, {w, 5, RR_SRV, 1, 2, 9, false, o}, false},
        {"SRV", {w, 9, RR_SRV, 1, 2, 3, false, o}, {c, 5, RR_SRV, 1, 2, 3, false, o}, true},
        {"CNAMEs of one owner",
         {w, 9, RR_CNAME, 0, 0, 0, false, o},
         {c, 5, RR_CNAME, 0, 0, 0, false, w},
         true},
    };
    uint32_t addresses[FILLERS];
    CLEANUP(rr_list_fini) struct rr_list list;
    rr_list_init(&list);
    for (uint32_t i = 0; i < FILLERS; i++) {
        addresses[i] = i;
    }
    for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
        rr_list_clear(&list);
        add_fillers(&list, addresses, fillers);
        rr_list_add(&list, &pairs[i].first);
        rr_list_add(&list, &pairs[i].second);
        size_t want = fillers + (pairs[i].is_duplicate ? 1 : 2);
        assert_that(list.count == want, "%s, after %zu: want %zu records, got %zu", pairs[i].name,
                    fillers, want, list.count);
        if (pairs[i].is_duplicate) {
            assert_int_equal(list.items[fillers].ttl_s, 5);
            assert_true(slice_equal(list.items[fillers].data, pairs[i].second.data));
            rr_list_add(&list, &pairs[i].first); /* has the longer TTL */
            assert_int_equal(list.items[fillers].ttl_s, 5);
        }
        add_fillers(&list, addresses, fillers);
        assert_int_equal(list.count, want);
    }
}

UNIT_TEST(duplicates_in_a_short_list)
{
    check_pairs(0);
    check_pairs(15);
}

UNIT_TEST(duplicates_in_a_long_list)
{
    check_pairs(16);
    check_pairs(FILLERS);
}

UNIT_TEST(limit)
{
    uint32_t *addresses = xcalloc(RR_LIST_MAX + 1, sizeof(*addresses));
    struct rr_list list;
    rr_list_init(&list);
    for (uint32_t i = 0; i <= RR_LIST_MAX; i++) {
        addresses[i] = i;
    }
    add_fillers(&list, addresses, RR_LIST_MAX);
    add_fillers(&list, addresses, RR_LIST_MAX); /* all duplicates */
    assert_int_equal(list.count, RR_LIST_MAX);
    assert_false(list.is_cut);
    add_fillers(&list, addresses + RR_LIST_MAX, 1);
    assert_int_equal(list.count, RR_LIST_MAX);
    assert_true(list.is_cut);
    rr_list_clear(&list);
    assert_false(list.is_cut);
    rr_list_fini(&list);
    free(addresses);
}
