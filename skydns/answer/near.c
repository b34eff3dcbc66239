#include "skydns/answer/near.h"

#include <assert.h>
#include <string.h>

#include "common/dns/dname.h"
#include "skydns/answer/lookup_internal.h"
#include "skydns/records/store_ready.h"

const struct topology_service *near_service(const struct topology *topology, struct slice name)
{
    enum { PROTOCOL_AND_PORT = 2 };
    for (int i = 0; i < PROTOCOL_AND_PORT && name.len > 2 && name.ptr[1] == '_'; i++) {
        const size_t label = (uint8_t)name.ptr[0] + (size_t)1;
        name = slice_of(name.ptr + label, name.len - label);
    }
    return topology_find(topology, name);
}

struct near near_find(const struct topology *topology, const struct client_name *zone,
                      struct slice name)
{
    const struct topology_service *service = near_service(topology, name);
    const uint8_t its_zone = service ? topology_service_zone(service, zone) : TOPOLOGY_NO_ZONE;
    /* In a zone without endpoints all are alike, those of no zone too. */
    return (struct near){.service = its_zone == TOPOLOGY_NO_ZONE ? NULL : service,
                         .zone = its_zone};
}

const struct store_node *near_node(const struct near *near, const struct store *store)
{
    const struct slice wire = topology_service_name(near->service);
    struct dname name = {.len = (uint8_t)wire.len};
    memcpy(name.wire, wire.ptr, wire.len);
    return store_find(store, &name);
}

static bool near_has_address(const struct near *near, const struct store_record *record)
{
    return record->host != STORE_HOST_IP || near_has(near, record->bytes, record->host_len);
}

/* Returns whether one of the prepared addresses is near. */
static bool near_has_ready(const struct near *near, const struct store_ready *ready)
{
    const uint8_t *at = ready->bytes;
    bool is_near = ready->kind != STORE_READY_ADDRESSES;
    for (unsigned i = 0; i < ready->count[0] && !is_near; i++, at += 4) {
        is_near = near_has(near, at, 4);
    }
    for (unsigned i = 0; i < ready->count[1] && !is_near; i++, at += 16) {
        is_near = near_has(near, at, 16);
    }
    return is_near;
}

/* Judges a name of one endpoint, or of a few that share it; more, or other records, count as near.
 */
static bool near_has_endpoint(const struct near *near, const struct store_node *node)
{
    const struct store_record *record = store_node_record(node);
    const struct store_ready *ready = store_node_ready(node);
    record = record && store_visible_count(node) == 1 ? record : store_node_single(node);
    return record ? near_has_address(near, record) : !ready || near_has_ready(near, ready);
}

bool near_has_target(const struct near *near, const struct store_node *node, struct slice target)
{
    const struct slice service = topology_service_name(near->service);
    const size_t own = target.len > 0 ? (uint8_t)target.ptr[0] + (size_t)1 : 0;
    if (!node || target.len != own + service.len ||
        memcmp(target.ptr + own, service.ptr, service.len) != 0) {
        return true;
    }
    const struct store_node *child = store_child(node, slice_of(target.ptr + 1, own - 1));
    return !child || near_has_endpoint(near, child);
}

enum near_kind near_judge(const struct near *near, const struct store_node *node,
                          const struct store_record *record, bool *ret_is_near)
{
    *ret_is_near = true;
    switch (record->host) {
    case STORE_HOST_IP:
        *ret_is_near = near_has(near, record->bytes, record->host_len);
        return record->host_len == 4 ? NEAR_V4 : NEAR_V6;
    case STORE_HOST_NAME:
        *ret_is_near = near_has_target(near, node, store_record_host_wire(record));
        return NEAR_TARGET;
    default:
        return NEAR_OTHER;
    }
}

size_t lookup_keep_near(struct lookup *lookup, const struct near *near, struct lookup_span *span)
{
    const struct store_record **records = lookup->records + span->first;
    bool has_near[NEAR_KINDS] = {false}, is_near;
    size_t left_count = 0, count = span->count;
    if (!near->service || count < 2) {
        return 0;
    }
    assert(span->first + count == lookup->count);
    const struct store_node *node = near_node(near, lookup->view->store);
    for (size_t i = 0; i < count; i++) {
        const enum near_kind kind = near_judge(near, node, records[i], &is_near);
        has_near[kind] |= is_near;
    }
    for (size_t i = 0; i < count; i++) {
        const enum near_kind kind = near_judge(near, node, records[i], &is_near);
        if (is_near || !has_near[kind]) {
            records[left_count++] = records[i];
        }
    }
    span->count = left_count;
    lookup->count = span->first + left_count;
    return count - left_count;
}
