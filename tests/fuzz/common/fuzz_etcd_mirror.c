/* common/etcd/etcd_mirror.h under any sequence of changes, outages, compactions, losses and
 * restores of the store, and of readers that are replaced by others that start from one of the last
 * states saved: told that it has caught up, the owner has what the store has. Each byte decides one
 * thing.
 *
 * etcd and its connections are modelled here (the calls below the mirror are stubs), as is the
 * monotonic clock. */
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "common/base/arena.h"
#include "common/base/err.h"
#include "common/base/xalloc.h"
#include "common/etcd/etcd_link_internal.h"
#include "common/etcd/etcd_mirror.h"
#include "common/etcd/etcd_saved_internal.h"
#include "common/etcd/etcd_watch.h"
#include "tests/fuzz/fuzz_target.h"

enum {
    STEPS_MAX = 400,
    KEYS = 6, /* of the range; the number KEYS is the store key */
    CHANGES_MAX = 2 * STEPS_MAX,
    FAR = 1500, /* other keys' revisions: too many to start that far back */
    BATCH = 3,  /* etcd's 1,000 */
    CALLS_MAX = 8,
    WATCHES_MAX = 2,
    SAVED_MAX = 4, /* states kept, the newest last */
    TICK_MS = 100, /* etcd brings watches up to date this often */
    TICKS_MAX = 100,
};

#define CHECK(condition)                                                          \
    do {                                                                          \
        if (!(condition)) {                                                       \
            (void)fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition); \
            abort();                                                              \
        }                                                                         \
    } while (0)

/* ---- Time ---- */

static int64_t now_ms = 1000;

int clock_gettime(clockid_t id, struct timespec *ret)
{
    if (id != CLOCK_MONOTONIC) {
        return (int)syscall(SYS_clock_gettime, id, ret);
    }
    *ret = (struct timespec){.tv_sec = now_ms / 1000, .tv_nsec = now_ms % 1000 * 1000000};
    return 0;
}

static struct ev_loop *loop;

/* ---- The input ---- */

static const uint8_t *input;
static size_t input_left;

static unsigned etcd_mirror_below(unsigned n)
{
    if (input_left == 0) {
        return 0;
    }
    input_left--;
    return *input++ % n;
}

/* ---- The store ---- */

struct change {
    int64_t revision;
    unsigned key;
    unsigned value; /* 0: deleted; else never used before */
};

struct store {
    struct change changes[CHANGES_MAX]; /* those of other keys only raise the revision */
    size_t count;
    int64_t revision;
    int64_t compacted; /* nothing is known of the revisions before */
};

static struct store store, copy; /* a copy of revision 0: there is none */
static bool is_down;
static unsigned last_value;

static const char *etcd_mirror_key_text(unsigned key)
{
    static const char *const texts[KEYS + 1] = {"/s/a", "/s/b", "/s/c", "/s/d",
                                                "/s/e", "/s/f", "/key"};
    return texts[key];
}

static unsigned key_number(struct slice key)
{
    for (unsigned i = 0; i <= KEYS; i++) {
        if (slice_equal(key, slice_str(etcd_mirror_key_text(i)))) {
            return i;
        }
    }
    CHECK(false);
    return 0;
}

/* The key as of this revision; value 0: it does not exist. */
static struct etcd_kv etcd_mirror_look_up(unsigned key, int64_t revision, unsigned *ret_value)
{
    struct etcd_kv kv = {.key = slice_str(etcd_mirror_key_text(key))};
    *ret_value = 0;
    for (size_t i = 0; i < store.count && store.changes[i].revision <= revision; i++) {
        const struct change *change = &store.changes[i];
        if (change->key == key) {
            kv.create_revision = *ret_value ? kv.create_revision : change->revision;
            kv.version = *ret_value ? kv.version + 1 : 1;
            kv.mod_revision = change->revision;
            *ret_value = change->value;
        }
    }
    return kv;
}

static struct slice value_text(unsigned value, char text[16])
{
    (void)snprintf(text, 16, "%u", value);
    return slice_str(text);
}

/* ---- Calls: answered one per step, as of then ---- */

