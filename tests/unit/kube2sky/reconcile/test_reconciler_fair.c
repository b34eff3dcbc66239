/* The reconciler with a namespace, or a ConfigMap, that has much to write: another's change comes
 * in its turn. */
#include "tests/unit/kube2sky/reconcile/reconciler_bed.h"

#include <inttypes.h>

#include "kube2sky/naming/config_map.h"
#include "tests/support/unit_test.h"

enum { ENDPOINTS = 1300 };

static void put_large_services(struct fixture *f, int count)
{
    for (int i = 0; i < count; i++) {
        CLEANUP_FREE char *name = xasprintf("db-%d", i);
        put_large_service(f, name, 10 + i, ENDPOINTS);
    }
}

static void put_quiet_service(struct fixture *f)
{
    inventory_upsert(f->inventory, service_from("quiet", "web", "'clusterIP':'10.0.0.9'"));
}

/* etcd has what it wants. */
static bool is_owner_written(const struct fixture *f, const char *id)
{
    CLEANUP_BUF struct buf plan = buf_of(1 << 24);
    reconciler_preview(f->reconciler, slice_str(id), &plan);
    return plan.len == 0;
}

static bool is_quiet_written(const void *data)
{
    return is_owner_written(data, "svc/quiet/web");
}

struct changing {
    struct fixture *f;
    ev_prepare each_turn;
    unsigned turns;
    void (*act)(struct fixture *f);
    const char *awaited; /* an owner that wants something then */
    uint64_t written;
};

static uint64_t keys_written(const struct fixture *f)
{
    return reconciler_get_stats(f->reconciler).keys_written;
}

static bool is_put_and_written(const void *data)
{
    const struct changing *changing = data;
    return changing->turns > 10 && keys_written(changing->f) > changing->written &&
           is_owner_written(changing->f, changing->awaited);
}

UNIT_TESTS_EACH(set_up, tear_down)
UNIT_TESTS_NEED(etcd_proc_missing)
UNIT_TESTS_ONCE(start_etcd, end_etcd)

/* Counts turns of the loop until the first key of a Service is sent. */
struct waiting {
    struct fixture *f;
    ev_prepare each_turn;
    unsigned turns;
};

static void count_turn(struct ev_loop *loop UNUSED, ev_prepare *watcher, int revents UNUSED)
{
    struct waiting *waiting = watcher->data;
    waiting->turns += reconciler_get_stats(waiting->f->reconciler).in_flight == 0;
}

/* One turn names, or compares, only some thousands of records: probes and events come in between,
 * and a change of the Service itself, which does not make it begin again. */
UNIT_TEST_ON(test_large_service_takes_many_turns, struct fixture *f)
{
    enum { ADDRESSES = 60000, RECORDS_PER_TURN_MAX = 10000 };
    struct waiting waiting = {.f = f};
    synced_with_kubernetes(f);
    ev_prepare_init(&waiting.each_turn, count_turn);
    waiting.each_turn.data = &waiting;
    put_large_service(f, "db", 10, ADDRESSES);
    ev_prepare_start(f->loop, &waiting.each_turn);
    f->want = keys_written(f) + 1;
    loop_until(f->loop, has_written, f);
    ev_prepare_stop(f->loop, &waiting.each_turn);
    print_message("turns before the first key: %u\n", waiting.turns);
    assert_true(waiting.turns >= 2 * ADDRESSES / RECORDS_PER_TURN_MAX);
    inventory_remove(f->inventory, KUBE_SERVICE, "busy", "db");
    wait_drained(f);
}

/* More large plans than transactions that are under way at once, each of 11: they get a few more
 * transactions before the quiet namespace has its own, not all. */
UNIT_TEST_ON(test_large_plans_do_not_take_all_places, struct fixture *f)
{
    enum { SERVICES = 10 };
    synced_with_kubernetes(f);
    put_large_services(f, SERVICES);
    f->want = keys_written(f) + ETCD_TXN_OPS_MAX; /* they have begun */
    loop_until(f->loop, has_written, f);
    put_quiet_service(f);
    loop_until(f->loop, is_quiet_written, f);
    print_message("keys written before: %" PRIu64 "\n", keys_written(f));
    assert_true(keys_written(f) < (uint64_t)20 * ETCD_TXN_OPS_MAX);
    wait_drained(f);
    assert_int_equal(keys_written(f), 1 + SERVICES * ENDPOINTS + 1);
}

