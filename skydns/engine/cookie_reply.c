#include "skydns/engine/cookie_reply_internal.h"

#include "common/base/cursor.h"
#include "common/dns/dname.h"
#include "common/dns/dns.h"
#include "skydns/wire/edns.h"

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
static size_t find_opt(bool has_subnet, const uint8_t *reply, size_t len)
{
    enum { PLAIN = EDNS_OPT_SIZE, WITH_ERROR = EDNS_OPT_SIZE + EDNS_ERROR_SIZE };
    size_t last;
    if (len < DNS_HEADER_SIZE + EDNS_OPT_SIZE || (reply[10] | reply[11]) == 0) {
        return 0;
    }
    if (!has_subnet && is_opt(reply, len, len - PLAIN)) {
        return len - PLAIN;
    }
    if (!has_subnet && len >= DNS_HEADER_SIZE + WITH_ERROR &&
        is_opt(reply, len, len - WITH_ERROR)) {
        return len - WITH_ERROR;
    }
    last = has_subnet ? find_last(reply, len) : 0;
    return last > 0 && is_opt(reply, len, last) ? last : 0;
}

size_t cookie_append(const struct cookie_secrets *secrets, const struct cookie *cookie,
                     const struct ip *client, uint32_t now_s, bool has_subnet, uint8_t *reply,
                     size_t len)
{
    size_t opt_at = find_opt(has_subnet, reply, len);
    if (opt_at == 0) {
        return len;
    }
    (void)cookie_answer(secrets, cookie, client, now_s, reply + len);
    put16(reply + opt_at + OPT_LENGTH_AT, len + COOKIE_OPTION_SIZE - opt_at - EDNS_OPT_SIZE);
    return len + COOKIE_OPTION_SIZE;
}
