/* Limits what skydns may still do once it is confined, where the kernel can enforce it; without (an
 * old kernel, a container that forbids it) skydns runs as before. Needs privileges_begin first.
 * Main thread.
 *
 *     files   read: /etc, the system's libraries and certificates, resolv.conf, the files of the
 *             flags; written: what is in the folder of -snapshot; nothing else (Landlock, Linux
 *             5.13)
 *     calls   those that answering, etcd, HTTP and the log need: no execve, no other process, no
 *             change of users, mounts or other files (seccomp) */
#ifndef SKYDNS_CONFINE_SANDBOX_INTERNAL_H
#define SKYDNS_CONFINE_SANDBOX_INTERNAL_H

#include <stddef.h>

#include "common/base/attributes.h"

/* Allows reading only of these paths, if they exist, and of the folders of all of them, also of
 * what they link to: Kubernetes replaces a secret by a link to a new folder beside it. A folder
 * stands for everything below it. "" is none. Beside those `written`, files and Unix sockets
 * may be created, written, renamed and removed; not in "/", nor if the folder does not exist yet.
 * Holds for this thread and those it starts: call it before any. Returns 0, or -errno if this
 * kernel cannot. */
int sandbox_files(const char *const *paths, size_t count, const char *const *written,
                  size_t written_count) MUST_CHECK;

/* Refuses all other system calls with ENOSYS, in every thread: a C library falls back from a call
 * that the kernel does not have, but not from one it may not make. Call it when everything is open.
 * Nothing is logged: each thread that starts tries a refused call first (clone3). Returns 0, or
 * -errno if this kernel cannot. */
int sandbox_calls(void) MUST_CHECK;

#endif
