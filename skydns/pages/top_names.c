#include "skydns/pages/top_names_internal.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/json_text.h"
#include "common/dns/dns_names.h"

void top_names_add(struct top_names *top, const struct dname *name, uint16_t type)
{
    struct dname lower = *name;
    struct top_name *least = NULL;
    dname_lower(&lower);
    for (size_t i = 0; i < top->count; i++) {
        struct top_name *item = &top->items[i];
        if (item->type == type && dname_equal(&item->name, &lower)) {
            item->count++;
            return;
        }
        least = !least || item->count < least->count ? item : least;
    }
    if (top->count < TOP_NAMES_MAX) {
        least = &top->items[top->count++];
        least->count = 0;
    }
    least->name = lower;
    least->type = type;
    least->count++;
}

static int by_count(const void *a, const void *b)
{
    const struct top_name *const *left = a, *const *right = b;
    return ((*left)->count < (*right)->count) - ((*left)->count > (*right)->count);
}

void top_names_write(const struct top_names *top, struct buf *out)
{
    const struct top_name *sorted[TOP_NAMES_MAX];
    for (size_t i = 0; i < top->count; i++) {
        sorted[i] = &top->items[i];
    }
    qsort(sorted, top->count, sizeof(sorted[0]), by_count);
    buf_append_char(out, '[');
    for (size_t i = 0; i < top->count && i < TOP_NAMES_SHOWN; i++) {
        char name[DNAME_TEXT_MAX], type[DNS_TYPE_TEXT_MAX];
        buf_append_str(out, i ? ",{\"name\":" : "{\"name\":");
        json_text_string(out, slice_str(dname_to_text(&sorted[i]->name, name)));
        buf_printf(out, ",\"type\":\"%s\",\"count\":%" PRIu64 "}",
                   dns_type_text(sorted[i]->type, type), sorted[i]->count);
    }
    buf_append_char(out, ']');
}
