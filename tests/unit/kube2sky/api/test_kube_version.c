/* kube_version: which resource versions are compared, and how, whatever their length. */
#include "kube2sky/api/kube_object.h"

#include "tests/support/unit_test.h"

UNIT_TEST(test_numbers)
{
    static const char *const numbers[] = {"1", "9", "10", "18446744073709551616",
                                          "340282366920938463463374607431768211456"};
    static const char *const others[] = {"", "0", "01", "-1", "+1", "1a", "1.0", " 1", "1 "};
    for (size_t i = 0; i < ARRAY_LEN(numbers); i++) {
        assert_true(kube_version_is_number(numbers[i]));
    }
    for (size_t i = 0; i < ARRAY_LEN(others); i++) {
        assert_false(kube_version_is_number(others[i]));
    }
}

UNIT_TEST(test_order)
{
    static const char *const rising[] = {
        "1", "2", "9", "10", "99", "100", "18446744073709551615", "18446744073709551616"};
    for (size_t i = 0; i < ARRAY_LEN(rising); i++) {
        for (size_t j = 0; j < ARRAY_LEN(rising); j++) {
            assert_int_equal(kube_version_is_before(rising[i], rising[j]), i < j);
            assert_int_equal(kube_version_has_reached(rising[i], rising[j]), i >= j);
        }
    }
}

/* Neither before nor reached: only equality is defined for them. */
UNIT_TEST(test_others_are_not_compared)
{
    static const char *const others[] = {"", "0", "x", "0x10"};
    for (size_t i = 0; i < ARRAY_LEN(others); i++) {
        assert_false(kube_version_is_before(others[i], "5"));
        assert_false(kube_version_is_before("5", others[i]));
        assert_false(kube_version_has_reached(others[i], "5"));
        assert_false(kube_version_has_reached("5", others[i]));
    }
    assert_false(kube_version_has_reached(NULL, "5"));
}
