/* Checks the end of a response: which queries ask for padding and keepalive, and what they get. */
#include "skydns/engine/finish_internal.h"
#include "skydns/wire/edns.h"
#include "skydns/wire/query_parse.h"
#include "tests/support/unit_test.h"

enum { IDLE_MS = 30000 };

#define HEADER              "\0\1\1\0\0\1\0\0\0\0\0\1"
#define QUESTION            "\3www\4test\0\0\1\0\1"
#define OPT(len)            "\0\0\51\4\320\0\0\0\0\0" len
#define PADDING             "\0\14\0\3\0\0\0"
#define COOKIE              "\0\12\0\10abcdefgh"
#define KEEPALIVE           "\0\13\0\0"
#define KEEPALIVE_WITH_TIME "\0\13\0\2\0\1"
#define TSIG_LIKE           "\1x\0\0\372\0\377\0\0\0\0\0\2ab"

/* A message of literals. */
#define WIRE(...) (const uint8_t *)(__VA_ARGS__), sizeof(__VA_ARGS__) - 1

static struct engine_config config = {.cookies.count = 1};

static unsigned gets_over(int transport, const uint8_t *wire, size_t len, bool ends_in_tsig)
{
    static struct query parsed;
    struct engine_query query = {.wire = wire,
                                 .len = len,
                                 .transport = (enum engine_transport)transport,
                                 .parsed = &parsed,
                                 .ends_in_tsig = ends_in_tsig};
    query_parse(wire, len, &parsed);
    return finish_gets(&config, &query);
}

UNIT_TEST(test_queries)
{
    static const struct {
        const char *name;
        const uint8_t *wire;
        size_t len;
        bool padding, keepalive; /* over TLS; a cookie is no matter of the transport */
    } cases[] = {
        {"no OPT", WIRE("\0\1\1\0\0\1\0\0\0\0\0\0" QUESTION), false, false},
        {"no option", WIRE(HEADER QUESTION OPT("\0")), false, false},
        {"padding", WIRE(HEADER QUESTION OPT("\7") PADDING), true, false},
        {"empty padding", WIRE(HEADER QUESTION OPT("\4") "\0\14\0\0"), true, false},
        {"keepalive", WIRE(HEADER QUESTION OPT("\4") KEEPALIVE), false, true},
        {"keepalive with a time", WIRE(HEADER QUESTION OPT("\6") KEEPALIVE_WITH_TIME), false,
         false},
        {"both, and a cookie", WIRE(HEADER QUESTION OPT("\27") KEEPALIVE COOKIE PADDING), true,
         true},
        {"before another record",
         WIRE("\0\1\1\0\0\1\0\0\0\0\0\2" QUESTION OPT("\7") PADDING TSIG_LIKE), true, false},
        {"behind another record",
         WIRE("\0\1\1\0\0\1\0\0\0\0\0\2" QUESTION TSIG_LIKE OPT("\7") PADDING), true, false},
        {"an option longer than the record", WIRE(HEADER QUESTION OPT("\7") "\0\14\0\4\0\0\0"),
         false, false},
        {"a record longer than the message", WIRE(HEADER QUESTION OPT("\10") PADDING), false,
         false},
        {"fewer records than said", WIRE("\0\1\1\0\0\1\0\0\0\0\0\2" QUESTION OPT("\7") PADDING),
         false, false},
        {"OPT as an answer", WIRE("\0\1\1\0\0\1\0\1\0\0\0\0" QUESTION OPT("\7") PADDING), false,
         false},
        {"OPT with a name", WIRE(HEADER QUESTION "\1x\0\0\51\4\320\0\0\0\0\0\7" PADDING), false,
         false},
        {"a label too long", WIRE("\0\1\1\0\0\1\0\0\0\0\0\1\100" QUESTION OPT("\7") PADDING), false,
         false},
        {"a header alone", WIRE(HEADER), false, false},
        {"nothing", NULL, 0, false, false},
        /* Errors of which OPT is no part are padded, too. */
        {"a byte too many", WIRE(HEADER QUESTION OPT("\7") PADDING "x"), true, false},
        {"two OPT records",
         WIRE("\0\1\1\0\0\1\0\0\0\0\0\2" QUESTION OPT("\7") PADDING OPT("\7") PADDING), true,
         false},
        {"no question", WIRE("\0\1\1\0\0\0\0\0\0\0\0\1" OPT("\7") PADDING), true, false},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        for (int transport = 0; transport < ENGINE_TRANSPORTS; transport++) {
            const unsigned gets = gets_over(transport, cases[i].wire, cases[i].len, false);
            bool may_pad =
                transport == ENGINE_TLS || transport == ENGINE_HTTPS || transport == ENGINE_HTTP;
            assert_that(((gets & EDNS_ASKS_PADDING) != 0) == (may_pad && cases[i].padding) &&
                            ((gets & EDNS_ASKS_KEEPALIVE) != 0) ==
                                (transport == ENGINE_TLS && cases[i].keepalive),
                        "%s: transport %d", cases[i].name, transport);
        }
    }
}

