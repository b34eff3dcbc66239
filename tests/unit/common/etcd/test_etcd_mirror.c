/* common/etcd/etcd_mirror.h against a real etcd: compares the owner's keys with etcd's after each
 * commit. Other stores: test_etcd_mirror_stores.c. */
#include "tests/support/etcd_sync.h"
#include "tests/support/mirror_bed.h"
#include "tests/support/unit_test.h"

UNIT_TESTS_EACH(mirror_bed_each, mirror_bed_each_end)
UNIT_TESTS_NEED(etcd_proc_missing)
UNIT_TESTS_ONCE(mirror_bed_start, mirror_bed_stop)

UNIT_TEST(test_nothing_there)
{
    int64_t before = bed_put("/elsewhere");
    CLEANUP(etcd_mirror_stop_of) struct etcd_mirror *m = bed_mirror("/none/", 0);
    bed_wait_ups(1);
    assert_int_equal(owner.fulls, 1);
    assert_int_equal(owner.count, 0);
    assert_int_equal(owner.revision, before);

    bed_wait_revision(bed_put("/none/first"));
    assert_int_equal(owner.count, 1);
    bed_wait_revision(sync_del(bed.loop, bed.writer, "/none/first"));
    assert_int_equal(owner.count, 0);
    assert_int_equal(owner.commits, 2);
}

UNIT_TEST(test_pages_and_changes)
{
    int64_t revision = sync_put_many(bed.loop, bed.writer, "/m1/", 1000, slice_str("v"));
    CLEANUP(etcd_mirror_stop_of) struct etcd_mirror *m = bed_mirror("/m1/", 64);
    bed_wait_ups(1);
    assert_int_equal(owner.fulls, 1);
    assert_int_equal(owner.full_begins, 1);
    assert_int_equal(owner.revision, revision);
    assert_int_equal(owner.count, 1000);

    bed_wait_revision(sync_put_many(bed.loop, bed.writer, "/m1/more/", 300, slice_str("v")));
    assert_int_equal(owner.count, 1300);
    assert_in_range(owner.commits, 1, 3);
    bed_wait_revision(sync_del(bed.loop, bed.writer, "/m1/000500"));
    bed_expect_same("/m1/");
    assert_int_equal(owner.downs, 0);
}

/* On its own loop, while the mirror's loop waits. */
static void change_pages_to_come(void)
{
    struct ev_loop *loop = ev_loop_new(EVFLAG_AUTO);
    struct etcd *etcd = sync_client(loop, etcd_proc_url(bed.proc), MIRROR_BED_TIMEOUT_MS);
    sync_del(loop, etcd, "/m9/000003");
    sync_put(loop, etcd, "/m9/000004", slice_str("new"));
    owner.want_revision = sync_put(loop, etcd, "/m9/000009", slice_str("new"));
    etcd_free(etcd);
    ev_loop_destroy(loop);
}

/* All pages are from one revision; what happens between them arrives as changes. */
UNIT_TEST(test_changes_between_pages)
{
    int64_t before = sync_put_many(bed.loop, bed.writer, "/m9/", 8, slice_str("v"));
    owner.between_pages = change_pages_to_come;
    CLEANUP(etcd_mirror_stop_of) struct etcd_mirror *m = bed_mirror("/m9/", 2);
    bed_wait_fulls(1);
    assert_int_equal(owner.revision, before);
    assert_int_equal(owner.count, 8);
    bed_wait_revision(owner.want_revision);
    assert_int_equal(owner.count, 8);
    bed_expect_same("/m9/");
}

/* All keys: no prefix. */
UNIT_TEST(test_empty_prefix)
{
    bed_put("a");
    bed_put("\xff\xff");
    CLEANUP(etcd_mirror_stop_of) struct etcd_mirror *m = bed_mirror("", 100);
    bed_wait_ups(1);
    assert_true(owner_find(0, owner.count, slice_str("a")) < owner.count);
    assert_true(owner_find(0, owner.count, slice_str("\xff\xff")) < owner.count);
    bed_wait_revision(sync_del(bed.loop, bed.writer, "\xff\xff"));
    assert_true(owner_find(0, owner.count, slice_str("\xff\xff")) == owner.count);
}

UNIT_TEST(test_killed_and_restarted)
{
    sync_put_many(bed.loop, bed.writer, "/m2/", 100, slice_str("v"));
    CLEANUP(etcd_mirror_stop_of) struct etcd_mirror *m = bed_mirror("/m2/", 0);
    bed_wait_ups(1);
    etcd_proc_kill(bed.proc);
    loop_until(bed.loop, bed_is_down, NULL);
    assert_int_equal(owner.down.code, ERR_UNAVAILABLE);
    etcd_proc_restart(bed.proc);
    bed_put("/m2/after");
    bed_wait_revision(sync_del(bed.loop, bed.writer, "/m2/000050"));
    bed_wait_ups(2);
    bed_expect_same("/m2/");
    assert_int_equal(owner.fulls, 1); /* resumed, not reread */
    assert_int_equal(owner.downs, 1);
}

