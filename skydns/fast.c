#include "skydns/fast.h"

#include <stdlib.h>
#include <string.h>

#include "common/dns.h"
#include "common/seeded_hash.h"
#include "common/xalloc.h"
#include "skydns/answer.h"
#include "skydns/fast_query.h"
#include "skydns/fast_reply.h"
#include "skydns/rng.h"
#include "skydns/soa_template.h"
#include "skydns/store_ahead.h"
#include "skydns/store_ready.h"

/* Types that browsers ask for and nobody has; RFC 9460. */
enum { TYPE_SVCB = 64, TYPE_HTTPS = 65 };

/* What of a domain the short way needs at once. */
struct fast_zone {
    const struct engine_zone *zone;
    struct soa_template soa;
    struct slice rname_label;      /* of the hostmaster's name, above the domain; may be empty */
    const struct store_node *node; /* of the domain in the store of `serial`; may be NULL */
};

struct fast {
    const struct engine_config *config;
    uint64_t serial; /* of the store whose nodes the zones know; 0: none */
    size_t zone_count;
    struct fast_zone zones[ENGINE_ZONES_MAX];
    struct fast_query query;

    struct fast_reply reply; /* being made */
    uint32_t random;
};

/* ---- Configuration ---- */

static struct slice label_above(const struct dname *name, const struct dname *domain)
{
    struct dname_labels labels;
    dname_labels(name, &labels);
    unsigned below = dname_label_count(domain);
    if (labels.count <= below || !dname_is_within(name, domain)) {
        return slice_of(NULL, 0);
    }
    return dname_label(name, labels.offsets[labels.count - below - 1]);
}

void fast_configure(struct fast *fast, const struct engine_config *config, struct encoder *encoder)
{
    fast->config = config;
    fast->serial = 0;
    fast->zone_count = config->zone_count;
    for (size_t i = 0; i < config->zone_count; i++) {
        struct fast_zone *z = &fast->zones[i];
        z->zone = &config->zones[i];
        z->rname_label = label_above(&z->zone->hostmaster, &z->zone->domain);
        soa_template_make(&z->soa, config, z->zone, encoder);
    }
}

struct fast *fast_new(const struct engine_config *config, struct encoder *encoder)
{
    struct fast *fast = xcalloc(1, sizeof(*fast));
    fast_configure(fast, config, encoder);
    return fast;
}

void fast_free(struct fast *fast)
{
    free(fast);
}

/* ---- Looking up ---- */

/* The nodes of the domains, found anew for each version. */
static void use_store(struct fast *f, const struct store *store)
{
    if (f->serial != store_serial(store)) {
        f->serial = store_serial(store);
        for (size_t i = 0; i < f->zone_count; i++) {
            f->zones[i].node = store_find(store, &f->zones[i].zone->domain, NULL);
        }
    }
}

/* The domain that a name in lower case is in, as engine_config_zone finds it. */
static const struct fast_zone *find_zone(const struct fast *f, const struct fast_query *q)
{
    for (size_t i = 0; i < f->zone_count; i++) {
        const struct engine_zone *zone = f->zones[i].zone;
        if (q->label_count >= zone->labels && q->name_len >= zone->domain.len &&
            (q->label_count == zone->labels ||
             q->offsets[q->label_count - zone->labels] == q->name_len - zone->domain.len) &&
            memcmp(q->name + q->name_len - zone->domain.len, zone->domain.wire, zone->domain.len) ==
                0) {
            return &f->zones[i];
        }
    }
    return NULL;
}

static bool is_label(struct slice label, const char *text, size_t len)
{
    return label.len == len && memcmp(label.ptr, text, len) == 0;
}

static bool has_wildcard(const struct fast_query *q, unsigned labels)
{
    for (unsigned i = 0; i < labels; i++) {
        struct slice label = fast_query_label(q, i);
        if (is_label(label, "*", 1) || is_label(label, "any", 3)) {
            return true;
        }
    }
    return false;
}

/* Names below the domain that are more than what the store has, or that share an end with the names
 * in the SOA record. */
static bool is_special(const struct fast *f, const struct fast_zone *z, struct slice top)
{
    return is_label(top, "dns", 3) || is_label(top, "dns-version", 11) ||
           slice_equal(top, z->rname_label) ||
           (f->config->pods != ENGINE_PODS_VERIFIED && is_label(top, "pod", 3));
}