/* With TSIG, only a cookie; that needs secrets. */
UNIT_TEST(test_what_excludes)
{
    assert_int_equal(
        gets_over(ENGINE_TLS, WIRE(HEADER QUESTION OPT("\27") KEEPALIVE COOKIE PADDING), false),
        EDNS_ASKS_COOKIE | EDNS_ASKS_KEEPALIVE | EDNS_ASKS_PADDING);
    assert_int_equal(
        gets_over(ENGINE_TLS, WIRE(HEADER QUESTION OPT("\27") KEEPALIVE COOKIE PADDING), true),
        EDNS_ASKS_COOKIE);
    config.cookies.count = 0;
    assert_int_equal(gets_over(ENGINE_HTTPS, WIRE(HEADER QUESTION OPT("\14") COOKIE), false), 0);
    config.cookies.count = 1;
}

/* Only if there is a text, over every transport, without TSIG. */
UNIT_TEST(test_nsid)
{
    static const char text[] = "me";
    for (int transport = 0; transport < ENGINE_TRANSPORTS; transport++) {
        assert_int_equal(gets_over(transport, WIRE(HEADER QUESTION OPT("\4") "\0\3\0\0"), false),
                         0);
        config.settings.nsid_len = sizeof(text) - 1;
        memcpy(config.settings.nsid, text, sizeof(text) - 1);
        assert_int_equal(gets_over(transport, WIRE(HEADER QUESTION OPT("\4") "\0\3\0\0"), false),
                         EDNS_ASKS_NSID);
        assert_int_equal(gets_over(transport, WIRE(HEADER QUESTION OPT("\4") "\0\3\0\0"), true), 0);
        assert_int_equal(finish_reserves(&config, EDNS_ASKS_NSID), 6);
        config.settings.nsid_len = 0;
    }
}

static uint8_t reply[ENGINE_REPLY_MAX];

static size_t finish_put(const void *bytes, size_t len)
{
    memset(reply, 0xee, sizeof(reply));
    if (len > 0) {
        memcpy(reply, bytes, len);
    }
    return len;
}

/* The response in `reply`, whose OPT record is at `opt_at`; returns its new length. */
static size_t engine_finish(size_t len, size_t opt_at, unsigned gets, uint32_t idle_ms)
{
    const struct engine_query query = {.gets = (uint8_t)gets, .idle_ms = idle_ms};
    struct response response = {.bytes = reply, .len = len, .opt_at = opt_at};
    finish_options(&config, &query, &response);
    return response.len;
}

static size_t opt_len_at(size_t at)
{
    return (size_t)(reply[at + 9] << 8 | reply[at + 10]);
}

