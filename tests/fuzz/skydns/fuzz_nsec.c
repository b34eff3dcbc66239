/* Three names, how many labels of the first are its zone's, and types: whatever they are, the names
 * just before and behind them are, and a bitmap has the types it was made of. */
#include <assert.h>

#include "common/base/cursor.h"
#include "common/dns/dname.h"
#include "skydns/dnssec/nsec.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/support/skydns/nsec_gaps.h"
#include "tests/support/skydns/nsec_model.h"

enum { TYPES_MAX = NSEC_TYPES_MAX, TYPES_END = 65536, WINDOW_TYPES = 256 };

static void nsec_check_names(const struct dname *zone, const struct dname *name,
                             const struct dname *other, const struct dname *probe)
{
    const char *fault = nsec_gaps_fault(zone, name, probe);
    if (!fault && dname_is_within(other, zone) && other->len > zone->len) {
        fault = nsec_gaps_join_fault(zone, name, other, probe);
    }
    assert(!fault);
    (void)fault; /* assert may be nothing */
}

/* Also names that are not given, but near. */
static void check_near(const struct dname *zone, const struct dname *name,
                       const struct dname *other, const struct dname *probe)
{
    struct dname near[4] = {*probe, *name, *name, *name};
    (void)nsec_before(name, &near[1]);
    nsec_after(name, zone, &near[2]);
    nsec_next(name, zone, &near[3]);
    for (unsigned i = 0; i < sizeof(near) / sizeof(near[0]); i++) {
        struct dname below;
        nsec_check_names(zone, name, other, &near[i]);
        if (nsec_last_below(&near[i], &below)) {
            nsec_check_names(zone, name, other, &below);
        }
        if (dname_is_within(&near[i], zone) && near[i].len > zone->len) {
            nsec_check_names(zone, &near[i], other, name);
            nsec_check_names(zone, name, &near[i], probe);
        }
    }
}

static void check_types(struct reader *r)
{
    struct nsec_model record;
    uint16_t types[TYPES_MAX];
    static bool wanted[TYPES_END];
    size_t count = 0;
    while (count < TYPES_MAX && reader_left(r) >= 2) {
        types[count] = reader_u16(r);
        wanted[types[count++]] = true;
    }
    record.bitmap_len = nsec_bitmap(types, count, record.bitmap);
    assert(record.bitmap_len <= NSEC_BITMAP_MAX);
    for (size_t i = 0; i <= count; i++) { /* last, a window that no type may be in */
        const unsigned window = i < count ? types[i] / WINDOW_TYPES : 0;
        for (unsigned type = window * WINDOW_TYPES; type < (window + 1) * WINDOW_TYPES; type++) {
            assert(nsec_model_has_type(&record, (uint16_t)type) == wanted[type]);
        }
    }
    for (size_t i = 0; i < count; i++) {
        wanted[types[i]] = false;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct reader r = reader_of(data, size);
    struct dname name, other, probe, zone;
    unsigned labels = reader_u8(&r);
    if (!dname_read(&r, &name) || !dname_read(&r, &other) || !dname_read(&r, &probe)) {
        return 0;
    }
    dname_lower(&name);
    dname_lower(&other);
    dname_lower(&probe);
    zone = name;
    if (name.len > 1) {
        dname_strip(&zone, 1 + labels % dname_label_count(&name));
        check_near(&zone, &name, &other, &probe);
    }
    check_types(&r);
    return 0;
}
