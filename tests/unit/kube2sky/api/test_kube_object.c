/* JSON of the Kubernetes API -> struct kube_object, lists and watch events. */
#include "common/base/buf.h"
#include "kube2sky/api/kube_object.h"
#include "tests/support/thread_cpu.h"
#include "tests/support/unit_test.h"
#include "tests/unit/kube2sky/api/print_object.h"
#include "tests/unit/kube2sky/api/whole_list.h"

static void kube_object_on_object(void *data, struct kube_object *object)
{
    struct buf *out = data;
    print_object(out, object);
    buf_append_char(out, '\n');
    kube_object_free(object);
}

static void kube_object_on_bad(void *data, const struct err *err)
{
    struct buf *out = data;
    buf_printf(out, "bad: %s\n", err->msg);
}

/* ---- Objects ---- */

struct object_case {
    const char *name;
    enum kube_kind kind;
    const char *in; /* one item of a list */
    const char *want;
};

#define META "\"metadata\":{\"namespace\":\"default\",\"name\":\"web\"}"
#define META_WITH(annotation, value)                                                          \
    "\"metadata\":{\"namespace\":\"default\",\"name\":\"web\",\"annotations\":{\"" annotation \
    "\":\"" value "\"}}"

#define SLICE_META                                                \
    "\"metadata\":{\"namespace\":\"default\",\"name\":\"web-x\"," \
    "\"labels\":{\"kubernetes.io/service-name\":\"web\"}}"

#define NODE_META "\"metadata\":{\"name\":\"w1\"}"

#define NAMESPACE_META(visible_to)                                                               \
    "\"metadata\":{\"name\":\"team-a\",\"annotations\":{\"dns.kube2sky/visible-to\":" visible_to \
    "}}"

