#include "skydns/sign/signed_message_internal.h"

#include <assert.h>
#include <string.h>

#include "skydns/records/hash.h"
#include "skydns/wire/edns.h"

enum {
    POINTER = 0xc0,
    QUESTION_TAIL = 4, /* type, class */
    RR_HEAD = 10,      /* type, class, TTL, length */
    TTL_AT = 6,        /* before the data */
    SOA_NUMBERS = 20,
};

static unsigned get16(const uint8_t *at)
{
    return (unsigned)at[0] << 8 | at[1];
}

static void put32(uint8_t *at, uint32_t v)
{
    for (unsigned i = 0; i < 4; i++) {
        at[i] = (uint8_t)(v >> (24 - 8 * i));
    }
}

/* ---- Names ---- */

void signed_message_name(const struct signed_message *message, size_t at, struct dname *ret_name)
{
    struct reader r = reader_of(message->bytes, message->len);
    reader_seek(&r, at);
    if (!dname_read(&r, ret_name)) {
        *ret_name = (struct dname){.len = 1}; /* the root: read_record has read it before */
    }
    dname_lower(ret_name);
}

/* Behind the name at r->pos. False: it is none. */
static bool skip_name(struct reader *r)
{
    struct dname name;
    if (reader_left(r) >= 2 && r->data[r->pos] == POINTER &&
        r->data[r->pos + 1] == DNS_HEADER_SIZE) {
        r->pos += 2;
        return true;
    }
    return dname_read(r, &name);
}

/* Pointers that the encoder writes lead backwards, each to a label or to another one. */
static size_t first_label(const uint8_t *bytes, size_t at)
{
    while (bytes[at] >= POINTER) {
        at = (size_t)(bytes[at] & ~POINTER) << 8 | bytes[at + 1];
    }
    return at;
}

static uint32_t hash_name(const struct dname *name)
{
    return hash_bytes(HASH_START, (const char *)name->wire, name->len);
}

/* ---- RRsets ---- */

static bool is_same(const struct signed_message *m, const struct signed_set *set, uint32_t hash,
                    const struct dname *owner)
{
    struct dname other;
    if (set->owner_at == DNS_HEADER_SIZE) {
        return dname_equal(&m->name, owner);
    }
    if (set->owner_hash != hash) {
        return false;
    }
    signed_message_name(m, set->owner_at, &other);
    return dname_equal(&other, owner);
}

/* The owner is written elsewhere than those of the RRsets before. */
static struct signed_set *find_by_name(struct signed_message *m, enum signed_section section,
                                       uint16_t type, const struct dname *owner, uint32_t hash)
{
    for (size_t i = m->set_count; i-- > 0;) {
        struct signed_set *set = &m->sets[i];
        if (set->section == section && set->type == type && is_same(m, set, hash, owner)) {
            return set;
        }
    }
    return NULL;
}

/* NULL: there are too many. */
static struct signed_set *add_set(struct signed_message *m, const struct signed_zones *zones,
                                  enum signed_section section, uint16_t type, size_t owner_at)
{
    struct dname owner;
    bool is_question = owner_at == DNS_HEADER_SIZE;
    if (!is_question) {
        signed_message_name(m, owner_at, &owner);
    }
    const struct dname *name = is_question ? &m->name : &owner;
    uint32_t hash = is_question && m->set_count == 0 ? 0 : hash_name(name);
    struct signed_set *set = find_by_name(m, section, type, name, hash);
    if (set || m->set_count == SIGNED_SETS_MAX) {
        return set;
    }
    const struct dnssec_zone *keys =
        type != DNS_TYPE_DS && is_question ? m->place.keys : signed_zones_keys(zones, name, type);
    set = &m->sets[m->set_count++];
    *set = (struct signed_set){
        .section = section,
        .type = type,
        .owner_at = (uint16_t)owner_at,
        .first = SIGNED_NONE,
        .last = SIGNED_NONE,
        .owner_hash = hash,
        .ttl_s = UINT32_MAX,
        .keys = keys,
    };
    m->is_signed = m->is_signed || keys;
    return set;
}

/* Most records are of the RRset before, or their owner is written where that of another is. */
static struct signed_set *set_of(struct signed_message *m, const struct signed_zones *zones,
                                 enum signed_section section, uint16_t type, size_t owner_at)
{
    for (size_t i = m->set_count; i-- > 0;) {
        struct signed_set *set = &m->sets[i];
        if (set->owner_at == owner_at && set->type == type && set->section == section) {
            return set;
        }
    }
    return add_set(m, zones, section, type, owner_at);
}

