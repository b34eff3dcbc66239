#include "skydns/fast/fast.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/attributes.h"
#include "common/base/xalloc.h"
#include "common/dns/dns.h"
#include "skydns/answer/address_pick.h"
#include "skydns/answer/answer.h"
#include "skydns/answer/cache_access.h"
#include "skydns/answer/external_synthesis.h"
#include "skydns/answer/near.h"
#include "skydns/external/cache_counts.h"
#include "skydns/fast/fast_names_internal.h"
#include "skydns/fast/fast_target_internal.h"
#include "skydns/records/rng.h"
#include "skydns/records/rr.h"
#include "skydns/records/store_ready.h"
#include "skydns/wire/deferral.h"
#include "skydns/wire/fast_reply.h"
#include "skydns/wire/query_parse.h"
#include "skydns/wire/response.h"

struct fast {
    const struct engine_config *config;
    struct cache_access *cached;
    struct fast_zones zones;

    struct response *response; /* the response being made, */
    struct fast_reply reply;   /* record by record */
    struct view view;          /* this client's */
    uint32_t random;

    uint64_t ahead_serial; /* serial of the last batched lookup's version */
    size_t ahead_count;
    struct fast_question questions[ENGINE_AHEAD_MAX];
    struct fast_question alone; /* a question that is not in the batch */

    struct address_pick pick; /* scratch, as are the next two */
    uint8_t near_bytes[STORE_READY_MAX * 16];
    const struct store_record *near_records[STORE_READY_MAX];
};

void fast_configure(struct fast *fast, const struct engine_config *config, struct encoder *encoder)
{
    fast->config = config;
    fast->ahead_count = 0;
    fast_zones_configure(&fast->zones, config, encoder);
}

struct fast *fast_new(const struct engine_config *config, struct encoder *encoder,
                      struct cache_access *cached)
{
    struct fast *fast = xcalloc(1, sizeof(*fast));
    fast->cached = cached;
    fast_configure(fast, config, encoder);
    return fast;
}

void fast_free(struct fast *fast)
{
    free(fast);
}

/* ---- Lookup ---- */

void fast_look_ahead(struct fast *fast, const struct store *store,
                     const struct fast_query *const *queries, size_t count)
{
    struct store_scan *scans[ENGINE_AHEAD_MAX];
    const struct fast_question *external[ENGINE_AHEAD_MAX];
    size_t going = 0, external_count = 0;
    /* A name that a client may not see is not looked up: the time it takes would tell of it. */
    fast->ahead_count = fast->config->visibility   ? 0
                        : count < ENGINE_AHEAD_MAX ? count
                                                   : ENGINE_AHEAD_MAX;
    if (fast->ahead_count == 0) {
        return;
    }
    fast_zones_use(&fast->zones, store);
    fast->ahead_serial = fast->zones.serial;
    for (size_t i = 0; i < fast->ahead_count; i++) {
        struct fast_question *question = &fast->questions[i];
        fast_question_begin(&fast->zones, queries[i], question);
        if (question->source == FAST_STORE) {
            scans[going++] = &question->scan;
        } else if (question->source == FAST_CACHE) {
            cache_prepare(fast->config->cache, &question->key);
            external[external_count++] = question;
        }
    }
    while (going > 0) {
        for (size_t i = 0; i < going;) {
            if (store_scan_step(scans[i])) {
                i++;
            } else {
                scans[i] = scans[--going];
            }
        }
    }
    for (size_t i = 0; i < external_count; i++) {
        cache_look_ahead(fast->config->cache, &external[i]->key);
    }
}

/* Returns whether the name may be hidden from the client, whether or not it exists. All reverse
 * names may be: the slow path decides. */
static bool may_be_hidden(const struct fast *f, const struct fast_question *question,
                          const struct engine_query *query)
{
    return f->view.visibility &&
           (!question->zone ||
            fast_name_part(&f->zones, question->zone, question->query, &query->view) == VIEW_NONE);
}

static NOINLINE const struct fast_question *find_alone(struct fast *f, const struct store *store,
                                                       const struct engine_query *query)
{
    struct fast_question *q = &f->alone;
    fast_zones_use(&f->zones, store);
    fast_question_begin(&f->zones, &query->parsed->fast, q);
    if (q->source == FAST_STORE && !may_be_hidden(f, q, query)) {
        store_scan_finish(&q->scan);
    }
    return q;
}

