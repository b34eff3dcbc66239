/* Signed queries at the engine: the reply is that to the same query without a signature, and a TSIG
 * record behind it. What its MAC is worth, test_tsig and the programs of test_signed_queries.py
 * say. */
#include "common/dns/dns.h"
#include "signed_queries.h"
#include "skydns/tsig/tsig_keys.h"
#include "tests/support/skydns/fixture.h"
#include "tests/support/skydns/owned.h"
#include "tests/support/skydns/response_bytes.h"
#include "tests/support/unit_test.h"

#define SECRET "AQIDBAUGBwgJCgsMDQ4PEBESExQVFhcYGRobHB0eHyA="

/* Name, fixed fields, algorithm, timers, MAC, ID, error, other data. */
enum { RECORD_SIZE = 9 + 10 + 13 + 8 + 2 + 32 + 6, MAC_SIZE = 32, OTHER_SIZE = 6 };

static const struct fixture_key keys[] = {
    {"local/cluster/default/web", "{'host':'10.0.0.1','ttl':30}"},
};

static void engine_tsig_use_keys(struct fixture *f, const char *text)
{
    struct err err;
    tsig_keys_unref(f->config.tsig);
    f->config.tsig = NULL;
    assert_int_equal(tsig_keys_parse(slice_str(text), &f->config.tsig, &err), 0);
}

static int engine_tsig_setup(void **state)
{
    struct fixture *f = fixture_new(keys, ARRAY_LEN(keys));
    f->config.has_nameservers = true;
    f->config.allows_all = true;
    engine_tsig_use_keys(f, "key k1.keys { algorithm hmac-sha256; secret \"" SECRET "\"; };");
    *state = f;
    return 0;
}

static int engine_tsig_teardown(void **state)
{
    struct fixture *f = *state;
    tsig_keys_unref(f->config.tsig);
    f->config.tsig = NULL;
    fixture_free(f);
    return 0;
}

UNIT_TESTS_EACH(engine_tsig_setup, engine_tsig_teardown)

static const char *engine_tsig_ask(struct fixture *f, const uint8_t *wire, size_t len)
{
    memcpy(f->query, wire, len);
    f->query_len = len;
    return fixture_answer(f, ENGINE_UDP);
}

/* Takes the record off the reply; returns its error. */
static unsigned open_reply(struct fixture *f, bool is_signed, size_t other)
{
    size_t size = RECORD_SIZE - (is_signed ? 0 : MAC_SIZE) + other;
    const uint8_t *record = f->reply + f->reply_len - size;
    static const uint8_t owner[] = "\2k1\4keys";
    assert_true(f->reply_len > size + DNS_HEADER_SIZE);
    assert_memory_equal(record, owner, sizeof(owner));
    assert_int_equal(record[sizeof(owner) + 1], DNS_TYPE_TSIG);
    assert_true(f->reply[11] > 0);
    f->reply[11]--;
    f->reply_len -= size;
    return record[size - other - 3];
}

static uint64_t engine_tsig_counted(const struct fixture *f, enum tsig_verdict verdict)
{
    return counter_get(&engine_counts(f->engine)->tsig[verdict]);
}

UNIT_TEST_ON(the_same_reply, struct fixture *f)
{
    uint8_t plain[512];
    (void)fixture_ask(f, "web.default.cluster.local. A edns=1232");
    size_t len = f->reply_len;
    memcpy(plain, f->reply, len);
    (void)engine_tsig_ask(f, web_signed, sizeof(web_signed));
    assert_int_equal(f->verdict, ENGINE_REPLY);
    assert_true(f->is_signed);
    assert_int_equal(open_reply(f, true, 0), 0);
    assert_int_equal(f->reply_len, len);
    assert_memory_equal(f->reply + 4, plain + 4, len - 4); /* behind RD, which dnspython sets */
    assert_int_equal(f->reply[3], plain[3]);
    assert_int_equal(engine_tsig_counted(f, TSIG_GOOD), 1);
}

UNIT_TEST_ON(bad_ones, struct fixture *f)
{
    static const struct {
        const char *keys;
        enum tsig_verdict verdict;
        unsigned error;
    } cases[] = {
        {"key k1.keys { algorithm hmac-sha256; secret \"AAAA\"; };", TSIG_BAD_SIG, 16},
        {"key k2.keys { algorithm hmac-sha256; secret \"" SECRET "\"; };", TSIG_BAD_KEY, 17},
        {"key k1.keys { algorithm hmac-sha1; secret \"" SECRET "\"; };", TSIG_BAD_KEY, 17},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        uint64_t before = engine_tsig_counted(f, cases[i].verdict);
        engine_tsig_use_keys(f, cases[i].keys);
        (void)engine_tsig_ask(f, web_signed, sizeof(web_signed));
        assert_int_equal(f->reply[3] & DNS_MASK_RCODE, DNS_RCODE_NOTAUTH);
        assert_false(f->is_signed);
        assert_int_equal(open_reply(f, false, 0), cases[i].error);
        assert_int_equal(f->reply[7], 0);
        assert_int_equal(engine_tsig_counted(f, cases[i].verdict), before + 1);
    }
}

/* The record twice. */
UNIT_TEST_ON(no_sense, struct fixture *f)
{
    uint8_t twice[2 * sizeof(web_signed)];
    size_t len = sizeof(web_signed);
    memcpy(twice, web_signed, len);
    memcpy(twice + len, web_signed + len - RECORD_SIZE, RECORD_SIZE);
    twice[11]++;
    assert_non_null(strstr(engine_tsig_ask(f, twice, len + RECORD_SIZE), "FORMERR"));
    assert_int_equal(engine_tsig_counted(f, TSIG_MALFORMED), 1);
}

