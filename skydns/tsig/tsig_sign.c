/* Makes the TSIGs of responses. */
#include <string.h>

#include "common/base/cursor.h"
#include "common/dns/dns.h"
#include "skydns/tsig/tsig_internal.h"

enum { ADDITIONAL_AT = 10, CLASS_ANY = 255, FUDGE_S = 300 }; /* RFC 8945 10 */

/* Returns the error: RFC 8945 3, and IANA's list of rcodes. */
static uint16_t tsig_sign_error_of(enum tsig_verdict verdict)
{
    switch (verdict) {
    case TSIG_BAD_SIG:
        return 16;
    case TSIG_BAD_KEY:
        return 17;
    case TSIG_BAD_TIME:
        return 18;
    case TSIG_BAD_TRUNC:
        return 22;
    case TSIG_NONE:
    case TSIG_GOOD:
    case TSIG_MALFORMED:
    case TSIG_VERDICTS:
        break;
    }
    return 0;
}

/* Returns whether there is a MAC. With an unknown key, or a MAC that is not known to be the
 * client's, nothing can be signed. */
static bool tsig_sign_is_signed(const struct tsig_query *query)
{
    return query->verdict != TSIG_BAD_KEY && query->verdict != TSIG_BAD_SIG;
}

static void write_u48(struct writer *w, uint64_t value)
{
    writer_u16(w, (uint16_t)(value >> 32));
    writer_u32(w, (uint32_t)value);
}

static void tsig_sign_write_name(struct writer *w, const struct dname *name)
{
    struct dname lower = *name;
    dname_lower(&lower);
    writer_bytes(w, lower.wire, lower.len);
}

size_t tsig_variables_write(const struct tsig_variables *variables, bool only_timers,
                            uint8_t out[TSIG_SIGNED_MAX])
{
    const struct tsig_variables *v = variables;
    struct writer w = writer_of(out, TSIG_SIGNED_MAX);
    if (!only_timers) {
        tsig_sign_write_name(&w, v->name);
        writer_u16(&w, CLASS_ANY);
        writer_u32(&w, 0);
        tsig_sign_write_name(&w, v->algorithm);
    }
    write_u48(&w, v->time_s);
    writer_u16(&w, v->fudge_s);
    if (!only_timers) {
        writer_u16(&w, v->error);
        writer_u16(&w, (uint16_t)v->other.len);
        writer_bytes(&w, v->other.ptr, v->other.len);
    }
    return w.pos;
}

size_t tsig_reply_size(const struct tsig_query *query)
{
    enum { HEAD = 2 + 2 + 4 + 2, FIXED = TSIG_TIMERS_SIZE + 2 + 2 + 2 + 2 };
    size_t mac_len = tsig_sign_is_signed(query) ? query->key->algorithm->mac_len : 0;
    size_t other_len = query->verdict == TSIG_BAD_TIME ? TSIG_OTHER_SIZE : 0;
    return query->key_name.len + HEAD + query->algorithm.len + FIXED + mac_len + other_len;
}

/* Makes the MAC behind the query's, or that of the message before: RFC 8945 5.3. Returns false if
 * libcrypto fails. */
static bool make_mac(const struct tsig_query *query, const struct tsig_variables *v, bool is_first,
                     struct slice before, struct slice message, uint8_t mac[TSIG_MAC_MAX])
{
    uint8_t variables[TSIG_SIGNED_MAX];
    const uint8_t size[2] = {(uint8_t)(before.len >> 8), (uint8_t)before.len};
    const struct slice pieces[] = {
        slice_of(size, sizeof(size)), before, message,
        slice_of(variables, tsig_variables_write(v, !is_first, variables))};
    return tsig_hmac(query->key, pieces, 4, mac);
}

static size_t tsig_sign_append(const struct tsig_query *query, const struct tsig_variables *v,
                               struct slice mac, uint8_t *reply, size_t len)
{
    struct writer w = writer_of(reply, len + tsig_reply_size(query));
    w.pos = len;
    writer_bytes(&w, query->key_name.wire, query->key_name.len);
    writer_u16(&w, DNS_TYPE_TSIG);
    writer_u16(&w, CLASS_ANY);
    writer_u32(&w, 0);
    writer_u16(&w, (uint16_t)(query->algorithm.len + TSIG_TIMERS_SIZE + 2 + mac.len + 2 + 2 + 2 +
                              v->other.len));
    writer_bytes(&w, query->algorithm.wire, query->algorithm.len);
    write_u48(&w, v->time_s);
    writer_u16(&w, v->fudge_s);
    writer_u16(&w, (uint16_t)mac.len);
    writer_bytes(&w, mac.ptr, mac.len);
    writer_bytes(&w, reply, 2); /* the ID */
    writer_u16(&w, v->error);
    writer_u16(&w, (uint16_t)v->other.len);
    writer_bytes(&w, v->other.ptr, v->other.len);
    unsigned additionals = (unsigned)(reply[ADDITIONAL_AT] << 8 | reply[ADDITIONAL_AT + 1]) + 1;
    reply[ADDITIONAL_AT] = (uint8_t)(additionals >> 8);
    reply[ADDITIONAL_AT + 1] = (uint8_t)additionals;
    return w.pos;
}

/* Repeats the client's time in a response about its clock, and says ours (5.2.3). */
size_t tsig_sign(const struct tsig_query *query, const uint8_t *previous, size_t previous_len,
                 int64_t now_s, uint8_t *reply, size_t len, uint8_t ret_mac[TSIG_MAC_MAX],
                 size_t *ret_mac_len)
{
    uint8_t mac[TSIG_MAC_MAX], ours[TSIG_OTHER_SIZE];
    bool is_late = query->verdict == TSIG_BAD_TIME;
    struct writer w = writer_of(ours, sizeof(ours));
    write_u48(&w, (uint64_t)now_s);
    const struct tsig_variables v = {.name = &query->key_name,
                                     .algorithm = &query->algorithm,
                                     .time_s = is_late ? query->time_s : (uint64_t)now_s,
                                     .fudge_s = FUDGE_S,
                                     .error = tsig_sign_error_of(query->verdict),
                                     .other = slice_of(ours, is_late ? sizeof(ours) : 0)};
    bool is_first = previous_len == 0;
    struct slice before =
        is_first ? slice_of(query->mac, query->mac_len) : slice_of(previous, previous_len);
    size_t mac_len = 0;
    if (tsig_sign_is_signed(query) &&
        make_mac(query, &v, is_first, before, slice_of(reply, len), mac)) {
        mac_len = query->key->algorithm->mac_len;
    }
    if (ret_mac) {
        memcpy(ret_mac, mac, mac_len);
        *ret_mac_len = mac_len;
    }
    return tsig_sign_append(query, &v, slice_of(mac, mac_len), reply, len);
}
