/* Lists the files that skydns confines itself to (Landlock). */
#include "skydns/confine/sandbox_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <linux/landlock.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/base/attributes.h"
#include "common/base/cleanup.h"
#include "common/base/err.h"
#include "common/base/log.h"
#include "common/base/xalloc.h"
#include "skydns/confine/confinement.h"

/* Defines rights that are newer than the headers of Debian 12. */
#ifndef LANDLOCK_ACCESS_FS_REFER
#define LANDLOCK_ACCESS_FS_REFER (UINT64_C(1) << 13)
#endif
#ifndef LANDLOCK_ACCESS_FS_TRUNCATE
#define LANDLOCK_ACCESS_FS_TRUNCATE (UINT64_C(1) << 14)
#endif

static const uint64_t all_of_abi_1 = LANDLOCK_ACCESS_FS_MAKE_SYM * 2 - 1;
static const uint64_t read_only = LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR;

static const uint64_t read_write = read_only | LANDLOCK_ACCESS_FS_WRITE_FILE |
                                   LANDLOCK_ACCESS_FS_MAKE_REG | LANDLOCK_ACCESS_FS_MAKE_SOCK |
                                   LANDLOCK_ACCESS_FS_REMOVE_FILE | LANDLOCK_ACCESS_FS_TRUNCATE;

/* Folders of the C library, OpenSSL and their configuration. All of /etc, since resolv.conf and
 * hosts are replaced by renaming. Files in it that need a privilege still need it. */
static const char *const system_folders[] = {
    "/etc",  "/usr", "/lib", "/lib64", "/sys/devices/system/cpu", "/proc/sys", "/dev/urandom",
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    "/proc",
#endif
};

/* Returns the rights that this kernel can restrict; negative: -errno. */
static int64_t known_rights(void)
{
    long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
    if (abi < 0) {
        return -errno;
    }
    return (int64_t)(all_of_abi_1 | (abi >= 2 ? LANDLOCK_ACCESS_FS_REFER : 0) |
                     (abi >= 3 ? LANDLOCK_ACCESS_FS_TRUNCATE : 0));
}

/* Allows rights below the path; a path that does not exist needs no rule. */
static void sandbox_files_allow(int ruleset, const char *path, uint64_t rights)
{
    CLEANUP_CLOSE int fd = open(path, O_PATH | O_CLOEXEC);
    struct stat st;
    if (fd < 0 || fstat(fd, &st) < 0) {
        return;
    }
    struct landlock_path_beneath_attr rule = {
        .allowed_access = S_ISDIR(st.st_mode) ? rights : rights & ~LANDLOCK_ACCESS_FS_READ_DIR,
        .parent_fd = fd,
    };
    /* A failure leaves it forbidden. */
    (void)syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &rule, 0);
}

/* Allows the folder of a path; not "/", which would be everything: then only the file itself. */
static void allow_with_folder(int ruleset, const char *path)
{
    CLEANUP_FREE char *copy = xstrdup(path);
    const char *folder = dirname(copy);
    sandbox_files_allow(ruleset, path, read_only);
    if (strcmp(folder, "/") != 0) {
        sandbox_files_allow(ruleset, folder, read_only);
    }
}

static void allow_given(int ruleset, const char *path)
{
    if (*path) {
        CLEANUP_FREE char *target = realpath(path, NULL);
        allow_with_folder(ruleset, path);
        if (target) {
            allow_with_folder(ruleset, target);
        }
    }
}

/* Allows writing in the folder alone: a link in it is replaced, not followed. The kernel refuses
 * rights it does not know. */
static void allow_written(int ruleset, const char *path, uint64_t known)
{
    CLEANUP_FREE char *copy = xstrdup(path);
    CLEANUP_FREE char *folder = *path ? realpath(dirname(copy), NULL) : NULL;
    if (folder && strcmp(folder, "/") != 0) {
        sandbox_files_allow(ruleset, folder, read_write & known);
    }
}

int sandbox_files(const char *const *paths, size_t count, const char *const *written,
                  size_t written_count)
{
    int64_t rights = known_rights();
    if (rights < 0) {
        return (int)rights;
    }
    const struct landlock_ruleset_attr attributes = {.handled_access_fs = (uint64_t)rights};
    CLEANUP_CLOSE int ruleset =
        (int)syscall(SYS_landlock_create_ruleset, &attributes, sizeof(attributes), 0);
    if (ruleset < 0) {
        return -errno;
    }
    for (size_t i = 0; i < ARRAY_LEN(system_folders); i++) {
        sandbox_files_allow(ruleset, system_folders[i], read_only);
    }
    sandbox_files_allow(ruleset, "/dev/null", read_only | LANDLOCK_ACCESS_FS_WRITE_FILE);
    for (size_t i = 0; i < count; i++) {
        allow_given(ruleset, paths[i]);
    }
    for (size_t i = 0; i < written_count; i++) {
        allow_given(ruleset, written[i]);
        allow_written(ruleset, written[i], (uint64_t)rights);
    }
    return syscall(SYS_landlock_restrict_self, ruleset, 0) < 0 ? -errno : 0;
}

/* Allows SSL_CERT_FILE and SSL_CERT_DIR, too, where OpenSSL looks for the system's CAs. */
void confine_files(const char *const *files, size_t count, const char *resolv_conf,
                   const char *const *written, size_t written_count)
{
    const char *ca_file = getenv("SSL_CERT_FILE"), *ca_folder = getenv("SSL_CERT_DIR");
    const char *const others[] = {resolv_conf, ca_file ? ca_file : "", ca_folder ? ca_folder : ""};
    const char **all = xcalloc(count + ARRAY_LEN(others), sizeof(*all));
    memcpy(all, others, sizeof(others));
    memcpy(all + ARRAY_LEN(others), files, count * sizeof(*files));
    int r = sandbox_files(all, count + ARRAY_LEN(others), written, written_count);
    free(all);
    if (r < 0) {
        log_info("this kernel does not restrict which files may be read",
                 LOG_STR("error", err_code_text(r)));
    }
}
