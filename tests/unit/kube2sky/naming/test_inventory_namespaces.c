/* inventory with namespaces: each is known, doubted and swept by itself. */
#include "tests/unit/kube2sky/objects.h"

#include "kube2sky/naming/inventory.h"
#include "tests/support/unit_test.h"

static const char *const namespaces[] = {"team", "crew"};

static void inventory_namespaces_ignore_change(void *data UNUSED, struct slice owner UNUSED)
{
}

static int inventory_namespaces_set_up(void **state)
{
    *state =
        inventory_new(&(struct inventory_config){.is_narrowed = true,
                                                 .namespaces = namespaces,
                                                 .namespace_count = 2,
                                                 .changed = inventory_namespaces_ignore_change});
    return 0;
}

static int inventory_namespaces_tear_down(void **state)
{
    inventory_free(*state);
    return 0;
}

UNIT_TESTS_EACH(inventory_namespaces_set_up, inventory_namespaces_tear_down)

/* A complete list of the kind in the namespace, of this object or none. */
static void inventory_namespaces_list(struct inventory *inventory, enum kube_kind kind,
                                      const char *ns, struct kube_object *object)
{
    struct inventory *part = inventory_part(inventory, kind, ns);
    inventory_list_begin(part, kind);
    if (object) {
        inventory_upsert(part, object);
    }
    inventory_list_end(part, kind);
}

static struct kube_object *inventory_namespaces_headless(const char *ns)
{
    return service_from(ns, "web", "'clusterIP':'None'");
}

static bool inventory_namespaces_has_service(const struct inventory *inventory, const char *owner)
{
    struct owner_objects objects;
    owner_objects_init(&objects);
    inventory_get(inventory, slice_str(owner), &objects);
    bool has_it = objects.service != NULL;
    owner_objects_fini(&objects);
    return has_it;
}

UNIT_TEST_ON(test_parts, struct inventory *inventory)
{
    struct inventory *team = inventory_part(inventory, KUBE_SERVICE, "team");
    assert_ptr_not_equal(team, inventory);
    assert_ptr_equal(inventory_part(inventory, KUBE_POD, "team"), team);
    assert_ptr_not_equal(inventory_part(inventory, KUBE_SERVICE, "crew"), team);
    assert_null(inventory_part(inventory, KUBE_SERVICE, "other"));
    assert_ptr_equal(inventory_part(inventory, KUBE_NODE, ""), inventory);
}

UNIT_TEST_ON(test_each_is_known_by_itself, struct inventory *inventory)
{
    inventory_namespaces_list(inventory, KUBE_SERVICE, "team",
                              inventory_namespaces_headless("team"));
    assert_false(inventory_may_delete(inventory, slice_str("svc/team/web")));
    inventory_namespaces_list(inventory, KUBE_ENDPOINTS, "team", NULL);
    assert_true(inventory_may_delete(inventory, slice_str("svc/team/web")));
    assert_true(inventory_may_delete(inventory, slice_str("svc/team/gone")));
    assert_false(inventory_may_delete(inventory, slice_str("svc/crew/web")));
    assert_false(inventory_may_delete(inventory, slice_str("svc/other/web")));
    assert_false(inventory_may_delete(inventory, slice_str("pod/team/10-0-0-1")));
    inventory_namespaces_list(inventory, KUBE_POD, "team", NULL);
    assert_true(inventory_may_delete(inventory, slice_str("pod/team/10-0-0-1")));
    assert_false(inventory_may_delete(inventory, slice_str("pod/crew/10-0-0-1")));
}

UNIT_TEST_ON(test_a_list_sweeps_its_namespace_only, struct inventory *inventory)
{
    inventory_namespaces_list(inventory, KUBE_SERVICE, "team",
                              inventory_namespaces_headless("team"));
    inventory_namespaces_list(inventory, KUBE_SERVICE, "crew",
                              inventory_namespaces_headless("crew"));
    assert_int_equal(inventory_count(inventory, KUBE_SERVICE), 2);
    inventory_namespaces_list(inventory, KUBE_SERVICE, "team", NULL);
    assert_false(inventory_namespaces_has_service(inventory, "svc/team/web"));
    assert_true(inventory_namespaces_has_service(inventory, "svc/crew/web"));
    assert_non_null(inventory_find(inventory, KUBE_SERVICE, slice_str("crew/web")));
    assert_null(inventory_find(inventory, KUBE_SERVICE, slice_str("team/web")));
    assert_int_equal(inventory_count(inventory, KUBE_SERVICE), 1);
}

