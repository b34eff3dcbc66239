#include "skydns/sign/signed_probe.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/cursor.h"
#include "common/base/xalloc.h"
#include "common/dns/dns.h"
#include "skydns/records/hash.h"
#include "skydns/records/rr.h"
#include "skydns/wire/query_parse.h"

/* The types of names asked about again and again, AAAA of names with only A: a few dozen that many
 * clients use. A longer name is asked about each time. */
enum { KNOWN_BITS = 8, KNOWN_NAME_MAX = 102 };

struct known {
    uint64_t store_serial; /* 0: nothing is known */
    uint16_t types;        /* a bit for each */
    uint8_t family;        /* of the address that the query was sent to, which our names have */
    uint8_t len;
    uint8_t name[KNOWN_NAME_MAX];
};

struct signed_probe {
    const struct engine_config *config;
    struct known known[1 << KNOWN_BITS];

    /* Of the client's query. */
    const struct signed_source *source;
    const struct engine_query *query;
    uint8_t family; /* of the address that it was sent to; 0: not known */

    struct engine_deferral deferral; /* scratch, as the others */
    uint8_t wire[DNS_HEADER_SIZE + DNAME_MAX + 4];
    struct query parsed;
    uint8_t reply[ENGINE_REPLY_MAX];
};

struct signed_probe *signed_probe_new(void)
{
    return xcalloc(1, sizeof(struct signed_probe));
}

void signed_probe_free(struct signed_probe *probe)
{
    free(probe);
}

void signed_probe_configure(struct signed_probe *probe, const struct engine_config *config)
{
    probe->config = config;
    memset(probe->known, 0, sizeof(probe->known));
}

void signed_probe_begin(struct signed_probe *probe, const struct signed_source *source,
                        const struct engine_query *query)
{
    probe->source = source;
    probe->query = query;
    probe->family = addr_is_wildcard(query->local) ? 0 : addr_ip(query->local).family_bytes;
}

/* ---- Asking ---- */

static size_t write_query(uint8_t *wire, size_t size, const struct dname *name, uint16_t type)
{
    struct writer w = writer_of(wire, size);
    static const uint8_t head[DNS_HEADER_SIZE] = {[5] = 1}; /* one question */
    writer_bytes(&w, head, sizeof(head));
    writer_bytes(&w, name->wire, name->len);
    writer_u16(&w, type);
    writer_u16(&w, DNS_CLASS_IN);
    return w.pos;
}

/* What a reply says. */
struct said {
    bool is_denied; /* NXDOMAIN */
    bool has_records;
};

/* SIGNED_NO: there is a reply, and *ret_said is set. SIGNED_YES: the name leads to other domains,
 * whose nameservers would be asked. */
static enum signed_fact ask(struct signed_probe *p, const struct dname *name, uint16_t type,
                            struct said *ret_said)
{
    struct engine_query query = *p->query;
    struct response response = {.bytes = p->reply};
    query.wire = p->wire;
    query.len = write_query(p->wire, sizeof(p->wire), name, type);
    query_parse(query.wire, query.len, &p->parsed);
    query.parsed = &p->parsed;
    query.transport = ENGINE_UDP;
    query.ahead = 0;
    query.reserved = 0;
    query.is_repeated = true;
    query.takes_stale = false;
    switch (p->source->answer(p->source->data, &query, true, &response, &p->deferral)) {
    case ENGINE_REPLY:
        break;
    case ENGINE_DROP:
        return SIGNED_UNKNOWN;
    case ENGINE_DEFER:
        return p->deferral.kind == ENGINE_DEFER_WALK ? SIGNED_WALK : SIGNED_YES;
    }
    unsigned rcode = p->reply[3] & DNS_MASK_RCODE;
    bool is_cut = (p->reply[2] & DNS_FLAG_TC >> 8) != 0;
    *ret_said = (struct said){.is_denied = rcode == DNS_RCODE_NXDOMAIN,
                              .has_records = is_cut || p->reply[6] || p->reply[7]};
    if (rcode == DNS_RCODE_NOERROR || rcode == DNS_RCODE_NXDOMAIN) {
        return SIGNED_NO;
    }
    bool is_ours = (p->reply[2] & DNS_FLAG_AA >> 8) != 0;
    return is_ours ? SIGNED_UNKNOWN : SIGNED_YES; /* a stub zone without nameservers */
}

/* CNAME is the type that leads nowhere: the rcode is the name's own, and no target is asked for. */
enum signed_fact signed_probe_exists(struct signed_probe *probe, const struct dname *name)
{
    struct said said;
    enum signed_fact fact = ask(probe, name, DNS_TYPE_CNAME, &said);
    return fact != SIGNED_NO ? fact : said.is_denied && !said.has_records ? SIGNED_NO : SIGNED_YES;
}

/* ---- Types ---- */

enum { IS_ALIAS = 1 << SIGNED_TYPES }; /* beside a bit for each */

static const uint16_t types[SIGNED_TYPES] = {
    DNS_TYPE_A,  DNS_TYPE_NS,  DNS_TYPE_SOA,  DNS_TYPE_PTR,
    DNS_TYPE_MX, DNS_TYPE_TXT, DNS_TYPE_AAAA, DNS_TYPE_SRV,
};

enum {
#define NUMBERED(name) NUMBERED_##name,
    RR_TYPES(NUMBERED)
#undef NUMBERED
        NUMBERED_TYPES,
};
_Static_assert(SIGNED_TYPES + 2 == NUMBERED_TYPES, "every type but CNAME and HINFO is asked for");

