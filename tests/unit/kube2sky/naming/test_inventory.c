/* inventory: who owns what, lists that sweep, lists that restart, lists that must not be trusted,
 * and what each kind's completeness allows. */
#include "tests/unit/kube2sky/objects.h"

#include "common/base/attributes.h"
#include "common/base/buf.h"
#include "kube2sky/naming/inventory.h"

struct fixture {
    struct inventory *inventory;
    struct owner_objects objects;
    struct buf changed; /* "owner owner " since the last check */
    struct buf wanted;  /* "ns/service ", whose parts are */
    struct buf parts;
};

static void note_change(void *data, struct slice owner)
{
    struct fixture *f = data;
    buf_append_slice(&f->changed, owner);
    buf_append_char(&f->changed, ' ');
}

static void note_wanted(void *data, const char *ns, const char *service)
{
    struct fixture *f = data;
    buf_printf(&f->wanted, "%s/%s ", ns, service);
}

static struct fixture *new_fixture(bool is_narrowed)
{
    struct fixture *f = xcalloc(1, sizeof(*f));
    buf_init(&f->changed, 1 << 20);
    buf_init(&f->wanted, 1 << 20);
    buf_init(&f->parts, 1 << 20);
    owner_objects_init(&f->objects);
    f->inventory = inventory_new(&(struct inventory_config){
        .is_narrowed = is_narrowed,
        .changed = note_change,
        .parts_wanted = note_wanted,
        .data = f,
    });
    return f;
}

static int set_up(void **state)
{
    *state = new_fixture(false);
    return 0;
}

static int set_up_narrowed(void **state)
{
    *state = new_fixture(true);
    return 0;
}

/* With slices instead of Endpoints. */
static int set_up_slices(void **state)
{
    struct fixture *f = new_fixture(false);
    inventory_use_endpoints(f->inventory, KUBE_SLICE);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;
    inventory_free(f->inventory);
    owner_objects_fini(&f->objects);
    buf_fini(&f->changed);
    buf_fini(&f->wanted);
    buf_fini(&f->parts);
    free(f);
    return 0;
}

static void assert_changed(struct fixture *f, const char *want)
{
    assert_string_equal(buf_cstr(&f->changed), want);
    buf_clear(&f->changed);
}

static void assert_wanted(struct fixture *f, const char *want)
{
    assert_string_equal(buf_cstr(&f->wanted), want);
    buf_clear(&f->wanted);
}

static void put_service(struct fixture *f, const char *ns, const char *name)
{
    inventory_upsert(f->inventory, service_from(ns, name, "'clusterIP':'None'"));
}

static void put_cluster_ip(struct fixture *f, const char *ns, const char *name)
{
    inventory_upsert(f->inventory, service_from(ns, name, "'clusterIP':'10.0.0.7'"));
}

static void put_endpoints(struct fixture *f, const char *ns, const char *name)
{
    inventory_upsert(f->inventory, endpoints_from(ns, name, "{'addresses':[{'ip':'10.0.0.1'}]}"));
}

static void fill_endpoints(struct fixture *f, const char *ns, const char *name)
{
    inventory_fill(f->inventory, endpoints_from(ns, name, "{'addresses':[{'ip':'10.0.0.1'}]}"));
}

static struct kube_object *slice_of_service(const char *name, const char *service, const char *ip)
{
    char *rest = xasprintf("'addressType':'IPv4','endpoints':[{'addresses':['%s']}]", ip);
    struct kube_object *slice = slice_from("default", name, service, rest);
    free(rest);
    return slice;
}

static void put_slice(struct fixture *f, const char *name, const char *service)
{
    inventory_upsert(f->inventory,
                     slice_from("default", name, service, "'addressType':'IPv4','endpoints':[]"));
}

static void put_pod(struct fixture *f, const char *ns, const char *name, const char *status)
{
    inventory_upsert(f->inventory, pod_from(ns, name, status));
}

static int compare_names(const void *a, const void *b)
{
    return strcmp((*(const struct kube_object *const *)a)->name,
                  (*(const struct kube_object *const *)b)->name);
}