/* With -schema=kubernetes: names that exist and mean there what they mean without it. */
static bool is_same_in_schema(const struct fast *f, const struct fast_query *q, unsigned labels)
{
    if (f->config->schema == ENGINE_SCHEMA_SKYDNS || q->type == TYPE_SVCB ||
        q->type == TYPE_HTTPS) {
        return true;
    }
    bool is_address = q->type == DNS_TYPE_A || q->type == DNS_TYPE_AAAA;
    bool is_port = labels == 5 && fast_query_label(q, 1).ptr[0] == '_';
    struct slice top = fast_query_label(q, labels - 1);
    if (labels < 3 || !(is_label(top, "svc", 3) || is_label(top, "pod", 3))) {
        return false;
    }
    if (labels > 3 && fast_query_label(q, labels - 4).ptr[0] == '_') {
        return is_port && q->type == DNS_TYPE_SRV;
    }
    return is_address;
}

/* Below the domain. False: the long way has to look. *ret_node NULL: there is no such name. */
static bool find_name(const struct fast *f, const struct fast_zone *z, const struct fast_query *q,
                      const struct store_node **ret_node)
{
    unsigned labels = (unsigned)q->label_count - z->zone->labels;
    if (labels == 0 || has_wildcard(q, labels) ||
        is_special(f, z, fast_query_label(q, labels - 1))) {
        return false;
    }
    const struct store_node *node = z->node;
    for (unsigned i = labels; i > 0 && node; i--) {
        node = store_child(node, fast_query_label(q, i - 1));
    }
    *ret_node = node;
    return !node || is_same_in_schema(f, q, labels);
}

/* ---- Addresses ---- */

struct addresses {
    const uint8_t *bytes;
    unsigned count;
    unsigned size; /* of one */
    uint32_t ttl_s;
};

/* The addresses of one family at a node. False: the long way has to look. */
static bool get_addresses(const struct fast *f, const struct store_node *node, unsigned family,
                          struct addresses *ret)
{
    const struct store_record *record = store_node_record(node);
    const struct store_ready *ready = store_node_ready(node);
    *ret = (struct addresses){.size = family == 0 ? 4 : 16};
    if (record) {
        if (record->host != STORE_HOST_IP || store_visible_count(node) != 1) {
            return false;
        }
        ret->count = record->host_len == ret->size;
        ret->bytes = record->bytes;
        ret->ttl_s = record->ttl_s ? record->ttl_s : f->config->ttl_s;
        return true;
    }
    if (!ready) {
        return store_visible_count(node) == 0;
    }
    ret->count = ready->count[family];
    ret->bytes = ready->bytes + (family == 0 ? 0 : 4 * ready->count[0]);
    ret->ttl_s = ready->ttl_s[family];
    return ready->kind == STORE_READY_ADDRESSES;
}

/* False: they do not fit. */
static bool put_addresses(struct fast *f, const struct addresses *a, unsigned owner_at)
{
    uint8_t order[STORE_READY_MAX];
    for (unsigned i = 0; i < a->count; i++) {
        unsigned other = f->config->round_robin && i > 0 ? shuffle_random(&f->random) % (i + 1) : i;
        order[i] = order[other];
        order[other] = (uint8_t)i;
    }
    for (unsigned i = 0; i < a->count; i++) {
        unsigned type = a->size == 4 ? DNS_TYPE_A : DNS_TYPE_AAAA;
        uint8_t *data = fast_reply_record(&f->reply, owner_at, type, a->ttl_s, a->size);
        if (!data) {
            return false;
        }
        memcpy(data, a->bytes + (size_t)order[i] * a->size, a->size);
    }
    return true;
}

static uint32_t level(const struct fast *f, unsigned count, uint32_t ttl_s)
{
    return count > 1 && f->config->ttl_s < ttl_s ? f->config->ttl_s : ttl_s;
}

/* ---- Answers ---- */

static size_t end(struct fast *f, enum dns_rcode rcode)
{
    return fast_reply_end(&f->reply, &f->query, f->config->max_udp_size, rcode);
}

/* There is nothing, or no such name. */
static size_t deny(struct fast *f, const struct fast_zone *z, const struct engine_query *query,
                   enum dns_rcode rcode)
{
    if (!f->query.is_lower || f->reply.len + z->soa.len > f->reply.limit) {
        return 0;
    }
    f->reply.len += soa_template_write(&z->soa, f->query.name_len, answer_soa_serial(query->now_s),
                                       f->reply.bytes + f->reply.len);
    f->reply.authorities = 1;
    return end(f, rcode);
}

