#include "skydns/upstream/fetcher.h"

#include <stdlib.h>

#include "common/base/clock.h"
#include "common/base/cursor.h"
#include "common/base/xalloc.h"
#include "common/dns/dns.h"
#include "skydns/external/cache_counts.h"
#include "skydns/external/zone_table.h"
#include "skydns/publish/engine_config.h"
#include "skydns/upstream/external.h"
#include "skydns/upstream/onward_internal.h"
#include "skydns/upstream/uncached_internal.h"
#include "skydns/wire/response_parse.h"

struct fetcher {
    struct forwarder *forwarder;
    const struct engine_config *config; /* this turn's */
    uint64_t config_serial;             /* the last configuration's; 0: none */
    struct cache_counts *counts;
    struct uncached *uncached;
    uint8_t message[DNS_MESSAGE_MAX]; /* fetcher_find's */
};

/* ---- Keys ---- */

static enum cache_asking asking_of(const struct upstream_question *question)
{
    return (question->flags & DNS_FLAG_RD ? CACHE_PLAIN : CACHE_WITHOUT_RD) |
           (question->subnet_len == 0 ? CACHE_PLAIN : CACHE_FOR_SUBNET);
}

static struct cache_key fetcher_key_of(const struct upstream_question *question)
{
    return (struct cache_key){
        .name = question->name,
        .type = question->type,
        .qclass = question->qclass,
        .dnssec_ok = question->dnssec_ok,
        .checking_disabled = (question->flags & DNS_FLAG_CD) != 0,
        .zone_serial = question->zone_serial,
    };
}

static void fetcher_count_change(struct fetcher *f, const struct cache_figures *before)
{
    const struct cache_figures now = cache_figures(f->config->cache);
    counter_add(&f->counts->insertions, now.insertions - before->insertions);
    counter_add(&f->counts->evictions, now.evictions - before->evictions);
}

/* ---- Targets of CNAMEs ---- */

bool fetcher_leads_home(const struct fetcher *fetcher, const struct parsed_response *response,
                        struct reply_forms *forms)
{
    struct dname end;
    if (!forms->has_end) {
        forms->has_end = true;
        forms->leads_home =
            response->head.qclass == DNS_CLASS_IN && !onward_is_cname_asked(response->head.type) &&
            external_chain_end(response, &end) && onward_is_ours(fetcher->config, &end);
    }
    return forms->leads_home;
}

/* ---- Filling the response cache ---- */

/* Caches a response. Returns whether it is cached from now on. */
static bool fetcher_keep(struct fetcher *f, const struct cache_key *key,
                         const struct forwarder_reply *reply, int64_t now_ms)
{
    struct cache *cache = f->config->cache;
    const struct cache_figures before = cache_figures(cache);
    enum cache_verdict verdict = CACHE_NO_ANSWER;
    if (!fetcher_leads_home(f, reply->response, reply->forms)) {
        struct cache_image *image = &reply->forms->image;
        (void)cache_image_make(image, key, reply->response, f->config->cache_limits.ttl_max_s);
        verdict = cache_put(cache, key, image, &reply->server->address, now_ms);
    }
    fetcher_count_change(f, &before);
    if (verdict != CACHE_HIT) {
        const struct fetcher_uncached what = {
            .verdict = verdict, .at_ms = now_ms, .nameserver = reply->server->address};
        uncached_note(f->uncached, key, &what);
    }
    return verdict == CACHE_HIT;
}

static const struct forward_zone *zone_of(const struct fetcher *f,
                                          const struct upstream_question *question)
{
    return zone_table_find_for(f->config->zones_of_others, &question->name, question->type);
}

static void fetcher_on_ended(void *data, const struct forwarder_end *end)
{
    struct fetcher *f = data;
    const struct cache_key key = fetcher_key_of(end->question);
    const enum cache_asking asking = asking_of(end->question);
    const int64_t now_ms = clock_monotonic_ms();
    enum forwarder_outcome outcome = end->reply->outcome;
    if (f->config->cache && outcome == FORWARDER_REPLIED) {
        cache_zone_answered(f->config->cache, end->question->zone_serial, now_ms);
    }
    /* The question is the first one: -stub-fallback asked other upstreams instead. */
    const bool is_instead = f->config->zones_of_others &&
                            zone_of(f, end->question)->serial != end->question->zone_serial;
    if (!f->config->cache || !end->is_current || is_instead) {
        return;
    }
    if (asking == CACHE_PLAIN && outcome == FORWARDER_REPLIED &&
        fetcher_keep(f, &key, end->reply, now_ms)) {
        return;
    }
    if (asking == CACHE_PLAIN) {
        cache_refresh_over(f->config->cache, &key);
    }
    if ((outcome == FORWARDER_FAILED || outcome == FORWARDER_SILENT) && !end->is_background) {
        const struct cache_figures before = cache_figures(f->config->cache);
        cache_fail(f->config->cache, &key, asking, now_ms);
        fetcher_count_change(f, &before);
    }
}