static void add_record(struct signed_message *m, struct signed_set *set,
                       const struct signed_record *record, uint32_t ttl_s)
{
    uint16_t i = (uint16_t)m->record_count++;
    m->records[i] = *record;
    *(set->last == SIGNED_NONE ? &set->first : &m->records[set->last].next) = i;
    set->last = i;
    set->count++;
    set->ttl_s = ttl_s < set->ttl_s ? ttl_s : set->ttl_s;
}

/* ---- Reading ---- */

static bool read_record(struct signed_message *m, const struct signed_zones *zones,
                        struct reader *r, enum signed_section section)
{
    struct signed_record record = {.at = (uint16_t)r->pos, .next = SIGNED_NONE};
    if (!skip_name(r)) {
        return false;
    }
    uint16_t type = reader_u16(r);
    (void)reader_u16(r); /* IN, as the question's */
    uint32_t ttl_s = reader_u32(r);
    record.data_len = reader_u16(r);
    record.data_at = (uint16_t)r->pos;
    if (!reader_take(r, record.data_len) || m->record_count == SIGNED_RECORDS_MAX) {
        return false;
    }
    struct signed_set *set = set_of(m, zones, section, type, first_label(m->bytes, record.at));
    if (set) {
        add_record(m, set, &record, ttl_s);
    } else if (section == SIGNED_ADDITIONAL) {
        m->has_additionals_room = false;
    } else {
        m->has_room = false;
    }
    return true;
}

static bool read_sections(struct signed_message *m, const struct signed_zones *zones)
{
    struct reader r = reader_of(m->bytes, m->len);
    reader_seek(&r, m->question_end);
    for (unsigned section = 0; section < SIGNED_SECTIONS; section++) {
        for (unsigned i = 0; i < m->counts[section]; i++) {
            if (!read_record(m, zones, &r, (enum signed_section)section)) {
                return false;
            }
            if (!m->has_room || !m->has_additionals_room) {
                return true; /* the rest makes no difference */
            }
        }
        if (section == SIGNED_ANSWER) {
            m->answers_end = r.pos;
        }
    }
    return r.pos == m->len;
}

static void level_ttls(struct signed_message *m)
{
    for (size_t i = 0; i < m->set_count; i++) {
        for (uint16_t at = m->sets[i].first; at != SIGNED_NONE; at = m->records[at].next) {
            put32(m->bytes + m->records[at].data_at - TTL_AT, m->sets[i].ttl_s);
        }
    }
}

bool signed_message_read(struct signed_message *message, const struct signed_zones *zones,
                         const struct dname *name, const struct response *response)
{
    struct signed_message *m = message;
    m->question_end = DNS_HEADER_SIZE + (size_t)name->len + QUESTION_TAIL;
    if (response->len < m->question_end || response->len > sizeof(m->bytes)) {
        return false;
    }
    /* A signed response is no error, so its OPT record has no option yet. */
    assert(response->opt_at == 0 || response->len - response->opt_at == EDNS_OPT_SIZE);
    memcpy(m->bytes, response->bytes, response->len);
    m->len = response->opt_at ? response->opt_at : response->len; /* OPT is not signed */
    m->name = *name;
    m->place = signed_zones_find(zones, name);
    m->is_signed = false;
    m->has_room = m->has_additionals_room = true;
    m->record_count = m->set_count = 0;
    for (unsigned i = 0; i < SIGNED_SECTIONS; i++) {
        m->counts[i] = (uint16_t)get16(m->bytes + 6 + 2 * (size_t)i);
    }
    m->counts[SIGNED_ADDITIONAL] =
        (uint16_t)(m->counts[SIGNED_ADDITIONAL] - (response->opt_at > 0));
    if (!read_sections(m, zones)) {
        return false;
    }
    level_ttls(m);
    return true;
}

const struct signed_set *signed_message_find(const struct signed_message *message,
                                             enum signed_section section, const struct dname *owner,
                                             uint16_t type)
{
    uint32_t hash = hash_name(owner);
    for (size_t i = 0; i < message->set_count; i++) {
        const struct signed_set *set = &message->sets[i];
        if (set->section == section && set->type == type && is_same(message, set, hash, owner)) {
            return set;
        }
    }
    return NULL;
}

/* ---- Canonical form ---- */

