/* query_log and query_tap: which queries get a line, and what it says. */
#include "skydns/tap/query_log.h"

#include "common/base/log.h"
#include "skydns/tap/query_counts.h"
#include "skydns/tap/query_tap.h"
#include "tests/support/log_capture.h"
#include "tests/support/unit_test.h"

#define QUESTION "\3web\4test\0\0\1\0\1"
enum { NAME_LEN = 10 };
#define BYTES(text) (const uint8_t *)(text), sizeof(text) - 1

static const struct addr client = {
    .v4 = {.sin_family = AF_INET, .sin_port = 0x401f, .sin_addr = {0x0700010a}},
    .len = sizeof(client.v4)};

/* The bytes are only read. */
static struct query_seen query_log_seen(struct engine_query *query, struct response *response,
                                        const uint8_t *wire, size_t len, const uint8_t *reply,
                                        size_t reply_len)
{
    *query =
        (struct engine_query){.wire = wire, .len = len, .client = &client, .transport = ENGINE_TCP};
    *response = (struct response){.len = reply_len, .name_len = reply[5] > 0 ? NAME_LEN : 0};
    memcpy(&response->bytes, &reply, sizeof(reply));
    return (struct query_seen){.query = query, .response = response, .took_us = 1234};
}

UNIT_TEST(test_which)
{
    static const struct {
        const char *name;
        const uint8_t *reply;
        size_t len;
        bool is_error, is_denial;
    } cases[] = {
        {"an answer", BYTES("\0\7\x84\0\0\1\0\1\0\0\0\0"), false, false},
        {"NXDOMAIN", BYTES("\0\7\x84\3\0\1\0\0\0\1\0\0"), false, true},
        {"NXDOMAIN behind a CNAME", BYTES("\0\7\x84\3\0\1\0\1\0\1\0\0"), false, true},
        {"NODATA", BYTES("\0\7\x84\0\0\1\0\0\0\1\0\0"), false, true},
        {"it did not fit", BYTES("\0\7\x86\0\0\1\0\0\0\0\0\0"), false, false},
        {"a cookie alone", BYTES("\0\7\x84\0\0\0\0\0\0\0\0\1"), false, false},
        {"FORMERR", BYTES("\0\7\x84\1\0\1\0\0\0\0\0\0"), true, false},
        {"SERVFAIL", BYTES("\0\7\x84\2\0\1\0\0\0\0\0\0"), true, false},
        {"NOTIMP", BYTES("\0\7\x84\4\0\1\0\0\0\0\0\0"), true, false},
        {"REFUSED", BYTES("\0\7\x84\5\0\1\0\0\0\0\0\0"), true, false},
        {"NOTAUTH", BYTES("\0\7\x84\x9\0\1\0\0\0\0\0\0"), false, false},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct engine_query query;
        struct response response;
        const struct query_seen s =
            query_log_seen(&query, &response, BYTES("\0\7\1\0\0\1\0\0\0\0\0\0" QUESTION),
                           cases[i].reply, cases[i].len);
        print_message("%s\n", cases[i].name);
        assert_false(query_log_wants((struct query_log_rule){QUERY_LOG_OFF, 0}, &s));
        assert_true(query_log_wants((struct query_log_rule){QUERY_LOG_ALL, 0}, &s));
        assert_int_equal(query_log_wants((struct query_log_rule){QUERY_LOG_ERRORS, 0}, &s),
                         cases[i].is_error);
        assert_int_equal(query_log_wants((struct query_log_rule){QUERY_LOG_DENIALS, 0}, &s),
                         cases[i].is_denial);
    }
}

/* Random numbers, 4,096 spread evenly, pick one in N. */
UNIT_TEST(test_some)
{
    static const uint32_t every[] = {1, 2, 64, 4096};
    for (size_t i = 0; i < ARRAY_LEN(every); i++) {
        struct engine_query query;
        struct response response;
        unsigned wanted = 0;
        const struct query_seen s =
            query_log_seen(&query, &response, BYTES("\0\7\1\0\0\1\0\0\0\0\0\0" QUESTION),
                           BYTES("\0\7\x84\0\0\1\0\1\0\0\0\0"));
        for (uint32_t k = 0; k < 4096; k++) {
            query.random = k << 20;
            wanted += query_log_wants((struct query_log_rule){QUERY_LOG_SOME, every[i]}, &s);
        }
        assert_int_equal(wanted, 4096 / every[i]);
    }
}

static const char *query_log_line_of(struct log_capture *capture, const uint8_t *wire, size_t len)
{
    struct engine_query query;
    struct response response;
    struct query_tap tap;
    struct query_counts counts = {.answered = {0}};
    const struct query_seen s =
        query_log_seen(&query, &response, wire, len, BYTES("\0\7\x84\3\0\1\0\0\0\1\0\0"));
    query_tap_init(&tap, NULL, NULL, NULL);
    assert_false(query_tap_wants(&tap, &counts, &response));
    query_tap_set_log(&tap, (struct query_log_rule){QUERY_LOG_DENIALS, 0});
    assert_true(query_tap_wants(&tap, &counts, &response));
    log_set_level(LOG_LEVEL_ERROR); /* whatever it is */
    log_capture_begin(capture);
    query_tap_show(&tap, &counts, &s);
    const char *text = log_capture_end(capture);
    log_set_level(LOG_LEVEL_INFO);
    assert_int_equal(counter_get(&counts.log_dropped), 0);
    return strstr(text, " query ") ? strstr(text, " query ") : "";
}

