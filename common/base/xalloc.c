#include "common/base/xalloc.h"

#include <malloc.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/base/log.h"

/* From this size on, zeroed memory stays untouched until it is used: large tables are filled with
 * what a program gets to know, and most of their pages never are. */
enum { UNTOUCHED_MIN = 32 << 10 };

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

/* Zeroes the memory. The kernel takes the whole pages of a large one back, and returns zeroed ones
 * as they are touched. */
static void *xalloc_zero(void *p, size_t size)
{
    if (size >= UNTOUCHED_MIN) {
        const size_t page = (size_t)sysconf(_SC_PAGESIZE);
        const size_t before = -(uintptr_t)p & (page - 1);
        char *pages = (char *)p + before;
        const size_t pages_size = (size - before) & ~(page - 1);
        if (before < size && pages_size > 0 && madvise(pages, pages_size, MADV_DONTNEED) == 0) {
            memset(p, 0, before);
            memset(pages + pages_size, 0, size - before - pages_size);
            return p;
        }
    }
    return memset(p, 0, size);
}

void *xcalloc(size_t count, size_t size)
{
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes)) {
        xalloc_out_of_memory();
    }
    if (bytes >= UNTOUCHED_MIN) { /* calloc writes over all of what was used before */
        return xalloc_zero(xmalloc(bytes), bytes);
    }
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
    return xalloc_zero(p, size);
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

void *xgrow_array(void *ptr, size_t count, size_t *cap, size_t size)
{
    if (count < *cap) {
        return ptr;
    }
    *cap = *cap ? 2 * *cap : 2;
    return xrealloc_array(ptr, *cap, size);
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