static const struct object_case object_cases[] = {
    {"cluster IP with ports", KUBE_SERVICE,
     "{" META ",\"spec\":{\"type\":\"ClusterIP\",\"clusterIP\":\"10.0.0.1\",\"ports\":["
     "{\"name\":\"http\",\"protocol\":\"TCP\",\"port\":80,\"targetPort\":8080},"
     "{\"protocol\":\"UDP\",\"port\":53,\"targetPort\":\"dns\"}]}}",
     "default/web type=ClusterIP ip=10.0.0.1 http/TCP:80 /UDP:53"},
    {"dual stack", KUBE_SERVICE,
     "{" META ",\"spec\":{\"clusterIP\":\"10.0.0.1\",\"clusterIPs\":[\"10.0.0.1\",\"fd00::1\"]}}",
     "default/web type= ip=10.0.0.1 ip=fd00::1"},
    {"headless", KUBE_SERVICE, "{" META ",\"spec\":{\"clusterIP\":\"None\"}}",
     "default/web type= headless"},
    {"headless, clusterIPs", KUBE_SERVICE,
     "{" META ",\"spec\":{\"clusterIP\":\"None\",\"clusterIPs\":[\"None\"]}}",
     "default/web type= headless"},
    {"no address yet", KUBE_SERVICE, "{" META ",\"spec\":{\"clusterIP\":\"\"}}",
     "default/web type="},
    {"null is absent", KUBE_SERVICE,
     "{" META ",\"spec\":{\"clusterIP\":null,\"clusterIPs\":null,\"ports\":null,\"type\":null}}",
     "default/web type="},
    {"no spec", KUBE_SERVICE, "{" META "}", "default/web type="},
    {"ExternalName", KUBE_SERVICE,
     "{" META ",\"spec\":{\"type\":\"ExternalName\",\"externalName\":\"example.com\"}}",
     "default/web type=ExternalName external=example.com"},
    {"publishNotReadyAddresses", KUBE_SERVICE,
     "{" META ",\"spec\":{\"clusterIP\":\"None\",\"publishNotReadyAddresses\":true}}",
     "default/web type= headless notready"},
    {"tolerate-unready-endpoints", KUBE_SERVICE,
     "{" META_WITH("service.alpha.kubernetes.io/tolerate-unready-endpoints",
                   "true") ",\"spec\":{\"clusterIP\":\"None\"}}",
     "default/web type= headless notready"},
    {"tolerate-unready-endpoints, false", KUBE_SERVICE,
     "{" META_WITH("service.alpha.kubernetes.io/tolerate-unready-endpoints",
                   "false") ",\"spec\":{\"clusterIP\":\"None\"}}",
     "default/web type= headless"},
    {"port out of range", KUBE_SERVICE, "{" META ",\"spec\":{\"ports\":[{\"port\":65536}]}}",
     "default/web type= without 1: ports[0]: port: expected a number from 0 to 65535, found 65536"},
    {"port is a string", KUBE_SERVICE, "{" META ",\"spec\":{\"ports\":[{\"port\":\"80\"}]}}",
     "default/web type= without 1: ports[0]: port: expected a number from 0 to 65535, found a "
     "string"},
    {"ports hold no object", KUBE_SERVICE, "{" META ",\"spec\":{\"ports\":[80]}}",
     "default/web type= without 1: ports[0]: expected an object, found a number"},
    {"clusterIPs hold no string", KUBE_SERVICE,
     "{" META ",\"spec\":{\"clusterIPs\":[\"10.0.0.1\",7]}}",
     "default/web type= ip=10.0.0.1 without 1: clusterIPs[1]: expected a string, found a number"},
    {"NUL in a field", KUBE_SERVICE, "{" META ",\"spec\":{\"externalName\":\"a\\u0000b\"}}",
     "default/web garbled: spec: externalName: contains a NUL"},
    {"no name", KUBE_SERVICE, "{\"metadata\":{\"namespace\":\"default\"}}",
     "bad: metadata: expected a name and a namespace"},
    {"no JSON inside", KUBE_SERVICE, "{" META ",\"spec\":{oops}}",
     "default/web garbled: not JSON: string or '}' expected near 'oops' at byte 61"},
    {"no object", KUBE_SERVICE, "[]", "bad: expected an object, found an array"},

    {"endpoints", KUBE_ENDPOINTS,
     "{" META ",\"subsets\":[{\"addresses\":[{\"ip\":\"10.1.0.1\",\"hostname\":\"a\"},"
     "{\"ip\":\"10.1.0.2\"}],\"notReadyAddresses\":[{\"ip\":\"10.1.0.3\"}],"
     "\"ports\":[{\"name\":\"http\",\"port\":8080,\"protocol\":\"TCP\"}]},"
     "{\"addresses\":[{\"ip\":\"10.1.0.9\"}]}]}",
     "default/web { 10.1.0.1=a 10.1.0.2 10.1.0.3(not ready) http/TCP:8080 } { 10.1.0.9 }"},
    {"endpoints, empty", KUBE_ENDPOINTS, "{" META "}", "default/web"},
    {"endpoints, null", KUBE_ENDPOINTS, "{" META ",\"subsets\":null}", "default/web"},
    {"hostnames map; the address's own name wins", KUBE_ENDPOINTS,
     "{" META_WITH(
         "endpoints.beta.kubernetes.io/hostnames-map",
         "{\\\"10.1.0.1\\\":{\\\"HostName\\\":\\\"x\\\"},"
         "\\\"10.1.0.2\\\":{\\\"hostname\\\":\\\"y\\\"},"
         "\\\"10.1.0.3\\\":7,"
         "\\\"10.1.0.4\\\":{\\\"HostName\\\":\\\"a_b\\\"}}") ",\"subsets\":[{\"addresses\":["
                                                             "{\"ip\":\"10.1.0.1\",\"hostname\":"
                                                             "\"own\"},{\"ip\":\"10."
                                                             "1.0.2\"},{\"ip\":\"10.1.0.3\"},{"
                                                             "\"ip\":\"10.1.0.4\"}]}]}",
     "default/web { 10.1.0.1=own 10.1.0.2=y 10.1.0.3 10.1.0.4 }"},
    {"hostnames map, broken", KUBE_ENDPOINTS,
     "{" META_WITH("endpoints.beta.kubernetes.io/hostnames-map", "[]") "}",
     "default/web without 1: annotation endpoints.beta.kubernetes.io/hostnames-map: expected an "
     "object, found an array"},
    {"hostnames map, no JSON", KUBE_ENDPOINTS,
     "{" META_WITH("endpoints.beta.kubernetes.io/hostnames-map",
                   "{oops") ",\"subsets\":[{\"addresses\":[{\"ip\":\"10.1.0.1\"}]}]}",
     "default/web { 10.1.0.1 } without 1: annotation endpoints.beta.kubernetes.io/hostnames-map: "
     "not JSON: string or '}' expected near 'oops' at byte 5"},
    {"annotations are no object", KUBE_ENDPOINTS,
     "{\"metadata\":{\"namespace\":\"default\",\"name\":\"web\",\"annotations\":7}}",
     "default/web without 1: metadata: annotations: expected an object, found a number"},
    {"address without an IP string", KUBE_ENDPOINTS,
     "{" META ",\"subsets\":[{},{\"addresses\":[{\"ip\":[]}]}]}",
     "default/web { } { } without 1: addresses[0]: ip: expected a string, found an array"},

    {"slice", KUBE_SLICE,
     "{" SLICE_META ",\"addressType\":\"IPv4\",\"endpoints\":["
     "{\"addresses\":[\"10.1.0.1\"],\"hostname\":\"a\",\"conditions\":{\"ready\":true}},"
     "{\"addresses\":[\"10.1.0.2\",\"10.1.0.3\"],\"topology\":{\"zone\":\"x\"}}],"
     "\"ports\":[{\"name\":\"http\",\"protocol\":\"TCP\",\"port\":8080},"
     "{\"name\":null,\"protocol\":\"UDP\",\"port\":null}]}",
     "default/web-x of=web IPv4 10.1.0.1=a 10.1.0.2,10.1.0.3 http/TCP:8080 /UDP:0"},
    {"slice, conditions", KUBE_SLICE,
     "{" SLICE_META ",\"addressType\":\"IPv6\",\"endpoints\":["
     "{\"addresses\":[\"::1\"],\"conditions\":{}},"
     "{\"addresses\":[\"::2\"],\"conditions\":{\"ready\":null}},"
     "{\"addresses\":[\"::3\"],\"conditions\":{\"ready\":false}},"
     "{\"addresses\":[\"::4\"],\"conditions\":{\"ready\":false,\"serving\":true,"
     "\"terminating\":true}},"
     "{\"addresses\":[\"::5\"],\"conditions\":{\"serving\":false}}]}",
     "default/web-x of=web IPv6 ::1 ::2 ::3(not ready)(not serving) "
     "::4(not ready)(terminating) ::5(not serving)"},
    {"slice of nothing", KUBE_SLICE,
     "{" META ",\"addressType\":\"FQDN\",\"endpoints\":null,\"ports\":null}",
     "default/web of= FQDN without 1: addressType: `FQDN`: expected IPv4 or IPv6, there are no "
     "records for others"},
    {"slice of an unknown type", KUBE_SLICE, "{" META ",\"addressType\":\"IP\",\"endpoints\":[]}",
     "default/web of= other without 1: addressType: `IP`: expected IPv4 or IPv6, there are no "
     "records for others"},
    {"slice mirrored from endpoints with a hostnames map", KUBE_SLICE,
     "{" META_WITH(
         "endpoints.beta.kubernetes.io/hostnames-map",
         "{\\\"10.1.0.1\\\":{\\\"HostName\\\":\\\"x\\\"}}") ",\"addressType\":\"IPv4\","
                                                            "\"endpoints\":[{\"addresses\":[\"10.1."
                                                            "0.1\"]},{\"addresses\":[]}]}",
     "default/web of= IPv4 10.1.0.1=x "},
    {"slice, some ports out of range", KUBE_SLICE,
     "{" SLICE_META ",\"addressType\":\"IPv4\",\"endpoints\":[{\"addresses\":[\"10.1.0.1\",7]}],"
     "\"ports\":[{\"port\":70000},{\"name\":\"http\",\"port\":80},{\"port\":-1}]}",
     "default/web-x of=web IPv4 10.1.0.1 http/:80 without 3: addresses[1]: expected a string, "
     "found "
     "a number; ports[0]: port: expected a number from 0 to 65535, found 70000; ports[2]: port: "
     "expected a number from 0 to 65535, found -1"},
    {"slice, more faults than are kept", KUBE_SLICE,
     "{" SLICE_META ",\"addressType\":\"IPv4\",\"ports\":[-1,-2,-3,-4,-5,-6,-7,-8,-9,-10,-11,-12]}",
     "default/web-x of=web IPv4 without 12: ports[0]: expected an object, found a number; "
     "ports[1]: expected an object, found a number; ports[2]: expected an object, found a number; "
     "ports[3]: expected an object, found a number; ports[4]: expected an object, found a number; "
     "ports[5]: expected an object, found a number; ports[6]: expected an object, found a number; "
     "ports[7]: expected an object, found a number; ports[8]: expected an object, found a number; "
     "ports[9]: expected an object, found a number; ports[10]: expected an object, found a number"},
    {"slice, endpoints are no array", KUBE_SLICE, "{" SLICE_META ",\"endpoints\":7}",
     "default/web-x garbled of=web: endpoints: expected an array, found a number"},
    {"slice, condition is no boolean", KUBE_SLICE,
     "{" META ",\"addressType\":\"IPv4\",\"endpoints\":[{\"conditions\":{\"ready\":1}}]}",
     "default/web of= IPv4 without 1: endpoints[0]: conditions: ready: expected a boolean, found a "
     "number"},
    {"slice, endpoint is no object", KUBE_SLICE,
     "{" META ",\"addressType\":\"IPv6\",\"endpoints\":[\"10.1.0.1\"]}",
     "default/web of= IPv6 without 1: endpoints[0]: expected an object, found a string"},

    {"pod", KUBE_POD,
     "{" META ",\"status\":{\"phase\":\"Running\",\"podIP\":\"10.1.0.1\",\"podIPs\":["
     "{\"ip\":\"10.1.0.1\"},{\"ip\":\"fd00::1\"}]}}",
     "default/web Running 10.1.0.1 fd00::1"},
    {"pod of an old server", KUBE_POD,
     "{" META ",\"status\":{\"phase\":\"Succeeded\",\"podIP\":\"10.1.0.1\"}}",
     "default/web Succeeded 10.1.0.1"},
    {"pod without an address yet", KUBE_POD,
     "{" META ",\"spec\":{\"hostNetwork\":true},\"status\":{\"phase\":\"Pending\"}}",
     "default/web Pending host"},
    {"pod that says it is not on the host network", KUBE_POD,
     "{" META ",\"spec\":{\"hostNetwork\":false},\"status\":{\"phase\":\"Running\"}}",
     "default/web Running"},
    {"pod, perhaps on the host network", KUBE_POD,
     "{" META ",\"spec\":{\"hostNetwork\":\"true\"},\"status\":{\"phase\":\"Running\"}}",
     "default/web garbled: spec: hostNetwork: expected a boolean, found a string"},
    {"pod without a status", KUBE_POD, "{" META "}", "default/web "},
    {"config map", KUBE_CONFIG_MAP,
     "{" META ",\"data\":{\"b\":\"[1]\",\"a\":\"\"},\"binaryData\":{\"c\":\"AA==\"}}",
     "default/web b=[1] a="},
    {"config map without data", KUBE_CONFIG_MAP, "{" META "}", "default/web"},
    {"config map, half of it is none", KUBE_CONFIG_MAP, "{" META ",\"data\":{\"a\":\"1\",\"b\":2}}",
     "default/web garbled: data: b: expected a string, found a number"},
    {"pod, addresses are strings", KUBE_POD, "{" META ",\"status\":{\"podIPs\":[\"10.1.0.1\"]}}",
     "default/web  without 1: podIPs[0]: expected an object, found a string"},

    {"node", KUBE_NODE,
     "{" NODE_META ",\"status\":{\"addresses\":[{\"type\":\"Hostname\",\"address\":\"w1\"},"
     "{\"type\":\"InternalIP\",\"address\":\"10.0.0.1\"},"
     "{\"type\":\"ExternalIP\",\"address\":\"192.0.2.1\"},"
     "{\"type\":\"InternalIP\",\"address\":\"\"},"
     "{\"type\":\"InternalIP\",\"address\":\"fd00::1\"}]}}",
     "/w1 10.0.0.1 fd00::1"},
    {"node without a status", KUBE_NODE, "{" NODE_META "}", "/w1"},
    {"node with odd addresses", KUBE_NODE,
     "{" NODE_META ",\"status\":{\"addresses\":[7,{\"type\":\"InternalIP\",\"address\":[]},"
     "{\"type\":\"InternalIP\",\"address\":\"10.0.0.1\"}]}}",
     "/w1 10.0.0.1 without 2: addresses[0]: expected an object, found a number; addresses[1]: "
     "address: expected a string, found an array"},
    {"node, no status", KUBE_NODE, "{" NODE_META ",\"status\":[]}",
     "/w1 garbled: status: expected an object, found an array"},
    {"node, no array", KUBE_NODE, "{" NODE_META ",\"status\":{\"addresses\":{}}}",
     "/w1 garbled: status: addresses: expected an array, found an object"},
    {"node in a namespace", KUBE_NODE, "{" META "}",
     "bad: metadata: expected a name and no namespace"},
    {"node without a name", KUBE_NODE, "{\"metadata\":{}}",
     "bad: metadata: expected a name and no namespace"},
    {"node, no JSON inside", KUBE_NODE, "{" NODE_META ",\"status\":{oops}}",
     "/w1 garbled: not JSON: string or '}' expected near 'oops' at byte 40"},

    {"namespace", KUBE_NAMESPACE, "{" NAMESPACE_META("\"team-b,team-c\"") "}",
     "/team-a team-b,team-c"},
    {"namespace for everybody", KUBE_NAMESPACE, "{" NAMESPACE_META("\"*\"") "}", "/team-a *"},
    {"namespace for nobody", KUBE_NAMESPACE, "{" NAMESPACE_META("\"\"") "}", "/team-a "},
    {"namespace, null is absent", KUBE_NAMESPACE, "{" NAMESPACE_META("null") "}", "/team-a (none)"},
    {"namespace without annotations", KUBE_NAMESPACE, "{\"metadata\":{\"name\":\"team-a\"}}",
     "/team-a (none)"},
    {"namespace, annotation is a list", KUBE_NAMESPACE, "{" NAMESPACE_META("[\"*\"]") "}",
     "/team-a (none) without 1: dns.kube2sky/visible-to: expected a string, found an array"},

    {"ingress", KUBE_INGRESS,
     "{" META ",\"spec\":{\"ingressClassName\":\"nginx\",\"rules\":[{\"host\":\"a.com\"},{},"
     "{\"host\":7},{\"host\":\"*.b.com\"}]}}",
     "default/web class=nginx created=0 a.com *.b.com without 1: rules[2]: host: expected a "
     "string, found a number"},
    {"ingress of an old class", KUBE_INGRESS,
     "{\"metadata\":{\"namespace\":\"a\",\"name\":\"b\",\"annotations\":{\"kubernetes.io/"
     "ingress.class\":\"old\"}},\"spec\":{}}",
     "a/b class=old created=0"},
    {"ingress, no rules", KUBE_INGRESS, "{" META ",\"spec\":{\"rules\":{}}}",
     "default/web garbled: spec: rules: expected an array, found an object"},
    {"gateway", KUBE_GATEWAY,
     "{" META ",\"spec\":{\"listeners\":[{\"name\":\"a\",\"hostname\":\"*.com\",\"port\":80},"
     "{\"name\":\"b\"},{\"port\":70000}]}}",
     "default/web a=*.com:80 b=:0 without 1: listeners[2]: port: expected a number from 0 to "
     "65535, found 70000"},
    {"route", KUBE_ROUTE,
     "{\"metadata\":{\"namespace\":\"a\",\"name\":\"b\",\"generation\":2},\"spec\":{\"hostnames\":["
     "\"a.com\",\"b.com\"]},\"status\":{\"parents\":["
     "{\"parentRef\":{\"name\":\"g\",\"port\":8},\"conditions\":[{},7,{\"type\":\"Accepted\","
     "\"status\":\"True\",\"observedGeneration\":2}]},"
     "{\"parentRef\":{\"name\":\"old\"},\"conditions\":[{\"type\":\"Accepted\",\"status\":\"True\","
     "\"observedGeneration\":1}]},"
     "{\"parentRef\":{\"name\":\"no\"},\"conditions\":[{\"type\":\"Accepted\",\"status\":\"False\","
     "\"observedGeneration\":2}]},"
     "{\"parentRef\":{\"kind\":\"Service\",\"group\":\"\",\"name\":\"s\"},\"conditions\":[{"
     "\"type\":\"Accepted\",\"status\":\"True\",\"observedGeneration\":2}]},"
     "{\"parentRef\":{\"namespace\":\"i\",\"name\":\"h\",\"sectionName\":\"x\"},\"conditions\":[{"
     "\"type\":\"Accepted\",\"status\":\"True\",\"observedGeneration\":2}]},7]}}",
     "a/b a.com b.com at=/g/:8 at=i/h/x:0 without 1: parents[5]: expected an object, found a "
     "number"},

    {"import", KUBE_IMPORT,
     "{" META ",\"spec\":{\"type\":\"ClusterSetIP\",\"ips\":[\"10.42.0.1\",\"\",\"fd00::1\"],"
     "\"ports\":[{\"name\":\"http\",\"port\":80},{\"protocol\":\"UDP\",\"port\":53}]}}",
     "default/web type=ClusterSetIP ip=10.42.0.1 ip=fd00::1 import http/TCP:80 /UDP:53"},
    {"headless import, which has no addresses", KUBE_IMPORT,
     "{" META ",\"spec\":{\"type\":\"Headless\",\"ips\":[\"10.42.0.1\"]}}",
     "default/web type=Headless import headless"},
    {"import without a type", KUBE_IMPORT, "{" META ",\"spec\":{\"ips\":[\"10.42.0.1\"]}}",
     "default/web type= import without 1: type: ``: expected ClusterSetIP or Headless"},
    {"import of another type", KUBE_IMPORT,
     "{" META ",\"spec\":{\"type\":\"ExternalName\",\"externalName\":\"a.com\"}}",
     "default/web type= import without 1: type: `ExternalName`: expected ClusterSetIP or Headless"},
    {"import with odd parts", KUBE_IMPORT,
     "{" META ",\"spec\":{\"type\":\"ClusterSetIP\",\"ips\":[7,\"10.42.0.1\"],\"ports\":[8]}}",
     "default/web type=ClusterSetIP ip=10.42.0.1 import without 2: ips[0]: expected a string, "
     "found a "
     "number; ports[0]: expected an object, found a number"},
    {"import, no spec", KUBE_IMPORT, "{" META ",\"spec\":[]}",
     "default/web garbled: spec: expected an object, found an array"},
    {"slice of an import", KUBE_IMPORT_SLICE,
     "{\"metadata\":{\"namespace\":\"a\",\"name\":\"b\",\"labels\":{"
     "\"kubernetes.io/service-name\":\"derived\","
     "\"multicluster.kubernetes.io/service-name\":\"web\","
     "\"multicluster.kubernetes.io/source-cluster\":\"east\"}},\"addressType\":\"IPv4\","
     "\"endpoints\":[{\"addresses\":[\"10.1.0.1\"],\"hostname\":\"web-0\"}]}",
     "a/b of=web IPv4 cluster=east 10.1.0.1=web-0"},
    {"slice of an import of an unknown cluster", KUBE_IMPORT_SLICE,
     "{\"metadata\":{\"namespace\":\"a\",\"name\":\"b\",\"labels\":{"
     "\"multicluster.kubernetes.io/service-name\":\"web\"}},\"addressType\":\"IPv4\"}",
     "a/b of=web IPv4"},
};

