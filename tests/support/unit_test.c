#include "tests/support/unit_test.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>

static struct CMUnitTest *unit_tests;
static int *unit_test_lines; /* of each */
static bool *unit_tests_on;  /* the fixture */
static size_t unit_test_count;
static CMFixtureFunction each_set_up, each_tear_down, once_set_up, once_tear_down;
static const char *(*why_missing)(void);
static bool is_each_for_all;
static bool are_threads_said;
static atomic_bool are_threads_started;

/* The linker leads all calls of pthread_create in unit programs here (Makefile). */
typedef void *thread_start(void *data);
int __real_pthread_create(pthread_t *ret, const pthread_attr_t *attributes, thread_start *start,
                          void *data);
int __wrap_pthread_create(pthread_t *ret, const pthread_attr_t *attributes, thread_start *start,
                          void *data);

int __wrap_pthread_create(pthread_t *ret, const pthread_attr_t *attributes, thread_start *start,
                          void *data)
{
    atomic_store(&are_threads_started, true);
    return __real_pthread_create(ret, attributes, start, data);
}

/* TEST_FILTER: names, with wildcards `*` and `?`, of the tests to run (one.py). Holds for a main of
 * a test's own, too. */
__attribute__((constructor)) static void set_filter(void)
{
    const char *pattern = getenv("TEST_FILTER");
    if (pattern && pattern[0]) {
        cmocka_set_test_filter(pattern);
    }
}

void unit_test_add(const char *name, CMUnitTestFunction test, CMFixtureFunction set_up,
                   CMFixtureFunction tear_down, bool is_on, int line)
{
    unit_tests = xrealloc_array(unit_tests, unit_test_count + 1, sizeof(*unit_tests));
    unit_test_lines =
        xrealloc_array(unit_test_lines, unit_test_count + 1, sizeof(*unit_test_lines));
    unit_tests_on = xrealloc_array(unit_tests_on, unit_test_count + 1, sizeof(*unit_tests_on));
    size_t i = unit_test_count++; /* a compiler may turn the order of constructors round */
    for (; i > 0 && unit_test_lines[i - 1] > line; i--) {
        unit_tests[i] = unit_tests[i - 1];
        unit_test_lines[i] = unit_test_lines[i - 1];
        unit_tests_on[i] = unit_tests_on[i - 1];
    }
    unit_test_lines[i] = line;
    unit_tests_on[i] = is_on;
    unit_tests[i] = (struct CMUnitTest){
        .name = name, .test_func = test, .setup_func = set_up, .teardown_func = tear_down};
}

void unit_tests_each(CMFixtureFunction set_up, CMFixtureFunction tear_down, bool is_for_all)
{
    is_each_for_all = is_for_all;
    each_set_up = set_up;
    each_tear_down = tear_down;
}

void unit_tests_once(CMFixtureFunction set_up, CMFixtureFunction tear_down)
{
    once_set_up = set_up;
    once_tear_down = tear_down;
}

void unit_tests_need(const char *(*missing)(void))
{
    why_missing = missing;
}

void unit_tests_have_threads(void)
{
    are_threads_said = true;
}

static void skip_test(void **state)
{
    print_message("skipped: %s\n", why_missing());
    skip();
}

int unit_tests_run(const char *group)
{
    if (why_missing && why_missing()) {
        for (size_t i = 0; i < unit_test_count; i++) {
            unit_tests[i] = (struct CMUnitTest){.name = unit_tests[i].name, .test_func = skip_test};
        }
        return _cmocka_run_group_tests(group, unit_tests, unit_test_count, NULL, NULL);
    }
    for (size_t i = 0; i < unit_test_count; i++) {
        if (unit_tests_on[i] ||
            (is_each_for_all && !unit_tests[i].setup_func && !unit_tests[i].teardown_func)) {
            unit_tests[i].setup_func = each_set_up;
            unit_tests[i].teardown_func = each_tear_down;
        }
    }
    int failed =
        _cmocka_run_group_tests(group, unit_tests, unit_test_count, once_set_up, once_tear_down);
    if (atomic_load(&are_threads_started) && !are_threads_said) {
        print_error(
            "%s starts threads without UNIT_TESTS_HAVE_THREADS (expected: check-tsan runs it)\n",
            group);
        failed++;
    }
    return failed;
}

__attribute__((weak)) int main(void)
{
    return unit_tests_run(program_invocation_short_name);
}
