/* skydns/sync/lease.h with leases of a real etcd: how and when record TTLs change. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "common/base/outage.h"
#include "common/dns/record_json.h"
#include "common/etcd/etcd_lease.h"
#include "skydns/sync/lease.h"
#include "tests/support/etcd_proc.h"
#include "tests/support/etcd_sync.h"
#include "tests/support/skydns/records.h"
#include "tests/support/test_clock.h"

enum { CALL_TIMEOUT_MS = 60000, DEFAULT_TTL_S = 3600 };

static struct {
    struct ev_loop *loop;
    struct etcd_proc *proc;
    struct etcd *etcd;
    struct store_writer *writer;
    struct lease_table *table;
    struct outage outage;
    struct outage_source asking;
    unsigned changes;
    unsigned want_changes;
} f;

/* ---- Steps ---- */

/* No readers: what the commit replaces can be freed at once. */
static const struct store *commit(void)
{
    struct store_garbage *garbage;
    const struct store *store = store_writer_commit(f.writer, 1, &garbage);
    store_garbage_free(garbage);
    return store;
}

static void on_changed(void *data)
{
    (void)data;
    f.changes++;
    commit();
}

struct granted {
    bool is_done;
    int64_t id;
};

static void on_granted(void *data, const struct etcd_lease_reply *reply, const struct err *err)
{
    struct granted *granted = data;
    if (err) {
        fail_msg("%s", err->msg);
    }
    granted->is_done = true;
    granted->id = reply->id;
}

static bool is_granted(const void *data)
{
    return ((const struct granted *)data)->is_done;
}

static int64_t grant(int64_t ttl_s)
{
    struct granted granted = {.is_done = false};
    etcd_lease_grant(f.etcd, 0, ttl_s, on_granted, &granted);
    loop_until(f.loop, is_granted, &granted);
    return granted.id;
}

static struct dname name_of(const char *text)
{
    struct dname name;
    assert_true(dname_from_text(slice_str(text), &name));
    return name;
}

/* As store_sync does; returns the current TTL. */
static uint32_t put(const char *text, int64_t lease, uint32_t ttl_s)
{
    struct dname name = name_of(text);
    struct record record;
    assert_int_equal(record_from_json(slice_str("{\"host\":\"10.0.0.1\"}"), &record, NULL), 0);
    uint32_t now_s = lease_table_put(f.table, &name, lease, 1, ttl_s);
    record.ttl_s = now_s;
    records_put(f.writer, &name, &record, 1);
    commit();
    return now_s;
}

static void del(const char *text)
{
    struct dname name = name_of(text);
    store_writer_del(f.writer, &name);
    lease_table_del(f.table, &name);
    commit();
}

static uint32_t ttl_of(const char *text)
{
    struct dname name = name_of(text);
    const struct store_node *node = store_find(commit(), &name, NULL);
    assert_non_null(node);
    return store_node_record(node)->ttl_s;
}

static bool is_changed(const void *data)
{
    (void)data;
    return f.changes >= f.want_changes;
}

static void wait_for_change(void)
{
    f.want_changes = f.changes + 1;
    loop_until(f.loop, is_changed, NULL);
}

/* ---- Fixture ---- */

static int start(void **state)
{
    (void)state;
    f.loop = ev_loop_new(EVFLAG_AUTO);
    if (!etcd_proc_missing()) {
        f.proc = etcd_proc_start();
    }
    return 0;
}

static int stop(void **state)
{
    (void)state;
    etcd_proc_free(f.proc);
    ev_loop_destroy(f.loop);
    return 0;
}

static int each(void **state)
{
    (void)state;
    if (!f.proc) {
        return 0;
    }
    f.etcd = sync_client(f.loop, etcd_proc_url(f.proc), CALL_TIMEOUT_MS);
    f.writer = store_writer_new();
    outage_init(&f.outage, f.loop, "etcd", CALL_TIMEOUT_MS, "etcd is overdue");
    f.asking = (struct outage_source){.away_line = "leases away", .back_line = "leases back"};
    outage_join(&f.outage, &f.asking, false);
    f.table = lease_table_new(&(struct lease_table_config){.loop = f.loop,
                                                           .etcd = f.etcd,
                                                           .writer = f.writer,
                                                           .default_ttl_s = DEFAULT_TTL_S,
                                                           .asking = &f.asking,
                                                           .changed = on_changed});
    f.changes = 0;
    return 0;
}

