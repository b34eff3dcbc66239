/* The text of a TXT record in presentation form (RFC 1035 5.1), as SkyDNS read the field `text`:
 * `\DDD` is the byte with that decimal value, modulo 256; `\X` is X; a backslash at the end is
 * nothing. Every text is valid. Pure; any thread. */
#ifndef COMMON_DNS_TXT_H
#define COMMON_DNS_TXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "common/base/slice.h"

/* Whether the bytes on the wire differ from the text. */
static inline bool txt_has_escapes(struct slice text)
{
    return text.len > 0 && memchr(text.ptr, '\\', text.len);
}

/* The text's bytes; returns how many, at most text.len. `out` NULL: only counts. */
size_t txt_unescape(struct slice text, uint8_t *out);

#endif
