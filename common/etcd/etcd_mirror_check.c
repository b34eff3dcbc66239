/* Checks whether the mirrored data set is still there, and the watch alive. */
#include "common/base/attributes.h"
#include "common/base/backoff.h"
#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/base/timer.h"
#include "common/etcd/etcd_link_internal.h"
#include "common/etcd/etcd_mirror_internal.h"

/* Bounds the time between two checks. A reader behind a proxy may miss changes for that long; 1,000
 * readers cost etcd a hundred small reads a second. */
enum { CHECK_MS = 10000 };

static int64_t every_ms(const struct etcd_mirror *mirror)
{
    return mirror->config.check_ms ? mirror->config.check_ms : CHECK_MS;
}

/* Schedules the check somewhat earlier: readers that began together should not read together. */
static void etcd_mirror_check_schedule(struct etcd_mirror *mirror, int64_t wait_ms,
                                       int64_t earlier_ms)
{
    struct ev_loop *loop = etcd_loop(mirror->etcd);
    wait_ms -= backoff_random() % (earlier_ms + 1);
    ev_now_update(loop);
    timer_arm_ms(loop, &mirror->check, wait_ms);
}

static void schedule_next(struct etcd_mirror *mirror)
{
    int64_t usual_ms = every_ms(mirror);
    /* A suspicion is settled soon, but not before its timeout has passed. */
    int64_t settle_ms = mirror->silence.timeout_ms * 4 / 3 + 1;
    int64_t wait_ms = mirror->silence.unheard && settle_ms < usual_ms ? settle_ms : usual_ms;
    etcd_mirror_check_schedule(mirror, wait_ms, wait_ms / 4);
}

/* Returns whether the response shows another store key. Its watch has told of it, or will: a new
 * session settles it in both cases. */
static bool is_other_key(const struct etcd_mirror *mirror, const struct etcd_range_reply *reply)
{
    struct slice id = reply->count > 0 ? reply->kvs[0].value : slice_of(NULL, 0);
    return mirror->store_watch && !slice_equal(id, buf_slice(&mirror->known.id));
}

static int64_t etcd_mirror_check_note_sign_of_life(const struct etcd_mirror *mirror)
{
    int64_t told = etcd_watch_told(mirror->watch);
    return told > mirror->known.revision ? told : mirror->known.revision;
}

static void begin_anew(struct etcd_mirror *mirror)
{
    mirror->counts.silences++;
    mirror->is_range_shifted = !mirror->is_range_shifted;
    log_debug("watch is silent, restarting it",
              LOG_INT("heard", etcd_mirror_check_note_sign_of_life(mirror)),
              LOG_INT("reads", mirror->must_read));
    etcd_mirror_begin_session(mirror);
}

static void read_anew(struct etcd_mirror *mirror, enum etcd_mirror_cause cause)
{
    etcd_mirror_note_behind(mirror, mirror->silence.since_ms);
    etcd_mirror_want_read(mirror, cause);
    begin_anew(mirror);
}

/* Compares etcd's key count at the doubted revision with what the watch has delivered. */
static void on_counted(void *data, const struct etcd_range_reply *reply, const struct err *err)
{
    struct etcd_mirror *mirror = data;
    mirror->check_call = NULL;
    if (err) {
        etcd_mirror_lose(mirror, err);
    } else if (mirror->silence.doubted == 0 ||
               etcd_mirror_check_note_sign_of_life(mirror) >= mirror->silence.doubted) {
        schedule_next(mirror); /* the watch has delivered meanwhile */
    } else if (reply->total != mirror->held_keys) {
        log_debug("changes of the watch are missing", LOG_INT("keys", reply->total),
                  LOG_INT("told", mirror->held_keys));
        read_anew(mirror, ETCD_MIRROR_LAG);
    } else {
        begin_anew(mirror);
    }
}

