/* The walks that go before look-ups come to where the look-ups go: else they would fetch what
 * nobody reads. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "common/seeded_hash.h"
#include "skydns/store_ahead.h"
#include "tests/support/skydns/fixture.h"

/* A node, up to seven levels of its children, the next node, ..., and a last look. */
enum { STEPS_MAX = STORE_AHEAD_LABELS_MAX * 8 + 1 };

/* Labels as store_ahead wants them: from the root's end, as many as fit. */
static void begin(struct store_ahead *ahead, const struct store *store, const struct dname *name)
{
    struct dname_labels labels;
    dname_labels(name, &labels);
    ahead->count = labels.count < STORE_AHEAD_LABELS_MAX ? labels.count : STORE_AHEAD_LABELS_MAX;
    for (unsigned i = 0; i < ahead->count; i++) {
        ahead->hashes[i] = seeded_hash(dname_label(name, labels.offsets[labels.count - 1 - i]));
    }
    store_ahead_begin(ahead, store_root(store));
}

static unsigned walk(struct store_ahead *ahead)
{
    unsigned steps = 0;
    while (store_ahead_step(ahead)) {
        assert_true(++steps <= STEPS_MAX);
    }
    return steps;
}

static const struct store_node *walk_to(const struct store *store, const char *text)
{
    struct store_ahead ahead;
    struct dname name = fixture_name(text);
    begin(&ahead, store, &name);
    walk(&ahead);
    return store_ahead_found(&ahead);
}

static const struct store_node *look_up(const struct store *store, const char *text)
{
    struct dname name = fixture_name(text);
    return store_find(store, &name, NULL);
}

static void test_walks_end_where_look_ups_do(void **state)
{
    static const struct fixture_key keys[] = {
        {"local/cluster/svc/default/web/c8", "{'host':'10.0.0.1','ttl':30}"},
        {"local/cluster/svc/default/web/_tcp/_http/c8",
         "{'host':'web.default.svc.cluster.local.','port':80,'ttl':30,'priority':10}"},
        {"local/cluster/svc/prod/web/c8", "{'host':'10.0.0.2','ttl':30}"},
        {"local/cluster/alone", "{'host':'10.0.0.3'}"},
    };
    static const char *const there[] = {
        "local.",
        "default.svc.cluster.local.",
        "web.default.svc.cluster.local.",
        "c8.web.default.svc.cluster.local.",
        "_http._tcp.web.default.svc.cluster.local.",
        "web.prod.svc.cluster.local.",
        "alone.cluster.local.",
    };
    static const char *const absent[] = {
        ".",
        "test.",
        "other.cluster.local.",
        "below.alone.cluster.local.",
        "db.default.svc.cluster.local.",
        "a.b.c.web.default.svc.cluster.local.",
    };
    struct fixture *f = fixture_new(keys, sizeof(keys) / sizeof(keys[0]));
    (void)state;
    for (size_t i = 0; i < sizeof(there) / sizeof(there[0]); i++) {
        assert_non_null(look_up(f->store, there[i]));
        assert_ptr_equal(walk_to(f->store, there[i]), look_up(f->store, there[i]));
    }
    for (size_t i = 0; i < sizeof(absent) / sizeof(absent[0]); i++) {
        assert_null(walk_to(f->store, absent[i]));
    }
    fixture_free(f);
}

/* So many children that their map has several levels. */
static void test_a_large_namespace(void **state)
{
    enum { SERVICES = 5000 };
    struct fixture *f = fixture_new(NULL, 0);
    (void)state;
    for (unsigned i = 0; i < SERVICES; i++) {
        char key[64];
        (void)snprintf(key, sizeof(key), "local/n/s%04u", i);
        fixture_put(f, &(struct fixture_key){key, "{'host':'10.0.0.1'}"}, 1);
    }
    for (unsigned i = 0; i < SERVICES; i++) {
        char text[64];
        (void)snprintf(text, sizeof(text), "s%04u.n.local.", i);
        assert_non_null(look_up(f->store, text));
        assert_ptr_equal(walk_to(f->store, text), look_up(f->store, text));
    }
    fixture_free(f);
}

/* Only the beginning of a long name is walked. */
static void test_many_labels(void **state)
{
    static const struct fixture_key key = {
        "local/a/b/c/d/e/f/g/h/i/j/k/l/m/n/o/p/q/r",
        "{'host':'10.0.0.1'}",
    };
    struct fixture *f = fixture_new(&key, 1);
    (void)state;
    assert_ptr_equal(walk_to(f->store, "r.q.p.o.n.m.l.k.j.i.h.g.f.e.d.c.b.a.local."),
                     look_up(f->store, "o.n.m.l.k.j.i.h.g.f.e.d.c.b.a.local."));
    fixture_free(f);
}

int main(void)
{
    seeded_hash_init();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_walks_end_where_look_ups_do),
        cmocka_unit_test(test_a_large_namespace),
        cmocka_unit_test(test_many_labels),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