UNIT_TEST(test_objects)
{
    for (size_t i = 0; i < ARRAY_LEN(object_cases); i++) {
        const struct object_case *c = &object_cases[i];
        CLEANUP(kube_list_meta_fini) struct kube_list_meta meta = {0};
        struct err err = {0};
        CLEANUP_BUF struct buf body = buf_of(65536);
        CLEANUP_BUF struct buf got = buf_of(65536);
        buf_printf(&body, "{\"metadata\":{\"resourceVersion\":\"1\"},\"items\":[%s]}", c->in);
        assert_int_equal(decode_whole(KUBE_JSON, c->kind, buf_slice(&body), kube_object_on_object,
                                      kube_object_on_bad, &got, &meta, &err),
                         0);
        size_t len = strlen(c->want);
        const char *text = buf_cstr(&got);
        assert_that(strncmp(text, c->want, len) == 0 && strcmp(text + len, "\n") == 0,
                    "%s: got %s want %s", c->name, text, c->want);
    }
}

/* ---- Lists ---- */

struct list_case {
    const char *name;
    const char *in;
    const char *want; /* the objects, then "rv=... continue=..." or the error */
};

#define ITEM(name) "{\"metadata\":{\"namespace\":\"d\",\"name\":\"" name "\"}}"

static const struct list_case list_cases[] = {
    {"one broken between good ones",
     "{\"kind\":\"EndpointsList\",\"metadata\":{\"resourceVersion\":\"7\"},\"items\":[" ITEM(
         "a") ","
              "{\"metadata\":{\"name\":\"b\",\"namespace\":\"d\"},\"subsets\":1}," ITEM("c") "]}",
     "d/a\nd/b garbled: subsets: expected an array, found a number\nd/c\nrv=7 continue="},
    {"metadata behind the items, continued",
     "{\"items\":[" ITEM("a") "],\"metadata\":{\"resourceVersion\":\"8\",\"continue\":\"x/y==\"}}",
     "d/a\nrv=8 continue=x/y=="},
    {"no items at all", "{\"metadata\":{\"resourceVersion\":\"9\"},\"items\":[]}",
     "rv=9 continue="},
    {"items null", "{\"metadata\":{\"resourceVersion\":\"9\"},\"items\":null}", "rv=9 continue="},
    {"cut inside an item",
     "{\"metadata\":{\"resourceVersion\":\"7\"},\"items\":[" ITEM("a") ",{\"metadata\":{\"na",
     "d/a\nlist: not a JSON object, or cut short"},
    {"items is an object", "{\"metadata\":{\"resourceVersion\":\"7\"},\"items\":{}}",
     "list: items: not a JSON array, or cut short"},
    {"items missing", "{\"metadata\":{\"resourceVersion\":\"7\"}}", "list: items: missing"},
    {"no version", "{\"metadata\":{},\"items\":[]}", "list: metadata.resourceVersion: missing"},
    {"no metadata", "{\"items\":[]}", "list: metadata.resourceVersion: missing"},
    {"version is a number", "{\"metadata\":{\"resourceVersion\":7},\"items\":[]}",
     "list: metadata: resourceVersion: expected a string, found a number"},
    {"escapes and brackets in strings",
     "{\"x\":\"}\\\"]{\",\"y\":[[{\"]\":1}]],\"metadata\":{\"resourceVersion\":\"9\"},\"z\":-1.5e3,"
     "\"items\" : [ " ITEM("a") " , " ITEM("b") " ] } ",
     "d/a\nd/b\nrv=9 continue="},
    {"a comma too many", "{\"metadata\":{\"resourceVersion\":\"7\"},\"items\":[" ITEM("a") ",]}",
     "d/a\nlist: items: not a JSON array, or cut short"},
    {"no comma", "{\"metadata\":{\"resourceVersion\":\"7\"},\"items\":[" ITEM("a") "{}]}",
     "d/a\nlist: items: not a JSON array, or cut short"},
    {"no value", "{\"metadata\":{\"resourceVersion\":\"7\"},\"x\":,\"items\":[]}",
     "list: not a JSON object, or cut short"},
    {"something behind it", "{\"metadata\":{\"resourceVersion\":\"7\"},\"items\":[]}x",
     "list: not a JSON object, or cut short"},
    {"no JSON", "404 page not found\n", "list: not a JSON object, or cut short"},
    {"empty", "", "list: not a JSON object, or cut short"},
};

