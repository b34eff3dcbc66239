/* Packed records of external answers: what is put is read, with owners along the CNAMEs; without
 * room, nothing is put; cut answers say so. */
#include "common/dns/dns.h"
#include "skydns/wire/external_answer.h"
#include "tests/support/unit_test.h"

enum { CNAME_SIZE = 6 + 3, A_SIZE = 6 + 4, RECORDS = 4, PACKED = 2 * CNAME_SIZE + 2 * A_SIZE };

static const struct {
    uint16_t type;
    const char *owner, *data;
    size_t len;
} records[RECORDS] = {
    {DNS_TYPE_CNAME, "\1q", "\1a", 3},
    {DNS_TYPE_CNAME, "\1a", "\1b", 3},
    {DNS_TYPE_A, "\1b", "\xc0\0\2\1", 4},
    {DNS_TYPE_A, "\1b", "\xc0\0\2\2", 4},
};

static void external_answer_put_all(struct buf *packed)
{
    for (uint32_t i = 0; i < RECORDS; i++) {
        external_answer_put(packed, records[i].type, i << 24 | i,
                            slice_of(records[i].data, records[i].len));
    }
}

/* Reads them back; returns how many. */
static size_t external_answer_check(const struct external_answer *answer)
{
    struct external_reader reader = external_answer_read(answer, slice_of("\1q", 3));
    struct external_rr rr;
    uint32_t n = 0;
    while (external_answer_next(&reader, &rr)) {
        assert_int_equal(rr.type, records[n].type);
        assert_int_equal(rr.ttl_s, n << 24 | n);
        assert_true(slice_equal(rr.owner, slice_of(records[n].owner, 3)));
        assert_true(slice_equal(rr.data, slice_of(records[n].data, records[n].len)));
        n++;
    }
    return n;
}

UNIT_TEST(test_room)
{
    for (size_t limit = 0; limit <= PACKED; limit++) {
        CLEANUP_BUF struct buf packed = buf_of(limit);
        external_answer_put_all(&packed);
        const struct external_answer answer = {.records = buf_slice(&packed)};
        size_t want = limit < CNAME_SIZE                ? 0
                      : limit < 2 * CNAME_SIZE          ? 1
                      : limit < 2 * CNAME_SIZE + A_SIZE ? 2
                      : limit < PACKED                  ? 3
                                                        : 4;
        assert_int_equal(external_answer_check(&answer), want);
        assert_int_equal(packed.failed, limit < PACKED);
    }
}

UNIT_TEST(test_cut)
{
    CLEANUP_BUF struct buf packed = buf_of(PACKED);
    external_answer_put_all(&packed);
    for (size_t max = 0; max <= RECORDS + 1; max++) {
        struct external_answer answer = {.outcome = EXTERNAL_ANSWERED,
                                         .records = buf_slice(&packed)};
        external_answer_cut(&answer, max);
        assert_int_equal(external_answer_check(&answer), max < RECORDS ? max : RECORDS);
        assert_int_equal(answer.outcome, max < RECORDS ? EXTERNAL_TRUNCATED : EXTERNAL_ANSWERED);
    }
    struct external_answer none = {.outcome = EXTERNAL_DENIED};
    external_answer_cut(&none, 0);
    assert_int_equal(none.outcome, EXTERNAL_DENIED);
}
