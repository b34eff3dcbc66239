/* Scope-exit attributes: a marked local is released when it goes out of scope. On success, STEAL()
 * moves the value out and leaves NULL (or -1). */
#ifndef COMMON_BASE_CLEANUP_H
#define COMMON_BASE_CLEANUP_H

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static inline void cleanup_free_ptr(void *p)
{
    free(*(void **)p);
}

static inline void cleanup_close_fd(const int *fd)
{
    if (*fd >= 0) {
        (void)close(*fd); /* no buffered write can fail here */
    }
}

static inline void cleanup_close_file(FILE **f)
{
    if (*f) {
        (void)fclose(*f); /* read side only */
    }
}

#define CLEANUP_FREE  __attribute__((cleanup(cleanup_free_ptr)))
#define CLEANUP_CLOSE __attribute__((cleanup(cleanup_close_fd)))
#define CLEANUP_FILE  __attribute__((cleanup(cleanup_close_file)))

#define STEAL(ptr)                       \
    ({                                   \
        __typeof__(ptr) stolen_ = (ptr); \
        (ptr) = NULL;                    \
        stolen_;                         \
    })
#define STEAL_FD(fd)        \
    ({                      \
        int stolen_ = (fd); \
        (fd) = -1;          \
        stolen_;            \
    })

#endif
