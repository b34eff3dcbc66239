/* Checks the cached form of an upstream's response: the records that answer the question, and
 * nothing else. */
#include "common/base/cursor.h"
#include "common/dns/dns.h"
#include "skydns/external/cache_image.h"
#include "tests/support/skydns/dns_text.h"
#include "tests/support/skydns/foreign_reply.h"
#include "tests/support/skydns/hash_seed.h"
#include "tests/support/skydns/response_bytes.h"
#include "tests/support/unit_test.h"

static struct external_reply reply;
static uint8_t records[65535];
static char text[DNS_TEXT_MAX];

struct result {
    enum cache_verdict verdict;
    struct cache_hit hit;
};

static struct result read_with(const struct cache_key *key, uint32_t ttl_max_s, uint32_t shuffle)
{
    struct result result;
    /* Exactly so long, so that asan sees a read beyond it. */
    uint8_t *exact = test_malloc(reply.len);
    struct parsed_response response;
    memcpy(exact, reply.wire, reply.len);
    response_parse(exact, reply.len, &response);
    result.verdict =
        cached_first(key, &response, ttl_max_s, shuffle, records, sizeof(records), &result.hit);
    response_parse_fini(&response);
    test_free(exact);
    return result;
}

/* Verdicts as text, or what a client gets. */
static const char *cached_at_most(const char *question, const char *given, uint32_t ttl_max_s)
{
    static const char *const verdicts[] = {
        [CACHE_NO_TIME] = "no time",     [CACHE_NO_SOA] = "no SOA",
        [CACHE_TRUNCATED] = "truncated", [CACHE_NO_ANSWER] = "no answer",
        [CACHE_MALFORMED] = "malformed", [CACHE_TOO_LARGE] = "too large",
    };
    const struct cache_key key = others_key(question);
    external_reply_make(&reply, given);
    struct result result = read_with(&key, ttl_max_s, 0);
    if (result.verdict != CACHE_HIT) {
        assert_int_equal(result.hit.state, CACHE_MISS);
        return verdicts[result.verdict];
    }
    assert_int_equal(result.hit.state, CACHE_FRESH);
    external_text(&key, &result.hit, records, text, sizeof(text));
    size_t used = strlen(text);
    (void)snprintf(text + used, sizeof(text) - used, "\nfor %u s", result.hit.left_s);
    return text;
}

static const char *cache_image_cached(const char *question, const char *given)
{
    return cached_at_most(question, given, 3600);
}

#define SOA " SOA ns.test. admin.test. 1 2 3 4 300"

UNIT_TESTS_ONCE(hash_seed, NULL)

UNIT_TEST(test_addresses)
{
    assert_string_equal(cache_image_cached("www.test. A", "NOERROR qr rd ra\n? www.test. IN A\n"
                                                          "= www.test. 300 A 10.0.0.1\n"
                                                          "= www.test. 200 A 10.0.0.2"),
                        "NOERROR\n? www.test. IN A\n"
                        "= www.test. 300 A 10.0.0.1\n"
                        "= www.test. 200 A 10.0.0.2\nfor 200 s");
    assert_string_equal(cache_image_cached("www.test. AAAA",
                                           "NOERROR qr aa rd ra ad\n? WwW.tEsT. IN AAAA\n"
                                           "= WwW.tEsT. 300 AAAA fd00::1"),
                        "NOERROR ad\n? www.test. IN AAAA\n"
                        "= www.test. 300 AAAA fd00::1\nfor 300 s");
    assert_string_equal(
        cache_image_cached(". SRV", "NOERROR qr\n? . IN SRV\n= . 60 SRV 1 2 3 a.test."),
        "NOERROR\n? . IN SRV\n= . 60 SRV 1 2 3 a.test.\nfor 60 s");
}

UNIT_TEST(test_types_with_names)
{
    assert_string_equal(cache_image_cached("www.test. SRV", "NOERROR qr\n? WWW.test. IN SRV\n"
                                                            "= www.test. 60 SRV 1 2 3 a.WWW.test."),
                        "NOERROR\n? www.test. IN SRV\n"
                        "= www.test. 60 SRV 1 2 3 a.www.test.\nfor 60 s");
    assert_string_equal(cache_image_cached("test. MX", "NOERROR qr\n? test. IN MX\n"
                                                       "= test. 60 MX 10 mail.test.\n"
                                                       "= test. 60 MX 20 mail2.other."),
                        "NOERROR\n? test. IN MX\n= test. 60 MX 10 mail.test.\n"
                        "= test. 60 MX 20 mail2.other.\nfor 60 s");
    assert_string_equal(
        cache_image_cached("test. TXT", "NOERROR qr\n? test. IN TXT\n= test. 60 TXT word"),
        "NOERROR\n? test. IN TXT\n= test. 60 TXT \"word\"\nfor 60 s");
    assert_string_equal(cache_image_cached("test. ANY",
                                           "NOERROR qr\n? test. IN ANY\n= test. 60 TXT word\n"
                                           "= test. 50 NS ns.test.\n= ns.test. 5 A 10.0.0.1"),
                        "NOERROR\n? test. IN ANY\n= test. 60 TXT \"word\"\n"
                        "= test. 50 NS ns.test.\nfor 5 s");
}

