/* inventory: who owns what, lists that sweep, lists that restart, lists that must not be trusted,
 * and what each kind's completeness allows. */
#include "tests/support/unit_test.h"
#include "tests/unit/kube2sky/naming/inventory_bed.h"

/* ---- Services and Endpoints ---- */

UNIT_TESTS_EACH(set_up, tear_down)

UNIT_TEST_ON(test_paired_by_name, struct fixture *f)
{
    put_endpoints(f, "default", "web");
    assert_changed(f, ""); /* no service, no keys */
    assert_has(f, "svc/default/web", "");
    put_service(f, "Default", "WEB");
    assert_changed(f, "svc/default/web ");
    assert_has(f, "svc/default/web", "S web ");
    assert_has(f, "svc/default/other", "");
    put_service(f, "other", "web");
    assert_has(f, "svc/other/web", "S ");
    assert_int_equal(inventory_count(f->inventory, KUBE_SERVICE), 2);
    assert_int_equal(inventory_count(f->inventory, KUBE_ENDPOINTS), 1);
    buf_clear(&f->changed);
    inventory_remove(f->inventory, KUBE_SERVICE, "default", "web");
    assert_changed(f, "svc/default/web ");
    assert_has(f, "svc/default/web", "");
    inventory_remove(f->inventory, KUBE_SERVICE, "default", "web");
    inventory_remove(f->inventory, KUBE_SERVICE, "default", "unknown");
    assert_changed(f, "");
    inventory_remove(f->inventory, KUBE_ENDPOINTS, "default", "web");
    assert_int_equal(inventory_count(f->inventory, KUBE_ENDPOINTS), 0);
}

UNIT_TEST_ON(test_newest_state_counts, struct fixture *f)
{
    put_service(f, "default", "web");
    put_cluster_ip(f, "default", "web");
    inventory_get(f->inventory, slice_str("svc/default/web"), &f->objects);
    assert_string_equal(f->objects.service->service.cluster_ips[0], "10.0.0.7");
    assert_int_equal(inventory_count(f->inventory, KUBE_SERVICE), 1);
}

UNIT_TEST_ON(test_endpoints_matter_to_headless_services, struct fixture *f)
{
    put_cluster_ip(f, "default", "web");
    buf_clear(&f->changed);
    put_endpoints(f, "default", "web");
    assert_changed(f, "");
    assert_has(f, "svc/default/web", "S ");
    assert_wanted(f, "");
    put_service(f, "default", "web");
    assert_changed(f, "svc/default/web ");
    assert_has(f, "svc/default/web", "? S "); /* they were not kept */
    assert_wanted(f, "default/web ");
    fill_endpoints(f, "default", "web");
    assert_changed(f, "svc/default/web ");
    assert_has(f, "svc/default/web", "S web ");
    put_endpoints(f, "default", "web");
    assert_changed(f, ""); /* no change */
    inventory_remove(f->inventory, KUBE_ENDPOINTS, "default", "web");
    assert_changed(f, "svc/default/web ");
}

UNIT_TEST_ON(test_ids_of_nobody, struct fixture *f)
{
    static const char *const owners[] = {"",     "svc",   "svc/",     "svc/default",      "pod",
                                         "pod/", "pod/x", "dns/ns/a", "svc/default/web/x"};
    put_service(f, "default", "web");
    put_pod(f, "x", "p", "'podIP':'10.1.0.1'");
    for (size_t i = 0; i < ARRAY_LEN(owners); i++) {
        assert_has(f, owners[i], "");
    }
}

/* Longer than the API allows: still one object, whatever happens to its name. */
UNIT_TEST_ON(test_endless_names, struct fixture *f)
{
    CLEANUP_FREE char *name = xasprintf("%2000d", 1);
    put_service(f, name, name);
    put_service(f, name, "web");
    put_pod(f, name, name, "'podIP':'10.1.0.1'");
    assert_int_equal(inventory_count(f->inventory, KUBE_SERVICE), 1);
    inventory_remove(f->inventory, KUBE_SERVICE, name, name);
    inventory_remove(f->inventory, KUBE_POD, name, name);
    assert_int_equal(inventory_count(f->inventory, KUBE_SERVICE), 0);
    assert_int_equal(inventory_count(f->inventory, KUBE_POD), 0);
}

/* ---- Lists ---- */