/* Somebody else may have found another store. It is the same one: nothing is read. */
UNIT_TEST(test_asked_again)
{
    bed_put("/s/a");
    CLEANUP(etcd_mirror_stop_of) struct etcd_mirror *m = bed_mirror("/s/", 0);
    bed_wait_ups(1);
    etcd_mirror_ask_again(m);
    assert_false(etcd_mirror_counts(m).is_following);
    bed_wait_ups(2);
    assert_int_equal(etcd_mirror_counts(m).resumed, 1);
    assert_int_equal(owner.fulls, 1);
    assert_int_equal(owner.downs, 0);
    bed_lose_etcd();
    etcd_mirror_ask_again(m); /* when the connection is back, as ever */
    etcd_proc_restart(bed.proc);
    bed_wait_ups(3);
    assert_int_equal(owner.fulls, 1);
}

/* Away while keys come and go and the history is compacted: everything is reread, and deleted keys
 * are missing from the full read. The mirror's loop does not run between kill and compaction, so it
 * cannot have followed. */
UNIT_TEST(test_compacted_while_away)
{
    sync_put_many(bed.loop, bed.writer, "/m3/", 100, slice_str("v"));
    CLEANUP(etcd_mirror_stop_of) struct etcd_mirror *m = bed_mirror("/m3/", 30);
    bed_wait_ups(1);
    etcd_proc_kill(bed.proc);
    loop_until(bed.loop, bed_is_down, NULL);
    etcd_proc_restart(bed.proc);

    /* Another loop for the writer, so that the mirror does not run. */
    struct ev_loop *loop = ev_loop_new(EVFLAG_AUTO);
    struct etcd *writer = sync_client(loop, etcd_proc_url(bed.proc), MIRROR_BED_TIMEOUT_MS);
    sync_del(loop, writer, "/m3/000007");
    int64_t last = sync_put(loop, writer, "/m3/new", slice_str("v"));
    etcd_proc_compact(bed.proc, last);
    etcd_free(writer);
    ev_loop_destroy(loop);

    bed_wait_fulls(2);
    bed_wait_ups(2);
    assert_int_equal(owner.cause, ETCD_MIRROR_COMPACTED);
    assert_int_equal(owner.count, 100);
    assert_true(owner_find(0, owner.count, slice_str("/m3/000007")) == owner.count);
    bed_expect_same("/m3/");
    bed_wait_revision(bed_put("/m3/follows"));
    assert_int_equal(owner.count, 101);
}

UNIT_TEST(test_nobody_there_at_first)
{
    bed_put("/m4/a");
    etcd_proc_kill(bed.proc);
    CLEANUP(etcd_mirror_stop_of) struct etcd_mirror *m = bed_mirror("/m4/", 0);
    loop_until(bed.loop, bed_is_down, NULL);
    assert_int_equal(owner.full_begins, 0); /* nothing known yet */
    etcd_proc_restart(bed.proc);
    bed_wait_ups(1);
    assert_int_equal(owner.count, 1);
}

/* 25 values of 1.4 MB do not fit a message of 32 MiB: the page is halved until it fits. */
UNIT_TEST(test_page_too_large)
{
    enum { VALUES = 25, VALUE = 1400000 };
    CLEANUP_FREE char *value = xcalloc(1, VALUE);
    for (int i = 0; i < VALUES; i++) {
        char key[32];
        snprintf(key, sizeof(key), "/m5/%02d", i);
        sync_put(bed.loop, bed.writer, key, slice_of(value, VALUE));
    }
    CLEANUP(etcd_mirror_stop_of) struct etcd_mirror *m = bed_mirror("/m5/", 64);
    bed_wait_ups(1);
    assert_int_equal(owner.count, VALUES);
    assert_true(owner.value_bytes >= (size_t)VALUES * VALUE);
    assert_int_equal(owner.downs, 0);
}

UNIT_TEST(test_stop_under_way)
{
    sync_put_many(bed.loop, bed.writer, "/m6/", 300, slice_str("v"));
    struct etcd_mirror *m = bed_mirror("/m6/", 10);
    ev_run(bed.loop, EVRUN_NOWAIT);
    etcd_mirror_stop(m);
    bed_put("/elsewhere"); /* runs the loop */
    assert_int_equal(owner.fulls, 0);
    etcd_mirror_stop(NULL);
}
