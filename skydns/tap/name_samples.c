#include "skydns/tap/name_samples.h"

#include <string.h>

#include "skydns/wire/response.h"

void name_samples_init(struct name_samples *samples)
{
    atomic_init(&samples->put, 0);
    atomic_init(&samples->taken, 0);
    for (uint32_t i = 0; i < NAME_SAMPLES_MAX; i++) {
        atomic_init(&samples->places[i].turn, i);
    }
}

/* Of D. Vyukov's bounded queues: a thread owns the place whose number it has advanced `put` past.
 */
void name_samples_put(struct name_samples *samples, const struct response *response)
{
    uint32_t number = atomic_load_explicit(&samples->put, memory_order_relaxed);
    struct name_place *place = &samples->places[number % NAME_SAMPLES_MAX];
    if (atomic_load_explicit(&place->turn, memory_order_acquire) != number ||
        response->name_len == 0) {
        return; /* full, or another thread is at it; or there is no question */
    }
    if (atomic_compare_exchange_strong_explicit(&samples->put, &number, number + 1,
                                                memory_order_relaxed, memory_order_relaxed)) {
        place->sample =
            (struct name_sample){.name.len = response->name_len, .type = response_type(response)};
        memcpy(place->sample.name.wire, response_name(response), response->name_len);
        atomic_store_explicit(&place->turn, number + 1, memory_order_release);
    }
}

bool name_samples_take(struct name_samples *samples, struct name_sample *ret)
{
    uint32_t number = atomic_load_explicit(&samples->taken, memory_order_relaxed);
    struct name_place *place = &samples->places[number % NAME_SAMPLES_MAX];
    if (atomic_load_explicit(&place->turn, memory_order_acquire) != number + 1) {
        return false;
    }
    *ret = place->sample;
    atomic_store_explicit(&place->turn, number + NAME_SAMPLES_MAX, memory_order_release);
    atomic_store_explicit(&samples->taken, number + 1, memory_order_relaxed);
    return true;
}
