#include "skydns/upstream/upstream_message.h"

#include <assert.h>
#include <string.h>

#include "common/base/cursor.h"
#include "common/dns/dns.h"
#include "skydns/records/hash.h"
#include "skydns/wire/question.h"
#include "skydns/wire/response_parse.h"
#include "skydns/wire/rr_step.h"

enum { OPTION_KEEPALIVE = 11, OPTION_PADDING = 12 };

bool upstream_question_equal(const struct upstream_question *a, const struct upstream_question *b)
{
    return a->type == b->type && a->qclass == b->qclass && a->flags == b->flags &&
           a->dnssec_ok == b->dnssec_ok && a->is_stub == b->is_stub &&
           a->zone_serial == b->zone_serial && a->subnet_len == b->subnet_len &&
           memcmp(a->subnet, b->subnet, a->subnet_len) == 0 && dname_equal(&a->name, &b->name);
}

uint32_t upstream_question_hash(const struct upstream_question *question, uint32_t seed)
{
    const uint16_t numbers[] = {question->type, question->qclass, question->flags};
    uint32_t hash = hash_bytes(HASH_START ^ seed, question->name.wire, question->name.len);
    return hash_bytes(hash, numbers, sizeof(numbers));
}

struct upstream_question upstream_question_of(const struct question *question)
{
    struct upstream_question asked = {
        .name = question->name,
        .type = question->type,
        .qclass = question->qclass,
        .flags = (uint16_t)((question->recursion_desired ? DNS_FLAG_RD : 0) |
                            (question->checking_disabled ? DNS_FLAG_CD : 0)),
        .dnssec_ok = question->dnssec_ok,
        .subnet_len = question->subnet_len,
    };
    memcpy(asked.subnet, question->subnet, question->subnet_len);
    dname_lower(&asked.name);
    return asked;
}

static void append_opt(struct writer *w, const struct upstream_question *question)
{
    static const uint8_t stub[EDNS_STUB_SIZE] = {EDNS_OPTION_STUB >> 8, EDNS_OPTION_STUB & 0xff, 0,
                                                 1, 1};
    const size_t opt_at = w->pos;
    edns_append_opt(w, UPSTREAM_UDP_SIZE, 0, question->dnssec_ok);
    edns_append_option(w, opt_at, question->subnet, question->subnet_len);
    edns_append_option(w, opt_at, stub, question->is_stub ? EDNS_STUB_SIZE : 0);
}

size_t upstream_query_write(const struct upstream_question *question, uint16_t id,
                            uint8_t out[UPSTREAM_QUERY_MAX])
{
    struct writer w = writer_of(out, UPSTREAM_QUERY_MAX);
    writer_u16(&w, id);
    writer_u16(&w, question->flags | DNS_FLAG_AD);
    writer_u16(&w, 1); /* question */
    writer_u16(&w, 0);
    writer_u16(&w, 0);
    writer_u16(&w, 1); /* OPT */
    writer_bytes(&w, question->name.wire, question->name.len);
    writer_u16(&w, question->type);
    writer_u16(&w, question->qclass);
    append_opt(&w, question);
    return w.pos;
}

/* Returns the offset of OPT, which is the last record, and follows the question. */
static size_t find_opt(const uint8_t *query, size_t len)
{
    struct reader r = reader_of(query, len);
    reader_seek(&r, DNS_HEADER_SIZE);
    return rr_step_question(&r) ? r.pos : len; /* always: the query is our own */
}

size_t upstream_query_strip_edns(uint8_t *query, size_t len)
{
    enum { ADDITIONALS_AT = 10 };
    size_t opt_at = find_opt(query, len);
    if (opt_at < len) {
        query[ADDITIONALS_AT] = query[ADDITIONALS_AT + 1] = 0;
    }
    return opt_at;
}

size_t upstream_query_pad(uint8_t query[UPSTREAM_PADDED_MAX], size_t len)
{
    static_assert(UPSTREAM_QUERY_MAX + 2 * EDNS_OPTION_HEAD <= UPSTREAM_PADDED_MAX, "it fits");
    uint8_t option[UPSTREAM_BLOCK + EDNS_OPTION_HEAD] = {[1] = OPTION_KEEPALIVE};
    const size_t opt_at = find_opt(query, len);
    struct writer w = writer_of(query, UPSTREAM_PADDED_MAX);
    w.pos = len;
    edns_append_option(&w, opt_at, option, EDNS_OPTION_HEAD);
    size_t padding =
        (UPSTREAM_BLOCK - (w.pos + EDNS_OPTION_HEAD) % UPSTREAM_BLOCK) % UPSTREAM_BLOCK;
    option[1] = OPTION_PADDING;
    option[3] = (uint8_t)padding;
    edns_append_option(&w, opt_at, option, EDNS_OPTION_HEAD + padding);
    return w.pos;
}

