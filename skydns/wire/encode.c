#include "skydns/wire/encode.h"

#include <arpa/inet.h>
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/cursor.h"
#include "common/base/xalloc.h"
#include "common/dns/dns.h"
#include "skydns/wire/edns.h"
#include "skydns/wire/name_table_internal.h"
#include "skydns/wire/response.h"

/* ---- Rdata ---- */

static void write_data_numbers(const struct rr *rr, struct writer *w)
{
    enum rr_shape shape = rr_shape(rr);
    if (shape == RR_SHAPE_SERVICE_NAMED || shape == RR_SHAPE_PREFERENCE_NAMED) {
        writer_u16(w, rr->priority);
    }
    if (shape == RR_SHAPE_SERVICE_NAMED) {
        writer_u16(w, rr->weight);
        writer_u16(w, rr->port);
    }
}

/* Writes a text as strings; an empty one is one empty string. */
static void write_data_text(struct slice text, struct writer *w)
{
    do {
        size_t len = text.len < DNS_CHARACTER_STRING ? text.len : DNS_CHARACTER_STRING;
        writer_u8(w, (uint8_t)len);
        writer_bytes(w, text.ptr, len);
        text = slice_of(text.ptr + len, text.len - len);
    } while (text.len > 0);
}

static void write_data_soa_numbers(const struct answer_soa *soa, struct writer *w)
{
    writer_u32(w, soa->serial);
    writer_u32(w, ANSWER_SOA_REFRESH_S);
    writer_u32(w, ANSWER_SOA_RETRY_S);
    writer_u32(w, ANSWER_SOA_EXPIRE_S);
    writer_u32(w, soa->minimum_s);
}

void rr_data_write(const struct rr *rr, const struct answer_soa *soa, struct writer *w)
{
    switch (rr_shape(rr)) {
    case RR_SHAPE_TEXT:
        write_data_text(rr->data, w);
        break;
    case RR_SHAPE_ZONE:
        writer_bytes(w, soa->mname.ptr, soa->mname.len);
        writer_bytes(w, soa->rname.ptr, soa->rname.len);
        write_data_soa_numbers(soa, w);
        break;
    case RR_SHAPE_BYTES:
    case RR_SHAPE_NAMED:
    case RR_SHAPE_PREFERENCE_NAMED:
    case RR_SHAPE_SERVICE_NAMED:
        write_data_numbers(rr, w);
        writer_bytes(w, rr->data.ptr, rr->data.len);
        break;
    }
}

/* ---- A message ---- */

struct encoder {
    uint16_t udp_size;
    const struct question *question;
    uint16_t name_at; /* the offset of its name in the message */
    struct writer w;
    bool has_withdrawn;     /* records: their names are still in the table */
    struct slice owner;     /* of the last record, if it is not the question's name; */
    uint16_t owner_pointer; /* points to it; 0: nothing can */
    struct name_table names;
};

struct encoder *encoder_new(uint16_t udp_size)
{
    struct encoder *e = xcalloc(1, sizeof(*e));
    e->udp_size = udp_size;
    return e;
}

void encoder_free(struct encoder *encoder)
{
    free(encoder);
}

/* ---- Names ---- */

/* Points to the question if that is the name. */
static bool point_to_question(struct encoder *e, struct slice name)
{
    const bool is_question = name.ptr == (const char *)e->question->name.wire;
    if (is_question) {
        writer_u16(&e->w, 0xc000 | e->name_at);
    }
    return is_question;
}

static void encode_write_name(struct encoder *e, struct slice name, enum name_form form)
{
    assert(!e->has_withdrawn);
    if (form == NAME_COMPRESSED && point_to_question(e, name)) {
        return;
    }
    if (e->names.names == 0) { /* the question's name is learnt when a second name comes */
        name_table_learn(&e->names, rr_name(&e->question->name), e->name_at);
    }
    name_table_write(&e->names, name, form, &e->w);
}

static void encode_learn_owner(struct encoder *e, struct slice owner, size_t start)
{
    const uint8_t *written = e->w.data + start;
    const bool is_pointer = e->w.pos - start == 2; /* the shortest name but the root has three */
    e->owner = owner;
    e->owner_pointer = is_pointer ? (uint16_t)(written[0] << 8 | written[1])
                       : start <= DNS_POINTER_MAX && owner.len > 2 ? (uint16_t)(0xc000 | start)
                                                                   : 0;
}

/* Writes the owner of a record: in thousands of records it is that of the one before. */
static void encode_write_owner(struct encoder *e, struct slice owner)
{
    const size_t start = e->w.pos;
    assert(!e->has_withdrawn);
    if (point_to_question(e, owner)) {
        return;
    }
    if (e->owner_pointer && owner.ptr == e->owner.ptr && owner.len == e->owner.len) {
        writer_u16(&e->w, e->owner_pointer);
        return;
    }
    encode_write_name(e, owner, NAME_COMPRESSED);
    if (!e->w.failed) {
        encode_learn_owner(e, owner, start);
    }
}

