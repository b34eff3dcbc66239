/* Places of clients: no more than are free. */
#include "common/base/fair_queue.h"
#include "tests/support/unit_test.h"

enum { PLACES = 300 };

static struct addr client_loads_client_at(const char *ip)
{
    struct addr addr;
    assert_true(addr_parse_ip(slice_str(ip), 1, &addr));
    return addr;
}

/* Takes as many of PLACES as the client gets. */
static size_t client_loads_take_all(struct client_loads *loads, const char *ip, size_t taken)
{
    const struct addr client = client_loads_client_at(ip);
    size_t count = 0;
    while (client_loads_take(loads, &client, PLACES - taken - count)) {
        count++;
    }
    return count;
}

UNIT_TEST(test_one_has_half_two_a_third_each)
{
    struct client_loads *loads = client_loads_new();
    size_t taken = client_loads_take_all(loads, "192.0.2.1", 0);
    assert_int_equal(taken, PLACES / 2);
    size_t more = client_loads_take_all(loads, "192.0.2.2", taken);
    assert_int_equal(more, PLACES / 4);
    for (unsigned i = 3; taken + more < PLACES - 1; i++) {
        char ip[] = "192.0.2.0";
        ip[8] = (char)('0' + i);
        taken += more;
        more = client_loads_take_all(loads, ip, taken);
        assert_true(more > 0); /* there is always one for another */
    }
    client_loads_free(loads);
}

UNIT_TEST(test_what_is_given_back_is_free)
{
    struct client_loads *loads = client_loads_new();
    const struct addr a = client_loads_client_at("2001:db8::1"),
                      neighbour = client_loads_client_at("2001:db8::2");
    assert_false(client_loads_take(loads, &a, 0));
    assert_true(client_loads_take(loads, &a, 1));
    assert_false(client_loads_take(loads, &neighbour, 1)); /* of one /64 */
    client_loads_drop(loads, &a);
    assert_true(client_loads_take(loads, &neighbour, 1));
    assert_int_equal(client_loads_add(loads, &a), 2);
    client_loads_free(loads);
}