bool upstream_reply_keepalive(const uint8_t *reply, size_t len, uint16_t *ret_ds)
{
    struct parsed_response response;
    struct slice data;
    uint16_t code;
    bool has_found = false;
    response_parse(reply, len, &response);
    struct reader options = response_options(&response);
    while (!has_found && edns_option_next(&options, &code, &data)) {
        has_found = code == OPTION_KEEPALIVE && data.len == sizeof(*ret_ds);
    }
    if (has_found) {
        *ret_ds = (uint16_t)(reply[options.pos - 2] << 8 | reply[options.pos - 1]);
    }
    response_parse_fini(&response);
    return has_found;
}

/* Changes the case of labels' bytes only; a length byte is at most 63, below any letter. */
void upstream_query_mix_case(uint8_t *query, size_t len, const uint8_t bits[DNAME_MAX / 8 + 1])
{
    uint8_t *name = query + DNS_HEADER_SIZE;
    for (size_t i = 0; DNS_HEADER_SIZE + i < len && i < DNAME_MAX && name[i] != 0;
         i += name[i] + 1u) {
        for (size_t k = i + 1; k <= i + name[i]; k++) {
            bool is_letter = name[k] >= 'a' && name[k] <= 'z';
            if (is_letter && (bits[k / 8] >> k % 8 & 1)) {
                name[k] = (uint8_t)(name[k] - ('a' - 'A'));
            }
        }
    }
}

/* Returns whether QR and opcode match. */
static bool is_reply_header(const uint8_t *query, const uint8_t *reply, size_t reply_len)
{
    return reply_len >= DNS_HEADER_SIZE && (reply[2] & DNS_FLAG_QR >> 8) &&
           ((reply[2] ^ query[2]) & DNS_MASK_OPCODE >> 8) == 0;
}

/* Returns whether id, QR and opcode match. */
static bool is_header_of_reply(const uint8_t *query, const uint8_t *reply, size_t reply_len)
{
    return is_reply_header(query, reply, reply_len) && memcmp(reply, query, 2) == 0;
}

static bool has_same_question(const uint8_t *query, size_t query_len, const uint8_t *reply,
                              size_t reply_len, bool exact_case)
{
    struct response_head asked, answered;
    response_head_read(query, query_len, &asked); /* the query begins as its response does */
    response_head_read(reply, reply_len, &answered);
    return response_head_asks(&answered, &asked.name, asked.type, asked.qclass) &&
           (!exact_case || memcmp(asked.name.wire, answered.name.wire, asked.name.len) == 0);
}

bool upstream_is_reply(const uint8_t *query, size_t query_len, const uint8_t *reply,
                       size_t reply_len, bool exact_case)
{
    return is_header_of_reply(query, reply, reply_len) &&
           has_same_question(query, query_len, reply, reply_len, exact_case);
}

bool upstream_has_wrong_id(const uint8_t *query, size_t query_len, const uint8_t *reply,
                           size_t reply_len)
{
    return is_reply_header(query, reply, reply_len) && memcmp(reply, query, 2) != 0 &&
           has_same_question(query, query_len, reply, reply_len, false);
}

/* Returns whether nothing but an OPT record follows the header. */
static bool has_no_records_but_opt(const uint8_t *reply, size_t reply_len)
{
    enum { COUNTS_AT = 4, ADDITIONALS_AT = 11 };
    static const uint8_t none[ADDITIONALS_AT - COUNTS_AT];
    struct parsed_response response;
    if (memcmp(reply + COUNTS_AT, none, sizeof(none)) != 0 || reply[ADDITIONALS_AT] > 1) {
        return false; /* before anything is parsed */
    }
    response_parse(reply, reply_len, &response);
    const bool has_opt = response.opt != NULL;
    response_parse_fini(&response);
    return reply[ADDITIONALS_AT] ? has_opt : reply_len == DNS_HEADER_SIZE;
}

bool upstream_is_bare_failure(const uint8_t *query, const uint8_t *reply, size_t reply_len)
{
    if (!is_header_of_reply(query, reply, reply_len) || (reply[2] & DNS_FLAG_TC >> 8)) {
        return false;
    }
    unsigned rcode = reply[3] & DNS_MASK_RCODE;
    return (rcode == DNS_RCODE_SERVFAIL || rcode == DNS_RCODE_REFUSED ||
            rcode == DNS_RCODE_FORMERR || rcode == DNS_RCODE_NOTIMP) &&
           has_no_records_but_opt(reply, reply_len);
}

bool upstream_is_edns_refusal(const uint8_t *query, size_t query_len, const uint8_t *reply,
                              size_t reply_len)
{
    enum { QUESTIONS_AT = 4 };
    if (!is_header_of_reply(query, reply, reply_len)) {
        return false;
    }
    unsigned rcode = reply[3] & DNS_MASK_RCODE;
    bool has_question = reply[QUESTIONS_AT] || reply[QUESTIONS_AT + 1];
    return (rcode == DNS_RCODE_FORMERR || rcode == DNS_RCODE_NOTIMP) &&
           (!has_question || upstream_is_reply(query, query_len, reply, reply_len, false));
}
