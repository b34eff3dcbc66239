#include "tests/support/few_descriptors.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "tests/support/unit_test.h"

static rlim_t limit_before;

static void limit_descriptors(rlim_t count)
{
    struct rlimit limit;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
    limit_before = limit.rlim_cur;
    limit.rlim_cur = count;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
}

void few_descriptors_begin(void)
{
    const int next = open("/dev/null", O_RDONLY | O_CLOEXEC);
    assert_true(next >= 0);
    assert_int_equal(close(next), 0);
    limit_descriptors((rlim_t)next);
}

void few_descriptors_end(void)
{
    limit_descriptors(limit_before);
}
