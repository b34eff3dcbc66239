#include "skydns/dnssec/nsec.h"

#include <assert.h>
#include <string.h>

#include "common/base/slice.h"

enum {
    HIGHEST = 0xff,
    WINDOWS = 256,
    WINDOW_TYPES = 256,
    WINDOW_BYTES = WINDOW_TYPES / 8,
    WINDOW_HEAD = 2, /* number, length */
};

_Static_assert(NSEC_TYPES_MAX *(WINDOW_HEAD + WINDOW_BYTES) == NSEC_BITMAP_MAX, "each full");

/* ---- Labels ---- */

/* Returns the byte before; names are lower case: capitals are no bytes between '@' and '['. */
static uint8_t byte_before(uint8_t c)
{
    return c == 'Z' + 1 ? 'A' - 1 : (uint8_t)(c - 1);
}

static uint8_t byte_after(uint8_t c)
{
    return c == 'A' - 1 ? 'Z' + 1 : (uint8_t)(c + 1);
}

/* Returns how long the leftmost label may be: the name has 255 bytes at most. */
static unsigned label_room(const struct dname *name)
{
    unsigned room = DNAME_MAX - name->len + name->wire[0];
    return room < DNAME_LABEL_MAX ? room : DNAME_LABEL_MAX;
}

/* Lengthens or shortens the leftmost label; bytes that are added are `fill`. */
static void resize_label(struct dname *name, unsigned label_len, uint8_t fill)
{
    unsigned old_len = name->wire[0], rest = name->len - 1u - old_len;
    memmove(name->wire + 1 + label_len, name->wire + 1 + old_len, rest);
    if (label_len > old_len) {
        memset(name->wire + 1 + old_len, fill, label_len - old_len);
    }
    name->wire[0] = (uint8_t)label_len;
    name->len = (uint8_t)(1 + label_len + rest);
}

/* Makes the label the next one of at most as many bytes: every byte behind the one that grows is
 * the highest. */
static bool grow_label(struct dname *name)
{
    unsigned len = name->wire[0];
    while (len > 0 && name->wire[len] == HIGHEST) {
        len--;
    }
    if (len == 0) {
        return false;
    }
    name->wire[len] = byte_after(name->wire[len]);
    resize_label(name, len, 0);
    return true;
}

/* ---- Names ---- */

int nsec_compare(const struct dname *a, const struct dname *b)
{
    struct dname_labels of_a, of_b;
    dname_labels(a, &of_a);
    dname_labels(b, &of_b);
    for (unsigned i = 1; i <= of_a.count && i <= of_b.count; i++) {
        int order = slice_compare(dname_label(a, of_a.offsets[of_a.count - i]),
                                  dname_label(b, of_b.offsets[of_b.count - i]));
        if (order != 0) {
            return order;
        }
    }
    return of_a.count - of_b.count;
}

bool nsec_last_below(const struct dname *name, struct dname *ret)
{
    uint8_t label[DNAME_LABEL_MAX];
    memset(label, HIGHEST, sizeof(label));
    size_t room = name->len < DNAME_MAX ? DNAME_MAX - 1u - name->len : 0;
    struct dname below = *name;
    if (!dname_prepend(&below, slice_of(label, room < sizeof(label) ? room : sizeof(label)))) {
        return false;
    }
    *ret = below;
    return true;
}

enum nsec_before nsec_before(const struct dname *name, struct dname *ret)
{
    *ret = *name;
    unsigned len = ret->wire[0];
    uint8_t *last = ret->wire + len;
    if (*last > 0) {
        *last = byte_before(*last);
        resize_label(ret, label_room(ret), HIGHEST);
        return NSEC_BEFORE_SIBLING;
    }
    if (len == 1) {
        dname_strip(ret, 1);
        return NSEC_BEFORE_PARENT;
    }
    resize_label(ret, len - 1, 0);
    return nsec_last_below(ret, ret) ? NSEC_BEFORE_BELOW : NSEC_BEFORE_SIBLING;
}

void nsec_after(const struct dname *name, const struct dname *zone, struct dname *ret)
{
    *ret = *name;
    while (ret->len > zone->len) {
        if (label_room(ret) > ret->wire[0]) {
            resize_label(ret, ret->wire[0] + 1u, 0);
            return;
        }
        if (grow_label(ret)) {
            return;
        }
        dname_strip(ret, 1);
    }
}

void nsec_next(const struct dname *name, const struct dname *zone, struct dname *ret)
{
    struct dname below = *name;
    if (dname_prepend(&below, slice_of("\0", 1))) {
        *ret = below;
    } else {
        nsec_after(name, zone, ret);
    }
}

/* Returns whether the name is before the next one; the zone's name as the next one is the end. */
static bool is_before_next(const struct dname *name, const struct dname *next,
                           const struct dname *zone)
{
    return dname_equal(next, zone) || nsec_compare(name, next) < 0;
}

bool nsec_join(struct nsec_gap *gap, const struct nsec_gap *other, const struct dname *zone)
{
    if (!is_before_next(&gap->owner, &other->next, zone) ||
        !is_before_next(&other->owner, &gap->next, zone)) {
        return false;
    }
    if (nsec_compare(&other->owner, &gap->owner) < 0) {
        gap->owner = other->owner;
    }
    if (dname_equal(&other->next, zone) || !is_before_next(&other->next, &gap->next, zone)) {
        gap->next = other->next;
    }
    return true;
}

/* ---- Types ---- */

/* Returns the first window, from this one on, that has one of the types; WINDOWS: none. */
static unsigned next_window(const uint16_t *types, size_t count, unsigned from)
{
    unsigned least = WINDOWS;
    for (size_t i = 0; i < count; i++) {
        const unsigned window = types[i] / WINDOW_TYPES;
        least = window >= from && window < least ? window : least;
    }
    return least;
}

size_t nsec_bitmap(const uint16_t *types, size_t count, uint8_t out[NSEC_BITMAP_MAX])
{
    size_t used = 0;
    assert(count <= NSEC_TYPES_MAX);
    for (unsigned window = next_window(types, count, 0); window < WINDOWS;
         window = next_window(types, count, window + 1)) {
        uint8_t bits[WINDOW_BYTES] = {0}, len = 0;
        for (size_t i = 0; i < count; i++) {
            const unsigned bit = types[i] % WINDOW_TYPES;
            if (types[i] / WINDOW_TYPES == window) {
                bits[bit / 8] |= (uint8_t)(0x80 >> bit % 8);
                len = len > bit / 8 ? len : (uint8_t)(bit / 8 + 1);
            }
        }
        out[used] = (uint8_t)window;
        out[used + 1] = len;
        memcpy(out + used + WINDOW_HEAD, bits, len);
        used += (size_t)WINDOW_HEAD + len;
    }
    return used;
}