/* How data begins that has names: bytes before them, and how many. */
struct layout {
    uint8_t before, names;
};

static struct layout layout_of(uint16_t type)
{
    switch (type) {
    case DNS_TYPE_NS:
    case DNS_TYPE_CNAME:
    case DNS_TYPE_PTR:
        return (struct layout){0, 1};
    case DNS_TYPE_MX:
        return (struct layout){2, 1};
    case DNS_TYPE_SRV:
        return (struct layout){6, 1};
    case DNS_TYPE_SOA:
        return (struct layout){0, 2};
    default:
        return (struct layout){0, 0};
    }
}

static struct slice canonical(const struct signed_message *m, const struct signed_record *record,
                              struct layout layout, uint8_t *out)
{
    struct reader r = reader_of(m->bytes, (size_t)record->data_at + record->data_len);
    reader_seek(&r, record->data_at);
    size_t len = layout.before;
    const uint8_t *before = reader_take(&r, len);
    if (before) {
        memcpy(out, before, len);
    }
    for (unsigned i = 0; i < layout.names; i++) {
        struct dname name;
        if (dname_read(&r, &name)) {
            dname_lower(&name);
            memcpy(out + len, name.wire, name.len);
            len += name.len;
        }
    }
    size_t left = reader_left(&r);
    const uint8_t *rest = reader_take(&r, left);
    if (rest) {
        memcpy(out + len, rest, left);
        len += left;
    }
    return slice_of(out, len);
}

void signed_message_data(const struct signed_message *message, const struct signed_set *set,
                         struct slice *ret_data, uint8_t *out)
{
    const struct layout layout = layout_of(set->type);
    size_t count = 0;
    for (uint16_t i = set->first; i != SIGNED_NONE; i = message->records[i].next) {
        const struct signed_record *record = &message->records[i];
        if (layout.names == 0) {
            ret_data[count++] = slice_of(message->bytes + record->data_at, record->data_len);
        } else {
            ret_data[count] = canonical(message, record, layout, out);
            out += ret_data[count++].len;
        }
    }
}

/* ---- Moving ---- */

/* Copies a name whose pointers lead to where their targets will be. */
static void move_name(const struct signed_message *m, struct reader *r, size_t shift,
                      struct writer *w)
{
    uint8_t len;
    while ((len = reader_u8(r)) > 0 && len <= DNAME_LABEL_MAX) {
        writer_u8(w, len);
        const uint8_t *label = reader_take(r, len);
        writer_bytes(w, label, label ? len : 0);
    }
    if (len == 0) {
        writer_u8(w, 0);
        return;
    }
    size_t target = (size_t)(len & ~POINTER) << 8 | reader_u8(r);
    target = signed_message_moved(m, target, shift);
    w->failed = w->failed || target > DNS_POINTER_MAX;
    writer_u16(w, (uint16_t)(POINTER << 8 | target));
}

static bool move_record(const struct signed_message *m, const struct signed_record *record,
                        uint16_t type, size_t shift, struct writer *w)
{
    const struct layout layout = layout_of(type);
    size_t end = (size_t)record->data_at + record->data_len;
    struct reader r = reader_of(m->bytes, end);
    reader_seek(&r, record->at);
    move_name(m, &r, shift, w);
    const uint8_t *head = reader_take(&r, RR_HEAD + (size_t)layout.before);
    writer_bytes(w, head, head ? RR_HEAD + (size_t)layout.before : 0);
    for (unsigned i = 0; i < layout.names; i++) {
        move_name(m, &r, shift, w);
    }
    size_t left = reader_left(&r);
    const uint8_t *rest = reader_take(&r, left);
    writer_bytes(w, rest, left);
    return !r.failed && !w->failed;
}

static uint16_t type_of(const struct signed_message *m, const struct signed_record *record)
{
    return (uint16_t)get16(m->bytes + record->data_at - RR_HEAD);
}

/* Records are in the message's order; those of a section follow those before it. */
bool signed_message_move(const struct signed_message *message, enum signed_section section,
                         size_t shift, struct writer *w)
{
    size_t begin = 0;
    for (unsigned i = 0; i < (unsigned)section; i++) {
        begin += message->counts[i];
    }
    for (size_t i = begin; i < begin + message->counts[section]; i++) {
        const struct signed_record *record = &message->records[i];
        if (!move_record(message, record, type_of(message, record), shift, w)) {
            return false;
        }
    }
    return true;
}