static void fetcher_on_revived(void *data, uint32_t zone_serial, bool was_away)
{
    const struct fetcher *f = data;
    if (f->config->cache) {
        cache_zone_revived(f->config->cache, zone_serial, was_away, clock_monotonic_ms());
    }
}

/* ---- Asking ---- */

enum forwarder_start fetcher_ask(struct fetcher *fetcher, const struct upstream_question *question,
                                 unsigned rotation, struct forwarder_wait *wait)
{
    if (!fetcher->config->zones_of_others) {
        return FORWARDER_NO_SERVER;
    }
    return forwarder_ask(fetcher->forwarder, zone_of(fetcher, question), question, rotation, wait);
}

void fetcher_refresh(struct fetcher *fetcher, const struct upstream_question *question,
                     unsigned rotation)
{
    struct upstream_question q = *question;
    q.flags |=
        DNS_FLAG_RD; /* the cached response was to a question with RD, whichever client hit it */
    if (fetcher_ask(fetcher, &q, rotation, NULL) == FORWARDER_ASKED) {
        counter_add(&fetcher->counts->prefetches, 1);
    } else if (fetcher->config->zones_of_others && fetcher->config->cache) {
        struct cache_key key = fetcher_key_of(&q);
        key.zone_serial = zone_of(fetcher, &q)->serial;
        cache_refresh_over(fetcher->config->cache, &key);
    }
}

/* ---- Finding ---- */

/* Starts a message. The records follow header and question. */
static struct writer fetcher_begin_message(struct fetcher *f,
                                           const struct upstream_question *question)
{
    struct writer w = writer_of(f->message, sizeof(f->message));
    (void)writer_take(&w, DNS_HEADER_SIZE); /* end_message writes it */
    writer_bytes(&w, question->name.wire, question->name.len);
    writer_u16(&w, question->type);
    writer_u16(&w, question->qclass);
    return w;
}

/* Ends the message after the records of the hit, or only those of the answer section. Returns an
 * empty slice when these are too long. */
static struct slice end_message(struct fetcher *f, const struct cache_hit *hit, size_t records_at)
{
    const size_t room = sizeof(f->message) - records_at;
    const bool has_all = hit->len <= room;
    if (hit->answers_len > room) {
        return slice_of(NULL, 0);
    }
    struct writer w = writer_of(f->message, DNS_HEADER_SIZE);
    writer_u16(&w, 0); /* id */
    writer_u16(&w, (uint16_t)(DNS_FLAG_QR | DNS_FLAG_RD | DNS_FLAG_RA | hit->rcode));
    writer_u16(&w, 1);
    writer_u16(&w, hit->answers);
    writer_u16(&w, has_all ? hit->authorities : 0);
    writer_u16(&w, 0);
    return slice_of(f->message, records_at + (has_all ? hit->len : hit->answers_len));
}

enum fetcher_found fetcher_find(struct fetcher *fetcher, const struct upstream_question *question,
                                bool takes_stale, struct slice *ret_message)
{
    const struct engine_config *config = fetcher->config;
    struct cache_hit hit;
    struct cache_key key = fetcher_key_of(question);
    if (!config->cache || !config->zones_of_others || question->subnet_len > 0) {
        return FETCHER_NOTHING;
    }
    key.zone_serial = zone_of(fetcher, question)->serial;
    struct writer w = fetcher_begin_message(fetcher, question);
    cache_read(config->cache, &key, &config->cache_limits, clock_monotonic_ms(), CACHE_ANSWER, 0,
               w.data + w.pos, w.cap - w.pos, &hit);
    if (hit.state == CACHE_FAILED) {
        cache_counts_hit(fetcher->counts, &hit);
        return FETCHER_FAILURE;
    }
    if (hit.state == CACHE_MISS || (hit.state == CACHE_STALE && !hit.is_failing && !takes_stale)) {
        return FETCHER_NOTHING;
    }
    *ret_message = end_message(fetcher, &hit, w.pos);
    if (ret_message->len == 0) {
        return FETCHER_NOTHING;
    }
    cache_counts_hit(fetcher->counts, &hit);
    if (hit.wants_refresh) {
        fetcher_refresh(fetcher, question, 0);
    }
    return FETCHER_REPLY;
}

