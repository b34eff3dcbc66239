/* Keeps the records of a lookup that are near the client (near.h). */
#include "skydns/answer/near.h"

#include <assert.h>

#include "skydns/answer/lookup_internal.h"

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
