#include "common/etcd/etcd_mirror.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/attributes.h"
#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/base/timer.h"
#include "common/base/xalloc.h"
#include "common/etcd/etcd_link_internal.h"
#include "common/etcd/etcd_mirror_internal.h"

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
    etcd_watch_stop(mirror->watch);
    etcd_watch_stop(mirror->store_watch);
    etcd_watch_stop(mirror->serial_watch);
    mirror->question = NULL;
    mirror->watch = NULL;
    mirror->store_watch = NULL;
    mirror->serial_watch = NULL;
    mirror->is_up = false;
    mirror->is_marked = false;
    etcd_catch_up_end(&mirror->catch_up);
    etcd_mirror_check_end(mirror);
    mirror->phase = PHASE_WAITING;
}

void etcd_mirror_lose(struct etcd_mirror *mirror, const struct err *err)
{
    end_session(mirror);
    etcd_pages_reset(mirror->pages); /* another member may send larger ones */
    uint32_t delay_ms = backoff_next_ms(&mirror->backoff, backoff_random());
    log_debug("mirror interrupted", LOG_STR("reason", err->msg), LOG_INT("retry_ms", delay_ms));
    timer_arm_ms(etcd_loop(mirror->etcd), &mirror->retry, delay_ms);
    /* A compaction between two pages is no etcd outage. */
    if (err->code != ERR_COMPACTED) {
        mirror->config.state(mirror->config.data, err);
    }
}

void etcd_mirror_begin_session(struct etcd_mirror *mirror)
{
    end_session(mirror);
    etcd_mirror_ask(mirror);
}

static void etcd_mirror_on_retry(struct ev_loop *loop UNUSED, ev_timer *w, int events UNUSED)
{
    etcd_mirror_begin_session(w->data);
}

void etcd_mirror_want_read(struct etcd_mirror *mirror, enum etcd_mirror_cause cause)
{
    if (!mirror->must_read) {
        mirror->must_read = true;
        mirror->read.cause = cause;
        etcd_mirror_note_behind(mirror, clock_monotonic_ms());
        log_debug("full read needed", LOG_STR("cause", etcd_mirror_cause_text(cause)));
    }
}

void etcd_mirror_note_behind(struct etcd_mirror *mirror, int64_t since_ms)
{
    if (mirror->behind_since_ms == 0) {
        mirror->behind_since_ms = since_ms;
    }
}

void etcd_mirror_ask_again(struct etcd_mirror *mirror)
{
    if (mirror->phase != PHASE_WAITING) {
        etcd_mirror_begin_session(mirror);
    }
}

/* Wants another read, since a running one may have begun too early. While ASKING, the answer
 * decides on the read anyway. */
void etcd_mirror_reread(struct etcd_mirror *mirror)
{
    etcd_mirror_want_read(mirror, ETCD_MIRROR_COMPLETE);
    if (mirror->phase == PHASE_FOLLOWING || mirror->phase == PHASE_READING) {
        etcd_mirror_begin_session(mirror);
    }
}

/* ---- Reading everything ---- */

void etcd_mirror_read_all(struct etcd_mirror *mirror)
{
    struct etcd_mirror_read *read = &mirror->read;
    read->keeps_old = etcd_mirror_keeps_old(mirror);
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
        etcd_mirror_begin_session(mirror);
    } else {
        etcd_mirror_lose(mirror, err);
    }
}

/* Runs just before the owner gets the commit. */
static void read_ended(struct etcd_mirror *mirror)
{
    etcd_mirror_was_read(mirror);
    mirror->must_read = false;
    mirror->behind_since_ms = 0;
    mirror->held_keys = (int64_t)mirror->key_count;
    mirror->last_read_ms = clock_monotonic_ms();
    mirror->counts.reads[mirror->read.cause]++;
    log_debug("full read complete", LOG_INT("keys", (int64_t)mirror->key_count),
              LOG_INT("pages", (int64_t)mirror->page_count),
              LOG_INT("revision", mirror->known.revision));
}

