/* Changes of single slices, planned by themselves: random ones against plans from scratch, and what
 * one costs in a Service of 5,000 endpoints. */
#include "tests/unit/kube2sky/objects.h"

#include "common/base/buf.h"
#include "common/base/clock.h"
#include "common/dns/dname.h"
#include "common/etcd/etcd_kv.h"
#include "kube2sky/naming/event_queue.h"
#include "kube2sky/naming/inventory.h"
#include "kube2sky/reconcile/owners_internal.h"
#include "kube2sky/reconcile/ownership_internal.h"
#include "kube2sky/reconcile/planner_internal.h"
#include "tests/support/random_numbers.h"
#include "tests/support/unit_test.h"
#include "tests/unit/kube2sky/reconcile/planner_whole.h"

enum { SERVICES = 2, SLICES = 5, STEPS = 6000 };

struct world {
    struct inventory *inventory;
    struct ownership ownership;
    struct owners *owners;
    struct reverse_keys *reverse_keys;
    struct planner planner;
    struct buf dirty; /* owner ids, each NUL-terminated */
    unsigned alone;   /* changes planned by themselves */
};

static void planner_slices_mark_dirty(void *data, struct slice id)
{
    struct world *w = data;
    owners_free_difference(owners_get(w->owners, id));
    buf_append_slice(&w->dirty, id);
    buf_append_char(&w->dirty, '\0');
}

static void mark_change(void *data, struct slice id, const struct slice_change *change)
{
    struct world *w = data;
    struct owner *owner = owners_get(w->owners, id);
    planner_slices_mark_dirty(data, id);
    if (owner->desired_count) {
        w->alone += planner_note_change(&w->planner, owner, change);
    }
}

static void planner_slices_init(struct world *w, enum endpoint_names endpoint_names)
{
    memset(w, 0, sizeof(*w));
    random_state = 20260711;
    buf_init(&w->dirty, 1 << 20);
    w->inventory = inventory_new(&(struct inventory_config){
        .is_narrowed = true,
        .changed = planner_slices_mark_dirty,
        .slice_changed = mark_change,
        .data = w,
    });
    inventory_want(w->inventory, KUBE_POD, false);
    inventory_use_endpoints(w->inventory, KUBE_SLICE);
    ownership_init(&w->ownership, &(struct ownership_config){.domain = "cluster.local."});
    w->owners = owners_new(&w->ownership);
    w->reverse_keys = reverse_keys_new();
    planner_init(&w->planner, &(struct planner_config){
                                  .inventory = w->inventory,
                                  .owners = w->owners,
                                  .reverse_keys = w->reverse_keys,
                                  .domain = "cluster.local.",
                                  .ttl_s = 30,
                                  .endpoint_names = endpoint_names,
                                  .has_reverse = true,
                              });
    for (enum kube_kind kind = KUBE_SERVICE; kind <= KUBE_SLICE; kind++) {
        inventory_list_begin(w->inventory, kind);
        inventory_list_end(w->inventory, kind);
    }
}

static void planner_slices_fini(struct world *w)
{
    planner_fini(&w->planner);
    reverse_keys_free(w->reverse_keys);
    owners_free(w->owners);
    ownership_fini(&w->ownership);
    inventory_free(w->inventory);
    buf_fini(&w->dirty);
}

static void planner_slices_set_up(struct world *w)
{
    planner_slices_init(w, ENDPOINT_NAMES_HASH);
}

UNIT_FIXTURE(struct world, planner_slices_set_up, planner_slices_fini)

/* ---- etcd ---- */

static void planner_slices_put_reverse(struct world *w, const struct etcd_op *op)
{
    const struct actual_value value = {
        .hash = actual_value_hash(op->value),
        .revision = 7,
        .generation = 1,
        .is_ours = true,
    };
    CLEANUP_BUF struct buf owner_object = buf_of(DNAME_MAX);
    ownership_owner_object(&w->ownership, op->value, &owner_object);
    (void)reverse_keys_put(w->reverse_keys, op->key, &value, buf_slice(&owner_object));
}

