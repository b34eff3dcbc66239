/* Endless changes must not grow memory: all records are changed repeatedly. First with a reader
 * that stays inside for a few versions at a time, as a batch does, checking memory; then with
 * threads that ask meanwhile and must get only right answers (most useful under the sanitizers). */
#include <malloc.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <unistd.h>

#include "skydns/engine/engine.h"
#include "skydns/publish/engine_config.h"
#include "skydns/publish/publisher.h"
#include "tests/support/from_text.h"
#include "tests/support/skydns/questions.h"
#include "tests/support/skydns/services.h"
#include "tests/support/unit_test.h"

UNIT_TESTS_HAVE_THREADS

/* 3,000 Services take 4 MiB; the rest of the test program is small in comparison. */
enum { SERVICES = 3000, FIRST_ROUNDS = 4, ROUNDS = 20, GROWTH_MAX_PERCENT = 5 };

/* Versions published while a reader stays inside: a slow batch's, at 10,000 a second. */
enum { VERSIONS_A_BATCH = 16 };

struct fixture {
    struct services services;
    struct publisher *publisher;
};

static void churn_publish(struct fixture *f, const struct store *store,
                          struct store_garbage *garbage)
{
    assert_int_equal(store_revision(store), f->services.revision);
    publisher_publish(f->publisher, store, garbage);
}

static void churn_configure(struct fixture *f)
{
    struct engine_config *config = xcalloc(1, sizeof(*config));
    *config = (struct engine_config){
        .settings = {.ttl_s = 3600,
                     .min_ttl_s = 60,
                     .priority = 10,
                     .max_udp_size = ANSWER_MAX,
                     .no_rec = true},
    };
    struct dname domain = dname_from("cluster.local.");
    assert_true(engine_config_add_domain(config, &domain, NULL));
    publisher_configure(f->publisher, config);
}

static void churn_setup(struct fixture *f, unsigned services)
{
    struct store_garbage *garbage;
    f->publisher = publisher_new();
    services_init(&f->services, services);
    churn_configure(f);
    const struct store *store = services_fill(&f->services, &garbage);
    churn_publish(f, store, garbage);
}

static void churn_teardown(struct fixture *f)
{
    publisher_free(f->publisher);
    services_fini(&f->services);
}

static void records_churn_change(struct fixture *f, unsigned number)
{
    struct store_garbage *garbage;
    const struct store *store = services_change(&f->services, number, &garbage);
    churn_publish(f, store, garbage);
}

/* ---- Memory ---- */

/* Excludes the store's blocks: they live in their own slabs, which churn_resident() sees. */
static size_t in_use(void)
{
    struct mallinfo2 info = mallinfo2();
    return info.uordblks + info.hblkhd;
}

static size_t churn_resident(void)
{
    unsigned long size, pages;
    FILE *statm = fopen("/proc/self/statm", "r");
    assert_non_null(statm);
    assert_int_equal(fscanf(statm, "%lu %lu", &size, &pages), 2);
    (void)fclose(statm);
    return pages * (size_t)sysconf(_SC_PAGESIZE);
}

/* Every Service once, each change a version; the reader leaves and re-enters now and then. */
static void change_all(struct fixture *f, struct publisher_reader *reader)
{
    enum { STRIDE = 7919 }; /* a prime: visits every Service once, not in memory order */
    for (unsigned i = 0; i < f->services.count; i++) {
        if (i % VERSIONS_A_BATCH == 0) {
            assert_non_null(publisher_enter(reader));
        }
        records_churn_change(f, (unsigned)((uint64_t)i * STRIDE % f->services.count));
        if (i % VERSIONS_A_BATCH == VERSIONS_A_BATCH - 1) {
            publisher_leave(reader);
            assert_false(publisher_reclaim(f->publisher));
        }
    }
    if (f->services.count % VERSIONS_A_BATCH != 0) {
        publisher_leave(reader);
    }
    assert_false(publisher_reclaim(f->publisher));
}

/* The limit is a percentage of `whole`. */
static void assert_no_growth(const char *what, size_t before, size_t after, size_t whole)
{
    print_message("%s: %zu KiB after %d rounds, %zu KiB after %d more\n", what, before / 1024,
                  FIRST_ROUNDS, after / 1024, ROUNDS);
    assert_true(after <= before + whole * GROWTH_MAX_PERCENT / 100);
}

