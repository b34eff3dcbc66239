/* TEST_FILTER=test_srv: cmocka runs only the tests whose names match it (wildcards `*` and `?`).
 * For `make one TEST=test_fast::test_srv`; linked into every unit program, needs no call. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

__attribute__((constructor)) static void set_filter(void)
{
    const char *pattern = getenv("TEST_FILTER");
    if (pattern && pattern[0]) {
        cmocka_set_test_filter(pattern);
    }
}
