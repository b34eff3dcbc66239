/* process_metrics: each figure is there and follows what the process does. */
#include "common/base/process_metrics.h"

#include <sys/prctl.h>
#include <unistd.h>

#include "tests/support/unit_test.h"

enum { PAGE_MAX = 16 * 1024 };

/* -1: it is not there. */
static double process_metrics_value_of(const char *name)
{
    CLEANUP_FREE char *line = xasprintf("\n%s ", name);
    CLEANUP_BUF struct buf page = buf_of(PAGE_MAX);
    process_metrics_write(&page, 1763665418);
    const char *at = strstr(buf_cstr(&page), line);
    return at ? strtod(at + strlen(line), NULL) : -1;
}

UNIT_TEST(before_it_is_opened)
{
    assert_true(process_metrics_value_of("process_cpu_seconds_total") >= 0);
    assert_true(process_metrics_value_of("process_start_time_seconds") == 1763665418);
    assert_true(process_metrics_value_of("process_resident_memory_bytes") < 0);
    assert_true(process_metrics_value_of("process_open_fds") < 0);
}

/* A name with what separates the fields must not shift them. */
UNIT_TEST(all_figures)
{
    process_metrics_open();
    assert_int_equal(prctl(PR_SET_NAME, "a) R 1 (b", 0, 0, 0), 0);
    assert_true(process_metrics_value_of("process_threads") >= 1 &&
                process_metrics_value_of("process_threads") < 10);
    assert_true(process_metrics_value_of("process_resident_memory_bytes") > 100 * 1024);
    assert_true(process_metrics_value_of("process_virtual_memory_bytes") >=
                process_metrics_value_of("process_resident_memory_bytes"));
    assert_true(process_metrics_value_of("process_max_fds") > 0);
}

UNIT_TEST(descriptors_are_counted)
{
    double before = process_metrics_value_of("process_open_fds");
    int fd = dup(STDERR_FILENO);
    assert_true(fd >= 0);
    assert_true(process_metrics_value_of("process_open_fds") == before + 1);
    assert_int_equal(close(fd), 0);
    assert_true(process_metrics_value_of("process_open_fds") == before);
}
