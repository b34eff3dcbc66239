/* Captures what a command prints, in a test of its function. */
#ifndef TESTS_SUPPORT_STDOUT_CAPTURE_H
#define TESTS_SUPPORT_STDOUT_CAPTURE_H

#include <sys/mman.h>
#include <unistd.h>

#include "tests/support/unit_test.h"

enum { OUTPUT_MAX = 4096 };

struct stdout_capture {
    int copy;
    int file;
};

static inline struct stdout_capture capture_stdout(void)
{
    (void)fflush(stdout);
    struct stdout_capture c = {dup(STDOUT_FILENO), memfd_create("stdout", MFD_CLOEXEC)};
    assert_true(c.copy >= 0 && c.file >= 0);
    assert_true(dup2(c.file, STDOUT_FILENO) >= 0);
    return c;
}

static inline void end_capture(struct stdout_capture *c, char text[OUTPUT_MAX])
{
    (void)fflush(stdout);
    assert_true(dup2(c->copy, STDOUT_FILENO) >= 0);
    ssize_t n = pread(c->file, text, OUTPUT_MAX - 1, 0);
    assert_true(n >= 0);
    text[n] = '\0';
    close(c->copy);
    close(c->file);
}

#endif