/* What the owner has: "S web-1 web-2 " for a Service and its parts by name, "P default 10-0-0-1"
 * for a pod's address, or ""; before it "? " if it is in doubt. */
static void assert_has(struct fixture *f, const char *owner, const char *want)
{
    struct owner_objects *objects = &f->objects;
    buf_clear(&f->parts);
    inventory_get(f->inventory, slice_str(owner), objects);
    if (objects->is_in_doubt) {
        buf_append_str(&f->parts, "? ");
    }
    if (objects->service) {
        buf_append_str(&f->parts, "S ");
    }
    if (objects->part_count) {
        qsort(objects->parts, objects->part_count, sizeof(objects->parts[0]), compare_names);
    }
    for (size_t i = 0; i < objects->part_count; i++) {
        buf_printf(&f->parts, "%s ", objects->parts[i]->name);
    }
    if (objects->pod_ns.ptr) {
        char ip[INET6_ADDRSTRLEN];
        buf_printf(&f->parts, "P %.*s %.*s %s", (int)objects->pod_ns.len, objects->pod_ns.ptr,
                   (int)objects->pod_name.len, objects->pod_name.ptr,
                   ip_format(&objects->pod_ip, ip));
    }
    assert_string_equal(buf_cstr(&f->parts), want);
}

static void list_services(struct fixture *f, const char *const *names)
{
    inventory_list_begin(f->inventory, KUBE_SERVICE);
    for (; *names; names++) {
        put_service(f, "default", *names);
    }
    inventory_list_end(f->inventory, KUBE_SERVICE);
}

static void list_nothing(struct fixture *f, enum kube_kind kind)
{
    inventory_list_begin(f->inventory, kind);
    inventory_list_end(f->inventory, kind);
}

static bool may_delete(const struct fixture *f, const char *owner)
{
    return inventory_may_delete(f->inventory, slice_str(owner));
}

/* ---- Services and Endpoints ---- */

