/* planner_events: which faults of Services, and of claims on external names, the planner tells the
 * queue of events, with their words, and when it says that they are gone. */
#include "tests/unit/kube2sky/objects.h"

#include "common/base/buf.h"
#include "common/base/clock.h"
#include "kube2sky/naming/event_queue.h"
#include "kube2sky/naming/external_aliases.h"
#include "kube2sky/naming/external_keys.h"
#include "kube2sky/naming/inventory.h"
#include "kube2sky/naming/override_zones.h"
#include "kube2sky/reconcile/owner_groups_internal.h"
#include "kube2sky/reconcile/owners_internal.h"
#include "kube2sky/reconcile/ownership_internal.h"
#include "kube2sky/reconcile/planner_internal.h"
#include "tests/support/unit_test.h"
#include "tests/unit/kube2sky/reconcile/planner_whole.h"

enum { OWNER_KEYS = 20, NAMESPACE_KEYS = 10 };

struct fault_bed {
    struct inventory *inventory;
    struct ownership ownership;
    struct owners *owners;
    struct reverse_keys *reverse_keys;
    struct override_zones *zones;
    struct external_aliases *aliases;
    struct external_keys *external_keys;
    struct event_queue *events;
    struct planner planner;
    int64_t now_ms; /* when the faults are looked at: later each time */
};

static void fault_bed_on_changed(void *data, struct slice id)
{
    struct fault_bed *b = data;
    planner_forget_names(&b->planner);
    owner_groups_want_claim(b->owners->groups, owners_get(b->owners, id));
}

static void fault_bed_on_unclaimed(void *data, struct slice owner_object)
{
    struct fault_bed *b = data;
    planner_tell_unclaimed(&b->planner, owner_object);
}

static void fault_bed_ignore_name(void *data, struct slice name_key)
{
}

static void fault_bed_init_planner(struct fault_bed *b)
{
    planner_init(&b->planner, &(struct planner_config){
                                  .inventory = b->inventory,
                                  .owners = b->owners,
                                  .reverse_keys = b->reverse_keys,
                                  .domain = "cluster.local.",
                                  .ttl_s = 30,
                                  .limits = key_limits_of(0, OWNER_KEYS, NAMESPACE_KEYS),
                                  .has_reverse = true,
                                  .events = b->events,
                                  .aliases = b->aliases,
                                  .external_keys = b->external_keys,
                              });
}

static void fault_bed_set_up(struct fault_bed *b)
{
    struct err err = {0};
    kube_object_keep((struct kube_kept){.aliases = true});
    b->now_ms = clock_monotonic_ms();
    b->inventory = inventory_new(&(struct inventory_config){
        .is_narrowed = true, .changed = fault_bed_on_changed, .data = b});
    assert_int_equal(override_zones_parse("*.example.com,shop.example.org@prod", "cluster.local.",
                                          &b->zones, &err),
                     0);
    ownership_init(&b->ownership, &(struct ownership_config){.domain = "cluster.local."});
    b->owners = owners_new(&b->ownership);
    b->reverse_keys = reverse_keys_new();
    b->aliases =
        external_aliases_new(&(struct external_aliases_config){.zones = b->zones,
                                                               .domain = "cluster.local.",
                                                               .ttl_s = 30,
                                                               .changed = fault_bed_on_changed,
                                                               .unclaimed = fault_bed_on_unclaimed,
                                                               .data = b});
    b->external_keys = external_keys_new(
        &(struct external_keys_config){.zones = b->zones, .changed = fault_bed_ignore_name});
    b->events = event_queue_new();
    fault_bed_init_planner(b);
    for (enum kube_kind kind = KUBE_SERVICE; kind <= KUBE_ENDPOINTS; kind++) {
        inventory_list_begin(b->inventory, kind);
        inventory_list_end(b->inventory, kind);
    }
    inventory_want(b->inventory, KUBE_POD, false);
}

static void fault_bed_tear_down(struct fault_bed *b)
{
    planner_fini(&b->planner);
    event_queue_free(b->events);
    external_keys_free(b->external_keys);
    external_aliases_free(b->aliases);
    reverse_keys_free(b->reverse_keys);
    owners_free(b->owners);
    ownership_fini(&b->ownership);
    override_zones_free(b->zones);
    inventory_free(b->inventory);
    kube_object_keep((struct kube_kept){0});
}

UNIT_FIXTURE(struct fault_bed, fault_bed_set_up, fault_bed_tear_down)

