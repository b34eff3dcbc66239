/* Objects for tests of kube2sky, written as the API's JSON with ' for ". */
#ifndef TESTS_UNIT_KUBE2SKY_OBJECTS_H
#define TESTS_UNIT_KUBE2SKY_OBJECTS_H

#include "kube2sky/api/kube_object.h"
#include "tests/support/unit_test.h"

/* The complete object, '{'metadata':{...},'spec':{...}}'. Owned by the caller; fails the test if
 * the text does not parse. */
static inline struct kube_object *object_from(enum kube_kind kind, const char *text)
{
    struct kube_event event;
    struct err err = {0};
    CLEANUP_FREE char *line = xasprintf("{\"type\":\"ADDED\",\"object\":%s}", text);
    for (char *c = line; *c; c++) {
        *c = *c == '\'' ? '"' : *c;
    }
    int r = kube_decode_event(KUBE_JSON, kind, slice_str(line), &event, &err);
    assert_that(r >= 0 && event.kind == KUBE_EVENT_UPSERT && !event.object->is_garbled, "%s: %s",
                line, err.msg);
    struct kube_object *object = event.object;
    event.object = NULL;
    kube_event_fini(&event);
    return object;
}

/* An object of which only the name is known, "default/web", and of a slice its Service ("":
 * unknown). */
static inline struct kube_object *garbled_from(enum kube_kind kind, const char *ns,
                                               const char *name, const char *service)
{
    struct kube_event event;
    struct err err = {0};
    char *line = xasprintf(
        "{\"type\":\"ADDED\",\"object\":{\"metadata\":{\"namespace\":\"%s\",\"name\":\"%s\","
        "\"labels\":{\"kubernetes.io/service-name\":\"%s\"}},\"spec\":17,"
        "\"subsets\":17,\"endpoints\":17,\"status\":17}}",
        ns, name, service);
    assert_int_equal(kube_decode_event(KUBE_JSON, kind, slice_str(line), &event, &err), 0);
    struct kube_object *object = event.object;
    assert_true(event.kind == KUBE_EVENT_UPSERT && object->is_garbled);
    event.object = NULL;
    kube_event_fini(&event);
    free(line);
    return object;
}

/* ns and name, then the content of spec: "'clusterIP':'10.0.0.1'". */
static inline struct kube_object *service_from(const char *ns, const char *name, const char *spec)
{
    CLEANUP_FREE char *text =
        xasprintf("{'metadata':{'namespace':'%s','name':'%s','resourceVersion':'1'},"
                  "'spec':{%s}}",
                  ns, name, spec);
    return object_from(KUBE_SERVICE, text);
}

/* ns and name, then the subsets: "{'addresses':[{'ip':'10.1.0.1'}]}". */
static inline struct kube_object *endpoints_from(const char *ns, const char *name,
                                                 const char *subsets)
{
    CLEANUP_FREE char *text =
        xasprintf("{'metadata':{'namespace':'%s','name':'%s','resourceVersion':'1'},"
                  "'subsets':[%s]}",
                  ns, name, subsets);
    return object_from(KUBE_ENDPOINTS, text);
}

/* ns and name, the Service it belongs to, then the rest: "'addressType':'IPv4','endpoints':[...]".
 */
static inline struct kube_object *slice_from(const char *ns, const char *name, const char *service,
                                             const char *rest)
{
    CLEANUP_FREE char *text =
        xasprintf("{'metadata':{'namespace':'%s','name':'%s','resourceVersion':'1',"
                  "'labels':{'kubernetes.io/service-name':'%s'}},%s}",
                  ns, name, service, rest);
    return object_from(KUBE_SLICE, text);
}

/* ns and name, then the status: "'phase':'Running','podIPs':[{'ip':'10.1.0.1'}]". */
static inline struct kube_object *pod_from(const char *ns, const char *name, const char *status)
{
    CLEANUP_FREE char *text =
        xasprintf("{'metadata':{'namespace':'%s','name':'%s','resourceVersion':'1'},"
                  "'status':{%s}}",
                  ns, name, status);
    return object_from(KUBE_POD, text);
}

#endif
