/* inventory: slices of a Service, and the change between them and Endpoints. */
#include "tests/support/unit_test.h"
#include "tests/unit/kube2sky/naming/inventory_bed.h"

UNIT_TESTS_EACH(set_up_slices, tear_down)

UNIT_TEST_ON(test_slices_by_service, struct fixture *f)
{
    put_slice(f, "web-1", "web");
    assert_changed(f, "");
    put_service(f, "default", "web");
    put_slice(f, "web-2", "web");
    put_slice(f, "db-1", "db");
    put_slice(f, "nobody", "");
    assert_changed(f, "svc/default/web svc/default/web ");
    assert_has(f, "svc/default/web", "S web-1 web-2 ");
    assert_int_equal(inventory_count(f->inventory, KUBE_SLICE), 4);
    inventory_remove(f->inventory, KUBE_SLICE, "default", "web-1");
    inventory_remove(f->inventory, KUBE_SLICE, "default", "nobody");
    assert_changed(f, "svc/default/web ");
    assert_has(f, "svc/default/web", "S web-2 ");
}

/* Those that came before it, too; an ExternalName's are not kept, a new Service's are. */
UNIT_TEST_ON(test_slices_are_kept_for_headless_services, struct fixture *f)
{
    const char *external = "'type':'ExternalName','externalName':'db.example'";
    put_slice(f, "web-1", "web");
    put_slice(f, "db-1", "db");
    inventory_upsert(f->inventory, service_from("default", "db", external));
    put_slice(f, "db-2", "db");
    put_slice(f, "db-1", "db"); /* again: nothing changes */
    put_service(f, "default", "web");
    inventory_upsert(f->inventory, service_from("default", "new", "'clusterIP':''"));
    put_slice(f, "new-1", "new");
    assert_wanted(f, "");
    assert_has(f, "svc/default/web", "S web-1 ");
    put_service(f, "default", "new");
    assert_has(f, "svc/default/new", "S new-1 ");
    assert_wanted(f, "");
    assert_int_equal(inventory_count(f->inventory, KUBE_SLICE), 4);

    put_service(f, "default", "db");
    assert_wanted(f, "default/db ");
    assert_has(f, "svc/default/db", "? S ");
    buf_clear(&f->changed);
    put_slice(f, "db-1", "db"); /* an event */
    assert_changed(f, "svc/default/db ");
    assert_has(f, "svc/default/db", "? S db-1 ");
    put_slice(f, "db-2", "db");
    assert_has(f, "svc/default/db", "S db-1 db-2 ");
}

/* Objects listed beside the watch only fill in: the watch has sent newer states since, or will. */
UNIT_TEST_ON(test_fills, struct fixture *f)
{
    list_services(f, (const char *const[]){"kubernetes", NULL});
    put_cluster_ip(f, "default", "web");
    inventory_list_begin(f->inventory, KUBE_SLICE);
    for (int i = 1; i <= 4; i++) {
        char *name = xasprintf("web-%d", i);
        inventory_upsert(f->inventory, slice_of_service(name, "web", "10.0.0.1"));
        free(name);
    }
    inventory_list_end(f->inventory, KUBE_SLICE);
    put_service(f, "default", "web");
    assert_wanted(f, "default/web ");
    put_slice(f, "web-2", "web"); /* has changed meanwhile */
    put_slice(f, "web-3", "other");
    inventory_remove(f->inventory, KUBE_SLICE, "default", "web-4");
    buf_clear(&f->changed);
    for (int i = 2; i <= 5; i++) {
        char *name = xasprintf("web-%d", i);
        inventory_fill(f->inventory, slice_of_service(name, "web", "10.0.0.1"));
        free(name);
    }
    assert_changed(f, "");
    assert_has(f, "svc/default/web", "? S web-2 ");
    inventory_fill(f->inventory, garbled_from(KUBE_SLICE, "default", "web-1", "web"));
    assert_has(f, "svc/default/web", "? S web-2 ");
    inventory_fill(f->inventory, slice_of_service("web-1", "web", "10.0.0.1"));
    assert_changed(f, "svc/default/web ");
    assert_has(f, "svc/default/web", "S web-1 web-2 ");
    assert_int_equal(inventory_count(f->inventory, KUBE_SLICE), 3);

    put_cluster_ip(f, "default", "web"); /* wants none again */
    inventory_fill(f->inventory, slice_of_service("web-1", "web", "10.0.0.1"));
    put_service(f, "default", "web");
    assert_has(f, "svc/default/web", "? S ");
    assert_wanted(f, "default/web ");
}

