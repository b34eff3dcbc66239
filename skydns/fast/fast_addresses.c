/* Answers with addresses: those that a node has, the nearest of them, and as many as fit. */
#include "skydns/fast/fast_internal.h"

#include <string.h>

#include "common/base/attributes.h"
#include "common/dns/dns.h"
#include "skydns/answer/answer.h"
#include "skydns/answer/cache_access.h"
#include "skydns/external/cache_counts.h"
#include "skydns/records/rng.h"
#include "skydns/records/rr.h"

bool fast_get_addresses(const struct fast *f, const struct store_node *node, unsigned family,
                        struct addresses *ret)
{
    const struct store_record *record = store_node_single(node);
    const struct store_ready *ready = store_node_ready(node);
    *ret = (struct addresses){.size = family == 0 ? 4 : 16};
    if (!record && (record = store_node_record(node)) &&
        (store_visible_count(node) != 1 || record->lens[RECORD_RR] > 0)) {
        record = NULL; /* its name also has what is below it, or in `rr` */
    }
    if (record) {
        ret->count = record->host_len == ret->size;
        ret->bytes = record->bytes;
        ret->ttl_s = record->ttl_s ? record->ttl_s : f->config->settings.ttl_s;
        return record->host == STORE_HOST_IP;
    }
    if (!ready) {
        struct store_tally tally = store_node_tally(node);
        return store_tally_of_family(&tally, ret->size) == 0 && tally.names == 0 && tally.rrs == 0;
    }
    ret->count = ready->count[family];
    ret->bytes = ready->bytes + (family == 0 ? 0 : 4 * ready->count[0]);
    ret->ttl_s = ready->ttl_s[family];
    return ready->kind == STORE_READY_ADDRESSES;
}

unsigned fast_put_addresses(struct fast *f, const struct addresses *a, unsigned owner_at)
{
    uint8_t order[STORE_READY_MAX];
    unsigned type = a->size == 4 ? DNS_TYPE_A : DNS_TYPE_AAAA;
    for (unsigned i = 0; i < a->count; i++) {
        unsigned other =
            f->config->settings.round_robin && i > 0 ? shuffle_random(&f->random) % (i + 1) : i;
        order[i] = (uint8_t)i;
        order[i] = order[other];
        order[other] = (uint8_t)i;
    }
    for (unsigned i = 0; i < a->count; i++) {
        uint8_t *data = fast_reply_record(&f->reply, owner_at, type, a->ttl_s, a->size);
        if (!data) {
            return i;
        }
        memcpy(data, a->bytes + (size_t)order[i] * a->size, a->size);
    }
    return a->count;
}

uint32_t fast_level(const struct fast *f, unsigned count, uint32_t ttl_s)
{
    return count > 1 && f->config->settings.ttl_s < ttl_s ? f->config->settings.ttl_s : ttl_s;
}

/* ---- The nearest ---- */

struct near fast_find_near(const struct fast *f, const struct fast_question *question,
                           const struct engine_query *query)
{
    const struct fast_query *q = question->query;
    return near_find(f->config->topology, query->view.zone, slice_of(q->name, q->name_len));
}

void fast_count_near(const struct fast *f)
{
    counter_add(&f->cached->counts->near, 1);
}

/* Write the near ones of `count` addresses; return how many. IPv4 apart, with all that is needed in
 * registers: most addresses are. */
static unsigned take_near_v4(struct fast *f, const struct near *near, const uint8_t *bytes,
                             unsigned count)
{
    const struct topology_v4 v4 = near->service->v4;
    const uint8_t zone = near->zone;
    unsigned near_count = 0;
    for (unsigned i = 0; i < count; i++) {
        uint32_t key;
        memcpy(&key, bytes + (size_t)i * sizeof(key), sizeof(key));
        const uint8_t found = topology_service_zone_of_v4(&v4, key);
        memcpy(f->near_bytes + (size_t)near_count * sizeof(key), &key, sizeof(key));
        near_count += found == zone || found == TOPOLOGY_NO_ZONE;
    }
    return near_count;
}

static unsigned take_near_v6(struct fast *f, const struct near *near, const uint8_t *bytes,
                             unsigned count)
{
    unsigned near_count = 0;
    for (unsigned i = 0; i < count; i++) {
        memcpy(f->near_bytes + (size_t)near_count * 16, bytes + (size_t)i * 16, 16);
        near_count += near_has(near, bytes + (size_t)i * 16, 16);
    }
    return near_count;
}

/* Leaves only the near addresses, if there are any. Returns false when the slow path decides, since
 * the others' TTLs differ. */