/* ---- Records ---- */

static void write_rr_data(struct encoder *e, const struct rr *rr, const struct answer_soa *soa)
{
    switch (rr_shape(rr)) {
    case RR_SHAPE_BYTES:
        writer_bytes(&e->w, rr->data.ptr, rr->data.len);
        break;
    case RR_SHAPE_TEXT:
        write_data_text(rr->data, &e->w);
        break;
    case RR_SHAPE_SERVICE_NAMED:
        write_data_numbers(rr, &e->w);
        encode_write_name(e, rr->data, NAME_WHOLE); /* RFC 2782, RFC 3597 4 */
        break;
    case RR_SHAPE_PREFERENCE_NAMED:
        write_data_numbers(rr, &e->w);
        encode_write_name(e, rr->data, NAME_COMPRESSED);
        break;
    case RR_SHAPE_ZONE:
        encode_write_name(e, soa->mname, NAME_COMPRESSED);
        encode_write_name(e, soa->rname, NAME_COMPRESSED);
        write_data_soa_numbers(soa, &e->w);
        break;
    case RR_SHAPE_NAMED:
        encode_write_name(e, rr->data, NAME_COMPRESSED);
        break;
    }
}

static void put_rr_head(uint8_t head[DNS_RR_HEAD], const struct rr *rr, uint16_t rr_class,
                        size_t data_len)
{
    const uint16_t type = htons((uint16_t)rr->type), class_be = htons(rr_class);
    const uint32_t ttl_s = htonl(rr->ttl_s);
    const uint16_t len = htons((uint16_t)data_len);
    memcpy(head, &type, 2);
    memcpy(head + 2, &class_be, 2);
    memcpy(head + 4, &ttl_s, 4);
    memcpy(head + 8, &len, 2);
}

/* Writes a record. Returns false, and writes nothing, when it does not fit. */
static bool encode_write_rr(struct encoder *e, const struct answer_plan *plan, const struct rr *rr)
{
    size_t start = e->w.pos;
    encode_write_owner(e, rr->owner);
    uint8_t *head = writer_take(&e->w, DNS_RR_HEAD);
    size_t data = e->w.pos;
    write_rr_data(e, rr, &plan->soa);
    if (e->w.failed) {
        e->w.failed = false;
        e->w.pos = start;
        e->has_withdrawn = true; /* only OPT follows, and points to none */
        return false;
    }
    put_rr_head(head, rr, plan->rr_class, e->w.pos - data);
    return true;
}

/* ---- Messages ---- */

struct counts {
    uint16_t answers, authorities, additionals;
};

static void write_question(struct writer *w, const struct question *q)
{
    if (q->name.len > 0) {
        writer_bytes(w, q->name.wire, q->name.len);
        writer_u16(w, q->type);
        writer_u16(w, q->qclass);
    }
}

/* Writes the header. It repeats CD if this server acts as a resolver, and clears it if it has
 * authority (RFC 4035 3.2.2, 3.1.6). */
static void write_header(uint8_t *reply, const struct question *q, enum dns_rcode rcode,
                         uint16_t flags, const struct counts *counts)
{
    struct writer w = writer_of(reply, DNS_HEADER_SIZE);
    const bool has_cd = q->checking_disabled && !(flags & DNS_FLAG_AA);
    writer_u16(&w, q->id);
    writer_u16(&w,
               (uint16_t)(DNS_FLAG_QR | q->opcode << 11 | (q->recursion_desired ? DNS_FLAG_RD : 0) |
                          (has_cd ? DNS_FLAG_CD : 0) | flags | (rcode & DNS_MASK_RCODE)));
    writer_u16(&w, q->name.len > 0 ? 1 : 0);
    writer_u16(&w, counts->answers);
    writer_u16(&w, counts->authorities);
    writer_u16(&w, counts->additionals);
}

/* Writes as many answers as fit. Returns true when that is all. */
static bool write_answers(struct encoder *e, const struct answer_plan *plan, uint16_t *ret_count)
{
    const struct rr_list *answers = &plan->answers;
    size_t n = 0;
    while (n < answers->count && encode_write_rr(e, plan, &answers->items[n])) {
        n++;
    }
    *ret_count = (uint16_t)n;
    return n == answers->count && !answers->is_cut;
}

/* Writes all records of a section or none: part of an address set would look like the whole set. */
static uint16_t write_section_whole(struct encoder *e, const struct answer_plan *plan,
                                    const struct rr *rrs, size_t count)
{
    size_t start = e->w.pos;
    for (size_t i = 0; i < count; i++) {
        if (!encode_write_rr(e, plan, &rrs[i])) {
            e->w.pos = start;
            return 0;
        }
    }
    return (uint16_t)count;
}

/* Writes the sections. Returns false when a part is missing without which the others mean something
 * else. */
