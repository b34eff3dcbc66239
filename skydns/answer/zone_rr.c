#include "skydns/answer/zone_rr.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/xalloc.h"

/* Bounds all types of one name: RR_LIST_MAX records each, of less than 800 bytes. */
enum { BYTES_MAX = 64 << 20 };

void zone_rrs_init(struct zone_rrs *rrs)
{
    *rrs = (struct zone_rrs){.count = 0};
    buf_init(&rrs->bytes, BYTES_MAX);
}

void zone_rrs_fini(struct zone_rrs *rrs)
{
    buf_fini(&rrs->bytes);
    free(rrs->starts);
}

void zone_rrs_clear(struct zone_rrs *rrs)
{
    buf_clear(&rrs->bytes);
    rrs->count = 0;
}

void zone_rrs_add(struct zone_rrs *rrs, const struct zone_rr *rr)
{
    rrs->starts = xgrow_array(rrs->starts, rrs->count, &rrs->cap, sizeof(*rrs->starts));
    rrs->starts[rrs->count++] = rrs->bytes.len;
    buf_append_u8(&rrs->bytes, (uint8_t)rr->owner.len);
    buf_append_slice(&rrs->bytes, rr->owner);
    buf_append_u16(&rrs->bytes, rr->type);
    buf_append_u32(&rrs->bytes, rr->ttl_s);
    buf_append_u16(&rrs->bytes, (uint16_t)rr->data.len);
    buf_append_slice(&rrs->bytes, rr->data);
}

static struct slice zone_rr_at(const struct zone_rrs *rrs, size_t start)
{
    struct reader r = reader_of(rrs->bytes.data + start, rrs->bytes.len - start);
    struct zone_rr rr;
    return slice_of(r.data, zone_rr_read(&r, &rr) ? r.pos : 0);
}

static int zone_rr_compare(struct slice a, struct slice b)
{
    size_t least = a.len < b.len ? a.len : b.len;
    int order = least > 0 && a.ptr && b.ptr ? memcmp(a.ptr, b.ptr, least) : 0;
    return order ? order : (a.len > b.len) - (a.len < b.len);
}

static int compare_starts(const void *a, const void *b, void *data)
{
    const struct zone_rrs *rrs = data;
    return zone_rr_compare(zone_rr_at(rrs, *(const size_t *)a),
                           zone_rr_at(rrs, *(const size_t *)b));
}

void zone_rrs_sort(struct zone_rrs *rrs)
{
    size_t unique_count = 0;
    if (rrs->count > 1) {
        qsort_r(rrs->starts, rrs->count, sizeof(*rrs->starts), compare_starts, rrs);
    }
    for (size_t i = 0; i < rrs->count; i++) {
        bool is_again =
            unique_count > 0 && zone_rr_compare(zone_rr_at(rrs, rrs->starts[unique_count - 1]),
                                                zone_rr_at(rrs, rrs->starts[i])) == 0;
        if (!is_again) {
            rrs->starts[unique_count++] = rrs->starts[i];
        }
    }
    rrs->count = unique_count;
}

struct slice zone_rrs_get(const struct zone_rrs *rrs, size_t i)
{
    return zone_rr_at(rrs, rrs->starts[i]);
}

bool zone_rr_read(struct reader *r, struct zone_rr *ret_rr)
{
    if (reader_left(r) == 0) {
        return false;
    }
    size_t len = reader_u8(r);
    ret_rr->owner = slice_of(reader_take(r, len), len);
    ret_rr->type = reader_u16(r);
    ret_rr->ttl_s = reader_u32(r);
    len = reader_u16(r);
    ret_rr->data = slice_of(reader_take(r, len), len);
    return !r->failed;
}

void zone_rrs_diff(const struct zone_rrs *before, const struct zone_rrs *after, zone_rrs_diff_fn fn,
                   void *data)
{
    size_t i = 0, k = 0;
    while (i < before->count || k < after->count) {
        struct slice old_rr = i < before->count ? zone_rrs_get(before, i) : slice_of(NULL, 0);
        struct slice new_rr = k < after->count ? zone_rrs_get(after, k) : slice_of(NULL, 0);
        int order = old_rr.len == 0 ? 1 : new_rr.len == 0 ? -1 : zone_rr_compare(old_rr, new_rr);
        if (order < 0) {
            fn(data, false, old_rr);
        } else if (order > 0) {
            fn(data, true, new_rr);
        }
        i += order <= 0;
        k += order >= 0;
    }
}
