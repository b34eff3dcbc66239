#include "skydns/sign/signed_apex_internal.h"

#include <string.h>

#include "common/base/cursor.h"
#include "common/dns/dns.h"
#include "skydns/wire/edns.h"

enum { QUESTION_TAIL = 4 }; /* type, class */

struct records {
    uint16_t answers, authorities;
};

/* ---- Replies ---- */

static void begin(struct writer *w, const struct signed_question *q,
                  const struct engine_query *query)
{
    (void)writer_take(w, DNS_HEADER_SIZE); /* written last */
    writer_bytes(w, query->wire + DNS_HEADER_SIZE, (size_t)q->name.len + QUESTION_TAIL);
}

static void put_header(uint8_t *reply, const struct signed_question *q,
                       const struct engine_query *query, unsigned flags,
                       const struct records *records)
{
    struct writer w = writer_of(reply, DNS_HEADER_SIZE);
    writer_bytes(&w, query->wire, 2);
    writer_u16(&w, (uint16_t)(DNS_FLAG_QR | DNS_FLAG_AA | DNS_FLAG_RA | flags |
                              (unsigned)(query->wire[2] << 8 & DNS_FLAG_RD)));
    writer_u16(&w, 1);
    writer_u16(&w, records->answers);
    writer_u16(&w, records->authorities);
    writer_u16(&w, q->has_edns);
}

static void end(struct writer *w, const struct signed_zones *zones, const struct signed_question *q,
                struct response *response)
{
    response->opt_at = q->has_edns ? w->pos : 0;
    if (q->has_edns) {
        w->cap += EDNS_OPT_SIZE;
        edns_append_opt(w, zones->config->settings.max_udp_size, 0, q->dnssec_ok);
    }
    response->len = w->pos;
}

void signed_apex_bare(const struct signed_zones *zones, const struct signed_question *question,
                      const struct engine_query *query, enum dns_rcode rcode, bool is_cut,
                      struct response *response)
{
    const struct records none = {0};
    struct writer w = writer_of(response->bytes, DNS_UDP_SIZE - EDNS_OPT_SIZE);
    begin(&w, question, query);
    put_header(response->bytes, question, query, (is_cut ? DNS_FLAG_TC : 0) | (unsigned)rcode,
               &none);
    end(&w, zones, question, response);
    if (question->has_edns && rcode == DNS_RCODE_SERVFAIL) {
        w.cap = DNS_UDP_SIZE;
        edns_append_error(&w, EDNS_ERROR_OTHER);
        response->len = w.pos;
    }
}

/* Of what has been written; what does not fit is asked for again over TCP, where it does. */
static void finish(struct writer *w, const struct signed_zones *zones,
                   const struct signed_question *q, const struct engine_query *query,
                   const struct records *records, struct response *response)
{
    bool is_udp = query->transport == ENGINE_UDP;
    if (w->failed) {
        signed_apex_bare(zones, q, query, is_udp ? DNS_RCODE_NOERROR : DNS_RCODE_SERVFAIL, is_udp,
                         response);
    } else {
        put_header(w->data, q, query, 0, records);
        end(w, zones, q, response);
    }
}

/* `owner_at`: where in the message its name is. */
static void put_record(struct writer *w, size_t owner_at, uint16_t type, uint32_t ttl_s,
                       struct slice data)
{
    writer_u16(w, (uint16_t)(0xc000 | owner_at));
    writer_u16(w, type);
    writer_u16(w, DNS_CLASS_IN);
    writer_u32(w, ttl_s);
    writer_u16(w, (uint16_t)data.len);
    writer_bytes(w, data.ptr, data.len);
}

/* ---- Questions ---- */

const struct dnssec_apex_set *signed_apex_set(const struct dnssec_zone *keys, uint16_t type)
{
    switch (type) {
    case DNS_TYPE_DNSKEY:
        return &keys->dnskey;
    case DNS_TYPE_CDS:
        return &keys->cds;
    case DNS_TYPE_CDNSKEY:
        return &keys->cdnskey;
    case DNS_TYPE_DS:
        return &keys->ds;
    default:
        return NULL;
    }
}

static void put_set(struct writer *w, const struct signed_zones *zones,
                    const struct signed_question *q, const struct dnssec_apex_set *set,
                    struct records *records)
{
    uint32_t ttl_s = set->ttl_s ? set->ttl_s : zones->config->settings.ttl_s;
    for (size_t i = 0; i < set->count; i++) {
        put_record(w, DNS_HEADER_SIZE, q->type, ttl_s, set->rdata[i]);
    }
    records->answers = (uint16_t)set->count;
}

/* The parent denies that it has a DS. False: it cannot be read. */
static bool put_soa(struct writer *w, struct signed_probe *probe, const struct signed_question *q,
                    const struct dnssec_zone *parent, struct records *records)
{
    struct signed_soa soa;
    if (!signed_probe_soa(probe, &parent->name, &soa)) {
        return false;
    }
    put_record(w, DNS_HEADER_SIZE + (size_t)(q->name.len - parent->name.len), DNS_TYPE_SOA,
               soa.ttl_s, slice_of(soa.data, soa.len));
    records->authorities = 1;
    return true;
}

/* What the parent says of the zone that begins at the question's name. */
static bool put_ds(struct writer *w, const struct signed_zones *zones, struct signed_probe *probe,
                   const struct signed_question *q, struct records *records)
{
    struct signed_place place, parent;
    if (!q->dnssec_ok || !signed_zones_is_cut(zones, &q->name, &place, &parent)) {
        return false;
    }
    if (place.keys && place.keys->ds.count > 0) {
        put_set(w, zones, q, &place.keys->ds, records);
        return true;
    }
    return put_soa(w, probe, q, parent.keys, records);
}

static bool put_keys(struct writer *w, const struct signed_zones *zones,
                     const struct signed_question *q, struct records *records)
{
    const struct signed_place place = signed_zones_find(zones, &q->name);
    const struct dnssec_apex_set *set =
        place.keys && place.apex_at == 0 ? signed_apex_set(place.keys, q->type) : NULL;
    if (set) {
        put_set(w, zones, q, set, records);
    }
    return set != NULL;
}

bool signed_apex_reply(const struct signed_zones *zones, struct signed_probe *probe,
                       const struct signed_question *question, const struct engine_query *query,
                       size_t limit, struct response *response)
{
    const struct signed_question *q = question;
    struct records records = {0};
    if (q->type != DNS_TYPE_DS && q->type != DNS_TYPE_DNSKEY && q->type != DNS_TYPE_CDS &&
        q->type != DNS_TYPE_CDNSKEY) {
        return false;
    }
    struct writer w = writer_of(response->bytes, limit - (q->has_edns ? EDNS_OPT_SIZE : 0));
    begin(&w, q, query);
    bool is_answered = q->type == DNS_TYPE_DS ? put_ds(&w, zones, probe, q, &records)
                                              : put_keys(&w, zones, q, &records);
    if (is_answered) {
        finish(&w, zones, q, query, &records, response);
    }
    return is_answered;
}
