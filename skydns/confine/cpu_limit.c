#include "skydns/confine/cpu_limit.h"

#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "common/base/cleanup.h"

/* Of a line or path; no cgroup whose quota we could read has longer ones. */
enum { TEXT_MAX = 4096 };

/* The first line of a file; false if there is none. */
static bool read_line(const char *path, char line[TEXT_MAX])
{
    CLEANUP_FILE FILE *file = fopen(path, "re");
    return file && fgets(line, TEXT_MAX, file);
}

static unsigned round_up(long quota_us, long period_us)
{
    return quota_us > 0 && period_us > 0 ? (unsigned)((quota_us + period_us - 1) / period_us) : 0;
}

/* "200000 100000"; "max 100000" means none. */
static unsigned quota_v2(const char *folder)
{
    char path[TEXT_MAX], line[TEXT_MAX];
    long quota_us, period_us;
    int n = snprintf(path, sizeof(path), "%s/cpu.max", folder);
    if (n >= TEXT_MAX || !read_line(path, line) ||
        sscanf(line, "%ld %ld", &quota_us, &period_us) != 2) {
        return 0;
    }
    return round_up(quota_us, period_us);
}

static bool read_number(const char *folder, const char *name, long *ret)
{
    char path[TEXT_MAX], line[TEXT_MAX];
    int n = snprintf(path, sizeof(path), "%s/%s", folder, name);
    return n < TEXT_MAX && read_line(path, line) && sscanf(line, "%ld", ret) == 1;
}

static unsigned quota_v1(const char *folder)
{
    long quota_us, period_us;
    return read_number(folder, "cpu.cfs_quota_us", &quota_us) &&
                   read_number(folder, "cpu.cfs_period_us", &period_us)
               ? round_up(quota_us, period_us)
               : 0;
}

static unsigned smaller(unsigned a, unsigned b)
{
    return a == 0 || (b != 0 && b < a) ? b : a;
}

/* The smallest quota from a cgroup up to the root of the mount. In a container the path may lie
 * outside the mount; the root is then the container's own cgroup. */
static unsigned smallest(const char *mount, char *path, unsigned (*quota)(const char *))
{
    char folder[2 * TEXT_MAX];
    unsigned least = quota(mount);
    for (char *slash; *path && (slash = strrchr(path, '/')); *slash = '\0') {
        if (snprintf(folder, sizeof(folder), "%s%s", mount, path) < TEXT_MAX) {
            least = smaller(least, quota(folder));
        }
    }
    return least;
}

static bool has_word(const char *list, const char *end, const char *word)
{
    size_t len = strlen(word);
    for (const char *at = list; at < end; at += strcspn(at, ",:") + 1) {
        if (strncmp(at, word, len) == 0 && (at[len] == ',' || at[len] == ':')) {
            return true;
        }
    }
    return false;
}

/* Parses a line `ID:CONTROLLERS:PATH`, proc(5); no controllers: version 2. */
static unsigned quota_of_line(char *line, const char *sys_root)
{
    char mount[TEXT_MAX];
    line[strcspn(line, "\n")] = '\0';
    char *controllers = strchr(line, ':'),
         *path = controllers ? strchr(controllers + 1, ':') : NULL;
    if (!path) {
        return 0;
    }
    controllers++;
    if (path == controllers) {
        return snprintf(mount, sizeof(mount), "%s", sys_root) < TEXT_MAX
                   ? smallest(mount, path + 1, quota_v2)
                   : 0;
    }
    if (!has_word(controllers, path, "cpu")) {
        return 0;
    }
    int n =
        snprintf(mount, sizeof(mount), "%s/%.*s", sys_root, (int)(path - controllers), controllers);
    return n < TEXT_MAX ? smallest(mount, path + 1, quota_v1) : 0;
}

unsigned cpu_limit_quota(const char *proc_cgroup, const char *sys_root)
{
    char line[TEXT_MAX];
    unsigned least = 0;
    CLEANUP_FILE FILE *file = fopen(proc_cgroup, "re");
    while (file && fgets(line, sizeof(line), file)) {
        least = smaller(least, quota_of_line(line, sys_root));
    }
    return least;
}

unsigned cpu_limit(void)
{
    cpu_set_t usable;
    CPU_ZERO(&usable);
    unsigned cpus =
        sched_getaffinity(0, sizeof(usable), &usable) == 0 ? (unsigned)CPU_COUNT(&usable) : 1;
    unsigned limit = smaller(cpu_limit_quota("/proc/self/cgroup", "/sys/fs/cgroup"), cpus);
    return limit ? limit : 1;
}
