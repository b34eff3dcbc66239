/* inventory: pairs, lists that sweep, lists that restart, lists that may not be believed. */
#include "tests/unit/kube2sky/objects.h"

#include "common/buf.h"
#include "kube2sky/inventory.h"

struct fixture {
    struct inventory *inventory;
    struct buf changed; /* "owner owner " since the last look */
};

static void note_change(void *data, struct slice owner)
{
    struct fixture *f = data;
    buf_append_slice(&f->changed, owner);
    buf_append_char(&f->changed, ' ');
}

static int set_up(void **state)
{
    struct fixture *f = xcalloc(1, sizeof(*f));
    buf_init(&f->changed, 1 << 20);
    f->inventory = inventory_new(&(struct inventory_config){.changed = note_change, .data = f});
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;
    inventory_free(f->inventory);
    buf_fini(&f->changed);
    free(f);
    return 0;
}

static void assert_changed(struct fixture *f, const char *want)
{
    assert_string_equal(buf_cstr(&f->changed), want);
    buf_clear(&f->changed);
}

static void put_service(struct fixture *f, const char *ns, const char *name)
{
    inventory_upsert(f->inventory, service_from(ns, name, "'clusterIP':'None'"));
}

static void put_endpoints(struct fixture *f, const char *ns, const char *name)
{
    inventory_upsert(f->inventory, endpoints_from(ns, name, "{'addresses':[{'ip':'10.0.0.1'}]}"));
}

/* "SE", "S", "E", "" for what the owner has, "?" when it is not known. */
static void assert_pair(const struct fixture *f, const char *owner, const char *want)
{
    struct inventory_pair pair;
    if (!inventory_get(f->inventory, slice_str(owner), &pair)) {
        assert_string_equal("?", want);
        return;
    }
    const char *got = pair.service ? (pair.endpoints ? "SE" : "S") : (pair.endpoints ? "E" : "");
    assert_string_equal(got, want);
}

static void list_services(struct fixture *f, const char *const *names)
{
    inventory_list_begin(f->inventory, KUBE_SERVICE);
    for (; *names; names++) {
        put_service(f, "default", *names);
    }
    inventory_list_end(f->inventory, KUBE_SERVICE);
}

static void test_pairs_by_name(void **state)
{
    struct fixture *f = *state;
    put_endpoints(f, "default", "web");
    assert_pair(f, "default/web", "E");
    put_service(f, "Default", "WEB");
    assert_changed(f, "default/web default/web ");
    assert_pair(f, "default/web", "SE");
    assert_pair(f, "default/other", "");
    put_service(f, "other", "web");
    assert_pair(f, "other/web", "S");
    assert_int_equal(inventory_count(f->inventory, KUBE_SERVICE), 2);
    assert_int_equal(inventory_count(f->inventory, KUBE_ENDPOINTS), 1);
    buf_clear(&f->changed);
    inventory_remove(f->inventory, KUBE_SERVICE, "default", "web");
    assert_changed(f, "default/web ");
    assert_pair(f, "default/web", "E");
    inventory_remove(f->inventory, KUBE_SERVICE, "default", "web");
    inventory_remove(f->inventory, KUBE_SERVICE, "default", "unknown");
    assert_changed(f, "");
    inventory_remove(f->inventory, KUBE_ENDPOINTS, "default", "web");
    assert_changed(f, "default/web ");
    assert_pair(f, "default/web", "");
    assert_int_equal(inventory_count(f->inventory, KUBE_ENDPOINTS), 0);
}

static void test_newest_state_counts(void **state)
{
    struct fixture *f = *state;
    struct inventory_pair pair;
    put_service(f, "default", "web");
    inventory_upsert(f->inventory, service_from("default", "web", "'clusterIP':'10.0.0.7'"));
    assert_true(inventory_get(f->inventory, slice_str("default/web"), &pair));
    assert_string_equal(pair.service->service.cluster_ips[0], "10.0.0.7");
    assert_int_equal(inventory_count(f->inventory, KUBE_SERVICE), 1);
}

static void test_complete_when_both_are_listed(void **state)
{
    struct fixture *f = *state;
    assert_string_equal(inventory_missing(f->inventory), "services are not listed yet");
    list_services(f, (const char *const[]){"kubernetes", "web", NULL});
    assert_false(inventory_is_complete(f->inventory));
    assert_string_equal(inventory_missing(f->inventory), "endpoints are not listed yet");
    inventory_list_begin(f->inventory, KUBE_ENDPOINTS);
    assert_false(inventory_is_complete(f->inventory));
    inventory_list_end(f->inventory, KUBE_ENDPOINTS);
    assert_true(inventory_is_complete(f->inventory));
    inventory_list_begin(f->inventory, KUBE_ENDPOINTS); /* what is known stays known */
    assert_true(inventory_is_complete(f->inventory));
}

static void test_list_removes_what_it_does_not_name(void **state)
{
    struct fixture *f = *state;
    list_services(f, (const char *const[]){"kubernetes", "a", "b", NULL});
    put_endpoints(f, "default", "b");
    buf_clear(&f->changed);
    inventory_list_begin(f->inventory, KUBE_SERVICE);
    put_service(f, "default", "kubernetes");
    put_service(f, "default", "a");
    assert_pair(f, "default/b", "SE"); /* not before the list's end */
    buf_clear(&f->changed);
    inventory_list_end(f->inventory, KUBE_SERVICE);
    assert_changed(f, "default/b ");
    assert_pair(f, "default/b", "E");
    assert_pair(f, "default/a", "S");
    list_services(f, (const char *const[]){"kubernetes", "a", NULL});
    assert_pair(f, "default/a", "S");
}

