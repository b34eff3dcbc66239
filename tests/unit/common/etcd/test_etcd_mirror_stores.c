/* common/etcd/etcd_mirror.h when etcd comes back without its data, with older data or far ahead,
 * and the store key that reveals it. */
#include "tests/support/etcd_sync.h"
#include "tests/support/mirror_bed.h"
#include "tests/support/test_clock.h"
#include "tests/support/unit_test.h"

enum { FIVE_MINUTES_MS = 5 * 60 * 1000 };

/* Loop iterations in which a mirror that must do nothing gets the chance to do it anyway. */
enum { TURNS = 20 };

static bool is_marked(const void *data)
{
    return etcd_mirror_counts(data).has_store_key;
}

/* Like a writer, which acts before each sleep. The event may arrive before the acknowledgement. */
static bool mark_until_marked(const void *data)
{
    etcd_mirror_mark_store((struct etcd_mirror *)(uintptr_t)data, NULL);
    return is_marked(data) && !etcd_mirror_counts(data).is_marking;
}

static int64_t stores_seen(const struct etcd_mirror *m)
{
    return (int64_t)etcd_mirror_counts(m).reads[ETCD_MIRROR_OTHER_STORE];
}

UNIT_TESTS_EACH(mirror_bed_each_in_new_store, mirror_bed_each_end)
UNIT_TESTS_NEED(etcd_proc_missing)
UNIT_TESTS_ONCE(mirror_bed_start, mirror_bed_stop)

/* The store key reveals another, complete store: what it lacks goes at once. */
UNIT_TEST(test_another_complete_store)
{
    owner.want_old = true;
    bed_put("/s/stays");
    bed_put("/s/goes");
    bed_put_store_key("first");
    CLEANUP(etcd_mirror_stop_of) struct etcd_mirror *m = bed_mirror("/s/", 0);
    bed_wait_ups(1);
    assert_true(is_marked(m));
    bed_wipe_etcd();
    struct aside a = aside_open();
    sync_put(a.loop, a.etcd, "/s/stays", slice_str("v"));
    sync_put(a.loop, a.etcd, "/key/of/store", slice_str("second"));
    aside_close(&a);
    bed_wait_fulls(2);
    assert_int_equal(owner.cause, ETCD_MIRROR_OTHER_STORE);
    assert_false(owner.keeps_old);
    bed_expect_same("/s/");
    assert_int_equal(stores_seen(m), 1);
    assert_false(etcd_mirror_counts(m).is_holding_old);
}

/* The same revision as before, and no store key: only the keys reveal it. Old keys stay until the
 * store key appears, then go in one publication. */
UNIT_TEST(test_wiped_up_to_the_same_revision)
{
    owner.want_old = true;
    bed_put("/s/a");
    bed_put("/s/b");
    CLEANUP(etcd_mirror_stop_of) struct etcd_mirror *m = bed_mirror("/s/", 0);
    bed_wait_ups(1);
    int64_t before = owner.revision;
    bed_wipe_etcd();
    struct aside a = aside_open();
    aside_write_up_to(&a, "/s/a", before);
    aside_close(&a);
    bed_wait_fulls(2);
    assert_int_equal(owner.revision, before);
    assert_int_equal(owner.cause, ETCD_MIRROR_OTHER_STORE);
    assert_true(owner.keeps_old);
    assert_true(owner_has("/s/a") && owner_has("/s/b"));
    assert_true(etcd_mirror_counts(m).is_holding_old);

    bed_wait_revision(bed_put("/s/c"));
    assert_true(owner_has("/s/b"));
    bed_put_store_key("new");
    bed_wait_fulls(3);
    assert_int_equal(owner.cause, ETCD_MIRROR_COMPLETE);
    assert_false(owner.keeps_old);
    bed_expect_same("/s/");
    assert_false(owner_has("/s/b"));
    assert_false(etcd_mirror_counts(m).is_holding_old);
}

