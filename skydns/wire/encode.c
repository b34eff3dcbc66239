#include "skydns/wire/encode.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/cursor.h"
#include "common/base/xalloc.h"
#include "skydns/records/hash.h"
#include "skydns/wire/edns.h"

/* Names that later ones may point to. A message has room for more only if they are tiny, and then
 * there is little to save. Half of the slots stay free, so that searches stay short. */
enum { KNOWN_NAMES_MAX = 2048, SLOTS = 2 * KNOWN_NAMES_MAX };

struct slot {
    uint16_t message; /* the message it belongs to; free unless the current one */
    uint16_t offset;
};

struct encoder {
    uint16_t udp_size;
    uint16_t message;
    unsigned known_names;
    const struct question *question;
    struct writer w;
    struct slot slots[SLOTS];
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

static uint8_t byte_at(struct slice name, size_t at)
{
    return (uint8_t)name.ptr[at];
}

/* Whether the name written at this offset equals the rest of `name` from `at` on, case included:
 * names keep the capitals they are stored with. Only names of this message are read, so pointers
 * are ours, and point backwards. */
static bool is_written_at(const struct encoder *e, size_t offset, struct slice name, size_t at)
{
    const uint8_t *wire = e->w.data;
    for (;;) {
        while (wire[offset] >= 0xc0) {
            offset = (size_t)(wire[offset] & 0x3f) << 8 | wire[offset + 1];
        }
        size_t len = wire[offset] + 1u;
        if (len > name.len - at || memcmp(wire + offset, name.ptr + at, len) != 0) {
            return false;
        }
        if (len == 1) {
            return true;
        }
        offset += len;
        at += len;
    }
}

/* The slot of a name already written, or a free one. */
static struct slot *find_slot(struct encoder *e, uint32_t hash, struct slice name, size_t at)
{
    size_t i = (hash ^ hash >> 16) & (SLOTS - 1);
    while (e->slots[i].message == e->message && !is_written_at(e, e->slots[i].offset, name, at)) {
        i = (i + 1) & (SLOTS - 1);
    }
    return &e->slots[i];
}

static void learn(struct encoder *e, struct slot *slot, size_t offset)
{
    if (offset <= DNS_POINTER_MAX && e->known_names < KNOWN_NAMES_MAX) {
        *slot = (struct slot){e->message, (uint16_t)offset};
        e->known_names++;
    }
}

/* A name cut into its suffixes, `www.example.com.`, `example.com.`, `com.`, each with a hash. */
struct ends {
    unsigned count;
    uint8_t at[DNAME_LABELS_MAX];
    uint32_t hash[DNAME_LABELS_MAX];
};

static void cut_ends(struct slice name, struct ends *ends)
{
    ends->count = 0;
    for (size_t at = 0; byte_at(name, at) != 0; at += byte_at(name, at) + 1u) {
        ends->at[ends->count++] = (uint8_t)at;
    }
    uint32_t hash = HASH_START;
    for (unsigned i = ends->count; i-- > 0;) {
        hash = hash_bytes(hash, name.ptr + ends->at[i], byte_at(name, ends->at[i]) + 1u);
        ends->hash[i] = hash;
    }
}

/* The longest suffix of the name already written, as an index into ends; ends->count: none. */
static unsigned find_known_end(struct encoder *e, struct slice name, const struct ends *ends,
                               size_t *ret_offset)
{
    unsigned i = 0;
    while (i < ends->count) {
        const struct slot *slot = find_slot(e, ends->hash[i], name, ends->at[i]);
        if (slot->message == e->message) {
            *ret_offset = slot->offset;
            break;
        }
        i++;
    }
    return i;
}

/* Only a completely written name may be searched for, hence nothing after a failure. */
static void learn_ends(struct encoder *e, struct slice name, const struct ends *ends,
                       unsigned count, size_t offset)
{
    for (unsigned i = 0; i < count && !e->w.failed; i++) {
        learn(e, find_slot(e, ends->hash[i], name, ends->at[i]), offset + ends->at[i]);
    }
}

/* The question's name follows the header. It is learnt when a second name comes. */
static void learn_question(struct encoder *e)
{
    struct ends ends;
    cut_ends(rr_name(&e->question->name), &ends);
    learn_ends(e, rr_name(&e->question->name), &ends, ends.count, DNS_HEADER_SIZE);
}

static void begin_names(struct encoder *e)
{
    e->known_names = 0;
    if (++e->message == 0) { /* after 65,535 messages, old slots would look new */
        memset(e->slots, 0, sizeof(e->slots));
        e->message = 1;
    }
}

enum name_form { NAME_COMPRESSED, NAME_WHOLE };

/* Compressed: the labels that no earlier name ends with, then a pointer to the earlier one. A whole
 * name is not compressed, but later ones may point to it. */
static void write_name(struct encoder *e, struct slice name, enum name_form form)
{
    if (form == NAME_COMPRESSED && name.ptr == (const char *)e->question->name.wire) {
        writer_u16(&e->w, 0xc000 | DNS_HEADER_SIZE);
        return;
    }
    if (e->known_names == 0) {
        learn_question(e);
    }
    struct ends ends;
    cut_ends(name, &ends);
    size_t start = e->w.pos, target = 0;
    unsigned known = find_known_end(e, name, &ends, &target);
    if (form == NAME_WHOLE || known == ends.count) {
        writer_bytes(&e->w, name.ptr, name.len);
    } else {
        writer_bytes(&e->w, name.ptr, ends.at[known]);
        writer_u16(&e->w, (uint16_t)(0xc000 | target));
    }
    learn_ends(e, name, &ends, known, start);
}

/* ---- Records ---- */

static void write_text(struct encoder *e, struct slice text)
{
    do { /* an empty text is one empty string */
        size_t n = text.len < DNS_CHARACTER_STRING ? text.len : DNS_CHARACTER_STRING;
        writer_u8(&e->w, (uint8_t)n);
        writer_bytes(&e->w, text.ptr, n);
        text = slice_of(text.ptr + n, text.len - n);
    } while (text.len > 0);
}

static void write_soa(struct encoder *e, const struct answer_soa *soa)
{
    write_name(e, soa->mname, NAME_COMPRESSED);
    write_name(e, soa->rname, NAME_COMPRESSED);
    writer_u32(&e->w, soa->serial);
    writer_u32(&e->w, ANSWER_SOA_REFRESH_S);
    writer_u32(&e->w, ANSWER_SOA_RETRY_S);
    writer_u32(&e->w, ANSWER_SOA_EXPIRE_S);
    writer_u32(&e->w, soa->minimum_s);
}

static void write_data(struct encoder *e, const struct rr *rr, const struct answer_soa *soa)
{
    switch (rr->type) {
    case RR_A:
    case RR_AAAA:
    case RR_HINFO:
        writer_bytes(&e->w, rr->data.ptr, rr->data.len);
        break;
    case RR_SRV:
        writer_u16(&e->w, rr->priority);
        writer_u16(&e->w, rr->weight);
        writer_u16(&e->w, rr->port);
        write_name(e, rr->data, NAME_WHOLE); /* RFC 2782, RFC 3597 section 4 */
        break;
    case RR_MX:
        writer_u16(&e->w, rr->priority);
        write_name(e, rr->data, NAME_COMPRESSED);
        break;
    case RR_TXT:
        write_text(e, rr->data);
        break;
    case RR_SOA:
        write_soa(e, soa);
        break;
    case RR_CNAME:
    case RR_NS:
    case RR_PTR:
        write_name(e, rr->data, NAME_COMPRESSED);
        break;
    }
}

/* False, and nothing written, when it does not fit. Names learnt in the failed attempt are not
 * forgotten: only OPT is written after it, and points to none. */
static bool write_rr(struct encoder *e, const struct answer_plan *plan, const struct rr *rr)
{
    size_t start = e->w.pos;
    write_name(e, rr->owner, NAME_COMPRESSED);
    writer_u16(&e->w, rr->type);
    writer_u16(&e->w, plan->rr_class);
    writer_u32(&e->w, rr->ttl_s);
    uint8_t *length = writer_take(&e->w, 2);
    size_t data = e->w.pos;
    write_data(e, rr, &plan->soa);
    if (e->w.failed) {
        e->w.failed = false;
        e->w.pos = start;
        return false;
    }
    length[0] = (uint8_t)((e->w.pos - data) >> 8);
    length[1] = (uint8_t)(e->w.pos - data);
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

static void write_header(uint8_t *reply, const struct question *q, enum dns_rcode rcode,
                         uint16_t flags, const struct counts *counts)
{
    struct writer w = writer_of(reply, DNS_HEADER_SIZE);
    writer_u16(&w, q->id);
    writer_u16(&w,
               (uint16_t)(DNS_FLAG_QR | q->opcode << 11 | (q->recursion_desired ? DNS_FLAG_RD : 0) |
                          flags | (rcode & DNS_MASK_RCODE)));
    writer_u16(&w, q->name.len > 0 ? 1 : 0);
    writer_u16(&w, counts->answers);
    writer_u16(&w, counts->authorities);
    writer_u16(&w, counts->additionals);
}

/* Writes as many as fit; true when that is all. */
static bool write_answers(struct encoder *e, const struct answer_plan *plan, uint16_t *ret_count)
{
    const struct rr_list *answers = &plan->answers;
    size_t n = 0;
    while (n < answers->count && write_rr(e, plan, &answers->items[n])) {
        n++;
    }
    *ret_count = (uint16_t)n;
    return n == answers->count && !answers->is_cut;
}

/* All or nothing: part of an address set would look like the whole set. */
static uint16_t write_additionals(struct encoder *e, const struct answer_plan *plan)
{
    const struct rr_list *additionals = &plan->additionals;
    size_t start = e->w.pos;
    for (size_t i = 0; i < additionals->count; i++) {
        if (!write_rr(e, plan, &additionals->items[i])) {
            e->w.pos = start;
            return 0;
        }
    }
    return (uint16_t)additionals->count;
}

void encode_plan(struct encoder *encoder, const struct question *question,
                 const struct answer_plan *plan, size_t limit, struct response *response)
{
    struct encoder *e = encoder;
    assert(question->name.len > 0 &&
           limit >= DNS_HEADER_SIZE + (size_t)question->name.len + 4 + EDNS_OPT_SIZE);
    e->question = question;
    e->w = writer_of(response->bytes, limit - (question->has_edns ? EDNS_OPT_SIZE : 0));
    begin_names(e);
    (void)writer_take(&e->w, DNS_HEADER_SIZE); /* written last */
    write_question(&e->w, question);

    struct counts counts = {0};
    bool is_complete = write_answers(e, plan, &counts.answers);
    if (is_complete && plan->has_authority) {
        counts.authorities = write_rr(e, plan, &plan->authority) ? 1 : 0;
    } else if (is_complete && !plan->additionals.is_cut) {
        counts.additionals = write_additionals(e, plan);
    }
    response->opt_at = question->has_edns ? e->w.pos : 0;
    if (question->has_edns) {
        e->w.cap = limit;
        edns_append_opt(&e->w, e->udp_size, (uint8_t)(plan->rcode >> 4), question->dnssec_ok);
        if (plan->error != EDNS_ERROR_NONE) { /* such a reply has no records */
            edns_append_error(&e->w, (uint16_t)plan->error);
        }
        counts.additionals++;
    }
    uint16_t flags =
        (uint16_t)((plan->is_authoritative ? DNS_FLAG_AA : 0) |
                   (plan->is_recursive ? DNS_FLAG_RA : 0) | (is_complete ? 0 : DNS_FLAG_TC));
    write_header(response->bytes, question, plan->rcode, flags, &counts);
    response->len = e->w.pos;
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
    response->len = w.pos;
}
