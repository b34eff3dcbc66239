#include "skydns/wire/query_parse.h"

#include <assert.h>
#include <string.h>

#include "common/base/attributes.h"
#include "common/dns/dns.h"
#include "skydns/wire/cookie_option.h"
#include "skydns/wire/edns.h"

static uint16_t u16_at(const uint8_t *at)
{
    return (uint16_t)(at[0] << 8 | at[1]);
}

/* Returns whether the header is a query's with opcode QUERY, one question, and at most one record,
 * which is additional. */
static bool is_ordinary(const uint8_t *wire)
{
    static const uint8_t one_question[] = {0, 1, 0, 0, 0, 0, 0};
    return (wire[2] & (DNS_FLAG_QR | DNS_MASK_OPCODE) >> 8) == 0 &&
           memcmp(wire + 4, one_question, sizeof(one_question)) == 0 && wire[11] <= 1;
}

/* Finds the labels; `left` bytes bound the name. So short a name has no more labels than there is
 * room for. */
static inline bool find_labels(const uint8_t *name, size_t left, struct fast_query *q)
{
    unsigned pos = 0, labels = 0;
    size_t end = left < DNAME_MAX ? left : DNAME_MAX;
    while (pos + 1 < end && name[pos] != 0) {
        if (name[pos] > DNAME_LABEL_MAX) {
            return false;
        }
        q->offsets[labels++] = (uint8_t)pos;
        pos += name[pos] + 1u;
    }
    q->offsets[labels] = (uint8_t)pos;
    q->name_len = (uint8_t)(pos + 1);
    q->label_count = (uint8_t)labels;
    return pos < end && name[pos] == 0;
}

/* Folds a short name. It folds the labels' lengths with their bytes: none of them is a letter. A
 * length of 46 looks like a dot, and sends its name to the slow path. */
static bool fold_short(const uint8_t *name, struct fast_query *q)
{
    bool has_dot = false;
    for (unsigned i = 0; i < q->name_len; i++) {
        q->name[i] = ascii_lower(name[i]);
        q->is_lower = q->is_lower && q->name[i] == name[i];
        has_dot = has_dot || name[i] == '.';
    }
    return !has_dot;
}

enum { BLOCK = 16 }; /* bytes: a vector register of any processor that has them */
typedef uint8_t block __attribute__((vector_size(BLOCK)));

struct seen {
    block dots, capitals;
};

static void fold_block(const uint8_t *from, uint8_t *to, struct seen *seen)
{
    block bytes;
    memcpy(&bytes, from, BLOCK);
    block capitals = (block)(bytes - 'A' <= 'Z' - 'A');
    seen->dots |= (block)(bytes == '.');
    seen->capitals |= capitals;
    bytes |= capitals & ('a' - 'A');
    memcpy(to, &bytes, BLOCK);
}

static bool is_zero(const block *bytes)
{
    uint64_t words[BLOCK / sizeof(uint64_t)];
    memcpy(words, bytes, BLOCK);
    return (words[0] | words[1]) == 0;
}

/* Folds a longer name block by block; the last one ends with the name. */
static inline bool fold_long(const uint8_t *name, struct fast_query *q)
{
    struct seen seen = {{0}, {0}};
    unsigned last = q->name_len - (unsigned)BLOCK;
    for (unsigned i = 0; i < last; i += BLOCK) {
        fold_block(name + i, q->name + i, &seen);
    }
    fold_block(name + last, q->name + last, &seen);
    q->is_lower = is_zero(&seen.capitals);
    return is_zero(&seen.dots);
}

static inline bool query_parse_fold(const uint8_t *name, struct fast_query *q)
{
    q->is_lower = true;
    return q->name_len < BLOCK ? fold_short(name, q) : fold_long(name, q);
}

/* Reads options that fill the record. Returns false when one changes the answer, or is malformed.
 */
static NOINLINE bool read_ordinary_options(const uint8_t *options, size_t len, struct fast_query *q)
{
    size_t at = 0;
    while (at + EDNS_OPTION_HEAD <= len) {
        size_t code = u16_at(options + at), data_len = u16_at(options + at + 2);
        at += EDNS_OPTION_HEAD;
        if (data_len > len - at || code == EDNS_OPTION_SUBNET || code == EDNS_OPTION_STUB ||
            (code == EDNS_OPTION_COOKIE && !cookie_has_sound_length(data_len))) {
            return false;
        }
        if (code == EDNS_OPTION_COOKIE && q->cookie_len == 0) {
            q->cookie_len = (uint8_t)data_len;
            q->cookie = options + at;
        }
        q->asks |= (uint8_t)edns_asks((unsigned)code, data_len);
        at += data_len;
    }
    return at == len;
}