/* Returns the query's question, with its name looked up if it may be in the store. */
static inline const struct fast_question *find_question(struct fast *f, const struct store *store,
                                                        const struct engine_query *query)
{
    bool is_ahead = query->ahead > 0 && query->ahead <= f->ahead_count &&
                    f->ahead_serial == store_serial(store);
    return is_ahead ? &f->questions[query->ahead - 1] : find_alone(f, store, query);
}

/* ---- Addresses ---- */

struct addresses {
    const uint8_t *bytes;
    unsigned count;
    unsigned size; /* of one address */
    uint32_t ttl_s;
};

/* Returns 0 for IPv4, 1 for IPv6. */
static unsigned query_family(const struct fast_question *question)
{
    return question->query->type == DNS_TYPE_A ? 0 : 1;
}

/* Gets the addresses of one family at a node. Returns false to fall back to the slow path. */
static bool get_addresses(const struct fast *f, const struct store_node *node, unsigned family,
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

/* Writes as many addresses as fit. Returns how many. */
static unsigned put_addresses(struct fast *f, const struct addresses *a, unsigned owner_at)
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

static uint32_t fast_level(const struct fast *f, unsigned count, uint32_t ttl_s)
{
    return count > 1 && f->config->settings.ttl_s < ttl_s ? f->config->settings.ttl_s : ttl_s;
}

/* ---- The nearest ---- */

/* Finds what is near the client of the records of the question's name. Its zone is known, and so
 * -topology is on (engine.c). */
static struct near find_near(const struct fast *f, const struct fast_question *question,
                             const struct engine_query *query)
{
    const struct fast_query *q = question->query;
    return near_find(f->config->topology, query->view.zone, slice_of(q->name, q->name_len));
}

static void count_near(const struct fast *f)
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
    const struct near near = find_near(f, question, query);
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

/* Returns whether an answer to this client may lack some of the name's records. */
static bool has_near_records(const struct fast *f, const struct engine_query *query,
                             struct slice wire)
{
    return near_of(f->config, query->view.zone, wire).service != NULL;
}

/* ---- Answers ---- */

/* Ends the response. ttl_s is the answers' TTL, or the denial's. */
static bool fast_end(struct fast *f, const struct fast_query *q, enum dns_rcode rcode,
                     uint32_t ttl_s)
{
    fast_reply_end(&f->reply, q, f->config->settings.max_udp_size, rcode, ttl_s, f->response);
    return true;
}

/* Writes the SOA after a CNAME. Returns false when one of its pointers would be wrong. */
static NOINLINE bool put_soa_behind_alias(struct fast *f, const struct fast_query *q,
                                          const struct soa_template *soa, uint32_t serial)
{
    const size_t name_len = f->reply.name_at - (size_t)DNS_HEADER_SIZE + q->name_len;
    if (soa->has_own_suffix) {
        return false;
    }
    f->reply.len += soa_template_write(soa, name_len, serial, f->reply.bytes + f->reply.len);
    return true;
}

/* Writes the SOA, for a denial. Returns false when the slow path decides. */
static inline bool fast_put_soa(struct fast *f, const struct fast_query *q,
                                const struct soa_template *soa, uint32_t serial)
{
    if (f->reply.len + soa->len > f->reply.limit) {
        return false;
    }
    f->reply.authorities = 1;
    if (f->reply.name_at != DNS_HEADER_SIZE) {
        return put_soa_behind_alias(f, q, soa, serial);
    }
    f->reply.len += soa_template_write(soa, q->name_len, serial, f->reply.bytes + f->reply.len);
    return true;
}

/* Answers NODATA or NXDOMAIN. */
static bool fast_answer_negative(struct fast *f, const struct fast_question *question,
                                 const struct engine_query *query, enum dns_rcode rcode)
{
    const struct fast_query *q = question->query;
    const struct engine_zone *zone = question->zone->zone;
    const struct soa_templates *soas = &question->zone->soas;
    const struct soa_template *soa =
        q->is_lower ? &soas->lower : soa_templates_mixed(soas, zone, q);
    return soa && !zone->is_incomplete &&
           fast_put_soa(f, q, soa, answer_soa_serial(zone->serial, query->now_s)) &&
           fast_end(f, q, rcode, f->config->settings.min_ttl_s);
}

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
        .near = query->view.zone ? find_near(f, question, query) : (struct near){.service = NULL},
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
        count_near(f);
    }
    return put_picked(f, question, family_bytes);
}

