/* Allocation that does not fail: out of memory ends the process with one line (the kubelet starts
 * it again), so nobody checks for NULL. Any thread. Array forms refuse sizes that overflow. */
#ifndef COMMON_BASE_XALLOC_H
#define COMMON_BASE_XALLOC_H

#include <stddef.h>

#include "common/base/attributes.h"

void *xmalloc(size_t size) __attribute__((malloc, returns_nonnull));
void *xcalloc(size_t count, size_t size) __attribute__((malloc, returns_nonnull));
/* Zeroed; at least size bytes. For free(). */
void *xcalloc_aligned(size_t alignment, size_t size) __attribute__((malloc, returns_nonnull));
void *xrealloc(void *ptr, size_t size) __attribute__((returns_nonnull));
void *xrealloc_array(void *ptr, size_t count, size_t size) __attribute__((returns_nonnull));
char *xstrdup(const char *s) __attribute__((malloc, returns_nonnull));
char *xstrndup(const char *s, size_t len) __attribute__((malloc, returns_nonnull));
char *xasprintf(const char *format, ...) PRINTF_LIKE(1, 2) __attribute__((returns_nonnull));

NORETURN void xalloc_out_of_memory(void);

/* Gives what was freed back to the system, as far as the C library can: for after a burst of
 * large buffers. Takes as long as it takes to look at what is free. */
void xalloc_trim(void);

#endif
