#include "common/dns/txt.h"

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* The byte that the escape at `at`, behind its backslash, stands for; moves *at behind it. */
static uint8_t take_escaped(struct slice text, size_t *at)
{
    const char *p = text.ptr + *at;
    if (text.len - *at < 3 || !is_digit(p[0]) || !is_digit(p[1]) || !is_digit(p[2])) {
        *at += 1;
        return (uint8_t)p[0];
    }
    *at += 3;
    return (uint8_t)((p[0] - '0') * 100 + (p[1] - '0') * 10 + (p[2] - '0'));
}

size_t txt_unescape(struct slice text, uint8_t *out)
{
    size_t len = 0;
    for (size_t at = 0; at < text.len;) {
        uint8_t c = (uint8_t)text.ptr[at++];
        if (c == '\\') {
            if (at == text.len) {
                break;
            }
            c = take_escaped(text, &at);
        }
        if (out) {
            out[len] = c;
        }
        len++;
    }
    return len;
}
