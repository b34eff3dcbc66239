/* Questions about names outside the domain: the query sent, and the records accepted from
 * replies. */
#include "common/base/addr.h"
#include "skydns/upstream/external.h"
#include "tests/support/from_text.h"
#include "tests/support/unit_test.h"

enum { A = 1, CNAME = 5, AAAA = 28, IN = 1, CH = 3 };

/* A record to put into a reply; rdata is an address or a name, by type. */
struct given {
    const char *owner;
    uint16_t type;
    const char *rdata;
    uint32_t ttl_s;
};

struct reply {
    uint8_t wire[65535];
    struct writer w;
};

static void external_put_name(struct reply *r, const char *text)
{
    struct dname name = dname_from(text);
    writer_bytes(&r->w, name.wire, name.len);
}

static void external_put_header(struct reply *r, uint16_t flags, uint16_t answers,
                                const char *qname, uint16_t qtype)
{
    r->w = writer_of(r->wire, sizeof(r->wire));
    writer_u16(&r->w, 7);
    writer_u16(&r->w, flags);
    writer_u16(&r->w, 1);
    writer_u16(&r->w, answers);
    writer_u32(&r->w, 0);
    external_put_name(r, qname);
    writer_u16(&r->w, qtype);
    writer_u16(&r->w, IN);
}

static void put_rr(struct reply *r, const struct given *rr)
{
    external_put_name(r, rr->owner);
    writer_u16(&r->w, rr->type);
    writer_u16(&r->w, IN);
    writer_u32(&r->w, rr->ttl_s);
    if (rr->type == CNAME) {
        struct dname target = dname_from(rr->rdata);
        writer_u16(&r->w, target.len);
        writer_bytes(&r->w, target.wire, target.len);
    } else {
        struct ip ip = {0};
        assert_true(ip_parse(slice_str(rr->rdata), &ip));
        writer_u16(&r->w, ip.family_bytes);
        writer_bytes(&r->w, ip.bytes, ip.family_bytes);
    }
}

/* The outcome that one response was reduced to. */
struct result {
    enum external_outcome outcome;
    struct external_answer answer;
    struct buf packed;
};

static void result_free(struct result *result)
{
    buf_fini(&result->packed);
}

static void external_read_bytes(struct result *ret, const struct external_question *question,
                                const uint8_t *wire, size_t len)
{
    buf_init(&ret->packed, EXTERNAL_PACKED_MAX);
    struct parsed_response response;
    response_parse(wire, len, &response);
    ret->outcome = external_read(question, &response, EXTERNAL_TTL_MAX_S, &ret->packed);
    response_parse_fini(&response);
    ret->answer = (struct external_answer){
        .question = *question, .outcome = ret->outcome, .records = buf_slice(&ret->packed)};
}

static void external_read_reply(struct result *ret, const struct external_question *question,
                                const struct reply *reply)
{
    assert_false(reply->w.failed);
    external_read_bytes(ret, question, reply->wire, reply->w.pos);
}

static const char *upstream_external_name_text(struct slice wire, char *out)
{
    struct dname name = {.len = (uint8_t)wire.len};
    memcpy(name.wire, wire.ptr, wire.len);
    return dname_to_text(&name, out);
}

/* Records as text: "owner ttl target-or-address; ...". */
static void external_describe(const struct external_answer *answer, char *out, size_t size)
{
    struct external_reader reader = external_answer_read(
        answer, slice_of(answer->question.name.wire, answer->question.name.len));
    struct external_rr rr;
    size_t n = 0;
    out[0] = '\0';
    while (external_answer_next(&reader, &rr)) {
        char owner[DNAME_TEXT_MAX], target[DNAME_TEXT_MAX], ip_text[INET6_ADDRSTRLEN];
        struct ip ip = {.family_bytes = rr.type == A ? 4 : 16};
        if (rr.type != CNAME) {
            assert_int_equal(rr.data.len, ip.family_bytes);
            memcpy(ip.bytes, rr.data.ptr, rr.data.len);
        }
        n += (size_t)snprintf(out + n, size - n, "%s%s %u %s", n ? "; " : "",
                              upstream_external_name_text(rr.owner, owner), rr.ttl_s,
                              rr.type == CNAME ? upstream_external_name_text(rr.data, target)
                                               : ip_format(&ip, ip_text));
    }
}

static size_t count_records(const struct external_answer *answer)
{
    struct external_reader reader = external_answer_read(answer, slice_of(NULL, 0));
    struct external_rr rr;
    size_t n = 0;
    while (external_answer_next(&reader, &rr)) {
        n++;
    }
    return n;
}

static const char *const outcomes[] = {
    [EXTERNAL_NOT_ASKED] = "not asked", [EXTERNAL_ANSWERED] = "answered",
    [EXTERNAL_DENIED] = "denied",       [EXTERNAL_TRUNCATED] = "truncated",
    [EXTERNAL_FAILED] = "failed",
};

enum {
    OK_FLAGS = 0x8180,
    SERVFAIL_FLAGS = 0x8182,
    NXDOMAIN_FLAGS = 0x8183,
    REFUSED_FLAGS = 0x8185,
    TC_FLAGS = 0x8380
};

