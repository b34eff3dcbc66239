/* common/etcd/etcd_mirror.h when etcd is restored from a backup: by what its owner recognizes that
 * the store has been completed since, and the writer's marks that say so. */
#include "common/etcd/etcd_mirror_internal.h"
#include "tests/support/etcd_sync.h"
#include "tests/support/mirror_bed.h"
#include "tests/support/unit_test.h"

UNIT_TESTS_EACH(mirror_bed_each_in_new_store, mirror_bed_each_end)
UNIT_TESTS_NEED(etcd_proc_missing)
UNIT_TESTS_ONCE(mirror_bed_start, mirror_bed_stop)

static const char store_key[] = "/key/of/store", serial_key[] = "/key/of/serial";

static void put_serial(const char *base)
{
    sync_put(bed.loop, bed.writer, serial_key, slice_str(base));
}

/* A store that is marked: its key, and a serial unless it is "". */
static void etcd_mirror_marks_mark(const char *id, const char *base)
{
    if (base[0]) {
        put_serial(base);
    }
    bed_put_store_key(id);
}

static void back_up(void)
{
    etcd_proc_kill(bed.proc);
    etcd_proc_save(bed.proc);
    etcd_proc_restart(bed.proc);
}

/* `meanwhile`, if not NULL, is put as the serial before the mirror sees the store. */
static void etcd_mirror_marks_restore(const char *meanwhile)
{
    bed_restore_etcd();
    if (meanwhile) {
        CLEANUP(aside_close) struct aside a = aside_open();
        sync_put(a.loop, a.etcd, serial_key, slice_str(meanwhile));
    }
}

/* A reader that has seen "late", which the backup lacks. */
static struct etcd_mirror *etcd_mirror_marks_start_reader(const char *base)
{
    owner.want_old = true;
    etcd_mirror_marks_mark("first", base);
    bed_put("/s/early");
    back_up();
    bed_put("/s/late");
    struct etcd_mirror *m = bed_mirror("/s/", 0);
    bed_wait_ups(1);
    return m;
}

static void expect_held(const struct etcd_mirror *m)
{
    assert_int_equal(owner.cause, ETCD_MIRROR_OTHER_STORE);
    assert_true(owner.keeps_old);
    assert_true(owner_has("/s/late"));
    assert_true(etcd_mirror_counts(m).is_holding_old);
}

static void expect_let_go(const struct etcd_mirror *m)
{
    assert_false(owner.keeps_old);
    assert_false(owner_has("/s/late"));
    assert_false(etcd_mirror_counts(m).is_holding_old);
    bed_expect_same("/s/");
}

/* A writer that starts behind the restoration knows nothing of it, and leaves the store key. */
UNIT_TEST(test_serial_written_in_a_restored_store)
{
    CLEANUP(etcd_mirror_stop_of) struct etcd_mirror *m = etcd_mirror_marks_start_reader("1000");
    etcd_mirror_marks_restore(NULL);
    bed_wait_fulls(2);
    expect_held(m);
    bed_wait_ups(2);
    put_serial("10"); /* a clock that went back does not matter to who saw it written */
    bed_wait_fulls(3);
    assert_int_equal(owner.cause, ETCD_MIRROR_COMPLETE);
    expect_let_go(m);
    bed_wait_ups(3);
    bed_wait_revision(bed_put("/s/more"));
    assert_int_equal(owner.fulls, 3);
}

/* A proxy may hold a watch that is dead. */
UNIT_TEST(test_serial_is_looked_at)
{
    owner.check_ms = 20;
    CLEANUP(etcd_mirror_stop_of) struct etcd_mirror *m = etcd_mirror_marks_start_reader("1000");
    etcd_mirror_marks_restore(NULL);
    bed_wait_fulls(2);
    expect_held(m);
    bed_wait_ups(2);
    m->is_marked = true; /* what the watch of the serial tells is left */
    put_serial("2000");
    bed_wait_fulls(3);
    assert_int_equal(owner.cause, ETCD_MIRROR_COMPLETE);
    expect_let_go(m);
}

