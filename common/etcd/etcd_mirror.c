#include "common/etcd/etcd_mirror.h"

#include <stdio.h>
#include <stdlib.h>

#include "common/base/backoff.h"
#include "common/base/buf.h"
#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/base/xalloc.h"
#include "common/etcd/etcd_catch_up_internal.h"
#include "common/etcd/etcd_link_internal.h"
#include "common/etcd/etcd_pages_internal.h"
#include "common/etcd/etcd_saved_internal.h"
#include "common/etcd/etcd_store_id.h"
#include "common/etcd/etcd_store_mark_internal.h"
#include "common/etcd/etcd_watch.h"

/* etcd replays old history at 1,000 revisions per 0.2 s; reading 100,000 keys takes as long as
 * following 3,000 revisions. */
enum { LAG_MAX = 3000 };

/* If a store is written faster than its history replays, a new watch lags at once: this limits how
 * often lag causes a read. */
enum { LAG_READ_INTERVAL_MS = 1000 };

/* Revisions that a watch may start back to get the last change seen once more: etcd reads each
 * change since, of whatever key. One of its batches (etcd_watch.h). */
enum { AGAIN_MAX = 1000 };

/* An etcd key may be as long as a request, 1.5 MiB. */
enum { KEY_MAX = 2 << 20 };

enum phase { PHASE_WAITING, PHASE_ASKING, PHASE_READING, PHASE_FOLLOWING };

struct etcd_mirror {
    struct etcd *etcd;
    struct etcd_mirror_config config;
    struct buf first_key; /* where the range starts */
    struct buf store_key;
    char *range_end;
    size_t range_end_len;

    /* The session */
    enum phase phase;
    ev_timer retry;                       /* WAITING */
    struct etcd_store_question *question; /* ASKING */
    int64_t noted;            /* ASKING: the newest write acknowledged since; 0 = none */
    struct etcd_pages *pages; /* READING */
    size_t page_count;        /* READING: pages received */
    size_t key_count;         /* READING: keys in them */
    struct etcd_watch *watch; /* FOLLOWING */
    struct etcd_watch *store_watch;
    bool is_up;                    /* `watch` is confirmed */
    bool is_marked;                /* we wrote the store key; its event is still to come */
    bool is_other;                 /* another store than `known` */
    struct etcd_catch_up catch_up; /* FOLLOWING */
    struct backoff backoff;

    /* What the owner has, and what it will have once the current read is committed */
    struct etcd_evidence known;
    struct etcd_evidence fresh;

    /* The read wanted or running */
    bool must_read;
    bool is_begun; /* the owner has had full_begin, but not the commit */
    struct etcd_mirror_read read;
    char reason[160];
    int64_t store_revision; /* at which the store key was read; 0: not readable */
    int64_t last_read_ms;   /* when the last one was committed */

    /* Holding the keys of an earlier store */
    bool is_holding;
    int64_t held_since_ms;
    bool is_overdue;       /* held for stale_max_ms */
    struct buf doubted_id; /* their store's key, which a copy of that store has, too */
    ev_timer stale;

    struct etcd_store_mark *mark;
    bool was_mark_refused;
    bool is_key_told; /* reported: the store key cannot be read or written */

    struct etcd_mirror_counts counts;
};

static void begin_session(struct etcd_mirror *mirror);

const char *etcd_mirror_cause_text(enum etcd_mirror_cause cause)
{
    static const char *const texts[ETCD_MIRROR_CAUSE_COUNT] = {
        [ETCD_MIRROR_FIRST] = "first",
        [ETCD_MIRROR_COMPACTED] = "compacted",
        [ETCD_MIRROR_LAG] = "lag",
        [ETCD_MIRROR_UNCERTAIN] = "uncertain",
        [ETCD_MIRROR_OTHER_STORE] = "another",
        [ETCD_MIRROR_COMPLETE] = "complete",
        [ETCD_MIRROR_STALE] = "stale-max",
    };
    return texts[cause];
}

/* ---- Sessions ---- */