static bool write_records(struct encoder *e, const struct answer_plan *plan, struct counts *counts)
{
    assert(plan->answers.count <= RR_LIST_MAX && plan->authority_count <= ANSWER_AUTHORITIES_MAX);
    bool is_complete = write_answers(e, plan, &counts->answers);
    if (is_complete && plan->authority_count > 0) {
        counts->authorities =
            write_section_whole(e, plan, plan->authorities, plan->authority_count);
        is_complete = counts->authorities > 0 || !plan->is_signed;
    } else if (is_complete && !plan->additionals.is_cut) {
        const struct rr_list *additionals = &plan->additionals;
        counts->additionals = write_section_whole(e, plan, additionals->items, additionals->count);
    }
    return is_complete;
}

/* Writes the question and, if there is one, the search list's CNAME. */
static size_t write_start(struct encoder *e, struct slice asked)
{
    const struct question *q = e->question;
    const struct response_start start = response_start_of(asked, q->name.len);
    e->name_at = (uint16_t)start.name_at;
    if (asked.len > 0) {
        search_alias_write(e->w.data, asked, rr_name(&q->name), q->type, q->qclass);
        e->w.pos = start.records_at;
    } else {
        write_question(&e->w, q);
    }
    assert(e->w.pos == start.records_at);
    return start.records_at;
}

static uint32_t alias_ttl_s(const struct answer_plan *plan, const struct counts *counts)
{
    uint32_t ttl_s = UINT32_MAX;
    for (size_t i = 0; i < counts->answers; i++) {
        const uint32_t this_s = plan->answers.items[i].ttl_s;
        ttl_s = this_s < ttl_s ? this_s : ttl_s;
    }
    if (counts->authorities > 0) {
        const uint32_t soa_s = plan->authorities[0].ttl_s, minimum_s = plan->soa.minimum_s;
        ttl_s = soa_s < ttl_s ? soa_s : ttl_s;
        ttl_s = minimum_s < ttl_s ? minimum_s : ttl_s;
    }
    return ttl_s == UINT32_MAX ? 0 : ttl_s;
}

void encode_plan(struct encoder *encoder, const struct question *question,
                 const struct answer_plan *plan, size_t limit, struct response *response)
{
    struct encoder *e = encoder;
    const struct slice asked = response->asked;
    assert(question->name.len > 0 &&
           limit >= response_start_of(asked, question->name.len).records_at + EDNS_OPT_SIZE);
    e->question = question;
    e->w = writer_of(response->bytes, limit - (question->has_edns ? EDNS_OPT_SIZE : 0));
    e->has_withdrawn = false;
    e->owner_pointer = 0;
    name_table_begin(&e->names);
    (void)writer_take(&e->w, DNS_HEADER_SIZE); /* written last */
    const size_t records_at = write_start(e, asked);

    struct counts counts = {0};
    bool is_complete = write_records(e, plan, &counts);
    if (!is_complete && plan->is_signed) {
        e->w.pos = records_at;
        counts = (struct counts){0};
    }
    if (asked.len > 0) {
        search_alias_set_ttl(response->bytes, asked, alias_ttl_s(plan, &counts));
        counts.answers++;
    }
    response->opt_at = question->has_edns ? e->w.pos : 0;
    if (question->has_edns) {
        e->w.cap = limit;
        edns_append_opt(&e->w, e->udp_size, (uint8_t)(plan->rcode >> 4), question->dnssec_ok);
        if (plan->error != EDNS_ERROR_NONE) { /* such a response has no records */
            edns_append_error(&e->w, (uint16_t)plan->error);
        }
        counts.additionals++;
    }
    uint16_t flags =
        (uint16_t)((plan->is_authoritative ? DNS_FLAG_AA : 0) |
                   (plan->is_recursive ? DNS_FLAG_RA : 0) | (is_complete ? 0 : DNS_FLAG_TC));
    write_header(response->bytes, question, plan->rcode, flags, &counts);
    response->len = e->w.pos;
    assert(!e->w.failed && response->len <= limit);
    response->name_len = asked.len > 0 ? (uint8_t)asked.len : question->name.len;
}

void encode_bare(const struct encoder *encoder, const struct question *question,
                 enum dns_rcode rcode, uint16_t flags, struct response *response)
{
    struct writer w = writer_of(response->bytes, DNS_UDP_SIZE);
    struct counts counts = {0};
    (void)writer_take(&w, DNS_HEADER_SIZE); /* written last */
    write_question(&w, question);
    response->opt_at = question->has_edns ? w.pos : 0;
    if (question->has_edns) {
        edns_append_opt(&w, encoder->udp_size, (uint8_t)(rcode >> 4), question->dnssec_ok);
        counts.additionals = 1;
    }
    write_header(response->bytes, question, rcode, flags, &counts);
    assert(!w.failed); /* a question and an OPT record always fit */
    response->len = w.pos;
    response->name_len = question->name.len;
}
