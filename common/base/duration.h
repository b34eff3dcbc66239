/* Durations as people write them: Go's "1h2m3.5s", "300ms", "0". Pure; any thread. */
#ifndef COMMON_BASE_DURATION_H
#define COMMON_BASE_DURATION_H

#include <stdbool.h>
#include <stdint.h>

/* Fits "2562047788015h12m55s807ms", the longest. */
enum { DURATION_TEXT_MAX = 32 };

/* Returns false for what is no Go duration, or is longer than 285 years. Rounds to a
 * millisecond. */
bool duration_parse_ms(const char *text, int64_t *ret_ms);

/* Writes the shortest form: "1h", "1m30s", "1s500ms". ms from 0 up. Returns out. */
const char *duration_text(int64_t ms, char out[DURATION_TEXT_MAX]);

/* Writes an age in seconds so, below 0 counting as 0: "0s", "12s", "1m30s". */
const char *duration_text_s(int64_t s, char out[DURATION_TEXT_MAX]);

#endif