UNIT_TEST(test_chains)
{
    /* In any order, across zones; put into the order in which clients read. */
    assert_string_equal(cache_image_cached("www.test. A", "NOERROR qr\n? www.test. IN A\n"
                                                          "= c.cdn. 30 A 10.0.0.1\n"
                                                          "= b.test. 40 CNAME C.cdn.\n"
                                                          "= www.test. 50 CNAME b.test."),
                        "NOERROR\n? www.test. IN A\n"
                        "= www.test. 50 CNAME b.test.\n"
                        "= b.test. 40 CNAME C.cdn.\n"
                        "= C.cdn. 30 A 10.0.0.1\nfor 30 s");
    assert_string_equal(cache_image_cached("www.test. CNAME", "NOERROR qr\n? www.test. IN CNAME\n"
                                                              "= www.test. 50 CNAME b.test.\n"
                                                              "= b.test. 50 CNAME c.test."),
                        "NOERROR\n? www.test. IN CNAME\n"
                        "= www.test. 50 CNAME b.test.\nfor 50 s");
    assert_string_equal(cache_image_cached("www.test. A", "NOERROR qr\n? www.test. IN A\n"
                                                          "= www.test. 50 CNAME www.test."),
                        "no answer");
    assert_string_equal(cache_image_cached("www.test. A", "NOERROR qr\n? www.test. IN A\n"
                                                          "= www.test. 50 CNAME b.test.\n"
                                                          "= b.test. 50 CNAME www.test."),
                        "no answer");
}

static const char *cached_chain(unsigned cnames)
{
    static char given[4096];
    size_t used = (size_t)snprintf(given, sizeof(given), "NOERROR qr\n? c0.test. IN A\n");
    for (unsigned i = 0; i < cnames; i++) {
        used += (size_t)snprintf(given + used, sizeof(given) - used,
                                 "= c%u.test. 60 CNAME c%u.test.\n", i, i + 1);
    }
    (void)snprintf(given + used, sizeof(given) - used, "= c%u.test. 60 A 10.0.0.1", cnames);
    return cache_image_cached("c0.test. A", given);
}

UNIT_TEST(test_long_chains)
{
    assert_non_null(strstr(cached_chain(CACHED_CNAMES_MAX), "= c16.test. 60 A 10.0.0.1\nfor 60 s"));
    assert_string_equal(cached_chain(CACHED_CNAMES_MAX + 1), "no answer");
}

UNIT_TEST(test_dname)
{
    assert_string_equal(cache_image_cached("a.b.old. A", "NOERROR qr\n? a.b.old. IN A\n"
                                                         "= old. 70 DNAME new.test.\n"
                                                         "= a.b.old. 60 CNAME a.b.new.test.\n"
                                                         "= a.b.new.test. 50 A 10.0.0.1"),
                        "NOERROR\n? a.b.old. IN A\n= old. 70 DNAME new.test.\n"
                        "= a.b.old. 60 CNAME a.b.new.test.\n"
                        "= a.b.new.test. 50 A 10.0.0.1\nfor 50 s");
    /* Another's DNAME, and one that does not make this CNAME. */
    assert_string_equal(cache_image_cached("a.b.old. A", "NOERROR qr\n? a.b.old. IN A\n"
                                                         "= bank. 70 DNAME new.test.\n"
                                                         "= b.old. 70 DNAME evil.test.\n"
                                                         "= a.b.old. 70 DNAME a.b.new.test.\n"
                                                         "= a.b.old. 60 CNAME a.b.new.test.\n"
                                                         "= a.b.new.test. 50 A 10.0.0.1"),
                        "NOERROR\n? a.b.old. IN A\n= a.b.old. 60 CNAME a.b.new.test.\n"
                        "= a.b.new.test. 50 A 10.0.0.1\nfor 50 s");
}

