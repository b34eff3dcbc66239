/* Questions on their way from the threads that answer to the main thread, which counts the most
 * asked names while somebody looks (query_tap.h). Many threads put, one takes; nobody ever waits:
 * what does not fit is left out, as most questions are. */
#ifndef SKYDNS_TAP_NAME_SAMPLES_H
#define SKYDNS_TAP_NAME_SAMPLES_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/attributes.h"
#include "common/dns/dname.h"

struct response;

enum { NAME_SAMPLES_MAX = 256 }; /* a second's worth, 70 KB; a power of two */

struct name_sample {
    struct dname name; /* as asked, in any case */
    uint16_t type;
};

struct name_samples {
    _Atomic uint32_t put, taken; /* how many; the place of each is this modulo the size */
    struct name_place {
        /* The number of the sample that the place is free for; that and 1: it has this sample. */
        _Atomic uint32_t turn;
        struct name_sample sample;
    } places[NAME_SAMPLES_MAX];
};

void name_samples_init(struct name_samples *samples);

/* Any thread: the question of a response, if it has one. */
void name_samples_put(struct name_samples *samples, const struct response *response);

/* One thread. False: there is none. */
bool name_samples_take(struct name_samples *samples, struct name_sample *ret) MUST_CHECK;

#endif