static void apply_op(struct world *w, const struct etcd_op *op)
{
    bool is_own = ownership_place(&w->ownership, op->key) == KEY_OBJECT;
    const struct etcd_kv kv = {.key = op->key, .value = op->value, .mod_revision = 7};
    if (is_own && op->kind == ETCD_OP_PUT) {
        (void)owners_key_put(w->owners, &kv, 1);
    } else if (is_own) {
        assert_non_null(owners_key_delete(w->owners, op->key));
    } else if (op->kind == ETCD_OP_PUT) {
        planner_slices_put_reverse(w, op);
    } else {
        assert_true(reverse_keys_delete(w->reverse_keys, op->key));
    }
}

/* Returns the work of planning; *ret_ops: the operations. */
static size_t plan_and_apply(struct world *w, struct owner *owner, size_t *ret_ops)
{
    struct plan plan;
    plan_init(&plan);
    struct planned planned = plan_owner_whole(&w->planner, owner, &plan);
    assert_false(planned.is_withheld || planned.other);
    for (size_t i = 0; i < plan.op_count; i++) {
        struct etcd_op op = plan_get(&plan, i);
        apply_op(w, &op);
    }
    *ret_ops = plan.op_count;
    plan_fini(&plan);
    owner->desired_count = planned.desired_count;
    owners_free_touched(owner);
    owners_free_difference(owner);
    return planned.work;
}

static size_t planner_slices_apply_dirty(struct world *w)
{
    size_t work = 0, ops;
    for (size_t at = 0; at < w->dirty.len; at += strlen((char *)w->dirty.data + at) + 1) {
        struct slice id = slice_str((const char *)w->dirty.data + at);
        work += claim_whole(&w->planner, owners_get(w->owners, id));
    }
    for (size_t at = 0; at < w->dirty.len; at += strlen((char *)w->dirty.data + at) + 1) {
        struct slice id = slice_str((const char *)w->dirty.data + at);
        work += plan_and_apply(w, owners_get(w->owners, id), &ops);
    }
    buf_clear(&w->dirty);
    return work;
}

/* ---- Random changes ---- */

/* A few addresses and hostnames, so that slices and Services often share them. */
static void append_endpoint(struct world *w, struct buf *out)
{
    static const char *const hostnames[] = {"",      "",       "",   "web-0",    "web-1",
                                            "Web-1", "web-80", "db", "c88f1059", "10-1-0-3"};
    static const char *const pods[] = {"",          "web-0", "web-1",   "db",
                                       "web-x7k2p", "web.0", "10-1-0-4"};
    uint32_t pool = random_below(4) ? 120 : 6;
    const char *hostname = hostnames[random_below(ARRAY_LEN(hostnames) - (pool > 6 ? 2 : 0))];
    const char *pod = pods[random_below(ARRAY_LEN(pods) - (pool > 6))];
    const char *zeros = random_below(4) ? "" : "00"; /* the same address */
    buf_printf(out, "{'addresses':['10.1.0.%s%u'],'conditions':{'ready':%s}", zeros,
               random_below(pool), random_below(4) ? "true" : "false");
    if (*hostname && random_below(3) == 0) {
        buf_printf(out, ",'hostname':'%s'", hostname);
    }
    if (*pod && random_below(3) == 0) {
        buf_printf(out, ",'targetRef':{'kind':'Pod','name':'%s'}", pod);
    }
    buf_append_char(out, '}');
}

static void change_slice(struct world *w)
{
    static const char *const ports[] = {
        "{'name':'web','port':80,'protocol':'TCP'}",
        "{'name':'web','port':80,'protocol':'TCP'}",
        "{'name':'web','port':80,'protocol':'TCP'}",
        "{'name':'web','port':81,'protocol':'TCP'}",
        "{'name':'web','port':80,'protocol':'TCP'},{'name':'WEB','port':82,'protocol':'TCP'}",
    };
    uint32_t number = random_below(SLICES);
    uint32_t port = random_below(20) ? 0 : random_below(ARRAY_LEN(ports));
    char *name = xasprintf("s-%u", number), *service = xasprintf("web%u", number % SERVICES);
    CLEANUP_BUF struct buf rest = buf_of(1 << 16);
    if (random_below(12) == 0) {
        inventory_remove(w->inventory, KUBE_SLICE, "default", name);
    } else {
        buf_append_str(&rest, "'addressType':'IPv4','endpoints':[");
        for (uint32_t i = random_below(6); i > 0; i--) {
            append_endpoint(w, &rest);
            buf_append_str(&rest, i > 1 ? "," : "");
        }
        buf_printf(&rest, "],'ports':[%s]", ports[port]);
        inventory_upsert(w->inventory, slice_from("default", name, service, buf_cstr(&rest)));
    }
    free(service);
    free(name);
}