UNIT_TEST(test_denials)
{
    assert_string_equal(
        cache_image_cached("no.test. A", "NXDOMAIN qr aa\n? no.test. IN A\n! test. 900" SOA),
        "NXDOMAIN\n? no.test. IN A\n! test. 300" SOA "\nfor 300 s");
    assert_string_equal(
        cache_image_cached("no.test. A", "NOERROR qr\n? no.test. IN A\n! test. 200" SOA),
        "NOERROR\n? no.test. IN A\n! test. 200" SOA "\nfor 200 s");
    assert_string_equal(
        cache_image_cached("no.test. A",
                           "NOERROR qr\n? no.test. IN A\n! . 86400 SOA a. b. 1 2 3 4 86400"),
        "NOERROR\n? no.test. IN A\n! . 1800 SOA a. b. 1 2 3 4 86400\nfor 1800 s");
    assert_string_equal(cache_image_cached("no.test. A", "NXDOMAIN qr\n? no.test. IN A"), "no SOA");
    assert_string_equal(cache_image_cached("no.test. A", "NOERROR qr\n? no.test. IN A"), "no SOA");
    assert_string_equal(
        cache_image_cached("no.test. A",
                           "NOERROR qr\n? no.test. IN A\n! test. 60 SOA a. b. 1 2 3 4 0"),
        "no time");
    assert_string_equal(
        cache_image_cached("no.test. A",
                           "NOERROR qr\n? no.test. IN A\n! test. 60 SOA a. b. 1 2 3 4 2147483648"),
        "no time");
    /* RFC 6604: the rcode is that of the chain's last name. */
    assert_string_equal(cache_image_cached("www.test. A", "NXDOMAIN qr\n? www.test. IN A\n"
                                                          "= www.test. 100 CNAME no.other.\n"
                                                          "! other. 200" SOA),
                        "NXDOMAIN\n? www.test. IN A\n= www.test. 100 CNAME no.other.\n"
                        "! other. 100" SOA "\nfor 100 s");
}

/* The SOA must be that of a zone that contains the last name. */
UNIT_TEST(test_denials_of_others)
{
    assert_string_equal(
        cache_image_cached("no.test. A", "NXDOMAIN qr\n? no.test. IN A\n! other. 60" SOA),
        "no SOA");
    assert_string_equal(
        cache_image_cached("no.test. A", "NXDOMAIN qr\n? no.test. IN A\n! a.no.test. 60" SOA),
        "no SOA");
    assert_string_equal(cache_image_cached("www.test. A",
                                           "NXDOMAIN qr\n? www.test. IN A\n"
                                           "= www.test. 100 CNAME no.other.\n! test. 200" SOA),
                        "no SOA");
    assert_string_equal(cache_image_cached("no.test. A", "NXDOMAIN qr\n? no.test. IN A\n"
                                                         "! test. 60 class=3" SOA),
                        "no SOA");
}

UNIT_TEST(test_no_answer)
{
    static const char *const rcodes[] = {"FORMERR", "SERVFAIL", "NOTIMP", "REFUSED"};
    for (size_t i = 0; i < ARRAY_LEN(rcodes); i++) {
        char given[128];
        (void)snprintf(given, sizeof(given), "%s qr\n? a.test. IN A\n! test. 60" SOA, rcodes[i]);
        assert_string_equal(cache_image_cached("a.test. A", given), "no answer");
    }
    assert_string_equal(cache_image_cached("a.test. A",
                                           "NOERROR qr\n? a.test. IN A\n! test. 60 NS ns.test.\n"
                                           "+ ns.test. 60 A 10.0.0.1"),
                        "no answer");
    assert_string_equal(
        cache_image_cached("a.test. A", "NXDOMAIN qr\n? a.test. IN A\n= a.test. 60 A 10.0.0.1"),
        "no answer");
    assert_string_equal(cache_image_cached("a.test. A", "NOERROR qr tc\n? a.test. IN A\n"
                                                        "= a.test. 60 A 10.0.0.1"),
                        "truncated");
    struct cache_key axfr = others_key("a.test. A");
    axfr.type = DNS_TYPE_AXFR;
    assert_int_equal(read_with(&axfr, 60, 0).verdict, CACHE_NO_ANSWER);
}

/* An OPT record with the upper bits of an rcode: 0 below it means nothing. */
UNIT_TEST(test_extended_rcode)
{
    const struct cache_key key = others_key("a.test. A");
    external_reply_make(&reply, "NOERROR qr\n? a.test. IN A\n= a.test. 60 A 10.0.0.1");
    const uint8_t opt[] = {0, 0, DNS_TYPE_OPT, 4, 208, 0, 0, 0, 0, 0, 0};
    memcpy(reply.wire + reply.len, opt, sizeof(opt));
    reply.len += sizeof(opt);
    reply.wire[11] = 1;
    assert_int_equal(read_with(&key, 60, 0).verdict, CACHE_HIT);
    reply.wire[reply.len - 6] = 1;
    assert_int_equal(read_with(&key, 60, 0).verdict, CACHE_NO_ANSWER);
}

