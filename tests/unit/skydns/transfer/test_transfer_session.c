/* A transfer from its query to its messages: skydns/transfer/transfer_message_internal.h,
 * transfer_session_internal.h and transfer_message_internal.h, read back by transfer_decode.h. */
#include "skydns/transfer/transfer_session_internal.h"
#include "skydns/transfer/zone_names_internal.h"
#include "tests/support/from_text.h"
#include "tests/support/skydns/fixture.h"
#include "tests/support/unit_test.h"
#include "tests/unit/skydns/transfer/transfer_decode.h"

enum { SERIAL = 77, SERVICES = 1500, TTL_S = 3600 };

static const struct fixture_key keys[] = {
    {"local/cluster/svc/default/web/a", "{'host':'10.0.0.1'}"},
    {"local/cluster/svc/default/web/b", "{'host':'fd00::1'}"},
    {"local/cluster/svc/default/web/_http/_tcp/a",
     "{'host':'a.web.default.svc.cluster.local','port':80}"},
    {"local/cluster/svc/default/alias", "{'host':'WWW.Example.com'}"},
    {"local/cluster/odd/mail", "{'host':'10.0.0.2','mail':true,'text':'some text'}"},
};

static struct fixture *fixture;
static struct zone_answers *answers;
static struct dname apex;

static int transfer_session_setup(void **state)
{
    fixture = fixture_new(keys, sizeof(keys) / sizeof(keys[0]));
    fixture->config.settings.schema = ENGINE_SCHEMA_KUBERNETES;
    apex = dname_from("cluster.local.");
    answers = zone_answers_new(&fixture->config);
    return 0;
}

static int transfer_session_teardown(void **state)
{
    zone_answers_free(answers);
    fixture_free(fixture);
    return 0;
}

UNIT_TESTS_EACH(transfer_session_setup, transfer_session_teardown)

/* ---- Queries ---- */

struct wire {
    uint8_t bytes[512];
    size_t len;
};

/* Sections and SOA of an IXFR as asked for; type and zone as given. */
static struct wire query_wire(const char *zone, uint16_t type, bool has_soa, bool has_edns)
{
    struct wire wire = {.len = 0};
    struct writer w = writer_of(wire.bytes, sizeof(wire.bytes));
    struct dname name = dname_from(zone);
    writer_u16(&w, 4711);
    writer_u16(&w, 0);
    writer_u16(&w, 1);
    writer_u16(&w, 0);
    writer_u16(&w, has_soa);
    writer_u16(&w, has_edns);
    writer_bytes(&w, name.wire, name.len);
    writer_u16(&w, type);
    writer_u16(&w, 1);
    if (has_soa) {
        writer_u16(&w, 0xc00c);
        writer_u16(&w, 6);
        writer_u16(&w, 1);
        writer_u32(&w, 0);
        writer_u16(&w, 22);
        writer_u8(&w, 0);
        writer_u8(&w, 0);
        writer_u32(&w, 70);
        for (int i = 0; i < 4; i++) {
            writer_u32(&w, 1);
        }
    }
    if (has_edns) {
        edns_append_opt(&w, 4096, 0, false);
    }
    assert_false(w.failed);
    wire.len = w.pos;
    return wire;
}

static struct transfer_query transfer_session_parse(const struct wire *wire)
{
    struct transfer_query query;
    assert_true(transfer_query_parse(wire->bytes, wire->len, &query));
    return query;
}

UNIT_TEST(test_queries)
{
    struct wire axfr = query_wire("Cluster.Local.", 252, false, true);
    struct wire ixfr = query_wire("cluster.local.", 251, true, false);
    struct transfer_query query = transfer_session_parse(&axfr);
    assert_int_equal(query.id, 4711);
    assert_true(query.has_edns && !query.is_incremental && !query.recursion_desired);
    assert_memory_equal(query.zone.wire, "\7Cluster\5Local", 15);
    query = transfer_session_parse(&ixfr);
    assert_true(query.is_incremental && !query.has_edns);
    assert_int_equal(query.serial, 70);
}

UNIT_TEST(test_malformed_queries)
{
    struct transfer_query query;
    struct wire other = query_wire("cluster.local.", 1, false, false);
    struct wire no_soa = query_wire("cluster.local.", 251, false, false);
    struct wire whole = query_wire("cluster.local.", 251, true, false);
    assert_false(transfer_query_parse(other.bytes, other.len, &query));
    assert_false(transfer_query_parse(no_soa.bytes, no_soa.len, &query));
    for (size_t len = 0; len + 16 < whole.len; len++) { /* up to the serial's end */
        assert_false(transfer_query_parse(whole.bytes, len, &query));
    }
    struct wire bad = whole;
    bad.bytes[31] = 0x0d; /* a pointer to another name */
    assert_false(transfer_query_parse(bad.bytes, bad.len, &query));
    bad = whole;
    bad.bytes[33] = 2; /* NS */
    assert_false(transfer_query_parse(bad.bytes, bad.len, &query));
}

