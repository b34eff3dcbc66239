#include "common/base/duration.h"

#include <stdio.h>
#include <string.h>

#include "common/base/attributes.h"

/* Returns the text after the unit, and the unit's length in microseconds. As in Go, a microsecond
 * may be written with the micro sign (U+00B5) or the Greek letter (U+03BC). */
static const char *unit_of(const char *text, double *ret_us)
{
    static const struct {
        const char *name;
        double us;
    } units[] = {
        {"ns", 0.001}, {"us", 1},  {"µs", 1},   {"μs", 1},
        {"ms", 1e3},   {"s", 1e6}, {"m", 60e6}, {"h", 3600e6},
    };
    for (size_t i = 0; i < ARRAY_LEN(units); i++) {
        size_t n = strlen(units[i].name);
        if (strncmp(text, units[i].name, n) == 0) {
            *ret_us = units[i].us;
            return text + n;
        }
    }
    return NULL;
}

bool duration_parse_ms(const char *text, int64_t *ret_ms)
{
    double total_us = 0;
    if (strcmp(text, "0") == 0) {
        *ret_ms = 0;
        return true;
    }
    if (!*text) {
        return false;
    }
    while (*text) {
        double value = 0, scale = 1, unit_us;
        bool any = false;
        for (; *text >= '0' && *text <= '9'; text++, any = true) {
            value = value * 10 + (*text - '0');
        }
        if (*text == '.') {
            for (text++; *text >= '0' && *text <= '9'; text++, any = true) {
                scale /= 10;
                value += (*text - '0') * scale;
            }
        }
        text = any ? unit_of(text, &unit_us) : NULL;
        if (!text) {
            return false;
        }
        total_us += value * unit_us;
    }
    if (total_us > 9e15) { /* 285 years; keeps the conversion below exact */
        return false;
    }
    *ret_ms = (int64_t)(total_us / 1000 + 0.5);
    return true;
}

const char *duration_text(int64_t ms, char out[DURATION_TEXT_MAX])
{
    static const struct {
        const char *unit;
        int64_t ms;
    } units[] = {{"h", 3600000}, {"m", 60000}, {"s", 1000}};
    char *at = out;
    for (size_t i = 0; i < ARRAY_LEN(units) && ms > 0; i++) {
        if (ms >= units[i].ms) {
            int n = snprintf(at, DURATION_TEXT_MAX - (size_t)(at - out), "%lld%s",
                             (long long)(ms / units[i].ms), units[i].unit);
            at += n; /* at most 13 digits and three units: DURATION_TEXT_MAX */
            ms %= units[i].ms;
        }
    }
    if (ms > 0) {
        (void)snprintf(at, DURATION_TEXT_MAX - (size_t)(at - out), "%lldms", (long long)ms);
    } else if (at == out) {
        (void)snprintf(out, DURATION_TEXT_MAX, "0");
    }
    return out;
}

const char *duration_text_s(int64_t s, char out[DURATION_TEXT_MAX])
{
    if (s > 0) {
        return duration_text(s * 1000, out);
    }
    (void)snprintf(out, DURATION_TEXT_MAX, "0s"); /* fits */
    return out;
}