static NOINLINE bool keep_near_addresses(struct fast *f, const struct fast_question *question,
                                         const struct engine_query *query, struct addresses *a)
{
    const struct near near = fast_find_near(f, question, query);
    if (!near.service) {
        return true;
    }
    const unsigned near_count = a->size == 4 ? take_near_v4(f, &near, a->bytes, a->count)
                                             : take_near_v6(f, &near, a->bytes, a->count);
    if (near_count == 0 || near_count == a->count) {
        return true;
    }
    a->bytes = f->near_bytes;
    a->count = near_count;
    const bool is_level = store_node_ready(question->scan.node)->is_level;
    counter_add(&f->cached->counts->near, is_level); /* these are answered here, cut or not */
    return is_level;
}

bool fast_has_near_records(const struct fast *f, const struct engine_query *query,
                           struct slice wire)
{
    return near_of(f->config, query->view.zone, wire).service != NULL;
}

/* ---- Answers ---- */

/* Shuffles the picked addresses and writes as many as fit. */
static bool put_picked(struct fast *f, const struct fast_question *question, unsigned family_bytes)
{
    struct address_pick *pick = &f->pick;
    uint32_t ttl_s = fast_level(f, (unsigned)pick->count, pick->ttl_s);
    unsigned owner_at = f->reply.name_at;
    unsigned type = question->query->type, count = 0;
    for (unsigned i = 1; i < pick->count && f->config->settings.round_robin; i++) {
        unsigned other = shuffle_random(&f->random) % (i + 1);
        const struct store_record *record = pick->records[i];
        pick->records[i] = pick->records[other];
        pick->records[other] = record;
    }
    for (; count < pick->count; count++) {
        uint8_t *data = fast_reply_record(&f->reply, owner_at, type, ttl_s, family_bytes);
        if (!data) {
            break;
        }
        memcpy(data, pick->records[count]->bytes, family_bytes);
    }
    f->reply.answers = (uint16_t)count;
    f->reply.is_cut = count < pick->count;
    return fast_end(f, question->query, DNS_RCODE_NOERROR, ttl_s);
}

/* Answers with more addresses than are prepared. Returns false when the slow path decides. */
static NOINLINE bool answer_many(struct fast *f, const struct fast_question *question,
                                 const struct engine_query *query, unsigned family_bytes)
{
    const struct store_node *node = question->scan.node;
    struct store_tally tally = store_node_tally(node);
    const struct address_wanted wanted = {
        .config = f->config,
        .node = node,
        .family_bytes = family_bytes,
        .reply_limit = f->reply.max,
        .visits_max = ENGINE_BRIEF_MAX,
        .random = query->random,
        .near =
            query->view.zone ? fast_find_near(f, question, query) : (struct near){.service = NULL},
    };
    uint32_t count = store_tally_of_family(&tally, family_bytes);
    size_t enough = address_pick_enough(family_bytes, wanted.reply_limit);
    if (tally.names > 0 || tally.groups > 0 || tally.rrs > 0 ||
        (count < enough ? count : enough) > ENGINE_BRIEF_MAX) {
        return false;
    }
    if (!address_pick(&f->pick, &wanted) || (f->pick.is_all && !f->config->settings.round_robin)) {
        return false;
    }
    if (f->pick.far > 0) {
        fast_count_near(f);
    }
    return put_picked(f, question, family_bytes);
}

bool fast_answer_addresses(struct fast *f, const struct fast_question *question,
                           const struct engine_query *query)
{
    struct addresses addresses;
    unsigned family = query_family(question);
    if (!fast_get_addresses(f, question->scan.node, family, &addresses)) {
        return store_visible_count(question->scan.node) > STORE_READY_MAX
                   ? answer_many(f, question, query, family == 0 ? 4 : 16)
                   : false;
    }
    if (addresses.count == 0) {
        return fast_answer_negative(f, question, query, DNS_RCODE_NOERROR);
    }
    if (addresses.count > 1 && query->view.zone &&
        !keep_near_addresses(f, question, query, &addresses)) {
        return false;
    }
    addresses.ttl_s = fast_level(f, addresses.count, addresses.ttl_s);
    unsigned count = fast_put_addresses(f, &addresses, f->reply.name_at);
    f->reply.answers = (uint16_t)count;
    f->reply.is_cut = count < addresses.count;
    return fast_end(f, question->query, DNS_RCODE_NOERROR, addresses.ttl_s);
}

void fast_build_addresses(struct fast *f, const struct fast_question *question,
                          const struct addresses *a, struct slice owner, struct answer_plan *plan)
{
    for (unsigned i = 0; i < a->count; i++) {
        const struct rr rr = {.owner = owner,
                              .type = (enum rr_type)question->query->type,
                              .ttl_s = fast_level(f, a->count, a->ttl_s),
                              .data = slice_of(a->bytes + (size_t)i * a->size, a->size)};
        rr_list_add(&plan->answers, &rr);
    }
    if (f->config->settings.round_robin) {
        rr_list_shuffle_addresses(&plan->answers, &f->random);
    }
}
