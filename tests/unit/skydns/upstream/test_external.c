/* Questions about names outside the domain: the query sent, and the records accepted from
 * replies. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "skydns/upstream/external.h"

enum { A = 1, CNAME = 5, AAAA = 28, IN = 1, CH = 3 };

static struct dname name_of(const char *text)
{
    struct dname name = {0};
    assert_true(dname_from_text(slice_str(text), &name));
    return name;
}

/* A record to put into a reply; rdata is an address or a name, by type. */
struct given {
    const char *owner;
    uint16_t type;
    const char *rdata;
    uint32_t ttl_s;
};

struct reply {
    uint8_t wire[4096];
    struct writer w;
};

static void put_name(struct reply *r, const char *text)
{
    struct dname name = name_of(text);
    writer_bytes(&r->w, name.wire, name.len);
}

static void put_header(struct reply *r, uint16_t flags, uint16_t answers, const char *qname,
                       uint16_t qtype)
{
    r->w = writer_of(r->wire, sizeof(r->wire));
    writer_u16(&r->w, 7);
    writer_u16(&r->w, flags);
    writer_u16(&r->w, 1);
    writer_u16(&r->w, answers);
    writer_u32(&r->w, 0);
    put_name(r, qname);
    writer_u16(&r->w, qtype);
    writer_u16(&r->w, IN);
}

static void put_rr(struct reply *r, const struct given *rr)
{
    put_name(r, rr->owner);
    writer_u16(&r->w, rr->type);
    writer_u16(&r->w, IN);
    writer_u32(&r->w, rr->ttl_s);
    if (rr->type == CNAME) {
        struct dname target = name_of(rr->rdata);
        writer_u16(&r->w, target.len);
        writer_bytes(&r->w, target.wire, target.len);
    } else {
        struct ip ip = {0};
        assert_true(ip_parse(slice_str(rr->rdata), &ip));
        writer_u16(&r->w, ip.family_bytes);
        writer_bytes(&r->w, ip.bytes, ip.family_bytes);
    }
}

/* Records as text: "owner ttl target-or-address; ...". */
static void describe(const struct external_answer *answer, char *out, size_t size)
{
    size_t n = 0;
    out[0] = '\0';
    for (size_t i = 0; i < answer->count; i++) {
        const struct external_rr *rr = &answer->rrs[i];
        char owner[DNAME_TEXT_MAX], target[DNAME_TEXT_MAX], ip[INET6_ADDRSTRLEN];
        n += (size_t)snprintf(out + n, size - n, "%s%s %u %s", i ? "; " : "",
                              dname_to_text(&rr->owner, owner), rr->ttl_s,
                              rr->type == CNAME ? dname_to_text(&rr->target, target)
                                                : ip_format(&rr->ip, ip));
    }
}

enum { OK_FLAGS = 0x8180, NXDOMAIN_FLAGS = 0x8183, TC_FLAGS = 0x8380 };

static void test_replies(void **state)
{
    static const struct {
        const char *name;
        uint16_t flags;
        uint16_t qtype;
        struct given rrs[4];
        const char *want;
        bool usable;
    } rows[] = {
        {"two addresses",
         OK_FLAGS,
         A,
         {{"www.test.", A, "192.0.2.1", 60}, {"www.test.", A, "192.0.2.2", 60}},
         "www.test. 60 192.0.2.1; www.test. 60 192.0.2.2",
         true},
        {"letter case does not matter",
         OK_FLAGS,
         A,
         {{"WWW.Test.", A, "192.0.2.1", 60}},
         "WWW.Test. 60 192.0.2.1",
         true},
        {"a chain",
         OK_FLAGS,
         AAAA,
         {{"www.test.", CNAME, "a.test.", 9},
          {"a.test.", CNAME, "b.test.", 8},
          {"b.test.", AAAA, "2001:db8::1", 7}},
         "www.test. 9 a.test.; a.test. 8 b.test.; b.test. 7 2001:db8::1",
         true},
        {"a chain in any order",
         OK_FLAGS,
         A,
         {{"b.test.", A, "192.0.2.1", 7},
          {"a.test.", CNAME, "b.test.", 8},
          {"www.test.", CNAME, "a.test.", 9}},
         "www.test. 9 a.test.; a.test. 8 b.test.; b.test. 7 192.0.2.1",
         true},
        {"a chain to nothing",
         OK_FLAGS,
         A,
         {{"www.test.", CNAME, "a.test.", 9}},
         "www.test. 9 a.test.",
         true},
        {"a loop",
         OK_FLAGS,
         A,
         {{"www.test.", CNAME, "a.test.", 9}, {"a.test.", CNAME, "www.test.", 9}},
         "",
         true},
        {"other people's records",
         OK_FLAGS,
         A,
         {{"evil.test.", A, "192.0.2.66", 60}, {"www.test.", AAAA, "2001:db8::1", 60}},
         "",
         true},
        {"no data", OK_FLAGS, A, {{0}}, "", true},
        {"a TTL with the top bit",
         OK_FLAGS,
         A,
         {{"www.test.", A, "192.0.2.1", 0x80000001}},
         "www.test. 0 192.0.2.1",
         true},
        {"truncated: what there is",
         TC_FLAGS,
         A,
         {{"www.test.", A, "192.0.2.1", 60}},
         "www.test. 60 192.0.2.1",
         true},
        {"no such name", NXDOMAIN_FLAGS, A, {{"www.test.", CNAME, "a.test.", 9}}, "", false},
        {"a query, no reply", 0x0100, A, {{"www.test.", A, "192.0.2.1", 60}}, "", false},
        {"an AAAA of four bytes",
         OK_FLAGS,
         AAAA,
         {{"www.test.", AAAA, "192.0.2.1", 60}},
         "",
         false},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct external_question question = {name_of("www.test."), rows[i].qtype};
        struct external_answer answer;
        struct reply r;
        char got[4096];
        uint16_t count = 0;
        while (count < 4 && rows[i].rrs[count].owner) {
            count++;
        }
        put_header(&r, rows[i].flags, count, "www.test.", rows[i].qtype);
        for (uint16_t k = 0; k < count; k++) {
            put_rr(&r, &rows[i].rrs[k]);
        }
        bool usable = external_read(&question, r.wire, r.w.pos, &answer);
        describe(&answer, got, sizeof(got));
        if (usable != rows[i].usable || strcmp(got, rows[i].want) != 0) {
            fail_msg("%s: want %d `%s`, got %d `%s`", rows[i].name, rows[i].usable, rows[i].want,
                     usable, got);
        }
        /* A reply truncated anywhere is rejected. */
        for (size_t len = 0; len < r.w.pos; len++) {
            assert_false(external_read(&question, r.wire, len, &answer));
            assert_int_equal(answer.count, 0);
        }
    }
}

