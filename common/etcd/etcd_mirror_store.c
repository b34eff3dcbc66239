/* Decides whether a mirror reads or resumes, and when keys of an earlier data set are dropped. */
#include <stdio.h>

#include "common/base/attributes.h"
#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/base/timer.h"
#include "common/etcd/etcd_link_internal.h"
#include "common/etcd/etcd_mirror_internal.h"
#include "common/etcd/etcd_saved_internal.h"

/* ---- Holding the keys of an earlier data set ---- */

/* Returns whether its writer has marked the data set complete. The store key of one whose keys we
 * hold proves nothing: a copy of that data set has it, too. */
static bool is_marked_complete(const struct etcd_mirror *mirror, struct slice id)
{
    bool is_known = mirror->is_other && slice_equal(id, buf_slice(&mirror->known.id));
    bool is_doubted = mirror->is_holding && slice_equal(id, buf_slice(&mirror->doubted_id));
    return id.len > 0 && !is_known && !is_doubted;
}

bool etcd_mirror_is_serial_new(const struct etcd_mirror *mirror, struct etcd_serial serial)
{
    return mirror->is_holding && mirror->doubted_serial.is_there
               ? serial.is_there && serial.value != mirror->doubted_serial.value
               : etcd_serial_is_after(serial, mirror->known.serial);
}

/* Returns whether the store's writer has found it complete, by store key and serial. A store just
 * met (is_met) may come from a backup whose store key we never saw. So its serial decides, if both
 * it and ours are known. */
static bool is_found_complete(const struct etcd_mirror *mirror,
                              const struct etcd_store_answer *answer, bool is_met)
{
    const struct etcd_serial latest = mirror->known.serial;
    if (is_met && answer->serial.is_there && latest.is_there) {
        return etcd_serial_is_after(answer->serial, latest);
    }
    return is_marked_complete(mirror, answer->id) ||
           (!is_met && etcd_mirror_is_serial_new(mirror, answer->serial));
}

static struct etcd_serial later_serial(struct etcd_serial a, struct etcd_serial b)
{
    return !a.is_there || etcd_serial_is_after(b, a) ? b : a;
}

void etcd_mirror_accept_serial(struct etcd_mirror *mirror)
{
    mirror->known.serial = later_serial(mirror->known.serial, mirror->asked_serial);
}

/* Holds the keys from now on, as if that had begun held_ms ago. */
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
        timer_arm_ms(loop, &mirror->stale, left_ms);
    }
}

static void etcd_mirror_store_withhold(struct etcd_mirror *mirror)
{
    const struct buf *id = mirror->fresh.id.len ? &mirror->fresh.id : &mirror->known.id;
    if (!mirror->is_holding || id->len) { /* else keep the doubted id */
        buf_clear(&mirror->doubted_id);
        buf_append_slice(&mirror->doubted_id, buf_slice(id));
    }
    mirror->doubted_serial = mirror->fresh.serial;
    log_debug("holding the keys of an earlier data set",
              LOG_INT("stale_max_ms", mirror->config.stale_max_ms));
    hold_since(mirror, 0);
}

static void let_go(struct etcd_mirror *mirror)
{
    if (mirror->is_holding) {
        log_debug("releasing the keys of an earlier data set",
                  LOG_INT("held_ms", clock_monotonic_ms() - mirror->held_since_ms));
        mirror->is_id_old = false;
    }
    mirror->is_holding = false;
    mirror->is_overdue = false;
    ev_timer_stop(etcd_loop(mirror->etcd), &mirror->stale);
}

static void on_stale(struct ev_loop *loop UNUSED, ev_timer *w, int events UNUSED)
{
    struct etcd_mirror *mirror = w->data;
    mirror->is_overdue = true;
    etcd_mirror_want_read(mirror, ETCD_MIRROR_STALE);
    etcd_mirror_ask_again(mirror);
}

bool etcd_mirror_ends_holding(const struct etcd_mirror *mirror, struct slice id)
{
    return mirror->is_holding && is_marked_complete(mirror, id);
}

bool etcd_mirror_keeps_old(const struct etcd_mirror *mirror)
{
    return mirror->config.keeps_old &&
           (mirror->is_other || (mirror->is_holding && !mirror->is_overdue)) &&
           !mirror->is_complete;
}

