/* Pinned versions stay whole, whatever happens meanwhile, and hold nothing but themselves: random
 * changes with pins at random versions, endless changes under one pin, and a thread that reads a
 * pinned version meanwhile (most useful under the sanitizers). */
#include <malloc.h>
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#include "common/base/buf.h"
#include "skydns/publish/publisher.h"
#include "skydns/records/rng.h"
#include "skydns/records/store_ready.h"
#include "tests/support/from_text.h"
#include "tests/support/skydns/records.h"
#include "tests/support/skydns/services.h"
#include "tests/support/unit_test.h"

UNIT_TESTS_HAVE_THREADS

/* ---- What a version holds, all that an answer or a snapshot could use, as text ---- */

enum { TEXT_MAX = 4 << 20 };

static void tell_record(struct buf *text, const struct store_record *r)
{
    char host[DNAME_TEXT_MAX];
    struct slice written = store_record_host_text(r, host), name = store_record_name_wire(r);
    buf_append_slice(text, name);
    buf_printf(text, " %lld %u %u %u %.*s %.*s\n", (long long)r->mod_revision, r->ttl_s, r->known_s,
               r->port, (int)written.len, written.ptr, (int)store_record_string(r, RECORD_TEXT).len,
               store_record_string(r, RECORD_TEXT).ptr);
}

static void tell_ready(struct buf *text, const struct store_ready *ready)
{
    for (unsigned i = 0; i < ready->count[0] && ready->kind == STORE_READY_TARGETS; i++) {
        tell_record(text, ready->records[i]);
    }
    if (ready->kind == STORE_READY_ADDRESSES) {
        buf_append_slice(text, slice_of((const char *)ready->bytes,
                                        4u * ready->count[0] + 16u * ready->count[1]));
    }
}

static bool tell_node(void *data, const struct store_node *node)
{
    struct buf *text = data;
    buf_printf(text, "{%zu ", store_visible_count(node));
    buf_append_slice(text, store_node_label(node));
    if (store_node_record(node)) {
        tell_record(text, store_node_record(node));
    }
    if (store_node_single(node)) {
        tell_record(text, store_node_single(node));
    }
    if (store_node_ready(node)) {
        tell_ready(text, store_node_ready(node));
    }
    (void)store_each_child(node, tell_node, data); /* never stops early */
    buf_append_slice(text, slice_str("}"));
    return true;
}

static struct buf pin_text_of(const struct store *store)
{
    struct buf text;
    buf_init(&text, TEXT_MAX);
    buf_printf(&text, "%lld\n", (long long)store_revision(store));
    (void)tell_node(&text, store_root(store));
    return text;
}

/* ---- Random changes ---- */

enum { SEEDS = 20, STEPS = 400, CHANGES_MAX = 8 };

static const char *const labels[] = {"a", "b", "c", "_tcp", "web"};
static const char *const hosts[] = {"10.0.0.1", "10.0.0.2", "fd00::1", "a.test.", "b.test."};

struct pin {
    const struct store *store; /* NULL: none */
    struct buf text;           /* when it was pinned */
};

struct fixture {
    struct store_writer *writer;
    struct publisher *publisher;
    struct publisher_reader *reader;
    bool is_inside;
    int64_t revision;
    struct rng rng;
    struct pin pins[PUBLISHER_PINS_MAX + 1];
};

static uint32_t pin_random_below(struct fixture *f, uint32_t n)
{
    return rng_next(&f->rng) % n;
}

static struct fixture pin_fixture_new(uint64_t seed)
{
    struct fixture f = {.writer = store_writer_new(), .publisher = publisher_new()};
    f.reader = publisher_reader_new(f.publisher);
    f.rng.state = seed;
    return f;
}

static void pin_fixture_free(struct fixture *f)
{
    publisher_free(f->publisher);
    store_writer_free(f->writer);
}

