/* Watches a mirror's key range, and resumes. */
#include "common/base/attributes.h"
#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/etcd/etcd_link_internal.h"
#include "common/etcd/etcd_mirror_internal.h"

/* Limits how often lag causes a read: a data set that is written faster than its history replays
 * makes each new watch lag at once. */
enum { LAG_READ_INTERVAL_MS = 1000 };

/* Bounds how many revisions back a watch may start to get the last change seen once more: etcd
 * reads each change since, whatever its key. It is one of etcd's batches (etcd_watch.h). */
enum { AGAIN_MAX = 1000 };

/* ---- The range ---- */

static void etcd_mirror_follow_on_up(void *data)
{
    struct etcd_mirror *mirror = data;
    mirror->is_up = true;
    backoff_reset(&mirror->backoff);
    etcd_catch_up_confirmed(&mirror->catch_up);
    mirror->config.state(mirror->config.data, NULL);
}

static void etcd_mirror_follow_on_watch_end(void *data, const struct err *err)
{
    struct etcd_mirror *mirror = data;
    if (err->code == ERR_COMPACTED || err->code == ERR_TOO_LARGE) {
        etcd_mirror_want_read(mirror, ETCD_MIRROR_COMPACTED);
        etcd_mirror_begin_session(mirror);
    } else {
        etcd_mirror_lose(mirror, err);
    }
}

/* Adds one for a key that did not exist: its version begins at 1. */
static int64_t keys_added(const struct etcd_event *event)
{
    return event->kind == ETCD_EVENT_DELETE ? -1 : event->kv.version == 1;
}

/* Remembers the last put and the last delete, which are the newest. */
static void etcd_mirror_follow_note_header(struct etcd_mirror *mirror,
                                           const struct etcd_event *events, size_t count)
{
    bool has_put = false, has_del = false;
    for (size_t i = count; i > 0 && !(has_put && has_del); i--) {
        const struct etcd_event *event = &events[i - 1];
        if (event->kind == ETCD_EVENT_PUT && !has_put) {
            etcd_evidence_put(&mirror->known, &event->kv);
            has_put = true;
        } else if (event->kind == ETCD_EVENT_DELETE && !has_del) {
            etcd_evidence_del(&mirror->known, event->kv.key, event->kv.mod_revision);
            has_del = true;
        }
    }
}

/* Counts the events that come again, because the watch began at start_revision. */
static size_t count_known(const struct etcd_mirror *mirror, const struct etcd_event *events,
                          size_t count)
{
    size_t known = 0;
    while (known < count && events[known].kv.mod_revision <= mirror->known.revision) {
        known++;
    }
    return known;
}

static void etcd_mirror_follow_apply(struct etcd_mirror *mirror, const struct etcd_event *events,
                                     size_t count, int64_t revision)
{
    const struct etcd_mirror_config *config = &mirror->config;
    for (size_t i = 0; i < count; i++) {
        const struct etcd_kv *kv = &events[i].kv;
        if (events[i].kind == ETCD_EVENT_PUT) {
            config->put(config->data, kv);
        } else {
            config->del(config->data, kv->key, kv->mod_revision);
        }
        mirror->held_keys += mirror->held_keys >= 0 ? keys_added(&events[i]) : 0;
    }
    etcd_mirror_follow_note_header(mirror, events, count);
    mirror->last = etcd_digest_of_last(events, count);
    mirror->known.revision = revision;
    mirror->counts.events += count;
    log_debug("etcd events applied", LOG_INT("events", (int64_t)count),
              LOG_INT("revision", revision));
}

/* Returns false if the watch began with other changes than the last ones seen. Then everything must
 * be read, and this session is over. */
static bool is_as_seen(struct etcd_mirror *mirror, const struct etcd_event *events, size_t count)
{
    bool is_first = mirror->is_replaying;
    mirror->is_replaying = false;
    enum etcd_digest_verdict verdict =
        is_first ? etcd_digest_check(&mirror->last, mirror->known.revision, events, count)
                 : ETCD_DIGEST_SAME;
    if (verdict == ETCD_DIGEST_SAME) {
        if (is_first) {
            etcd_mirror_accept_serial(mirror);
        }
        return true;
    }
    mirror->is_refuted = verdict == ETCD_DIGEST_OTHER;
    etcd_mirror_want_read(mirror, ETCD_MIRROR_UNCERTAIN);
    etcd_mirror_begin_session(mirror);
    return false;
}

static void etcd_mirror_follow_on_events(void *data, const struct etcd_event *events, size_t count,
                                         int64_t revision)
{
    struct etcd_mirror *mirror = data;
    if (!is_as_seen(mirror, events, count)) {
        return;
    }
    size_t known = count_known(mirror, events, count);
    bool is_news = known < count;
    if (is_news) {
        etcd_silence_delivered(&mirror->silence, events[known].kv.mod_revision);
        etcd_mirror_follow_apply(mirror, events + known, count - known, revision);
    } else {
        etcd_silence_repeated(&mirror->silence);
    }
    if (etcd_watch_lag(mirror->watch) > 0) {
        mirror->is_behind = true;
        etcd_mirror_note_behind(mirror, clock_monotonic_ms());
    }
    if (mirror->is_behind && clock_monotonic_ms() - mirror->last_read_ms > LAG_READ_INTERVAL_MS) {
        etcd_mirror_want_read(mirror, ETCD_MIRROR_LAG);
        etcd_mirror_begin_session(mirror);
    } else {
        etcd_catch_up_reached(&mirror->catch_up, etcd_watch_reached(mirror->watch));
    }
    if (is_news) {
        mirror->config.commit(mirror->config.data, revision, false);
    }
}