bool fetcher_is_pausing(struct fetcher *fetcher, const struct upstream_question *question)
{
    static const struct cache_hit failure = {.state = CACHE_FAILED};
    const struct engine_config *config = fetcher->config;
    const enum cache_asking asking = asking_of(question);
    struct cache_key key = fetcher_key_of(question);
    if (!config->cache || !config->zones_of_others || asking == CACHE_PLAIN) {
        return false;
    }
    key.zone_serial = zone_of(fetcher, question)->serial;
    if (!cache_is_failing(config->cache, &key, asking, clock_monotonic_ms())) {
        return false;
    }
    cache_counts_hit(fetcher->counts, &failure);
    return true;
}

/* ---- Following CNAMEs ---- */

static void on_arrived(void *data, struct parsed_response *response)
{
    const struct fetcher *f = data;
    onward_drop_ours(f->config, response);
}

static enum forwarder_way on_leading(void *data, const struct dname *zone,
                                     const struct upstream_question *question,
                                     struct parsed_response *response, struct forwarder_on *ret_on)
{
    struct fetcher *f = data;
    struct onward onward;
    onward_drop_outside(zone, response);
    switch (onward_find(f->config, zone, question, response, &onward)) {
    case ONWARD_ENDS:
        return FORWARDER_ENDS;
    case ONWARD_ALONE:
        response->head.flags &= (uint16_t)~DNS_MASK_RCODE;
        return FORWARDER_ENDS;
    case ONWARD_NOWHERE:
        return FORWARDER_LEADS_NOWHERE;
    case ONWARD_HOSTS:
        *ret_on = (struct forwarder_on){
            .known =
                slice_of(f->message, onward_hosts_write(f->config, &onward.question, f->message))};
        return FORWARDER_GOES_ON;
    case ONWARD_INSTEAD:
        if (f->config->cache) { /* the zone's upstreams are well */
            cache_zone_answered(f->config->cache, question->zone_serial, clock_monotonic_ms());
        }
        *ret_on = (struct forwarder_on){
            .question = onward.question, .zone = onward.zone, .is_instead = true};
        return FORWARDER_GOES_ON;
    case ONWARD_UPSTREAM:
        break;
    }
    *ret_on = (struct forwarder_on){.question = onward.question, .zone = onward.zone};
    const enum fetcher_found found = fetcher_find(f, &onward.question, false, &ret_on->known);
    return found == FETCHER_FAILURE || fetcher_is_pausing(f, &onward.question)
               ? FORWARDER_LEADS_NOWHERE
               : FORWARDER_GOES_ON;
}

/* ---- Setup and teardown ---- */

struct fetcher *fetcher_new(const struct fetcher_config *config)
{
    struct fetcher *f = xcalloc(1, sizeof(*f));
    const struct forwarder_config forwarder = {
        .loop = config->loop,
        .random_case = config->random_case,
        .sockets_max = config->sockets_max,
        .tls = config->tls,
        .dnstap = config->dnstap,
        .ended = fetcher_on_ended,
        .arrived = on_arrived,
        .leads_on = on_leading,
        .revived = fetcher_on_revived,
        .ended_data = f,
        .suspect_loop = config->suspect_loop,
        .data = config->data,
    };
    f->forwarder = forwarder_new(&forwarder);
    f->counts = cache_tally_join(config->tally);
    f->uncached = uncached_new();
    return f;
}

void fetcher_free(struct fetcher *fetcher)
{
    if (fetcher) {
        forwarder_free(fetcher->forwarder);
        uncached_free(fetcher->uncached);
        free(fetcher);
    }
}

bool fetcher_configure(struct fetcher *fetcher, const struct engine_config *config)
{
    fetcher->config = config;
    if (fetcher->config_serial == config->serial) {
        return false;
    }
    fetcher->config_serial = config->serial;
    if (config->zones_of_others) {
        forwarder_set_zones(fetcher->forwarder, config->zones_of_others);
    }
    return true;
}

struct forwarder *fetcher_forwarder(struct fetcher *fetcher)
{
    return fetcher->forwarder;
}

bool fetcher_uncached(const struct fetcher *fetcher, const struct cache_key *key,
                      struct fetcher_uncached *ret)
{
    return uncached_find(fetcher->uncached, key, ret);
}
