/* query_counts: which counter a reply's bytes increment, and that sums cover all threads. */
#include "skydns/tap/query_counts.h"

#include "tests/support/unit_test.h"

#define OPT(extended) "\0\0\x29\x04\xd0" extended "\0\0\0\0\0"
/* The same with a cookie. */
#define OPT_COOKIE(extended)                   \
    "\0\0\x29\x04\xd0" extended "\0\0\0\0\x1c" \
    "\0\x0a\0\x18"                             \
    "123456781234567812345678"

static const struct {
    const char *name;
    const char *bytes; /* OPT, if any, behind the header */
    size_t len, rcode;
    unsigned truncated;
} responses[] = {
#define REPLY(bytes) "\x12\x34" bytes, sizeof("\x12\x34" bytes) - 1
    {"an answer", REPLY("\x84\0\0\1\0\1\0\0\0\0"), 0, 0},
    {"NXDOMAIN", REPLY("\x84\x03\0\1\0\0\0\1\0\0"), 3, 0},
    {"RA is no part of it", REPLY("\x84\x85\0\1\0\0\0\1\0\0"), 5, 0},
    {"truncated", REPLY("\x86\0\0\1\0\0\0\0\0\0"), 0, 1},
    {"truncated SERVFAIL", REPLY("\x82\x02\0\1\0\0\0\0\0\0"), 2, 1},
    {"the last of four bits", REPLY("\x80\x0f\0\1\0\0\0\0\0\0"), 15, 0},
    {"BADVERS", REPLY("\x80\0\0\0\0\0\0\0\0\1" OPT("\1")), DNS_RCODE_BADVERS, 0},
    {"BADVERS with a cookie", REPLY("\x80\0\0\0\0\0\0\0\0\1" OPT_COOKIE("\1")), DNS_RCODE_BADVERS,
     0},
    {"BADVERS with TSIG behind it", REPLY("\x80\0\0\0\0\0\0\0\0\2" OPT("\1") "\0\0\xfa"),
     DNS_RCODE_BADVERS, 0},
    {"BADCOOKIE", REPLY("\x80\x07\0\1\0\0\0\0\0\1" OPT_COOKIE("\1")), DNS_RCODE_BADCOOKIE, 0},
    {"seven, with a cookie", REPLY("\x80\x07\0\1\0\0\0\0\0\1" OPT_COOKIE("\0")), 7, 0},
    {"seven, and BADCOOKIE's bits beside an answer",
     REPLY("\x80\x07\0\1\0\1\0\0\0\1" OPT_COOKIE("\1")), 7, 0},
    {"a code without a name", REPLY("\x80\x07\0\1\0\0\0\0\0\1" OPT_COOKIE("\2")), 7, 0},
    {"truncated, with a cookie", REPLY("\x82\0\0\1\0\0\0\0\0\1" OPT_COOKIE("\0")), 0, 1},
    {"an OPT that says nothing", REPLY("\x80\0\0\0\0\0\0\0\0\1" OPT("\0")), 0, 0},
    {"BADVERS' bits beside an answer", REPLY("\x80\0\0\0\0\1\0\0\0\1" OPT("\1")), 0, 0},
    {"BADVERS' bits beside an SOA", REPLY("\x80\0\0\0\0\0\0\1\0\1" OPT("\1")), 0, 0},
#undef REPLY
};

static struct response response_of(const char *bytes, size_t len)
{
    static uint8_t copy[128];
    assert_in_range(len, 0, sizeof(copy));
    memcpy(copy, bytes, len);
    return (struct response){.bytes = copy, .len = len};
}

UNIT_TEST(test_responses)
{
    for (size_t i = 0; i < ARRAY_LEN(responses); i++) {
        struct query_counts counts = {.answered = {0}};
        struct response response = response_of(responses[i].bytes, responses[i].len);
        print_message("%s\n", responses[i].name);
        response.opt_at = response.bytes[11] > 0 ? DNS_HEADER_SIZE : 0;
        query_counts_response(&counts, &response);
        for (size_t rcode = 0; rcode < QUERY_RCODES; rcode++) {
            assert_int_equal(counter_get(&counts.rcodes[rcode]), rcode == responses[i].rcode);
        }
        assert_int_equal(counter_get(&counts.truncated), responses[i].truncated);
    }
}

