#include "common/etcd/etcd_watch.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/arena.h"
#include "common/base/attributes.h"
#include "common/base/log.h"
#include "common/base/xalloc.h"
#include "common/etcd/etcd_codec_internal.h"
#include "common/etcd/etcd_link_internal.h"
#include "common/grpc/grpc.h"

/* Equals etcd's watchBatchMaxRevs: the distinct revisions in one response to a watch that is
 * behind. */
enum { BATCH_REVISIONS_MAX = 1000 };

struct etcd_watch {
    struct etcd *etcd;
    struct etcd_watch_config config; /* key and range_end point to `key` and `range_end` */
    char *key;
    char *range_end;
    int64_t next_revision; /* the first undelivered one */
    int64_t reached;
    int64_t reported; /* in a progress response; 0 = none yet */
    int64_t lag;
    int64_t compacted;      /* the oldest revision that etcd has, once it has said so */
    size_t batch_revisions; /* in the fragments of the current response */
    int64_t batch_last;     /* the last of them */

    struct etcd_call *call;  /* NULL after the end and while probing */
    struct etcd_call *probe; /* a read to learn why the watch was refused */
    struct err refusal;      /* while `probe` is in flight */
    bool was_probed;
    bool is_up;

    /* Hold undelivered events, in `arena`, listed in `events`. They outlive a message only if a
     * fragment ended inside a revision. */
    struct arena arena;
    struct arena spare; /* the rest moves here so that `arena` can be cleared */
    struct etcd_event *events;
    size_t count;
    size_t capacity;

    unsigned depth; /* our callbacks on the stack */
    bool is_stopped;
};

static void watch_free(struct etcd_watch *watch)
{
    arena_fini(&watch->arena);
    arena_fini(&watch->spare);
    free(watch->events);
    free(watch->key);
    free(watch->range_end);
    free(watch);
}

static void etcd_watch_open_stream(struct etcd_watch *watch)
{
    watch->depth++;
}

static void etcd_watch_close_stream(struct etcd_watch *watch)
{
    watch->depth--;
    if (watch->is_stopped && watch->depth == 0) {
        watch_free(watch);
    }
}

static void etcd_watch_log_end(const struct etcd_watch *watch, const struct err *err)
{
    log_debug("watch ended", LOG_SLICE("key", watch->config.key),
              LOG_INT("next_revision", watch->next_revision), LOG_STR("reason", err->msg));
}

/* Ends the watch, as the stream's messages show that it is of no more use. */
static void etcd_watch_give_up(struct etcd_watch *watch, const struct err *err)
{
    etcd_call_cancel(watch->call);
    watch->call = NULL;
    etcd_watch_log_end(watch, err);
    watch->config.on_end(watch->config.data, err);
}

static void go_up(struct etcd_watch *watch)
{
    watch->is_up = true;
    log_debug("watch created", LOG_SLICE("key", watch->config.key),
              LOG_INT("from_revision", watch->next_revision));
    watch->config.on_up(watch->config.data);
}

/* ---- Events ---- */

static struct slice move_bytes(struct arena *arena, struct slice s)
{
    char *p = arena_alloc(arena, s.len);
    if (p && s.len) {
        memcpy(p, s.ptr, s.len);
    }
    return slice_of(p, p ? s.len : 0);
}

/* Frees the first `delivered` events. */
static void keep_rest(struct etcd_watch *watch, size_t delivered)
{
    watch->count -= delivered;
    memmove(watch->events, watch->events + delivered, watch->count * sizeof(*watch->events));
    for (size_t i = 0; i < watch->count; i++) {
        struct etcd_kv *kv = &watch->events[i].kv;
        kv->key = move_bytes(&watch->spare, kv->key);
        kv->value = move_bytes(&watch->spare, kv->value);
    }
    struct arena emptied = watch->arena;
    watch->arena = watch->spare;
    watch->spare = emptied;
    arena_clear(&watch->spare);
}

/* Counts the events of whole revisions: a fragment's last revision may continue in the next one. */
static size_t whole_count(const struct etcd_watch *watch, bool is_fragment)
{
    size_t n = watch->count;
    if (is_fragment) {
        int64_t last = watch->events[n - 1].kv.mod_revision;
        while (n > 0 && watch->events[n - 1].kv.mod_revision == last) {
            n--;
        }
    }
    return n;
}

