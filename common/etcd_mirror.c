#include "common/etcd_mirror.h"

#include <stdlib.h>

#include "common/backoff.h"
#include "common/buf.h"
#include "common/etcd_link.h"
#include "common/etcd_watch.h"
#include "common/xalloc.h"

enum { PAGE_SIZE_DEFAULT = 5000 };

/* Between full reads that fail. */
enum { BACKOFF_FIRST_MS = 100, BACKOFF_MAX_MS = 1000 };

/* An etcd key may be as long as a request, 1.5 MiB; one byte more makes the next. */
enum { KEY_MAX = (2 << 20) + 1 };

struct etcd_mirror {
    struct etcd *etcd;
    struct etcd_mirror_config config;
    struct buf key;       /* where the next page starts */
    struct buf first_key; /* where the range starts */
    char *range_end;
    size_t range_end_len;
    int64_t page_size;

    int64_t revision;         /* of the full read under way; 0 before its first page */
    struct etcd_call *page;   /* under way */
    struct etcd_watch *watch; /* between full reads */
    int down_code;            /* of the last state(err); 0 = up, or nothing told yet */
    struct backoff backoff;
    ev_timer retry;
};

static void read_page(struct etcd_mirror *mirror);

static void tell_down(struct etcd_mirror *mirror, const struct err *err)
{
    if (mirror->down_code != err->code) {
        mirror->down_code = err->code;
        mirror->config.state(mirror->config.data, err);
    }
}

/* ---- Following ---- */

static void on_events(void *data, const struct etcd_event *events, size_t count, int64_t revision)
{
    struct etcd_mirror *mirror = data;
    const struct etcd_mirror_config *config = &mirror->config;
    for (size_t i = 0; i < count; i++) {
        const struct etcd_kv *kv = &events[i].kv;
        if (events[i].kind == ETCD_EVENT_PUT) {
            config->put(config->data, kv);
        } else {
            config->del(config->data, kv->key, kv->mod_revision);
        }
    }
    config->commit(config->data, revision, false);
}

static void read_all(struct etcd_mirror *mirror)
{
    mirror->revision = 0;
    buf_clear(&mirror->key);
    buf_append_slice(&mirror->key, buf_slice(&mirror->first_key));
    read_page(mirror);
}

static void on_compacted(void *data, int64_t compact_revision)
{
    struct etcd_mirror *mirror = data;
    (void)compact_revision;
    etcd_watch_stop(mirror->watch);
    mirror->watch = NULL;
    read_all(mirror);
}

static void on_up(void *data)
{
    struct etcd_mirror *mirror = data;
    mirror->down_code = 0;
    mirror->config.state(mirror->config.data, NULL);
}

static void on_down(void *data, const struct err *err)
{
    tell_down(data, err);
}

static void follow(struct etcd_mirror *mirror)
{
    const struct etcd_watch_config config = {
        .key = buf_slice(&mirror->first_key),
        .range_end = slice_of(mirror->range_end, mirror->range_end_len),
        .start_revision = mirror->revision + 1,
        .on_events = on_events,
        .on_compacted = on_compacted,
        .on_up = on_up,
        .on_down = on_down,
        .data = mirror,
    };
    mirror->watch = etcd_watch_start(mirror->etcd, &config);
}

/* ---- Reading everything ---- */

static void page_failed(struct etcd_mirror *mirror, const struct err *err)
{
    if (err->code == ERR_TOO_LARGE && mirror->page_size > 1) {
        mirror->page_size /= 2;
        read_all(mirror);
        return;
    }
    uint32_t delay_ms = backoff_next_ms(&mirror->backoff, backoff_random());
    ev_timer_set(&mirror->retry, delay_ms / 1000.0, 0.0);
    ev_timer_start(etcd_loop(mirror->etcd), &mirror->retry);
    if (err->code != ERR_COMPACTED) { /* between two pages: no trouble with etcd */
        tell_down(mirror, err);
    }
}

static void on_page(void *data, const struct etcd_range_reply *reply, const struct err *err)
{
    struct etcd_mirror *mirror = data;
    const struct etcd_mirror_config *config = &mirror->config;
    mirror->page = NULL;
    if (err) {
        page_failed(mirror, err);
        return;
    }
    if (mirror->revision == 0) {
        mirror->revision = reply->revision;
        config->full_begin(config->data);
    }
    for (size_t i = 0; i < reply->count; i++) {
        config->put(config->data, &reply->kvs[i]);
    }
    if (reply->more && reply->count > 0) {
        buf_clear(&mirror->key);
        buf_append_slice(&mirror->key, reply->kvs[reply->count - 1].key);
        buf_append_char(&mirror->key, '\0');
        read_page(mirror);
        return;
    }
    backoff_reset(&mirror->backoff);
    follow(mirror);
    config->commit(config->data, mirror->revision, true);
}

static void read_page(struct etcd_mirror *mirror)
{
    const struct etcd_range range = {
        .key = buf_slice(&mirror->key),
        .range_end = slice_of(mirror->range_end, mirror->range_end_len),
        .limit = mirror->page_size,
        .revision = mirror->revision,
    };
    mirror->page = etcd_range(mirror->etcd, &range, on_page, mirror);
}

static void on_retry(struct ev_loop *loop, ev_timer *w, int events)
{
    (void)loop;
    (void)events;
    read_all(w->data);
}

static void set_range(struct etcd_mirror *mirror, struct slice prefix)
{
    mirror->range_end = xmalloc(prefix.len + 1);
    mirror->range_end_len = etcd_prefix_end(prefix, mirror->range_end).len;
    buf_append_slice(&mirror->first_key, prefix);
    if (prefix.len == 0) {
        buf_append_char(&mirror->first_key, '\0'); /* the least key there can be */
    }
    if (mirror->range_end_len == 0) {
        mirror->range_end[0] = '\0'; /* etcd: to the end of all keys */
        mirror->range_end_len = 1;
    }
}

struct etcd_mirror *etcd_mirror_start(struct etcd *etcd, const struct etcd_mirror_config *config)
{
    struct etcd_mirror *mirror = xcalloc(1, sizeof(*mirror));
    mirror->etcd = etcd;
    mirror->config = *config;
    mirror->page_size = config->page_size > 0 ? config->page_size : PAGE_SIZE_DEFAULT;
    buf_init(&mirror->key, KEY_MAX);
    buf_init(&mirror->first_key, KEY_MAX);
    set_range(mirror, config->prefix);
    backoff_init(&mirror->backoff, BACKOFF_FIRST_MS, BACKOFF_MAX_MS);
    ev_timer_init(&mirror->retry, on_retry, 0.0, 0.0);
    mirror->retry.data = mirror;
    read_all(mirror);
    return mirror;
}

void etcd_mirror_stop(struct etcd_mirror *mirror)
{
    if (!mirror) {
        return;
    }
    ev_timer_stop(etcd_loop(mirror->etcd), &mirror->retry);
    if (mirror->page) {
        etcd_call_cancel(mirror->page);
    }
    etcd_watch_stop(mirror->watch);
    buf_fini(&mirror->key);
    buf_fini(&mirror->first_key);
    free(mirror->range_end);
    free(mirror);
}