/* Reads an OPT of version 0 with nothing after it. */
static bool query_parse_read_opt(const uint8_t *opt, size_t left, struct fast_query *q)
{
    if (left < EDNS_OPT_SIZE || opt[0] != 0 || u16_at(opt + 1) != DNS_TYPE_OPT || opt[6] != 0 ||
        u16_at(opt + 9) != left - EDNS_OPT_SIZE) {
        return false;
    }
    q->has_edns = true;
    q->udp_size = u16_at(opt + 3);
    q->dnssec_ok = (opt[7] & DNS_EDNS_DO >> 8) != 0;
    return left == EDNS_OPT_SIZE ||
           read_ordinary_options(opt + EDNS_OPT_SIZE, left - EDNS_OPT_SIZE, q);
}

bool fast_query_read(const uint8_t *wire, size_t len, struct fast_query *ret_query)
{
    struct fast_query *q = ret_query;
    if (len < DNS_HEADER_SIZE || !is_ordinary(wire) ||
        !find_labels(wire + DNS_HEADER_SIZE, len - DNS_HEADER_SIZE, q) ||
        !query_parse_fold(wire + DNS_HEADER_SIZE, q)) {
        return false;
    }
    const uint8_t *tail = wire + DNS_HEADER_SIZE + q->name_len;
    size_t left = len - DNS_HEADER_SIZE - q->name_len;
    if (left < DNS_QUESTION_TAIL || u16_at(tail + 2) != DNS_CLASS_IN) {
        return false;
    }
    q->wire = wire;
    q->type = u16_at(tail);
    q->has_edns = q->dnssec_ok = false;
    q->udp_size = 0;
    q->asks = q->cookie_len = 0;
    left -= DNS_QUESTION_TAIL;
    return wire[11] ? query_parse_read_opt(tail + DNS_QUESTION_TAIL, left, q) : left == 0;
}

bool fast_query_set_name(struct fast_query *query, const uint8_t *wire, uint8_t name_len)
{
    const bool has_labels = find_labels(wire + DNS_HEADER_SIZE, name_len, query);
    query->wire = wire;
    return query_parse_fold(wire + DNS_HEADER_SIZE, query) && has_labels;
}

bool fast_query_may_have_cookie(const uint8_t *wire, size_t len)
{
    enum { ANSWERS_AT = 6, AUTHORITIES_AT = 8, ADDITIONALS_AT = 10, OPT_AND_TSIG = 2 };
    if (len < DNS_HEADER_SIZE + EDNS_OPT_SIZE || u16_at(wire + ADDITIONALS_AT) == 0 ||
        u16_at(wire + ADDITIONALS_AT) > OPT_AND_TSIG || u16_at(wire + AUTHORITIES_AT) > 1 ||
        u16_at(wire + ANSWERS_AT) > 0) {
        return false;
    }
    const uint8_t *opt = wire + len - EDNS_OPT_SIZE;
    return opt[0] != 0 || u16_at(opt + 1) != DNS_TYPE_OPT || u16_at(opt + 9) != 0;
}

void query_parse_other(const uint8_t *wire, size_t len, struct query *query)
{
    query->verdict = question_parse(wire, len, &query->question);
    query->has_question = true;
}

void query_parse(const uint8_t *wire, size_t len, struct query *ret_query)
{
    query_parse_ordinary(wire, len, ret_query);
    if (!ret_query->is_ordinary) {
        query_parse_other(wire, len, ret_query);
    }
}

static void fill_cookie(const struct fast_query *fast, struct cookie *cookie)
{
    cookie->len = fast->cookie_len;
    if (fast->cookie_len > 0) {
        memcpy(cookie->bytes, fast->cookie, fast->cookie_len);
    }
}

const struct question *query_question(struct query *query)
{
    const struct fast_query *fast = &query->fast;
    struct question *q = &query->question;
    if (query->has_question) {
        return q;
    }
    assert(query->is_ordinary && fast->name_len <= DNAME_MAX);
    const uint8_t *wire = fast->wire;
    *q = question_of_header(wire);
    q->name.len = fast->name_len;
    q->type = fast->type;
    q->qclass = DNS_CLASS_IN;
    q->has_edns = fast->has_edns;
    q->dnssec_ok = fast->dnssec_ok;
    q->udp_size = fast->udp_size;
    q->asks = fast->asks;
    memcpy(q->name.wire, wire + DNS_HEADER_SIZE, fast->name_len);
    fill_cookie(fast, &q->cookie);
    query->has_question = true;
    return q;
}

bool query_make_fast(const struct question *question, const uint8_t *wire, struct fast_query *ret)
{
    ret->type = question->type;
    ret->udp_size = question->udp_size;
    ret->has_edns = question->has_edns;
    ret->dnssec_ok = question->dnssec_ok;
    ret->asks = question->asks;
    ret->cookie_len = question->cookie.len;
    ret->cookie = question->cookie.bytes;
    return fast_query_set_name(ret, wire, question->name.len);
}

struct cookie query_cookie(const struct query *query)
{
    struct cookie cookie = query->question.cookie;
    assert(query_has_cookie(query));
    if (query->is_ordinary) {
        fill_cookie(&query->fast, &cookie);
    }
    return cookie;
}