UNIT_TEST_ON(test_claims_are_known_by_namespace, struct inventory *inventory)
{
    inventory_namespaces_list(inventory, KUBE_SERVICE, "team", NULL);
    inventory_namespaces_list(inventory, KUBE_ENDPOINTS, "team", NULL);
    assert_true(inventory_knows_claims(inventory, slice_str("svc/team/web")));
    assert_false(inventory_knows_claims(inventory, slice_str("svc/crew/web")));
    assert_false(inventory_knows_claims(inventory, slice_of(NULL, 0)));
    assert_true(inventory_awaits_claims(inventory));
    inventory_lack(inventory_part(inventory, KUBE_SERVICE, "crew"), KUBE_SERVICE);
    assert_true(inventory_awaits_claims(inventory));
    inventory_lack(inventory_part(inventory, KUBE_ENDPOINTS, "crew"), KUBE_ENDPOINTS);
    assert_false(inventory_awaits_claims(inventory));
    assert_false(inventory_knows_claims(inventory, slice_str("svc/crew/web")));
}

UNIT_TEST_ON(test_what_is_refused_is_not_waited_for, struct inventory *inventory)
{
    static const enum kube_kind kinds[] = {KUBE_SERVICE, KUBE_ENDPOINTS, KUBE_POD};
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
        inventory_namespaces_list(inventory, kinds[i], "team", NULL);
        assert_false(inventory_is_complete(inventory));
        inventory_lack(inventory_part(inventory, kinds[i], "crew"), kinds[i]);
    }
    assert_true(inventory_is_complete(inventory));
    assert_false(inventory_knows_claims(inventory, slice_str("svc/crew/web")));
    assert_false(inventory_may_delete(inventory, slice_str("svc/crew/web")));

    uint64_t completions = inventory_completions(inventory);
    inventory_namespaces_list(inventory, KUBE_SERVICE, "crew", NULL);
    assert_true(inventory_completions(inventory) > completions);
    assert_true(inventory_may_delete(inventory, slice_str("svc/crew/web")));
}

/* One namespace's slices may be permitted, and another's not. */
UNIT_TEST_ON(test_each_has_its_source_of_endpoints, struct inventory *inventory)
{
    static const char rest[] = "'addressType':'IPv4','endpoints':[{'addresses':['10.0.0.1']}]";
    CLEANUP(owner_objects_fini) struct owner_objects objects;
    inventory_use_endpoints(inventory_part(inventory, KUBE_ENDPOINTS, "team"), KUBE_SLICE);
    inventory_namespaces_list(inventory, KUBE_SERVICE, "team",
                              inventory_namespaces_headless("team"));
    inventory_namespaces_list(inventory, KUBE_SERVICE, "crew",
                              inventory_namespaces_headless("crew"));
    inventory_namespaces_list(inventory, KUBE_SLICE, "team",
                              slice_from("team", "web-1", "web", rest));
    inventory_namespaces_list(inventory, KUBE_ENDPOINTS, "crew",
                              endpoints_from("crew", "web", "{'addresses':[{'ip':'10.0.0.2'}]}"));
    owner_objects_init(&objects);
    inventory_get(inventory, slice_str("svc/team/web"), &objects);
    assert_int_equal(objects.parts[0]->kind, KUBE_SLICE);
    inventory_settle_endpoints(inventory_part(inventory, KUBE_ENDPOINTS, "crew"), false);
    inventory_get(inventory, slice_str("svc/crew/web"), &objects);
    assert_int_equal(objects.parts[0]->kind, KUBE_ENDPOINTS);
    assert_true(objects.is_in_doubt);
    inventory_get(inventory, slice_str("svc/team/web"), &objects);
    assert_false(objects.is_in_doubt);
}
