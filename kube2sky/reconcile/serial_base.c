#include "kube2sky/reconcile/serial_base_internal.h"

enum { TICKS_A_SECOND = 16 };
static const int64_t begin_s = 1767225600; /* 2026-01-01 */
static const uint32_t first_tick = UINT32_C(1) << 31;

uint32_t serial_clock(int64_t unix_s)
{
    return first_tick + (uint32_t)((unix_s - begin_s) * TICKS_A_SECOND);
}

bool serial_base_is_after(uint32_t a, uint32_t b)
{
    uint32_t ahead = a - b;
    return ahead != 0 && ahead < UINT32_C(1) << 31;
}

uint32_t serial_base_next(int64_t unix_s, int64_t revision, const uint32_t *reached)
{
    uint32_t last = serial_clock(unix_s);
    if (reached && serial_base_is_after(*reached, last)) {
        last = *reached;
    }
    return last - (uint32_t)revision; /* written at a later revision */
}
