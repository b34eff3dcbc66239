#include "tests/support/skydns/signed_check.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "common/base/cursor.h"
#include "common/dns/dname.h"
#include "tests/support/skydns/rrsig_check.h"

enum { RECORDS_MAX = 5000, TYPE_RRSIG = 46, TYPE_NSEC = 47, TYPE_CNAME = 5, TYPE_SOA = 6 };

struct record {
    unsigned section;
    struct dname owner;
    uint16_t type;
    uint32_t ttl_s;
    size_t len;
    const uint8_t *data; /* canonical */
};

static struct {
    const struct signed_check *check;
    struct dname name; /* the question's */
    uint16_t type;
    unsigned rcode;
    bool is_cut;
    size_t count;
    struct record records[RECORDS_MAX];
    size_t used;
    uint8_t bytes[1 << 20];
    char text[2 * DNAME_TEXT_MAX + 200];
} m;

static const char *signed_check_wrong(const char *what, const struct dname *name, unsigned type)
{
    char text[DNAME_TEXT_MAX] = "";
    if (name) {
        (void)dname_to_text(name, text);
    }
    (void)snprintf(m.text, sizeof(m.text), "%s: %s type %u", what, text, type);
    return m.text;
}

/* ---- Reading ---- */

static void signed_check_layout(uint16_t type, unsigned *before, unsigned *names)
{
    *before = type == 15 ? 2 : type == 33 ? 6 : 0;
    *names = type == 2 || type == 5 || type == 12 || type == 15 || type == 33 ? 1
             : type == 6                                                      ? 2
                                                                              : 0;
}

static bool read_data(struct reader *r, struct record *record, unsigned len)
{
    unsigned before, names;
    size_t end = r->pos + len;
    uint8_t *out = m.bytes + m.used;
    signed_check_layout(record->type, &before, &names);
    const uint8_t *p = reader_take(r, before);
    record->data = out;
    if (p) {
        memcpy(out, p, before);
        out += before;
    }
    for (unsigned i = 0; i < names; i++) {
        struct dname name;
        if (!dname_read(r, &name)) {
            return false;
        }
        dname_lower(&name);
        memcpy(out, name.wire, name.len);
        out += name.len;
    }
    if (r->failed || r->pos > end || !(p = reader_take(r, end - r->pos))) {
        return false;
    }
    size_t left = (size_t)(r->data + end - p);
    memcpy(out, p, left);
    record->len = (size_t)(out + left - record->data);
    m.used += record->len;
    return true;
}

static bool signed_check_read_record(struct reader *r, unsigned section)
{
    struct record *record = &m.records[m.count];
    if (m.count == RECORDS_MAX || !dname_read(r, &record->owner)) {
        return false;
    }
    dname_lower(&record->owner);
    record->section = section;
    record->type = reader_u16(r);
    (void)reader_u16(r);
    record->ttl_s = reader_u32(r);
    unsigned len = reader_u16(r);
    if (r->failed || !read_data(r, record, len)) {
        return false;
    }
    m.count += record->type != 41;
    return true;
}

static bool read_message(const uint8_t *wire, size_t len)
{
    struct reader r = reader_of(wire, len);
    unsigned counts[3];
    m.count = m.used = 0;
    (void)reader_u16(&r);
    unsigned flags = reader_u16(&r);
    m.rcode = flags & 15;
    m.is_cut = (flags & 0x0200) != 0;
    (void)reader_u16(&r);
    for (unsigned i = 0; i < 3; i++) {
        counts[i] = reader_u16(&r);
    }
    if (!dname_read(&r, &m.name)) {
        return false;
    }
    dname_lower(&m.name);
    m.type = reader_u16(&r);
    (void)reader_u16(&r);
    for (unsigned section = 0; section < 3; section++) {
        for (unsigned i = 0; i < counts[section]; i++) {
            if (!signed_check_read_record(&r, section)) {
                return false;
            }
        }
    }
    return r.pos == len;
}

/* ---- Zones ---- */

