/* Memory of the inventory and reverse tables for a cluster of 10,000 Services with two ports and a
 * slice each, 20,000 endpoints and 10,000 pods, all with names of ordinary length: a bound for each
 * kind, so that an extra field is noticed. Only with the C library's own malloc, which reports its
 * usage. */
#include "tests/unit/kube2sky/objects.h"

#include <malloc.h>

#include "kube2sky/naming/inventory.h"
#include "kube2sky/naming/naming.h"
#include "kube2sky/naming/reverse.h"
#include "tests/support/unit_test.h"

enum { SERVICES = 10000, PODS = 10000, HEADLESS_EVERY = 10 };

struct tables {
    struct inventory *inventory;
    struct reverse *reverse;
    struct owner_objects objects;
    struct desired desired;
    struct claims claims;
};

static size_t memory_allocated(void)
{
    return mallinfo2().uordblks;
}

static void memory_ignore_change(void *data UNUSED, struct slice owner UNUSED)
{
}

static void memory_ignore_drop(void *data UNUSED, const struct naming_drop *drop UNUSED)
{
}

static void ignore_ip(void *data UNUSED, const struct ip *ip UNUSED)
{
}

static struct kube_object *memory_service_of(int i)
{
    CLEANUP_FREE char *name = xasprintf("checkout-service-%d", i);
    CLEANUP_FREE char *ip = i % HEADLESS_EVERY
                                ? xasprintf("10.%d.%d.%d", 96 + i / 65536, i / 256 % 256, i % 256)
                                : xstrdup("None");
    CLEANUP_FREE char *spec = xasprintf("'type':'ClusterIP','clusterIP':'%s','clusterIPs':['%s'],"
                                        "'ports':[{'name':'http','port':80,'protocol':'TCP'},"
                                        "{'name':'metrics','port':9090,'protocol':'TCP'}]",
                                        ip, ip);
    return service_from("production", name, spec);
}

static struct kube_object *slice_of_service(int i)
{
    CLEANUP_FREE char *name = xasprintf("checkout-service-%d-x7k2p", i);
    CLEANUP_FREE char *service = xasprintf("checkout-service-%d", i);
    CLEANUP_FREE char *rest = xasprintf("'addressType':'IPv4','endpoints':["
                                        "{'addresses':['10.%d.%d.1'],'conditions':{'ready':true}},"
                                        "{'addresses':['10.%d.%d.2'],'conditions':{'ready':true}}],"
                                        "'ports':[{'name':'http','port':8080,'protocol':'TCP'},"
                                        "{'name':'metrics','port':9090,'protocol':'TCP'}]",
                                        128 + i / 256, i % 256, 128 + i / 256, i % 256);
    return slice_from("production", name, service, rest);
}

static struct kube_object *pod_of(int i)
{
    CLEANUP_FREE char *name = xasprintf("checkout-service-%d-6d4cf56db6-x7k2p", i);
    CLEANUP_FREE char *status =
        xasprintf("'phase':'Running','podIP':'10.%d.%d.1'", 128 + i / 256, i % 256);
    return pod_from("production", name, status);
}

/* Returns the bytes that one object of the kind adds. */
static size_t add_objects(struct tables *t, int count, struct kube_object *(*make)(int i))
{
    size_t before = memory_allocated();
    for (int i = 0; i < count; i++) {
        inventory_upsert(t->inventory, make(i));
    }
    return (memory_allocated() - before) / (size_t)count;
}

/* One for each cluster IP, two for each headless Service. */
enum { CLAIMS = SERVICES + SERVICES / HEADLESS_EVERY };

/* Returns the bytes that one claim adds. */
static size_t memory_add_claims(struct tables *t)
{
    struct naming_config config = {
        .domain = "cluster.local.", .ttl_s = 30, .dropped = memory_ignore_drop};
    struct err err;
    size_t before = memory_allocated(), count = 0;
    for (int i = 0; i < SERVICES; i++) {
        CLEANUP_FREE char *owner = xasprintf("svc/production/checkout-service-%d", i);
        inventory_get(t->inventory, slice_str(owner), &t->objects);
        assert_int_equal(naming_build(&config, &t->objects, &t->desired, &t->claims, &err), 0);
        count += t->claims.count;
        reverse_set(t->reverse, slice_str(owner), &t->claims, ignore_ip, NULL);
    }
    assert_int_equal(count, CLAIMS);
    return (memory_allocated() - before) / count;
}

UNIT_TEST(test_bytes_per_object)
{
    struct tables t;
    t.inventory = inventory_new(&(struct inventory_config){.changed = memory_ignore_change});
    t.reverse = reverse_new(&(struct reverse_config){.holder = NULL});
    inventory_use_endpoints(t.inventory, KUBE_SLICE);
    owner_objects_init(&t.objects);
    desired_init(&t.desired);
    claims_init(&t.claims);
    size_t start = memory_allocated();
    size_t service = add_objects(&t, SERVICES, memory_service_of);
    size_t slice = add_objects(&t, SERVICES, slice_of_service);
    size_t pod = add_objects(&t, PODS, pod_of);
    size_t claim = memory_add_claims(&t);
    size_t total = memory_allocated() - start;
    print_message("bytes: service %zu, slice of two endpoints %zu, pod %zu, claim %zu; all %zu\n",
                  service, slice, pod, claim, total);
    assert_int_equal(inventory_count(t.inventory, KUBE_SERVICE), SERVICES);
    assert_int_equal(inventory_count(t.inventory, KUBE_POD), PODS);
    if (service) { /* 0: a sanitizer's allocator */
        assert_in_range(service, 1, 512);
        assert_in_range(slice, 1,
                        416); /* nine in ten are not kept; linked both ways, to go at once */
        assert_in_range(pod, 1, 448);
        assert_in_range(claim, 1, 256);
        assert_in_range(total, 1, 20 * 1024 * 1024);
    }
    owner_objects_fini(&t.objects);
    desired_fini(&t.desired);
    claims_fini(&t.claims);
    reverse_free(t.reverse);
    inventory_free(t.inventory);
}
