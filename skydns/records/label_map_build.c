/* Builds a map at once from all its nodes, so that each branch gets its final size. It sorts the
 * nodes by six bits of the hash at a time. */
#include "skydns/records/label_map_internal.h"
#include "skydns/records/store_node_internal.h"

enum { VALUES = 1 << LABEL_MAP_LEVEL_BITS };

struct map_build {
    const struct store_build *build;
    bool has_equal; /* two labels are equal */
};

static unsigned value_at(uint32_t hash, unsigned level)
{
    return hash >> (LABEL_MAP_LEVEL_BITS * level) & (VALUES - 1);
}

static bool have_equal_labels(const struct label_child *a, const struct label_child *b)
{
    return slice_equal(store_node_label_slice(a->node), store_node_label_slice(b->node));
}

/* Fills a list. Looks for equal labels until it has found some; only here can there be any, since
 * their hashes are equal. So the cost is that of the hashes that really collide. */
static void fill_list(struct map_build *b, struct label_branch *list,
                      const struct label_child *children, size_t count)
{
    list->used = count;
    for (size_t i = 0; i < count; i++) {
        for (size_t k = 0; k < i && !b->has_equal; k++) {
            b->has_equal = have_equal_labels(&children[i], &children[k]);
        }
        list->slots[i] = (uintptr_t)children[i].node;
        store_tally_add(&list->tally, &children[i].tally);
    }
}

static uintptr_t build_slot(struct map_build *b, struct label_child *children,
                            struct label_child *spare, size_t count, unsigned level,
                            struct store_tally *tally);

/* Moves the children to `spare`, sorted by this level's bits, and builds the slots below each
 * value, for which `children` is spare room. */
static void fill_sorted(struct map_build *b, struct label_branch *branch,
                        struct label_child *children, struct label_child *spare, size_t count,
                        unsigned level)
{
    size_t ends[VALUES] = {0}, from = 0;
    for (size_t i = 0; i < count; i++) {
        ends[value_at(children[i].hash, level)]++;
    }
    for (unsigned value = 0; value < VALUES; value++) {
        size_t here = ends[value];
        ends[value] = from;
        from += here;
    }
    for (size_t i = 0; i < count; i++) {
        spare[ends[value_at(children[i].hash, level)]++] = children[i];
    }
    uintptr_t *slot = branch->slots;
    from = 0;
    for (unsigned value = 0; value < VALUES; value++) {
        if (ends[value] > from) {
            *slot++ = build_slot(b, spare + from, children + from, ends[value] - from, level + 1,
                                 &branch->tally);
            from = ends[value];
        }
    }
}

static void fill_distinct(struct label_branch *branch, const struct label_child *children,
                          size_t count, unsigned level)
{
    for (size_t i = 0; i < count; i++) {
        uint64_t bit = label_map_bit(children[i].hash, level);
        branch->slots[label_map_index(branch, bit)] = (uintptr_t)children[i].node;
        store_tally_add(&branch->tally, &children[i].tally);
    }
}

/* Returns the slot above this level for these children. Adds to the tally. At most seven calls
 * deep. */
static uintptr_t build_slot(struct map_build *b, struct label_child *children,
                            struct label_child *spare, size_t count, unsigned level,
                            struct store_tally *tally)
{
    uint64_t used = 0;
    struct label_branch *branch;
    if (count == 1) {
        store_tally_add(tally, &children->tally);
        return (uintptr_t)children->node;
    }
    if (level == LABEL_MAP_LEVELS) {
        branch = label_branch_new(count, b->build);
        fill_list(b, branch, children, count);
    } else {
        for (size_t i = 0; i < count; i++) {
            used |= label_map_bit(children[i].hash, level);
        }
        size_t slots = (size_t)__builtin_popcountll(used);
        branch = label_branch_new(slots, b->build);
        branch->used = used;
        if (slots == count) {
            fill_distinct(branch, children, count, level);
        } else {
            fill_sorted(b, branch, children, spare, count, level);
        }
    }
    store_tally_add(tally, &branch->tally);
    return label_map_slot_of(branch);
}

bool label_map_build(struct label_map *map, struct label_child *children, struct label_child *spare,
                     size_t count, const struct store_build *build)
{
    struct map_build b = {.build = build};
    struct store_tally all = {0};
    map->slot = count > 0 ? build_slot(&b, children, spare, count, 0, &all) : 0;
    return !b.has_equal;
}
