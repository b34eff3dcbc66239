/* The reference vectors of SipHash-2-4: key 00 to 0f, input 00, 01, 02... */
#include "common/base/seeded_hash.h"
#include "tests/support/unit_test.h"

static const struct {
    size_t len;
    const char *hash; /* little-endian */
} vectors[] = {
    {0, "310e0edd47db6f72"},  {1, "fd67dc93c539f874"},  {2, "5a4fa9d909806c0d"},
    {3, "2d7efbd796666785"},  {4, "b7877127e09427cf"},  {5, "8da699cd64557618"},
    {6, "cee3fe586e46c9cb"},  {7, "37d1018bf50002ab"},  {8, "6224939a79f5f593"},
    {9, "b0e4a90bdf82009e"},  {10, "f3b9dd94c5bb5d7a"}, {11, "a7ad6b22462fb3f4"},
    {12, "fbe50e86bc8f1e75"}, {13, "903d84c02756ea14"}, {14, "eef27a8e90ca23f7"},
    {15, "e545be4961ca29a1"}, {63, "724506eb4c328a95"},
};

UNIT_TEST(matches_reference)
{
    uint8_t key[SIPHASH_KEY_SIZE], input[64];
    for (size_t i = 0; i < sizeof(input); i++) {
        input[i] = (uint8_t)i;
        key[i % SIPHASH_KEY_SIZE] = (uint8_t)(i % SIPHASH_KEY_SIZE);
    }
    for (size_t i = 0; i < sizeof(vectors) / sizeof(vectors[0]); i++) {
        char text[17];
        uint64_t hash = siphash24(key, slice_of(input, vectors[i].len));
        for (unsigned byte = 0; byte < 8; byte++) {
            (void)snprintf(text + (size_t)2 * byte, 3, "%02x", (unsigned)(hash >> 8 * byte & 0xff));
        }
        assert_string_equal(text, vectors[i].hash);
    }
}