static size_t answer_addresses(struct fast *f, const struct fast_zone *z,
                               const struct engine_query *query, const struct store_node *node)
{
    struct addresses addresses;
    if (!get_addresses(f, node, f->query.type == DNS_TYPE_A ? 0 : 1, &addresses)) {
        return 0;
    }
    if (addresses.count == 0) {
        return deny(f, z, query, DNS_RCODE_NOERROR);
    }
    addresses.ttl_s = level(f, addresses.count, addresses.ttl_s);
    f->reply.answers = (uint16_t)addresses.count;
    return put_addresses(f, &addresses, DNS_HEADER_SIZE) ? end(f, DNS_RCODE_NOERROR) : 0;
}

/* Where a target that was written at `written_at` is pointed to: the question's name may end with
 * it. */
static unsigned target_at(const struct fast_query *q, struct slice target, unsigned written_at)
{
    for (unsigned i = 0; i < q->label_count; i++) {
        if ((size_t)q->name_len - q->offsets[i] == target.len) {
            bool is_end = memcmp(q->name + q->offsets[i], target.ptr, target.len) == 0;
            return is_end ? DNS_HEADER_SIZE + (unsigned)q->offsets[i] : written_at;
        }
    }
    return written_at;
}

/* The target's name as a query has it: in lower case, cut into labels. */
static bool read_target(struct slice target, struct fast_query *q)
{
    unsigned pos = 0;
    q->label_count = 0;
    q->type = DNS_TYPE_A;
    for (; pos < target.len && target.ptr[pos] != 0; pos += (uint8_t)target.ptr[pos] + 1u) {
        q->offsets[q->label_count++] = (uint8_t)pos;
    }
    for (size_t i = 0; i < target.len; i++) {
        uint8_t c = (uint8_t)target.ptr[i];
        if (c == '.' || (c >= 'A' && c <= 'Z')) {
            return false;
        }
        q->name[i] = c;
    }
    q->name_len = (uint8_t)target.len;
    return true;
}

/* The addresses of a target, of one family, all with one TTL. False: the long way has to look, or
 * they do not fit. */
static bool add_target(struct fast *f, struct slice target, unsigned written_at)
{
    struct fast_query name;
    const struct store_node *node;
    struct addresses v4, v6;
    const struct fast_zone *z = read_target(target, &name) ? find_zone(f, &name) : NULL;
    if (!z || !find_name(f, z, &name, &node)) {
        return false;
    }
    if (!node) {
        return true;
    }
    const struct store_ready *ready = store_node_ready(node);
    if (!get_addresses(f, node, 0, &v4) || !get_addresses(f, node, 1, &v6) ||
        (v4.count > 0 && v6.count > 0) || (ready && !ready->is_level)) {
        return false;
    }
    unsigned owner_at = target_at(&f->query, target, written_at);
    f->reply.additionals = (uint16_t)(f->reply.additionals + v4.count + v6.count);
    return put_addresses(f, v4.count ? &v4 : &v6, owner_at);
}

static size_t answer_targets(struct fast *f, const struct store_node *node)
{
    uint16_t written_at[STORE_READY_MAX];
    const struct store_ready *ready = store_node_ready(node);
    if (!f->query.is_lower || store_node_record(node) || !ready ||
        ready->kind != STORE_READY_TARGETS) {
        return 0;
    }
    unsigned count = ready->count[0];
    uint32_t ttl_s = level(f, count, ready->ttl_s[0]);
    for (unsigned i = 0; i < count; i++) {
        const struct store_record *r = ready->records[i];
        struct slice target = store_record_host_wire(r);
        uint8_t *data =
            fast_reply_record(&f->reply, DNS_HEADER_SIZE, DNS_TYPE_SRV, ttl_s, 6 + target.len);
        if (!data) {
            return 0;
        }
        fast_put16(data, r->priority);
        fast_put16(data + 2, 100 * store_record_weight(r) / ready->weight_sum);
        fast_put16(data + 4, r->port);
        memcpy(data + 6, target.ptr, target.len);
        written_at[i] = (uint16_t)(data + 6 - f->reply.bytes);
    }
    for (unsigned i = 0; i < count; i++) {
        if (!add_target(f, store_record_host_wire(ready->records[i]), written_at[i])) {
            return 0;
        }
    }
    f->reply.answers = (uint16_t)count;
    return end(f, DNS_RCODE_NOERROR);
}

