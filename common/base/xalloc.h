/* Allocation that never returns NULL: out of memory ends the process with one line (the kubelet
 * restarts it). Any thread. Array forms check for overflow. */
#ifndef COMMON_BASE_XALLOC_H
#define COMMON_BASE_XALLOC_H

#include <stdarg.h>
#include <stddef.h>

#include "common/base/attributes.h"

void *xmalloc(size_t size) __attribute__((malloc, returns_nonnull));
void *xcalloc(size_t count, size_t size) __attribute__((malloc, returns_nonnull));
/* Allocates at least size zeroed bytes. For free(). */
void *xcalloc_aligned(size_t alignment, size_t size) __attribute__((malloc, returns_nonnull));
void *xrealloc(void *ptr, size_t size) __attribute__((returns_nonnull));
void *xrealloc_array(void *ptr, size_t count, size_t size) __attribute__((returns_nonnull));
/* Returns the array with room for one more behind its count; *cap is its room. */
void *xgrow_array(void *ptr, size_t count, size_t *cap, size_t size)
    __attribute__((returns_nonnull));
char *xstrdup(const char *s) __attribute__((malloc, returns_nonnull));
char *xstrndup(const char *s, size_t len) __attribute__((malloc, returns_nonnull));
char *xvasprintf(const char *format, va_list args)
    __attribute__((returns_nonnull, format(printf, 1, 0)));
char *xasprintf(const char *format, ...) PRINTF_LIKE(1, 2) __attribute__((returns_nonnull));

NORETURN void xalloc_out_of_memory(void);

/* Returns freed memory to the system, as far as the C library can, after a burst of large buffers.
 * The cost grows with the number of free chunks. */
void xalloc_trim(void);

#endif