static int each_end(void **state)
{
    (void)state;
    test_clock_run();
    lease_table_free(f.table);
    outage_fini(&f.outage);
    store_writer_free(f.writer);
    etcd_free(f.etcd);
    f.table = NULL;
    f.writer = NULL;
    f.etcd = NULL;
    return 0;
}

/* ---- Tests ---- */

static void test_without_lease(void **state)
{
    (void)state;
    etcd_proc_need();
    assert_int_equal(put("plain.test", 0, 30), 30);
    assert_int_equal(put("unset.test", 0, 0), 0);
}

static void test_long_lease(void **state)
{
    (void)state;
    etcd_proc_need();
    int64_t lease = grant(7200);
    assert_int_equal(put("a.test", lease, 30), 1); /* the lease is still unknown */
    wait_for_change();
    assert_int_equal(ttl_of("a.test"), 30);
    /* Known by now, so correct at once. Unset stays unset while the lease has longer to live. */
    assert_int_equal(put("b.test", lease, 60), 60);
    assert_int_equal(put("c.test", lease, 0), 0);
    assert_in_range(put("d.test", lease, 100000), 7100, 7200);
}

static void test_counts_down(void **state)
{
    (void)state;
    etcd_proc_need();
    int64_t lease = grant(600);
    put("short.test", lease, 30);
    put("long.test", lease, 0);
    wait_for_change();
    uint32_t before = ttl_of("long.test");
    assert_in_range(before, 500, 600);
    wait_for_change();
    assert_true(ttl_of("long.test") < before);
    assert_int_equal(ttl_of("short.test"), 30);
}

/* Values without a TTL are bounded like the current default. */
static void test_another_default(void **state)
{
    (void)state;
    etcd_proc_need();
    int64_t lease = grant(600);
    put("unset.test", lease, 0);
    put("set.test", lease, 30);
    wait_for_change();
    assert_in_range(ttl_of("unset.test"), 500, 600); /* the default is longer */
    lease_table_set_default_ttl(f.table, 60);
    wait_for_change();
    assert_int_equal(ttl_of("unset.test"), 0);
    assert_int_equal(ttl_of("set.test"), 30);
    lease_table_set_default_ttl(f.table, DEFAULT_TTL_S);
    wait_for_change();
    assert_in_range(ttl_of("unset.test"), 500, 600);
}

static void test_key_that_changes_its_lease(void **state)
{
    (void)state;
    etcd_proc_need();
    int64_t first = grant(600);
    int64_t second = grant(1200);
    put("a.test", first, 100000);
    wait_for_change();
    assert_in_range(ttl_of("a.test"), 500, 600);
    assert_int_equal(put("a.test", second, 100000), 1);
    wait_for_change();
    assert_in_range(ttl_of("a.test"), 1100, 1200);
    assert_int_equal(put("a.test", 0, 100000), 100000);
}

static void test_key_deleted_while_etcd_is_asked(void **state)
{
    (void)state;
    etcd_proc_need();
    int64_t lease = grant(600);
    put("a.test", lease, 30);
    del("a.test");
    put("a.test", lease, 30);
    put("b.test", lease, 30);
    del("a.test");
    wait_for_change();
    assert_int_equal(ttl_of("b.test"), 30);
}

/* Nothing changes while the store is being read; names that the read lacks are forgotten. */
static void test_held(void **state)
{
    (void)state;
    etcd_proc_need();
    int64_t lease = grant(600);
    put("a.test", lease, 30);
    put("gone.test", lease, 30);
    lease_table_hold(f.table);
    (void)grant(600); /* its reply arrives after that to the question */
    assert_int_equal(ttl_of("a.test"), 1);
    assert_int_equal(f.changes, 0);
    struct dname name = name_of("gone.test");
    store_writer_del(f.writer, &name);
    lease_table_release(f.table);
    wait_for_change();
    assert_int_equal(ttl_of("a.test"), 30);
}

static bool are_all_long(const void *data)
{
    const unsigned *count = data;
    char name[32];
    for (unsigned i = 0; i < *count; i++) {
        (void)snprintf(name, sizeof(name), "k%u.test", i);
        if (ttl_of(name) != 30) {
            return false;
        }
    }
    return true;
}

