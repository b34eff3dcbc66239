#include "tests/recorded/script.h"

#include <string.h>

enum { HEADER = 12, MESSAGE_MAX = 65535, POINTER_TO_NAME = 0xc000 | HEADER };
enum { TYPE_A = 1, TYPE_CNAME = 5, TYPE_SOA = 6, TYPE_PTR = 12, TYPE_MX = 15, TYPE_TXT = 16 };
enum { TYPE_NS = 2, TYPE_AAAA = 28, TYPE_SRV = 33, TYPE_DNAME = 39, CLASS_IN = 1 };
enum { TYPE_RRSIG = 46, TYPE_NSEC = 47 };
enum { FLAG_TC = 0x02, FLAG_RD = 0x01 };                 /* of byte 2 */
enum { FLAG_RA = 0x80, FLAG_AD = 0x20, FLAG_CD = 0x10 }; /* of byte 3 */
enum { NXDOMAIN = 3, SERVFAIL = 2 };
enum { LONG_COUNT = 4000, GOOD_COUNT = 3, LIFE_S = 300 };

static const char ours[] = "\3web\7default\3svc\7cluster\5local";
static const char mail[] = "\4mail\7example\3net";
static const char soa[] = "\2ns\7example\3net\0\5admin\7example\3net\0"
                          "\0\0\0\1\0\0\0\2\0\0\0\3\0\0\0\4\0\0\0\74";

/* A response that grows; what does not fit is left out, all of a record. */
struct message {
    uint8_t *bytes;
    size_t len;
    uint16_t answers, authorities;
};

static void script_put_bytes(struct message *m, const void *bytes, size_t len)
{
    memcpy(m->bytes + m->len, bytes, len);
    m->len += len;
}

static void script_put_u16(struct message *m, unsigned value)
{
    script_put_bytes(m, (const uint8_t[]){(uint8_t)(value >> 8), (uint8_t)value}, 2);
}

/* Its owner by a pointer; false: no room. */
static bool script_put_record(struct message *m, unsigned owner, unsigned type, uint32_t ttl_s,
                              const void *rdata, size_t len)
{
    if (m->len + 12 + len > MESSAGE_MAX) {
        return false;
    }
    script_put_u16(m, owner);
    script_put_u16(m, type);
    script_put_u16(m, CLASS_IN);
    script_put_u16(m, ttl_s >> 16);
    script_put_u16(m, ttl_s & 0xffff);
    script_put_u16(m, (unsigned)len);
    script_put_bytes(m, rdata, len);
    return true;
}

static void script_put_answer(struct message *m, unsigned owner, unsigned type, uint32_t ttl_s,
                              const void *rdata, size_t len)
{
    m->answers = (uint16_t)(m->answers + script_put_record(m, owner, type, ttl_s, rdata, len));
}

/* The number makes it another one. */
static void script_put_typed(struct message *m, unsigned owner, unsigned type, uint32_t ttl_s,
                             unsigned number)
{
    uint8_t rdata[64] = {192, 0, (uint8_t)(2 + (number >> 8)), (uint8_t)number};
    size_t len = 4;
    switch (type) {
    case TYPE_A:
        break;
    case TYPE_AAAA:
        memcpy(rdata, (const uint8_t[16]){0x20, 1, 0xd, 0xb8, [15] = (uint8_t)number}, 16);
        len = 16;
        break;
    case TYPE_NS:
    case TYPE_CNAME:
    case TYPE_DNAME:
    case TYPE_PTR:
        memcpy(rdata, mail, sizeof(mail));
        len = sizeof(mail);
        break;
    case TYPE_SOA:
        len = sizeof(soa) - 1;
        memcpy(rdata, soa, len);
        break;
    case TYPE_MX:
        memcpy(rdata + 2, mail, sizeof(mail));
        len = 2 + sizeof(mail);
        break;
    case TYPE_SRV:
        memcpy(rdata + 6, mail, sizeof(mail));
        len = 6 + sizeof(mail);
        break;
    default: /* TXT, and whatever else: a string */
        memcpy(rdata, (const uint8_t[]){3, 't', 'x', (uint8_t)('0' + number % 10)}, 4);
        break;
    }
    script_put_answer(m, owner, type, ttl_s, rdata, len);
}

