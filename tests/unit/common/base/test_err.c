#include "common/base/err.h"

#include <errno.h>

#include "tests/support/unit_test.h"

UNIT_TEST(test_set_fills_in_and_returns_the_code)
{
    struct err err = {0};
    assert_int_equal(err_set(&err, ERR_SYNTAX, "line %d: %s", 3, "mapping expected"), ERR_SYNTAX);
    assert_int_equal(err.code, ERR_SYNTAX);
    assert_string_equal(err.msg, "line 3: mapping expected");
    assert_int_equal(err_set(NULL, -ENOENT, "nobody reads this"), -ENOENT);
}

UNIT_TEST(test_wrap_puts_context_in_front)
{
    struct err err = {0};
    (void)err_set(&err, ERR_SYNTAX, "mapping expected");
    (void)err_wrap(&err, ERR_SYNTAX, "line %d", 3);
    assert_int_equal(err_wrap(&err, -EINVAL, "read kubeconfig `%s`", "/etc/config"), -EINVAL);
    assert_int_equal(err.code, -EINVAL);
    assert_string_equal(err.msg, "read kubeconfig `/etc/config`: line 3: mapping expected");
    assert_int_equal(err_wrap(NULL, -EINVAL, "nobody"), -EINVAL);
}

/* All combinations of lengths around the limit: truncated, terminated, context kept. */
UNIT_TEST(test_long_messages_are_cut)
{
    enum { SIZE = sizeof(((struct err *)NULL)->msg) };
    char outer[SIZE + 9], inner[SIZE + 9];
    for (size_t o = SIZE - 8; o < SIZE + 8; o++) {
        for (size_t i = 0; i < SIZE + 8; i += i < 8 || i > SIZE - 8 ? 1 : 97) {
            struct err err = {0};
            memset(outer, 'o', sizeof(outer));
            memset(inner, 'i', sizeof(inner));
            outer[o] = inner[i] = '\0';
            (void)err_set(&err, -1, "%s", inner);
            assert_int_equal(strlen(err.msg), i < SIZE ? i : SIZE - 1);
            (void)err_wrap(&err, -1, "%s", outer);
            assert_in_range(strlen(err.msg), SIZE - 8, SIZE - 1);
            assert_int_equal(strspn(err.msg, "o"), o < SIZE - 3 ? o : SIZE - 3);
            assert_non_null(strstr(err.msg, "o: "));
        }
    }
}

UNIT_TEST(test_every_code_has_a_text)
{
    for (int code = ERR_SHUT_OUT; code <= ERR_SYNTAX; code++) {
        assert_non_null(err_code_text(code));
        for (int other = ERR_SHUT_OUT; other < code; other++) {
            assert_string_not_equal(err_code_text(code), err_code_text(other));
        }
    }
    assert_string_equal(err_code_text(-ENOENT), strerror(ENOENT));
    assert_string_equal(err_code_text(0), "success");
    assert_non_null(err_code_text(-999999));
}
