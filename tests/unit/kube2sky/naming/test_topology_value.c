/* The value of a topology key: which Services have one, and what it says. */
#include "tests/unit/kube2sky/objects.h"

#include "common/base/buf.h"
#include "kube2sky/naming/owner_objects.h"
#include "kube2sky/naming/topology_value.h"
#include "tests/support/unit_test.h"

#define MARKED "'clusterIP':'None','trafficDistribution':'PreferSameZone'"

static void keep_topology(void)
{
    kube_object_keep((struct kube_kept){.topology = true});
}

/* The value of a Service with two slices; "-" for none. Borrowed until the next call. */
static const char *value_of(const char *spec, const char *endpoints, const char *more)
{
    static struct buf out;
    struct owner_objects objects;
    struct kube_object *service = service_from("default", "web", spec), *slices[2];
    const char *texts[] = {endpoints, more};
    keep_topology();
    owner_objects_init(&objects);
    kube_object_free(service);
    service = service_from("default", "web", spec);
    objects.service = service;
    for (size_t i = 0; i < 2; i++) {
        CLEANUP_FREE char *rest = xasprintf("'addressType':'IPv4','endpoints':[%s]", texts[i]);
        slices[i] = slice_from("default", i ? "s2" : "s1", "web", rest);
        owner_objects_add_part(&objects, slices[i]);
    }
    buf_fini(&out);
    buf_init(&out, 2 * TOPOLOGY_VALUE_MAX);
    const enum topology_value found = topology_value_build(&objects, &out);
    owner_objects_fini(&objects);
    kube_object_free(slices[0]);
    kube_object_free(slices[1]);
    kube_object_free(service);
    return found == TOPOLOGY_VALUE_WANTED     ? buf_cstr(&out)
           : found == TOPOLOGY_VALUE_TOO_LONG ? "too long"
                                              : "-";
}

UNIT_TEST(test_marked_services)
{
    static const struct {
        const char *spec;
        bool is_marked;
    } rows[] = {
        {MARKED, true},
        {"'clusterIP':'None','trafficDistribution':'PreferClose'", true},
        {"'clusterIP':'None','trafficDistribution':'PreferSameNode'", true},
        {"'clusterIP':'None','trafficDistribution':'Other'", false},
        {"'clusterIP':'None'", false},
        {"'clusterIP':'10.0.0.1','trafficDistribution':'PreferSameZone'", false},
        {MARKED ",'publishNotReadyAddresses':true", false},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        assert_string_equal(value_of(rows[i].spec, "{'addresses':['10.1.0.5'],'zone':'eu-1a'}", ""),
                            rows[i].is_marked ? "{\"10.1.0.5\":\"eu-1a\"}" : "-");
    }
}

UNIT_TEST(test_addresses)
{
    assert_string_equal(value_of(MARKED,
                                 "{'addresses':['10.1.0.6','10.1.0.5'],'zone':'eu-1b'},"
                                 "{'addresses':['10.1.0.7'],'conditions':{'ready':false},"
                                 "'zone':'eu-1b'},{'addresses':['10.1.0.8']},"
                                 "{'addresses':['no'],'zone':'eu-1a'},"
                                 "{'addresses':['10.1.0.9'],'zone':'a b'}",
                                 "{'addresses':['10.1.0.5'],'zone':'eu-1a'}"),
                        "{\"10.1.0.5\":\"eu-1a\",\"10.1.0.6\":\"eu-1b\"}");
    assert_string_equal(value_of(MARKED, "{'addresses':['10.1.0.8']}", ""), "-");
    assert_string_equal(value_of(MARKED, "", ""), "-");
}

UNIT_TEST(test_too_many_addresses)
{
    CLEANUP_BUF struct buf endpoints = buf_of(SIZE_MAX);
    buf_append_str(&endpoints, "{'zone':'eu-1a','addresses':['10.2.0.0'");
    for (unsigned i = 0; i < 20000; i++) {
        buf_printf(&endpoints, ",'10.1.%u.%u'", i >> 8, i & 255);
    }
    buf_append_str(&endpoints, "]}");
    assert_string_equal(value_of(MARKED, buf_cstr(&endpoints), ""), "too long");
}
