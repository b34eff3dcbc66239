/* tls_handshakes: handshakes end on the pool's threads, clients take turns, and it stops with jobs
 * in its queue. */
#include "common/tls/tls_handshakes.h"

#include <pthread.h>
#include <signal.h>
#include <sys/socket.h>

#include "common/base/seeded_hash.h"
#include "tests/support/tls_pair.h"
#include "tests/support/unit_test.h"

enum { FLOOD = 20 };

struct fixture {
    struct tls_folder folder;
    struct tls_server *server;
    struct tls_client *client;
    struct tls_handshakes *pool;
    pthread_mutex_t lock;
    pthread_cond_t woken;
    unsigned wakes; /* not yet seen */
};

static struct fixture f;

static int tls_handshakes_set_up(void **state)
{
    (void)signal(SIGPIPE, SIG_IGN);
    seeded_hash_init();
    tls_folder_make(&f.folder);
    f.server = tls_folder_server(&f.folder, NULL, NULL);
    f.client = tls_folder_client(&f.folder, NULL);
    (void)pthread_mutex_init(&f.lock, NULL);
    (void)pthread_cond_init(&f.woken, NULL);
    return 0;
}

static int tls_handshakes_tear_down(void **state)
{
    tls_server_free(f.server);
    tls_client_free(f.client);
    tls_folder_remove(&f.folder);
    (void)pthread_cond_destroy(&f.woken);
    (void)pthread_mutex_destroy(&f.lock);
    return 0;
}

UNIT_TESTS_ONCE(tls_handshakes_set_up, tls_handshakes_tear_down)
UNIT_TESTS_HAVE_THREADS

static void on_wake(void *data)
{
    (void)pthread_mutex_lock(&f.lock);
    f.wakes++;
    (void)pthread_cond_signal(&f.woken);
    (void)pthread_mutex_unlock(&f.lock);
}

static void make_pool(unsigned threads)
{
    f.wakes = 0;
    f.pool =
        tls_handshakes_new(&(struct tls_handshakes_config){.threads = threads, .wake = on_wake});
}

static void start_pool(void)
{
    struct err err;
    assert_int_equal(tls_handshakes_start(f.pool, &err), 0);
}

/* Pops as a loop does, until there is nothing, then waits for a wake. */
static struct tls_handshake_job *tls_handshakes_next(void)
{
    struct tls_handshake_job *job;
    while (!(job = tls_handshakes_pop(f.pool))) {
        (void)pthread_mutex_lock(&f.lock);
        while (f.wakes == 0) {
            (void)pthread_cond_wait(&f.woken, &f.lock);
        }
        f.wakes = 0;
        (void)pthread_mutex_unlock(&f.lock);
    }
    return job;
}

/* ---- Jobs: each with the client's side beside it ---- */

struct side {
    struct tls_handshake_job job;
    struct tls_pair pair;
};

static struct side *side_new(uint8_t client)
{
    struct side *side = xcalloc(1, sizeof(*side));
    tls_pair_open(&side->pair, &(struct tls_pair_config){.server = f.server, .client = f.client});
    side->job.turn.net.bytes[15] = client;
    side->job.session = side->pair.server;
    side->job.fd = side->pair.fds[0];
    return side;
}

static struct side *side_of(struct tls_handshake_job *job)
{
    return (struct side *)((char *)job - offsetof(struct side, job));
}

static void side_free(struct side *side)
{
    tls_pair_close(&side->pair);
    free(side);
}

/* The client's next flight. */
static bool client_step(struct side *side)
{
    enum tls_want want;
    struct err err;
    assert_int_equal(tls_session_handshake(side->pair.client, &want, &err), 0);
    return want == TLS_WANT_NOTHING;
}

static struct side *push_hello(uint8_t client)
{
    struct side *side = side_new(client);
    assert_false(client_step(side));
    tls_handshakes_push(f.pool, &side->job);
    return side;
}

/* ---- Tests ---- */

UNIT_TEST(test_many_handshakes)
{
    unsigned open = FLOOD;
    make_pool(4);
    start_pool();
    for (unsigned i = 0; i < FLOOD; i++) {
        (void)push_hello((uint8_t)(i % 3));
    }
    while (open > 0) {
        struct side *side = side_of(tls_handshakes_next());
        assert_int_equal(side->job.err.code, 0);
        if (side->job.want == TLS_WANT_NOTHING) {
            tls_pair_send(side->pair.client, side->pair.server, "question");
            tls_pair_send(side->pair.server, side->pair.client, "answer");
            side_free(side);
            open--;
        } else {
            assert_int_equal(side->job.want, TLS_WANT_READ);
            assert_true(client_step(side));
            tls_handshakes_push(f.pool, &side->job);
        }
    }
    tls_handshakes_stop(f.pool);
    assert_null(tls_handshakes_pop(f.pool));
    tls_handshakes_free(f.pool);
}