/* A query that waits is signed when its reply is there, and not checked or counted again. */
UNIT_TEST_ON(what_waits, struct fixture *f)
{
    static const char question[] = "\3www\7example\3com\0\0\1\0\1";
    uint8_t upstream[DNS_HEADER_SIZE + sizeof(question) - 1 + 16] = {0, 0, 0x81, 0x80, 0, 1, 0, 1};
    memcpy(upstream + DNS_HEADER_SIZE, question, sizeof(question) - 1);
    memcpy(upstream + sizeof(upstream) - 16, "\xc0\x0c\0\1\0\1\0\0\0\x4d\0\4\xc0\0\2\1", 16);
    assert_string_equal(engine_tsig_ask(f, far_signed, sizeof(far_signed)), "forward");
    assert_true(f->is_signed);
    struct engine_query query = {.wire = far_signed,
                                 .len = sizeof(far_signed),
                                 .client = &f->local,
                                 .local = &f->local,
                                 .now_s = FIXTURE_NOW_S,
                                 .transport = ENGINE_UDP};
    union owned_query_room room;
    assert_true(own_query(f->engine, &query, &room));
    query.now_s += 1000; /* its time was checked when it came */
    assert_true(
        engine_forwarded_bytes(f->engine, &query, upstream, sizeof(upstream), &f->response));
    f->reply_len = f->response.len;
    assert_int_equal(open_reply(f, true, 0), 0);
    assert_int_equal(f->reply[7], 1);
    assert_true(engine_servfail(f->engine, &query, EDNS_ERROR_NONE, &f->response));
    f->reply_len = f->response.len;
    assert_int_equal(open_reply(f, true, 0), 0);
    assert_int_equal(f->reply[3] & DNS_MASK_RCODE, DNS_RCODE_SERVFAIL);
    assert_true(engine_refused(f->engine, &query, &f->response));
    f->reply_len = f->response.len;
    assert_int_equal(open_reply(f, true, 0), 0);
    assert_int_equal(f->reply[3] & DNS_MASK_RCODE, DNS_RCODE_REFUSED);
    f->is_repeated = true;
    assert_string_equal(fixture_answer(f, ENGINE_UDP), "forward");
    assert_int_equal(engine_tsig_counted(f, TSIG_GOOD), 1);

    /* its key goes away meanwhile: of that name, or of that algorithm */
    static const char *const others[] = {
        "key k2.keys { algorithm hmac-sha256; secret \"" SECRET "\"; };",
        "key k1.keys { algorithm hmac-sha1; secret \"" SECRET "\"; };", NULL};
    for (size_t i = 0; i < ARRAY_LEN(others); i++) {
        if (others[i]) {
            engine_tsig_use_keys(f, others[i]);
        } else {
            tsig_keys_unref(f->config.tsig);
            f->config.tsig = NULL;
        }
        f->is_repeated = false;
        (void)fixture_ask(f, "web.default.cluster.local. A"); /* takes the configuration up */
        assert_int_equal(
            engine_answer(f->engine, f->store, &query, NULL, &f->response, &f->deferral),
            ENGINE_DROP);
        assert_false(
            engine_forwarded_bytes(f->engine, &query, upstream, sizeof(upstream), &f->response));
        assert_false(engine_servfail(f->engine, &query, EDNS_ERROR_NONE, &f->response));
        assert_false(engine_refused(f->engine, &query, &f->response));
        assert_int_equal(f->response.len, 0);
    }
}

UNIT_TEST_ON(an_old_one, struct fixture *f)
{
    struct engine_deferral deferral;
    struct engine_query query = {.wire = web_signed,
                                 .len = sizeof(web_signed),
                                 .client = &f->local,
                                 .local = &f->local,
                                 .now_s = FIXTURE_NOW_S + 301,
                                 .transport = ENGINE_TCP};
    (void)engine_tsig_ask(f, web_signed, sizeof(web_signed)); /* with the fixture's configuration */
    assert_int_equal(engine_answer(f->engine, f->store, &query, NULL, &f->response, &deferral),
                     ENGINE_REPLY);
    f->reply_len = f->response.len;
    assert_int_equal(f->reply[3] & DNS_MASK_RCODE, DNS_RCODE_NOTAUTH);
    assert_int_equal(open_reply(f, true, OTHER_SIZE), 18);
    assert_true(engine_servfail(f->engine, &query, EDNS_ERROR_NONE, &f->response));
    f->reply_len = f->response.len;
    assert_int_equal(f->reply[11], 1); /* OPT alone: it is not signed */
}

/* Whoever may not ask is told so with a signature, too. */
UNIT_TEST_ON(not_admitted, struct fixture *f)
{
    f->config.settings.is_restricted = true;
    (void)engine_tsig_ask(f, web_signed, sizeof(web_signed));
    assert_int_equal(f->reply[3] & DNS_MASK_RCODE, DNS_RCODE_REFUSED);
    assert_true(f->deferral.is_barred);
    assert_int_equal(open_reply(f, true, 0), 0);
}

UNIT_TEST_ON(without_keys, struct fixture *f)
{
    tsig_keys_unref(f->config.tsig);
    f->config.tsig = NULL;
    assert_non_null(strstr(engine_tsig_ask(f, web_signed, sizeof(web_signed)), "10.0.0.1"));
    assert_int_equal(f->reply[11], 1);
    assert_false(f->is_signed);
}
