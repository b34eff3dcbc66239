#include "skydns/wire/response_parse.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/seeded_hash.h"
#include "common/base/xalloc.h"
#include "common/dns/dns.h"
#include "skydns/wire/rr_step.h"

enum { RR_SIZE_MIN = 11 }; /* root owner, type, class, TTL, length */

static_assert(sizeof(struct response_rr) <= 20, "a table has 120 KB at most");

/* ---- Head ---- */

static bool read_head_question(struct reader *r, struct response_head *head)
{
    struct dname name;
    if (!dname_read(r, &name)) {
        return false;
    }
    head->type = reader_u16(r);
    head->qclass = reader_u16(r);
    if (!r->failed) {
        head->name = name;
    }
    return !r->failed;
}

void response_head_read(const uint8_t *bytes, size_t len, struct response_head *ret_head)
{
    struct response_head *head = ret_head;
    struct reader r = reader_of(bytes, len);
    *head = (struct response_head){0};
    if (len < DNS_HEADER_SIZE || len > DNS_MESSAGE_MAX) {
        return;
    }
    (void)reader_u16(&r); /* id: the receiver checks it */
    head->flags = reader_u16(&r);
    head->questions = reader_u16(&r);
    for (unsigned i = 0; i < RESPONSE_SECTIONS; i++) {
        head->counts[i] = reader_u16(&r);
    }
    head->is_readable =
        head->questions == 0 || (head->questions == 1 && read_head_question(&r, head));
    head->records_at = head->is_readable ? r.pos : 0;
}

bool response_head_asks(const struct response_head *head, const struct dname *name, uint16_t type,
                        uint16_t qclass)
{
    return head->is_readable && head->questions == 1 && head->type == type &&
           head->qclass == qclass && dname_equal(&head->name, name);
}

/* ---- Records ---- */

uint32_t response_name_hash(const struct dname *name)
{
    struct dname lower = *name;
    dname_lower(&lower);
    return seeded_hash(slice_of(lower.wire, lower.len));
}

/* The owner of the record before. */
struct last_owner {
    size_t pointer_at; /* where that record has it as a pointer; 0: it is spelled out, or none */
    uint16_t owner_at; /* response_rr's; 0: there was none */
    uint32_t hash;
};

enum { POINTER_SIZE = 2 }; /* the root has one byte, other names three at least */

static bool is_same_pointer(const struct reader *r, const struct last_owner *last)
{
    return last->pointer_at > 0 && reader_left(r) >= POINTER_SIZE &&
           memcmp(r->data + r->pos, r->data + last->pointer_at, POINTER_SIZE) == 0;
}

static bool is_last_owner(const struct reader *r, const struct last_owner *last,
                          const struct dname *owner, uint32_t hash)
{
    struct reader there = reader_of(r->data, r->len);
    struct dname name;
    reader_seek(&there, last->owner_at);
    return last->owner_at > 0 && last->hash == hash && dname_read(&there, &name) &&
           dname_equal(&name, owner);
}

/* Reads the owner. Thousands of records in a row have the same, mostly as the same pointer: it is
 * followed once. */
static bool read_response_owner(struct reader *r, struct last_owner *last)
{
    const size_t at = r->pos;
    struct dname owner;
    if (is_same_pointer(r, last)) {
        last->pointer_at = at;
        return reader_take(r, POINTER_SIZE) != NULL;
    }
    if (!dname_read(r, &owner)) {
        return false;
    }
    const uint32_t hash = response_name_hash(&owner);
    last->owner_at = is_last_owner(r, last, &owner, hash) ? last->owner_at : (uint16_t)at;
    last->pointer_at = r->pos - at == POINTER_SIZE ? at : 0;
    last->hash = hash;
    return true;
}

static bool read_response_rr(struct reader *r, struct last_owner *last, struct response_rr *ret)
{
    struct rr_step step;
    if (!read_response_owner(r, last) || !rr_step_body(r, &step)) {
        return false;
    }
    ret->owner_at = last->owner_at;
    ret->owner_hash = last->hash;
    ret->type = step.type;
    ret->rr_class = step.rr_class;
    ret->ttl_s = step.ttl_s;
    ret->data_at = (uint16_t)step.data_at;
    ret->data_len = step.data_len;
    return true;
}

static size_t records_claimed(const struct response_head *head)
{
    return (size_t)head->counts[RESPONSE_ANSWER] + head->counts[RESPONSE_AUTHORITY] +
           head->counts[RESPONSE_ADDITIONAL];
}

static const struct response_rr *find_opt_rr(const struct parsed_response *response)
{
    const struct response_span span = response_section_span(response, RESPONSE_ADDITIONAL);
    for (size_t i = span.from; i < span.to; i++) {
        if (response->rrs[i].type == DNS_TYPE_OPT) {
            return &response->rrs[i];
        }
    }
    return NULL;
}

void response_parse(const uint8_t *bytes, size_t len, struct parsed_response *ret_response)
{
    struct parsed_response *p = ret_response;
    struct reader r = reader_of(bytes, len);
    *p = (struct parsed_response){.bytes = bytes, .len = len};
    response_head_read(bytes, len, &p->head);
    if (!p->head.is_readable) {
        return;
    }
    reader_seek(&r, p->head.records_at);
    const size_t claimed = records_claimed(&p->head), most = reader_left(&r) / RR_SIZE_MIN;
    const size_t room = claimed < most ? claimed : most;
    p->rrs = room ? xmalloc(room * sizeof(p->rrs[0])) : NULL;
    struct last_owner last = {0};
    while (p->count < room && read_response_rr(&r, &last, &p->rrs[p->count])) {
        p->count++;
    }
    assert(p->count <= room && r.pos <= len);
    p->is_whole = p->count == claimed;
    p->opt = find_opt_rr(p);
}

