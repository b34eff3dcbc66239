/* The bugs of the original kube2sky, a test for each: the keys of objects, and the plan that
 * updates etcd. Two do not concern objects and keys and are tested elsewhere: watches that break
 * silently (10) in test_reflector, a service named prometheus that ends skydns (11) in
 * skydns/test_options. */
#include "tests/unit/kube2sky/objects.h"

#include "common/base/buf.h"
#include "kube2sky/naming/inventory.h"
#include "kube2sky/naming/naming.h"
#include "kube2sky/reconcile/actual.h"
#include "kube2sky/reconcile/plan.h"
#include "tests/support/unit_test.h"
#include "tests/unit/kube2sky/reconcile/planner_whole.h"

#define DOMAIN_BASE "/skydns/local/cluster/"

struct fixture {
    struct inventory *inventory;
    struct owner_objects objects;
    struct desired desired;
    struct claims claims;
    struct actual_keys actual; /* of the owner under test */
    struct plan plan;
    struct buf text;
    size_t changes; /* reported by the inventory */
};

static void old_faults_note_change(void *data, struct slice owner)
{
    struct fixture *f = data;
    f->changes += owner.len > 0;
}

static void refuse_drop(void *data, const struct naming_drop *drop)
{
    fail_msg("dropped %s %s", drop->what, drop->value);
}

static void old_faults_set_up(struct fixture *f)
{
    f->inventory =
        inventory_new(&(struct inventory_config){.changed = old_faults_note_change, .data = f});
    owner_objects_init(&f->objects);
    desired_init(&f->desired);
    claims_init(&f->claims);
    plan_init(&f->plan);
    buf_init(&f->text, 1 << 20);
}

static void old_faults_tear_down(struct fixture *f)
{
    inventory_free(f->inventory);
    owner_objects_fini(&f->objects);
    desired_fini(&f->desired);
    claims_fini(&f->claims);
    actual_fini(&f->actual);
    plan_fini(&f->plan);
    buf_fini(&f->text);
}

UNIT_FIXTURE(struct fixture, old_faults_set_up, old_faults_tear_down)

static void old_faults_name_owner(struct fixture *f, const char *owner)
{
    struct naming_config config = {.domain = "cluster.local.", .ttl_s = 30, .dropped = refuse_drop};
    struct err err;
    inventory_get(f->inventory, slice_str(owner), &f->objects);
    assert_int_equal(naming_build(&config, &f->objects, &f->desired, &f->claims, &err), 0);
}

static void old_faults_hold(struct fixture *f, const char *suffix, const char *value)
{
    struct actual_value held = {
        .hash = actual_value_hash(slice_str(value)),
        .revision = 1,
        .generation = 1,
        .is_ours = true,
    };
    (void)actual_put(&f->actual, slice_str(suffix), &held);
}

/* Checks the owner's plan, "+/c88f1059 -/web ": puts and deletes relative to its base, in order.
 * Then applies it. */
static void old_faults_assert_plan(struct fixture *f, const char *owner, const char *want)
{
    CLEANUP_FREE char *base = xasprintf(DOMAIN_BASE "%s", owner);
    size_t base_len = strlen(base);
    old_faults_name_owner(f, owner);
    plan_build_nothing(&f->plan);
    plan_whole(&f->desired, slice_str(base), &f->actual, &f->plan);
    buf_clear(&f->text);
    for (size_t i = 0; i < f->plan.op_count; i++) {
        struct etcd_op op = plan_get(&f->plan, i);
        CLEANUP_FREE char *suffix = xstrndup(op.key.ptr + base_len, op.key.len - base_len);
        if (op.kind == ETCD_OP_PUT) {
            CLEANUP_FREE char *value = xstrndup(op.value.ptr, op.value.len);
            buf_printf(&f->text, "+%s ", suffix);
            old_faults_hold(f, suffix, value);
        } else {
            buf_printf(&f->text, "-%s ", suffix);
            assert_true(actual_delete(&f->actual, slice_str(suffix)));
        }
    }
    assert_string_equal(buf_cstr(&f->text), want);
}

