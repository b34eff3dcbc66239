#include "common/base/backoff.h"

#include <sys/random.h>

#include "common/base/clock.h"

void backoff_init(struct backoff *b, uint32_t first_ms, uint32_t max_ms)
{
    *b = (struct backoff){.first_ms = first_ms, .max_ms = max_ms};
}

uint32_t backoff_next_ms(struct backoff *b, uint32_t random)
{
    uint32_t delay_ms = b->first_ms;
    for (uint32_t i = 0; i < b->failures && delay_ms < b->max_ms; i++) {
        delay_ms = delay_ms > b->max_ms / 2 ? b->max_ms : delay_ms * 2;
    }
    if (delay_ms > b->max_ms) {
        delay_ms = b->max_ms;
    }
    b->failures++;
    uint32_t half = delay_ms / 2;
    return half + random % (delay_ms - half + 1);
}

void backoff_reset(struct backoff *b)
{
    b->failures = 0;
}

uint32_t backoff_random(void)
{
    uint32_t value;
    if (getrandom(&value, sizeof(value), GRND_NONBLOCK) != (ssize_t)sizeof(value)) {
        value = (uint32_t)clock_monotonic_us(); /* before the kernel's pool is ready */
    }
    return value;
}