static void end_session(struct etcd_mirror *mirror)
{
    ev_timer_stop(etcd_loop(mirror->etcd), &mirror->retry);
    etcd_store_question_cancel(mirror->question);
    etcd_pages_cancel(mirror->pages);
    etcd_store_mark_cancel(mirror->mark);
    etcd_watch_stop(mirror->watch);
    etcd_watch_stop(mirror->store_watch);
    mirror->question = NULL;
    mirror->watch = NULL;
    mirror->store_watch = NULL;
    mirror->is_up = false;
    mirror->is_marked = false;
    etcd_catch_up_end(&mirror->catch_up);
    mirror->phase = PHASE_WAITING;
}

/* Ends the session; the next one, perhaps with another member, starts after the back-off. */
static void lose(struct etcd_mirror *mirror, const struct err *err)
{
    end_session(mirror);
    etcd_pages_reset(mirror->pages); /* another member may send larger ones */
    uint32_t delay_ms = backoff_next_ms(&mirror->backoff, backoff_random());
    log_debug("mirror interrupted", LOG_STR("reason", err->msg), LOG_INT("retry_ms", delay_ms));
    ev_timer_set(&mirror->retry, delay_ms / 1000.0, 0.0);
    ev_timer_start(etcd_loop(mirror->etcd), &mirror->retry);
    /* A compaction between two pages is no etcd outage. */
    if (err->code != ERR_COMPACTED) {
        mirror->config.state(mirror->config.data, err);
    }
}

/* A read already wanted keeps its cause. */
static void want_read(struct etcd_mirror *mirror, enum etcd_mirror_cause cause)
{
    if (!mirror->must_read) {
        mirror->must_read = true;
        mirror->read.cause = cause;
        log_debug("full read needed", LOG_STR("cause", etcd_mirror_cause_text(cause)));
    }
}

static void tell_seen(const struct etcd_mirror *mirror, bool has_read)
{
    if (mirror->config.store_key_seen) {
        mirror->config.store_key_seen(mirror->config.data, buf_slice(&mirror->known.id), has_read);
    }
}

/* ---- Another store ---- */

/* Whether its writer has marked it complete. The store key of a store whose keys we hold proves
 * nothing: a copy of that store has it, too. */
static bool is_complete(const struct etcd_mirror *mirror, struct slice id)
{
    bool is_known = mirror->is_other && slice_equal(id, buf_slice(&mirror->known.id));
    bool is_doubted = mirror->is_holding && slice_equal(id, buf_slice(&mirror->doubted_id));
    return id.len > 0 && !is_known && !is_doubted;
}

/* From now on, as if it had begun held_ms ago. */
static void hold_since(struct etcd_mirror *mirror, int64_t held_ms)
{
    struct ev_loop *loop = etcd_loop(mirror->etcd);
    int64_t left_ms = mirror->config.stale_max_ms - held_ms;
    mirror->is_holding = true;
    mirror->held_since_ms = clock_monotonic_ms() - held_ms;
    mirror->is_overdue = false;
    ev_timer_stop(loop, &mirror->stale);
    if (mirror->config.stale_max_ms > 0) {
        ev_now_update(loop);
        ev_timer_set(&mirror->stale, left_ms > 0 ? (double)left_ms / 1000.0 : 0.0, 0.0);
        ev_timer_start(loop, &mirror->stale);
    }
}

static void hold(struct etcd_mirror *mirror)
{
    if (!mirror->is_holding || mirror->known.id.len) { /* else keep the doubted id */
        buf_clear(&mirror->doubted_id);
        buf_append_slice(&mirror->doubted_id, buf_slice(&mirror->known.id));
    }
    log_debug("holding the keys of an earlier store",
              LOG_INT("stale_max_ms", mirror->config.stale_max_ms));
    hold_since(mirror, 0);
}

static void let_go(struct etcd_mirror *mirror)
{
    if (mirror->is_holding) {
        log_debug("releasing the keys of an earlier store",
                  LOG_INT("held_ms", clock_monotonic_ms() - mirror->held_since_ms));
    }
    mirror->is_holding = false;
    mirror->is_overdue = false;
    ev_timer_stop(etcd_loop(mirror->etcd), &mirror->stale);
}