static void etcd_mirror_on_page(void *data, const struct etcd_range_reply *reply)
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
    etcd_mirror_follow(mirror, mirror->store_revision, mirror->known.revision);
    etcd_mirror_tell_seen(mirror, true);
    mirror->is_begun = false;
    config->commit(config->data, mirror->known.revision, true);
}

/* ---- The store key ---- */

void etcd_mirror_tell_key(struct etcd_mirror *mirror, const struct err *err)
{
    bool is_news = mirror->is_key_told != (err != NULL);
    mirror->is_key_told = err != NULL;
    if (is_news && mirror->config.store_key_state) {
        mirror->config.store_key_state(mirror->config.data, err);
    }
}

void etcd_mirror_tell_seen(const struct etcd_mirror *mirror, bool has_read)
{
    if (mirror->config.store_key_seen) {
        mirror->config.store_key_seen(mirror->config.data, buf_slice(&mirror->known.id), has_read);
    }
}

/* Returns whether the store lacks a key of its own: it has none, or one that came with a backup. */
static bool lacks_key(const struct etcd_mirror *mirror)
{
    return mirror->known.id.len == 0 || mirror->is_id_old;
}

static void on_mark(void *data, bool is_ours, const struct err *err)
{
    struct etcd_mirror *mirror = data;
    mirror->was_mark_refused = err && err->code == ERR_REFUSED;
    if (!err || mirror->was_mark_refused) {
        etcd_mirror_tell_key(mirror, err);
    }
    mirror->is_marked = !err && lacks_key(mirror); /* else the event came first */
    mirror->counts.marked += is_ours;
    if (is_ours) {
        log_debug("store key written");
    } else {
        log_debug("store key not written", LOG_STR("reason", err ? err->msg : "there is one"));
    }
}

void etcd_mirror_mark_store(struct etcd_mirror *mirror, const struct etcd_compare *condition)
{
    if (mirror->is_up && lacks_key(mirror) && !mirror->is_marked) {
        etcd_store_mark_try(mirror->mark, buf_slice(&mirror->known.id), condition);
    }
}

struct etcd_call *etcd_mirror_txn(struct etcd_mirror *mirror, const struct etcd_txn *txn,
                                  etcd_txn_cb cb, void *data)
{
    struct etcd_compare compares[ETCD_MIRROR_TXN_MAX + 1];
    struct etcd_op ops[ETCD_MIRROR_TXN_MAX + 1];
    const struct etcd_txn with_key = {.compares = compares,
                                      .compare_count = txn->compare_count + 1,
                                      .ops = ops,
                                      .op_count = txn->op_count + 1};
    assert(txn->compare_count <= ETCD_MIRROR_TXN_MAX && txn->op_count <= ETCD_MIRROR_TXN_MAX);
    if (!mirror->is_up) {
        return NULL;
    }
    if (!mirror->is_id_old || !etcd_store_id_random(mirror->own_id)) {
        return etcd_watch_txn(mirror->etcd, txn, cb, data);
    }
    memcpy(compares, txn->compares, txn->compare_count * sizeof(compares[0]));
    memcpy(ops, txn->ops, txn->op_count * sizeof(ops[0]));
    compares[txn->compare_count] = (struct etcd_compare){.target = ETCD_COMPARE_VALUE,
                                                         .key = buf_slice(&mirror->store_key),
                                                         .value = buf_slice(&mirror->known.id)};
    ops[txn->op_count] = (struct etcd_op){.kind = ETCD_OP_PUT,
                                          .key = buf_slice(&mirror->store_key),
                                          .value = slice_str(mirror->own_id)};
    return etcd_watch_txn(mirror->etcd, &with_key, cb, data);
}

/* ---- Life ---- */

/* Sets two ranges of the same one key, as set_range does: just the key, and from it up to the next
 * possible one. */
static void set_one_key(struct etcd_mirror *mirror, struct slice key)
{
    buf_append_slice(&mirror->first_key, key);
    buf_append_slice(&mirror->shifted_end, key);
    buf_append_char(&mirror->shifted_end, '\0');
}

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
    buf_append_slice(&mirror->shifted_end, prefix);
    buf_append_slice(&mirror->shifted_end, slice_str("\xff\xff\xff\xff\xff\xff\xff\xff"));
}