static void set_id_old(struct etcd_mirror *mirror)
{
    bool is_same = slice_equal(buf_slice(&mirror->fresh.id), buf_slice(&mirror->known.id));
    mirror->is_id_old = mirror->is_other ? mirror->fresh.id.len > 0 && !mirror->is_complete
                                         : mirror->is_id_old && is_same;
}

void etcd_mirror_was_read(struct etcd_mirror *mirror)
{
    if (!mirror->read.keeps_old) {
        let_go(mirror);
    } else if (mirror->is_other) {
        etcd_mirror_store_withhold(mirror);
    }
    set_id_old(mirror);
    mirror->fresh.serial = later_serial(mirror->known.serial, mirror->fresh.serial);
    mirror->last = (struct etcd_digest){.revision = 0};
    mirror->is_refuted = false;
    struct etcd_evidence before = mirror->known;
    mirror->known = mirror->fresh;
    mirror->fresh = before;
}

/* ---- Whether to read or to follow ---- */

/* Notes another data set, by the witnesses, or by a watch that showed more than they do. */
static void on_other(struct etcd_mirror *mirror, const struct etcd_store_answer *answer)
{
    if (answer->verdict == ETCD_STORE_OTHER) {
        (void)snprintf(mirror->reason, sizeof(mirror->reason), "%s", answer->reason);
    } else {
        (void)snprintf(mirror->reason, sizeof(mirror->reason),
                       "it made other changes at revision %lld", (long long)mirror->last.revision);
    }
    etcd_mirror_want_read(mirror, ETCD_MIRROR_OTHER_STORE);
    mirror->read.cause = ETCD_MIRROR_OTHER_STORE;
}

static void on_same(struct etcd_mirror *mirror, const struct etcd_store_answer *answer)
{
    if (mirror->must_read && mirror->read.cause == ETCD_MIRROR_OTHER_STORE) {
        mirror->read.cause = ETCD_MIRROR_UNCERTAIN; /* we briefly reached another data set */
    }
    if (mirror->is_holding && mirror->is_complete) {
        etcd_mirror_want_read(mirror, ETCD_MIRROR_COMPLETE);
    }
    if (!slice_equal(answer->id, buf_slice(&mirror->known.id))) { /* written since */
        mirror->counts.marked +=
            mirror->own_id[0] && slice_equal(answer->id, slice_str(mirror->own_id));
        mirror->is_id_old = mirror->is_marked = false;
        etcd_evidence_set_id(&mirror->known, answer->id);
    }
    if (answer->newest - mirror->known.revision > ETCD_MIRROR_LAG_MAX) {
        etcd_mirror_want_read(mirror, ETCD_MIRROR_LAG);
    }
    if (mirror->noted > mirror->known.written) {
        mirror->known.written = mirror->noted;
    }
    if (mirror->known.written > mirror->known.revision) {
        /* The write's events may never come: an older copy of the data set that has reached that
         * revision lacks it. */
        etcd_mirror_want_read(mirror, ETCD_MIRROR_UNCERTAIN);
    }
    etcd_mirror_tell_seen(mirror, false);
}

