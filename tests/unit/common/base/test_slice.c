/* slice: parts of texts between separators, from both ends. */
#include "common/base/attributes.h"
#include "common/base/slice.h"
#include "tests/support/unit_test.h"

UNIT_TEST(test_cuts)
{
    static const struct {
        const char *text;
        const char *first, *rest_behind; /* of slice_cut */
        const char *last, *rest_before;  /* of slice_cut_last */
    } cases[] = {
        {"a/b/c", "a", "b/c", "c", "a/b"},
        {"abc", "abc", "", "abc", ""},
        {"", "", "", "", ""},
        {"/", "", "", "", ""},
        {"a/", "a", "", "", "a"},
        {"/a", "", "a", "a", ""},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct slice rest = slice_str(cases[i].text);
        assert_true(slice_equal(slice_cut(&rest, '/'), slice_str(cases[i].first)));
        assert_true(slice_equal(rest, slice_str(cases[i].rest_behind)));
        rest = slice_str(cases[i].text);
        assert_true(slice_equal(slice_cut_last(&rest, '/'), slice_str(cases[i].last)));
        assert_true(slice_equal(rest, slice_str(cases[i].rest_before)));
    }
    struct slice none = slice_of(NULL, 0);
    assert_null(slice_cut(&none, '/').ptr);
    assert_null(slice_cut_last(&none, '/').ptr);
}

UNIT_TEST(test_capitals)
{
    char text[] = "aB-Z[@\xc4";
    ascii_lower_copy(text, text, sizeof(text));
    assert_string_equal(text, "ab-z[@\xc4");
    assert_true(slice_has_capitals(slice_str("aB")));
    assert_false(slice_has_capitals(slice_str("a-9[`")));
    assert_false(slice_has_capitals(slice_of(NULL, 0)));
}
