/* A watch's messages in sequence, each prefixed with its length in two bytes: whatever a peer
 * sends, the owner sees complete revisions, each once and in order. The link below the watch is a
 * stub. */
#include "common/base/cursor.h"
#include "common/etcd/etcd_link_internal.h"
#include "common/etcd/etcd_watch.h"
#include "tests/fuzz/fuzz_target.h"

enum { FIRST_REVISION = 2 };

static struct etcd_call_config stream; /* of the watch */
static bool is_open;
static bool is_probed;
static bool is_over;
static int64_t delivered; /* up to this revision */

/* ---- The link ---- */

struct etcd_link *etcd_watch_link(struct etcd *etcd)
{
    (void)etcd;
    return NULL;
}

struct etcd_call *etcd_link_call(struct etcd_link *link, const struct etcd_call_config *config,
                                 struct buf *request)
{
    (void)link;
    fuzz_check(!is_open);
    buf_fini(request);
    stream = *config;
    is_open = true;
    return (struct etcd_call *)&stream;
}

struct etcd_call *etcd_watch_range(struct etcd *etcd, const struct etcd_range *range, bool only_now,
                                   etcd_range_cb cb, void *data)
{
    (void)etcd;
    (void)range;
    (void)only_now;
    (void)cb;
    (void)data;
    if (is_open || is_probed) {
        abort(); /* once per watch, and not while its stream is open */
    }
    is_probed = true;
    return (struct etcd_call *)&is_probed;
}

void etcd_call_cancel(struct etcd_call *call)
{
    if (call == (struct etcd_call *)&stream) {
        is_open = false;
    }
}

static void etcd_watch_end_stream(const struct err *err)
{
    fuzz_check(is_open && (!err || err->code));
    is_open = false;
    stream.on_end(stream.data, err ? -1 : 0, err);
}

/* ---- The owner ---- */

static void etcd_watch_on_events(void *data, const struct etcd_event *events, size_t count,
                                 int64_t revision)
{
    int64_t last = delivered + 1;
    (void)data;
    fuzz_check(!is_over && count != 0);
    for (size_t i = 0; i < count; i++) {
        fuzz_check(events[i].kv.mod_revision >= last && events[i].kv.key.len != 0);
        last = events[i].kv.mod_revision;
    }
    fuzz_check(last == revision);
    delivered = revision;
}

static void etcd_watch_on_up(void *data)
{
    fuzz_check(!is_over);
    (void)data;
}

static void common_etcd_watch_on_end(void *data, const struct err *err)
{
    (void)data;
    fuzz_check(!is_over && err->code);
    is_over = true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct reader r = reader_of(data, size);
    is_open = is_probed = is_over = false;
    delivered = FIRST_REVISION - 1;
    struct etcd_watch *watch = etcd_watch_start(NULL, &(struct etcd_watch_config){
                                                          .key = slice_str("/"),
                                                          .range_end = slice_str("0"),
                                                          .start_revision = FIRST_REVISION,
                                                          .on_events = etcd_watch_on_events,
                                                          .on_up = etcd_watch_on_up,
                                                          .on_end = common_etcd_watch_on_end,
                                                      });
    while (is_open && reader_left(&r) > 0) {
        struct err err;
        size_t len = reader_u16(&r);
        const uint8_t *message = reader_take(&r, len);
        if (message && stream.on_message(stream.data, slice_of(message, len), &err) != 0) {
            etcd_watch_end_stream(&err);
        }
    }
    if (is_open) {
        etcd_watch_end_stream(NULL);
    }
    fuzz_check(is_over || is_probed);
    etcd_watch_stop(watch);
    return 0;
}
