#include "skydns/answer/fast_query_internal.h"

#include <string.h>

#include "common/dns/dns.h"
#include "skydns/answer/edns.h"

enum { QUESTION_TAIL = 4 }; /* type, class */

static uint16_t u16_at(const uint8_t *at)
{
    return (uint16_t)(at[0] << 8 | at[1]);
}

/* A query, opcode QUERY, one question, at most one record, which is additional. */
static bool is_ordinary(const uint8_t *wire)
{
    static const uint8_t one_question[] = {0, 1, 0, 0, 0, 0, 0};
    return (wire[2] & (DNS_FLAG_QR | DNS_MASK_OPCODE) >> 8) == 0 &&
           memcmp(wire + 4, one_question, sizeof(one_question)) == 0 && wire[11] <= 1;
}

/* Finds the labels; `left` bytes bound the name. */
static bool find_labels(const uint8_t *name, size_t left, struct fast_query *q)
{
    unsigned pos = 0, labels = 0;
    size_t end = left < DNAME_MAX ? left : DNAME_MAX;
    while (pos < end && name[pos] != 0) {
        if (name[pos] > 63 || labels == DNAME_LABELS_MAX) {
            return false;
        }
        q->offsets[labels++] = (uint8_t)pos;
        pos += name[pos] + 1u;
    }
    q->offsets[labels] = (uint8_t)pos;
    q->name_len = (uint8_t)(pos + 1);
    q->label_count = (uint8_t)labels;
    return pos < end;
}

enum { WORD = sizeof(uint64_t) };
#define EACH_BYTE(c) ((c)*UINT64_C(0x0101010101010101))

/* Nonzero when one of the bytes is a dot. */
static uint64_t dots(uint64_t word)
{
    uint64_t x = word ^ EACH_BYTE('.');
    return (x - EACH_BYTE(1)) & ~x & EACH_BYTE(0x80);
}

/* Eight bytes at a time, the labels' lengths included: none of them is a letter. A length of 46
 * looks like a dot, and sends its name to the slow path. */
static bool fold(const uint8_t *name, struct fast_query *q)
{
    uint64_t any_dot = 0, any_capital = 0;
    size_t padded = (q->name_len + WORD - 1u) & ~(WORD - 1u);
    memset(q->name + padded - WORD, 0, WORD);
    memcpy(q->name, name, q->name_len);
    for (size_t i = 0; i < padded; i += WORD) {
        uint64_t word;
        memcpy(&word, q->name + i, WORD);
        uint64_t upper = ascii_capitals(word);
        any_dot |= dots(word);
        any_capital |= upper;
        word |= upper >> 2;
        memcpy(q->name + i, &word, WORD);
    }
    q->is_lower = any_capital == 0;
    return any_dot == 0;
}

/* Version 0, no options, nothing after it. */
static bool read_opt(const uint8_t *opt, size_t left, struct fast_query *q)
{
    if (left != EDNS_OPT_SIZE || opt[0] != 0 || u16_at(opt + 1) != DNS_TYPE_OPT || opt[6] != 0 ||
        u16_at(opt + 9) != 0) {
        return false;
    }
    q->has_edns = true;
    q->udp_size = u16_at(opt + 3);
    q->dnssec_ok = (opt[7] & DNS_EDNS_DO >> 8) != 0;
    return true;
}

bool fast_query_read(const uint8_t *wire, size_t len, struct fast_query *ret_query)
{
    struct fast_query *q = ret_query;
    if (len < DNS_HEADER_SIZE || !is_ordinary(wire) ||
        !find_labels(wire + DNS_HEADER_SIZE, len - DNS_HEADER_SIZE, q) ||
        !fold(wire + DNS_HEADER_SIZE, q)) {
        return false;
    }
    const uint8_t *tail = wire + DNS_HEADER_SIZE + q->name_len;
    size_t left = len - DNS_HEADER_SIZE - q->name_len;
    if (left < QUESTION_TAIL || u16_at(tail + 2) != DNS_CLASS_IN) {
        return false;
    }
    q->wire = wire;
    q->type = u16_at(tail);
    q->has_edns = q->dnssec_ok = false;
    q->udp_size = 0;
    left -= QUESTION_TAIL;
    return wire[11] ? read_opt(tail + QUESTION_TAIL, left, q) : left == 0;
}
