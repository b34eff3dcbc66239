#include "skydns/answer/kept_targets_internal.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/xalloc.h"
#include "common/dns/dns.h"
#include "skydns/external/cache_counts.h"
#include "skydns/wire/rr_step.h"

/* Of one answer: the records of a message, with CNAMEs that are not compressed. What does not fit
 * would not fit the reply. */
enum { PACKED_MAX = 64 * 1024 };

void kept_targets_init(struct kept_targets *targets)
{
    *targets = (struct kept_targets){.message = xmalloc(DNS_MESSAGE_MAX)};
    buf_init(&targets->packed, PACKED_MAX);
    (void)buf_reserve(&targets->packed, PACKED_MAX); /* so that items stay where they are */
}

void kept_targets_fini(struct kept_targets *targets)
{
    free(targets->message);
    buf_fini(&targets->packed);
}

void kept_targets_start(struct kept_targets *targets)
{
    targets->count = 0;
    buf_clear(&targets->packed);
}

/* Packs the answer section, which begins behind the question: CNAMEs and addresses. The chain is in
 * order (kept_reply.h); what else there is, DNAMEs, is of no use to those who ask for addresses. */
static void pack(struct kept_targets *t, size_t question_end, const struct cache_hit *hit)
{
    struct reader r = reader_of(t->message, question_end + hit->answers_len);
    struct rr_step rr;
    reader_seek(&r, question_end);
    for (unsigned i = 0; i < hit->answers && rr_step_next(&r, &rr); i++) {
        struct slice data = slice_of(t->message + rr.data_at, rr.data_len);
        struct reader target = r;
        struct dname name;
        reader_seek(&target, rr.data_at);
        if (rr.type == DNS_TYPE_A || rr.type == DNS_TYPE_AAAA) {
            external_answer_put(&t->packed, rr.type, rr.ttl_s, data);
        } else if (rr.type == DNS_TYPE_CNAME && dname_read(&target, &name)) {
            external_answer_put(&t->packed, rr.type, rr.ttl_s, slice_of(name.wire, name.len));
        }
    }
}

static enum external_outcome outcome_of(const struct cache_hit *hit, size_t room)
{
    return hit->state == CACHE_FAILED ? EXTERNAL_FAILED
           : hit->answers_len > room  ? EXTERNAL_TRUNCATED
           : hit->is_negative         ? EXTERNAL_DENIED
                                      : EXTERNAL_ANSWERED;
}

/* False: nothing usable, or no room for it. */
static bool read_kept(struct kept_targets *t, struct kept_access *access,
                      const struct engine_query *query, const struct cache_key *key, size_t room)
{
    const struct engine_config *config = access->config;
    const size_t question_end = DNS_HEADER_SIZE + (size_t)key->name.len + 4;
    struct external_answer *item = &t->items[t->count];
    struct cache_hit *hit = &t->hits[t->count];
    const size_t packed_at = t->packed.len;
    memcpy(t->message + DNS_HEADER_SIZE, key->name.wire, key->name.len);
    cache_read(config->cache, key, &config->cache_limits, query->now_ms, CACHE_ANSWER, 0,
               t->message + question_end, room, hit);
    if (!kept_is_usable(hit, query)) {
        return false;
    }
    item->outcome = outcome_of(hit, room);
    if (item->outcome == EXTERNAL_ANSWERED || item->outcome == EXTERNAL_DENIED) {
        pack(t, question_end, hit);
    }
    item->records = slice_of(t->packed.data + packed_at, t->packed.len - packed_at);
    return !t->packed.failed;
}

const struct external_answer *kept_targets_find(
    struct kept_targets *targets, struct kept_access *access, const struct engine_query *query,
    const struct foreign_zone *zone, const struct external_question *question, size_t reply_limit)
{
    struct kept_targets *t = targets;
    const struct external_answers known = {.count = t->count, .items = t->items};
    const struct external_answer *found =
        external_answers_find(&known, &question->name, question->type);
    if (found || t->count == ENGINE_EXTERNAL_MAX || t->packed.failed) {
        return found; /* full: each further one would be read for nothing */
    }
    const size_t most = DNS_MESSAGE_MAX - QUESTION_WIRE_MAX;
    const struct cache_key key = {.name = question->name,
                                  .type = question->type,
                                  .qclass = DNS_CLASS_IN,
                                  .zone_serial = zone->serial};
    if (!read_kept(t, access, query, &key, reply_limit < most ? reply_limit : most)) {
        return NULL;
    }
    t->items[t->count].question = *question;
    return &t->items[t->count++];
}

void kept_targets_count(const struct kept_targets *targets, struct kept_access *access)
{
    for (size_t i = 0; i < targets->count; i++) {
        cache_counts_hit(access->counts, &targets->hits[i]);
    }
}

/* As a client's query for the target. */
static void write_refresh(const struct external_question *question, struct engine_deferral *d)
{
    struct writer w = writer_of(d->refresh, sizeof(d->refresh));
    writer_u16(&w, 0);
    writer_u16(&w, DNS_FLAG_RD);
    writer_u16(&w, 1); /* the question */
    writer_u16(&w, 0);
    writer_u16(&w, 0);
    writer_u16(&w, 0);
    writer_bytes(&w, question->name.wire, question->name.len);
    writer_u16(&w, question->type);
    writer_u16(&w, DNS_CLASS_IN);
    d->refresh_len = w.pos;
    d->wants_refresh = true;
}

void kept_targets_refresh(const struct kept_targets *targets, struct engine_deferral *deferral)
{
    for (size_t i = 0; i < targets->count && !deferral->wants_refresh; i++) {
        if (targets->hits[i].state == CACHE_FRESH && targets->hits[i].wants_refresh) {
            write_refresh(&targets->items[i].question, deferral);
        }
    }
}
