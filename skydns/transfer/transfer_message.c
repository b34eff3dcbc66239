#include "skydns/transfer/transfer_message_internal.h"

#include <string.h>

#include "common/base/cursor.h"
#include "common/dns/dname.h"
#include "common/dns/dns.h"
#include "skydns/wire/edns.h"
#include "skydns/wire/question.h"
#include "skydns/wire/rdata_layout.h"

/* ---- The request ---- */

enum { COUNTS_AT = 6 }; /* of answers, authorities, additionals: behind that of the questions */

/* Reads the SOA in the authority section of an IXFR, of which only the serial matters. */
static bool transfer_message_read_serial(const uint8_t *wire, size_t len, const struct dname *zone,
                                         uint32_t *ret_serial)
{
    struct reader r = reader_of(wire, len);
    struct dname name, part;
    reader_seek(&r, COUNTS_AT);
    unsigned answers = reader_u16(&r), authorities = reader_u16(&r);
    reader_seek(&r, DNS_HEADER_SIZE);
    if (answers > 0 || authorities != 1 || !dname_read(&r, &name) || !reader_take(&r, 4) ||
        !dname_read(&r, &name)) {
        return false;
    }
    struct dname lower = *zone;
    dname_lower(&lower);
    dname_lower(&name);
    unsigned type = reader_u16(&r), rr_class = reader_u16(&r);
    (void)reader_u32(&r); /* TTL */
    (void)reader_u16(&r); /* length: the fields have their own */
    bool is_soa = type == DNS_TYPE_SOA && rr_class == DNS_CLASS_IN && dname_equal(&name, &lower);
    if (!is_soa || !dname_read(&r, &part) || !dname_read(&r, &part)) {
        return false;
    }
    *ret_serial = reader_u32(&r);
    return !r.failed;
}

bool transfer_query_parse(const uint8_t *wire, size_t len, struct transfer_query *ret)
{
    struct question question;
    if (question_parse(wire, len, &question) != QUESTION_OK || question.qclass != DNS_CLASS_IN ||
        (question.type != DNS_TYPE_AXFR && question.type != DNS_TYPE_IXFR)) {
        return false;
    }
    *ret = (struct transfer_query){
        .id = question.id,
        .recursion_desired = question.recursion_desired,
        .has_edns = question.has_edns,
        .udp_size = question.has_edns ? question.udp_size : 0,
        .is_incremental = question.type == DNS_TYPE_IXFR,
        .zone = question.name,
        .tsig = question.tsig,
    };
    return !ret->is_incremental ||
           transfer_message_read_serial(wire, len, &ret->zone, &ret->serial);
}

/* ---- Names ---- */

enum { POINTER = 0xc000, LABEL_TYPE = 0xc0 };

/* Hashes a suffix, by FNV-1a: messages are so small that collisions on purpose cost nothing. Case
 * counts, so that names come out as they are stored, whatever case the client typed the zone in. */
static uint32_t transfer_message_hash_of(struct slice suffix)
{
    uint32_t hash = 2166136261U;
    for (size_t i = 0; i < suffix.len; i++) {
        hash = (hash ^ (uint8_t)suffix.ptr[i]) * 16777619U;
    }
    return hash ? hash : 1;
}

/* Returns whether the name that begins there is the suffix. Reads only what this message wrote. */
static bool transfer_message_is_at(const struct writer *w, size_t at, struct slice suffix)
{
    for (size_t i = 0; i < suffix.len;) {
        uint8_t label = w->data[at];
        if ((label & LABEL_TYPE) == LABEL_TYPE) {
            at = (size_t)(label & ~LABEL_TYPE) << 8 | w->data[at + 1];
            continue;
        }
        if (label != (uint8_t)suffix.ptr[i] ||
            memcmp(w->data + at, suffix.ptr + i, 1u + label) != 0) {
            return false;
        }
        at += 1u + label;
        i += 1u + label;
    }
    return true;
}

/* Returns where the suffix was written, or 0: then it is remembered as written at `here`. */
static size_t find_or_learn(struct transfer_message *m, struct slice suffix, size_t here)
{
    uint32_t hash = transfer_message_hash_of(suffix);
    size_t slot = hash % TRANSFER_NAMES;
    for (; m->names[slot] != 0; slot = (slot + 1) % TRANSFER_NAMES) {
        if (m->hashes[slot] == hash && transfer_message_is_at(&m->w, m->names[slot], suffix)) {
            return m->names[slot];
        }
    }
    if (here <= DNS_POINTER_MAX && m->name_count < TRANSFER_NAMES / 2) {
        m->names[slot] = (uint16_t)here;
        m->hashes[slot] = hash;
        m->name_count++;
    }
    return 0;
}