UNIT_TEST(test_malformed)
{
    const struct cache_key key = others_key("a.test. A");
    assert_string_equal(
        cache_image_cached("a.test. A", "NOERROR qr\n? b.test. IN A\n= a.test. 60 A 10.0.0.1"),
        "malformed");
    assert_string_equal(
        cache_image_cached("a.test. A", "NOERROR qr\n? a.test. IN TXT\n= a.test. 60 A 10.0.0.1"),
        "malformed");
    assert_string_equal(
        cache_image_cached("a.test. A", "NOERROR qr\n? a.test. CH A\n= a.test. 60 A 10.0.0.1"),
        "malformed");
    assert_string_equal(
        cache_image_cached("a.test. A", "NOERROR\n? a.test. IN A\n= a.test. 60 A 10.0.0.1"),
        "malformed");
    external_reply_make(&reply, "NOERROR qr\n? a.test. IN A\n= a.test. 60 A 10.0.0.1\n"
                                "! test. 60 NS ns.test.\n+ ns.test. 60 A 10.0.0.2");
    for (size_t whole = reply.len; reply.len > 0;) {
        reply.len--;
        assert_int_equal(read_with(&key, 60, 0).verdict, CACHE_MALFORMED);
        assert_true(reply.len < whole);
    }
    /* An address of five bytes. */
    external_reply_make(&reply, "NOERROR qr\n? a.test. IN A\n= a.test. 60 A 10.0.0.1");
    reply.wire[reply.len - 5] = 5;
    reply.len++;
    assert_int_equal(read_with(&key, 60, 0).verdict, CACHE_MALFORMED);
}

UNIT_TEST(test_times)
{
    const char *given = "NOERROR qr\n? a.test. IN A\n= a.test. 300 A 10.0.0.1\n"
                        "= a.test. 50 A 10.0.0.2";
    assert_string_equal(cached_at_most("a.test. A", given, 100),
                        "NOERROR\n? a.test. IN A\n= a.test. 100 A 10.0.0.1\n"
                        "= a.test. 50 A 10.0.0.2\nfor 50 s");
    assert_string_equal(cached_at_most("a.test. A", given, 20),
                        "NOERROR\n? a.test. IN A\n= a.test. 20 A 10.0.0.1\n"
                        "= a.test. 20 A 10.0.0.2\nfor 20 s");
    assert_string_equal(cache_image_cached("a.test. A",
                                           "NOERROR qr\n? a.test. IN A\n= a.test. 60 A 10.0.0.1\n"
                                           "= a.test. 0 A 10.0.0.2"),
                        "no time");
    assert_string_equal(
        cache_image_cached("a.test. A",
                           "NOERROR qr\n? a.test. IN A\n= a.test. 2147483648 A 10.0.0.2"),
        "no time");
    assert_string_equal(cached_at_most("a.test. A",
                                       "NOERROR qr\n? a.test. IN A\n"
                                       "= a.test. 2147483647 A 10.0.0.2",
                                       UINT32_MAX),
                        "NOERROR\n? a.test. IN A\n= a.test. 2147483647 A 10.0.0.2\n"
                        "for 2147483647 s");
    /* The authority section's count, too, though it is not kept. */
    assert_string_equal(cache_image_cached("a.test. A",
                                           "NOERROR qr\n? a.test. IN A\n= a.test. 60 A 10.0.0.1\n"
                                           "! test. 40 NS ns.test.\n+ ns.test. 0 A 10.0.0.2"),
                        "NOERROR\n? a.test. IN A\n= a.test. 60 A 10.0.0.1\nfor 40 s");
}

/* Nothing about another name gets in, wherever it stands. */
UNIT_TEST(test_poison)
{
    const char *clean = "NOERROR\n? a.test. IN A\n= a.test. 60 A 10.0.0.1\nfor 60 s";
    static const char *const extras[] = {
        "= www.bank. 60 A 10.6.6.6",    "= test. 60 NS ns.evil.",
        "= a.test. 60 TXT evil",        "= a.test. 60 class=3 A 10.6.6.6",
        "= www.bank. 60 CNAME a.test.", "= b.a.test. 60 A 10.6.6.6",
        "= *.test. 60 A 10.6.6.6",      "= test. 60 A 10.6.6.6",
        "= bank. 60 DNAME test.",       "= a.test. 60 RRSIG A 2 test.",
        "! test. 60 NS ns.evil.",       "! bank. 60 NS ns.evil.",
        "! a.test. 60 A 10.6.6.6",      ("! test. 60" SOA),
        "! a.test. 60 NSEC z.test.",    "! a.test. 60 CNAME www.evil.",
        "+ ns.evil. 60 A 10.6.6.6",     "+ a.test. 60 A 10.6.6.6",
        "+ www.bank. 60 A 10.6.6.6",
    };
    for (size_t i = 0; i < ARRAY_LEN(extras); i++) {
        char given[256];
        (void)snprintf(given, sizeof(given), "NOERROR qr\n? a.test. IN A\n%s\n%s",
                       "= a.test. 60 A 10.0.0.1", extras[i]);
        assert_string_equal(cache_image_cached("a.test. A", given), clean);
    }
    /* The same beside a chain and a denial. */
    assert_string_equal(cache_image_cached("a.test. A", "NXDOMAIN qr\n? a.test. IN A\n"
                                                        "= www.bank. 60 A 10.6.6.6\n"
                                                        "= x.bank. 60 CNAME evil.\n"
                                                        "= a.test. 60 CNAME b.test.\n"
                                                        "! bank. 60" SOA "\n"
                                                        "! test. 60" SOA "\n"
                                                        "! test. 60 NS ns.evil.\n"
                                                        "! other.test. 60" SOA "\n"
                                                        "+ ns.evil. 60 A 10.6.6.6"),
                        "NXDOMAIN\n? a.test. IN A\n= a.test. 60 CNAME b.test.\n"
                        "! test. 60" SOA "\nfor 60 s");
}

