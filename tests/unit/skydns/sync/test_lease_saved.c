/* skydns/sync/lease.h over a restart: leases as a snapshot has them, and what becomes of records
 * whose lease may have ended meanwhile, with leases of a real etcd. */
#include "common/base/buf.h"
#include "common/dns/record.h"
#include "common/etcd/etcd_lease.h"
#include "tests/support/skydns/lease_bed.h"
#include "tests/support/test_clock.h"
#include "tests/support/unit_test.h"

enum { SECTION_MAX = 1 << 24, LEASE_S = 600, LONGER_MS = 700 * 1000 };

static const int64_t saved_ms = 1700000000000;

/* ---- Steps ---- */

static struct buf lease_saved_save(void)
{
    struct buf saved;
    buf_init(&saved, SECTION_MAX);
    assert_true(lease_table_save(leases_bed.table, saved_ms, &saved));
    assert_true(lease_table_is_saved(buf_slice(&saved)));
    return saved;
}

/* The records of a version, in another writer: as a snapshot brings them. */
static void copy_records(const struct store *store, struct store_writer *to)
{
    struct dname name, *after = NULL;
    const struct store_record *record;
    while ((record = store_next(store, after))) {
        char out[DNAME_TEXT_MAX];
        struct record view = {.host = store_record_host_text(record, out),
                              .text = store_record_string(record, RECORD_TEXT),
                              .group = store_record_string(record, RECORD_GROUP),
                              .ttl_s = record->ttl_s,
                              .port = record->port,
                              .priority = record->priority,
                              .weight = record->weight,
                              .targetstrip = record->targetstrip,
                              .mail = record->mail};
        store_record_name(record, &name);
        (void)store_writer_put_view(to, &name, &view, record->mod_revision);
        after = &name;
    }
}

static bool lease_saved_load(const struct buf *saved, int64_t elapsed_ms)
{
    struct store_writer *writer = store_writer_new();
    copy_records(leases_commit(), writer);
    store_writer_free(leases_bed.writer);
    leases_bed.writer = writer;
    leases_new_table();
    leases_bed.changes = 0;
    bool is_loaded = lease_table_load(leases_bed.table, saved_ms + elapsed_ms, buf_slice(saved));
    leases_commit();
    return is_loaded;
}

static void lease_saved_restart(int64_t elapsed_ms)
{
    CLEANUP_BUF struct buf saved = lease_saved_save();
    assert_true(lease_saved_load(&saved, elapsed_ms));
}

/* Puts the name with a lease that etcd has told of. */
static int64_t put_known(const char *text, uint32_t ttl_s)
{
    int64_t lease = leases_grant(LEASE_S);
    leases_put(text, lease, ttl_s);
    leases_wait_for_change();
    return lease;
}

static void lease_saved_on_revoked(void *data, const struct etcd_revoke_reply *reply,
                                   const struct err *err)
{
    assert_null(err);
    *(bool *)data = true;
}

static bool lease_saved_is_true(const void *data)
{
    return *(const bool *)data;
}

static void end_lease(int64_t lease)
{
    bool is_done = false;
    etcd_lease_revoke(leases_bed.etcd, lease, lease_saved_on_revoked, &is_done);
    loop_until(leases_bed.loop, lease_saved_is_true, &is_done);
}

static size_t lease_saved_withheld(void)
{
    return lease_table_counts(leases_bed.table).withheld;
}

static bool is_none_withheld(const void *data)
{
    return lease_saved_withheld() == 0;
}

static bool have_all_failed(const void *data)
{
    return lease_table_counts(leases_bed.table).failures >= *(const size_t *)data;
}

/* ---- Tests: counting down ---- */

UNIT_TESTS_EACH(leases_each, leases_each_end)
UNIT_TESTS_NEED(etcd_proc_missing)
UNIT_TESTS_ONCE(leases_start, leases_stop)

UNIT_TEST(test_counts_on)
{
    put_known("long.test", 100000);
    leases_put("short.test", leases_grant(LEASE_S), 30);
    leases_put("plain.test", 0, 50);
    leases_wait_for_change();
    etcd_proc_pause(leases_bed.proc);
    lease_saved_restart(200 * 1000);
    assert_in_range(leases_ttl_of("long.test"), 350, 400);
    assert_int_equal(leases_ttl_of("short.test"), 30);
    assert_int_equal(leases_ttl_of("plain.test"), 50);
    assert_int_equal(lease_table_counts(leases_bed.table).leases, 2);
    lease_saved_restart(200 * 1000); /* nor does a second one begin again */
    assert_in_range(leases_ttl_of("long.test"), 150, 200);
    test_clock_stop();
    test_clock_advance_ms(100 * 1000);
    ev_run(leases_bed.loop, EVRUN_NOWAIT);
    assert_in_range(leases_ttl_of("long.test"), 50, 100);
    test_clock_run();
    etcd_proc_resume(leases_bed.proc);
}

