#include "skydns/pages/namespace_figures_internal.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/key_table.h"
#include "common/base/xalloc.h"

struct namespace_figures {
    size_t labels_max, labels; /* with label */
    uint64_t seen;
    struct key_table table;
    struct namespace_sums unnamed; /* group 0: clients without a namespace, and all others */
    unsigned end;                  /* above all groups in use */
    struct namespace_sums *groups[BUSY_GROUPS_MAX];
};

static struct slice key_of_namespace(const void *thing)
{
    return namespace_label(thing);
}

struct namespace_figures *namespace_figures_new(size_t labels_max)
{
    struct namespace_figures *namespaces = xcalloc(1, sizeof(*namespaces));
    namespaces->labels_max = labels_max;
    key_table_init(&namespaces->table, key_of_namespace);
    namespaces->groups[0] = &namespaces->unnamed;
    namespaces->end = 1;
    return namespaces;
}

void namespace_figures_free(struct namespace_figures *namespaces)
{
    if (namespaces) {
        for (unsigned i = 1; i < namespaces->end; i++) {
            free(namespaces->groups[i]);
        }
        key_table_fini(&namespaces->table);
    }
    free(namespaces);
}

unsigned namespace_figures_group(struct namespace_figures *namespaces, struct slice label)
{
    unsigned group = 1;
    if (label.len == 0) {
        return 0;
    }
    struct namespace_sums *sums = key_table_find(&namespaces->table, label);
    if (sums) {
        return sums->group;
    }
    while (group < namespaces->end && namespaces->groups[group]) {
        group++;
    }
    if (group == BUSY_GROUPS_MAX) {
        return 0;
    }
    sums = xcalloc(1, sizeof(*sums));
    assert(label.len <= sizeof(sums->label));
    sums->label_len = (uint8_t)label.len;
    memcpy(sums->label, label.ptr, label.len);
    sums->group = group;
    namespaces->groups[group] = sums;
    namespaces->end = group == namespaces->end ? group + 1 : namespaces->end;
    (void)key_table_put(&namespaces->table, sums); /* is new */
    return group;
}

void namespace_figures_add(struct namespace_figures *namespaces, unsigned group, unsigned part,
                           const uint32_t counts[CLIENT_COUNTS],
                           const uint32_t figures[BUSY_FIGURES])
{
    struct namespace_sums *sums = namespaces->groups[group];
    busy_window_add(&sums->window, part, figures);
    sums->seen += figures[BUSY_QUERIES];
    namespaces->seen += figures[BUSY_QUERIES];
    for (unsigned i = 0; i < CLIENT_RESULTS; i++) {
        sums->round[i] += counts[i];
    }
}

/* ---- Labels ---- */

static uint64_t round_of(const struct namespace_sums *sums)
{
    uint64_t sum = 0;
    for (unsigned i = 0; i < CLIENT_RESULTS; i++) {
        sum += sums->round[i];
    }
    return sum;
}

static int compare_rounds(const void *a, const void *b)
{
    const uint64_t x = round_of(*(struct namespace_sums *const *)a);
    const uint64_t y = round_of(*(struct namespace_sums *const *)b);
    return x < y ? 1 : x > y ? -1 : 0;
}

static bool may_have_label(const struct namespace_figures *namespaces,
                           const struct namespace_sums *sums, size_t known_count)
{
    enum { SEEN_FOR_SHARE = 64 }; /* queries for each label: fewer do not say who is busy */
    const size_t max = namespaces->labels_max;
    if (namespaces->labels >= max) {
        return false;
    }
    bool has_share =
        namespaces->seen >= SEEN_FOR_SHARE * max && sums->seen * 4 * max >= namespaces->seen;
    return known_count <= max || namespaces->labels < (max + 1) / 2 || has_share;
}

static void give_labels(struct namespace_figures *namespaces, size_t known_count)
{
    struct namespace_sums **waiting = xcalloc(namespaces->end, sizeof(struct namespace_sums *));
    size_t count = 0;
    for (unsigned i = 1; i < namespaces->end; i++) {
        struct namespace_sums *sums = namespaces->groups[i];
        if (sums && !sums->is_labelled && round_of(sums) > 0) {
            waiting[count++] = sums;
        }
    }
    qsort(waiting, count, sizeof(*waiting), compare_rounds);
    for (size_t i = 0; i < count; i++) {
        if (may_have_label(namespaces, waiting[i], known_count)) {
            waiting[i]->is_labelled = true;
            namespaces->labels++;
        }
    }
    free(waiting);
}

void namespace_figures_settle(struct namespace_figures *namespaces, size_t known_count)
{
    if (namespaces->labels < namespaces->labels_max) {
        give_labels(namespaces, known_count);
    }
    for (unsigned i = 0; i < namespaces->end; i++) {
        struct namespace_sums *sums = namespaces->groups[i];
        for (unsigned k = 0; sums && k < CLIENT_RESULTS; k++) {
            struct namespace_sums *to = sums->is_labelled ? sums : &namespaces->unnamed;
            to->results[k] += sums->round[k];
            sums->round[k] = 0;
        }
    }
}

/* ---- Time ---- */

static bool has_left(const struct namespace_sums *sums)
{
    uint64_t figures[BUSY_FIGURES];
    busy_window_sum(&sums->window, figures);
    return !sums->is_labelled && figures[BUSY_QUERIES] == 0;
}

void namespace_figures_turn(struct namespace_figures *namespaces, unsigned part)
{
    for (unsigned i = 0; i < namespaces->end; i++) {
        struct namespace_sums *sums = namespaces->groups[i];
        if (!sums) {
            continue;
        }
        memset(sums->window.parts[part], 0, sizeof(sums->window.parts[part]));
        if (i > 0 && has_left(sums)) {
            (void)key_table_take(&namespaces->table, key_of_namespace(sums)); /* it is there */
            namespaces->groups[i] = NULL;
            free(sums);
        }
    }
}

const struct namespace_sums *namespace_figures_find(const struct namespace_figures *namespaces,
                                                    unsigned group)
{
    return group < namespaces->end ? namespaces->groups[group] : NULL;
}
