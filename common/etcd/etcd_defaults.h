/* The endpoints of etcd unless a flag says otherwise, so that both programs find the same one.
 *
 * They are etcd's own port, and the one it had until 2.0, which the legacy pod uses. */
#ifndef COMMON_ETCD_ETCD_DEFAULTS_H
#define COMMON_ETCD_ETCD_DEFAULTS_H

#define ETCD_DEFAULT_ENDPOINTS "http://127.0.0.1:2379,http://127.0.0.1:4001"

#endif
