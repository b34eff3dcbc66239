#include "common/base/privileges.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <pwd.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/base/log.h"

/* Fits any name that useradd accepts. */
enum { NAME_MAX_BYTES = 256 };

static _Atomic bool is_about_to_switch;

/* ---- Capabilities ---- */

/* Uses two system calls without a libc wrapper, which are not worth linking libcap. */
static bool read_sets(struct __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3])
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    return syscall(SYS_capget, &header, sets) == 0;
}

static bool write_sets(const struct __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3])
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    return syscall(SYS_capset, &header, sets) == 0;
}

void privileges_raise_bind(void)
{
    const unsigned index = CAP_TO_INDEX(CAP_NET_BIND_SERVICE);
    const unsigned bit = CAP_TO_MASK(CAP_NET_BIND_SERVICE);
    struct __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3];
    if (read_sets(sets) && sets[index].permitted & bit) {
        sets[index].effective |= bit;
        (void)write_sets(sets); /* opening the socket reports what is missing */
    }
}

/* Keeps one capability at most (-1: none), as far as it is permitted. A failure sets errno. */
static bool keep_only(int capability, bool is_effective)
{
    struct __user_cap_data_struct had[_LINUX_CAPABILITY_U32S_3];
    struct __user_cap_data_struct wanted[_LINUX_CAPABILITY_U32S_3] = {{0}};
    if (!read_sets(had)) {
        return false;
    }
    if (capability >= 0) {
        const unsigned index = CAP_TO_INDEX((unsigned)capability);
        wanted[index].permitted = had[index].permitted & CAP_TO_MASK((unsigned)capability);
        wanted[index].effective = is_effective ? wanted[index].permitted : 0;
    }
    return memcmp(had, wanted, sizeof(had)) == 0 || write_sets(wanted);
}

void privileges_drop_thread(void)
{
    if (!atomic_load(&is_about_to_switch)) {
        (void)keep_only(-1, false); /* privileges_drop reports a kernel that refuses */
    }
}

void privileges_begin(const struct privileges_user *user)
{
    atomic_store(&is_about_to_switch, user->is_set);
    (void)prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); /* every kernel since 3.5 has it */
}

/* ---- Users ---- */

/* Returns -1 for what is no number. 0xffffffff means "no change" to the kernel. */
static int64_t privileges_number_of(const char *text)
{
    char *end;
    if (*text < '0' || *text > '9') {
        return -1;
    }
    unsigned long long number = strtoull(text, &end, 10);
    return *end == '\0' && number < UINT32_MAX ? (int64_t)number : -1;
}

static int find_group(const char *name, gid_t *ret_gid, struct err *err)
{
    int64_t number = privileges_number_of(name);
    const struct group *group = number < 0 ? getgrnam(name) : NULL;
    if (number < 0 && !group) {
        return err_set(err, ERR_USAGE, "no group `%s`: expected a name known here, or a GID", name);
    }
    *ret_gid = group ? group->gr_gid : (gid_t)number;
    return 0;
}

int privileges_find_user(const char *text, struct privileges_user *ret_user, struct err *err)
{
    struct privileges_user user = {.is_set = true, .text = text};
    char name[NAME_MAX_BYTES];
    size_t len = strcspn(text, ":");
    if (len == 0 || len >= sizeof(name)) {
        return err_set(err, ERR_USAGE, "`%s`: expected USER or USER:GROUP", text);
    }
    memcpy(name, text, len);
    name[len] = '\0';
    int64_t number = privileges_number_of(name);
    const struct passwd *found = number < 0 ? getpwnam(name) : getpwuid((uid_t)number);
    if (!found && number < 0) {
        return err_set(err, ERR_USAGE, "no user `%s`: expected a name known here, or UID:GID",
                       name);
    }
    user.uid = found ? found->pw_uid : (uid_t)number;
    user.gid = found ? found->pw_gid : 0;
    if (text[len] == ':') {
        int r = find_group(text + len + 1, &user.gid, err);
        if (r < 0) {
            return r;
        }
    } else if (!found) {
        return err_set(err, ERR_USAGE, "`%s`: expected UID:GID, for no user has this number", text);
    }
    *ret_user = user;
    return 0;
}

/* Switches all threads of the process: the C library sees to that. */
static int privileges_set_ids(const struct privileges_user *user, struct err *err)
{
    uid_t real, effective, saved;
    (void)getresuid(&real, &effective, &saved); /* cannot fail */
    if (real == user->uid && effective == user->uid && saved == user->uid) {
        return 0;
    }
    if (effective != 0) {
        return err_set(err, -EPERM, "become user %s: not root", user->text);
    }
    if (setgroups(1, &user->gid) < 0 || setresgid(user->gid, user->gid, user->gid) < 0 ||
        setresuid(user->uid, user->uid, user->uid) < 0) {
        return err_set(err, -errno, "become user %s: %s", user->text, err_code_text(-errno));
    }
    return 0;
}

/* ---- Dropping ---- */

static bool is_denied(const char *path)
{
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (fd >= 0) {
        (void)close(fd); /* only read */
    }
    return fd < 0 && errno == EACCES;
}

/* Returns the first file that cannot be opened for lack of permission; NULL: none. */
static const char *first_denied(const char *const *files, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (*files[i] && is_denied(files[i])) {
            return files[i];
        }
    }
    return NULL;
}

int privileges_drop(const struct privileges_user *user, const char *const *files, size_t file_count,
                    struct err *err)
{
    int r = user->is_set ? privileges_set_ids(user, err) : 0;
    atomic_store(&is_about_to_switch, false);
    if (r < 0) {
        return r;
    }
    int spare = user->is_set ? -1 : CAP_DAC_READ_SEARCH;
    if (!keep_only(spare, false)) {
        log_warn("cannot drop capabilities", LOG_STR("error", err_code_text(-errno)));
        return 0;
    }
    const char *denied = first_denied(files, file_count);
    if (denied && !user->is_set && keep_only(spare, true) && !is_denied(denied)) {
        log_warn("keeping one capability, to read a file of another user", LOG_STR("file", denied),
                 LOG_STR("capability", "CAP_DAC_READ_SEARCH"));
        return 0;
    }
    if (denied) {
        log_warn("cannot read a file any more, so its next change will not be noticed",
                 LOG_STR("file", denied));
    }
    (void)keep_only(-1, false); /* less than it has just dropped */
    return 0;
}
