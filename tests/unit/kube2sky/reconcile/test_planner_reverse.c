/* planner: which changes of reverse keys wait, and that nothing else of the plan waits with them.
 */
#include "tests/unit/kube2sky/objects.h"

#include "common/base/buf.h"
#include "common/dns/dname.h"
#include "kube2sky/naming/inventory.h"
#include "kube2sky/reconcile/owner_groups_internal.h"
#include "kube2sky/reconcile/owners_internal.h"
#include "kube2sky/reconcile/ownership_internal.h"
#include "kube2sky/reconcile/planner_internal.h"
#include "tests/support/unit_test.h"
#include "tests/unit/kube2sky/reconcile/planner_whole.h"

#define ARPA        "/skydns/arpa/in-addr/"
#define HEADLESS    "'clusterIP':'None'"
#define ONE_ADDRESS "{'addresses':[{'ip':'10.1.0.1','hostname':'%s'}]}"

struct fixture {
    struct inventory *inventory;
    struct ownership ownership;
    struct owners *owners;
    struct reverse_keys *reverse_keys;
    struct planner planner;
    struct plan plan;
};

static void claim_changed(void *data, struct slice id)
{
    struct fixture *f = data;
    owner_groups_want_claim(f->owners->groups, owners_get(f->owners, id));
}

static void planner_reverse_end_list(struct fixture *f, enum kube_kind kind)
{
    inventory_list_begin(f->inventory, kind);
    inventory_list_end(f->inventory, kind);
}

static void planner_reverse_set_up(struct fixture *f)
{
    f->inventory = inventory_new(
        &(struct inventory_config){.is_narrowed = true, .changed = claim_changed, .data = f});
    ownership_init(&f->ownership, &(struct ownership_config){.domain = "cluster.local."});
    f->owners = owners_new(&f->ownership);
    f->reverse_keys = reverse_keys_new();
    planner_init(&f->planner, &(struct planner_config){
                                  .inventory = f->inventory,
                                  .owners = f->owners,
                                  .reverse_keys = f->reverse_keys,
                                  .domain = "cluster.local.",
                                  .ttl_s = 30,
                                  .has_reverse = true,
                              });
    plan_init(&f->plan);
    planner_reverse_end_list(f, KUBE_SERVICE);
    planner_reverse_end_list(f, KUBE_ENDPOINTS);
}

static void planner_reverse_tear_down(struct fixture *f)
{
    plan_fini(&f->plan);
    planner_fini(&f->planner);
    reverse_keys_free(f->reverse_keys);
    owners_free(f->owners);
    ownership_fini(&f->ownership);
    inventory_free(f->inventory);
}

UNIT_FIXTURE(struct fixture, planner_reverse_set_up, planner_reverse_tear_down)

/* A headless Service with 10.1.0.1 under this hostname. */
static void planner_reverse_put_headless(struct fixture *f, const char *ns, const char *name,
                                         const char *hostname)
{
    CLEANUP_FREE char *subsets = xasprintf(ONE_ADDRESS, hostname);
    inventory_upsert(f->inventory, service_from(ns, name, HEADLESS));
    inventory_upsert(f->inventory, endpoints_from(ns, name, subsets));
}

/* In etcd. */
static void planner_reverse_put_reverse(struct fixture *f, const char *below, const char *host)
{
    CLEANUP_FREE char *key = xasprintf(ARPA "%s", below);
    CLEANUP_FREE char *value =
        xasprintf("{\"host\":\"%s.svc.cluster.local.\",\"priority\":10,\"weight\":10,"
                  "\"ttl\":30,\"targetstrip\":0}",
                  host);
    const struct actual_value there = {
        .hash = actual_value_hash(slice_str(value)), .revision = 7, .is_ours = true};
    CLEANUP_BUF struct buf owner_object = buf_of(DNAME_MAX);
    ownership_owner_object(&f->ownership, slice_str(value), &owner_object);
    (void)reverse_keys_put(f->reverse_keys, slice_str(key), &there, buf_slice(&owner_object));
    (void)planner_decide_reverse(&f->planner, slice_str(key));
}

