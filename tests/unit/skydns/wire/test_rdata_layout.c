/* Lists the bytes of rdata that are names: each type of RFC 1035, RFC 1183, RFC 2230, RFC 2163, RFC
 * 2782, RFC 3403, RFC 6672 and RFC 4034 that has some, and no other type. */
#include "common/dns/dns.h"
#include "skydns/wire/rdata_layout.h"
#include "tests/support/unit_test.h"

static const struct {
    uint16_t type;
    uint8_t head, strings, names;
} with_names[] = {
    {2, 0, 0, 1},  {3, 0, 0, 1},  {4, 0, 0, 1},   {5, 0, 0, 1},   {6, 0, 0, 2},  {7, 0, 0, 1},
    {8, 0, 0, 1},  {9, 0, 0, 1},  {12, 0, 0, 1},  {14, 0, 0, 2},  {15, 2, 0, 1}, {17, 0, 0, 2},
    {18, 2, 0, 1}, {21, 2, 0, 1}, {24, 18, 0, 1}, {26, 2, 0, 2},  {30, 0, 0, 1}, {33, 6, 0, 1},
    {35, 4, 3, 1}, {36, 2, 0, 1}, {39, 0, 0, 1},  {46, 18, 0, 1}, {47, 0, 0, 1},
};

UNIT_TEST(test_every_type)
{
    size_t n = 0;
    for (unsigned type = 0; type <= UINT16_MAX; type++) {
        const struct rdata_layout *layout = rdata_layout_of(type);
        if (n < sizeof(with_names) / sizeof(with_names[0]) && with_names[n].type == type) {
            assert_int_equal(layout->head, with_names[n].head);
            assert_int_equal(layout->strings, with_names[n].strings);
            assert_int_equal(layout->names, with_names[n].names);
            n++;
        } else {
            assert_int_equal(layout->names, 0);
            assert_false(layout->is_compressible);
        }
    }
    assert_int_equal(n, sizeof(with_names) / sizeof(with_names[0]));
}

UNIT_TEST(test_only_old_types_are_compressed)
{
    for (unsigned type = 0; type < RDATA_LAYOUT_TYPES; type++) {
        const struct rdata_layout *layout = rdata_layout_of(type);
        assert_int_equal(layout->is_compressible, layout->names > 0 && type <= DNS_TYPE_MX);
    }
}

UNIT_TEST(test_rest)
{
    assert_int_equal(rdata_layout_of(DNS_TYPE_SOA)->rest, 20);
    assert_int_equal(rdata_layout_of(DNS_TYPE_RRSIG)->rest, RDATA_REST_ANY);
    assert_int_equal(rdata_layout_of(DNS_TYPE_NSEC)->rest, RDATA_REST_ANY);
    assert_int_equal(rdata_layout_of(DNS_TYPE_CNAME)->rest, 0);
}
