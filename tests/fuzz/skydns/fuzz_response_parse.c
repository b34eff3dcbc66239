/* Any bytes as a response: records lie in order and within bounds, names lead backwards, sections
 * cover the table, and the table written out without compression parses to the same one. Only a
 * response whose records all were read is sound. */
#include <assert.h>

#include "common/base/cursor.h"
#include "common/base/seeded_hash.h"
#include "common/dns/dns.h"
#include "skydns/wire/response_check.h"
#include "skydns/wire/response_parse.h"
#include "skydns/wire/rr_step.h"
#include "tests/fuzz/fuzz_target.h"

static void response_parse_check_order(const struct parsed_response *p)
{
    size_t at = p->head.records_at;
    for (size_t i = 0; i < p->count; i++) {
        const struct response_rr *rr = &p->rrs[i];
        struct reader r = reader_of(p->bytes, (size_t)rr->data_at + rr->data_len);
        struct dname owner;
        assert(rr->owner_at <= at && rr->data_at > at && r.len <= p->len);
        reader_seek(&r, at);
        assert(dname_read(&r, &owner) && r.pos + 10 == rr->data_at);
        assert(rr->owner_hash == response_name_hash(&owner));
        assert(rr->owner_at == at || rr->owner_at == p->rrs[i - 1].owner_at);
        struct response_name name = response_name_of(&owner);
        assert(response_rr_is_of(p, rr, &name));
        at = r.len;
    }
}

static void check_sections(const struct parsed_response *p)
{
    size_t from = 0, claimed = 0, end = p->head.records_at;
    for (unsigned section = 0; section < RESPONSE_SECTIONS; section++) {
        const struct response_span span = response_section_span(p, section);
        claimed += p->head.counts[section];
        assert(span.from == from && span.from <= span.to && span.to <= p->count);
        assert(span.to - span.from <= p->head.counts[section]);
        assert(response_span_end(p, span) >= end);
        from = span.to;
        end = response_span_end(p, span);
    }
    assert(from == p->count && (!p->is_whole || p->count == claimed));
    assert(!p->opt || p->opt->type == DNS_TYPE_OPT);
}

/* Steps lead to the same records, and as far at least: they do not read names. */
static void check_steps(const struct parsed_response *p)
{
    struct reader r = reader_of(p->bytes, p->len);
    reader_seek(&r, p->head.records_at);
    for (size_t i = 0; i < p->count; i++) {
        const struct response_rr *rr = &p->rrs[i];
        struct rr_step step;
        assert(r.pos >= rr->owner_at && rr_step_next(&r, &step));
        assert(step.type == rr->type && step.rr_class == rr->rr_class && step.ttl_s == rr->ttl_s);
        assert(step.data_at == rr->data_at && step.data_len == rr->data_len);
    }
}

static void check_rdata_names(const struct parsed_response *p)
{
    for (size_t i = 0; i < p->count; i++) {
        const struct response_rr *rr = &p->rrs[i];
        struct dname name;
        size_t end;
        if (response_rr_name(p, rr, i % 4, &name, &end)) {
            assert(end > rr->data_at + i % 4 && end <= (size_t)rr->data_at + rr->data_len);
        }
    }
}

/* Writes the response with its names spelled out, up to 255 bytes for each record of 11, and parses
 * it again. */
static void check_written(const struct parsed_response *p)
{
    static uint8_t out[DNS_MESSAGE_MAX];
    struct writer w = writer_of(out, sizeof(out));
    struct parsed_response again;
    writer_bytes(&w, p->bytes, p->head.records_at);
    for (size_t i = 0; i < p->count; i++) {
        const struct response_rr *rr = &p->rrs[i];
        const struct dname owner = response_rr_owner(p, rr);
        writer_bytes(&w, owner.wire, owner.len);
        writer_bytes(&w, p->bytes + rr->data_at - 10, 10u + rr->data_len);
    }
    if (w.failed) {
        return;
    }
    response_parse(out, w.pos, &again);
    assert(again.head.is_readable && again.count == p->count && again.is_whole == p->is_whole);
    assert(!again.opt == !p->opt && (!p->opt || p->opt - p->rrs == again.opt - again.rrs));
    for (size_t i = 0; i < p->count; i++) {
        const struct response_rr *a = &p->rrs[i], *b = &again.rrs[i];
        assert(a->type == b->type && a->rr_class == b->rr_class && a->data_len == b->data_len);
        assert(a->ttl_s == b->ttl_s && a->owner_hash == b->owner_hash);
    }
    response_parse_fini(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct parsed_response p;
    struct response_head head;
    seeded_hash_init();
    response_parse(data, size, &p);
    response_head_read(data, size, &head);
    assert(head.is_readable == p.head.is_readable && head.records_at == p.head.records_at);
    if (p.head.is_readable) {
        assert(p.head.records_at >= DNS_HEADER_SIZE && p.head.records_at <= size);
        response_parse_check_order(&p);
        check_sections(&p);
        check_steps(&p);
        check_rdata_names(&p);
        check_written(&p);
        assert(p.is_whole || !response_is_sound(&p));
    } else {
        assert(p.count == 0 && !p.is_whole && !p.opt);
    }
    response_parse_fini(&p);
    return 0;
}
