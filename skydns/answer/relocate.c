#include "skydns/answer/relocate.h"

#include <stdbool.h>
#include <string.h>

#include "common/dns/dname.h"
#include "common/dns/dns.h"
#include "skydns/wire/rdata_layout.h"

enum {
    POINTERS_MAX = 1 << 14, /* offsets that a pointer may have */
    POINTER = 0xc0,
};

struct move {
    uint8_t *bytes;
    size_t len;
    size_t pos;
    size_t name_end;      /* of the reply's question */
    size_t records_shift; /* of what is behind the question, */
    size_t name_shift;    /* and from the question's name to the CNAME's data */
    uint32_t ttl_s;
    bool has_failed;
    uint8_t is_label[POINTERS_MAX / 8]; /* offsets where a label of a name begins, a bit for each */
};

/* ---- Names ---- */

static void mark(struct move *m, size_t at)
{
    if (at < POINTERS_MAX) {
        m->is_label[at / 8] |= (uint8_t)(1 << at % 8);
    }
}

static bool is_marked(const struct move *m, size_t at)
{
    return (m->is_label[at / 8] & 1 << at % 8) != 0;
}

static size_t fail(struct move *m)
{
    m->has_failed = true;
    return 0;
}

/* Points the pointer at m->pos, in a name that begins at `begin`, to where its target will be. */
static void move_pointer(struct move *m, size_t begin)
{
    if (m->len - m->pos < 2) {
        fail(m);
        return;
    }
    uint8_t *at = m->bytes + m->pos;
    size_t target = (size_t)(at[0] & ~POINTER) << 8 | at[1];
    if (target >= begin || !is_marked(m, target)) {
        fail(m);
        return;
    }
    target += target < m->name_end ? m->name_shift : m->records_shift;
    if (target >= POINTERS_MAX) {
        fail(m);
        return;
    }
    mark(m, m->pos);
    at[0] = (uint8_t)(POINTER | target >> 8);
    at[1] = (uint8_t)target;
    m->pos += 2;
}

static void move_name(struct move *m)
{
    size_t begin = m->pos;
    while (m->pos < m->len && m->bytes[m->pos] <= DNAME_LABEL_MAX) {
        mark(m, m->pos);
        unsigned label_len = m->bytes[m->pos];
        m->pos += 1 + label_len;
        if (label_len == 0) {
            return;
        }
    }
    if (m->pos < m->len && m->bytes[m->pos] >= POINTER) {
        move_pointer(m, begin);
    } else {
        fail(m);
    }
}

/* ---- Records ---- */

/* `end` is that of the data, and within the message. */
static void move_data(struct move *m, unsigned type, size_t end)
{
    const struct rdata_layout *layout = rdata_layout_of(type);
    if (layout->names == 0) {
        m->pos = end;
        return;
    }
    m->pos += layout->head;
    for (unsigned i = 0; i < layout->strings && m->pos < end; i++) {
        m->pos += 1u + m->bytes[m->pos];
    }
    for (unsigned i = 0; i < layout->names && !m->has_failed; i++) {
        move_name(m);
    }
    if (m->pos > end) {
        fail(m);
    }
    m->pos = end;
}

static unsigned get16(const uint8_t *at)
{
    return (unsigned)at[0] << 8 | at[1];
}

static uint32_t get32(const uint8_t *at)
{
    return (uint32_t)get16(at) << 16 | get16(at + 2);
}

/* RFC 2181 8: with the first bit set it is 0. */
static void note_ttl(struct move *m, uint32_t ttl_s)
{
    ttl_s = ttl_s > INT32_MAX ? 0 : ttl_s;
    m->ttl_s = ttl_s < m->ttl_s ? ttl_s : m->ttl_s;
}

enum section { ANSWER, AUTHORITY, ADDITIONAL, SECTIONS };

