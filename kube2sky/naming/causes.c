#include "kube2sky/naming/causes.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/key_table.h"
#include "common/base/xalloc.h"

/* Owners of one namespace. */
struct caused_space {
    struct slice name;
    size_t count;
};

struct caused_owner {
    struct slice id;
    struct caused_space *space;
    uint64_t noted; /* the turn in which it was noted last */
    struct cause *pending, *boarded;
    struct cause *kept[CAUSES_KEPT]; /* a ring */
    uint64_t confirmed;
};

struct causes {
    struct key_table owners, spaces;
    uint64_t turn;
};

struct causes *causes_new(void)
{
    struct causes *causes = xcalloc(1, sizeof(*causes));
    key_table_init_keyed(&causes->owners);
    key_table_init_keyed(&causes->spaces);
    return causes;
}

static void free_caused(struct caused_owner *owner)
{
    free(owner->pending);
    free(owner->boarded);
    for (size_t i = 0; i < CAUSES_KEPT; i++) {
        free(owner->kept[i]);
    }
    free(owner);
}

void causes_free(struct causes *causes)
{
    if (!causes) {
        return;
    }
    struct caused_owner *owner;
    for (size_t at = 0; (owner = key_table_next(&causes->owners, &at)); at++) {
        free_caused(owner);
    }
    key_table_fini(&causes->owners);
    key_table_fini_things(&causes->spaces);
    free(causes);
}

/* ---- Shares ---- */

/* Returns the part of "svc/default/web" between the slashes. */
static struct slice space_of(struct slice owner)
{
    (void)slice_cut(&owner, '/');
    return slice_cut(&owner, '/');
}

static void drop_caused(struct causes *causes, struct caused_owner *owner)
{
    (void)key_table_take(&causes->owners, owner->id); /* it is there */
    if (--owner->space->count == 0) {
        free(key_table_take(&causes->spaces, owner->space->name));
    }
    free_caused(owner);
}

/* Drops the owner noted least recently of the namespace that has most. */
static void make_place(struct causes *causes)
{
    const struct caused_space *space, *largest = NULL;
    struct caused_owner *owner, *oldest = NULL;
    for (size_t at = 0; (space = key_table_next(&causes->spaces, &at)); at++) {
        largest = largest && largest->count >= space->count ? largest : space;
    }
    for (size_t at = 0; (owner = key_table_next(&causes->owners, &at)); at++) {
        if (owner->space == largest && (!oldest || owner->noted < oldest->noted)) {
            oldest = owner;
        }
    }
    assert(oldest); /* there are as many as fit */
    drop_caused(causes, oldest);
}

/* ---- Changes ---- */

void causes_note(struct causes *causes, struct slice id, const struct cause_object *object)
{
    struct caused_owner *owner = key_table_find(&causes->owners, id);
    if (!owner) {
        if (causes->owners.count >= CAUSES_MAX) {
            make_place(causes);
        }
        owner = key_table_add(&causes->owners, id, sizeof(*owner));
        owner->space = key_table_get(&causes->spaces, space_of(id), sizeof(*owner->space));
        owner->space->count++;
    }
    owner->noted = ++causes->turn;
    owner->pending = owner->pending ? owner->pending : xcalloc(1, sizeof(*owner->pending));
    struct cause *cause = owner->pending;
    cause->kind = object->kind;
    cause->is_deleted = object->is_deleted;
    cause->objects++;
    (void)snprintf(cause->object, sizeof(cause->object), "%s%s%s", object->ns,
                   *object->ns ? "/" : "", object->name); /* cut if longer */
    (void)snprintf(cause->version, sizeof(cause->version), "%s", object->version);
}

void causes_board(struct causes *causes, struct slice id)
{
    struct caused_owner *owner = key_table_find(&causes->owners, id);
    if (owner && owner->pending) {
        free(owner->boarded); /* of a transaction that did not happen: planned again with this */
        owner->boarded = owner->pending;
        owner->pending = NULL;
    }
}

const struct cause *causes_confirm(struct causes *causes, struct slice id, int64_t revision,
                                   size_t puts, size_t deletes)
{
    struct caused_owner *owner = key_table_find(&causes->owners, id);
    if (!owner || !owner->boarded) {
        return NULL;
    }
    struct cause *cause = owner->boarded, **place = &owner->kept[owner->confirmed++ % CAUSES_KEPT];
    owner->boarded = NULL;
    cause->revision = revision;
    cause->time_ms = clock_wall_ms();
    cause->puts = puts;
    cause->deletes = deletes;
    free(*place);
    *place = cause;
    return cause;
}

const struct cause *causes_get(const struct causes *causes, struct slice id, size_t back)
{
    const struct caused_owner *owner = key_table_find(&causes->owners, id);
    const bool is_kept = owner && back < CAUSES_KEPT && back < owner->confirmed;
    return is_kept ? owner->kept[(owner->confirmed - 1 - back) % CAUSES_KEPT] : NULL;
}