UNIT_TEST(test_replies)
{
    static const struct {
        const char *name;
        uint16_t flags, qtype;
        struct given rrs[4];
        const char *want;
        enum external_outcome outcome;
    } rows[] = {
        {"two addresses",
         OK_FLAGS,
         A,
         {{"www.test.", A, "192.0.2.1", 60}, {"www.test.", A, "192.0.2.2", 61}},
         "www.test. 60 192.0.2.1; www.test. 61 192.0.2.2",
         EXTERNAL_ANSWERED},
        {"letter case does not matter, and the owner is spelled as asked",
         OK_FLAGS,
         A,
         {{"WWW.Test.", A, "192.0.2.1", 60}},
         "www.test. 60 192.0.2.1",
         EXTERNAL_ANSWERED},
        {"a chain",
         OK_FLAGS,
         AAAA,
         {{"www.test.", CNAME, "a.test.", 9},
          {"a.test.", CNAME, "b.test.", 8},
          {"b.test.", AAAA, "2001:db8::1", 7}},
         "www.test. 9 a.test.; a.test. 8 b.test.; b.test. 7 2001:db8::1",
         EXTERNAL_ANSWERED},
        {"a chain in any order",
         OK_FLAGS,
         A,
         {{"b.test.", A, "192.0.2.1", 7},
          {"a.test.", CNAME, "b.test.", 8},
          {"www.test.", CNAME, "a.test.", 9}},
         "www.test. 9 a.test.; a.test. 8 b.test.; b.test. 7 192.0.2.1",
         EXTERNAL_ANSWERED},
        {"a chain to nothing",
         OK_FLAGS,
         A,
         {{"www.test.", CNAME, "a.test.", 9}},
         "www.test. 9 a.test.",
         EXTERNAL_DENIED},
        {"a loop",
         OK_FLAGS,
         A,
         {{"www.test.", CNAME, "a.test.", 9}, {"a.test.", CNAME, "www.test.", 9}},
         "",
         EXTERNAL_FAILED},
        {"other people's records",
         OK_FLAGS,
         A,
         {{"evil.test.", A, "192.0.2.66", 60}, {"www.test.", AAAA, "2001:db8::1", 60}},
         "",
         EXTERNAL_DENIED},
        {"no data", OK_FLAGS, A, {{0}}, "", EXTERNAL_DENIED},
        {"a TTL with the top bit",
         OK_FLAGS,
         A,
         {{"www.test.", A, "192.0.2.1", 0x80000001}},
         "www.test. 0 192.0.2.1",
         EXTERNAL_ANSWERED},
        {"TTLs of an hour at most",
         OK_FLAGS,
         A,
         {{"www.test.", CNAME, "a.test.", 3601}, {"a.test.", A, "192.0.2.1", INT32_MAX}},
         "www.test. 3600 a.test.; a.test. 3600 192.0.2.1",
         EXTERNAL_ANSWERED},
        {"truncated: what there is",
         TC_FLAGS,
         A,
         {{"www.test.", A, "192.0.2.1", 60}},
         "www.test. 60 192.0.2.1",
         EXTERNAL_TRUNCATED},
        {"truncated: nothing", TC_FLAGS, A, {{0}}, "", EXTERNAL_TRUNCATED},
        {"no such name",
         NXDOMAIN_FLAGS,
         A,
         {{"www.test.", CNAME, "a.test.", 9}},
         "",
         EXTERNAL_DENIED},
        {"a failure", SERVFAIL_FLAGS, A, {{0}}, "", EXTERNAL_FAILED},
        {"a refusal", REFUSED_FLAGS, A, {{"www.test.", A, "192.0.2.1", 60}}, "", EXTERNAL_FAILED},
        {"a query, no reply", 0x0100, A, {{"www.test.", A, "192.0.2.1", 60}}, "", EXTERNAL_FAILED},
        {"an AAAA of four bytes",
         OK_FLAGS,
         AAAA,
         {{"www.test.", CNAME, "a.test.", 9}, {"a.test.", AAAA, "192.0.2.1", 60}},
         "",
         EXTERNAL_FAILED},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct external_question question = {dname_from("www.test."), rows[i].qtype};
        struct result result;
        static struct reply r;
        char got[4096];
        uint16_t count = 0;
        while (count < 4 && rows[i].rrs[count].owner) {
            count++;
        }
        external_put_header(&r, rows[i].flags, count, "www.test.", rows[i].qtype);
        for (uint16_t k = 0; k < count; k++) {
            put_rr(&r, &rows[i].rrs[k]);
        }
        external_read_reply(&result, &question, &r);
        external_describe(&result.answer, got, sizeof(got));
        assert_that(result.outcome == rows[i].outcome && strcmp(got, rows[i].want) == 0,
                    "%s: want %s `%s`, got %s `%s`", rows[i].name, outcomes[rows[i].outcome],
                    rows[i].want, outcomes[result.outcome], got);
        result_free(&result);
        /* A reply cut off anywhere is a failure. */
        for (size_t len = 0; len < r.w.pos; len++) {
            external_read_bytes(&result, &question, r.wire, len);
            assert_int_equal(result.outcome, EXTERNAL_FAILED);
            assert_int_equal(result.packed.len, 0);
            result_free(&result);
        }
    }
}