/* Into f->plan, after all claims that are due. */
static struct planned planner_reverse_plan_owner(struct fixture *f, const char *id)
{
    struct owner *owner;
    while ((owner = owner_groups_next_due(f->owners->groups))) {
        (void)claim_whole(&f->planner, owner);
        owner_groups_end_due(f->owners->groups, owner);
    }
    owner = owners_get(f->owners, slice_str(id));
    return plan_owner_whole(&f->planner, owner, &f->plan);
}

static size_t count_reverse(const struct plan *plan)
{
    size_t count = 0;
    for (size_t i = 0; i < plan->op_count; i++) {
        count += slice_has_prefix(plan_get(plan, i).key, slice_str(ARPA));
    }
    return count;
}

static void planner_reverse_assert_plan(const struct fixture *f, size_t own, size_t reverse,
                                        size_t withheld)
{
    assert_int_equal(count_reverse(&f->plan), reverse);
    assert_int_equal(f->plan.op_count - reverse, own);
    assert_int_equal(count_reverse(&f->planner.withheld), withheld);
}

UNIT_TEST_ON(test_a_key_in_flight_with_another, struct fixture *f)
{
    struct owner *other = owners_get(f->owners, slice_str("svc/a/other"));
    inventory_upsert(f->inventory, service_from("a", "web",
                                                "'clusterIP':'10.0.0.1','clusterIPs':['10.0.0.1',"
                                                "'10.0.0.2']"));
    reverse_keys_lock(f->reverse_keys, slice_str(ARPA "10/0/0/1"), other);
    struct planned planned = planner_reverse_plan_owner(f, "svc/a/web");
    assert_ptr_equal(planned.other, other);
    planner_reverse_assert_plan(f, 2, 1, 1);
    assert_int_equal(planned.reverse_ops, 1);
    reverse_keys_unlock(f->reverse_keys, other);
    planned = planner_reverse_plan_owner(f, "svc/a/web");
    assert_null(planned.other);
    planner_reverse_assert_plan(f, 2, 2, 0);
}

UNIT_TEST_ON(test_reverse_keys_left_for_later, struct fixture *f)
{
    inventory_upsert(f->inventory, service_from("a", "web", "'clusterIP':'10.0.0.1'"));
    struct planned planned = planner_reverse_plan_owner(f, "svc/a/web");
    planner_reverse_assert_plan(f, 1, 1, 0);
    planner_leave_reverse(&f->planner, &f->plan, &planned);
    assert_true(planned.is_withheld && planned.is_split);
    planner_reverse_assert_plan(f, 1, 0, 1);
    planner_reverse_put_reverse(f, "10/9/9/9",
                                "gone.a"); /* an owner of its own, with nothing else */
    planned = planner_reverse_plan_owner(f, "arpa/in-addr/10/9/9/9");
    planner_leave_reverse(&f->planner, &f->plan, &planned);
    assert_false(planned.is_withheld || planned.is_split);
    planner_reverse_assert_plan(f, 0, 1, 0);
}

/* Before pods are listed, the name of a namespace that still claims the address stays. */
UNIT_TEST_ON(test_pods_that_are_not_listed_yet, struct fixture *f)
{
    planner_reverse_put_reverse(f, "10/1/0/1", "h.old.a");
    planner_reverse_put_headless(f, "a", "old", "h");
    planner_reverse_put_headless(f, "b", "new", "h");
    inventory_upsert(f->inventory, pod_from("b", "p", "'podIPs':[{'ip':'10.1.0.1'}]"));
    (void)planner_reverse_plan_owner(f, "svc/b/new");
    planner_reverse_assert_plan(f, 1, 0, 1);
    inventory_remove(f->inventory, KUBE_ENDPOINTS, "a", "old");
    (void)planner_reverse_plan_owner(f, "svc/b/new"); /* whose it was claims it no longer */
    planner_reverse_assert_plan(f, 1, 1, 0);
    planner_reverse_put_headless(f, "a", "old", "h");
    inventory_list_begin(f->inventory, KUBE_POD);
    inventory_upsert(f->inventory, pod_from("b", "p", "'podIPs':[{'ip':'10.1.0.1'}]"));
    inventory_list_end(f->inventory, KUBE_POD);
    (void)planner_reverse_plan_owner(f, "svc/b/new");
    planner_reverse_assert_plan(f, 1, 1, 0);
}

