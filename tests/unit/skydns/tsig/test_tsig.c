/* Signed messages: against another program's bytes (tsig_vectors.h), and whatever is changed of
 * them. */
#include "common/dns/dns.h"
#include "skydns/tsig/tsig.h"
#include "skydns/wire/query_parse.h"
#include "skydns/wire/question.h"
#include "tests/support/unit_test.h"
#include "tsig_vectors.h"

enum { SIGNED_AT_S = 1700000000, FUDGE_S = 300 };

#define SECRET "AQIDBAUGBwgJCgsMDQ4PEBESExQVFhcYGRobHB0eHyA="
#define KEY(algorithm)                                                        \
    "key \"K1.keys.\" { algorithm " algorithm "; secret \"" SECRET "\"; };\n" \
    "key other { algorithm " algorithm "; secret \"AAAA\"; };\n"

static struct tsig_keys *tsig_keys_of_text(const char *text)
{
    struct tsig_keys *keys;
    struct err err;
    assert_int_equal(tsig_keys_parse(slice_str(text), &keys, &err), 0);
    return keys;
}

struct bed {
    struct tsig_keys *keys;
    struct tsig_query query;
};

static void tsig_setup(struct bed *bed)
{
    *bed = (struct bed){.keys = tsig_keys_of_text(KEY("hmac-sha256"))};
}

static void tsig_teardown(struct bed *bed)
{
    tsig_keys_unref(bed->keys);
}

UNIT_FIXTURE(struct bed, tsig_setup, tsig_teardown)

static enum tsig_verdict tsig_open_at(struct bed *bed, const uint8_t *wire, size_t len,
                                      int64_t now_s)
{
    struct question question;
    enum tsig_verdict verdict;
    (void)!question_parse(wire, len, &question); /* says where the record is, whatever it says */
    verdict = tsig_open(bed->keys, wire, len, &question.tsig, now_s, &bed->query);
    assert_int_equal(bed->query.verdict, verdict);
    return verdict;
}

static enum tsig_verdict open_now(struct bed *bed, const uint8_t *wire, size_t len)
{
    return tsig_open_at(bed, wire, len, SIGNED_AT_S);
}

/* ---- Queries ---- */

UNIT_TEST_ON(every_algorithm, struct bed *bed)
{
    static const struct {
        const char *keys;
        const uint8_t *wire;
        size_t len;
    } cases[] = {
        {KEY("hmac-sha1"), query_sha1, sizeof(query_sha1)},
        {KEY("hmac-sha224"), query_sha224, sizeof(query_sha224)},
        {KEY("HMAC-SHA256."), query_sha256, sizeof(query_sha256)},
        {KEY("hmac-sha384"), query_sha384, sizeof(query_sha384)},
        {KEY("hmac-sha512"), query_sha512, sizeof(query_sha512)},
    };
    struct fast_query ordinary;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        tsig_keys_unref(bed->keys);
        bed->keys = tsig_keys_of_text(cases[i].keys);
        assert_false(fast_query_read(cases[i].wire, cases[i].len, &ordinary));
        assert_int_equal(open_now(bed, cases[i].wire, cases[i].len), TSIG_GOOD);
        for (size_t k = 0; k < ARRAY_LEN(cases); k++) { /* the key is for one algorithm */
            enum tsig_verdict expected = k == i ? TSIG_GOOD : TSIG_BAD_KEY;
            assert_int_equal(open_now(bed, cases[k].wire, cases[k].len), expected);
        }
    }
}

UNIT_TEST_ON(leaves_the_query, struct bed *bed)
{
    struct fast_query ordinary;
    uint8_t plain[sizeof(query_sha256)];
    assert_int_equal(open_now(bed, query_sha256, sizeof(query_sha256)), TSIG_GOOD);
    size_t len = bed->query.plain_len;
    assert_int_equal(len, DNS_HEADER_SIZE + 13 + 4 + 11); /* the question and OPT */
    memcpy(plain, query_sha256, len);
    plain[11] = 1;
    assert_int_equal(open_now(bed, plain, len), TSIG_NONE);
    assert_true(fast_query_read(plain, len, &ordinary));
    assert_string_equal(tsig_key_algorithm(tsig_keys_at(bed->keys, 0)), "hmac-sha256");
}

/* A forwarder gives it another ID: the first is in the record. */
UNIT_TEST_ON(another_id, struct bed *bed)
{
    uint8_t wire[sizeof(query_sha256)];
    memcpy(wire, query_sha256, sizeof(wire));
    wire[0] ^= 0xff;
    assert_int_equal(open_now(bed, wire, sizeof(wire)), TSIG_GOOD);
}