/* Pushed behind a flood's jobs, another client's is done after one of them; a third one's after
 * that. */
UNIT_TEST(test_clients_take_turns)
{
    static const uint8_t want[] = {1, 2, 3, 1, 2, 1, 1};
    uint8_t order[FLOOD + 3];
    make_pool(1);
    for (unsigned i = 0; i < FLOOD; i++) {
        (void)push_hello(1);
    }
    (void)push_hello(2);
    (void)push_hello(2);
    (void)push_hello(3);
    start_pool();
    for (size_t i = 0; i < sizeof(order); i++) {
        struct side *side = side_of(tls_handshakes_next());
        order[i] = side->job.turn.net.bytes[15];
        side_free(side);
    }
    assert_memory_equal(order, want, sizeof(want));
    tls_handshakes_stop(f.pool);
    tls_handshakes_free(f.pool);
}

/* While a flood goes on: each step that ends is followed by another job of the same client. */
UNIT_TEST(test_flood_beside_one)
{
    unsigned steps = 0;
    bool is_served = false;
    make_pool(1);
    for (unsigned i = 0; i < FLOOD; i++) {
        (void)push_hello(1);
    }
    start_pool();
    struct side *first = side_of(tls_handshakes_next()); /* the flood is at work */
    side_free(first);
    struct side *one = push_hello(2);
    /* Those that ended before it was pushed do not count: they are popped first. */
    struct tls_handshake_job *job;
    while ((job = tls_handshakes_pop(f.pool)) && job != &one->job) {
        side_free(side_of(job));
        (void)push_hello(1);
    }
    is_served = job == &one->job;
    while (!is_served) {
        job = tls_handshakes_next();
        is_served = job == &one->job;
        if (!is_served) {
            side_free(side_of(job));
            (void)push_hello(1);
            steps++;
        }
    }
    assert_in_range(steps, 0, 2);
    side_free(one);
    tls_handshakes_stop(f.pool);
    while ((job = tls_handshakes_pop(f.pool))) {
        side_free(side_of(job));
    }
    tls_handshakes_free(f.pool);
}

UNIT_TEST(test_failure_is_the_jobs)
{
    make_pool(2);
    start_pool();
    struct side *side = side_new(1);
    assert_int_equal(send(side->pair.fds[1], "GET / HTTP/1.1\r\n\r\n", 18, 0), 18);
    tls_handshakes_push(f.pool, &side->job);
    assert_ptr_equal(tls_handshakes_next(), &side->job);
    assert_int_equal(side->job.want, TLS_WANT_NOTHING);
    assert_int_equal(side->job.err.code, ERR_REFUSED);
    assert_non_null(strstr(side->job.err.msg, "the client does not speak TLS"));
    side_free(side);
    tls_handshakes_stop(f.pool);
    tls_handshakes_free(f.pool);
}

/* Nothing is lost: with threads, and if it never started. */
/* Queued when its connection was closed: it comes back as it was. */
UNIT_TEST(test_an_unwanted_step_is_left_out)
{
    make_pool(1);
    struct side *side = push_hello(1);
    side->job.is_unwanted = true;
    start_pool();
    assert_ptr_equal(tls_handshakes_next(), &side->job);
    assert_int_equal(side->job.want, TLS_WANT_READ);
    assert_int_equal(side->job.err.code, 0);
    char byte;
    assert_int_equal(recv(side->pair.fds[1], &byte, 1, MSG_DONTWAIT), -1);
    side_free(side);
    tls_handshakes_stop(f.pool);
    tls_handshakes_free(f.pool);
}

UNIT_TEST(test_stops_with_jobs)
{
    for (unsigned threads = 0; threads <= 2; threads++) {
        unsigned popped = 0;
        struct tls_handshake_job *job;
        make_pool(threads ? threads : 1);
        if (threads) {
            start_pool();
        }
        for (unsigned i = 0; i < FLOOD; i++) {
            (void)push_hello((uint8_t)(i % 2));
        }
        tls_handshakes_stop(f.pool);
        tls_handshakes_stop(f.pool); /* again does nothing */
        while ((job = tls_handshakes_pop(f.pool))) {
            side_free(side_of(job));
            popped++;
        }
        assert_int_equal(popped, FLOOD);
        tls_handshakes_free(f.pool);
    }
    tls_handshakes_free(NULL);
}