static struct dname pin_random_name(struct fixture *f)
{
    char text[64] = "test";
    for (uint32_t depth = 1 + pin_random_below(f, 3); depth > 0; depth--) {
        char longer[sizeof(text)];
        (void)snprintf(longer, sizeof(longer), "%s.%.50s",
                       labels[pin_random_below(f, ARRAY_LEN(labels))], text);
        memcpy(text, longer, sizeof(text));
    }
    struct dname name = dname_from(text);
    return name;
}

static void pin_put(struct fixture *f, const struct dname *name, int64_t revision)
{
    struct record record;
    record = (struct record){.ttl_s = 0};
    record.host = slice_str(hosts[revision % (int64_t)ARRAY_LEN(hosts)]);
    record.ttl_s = 30;
    record.priority = 10;
    (void)records_put(f->writer, name, &record, revision);
}

static void pin_change_something(struct fixture *f)
{
    struct dname name = pin_random_name(f);
    bool is_changed = false;
    const struct store *newest = f->revision > 1 ? publisher_enter(f->reader) : NULL;
    const struct store_node *node = newest ? store_find(newest, &name) : NULL;
    const struct store_record *record = node ? store_node_record(node) : NULL;
    int64_t revision = record ? record->mod_revision : 0;
    if (newest) {
        publisher_leave(f->reader);
    }
    switch (pin_random_below(f, 6)) {
    case 0:
    case 1:
        store_writer_del(f->writer, &name);
        break;
    case 2:
        (void)!store_writer_set_ttl(f->writer, &name, revision, pin_random_below(f, 4),
                                    &is_changed);
        break;
    case 3:
        pin_put(f, &name, revision ? revision : f->revision); /* perhaps unchanged */
        break;
    default:
        pin_put(f, &name, f->revision);
    }
}

static void pin_publish(struct fixture *f)
{
    struct store_garbage *garbage;
    const struct store *store = store_writer_commit(f->writer, f->revision, &garbage);
    publisher_publish(f->publisher, store, garbage);
}

/* A few changes, or everything anew, of which some stays as it was. */
static void pin_change(struct fixture *f)
{
    f->revision++;
    if (pin_random_below(f, 15) == 0) {
        store_writer_clear(f->writer);
    }
    for (uint32_t n = pin_random_below(f, CHANGES_MAX + 1); n > 0; n--) {
        pin_change_something(f);
    }
    pin_publish(f);
}

static void check_pin(const struct pin *pin)
{
    CLEANUP_BUF struct buf text = pin_text_of(pin->store);
    assert_int_equal(text.len, pin->text.len);
    assert_memory_equal(text.data, pin->text.data, text.len);
}

static void pin_unpin(struct fixture *f, struct pin *pin)
{
    check_pin(pin);
    buf_fini(&pin->text);
    publisher_unpin(f->publisher, pin->store);
    pin->store = NULL;
}

static void pin_or_unpin(struct fixture *f)
{
    struct pin *pin = &f->pins[pin_random_below(f, ARRAY_LEN(f->pins))];
    if (pin->store) {
        pin_unpin(f, pin);
    } else if ((pin->store = publisher_pin(f->publisher))) {
        pin->text = pin_text_of(pin->store);
    }
}

/* A reader inside delays what becomes garbage, so that it meets pins which are younger. */
static void enter_or_leave(struct fixture *f)
{
    if (f->is_inside) {
        publisher_leave(f->reader);
    } else {
        assert_non_null(publisher_enter(f->reader));
    }
    f->is_inside = !f->is_inside;
}

UNIT_TEST(test_pinned_versions_stay_whole)
{
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        CLEANUP(pin_fixture_free) struct fixture f = pin_fixture_new(seed);
        struct publisher_reader *changes = f.reader;
        struct publisher_reader *delays = publisher_reader_new(f.publisher);
        for (int step = 0; step < STEPS; step++) {
            pin_change(&f);
            f.reader = delays;
            if (pin_random_below(&f, 3) == 0) {
                enter_or_leave(&f);
            }
            f.reader = changes;
            if (pin_random_below(&f, 4) == 0) {
                pin_or_unpin(&f);
            }
            for (size_t i = 0; i < ARRAY_LEN(f.pins); i++) {
                if (f.pins[i].store) {
                    check_pin(&f.pins[i]);
                }
            }
        }
        for (size_t i = 0; i < ARRAY_LEN(f.pins) && seed % 2; i++) { /* else some are left over */
            if (f.pins[i].store) {
                pin_unpin(&f, &f.pins[i]);
            }
        }
        for (size_t i = 0; i < ARRAY_LEN(f.pins); i++) {
            buf_fini(&f.pins[i].text);
        }
    }
}