struct etcd_call {
    bool is_used;
    bool is_range; /* else a page or a single key */
    unsigned key;
    int64_t revision;
    etcd_range_cb cb;
    void *data;
};

static struct etcd_call calls[CALLS_MAX];
static int64_t asked_at; /* the store's revision when the current session asked for its key */

struct ev_loop *etcd_loop(const struct etcd *etcd)
{
    (void)etcd;
    return loop;
}

uint32_t etcd_call_timeout_ms(const struct etcd *etcd)
{
    (void)etcd;
    return 1000; /* unused: every call is answered */
}

struct slice etcd_prefix_end(struct slice prefix, char *out)
{
    memcpy(out, prefix.ptr, prefix.len);
    out[prefix.len - 1]++;
    return slice_of(out, prefix.len);
}

static struct etcd_call *call_new(const struct etcd_range *range, etcd_range_cb cb, void *data)
{
    for (size_t i = 0; i < CALLS_MAX; i++) {
        if (!calls[i].is_used) {
            bool is_range = range->range_end.len > 0;
            calls[i] = (struct etcd_call){.is_used = true,
                                          .is_range = is_range,
                                          .key = is_range ? 0 : key_number(range->key),
                                          .revision = range->revision,
                                          .cb = cb,
                                          .data = data};
            return &calls[i];
        }
    }
    CHECK(false);
    return NULL;
}

struct etcd_call *etcd_watch_range(struct etcd *etcd, const struct etcd_range *range, bool only_now,
                                   etcd_range_cb cb, void *data)
{
    (void)etcd;
    (void)only_now;
    return call_new(range, cb, data);
}

struct etcd_call *etcd_watch_range_into(struct etcd *etcd, const struct etcd_range *range,
                                        uint32_t timeout_ms, struct arena *arena, etcd_range_cb cb,
                                        void *data)
{
    (void)etcd;
    (void)timeout_ms;
    (void)arena;
    return call_new(range, cb, data);
}

struct etcd_call *etcd_watch_txn(struct etcd *etcd, const struct etcd_txn *txn, etcd_txn_cb cb,
                                 void *data)
{
    (void)etcd;
    (void)txn;
    (void)cb;
    (void)data;
    CHECK(false); /* readers write nothing */
    return NULL;
}

void etcd_call_cancel(struct etcd_call *call)
{
    CHECK(call->is_used);
    call->is_used = false;
}

static void etcd_mirror_answer(struct etcd_call *call)
{
    const struct etcd_call c = *call;
    int64_t revision = c.revision ? c.revision : store.revision;
    struct etcd_kv kvs[KEYS];
    char texts[KEYS][16];
    struct etcd_range_reply reply = {.revision = store.revision, .kvs = kvs};
    struct err err = {.code = 0};
    call->is_used = false;
    if (is_down) {
        err_set(&err, ERR_UNAVAILABLE, "down");
    } else if (revision > store.revision) {
        err_set(&err, ERR_FUTURE, "not yet");
    } else if (c.revision && revision < store.compacted) {
        err_set(&err, ERR_COMPACTED, "compacted");
    }
    for (unsigned key = c.key; key < (c.is_range ? KEYS : c.key + 1); key++) {
        unsigned value;
        kvs[reply.count] = etcd_mirror_look_up(key, revision, &value);
        kvs[reply.count].value = value_text(value, texts[reply.count]);
        reply.count += value != 0;
    }
    reply.total = (int64_t)reply.count;
    if (c.key == KEYS) {
        asked_at = store.revision;
    }
    c.cb(c.data, err.code ? NULL : &reply, err.code ? &err : NULL);
}

/* ---- Watches ---- */

struct etcd_watch {
    struct etcd_watch_config config;
    bool is_range; /* else of the store key */
    int64_t next;
    int64_t reached, lag;
    bool is_confirmed;
    bool is_behind; /* brought up to date by tick */
};

static struct etcd_watch *watches[WATCHES_MAX];

struct etcd_watch *etcd_watch_start(struct etcd *etcd, const struct etcd_watch_config *config)
{
    struct etcd_watch *watch = xcalloc(1, sizeof(*watch));
    size_t place = watches[0] ? 1 : 0;
    (void)etcd;
    watch->config = *config;
    watch->is_range = config->range_end.len > 0;
    watch->next = config->start_revision;
    CHECK(!watches[place]);
    watches[place] = watch;
    return watch;
}