/* NULL: it is not kept. What a client sees may be its own. */
static struct known *find_known(struct signed_probe *p, const struct dname *name)
{
    if (name->len > KNOWN_NAME_MAX || p->config->visibility || p->source->store_serial == 0) {
        return NULL;
    }
    uint32_t hash = hash_bytes(HASH_START, (const char *)name->wire, name->len);
    return &p->known[(hash ^ hash >> 16) & ((1 << KNOWN_BITS) - 1)];
}

static bool is_known(const struct signed_probe *p, const struct known *known,
                     const struct dname *name)
{
    return known && known->store_serial == p->source->store_serial && known->family == p->family &&
           known->len == name->len && memcmp(known->name, name->wire, name->len) == 0;
}

static enum signed_fact find_alias(struct signed_probe *p, const struct dname *name,
                                   unsigned *ret_bits)
{
    struct said said;
    *ret_bits = 0;
    if (p->config->settings.schema != ENGINE_SCHEMA_KUBERNETES) {
        return SIGNED_YES;
    }
    enum signed_fact fact = ask(p, name, DNS_TYPE_CNAME, &said);
    *ret_bits = fact == SIGNED_NO && said.has_records ? IS_ALIAS : 0;
    return fact == SIGNED_NO ? SIGNED_YES : fact;
}

static enum signed_fact find_types(struct signed_probe *p, const struct dname *name,
                                   unsigned *ret_bits)
{
    enum signed_fact alias = find_alias(p, name, ret_bits);
    if (alias != SIGNED_YES || *ret_bits) {
        return alias;
    }
    for (unsigned i = 0; i < SIGNED_TYPES; i++) {
        struct said said;
        enum signed_fact fact = ask(p, name, types[i], &said);
        if (fact == SIGNED_WALK || fact == SIGNED_UNKNOWN) {
            return fact;
        }
        bool has_it = fact == SIGNED_YES || (!said.is_denied && said.has_records);
        *ret_bits |= has_it ? 1u << i : 0;
    }
    return SIGNED_YES;
}

enum signed_fact signed_probe_types(struct signed_probe *probe, const struct dname *name,
                                    uint16_t ret_types[SIGNED_TYPES], size_t *ret_count)
{
    struct known *known = find_known(probe, name);
    unsigned bits = 0;
    if (is_known(probe, known, name)) {
        bits = known->types;
    } else {
        enum signed_fact fact = find_types(probe, name, &bits);
        if (fact != SIGNED_YES) {
            return fact;
        }
        if (known) {
            *known = (struct known){.store_serial = probe->source->store_serial,
                                    .types = (uint16_t)bits,
                                    .family = probe->family,
                                    .len = name->len};
            memcpy(known->name, name->wire, name->len);
        }
    }
    *ret_count = 0;
    if (bits & IS_ALIAS) {
        ret_types[(*ret_count)++] = DNS_TYPE_CNAME;
    }
    for (unsigned i = 0; i < SIGNED_TYPES; i++) {
        if (bits & 1u << i) {
            ret_types[(*ret_count)++] = types[i];
        }
    }
    return SIGNED_YES;
}

/* ---- Data ---- */

/* Reads a record's data, and whether it is one of these. */
static bool read_one_of(struct reader *r, const struct dname *name, uint16_t type,
                        const struct slice *data, size_t count)
{
    struct dname owner;
    if (!dname_read(r, &owner) || !dname_equal(&owner, name) || reader_u16(r) != type) {
        return false;
    }
    (void)reader_take(r, 6); /* class, TTL */
    size_t len = reader_u16(r);
    const uint8_t *bytes = reader_take(r, len);
    for (size_t i = 0; i < count && bytes; i++) {
        if (slice_equal(data[i], slice_of(bytes, len))) {
            return true;
        }
    }
    return false;
}

bool signed_probe_has_just(struct signed_probe *probe, const struct dname *name, uint16_t type,
                           const struct slice *data, size_t count)
{
    struct said said;
    enum { TYPE_AND_CLASS = 4 };
    if (ask(probe, name, type, &said) != SIGNED_NO || (probe->reply[2] & DNS_FLAG_TC >> 8) != 0) {
        return false;
    }
    struct reader r = reader_of(probe->reply, sizeof(probe->reply));
    reader_seek(&r, 6);
    size_t answers = reader_u16(&r);
    reader_seek(&r, DNS_HEADER_SIZE + (size_t)name->len + TYPE_AND_CLASS);
    for (size_t i = 0; i < answers; i++) {
        if (!read_one_of(&r, name, type, data, count)) {
            return false;
        }
    }
    return answers == count;
}

/* ---- The SOA ---- */

bool signed_probe_soa(struct signed_probe *probe, const struct dname *apex, struct signed_soa *ret)
{
    struct dname owner, mname, rname;
    struct said said;
    enum { NUMBERS = 20, TYPE_AND_CLASS = 4 };
    if (ask(probe, apex, DNS_TYPE_HINFO, &said) != SIGNED_NO) {
        return false;
    }
    struct reader r = reader_of(probe->reply, sizeof(probe->reply));
    reader_seek(&r, DNS_HEADER_SIZE + (size_t)apex->len + TYPE_AND_CLASS);
    if (said.has_records || probe->reply[9] == 0 || !dname_read(&r, &owner)) {
        return false;
    }
    uint16_t type = reader_u16(&r);
    (void)reader_u16(&r);
    ret->ttl_s = reader_u32(&r);
    (void)reader_u16(&r);
    if (type != DNS_TYPE_SOA || !dname_read(&r, &mname) || !dname_read(&r, &rname)) {
        return false;
    }
    struct writer w = writer_of(ret->data, sizeof(ret->data));
    writer_bytes(&w, mname.wire, mname.len);
    writer_bytes(&w, rname.wire, rname.len);
    writer_bytes(&w, reader_take(&r, NUMBERS), NUMBERS);
    ret->len = w.pos;
    return true;
}
