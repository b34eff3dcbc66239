#include "common/etcd/etcd_status_internal.h"

#include <stddef.h>
#include <string.h>

#include "common/base/attributes.h"
#include "common/base/err.h"

/* By etcd's api/v3rpc/rpctypes/error.go, those of the calls that we make. */
static const struct {
    const char *text; /* how it begins, behind "etcdserver: " */
    int status;
    int code;
} errors[] = {
    {"mvcc: required revision has been compacted", STATUS_OUT_OF_RANGE, ERR_REFUSED},
    {"mvcc: required revision is a future revision", STATUS_OUT_OF_RANGE, ERR_REFUSED},
    {"permission denied", STATUS_PERMISSION_DENIED, ERR_REFUSED},
    {"invalid auth token", STATUS_UNAUTHENTICATED, ERR_REFUSED},
    {"user name is empty", STATUS_INVALID_ARGUMENT, ERR_REFUSED},
    {"revision of auth store is old", STATUS_INVALID_ARGUMENT, ERR_REFUSED},
    {"duplicate key given in txn request", STATUS_INVALID_ARGUMENT, ERR_REFUSED},
    {"too many operations in txn request", STATUS_INVALID_ARGUMENT, ERR_REFUSED},
    {"request is too large", STATUS_INVALID_ARGUMENT, ERR_REFUSED},
    {"key is not provided", STATUS_INVALID_ARGUMENT, ERR_REFUSED},
    {"authentication is not enabled", STATUS_FAILED_PRECONDITION, ERR_REFUSED},
    {"requested lease not found", STATUS_NOT_FOUND, ERR_NOT_FOUND},
    {"lease already exists", STATUS_FAILED_PRECONDITION, ERR_REFUSED},
    {"mvcc: database space exceeded", STATUS_RESOURCE_EXHAUSTED, ERR_UNAVAILABLE},
    {"too many requests", STATUS_RESOURCE_EXHAUSTED, ERR_UNAVAILABLE},
    {"no leader", STATUS_UNAVAILABLE, ERR_UNAVAILABLE},
    {"leader changed", STATUS_UNAVAILABLE, ERR_UNAVAILABLE},
    {"request timed out", STATUS_UNAVAILABLE, ERR_UNAVAILABLE},
    {"server stopped", STATUS_UNAVAILABLE, ERR_UNAVAILABLE},
    {"unhealthy cluster", STATUS_UNAVAILABLE, ERR_UNAVAILABLE},
};

int etcd_status_of(int status, struct err *err)
{
    static const char source[] = "etcdserver: ";
    if (status != STATUS_UNKNOWN || strncmp(err->msg, source, sizeof(source) - 1) != 0) {
        return status;
    }
    const char *text = err->msg + sizeof(source) - 1;
    for (size_t i = 0; i < ARRAY_LEN(errors); i++) {
        if (strncmp(text, errors[i].text, strlen(errors[i].text)) == 0) {
            err->code = errors[i].code;
            return errors[i].status;
        }
    }
    return status;
}