static void count_keys(struct etcd_mirror *mirror)
{
    const struct etcd_range range = {
        .key = buf_slice(&mirror->first_key),
        .range_end = slice_of(mirror->range_end, mirror->range_end_len),
        .limit = 1,
        .revision = mirror->silence.doubted,
        .keys_only = true,
    };
    mirror->check_call = etcd_watch_range(mirror->etcd, &range, true, on_counted, mirror);
}

/* Tells whether the writer of a store that is not known to be complete has found it so, also if no
 * watch tells. */
static void etcd_mirror_check_on_serial(void *data, const struct etcd_range_reply *reply,
                                        const struct err *err)
{
    struct etcd_mirror *mirror = data;
    mirror->check_call = NULL;
    if (err) {
        etcd_mirror_lose(mirror, err);
    } else if (reply->count > 0 &&
               etcd_mirror_is_serial_new(mirror, etcd_serial_of(&reply->kvs[0]))) {
        etcd_mirror_begin_session(mirror);
    } else {
        schedule_next(mirror);
    }
}

static void etcd_mirror_check_ask_serial(struct etcd_mirror *mirror)
{
    const struct etcd_range range = {.key = buf_slice(&mirror->serial_key)};
    mirror->check_call =
        etcd_watch_range(mirror->etcd, &range, true, etcd_mirror_check_on_serial, mirror);
}

static void etcd_mirror_check_on_reply(void *data, const struct etcd_range_reply *reply,
                                       const struct err *err)
{
    struct etcd_mirror *mirror = data;
    mirror->check_call = NULL;
    mirror->counts.checks++;
    if (err) {
        etcd_mirror_lose(mirror, err);
    } else if (reply->revision < mirror->checked_at || is_other_key(mirror, reply)) {
        log_debug("perhaps another data set", LOG_INT("revision", reply->revision),
                  LOG_INT("known", mirror->checked_at));
        etcd_mirror_begin_session(mirror);
    } else if (etcd_silence_is_suspect(&mirror->silence, reply->revision,
                                       etcd_mirror_check_note_sign_of_life(mirror),
                                       clock_monotonic_ms())) {
        if (etcd_silence_is_hopeless(&mirror->silence)) {
            read_anew(mirror, ETCD_MIRROR_UNCERTAIN);
        } else {
            count_keys(mirror);
        }
    } else if (mirror->is_holding && mirror->serial_watch) {
        etcd_mirror_check_ask_serial(mirror);
    } else {
        schedule_next(mirror);
    }
}

/* Reads the store key, or, if that may not be read, the first key of the range. */
static void etcd_mirror_check_on_timer(struct ev_loop *loop UNUSED, ev_timer *timer,
                                       int events UNUSED)
{
    struct etcd_mirror *mirror = timer->data;
    const struct etcd_range range = {
        .key = buf_slice(mirror->store_watch ? &mirror->store_key : &mirror->first_key),
    };
    if (mirror->is_behind) {
        etcd_mirror_want_read(mirror, ETCD_MIRROR_LAG);
        etcd_mirror_begin_session(mirror);
        return;
    }
    mirror->checked_at = mirror->known.revision;
    mirror->check_call =
        etcd_watch_range(mirror->etcd, &range, true, etcd_mirror_check_on_reply, mirror);
}

void etcd_mirror_check_init(struct etcd_mirror *mirror)
{
    etcd_silence_init(&mirror->silence);
    timer_init(&mirror->check, etcd_mirror_check_on_timer, mirror);
    /* Runs after what has arrived is read: this process may have been stopped for longer than the
     * timeout. */
    ev_set_priority(&mirror->check, EV_MINPRI);
}

void etcd_mirror_check_begin(struct etcd_mirror *mirror)
{
    etcd_silence_begin(&mirror->silence);
    etcd_mirror_check_schedule(mirror, every_ms(mirror), every_ms(mirror) * 9 / 10);
}

void etcd_mirror_check_end(struct etcd_mirror *mirror)
{
    ev_timer_stop(etcd_loop(mirror->etcd), &mirror->check);
    if (mirror->check_call) {
        etcd_call_cancel(mirror->check_call);
        mirror->check_call = NULL;
    }
}