UNIT_TEST(test_memory_comes_back)
{
    struct fixture f;
    bool is_told = in_use() > 0; /* false: a sanitizer's allocator, which keeps freed memory */
    churn_setup(&f, is_told ? SERVICES : SERVICES / 10);
    struct publisher_reader *reader = publisher_reader_new(f.publisher);
    for (int i = 0; i < FIRST_ROUNDS; i++) {
        change_all(&f, reader);
    }
    size_t used = in_use(), kept = churn_resident();
    for (int i = 0; i < ROUNDS; i++) {
        change_all(&f, reader);
    }
    assert_int_equal(store_writer_count(f.services.writer), f.services.count * KEYS_PER_SERVICE);
    if (is_told) {
        assert_no_growth("of malloc", used, in_use(), kept);
        assert_no_growth("resident", kept, churn_resident(), kept);
    }
    churn_teardown(&f);
}

/* ---- Threads ---- */

enum { THREADS = 3, ASKED_SERVICES = 200, ASKED_MIN = 2000, BATCH = 8 };

struct querier {
    pthread_t thread;
    struct engine *engine;
    struct publisher_reader *reader;
    const atomic_bool *is_over;
    uint32_t random;
    atomic_uint answered;
    const char *problem; /* read when the thread has ended */
};

static void ask_one(struct querier *self, const struct store *store)
{
    static const struct addr client = {.len = 0};
    struct asked_question question;
    uint8_t reply[ANSWER_MAX];
    struct response response = {.bytes = reply};
    struct engine_deferral deferral;
    unsigned number = self->random++;
    question_make(&question, (enum question_kind)(number % QUESTION_KINDS),
                  number / QUESTION_KINDS % ASKED_SERVICES, (uint16_t)number);
    /* Every other one on the slow path: with an upper-case letter. */
    if (number / QUESTION_KINDS % 2) {
        question.wire[question.len - sizeof("\5local\0\0\1\0\1") + 2] ^= 0x20;
    }
    struct engine_query query = {.wire = question.wire,
                                 .len = question.len,
                                 .client = &client,
                                 .local = &client,
                                 .transport = ENGINE_UDP,
                                 .random = number};
    if (engine_answer(self->engine, store, &query, NULL, &response, &deferral) != ENGINE_REPLY) {
        self->problem = "no reply";
    } else if (!question_is_answered(&question, reply, response.len)) {
        self->problem = "a wrong answer";
    }
}

static void *churn_ask(void *data)
{
    struct querier *self = data;
    while (!atomic_load(self->is_over)) {
        const struct store *store = publisher_enter(self->reader);
        engine_configure(self->engine, publisher_config(self->reader));
        for (int i = 0; i < BATCH; i++) {
            ask_one(self, store);
        }
        publisher_leave(self->reader);
        atomic_fetch_add(&self->answered, BATCH);
    }
    return NULL;
}

static bool all_have_asked(const struct querier *askers)
{
    for (int i = 0; i < THREADS; i++) {
        if (atomic_load(&askers[i].answered) < ASKED_MIN) {
            return false;
        }
    }
    return true;
}

UNIT_TEST(test_every_answer_is_right)
{
    struct fixture f;
    struct querier askers[THREADS] = {0};
    atomic_bool is_over = false;
    churn_setup(&f, ASKED_SERVICES);
    for (int i = 0; i < THREADS; i++) {
        askers[i].engine = engine_new(publisher_newest_config(f.publisher));
        askers[i].reader = publisher_reader_new(f.publisher);
        askers[i].is_over = &is_over;
        askers[i].random = (uint32_t)i;
        assert_int_equal(pthread_create(&askers[i].thread, NULL, churn_ask, &askers[i]), 0);
    }
    for (unsigned i = 0; i < 2 * ASKED_SERVICES || !all_have_asked(askers); i++) {
        records_churn_change(&f, i % ASKED_SERVICES);
        if (i % 256 == 0) {
            churn_configure(&f);
        }
        if (i % VERSIONS_A_BATCH == 0) {
            sched_yield(); /* lets the askers run on a single processor */
        }
    }
    atomic_store(&is_over, true);
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_join(askers[i].thread, NULL), 0);
        assert_that(!askers[i].problem, "%s", askers[i].problem);
        engine_free(askers[i].engine);
    }
    assert_false(publisher_reclaim(f.publisher));
    churn_teardown(&f);
}
