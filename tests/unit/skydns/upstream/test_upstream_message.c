/* Messages to and from nameservers. */
#include "skydns/upstream/upstream_message.h"
#include "skydns/wire/question.h"
#include "tests/support/from_text.h"
#include "tests/support/unit_test.h"

UNIT_TEST(test_query)
{
    static const uint8_t want[] = {
        0x12, 0x34, 0x01, 0x30, 0,  1, 0, 0, 0, 0,  0,    1,    3, 'a', 'b',  'c', 4, 't', 'e',
        's',  't',  0,    0,    28, 0, 1, 0, 0, 41, 0x04, 0xd0, 0, 0,   0x80, 0,   0, 0,
    };
    const struct upstream_question question = {.name = dname_from("abc.test."),
                                               .type = 28,
                                               .qclass = 1,
                                               .flags = 0x0110,
                                               .dnssec_ok = true};
    uint8_t out[UPSTREAM_QUERY_MAX];
    assert_int_equal(upstream_query_write(&question, 0x1234, out), sizeof(want));
    assert_memory_equal(out, want, sizeof(want));
}

/* A client's network, then the mark of queries to stub zones; without EDNS, neither. */
UNIT_TEST(test_options_of_a_query)
{
    static const uint8_t subnet[] = {0, 8, 0, 6, 0, 1, 16, 0, 10, 1};
    static const uint8_t want[] = {0, 0, 41, 0x04, 0xd0, 0, 0,  0, 0,    0,    15, 0, 8,
                                   0, 6, 0,  1,    16,   0, 10, 1, 0xfd, 0xf3, 0,  1, 1};
    struct upstream_question question = {.name = dname_from("abc.test."),
                                         .type = 1,
                                         .qclass = 1,
                                         .is_stub = true,
                                         .subnet_len = sizeof(subnet)};
    uint8_t out[UPSTREAM_QUERY_MAX];
    memcpy(question.subnet, subnet, sizeof(subnet));
    size_t len = upstream_query_write(&question, 1, out), question_end = 12 + question.name.len + 4;
    assert_int_equal(len, question_end + sizeof(want));
    assert_memory_equal(out + question_end, want, sizeof(want));
    assert_int_equal(out[11], 1);
    assert_int_equal(upstream_query_strip_edns(out, len), question_end);
    assert_int_equal(out[11], 0);
}

UNIT_TEST(test_longest_query_fits)
{
    struct upstream_question question = {
        .type = 1, .qclass = 1, .is_stub = true, .subnet_len = EDNS_SUBNET_MAX};
    uint8_t out[UPSTREAM_QUERY_MAX];
    question.name = dname_from(".");
    while (dname_prepend(&question.name, slice_str("a"))) {
    }
    assert_int_equal(question.name.len, DNAME_MAX);
    assert_int_equal(upstream_query_write(&question, 1, out), UPSTREAM_QUERY_MAX);
}

/* A client's query for `WWW.test. A` with every flag of a query, and EDNS with two options:
 * relevant fields are kept, the rest is not. */
UNIT_TEST(test_the_question_of_a_client)
{
    static const uint8_t client[] = {
        9,   9, 0x07, 0x7f, 0, 1, 0, 0, 0,  0, 0, 1, 3, 'W',  'W', 'W', 4,  't', 'e', 's',
        't', 0, 0,    1,    0, 1, 0, 0, 41, 2, 0, 0, 0, 0x80, 0,   0,   22, 0,   10,  0,
        8,   1, 2,    3,    4, 5, 6, 7, 8,  0, 8, 0, 6, 0,    1,   16,  0,  10,  1};
    struct question question;
    assert_int_equal(question_parse(client, sizeof(client), &question), QUESTION_OK);
    const struct upstream_question q = upstream_question_of(&question);
    struct dname want = dname_from("www.test.");
    assert_int_equal(q.name.len, want.len);
    assert_memory_equal(q.name.wire, want.wire, want.len); /* in lower case */
    assert_int_equal(q.type, 1);
    assert_int_equal(q.qclass, 1);
    assert_int_equal(q.flags, 0x0110); /* AD is always set when it is sent */
    assert_true(q.dnssec_ok);
    assert_int_equal(q.subnet_len, 10);
    assert_memory_equal(q.subnet, client + sizeof(client) - 10, 10);
}

/* Whatever changes the answer makes it a different question. */
UNIT_TEST(test_equal_questions)
{
    const struct upstream_question base = {
        .name = dname_from("www.test."), .type = 1, .qclass = 1, .flags = 0x0100};
    struct upstream_question others[8] = {base, base, base, base, base, base, base, base};
    others[0].name = dname_from("www2.test.");
    others[1].type = 28;
    others[2].qclass = 3;
    others[3].flags = 0x0110;
    others[4].dnssec_ok = true;
    others[5].zone_serial = 1;
    others[6].is_stub = true;
    others[7].subnet_len = 8;
    assert_true(upstream_question_equal(&base, &base));
    assert_int_equal(upstream_question_hash(&base, 7), upstream_question_hash(&base, 7));
    assert_int_not_equal(upstream_question_hash(&base, 7), upstream_question_hash(&base, 8));
    for (int i = 0; i < 8; i++) {
        assert_false(upstream_question_equal(&base, &others[i]));
    }
}