/* In pieces of any size. */
UNIT_TEST(test_lists)
{
    for (size_t i = 0; i < ARRAY_LEN(list_cases); i++) {
        const struct list_case *c = &list_cases[i];
        for (size_t piece = 1; piece <= strlen(c->in) + 1; piece++) {
            CLEANUP(kube_list_meta_fini) struct kube_list_meta meta = {0};
            struct err err = {0};
            CLEANUP_BUF struct buf got = buf_of(65536);
            if (decode_pieces(KUBE_JSON, KUBE_ENDPOINTS, slice_str(c->in), piece,
                              kube_object_on_object, kube_object_on_bad, &got, &meta, &err) == 0) {
                buf_printf(&got, "rv=%s continue=%s", meta.resource_version, meta.continue_token);
            } else {
                buf_append_str(&got, err.msg);
            }
            assert_that(strcmp(buf_cstr(&got), c->want) == 0,
                        "%s: in pieces of %zu: got %s want %s", c->name, piece, buf_cstr(&got),
                        c->want);
        }
    }
}

UNIT_TEST(test_list_refuses_huge_continue)
{
    struct kube_list_meta meta = {0};
    struct err err = {0};
    CLEANUP_BUF struct buf body = buf_of(1 << 20);
    buf_append_str(&body, "{\"metadata\":{\"resourceVersion\":\"7\",\"continue\":\"");
    for (int i = 0; i < 65537; i++) {
        buf_append_char(&body, 'x');
    }
    buf_append_str(&body, "\"},\"items\":[]}");
    assert_int_equal(decode_whole(KUBE_JSON, KUBE_SERVICE, buf_slice(&body), kube_object_on_object,
                                  kube_object_on_bad, NULL, &meta, &err),
                     ERR_TOO_LARGE);
}

