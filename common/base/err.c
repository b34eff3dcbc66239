#include "common/base/err.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int err_set(struct err *err, int code, const char *format, ...)
{
    if (err) {
        va_list args;
        va_start(args, format);
        err->code = code;
        (void)vsnprintf(err->msg, sizeof(err->msg), format,
                        args); /* a truncated message is still useful */
        va_end(args);
    }
    return code;
}

int err_wrap(struct err *err, int code, const char *format, ...)
{
    if (err) {
        char outer[sizeof(err->msg)];
        va_list args;
        va_start(args, format);
        int n = vsnprintf(outer, sizeof(outer) - 2, format, args);
        va_end(args);
        size_t used = n < 0 ? 0 : strnlen(outer, sizeof(outer) - 3);
        size_t inner = strnlen(err->msg, sizeof(err->msg) - used - 3);
        outer[used] = ':';
        outer[used + 1] = ' ';
        memcpy(outer + used + 2, err->msg, inner);
        outer[used + 2 + inner] = '\0';
        memcpy(err->msg, outer, used + inner + 3);
        err->code = code;
    }
    return code;
}

bool err_is_exhaustion(int code)
{
    return code == -EMFILE || code == -ENFILE || code == -ENOBUFS || code == -ENOMEM;
}

bool err_is_shortage(int code)
{
    return err_is_exhaustion(code) || code == -EAGAIN;
}

bool err_is_denial(int code)
{
    return code == ERR_REFUSED || code == ERR_SHUT_OUT;
}

const char *err_code_text(int code)
{
    switch (code) {
    case 0:
        return "success";
    case ERR_SYNTAX:
        return "malformed";
    case ERR_USAGE:
        return "not accepted";
    case ERR_TOO_LARGE:
        return "too large";
    case ERR_PROTOCOL:
        return "protocol error";
    case ERR_UNAVAILABLE:
        return "unavailable";
    case ERR_REFUSED:
        return "refused";
    case ERR_TIMEOUT:
        return "timed out";
    case ERR_COMPACTED:
        return "compacted";
    case ERR_NOT_FOUND:
        return "not found";
    case ERR_CANCELED:
        return "canceled";
    case ERR_SHUT_OUT:
        return "shut out";
    case ERR_FUTURE:
        return "in the future";
    default:
        return code < 0 && code > -1000 ? strerror(-code) : "unknown error";
    }
}
