#include <string.h>

#include "common/base/cursor.h"
#include "common/dns/dname.h"
#include "skydns/engine/cookie_envelope_internal.h"

enum { QUESTION_TAIL = 4, COUNTS_AT = 4, OPT_LENGTH_AT = 9 };

/* Records after the owner: type, class, TTL; then the length. */
enum { RECORD_MIDDLE = 8 };

static size_t u16_at(const uint8_t *at)
{
    return (size_t)(at[0] << 8 | at[1]);
}

static void put16(uint8_t *at, size_t v)
{
    at[0] = (uint8_t)(v >> 8);
    at[1] = (uint8_t)v;
}

/* ---- Queries ---- */

/* The OPT record of one question and nothing else, up to the end; 0: it is another message. */
static size_t find_query_opt(const uint8_t *wire, size_t len)
{
    static const uint8_t counts[] = {0, 1, 0, 0, 0, 0, 0, 1};
    size_t at = DNS_HEADER_SIZE;
    if ((wire[2] & (DNS_FLAG_QR | DNS_MASK_OPCODE) >> 8) != 0 ||
        memcmp(wire + COUNTS_AT, counts, sizeof(counts)) != 0) {
        return 0;
    }
    while (at < len && wire[at] != 0) {
        if (wire[at] > 63) {
            return 0;
        }
        at += wire[at] + 1u;
    }
    at += 1 + QUESTION_TAIL;
    if (at + EDNS_OPT_SIZE > len || wire[at] != 0 || u16_at(wire + at + 1) != DNS_TYPE_OPT ||
        at + EDNS_OPT_SIZE + u16_at(wire + at + OPT_LENGTH_AT) != len) {
        return 0;
    }
    return at;
}

/* Copies the query without the bytes of this option. */
static void cut(struct cookie_envelope *e, size_t opt_at, size_t option_at, size_t option_len)
{
    const uint8_t *wire = (const uint8_t *)e->query.ptr;
    size_t end = option_at + option_len, rest = e->query.len - end;
    e->cookie.len = (uint8_t)(option_len - EDNS_OPTION_HEAD);
    memcpy(e->cookie.bytes, wire + option_at + EDNS_OPTION_HEAD, e->cookie.len);
    memcpy(e->bytes, wire, option_at);
    memcpy(e->bytes + option_at, wire + end, rest);
    put16(e->bytes + opt_at + OPT_LENGTH_AT, option_at + rest - opt_at - EDNS_OPT_SIZE);
    e->query = slice_of(e->bytes, option_at + rest);
}

/* Takes the first cookie out. What follows it is for question_parse to judge. */
static void open_usual(struct cookie_envelope *e, size_t opt_at)
{
    const uint8_t *wire = (const uint8_t *)e->query.ptr;
    size_t at = opt_at + EDNS_OPT_SIZE, cookie_at = 0, cookie_len = 0;
    while (at + EDNS_OPTION_HEAD <= e->query.len) {
        size_t code = u16_at(wire + at), len = u16_at(wire + at + 2);
        if (at + EDNS_OPTION_HEAD + len > e->query.len) {
            return;
        }
        if (code == EDNS_OPTION_COOKIE && cookie_at == 0) {
            if (!cookie_has_sound_length(len)) {
                return;
            }
            cookie_at = at;
            cookie_len = EDNS_OPTION_HEAD + len;
        }
        e->has_subnet = e->has_subnet || code == EDNS_OPTION_SUBNET;
        at += EDNS_OPTION_HEAD + len;
    }
    if (cookie_at > 0) {
        cut(e, opt_at, cookie_at, cookie_len);
    }
}

/* Other messages: records beside OPT, very long ones, ones without a question, or nonsense. */
static void open_other(struct cookie_envelope *e)
{
    struct question q;
    const uint8_t *wire = (const uint8_t *)e->query.ptr;
    enum question_verdict verdict = question_parse(wire, e->query.len, &q);
    if (verdict != QUESTION_OK && verdict != QUESTION_NONE && verdict != QUESTION_BADVERS) {
        return;
    }
    e->cookie = q.cookie;
    e->has_question = verdict != QUESTION_NONE;
    e->has_subnet = q.subnet_len > 0;
    if (verdict == QUESTION_OK && q.cookie.len > 0) {
        q.cookie.len = 0;
        e->query = slice_of(e->bytes, question_write(&q, wire, e->bytes));
    }
}

void cookie_open(struct cookie_envelope *envelope, const uint8_t *wire, size_t len)
{
    struct cookie_envelope *e = envelope;
    e->query = slice_of(wire, len);
    e->has_question = true;
    e->has_subnet = false;
    e->cookie.len = 0;
    size_t opt_at =
        len >= DNS_HEADER_SIZE && len <= sizeof(e->bytes) ? find_query_opt(wire, len) : 0;
    if (opt_at > 0) {
        open_usual(e, opt_at);
    } else {
        open_other(e);
    }
}

/* ---- Replies ---- */

static bool is_opt(const uint8_t *reply, size_t len, size_t at)
{
    return reply[at] == 0 && u16_at(reply + at + 1) == DNS_TYPE_OPT &&
           at + EDNS_OPT_SIZE + u16_at(reply + at + OPT_LENGTH_AT) == len;
}

/* The last record, by walking there. */
static size_t find_last(const uint8_t *reply, size_t len)
{
    struct reader r = reader_of(reply, len);
    struct dname name;
    size_t last = 0, records = 0;
    reader_seek(&r, COUNTS_AT);
    size_t questions = reader_u16(&r);
    for (unsigned i = 0; i < 3; i++) {
        records += reader_u16(&r);
    }
    for (size_t i = 0; i < questions + records && !r.failed; i++) {
        last = r.pos;
        if (!dname_read(&r, &name)) {
            return 0;
        }
        (void)reader_take(&r, i < questions ? QUESTION_TAIL : RECORD_MIDDLE);
        (void)reader_take(&r, i < questions ? 0 : reader_u16(&r));
    }
    return r.failed ? 0 : last;
}

/* Our OPT record has no option, or one extended error, unless the client's network is repeated. 0:
 * there is none. */
static size_t find_reply_opt(const struct cookie_envelope *e, const uint8_t *reply, size_t len)
{
    enum { PLAIN = EDNS_OPT_SIZE, WITH_ERROR = EDNS_OPT_SIZE + EDNS_ERROR_SIZE };
    size_t last;
    if (len < DNS_HEADER_SIZE + EDNS_OPT_SIZE || (reply[10] | reply[11]) == 0) {
        return 0;
    }
    if (!e->has_subnet && is_opt(reply, len, len - PLAIN)) {
        return len - PLAIN;
    }
    if (!e->has_subnet && len >= DNS_HEADER_SIZE + WITH_ERROR &&
        is_opt(reply, len, len - WITH_ERROR)) {
        return len - WITH_ERROR;
    }
    last = e->has_subnet ? find_last(reply, len) : 0;
    return last > 0 && is_opt(reply, len, last) ? last : 0;
}

size_t cookie_close(const struct cookie_envelope *envelope, const struct cookie_secrets *secrets,
                    const struct ip *client, uint32_t now_s, uint8_t *reply, size_t len)
{
    size_t opt_at = find_reply_opt(envelope, reply, len);
    if (opt_at == 0) {
        return len;
    }
    (void)cookie_answer(secrets, &envelope->cookie, client, now_s, reply + len);
    put16(reply + opt_at + OPT_LENGTH_AT, len + COOKIE_OPTION_SIZE - opt_at - EDNS_OPT_SIZE);
    return len + COOKIE_OPTION_SIZE;
}
