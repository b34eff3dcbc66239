/* Any bytes as a query: its TSIG record is judged, and a reply to it can be signed. */
#include "common/dns/dns.h"
#include "skydns/tsig/tsig.h"
#include "skydns/wire/query_parse.h"
#include "skydns/wire/question.h"
#include "tests/fuzz/fuzz_target.h"

enum { NOW_S = 1700000000 };

static const struct tsig_keys *tsig_keys_of(void)
{
    static struct tsig_keys *keys;
    static const char text[] =
        "key k1.keys { algorithm hmac-sha256; secret \"AQIDBAUGBwgJCgsMDQ4PEB"
        "ESExQVFhcYGRobHB0eHyA=\"; };";
    struct err err;
    if (!keys) {
        fuzz_check(tsig_keys_parse(slice_str(text), &keys, &err) == 0);
    }
    return keys;
}

/* A query without the record is the same question. */
static void check_plain(const uint8_t *data, size_t size, size_t plain_len)
{
    uint8_t plain[TSIG_QUERY_MAX];
    struct question before, after;
    fuzz_check(plain_len >= DNS_HEADER_SIZE && plain_len < size && size <= sizeof(plain));
    memcpy(plain, data, plain_len);
    const unsigned additionals = (unsigned)(plain[10] << 8 | plain[11]) - 1;
    plain[10] = (uint8_t)(additionals >> 8);
    plain[11] = (uint8_t)additionals;
    if (question_parse(data, size, &before) == QUESTION_OK) {
        fuzz_check(question_parse(plain, plain_len, &after) == QUESTION_OK);
        fuzz_check(dname_equal(&before.name, &after.name) && before.type == after.type);
        fuzz_check(after.tsig.at == 0);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct tsig_query query;
    struct fast_query ordinary;
    struct question question;
    uint8_t reply[DNS_UDP_SIZE + TSIG_RECORD_MAX] = {0};
    (void)!question_parse(data, size, &question);
    enum tsig_verdict verdict =
        tsig_open(tsig_keys_of(), data, size, &question.tsig, NOW_S, &query);
    fuzz_check(verdict == query.verdict && verdict < TSIG_VERDICTS);
    if (verdict == TSIG_NONE || verdict == TSIG_MALFORMED) {
        return 0;
    }
    fuzz_check(!fast_query_read(data, size, &ordinary)); /* the engine does not look into these */
    fuzz_check((query.key != NULL) == (verdict != TSIG_BAD_KEY));
    check_plain(data, size, query.plain_len);
    size_t added = tsig_reply_size(&query);
    fuzz_check(added <= (query.key ? (size_t)TSIG_KNOWN_MAX : (size_t)TSIG_RECORD_MAX));
    size_t len = tsig_sign(&query, NULL, 0, NOW_S, reply, DNS_HEADER_SIZE, NULL, NULL);
    fuzz_check(len == DNS_HEADER_SIZE + added && reply[11] == 1);
    return 0;
}