/* ---- Sessions ---- */

static struct transfer_ask ask_of(enum transfer_kind kind, const struct transfer_query *query)
{
    return (struct transfer_ask){.kind = kind,
                                 .query = query,
                                 .config = &fixture->config,
                                 .apex = &apex,
                                 .serial = SERIAL,
                                 .local = {.family_bytes = 4, .bytes = {10, 9, 8, 7}},
                                 .answers = answers,
                                 .store = fixture->store};
}

static void transfer_session_run(const struct transfer_ask *ask, size_t cap, struct decoded *ret)
{
    static uint8_t out[65535];
    struct transfer_session *session = transfer_session_new(ask);
    enum transfer_progress progress = TRANSFER_MORE;
    decoded_init(ret);
    while (progress == TRANSFER_MORE) {
        size_t len;
        progress = transfer_session_next(session, out, cap, &len);
        assert_true(progress != TRANSFER_FAILED && len <= cap);
        decode_message(ret, out, len);
    }
    assert_int_equal(transfer_session_records(session), ret->all.count);
    transfer_session_free(session);
}

/* Lists the zone's records, with the name server at this address; sorted. */
static void expected_zone(struct zone_rrs *out)
{
    struct zone_names at;
    struct dname name;
    struct zone_rrs of_name;
    zone_rrs_init(out);
    zone_rrs_init(&of_name);
    zone_names_begin(&at, &apex);
    while (zone_names_next(&at, &fixture->config, fixture->store, &name)) {
        assert_true(zone_answers_of(answers, fixture->store, &name, &of_name));
        for (size_t i = 0; i < of_name.count; i++) {
            struct slice bytes = zone_rrs_get(&of_name, i);
            struct reader r = reader_of(bytes.ptr, bytes.len);
            struct zone_rr rr;
            assert_true(zone_rr_read(&r, &rr));
            if (rr.type == 1 && rr.data.len == 0) {
                rr.data = slice_of("\x0a\x09\x08\x07", 4);
            }
            zone_rrs_add(out, &rr);
        }
    }
    zone_rrs_fini(&of_name);
    zone_rrs_sort(out);
}

/* SOA first and last, and all else between them. */
static void expect_whole(struct decoded *d)
{
    CLEANUP(zone_rrs_fini) struct zone_rrs zone;
    size_t count = d->all.count;
    assert_int_equal(d->soa_serials.len, 8);
    assert_int_equal(decoded_serial(d, 0), SERIAL);
    assert_int_equal(decoded_serial(d, 1), SERIAL);
    assert_true(slice_equal(zone_rrs_get(&d->all, 0), zone_rrs_get(&d->all, count - 1)));
    memmove(d->all.starts, d->all.starts + 1, (count - 2) * sizeof(*d->all.starts));
    d->all.count = count - 2;
    expected_zone(&zone);
    zone_rrs_sort(&d->all);
    assert_int_equal(d->all.count, count - 2); /* none twice */
    assert_int_equal(d->all.count, zone.count);
    for (size_t i = 0; i < zone.count; i++) {
        assert_true(slice_equal(zone_rrs_get(&zone, i), zone_rrs_get(&d->all, i)));
    }
}

UNIT_TEST(test_whole_zone)
{
    struct wire wire = query_wire("Cluster.local.", 252, false, true);
    const struct transfer_query query = transfer_session_parse(&wire);
    const struct transfer_ask ask = ask_of(TRANSFER_WHOLE, &query);
    CLEANUP(decoded_fini) struct decoded d;
    transfer_session_run(&ask, 65535, &d);
    assert_int_equal(d.messages, 1);
    assert_int_equal(d.questions, 1);
    assert_int_equal(d.opts, 1);
    assert_true(d.all.count > 9);
    expect_whole(&d);
}

