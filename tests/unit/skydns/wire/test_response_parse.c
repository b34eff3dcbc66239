/* The table of a response: where records lie in each section, where it ends when one is malformed,
 * and that counts which no message can hold cost nothing. fuzz_response_parse checks the rest. */
#include "common/base/cursor.h"
#include "common/dns/dns.h"
#include "skydns/wire/response_parse.h"
#include "tests/support/unit_test.h"

enum { RECORDS = 5, HEAD_LEN = 12 + 3 + 4 };

/* w. MX: an answer with a compressed name in its data, a SOA that is cut short, and behind an
 * address two OPT records. */
static const uint8_t message[] = {
    0,    1,   0x81, 0x83, 0,    1, 0, 1,    0, 1, 0, 3,                     /* header */
    1,    'w', 0,    0,    15,   0, 1,                                       /* question */
    0xc0, 12,  0,    15,   0,    1, 0, 0,    1, 0, 0, 4, 0, 10, 0xc0, 12,    /* MX */
    0,    0,   6,    0,    1,    0, 0, 0,    9, 0, 2, 0, 0,                  /* SOA */
    1,    'W', 0,    0,    1,    0, 1, 0x80, 0, 0, 0, 0, 4, 10, 0,    0,  1, /* A */
    0,    0,   41,   4,    0xd0, 1, 0, 0x80, 0, 0, 0,                        /* OPT */
    0,    0,   41,   4,    0xd0, 2, 0, 0,    0, 0, 0,                        /* another */
};

UNIT_TEST(test_a_table)
{
    static const struct response_rr want[RECORDS] = {
        {.owner_at = 19, .data_at = 31, .data_len = 4, .type = 15, .rr_class = 1, .ttl_s = 256},
        {.owner_at = 35, .data_at = 46, .data_len = 2, .type = 6, .rr_class = 1, .ttl_s = 9},
        {.owner_at = 48, .data_at = 61, .data_len = 4, .type = 1, .rr_class = 1, .ttl_s = 0},
        {.owner_at = 65, .data_at = 76, .type = 41, .rr_class = 1232, .ttl_s = 0x01008000},
        {.owner_at = 65, .data_at = 87, .type = 41, .rr_class = 1232, .ttl_s = 0x02000000},
    };
    CLEANUP(response_parse_fini) struct parsed_response p;
    response_parse(message, sizeof(message), &p);
    assert_true(p.head.is_readable && p.is_whole);
    assert_int_equal(p.head.flags, 0x8183);
    assert_int_equal(p.head.records_at, HEAD_LEN);
    assert_int_equal(p.count, RECORDS);
    for (size_t i = 0; i < RECORDS; i++) {
        assert_int_equal(p.rrs[i].owner_at, want[i].owner_at);
        assert_int_equal(p.rrs[i].data_at, want[i].data_at);
        assert_int_equal(p.rrs[i].data_len, want[i].data_len);
        assert_int_equal(p.rrs[i].type, want[i].type);
        assert_int_equal(p.rrs[i].rr_class, want[i].rr_class);
        assert_int_equal(p.rrs[i].ttl_s, want[i].ttl_s);
    }
    assert_ptr_equal(p.opt, &p.rrs[3]);
    for (unsigned section = 0; section < RESPONSE_SECTIONS; section++) {
        static const struct response_span spans[] = {{0, 1}, {1, 2}, {2, 5}};
        static const size_t ends[] = {35, 48, 87};
        struct response_span span = response_section_span(&p, section);
        assert_memory_equal(&span, &spans[section], sizeof(span));
        assert_int_equal(response_span_end(&p, span), ends[section]);
    }
    assert_int_equal(response_rr_extended_rcode(&p, p.opt), 1);
    assert_int_equal(response_rr_extended_rcode(&p, &p.rrs[4]), 2);
}

UNIT_TEST(test_names)
{
    const struct dname w = {.len = 3, .wire = "\1w"}, x = {.len = 3, .wire = "\1x"};
    CLEANUP(response_parse_fini) struct parsed_response p;
    struct dname name;
    size_t end = 0;
    response_parse(message, sizeof(message), &p);
    assert_true(response_rr_name(&p, &p.rrs[0], 2, &name, &end));
    assert_true(dname_equal(&name, &w));
    assert_int_equal(end, 35);
    assert_false(response_rr_name(&p, &p.rrs[0], 3, &name, NULL)); /* half a pointer */
    assert_false(response_rr_name(&p, &p.rrs[0], 4, &name, NULL));
    assert_false(response_rr_name(&p, &p.rrs[0], 5, &name, NULL));
    assert_int_equal(p.rrs[0].owner_hash, response_name_hash(&w));
    assert_int_equal(p.rrs[2].owner_hash, response_name_hash(&w)); /* W. */
    struct response_name of_w = response_name_of(&w), of_x = of_w;
    of_x.name = x;
    assert_true(response_rr_is_of(&p, &p.rrs[2], &of_w));
    assert_false(response_rr_is_of(&p, &p.rrs[2], &of_x));
    assert_true(response_head_asks(&p.head, &w, DNS_TYPE_MX, DNS_CLASS_IN));
    assert_false(response_head_asks(&p.head, &x, DNS_TYPE_MX, DNS_CLASS_IN));
    assert_false(response_head_asks(&p.head, &w, DNS_TYPE_A, DNS_CLASS_IN));
    assert_false(response_head_asks(&p.head, &w, DNS_TYPE_MX, DNS_CLASS_CH));
}