static void test_list_that_begins_again_is_void(void **state)
{
    struct fixture *f = *state;
    inventory_list_begin(f->inventory, KUBE_SERVICE);
    put_service(f, "default", "kubernetes");
    put_service(f, "default", "gone-meanwhile");
    inventory_list_begin(f->inventory, KUBE_SERVICE);
    put_service(f, "default", "kubernetes");
    inventory_list_end(f->inventory, KUBE_SERVICE);
    assert_pair(f, "default/gone-meanwhile", "");
    assert_int_equal(inventory_count(f->inventory, KUBE_SERVICE), 1);
}

static void test_first_list_without_kubernetes(void **state)
{
    struct fixture *f = *state;
    inventory_list_begin(f->inventory, KUBE_ENDPOINTS);
    inventory_list_end(f->inventory, KUBE_ENDPOINTS);
    list_services(f, (const char *const[]){"web", NULL});
    assert_false(inventory_is_complete(f->inventory));
    assert_string_equal(inventory_missing(f->inventory),
                        "service default/kubernetes does not exist yet");
    assert_pair(f, "default/web", "S");
    put_service(f, "kube-system", "kubernetes"); /* another one of this name */
    assert_false(inventory_is_complete(f->inventory));
    put_service(f, "default", "kubernetes");
    assert_true(inventory_is_complete(f->inventory));
}

static void test_later_list_without_kubernetes(void **state)
{
    struct fixture *f = *state;
    inventory_list_begin(f->inventory, KUBE_ENDPOINTS);
    inventory_list_end(f->inventory, KUBE_ENDPOINTS);
    list_services(f, (const char *const[]){"kubernetes", "a", "b", NULL});
    list_services(f, (const char *const[]){"a", NULL});
    assert_false(inventory_is_complete(f->inventory));
    assert_pair(f, "default/b", "S");
    assert_pair(f, "default/kubernetes", "S");
    put_service(f, "default", "kubernetes");
    assert_true(inventory_is_complete(f->inventory));
    assert_pair(f, "default/a", "S");
    assert_pair(f, "default/b", "");
}

static void test_bad_object_keeps_its_last_state(void **state)
{
    struct fixture *f = *state;
    list_services(f, (const char *const[]){"kubernetes", "web", NULL});
    inventory_bad(f->inventory, KUBE_SERVICE, "default/web");
    assert_pair(f, "default/web", "S");
    inventory_list_begin(f->inventory, KUBE_SERVICE);
    put_service(f, "default", "kubernetes");
    inventory_bad(f->inventory, KUBE_SERVICE, "default/web");
    inventory_list_end(f->inventory, KUBE_SERVICE);
    assert_pair(f, "default/web", "S");
}

static void test_bad_object_never_understood(void **state)
{
    struct fixture *f = *state;
    inventory_bad(f->inventory, KUBE_SERVICE, "default/web");
    assert_changed(f, "default/web ");
    assert_pair(f, "default/web", "?");
    put_endpoints(f, "default", "web");
    assert_pair(f, "default/web", "?");
    put_service(f, "default", "web");
    assert_pair(f, "default/web", "SE");
    inventory_bad(f->inventory, KUBE_SERVICE, "default/other");
    inventory_remove(f->inventory, KUBE_SERVICE, "default", "other");
    assert_pair(f, "default/other", "");
    inventory_bad(f->inventory, KUBE_SERVICE, ""); /* nobody knows which */
    assert_int_equal(inventory_count(f->inventory, KUBE_SERVICE), 1);
}

static void test_list_with_a_nameless_object_removes_nothing(void **state)
{
    struct fixture *f = *state;
    inventory_list_begin(f->inventory, KUBE_ENDPOINTS);
    inventory_bad(f->inventory, KUBE_ENDPOINTS, "");
    inventory_list_end(f->inventory, KUBE_ENDPOINTS);
    list_services(f, (const char *const[]){"kubernetes", "a", NULL});
    assert_string_equal(inventory_missing(f->inventory), "endpoints without a name were listed");
    inventory_list_begin(f->inventory, KUBE_ENDPOINTS);
    inventory_list_end(f->inventory, KUBE_ENDPOINTS);
    assert_true(inventory_is_complete(f->inventory));
    inventory_list_begin(f->inventory, KUBE_SERVICE);
    put_service(f, "default", "kubernetes");
    inventory_bad(f->inventory, KUBE_SERVICE, "");
    inventory_list_end(f->inventory, KUBE_SERVICE);
    assert_pair(f, "default/a", "S");
    list_services(f, (const char *const[]){"kubernetes", NULL});
    assert_pair(f, "default/a", "");
}

static void test_bad_endpoints_matter_to_headless_services(void **state)
{
    struct fixture *f = *state;
    inventory_bad(f->inventory, KUBE_ENDPOINTS, "default/web");
    assert_pair(f, "default/web", ""); /* no service, no keys */
    put_service(f, "default", "web");
    assert_pair(f, "default/web", "?");
    inventory_upsert(f->inventory, service_from("default", "web", "'clusterIP':'10.0.0.7'"));
    assert_pair(f, "default/web", "S");
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
        TEST(test_pairs_by_name),
        TEST(test_newest_state_counts),
        TEST(test_complete_when_both_are_listed),
        TEST(test_list_removes_what_it_does_not_name),
        TEST(test_list_that_begins_again_is_void),
        TEST(test_first_list_without_kubernetes),
        TEST(test_later_list_without_kubernetes),
        TEST(test_bad_object_keeps_its_last_state),
        TEST(test_bad_object_never_understood),
        TEST(test_list_with_a_nameless_object_removes_nothing),
        TEST(test_bad_endpoints_matter_to_headless_services),
#undef TEST
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