static void etcd_mirror_store_on_answer(void *data, const struct etcd_store_answer *answer,
                                        const struct err *err)
{
    struct etcd_mirror *mirror = data;
    mirror->question = NULL;
    if (err) {
        etcd_mirror_lose(mirror, err);
        return;
    }
    const enum etcd_store_verdict verdict = mirror->is_refuted ? ETCD_STORE_OTHER : answer->verdict;
    mirror->is_other = verdict == ETCD_STORE_OTHER;
    mirror->is_complete = is_found_complete(mirror, answer, verdict != ETCD_STORE_SAME);
    mirror->can_read_serial = answer->can_read_serial;
    log_debug("store key seen", LOG_SLICE("id", answer->id), LOG_STR("verdict", answer->reason),
              LOG_INT("revision", answer->revision));
    if (answer->key_err || answer->id.len || !mirror->was_mark_refused) {
        etcd_mirror_tell_key(mirror, answer->key_err);
    }
    switch (verdict) {
    case ETCD_STORE_SAME:
        on_same(mirror, answer);
        break;
    case ETCD_STORE_OTHER:
        on_other(mirror, answer);
        break;
    case ETCD_STORE_COMPACTED:
        etcd_mirror_want_read(mirror, ETCD_MIRROR_COMPACTED);
        break;
    case ETCD_STORE_UNKNOWN:
        etcd_mirror_want_read(mirror,
                              mirror->known.revision ? ETCD_MIRROR_UNCERTAIN : ETCD_MIRROR_FIRST);
        break;
    }
    if (mirror->must_read) {
        etcd_evidence_clear(&mirror->fresh);
        mirror->fresh.revision = answer->revision;
        etcd_evidence_set_id(&mirror->fresh, answer->id);
        mirror->fresh.serial = answer->serial;
        etcd_mirror_read_all(mirror);
    } else {
        mirror->counts.resumed++;
        mirror->asked_serial = answer->serial;
        log_debug("resuming without a full read", LOG_INT("revision", mirror->known.revision));
        mirror->is_seen_compacted = answer->is_seen_compacted;
        etcd_mirror_follow(mirror, answer->revision, answer->newest);
        if (!mirror->is_replaying) {
            etcd_mirror_accept_serial(mirror);
        }
    }
}

void etcd_mirror_ask(struct etcd_mirror *mirror)
{
    mirror->phase = PHASE_ASKING;
    mirror->noted = 0;
    mirror->question = etcd_store_ask(
        mirror->etcd, &(struct etcd_store_ask){
                          .store_key = buf_slice(&mirror->store_key),
                          .serial_key = buf_slice(&mirror->serial_key),
                          .range = buf_slice(&mirror->first_key),
                          .range_end = slice_of(mirror->range_end, mirror->range_end_len),
                          .evidence = &mirror->known,
                          .is_key_old = mirror->is_id_old,
                          .cb = etcd_mirror_store_on_answer,
                          .data = mirror,
                      });
}

/* ---- What the owner has written ---- */

/* Enters the write into both: a running read will replace `known`. While ASKING, etcd's answer may
 * predate the write, so the write enters the evidence only after the answer is judged. */
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

/* ---- What outlives the process ---- */

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
        .serial = known->serial,
        .put = witness_kv(&known->put),
        .del = witness_kv(&known->del),
        /* All other causes show again by themselves. */
        .wants_read = mirror->must_read && mirror->read.cause == ETCD_MIRROR_COMPLETE,
        .last = mirror->last,
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

static void etcd_mirror_store_load(struct etcd_mirror *mirror, struct slice bytes)
{
    struct etcd_saved saved;
    if (!etcd_saved_read(bytes, &saved)) {
        return; /* nothing is known: read everything */
    }
    mirror->known.revision = saved.revision;
    mirror->known.written = saved.written;
    etcd_evidence_set_id(&mirror->known, saved.id);
    mirror->known.serial = saved.serial;
    etcd_evidence_put(&mirror->known, &saved.put);
    etcd_evidence_del(&mirror->known, saved.del.key, saved.del.mod_revision);
    mirror->last = saved.last;
    if (saved.wants_read) {
        etcd_mirror_want_read(mirror, ETCD_MIRROR_COMPLETE);
    }
    if (saved.is_holding) {
        buf_append_slice(&mirror->doubted_id, saved.doubted_id);
        hold_since(mirror, etcd_saved_held_ms(&saved, clock_wall_s()));
    }
}

/* ---- Life ---- */

void etcd_mirror_store_init(struct etcd_mirror *mirror)
{
    etcd_evidence_init(&mirror->known);
    etcd_evidence_init(&mirror->fresh);
    buf_init(&mirror->doubted_id, ETCD_MIRROR_KEY_MAX);
    timer_init(&mirror->stale, on_stale, mirror);
    etcd_mirror_store_load(mirror, mirror->config.saved);
}

void etcd_mirror_store_fini(struct etcd_mirror *mirror)
{
    ev_timer_stop(etcd_loop(mirror->etcd), &mirror->stale);
    etcd_evidence_fini(&mirror->known);
    etcd_evidence_fini(&mirror->fresh);
    buf_fini(&mirror->doubted_id);
}
