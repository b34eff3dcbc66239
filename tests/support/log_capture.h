/* Captures stderr between begin and end, for tests of log lines. For the test's own thread.
 * Failures fail the running cmocka test. */
#ifndef TESTS_SUPPORT_LOG_CAPTURE_H
#define TESTS_SUPPORT_LOG_CAPTURE_H

struct log_capture {
    int stderr_copy;
    int file;
    char text[65536]; /* set by log_capture_end; truncated */
};

void log_capture_begin(struct log_capture *capture);

/* Restores stderr. Returns the text. */
const char *log_capture_end(struct log_capture *capture);

/* How often the part occurs in the text. */
int log_occurrences(const char *text, const char *part);

#endif