static void old_faults_put_service(struct fixture *f, const char *spec)
{
    inventory_upsert(f->inventory, service_from("default", "web", spec));
}

static void old_faults_put_endpoints(struct fixture *f, const char *subsets)
{
    inventory_upsert(f->inventory, endpoints_from("default", "web", subsets));
}

static void old_faults_put_pod(struct fixture *f, const char *name, const char *status)
{
    inventory_upsert(f->inventory, pod_from("default", name, status));
}

#define HTTP(number) \
    "'clusterIP':'10.0.0.1','ports':[{'name':'http','port':" number ",'protocol':'TCP'}]"

/* 1: an update deleted everything and wrote it again, and so did a resync without changes. */
UNIT_TEST_ON(test_01_an_update_is_its_difference, struct fixture *f)
{
    old_faults_put_service(f, HTTP("80"));
    old_faults_assert_plan(f, "svc/default/web", "+/_tcp/_http/c88f1059 +/c88f1059 ");
    old_faults_put_service(f, HTTP("80"));
    old_faults_assert_plan(f, "svc/default/web", "");
    old_faults_put_service(f, HTTP("81"));
    old_faults_assert_plan(f, "svc/default/web", "+/_tcp/_http/c88f1059 ");
    old_faults_put_service(f, "'clusterIP':'10.0.0.9'"); /* another address: the new one first */
    old_faults_assert_plan(f, "svc/default/web", "+/19ccb11 -/_tcp/_http/c88f1059 -/c88f1059 ");
    old_faults_put_service(f, "'type':'ExternalName','externalName':'db.example'");
    old_faults_assert_plan(f, "svc/default/web", "+ -/19ccb11 ");
    old_faults_put_service(f, HTTP("80"));
    old_faults_assert_plan(f, "svc/default/web", "+/_tcp/_http/c88f1059 +/c88f1059 - ");
}

/* 2: objects deleted while kube2sky was down stayed forever. */
UNIT_TEST_ON(test_02_orphans_go, struct fixture *f)
{
    old_faults_hold(f, "/c88f1059", "{\"host\":\"10.0.0.1\"}");
    old_faults_hold(f, "/_tcp/_http/c88f1059", "{}");
    assert_false(inventory_may_delete(f->inventory, slice_str("svc/default/web")));
    inventory_list_begin(f->inventory, KUBE_SERVICE);
    inventory_upsert(f->inventory, service_from("default", "kubernetes", HTTP("443")));
    inventory_list_end(f->inventory, KUBE_SERVICE);
    assert_true(inventory_may_delete(f->inventory, slice_str("svc/default/web")));
    old_faults_assert_plan(f, "svc/default/web", "-/_tcp/_http/c88f1059 -/c88f1059 ");
}

/* 3: a label is the hash of the value's text, so each change of the format left the old keys. This
 * is the format of 1.10. */
UNIT_TEST_ON(test_03_keys_of_another_format_go, struct fixture *f)
{
    old_faults_hold(f, "/f488b1a2",
                    "{\"host\":\"10.0.0.1\",\"priority\":10,\"weight\":10,\"ttl\":30}");
    old_faults_put_service(f, "'clusterIP':'10.0.0.1'");
    old_faults_assert_plan(f, "svc/default/web", "+/c88f1059 -/f488b1a2 ");
}

/* 4: pods on the host network share a key, which went with the first of them; a pod that had ended
 * kept its key, although its address had been reused. */
UNIT_TEST_ON(test_04_a_shared_address_stays_until_the_last_pod, struct fixture *f)
{
    old_faults_put_pod(f, "a", "'podIP':'10.0.0.1'");
    old_faults_put_pod(f, "b", "'podIP':'10.0.0.1'");
    old_faults_assert_plan(f, "pod/default/10-0-0-1", "+/c88f1059 ");
    inventory_remove(f->inventory, KUBE_POD, "default", "a");
    old_faults_assert_plan(f, "pod/default/10-0-0-1", "");
    old_faults_put_pod(f, "b", "'podIP':'10.0.0.1','phase':'Succeeded'");
    old_faults_assert_plan(f, "pod/default/10-0-0-1", "-/c88f1059 ");
    old_faults_put_pod(f, "c", "'podIP':'10.0.0.1'");
    old_faults_assert_plan(f, "pod/default/10-0-0-1", "+/c88f1059 ");
    inventory_remove(f->inventory, KUBE_POD, "default", "b");
    old_faults_assert_plan(f, "pod/default/10-0-0-1", "");
}