static enum external_outcome external_outcome_of(const struct external_question *question,
                                                 const struct reply *reply)
{
    struct result result;
    external_read_reply(&result, question, reply);
    assert_int_equal(count_records(&result.answer), 0);
    result_free(&result);
    return result.outcome;
}

UNIT_TEST(test_another_question_is_refused)
{
    struct external_question question = {dname_from("www.test."), A};
    CLEANUP(result_free) struct result result;
    static struct reply r;
    struct given rr = {"www.test.", A, "192.0.2.1", 60};
    external_put_header(&r, OK_FLAGS, 1, "xyz.test.", A);
    put_rr(&r, &rr);
    assert_int_equal(external_outcome_of(&question, &r), EXTERNAL_FAILED);
    external_put_header(&r, OK_FLAGS, 1, "www.test.", AAAA);
    put_rr(&r, &rr);
    assert_int_equal(external_outcome_of(&question, &r), EXTERNAL_FAILED);
    external_read_bytes(&result, &question, NULL, 0);
    assert_int_equal(result.outcome, EXTERNAL_FAILED);
}

UNIT_TEST(test_another_class_is_left_out)
{
    struct external_question question = {dname_from("www.test."), A};
    static struct reply r;
    struct given rr = {"www.test.", A, "192.0.2.1", 60};
    external_put_header(&r, OK_FLAGS, 1, "www.test.", A);
    size_t rr_at = r.w.pos;
    put_rr(&r, &rr);
    r.wire[rr_at + question.name.len + 3] = CH;
    assert_int_equal(external_outcome_of(&question, &r), EXTERNAL_DENIED);
}

/* Fills the message with records whose owners are pointers to the question. */
static uint16_t external_fill(struct reply *r, uint16_t qtype)
{
    size_t size = qtype == A ? 4 : 16;
    uint16_t count = (uint16_t)((sizeof(r->wire) - 12 - 10 - 4) / (12 + size));
    external_put_header(r, OK_FLAGS, count, "www.test.", qtype);
    for (unsigned i = 0; i < count; i++) {
        uint8_t address[16] = {0};
        memcpy(address, &i, sizeof(i));
        writer_u16(&r->w, 0xc00c);
        writer_u16(&r->w, qtype);
        writer_u16(&r->w, IN);
        writer_u32(&r->w, i);
        writer_u16(&r->w, (uint16_t)size);
        writer_bytes(&r->w, address, size);
    }
    return count;
}

/* The longest replies are kept whole; a second one is cut, and says so. */
UNIT_TEST(test_replies_of_64_KiB)
{
    static const uint16_t types[] = {A, AAAA};
    static struct reply r;
    for (size_t i = 0; i < ARRAY_LEN(types); i++) {
        struct external_question question = {dname_from("www.test."), types[i]};
        CLEANUP(result_free) struct result result;
        uint16_t count = external_fill(&r, types[i]);
        external_read_reply(&result, &question, &r);
        assert_int_equal(result.outcome, EXTERNAL_ANSWERED);
        assert_int_equal(count_records(&result.answer), count);
        assert_true(result.packed.len <= r.w.pos);
        size_t before = result.packed.len;
        struct parsed_response response;
        response_parse(r.wire, r.w.pos, &response);
        assert_int_equal(external_read(&question, &response, EXTERNAL_TTL_MAX_S, &result.packed),
                         EXTERNAL_TRUNCATED);
        response_parse_fini(&response);
        assert_in_range(result.packed.len, before, EXTERNAL_PACKED_MAX);
    }
}

/* Follows chains as long as resolvers do; anything longer counts as a loop. */
UNIT_TEST(test_long_chains)
{
    static const struct {
        unsigned aliases;
        enum external_outcome outcome;
        size_t want;
    } rows[] = {{8, EXTERNAL_ANSWERED, 9},
                {16, EXTERNAL_ANSWERED, 17},
                {17, EXTERNAL_FAILED, 0},
                {25, EXTERNAL_FAILED, 0}};
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const struct external_question question = {.name = dname_from("c0.test."), .type = A};
        CLEANUP(result_free) struct result result;
        static struct reply reply;
        char owner[16] = "c0.test.", target[16];
        external_put_header(&reply, OK_FLAGS, (uint16_t)(rows[i].aliases + 1), "c0.test.", A);
        for (unsigned k = 1; k <= rows[i].aliases; k++) {
            (void)snprintf(target, sizeof(target), "c%u.test.", k);
            put_rr(&reply, &(struct given){owner, CNAME, target, 30});
            memcpy(owner, target, sizeof(owner));
        }
        put_rr(&reply, &(struct given){owner, A, "192.0.2.1", 30});
        external_read_reply(&result, &question, &reply);
        assert_int_equal(result.outcome, rows[i].outcome);
        assert_int_equal(count_records(&result.answer), rows[i].want);
    }
}