/* A store with a known key comes back without one, at the very same revision. */
UNIT_TEST(test_store_key_gone)
{
    owner.want_old = true;
    bed_put_store_key("first");
    int64_t before = bed_put("/s/a");
    CLEANUP(etcd_mirror_stop_of) struct etcd_mirror *m = bed_mirror("/s/", 0);
    bed_wait_ups(1);
    bed_wipe_etcd();
    struct aside a = aside_open();
    aside_write_up_to(&a, "/s/a", before);
    aside_close(&a);
    bed_wait_fulls(2);
    assert_true(owner.keeps_old);
    assert_int_equal(stores_seen(m), 1);
}

/* A copy with the old store key and older content; then written up to the old one's revision. */
UNIT_TEST(test_restored_from_a_copy)
{
    owner.want_old = true;
    bed_put_store_key("first");
    bed_put("/s/early");
    bed_put("/s/deleted");
    etcd_proc_kill(bed.proc);
    etcd_proc_save(bed.proc);
    etcd_proc_restart(bed.proc);
    bed_put("/s/late");
    int64_t before = sync_del(bed.loop, bed.writer, "/s/deleted");
    struct etcd_mirror *m = bed_mirror("/s/", 0);
    bed_wait_ups(1);
    for (int round = 1; round <= 2; round++) { /* older, then at the same revision */
        bed_restore_etcd();
        if (round == 2) {
            CLEANUP(aside_close) struct aside a = aside_open();
            aside_write_up_to(&a, "/elsewhere", before);
        }
        bed_wait_fulls(2 * (unsigned)round);
        assert_int_equal(owner.cause, ETCD_MIRROR_OTHER_STORE);
        assert_true(owner.keeps_old);
        assert_true(owner_has("/s/early") && owner_has("/s/deleted") && owner_has("/s/late"));
        assert_int_equal(stores_seen(m), round);
        bed_put_store_key("again"); /* by hand: kube2sky never does */
        bed_wait_fulls(2 * (unsigned)round + 1);
        assert_false(owner_has("/s/late"));
        if (round == 1) { /* once more, as before */
            sync_del(bed.loop, bed.writer, "/key/of/store");
            bed_wait_store_key("");
            bed_put_store_key("first");
            bed_wait_store_key("first");
            bed_put("/s/late");
            bed_wait_revision(sync_del(bed.loop, bed.writer, "/s/deleted"));
            bed_wait_fulls(3);
        }
    }
    etcd_mirror_stop(m);
}

/* A transaction was acknowledged, but the connection ended before the watch reported it. etcd comes
 * back without it, otherwise unchanged. */
UNIT_TEST(test_restored_without_what_was_written)
{
    bed_put_store_key("first");
    int64_t seen = bed_put("/s/a");
    CLEANUP(etcd_mirror_stop_of) struct etcd_mirror *m = bed_mirror("/s/", 0);
    bed_wait_ups(1);
    assert_int_equal(owner.revision, seen);
    etcd_mirror_note_write(m, seen + 1);
    bed_restart_etcd();
    bed_wait_fulls(2);
    assert_int_equal(owner.cause, ETCD_MIRROR_OTHER_STORE);

    /* Writes to the old store say nothing about this one. */
    bed_wait_ups(2);
    bed_restart_etcd();
    bed_wait_ups(3);
    assert_int_equal(owner.fulls, 2);
    assert_int_equal(etcd_mirror_counts(m).resumed, 1);
}

/* The watch had not reported it when etcd ended. It is read: an older copy without it may have
 * reached its revision by other writes, as the one below, and no event would ever tell. */