/* Many owners of one namespace fill transactions: what comes later from another one does not wait
 * for all of them. */
UNIT_TEST_ON(test_many_owners_wait_for_few, struct fixture *f)
{
    enum { SERVICES = 20000 };
    synced_with_kubernetes(f);
    for (int i = 0; i < SERVICES; i++) {
        CLEANUP_FREE char *name = xasprintf("web-%d", i);
        put_service(f, name, "10.0.0.10");
    }
    f->want = keys_written(f) + ETCD_TXN_OPS_MAX;
    loop_until(f->loop, has_written, f);
    put_quiet_service(f);
    loop_until(f->loop, is_quiet_written, f);
    print_message("keys written before: %" PRIu64 "\n", keys_written(f));
    assert_true(keys_written(f) < SERVICES / 2);
    wait_drained(f);
}

static void reconciler_fair_on_turn(struct ev_loop *loop, ev_prepare *watcher, int revents)
{
    struct changing *changing = watcher->data;
    if (++changing->turns == 10) { /* by now they are endless */
        changing->written = keys_written(changing->f);
        changing->act(changing->f);
    }
    reconciler_owner_changed(changing->f->reconciler, slice_str("svc/busy/db-0"));
    reconciler_owner_changed(changing->f->reconciler, slice_str("svc/busy/db-1"));
}

/* In each turn of the loop the busy namespace has more changes than can be looked at. */
static void wait_under_changes(struct fixture *f, void (*act)(struct fixture *f),
                               const char *awaited)
{
    struct changing changing = {.f = f, .act = act, .awaited = awaited};
    put_large_service(f, "db-0", 10, 6000);
    put_large_service(f, "db-1", 11, 6000);
    wait_drained(f);
    ev_prepare_init(&changing.each_turn, reconciler_fair_on_turn);
    changing.each_turn.data = &changing;
    ev_prepare_start(f->loop, &changing.each_turn);
    loop_until(f->loop, is_put_and_written, &changing);
    ev_prepare_stop(f->loop, &changing.each_turn);
    wait_drained(f);
}

UNIT_TEST_ON(test_changes_without_end_do_not_hold_up_others, struct fixture *f)
{
    synced_with_kubernetes(f);
    wait_under_changes(f, put_quiet_service, "svc/quiet/web");
}

static void put_busy_service(struct fixture *f)
{
    put_large_service(f, "db-2", 12, 3);
}

UNIT_TEST_ON(test_changes_without_end_do_not_stop_their_namespace, struct fixture *f)
{
    synced_with_kubernetes(f);
    wait_under_changes(f, put_busy_service, "svc/busy/db-2");
}

static void put_claim(struct fixture *f, const char *ns, const char *name)
{
    inventory_upsert(f->inventory, endpoints_from(ns, name, "{'addresses':[{'ip':'10.99.0.1'}]}"));
    inventory_upsert(f->inventory, service_from(ns, name, "'clusterIP':'None'"));
}

static void remove_holder(struct fixture *f)
{
    inventory_remove(f->inventory, KUBE_SERVICE, "busy", "holder");
}

/* The address's next name is another namespace's: it waits neither for a turn of the former one nor
 * for its share of etcd's space. */
UNIT_TEST_ON(test_changes_without_end_do_not_hold_up_heirs, struct fixture *f)
{
    f->has_reverse = true;
    sync_del_prefix(f->loop, f->etcd, "/skydns/arpa/");
    synced_with_kubernetes(f);
    put_claim(f, "busy", "holder");
    wait_drained(f);
    put_claim(f, "quiet", "heir");
    wait_drained(f);
    CLEANUP_FREE char *before = sync_get(f->loop, f->etcd, "/skydns/arpa/in-addr/10/99/0/1");
    assert_non_null(strstr(before, "holder.busy"));
    wait_under_changes(f, remove_holder, "svc/quiet/heir");
    CLEANUP_FREE char *after = sync_get(f->loop, f->etcd, "/skydns/arpa/in-addr/10/99/0/1");
    assert_non_null(strstr(after, "heir.quiet"));
}

