/* reconciler: random changes of objects, of what is in doubt, and of etcd by others, on a real
 * etcd. In the end a fresh one finds nothing to do, and counts the same. */
#include "tests/unit/kube2sky/reconcile/reconciler_bed.h"

#include "tests/support/random_numbers.h"
#include "tests/support/unit_test.h"

enum { SERVICES = 6, SLICES = 3, STEPS = 400 };

struct world {
    struct fixture *f;
};

static void put_a_service(struct world *w, unsigned number)
{
    static const char *const specs[] = {
        "'clusterIP':'None'",
        "'clusterIP':'None'",
        "'clusterIP':'None'",
        "'clusterIP':'None','publishNotReadyAddresses':true",
        "'clusterIP':'10.1.0.3','ports':[{'name':'x','port':80,'protocol':'TCP'}]",
        "'type':'ExternalName','externalName':'example.com'",
    };
    CLEANUP_FREE char *name = xasprintf("s%u", number);
    if (random_below(5) == 0) {
        inventory_remove(w->f->inventory, KUBE_SERVICE, "default", name);
    } else if (random_below(8) == 0) {
        inventory_upsert(w->f->inventory, garbled_from(KUBE_SERVICE, "default", name, ""));
    } else {
        inventory_upsert(w->f->inventory,
                         service_from("default", name, specs[random_below(ARRAY_LEN(specs))]));
    }
}

static void put_a_slice(struct world *w, unsigned number, unsigned slice)
{
    char *name = xasprintf("s%u-%u", number, slice), *service = xasprintf("s%u", number);
    CLEANUP_BUF struct buf rest = buf_of(1 << 16);
    if (random_below(8) == 0) {
        inventory_remove(w->f->inventory, KUBE_SLICE, "default", name);
    } else if (random_below(12) == 0) {
        inventory_upsert(w->f->inventory, garbled_from(KUBE_SLICE, "default", name, service));
    } else {
        buf_append_str(&rest, "'addressType':'IPv4','ports':[{'name':'x','port':80,'protocol':"
                              "'TCP'}],'endpoints':[");
        uint32_t count = random_below(20);
        for (uint32_t i = 0; i < count; i++) {
            bool is_shared = random_below(10) == 0;
            buf_printf(&rest, "%s{'addresses':['10.1.%u.%u'],'conditions':{'ready':true}}",
                       i ? "," : "", is_shared ? 0 : 1 + number * SLICES + slice,
                       random_below(is_shared ? 6 : 30) + 1);
        }
        buf_append_char(&rest, ']');
        inventory_upsert(w->f->inventory, slice_from("default", name, service, buf_cstr(&rest)));
    }
    free(service);
    free(name);
}

/* The mirror has seen what others wrote. */
static bool has_seen(const void *data)
{
    const struct fixture *f = data;
    return (uint64_t)reconciler_get_stats(f->reconciler).revision >= f->want;
}

/* Others write below our names, or delete what is there. */
static void reconciler_random_disturb(struct world *w)
{
    struct fixture *f = w->f;
    struct tree tree;
    read_tree(f, 0, &tree);
    size_t count = tree.count ? random_below((uint32_t)tree.count) : 0;
    const char *at = buf_cstr(&tree.text);
    for (size_t i = 0; i < count; i++) {
        at = strchr(at, '\n') + 1;
    }
    const char *space = strchr(at, ' ');
    if (space) {
        char *key = xasprintf("%.*s", (int)(space - at), at);
        if (random_below(2)) {
            del(f, key);
        } else {
            put(f, key, "spoiled");
        }
        free(key);
    }
    buf_fini(&tree.text);
    char *key = xasprintf("/skydns/arpa/in-addr/10/1/0/%u", random_below(6) + 1);
    CLEANUP_FREE char *ours =
        xasprintf("{\"host\":\"x.s%u.default.svc.%s\"" TAIL, random_below(SERVICES), f->domain);
    switch (random_below(4)) {
    case 0:
        sync_put(f->loop, f->etcd, key, slice_str("{\"host\":\"x.default.svc.other.\"" TAIL));
        break;
    case 1:
        sync_put(f->loop, f->etcd, key, slice_str(ours));
        break;
    case 2:
        sync_del(f->loop, f->etcd, key);
        break;
    default:
        break;
    }
    free(key);
}

