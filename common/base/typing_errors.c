#include "common/base/typing_errors.h"

#include <stdint.h>

enum { LETTERS_MAX = 64 };

static size_t typing_errors_min3(size_t a, size_t b, size_t c)
{
    size_t least = a < b ? a : b;
    return least < c ? least : c;
}

size_t typing_errors(struct slice a, struct slice b)
{
    size_t rows[3][LETTERS_MAX + 1];
    size_t *before = rows[0], *above = rows[1], *row = rows[2];
    if (a.len > LETTERS_MAX || b.len > LETTERS_MAX) {
        return SIZE_MAX;
    }
    for (size_t j = 0; j <= b.len; j++) {
        above[j] = j;
    }
    for (size_t i = 1; i <= a.len; i++) {
        row[0] = i;
        for (size_t j = 1; j <= b.len; j++) {
            row[j] = typing_errors_min3(above[j] + 1, row[j - 1] + 1,
                                        above[j - 1] + (a.ptr[i - 1] != b.ptr[j - 1]));
            if (i > 1 && j > 1 && a.ptr[i - 1] == b.ptr[j - 2] && a.ptr[i - 2] == b.ptr[j - 1] &&
                before[j - 2] + 1 < row[j]) {
                row[j] = before[j - 2] + 1;
            }
        }
        size_t *oldest = before;
        before = above;
        above = row;
        row = oldest;
    }
    return above[b.len];
}