/* A namespace over its share deletes, and adds nothing until a compaction; its heir does. */
UNIT_TEST_ON(test_an_heir_does_not_wait_for_the_share_of_another, struct fixture *f)
{
    f->has_reverse = true;
    f->etcd_space_bytes = 512 * 1024; /* the keys have room, in their share */
    sync_del_prefix(f->loop, f->etcd, "/skydns/arpa/");
    synced_with_kubernetes(f);
    put_claim(f, "busy", "holder");
    wait_drained(f);
    put_claim(f, "quiet", "heir");
    for (int round = 0; round < 16 && !reconciler_get_stats(f->reconciler).over_share; round++) {
        put_large_service(f, "db-0", 10, 100);
        wait_drained(f);
        inventory_remove(f->inventory, KUBE_SERVICE, "busy", "db-0"); /* that fills the share */
        wait_drained(f);
    }
    assert_int_equal(reconciler_get_stats(f->reconciler).over_share, 1);
    remove_holder(f);
    wait_drained(f);
    CLEANUP_FREE char *after = sync_get(f->loop, f->etcd, "/skydns/arpa/in-addr/10/99/0/1");
    assert_non_null(strstr(after, "heir.quiet"));
}

/* ---- The ConfigMap ---- */

static void want_config_keys(struct fixture *f, int count)
{
    CLEANUP(config_map_fini) struct config_map map;
    config_map_init(&map);
    for (int i = 0; i < count; i++) {
        CLEANUP_FREE char *key = xasprintf("%sn%05d", f->tree, i);
        desired_add(&map.keys, slice_str(key), slice_str("{\"host\":\"10.1.2.3\"}"));
    }
    desired_seal(&map.keys);
    reconciler_want_config(f->reconciler, &map);
}

static void synced_with_config(struct fixture *f)
{
    f->has_config_map = true;
    start_reconciler(f);
    list_nothing_else(f);
    want_config_keys(f, 0);
    wait_synced(f);
}

/* etcd has what the ConfigMap wants. */
static bool is_config_written(const void *data)
{
    const struct fixture *f = data;
    CLEANUP_BUF struct buf plan = buf_of(1 << 22);
    reconciler_preview(f->reconciler, slice_str("ConfigMap"), &plan);
    return plan.len == 0;
}

UNIT_TEST_ON(test_a_config_map_waits_for_no_record, struct fixture *f)
{
    enum { SERVICES = 10 };
    synced_with_config(f);
    put_large_services(f, SERVICES);
    f->want = keys_written(f) + ETCD_TXN_OPS_MAX; /* they have begun */
    loop_until(f->loop, has_written, f);
    want_config_keys(f, 1);
    loop_until(f->loop, is_config_written, f);
    print_message("keys written before: %" PRIu64 "\n", keys_written(f));
    assert_true(keys_written(f) < (uint64_t)20 * ETCD_TXN_OPS_MAX);
    wait_drained(f);
    assert_int_equal(keys_written(f), 1 + SERVICES * ENDPOINTS + 2); /* the document, too */
}

UNIT_TEST_ON(test_no_record_waits_for_a_config_map, struct fixture *f)
{
    enum { KEYS = 5000 };
    synced_with_config(f);
    want_config_keys(f, KEYS);
    f->want = keys_written(f) + ETCD_TXN_OPS_MAX;
    loop_until(f->loop, has_written, f);
    put_quiet_service(f);
    loop_until(f->loop, is_quiet_written, f);
    print_message("keys written before: %" PRIu64 "\n", keys_written(f));
    assert_true(keys_written(f) < (uint64_t)10 * ETCD_TXN_OPS_MAX);
    assert_false(is_config_written(f));
    loop_until(f->loop, is_config_written, f);
    wait_drained(f);
}