void etcd_watch_stop(struct etcd_watch *watch)
{
    for (size_t i = 0; i < WATCHES_MAX; i++) {
        if (watch && watches[i] == watch) {
            watches[i] = NULL;
            free(watch);
        }
    }
}

int64_t etcd_watch_reached(const struct etcd_watch *watch)
{
    return watch->reached;
}

/* This etcd reports no progress to an idle watch. */
int64_t etcd_watch_told(const struct etcd_watch *watch)
{
    return watch->reached;
}

int64_t etcd_watch_lag(const struct etcd_watch *watch)
{
    return watch->lag;
}

static void etcd_mirror_end_watch(struct etcd_watch *watch, int code)
{
    struct err err;
    err_set(&err, code, "ended");
    watch->config.on_end(watch->config.data, &err);
}

/* The next batch. Fewer revisions than fit are all; the mirror does not know more than that. */
static void etcd_mirror_deliver(struct etcd_watch *watch)
{
    struct etcd_event events[BATCH];
    char texts[BATCH][16];
    size_t count = 0;
    bool has_more = false;
    for (size_t i = 0; i < store.count; i++) {
        const struct change *change = &store.changes[i];
        if (change->revision < watch->next || (change->key < KEYS) != watch->is_range) {
            continue;
        }
        if (count == BATCH) {
            has_more = true;
            break;
        }
        unsigned value;
        struct etcd_kv kv = etcd_mirror_look_up(change->key, change->revision, &value);
        kv.value = value_text(value, texts[count]);
        events[count++] =
            (struct etcd_event){.kind = value ? ETCD_EVENT_PUT : ETCD_EVENT_DELETE, .kv = kv};
    }
    watch->is_behind = has_more;
    if (count > 0) {
        int64_t last = events[count - 1].kv.mod_revision;
        watch->next = last + 1;
        watch->reached = count < BATCH ? store.revision : last;
        watch->lag = store.revision - watch->reached;
        watch->config.on_events(watch->config.data, events, count, last);
    }
}

static void etcd_mirror_confirm(struct etcd_watch *watch)
{
    watch->is_confirmed = true;
    watch->is_behind = watch->next <= store.revision;
    watch->config.on_up(watch->config.data);
}

/* A callback may end every watch. */
static void for_watches(void (*fn)(struct etcd_watch *watch), bool confirmed, bool behind)
{
    for (size_t i = 0; i < WATCHES_MAX; i++) {
        struct etcd_watch *watch = watches[i];
        if (watch && watch->is_confirmed == confirmed && watch->is_behind == behind) {
            fn(watch);
        }
    }
}

static void etcd_mirror_catch_up(struct etcd_watch *watch)
{
    if (watch->next < store.compacted) {
        etcd_mirror_end_watch(watch, ERR_COMPACTED);
    } else {
        etcd_mirror_deliver(watch);
    }
}

/* ---- The owner ---- */

static struct owner {
    unsigned values[KEYS]; /* as committed */
    unsigned next[KEYS];
    bool is_read[KEYS];
    bool keeps_old;
    int64_t revision;
} owner;

static struct etcd_mirror *mirror;

static void etcd_mirror_on_full_begin(void *data, const struct etcd_mirror_read *read)
{
    (void)data;
    memcpy(owner.next, owner.values, sizeof(owner.next));
    memset(owner.is_read, 0, sizeof(owner.is_read));
    owner.keeps_old = read->keeps_old;
}

static void etcd_mirror_on_put(void *data, const struct etcd_kv *kv)
{
    unsigned key = key_number(kv->key);
    (void)data;
    owner.next[key] = (unsigned)strtoul((const char *)kv->value.ptr, NULL, 10);
    owner.is_read[key] = true;
}

static void etcd_mirror_on_del(void *data, struct slice key, int64_t revision)
{
    (void)data;
    CHECK(revision > owner.revision);
    owner.next[key_number(key)] = 0;
}