static void reconciler_random_step(struct world *w)
{
    struct fixture *f = w->f;
    uint32_t what = random_below(20);
    if (what < 3) {
        put_a_service(w, random_below(SERVICES));
    } else if (what < 16) {
        put_a_slice(w, random_below(SERVICES), random_below(SLICES));
    } else if (what == 16) {
        inventory_settle_endpoints(f->inventory, random_below(2));
    } else if (what == 17) {
        reconciler_random_disturb(w);
    } else {
        ev_run(f->loop, EVRUN_NOWAIT);
    }
}

static void list_all(struct world *w)
{
    struct fixture *f = w->f;
    inventory_list_begin(f->inventory, KUBE_SERVICE);
    put_service(f, "kubernetes", "10.0.0.1");
    inventory_list_end(f->inventory, KUBE_SERVICE);
    inventory_list_begin(f->inventory, KUBE_SLICE);
    for (unsigned i = 0; i < SERVICES * SLICES; i++) {
        put_a_slice(w, i % SERVICES, i / SERVICES);
    }
    inventory_list_end(f->inventory, KUBE_SLICE);
}

/* Queues all owners: none backs off any more. */
static void reconciler_random_tell_all(struct fixture *f)
{
    reconciler_owner_changed(f->reconciler, slice_str("svc/default/kubernetes"));
    for (unsigned i = 0; i < SERVICES; i++) {
        CLEANUP_FREE char *id = xasprintf("svc/default/s%u", i);
        reconciler_owner_changed(f->reconciler, slice_str(id));
    }
}

static void reconciler_random_start_all(struct fixture *f)
{
    start_inventory(f);
    inventory_use_endpoints(f->inventory, KUBE_SLICE);
    start_reconciler(f);
}

static struct reconciler_stats end_reconciler(struct fixture *f)
{
    f->want = (uint64_t)put(f, "marker", "");
    loop_until(f->loop, has_seen, f);
    reconciler_random_tell_all(f);
    wait_drained(f);
    struct reconciler_stats stats = reconciler_get_stats(f->reconciler);
    reconciler_stop(f->reconciler);
    f->reconciler = NULL;
    return stats;
}

static void run_round(struct fixture *f, uint32_t seed)
{
    struct world w = {.f = f};
    random_state = seed;
    sync_del_prefix(f->loop, f->etcd, "/skydns/arpa/");
    f->has_reverse = true;
    reconciler_random_start_all(f);
    list_all(&w);
    for (unsigned i = 0; i < STEPS; i++) {
        reconciler_random_step(&w);
    }
    inventory_settle_endpoints(f->inventory, true);
    struct reconciler_stats stats = end_reconciler(f);
    start_reconciler(f);
    reconciler_random_tell_all(f);
    wait_synced(f);
    struct reconciler_stats fresh = end_reconciler(f);
    print_message("seed %u: %zu written, %zu deleted, %zu restored, %zu conflicts\n", seed,
                  (size_t)stats.keys_written, (size_t)stats.keys_deleted,
                  (size_t)stats.keys_restored, (size_t)stats.conflict_count);
    assert_int_equal(fresh.keys_written, 0);
    assert_int_equal(fresh.keys_deleted, 0);
    assert_int_equal(fresh.actual, stats.actual);
    assert_int_equal(fresh.others, stats.others);
    assert_int_equal(fresh.desired, stats.desired);
}

UNIT_TESTS_EACH(set_up, tear_down)
UNIT_TESTS_NEED(etcd_proc_missing)
UNIT_TESTS_ONCE(start_etcd, end_etcd)

UNIT_TEST(test_random_changes)
{
    const char *rounds = getenv("ROUNDS"); /* more than `make check` has time for */
    uint32_t count = rounds ? (uint32_t)strtoul(rounds, NULL, 10) : 2;
    for (uint32_t i = 1; i <= count; i++) {
        run_round(*state, i * 2654435761U);
    }
}
