/* Messages to and from nameservers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "skydns/upstream/upstream_message.h"

static struct dname name_of(const char *text)
{
    struct dname name = {0};
    assert_true(dname_from_text(slice_str(text), &name));
    return name;
}

static void test_query(void **state)
{
    static const uint8_t want[] = {
        0x12, 0x34, 0x01, 0x30, 0,  1, 0, 0, 0, 0,  0,    1,    3, 'a', 'b',  'c', 4, 't', 'e',
        's',  't',  0,    0,    28, 0, 1, 0, 0, 41, 0x04, 0xd0, 0, 0,   0x80, 0,   0, 0,
    };
    const struct upstream_question question = {
        .name = name_of("abc.test."), .type = 28, .qclass = 1, .flags = 0x0110, .dnssec_ok = true};
    uint8_t out[UPSTREAM_QUERY_MAX];
    (void)state;
    assert_int_equal(upstream_query_write(&question, 0x1234, out), sizeof(want));
    assert_memory_equal(out, want, sizeof(want));
}

/* A client's network, then the mark of queries to stub zones; without EDNS, neither. */
static void test_options_of_a_query(void **state)
{
    static const uint8_t subnet[] = {0, 8, 0, 6, 0, 1, 16, 0, 10, 1};
    static const uint8_t want[] = {0, 0, 41, 0x04, 0xd0, 0, 0,  0, 0,    0,    15, 0, 8,
                                   0, 6, 0,  1,    16,   0, 10, 1, 0xfd, 0xf3, 0,  1, 1};
    struct upstream_question question = {.name = name_of("abc.test."),
                                         .type = 1,
                                         .qclass = 1,
                                         .is_stub = true,
                                         .subnet_len = sizeof(subnet)};
    uint8_t out[UPSTREAM_QUERY_MAX];
    (void)state;
    memcpy(question.subnet, subnet, sizeof(subnet));
    size_t len = upstream_query_write(&question, 1, out), question_end = 12 + question.name.len + 4;
    assert_int_equal(len, question_end + sizeof(want));
    assert_memory_equal(out + question_end, want, sizeof(want));
    assert_int_equal(out[11], 1);
    assert_int_equal(upstream_query_strip_edns(out, len), question_end);
    assert_int_equal(out[11], 0);
}

static void test_longest_query_fits(void **state)
{
    struct upstream_question question = {
        .type = 1, .qclass = 1, .is_stub = true, .subnet_len = EDNS_SUBNET_MAX};
    uint8_t out[UPSTREAM_QUERY_MAX];
    (void)state;
    question.name = name_of(".");
    while (dname_prepend(&question.name, slice_str("a"))) {
    }
    assert_int_equal(question.name.len, DNAME_MAX);
    assert_int_equal(upstream_query_write(&question, 1, out), UPSTREAM_QUERY_MAX);
}

/* A client's query for `WWW.test. A` with every flag of a query, and EDNS with two options:
 * relevant fields are kept, the rest is not. */
static void test_the_question_of_a_client(void **state)
{
    static const uint8_t client[] = {
        9,   9, 0x07, 0x7f, 0, 1, 0, 0, 0,  0, 0, 1, 3, 'W',  'W', 'W', 4,  't', 'e', 's',
        't', 0, 0,    1,    0, 1, 0, 0, 41, 2, 0, 0, 0, 0x80, 0,   0,   22, 0,   10,  0,
        8,   1, 2,    3,    4, 5, 6, 7, 8,  0, 8, 0, 6, 0,    1,   16,  0,  10,  1};
    struct upstream_question q;
    (void)state;
    assert_true(upstream_question_read(client, sizeof(client), &q));
    struct dname want = name_of("www.test.");
    assert_int_equal(q.name.len, want.len);
    assert_memory_equal(q.name.wire, want.wire, want.len); /* in lower case */
    assert_int_equal(q.type, 1);
    assert_int_equal(q.qclass, 1);
    assert_int_equal(q.flags, 0x0110); /* AD is always set when it is sent */
    assert_true(q.dnssec_ok);
    assert_int_equal(q.subnet_len, 10);
    assert_memory_equal(q.subnet, client + sizeof(client) - 10, 10);
    for (size_t len = 0; len < sizeof(client); len++) {
        assert_false(upstream_question_read(client, len, &q));
    }
}

/* Whatever changes the answer makes it a different question. */
static void test_equal_questions(void **state)
{
    const struct upstream_question base = {
        .name = name_of("www.test."), .type = 1, .qclass = 1, .flags = 0x0100};
    struct upstream_question others[8] = {base, base, base, base, base, base, base, base};
    (void)state;
    others[0].name = name_of("www2.test.");
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
static void test_mixed_case(void **state)
{
    const struct upstream_question question = {.name = name_of("ab-9z.c.test."), .type = 1};
    uint8_t out[UPSTREAM_QUERY_MAX], reply[UPSTREAM_QUERY_MAX], bits[DNAME_MAX / 8 + 1];
    (void)state;
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_query),
        cmocka_unit_test(test_options_of_a_query),
        cmocka_unit_test(test_longest_query_fits),
        cmocka_unit_test(test_the_question_of_a_client),
        cmocka_unit_test(test_equal_questions),
        cmocka_unit_test(test_mixed_case),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
