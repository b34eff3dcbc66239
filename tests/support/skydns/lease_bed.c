#include "tests/support/skydns/lease_bed.h"

#include "common/dns/record_json.h"
#include "common/etcd/etcd_lease.h"
#include "tests/support/from_text.h"
#include "tests/support/skydns/records.h"
#include "tests/support/test_clock.h"
#include "tests/support/unit_test.h"

enum { CALL_TIMEOUT_MS = 60000 };

struct lease_bed leases_bed;

/* ---- Steps ---- */

/* No readers: what the commit replaces can be freed at once. */
const struct store *leases_commit(void)
{
    struct store_garbage *garbage;
    const struct store *store = store_writer_commit(leases_bed.writer, 1, &garbage);
    store_garbage_free(garbage);
    return store;
}

static void lease_bed_on_changed(void *data)
{
    leases_bed.changes++;
    leases_commit();
}

struct granted {
    bool is_done;
    int64_t id;
};

static void lease_bed_on_granted(void *data, const struct etcd_lease_reply *reply,
                                 const struct err *err)
{
    struct granted *granted = data;
    assert_that(!err, "%s", err->msg);
    granted->is_done = true;
    granted->id = reply->id;
}

static bool lease_bed_is_granted(const void *data)
{
    return ((const struct granted *)data)->is_done;
}

int64_t leases_grant(int64_t ttl_s)
{
    struct granted granted = {.is_done = false};
    etcd_lease_grant(leases_bed.etcd, 0, ttl_s, lease_bed_on_granted, &granted);
    loop_until(leases_bed.loop, lease_bed_is_granted, &granted);
    return granted.id;
}

struct dname leases_name(const char *text)
{
    struct dname name = dname_from(text);
    return name;
}

uint32_t leases_put(const char *text, int64_t lease, uint32_t ttl_s)
{
    struct dname name = leases_name(text);
    struct record record;
    assert_int_equal(record_from_json(slice_str("{\"host\":\"10.0.0.1\"}"), &record, NULL), 0);
    uint32_t now_s = lease_table_put(leases_bed.table, &name, lease, 1, ttl_s);
    record.ttl_s = now_s;
    records_put(leases_bed.writer, &name, &record, 1);
    leases_commit();
    return now_s;
}

void leases_del(const char *text)
{
    struct dname name = leases_name(text);
    store_writer_del(leases_bed.writer, &name);
    lease_table_del(leases_bed.table, &name);
    leases_commit();
}

const struct store_record *leases_record(const char *text)
{
    struct dname name = leases_name(text);
    const struct store_node *node = store_find(leases_commit(), &name);
    return node ? store_node_record(node) : NULL;
}

uint32_t leases_ttl_of(const char *text)
{
    const struct store_record *record = leases_record(text);
    assert_non_null(record);
    return record->ttl_s;
}

static bool is_changed(const void *data)
{
    return leases_bed.changes >= leases_bed.want_changes;
}

void leases_wait_for_change(void)
{
    leases_bed.want_changes = leases_bed.changes + 1;
    loop_until(leases_bed.loop, is_changed, NULL);
}

bool leases_is_nothing_asked(const void *data)
{
    return lease_table_counts(leases_bed.table).asking == 0;
}

/* ---- Fixture ---- */

int leases_start(void **state)
{
    leases_bed.loop = ev_loop_new(EVFLAG_AUTO);
    leases_bed.proc = etcd_proc_start();
    return 0;
}

int leases_stop(void **state)
{
    etcd_proc_free(leases_bed.proc);
    ev_loop_destroy(leases_bed.loop);
    return 0;
}

void leases_new_table(void)
{
    lease_table_free(leases_bed.table);
    leases_bed.table =
        lease_table_new(&(struct lease_table_config){.loop = leases_bed.loop,
                                                     .etcd = leases_bed.etcd,
                                                     .writer = leases_bed.writer,
                                                     .default_ttl_s = LEASES_DEFAULT_TTL_S,
                                                     .asking = &leases_bed.asking,
                                                     .changed = lease_bed_on_changed});
}

int leases_each(void **state)
{
    if (!leases_bed.proc) {
        return 0;
    }
    leases_bed.etcd = sync_client(leases_bed.loop, etcd_proc_url(leases_bed.proc), CALL_TIMEOUT_MS);
    leases_bed.writer = store_writer_new();
    outage_init(&leases_bed.outage, leases_bed.loop, "etcd", CALL_TIMEOUT_MS, "etcd is overdue");
    leases_bed.asking =
        (struct outage_source){.away_line = "leases away", .back_line = "leases back"};
    outage_join(&leases_bed.outage, &leases_bed.asking, false);
    leases_new_table();
    leases_bed.changes = 0;
    return 0;
}

int leases_each_end(void **state)
{
    test_clock_run();
    lease_table_free(leases_bed.table);
    outage_fini(&leases_bed.outage);
    store_writer_free(leases_bed.writer);
    etcd_free(leases_bed.etcd);
    leases_bed.table = NULL;
    leases_bed.writer = NULL;
    leases_bed.etcd = NULL;
    return 0;
}
