#include "skydns/records/store_ready.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "skydns/records/rr.h"
#include "skydns/records/store_node_internal.h"

/* The visible records below a node, in key order. */
struct collected {
    size_t count;
    struct store_record *records[STORE_READY_MAX];
};

struct children {
    size_t count;
    const struct store_node *nodes[STORE_READY_MAX];
};

static bool add_child(void *data, struct store_node *child)
{
    struct children *children = data;
    if (!store_node_is_hidden(child) && child->visible > 0) {
        children->nodes[children->count++] = child; /* at most as many as visible records */
    }
    return true;
}

static int store_ready_compare_labels(const void *a, const void *b)
{
    return slice_compare(store_node_label_slice(*(const struct store_node *const *)a),
                         store_node_label_slice(*(const struct store_node *const *)b));
}

/* Collects the records; recurses as deep as a name has labels. The node's `visible` bounds the
 * result. */
static void store_ready_collect(const struct store_node *node, struct collected *found)
{
    struct children children = {.count = 0};
    struct store_record *record = store_node_own_record(node);
    if (record) {
        found->records[found->count++] = record;
    }
    (void)label_map_each(node->children, add_child, &children); /* never stops early */
    if (children.count > 1) {
        qsort(children.nodes, children.count, sizeof(const struct store_node *),
              store_ready_compare_labels);
    }
    for (size_t i = 0; i < children.count; i++) {
        store_ready_collect(children.nodes[i], found);
    }
}

static bool same_host(const struct store_record *a, const struct store_record *b)
{
    struct slice host_a = slice_of(a->bytes, a->host_len), host_b = slice_of(b->bytes, b->host_len);
    return a->host == STORE_HOST_NAME ? rr_same_name(host_a, host_b) : slice_equal(host_a, host_b);
}

static bool is_plain_record(const struct store_record *record, enum store_host host)
{
    return record->host == host && record->lens[RECORD_GROUP] == 0 &&
           record->lens[RECORD_RR] == 0 && record->ttl_s != 0;
}

/* Returns whether every record is complete by itself, and no two have the same host. */
static bool store_ready_is_plain(const struct collected *found, enum store_host host)
{
    for (size_t i = 0; i < found->count; i++) {
        const struct store_record *r = found->records[i];
        if (!is_plain_record(r, host)) {
            return false;
        }
        for (size_t k = 0; k < i; k++) {
            if (same_host(r, found->records[k])) {
                return false;
            }
        }
    }
    return true;
}

static bool have_one_ttl(const struct collected *found)
{
    for (size_t i = 1; i < found->count; i++) {
        if (found->records[i]->ttl_s != found->records[0]->ttl_s) {
            return false;
        }
    }
    return true;
}

/* Returns whether b ends with a: then a message would write a as a pointer into b. */
static bool is_end_of(const struct store_record *a, const struct store_record *b)
{
    return a->host_len < b->host_len &&
           memcmp(a->bytes, b->bytes + b->host_len - a->host_len, a->host_len) == 0;
}

static bool shares_end(const struct collected *found)
{
    for (size_t i = 0; i < found->count; i++) {
        for (size_t k = 0; k < found->count; k++) {
            if (is_end_of(found->records[i], found->records[k])) {
                return true;
            }
        }
    }
    return false;
}

static uint32_t store_ready_smaller(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

/* Returns zeroed memory with room for this many bytes of addresses or records. */
static struct store_ready *ready_alloc(struct store_pool *pool, size_t bytes)
{
    size_t size = offsetof(struct store_ready, bytes) + bytes;
    size = size > sizeof(struct store_ready) ? size : sizeof(struct store_ready);
    return memset(store_pool_alloc(pool, size), 0, size);
}

static struct store_ready *make_addresses(struct store_pool *pool, const struct collected *found)
{
    size_t bytes = 0;
    for (size_t i = 0; i < found->count; i++) {
        bytes += found->records[i]->host_len;
    }
    struct store_ready *ready = ready_alloc(pool, bytes);
    uint8_t *at = ready->bytes;
    ready->kind = STORE_READY_ADDRESSES;
    ready->is_level = have_one_ttl(found);
    ready->ttl_s[0] = ready->ttl_s[1] = UINT32_MAX;
    for (unsigned family = 0; family < 2; family++) {
        for (size_t i = 0; i < found->count; i++) {
            const struct store_record *r = found->records[i];
            if (r->host_len == (family == 0 ? 4 : 16)) {
                memcpy(at, r->bytes, r->host_len);
                at += r->host_len;
                ready->count[family]++;
                ready->ttl_s[family] = store_ready_smaller(ready->ttl_s[family], r->ttl_s);
            }
        }
    }
    return ready;
}

/* Returns whether the priority and the name are used as written. */
static bool is_plain_target(const struct store_record *record)
{
    return record->priority != 0 && record->targetstrip == 0;
}

static struct store_ready *make_targets(struct store_pool *pool, const struct collected *found)
{
    const struct store_record *first = found->records[0];
    uint32_t weights = 0, ttl_s = UINT32_MAX;
    if (shares_end(found)) {
        return NULL;
    }
    for (size_t i = 0; i < found->count; i++) {
        const struct store_record *r = found->records[i];
        if (!is_plain_target(r) || r->priority != first->priority) {
            return NULL;
        }
        weights += store_record_weight(r);
        ttl_s = store_ready_smaller(ttl_s, r->ttl_s);
    }
    struct store_ready *ready = ready_alloc(pool, found->count * sizeof(found->records[0]));
    ready->kind = STORE_READY_TARGETS;
    ready->count[0] = (uint8_t)found->count;
    ready->ttl_s[0] = ttl_s;
    ready->weight_sum = weights;
    memcpy(ready->records, found->records, found->count * sizeof(found->records[0]));
    return ready;
}

void store_ready_make_single(struct store_node *node, struct store_record *only)
{
    if (is_plain_record(only, STORE_HOST_IP) ||
        (is_plain_record(only, STORE_HOST_NAME) && is_plain_target(only))) {
        node->record = only;
        node->has = STORE_NODE_SINGLE;
    }
}

static struct store_ready *make_of_several(struct store_pool *pool, const struct collected *found)
{
    if (store_ready_is_plain(found, STORE_HOST_IP)) {
        return make_addresses(pool, found);
    }
    return store_ready_is_plain(found, STORE_HOST_NAME) ? make_targets(pool, found) : NULL;
}

void store_ready_make(struct store_pool *pool, struct store_node *node)
{
    struct collected found = {.count = 0};
    struct store_ready *ready;
    if (node->visible == 0 || node->visible > STORE_READY_MAX) {
        return;
    }
    store_ready_collect(node, &found);
    if (found.count > 1 && (ready = make_of_several(pool, &found))) {
        node->ready = ready;
        node->has = STORE_NODE_READY;
    } else if (found.count == 1) {
        store_ready_make_single(node, found.records[0]);
    }
}