/* Claims that are due, then a plan of one owner, as the reconciler does it. */
static void fault_bed_plan(struct fault_bed *b, const char *id)
{
    struct owner *owner;
    CLEANUP(plan_fini) struct plan plan;
    while ((owner = owner_groups_next_due(b->owners->groups))) {
        (void)claim_whole(&b->planner, owner);
        owner_groups_end_due(b->owners->groups, owner);
    }
    owner = owners_get(b->owners, slice_str(id));
    plan_init(&plan);
    struct planned planned = plan_owner_whole(&b->planner, owner, &plan);
    planner_tell_planned(&b->planner, owner, &planned);
}

static const char *fault_kind_name(enum kube_kind kind)
{
    return kind == KUBE_SERVICE ? "service" : kind == KUBE_INGRESS ? "ingress" : "route";
}

static int compare_fault_lines(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* All faults that the queue knows, a line for each, sorted. */
static void fault_bed_expect(struct fault_bed *b, const char *want)
{
    enum { LINES_MAX = 4 };
    char *lines[LINES_MAX];
    size_t count = event_queue_count(b->events).known;
    CLEANUP_BUF struct buf got = buf_of(1 << 16);
    assert_in_range(count, 0, LINES_MAX);
    b->now_ms += 2 * EVENT_STANDING_MS; /* all are due */
    for (size_t i = 0; i < count; i++) {
        struct event_write write;
        assert_true(event_queue_next(b->events, b->now_ms, &write));
        lines[i] =
            xasprintf("%s %.*s/%.*s %s: %s\n", fault_kind_name(write.object.kind),
                      (int)write.object.ns.len, write.object.ns.ptr, (int)write.object.name.len,
                      write.object.name.ptr, event_reason_name(write.reason), write.note);
        event_queue_done(b->events, EVENT_WRITTEN, 1, b->now_ms);
    }
    qsort(lines, count, sizeof(*lines), compare_fault_lines);
    for (size_t i = 0; i < count; i++) {
        buf_append_str(&got, lines[i]);
        free(lines[i]);
    }
    assert_string_equal(buf_cstr(&got), want);
}

static void fault_bed_put(struct fault_bed *b, const char *ns, const char *name, const char *spec)
{
    inventory_upsert(b->inventory, service_from(ns, name, spec));
}

static void fault_bed_put_aliased(struct fault_bed *b, const char *ns, const char *name,
                                  const char *aliases)
{
    CLEANUP_FREE char *text =
        xasprintf("{'metadata':{'namespace':'%s','name':'%s','resourceVersion':'1',"
                  "'annotations':{'dns.kube2sky/aliases':%s}},"
                  "'spec':{'clusterIP':'None'}}",
                  ns, name, aliases);
    inventory_upsert(b->inventory, object_from(KUBE_SERVICE, text));
}

/* A Service with so many ports, each a key or two. */
static void fault_bed_put_ports(struct fault_bed *b, const char *name, int count)
{
    CLEANUP_BUF struct buf spec = buf_of(1 << 16);
    buf_append_str(&spec, "'clusterIP':'10.0.0.9','ports':[");
    for (int i = 0; i < count; i++) {
        buf_printf(&spec, "%s{'name':'p%d','port':%d,'protocol':'TCP'}", i ? "," : "", i, i + 1);
    }
    buf_append_char(&spec, ']');
    fault_bed_put(b, "default", name, buf_cstr(&spec));
}

/* ---- Services ---- */

#define LONG_NAME "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa" /* 63 */

/* A name that no key can have: of several, the first. Another part is no port. */
UNIT_TEST_ON(test_fault_of_a_port_name, struct fault_bed *b)
{
    fault_bed_put(b, "default", "web", "'type':'ExternalName','externalName':'a..b'");
    fault_bed_plan(b, "svc/default/web");
    assert_int_equal(b->planner.dropped, 1);
    fault_bed_expect(b, "");
    fault_bed_put(b, "default", "web",
                  "'clusterIP':'10.0.0.9','ports':["
                  "{'name':'" LONG_NAME "','port':80,'protocol':'TCP'},"
                  "{'name':'b" LONG_NAME "','port':81,'protocol':'TCP'}]");
    fault_bed_plan(b, "svc/default/web");
    fault_bed_expect(b, "service default/web InvalidPort: port name `" LONG_NAME
                        "`: cannot be part of a key\n");
    fault_bed_put(b, "default", "web", "'clusterIP':'10.0.0.9'");
    fault_bed_plan(b, "svc/default/web");
    fault_bed_expect(b, "");
}

/* The Service's faults, or its endpoints'. */
UNIT_TEST_ON(test_faults_when_decoded, struct fault_bed *b)
{
    fault_bed_put(b, "default", "web",
                  "'clusterIP':'10.0.0.9','ports':[{'name':'p','port':70000,'protocol':'TCP'}]");
    fault_bed_plan(b, "svc/default/web");
    fault_bed_expect(b, "service default/web InvalidPort: "
                        "ports[0]: port: expected a number from 0 to 65535, found 70000\n");
    fault_bed_put(b, "default", "web", "'clusterIP':'None'");
    inventory_upsert(b->inventory,
                     endpoints_from("default", "web",
                                    "{'addresses':[{'ip':'10.1.0.1'}],'ports':[{'name':'p',"
                                    "'port':70001,'protocol':'TCP'}]}"));
    fault_bed_plan(b, "svc/default/web");
    fault_bed_expect(b, "service default/web InvalidPort: endpoints web: "
                        "ports[0]: port: expected a number from 0 to 65535, found 70001\n");
    inventory_remove(b->inventory, KUBE_ENDPOINTS, "default", "web");
    fault_bed_plan(b, "svc/default/web");
    fault_bed_expect(b, "");

    fault_bed_put_aliased(b, "default", "web", "7");
    fault_bed_plan(b, "svc/default/web");
    fault_bed_expect(b, "service default/web InvalidAnnotation: "
                        "dns.kube2sky/aliases: expected a string, found a number\n");
}

/* More than an owner may have, then more than its namespace may, then few enough. */
UNIT_TEST_ON(test_fault_of_many_records, struct fault_bed *b)
{
    fault_bed_put_ports(b, "web", OWNER_KEYS + 1);
    fault_bed_plan(b, "svc/default/web");
    fault_bed_expect(b, "service default/web TooManyRecords: "
                        "1 cluster IPs and 21 ports: expected at most 20 together\n");
    fault_bed_put_ports(b, "web", NAMESPACE_KEYS + 1);
    fault_bed_plan(b, "svc/default/web");
    fault_bed_expect(b, "service default/web TooManyRecords: "
                        "namespace has as many keys as it may, its new ones wait\n");
    fault_bed_put_ports(b, "web", 1);
    fault_bed_plan(b, "svc/default/web");
    fault_bed_expect(b, "");
}

/* ---- Reverse names ---- */

static void fault_bed_put_db(struct fault_bed *b, const char *ns)
{
    fault_bed_put(b, ns, "db", "'clusterIP':'None'");
    inventory_upsert(b->inventory, endpoints_from(ns, "db", "{'addresses':[{'ip':'10.1.0.1'}]}"));
}

/* It does not say which namespace has the name. */
UNIT_TEST_ON(test_fault_of_a_reverse_name, struct fault_bed *b)
{
    fault_bed_put_db(b, "default");
    fault_bed_put_db(b, "secret");
    fault_bed_plan(b, "svc/default/db");
    fault_bed_plan(b, "svc/secret/db");
    fault_bed_expect(b, "service secret/db ReverseNameTaken: "
                        "the reverse name of 10.1.0.1 belongs to another namespace\n");
    inventory_remove(b->inventory, KUBE_SERVICE, "default", "db");
    inventory_remove(b->inventory, KUBE_ENDPOINTS, "default", "db");
    fault_bed_plan(b, "svc/secret/db");
    fault_bed_expect(b, "");
}

UNIT_TEST_ON(test_fault_of_another_writers_reverse_key, struct fault_bed *b)
{
    const struct actual_value there = {.hash = 1, .revision = 7};
    (void)reverse_keys_put(b->reverse_keys, slice_str("/skydns/arpa/in-addr/10/0/0/77"), &there,
                           slice_of(NULL, 0));
    fault_bed_put(b, "default", "web", "'clusterIP':'10.0.0.77'");
    fault_bed_plan(b, "svc/default/web");
    fault_bed_expect(b, "service default/web ReverseNameTaken: another writer owns a reverse key, "
                        "left alone: /skydns/arpa/in-addr/10/0/0/77\n");
    assert_true(reverse_keys_delete(b->reverse_keys, slice_str("/skydns/arpa/in-addr/10/0/0/77")));
    fault_bed_plan(b, "svc/default/web");
    fault_bed_expect(b, "");
}

/* ---- External names ---- */

static void fault_bed_claim_route(struct fault_bed *b, const char *id, const char *ns,
                                  const char *names)
{
    const struct alias_owner_object owner_object = {.id = slice_str(id),
                                                    .ns = slice_str(ns),
                                                    .target = slice_str("default/web"),
                                                    .created_s = 1,
                                                    .rank = ALIAS_OF_ROUTE};
    external_aliases_set_text(b->aliases, &owner_object, slice_str(names));
}

/* Each reason once for an object, with its first name. */
UNIT_TEST_ON(test_faults_of_external_names, struct fault_bed *b)
{
    fault_bed_put_aliased(b, "default", "web",
                          "'a.example.com,not/a/name,nor/this,b.example.net,c.example.net'");
    fault_bed_put_aliased(b, "late", "web", "'a.example.com'");
    fault_bed_put_aliased(b, "prod", "web", "'shop.example.org'");
    fault_bed_plan(b, "alias/default/web");
    fault_bed_expect(
        b, "service default/web AliasNotAllowed: external name `b.example.net` is in no zone of "
           "--override-zones\n"
           "service default/web InvalidAnnotation: external name `not/a/name` is no name like "
           "app.example.com\n");
    fault_bed_put_aliased(b, "default", "web", "'a.example.com,shop.example.org'");
    fault_bed_plan(b, "alias/default/web");
    fault_bed_expect(b, "service default/web AliasNotAllowed: external name `shop.example.org` is "
                        "in a zone that --override-zones gives to other namespaces\n");
    fault_bed_put_aliased(b, "default", "web", "'a.example.com'");
    fault_bed_plan(b, "alias/default/web");
    fault_bed_plan(b, "alias/late/web");
    fault_bed_plan(b, "alias/prod/web");
    fault_bed_expect(b, "service late/web AliasTaken: external name is another object's or "
                        "writer's, left alone: a.example.com\n");
}

/* Somebody else's key at the name, and at the very place of ours. */
UNIT_TEST_ON(test_fault_of_another_writers_name, struct fault_bed *b)
{
    static const char *const taken[] = {"/skydns/com/example/a/x1",
                                        "/skydns/com/example/a/41d689bb"};
    fault_bed_put_aliased(b, "default", "web", "'a.example.com'");
    fault_bed_plan(b, "alias/default/web");
    fault_bed_expect(b, "");
    for (size_t i = 0; i < ARRAY_LEN(taken); i++) {
        external_keys_put(b->external_keys, slice_str(taken[i]),
                          slice_str("{\"host\":\"10.9.9.9\",\"targetstrip\":1}"), slice_of(NULL, 0),
                          7, 1);
        fault_bed_plan(b, "alias/default/web");
        fault_bed_expect(b, "service default/web AliasTaken: external name is another object's or "
                            "writer's, left alone: a.example.com\n");
        external_keys_delete(b->external_keys, slice_str(taken[i]));
        fault_bed_plan(b, "alias/default/web");
        fault_bed_expect(b, "");
    }
}

/* An Ingress's and a route's faults are theirs, not the Service's; a route has them at each of its
 * Gateways. They end with the claims. */
UNIT_TEST_ON(test_faults_of_routes, struct fault_bed *b)
{
    fault_bed_put_aliased(b, "default", "web", "'a.example.com'");
    fault_bed_claim_route(b, "ingress/test/shop", "test", "not/a/name");
    fault_bed_claim_route(b, "httproute/test/r via infra/a", "test", "b.example.net");
    fault_bed_claim_route(b, "httproute/test/r via infra/b", "test", "b.example.net");
    fault_bed_plan(b, "alias/default/web");
    fault_bed_expect(
        b, "ingress test/shop AliasNotAllowed: external name `not/a/name` is no name like "
           "app.example.com\n"
           "route test/r AliasNotAllowed: external name `b.example.net` is in no zone of "
           "--override-zones\n");
    fault_bed_claim_route(b, "ingress/test/shop", "test", "");
    fault_bed_claim_route(b, "httproute/test/r via infra/a", "test", "");
    fault_bed_expect(b, "route test/r AliasNotAllowed: external name `b.example.net` is in no "
                        "zone of --override-zones\n");
    fault_bed_claim_route(b, "httproute/test/r via infra/b", "test", "");
    fault_bed_expect(b, "");
}

/* Without a queue nothing is told, and nothing is kept for later. */
UNIT_TEST_ON(test_faults_that_nobody_wants, struct fault_bed *b)
{
    b->planner.config.events = NULL;
    fault_bed_put(b, "default", "web",
                  "'clusterIP':'10.0.0.9','ports':["
                  "{'name':'" LONG_NAME "','port':80,'protocol':'TCP'}]");
    fault_bed_claim_route(b, "ingress/test/shop", "test", "not/a/name");
    fault_bed_plan(b, "svc/default/web");
    fault_bed_plan(b, "alias/default/web");
    fault_bed_claim_route(b, "ingress/test/shop", "test", "");
    b->planner.config.events = b->events;
    fault_bed_put(b, "default", "other", "'clusterIP':'10.0.0.8'");
    fault_bed_plan(b, "svc/default/other");
    fault_bed_expect(b, "");
}