/* A Service with a garbled part keeps what it might still want, and nothing else. */
UNIT_TEST_ON(test_doubt_about_whose_it_is, struct fixture *f)
{
    planner_reverse_end_list(f, KUBE_POD);
    planner_reverse_put_reverse(f, "10/1/0/1", "h.unclear.a");
    planner_reverse_put_reverse(f, "10/0/0/1", "h.unclear.a");
    inventory_upsert(f->inventory, service_from("a", "unclear", HEADLESS));
    inventory_upsert(f->inventory, garbled_from(KUBE_ENDPOINTS, "a", "unclear", ""));
    planner_reverse_put_headless(f, "b", "new", "h");
    (void)planner_reverse_plan_owner(f, "svc/b/new");
    planner_reverse_assert_plan(f, 1, 0, 1);
    inventory_upsert(f->inventory, service_from("b", "web", "'clusterIP':'10.0.0.1'"));
    (void)planner_reverse_plan_owner(f, "svc/b/web");
    planner_reverse_assert_plan(f, 1, 1, 0);
    inventory_upsert(f->inventory, pod_from("b", "p", "'podIPs':[{'ip':'10.1.0.1'}]"));
    (void)planner_reverse_plan_owner(f, "svc/b/new");
    planner_reverse_assert_plan(f, 1, 1, 0);
    inventory_upsert(f->inventory, pod_from("a", "p", "'podIPs':[{'ip':'10.1.0.1'}]"));
    (void)planner_reverse_plan_owner(f, "svc/b/new"); /* both on the host network */
    planner_reverse_assert_plan(f, 1, 0, 1);
    inventory_remove(f->inventory, KUBE_POD, "a", "p"); /* the name is b's as before */
    (void)planner_reverse_plan_owner(f, "pod/a/10-1-0-1");
    planner_reverse_assert_plan(f, 0, 1, 0);
}

/* 10.1.0.1 and others with so many ports that there are more records than permitted. */
static void put_too_large(struct fixture *f, const char *ns, const char *name)
{
    CLEANUP_BUF struct buf subset = buf_of(1 << 20);
    buf_append_str(&subset, "{'addresses':[{'ip':'10.1.0.1'}");
    for (int i = 0; i < 400; i++) {
        buf_printf(&subset, ",{'ip':'10.2.%d.%d'}", i / 250, i % 250);
    }
    buf_append_str(&subset, "],'ports':[{'port':1,'name':'p','protocol':'TCP'}");
    for (int i = 0; i < 250; i++) {
        buf_printf(&subset, ",{'port':%d,'name':'p%d','protocol':'TCP'}", i + 2, i);
    }
    buf_append_str(&subset, "]}");
    inventory_upsert(f->inventory, service_from(ns, name, HEADLESS));
    inventory_upsert(f->inventory, endpoints_from(ns, name, buf_cstr(&subset)));
}

/* Its keys in etcd stay, and it is in no other owner's way where etcd has nothing. */
UNIT_TEST_ON(test_an_owner_that_gets_too_large, struct fixture *f)
{
    planner_reverse_end_list(f, KUBE_POD);
    planner_reverse_put_headless(f, "a", "big", "h");
    planner_reverse_put_headless(f, "b", "new", "h");
    (void)planner_reverse_plan_owner(f, "svc/a/big");
    planner_reverse_assert_plan(f, 1, 1, 0); /* the smaller name */
    put_too_large(f, "a", "big");
    struct planned planned =
        planner_reverse_plan_owner(f, "svc/a/big"); /* the name is another's now */
    planner_reverse_assert_plan(f, 0, 1, 0);
    assert_false(planned.is_withheld);
    planner_reverse_put_reverse(f, "10/1/0/1", "h.big.a");
    (void)planner_reverse_plan_owner(f, "svc/a/big");
    planner_reverse_assert_plan(f, 0, 0, 1);
    (void)planner_reverse_plan_owner(f, "svc/b/new");
    planner_reverse_assert_plan(f, 1, 0, 1);
}