UNIT_TEST(test_clock_set_back)
{
    put_known("a.test", 100000);
    etcd_proc_pause(leases_bed.proc);
    lease_saved_restart(-3600 * 1000);
    assert_in_range(leases_ttl_of("a.test"), 500, LEASE_S);
    etcd_proc_resume(leases_bed.proc);
}

UNIT_TEST(test_unknown_stays_unknown)
{
    int64_t lease = leases_grant(LEASE_S);
    etcd_proc_pause(leases_bed.proc);
    leases_put("a.test", lease, 30);
    lease_saved_restart(LONGER_MS);
    assert_int_equal(leases_ttl_of("a.test"), 1);
    assert_int_equal(lease_saved_withheld(), 0);
    etcd_proc_resume(leases_bed.proc);
    leases_wait_for_change();
    assert_int_equal(leases_ttl_of("a.test"), 30);
}

/* ---- Tests: a lease ends, and etcd is not there ---- */

UNIT_TEST(test_ended_meanwhile_and_renewed)
{
    int64_t lease = leases_grant(LEASE_S);
    struct dname name = leases_name("odd.test");
    struct record odd = {.host = slice_str("FD00::1"),
                         .text = slice_str("a\\\"b"),
                         .group = slice_str("g"),
                         .port = 1,
                         .priority = 2,
                         .weight = 3,
                         .targetstrip = 4,
                         .mail = true};
    odd.ttl_s = lease_table_put(leases_bed.table, &name, lease, 7, 30);
    (void)store_writer_put_view(leases_bed.writer, &name, &odd, 7);
    leases_put("also.test", lease, 40);
    leases_wait_for_change();
    etcd_proc_pause(leases_bed.proc);
    lease_saved_restart(LONGER_MS);
    assert_null(leases_record("odd.test"));
    assert_null(leases_record("also.test"));
    assert_int_equal(lease_saved_withheld(), 2);
    CLEANUP_BUF struct buf saved = buf_of(SECTION_MAX);
    assert_false(lease_table_save(leases_bed.table, saved_ms, &saved));
    assert_int_equal(saved.len, 0);
    etcd_proc_resume(leases_bed.proc);
    leases_wait_for_change();
    assert_int_equal(leases_bed.changes, 1);
    assert_int_equal(lease_saved_withheld(), 0);
    const struct store_record *back = leases_record("odd.test");
    char out[DNAME_TEXT_MAX];
    assert_true(slice_equal(store_record_host_text(back, out), odd.host));
    assert_true(slice_equal(store_record_string(back, RECORD_TEXT), odd.text));
    assert_true(slice_equal(store_record_string(back, RECORD_GROUP), odd.group));
    assert_int_equal(back->mod_revision, 7);
    assert_int_equal(back->ttl_s, 30);
    assert_int_equal(back->port, 1);
    assert_int_equal(back->priority, 2);
    assert_int_equal(back->weight, 3);
    assert_int_equal(back->targetstrip, 4);
    assert_true(back->mail);
    assert_int_equal(leases_ttl_of("also.test"), 40);
    assert_true(lease_table_save(leases_bed.table, saved_ms, &saved));
}

/* etcd's keys are known, its leases are not yet: a key that is there has not ended. */
UNIT_TEST(test_confirmed_before_the_lease_is_told)
{
    put_known("ended.test", 30);
    int64_t lease = leases_grant(3 * LEASE_S);
    leases_put("ends.test", lease, 30);
    leases_wait_for_change();
    etcd_proc_pause(leases_bed.proc);
    lease_saved_restart(LONGER_MS);
    assert_null(leases_record("ended.test"));
    assert_int_equal(lease_saved_withheld(), 1);
    lease_table_confirm(leases_bed.table);
    assert_int_equal(leases_bed.changes, 1);
    assert_int_equal(leases_ttl_of("ended.test"), 1);
    assert_int_equal(lease_saved_withheld(), 0);
    test_clock_stop();
    test_clock_advance_ms(3 * LEASE_S * 1000); /* as without a snapshot: until etcd deletes it */
    ev_run(leases_bed.loop, EVRUN_NOWAIT);
    test_clock_run();
    assert_int_equal(leases_ttl_of("ends.test"), 1);
    etcd_proc_resume(leases_bed.proc);
}

UNIT_TEST(test_ends_while_etcd_is_away)
{
    put_known("a.test", 30);
    etcd_proc_pause(leases_bed.proc);
    lease_saved_restart(0);
    test_clock_stop();
    test_clock_advance_ms((LEASE_S - 3) * 1000);
    ev_run(leases_bed.loop, EVRUN_NOWAIT);
    assert_in_range(leases_ttl_of("a.test"), 1, 3);
    test_clock_advance_ms(3000);
    ev_run(leases_bed.loop, EVRUN_NOWAIT);
    assert_null(leases_record("a.test"));
    assert_int_equal(lease_saved_withheld(), 1);
    test_clock_run();
    etcd_proc_resume(leases_bed.proc);
    leases_wait_for_change();
    assert_int_equal(leases_ttl_of("a.test"), 30);
}

