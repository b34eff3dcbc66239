#include "kube2sky/naming/run_sort_internal.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/xalloc.h"

struct run_sort {
    size_t size;
    int (*compare)(const void *a, const void *b, void *data);
    void *data;
    size_t *ends; /* ends of the runs, in items */
    size_t run_count;
    size_t run_cap;
};

static void add_run(struct run_sort *sort, size_t end)
{
    sort->ends = xgrow_array(sort->ends, sort->run_count, &sort->run_cap, sizeof(*sort->ends));
    sort->ends[sort->run_count++] = end;
}

static void find_runs(struct run_sort *sort, const uint8_t *items, size_t count)
{
    for (size_t i = 1; i < count; i++) {
        const uint8_t *item = items + i * sort->size;
        if (sort->compare(item - sort->size, item, sort->data) > 0) {
            add_run(sort, i);
        }
    }
    add_run(sort, count);
}

/* Merges [from, middle) and [middle, end). */
static void merge_two_runs(const struct run_sort *sort, const uint8_t *from, const uint8_t *middle,
                           const uint8_t *end, uint8_t *out)
{
    const uint8_t *a = from, *b = middle;
    while (a < middle && b < end) {
        const uint8_t **next = sort->compare(a, b, sort->data) <= 0 ? &a : &b;
        memcpy(out, *next, sort->size);
        *next += sort->size;
        out += sort->size;
    }
    memcpy(out, a, (size_t)(middle - a));
    memcpy(out + (middle - a), b, (size_t)(end - b));
}

/* Merges pairs of neighbours into `out`: half as many runs are left. */
static void merge_neighbours(struct run_sort *sort, const uint8_t *items, uint8_t *out)
{
    size_t from = 0, kept = 0;
    for (size_t i = 0; i < sort->run_count; i += 2) {
        size_t middle = sort->ends[i];
        size_t end = i + 1 < sort->run_count ? sort->ends[i + 1] : middle;
        merge_two_runs(sort, items + from * sort->size, items + middle * sort->size,
                       items + end * sort->size, out + from * sort->size);
        sort->ends[kept++] = end;
        from = end;
    }
    sort->run_count = kept;
}

void run_sort(void *items, size_t count, size_t size,
              int (*compare)(const void *a, const void *b, void *data), void *data)
{
    struct run_sort sort = {.size = size, .compare = compare, .data = data};
    if (count < 2) {
        return;
    }
    find_runs(&sort, items, count);
    uint8_t *other = sort.run_count > 1 ? xcalloc(count, size) : NULL;
    uint8_t *now = items, *next = other;
    while (sort.run_count > 1) {
        uint8_t *merged = next;
        merge_neighbours(&sort, now, merged);
        next = now;
        now = merged;
    }
    if (now != items) {
        memcpy(items, now, count * size);
    }
    free(other);
    free(sort.ends);
}