static void read_what_was_not_reported(const char *key)
{
    bed_put("/s/a");
    CLEANUP(etcd_mirror_stop_of) struct etcd_mirror *m = bed_mirror("/s/", 0);
    bed_wait_ups(1);
    bed_restart_etcd();
    struct aside a = aside_open();
    int64_t written = sync_put(a.loop, a.etcd, key, slice_str("v"));
    aside_close(&a);
    etcd_mirror_note_write(m, written);
    bed_wait_fulls(2);
    assert_int_equal(owner.cause, ETCD_MIRROR_UNCERTAIN);
    assert_int_equal(owner.revision, written);
    bed_wait_ups(2);
    bed_restart_etcd();
    bed_wait_ups(3);
    assert_int_equal(owner.fulls, 2); /* it is known now */
}

UNIT_TEST(test_what_was_written_is_there)
{
    read_what_was_not_reported("/s/b");
}

UNIT_TEST(test_another_write_has_its_revision)
{
    read_what_was_not_reported("/elsewhere");
}

/* The last event seen from the old store is a deletion; the copy still has the key. */
UNIT_TEST(test_restored_from_before_a_deletion)
{
    bed_put("/s/deleted");
    bed_put("/s/a");
    etcd_proc_kill(bed.proc);
    etcd_proc_save(bed.proc);
    etcd_proc_restart(bed.proc);
    CLEANUP(etcd_mirror_stop_of) struct etcd_mirror *m = bed_mirror("/s/", 0);
    bed_wait_ups(1);
    int64_t before = sync_del(bed.loop, bed.writer, "/s/deleted");
    bed_wait_revision(before);
    bed_restore_etcd();
    struct aside a = aside_open();
    aside_write_up_to(&a, "/elsewhere", before);
    aside_close(&a);
    bed_wait_fulls(2);
    assert_int_equal(owner.cause, ETCD_MIRROR_OTHER_STORE);
    assert_true(owner_has("/s/deleted"));
}

/* Nobody writes a store key: after stale_max_ms the old keys go, in one publication. */
UNIT_TEST(test_old_keys_go_after_stale_max)
{
    owner.want_old = true;
    owner.stale_max_ms = 300;
    bed_put("/s/a");
    bed_put("/s/b");
    CLEANUP(etcd_mirror_stop_of) struct etcd_mirror *m = bed_mirror("/s/", 0);
    bed_wait_ups(1);
    bed_wipe_etcd();
    bed_wait_fulls(2);
    assert_true(owner.keeps_old);
    assert_int_equal(owner.count, 2);
    bed_wait_fulls(3);
    assert_int_equal(owner.cause, ETCD_MIRROR_STALE);
    assert_int_equal(owner.count, 0);
    assert_false(etcd_mirror_counts(m).is_holding_old);
    bed_wait_ups(3);
    bed_wait_revision(bed_put("/s/c"));
    assert_int_equal(owner.fulls, 3);
}

static void etcd_mirror_stores_turn_often(void)
{
    for (int i = 0; i < TURNS; i++) {
        ev_run(bed.loop, EVRUN_NOWAIT);
    }
}

/* A copy of the old store, with the old store key: for the full five minutes the key is reread and
 * nothing else happens. */
UNIT_TEST(test_stale_max_of_five_minutes)
{
    owner.want_old = true;
    owner.stale_max_ms = FIVE_MINUTES_MS;
    bed_put_store_key("first");
    bed_put("/s/early");
    etcd_proc_kill(bed.proc);
    etcd_proc_save(bed.proc);
    etcd_proc_restart(bed.proc);
    bed_put("/s/late");
    CLEANUP(etcd_mirror_stop_of) struct etcd_mirror *m = bed_mirror("/s/", 0);
    bed_wait_ups(1);
    bed_restore_etcd();
    bed_wait_ups(2);
    assert_int_equal(owner.fulls, 2);
    bed_wait_revision(bed_put("/s/new"));

    test_clock_stop();
    int64_t held_ms = etcd_mirror_counts(m).holding_ms;
    test_clock_advance_ms(FIVE_MINUTES_MS - held_ms - 1000);
    etcd_mirror_stores_turn_often();
    assert_true(etcd_mirror_counts(m).is_holding_old);
    assert_true(owner_has("/s/late"));
    assert_int_equal(owner.fulls, 2);
    test_clock_advance_ms(1001);
    etcd_mirror_stores_turn_often();
    test_clock_run();
    bed_wait_fulls(3);
    assert_int_equal(owner.cause, ETCD_MIRROR_STALE);
    assert_false(owner_has("/s/late"));
    bed_expect_same("/s/");
    assert_false(etcd_mirror_counts(m).is_holding_old);
}

