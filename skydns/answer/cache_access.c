#include "skydns/answer/cache_access.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/addr.h"
#include "common/base/xalloc.h"
#include "common/dns/dns.h"
#include "skydns/external/cache_counts.h"
#include "skydns/external/cache_image.h"
#include "skydns/wire/edns.h"
#include "skydns/wire/fast_reply.h"
#include "skydns/wire/query_parse.h"
#include "skydns/wire/reply_limit.h"
#include "skydns/wire/response.h"
#include "skydns/wire/rr_step.h"

void cache_access_init(struct cache_access *access, const struct engine_config *config)
{
    *access = (struct cache_access){.counts = cache_tally_join(config->cache_tally)};
    cache_access_configure(access, config);
}

void cache_access_configure(struct cache_access *access, const struct engine_config *config)
{
    access->config = config;
    access->allowed_last = 0;
}

bool cache_access_allows(struct cache_access *access, const struct addr *client)
{
    const struct engine_config *config = access->config;
    if (config->allows_all || config->allowed_count == 0) {
        return config->allows_all;
    }
    struct ip ip = addr_ip(client);
    if (network_contains(&config->allowed[access->allowed_last], &ip)) {
        return true;
    }
    for (size_t i = 0; i < config->allowed_count; i++) {
        if (network_contains(&config->allowed[i], &ip)) {
            access->allowed_last = i;
            return true;
        }
    }
    return false;
}

/* ---- Counts ---- */

void cache_access_miss(struct cache_access *access, const struct engine_query *query)
{
    if (!query->owned && !query->takes_stale) {
        counter_add(&access->counts->misses, 1);
    }
}

bool cached_is_usable(const struct cache_hit *hit, const struct engine_query *query)
{
    switch (hit->state) {
    case CACHE_MISS:
        break;
    case CACHE_FRESH:
        return true;
    case CACHE_STALE:
        return hit->is_failing || query->takes_stale;
    case CACHE_FAILED:
        return !query->takes_stale; /* the query's sender already knows how this question failed */
    }
    return false;
}

/* ---- Bytes ---- */

/* A response being written: its limit, its beginning, and the room for its records. */
struct frame {
    bool has_edns;
    size_t limit;
    struct response_start start;
    size_t room;
};

static struct frame frame_of(const struct cache_access *access, const struct engine_query *query,
                             const struct cache_key *key, struct slice asked)
{
    const bool has_edns = query_has_edns(query->parsed);
    struct frame f = {
        .has_edns = has_edns,
        .limit = reply_limit_of(query, has_edns, query_udp_size(query->parsed),
                                access->config->settings.max_udp_size),
        .start = response_start_of(asked, key->name.len),
    };
    f.room = f.limit - f.start.records_at - (f.has_edns ? EDNS_OPT_SIZE : 0);
    return f;
}

static uint32_t shuffle_of(const struct cache_access *access, const struct engine_query *query)
{
    return access->config->settings.round_robin ? query->random | 1 : 0;
}

static enum edns_error cache_access_error_of(const struct cache_hit *hit)
{
    switch (hit->state) {
    case CACHE_STALE:
        return hit->rcode == DNS_RCODE_NXDOMAIN ? EDNS_ERROR_STALE_NXDOMAIN : EDNS_ERROR_STALE;
    case CACHE_FAILED:
        return EDNS_ERROR_CACHED;
    case CACHE_MISS:
    case CACHE_FRESH:
        break;
    }
    return EDNS_ERROR_NONE;
}

/* Appends OPT, with the error if there is room for it. */
static void end_edns(const struct cache_access *access, bool dnssec_ok, enum edns_error error,
                     size_t limit, struct response *response)
{
    struct writer w = writer_of(response->bytes, limit);
    w.pos = response->opt_at = response->len;
    edns_append_opt(&w, access->config->settings.max_udp_size, 0, dnssec_ok);
    if (error != EDNS_ERROR_NONE) {
        edns_append_error(&w, (uint16_t)error);
    }
    response->len = w.pos;
}

/* Writes the question; or, for a candidate name of a search list, the client's question and the
 * CNAME, for which the records move. Returns how many records it adds. */