UNIT_TEST(test_nothing_to_pin)
{
    CLEANUP(pin_fixture_free) struct fixture f = pin_fixture_new(1);
    assert_null(publisher_pin(f.publisher));
}

static void put_one(struct fixture *f)
{
    struct dname name = dname_from("a.test");
    f->revision++;
    pin_put(f, &name, f->revision);
    pin_publish(f);
}

/* Pins the promised number of versions; one that is pinned already takes no place. */
UNIT_TEST(test_as_many_pins_as_promised)
{
    CLEANUP(pin_fixture_free) struct fixture f = pin_fixture_new(1);
    const struct store *pinned[PUBLISHER_PINS_MAX];
    for (int i = 0; i < PUBLISHER_PINS_MAX; i++) {
        put_one(&f);
        pinned[i] = publisher_pin(f.publisher);
        assert_non_null(pinned[i]);
    }
    const struct store *newest = pinned[PUBLISHER_PINS_MAX - 1];
    assert_ptr_equal(publisher_pin(f.publisher), newest);
    put_one(&f);
    assert_null(publisher_pin(f.publisher));
    publisher_unpin(f.publisher, newest);
    assert_null(publisher_pin(f.publisher)); /* still pinned once */
    publisher_unpin(f.publisher, newest);
    assert_non_null(publisher_pin(f.publisher));
    for (int i = 0; i < PUBLISHER_PINS_MAX - 1; i++) {
        assert_int_equal(store_revision(pinned[i]), i + 1);
        publisher_unpin(f.publisher, pinned[i]);
    }
}

/* Garbage that a reader held back is in no version that was pinned later. */
UNIT_TEST(test_younger_pin_keeps_nothing)
{
    CLEANUP(pin_fixture_free) struct fixture f = pin_fixture_new(1);
    put_one(&f);
    assert_non_null(publisher_enter(f.reader));
    for (int i = 0; i < 2000; i++) { /* several parts' worth */
        put_one(&f);
    }
    const struct store *pinned = publisher_pin(f.publisher);
    publisher_leave(f.reader);
    assert_false(publisher_reclaim(f.publisher));
    publisher_unpin(f.publisher, pinned);
    assert_false(publisher_reclaim(f.publisher));
}

/* ---- Memory ---- */

/* 3,000 Services take 4 MiB. */
enum { SERVICES = 3000, CHANGES = 100000, FEW_SERVICES = 200, FEW_CHANGES = 2000 };

struct churn {
    struct services services;
    struct publisher *publisher;
    unsigned turn;
};

static void churn_change(struct churn *c)
{
    enum { STRIDE = 7919 }; /* a prime: visits every Service once, not in memory order */
    struct store_garbage *garbage;
    unsigned number = (unsigned)((uint64_t)c->turn++ * STRIDE % c->services.count);
    const struct store *store = services_change(&c->services, number, &garbage);
    publisher_publish(c->publisher, store, garbage);
}

static void churn_init(struct churn *c, unsigned services)
{
    struct store_garbage *garbage;
    *c = (struct churn){.publisher = publisher_new()};
    services_init(&c->services, services);
    const struct store *store = services_fill(&c->services, &garbage);
    publisher_publish(c->publisher, store, garbage);
}

static void churn_fini(struct churn *c)
{
    publisher_free(c->publisher);
    services_fini(&c->services);
}

static size_t pin_resident(void)
{
    unsigned long size, pages;
    FILE *statm = fopen("/proc/self/statm", "r");
    assert_non_null(statm);
    assert_int_equal(fscanf(statm, "%lu %lu", &size, &pages), 2);
    (void)fclose(statm);
    return pages * (size_t)sysconf(_SC_PAGESIZE);
}