#define SIGNED                                                                         \
    "\n? a.test. IN A\n= a.test. 60 A 10.0.0.1\n= a.test. 60 RRSIG A 2 test.\n"        \
    "= a.test. 60 RRSIG TXT 2 test.\n= b.test. 60 RRSIG A 2 test.\n! test. 60 NS x.\n" \
    "! a.test. 60 NSEC c.test.\n! a.test. 60 RRSIG NSEC 2 test."

UNIT_TEST(test_signatures)
{
    assert_string_equal(cache_image_cached("a.test. A", "NOERROR qr ad" SIGNED),
                        "NOERROR ad\n? a.test. IN A\n= a.test. 60 A 10.0.0.1\nfor 60 s");
    assert_string_equal(cache_image_cached("a.test. A do", "NOERROR qr ad" SIGNED),
                        "NOERROR ad\n? a.test. IN A\n= a.test. 60 A 10.0.0.1\n"
                        "= a.test. 60 RRSIG A 2 test.\nfor 60 s");
    assert_string_equal(cache_image_cached("a.test. RRSIG", "NOERROR qr\n? a.test. IN RRSIG\n"
                                                            "= a.test. 60 RRSIG A 2 test."),
                        "NOERROR\n? a.test. IN RRSIG\n= a.test. 60 RRSIG A 2 test.\nfor 60 s");
    /* Behind each RRset of a chain. */
    assert_string_equal(cache_image_cached("a.b.old. A do", "NOERROR qr\n? a.b.old. IN A\n"
                                                            "= old. 70 RRSIG DNAME 1 old.\n"
                                                            "= new. 70 RRSIG A 1 new.\n"
                                                            "= old. 70 DNAME new.\n"
                                                            "= a.b.old. 60 CNAME a.b.new.\n"
                                                            "= a.b.new. 60 RRSIG A 3 new.\n"
                                                            "= a.b.new. 50 A 10.0.0.1"),
                        "NOERROR\n? a.b.old. IN A\n= old. 70 DNAME new.\n"
                        "= old. 70 RRSIG DNAME 1 old.\n"
                        "= a.b.old. 60 CNAME a.b.new.\n"
                        "= a.b.new. 50 A 10.0.0.1\n= a.b.new. 60 RRSIG A 3 new.\nfor 50 s");
}

/* RFC 4035 3.1.3.3: an answer made from a wildcard needs the proof that the name does not exist. */
UNIT_TEST(test_wildcard_proofs)
{
    const char *given = "NOERROR qr\n? a.test. IN A\n= a.test. 60 A 10.0.0.1\n"
                        "= a.test. 60 RRSIG A 1 test.\n! test. 60 NS x.\n"
                        "! 0.test. 60 NSEC c.test.\n! 0.test. 60 RRSIG NSEC 2 test.\n"
                        "! 0.bank. 60 NSEC c.bank.\n! hash.test. 60 NSEC3 word";
    assert_string_equal(cache_image_cached("a.test. A do", given),
                        "NOERROR\n? a.test. IN A\n= a.test. 60 A 10.0.0.1\n"
                        "= a.test. 60 RRSIG A 1 test.\n! 0.test. 60 NSEC c.test.\n"
                        "! 0.test. 60 RRSIG NSEC 2 test.\n! hash.test. 60 NSEC3 ...\nfor 60 s");
    assert_string_equal(cache_image_cached("a.test. A", given),
                        "NOERROR\n? a.test. IN A\n= a.test. 60 A 10.0.0.1\nfor 60 s");
    /* A signer that has no say about the name. */
    assert_string_equal(cache_image_cached("a.test. A do", "NOERROR qr\n? a.test. IN A\n"
                                                           "= a.test. 60 A 10.0.0.1\n"
                                                           "= a.test. 60 RRSIG A 1 bank.\n"
                                                           "! 0.bank. 60 NSEC c.bank."),
                        "NOERROR\n? a.test. IN A\n= a.test. 60 A 10.0.0.1\n"
                        "= a.test. 60 RRSIG A 1 bank.\nfor 60 s");
    /* The wildcard itself was asked for: its signature counts no asterisk, and proves enough. */
    assert_string_equal(cache_image_cached("*.test. A do",
                                           "NOERROR qr\n? *.test. IN A\n= *.test. 60 A 10.0.0.1\n"
                                           "= *.test. 60 RRSIG A 1 test.\n"
                                           "! 0.test. 60 NSEC c.test."),
                        "NOERROR\n? *.test. IN A\n= *.test. 60 A 10.0.0.1\n"
                        "= *.test. 60 RRSIG A 1 test.\nfor 60 s");
}