static void move_record(struct move *m, enum section section)
{
    enum { SOA_MINIMUM = 4 };
    move_name(m);
    if (m->has_failed || m->len - m->pos < DNS_RR_HEAD) {
        fail(m);
        return;
    }
    const uint8_t *head = m->bytes + m->pos;
    unsigned type = get16(head), data_len = get16(head + 8);
    uint32_t ttl_s = get32(head + 4);
    m->pos += DNS_RR_HEAD;
    size_t end = m->pos + data_len;
    if (end > m->len || (type == DNS_TYPE_OPT && head[4] != 0)) {
        fail(m);
        return;
    }
    move_data(m, type, end);
    if (section == ANSWER) {
        note_ttl(m, ttl_s);
    } else if (section == AUTHORITY && type == DNS_TYPE_SOA && data_len > SOA_MINIMUM) {
        note_ttl(m, ttl_s);
        note_ttl(m, get32(m->bytes + end - SOA_MINIMUM));
    }
}

/* ---- The message ---- */

static void put16(uint8_t *at, unsigned v)
{
    at[0] = (uint8_t)(v >> 8);
    at[1] = (uint8_t)v;
}

/* The question, whose name pointers may lead to; it has none itself. */
static void take_question(struct move *m, size_t name_len)
{
    m->pos = DNS_HEADER_SIZE;
    while (m->pos < m->len && m->bytes[m->pos] != 0 && m->bytes[m->pos] <= DNAME_LABEL_MAX) {
        mark(m, m->pos);
        m->pos += 1u + m->bytes[m->pos];
    }
    if (m->pos >= m->len || m->bytes[m->pos] != 0 || m->len - m->pos < 1 + DNS_QUESTION_TAIL ||
        m->pos - DNS_HEADER_SIZE >= DNAME_MAX) {
        fail(m);
        return;
    }
    mark(m, m->pos++);
    m->name_end = m->pos;
    m->pos += DNS_QUESTION_TAIL;
    m->records_shift = RELOCATE_ROOM(name_len);
    m->name_shift = RELOCATE_ROOM(name_len) + DNS_QUESTION_TAIL;
}

/* The client's question and the CNAME, before the records. */
static void put_head(struct move *m, struct slice name)
{
    uint8_t candidate[DNAME_MAX], tail[DNS_QUESTION_TAIL];
    size_t candidate_len = m->name_end - DNS_HEADER_SIZE;
    size_t records_at = m->name_end + DNS_QUESTION_TAIL;
    memcpy(candidate, m->bytes + DNS_HEADER_SIZE, candidate_len);
    memcpy(tail, m->bytes + m->name_end, DNS_QUESTION_TAIL);
    memmove(m->bytes + records_at + m->records_shift, m->bytes + records_at, m->len - records_at);
    uint8_t *at = m->bytes + DNS_HEADER_SIZE;
    memcpy(at, name.ptr, name.len);
    at += name.len;
    memcpy(at, tail, DNS_QUESTION_TAIL);
    at += DNS_QUESTION_TAIL;
    put16(at, POINTER << 8 | DNS_HEADER_SIZE);
    put16(at + 2, DNS_TYPE_CNAME);
    put16(at + 4, DNS_CLASS_IN);
    put16(at + 6, m->ttl_s >> 16);
    put16(at + 8, m->ttl_s & 0xffff);
    put16(at + 10, (unsigned)candidate_len);
    memcpy(at + 12, candidate, candidate_len);
}

size_t relocate(uint8_t *reply, size_t len, size_t cap, struct slice name)
{
    struct move m;
    if (len < DNS_HEADER_SIZE || get16(reply + 4) != 1 || get16(reply + 6) == UINT16_MAX) {
        return 0;
    }
    m.bytes = reply;
    m.len = len;
    m.ttl_s = UINT32_MAX;
    m.has_failed = false;
    memset(m.is_label, 0, (len < POINTERS_MAX ? len : POINTERS_MAX - 1) / 8 + 1);
    take_question(&m, name.len);
    for (unsigned section = ANSWER; section < SECTIONS; section++) {
        unsigned count = get16(reply + 6 + 2 * (size_t)section);
        for (unsigned i = 0; i < count && !m.has_failed; i++) {
            move_record(&m, (enum section)section);
        }
    }
    if (m.has_failed || m.pos != len || len > cap || RELOCATE_ROOM(name.len) > cap - len) {
        return 0;
    }
    m.ttl_s = m.ttl_s == UINT32_MAX ? 0 : m.ttl_s;
    put_head(&m, name);
    put16(reply + 6, get16(reply + 6) + 1);
    reply[3] = (uint8_t)(reply[3] & ~DNS_FLAG_AD);
    return len + RELOCATE_ROOM(name.len);
}
