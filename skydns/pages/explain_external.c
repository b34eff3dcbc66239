#include "skydns/pages/explain_external.h"

#include "common/base/attributes.h"
#include "skydns/external/hosts_table.h"
#include "skydns/resolver/resolver.h"

static struct cache_key explain_external_key_of(const struct explain_external *x)
{
    return (struct cache_key){.name = x->question.name,
                              .type = x->question.type,
                              .qclass = DNS_CLASS_IN,
                              .zone_serial = x->zone->serial};
}

/* Writes header and question; returns where the records begin. */
static size_t explain_external_begin_message(const struct external_question *question,
                                             uint8_t *message)
{
    const struct question asked = {
        .name = question->name, .type = question->type, .qclass = DNS_CLASS_IN};
    return question_write(&asked, message);
}

static size_t read_cached(const struct engine_config *config, int64_t now_ms, uint8_t *message,
                          struct explain_external *x)
{
    const struct cache_key key = explain_external_key_of(x);
    size_t at = explain_external_begin_message(&x->question, message);
    cache_read(config->cache, &key, &config->cache_limits, now_ms, CACHE_PEEK, 0, message + at,
               DNS_MESSAGE_MAX - at, &x->cached);
    return at;
}

/* Returns whether the cache entry answers now: stale answers are given only while upstreams are
 * known to fail. */
static bool answers_now(const struct cache_hit *cached)
{
    return cached->state == CACHE_FRESH || cached->state == CACHE_FAILED ||
           (cached->state == CACHE_STALE && cached->is_failing);
}

/* Returns the upstream that upstreams_order puts first. */
static const struct nameserver *first_of(const struct forward_zone *zone,
                                         const struct upstream_states *states)
{
    const unsigned avoided[] = {states->dead | states->looping, states->looping};
    for (size_t i = 0; i < ARRAY_LEN(avoided); i++) {
        for (size_t k = 0; k < zone->server_count; k++) {
            if ((avoided[i] >> k & 1) == 0) {
                return &zone->servers[k];
            }
        }
    }
    return NULL;
}

struct nameserver explain_external_sender(const struct explain_external *x,
                                          const struct addr *address)
{
    for (size_t i = 0; x->zone && i < x->zone->server_count; i++) {
        if (addr_equal(&x->zone->servers[i].address, address)) {
            return x->zone->servers[i];
        }
    }
    return nameserver_at(*address);
}

bool explain_external_nameserver(const struct explain_external *x, struct nameserver *ret)
{
    if (x->source == EXPLAIN_FROM_CACHE && x->cached.state != CACHE_FAILED) {
        *ret = explain_external_sender(x, &x->cached.nameserver);
        return true;
    }
    bool is_asked = x->source == EXPLAIN_FROM_STUB || x->source == EXPLAIN_FROM_NAMESERVER;
    const struct nameserver *first = is_asked && x->zone ? first_of(x->zone, &x->states) : NULL;
    if (first) {
        *ret = *first;
    }
    return first != NULL;
}

void explain_external_servers(const struct resolver *resolver, struct explain_external *x)
{
    if (!resolver || !x->zone) {
        return;
    }
    const struct cache_key key = explain_external_key_of(x);
    (void)resolver_zone_state(resolver, x->zone->serial, &x->states); /* else: none asked yet */
    x->has_uncached =
        x->cached.state == CACHE_MISS && resolver_uncached(resolver, &key, &x->uncached);
}

size_t explain_external(const struct engine_config *config,
                        const struct external_question *question, const struct forward_zone *zone,
                        int64_t now_ms, uint8_t *message, struct explain_external *ret)
{
    size_t records_at = 0;
    *ret = (struct explain_external){
        .question = *question,
        .source = zone && zone_is_stub(zone) ? EXPLAIN_FROM_STUB : EXPLAIN_FROM_NAMESERVER,
        .zone = zone,
        .cached = {.state = CACHE_MISS},
    };
    size_t unused;
    if (!message) {
        return 0;
    }
    ret->is_listed =
        config->hosts && hosts_table_find(config->hosts, &question->name, &unused) != NULL;
    if (zone && config->cache) {
        records_at = read_cached(config, now_ms, message, ret);
    }
    if (ret->is_listed && ret->cached.rcode == DNS_RCODE_NXDOMAIN) {
        ret->cached.rcode = DNS_RCODE_NOERROR; /* as the engine does: the name exists */
    }
    if (answers_now(&ret->cached)) {
        ret->source = EXPLAIN_FROM_CACHE;
        ret->ttl_s = ret->cached.state == CACHE_STALE ? CACHE_STALE_TTL_S : ret->cached.left_s;
    }
    return records_at;
}