UNIT_TEST(test_serial_written_before_it_is_met)
{
    CLEANUP(etcd_mirror_stop_of) struct etcd_mirror *m = etcd_mirror_marks_start_reader("1000");
    etcd_mirror_marks_restore("2000");
    bed_wait_fulls(2);
    assert_int_equal(owner.cause, ETCD_MIRROR_OTHER_STORE);
    expect_let_go(m);
}

/* Not by its writer of now, whose serial is always later. */
UNIT_TEST(test_an_earlier_serial_proves_nothing)
{
    CLEANUP(etcd_mirror_stop_of) struct etcd_mirror *m = etcd_mirror_marks_start_reader("1000");
    etcd_mirror_marks_restore("900");
    bed_wait_fulls(2);
    expect_held(m);
}

/* While the connection is lost. */
UNIT_TEST(test_serial_written_while_nobody_watched)
{
    CLEANUP(etcd_mirror_stop_of) struct etcd_mirror *m = etcd_mirror_marks_start_reader("1000");
    etcd_mirror_marks_restore(NULL);
    bed_wait_ups(2);
    expect_held(m);
    bed_restart_etcd();
    struct aside a = aside_open();
    sync_put(a.loop, a.etcd, serial_key, slice_str("2000"));
    aside_close(&a);
    bed_wait_fulls(3);
    assert_int_equal(owner.cause, ETCD_MIRROR_COMPLETE);
    expect_let_go(m);
}

/* A store without its key is not complete, whatever its serial. */
UNIT_TEST(test_serial_without_a_store_key)
{
    CLEANUP(etcd_mirror_stop_of) struct etcd_mirror *m = etcd_mirror_marks_start_reader("1000");
    bed_wipe_etcd();
    bed_wait_ups(2);
    expect_held(m);
    put_serial("2000");
    bed_wait_revision(bed_put("/s/more"));
    expect_held(m);
    bed_put_store_key("second");
    bed_wait_fulls(3);
    expect_let_go(m);
}

/* Its store key is another than the reader's, and the reader has never seen it. */
UNIT_TEST(test_a_backup_older_than_the_reader)
{
    owner.want_old = true;
    etcd_mirror_marks_mark("older", "1000");
    back_up();
    etcd_mirror_marks_mark("first", "2000");
    bed_put("/s/late");
    CLEANUP(etcd_mirror_stop_of) struct etcd_mirror *m = bed_mirror("/s/", 0);
    bed_wait_ups(1);
    etcd_mirror_marks_restore(NULL);
    bed_wait_fulls(2);
    expect_held(m);
}

/* So does a reader that has been restarted since. */
UNIT_TEST(test_serial_outlives_the_reader)
{
    owner.want_old = true;
    etcd_mirror_marks_mark("older", "1000");
    back_up();
    etcd_mirror_marks_mark("first", "2000");
    bed_put("/s/late");
    struct etcd_mirror *m = bed_mirror("/s/", 0);
    bed_wait_ups(1);
    m = bed_restart(m, "/s/");
    bed_wait_ups(1);
    etcd_mirror_marks_restore(NULL);
    bed_wait_fulls(1);
    expect_held(m);
    etcd_mirror_stop(m);
}

/* ---- The writer ---- */

static struct etcd_mirror *etcd_mirror_marks_start_writer(void)
{
    etcd_mirror_marks_mark("first", "1000");
    back_up();
    bed_put("/s/late");
    struct etcd_mirror *m = bed_mirror("/s/", 0);
    bed_wait_ups(1);
    etcd_mirror_mark_store(m, NULL);
    assert_false(etcd_mirror_counts(m).is_marking); /* it has one */
    etcd_mirror_marks_restore(NULL);
    bed_wait_ups(2);
    assert_int_equal(owner.cause, ETCD_MIRROR_OTHER_STORE);
    return m;
}

static void expect_id(bool is_first)
{
    CLEANUP_FREE char *id = sync_get(bed.loop, bed.writer, store_key);
    assert_non_null(id);
    assert_true((strcmp(id, "first") == 0) == is_first);
}

