#include "tests/support/log_capture.h"

#include <sys/mman.h>
#include <unistd.h>

#include "tests/support/unit_test.h"

void log_capture_begin(struct log_capture *capture)
{
    capture->stderr_copy = dup(STDERR_FILENO);
    capture->file = memfd_create("log", MFD_CLOEXEC);
    assert_true(capture->stderr_copy >= 0 && capture->file >= 0);
    assert_true(dup2(capture->file, STDERR_FILENO) >= 0);
}

const char *log_capture_end(struct log_capture *capture)
{
    assert_true(dup2(capture->stderr_copy, STDERR_FILENO) >= 0);
    ssize_t n = pread(capture->file, capture->text, sizeof(capture->text) - 1, 0);
    assert_true(n >= 0);
    capture->text[n] = '\0';
    close(capture->stderr_copy);
    close(capture->file);
    return capture->text;
}

int log_occurrences(const char *text, const char *part)
{
    int n = 0;
    for (const char *p = strstr(text, part); p; p = strstr(p + 1, part)) {
        n++;
    }
    return n;
}