UNIT_TEST(test_no_response_is_not_counted)
{
    struct query_counts counts = {.answered = {0}}, none = counts;
    const struct response response = response_of(responses[1].bytes, 0);
    query_counts_response(&counts, &response);
    assert_memory_equal(&counts, &none, sizeof(counts));
}

UNIT_TEST(test_sums)
{
    struct query_counts threads[2] = {{.answered = {0}}, {.answered = {0}}};
    struct query_sums sums = {.queries = 0};
    for (unsigned i = 0; i < 2; i++) {
        counter_add(&threads[i].answered, 1);
        counter_add(&threads[i].deferred, 10);
        counter_add(&threads[i].dropped, 100);
        counter_add(&threads[i].refused, 1000);
        counter_add(&threads[i].unsent, 7);
        counter_add(&threads[i].truncated, 8);
        counter_add(&threads[i].rcodes[DNS_RCODE_BADVERS], 9);
        query_sums_add(&sums, &threads[i]);
    }
    assert_int_equal(sums.queries, 2222);
    assert_int_equal(sums.answered, 2);
    assert_int_equal(sums.deferred, 20);
    assert_int_equal(sums.dropped, 200);
    assert_int_equal(sums.refused, 2000);
    assert_int_equal(sums.unsent, 14);
    assert_int_equal(sums.truncated, 16);
    assert_int_equal(sums.rcodes[DNS_RCODE_BADVERS], 18);
}

UNIT_TEST(test_each_set_has_lines_of_its_own)
{
    assert_int_equal(sizeof(struct query_counts) % COUNTERS_ALIGN, 0);
    assert_int_equal(alignof(struct query_counts), COUNTERS_ALIGN);
}

/* Header of one question, or of none. */
#define ONE  "\x12\x34\x84\0\0\1\0\0\0\0\0\0"
#define NONE "\x12\x34\x84\0\0\0\0\0\0\0\0\0"

static const struct {
    const char *name, *type, *bytes;
    size_t len;
    uint8_t name_len;
} types[] = {
#define REPLY(bytes) bytes, sizeof(bytes) - 1
    {"an address", "A", REPLY(ONE "\3web\7cluster\5local\0\0\1\0\1"), 19},
    {"of the root", "NS", REPLY(ONE "\0\0\2\0\1"), 1},
    {"IPv6", "AAAA", REPLY(ONE "\3web\0\0\x1c\0\1"), 5},
    {"a label with zeros", "SRV", REPLY(ONE "\3\0\0\1\0\0\x21\0\1"), 5},
    {"HTTPS", "HTTPS", REPLY(ONE "\1w\0\0\x41\0\1"), 3},
    {"the last small one", "ANY", REPLY(ONE "\1w\0\0\xff\0\1"), 3},
    {"one without a count", "other", REPLY(ONE "\1w\0\0\x63\0\1"), 3},
    {"a large one that ends like A", "other", REPLY(ONE "\1w\0\1\1\0\1"), 3},
    {"no question", "other", REPLY(NONE "\0\0\1\0\1"), 0},
#undef REPLY
};

UNIT_TEST(test_types)
{
    for (size_t i = 0; i < ARRAY_LEN(types); i++) {
        struct query_counts counts = {.answered = {0}};
        struct query_sums sums = {0};
        print_message("%s\n", types[i].name);
        struct response response = response_of(types[i].bytes, types[i].len);
        response.name_len = types[i].name_len;
        query_counts_response(&counts, &response);
        query_sums_add(&sums, &counts);
        query_sums_add(&sums, &counts);
        for (unsigned type = 0; type < QUERY_TYPES; type++) {
            bool is_it = strcmp(query_type_name((enum query_type)type), types[i].type) == 0;
            assert_int_equal(sums.types[type], is_it ? 2 : 0);
        }
    }
}