/* With a cookie, which stays; zeros up to the next multiple. */
UNIT_TEST(test_padding)
{
    static const char wire[] = HEADER QUESTION OPT("\14") COOKIE;
    const size_t len = sizeof(wire) - 1, opt_at = 12 + 14;
    size_t padded = engine_finish(finish_put(wire, len), opt_at, EDNS_ASKS_PADDING, IDLE_MS);
    assert_int_equal(padded, FINISH_PADDING_BLOCK);
    assert_int_equal(opt_at + 11 + opt_len_at(opt_at), padded);
    assert_memory_equal(reply, wire, opt_at + 9);
    assert_memory_equal(reply + opt_at + 11, COOKIE, sizeof(COOKIE) - 1);
    assert_int_equal(reply[len], 0);
    assert_int_equal(reply[len + 1], 12);
    assert_int_equal(reply[len + 2] << 8 | reply[len + 3], padded - len - 4);
    for (size_t i = len + 4; i < padded; i++) {
        assert_int_equal(reply[i], 0);
    }
    assert_int_equal(reply[padded], 0xee);
}

/* A reply with as many bytes of TXT before OPT that it has this length. */
static size_t put_long(size_t len)
{
    enum { FIXED = 12 + 14 + 12 + 11 };
    static const uint8_t head[] = HEADER QUESTION "\300\14\0\20\0\1\0\0\0\1";
    size_t data = len - FIXED;
    memset(reply, 'x', sizeof(reply));
    memcpy(reply, head, sizeof(head) - 1);
    reply[7] = 1; /* an answer */
    reply[sizeof(head) - 1] = (uint8_t)(data >> 8);
    reply[sizeof(head)] = (uint8_t)data;
    memcpy(reply + len - 11, OPT("\0"), 11);
    return len;
}

UNIT_TEST(test_padded_lengths)
{
    enum { BLOCK = FINISH_PADDING_BLOCK, LAST = ENGINE_REPLY_MAX / BLOCK * BLOCK };
    static const struct {
        size_t len, want;
    } cases[] = {
        {BLOCK - 5, BLOCK},
        {BLOCK - 4, BLOCK},
        {BLOCK - 3, 2 * BLOCK},
        {BLOCK, 2 * BLOCK},
        {LAST - 4, LAST},
        {LAST - 3, ENGINE_REPLY_MAX}, /* no further multiple */
        {ENGINE_REPLY_MAX - 4, ENGINE_REPLY_MAX},
        {ENGINE_REPLY_MAX - 3, ENGINE_REPLY_MAX - 3}, /* no room for the option */
        {ENGINE_REPLY_MAX, ENGINE_REPLY_MAX},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        size_t len = put_long(cases[i].len), opt_at = len - 11;
        assert_int_equal(engine_finish(len, opt_at, EDNS_ASKS_PADDING, IDLE_MS), cases[i].want);
        assert_int_equal(opt_at + 11 + opt_len_at(opt_at), cases[i].want);
    }
}

UNIT_TEST(test_keepalive)
{
    static const char wire[] = HEADER QUESTION OPT("\0");
    static const struct {
        uint32_t idle_ms;
        unsigned want; /* in 100 ms */
    } cases[] = {{30000, 300}, {50, 0}, {UINT32_MAX, UINT16_MAX}};
    const size_t len = sizeof(wire) - 1;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        const uint8_t want[] = {0, 11, 0, 2, (uint8_t)(cases[i].want >> 8), (uint8_t)cases[i].want};
        assert_int_equal(
            engine_finish(finish_put(wire, len), len - 11, EDNS_ASKS_KEEPALIVE, cases[i].idle_ms),
            len + 6);
        assert_memory_equal(reply + len, want, sizeof(want));
        assert_int_equal(opt_len_at(len - 11), 6);
        assert_int_equal(engine_finish(finish_put(wire, len), len - 11,
                                       EDNS_ASKS_KEEPALIVE | EDNS_ASKS_PADDING, cases[i].idle_ms),
                         FINISH_PADDING_BLOCK);
        assert_memory_equal(reply + len, want, sizeof(want));
    }
}

/* No room for the one, nor for the other. */
UNIT_TEST(test_full)
{
    const size_t len = put_long(ENGINE_REPLY_MAX - 3);
    assert_int_equal(engine_finish(len, len - 11, EDNS_ASKS_KEEPALIVE | EDNS_ASKS_PADDING, IDLE_MS),
                     len);
    assert_int_equal(opt_len_at(len - 11), 0);
}