/* Only letters, and exactly those whose bit is set. */
UNIT_TEST(test_mixed_case)
{
    const struct upstream_question question = {.name = dname_from("ab-9z.c.test."), .type = 1};
    uint8_t out[UPSTREAM_QUERY_MAX], reply[UPSTREAM_QUERY_MAX], bits[DNAME_MAX / 8 + 1];
    memset(bits, 0xff, sizeof(bits));
    bits[0] = 0xfb; /* all but the second letter */
    size_t len = upstream_query_write(&question, 1, out);
    upstream_query_mix_case(out, len, bits);
    assert_memory_equal(out + 12, "\5Ab-9Z\1C\4TEST", 14);
    memcpy(reply, out, len);
    reply[2] |= 0x80;
    assert_true(upstream_is_reply(out, len, reply, len, true));
    reply[13] |= 0x20;
    assert_false(upstream_is_reply(out, len, reply, len, true));
    assert_true(upstream_is_reply(out, len, reply, len, false));
}

/* Whole blocks, whatever the name's length; OPT stays the last record, and its options are whole.
 */
UNIT_TEST(test_padding)
{
    struct upstream_question question = {.name = {.len = 1}, .type = 1, .qclass = 1};
    for (size_t n = 1; n < 250; n++) {
        uint8_t out[UPSTREAM_PADDED_MAX];
        char text[256] = "";
        for (size_t i = 0; i < n; i++) {
            text[i] = i % 50 == 49 && i + 1 < n ? '.' : 'a';
        }
        question.name = dname_from(text);
        question.subnet_len = n % 2 ? EDNS_SUBNET_MAX : 0;
        size_t len = upstream_query_write(&question, 1, out);
        size_t opt_at = 12 + question.name.len + 4, padded = upstream_query_pad(out, len);
        assert_true(padded <= UPSTREAM_PADDED_MAX && padded % UPSTREAM_BLOCK == 0);
        assert_true(padded - len < UPSTREAM_BLOCK + 2 * EDNS_OPTION_HEAD);
        assert_int_equal(out[opt_at + 9] << 8 | out[opt_at + 10], padded - opt_at - EDNS_OPT_SIZE);
        const uint8_t keepalive[] = {0, 11, 0, 0, 0, 12};
        assert_memory_equal(out + len, keepalive, sizeof(keepalive));
        assert_int_equal(out[len + 6] << 8 | out[len + 7], padded - len - 2 * EDNS_OPTION_HEAD);
        assert_int_equal(upstream_query_strip_edns(out, padded), opt_at);
    }
}

/* Behind a question, an answer with a compressed name, and another option. */
UNIT_TEST(test_keepalive_of_a_reply)
{
    static const uint8_t reply[] = {
        0,    1,  0x81, 0x80, 0, 1, 0, 1,  0, 0,  0, 1, 1,  'a', 0,  0, 1, 0,    1,
        0xc0, 12, 0,    1,    0, 1, 0, 0,  0, 9,  0, 4, 10, 0,   0,  1, 0, 0,    41,
        16,   0,  0,    0,    0, 0, 0, 11, 0, 10, 0, 1, 7,  0,   11, 0, 2, 0x01, 0x2c,
    };
    uint16_t ds = 0;
    assert_true(upstream_reply_keepalive(reply, sizeof(reply), &ds));
    assert_int_equal(ds, 300);
    for (size_t len = 0; len < sizeof(reply); len++) {
        assert_false(upstream_reply_keepalive(reply, len, &ds));
    }
    uint8_t without[sizeof(reply)];
    memcpy(without, reply, sizeof(reply));
    without[sizeof(reply) - 5] = 12; /* padding */
    assert_false(upstream_reply_keepalive(without, sizeof(without), &ds));
}

/* A header, or a header and an OPT record; of four rcodes. */
UNIT_TEST(test_a_failure_without_the_question)
{
    static const uint8_t asked[] = {0xab, 0xcd, 1, 0x20, 0, 1, 0, 0, 0, 0, 0, 0};
    static const uint8_t bare[] = {0xab, 0xcd, 0x81, 0x82, 0, 0, 0, 0,    0, 0, 0, 1,
                                   0,    0,    41,   4,    0, 0, 0, 0x80, 0, 0, 0};
    enum { HEADER = 12, QUESTIONS = 5, OPTS = 11, OPT_TYPE = 14 };
    static const struct {
        size_t at; /* where a byte becomes another */
        uint8_t byte;
        size_t len;
        bool is_failure;
    } cases[] = {
        {3, 0x82, sizeof(bare), true},
        {3, 0x85, sizeof(bare), true},
        {3, 0x81, sizeof(bare), true},
        {3, 0x84, sizeof(bare), true},
        {3, 0x80, sizeof(bare), false},
        {3, 0x83, sizeof(bare), false},
        {OPTS, 0, HEADER, true},
        {OPTS, 0, sizeof(bare), false},
        {OPTS, 1, HEADER, false},
        {OPTS, 2, sizeof(bare), false},
        {OPT_TYPE, 40, sizeof(bare), false},
        {QUESTIONS, 1, sizeof(bare), false},
        {2, 0x83, sizeof(bare), false},
        {2, 0x01, sizeof(bare), false},
        {0, 0xaa, sizeof(bare), false},
        {OPTS, 1, sizeof(bare) - 1, false},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        uint8_t reply[sizeof(bare)];
        memcpy(reply, bare, sizeof(bare));
        reply[cases[i].at] = cases[i].byte;
        assert_int_equal(upstream_is_bare_failure(asked, reply, cases[i].len), cases[i].is_failure);
    }
}
