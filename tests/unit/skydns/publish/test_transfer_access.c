/* Who may transfer zones. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "skydns/publish/transfer_access.h"
#include "tests/support/skydns/fixture.h"

static bool allows(const struct transfer_who *who, size_t count, const char *client,
                   const char *key)
{
    struct ip ip;
    struct dname name;
    assert_true(ip_parse(slice_str(client), &ip));
    if (key) {
        name = fixture_name(key);
    }
    return transfer_access_allows(who, count, &ip, key ? &name : NULL);
}

static void test_allows(void **state)
{
    struct err err;
    struct transfer_who who[3] = {
        {.has_network = true},
        {.has_key = true, .key = fixture_name("k1.")},
        {.has_network = true, .has_key = true, .key = fixture_name("k2.")},
    };
    (void)state;
    assert_int_equal(network_parse(slice_str("10.0.0.0/8"), &who[0].network, &err), 0);
    assert_int_equal(network_parse(slice_str("fd00::/8"), &who[2].network, &err), 0);
    assert_false(allows(who, 0, "10.1.1.1", "k1."));
    assert_true(allows(who, 3, "10.1.1.1", NULL));
    assert_false(allows(who, 3, "11.1.1.1", NULL));
    assert_true(allows(who, 3, "11.1.1.1", "k1."));
    assert_false(allows(who, 3, "11.1.1.1", "k2."));
    assert_false(allows(who, 3, "fd00::1", NULL));
    assert_true(allows(who, 3, "fd00::1", "k2."));
    assert_false(allows(who, 3, "fd00::1", "k3."));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_allows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
