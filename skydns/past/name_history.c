#include "skydns/past/name_history_internal.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/attributes.h"
#include "common/base/err.h"
#include "common/base/key_table.h"
#include "common/base/timer.h"
#include "common/base/xalloc.h"
#include "common/etcd/etcd_watch.h"
#include "skydns/past/past_range_internal.h"

/* Enough for what etcd has sent already, on whatever stream and through a proxy. */
static const double quiet_s = 0.5;

/* A key and its value; one block. */
struct held_key {
    int64_t mod_revision;
    struct slice key, value;
    char bytes[];
};

/* The key itself, and all below it; and before these any one key, for the probe. */
enum { SELF, BELOW, PARTS, ANY = PARTS };

struct name_history {
    struct name_history_config config;
    struct buf key;
    struct past_budget budget;
    struct past_range range;
    int64_t to; /* 0: not known yet */
    struct key_table held;
    unsigned part; /* that is being read */
    bool is_checking;
    bool differs;
    size_t seen;

    struct etcd_watch *watches[PARTS];
    struct watch_data {
        struct name_history *history;
        unsigned part;
        bool is_up, has_reached;
    } watch_data[PARTS];
    struct etcd_watch *probe;
    struct buf any;       /* its key */
    int64_t any_revision; /* the key's last change; 0: there is no key */
    bool is_proved;       /* the probe has told something */
    ev_timer quiet;

    struct name_change *newest; /* descending revisions */
    size_t count, bytes, events, event_bytes;
    uint64_t left_out;
};

static struct slice held_key_of(const void *thing)
{
    const struct held_key *held = thing;
    return held->key;
}

/* Copies bytes to *at, which moves behind them. */
static struct slice copy_behind(char **at, struct slice bytes)
{
    const struct slice copy = slice_of(*at, bytes.len);
    if (bytes.len > 0) {
        memcpy(*at, bytes.ptr, bytes.len);
    }
    *at += bytes.len;
    return copy;
}

/* ---- Changes ---- */

static size_t change_bytes(const struct name_change *change)
{
    return sizeof(*change) + change->key.len + change->before.len + change->after.len;
}

static void drop_oldest_change(struct name_history *h)
{
    struct name_change **at = &h->newest;
    while ((*at)->older) {
        at = &(*at)->older;
    }
    h->bytes -= change_bytes(*at);
    h->count--;
    free(*at);
    *at = NULL;
}

static void keep_change(struct name_history *h, const struct etcd_event *event,
                        const struct held_key *before)
{
    const struct name_change borrowed = {
        .revision = event->kv.mod_revision,
        .key = event->kv.key,
        .before = before ? before->value : slice_of(NULL, 0),
        .after = event->kind == ETCD_EVENT_PUT ? event->kv.value : slice_of(NULL, 0),
    };
    struct name_change *change = xmalloc(change_bytes(&borrowed));
    char *bytes = change->bytes;
    *change = (struct name_change){.revision = borrowed.revision,
                                   .key = copy_behind(&bytes, borrowed.key)};
    if (before) {
        change->before = copy_behind(&bytes, borrowed.before);
    }
    if (event->kind == ETCD_EVENT_PUT) {
        change->after = copy_behind(&bytes, borrowed.after);
    }
    struct name_change **at = &h->newest; /* the two watches may be out of step */
    while (*at && (*at)->revision > change->revision) {
        at = &(*at)->older;
    }
    change->older = *at;
    *at = change;
    h->count++;
    h->bytes += change_bytes(change);
    while (h->count > NAME_HISTORY_MAX || (h->count > 1 && h->bytes > NAME_HISTORY_BYTES)) {
        drop_oldest_change(h);
        h->left_out++;
    }
}

/* ---- Contents ---- */

static void hold_key(struct name_history *h, const struct etcd_kv *kv)
{
    struct held_key *held = xmalloc(sizeof(*held) + kv->key.len + kv->value.len);
    char *bytes = held->bytes;
    held->mod_revision = kv->mod_revision;
    held->key = copy_behind(&bytes, kv->key);
    held->value = copy_behind(&bytes, kv->value);
    free(key_table_put(&h->held, held));
}

static void finish_history(struct name_history *h, const struct err *err)
{
    for (unsigned part = 0; part < PARTS; part++) {
        etcd_watch_stop(h->watches[part]);
        h->watches[part] = NULL;
    }
    etcd_watch_stop(h->probe);
    h->probe = NULL;
    ev_timer_stop(h->config.loop, &h->quiet);
    h->config.done(h->config.data, err);
}