/* Failures do not put off what comes back: once one lease is answered, all are asked. */
UNIT_TEST(test_comes_back_after_failures)
{
    enum { LEASES = 40 };
    char text[32];
    for (int i = 0; i < LEASES; i++) {
        (void)snprintf(text, sizeof(text), "k%d.test", i);
        leases_put(text, leases_grant(LEASE_S), 30);
    }
    loop_until(leases_bed.loop, leases_is_nothing_asked, NULL);
    etcd_proc_kill(leases_bed.proc);
    lease_saved_restart(LONGER_MS);
    loop_until(leases_bed.loop, have_all_failed, &(size_t){LEASES});
    assert_int_equal(lease_saved_withheld(), LEASES);
    etcd_proc_restart(leases_bed.proc);
    uint64_t questions = lease_table_counts(leases_bed.table).questions;
    loop_until(leases_bed.loop, is_none_withheld, NULL);
    assert_non_null(leases_record("k0.test"));
    /* A lease that had failed again meanwhile may be asked once more. */
    assert_in_range(lease_table_counts(leases_bed.table).questions - questions, 1, 2 * LEASES);
}

UNIT_TEST(test_ended_and_gone)
{
    end_lease(put_known("a.test", 30));
    lease_saved_restart(LONGER_MS);
    assert_null(leases_record("a.test"));
    loop_until(leases_bed.loop, is_none_withheld, NULL);
    assert_null(leases_record("a.test"));
    assert_int_equal(lease_table_counts(leases_bed.table).leases, 0);
    assert_int_equal(lease_table_counts(leases_bed.table).questions, 1);
}

/* Etcd's word on the key itself counts, whatever becomes of the lease. */
UNIT_TEST(test_put_and_deleted_while_withheld)
{
    int64_t lease = put_known("put.test", 30);
    leases_put("deleted.test", lease, 30);
    leases_put("without.test", lease, 30);
    leases_put("kept.test", lease, 30);
    etcd_proc_pause(leases_bed.proc);
    lease_saved_restart(LONGER_MS);
    assert_int_equal(lease_saved_withheld(), 4);
    assert_int_equal(leases_put("put.test", lease, 50), 1);
    assert_int_equal(leases_put("without.test", 0, 70), 70);
    leases_del("deleted.test");
    assert_int_equal(lease_saved_withheld(), 1);
    etcd_proc_resume(leases_bed.proc);
    leases_wait_for_change();
    assert_int_equal(leases_ttl_of("put.test"), 50);
    assert_int_equal(leases_ttl_of("without.test"), 70);
    assert_int_equal(leases_ttl_of("kept.test"), 30);
    assert_null(leases_record("deleted.test"));
}

UNIT_TEST(test_all_read_again)
{
    int64_t lease = put_known("read.test", 30);
    leases_put("gone.test", lease, 30);
    etcd_proc_pause(leases_bed.proc);
    lease_saved_restart(LONGER_MS);
    lease_table_hold(leases_bed.table);
    assert_int_equal(lease_saved_withheld(), 0);
    leases_put("read.test", lease, 30);
    lease_table_release(leases_bed.table);
    etcd_proc_resume(leases_bed.proc);
    leases_wait_for_change();
    assert_int_equal(leases_ttl_of("read.test"), 30);
    assert_null(leases_record("gone.test"));
}

/* Once etcd has answered, a lease that may have ended costs TTL, not the record. */
UNIT_TEST(test_ends_after_an_answer)
{
    put_known("a.test", 100000);
    lease_saved_restart(10 * 1000);
    loop_until(leases_bed.loop, leases_is_nothing_asked, NULL);
    assert_int_equal(lease_table_counts(leases_bed.table).questions, 1);
    etcd_proc_pause(leases_bed.proc);
    test_clock_stop();
    test_clock_advance_ms(LONGER_MS);
    ev_run(leases_bed.loop, EVRUN_NOWAIT);
    assert_int_equal(leases_ttl_of("a.test"), 1);
    assert_int_equal(lease_saved_withheld(), 0);
    test_clock_run();
    etcd_proc_resume(leases_bed.proc);
}

/* Nobody need be asked about a lease that has long to live. */
UNIT_TEST(test_asks_only_when_needed)
{
    put_known("a.test", 30);
    lease_saved_restart(10 * 1000);
    assert_int_equal(leases_ttl_of("a.test"), 30);
    assert_int_equal(lease_table_counts(leases_bed.table).questions, 0);
}