UNIT_TEST_ON(test_complete_when_all_are_listed, struct fixture *f)
{
    assert_string_equal(inventory_missing(f->inventory), "services are not listed yet");
    list_services(f, (const char *const[]){"kubernetes", "web", NULL});
    assert_false(inventory_is_complete(f->inventory));
    assert_string_equal(inventory_missing(f->inventory), "endpoints are not listed yet");
    inventory_list_begin(f->inventory, KUBE_ENDPOINTS);
    assert_false(inventory_is_complete(f->inventory));
    inventory_list_end(f->inventory, KUBE_ENDPOINTS);
    assert_string_equal(inventory_missing(f->inventory), "pods are not listed yet");
    list_nothing(f, KUBE_POD);
    assert_true(inventory_is_complete(f->inventory));
    inventory_list_begin(f->inventory, KUBE_ENDPOINTS); /* known objects stay */
    assert_true(inventory_is_complete(f->inventory));
}

UNIT_TEST_ON(test_list_removes_what_it_does_not_name, struct fixture *f)
{
    list_services(f, (const char *const[]){"kubernetes", "a", "b", NULL});
    put_endpoints(f, "default", "b");
    inventory_list_begin(f->inventory, KUBE_SERVICE);
    put_service(f, "default", "kubernetes");
    put_service(f, "default", "a");
    assert_has(f, "svc/default/b", "S b "); /* only at the list's end */
    buf_clear(&f->changed);
    inventory_list_end(f->inventory, KUBE_SERVICE);
    assert_changed(f, "svc/default/b ");
    assert_has(f, "svc/default/b", "");
    assert_has(f, "svc/default/a", "S ");
    list_services(f, (const char *const[]){"kubernetes", "a", NULL});
    assert_has(f, "svc/default/a", "S ");
}

UNIT_TEST_ON(test_list_that_begins_again_is_void, struct fixture *f)
{
    inventory_list_begin(f->inventory, KUBE_SERVICE);
    put_service(f, "default", "kubernetes");
    put_service(f, "default", "gone-meanwhile");
    inventory_list_begin(f->inventory, KUBE_SERVICE);
    put_service(f, "default", "kubernetes");
    inventory_list_end(f->inventory, KUBE_SERVICE);
    assert_has(f, "svc/default/gone-meanwhile", "");
    assert_int_equal(inventory_count(f->inventory, KUBE_SERVICE), 1);
}

UNIT_TEST_ON(test_first_list_without_kubernetes, struct fixture *f)
{
    list_nothing(f, KUBE_ENDPOINTS);
    list_nothing(f, KUBE_POD);
    list_services(f, (const char *const[]){"web", NULL});
    assert_false(inventory_is_complete(f->inventory));
    assert_string_equal(inventory_missing(f->inventory),
                        "service default/kubernetes does not exist yet");
    assert_has(f, "svc/default/web", "S ");
    assert_false(may_delete(f, "svc/default/web"));
    put_service(f, "kube-system", "kubernetes"); /* another Service of this name */
    assert_false(inventory_is_complete(f->inventory));
    put_service(f, "default", "kubernetes");
    assert_true(inventory_is_complete(f->inventory));
    assert_true(may_delete(f, "svc/default/web"));
}

UNIT_TEST_ON(test_later_list_without_kubernetes, struct fixture *f)
{
    list_nothing(f, KUBE_ENDPOINTS);
    list_nothing(f, KUBE_POD);
    list_services(f, (const char *const[]){"kubernetes", "a", "b", NULL});
    list_services(f, (const char *const[]){"a", NULL});
    assert_false(inventory_is_complete(f->inventory));
    assert_false(may_delete(f, "svc/default/a"));
    assert_false(inventory_knows_claims(f->inventory, slice_of(NULL, 0)));
    assert_has(f, "svc/default/b", "S ");
    assert_has(f, "svc/default/kubernetes", "S ");
    put_service(f, "default", "kubernetes");
    assert_true(inventory_is_complete(f->inventory));
    assert_has(f, "svc/default/a", "S ");
    assert_has(f, "svc/default/b", "");
}

UNIT_TEST_IN(test_narrowed_lists_need_no_kubernetes, set_up_narrowed, tear_down)
{
    struct fixture *f = *state;
    list_nothing(f, KUBE_ENDPOINTS);
    list_nothing(f, KUBE_POD);
    list_services(f, (const char *const[]){"a", "b", NULL});
    assert_true(inventory_is_complete(f->inventory));
    list_nothing(f, KUBE_SERVICE);
    assert_true(inventory_is_complete(f->inventory));
    assert_has(f, "svc/default/a", "");
}

/* ---- Objects not understood ---- */