static void start_watches(struct name_history *h);

static void read_part_of_name(struct name_history *h, unsigned part)
{
    h->part = part;
    h->range.config.revision = h->is_checking ? h->to : h->config.from;
    h->range.config.is_keys_only = h->is_checking;
    past_range_read(&h->range, buf_slice(&h->key), part == BELOW, 0);
}

static void wait_for_quiet(struct name_history *h)
{
    timer_arm(h->config.loop, &h->quiet, quiet_s);
}

/* Compares what the changes made of the contents with what etcd has. */
static void see_key(struct name_history *h, const struct etcd_kv *kv)
{
    struct held_key *held = key_table_find(&h->held, kv->key);
    if (held && held->mod_revision == kv->mod_revision) {
        h->seen++;
    } else {
        h->differs = true;
    }
}

static bool name_history_on_page(void *data, const struct etcd_kv *kvs, size_t count,
                                 int64_t newest)
{
    struct name_history *h = data;
    for (size_t i = 0; i < count; i++) {
        if (h->part == ANY) {
            buf_clear(&h->any);
            buf_append_slice(&h->any, kvs[i].key);
            h->any_revision = h->any.failed ? 0 : kvs[i].mod_revision;
        } else if (h->is_checking) {
            see_key(h, &kvs[i]);
        } else {
            hold_key(h, &kvs[i]);
        }
    }
    h->to = h->to ? h->to : newest;
    return !h->differs && h->part != ANY;
}

static void name_history_on_read(void *data, const struct err *err)
{
    struct name_history *h = data;
    if (err) {
        finish_history(h, err);
    } else if (h->part == ANY) {
        read_part_of_name(h, SELF);
    } else if (h->part == SELF) {
        read_part_of_name(h, BELOW);
    } else if (!h->is_checking) {
        start_watches(h);
    } else if (h->differs || h->seen != h->held.count) {
        h->is_checking = false;
        wait_for_quiet(h); /* more is to come */
    } else {
        finish_history(h, NULL);
    }
}

/* ---- What came since ---- */

static void check_history(struct name_history *h)
{
    if (h->range.call) {
        return; /* it is being checked */
    }
    ev_timer_stop(h->config.loop, &h->quiet);
    h->is_checking = true;
    h->differs = false;
    h->seen = 0;
    read_part_of_name(h, SELF);
}

static void apply_event(struct name_history *h, const struct etcd_event *event)
{
    struct held_key *before = key_table_find(&h->held, event->kv.key);
    keep_change(h, event, before);
    if (event->kind == ETCD_EVENT_PUT) {
        hold_key(h, &event->kv);
    } else {
        free(key_table_take(&h->held, event->kv.key));
    }
}

static void name_history_on_events(void *data, const struct etcd_event *events, size_t count,
                                   int64_t revision UNUSED)
{
    struct watch_data *of = data;
    struct name_history *h = of->history;
    h->events += count;
    for (size_t i = 0; i < count; i++) {
        h->event_bytes += events[i].kv.key.len + events[i].kv.value.len;
    }
    if (h->events > NAME_HISTORY_EVENTS_MAX || h->event_bytes > NAME_HISTORY_EVENT_BYTES_MAX) {
        struct err err;
        err_set(&err, ERR_TOO_LARGE, "more than %d changes, or %d MiB of them",
                NAME_HISTORY_EVENTS_MAX, NAME_HISTORY_EVENT_BYTES_MAX >> 20);
        finish_history(h, &err);
        return;
    }
    for (size_t i = 0; i < count && events[i].kv.mod_revision <= h->to; i++) {
        apply_event(h, &events[i]);
    }
    of->has_reached = etcd_watch_reached(h->watches[of->part]) >= h->to;
    if (h->watch_data[SELF].has_reached && h->watch_data[BELOW].has_reached) {
        check_history(h);
    } else {
        wait_for_quiet(h);
    }
}

/* ---- The probe ---- */

static void end_probe(struct name_history *h)
{
    etcd_watch_stop(h->probe);
    h->probe = NULL;
    h->is_proved = true;
    wait_for_quiet(h);
}

static void history_probe_on_events(void *data, const struct etcd_event *events UNUSED,
                                    size_t count UNUSED, int64_t revision UNUSED)
{
    end_probe(data);
}

static void history_probe_on_up(void *data UNUSED)
{
}