static void etcd_watch_append(struct etcd_watch *watch, const struct etcd_event *events,
                              size_t count)
{
    size_t total = watch->count + count;
    if (total > watch->capacity) {
        watch->capacity = total > watch->capacity * 2 ? total : watch->capacity * 2;
        watch->events = xrealloc_array(watch->events, watch->capacity, sizeof(*events));
    }
    memcpy(watch->events + watch->count, events, count * sizeof(*events));
    watch->count = total;
}

static bool are_in_order(const struct etcd_watch *watch, const struct etcd_event *first)
{
    int64_t least =
        watch->count ? watch->events[watch->count - 1].kv.mod_revision : watch->next_revision;
    return first->kv.mod_revision >= least;
}

static void count_revisions(struct etcd_watch *watch, const struct etcd_watch_response *response)
{
    for (size_t i = 0; i < response->count; i++) {
        int64_t revision = response->events[i].kv.mod_revision;
        watch->batch_revisions += revision != watch->batch_last;
        watch->batch_last = revision;
    }
}

/* Measures how far the response reaches. revision: of the last event delivered with it. */
static void etcd_watch_measure(struct etcd_watch *watch, const struct etcd_watch_response *response,
                               int64_t revision)
{
    bool is_last = !response->fragment && watch->batch_revisions < BATCH_REVISIONS_MAX;
    int64_t ahead = response->store_revision > revision ? response->store_revision - revision : 0;
    watch->reached = is_last ? revision + ahead : revision;
    watch->lag = is_last ? 0 : ahead;
}

static int etcd_watch_take_events(struct etcd_watch *watch,
                                  const struct etcd_watch_response *response, struct err *err)
{
    if (response->count == 0) { /* progress, or a confirmation */
        watch->reported = response->created ? watch->reported : response->store_revision;
        return 0;
    }
    if (!are_in_order(watch, &response->events[0])) {
        return err_set(err, ERR_PROTOCOL, "watch event of revision %lld after %lld",
                       (long long)response->events[0].kv.mod_revision,
                       (long long)watch->next_revision - 1);
    }
    etcd_watch_append(watch, response->events, response->count);
    count_revisions(watch, response);
    size_t whole = whole_count(watch, response->fragment);
    if (whole > 0) {
        int64_t revision = watch->events[whole - 1].kv.mod_revision;
        watch->next_revision = revision + 1;
        etcd_watch_measure(watch, response, revision);
        watch->config.on_events(watch->config.data, watch->events, whole, revision);
        if (!watch->is_stopped) {
            keep_rest(watch, whole);
        }
    }
    if (!response->fragment) {
        watch->batch_revisions = 0;
    }
    return 0;
}

/* ---- The stream ---- */

static void etcd_watch_on_compacted(struct etcd_watch *watch, int64_t compact_revision)
{
    struct err err;
    watch->compacted = compact_revision;
    err_set(&err, ERR_COMPACTED, "etcd: history before revision %lld is compacted",
            (long long)compact_revision);
    etcd_watch_give_up(watch, &err);
}

static void etcd_watch_begin(struct etcd_watch *watch);

static void on_probe(void *data, const struct etcd_range_reply *reply, const struct err *err)
{
    struct etcd_watch *watch = data;
    watch->probe = NULL;
    etcd_watch_open_stream(watch);
    if (reply && !watch->was_probed) {
        watch->was_probed = true;
        etcd_watch_begin(watch); /* the token was at fault; the read has fetched a new one */
    } else {
        etcd_watch_log_end(watch, err ? err : &watch->refusal);
        watch->config.on_end(watch->config.data, err ? err : &watch->refusal);
    }
    etcd_watch_close_stream(watch);
}

/* Reads the same range to learn why etcd refused the watch. Without permission or with an old
 * token, etcd creates the watch and cancels it at once, often without a reason. It refuses a read
 * with one. */
static void etcd_watch_on_refused(struct etcd_watch *watch,
                                  const struct etcd_watch_response *response)
{
    const struct etcd_range range = {
        .key = watch->config.key,
        .range_end = watch->config.range_end,
        .limit = 1,
        .keys_only = true,
    };
    const char *reason = response->cancel_reason[0] ? response->cancel_reason
                                                    : "no reason given; is a permission missing?";
    err_set(&watch->refusal, ERR_REFUSED, "etcd: watch canceled: %s", reason);
    log_debug("watch refused, reading the range to learn why", LOG_SLICE("key", watch->config.key),
              LOG_STR("reason", reason));
    etcd_call_cancel(watch->call);
    watch->call = NULL;
    watch->probe = etcd_watch_range(watch->etcd, &range, watch->config.only_now, on_probe, watch);
}