/* The zone that has a type at a name: DS and a parent's NSEC are above a cut. Empty: unsigned. */
static struct dname signed_check_zone_of(const struct dname *name, bool is_above)
{
    struct dname best = {0};
    size_t best_len = 0;
    for (size_t i = 0; i < m.check->key_count; i++) {
        const struct dname *owner = &m.check->keys[i]->owner;
        if (dname_is_within(name, owner) && owner->len > best_len &&
            !(is_above && dname_equal(owner, name))) {
            best = *owner;
            best_len = owner->len;
        }
    }
    for (size_t i = 0; i < m.check->unsigned_count; i++) {
        struct dname zone;
        if (dname_from_text(slice_str(m.check->unsigned_zones[i]), &zone) &&
            dname_is_within(name, &zone) && zone.len > best_len &&
            !(is_above && dname_equal(&zone, name))) {
            best = (struct dname){0};
            best_len = zone.len;
        }
    }
    return best;
}

/* ---- Signatures ---- */

static int signed_check_compare(const struct record *a, const struct record *b)
{
    size_t n = a->len < b->len ? a->len : b->len;
    int d = n ? memcmp(a->data, b->data, n) : 0;
    return d ? d : (a->len > b->len) - (a->len < b->len);
}

static bool is_of_set(const struct record *r, const struct record *rrsig, uint16_t type)
{
    return r->type == type && r->section == rrsig->section && dname_equal(&r->owner, &rrsig->owner);
}

static unsigned signed_check_labels_of(const struct dname *name)
{
    unsigned labels = dname_label_count(name);
    return name->wire[0] == 1 && name->wire[1] == '*' ? labels - 1 : labels;
}

/* The signed data: RFC 4034 3.1.8.1. */
static const char *check_signature(const struct record *rrsig, const struct signing_key *key,
                                   size_t fields_len)
{
    static uint8_t data[1 << 20];
    const struct record *set[RECORDS_MAX];
    size_t count = 0, len = fields_len;
    uint16_t type = (uint16_t)(rrsig->data[0] << 8 | rrsig->data[1]);
    for (size_t i = 0; i < m.count; i++) {
        if (is_of_set(&m.records[i], rrsig, type)) {
            size_t at = count++;
            for (; at > 0 && signed_check_compare(set[at - 1], &m.records[i]) > 0; at--) {
                set[at] = set[at - 1];
            }
            set[at] = &m.records[i];
        }
    }
    if (count == 0) {
        return m.type == TYPE_RRSIG
                   ? NULL
                   : signed_check_wrong("signature of nothing", &rrsig->owner, type);
    }
    memcpy(data, rrsig->data, fields_len);
    for (size_t i = 0; i < count; i++) {
        struct writer w = writer_of(data + len, sizeof(data) - len);
        writer_bytes(&w, rrsig->owner.wire, rrsig->owner.len);
        writer_u16(&w, type);
        writer_u16(&w, 1);
        writer_bytes(&w, rrsig->data + 4, 4);
        writer_u16(&w, (uint16_t)set[i]->len);
        writer_bytes(&w, set[i]->data, set[i]->len);
        len += w.pos;
        if (w.failed || set[i]->ttl_s != rrsig->ttl_s) {
            return signed_check_wrong("TTL", &rrsig->owner, type);
        }
    }
    const struct slice signature = slice_of(rrsig->data + fields_len, rrsig->len - fields_len);
    return rrsig_key_verifies(slice_of(key->rdata, key->rdata_len), slice_of(data, len), signature)
               ? NULL
               : signed_check_wrong("bad signature", &rrsig->owner, type);
}

