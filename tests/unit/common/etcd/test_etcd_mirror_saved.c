/* common/etcd/etcd_mirror.h in a process that starts with the keys of an earlier one: whatever has
 * become of etcd meanwhile, the owner has its content once it is told that it has caught up. */
#include "common/etcd/etcd_catch_up_internal.h"
#include "common/etcd/etcd_mirror_internal.h"
#include "tests/support/etcd_sync.h"
#include "tests/support/mirror_bed.h"
#include "tests/support/test_clock.h"
#include "tests/support/unit_test.h"

enum { MINUTE_MS = 60000 };

/* Loop iterations in which a mirror that must do nothing gets the chance to do it anyway. */
enum { TURNS = 20 };

/* etcd's largest batch of revisions, and how far back a watch may start. */
enum { BATCH = 1000 };

static uint64_t etcd_mirror_saved_reads(const struct etcd_mirror *m)
{
    const struct etcd_mirror_counts counts = etcd_mirror_counts(m);
    uint64_t sum = 0;
    for (size_t i = 0; i < ETCD_MIRROR_CAUSE_COUNT; i++) {
        sum += counts.reads[i];
    }
    return sum;
}

/* A mirror of /s/ that has caught up. */
static struct etcd_mirror *etcd_mirror_saved_start(void)
{
    struct etcd_mirror *m = bed_mirror("/s/", 0);
    bed_wait_caught_up();
    return m;
}

/* Nothing was read, and the owner has everything. */
static void expect_resumed(const struct etcd_mirror *m)
{
    bed_wait_caught_up();
    assert_int_equal(owner.full_begins, 0);
    assert_int_equal(etcd_mirror_saved_reads(m), 0);
    assert_int_equal(etcd_mirror_counts(m).resumed, 1);
    assert_true(etcd_mirror_counts(m).is_caught_up);
    assert_int_equal(owner.caught_ups, 1);
    bed_expect_same("/s/");
}

static void expect_read(const struct etcd_mirror *m, enum etcd_mirror_cause cause)
{
    bed_wait_caught_up();
    assert_int_equal(etcd_mirror_saved_reads(m), 1);
    assert_int_equal(etcd_mirror_counts(m).reads[cause], 1);
    assert_int_equal(etcd_mirror_counts(m).resumed, 0);
    assert_int_equal(owner.caught_ups, 1);
}

static bool caught_up_without_waiting(void)
{
    test_clock_stop();
    for (int i = 0; i < TURNS && owner.caught_ups == 0; i++) {
        ev_run(bed.loop, EVRUN_ONCE);
        test_clock_advance_ms(1);
    }
    test_clock_run();
    return owner.caught_ups > 0;
}

/* ---- What is saved ---- */

static struct etcd_mirror *reading;

static void save_between_pages(void)
{
    CLEANUP_BUF struct buf out = buf_of(4096);
    if (reading) {
        assert_false(etcd_mirror_save(reading, &out));
    }
    assert_int_equal(out.len, 0);
}

static bool has_begun(const void *data)
{
    return owner.full_begins > owner.fulls;
}

/* Not before the first commit, not while a read is under way, nor while one that failed waits. */
UNIT_TEST(test_nothing_to_save)
{
    for (int i = 0; i < 30; i++) {
        char key[16];
        (void)snprintf(key, sizeof(key), "/s/%02d", i);
        bed_put(key);
    }
    struct etcd_mirror *m = reading = bed_mirror("/s/", 5);
    save_between_pages();
    owner.between_pages = save_between_pages;
    bed_wait_caught_up();
    etcd_mirror_reread(m);
    loop_until(bed.loop, has_begun, NULL);
    save_between_pages();
    bed_lose_etcd();
    assert_true(has_begun(NULL));
    save_between_pages();
    etcd_proc_restart(bed.proc);
    bed_wait_caught_up();
    m = bed_restart(m, "/s/");
    expect_resumed(m);
    etcd_mirror_stop(m);
    reading = NULL;
}

/* Bytes that are no saved state. */
UNIT_TEST(test_nonsense_is_read)
{
    bed_put("/s/a");
    owner.saved = slice_str("nonsense");
    assert_false(etcd_mirror_is_saved(owner.saved));
    CLEANUP(etcd_mirror_stop_of) struct etcd_mirror *m = etcd_mirror_saved_start();
    owner.saved = slice_of(NULL, 0);
    expect_read(m, ETCD_MIRROR_FIRST);
}

/* ---- The same store ---- */