/* etcd comes back empty, then is restored from a copy: its store key does not prove that the store
 * is complete. */
UNIT_TEST(test_wiped_and_then_restored)
{
    owner.want_old = true;
    bed_put_store_key("first");
    bed_put("/s/early");
    etcd_proc_kill(bed.proc);
    etcd_proc_save(bed.proc);
    etcd_proc_restart(bed.proc);
    bed_put("/s/late");
    CLEANUP(etcd_mirror_stop_of) struct etcd_mirror *m = bed_mirror("/s/", 0);
    bed_wait_ups(1);
    bed_wipe_etcd();
    bed_wait_ups(2);
    bed_wait_revision(bed_put("/s/between"));
    bed_restore_etcd();
    bed_wait_ups(3);
    assert_int_equal(owner.cause, ETCD_MIRROR_OTHER_STORE);
    assert_true(owner.keeps_old);
    assert_true(owner_has("/s/early") && owner_has("/s/late") && owner_has("/s/between"));
    bed_put_store_key("second");
    bed_wait_fulls(4);
    assert_int_equal(owner.cause, ETCD_MIRROR_COMPLETE);
    bed_expect_same("/s/");
}

/* An owner that keeps nothing, like the writer: only the other store counts. */
UNIT_TEST(test_nothing_is_kept_unless_asked_for)
{
    bed_put("/s/a");
    CLEANUP(etcd_mirror_stop_of) struct etcd_mirror *m = bed_mirror("/s/", 0);
    bed_wait_ups(1);
    bed_wipe_etcd();
    bed_wait_fulls(2);
    assert_false(owner.keeps_old);
    assert_int_equal(owner.count, 0);
}

/* The same store with its data: resumed, even though its key appeared meanwhile. */
UNIT_TEST(test_same_store_is_resumed)
{
    bed_put("/s/a");
    CLEANUP(etcd_mirror_stop_of) struct etcd_mirror *m = bed_mirror("/s/", 0);
    bed_wait_ups(1);
    assert_false(is_marked(m));
    bed_restart_etcd();
    struct aside a = aside_open();
    sync_put(a.loop, a.etcd, "/key/of/store", slice_str("first"));
    int64_t last = sync_put(a.loop, a.etcd, "/s/b", slice_str("v"));
    aside_close(&a);
    bed_wait_revision(last);
    assert_true(is_marked(m));
    assert_int_equal(owner.fulls, 1);
    assert_int_equal(etcd_mirror_counts(m).resumed, 1);
}

UNIT_TEST(test_far_behind)
{
    enum { REVISIONS = 5000 };
    bed_put("/s/a");
    CLEANUP(etcd_mirror_stop_of) struct etcd_mirror *m = bed_mirror("/s/", 0);
    bed_wait_ups(1);
    bed_restart_etcd();
    struct aside a = aside_open();
    int64_t last = 0;
    for (int i = 0; i < REVISIONS; i++) {
        last = sync_put(a.loop, a.etcd, "/s/b", slice_str("v"));
    }
    aside_close(&a);
    bed_wait_revision(last);
    assert_int_equal(owner.fulls, 2);
    assert_int_equal(owner.cause, ETCD_MIRROR_LAG);
    assert_int_equal(owner.commits, 0);
    bed_expect_same("/s/");
}

/* ---- The store key is written ---- */