static void test_another_question_is_refused(void **state)
{
    struct external_question question = {name_of("www.test."), A};
    struct external_answer answer;
    struct reply r;
    struct given rr = {"www.test.", A, "192.0.2.1", 60};
    (void)state;
    put_header(&r, OK_FLAGS, 1, "xyz.test.", A);
    put_rr(&r, &rr);
    assert_false(external_read(&question, r.wire, r.w.pos, &answer));
    put_header(&r, OK_FLAGS, 1, "www.test.", AAAA);
    put_rr(&r, &rr);
    assert_false(external_read(&question, r.wire, r.w.pos, &answer));
    assert_false(external_read(&question, NULL, 0, &answer));
    assert_int_equal(answer.count, 0);
}

static void test_another_class_is_left_out(void **state)
{
    struct external_question question = {name_of("www.test."), A};
    struct external_answer answer;
    struct reply r;
    struct given rr = {"www.test.", A, "192.0.2.1", 60};
    (void)state;
    put_header(&r, OK_FLAGS, 1, "www.test.", A);
    size_t rr_at = r.w.pos;
    put_rr(&r, &rr);
    r.wire[rr_at + question.name.len + 3] = CH;
    assert_true(external_read(&question, r.wire, r.w.pos, &answer));
    assert_int_equal(answer.count, 0);
}

static void test_more_records_than_kept(void **state)
{
    struct external_question question = {name_of("www.test."), A};
    struct external_answer answer;
    struct reply r;
    struct given rr = {"www.test.", A, "192.0.2.1", 60};
    (void)state;
    put_header(&r, OK_FLAGS, EXTERNAL_RRS_MAX + 5, "www.test.", A);
    for (unsigned i = 0; i < EXTERNAL_RRS_MAX + 5; i++) {
        put_rr(&r, &rr);
    }
    assert_false(r.w.failed);
    assert_true(external_read(&question, r.wire, r.w.pos, &answer));
    assert_int_equal(answer.count, EXTERNAL_RRS_MAX);
}

/* As long as resolvers follow; anything longer counts as a loop. */
static void test_long_chains(void **state)
{
    static const struct {
        unsigned aliases;
        size_t want;
    } rows[] = {{8, 9}, {16, 17}, {17, 0}, {25, 0}};
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const struct external_question question = {.name = name_of("c0.test."), .type = A};
        struct external_answer answer;
        struct reply reply;
        char owner[16] = "c0.test.", target[16];
        put_header(&reply, OK_FLAGS, (uint16_t)(rows[i].aliases + 1), "c0.test.", A);
        for (unsigned k = 1; k <= rows[i].aliases; k++) {
            (void)snprintf(target, sizeof(target), "c%u.test.", k);
            put_rr(&reply, &(struct given){owner, CNAME, target, 30});
            memcpy(owner, target, sizeof(owner));
        }
        put_rr(&reply, &(struct given){owner, A, "192.0.2.1", 30});
        assert_true(external_read(&question, reply.wire, reply.w.pos, &answer));
        assert_int_equal(answer.count, rows[i].want);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_long_chains),
        cmocka_unit_test(test_replies),
        cmocka_unit_test(test_another_question_is_refused),
        cmocka_unit_test(test_another_class_is_left_out),
        cmocka_unit_test(test_more_records_than_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
