/* slice_change: which slices a change has to do with, and what finding that out costs. What such a
 * change becomes: test_planner_slices.c. */
#include "tests/unit/kube2sky/objects.h"

#include "common/base/buf.h"
#include "common/base/seeded_hash.h"
#include "kube2sky/naming/inventory.h"
#include "kube2sky/naming/slice_change.h"
#include "tests/support/thread_cpu.h"
#include "tests/support/unit_test.h"

#define PORT "'ports':[{'name':'web','port':80,'protocol':'TCP'}]"

static struct kube_object *slice_with(const char *endpoints)
{
    CLEANUP_FREE char *rest =
        xasprintf("'addressType':'IPv4'," PORT ",'endpoints':[%s]", endpoints);
    return slice_from("default", "s", "web", rest);
}

UNIT_TEST(test_shared_words)
{
    static const struct {
        const char *changed; /* comes with the change */
        const char *other;
        bool is_spared;
    } rows[] = {
        {"{'addresses':['10.0.0.1']}", "{'addresses':['10.0.0.2']}", true},
        {"{'addresses':['10.0.0.1']}", "", true},
        {"{'addresses':['10.0.0.1']}", "{'addresses':['10.0.0.2','010.0.0.01']}", false},
        {"{'addresses':['10.0.0.1'],'hostname':'x'}", "{'addresses':['10.0.0.2'],'hostname':'X'}",
         false},
        {"{'addresses':['10.0.0.1'],'hostname':'x'}", "{'addresses':['10.0.0.2'],'hostname':'y'}",
         true},
        /* named like the label of an endpoint without a name */
        {"{'addresses':['10.0.0.1']}", "{'addresses':['10.0.0.2'],'hostname':'10-0-0-7'}", false},
        {"{'addresses':['no']}", "{'addresses':['no']}", true}, /* has no key */
    };
    struct kube_object *service = service_from("default", "web", "'clusterIP':'None'");
    seeded_hash_init();
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct kube_object *after = slice_with(rows[i].changed);
        struct kube_object *other = slice_with(rows[i].other);
        CLEANUP_FREE struct slice_words *words = slice_words_new(&other->slice);
        struct slice_change change;
        assert_true(slice_change_init(&change, service, NULL, after));
        assert_that(slice_change_spares(&change, other, words) == rows[i].is_spared, "%s and %s",
                    rows[i].changed, rows[i].other);
        kube_object_free(other);
        kube_object_free(after);
    }
    kube_object_free(service);
}

/* ---- Costs ---- */

enum { SLICES = 40, CHANGING = 100, MOVED = SLICE_CHANGED_MAX / 2, ROUNDS = 7 };

struct counts {
    size_t alone, whole;
};

static void slice_change_on_changed(void *data, struct slice owner UNUSED)
{
    struct counts *counts = data;
    counts->whole++;
}

static void slice_change_on_slice_changed(void *data, struct slice owner UNUSED,
                                          const struct slice_change *change UNUSED)
{
    struct counts *counts = data;
    counts->alone++;
}

/* Its first endpoints have other addresses in odd rounds. */
static struct kube_object *large_slice(unsigned number, unsigned size, unsigned round)
{
    CLEANUP_FREE char *name = xasprintf("large-%u", number);
    CLEANUP_BUF struct buf rest = buf_of(1 << 20);
    buf_append_str(&rest, "'addressType':'IPv4'," PORT ",'endpoints':[");
    for (unsigned i = 0; i < size; i++) {
        unsigned net = i < MOVED && round % 2 ? 11 : 10;
        buf_printf(&rest, "%s{'addresses':['%u.%u.%u.%u']}", i ? "," : "", net, number, i / 250,
                   i % 250);
    }
    buf_append_char(&rest, ']');
    return slice_from("default", name, "large", buf_cstr(&rest));
}

/* Returns the cost of a change of MOVED addresses beside SLICES others of that size: the least of
 * some rounds. */
static double change_us(unsigned size)
{
    struct counts counts = {0};
    double least = 0;
    struct inventory *inventory = inventory_new(&(struct inventory_config){
        .is_narrowed = true,
        .changed = slice_change_on_changed,
        .slice_changed = slice_change_on_slice_changed,
        .data = &counts,
    });
    inventory_use_endpoints(inventory, KUBE_SLICE);
    inventory_upsert(inventory, service_from("default", "large", "'clusterIP':'None'"));
    for (unsigned i = 1; i <= SLICES; i++) {
        inventory_upsert(inventory, large_slice(i, size, 0));
    }
    inventory_upsert(inventory, large_slice(0, CHANGING, 0));
    counts = (struct counts){0};
    for (unsigned round = 1; round <= ROUNDS; round++) {
        struct kube_object *slice = large_slice(0, CHANGING, round);
        double start = thread_cpu_us();
        inventory_upsert(inventory, slice);
        double took = thread_cpu_us() - start;
        least = round == 1 || took < least ? took : least;
    }
    assert_int_equal(counts.alone, ROUNDS);
    assert_int_equal(counts.whole, 0);
    inventory_free(inventory);
    return least;
}

/* A change is looked up in the other slices: eight times as many endpoints there are not eight
 * times as much work. */
UNIT_TEST(test_cost_of_what_changed)
{
    double some = change_us(CHANGING), more = change_us(8 * CHANGING);
    print_message("beside slices of %d %.0f us, of %d %.0f us\n", CHANGING, some, 8 * CHANGING,
                  more);
    assert_true(more < 4 * some);
}

/* Returns the cost of so many slices that come and go: twice as many must take twice as long, not
 * four times. */
static double come_and_go_us(unsigned count)
{
    struct counts counts = {0};
    struct inventory *inventory = inventory_new(&(struct inventory_config){
        .is_narrowed = true, .changed = slice_change_on_changed, .data = &counts});
    inventory_use_endpoints(inventory, KUBE_SLICE);
    double start = thread_cpu_us();
    for (unsigned i = 0; i < count; i++) {
        char *name = xasprintf("s%u", i);
        inventory_upsert(inventory, slice_from("default", name, "web", "'addressType':'IPv4'"));
        free(name);
    }
    for (unsigned i = 0; i < count; i++) { /* the first is the last of its list */
        char *name = xasprintf("s%u", i);
        inventory_remove(inventory, KUBE_SLICE, "default", name);
        free(name);
    }
    double took = thread_cpu_us() - start;
    inventory_free(inventory);
    return took;
}

UNIT_TEST(test_cost_of_many_slices)
{
    enum { MANY = 2000 };
    double some = come_and_go_us(MANY), more = come_and_go_us(8 * MANY);
    print_message("%d slices %.0f us, %d slices %.0f us\n", MANY, some, 8 * MANY, more);
    assert_true(more < 24 * some);
}
