/* A fuzz target: this function, which libFuzzer or replay.c calls, and what must hold in it. */
#ifndef TESTS_FUZZ_FUZZ_TARGET_H
#define TESTS_FUZZ_FUZZ_TARGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Ends the program, so that the input is kept, unless the condition holds. */
static inline void fuzz_check(bool condition)
{
    if (!condition) {
        abort();
    }
}

#endif