UNIT_TEST(test_denial_proofs)
{
    const char *given = "NXDOMAIN qr ad\n? b.test. IN A\n! test. 900" SOA "\n"
                        "! test. 900 RRSIG SOA 1 test.\n! test. 800 RRSIG NS 1 test.\n"
                        "! a.test. 700 NSEC c.test.\n! a.test. 600 RRSIG NSEC 2 test.\n"
                        "! test. 700 NSEC a.test.\n! x.bank. 700 NSEC z.bank.\n"
                        "! x.bank. 700 RRSIG NSEC 2 bank.";
    assert_string_equal(cache_image_cached("b.test. A do", given),
                        "NXDOMAIN ad\n? b.test. IN A\n! test. 300" SOA "\n"
                        "! test. 300 RRSIG SOA 1 test.\n"
                        "! a.test. 700 NSEC c.test.\n! a.test. 600 RRSIG NSEC 2 test.\n"
                        "! test. 700 NSEC a.test.\nfor 300 s");
    assert_string_equal(cache_image_cached("b.test. A", given),
                        "NXDOMAIN ad\n? b.test. IN A\n! test. 300" SOA "\nfor 300 s");
}

/* Signatures are not repeated with the records that they sign. */
UNIT_TEST(test_repeated_proofs)
{
    assert_string_equal(
        cache_image_cached("b.test. A do",
                           "NXDOMAIN qr\n? b.test. IN A\n! test. 900" SOA "\n"
                           "! a.test. 700 NSEC c.test.\n! a.test. 700 NSEC d.test.\n"
                           "! a.test. 600 RRSIG NSEC 2 test.\n! A.test. 700 NSEC e.test."),
        "NXDOMAIN\n? b.test. IN A\n! test. 300" SOA "\n"
        "! a.test. 700 NSEC c.test.\n! a.test. 600 RRSIG NSEC 2 test.\n"
        "! a.test. 700 NSEC d.test.\n! a.test. 700 NSEC e.test.\nfor 300 s");
}

/* However many proofs a nameserver sends: so many are looked at. */
UNIT_TEST(test_too_many_proofs)
{
    enum { SENT = 100, CACHED = 32 };
    static char given[1 << 14];
    size_t used =
        (size_t)snprintf(given, sizeof(given), "NXDOMAIN qr\n? b.test. IN A\n! test. 900" SOA "\n");
    for (unsigned i = 0; i < SENT; i++) {
        used += (size_t)snprintf(given + used, sizeof(given) - used,
                                 "! a%u.test. 700 NSEC c.test.\n", i);
    }
    const struct cache_key key = others_key("b.test. A do");
    external_reply_make(&reply, given);
    struct result result = read_with(&key, 3600, 0);
    assert_int_equal(result.verdict, CACHE_HIT);
    assert_int_equal(result.hit.authorities, 1 + CACHED);
}

static void cache_image_make_addresses(unsigned count, unsigned chain)
{
    static char given[1 << 18];
    size_t used = (size_t)snprintf(given, sizeof(given), "NOERROR qr\n? a.test. IN A\n");
    used += (size_t)snprintf(given + used, sizeof(given) - used, "%s",
                             chain ? "= a.test. 60 CNAME b.other.\n" : "");
    for (unsigned i = 0; i < count; i++) {
        used += (size_t)snprintf(given + used, sizeof(given) - used, "= %s 60 A 10.0.%u.%u\n",
                                 chain ? "b.other." : "a.test.", i / 256, i % 256);
    }
    external_reply_make(&reply, given);
}

static unsigned last_byte(const struct result *result, unsigned number, unsigned of)
{
    return records[result->hit.answers_len - (size_t)(of - number) * 16 + 15];
}