static unsigned begin_cached_reply(const struct engine_query *query, const struct cache_key *key,
                                   const struct cache_hit *hit, const struct frame *frame,
                                   struct response *response)
{
    const uint8_t *name = query->wire + DNS_HEADER_SIZE;
    const struct slice asked = response->asked;
    if (asked.len == 0) {
        memcpy(response->bytes + DNS_HEADER_SIZE, name, key->name.len + (size_t)DNS_QUESTION_TAIL);
        response->name_len = key->name.len;
        return 0;
    }
    const bool has_records = hit->shown_answers > 0 || hit->shown_authorities > 0;
    const uint32_t fresh_s = hit->left_s > 0 ? hit->left_s : 1;
    const uint32_t ttl_s = hit->state == CACHE_STALE ? (uint32_t)CACHE_STALE_TTL_S : fresh_s;
    search_alias_write(response->bytes, asked, slice_of(name, key->name.len), key->type,
                       key->qclass);
    search_alias_set_ttl(response->bytes, asked, has_records ? ttl_s : 0);
    cached_records_move(response->bytes + frame->start.records_at, hit->shown_len, key->name.len,
                        &frame->start);
    response->name_len = (uint8_t)asked.len;
    return 1;
}

/* Completes the response around the records that cache_read gave, with TC if the answer has more.
 * Over TCP it sets no TC, which would send the client to TCP again. */
static void end_cached_reply(const struct cache_access *access, const struct engine_query *query,
                             const struct cache_key *key, const struct cache_hit *hit,
                             const struct frame *frame, struct response *response)
{
    const uint8_t *wire = query->wire;
    uint8_t *reply = response->bytes;
    bool is_cut = hit->shown_answers < hit->answers ||
                  (hit->answers == 0 && hit->shown_authorities < hit->authorities);
    bool is_lost = is_cut && query->transport != ENGINE_UDP;
    bool may_say_ad = (key->dnssec_ok || (wire[3] & DNS_FLAG_AD)) && /* RFC 6840 5.8 */
                      response->asked.len == 0; /* the CNAME has no signature */
    unsigned rcode =
        is_lost || hit->state == CACHE_FAILED ? (unsigned)DNS_RCODE_SERVFAIL : hit->rcode;
    const unsigned aliases = begin_cached_reply(query, key, hit, frame, response);
    response->opt_at = 0;
    response->len = frame->start.records_at + (is_lost ? 0 : hit->shown_len);
    memcpy(reply, wire, 2);
    reply[2] = (uint8_t)(DNS_FLAG_QR >> 8 | (wire[2] & DNS_FLAG_RD >> 8) |
                         (is_cut && !is_lost ? DNS_FLAG_TC >> 8 : 0));
    reply[3] = (uint8_t)(DNS_FLAG_RA | (hit->is_authentic && may_say_ad ? DNS_FLAG_AD : 0) |
                         (wire[3] & DNS_FLAG_CD) | rcode);
    fast_put16(reply + 4, 1);
    fast_put16(reply + 6, aliases + (is_lost ? 0 : hit->shown_answers));
    fast_put16(reply + 8, is_lost ? 0 : hit->shown_authorities);
    fast_put16(reply + 10, frame->has_edns);
    enum edns_error error = is_lost ? EDNS_ERROR_OTHER : cache_access_error_of(hit);
    if (frame->has_edns) {
        end_edns(access, key->dnssec_ok, error, frame->limit, response);
    }
}

bool cache_access_reply(struct cache_access *access, const struct engine_query *query,
                        const struct cache_key *key, struct response *response,
                        struct engine_deferral *deferral)
{
    const struct engine_config *config = access->config;
    const struct frame frame = frame_of(access, query, key, response->asked);
    struct cache_hit hit;
    cache_read(config->cache, key, &config->cache_limits, query->now_ms, CACHE_ANSWER,
               shuffle_of(access, query), response->bytes + frame.start.records_at, frame.room,
               &hit);
    if (!cached_is_usable(&hit, query)) {
        return false;
    }
    if (hit.state == CACHE_FRESH && hit.wants_refresh) {
        deferral->wants_refresh = true;
        deferral->refresh = *query_question(query->parsed);
    }
    cache_counts_hit(access->counts, &hit);
    end_cached_reply(access, query, key, &hit, &frame, response);
    return true;
}

void cache_access_first(const struct cache_access *access, const struct engine_query *query,
                        const struct cache_key *key, const struct cache_image *image,
                        struct response *response)
{
    const struct frame frame = frame_of(access, query, key, response->asked);
    struct cache_hit hit;
    cache_image_read(image, shuffle_of(access, query), response->bytes + frame.start.records_at,
                     frame.room, &hit);
    end_cached_reply(access, query, key, &hit, &frame, response);
}

/* ---- Targets ---- */

/* Bounds the packed targets of one answer: a message's records, with CNAMEs in full. More would not
 * fit the response either. */
enum { PACKED_MAX = 64 * 1024 };

