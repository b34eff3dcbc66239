#include "skydns/clients/visibility.h"

#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/key_table.h"
#include "common/base/xalloc.h"
#include "common/dns/dname.h"

/* Namespace that is shown to others, or one that others are shown to. */
struct space {
    uint32_t number; /* in the order of their making */
    bool is_open;    /* everybody may see it */
    uint8_t label_len;
    const struct space **shown; /* those that list it, by number; a part of `shown` below */
    size_t shown_count;
    char label[];
};

struct pair {
    uint32_t client, shown; /* numbers */
};

struct visibility {
    _Atomic unsigned references;
    enum visibility_unknown unknown;
    struct key_table by_label; /* of struct space, which it owns */
    const struct space **open;
    size_t open_count;
    const struct space **shown; /* of all clients */
};

static struct slice visibility_label_of(const void *thing)
{
    const struct space *space = thing;
    return slice_of(space->label, space->label_len);
}

/* ---- Building ---- */

struct draft {
    struct visibility *v;
    struct pair *pairs;
    size_t count, capacity;
};

static struct space *get_space(struct visibility *v, struct slice label)
{
    struct space *space = key_table_find(&v->by_label, label);
    if (!space) {
        space = xcalloc(1, sizeof(*space) + label.len);
        space->number = (uint32_t)v->by_label.count;
        space->label_len = (uint8_t)label.len;
        memcpy(space->label, label.ptr, label.len);
        (void)key_table_put(&v->by_label, space); /* it had none */
    }
    return space;
}

static void open_to_all(struct visibility *v, struct slice label)
{
    if (label.len > 0 && label.len <= DNAME_LABEL_MAX) {
        get_space(v, label)->is_open = true;
    }
}

static bool visibility_is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/* Takes the next name off a list, without blanks around it. */
static struct slice visibility_next_name(struct slice *list)
{
    struct slice name = slice_cut(list, ',');
    while (name.len > 0 && visibility_is_blank(name.ptr[0])) {
        name = slice_of(name.ptr + 1, name.len - 1);
    }
    while (name.len > 0 && visibility_is_blank(name.ptr[name.len - 1])) {
        name.len--;
    }
    return name;
}

/* Accepts the names that Kubernetes gives namespaces. */
static bool visibility_is_namespace(struct slice name)
{
    return !slice_has_capitals(name) && dname_is_host_label(name);
}

static void add_pair(struct draft *d, const struct space *client, const struct space *shown)
{
    d->pairs = xgrow_array(d->pairs, d->count, &d->capacity, sizeof(*d->pairs));
    d->pairs[d->count++] = (struct pair){client->number, shown->number};
}

static void add_listed(struct draft *d, const struct visible_namespace *listed)
{
    struct slice left = listed->text;
    unsigned names = 0;
    if (listed->ns.len == 0 || listed->ns.len > DNAME_LABEL_MAX) {
        return;
    }
    while (left.len > 0 && names < VISIBILITY_NAMES_MAX && d->count < VISIBILITY_PAIRS_MAX) {
        struct slice name = visibility_next_name(&left);
        if (slice_equal(name, slice_str("*"))) {
            open_to_all(d->v, listed->ns);
            return;
        }
        if (visibility_is_namespace(name)) {
            names++;
            add_pair(d, get_space(d->v, name), get_space(d->v, listed->ns));
        }
    }
}

static int compare_pairs(const void *a, const void *b)
{
    const struct pair *x = a, *y = b;
    if (x->client != y->client) {
        return x->client < y->client ? -1 : 1;
    }
    return (x->shown > y->shown) - (x->shown < y->shown);
}

/* Gives each client its part of `shown`. */
static void visibility_share_out(struct draft *d, struct space **by_number)
{
    struct visibility *v = d->v;
    qsort(d->pairs, d->count, sizeof(*d->pairs), compare_pairs);
    v->shown = xcalloc(d->count, sizeof(const struct space *));
    size_t count = 0;
    for (size_t i = 0; i < d->count; i++) {
        struct space *client = by_number[d->pairs[i].client];
        if (i > 0 && compare_pairs(&d->pairs[i - 1], &d->pairs[i]) == 0) {
            continue;
        }
        client->shown = client->shown ? client->shown : v->shown + count;
        client->shown_count++;
        v->shown[count++] = by_number[d->pairs[i].shown];
    }
}

