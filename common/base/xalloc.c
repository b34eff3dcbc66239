#include "common/base/xalloc.h"

#include <malloc.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"

void xalloc_out_of_memory(void)
{
    log_error("out of memory");
    log_stop(LOG_STOP_MS);
    abort();
}

void xalloc_trim(void)
{
#ifdef __GLIBC__
    (void)malloc_trim(0); /* returns whether it released anything */
#endif
}

void *xmalloc(size_t size)
{
    void *p = malloc(size ? size : 1);
    if (!p) {
        xalloc_out_of_memory();
    }
    return p;
}

void *xcalloc(size_t count, size_t size)
{
    void *p = calloc(count ? count : 1, size ? size : 1);
    if (!p) {
        xalloc_out_of_memory();
    }
    return p;
}

void *xcalloc_aligned(size_t alignment, size_t size)
{
    size = (size + alignment - 1) / alignment * alignment; /* C11 7.22.3.1 requires a multiple */
    void *p = aligned_alloc(alignment, size);
    if (!p) {
        xalloc_out_of_memory();
    }
    return memset(p, 0, size);
}

void *xrealloc(void *ptr, size_t size)
{
    void *p = realloc(ptr, size ? size : 1);
    if (!p) {
        xalloc_out_of_memory();
    }
    return p;
}

void *xrealloc_array(void *ptr, size_t count, size_t size)
{
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes)) {
        xalloc_out_of_memory();
    }
    return xrealloc(ptr, bytes);
}

char *xstrndup(const char *s, size_t len)
{
    char *copy = xmalloc(len + 1);
    if (len) {
        memcpy(copy, s, len);
    }
    copy[len] = '\0';
    return copy;
}

char *xstrdup(const char *s)
{
    return xstrndup(s, strlen(s));
}

char *xvasprintf(const char *format, va_list args)
{
    char *s = NULL;
    if (vasprintf(&s, format, args) < 0) {
        xalloc_out_of_memory();
    }
    return s;
}

char *xasprintf(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    char *s = xvasprintf(format, args);
    va_end(args);
    return s;
}