/* ---- Events ---- */

struct event_case {
    const char *name;
    const char *in;
    const char *want;
};

#define EVENT(type, object) "{\"type\":\"" type "\",\"object\":" object "}"
#define VERSIONED(rest) \
    "{\"metadata\":{\"namespace\":\"d\",\"name\":\"a\",\"resourceVersion\":\"5\"}" rest "}"

static const struct event_case event_cases[] = {
    {"added", EVENT("ADDED", VERSIONED("")), "upsert d/a rv=5"},
    {"modified", EVENT("MODIFIED", VERSIONED(",\"subsets\":[{\"addresses\":[{\"ip\":\"::1\"}]}]")),
     "upsert d/a { ::1 } rv=5"},
    {"deleted, broken inside", EVENT("DELETED", VERSIONED(",\"subsets\":1")), "delete d/a rv=5"},
    {"bookmark",
     EVENT("BOOKMARK", "{\"kind\":\"Endpoints\",\"metadata\":{\"resourceVersion\":\"9\"}}"),
     "bookmark rv=9"},
    {"the initial events' end",
     EVENT("BOOKMARK", "{\"metadata\":{\"resourceVersion\":\"9\",\"annotations\":"
                       "{\"a\":\"b\",\"k8s.io/initial-events-end\":\"true\"}}}"),
     "bookmark rv=9, initial end"},
    {"no end",
     EVENT("BOOKMARK", "{\"metadata\":{\"resourceVersion\":\"9\",\"annotations\":"
                       "{\"k8s.io/initial-events-end\":true}}}"),
     "bookmark rv=9"},
    {"bookmark without version", EVENT("BOOKMARK", "{\"metadata\":{}}"),
     "failed: bookmark: metadata.resourceVersion: missing"},
    {"gone",
     EVENT("ERROR", "{\"kind\":\"Status\",\"status\":\"Failure\",\"message\":\"too old resource "
                    "version: 1 (2)\",\"reason\":\"Expired\",\"code\":410}"),
     "error 410: 410 too old resource version: 1 (2)"},
    {"error without status", EVENT("ERROR", "{}"), "error 0: an ERROR event without a Status"},
    {"bad object", EVENT("ADDED", VERSIONED(",\"subsets\":1")),
     "upsert d/a garbled: subsets: expected an array, found a number rv=5"},
    {"object is no JSON", EVENT("ADDED", "{oops}"),
     "bad: not JSON: string or '}' expected near 'oops' at byte 5 rv=-"},
    {"unknown type", EVENT("MOVED", "{}"), "failed: watch event: unknown type `MOVED`"},
    {"no object", "{\"type\":\"ADDED\"}",
     "failed: watch event: not a JSON object with type and object"},
    {"no type", "{\"object\":{}}", "failed: watch event: unknown type ``"},
    {"cut", "{\"type\":\"ADDED\",\"object\":{\"met",
     "failed: watch event: not a JSON object with type and object"},
    {"empty line", "", "failed: watch event: not a JSON object with type and object"},
};

