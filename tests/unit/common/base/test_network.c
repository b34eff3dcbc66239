/* Networks: every length, and addresses that differ in one bit. */
#include "common/base/addr.h"
#include "tests/support/from_text.h"
#include "tests/support/unit_test.h"

static void network_flip(struct ip *ip, unsigned bit)
{
    ip->bytes[bit / 8] ^= (uint8_t)(0x80 >> bit % 8);
}

static void check_family(const char *text)
{
    struct ip ip = ip_from(text);
    const unsigned bits = ip.family_bytes * 8u;
    for (unsigned prefix = 0; prefix <= bits; prefix++) {
        struct network network = network_of(&ip, (uint8_t)prefix);
        assert_true(network_contains(&network, &ip));
        for (unsigned bit = 0; bit < bits; bit++) {
            struct ip other = ip;
            network_flip(&other, bit);
            assert_int_equal(network_contains(&network, &other), bit >= prefix);
        }
    }
}

UNIT_TEST(test_contains)
{
    check_family("10.255.1.128");
    check_family("fd00:1234:5678:9abc:def0:ff:fe00:1");
}

/* Not even the network of all addresses has those of the other family. */
UNIT_TEST(test_families)
{
    struct network network;
    struct err err;
    assert_int_equal(network_parse(slice_str("0.0.0.0/0"), &network, &err), 0);
    struct ip ip = ip_from("::");
    assert_false(network_contains(&network, &ip));
    assert_int_equal(network_parse(slice_str("::/0"), &network, &err), 0);
    assert_true(ip_parse(slice_str("0.0.0.0"), &ip));
    assert_false(network_contains(&network, &ip));
}