static void test_many_leases(void **state)
{
    (void)state;
    etcd_proc_need();
    unsigned count = 200;
    char name[32];
    for (unsigned i = 0; i < count; i++) {
        (void)snprintf(name, sizeof(name), "k%u.test", i);
        put(name, grant(600), 30);
    }
    loop_until(f.loop, are_all_long, &count);
    assert_true(f.changes < count); /* several changes share a publication */
}

static void test_lease_that_is_gone(void **state)
{
    (void)state;
    etcd_proc_need();
    put("a.test", 4711, 30);
    put("b.test", grant(600), 30);
    wait_for_change(); /* b's; etcd has already answered for a */
    assert_int_equal(ttl_of("b.test"), 30);
    assert_int_equal(ttl_of("a.test"), 1);
}

static bool is_away(const void *data)
{
    (void)data;
    return f.asking.is_away;
}

static void test_etcd_away(void **state)
{
    (void)state;
    etcd_proc_need();
    int64_t lease = grant(600);
    etcd_proc_kill(f.proc);
    assert_int_equal(put("a.test", lease, 30), 1);
    assert_false(f.asking.is_away);
    loop_until(f.loop, is_away, NULL);
    assert_in_range(lease_table_counts(f.table).failures, 1, 60);
    etcd_proc_restart(f.proc);
    wait_for_change();
    assert_int_equal(ttl_of("a.test"), 30);
    assert_false(f.asking.is_away);
    assert_int_equal(lease_table_counts(f.table).leases, 1);
}

/* A question no longer needed does not count as an outage. */
static void test_etcd_away_and_the_key_deleted(void **state)
{
    (void)state;
    etcd_proc_need();
    int64_t lease = grant(600);
    etcd_proc_kill(f.proc);
    put("a.test", lease, 30);
    loop_until(f.loop, is_away, NULL);
    del("a.test");
    assert_false(f.asking.is_away);
    assert_int_equal(lease_table_counts(f.table).leases, 0);
    etcd_proc_restart(f.proc);
}

static bool is_nothing_asked(const void *data)
{
    (void)data;
    return lease_table_counts(f.table).asking == 0;
}

/* A lease kept alive: here etcd's clock barely advances. */
static void test_kept_alive(void **state)
{
    enum { LEASE_S = 900, SHORT_S = 300, ALL_S = 3000, STEP_MS = 500 };
    static const struct {
        uint32_t ttl_s;
        uint32_t least_ttl_s; /* the lowest ever answered */
        unsigned questions;   /* in total */
    } cases[] = {
        /* Asks when the lease may soon be down to that TTL. */
        {SHORT_S, SHORT_S, 1 + ALL_S / (LEASE_S - SHORT_S)},
        /* Asks every third of the lease; etcd reports whole seconds. */
        {100000, LEASE_S - LEASE_S / 3 - 3, 1 + ALL_S / (LEASE_S / 3)},
    };
    (void)state;
    etcd_proc_need();
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        uint64_t before = lease_table_counts(f.table).questions;
        int64_t lease = grant(LEASE_S);
        put("a.test", lease, cases[i].ttl_s);
        put("b.test", lease, cases[i].ttl_s);
        wait_for_change();
        test_clock_stop();
        for (int ms = 0; ms < ALL_S * 1000; ms += STEP_MS) {
            test_clock_advance_ms(STEP_MS);
            ev_run(f.loop, EVRUN_NOWAIT);
            loop_until(f.loop, is_nothing_asked, NULL);
            assert_in_range(ttl_of("a.test"), cases[i].least_ttl_s, LEASE_S);
        }
        test_clock_run();
        uint64_t questions = lease_table_counts(f.table).questions - before;
        assert_in_range(questions, cases[i].questions - 1, cases[i].questions + 1);
        del("a.test");
        del("b.test");
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, each, each_end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_without_lease),
        TEST(test_long_lease),
        TEST(test_counts_down),
        TEST(test_another_default),
        TEST(test_key_that_changes_its_lease),
        TEST(test_key_deleted_while_etcd_is_asked),
        TEST(test_held),
        TEST(test_many_leases),
        TEST(test_lease_that_is_gone),
        TEST(test_etcd_away),
        TEST(test_etcd_away_and_the_key_deleted),
        TEST(test_kept_alive),
    };
    return cmocka_run_group_tests(tests, start, stop);
}
