#include "kube2sky/naming/desired.h"

#include <stdlib.h>

#include "common/base/xalloc.h"
#include "kube2sky/naming/run_sort_internal.h"

struct desired_item {
    uint32_t key_at;
    uint32_t key_len;
    uint32_t value_len; /* the value follows its key */
};

void desired_init(struct desired *desired)
{
    *desired = (struct desired){.bytes_max = DESIRED_BYTES_MAX};
    buf_init(&desired->bytes, DESIRED_BYTES_MAX);
}

void desired_fini(struct desired *desired)
{
    buf_fini(&desired->bytes);
    free(desired->items);
    *desired = (struct desired){.items = NULL};
}

void desired_clear(struct desired *desired)
{
    size_t bytes_max = desired->bytes_max;
    if (desired->bytes.cap > DESIRED_KEPT_BYTES) {
        desired_fini(desired);
        desired_init(desired);
    }
    buf_clear(&desired->bytes);
    desired->bytes_max = bytes_max;
    desired->is_beyond = false;
    desired->count = 0;
}

void desired_add(struct desired *desired, struct slice key, struct slice value)
{
    desired->is_beyond |= key.len + value.len > desired->bytes_max - desired->bytes.len;
    if (desired->is_beyond) {
        return;
    }
    desired->items =
        xgrow_array(desired->items, desired->count, &desired->cap, sizeof(struct desired_item));
    desired->items[desired->count++] = (struct desired_item){
        .key_at = (uint32_t)desired->bytes.len,
        .key_len = (uint32_t)key.len,
        .value_len = (uint32_t)value.len,
    };
    buf_append_slice(&desired->bytes, key);
    buf_append_slice(&desired->bytes, value);
}

static struct desired_record desired_record_of(const struct desired *desired,
                                               const struct desired_item *item)
{
    const uint8_t *key = desired->bytes.data + item->key_at;
    return (struct desired_record){
        .key = slice_of(key, item->key_len),
        .value = slice_of(key + item->key_len, item->value_len),
    };
}

/* Compares by key, then by value, so that the survivor of duplicates does not depend on the order
 * of addition. */
static int desired_compare_items(const void *a, const void *b, void *desired)
{
    struct desired_record x = desired_record_of(desired, a), y = desired_record_of(desired, b);
    int d = slice_compare(x.key, y.key);
    return d ? d : slice_compare(x.value, y.value);
}

void desired_seal(struct desired *desired)
{
    size_t kept = 0;
    run_sort(desired->items, desired->count, sizeof(struct desired_item), desired_compare_items,
             desired);
    for (size_t i = 0; i < desired->count; i++) {
        if (kept == 0 ||
            !slice_equal(desired_get(desired, kept - 1).key, desired_get(desired, i).key)) {
            desired->items[kept++] = desired->items[i];
        }
    }
    desired->count = kept;
}

struct desired_record desired_get(const struct desired *desired, size_t index)
{
    return desired_record_of(desired, &desired->items[index]);
}
