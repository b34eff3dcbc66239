/* A unit test says once that it is one, where it is defined; whoever links this file runs all that
 * its program defines, in the order of the source. Brings cmocka's assertions with what their
 * header wants before it, and what most tests use: text, memory, ARRAY_LEN, CLEANUP_FREE.
 *
 * UNIT_TEST(test_srv) { ... } is a test, run under TEST_FILTER if that is set.
 * UNIT_TEST_ON(test_srv, struct bed *bed) { ... } is a test on the program's fixture.
 * UNIT_FIXTURE(struct bed, set_up, tear_down) is that fixture: zeroed before set_up(bed) and freed
 * after tear_down(bed), for each test of its own, and also if that fails.
 * UNIT_FIXTURE_MADE(bed_new(4), bed_free) is that fixture where a call makes it.
 * UNIT_TEST_IN(test_srv, set_up, tear_down) { ... } has a fixture of its own in cmocka's form.
 * UNIT_TESTS_EACH(set_up, tear_down) is one for each test that names none; each may be NULL.
 * UNIT_TESTS_ONCE(set_up, tear_down) runs before the first test and after the last.
 * UNIT_TESTS_NEED(etcd_proc_missing) skips all, with the reason that it returns.
 *
 * `state` is the fixture's, as cmocka passes it. A program with a main of its own, such as one that
 * runs its tests twice, calls unit_tests_run or lists its tests itself. */
#ifndef TESTS_SUPPORT_UNIT_TEST_H
#define TESTS_SUPPORT_UNIT_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/base/attributes.h"
#include "common/base/cleanup.h"
#include "common/base/xalloc.h"

#pragma GCC diagnostic ignored "-Wunused-parameter"

/* For a local that a function releases when its scope ends: CLEANUP(plan_fini) struct plan p. */
#define CLEANUP(release) __attribute__((cleanup(release)))

/* The same for a pointer: after CLEANUP_POINTER(cache_unref, struct cache) in the program,
 * CLEANUP(cache_unref_of) struct cache *cache. */
#define CLEANUP_POINTER(release, type)              \
    static inline void release##_of(type **pointer) \
    {                                               \
        release(*pointer);                          \
    }

/* Fails the test, with a message that names the row and what was there, if the condition fails. */
#define assert_that(condition, ...) \
    do {                            \
        if (!(condition)) {         \
            fail_msg(__VA_ARGS__);  \
        }                           \
    } while (0)

/* Registers a test, which is defined on the program's fixture or not; called before main. Tests run
 * in the order of `line`. */
void unit_test_add(const char *name, CMUnitTestFunction test, CMFixtureFunction set_up,
                   CMFixtureFunction tear_down, bool is_on, int line);

/* Sets the fixture of the tests that are defined on it, or of all that have none of their own;
 * called before main. */
void unit_tests_each(CMFixtureFunction set_up, CMFixtureFunction tear_down, bool is_for_all);

/* Sets what surrounds all tests; called before main. */
void unit_tests_once(CMFixtureFunction set_up, CMFixtureFunction tear_down);

/* Sets who says why no test of this program can run here, or NULL; called before main. */
void unit_tests_need(const char *(*missing)(void));

/* Says that tests of this program start threads; called before main. */
void unit_tests_have_threads(void);

/* Runs all tests as a group of this name in reports; returns how many failed,
 * and one more for a thread that was started without UNIT_TESTS_HAVE_THREADS. */
int unit_tests_run(const char *group);

#define UNIT_TEST_ADD(name, set_up, tear_down, is_on)                   \
    static void name(void **state);                                     \
    __attribute__((constructor)) static void name##_is_a_test(void)     \
    {                                                                   \
        unit_test_add(#name, name, set_up, tear_down, is_on, __LINE__); \
    }                                                                   \
    static void name(void **state)

#define UNIT_TEST(name) UNIT_TEST_ADD(name, NULL, NULL, false)

#define UNIT_TEST_IN(name, set_up, tear_down) UNIT_TEST_ADD(name, set_up, tear_down, false)

#define UNIT_TEST_ON(name, fixture)       \
    static void name##_on(fixture);       \
    UNIT_TEST_ADD(name, NULL, NULL, true) \
    {                                     \
        name##_on(*state);                \
    }                                     \
    static void name##_on(fixture)

#define UNIT_TESTS_EACH(set_up, tear_down)                                   \
    __attribute__((constructor)) static void unit_tests_have_a_fixture(void) \
    {                                                                        \
        unit_tests_each(set_up, tear_down, true);                            \
    }

#define UNIT_FIXTURE_AT(expression, tear_down, release)                      \
    static int unit_fixture_set_up(void **state)                             \
    {                                                                        \
        expression;                                                          \
        return 0;                                                            \
    }                                                                        \
    static int unit_fixture_tear_down(void **state)                          \
    {                                                                        \
        tear_down(*state);                                                   \
        release;                                                             \
        return 0;                                                            \
    }                                                                        \
    __attribute__((constructor)) static void unit_tests_have_a_fixture(void) \
    {                                                                        \
        unit_tests_each(unit_fixture_set_up, unit_fixture_tear_down, false); \
    }

#define UNIT_FIXTURE(type, set_up, tear_down) \
    UNIT_FIXTURE_AT(set_up(*state = xcalloc(1, sizeof(type))), tear_down, free(*state))

#define UNIT_FIXTURE_MADE(made, tear_down) UNIT_FIXTURE_AT(*state = (made), tear_down, )

#define UNIT_TESTS_ONCE(set_up, tear_down)                                      \
    __attribute__((constructor)) static void unit_tests_have_surroundings(void) \
    {                                                                           \
        unit_tests_once(set_up, tear_down);                                     \
    }

#define UNIT_TESTS_NEED(missing)                                          \
    __attribute__((constructor)) static void unit_tests_have_a_need(void) \
    {                                                                     \
        unit_tests_need(missing);                                         \
    }

#define UNIT_TESTS_HAVE_THREADS                                           \
    __attribute__((constructor)) static void unit_tests_say_threads(void) \
    {                                                                     \
        unit_tests_have_threads();                                        \
    }

#endif