static void on_stale(struct ev_loop *loop, ev_timer *w, int events)
{
    struct etcd_mirror *mirror = w->data;
    (void)loop;
    (void)events;
    mirror->is_overdue = true;
    want_read(mirror, ETCD_MIRROR_STALE);
    if (mirror->phase != PHASE_WAITING) {
        begin_session(mirror);
    }
}

/* ---- Following ---- */

static void on_up(void *data)
{
    struct etcd_mirror *mirror = data;
    mirror->is_up = true;
    backoff_reset(&mirror->backoff);
    etcd_catch_up_confirmed(&mirror->catch_up);
    mirror->config.state(mirror->config.data, NULL);
}

static void on_watch_end(void *data, const struct err *err)
{
    struct etcd_mirror *mirror = data;
    if (err->code == ERR_COMPACTED || err->code == ERR_TOO_LARGE) {
        want_read(mirror, ETCD_MIRROR_COMPACTED);
        begin_session(mirror);
    } else {
        lose(mirror, err);
    }
}

/* Remembers the last put and the last delete, which are the newest. */
static void learn(struct etcd_mirror *mirror, const struct etcd_event *events, size_t count)
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

/* Those that come again: start_revision. */
static size_t count_known(const struct etcd_mirror *mirror, const struct etcd_event *events,
                          size_t count)
{
    size_t known = 0;
    while (known < count && events[known].kv.mod_revision <= mirror->known.revision) {
        known++;
    }
    return known;
}

static void apply(struct etcd_mirror *mirror, const struct etcd_event *events, size_t count,
                  int64_t revision)
{
    const struct etcd_mirror_config *config = &mirror->config;
    for (size_t i = 0; i < count; i++) {
        const struct etcd_kv *kv = &events[i].kv;
        if (events[i].kind == ETCD_EVENT_PUT) {
            config->put(config->data, kv);
        } else {
            config->del(config->data, kv->key, kv->mod_revision);
        }
    }
    learn(mirror, events, count);
    mirror->known.revision = revision;
    mirror->counts.events += count;
    log_debug("etcd events applied", LOG_INT("events", (int64_t)count),
              LOG_INT("revision", revision));
}

static void on_events(void *data, const struct etcd_event *events, size_t count, int64_t revision)
{
    struct etcd_mirror *mirror = data;
    size_t known = count_known(mirror, events, count);
    bool is_news = known < count;
    if (is_news) {
        apply(mirror, events + known, count - known, revision);
    }
    if (etcd_watch_lag(mirror->watch) > LAG_MAX &&
        clock_monotonic_ms() - mirror->last_read_ms > LAG_READ_INTERVAL_MS) {
        want_read(mirror, ETCD_MIRROR_LAG);
        begin_session(mirror);
    } else {
        etcd_catch_up_reached(&mirror->catch_up, etcd_watch_reached(mirror->watch));
    }
    if (is_news) {
        mirror->config.commit(mirror->config.data, revision, false);
    }
}

static void on_caught_up(void *data)
{
    const struct etcd_mirror *mirror = data;
    log_debug("caught up with etcd", LOG_INT("revision", mirror->known.revision));
    if (mirror->config.caught_up) {
        mirror->config.caught_up(mirror->config.data);
    }
}

/* The store key was written or deleted. */
static void on_store_events(void *data, const struct etcd_event *events, size_t count,
                            int64_t revision)
{
    struct etcd_mirror *mirror = data;
    const struct etcd_event *last = &events[count - 1];
    struct slice id = last->kind == ETCD_EVENT_PUT ? last->kv.value : slice_of(NULL, 0);
    (void)revision;
    etcd_evidence_set_id(&mirror->known, id);
    mirror->is_marked = false;
    if (mirror->is_holding && is_complete(mirror, id)) {
        want_read(mirror, ETCD_MIRROR_COMPLETE);
        begin_session(mirror);
    }
    tell_seen(mirror, false); /* may end this watch */
}

static void on_store_up(void *data)
{
    (void)data; /* the range's watch reports */
}

static void on_store_watch_end(void *data, const struct err *err)
{
    struct etcd_mirror *mirror = data;
    if (err->code == ERR_COMPACTED) {
        begin_session(mirror);
    } else {
        lose(mirror, err);
    }
}

