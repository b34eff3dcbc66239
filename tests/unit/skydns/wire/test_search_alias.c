/* Responses behind the CNAME of a search list, from each writer of records: names in data, far
 * names, the CNAME's TTL. fuzz_relay and fuzz_cache_image compare those of any response;
 * test_path_model and test_autopath.py have the fast path's. */
#include "common/base/cursor.h"
#include "common/dns/dns.h"
#include "skydns/answer/relay.h"
#include "skydns/external/cache_image.h"
#include "skydns/wire/encode.h"
#include "tests/support/skydns/behind_alias.h"
#include "tests/support/skydns/hash_seed.h"
#include "tests/support/skydns/response_bytes.h"
#include "tests/support/unit_test.h"

static const struct slice asked = {BEHIND_ALIAS_NAME, sizeof(BEHIND_ALIAS_NAME)};

/* ---- A nameserver's response to w. ---- */

static uint8_t wire[DNS_MESSAGE_MAX];
static struct writer w;
static struct question question;

static void search_alias_begin(uint16_t type)
{
    question = (struct question){
        .name = {.len = 3, .wire = "\1w"}, .type = type, .qclass = DNS_CLASS_IN, .id = 1};
    w = writer_of(wire, sizeof(wire));
    memset(wire, 0, DNS_HEADER_SIZE);
    wire[1] = 1;
    wire[2] = 0x81;
    wire[3] = 0x80;
    wire[5] = 1;
    w.pos = DNS_HEADER_SIZE;
    writer_bytes(&w, question.name.wire, question.name.len);
    writer_u16(&w, type);
    writer_u16(&w, DNS_CLASS_IN);
}

/* A record of w., in a section. */
static void search_alias_add(enum response_section section, uint16_t type, uint32_t ttl_s,
                             const void *data, size_t len)
{
    wire[7 + 2 * section]++;
    writer_u16(&w, 0xc00c);
    writer_u16(&w, type);
    writer_u16(&w, DNS_CLASS_IN);
    writer_u32(&w, ttl_s);
    writer_u16(&w, (uint16_t)len);
    writer_bytes(&w, data, len);
    assert_false(w.failed);
}

/* ---- Both ways ---- */

static uint8_t plain_bytes[DNS_MESSAGE_MAX], alias_bytes[DNS_MESSAGE_MAX];

static struct slice search_alias_relayed(const struct parsed_response *upstream, struct slice of,
                                         uint8_t *bytes)
{
    struct relay_parts parts;
    struct response response = {.bytes = bytes, .asked = of};
    assert_true(relay_read(&question, upstream, &parts));
    assert_true(relay_write(&question, upstream, &parts, 1232, DNS_MESSAGE_MAX, &response));
    assert_int_equal(response.name_len, of.len ? of.len : question.name.len);
    return slice_of(bytes, response.len);
}

/* Does what cache_access does. */
static struct slice search_alias_cached(const struct parsed_response *upstream, struct slice of,
                                        uint8_t *bytes)
{
    const struct cache_key key = {
        .name = question.name, .type = question.type, .qclass = DNS_CLASS_IN};
    const struct response_start start = response_start_of(of, key.name.len);
    struct cache_hit hit;
    assert_int_equal(cached_first(&key, upstream, 3600, 0, bytes + start.records_at,
                                  CACHED_IMAGE_MAX - 100, &hit),
                     CACHE_HIT);
    memcpy(bytes, wire, DNS_HEADER_SIZE);
    if (of.len == 0) {
        memcpy(bytes + start.name_at, wire + start.name_at, start.records_at - start.name_at);
    } else {
        search_alias_write(bytes, of, slice_of(key.name.wire, key.name.len), key.type, key.qclass);
        search_alias_set_ttl(bytes, of, hit.left_s);
        cached_records_move(bytes + start.records_at, hit.shown_len, key.name.len, &start);
    }
    bytes[7] = (uint8_t)(hit.shown_answers + (of.len > 0));
    bytes[9] = (uint8_t)hit.shown_authorities;
    bytes[11] = 0;
    return slice_of(bytes, start.records_at + hit.shown_len);
}

enum way { RELAYED, CACHED };

static uint32_t alias_ttl_of(enum way way)
{
    struct parsed_response upstream;
    response_parse(wire, w.pos, &upstream);
    struct slice (*make)(const struct parsed_response *, struct slice, uint8_t *) =
        way == CACHED ? search_alias_cached : search_alias_relayed;
    const struct slice plain = make(&upstream, slice_of(NULL, 0), plain_bytes);
    const struct slice aliased = make(&upstream, asked, alias_bytes);
    response_parse_fini(&upstream);
    assert_true(aliased.len - asked.len - SEARCH_ALIAS_HEAD >= plain.len);
    return behind_alias_check(plain, aliased);
}

static const uint8_t soa[] = {0, 0, [21] = 60};

UNIT_TESTS_ONCE(hash_seed, NULL)