void response_parse_fini(struct parsed_response *response)
{
    free(response->rrs);
    *response = (struct parsed_response){0};
}

void response_copy(const struct parsed_response *response, const uint8_t *bytes,
                   struct parsed_response *ret_copy)
{
    *ret_copy = *response;
    ret_copy->bytes = bytes;
    ret_copy->rrs = xcalloc(response->count, sizeof(response->rrs[0]));
    if (response->count > 0) {
        memcpy(ret_copy->rrs, response->rrs, response->count * sizeof(response->rrs[0]));
    }
    ret_copy->opt = response->opt ? ret_copy->rrs + (response->opt - response->rrs) : NULL;
}

void response_drop(struct parsed_response *response, response_drops drops, const void *data)
{
    struct parsed_response *p = response;
    size_t left_count = 0;
    uint16_t counts[RESPONSE_SECTIONS];
    for (unsigned section = 0; section < RESPONSE_SECTIONS; section++) {
        const struct response_span span = response_section_span(p, (enum response_section)section);
        const size_t before = left_count;
        bool is_dropped = false;
        struct response_rr last = {0};
        for (size_t i = span.from; i < span.to; i++) {
            const struct response_rr rr = p->rrs[i];
            if (i == span.from || last.owner_hash != rr.owner_hash || last.type != rr.type) {
                const struct dname owner = response_rr_owner(p, &rr);
                is_dropped = drops(data, (enum response_section)section, rr.type, &owner);
            }
            last = rr;
            p->rrs[left_count] = rr;
            left_count += !is_dropped;
        }
        counts[section] = (uint16_t)(left_count - before);
    }
    if (left_count < p->count) { /* each record that was counted was read: it is sound */
        memcpy(p->head.counts, counts, sizeof(counts));
        p->count = left_count;
        p->opt = find_opt_rr(p);
    }
}

/* ---- Reading the table ---- */

struct response_span response_section_span(const struct parsed_response *response,
                                           enum response_section section)
{
    struct response_span span = {0};
    for (unsigned i = 0; i <= section; i++) {
        span.from = span.to;
        span.to += response->head.counts[i];
        span.to = span.to < response->count ? span.to : response->count;
    }
    return span;
}

size_t response_span_end(const struct parsed_response *response, struct response_span span)
{
    if (span.to == 0) {
        return response->head.records_at;
    }
    const struct response_rr *last = &response->rrs[span.to - 1];
    return (size_t)last->data_at + last->data_len;
}

uint8_t response_rr_extended_rcode(const struct parsed_response *response,
                                   const struct response_rr *opt)
{
    enum { TTL_BEFORE_DATA = 6 };
    return response->bytes[opt->data_at - TTL_BEFORE_DATA];
}

bool response_has_extended_rcode(const struct parsed_response *response)
{
    const struct response_span span = response_section_span(response, RESPONSE_ADDITIONAL);
    for (size_t i = span.from; i < span.to; i++) {
        const struct response_rr *rr = &response->rrs[i];
        if (rr->type == DNS_TYPE_OPT && response_rr_extended_rcode(response, rr) != 0) {
            return true;
        }
    }
    return false;
}

struct dname response_rr_owner(const struct parsed_response *response, const struct response_rr *rr)
{
    struct reader r = reader_of(response->bytes, response->len);
    struct dname owner = {0};
    reader_seek(&r, rr->owner_at);
    bool was_read = dname_read(&r, &owner);
    assert(was_read); /* by response_parse */
    (void)was_read;
    return owner;
}

struct response_name response_name_of(const struct dname *name)
{
    return (struct response_name){.name = *name, .hash = response_name_hash(name)};
}

struct response_name response_rr_name_of_owner(const struct parsed_response *response,
                                               const struct response_rr *rr)
{
    return (struct response_name){response_rr_owner(response, rr), rr->owner_hash, rr->owner_at};
}

bool response_rr_is_of(const struct parsed_response *response, const struct response_rr *rr,
                       struct response_name *name)
{
    if (rr->owner_at == name->owner_at) {
        return true;
    }
    if (rr->owner_hash != name->hash) {
        return false;
    }
    const struct dname owner = response_rr_owner(response, rr);
    if (!dname_equal(&owner, &name->name)) {
        return false;
    }
    name->owner_at = rr->owner_at;
    return true;
}

struct reader response_options(const struct parsed_response *response)
{
    const struct response_rr *opt = response->opt;
    struct reader r = reader_of(response->bytes, opt ? (size_t)opt->data_at + opt->data_len : 0);
    reader_seek(&r, opt ? opt->data_at : 0);
    return r;
}

bool response_rr_name(const struct parsed_response *response, const struct response_rr *rr,
                      size_t offset, struct dname *ret_name, size_t *ret_end)
{
    struct reader r = reader_of(response->bytes, (size_t)rr->data_at + rr->data_len);
    reader_seek(&r, rr->data_at);
    (void)reader_take(&r, offset); /* the reader remembers the failure */
    if (!dname_read(&r, ret_name)) {
        return false;
    }
    if (ret_end) {
        *ret_end = r.pos;
    }
    return true;
}

uint32_t response_rr_denial_ttl_s(const struct parsed_response *response,
                                  const struct response_rr *soa)
{
    enum { MINIMUM_SIZE = 4, SOA_MIN = 22 };
    if (soa->data_len < SOA_MIN) {
        return 0;
    }
    struct reader r = reader_of(response->bytes, response->len);
    r.pos = (size_t)soa->data_at + soa->data_len - MINIMUM_SIZE;
    uint32_t minimum_s = reader_u32(&r);
    minimum_s = minimum_s > INT32_MAX ? 0 : minimum_s;
    return minimum_s < soa->ttl_s ? minimum_s : soa->ttl_s;
}
