/* Tables of Corefiles and of what their translations say. */
#ifndef TESTS_SUPPORT_SKYDNS_COREFILE_ROWS_H
#define TESTS_SUPPORT_SKYDNS_COREFILE_ROWS_H

#include <stddef.h>

#include "common/base/buf.h"

struct corefile_row {
    const char *text;
    const char *want[6]; /* parts of the translation */
    const char *without; /* no part of it; NULL: anything may be */
};

/* The translation, or the error, with $ZONE as cluster.local. It is the buffer's. */
const char *corefile_translated(const char *text, struct buf *out);

/* Fails at the first row that is not so. */
void corefile_check_rows(const struct corefile_row *rows, size_t count);

#endif