static void print_event(struct buf *out, const struct kube_event *event, const struct err *err)
{
    const char *version = event->resource_version ? event->resource_version : "-";
    switch (event->kind) {
    case KUBE_EVENT_UPSERT:
    case KUBE_EVENT_DELETE:
        buf_append_str(out, event->kind == KUBE_EVENT_UPSERT ? "upsert " : "delete ");
        print_object(out, event->object);
        buf_printf(out, " rv=%s", version);
        break;
    case KUBE_EVENT_BOOKMARK:
        buf_printf(out, "bookmark rv=%s%s", version, event->is_initial_end ? ", initial end" : "");
        break;
    case KUBE_EVENT_ERROR:
        buf_printf(out, "error %d: %s", event->status_code, err->msg);
        break;
    case KUBE_EVENT_BAD:
        buf_printf(out, "bad: %s rv=%s", err->msg, version);
        break;
    }
}

UNIT_TEST(test_events)
{
    for (size_t i = 0; i < ARRAY_LEN(event_cases); i++) {
        const struct event_case *c = &event_cases[i];
        CLEANUP(kube_event_fini) struct kube_event event = {0};
        struct err err = {0};
        CLEANUP_BUF struct buf got = buf_of(65536);
        if (kube_decode_event(KUBE_JSON, KUBE_ENDPOINTS, slice_str(c->in), &event, &err) == 0) {
            print_event(&got, &event, &err);
        } else {
            buf_printf(&got, "failed: %s", err.msg);
        }
        assert_that(strcmp(buf_cstr(&got), c->want) == 0, "%s: got %s want %s", c->name,
                    buf_cstr(&got), c->want);
    }
}

