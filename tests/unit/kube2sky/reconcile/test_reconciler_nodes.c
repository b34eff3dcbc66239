/* reconciler: Nodes' keys, beside a real etcd: written, replaced and deleted with --nodes, removed
 * without, and kept while no list is believed. */
#include "tests/support/unit_test.h"
#include "tests/unit/kube2sky/reconcile/reconciler_bed.h"

#define WORKER "node/worker-1/"
#define EC2    "node/internal/ec2/ip-10-0-0-9/"

static void put_node(struct fixture *f, const char *name, const char *ip)
{
    CLEANUP_FREE char *text = xasprintf("{'metadata':{'name':'%s'},'status':{'addresses':["
                                        "{'type':'InternalIP','address':'%s'}]}}",
                                        name, ip);
    inventory_upsert(f->inventory, object_from(KUBE_NODE, text));
}

/* Nodes come before everything else is listed. */
static void start_with_nodes(struct fixture *f)
{
    f->has_nodes = true;
    inventory_want(f->inventory, KUBE_NODE, true);
    start_reconciler(f);
    inventory_list_begin(f->inventory, KUBE_NODE);
}

UNIT_TESTS_EACH(set_up, tear_down)
UNIT_TESTS_NEED(etcd_proc_missing)
UNIT_TESTS_ONCE(start_etcd, end_etcd)

UNIT_TEST_ON(test_nodes, struct fixture *f)
{
    (void)put(f, "node/worker-1/mine", "{\"host\":\"192.0.2.1\"}"); /* in a tree that is ours */
    start_with_nodes(f);
    put_node(f, "worker-1", "10.0.0.1");
    put_node(f, "ip-10-0-0-9.ec2.internal", "10.0.0.9");
    inventory_list_end(f->inventory, KUBE_NODE);
    list_nothing_else(f);
    wait_synced(f);
    assert_tree(f, EC2 "19ccb11 " IP("10.0.0.9") "\n" WORKER
                                                 "c88f1059 " IP("10.0.0.1") "\n" KUBERNETES);
}

static bool is_told(const void *data)
{
    const struct fixture *f = data;
    CLEANUP_BUF struct buf text = buf_of(4096);
    return reconciler_explain_trouble(f->reconciler, &text) &&
           strstr(buf_cstr(&text), "the API lists no node: records of nodes stay");
}

UNIT_TEST_ON(test_a_list_without_nodes, struct fixture *f)
{
    (void)put(f, WORKER "c88f1059", IP("10.0.0.1"));
    start_with_nodes(f);
    inventory_list_end(f->inventory, KUBE_NODE);
    list_nothing_else(f);
    wait_synced(f);
    loop_until(f->loop, is_told, f);
    assert_tree(f, WORKER "c88f1059 " IP("10.0.0.1") "\n" KUBERNETES);
    put_node(f, "worker-2", "10.0.0.9");
    f->want = 1;
    loop_until(f->loop, has_deleted, f);
    assert_false(is_told(f));
    assert_tree(f, "node/worker-2/19ccb11 " IP("10.0.0.9") "\n" KUBERNETES);
}

UNIT_TEST_ON(test_without_the_flag, struct fixture *f)
{
    (void)put(f, WORKER "c88f1059", IP("10.0.0.1"));
    (void)put(f, EC2 "19ccb11", IP("10.0.0.9"));
    (void)put(f, WORKER "mine", "{\"host\":\"192.0.2.1\"}");
    start_reconciler(f);
    list_nothing_else(f);
    wait_synced(f);
    assert_tree(f, WORKER "mine {\"host\":\"192.0.2.1\"}\n" KUBERNETES);
}