static void history_probe_on_end(void *data, const struct err *err)
{
    if (err->code == ERR_COMPACTED) {
        end_probe(data);
    } else {
        finish_history(data, err);
    }
}

static bool are_watches_up(const struct name_history *h)
{
    return h->watch_data[SELF].is_up && h->watch_data[BELOW].is_up;
}

static void start_probe(struct name_history *h)
{
    h->probe = etcd_watch_start(h->config.etcd, &(struct etcd_watch_config){
                                                    .key = buf_slice(&h->any),
                                                    .start_revision = h->any_revision,
                                                    .on_events = history_probe_on_events,
                                                    .on_up = history_probe_on_up,
                                                    .on_end = history_probe_on_end,
                                                    .data = h,
                                                });
}

/* ---- The watches ---- */

static void name_history_on_up(void *data)
{
    struct watch_data *of = data;
    of->is_up = true;
    wait_for_quiet(of->history);
    if (are_watches_up(of->history) && of->history->any_revision > 0) {
        start_probe(of->history);
    }
}

static void name_history_on_end(void *data, const struct err *err)
{
    const struct watch_data *of = data;
    finish_history(of->history, err);
}

static void name_history_on_quiet(struct ev_loop *loop UNUSED, ev_timer *timer, int events UNUSED)
{
    struct name_history *h = timer->data;
    if (are_watches_up(h) && (h->is_proved || h->any_revision == 0)) {
        check_history(h);
    } else {
        wait_for_quiet(h);
    }
}

static void start_watches(struct name_history *h)
{
    if (h->to <= h->config.from) {
        finish_history(h, NULL);
        return;
    }
    struct buf first, end;
    buf_init(&first, h->key.len + 1);
    buf_init(&end, h->key.len + 1);
    buf_append_slice(&first, buf_slice(&h->key));
    buf_append_slice(&end, buf_slice(&h->key));
    buf_append_char(&first, '/');
    buf_append_char(&end, '/' + 1);
    for (unsigned part = 0; part < PARTS; part++) {
        h->watch_data[part] = (struct watch_data){.history = h, .part = part};
        const struct etcd_watch_config watch = {
            .key = buf_slice(part == BELOW ? &first : &h->key),
            .range_end = part == BELOW ? buf_slice(&end) : slice_of(NULL, 0),
            .start_revision = h->config.from + 1,
            .on_events = name_history_on_events,
            .on_up = name_history_on_up,
            .on_end = name_history_on_end,
            .data = &h->watch_data[part],
        };
        h->watches[part] = etcd_watch_start(h->config.etcd, &watch);
    }
    buf_fini(&first);
    buf_fini(&end);
    wait_for_quiet(h);
}

/* ---- Life ---- */

struct name_history *name_history_read(const struct name_history_config *config)
{
    struct name_history *h = xcalloc(1, sizeof(*h));
    h->config = *config;
    buf_init(&h->any, PAST_KEY_MAX);
    buf_init(&h->key, config->key.len);
    buf_append_slice(&h->key, config->key);
    key_table_init(&h->held, held_key_of);
    h->budget = (struct past_budget){.keys = 2 * PAST_KEYS_MAX, .bytes = PAST_BYTES_MAX};
    timer_init(&h->quiet, name_history_on_quiet, h);
    past_range_init(&h->range, &(struct past_range_config){
                                   .etcd = config->etcd,
                                   .budget = &h->budget,
                                   .is_keys_only = true,
                                   .page = name_history_on_page,
                                   .done = name_history_on_read,
                                   .data = h,
                               });
    h->part = ANY;
    past_range_read(&h->range, config->prefix, true, 1);
    return h;
}

void name_history_free(struct name_history *h)
{
    if (!h) {
        return;
    }
    for (unsigned part = 0; part < PARTS; part++) {
        etcd_watch_stop(h->watches[part]);
    }
    etcd_watch_stop(h->probe);
    ev_timer_stop(h->config.loop, &h->quiet);
    past_range_fini(&h->range);
    key_table_fini_things(&h->held);
    while (h->newest) {
        drop_oldest_change(h);
    }
    buf_fini(&h->any);
    buf_fini(&h->key);
    free(h);
}

const struct name_change *name_history_newest(const struct name_history *history)
{
    return history->newest;
}

uint64_t name_history_left_out(const struct name_history *history)
{
    return history->left_out;
}

int64_t name_history_to(const struct name_history *history)
{
    return history->to;
}