/* A slice of an import that moves to another cluster has changed, localized or not. */
UNIT_TEST(test_clusters_of_imports)
{
    static const char *const clusters[] = {"east", "west", "east"};
    struct kube_object *objects[ARRAY_LEN(clusters)];
    for (size_t i = 0; i < ARRAY_LEN(clusters); i++) {
        CLEANUP(kube_event_fini) struct kube_event event = {0};
        struct err err = {0};
        CLEANUP_BUF struct buf text = buf_of(1024);
        buf_printf(&text,
                   EVENT("ADDED", "{\"metadata\":{\"namespace\":\"a\",\"name\":\"b\",\"labels\":{"
                                  "\"multicluster.kubernetes.io/source-cluster\":\"%s\"}},"
                                  "\"addressType\":\"IPv4\"}"),
                   clusters[i]);
        assert_int_equal(
            kube_decode_event(KUBE_JSON, KUBE_IMPORT_SLICE, buf_slice(&text), &event, &err), 0);
        objects[i] = event.object;
        event.object = NULL;
    }
    for (size_t round = 0; round < 2; round++) {
        assert_false(kube_object_equal(objects[0], objects[1]));
        assert_true(kube_object_equal(objects[0], objects[2]));
        for (size_t i = 0; i < ARRAY_LEN(clusters); i++) {
            kube_object_localize(objects[i]);
        }
    }
    for (size_t i = 0; i < ARRAY_LEN(clusters); i++) {
        kube_object_free(objects[i]);
    }
}

