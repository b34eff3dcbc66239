/* Measures how far one word is from another, to suggest what the user meant. Pure; any thread. */
#ifndef COMMON_BASE_TYPING_ERRORS_H
#define COMMON_BASE_TYPING_ERRORS_H

#include <stddef.h>

#include "common/base/slice.h"

/* Returns the fewest letters left out, added, replaced or swapped with their neighbour that make
 * one word of the other (optimal string alignment); SIZE_MAX for words of more than 64 letters. */
size_t typing_errors(struct slice a, struct slice b);

#endif