static void visibility_finish(struct draft *d)
{
    struct visibility *v = d->v;
    struct space **by_number = xcalloc(v->by_label.count + 1, sizeof(struct space *));
    v->open = xcalloc(v->by_label.count + 1, sizeof(const struct space *));
    struct space *space;
    for (size_t at = 0; (space = key_table_next(&v->by_label, &at)); at++) {
        by_number[space->number] = space;
        if (space->is_open) {
            v->open[v->open_count++] = space;
        }
    }
    if (d->count > 0) {
        visibility_share_out(d, by_number);
    }
    free(by_number);
    free(d->pairs);
}

static int compare_listed(const void *a, const void *b)
{
    const struct visible_namespace *x = a, *y = b;
    int d = (x->text.len > y->text.len) - (x->text.len < y->text.len);
    return d ? d : slice_compare(x->ns, y->ns);
}

/* Adds shorter lists first: if there is no room for all, the longest go without. */
static void add_all_listed(struct draft *d, const struct visible_namespace *listed, size_t count)
{
    struct visible_namespace *sorted = xcalloc(count + 1, sizeof(*sorted));
    for (size_t i = 0; i < count; i++) {
        sorted[i] = listed[i];
    }
    qsort(sorted, count, sizeof(*sorted), compare_listed);
    for (size_t i = 0; i < count && i < VISIBILITY_LISTED_MAX; i++) {
        add_listed(d, &sorted[i]);
    }
    free(sorted);
}

struct visibility *visibility_new(enum visibility_unknown unknown, const struct slice *public_names,
                                  size_t public_count, const struct visible_namespace *listed,
                                  size_t listed_count)
{
    struct visibility *v = xcalloc(1, sizeof(*v));
    struct draft draft = {.v = v};
    v->references = 1;
    v->unknown = unknown;
    key_table_init(&v->by_label, visibility_label_of);
    for (size_t i = 0; i < public_count && i < VISIBILITY_PUBLIC_MAX; i++) {
        open_to_all(v, public_names[i]);
    }
    add_all_listed(&draft, listed, listed_count);
    visibility_finish(&draft);
    return v;
}

struct visibility *visibility_ref(struct visibility *visibility)
{
    if (visibility) {
        atomic_fetch_add_explicit(&visibility->references, 1, memory_order_relaxed);
    }
    return visibility;
}

void visibility_unref(struct visibility *visibility)
{
    if (!visibility ||
        atomic_fetch_sub_explicit(&visibility->references, 1, memory_order_acq_rel) != 1) {
        return;
    }
    key_table_fini_things(&visibility->by_label);
    free(visibility->open);
    free(visibility->shown);
    free(visibility);
}

/* ---- Reading ---- */

bool visibility_limits(const struct visibility *visibility, const struct client_space *client)
{
    return client || visibility->unknown == VISIBILITY_UNKNOWN_PUBLIC;
}

static int compare_numbers(const void *key, const void *item)
{
    const struct space *wanted = key, *other = *(const struct space *const *)item;
    return (wanted->number > other->number) - (wanted->number < other->number);
}

/* Returns whether the namespace lists the client's. */
static bool visibility_lists(const struct visibility *v, const struct space *space,
                             const struct client_space *client)
{
    const struct space *asking = key_table_find(&v->by_label, client_space_label(client));
    return asking && asking->shown_count > 0 &&
           bsearch(space, asking->shown, asking->shown_count, sizeof(const struct space *),
                   compare_numbers);
}

bool visibility_shows(const struct visibility *visibility, struct slice ns,
                      const struct client_space *client)
{
    if (client && slice_equal(client_space_label(client), ns)) {
        return true;
    }
    if (!visibility_limits(visibility, client)) {
        return true;
    }
    const struct space *space = key_table_find(&visibility->by_label, ns);
    return space && (space->is_open || (client && visibility_lists(visibility, space, client)));
}

static bool visibility_publish(const struct space *space, struct slice own,
                               bool (*fn)(void *data, struct slice ns), void *data)
{
    return slice_equal(visibility_label_of(space), own) || fn(data, visibility_label_of(space));
}

bool visibility_each(const struct visibility *visibility, const struct client_space *client,
                     bool (*fn)(void *data, struct slice ns), void *data)
{
    const struct visibility *v = visibility;
    struct slice own = client_space_label(client);
    const struct space *asking = client ? key_table_find(&v->by_label, own) : NULL;
    if (client && !fn(data, own)) {
        return false;
    }
    for (size_t i = 0; i < v->open_count; i++) {
        if (!visibility_publish(v->open[i], own, fn, data)) {
            return false;
        }
    }
    for (size_t i = 0; asking && i < asking->shown_count; i++) {
        if (!asking->shown[i]->is_open && !visibility_publish(asking->shown[i], own, fn, data)) {
            return false;
        }
    }
    return true;
}
