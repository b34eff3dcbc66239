/* Holds the inventory's objects and their indexes: by namespace and name, slices by Service, pods
 * by address. Part of inventory.c; has no state of lists. */
#ifndef KUBE2SKY_NAMING_INVENTORY_INDEX_INTERNAL_H
#define KUBE2SKY_NAMING_INVENTORY_INDEX_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/addr.h"
#include "common/base/buf.h"
#include "common/base/key_table.h"
#include "common/base/slice.h"
#include "kube2sky/api/kube_object.h"
#include "kube2sky/naming/owner_objects.h"
#include "kube2sky/naming/slice_change.h"

/* Links a slice to the others of its Service. */
struct slice_link {
    struct entry *next;
    struct entry *previous;    /* NULL: this is the first */
    struct slice_words *words; /* words of its object; NULL until a change of another slice needs
                                * them */
};

/* One object in its latest state. */
struct entry {
    struct kube_object *object; /* NULL only while it is added or removed */
    struct slice_link *link;    /* of a slice that names a Service */
    uint32_t generation;        /* number of the list that last named it */
    uint16_t id_len;
    /* Used by inventory.c for Endpoints or a slice that changed since the first list of its source,
     * and for a Service that lost one since then. */
    bool is_news;
    char id[]; /* "<namespace>/<name>", lower case; "/<name>" of a Node */
};

struct index {
    struct key_table kinds[KUBE_KIND_COUNT]; /* entries by id */
    struct key_table services;               /* Services that have slices, with their slices */
    struct key_table addresses;              /* addresses of pods that have not ended, by
                                              * namespace */
    struct key_table places;                 /* the first of these with each IP */
    struct buf id;                           /* scratch buffer for the current id */
    const char *prefix;                      /* of the owner of a Service, or import */
    bool selects_namespaces;                 /* index_selects */
    void (*changed)(void *data, struct slice owner);
    /* Called instead for a change that can be named by itself; NULL: never. */
    void (*slice_changed)(void *data, struct slice owner, const struct slice_change *change);
    void *data;
};

void index_init(struct index *index, void (*changed)(void *data, struct slice owner), void *data);
void index_fini(struct index *index);

/* Finds an entry by "<namespace>/<name>" in lower case; NULL: absent. */
struct entry *index_find(const struct index *index, enum kube_kind kind, struct slice id);

/* Find an entry, ignoring case. index_get creates a missing entry, without an object. */
struct entry *index_lookup(struct index *index, enum kube_kind kind, struct slice ns,
                           struct slice name);
struct entry *index_get(struct index *index, enum kube_kind kind, struct slice ns,
                        struct slice name);

/* Returns the Service of Endpoints or of a slice. NULL: it is unknown, or the object is neither. */
struct entry *index_service_of(struct index *index, const struct kube_object *part);

/* Replaces the entry's object, taking the new one, and reports the owners whose keys that changes.
 * NULL removes it. */
void index_set_object(struct index *index, enum kube_kind kind, struct entry *entry,
                      struct kube_object *object);

/* Removes the entry with its object; reports like index_set_object. */
void index_discard(struct index *index, enum kube_kind kind, struct entry *entry);

/* Drops the content of the Service's Endpoints and slices, which yield no keys. */
void index_strip_parts(struct index *index, struct slice service);

/* Returns whether the content of such a part was dropped. */
bool index_has_bare_parts(const struct index *index, struct slice service);

/* Reports the entry's owner, if known. */
void index_tell(struct index *index, enum kube_kind kind, const struct entry *entry);

/* Returns whether objects of the namespace that the id begins with, "default/web", yield keys:
 * those of a Namespace that is not listed are as if they did not exist (--namespace-labels). */
bool index_selects(const struct index *index, struct slice id);

/* Reports the owners in a namespace that has come or gone; NULL: in any. Takes time in proportion
 * to all objects, for an event that is rare. */
void index_tell_namespace(struct index *index, const char *ns);

/* Add the objects of an owner, whose id without "svc/" or "pod/" is `service` or `address`. Garbled
 * and bare parts only cast doubt. */
void index_add_endpoints(const struct index *index, struct slice service,
                         struct owner_objects *objects);
void index_add_slices(const struct index *index, struct slice service,
                      struct owner_objects *objects);
bool index_has_news(const struct index *index,
                    struct slice service); /* whether a slice of it is news */
void index_add_pod(const struct index *index, struct slice address, struct owner_objects *objects);

/* Return whether pods that have not ended have the address; and whether such pods of the namespace,
 * in lower case, have it. */
bool index_has_pod(const struct index *index, const struct ip *ip);
bool index_has_pod_of(const struct index *index, const struct ip *ip, struct slice ns);

#endif
