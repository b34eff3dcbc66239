/* A unit test says once that it is one, where it is defined; whoever links this file runs all that
 * its program defines, in the order of the source. Brings cmocka's assertions with what their
 * header wants before it.
 *
 * UNIT_TEST(test_srv) { ... } is a test, run under TEST_FILTER if that is set.
 * UNIT_TEST_IN(test_srv, set_up, tear_down) { ... } has a fixture of its own; each may be NULL.
 * UNIT_TESTS_EACH(set_up, tear_down) is the fixture of each test that names none.
 * UNIT_TESTS_ONCE(set_up, tear_down) runs before the first test and after the last.
 * UNIT_TESTS_NEED(etcd_proc_missing) skips all, with the reason that it returns.
 *
 * `state` is the fixture's, as cmocka passes it; few tests look at it. A program with a main of its
 * own, such as one that runs its tests twice, calls unit_tests_run or lists its tests itself. */
#ifndef TESTS_SUPPORT_UNIT_TEST_H
#define TESTS_SUPPORT_UNIT_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#pragma GCC diagnostic ignored "-Wunused-parameter"

/* Registers a test; called before main. Tests run in the order of `line`. */
void unit_test_add(const char *name, CMUnitTestFunction test, CMFixtureFunction set_up,
                   CMFixtureFunction tear_down, int line);

/* Sets the fixture of tests that have none of their own; called before main. */
void unit_tests_each(CMFixtureFunction set_up, CMFixtureFunction tear_down);

/* Sets what surrounds all tests; called before main. */
void unit_tests_once(CMFixtureFunction set_up, CMFixtureFunction tear_down);

/* Sets who says why no test of this program can run here, or NULL; called before main. */
void unit_tests_need(const char *(*missing)(void));

/* Says that tests of this program start threads; called before main. */
void unit_tests_have_threads(void);

/* Runs all tests as a group of this name in reports; returns how many failed,
 * and one more for a thread that was started without UNIT_TESTS_HAVE_THREADS. */
int unit_tests_run(const char *group);

#define UNIT_TEST_IN(name, set_up, tear_down)                       \
    static void name(void **state);                                 \
    __attribute__((constructor)) static void name##_is_a_test(void) \
    {                                                               \
        unit_test_add(#name, name, set_up, tear_down, __LINE__);    \
    }                                                               \
    static void name(void **state)

#define UNIT_TEST(name) UNIT_TEST_IN(name, NULL, NULL)

#define UNIT_TESTS_EACH(set_up, tear_down)                                   \
    __attribute__((constructor)) static void unit_tests_have_a_fixture(void) \
    {                                                                        \
        unit_tests_each(set_up, tear_down);                                  \
    }

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
