#include "skydns/publish/zone_serials.h"

#include <stdlib.h>

#include "common/base/clock.h"
#include "common/base/xalloc.h"

struct zone_serials {
    size_t count;
    struct zone_serial *items[ZONE_SERIALS_MAX];
};

struct zone_serials *zone_serials_new(void)
{
    return xcalloc(1, sizeof(struct zone_serials));
}

void zone_serials_free(struct zone_serials *serials)
{
    if (!serials) {
        return;
    }
    for (size_t i = 0; i < serials->count; i++) {
        free(serials->items[i]);
    }
    free(serials);
}

struct zone_serial *zone_serials_of(struct zone_serials *serials, const struct dname *apex)
{
    for (size_t i = 0; i < serials->count; i++) {
        if (dname_equal(&serials->items[i]->apex, apex)) {
            return serials->items[i];
        }
    }
    if (serials->count == ZONE_SERIALS_MAX) {
        return NULL;
    }
    struct zone_serial *serial = xcalloc(1, sizeof(*serial));
    serial->apex = *apex;
    const int64_t now_s = clock_wall_s();
    atomic_init(&serial->value, (uint32_t)(now_s - now_s % 3600));
    atomic_init(&serial->is_known, false);
    serials->items[serials->count++] = serial;
    return serial;
}
