#include "skydns/bind_privilege.h"

#include <linux/capability.h>
#include <stdbool.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Two system calls without a libc wrapper are not worth linking libcap. */
static bool read_sets(struct __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3])
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    return syscall(SYS_capget, &header, sets) == 0;
}

/* Failures are ignored here: opening the socket reports them. */
static void write_sets(const struct __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3])
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    (void)syscall(SYS_capset, &header, sets);
}

void bind_privilege_raise(void)
{
    const unsigned index = CAP_TO_INDEX(CAP_NET_BIND_SERVICE);
    const unsigned bit = CAP_TO_MASK(CAP_NET_BIND_SERVICE);
    struct __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3];
    if (read_sets(sets) && sets[index].permitted & bit) {
        sets[index].effective |= bit;
        write_sets(sets);
    }
}

void bind_privilege_drop(void)
{
    const unsigned index = CAP_TO_INDEX(CAP_NET_BIND_SERVICE);
    const unsigned bit = CAP_TO_MASK(CAP_NET_BIND_SERVICE);
    struct __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3];
    if (read_sets(sets)) {
        sets[index].effective &= ~bit;
        sets[index].permitted &= ~bit;
        sets[index].inheritable &= ~bit;
        write_sets(sets);
    }
}