static void etcd_mirror_follow_on_caught_up(void *data)
{
    const struct etcd_mirror *mirror = data;
    log_debug("caught up with etcd", LOG_INT("revision", mirror->known.revision));
    if (mirror->config.caught_up) {
        mirror->config.caught_up(mirror->config.data);
    }
}

/* ---- The store key and the serial ---- */

/* Handles a store key that was written or deleted. */
static void on_store_events(void *data, const struct etcd_event *events, size_t count,
                            int64_t revision UNUSED)
{
    struct etcd_mirror *mirror = data;
    const struct etcd_event *last = &events[count - 1];
    struct slice id = last->kind == ETCD_EVENT_PUT ? last->kv.value : slice_of(NULL, 0);
    bool is_first = id.len && !mirror->known.id.len;
    if (id.len && !is_first && !mirror->is_holding &&
        !slice_equal(id, buf_slice(&mirror->known.id))) {
        /* The key is rewritten only in a restored data set; or a proxy went on with another one. A
         * new session settles it, by the old id. */
        etcd_mirror_begin_session(mirror);
        return;
    }
    etcd_evidence_set_id(&mirror->known, id);
    mirror->is_marked = false;
    if (etcd_mirror_ends_holding(mirror, id)) {
        etcd_mirror_want_read(mirror, ETCD_MIRROR_COMPLETE);
        etcd_mirror_begin_session(mirror);
    } else if (is_first && mirror->serial_key.len && mirror->config.keeps_old) {
        etcd_mirror_begin_session(mirror); /* from now on, its serial counts */
    }
    etcd_mirror_tell_seen(mirror, false); /* may end this watch */
}

/* Handles a serial that was written: perhaps its writer has found the data set complete, perhaps a
 * proxy went on with another one. A new session settles that, too. A writer that is replacing the
 * store key begins one after that.
 *
 * A mirror that keeps nothing of an earlier data set is the writer's: it only remembers the serial,
 * by which it knows a restored data set, and goes on. */
static void on_serial_events(void *data, const struct etcd_event *events, size_t count,
                             int64_t revision UNUSED)
{
    struct etcd_mirror *mirror = data;
    const struct etcd_event *last = &events[count - 1];
    if (!mirror->config.keeps_old) {
        if (last->kind == ETCD_EVENT_PUT) {
            mirror->asked_serial = etcd_serial_of(&last->kv);
            etcd_mirror_accept_serial(mirror);
        }
    } else if (!mirror->is_marked && !etcd_store_mark_is_under_way(mirror->mark)) {
        etcd_mirror_begin_session(mirror);
    }
}

static void on_store_up(void *data)
{
    (void)data; /* the range's watch reports */
}

static void on_store_watch_end(void *data, const struct err *err)
{
    struct etcd_mirror *mirror = data;
    if (err->code == ERR_COMPACTED) {
        etcd_mirror_begin_session(mirror);
    } else {
        etcd_mirror_lose(mirror, err);
    }
}

/* ---- All watches ---- */

/* Returns where to start the watch. etcd sends nothing to a watch that misses nothing. If the watch
 * could have missed something, it starts at the last change seen: that change comes again, and the
 * response tells how far it reaches. It starts there, too, if all changes of that revision are
 * known: they must come again as they were. */
static int64_t start_revision(const struct etcd_mirror *mirror, int64_t newest)
{
    int64_t seen = etcd_evidence_newest(&mirror->known);
    bool is_wanted = newest > mirror->known.revision || mirror->last.revision > 0;
    bool can_come = seen > 0 && newest - seen <= AGAIN_MAX && !mirror->is_seen_compacted;
    return is_wanted && can_come ? seen : mirror->known.revision + 1;
}

void etcd_mirror_follow(struct etcd_mirror *mirror, int64_t store_revision, int64_t newest)
{
    const struct etcd_watch_config range = {
        .key = buf_slice(&mirror->first_key),
        .range_end = mirror->is_range_shifted ? buf_slice(&mirror->shifted_end)
                                              : slice_of(mirror->range_end, mirror->range_end_len),
        .start_revision = start_revision(mirror, newest),
        .only_now = true,
        .on_events = etcd_mirror_follow_on_events,
        .on_up = etcd_mirror_follow_on_up,
        .on_end = etcd_mirror_follow_on_watch_end,
        .data = mirror,
    };
    const struct etcd_watch_config store = {
        .key = buf_slice(&mirror->store_key),
        .start_revision = store_revision + 1,
        .only_now = true,
        .on_events = on_store_events,
        .on_up = on_store_up,
        .on_end = on_store_watch_end,
        .data = mirror,
    };
    struct etcd_watch_config serial = store;
    serial.key = buf_slice(&mirror->serial_key);
    serial.on_events = on_serial_events;
    mirror->phase = PHASE_FOLLOWING;
    mirror->is_replaying =
        mirror->last.revision > 0 && range.start_revision == mirror->last.revision;
    mirror->is_other = false;
    mirror->is_behind = false;
    log_debug("following etcd", LOG_SLICE("prefix", buf_slice(&mirror->first_key)),
              LOG_INT("from_revision", range.start_revision));
    etcd_catch_up_begin(&mirror->catch_up, mirror->known.revision, newest);
    mirror->watch = etcd_watch_start(mirror->etcd, &range);
    if (store_revision > 0) { /* else we may not read it */
        mirror->store_watch = etcd_watch_start(mirror->etcd, &store);
    }
    if (mirror->can_read_serial) {
        mirror->serial_watch = etcd_watch_start(mirror->etcd, &serial);
    }
    etcd_mirror_check_begin(mirror);
}

void etcd_mirror_follow_init(struct etcd_mirror *mirror)
{
    etcd_catch_up_init(&mirror->catch_up, etcd_loop(mirror->etcd), etcd_mirror_follow_on_caught_up,
                       mirror);
}