/* To a watch that misses nothing etcd sends nothing. If it could have missed something, it starts
 * at the last change seen: that change comes again, and the response tells how far it reaches. */
static int64_t start_revision(const struct etcd_mirror *mirror, int64_t newest)
{
    int64_t seen = etcd_evidence_newest(&mirror->known);
    bool is_behind = newest > mirror->known.revision;
    return is_behind && seen > 0 && newest - seen <= AGAIN_MAX ? seen : mirror->known.revision + 1;
}

/* store_revision: where the store key was read; newest: what the store has reached. */
static void follow(struct etcd_mirror *mirror, int64_t store_revision, int64_t newest)
{
    const struct etcd_watch_config range = {
        .key = buf_slice(&mirror->first_key),
        .range_end = slice_of(mirror->range_end, mirror->range_end_len),
        .start_revision = start_revision(mirror, newest),
        .only_now = true,
        .on_events = on_events,
        .on_up = on_up,
        .on_end = on_watch_end,
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
    mirror->phase = PHASE_FOLLOWING;
    mirror->is_other = false;
    log_debug("following etcd", LOG_SLICE("prefix", buf_slice(&mirror->first_key)),
              LOG_INT("from_revision", range.start_revision));
    etcd_catch_up_begin(&mirror->catch_up, mirror->known.revision, newest);
    mirror->watch = etcd_watch_start(mirror->etcd, &range);
    if (store_revision > 0) { /* else we may not read it */
        mirror->store_watch = etcd_watch_start(mirror->etcd, &store);
    }
}

/* ---- Reading everything ---- */

/* Reads at the revision where the store key was read. */
static void read_all(struct etcd_mirror *mirror)
{
    struct etcd_mirror_read *read = &mirror->read;
    read->keeps_old = mirror->config.keeps_old &&
                      (mirror->is_other || (mirror->is_holding && !mirror->is_overdue)) &&
                      !is_complete(mirror, buf_slice(&mirror->fresh.id));
    read->reason = mirror->is_other ? mirror->reason : "";
    mirror->phase = PHASE_READING;
    mirror->store_revision = mirror->fresh.revision;
    mirror->page_count = 0;
    mirror->key_count = 0;
    log_debug("full read started", LOG_SLICE("prefix", buf_slice(&mirror->first_key)),
              LOG_INT("revision", mirror->fresh.revision),
              LOG_STR("cause", etcd_mirror_cause_text(read->cause)),
              LOG_INT("keeps_old", read->keeps_old));
    mirror->is_begun = true;
    mirror->config.full_begin(mirror->config.data, read);
    etcd_pages_read(mirror->pages, mirror->fresh.revision);
}

static void on_read_failed(void *data, const struct err *err)
{
    struct etcd_mirror *mirror = data;
    if (err->code == ERR_TOO_LARGE && etcd_pages_shrink(mirror->pages)) {
        begin_session(mirror);
    } else {
        lose(mirror, err);
    }
}

/* Called just before the owner gets the commit. */
static void read_ended(struct etcd_mirror *mirror)
{
    if (!mirror->read.keeps_old) {
        let_go(mirror);
    } else if (mirror->is_other) {
        hold(mirror);
    }
    struct etcd_evidence before = mirror->known;
    mirror->known = mirror->fresh;
    mirror->fresh = before;
    mirror->must_read = false;
    mirror->last_read_ms = clock_monotonic_ms();
    mirror->counts.reads[mirror->read.cause]++;
    log_debug("full read complete", LOG_INT("keys", (int64_t)mirror->key_count),
              LOG_INT("pages", (int64_t)mirror->page_count),
              LOG_INT("revision", mirror->known.revision));
}

static void on_page(void *data, const struct etcd_range_reply *reply)
{
    struct etcd_mirror *mirror = data;
    const struct etcd_mirror_config *config = &mirror->config;
    if (mirror->fresh.revision == 0) { /* the store key was not readable */
        mirror->fresh.revision = reply->revision;
    }
    for (size_t i = 0; i < reply->count; i++) {
        etcd_evidence_put(&mirror->fresh, &reply->kvs[i]);
        config->put(config->data, &reply->kvs[i]);
    }
    mirror->page_count++;
    mirror->key_count += reply->count;
    log_debug("keys page received", LOG_INT("page", (int64_t)mirror->page_count),
              LOG_INT("keys", (int64_t)reply->count));
    if (reply->more && reply->count > 0) {
        return;
    }
    read_ended(mirror);
    follow(mirror, mirror->store_revision, mirror->known.revision);
    tell_seen(mirror, true);
    mirror->is_begun = false;
    config->commit(config->data, mirror->known.revision, true);
}

/* ---- Which store is it? ---- */

/* Tells the owner when the store key becomes unreadable or unwritable, and when access is back. */
static void tell_key(struct etcd_mirror *mirror, const struct err *err)
{
    bool is_news = mirror->is_key_told != (err != NULL);
    mirror->is_key_told = err != NULL;
    if (is_news && mirror->config.store_key_state) {
        mirror->config.store_key_state(mirror->config.data, err);
    }
}

static void on_other(struct etcd_mirror *mirror, const struct etcd_store_answer *answer)
{
    mirror->is_other = true;
    mirror->must_read = true;
    mirror->read.cause = ETCD_MIRROR_OTHER_STORE;
    (void)snprintf(mirror->reason, sizeof(mirror->reason), "%s", answer->reason);
}

static void on_same(struct etcd_mirror *mirror, const struct etcd_store_answer *answer)
{
    if (mirror->must_read && mirror->read.cause == ETCD_MIRROR_OTHER_STORE) {
        mirror->read.cause = ETCD_MIRROR_UNCERTAIN; /* we briefly reached another store */
    }
    etcd_evidence_set_id(&mirror->known, answer->id); /* it may have got a key since */
    if (mirror->is_holding && is_complete(mirror, answer->id)) {
        want_read(mirror, ETCD_MIRROR_COMPLETE);
    }
    if (answer->newest - mirror->known.revision > LAG_MAX) {
        want_read(mirror, ETCD_MIRROR_LAG);
    }
    if (mirror->noted > mirror->known.written) {
        mirror->known.written = mirror->noted;
    }
    if (mirror->known.written > mirror->known.revision) {
        /* Its events may never come: an older copy of the store that has reached that revision
         * lacks the write. */
        want_read(mirror, ETCD_MIRROR_UNCERTAIN);
    }
    tell_seen(mirror, false);
}

static void on_answer(void *data, const struct etcd_store_answer *answer, const struct err *err)
{
    struct etcd_mirror *mirror = data;
    mirror->question = NULL;
    if (err) {
        lose(mirror, err);
        return;
    }
    mirror->is_other = false;
    log_debug("store id seen", LOG_SLICE("id", answer->id), LOG_STR("verdict", answer->reason),
              LOG_INT("revision", answer->revision));
    if (answer->key_err || answer->id.len || !mirror->was_mark_refused) {
        tell_key(mirror, answer->key_err);
    }
    switch (answer->verdict) {
    case ETCD_STORE_SAME:
        on_same(mirror, answer);
        break;
    case ETCD_STORE_OTHER:
        on_other(mirror, answer);
        break;
    case ETCD_STORE_COMPACTED:
        want_read(mirror, ETCD_MIRROR_COMPACTED);
        break;
    case ETCD_STORE_UNKNOWN:
        want_read(mirror, mirror->known.revision ? ETCD_MIRROR_UNCERTAIN : ETCD_MIRROR_FIRST);
        break;
    }
    if (mirror->must_read) {
        etcd_evidence_clear(&mirror->fresh);
        mirror->fresh.revision = answer->revision;
        etcd_evidence_set_id(&mirror->fresh, answer->id);
        read_all(mirror);
    } else {
        mirror->counts.resumed++;
        log_debug("resuming without a full read", LOG_INT("revision", mirror->known.revision));
        follow(mirror, answer->revision, answer->newest);
    }
}

/* While ASKING, the answer decides on the read anyway. A running read may have begun too early. */
void etcd_mirror_reread(struct etcd_mirror *mirror)
{
    want_read(mirror, ETCD_MIRROR_COMPLETE);
    if (mirror->phase == PHASE_FOLLOWING || mirror->phase == PHASE_READING) {
        begin_session(mirror);
    }
}

static void begin_session(struct etcd_mirror *mirror)
{
    end_session(mirror);
    mirror->phase = PHASE_ASKING;
    mirror->noted = 0;
    mirror->question = etcd_store_ask(
        mirror->etcd, &(struct etcd_store_ask){
                          .store_key = buf_slice(&mirror->store_key),
                          .range = buf_slice(&mirror->first_key),
                          .range_end = slice_of(mirror->range_end, mirror->range_end_len),
                          .evidence = &mirror->known,
                          .cb = on_answer,
                          .data = mirror,
                      });
}

static void on_retry(struct ev_loop *loop, ev_timer *w, int events)
{
    (void)loop;
    (void)events;
    begin_session(w->data);
}

/* ---- The store key ---- */

static void on_mark(void *data, bool is_ours, const struct err *err)
{
    struct etcd_mirror *mirror = data;
    mirror->was_mark_refused = err && err->code == ERR_REFUSED;
    if (!err || mirror->was_mark_refused) {
        tell_key(mirror, err);
    }
    mirror->is_marked = !err;
    mirror->counts.marked += is_ours;
    if (is_ours) {
        log_debug("store id written");
    } else {
        log_debug("store id not written", LOG_STR("reason", err ? err->msg : "there is one"));
    }
}

/* Into both: a running read will replace `known`. While ASKING, the store's answer may predate the
 * write, so the write enters the evidence only after the answer is judged. */
void etcd_mirror_note_write(struct etcd_mirror *mirror, int64_t revision)
{
    if (mirror->phase == PHASE_ASKING) {
        mirror->noted = revision > mirror->noted ? revision : mirror->noted;
        return;
    }
    if (revision > mirror->known.written) {
        mirror->known.written = revision;
    }
    if (revision > mirror->fresh.written) {
        mirror->fresh.written = revision;
    }
}

void etcd_mirror_mark_store(struct etcd_mirror *mirror, const struct etcd_compare *condition)
{
    if (mirror->is_up && mirror->known.id.len == 0 && !mirror->is_marked) {
        etcd_store_mark_try(mirror->mark, condition);
    }
}

/* ---- Ranges and timers ---- */

static void set_range(struct etcd_mirror *mirror, struct slice prefix)
{
    mirror->range_end = xmalloc(prefix.len + 1);
    mirror->range_end_len = etcd_prefix_end(prefix, mirror->range_end).len;
    buf_append_slice(&mirror->first_key, prefix);
    if (prefix.len == 0) {
        buf_append_char(&mirror->first_key, '\0'); /* the smallest possible key */
    }
    if (mirror->range_end_len == 0) {
        mirror->range_end[0] = '\0'; /* for etcd: up to the last key */
        mirror->range_end_len = 1;
    }
}

static void init_timer(struct etcd_mirror *mirror, ev_timer *timer,
                       void (*fn)(struct ev_loop *loop, ev_timer *w, int events))
{
    ev_timer_init(timer, fn, 0.0, 0.0);
    timer->data = mirror;
}

/* ---- Saved and loaded ---- */

static struct etcd_kv witness_kv(const struct etcd_witness *witness)
{
    return (struct etcd_kv){
        .key = buf_slice(&witness->key),
        .value = buf_slice(&witness->value),
        .create_revision = witness->create_revision,
        .mod_revision = witness->mod_revision,
        .version = witness->version,
    };
}

bool etcd_mirror_save(const struct etcd_mirror *mirror, struct buf *out)
{
    const struct etcd_evidence *known = &mirror->known;
    struct etcd_saved saved = {
        .revision = known->revision,
        .written = known->written,
        .id = buf_slice(&known->id),
        .put = witness_kv(&known->put),
        .del = witness_kv(&known->del),
        /* All other causes show again. */
        .wants_read = mirror->must_read && mirror->read.cause == ETCD_MIRROR_COMPLETE,
        .is_holding = mirror->is_holding,
    };
    if (known->revision == 0 || mirror->is_begun) {
        return false;
    }
    if (mirror->is_holding) {
        saved.held_ms = clock_monotonic_ms() - mirror->held_since_ms;
        saved.saved_s = clock_wall_s();
        saved.doubted_id = buf_slice(&mirror->doubted_id);
    }
    etcd_saved_append(&saved, out);
    return true;
}

bool etcd_mirror_is_saved(struct slice bytes)
{
    struct etcd_saved saved;
    return etcd_saved_read(bytes, &saved);
}

static void load(struct etcd_mirror *mirror, struct slice bytes)
{
    struct etcd_saved saved;
    if (!etcd_saved_read(bytes, &saved)) {
        return; /* nothing is known: read everything */
    }
    mirror->known.revision = saved.revision;
    mirror->known.written = saved.written;
    etcd_evidence_set_id(&mirror->known, saved.id);
    etcd_evidence_put(&mirror->known, &saved.put);
    etcd_evidence_del(&mirror->known, saved.del.key, saved.del.mod_revision);
    if (saved.wants_read) {
        want_read(mirror, ETCD_MIRROR_COMPLETE);
    }
    if (saved.is_holding) {
        buf_append_slice(&mirror->doubted_id, saved.doubted_id);
        hold_since(mirror, etcd_saved_held_ms(&saved, clock_wall_s()));
    }
}

/* ---- Life ---- */

struct etcd_mirror *etcd_mirror_start(struct etcd *etcd, const struct etcd_mirror_config *config)
{
    struct etcd_mirror *mirror = xcalloc(1, sizeof(*mirror));
    mirror->etcd = etcd;
    mirror->config = *config;
    buf_init(&mirror->first_key, KEY_MAX);
    buf_init(&mirror->store_key, KEY_MAX);
    buf_init(&mirror->doubted_id, KEY_MAX);
    etcd_evidence_init(&mirror->known);
    etcd_evidence_init(&mirror->fresh);
    buf_append_slice(&mirror->store_key, config->store_key);
    set_range(mirror, config->prefix);
    mirror->pages = etcd_pages_new(&(struct etcd_pages_config){
        .etcd = etcd,
        .first_key = buf_slice(&mirror->first_key),
        .range_end = slice_of(mirror->range_end, mirror->range_end_len),
        .page_size = config->page_size,
        .page = on_page,
        .failed = on_read_failed,
        .data = mirror,
    });
    backoff_init(&mirror->backoff, BACKOFF_REMOTE_FIRST_MS, BACKOFF_REMOTE_MAX_MS);
    init_timer(mirror, &mirror->retry, on_retry);
    init_timer(mirror, &mirror->stale, on_stale);
    etcd_catch_up_init(&mirror->catch_up, etcd_loop(etcd), on_caught_up, mirror);
    mirror->mark = etcd_store_mark_new(etcd, buf_slice(&mirror->store_key), on_mark, mirror);
    load(mirror, config->saved);
    mirror->config.saved = slice_of(NULL, 0); /* the owner's */
    begin_session(mirror);
    return mirror;
}

void etcd_mirror_stop(struct etcd_mirror *mirror)
{
    if (!mirror) {
        return;
    }
    end_session(mirror);
    ev_timer_stop(etcd_loop(mirror->etcd), &mirror->stale);
    etcd_store_mark_free(mirror->mark);
    etcd_pages_free(mirror->pages);
    etcd_evidence_fini(&mirror->known);
    etcd_evidence_fini(&mirror->fresh);
    buf_fini(&mirror->first_key);
    buf_fini(&mirror->store_key);
    buf_fini(&mirror->doubted_id);
    free(mirror->range_end);
    free(mirror);
}

struct etcd_mirror_counts etcd_mirror_counts(const struct etcd_mirror *mirror)
{
    struct etcd_mirror_counts counts = mirror->counts;
    counts.revision = mirror->known.revision;
    counts.is_following = mirror->is_up;
    counts.has_store_key = mirror->known.id.len > 0;
    counts.is_caught_up = mirror->catch_up.is_done;
    counts.is_marking = etcd_store_mark_is_under_way(mirror->mark);
    counts.is_holding_old = mirror->is_holding;
    counts.holding_ms = mirror->is_holding ? clock_monotonic_ms() - mirror->held_since_ms : 0;
    return counts;
}
