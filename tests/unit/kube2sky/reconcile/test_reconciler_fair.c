/* The reconciler with a namespace that has much to write: another one's change comes in its turn.
 */
#include "tests/unit/kube2sky/reconcile/reconciler_bed.h"

#include <inttypes.h>

enum { ENDPOINTS = 1300 };

/* A headless Service with so many addresses, each a key. */
static void put_large_service(struct fixture *f, const char *name, int net, int count)
{
    struct buf subset;
    buf_init(&subset, 1 << 22);
    buf_append_str(&subset, "{'addresses':[");
    for (int i = 0; i < count; i++) {
        buf_printf(&subset, "%s{'ip':'10.%d.%d.%d'}", i ? "," : "", net, i / 256, i % 256);
    }
    buf_append_str(&subset, "]}");
    inventory_upsert(f->inventory, endpoints_from("busy", name, buf_cstr(&subset)));
    inventory_upsert(f->inventory, service_from("busy", name, "'clusterIP':'None'"));
    buf_fini(&subset);
}

static void put_large_services(struct fixture *f, int count)
{
    for (int i = 0; i < count; i++) {
        char *name = xasprintf("db-%d", i);
        put_large_service(f, name, 10 + i, ENDPOINTS);
        free(name);
    }
}

static void put_quiet_service(struct fixture *f)
{
    inventory_upsert(f->inventory, service_from("quiet", "web", "'clusterIP':'10.0.0.9'"));
}

/* etcd has what it wants. */
static bool is_quiet_written(const void *data)
{
    const struct fixture *f = data;
    struct buf plan;
    buf_init(&plan, 1 << 16);
    reconciler_preview(f->reconciler, slice_str("svc/quiet/web"), &plan);
    bool is_written = plan.len == 0;
    buf_fini(&plan);
    return is_written;
}

struct changing {
    struct fixture *f;
    ev_prepare each_turn;
    unsigned turns;
};

static bool is_put_and_written(const void *data)
{
    const struct changing *changing = data;
    return changing->turns > 10 && is_quiet_written(changing->f);
}

static uint64_t keys_written(const struct fixture *f)
{
    return reconciler_get_stats(f->reconciler).keys_written;
}

/* More large plans than transactions that are under way at once, each of 11: they get a few more
 * transactions before the quiet namespace has its own, not all. */
static void test_large_plans_do_not_take_all_places(void **state)
{
    enum { SERVICES = 10 };
    struct fixture *f = *state;
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
static void test_many_owners_wait_for_few(void **state)
{
    enum { SERVICES = 20000 };
    struct fixture *f = *state;
    synced_with_kubernetes(f);
    for (int i = 0; i < SERVICES; i++) {
        char *name = xasprintf("web-%d", i);
        put_service(f, name, "10.0.0.10");
        free(name);
    }
    f->want = keys_written(f) + ETCD_TXN_OPS_MAX;
    loop_until(f->loop, has_written, f);
    put_quiet_service(f);
    loop_until(f->loop, is_quiet_written, f);
    print_message("keys written before: %" PRIu64 "\n", keys_written(f));
    assert_true(keys_written(f) < SERVICES / 2);
    wait_drained(f);
}

static void on_turn(struct ev_loop *loop, ev_prepare *watcher, int revents)
{
    (void)loop;
    (void)revents;
    struct changing *changing = watcher->data;
    if (++changing->turns == 10) { /* by now they are endless */
        put_quiet_service(changing->f);
    }
    reconciler_owner_changed(changing->f->reconciler, slice_str("svc/busy/db-0"));
    reconciler_owner_changed(changing->f->reconciler, slice_str("svc/busy/db-1"));
}

/* In each turn of the loop more changes than it can look at. */
static void test_changes_without_end_hold_up_their_namespace_only(void **state)
{
    struct fixture *f = *state;
    struct changing changing = {.f = f};
    synced_with_kubernetes(f);
    put_large_service(f, "db-0", 10, 6000);
    put_large_service(f, "db-1", 11, 6000);
    wait_drained(f);
    ev_prepare_init(&changing.each_turn, on_turn);
    changing.each_turn.data = &changing;
    ev_prepare_start(f->loop, &changing.each_turn);
    loop_until(f->loop, is_put_and_written, &changing);
    ev_prepare_stop(f->loop, &changing.each_turn);
    wait_drained(f);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        TEST(test_large_plans_do_not_take_all_places),
        TEST(test_many_owners_wait_for_few),
        TEST(test_changes_without_end_hold_up_their_namespace_only),
    };
    return run_on_etcd(tests);
}
