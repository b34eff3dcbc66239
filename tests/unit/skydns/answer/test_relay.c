/* Nameservers' replies fitted to clients: sections, EDNS, size. */
#include "common/base/cursor.h"
#include "skydns/answer/relay.h"
#include "tests/support/unit_test.h"

enum { A = 1, OPT = 41, IN = 1, RR_LEN = 16, HEAD_LEN = 12 + 10 + 4, OPT_LEN = 11 };

static struct question relay_question_of(bool has_edns)
{
    return (struct question){
        .id = 0x1234,
        .recursion_desired = true,
        .name = {.len = 10, .wire = "\3WwW\4Test"},
        .type = A,
        .qclass = IN,
        .has_edns = has_edns,
        .dnssec_ok = has_edns,
    };
}

struct counts {
    uint16_t answers, authorities, additionals;
};

static void write_rrs(struct writer *w, unsigned count, uint8_t mark)
{
    for (unsigned i = 0; i < count; i++) {
        static const uint8_t rr[] = {0xc0, 12, 0, A, 0, IN, 0, 0, 0, 77, 0, 4, 192, 0, 2};
        writer_bytes(w, rr, sizeof(rr));
        writer_u8(w, mark);
    }
}

static void relay_write_opt(struct writer *w, uint8_t extended_rcode)
{
    const uint8_t opt[] = {0, 0, OPT, 0x10, 0, extended_rcode, 0, 0x80, 0, 0, 4, 0, 15, 0, 0};
    writer_bytes(w, opt, sizeof(opt));
}

/* `www.test. A` with this many records in each section, OPT after `opt_at` additional ones. */
static size_t relay_make_reply(uint8_t *wire, uint16_t flags, struct counts counts, int opt_at,
                               uint8_t extended_rcode)
{
    struct writer w = writer_of(wire, 4096);
    writer_u16(&w, 0x9999);
    writer_u16(&w, flags);
    writer_u16(&w, 1);
    writer_u16(&w, counts.answers);
    writer_u16(&w, counts.authorities);
    writer_u16(&w, (uint16_t)(counts.additionals + (opt_at >= 0)));
    writer_bytes(&w, "\3www\4test\0\0\1\0\1", 14);
    write_rrs(&w, counts.answers, 1);
    write_rrs(&w, counts.authorities, 2);
    unsigned before = opt_at < 0 ? counts.additionals : (unsigned)opt_at;
    write_rrs(&w, before, 3);
    if (opt_at >= 0) {
        relay_write_opt(&w, extended_rcode);
    }
    write_rrs(&w, counts.additionals - before, 3);
    assert_false(w.failed);
    return w.pos;
}

static struct counts counts_in(const uint8_t *reply)
{
    return (struct counts){(uint16_t)(reply[6] << 8 | reply[7]),
                           (uint16_t)(reply[8] << 8 | reply[9]),
                           (uint16_t)(reply[10] << 8 | reply[11])};
}

static struct parsed_response parsed; /* what relay_read_reply has read last */

static bool relay_read_reply(const struct question *q, const uint8_t *up, size_t len,
                             struct relay_parts *ret_parts)
{
    response_parse_fini(&parsed);
    response_parse(up, len, &parsed);
    return relay_read(q, &parsed, ret_parts);
}

static int forget_reply(void **state)
{
    response_parse_fini(&parsed);
    return 0;
}

UNIT_TESTS_ONCE(NULL, forget_reply)

/* The length; 0: it cannot be. */
static size_t relay_write_reply(const struct question *q, const struct relay_parts *parts,
                                size_t limit, uint8_t *reply)
{
    struct response response = {.bytes = reply};
    if (!relay_write(q, &parsed, parts, 1232, limit, &response)) {
        return 0;
    }
    assert_int_equal(response.opt_at > 0, q->has_edns);
    if (q->has_edns) {
        assert_memory_equal(reply + response.opt_at, "\0\0\x29", 3);
    }
    return response.len;
}