/* Once etcd has confirmed the watch, nothing more is waited for. */
UNIT_TEST(test_nothing_happened)
{
    bed_put("/s/a");
    struct etcd_mirror *m = etcd_mirror_saved_start();
    int64_t saved = owner.revision;
    m = bed_restart(m, "/s/");
    assert_int_equal(etcd_mirror_counts(m).revision, saved); /* before etcd was asked */
    assert_false(etcd_mirror_counts(m).is_caught_up);
    assert_true(caught_up_without_waiting());
    expect_resumed(m);
    assert_int_equal(owner.commits, 0);
    bed_wait_revision(bed_put("/s/b"));

    bed_lose_etcd(); /* the next session tells, too */
    assert_false(etcd_mirror_counts(m).is_caught_up);
    etcd_proc_restart(bed.proc);
    bed_wait_caught_up();
    assert_int_equal(owner.ups, 2);
    assert_int_equal(owner.caught_ups, 2);
    etcd_mirror_stop(m);
}

UNIT_TEST(test_puts_and_deletes)
{
    bed_put("/s/a");
    bed_put("/s/goes");
    struct etcd_mirror *m = etcd_mirror_saved_start();
    CLEANUP_BUF struct buf saved = bed_end(m);
    bed_put("/s/b");
    int64_t last = sync_del(bed.loop, bed.writer, "/s/goes");
    m = bed_start_saved("/s/", &saved);
    assert_true(caught_up_without_waiting());
    assert_int_equal(owner.caught_up_at, last);
    expect_resumed(m);

    m = bed_restart(m, "/s/"); /* the last change was a delete */
    expect_resumed(m);
    int64_t before = sync_del(bed.loop, bed.writer, "/s/a");
    bed_wait_revision(before);
    bed_wait_revision(sync_del(bed.loop, bed.writer, "/s/b"));
    m = bed_restart(m, "/s/"); /* the range is empty */
    expect_resumed(m);
    assert_int_equal(owner.count, 0);
    etcd_mirror_stop(m);
}

/* Other keys have raised the store's revision. The last change seen comes again, changes nothing,
 * and tells that nothing else comes: no quiet time. */
UNIT_TEST(test_other_keys_changed)
{
    bed_put("/s/a");
    struct etcd_mirror *m = etcd_mirror_saved_start();
    CLEANUP_BUF struct buf saved = bed_end(m);
    bed_put("/elsewhere");
    m = bed_start_saved("/s/", &saved);
    assert_true(caught_up_without_waiting());
    expect_resumed(m);
    assert_int_equal(owner.commits, 0);
    assert_int_equal(etcd_mirror_counts(m).events, 0);
    etcd_mirror_stop(m);
}

static bool etcd_mirror_saved_is_following(const void *data)
{
    return etcd_mirror_counts(data).is_following;
}

/* The last change is too far back to come again: a quiet time tells. */
UNIT_TEST(test_quiet_time)
{
    int64_t seen = bed_put("/s/a");
    struct aside a = aside_open();
    aside_write_up_to(&a, "/elsewhere", seen + BATCH);
    struct etcd_mirror *m = etcd_mirror_saved_start();
    CLEANUP_BUF struct buf saved = bed_end(m);
    aside_write_up_to(&a, "/elsewhere", seen + BATCH + 1);
    aside_close(&a);
    m = bed_start_saved("/s/", &saved);
    loop_until(bed.loop, etcd_mirror_saved_is_following, m);
    test_clock_stop();
    test_clock_advance_ms(ETCD_CATCH_UP_QUIET_MS / 2);
    ev_run(bed.loop, EVRUN_NOWAIT);
    assert_int_equal(owner.caught_ups, 0);
    test_clock_advance_ms(ETCD_CATCH_UP_QUIET_MS);
    ev_run(bed.loop, EVRUN_NOWAIT);
    test_clock_run();
    expect_resumed(m);
    etcd_mirror_stop(m);
}

/* The mirror starts again when the store is that far ahead. */
static struct etcd_mirror *start_behind(int count)
{
    int64_t seen = bed_put("/s/a");
    struct buf saved = bed_end(etcd_mirror_saved_start());
    struct aside a = aside_open();
    aside_write_up_to(&a, "/s/b", seen + count);
    aside_close(&a);
    struct etcd_mirror *m = bed_start_saved("/s/", &saved);
    owner.want_revision = seen + count;
    buf_fini(&saved);
    return m;
}

UNIT_TEST(test_as_far_behind_as_one_batch)
{
    CLEANUP(etcd_mirror_stop_of) struct etcd_mirror *m = start_behind(ETCD_MIRROR_LAG_MAX);
    expect_resumed(m);
    assert_int_equal(owner.caught_up_at, owner.want_revision);
}

