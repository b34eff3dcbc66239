/* Any bytes as kube2sky's keys about clients: puts, deletes, full reads and commits, of either
 * kind. Addresses that were told add up to those that are there; what is kept stays within its
 * limits, and is the same after it was saved and loaded. */
#include <assert.h>

#include "common/base/buf.h"
#include "common/base/cursor.h"
#include "common/dns/record_json.h"
#include "skydns/sync/client_marks_internal.h"
#include "skydns/sync/mark_keys_internal.h"
#include "tests/fuzz/fuzz_target.h"

struct sums {
    size_t count;
    uint64_t bytes; /* of the addresses; wraps */
};

static void client_marks_sum(struct sums *sums, const struct ip *ip, int sign)
{
    assert(ip->family_bytes == 4 || ip->family_bytes == 16);
    sums->count += (size_t)sign;
    for (unsigned i = 0; i < ip->family_bytes; i++) {
        sums->bytes += (uint64_t)(int64_t)sign * (ip->bytes[i] + 1u) * (i * 257u + 1);
    }
}

static void client_marks_on_told(void *data, const struct ip *ip, bool is_there)
{
    client_marks_sum(data, ip, is_there ? 1 : -1);
}

static void on_each(void *data, const struct ip *ip)
{
    client_marks_sum(data, ip, 1);
}

static void check_sums(const struct mark_keys *keys, const struct sums *told)
{
    struct sums there = {.count = 0};
    mark_keys_each_address(keys, on_each, &there);
    assert(there.count == told->count && there.bytes == told->bytes);
}

static void client_marks_check_limits(const struct mark_keys *keys)
{
    size_t bytes = 0, at = 0;
    const struct mark *mark;
    while ((mark = mark_keys_next(keys, &at))) {
        assert(mark->label_len >= 1 && mark->label_len <= DNAME_LABEL_MAX);
        assert(mark->list_len <= CLIENT_MARKS_LIST_MAX);
        bytes += mark->list_len;
    }
    assert(bytes == keys->list_bytes && bytes <= CLIENT_MARKS_LISTS_HELD_MAX);
}

static void check_saved(const struct mark_keys *keys, const struct sums *told)
{
    struct mark_keys loaded;
    struct sums there = {.count = 0};
    CLEANUP_BUF struct buf saved = buf_of(SIZE_MAX);
    mark_keys_save(keys, &saved);
    struct reader reader = reader_of(saved.data, saved.len);
    mark_keys_init(&loaded, keys->kind);
    bool is_loaded = mark_keys_load(&loaded, &reader);
    assert(is_loaded && reader_left(&reader) == 0);
    (void)mark_keys_commit(&loaded, false, NULL, NULL);
    assert(loaded.marks.count == keys->marks.count && loaded.list_bytes == keys->list_bytes);
    mark_keys_each_address(&loaded, on_each, &there);
    assert(there.count == told->count && there.bytes == told->bytes);
    mark_keys_fini(&loaded);
}

static struct slice read_short(struct reader *reader)
{
    uint8_t len = reader_u8(reader);
    const uint8_t *bytes = reader_take(reader, len);
    return slice_of(bytes ? (const char *)bytes : "", bytes ? len : 0);
}

/* False: the end. */
static bool client_marks_step(struct mark_keys *keys, struct reader *reader, struct sums *told)
{
    uint8_t what = reader_u8(reader);
    if (reader->failed) {
        return false;
    }
    if (what == 'p') {
        struct slice label = read_short(reader);
        (void)mark_keys_put(keys, label, read_short(reader)); /* also what is refused */
    } else if (what == 'd') {
        mark_keys_del(keys, read_short(reader));
    } else if (what == 'f' || what == 'k') {
        mark_keys_begin(keys, what == 'k');
    } else {
        (void)mark_keys_commit(keys, what == 'C', client_marks_on_told, told);
        check_sums(keys, told);
    }
    return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct reader reader = reader_of(data, size);
    struct mark_keys keys;
    struct sums told = {.count = 0};
    record_json_use_xalloc();
    mark_keys_init(&keys, reader_u8(&reader) % 2 ? MARK_LIST : MARK_ADDRESS);
    while (client_marks_step(&keys, &reader, &told)) {
        client_marks_check_limits(&keys);
    }
    (void)mark_keys_commit(&keys, false, client_marks_on_told, &told);
    check_sums(&keys, &told);
    check_saved(&keys, &told);
    mark_keys_fini(&keys);
    return 0;
}
