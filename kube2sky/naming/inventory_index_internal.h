/* The inventory's objects and what they are found by: each by namespace and name, slices by their
 * Service, pods by their addresses. Between inventory.c and here; it knows nothing of lists. */
#ifndef KUBE2SKY_NAMING_INVENTORY_INDEX_INTERNAL_H
#define KUBE2SKY_NAMING_INVENTORY_INDEX_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/buf.h"
#include "common/base/key_table.h"
#include "common/base/slice.h"
#include "kube2sky/api/kube_object.h"
#include "kube2sky/naming/owner_objects.h"

/* One object, as last told. */
struct entry {
    struct kube_object *object; /* NULL: never understood */
    struct entry *next;         /* of a slice: the next one of its Service */
    uint32_t generation;        /* of the list that last named it */
    uint16_t id_len;
    bool is_unknown; /* inventory.c's: there is no object since it could not be understood */
    char id[];       /* "<namespace>/<name>", lower case */
};

struct index {
    struct key_table kinds[KUBE_KIND_COUNT]; /* of entries */
    struct key_table services;               /* that have slices, and these */
    struct key_table addresses;              /* of pods that have not ended */
    struct buf id;                           /* the one in the making */
    void (*changed)(void *data, struct slice owner);
    void *data;
};

void index_init(struct index *index, void (*changed)(void *data, struct slice owner), void *data);
void index_fini(struct index *index);

/* By "<namespace>/<name>" in lower case; NULL: not there. */
struct entry *index_find(const struct index *index, enum kube_kind kind, struct slice id);

/* The same in any case. index_get makes one, without an object, when there is none. */
struct entry *index_lookup(struct index *index, enum kube_kind kind, struct slice ns,
                           struct slice name);
struct entry *index_get(struct index *index, enum kube_kind kind, struct slice ns,
                        struct slice name);

/* Puts the object, owned from now on, in the place of the one before and tells whose keys that
 * changes. NULL takes it away. */
void index_set_object(struct index *index, enum kube_kind kind, struct entry *entry,
                      struct kube_object *object);

/* The entry, with its object, is gone; told as above. */
void index_discard(struct index *index, enum kube_kind kind, struct entry *entry);

/* Tells the owner that the entry belongs to, if it is known. */
void index_tell(struct index *index, enum kube_kind kind, const struct entry *entry);

/* `service` and `address` are an owner's id without "svc/" or "pod/". */
void index_add_slices(const struct index *index, struct slice service,
                      struct owner_objects *objects);
void index_add_pod(const struct index *index, struct slice address, struct owner_objects *objects);

#endif
