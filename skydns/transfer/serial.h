/* Serials of zones: RFC 1982, with 32 bits. Pure. */
#ifndef SKYDNS_TRANSFER_SERIAL_INTERNAL_H
#define SKYDNS_TRANSFER_SERIAL_INTERNAL_H

#include <stdbool.h>
#include <stdint.h>

/* Whether a comes after b. Of two that are 2^31 apart, for which the RFC defines no order, neither
 * does. */
static inline bool serial_is_after(uint32_t a, uint32_t b)
{
    uint32_t ahead = a - b;
    return ahead != 0 && ahead < UINT32_C(1) << 31;
}

#endif