static const char *check_rrsig(const struct record *rrsig)
{
    struct reader r = reader_of(rrsig->data, rrsig->len);
    struct dname signer = {0};
    uint16_t type = reader_u16(&r);
    unsigned algorithm = reader_u8(&r), labels = reader_u8(&r);
    uint32_t ttl_s = reader_u32(&r), ends_s = reader_u32(&r), began_s = reader_u32(&r);
    unsigned tag = reader_u16(&r);
    size_t at = r.pos;
    while (at < rrsig->len && rrsig->data[at] != 0) {
        at += rrsig->data[at] + 1u;
    }
    signer.len = (uint8_t)(at + 1 - r.pos);
    memcpy(signer.wire, rrsig->data + r.pos, signer.len);
    struct dname zone = signed_check_zone_of(&rrsig->owner, type == 43);
    if (type == TYPE_NSEC && !dname_equal(&zone, &signer)) {
        zone = signed_check_zone_of(&rrsig->owner, true);
    }
    if (zone.len == 0 || !dname_equal(&zone, &signer)) {
        return signed_check_wrong("signer", &rrsig->owner, type);
    }
    if (labels != signed_check_labels_of(&rrsig->owner) || ttl_s != rrsig->ttl_s ||
        began_s > m.check->now_s || ends_s < m.check->now_s) {
        return signed_check_wrong("fields", &rrsig->owner, type);
    }
    for (size_t i = 0; i < m.check->key_count; i++) {
        const struct signing_key *key = m.check->keys[i];
        if (dname_equal(&key->owner, &signer) && key->tag == tag && key->algorithm == algorithm) {
            return check_signature(rrsig, key, at + 1);
        }
    }
    return signed_check_wrong("unknown key", &rrsig->owner, type);
}

static bool has_signature(const struct record *record)
{
    for (size_t i = 0; i < m.count; i++) {
        const struct record *r = &m.records[i];
        if (is_of_set(r, record, TYPE_RRSIG) &&
            (uint16_t)(r->data[0] << 8 | r->data[1]) == record->type) {
            return true;
        }
    }
    return false;
}

static const char *signed_check_record(const struct record *record)
{
    if (record->type == TYPE_RRSIG) {
        return check_rrsig(record);
    }
    bool is_signed =
        signed_check_zone_of(&record->owner, record->type == 43).len > 0 ||
        (record->type == TYPE_NSEC && signed_check_zone_of(&record->owner, true).len > 0);
    return !is_signed || has_signature(record)
               ? NULL
               : signed_check_wrong("unsigned", &record->owner, record->type);
}

/* ---- Denials ---- */

/* Canonical order, written here once more: labels from the root. */
static int signed_check_order(const struct dname *a, const struct dname *b)
{
    struct dname_labels x, y;
    dname_labels(a, &x);
    dname_labels(b, &y);
    for (unsigned i = 1; i <= x.count && i <= y.count; i++) {
        int d = slice_compare(dname_label(a, x.offsets[x.count - i]),
                              dname_label(b, y.offsets[y.count - i]));
        if (d != 0) {
            return d;
        }
    }
    return (int)x.count - (int)y.count;
}

static void next_of(const struct record *nsec, struct dname *ret)
{
    struct reader r = reader_of(nsec->data, nsec->len);
    size_t at = 0;
    (void)r;
    while (at < nsec->len && nsec->data[at] != 0) {
        at += nsec->data[at] + 1u;
    }
    ret->len = (uint8_t)(at + 1);
    memcpy(ret->wire, nsec->data, ret->len);
}

static bool signed_check_covers(const struct record *nsec, const struct dname *name)
{
    struct dname next;
    next_of(nsec, &next);
    struct dname zone = signed_check_zone_of(&nsec->owner, false);
    bool is_last = dname_equal(&next, &zone);
    return signed_check_order(&nsec->owner, name) < 0 &&
           (is_last || signed_check_order(name, &next) < 0);
}

static bool has_type(const struct record *nsec, unsigned type)
{
    struct dname next;
    next_of(nsec, &next);
    for (size_t at = next.len; at + 2 <= nsec->len; at += 2u + nsec->data[at + 1]) {
        unsigned byte = type % 256 / 8;
        if (nsec->data[at] == type / 256 && byte < nsec->data[at + 1]) {
            return (nsec->data[at + 2 + byte] & 0x80 >> type % 8) != 0;
        }
    }
    return false;
}

static const struct record *signed_check_covering(const struct dname *name)
{
    for (size_t i = 0; i < m.count; i++) {
        if (m.records[i].type == TYPE_NSEC && signed_check_covers(&m.records[i], name)) {
            return &m.records[i];
        }
    }
    return NULL;
}

/* The longer of the ends that a name shares with another. */
static void take_shared(const struct dname *name, const struct dname *other, struct dname *best)
{
    struct dname end = *name;
    while (!dname_is_within(other, &end)) {
        dname_strip(&end, 1);
    }
    *best = end.len > best->len ? end : *best;
}

