/* Gives up what a program no longer needs once its sockets are open: root's capabilities, perhaps
 * the user root.
 *
 * It also rules out gaining any by an execve. An attacker that takes over a process which answers
 * DNS, or talks to etcd, can then do as little as possible.
 *
 *     privileges_find_user        while flags are checked
 *     privileges_begin            at start, before threads
 *     privileges_raise_bind       around opening the sockets
 *     privileges_drop             afterwards, before threads that stay
 *
 * Capabilities belong to threads: those that may start earlier drop their own
 * (privileges_drop_thread). Main thread except as noted. */
#ifndef COMMON_BASE_PRIVILEGES_H
#define COMMON_BASE_PRIVILEGES_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "common/base/attributes.h"
#include "common/base/err.h"

/* Names a user to become. The name is borrowed from the flag's text. */
struct privileges_user {
    bool is_set;
    const char *text; /* as given */
    uid_t uid;
    gid_t gid;
};

/* Parses NAME, NAME:GROUP, UID:GID and mixtures; the group defaults to the user's own. Reads the
 * system's user database, perhaps from files. ERR_USAGE: no such user or group. */
int privileges_find_user(const char *text, struct privileges_user *ret_user,
                         struct err *err) MUST_CHECK;

/* Rules out that an execve grants anything: no set-user-ID, no file capability. */
void privileges_begin(const struct privileges_user *user);

/* Makes CAP_NET_BIND_SERVICE, for ports below 1024, effective where it is permitted. The file
 * capability is `cap_net_bind_service=p`, because the kernel refuses to start a program with `=ep`
 * in a container that drops capabilities. Does nothing where it is not permitted: then listening
 * reports what is missing. */
void privileges_raise_bind(void);

/* Switches to the user, if one is set, with that user's groups, and drops every capability.
 * CAP_DAC_READ_SEARCH alone may stay, with a warning: if one of these files, a credential file of
 * another user, can be opened only with it, since the file must be reread when it changes. Another
 * user never keeps it; a file that this user cannot read is a warning. Fails if it cannot switch,
 * for which it must be root. */
int privileges_drop(const struct privileges_user *user, const char *const *files, size_t file_count,
                    struct err *err) MUST_CHECK;

/* Drops the thread's own capabilities, on any thread. Does nothing if the program is about to
 * switch users: the C library lets all threads switch, or aborts, and the switch takes their
 * capabilities. */
void privileges_drop_thread(void);

#endif
