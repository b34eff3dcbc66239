/* The status that etcd gave a call, if a proxy has lost it: etcd's grpc-proxy hands errors of most
 * calls on as status 2, unknown, with etcd's text. Pure. */
#ifndef COMMON_ETCD_ETCD_STATUS_INTERNAL_H
#define COMMON_ETCD_ETCD_STATUS_INTERNAL_H

struct err;

/* grpc-status */
enum {
    STATUS_UNKNOWN = 2,
    STATUS_INVALID_ARGUMENT = 3,
    STATUS_NOT_FOUND = 5,
    STATUS_PERMISSION_DENIED = 7,
    STATUS_RESOURCE_EXHAUSTED = 8,
    STATUS_FAILED_PRECONDITION = 9,
    STATUS_OUT_OF_RANGE = 11,
    STATUS_UNAVAILABLE = 14,
    STATUS_UNAUTHENTICATED = 16,
};

/* What to take `status` for, by the error's text; its code follows. All others stay. */
int etcd_status_of(int status, struct err *err);

#endif