static void test_paired_by_name(void **state)
{
    struct fixture *f = *state;
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

static void test_newest_state_counts(void **state)
{
    struct fixture *f = *state;
    put_service(f, "default", "web");
    put_cluster_ip(f, "default", "web");
    inventory_get(f->inventory, slice_str("svc/default/web"), &f->objects);
    assert_string_equal(f->objects.service->service.cluster_ips[0], "10.0.0.7");
    assert_int_equal(inventory_count(f->inventory, KUBE_SERVICE), 1);
}

static void test_endpoints_matter_to_headless_services(void **state)
{
    struct fixture *f = *state;
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

static void test_ids_of_nobody(void **state)
{
    static const char *const owners[] = {"",     "svc",   "svc/",     "svc/default",      "pod",
                                         "pod/", "pod/x", "dns/ns/a", "svc/default/web/x"};
    struct fixture *f = *state;
    put_service(f, "default", "web");
    put_pod(f, "x", "p", "'podIP':'10.1.0.1'");
    for (size_t i = 0; i < ARRAY_LEN(owners); i++) {
        assert_has(f, owners[i], "");
    }
}

/* Longer than the API allows: still one object, whatever happens to its name. */
static void test_endless_names(void **state)
{
    struct fixture *f = *state;
    char *name = xasprintf("%2000d", 1);
    put_service(f, name, name);
    put_service(f, name, "web");
    put_pod(f, name, name, "'podIP':'10.1.0.1'");
    assert_int_equal(inventory_count(f->inventory, KUBE_SERVICE), 1);
    inventory_remove(f->inventory, KUBE_SERVICE, name, name);
    inventory_remove(f->inventory, KUBE_POD, name, name);
    assert_int_equal(inventory_count(f->inventory, KUBE_SERVICE), 0);
    assert_int_equal(inventory_count(f->inventory, KUBE_POD), 0);
    free(name);
}

/* ---- Lists ---- */

static void test_complete_when_all_are_listed(void **state)
{
    struct fixture *f = *state;
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

static void test_list_removes_what_it_does_not_name(void **state)
{
    struct fixture *f = *state;
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

static void test_list_that_begins_again_is_void(void **state)
{
    struct fixture *f = *state;
    inventory_list_begin(f->inventory, KUBE_SERVICE);
    put_service(f, "default", "kubernetes");
    put_service(f, "default", "gone-meanwhile");
    inventory_list_begin(f->inventory, KUBE_SERVICE);
    put_service(f, "default", "kubernetes");
    inventory_list_end(f->inventory, KUBE_SERVICE);
    assert_has(f, "svc/default/gone-meanwhile", "");
    assert_int_equal(inventory_count(f->inventory, KUBE_SERVICE), 1);
}

static void test_first_list_without_kubernetes(void **state)
{
    struct fixture *f = *state;
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

static void test_later_list_without_kubernetes(void **state)
{
    struct fixture *f = *state;
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

static void test_narrowed_lists_need_no_kubernetes(void **state)
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

static void garble(struct fixture *f, enum kube_kind kind, const char *name, const char *service)
{
    inventory_upsert(f->inventory, garbled_from(kind, "default", name, service));
}

static void test_garbled_object_keeps_its_last_state(void **state)
{
    struct fixture *f = *state;
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

static void test_garbled_service_is_in_doubt(void **state)
{
    struct fixture *f = *state;
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

static void test_garbled_endpoints_matter_to_headless_services(void **state)
{
    struct fixture *f = *state;
    garble(f, KUBE_ENDPOINTS, "web", "");
    assert_has(f, "svc/default/web", ""); /* no service, no keys */
    put_service(f, "default", "web");
    assert_has(f, "svc/default/web", "? S ");
    put_cluster_ip(f, "default", "web");
    assert_has(f, "svc/default/web", "S ");
}

/* Whatever is garbled, everything else is as complete as without. */
static void test_doubt_is_about_one_owner(void **state)
{
    struct fixture *f = *state;
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
    char *rest = xasprintf("'addressType':'IPv4','endpoints':[],'ports':[{'port':%s}]", number);
    struct kube_object *object = slice_from("default", "web-1", "web", rest);
    free(rest);
    return object;
}

static void test_faults_of_the_last_state(void **state)
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

/* ---- What each kind allows ---- */

static void list_one_pod(struct fixture *f)
{
    inventory_list_begin(f->inventory, KUBE_POD);
    put_pod(f, "kube-system", "dns", "'podIP':'10.1.0.9'");
    inventory_list_end(f->inventory, KUBE_POD);
}

/* Such as of an API server whose store was just emptied. */
static void test_a_list_without_pods_removes_none(void **state)
{
    struct fixture *f = *state;
    unsigned complete;
    list_services(f, (const char *const[]){"kubernetes", NULL});
    list_nothing(f, KUBE_ENDPOINTS);
    list_nothing(f, KUBE_POD); /* the first list: a new cluster is ready */
    assert_true(inventory_is_complete(f->inventory));
    assert_true(inventory_doubts(f->inventory, KUBE_POD));
    assert_false(may_delete(f, "pod/default/10-0-0-1"));
    assert_true(may_delete(f, "svc/default/gone"));
    complete = inventory_complete_kinds(f->inventory);
    put_pod(f, "kube-system", "dns", "'podIP':'10.1.0.9'");
    assert_false(inventory_doubts(f->inventory, KUBE_POD));
    assert_true(may_delete(f, "pod/default/10-0-0-1"));
    assert_true(inventory_complete_kinds(f->inventory) & ~complete);

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

static void test_a_kind_holds_up_what_it_feeds_and_nothing_else(void **state)
{
    struct fixture *f = *state;
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

static void test_pods_that_cannot_be_listed(void **state)
{
    struct fixture *f = *state;
    list_services(f, (const char *const[]){"kubernetes", NULL});
    list_nothing(f, KUBE_ENDPOINTS);
    assert_true(may_delete(f, "svc/default/gone"));
    assert_true(inventory_knows_claims(f->inventory, slice_of(NULL, 0)));
    assert_false(may_delete(f, "pod/default/10-0-0-1"));
    assert_false(may_delete(f, "pod/default"));
}

static void test_complete_kinds(void **state)
{
    const unsigned service = 1u << KUBE_SERVICE, endpoints = 1u << KUBE_ENDPOINTS;
    const unsigned pod = 1u << KUBE_POD;
    /* Never wanted here */
    const unsigned config = 1u << KUBE_CONFIG_MAP | 1u << KUBE_NODE | 1u << KUBE_NAMESPACE;
    const unsigned slice = 1u << KUBE_SLICE | config;
    struct fixture *f = *state;
    assert_int_equal(inventory_complete_kinds(f->inventory), slice);
    list_one_pod(f);
    assert_int_equal(inventory_complete_kinds(f->inventory), slice | pod);
    list_services(f, (const char *const[]){"kubernetes", NULL});
    list_nothing(f, KUBE_ENDPOINTS);
    assert_int_equal(inventory_complete_kinds(f->inventory), slice | pod | service | endpoints);
    list_services(f, (const char *const[]){"web", NULL});
    assert_int_equal(inventory_complete_kinds(f->inventory), slice | pod | endpoints);
    inventory_use_endpoints(f->inventory, KUBE_SLICE);
    assert_int_equal(inventory_complete_kinds(f->inventory), pod | endpoints | config);
}

/* ---- Slices ---- */

static void test_slices_by_service(void **state)
{
    struct fixture *f = *state;
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
static void test_slices_are_kept_for_headless_services(void **state)
{
    struct fixture *f = *state;
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

/* What is listed beside the watch only fills in: the watch has said more since, or will. */
static void test_fills(void **state)
{
    struct fixture *f = *state;
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
static void test_a_fill_is_not_of_a_list(void **state)
{
    struct fixture *f = *state;
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
static void test_a_change_of_source_wants_parts(void **state)
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

static void test_slice_that_moves_to_another_service(void **state)
{
    struct fixture *f = *state;
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

static void test_a_hundred_slices(void **state)
{
    struct fixture *f = *state;
    put_service(f, "default", "web");
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < 100; i++) {
            char *name = xasprintf("web-%d", i);
            put_slice(f, name, "web");
            free(name);
        }
    }
    inventory_get(f->inventory, slice_str("svc/default/web"), &f->objects);
    assert_int_equal(f->objects.part_count, 100);
    list_nothing(f, KUBE_SLICE);
    assert_has(f, "svc/default/web", "S ");
}

static void test_garbled_slice(void **state)
{
    struct fixture *f = *state;
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

static void test_endpoints_are_ignored_where_slices_count(void **state)
{
    struct fixture *f = *state;
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

static void test_change_of_source_waits_for_the_new_list(void **state)
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

/* What the new source lacks may still exist, unless it has changed there since. */
static void test_change_of_source_deletes_nothing_at_once(void **state)
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
static void test_lost_endpoints_are_a_change(void **state)
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
    (void)change;
    buf_printf(&f->parts, "%.*s ", (int)owner.len, owner.ptr);
}

/* While slices are listed to take the place of Endpoints, and when they do not, they are no change
 * of records by themselves. */
static void test_slices_count_by_themselves_once_they_are_the_source(void **state)
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

static void test_change_of_source_that_is_taken_back(void **state)
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

static void test_source_before_any_list_changes_at_once(void **state)
{
    struct fixture *f = *state;
    put_service(f, "default", "web");
    put_endpoints(f, "default", "web");
    inventory_use_endpoints(f->inventory, KUBE_SLICE);
    assert_has(f, "svc/default/web", "S ");
    put_slice(f, "web-1", "web");
    assert_has(f, "svc/default/web", "S web-1 ");
}

/* ---- Pods ---- */

static void test_pods_by_address(void **state)
{
    struct fixture *f = *state;
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

static void test_pods_that_share_an_address(void **state)
{
    struct fixture *f = *state;
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

static void test_pods_that_ended(void **state)
{
    static const char *const phases[] = {"Succeeded", "Failed"};
    struct fixture *f = *state;
    for (size_t i = 0; i < ARRAY_LEN(phases); i++) {
        char *ended = xasprintf("'podIP':'10.1.0.1','phase':'%s'", phases[i]);
        put_pod(f, "default", "job", "'podIP':'10.1.0.1','phase':'Running'");
        assert_changed(f, "pod/default/10-1-0-1 ");
        put_pod(f, "default", "job", ended);
        assert_changed(f, "pod/default/10-1-0-1 ");
        assert_has(f, "pod/default/10-1-0-1", "");
        free(ended);
    }
    put_pod(f, "default", "next", "'podIP':'10.1.0.1'"); /* the address is reused */
    buf_clear(&f->changed);
    inventory_remove(f->inventory, KUBE_POD, "default", "job");
    assert_changed(f, "");
    assert_has(f, "pod/default/10-1-0-1", "P default 10-1-0-1 10.1.0.1");
}

static void test_pod_with_no_address_in_its_address(void **state)
{
    struct fixture *f = *state;
    put_pod(f, "default", "odd", "'podIPs':[{'ip':'10-1-0-1'},{'ip':'10.1.0.2'}]");
    assert_changed(f, "pod/default/!10-1-0-1 pod/default/10-1-0-2 ");
    assert_has(f, "pod/default/10-1-0-1", "");
    assert_has(f, "pod/default/!10-1-0-1", "P default 10-1-0-1 ");
}

static void test_pods_that_are_not_wanted(void **state)
{
    struct fixture *f = *state;
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

int main(void)
{
    static const struct CMUnitTest tests[] = {
#define TEST(name)          cmocka_unit_test_setup_teardown(name, set_up, tear_down)
#define TEST_SLICES(name)   cmocka_unit_test_setup_teardown(name, set_up_slices, tear_down)
#define TEST_NARROWED(name) cmocka_unit_test_setup_teardown(name, set_up_narrowed, tear_down)
        TEST(test_paired_by_name),
        TEST(test_newest_state_counts),
        TEST(test_endpoints_matter_to_headless_services),
        TEST(test_ids_of_nobody),
        TEST(test_endless_names),
        TEST(test_complete_when_all_are_listed),
        TEST(test_list_removes_what_it_does_not_name),
        TEST(test_list_that_begins_again_is_void),
        TEST(test_first_list_without_kubernetes),
        TEST(test_later_list_without_kubernetes),
        TEST_NARROWED(test_narrowed_lists_need_no_kubernetes),
        TEST(test_garbled_object_keeps_its_last_state),
        TEST(test_garbled_service_is_in_doubt),
        TEST(test_garbled_endpoints_matter_to_headless_services),
        TEST(test_doubt_is_about_one_owner),
        TEST(test_a_kind_holds_up_what_it_feeds_and_nothing_else),
        TEST(test_pods_that_cannot_be_listed),
        TEST(test_a_list_without_pods_removes_none),
        TEST(test_complete_kinds),
        TEST_SLICES(test_slices_by_service),
        TEST_SLICES(test_slices_are_kept_for_headless_services),
        TEST_SLICES(test_fills),
        TEST_SLICES(test_a_fill_is_not_of_a_list),
        TEST(test_a_change_of_source_wants_parts),
        TEST_SLICES(test_slice_that_moves_to_another_service),
        TEST_SLICES(test_a_hundred_slices),
        TEST_SLICES(test_garbled_slice),
        TEST_SLICES(test_faults_of_the_last_state),
        TEST_SLICES(test_endpoints_are_ignored_where_slices_count),
        TEST(test_change_of_source_waits_for_the_new_list),
        TEST(test_change_of_source_deletes_nothing_at_once),
        TEST(test_lost_endpoints_are_a_change),
        TEST(test_slices_count_by_themselves_once_they_are_the_source),
        TEST(test_change_of_source_that_is_taken_back),
        TEST(test_source_before_any_list_changes_at_once),
        TEST(test_pods_by_address),
        TEST(test_pods_that_share_an_address),
        TEST(test_pods_that_ended),
        TEST(test_pod_with_no_address_in_its_address),
        TEST(test_pods_that_are_not_wanted),
#undef TEST_NARROWED
#undef TEST_SLICES
#undef TEST
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
