/* Errors for people to read. A fallible function returns 0 or a negative code (-errno, or one of
 * ours below) and, where the message matters, takes a last `struct err *err`: success leaves it
 * untouched, failure fills it in. Callers wrap it to add context, outermost first:
 *
 *     read kubeconfig `/etc/k8s/config`: line 3: mapping expected
 *
 * err may be NULL in every call. Pure; any thread. */
#ifndef COMMON_BASE_ERR_H
#define COMMON_BASE_ERR_H

#include <stdbool.h>

#include "common/base/attributes.h"

/* Extend -errno in the same int by codes of our own, from -1000 down. */
enum {
    ERR_SYNTAX = -1000,      /* text cannot be parsed */
    ERR_USAGE = -1001,       /* a bad flag or value; main() exits with 2 */
    ERR_TOO_LARGE = -1002,   /* exceeds one of our limits */
    ERR_PROTOCOL = -1003,    /* the peer broke its protocol */
    ERR_UNAVAILABLE = -1004, /* the peer is unreachable; retry */
    ERR_REFUSED = -1005,     /* the peer refused; a retry needs a change first */
    ERR_TIMEOUT = -1006,     /* the deadline passed */
    ERR_COMPACTED = -1007,   /* the requested history is gone; read everything again */
    ERR_NOT_FOUND = -1008,
    ERR_CANCELED = -1009,
    ERR_FUTURE = -1010, /* the requested revision does not exist yet */
    /* Says that the peer rejects every request of ours: certificates, passwords. ERR_REFUSED
     * concerns a single request. */
    ERR_SHUT_OUT = -1011,
};

/* Holds 512 bytes: a path or URL of 255, its context, and the system's text. Longer ones are
 * truncated. */
struct err {
    int code;
    char msg[512];
};

/* Set or wrap an error. Both return the code, so that `return err_set(err, -EINVAL, "...")` reads
 * as one step. */
int err_set(struct err *err, int code, const char *format, ...) PRINTF_LIKE(3, 4);
int err_wrap(struct err *err, int code, const char *format, ...) PRINTF_LIKE(3, 4);

/* Returns whether the code says that we are short of descriptors, memory or ports: nothing about a
 * peer. */
bool err_is_exhaustion(int code);
bool err_is_shortage(int code);

/* Returns whether a peer denies the request, or our user altogether: it takes a person to end
 * that. */
bool err_is_denial(int code);

/* Returns a code of either kind as text. Never NULL. */
const char *err_code_text(int code);

#endif