/* Follows nothing of which a proxy may lose a part. */
UNIT_TEST(test_further_behind)
{
    CLEANUP(etcd_mirror_stop_of) struct etcd_mirror *m = start_behind(ETCD_MIRROR_LAG_MAX + 1);
    expect_read(m, ETCD_MIRROR_LAG);
    bed_expect_same("/s/");
}

UNIT_TEST(test_compacted)
{
    bed_put("/s/a");
    bed_put("/s/goes");
    struct etcd_mirror *m = etcd_mirror_saved_start();
    CLEANUP_BUF struct buf saved = bed_end(m);
    sync_del(bed.loop, bed.writer, "/s/goes");
    etcd_proc_compact(bed.proc, bed_put("/s/b"));
    m = bed_start_saved("/s/", &saved);
    expect_read(m, ETCD_MIRROR_COMPACTED);
    assert_false(owner.keeps_old);
    bed_expect_same("/s/");
    etcd_mirror_stop(m);
}

/* A quiet store whose etcd compacts by the clock: the last put seen cannot be read at its revision,
 * but the key still has it. */
UNIT_TEST(test_compacted_without_a_change)
{
    bed_put("/s/a");
    bed_put("/s/b");
    CLEANUP_BUF struct buf saved = bed_end(etcd_mirror_saved_start());
    etcd_proc_compact(bed.proc, bed_put("/other/a"));
    CLEANUP(etcd_mirror_stop_of) struct etcd_mirror *m = bed_start_saved("/s/", &saved);
    bed_wait_caught_up();
    assert_int_equal(etcd_mirror_saved_reads(m), 0);
    assert_int_equal(etcd_mirror_counts(m).resumed, 1);
    bed_wait_revision(bed_put("/s/c"));
    bed_expect_same("/s/");
    assert_int_equal(etcd_mirror_saved_reads(m), 0);
}

/* The same, but the last change seen was a delete: what came between cannot be told. */
UNIT_TEST(test_compacted_after_a_delete)
{
    bed_put("/s/a");
    bed_put("/s/goes");
    struct etcd_mirror *m = etcd_mirror_saved_start();
    sync_del(bed.loop, bed.writer, "/s/goes");
    bed_wait_revision(bed_put("/s/b"));
    sync_del(bed.loop, bed.writer, "/s/b");
    int64_t last = bed_put("/s/c");
    sync_del(bed.loop, bed.writer, "/s/c");
    bed_wait_revision(last + 1);
    CLEANUP_BUF struct buf saved = bed_end(m);
    etcd_proc_compact(bed.proc, bed_put("/other/a"));
    m = bed_start_saved("/s/", &saved);
    expect_read(m, ETCD_MIRROR_COMPACTED);
    bed_expect_same("/s/");
    etcd_mirror_stop(m);
}

/* No key of the range and no store key: nothing tells stores apart. */
UNIT_TEST(test_nothing_was_seen)
{
    struct etcd_mirror *m = etcd_mirror_saved_start();
    m = bed_restart(m, "/s/");
    expect_read(m, ETCD_MIRROR_UNCERTAIN);
    etcd_mirror_stop(m);
}

/* etcd is away at first. */
UNIT_TEST(test_etcd_comes_later)
{
    bed_put("/s/a");
    struct buf saved = bed_end(etcd_mirror_saved_start());
    etcd_proc_kill(bed.proc);
    struct etcd_mirror *m = bed_start_saved("/s/", &saved);
    loop_until(bed.loop, bed_is_down, NULL);
    struct buf again = bed_end(m); /* and this process ends, too */
    assert_true(slice_equal(buf_slice(&again), buf_slice(&saved)));
    m = bed_start_saved("/s/", &again);
    etcd_proc_restart(bed.proc);
    expect_resumed(m);
    etcd_mirror_stop(m);
    buf_fini(&saved);
    buf_fini(&again);
}

/* ---- Another store ---- */

static void etcd_mirror_saved_lose_data(void)
{
    etcd_proc_kill(bed.proc);
    etcd_proc_wipe(bed.proc);
    etcd_proc_restart(bed.proc);
}

/* Emptied: old keys stay until the new store is complete, over one more restart. The key was
 * written while no reader ran. */