/* A list in progress has not named what is filled in, and may show that it is gone. */
UNIT_TEST_ON(test_a_fill_is_not_of_a_list, struct fixture *f)
{
    put_cluster_ip(f, "default", "web");
    put_slice(f, "web-1", "web");
    put_service(f, "default", "web");
    inventory_list_begin(f->inventory, KUBE_SLICE);
    inventory_fill(f->inventory, slice_of_service("web-1", "web", "10.0.0.1"));
    assert_has(f, "svc/default/web", "S web-1 ");
    inventory_list_end(f->inventory, KUBE_SLICE);
    assert_has(f, "svc/default/web", "S ");
}

/* Slices that are listed to take the place of Endpoints. */
UNIT_TEST_IN(test_a_change_of_source_wants_parts, set_up, tear_down)
{
    struct fixture *f = *state;
    list_services(f, (const char *const[]){"kubernetes", NULL});
    list_nothing(f, KUBE_ENDPOINTS);
    put_cluster_ip(f, "default", "web");
    inventory_use_endpoints(f->inventory, KUBE_SLICE);
    inventory_list_begin(f->inventory, KUBE_SLICE);
    put_slice(f, "web-1", "web");
    put_service(f, "default", "web");
    assert_wanted(f, "default/web ");
    inventory_list_end(f->inventory, KUBE_SLICE);
    assert_wanted(f, "default/web ");
}

UNIT_TEST_ON(test_slice_that_moves_to_another_service, struct fixture *f)
{
    put_service(f, "default", "a");
    put_service(f, "default", "b");
    put_slice(f, "s", "a");
    buf_clear(&f->changed);
    put_slice(f, "s", "b");
    assert_changed(f, "svc/default/b svc/default/a ");
    assert_has(f, "svc/default/a", "S ");
    assert_has(f, "svc/default/b", "S s ");
    put_slice(f, "s", "");
    assert_changed(f, "svc/default/b ");
    assert_has(f, "svc/default/b", "S ");
    put_slice(f, "s", "a");
    assert_changed(f, "svc/default/a ");
}

UNIT_TEST_ON(test_a_hundred_slices, struct fixture *f)
{
    put_service(f, "default", "web");
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < 100; i++) {
            CLEANUP_FREE char *name = xasprintf("web-%d", i);
            put_slice(f, name, "web");
        }
    }
    inventory_get(f->inventory, slice_str("svc/default/web"), &f->objects);
    assert_int_equal(f->objects.part_count, 100);
    list_nothing(f, KUBE_SLICE);
    assert_has(f, "svc/default/web", "S ");
}

UNIT_TEST_ON(test_garbled_slice, struct fixture *f)
{
    list_services(f, (const char *const[]){"kubernetes", "web", NULL});
    list_nothing(f, KUBE_SLICE);
    put_slice(f, "web-1", "web");
    buf_clear(&f->changed);
    garble(f, KUBE_SLICE, "odd", "web");
    assert_changed(f, "svc/default/web ");
    assert_has(f, "svc/default/web", "? S web-1 ");
    assert_has(f, "svc/default/kubernetes", "S ");
    inventory_remove(f->inventory, KUBE_SLICE, "default", "odd");
    assert_changed(f, "svc/default/web ");
    assert_has(f, "svc/default/web", "S web-1 ");
    garble(f, KUBE_SLICE, "odd", ""); /* it names nobody */
    assert_changed(f, "");
    assert_has(f, "svc/default/web", "S web-1 ");
    garble(f, KUBE_SLICE, "web-1", "web");
    assert_has(f, "svc/default/web", "S web-1 ");
}

UNIT_TEST_ON(test_endpoints_are_ignored_where_slices_count, struct fixture *f)
{
    put_service(f, "default", "web");
    buf_clear(&f->changed);
    put_endpoints(f, "default", "web");
    list_nothing(f, KUBE_ENDPOINTS);
    garble(f, KUBE_ENDPOINTS, "web", "");
    assert_changed(f, "");
    assert_has(f, "svc/default/web", "S ");
    assert_int_equal(inventory_count(f->inventory, KUBE_ENDPOINTS), 0);
    list_services(f, (const char *const[]){"kubernetes", "web", NULL});
    assert_string_equal(inventory_missing(f->inventory), "endpoint slices are not listed yet");
}