static size_t answer_in_zone(struct fast *f, const struct fast_zone *z,
                             const struct engine_query *query)
{
    const struct store_node *node;
    if (!find_name(f, z, &f->query, &node)) {
        return 0;
    }
    if (!node) {
        return deny(f, z, query, DNS_RCODE_NXDOMAIN);
    }
    switch (f->query.type) {
    case DNS_TYPE_A:
    case DNS_TYPE_AAAA:
        return answer_addresses(f, z, query, node);
    case DNS_TYPE_SRV:
        return answer_targets(f, node);
    default:
        return deny(f, z, query, DNS_RCODE_NOERROR);
    }
}

/* A reverse name that a key says. */
static size_t answer_pointer(struct fast *f, const struct store *store)
{
    static const char arpa[] = "\4arpa";
    struct fast_query *q = &f->query;
    struct dname name = {.len = q->name_len};
    if (q->name_len < sizeof(arpa) ||
        memcmp(q->name + q->name_len - sizeof(arpa), arpa, sizeof(arpa)) != 0) {
        return 0;
    }
    memcpy(name.wire, q->name, q->name_len);
    const struct store_node *node = store_find(store, &name, NULL);
    const struct store_record *record = node ? store_node_record(node) : NULL;
    struct slice target = record ? store_record_host_wire(record) : slice_of(NULL, 0);
    if (target.len < sizeof(arpa) ||
        memcmp(target.ptr + target.len - sizeof(arpa), arpa, sizeof(arpa)) == 0) {
        return 0; /* none, or one that could share its end with the question */
    }
    uint32_t ttl_s = record->ttl_s ? record->ttl_s : f->config->ttl_s;
    uint8_t *data = fast_reply_record(&f->reply, DNS_HEADER_SIZE, DNS_TYPE_PTR, ttl_s, target.len);
    if (!data) {
        return 0;
    }
    memcpy(data, target.ptr, target.len);
    f->reply.answers = 1;
    return end(f, DNS_RCODE_NOERROR);
}

static void begin_reply(struct fast *f, const struct engine_query *query, uint8_t *reply)
{
    fast_reply_begin(&f->reply, &f->query, query, f->config->max_udp_size, reply);
    f->random = query->random;
}

size_t fast_answer(struct fast *fast, const struct store *store, const struct engine_query *query,
                   uint8_t *reply)
{
    struct fast *f = fast;
    if (!fast_query_read(query->wire, query->len, &f->query)) {
        return 0;
    }
    switch (f->query.type) {
    case DNS_TYPE_A:
    case DNS_TYPE_AAAA:
    case DNS_TYPE_SRV:
    case TYPE_SVCB:
    case TYPE_HTTPS:
        break;
    case DNS_TYPE_PTR:
        begin_reply(f, query, reply);
        return answer_pointer(f, store);
    default:
        return 0;
    }
    use_store(f, store);
    const struct fast_zone *zone = find_zone(f, &f->query);
    if (!zone || !zone->node) {
        return 0;
    }
    begin_reply(f, query, reply);
    return answer_in_zone(f, zone, query);
}

/* ---- Looking ahead ---- */

static bool begin_ahead(struct fast *f, struct slice query, struct store_ahead *ahead)
{
    struct fast_query *q = &f->query;
    const struct fast_zone *zone;
    if (!fast_query_read((const uint8_t *)query.ptr, query.len, q) || !(zone = find_zone(f, q)) ||
        !zone->node) {
        return false;
    }
    unsigned labels = q->label_count - zone->zone->labels;
    ahead->count = labels < STORE_AHEAD_LABELS_MAX ? labels : STORE_AHEAD_LABELS_MAX;
    for (unsigned i = 0; i < ahead->count; i++) {
        ahead->hashes[i] = seeded_hash(fast_query_label(q, labels - 1 - i));
    }
    store_ahead_begin(ahead, zone->node);
    return true;
}

void fast_look_ahead(struct fast *fast, const struct store *store, const struct slice *queries,
                     size_t count)
{
    struct store_ahead walks[ENGINE_AHEAD_MAX];
    size_t going = 0;
    use_store(fast, store);
    for (size_t i = 0; i < count && i < ENGINE_AHEAD_MAX; i++) {
        going += begin_ahead(fast, queries[i], &walks[going]);
    }
    while (going > 0) {
        for (size_t i = 0; i < going;) {
            if (store_ahead_step(&walks[i])) {
                i++;
            } else {
                walks[i] = walks[--going];
            }
        }
    }
}