UNIT_TEST(test_emptied)
{
    owner.want_old = true;
    bed_put_store_key("first");
    bed_put("/s/old");
    struct buf saved = bed_end(etcd_mirror_saved_start());
    etcd_mirror_saved_lose_data();
    bed_put("/s/new");
    struct etcd_mirror *m = bed_start_saved("/s/", &saved);
    expect_read(m, ETCD_MIRROR_OTHER_STORE);
    assert_true(owner.keeps_old);
    assert_true(owner_has("/s/old") && owner_has("/s/new"));

    m = bed_restart(m, "/s/");
    assert_true(etcd_mirror_counts(m).is_holding_old);
    bed_wait_caught_up();
    assert_int_equal(etcd_mirror_saved_reads(m), 0); /* it is the same as at the last time */
    assert_true(owner_has("/s/old"));
    buf_fini(&saved);
    saved = bed_end(m);
    bed_put_store_key("second");
    m = bed_start_saved("/s/", &saved);
    expect_read(m, ETCD_MIRROR_COMPLETE);
    assert_false(owner.keeps_old);
    assert_false(etcd_mirror_counts(m).is_holding_old);
    bed_expect_same("/s/");
    etcd_mirror_stop(m);
    buf_fini(&saved);
}

/* Emptied while nothing is written: nothing was seen of the new store, so it is read again, and the
 * old keys stay all the same. */
UNIT_TEST(test_emptied_and_nobody_writes)
{
    owner.want_old = true;
    bed_put("/s/old");
    CLEANUP_BUF struct buf saved = bed_end(etcd_mirror_saved_start());
    etcd_mirror_saved_lose_data();
    struct etcd_mirror *m = bed_start_saved("/s/", &saved);
    expect_read(m, ETCD_MIRROR_OTHER_STORE);
    m = bed_restart(m, "/s/");
    expect_read(m, ETCD_MIRROR_UNCERTAIN);
    assert_true(owner_has("/s/old"));
    assert_true(etcd_mirror_counts(m).is_holding_old);
    etcd_mirror_stop(m);
}

/* Restored from an older copy, which has the old store key and has reached the old revision. */
UNIT_TEST(test_older_copy)
{
    owner.want_old = true;
    bed_put_store_key("first");
    bed_put("/s/deleted");
    etcd_proc_kill(bed.proc);
    etcd_proc_save(bed.proc);
    etcd_proc_restart(bed.proc);
    bed_put("/s/late");
    int64_t last = sync_del(bed.loop, bed.writer, "/s/deleted");
    CLEANUP_BUF struct buf saved = bed_end(etcd_mirror_saved_start());
    etcd_proc_kill(bed.proc);
    etcd_proc_restore(bed.proc);
    etcd_proc_restart(bed.proc);
    struct aside a = aside_open();
    aside_write_up_to(&a, "/elsewhere", last);
    aside_close(&a);
    struct etcd_mirror *m = bed_start_saved("/s/", &saved);
    expect_read(m, ETCD_MIRROR_OTHER_STORE);
    assert_true(owner_has("/s/deleted") && owner_has("/s/late"));

    /* Its key, doubted before the restart, proves nothing after it; another one does. */
    m = bed_restart(m, "/s/");
    bed_wait_caught_up();
    assert_true(etcd_mirror_counts(m).is_holding_old);
    bed_put_store_key("again");
    bed_wait_fulls(1);
    assert_int_equal(owner.cause, ETCD_MIRROR_COMPLETE);
    bed_expect_same("/s/");
    etcd_mirror_stop(m);
}

static void etcd_mirror_saved_put_both(const struct aside *a, const char *first, const char *second)
{
    const struct etcd_op ops[] = {
        {.kind = ETCD_OP_PUT, .key = slice_str(first), .value = slice_str("v")},
        {.kind = ETCD_OP_PUT, .key = slice_str(second), .value = slice_str("v")}};
    struct etcd_txn_reply reply;
    struct err err;
    assert_int_equal(
        sync_txn(a->loop, a->etcd, &(struct etcd_txn){.ops = ops, .op_count = 2}, &reply, &err), 0);
}

/* Restored from a copy one revision older: its writer repeats what is missing in that revision, and
 * puts more into it. All that the witnesses tell is the same. */
static void other_changes_in_the_last_revision(int64_t further)
{
    owner.want_old = true;
    bed_put("/s/a");
    etcd_proc_kill(bed.proc);
    etcd_proc_save(bed.proc);
    etcd_proc_restart(bed.proc);
    struct etcd_mirror *m = etcd_mirror_saved_start();
    struct aside a = aside_open();
    etcd_mirror_saved_put_both(&a, "/elsewhere", "/s/b");
    int64_t last = owner.revision + 1;
    bed_wait_revision(last);
    aside_close(&a);
    CLEANUP_BUF struct buf saved = bed_end(m);
    etcd_proc_kill(bed.proc);
    etcd_proc_restore(bed.proc);
    etcd_proc_restart(bed.proc);
    a = aside_open();
    etcd_mirror_saved_put_both(&a, "/s/b", "/s/c");
    if (further > 0) {
        aside_write_up_to(&a, "/elsewhere", last + further);
    }
    aside_close(&a);
    m = bed_start_saved("/s/", &saved);
    bed_wait_fulls(1);
    assert_int_equal(owner.cause, ETCD_MIRROR_OTHER_STORE);
    assert_true(owner_has("/s/a") && owner_has("/s/b") && owner_has("/s/c"));
    etcd_mirror_stop(m);
}