UNIT_TEST_IN(test_change_of_source_waits_for_the_new_list, set_up, tear_down)
{
    struct fixture *f = *state;
    list_services(f, (const char *const[]){"kubernetes", "web", "db", NULL});
    inventory_list_begin(f->inventory, KUBE_ENDPOINTS);
    put_endpoints(f, "default", "web");
    inventory_list_end(f->inventory, KUBE_ENDPOINTS);
    inventory_use_endpoints(f->inventory, KUBE_SLICE);
    buf_clear(&f->changed);
    inventory_list_begin(f->inventory, KUBE_SLICE);
    put_slice(f, "web-1", "web");
    put_slice(f, "db-1", "db");
    assert_has(f, "svc/default/web", "S web ");
    assert_true(may_delete(f, "svc/default/web"));
    buf_clear(&f->changed);
    inventory_list_end(f->inventory, KUBE_SLICE);
    assert_has(f, "svc/default/web", "S web-1 ");
    assert_has(f, "svc/default/db", "S db-1 ");
    assert_non_null(strstr(buf_cstr(&f->changed), "svc/default/web "));
    assert_non_null(strstr(buf_cstr(&f->changed), "svc/default/db "));
    assert_int_equal(inventory_count(f->inventory, KUBE_ENDPOINTS), 0);
    assert_true(may_delete(f, "svc/default/web"));
}

static bool is_certain(struct fixture *f, const char *owner)
{
    inventory_get(f->inventory, slice_str(owner), &f->objects);
    return may_delete(f, owner) && !f->objects.is_in_doubt;
}

/* Endpoints that the new source lacks may still exist, unless they have changed there since. */
UNIT_TEST_IN(test_change_of_source_deletes_nothing_at_once, set_up, tear_down)
{
    struct fixture *f = *state;
    inventory_want(f->inventory, KUBE_POD, false);
    for (int i = 0; i < 2; i++) {
        enum kube_kind kind = i ? KUBE_SLICE : KUBE_ENDPOINTS;
        list_services(f, (const char *const[]){"kubernetes", "web", "db", "gone", NULL});
        put_cluster_ip(f, "default", "ip");
        inventory_use_endpoints(f->inventory, kind);
        inventory_list_begin(f->inventory, kind);
        if (i) {
            put_slice(f, "web-1", "web");
            put_slice(f, "db-1", "db");
        } else {
            put_endpoints(f, "default", "web");
            put_endpoints(f, "default", "db");
        }
        inventory_settle_endpoints(f->inventory, false);
        inventory_list_end(f->inventory, kind);
        assert_true(inventory_is_complete(f->inventory)); /* readiness does not wait */
        assert_false(is_certain(f, "svc/default/web"));
        assert_false(is_certain(f, "svc/default/gone"));
        assert_true(is_certain(f, "svc/default/ip"));
        assert_true(is_certain(f, "svc/default/no-service"));

        if (i) {
            inventory_upsert(f->inventory,
                             slice_from("default", "web-1", "web",
                                        "'addressType':'IPv4','endpoints':["
                                        "{'addresses':['10.0.0.9'],'conditions':{'ready':true}}]"));
            put_slice(f, "db-1", "db"); /* as before */
        } else {
            inventory_upsert(f->inventory,
                             endpoints_from("default", "web", "{'addresses':[{'ip':'10.0.0.9'}]}"));
            put_endpoints(f, "default", "db");
        }
        assert_true(is_certain(f, "svc/default/web"));
        assert_false(is_certain(f, "svc/default/db"));

        buf_clear(&f->changed);
        inventory_settle_endpoints(f->inventory, true);
        assert_non_null(strstr(buf_cstr(&f->changed), "svc/default/db "));
        assert_non_null(strstr(buf_cstr(&f->changed), "svc/default/gone "));
        assert_null(strstr(buf_cstr(&f->changed), "svc/default/ip "));
        assert_true(is_certain(f, "svc/default/db"));
        assert_true(is_certain(f, "svc/default/gone"));
        buf_clear(&f->changed);
        inventory_settle_endpoints(f->inventory, true);
        assert_changed(f, "");
    }
}

/* Gone from the new source since its first list, by an event or from a later list, is a change
 * there; gone with the old source is none. */