/* The question and OPT are in the first alone. */
UNIT_TEST(test_many_messages)
{
    static const size_t caps[] = {65535, 512, 20000};
    struct wire wire = query_wire("cluster.local.", 252, false, true);
    const struct transfer_query query = transfer_session_parse(&wire);
    for (unsigned i = 0; i < SERVICES; i++) {
        CLEANUP_FREE char *key = xasprintf("local/cluster/svc/default/s%u/0123456789abcdef", i);
        CLEANUP_FREE char *value = xasprintf("{'host':'10.%u.%u.1'}", i / 256, i % 256);
        const struct fixture_key one = {key, value};
        fixture_put(fixture, &one, 1);
    }
    for (size_t i = 0; i < sizeof(caps) / sizeof(caps[0]); i++) {
        const struct transfer_ask ask = ask_of(TRANSFER_WHOLE, &query);
        CLEANUP(decoded_fini) struct decoded d;
        transfer_session_run(&ask, caps[i], &d);
        assert_true(d.messages > 1);
        assert_int_equal(d.questions, 1);
        assert_int_equal(d.opts, 1);
        expect_whole(&d);
    }
}

UNIT_TEST(test_soa_alone)
{
    struct wire wire = query_wire("cluster.local.", 251, true, false);
    const struct transfer_query query = transfer_session_parse(&wire);
    const struct transfer_ask ask = ask_of(TRANSFER_SOA, &query);
    CLEANUP(decoded_fini) struct decoded d;
    transfer_session_run(&ask, 512, &d);
    assert_int_equal(d.all.count, 1);
    assert_int_equal(decoded_serial(&d, 0), SERIAL);
}

/* A zone that lacks records fails, rather than being given without them. */
UNIT_TEST(test_incomplete_zone)
{
    static uint8_t out[65535];
    struct wire wire = query_wire("cluster.local.", 252, false, false);
    const struct transfer_query query = transfer_session_parse(&wire);
    const struct transfer_ask ask = ask_of(TRANSFER_WHOLE, &query);
    struct transfer_session *session = transfer_session_new(&ask);
    size_t len;
    fixture->config.zones[0].is_incomplete = true;
    assert_int_equal(transfer_session_next(session, out, sizeof(out), &len), TRANSFER_FAILED);
    transfer_session_free(session);
}

/* ---- Steps ---- */

static struct slice transfer_session_address(struct zone_rrs *rrs, uint8_t last)
{
    const struct dname name = dname_from("x.default.svc.cluster.local.");
    const uint8_t ip[4] = {10, 1, 1, last};
    zone_rrs_clear(rrs);
    zone_rrs_add(rrs, &(struct zone_rr){.owner = slice_of(name.wire, name.len),
                                        .type = 1,
                                        .ttl_s = TTL_S,
                                        .data = slice_of(ip, sizeof(ip))});
    return buf_slice(&rrs->bytes);
}

/* RFC 1995, 4: the new SOA, then old SOA, removed, new SOA, added for each step, and the new SOA.
 * What comes after the session began is no part of it. */
UNIT_TEST(test_steps)
{
    static const uint32_t serials[] = {77, 70, 75, 75, 77, 77};
    struct wire wire = query_wire("cluster.local.", 251, true, false);
    const struct transfer_query query = transfer_session_parse(&wire);
    struct transfer_ask ask = ask_of(TRANSFER_STEPS, &query);
    struct journal_bytes account = {.limit = 1 << 20};
    struct journal journal;
    struct zone_rrs before, after;
    struct decoded d;
    zone_rrs_init(&before);
    zone_rrs_init(&after);
    journal_init(&journal, &account, 69);
    journal_append(&journal, 70, slice_of(NULL, 0), transfer_session_address(&after, 1));
    journal_append(&journal, 75, transfer_session_address(&before, 1),
                   transfer_session_address(&after, 2));
    journal_append(&journal, 77, transfer_session_address(&before, 2), slice_of(NULL, 0));
    assert_int_equal(journal_find(&journal, query.serial, &ask.steps), JOURNAL_FOUND);
    journal_append(&journal, 80, slice_of(NULL, 0), transfer_session_address(&after, 9));
    journal_fini(&journal);
    transfer_session_run(&ask, 65535, &d);
    assert_int_equal(d.soa_serials.len / 4, sizeof(serials) / sizeof(serials[0]));
    for (size_t i = 0; i < sizeof(serials) / sizeof(serials[0]); i++) {
        assert_int_equal(decoded_serial(&d, i), serials[i]);
    }
    assert_int_equal(d.all.count, 9);
    assert_true(slice_equal(zone_rrs_get(&d.all, 2), transfer_session_address(&before, 1)));
    assert_true(slice_equal(zone_rrs_get(&d.all, 4), transfer_session_address(&before, 2)));
    assert_true(slice_equal(zone_rrs_get(&d.all, 6), transfer_session_address(&before, 2)));
    assert_int_equal(account.all, 0);
    decoded_fini(&d);
    zone_rrs_fini(&before);
    zone_rrs_fini(&after);
}