UNIT_TEST(test_sections)
{
    static const struct {
        const char *name;
        struct counts has;
        int opt_at;
        bool client_edns;
        size_t limit;
        struct counts want;
        bool want_tc;
    } rows[] = {
        {"all fits", {1, 2, 3}, -1, false, 512, {1, 2, 3}, false},
        {"theirs is left out", {1, 2, 3}, 3, false, 512, {1, 2, 3}, false},
        {"ours takes its place", {1, 2, 3}, 3, true, 512, {1, 2, 4}, false},
        {"ours without theirs", {1, 0, 0}, -1, true, 512, {1, 0, 1}, false},
        {"what is behind OPT goes with it", {1, 2, 3}, 1, false, 512, {1, 2, 1}, false},
        {"additional goes first", {20, 10, 1}, -1, false, 512, {20, 10, 0}, false},
        {"then authority", {25, 10, 10}, -1, false, 512, {25, 0, 0}, false},
        {"the last that fits", {30, 0, 0}, -1, false, HEAD_LEN + 30 * RR_LEN, {30, 0, 0}, false},
        {"one byte less", {30, 0, 0}, -1, false, HEAD_LEN + 30 * RR_LEN - 1, {29, 0, 0}, true},
        {"with OPT", {30, 0, 0}, -1, true, HEAD_LEN + 30 * RR_LEN + OPT_LEN, {30, 0, 1}, false},
        {"with OPT, one byte less",
         {30, 0, 0},
         -1,
         true,
         HEAD_LEN + 30 * RR_LEN + OPT_LEN - 1,
         {29, 0, 1},
         true},
        {"an authority without answer is the answer", {0, 40, 1}, -1, false, 512, {0, 0, 0}, true},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        uint8_t up[4096], reply[4096];
        struct relay_parts parts;
        struct question q = relay_question_of(rows[i].client_edns);
        size_t up_len = relay_make_reply(up, 0x8180, rows[i].has, rows[i].opt_at, 0);
        assert_true(relay_read_reply(&q, up, up_len, &parts));
        size_t len = relay_write_reply(&q, &parts, rows[i].limit, reply);
        struct counts got = counts_in(reply);
        size_t rrs =
            got.answers + got.authorities + got.additionals - (rows[i].client_edns ? 1 : 0);
        assert_that(memcmp(&got, &rows[i].want, sizeof(got)) == 0 &&
                        (reply[2] & 0x02) == (rows[i].want_tc ? 0x02 : 0) && len <= rows[i].limit &&
                        len == HEAD_LEN + rrs * RR_LEN + (rows[i].client_edns ? OPT_LEN : 0),
                    "%s: %u, %u, %u records, %zu bytes", rows[i].name, got.answers, got.authorities,
                    got.additionals, len);
        assert_memory_equal(reply, "\x12\x34", 2);
        assert_memory_equal(reply + 12, "\3WwW\4Test", 10);
        if (rows[i].client_edns) {
            assert_memory_equal(reply + len - OPT_LEN, "\0\0\x29\x04\xd0\0\0\x80\0\0\0", OPT_LEN);
        }
    }
}

/* AA is never passed on, RA is always set; TC and the rcode are the nameserver's, and so is AD for
 * those who understand it; RD and CD are the client's. */
UNIT_TEST(test_flags)
{
    static const struct {
        uint16_t given;
        uint16_t asked; /* RD, AD, CD */
        bool dnssec_ok;
        uint16_t want;
    } rows[] = {
        {0x87b3, 0x0000, false, 0x8283}, /* AA TC RD RA AD CD NXDOMAIN */
        {0x87b3, 0x0020, false, 0x82a3}, {0x87b3, 0x0000, true, 0x82a3},
        {0x87b3, 0x0130, false, 0x83b3}, {0x8433, 0x0000, false, 0x8083},
        {0x8433, 0x0010, false, 0x8093}, {0x8000, 0x0000, false, 0x8080},
        {0x8000, 0x0130, true, 0x8190},  {0x8005, 0x0000, false, 0x8085}, /* REFUSED */
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        uint8_t up[4096], reply[512];
        struct relay_parts parts;
        struct question q = relay_question_of(false);
        q.recursion_desired = (rows[i].asked & 0x0100) != 0;
        q.wants_authentic = (rows[i].asked & 0x0020) != 0;
        q.checking_disabled = (rows[i].asked & 0x0010) != 0;
        q.dnssec_ok = rows[i].dnssec_ok;
        size_t len = relay_make_reply(up, rows[i].given, (struct counts){0}, -1, 0);
        assert_true(relay_read_reply(&q, up, len, &parts));
        assert_int_equal(relay_write_reply(&q, &parts, 512, reply), HEAD_LEN);
        assert_int_equal(reply[2] << 8 | reply[3], rows[i].want);
    }
}