UNIT_TEST_ON(times, struct bed *bed)
{
    static const struct {
        int64_t after_s;
        enum tsig_verdict verdict;
    } cases[] = {{-FUDGE_S, TSIG_GOOD},         {FUDGE_S, TSIG_GOOD},
                 {-FUDGE_S - 1, TSIG_BAD_TIME}, {FUDGE_S + 1, TSIG_BAD_TIME},
                 {-SIGNED_AT_S, TSIG_BAD_TIME}, {INT64_C(1) << 40, TSIG_BAD_TIME}};
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        assert_int_equal(
            tsig_open_at(bed, query_sha256, sizeof(query_sha256), SIGNED_AT_S + cases[i].after_s),
            cases[i].verdict);
    }
}

/* Nothing but the ID and the case of the key's and the algorithm's names can differ. */
UNIT_TEST_ON(every_bit_counts, struct bed *bed)
{
    unsigned verdicts[TSIG_VERDICTS] = {0};
    for (size_t i = 2; i < sizeof(query_sha256); i++) {
        for (unsigned bit = 0; bit < 8; bit++) {
            uint8_t wire[sizeof(query_sha256)];
            memcpy(wire, query_sha256, sizeof(wire));
            wire[i] ^= (uint8_t)(1u << bit);
            enum tsig_verdict verdict = open_now(bed, wire, sizeof(wire));
            bool is_case = bit == 5 && i >= bed->query.plain_len && verdict == TSIG_GOOD;
            assert_true(verdict != TSIG_GOOD || is_case);
            verdicts[verdict]++;
        }
    }
    assert_true(verdicts[TSIG_BAD_SIG] > 8 * 32);
    assert_true(verdicts[TSIG_BAD_KEY] > 0 && verdicts[TSIG_MALFORMED] > 0);
    assert_true(verdicts[TSIG_GOOD] > 0 && verdicts[TSIG_GOOD] < 24);
}

UNIT_TEST_ON(cut_anywhere, struct bed *bed)
{
    for (size_t len = 0; len < sizeof(query_sha256); len++) {
        assert_int_equal(open_now(bed, query_sha256, len), TSIG_NONE); /* it is no message */
    }
}

UNIT_TEST_ON(wrong_secret, struct bed *bed)
{
    tsig_keys_unref(bed->keys);
    bed->keys = tsig_keys_of_text("key k1.keys { algorithm hmac-sha256; secret \"AAAA\"; };");
    assert_int_equal(open_now(bed, query_sha256, sizeof(query_sha256)), TSIG_BAD_SIG);
    tsig_keys_unref(bed->keys);
    bed->keys = tsig_keys_of_text("key k2.keys { algorithm hmac-sha256; secret \"" SECRET "\"; };");
    assert_int_equal(open_now(bed, query_sha256, sizeof(query_sha256)), TSIG_BAD_KEY);
    assert_null(bed->query.key);
}

/* From the end: 32 bytes of MAC, its length before, ID, error and other length behind. */
enum { MAC_AT = sizeof(query_sha256) - 6 - 32 };

static size_t with_mac_of(size_t mac_len, uint8_t *wire)
{
    enum { RDATA_LEN_AT = MAC_AT - 2 - 8 - 13 - 2 };
    size_t rdata_len = 13 + 8 + 2 + mac_len + 6;
    memcpy(wire, query_sha256, MAC_AT + mac_len);
    memcpy(wire + MAC_AT + mac_len, query_sha256 + MAC_AT + 32, 6);
    wire[MAC_AT - 1] = (uint8_t)mac_len;
    wire[RDATA_LEN_AT] = (uint8_t)(rdata_len >> 8);
    wire[RDATA_LEN_AT + 1] = (uint8_t)rdata_len;
    return MAC_AT + mac_len + 6;
}

UNIT_TEST_ON(truncated_macs, struct bed *bed)
{
    uint8_t wire[sizeof(query_sha256)];
    for (size_t mac_len = 0; mac_len <= 32; mac_len++) {
        enum tsig_verdict expected = mac_len == 32   ? TSIG_GOOD
                                     : mac_len >= 16 ? TSIG_BAD_TRUNC
                                                     : TSIG_MALFORMED;
        assert_int_equal(open_now(bed, wire, with_mac_of(mac_len, wire)), expected);
    }
    size_t len = with_mac_of(16, wire);
    wire[MAC_AT] ^= 1;
    assert_int_equal(open_now(bed, wire, len), TSIG_BAD_SIG);
}

/* The record of the query once more behind it, or another one. */
UNIT_TEST_ON(not_the_last, struct bed *bed)
{
    uint8_t wire[2 * sizeof(query_sha256)];
    assert_int_equal(open_now(bed, query_sha256, sizeof(query_sha256)), TSIG_GOOD);
    size_t at = bed->query.plain_len, len = sizeof(query_sha256), record = len - at;
    memcpy(wire, query_sha256, len);
    memcpy(wire + len, query_sha256 + at, record);
    wire[11] = 3;
    assert_int_equal(open_now(bed, wire, len + record), TSIG_MALFORMED);
    memcpy(wire + len, query_sha256 + at - 11, 11); /* OPT */
    assert_int_equal(open_now(bed, wire, len + 11), TSIG_MALFORMED);
    memcpy(wire, query_sha256, len);
    wire[11] = 1; /* in the authority section */
    wire[9] = 1;
    assert_int_equal(open_now(bed, wire, len), TSIG_BAD_SIG); /* OPT there; the record is last */
    wire[11] = 0;
    wire[9] = 2;
    assert_int_equal(open_now(bed, wire, len), TSIG_NONE); /* as any other record there */
}

