/* Server cookies: RFC 9018's examples, and what makes a cookie wrong. */
#include "skydns/engine/cookie.h"
#include "tests/support/from_text.h"
#include "tests/support/unit_test.h"

#define FIRST  "e5e973e5a6b2a43f48e7dc849e37bfcf"
#define OLD    "dd3bdf9344b678b185a6f5cb60fca715"
#define NEWEST "445536bcd2513298075a5d379663c962"

static struct cookie_secrets secrets_of(const char *text)
{
    struct cookie_secrets secrets;
    struct err err;
    assert_int_equal(cookie_secrets_parse(slice_str(text), &secrets, &err), 0);
    return secrets;
}

static struct cookie cookie_of(const char *hex)
{
    struct cookie cookie = {.len = (uint8_t)(strlen(hex) / 2)};
    for (size_t i = 0; i < cookie.len; i++) {
        unsigned byte;
        assert_int_equal(sscanf(hex + 2 * i, "%2x", &byte), 1);
        cookie.bytes[i] = (uint8_t)byte;
    }
    return cookie;
}

static void assert_option(const uint8_t option[COOKIE_OPTION_SIZE], const char *hex)
{
    const struct cookie want = cookie_of(hex);
    assert_int_equal(want.len, COOKIE_SIZE);
    assert_memory_equal(option, "\x00\x0a\x00\x18", 4);
    assert_memory_equal(option + 4, want.bytes, COOKIE_SIZE);
}

/* Appendix A. */
static const struct {
    const char *name, *secrets, *client, *sent, *want;
    uint32_t now_s;
    enum cookie_verdict verdict;
} examples[] = {
    {"A.1: a new one", FIRST, "198.51.100.100", "2464c4abcf10c957",
     "2464c4abcf10c957010000005cf79f111f8130c3eee29480", 0x5cf79f11, COOKIE_ALONE},
    {"A.2: 40 minutes old", FIRST, "198.51.100.100",
     "2464c4abcf10c957010000005cf79f111f8130c3eee29480",
     "2464c4abcf10c957010000005cf7a871d4a564a1442aca77", 0x5cf7a871, COOKIE_VALID},
    {"A.3: reserved bytes, and too old", FIRST, "203.0.113.203",
     "fc93fc62807ddb8601abcdef5cf78f71a314227b6679ebf5",
     "fc93fc62807ddb86010000005cf7a9acf73a7810aca2381e", 0x5cf7a9ac, COOKIE_WRONG},
    {"A.3, while it is valid", FIRST, "203.0.113.203",
     "fc93fc62807ddb8601abcdef5cf78f71a314227b6679ebf5",
     "fc93fc62807ddb8601abcdef5cf78f71a314227b6679ebf5", 0x5cf78f72, COOKIE_VALID},
    {"A.4: IPv6, and another secret since", NEWEST "\n" OLD, "2001:db8:220:1:59de:d0f4:8769:82b8",
     "22681ab97d52c298010000005cf7c57926556bd0934c72f8",
     "22681ab97d52c298010000005cf7c609a6bb79d16625507a", 0x5cf7c609, COOKIE_VALID},
};

UNIT_TEST(matches_rfc_9018)
{
    for (size_t i = 0; i < ARRAY_LEN(examples); i++) {
        const struct cookie_secrets secrets = secrets_of(examples[i].secrets);
        const struct ip client = ip_from(examples[i].client);
        const struct cookie cookie = cookie_of(examples[i].sent);
        uint8_t option[COOKIE_OPTION_SIZE];
        print_message("%s\n", examples[i].name);
        assert_int_equal(cookie_answer(&secrets, &cookie, &client, examples[i].now_s, option),
                         examples[i].verdict);
        assert_int_equal(cookie_check(&secrets, &cookie, &client, examples[i].now_s),
                         examples[i].verdict);
        assert_option(option, examples[i].want);
    }
}

UNIT_TEST(knows_the_time)
{
    static const struct {
        int64_t later_s;
        enum cookie_verdict verdict;
        bool is_cached;
    } cases[] = {
        {0, COOKIE_VALID, true},          {1799, COOKIE_VALID, true},
        {1800, COOKIE_VALID, false},      {3600, COOKIE_VALID, false},
        {3601, COOKIE_WRONG, false},      {-300, COOKIE_VALID, true},
        {-301, COOKIE_WRONG, false},      {INT32_MAX, COOKIE_WRONG, false},
        {INT32_MIN, COOKIE_WRONG, false},
    };
    static const uint32_t made_s[] = {1760704496, 0, UINT32_MAX, 100, UINT32_MAX - 100};
    const struct cookie_secrets secrets = secrets_of(FIRST);
    const struct ip client = ip_from("10.0.0.1");
    const struct cookie alone = cookie_of("2464c4abcf10c957");
    for (size_t i = 0; i < ARRAY_LEN(cases) * ARRAY_LEN(made_s); i++) {
        uint32_t made = made_s[i / ARRAY_LEN(cases)];
        uint32_t now_s = made + (uint32_t)cases[i % ARRAY_LEN(cases)].later_s;
        uint8_t option[COOKIE_OPTION_SIZE];
        struct cookie cookie = {.len = COOKIE_SIZE};
        (void)cookie_answer(&secrets, &alone, &client, made, option);
        memcpy(cookie.bytes, option + 4, COOKIE_SIZE);
        assert_int_equal(cookie_answer(&secrets, &cookie, &client, now_s, option),
                         cases[i % ARRAY_LEN(cases)].verdict);
        assert_int_equal(memcmp(cookie.bytes, option + 4, COOKIE_SIZE) == 0,
                         cases[i % ARRAY_LEN(cases)].is_cached);
    }
}

/* Any other bit, address, secret or length makes it wrong. */
UNIT_TEST(notices_forgeries)
{
    const struct cookie_secrets secrets = secrets_of(FIRST "\n" OLD), others = secrets_of(NEWEST);
    const struct ip client = ip_from("198.51.100.100"), neighbour = ip_from("198.51.100.101");
    const struct cookie good = cookie_of(examples[1].sent);
    const uint32_t now_s = 0x5cf79f12;
    assert_int_equal(cookie_check(&secrets, &good, &client, now_s), COOKIE_VALID);
    assert_int_equal(cookie_check(&secrets, &good, &neighbour, now_s), COOKIE_WRONG);
    assert_int_equal(cookie_check(&others, &good, &client, now_s), COOKIE_WRONG);
    for (unsigned bit = 0; bit < 8 * COOKIE_SIZE; bit++) {
        struct cookie bad = good;
        bad.bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
        assert_int_equal(cookie_check(&secrets, &bad, &client, now_s), COOKIE_WRONG);
    }
    for (uint8_t len = 16; len <= EDNS_COOKIE_MAX; len++) {
        struct cookie other = good;
        other.len = len;
        assert_int_equal(cookie_check(&secrets, &other, &client, now_s),
                         len == COOKIE_SIZE ? COOKIE_VALID : COOKIE_WRONG);
    }
}