static int etcd_watch_on_message(void *data, struct slice message, struct err *err)
{
    struct etcd_watch *watch = data;
    struct etcd_watch_response response;
    int rc = etcd_decode_watch(message, &watch->arena, &response, err);
    if (rc != 0) {
        return rc;
    }
    etcd_watch_open_stream(watch);
    if (response.canceled && response.compact_revision > 0) {
        etcd_watch_on_compacted(watch, response.compact_revision);
    } else if (response.canceled) {
        /* A watch without permission gets this response, too, with created set as well. */
        etcd_watch_on_refused(watch, &response);
    } else {
        if (response.created && !watch->is_up) {
            go_up(watch);
        }
        if (!watch->is_stopped) {
            rc = etcd_watch_take_events(watch, &response, err);
        }
    }
    if (!watch->is_stopped && watch->count == 0) {
        arena_clear(&watch->arena);
    }
    etcd_watch_close_stream(watch);
    return rc;
}

static void etcd_watch_on_end(void *data, int status UNUSED, const struct err *err)
{
    struct etcd_watch *watch = data;
    struct err ended;
    if (!err) {
        err_set(&ended, ERR_UNAVAILABLE, "etcd: watch ended by the server");
        err = &ended;
    }
    watch->call = NULL;
    etcd_watch_log_end(watch, err);
    etcd_watch_open_stream(watch);
    watch->config.on_end(watch->config.data, err);
    etcd_watch_close_stream(watch);
}

static void etcd_watch_begin(struct etcd_watch *watch)
{
    const struct etcd_call_config call = {
        .path = "/etcdserverpb.Watch/Watch",
        .timeout_ms = 0,
        .only_now = watch->config.only_now,
        .on_message = etcd_watch_on_message,
        .on_end = etcd_watch_on_end,
        .data = watch,
    };
    const struct etcd_watch_request create = {
        .key = watch->config.key,
        .range_end = watch->config.range_end,
        .start_revision = watch->next_revision,
    };
    struct buf request;
    buf_init(&request, GRPC_SEND_MAX);
    etcd_encode_watch(&create, &request);
    watch->call = etcd_link_call(etcd_watch_link(watch->etcd), &call, &request);
}

struct etcd_watch *etcd_watch_start(struct etcd *etcd, const struct etcd_watch_config *config)
{
    struct etcd_watch *watch = xcalloc(1, sizeof(*watch));
    assert(config->start_revision >= 1);
    watch->etcd = etcd;
    watch->config = *config;
    watch->key = xstrndup(config->key.ptr, config->key.len);
    watch->range_end = xstrndup(config->range_end.ptr, config->range_end.len);
    watch->config.key.ptr = watch->key;
    watch->config.range_end.ptr = watch->range_end;
    watch->next_revision = config->start_revision;
    arena_init(&watch->arena, ETCD_DECODED_MAX);
    arena_init(&watch->spare, ETCD_DECODED_MAX);
    etcd_watch_begin(watch);
    return watch;
}

void etcd_watch_stop(struct etcd_watch *watch)
{
    if (!watch || watch->is_stopped) {
        return;
    }
    watch->is_stopped = true;
    if (watch->call) {
        log_debug("watch cancelled", LOG_SLICE("key", watch->config.key),
                  LOG_INT("next_revision", watch->next_revision));
        etcd_call_cancel(watch->call);
        watch->call = NULL;
    }
    if (watch->probe) {
        etcd_call_cancel(watch->probe);
        watch->probe = NULL;
    }
    if (watch->depth == 0) {
        watch_free(watch);
    }
}

int64_t etcd_watch_reached(const struct etcd_watch *watch)
{
    return watch->reached;
}

int64_t etcd_watch_told(const struct etcd_watch *watch)
{
    return watch->reported > watch->reached ? watch->reported : watch->reached;
}

int64_t etcd_watch_compacted(const struct etcd_watch *watch)
{
    return watch->compacted;
}

int64_t etcd_watch_lag(const struct etcd_watch *watch)
{
    return watch->lag;
}