UNIT_TEST_IN(test_lost_endpoints_are_a_change, set_up, tear_down)
{
    struct fixture *f = *state;
    list_services(f, (const char *const[]){"kubernetes", "web", "db", "kept", NULL});
    inventory_settle_endpoints(f->inventory, false);
    inventory_list_begin(f->inventory, KUBE_ENDPOINTS);
    put_endpoints(f, "default", "web");
    put_endpoints(f, "default", "db");
    put_endpoints(f, "default", "kept");
    inventory_list_end(f->inventory, KUBE_ENDPOINTS);
    assert_has(f, "svc/default/web", "? S web ");
    inventory_remove(f->inventory, KUBE_ENDPOINTS, "default", "web");
    assert_has(f, "svc/default/web", "S ");
    assert_has(f, "svc/default/db", "? S db ");
    inventory_list_begin(f->inventory, KUBE_ENDPOINTS);
    put_endpoints(f, "default", "kept");
    inventory_list_end(f->inventory, KUBE_ENDPOINTS);
    assert_has(f, "svc/default/db", "S ");
    assert_has(f, "svc/default/kept", "? S kept ");
    list_services(f, (const char *const[]){"kubernetes", "web", "db", "kept", NULL});
    assert_has(f, "svc/default/web", "S ");

    inventory_use_endpoints(f->inventory, KUBE_SLICE);
    inventory_list_begin(f->inventory, KUBE_SLICE);
    put_slice(f, "1", "db");
    put_slice(f, "2", "db");
    inventory_list_end(f->inventory, KUBE_SLICE);
    assert_has(f, "svc/default/web", "? S ");
    assert_has(f, "svc/default/db", "? S 1 2 ");
    assert_has(f, "svc/default/kept", "? S ");
    put_slice(f, "2", "kept"); /* another label */
    assert_has(f, "svc/default/db", "S 1 ");
    assert_has(f, "svc/default/kept", "S 2 ");
    assert_has(f, "svc/default/web", "? S ");
}

static void note_slice_change(void *data, struct slice owner, const struct slice_change *change)
{
    struct fixture *f = data;
    buf_printf(&f->parts, "%.*s ", (int)owner.len, owner.ptr);
}

/* While slices are listed to take the place of Endpoints, and when they do not, they are no change
 * of records by themselves. */
UNIT_TEST_IN(test_slices_count_by_themselves_once_they_are_the_source, set_up, tear_down)
{
    struct fixture *f = *state;
    inventory_free(f->inventory);
    f->inventory = inventory_new(&(struct inventory_config){
        .changed = note_change, .slice_changed = note_slice_change, .data = f});
    list_services(f, (const char *const[]){"kubernetes", "web", NULL});
    inventory_list_begin(f->inventory, KUBE_ENDPOINTS);
    put_endpoints(f, "default", "web");
    inventory_list_end(f->inventory, KUBE_ENDPOINTS);
    inventory_use_endpoints(f->inventory, KUBE_SLICE);
    inventory_list_begin(f->inventory, KUBE_SLICE);
    put_slice(f, "web-1", "web");
    inventory_use_endpoints(f->inventory, KUBE_ENDPOINTS); /* taken back: the slice goes */
    assert_string_equal(buf_cstr(&f->parts), "");

    inventory_use_endpoints(f->inventory, KUBE_SLICE);
    inventory_list_begin(f->inventory, KUBE_SLICE);
    put_slice(f, "web-1", "web");
    inventory_list_end(f->inventory, KUBE_SLICE);
    assert_string_equal(buf_cstr(&f->parts), "");
    put_slice(f, "web-2", "web");
    assert_string_equal(buf_cstr(&f->parts), "svc/default/web ");
}

UNIT_TEST_IN(test_change_of_source_that_is_taken_back, set_up, tear_down)
{
    struct fixture *f = *state;
    list_services(f, (const char *const[]){"kubernetes", "web", NULL});
    inventory_list_begin(f->inventory, KUBE_ENDPOINTS);
    put_endpoints(f, "default", "web");
    inventory_list_end(f->inventory, KUBE_ENDPOINTS);
    inventory_use_endpoints(f->inventory, KUBE_SLICE);
    inventory_list_begin(f->inventory, KUBE_SLICE);
    put_slice(f, "web-1", "web");
    inventory_use_endpoints(f->inventory, KUBE_ENDPOINTS);
    inventory_list_end(f->inventory, KUBE_SLICE);
    assert_has(f, "svc/default/web", "S web ");
    assert_int_equal(inventory_count(f->inventory, KUBE_SLICE), 0);
    put_endpoints(f, "default", "web");
    assert_has(f, "svc/default/web", "S web ");
}

UNIT_TEST_IN(test_source_before_any_list_changes_at_once, set_up, tear_down)
{
    struct fixture *f = *state;
    put_service(f, "default", "web");
    put_endpoints(f, "default", "web");
    inventory_use_endpoints(f->inventory, KUBE_SLICE);
    assert_has(f, "svc/default/web", "S ");
    put_slice(f, "web-1", "web");
    assert_has(f, "svc/default/web", "S web-1 ");
}