/* The upper bits of an rcode only fit where there is EDNS. */
UNIT_TEST(test_extended_rcode)
{
    uint8_t up[4096], reply[512];
    struct relay_parts parts;
    size_t up_len = relay_make_reply(up, 0x8187, (struct counts){0}, 0, 1); /* 23: BADCOOKIE */
    struct question q = relay_question_of(true);
    assert_true(relay_read_reply(&q, up, up_len, &parts));
    size_t len = relay_write_reply(&q, &parts, 512, reply);
    assert_int_equal(reply[3] & 0xf, 7);
    assert_int_equal(reply[len - 6], 1);
    q = relay_question_of(false);
    assert_true(relay_read_reply(&q, up, up_len, &parts));
    assert_int_equal(relay_write_reply(&q, &parts, 512, reply), 0);
}

/* The nameserver's client-subnet option goes to those who sent one, if it is as long as one can be;
 * no other option does. */
UNIT_TEST(test_subnet)
{
    static const uint8_t subnet[] = {0, 8, 0, 7, 0, 1, 24, 16, 10, 1, 2};
    static const uint8_t too_long[4 + 21] = {0, 8, 0, 21};
    const struct {
        const uint8_t *option;
        size_t len;
        bool is_asked, is_passed;
    } rows[] = {{subnet, sizeof(subnet), true, true},
                {subnet, sizeof(subnet), false, false},
                {too_long, sizeof(too_long), true, false},
                {subnet, sizeof(subnet) - 1, true, false}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        uint8_t up[4096], reply[1024];
        struct relay_parts parts;
        struct question q = relay_question_of(true);
        q.subnet_len = rows[i].is_asked ? sizeof(subnet) : 0;
        size_t len = relay_make_reply(up, 0x8180, (struct counts){1, 0, 0}, 0, 0);
        memcpy(up + len, rows[i].option, rows[i].len);
        up[len - 5] = (uint8_t)(4 + rows[i].len);
        len += rows[i].len;
        assert_true(relay_read_reply(&q, up, len, &parts));
        size_t reply_len = relay_write_reply(&q, &parts, 512, reply);
        size_t passed = rows[i].is_passed ? sizeof(subnet) : 0;
        assert_int_equal(reply_len, HEAD_LEN + RR_LEN + OPT_LEN + passed);
        assert_int_equal(reply[HEAD_LEN + RR_LEN + OPT_LEN - 1], passed);
        assert_memory_equal(reply + reply_len - passed, subnet, passed);
        size_t limit = HEAD_LEN + 30 * RR_LEN + OPT_LEN + passed;
        len = relay_make_reply(up, 0x8180, (struct counts){30, 0, 0}, -1, 0);
        assert_true(relay_read_reply(&q, up, len, &parts));
        assert_true(relay_write_reply(&q, &parts, limit, reply) <= limit);
    }
}

/* The next name of an NSEC is signed as it is spelled (RFC 6840 5.1): not as the client spells the
 * question. */
UNIT_TEST(test_signed_names)
{
    static const uint8_t rr[] = {0xc0, 12,  0,   47,  0, IN,  0,   0,   0,   77, 0, 15, 1,   'z',
                                 3,    'w', 'w', 'w', 4, 't', 'e', 's', 't', 0,  0, 1,  0x40};
    uint8_t up[4096], reply[512];
    struct relay_parts parts;
    struct question q = relay_question_of(false);
    size_t len = relay_make_reply(up, 0x8180, (struct counts){0, 0, 0}, -1, 0);
    memcpy(up + len, rr, sizeof(rr));
    up[9] = 1;
    assert_true(relay_read_reply(&q, up, len + sizeof(rr), &parts));
    assert_int_equal(relay_write_reply(&q, &parts, 512, reply), HEAD_LEN + sizeof(rr));
    assert_memory_equal(reply + HEAD_LEN, rr, sizeof(rr));
    assert_memory_equal(reply + DNS_HEADER_SIZE, "\3WwW\4Test", 10);
}

/* No prefix of a reply is accepted as a complete one. */
UNIT_TEST(test_cut_replies)
{
    uint8_t up[4096];
    struct relay_parts parts;
    struct question q = relay_question_of(false);
    size_t len = relay_make_reply(up, 0x8180, (struct counts){2, 1, 1}, 0, 0);
    assert_true(relay_read_reply(&q, up, len, &parts));
    for (size_t cut = 0; cut < len; cut++) {
        assert_false(relay_read_reply(&q, up, cut, &parts));
    }
}