UNIT_TEST(test_store_is_marked)
{
    CLEANUP(etcd_mirror_stop_of) struct etcd_mirror *m = bed_mirror("/s/", 0);
    etcd_mirror_mark_store(m, NULL); /* not followed yet: nothing happens */
    bed_wait_ups(1);
    loop_until(bed.loop, mark_until_marked, m);
    assert_int_equal(etcd_mirror_counts(m).marked, 1);
    etcd_mirror_mark_store(m, NULL);
    int64_t last = bed_put("/s/a");
    bed_wait_revision(last);
    assert_int_equal(last, 3); /* 2 was the store key; no other write */
    assert_int_equal(etcd_mirror_counts(m).marked, 1);
}

static bool is_not_marking(const void *data)
{
    return !etcd_mirror_counts(data).is_marking;
}

/* A writer that lost the lead marks nothing; once it leads again, it does. */
UNIT_TEST(test_marked_on_a_condition)
{
    CLEANUP(etcd_mirror_stop_of) struct etcd_mirror *m = bed_mirror("/s/", 0);
    struct etcd_compare leads = {.target = ETCD_COMPARE_CREATE_REVISION,
                                 .key = slice_str("/leader"),
                                 .revision = 7}; /* no such key */
    bed_wait_ups(1);
    etcd_mirror_mark_store(m, &leads);
    assert_true(etcd_mirror_counts(m).is_marking);
    loop_until(bed.loop, is_not_marking, m);
    assert_int_equal(etcd_mirror_counts(m).marked, 0);
    assert_int_equal(bed_put("/s/a"), 2); /* nothing was written */
    leads.revision = 0;
    while (etcd_mirror_counts(m).marked == 0) { /* retries are spaced out */
        etcd_mirror_mark_store(m, &leads);
        ev_run(bed.loop, EVRUN_ONCE);
    }
    loop_until(bed.loop, is_marked, m);
}

/* Two writers: the second adopts the first one's key. */
UNIT_TEST(test_marked_by_another)
{
    CLEANUP(etcd_mirror_stop_of) struct etcd_mirror *m = bed_mirror("/s/", 0);
    bed_wait_ups(1);
    struct aside a = aside_open();
    sync_put(a.loop, a.etcd, "/key/of/store", slice_str("theirs"));
    aside_close(&a);
    loop_until(bed.loop, mark_until_marked, m);
    assert_int_equal(etcd_mirror_counts(m).marked, 0);
    assert_int_equal(bed_put("/s/a"), 3);
}

/* ---- The owner learns of it ---- */

static bool has_been_told(const void *id)
{
    return strcmp(owner.store_key, id) == 0;
}

/* With a read before its commit; else the owner may ask for one, now or for the next session. */
UNIT_TEST(test_owner_is_told)
{
    (void)snprintf(owner.store_key, sizeof(owner.store_key), "?");
    bed_put("/s/a");
    CLEANUP(etcd_mirror_stop_of) struct etcd_mirror *m = bed_mirror("/s/", 0);
    bed_wait_ups(1);
    assert_string_equal(owner.store_key, "");
    assert_true(owner.has_read_key);
    assert_int_equal(owner.fulls_at_key, 0);

    bed_put_store_key("first");
    loop_until(bed.loop, has_been_told, "first");
    assert_false(owner.has_read_key);
    assert_int_equal(owner.fulls, 1);
    etcd_mirror_reread(m);
    bed_wait_fulls(2);
    assert_int_equal(owner.cause, ETCD_MIRROR_COMPLETE);
    assert_true(owner.has_read_key);
    assert_int_equal(owner.fulls_at_key, 1);

    bed_wait_ups(2);
    bed_lose_etcd();
    etcd_mirror_reread(m);
    etcd_proc_restart(bed.proc);
    bed_wait_fulls(3);
    assert_int_equal(owner.cause, ETCD_MIRROR_COMPLETE);
    bed_expect_same("/s/");
}