static const char *signed_check_no_name(const struct dname *name)
{
    const struct record *nsec = signed_check_covering(name);
    struct dname next, encloser = {0};
    if (!nsec) {
        return signed_check_wrong("name not covered", name, m.type);
    }
    for (size_t i = 0; i < m.count; i++) {
        if (m.records[i].type == TYPE_NSEC && dname_equal(&m.records[i].owner, name)) {
            return signed_check_wrong("an NSEC has the name that is denied", name, m.type);
        }
    }
    next_of(nsec, &next);
    take_shared(name, &nsec->owner, &encloser);
    take_shared(name, &next, &encloser);
    if (dname_prepend(&encloser, slice_of("*", 1)) && !signed_check_covering(&encloser)) {
        return signed_check_wrong("wildcard not covered", &encloser, m.type);
    }
    return NULL;
}

static const char *signed_check_no_type(const struct dname *name)
{
    for (size_t i = 0; i < m.count; i++) {
        const struct record *nsec = &m.records[i];
        if (nsec->type == TYPE_NSEC && dname_equal(&nsec->owner, name)) {
            bool is_there = m.type != TYPE_NSEC && m.type != TYPE_RRSIG && has_type(nsec, m.type);
            return is_there || has_type(nsec, TYPE_CNAME) || !has_type(nsec, TYPE_NSEC) ||
                           !has_type(nsec, TYPE_RRSIG)
                       ? signed_check_wrong("bitmap", name, m.type)
                       : NULL;
        }
    }
    return signed_check_wrong("no NSEC at the name", name, m.type);
}

static bool find_next_name(struct dname *name, bool *ret_has_type)
{
    *ret_has_type = false;
    const struct record *cname = NULL;
    for (size_t i = 0; i < m.count; i++) {
        const struct record *r = &m.records[i];
        if (r->section == 0 && dname_equal(&r->owner, name)) {
            *ret_has_type = *ret_has_type || r->type == m.type;
            cname = r->type == TYPE_CNAME ? r : cname;
        }
    }
    if (cname && m.type != TYPE_CNAME && m.type != 255) {
        name->len = (uint8_t)cname->len;
        memcpy(name->wire, cname->data, cname->len);
        return true;
    }
    return false;
}

static bool has_authority(void)
{
    for (size_t i = 0; i < m.count; i++) {
        if (m.records[i].type == TYPE_SOA || m.records[i].type == TYPE_NSEC) {
            return true;
        }
    }
    return false;
}

static const char *check_denial(void)
{
    struct dname last = m.name;
    bool has_type_there = false;
    for (unsigned i = 0; find_next_name(&last, &has_type_there); i++) {
        if (i == 8) {
            return NULL; /* a circle */
        }
    }
    if (signed_check_zone_of(&last, m.type == 43).len == 0) {
        return NULL;
    }
    if (m.rcode == 3) {
        return signed_check_no_name(&last);
    }
    if (m.check->may_be_open && !dname_equal(&last, &m.name) && !has_authority()) {
        return NULL;
    }
    if (has_type_there || (m.type == 255 && m.count > 0) || m.type == TYPE_RRSIG) {
        return NULL;
    }
    return signed_check_no_type(&last);
}

/* No NSEC record covers what exists. */
static const char *signed_check_names(void)
{
    for (size_t i = 0; i < m.check->name_count; i++) {
        if (signed_check_covering(&m.check->names[i])) {
            return signed_check_wrong("covers what exists", &m.check->names[i], m.type);
        }
    }
    return NULL;
}

const char *signed_check(const struct signed_check *check, const uint8_t *wire, size_t len)
{
    const char *error = NULL;
    m.check = check;
    if (!read_message(wire, len)) {
        return "malformed";
    }
    if (m.is_cut || (m.rcode != 0 && m.rcode != 3)) {
        return m.count > 0 ? signed_check_wrong("records", &m.name, m.type) : NULL;
    }
    for (size_t i = 0; i < m.count && !error; i++) {
        error = signed_check_record(&m.records[i]);
    }
    error = error ? error : check_denial();
    return error ? error : signed_check_names();
}
