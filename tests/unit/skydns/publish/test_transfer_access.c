/* Checks which clients may transfer zones. */
#include "skydns/publish/engine_config.h"
#include "tests/support/from_text.h"
#include "tests/support/skydns/fixture.h"
#include "tests/support/unit_test.h"

static bool publish_transfer_access_allows(const struct transfer_who *who, size_t count,
                                           const char *client, const char *key)
{
    struct addr from;
    struct dname name;
    assert_true(addr_parse_ip(slice_str(client), 4711, &from));
    if (key) {
        name = dname_from(key);
    }
    return transfer_access_allows(who, count, &from, key ? &name : NULL);
}

UNIT_TEST(test_allows)
{
    struct err err;
    struct transfer_who who[3] = {
        {.has_network = true},
        {.has_key = true, .key = dname_from("k1.")},
        {.has_network = true, .has_key = true, .key = dname_from("k2.")},
    };
    assert_int_equal(network_parse(slice_str("10.0.0.0/8"), &who[0].network, &err), 0);
    assert_int_equal(network_parse(slice_str("fd00::/8"), &who[2].network, &err), 0);
    assert_false(publish_transfer_access_allows(who, 0, "10.1.1.1", "k1."));
    assert_true(publish_transfer_access_allows(who, 3, "10.1.1.1", NULL));
    assert_false(publish_transfer_access_allows(who, 3, "11.1.1.1", NULL));
    assert_true(publish_transfer_access_allows(who, 3, "11.1.1.1", "k1."));
    assert_false(publish_transfer_access_allows(who, 3, "11.1.1.1", "k2."));
    assert_false(publish_transfer_access_allows(who, 3, "fd00::1", NULL));
    assert_true(publish_transfer_access_allows(who, 3, "fd00::1", "k2."));
    assert_false(publish_transfer_access_allows(who, 3, "fd00::1", "k3."));
}

/* The same link-local address is another machine's on another interface. */
UNIT_TEST(test_scope)
{
    struct transfer_who who = {.has_network = true};
    struct addr here, there;
    struct err err;
    assert_int_equal(network_parse(slice_str("fe80::1"), &who.network, &err), 0);
    assert_true(addr_parse_ip(slice_str("fe80::1%1"), 53, &here));
    assert_true(addr_parse_ip(slice_str("fe80::1%2"), 53, &there));
    assert_true(transfer_access_allows(&who, 1, &there, NULL));
    who.notify = here;
    assert_true(transfer_access_allows(&who, 1, &here, NULL));
    assert_false(transfer_access_allows(&who, 1, &there, NULL));
}
