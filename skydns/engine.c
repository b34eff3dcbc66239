#include "skydns/engine.h"

#include <stdlib.h>
#include <string.h>

#include "common/cursor.h"
#include "common/dns.h"
#include "common/xalloc.h"
#include "skydns/answer.h"
#include "skydns/encode.h"
#include "skydns/question.h"

struct engine {
    const struct engine_config *config;
    struct answer *answer;
    struct encoder *encoder;
};

struct engine *engine_new(const struct engine_config *config)
{
    struct engine *engine = xcalloc(1, sizeof(*engine));
    engine->config = config;
    engine->answer = answer_new(config);
    engine->encoder = encoder_new(config->max_udp_size);
    return engine;
}

void engine_free(struct engine *engine)
{
    if (!engine) {
        return;
    }
    answer_free(engine->answer);
    encoder_free(engine->encoder);
    free(engine);
}

/* How long a reply may be: over UDP what the client takes, but no more than is known to pass
 * networks in one piece; at least what RFC 1035 lets anybody send. */
static size_t reply_limit(const struct engine *engine, const struct engine_query *query,
                          const struct question *question)
{
    if (query->transport == ENGINE_TCP) {
        return ENGINE_REPLY_MAX;
    }
    size_t limit = question->has_edns ? question->udp_size : 0;
    limit = limit < engine->config->max_udp_size ? limit : engine->config->max_udp_size;
    return limit > DNS_UDP_SIZE ? limit : DNS_UDP_SIZE;
}

/* The address a client can reach this server at, as far as the transport knows. */
static struct ip local_ip(const struct engine_query *query)
{
    return addr_is_wildcard(query->local) ? (struct ip){0} : addr_ip(query->local);
}

static enum engine_verdict answer_question(struct engine *engine, const struct store *store,
                                           const struct engine_query *query,
                                           const struct external_answers *externals,
                                           const struct question *question, uint8_t *reply,
                                           size_t *ret_len, struct engine_deferral *ret_deferral)
{
    struct answer_input input = {
        .question = question,
        .store = store,
        .externals = externals,
        .local = local_ip(query),
        .now_s = query->now_s,
        .random = query->random,
        .may_walk = query->may_walk,
    };
    enum engine_verdict verdict = answer_build(engine->answer, &input, ret_deferral);
    if (verdict == ENGINE_REPLY) {
        *ret_len = encode_plan(engine->encoder, question, answer_get_plan(engine->answer),
                               reply_limit(engine, query, question), reply);
    }
    return verdict;
}

enum engine_verdict engine_answer(struct engine *engine, const struct store *store,
                                  const struct engine_query *query,
                                  const struct external_answers *externals, uint8_t *reply,
                                  size_t *ret_len, struct engine_deferral *ret_deferral)
{
    struct question question;
    enum dns_rcode rcode = DNS_RCODE_NOERROR;
    switch (question_parse(query->wire, query->len, &question)) {
    case QUESTION_OK:
        return answer_question(engine, store, query, externals, &question, reply, ret_len,
                               ret_deferral);
    case QUESTION_DROP:
        return ENGINE_DROP;
    case QUESTION_FORMERR:
        rcode = DNS_RCODE_FORMERR;
        break;
    case QUESTION_NOTIMP:
        rcode = DNS_RCODE_NOTIMP;
        break;
    case QUESTION_BADVERS:
        rcode = DNS_RCODE_BADVERS;
        break;
    }
    *ret_len = encode_bare(engine->encoder, &question, rcode, 0, reply);
    return ENGINE_REPLY;
}

size_t engine_servfail(struct engine *engine, const struct engine_query *query, uint8_t *reply)
{
    struct question question;
    if (question_parse(query->wire, query->len, &question) != QUESTION_OK) {
        return 0;
    }
    return encode_bare(engine->encoder, &question, DNS_RCODE_SERVFAIL, DNS_FLAG_RA, reply);
}

/* What an upstream's message has to say about itself. */
struct upstream_header {
    uint16_t flags;
    uint16_t questions;
};

/* Reads the header and, if there is one, checks that the question is ours. */
static bool read_upstream(const uint8_t *upstream, size_t len, const struct question *question,
                          struct upstream_header *ret_header)
{
    struct reader r = reader_of(upstream, len);
    (void)reader_u16(&r); /* the id is the forwarder's matter */
    ret_header->flags = reader_u16(&r);
    ret_header->questions = reader_u16(&r);
    (void)reader_take(&r, 6); /* the other counts */
    if (r.failed || !(ret_header->flags & DNS_FLAG_QR) ||
        (ret_header->flags & DNS_MASK_OPCODE) != DNS_OPCODE_QUERY << 11) {
        return false;
    }
    if (ret_header->questions == 0) {
        return true;
    }
    struct dname name;
    return ret_header->questions == 1 && dname_read(&r, &name) &&
           dname_equal(&name, &question->name) && reader_u16(&r) == question->type &&
           reader_u16(&r) == question->qclass && !r.failed &&
           r.pos == DNS_HEADER_SIZE + (size_t)name.len + 4;
}

/* An error may come without the question; then it is all that the message says. */
static size_t forward_error(struct engine *engine, const struct question *question, uint16_t flags,
                            uint8_t *reply)
{
    enum dns_rcode rcode = (enum dns_rcode)(flags & DNS_MASK_RCODE);
    if (rcode == DNS_RCODE_NOERROR) {
        return 0;
    }
    return encode_bare(engine->encoder, question, rcode, flags & DNS_FLAG_RA, reply);
}

size_t engine_forwarded(struct engine *engine, const struct engine_query *query,
                        const uint8_t *upstream, size_t upstream_len, uint8_t *reply)
{
    struct question question;
    struct upstream_header header;
    if (question_parse(query->wire, query->len, &question) != QUESTION_OK ||
        !read_upstream(upstream, upstream_len, &question, &header)) {
        return 0;
    }
    if (header.questions == 0) {
        return forward_error(engine, &question, header.flags, reply);
    }
    if (upstream_len > reply_limit(engine, query, &question)) {
        return encode_bare(engine->encoder, &question,
                           (enum dns_rcode)(header.flags & DNS_MASK_RCODE),
                           (header.flags & (DNS_FLAG_AA | DNS_FLAG_RA)) | DNS_FLAG_TC, reply);
    }
    memcpy(reply, upstream, upstream_len);
    reply[0] = (uint8_t)(question.id >> 8);
    reply[1] = (uint8_t)question.id;
    /* The client's own spelling, whatever was sent upstream. */
    memcpy(reply + DNS_HEADER_SIZE, question.name.wire, question.name.len);
    return upstream_len;
}
