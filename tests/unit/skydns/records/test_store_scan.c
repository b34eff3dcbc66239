/* Walks end where lookups do, and pass the nodes that lookups of shorter names find. */
#include "common/base/seeded_hash.h"
#include "skydns/records/store_scan.h"
#include "tests/support/from_text.h"
#include "tests/support/skydns/fixture.h"
#include "tests/support/unit_test.h"

CLEANUP_POINTER(fixture_free, struct fixture)

/* For 19 labels, the longest path here: a node, up to seven levels of its children, the next node,
 * ..., and a last step. */
enum { STEPS_MAX = 19 * 8 + 1 };

static const struct store_node *scan_to(const struct store *store, const char *text)
{
    struct dname name = dname_from(text);
    struct dname_labels labels;
    dname_labels(&name, &labels);
    struct store_scan scan = {.name = name.wire, .offsets = labels.offsets, .count = labels.count};
    unsigned steps = 0;
    store_scan_begin(&scan, store_root(store));
    while (store_scan_step(&scan)) {
        assert_true(++steps <= STEPS_MAX);
    }
    assert_false(store_scan_step(&scan)); /* still none */
    for (unsigned i = 0; scan.node && i < STORE_SCAN_PASSED_MAX && i < labels.count; i++) {
        unsigned at = labels.offsets[labels.count - 1 - i];
        struct dname end = {.len = (uint8_t)(name.len - at)};
        memcpy(end.wire, name.wire + at, end.len);
        assert_ptr_equal(scan.passed[i], store_find(store, &end));
    }
    return scan.node;
}

static const struct store_node *store_scan_look_up(const struct store *store, const char *text)
{
    struct dname name = dname_from(text);
    return store_find(store, &name);
}

UNIT_TEST(test_scans_end_where_look_ups_do)
{
    static const struct fixture_key keys[] = {
        {"local/cluster/svc/default/web/c8", "{'host':'10.0.0.1','ttl':30}"},
        {"local/cluster/svc/default/web/_tcp/_http/c8",
         "{'host':'web.default.svc.cluster.local.','port':80,'ttl':30,'priority':10}"},
        {"local/cluster/svc/prod/web/c8", "{'host':'10.0.0.2','ttl':30}"},
        {"local/cluster/alone", "{'host':'10.0.0.3'}"},
    };
    static const char *const there[] = {
        ".",
        "local.",
        "default.svc.cluster.local.",
        "web.default.svc.cluster.local.",
        "c8.web.default.svc.cluster.local.",
        "_http._tcp.web.default.svc.cluster.local.",
        "web.prod.svc.cluster.local.",
        "alone.cluster.local.",
    };
    static const char *const absent[] = {
        "test.",
        "other.cluster.local.",
        "below.alone.cluster.local.",
        "db.default.svc.cluster.local.",
        "a.b.c.web.default.svc.cluster.local.",
    };
    CLEANUP(fixture_free_of) struct fixture *f = fixture_new(keys, sizeof(keys) / sizeof(keys[0]));
    for (size_t i = 0; i < sizeof(there) / sizeof(there[0]); i++) {
        assert_non_null(store_scan_look_up(f->store, there[i]));
        assert_ptr_equal(scan_to(f->store, there[i]), store_scan_look_up(f->store, there[i]));
    }
    for (size_t i = 0; i < sizeof(absent) / sizeof(absent[0]); i++) {
        assert_null(scan_to(f->store, absent[i]));
    }
}

/* Enough children for a map of several levels. */
UNIT_TEST(test_a_large_namespace)
{
    enum { SERVICES = 5000 };
    CLEANUP(fixture_free_of) struct fixture *f = fixture_new(NULL, 0);
    for (unsigned i = 0; i < SERVICES; i++) {
        char key[64];
        (void)snprintf(key, sizeof(key), "local/n/s%04u", i);
        fixture_put(f, &(struct fixture_key){key, "{'host':'10.0.0.1'}"}, 1);
    }
    for (unsigned i = 0; i < SERVICES; i++) {
        char text[64];
        (void)snprintf(text, sizeof(text), "s%04u.n.local.", i);
        assert_non_null(store_scan_look_up(f->store, text));
        assert_ptr_equal(scan_to(f->store, text), store_scan_look_up(f->store, text));
    }
}

static int store_scan_compare_hashes(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* Among so many labels two have the same full hash, except in one of 10^12 runs. */
UNIT_TEST(test_labels_of_one_hash)
{
    enum { LABELS = 500000, KEYS = 2 };
    static uint64_t hashes[LABELS]; /* in the upper half, the label's number below */
    CLEANUP(fixture_free_of) struct fixture *f = fixture_new(NULL, 0);
    size_t at = 1;
    for (uint64_t i = 0; i < LABELS; i++) {
        char label[16];
        int len = snprintf(label, sizeof(label), "h%06u", (unsigned)i);
        hashes[i] = (uint64_t)seeded_hash(slice_of(label, (size_t)len)) << 32 | i;
    }
    qsort(hashes, LABELS, sizeof(hashes[0]), store_scan_compare_hashes);
    while (at < LABELS && hashes[at] >> 32 != hashes[at - 1] >> 32) {
        at++;
    }
    assert_true(at < LABELS);
    char text[KEYS][32];
    for (unsigned i = 0; i < KEYS; i++) {
        char key[32];
        (void)snprintf(text[i], sizeof(text[i]), "h%06u.local.", (uint32_t)hashes[at - i]);
        (void)snprintf(key, sizeof(key), "local/h%06u", (uint32_t)hashes[at - i]);
        assert_null(scan_to(f->store, text[i]));
        fixture_put(f, &(struct fixture_key){key, "{'host':'10.0.0.1'}"}, 1);
    }
    for (unsigned i = 0; i < KEYS; i++) {
        assert_non_null(store_scan_look_up(f->store, text[i]));
        assert_ptr_equal(scan_to(f->store, text[i]), store_scan_look_up(f->store, text[i]));
    }
}

/* More labels than the walk remembers. */
UNIT_TEST(test_many_labels)
{
    static const struct fixture_key key = {
        "local/a/b/c/d/e/f/g/h/i/j/k/l/m/n/o/p/q/r",
        "{'host':'10.0.0.1'}",
    };
    static const char name[] = "r.q.p.o.n.m.l.k.j.i.h.g.f.e.d.c.b.a.local.";
    CLEANUP(fixture_free_of) struct fixture *f = fixture_new(&key, 1);
    assert_non_null(scan_to(f->store, name));
    assert_ptr_equal(scan_to(f->store, name), store_scan_look_up(f->store, name));
    assert_null(scan_to(f->store, "s.r.q.p.o.n.m.l.k.j.i.h.g.f.e.d.c.b.a.local."));
    assert_null(scan_to(f->store, "x.q.p.o.n.m.l.k.j.i.h.g.f.e.d.c.b.a.local."));
}