UNIT_TEST(test_other_changes_in_the_last_revision)
{
    other_changes_in_the_last_revision(5);
}

UNIT_TEST(test_other_changes_and_nothing_since)
{
    other_changes_in_the_last_revision(0);
}

/* Replaced by another, complete store. */
UNIT_TEST(test_another_complete_store)
{
    owner.want_old = true;
    bed_put_store_key("first");
    bed_put("/s/old");
    bed_put("/s/older");
    CLEANUP_BUF struct buf saved = bed_end(etcd_mirror_saved_start());
    int64_t last = owner.revision;
    etcd_mirror_saved_lose_data();
    bed_put("/s/new");
    bed_put_store_key("second");
    struct aside a = aside_open();
    aside_write_up_to(&a, "/elsewhere", last); /* the revision does not tell */
    aside_close(&a);
    CLEANUP(etcd_mirror_stop_of) struct etcd_mirror *m = bed_start_saved("/s/", &saved);
    expect_read(m, ETCD_MIRROR_OTHER_STORE);
    assert_false(owner.keeps_old);
    bed_expect_same("/s/");
}

/* ---- Wanted when it was saved ---- */

/* The owner wanted a read while etcd was away. */
UNIT_TEST(test_wanted_read_happens)
{
    bed_put("/s/a");
    struct etcd_mirror *m = etcd_mirror_saved_start();
    bed_lose_etcd();
    etcd_mirror_reread(m);
    m = bed_restart(m, "/s/");
    etcd_proc_restart(bed.proc);
    expect_read(m, ETCD_MIRROR_COMPLETE);
    m = bed_restart(m, "/s/"); /* once */
    expect_resumed(m);
    etcd_mirror_stop(m);
}

static void etcd_mirror_saved_turn_often(void)
{
    for (int i = 0; i < TURNS; i++) {
        ev_run(bed.loop, EVRUN_NOWAIT);
    }
}

/* Old keys were held for four minutes before the restart, and the fifth passes after it. With a
 * shorter limit it is overdue at once. */
UNIT_TEST(test_stale_max_counts_on)
{
    owner.want_old = true;
    owner.stale_max_ms = 5 * MINUTE_MS;
    bed_put("/s/old");
    struct buf saved = bed_end(etcd_mirror_saved_start());
    etcd_mirror_saved_lose_data();
    bed_put("/s/new");
    struct etcd_mirror *m = bed_start_saved("/s/", &saved);
    expect_read(m, ETCD_MIRROR_OTHER_STORE);
    buf_fini(&saved);
    test_clock_stop();
    test_clock_advance_ms(4 * MINUTE_MS);
    saved = bed_end(m);
    test_clock_run();

    struct mirror_owner before = owner;
    m = bed_start_saved("/s/", &saved);
    bed_wait_caught_up();
    assert_in_range(etcd_mirror_counts(m).holding_ms, 4 * MINUTE_MS, 5 * MINUTE_MS);
    assert_true(owner_has("/s/old"));
    test_clock_stop();
    test_clock_advance_ms(MINUTE_MS + 1);
    etcd_mirror_saved_turn_often();
    test_clock_run();
    bed_wait_fulls(1);
    assert_int_equal(owner.cause, ETCD_MIRROR_STALE);
    bed_expect_same("/s/");
    etcd_mirror_stop(m);
    etcd_free(bed.etcd);

    owner = before;
    owner.stale_max_ms = 3 * MINUTE_MS;
    m = bed_start_saved("/s/", &saved);
    expect_read(m, ETCD_MIRROR_STALE);
    bed_expect_same("/s/");
    etcd_mirror_stop(m);
    buf_fini(&saved);
}

/* The store of the test before, emptied. */
static int etcd_mirror_saved_setup(void **state)
{
    mirror_bed_each(state);
    if (bed.proc) {
        sync_del_prefix(bed.loop, bed.writer, "/s/");
        sync_del_prefix(bed.loop, bed.writer, "/key/");
    }
    return 0;
}

UNIT_TESTS_EACH(etcd_mirror_saved_setup, mirror_bed_each_end)
UNIT_TESTS_NEED(etcd_proc_missing)
UNIT_TESTS_ONCE(mirror_bed_start, mirror_bed_stop)
