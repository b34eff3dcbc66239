/* Checks what readers may hold and when it is freed: in one thread step by step, then with many
 * threads (most useful under the thread and address sanitizers). */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#include "skydns/publish/engine_config.h"
#include "skydns/publish/publisher.h"
#include "tests/support/from_text.h"
#include "tests/support/skydns/records.h"
#include "tests/support/unit_test.h"

UNIT_TESTS_HAVE_THREADS

static const char *const names[] = {"a.test", "b.a.test", "_c.test", "d.other"};

struct fixture {
    struct store_writer *writer;
    struct publisher *publisher;
    int64_t revision;
};

static struct fixture publisher_fixture_new(void)
{
    return (struct fixture){.writer = store_writer_new(), .publisher = publisher_new()};
}

static void publisher_fixture_free(struct fixture *f)
{
    publisher_free(f->publisher);
    store_writer_free(f->writer);
}

static void publisher_set_up(struct fixture *f)
{
    *f = publisher_fixture_new();
}

UNIT_FIXTURE(struct fixture, publisher_set_up, publisher_fixture_free)

static void publisher_put(struct fixture *f, const char *text, int64_t revision)
{
    struct record record;
    struct dname name = dname_from(text);
    record = (struct record){.ttl_s = 0};
    records_put(f->writer, &name, &record, revision);
}

/* A configuration whose parts agree: an early and a late field, and a domain in between. */
static void publish_publisher_configure(struct fixture *f, uint32_t number)
{
    struct engine_config *config = calloc(1, sizeof(*config));
    struct dname domain = {.len = 3, .wire = {1, (uint8_t)number, 0}};
    assert_non_null(config);
    config->settings.ttl_s = number;
    config->settings.ndots = number;
    assert_true(engine_config_add_domain(config, &domain, NULL));
    publisher_configure(f->publisher, config);
}

static bool is_consistent(const struct engine_config *config)
{
    return config && config->settings.ttl_s == config->settings.ndots &&
           config->zones[0].domain.wire[1] == (uint8_t)config->settings.ttl_s;
}

/* Rewrites the content: one unchanged record that all versions share, and every other name with the
 * new version's revision. */
static void publish_publisher_publish(struct fixture *f)
{
    struct store_garbage *garbage;
    f->revision++;
    store_writer_clear(f->writer);
    publisher_put(f, "stays.test", 1);
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        publisher_put(f, names[i], f->revision);
    }
    const struct store *store = store_writer_commit(f->writer, f->revision, &garbage);
    publisher_publish(f->publisher, store, garbage);
}

static int64_t publisher_revision_of(const struct store *store, const char *text)
{
    struct dname name;
    bool is_valid = dname_from_text(slice_str(text), &name);
    const struct store_node *node = is_valid ? store_find(store, &name) : NULL;
    return node ? store_node_record(node)->mod_revision : 0;
}

/* All names exist, with the version's own revision. */
static bool publisher_is_whole(const struct store *store)
{
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        if (publisher_revision_of(store, names[i]) != store_revision(store)) {
            return false;
        }
    }
    return publisher_revision_of(store, "stays.test") == 1 &&
           store_visible_count(store_root(store)) == 4;
}

UNIT_TEST_ON(test_nothing_before_the_first, struct fixture *f)
{
    struct publisher_reader *reader = publisher_reader_new(f->publisher);
    assert_null(publisher_enter(reader));
    publisher_leave(reader);
    assert_false(publisher_reclaim(f->publisher));
    publish_publisher_publish(f);
    const struct store *store = publisher_enter(reader);
    assert_non_null(store);
    assert_true(publisher_is_whole(store));
    publisher_leave(reader);
}

UNIT_TEST_ON(test_reader_inside_keeps_its_version, struct fixture *f)
{
    struct publisher_reader *early = publisher_reader_new(f->publisher);
    struct publisher_reader *late = publisher_reader_new(f->publisher);
    (void)publisher_reader_new(f->publisher); /* never enters: delays nothing */
    publish_publisher_publish(f);
    const struct store *first = publisher_enter(early);
    publish_publisher_publish(f);
    publish_publisher_publish(f);
    const struct store *third = publisher_enter(late);
    assert_int_equal(store_revision(first), 1);
    assert_int_equal(store_revision(third), 3);
    assert_true(publisher_reclaim(f->publisher));
    assert_true(publisher_is_whole(first));

    publish_publisher_publish(f);
    publisher_leave(early); /* frees the first three; the third's successor waits for `late` */
    assert_true(publisher_reclaim(f->publisher));
    assert_true(publisher_is_whole(third));
    publisher_leave(late);
    assert_false(publisher_reclaim(f->publisher));

    publish_publisher_publish(f);
    assert_false(publisher_reclaim(f->publisher));
    assert_int_equal(store_revision(publisher_enter(early)), 5);
    publisher_leave(early);
}

/* A reader that entered after the replacement holds nothing back. */
UNIT_TEST_ON(test_later_reader_delays_nothing, struct fixture *f)
{
    struct publisher_reader *early = publisher_reader_new(f->publisher);
    struct publisher_reader *late = publisher_reader_new(f->publisher);
    publish_publisher_publish(f);
    (void)publisher_enter(early);
    publish_publisher_publish(f);
    const struct store *second = publisher_enter(late);
    publisher_leave(early);
    assert_false(publisher_reclaim(f->publisher));
    assert_true(publisher_is_whole(second));
    publisher_leave(late);
}

