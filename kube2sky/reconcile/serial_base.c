#include "kube2sky/reconcile/serial_base_internal.h"

enum { TICKS_A_SECOND = 16 };
static const int64_t begin_s = 1767225600; /* 2026-01-01 */
static const uint32_t first_base = UINT32_C(1) << 31;

uint32_t serial_base_of_time(int64_t unix_s)
{
    return first_base + (uint32_t)((unix_s - begin_s) * TICKS_A_SECOND);
}

bool serial_base_is_after(uint32_t a, uint32_t b)
{
    uint32_t ahead = a - b;
    return ahead != 0 && ahead < UINT32_C(1) << 31;
}

uint32_t serial_base_after(int64_t unix_s, uint32_t last_serial)
{
    uint32_t base = serial_base_of_time(unix_s);
    return serial_base_is_after(base, last_serial) ? base : last_serial + 1;
}
