/* Holds CAP_NET_BIND_SERVICE, needed for ports below 1024, only while the sockets are opened. Main
 * thread, before the workers start and inherit its capabilities. */
#ifndef SKYDNS_BIND_PRIVILEGE_H
#define SKYDNS_BIND_PRIVILEGE_H

/* Makes it effective where it is permitted: the file capability is `cap_net_bind_service=p`,
 * because the kernel refuses to start a program with `=ep` in a container that drops capabilities.
 * Does nothing where it is not permitted: then listening reports what is missing. */
void bind_privilege_raise(void);

/* Drops it for good. Root's other capabilities remain. */
void bind_privilege_drop(void);

#endif
