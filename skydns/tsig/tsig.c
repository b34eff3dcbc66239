#include "skydns/tsig/tsig.h"

#include <assert.h>
#include <string.h>

#include "common/base/attributes.h"
#include "common/base/cursor.h"
#include "common/dns/dns.h"
#include "skydns/tsig/tsig_internal.h"

enum { ADDITIONAL_AT = 10, TYPE_ANY = 255 };

/* ---- What it says ---- */

struct record {
    const uint8_t *mac;
    uint16_t error;
    struct slice other;
};

/* Reads the record: RFC 8945 4.2. Borrows from the message. */
static bool tsig_read_record(const uint8_t *wire, size_t len, size_t at, struct tsig_query *q,
                             struct record *ret)
{
    struct reader r = reader_of(wire, len);
    reader_seek(&r, at);
    bool has_name = dname_read(&r, &q->key_name);
    (void)reader_u16(&r); /* the type, which led here */
    uint16_t rr_class = reader_u16(&r);
    uint32_t ttl_s = reader_u32(&r);
    size_t rdata_len = reader_u16(&r), begin = r.pos;
    bool has_algorithm = has_name && dname_read(&r, &q->algorithm);
    uint64_t high = reader_u16(&r);
    q->time_s = high << 32 | reader_u32(&r);
    q->fudge_s = reader_u16(&r);
    size_t mac_len = reader_u16(&r);
    ret->mac = reader_take(&r, mac_len);
    q->original_id = reader_u16(&r);
    ret->error = reader_u16(&r);
    size_t other_len = reader_u16(&r);
    ret->other = slice_of(reader_take(&r, other_len), other_len);
    if (r.failed || !has_algorithm || rr_class != TYPE_ANY || ttl_s != 0 ||
        r.pos != begin + rdata_len || mac_len > TSIG_MAC_MAX || other_len > TSIG_OTHER_MAX) {
        return false;
    }
    q->mac_len = (uint8_t)mac_len;
    memcpy(q->mac, ret->mac, mac_len);
    return true;
}

/* ---- Is it right? ---- */

static const struct tsig_key *tsig_find_key(const struct tsig_keys *keys,
                                            const struct tsig_query *q)
{
    const struct tsig_key *key = tsig_keys_find(keys, &q->key_name);
    return key && dname_equal(&key->algorithm_name, &q->algorithm) ? key : NULL;
}

/* Verifies the message as it was signed: without the record, with its first ID (RFC 8945 4.3.2). */
static bool tsig_is_signed(const struct tsig_query *q, const struct record *record,
                           const uint8_t *wire)
{
    uint8_t variables[TSIG_SIGNED_MAX], mac[TSIG_MAC_MAX], header[DNS_HEADER_SIZE];
    const struct tsig_variables v = {.name = &q->key_name,
                                     .algorithm = &q->algorithm,
                                     .time_s = q->time_s,
                                     .fudge_s = q->fudge_s,
                                     .error = record->error,
                                     .other = record->other};
    struct writer w = writer_of(header, sizeof(header));
    writer_u16(&w, q->original_id);
    writer_bytes(&w, wire + 2, ADDITIONAL_AT - 2);
    writer_u16(&w, (uint16_t)((wire[ADDITIONAL_AT] << 8 | wire[ADDITIONAL_AT + 1]) - 1));
    const struct slice pieces[] = {slice_of(header, sizeof(header)),
                                   slice_of(wire + sizeof(header), q->plain_len - sizeof(header)),
                                   slice_of(variables, tsig_variables_write(&v, false, variables))};
    return tsig_hmac(q->key, pieces, ARRAY_LEN(pieces), mac) &&
           tsig_same_mac(mac, q->mac, q->mac_len);
}

/* Returns whether a MAC may have this length: not shorter than half of a whole one, nor than 10
 * bytes, and not longer (5.2.2.1). */
static bool is_possible(size_t mac_len, size_t whole_len)
{
    enum { LEAST = 10 };
    size_t least = whole_len / 2 > LEAST ? whole_len / 2 : LEAST;
    return mac_len >= least && mac_len <= whole_len;
}

static bool is_in_time(const struct tsig_query *q, int64_t now_s)
{
    uint64_t now = (uint64_t)now_s;
    uint64_t apart = now > q->time_s ? now - q->time_s : q->time_s - now;
    return apart <= q->fudge_s;
}

/* Verifies in the order of RFC 8945 5.2. */
static enum tsig_verdict tsig_verify(const struct tsig_keys *keys, const struct record *record,
                                     int64_t now_s, struct tsig_query *q, const uint8_t *wire)
{
    q->key = tsig_find_key(keys, q);
    if (!q->key) {
        return TSIG_BAD_KEY;
    }
    if (!is_possible(q->mac_len, q->key->algorithm->mac_len)) {
        return TSIG_MALFORMED;
    }
    if (!tsig_is_signed(q, record, wire)) {
        return TSIG_BAD_SIG;
    }
    if (!is_in_time(q, now_s)) {
        return TSIG_BAD_TIME;
    }
    return q->mac_len == q->key->algorithm->mac_len ? TSIG_GOOD : TSIG_BAD_TRUNC;
}

void tsig_keep(const struct tsig_query *query, struct tsig_state *ret_kept)
{
    struct tsig_state *kept = ret_kept;
    assert(query->verdict == TSIG_GOOD && query->mac_len <= sizeof(kept->mac));
    assert(query->key_name.len <= sizeof(kept->name));
    assert(query->algorithm.len <= sizeof(kept->algorithm));
    *kept = (struct tsig_state){.mac_len = query->mac_len,
                                .name_len = query->key_name.len,
                                .algorithm_len = query->algorithm.len};
    memcpy(kept->mac, query->mac, kept->mac_len);
    memcpy(kept->name, query->key_name.wire, kept->name_len);
    memcpy(kept->algorithm, query->algorithm.wire, kept->algorithm_len);
}

bool tsig_restore(const struct tsig_keys *keys, const struct tsig_state *kept,
                  struct tsig_query *ret)
{
    *ret = (struct tsig_query){.verdict = TSIG_GOOD,
                               .key_name.len = kept->name_len,
                               .algorithm.len = kept->algorithm_len,
                               .mac_len = kept->mac_len};
    memcpy(ret->key_name.wire, kept->name, kept->name_len);
    memcpy(ret->algorithm.wire, kept->algorithm, kept->algorithm_len);
    memcpy(ret->mac, kept->mac, kept->mac_len);
    ret->key = keys ? tsig_find_key(keys, ret) : NULL;
    return ret->key != NULL;
}

enum tsig_verdict tsig_open(const struct tsig_keys *keys, const uint8_t *wire, size_t len,
                            const struct tsig_place *place, int64_t now_s, struct tsig_query *ret)
{
    struct record record;
    ret->plain_len = 0;
    ret->key = NULL;
    ret->verdict = TSIG_NONE;
    if (place->at == 0) {
        return TSIG_NONE;
    }
    ret->verdict = TSIG_MALFORMED;
    if (!place->is_misplaced && len <= TSIG_QUERY_MAX &&
        tsig_read_record(wire, len, place->at, ret, &record)) {
        ret->plain_len = place->at;
        ret->verdict = tsig_verify(keys, &record, now_s, ret, wire);
    }
    return ret->verdict;
}