/* Every order comes up, TTLs stay with their addresses, the CNAME stays first. */
UNIT_TEST(test_shuffle)
{
    enum { ADDRESSES = 3, ORDERS = 6 };
    const struct cache_key key = others_key("a.test. A do");
    for (unsigned chain = 0; chain < 2; chain++) {
        bool seen[ADDRESSES * ADDRESSES * ADDRESSES] = {0};
        unsigned orders = 0;
        cache_image_make_addresses(ADDRESSES, chain);
        for (uint32_t random = 1; random < 1000; random++) {
            struct result result = read_with(&key, 60, random * 2654435761u);
            unsigned order = 0, set = 0;
            assert_int_equal(result.hit.answers, ADDRESSES + chain);
            for (unsigned i = 0; i < ADDRESSES; i++) {
                order = order * ADDRESSES + last_byte(&result, i, ADDRESSES);
                set |= 1u << last_byte(&result, i, ADDRESSES);
            }
            assert_int_equal(set, 7);
            orders += seen[order] ? 0 : 1;
            seen[order] = true;
            external_text(&key, &result.hit, records, text, sizeof(text));
            assert_null(strstr(text, "malformed"));
            assert_true(!chain || strstr(text, "IN A\n= a.test. 60 CNAME b.other.\n"));
        }
        assert_int_equal(orders, ORDERS);
        struct result result = read_with(&key, 60, 0);
        assert_int_equal(last_byte(&result, 0, ADDRESSES), 0);
    }
}

/* Any of thousands of addresses may come first, but few move: clients try no more. */
UNIT_TEST(test_shuffle_of_many)
{
    enum { ADDRESSES = 3000, MOVED_MAX = 600, PARTS = 10 };
    const struct cache_key key = others_key("a.test. A do");
    bool is_first[PARTS] = {0};
    cache_image_make_addresses(ADDRESSES, 0);
    for (uint32_t random = 1; random < 200; random++) {
        struct result result = read_with(&key, 60, random * 2654435761u);
        bool seen[ADDRESSES] = {0};
        unsigned moved = 0;
        assert_int_equal(result.hit.answers, ADDRESSES);
        for (unsigned i = 0; i < ADDRESSES; i++) {
            const uint8_t *data = records + result.hit.answers_len - (ADDRESSES - i) * 16 + 12;
            const unsigned number = data[2] * 256u + data[3];
            assert_true(number < ADDRESSES && !seen[number]);
            seen[number] = true;
            moved += number != i;
            is_first[i == 0 ? number * PARTS / ADDRESSES : 0] |= i == 0;
        }
        assert_in_range(moved, 256, MOVED_MAX);
    }
    for (unsigned i = 0; i < PARTS; i++) {
        assert_true(is_first[i]);
    }
}

/* Its records have their TTLs: nothing is left to do for each query that waits for it. */
UNIT_TEST(test_ttls_of_the_image)
{
    const struct cache_key key = others_key("a.test. A");
    struct cache_image image = {0};
    struct parsed_response response;
    external_reply_make(&reply, "NOERROR qr\n? a.test. IN A\n= a.test. 300 A 10.0.0.1\n");
    response_parse(reply.wire, reply.len, &response);
    assert_int_equal(cache_image_make(&image, &key, &response, 60), CACHE_HIT);
    const uint8_t *ttl = image.bytes + image.cached.records_at + 6;
    assert_int_equal(ttl[2] << 8 | ttl[3], 60);
    cache_image_fini(&image);
    response_parse_fini(&response);
}

/* Room for both sections, for the first, for none. */
UNIT_TEST(test_room)
{
    struct cache_key key = others_key("b.test. A");
    struct cache_hit hit;
    external_reply_make(&reply, "NOERROR qr\n? b.test. IN A\n= b.test. 60 CNAME c.test.\n"
                                "! test. 60" SOA);
    CLEANUP(response_parse_fini) struct parsed_response response;
    response_parse(reply.wire, reply.len, &response);
    memset(records, 0, sizeof(records));
    for (size_t room = 200; room-- > 0;) {
        uint8_t *exact = test_malloc(room + 1);
        memset(exact, 0x55, room + 1);
        assert_int_equal(cached_first(&key, &response, 60, 1, exact, room, &hit), CACHE_HIT);
        size_t copied = hit.len <= room ? hit.len : hit.answers_len <= room ? hit.answers_len : 0;
        assert_int_equal(hit.answers, 1);
        assert_int_equal(hit.authorities, 1);
        assert_true(hit.answers_len > 0 && hit.answers_len < hit.len);
        assert_int_equal(hit.shown_len, copied);
        assert_int_equal(hit.shown_answers, copied > 0);
        assert_int_equal(hit.shown_authorities, copied == hit.len);
        assert_int_equal(exact[room], 0x55);
        assert_true(copied == 0 || exact[copied - 1] != 0x55);
        test_free(exact);
    }
}

