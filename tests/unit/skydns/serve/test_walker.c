/* Whose walk is next: what is queued before the thread starts is answered in this order. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <sched.h>
#include <string.h>

#include "common/base/slice.h"
#include "common/base/xalloc.h"
#include "skydns/answer/engine.h"
#include "skydns/serve/walker.h"
#include "skydns/store/publisher.h"
#include "tests/support/skydns/fixture.h"

enum { WALK_PATIENCE_MS = 60000 };

static void ignore(void *data)
{
    (void)data;
}

/* Pushes one walk from each of these addresses, and returns their places in the order in which they
 * are answered. */
static void answer_all(const char *const *clients, size_t count, size_t *ret_order)
{
    struct fixture *f = fixture_new(NULL, 0);
    struct publisher *publisher = publisher_new();
    struct engine_config *config = xcalloc(1, sizeof(*config));
    struct err err;
    *config = f->config;
    publisher_configure(publisher, config);
    const struct walker_config walker_config = {.engine = f->engine,
                                                .reader = publisher_reader_new(publisher),
                                                .walk_ms = WALK_PATIENCE_MS,
                                                .wait_ms = WALK_PATIENCE_MS,
                                                .wake = ignore};
    struct walker *walker = walker_new(&walker_config);
    fixture_query(f, "web.cluster.local. A");
    for (size_t i = 0; i < count; i++) {
        struct ip ip;
        assert_true(ip_parse(slice_str(clients[i]), &ip));
        struct addr client = addr_of_ip(&ip, 53);
        const struct engine_query query = {
            .wire = f->query, .len = f->query_len, .client = &client, .local = &client};
        walker_push(walker, walk_new(&query, (void *)(uintptr_t)(i + 1)));
    }
    assert_int_equal(walker_start(walker, &err), 0);
    for (size_t i = 0; i < count; i++) {
        struct walk *walk;
        while (!(walk = walker_pop(walker))) {
            (void)sched_yield();
        }
        assert_int_equal(walk->verdict, ENGINE_REPLY);
        ret_order[i] = (size_t)(uintptr_t)walk->data - 1;
        walk_free(walk);
    }
    walker_stop(walker);
    walker_free(walker);
    publisher_free(publisher);
    fixture_free(f);
}

/* Who asks for one waits for no client's second. */
static void test_clients_take_turns(void **state)
{
    static const char *const clients[] = {"10.0.0.1", "10.0.0.1", "10.0.0.1", "10.0.0.2",
                                          "10.0.0.1", "10.0.0.3", "10.0.0.2"};
    static const size_t want[] = {0, 3, 5, 1, 6, 2, 4};
    size_t order[7];
    (void)state;
    answer_all(clients, 7, order);
    assert_memory_equal(order, want, sizeof(want));
}

/* All addresses of one IPv6 network of 64 bits are one client. */
static void test_a_network_takes_one_turn(void **state)
{
    static const char *const clients[] = {"fd00::1", "fd00::2", "fd00::3", "fd00:0:0:1::1"};
    static const size_t want[] = {0, 3, 1, 2};
    size_t order[4];
    (void)state;
    answer_all(clients, 4, order);
    assert_memory_equal(order, want, sizeof(want));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_clients_take_turns),
        cmocka_unit_test(test_a_network_takes_one_turn),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