static void etcd_mirror_on_commit(void *data, int64_t revision, bool full)
{
    (void)data;
    CHECK(full || revision > owner.revision);
    for (unsigned key = 0; full && !owner.keeps_old && key < KEYS; key++) {
        owner.next[key] = owner.is_read[key] ? owner.next[key] : 0;
    }
    memcpy(owner.values, owner.next, sizeof(owner.values));
    owner.revision = revision;
}

static void etcd_mirror_on_state(void *data, const struct err *err)
{
    (void)data;
    (void)err;
}

/* Expects the owner to have etcd's content of its revision, beside old keys that it holds, and
 * nothing in the range to have changed between that and the session's start. */
static void expect_content(void)
{
    bool is_holding = etcd_mirror_counts(mirror).is_holding_old;
    for (unsigned key = 0; key < KEYS; key++) {
        unsigned value, then;
        (void)etcd_mirror_look_up(key, owner.revision, &value);
        (void)etcd_mirror_look_up(key, asked_at, &then);
        if (!is_holding || value) {
            CHECK(owner.values[key] == value);
        }
        if (asked_at > owner.revision) {
            CHECK(value == then);
        }
    }
}

static void etcd_mirror_on_caught_up(void *data)
{
    (void)data;
    expect_content();
}

/* ---- Readers come and go ---- */

static struct saved {
    struct owner owner;
    struct buf bytes;
} saved[SAVED_MAX];
static size_t saved_count;

static void etcd_mirror_start_reader(const struct saved *from)
{
    owner = from ? from->owner : (struct owner){.revision = 0};
    memcpy(owner.next, owner.values, sizeof(owner.next));
    mirror =
        etcd_mirror_start(NULL, &(struct etcd_mirror_config){
                                    .prefix = slice_str("/s/"),
                                    .store_key = slice_str("/key"),
                                    .keeps_old = true,
                                    .saved = from ? buf_slice(&from->bytes) : slice_of(NULL, 0),
                                    .full_begin = etcd_mirror_on_full_begin,
                                    .put = etcd_mirror_on_put,
                                    .del = etcd_mirror_on_del,
                                    .commit = etcd_mirror_on_commit,
                                    .state = etcd_mirror_on_state,
                                    .caught_up = etcd_mirror_on_caught_up,
                                });
    CHECK(etcd_mirror_counts(mirror).revision == owner.revision);
}

static void stop_reader(void)
{
    etcd_mirror_stop(mirror);
    for (size_t i = 0; i < CALLS_MAX; i++) {
        CHECK(!calls[i].is_used);
    }
}

static void etcd_mirror_forget(size_t i)
{
    buf_fini(&saved[i].bytes);
    memmove(&saved[i], &saved[i + 1], (--saved_count - i) * sizeof(saved[0]));
}

static void common_etcd_mirror_save(void)
{
    struct saved one = {.owner = owner};
    buf_init(&one.bytes, 4096);
    if (!etcd_mirror_save(mirror, &one.bytes)) {
        buf_fini(&one.bytes);
        return;
    }
    if (saved_count == SAVED_MAX) {
        etcd_mirror_forget(0);
    }
    saved[saved_count++] = one;
}

static void replace_reader(void)
{
    stop_reader();
    etcd_mirror_start_reader(saved_count ? &saved[etcd_mirror_below((unsigned)saved_count)] : NULL);
}

/* ---- What happens to the store ---- */

static void etcd_mirror_change(unsigned key, unsigned value)
{
    if (!is_down && store.count < CHANGES_MAX) {
        store.changes[store.count++] =
            (struct change){.revision = ++store.revision, .key = key, .value = value};
        for_watches(etcd_mirror_deliver, true, false);
    }
}

static void break_connection(void)
{
    for (size_t i = 0; i < WATCHES_MAX; i++) {
        if (watches[i]) {
            etcd_mirror_end_watch(watches[i], ERR_UNAVAILABLE); /* which stops the other, too */
        }
    }
    is_down = true;
    for (size_t i = 0; i < CALLS_MAX; i++) {
        if (calls[i].is_used) {
            etcd_mirror_answer(&calls[i]);
        }
    }
    is_down = false;
}