/* Padded by a record before it, as far as it goes and one byte further. */
UNIT_TEST_ON(too_long, struct bed *bed)
{
    uint8_t wire[TSIG_QUERY_MAX + 1];
    assert_int_equal(open_now(bed, query_sha256, sizeof(query_sha256)), TSIG_GOOD);
    size_t at = bed->query.plain_len, record = sizeof(query_sha256) - at;
    for (size_t len = TSIG_QUERY_MAX; len <= TSIG_QUERY_MAX + 1; len++) {
        size_t rdata_len = len - at - record - 11;
        memset(wire, 0, sizeof(wire));
        memcpy(wire, query_sha256, at);
        memcpy(wire + at, (uint8_t[]){0, 0, 16, 0, 1, 0, 0, 0, 0}, 9);
        wire[at + 9] = (uint8_t)(rdata_len >> 8);
        wire[at + 10] = (uint8_t)rdata_len;
        memcpy(wire + len - record, query_sha256 + at, record);
        wire[11] = 3;
        assert_int_equal(open_now(bed, wire, len),
                         len > TSIG_QUERY_MAX ? TSIG_MALFORMED : TSIG_BAD_SIG);
    }
}

/* ---- Replies ---- */

UNIT_TEST_ON(replies, struct bed *bed)
{
    uint8_t reply[512], mac[TSIG_MAC_MAX];
    size_t mac_len;
    assert_int_equal(open_now(bed, query_sha256, sizeof(query_sha256)), TSIG_GOOD);
    assert_int_equal(tsig_reply_size(&bed->query), sizeof(reply_signed) - sizeof(reply_plain));
    memcpy(reply, reply_plain, sizeof(reply_plain));
    size_t len =
        tsig_sign(&bed->query, NULL, 0, SIGNED_AT_S, reply, sizeof(reply_plain), mac, &mac_len);
    assert_int_equal(len, sizeof(reply_signed));
    assert_memory_equal(reply, reply_signed, len);
    assert_int_equal(mac_len, 32);
    memcpy(reply, reply_plain, sizeof(reply_plain));
    len = tsig_sign(&bed->query, mac, mac_len, SIGNED_AT_S, reply, sizeof(reply_plain), NULL, NULL);
    assert_int_equal(len, sizeof(reply_second));
    assert_memory_equal(reply, reply_second, len);
}

UNIT_TEST_ON(says_the_time, struct bed *bed)
{
    uint8_t reply[512];
    int64_t now_s = SIGNED_AT_S + 1000;
    assert_int_equal(tsig_open_at(bed, query_sha256, sizeof(query_sha256), now_s), TSIG_BAD_TIME);
    assert_int_equal(tsig_reply_size(&bed->query), sizeof(reply_late) - sizeof(reply_late_plain));
    memcpy(reply, reply_late_plain, sizeof(reply_late_plain));
    size_t len =
        tsig_sign(&bed->query, NULL, 0, now_s, reply, sizeof(reply_late_plain), NULL, NULL);
    assert_int_equal(len, sizeof(reply_late));
    assert_memory_equal(reply, reply_late, len);
}

/* Nothing is signed with a key that the client may not have. */
UNIT_TEST_ON(unsigned_replies, struct bed *bed)
{
    static const char *const wrong[] = {
        "key k1.keys { algorithm hmac-sha256; secret \"AAAA\"; };", /* BADSIG */
        "key k2.keys { algorithm hmac-sha256; secret \"AAAA\"; };", /* BADKEY */
    };
    for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
        uint8_t reply[512];
        tsig_keys_unref(bed->keys);
        bed->keys = tsig_keys_of_text(wrong[i]);
        (void)open_now(bed, query_sha256, sizeof(query_sha256));
        memcpy(reply, reply_plain, sizeof(reply_plain));
        size_t size = tsig_reply_size(&bed->query);
        size_t len =
            tsig_sign(&bed->query, NULL, 0, SIGNED_AT_S, reply, sizeof(reply_plain), NULL, NULL);
        assert_int_equal(len, sizeof(reply_plain) + size);
        assert_int_equal(size, sizeof(reply_signed) - sizeof(reply_plain) - 32);
        static const uint8_t no_mac[] = {0, 0, 0x12, 0x34, 0}; /* its length, the ID */
        assert_memory_equal(reply + len - 8, no_mac, sizeof(no_mac));
        assert_int_equal(reply[len - 3], 16 + i);
        assert_int_equal(reply[11], reply_plain[11] + 1);
    }
}