static bool answer_addresses(struct fast *f, const struct fast_question *question,
                             const struct engine_query *query)
{
    struct addresses addresses;
    unsigned family = query_family(question);
    if (!get_addresses(f, question->scan.node, family, &addresses)) {
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
    unsigned count = put_addresses(f, &addresses, f->reply.name_at);
    f->reply.answers = (uint16_t)count;
    f->reply.is_cut = count < addresses.count;
    return fast_end(f, question->query, DNS_RCODE_NOERROR, addresses.ttl_s);
}

/* ---- Ports ---- */

/* Returns whether a target is in the namespace of the question's name, which the client sees. */
static bool is_in_same_space(const struct fast *f, const struct fast_question *question,
                             struct slice target)
{
    const struct fast_query *q = question->query;
    unsigned below = (unsigned)question->zone->zone->labels + 2;
    if (f->zones.is_nested || q->label_count <= below) {
        return false;
    }
    const uint8_t *space = q->name + q->offsets[q->label_count - below];
    size_t len = (size_t)q->name_len - q->offsets[q->label_count - below], at = 0;
    while (target.len - at > len) {
        at += (uint8_t)target.ptr[at] + 1u;
    }
    return target.len - at == len && memcmp(target.ptr + at, space, len) == 0;
}

/* Returns the part of a target that the client sees. */
static enum view_part target_part(const struct fast *f, const struct fast_question *question,
                                  struct slice target)
{
    if (!f->view.visibility || is_in_same_space(f, question, target)) {
        return VIEW_WHOLE;
    }
    const struct dname name = dname_lower_of(target);
    return view_part_of(&f->view, &name);
}

/* Adds the addresses of a target, if all are of one family and have one TTL. Returns false to fall
 * back to the slow path. */
static bool fast_add_target(struct fast *f, const struct fast_question *question,
                            const struct engine_query *query, struct slice wire,
                            unsigned written_at)
{
    struct fast_target target;
    struct addresses v4, v6;
    if (!fast_target_find(&f->zones, question, wire, &target)) {
        return false;
    }
    unsigned owner_at =
        target.shared_at < 0 ? written_at : f->reply.name_at + (unsigned)target.shared_at;
    enum view_part part = target_part(f, question, wire);
    if (!target.node || part == VIEW_NONE) {
        return true;
    }
    if (part != VIEW_WHOLE || has_near_records(f, query, wire)) {
        return false;
    }
    const struct store_ready *ready = store_node_ready(target.node);
    if (!get_addresses(f, target.node, 0, &v4) || !get_addresses(f, target.node, 1, &v6) ||
        (v4.count > 0 && v6.count > 0) || (ready && !ready->is_level)) {
        return false;
    }
    const struct addresses *a = v4.count ? &v4 : &v6;
    f->reply.additionals = (uint16_t)(f->reply.additionals + a->count);
    return put_addresses(f, a, owner_at) == a->count;
}

struct targets {
    unsigned count;
    uint32_t ttl_s;
    uint32_t weight_sum;
    const struct store_record *const *records;
};

static bool get_targets(const struct fast *f, const struct store_node *node,
                        const struct store_record **single, struct targets *ret)
{
    const struct store_ready *ready = store_node_ready(node);
    *single = store_node_single(node);
    if (*single) {
        *ret = (struct targets){1, (*single)->ttl_s, store_record_weight(*single), single};
        return (*single)->host == STORE_HOST_NAME;
    }
    if (!ready || ready->kind != STORE_READY_TARGETS) {
        return false;
    }
    unsigned count = ready->count[0];
    *ret = (struct targets){count, fast_level(f, count, ready->ttl_s[0]), ready->weight_sum,
                            ready->records};
    return true;
}

/* Leaves only the targets that are near, if there are any. */
static NOINLINE void keep_near_targets(struct fast *f, const struct fast_question *question,
                                       const struct engine_query *query, struct targets *targets)
{
    const struct near near = find_near(f, question, query);
    unsigned near_count = 0;
    uint32_t ttl_s = UINT32_MAX, weight_sum = 0;
    if (!near.service) {
        return;
    }
    const struct store_node *node = near_node(&near, f->view.store);
    for (unsigned i = 0; i < targets->count; i++) {
        const struct store_record *record = targets->records[i];
        if (near_has_target(&near, node, store_record_host_wire(record))) {
            f->near_records[near_count++] = record;
            ttl_s = record->ttl_s < ttl_s ? record->ttl_s : ttl_s;
            weight_sum += store_record_weight(record);
        }
    }
    if (near_count > 0 && near_count < targets->count) {
        *targets = (struct targets){near_count, fast_level(f, near_count, ttl_s), weight_sum,
                                    f->near_records};
    }
}

/* Writes the SRV record. Returns the offset of the target's name; 0: it does not fit. */
static unsigned put_target(struct fast *f, const struct store_record *r, const struct targets *all)
{
    struct slice target = store_record_host_wire(r);
    uint8_t *data =
        fast_reply_record(&f->reply, f->reply.name_at, DNS_TYPE_SRV, all->ttl_s, 6 + target.len);
    if (!data) {
        return 0;
    }
    fast_put16(data, r->priority);
    fast_put16(data + 2, store_record_share(r, all->weight_sum));
    fast_put16(data + 4, r->port);
    memcpy(data + 6, target.ptr, target.len);
    return (unsigned)(data + 6 - f->reply.bytes);
}

static bool answer_targets(struct fast *f, const struct fast_question *question,
                           const struct engine_query *query)
{
    unsigned written_at[STORE_READY_MAX];
    const struct store_record *single;
    struct targets targets;
    if (!question->query->is_lower || !get_targets(f, question->scan.node, &single, &targets)) {
        return false;
    }
    const unsigned all = targets.count;
    if (all > 1 && query->view.zone) {
        keep_near_targets(f, question, query, &targets);
    }
    for (unsigned i = 0; i < targets.count; i++) {
        written_at[i] = put_target(f, targets.records[i], &targets);
        if (written_at[i] == 0) {
            return false;
        }
    }
    for (unsigned i = 0; i < targets.count; i++) {
        struct slice target = store_record_host_wire(targets.records[i]);
        if (!fast_add_target(f, question, query, target, written_at[i])) {
            return false;
        }
    }
    if (targets.count < all) {
        count_near(f);
    }
    f->reply.answers = (uint16_t)targets.count;
    return fast_end(f, question->query, DNS_RCODE_NOERROR, targets.ttl_s);
}

/* ---- Questions ---- */

/* Gets the question's node, as the client sees it. Returns false when the slow path decides. */
static inline bool get_node(const struct fast *f, const struct fast_question *question,
                            const struct engine_query *query, const struct store_node **ret_node)
{
    *ret_node = question->scan.node;
    if (!f->view.visibility) {
        return true;
    }
    switch (fast_name_part(&f->zones, question->zone, question->query, &query->view)) {
    case VIEW_NONE:
        *ret_node = NULL;
        return true;
    case VIEW_WHOLE:
        return true;
    case VIEW_SPACES:
    case VIEW_SOME:
        break;
    }
    return false;
}

/* Returns the action for a name in a zone; PLAIN_NOT: the slow path decides. Never PLAIN_IF_ALIAS.
 */
static inline enum plain_action find_action(const struct fast *f,
                                            const struct fast_question *question,
                                            const struct engine_query *query)
{
    const struct store_node *node;
    struct addresses ignored;
    if (!get_node(f, question, query, &node)) {
        return PLAIN_NOT;
    }
    enum plain_action action =
        fast_name_action(&f->zones, question->zone, question->query, question->kind, node);
    if (action != PLAIN_IF_ALIAS) {
        return action;
    }
    /* The name's records may be host names. */
    return get_addresses(f, node, 0, &ignored) ? PLAIN_NO_DATA : PLAIN_NOT;
}

/* Returns whether a name could share a suffix with a reverse name, whatever the case of either. */
static bool may_end_like_reverse(struct slice name)
{
    static const char arpa[] = "\4arpa"; /* with the root label */
    return name.len >= sizeof(arpa) &&
           rr_same_name(slice_of(name.ptr + name.len - sizeof(arpa), sizeof(arpa)),
                        slice_of(arpa, sizeof(arpa)));
}

/* Answers a reverse name that has a key. */
static bool answer_pointer(struct fast *f, const struct fast_question *question)
{
    const struct store_node *node = f->view.visibility ? NULL : question->scan.node;
    const struct store_record *record = node ? store_node_record(node) : NULL;
    struct slice target = record ? store_record_host_wire(record) : slice_of(NULL, 0);
    if (target.len == 0 || record->lens[RECORD_RR] > 0 || may_end_like_reverse(target)) {
        return false;
    }
    uint32_t ttl_s = record->ttl_s ? record->ttl_s : f->config->settings.ttl_s;
    uint8_t *data = fast_reply_record(&f->reply, f->reply.name_at, DNS_TYPE_PTR, ttl_s, target.len);
    if (!data) {
        return false;
    }
    memcpy(data, target.ptr, target.len);
    f->reply.answers = 1;
    return fast_end(f, question->query, DNS_RCODE_NOERROR, ttl_s);
}

/* Returns whether a name of a stub zone is hidden from the client, since the zone is below a name
 * that is. */
static bool is_hidden_stub(const struct fast *f, const struct fast_question *question)
{
    return f->view.visibility && view_part_of(&f->view, &question->key.name) == VIEW_NONE;
}

/* Answers an external name, if the response cache has it. */
static NOINLINE bool fast_answer_cached(struct fast *f, const struct fast_question *question,
                                        const struct engine_query *query, struct response *response,
                                        struct engine_deferral *ret_deferral)
{
    return cache_access_allows(f->cached, query->client) &&
           cache_access_reply(f->cached, query, &question->key, response, ret_deferral);
}

/* Answers for -no-aaaa, as answer_deny_external would. */
static NOINLINE bool answer_no_aaaa(struct fast *f, const struct fast_question *question,
                                    const struct engine_query *query, struct response *response)
{
    const struct fast_query *q = question->query;
    fast_reply_begin(&f->reply, q, query, f->config->settings.max_udp_size, response);
    f->response = response;
    if (!fast_put_soa(f, q, &f->zones.root_soa, answer_soa_serial(NULL, query->now_s))) {
        return false;
    }
    (void)fast_end(f, q, DNS_RCODE_NOERROR, SYNTHESIS_DENIAL_TTL_S); /* true */
    response->bytes[2] &= (uint8_t) ~(DNS_FLAG_AA >> 8);
    response->bytes[3] |= (uint8_t)(q->wire[3] & DNS_FLAG_CD);
    counter_add(&f->cached->counts->no_aaaa, 1);
    return true;
}

/* Gets the addresses that the only record of an override leads to in our domains. Returns false
 * when the slow path decides. */
static bool get_led_addresses(const struct fast *f, const struct fast_question *question,
                              const struct engine_query *query, struct addresses *ret)
{
    const struct store_node *owner = question->scan.node, *node;
    const struct store_record *record =
        store_visible_count(owner) == 1 ? store_node_record(owner) : NULL;
    record = record ? record : store_node_single(owner);
    if (!record || f->view.visibility || record->host != STORE_HOST_NAME ||
        record->lens[RECORD_RR] > 0 || has_near_records(f, query, store_record_host_wire(record))) {
        return false;
    }
    node = fast_target_find_alone(&f->zones, store_record_host_wire(record));
    if (!node || !get_addresses(f, node, query_family(question), ret)) {
        return false;
    }
    const uint32_t ttl_s = record->ttl_s ? record->ttl_s : f->config->settings.ttl_s;
    ret->ttl_s = ttl_s < ret->ttl_s ? ttl_s : ret->ttl_s;
    return true;
}

/* Answers from an override whose addresses, or those that it leads to, are prepared. Returns false
 * when the slow path decides. */
static NOINLINE bool answer_override_addresses(struct fast *f, const struct fast_question *question,
                                               const struct engine_query *query,
                                               struct response *response)
{
    const struct fast_query *q = question->query;
    struct addresses a;
    if ((!get_addresses(f, question->scan.node, query_family(question), &a) &&
         !get_led_addresses(f, question, query, &a)) ||
        a.count == 0) {
        return false;
    }
    fast_reply_begin(&f->reply, q, query, f->config->settings.max_udp_size, response);
    f->response = response;
    f->random = query->random;
    const unsigned count = put_addresses(f, &a, f->reply.name_at);
    f->reply.answers = (uint16_t)count;
    f->reply.is_cut = count < a.count;
    (void)fast_end(f, q, DNS_RCODE_NOERROR, a.ttl_s);
    response->bytes[2] &= (uint8_t) ~(DNS_FLAG_AA >> 8);
    response->bytes[3] |= (uint8_t)(q->wire[3] & DNS_FLAG_CD);
    return true;
}

/* ---- Answers with signatures ---- */

static void build_addresses(struct fast *f, const struct fast_question *question,
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

/* Builds the plan of an answer. Returns false when the slow path decides. */
static NOINLINE bool build_in_zone(struct fast *f, const struct fast_question *question,
                                   const struct engine_query *query, const struct question *q,
                                   struct answer *answer)
{
    const struct engine_zone *zone = question->zone->zone;
    struct addresses a = {.count = 0};
    if (zone->is_incomplete) {
        return false;
    }
    switch (find_action(f, question, query)) {
    case PLAIN_NOT:
    case PLAIN_IF_ALIAS:
    case PLAIN_TARGETS:
        return false;
    case PLAIN_NO_NAME:
        answer_start_denial(answer, zone, DNS_RCODE_NXDOMAIN, query->now_s);
        return true;
    case PLAIN_NO_DATA:
        break;
    case PLAIN_ADDRESSES:
        if (!get_addresses(f, question->scan.node, query_family(question), &a)) {
            return false;
        }
        break;
    }
    if (a.count == 0) {
        answer_start_denial(answer, zone, DNS_RCODE_NOERROR, query->now_s);
    } else {
        build_addresses(f, question, &a, rr_name(&q->name), answer_start_plan(answer));
    }
    return true;
}

enum fast_outcome fast_prepare(struct fast *fast, const struct store *store,
                               const struct engine_query *query, struct answer *answer,
                               struct response *response, struct engine_deferral *ret_deferral)
{
    struct fast *f = fast;
    assert(query->parsed->is_ordinary);
    f->view = view_of(f->config, store, &query->view, NULL);
    const struct fast_question *question = find_question(f, store, query);
    f->random = query->random;
    if (question->source == FAST_CACHE) {
        return !is_hidden_stub(f, question) &&
                       fast_answer_cached(f, question, query, response, ret_deferral)
                   ? FAST_ANSWERED
                   : FAST_LEFT;
    }
    return question->source == FAST_STORE && question->zone &&
                   build_in_zone(f, question, query, query_question(query->parsed), answer)
               ? FAST_BUILT
               : FAST_LEFT;
}

bool fast_answer(struct fast *fast, const struct store *store, const struct engine_query *query,
                 struct response *response, struct engine_deferral *ret_deferral)
{
    struct fast *f = fast;
    f->view = view_of(f->config, store, &query->view, NULL);
    const struct fast_question *question = find_question(f, store, query);
    if (question->source != FAST_STORE) {
        switch (question->source) {
        case FAST_CACHE:
            return !is_hidden_stub(f, question) &&
                   fast_answer_cached(f, question, query, response, ret_deferral);
        case FAST_NO_AAAA:
            return answer_no_aaaa(f, question, query, response);
        case FAST_OVERRIDE:
            return answer_override_addresses(f, question, query, response);
        case FAST_NOWHERE:
        case FAST_STORE:
            return false;
        }
    }
    fast_reply_begin(&f->reply, question->query, query, f->config->settings.max_udp_size, response);
    f->response = response;
    f->random = query->random;
    switch (question->zone ? find_action(f, question, query) : PLAIN_NOT) {
    case PLAIN_NOT:
    case PLAIN_IF_ALIAS:
        return !question->zone && answer_pointer(f, question);
    case PLAIN_NO_NAME:
        return fast_answer_negative(f, question, query, DNS_RCODE_NXDOMAIN);
    case PLAIN_NO_DATA:
        return fast_answer_negative(f, question, query, DNS_RCODE_NOERROR);
    case PLAIN_ADDRESSES:
        return answer_addresses(f, question, query);
    case PLAIN_TARGETS:
        return answer_targets(f, question, query);
    }
    return false;
}