UNIT_TEST_ON(test_garbled_object_keeps_its_last_state, struct fixture *f)
{
    list_services(f, (const char *const[]){"kubernetes", "web", NULL});
    buf_clear(&f->changed);
    garble(f, KUBE_SERVICE, "web", "");
    assert_changed(f, "");
    assert_has(f, "svc/default/web", "S ");
    inventory_list_begin(f->inventory, KUBE_SERVICE);
    put_service(f, "default", "kubernetes");
    garble(f, KUBE_SERVICE, "web", "");
    inventory_list_end(f->inventory, KUBE_SERVICE);
    assert_has(f, "svc/default/web", "S ");
}

UNIT_TEST_ON(test_garbled_service_is_in_doubt, struct fixture *f)
{
    garble(f, KUBE_SERVICE, "web", "");
    assert_changed(f, "svc/default/web ");
    assert_has(f, "svc/default/web", "? ");
    put_endpoints(f, "default", "web");
    assert_has(f, "svc/default/web", "? ");
    assert_has(f, "svc/default/other", "");
    buf_clear(&f->changed);
    inventory_upsert(f->inventory, service_from("default", "web", "")); /* says no more */
    assert_changed(f, "svc/default/web ");
    assert_has(f, "svc/default/web", "S ");
    garble(f, KUBE_SERVICE, "other", "");
    buf_clear(&f->changed);
    inventory_remove(f->inventory, KUBE_SERVICE, "default", "other");
    assert_changed(f, "svc/default/other ");
    assert_has(f, "svc/default/other", "");
}

UNIT_TEST_ON(test_garbled_endpoints_matter_to_headless_services, struct fixture *f)
{
    garble(f, KUBE_ENDPOINTS, "web", "");
    assert_has(f, "svc/default/web", ""); /* no service, no keys */
    put_service(f, "default", "web");
    assert_has(f, "svc/default/web", "? S ");
    put_cluster_ip(f, "default", "web");
    assert_has(f, "svc/default/web", "S ");
}

/* Whatever is garbled, everything else is as complete as without. */
UNIT_TEST_ON(test_doubt_is_about_one_owner, struct fixture *f)
{
    inventory_list_begin(f->inventory, KUBE_SERVICE);
    put_service(f, "default", "kubernetes");
    garble(f, KUBE_SERVICE, "odd", "");
    inventory_list_end(f->inventory, KUBE_SERVICE);
    inventory_list_begin(f->inventory, KUBE_ENDPOINTS);
    garble(f, KUBE_ENDPOINTS, "odd", "");
    inventory_list_end(f->inventory, KUBE_ENDPOINTS);
    inventory_list_begin(f->inventory, KUBE_POD);
    garble(f, KUBE_POD, "odd", "");
    inventory_list_end(f->inventory, KUBE_POD);
    assert_true(inventory_is_complete(f->inventory));
    assert_true(inventory_knows_claims(f->inventory, slice_of(NULL, 0)));
    assert_true(may_delete(f, "svc/default/web"));
    assert_true(may_delete(f, "pod/default/10-0-0-1"));
    assert_has(f, "svc/default/kubernetes", "S ");
    assert_has(f, "svc/default/odd", "? ");
}

static struct kube_object *slice_with_port(const char *number)
{
    CLEANUP_FREE char *rest =
        xasprintf("'addressType':'IPv4','endpoints':[],'ports':[{'port':%s}]", number);
    return slice_from("default", "web-1", "web", rest);
}

UNIT_TEST_IN(test_faults_of_the_last_state, set_up_slices, tear_down)
{
    struct fixture *f = *state;
    struct kube_object *next = slice_with_port("80");
    assert_string_equal(inventory_faults(f->inventory, next), "");
    inventory_upsert(f->inventory, slice_with_port("70000"));
    assert_non_null(strstr(inventory_faults(f->inventory, next), "found 70000"));
    inventory_upsert(f->inventory, slice_with_port("80000")); /* the same but for that */
    assert_non_null(strstr(inventory_faults(f->inventory, next), "found 80000"));
    inventory_upsert(f->inventory, slice_with_port("80"));
    assert_string_equal(inventory_faults(f->inventory, next), "");
    kube_object_free(next);
}

/* ---- Effects of each kind ---- */

static void list_one_pod(struct fixture *f)
{
    inventory_list_begin(f->inventory, KUBE_POD);
    put_pod(f, "kube-system", "dns", "'podIP':'10.1.0.9'");
    inventory_list_end(f->inventory, KUBE_POD);
}

