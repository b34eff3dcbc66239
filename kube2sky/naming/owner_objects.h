/* Holds the objects behind one owner's keys: inventory fills it, naming reads it. An owner's id is
 * the path of its keys below the domain, "svc/default/web", "pod/default/10-1-0-1" or
 * "node/internal/ec2/ip-10-0-0-1", the labels of a Node's name in reverse. The objects are borrowed
 * until the inventory changes; memory is reused. Single-threaded. */
#ifndef KUBE2SKY_NAMING_OWNER_OBJECTS_H
#define KUBE2SKY_NAMING_OWNER_OBJECTS_H

#include <stdbool.h>
#include <stddef.h>

#include "common/base/addr.h"
#include "common/base/slice.h"
#include "kube2sky/api/kube_object.h"

struct owner_objects {
    /* For a svc/ or ext/ owner */
    bool is_external;                  /* ext/ */
    const struct kube_object *service; /* NULL: absent */
    const struct kube_object **parts;  /* its Endpoints, or its slices in any order */
    size_t part_count;
    size_t part_cap;
    /* An object, or the Node below, is garbled or bare, and left out; or a Node may yet be listed
     * above it: its keys may be wanted. */
    bool is_in_doubt;

    /* For a pod/ owner: the address of a pod that has not ended. */
    struct slice pod_ns;   /* ptr NULL: no pod */
    struct slice pod_name; /* the address's label, as in the owner's id */
    struct ip pod_ip;      /* family 0: the pod's address is invalid; pod_name has its text */

    /* For a node/ owner */
    const struct kube_object *node; /* NULL: absent */
    const char *node_above;         /* another Node's name that this one's ends with; "": none */
};

void owner_objects_init(struct owner_objects *objects);
void owner_objects_fini(struct owner_objects *objects);
void owner_objects_clear(struct owner_objects *objects);
void owner_objects_add_part(struct owner_objects *objects, const struct kube_object *part);

/* Returns the number of addresses that the parts list, each counted once per record. That is the
 * cost of naming them, however few records result. */
size_t owner_objects_work(const struct owner_objects *objects);

#endif
