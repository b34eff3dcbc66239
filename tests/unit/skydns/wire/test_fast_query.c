/* The fast path's reading of a query: names of every length, with every byte in every place. */
#include "common/dns/dns.h"
#include "skydns/wire/query_parse.h"
#include "tests/support/unit_test.h"

enum { TAIL = 4, QUERY_MAX = DNS_HEADER_SIZE + 2 * DNAME_MAX + TAIL };

/* A query in memory of its own length, so that asan sees what is read beyond it. */
struct query_bytes {
    uint8_t *wire;
    size_t len;
    struct fast_query read;
};

/* A query for A of class IN whose name, root label included, has this length: labels of `label`
 * bytes, and one that takes what is left. */
static void fast_query_make_query(struct query_bytes *query, size_t name_len, size_t label)
{
    uint8_t wire[QUERY_MAX] = {[2] = DNS_FLAG_RD >> 8, [5] = 1};
    size_t at = DNS_HEADER_SIZE, end = at + name_len - 1;
    while (at < end) {
        size_t len = end - at - 1 < label ? end - at - 1 : label;
        if (end - at - 1 - len == 1) {
            len = len > 1 ? len - 1 : 2; /* one byte is too few for a label */
        }
        wire[at] = (uint8_t)len;
        memset(wire + at + 1, 'x', len);
        at += len + 1;
    }
    wire[end + 2] = DNS_TYPE_A;
    wire[end + 4] = DNS_CLASS_IN;
    query->len = end + 1 + TAIL;
    query->wire = malloc(query->len);
    assert_non_null(query->wire);
    memcpy(query->wire, wire, query->len);
}

static bool fast_query_read_query(struct query_bytes *query)
{
    memset(&query->read, 0xa5, sizeof(query->read));
    return fast_query_read(query->wire, query->len, &query->read);
}

/* A label of 46 bytes looks like a dot: such a name is not read. */
static bool has_dotted_length(const struct query_bytes *query)
{
    const uint8_t *at = query->wire + DNS_HEADER_SIZE;
    while (*at != 0 && *at != '.') {
        at += *at + 1;
    }
    return *at == '.';
}

UNIT_TEST(test_each_byte_in_each_place)
{
    static const uint8_t bytes[] = {'A', 'M',  'Z',        '@',        '[',       '`',
                                    'a', 'z',  '{',        '.',        '-',       '/',
                                    0,   0xff, 'A' | 0x80, 'Z' | 0x80, '.' | 0x80};
    for (size_t len = 3; len <= DNAME_MAX; len++) {
        struct query_bytes q;
        fast_query_make_query(&q, len, DNAME_LABEL_MAX);
        for (size_t at = 0; at < len && !has_dotted_length(&q); at++) {
            uint8_t *byte = q.wire + DNS_HEADER_SIZE + at;
            if (*byte != 'x') {
                continue; /* a label's length */
            }
            for (size_t i = 0; i < sizeof(bytes); i++) {
                bool is_capital = bytes[i] >= 'A' && bytes[i] <= 'Z';
                *byte = bytes[i];
                assert_int_equal(fast_query_read_query(&q), bytes[i] != '.');
                if (bytes[i] != '.') {
                    assert_int_equal(q.read.is_lower, !is_capital);
                    assert_int_equal(q.read.name_len, len);
                    assert_int_equal(q.read.name[at], bytes[i] | (is_capital ? 0x20 : 0));
                }
            }
            *byte = 'x';
        }
        assert_int_equal(fast_query_read_query(&q), !has_dotted_length(&q));
        assert_memory_equal(q.read.name, q.wire + DNS_HEADER_SIZE, len);
        free(q.wire);
    }
}

static void check_labels(const struct query_bytes *q)
{
    size_t at = 0, count = 0;
    for (; q->wire[DNS_HEADER_SIZE + at] != 0; count++) {
        assert_int_equal(q->read.offsets[count], at);
        at += q->wire[DNS_HEADER_SIZE + at] + 1u;
    }
    assert_int_equal(q->read.offsets[count], at);
    assert_int_equal(q->read.label_count, count);
    assert_int_equal(q->read.type, DNS_TYPE_A);
}

UNIT_TEST(test_labels)
{
    for (size_t label = 1; label <= DNAME_LABEL_MAX; label += 2) {
        for (size_t len = 3; len <= DNAME_MAX; len++) {
            struct query_bytes q;
            fast_query_make_query(&q, len, label);
            assert_int_equal(fast_query_read_query(&q), !has_dotted_length(&q));
            if (!has_dotted_length(&q)) {
                check_labels(&q);
            }
            free(q.wire);
        }
    }
}

UNIT_TEST(test_root)
{
    struct query_bytes q;
    fast_query_make_query(&q, 1, 1);
    assert_true(fast_query_read_query(&q));
    check_labels(&q);
    free(q.wire);
}

UNIT_TEST(test_most_labels)
{
    struct query_bytes q;
    fast_query_make_query(&q, DNAME_MAX, 1);
    assert_true(fast_query_read_query(&q));
    assert_int_equal(q.read.label_count, DNAME_LABELS_MAX);
    assert_int_equal(q.read.offsets[DNAME_LABELS_MAX], DNAME_MAX - 1);
    free(q.wire);
}

UNIT_TEST(test_too_long)
{
    for (size_t label = 1; label <= DNAME_LABEL_MAX; label++) {
        for (size_t len = DNAME_MAX + 1; len < (size_t)2 * DNAME_MAX; len++) {
            struct query_bytes q;
            fast_query_make_query(&q, len, label);
            assert_false(fast_query_read_query(&q));
            free(q.wire);
        }
    }
}

UNIT_TEST(test_cut_off)
{
    static const size_t lengths[] = {1, 5, 15, 16, 17, 40, 254, 255};
    for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
        struct query_bytes whole;
        fast_query_make_query(&whole, lengths[i], 7);
        for (size_t len = 0; len < whole.len; len++) {
            struct query_bytes q = {.wire = malloc(len > 0 ? len : 1), .len = len};
            assert_non_null(q.wire);
            memcpy(q.wire, whole.wire, len);
            assert_false(fast_query_read_query(&q));
            free(q.wire);
        }
        free(whole.wire);
    }
}

UNIT_TEST(test_label_too_long)
{
    struct query_bytes q;
    fast_query_make_query(&q, 100, 60);
    for (unsigned len = DNAME_LABEL_MAX + 1; len <= UINT8_MAX; len++) {
        q.wire[DNS_HEADER_SIZE] = (uint8_t)len;
        assert_false(fast_query_read_query(&q));
    }
    free(q.wire);
}

/* The header alone tells. */
UNIT_TEST(test_may_have_a_cookie)
{
    enum { OPT = 11, COOKIE = 4 + 8 };
    static const struct {
        uint8_t answers, authorities, additionals;
        bool may_have;
    } cases[] = {{0, 0, 0, false}, {0, 0, 1, true},  {0, 0, 2, true}, {0, 1, 2, true},
                 {0, 0, 3, false}, {0, 2, 1, false}, {1, 0, 1, false}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        uint8_t wire[12 + 5 + OPT + COOKIE] = {[5] = 1};
        wire[7] = cases[i].answers;
        wire[9] = cases[i].authorities;
        wire[11] = cases[i].additionals;
        assert_int_equal(fast_query_may_have_cookie(wire, sizeof(wire)), cases[i].may_have);
    }
}