UNIT_TEST(test_status)
{
    struct kube_status status = {0};
    assert_true(kube_decode_status(
        slice_str("{\"kind\":\"Status\",\"message\":\"no\",\"code\":403}"), &status));
    assert_int_equal(status.code, 403);
    assert_string_equal(status.message, "no");
    kube_status_fini(&status);
    assert_true(kube_decode_status(slice_str("{\"kind\":\"Status\"}"), &status));
    assert_int_equal(status.code, 0);
    assert_string_equal(status.message, "");
    kube_status_fini(&status);
    assert_false(kube_decode_status(slice_str("{\"kind\":\"Service\"}"), &status));
    assert_false(kube_decode_status(slice_str("Unauthorized"), &status));
}

/* ---- Costs ---- */

/* Endpoints with one address `count` times, and as many fields for it in the map. */
static double hostnames_us(unsigned count)
{
    double least = 0;
    CLEANUP_BUF struct buf text = buf_of(64 * 1024 * 1024);
    buf_append_str(&text, "{\"type\":\"ADDED\",\"object\":{\"metadata\":{\"namespace\":\"default\","
                          "\"name\":\"web\",\"annotations\":{"
                          "\"endpoints.beta.kubernetes.io/hostnames-map\":"
                          "\"{\\\"10.1.0.1\\\":{\\\"0\\\":0");
    for (unsigned i = 1; i < count; i++) {
        buf_printf(&text, ",\\\"%u\\\":0", i);
    }
    buf_append_str(&text, "}}\"}},\"subsets\":[{\"addresses\":[{\"ip\":\"10.1.0.1\"}");
    for (unsigned i = 1; i < count; i++) {
        buf_append_str(&text, ",{\"ip\":\"10.1.0.1\"}");
    }
    buf_append_str(&text, "]}]}}");
    for (unsigned round = 0; round < 5; round++) {
        struct kube_event event;
        struct err err = {0};
        double start = thread_cpu_us();
        int rc = kube_decode_event(KUBE_JSON, KUBE_ENDPOINTS, buf_slice(&text), &event, &err);
        double took = thread_cpu_us() - start;
        assert_that(rc >= 0 && !event.object->is_garbled && !event.object->fault_count, "%s",
                    rc < 0 ? err.msg : event.object->faults);
        assert_int_equal(event.object->endpoints.subsets[0].address_count, count);
        kube_event_fini(&event);
        least = round == 0 || took < least ? took : least;
    }
    return least;
}

/* Eight times as much takes about eight times as long, not sixty-four. */
UNIT_TEST(test_cost_of_hostnames)
{
    enum { COUNT = 500 };
    double some = hostnames_us(COUNT), more = hostnames_us(8 * COUNT);
    print_message("%d addresses and names %.0f us, %d %.0f us\n", COUNT, some, 8 * COUNT, more);
    assert_true(more < 24 * some);
}