/* A sanitizer's allocator, which keeps freed memory, tells nothing. */
static bool is_memory_told(void)
{
    struct mallinfo2 info = mallinfo2();
    return info.uordblks > 0;
}

static bool has_first_address(const struct store *store, unsigned number)
{
    struct dname name = services_name(number);
    const struct store_node *node = store_find(store, &name);
    const struct store_record *record = node ? store_node_single(node) : NULL;
    uint32_t address;
    if (!record || record->host_len != sizeof(address)) {
        return false;
    }
    memcpy(&address, record->bytes, sizeof(address));
    return address == services_address(number, 0);
}

/* Every Service changes dozens of times under a pin: memory for one version more, and its list. */
UNIT_TEST(test_pin_holds_one_version)
{
    CLEANUP(churn_fini) struct churn c;
    size_t before = pin_resident();
    churn_init(&c, is_memory_told() ? SERVICES : FEW_SERVICES);
    size_t version = pin_resident() - before;
    const struct store *pinned = publisher_pin(c.publisher);
    for (unsigned i = 0; i < (is_memory_told() ? CHANGES : FEW_CHANGES); i++) {
        churn_change(&c);
    }
    size_t held = pin_resident() - before;
    print_message("%zu KiB one version, %zu KiB with one pinned\n", version / 1024, held / 1024);
    if (is_memory_told()) {
        assert_true(held < 3 * version); /* of dozens */
    }
    for (unsigned i = 0; i < c.services.count; i++) {
        assert_true(has_first_address(pinned, i));
    }
    publisher_unpin(c.publisher, pinned);
}

/* A pin's garbage is freed in parts, until it is all gone. */
UNIT_TEST(test_unpinned_in_parts)
{
    CLEANUP(churn_fini) struct churn c;
    unsigned parts = 1;
    churn_init(&c, SERVICES);
    const struct store *pinned = publisher_pin(c.publisher);
    for (unsigned i = 0; i < SERVICES; i++) {
        churn_change(&c);
    }
    assert_false(publisher_reclaim(c.publisher)); /* kept is not pending */
    publisher_unpin(c.publisher, pinned);
    while (publisher_reclaim(c.publisher)) {
        parts++;
    }
    /* All of its nodes and records, three to a Service at least. */
    print_message("%u parts\n", parts);
    assert_in_range(parts, 3, 100);
}

/* ---- A thread that reads the pinned version ---- */

enum { PINS_READ = 20, CHANGES_A_PIN = 200 };

struct scan {
    const struct store *store;
    size_t records;
    bool is_right;
    atomic_bool is_over;
};

static bool count_record(void *data, const struct store_node *node)
{
    struct scan *w = data;
    const struct store_record *r = store_node_record(node);
    if (r) {
        w->records++;
        w->is_right = w->is_right && r->mod_revision <= store_revision(w->store);
    }
    return store_each_child(node, count_record, data);
}

static void *scan_pinned(void *data)
{
    struct scan *w = data;
    do {
        w->records = 0;
        (void)count_record(w, store_root(w->store)); /* never stops early */
        w->is_right = w->is_right && w->records == FEW_SERVICES * KEYS_PER_SERVICE;
    } while (!atomic_load(&w->is_over) && w->is_right);
    return NULL;
}

UNIT_TEST(test_thread_reads_while_main_publishes)
{
    CLEANUP(churn_fini) struct churn c;
    churn_init(&c, FEW_SERVICES);
    for (int i = 0; i < PINS_READ; i++) {
        struct scan scan = {.store = publisher_pin(c.publisher), .is_right = true};
        pthread_t thread;
        assert_int_equal(pthread_create(&thread, NULL, scan_pinned, &scan), 0);
        for (int k = 0; k < CHANGES_A_PIN; k++) {
            churn_change(&c);
        }
        atomic_store(&scan.is_over, true);
        assert_int_equal(pthread_join(thread, NULL), 0);
        assert_true(scan.is_right);
        publisher_unpin(c.publisher, scan.store);
    }
}