UNIT_TEST(test_lines)
{
    static const struct {
        const uint8_t *wire;
        size_t len;
        const char *want;
    } cases[] = {
        {BYTES("\0\7\1\x20\0\1\0\0\0\0\0\0" QUESTION), "name=web.test. type=A flags=rd,ad "},
        {BYTES("\0\7\0\x10\0\1\0\0\0\0\0\1" QUESTION "\0\0\x29\x04\xd0\0\0\x80\0\0\0"),
         "name=web.test. type=A flags=cd,do "},
        {BYTES("\0\7\0\0\0\1\0\0\0\0\0\0\5a b\n\"\0\0\x41\0\1"),
         "name=\"a\\\\032b\\\\010\\\\\\\".\" type=HTTPS flags=\"\" "},
        {BYTES("\0\7\0\0\0\1\0\0\0\0\0\0\5ab"), "name=\"\" type=\"\" flags=\"\" "},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct log_capture capture;
        char want[512];
        const char *got = query_log_line_of(&capture, cases[i].wire, cases[i].len);
        (void)snprintf(want, sizeof(want),
                       " query client=10.1.0.7:8000 transport=tcp %srcode=NXDOMAIN size=12 "
                       "seconds=0.001234\n",
                       cases[i].want);
        assert_string_equal(got, want);
    }
}

/* Samples take one in 32 responses with a question; the log sees all meanwhile; without either,
 * nothing is seen. */
UNIT_TEST(test_samples)
{
    static const uint8_t reply[] = "\0\7\x84\0\0\1\0\0\0\0\0\0" QUESTION;
    struct engine_query query;
    struct response response, without;
    struct query_tap tap;
    struct query_counts counts = {.answered = {0}};
    struct name_sample sample;
    int seen_count = 0, taken = 0;
    const struct query_seen s =
        query_log_seen(&query, &response, reply, sizeof(reply) - 1, reply, sizeof(reply) - 1);
    const struct query_seen bare =
        query_log_seen(&query, &without, reply, sizeof(reply) - 1, reply, DNS_HEADER_SIZE);
    without.name_len = 0;
    struct name_samples *samples = name_samples_new(NAME_SAMPLES_MAX);
    query_tap_init(&tap, samples, NULL, NULL);
    query_tap_set_sampling(&tap, true);
    for (int i = 0; i < 3200; i++) {
        if (query_tap_wants(&tap, &counts, &response)) {
            query_tap_show(&tap, &counts, i % 2 ? &s : &bare);
            query_tap_show(&tap, &counts, &s);
            seen_count++;
        }
    }
    assert_int_equal(seen_count, 100);
    while (name_samples_take(samples, &sample)) {
        char text[DNAME_TEXT_MAX];
        assert_string_equal(dname_to_text(&sample.name, text), "web.test.");
        assert_int_equal(sample.type, DNS_TYPE_A);
        taken++;
    }
    assert_true(taken >= 100 && taken <= 200);
    for (int i = 0; i < 32 * NAME_SAMPLES_MAX * 2; i++) { /* what does not fit is left out */
        if (query_tap_wants(&tap, &counts, &response)) {
            query_tap_show(&tap, &counts, &s);
        }
    }
    for (taken = 0; name_samples_take(samples, &sample); taken++) {
    }
    assert_int_equal(taken, NAME_SAMPLES_MAX);
    assert_int_equal(name_samples_dropped(samples), NAME_SAMPLES_MAX);
    query_tap_set_sampling(&tap, false);
    assert_false(query_tap_wants(&tap, &counts, &response));
    name_samples_free(samples);
}

/* Missing names: at most one NXDOMAIN in 16 on average, each place of a search list alike; no other
 * response. */
UNIT_TEST(test_missing)
{
    enum { ROUNDS = 40000, LIST = 8 };
    static const uint8_t denial[] = "\0\7\x84\3\0\1\0\0\0\0\0\0" QUESTION;
    static const uint8_t answer[] = "\0\7\x84\0\0\1\0\0\0\0\0\0" QUESTION;
    struct engine_query query;
    struct response missing, found;
    struct query_tap tap;
    struct query_counts counts = {.answered = {0}};
    struct name_sample sample;
    int taken = 0, of_place[LIST] = {0};
    const struct query_seen s =
        query_log_seen(&query, &missing, denial, sizeof(denial) - 1, denial, sizeof(denial) - 1);
    (void)query_log_seen(&query, &found, answer, sizeof(answer) - 1, answer, sizeof(answer) - 1);
    struct name_samples *samples = name_samples_new(MISSING_SAMPLES_MAX);
    query_tap_init(&tap, NULL, samples, NULL);
    for (int i = 0; i < ROUNDS; i++) {
        assert_false(query_tap_wants(&tap, &counts, &found));
        if (query_tap_wants(&tap, &counts, &missing)) {
            query_tap_show(&tap, &counts, &s);
            assert_true(name_samples_take(samples, &sample));
            assert_int_equal(sample.client.bytes[0], 10);
            of_place[i % LIST]++;
            taken++;
        }
    }
    assert_in_range(taken, ROUNDS / 16 * 19 / 20, ROUNDS / 16 * 21 / 20);
    for (int i = 0; i < LIST; i++) {
        assert_in_range(of_place[i], taken / LIST * 2 / 3, taken / LIST * 3 / 2);
    }
    assert_int_equal(name_samples_dropped(samples), 0);
    name_samples_free(samples);
}