static void script_put_soa(struct message *m)
{
    m->authorities = (uint16_t)(m->authorities + script_put_record(m, POINTER_TO_NAME, TYPE_SOA,
                                                                   LIFE_S, soa, sizeof(soa) - 1));
}

/* Three times a CNAME to aliasN.example.net, then the record. */
static void script_put_chain(struct message *m, unsigned type)
{
    unsigned owner = POINTER_TO_NAME;
    for (unsigned i = 0; i < 3; i++) {
        char name[] = "\6alias0\7example\3net";
        name[6] = (char)('0' + i);
        unsigned target = 0xc000 | (unsigned)(m->len + 12);
        script_put_answer(m, owner, TYPE_CNAME, LIFE_S - i, name, sizeof(name));
        owner = target;
    }
    script_put_typed(m, owner, type, LIFE_S, 7);
}

static void script_put_strange(struct message *m, unsigned type)
{
    script_put_typed(m, POINTER_TO_NAME, type, LIFE_S, 1);
    script_put_typed(m, POINTER_TO_NAME + 1 + m->bytes[HEADER], type, LIFE_S, 2);
    for (size_t i = HEADER + 1; i < HEADER + 4 && i < m->len; i += 2) {
        m->bytes[i] ^= m->bytes[i] >= 'a' && m->bytes[i] <= 'z' ? 0x20 : 0;
    }
}

/* Returns the part of the name after its first label; the root if there is no more. */
static unsigned script_above(const struct message *m)
{
    const unsigned first = m->bytes[HEADER];
    return POINTER_TO_NAME + (first > 0 ? first + 1 : 0);
}

/* Nobody checks it; the signer is example.net. */
static size_t script_signature(uint8_t rdata[128], unsigned covered, uint8_t labels)
{
    static const char signer[] = "\7example\3net";
    memset(rdata, 0x5a, 128);
    memcpy(rdata, (const uint8_t[]){0, (uint8_t)covered, 13, labels, 0, 0, 1, 44}, 8);
    memcpy(rdata + 18, signer, sizeof(signer));
    return 18 + sizeof(signer) + 64;
}

static void script_put_signed(struct message *m, unsigned type)
{
    static const char next[] = "\1z\7example\3net\0\0\1\100"; /* A alone */
    uint8_t rdata[128];
    script_put_typed(m, POINTER_TO_NAME, type, LIFE_S, 1);
    script_put_answer(m, POINTER_TO_NAME, TYPE_RRSIG, LIFE_S, rdata,
                      script_signature(rdata, type, 1));
    const bool has_nsec =
        script_put_record(m, script_above(m), TYPE_NSEC, 60, next, sizeof(next) - 1);
    const bool has_rrsig = script_put_record(m, script_above(m), TYPE_RRSIG, 60, rdata,
                                             script_signature(rdata, TYPE_NSEC, 2));
    m->authorities = (uint16_t)(has_nsec + has_rrsig);
}

static void script_put_dname(struct message *m, unsigned type)
{
    static const char end[] = "\5moved\7example\3net";
    uint8_t target[64 + sizeof(end)];
    const size_t head = m->bytes[HEADER] > 0 ? (size_t)m->bytes[HEADER] + 1 : 0;
    memcpy(target, m->bytes + HEADER, head);
    memcpy(target + head, end, sizeof(end));
    script_put_answer(m, script_above(m), TYPE_DNAME, LIFE_S, end, sizeof(end));
    const unsigned made_at = 0xc000 | (unsigned)(m->len + 12);
    script_put_answer(m, POINTER_TO_NAME, TYPE_CNAME, LIFE_S, target, head + sizeof(end));
    script_put_typed(m, made_at, type, LIFE_S, 5);
}