void cached_targets_init(struct cached_targets *targets)
{
    *targets = (struct cached_targets){.message = xmalloc(DNS_MESSAGE_MAX)};
    buf_init(&targets->packed, PACKED_MAX);
    (void)buf_reserve(&targets->packed, PACKED_MAX); /* so that items stay at their addresses */
}

void cached_targets_fini(struct cached_targets *targets)
{
    free(targets->message);
    buf_fini(&targets->packed);
}

void cached_targets_start(struct cached_targets *targets)
{
    targets->count = 0;
    buf_clear(&targets->packed);
}

/* Packs the CNAMEs and addresses of the answer section, which begins after the question. The chain
 * is in order (cache_image.h). DNAMEs are left out: an address lookup does not use them. */
static void pack_target(struct cached_targets *t, size_t question_end, const struct cache_hit *hit)
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

static enum external_outcome target_outcome_of(const struct cache_hit *hit, size_t room)
{
    return hit->state == CACHE_FAILED ? EXTERNAL_FAILED
           : hit->answers_len > room  ? EXTERNAL_TRUNCATED
           : hit->is_negative         ? EXTERNAL_DENIED
                                      : EXTERNAL_ANSWERED;
}

/* Reads a target's cache entry. Returns false when nothing is usable or there is no room for it. */
static bool read_cached_target(struct cached_targets *t, struct cache_access *access,
                               const struct engine_query *query, const struct cache_key *key,
                               size_t room)
{
    const struct engine_config *config = access->config;
    const size_t question_end = DNS_HEADER_SIZE + (size_t)key->name.len + DNS_QUESTION_TAIL;
    struct external_answer *item = &t->items[t->count];
    struct cache_hit *hit = &t->hits[t->count];
    const size_t packed_at = t->packed.len;
    memcpy(t->message + DNS_HEADER_SIZE, key->name.wire, key->name.len);
    cache_read(config->cache, key, &config->cache_limits, query->now_ms, CACHE_ANSWER, 0,
               t->message + question_end, room, hit);
    if (!cached_is_usable(hit, query)) {
        return false;
    }
    item->outcome = target_outcome_of(hit, room);
    item->is_nxdomain = item->outcome == EXTERNAL_DENIED && hit->rcode == DNS_RCODE_NXDOMAIN;
    item->denial_ttl_s = item->outcome != EXTERNAL_DENIED ? 0
                         : hit->state == CACHE_STALE      ? CACHE_STALE_TTL_S
                                                          : hit->left_s;
    if (item->outcome == EXTERNAL_ANSWERED || item->outcome == EXTERNAL_DENIED) {
        pack_target(t, question_end, hit);
    }
    item->records = slice_of(t->packed.data + packed_at, t->packed.len - packed_at);
    return !t->packed.failed;
}

const struct external_answer *cached_targets_find(struct cached_targets *targets,
                                                  struct cache_access *access,
                                                  const struct engine_query *query,
                                                  const struct cache_key *key, size_t reply_limit)
{
    struct cached_targets *t = targets;
    const struct external_answers known = {.count = t->count, .items = t->items};
    const struct external_answer *found = external_answers_find(&known, &key->name, key->type);
    if (found || t->count == ENGINE_EXTERNAL_MAX || t->packed.failed) {
        return found; /* full: reading another would be for nothing */
    }
    const size_t most = DNS_MESSAGE_MAX - QUESTION_WIRE_MAX;
    struct external_answer *item = &t->items[t->count];
    if (!read_cached_target(t, access, query, key, reply_limit < most ? reply_limit : most)) {
        return NULL;
    }
    item->question = (struct external_question){key->name, key->type};
    t->dnssec_ok[t->count] = key->dnssec_ok;
    t->checking_disabled[t->count] = key->checking_disabled;
    t->count++;
    return item;
}

void cached_targets_count(const struct cached_targets *targets, struct cache_access *access)
{
    for (size_t i = 0; i < targets->count; i++) {
        cache_counts_hit(access->counts, &targets->hits[i]);
    }
}

void cached_targets_refresh(const struct cached_targets *targets, struct engine_deferral *deferral)
{
    for (size_t i = 0; i < targets->count && !deferral->wants_refresh; i++) {
        if (targets->hits[i].state == CACHE_FRESH && targets->hits[i].wants_refresh) {
            const struct external_question *question = &targets->items[i].question;
            deferral->wants_refresh = true;
            deferral->refresh =
                (struct question){.name = question->name,
                                  .type = question->type,
                                  .qclass = DNS_CLASS_IN,
                                  .recursion_desired = true,
                                  .dnssec_ok = targets->dnssec_ok[i],
                                  .checking_disabled = targets->checking_disabled[i]};
        }
    }
}