static bool is_replaced(const void *data)
{
    (void)data;
    return strcmp(owner.store_key, "first") != 0;
}

static bool mark_until_replaced(const void *data)
{
    etcd_mirror_mark_store((struct etcd_mirror *)(uintptr_t)data, NULL);
    return is_replaced(data) && !etcd_mirror_counts(data).is_marking;
}

/* Once, and the writer knows its own key. */
static void expect_replaced(struct etcd_mirror *m)
{
    expect_id(false);
    assert_int_equal(etcd_mirror_counts(m).marked, 1);
    etcd_mirror_mark_store(m, NULL);
    assert_false(etcd_mirror_counts(m).is_marking);
    bed_wait_revision(bed_put("/s/more"));
    assert_int_equal(owner.fulls, 2);
}

UNIT_TEST(test_writer_replaces_the_key_of_a_backup)
{
    CLEANUP(etcd_mirror_stop_of) struct etcd_mirror *m = etcd_mirror_marks_start_writer();
    loop_until(bed.loop, mark_until_replaced, m);
    expect_replaced(m);
}

struct outcome {
    bool is_done;
    bool has_succeeded;
};

static void etcd_mirror_marks_on_txn(void *data, const struct etcd_txn_reply *reply,
                                     const struct err *err)
{
    struct outcome *outcome = data;
    assert_null(err);
    outcome->is_done = true;
    outcome->has_succeeded = reply->succeeded;
}

static bool etcd_mirror_marks_is_done(const void *data)
{
    return ((const struct outcome *)data)->is_done;
}

static bool etcd_mirror_marks_write_serial(struct etcd_mirror *m, int64_t mod_revision)
{
    const struct etcd_compare compare = {.target = ETCD_COMPARE_MOD_REVISION,
                                         .key = slice_str(serial_key),
                                         .revision = mod_revision};
    const struct etcd_op put = {
        .kind = ETCD_OP_PUT, .key = slice_str(serial_key), .value = slice_str("2000")};
    struct outcome outcome = {.is_done = false};
    assert_non_null(etcd_mirror_txn(
        m, &(struct etcd_txn){.compares = &compare, .compare_count = 1, .ops = &put, .op_count = 1},
        etcd_mirror_marks_on_txn, &outcome));
    loop_until(bed.loop, etcd_mirror_marks_is_done, &outcome);
    return outcome.has_succeeded;
}

/* Both at once, so that readers see one change. */
UNIT_TEST(test_writer_replaces_it_with_the_serial)
{
    CLEANUP(etcd_mirror_stop_of) struct etcd_mirror *m = etcd_mirror_marks_start_writer();
    assert_false(etcd_mirror_marks_write_serial(m, 77)); /* as little as the serial */
    expect_id(true);
    assert_true(etcd_mirror_marks_write_serial(m, 2));
    loop_until(bed.loop, is_replaced, NULL);
    expect_replaced(m);
}

UNIT_TEST(test_no_transaction_without_a_store)
{
    CLEANUP(etcd_mirror_stop_of) struct etcd_mirror *m = bed_mirror("/s/", 0);
    const struct etcd_txn txn = {.op_count = 0};
    assert_null(etcd_mirror_txn(m, &txn, etcd_mirror_marks_on_txn, NULL));
}

/* It has been filled by another writer, which marked it. */
UNIT_TEST(test_a_store_that_another_writer_completed)
{
    etcd_mirror_marks_mark("first", "1000");
    bed_put("/s/a");
    CLEANUP(etcd_mirror_stop_of) struct etcd_mirror *m = bed_mirror("/s/", 0);
    bed_wait_ups(1);
    bed_wipe_etcd();
    struct aside a = aside_open();
    sync_put(a.loop, a.etcd, serial_key, slice_str("2000"));
    sync_put(a.loop, a.etcd, store_key, slice_str("second"));
    aside_close(&a);
    bed_wait_ups(2);
    etcd_mirror_mark_store(m, NULL);
    assert_false(etcd_mirror_counts(m).is_marking);
}
