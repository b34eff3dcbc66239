/* CAP_NET_BIND_SERVICE, which ports below 1024 take, while the sockets are opened and no longer.
 * Main thread, before the workers start, which inherit what it has then. */
#ifndef SKYDNS_BIND_PRIVILEGE_H
#define SKYDNS_BIND_PRIVILEGE_H

/* Makes it effective where it is only permitted: the file capability is `cap_net_bind_service=p`,
 * since the kernel does not start a program with `=ep` at all where a container's capabilities are
 * dropped. Does nothing where it is not permitted: then listening says what is missing. */
void bind_privilege_raise(void);

/* Gives it up for good. Other capabilities, root's, stay. */
void bind_privilege_drop(void);

#endif