/* Such as of an API server whose store was just emptied. */
UNIT_TEST_ON(test_a_list_without_pods_removes_none, struct fixture *f)
{
    list_services(f, (const char *const[]){"kubernetes", NULL});
    list_nothing(f, KUBE_ENDPOINTS);
    list_nothing(f, KUBE_POD); /* the first list: a new cluster is ready */
    assert_true(inventory_is_complete(f->inventory));
    assert_true(inventory_doubts(f->inventory, KUBE_POD));
    assert_false(may_delete(f, "pod/default/10-0-0-1"));
    assert_true(may_delete(f, "svc/default/gone"));
    const uint64_t completions = inventory_completions(f->inventory);
    put_pod(f, "kube-system", "dns", "'podIP':'10.1.0.9'");
    assert_false(inventory_doubts(f->inventory, KUBE_POD));
    assert_true(may_delete(f, "pod/default/10-0-0-1"));
    assert_true(inventory_completions(f->inventory) > completions);

    put_pod(f, "default", "a", "'podIP':'10.1.0.1'");
    list_nothing(f, KUBE_POD); /* a later one */
    assert_int_equal(inventory_count(f->inventory, KUBE_POD), 2);
    assert_false(may_delete(f, "pod/default/10-0-0-1"));
    assert_has(f, "pod/default/10-1-0-1", "P default 10-1-0-1 10.1.0.1");
    inventory_remove(f->inventory, KUBE_POD, "default", "a"); /* told of one by one, they go */
    assert_has(f, "pod/default/10-1-0-1", "");
    put_pod(f, "default", "b", "'podIP':'10.1.0.2'"); /* now the list is believed */
    assert_int_equal(inventory_count(f->inventory, KUBE_POD), 1);
    assert_true(may_delete(f, "pod/default/10-0-0-1"));
}

UNIT_TEST_ON(test_a_kind_holds_up_what_it_feeds_and_nothing_else, struct fixture *f)
{
    list_one_pod(f);
    assert_true(may_delete(f, "pod/default/10-0-0-1"));
    assert_false(may_delete(f, "svc/default/gone"));
    list_services(f, (const char *const[]){"kubernetes", "headless", NULL});
    put_cluster_ip(f, "default", "ip");
    assert_true(may_delete(f, "svc/default/gone"));
    assert_true(may_delete(f, "svc/default/ip"));
    assert_true(may_delete(f, "svc"));
    assert_false(may_delete(f, "svc/default/headless"));
    assert_false(inventory_knows_claims(f->inventory, slice_of(NULL, 0)));
    list_nothing(f, KUBE_ENDPOINTS);
    assert_true(may_delete(f, "svc/default/headless"));
    assert_true(inventory_knows_claims(f->inventory, slice_of(NULL, 0)));
}

UNIT_TEST_ON(test_pods_that_cannot_be_listed, struct fixture *f)
{
    list_services(f, (const char *const[]){"kubernetes", NULL});
    list_nothing(f, KUBE_ENDPOINTS);
    assert_true(may_delete(f, "svc/default/gone"));
    assert_true(inventory_knows_claims(f->inventory, slice_of(NULL, 0)));
    assert_false(may_delete(f, "pod/default/10-0-0-1"));
    assert_false(may_delete(f, "pod/default"));
}

/* A kind that is listed without the others. */
UNIT_TEST_ON(test_complete_kinds, struct fixture *f)
{
    assert_false(may_delete(f, "pod/default/10-0-0-1"));
    list_one_pod(f);
    assert_true(may_delete(f, "pod/default/10-0-0-1"));
    assert_false(may_delete(f, "svc/default/gone"));
    list_services(f, (const char *const[]){"kubernetes", NULL});
    assert_true(may_delete(f, "svc/default/gone"));
    assert_false(inventory_knows_claims(f->inventory, slice_of(NULL, 0)));
    list_nothing(f, KUBE_ENDPOINTS);
    assert_true(inventory_knows_claims(f->inventory, slice_of(NULL, 0)));
    assert_true(inventory_is_complete(f->inventory));
    list_services(f, (const char *const[]){"web", NULL});
    assert_false(may_delete(f, "svc/default/gone"));
    assert_true(may_delete(f, "pod/default/10-0-0-1"));
    assert_string_equal(inventory_missing(f->inventory),
                        "service default/kubernetes does not exist yet");
    list_services(f, (const char *const[]){"kubernetes", NULL});
    assert_true(inventory_is_complete(f->inventory));
    inventory_use_endpoints(f->inventory, KUBE_SLICE);
    assert_true(inventory_is_complete(f->inventory)); /* the old source serves until then */
}