static void etcd_mirror_lose_data(void)
{
    store = (struct store){.revision = 1};
    break_connection();
}

/* Whether this state's evidence can tell its store from the copy: it has seen a put that the copy
 * lacks. Without, etcd_store_id.h cannot; a full read there would not be a test of this. */
static bool can_tell(const struct buf *bytes)
{
    struct etcd_saved state;
    CHECK(etcd_saved_read(buf_slice(bytes), &state));
    return state.revision <= copy.revision || state.put.mod_revision > copy.revision;
}

static void etcd_mirror_restore(void)
{
    CLEANUP_BUF struct buf now = buf_of(4096);
    bool is_known = etcd_mirror_save(mirror, &now);
    if (copy.revision && is_known && can_tell(&now)) {
        for (size_t i = saved_count; i-- > 0;) {
            if (!can_tell(&saved[i].bytes)) {
                etcd_mirror_forget(i);
            }
        }
        store = copy;
        break_connection();
    }
}

static void etcd_mirror_tick(void)
{
    now_ms += TICK_MS;
    for_watches(etcd_mirror_catch_up, true, true);
}

static void etcd_mirror_work(void)
{
    now_ms++;
    for (size_t i = 0; i < CALLS_MAX; i++) {
        if (calls[i].is_used) {
            etcd_mirror_answer(&calls[i]);
            break;
        }
    }
    for_watches(etcd_mirror_confirm, false, false);
    ev_run(loop, EVRUN_NOWAIT);
}

static void etcd_mirror_step(void)
{
    unsigned dice = etcd_mirror_below(100), key, value;
    if (dice < 12) {
        etcd_mirror_change(etcd_mirror_below(KEYS), ++last_value);
    } else if (dice < 17) {
        key = etcd_mirror_below(KEYS);
        (void)etcd_mirror_look_up(key, store.revision, &value);
        if (value) {
            etcd_mirror_change(key, 0);
        }
    } else if (dice < 21) {
        store.revision += is_down ? 0 : etcd_mirror_below(3) ? 1 : FAR;
    } else if (dice < 22) {
        etcd_mirror_change(KEYS, ++last_value);
    } else if (dice < 28) {
        common_etcd_mirror_save();
    } else if (dice < 31) {
        replace_reader();
    } else if (dice < 33) {
        break_connection();
    } else if (dice < 34) {
        break_connection();
        is_down = true;
    } else if (dice < 37) {
        is_down = false;
    } else if (dice < 38) {
        store.compacted = store.revision - etcd_mirror_below(4);
    } else if (dice < 40) {
        copy = store;
    } else if (dice < 41) {
        etcd_mirror_restore();
    } else if (dice < 42) {
        etcd_mirror_lose_data();
    } else if (dice < 55) {
        etcd_mirror_tick();
    } else {
        etcd_mirror_work();
    }
}

static bool is_settled(void)
{
    return etcd_mirror_counts(mirror).is_caught_up;
}

static void etcd_mirror_settle(void)
{
    is_down = false;
    for (int i = 0; i < TICKS_MAX && !is_settled(); i++) {
        etcd_mirror_tick();
        for (int j = 0; j < CALLS_MAX; j++) {
            etcd_mirror_work();
        }
    }
    CHECK(is_settled());
    for (int i = 0; i < TICKS_MAX / 10; i++) {
        etcd_mirror_tick();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    input = data;
    input_left = size;
    loop = loop ? loop : ev_loop_new(EVFLAG_AUTO);
    store = (struct store){.revision = 1};
    copy = (struct store){.revision = 0};
    is_down = false;
    last_value = 0;
    etcd_mirror_start_reader(NULL);
    for (int i = 0; i < STEPS_MAX && input_left; i++) {
        etcd_mirror_step();
    }
    replace_reader();
    etcd_mirror_settle();
    etcd_mirror_change(KEYS, ++last_value); /* the writer completes the store */
    etcd_mirror_settle();
    CHECK(!etcd_mirror_counts(mirror).is_holding_old);
    asked_at = store.revision;
    expect_content();
    stop_reader();
    while (saved_count) {
        etcd_mirror_forget(0);
    }
    return 0;
}
