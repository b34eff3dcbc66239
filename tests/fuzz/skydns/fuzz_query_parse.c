/* Any bytes as a query: what is read in the tuned pass is what question_parse reads, and what a
 * query that waits owns says the same. */
#include "common/dns/dns.h"
#include "skydns/wire/owned_query.h"
#include "skydns/wire/query_parse.h"
#include "tests/fuzz/fuzz_target.h"

enum { QUERY_MAX = 4096 };

static bool is_same_cookie(const struct cookie *a, const struct cookie *b)
{
    return a->len == b->len && memcmp(a->bytes, b->bytes, a->len) == 0;
}

static void check_same(const struct question *a, const struct question *b)
{
    fuzz_check(a->id == b->id && a->opcode == b->opcode && a->type == b->type &&
               a->qclass == b->qclass);
    fuzz_check(a->recursion_desired == b->recursion_desired &&
               a->wants_authentic == b->wants_authentic &&
               a->checking_disabled == b->checking_disabled);
    fuzz_check(a->name.len == b->name.len && memcmp(a->name.wire, b->name.wire, a->name.len) == 0);
    fuzz_check(a->has_edns == b->has_edns && a->udp_size == b->udp_size &&
               a->dnssec_ok == b->dnssec_ok && a->is_from_stub == b->is_from_stub);
    fuzz_check(a->subnet_len == b->subnet_len && memcmp(a->subnet, b->subnet, a->subnet_len) == 0);
    fuzz_check(is_same_cookie(&a->cookie, &b->cookie) && a->asks == b->asks);
}

static void check_ordinary(const struct fast_query *fast, const struct question *question)
{
    struct dname lower = question->name;
    struct dname_labels labels;
    dname_lower(&lower);
    dname_labels(&lower, &labels);
    fuzz_check(fast->name_len == lower.len && memcmp(fast->name, lower.wire, lower.len) == 0);
    fuzz_check(fast->label_count == labels.count && fast->offsets[labels.count] == lower.len - 1);
    fuzz_check(memcmp(fast->offsets, labels.offsets, labels.count) == 0);
    fuzz_check(fast->is_lower == (memcmp(question->name.wire, lower.wire, lower.len) == 0));
}

/* Checks that a waiting query's own data say the same, except a cookie that cannot be ours. */
static void check_owned(struct query *query, const struct question *question)
{
    static const struct addr nobody;
    static union owned_query_room room;
    static struct query again;
    const struct engine_query asked = {.parsed = query, .client = &nobody, .local = &nobody};
    struct question known = *question;
    known.cookie.len = known.cookie.len > COOKIE_SIZE ? COOKIE_CLIENT_SIZE : known.cookie.len;
    fuzz_check(owned_query_take(&room.query, &asked) <= OWNED_QUERY_PLAIN_MAX);
    owned_query_read(&room.query, &again);
    fuzz_check(again.verdict == QUESTION_OK && again.is_ordinary == query->is_ordinary);
    check_same(query_question(&again), &known);
    if (again.is_ordinary) {
        fuzz_check(again.fast.type == question->type && again.fast.asks == question->asks);
        check_ordinary(&again.fast, question);
    }
}

static void check_query(const uint8_t *data, size_t size)
{
    static struct query query;
    struct question question;
    enum question_verdict verdict = question_parse(data, size, &question);
    query_parse(data, size, &query);
    fuzz_check(query.verdict == verdict && (!query.is_ordinary || verdict == QUESTION_OK));
    fuzz_check(query_asks(&query) == question.asks);
    if (verdict != QUESTION_OK) {
        fuzz_check(!query_has_cookie(&query) || verdict == QUESTION_NONE ||
                   verdict == QUESTION_BADVERS);
        return;
    }
    check_same(query_question(&query), &question);
    fuzz_check(query_has_cookie(&query) == (question.cookie.len > 0));
    if (query_has_cookie(&query)) {
        const struct cookie cookie = query_cookie(&query);
        fuzz_check(is_same_cookie(&cookie, &question.cookie));
    }
    if (query.is_ordinary) {
        fuzz_check(question.subnet_len == 0 && !question.is_from_stub);
        check_ordinary(&query.fast, &question);
    }
    check_owned(&query, &question);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size <= QUERY_MAX) {
        check_query(data, size);
    }
    return 0;
}