/* ---- Pods ---- */

UNIT_TEST_ON(test_pods_by_address, struct fixture *f)
{
    put_pod(f, "default", "a", "'podIP':'10.1.0.1'");
    assert_changed(f, "pod/default/10-1-0-1 ");
    assert_has(f, "pod/default/10-1-0-1", "P default 10-1-0-1 10.1.0.1");
    assert_has(f, "pod/other/10-1-0-1", "");
    put_pod(f, "default", "a", "'podIP':'10.1.0.1','phase':'Running'"); /* no change */
    assert_changed(f, "");
    put_pod(f, "Other", "b", "'podIPs':[{'ip':'10.1.0.1'},{'ip':'FD00::0'}]");
    assert_changed(f, "pod/other/10-1-0-1 pod/other/fd00--0 ");
    assert_has(f, "pod/other/fd00--0", "P other fd00--0 fd00::");
    put_pod(f, "default", "a", "'podIP':'10.1.0.2'");
    assert_changed(f, "pod/default/10-1-0-2 pod/default/10-1-0-1 ");
    assert_has(f, "pod/default/10-1-0-1", "");
    put_pod(f, "default", "none-yet", "'phase':'Pending'");
    assert_changed(f, "");
    inventory_remove(f->inventory, KUBE_POD, "other", "b");
    assert_changed(f, "pod/other/10-1-0-1 pod/other/fd00--0 ");
    assert_int_equal(inventory_count(f->inventory, KUBE_POD), 2);
}

UNIT_TEST_ON(test_pods_that_share_an_address, struct fixture *f)
{
    put_pod(f, "default", "a", "'podIP':'192.168.0.5'");
    put_pod(f, "default", "b", "'podIP':'192.168.0.5'");
    assert_changed(f, "pod/default/192-168-0-5 ");
    inventory_remove(f->inventory, KUBE_POD, "default", "a");
    assert_changed(f, "");
    assert_has(f, "pod/default/192-168-0-5", "P default 192-168-0-5 192.168.0.5");
    inventory_remove(f->inventory, KUBE_POD, "default", "b");
    assert_changed(f, "pod/default/192-168-0-5 ");
    assert_has(f, "pod/default/192-168-0-5", "");
}

UNIT_TEST_ON(test_pods_that_ended, struct fixture *f)
{
    static const char *const phases[] = {"Succeeded", "Failed"};
    for (size_t i = 0; i < ARRAY_LEN(phases); i++) {
        CLEANUP_FREE char *ended = xasprintf("'podIP':'10.1.0.1','phase':'%s'", phases[i]);
        put_pod(f, "default", "job", "'podIP':'10.1.0.1','phase':'Running'");
        assert_changed(f, "pod/default/10-1-0-1 ");
        put_pod(f, "default", "job", ended);
        assert_changed(f, "pod/default/10-1-0-1 ");
        assert_has(f, "pod/default/10-1-0-1", "");
    }
    put_pod(f, "default", "next", "'podIP':'10.1.0.1'"); /* the address is reused */
    buf_clear(&f->changed);
    inventory_remove(f->inventory, KUBE_POD, "default", "job");
    assert_changed(f, "");
    assert_has(f, "pod/default/10-1-0-1", "P default 10-1-0-1 10.1.0.1");
}

UNIT_TEST_ON(test_pod_with_no_address_in_its_address, struct fixture *f)
{
    put_pod(f, "default", "odd", "'podIPs':[{'ip':'10-1-0-1'},{'ip':'10.1.0.2'}]");
    assert_changed(f, "pod/default/!10-1-0-1 pod/default/10-1-0-2 ");
    assert_has(f, "pod/default/10-1-0-1", "");
    assert_has(f, "pod/default/!10-1-0-1", "P default 10-1-0-1 ");
}

UNIT_TEST_ON(test_pods_that_are_not_wanted, struct fixture *f)
{
    list_services(f, (const char *const[]){"kubernetes", NULL});
    list_nothing(f, KUBE_ENDPOINTS);
    put_pod(f, "default", "a", "'podIP':'10.1.0.1'");
    buf_clear(&f->changed);
    inventory_want(f->inventory, KUBE_POD, false);
    assert_changed(f, "pod/default/10-1-0-1 ");
    assert_true(inventory_is_complete(f->inventory));
    assert_true(may_delete(f, "pod/default/10-1-0-1"));
    put_pod(f, "default", "a", "'podIP':'10.1.0.1'");
    assert_changed(f, "");
    assert_has(f, "pod/default/10-1-0-1", "");
}
