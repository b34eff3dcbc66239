/* transactions, with a real etcd and a scripted mirror: which ones land, and whether their owners
 * must be checked again. */
#include <ev.h>

#include "kube2sky/reconcile/ownership_internal.h"
#include "kube2sky/reconcile/transactions_internal.h"
#include "tests/support/etcd_proc.h"
#include "tests/support/etcd_sync.h"
#include "tests/support/unit_test.h"

enum { CALL_TIMEOUT_MS = 10000, OPS_MAX = 8 };

struct fixture {
    struct ev_loop *loop;
    struct etcd_proc *proc;
    struct etcd *etcd;
    struct ownership ownership;
    struct owners *owners;
    struct transactions *transactions;
    int64_t acknowledged; /* the revision; 0: not yet */
    unsigned landed, looks;
};

static int64_t no_key(const void *data, struct slice key)
{
    return 0;
}

static bool never_contested(struct slice key)
{
    return false;
}

static void transactions_on_acknowledged(void *data, const struct transaction *transaction)
{
    ((struct fixture *)data)->acknowledged = transaction->revision;
}

static void transactions_on_failed(void *data, const struct transaction *transaction,
                                   enum transaction_failure failure, const struct err *err)
{
    fail_msg("failure %d: %s", failure, err->msg);
}

static void transactions_on_refuted(void *data)
{
    fail_msg("a condition did not hold");
}

static void transactions_on_landed(void *data, struct owner *owner, bool needs_look)
{
    struct fixture *f = data;
    owners_land(f->owners, owner);
    f->landed++;
    f->looks += needs_look;
}

static bool is_acknowledged(const void *data)
{
    return ((const struct fixture *)data)->acknowledged > 0;
}

static void transactions_set_up(struct fixture *f)
{
    static const struct ownership_config ownership = {.domain = "test."};
    f->loop = ev_loop_new(EVFLAG_AUTO);
    f->proc = etcd_proc_start();
    f->etcd = sync_client(f->loop, etcd_proc_url(f->proc), CALL_TIMEOUT_MS);
    ownership_init(&f->ownership, &ownership);
    f->owners = owners_new(&f->ownership);
    f->transactions = transactions_new(&(struct transactions_config){
        .etcd = f->etcd,
        .ops_max = OPS_MAX,
        .key_revision = no_key,
        .is_contested = never_contested,
        .acknowledged = transactions_on_acknowledged,
        .failed = transactions_on_failed,
        .refuted = transactions_on_refuted,
        .landed = transactions_on_landed,
        .data = f,
    });
}

static void transactions_tear_down(struct fixture *f)
{
    transactions_free(f->transactions);
    owners_free(f->owners);
    ownership_fini(&f->ownership);
    etcd_free(f->etcd);
    etcd_proc_free(f->proc);
    ev_loop_destroy(f->loop);
}

UNIT_FIXTURE(struct fixture, transactions_set_up, transactions_tear_down)
UNIT_TESTS_NEED(etcd_proc_missing)

/* Puts the key into etcd for this owner, acknowledged but not seen by the mirror. */
static struct owner *acknowledged_put(struct fixture *f, const char *id, const char *key)
{
    struct owner *owner = owners_get(f->owners, slice_str(id));
    struct plan plan;
    plan_init(&plan);
    plan_add(
        &plan,
        &(struct etcd_op){.kind = ETCD_OP_PUT, .key = slice_str(key), .value = slice_str("{}")}, 0);
    owners_enqueue(f->owners, owner);
    struct transaction *transaction = transactions_open(f->transactions, OWNER_RECORDS);
    assert_int_equal(transaction_board(transaction, f->owners, owner, &plan), PLAN_FITS_WHOLE);
    transaction_send(transaction);
    f->acknowledged = 0;
    loop_until(f->loop, is_acknowledged, f);
    assert_int_equal(f->landed, 0);
    plan_fini(&plan);
    return owner;
}

/* Notes an event like reconciler_mirror. */
static void transactions_see(struct owner *owner, int64_t revision)
{
    owner->first_event = owner->first_event ? owner->first_event : revision;
    owner->last_event = revision;
}

UNIT_TEST_ON(test_seen_it_is_over, struct fixture *f)
{
    struct owner *owner = acknowledged_put(f, "svc/default/web", "/skydns/test/svc/default/web/x");
    transactions_on_mirror(f->transactions, KEY_SOURCE_RECORDS, f->acknowledged - 1, false);
    assert_int_equal(f->landed, 0);
    transactions_see(owner, f->acknowledged);
    transactions_on_mirror(f->transactions, KEY_SOURCE_RECORDS, f->acknowledged, false);
    assert_int_equal(f->landed, 1);
    assert_int_equal(f->looks, 0);
    assert_int_equal(transactions_used(f->transactions), 0);
}

UNIT_TEST_ON(test_what_others_did_is_looked_at, struct fixture *f)
{
    struct owner *owner = acknowledged_put(f, "svc/default/web", "/skydns/test/svc/default/web/x");
    transactions_see(owner, f->acknowledged);
    transactions_see(owner, f->acknowledged + 1);
    transactions_on_mirror(f->transactions, KEY_SOURCE_RECORDS, f->acknowledged + 1, false);
    assert_int_equal(f->landed, 1);
    assert_int_equal(f->looks, 1);
}

/* The store that acknowledged it was replaced by an older copy, whose revision has passed that one
 * through other writes. */
UNIT_TEST_ON(test_what_the_mirror_does_not_show_is_looked_at, struct fixture *f)
{
    (void)acknowledged_put(f, "svc/default/web", "/skydns/test/svc/default/web/x");
    transactions_on_mirror(f->transactions, KEY_SOURCE_RECORDS, f->acknowledged + 1, false);
    assert_int_equal(f->landed, 1);
    assert_int_equal(f->looks, 1);
}

UNIT_TEST_ON(test_the_same_after_a_full_read, struct fixture *f)
{
    (void)acknowledged_put(f, "svc/default/web", "/skydns/test/svc/default/web/x");
    transactions_on_mirror(f->transactions, KEY_SOURCE_RECORDS, f->acknowledged, true);
    assert_int_equal(f->landed, 1);
    assert_int_equal(f->looks, 1);
}