/* Only readers inside an older version have not seen the newest. */
UNIT_TEST_ON(test_what_all_have_seen, struct fixture *f)
{
    struct publisher_reader *early = publisher_reader_new(f->publisher);
    struct publisher_reader *late = publisher_reader_new(f->publisher);
    publish_publisher_publish(f);
    const uint64_t first = publisher_epoch(f->publisher);
    assert_int_equal(publisher_seen(f->publisher), first);
    (void)publisher_enter(early);
    publish_publisher_publish(f);
    const uint64_t second = publisher_epoch(f->publisher);
    assert_true(second > first);
    assert_int_equal(publisher_seen(f->publisher), first);
    (void)publisher_enter(late);
    publisher_leave(early);
    assert_int_equal(publisher_seen(f->publisher), second);
    publisher_leave(late);
    assert_int_equal(publisher_seen(f->publisher), second);
}

UNIT_TEST_ON(test_free_with_garbage_waiting, struct fixture *f)
{
    struct publisher_reader *reader = publisher_reader_new(f->publisher);
    publish_publisher_publish(f);
    (void)publisher_enter(reader);
    publish_publisher_publish(f);
    publish_publisher_publish(f);
    assert_true(publisher_reclaim(f->publisher));
}

UNIT_TEST_ON(test_as_many_readers_as_promised, struct fixture *f)
{
    struct publisher_reader *last = NULL;
    for (int i = 0; i < PUBLISHER_READERS_MAX; i++) {
        last = publisher_reader_new(f->publisher);
    }
    publish_publisher_publish(f);
    (void)publisher_enter(last);
    publish_publisher_publish(f);
    assert_true(publisher_reclaim(f->publisher));
    publisher_leave(last);
    assert_false(publisher_reclaim(f->publisher));
}

/* A reader inside keeps its configuration, like its version; a replaced one is freed. */
UNIT_TEST_ON(test_configurations, struct fixture *f)
{
    struct publisher_reader *reader = publisher_reader_new(f->publisher);
    publish_publisher_configure(f, 1);
    assert_int_equal(publisher_newest_config(f->publisher)->settings.ttl_s, 1);
    assert_null(publisher_enter(reader));
    const struct engine_config *held = publisher_config(reader);
    publish_publisher_configure(f, 2);
    assert_int_equal(publisher_newest_config(f->publisher)->settings.ttl_s, 2);
    assert_true(is_consistent(held));
    assert_int_equal(held->settings.ttl_s, 1);
    assert_true(publisher_reclaim(f->publisher));
    publisher_leave(reader);
    assert_false(publisher_reclaim(f->publisher));
    assert_null(publisher_enter(reader));
    assert_int_equal(publisher_config(reader)->settings.ttl_s, 2);
    publisher_leave(reader);
}

/* ---- Threads ---- */

enum { THREADS = 4, VERSIONS_MIN = 2000, SEEN_MIN = 50 };

struct reader_thread {
    pthread_t thread;
    struct publisher_reader *reader;
    const atomic_bool *is_over;
    atomic_uint versions_seen;
    bool is_broken; /* read when the thread has ended */
};

static void *read_versions(void *data)
{
    struct reader_thread *self = data;
    int64_t last = 0;
    while (!atomic_load(self->is_over)) {
        const struct store *store = publisher_enter(self->reader);
        if (store) {
            int64_t revision = store_revision(store);
            self->is_broken |=
                revision < last || !publisher_is_whole(store) || !publisher_is_whole(store);
            self->is_broken |= !is_consistent(publisher_config(self->reader));
            if (revision != last) {
                atomic_fetch_add(&self->versions_seen, 1);
            }
            last = revision;
        }
        publisher_leave(self->reader);
    }
    return NULL;
}

static bool all_have_seen(struct reader_thread *threads, unsigned count)
{
    for (int i = 0; i < THREADS; i++) {
        if (atomic_load(&threads[i].versions_seen) < count) {
            return false;
        }
    }
    return true;
}

UNIT_TEST_ON(test_threads_see_whole_versions, struct fixture *f)
{
    struct reader_thread threads[THREADS] = {0};
    atomic_bool is_over = false;
    publish_publisher_configure(f, 0);
    for (int i = 0; i < THREADS; i++) {
        threads[i].reader = publisher_reader_new(f->publisher);
        threads[i].is_over = &is_over;
        assert_int_equal(pthread_create(&threads[i].thread, NULL, read_versions, &threads[i]), 0);
    }
    while (f->revision < VERSIONS_MIN || !all_have_seen(threads, SEEN_MIN)) {
        publish_publisher_publish(f);
        if (f->revision % 4 == 0) {
            publish_publisher_configure(f, (uint32_t)f->revision);
        }
        if (f->revision % 16 == 0) {
            sched_yield(); /* lets the readers run on a single processor */
        }
    }
    atomic_store(&is_over, true);
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_join(threads[i].thread, NULL), 0);
        assert_false(threads[i].is_broken);
    }
    assert_false(publisher_reclaim(f->publisher));
}