/* From scratch there is nothing to do. */
static void planner_slices_check(struct world *w, unsigned step)
{
    for (unsigned i = 0; i < SERVICES; i++) {
        CLEANUP_FREE char *id = xasprintf("svc/default/web%u", i);
        struct owner *owner = owners_get(w->owners, slice_str(id));
        size_t ops;
        (void)claim_whole(&w->planner, owner);
        bool has_touched = owner->touched != NULL;
        (void)plan_and_apply(w, owner, &ops);
        assert_that(!has_touched && ops <= 0, "step %u, %s: %zu operations", step, id, ops);
    }
}

static void check_random_changes(enum endpoint_names endpoint_names)
{
    CLEANUP(planner_slices_fini) struct world w;
    planner_slices_init(&w, endpoint_names);
    for (unsigned i = 0; i < SERVICES; i++) {
        CLEANUP_FREE char *name = xasprintf("web%u", i);
        inventory_upsert(w.inventory, service_from("default", name, "'clusterIP':'None'"));
    }
    for (unsigned step = 0; step < STEPS; step++) {
        change_slice(&w);
        (void)planner_slices_apply_dirty(&w);
        planner_slices_check(&w, step);
    }
    print_message("%u of %d changes planned by themselves\n", w.alone, STEPS);
    assert_in_range(w.alone, STEPS / 10, STEPS);
}

UNIT_TEST(test_random_changes)
{
    check_random_changes(ENDPOINT_NAMES_HASH);
    check_random_changes(ENDPOINT_NAMES_ADDRESS);
    kube_object_keep((struct kube_kept){.pods = true});
    check_random_changes(ENDPOINT_NAMES_POD);
    kube_object_keep((struct kube_kept){0});
}

/* ---- A large Service ---- */

enum { LARGE_SLICES = 50, LARGE_ENDPOINTS = 100 };

/* Its first endpoints are not ready. */
static void put_large_slice(struct world *w, int number, int unready)
{
    CLEANUP_FREE char *name = xasprintf("large-%d", number);
    CLEANUP_BUF struct buf rest = buf_of(1 << 20);
    buf_append_str(&rest,
                   "'addressType':'IPv4','ports':[{'name':'web','port':80,'protocol':'TCP'}],"
                   "'endpoints':[");
    for (int i = 0; i < LARGE_ENDPOINTS; i++) {
        buf_printf(&rest, "%s{'addresses':['10.2.%d.%d'],'conditions':{'ready':%s}}", i ? "," : "",
                   number, i, i < unready ? "false" : "true");
    }
    buf_append_char(&rest, ']');
    inventory_upsert(w->inventory, slice_from("default", name, "large", buf_cstr(&rest)));
}

UNIT_TEST_ON(test_one_endpoint_of_5000, struct world *w)
{
    inventory_upsert(w->inventory, service_from("default", "large", "'clusterIP':'None'"));
    for (int i = 0; i < LARGE_SLICES; i++) {
        put_large_slice(w, i, 0);
    }
    (void)planner_slices_apply_dirty(w);
    const struct owner *owner = owners_find(w->owners, slice_str("svc/default/large"));
    assert_int_equal(owner->desired_count, 2 * LARGE_SLICES * LARGE_ENDPOINTS);
    put_large_slice(w, 7, 1);
    size_t work = planner_slices_apply_dirty(w);
    print_message("work: %zu records\n", work);
    assert_in_range(work, 1, 10); /* one address, one port, named once and planned once */
    assert_int_equal(owner->desired_count, 2 * LARGE_SLICES * LARGE_ENDPOINTS - 2);
    put_large_slice(w, 7, 0);
    assert_in_range(planner_slices_apply_dirty(w), 1, 10);
    assert_int_equal(owner->desired_count, 2 * LARGE_SLICES * LARGE_ENDPOINTS);
}

static uint32_t text_bytes(struct world *w, const struct owner *owner)
{
    CLEANUP_BUF struct buf base = buf_of(DNAME_MAX);
    owners_base(w->owners, owner, &base);
    uint64_t bytes = key_room_text_bytes(owner, buf_slice(&base));
    return (uint32_t)bytes;
}

