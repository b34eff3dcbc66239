/* How long a response may be kept, by its records. */
#include "skydns/wire/response.h"

#include "common/base/buf.h"
#include "common/dns/dns.h"
#include "tests/support/unit_test.h"

enum { NAME_LEN = 11 };

struct record_plan {
    enum dns_type type;
    uint32_t ttl_s;
    uint32_t minimum_s; /* of a SOA */
};

struct reply_plan {
    const char *name;
    uint16_t flags;
    struct record_plan answers[4], authorities[3]; /* until one without a type */
    uint32_t want;
};

/* Owners are compressed, or spelled out in every second record. */
static void response_add_record(struct buf *b, const struct record_plan *record, unsigned number)
{
    if (number % 2) {
        buf_append(b, "\1x\7example\0", 11);
    } else {
        buf_append(b, "\xc0\x0c", 2);
    }
    buf_append_u16(b, (uint16_t)record->type);
    buf_append_u16(b, DNS_CLASS_IN);
    buf_append_u32(b, record->ttl_s);
    if (record->type == DNS_TYPE_SOA) {
        buf_append_u16(b, 2 + 2 + 5 * 4);
        buf_append(b, "\xc0\x0c\xc0\x0c", 4);
        buf_append(b, "serialrefreshretry", 16);
        buf_append_u32(b, record->minimum_s);
    } else {
        buf_append_u16(b, 4);
        buf_append(b, "\1\2\3\4", 4);
    }
}

static void response_make_reply(struct buf *b, const struct reply_plan *plan)
{
    uint16_t answers = 0, authorities = 0;
    while (answers < ARRAY_LEN(plan->answers) && plan->answers[answers].type) {
        answers++;
    }
    while (authorities < ARRAY_LEN(plan->authorities) && plan->authorities[authorities].type) {
        authorities++;
    }
    buf_append_u16(b, 7);
    buf_append_u16(b, DNS_FLAG_QR | plan->flags);
    buf_append_u16(b, 1);
    buf_append_u16(b, answers);
    buf_append_u16(b, authorities);
    buf_append_u16(b, 1);
    buf_append(b, "\1x\7example\0\0\1\0\1", 15);
    for (unsigned i = 0; i < answers; i++) {
        response_add_record(b, &plan->answers[i], i);
    }
    for (unsigned i = 0; i < authorities; i++) {
        response_add_record(b, &plan->authorities[i], i);
    }
    response_add_record(b, &(struct record_plan){DNS_TYPE_A, 1, 0},
                        0); /* additional: does not count */
}

static const struct reply_plan plans[] = {
    {"one", 0, {{DNS_TYPE_A, 30, 0}}, {{0}}, 30},
    {"the smallest", 0, {{DNS_TYPE_A, 30, 0}, {DNS_TYPE_A, 7, 0}, {DNS_TYPE_A, 90, 0}}, {{0}}, 7},
    {"none for later", 0, {{DNS_TYPE_A, 0, 0}, {DNS_TYPE_A, 7, 0}}, {{0}}, 0},
    {"authority of an answer", 0, {{DNS_TYPE_A, 30, 0}}, {{DNS_TYPE_NS, 5, 0}}, 30},
    {"the longest", 0, {{DNS_TYPE_A, INT32_MAX, 0}}, {{0}}, INT32_MAX},
    {"a sign, RFC 2181", 0, {{DNS_TYPE_A, 0x80000000U, 0}}, {{0}}, 0},
    {"a SOA as the answer", 0, {{DNS_TYPE_SOA, 30, 5}}, {{0}}, 30},
    {"no data, minimum", 0, {{0}}, {{DNS_TYPE_SOA, 60, 30}}, 30},
    {"no data, TTL", 0, {{0}}, {{DNS_TYPE_SOA, 20, 30}}, 20},
    {"no data, proof first", 0, {{0}}, {{DNS_TYPE_NS, 5, 0}, {DNS_TYPE_SOA, 60, 30}}, 30},
    {"no name", DNS_RCODE_NXDOMAIN, {{0}}, {{DNS_TYPE_SOA, 60, 40}}, 40},
    {"no data of an alias", 0, {{DNS_TYPE_CNAME, 50, 0}}, {{DNS_TYPE_SOA, 60, 40}}, 40},
    {"no name of an alias",
     DNS_RCODE_NXDOMAIN,
     {{DNS_TYPE_CNAME, 20, 0}},
     {{DNS_TYPE_SOA, 60, 40}},
     20},
    {"no name of an alias, nor SOA", DNS_RCODE_NXDOMAIN, {{DNS_TYPE_CNAME, 20, 0}}, {{0}}, 0},
    {"no data, no SOA", 0, {{0}}, {{DNS_TYPE_NS, 60, 0}}, 0},
    {"empty", 0, {{0}}, {{0}}, 0},
    {"no name, no SOA", DNS_RCODE_NXDOMAIN, {{0}}, {{0}}, 0},
    {"failure", DNS_RCODE_SERVFAIL, {{DNS_TYPE_A, 30, 0}}, {{DNS_TYPE_SOA, 60, 40}}, 0},
    {"refused", DNS_RCODE_REFUSED, {{0}}, {{DNS_TYPE_SOA, 60, 40}}, 0},
    {"truncated", DNS_FLAG_TC, {{DNS_TYPE_A, 30, 0}}, {{0}}, 0},
};

UNIT_TEST(test_max_age)
{
    for (size_t i = 0; i < ARRAY_LEN(plans); i++) {
        CLEANUP_BUF struct buf b = buf_of(SIZE_MAX);
        response_make_reply(&b, &plans[i]);
        const struct response response = {.bytes = b.data, .len = b.len, .name_len = NAME_LEN};
        uint32_t got = response_max_age_s(&response);
        assert_that(got == plans[i].want, "%s: %u", plans[i].name, got);
    }
}

/* Every reply cut off anywhere before what counts: may not be kept. */
UNIT_TEST(test_cut_off)
{
    for (size_t i = 0; i < ARRAY_LEN(plans); i++) {
        CLEANUP_BUF struct buf b = buf_of(SIZE_MAX);
        response_make_reply(&b, &plans[i]);
        size_t additional = 2 + 10 + 4;
        for (size_t len = 0; len < b.len - additional; len++) {
            CLEANUP_FREE uint8_t *part = malloc(len + 1);
            assert_non_null(part);
            memcpy(part + 1, b.data, len); /* its end is the block's */
            const struct response cut = {.bytes = part + 1, .len = len, .name_len = NAME_LEN};
            assert_int_equal(response_max_age_s(&cut), 0);
        }
    }
}

/* Without a question, as after FORMERR. */
UNIT_TEST(test_no_question)
{
    uint8_t bytes[DNS_HEADER_SIZE] = {[2] = DNS_FLAG_QR >> 8, [3] = DNS_RCODE_FORMERR};
    const struct response response = {.bytes = bytes, .len = sizeof(bytes)};
    assert_int_equal(response_max_age_s(&response), 0);
}