/* The largest reply is kept whole; one whose names grow beyond a message is not. */
UNIT_TEST(test_size)
{
    const struct cache_key key = others_key("a.test. A");
    cache_image_make_addresses(4000, 0);
    struct result result = read_with(&key, 60, 0);
    assert_int_equal(result.verdict, CACHE_HIT);
    assert_int_equal(result.hit.answers, 4000);
    external_text(&key, &result.hit, records, text, sizeof(text));
    assert_non_null(strstr(text, "= a.test. 60 A 10.0.15.159"));
    static char given[1 << 18];
    const char *label = "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx.";
    size_t used = (size_t)snprintf(given, sizeof(given), "NOERROR qr\n? a.test. IN SRV\n");
    for (unsigned i = 0; i < 300; i++) {
        used += (size_t)snprintf(given + used, sizeof(given) - used,
                                 "= a.test. 60 SRV 1 2 %u %s%s%s%stest.\n", i, label, label, label,
                                 label);
    }
    assert_string_equal(cache_image_cached("a.test. SRV", given), "too large");
}

/* ---- The dearest responses ---- */

static struct writer dear;

/* "x." and a label of two letters. */
static struct dname dear_name(unsigned number, bool has_x)
{
    char label[16];
    struct dname name = {0};
    (void)snprintf(label, sizeof(label), "%s%c%c.", has_x ? "x." : "", 'a' + (int)(number / 26),
                   'a' + (int)(number % 26));
    assert_true(dname_from_text(slice_str(label), &name));
    return name;
}

static void put_dear(const struct dname *owner, uint16_t type, const uint8_t *data, size_t len)
{
    writer_bytes(&dear, owner->wire, owner->len);
    writer_u16(&dear, type);
    writer_u16(&dear, DNS_CLASS_IN);
    writer_u32(&dear, 60);
    writer_u16(&dear, (uint16_t)len);
    writer_bytes(&dear, data, len);
}

/* The smallest record, of nothing. */
static void put_fillers(unsigned count)
{
    static const struct dname root = {.len = 1};
    for (unsigned i = 0; i < count; i++) {
        put_dear(&root, 65280, NULL, 0);
    }
}

static void begin_dear(unsigned answers, unsigned authorities)
{
    const struct dname asked = dear_name(0, true);
    const uint16_t head[] = {1, 0x8180, 1, (uint16_t)answers, (uint16_t)authorities, 0};
    dear = writer_of(reply.wire, sizeof(reply.wire));
    for (size_t i = 0; i < ARRAY_LEN(head); i++) {
        writer_u16(&dear, head[i]);
    }
    writer_bytes(&dear, asked.wire, asked.len);
    writer_u16(&dear, DNS_TYPE_TXT);
    writer_u16(&dear, DNS_CLASS_IN);
}

/* Steps for each byte. */
static size_t dear_steps(enum cache_verdict wanted)
{
    struct cache_key key = {.name = dear_name(0, true),
                            .type = DNS_TYPE_TXT,
                            .qclass = DNS_CLASS_IN,
                            .dnssec_ok = true};
    struct parsed_response response;
    struct cache_image image = {0};
    assert_false(dear.failed);
    response_parse(reply.wire, dear.pos, &response);
    assert_true(response.is_whole);
    assert_int_equal(cache_image_make(&image, &key, &response, 3600), wanted);
    const size_t steps = image.cached.steps;
    assert_true(steps <= CACHED_SCANS_MAX * response.count);
    assert_true(steps <= CACHED_STEPS_PER_BYTE * dear.pos);
    response_parse_fini(&response);
    cache_image_fini(&image);
    return steps / dear.pos;
}

/* CNAMEs made of DNAMEs, behind everything else: all is looked at five times for each. */
UNIT_TEST(test_steps_of_a_chain)
{
    enum { FILLERS = 5800 };
    begin_dear(FILLERS + 2 * CACHED_CNAMES_MAX, 0);
    put_fillers(FILLERS);
    for (unsigned i = CACHED_CNAMES_MAX; i-- > 0;) {
        const struct dname above = dear_name(i, false), next = dear_name(i + 1, false);
        const struct dname name = dear_name(i, true), target = dear_name(i + 1, true);
        put_dear(&name, DNS_TYPE_CNAME, target.wire, target.len);
        put_dear(&above, DNS_TYPE_DNAME, next.wire, next.len);
    }
    assert_in_range(dear_steps(CACHE_NO_SOA), 6, CACHED_STEPS_PER_BYTE);
}

/* Sets of proofs, each with the zone's denial, in front of everything else or behind it. */
UNIT_TEST(test_steps_of_proofs)
{
    enum { FILLERS = 5300 };
    static const uint8_t soa[22] = {[21] = 60}, next[1] = {0};
    static const struct dname root = {.len = 1};
    begin_dear(0, FILLERS + CACHED_PROOFS_MAX + 1);
    put_fillers(FILLERS);
    put_dear(&root, DNS_TYPE_SOA, soa, sizeof(soa));
    for (unsigned i = 0; i < CACHED_PROOFS_MAX; i++) {
        const struct dname owner = dear_name(i, false);
        put_dear(&owner, DNS_TYPE_NSEC, next, sizeof(next));
    }
    assert_in_range(dear_steps(CACHE_HIT), 5, CACHED_STEPS_PER_BYTE);
}