static void script_put_many(struct message *m, unsigned type, unsigned count, uint32_t ttl_s)
{
    for (unsigned i = 0; i < count; i++) {
        script_put_typed(m, POINTER_TO_NAME, type, ttl_s, i);
    }
}

/* Behind the name, type and class of a query with one question; 0: it has none. */
static size_t script_question_end(const uint8_t *query, size_t len)
{
    size_t at = HEADER;
    while (at < len && query[at] > 0 && query[at] < 0x40) {
        at += (size_t)query[at] + 1;
    }
    return at + 5 <= len && query[at] == 0 ? at + 5 : 0;
}

static void script_put_body(struct message *m, enum script script, unsigned type, bool is_tcp)
{
    switch (script) {
    case SCRIPT_GOOD:
        script_put_many(m, type, GOOD_COUNT, LIFE_S);
        break;
    case SCRIPT_SHORT:
        script_put_many(m, type, 1, 1);
        break;
    case SCRIPT_TRUNCATED:
    case SCRIPT_CUT:
        m->bytes[2] |= is_tcp && script == SCRIPT_TRUNCATED ? 0 : FLAG_TC;
        script_put_many(m, type, is_tcp ? GOOD_COUNT : 0, LIFE_S);
        break;
    case SCRIPT_NXDOMAIN:
        m->bytes[3] |= NXDOMAIN;
        script_put_soa(m);
        break;
    case SCRIPT_NODATA:
        script_put_soa(m);
        break;
    case SCRIPT_SERVFAIL:
        m->bytes[3] |= SERVFAIL;
        break;
    case SCRIPT_LONG:
        m->bytes[2] |= is_tcp ? 0 : FLAG_TC;
        script_put_many(m, TYPE_A, is_tcp ? LONG_COUNT : 0, LIFE_S);
        break;
    case SCRIPT_INTO_OURS:
        script_put_answer(m, POINTER_TO_NAME, TYPE_CNAME, LIFE_S, ours, sizeof(ours));
        break;
    case SCRIPT_CHAIN:
        script_put_chain(m, type);
        break;
    case SCRIPT_STRANGE:
        script_put_strange(m, type);
        break;
    case SCRIPT_BROKEN:
        script_put_many(m, type, GOOD_COUNT, LIFE_S);
        m->len -= 3;
        break;
    case SCRIPT_SIGNED:
        script_put_signed(m, type);
        break;
    case SCRIPT_DNAME:
        script_put_dname(m, type);
        break;
    case SCRIPT_REFERRAL:
        m->authorities = script_put_record(m, script_above(m), TYPE_NS, LIFE_S, mail, sizeof(mail));
        break;
    case SCRIPT_SILENT:
    case SCRIPT_COUNT:
        break;
    }
}

size_t script_respond(enum script script, const uint8_t *query, size_t len, bool is_tcp,
                      uint8_t *response)
{
    const size_t end = script_question_end(query, len);
    struct message m = {.bytes = response};
    if (script == SCRIPT_SILENT || end == 0) {
        return 0;
    }
    script_put_bytes(&m, query, end);
    memset(response + 6, 0, 6); /* the counts but the questions' */
    response[2] = (uint8_t)(0x80 | (query[2] & FLAG_RD));
    response[3] = (uint8_t)(FLAG_RA | (query[3] & FLAG_CD));
    if (script == SCRIPT_GOOD && query[11] == 1 && end + 8 < len && query[end + 7] & 0x80) {
        response[3] |= FLAG_AD; /* OPT has DO */
    }
    script_put_body(&m, script, (unsigned)(query[end - 4] << 8 | query[end - 3]), is_tcp);
    response[6] = (uint8_t)(m.answers >> 8);
    response[7] = (uint8_t)m.answers;
    response[9] = (uint8_t)m.authorities;
    if (script != SCRIPT_BROKEN && query[11] == 1 && m.len + len - end <= MESSAGE_MAX) {
        response[11] = 1;
        script_put_bytes(&m, query + end, len - end); /* OPT, with the client's network */
    }
    return m.len;
}