/* 5: of two endpoints with the same hostname, one overwrote the other. */
UNIT_TEST_ON(test_05_one_hostname_has_all_its_addresses, struct fixture *f)
{
    old_faults_put_service(f, "'clusterIP':'None'");
    old_faults_put_endpoints(f, "{'addresses':[{'ip':'10.0.0.1','hostname':'db'}]}");
    old_faults_assert_plan(f, "svc/default/web", "+/db ");
    old_faults_put_endpoints(f, "{'addresses':[{'ip':'10.0.0.1','hostname':'db'},"
                                "{'ip':'10.0.0.9','hostname':'db'}]}");
    old_faults_assert_plan(f, "svc/default/web", "+/db/19ccb11 +/db/c88f1059 -/db ");
}

/* 6: a leaf <name>.<ns>.<domain> and a folder of the same path, for a namespace called svc or pod,
 * ended in endless retries. */
UNIT_TEST_ON(test_06_names_that_are_parts_of_keys, struct fixture *f)
{
    inventory_upsert(f->inventory, service_from("svc", "pod", HTTP("80")));
    old_faults_assert_plan(f, "svc/svc/pod", "+/_tcp/_http/c88f1059 +/c88f1059 ");
    actual_fini(&f->actual);
    inventory_upsert(f->inventory, pod_from("svc", "a", "'podIP':'10.0.0.1'"));
    old_faults_assert_plan(f, "pod/svc/10-0-0-1", "+/c88f1059 ");
}

/* 7: not a bug, and unchanged: an address in two subsets has the ports of both. */
UNIT_TEST_ON(test_07_one_address_in_two_subsets, struct fixture *f)
{
    old_faults_put_service(f, "'clusterIP':'None'");
    old_faults_put_endpoints(
        f, "{'addresses':[{'ip':'10.0.0.1'}],'ports':[{'name':'a','port':1,"
           "'protocol':'TCP'}]},{'addresses':[{'ip':'10.0.0.1'}],'ports':[{'name':'b',"
           "'port':2,'protocol':'TCP'}]}");
    old_faults_assert_plan(f, "svc/default/web",
                           "+/_tcp/_a/c88f1059 +/_tcp/_b/c88f1059 +/c88f1059 ");
}

/* 8: every pod of the cluster was kept, wanted or not (its size is in test_memory), and each of its
 * many changes cost work. */
UNIT_TEST_ON(test_08_pods_cost_what_they_give, struct fixture *f)
{
    old_faults_put_pod(f, "a", "'podIP':'10.0.0.1'");
    assert_int_equal(f->changes, 1);
    old_faults_put_pod(f, "a", "'podIP':'10.0.0.1','phase':'Running'");
    assert_int_equal(f->changes, 1);
    old_faults_assert_plan(f, "pod/default/10-0-0-1", "+/c88f1059 ");
    inventory_want(f->inventory, KUBE_POD, false);
    old_faults_put_pod(f, "a", "'podIP':'10.0.0.1'");
    assert_int_equal(inventory_count(f->inventory, KUBE_POD), 0);
    old_faults_assert_plan(f, "pod/default/10-0-0-1", "-/c88f1059 ");
}

/* 9: lost etcd data was noticed after half an hour, and lost pod records never. */
UNIT_TEST_ON(test_09_what_etcd_lost_is_written_again, struct fixture *f)
{
    old_faults_put_pod(f, "a", "'podIP':'10.0.0.1'");
    old_faults_assert_plan(f, "pod/default/10-0-0-1", "+/c88f1059 ");
    assert_true(actual_delete(&f->actual, slice_str("/c88f1059")));
    old_faults_assert_plan(f, "pod/default/10-0-0-1", "+/c88f1059 ");
}