/* ---- Tests: bytes ---- */

static void append_lease(struct buf *out, int64_t lease)
{
    buf_append_u64(out, (uint64_t)lease);
    buf_append_u8(out, 1);
    buf_append_u64(out, (uint64_t)LEASE_S * 1000);
    buf_append_u64(out, (uint64_t)LEASE_S * 1000);
}

static void append_key(struct buf *out, const char *text, int64_t mod_revision)
{
    struct dname name = leases_name(text);
    buf_append_u8(out, name.len);
    buf_append(out, name.wire, name.len);
    buf_append_u64(out, (uint64_t)mod_revision);
    buf_append_u32(out, 30);
}

/* All end at once, one of them is renewed: the others' names never come back, and etcd is not
 * flooded with questions. */
UNIT_TEST(test_many)
{
    enum { LEASES = 20000, ASKED_AT_ONCE = 16 };
    int64_t renewed = leases_grant(LEASE_S);
    char text[32];
    etcd_proc_pause(leases_bed.proc);
    CLEANUP_BUF struct buf saved = buf_of(SECTION_MAX);
    buf_append_u64(&saved, (uint64_t)saved_ms);
    for (int i = 0; i < LEASES; i++) {
        (void)snprintf(text, sizeof(text), "k%d.test", i);
        leases_put(text, 0, 30);
        append_lease(&saved, i == LEASES / 2 ? renewed : i + 1);
        append_key(&saved, text, 1);
        buf_append_u8(&saved, 0);
    }
    buf_append_u64(&saved, 0);
    assert_true(lease_saved_load(&saved, LONGER_MS));
    assert_int_equal(lease_saved_withheld(), LEASES);
    assert_null(store_next(leases_commit(), NULL));
    assert_in_range(lease_table_counts(leases_bed.table).questions, 1, ASKED_AT_ONCE);
    etcd_proc_resume(leases_bed.proc);
    loop_until(leases_bed.loop, is_none_withheld, NULL);
    (void)snprintf(text, sizeof(text), "k%d.test", LEASES / 2);
    assert_int_equal(leases_ttl_of(text), 30);
    struct dname name = leases_name(text);
    const struct store *store = leases_commit();
    store_record_name(store_next(store, NULL), &name);
    assert_null(store_next(store, &name)); /* the only one */
    assert_int_equal(lease_table_counts(leases_bed.table).leases, 1);
}

UNIT_TEST(test_bytes_that_are_none)
{
    put_known("a.test", 30);
    leases_put("b.test", leases_grant(LEASE_S), 30);
    CLEANUP_BUF struct buf saved = lease_saved_save();
    for (size_t len = 0; len < saved.len; len++) {
        assert_false(lease_table_is_saved(slice_of(saved.data, len)));
    }
    buf_append_u8(&saved, 0);
    assert_false(lease_table_is_saved(buf_slice(&saved)));
}

/* Bytes that fail only against the records. */
UNIT_TEST(test_bytes_that_do_not_fit_the_records)
{
    static const struct {
        const char *names[2]; /* of one lease each */
        int64_t leases[2], mod_revision;
        bool is_good;
    } cases[] = {
        {{"a.test", "b.test"}, {1, 2}, 1, true},
        {{"a.test", "c.test"}, {1, 2}, 1, false}, /* no such record */
        {{"a.test", "b.test"}, {1, 2}, 2, false}, /* of another revision */
        {{"a.test", "a.test"}, {1, 2}, 1, false},
        {{"a.test", "b.test"}, {1, 1}, 1, false},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        leases_put("a.test", 0, 30);
        leases_put("b.test", 0, 30);
        CLEANUP_BUF struct buf saved = buf_of(SECTION_MAX);
        buf_append_u64(&saved, (uint64_t)saved_ms);
        for (size_t k = 0; k < 2; k++) {
            append_lease(&saved, cases[i].leases[k]);
            append_key(&saved, cases[i].names[k], cases[i].mod_revision);
            buf_append_u8(&saved, 0);
        }
        buf_append_u64(&saved, 0);
        assert_true(lease_table_is_saved(buf_slice(&saved)));
        assert_int_equal(lease_saved_load(&saved, 0), cases[i].is_good);
    }
}

/* A key whose record the store lost by another way than its deletion is not saved. */
UNIT_TEST(test_keys_without_records)
{
    int64_t lease = put_known("a.test", 30);
    leases_put("b.test", lease, 30);
    leases_put("c.test", leases_grant(LEASE_S), 30);
    for (const char *const *text = (const char *const[]){"b.test", "c.test", NULL}; *text; text++) {
        struct dname name = leases_name(*text);
        store_writer_del(leases_bed.writer, &name);
    }
    leases_commit();
    lease_saved_restart(0);
    assert_int_equal(lease_table_counts(leases_bed.table).leases, 1);
}