/* Bytes counted beside each key are no part of naming's limit. */
UNIT_TEST_ON(test_a_change_near_the_limit_of_bytes, struct world *w)
{
    inventory_upsert(w->inventory, service_from("default", "large", "'clusterIP':'None'"));
    put_large_slice(w, 0, 1);
    (void)planner_slices_apply_dirty(w);
    struct owner *owner = owners_find(w->owners, slice_str("svc/default/large"));
    const struct key_amount taken = key_room_taken_by(owner);
    (void)owners_note_room(w->owners, owner, &taken, false);
    w->planner.naming.bytes_max = text_bytes(w, owner) + 1024;
    put_large_slice(w, 0, 0);
    assert_non_null(owner->difference);
    (void)planner_slices_apply_dirty(w);
    put_large_slice(w, 0, 1);
    (void)planner_slices_apply_dirty(w);
    (void)owners_note_room(w->owners, owner, &(struct key_amount){0}, false);
    w->planner.naming.bytes_max = text_bytes(w, owner);
    put_large_slice(w, 0, 0); /* named as a whole, which says that it is too large */
    assert_null(owner->difference);
}

/* Another kube2sky on the same etcd was faster: there is nothing to write, but as much is desired.
 */
UNIT_TEST_ON(test_a_change_that_is_in_etcd_already, struct world *w)
{
    inventory_upsert(w->inventory, service_from("default", "large", "'clusterIP':'None'"));
    put_large_slice(w, 0, 0);
    (void)planner_slices_apply_dirty(w);
    struct owner *owner = owners_find(w->owners, slice_str("svc/default/large"));
    for (int unready = 2; unready >= 0; unready -= 2) {
        struct plan plan;
        put_large_slice(w, 0, unready);
        assert_non_null(owner->difference);
        (void)claim_whole(&w->planner, owner);
        plan_init(&plan);
        (void)plan_owner_whole(&w->planner, owner, &plan);
        for (size_t i = 0; i < plan.op_count; i++) {
            struct etcd_op op = plan_get(&plan, i);
            apply_op(w, &op);
        }
        plan_fini(&plan);
        size_t ops;
        (void)plan_and_apply(w, owner, &ops);
        assert_int_equal(ops, 0);
        assert_int_equal(owner->desired_count, 2 * (LARGE_ENDPOINTS - unready));
        buf_clear(&w->dirty);
    }
}

/* A port name of 63 bytes has no room for its underscore. */
static void put_slice_with_a_fault(struct world *w, const char *address)
{
    static const char port_name[] =
        "pppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppp";
    char rest[512];
    (void)snprintf(rest, sizeof(rest),
                   "'addressType':'IPv4','ports':[{'name':'%.63s','port':80,'protocol':'TCP'}],"
                   "'endpoints':[{'addresses':['%s']},{'addresses':['10.0.0.9']}]",
                   port_name, address); /* fits */
    inventory_upsert(w->inventory, slice_from("loud", "loud-1", "loud", rest));
}

/* A fault in a change that is planned by itself is told of its Service, not of the next one that is
 * planned, which may be another namespace's. */
UNIT_TEST(test_a_fault_in_a_change)
{
    struct world w;
    struct event_write write;
    struct event_queue *events = event_queue_new();
    planner_slices_init(&w, ENDPOINT_NAMES_HASH);
    w.planner.config.events = events;
    inventory_upsert(w.inventory, service_from("loud", "loud", "'clusterIP':'None'"));
    put_slice_with_a_fault(&w, "10.0.0.1");
    (void)planner_slices_apply_dirty(&w);
    assert_int_equal(event_queue_count(events).known, 1);
    put_slice_with_a_fault(&w, "10.0.0.2");
    assert_non_null(owners_find(w.owners, slice_str("svc/loud/loud"))->difference);
    inventory_upsert(w.inventory, service_from("quiet", "quiet", "'clusterIP':'10.96.0.1'"));
    (void)planner_slices_apply_dirty(&w);
    assert_int_equal(event_queue_count(events).known, 1);
    assert_true(event_queue_next(events, clock_monotonic_ms(), &write));
    assert_true(slice_equal(write.object.ns, slice_str("loud")));
    planner_slices_fini(&w);
    event_queue_free(events);
}
