/* The quota of cgroups, read from files in the kernel's format. */
#include <sys/stat.h>
#include <unistd.h>

#include "skydns/confine/process_limits.h"
#include "tests/support/from_text.h"
#include "tests/support/unit_test.h"

enum { FILES_MAX = 6 };

struct row {
    const char *name;
    const char *cgroup; /* /proc/self/cgroup */
    struct {
        const char *path; /* below /sys/fs/cgroup */
        const char *text;
    } files[FILES_MAX];
    unsigned want;
};

static const struct row rows[] = {
    {"no cgroup file", NULL, {{NULL, NULL}}, 0},
    {"nothing mounted", "0::/a/b\n", {{NULL, NULL}}, 0},
    {"no quota", "0::/\n", {{"cpu.max", "max 100000\n"}}, 0},
    {"in a container", "0::/\n", {{"cpu.max", "200000 100000\n"}}, 2},
    {"a part counts whole", "0::/\n", {{"cpu.max", "10000 100000\n"}}, 1},
    {"one and a half", "0::/\n", {{"cpu.max", "150000 100000\n"}}, 2},
    {"below", "0::/a/b\n", {{"a/b/cpu.max", "300000 100000\n"}, {"a/cpu.max", "max 100000\n"}}, 3},
    {"the one around is smaller",
     "0::/a/b\n",
     {{"a/b/cpu.max", "300000 100000\n"}, {"a/cpu.max", "200000 100000\n"}},
     2},
    {"a path outside of the mount", "0::/../../x\n", {{"cpu.max", "400000 100000\n"}}, 4},
    {"not understood", "0::/\nnonsense\n", {{"cpu.max", "much\n"}}, 0},
    {"version 1",
     "5:memory:/m\n4:cpu,cpuacct:/d/c\n0::/\n",
     {{"cpu,cpuacct/d/c/cpu.cfs_quota_us", "250000\n"},
      {"cpu,cpuacct/d/c/cpu.cfs_period_us", "100000\n"}},
     3},
    {"version 1 in a container",
     "4:cpu:/d/c\n",
     {{"cpu/cpu.cfs_quota_us", "100000\n"}, {"cpu/cpu.cfs_period_us", "50000\n"}},
     2},
    {"version 1 without quota",
     "4:cpuset,cpu:/\n",
     {{"cpuset,cpu/cpu.cfs_quota_us", "-1\n"}, {"cpuset,cpu/cpu.cfs_period_us", "100000\n"}},
     0},
    {"cpuset is not cpu",
     "4:cpuset:/\n",
     {{"cpuset/cpu.cfs_quota_us", "100000\n"}, {"cpuset/cpu.cfs_period_us", "100000\n"}},
     0},
};

/* Creates the path's folders, too. */
static void cpu_limit_write_file(const char *path, const char *text)
{
    char folder[512];
    for (const char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        (void)snprintf(folder, sizeof(folder), "%.*s", (int)(slash - path), path);
        (void)mkdir(folder, 0700); /* may exist */
    }
    file_from(path, text);
}

UNIT_TEST(test_quotas)
{
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char root[] = "/tmp/cgroup-XXXXXX", cgroup[64], path[512], command[64];
        assert_non_null(mkdtemp(root));
        (void)snprintf(cgroup, sizeof(cgroup), "%s/proc-self-cgroup", root);
        if (rows[i].cgroup) {
            cpu_limit_write_file(cgroup, rows[i].cgroup);
        }
        for (size_t k = 0; k < FILES_MAX && rows[i].files[k].path; k++) {
            (void)snprintf(path, sizeof(path), "%s/%s", root, rows[i].files[k].path);
            cpu_limit_write_file(path, rows[i].files[k].text);
        }
        unsigned got = cpu_limit_quota(cgroup, root);
        (void)snprintf(command, sizeof(command), "rm -r %s", root);
        assert_int_equal(system(command), 0);
        assert_that(got == rows[i].want, "%s: %u, expected %u", rows[i].name, got, rows[i].want);
    }
}

UNIT_TEST(test_there_is_one)
{
    assert_true(cpu_limit() >= 1);
}