static void transfer_message_write_name(struct transfer_message *m, struct slice name)
{
    while (name.len > 1) {
        size_t len = 1u + (uint8_t)name.ptr[0];
        size_t at = find_or_learn(m, name, m->w.pos);
        if (at > 0) {
            writer_u16(&m->w, (uint16_t)(POINTER | at));
            return;
        }
        writer_bytes(&m->w, name.ptr, len);
        if (m->w.failed) {
            return;
        }
        name = slice_of(name.ptr + len, name.len - len);
    }
    writer_u8(&m->w, 0);
}

/* ---- Records ---- */

static size_t name_len(struct slice data)
{
    size_t len = 0;
    while (len < data.len && data.ptr[len]) {
        len += 1u + (uint8_t)data.ptr[len];
    }
    return len + 1;
}

static void transfer_message_write_data(struct transfer_message *m, uint16_t type,
                                        struct slice data)
{
    const struct rdata_layout *layout = rdata_layout_of(type);
    const size_t head = layout->is_compressible ? layout->head : 0;
    writer_bytes(&m->w, data.ptr, head);
    data = slice_of(data.ptr + head, data.len - head);
    for (unsigned i = 0; layout->is_compressible && i < layout->names; i++) {
        size_t len = name_len(data);
        transfer_message_write_name(m, slice_of(data.ptr, len));
        data = slice_of(data.ptr + len, data.len - len);
    }
    writer_bytes(&m->w, data.ptr, data.len);
}

static void transfer_message_write_rr(struct transfer_message *m, const struct zone_rr *rr)
{
    transfer_message_write_name(m, rr->owner);
    writer_u16(&m->w, rr->type);
    writer_u16(&m->w, DNS_CLASS_IN);
    writer_u32(&m->w, rr->ttl_s);
    size_t length_at = m->w.pos;
    writer_u16(&m->w, 0);
    transfer_message_write_data(m, rr->type, rr->data);
    if (!m->w.failed) {
        size_t len = m->w.pos - length_at - 2;
        m->w.data[length_at] = (uint8_t)(len >> 8);
        m->w.data[length_at + 1] = (uint8_t)len;
    }
}

/* Takes back an attempt that failed. Names learnt in it point behind the end. The message is as
 * good as full, so all names are forgotten rather than those. */
static void transfer_message_take_back(struct transfer_message *m, size_t pos)
{
    m->w.pos = pos;
    m->w.failed = false;
    m->name_count = 0;
    memset(m->names, 0, sizeof(m->names));
}

bool transfer_message_add(struct transfer_message *m, const struct zone_rr *rr)
{
    struct zone_rr own = *rr;
    size_t pos = m->w.pos;
    if (rr->type == DNS_TYPE_A && rr->data.len == 0) {
        if (m->local.family_bytes == 0) {
            return true;
        }
        own.type = m->local.family_bytes == 4 ? DNS_TYPE_A : DNS_TYPE_AAAA;
        own.data = slice_of(m->local.bytes, m->local.family_bytes);
    }
    if (m->answers < UINT16_MAX) {
        transfer_message_write_rr(m, &own);
    }
    if (m->w.failed || m->answers == UINT16_MAX) {
        transfer_message_take_back(m, pos);
        return false;
    }
    m->answers++;
    return true;
}

/* ---- The whole ---- */

void transfer_message_begin(struct transfer_message *m, const struct transfer_query *query,
                            bool is_first, uint8_t *out, size_t cap)
{
    bool has_edns = is_first && query->has_edns;
    m->w = writer_of(out, has_edns ? cap - EDNS_OPT_SIZE : cap);
    m->answers = 0;
    m->has_edns = has_edns;
    m->name_count = 0;
    memset(m->names, 0, sizeof(m->names));
    writer_u16(&m->w, query->id);
    writer_u16(&m->w, DNS_FLAG_QR | DNS_FLAG_AA | (query->recursion_desired ? DNS_FLAG_RD : 0));
    writer_u16(&m->w, is_first ? 1 : 0);
    writer_u16(&m->w, 0);
    writer_u16(&m->w, 0);
    writer_u16(&m->w, has_edns ? 1 : 0);
    if (is_first) {
        transfer_message_write_name(m, slice_of(query->zone.wire, query->zone.len));
        writer_u16(&m->w, query->is_incremental ? DNS_TYPE_IXFR : DNS_TYPE_AXFR);
        writer_u16(&m->w, DNS_CLASS_IN);
    }
}

size_t transfer_message_end(struct transfer_message *m, enum dns_rcode rcode)
{
    m->w.data[3] = (uint8_t)rcode;
    m->w.data[6] = (uint8_t)(m->answers >> 8);
    m->w.data[7] = (uint8_t)m->answers;
    if (m->has_edns) {
        m->w.cap += EDNS_OPT_SIZE;
        edns_append_opt(&m->w, DNS_UDP_SIZE, 0, false); /* queries are small */
    }
    return m->w.pos;
}
