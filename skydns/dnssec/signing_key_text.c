#include "skydns/dnssec/signing_key_internal.h"

bool signing_text_number(struct slice text, uint32_t max, uint32_t *ret_number)
{
    uint64_t number = 0;
    for (size_t i = 0; i < text.len; i++) {
        if (text.ptr[i] < '0' || text.ptr[i] > '9') {
            return false;
        }
        number = number * 10 + (uint64_t)(text.ptr[i] - '0');
        if (number > max) {
            return false;
        }
    }
    *ret_number = (uint32_t)number;
    return text.len > 0;
}

/* -1: none. */
static int base64_digit(char c)
{
    return c >= 'A' && c <= 'Z'   ? c - 'A'
           : c >= 'a' && c <= 'z' ? c - 'a' + 26
           : c >= '0' && c <= '9' ? c - '0' + 52
           : c == '+'             ? 62
           : c == '/'             ? 63
                                  : -1;
}

/* The last group: 2 digits and 2 pads are a byte, 3 and 1 are two; the bits left over are 0. */
static bool end_group(struct signing_base64 *base64)
{
    unsigned spare = base64->digits == 2 ? 4 : 2;
    if (base64->digits < 2 || base64->digits + ++base64->pads > 4 ||
        (base64->bits & ((1u << spare) - 1)) != 0) {
        return false;
    }
    if (base64->digits + base64->pads == 4) {
        uint32_t bits = base64->bits >> spare;
        if (base64->digits == 3) {
            writer_u8(base64->out, (uint8_t)(bits >> 8));
        }
        writer_u8(base64->out, (uint8_t)bits);
    }
    return true;
}

bool signing_base64_add(struct signing_base64 *base64, struct slice text)
{
    for (size_t i = 0; i < text.len; i++) {
        int digit = base64_digit(text.ptr[i]);
        if (text.ptr[i] == '=') {
            if (!end_group(base64)) {
                return false;
            }
        } else if (digit < 0 || base64->pads) {
            return false;
        } else {
            base64->bits = base64->bits << 6 | (uint32_t)digit;
            if (++base64->digits == 4) {
                writer_u16(base64->out, (uint16_t)(base64->bits >> 8));
                writer_u8(base64->out, (uint8_t)base64->bits);
                base64->bits = base64->digits = 0;
            }
        }
    }
    return true;
}

bool signing_base64_ends(const struct signing_base64 *base64)
{
    return base64->digits == 0 || base64->digits + base64->pads == 4;
}
