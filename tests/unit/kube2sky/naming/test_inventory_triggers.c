/* inventory: when the changes happened that a watch shows, and that a list's are none. */
#include "tests/support/unit_test.h"
#include "tests/unit/kube2sky/naming/inventory_bed.h"

static void note_triggered(void *data, struct slice owner, enum inventory_trigger trigger,
                           int64_t since_us)
{
    struct fixture *f = data;
    buf_append_slice(&f->wanted, owner);
    buf_printf(&f->wanted, "%s%lld ", trigger == TRIGGER_HEADLESS ? "@" : "+", (long long)since_us);
}

static void set_up_source(void **state, enum kube_kind source)
{
    struct fixture *f = new_fixture(true);
    inventory_free(f->inventory);
    f->inventory = inventory_new(&(struct inventory_config){
        .is_narrowed = true, .changed = note_change, .triggered = note_triggered, .data = f});
    inventory_use_endpoints(f->inventory, source);
    *state = f;
}

static int set_up_watched_slices(void **state)
{
    set_up_source(state, KUBE_SLICE);
    return 0;
}

UNIT_TESTS_EACH(set_up_watched_slices, tear_down)

static void put_created(struct fixture *f, const char *name, const char *created, const char *spec)
{
    CLEANUP_FREE char *text = xasprintf("{'metadata':{'namespace':'default','name':'%s',"
                                        "'creationTimestamp':'%s'},'spec':{%s}}",
                                        name, created, spec);
    inventory_upsert(f->inventory, object_from(KUBE_SERVICE, text));
}

static void put_triggered(struct fixture *f, enum kube_kind kind, const char *name,
                          const char *time, const char *ip)
{
    CLEANUP_FREE char *rest =
        kind == KUBE_SLICE
            ? xasprintf("'addressType':'IPv4','endpoints':[{'addresses':['%s']}]", ip)
            : xasprintf("'subsets':[{'addresses':[{'ip':'%s'}]}]", ip);
    CLEANUP_FREE char *text =
        xasprintf("{'metadata':{'namespace':'default','name':'%s',"
                  "'labels':{'kubernetes.io/service-name':'%s'},'annotations':{"
                  "'endpoints.kubernetes.io/last-change-trigger-time':'%s'}},%s}",
                  name, name, time, rest);
    inventory_upsert(f->inventory, object_from(kind, text));
}

static void list_nothing_new(struct fixture *f, enum kube_kind kind)
{
    inventory_list_begin(f->inventory, kind);
    inventory_list_end(f->inventory, kind);
}

static const char headless_spec[] = "'clusterIP':'None'", ip_spec[] = "'clusterIP':'10.0.0.7'";
static const char first_time[] = "2024-05-01T12:00:00.5Z", second_time[] = "2024-05-01T12:00:01Z";

UNIT_TEST_ON(test_what_is_there_at_the_start_is_no_news, struct fixture *f)
{
    inventory_list_begin(f->inventory, KUBE_SERVICE);
    put_created(f, "ip", "2024-05-01T12:00:00Z", ip_spec);
    put_created(f, "web", "2024-05-01T12:00:00Z", headless_spec);
    inventory_list_end(f->inventory, KUBE_SERVICE);
    inventory_list_begin(f->inventory, KUBE_SLICE);
    put_triggered(f, KUBE_SLICE, "web", first_time, "10.1.0.1");
    inventory_list_end(f->inventory, KUBE_SLICE);
    assert_wanted(f, "");

    inventory_list_begin(f->inventory, KUBE_SLICE); /* an hour later */
    put_triggered(f, KUBE_SLICE, "web", second_time, "10.1.0.2");
    inventory_list_end(f->inventory, KUBE_SLICE);
    assert_wanted(f, "");
}

UNIT_TEST_ON(test_cluster_ips_count_once, struct fixture *f)
{
    list_nothing_new(f, KUBE_SERVICE);
    put_created(f, "ip", "2024-05-01T12:00:00Z", ip_spec);
    assert_wanted(f, "svc/default/ip+1714564800000000 ");
    put_created(f, "ip", "2024-05-01T12:00:00Z", "'clusterIP':'10.0.0.8'");
    put_created(f, "web", "2024-05-01T12:00:00Z", headless_spec);
    put_created(f, "db", "2024-05-01T12:00:00Z", "'externalName':'db.example'");
    put_created(f, "odd", "yesterday", ip_spec);
    assert_wanted(f, "");
    inventory_remove(f->inventory, KUBE_SERVICE, "default", "ip");
    put_created(f, "IP", "2024-05-01T12:00:01Z", ip_spec);
    assert_wanted(f, "svc/default/ip+1714564801000000 ");
}

static void check_endpoints(struct fixture *f, enum kube_kind kind)
{
    list_nothing_new(f, KUBE_SERVICE);
    list_nothing_new(f, kind);
    put_created(f, "ip", "", ip_spec);
    put_created(f, "web", "", headless_spec);
    put_triggered(f, kind, "ip", first_time, "10.1.0.1");
    put_triggered(f, kind, "nobody", first_time, "10.1.0.1");
    assert_wanted(f, "");
    put_triggered(f, kind, "web", first_time, "10.1.0.1");
    assert_wanted(f, "svc/default/web@1714564800500000 ");
    put_triggered(f, kind, "web", second_time, "10.1.0.1"); /* nothing else has changed */
    put_triggered(f, kind, "web", "", "10.1.0.2");
    assert_wanted(f, "");
    put_triggered(f, kind, "web", second_time, "10.1.0.3");
    assert_wanted(f, "svc/default/web@1714564801000000 ");
}

UNIT_TEST(test_slices_of_headless_services)
{
    check_endpoints(*state, KUBE_SLICE);
}

/* Events and pages tell of faults, which are no content. */
UNIT_TEST_ON(test_other_faults_are_a_change, struct fixture *f)
{
    for (int port = 70000; port < 70002; port++) {
        CLEANUP_FREE char *spec = xasprintf("'clusterIP':'10.0.0.7','ports':[{'port':%d}]", port);
        put_created(f, "ip", "", spec);
        put_created(f, "ip", "", spec);
        assert_changed(f, "svc/default/ip ");
    }
    put_created(f, "ip", "", ip_spec);
    assert_changed(f, "svc/default/ip ");
}

static int set_up_watched_endpoints(void **state)
{
    set_up_source(state, KUBE_ENDPOINTS);
    return 0;
}

UNIT_TEST_IN(test_endpoints_of_headless_services, set_up_watched_endpoints, tear_down)
{
    check_endpoints(*state, KUBE_ENDPOINTS);
}