/* Records of one name in a row share where it is read, however each has it. */
UNIT_TEST(test_owners_in_a_row)
{
    enum { RECORD_REST = 10, OWNERS = 8 };
    static const struct {
        const char *owner;
        size_t len, same_as;
    } owners[OWNERS] = {
        {"\xc0\x0c", 2, 0}, {"\xc0\x0c", 2, 0}, {"\1w", 3, 0},      {"\1W", 3, 0},
        {"\xc0\x0c", 2, 0}, {"\1x", 3, 5},      {"\xc0\x0c", 2, 6}, {"\xc0\x0c", 2, 6},
    };
    uint8_t bytes[256] = {[2] = 0x80, [5] = 1, [7] = OWNERS, [12] = 1, 'w', 0, 0, 1, 0, 1};
    size_t len = 19, at[OWNERS];
    for (size_t i = 0; i < OWNERS; i++) {
        at[i] = len;
        memcpy(bytes + len, owners[i].owner, owners[i].len);
        bytes[len + owners[i].len + 1] = DNS_TYPE_TXT;
        len += owners[i].len + RECORD_REST;
    }
    struct parsed_response p;
    response_parse(bytes, len, &p);
    assert_true(p.is_whole);
    for (size_t i = 0; i < OWNERS; i++) {
        const struct dname owner = response_rr_owner(&p, &p.rrs[i]);
        struct dname want = {.len = 3};
        memcpy(want.wire, i == 5 ? "\1x" : "\1w", 3);
        assert_int_equal(p.rrs[i].owner_at, at[owners[i].same_as]);
        assert_true(dname_equal(&owner, &want));
        assert_int_equal(p.rrs[i].owner_hash, response_name_hash(&want));
    }
    response_parse_fini(&p);
}

/* The records before the cut are there, and no prefix is whole. */
UNIT_TEST(test_prefixes)
{
    static const size_t ends[RECORDS] = {35, 48, 65, 76, 87};
    for (size_t len = 0; len < sizeof(message); len++) {
        CLEANUP(response_parse_fini) struct parsed_response p;
        size_t want = 0;
        response_parse(message, len, &p);
        while (want < RECORDS && ends[want] <= len) {
            want++;
        }
        assert_int_equal(p.head.is_readable, len >= HEAD_LEN);
        assert_int_equal(p.count, want);
        assert_false(p.is_whole);
        struct response_span additional = response_section_span(&p, RESPONSE_ADDITIONAL);
        assert_int_equal(additional.to, want);
        assert_int_equal(additional.from, want < 2 ? want : 2);
    }
}

UNIT_TEST(test_heads)
{
    static const uint8_t bare[] = {0, 1, 0x80, 5, 0, 0, 0, 0, 0, 0, 0, 0};
    uint8_t changed[sizeof(message)];
    struct parsed_response p;
    response_parse(bare, sizeof(bare), &p); /* REFUSED, and nothing else */
    assert_true(p.head.is_readable && p.is_whole && p.count == 0 && p.head.name.len == 0);
    assert_int_equal(response_span_end(&p, response_section_span(&p, RESPONSE_ADDITIONAL)), 12);
    assert_false(response_head_asks(&p.head, &(struct dname){.len = 1}, 0, 0));
    response_parse_fini(&p);
    memcpy(changed, message, sizeof(message));
    changed[5] = 2; /* questions */
    response_parse(changed, sizeof(changed), &p);
    assert_true(!p.head.is_readable && !p.is_whole && p.count == 0 && p.head.flags == 0x8183);
    response_parse_fini(&p);
    memcpy(changed, message, sizeof(message));
    changed[6] = changed[8] = changed[10] = 0xff; /* counts */
    response_parse(changed, sizeof(changed), &p);
    assert_true(p.head.is_readable && !p.is_whole && p.count == RECORDS && !p.opt);
    response_parse_fini(&p);
}