UNIT_TEST(ttls)
{
    for (unsigned way = RELAYED; way <= CACHED; way++) {
        search_alias_begin(DNS_TYPE_A);
        search_alias_add(RESPONSE_ANSWER, DNS_TYPE_A, 30, "\1\2\3\4", 4);
        search_alias_add(RESPONSE_ANSWER, DNS_TYPE_A, 20, "\1\2\3\5", 4);
        search_alias_add(RESPONSE_ADDITIONAL, DNS_TYPE_A, 10, "\1\2\3\6", 4); /* does not count */
        assert_int_equal(alias_ttl_of((enum way)way), 20);
        search_alias_begin(DNS_TYPE_A);
        search_alias_add(RESPONSE_AUTHORITY, DNS_TYPE_SOA, 90, soa, sizeof(soa));
        assert_int_equal(alias_ttl_of((enum way)way), 60);
        search_alias_begin(DNS_TYPE_A);
        search_alias_add(RESPONSE_AUTHORITY, DNS_TYPE_SOA, 50, soa, sizeof(soa));
        assert_int_equal(alias_ttl_of((enum way)way), 50);
    }
    search_alias_begin(DNS_TYPE_A);
    assert_int_equal(alias_ttl_of(RELAYED), 0);
    search_alias_begin(DNS_TYPE_A);
    search_alias_add(RESPONSE_ANSWER, DNS_TYPE_A, 0x80000000, "\1\2\3\4",
                     4); /* RFC 2181 8: that is 0 */
    assert_int_equal(alias_ttl_of(RELAYED), 0);
}

/* Pointers into the question, to the data of earlier records, and bytes that look like one. */
UNIT_TEST(names_in_data)
{
    search_alias_begin(DNS_TYPE_ANY);
    search_alias_add(RESPONSE_ANSWER, DNS_TYPE_NS, 9, "\1a\xc0\x0c", 4);
    search_alias_add(RESPONSE_ANSWER, DNS_TYPE_MX, 9, "\0\5\1b\xc0\x1f", 6); /* the name server's */
    search_alias_add(RESPONSE_ANSWER, DNS_TYPE_PTR, 9, "\xc0\x1f", 2);
    search_alias_add(RESPONSE_ANSWER, DNS_TYPE_SRV, 9, "\0\1\0\2\0\3\1c\0", 9);
    search_alias_add(RESPONSE_ANSWER, DNS_TYPE_TXT, 9, "\2\xc0\x0c", 3);
    assert_int_equal(alias_ttl_of(RELAYED), 9);
    assert_int_equal(alias_ttl_of(CACHED), 9);
    assert_memory_equal(alias_bytes + DNS_HEADER_SIZE, asked.ptr, asked.len);
}

/* Pointers have 14 bits: names that the CNAME would move out of their reach are written again. */
UNIT_TEST(far_names)
{
    static const uint8_t padding[DNS_POINTER_MAX];
    for (unsigned before = 0; before < 400; before += 7) {
        search_alias_begin(DNS_TYPE_ANY);
        search_alias_add(RESPONSE_ANSWER, DNS_TYPE_TXT, 9, padding, sizeof(padding) - before);
        const unsigned at = (unsigned)w.pos + 12;
        search_alias_add(RESPONSE_ANSWER, DNS_TYPE_NS, 9, "\5label", 7);
        const uint8_t pointer[] = {(uint8_t)(0xc0 | at >> 8), (uint8_t)at};
        if (at <= DNS_POINTER_MAX) {
            search_alias_add(RESPONSE_ANSWER, DNS_TYPE_NS, 9, pointer, sizeof(pointer));
        }
        assert_int_equal(alias_ttl_of(RELAYED), 9);
        assert_int_equal(alias_ttl_of(CACHED), 9);
    }
}

/* ---- A plan ---- */

static struct slice search_alias_encoded(struct encoder *encoder, const struct answer_plan *plan,
                                         struct slice of, uint8_t *bytes)
{
    struct response response = {.bytes = bytes, .asked = of};
    encode_plan(encoder, &question, plan, DNS_UDP_SIZE, &response);
    assert_int_equal(response.name_len, of.len ? of.len : question.name.len);
    return slice_of(bytes, response.len);
}

UNIT_TEST(plans)
{
    static const struct dname target = {.len = 5, .wire = "\1t\1w"};
    struct encoder *encoder = encoder_new(1232);
    struct answer_plan plan = {.error = EDNS_ERROR_NONE, .rr_class = DNS_CLASS_IN};
    search_alias_begin(DNS_TYPE_A);
    rr_list_init(&plan.answers);
    const struct rr records[] = {
        {.owner = rr_name(&question.name), .type = RR_CNAME, .ttl_s = 7, .data = rr_name(&target)},
        {.owner = rr_name(&target), .type = RR_A, .ttl_s = 5, .data = slice_of("\1\2\3\4", 4)},
    };
    for (size_t i = 0; i < sizeof(records) / sizeof(records[0]); i++) {
        rr_list_add(&plan.answers, &records[i]);
    }
    assert_int_equal(
        behind_alias_check(search_alias_encoded(encoder, &plan, slice_of(NULL, 0), plain_bytes),
                           search_alias_encoded(encoder, &plan, asked, alias_bytes)),
        5);
    plan.answers.count = 0;
    plan.authority_count = 1;
    plan.authorities[0] =
        (struct rr){.owner = rr_name(&question.name), .type = RR_SOA, .ttl_s = 60};
    plan.soa =
        (struct answer_soa){.mname = rr_name(&target), .rname = rr_name(&target), .minimum_s = 40};
    assert_int_equal(
        behind_alias_check(search_alias_encoded(encoder, &plan, slice_of(NULL, 0), plain_bytes),
                           search_alias_encoded(encoder, &plan, asked, alias_bytes)),
        40);
    rr_list_fini(&plan.answers);
    encoder_free(encoder);
}