/* Names the serial's key: the store key's with another last part. A mirror of one key that keeps
 * nothing of an earlier data set has no use for it. */
static void set_serial_key(struct etcd_mirror *mirror)
{
    static const char from[] = "/store", to[] = "/serial";
    const size_t tail = sizeof(from) - 1;
    struct slice key = buf_slice(&mirror->store_key);
    bool is_named_so = key.len > tail && memcmp(key.ptr + key.len - tail, from, tail) == 0;
    if (is_named_so && (!mirror->config.is_one_key || mirror->config.keeps_old)) {
        buf_append_slice(&mirror->serial_key, slice_of(key.ptr, key.len - tail));
        buf_append_slice(&mirror->serial_key, slice_str(to));
    }
}

struct etcd_mirror *etcd_mirror_start(struct etcd *etcd, const struct etcd_mirror_config *config)
{
    struct etcd_mirror *mirror = xcalloc(1, sizeof(*mirror));
    mirror->etcd = etcd;
    mirror->config = *config;
    mirror->held_keys = -1;
    buf_init(&mirror->first_key, ETCD_MIRROR_KEY_MAX);
    buf_init(&mirror->shifted_end, ETCD_MIRROR_KEY_MAX + 8);
    buf_init(&mirror->store_key, ETCD_MIRROR_KEY_MAX);
    buf_append_slice(&mirror->store_key, config->store_key);
    buf_init(&mirror->serial_key, ETCD_MIRROR_KEY_MAX);
    set_serial_key(mirror);
    if (config->is_one_key) {
        set_one_key(mirror, config->prefix);
    } else {
        set_range(mirror, config->prefix);
    }
    mirror->pages = etcd_pages_new(&(struct etcd_pages_config){
        .etcd = etcd,
        .first_key = buf_slice(&mirror->first_key),
        .range_end = slice_of(mirror->range_end, mirror->range_end_len),
        .page_size = config->page_size,
        .page = etcd_mirror_on_page,
        .failed = on_read_failed,
        .data = mirror,
    });
    backoff_init(&mirror->backoff, BACKOFF_REMOTE_FIRST_MS, BACKOFF_REMOTE_MAX_MS);
    timer_init(&mirror->retry, etcd_mirror_on_retry, mirror);
    etcd_mirror_follow_init(mirror);
    etcd_mirror_check_init(mirror);
    mirror->mark = etcd_store_mark_new(etcd, buf_slice(&mirror->store_key), on_mark, mirror);
    etcd_mirror_store_init(mirror);
    mirror->config.saved = slice_of(NULL, 0); /* borrowed from the owner */
    etcd_mirror_begin_session(mirror);
    return mirror;
}

void etcd_mirror_stop(struct etcd_mirror *mirror)
{
    if (!mirror) {
        return;
    }
    end_session(mirror);
    etcd_mirror_store_fini(mirror);
    etcd_store_mark_free(mirror->mark);
    etcd_pages_free(mirror->pages);
    buf_fini(&mirror->first_key);
    buf_fini(&mirror->shifted_end);
    buf_fini(&mirror->store_key);
    buf_fini(&mirror->serial_key);
    free(mirror->range_end);
    free(mirror);
}

struct etcd_mirror_counts etcd_mirror_counts(const struct etcd_mirror *mirror)
{
    struct etcd_mirror_counts counts = mirror->counts;
    const int64_t now_ms = clock_monotonic_ms();
    counts.revision = mirror->known.revision;
    counts.is_following = mirror->is_up;
    counts.has_store_key = mirror->known.id.len > 0;
    counts.is_caught_up = mirror->catch_up.is_done;
    counts.is_marking = etcd_store_mark_is_under_way(mirror->mark);
    counts.is_holding_old = mirror->is_holding;
    counts.holding_ms = mirror->is_holding ? now_ms - mirror->held_since_ms : 0;
    counts.behind_ms = mirror->behind_since_ms ? now_ms - mirror->behind_since_ms : 0;
    return counts;
}
